//! What stands in the list for a tool that cannot be used: so that whoever misses it is told, and nothing of it runs.

use std::collections::BTreeSet;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use crate::dispatch::names::snake;
use crate::tool::sanitise::nothing;
use crate::tool::{Access, AnyTool, Capability, Context, ErrorKind, Outcome, Plan, ToolError, Traits};

use super::entry::MAX_NAME;

/// So many names are tried for one tool.
const TRIES: usize = 100;

/// A tool that only says why it is none.
pub(super) struct StandIn {
    name: String,
    title: String,
    why: String,
}

impl StandIn {
    /// One of this name.
    pub(super) fn new(name: String, title: &str, why: &str) -> StandIn {
        StandIn { name, title: title.to_owned(), why: why.to_owned() }
    }
}

/// A name like `raw` that every API takes and that no name in `taken` (in snake case) can be confused with.
pub(super) fn free_name(raw: &str, taken: &BTreeSet<String>) -> Option<String> {
    let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    let mut base: String = raw.chars().map(|c| if plain(c) { c } else { '_' }).take(MAX_NAME).collect();
    if !base.contains(|c: char| c.is_ascii_alphanumeric()) {
        "unavailable_tool".clone_into(&mut base);
    }
    let numbered = (2..TRIES).map(|number| {
        let suffix = format!("_{number}");
        let mut name = base.clone();
        name.truncate(MAX_NAME - suffix.len());
        name + &suffix
    });
    let alike = |name: &str| taken.contains(&likeness(name));
    std::iter::once(base.clone()).chain(numbered).find(|name| !alike(name))
}

/// What two names have in common of which one could be taken for the other.
pub(super) fn likeness(name: &str) -> String {
    snake(name).replace('_', "")
}

#[async_trait]
impl AnyTool for StandIn {
    fn traits(&self) -> Traits<'_> {
        Traits {
            name: &self.name,
            title: &self.title,
            // Nothing is known of it, so that it may be able to do anything.
            capabilities: &[
                Capability::ReadsFiles,
                Capability::WritesFiles,
                Capability::ExecutesCode,
                Capability::Network,
            ],
            parallel: false,
            deferred: false,
            free_form: None,
            deadline: Duration::from_secs(1),
            aliases: &[],
            names: &[],
        }
    }

    fn description(&self) -> String {
        format!("Not available: {}. Do not call it.", self.why)
    }

    fn schema(&self) -> Value {
        nothing()
    }

    fn access(&self, _: &Value) -> Access {
        Access::default()
    }

    fn validate(&self, _: &Value) -> Result<(), ToolError> {
        Ok(())
    }

    async fn plan(&self, _: &Value, _: &Context) -> Result<Plan, ToolError> {
        Ok(Plan::Run)
    }

    async fn run(&self, _: Value, _: &Context) -> Result<Outcome, ToolError> {
        Err(ToolError::new(ErrorKind::Unavailable, self.description()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_nothing_else_has() {
        let taken: BTreeSet<String> = ["read", "readfile", "issues"].map(str::to_owned).into();
        for (raw, name) in [
            ("my tool!", Some("my_tool_")),
            ("read", Some("read_2")),
            ("Read File", Some("Read_File_2")),
            ("r.e.a.d", Some("r_e_a_d_2")),
            ("issues\u{202e}", Some("issues__2")),
            ("", Some("unavailable_tool")),
            ("読む", Some("unavailable_tool")),
            ("_", Some("unavailable_tool")),
        ] {
            assert_eq!(free_name(raw, &taken).as_deref(), name, "{raw}");
        }
        let long = free_name(&"x".repeat(500), &BTreeSet::from(["x".repeat(64)])).unwrap();
        assert_eq!((long.len(), &long[60..]), (64, "xx_2"));
        let all: BTreeSet<String> =
            std::iter::once("read".to_owned()).chain((2..TRIES).map(|number| format!("read{number}"))).collect();
        assert_eq!(free_name("read", &all), None);
    }
}
