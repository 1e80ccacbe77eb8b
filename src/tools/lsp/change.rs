//! From a server's edit to changes of files: all of it or nothing, and each of exactly the text the server answered for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::languages::ask::Seen;
use crate::languages::ask::edits::{Edits, Operation, TextEdits};
use crate::permissions::visible;
use crate::text::{BOM, Clamp, LineBreaks, Splice, Text};
use crate::tool::{ErrorKind, ToolError};
use crate::tools::edit::hunks::spans;
use crate::workspace::{
    Fate, FileChange, Hunk, Key, Probe, Refusal, RefusalKind, Rewrite, Rewritten, Target, Workspace,
};

use super::desk::Stop;

#[cfg(test)]
mod tests;

/// What a change is for, and what is known of it.
pub(in crate::tools) struct Purpose<'a> {
    /// What is said of each place, and in the undo list.
    pub(in crate::tools) label: String,
    /// How the places were found, in one word.
    pub(in crate::tools) strategy: &'static str,
    /// Remarks for the model.
    pub(in crate::tools) notes: Vec<String>,
    /// Of a renaming, the old and the new name: where the server's text is not known for certain, only the old name may
    /// give way to the new one.
    pub(in crate::tools) names: Option<(&'a str, &'a str)>,
}

/// A file on its way through the operations.
struct Work {
    target: Target,
    /// The text before all of it; `None`: there is no such file.
    before: Option<Text>,
    /// Lists of edits, in order.
    lists: Vec<TextEdits>,
    /// It is emptied before it is edited.
    emptied: bool,
    fate: Fate,
    /// Whether the server had exactly this text before it.
    certain: bool,
}

/// The files of an edit, by the key each has at the moment.
struct Plan<'a> {
    workspace: &'a Workspace,
    seen: &'a Seen,
    /// In the order in which they came up.
    work: Vec<Work>,
    at: BTreeMap<Key, usize>,
    /// Where files were before they were moved away.
    left: BTreeSet<Key>,
}

/// The files that an edit changes the text of and that the server was not told of.
pub(super) fn unknown(edits: &Edits, seen: &Seen, workspace: &Workspace) -> BTreeSet<String> {
    let unknown = |operation: &Operation| match operation {
        Operation::Edit { uri, .. } => {
            let key = workspace.key_of(uri)?;
            seen.text(&key).is_none().then(|| uri.clone())
        }
        _ => None,
    };
    edits.operations.iter().filter_map(unknown).collect()
}

/// The changes of files that make a server's edit. Sorted by name; none where nothing would change.
pub(in crate::tools) async fn changes(
    edits: &Edits,
    seen: &Seen,
    workspace: &Workspace,
    purpose: &Purpose<'_>,
) -> Result<Vec<FileChange>, Stop> {
    let mut plan = Plan { workspace, seen, work: Vec::new(), at: BTreeMap::new(), left: BTreeSet::new() };
    for operation in &edits.operations {
        plan.take(operation).await?;
    }
    let mut notes = purpose.notes.clone();
    notes.extend(edits.confirm.iter().map(|label| format!("the server wants this looked at: {}", visible(label))));
    let mut changes = Vec::new();
    for work in plan.work {
        let notes = if changes.is_empty() { notes.clone() } else { Vec::new() };
        changes.extend(work.change(seen, purpose, notes)?);
    }
    changes.sort_by(|a: &FileChange, b| (&a.target.shown, &a.target.uri).cmp(&(&b.target.shown, &b.target.uri)));
    Ok(changes)
}

fn refused(message: String) -> Stop {
    Stop::Failed(ToolError::new(ErrorKind::Failed, message))
}

