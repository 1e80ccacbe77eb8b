//! Cuts secrets out of messages, each time with the same mask for the same secret. Pure.
//!
//! A secret that was seen once is known from then on, wherever it stands and whatever stands beside it.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::{Map, Value};

use super::mask::{mask, masks};
use super::shapes::{secret_of, secrets};

/// A secret shorter than this (bytes) is cut out only where its place shows it: the same text elsewhere may be anything.
const SHORTEST: usize = 8;

/// Messages whose `token` is the name of a piece of work.
const PROGRESS: &[&str] = &["$/progress", "window/workDoneProgress", "ropewalk/diagnosticProgress"];

/// Objects whose values are hidden, whatever they are called: programs and machines are given secrets by them. What is
/// hidden so is not looked for elsewhere, for it may be any word.
const HIDDEN: &[&str] = &["env", "environment", "headers"];

/// What is known of secrets, and how to cut them out.
#[derive(Debug, Default)]
pub(super) struct Redactor {
    numbers: HashMap<String, usize>,
    /// The secrets that are looked for everywhere, with their masks.
    known: Vec<(String, String)>,
    /// Places where a secret was cut out so far.
    pub placed: u64,
}

impl Redactor {
    /// How many secrets are looked for everywhere: if these become more, earlier messages may hold one.
    pub(super) fn known(&self) -> usize {
        self.known.len()
    }

    /// Takes a text as a secret from now on; gives its mask.
    pub(super) fn learn(&mut self, secret: &str) -> String {
        let number = self.number(secret);
        let masked = mask(secret, number);
        if secret.len() >= SHORTEST && !self.known.iter().any(|(known, _)| known == secret) {
            let escaped = serde_json::to_string(secret).unwrap_or_default();
            let encoded: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
            let mut spellings = vec![secret.to_owned(), escaped.trim_matches('"').to_owned(), encoded];
            spellings.dedup();
            self.known.extend(spellings.into_iter().map(|spelling| {
                let masked = mask(&spelling, number);
                (spelling, masked)
            }));
        }
        masked
    }

    /// Cuts all secrets out of a message.
    pub(super) fn message(&mut self, message: &mut Value) {
        let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
        let progress = PROGRESS.iter().any(|word| method.starts_with(word));
        self.look(None, message, progress);
        self.cut(None, message, progress);
    }

    /// Cuts all secrets out of a text; none: there are none.
    pub(super) fn text(&mut self, text: &str) -> Option<String> {
        self.look_at(text);
        self.without(text, None)
    }

    fn number(&mut self, secret: &str) -> usize {
        let next = self.numbers.len() + 1;
        *self.numbers.entry(secret.to_owned()).or_insert(next)
    }

    fn look_at(&mut self, text: &str) {
        for span in secrets(text) {
            self.learn(&text[span]);
        }
    }

