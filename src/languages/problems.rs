//! Diagnostics as data: read leniently, located in a text, moved through edits, compared, told. Pure.
//!
//! The order of things: [`parse`] what a server sent, [`locate`] it in the text it speaks of, [`moved`] the last known
//! set through the splices of an edit, [`delta`] between that baseline and what is there now, [`told`] as what goes over
//! the wire. Nothing here decides how much a source is worth; that is `verdict`.

mod delta;
mod message;
mod moved;
mod parse;

use std::ops::Range as Bytes;

pub use delta::{Delta, delta};
pub use message::{MESSAGE_LIMIT, NAME_LIMIT, clean};
pub use moved::moved;
pub use parse::{Parsed, parse};

use super::verdict::{Problem, Severity};
use crate::syntax::Fault;
use crate::text::{Encoding, Range, Text};

/// The id, and the name on each problem, of the embedded check as a source.
pub const SYNTAX: &str = "syntax";

/// One diagnostic as its source counts: positions in the source's own encoding and lines, not yet held against a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawProblem {
    /// Where, 0-based; never reversed, perhaps outside the text.
    pub range: Range,
    /// How bad.
    pub severity: Severity,
    /// The tool that found it, at most [`NAME_LIMIT`] characters, on one line.
    pub source: Option<String>,
    /// Its code as text, at most [`NAME_LIMIT`] characters, on one line.
    pub code: Option<String>,
    /// What it says, at most [`MESSAGE_LIMIT`] characters, lines ended by LF, no other control characters, never empty.
    pub message: String,
}

/// One diagnostic with its place in bytes of one particular text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Located {
    /// Where, in bytes; never reversed.
    pub bytes: Bytes<usize>,
    /// How bad.
    pub severity: Severity,
    /// See [`RawProblem::source`].
    pub source: Option<String>,
    /// See [`RawProblem::code`].
    pub code: Option<String>,
    /// See [`RawProblem::message`].
    pub message: String,
}

impl From<&Fault> for Located {
    /// A fault of the embedded check as an error of the source [`SYNTAX`].
    fn from(fault: &Fault) -> Located {
        Located {
            bytes: fault.bytes.clone(),
            severity: Severity::Error,
            source: Some(SYNTAX.to_owned()),
            code: None,
            message: fault.message.clone(),
        }
    }
}

/// The place of a diagnostic in the text it speaks of, given how its source counts. Clamped into the text and moved to
/// character boundaries: a source that is off by a line still gets a place.
///
/// `text` must count lines as the source does (see [`Text::with_breaks`]).
pub fn locate(problem: &RawProblem, text: &Text, encoding: Encoding) -> Located {
    let (start, _) = text.byte_of(problem.range.start, encoding);
    let (end, _) = text.byte_of(problem.range.end, encoding);
    Located {
        bytes: start.min(end)..start.max(end),
        severity: problem.severity,
        source: problem.source.clone(),
        code: problem.code.clone(),
        message: problem.message.clone(),
    }
}

/// What is told of `problems` of `text`: the `max` worst, worst first and then by place, in the positions of `encoding`;
/// and how many milder or later ones are left out.
pub fn told(problems: &[Located], text: &Text, encoding: Encoding, max: usize) -> (Vec<Problem>, usize) {
    let mut order: Vec<&Located> = problems.iter().collect();
    order.sort_by_key(|problem| (problem.severity, order_of(problem)));
    let list: Vec<Problem> = order.iter().take(max).map(|problem| tell(problem, text, encoding)).collect();
    let cut = problems.len() - list.len();
    (list, cut)
}

/// A message as it counts when two are compared: runs of white space are one space.
pub fn same_words(message: &str) -> String {
    message::collapse(message)
}

fn tell(problem: &Located, text: &Text, encoding: Encoding) -> Problem {
    Problem {
        range: text.range_of(problem.bytes.clone(), encoding),
        severity: problem.severity,
        source: problem.source.clone(),
        code: problem.code.clone(),
        message: problem.message.clone(),
    }
}

/// The total order of problems: by place, and at the same place by the rest.
fn order_of(problem: &Located) -> impl Ord + '_ {
    (place(problem), problem.severity, &problem.source, &problem.code, &problem.message)
}

/// Where a problem begins, then where it ends.
fn place(problem: &Located) -> (usize, usize) {
    (problem.bytes.start, problem.bytes.end)
}
