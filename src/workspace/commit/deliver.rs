//! Sends one edit to the editor and waits until it is known what became of it.
//!
//! Three things can speak: the document's own events (the echo), the editor's answer, and a timer. Only the first is
//! evidence that an edit was applied; the answer is evidence that the editor is done with the edit, so that another may
//! be sent.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tracing::debug;

use crate::editor::{ApplyEdit, AskError, EditReply};
use crate::text::Text;
use crate::workspace::documents::{DocEvent, Snapshot};

use super::Desk;
use super::echo::{Echo, Verdict};
use super::evidence::End;
use super::sent::Sent;

/// How long the answer to an edit is listened for: longer than the echo is waited for, since a late answer still opens
/// a shut queue.
const REPLY: Duration = Duration::from_mins(1);
/// How long a closed document may take to be opened again (`:e` closes and opens) before it counts as closed.
const REOPEN: Duration = Duration::from_millis(300);
/// How often a document may be opened anew or closed before that gives the echo no more time.
const RENEWALS: u32 = 4;
/// After so many content changes of one notification other tasks get their turn.
const CHANGES_AT_ONCE: usize = 128;
/// Texts longer than this (bytes) are judged on a thread of their own.
const JUDGED_HERE: usize = 4096;

/// A document and what happens to it: `now` is its state after the events taken so far.
pub(super) struct Watch {
    pub(super) now: Snapshot,
    pub(super) events: mpsc::UnboundedReceiver<DocEvent>,
}

/// The editor's answer, as far as it has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reply {
    /// None yet.
    None,
    /// It says that it applied the edit.
    Applied,
    /// It says that it did not, for this reason.
    Refused(String),
    /// It can take no edits at all; nothing was sent.
    Unsupported,
    /// It did not come in time.
    Lost,
    /// The editor is gone: nothing more will come.
    Gone,
}

/// What became of an edit.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fate {
    /// It is in the text of this step ([`Echo::text`]), which this version completed.
    Landed { step: usize, version: i32 },
    /// It is in the newest text, together with what the user did.
    Merged,
    /// It is in the file, saved and closed.
    Saved(Text),
    /// It is not in the newest text and will not come: it may be computed anew.
    NotThere,
    /// It was applied at the wrong place.
    Elsewhere { on: usize, step: usize },
    /// The editor refused it, and its text has not changed.
    Refused(String),
    /// The editor says that it applied it, and its text, asked for, has not changed.
    Ignored,
    /// The text changed where the edit belongs; whether the edit is in it cannot be shown.
    Unclear,
    /// Nothing has come, or nothing that tells: it may still be on its way.
    Silent,
    /// The editor is gone, and nothing shows whether it was applied.
    Gone,
    /// The mirror cannot be relied on.
    Suspect(String),
    /// The document was closed without it.
    Closed,
    /// The editor takes no edits.
    Unsupported,
}

/// An edit on its way.
pub(super) struct Delivery {
    pub(super) echo: Echo,
    pub(super) reply: Reply,
    /// The answer, while it is outstanding.
    pub(super) answer: oneshot::Receiver<Result<EditReply, AskError>>,
    version: i32,
    epoch: u64,
    closed: bool,
    suspect: Option<String>,
    /// The editor was asked for its text after the wait, and gave it.
    asked: bool,
    /// What the newest text proves: after how many changes, whether the edit was refused, and the answer.
    judged: Option<(usize, bool, End)>,
    /// Judging took too long once, and is not tried again.
    too_hard: bool,
}