impl Plan<'_> {
    async fn take(&mut self, operation: &Operation) -> Result<(), Stop> {
        match operation {
            Operation::Edit { uri, version, edits } => {
                let at = self.work(uri).await?;
                let work = &mut self.work[at];
                if !work.exists() {
                    return Err(refused(format!(
                        "The server's edit is of {}, which does not exist; nothing was changed.",
                        visible(&work.target.shown)
                    )));
                }
                if !self.seen.agrees(&work.target.key, *version) {
                    return Err(Stop::Moved);
                }
                work.lists.push(edits.clone());
            }
            Operation::Create { uri, overwrite, ignore_if_exists } => {
                let at = self.work(uri).await?;
                let work = &mut self.work[at];
                if work.before.is_some() && work.fate != Fate::Deleted {
                    match (overwrite, ignore_if_exists) {
                        (true, _) => {}
                        (false, true) => return Ok(()),
                        (false, false) => {
                            return Err(refused(format!(
                                "The server's edit makes {}, which exists already; nothing was changed.",
                                visible(&work.target.shown)
                            )));
                        }
                    }
                }
                work.lists.clear();
                (work.emptied, work.fate) = (true, Fate::Stays);
            }
            Operation::Rename { from, to, overwrite, ignore_if_exists } => {
                let at = self.work(from).await?;
                let to = self.target(to)?;
                let taken = self.at.get(&to.key).is_some_and(|other| self.work[*other].exists())
                    || (!self.at.contains_key(&to.key) && !self.left.contains(&to.key) && self.taken(&to).await);
                if taken && *ignore_if_exists && !overwrite {
                    return Ok(());
                }
                let work = &mut self.work[at];
                let shown = visible(&work.target.shown);
                if taken {
                    let to = visible(&to.shown);
                    return Err(refused(format!(
                        "The server's edit moves {shown} to {to}, where something is already; nothing was changed."
                    )));
                }
                if !work.exists() {
                    return Err(refused(format!(
                        "The server's edit moves {shown}, which does not exist; nothing was changed."
                    )));
                }
                let freed = self.at.get(&to.key).is_some_and(|other| *other != at) || self.left.contains(&to.key);
                if freed && to.key != self.work[at].target.key {
                    let to = visible(&to.shown);
                    return Err(refused(format!(
                        "The server's edit moves {shown} to {to} after what is there now is gone, which is not made in one \
                         step; nothing was changed."
                    )));
                }
                let work = &mut self.work[at];
                self.at.retain(|_, other| *other != at);
                self.at.insert(to.key.clone(), at);
                self.left.insert(work.target.key.clone());
                if work.before.is_none() {
                    work.target = to;
                } else if work.target.key == to.key {
                    work.fate = Fate::Stays;
                } else {
                    work.fate = Fate::Moved { to };
                }
            }
            Operation::Delete { uri, ignore_if_not_exists } => {
                let at = self.work(uri).await?;
                let work = &mut self.work[at];
                if !work.exists() {
                    if *ignore_if_not_exists {
                        return Ok(());
                    }
                    let shown = visible(&work.target.shown);
                    return Err(refused(format!(
                        "The server's edit deletes {shown}, which does not exist; nothing was changed."
                    )));
                }
                work.lists.clear();
                (work.emptied, work.fate) = (false, Fate::Deleted);
            }
        }
        Ok(())
    }

    /// Whether anything has a name already: a folder, a file, or a document that is open.
    async fn taken(&self, target: &Target) -> bool {
        match self.workspace.probe(target).await {
            Ok(Probe::Other) => {
                let found = self.workspace.view(target).await;
                !found.is_err_and(|refusal| refusal.kind == RefusalKind::NotFound)
            }
            Ok(Probe::Folder(_) | Probe::File { .. }) => true,
            Err(refusal) => refusal.kind != RefusalKind::NotFound,
        }
    }

    fn target(&self, uri: &str) -> Result<Target, Stop> {
        if self.workspace.key_of(uri).is_none() {
            return Err(refused(format!(
                "The server's edit is of {}, which is no file that can be changed here; nothing was changed.",
                visible(uri)
            )));
        }
        Ok(self.workspace.resolve(uri)?)
    }

    /// The file of a URI, read if it was not yet. A file that does not exist is one too.
    async fn work(&mut self, uri: &str) -> Result<usize, Stop> {
        let target = self.target(uri)?;
        if let Some(at) = self.at.get(&target.key) {
            return Ok(*at);
        }
        if self.left.contains(&target.key) {
            return Err(refused(format!(
                "The server's edit is of {} after it is moved away; nothing was changed.",
                visible(&target.shown)
            )));
        }
        let (before, unsaved) = match self.workspace.view(&target).await {
            Ok(view) => {
                if view.proposed() {
                    return Err(refused(format!(
                        "The server's edit is of {}, for which you propose changes that no server has seen; nothing was \
                         changed. It can be made once these are accepted or rejected.",
                        visible(&target.shown)
                    )));
                }
                let unsaved = view.unsaved();
                (Some(view.text), unsaved)
            }
            Err(refusal) if refusal.kind == RefusalKind::NotFound => (None, false),
            Err(refusal) => return Err(refusal.into()),
        };
        let known = self.seen.text(&target.key);
        if let (Some(known), Some(before)) = (known, &before)
            && known.rope() != before.rope()
        {
            return Err(Stop::Moved);
        }
        // The server has read the file, and the buffer is another text.
        if known.is_none() && unsaved {
            let shown = visible(&target.shown);
            return Err(refused(format!(
                "The server's edit is of {shown}, which has unsaved changes that the server was not told of; nothing was \
                 changed. Once it is saved the call can be made again."
            )));
        }
        let at = self.work.len();
        self.at.insert(target.key.clone(), at);
        let (certain, lists, fate) = (known.is_some(), Vec::new(), Fate::Stays);
        self.work.push(Work { target, before, lists, emptied: false, fate, certain });
        Ok(at)
    }
}

