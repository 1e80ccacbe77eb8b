//! When is what a source said about the text that was asked about? One state machine per document and source. Pure:
//! moments come in as arguments, so tests need no clock.
//!
//! Sources differ. Some answer questions (pull), some stamp what they publish with the version of the text, some
//! publish without a stamp, and some stamp with numbers of their own invention. A [`Track`] takes what is sent and what
//! is heard; [`Habits`] are what is learned of a source over all documents.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::problems::Located;

/// Our number of a text of a document; it rises with every change.
pub type Rev = i32;

/// The first [`Rev`] of a document. Not a number a server would invent (0, 1), so that a lie is never true by accident.
pub const FIRST_REV: Rev = 101;

/// Some servers publish twice for one text; so long (150 ms) is waited for the second, until a server has shown that it
/// is none of them.
pub const PAIR: Duration = Duration::from_millis(150);

/// Bounds of what is learned.
const LEARNED: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(1500));

/// So many observations are needed before what was learned is used.
const ENOUGH: usize = 3;

/// So many observations are kept.
const KEPT: usize = 32;

/// A source whose stamps fit none of so many texts does not stamp with our versions.
const MISSES: u32 = 3;

/// After so many publications in a row that had no pair, none is waited for.
const SINGLES: u32 = 3;

/// So many sets are remembered for one document and source.
const SETS: usize = 6;

/// What a source said with its words about which text they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stamp {
    /// The answer to a question about exactly this text.
    Answer(Rev),
    /// Published for this text, as the source says.
    Text(Rev),
    /// Published with a number that is none of our texts.
    Foreign,
    /// Published without a number, or numbered by someone who only saw it pass.
    None,
}

/// What a report held.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Content {
    /// The problems, in bytes of the text they are about.
    pub problems: Arc<[Located]>,
    /// How many more there were that nobody could read.
    pub unread: usize,
}

/// What a source said of a document at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Set {
    /// The text it is about; without a stamp: the newest that had been sent.
    pub rev: Rev,
    /// What it said.
    pub content: Content,
    how: How,
    /// When the first set for this text came.
    first: Instant,
    /// When this one came.
    last: Instant,
    /// Whether it is known to be about this text.
    sure: bool,
    /// What is known of its pair.
    pair: Pair,
}

/// Whether a source published twice for one text, shortly after one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pair {
    /// Nobody can tell yet.
    Open,
    /// It did.
    Came,
    /// It did not.
    Missed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Answered,
    Stamped,
    Loose,
}

/// What a track says of a text that is asked about.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// The source has checked it, or a newer one that was asked for as well.
    Fresh(Set),
    /// It will have, at this moment, unless it says more before.
    At(Instant),
    /// Something is there, but the source still works on it.
    Busy,
    /// Nothing yet.
    Silent,
}

/// The progress tokens of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Noise {
    /// When the newest of the tokens that are still open began.
    pub open_since: Option<Instant>,
    /// When a token last ended.
    pub ended: Option<Instant>,
}

/// One document at one source.
#[derive(Debug, Clone, Default)]
pub struct Track {
    /// The first text the source got, and when.
    opened: Option<(Rev, Instant)>,
    /// The newest text it got, and when.
    sent: Option<(Rev, Instant)>,
    /// What it said, oldest first.
    sets: VecDeque<Set>,
    /// The longest silence between two publications for the newest text.
    gap: Duration,
    /// The highest stamp so far.
    stamp: Option<i32>,
    /// The text it had when it last repeated a stamp.
    behind: Option<Rev>,
    /// Whether it ever said anything, to the point or not.
    spoke: bool,
    /// Why it said nothing of use about a text, last.
    fault: Option<(Rev, String)>,
}

impl Track {
    /// The source got a text.
    pub fn sent(&mut self, rev: Rev, now: Instant, habits: &mut Habits, noise: Noise) {
        self.look_back(now, habits, noise);
        self.opened.get_or_insert((rev, now));
        self.sent = Some((rev, now));
        self.gap = Duration::ZERO;
    }

    /// The source lost the document (it was closed there, or its process ended): what it said so far is kept as a
    /// baseline, but nothing can be heard of older texts any more.
    pub fn closed(&mut self) {
        self.opened = None;
        self.sent = None;
        self.stamp = None;
    }

