//! Tables and properties of the ladder.

use super::*;
use expect_test::expect;
use proptest::prelude::*;
use serde_json::json;

#[test]
fn what_is_taken() {
    #[track_caller]
    fn check(arguments: &Value, expected: Value, repairs: usize) {
        let parsed = parse("read", None, Some(arguments)).unwrap();
        assert_eq!((Value::Object(parsed.value), parsed.repairs.len()), (expected, repairs), "{arguments}");
    }
    check(&json!({"a": 1}), json!({"a": 1}), 0);
    check(&Value::Null, json!({}), 0);
    check(&json!(""), json!({}), 0);
    check(&json!(r#"{"a": "x,}"}"#), json!({"a": "x,}"}), 0);
    check(&json!("```json\n{\"a\": 1}\n```"), json!({"a": 1}), 1);
    check(&json!("```\n{\"a\": \"```\"}\n```"), json!({"a": "```"}), 1);
    check(&json!("{\"a\": \"one\ntwo\t\u{b}\"}"), json!({"a": "one\ntwo\t\u{b}"}), 1);
    check(&json!(r#"{"a": [1, 2 , ], "b": {"c": ",]",} , }"#), json!({"a": [1, 2], "b": {"c": ",]"}}), 1);
    check(&json!(r#"{"a": "q\",}",}"#), json!({"a": "q\",}"}), 1);
    check(&json!("```json\n{\"a\": \"x\ny\",}\n```"), json!({"a": "x\ny"}), 3);
    check(&json!(r#""{\"a\": 1}""#), json!({"a": 1}), 1);
    assert_eq!(parse("read", None, None), Ok(Parsed::default()));
}

#[test]
fn what_is_refused() {
    let mut told = String::new();
    for arguments in [
        json!([1]),
        json!("[1]"),
        json!(r#"{"a": "cut of\"#),
        json!(r#"{"a": [1, tr"#),
        json!(r#"{"a": 1, "b"#),
        json!(r#"{"a": {"b": 1}}, "c": 2}"#),
        json!("{'a': 1}"),
        json!("{\"a\": \"x\\\ny\"}"),
        json!("{,}"),
        json!("é{"),
        json!("\"just text\""),
    ] {
        let failed = parse("edit", None, Some(&arguments)).unwrap_err();
        assert_eq!(failed.kind, ErrorKind::InvalidArguments, "{arguments}");
        told += &failed.message;
        told.push('\n');
    }
    expect![[r#"
        The arguments of `edit` came as an array; expected one JSON object, for example {"name": "value"}.
        The arguments of `edit` came as an array; expected one JSON object, for example {"name": "value"}.
        The arguments of `edit` are not valid JSON: EOF while parsing a string at line 1 column 14, here: "{\"a\": \"cut of\\" ⟂ "". The text ends in the middle of the JSON; nothing is completed by guessing. Send the whole call again, and if it is long, split it.
        The arguments of `edit` are not valid JSON: EOF while parsing a value at line 1 column 12, here: "{\"a\": [1, tr" ⟂ "". The text ends in the middle of the JSON; nothing is completed by guessing. Send the whole call again, and if it is long, split it.
        The arguments of `edit` are not valid JSON: EOF while parsing a string at line 1 column 11, here: "{\"a\": 1, \"b" ⟂ "". The text ends in the middle of the JSON; nothing is completed by guessing. Send the whole call again, and if it is long, split it.
        The arguments of `edit` are not valid JSON: trailing characters at line 1 column 16, here: "{\"a\": {\"b\": 1}}" ⟂ ", \"c\": 2}". Send the call again as one valid JSON object: names and strings in double quotes, `\n`, `\"` and `\\` inside strings.
        The arguments of `edit` are not valid JSON: key must be a string at line 1 column 2, here: "{" ⟂ "'a': 1}". Send the call again as one valid JSON object: names and strings in double quotes, `\n`, `\"` and `\\` inside strings.
        The arguments of `edit` are not valid JSON: invalid escape at line 2 column 0, here: "{\"a\": \"x\\\n" ⟂ "y\"}". Send the call again as one valid JSON object: names and strings in double quotes, `\n`, `\"` and `\\` inside strings.
        The arguments of `edit` are not valid JSON: key must be a string at line 1 column 2, here: "{" ⟂ ",}". Send the call again as one valid JSON object: names and strings in double quotes, `\n`, `\"` and `\\` inside strings.
        The arguments of `edit` are not valid JSON: expected value at line 1 column 1, here: "" ⟂ "é{". Send the call again as one valid JSON object: names and strings in double quotes, `\n`, `\"` and `\\` inside strings.
        The arguments of `edit` came as a string; expected one JSON object, for example {"name": "value"}.
    "#]].assert_eq(&told);
}

#[test]
fn megabytes_are_parsed_and_not_repaired() {
    let long = "x".repeat(REPAIRED_BYTES);
    assert!(parse("write", None, Some(&json!(format!("{{\"a\": \"{long}\"}}")))).is_ok());
    assert!(parse("write", None, Some(&json!(format!("{{\"a\": \"{long}\",}}")))).is_err());
}

#[test]
fn what_is_invented_is_said() {
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "JSON is made where it is passed")]
    fn check(text: &str, expected: Value, what: &[&str]) {
        let parsed = parse("read", None, Some(&json!(text))).unwrap();
        assert_eq!(Value::Object(parsed.value), expected, "{text}");
        assert_eq!(parsed.invented.expect("invented").what, what, "{text}");
    }
    let closed = |what: &str| format!("closed what the text left open: {what}");
    check(r#"{"a": "cut o"#, json!({"a": "cut o"}), &[&closed("a string, an object")]);
    check(r#"{"a": [{"b": ["#, json!({"a": [{"b": []}]}), &[&closed("an array, an object, an array, an object")]);
    check(r#"{"a": 1, "#, json!({"a": 1}), &[&closed("an object")]);
    check("{\"a\": \"x\ny", json!({"a": "x\ny"}), &[&closed("a string, an object")]);
    check(r#"{"a": 1}}]"#, json!({"a": 1}), &["left out 2 closing brackets too many"]);
    check(r#"{"a": [1}"#, json!({"a": [1]}), &["left out 1 closing bracket too many", &closed("an array, an object")]);
    check("{", json!({}), &[&closed("an object")]);
}

#[test]
fn free_text_goes_to_its_parameter_as_it_is() {
    #[track_caller]
    fn check(text: &str, expected: Value) {
        let parsed = parse("shell", Some("command"), Some(&json!(text))).unwrap();
        assert_eq!((Value::Object(parsed.value), parsed.invented), (expected, None), "{text}");
    }
    for raw in [
        "ls -la",
        " ls\n",
        "{ echo a; echo b; }",
        "{a,b}",
        "[ -f x ] && y",
        "[1]",
        "true",
        "\"ls\" -l",
        "\"ls\"",
        "```sh\nls\n```",
        "*** Begin Patch\n*** End Patch,}",
        "echo '{\"a\": 1,}'",
    ] {
        check(raw, json!({ "command": raw }));
    }
    // An object is arguments, mended where that is safe.
    check(r#"{"command": "ls"}"#, json!({"command": "ls"}));
    check("{\"command\": \"a\nb\",}", json!({"command": "a\nb"}));
    check("```json\n{\"command\": \"ls\",}\n```", json!({"command": "ls"}));
    check(r#""{\"command\": \"ls\"}""#, json!({"command": "ls"}));
    check("", json!({}));
    check("{}", json!({}));
    // What is cut off, or nearly an object, is no command.
    for broken in
        ["{'command': 'ls'}", "{command: \"ls\"}", "```json\n{\"command\": nothing}\n```", "{\"command\": \"a\\"]
    {
        assert!(parse("shell", Some("command"), Some(&json!(broken))).is_err(), "{broken}");
    }
    for cut in ["{\"command\": \"rm -rf /tmp/x", "```json\n{\"command\": \"rm -rf /tmp/x"] {
        let parsed = parse("shell", Some("command"), Some(&json!(cut)));
        assert!(parsed.is_err() || parsed.is_ok_and(|parsed| parsed.invented.is_some()), "{cut}");
    }
}

proptest! {
    #[test]
    fn valid_json_is_never_changed(whole in any_json(), pretty in any::<bool>(), tool in any::<bool>()) {
        let whole = json!({ "a": whole });
        let text = if pretty { serde_json::to_string_pretty(&whole) } else { serde_json::to_string(&whole) }.unwrap();
        let parsed = parse("any", tool.then_some("command"), Some(&json!(text))).unwrap();
        prop_assert_eq!(serde_json::to_string(&parsed.value).unwrap(), serde_json::to_string(&whole).unwrap());
        prop_assert_eq!((parsed.repairs, parsed.invented), (vec![], None));
    }

    #[test]
    fn what_is_cut_off_is_refused_or_said_to_be_invented(whole in any_json(), cut in any::<prop::sample::Index>()) {
        let text = json!({ "a": whole, "z": 1 }).to_string();
        let mut end = 1 + cut.index(text.len() - 1);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        if let Ok(parsed) = parse("any", None, Some(&json!(text[..end]))) {
            prop_assert!(parsed.invented.is_some() || end == text.len(), "{}", &text[..end]);
        }
    }

    #[test]
    fn whatever_comes_is_an_object_or_a_refusal(text in "[{}\\[\\]\",:\\\\ a1\n`]{0,24}", free in any::<bool>()) {
        if let Ok(parsed) = parse("any", free.then_some("command"), Some(&json!(text))) {
            let strict = serde_json::from_str::<Value>(&text);
            if let Ok(Value::Object(strict)) = strict {
                prop_assert_eq!(parsed, Parsed { value: strict, ..Parsed::default() });
            } else if !text.trim().is_empty() {
                prop_assert!(!parsed.repairs.is_empty());
            }
        }
    }
}
