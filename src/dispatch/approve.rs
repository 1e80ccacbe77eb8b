//! Consent: the rules, what was granted before, a preview that a person saw, and at last the question itself.

use std::sync::Arc;

use tracing::debug;

use crate::editor::{ApproveCall, ApproveParams, AskError, Consent};
use crate::permissions::{DecisionKind, Judgement, visible};
use crate::tool::{ErrorKind, ToolError};

use super::execute::cancelled;
use super::propose::{Consented, Outline, Proposal, outline, propose};
use super::{Call, Dispatch};

/// A change that keeps changing while it is asked about is asked about at most so often.
const QUESTIONS: u32 = 3;

/// How far a call has come towards consent.
#[derive(Default)]
pub(super) struct Asking {
    questions: u32,
    consented: Option<Consented>,
    /// The person gave other arguments: what these do is what they consented to.
    adopt: bool,
    preview_used: bool,
}

impl Dispatch {
    /// What the call may do now. Comes back here when the text moved on between consent and commit.
    pub(super) async fn cleared(&self, call: &mut Call<'_>, asking: &mut Asking) -> Result<Proposal, ToolError> {
        loop {
            let outline = outline(call.entry, &call.arguments, &call.context).await?;
            // Before anything is read: what cannot be consented to must not cost a file's whole content.
            if let Some(refused) = self.hopeless(call, asking, &outline) {
                return Err(refused);
            }
            let mut proposal = propose(outline, call.entry, &call.arguments, &call.context, &call.limits()).await?;
            let judgement = &proposal.outline.judgement;
            match judgement.decision {
                DecisionKind::Allow => return Ok(proposal),
                DecisionKind::Deny => return Err(forbidden(judgement)),
                DecisionKind::Ask => {}
            }
            if granted(call, &proposal.outline) {
                return Ok(proposal);
            }
            let now = proposal.consented();
            if std::mem::take(&mut asking.adopt) {
                asking.consented = Some(now.clone());
            }
            if !std::mem::replace(&mut asking.preview_used, true)
                && let Some(preview) = &call.params.approved_by
            {
                asking.consented =
                    self.previews.take(&call.context.session.id, preview, call.entry.traits().name, &call.arguments);
            }
            if asking.consented.as_ref() == Some(&now) {
                proposal.bind();
                return Ok(proposal);
            }
            if asking.questions == QUESTIONS {
                return Err(ToolError::new(
                    ErrorKind::Conflict,
                    "The text changed each time while a person was asked about the change; nothing was changed. Read \
                     it again and send the call anew.",
                ));
            }
            asking.questions += 1;
            if asking.questions > 1 {
                debug!(call = call.id, "the change is not the one consented to; asking again");
            }
            self.ask(call, asking, &proposal, now).await?;
        }
    }

    /// Why a call will not run, if that is clear from what it reaches: it is not allowed, or nobody has consented to it
    /// and nobody can.
    fn hopeless(&self, call: &Call<'_>, asking: &Asking, outline: &Outline) -> Option<ToolError> {
        let judgement = &outline.judgement;
        match judgement.decision {
            DecisionKind::Allow => None,
            DecisionKind::Deny => Some(forbidden(judgement)),
            DecisionKind::Ask => {
                let preview = call.params.approved_by.as_deref().filter(|_| !asking.preview_used);
                let shown = preview.is_some_and(|id| {
                    let tool = call.entry.traits().name;
                    self.previews.knows(&call.context.session.id, id, tool, &call.arguments)
                });
                let hope = asking.consented.is_some()
                    || asking.adopt
                    || shown
                    || granted(call, outline)
                    || self.workspace.editor.can_approve();
                (!hope).then(|| unasked(&judgement.reason, &AskError::Unsupported))
            }
        }
    }

    /// Asks the person. Returns when they consent.
    async fn ask(
        &self,
        call: &mut Call<'_>,
        asking: &mut Asking,
        proposal: &Proposal,
        now: Consented,
    ) -> Result<(), ToolError> {
        let judgement = &proposal.outline.judgement;
        let question = ApproveParams {
            session_id: call.context.session.id.clone(),
            calls: vec![ApproveCall {
                call_id: call.id.to_owned(),
                name: call.entry.traits().name.to_owned(),
                arguments: call.arguments.clone(),
                targets: proposal.outline.targets(),
                diff: proposal.diff().map(|diff| diff.split('\n').map(visible).collect::<Vec<_>>().join("\n")),
                reason: judgement.reason.clone(),
                risk: judgement.risk,
            }],
        };
        let clock = Arc::clone(&self.workspace.ports.clock);
        let asked = clock.now();
        let answer = tokio::select! {
            biased;
            () = call.context.cancel.cancelled() => Err(cancelled("while a person was asked about it")),
            answer = self.workspace.editor.approve(question) => answer.map_err(|error| unasked(&judgement.reason, &error)),
        };
        call.timing.approval_ms += super::millis(clock.now() - asked);
        let decision = answer?.decisions.into_iter().find(|decision| decision.call_id == call.id);
        let Some(decision) = decision else {
            return Err(denied(format!("It needs consent ({}), and no decision came.", judgement.reason)));
        };
        match decision.decision {
            Consent::Deny => {
                let words = decision.feedback.map(|words| format!(" They said: {words}")).unwrap_or_default();
                return Err(denied(format!(
                    "A person said no to this call.{words} Do not try the same another way; ask, or go on without it."
                )));
            }
            Consent::Session | Consent::Always if !judgement.singly && decision.arguments.is_none() => {
                call.context.session.grant(proposal.outline.likeness(call.entry.traits().name));
            }
            Consent::Once | Consent::Session | Consent::Always => {}
        }
        match decision.arguments {
            Some(other) if other != call.arguments => {
                call.arguments = call.entry.ready(Some(&other))?.arguments;
                asking.adopt = true;
            }
            _ => asking.consented = Some(now),
        }
        Ok(())
    }
}

/// Whether a person consented to calls like this one before, and the next is covered by that.
fn granted(call: &Call<'_>, outline: &Outline) -> bool {
    !outline.judgement.singly && call.context.session.granted(&outline.likeness(call.entry.traits().name))
}

fn forbidden(judgement: &Judgement) -> ToolError {
    denied(format!("It is not allowed: {}.", judgement.reason))
}

fn denied(message: String) -> ToolError {
    ToolError::new(ErrorKind::Denied, message)
}

fn unasked(reason: &str, error: &AskError) -> ToolError {
    denied(format!("It needs a person's consent, because {reason}; but nobody could be asked: {error}."))
}
