//! What a call would do, for hosts that ask their person themselves; and the consent that comes of it, once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::editor::Risk;
use crate::outputs::Budget;
use crate::permissions::{DecisionKind, Requirement};
use crate::sessions::Session;
use crate::tool::{Context, ErrorKind, ToolError};

use super::call::{AccessInfo, ApprovalInfo, CallParams, PreviewResult, Timing};
use super::catalog::Ready;
use super::execute::contained;
use super::propose::{Consented, Proposal, outline, propose};
use super::{Call, Dispatch, arguments, ids, unread};

/// At most so many previews wait for their call; the oldest give way.
const KEPT: usize = 256;

/// Previews whose call has not come yet.
#[derive(Default)]
pub(super) struct Previews {
    kept: Mutex<VecDeque<Kept>>,
}

struct Kept {
    session: String,
    id: String,
    tool: String,
    arguments: Value,
    consented: Consented,
}

impl Previews {
    fn put(&self, kept: Kept) {
        let mut all = self.lock();
        all.push_back(kept);
        if all.len() > KEPT {
            all.pop_front();
        }
    }

    /// What a preview showed, if it was of this tool and these arguments. It counts once.
    pub(super) fn take(&self, session: &str, id: &str, tool: &str, arguments: &Value) -> Option<Consented> {
        let mut all = self.lock();
        let at = all.iter().position(|kept| kept.is(session, id, tool, arguments))?;
        all.remove(at).map(|kept| kept.consented)
    }

    /// Whether there is such a preview. It still counts.
    pub(super) fn knows(&self, session: &str, id: &str, tool: &str, arguments: &Value) -> bool {
        self.lock().iter().any(|kept| kept.is(session, id, tool, arguments))
    }

    /// A session was dropped, and its previews with it.
    pub(super) fn forget(&self, session: &str) {
        self.lock().retain(|kept| kept.session != session);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn is(&self, session: &str, id: &str, tool: &str, arguments: &Value) -> bool {
        self.session == session && self.id == id && self.tool == tool && self.arguments == *arguments
    }
}

impl Dispatch {
    /// What a call would do. Neither asks nor runs. What it is about (arguments that streamed in, its own name) is settled
    /// when this returns, the rest when the future is done.
    pub fn preview(self: &Arc<Self>, mut params: CallParams) -> BoxFuture<'static, PreviewResult> {
        let unstreamed = self.peek(&mut params);
        let session = self.session(params.session_id.as_deref());
        let preview_id = format!("p{}", session.next_preview());
        let (me, mark) = (Arc::clone(self), self.joining.mark());
        async move {
            session.ready(&*me.workspace.ports.clock).await;
            me.joining.after(mark).await;
            me.previewed(params, unstreamed, session, preview_id).await
        }
        .boxed()
    }

    async fn previewed(
        &self,
        params: CallParams,
        unstreamed: Option<ToolError>,
        session: Arc<Session>,
        preview_id: String,
    ) -> PreviewResult {
        if let Some(misfit) = unstreamed.or_else(|| ids::misfit(&params)) {
            return unfit(preview_id, &params, params.name.clone(), Requirement::Required, misfit);
        }
        let entry = match self.tools.find(&session, &params.name) {
            Ok(entry) => entry,
            Err(error) => return unfit(preview_id, &params, params.name.clone(), Requirement::Required, error),
        };
        let entry = &*entry;
        let tool = entry.traits().name;
        let general = entry.rule.requirement();
        let ready =
            if params.truncated { Err(arguments::truncated(tool)) } else { entry.ready(params.arguments.as_ref()) };
        let Ready { arguments, repairs, synthesized } = match ready {
            Ok(ready) => ready,
            Err(error) => {
                let synthesized = unread::was_invented(&error);
                let result = unfit(preview_id, &params, tool.to_owned(), general, error);
                return PreviewResult { synthesized, ..result };
            }
        };
        let budget = Budget::new(&self.workspace.settings().output, session.wanted().max_bytes(params.max_bytes));
        let call_id = params.call_id.clone().unwrap_or_default();
        let context = Context {
            call: Arc::from(call_id.as_str()),
            ..self.context(&session, params.apply, CancellationToken::new(), budget.max)
        };
        let mut timing = Timing::default();
        let call = Call {
            params: &params,
            id: &call_id,
            entry,
            arguments,
            context,
            budget,
            timing: &mut timing,
            lineage: None,
            reporter: None,
            member: None,
            maker: None,
        };
        let limits = call.limits();
        let proposing = async {
            let turn = call.params.turn_id.as_deref();
            let outline = outline(entry, &call.arguments, &call.context, &self.own, turn).await?;
            if outline.judgement.decision == DecisionKind::Deny {
                // What is not allowed is not looked at either.
                let plan = Err(ToolError::new(ErrorKind::Denied, outline.judgement.reason.clone()));
                return Ok(Proposal { outline, plan });
            }
            propose(outline, entry, &call.arguments, &call.context, &limits).await
        };
        let proposal = match contained(tool, proposing).await.unwrap_or_else(Err) {
            Ok(proposal) => proposal,
            Err(error) => {
                let result = unfit(preview_id, &params, tool.to_owned(), general, error);
                return PreviewResult { arguments: call.arguments, repairs, synthesized, ..result };
            }
        };
        let arguments = call.arguments;
        // What nobody was asked about nobody has consented to: should it be asked about by the time of the call, it is.
        if proposal.plan.is_ok() && proposal.outline.judgement.decision == DecisionKind::Ask {
            self.previews.put(Kept {
                session: session.id.clone(),
                id: preview_id.clone(),
                tool: tool.to_owned(),
                arguments: arguments.clone(),
                consented: proposal.consented(),
            });
        }
        PreviewResult { synthesized, ..shown(preview_id, tool, arguments, repairs, &proposal) }
    }
}

fn shown(preview_id: String, tool: &str, arguments: Value, repairs: Vec<String>, proposal: &Proposal) -> PreviewResult {
    let judgement = &proposal.outline.judgement;
    PreviewResult {
        preview_id,
        name: tool.to_owned(),
        arguments,
        repairs,
        synthesized: false,
        valid: proposal.plan.is_ok(),
        problems: proposal.plan.as_ref().err().map(|error| error.message.clone()).into_iter().collect(),
        access: proposal.outline.access_info(),
        diff: proposal.diff(),
        approval: ApprovalInfo {
            requirement: judgement.requirement,
            decision: judgement.decision,
            reason: judgement.reason.clone(),
            risk: judgement.risk,
        },
    }
}

/// A call that could not run as it is.
fn unfit(
    preview_id: String,
    params: &CallParams,
    name: String,
    requirement: Requirement,
    error: ToolError,
) -> PreviewResult {
    PreviewResult {
        preview_id,
        name,
        arguments: params.arguments.clone().unwrap_or(Value::Null),
        repairs: Vec::new(),
        synthesized: false,
        valid: false,
        problems: vec![error.message],
        access: AccessInfo::default(),
        diff: None,
        approval: ApprovalInfo {
            requirement,
            decision: DecisionKind::Deny,
            reason: "the call cannot run as it is".to_owned(),
            risk: Risk::Low,
        },
    }
}
