//! The words that come of one word, put together piece by piece.

use crate::permissions::shell::effects::Word;

/// Words in the making.
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
}

impl Fields {
    pub(super) fn new(separators: Option<String>, splits: bool) -> Fields {
        let text = String::new();
        Fields { separators, splits, done: Vec::new(), text, begun: false, known: true, glob: false, bracket: false }
    }

    /// Text that stands for itself.
    pub(super) fn quoted(&mut self, text: &str) {
        self.text.push_str(text);
        self.begun = true;
    }

    /// Text in which globs mean something.
    pub(super) fn bare(&mut self, text: &str) {
        for c in text.chars() {
            self.bracket |= c == '[';
            self.glob |= matches!(c, '*' | '?') || c == ']' && self.bracket;
        }
        self.quoted(text);
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
