//! Arguments against the schema, each fault told with its place, what came, what was expected and a right example. Pure.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

use crate::tool::{ErrorKind, ToolError};

use super::names::{distance, quoted, snake};

/// So many faults are told one by one.
const TOLD_FAULTS: usize = 10;

/// So many are put into words at all.
const KEPT_FAULTS: usize = 100;

/// A value that came is shown up to so many characters.
const SHOWN_CHARS: usize = 80;

/// One thing that does not fit.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub(super) struct Fault {
    /// Where: names and indices joined by dots; empty for the whole.
    pub path: String,
    /// What is wrong, in words.
    pub message: String,
    /// A value that would fit there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<Value>,
}

/// What does not fit.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Faults {
    /// The first ones, in the order of the validator.
    pub told: Vec<Fault>,
    /// How many there are besides.
    pub more: usize,
}

impl Faults {
    /// Whether everything fits.
    pub(super) fn is_empty(&self) -> bool {
        self.told.is_empty() && self.more == 0
    }
}

/// The faults of arguments; none when they fit.
pub(super) fn faults(schema: &Value, validator: &Validator, arguments: &Value) -> Faults {
    let mut faults = Faults::default();
    if validator.is_valid(arguments) {
        return faults;
    }
    for error in validator.iter_errors(arguments) {
        // Words take their time, and nobody reads thousands.
        if faults.told.len() >= KEPT_FAULTS {
            faults.more += 1;
            continue;
        }
        faults.told.extend(told(schema, &error));
        faults.more += faults.told.len().saturating_sub(KEPT_FAULTS);
        faults.told.truncate(KEPT_FAULTS);
    }
    faults
}

/// The faults as one error for the model.
pub(super) fn refusal(tool: &str, schema: &Value, faults: &Faults) -> ToolError {
    let mut message = format!("The arguments of `{tool}` do not fit:");
    for fault in faults.told.iter().take(TOLD_FAULTS) {
        message.push_str("\n- ");
        message.push_str(&fault.message);
        if let Some(example) = &fault.example {
            message.push_str("; for example ");
            message.push_str(&example.to_string());
        }
    }
    let more = faults.told.len().saturating_sub(TOLD_FAULTS) + faults.more;
    if more > 0 {
        let _ = write!(message, "\n- and {more} more");
    }
    if let Some(right) = right(schema) {
        let _ = write!(message, "\nA call that fits: {right}");
    }
    let mut error = ToolError::new(ErrorKind::InvalidArguments, message);
    error.data = Some(json!({ "faults": faults.told }));
    error
}

/// Arguments that fit a schema; `None` where none can be made up (a pattern, say, without an example of its own).
pub(super) fn right(schema: &Value) -> Option<Value> {
    fitting(schema, schema)
}

/// A value that fits a part of a schema.
fn fitting(root: &Value, schema: &Value) -> Option<Value> {
    let example = example(root, schema, 0);
    let mut whole = schema.clone();
    if let Value::Object(fields) = &mut whole {
        for key in ["$defs", "definitions"] {
            if let Some(definitions) = root.get(key) {
                fields.entry(key).or_insert_with(|| definitions.clone());
            }
        }
    }
    let fits = jsonschema::validator_for(&whole).is_ok_and(|validator| validator.is_valid(&example));
    fits.then_some(example)
}

/// The names and indices of a JSON pointer, joined by dots.
fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".").replace("~1", "/").replace("~0", "~")
}

/// Of the branches of a union that all fail, the faults of the one that the value was meant for: of its own kind, and
/// wrong in the fewest places. `None` when no branch stands out.
fn nearest_branch<'a, 'b>(at: &str, branches: &'a [Vec<ValidationError<'b>>]) -> Option<&'a Vec<ValidationError<'b>>> {
    let of_its_kind = |errors: &&Vec<ValidationError<'_>>| {
        !errors.iter().any(|error| {
            error.instance_path().as_str() == at
                && matches!(
                    error.kind(),
                    ValidationErrorKind::Type { .. }
                        | ValidationErrorKind::Enum { .. }
                        | ValidationErrorKind::Constant { .. }
                )
        })
    };
    let fitting: Vec<_> = branches.iter().filter(of_its_kind).collect();
    let least = fitting.iter().map(|errors| errors.len()).min()?;
    let mut nearest = fitting.into_iter().filter(|errors| errors.len() == least);
    let (first, second) = (nearest.next(), nearest.next());
    if second.is_some() { None } else { first }
}

