//! A script: lines of JSON, each a step; blank lines and lines that begin with `//` are passed over. All that can be known to
//! be wrong before anything runs is told at once. Pure.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::step::{Call, Expect, Request, Step, Type};
use super::values::{bounded, clipped, kind};
use crate::config::Once;
use crate::fake_server::Patterns;

/// A step with its name, as one line of a script; where it stands is not part of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// Where it stands, 1-based.
    #[serde(skip)]
    pub number: usize,
    /// What the test case that begins with it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// For whoever drives the editor: comes back with what became of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Value>,
    /// What is done.
    #[serde(flatten)]
    pub step: Step,
}

/// A fault of a script.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The line, 1-based.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

/// The words of steps, for those who misspell one.
const WORDS: [&str; 25] = [
    "answer",
    "await",
    "call",
    "calls",
    "cancel",
    "change",
    "close",
    "diagnostics",
    "editor",
    "expect",
    "notify",
    "open",
    "redo",
    "release",
    "reply",
    "request",
    "save",
    "session",
    "settings",
    "settle",
    "trust",
    "type",
    "undo",
    "until",
    "write-disk",
];

/// Longer words (bytes) than this are like none of ours.
const MOST_ALIKE: usize = 64;

/// What a reader of Rust would call an object.
static OBJECTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = r"expected (?:a map|(?:tuple )?struct \w+(?: with \d+ elements?)?)";
    Regex::new(words).ok()
});

/// What is wrong, in words of JSON.
fn in_words_of_json(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let said = said.replace(" at line 1 column ", " at column ").replace(" at line 0 column 0", "");
    let said = match &*OBJECTS {
        Some(objects) => objects.replace_all(&said, "expected an object"),
        None => Cow::Borrowed(said.as_str()),
    };
    said.replace("expected a sequence", "expected a list")
}

/// Reads one step. What is wrong with it is told in bounded words.
pub(super) fn line(text: &str, number: usize) -> Result<Line, String> {
    read(text, number).map_err(|why| bounded(&why))
}

fn read(text: &str, number: usize) -> Result<Line, String> {
    let Once(step) = serde_json::from_str(text).map_err(|error| {
        let said = in_words_of_json(&error);
        if error.is_data() { format!("this cannot be meant: {said}") } else { format!("no JSON object: {said}") }
    })?;
    let Value::Object(mut fields) = step else { return Err(format!("no JSON object: it is {}", kind(&step))) };
    let name = match fields.shift_remove("name") {
        None => None,
        Some(Value::String(name)) => Some(name),
        Some(other) => return Err(format!("`name` is to be a text, not {}", kind(&other))),
    };
    let id = fields.shift_remove("id");
    let mut keys = fields.keys();
    let word = match (keys.next(), keys.next()) {
        (Some(word), None) => word.clone(),
        (None, _) => return Err(format!("it says nothing to do; a step is one of: {}", WORDS.join(", "))),
        (Some(one), Some(other)) => {
            let (one, other) = (clipped(one), clipped(other));
            return Err(format!("a step does one thing, and this has both `{one}` and `{other}`; write two lines"));
        }
    };
    if !WORDS.contains(&word.as_str()) {
        let near = WORDS.iter().filter(|_| word.len() <= MOST_ALIKE).max_by(|a, b| {
            let score = |known: &str| crate::text::similarity::similarity(known, &word);
            score(a).total_cmp(&score(b))
        });
        let near = near.map(|near| format!(" (is `{near}` meant?)")).unwrap_or_default();
        let word = clipped(&word);
        return Err(format!("there is no step `{word}`{near}; there are: {}", WORDS.join(", ")));
    }
    if let Some(other) = fields.get(&word).filter(|what| !what.is_object()) {
        return Err(format!("`{word}` is to be an object, not {}", kind(other)));
    }
    let step: Result<Step, _> = serde_json::from_value(Value::Object(fields));
    let step = step.map_err(|error| format!("`{word}`: {}", in_words_of_json(&error)))?;
    check(&step)?;
    Ok(Line { number, name, id, step })
}

