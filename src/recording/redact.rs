//! Cuts secrets out of messages, each time with the same mask for the same secret. Pure.
//!
//! A secret that was seen once is known from then on, wherever it stands and whatever stands beside it.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::{Map, Value};

use super::known::{Known, SHORTEST};
use super::mask::{mask, masks};
use super::shapes::{flag, is_telling, names_one, names_secret, no_word, secret_of, secrets};

/// Messages whose `token` is the name of a piece of work.
const PROGRESS: &[&str] = &["$/progress", "window/workDoneProgress", "ropewalk/diagnosticProgress"];

/// Objects whose values are hidden, whatever they are called: programs and machines are given secrets by them. What is
/// hidden so is not looked for elsewhere, for it may be any word.
const HIDDEN: &[&str] = &["env", "environment", "headers"];

/// What is known of secrets, and how to cut them out.
#[derive(Debug, Default)]
pub(super) struct Redactor {
    numbers: HashMap<String, usize>,
    /// The secrets that are looked for everywhere.
    known: Known,
    /// How often something became known.
    learned: usize,
    /// Places where a secret was cut out so far.
    pub placed: u64,
}

impl Redactor {
    /// How often a secret became known that is looked for everywhere: if that is more, earlier messages may hold it.
    pub(super) fn learned(&self) -> usize {
        self.learned
    }

    /// Takes a text as a secret from now on; gives its mask.
    pub(super) fn learn(&mut self, secret: &str) -> String {
        let body = body_of(secret);
        if body.len() < SHORTEST || self.known.masked(body).is_some() {
            return self.mask_of(secret);
        }
        let number = self.number(body);
        let masked = mask(body, number);
        let escaped = serde_json::to_string(body).unwrap_or_default();
        let escaped = escaped.get(1..escaped.len().max(2) - 1).unwrap_or_default();
        let encoded: String = url::form_urlencoded::byte_serialize(body.as_bytes()).collect();
        let mut new = self.known.add(body, masked.clone(), number);
        for spelling in [escaped, &encoded] {
            new |= spelling != body && self.known.add(spelling, mask(spelling, number), number);
        }
        // A private key stands in a numbered listing, and in a diff, line by line.
        for line in key_lines(body) {
            new |= self.known.add(&body[line.clone()], masked[line].to_owned(), number);
        }
        self.learned += usize::from(new);
        self.mask_of(secret)
    }

