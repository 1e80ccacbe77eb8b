//! Edits of one text in order, each on the result of the one before, all or none: what `edit` and `multi_edit` share.
//! Pure.

mod told;

use serde_json::json;

use crate::replace::{self, Found, Miss, MissKind, Request};
use crate::text::{LineBreaks, Text};
use crate::workspace::{Hunk, Refusal, RefusalKind, Rewrite, Rewritten};

use super::compose::{By, Change, compose};
use super::hunks;

/// One edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// The text that should be there.
    pub(crate) old: String,
    /// What should be there instead.
    pub(crate) new: String,
    /// Whether to replace every place.
    pub(crate) all: bool,
}

/// The change that some edits ask for, whatever the text is by then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sequence {
    /// The file as the call names it.
    path: String,
    steps: Vec<Step>,
    /// Whether the edits are told by their numbers.
    numbered: bool,
}

impl Sequence {
    /// One edit, which needs no number.
    pub(crate) fn one(path: &str, step: Step) -> Sequence {
        Sequence { path: path.to_owned(), steps: vec![step], numbered: false }
    }

    /// Several, told by their numbers from 1.
    pub(crate) fn several(path: &str, steps: Vec<Step>) -> Sequence {
        Sequence { path: path.to_owned(), steps, numbered: true }
    }
}

/// The edits of a sequence made so far.
#[derive(Debug, Default)]
struct Made {
    /// The text after them; `None` before the first.
    now: Option<Text>,
    /// Their changes of the text before all of them.
    changes: Vec<Change>,
    /// How each of them found its places, and how many places only looser strategies would take.
    ways: Vec<(By, usize, usize)>,
}

impl Made {
    fn now<'a>(&'a self, before: &'a Text) -> &'a Text {
        self.now.as_ref().unwrap_or(before)
    }

    fn make(&mut self, before: &Text, found: &Found) {
        let by = By { edit: self.ways.len(), strategy: found.strategy, similarity: found.similarity };
        let now = self.now.as_ref().unwrap_or(before);
        self.changes = compose(std::mem::take(&mut self.changes), now, &found.splices, by);
        self.now = Some(now.spliced(&found.splices));
        self.ways.push((by, found.splices.len(), found.near));
    }
}

impl Rewrite for Sequence {
    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal> {
        // A file that does not exist yet is as empty as an empty one.
        let text = before.cloned().unwrap_or_else(|| Text::new("", LineBreaks::Lf));
        if let Some(first) = self.steps.first().filter(|first| before.is_none() && !first.old.is_empty()) {
            return Err(self.no_file(first));
        }
        let mut made = Made::default();
        for step in &self.steps {
            let found = find(made.now(&text), step).map_err(|miss| self.refuse(&text, &made, &miss))?;
            made.make(&text, &found);
        }
        made.changes.retain(|change| text.slice(change.splice.range.clone()) != change.splice.text);
        if made.changes.is_empty() {
            return Err(self.undone());
        }
        let hunks = hunks(&text, &made.changes);
        let notes = self.notes(&made, &hunks);
        Ok(Rewritten { splices: made.changes.into_iter().map(|change| change.splice).collect(), hunks, notes })
    }
}

fn find(text: &Text, step: &Step) -> Result<Found, Miss> {
    replace::find_in(text, &Request { old: &step.old, new: &step.new, all: step.all })
}

/// The places as the protocol has them. One that several edits had a part in is called by what is least certain of it.
fn hunks(before: &Text, changes: &[Change]) -> Vec<Hunk> {
    let spans = hunks::spans(before, changes.iter().map(|change| &change.splice));
    let rank = |name: &str| replace::STRATEGIES.iter().position(|strategy| strategy.name == name);
    changes
        .iter()
        .zip(spans)
        .map(|(change, (before, after))| Hunk {
            strategy: change
                .by
                .iter()
                .map(|by| by.strategy)
                .max_by_key(|name| rank(name))
                .unwrap_or_default()
                .to_owned(),
            similarity: change.by.iter().map(|by| by.similarity).fold(1.0, f64::min),
            before,
            after,
        })
        .collect()
}

impl Sequence {
    fn no_file(&self, first: &Step) -> Refusal {
        let which = if self.numbered { "the old_string of edit 1" } else { "old_string" };
        let words = format!(
            "There is no file {}, so {which} cannot be in it. Check the path; to make a new file, send an empty \
             old_string{} or use the write tool.",
            self.path,
            if self.numbered { " in the first edit" } else { "" }
        );
        tracing::debug!(path = self.path, bytes = first.old.len(), "an edit of a file that is not there");
        Refusal { kind: RefusalKind::NotFound, message: words, data: self.numbered.then(|| json!({ "edit": 1 })) }
    }

    fn undone(&self) -> Refusal {
        Refusal::new(
            RefusalKind::InvalidArguments,
            format!(
                "{}: the edits undo each other: after all {} the text would be the same as before, so there is nothing \
                 to change. Send only the edits whose results are to stay.",
                self.path,
                self.steps.len()
            ),
        )
    }
}

fn kind(miss: &Miss) -> RefusalKind {
    match miss.kind {
        MissKind::Identical | MissKind::EmptyOld | MissKind::Elision => RefusalKind::InvalidArguments,
        MissKind::NotFound => RefusalKind::NotFound,
        MissKind::Ambiguous => RefusalKind::Ambiguous,
        MissKind::Conflict => RefusalKind::Conflict,
    }
}

#[cfg(test)]
mod tests;
