//! Commits against an editor that can be told how to behave, and against disks.

mod closed;
mod fake;
mod much;
mod open;
mod property;