impl Work {
    /// Whether the file is there at this point of the operations.
    fn exists(&self) -> bool {
        self.fate != Fate::Deleted && (self.before.is_some() || self.emptied)
    }

    fn change(self, seen: &Seen, purpose: &Purpose<'_>, notes: Vec<String>) -> Result<Option<FileChange>, Stop> {
        let empty = Text::new("", LineBreaks::Lf);
        let base = match &self.before {
            Some(before) if !self.emptied => before,
            _ => &empty,
        };
        let shown = visible(&self.target.shown);
        let strict = !self.certain && !self.emptied;
        let names = purpose.names.filter(|_| strict);
        let mut splices = combined(base, &self.lists, seen, strict, names).map_err(|why| {
            refused(format!("The server's edit of {shown} was not made: {why}. Nothing was changed."))
        })?;
        if self.fate == Fate::Deleted {
            if self.before.is_none() {
                return Ok(None);
            }
            splices = vec![Splice { range: 0..base.len(), text: String::new() }];
        } else if self.emptied {
            let text = base.spliced(&splices).to_string();
            let all = self.before.as_ref().map_or(0, Text::len);
            splices = vec![Splice { range: 0..all, text }];
        }
        let idle = splices.iter().all(|splice| base.slice(splice.range.clone()) == splice.text);
        if idle && self.fate == Fate::Stays && !self.emptied {
            return Ok(None);
        }
        let before = self.before.as_ref().map(bare);
        if let Some((_, mark)) = &before {
            for splice in &mut splices {
                splice.range = splice.range.start.saturating_sub(*mark)..splice.range.end.saturating_sub(*mark);
            }
        }
        let before = before.map(|(text, _)| text);
        let exactly = Exactly { shown, before, splices, strategy: purpose.strategy, notes };
        Ok(Some(FileChange {
            target: self.target,
            rewrite: Arc::new(exactly),
            label: purpose.label.clone(),
            fate: self.fate,
        }))
    }
}

/// A text without its byte order mark, and the length of that.
fn bare(text: &Text) -> (Text, usize) {
    let mark = BOM.len_utf8();
    if text.slice(0..mark).starts_with(BOM) {
        (text.spliced(&[Splice { range: 0..mark, text: String::new() }]), mark)
    } else {
        (text.clone(), 0)
    }
}