    fn mask_of(&mut self, secret: &str) -> String {
        let body = body_of(secret);
        match self.known.masked(body) {
            Some(masked) => secret.replacen(body, &masked, 1),
            None => mask(secret, self.number(body)),
        }
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

    /// The number of a secret: one that begins with another one that is known has that of it.
    fn number(&mut self, secret: &str) -> usize {
        if let Some(number) = self.known.number_within(secret) {
            return number;
        }
        let next = self.numbers.len() + 1;
        *self.numbers.entry(secret.to_owned()).or_insert(next)
    }

    fn look_at(&mut self, text: &str) {
        for span in secrets(text) {
            self.learn(&text[span]);
        }
    }

    fn look(&mut self, field: Option<Field<'_>>, value: &Value, progress: bool) {
        match value {
            Value::String(text) => {
                if let Some(span) = named(field, text, progress)
                    && (field.is_some_and(|field| !field.above && names_one(field.name))
                        || no_word(&text[span.clone()]))
                {
                    self.learn(&text[span]);
                }
                self.look_at(text);
            }
            Value::Array(items) => {
                for (item, flag) in items.iter().zip(flags(items)) {
                    self.look(flag.as_deref().map(Field::of_flag).or(field), item, progress);
                }
            }
            Value::Object(fields) => {
                for (key, value) in fields {
                    self.look_at(key);
                    self.look(Some(below(field, fields, key)), value, progress);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn cut(&mut self, field: Option<Field<'_>>, value: &mut Value, progress: bool) {
        match value {
            Value::String(text) => {
                let span = named(field, text, progress);
                if let Some(without) = self.without(text, span) {
                    *text = without;
                }
            }
            Value::Array(items) => {
                let flags = flags(items);
                for (item, flag) in items.iter_mut().zip(flags) {
                    let field = field.filter(|field| !(item.is_object() && HIDDEN.contains(&field.name)));
                    self.cut(flag.as_deref().map(Field::of_flag).or(field), item, progress);
                }
            }
            Value::Object(fields) => {
                let names: Vec<(String, bool)> = fields
                    .keys()
                    .map(|key| below(field, fields, key))
                    .map(|field| (field.name.to_owned(), field.above))
                    .collect();
                // The schema of such an object is none.
                let hidden = field.is_some_and(|field| HIDDEN.contains(&field.name)) && !fields.contains_key("type");
                for (value, (name, above)) in fields.values_mut().zip(names) {
                    match value {
                        Value::String(text) if hidden && !text.starts_with('$') && masks(text).is_empty() => {
                            let span = secret_of(&name, text).unwrap_or(0..text.len());
                            if let Some(without) = self.without(text, Some(span)) {
                                *text = without;
                            }
                        }
                        value => self.cut(Some(Field { name: &name, above }), value, progress),
                    }
                }
                // What its looks alone show needs more than the letters of a name.
                let may = |key: &String| key.contains([':', '=', ' ']) || !self.known.find(key).is_empty();
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

    /// A text without the secrets that are known and what they begin with, without those that it shows itself, and without
    /// what is in `span`.
    fn without(&mut self, text: &str, span: Option<Range<usize>>) -> Option<String> {
        let found = self.known.find(text);
        let mut spans: Vec<Range<usize>> = secrets(text);
        spans.extend(span);
        spans.extend(found.iter().map(|found| found.range.clone()));
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
        let known: HashMap<Range<usize>, String> = found.into_iter().map(|found| (found.range, found.masked)).collect();
        let mut without = text.to_owned();
        for span in apart {
            let secret = &text[span.clone()];
            let masked = known.get(&span).cloned().unwrap_or_else(|| self.mask_of(secret));
            self.placed += u64::from(masked != secret);
            // A mask has as many bytes as its secret, so that the places behind it stay.
            without.replace_range(span, &masked);
        }
        (without != text).then_some(without)
    }
}

/// A secret without the space and the line ends round it, also those that are written as `\n`.
fn body_of(secret: &str) -> &str {
    let written = ["\\r", "\\n"];
    let mut body = secret.trim();
    while let Some(less) = written.iter().find_map(|end| body.strip_prefix(end).or_else(|| body.strip_suffix(end))) {
        body = less.trim();
    }
    body
}

/// The field that a value is in.
#[derive(Debug, Clone, Copy)]
struct Field<'a> {
    name: &'a str,
    /// Whether it is one further up, or an option before the value: then what could be a word is cut out there alone.
    above: bool,
}

impl Field<'_> {
    fn of_flag(name: &str) -> Field<'_> {
        Field { name, above: true }
    }
}

/// For each item of a list the option that stands before it, if that is one that is given a secret: `["--token", "..."]`.
fn flags(items: &[Value]) -> Vec<Option<String>> {
    let before = std::iter::once(None).chain(items.iter().map(Some));
    let option = |(before, item): (Option<&Value>, &Value)| {
        let value = item.as_str().filter(|value| !value.starts_with('-'))?;
        flag(before?.as_str()?).filter(|_| !value.is_empty()).map(str::to_owned)
    };
    before.zip(items).map(option).collect()
}

/// The field that counts for the value of a field: one further up, if that is a secret's and its parts do not say what
/// they are: `"authToken": { "value": "..." }`.
fn below<'a>(above: Option<Field<'a>>, fields: &'a Map<String, Value>, key: &'a str) -> Field<'a> {
    let own = name_of(fields, key);
    match above {
        Some(above) if names_secret(above.name) && !names_secret(own) && !is_telling(own) && !is_schema(fields) => {
            Field { name: above.name, above: true }
        }
        _ => Field { name: own, above: false },
    }
}

/// Whether an object says what a value has to be (JSON schema), and has none itself.
fn is_schema(fields: &Map<String, Value>) -> bool {
    let types = ["string", "object", "array", "number", "integer", "boolean", "null"];
    match fields.get("type") {
        Some(Value::String(name)) => types.contains(&name.as_str()),
        Some(Value::Array(_)) => true,
        _ => ["$ref", "anyOf", "oneOf", "allOf", "enum"].iter().any(|key| fields.contains_key(*key)),
    }
}

/// The lines of a private key (byte ranges), also where line ends are written as `\n`; those that could be something else
/// are none.
fn key_lines(secret: &str) -> Vec<Range<usize>> {
    let is_key = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let (mut lines, mut from) = (Vec::new(), 0);
    for line in secret.split(['\n', '\r', '\\']) {
        // The letter of `\n` is none of the key's.
        let written = usize::from(from > 0 && secret.as_bytes()[from - 1] == b'\\');
        let at = from + written.min(line.len())..from + line.len();
        let part = &secret.as_bytes()[at.clone()];
        let mixed = part.iter().any(u8::is_ascii_digit) && part.iter().any(u8::is_ascii_alphabetic);
        if part.iter().all(|byte| is_key(*byte)) && (part.len() >= 16 || part.len() >= SHORTEST && mixed) {
            lines.push(at);
        }
        from += line.len() + 1;
    }
    if lines.len() == 1 && lines[0] == (0..secret.len()) {
        lines.clear();
    }
    lines
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

fn named(field: Option<Field<'_>>, text: &str, progress: bool) -> Option<Range<usize>> {
    let field = field.filter(|field| !(progress && field.name == "token"))?;
    secret_of(field.name, text)
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
    fn options_and_parts_of_secrets_are_cut_out() {
        for (message, expected) in [
            (
                json!({ "mcp": { "servers": { "a": { "args": ["--token", "hunter2", "--port", "80"] } } } }),
                json!({ "mcp": { "servers": { "a": { "args": ["--token", "rd1____", "--port", "80"] } } } }),
            ),
            (json!(["--api-key", "abc12345", "x abc12345"]), json!(["--api-key", "rd1_____", "x rd1_____"])),
            // A word may be anything elsewhere.
            (json!(["--password", "required", "required"]), json!(["--password", "rd1_____", "required"])),
            (json!(["--token", "--verbose", "--token-file"]), json!(["--token", "--verbose", "--token-file"])),
            (
                json!({ "apiKeys": ["abc12345"], "secrets": ["words"] }),
                json!({ "apiKeys": ["rd1_____"], "secrets": ["words"] }),
            ),
            (
                json!({ "authToken": { "value": "hunter2", "type": "bearer" } }),
                json!({ "authToken": { "value": "rd1____", "type": "bearer" } }),
            ),
            (json!({ "password": { "a": ["hunter2"] } }), json!({ "password": { "a": ["rd1____"] } })),
            (
                json!({ "password": { "type": "string", "minimum": "hunter2" } }),
                json!({ "password": { "type": "string", "minimum": "hunter2" } }),
            ),
        ] {
            assert_eq!(redacted(&message), expected);
        }
    }

    #[test]
    fn a_numbered_listing_keeps_its_numbers() {
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7Zx0123456789\nab0=\n";
        let head = format!("-----BEGIN {} KEY-----", "PRIVATE");
        let document = format!("a\n{head}\n{body}-----END\nb\n");
        let numbered = (1..).zip(document.lines());
        let listing = numbered.fold(String::new(), |all, (at, line)| all + &format!("{at}\t{line}\n"));
        let expected = [
            "1\ta",
            &format!("2\t{head}"),
            "3\tredacted1_______________________",
            "4\t________________________________",
            "5\t____",
            "6\t-----END",
        ];
        // Whether the document was seen before, and whether the end of the key is shown, does not matter.
        for (seen, lines) in [(true, 6), (true, 4), (false, 6), (false, 4)] {
            let mut redactor = Redactor::default();
            if seen {
                let mut opened = json!(document);
                redactor.message(&mut opened);
                assert_eq!(opened.as_str().unwrap().lines().nth(2), Some(&expected[2][2..]));
            }
            let shown: String = listing.split_inclusive('\n').take(lines).collect();
            let mut message = json!([shown, json!({ "text": shown }).to_string()]);
            redactor.message(&mut message);
            let text = message[0].as_str().unwrap();
            for (at, (line, expected)) in text.lines().zip(expected).enumerate() {
                if seen && at != 4 {
                    assert_eq!(line, expected);
                }
                assert_eq!(line.split_once('\t').unwrap().0, expected.split_once('\t').unwrap().0, "{text}");
                assert_eq!(line.len(), expected.len());
            }
            for secret in ["MIIE", "BKcw"] {
                assert!(!message.to_string().contains(secret), "{message}");
            }
            assert!(message[1].as_str().unwrap().contains("\\n4\\t"), "{message}");
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