/// Sends an edit of `watch.now` and waits for its fate: at most `commit.echoMs`, and the same again for a question to
/// the editor.
pub(super) async fn deliver(desk: &Desk, watch: &mut Watch, sent: Sent, label: &str) -> (Fate, Delivery) {
    let (sender, answer) = oneshot::channel();
    let edit = ApplyEdit {
        uri: watch.now.uri.clone(),
        version: watch.now.version,
        edits: sent.edits.clone(),
        label: label.to_owned(),
    };
    let editor = std::sync::Arc::clone(&desk.editor);
    tokio::spawn(async move {
        // Nobody may be listening any more, which is fine.
        let _ = sender.send(editor.apply_edit(edit, REPLY).await);
    });
    let mut delivery = Delivery {
        echo: Echo::new(sent, watch.now.version),
        reply: Reply::None,
        answer,
        version: watch.now.version,
        epoch: watch.now.epoch,
        closed: false,
        suspect: None,
        asked: false,
        judged: None,
        too_hard: false,
    };
    let echo = Duration::from_millis(desk.settings.commit.echo_ms);
    let mut timer = desk.clock().sleep(echo);
    let mut renewals = 0;
    loop {
        // While more is known already, that is looked at first, and other tasks get their turn in between.
        if watch.events.is_empty() {
            if let Some(fate) = delivery.early(desk, watch).await {
                return (fate, delivery);
            }
        } else {
            tokio::task::yield_now().await;
        }
        tokio::select! {
            biased;
            () = &mut timer => break,
            Some(event) = watch.events.recv() => {
                let closed = matches!(event, DocEvent::Closed(_));
                let opened = matches!(event, DocEvent::Opened(_));
                delivery.take(watch, &event).await;
                if closed && let Some(fate) = delivery.saved(desk, watch).await {
                    return (fate, delivery);
                }
                if (closed || opened) && renewals < RENEWALS {
                    renewals += 1;
                    timer = desk.clock().sleep(if closed { REOPEN.min(echo) } else { echo });
                } else if delivery.suspect.is_some() && !delivery.asked {
                    delivery.ask(desk, watch).await;
                }
            }
            answer = &mut delivery.answer, if delivery.reply == Reply::None => delivery.reply = heard(answer),
        }
    }
    delivery.catch_up(watch).await;
    if delivery.closed
        && let Some(fate) = delivery.saved(desk, watch).await
    {
        return (fate, delivery);
    }
    // The mirror can come into doubt without a change having come.
    if let Some(why) = desk.documents.get(&watch.now.key).and_then(|now| now.trust.doubt().map(str::to_owned)) {
        delivery.suspect = Some(why);
    }
    if delivery.wants_asking(watch) {
        delivery.ask(desk, watch).await;
    }
    let fate = match delivery.early(desk, watch).await {
        Some(fate) => fate,
        None => delivery.late(desk, watch).await,
    };
    (fate, delivery)
}

/// What an answer means.
pub(super) fn heard(answer: Result<Result<EditReply, AskError>, oneshot::error::RecvError>) -> Reply {
    match answer {
        Ok(Ok(EditReply { applied: true, .. })) => Reply::Applied,
        Ok(Ok(EditReply { reason, .. })) => Reply::Refused(reason.unwrap_or_else(|| "it gave no reason".to_owned())),
        Ok(Err(AskError::Refused(why))) => Reply::Refused(why),
        Ok(Err(AskError::Unsupported)) => Reply::Unsupported,
        Ok(Err(AskError::Gone)) => Reply::Gone,
        Ok(Err(AskError::Timeout)) | Err(_) => Reply::Lost,
    }
}

impl Delivery {
    /// Takes one event in. A long one lets other tasks have their turn in between.
    pub(super) async fn take(&mut self, watch: &mut Watch, event: &DocEvent) {
        match event {
            DocEvent::Changed { steps, after, .. } => {
                for (number, step) in (1..).zip(steps.iter()) {
                    self.echo.push(&step.splice, step.after.clone(), after.version, number == steps.len());
                    if number % CHANGES_AT_ONCE == 0 {
                        tokio::task::yield_now().await;
                    }
                }
            }
            DocEvent::Opened(after) | DocEvent::Resynced(after) => self.echo.jump(&after.text, after.version),
            DocEvent::Saved(_) | DocEvent::Closed(_) => {}
        }
        self.closed = matches!(event, DocEvent::Closed(_));
        watch.now = event.snapshot().clone();
        self.suspect = watch.now.trust.doubt().map(str::to_owned);
    }

    /// Takes in what has happened by now, and nothing of what happens meanwhile.
    pub(super) async fn catch_up(&mut self, watch: &mut Watch) {
        for _ in 0..watch.events.len() {
            let Ok(event) = watch.events.try_recv() else { return };
            self.take(watch, &event).await;
            tokio::task::yield_now().await;
        }
    }

    /// The fate of an edit whose document was closed, if the file has it.
    async fn saved(&self, desk: &Desk, watch: &Watch) -> Option<Fate> {
        desk.saved_as(&watch.now.key, &self.echo.sent().expected).await.map(Fate::Saved)
    }

    /// Asks the editor for its text, where it can tell, and takes in whatever has happened by then.
    async fn ask(&mut self, desk: &Desk, watch: &mut Watch) {
        self.asked = desk.resync(&watch.now).await;
        self.catch_up(watch).await;
        if self.reply == Reply::None
            && let Ok(answer) = self.answer.try_recv()
        {
            self.reply = heard(Ok(answer));
        }
    }

