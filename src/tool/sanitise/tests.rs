//! What becomes of schemas, by table and by property.

#![expect(clippy::needless_pass_by_value, reason = "JSON is made where it is passed")]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn plain(schema: Value) -> Value {
    sanitise(&schema).unwrap_or_else(|unfit| panic!("{schema}: {unfit}")).schema
}

/// What becomes of a schema for one property.
fn property(schema: Value) -> Value {
    let mut root = json!({ "type": "object", "properties": { "p": schema } });
    if let Some(definitions) = root["properties"]["p"].as_object_mut().and_then(|part| part.shift_remove("$defs")) {
        root["$defs"] = definitions;
    }
    plain(root)["properties"]["p"].clone()
}

#[test]
fn plain_forms() {
    for (given, expected) in [
        // Unions with null.
        (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), json!({"type": ["string", "null"]})),
        (
            json!({"oneOf": [{"type": "null"}, {"type": "integer", "minimum": 1}]}),
            json!({"type": ["integer", "null"], "minimum": 1}),
        ),
        (
            json!({"anyOf": [{"enum": ["a"]}, {"const": null}]}),
            json!({"type": ["string", "null"], "enum": ["a", null]}),
        ),
        (
            json!({"anyOf": [{"type": "string", "const": "a"}, {"type": "null"}]}),
            json!({"type": ["string", "null"], "enum": ["a", null]}),
        ),
        (
            json!({"description": "Outer.", "anyOf": [{"type": "string", "description": "Inner."}, {"type": "null"}]}),
            json!({"description": "Outer.\nInner.", "type": ["string", "null"]}),
        ),
        // Choices of one, where nothing is in the way.
        (json!({"allOf": [{"type": "string"}], "minLength": 1}), json!({"minLength": 1, "type": "string"})),
        (json!({"anyOf": [{"oneOf": [{"type": "boolean"}]}]}), json!({"type": "boolean"})),
        (json!({"type": ["string"]}), json!({"type": "string"})),
        (
            json!({"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}], "type": "object",
                   "properties": {"b": {"type": "string"}}, "required": ["b"]}),
            json!({"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "string"}}, "required": ["b", "a"]}),
        ),
        // Objects and what they require.
        (json!({"type": "object"}), json!({"type": "object", "properties": {}})),
        (
            json!({"type": "object", "additionalProperties": true}),
            json!({"type": "object", "additionalProperties": true, "properties": {}}),
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "gone"]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["gone"]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}}),
        ),
        // Types that follow.
        (json!({"enum": ["a", "b"]}), json!({"type": "string", "enum": ["a", "b"]})),
        (json!({"const": 3}), json!({"type": "integer", "const": 3})),
        (json!({"enum": [1.5, 2, null]}), json!({"type": ["number", "null"], "enum": [1.5, 2, null]})),
        // References.
        (json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}), json!({"type": "string"})),
        (
            json!({"$ref": "#/$defs/a", "description": "Which.", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"enum": ["x"], "type": "string"}}}),
            json!({"description": "Which.", "enum": ["x"], "type": "string"}),
        ),
        (
            json!({"$ref": "#/$defs/a", "maxLength": 3, "$defs": {"a": {"type": "string", "maxLength": 5}}}),
            json!({"maxLength": 3, "allOf": [{"type": "string", "maxLength": 5}]}),
        ),
    ] {
        assert_eq!(property(given.clone()), expected, "{given}");
    }
}

