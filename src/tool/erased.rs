//! From a typed [`Tool`] to an [`AnyTool`]: the arguments become JSON, the argument type becomes a schema.

use async_trait::async_trait;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::config::Settings;
use crate::editor::Abilities;
use crate::permissions::Trust;
use crate::workspace::Workspace;

use super::{Access, AnyTool, Context, ErrorKind, Outcome, Plan, Tool, ToolError, Traits};

/// A typed tool behind the erased trait. Its schema and its description are made once, when somebody asks for one.
pub struct Erased<T: Tool> {
    tool: T,
    declared: OnceLock<(Value, String)>,
}

/// A typed tool for the table.
pub fn erase<T: Tool>(tool: T) -> Arc<dyn AnyTool> {
    Arc::new(Erased::new(tool))
}

impl<T: Tool> Erased<T> {
    /// Wraps a tool.
    pub fn new(tool: T) -> Erased<T> {
        Erased { tool, declared: OnceLock::new() }
    }

    /// The schema, and the description.
    fn declared(&self) -> &(Value, String) {
        self.declared.get_or_init(|| {
            let settings = SchemaSettings::draft2020_12().with(|settings| {
                settings.inline_subschemas = true;
                settings.meta_schema = None;
            });
            plain_schema(settings.into_generator().into_root_schema_for::<T::Arguments>())
        })
    }

    fn arguments(&self, arguments: &Value) -> Result<T::Arguments, ToolError> {
        typed(arguments).map_err(|error| {
            ToolError::new(
                ErrorKind::InvalidArguments,
                format!("The arguments of `{}` do not fit: {error}. Its schema: {}", T::TRAITS.name, self.declared().0),
            )
        })
    }
}

/// Arguments as their type. `30.0` is an integer to JSON Schema and not to serde, so that what does not fit is tried
/// again with such numbers as integers.
fn typed<A: DeserializeOwned>(arguments: &Value) -> Result<A, serde_json::Error> {
    serde_json::from_value(arguments.clone())
        .or_else(|error| serde_json::from_value(integral(arguments)).map_err(|_| error))
}

/// The same value with every whole float that a float holds exactly as an integer.
fn integral(value: &Value) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < EXACT => {
                #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
                let whole = float as i64;
                Value::Number(Number::from(whole))
            }
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(integral).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), integral(value))).collect(),
        other => other.clone(),
    }
}

/// A generated schema as models are given it, and the description that was at its root: no titles, no number formats,
/// and optional parameters by not being required instead of by a union with null.
pub fn plain_schema(schema: Schema) -> (Value, String) {
    let mut value = plain(schema.to_value());
    let mut description = String::new();
    if let Value::Object(root) = &mut value {
        root.shift_remove("title");
        if let Some(Value::String(text)) = root.shift_remove("description") {
            description = text;
        }
        root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        root.entry("additionalProperties").or_insert(Value::Bool(false));
    }
    (value, description)
}

/// One schema, its subschemas included; data in it (defaults, examples, enumerations) is left alone.
fn plain(schema: Value) -> Value {
    let Value::Object(fields) = schema else { return schema };
    let nullable =
        fields.get("type").and_then(Value::as_array).is_some_and(|kinds| kinds.iter().any(|kind| kind == "null"));
    let mut out = Map::new();
    for (key, value) in fields {
        match key.as_str() {
            "format" => {}
            "default" if value.is_null() => {}
            "type" => {
                out.insert(key, without_null_type(value));
            }
            "enum" if nullable => {
                let Value::Array(options) = value else { continue };
                out.insert(key, options.into_iter().filter(|option| !option.is_null()).collect());
            }
            "properties" | "patternProperties" | "$defs" => {
                let Value::Object(members) = value else { continue };
                let members = members.into_iter().map(|(name, member)| (name, plain(member))).collect();
                out.insert(key, Value::Object(members));
            }
            "items" | "additionalProperties" | "not" => {
                out.insert(key, plain(value));
            }
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
                let Value::Array(members) = value else { continue };
                let mut members: Vec<Value> =
                    members.into_iter().filter(|member| member["type"] != "null").map(plain).collect();
                match (members.len(), members.pop()) {
                    // What is left of a union with null is the schema itself; what stands beside it wins.
                    (1, Some(Value::Object(only))) if key != "prefixItems" => {
                        for (name, member) in only {
                            out.entry(name).or_insert(member);
                        }
                    }
                    (_, Some(last)) => {
                        members.push(last);
                        out.insert(key, Value::Array(members));
                    }
                    (_, None) => {}
                }
            }
            _ => {
                out.insert(key, value);
            }
        }
    }
    Value::Object(out)
}

