//! `plan_exit`: gives the plan to the person; once they agree, the session goes back to the mode that it had before.

use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::config::Mode;
use crate::sessions::policy::Switch;
use crate::tool::{Access, Content, Context, ErrorKind, Outcome, Tool, ToolError, Traits};

/// Gives the person the plan that was worked out in plan mode, and asks whether to go ahead. Once they agree, the session
/// goes back to the mode that it had before, from the next round on. The answer has the plan as they agreed to it, which
/// may differ from what you wrote.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The plan, in Markdown: what will be changed, where, in which order, and how it will be checked.
    #[schemars(example = "1. Read the option in src/config.rs.\n2. Use it in src/walk.rs.\n3. Test both values.")]
    pub plan: String,
}

/// The tool.
pub struct PlanExit;

#[async_trait]
impl Tool for PlanExit {
    type Arguments = Arguments;

    const TRAITS: Traits<'static> = Traits {
        name: "plan_exit",
        title: "Present the plan",
        capabilities: &[],
        parallel: false,
        deferred: false,
        free_form: Some("plan"),
        deadline: Duration::from_secs(10),
        aliases: &[("content", "plan"), ("text", "plan")],
        names: &["exit_plan_mode"],
    };

    fn access(&self, _: &Arguments) -> Access {
        Access::default()
    }

    fn validate(&self, arguments: &Arguments) -> Result<(), ToolError> {
        if !arguments.plan.trim().is_empty() {
            return Ok(());
        }
        Err(ToolError::new(
            ErrorKind::InvalidArguments,
            "`plan` is empty; say what you would do, step by step, for the person to agree to.",
        ))
    }

    async fn run(&self, arguments: Arguments, context: &Context) -> Result<Outcome, ToolError> {
        let (session, settings) = (&context.session, context.workspace.settings());
        let now = session.mode(&settings);
        if now != Mode::Plan {
            return Err(ToolError::new(
                ErrorKind::Failed,
                format!("The session is in {} mode, not in plan mode: there is nothing to leave. Go on.", now.name()),
            ));
        }
        let mode = session.mode_after(Switch::Leave, &settings);
        if mode == Mode::Plan {
            return Err(ToolError::new(
                ErrorKind::Denied,
                "The person agreed to the plan, but their settings keep this session in plan mode (`permissions.mode`). Tell \
                 them that they have to choose another mode before it can be carried out.",
            ));
        }
        session.ask_switch(Switch::Leave);
        let text = format!(
            "The person agreed to the plan. From the next round on the session is in {} mode. The plan:\n\n{}",
            mode.name(),
            arguments.plan
        );
        Ok(Outcome {
            content: vec![Content::text(text)],
            structured: Some(json!({ "mode": mode, "plan": arguments.plan })),
            ..Outcome::default()
        })
    }
}
