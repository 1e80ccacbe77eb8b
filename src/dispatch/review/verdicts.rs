//! What a person said of an agent's changes, told to its model once, with the next result of its session.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tracing::warn;

/// At most so many places are named of one kind; of the rest the number is told.
const NAMED: usize = 8;

/// At most so many bytes of a place's name are told.
const WORDS: usize = 300;

/// So many are remembered for a session that makes no calls; then the oldest give way.
const REMEMBERED: usize = 1000;

/// What a person did with a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Verdict {
    /// It is kept.
    Kept,
    /// It is kept as the person has changed it.
    Changed,
    /// It was undone.
    Undone,
    /// It was undone, but for what the person had changed of it.
    Partly,
    /// It was undone, and then brought back.
    Restored,
}

impl Verdict {
    fn words(self) -> &'static str {
        match self {
            Verdict::Kept => "kept",
            Verdict::Changed => "changed and kept",
            Verdict::Undone => "undid",
            Verdict::Partly => "undid, but for what they had changed of it,",
            Verdict::Restored => "brought back",
        }
    }
}

/// What was said and not told yet, by session.
#[derive(Debug, Default)]
pub struct Verdicts {
    inner: Mutex<BySession>,
    /// They are not kept as they are.
    dirty: AtomicBool,
}

/// By session: what was said of which change.
type BySession = BTreeMap<String, Vec<Said>>;

/// What was said of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Said {
    /// Which one: the same wherever its lines have moved to since, and of no other one whose lines came to stand there.
    change: String,
    verdict: Verdict,
    /// Where it was when this was said.
    place: String,
}

impl Verdicts {
    /// A person judged a change (its name) of a session: where it is (`a.txt line 3`).
    pub fn judged(&self, session: &str, change: &str, verdict: Verdict, place: &str) {
        self.said(session, Said { change: change.to_owned(), verdict, place: short(place) });
    }

    fn said(&self, session: &str, one: Said) {
        let mut inner = self.lock();
        self.dirty.store(true, Ordering::Release);
        let said = inner.entry(session.to_owned()).or_default();
        // The last word counts.
        said.retain(|known| known.change != one.change);
        said.push(one);
        let surplus = said.len().saturating_sub(REMEMBERED);
        said.drain(..surplus);
    }

    /// What a session has not been told yet, in words.
    pub fn take(&self, session: &str) -> Option<String> {
        let said = self.lock().remove(session)?;
        self.dirty.store(true, Ordering::Release);
        let mut kinds: BTreeMap<Verdict, Vec<String>> = BTreeMap::new();
        for Said { verdict, place, .. } in said {
            let places = kinds.entry(verdict).or_default();
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let undone = [Verdict::Undone, Verdict::Partly].iter().any(|verdict| kinds.contains_key(verdict));
        let parts: Vec<String> = kinds.into_iter().map(|(verdict, places)| part(verdict, &places)).collect();
        let rest = if undone { " Do not make what was undone again unless you are asked to." } else { "" };
        (!parts.is_empty()).then(|| format!("Since then, of your changes the user {}.{rest}", parts.join("; ")))
    }

    /// A session was dropped.
    pub fn forget(&self, session: &str) {
        if self.lock().remove(session).is_some() {
            self.dirty.store(true, Ordering::Release);
        }
    }

    /// What is to be kept over a restart, where it is other than when this was last asked; null: nothing.
    pub(super) fn to_keep(&self) -> Option<Value> {
        let inner = self.lock();
        if !self.dirty.swap(false, Ordering::AcqRel) {
            return None;
        }
        let value = if inner.is_empty() { Value::Null } else { serde_json::to_value(&*inner).unwrap_or_default() };
        Some(value)
    }

    /// What was kept is here; what was said since comes behind it.
    pub(super) fn restore(&self, value: Value) {
        match serde_json::from_value::<BySession>(value) {
            Ok(kept) => {
                let newer = std::mem::replace(&mut *self.lock(), kept);
                for (session, said) in newer {
                    for one in said {
                        self.said(&session, one);
                    }
                }
            }
            Err(error) => warn!(%error, "what was kept of a person's review cannot be read"),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BySession> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn part(verdict: Verdict, places: &[String]) -> String {
    let named = places.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = places.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{} {named}{more}", verdict.words())
}

fn short(words: &str) -> String {
    let mut end = words.len().min(WORDS);
    while !words.is_char_boundary(end) {
        end -= 1;
    }
    let cut = if end < words.len() { "..." } else { "" };
    format!("{}{cut}", words[..end].trim().replace(['\n', '\r'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_is_told_once_and_the_last_word_counts() {
        let verdicts = Verdicts::default();
        verdicts.judged("one", "1.1", Verdict::Undone, "a.txt line 2");
        verdicts.judged("one", "1.1", Verdict::Restored, "a.txt line 3");
        verdicts.judged("one", "2.1", Verdict::Kept, "b.txt lines 1-2");
        verdicts.judged("two", "3.1", Verdict::Undone, "c\n.txt");
        assert_eq!(
            verdicts.take("one").as_deref(),
            Some("Since then, of your changes the user kept b.txt lines 1-2; brought back a.txt line 3.")
        );
        assert_eq!(verdicts.take("one"), None);
        assert_eq!(
            verdicts.take("two").as_deref(),
            Some(
                "Since then, of your changes the user undid c .txt. Do not make what was undone again unless you are asked to."
            )
        );
        // Another change that came to stand in the same place.
        verdicts.judged("one", "1.1", Verdict::Undone, "a.txt line 3");
        verdicts.judged("one", "1.2", Verdict::Kept, "a.txt line 3");
        verdicts.judged("one", "1.3", Verdict::Kept, "a.txt line 3");
        let words = "Since then, of your changes the user kept a.txt line 3; undid a.txt line 3. Do not make what was undone \
                     again unless you are asked to.";
        assert_eq!(verdicts.take("one").as_deref(), Some(words));
        verdicts.judged("one", "1.1", Verdict::Kept, "a");
        verdicts.forget("one");
        assert_eq!(verdicts.take("one"), None);
    }

    #[test]
    fn what_is_not_told_yet_is_kept_and_only_once() {
        let verdicts = Verdicts::default();
        assert_eq!(verdicts.to_keep(), None);
        verdicts.judged("one", "1.1", Verdict::Changed, "a.txt line 3");
        verdicts.judged("two", "2.1", Verdict::Partly, "b.txt line 1");
        let kept = verdicts.to_keep().unwrap();
        assert_eq!(verdicts.to_keep(), None);
        let later = Verdicts::default();
        later.judged("two", "2.1", Verdict::Restored, "b.txt line 1");
        later.restore(kept);
        assert_eq!(
            later.take("one").as_deref(),
            Some("Since then, of your changes the user changed and kept a.txt line 3.")
        );
        assert_eq!(
            later.take("two").as_deref(),
            Some("Since then, of your changes the user brought back b.txt line 1.")
        );
        assert_eq!((later.to_keep(), later.to_keep()), (Some(Value::Null), None));
        later.restore(Value::Bool(true));
        assert_eq!(later.take("one"), None);
    }

    #[test]
    fn the_words_are_bounded() {
        let verdicts = Verdicts::default();
        for number in 0..5000 {
            verdicts.judged("one", &number.to_string(), Verdict::Kept, &format!("{number} {}", "é".repeat(1000)));
        }
        let words = verdicts.take("one").unwrap();
        assert!(words.len() < NAMED * (WORDS + 20) + 200, "{}", words.len());
        assert!(words.ends_with(&format!("and {} more.", REMEMBERED - NAMED)), "{words}");
    }
}
