//! The person behind a client of MCP, in the place of an editor: there are no documents, consent is asked for by MCP's
//! elicitation, and news goes to the client.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, InitializeRequestParams, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, RoleServer};
use serde_json::{Value, json};

use crate::editor::{ApproveCall, ApproveDecision, ApproveParams, ApproveResult, AskError, Consent, Editor, News};
use crate::server::question;

use super::super::news::Hub;

const ONCE: &str = "once";
const SESSION: &str = "session";
const DENY: &str = "deny";

/// The person.
pub(super) struct Person {
    hub: Arc<Hub>,
    peer: OnceLock<Peer<RoleServer>>,
}

impl Person {
    /// Nobody, until the client has introduced itself.
    pub(super) fn new(hub: Arc<Hub>) -> Person {
        Person { hub, peer: OnceLock::new() }
    }

    /// The client introduced itself. It counts as somebody to ask where it can show a form.
    pub(super) fn met(&self, who: &InitializeRequestParams, peer: &Peer<RoleServer>) {
        // Before there were kinds of questions, forms were the only one.
        let forms = who.capabilities.elicitation.as_ref().is_some_and(|can| can.form.is_some() || can.url.is_none());
        if forms {
            // The first one stays.
            let _ = self.peer.set(peer.clone());
        }
    }

    async fn ask(&self, call: &ApproveCall) -> Result<Option<Consent>, AskError> {
        let peer = self.peer.get().ok_or(AskError::Unsupported)?;
        let refused = |fault: &dyn std::fmt::Display| AskError::Refused(fault.to_string());
        let params: ElicitRequestParams = serde_json::from_value(form(call)).map_err(|fault| refused(&fault))?;
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(params));
        let asked = peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        let mut asked = TakeBack(Some(asked.map_err(|fault| refused(&fault))?));
        let Some(handle) = &mut asked.0 else { return Err(AskError::Gone) };
        let answer = (&mut handle.rx).await;
        asked.0 = None;
        match answer {
            Ok(Ok(ClientResult::ElicitResult(answer))) => Ok(consent(&answer)),
            Ok(Ok(_)) => Err(AskError::Refused("its answer is none to the question".to_owned())),
            Ok(Err(fault)) => Err(refused(&fault)),
            Err(_) => Err(AskError::Gone),
        }
    }
}

/// Takes a question back when nobody waits for its answer any more.
struct TakeBack(Option<RequestHandle<RoleServer>>);

impl Drop for TakeBack {
    fn drop(&mut self) {
        let Some(RequestHandle { peer, id, .. }) = self.0.take() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let params = CancelledNotificationParam::new(Some(id), Some("it is not needed any more".to_owned()));
                // A client that is gone shows no question.
                let _ = peer.send_notification(CancelledNotification::new(params).into()).await;
            });
        }
    }
}

/// The question as a form with one choice.
fn form(call: &ApproveCall) -> Value {
    json!({
        "mode": "form",
        "message": question(call),
        "requestedSchema": {
            "type": "object",
            "properties": {
                "decision": {
                    "type": "string",
                    "title": "Decision",
                    "description": "Whether this call may run",
                    "oneOf": [
                        { "const": ONCE, "title": "Allow once" },
                        { "const": SESSION, "title": "Allow calls like it in this session" },
                        { "const": DENY, "title": "Deny" },
                    ],
                },
            },
            "required": ["decision"],
        },
    })
}

/// What the person answered. A form that was put away is no decision.
fn consent(answer: &ElicitResult) -> Option<Consent> {
    match answer.action {
        ElicitationAction::Accept => match answer.content.as_ref()?.get("decision")?.as_str()? {
            ONCE => Some(Consent::Once),
            SESSION => Some(Consent::Session),
            DENY => Some(Consent::Deny),
            _ => None,
        },
        ElicitationAction::Decline => Some(Consent::Deny),
        _ => None,
    }
}

#[async_trait]
impl Editor for Person {
    fn can_approve(&self) -> bool {
        self.peer.get().is_some()
    }

    async fn approve(&self, params: ApproveParams) -> Result<ApproveResult, AskError> {
        let mut decisions = Vec::with_capacity(params.calls.len());
        for call in &params.calls {
            decisions.extend(self.ask(call).await?.map(|decision| ApproveDecision {
                call_id: call.call_id.clone(),
                decision,
                arguments: None,
                feedback: None,
            }));
        }
        Ok(ApproveResult { decisions })
    }

    fn tell(&self, news: News) {
        self.hub.hears(&news);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::editor::Risk;

    #[test]
    fn the_form_is_one_that_mcp_takes() {
        let call = ApproveCall {
            call_id: "c1".into(),
            name: "bash".into(),
            arguments: json!({}),
            targets: vec!["rm -r x\u{202e}".into()],
            diff: None,
            reason: "it runs a command".into(),
            risk: Risk::High,
            suggested_rule: None,
        };
        let read: ElicitRequestParams = serde_json::from_value(form(&call)).unwrap();
        let written = serde_json::to_value(&read).unwrap();
        assert_eq!(written["message"], "Allow bash? it runs a command\n  rm -r x\\u{202e}");
        assert_eq!(written["requestedSchema"]["properties"]["decision"]["oneOf"][2]["const"], "deny");
    }

    #[test]
    fn only_a_plain_yes_is_one() {
        for (answer, expected) in [
            (json!({ "action": "accept", "content": { "decision": "once" } }), Some(Consent::Once)),
            (json!({ "action": "accept", "content": { "decision": "session" } }), Some(Consent::Session)),
            (json!({ "action": "accept", "content": { "decision": "deny" } }), Some(Consent::Deny)),
            (json!({ "action": "accept", "content": { "decision": "Once" } }), None),
            (json!({ "action": "accept", "content": {} }), None),
            (json!({ "action": "accept" }), None),
            (json!({ "action": "decline", "content": { "decision": "once" } }), Some(Consent::Deny)),
            (json!({ "action": "cancel" }), None),
        ] {
            let read: ElicitResult = serde_json::from_value(answer.clone()).unwrap();
            assert_eq!(consent(&read), expected, "{answer}");
        }
    }
}
