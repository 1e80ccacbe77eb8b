//! What a person said to calls, for as long as it counts: yes to all that are like one, no to exactly one. Pure.
//!
//! A call has two names. The exact one is a fingerprint of its tool, its arguments and everything it reaches, and a no is
//! kept under it. The loose one says what calls have in common that one yes can cover, and is the business of those who
//! ask. What is kept can be listed, and taken back one by one.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// At most so many of each kind are kept; the oldest give way.
const KEPT: usize = 1000;

/// What a person said, to be remembered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Consents {
    /// By what calls have in common.
    granted: BTreeMap<String, Said>,
    /// By fingerprint.
    denied: BTreeMap<String, Said>,
    last: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Said {
    number: u64,
    scope: Scope,
    tool: String,
    targets: Vec<String>,
    feedback: Option<String>,
}

/// What was said, and for how long it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Yes, in this session.
    Session,
    /// Yes, from now on, in every session of the workspace folder.
    Always,
    /// No, in this session.
    Deny,
}

/// One thing that is remembered, for a person to see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Remembered {
    /// Names it, to take it back: `g1`, `g2` and so on in the session; `a` and hex digits for what counts always.
    pub id: String,
    /// What was said.
    pub scope: Scope,
    /// The tool.
    pub tool: String,
    /// What the call reached, and what is covered of it: files, commands, hosts.
    pub targets: Vec<String>,
}

/// A no that a person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Denial<'a> {
    /// What they said with it.
    pub feedback: Option<&'a str>,
}

impl Consents {
    /// Yes to all calls that are `like` this one. A no to one of them stays a no.
    pub fn grant(&mut self, like: &str, tool: &str, targets: &[String]) {
        let said = self.said(Scope::Session, tool, targets, None);
        put(&mut self.granted, like, said);
    }

    /// No to exactly this call, by its [`fingerprint`].
    pub fn deny(&mut self, exact: &str, tool: &str, targets: &[String], feedback: Option<&str>) {
        let said = self.said(Scope::Deny, tool, targets, feedback);
        put(&mut self.denied, exact, said);
    }

    /// Yes to exactly this call, just now: an earlier no does not count any more. Answers whether there was one.
    pub fn relent(&mut self, exact: &str) -> bool {
        self.denied.remove(exact).is_some()
    }

    /// Whether a person said yes to calls like this one.
    pub fn granted(&self, like: &str) -> bool {
        self.granted.contains_key(like)
    }

    /// Whether a person said no to exactly this call; and what they said with it.
    pub fn denied(&self, exact: &str) -> Option<Denial<'_>> {
        self.denied.get(exact).map(|said| Denial { feedback: said.feedback.as_deref() })
    }

    /// Everything that is remembered, the oldest first.
    pub fn list(&self) -> Vec<Remembered> {
        let mut all: Vec<&Said> = self.granted.values().chain(self.denied.values()).collect();
        all.sort_by_key(|said| said.number);
        all.into_iter()
            .map(|said| Remembered {
                id: format!("g{}", said.number),
                scope: said.scope,
                tool: said.tool.clone(),
                targets: said.targets.clone(),
            })
            .collect()
    }

    /// Takes all back. What is said later has other ids than what was said before.
    pub fn clear(&mut self) {
        self.granted.clear();
        self.denied.clear();
    }

    /// Takes one back, by the id it is listed under; answers whether it was there.
    pub fn revoke(&mut self, id: &str) -> bool {
        let number = id.strip_prefix('g').and_then(|number| number.parse().ok());
        let before = self.granted.len() + self.denied.len();
        self.granted.retain(|_, said| Some(said.number) != number);
        self.denied.retain(|_, said| Some(said.number) != number);
        self.granted.len() + self.denied.len() < before
    }

    fn said(&mut self, scope: Scope, tool: &str, targets: &[String], feedback: Option<&str>) -> Said {
        self.last += 1;
        Said {
            number: self.last,
            scope,
            tool: tool.to_owned(),
            targets: targets.to_vec(),
            feedback: feedback.map(str::to_owned),
        }
    }
}

fn put(all: &mut BTreeMap<String, Said>, key: &str, said: Said) {
    all.insert(key.to_owned(), said);
    if all.len() > KEPT
        && let Some(oldest) = all.iter().min_by_key(|(_, said)| said.number).map(|(key, _)| key.clone())
    {
        all.remove(&oldest);
    }
}

