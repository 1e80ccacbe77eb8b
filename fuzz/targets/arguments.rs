//! The ladder of arguments: what is sound is never changed, and what is mended is said.

use super::parts::texts;
use ropewalk::config::object;
use ropewalk::dispatch::open::{beginning, coerced, taken};
use serde_json::{Map, Value};

/// A refusal is never longer (bytes): it goes to a model.
const LONGEST_REFUSAL: usize = 4096;

/// A schema, and arguments as a model wrote them.
pub fn arguments(data: &[u8]) {
    let [schema, text] = texts::<2>(data);
    let given = Value::String(text.clone().into_owned());
    let strict = serde_json::from_str::<Value>(&text).ok();
    for free_form in [None, Some("patch")] {
        match (taken(free_form, &given), &strict) {
            (Ok(taken), Some(Value::Object(strict))) => {
                assert_eq!(&taken.value, strict, "what is sound is taken as it is");
                assert!(taken.repairs.is_empty() && !taken.invented, "{:?}", taken.repairs);
            }
            (Ok(taken), _) => {
                assert!(!taken.repairs.is_empty() || text.trim().is_empty(), "mended without a word: {text:?}");
                again(&taken.value);
            }
            (Err(why), strict) => {
                assert!(!matches!(strict, Some(Value::Object(_))), "{why}");
                assert!(!why.is_empty() && why.len() <= LONGEST_REFUSAL, "{} bytes", why.len());
            }
        }
    }
    streamed(&text, strict.as_ref());
    let (Ok(schema), Ok(taken)) = (serde_json::from_str::<Value>(&schema), taken(None, &given)) else { return };
    typed(&schema, &taken.value);
}

/// An object comes through as it is.
fn again(value: &Map<String, Value>) {
    let again = taken(None, &Value::Object(value.clone())).expect("an object is one");
    assert!(again.value == *value && again.repairs.is_empty() && !again.invented);
}

/// What is certain of a beginning stays so.
fn streamed(text: &str, strict: Option<&Value>) {
    let whole = beginning(text);
    // A number could go on, and of a name that is there twice the last value counts.
    let Some(strict) = strict.filter(|_| object(text.as_bytes()).is_ok()) else { return };
    assert_eq!(whole.as_ref(), Some(strict));
    let mut before = Value::Null;
    for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)).take(256) {
        let Some(now) = beginning(&text[..end]) else { continue };
        assert!(begins(&now, strict), "{now} is no beginning of {strict}");
        assert!(begins(&before, &now), "{before} became {now}");
        before = now;
    }
}

/// Whether a value is a beginning of another one: the same as far as it goes.
fn begins(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Null, _) => true,
        (Value::String(part), Value::String(whole)) => whole.starts_with(part.as_str()),
        (Value::Array(part), Value::Array(whole)) => {
            part.len() <= whole.len() && part.iter().zip(whole).all(|(part, whole)| begins(part, whole))
        }
        (Value::Object(part), Value::Object(whole)) => {
            part.iter().all(|(key, part)| whole.get(key).is_some_and(|whole| begins(part, whole)))
        }
        (part, whole) => part == whole,
    }
}

/// Types are brought about once, and only where something did not fit.
fn typed(schema: &Value, given: &Map<String, Value>) {
    let aliases = [("path", "file_path"), ("a", "b")];
    let Some(Ok((value, repairs))) = coerced(schema, &aliases, given.clone()) else { return };
    // What was given twice, with one value, is there once.
    let kept = || value.iter().all(|(name, value)| given.get(name) == Some(value));
    assert!(!repairs.is_empty() || kept(), "{given:?} became {value:?}");
    let valid = jsonschema::validator_for(schema).expect("it was one before");
    if valid.is_valid(&Value::Object(value.clone())) {
        let (again, repairs) = coerced(schema, &aliases, value.clone()).expect("a schema").expect("no parameter twice");
        assert!(again == value && repairs.is_empty(), "{repairs:?}: {value:?} became {again:?}");
    }
}
