//! What an undo, or the undo of an undo, makes of one text.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;

use crate::dispatch::follow::hunks;
use crate::editor::Origin;
use crate::text::{BOM, Splice, Text, diff};
use crate::workspace::checkpoints::{Checkpoints, Did, MarkId};
use crate::workspace::commit::Rewrite;
use crate::workspace::{Refusal, RefusalKind, Rewritten};

/// In the data of a refusal: the text became another one, so that the file itself is to be dealt with otherwise.
const ANEW: &str = "anew";

/// What an undo does to one text, whatever it is by then.
pub(super) struct Back {
    pub(super) checkpoints: Arc<Checkpoints>,
    pub(super) page: u64,
    pub(super) what: What,
    pub(super) did: Did,
    /// Whether the file is to be one that can be run afterwards; absent: as it is.
    pub(super) executable: Option<bool>,
    /// The file, for messages.
    pub(super) shown: String,
}

/// Which way.
pub(super) enum What {
    /// These are undone.
    Undo(BTreeSet<MarkId>),
    /// This undo is undone; of a file that it had made again, the hash of its text.
    Redo(u64, Option<String>),
}

impl Back {
    /// The text afterwards.
    fn text(&self, now: Option<&Text>) -> Result<Option<Text>, Refusal> {
        match &self.what {
            What::Undo(which) => Ok(self.checkpoints.undo_of(self.page, now, which).map(|undo| undo.text)),
            What::Redo(undo, _) => match self.checkpoints.redo_of(self.page, now, *undo) {
                None => Ok(now.cloned().or_else(|| self.checkpoints.text_of(self.page))),
                Some(Ok(undo)) if undo.undone.is_empty() && !undo.left.is_empty() && self.did == Did::Text => {
                    Err(conflict(format!(
                        "You have changed the same lines of {} since; they stay as you left them.",
                        self.shown
                    )))
                }
                Some(Ok(undo)) => Ok(Some(undo.text)),
                Some(Err(by)) => Err(conflict(format!(
                    "The call {} of session {} has changed the same lines of {} since; undo that first.",
                    by.call, by.session, self.shown
                ))),
            },
        }
    }

    /// Whether the file is made again by this.
    fn makes(&self) -> bool {
        matches!((&self.what, &self.did), (What::Undo(_), Did::Created) | (What::Redo(..), Did::Deleted))
    }

    /// Whether the file is deleted by this.
    fn deletes(&self) -> bool {
        matches!((&self.what, &self.did), (What::Undo(_), Did::Deleted) | (What::Redo(..), Did::Created))
    }
}

impl Rewrite for Back {
    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal> {
        let had = self.checkpoints.text_of(self.page).unwrap_or_else(|| Text::new("", crate::text::LineBreaks::Lf));
        let Some(before) = before else {
            if !self.makes() {
                let words = format!("{} is not there any more; nothing was changed.", self.shown);
                return Err(Refusal::new(RefusalKind::NotFound, words));
            }
            let text = self.text(None)?.map(|text| text.to_string()).unwrap_or_default();
            let text = text.strip_prefix(BOM).unwrap_or(&text).to_owned();
            let hunks = hunks("undo", "", &text);
            return Ok(Rewritten { splices: vec![Splice { range: 0..0, text }], hunks, notes: Vec::new() });
        };
        let old = before.to_string();
        // A buffer that the editor still has of a deleted file is that file; any other text is somebody else's.
        if self.makes() && old != bare(&had.to_string()) {
            return Err(conflict(format!("There is another {} by now; nothing was changed.", self.shown)));
        }
        if let What::Redo(_, Some(made)) = &self.what
            && crate::text::hash(&old) != *made
        {
            return Err(conflict(format!("{} was changed since it was made again; it stays.", self.shown)));
        }
        if self.deletes() && matches!(self.what, What::Redo(..)) {
            return Ok(self.rewritten(&old, ""));
        }
        // The change is computed without a byte order mark; the ledger has the text as the editor has it.
        let marked = had.slice(0..BOM.len_utf8().min(had.len())).starts_with(BOM);
        let now =
            if marked { before.spliced(&[Splice { range: 0..0, text: BOM.to_string() }]) } else { before.clone() };
        let after = self.text(Some(&now))?.map_or_else(|| old.clone(), |text| bare(&text.to_string()).to_owned());
        if self.deletes() && !after.is_empty() {
            let data = Some(json!({ "reason": ANEW }));
            return Err(Refusal { data, ..conflict(format!("{} has text in it that is not the call's.", self.shown)) });
        }
        Ok(self.rewritten(&old, &after))
    }

    fn executable(&self) -> Option<bool> {
        self.executable
    }

    fn origin(&self) -> Origin {
        Origin::User
    }
}

impl Back {
    fn rewritten(&self, old: &str, new: &str) -> Rewritten {
        let name = if matches!(self.what, What::Undo(_)) { "undo" } else { "redo" };
        Rewritten { splices: diff::splices(old, new), hunks: hunks(name, old, new), notes: Vec::new() }
    }
}

/// A text without a byte order mark.
pub(super) fn bare(text: &str) -> &str {
    text.strip_prefix(BOM).unwrap_or(text)
}

fn conflict(words: String) -> Refusal {
    Refusal::new(RefusalKind::Conflict, words)
}

/// Whether an undo is to be planned anew: the text became one that asks for another change of the file itself.
pub(super) fn anew(refusal: &Refusal) -> bool {
    refusal.data.as_ref().is_some_and(|data| data["reason"] == ANEW)
}