/// Lists of edits of one text as splices of it. Whether the second list is about the text after the first is not said by
/// the protocol clearly, and servers differ: where it makes a difference, nobody knows what is meant.
fn combined(
    base: &Text,
    lists: &[TextEdits],
    seen: &Seen,
    strict: bool,
    names: Option<(&str, &str)>,
) -> Result<Vec<Splice>, String> {
    let all: TextEdits = lists.iter().flatten().cloned().collect();
    let together = splices(base, &all, seen, strict, names);
    if lists.len() < 2 {
        return together;
    }
    let mut now = base.clone();
    for list in lists {
        now = now.spliced(&splices(&now, list, seen, strict, names)?);
    }
    let together = together?;
    if base.spliced(&together).rope() == now.rope() {
        Ok(together)
    } else {
        Err("it has several lists of edits of this file, which can be understood in two ways".to_owned())
    }
}

/// Edits as splices that rise and do not overlap; those that touch in one point, so that their order would be lost, are
/// one. `strict`: a place that does not fit the text is refused, also where editors would bend it. `names`: what may give
/// way to what.
fn splices(
    base: &Text,
    edits: &TextEdits,
    seen: &Seen,
    strict: bool,
    names: Option<(&str, &str)>,
) -> Result<Vec<Splice>, String> {
    let theirs = base.with_breaks(LineBreaks::Lsp);
    let mut found = Vec::with_capacity(edits.len());
    for edit in edits {
        let (splice, clamp) = theirs.splice_of(edit, seen.encoding);
        let at = theirs.line_of(splice.range.start) + 1;
        match clamp {
            Clamp::Exact => {}
            // Behind a line, or the text, is its end by the protocol; far behind it is another text.
            Clamp::PastEnd if !strict && edit.range.start.line as usize <= theirs.line_count() => {}
            Clamp::PastEnd | Clamp::MidCharacter => {
                return Err(format!("a place at line {} does not fit the text as it is", edit.range.start.line + 1));
            }
        }
        let there = theirs.slice(splice.range.clone());
        if let Some((old, new)) = names
            && splice.text == new
            && there != old
        {
            return Err(format!("at line {at} there is {there:?}, not {old:?}"));
        }
        found.push(splice);
    }
    found.sort_by_key(|splice| (splice.range.start, splice.range.end));
    let mut out: Vec<Splice> = Vec::with_capacity(found.len());
    for splice in found {
        match out.last_mut() {
            Some(last) if splice.range.start < last.range.end => {
                let line = theirs.line_of(splice.range.start) + 1;
                return Err(format!("two of its changes overlap at line {line}"));
            }
            Some(last)
                if splice.range.start == last.range.end && (last.range.is_empty() || splice.range.is_empty()) =>
            {
                last.range.end = splice.range.end;
                last.text.push_str(&splice.text);
            }
            _ => out.push(splice),
        }
    }
    Ok(out)
}

/// Makes splices of exactly one text, and refuses every other.
struct Exactly {
    shown: String,
    /// Without a byte order mark.
    before: Option<Text>,
    splices: Vec<Splice>,
    strategy: &'static str,
    notes: Vec<String>,
}

impl Rewrite for Exactly {
    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal> {
        if before.map(Text::rope) != self.before.as_ref().map(Text::rope) {
            let message = format!(
                "{} changed after the language server was asked; it was not changed. Send the call again: the server is \
                 then asked about the text as it is.",
                self.shown
            );
            return Err(Refusal::outdated(message));
        }
        let empty = Text::new("", LineBreaks::Lf);
        let hunks = spans(before.unwrap_or(&empty), self.splices.iter()).into_iter().map(|(before, after)| Hunk {
            strategy: self.strategy.to_owned(),
            similarity: 1.0,
            before,
            after,
        });
        Ok(Rewritten { splices: self.splices.clone(), hunks: hunks.collect(), notes: self.notes.clone() })
    }
}
