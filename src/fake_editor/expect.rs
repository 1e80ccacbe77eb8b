//! Whether what is expected is so, and, where it is not, what is there and what to look at. Pure.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use super::answers::Unallowed;
use super::document::Document;
use super::step::Expect;
use crate::text::diff;

/// So many characters of a text are shown in a line.
const SHOWN: usize = 300;

/// What there is to compare with.
pub(super) struct Facts<'a> {
    pub(super) document: Option<&'a Document>,
    /// The file of the document; `None`: it has none, an error: it cannot be read.
    pub(super) file: Option<Result<String, String>>,
    /// The answer to `ropewalk/documentText`.
    pub(super) mirror: Option<&'a Value>,
    /// The answer to `ropewalk/changes`.
    pub(super) changes: Option<&'a Value>,
    /// The call or request, and how it ended.
    pub(super) result: Option<(&'a str, &'a Value)>,
    pub(super) asked: usize,
    pub(super) received: &'a BTreeMap<String, usize>,
    pub(super) unallowed: &'a [Unallowed],
}

/// An expectation that is not so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// What was looked at.
    pub what: String,
    /// What was expected.
    pub expected: String,
    /// What is there; of texts, how they differ (a unified diff, where both are of several lines).
    pub found: String,
    /// What could be done about it.
    pub fix: Option<String>,
}

impl Expect {
    /// Whether the other side's text is to be looked at. `held`: it cannot be the same yet.
    pub(super) fn looks_at_the_mirror(&self, held: bool) -> bool {
        self.mirror.unwrap_or(!held && (self.text.is_some() || self.text_includes.is_some()))
    }
}

/// What an expectation is about, in a few words.
pub(super) fn in_words(expect: &Expect) -> String {
    let value = serde_json::to_value(expect).unwrap_or_default();
    let about: Vec<&str> = [expect.path.as_deref(), expect.call.as_deref()].into_iter().flatten().collect();
    let keys = value.as_object().into_iter().flatten();
    let keys: Vec<&str> = keys
        .filter(|(key, value)| !value.is_null() && !["path", "call"].contains(&key.as_str()))
        .map(|(key, _)| key.as_str())
        .collect();
    if about.is_empty() { keys.join(", ") } else { format!("{}: {}", about.join(", "), keys.join(", ")) }
}

/// Everything that is not as expected.
pub(super) fn judge(expect: &Expect, facts: &Facts<'_>) -> Vec<Miss> {
    let mut judged = Judged { misses: Vec::new() };
    judged.document(expect, facts);
    judged.file(expect, facts);
    judged.review(expect, facts);
    judged.result(expect, facts);
    judged.run(expect, facts);
    judged.misses
}

struct Judged {
    misses: Vec<Miss>,
}

impl Judged {
    fn miss(&mut self, what: &str, expected: String, found: String, fix: Option<String>) {
        self.misses.push(Miss { what: what.to_owned(), expected, found, fix });
    }

    fn equal<T: PartialEq + std::fmt::Display>(
        &mut self,
        what: &str,
        expected: Option<&T>,
        found: &T,
        fix: Option<&str>,
    ) {
        if let Some(expected) = expected.filter(|expected| *expected != found) {
            self.miss(what, expected.to_string(), found.to_string(), fix.map(str::to_owned));
        }
    }

    fn text(&mut self, what: &str, expected: Option<&String>, found: &str, fix: Option<&str>) {
        if let Some(expected) = expected.filter(|expected| expected.as_str() != found) {
            let lines = diff::unified("text", &visible(expected), &visible(found));
            self.miss(what, shown(expected), difference(found, &lines), fix.map(str::to_owned));
        }
    }

    fn includes(&mut self, what: &str, part: Option<&String>, whole: &str) {
        if let Some(part) = part.filter(|part| !whole.contains(part.as_str())) {
            self.miss(what, format!("{} in it", shown(part)), shown(whole), None);
        }
    }

    fn document(&mut self, expect: &Expect, facts: &Facts<'_>) {
        let Some(path) = &expect.path else { return };
        self.equal("open", expect.open.as_ref(), &facts.document.is_some(), None);
        let Some(document) = facts.document else {
            let about = expect.text.is_some() || expect.text_includes.is_some() || expect.mirror == Some(true);
            let about = about || expect.unsaved.is_some() || expect.version.is_some();
            if about || expect.undo_depth.is_some() || expect.redo_depth.is_some() {
                let fix = format!(
                    "open it: {{\"open\": {{\"path\": {path:?}}}}}; of the file there are `disk` and `diskIncludes`"
                );
                self.miss("document", format!("{path} is open"), "it is not open".to_owned(), Some(fix));
            }
            return;
        };
        let text = document.text().to_string();
        self.text("text", expect.text.as_ref(), &text, None);
        self.includes("textIncludes", expect.text_includes.as_ref(), &text);
        self.equal("unsaved", expect.unsaved.as_ref(), &document.unsaved(), None);
        self.equal("version", expect.version.as_ref(), &document.version, None);
        let fix = "each edit and each stretch of typing is a step; the manner of the editor says which are one";
        self.equal("undoDepth", expect.undo_depth.as_ref(), &document.undo_depth(), Some(fix));
        self.equal("redoDepth", expect.redo_depth.as_ref(), &document.redo_depth(), None);
        if let Some(mirror) = facts.mirror {
            let same = mirror["text"].as_str() == Some(text.as_str()) && mirror["version"] == document.version;
            let wanted = expect.mirror.unwrap_or(true);
            if same != wanted {
                let theirs = mirror["text"].as_str().unwrap_or_default();
                let lines = diff::unified("text", &visible(&text), &visible(theirs));
                let found = format!("version {}: {}", mirror["version"], difference(theirs, &lines));
                let fix = "a change was not told, or told wrongly; with changes held back (`echo`, `delayMs`) say `\"mirror\": false`";
                let expected = format!("the other side has version {} and the same text: {wanted}", document.version);
                self.miss("mirror", expected, found, Some(fix.to_owned()));
            }
        }
    }

