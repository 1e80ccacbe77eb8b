//! Whole lives of calls, against an editor, a disk and tools that do as they are told.

mod agents;
mod bash;
mod changes;
mod consent;
mod ends;
mod fetched;
mod files;
mod format;
mod hooks;
mod into;
mod kit;
mod lives;
mod monitor;
mod outputs;
mod permissions;
mod review;
mod save;
