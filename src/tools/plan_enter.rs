//! `plan_enter`: from the next round on nothing is changed or run in this session, until the person agrees to a plan.

use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::config::Mode;
use crate::sessions::policy::Switch;
use crate::tool::{Access, Content, Context, Outcome, Tool, ToolError, Traits};

/// Switches this session to plan mode: from the next round on nothing is changed or run, only looked at. Use it where the
/// way is not clear yet, or the person should see a plan before work begins. When the plan is done, give it to the person
/// with `plan_exit`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Why, in a few words for the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The tool.
pub struct PlanEnter;

#[async_trait]
impl Tool for PlanEnter {
    type Arguments = Arguments;

    const TRAITS: Traits<'static> = Traits {
        name: "plan_enter",
        title: "Enter plan mode",
        capabilities: &[],
        parallel: false,
        deferred: false,
        free_form: None,
        deadline: Duration::from_secs(10),
        aliases: &[],
        names: &["enter_plan_mode"],
    };

    fn access(&self, _: &Arguments) -> Access {
        Access::default()
    }

    async fn run(&self, arguments: Arguments, context: &Context) -> Result<Outcome, ToolError> {
        let text = if context.session.mode(&context.workspace.settings()) == Mode::Plan {
            "The session is in plan mode already. When the plan is done, give it to the person with plan_exit."
        } else {
            context.session.ask_switch(Switch::Plan);
            "From the next round on the session is in plan mode: nothing is changed or run. Look at what you need, work out \
             the plan, and give it to the person with plan_exit."
        };
        Ok(Outcome {
            content: vec![Content::text(text)],
            structured: Some(json!({ "mode": Mode::Plan, "reason": arguments.reason })),
            ..Outcome::default()
        })
    }
}
