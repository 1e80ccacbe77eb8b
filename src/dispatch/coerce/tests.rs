//! What is brought to its type, and what is left alone.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn coerce(schema: &Value, aliases: &[(&str, &str)], given: Map<String, Value>) -> Result<Coerced, String> {
    super::coerce(schema, &jsonschema::validator_for(schema).unwrap(), aliases, given)
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "file_path": { "type": "string" },
            "limit": { "type": "integer", "minimum": 1 },
            "ratio": { "type": "number" },
            "all": { "type": "boolean" },
            "names": { "type": "array", "items": { "type": "string" } },
            "sizes": { "type": "array", "items": { "type": "integer" } },
            "where": {
                "type": "object",
                "properties": { "line": { "type": "integer" }, "exact": { "type": "boolean" } },
                "required": ["line"],
            },
            "either": { "anyOf": [{ "type": "integer" }, { "type": "boolean" }] },
            "both": { "type": ["integer", "string"] },
            "how": { "enum": ["fast", "slow"] },
            "point": { "$ref": "#/$defs/point" },
            "steps": { "type": "array", "items": {
                "type": "object",
                "properties": { "limit": { "type": "integer" }, "new_text": { "type": "string" } },
                "required": ["limit"],
                "additionalProperties": false,
            } },
            "free": { "type": "object", "properties": { "limit": { "type": "integer" } } },
        },
        "required": ["file_path"],
        "$defs": { "point": { "type": "object", "properties": { "x": { "type": "integer" } } } },
    })
}

const ALIASES: &[(&str, &str)] = &[("path", "file_path"), ("n", "limit"), ("how", "all")];

#[track_caller]
fn coerced(given: Value) -> Value {
    let Value::Object(given) = given else { panic!("an object") };
    Value::Object(coerce(&schema(), ALIASES, given).unwrap().value)
}

#[test]
fn what_is_coerced() {
    for (given, expected) in [
        (json!({"limit": "30"}), json!({"limit": 30})),
        (json!({"limit": " 30 "}), json!({"limit": 30})),
        (json!({"limit": "30.0"}), json!({"limit": 30})),
        (json!({"limit": null}), json!({})),
        (json!({"limit": ""}), json!({})),
        (json!({"ratio": "-0.5"}), json!({"ratio": -0.5})),
        (json!({"ratio": "2"}), json!({"ratio": 2})),
        (json!({"all": "TRUE "}), json!({"all": true})),
        (json!({"all": "false"}), json!({"all": false})),
        (json!({"names": "[\"a\", \"b\"]"}), json!({"names": ["a", "b"]})),
        (json!({"names": [1, "b", true]}), json!({"names": ["1", "b", "true"]})),
        (json!({"sizes": "[\"1\", 2]"}), json!({"sizes": [1, 2]})),
        (json!({"where": "{\"line\": \"3\"}"}), json!({"where": {"line": 3}})),
        (json!({"where": {"line": "3", "exact": ""}}), json!({"where": {"line": 3}})),
        (json!({"either": "7"}), json!({"either": 7})),
        (json!({"either": "true"}), json!({"either": true})),
        (json!({"file_path": 30}), json!({"file_path": "30"})),
        (json!({"point": {"x": "1"}}), json!({"point": {"x": 1}})),
        (json!({"how": ""}), json!({})),
        (json!({"path": "a"}), json!({"file_path": "a"})),
        (json!({"filePath": "a", "N": "3"}), json!({"file_path": "a", "limit": 3})),
        (json!({"path": "a", "file_path": "a"}), json!({"file_path": "a"})),
        (json!({"path": "a", "file_path": null}), json!({"file_path": "a"})),
        // Names inside items, also when the items came as a string.
        (json!({"steps": [{"n": 1, "newText": "b"}]}), json!({"steps": [{"limit": 1, "new_text": "b"}]})),
        (json!({"steps": [{"limit": 1}, {"N": "2"}]}), json!({"steps": [{"limit": 1}, {"limit": 2}]})),
        (json!({"steps": "[{\"n\": 1}]"}), json!({"steps": [{"limit": 1}]})),
        (json!({"steps": [{"n": 1, "limit": 1}]}), json!({"steps": [{"limit": 1}]})),
        (json!({"free": {"n": 1, "limit": "2"}}), json!({"free": {"n": 1, "limit": 2}})),
    ] {
        let mut full = expected.clone();
        if full.get("file_path").is_none() {
            full["file_path"] = json!("f");
        }
        let mut given_full = given.clone();
        if expected.get("file_path").is_none() {
            given_full["file_path"] = json!("f");
        }
        assert_eq!(coerced(given_full), full, "{given}");
    }
}

#[test]
fn what_is_left_alone() {
    for given in [
        json!({"file_path": "a", "limit": "0"}),
        json!({"file_path": "a", "limit": "1.5"}),
        json!({"file_path": "a", "limit": "1e3"}),
        json!({"file_path": "a", "limit": "0x10"}),
        json!({"file_path": "a", "limit": "007"}),
        json!({"file_path": "a", "limit": "+5"}),
        json!({"file_path": "a", "limit": "12abc"}),
        json!({"file_path": "a", "limit": "99999999999999999999"}),
        json!({"file_path": "a", "ratio": "0.12345678901234567"}),
        json!({"file_path": "a", "ratio": "NaN"}),
        json!({"file_path": "a", "ratio": "-0"}),
        json!({"file_path": "a", "all": "yes"}),
        json!({"file_path": "a", "all": 1}),
        json!({"file_path": "a", "names": "a"}),
        json!({"file_path": {"a": 1}}),
        json!({"file_path": 1.0}),
        json!({"file_path": null}),
        json!({"file_path": "", "both": "7"}),
        json!({"file_path": "a", "where": {"line": null}}),
        json!({"file_path": "a", "unknown": "30"}),
        json!({"file_path": "a", "steps": [{"limit": 1, "n": 2}]}),
        json!({"file_path": "a", "steps": [{"limit": 1, "path": "b"}]}),
        // What an object may have besides its parameters keeps its name.
        json!({"file_path": "a", "free": {"n": 1}}),
        json!({"file_path": "a", "sizes": "[99999999999999999999]"}),
        json!({"file_path": "a", "sizes": "[1e400]"}),
        json!({"file_path": "a", "where": "{\"line\": 1, \"line\": 2}"}),
        json!({"file_path": "a", "limit": "18446744073709551616"}),
    ] {
        assert_eq!(coerced(given.clone()), given);
    }
}

