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
use crate::workspace::documents::{DocEvent, Snapshot, Sync};

use super::Desk;
use super::echo::{Echo, Sent, Verdict};
use super::evidence::End;

/// How long the answer to an edit is listened for: longer than the echo is waited for, since a late answer still opens
/// a shut queue.
const REPLY: Duration = Duration::from_mins(1);
/// How long a closed document may take to be opened again (`:e` closes and opens) before it counts as closed.
const REOPEN: Duration = Duration::from_millis(300);

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
    /// The connection is gone, or the answer did not come.
    Lost,
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
    };
    let echo = Duration::from_millis(desk.settings.commit.echo_ms);
    let mut timer = desk.clock().sleep(echo);
    loop {
        if let Some(fate) = delivery.early(watch) {
            return (fate, delivery);
        }
        tokio::select! {
            biased;
            Some(event) = watch.events.recv() => {
                let closed = matches!(event, DocEvent::Closed(_));
                let opened = matches!(event, DocEvent::Opened(_));
                delivery.take(watch, &event);
                if closed {
                    if let Some(text) = desk.saved_as(&watch.now.key, &delivery.echo.sent().expected).await {
                        return (Fate::Saved(text), delivery);
                    }
                    timer = desk.clock().sleep(REOPEN.min(echo));
                } else if opened {
                    timer = desk.clock().sleep(echo);
                } else if delivery.suspect.is_some() && !delivery.asked {
                    delivery.ask(desk, watch).await;
                }
            }
            answer = &mut delivery.answer, if delivery.reply == Reply::None => delivery.reply = heard(answer),
            () = &mut timer => break,
        }
    }
    // The mirror can come into doubt without a change having come.
    if let Some(Snapshot { trust: Sync::Suspect(why), .. }) = desk.documents.get(&watch.now.key) {
        delivery.suspect = Some(why);
    }
    if delivery.wants_asking(watch) {
        delivery.ask(desk, watch).await;
    }
    let fate = delivery.early(watch).unwrap_or_else(|| delivery.late(watch));
    (fate, delivery)
}

/// What an answer means.
pub(super) fn heard(answer: Result<Result<EditReply, AskError>, oneshot::error::RecvError>) -> Reply {
    match answer {
        Ok(Ok(EditReply { applied: true, .. })) => Reply::Applied,
        Ok(Ok(EditReply { reason, .. })) => Reply::Refused(reason.unwrap_or_else(|| "it gave no reason".to_owned())),
        Ok(Err(AskError::Refused(why))) => Reply::Refused(why),
        Ok(Err(AskError::Unsupported)) => Reply::Unsupported,
        Ok(Err(AskError::Timeout | AskError::Gone)) | Err(_) => Reply::Lost,
    }
}

impl Delivery {
    /// Takes one event in.
    pub(super) fn take(&mut self, watch: &mut Watch, event: &DocEvent) {
        match event {
            DocEvent::Changed { steps, after, .. } => {
                for step in steps.iter() {
                    self.echo.push(&step.splice, step.after.clone(), after.version);
                }
            }
            DocEvent::Opened(after) | DocEvent::Resynced(after) => self.echo.jump(&after.text, after.version),
            DocEvent::Saved(_) | DocEvent::Closed(_) => {}
        }
        self.closed = matches!(event, DocEvent::Closed(_));
        watch.now = event.snapshot().clone();
        self.suspect = match &watch.now.trust {
            Sync::Good => None,
            Sync::Suspect(why) => Some(why.clone()),
        };
    }

    /// Asks the editor for its text, where it can tell, and takes in whatever has happened by then.
    pub(super) async fn ask(&mut self, desk: &Desk, watch: &mut Watch) {
        self.asked = desk.resync(&watch.now).await;
        while let Ok(event) = watch.events.try_recv() {
            self.take(watch, &event);
        }
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

    /// The fate, if it is certain before the wait is over.
    fn early(&mut self, watch: &Watch) -> Option<Fate> {
        if self.reply == Reply::Unsupported {
            return Some(Fate::Unsupported);
        }
        if self.suspect.is_some() || self.closed {
            return None;
        }
        if self.refused() {
            self.echo.forgive();
        }
        match (self.echo.verdict(), &self.reply) {
            (Verdict::Landed { step, version }, _) => return Some(Fate::Landed { step, version }),
            (Verdict::Elsewhere { on, step }, Reply::Applied) => return Some(Fate::Elsewhere { on, step }),
            (Verdict::Elsewhere { .. }, _) => return None,
            (Verdict::Waiting, _) => {}
        }
        if !self.moved_on(watch) || !matches!(self.reply, Reply::Applied | Reply::Refused(_)) {
            return None;
        }
        match (self.echo.end(self.refused()), self.refused()) {
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
    fn late(&mut self, watch: &Watch) -> Fate {
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
        match self.echo.end(self.refused()) {
            End::Merged => Fate::Merged,
            End::NotThere if settled => Fate::NotThere,
            End::NotThere => Fate::Silent,
            End::Unclear => Fate::Unclear,
        }
    }
}
