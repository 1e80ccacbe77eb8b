//! What each API is given, and that what it is not given changes nothing about what we take.

#![expect(clippy::needless_pass_by_value, reason = "JSON is made where it is passed")]

use std::fmt::Write as _;

use expect_test::expect;

use super::*;
use crate::dispatch::coerce::coerce;
use crate::permissions::Requirement;
use crate::tool::{Capability, sanitise};

fn tool(schema: Value) -> ToolInfo {
    ToolInfo {
        name: "try_it".to_owned(),
        title: "Try it".to_owned(),
        description: "Tries it.".to_owned(),
        input_schema: sanitise::sanitise(&schema).unwrap().schema,
        output_schema: Some(json!({ "type": "object", "properties": {} })),
        annotations: serde_json::from_value(json!({
            "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false
        }))
        .unwrap(),
        capabilities: vec![Capability::ReadsFiles],
        approval: Requirement::Auto,
        parallel: true,
        deferred: false,
        unavailable: None,
    }
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "Which.", "minLength": 1 },
            "level": { "enum": [1, 2, 3] },
            "how": { "type": "string", "enum": ["fast", "slow"], "default": "fast" },
            "at": { "type": ["integer", "null"], "minimum": 0 },
            "tags": { "type": "array", "items": { "type": "string" }, "maxItems": 5 },
            "either": { "anyOf": [{ "type": "string" }, { "type": "boolean" }] },
            "where": { "type": "object", "properties": { "line": { "type": "integer" } }, "additionalProperties": false },
        },
        "required": ["path"],
        "additionalProperties": false,
    })
}

fn shown(schema: Value, dialect: Dialect) -> Value {
    serde_json::to_value(shaped(tool(schema), dialect)).unwrap()
}

