//! From text to diagnostics, and to edits: the script's patterns at work. Pure.

use std::collections::{BTreeMap, BTreeSet};

use regex::{Captures, Regex};
use serde_json::{Map, Value, json};

use super::script::{Odd, Rewrite, Rule, Script};
use crate::text::{Encoding, LineBreaks, Range, Splice, Text};

/// So many characters are in a huge message.
const HUGE: usize = 1_000_000;

/// The script's patterns, ready to use.
#[derive(Debug, Clone)]
pub(crate) struct Patterns {
    rules: Vec<(Rule, Regex)>,
    names: Option<NamePatterns>,
    pub(super) formatting: Vec<(Regex, String)>,
    /// In the order of the script's actions.
    pub(super) actions: Vec<Regex>,
    pub(super) commands: BTreeMap<String, Vec<(Regex, String)>>,
    odd: Vec<Odd>,
}

#[derive(Debug, Clone)]
struct NamePatterns {
    defines: Regex,
    uses: Regex,
    diagnostic: Rule,
}

/// A document or file as the server knows it.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// The text of the open document, and its version.
    pub(super) open: Option<(i64, Text)>,
    /// What was last seen on the disk.
    pub(super) disk: Option<Text>,
}

impl Known {
    /// What the server goes by.
    pub(super) fn text(&self) -> Option<&Text> {
        self.open.as_ref().map(|(_, text)| text).or(self.disk.as_ref())
    }
}

/// All of them, by URI.
pub(super) type Files = BTreeMap<String, Known>;

/// A place of a name: where in the text (bytes), and whether it defines it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) uri: String,
    pub(super) bytes: std::ops::Range<usize>,
    pub(super) defines: bool,
    pub(super) name: String,
}

fn pattern(place: &str, pattern: &str) -> Result<Regex, String> {
    // Ends of lines are what people mean by `^` and `$` in a text of many lines.
    Regex::new(&format!("(?m){pattern}")).map_err(|error| format!("`{place}` is no regular expression: {error}"))
}

fn with_group(place: &str, text: &str) -> Result<Regex, String> {
    let found = pattern(place, text)?;
    if found.captures_len() < 2 {
        return Err(format!("`{place}` has no group; its first group is to be the name, as in `def (\\w+)`"));
    }
    Ok(found)
}

fn rewrites(place: &str, list: &[Rewrite]) -> Result<Vec<(Regex, String)>, String> {
    let each = list.iter().enumerate();
    each.map(|(at, one)| Ok((pattern(&format!("{place}[{at}].pattern"), &one.pattern)?, one.with.clone()))).collect()
}

impl Patterns {
    /// Reads the patterns of a script; the error names the one that is wrong.
    pub(super) fn of(script: &Script) -> Result<Patterns, String> {
        let rules = script
            .rules
            .iter()
            .enumerate()
            .map(|(at, rule)| Ok((rule.clone(), pattern(&format!("rules[{at}].pattern"), &rule.pattern)?)));
        let names = script.names.as_ref().map(|names| {
            Ok::<_, String>(NamePatterns {
                defines: with_group("names.defines", &names.defines)?,
                uses: with_group("names.uses", &names.uses)?,
                diagnostic: Rule {
                    pattern: names.uses.clone(),
                    severity: names.severity,
                    code: names.code.clone(),
                    message: names.message.clone(),
                    needs_save: false,
                    fields: Map::new(),
                },
            })
        });
        let actions = script.actions.iter().enumerate();
        let commands = script.commands.iter();
        Ok(Patterns {
            rules: rules.collect::<Result<_, String>>()?,
            names: names.transpose()?,
            formatting: rewrites("formatting", &script.formatting)?,
            actions: actions
                .map(|(at, action)| pattern(&format!("actions[{at}].pattern"), &action.pattern))
                .collect::<Result<_, String>>()?,
            commands: commands
                .map(|(name, list)| Ok((name.clone(), rewrites(&format!("commands.{name}"), list)?)))
                .collect::<Result<_, String>>()?,
            odd: script.diagnostics.odd.clone(),
        })
    }