#[test]
fn what_is_left_alone() {
    for schema in [
        json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        json!({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}),
        json!({"type": "string", "allOf": [{"type": "string", "minLength": 2}, {"maxLength": 3}]}),
        // Null fits already, so that exactly one of the two never takes it.
        json!({"oneOf": [{"type": ["string", "null"]}, {"type": "null"}]}),
        json!({"minLength": 1, "allOf": [{"minLength": 2}]}),
        json!({"additionalProperties": false, "allOf": [{"properties": {"a": {"type": "string"}}}]}),
        // Data that looks like a schema, and properties that are called like keywords.
        json!({"type": "object", "properties": {}, "default": {"anyOf": [{"type": "null"}, 1], "required": ["x"]}}),
        json!({"type": "object", "properties": {}, "examples": [{"$ref": "#/$defs/a", "type": "object", "required": ["x"]}]}),
        json!({"type": "array", "items": {"type": "object", "properties": {}}, "const": [{"type": "object"}, {"oneOf": [{}]}]}),
        json!({"type": "object", "enum": [{"allOf": [{"type": "string"}]}, {"$ref": "x"}], "properties": {}}),
        json!({"type": "object", "properties": {
            "required": {"type": "string"}, "anyOf": {"type": "integer"}, "$ref": {"type": "string"},
            "properties": {"type": "object", "properties": {"enum": {"type": "string"}}, "required": ["enum"]},
        }, "required": ["required", "$ref"]}),
        // One of several fields: declared round the choice.
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        json!({"not": {"properties": {"a": {"type": "string"}}, "required": ["x"]}}),
        json!({"type": "object", "properties": {}, "additionalProperties": {"type": "string"}, "required": ["any"]}),
        json!({"type": "string", "format": "uri", "x-ours": {"type": "object"}}),
    ] {
        assert_eq!(property(schema.clone()), schema);
    }
}

#[test]
fn older_versions_are_understood() {
    let draft = |number: &str| format!("http://json-schema.org/draft-{number}/schema#");
    let seven = json!({
        "$schema": draft("07"), "$id": "http://example.com/a.json", "type": "object",
        "definitions": { "point": { "type": "array", "items": [{ "type": "number" }, { "type": "number" }], "additionalItems": false } },
        "properties": { "at": { "$ref": "#/definitions/point", "description": "Where.", "maxItems": 1 } },
        "dependencies": { "at": ["to"], "to": { "required": ["at"] } },
    });
    assert_eq!(
        plain(seven),
        json!({
            "type": "object",
            "properties": { "at": {
                "description": "Where.", "type": "array",
                "prefixItems": [{ "type": "number" }, { "type": "number" }], "items": false,
            } },
            "dependentRequired": { "at": ["to"] },
            "dependentSchemas": { "to": { "required": ["at"] } },
        })
    );
    let four = json!({
        "$schema": draft("04"), "type": "object",
        "properties": { "n": { "type": "number", "minimum": 0, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false } },
    });
    let expected = json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 9 });
    assert_eq!(plain(four)["properties"]["n"], expected);
    // It does not say which version it is, and is valid only in an old one.
    let unnamed = json!({ "properties": { "a": { "type": "array", "items": [{ "type": "string" }] } } });
    assert_eq!(plain(unnamed)["properties"]["a"]["prefixItems"], json!([{ "type": "string" }]));
}

#[test]
fn roots() {
    assert_eq!(plain(json!({})), json!({"type": "object", "properties": {}}));
    assert_eq!(plain(json!({"type": ["object", "null"]})), json!({"type": "object", "properties": {}}));
    assert_eq!(
        plain(
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"x": {"type": "string"}}, "required": ["x", "y"]}}})
        ),
        json!({"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]})
    );
    for (schema, why) in [
        (json!("object"), "is not a JSON object"),
        (json!(true), "is not a JSON object"),
        (json!({"type": "string"}), "is of type \"string\" at its root; expected \"object\""),
        (
            json!({"type": "object", "properties": {"a": {"type": "text"}}}),
            "is no valid JSON Schema at /properties/a/type",
        ),
        (json!({"type": "object", "properties": 3}), "is no valid JSON Schema at /properties"),
        (json!({"properties": {"a": {"$ref": "#/$defs/gone"}}}), "is no valid JSON Schema"),
        (json!({"properties": {"a": {"$ref": "https://example.com/a.json"}}}), "is no valid JSON Schema"),
        (json!({"description": "x".repeat(MAX_SCHEMA_BYTES)}), "is 262162 bytes long; at most 262144 are taken"),
    ] {
        let unfit = sanitise(&schema).unwrap_err().to_string();
        assert!(unfit.starts_with(why), "{why:?} / {unfit}");
    }
}

