//! The beginning of a JSON text as a value: what is certain of arguments that are still streaming in. Pure.
//!
//! On any beginning of a valid text the value is a beginning of the whole one: strings are as long as they are certain,
//! arrays and objects end with the last member that has begun, and a number or word that could go on is left out. A
//! text that is not JSON is taken as far as it is.

use serde_json::{Map, Value};

/// Deeper nesting is left out, as the strict parser refuses it.
const DEEPEST: usize = 127;

/// The value of a text's beginning; `None` when nothing of it is certain yet.
pub(in crate::dispatch) fn beginning(text: &str) -> Option<Value> {
    Reader { text, at: 0 }.value(0).0
}

/// What was read, and whether it is over: only then can something follow it.
type Piece<T> = (Option<T>, bool);

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&mut self) -> Option<char> {
        let rest = self.rest();
        let begun = rest.trim_start_matches([' ', '\t', '\n', '\r']);
        self.at += rest.len() - begun.len();
        begun.chars().next()
    }

    /// Takes a character that is in ASCII.
    fn take(&mut self, wanted: char) -> bool {
        let there = self.peek() == Some(wanted);
        self.at += usize::from(there);
        there
    }

    fn value(&mut self, depth: usize) -> Piece<Value> {
        if depth > DEEPEST {
            return (None, false);
        }
        match self.peek() {
            Some('{') => self.object(depth),
            Some('[') => self.array(depth),
            Some('"') => {
                let (text, whole) = self.string();
                (text.map(Value::String), whole)
            }
            _ => self.plain(),
        }
    }

    fn object(&mut self, depth: usize) -> Piece<Value> {
        self.at += 1;
        let mut fields = Map::new();
        let whole = loop {
            if self.take('}') {
                break true;
            }
            if self.peek() != Some('"') {
                break false;
            }
            let (Some(key), true) = self.string() else { break false };
            if !self.take(':') {
                break false;
            }
            let (value, whole) = self.value(depth + 1);
            if let Some(value) = value {
                fields.insert(key, value);
            }
            if !whole || !(self.take(',') || self.peek() == Some('}')) {
                break false;
            }
        };
        (Some(Value::Object(fields)), whole)
    }

    fn array(&mut self, depth: usize) -> Piece<Value> {
        self.at += 1;
        let mut items = Vec::new();
        let whole = loop {
            if self.take(']') {
                break true;
            }
            let (value, whole) = self.value(depth + 1);
            items.extend(value);
            if !whole || !(self.take(',') || self.peek() == Some(']')) {
                break false;
            }
        };
        (Some(Value::Array(items)), whole)
    }

    /// A string from its opening quote on.
    fn string(&mut self) -> Piece<String> {
        self.at += 1;
        let mut out = String::new();
        while let Some(character) = self.rest().chars().next() {
            match character {
                '"' => {
                    self.at += 1;
                    return (Some(out), true);
                }
                '\\' => {
                    let Some((escaped, length)) = escaped(self.rest()) else { return (Some(out), false) };
                    out.push(escaped);
                    self.at += length;
                }
                other => {
                    out.push(other);
                    self.at += other.len_utf8();
                }
            }
        }
        (Some(out), false)
    }

    /// A number or a word, if something follows it.
    fn plain(&mut self) -> Piece<Value> {
        let rest = self.rest();
        let Some(end) = rest.find([',', '}', ']', ' ', '\t', '\n', '\r']) else { return (None, false) };
        match serde_json::from_str(&rest[..end]) {
            Ok(value) => {
                self.at += end;
                (Some(value), true)
            }
            Err(_) => (None, false),
        }
    }
}

/// The character of an escape and its length in bytes; `None` when it is not all there, or none.
fn escaped(text: &str) -> Option<(char, usize)> {
    let plain = match text.as_bytes().get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let first = unit(text)?;
            if !(0xd800..0xe000).contains(&first) {
                return Some((char::from_u32(first)?, 6));
            }
            let second = unit(text.get(6..)?)?;
            let pair = [u16::try_from(first).ok()?, u16::try_from(second).ok()?];
            return Some((char::decode_utf16(pair).next()?.ok()?, 12));
        }
        _ => return None,
    };
    Some((plain, 2))
}

