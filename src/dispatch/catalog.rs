//! The tools as dispatch holds them and as a client sees them. What a client is told derives from capabilities alone.

use std::sync::Arc;

use jsonschema::Validator;
use serde_json::{Map, Value};

use crate::permissions::{Requirement, Rule};
use crate::sessions::Session;
use crate::tool::{AnyTool, Capability, ErrorKind, Listed, ToolError, Traits};

use super::call::{Annotations, ToolInfo};
use super::names::Declared;
use super::{arguments, coerce, names, validate};

/// A tool and what is worked out about it once.
pub(super) struct Entry {
    /// The tool.
    pub tool: Arc<dyn AnyTool>,
    /// What its calls may do without asking.
    pub rule: Rule,
    schema: Value,
    /// `None` when the schema is no schema: then no call can be checked, and none runs.
    validator: Option<Validator>,
}

/// Arguments that fit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ready {
    /// The canonical arguments: an object.
    pub arguments: Value,
    /// What was mended in them.
    pub repairs: Vec<String>,
}

impl Entry {
    pub(super) fn new(tool: Arc<dyn AnyTool>, rule: Rule) -> Entry {
        let schema = tool.schema();
        let validator = jsonschema::validator_for(&schema).ok();
        Entry { tool, rule, schema, validator }
    }

    pub(super) fn traits(&self) -> Traits<'_> {
        self.tool.traits()
    }

    /// Whether its calls may run beside their neighbours. What is not known runs alone.
    pub(super) fn shared(&self) -> bool {
        self.traits().parallel && self.traits().read_only() && self.rule != Rule::Unknown
    }

    /// The pure stages between what a model wrote and what a tool takes: parse, coerce, validate.
    pub(super) fn ready(&self, given: Option<&Value>, truncated: bool) -> Result<Ready, ToolError> {
        let name = self.traits().name;
        let parsed = arguments::parse(name, given, truncated)?;
        let mut ready = self.fit(parsed.value)?;
        ready.repairs.splice(0..0, parsed.repairs);
        Ok(ready)
    }

    fn fit(&self, given: Map<String, Value>) -> Result<Ready, ToolError> {
        let name = self.traits().name;
        let Some(validator) = &self.validator else {
            return Err(ToolError::new(
                ErrorKind::Unavailable,
                format!("`{name}` cannot be used: the schema of its arguments is broken. Do not call it again."),
            ));
        };
        let coerced = coerce::coerce(&self.schema, self.traits().aliases, given).map_err(|why| {
            ToolError::new(ErrorKind::InvalidArguments, format!("The arguments of `{name}` do not fit: {why}."))
        })?;
        let arguments = Value::Object(coerced.value);
        let faults = validate::faults(&self.schema, validator, &arguments);
        if !faults.is_empty() {
            return Err(validate::refusal(name, &self.schema, &faults));
        }
        self.tool.validate(&arguments)?;
        Ok(Ready { arguments, repairs: coerced.repairs })
    }

    /// The tool as other tools see it.
    pub(super) fn listed(&self) -> Listed {
        let traits = self.traits();
        Listed {
            name: traits.name.to_owned(),
            title: traits.title.to_owned(),
            description: self.tool.description(),
            schema: self.schema.clone(),
            deferred: traits.deferred,
        }
    }

    pub(super) fn info(&self) -> ToolInfo {
        let traits = self.traits();
        let mut capabilities = traits.capabilities.to_vec();
        capabilities.sort_unstable();
        ToolInfo {
            name: traits.name.to_owned(),
            title: traits.title.to_owned(),
            description: self.tool.description(),
            input_schema: self.schema.clone(),
            annotations: annotations(&traits),
            approval: requirement(&traits).max(self.rule.requirement()),
            parallel: self.shared(),
            deferred: traits.deferred,
            capabilities,
        }
    }
}

/// All tools, sorted by name, which makes every list of them the same each time.
pub(super) struct Registry {
    entries: Vec<Arc<Entry>>,
}

impl Registry {
    /// Some tools, each with the rule for its calls.
    pub(super) fn new(tools: impl IntoIterator<Item = (Arc<dyn AnyTool>, Rule)>) -> Registry {
        let mut entries: Vec<Arc<Entry>> =
            tools.into_iter().map(|(tool, rule)| Arc::new(Entry::new(tool, rule))).collect();
        entries.sort_by(|a, b| a.traits().name.cmp(b.traits().name));
        Registry { entries }
    }

