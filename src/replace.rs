//! The cascade: finds the place an inexact edit means, or says why it cannot. Pure.
//!
//! Strategies are tried strictest first. One place is a match; two are an error that names both and ends the cascade,
//! for going on to a looser strategy would only hide that they are two.

use crate::text::Splice;

/// What to look for and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'a> {
    /// The text that should be there.
    pub old: &'a str,
    /// What should be there instead.
    pub new: &'a str,
    /// Every place of the first strategy that finds one.
    pub all: bool,
}

/// Where the edit goes.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The strategy that found it, by its name in [`STRATEGIES`].
    pub strategy: &'static str,
    /// How alike old and the place are; 1 is exact.
    pub similarity: f64,
    /// The replacements, in bytes of the text, rising, not overlapping.
    pub splices: Vec<Splice>,
    /// With `all`: places that only a looser strategy would take, left alone.
    pub near: usize,
}

/// Why there is no edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// What kind of reason.
    pub kind: MissKind,
    /// For the model: what is there instead, with line numbers, and what to do.
    pub explanation: String,
    /// The 1-based lines of the places found, or of the closest region.
    pub lines: Vec<usize>,
}

/// The kinds of [`Miss`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MissKind {
    /// Old and new are the same.
    Identical,
    /// Old is empty and the text is not.
    EmptyOld,
    /// Old or new leaves something out ("... rest unchanged").
    Elision,
    /// No place.
    NotFound,
    /// Two or more.
    Ambiguous,
    /// A place, but the lines that new changes are not as old has them.
    Conflict,
}

/// Finds the place of an edit in a text (a byte order mark at its beginning is in no place).
pub fn find(text: &str, request: &Request<'_>) -> Result<Found, Miss> {
    let _ = (text, request);
    todo!()
}