#[test]
fn what_has_no_end_is_cut() {
    let schema = json!({
        "type": "object",
        "properties": { "tree": { "$ref": "#/$defs/node" }, "any": { "$ref": "#/$defs/any" } },
        "$defs": {
            "node": { "type": "object", "properties": { "name": { "type": "string" }, "kids": { "type": "array", "items": { "$ref": "#/$defs/node" } } }, "required": ["name"] },
            "any": { "anyOf": [{ "type": "string" }, { "type": "array", "items": { "$ref": "#/$defs/any" } }] },
        },
    });
    let made = sanitise(&schema).unwrap();
    assert!(!made.whole);
    let again = "The same again, nested: as described further out.";
    assert_eq!(
        made.schema,
        json!({
            "type": "object",
            "properties": {
                "tree": { "type": "object", "properties": {
                    "name": { "type": "string" },
                    "kids": { "type": "array", "items": { "type": "object", "description": again, "properties": {} } },
                }, "required": ["name"] },
                "any": { "anyOf": [{ "type": "string" }, { "type": "array", "items": { "description": again } }] },
            },
        })
    );
    // Below a negation a cut would forbid what was allowed.
    let negated = json!({"properties": {"a": {"not": {"$ref": "#"}}, "b": {"oneOf": [{"$ref": "#"}, {"type": "object", "required": ["c"]}]}}});
    let made = plain(negated);
    assert!(made["properties"]["a"].get("not").is_none(), "{made}");
    assert!(made["properties"]["b"].get("oneOf").is_none() && made["properties"]["b"]["anyOf"].is_array(), "{made}");
}

#[test]
fn size_and_depth_are_bounded() {
    // Each definition holds the next one twice: 2^40 parts.
    let mut definitions = serde_json::Map::new();
    for level in 0..40 {
        let next = format!("#/$defs/d{}", level + 1);
        let part = json!({"type": "object", "properties": {"a": {"$ref": next}, "b": {"$ref": next}}, "default": "x".repeat(100)});
        definitions.insert(format!("d{level}"), part);
    }
    definitions.insert("d40".to_owned(), json!({"type": "string"}));
    let schema = json!({"$ref": "#/$defs/d0", "$defs": definitions});
    let made = sanitise(&schema).unwrap();
    let bytes = made.schema.to_string().len();
    assert!(!made.whole && bytes > 10_000 && bytes < 4 * MAX_SCHEMA_BYTES, "{bytes}");
    assert_eq!(plain(made.schema.clone()), made.schema);

    let deep = (0..100).fold(json!({"type": "string"}), |inner, _| json!({"type": "array", "items": inner}));
    let made = sanitise(&json!({"properties": {"deep": deep}})).unwrap();
    let depth = std::iter::successors(Some(&made.schema["properties"]["deep"]), |part| part.get("items")).count();
    assert!(!made.whole && depth < 40, "{depth}");
    assert_eq!(plain(made.schema.clone()), made.schema);
}