    /// The source said something. Its problems are in bytes of the text of `stamp`, or of the newest text sent.
    /// `number` is the stamp as it came.
    pub fn heard(&mut self, stamp: Stamp, number: Option<i32>, content: Content, now: Instant, habits: &mut Habits) {
        let Some((newest, _)) = self.sent else { return };
        self.spoke = true;
        if let Some(number) = number {
            let honest = matches!(stamp, Stamp::Text(_)) && self.stamp.is_none_or(|highest| number > highest);
            let opening = self.opened.is_some_and(|(rev, _)| rev == newest);
            self.stamp = Some(self.stamp.map_or(number, |highest| highest.max(number)));
            // One that says the same of an older text over and over is behind; that counts once for each text it got.
            let behind = matches!(stamp, Stamp::Text(_)) && !honest;
            let again = behind && self.behind.replace(newest) == Some(newest);
            if !opening && !again {
                habits.stamped(honest);
            }
        }
        let (rev, how) = match stamp {
            Stamp::Answer(rev) => (rev, How::Answered),
            Stamp::Text(rev) if !habits.lies() => (rev, How::Stamped),
            // Until a source is known to lie, a foreign number says only that the words are about some other text.
            Stamp::Foreign if !habits.lies() => return,
            _ => (newest, How::Loose),
        };
        let same =
            self.sets.iter_mut().rev().find(|set| set.rev == rev && (set.how == How::Loose) == (how == How::Loose));
        if self.fault.as_ref().is_some_and(|(about, _)| *about <= rev) {
            self.fault = None;
        }
        if let Some(set) = same {
            self.gap = self.gap.max(now - set.last);
            if (set.how, how) == (How::Stamped, How::Stamped) && now - set.first <= PAIR {
                set.pair = Pair::Came;
                habits.paired();
            }
            (set.content, set.last, set.how) = (content, now, how);
        } else {
            let sure = how != How::Loose;
            let set = Set { rev, content, how, first: now, last: now, sure, pair: Pair::Open };
            // An answer for an older text can come late; the newest text stays last.
            let at = self.sets.partition_point(|other| other.rev <= rev);
            self.sets.insert(at, set);
            if self.sets.len() > SETS {
                self.sets.pop_front();
            }
        }
    }

    /// The source published something that nobody can read, and `why`. What it had published for that text (without
    /// `rev`: the newest it got) does not hold any more.
    pub fn unread(&mut self, rev: Option<Rev>, why: &str) {
        let Some((newest, _)) = self.sent else { return };
        let rev = rev.unwrap_or(newest);
        self.spoke = true;
        self.sets.retain(|set| set.rev != rev || set.how == How::Answered);
        self.failed(rev, why);
    }

    /// The source was asked about a text and did not answer, or not in a way that anybody can read; and `why`.
    pub fn failed(&mut self, rev: Rev, why: &str) {
        if self.fault.as_ref().is_none_or(|(about, _)| *about <= rev) {
            self.fault = Some((rev, why.to_owned()));
        }
    }

    /// Why it said nothing of use about one of the texts `wanted`, if it tried.
    pub fn fault(&self, wanted: RangeInclusive<Rev>) -> Option<&str> {
        self.fault.as_ref().filter(|(rev, _)| wanted.contains(rev)).map(|(_, why)| why.as_str())
    }

    /// Whether one of the texts `wanted` has been checked; the newest counts.
    pub fn state(&self, wanted: RangeInclusive<Rev>, habits: &Habits, noise: Noise, now: Instant) -> State {
        let mut state = State::Silent;
        for set in self.sets.iter().rev().filter(|set| wanted.contains(&set.rev)) {
            let found = self.state_of(set, habits, noise, now);
            if matches!(found, State::Fresh(_)) {
                return found;
            }
            if state == State::Silent {
                state = found;
            }
        }
        state
    }

    fn state_of(&self, set: &Set, habits: &Habits, noise: Noise, now: Instant) -> State {
        let at = match set.how {
            How::Answered => return State::Fresh(set.clone()),
            _ if set.sure && set.how == How::Loose => return State::Fresh(set.clone()),
            How::Stamped if set.pair == Pair::Came || habits.waits_for_pairs() => set.first + PAIR,
            How::Stamped => set.first,
            How::Loose => {
                let Some((_, sent)) = self.sent.filter(|(rev, _)| *rev == set.rev) else { return State::Silent };
                if noise.open_since.is_some_and(|begun| begun >= sent) {
                    return State::Busy;
                }
                habits.quiet_at(sent, noise.ended.map_or(set.last, |ended| ended.max(set.last)))
            }
        };
        if now >= at { State::Fresh(set.clone()) } else { State::At(at) }
    }

    /// The newest set that is known to be about its text, of a text up to `at_most`.
    pub fn known(&self, at_most: Rev) -> Option<&Set> {
        self.sets.iter().rev().find(|set| set.sure && set.rev <= at_most)
    }