    /// The tools a session may call.
    pub(super) fn of(&self, session: &Session) -> Vec<Arc<Entry>> {
        let _ = session;
        self.entries.clone()
    }

    /// The tool that the model of a session means.
    pub(super) fn find(&self, session: &Session, asked: &str) -> Result<Arc<Entry>, ToolError> {
        let entries = self.of(session);
        let declared: Vec<Declared<'_>> = entries
            .iter()
            .map(|entry| {
                let traits = entry.traits();
                Declared { name: traits.name, others: traits.names }
            })
            .collect();
        let index = names::find(asked, &declared).map_err(|message| ToolError::new(ErrorKind::UnknownTool, message))?;
        entries
            .get(index)
            .cloned()
            .ok_or_else(|| ToolError::new(ErrorKind::UnknownTool, format!("There is no tool `{asked}`.")))
    }
}

fn has(traits: &Traits<'_>, capability: Capability) -> bool {
    traits.capabilities.contains(&capability)
}

/// Whether a person is asked about a tool's calls, from what it can do.
fn requirement(traits: &Traits<'_>) -> Requirement {
    if has(traits, Capability::ExecutesCode) {
        Requirement::Required
    } else if has(traits, Capability::WritesFiles) {
        Requirement::Suggest
    } else {
        Requirement::Auto
    }
}

fn annotations(traits: &Traits<'_>) -> Annotations {
    Annotations {
        read_only_hint: traits.read_only(),
        destructive_hint: !traits.read_only(),
        idempotent_hint: traits.read_only(),
        open_world_hint: has(traits, Capability::Network) || has(traits, Capability::ExecutesCode),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;

    fn built_in() -> Vec<Arc<Entry>> {
        let tools = tools::table().into_iter().map(|tool| {
            let rule = Rule::of(tool.traits().name);
            (tool, rule)
        });
        Registry::new(tools).of(&Session::new("s"))
    }

    #[test]
    fn every_tool_has_a_rule_that_agrees_with_its_capabilities() {
        for entry in built_in() {
            let traits = entry.traits();
            assert_ne!(entry.rule, Rule::Unknown, "{}", traits.name);
            assert_eq!(entry.rule.requirement(), requirement(&traits), "{}", traits.name);
        }
    }

    #[test]
    fn every_property_has_a_type_and_a_description() {
        fn check(path: &str, schema: &Value) {
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                let path = format!("{path}.{name}");
                let kind = &property["type"];
                let typed = kind.is_string() || kind.is_array() || property["oneOf"].is_array();
                assert!(typed, "{path} has no type: {property}");
                assert!(property["description"].is_string(), "{path} has no description");
                assert!(property.get("$ref").is_none(), "{path}");
                check(&path, property);
                check(&path, &property["items"]);
            }
        }
        for entry in built_in() {
            assert!(!entry.tool.description().is_empty());
            assert_eq!(entry.schema["type"], "object");
            assert_eq!(entry.schema["additionalProperties"], false);
            assert!(entry.validator.is_some());
            check(entry.traits().name, &entry.schema);
        }
    }

    #[test]
    fn the_list_is_sorted_and_the_same_each_time() {
        let list = || built_in().iter().map(|entry| entry.info()).collect::<Vec<_>>();
        let (once, twice) = (serde_json::to_string(&list()).unwrap(), serde_json::to_string(&list()).unwrap());
        assert_eq!(once, twice);
        assert!(list().is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn names_and_aliases_mean_one_thing() {
        let mut seen = std::collections::BTreeSet::new();
        for entry in built_in() {
            let traits = entry.traits();
            for name in std::iter::once(&traits.name).chain(traits.names) {
                assert!(seen.insert((*name).to_owned()), "{name} names two tools");
            }
            for (other, real) in traits.aliases {
                assert!(entry.schema["properties"][real].is_object(), "{}: {other} -> {real}", traits.name);
                assert!(entry.schema["properties"].get(other).is_none(), "{}: {other} is a parameter", traits.name);
            }
        }
    }
}
