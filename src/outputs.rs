//! What becomes of the text that a call gives back: how much of it a model and a front end are shown, where the whole is
//! kept, and how it is looked at again. Pure, but for [`SpillPlace`], which goes through the disk port.
//!
//! Three views of one output, never confused: what the model is given ([`present`], bounded by a [`Budget`]), what front
//! ends show ([`display`], the end of it), and what is kept ([`Store`], all).

mod compress;
mod cut;
mod decoder;
mod display;
pub mod external;
mod failures;
mod gather;
mod index;
mod kind;
mod known;
mod look;
mod plain_lines;
mod present;
mod scan;
mod spill;
mod spilled;
mod spool;
mod store;
mod terminal;

pub use compress::{Compressed, compressed};
pub use cut::{Budget, Cut, head_end};
pub use decoder::{Decoder, unfinished};
pub use display::{DISPLAY_HEADER, display, display_end};
pub use gather::{Excerpt, Gather, Gathered, Long};
pub use index::Index;
pub use kind::{OutputKind, classify};
pub use known::unknown;
pub use look::{Ask, Looked, Mode, Next, Pattern, look};
pub use plain_lines::{PlainLine, PlainLines};
pub use present::{How, Text, present};
pub use spill::{SPILL_FROM, Source, SpillPlace, open};
pub use spilled::Spilled;
pub use store::{Found, Kept, NewOutput, Put, Store, Whole};
pub use terminal::{Plain, plain};

/// The lines of a text with what ends them; the empty one after a final line end is none.
fn lines(text: &str) -> std::str::SplitInclusive<'_, char> {
    text.split_inclusive('\n')
}

/// How many lines a text has, as people count: the empty one after a final line end is none.
pub fn line_count(text: &str) -> usize {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    ends + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// A line without what ends it.
fn trimmed(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}
