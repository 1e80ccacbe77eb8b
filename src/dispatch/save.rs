//! Saves what a call changed, where its session wants that. The editor does it, and may format the text on that occasion;
//! a document counts as saved when the disk is seen to hold its text.

use std::time::Duration;

use tokio::sync::mpsc;

use crate::editor::{AskError, SaveResult};
use crate::languages::Edited;
use crate::sessions::policy::Save;
use crate::text::{Text, diff};
use crate::workspace::checkpoints::Change;
use crate::workspace::documents::DocEvent;
use crate::workspace::{Fate, Hunk, Key, Snapshot};

use super::change::{self, Made};
use super::follow::{Followed, hunks, places};
use super::{Call, Dispatch};

/// So long the editor may take to save, its formatters included.
const SAVE: Duration = Duration::from_secs(10);

/// A document that is being saved.
struct Saving {
    /// The number of its last change.
    at: usize,
    edited: Edited,
    /// It when the editor was asked.
    asked: Snapshot,
    /// It as it is now.
    now: Snapshot,
    /// It when the editor last said that it was saved.
    saved: Option<Snapshot>,
    events: mpsc::UnboundedReceiver<DocEvent>,
}

impl Saving {
    fn hear(&mut self, event: &DocEvent) {
        self.now = event.snapshot().clone();
        if let DocEvent::Saved(saved) = event {
            self.saved = Some(saved.clone());
        }
    }

    /// The text that should be on the disk: the one that the editor said it saved, else the newest. What came after that
    /// is the user's.
    fn written(&mut self) -> Snapshot {
        while let Ok(event) = self.events.try_recv() {
            self.hear(&event);
        }
        self.saved.as_ref().unwrap_or(&self.now).clone()
    }
}

impl Dispatch {
    /// Saves the documents that the call changed, if its session wants that, and tells what the editor changed on that
    /// occasion.
    pub(super) async fn save(&self, call: &Call<'_>, made: &mut Made) {
        let editor = &self.workspace.editor;
        let policy = call.context.session.wanted().save(editor.abilities().save);
        if policy == Save::Never {
            return;
        }
        let mut saving = Vec::new();
        for at in made.last_of_each() {
            match self.to_be_saved(made, at, policy).await {
                Ok(Some(one)) => saving.push(one),
                Ok(None) => {}
                Err(why) => made.note(at, &format!("it was not saved: {why}")),
            }
        }
        if saving.is_empty() {
            return;
        }
        let uris: Vec<String> = saving.iter().map(|one| one.asked.uri.clone()).collect();
        let cancelled = call.context.cancel.cancelled();
        let answer = if call.context.cancel.is_cancelled() {
            Err("the call was cancelled".to_owned())
        } else {
            tokio::select! {
                biased;
                () = cancelled => Err("the call was cancelled meanwhile, and the disk does not have it yet".to_owned()),
                answer = editor.save(&uris, SAVE) => answer.map_err(|error: AskError| error.to_string()),
            }
        };
        for one in saving {
            self.saved(call, made, one, &answer).await;
        }
    }