/// The code unit of `\u` and four digits at the beginning of a text.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_is_certain() {
        #[track_caller]
        #[expect(clippy::needless_pass_by_value, reason = "JSON is made where it is passed")]
        fn check(text: &str, expected: Option<Value>) {
            assert_eq!(beginning(text), expected, "{text}");
        }
        check("", None);
        check("  {", Some(json!({})));
        check(r#"{"a"#, Some(json!({})));
        check(r#"{"a":"#, Some(json!({})));
        check(r#"{"a": "on"#, Some(json!({"a": "on"})));
        check(r#"{"a": "x\"#, Some(json!({"a": "x"})));
        check(r#"{"a": "x\u00e"#, Some(json!({"a": "x"})));
        check(r#"{"a": "x\u00e9"#, Some(json!({"a": "xé"})));
        check(r#"{"a": "\ud83d\ude0"#, Some(json!({"a": ""})));
        check(r#"{"a": "\ud83d\ude00"#, Some(json!({"a": "😀"})));
        check(r#"{"a": 12"#, Some(json!({})));
        check(r#"{"a": 12,"#, Some(json!({"a": 12})));
        check(r#"{"a": tru"#, Some(json!({})));
        check(r#"{"a": [{"b": "c"}, {"#, Some(json!({"a": [{"b": "c"}, {}]})));
        check("[1, 2", Some(json!([1])));
        check("{\"a\": \"raw\nline", Some(json!({"a": "raw\nline"})));
        check("nothing like it", None);
        check(r#"{"a": 1} and more"#, Some(json!({"a": 1})));
        assert!(beginning(&"[".repeat(100_000)).is_some());
    }

    /// Whether a value is the beginning of another.
    fn begins(part: &Value, whole: &Value) -> bool {
        match (part, whole) {
            (Value::String(part), Value::String(whole)) => whole.starts_with(part.as_str()),
            (Value::Array(part), Value::Array(whole)) => {
                part.len() <= whole.len()
                    && part.iter().zip(whole).enumerate().all(|(at, (part_item, whole_item))| {
                        if at + 1 == part.len() { begins(part_item, whole_item) } else { part_item == whole_item }
                    })
            }
            (Value::Object(part), Value::Object(whole)) => {
                part.len() <= whole.len()
                    && part.iter().zip(whole).enumerate().all(|(at, ((key, value), (whole_key, whole_value)))| {
                        let last = at + 1 == part.len();
                        key == whole_key && if last { begins(value, whole_value) } else { value == whole_value }
                    })
            }
            (part, whole) => part == whole,
        }
    }

    /// Any JSON value whose texts are like those that models write.
    pub(in crate::dispatch) fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1_000_000_000..1_000_000_000_i64).prop_map(|whole| {
                #[expect(clippy::cast_precision_loss, reason = "small enough")]
                let float = whole as f64 / 1024.0;
                Value::from(float)
            }),
            "[a-z\\\\\"{}\\[\\],:\n\t/\u{1}é😀 ]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[a-c\\\\\"}é]{0,3}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_beginning_of_the_text_is_a_beginning_of_the_value(inner in any_json(), pretty in any::<bool>()) {
            let whole = json!({ "a": inner });
            let text = if pretty { serde_json::to_string_pretty(&whole) } else { serde_json::to_string(&whole) }.unwrap();
            // As some writers do it: everything beyond ASCII as escapes.
            let escaped: String = text
                .chars()
                .flat_map(|character| -> Vec<String> {
                    if character.is_ascii() {
                        return vec![character.to_string()];
                    }
                    character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
                })
                .collect();
            for text in [text, escaped] {
                let mut before = json!({});
                for end in (1..=text.len()).filter(|end| text.is_char_boundary(*end)) {
                    let now = beginning(&text[..end]).unwrap();
                    prop_assert!(begins(&now, &whole), "{} of {}", now, whole);
                    prop_assert!(begins(&before, &now), "{} then {}", before, now);
                    before = now;
                }
                prop_assert_eq!(&before, &whole);
            }
        }

        #[test]
        fn anything_is_taken_as_far_as_it_goes(text in "[\\[\\]{}\":,\\\\u0-9a-f \n]{0,40}") {
            let value = beginning(&text);
            if let Ok(whole @ (Value::Object(_) | Value::Array(_) | Value::String(_))) = serde_json::from_str::<Value>(&text) {
                prop_assert_eq!(value, Some(whole));
            }
        }
    }
}
