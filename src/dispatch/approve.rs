//! Consent: the rules, what was granted before, a preview that a person saw, and at last the question itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::{debug, info};

use crate::config::Mode;
use crate::editor::{ApprovalsChanged, AskError, Consent, Editor, News};
use crate::permissions::{DecisionKind, Judgement, Rule};
use crate::sessions::Session;
use crate::sessions::consents::fingerprint;
use crate::tool::{ErrorKind, ToolError};

use super::propose::{Consented, Outline, Proposal, outline, propose, suggested};
use super::questions::Given;
use super::{Call, Dispatch};

/// A change that keeps changing while it is asked about is asked about at most so often.
const QUESTIONS: u32 = 3;

/// How far a call has come towards consent.
#[derive(Default)]
pub(super) struct Asking {
    questions: u32,
    consented: Option<Consented>,
    /// The person gave other arguments: what these do is what they consented to, as long as nothing is reached that is
    /// asked about singly and was not named when they were asked.
    adopt: Option<Consented>,
    preview_used: bool,
    /// Whose consent that was, for the log.
    by: &'static str,
    /// What the person said with their consent.
    said: Vec<String>,
}

impl Asking {
    /// What the model is told of what the person said with their consent.
    pub(super) fn words(&self) -> Vec<String> {
        self.said.iter().map(|words| format!("The person who allowed this said: {words}")).collect()
    }
}

