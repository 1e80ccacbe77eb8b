//! JSON as steps and results have it: places of the run in it, times taken from it, settings put together. Pure.

use std::borrow::Cow;
use std::path::Path;

use serde_json::Value;
use url::Url;

/// The URI of an absolute path.
pub(super) fn uri(path: &Path) -> String {
    Url::from_file_path(path).map(String::from).unwrap_or_default()
}

/// A value with each of its texts, keys too, changed.
pub(super) fn map_texts(value: Value, change: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(&text)),
        Value::Array(list) => list.into_iter().map(|one| map_texts(one, change)).collect(),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(key, one)| (change(&key), map_texts(one, change))).collect())
        }
        other => other,
    }
}

/// Takes from a result what differs from run to run.
pub(super) fn without_times(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(without_times),
        Value::Object(fields) => {
            fields.retain(|key, value| key != "waitedMs" && !(key == "timing" && value.is_object()));
            fields.values_mut().for_each(without_times);
        }
        _ => {}
    }
}

/// Of a name or value that was given, at most so many characters are shown.
const NAME: usize = 60;
/// Of what is wrong with a step, at most so many at the beginning, and as many at the end.
const WORDS: usize = 800;

/// A name as it is shown: at most 60 characters of it.
pub(super) fn clipped(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(NAME) {
        Some((at, _)) => Cow::Owned(format!("{}... ({} characters)", &name[..at], name.chars().count())),
        None => Cow::Borrowed(name),
    }
}

/// Words that may hold what was given whole: at most 1,600 characters, those at the beginning and at the end.
pub(super) fn bounded(words: &str) -> String {
    let count = words.chars().count();
    let (Some((head, _)), Some((tail, _))) =
        (words.char_indices().nth(WORDS), words.char_indices().nth_back(WORDS - 1))
    else {
        return words.to_owned();
    };
    if count <= 2 * WORDS {
        return words.to_owned();
    }
    format!("{} ... ({} characters) ... {}", &words[..head], count - 2 * WORDS, &words[tail..])
}

/// What kind of value it is, in words of JSON.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Puts settings over others, group by group; what is allowed is added.
pub(super) fn merge(base: &mut Value, over: &Value) {
    let (Value::Object(base), Value::Object(over)) = (base, over) else { return };
    for (key, value) in over {
        match (base.get_mut(key), value) {
            (Some(inner @ Value::Object(_)), Value::Object(_)) => merge(inner, value),
            (Some(Value::Array(list)), Value::Array(more)) if key == "allow" => list.extend(more.iter().cloned()),
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_are_put_together_group_by_group() {
        let mut base =
            json!({ "permissions": { "allow": ["a"], "mode": "build" }, "diagnostics": { "ownServers": "off" } });
        merge(&mut base, &json!({ "permissions": { "allow": ["b"], "mode": "review" }, "freshness": "off" }));
        assert_eq!(
            base,
            json!({
                "permissions": { "allow": ["a", "b"], "mode": "review" },
                "diagnostics": { "ownServers": "off" }, "freshness": "off",
            })
        );
    }

    #[test]
    fn times_are_no_part_of_a_result() {
        let mut result = json!({ "timing": { "runMs": 1 }, "list": [{ "waitedMs": 2, "id": "lint" }], "data": { "timing": "late" } });
        without_times(&mut result);
        assert_eq!(result, json!({ "list": [{ "id": "lint" }], "data": { "timing": "late" } }));
    }
}