    fn file(&mut self, expect: &Expect, facts: &Facts<'_>) {
        let there = matches!(facts.file, Some(Ok(_)));
        self.equal("onDisk", expect.on_disk.as_ref(), &there, None);
        if expect.disk.is_none() && expect.disk_includes.is_none() {
            return;
        }
        match &facts.file {
            Some(Ok(file)) => {
                let unsaved = facts.document.is_some_and(Document::unsaved);
                let fix = unsaved
                    .then_some("the document is not saved: calls change the text in the editor; `text` is about that");
                self.text("disk", expect.disk.as_ref(), file, fix);
                self.includes("diskIncludes", expect.disk_includes.as_ref(), file);
            }
            Some(Err(why)) => self.miss("disk", "a file".to_owned(), why.clone(), None),
            None => self.miss("disk", "a file".to_owned(), "it is no file".to_owned(), None),
        }
    }

    fn review(&mut self, expect: &Expect, facts: &Facts<'_>) {
        let Some(changes) = facts.changes else { return };
        let count = |list: &str| {
            let files = changes[list].as_array().into_iter().flatten();
            files.map(|file| file["hunks"].as_array().map_or(0, Vec::len)).sum::<usize>()
        };
        self.equal("changes", expect.changes.as_ref(), &count("files"), None);
        self.equal("proposals", expect.proposals.as_ref(), &count("proposals"), None);
    }

    fn result(&mut self, expect: &Expect, facts: &Facts<'_>) {
        let Some((label, result)) = facts.result else {
            let about = expect.status.is_some() || expect.error.is_some() || expect.applied.is_some();
            let about = about || expect.verdicts.is_some() || expect.content.is_some() || expect.pointers.is_some();
            let about = about || expect.content_includes.is_some() || expect.content_matches.is_some();
            let about = about || expect.content_excludes.is_some() || expect.new.is_some() || expect.resolved.is_some();
            if about || expect.unchanged.is_some() || expect.present.is_some() {
                let fix = "make a call first, or wait for it: {\"await\": {\"call\": ...}}";
                self.miss("call", "a call that ended".to_owned(), "there is none".to_owned(), Some(fix.to_owned()));
            }
            return;
        };
        let content = content_of(result);
        let hint = hint(label, result, &content, facts.unallowed);
        let word = |value: &Value| value.as_str().map_or_else(|| "none".to_owned(), str::to_owned);
        let error = match &result["error"] {
            Value::Null => "none".to_owned(),
            error => error["kind"].as_str().map_or_else(|| error["code"].to_string(), str::to_owned),
        };
        self.equal("status", expect.status.as_ref(), &word(&result["status"]), hint.as_deref());
        self.equal("error", expect.error.as_ref(), &error, hint.as_deref());
        self.equal("applied", expect.applied.as_ref(), &word(&result["applied"]), hint.as_deref());
        self.text("content", expect.content.as_ref(), &content, None);
        self.includes("contentIncludes", expect.content_includes.as_ref(), &content);
        if let Some(part) = expect.content_excludes.as_ref().filter(|part| content.contains(part.as_str())) {
            self.miss("contentExcludes", format!("no {} in it", shown(part)), shown(&content), None);
        }
        if let Some(pattern) = &expect.content_matches
            && !Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(&content))
        {
            self.miss("contentMatches", format!("something that matches {pattern}"), shown(&content), None);
        }
        self.diagnostics(expect, result);
        for (pointer, expected) in expect.pointers.iter().flatten() {
            let found = result.pointer(pointer).unwrap_or(&Value::Null);
            let same = found == expected || found.as_f64().is_some_and(|found| Some(found) == expected.as_f64());
            if !same {
                let fix = nearest(result, pointer);
                self.miss(&format!("pointers {pointer}"), cut(&expected.to_string()), cut(&found.to_string()), fix);
            }
        }
    }

    fn diagnostics(&mut self, expect: &Expect, result: &Value) {
        // That of a call, or the answer to `ropewalk/diagnostics`.
        let report = if result["diagnostics"].is_null() { result } else { &result["diagnostics"] };
        let sources: Vec<&Value> = report["documents"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|document| document["sources"].as_array().into_iter().flatten())
            .collect();
        let names: Vec<String> = sources
            .iter()
            .map(|source| format!("{} {}", source["id"].as_str().unwrap_or_default(), verdict(source)))
            .collect();
        let names = if names.is_empty() { "there is no report".to_owned() } else { names.join(", ") };
        for (name, wanted) in expect.verdicts.iter().flatten() {
            let mut of = sources.iter().filter(|source| source["id"] == name.as_str()).peekable();
            if of.peek().is_none() {
                let fix = "a source is there from the `diagnostics` step on that names it, or a server that is found and trusted";
                self.miss(&format!("verdicts {name}"), wanted.clone(), names.clone(), Some(fix.to_owned()));
            }
            for source in of.filter(|source| verdict(source) != wanted) {
                let detail = source["detail"].as_str().map(str::to_owned);
                self.miss(&format!("verdicts {name}"), wanted.clone(), verdict(source).to_owned(), detail);
            }
        }
        let lengths =
            |key: &str| sources.iter().map(|source| source[key].as_array().map_or(0, Vec::len)).sum::<usize>();
        let sums = |key: &str| {
            let sum: u64 = sources.iter().filter_map(|source| source[key].as_u64()).sum();
            usize::try_from(sum).unwrap_or(usize::MAX)
        };
        let said: Vec<String> = sources
            .iter()
            .flat_map(|source| {
                ["new", "present"].into_iter().flat_map(|key| source[key].as_array().into_iter().flatten())
            })
            .map(|problem| problem["message"].as_str().unwrap_or_default().to_owned())
            .collect();
        let said = format!("{names}; told are: {}", if said.is_empty() { "none".to_owned() } else { said.join("; ") });
        self.equal("new", expect.new.as_ref(), &lengths("new"), Some(&said));
        self.equal("present", expect.present.as_ref(), &lengths("present"), Some(&said));
        self.equal("resolved", expect.resolved.as_ref(), &sums("resolved"), Some(&said));
        self.equal("unchanged", expect.unchanged.as_ref(), &sums("unchanged"), Some(&said));
    }

    fn run(&mut self, expect: &Expect, facts: &Facts<'_>) {
        self.equal("asked", expect.asked.as_ref(), &facts.asked, None);
        for (method, least) in expect.received.iter().flatten() {
            let found = facts.received.get(method).copied().unwrap_or(0);
            if found < *least {
                let fix = "it may still be on its way: {\"until\": {\"method\": ...}} waits for it";
                let expected = format!("at least {least}");
                self.miss(&format!("received {method}"), expected, found.to_string(), Some(fix.to_owned()));
            }
        }
    }
}