/// Reads a script; the error is all its faults, in the order of the lines.
pub fn parse(text: &str) -> Result<Vec<Line>, Vec<Fault>> {
    let (mut lines, mut faults) = (Vec::new(), Vec::new());
    for (at, text) in text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate() {
        let trimmed = text.trim();
        if trimmed.is_empty() || trimmed.starts_with("//") {
            continue;
        }
        match line(trimmed, at + 1) {
            Ok(line) => lines.push(line),
            Err(why) => faults.push(Fault { line: at + 1, why }),
        }
    }
    if lines.is_empty() && faults.is_empty() {
        faults.push(Fault { line: 1, why: "there is no step in it".to_owned() });
    }
    faults.extend(labels(&lines).into_iter().map(|Fault { line, why }| Fault { line, why: bounded(&why) }));
    faults.sort();
    if faults.is_empty() { Ok(lines) } else { Err(faults) }
}

/// What can be wrong with one step by itself.
fn check(step: &Step) -> Result<(), String> {
    match step {
        Step::Type(typed) => place(typed),
        Step::Editor(behaviour) => behaviour.next.iter().try_for_each(|trouble| match trouble {
            super::step::Trouble::Type(typed) | super::step::Trouble::TypeWith(typed) => place(typed),
            _ => Ok(()),
        }),
        Step::Answer(answer) => {
            if answer.approve.is_none() && answer.method.is_none() {
                return Err("`answer` needs `approve` or `method`".to_owned());
            }
            if answer.approve.is_some() && (answer.result.is_some() || answer.error.is_some()) {
                return Err("`answer`: `approve` is the answer, so that neither `result` nor `error` counts".to_owned());
            }
            if answer.times == Some(0) {
                return Err("`answer`: `times` is at least 1".to_owned());
            }
            Ok(())
        }
        Step::Reply(reply) if reply.method.is_none() && reply.id.is_none() => {
            Err("`reply` needs the `method` or the `id` of the question".to_owned())
        }
        Step::Calls(calls) if calls.calls.is_empty() => Err("`calls` has no call".to_owned()),
        Step::Diagnostics(said) => {
            if said.rules.is_none() && (said.items.is_none() || said.path.is_none()) {
                return Err("`diagnostics` needs `rules`, or `path` and `items`".to_owned());
            }
            said.rules.as_deref().map_or(Ok(()), |rules| Patterns::of_rules(rules).map(drop))
        }
        Step::Expect(expect) => check_expect(expect),
        _ => Ok(()),
    }
}

fn place(typed: &Type) -> Result<(), String> {
    let places = [typed.at.is_some(), typed.after.is_some(), typed.before.is_some(), typed.end];
    match places.iter().filter(|said| **said).count() {
        1 => Ok(()),
        0 => Err("`type` does not say where: `at`, `after`, `before` or `\"end\": true`".to_owned()),
        _ => Err("`type` says twice where; one of `at`, `after`, `before` and `end` is enough".to_owned()),
    }
}

fn check_expect(expect: &Expect) -> Result<(), String> {
    if *expect == (Expect { path: expect.path.clone(), call: expect.call.clone(), ..Expect::default() }) {
        return Err("`expect` expects nothing".to_owned());
    }
    let of_document = [
        ("text", expect.text.is_some()),
        ("textIncludes", expect.text_includes.is_some()),
        ("mirror", expect.mirror.is_some()),
        ("disk", expect.disk.is_some()),
        ("diskIncludes", expect.disk_includes.is_some()),
        ("onDisk", expect.on_disk.is_some()),
        ("open", expect.open.is_some()),
        ("unsaved", expect.unsaved.is_some()),
        ("version", expect.version.is_some()),
        ("undoDepth", expect.undo_depth.is_some()),
        ("redoDepth", expect.redo_depth.is_some()),
    ];
    if let Some((key, _)) = of_document.iter().find(|(_, named)| *named && expect.path.is_none()) {
        return Err(format!("`expect`: `{key}` is about a document; say which by `path`"));
    }
    if let Some(pattern) = &expect.content_matches {
        Regex::new(pattern).map_err(|error| format!("`contentMatches` is no regular expression: {error}"))?;
    }
    let pointers = expect.pointers.iter().flatten();
    if let Some((wrong, _)) = pointers.into_iter().find(|(pointer, _)| !pointer.is_empty() && !pointer.starts_with('/'))
    {
        return Err(format!("`{wrong}` is no JSON pointer; one begins with `/`"));
    }
    Ok(())
}

