//! One tool as dispatch holds it, with what is worked out about it once. What a client is told derives from its data.

use std::sync::{Arc, OnceLock};

use jsonschema::Validator;
use serde_json::{Map, Value};

use crate::dispatch::call::{Annotations, ToolInfo};
use crate::dispatch::{arguments, coerce, unread, validate};
use crate::permissions::{Requirement, Rule};
use crate::tool::sanitise::{self, Unfit};
use crate::tool::{AnyTool, Capability, ErrorKind, Listed, ToolError, Traits};

use super::stand_in::StandIn;

/// A tool and what is worked out about it once.
pub(in crate::dispatch) struct Entry {
    /// The tool.
    pub tool: Arc<dyn AnyTool>,
    /// What its calls may do without asking.
    pub rule: Rule,
    /// As it is handed out.
    schema: OnceLock<Value>,
    /// Of what is handed out.
    validator: OnceLock<Result<Validator, Unfit>>,
    /// What the tool itself declares, where that says more than what is handed out.
    exact: Option<(Value, Validator)>,
    /// Why none of its calls runs.
    unavailable: Option<String>,
}

/// Arguments that fit.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::dispatch) struct Ready {
    /// The canonical arguments: an object.
    pub arguments: Value,
    /// What was mended in them.
    pub repairs: Vec<String>,
    /// Whether mending invented structure. Only tools that change nothing get such arguments.
    pub synthesized: bool,
}

impl Entry {
    /// A tool that can be used. The error says why it cannot.
    pub(in crate::dispatch) fn new(tool: Arc<dyn AnyTool>, rule: Rule) -> Result<Entry, Unfit> {
        let name = tool.traits().name;
        if !proper(name) {
            let shown = crate::permissions::visible(&name.chars().take(80).collect::<String>());
            return Err(Unfit(format!("its name {shown:?} is not 1 to {MAX_NAME} of a-z, A-Z, 0-9, _ and -")));
        }
        let declared = tool.schema();
        let made = sanitise::sanitise(&declared).map_err(|Unfit(why)| Unfit(format!("its schema {why}")))?;
        let (validator, _) =
            sanitise::compiled(&made.schema).map_err(|Unfit(why)| Unfit(format!("its schema {why}")))?;
        let exact = if made.whole { None } else { sanitise::compiled(&declared).ok() };
        let exact = exact.map(|(validator, _)| (declared, validator));
        let (schema, validator) = (OnceLock::from(made.schema), OnceLock::from(Ok(validator)));
        Ok(Entry { tool, rule, schema, validator, exact, unavailable: None })
    }

    /// A built-in tool, whose schema a test holds to be as it is handed out. So nothing needs to be worked out before
    /// somebody asks for it, and the start is not made to wait for what a session may never use.
    pub(super) fn built_in(tool: Arc<dyn AnyTool>, rule: Rule) -> Entry {
        let (schema, validator) = (OnceLock::new(), OnceLock::new());
        Entry { tool, rule, schema, validator, exact: None, unavailable: None }
    }

    /// What stands in for a tool that cannot be used. `None` only if its own plain schema were broken.
    pub(super) fn stand_in(stand_in: StandIn, why: String) -> Option<Entry> {
        let mut entry = Entry::new(Arc::new(stand_in), Rule::Unknown).ok()?;
        entry.unavailable = Some(why);
        Some(entry)
    }

