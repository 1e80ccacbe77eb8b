//! Consent by a message with buttons, for editors that can show nothing better.

use serde_json::{Value, json};

use super::Outbox;
use crate::editor::{ApproveCall, ApproveDecision, ApproveParams, ApproveResult, AskError, Consent};
use crate::permissions::visible;

const ALLOW_ONCE: &str = "Allow once";
const ALLOW_SESSION: &str = "Allow in this session";
const DENY: &str = "Deny";

/// A call in words for a person; everything it reaches is named, and what cannot be seen is shown escaped.
pub(crate) fn question(call: &ApproveCall) -> String {
    let mut lines = vec![format!("Allow {}? {}", visible(&call.name), visible(&call.reason))];
    lines.extend(call.targets.iter().map(|target| format!("  {}", visible(target))));
    lines.extend(call.diff.iter().flat_map(|diff| diff.lines()).map(visible));
    lines.join("\n")
}

/// The decision that a button means; a message that was closed is none, so that the call is denied and may be asked
/// about again.
fn consent(answer: &Value) -> Option<Consent> {
    match answer.get("title").and_then(Value::as_str) {
        Some(ALLOW_ONCE) => Some(Consent::Once),
        Some(ALLOW_SESSION) => Some(Consent::Session),
        Some(DENY) => Some(Consent::Deny),
        _ => None,
    }
}

impl Outbox {
    /// Consent by a message with buttons, one call after the other.
    pub(super) async fn approve_by_message(&self, params: ApproveParams) -> Result<ApproveResult, AskError> {
        let mut decisions = Vec::with_capacity(params.calls.len());
        for call in &params.calls {
            let question = json!({
                "type": 2,
                "message": question(call),
                "actions": [{ "title": ALLOW_ONCE }, { "title": ALLOW_SESSION }, { "title": DENY }],
            });
            let answer = self.ask("window/showMessageRequest", question, None).await?;
            decisions.extend(consent(&answer).map(|decision| ApproveDecision {
                call_id: call.call_id.clone(),
                decision,
                arguments: None,
                feedback: None,
            }));
        }
        Ok(ApproveResult { decisions })
    }
}
