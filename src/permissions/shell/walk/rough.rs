//! A look at the mere words of a text that is not understood: what would destroy something is found in it, so that a
//! broken line is never judged lower than what it may yet turn out to run.

use super::Walker;
use super::judge::How;
use super::state::Value;
use crate::permissions::shell::Simple;
use crate::permissions::shell::effects::{Verdict, Word};
use crate::permissions::shell::paths::{self, Place};

/// Pieces of a text that are looked at, and words of each.
const PIECES: usize = 200;
const WORDS: usize = 24;

impl Walker<'_> {
    /// Looks at the words of a shell line.
    pub(super) fn rough(&mut self, text: &str) {
        if self.guessing {
            return;
        }
        for words in self.pieces(text, char::is_whitespace) {
            // What it might run is told, once.
            let told = Simple { words };
            self.redirected(&told.words);
            self.guess(&told.words);
            if !self.found.commands.contains(&told) {
                self.found.commands.push(told);
            }
        }
    }

    /// Looks at the words of a text in another language, which may pass them to a shell.
    pub(super) fn rough_code(&mut self, text: &str) {
        if self.guessing {
            return;
        }
        for words in self.pieces(text, |c| c.is_whitespace() || matches!(c, ',' | '[' | ']')) {
            self.redirected(&words);
            self.guess(&words);
        }
    }

    /// The words between what ends commands, without quotes.
    fn pieces(&self, text: &str, between: impl Fn(char) -> bool) -> Vec<Vec<Word>> {
        let home = match self.variable("HOME") {
            Value::Known(home) => home,
            _ => "~".to_owned(),
        };
        let text = text.replace("${HOME}", &home).replace("$HOME", &home);
        let ends = |c: char| matches!(c, ';' | '|' | '&' | '\n' | '(' | ')' | '{' | '}' | '`');
        let word = |word: &str| {
            let bare = word.replace(['\'', '"', '\\'], "");
            let bare = match bare.strip_prefix('~') {
                Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
                _ => bare,
            };
            let known = !bare.contains(['$', '*', '?']) && !bare.starts_with('~');
            if known { Word::Known(bare) } else { Word::Unknown(bare) }
        };
        let words = |piece: &str| {
            let words = piece.split(&between).map(word).filter(|word| !word.text().is_empty());
            words.take(WORDS).collect::<Vec<_>>()
        };
        text.split(ends).map(words).filter(|words| !words.is_empty()).take(PIECES).collect()
    }

    fn redirected(&mut self, words: &[Word]) {
        for (index, word) in words.iter().enumerate() {
            if let Some((_, target)) = word.text().rsplit_once('>') {
                let next = words.get(index + 1).map_or("", Word::text);
                self.rough_write(if target.is_empty() { next } else { target });
            }
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
