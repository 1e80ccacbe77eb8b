//! Commits against an editor that can be told how to behave, and against disks.

mod closed;
mod crash;
pub(super) mod fake;
mod machine;
mod much;
mod open;
mod property;
mod set;
