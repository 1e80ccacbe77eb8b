//! Parsing within bounds. The bounds are counted in work, not in time, so that the same text always gives the same
//! answer.
//!
//! Tree-sitter reports its progress once in so many parser operations; that bounds the parser, but not the scanners of
//! some grammars, which in broken text look ahead to its end again and again between two operations (a hundred thousand
//! `)` keep Bash's busy for minutes). They must ask for every chunk they look at, so those questions are counted too;
//! once the budget is spent the text seems to end, and the parse is given up.

use std::cell::Cell;
use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

use super::Language;

/// Texts of more bytes than this are not parsed; hardly anybody writes such a file by hand.
pub(super) const SIZE_LIMIT: usize = 2 << 20;

/// At most so many progress reports a parse; each stands for a hundred operations, about 20 µs in an optimised build.
/// Real texts take up to 16 a KiB.
const STEP_LIMIT: u64 = 40_000;

/// The bytes handed out at once. Small, for what a scanner does within a chunk is not counted.
const CHUNK: usize = 512;

/// A parse may ask for each chunk so many times on average, and for [`FREE_READS`] chunks besides. Real texts take up
/// to 8, most of them 2.
const READS_PER_CHUNK: u64 = 16;

/// See [`READS_PER_CHUNK`].
const FREE_READS: u64 = 2_000;

/// Parses a text, or says why not.
pub(super) fn parse(language: Language, text: &str) -> Result<Tree, String> {
    if text.len() > SIZE_LIMIT {
        return Err(format!("it is larger than {} MiB", SIZE_LIMIT >> 20));
    }
    let mut parser = Parser::new();
    parser.set_language(&language.grammar()).map_err(|error| format!("its grammar cannot be used: {error}"))?;
    let bytes = text.as_bytes();
    let chunks = u64::try_from(bytes.len().div_ceil(CHUNK)).unwrap_or(u64::MAX);
    let limit = FREE_READS + READS_PER_CHUNK.saturating_mul(chunks);
    let (steps, reads) = (Cell::new(0_u64), Cell::new(0_u64));
    let spent = || steps.get() > STEP_LIMIT || reads.get() > limit;
    let mut progress = |_: &ParseState| {
        steps.set(steps.get() + 1);
        if spent() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut read = |at: usize, _| {
        reads.set(reads.get() + 1);
        if spent() { &[] } else { &bytes[at.min(bytes.len())..(at + CHUNK).min(bytes.len())] }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    tree.filter(|_| !spent()).ok_or_else(|| "it takes too long to parse".to_owned())
}
