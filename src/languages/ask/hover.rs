//! `Hover`: its contents in all their forms. Pure.

use serde_json::Value;

/// The texts of a hover: a `MarkupContent`, a `MarkedString` (a string, or code with its language), or several of those.
pub(super) fn texts(answer: &Value) -> Vec<String> {
    let contents = answer.get("contents").unwrap_or(&Value::Null);
    let texts = match contents {
        Value::Array(several) => several.iter().filter_map(text).collect(),
        one => text(one).into_iter().collect::<Vec<_>>(),
    };
    texts.into_iter().filter(|text| !text.trim().is_empty()).collect()
}

fn text(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Object(fields) => {
            let value = fields.get("value")?.as_str()?.trim();
            match fields.get("language").and_then(Value::as_str) {
                Some(language) if !value.is_empty() => Some(format!("```{language}\n{value}\n```")),
                _ => Some(value.to_owned()),
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_form() {
        fn check(answer: &Value, expected: &[&str]) {
            assert_eq!(texts(answer), expected, "{answer}");
        }
        check(&json!({ "contents": { "kind": "markdown", "value": "**a**\n" } }), &["**a**"]);
        check(&json!({ "contents": "a" }), &["a"]);
        check(&json!({ "contents": { "language": "rust", "value": "fn a()" } }), &["```rust\nfn a()\n```"]);
        check(&json!({ "contents": ["a", { "language": "c", "value": "int" }, ""] }), &["a", "```c\nint\n```"]);
        check(&json!({ "contents": [] }), &[]);
        check(&json!({ "contents": { "kind": "plaintext", "value": "" } }), &[]);
        check(&Value::Null, &[]);
        check(&json!({ "contents": 7 }), &[]);
        check(&json!([]), &[]);
    }
}