    fn look(&mut self, name: Option<&str>, value: &Value, progress: bool) {
        match value {
            Value::String(text) => {
                if let Some(span) = named(name, text, progress) {
                    self.learn(&text[span]);
                }
                self.look_at(text);
            }
            Value::Array(items) => items.iter().for_each(|item| self.look(name, item, progress)),
            Value::Object(fields) => {
                for (key, value) in fields {
                    self.look_at(key);
                    self.look(Some(name_of(fields, key)), value, progress);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn cut(&mut self, name: Option<&str>, value: &mut Value, progress: bool) {
        match value {
            Value::String(text) => {
                let span = named(name, text, progress);
                if let Some(without) = self.without(text, span) {
                    *text = without;
                }
            }
            Value::Array(items) => {
                for item in items {
                    let name = name.filter(|_| !item.is_object());
                    self.cut(name, item, progress);
                }
            }
            Value::Object(fields) => {
                let names: Vec<String> = fields.keys().map(|key| name_of(fields, key).to_owned()).collect();
                // The schema of such an object is none.
                let hidden = name.is_some_and(|name| HIDDEN.contains(&name)) && !fields.contains_key("type");
                for (value, name) in fields.values_mut().zip(names) {
                    match value {
                        Value::String(text) if hidden && !text.starts_with('$') && masks(text).is_empty() => {
                            let span = secret_of(&name, text).unwrap_or(0..text.len());
                            if let Some(without) = self.without(text, Some(span)) {
                                *text = without;
                            }
                        }
                        value => self.cut(Some(&name), value, progress),
                    }
                }
                // What its looks alone show needs more than the letters of a name.
                let may = |key: &String| key.contains([':', '=', ' ']) || self.holds_known(key);
                if fields.keys().any(may) {
                    *fields = std::mem::take(fields)
                        .into_iter()
                        .map(|(key, value)| (self.without(&key, None).unwrap_or(key), value))
                        .collect();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn holds_known(&self, text: &str) -> bool {
        self.known.iter().any(|(secret, _)| text.contains(secret.as_str()))
    }

    /// A text without the secrets that are known, without those that it shows itself, and without what is in `span`.
    fn without(&mut self, text: &str, span: Option<Range<usize>>) -> Option<String> {
        let mut spans: Vec<Range<usize>> = secrets(text);
        spans.extend(span);
        for (secret, _) in self.known.iter().filter(|(secret, _)| secret.len() <= text.len()) {
            let found = memchr::memmem::find_iter(text.as_bytes(), secret.as_bytes());
            spans.extend(found.map(|at| at..at + secret.len()));
        }
        if spans.is_empty() {
            return None;
        }
        spans.sort_by_key(|span| (span.start, usize::MAX - span.end));
        let mut apart: Vec<Range<usize>> = Vec::new();
        for span in spans {
            match apart.last_mut() {
                Some(last) if span.start < last.end => last.end = last.end.max(span.end),
                _ => apart.push(span),
            }
        }
        let mut without = text.to_owned();
        for span in apart {
            let secret = &text[span.clone()];
            let known = self.known.iter().find(|(known, _)| known == secret).map(|(_, masked)| masked.clone());
            let masked = known.unwrap_or_else(|| mask(secret, self.number(secret)));
            self.placed += u64::from(masked != secret);
            // A mask has as many bytes as its secret, so that the places behind it stay.
            without.replace_range(span, &masked);
        }
        (without != text).then_some(without)
    }
}

/// The name that counts for the value of a field: in `{ "name": "Authorization", "value": "..." }` it is another field.
fn name_of<'a>(fields: &'a Map<String, Value>, key: &'a str) -> &'a str {
    match (key, fields.get("name")) {
        ("value", Some(Value::String(name))) => name,
        // The settings of web search.
        ("key", _) if fields.contains_key("engine") => "api_key",
        _ => key,
    }
}

fn named(name: Option<&str>, text: &str, progress: bool) -> Option<Range<usize>> {
    let name = name.filter(|name| !(progress && *name == "token"))?;
    secret_of(name, text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::permissions::credential;

    fn redacted(message: &Value) -> Value {
        let mut message = message.clone();
        Redactor::default().message(&mut message);
        message
    }

    #[test]
    fn secrets_are_cut_out() {
        for (message, expected) in [
            (
                json!({ "env": { "API_TOKEN": "s3cr", "HOME": "/h" } }),
                json!({ "env": { "API_TOKEN": "rd1_", "HOME": "__" } }),
            ),
            (
                json!({ "headers": [{ "name": "Authorization", "value": "Bearer abc123" }] }),
                json!({ "headers": [{ "name": "Authorization", "value": "Bearer rd1___" }] }),
            ),
            // Known by the second place, cut out of the first, too.
            (
                json!(["hunter2secret", "password = hunter2secret"]),
                json!(["redacted1____", "password = redacted1____"]),
            ),
            // The names of work are none.
            (
                json!({ "method": "$/progress", "params": { "token": "abc-1" } }),
                json!({ "method": "$/progress", "params": { "token": "abc-1" } }),
            ),
            (json!({ "a": "nothing", "b": [1, null, true] }), json!({ "a": "nothing", "b": [1, null, true] })),
            // In a text of JSON, with what has to be escaped there.
            (
                json!({ "password": "a\"b\\c-d12", "raw": "{\"p\":\"a\\\"b\\\\c-d12\"}" }),
                json!({ "password": "rd1_\\_____", "raw": "{\"p\":\"redacted1___\"}" }),
            ),
        ] {
            let got = redacted(&message);
            if message.get("raw").is_none() {
                assert_eq!(got, expected);
            } else {
                assert!(!got.to_string().contains("d12"), "{got}");
            }
        }
    }

    #[test]
    fn the_same_secret_has_the_same_mask() {
        let mut redactor = Redactor::default();
        let mut one = json!("password = hunter2secret");
        redactor.message(&mut one);
        let mut two = json!({ "x": "other: password=An0therSecret, and hunter2secret." });
        redactor.message(&mut two);
        assert_eq!(one, json!("password = redacted1____"));
        assert_eq!(two, json!({ "x": "other: password=redacted2____, and redacted1____." }));
    }

    #[test]
    fn what_is_redacted_stays_as_it_is() {
        let env = json!({ "Authorization": "Bearer abc123", "X": "y" });
        let once = redacted(&json!({ "token": "abcdefgh12", "t": "password = hunter2secret\n", "headers": env }));
        assert_eq!(redacted(&once), once);
    }

    /// Put together here, so that no text of this repository is one.
    fn made(prefix: &str, len: usize) -> String {
        let alphabet: Vec<char> = ('A'..='Z').chain('0'..='9').collect();
        let body: String = (0..len).map(|at| alphabet[(at * at * 5 + at * 7) % alphabet.len()]).collect();
        format!("{prefix}{body}")
    }

    /// Texts with a secret, and the secret.
    fn fixtures() -> Vec<(String, String)> {
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7";
        let random = "hJ8s9Kx2Lq4Vb7Nw1Zt5";
        let mut fixtures = vec![
            (format!("-----BEGIN {} KEY-----\n{body}\n-----END", "RSA PRIVATE"), body.to_owned()),
            (format!("-----BEGIN {} KEY-----\n{body}\n", "PRIVATE"), body.to_owned()),
            (format!("key = \"-----BEGIN {} KEY-----\\n{body}\"", "PRIVATE"), body.to_owned()),
            (format!("DB_PASSWORD={random}"), random.to_owned()),
            (format!("  \"apiKey\": \"{random}\","), random.to_owned()),
            (format!("export NPM_TOKEN='{random}' && x"), random.to_owned()),
            ("password = hunter2secret".to_owned(), "hunter2secret".to_owned()),
            ("client_secret: correcthorsebattery".to_owned(), "correcthorsebattery".to_owned()),
            ("https://me:hunter2@example.org/".to_owned(), ":hunter2@".to_owned()),
        ];
        for (prefix, len) in [
            ("AKIA", 16),
            ("ghp_", 36),
            ("glpat-", 20),
            ("xoxb-", 30),
            ("sk_live_", 24),
            ("AIza", 35),
            ("sk-", 24),
            ("sk-ant-api03-", 12),
            ("github_pat_", 24),
            ("npm_", 36),
        ] {
            let token = made(prefix, len);
            fixtures.push((format!("use {token};"), token));
        }
        fixtures
    }

    proptest! {
        #[test]
        fn no_secret_stays_wherever_it_stands(
            before in "[a-z \n]{0,20}\n?",
            which in proptest::sample::select(fixtures()),
            place in 0usize..7,
        ) {
            let (text, secret) = which;
            let text = format!("{before}\n{text}\nand more");
            let message = match place {
                0 => json!(text),
                1 => json!({ "params": { "textDocument": { "text": text } } }),
                2 => json!({ "params": { "contentChanges": [{ "text": "x" }, { "text": text }] } }),
                3 => json!({ "result": { "content": [[[{ "text": text }]]] } }),
                4 => json!({ text.clone(): text }),
                // A text of JSON in JSON.
                5 => json!({ "arguments": json!({ "content": text }).to_string() }),
                _ => json!({ "error": { "message": "failed", "data": text } }),
            };
            let got = redacted(&message);
            prop_assert!(!got.to_string().contains(&secret), "{got}");
            let mut strings = vec![&got];
            while let Some(value) = strings.pop() {
                match value {
                    Value::String(text) => prop_assert_eq!(credential(text), None, "{}", text),
                    Value::Array(items) => strings.extend(items),
                    Value::Object(fields) => strings.extend(fields.values()),
                    _ => {}
                }
            }
        }
    }
}