    /// A changed document that is to be saved; `None` for what is no document, or is on the disk already.
    async fn to_be_saved(&self, made: &mut Made, at: usize, policy: Save) -> Result<Option<Saving>, &'static str> {
        let edited = made.settling[at].1.clone();
        let key = &edited.target.key;
        if edited.version.is_none() || !matches!(key, Key::File(_)) {
            return Ok(None);
        }
        let Some((now, events)) = self.workspace.documents.watch(key) else { return Ok(None) };
        if self.workspace.on_disk(key, &now.text).await {
            made.saved(key);
            return Ok(None);
        }
        if policy == Save::IfClean {
            if now.text != edited.after {
                return Err("the user goes on with it");
            }
            let first = made.settling.iter().find(|(_, first)| first.target.key == *key);
            let before = first.map(|(prepared, _)| prepared.before().1.clone());
            let changed = made.texts.iter().find(|(changed, _, _)| changed == key);
            let as_prepared = |before: &Text| changed.is_some_and(|(_, was, _)| *was == Some(change::hash(before)));
            let clean = match before.filter(as_prepared) {
                Some(before) => self.workspace.on_disk(key, &before).await,
                None => false,
            };
            if !clean {
                return Err("it had unsaved changes before");
            }
        }
        Ok(Some(Saving { at, edited, asked: now.clone(), now, saved: None, events }))
    }

    /// Looks whether a document was saved, and what the editor changed on that occasion.
    async fn saved(&self, call: &Call<'_>, made: &mut Made, mut one: Saving, answer: &Result<SaveResult, String>) {
        let failed = match answer {
            Err(why) => Some(why.as_str()),
            Ok(answer) => {
                answer.failed.iter().find(|failure| failure.uri == one.asked.uri).map(|failure| failure.reason.as_str())
            }
        };
        let patience = match failed {
            Some(_) => Duration::ZERO,
            None => Duration::from_millis(self.workspace.settings().commit.echo_ms),
        };
        let Some(written) = self.seen_on_disk(call, &mut one, patience).await else {
            let why = failed.map_or("the editor said so, but the file on the disk has another text", str::trim);
            made.note(one.at, &format!("it could not be saved: {why}"));
            return;
        };
        if written.text != one.asked.text {
            self.changed_on_save(call, made, &one, written).await;
        }
        made.saved(&one.edited.target.key);
    }

    /// The document as it was saved, once the disk is seen to hold its text.
    async fn seen_on_disk(&self, call: &Call<'_>, one: &mut Saving, patience: Duration) -> Option<Snapshot> {
        let over = self.workspace.ports.clock.sleep(patience);
        tokio::pin!(over);
        loop {
            let written = one.written();
            if self.workspace.saved_as(&one.edited.target.key, &written.text).await {
                return Some(written);
            }
            tokio::select! {
                biased;
                event = one.events.recv() => one.hear(&event?),
                () = call.context.cancel.cancelled() => return None,
                () = &mut over => return None,
            }
        }
    }

    /// The editor changed a document when it saved it.
    async fn changed_on_save(&self, call: &Call<'_>, made: &mut Made, one: &Saving, written: Snapshot) {
        let (before, after) = (one.asked.text.clone(), written.text.clone());
        let shown = one.edited.target.shown.clone();
        let look = move || {
            let (old, new) = (before.to_string(), after.to_string());
            let plain = |text: &str| crate::text::LineEnd::Lf.apply(text);
            let diff = diff::unified(&shown, &plain(&old), &plain(&new));
            (diff::splices(&old, &new), hunks("save", &old, &new), diff)
        };
        let Ok((splices, hunks, unified_diff)) = tokio::task::spawn_blocking(look).await else { return };
        let words = told(&one.edited.target.shown, &hunks);
        let changed = Change {
            target: one.edited.target.clone(),
            fate: Fate::Stays,
            before: Some(one.asked.text.clone()),
            after: written.text.clone(),
            splices: splices.clone(),
            versions: Some((one.asked.version, written.version)),
            executable: None,
        };
        self.workspace.checkpoints.folded(&changed, &call.by());
        let followed = Followed {
            target: one.edited.target.clone(),
            before: one.asked.text.clone(),
            after: written.text,
            splices,
            version_before: Some(one.asked.version),
            version_after: Some(written.version),
            unsaved: false,
            hunks,
            unified_diff,
            words,
            notes: Vec::new(),
        };
        self.followed(call, made, one.at, followed);
    }
}

fn told(shown: &str, hunks: &[Hunk]) -> String {
    format!("The editor changed {shown} when it saved it: {}.", places(hunks))
}

impl Made {
    /// What was changed of this document is on the disk.
    fn saved(&mut self, key: &Key) {
        let ours = self.settling.iter().zip(&self.places).filter(|((_, edited), _)| edited.target.key == *key);
        for (_, &place) in ours {
            if let (Some(edit), Some(told)) = (self.edits.get_mut(place), self.told.get_mut(place)) {
                edit.unsaved = false;
                told.saved();
            }
        }
    }
}