/// The calls that a step names, and those that it makes. A call without a label is named after its number.
fn labelled(step: &Step) -> (Vec<&str>, Vec<Option<&str>>) {
    match step {
        Step::Call(call) => (Vec::new(), vec![call.label.as_deref()]),
        Step::Calls(calls) => (Vec::new(), calls.calls.iter().map(|call: &Call| call.label.as_deref()).collect()),
        Step::Request(Request { label: Some(label), .. }) => (Vec::new(), vec![Some(label)]),
        Step::Await(awaited) => (vec![&awaited.call], Vec::new()),
        Step::Cancel(cancel) => (cancel.call.as_deref().into_iter().collect(), Vec::new()),
        Step::Expect(expect) => (expect.call.as_deref().into_iter().collect(), Vec::new()),
        _ => (Vec::new(), Vec::new()),
    }
}

/// What is wrong with the order of the steps: labels that are not there yet or there already, a manner that comes too late.
fn labels(lines: &[Line]) -> Vec<Fault> {
    let (mut faults, mut known) = (Vec::new(), BTreeSet::new());
    let (mut calls, mut begun) = (0, false);
    for Line { number, step, .. } in lines {
        if let Step::Request(request) = step
            && request.label.is_none()
        {
            // Its answer is kept by the name of the method, the last one counts.
            known.insert(request.method.clone());
        }
        let (used, made) = labelled(step);
        for label in used {
            if !known.contains(label) {
                let why = format!("there is no call `{label}` before this line (labels are given by `\"as\": ...`)");
                faults.push(Fault { line: *number, why });
            }
        }
        for label in made {
            calls += usize::from(!matches!(step, Step::Request(_)));
            let label = label.map_or_else(|| format!("c{calls}"), str::to_owned);
            if !known.insert(label.clone()) {
                faults.push(Fault { line: *number, why: format!("there is a call `{label}` already") });
            }
        }
        match step {
            Step::Editor(behaviour) if begun && (behaviour.manner.is_some() || !behaviour.abilities.is_empty()) => {
                let why = "which editor it is, and what it can do, is said before everything else".to_owned();
                faults.push(Fault { line: *number, why });
            }
            Step::Editor(_) => {}
            _ => begun = true,
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(script: &str, expected: &Expect) {
        let told = match parse(script) {
            Ok(lines) => format!("{} steps", lines.len()),
            Err(faults) => crate::fake_editor::report::human_faults("script", &faults),
        };
        expected.assert_eq(&told);
    }

    #[test]
    fn what_is_a_script() {
        check(
            "// a comment\n\n  {\"open\": {\"path\": \"a.txt\"}, \"name\": \"one\"}  \n{\"settle\": {}}\n",
            &expect!["2 steps"],
        );
        check("\u{feff}{\"open\": {\"uri\": \"untitled:a\", \"text\": \"\"}}\r\n", &expect!["1 steps"]);
    }

    #[test]
    fn what_is_told_of_a_long_line_is_short() {
        let long = "ö".repeat(1 << 20);
        for line in [
            format!(r#"{{"{long}": {{}}}}"#),
            format!(r#"{{"{long}": {{}}, "b{long}": {{}}}}"#),
            format!(r#"{{"{long}": 1, "{long}": 2}}"#),
            format!(r#"{{"name": ["{long}"], "settle": {{}}}}"#),
            format!(r#"{{"open": "{long}"}}"#),
            format!(r#"{{"open": {{"{long}": 1}}}}"#),
            format!(r#"{{"editor": {{"manner": "{long}"}}}}"#),
            format!(r#"{{"await": {{"call": "{long}"}}}}"#),
            format!(r#"{{"expect": {{"contentMatches": "({long}"}}}}"#),
            format!(r#"{{"expect": {{"pointers": {{"{long}": 1}}}}}}"#),
        ] {
            let faults = parse(&line).unwrap_err();
            let start: String = line.chars().take(40).collect();
            assert!(faults.len() == 1 && faults[0].why.chars().count() < 2000, "{start}");
            assert!(!faults[0].why.contains("meant?"), "{start}");
        }
        let close = line(r#"{"opne": {}}"#, 1).unwrap_err();
        assert!(close.starts_with("there is no step `opne` (is `open` meant?)"), "{close}");
    }

    #[test]
    fn all_faults_are_told_at_once() {
        check(
            "{\"opne\": {\"path\": \"a\"}}\nno\n{\"open\": {\"path\": \"a\"}, \"close\": {\"path\": \"a\"}}\n\
             {\"open\": {\"pth\": \"a\"}}\n{\"type\": {\"path\": \"a\", \"text\": \"x\"}}\n{\"await\": {\"call\": \"c9\"}}\n\
             {\"expect\": {}}\n{\"expect\": {\"text\": \"x\"}}\n{\"expect\": {\"contentMatches\": \"(\"}}\n\
             {\"editor\": {\"manner\": \"eglot\"}}\n{\"call\": {\"name\": \"ls\", \"as\": \"x\"}}\n\
             {\"call\": {\"name\": \"ls\", \"as\": \"x\"}}\n{\"expect\": {\"pointers\": {\"a\": 1}}}\n",
            &expect![[r#"
                script:1: there is no step `opne` (is `open` meant?); there are: answer, await, call, calls, cancel, change, close, diagnostics, editor, expect, notify, open, redo, release, reply, request, save, session, settings, settle, trust, type, undo, until, write-disk
                script:2: no JSON object: expected ident at column 2
                script:3: a step does one thing, and this has both `open` and `close`; write two lines
                script:4: `open`: unknown field `pth`, expected one of `path`, `uri`, `text`, `languageId`
                script:5: `type` does not say where: `at`, `after`, `before` or `"end": true`
                script:6: there is no call `c9` before this line (labels are given by `"as": ...`)
                script:7: `expect` expects nothing
                script:8: `expect`: `text` is about a document; say which by `path`
                script:9: `contentMatches` is no regular expression: regex parse error:
                    (
                    ^
                error: unclosed group
                script:10: which editor it is, and what it can do, is said before everything else
                script:12: there is a call `x` already
                script:13: `a` is no JSON pointer; one begins with `/`
            "#]],
        );
        check(
            "{\"open\": {\"path\": \"a\"}, \"open\": {\"path\": \"b\"}}\n{\"open\": {\"path\": \"a\", \"path\": \"b\"}}\n\
             {\"open\": []}\n{\"settle\": 1}\n[]\n{\"name\": [], \"settle\": {}}\n\
             {\"change\": {\"path\": \"a\", \"text\": \"\", \"range\": 1}}\n{\"call\": {\"name\": \"ls\", \"params\": 1}}\n\
             {\"calls\": {\"calls\": {}}}\n{\"editor\": {\"manner\": \"vim\"}}\n",
            &expect![[r"
                script:1: this cannot be meant: the key `open` is there twice at column 30
                script:2: this cannot be meant: the key `path` is there twice at column 29
                script:3: `open` is to be an object, not a list
                script:4: `settle` is to be an object, not a number
                script:5: no JSON object: it is a list
                script:6: `name` is to be a text, not a list
                script:7: `change`: invalid type: integer `1`, expected an object
                script:8: `call`: invalid type: integer `1`, expected an object
                script:9: `calls`: invalid type: map, expected a list
                script:10: `editor`: unknown variant `vim`, expected one of `vscode`, `neovim`, `neovim-adapter`, `eglot`
            "]],
        );
        check("// nothing\n", &expect![["script:1: there is no step in it\n"]]);
        check(
            "{\"name\": \"x\"}",
            &expect![[r"
            script:1: it says nothing to do; a step is one of: answer, await, call, calls, cancel, change, close, diagnostics, editor, expect, notify, open, redo, release, reply, request, save, session, settings, settle, trust, type, undo, until, write-disk
        "]],
        );
    }
}
