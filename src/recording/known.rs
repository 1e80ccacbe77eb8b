//! The secrets that are known, and where a text has one of them or what one begins with: it may have been shown before it
//! was whole. Pure.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// A secret shorter than this (bytes) is cut out only where its place shows it: the same text elsewhere may be anything.
/// Nor is less of a longer one.
pub(super) const SHORTEST: usize = 8;

/// What begins a secret and may be a word or a date is cut out from so many bytes on.
const PLAIN: usize = 16;

/// Nor is what changes from small to capital letters so often a word.
const TURNS: usize = 3;

/// So many bytes behind what all secrets of a kind begin with are part of one.
const BEHIND: usize = 4;

/// So many beginnings are looked for by one automaton; only the last one is made again when there are more.
const TOGETHER: usize = 256;

/// What all secrets of a kind begin with: that alone is none.
static KINDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let kinds = r"(?x) ^ (?: -----BEGIN\ [A-Z\ ]*-----\s*
        | github_pat_ | gh[oprsu]_ | glpat- | GOCSPX- | hf_ | npm_ | pypi-AgEIcHlwaS5vcmc | whsec_ | dop_v1_
        | [prs]k_(?:live|test)_ | sk-ant-(?:[a-z]+\d\d-)? | sk-proj- | sk- | xapp- | xox[a-z]- | ya29\. | AIza | AKIA | ASIA
        | eyJ[A-Za-z0-9_-]*\.eyJ )";
    Regex::new(kinds).ok()
});

/// How much of a secret (bytes) is looked for at least: less of it may be ordinary text.
fn least(secret: &str) -> usize {
    let kind = KINDS.as_ref().and_then(|kinds| kinds.find(secret)).map_or(0, |found| found.len());
    let (mut letter, mut other, mut small, mut turns) = (false, false, false, 0);
    for (at, c) in secret.char_indices() {
        let to = at + c.len_utf8();
        letter |= c.is_alphabetic();
        other |= !c.is_alphabetic() && !c.is_whitespace() && !matches!(c, '-' | '_' | '.' | '/' | ':' | '\\');
        turns += usize::from(small && c.is_uppercase());
        small = c.is_lowercase();
        let enough = match kind {
            0 => to >= SHORTEST && (letter && other || turns >= TURNS || to >= PLAIN),
            kind => to >= SHORTEST.max(kind + BEHIND),
        };
        if enough {
            return to;
        }
    }
    secret.len()
}

#[derive(Debug)]
struct Spelling {
    text: String,
    masked: String,
    number: usize,
    least: usize,
}

/// A place in a text, and what has to stand there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub range: Range<usize>,
    pub masked: String,
}

/// All that is known.
#[derive(Debug, Default)]
pub(super) struct Known {
    spellings: Vec<Spelling>,
    /// The spellings that begin so.
    by_stem: HashMap<String, Vec<usize>>,
    /// All stems, as they came, their lengths (bytes), and what finds them; it may lack the last ones.
    stems: Vec<String>,
    lengths: BTreeSet<usize>,
    finders: Vec<regex::bytes::Regex>,
    found_by: usize,
}

impl Known {
    /// The mask of a text that is a known secret or what one begins with.
    pub(super) fn masked(&self, secret: &str) -> Option<String> {
        let mut same = self.begun(secret).filter(|known| known.text.starts_with(secret));
        same.next().map(|known| known.masked[..secret.len()].to_owned())
    }

    /// The number of a known secret that this one begins with.
    pub(super) fn number_within(&self, secret: &str) -> Option<usize> {
        self.begun(secret).find(|known| secret.starts_with(&known.text)).map(|known| known.number)
    }

    /// Takes a spelling of the secret `number`, and its mask, of as many bytes: whether it is new. One that begins with
    /// another takes its place, for that is found by it.
    pub(super) fn add(&mut self, text: &str, masked: String, number: usize) -> bool {
        if self.masked(text).is_some() || masked.len() != text.len() {
            return false;
        }
        let least = least(text);
        let spelling = Spelling { text: text.to_owned(), masked, number, least };
        let stem = &text[..least];
        let same = self.by_stem.entry(stem.to_owned()).or_default();
        let within = |at: &&usize| {
            let known = &self.spellings[**at];
            known.least == least && text.starts_with(&known.text)
        };
        if let Some(at) = same.iter().find(within) {
            self.spellings[*at] = spelling;
            return true;
        }
        if same.is_empty() {
            self.stems.push(stem.to_owned());
            self.lengths.insert(least);
        }
        same.push(self.spellings.len());
        self.spellings.push(spelling);
        true
    }