impl Dispatch {
    /// What the call may do now. Comes back here when the text moved on between consent and commit.
    pub(super) async fn cleared(&self, call: &mut Call<'_>, asking: &mut Asking) -> Result<Proposal, ToolError> {
        loop {
            let turn = call.params.turn_id.as_deref();
            let outline = outline(call.entry, &call.arguments, &call.context, &self.own, turn).await?;
            // Before anything is read: what cannot be consented to must not cost a file's whole content.
            if let Some(refused) = self.hopeless(call, asking, &outline) {
                return Err(refused);
            }
            let mut proposal = propose(outline, call.entry, &call.arguments, &call.context, &call.limits()).await?;
            let judgement = &proposal.outline.judgement;
            // What the tool does under no consent is not asked about.
            if let Err(error) = &proposal.plan
                && error.kind == ErrorKind::Denied
            {
                log(call, &proposal.outline, "deny", "tool");
                return Err(error.clone());
            }
            match judgement.decision {
                DecisionKind::Allow => {
                    log(call, &proposal.outline, "allow", judgement.by.name());
                    return Ok(proposal);
                }
                DecisionKind::Deny => {
                    log(call, &proposal.outline, "deny", judgement.by.name());
                    return Err(forbidden(judgement));
                }
                DecisionKind::Ask => {}
            }
            let now = proposal.consented();
            if let Some(shown) = asking.adopt.take()
                && (!judgement.singly || shown.reaches_as(&now))
            {
                asking.consented = Some(now.clone());
            }
            if !std::mem::replace(&mut asking.preview_used, true)
                && let Some(preview) = &call.params.approved_by
            {
                asking.by = "preview";
                asking.consented =
                    self.previews.take(&call.context.session.id, preview, call.entry.traits().name, &call.arguments);
            }
            if asking.consented.as_ref() == Some(&now) {
                log(call, &proposal.outline, "allow", asking.by);
                proposal.bind();
                return Ok(proposal);
            }
            if let Some(refused) = remembered(call, &proposal.outline) {
                log(call, &proposal.outline, "deny", "remembered");
                return Err(refused);
            }
            if granted(call, &proposal.outline) {
                log(call, &proposal.outline, "allow", "remembered");
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
            asking.by = "person";
            log(call, &proposal.outline, "ask", judgement.by.name());
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
            DecisionKind::Deny => {
                log(call, outline, "deny", judgement.by.name());
                Some(forbidden(judgement))
            }
            DecisionKind::Ask => {
                let preview = call.params.approved_by.as_deref().filter(|_| !asking.preview_used);
                let shown = preview.is_some_and(|id| {
                    let tool = call.entry.traits().name;
                    self.previews.knows(&call.context.session.id, id, tool, &call.arguments)
                });
                let hope = asking.consented.is_some()
                    || asking.adopt.is_some()
                    || shown
                    || granted(call, outline)
                    || self.workspace.editor.can_approve();
                if hope {
                    return None;
                }
                log(call, outline, "deny", "nobody to ask");
                let rule = suggested(call.entry, &call.context, outline);
                Some(unasked(judgement, rule.as_deref(), &AskError::Unsupported))
            }
        }
    }

    /// Asks the person, or takes what they answered when they were asked about a neighbour. Returns when they consent.
    async fn ask(
        &self,
        call: &mut Call<'_>,
        asking: &mut Asking,
        proposal: &Proposal,
        now: Consented,
    ) -> Result<(), ToolError> {
        let judgement = &proposal.outline.judgement;
        let clock = Arc::clone(&self.workspace.ports.clock);
        let asked = clock.now();
        let answer = self.answer(call, asking.questions == 1, proposal, &now).await;
        call.timing.approval_ms += super::millis(clock.now() - asked);
        let answer = answer.inspect_err(|_| log(call, &proposal.outline, "deny", "no answer"));
        let Given { decision, consented, arguments } = answer?;
        let Some(decision) = decision else {
            log(call, &proposal.outline, "deny", "no decision");
            return Err(denied(format!("It needs consent ({}), and no decision came.", judgement.reason)));
        };
        let tool = call.entry.traits().name;
        let exact = exact(call, &proposal.outline);
        // What they saw is what would happen now.
        let same = consented == now && arguments == call.arguments;
        match decision.decision {
            Consent::Deny => {
                let targets = proposal.outline.targets();
                let feedback = decision.feedback.as_deref();
                call.context.session.consent(|consents| consents.deny(&exact, tool, &targets, feedback));
                self.tell_consents(&call.context.session, false);
                self.rejected(call);
                log(call, &proposal.outline, "deny", "person");
                return Err(denied(format!(
                    "A person said no to this call.{} Do not try the same another way; ask, or go on without it.",
                    said(feedback)
                )));
            }
            Consent::Session | Consent::Always
                if same && !judgement.singly && decision.arguments.as_ref().is_none_or(|other| *other == arguments) =>
            {
                let always = decision.decision == Consent::Always;
                let (like, covered) = (proposal.outline.likeness(tool), proposal.outline.covered());
                // In danger mode nothing is remembered: what is let pass there is let pass there alone.
                if call.context.session.mode(&self.workspace.settings()) != Mode::Danger {
                    let shared = call.context.session.grant(&like, always, tool, &covered);
                    self.tell_consents(&call.context.session, shared);
                }
            }
            Consent::Once | Consent::Session | Consent::Always => {}
        }
        if call.context.session.consent(|consents| consents.relent(&exact)) {
            self.tell_consents(&call.context.session, false);
        }
        asking.said.extend(decision.feedback);
        match decision.arguments {
            Some(other) if other != call.arguments => {
                call.arguments = call.entry.ready(Some(&other))?.arguments;
                asking.adopt = Some(now);
            }
            // What was shown with other arguments is no consent to these; they are asked about anew.
            _ if arguments == call.arguments => asking.consented = Some(consented),
            _ => {}
        }
        Ok(())
    }

    /// What a person consented to has changed: in a session, or (`shared`) in every one of its workspace folder.
    pub(super) fn tell_consents(&self, session: &Session, shared: bool) {
        let editor = &*self.workspace.editor;
        if shared {
            for name in self.sessions.beside(session) {
                self.approvals.tell(editor, &name);
            }
        } else {
            self.approvals.tell(editor, &session.id);
        }
    }

    /// Says that a call waits for a person, for as long as it runs, if it is one that asks them something and can.
    pub(super) fn waits_for_person(&self, call: &Call<'_>) -> Option<Waiting<'_>> {
        let asks = call.entry.rule == Rule::Person && self.workspace.editor.can_ask();
        asks.then(|| self.waiting(&call.context.session.id, 1))
    }

    /// Says that so many calls of a session wait for a person, until what it gives is dropped.
    pub(super) fn waiting(&self, session: &str, calls: usize) -> Waiting<'_> {
        self.approvals.change(&*self.workspace.editor, session, |waiting| waiting + calls);
        Waiting { dispatch: self, session: session.to_owned(), calls }
    }
}

/// How many calls of each session wait for a person.
#[derive(Default)]
pub(super) struct Approvals(Mutex<BTreeMap<String, usize>>);

impl Approvals {
    /// Says again how many wait, because what was consented to is not what it was.
    pub(super) fn tell(&self, editor: &dyn Editor, session: &str) {
        self.change(editor, session, |waiting| waiting);
    }