    pub(in crate::dispatch) fn traits(&self) -> Traits<'_> {
        self.tool.traits()
    }

    /// The tool's own name and its others.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        let traits = self.tool.traits();
        std::iter::once(traits.name).chain(traits.names.iter().copied())
    }

    /// The schema as it is handed out.
    pub(in crate::dispatch) fn schema(&self) -> &Value {
        self.schema.get_or_init(|| self.tool.schema())
    }

    /// Whether the tool itself declares no more than what is handed out.
    #[cfg(test)]
    pub(super) fn is_whole(&self) -> bool {
        self.exact.is_none()
    }

    fn validator(&self) -> Result<&Validator, ToolError> {
        let compiled = || sanitise::compiled(self.schema()).map(|(validator, _)| validator);
        let validator = self.validator.get_or_init(compiled).as_ref();
        validator.map_err(|Unfit(why)| self.unusable(&format!("its schema {why}")))
    }

    fn unusable(&self, why: &str) -> ToolError {
        let name = self.traits().name;
        let words = format!("`{name}` cannot be used: {why}. Do not call it again; go on without it.");
        ToolError::new(ErrorKind::Unavailable, words)
    }

    /// Whether it is neither listed nor suggested.
    pub(super) fn hidden(&self) -> bool {
        self.tool.hidden()
    }

    /// Why none of its calls runs.
    pub(super) fn unavailable(&self) -> Option<&str> {
        self.unavailable.as_deref()
    }

    /// Whether its calls may run beside their neighbours. What is not known runs alone.
    pub(in crate::dispatch) fn shared(&self) -> bool {
        self.traits().parallel && self.traits().read_only() && self.rule != Rule::Unknown
    }

    /// The pure stages between what a model wrote and what a tool takes: parse, coerce, validate.
    pub(in crate::dispatch) fn ready(&self, given: Option<&Value>) -> Result<Ready, ToolError> {
        let Traits { name, free_form, .. } = self.traits();
        if let Some(why) = &self.unavailable {
            return Err(self.unusable(why));
        }
        let parsed = arguments::parse(name, free_form, given).map_err(|error| unread::helped(error, self.schema()))?;
        if let Some(invented) = parsed.invented.as_ref().filter(|_| !self.shared()) {
            return Err(unread::helped(unread::invented(name, invented), self.schema()));
        }
        let mut ready = self.fit(parsed.value)?;
        ready.repairs.splice(0..0, parsed.repairs);
        ready.synthesized = parsed.invented.is_some();
        Ok(ready)
    }

    fn fit(&self, given: Map<String, Value>) -> Result<Ready, ToolError> {
        let name = self.traits().name;
        let (schema, validator) = (self.schema(), self.validator()?);
        let coerced = coerce::coerce(schema, validator, self.traits().aliases, given).map_err(|why| {
            ToolError::new(ErrorKind::InvalidArguments, format!("The arguments of `{name}` do not fit: {why}."))
        })?;
        let arguments = Value::Object(coerced.value);
        let exact = self.exact.as_ref().map(|(schema, validator)| (schema, validator));
        for (schema, validator) in std::iter::once((schema, validator)).chain(exact) {
            let faults = validate::faults(schema, validator, &arguments);
            if !faults.is_empty() {
                return Err(validate::refusal(name, schema, &faults));
            }
        }
        self.tool.validate(&arguments)?;
        Ok(Ready { arguments, repairs: coerced.repairs, synthesized: false })
    }

    /// The tool as other tools see it.
    pub(in crate::dispatch) fn listed(&self, deferred: bool) -> Listed {
        let traits = self.traits();
        Listed {
            name: traits.name.to_owned(),
            title: traits.title.to_owned(),
            description: self.tool.description(),
            schema: self.schema().clone(),
            deferred,
        }
    }

    pub(in crate::dispatch) fn info(&self) -> ToolInfo {
        let traits = self.traits();
        let mut capabilities = traits.capabilities.to_vec();
        capabilities.sort_unstable();
        capabilities.dedup();
        ToolInfo {
            name: traits.name.to_owned(),
            title: traits.title.to_owned(),
            description: self.tool.description(),
            input_schema: self.schema().clone(),
            output_schema: self.tool.output_schema(),
            annotations: annotations(&traits),
            approval: requirement(&traits).max(self.rule.requirement()),
            parallel: self.shared(),
            deferred: traits.deferred,
            capabilities,
            unavailable: self.unavailable.clone(),
        }
    }
}

/// Names are at most so long (characters).
pub(super) const MAX_NAME: usize = 64;

/// Whether every API takes a name.
pub(super) fn proper(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn has(traits: &Traits<'_>, capability: Capability) -> bool {
    traits.capabilities.contains(&capability)
}

/// Whether a person is asked about a tool's calls, from what it can do.
pub(super) fn requirement(traits: &Traits<'_>) -> Requirement {
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
