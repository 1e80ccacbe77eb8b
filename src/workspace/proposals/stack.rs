//! All that one session proposes. Pure: the real texts come from outside.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::text::{BOM, Splice, Text};
use crate::workspace::checkpoints::{By, MarkId};
use crate::workspace::commit::Fate;
use crate::workspace::paths::{Key, Target};
use crate::workspace::{Refusal, RefusalKind};

use super::draft::{Draft, FATE, Hunk, MODE, Pick, Rebased, Wanted};

/// A session proposes changes of at most so many files at once.
const MAX_FILES: usize = 1000;

/// All its proposals together have at most so many bytes of text.
const MAX_BYTES: usize = 128 * 1024 * 1024;

/// At most so many pieces of news wait for the model; the oldest give way.
const MAX_NEWS: usize = 30;

/// The drafts of a session, and what its model has not been told of them.
#[derive(Debug, Clone, Default)]
pub struct Stack {
    pub(super) drafts: Vec<Draft>,
    /// The last number that was given.
    pub(super) last: u64,
    /// The numbers of drafts that are being accepted at this moment.
    busy: BTreeSet<u64>,
    /// What was to be accepted, by the number of its draft, where nobody knows whether it came into the file.
    doubts: BTreeMap<u64, Doubt>,
    news: VecDeque<String>,
    /// So much news gave way.
    lost: usize,
    /// What was kept of it is here.
    pub(super) known: bool,
    /// Differs from that of every other stack, those of the same session included that were there before it.
    pub(super) born: u64,
}

/// Hunks on their way into a file of which nothing was heard any more.
#[derive(Debug, Clone)]
pub(super) struct Doubt {
    pub(super) draft: Draft,
    pub(super) pick: Pick,
    /// They have a text of the person's in them.
    pub(super) edited: bool,
    /// What the model is told when they are there.
    pub(super) words: String,
}

/// How a real text is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// It is the text of an open document.
    pub open: bool,
    /// It is the text of a document, and the file on the disk has another.
    pub unsaved: bool,
    /// The file can be run.
    pub runs: bool,
}

/// Which hunks are meant. What is absent does not restrict.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selector {
    /// The name of one hunk.
    pub hunk: Option<String>,
    /// Those of a call.
    pub call: Option<String>,
    /// Those of a file, by where it is or is proposed to be.
    pub key: Option<Key>,
}

/// What a session sees in the place of a file.
#[derive(Debug, Clone)]
pub enum Over {
    /// The file as it is.
    Nothing,
    /// Nothing: it proposes to delete it, or to move it away, to where this leads.
    Hidden(Option<Target>),
    /// This text.
    Text(Text),
}

impl Stack {
    /// An empty one that came to be as the `born`th, and counts on from `last`.
    pub(super) fn newborn(born: u64, last: u64) -> Stack {
        Stack { last, born, ..Stack::default() }
    }

    /// The draft that decides what the session sees under a name: the file that it would change.
    pub fn concerning(&self, key: &Key) -> Option<&Target> {
        let seen = self.drafts.iter().find(|draft| draft.fate != Fate::Deleted && draft.place().key == *key);
        seen.or_else(|| self.of(key)).map(|draft| &draft.real)
    }

    /// The file that a change of what is seen under a name would really change, and whether that is proposed to be one
    /// that can be run, where it is to be another thing than it is.
    pub(super) fn file_and_mode(&self, target: &Target) -> (Target, Option<bool>) {
        match self.at(&target.key).map(|at| &self.drafts[at]) {
            Some(draft) => (draft.real.clone(), draft.mode.as_ref().map(|mode| mode.runs)),
            None => (self.concerning(&target.key).unwrap_or(target).clone(), None),
        }
    }

    /// What the session sees under a name.
    pub fn over(&self, key: &Key) -> Over {
        for draft in &self.drafts {
            if let Some(text) = draft.text().filter(|_| draft.place().key == *key) {
                return Over::Text(text.clone());
            }
        }
        match self.of(key) {
            Some(Draft { fate: Fate::Moved { to }, .. }) => Over::Hidden(Some(to.clone())),
            Some(_) => Over::Hidden(None),
            None => Over::Nothing,
        }
    }

    /// The draft for a real file.
    fn of(&self, key: &Key) -> Option<&Draft> {
        self.drafts.iter().find(|draft| draft.real.key == *key)
    }