fn told(root: &Value, error: &ValidationError<'_>) -> Vec<Fault> {
    if let ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } = error.kind()
        && let Some(errors) = nearest_branch(error.instance_path().as_str(), context)
    {
        return errors.iter().flat_map(|error| told(root, error)).collect();
    }
    let path = dotted(error.instance_path().as_str());
    let place = if path.is_empty() { "the arguments".to_owned() } else { format!("`{path}`") };
    let schema_path = error.schema_path().as_str();
    let schema = schema_path.rsplit_once('/').and_then(|(parent, _)| root.pointer(parent)).unwrap_or(root);
    let within = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let declared = &schema["properties"][name];
            vec![Fault {
                message: format!("`{}` is missing: {}", within(name), expected(declared)),
                path: within(name),
                example: fitting(root, declared),
            }]
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => unexpected
            .iter()
            .map(|name| Fault { message: unknown(&within(name), name, schema), path: within(name), example: None })
            .collect(),
        ValidationErrorKind::OneOfMultipleValid { .. } => vec![Fault {
            message: format!(
                "{place}: fits more than one of {}, and only one is meant; got {}",
                expected(schema),
                came(error.instance())
            ),
            path,
            example: fitting(root, schema),
        }],
        _ => vec![Fault {
            message: format!("{place}: expected {}, got {}", expected(schema), came(error.instance())),
            path,
            example: fitting(root, schema),
        }],
    }
}

fn unknown(place: &str, name: &str, schema: &Value) -> String {
    let empty = Map::new();
    let declared: Vec<&str> = schema["properties"].as_object().unwrap_or(&empty).keys().map(String::as_str).collect();
    let wanted = snake(name);
    let near = declared
        .iter()
        .map(|declared| (distance(&wanted, declared), *declared))
        .filter(|(distance, declared)| *distance <= 3 && *distance < declared.chars().count())
        .min();
    let hint = match near {
        Some((_, near)) => format!("did you mean `{near}`?"),
        None if declared.is_empty() => "there are no parameters".to_owned(),
        None => format!("expected one of {}", quoted(&declared)),
    };
    format!("`{place}` is not a parameter: {hint}")
}

/// What a schema wants, in words.
fn expected(schema: &Value) -> String {
    if let Some(constant) = schema.get("const") {
        return constant.to_string();
    }
    if let Some(options) = schema["enum"].as_array() {
        let options: Vec<String> = options.iter().map(Value::to_string).collect();
        return format!("one of {}", options.join(", "));
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(branches) = schema[key].as_array() {
            let mut branches: Vec<String> = branches.iter().map(expected).collect();
            branches.dedup();
            return branches.join(" or ");
        }
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let kinds: Vec<String> = kinds.iter().map(|kind| with_article(kind)).collect();
    let mut out = if kinds.is_empty() { "another value".to_owned() } else { kinds.join(" or ") };
    if schema["type"] == "array" && schema["items"].is_object() {
        let _ = write!(out, " of which each is {}", expected(&schema["items"]));
    }
    for (key, words) in [
        ("minimum", "of at least"),
        ("maximum", "of at most"),
        ("exclusiveMinimum", "greater than"),
        ("exclusiveMaximum", "less than"),
        ("multipleOf", "that is a multiple of"),
        ("minLength", "with a length of at least"),
        ("maxLength", "with a length of at most"),
        ("minItems", "with a count of at least"),
        ("maxItems", "with a count of at most"),
        ("pattern", "that matches"),
        ("format", "in the format"),
    ] {
        if let Some(limit) = schema.get(key) {
            let _ = write!(out, " {words} {limit}");
        }
    }
    out
}

fn with_article(kind: &str) -> String {
    match kind {
        "null" => "null".to_owned(),
        "integer" | "array" | "object" => format!("an {kind}"),
        other => format!("a {other}"),
    }
}

/// What came, bounded, with its type.
fn came(value: &Value) -> String {
    let kind = match value {
        Value::Null => return "null".to_owned(),
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    let text = value.to_string();
    let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown} ({kind})")
}

/// A value that fits a schema: its own example or default, else the plainest of its type.
fn example(root: &Value, schema: &Value, depth: usize) -> Value {
    if let Some(first) = schema["examples"].as_array().and_then(|examples| examples.first()) {
        return first.clone();
    }
    for key in ["default", "const"] {
        if let Some(value) = schema.get(key).filter(|value| !value.is_null()) {
            return value.clone();
        }
    }
    if let Some(first) = schema["enum"].as_array().and_then(|options| options.first()) {
        return first.clone();
    }
    if depth > 8 {
        return Value::Null;
    }
    if let Some(target) = schema["$ref"].as_str().and_then(|path| root.pointer(path.strip_prefix('#')?)) {
        return example(root, target, depth + 1);
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        if let Some(first) = schema[key].as_array().and_then(|branches| branches.first()) {
            return example(root, first, depth + 1);
        }
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.first().and_then(Value::as_str),
        kind => kind.as_str(),
    };
    match kind {
        Some("integer" | "number") => number(schema),
        Some("boolean") => json!(true),
        Some("array") => {
            let count = schema["minItems"].as_u64().unwrap_or(1).clamp(1, 8);
            (0..count).map(|_| example(root, &schema["items"], depth + 1)).collect()
        }
        Some("object") => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            required
                .map(|name| (name.to_owned(), example(root, &schema["properties"][name], depth + 1)))
                .collect::<Map<String, Value>>()
                .into()
        }
        _ => json!("..."),
    }
}