fn without_null_type(value: Value) -> Value {
    match value {
        Value::Array(kinds) => {
            let mut kinds: Vec<Value> = kinds.into_iter().filter(|kind| kind != "null").collect();
            if kinds.len() == 1 { kinds.remove(0) } else { Value::Array(kinds) }
        }
        other => other,
    }
}

#[async_trait]
impl<T: Tool> AnyTool for Erased<T> {
    fn traits(&self) -> Traits<'_> {
        T::TRAITS
    }

    fn winds_down(&self) -> Duration {
        T::WINDS_DOWN
    }

    fn hidden(&self) -> bool {
        T::HIDDEN
    }

    fn description(&self) -> String {
        format!("{}{}", self.declared().1, self.tool.adds())
    }

    fn look_again(&self, workspace: &Workspace, trust: &Trust) -> bool {
        self.tool.look_again(workspace, trust)
    }

    fn looks_at(&self, name: &str) -> bool {
        self.tool.looks_at(name)
    }

    fn schema(&self) -> Value {
        self.declared().0.clone()
    }

    fn access(&self, arguments: &Value) -> Access {
        typed(arguments).map(|arguments| self.tool.access(&arguments)).unwrap_or_default()
    }

    fn access_in(&self, arguments: &Value, settings: &Settings) -> Access {
        typed(arguments).map(|arguments| self.tool.access_in(&arguments, settings)).unwrap_or_default()
    }

    fn lacks(&self, settings: &Settings, editor: &Abilities) -> Option<&'static str> {
        self.tool.lacks(settings, editor)
    }

    fn validate(&self, arguments: &Value) -> Result<(), ToolError> {
        self.tool.validate(&self.arguments(arguments)?)
    }

    async fn plan(&self, arguments: &Value, context: &Context) -> Result<Plan, ToolError> {
        self.tool.plan(&self.arguments(arguments)?, context).await
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Outcome, ToolError> {
        self.tool.run(self.arguments(&arguments)?, context).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    /// Does a thing.
    ///
    /// In two paragraphs.
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Example {
        /// How many.
        count: u32,
        /// At most.
        limit: Option<u32>,
        /// How.
        how: Option<How>,
        /// Names.
        #[serde(default)]
        names: Vec<String>,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum How {
        Fast,
        Slow,
    }

    #[test]
    fn a_schema_is_plain() {
        let generator = SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        let (schema, description) = plain_schema(generator.into_generator().into_root_schema_for::<Example>());
        expect![[r#"
            Does a thing.

            In two paragraphs.
            {
              "type": "object",
              "properties": {
                "count": {
                  "type": "integer",
                  "minimum": 0,
                  "description": "How many."
                },
                "limit": {
                  "type": "integer",
                  "minimum": 0,
                  "description": "At most."
                },
                "how": {
                  "type": "string",
                  "enum": [
                    "fast",
                    "slow"
                  ],
                  "description": "How."
                },
                "names": {
                  "type": "array",
                  "items": {
                    "type": "string"
                  },
                  "description": "Names.",
                  "default": []
                }
              },
              "required": [
                "count"
              ],
              "additionalProperties": false
            }"#]]
        .assert_eq(&format!("{description}\n{schema:#}"));
    }

    #[test]
    fn whole_floats_are_integers() {
        for (arguments, count) in [(json!({"count": 3}), Some(3)), (json!({"count": 3.0}), Some(3))] {
            assert_eq!(typed::<Example>(&arguments).ok().map(|example| example.count), count, "{arguments}");
        }
        for arguments in [json!({"count": 3.5}), json!({"count": -1.0}), json!({"count": 1e300}), json!({})] {
            assert!(typed::<Example>(&arguments).is_err(), "{arguments}");
        }
    }
}