    /// Every name under which the session sees something else than what is there.
    pub fn names(&self) -> impl Iterator<Item = &Target> {
        self.drafts.iter().flat_map(|draft| {
            let real = (draft.place().key != draft.real.key).then_some(&draft.real);
            real.into_iter().chain([draft.place()])
        })
    }

    /// The files that would be changed.
    pub fn files(&self) -> Vec<Target> {
        self.drafts.iter().map(|draft| draft.real.clone()).collect()
    }

    /// A call proposes a change of one file: `before` is what the session sees there, `real` what is there (both without
    /// a byte order mark), `splices` are in bytes of `before`. The names of its hunks.
    pub fn propose(&mut self, change: &Proposed<'_>, by: &By) -> Result<Vec<String>, Refusal> {
        let Proposed { target, fate, runs, real, splices, empty, standing } = change;
        let at = match self.at(&target.key) {
            Some(at) => at,
            None if matches!(self.over(&target.key), Over::Hidden(Some(_))) => {
                let words = format!(
                    "{} is proposed to be moved away, and nothing can be proposed in its place before that is accepted or \
                     rejected. Nothing was proposed.",
                    target.shown
                );
                return Err(Refusal::new(RefusalKind::Conflict, words));
            }
            None if self.drafts.len() >= MAX_FILES => {
                let words = format!(
                    "Changes of {MAX_FILES} files are proposed already, and nobody has accepted or rejected them. Nothing \
                     was proposed; ask the person to look at them first."
                );
                return Err(Refusal::new(RefusalKind::Unavailable, words));
            }
            None => {
                self.last += 1;
                self.drafts.push(Draft::new(self.last, (*target).clone(), real.cloned(), empty.clone()));
                self.drafts.len() - 1
            }
        };
        if self.busy.contains(&self.drafts[at].number) {
            return Err(in_use(&target.shown));
        }
        self.drafts[at].propose(&Wanted { splices, fate, runs: *runs }, *standing, by);
        let bytes: usize = self.drafts.iter().map(Draft::bytes).sum();
        if bytes > MAX_BYTES {
            let words = format!(
                "What is proposed and not yet accepted would have {bytes} bytes; at most {MAX_BYTES} are kept. Nothing was \
                 proposed; ask the person to look at what is there first."
            );
            return Err(Refusal::new(RefusalKind::Unavailable, words));
        }
        let draft = &self.drafts[at];
        let of_call = draft.of_call(&by.call);
        let file = of_call.fate.then_some(FATE).into_iter().chain(of_call.mode.then_some(MODE));
        let names: Vec<MarkId> = file.chain(of_call.marks).collect();
        let names = names.into_iter().map(|hunk| draft.name(hunk)).collect();
        // A file that was to be made and is to be deleted again: nothing is proposed.
        if draft.is_empty() || (draft.base.is_none() && draft.fate == Fate::Deleted) {
            self.drafts.remove(at);
        }
        Ok(names)
    }

    /// The draft whose text the session sees under a name, or that hides it by a deletion.
    fn at(&self, key: &Key) -> Option<usize> {
        let seen = self.drafts.iter().position(|draft| draft.fate != Fate::Deleted && draft.place().key == *key);
        let deleted = |draft: &Draft| draft.fate == Fate::Deleted && draft.real.key == *key;
        seen.or_else(|| self.drafts.iter().position(deleted))
    }

