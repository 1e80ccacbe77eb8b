//! The words that come of one word, put together piece by piece.

use crate::permissions::shell::effects::Word;

/// Words in the making.
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own about the word in the making")]
#[derive(Debug)]
pub(super) struct Fields {
    /// What values are split at; `None`: unknown, or nothing is split.
    separators: Option<String>,
    /// Whether values are split and globs matched.
    splits: bool,
    done: Vec<Word>,
    text: String,
    begun: bool,
    known: bool,
    glob: bool,
    bracket: bool,
    /// Bytes that may still be added.
    left: usize,
}

/// Bytes that one word as written may become; some doublings of a variable would fill any memory.
const LIMIT: usize = 64 << 10;

impl Fields {
    pub(super) fn new(separators: Option<String>, splits: bool) -> Fields {
        let text = String::new();
        let (done, left) = (Vec::new(), LIMIT);
        Fields { separators, splits, done, text, begun: false, known: true, glob: false, bracket: false, left }
    }

    /// Text that stands for itself.
    pub(super) fn quoted(&mut self, text: &str) {
        self.begun = true;
        if let Some(left) = self.left.checked_sub(text.len() + 1) {
            self.left = left;
            self.text.push_str(text);
        } else {
            self.left = 0;
            self.known = false;
        }
    }

    /// Text in which globs mean something.
    pub(super) fn bare(&mut self, text: &str) {
        for c in text.chars() {
            self.bracket |= c == '[';
            self.glob |= matches!(c, '*' | '?') || c == ']' && self.bracket;
        }
        self.quoted(text);
    }

    /// Bytes that it became.
    pub(super) fn size(&self) -> usize {
        LIMIT - self.left
    }

    /// Whether it became too long to be followed.
    pub(super) fn is_full(&self) -> bool {
        self.left == 0
    }

    /// What is not known, as written.
    pub(super) fn unknown(&mut self, raw: &str) {
        self.known = false;
        self.quoted(raw);
    }

    /// The value of a variable that stands without quotes.
    pub(super) fn value(&mut self, text: &str) {
        if !self.splits {
            self.quoted(text);
            return;
        }
        let Some(separators) = self.separators.clone() else {
            self.unknown(text);
            return;
        };
        let mut first = true;
        for piece in text.split(|c| separators.contains(c)) {
            if self.is_full() {
                break;
            }
            if !first {
                self.finish();
            }
            first = false;
            if !piece.is_empty() {
                self.bare(piece);
            }
        }
    }

    /// A word of its own within the word: one of `"$@"`.
    pub(super) fn word(&mut self, word: &Word) {
        match word {
            Word::Known(text) => self.quoted(text),
            Word::Unknown(text) => self.unknown(text),
        }
    }

    /// Ends the word that is in the making.
    pub(super) fn finish(&mut self) {
        if self.begun {
            let text = std::mem::take(&mut self.text);
            let known = self.known && !(self.glob && self.splits);
            self.done.push(if known { Word::Known(text) } else { Word::Unknown(text) });
        }
        (self.begun, self.known, self.glob, self.bracket) = (false, true, false, false);
    }

    /// All the words.
    pub(super) fn finished(mut self) -> Vec<Word> {
        self.finish();
        self.done
    }

    /// All of it as one word.
    pub(super) fn single(mut self) -> Word {
        self.begun = true;
        self.finish();
        let known = self.done.iter().all(|word| matches!(word, Word::Known(_)));
        let text = self.done.iter().map(Word::text).collect::<Vec<_>>().join(" ");
        if known { Word::Known(text) } else { Word::Unknown(text) }
    }
}
