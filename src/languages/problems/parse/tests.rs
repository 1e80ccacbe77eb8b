//! What odd diagnostics become.

#![expect(
    clippy::needless_raw_string_hashes,
    clippy::needless_pass_by_value,
    clippy::format_collect,
    reason = "expect_test writes its strings so, and tables read better with values"
)]

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::languages::problems::NAME_LIMIT;

/// One line a diagnostic, one a remark.
fn shown(parsed: &Parsed) -> String {
    let problem = |problem: &RawProblem| {
        let Range { start, end } = problem.range;
        let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "-".to_owned());
        let RawProblem { severity, source, code, message, .. } = problem;
        format!(
            "{}:{}-{}:{} {severity:?} {} {} {message:?}\n",
            start.line,
            start.character,
            end.line,
            end.character,
            name(source),
            name(code)
        )
    };
    let problems: String = parsed.problems.iter().map(problem).collect();
    let remarks: String = parsed.remarks.iter().map(|remark| format!("remark: {remark}\n")).collect();
    problems + &remarks
}

#[track_caller]
fn check(diagnostics: Value, expected: Expect) {
    let list = diagnostics.as_array().cloned().unwrap_or_else(|| vec![diagnostics.clone()]);
    expected.assert_eq(&shown(&parse(&list)));
}

fn range(start: (i64, i64), end: (i64, i64)) -> Value {
    json!({ "start": { "line": start.0, "character": start.1 }, "end": { "line": end.0, "character": end.1 } })
}