    fn refused(&self) -> bool {
        matches!(self.reply, Reply::Refused(_))
    }

    /// Whether the document is not what the edit was computed against any more.
    fn moved_on(&self, watch: &Watch) -> bool {
        self.echo.steps() > 0 || watch.now.version != self.version || watch.now.epoch != self.epoch
    }

    /// What the newest text proves about the edit. Comparing large texts may take long: it happens on another thread,
    /// and after `commit.echoMs` nothing is proved.
    pub(super) async fn judge(&mut self, desk: &Desk) -> End {
        let (steps, refused) = (self.echo.steps(), self.refused());
        if let Some((of, when_refused, end)) = self.judged
            && (of, when_refused) == (steps, refused)
        {
            return end;
        }
        let case = self.echo.case(refused);
        let end = match case.plain() {
            Some(end) => end,
            None if self.too_hard => End::Unclear,
            None if case.size() <= JUDGED_HERE => case.judge(),
            None => {
                let limit = desk.clock().sleep(Duration::from_millis(desk.settings.commit.echo_ms));
                tokio::select! {
                    biased;
                    end = tokio::task::spawn_blocking(move || case.judge()) => end.unwrap_or(End::Unclear),
                    () = limit => {
                        debug!("what became of an edit takes too long to find out");
                        self.too_hard = true;
                        End::Unclear
                    }
                }
            }
        };
        self.judged = Some((steps, refused, end));
        end
    }

    /// The fate, if it is certain before the wait is over.
    async fn early(&mut self, desk: &Desk, watch: &Watch) -> Option<Fate> {
        if self.reply == Reply::Unsupported {
            return Some(Fate::Unsupported);
        }
        let gone = self.reply == Reply::Gone;
        if self.suspect.is_some() || self.closed {
            return gone.then_some(Fate::Gone);
        }
        if self.refused() {
            self.echo.forgive();
        }
        match (self.echo.verdict(), &self.reply) {
            (Verdict::Landed { step, version }, _) => return Some(Fate::Landed { step, version }),
            (_, Reply::Gone) => return Some(Fate::Gone),
            (Verdict::Elsewhere { on, step }, Reply::Applied) => return Some(Fate::Elsewhere { on, step }),
            (Verdict::Elsewhere { .. }, _) => return None,
            (Verdict::Waiting, _) => {}
        }
        if !self.moved_on(watch) || !matches!(self.reply, Reply::Applied | Reply::Refused(_)) {
            return None;
        }
        match (self.judge(desk).await, self.refused()) {
            (End::Merged, _) => Some(Fate::Merged),
            (End::NotThere, true) => Some(Fate::NotThere),
            // Where the editor says yes, the echo may be on its way; where it says no, nothing more will tell.
            (End::Unclear, true) => Some(Fate::Unclear),
            (End::NotThere | End::Unclear, false) => None,
        }
    }

    fn wants_asking(&self, watch: &Watch) -> bool {
        let told = self.refused() || (self.reply == Reply::Applied && self.moved_on(watch));
        !self.closed && !self.asked && (self.suspect.is_some() || !told)
    }

    /// The fate when the wait is over.
    async fn late(&mut self, desk: &Desk, watch: &Watch) -> Fate {
        debug!(uri = watch.now.uri, reply = ?self.reply, steps = self.echo.steps(), "no echo in time");
        if self.closed {
            return Fate::Closed;
        }
        if let Some(why) = self.suspect.clone() {
            return Fate::Suspect(why);
        }
        if !self.moved_on(watch) {
            return match &self.reply {
                Reply::Refused(why) => Fate::Refused(why.clone()),
                Reply::Applied if self.asked => Fate::Ignored,
                _ => Fate::Silent,
            };
        }
        if matches!(self.echo.verdict(), Verdict::Elsewhere { .. }) {
            return Fate::Silent;
        }
        // An edit that nobody has answered may still come, unless the editor, asked later, has a newer version: then
        // it is stale, and an editor that answers such questions checks versions.
        let stale = self.asked && watch.now.epoch == self.epoch && watch.now.version > self.version;
        let settled = stale || matches!(self.reply, Reply::Applied | Reply::Refused(_));
        match self.judge(desk).await {
            End::Merged => Fate::Merged,
            End::NotThere if settled => Fate::NotThere,
            End::NotThere => Fate::Silent,
            End::Unclear => Fate::Unclear,
        }
    }
}