/// The fingerprint of a call: SHA-256, lower-case hex, over its tool, its canonical arguments and what it reaches. The
/// order of keys does not count; `1`, `1.0` and `"1"` are three values.
pub fn fingerprint(tool: &str, arguments: &Value, targets: &[String]) -> String {
    let mut text = String::new();
    string(tool, &mut text);
    canonical(arguments, &mut text);
    let _ = write!(text, "{}", targets.len());
    for target in targets {
        string(target, &mut text);
    }
    crate::text::hash(&text)
}

fn string(value: &str, out: &mut String) {
    // The length first, so that no value can pass for the end of itself and the beginning of another.
    let _ = write!(out, "s{}:{value}", value.len());
}

fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push('n'),
        Value::Bool(value) => out.push_str(if *value { "bt" } else { "bf" }),
        Value::Number(value) => {
            let _ = write!(out, "#{value};");
        }
        Value::String(value) => string(value, out),
        Value::Array(items) => {
            let _ = write!(out, "a{}:", items.len());
            for item in items {
                canonical(item, out);
            }
        }
        Value::Object(fields) => {
            let _ = write!(out, "o{}:", fields.len());
            let sorted: BTreeMap<&String, &Value> = fields.iter().collect();
            for (key, value) in sorted {
                string(key, out);
                canonical(value, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_differs_has_another_fingerprint() {
        let all = [
            json!({ "a": 1 }),
            json!({ "a": "1" }),
            json!({ "a": 1.0 }),
            json!({ "a": true }),
            json!({ "a": "true" }),
            json!({ "a": null }),
            json!({ "a": [] }),
            json!({ "a": {} }),
            json!({ "a": [1, 2] }),
            json!({ "a": [[1], 2] }),
            json!({ "a": [[1, 2]] }),
            json!({ "a": "s1:b", "b": "" }),
            json!({ "a": "", "b": "s1:b" }),
            json!({}),
        ];
        let prints: std::collections::BTreeSet<String> =
            all.iter().map(|arguments| fingerprint("t", arguments, &[])).collect();
        assert_eq!(prints.len(), all.len());
        let of = |tool: &str, targets: &[&str]| {
            fingerprint(tool, &json!({}), &targets.iter().map(|target| (*target).to_owned()).collect::<Vec<_>>())
        };
        assert_ne!(of("t", &["a", "b"]), of("t", &["ab"]));
        assert_ne!(of("t", &["a"]), of("ta", &[]));
        assert_ne!(of("t", &["a"]), of("u", &["a"]));
    }

    proptest! {
        #[test]
        fn the_order_of_keys_does_not_count(keys in proptest::collection::btree_map("[a-c]{1,3}", 0i32..9, 0..5)) {
            let forth: serde_json::Map<String, Value> = keys.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
            let back: serde_json::Map<String, Value> = forth.clone().into_iter().rev().collect();
            let (forth, back) = (Value::Object(forth), Value::Object(back));
            prop_assert_eq!(fingerprint("t", &forth, &[]), fingerprint("t", &back, &[]));
        }
    }

    #[test]
    fn what_is_said_is_listed_and_taken_back() {
        let mut consents = Consents::default();
        let targets = vec!["/out/a".to_owned()];
        consents.grant("like", "write", &targets);
        consents.grant("other", "bash", &[]);
        consents.deny("exact", "write", &targets, Some("not that"));
        let listed: Vec<(String, Scope)> = consents.list().into_iter().map(|entry| (entry.id, entry.scope)).collect();
        let expected = [("g1", Scope::Session), ("g2", Scope::Session), ("g3", Scope::Deny)];
        assert_eq!(listed, expected.map(|(id, scope)| (id.to_owned(), scope)));
        assert!(consents.granted("like") && !consents.granted("exact"));
        assert_eq!(
            (consents.denied("exact"), consents.denied("like")),
            (Some(Denial { feedback: Some("not that") }), None)
        );

        let stored = serde_json::to_string(&consents).unwrap();
        assert_eq!(serde_json::from_str::<Consents>(&stored).unwrap(), consents);

        assert!(consents.revoke("g1") && !consents.revoke("g1") && !consents.revoke("nonsense"));
        assert!(!consents.granted("like") && consents.granted("other"));
        consents.relent("exact");
        assert_eq!(consents.denied("exact"), None);
        // An id is never given again: who takes back what was listed long ago takes back nothing else.
        consents.clear();
        consents.grant("new", "write", &[]);
        assert_eq!(consents.list()[0].id, "g4");
    }

    #[test]
    fn the_oldest_give_way() {
        let mut consents = Consents::default();
        for number in 0..=KEPT {
            consents.grant(&format!("{number}"), "t", &[]);
        }
        assert!(!consents.granted("0") && consents.granted("1"));
    }
}