#[test]
fn two_names_of_one_parameter_are_told() {
    let Value::Object(given) = json!({"path": "a", "file_path": "b"}) else { panic!("an object") };
    assert_eq!(
        coerce(&schema(), ALIASES, given).unwrap_err(),
        "`path` and `file_path` are the same parameter and came with different values; send only `file_path`"
    );
}

#[test]
fn a_name_inside_an_item_is_told_with_its_place() {
    let Value::Object(given) = json!({"file_path": "a", "steps": [{"n": "1"}]}) else { panic!("an object") };
    let repairs = coerce(&schema(), ALIASES, given).unwrap().repairs;
    assert_eq!(repairs, ["took `steps.0.n` for `limit`", "took \"1\" of `steps.0.limit` as integer"]);
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |float| float.is_finite()).prop_map(Value::from),
        prop_oneof![
            "-?[0-9]{1,3}(\\.[0-9]{1,3})?",
            "[0-9]{14,21}",
            " ?(TRUE|true|false|) ?",
            "\\[\"?1\"?\\]",
            "\\{\"line\": \"?1\"?\\}",
            "[a-z]{0,4}"
        ]
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("line|exact|x|y|n|limit", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Whether a value says the same after coercion as before it; absent is `None`.
fn same_meaning(before: &Value, after: Option<&Value>) -> bool {
    let Some(after) = after else { return before.is_null() || *before == "" };
    let as_number = |text: &str| {
        let text = text.trim();
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        (whole.to_owned(), fraction.trim_end_matches('0').to_owned())
    };
    match (before, after) {
        (Value::String(text), Value::Number(number)) => as_number(text) == as_number(&number.to_string()),
        (Value::String(text), Value::Bool(truth)) => text.trim().to_lowercase() == truth.to_string(),
        (Value::String(text), Value::Array(_) | Value::Object(_)) => {
            serde_json::from_str(text).is_ok_and(|before: Value| same_meaning(&before, Some(after)))
        }
        (Value::Number(number), Value::String(text)) => {
            serde_json::from_str(text).is_ok_and(|after: serde_json::Number| after == *number)
        }
        (Value::Bool(truth), Value::String(text)) => text.parse() == Ok(*truth),
        (Value::Array(before), Value::Array(after)) => {
            before.len() == after.len()
                && before.iter().zip(after).all(|(before, after)| same_meaning(before, Some(after)))
        }
        (Value::Object(before), Value::Object(after)) => {
            after.keys().all(|name| before.contains_key(name))
                && before.iter().all(|(name, value)| same_meaning(value, after.get(name)))
        }
        (before, after) => before == after,
    }
}

proptest! {
    #[test]
    fn nothing_is_lost(
        given in proptest::collection::btree_map(
            "file_path|limit|ratio|all|names|sizes|where|either|both|how|point|other", any_value(), 0..6,
        ),
    ) {
        let given: Map<String, Value> = given.into_iter().collect();
        let out = coerce(&schema(), &[], given.clone()).unwrap().value;
        prop_assert!(same_meaning(&Value::Object(given.clone()), Some(&Value::Object(out.clone()))), "{:?} {:?}", given, out);
    }

    #[test]
    fn a_value_that_validates_is_never_changed(
        given in proptest::collection::btree_map(
            "file_path|limit|ratio|all|names|sizes|where|either|both|how|point|steps|free|other", any_value(), 0..6,
        ),
        text in "[a-z0-9]{0,3}",
    ) {
        let mut given: Map<String, Value> = given.into_iter().collect();
        given.insert("file_path".to_owned(), Value::String(text));
        let schema = schema();
        let whole = jsonschema::validator_for(&schema).unwrap();
        // Each value that fits by itself, and so also an object that fits whole, is as it was.
        let kept: Vec<(String, Value)> = given
            .iter()
            .filter(|(name, value)| {
                let mut alone = Map::new();
                alone.insert("file_path".to_owned(), json!("f"));
                alone.insert((*name).clone(), (*value).clone());
                whole.is_valid(&Value::Object(alone))
            })
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let out = coerce(&schema, &[], given).unwrap().value;
        for (name, value) in kept {
            prop_assert_eq!(out.get(&name), Some(&value), "{}", name);
        }
    }

    #[test]
    fn coercing_twice_changes_nothing_more(
        given in proptest::collection::btree_map(
            "file_path|limit|ratio|all|names|sizes|where|either|both|how|point|steps|free|other", any_value(), 0..6,
        ),
    ) {
        let schema = schema();
        let once = coerce(&schema, &[], given.into_iter().collect()).unwrap().value;
        let twice = coerce(&schema, &[], once.clone()).unwrap();
        prop_assert_eq!(twice, Coerced { value: once, repairs: Vec::new() });
    }
}