#[test]
fn a_plain_one() {
    check(
        json!({ "range": range((1, 2), (3, 4)), "severity": 2, "source": "Ruff", "code": "F401", "message": "unused",
                "codeDescription": { "href": "" }, "tags": [9, "x"], "relatedInformation": 7, "data": { "a": [] } }),
        expect![[r#"
            1:2-3:4 Warning Ruff F401 "unused"
        "#]],
    );
}

#[test]
fn severities() {
    let list: Vec<Value> =
        [json!(1), json!(2.0), json!("3"), json!("Hint"), json!(0), json!(99), json!(-1), Value::Null, json!([])]
            .into_iter()
            .map(|severity| json!({ "message": severity.to_string(), "severity": severity }))
            .collect();
    check(
        Value::Array(list),
        expect![[r#"
        0:0-0:0 Error - - "1"
        0:0-0:0 Warning - - "2.0"
        0:0-0:0 Information - - "\"3\""
        0:0-0:0 Hint - - "\"Hint\""
        0:0-0:0 Error - - "0"
        0:0-0:0 Error - - "99"
        0:0-0:0 Error - - "-1"
        0:0-0:0 Error - - "null"
        0:0-0:0 Error - - "[]"
    "#]],
    );
    check(
        json!({ "message": "none" }),
        expect![[r#"
        0:0-0:0 Error - - "none"
    "#]],
    );
}

#[test]
fn ranges() {
    check(
        json!([
            { "message": "reversed", "range": range((5, 1), (2, 3)) },
            { "message": "negative", "range": range((-1, -7), (2, -1)) },
            { "message": "huge", "range": { "start": { "line": 1e30, "character": 5_000_000_000_i64 }, "end": { "line": 1e300, "character": 1 } } },
            { "message": "fractional", "range": { "start": { "line": 1.9, "character": "2.5" }, "end": { "line": "3", "character": 4.0 } } },
            { "message": "no end", "range": { "start": { "line": 4, "character": 2 } } },
            { "message": "no start", "range": { "end": { "line": 4, "character": 2 } } },
            { "message": "no numbers", "range": { "start": { "line": null, "character": [] }, "end": {} } },
            { "message": "no object", "range": [1, 2] },
            { "message": "null", "range": null },
            { "message": "absent" },
        ]),
        expect![[r#"
            2:3-5:1 Error - - "reversed"
            0:0-2:0 Error - - "negative"
            4294967295:1-4294967295:4294967295 Error - - "huge"
            1:2-3:4 Error - - "fractional"
            4:2-4:2 Error - - "no end"
            0:0-4:2 Error - - "no start"
            0:0-0:0 Error - - "no numbers"
            0:0-0:0 Error - - "no object"
            0:0-0:0 Error - - "null"
            0:0-0:0 Error - - "absent"
        "#]],
    );
}

#[test]
fn codes_and_sources() {
    let list: Vec<Value> = [
        json!("E0308"),
        json!(2304),
        json!(2304.0),
        json!(1.5),
        json!(-7),
        json!({ "value": 12, "target": "https://example.org" }),
        json!({ "value": { "deep": 1 } }),
        json!({ "other": 1 }),
        json!([1, "a"]),
        json!(true),
        json!(" \n"),
        json!("two\n lines\u{7}"),
        Value::Null,
    ]
    .into_iter()
    .map(|code| json!({ "message": "x", "source": code, "code": code }))
    .collect();
    check(
        Value::Array(list),
        expect![[r#"
        0:0-0:0 Error E0308 E0308 "x"
        0:0-0:0 Error 2304 2304 "x"
        0:0-0:0 Error 2304 2304 "x"
        0:0-0:0 Error 1.5 1.5 "x"
        0:0-0:0 Error -7 -7 "x"
        0:0-0:0 Error 12 12 "x"
        0:0-0:0 Error {"value":{"deep":1}} {"value":{"deep":1}} "x"
        0:0-0:0 Error {"other":1} {"other":1} "x"
        0:0-0:0 Error [1,"a"] [1,"a"] "x"
        0:0-0:0 Error true true "x"
        0:0-0:0 Error - - "x"
        0:0-0:0 Error two lines two lines "x"
        0:0-0:0 Error - - "x"
    "#]],
    );
}

#[test]
fn messages() {
    check(
        json!([
            { "message": "a\tb\r\n  c\u{1b}[0m\u{0}" },
            { "message": { "kind": "markdown", "value": "**bold**" } },
            { "message": { "kind": "markdown" } },
            { "message": 12 },
            { "message": ["a"] },
            { "message": null, "code": "E1" },
            { "message": " \n ", "code": 3 },
            {},
        ]),
        expect![[r#"
            0:0-0:0 Error - - "a  b\n  c"
            0:0-0:0 Error - - "**bold**"
            0:0-0:0 Error - - "{\"kind\":\"markdown\"}"
            0:0-0:0 Error - - "12"
            0:0-0:0 Error - - "[\"a\"]"
            0:0-0:0 Error - E1 "(no message; code E1)"
            0:0-0:0 Error - 3 "(no message; code 3)"
            0:0-0:0 Error - - "(no message)"
        "#]],
    );
}

#[test]
fn one_that_is_hopeless_costs_only_itself() {
    check(
        json!([{ "message": "first" }, null, "text\n", [1], { "message": "last" }]),
        expect![[r#"
        0:0-0:0 Error - - "first"
        0:0-0:0 Error - - "last"
        remark: diagnostic 2 of 5 is no object and was left out: null
        remark: diagnostic 3 of 5 is no object and was left out: "text\n"
        remark: diagnostic 4 of 5 is no object and was left out: [1]
    "#]],
    );
    let many: Vec<Value> = (0..9).map(Value::from).collect();
    check(
        Value::Array(many),
        expect![[r#"
        remark: diagnostic 1 of 9 is no object and was left out: 0
        remark: diagnostic 2 of 9 is no object and was left out: 1
        remark: diagnostic 3 of 9 is no object and was left out: 2
        remark: diagnostic 4 of 9 is no object and was left out: 3
        remark: diagnostic 5 of 9 is no object and was left out: 4
        remark: 4 more are no objects and were left out
    "#]],
    );
}

/// Values as a server could send them, and some as only a broken one would.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let key = prop_oneof![
        Just("range"),
        Just("start"),
        Just("end"),
        Just("line"),
        Just("character"),
        Just("severity"),
        Just("code"),
        Just("source"),
        Just("message"),
        Just("value"),
        Just("other")
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((key.clone(), inner), 0..7)
                .prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn anything_can_be_read(list in proptest::collection::vec(any_value(), 0..8)) {
        let parsed = parse(&list);
        prop_assert_eq!(parsed.problems.len(), list.iter().filter(|value| value.is_object()).count());
        prop_assert_eq!(parsed.problems.len() + parsed.unread, list.len());
        prop_assert_eq!(parsed.remarks.is_empty(), list.iter().all(Value::is_object));
        prop_assert!(parsed.remarks.len() <= REMARK_LIMIT + 1);
        for problem in &parsed.problems {
            prop_assert!(problem.range.start <= problem.range.end);
            prop_assert!(!problem.message.trim().is_empty());
            prop_assert!(problem.message.chars().count() <= MESSAGE_LIMIT);
            prop_assert!(problem.message.chars().all(|char| char == '\n' || !char.is_control()));
            for name in [&problem.source, &problem.code].into_iter().flatten() {
                prop_assert!(!name.is_empty() && name.chars().count() <= NAME_LIMIT);
                prop_assert!(!name.chars().any(char::is_control));
            }
        }
    }
}