#[test]
fn the_shape_of_each() {
    let mut told = String::new();
    let schema = || json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] });
    for dialect in [
        Dialect::Plain,
        Dialect::Anthropic,
        Dialect::Openai,
        Dialect::OpenaiStrict,
        Dialect::Gemini,
        Dialect::Vscode,
        Dialect::Mcp,
    ] {
        writeln!(told, "{}: {}", json!(dialect), shown(schema(), dialect)).unwrap();
    }
    expect![[r#"
        "plain": {"name":"try_it","title":"Try it","description":"Tries it.","inputSchema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},"outputSchema":{"type":"object","properties":{}},"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false},"capabilities":["readsFiles"],"approval":"auto","parallel":true,"deferred":false}
        "anthropic": {"name":"try_it","description":"Tries it.","input_schema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}
        "openai": {"type":"function","function":{"name":"try_it","description":"Tries it.","parameters":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}
        "openaiStrict": {"type":"function","function":{"name":"try_it","description":"Tries it.","parameters":{"type":"object","required":["a"],"properties":{"a":{"type":"string"}},"additionalProperties":false},"strict":true}}
        "gemini": {"name":"try_it","description":"Tries it.","parameters":{"type":"OBJECT","required":["a"],"properties":{"a":{"type":"STRING"}}}}
        "vscode": {"name":"try_it","description":"Tries it.","inputSchema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},"tags":["readsFiles"]}
        "mcp": {"name":"try_it","title":"Try it","description":"Tries it.","inputSchema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false},"outputSchema":{"type":"object","properties":{}}}
    "#]]
    .assert_eq(&told);
}

#[test]
fn strict_mode() {
    let strict = shown(schema(), Dialect::OpenaiStrict);
    assert_eq!(strict["function"]["strict"], true);
    expect![[r#"
        {
          "type": "object",
          "required": [
            "path",
            "level",
            "how",
            "at",
            "tags",
            "either",
            "where"
          ],
          "properties": {
            "path": {
              "type": "string",
              "description": "Which. (minLength: 1)"
            },
            "level": {
              "type": [
                "integer",
                "null"
              ],
              "enum": [
                1,
                2,
                3,
                null
              ]
            },
            "how": {
              "type": [
                "string",
                "null"
              ],
              "enum": [
                "fast",
                "slow",
                null
              ]
            },
            "at": {
              "type": [
                "integer",
                "null"
              ],
              "description": "minimum: 0"
            },
            "tags": {
              "type": [
                "array",
                "null"
              ],
              "items": {
                "type": "string"
              },
              "description": "maxItems: 5"
            },
            "either": {
              "anyOf": [
                {
                  "type": "string"
                },
                {
                  "type": "boolean"
                },
                {
                  "type": "null"
                }
              ]
            },
            "where": {
              "type": [
                "object",
                "null"
              ],
              "required": [
                "line"
              ],
              "properties": {
                "line": {
                  "type": [
                    "integer",
                    "null"
                  ]
                }
              },
              "additionalProperties": false
            }
          },
          "additionalProperties": false
        }"#]]
    .assert_eq(&format!("{:#}", strict["function"]["parameters"]));
}

#[test]
fn null_for_what_may_be_absent_is_taken_as_absent() {
    let all = json!({
        "path": "a", "level": null, "how": null, "at": null, "tags": null, "either": null, "where": { "line": null },
    });
    let strict = shown(schema(), Dialect::OpenaiStrict)["function"]["parameters"].clone();
    assert!(jsonschema::is_valid(&strict, &all));
    let ours = sanitise::sanitise(&schema()).unwrap().schema;
    let taken =
        coerce(&ours, &jsonschema::validator_for(&ours).unwrap(), &[], all.as_object().unwrap().clone()).unwrap();
    // What may be null stays so: it says something.
    assert_eq!(Value::Object(taken.value), json!({ "path": "a", "at": null, "where": {} }));
}

#[test]
fn what_cannot_be_strict_is_not_and_alone() {
    for properties in [
        json!({ "a": { "type": "object" } }),
        json!({ "a": {} }),
        json!({ "a": { "type": "object", "properties": { "b": { "type": "string" } }, "additionalProperties": true } }),
        json!({ "a": { "type": "object", "additionalProperties": { "type": "string" } } }),
        json!({ "a": { "allOf": [{ "type": "string", "minLength": 1 }, { "minLength": 2, "type": "string" }] } }),
        json!({ "a": { "type": "array" } }),
        json!({ "a": { "type": "array", "prefixItems": [{ "type": "string" }] } }),
        json!({ "a": { "const": { "b": 1 } } }),
        json!({ "a": { "anyOf": [{ "type": "string" }, {}] } }),
    ] {
        let shown = shown(json!({ "type": "object", "properties": properties }), Dialect::OpenaiStrict);
        assert_eq!(shown["function"]["strict"], false, "{properties}");
        assert!(shown["function"]["parameters"]["properties"]["a"].is_object(), "{properties}");
    }
    let deep = (0..12).fold(
        json!({ "type": "string" }),
        |inner, _| json!({ "type": "object", "properties": { "a": inner }, "additionalProperties": false }),
    );
    for schema in [
        deep,
        json!({ "type": "object", "properties": { "a": { "type": "string" } }, "additionalProperties": true }),
        json!({ "type": "object", "properties": { "a": { "type": "string" } }, "anyOf": [{ "required": ["a"] }, {}] }),
    ] {
        assert_eq!(shown(schema, Dialect::OpenaiStrict)["function"]["strict"], false);
    }
    assert_eq!(shown(json!({}), Dialect::OpenaiStrict)["function"]["strict"], true);
}

#[test]
fn gemini_takes_a_subset() {
    expect![[r#"
        {
          "type": "OBJECT",
          "required": [
            "path"
          ],
          "properties": {
            "path": {
              "type": "STRING",
              "description": "Which.",
              "minLength": 1
            },
            "level": {
              "type": "INTEGER",
              "description": "one of 1, 2, 3"
            },
            "how": {
              "type": "STRING",
              "enum": [
                "fast",
                "slow"
              ]
            },
            "at": {
              "type": "INTEGER",
              "minimum": 0,
              "nullable": true
            },
            "tags": {
              "type": "ARRAY",
              "maxItems": 5,
              "items": {
                "type": "STRING"
              }
            },
            "either": {
              "anyOf": [
                {
                  "type": "STRING"
                },
                {
                  "type": "BOOLEAN"
                }
              ]
            },
            "where": {
              "type": "OBJECT",
              "properties": {
                "line": {
                  "type": "INTEGER"
                }
              }
            }
          }
        }"#]]
    .assert_eq(&format!("{:#}", shown(schema(), Dialect::Gemini)["parameters"]));
    for (part, expected) in [
        (json!({}), json!({ "type": "STRING" })),
        (json!({ "type": "object" }), json!({ "type": "STRING", "description": "a JSON object, as text" })),
        (json!({ "type": "array" }), json!({ "type": "ARRAY", "items": { "type": "STRING" } })),
        (
            json!({ "type": ["string", "integer", "null"] }),
            json!({ "anyOf": [{ "type": "STRING" }, { "type": "INTEGER" }], "nullable": true }),
        ),
        (json!({ "const": "x" }), json!({ "type": "STRING", "enum": ["x"] })),
        (json!({ "type": "string", "format": "uri" }), json!({ "type": "STRING", "description": "format: \"uri\"" })),
        (
            json!({ "oneOf": [{ "type": "string", "minLength": 2 }, { "type": "array", "items": { "type": "string" } }] }),
            json!({ "anyOf": [{ "type": "STRING", "minLength": 2 }, { "type": "ARRAY", "items": { "type": "STRING" } }] }),
        ),
        (
            json!({ "type": "array", "prefixItems": [{ "type": "number" }, { "type": "number" }] }),
            json!({ "type": "ARRAY", "items": { "type": "NUMBER" } }),
        ),
    ] {
        let schema = json!({ "type": "object", "properties": { "p": part } });
        assert_eq!(shown(schema, Dialect::Gemini)["parameters"]["properties"]["p"], expected, "{part}");
    }
    assert!(shown(json!({}), Dialect::Gemini).get("parameters").is_none());
}

#[test]
fn a_root_of_alternatives_becomes_one_object() {
    let schema = || {
        json!({
            "type": "object",
            "properties": { "a": { "type": "string" }, "b": { "type": "string" } },
            "anyOf": [{ "required": ["a"] }, { "required": ["b", "c"], "properties": { "c": { "type": "integer" } } }],
        })
    };
    for (dialect, at, description) in [
        (Dialect::Anthropic, "/input_schema", "/description"),
        (Dialect::Openai, "/function/parameters", "/function/description"),
        (Dialect::OpenaiStrict, "/function/parameters", "/function/description"),
        (Dialect::Gemini, "/parameters", "/description"),
    ] {
        let shown = shown(schema(), dialect);
        let root = shown.pointer(at).unwrap();
        let names: Vec<&String> = root["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["a", "b", "c"], "{dialect:?}");
        assert!(root.get("anyOf").is_none() && root.get("required").is_none(), "{dialect:?} {root}");
        let words = shown.pointer(description).unwrap().as_str().unwrap();
        assert_eq!(words, "Tries it.\nGive at least one of these: `a`; `b` with `c`.", "{dialect:?}");
    }
    assert!(shown(schema(), Dialect::Mcp)["inputSchema"]["anyOf"].is_array());
}

#[test]
fn anthropic_takes_no_field_with_an_odd_name() {
    let schema = json!({
        "type": "object", "properties": { "$filter": { "type": "string" }, "a.b": { "type": "string" } }, "required": ["$filter"],
    });
    let shown = shown(schema, Dialect::Anthropic);
    assert_eq!(shown["input_schema"]["properties"], json!({ "a.b": { "type": "string" } }));
    assert_eq!(shown["input_schema"]["required"], json!([]));
    assert_eq!(shown["description"], "Tries it.\nIt also takes \"$filter\": {\"type\":\"string\"}.");
}
