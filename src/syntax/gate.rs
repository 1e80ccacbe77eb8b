//! Whether a change breaks a text that was whole: the gate that changes pass.

use super::{Fault, Language, faults_of};
use crate::text::{LineBreaks, Text};

/// Of the line with the first fault, so many characters are shown.
const SHOWN_CHARS: usize = 160;

/// A text that followed its grammar and would do so no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Regression {
    /// The language of both.
    pub language: Language,
    /// The line of the first fault, 1-based, lines ended by LF.
    pub line: usize,
    /// Its place in that line in characters, 1-based.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
    /// The line, or the part of it around the fault.
    pub text: String,
    /// How many more faults there are.
    pub more: usize,
}

/// What a change breaks; `None` when it breaks nothing, or when nothing can be said: the text before was broken or
/// blank, there is no grammar, one of them is too large. Takes as long as [`super::check`].
pub fn regression(language: Option<Language>, before: &str, after: &str) -> Option<Regression> {
    let language = language?;
    if before.trim().is_empty() || before == after {
        return None;
    }
    // Most changes break nothing, so that the text before need not be looked at.
    let now = super::compare::leading(&faults_of(language, after).ok()?.found, |_| true);
    let first = now.first()?;
    if !faults_of(language, before).ok()?.found.is_empty() {
        return None;
    }
    let (line, column, text) = place(after, first);
    Some(Regression { language, line, column, message: first.message.clone(), text, more: now.len() - 1 })
}

fn place(text: &str, fault: &Fault) -> (usize, usize, String) {
    let text = Text::new(text, LineBreaks::Lf);
    let at = text.floor(fault.bytes.start);
    let line = text.line_of(at);
    let column = text.slice(text.line_start(line)..at).chars().count();
    let whole = text.line(line);
    let skipped = if whole.chars().count() > SHOWN_CHARS { column.saturating_sub(SHOWN_CHARS / 2) } else { 0 };
    let mut shown: String = whole.chars().skip(skipped).take(SHOWN_CHARS).collect();
    if skipped > 0 {
        shown.insert(0, '…');
    }
    if whole.chars().count() > skipped + SHOWN_CHARS {
        shown.push('…');
    }
    (line + 1, column + 1, shown)
}

impl Regression {
    /// Where and what, with the line: half a sentence and a line of its own.
    pub fn told(&self) -> String {
        let more = match self.more {
            0 => String::new(),
            1 => ", and 1 more error".to_owned(),
            more => format!(", and {more} more errors"),
        };
        let Regression { line, column, message, text, .. } = self;
        format!("line {line}, column {column}: {message}{more}\n{line}\t{text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn only_what_breaks_a_whole_text_is_told() {
        let rust = Some(Language::Rust);
        for (language, before, after, broken) in [
            (rust, "fn a() {}\n", "fn a() {\n", true),
            (rust, "fn a() {}\n", "fn b() {}\n", false),
            // New, blank, broken before, to no avail or for the better.
            (rust, "", "fn a( {\n", false),
            (rust, " \n", "fn a( {\n", false),
            (rust, "fn a( {\n", "fn a( { (\n", false),
            (rust, "fn a( {\n", "fn a() {}\n", false),
            (rust, "fn a() {}\n", "", false),
            (None, "fn a() {}\n", "fn a( {\n", false),
            (Some(Language::Json), "{}", "{\"a\": }", true),
            (Some(Language::Python), "a = 1\n", "a = (1\n", true),
        ] {
            assert_eq!(regression(language, before, after).is_some(), broken, "{before:?} {after:?}");
        }
        let large = format!("fn a() {{}}\n{}", "// a long comment\n".repeat(200_000));
        assert_eq!(regression(rust, &large, &format!("{large}fn (")), None);
    }

    #[test]
    fn the_place_is_told_with_its_line() {
        let found = regression(Some(Language::Json), "{\n}\n", "{\n  \"é\": }\n").unwrap();
        expect![[r#"
            line 2, column 7: missing a value
            2	  "é": }"#]]
        .assert_eq(&found.told());
        let long = format!("[{} }}, 1]", "1, ".repeat(500));
        let found = regression(Some(Language::Json), "[]", &long).unwrap();
        assert!(found.text.chars().count() <= SHOWN_CHARS + 2 && found.text.starts_with('…'), "{}", found.text);
    }
}