    /// What it said last, of the newest text it said something of.
    pub fn last(&self) -> Option<&Set> {
        self.sets.back()
    }

    /// Whether it had its newest text at `moment` and has said nothing of it, nor tried to.
    pub fn unheard_since(&self, moment: Instant) -> bool {
        self.sent.is_some_and(|(rev, at)| {
            at <= moment && self.sets.iter().all(|set| set.rev != rev) && self.fault(rev..=rev).is_none()
        })
    }

    /// Whether it ever said anything about this document.
    pub fn spoke(&self) -> bool {
        self.spoke
    }

    /// When the source got this document.
    pub fn opened_at(&self) -> Option<Instant> {
        self.opened.map(|(_, at)| at)
    }

    /// The newest text it got.
    pub fn newest(&self) -> Option<Rev> {
        self.sent.map(|(rev, _)| rev)
    }

    /// Judges the newest text's sets, now that another text is about to take its place: whether a stamped one had a
    /// pair, whether an unstamped one had the quiet time it takes to be believed; learns from it.
    pub fn look_back(&mut self, now: Instant, habits: &mut Habits, noise: Noise) {
        for set in &mut self.sets {
            if set.how == How::Stamped && set.pair == Pair::Open && now >= set.first + PAIR {
                set.pair = Pair::Missed;
                habits.missed();
            }
        }
        let Some((rev, sent)) = self.sent else { return };
        let quiet = self.sets.back().is_some_and(|set| {
            set.rev == rev
                && set.how == How::Loose
                && !set.sure
                && matches!(self.state_of(set, habits, noise, now), State::Fresh(_))
        });
        if let Some(set) = self.sets.back_mut().filter(|_| quiet) {
            set.sure = true;
            habits.learn(set.last - sent, self.gap);
        }
    }
}

/// What is learned of a source over all documents.
#[derive(Debug, Clone)]
pub struct Habits {
    /// Quiet time until something has been learned.
    start: Duration,
    /// Whether nothing may be learned (a run that must be repeatable).
    pinned: bool,
    lags: VecDeque<Duration>,
    gaps: VecDeque<Duration>,
    /// Stamps in a row that fitted no text.
    misses: u32,
    /// Stamped publications in a row that had no pair.
    singles: u32,
}

impl Habits {
    /// Nothing learned yet; `start` is the quiet time to begin with.
    pub fn new(start: Duration, pinned: bool) -> Habits {
        Habits { start, pinned, lags: VecDeque::new(), gaps: VecDeque::new(), misses: 0, singles: 0 }
    }

    /// Whether its stamps are not versions of ours, so that they say nothing.
    pub fn lies(&self) -> bool {
        self.misses >= MISSES
    }

    fn stamped(&mut self, honest: bool) {
        self.misses = if honest { 0 } else { self.misses.saturating_add(1) };
    }

    /// Whether what it publishes for a text may be followed at once by more for the same text: it has not shown yet that
    /// it does not do so.
    fn waits_for_pairs(&self) -> bool {
        self.pinned || self.singles < SINGLES
    }

    /// It said more right after it had published: for the same text, or of other files.
    pub fn paired(&mut self) {
        self.singles = 0;
    }

    fn missed(&mut self) {
        self.singles = self.singles.saturating_add(1);
    }

    /// Takes how long after a text was sent its last word came, and the longest silence between two words.
    fn learn(&mut self, lag: Duration, gap: Duration) {
        for (list, value) in [(&mut self.lags, lag), (&mut self.gaps, gap)] {
            if list.len() == KEPT {
                list.pop_front();
            }
            list.push_back(value);
        }
    }

    /// When silence after `last` means that a source has said all it has to say about a text it got at `sent`: not
    /// before it usually answers, and not before it usually goes on.
    fn quiet_at(&self, sent: Instant, last: Instant) -> Instant {
        if self.pinned || self.lags.len() < ENOUGH {
            return last + self.start;
        }
        (sent + p95(&self.lags)).max(last + p95(&self.gaps))
    }
}

fn p95(values: &VecDeque<Duration>) -> Duration {
    let mut sorted: Vec<Duration> = values.iter().copied().collect();
    sorted.sort_unstable();
    let at = (sorted.len() * 95).div_ceil(100).saturating_sub(1);
    sorted.get(at).copied().unwrap_or_default().clamp(LEARNED.0, LEARNED.1)
}

#[cfg(test)]
#[path = "settle_tests.rs"]
mod tests;