    /// The patterns of these rules alone.
    pub(crate) fn of_rules(rules: &[Rule]) -> Result<Patterns, String> {
        Patterns::of(&Script { rules: rules.to_vec(), ..Script::default() })
    }

    /// The problems of a text by itself.
    pub(crate) fn found(&self, text: &Text, encoding: Encoding) -> Vec<Value> {
        self.by_rules(text, false, encoding)
    }

    /// Whether anything is found in a text as it is in memory, so that a change is worth a check: always, unless every
    /// rule needs a save.
    pub(super) fn checks_memory(&self) -> bool {
        self.names.is_some() || self.rules.is_empty() || self.rules.iter().any(|(rule, _)| !rule.needs_save)
    }

    /// Whether anything is found on the disk only.
    pub(super) fn checks_disk(&self) -> bool {
        self.rules.iter().any(|(rule, _)| rule.needs_save)
    }

    /// The problems of a file by its text in memory.
    pub(super) fn memory(&self, files: &Files, uri: &str, encoding: Encoding) -> Vec<Value> {
        let Some(text) = files.get(uri).and_then(Known::text) else { return Vec::new() };
        let mut found = self.by_rules(text, false, encoding);
        if let Some(names) = &self.names {
            let defined: BTreeSet<String> = files
                .values()
                .filter_map(Known::text)
                .flat_map(|text| {
                    let text = text.to_string();
                    names
                        .defines
                        .captures_iter(&text)
                        .filter_map(|found| Some(found.get(1)?.as_str().to_owned()))
                        .collect::<Vec<_>>()
                })
                .collect();
            let whole = text.to_string();
            for captures in names.uses.captures_iter(&whole) {
                let Some(name) = captures.get(1) else { continue };
                if !defined.contains(name.as_str()) {
                    let range = text.range_of(name.range(), encoding);
                    found.push(diagnostic(&names.diagnostic, range, &captures));
                }
            }
        }
        found.extend(self.odd.iter().map(|odd| odd_one(*odd)));
        found
    }

    /// The problems of a file that are found on the disk only.
    pub(super) fn disk(&self, files: &Files, uri: &str, encoding: Encoding) -> Vec<Value> {
        let text = files.get(uri).and_then(|known| known.disk.as_ref());
        text.map(|text| self.by_rules(text, true, encoding)).unwrap_or_default()
    }

    fn by_rules(&self, text: &Text, on_disk: bool, encoding: Encoding) -> Vec<Value> {
        let whole = text.to_string();
        let mut found = Vec::new();
        for (rule, pattern) in self.rules.iter().filter(|(rule, _)| rule.needs_save == on_disk) {
            for captures in pattern.captures_iter(&whole) {
                let Some(hit) = captures.get(0) else { continue };
                found.push((hit.start(), diagnostic(rule, text.range_of(hit.range(), encoding), &captures)));
            }
        }
        found.sort_by_key(|(at, _)| *at);
        found.into_iter().map(|(_, diagnostic)| diagnostic).collect()
    }

    /// Every place of every name, file by file in their order in the text.
    pub(super) fn places(&self, files: &Files) -> Vec<Place> {
        let Some(names) = &self.names else { return Vec::new() };
        let mut places = Vec::new();
        for (uri, known) in files {
            let Some(text) = known.text().map(ToString::to_string) else { continue };
            let mut here = Vec::new();
            for (pattern, defines) in [(&names.defines, true), (&names.uses, false)] {
                for captures in pattern.captures_iter(&text) {
                    let Some(name) = captures.get(1) else { continue };
                    let place =
                        Place { uri: uri.clone(), bytes: name.range(), defines, name: name.as_str().to_owned() };
                    here.push(place);
                }
            }
            // What defines a name often fits the pattern of its uses too: it counts once, as the definition.
            here.sort_by_key(|place| (place.bytes.start, !place.defines));
            here.dedup_by_key(|place| place.bytes.start);
            places.append(&mut here);
        }
        places
    }
}

