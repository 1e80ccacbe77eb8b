//! Whether a frame is the one that was recorded, but for what differs by nature. Pure.

use serde_json::Value;

use super::mask::masks;

/// What differs from run to run by nature, so that only its kind is compared: what it is, and why. `docs/RECORDING.md` has
/// the same table.
pub const NATURAL: &[(Natural, &str)] = &[
    (Natural::KeyEnds("Ms"), "durations (ms)"),
    (Natural::Key("pid"), "numbers of processes"),
    (Natural::Key("processId"), "numbers of processes"),
    (Natural::At("/result/serverInfo/version"), "the version of the program"),
    (Natural::At("/result/capabilities/experimental/ropewalk/version"), "the version of the program"),
    (Natural::RedactedKey("hash"), "hashes of texts, where secrets were cut out of the recording"),
];

/// Something that differs by nature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Natural {
    /// The value of every field whose name ends so.
    KeyEnds(&'static str),
    /// The value of every field of this name.
    Key(&'static str),
    /// The value at this JSON pointer.
    At(&'static str),
    /// The value of every field of this name, in a recording that secrets were cut out of.
    RedactedKey(&'static str),
}

/// How frames are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Terms {
    /// Secrets were cut out of the recording.
    pub redacted: bool,
}

/// Where two values differ.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unequal {
    /// A JSON pointer.
    pub pointer: String,
    /// What was recorded; none: nothing.
    pub expected: Option<Value>,
    /// What came.
    pub got: Option<Value>,
}

/// The first place where what came is not what was recorded, but for the id of a question, which is mapped.
pub(super) fn unequal(expected: &Value, got: &Value, terms: Terms) -> Option<Unequal> {
    let mut expected = expected.clone();
    // A question has a new number in each run; that it is a question stays.
    if let (Some(id), Some(other)) = (expected.get_mut("id"), got.get("id"))
        && got.get("method").is_some()
    {
        *id = other.clone();
    }
    differ(&expected, got, &mut String::new(), terms)
}

fn natural(pointer: &str, terms: Terms) -> bool {
    let key = pointer.rsplit('/').next().unwrap_or_default();
    NATURAL.iter().any(|(natural, _)| match natural {
        Natural::KeyEnds(end) => key.ends_with(end),
        Natural::Key(name) => key == *name,
        Natural::At(at) => pointer == *at,
        Natural::RedactedKey(name) => terms.redacted && key == *name,
    })
}

fn same_kind(a: &Value, b: &Value) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}

fn differ(expected: &Value, got: &Value, pointer: &mut String, terms: Terms) -> Option<Unequal> {
    match (expected, got) {
        (Value::Object(old), Value::Object(new)) => old
            .keys()
            .chain(new.keys().filter(|key| !old.contains_key(*key)))
            .find_map(|key| part_differs(key, old.get(key), new.get(key), pointer, terms)),
        (Value::Array(old), Value::Array(new)) => (0..old.len().max(new.len()))
            .find_map(|at| part_differs(&at.to_string(), old.get(at), new.get(at), pointer, terms)),
        (old, new) => {
            let same = old == new
                || same_kind(old, new) && natural(pointer, terms)
                || matches!((old, new), (Value::String(old), Value::String(new)) if terms.redacted && fits(old, new))
                || matches!((old.as_f64(), new.as_f64()), (Some(a), Some(b)) if old.is_f64() && (a - b).abs() <= a.abs() * 1e-12);
            (!same).then(|| Unequal { pointer: pointer.clone(), expected: Some(old.clone()), got: Some(new.clone()) })
        }
    }
}

/// The same for what two values have at `key`, of which one may have nothing there.
fn part_differs(
    key: &str,
    expected: Option<&Value>,
    got: Option<&Value>,
    pointer: &mut String,
    terms: Terms,
) -> Option<Unequal> {
    let above = pointer.len();
    pointer.push('/');
    pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
    let found = match (expected, got) {
        (Some(old), Some(new)) => differ(old, new, pointer, terms),
        (old, new) => Some(Unequal { pointer: pointer.clone(), expected: old.cloned(), got: new.cloned() }),
    };
    pointer.truncate(above);
    found
}

/// Whether a text is the recorded one, where a mask of that stands for any text of its length: what is read from the disk
/// in a replay still has its secrets.
fn fits(expected: &str, got: &str) -> bool {
    if expected.len() != got.len() {
        return false;
    }
    let masks = masks(expected);
    !masks.is_empty()
        && (expected.bytes().zip(got.bytes()).enumerate())
            .all(|(at, (old, new))| old == new || masks.iter().any(|mask| mask.contains(&at)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_a_difference() {
        for (old, new, redacted, pointer) in [
            (json!({ "a": 1, "b": [1, 2] }), json!({ "b": [1, 2], "a": 1 }), false, None),
            (json!({ "a": 1 }), json!({ "a": 2 }), false, Some("/a")),
            (json!({ "a": 1 }), json!({}), false, Some("/a")),
            (json!({}), json!({ "a/b": 1 }), false, Some("/a~1b")),
            (json!([1, [2]]), json!([1, [2, 3]]), false, Some("/1/1")),
            (json!({ "runMs": 1 }), json!({ "runMs": 200 }), false, None),
            (json!({ "runMs": 1 }), json!({ "runMs": "1" }), false, Some("/runMs")),
            (json!({ "hash": "a" }), json!({ "hash": "b" }), false, Some("/hash")),
            (json!({ "hash": "a" }), json!({ "hash": "b" }), true, None),
            (json!("x rd1___ y"), json!("x secret y"), true, None),
            (json!("x rd1___ y"), json!("x secret y"), false, Some("")),
            (json!("x rd1___ y"), json!("x secret z"), true, Some("")),
            (json!("x rd1___ y"), json!("x longsecret y"), true, Some("")),
            (json!(0.1), json!(0.100_000_000_000_000_02), false, None),
            (json!({ "id": 1, "method": "m" }), json!({ "id": 5, "method": "m" }), false, None),
            (json!({ "id": 1, "result": 0 }), json!({ "id": 5, "result": 0 }), false, Some("/id")),
            (json!({ "id": 1, "method": "m" }), json!({ "method": "m" }), false, Some("/id")),
        ] {
            let found = unequal(&old, &new, Terms { redacted }).map(|found| found.pointer);
            assert_eq!(found.as_deref(), pointer, "{old} {new}");
        }
    }

    #[test]
    fn the_table_is_in_the_documentation() {
        let page = include_str!("../../docs/RECORDING.md");
        for (natural, why) in NATURAL {
            let what = match natural {
                Natural::KeyEnds(end) => format!("fields whose name ends in `{end}`"),
                Natural::Key(name) | Natural::RedactedKey(name) => format!("fields called `{name}`"),
                Natural::At(at) => format!("`{at}`"),
            };
            let row = format!("| {what} | {why} |\n");
            assert!(page.contains(&row), "{row}");
        }
    }
}
