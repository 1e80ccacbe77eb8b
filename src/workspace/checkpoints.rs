//! What agents changed, call by call and hunk by hunk, so that a person can keep or undo it.
//!
//! [`Ledger`] follows one text: each call leaves marks on the lines that it changed, with what stood there before; what
//! the user types moves the marks, and where it does not touch them it is the user's alone. Pure: what happens to a text
//! is told to the ledger in its order, and what an undo would do comes back as a text. A page is a file with its ledger and
//! with what became of the file itself. [`Checkpoints`] holds the pages of all files and documents and feeds them with what
//! the editor tells.

mod book;
mod kept;
mod ledger;
mod left;
mod page;
mod revert;

pub(in crate::workspace) use ledger::Kept as KeptLedger;
pub(in crate::workspace) use revert::{revert, stretches};

pub use book::{Checkpoints, Drawn, Redrawn};
pub use ledger::{By, Ledger, Left, Mark, MarkId, Undo};
pub use page::{Became, Change, Did, Kind, Pending, Selection};