    /// A real file holds this now. Whether what is proposed for it is another one by that.
    ///
    /// What was kept over a restart of a document with unsaved changes waits for the editor to open it again: what the
    /// file has meanwhile is not what it was proposed for, and is no reason to drop any of it.
    pub fn rebase(&mut self, key: &Key, real: Option<&Text>, standing: Standing) -> bool {
        let Some(at) = self.drafts.iter().position(|draft| draft.real.key == *key) else { return false };
        let draft = &self.drafts[at];
        let same = match (&draft.base, real) {
            (Some(base), Some(real)) => base.rope() == real.rope(),
            (None, None) => true,
            _ => false,
        };
        let number = draft.number;
        let busy = self.busy.contains(&number);
        if same {
            self.drafts[at].stands(standing);
            let settled = !busy && self.drafts[at].settle_mode(standing.runs);
            if self.drafts[at].is_empty() {
                self.drafts.remove(at);
            }
            // It was on its way there, and nothing else with it.
            let alone = |doubt: &Doubt| doubt.pick == doubt.draft.one(MODE);
            if settled
                && self.doubts.get(&number).is_some_and(alone)
                && let Some(doubt) = self.doubts.remove(&number)
            {
                self.tell(doubt.words);
            }
            return settled;
        }
        if busy {
            return false;
        }
        if let Some(doubt) = self.doubts.get(&number)
            && real.is_some_and(|real| doubt.draft.is_in(&doubt.pick, real))
            && let Some(Doubt { draft, pick, edited, words }) = self.doubts.remove(&number)
        {
            // More may be proposed by now, which stays so.
            let draft = if edited { draft } else { self.drafts[at].clone() };
            // The text tells nothing of the mode.
            let pick = Pick { mode: pick.mode && draft.runs(&pick) == Some(standing.runs), ..pick };
            self.accepted(&draft, &pick, draft.base.as_ref());
            self.tell(words);
            self.rebase(key, real, standing);
            return true;
        }
        let (shown, awaits) = (draft.place().shown.clone(), draft.awaits);
        let Rebased { draft, stale, renamed } = draft.rebased(real);
        if awaits && !standing.open && !stale.is_empty() {
            return false;
        }
        match draft {
            Some(mut draft) => {
                draft.stands(standing);
                draft.settle_mode(standing.runs);
                if renamed {
                    self.last += 1;
                    draft.number = self.last;
                }
                self.drafts[at] = draft;
            }
            None => drop(self.drafts.remove(at)),
        }
        for stale in stale {
            self.tell(format!(
                "what call {} proposed for {shown} went stale: {}. Read it again before you propose more",
                stale.by.call, stale.why
            ));
        }
        true
    }

    /// The hunks that are meant, draft by draft. An error when there are none.
    pub fn select(&self, selector: &Selector) -> Result<Vec<(u64, Pick)>, Refusal> {
        let mut picked = Vec::new();
        for draft in &self.drafts {
            let elsewhere = |key: &Key| draft.real.key != *key && draft.place().key != *key;
            if selector.key.as_ref().is_some_and(elsewhere) {
                continue;
            }
            let mut pick = draft.all();
            if let Some(name) = &selector.hunk {
                let Some(hunk) = draft.named(name) else { continue };
                pick = pick.both(&draft.one(hunk));
            }
            if let Some(call) = &selector.call {
                pick = pick.both(&draft.of_call(call));
            }
            if pick != Pick::default() {
                picked.push((draft.number, pick));
            }
        }
        if picked.is_empty() {
            let words = "Nothing is proposed that was named: it was accepted, rejected, changed or went stale since. Look \
                         at what is proposed now, and name that.";
            return Err(Refusal::new(RefusalKind::NotFound, words));
        }
        if let Some(busy) =
            picked.iter().find_map(|(number, _)| self.busy.contains(number).then(|| self.draft(*number)))
        {
            return Err(in_use(busy.map_or("It", |draft| draft.real.shown.as_str())));
        }
        Ok(picked)
    }

    /// The draft of a number.
    pub fn draft(&self, number: u64) -> Option<&Draft> {
        self.drafts.iter().find(|draft| draft.number == number)
    }

    /// These drafts are being accepted from now on: nothing else happens to them until it is over.
    pub(super) fn begin(&mut self, number: u64) {
        self.doubts.remove(&number);
        self.busy.insert(number);
    }

    /// Nobody knows whether these are in the file; until that is seen they are proposed as before.
    pub(super) fn doubt(&mut self, doubt: Doubt) {
        self.doubts.insert(doubt.draft.number, doubt);
    }

    /// That is over.
    pub(super) fn end(&mut self, number: u64) {
        self.busy.remove(&number);
    }

    /// Some hunks of a draft (as `draft` has them, which may be an edited one) are in the real file now, which held
    /// `before`. The names of all hunks that are.
    pub fn accepted(&mut self, draft: &Draft, pick: &Pick, before: Option<&Text>) -> Vec<String> {
        self.end(draft.number);
        let number = draft.number;
        self.doubts.remove(&number);
        let Some(at) = self.drafts.iter().position(|draft| draft.number == number) else { return Vec::new() };
        let draft = draft.rebased(before.map(bare).as_ref()).draft.unwrap_or_else(|| draft.clone());
        let named = draft.clone();
        let (rest, accepted) = draft.after(pick);
        match rest {
            Some(rest) => self.drafts[at] = rest,
            None => drop(self.drafts.remove(at)),
        }
        accepted.into_iter().map(|hunk| named.name(hunk)).collect()
    }

