//! The text that a command cannot see, for it is not on the disk: of open documents, and of what is only proposed. Where
//! the user wants that, documents are saved first.

use std::future::Future;
use std::time::Duration;

use tokio::sync::mpsc;

use crate::editor::AskError;
use crate::tool::Context;
use crate::workspace::documents::DocEvent;
use crate::workspace::{Key, Snapshot};

use super::words::named;

/// So long the editor may take to save, its formatters included.
const SAVE: Duration = Duration::from_secs(10);

/// So many documents are looked at.
const LOOKED_AT: usize = 1000;

/// What a command did not see.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Unseen {
    /// Documents with unsaved text, by name and URI, sorted.
    pub unsaved: Vec<(String, String)>,
    /// Files for which something is only proposed, sorted.
    pub proposed: Vec<String>,
    /// Documents that were to be saved and were not, each with the reason.
    pub not_saved: Vec<String>,
    /// Documents whose text was another one when they had been saved.
    pub changed_on_save: Vec<String>,
}

impl Unseen {
    /// In words; empty where there is nothing.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut tell = |what: &str, names: &[String]| {
            if !names.is_empty() {
                words.push(format!("{what}{}", named(names)));
            }
        };
        tell("could not be saved before it ran: ", &self.not_saved);
        tell("the editor changed the text when it saved ", &self.changed_on_save);
        let unsaved: Vec<String> = self.unsaved.iter().map(|(shown, _)| shown.clone()).collect();
        tell("it read the disk, and did not see the unsaved text of ", &unsaved);
        tell("it did not see what is only proposed for ", &self.proposed);
        words
    }

    /// The documents with unsaved text.
    pub(super) fn uris(&self) -> Vec<&str> {
        self.unsaved.iter().map(|(_, uri)| uri.as_str()).collect()
    }
}

/// An open document of the workspace with text that is not on the disk.
struct Unsaved {
    shown: String,
    document: Snapshot,
}

/// What a command that is about to run will not see. Documents are saved first, where that is wanted.
pub(super) async fn before(context: &Context) -> Unseen {
    let workspace = &context.workspace;
    let mut unseen = Unseen::default();
    let mut unsaved = look(context).await;
    if workspace.settings().save_before_bash && !unsaved.is_empty() {
        (unseen.not_saved, unseen.changed_on_save) = save(context, &unsaved).await;
        unsaved = look(context).await;
    }
    unseen.unsaved = unsaved.into_iter().map(|unsaved| (unsaved.shown, unsaved.document.uri)).collect();
    unseen.unsaved.sort();
    if let Some(session) = workspace.session() {
        unseen.proposed = workspace.pending(Some(session), None).await.into_iter().map(|file| file.shown).collect();
        unseen.proposed.sort();
        unseen.proposed.dedup();
    }
    unseen
}

async fn look(context: &Context) -> Vec<Unsaved> {
    let mut unsaved = Vec::new();
    for document in context.workspace.documents.all().into_iter().take(LOOKED_AT) {
        if !matches!(document.key, Key::File(_)) || context.workspace.on_disk(&document.key, &document.text).await {
            continue;
        }
        let (workspace, uri) = (context.workspace.clone(), document.uri.clone());
        let target = tokio::task::spawn_blocking(move || workspace.resolve(&uri)).await;
        if let Ok(Ok(target)) = target
            && target.inside
        {
            unsaved.push(Unsaved { shown: target.shown, document });
        }
    }
    unsaved
}

/// Has the editor save documents. Answers which were not, and why; and which had another text then.
async fn save(context: &Context, unsaved: &[Unsaved]) -> (Vec<String>, Vec<String>) {
    let workspace = &context.workspace;
    let uris: Vec<String> = unsaved.iter().map(|unsaved| unsaved.document.uri.clone()).collect();
    let all = |why: &str| {
        let each = unsaved.iter().map(|unsaved| format!("{}: {why}", unsaved.shown));
        (each.collect(), Vec::new())
    };
    if !workspace.editor.abilities().save {
        return all("the editor does not save when it is asked to");
    }
    // Watched before it is asked, so that nothing it does is missed.
    let watched: Vec<_> = unsaved.iter().map(|unsaved| workspace.documents.watch(&unsaved.document.key)).collect();
    let answer = tokio::select! {
        biased;
        () = context.cancel.cancelled() => return all("the call was cancelled"),
        answer = workspace.editor.save(&uris, SAVE) => answer,
    };
    // One that did not answer may have saved some all the same: which, the disk tells.
    let answer = answer.map_err(|error: AskError| error.to_string());
    let (mut failed, mut changed) = (Vec::new(), Vec::new());
    let clock = &workspace.ports.clock;
    let until = clock.now() + Duration::from_millis(workspace.settings().commit.echo_ms);
    for (unsaved, watched) in unsaved.iter().zip(watched) {
        let Some((now, events)) = watched else { continue };
        let failure = match &answer {
            Err(why) => Some(why.as_str()),
            Ok(answer) => {
                let failure = answer.failed.iter().find(|failure| failure.uri == unsaved.document.uri);
                failure.map(|failure| failure.reason.trim())
            }
        };
        let mut saving = Saving { written: now, said: false, closed: false, events };
        let over = async { clock.sleep(until.saturating_duration_since(clock.now())).await };
        match saving.over(context, failure, over).await {
            Ok(()) if saving.written.text != unsaved.document.text => changed.push(unsaved.shown.clone()),
            Ok(()) => {}
            Err(why) => failed.push(format!("{}: {why}", unsaved.shown)),
        }
    }
    (failed, changed)
}

/// A document that the editor was asked to save.
struct Saving {
    /// The text that the disk should have: the one that the editor said it saved, else the newest. What came after that is
    /// the user's.
    written: Snapshot,
    /// The editor said that it saved it.
    said: bool,
    closed: bool,
    events: mpsc::UnboundedReceiver<DocEvent>,
}

impl Saving {
    fn hear(&mut self, event: &DocEvent) {
        match event {
            DocEvent::Saved(saved) => (self.written, self.said) = (saved.clone(), true),
            DocEvent::Closed(_) => self.closed = true,
            _ if self.said => {}
            _ => self.written = event.snapshot().clone(),
        }
    }

    /// Waits until the disk has the text, or it is clear that it will not: then why. `failure` is what the editor said
    /// against it.
    async fn over(
        &mut self,
        context: &Context,
        failure: Option<&str>,
        over: impl Future<Output = ()>,
    ) -> Result<(), String> {
        let mut over = std::pin::pin!(over);
        loop {
            while let Ok(event) = self.events.try_recv() {
                self.hear(&event);
            }
            if context.workspace.saved_as(&self.written.key, &self.written.text).await {
                return Ok(());
            }
            if let Some(why) = failure {
                return Err(why.to_owned());
            }
            if self.closed {
                return Err("it was closed meanwhile".to_owned());
            }
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => self.hear(&event),
                () = context.cancel.cancelled() => return Err("the call was cancelled".to_owned()),
                () = &mut over => return Err("the editor said so, but the file has another text".to_owned()),
            }
        }
    }
}
