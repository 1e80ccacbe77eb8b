//! Whole lives of calls, against an editor, a disk and tools that do as they are told.

mod changes;
mod consent;
mod files;
mod hooks;
mod into;
mod kit;
mod lives;
mod outputs;