    fn change(&self, editor: &dyn Editor, session: &str, change: impl FnOnce(usize) -> usize) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = change(all.get(session).copied().unwrap_or_default());
        if waiting == 0 {
            all.remove(session);
        } else {
            all.insert(session.to_owned(), waiting);
        }
        // Under the lock, so that the last that is told is the last that is so. Telling never waits.
        editor.tell(News::Approvals(ApprovalsChanged { session_id: session.to_owned(), waiting }));
    }
}

/// Some calls wait for a person.
pub(super) struct Waiting<'a> {
    dispatch: &'a Dispatch,
    session: String,
    calls: usize,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let editor = &*self.dispatch.workspace.editor;
        self.dispatch.approvals.change(editor, &self.session, |waiting| waiting.saturating_sub(self.calls));
    }
}

/// The fingerprint of a call: a no is remembered for exactly this.
pub(super) fn exact(call: &Call<'_>, outline: &Outline) -> String {
    fingerprint(call.entry.traits().name, &call.arguments, &outline.targets())
}

/// What a person said to their no, as a sentence after another one.
pub(crate) fn said(feedback: Option<&str>) -> String {
    let words = feedback.map_or("", str::trim);
    match words.chars().next_back() {
        None => String::new(),
        Some('.' | '!' | '?') => format!(" They said: {words}"),
        Some(_) => format!(" They said: {words}."),
    }
}

/// Whether a person consented to calls like this one before, and the next is covered by that.
pub(super) fn granted(call: &Call<'_>, outline: &Outline) -> bool {
    !outline.judgement.singly && call.context.session.granted(&outline.likeness(call.entry.traits().name))
}

/// The no to exactly this call that a person said before.
pub(super) fn remembered(call: &Call<'_>, outline: &Outline) -> Option<ToolError> {
    let feedback = call.context.session.denied(&exact(call, outline))?;
    Some(denied(format!(
        "A person said no to exactly this before.{} It was not asked about again; do something else, or ask them.",
        said(feedback.as_deref())
    )))
}

fn forbidden(judgement: &Judgement) -> ToolError {
    denied(format!("It is not allowed: {}.", judgement.reason))
}

pub(super) fn denied(message: String) -> ToolError {
    ToolError::new(ErrorKind::Denied, message)
}

/// A call that needs a person, and none could be asked. `rule`: one that would let it pass.
pub(super) fn unasked(judgement: &Judgement, rule: Option<&str>, error: &AskError) -> ToolError {
    let reason = &judgement.reason;
    let way = match rule {
        Some(rule) => format!(" The person can let such calls pass by the rule `{rule}` in `permissions.allow`."),
        None if judgement.singly => {
            " No rule lets it pass: a person has to be there who is asked each time.".to_owned()
        }
        None => String::new(),
    };
    let error = match error {
        AskError::Unsupported => "no editor that shows such questions is here".to_owned(),
        error => error.to_string(),
    };
    denied(format!("It needs a person's consent, because {reason}; but nobody could be asked: {error}.{way}"))
}

/// One line for each decision: the tool, what it reaches, what was decided, by what, and why.
fn log(call: &Call<'_>, outline: &Outline, decision: &str, by: &str) {
    info!(
        target: "ropewalk::permissions",
        session = call.context.session.id,
        call = call.id,
        tool = call.entry.traits().name,
        reaches = ?outline.targets(),
        decision,
        by,
        reason = outline.judgement.reason,
    );
}