/// The plainest number within the limits of a schema.
fn number(schema: &Value) -> Value {
    let limit = |key: &str| schema[key].as_i64();
    let step = limit("multipleOf").filter(|step| *step > 0).unwrap_or(1);
    let low = limit("minimum").or_else(|| limit("exclusiveMinimum").map(|low| low.saturating_add(1)));
    let high = limit("maximum").or_else(|| limit("exclusiveMaximum").map(|high| high.saturating_sub(1)));
    let plain = match (low, high) {
        (Some(low), _) if low > 1 => low,
        (Some(low), Some(high)) if high < 1 => low.max(high),
        (None, Some(high)) if high < 1 => high,
        _ => 1,
    };
    let below = plain.div_euclid(step).saturating_mul(step);
    let above = below.saturating_add(step);
    json!(if below < plain && high.is_none_or(|high| above <= high) { above } else { below })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn each_fault_is_told() {
        let schema = json!({
            "type": "object",
            "properties": {
                "file_path": { "type": "string", "examples": ["src/main.rs"] },
                "limit": { "type": "integer", "minimum": 1, "default": 2000 },
                "how": { "type": "string", "enum": ["fast", "slow"] },
                "edits": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": { "old": { "type": "string" } },
                        "required": ["old"],
                        "additionalProperties": false,
                    },
                },
            },
            "required": ["file_path"],
            "additionalProperties": false,
        });
        let validator = jsonschema::validator_for(&schema).unwrap();
        let mut told = String::new();
        for arguments in [
            json!({}),
            json!({"file_path": ["a"], "limit": 0}),
            json!({"file_path": "a", "limit": "x", "how": "medium"}),
            json!({"file_path": "a", "edits": [{"old": 1}, {"odl": "x"}]}),
            json!({"file_path": "a", "file_paht": "b", "colour": "red"}),
        ] {
            let faults = faults(&schema, &validator, &arguments);
            told += &refusal("edit", &schema, &faults).message;
            told += "\n\n";
        }
        expect![[r#"
            The arguments of `edit` do not fit:
            - `file_path` is missing: a string; for example "src/main.rs"
            A call that fits: {"file_path":"src/main.rs"}

            The arguments of `edit` do not fit:
            - `file_path`: expected a string, got ["a"] (an array); for example "src/main.rs"
            - `limit`: expected an integer of at least 1, got 0 (a number); for example 2000
            A call that fits: {"file_path":"src/main.rs"}

            The arguments of `edit` do not fit:
            - `limit`: expected an integer of at least 1, got "x" (a string); for example 2000
            - `how`: expected one of "fast", "slow", got "medium" (a string); for example "fast"
            A call that fits: {"file_path":"src/main.rs"}

            The arguments of `edit` do not fit:
            - `edits.0.old`: expected a string, got 1 (a number); for example "..."
            - `edits.1.odl` is not a parameter: did you mean `old`?
            - `edits.1.old` is missing: a string; for example "..."
            A call that fits: {"file_path":"src/main.rs"}

            The arguments of `edit` do not fit:
            - `file_paht` is not a parameter: did you mean `file_path`?
            - `colour` is not a parameter: expected one of `file_path`, `limit`, `how` or `edits`
            A call that fits: {"file_path":"src/main.rs"}

        "#]]
        .assert_eq(&told);
        assert_eq!(faults(&schema, &validator, &json!({"file_path": "a", "limit": 3})), Faults::default());
        let many = faults(&schema, &validator, &json!({"file_path": "a", "edits": vec![json!({"old": 1}); 1000]}));
        assert_eq!((many.told.len(), many.more), (KEPT_FAULTS, 900));
        assert!(refusal("edit", &schema, &many).message.contains("- and 990 more"));
    }

    #[test]
    fn faults_in_unions_patterns_and_lists_name_their_place() {
        let schema = json!({
            "type": "object",
            "properties": {
                "at": {
                    "oneOf": [
                        { "type": "object", "properties": { "line": { "type": "integer", "minimum": 1 } }, "required": ["line"] },
                        { "type": "string" },
                    ],
                },
                "code": { "type": "string", "pattern": "^[A-Z]{3}$" },
                "tags": { "type": "array", "minItems": 2, "items": { "type": "string", "enum": ["x", "y"] } },
                "size": { "anyOf": [{ "type": "integer" }, { "type": "boolean" }] },
                "a/b": { "type": "object", "properties": { "c": { "type": "array", "items": { "type": "integer" } } } },
                "n": { "oneOf": [{ "type": "integer" }, { "type": "number", "minimum": 5 }] },
            },
        });
        let validator = jsonschema::validator_for(&schema).unwrap();
        let mut told = String::new();
        for arguments in [
            json!({"at": {"line": 0}}),
            json!({"at": {}}),
            json!({"at": 7}),
            json!({"code": "ab"}),
            json!({"tags": ["x"]}),
            json!({"tags": ["x", "z"]}),
            json!({"size": "big"}),
            json!({"a/b": {"c": [1, "two"]}}),
            json!({"n": 7}),
        ] {
            for fault in faults(&schema, &validator, &arguments).told {
                let _ = writeln!(
                    told,
                    "{} | {} | {:?}",
                    fault.path,
                    fault.message,
                    fault.example.map(|example| example.to_string())
                );
            }
        }
        expect![[r#"
            at.line | `at.line`: expected an integer of at least 1, got 0 (a number) | Some("1")
            at.line | `at.line` is missing: an integer of at least 1 | Some("1")
            at | `at`: expected an object or a string, got 7 (a number) | Some("{\"line\":1}")
            code | `code`: expected a string that matches "^[A-Z]{3}$", got "ab" (a string) | None
            tags | `tags`: expected an array of which each is one of "x", "y" with a count of at least 2, got ["x"] (an array) | Some("[\"x\",\"x\"]")
            tags.1 | `tags.1`: expected one of "x", "y", got "z" (a string) | Some("\"x\"")
            size | `size`: expected an integer or a boolean, got "big" (a string) | Some("1")
            a/b.c.1 | `a/b.c.1`: expected an integer, got "two" (a string) | Some("1")
            n | `n`: fits more than one of an integer or a number of at least 5, and only one is meant; got 7 (a number) | Some("1")
        "#]].assert_eq(&told);
    }

    #[test]
    fn an_example_fits_its_schema() {
        for schema in [
            json!({"type": "object", "properties": {"a": {"type": "integer", "minimum": 5}}, "required": ["a"]}),
            json!({"type": "array", "items": {"enum": ["x"]}}),
            json!({"anyOf": [{"type": "boolean"}, {"type": "string"}]}),
            json!({"type": ["number", "string"]}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"const": 4}}}),
            json!({"type": "integer", "maximum": -3}),
            json!({"type": "integer", "exclusiveMinimum": 0, "multipleOf": 5}),
            json!({"type": "array", "items": {"type": "string"}, "minItems": 3}),
        ] {
            let example = example(&schema, &schema, 0);
            assert!(jsonschema::is_valid(&schema, &example), "{schema}: {example}");
        }
    }
}