fn verdict(source: &Value) -> &str {
    source["verdict"].as_str().unwrap_or_default()
}

/// The text of a result, for the model.
pub(super) fn content_of(result: &Value) -> String {
    let texts = result["content"].as_array().into_iter().flatten().filter_map(|content| content["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// What could be done about a call that ended in another way.
fn hint(label: &str, result: &Value, content: &str, unallowed: &[Unallowed]) -> Option<String> {
    let asked = unallowed.iter().find(|asked| asked.call.ends_with(&format!("({label})")));
    if let Some(rule) = asked.and_then(|asked| asked.rule.as_ref()) {
        return Some(format!(
            "nothing allowed it: run with `--allow '{rule}'`, or answer before: {{\"answer\": {{\"approve\": \"once\"}}}}"
        ));
    }
    if result["isError"] == true {
        return Some(format!("it says: {}", shown(content)));
    }
    result["error"]["message"].as_str().map(|message| format!("it says: {message}"))
}

/// How far a pointer leads, and what is there.
fn nearest(result: &Value, pointer: &str) -> Option<String> {
    if result.pointer(pointer).is_some() {
        return None;
    }
    let mut end = pointer.len();
    while let Some(slash) = pointer[..end].rfind('/') {
        if let Some(there) = result.pointer(&pointer[..slash]) {
            let keys = match there {
                Value::Object(fields) => fields.keys().cloned().collect::<Vec<_>>().join(", "),
                Value::Array(list) => format!("a list of {}", list.len()),
                other => cut(&other.to_string()),
            };
            let place = if slash == 0 { "the result" } else { &pointer[..slash] };
            return Some(format!("at {place} there is: {keys}"));
        }
        end = slash;
    }
    None
}

/// A text on one line, cut.
pub(super) fn shown(text: &str) -> String {
    cut(&format!("{text:?}"))
}

fn cut(text: &str) -> String {
    if text.chars().count() <= SHOWN {
        text.to_owned()
    } else {
        text.chars().take(SHOWN).chain("...".chars()).collect()
    }
}

/// A text in which everything can be seen, and nothing reaches a terminal as a command: only LF and tabs stay as they are.
pub(super) fn visible(text: &str) -> String {
    let hidden = |c: char| c == '\u{feff}' || (c.is_control() && !matches!(c, '\n' | '\t'));
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        if hidden(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
        out
    })
}

/// What is there, and how it differs from what was expected.
fn difference(found: &str, lines: &str) -> String {
    if lines.is_empty() { shown(found) } else { format!("{}\n{}", shown(found), lines.trim_end()) }
}
