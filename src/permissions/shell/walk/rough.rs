//! A look at the mere words of a text that is not understood: what would destroy something is found in it, so that a
//! broken line is never judged lower than what it may yet turn out to run.

use super::Walker;
use super::judge::How;
use crate::permissions::shell::effects::{Verdict, Word};
use crate::permissions::shell::paths::{self, Place};

/// Pieces of a text that are looked at, and words of each.
const PIECES: usize = 200;
const WORDS: usize = 24;

impl Walker<'_> {
    /// Looks at the words of a shell line.
    pub(super) fn rough(&mut self, text: &str) {
        self.pieces(text, |c| matches!(c, ';' | '|' | '&' | '\n' | '(' | ')' | '{' | '}' | '`'), char::is_whitespace);
    }

    /// Looks at the words of a text in another language, which may pass them to a shell.
    pub(super) fn rough_code(&mut self, text: &str) {
        let between = |c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']');
        self.pieces(text, |c| matches!(c, ';' | '|' | '&' | '\n' | '(' | ')' | '{' | '}' | '`'), between);
    }

    fn pieces(&mut self, text: &str, ends: impl Fn(char) -> bool, between: impl Fn(char) -> bool) {
        if self.guessing {
            return;
        }
        for piece in text.split(ends).filter(|piece| !piece.trim().is_empty()).take(PIECES) {
            let bare = |word: &str| word.replace(['\'', '"', '\\'], "");
            let words: Vec<Word> =
                piece.split(&between).map(bare).filter(|w| !w.is_empty()).take(WORDS).map(known).collect();
            for pair in words.windows(2) {
                if pair[0].text().ends_with('>') {
                    self.rough_write(pair[1].text());
                }
            }
            for word in &words {
                if let Some((_, target)) = word.text().rsplit_once('>') {
                    self.rough_write(target);
                }
            }
            self.guess(&words);
        }
    }

    fn rough_write(&mut self, target: &str) {
        if target.starts_with('/')
            && paths::place(&paths::resolve("/".as_ref(), target), self.scene()) == Place::Machine
        {
            let why =
                format!("it writes to a device or to what the machine depends on: `{}`", super::judge::short(target));
            self.raise(Verdict::Destructive, why);
        }
    }

    /// Looks whether any of the words begins a command that destroys something.
    pub(super) fn guess(&mut self, words: &[Word]) {
        if self.guessing {
            return;
        }
        for word in words {
            // A word of several may be a line.
            if word.text().contains(char::is_whitespace) {
                self.rough_code(word.text());
            }
        }
        self.guessing = true;
        for begin in 0..words.len().min(WORDS) {
            if !matches!(&words[begin], Word::Known(text) if !text.starts_with('-')) {
                continue;
            }
            self.only_destructive(|walker| walker.run(&words[begin..], How { external: true, more: false }));
        }
        self.guessing = false;
    }

    /// Keeps of what is found only what destroys something.
    pub(super) fn only_destructive(&mut self, look: impl FnOnce(&mut Self)) {
        let found = std::mem::take(&mut self.found);
        let (state, uncalled) = (self.state.clone(), self.uncalled.clone());
        let (plain, plainly) = (self.plain, self.plainly.len());
        look(self);
        let looked = std::mem::replace(&mut self.found, found);
        (self.state, self.uncalled) = (state, uncalled);
        self.plain = plain;
        self.plainly.truncate(plainly);
        for (verdict, reason) in looked.reasons {
            if verdict == Verdict::Destructive {
                self.raise(verdict, reason);
            }
        }
    }
}

/// A word as it stands; with an expansion in it, it is not known.
fn known(word: String) -> Word {
    if word.contains(['$', '*', '?']) || word.starts_with('~') { Word::Unknown(word) } else { Word::Known(word) }
}