/// The edits that a list of rewrites makes of the bytes `within`, one after the other; as the protocol has it, all are
/// about the text before.
pub(super) fn edits(
    list: &[(Regex, String)],
    text: &Text,
    within: std::ops::Range<usize>,
    encoding: Encoding,
) -> Vec<Value> {
    let whole = text.to_string();
    let mut splices: Vec<Splice> = Vec::new();
    for (pattern, with) in list {
        for captures in pattern.captures_iter(&whole) {
            let Some(hit) = captures.get(0) else { continue };
            let inside = hit.start() >= within.start && hit.end() <= within.end;
            let met = splices.iter().any(|other| other.range.start < hit.end() && hit.start() < other.range.end);
            let new = expanded(with, &captures);
            if inside && !met && new != hit.as_str() {
                splices.push(Splice { range: hit.range(), text: new });
            }
        }
    }
    splices.sort_by_key(|splice| splice.range.start);
    splices.iter().map(|splice| json!(text.edit_of(splice, encoding))).collect()
}

/// A text as language servers count its lines.
pub(super) fn text_of(text: &str) -> Text {
    Text::new(text, LineBreaks::Lsp)
}

fn expanded(template: &str, captures: &Captures<'_>) -> String {
    let mut out = String::new();
    captures.expand(template, &mut out);
    out
}

fn diagnostic(rule: &Rule, range: Range, captures: &Captures<'_>) -> Value {
    let mut fields = Map::new();
    fields.insert("range".into(), json!(range));
    fields.insert("severity".into(), json!(rule.severity.number()));
    if let Some(code) = &rule.code {
        fields.insert("code".into(), code.clone());
    }
    fields.insert("source".into(), json!("fake"));
    fields.insert("message".into(), json!(expanded(&rule.message, captures)));
    let mut diagnostic = Value::Object(fields);
    merge(&mut diagnostic, &Value::Object(rule.fields.clone()));
    diagnostic
}

fn odd_one(odd: Odd) -> Value {
    let at = |line: i64, to: i64| {
        let end = json!({ "line": to, "character": 1 });
        json!({ "start": { "line": line, "character": 0 }, "end": end })
    };
    let mut found = json!({ "range": at(0, 0), "severity": 1, "source": "fake", "message": format!("odd: {odd:?}") });
    match odd {
        Odd::EmptyHref => {
            found["code"] = json!("odd");
            found["codeDescription"] = json!({ "href": "" });
        }
        Odd::FractionalCode => found["code"] = json!(1.5),
        Odd::NegativeLine => found["range"] = at(-1, 0),
        Odd::FarRange => found["range"] = at(0, 1_000_000),
        Odd::ReversedRange => found["range"] = at(1, 0),
        Odd::OnlyMessage => found = json!({ "message": format!("odd: {odd:?}") }),
        Odd::NoMessage => found["message"] = Value::Null,
        Odd::HugeMessage => found["message"] = json!(format!("odd: {odd:?} {}", "x".repeat(HUGE))),
        Odd::ControlCharacters => found["message"] = json!(format!("odd: {odd:?} \u{1b}[31m\u{7}\u{0}red")),
        Odd::WrongSeverity => found["severity"] = json!(99),
        Odd::NoObject => found = json!(format!("odd: {odd:?}")),
    }
    found
}