fn any_instance() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2_i64..4).prop_map(Value::from),
        prop_oneof![Just(0.5), Just(1.0)].prop_map(Value::from),
        "[abx]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("[abx]", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_schema() -> impl Strategy<Value = Value> {
    let kind = || {
        let one = prop_oneof![
            Just("string"),
            Just("integer"),
            Just("number"),
            Just("boolean"),
            Just("null"),
            Just("array"),
            Just("object"),
        ];
        prop_oneof![
            4 => one.clone().prop_map(Value::from),
            1 => proptest::collection::btree_set(one, 1..3).prop_map(|kinds| kinds.into_iter().collect::<Value>()),
        ]
    };
    let leaf = prop_oneof![
        3 => kind().prop_map(|kind| json!({ "type": kind })),
        1 => Just(json!({})),
        1 => any::<bool>().prop_map(Value::from),
        1 => any_instance().prop_map(|value| json!({ "const": value })),
        1 => proptest::collection::btree_map("[a-z]{3}", any_instance(), 1..3).prop_map(|values| {
            let mut options: Vec<Value> = Vec::new();
            for value in values.into_values() {
                if !options.contains(&value) { options.push(value); }
            }
            json!({ "enum": options })
        }),
        2 => prop_oneof![Just("#/$defs/one"), Just("#/$defs/two"), Just("#")].prop_map(|to| json!({ "$ref": to })),
        1 => (0..3_u8).prop_map(|least| json!({ "minLength": least, "description": "short" })),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let names = proptest::collection::vec("[abx]", 0..3)
            .prop_map(|names| names.into_iter().collect::<std::collections::BTreeSet<_>>());
        let keyword = prop_oneof![
            3 => proptest::collection::btree_map("[abx]|required|type", inner.clone(), 0..3)
                .prop_map(|map| json!({ "properties": map })),
            2 => names.prop_map(|names| json!({ "required": names })),
            2 => (prop_oneof![Just("anyOf"), Just("oneOf"), Just("allOf"), Just("prefixItems")],
                  proptest::collection::vec(inner.clone(), 1..3))
                .prop_map(|(key, members)| json!({ key: members })),
            2 => (prop_oneof![Just("anyOf"), Just("oneOf")], inner.clone())
                .prop_map(|(key, member)| json!({ key: [member, { "type": "null" }] })),
            3 => (prop_oneof![
                    Just("items"), Just("additionalProperties"), Just("not"), Just("if"), Just("then"), Just("else"),
                    Just("contains"), Just("propertyNames"), Just("unevaluatedProperties"), Just("unevaluatedItems"),
                 ], inner.clone())
                .prop_map(|(key, part)| json!({ key: part })),
            1 => (prop_oneof![Just("minimum"), Just("maxContains"), Just("minItems"), Just("maxProperties")], 0..3_u8)
                .prop_map(|(key, limit)| json!({ key: limit })),
            1 => Just(json!({ "default": { "anyOf": [{ "type": "null" }], "required": ["x"] } })),
            2 => inner,
        ];
        (proptest::collection::vec(keyword, 1..4), proptest::option::of(kind())).prop_map(|(keywords, kind)| {
            let mut out = serde_json::Map::new();
            for keyword in keywords {
                out.extend(keyword.as_object().cloned().unwrap_or_default());
            }
            if let Some(kind) = kind {
                out.entry("type").or_insert(kind);
            }
            Value::Object(out)
        })
    })
}

fn any_root() -> impl Strategy<Value = Value> {
    (any_schema(), any_schema(), any_schema()).prop_map(|(root, one, two)| {
        let mut root = root.as_object().cloned().unwrap_or_default();
        root.insert("$defs".to_owned(), json!({ "one": one, "two": two }));
        root.insert("type".to_owned(), json!("object"));
        Value::Object(root)
    })
}

#[test]
fn a_dialect_that_nobody_knows_says_nothing() {
    for dialect in ["nttp://json-schema.org/draft-04/schema#", "https://example.org/mine", ""] {
        let schema = json!({ "$schema": dialect, "type": "object", "properties": { "a": { "type": "integer" } } });
        let (validator, _) = compiled(&schema).unwrap_or_else(|unfit| panic!("{dialect:?} {unfit}"));
        assert!(validator.is_valid(&json!({ "a": 1 })) && !validator.is_valid(&json!({ "a": "b" })), "{dialect:?}");
        assert_eq!(plain(schema.clone())["properties"]["a"], json!({ "type": "integer" }), "{dialect:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 100_000, ..ProptestConfig::default() })]

    #[test]
    fn what_validates_before_validates_after_and_twice_is_as_good_as_once(
        schema in any_root(),
        instances in proptest::collection::vec(
            proptest::collection::btree_map("[abx]|required|type", any_instance(), 0..4), 12,
        ),
    ) {
        let before = jsonschema::validator_for(&schema);
        prop_assume!(before.is_ok());
        let before = before.unwrap();
        let once = sanitise(&schema);
        prop_assume!(once.is_ok());
        let once = once.unwrap();
        let after = jsonschema::validator_for(&once.schema);
        prop_assert!(after.is_ok(), "{} became no schema: {}", schema, once.schema);
        let after = after.unwrap();
        for instance in instances {
            let instance = Value::Object(instance.into_iter().collect());
            if before.is_valid(&instance) {
                prop_assert!(after.is_valid(&instance), "{}\n{}\n{}", schema, once.schema, instance);
            }
        }
        prop_assert!(!once.schema.to_string().contains("#/$defs"), "{}", once.schema);
        let twice = sanitise(&once.schema).unwrap();
        prop_assert_eq!(&twice.schema, &once.schema);
    }
}
