//! The embedded check: does a text parse worse than before? Pure; bounded in time, size and depth.

mod compare;
mod faults;
mod gate;
mod language;
mod parse;
mod trailing_commas;
mod words;

use std::borrow::Cow;

pub use gate::{Regression, regression};
pub use language::Language;

use crate::text::Splice;

/// What the embedded check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// The text was parsed.
    Faults(Faults),
    /// It was not, so nothing is known.
    NotChecked {
        /// Why not, for people and models.
        reason: String,
    },
}

/// The faults of a text, held against those of the text before. A fault that follows from another one of the same list
/// (or count) is not in it by itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Faults {
    /// What the text has and the text before lacks (all of them without a text before), in the order of their places.
    pub new: Vec<Fault>,
    /// How many of the text before are gone.
    pub resolved: usize,
    /// How many were there before and still are.
    pub unchanged: usize,
}

/// A place where a text does not follow its language's grammar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where, in bytes of the text; empty for what is missing.
    pub bytes: std::ops::Range<usize>,
    /// What stands there, or is missing there; bounded, on one line.
    pub message: String,
    /// Which of both.
    pub kind: FaultKind,
}

/// The kinds of [`Fault`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FaultKind {
    /// Something stands where the grammar has no place for it.
    Error,
    /// Something is not there that the grammar demands.
    Missing,
}

/// The tree of a text, within the bounds of [`check`]; the error says why there is none.
pub fn tree(language: Language, text: &str) -> Result<tree_sitter::Tree, String> {
    parse::parse(language, text)
}

/// Parses `after` and tells the faults that `before` lacks; all of them if there is no text before. `splices` turn `before` into `after` (bytes of `before`, rising, not overlapping).
///
/// Takes some milliseconds for a large source file and at most about two seconds for anything: call it where blocking
/// is allowed. The same arguments always give the same answer.
pub fn check(language: Option<Language>, before: Option<&str>, splices: &[Splice], after: &str) -> Check {
    match try_check(language, before, splices, after) {
        Ok(faults) => Check::Faults(faults),
        Err(reason) => Check::NotChecked { reason },
    }
}

fn try_check(
    language: Option<Language>,
    before: Option<&str>,
    splices: &[Splice],
    after: &str,
) -> Result<Faults, String> {
    let language = language.ok_or("there is no grammar for this language")?;
    let now = faults_of(language, after)?;
    let Some(before) = before else {
        return Ok(Faults { new: compare::leading(&now.found, |_| true), ..Faults::default() });
    };
    let then = faults_of(language, before).map_err(|reason| format!("the text before the edit: {reason}"))?;
    if then.more {
        let limit = faults::FAULT_LIMIT;
        return Err(format!("the text before the edit had more than {limit} syntax errors as {}", language.name()));
    }
    let faults = compare::compare(&then.found, splices, &now.found, after);
    // With more faults than were looked at, those not found again may well be among the rest.
    Ok(if now.more { Faults { resolved: 0, ..faults } } else { faults })
}

fn faults_of(language: Language, text: &str) -> Result<faults::Collected, String> {
    let parsed = match language {
        Language::JsonWithComments => trailing_commas::blanked(text),
        _ => Cow::Borrowed(text),
    };
    let tree = parse::parse(language, &parsed)?;
    Ok(faults::collect(language, &tree, &parsed))
}

#[cfg(test)]
mod tests;