    /// Drops hunks of a draft. The names of those that are gone, and the calls whose lines stand on the others.
    pub fn reject(&mut self, number: u64, pick: &Pick) -> (Vec<String>, Vec<By>) {
        let Some(at) = self.drafts.iter().position(|draft| draft.number == number) else {
            return (Vec::new(), Vec::new());
        };
        let draft = self.drafts[at].clone();
        let named = draft.clone();
        let (rest, gone, left) = draft.without(pick);
        match rest {
            Some(rest) => self.drafts[at] = rest,
            None => drop(self.drafts.remove(at)),
        }
        (gone.into_iter().map(|hunk| named.name(hunk)).collect(), left)
    }

    /// The hunks of each file, in the order in which the files were first changed.
    pub fn pending(&self) -> Vec<(&Draft, Vec<Hunk>)> {
        self.drafts.iter().map(|draft| (draft, draft.hunks())).collect()
    }

    /// Takes over what was proposed in a copy of it; what is to be told has gone its own way meanwhile. Whether it is the
    /// stack that was copied, and not one that came after it.
    pub(super) fn become_as(&mut self, copy: Stack) -> bool {
        let same = self.born == copy.born;
        if same {
            let marks = |drafts: &[Draft], number: u64| {
                drafts.iter().find(|draft| draft.number == number).map(|draft| draft.ledger.marks().to_vec())
            };
            // With more in it, it is not the one any more that the person has put a text of theirs in.
            let (old, new) = (&self.drafts, &copy.drafts);
            self.doubts.retain(|number, doubt| !doubt.edited || marks(old, *number) == marks(new, *number));
            (self.drafts, self.last) = (copy.drafts, copy.last);
        }
        same
    }

    /// What its model has not been told yet, and how much of that gave way.
    pub(super) fn untold(&self) -> (Vec<String>, usize) {
        (self.news.iter().cloned().collect(), self.lost)
    }

    /// So much more news gave way.
    pub(super) fn lose(&mut self, lost: usize) {
        self.lost += lost;
    }

    /// Something that the model has to be told, as a phrase.
    pub fn tell(&mut self, news: String) {
        self.news.push_back(news);
        if self.news.len() > MAX_NEWS {
            self.news.pop_front();
            self.lost += 1;
        }
    }

    /// What the model has not been told yet, once.
    pub fn take_news(&mut self) -> Vec<String> {
        let lost = std::mem::take(&mut self.lost);
        let lost = (lost > 0).then(|| format!("{lost} older pieces of news about what you proposed are left out"));
        lost.into_iter().chain(std::mem::take(&mut self.news)).collect()
    }
}

/// A change of one file, as it is proposed.
pub struct Proposed<'a> {
    /// The name by which the session sees it.
    pub target: &'a Target,
    /// What is to become of the file.
    pub fate: &'a Fate,
    /// Whether it is to be one that can be run; `None`: as it is.
    pub runs: Option<bool>,
    /// What is really there.
    pub real: Option<&'a Text>,
    /// In bytes of what the session sees there.
    pub splices: &'a [Splice],
    /// An empty text that counts lines as the editor does.
    pub empty: Text,
    /// How what is really there is there.
    pub standing: Standing,
}

/// A text without a byte order mark.
pub(super) fn bare(text: &Text) -> Text {
    let mark = BOM.len_utf8();
    if text.slice(0..mark.min(text.len())).starts_with(BOM) {
        return text.spliced(&[Splice { range: 0..mark, text: String::new() }]);
    }
    text.clone()
}

fn in_use(shown: &str) -> Refusal {
    let words = format!(
        "A proposal for {shown} is being accepted at this very moment, so that nothing else can be done with it. Nothing was \
         changed; do it again."
    );
    Refusal::new(RefusalKind::Conflict, words)
}

#[cfg(test)]
#[path = "stack_tests.rs"]
mod tests;