/// Puts one value into another, object by object; `null` removes a key.
pub(super) fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                if value.is_null() {
                    into.shift_remove(key);
                } else if let Some(old) = into.get_mut(key) {
                    merge(old, value);
                } else {
                    into.insert(key.clone(), value.clone());
                }
            }
        }
        (into, from) => *into = from.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(script: Value) -> Result<Patterns, String> {
        Patterns::of(&serde_json::from_value(script).unwrap())
    }

    fn files(all: &[(&str, &str)]) -> Files {
        let known = |text: &str| Known { open: Some((1, text_of(text))), disk: Some(text_of("BAD on the disk")) };
        all.iter().map(|(uri, text)| ((*uri).to_owned(), known(text))).collect()
    }

    fn told(list: &[Value]) -> Vec<String> {
        list.iter()
            .map(|one| {
                format!(
                    "{}:{} {} {}",
                    one["range"]["start"]["line"], one["range"]["start"]["character"], one["severity"], one["message"]
                )
            })
            .collect()
    }

    #[test]
    fn rules_find_what_they_say() {
        let script = json!({
            "rules": [
                { "pattern": "BAD", "message": "bad $0" },
                { "pattern": "^todo: (?<what>.*)$", "severity": "hint", "message": "do ${what}", "code": 7 },
                { "pattern": "BAD", "message": "saved bad", "needsSave": true },
            ],
        });
        let patterns = patterns(script).unwrap();
        let files = files(&[("u:a", "é😀 BAD\r\ntodo: it\n")]);
        for (encoding, first) in [(Encoding::Utf8, 7), (Encoding::Utf16, 4), (Encoding::Utf32, 3)] {
            let expected = [format!("0:{first} 1 \"bad BAD\""), "1:0 4 \"do it\"".to_owned()];
            assert_eq!(told(&patterns.memory(&files, "u:a", encoding)), expected);
        }
        assert_eq!(told(&patterns.disk(&files, "u:a", Encoding::Utf8)), ["0:0 1 \"saved bad\""]);
        assert!(patterns.memory(&files, "u:b", Encoding::Utf8).is_empty());
    }

    #[test]
    fn a_name_defined_in_one_file_is_missed_in_another() {
        let names = json!({ "names": { "defines": "def (\\w+)", "uses": "\\b(\\w+)\\(" } });
        let patterns = patterns(names).unwrap();
        let both = files(&[("u:a", "def f()\n"), ("u:b", "f()\ng()\n")]);
        assert_eq!(told(&patterns.memory(&both, "u:b", Encoding::Utf8)), ["1:0 1 \"`g` is not defined\""]);
        let one = files(&[("u:b", "f()\ng()\n")]);
        assert_eq!(patterns.memory(&one, "u:b", Encoding::Utf8).len(), 2);
        let places: Vec<String> = patterns
            .places(&both)
            .iter()
            .map(|place| format!("{} {:?} {} {}", place.uri, place.bytes, place.name, place.defines))
            .collect();
        assert_eq!(places, ["u:a 4..5 f true", "u:b 0..1 f false", "u:b 4..5 g false"]);
    }

    #[test]
    fn a_wrong_pattern_is_named() {
        for (script, expected) in [
            (json!({ "rules": [{ "pattern": "(", "message": "" }] }), "`rules[0].pattern` is no regular expression"),
            (json!({ "names": { "defines": "x", "uses": "(y)" } }), "`names.defines` has no group"),
            (json!({ "formatting": [{ "pattern": "*", "with": "" }] }), "`formatting[0].pattern` is no"),
            (json!({ "commands": { "c": [{ "pattern": "[", "with": "" }] } }), "`commands.c[0].pattern` is no"),
        ] {
            let why = patterns(script).unwrap_err();
            assert!(why.starts_with(expected), "{why}");
        }
    }

    #[test]
    fn rewrites_do_not_meet() {
        let list = vec![
            (Regex::new("(?m)[ \\t]+$").unwrap(), String::new()),
            (Regex::new("  ").unwrap(), " ".to_owned()),
            (Regex::new("x").unwrap(), "x".to_owned()),
        ];
        let text = text_of("a  b  \nx\n");
        let edits = edits(&list, &text, 0..text.len(), Encoding::Utf8);
        let told: Vec<String> = edits
            .iter()
            .map(|edit| {
                format!(
                    "{}-{} {}",
                    edit["range"]["start"]["character"], edit["range"]["end"]["character"], edit["newText"]
                )
            })
            .collect();
        assert_eq!(told, ["1-3 \" \"", "4-6 \"\""]);
    }

    #[test]
    fn merging_removes_by_null() {
        let mut into = json!({ "a": { "b": 1, "c": 2 }, "d": 3 });
        merge(&mut into, &json!({ "a": { "b": null, "e": 4 }, "d": null, "f": [] }));
        assert_eq!(into, json!({ "a": { "c": 2, "e": 4 }, "f": [] }));
    }
}