    /// Where a text has a secret or what one begins with, in order; they may overlap.
    pub(super) fn find(&mut self, text: &str) -> Vec<Found> {
        self.prepare();
        let mut all = Vec::new();
        for finder in &self.finders {
            let mut at = 0;
            while let Some(found) = finder.find_at(text.as_bytes(), at) {
                let start = found.start();
                at = start + 1;
                if let Some((len, known)) = self.longest(&text[start..]) {
                    if len == known.text.len() {
                        at = start + len;
                    }
                    all.push(Found { range: start..start + len, masked: known.masked[..len].to_owned() });
                }
            }
        }
        all.sort_by_key(|found| (found.range.start, usize::MAX - found.range.end));
        all.dedup();
        all
    }

    /// The known ones whose stem a text begins with.
    fn begun<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a Spelling> + 'a {
        let stems = self.lengths.iter().filter_map(|len| text.get(..*len));
        stems.filter_map(|stem| self.by_stem.get(stem)).flatten().map(|at| &self.spellings[*at])
    }

    /// Of which one a text begins with the most, and with how much (bytes).
    fn longest<'a>(&'a self, text: &'a str) -> Option<(usize, &'a Spelling)> {
        let shared = |known: &Spelling| {
            let same = known.text.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
            (0..=same).rev().find(|at| known.text.is_char_boundary(*at)).unwrap_or_default()
        };
        self.begun(text).map(|known| (shared(known), known)).max_by_key(|(len, _)| *len)
    }

    fn prepare(&mut self) {
        if self.found_by == self.stems.len() {
            return;
        }
        let whole = self.found_by / TOGETHER;
        self.finders.truncate(whole);
        for stems in self.stems[whole * TOGETHER..].chunks(TOGETHER) {
            let any: Vec<String> = stems.iter().map(|stem| regex::escape(stem)).collect();
            self.finders.extend(regex::bytes::Regex::new(&any.join("|")));
        }
        self.found_by = self.stems.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(secrets: &[&str]) -> Known {
        let mut known = Known::default();
        for (number, secret) in (1..).zip(secrets) {
            known.add(secret, "#".repeat(secret.len()), number);
        }
        known
    }

    fn without(known: &mut Known, text: &str) -> String {
        let mut without = text.to_owned();
        for found in known.find(text) {
            without.replace_range(found.range, &found.masked);
        }
        without
    }

    #[test]
    fn what_a_secret_begins_with_is_found() {
        for (secrets, text, expected) in [
            (&["hunter2secret"][..], "hunter2secret, hunter2s and hunter2", "#############, ######## and hunter2"),
            // What only shows the kind is none.
            (&["github_pat_Ab1Cd2Ef3Gh4"], "github_pat_Ab github_pat_Ab1C", "github_pat_Ab ###############"),
            (&["ghp_ABCDEFGHIJKLMNOP"], "ghp_ABCD ghp_ABC", "######## ghp_ABC"),
            // Words stay.
            (&["configurationofthelake"], "configuration, configurationofth", "configuration, #################"),
            (&["hJsKxLqVbNwZtRy"], "hJsKxLqV hJsKxLq", "######## hJsKxLq"),
            (&["password123"], "the password is password1", "the password is #########"),
            // One within the other, and one behind what another begins with.
            (&["aaaa1111", "aaaa1111bbbb"], "aaaa1111bb", "##########"),
            (&["tok-abc12345XYZ", "abc12345QQQ"], "tok-abc12345QQQ", "###############"),
            (&["pässwört1"], "pässwört pässwörd", "pässwört pässwörd"),
        ] {
            assert_eq!(without(&mut known(secrets), text), expected, "{secrets:?}");
        }
    }

    #[test]
    fn many_are_found() {
        let secrets: Vec<String> = (0..1000).map(|at| format!("secret{at:04}x")).collect();
        let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
        let mut known = known(&secrets);
        assert_eq!(without(&mut known, "secret0999x secret0000 secret1000"), "########### ########## secret1000");
        // One more after the search.
        known.add("later2later", "#".repeat(11), 1001);
        assert_eq!(without(&mut known, "later2later secret0001x"), "########### ###########");
        // One that grows stays one.
        let mut known = Known::default();
        for len in 9..=40 {
            let secret = &"ghp_0123456789abcdefghijABCDEFGHIJ012345"[..len];
            assert!(known.add(secret, "#".repeat(len), 1));
            assert!(!known.add(secret, "#".repeat(len), 1));
        }
        assert_eq!(known.spellings.len(), 1);
    }
}
