//! Real editors and real language servers around the real sidecar.
//!
//! They are set up by `tests/run`, which names their place in `ROPEWALK_TOOLS`. Without that variable each test says so
//! and passes; with it, a tool that is missing is a failure.

mod clients;
mod eglot;
mod format;
mod lsp;
mod mcp;
mod nvim;
mod optional;
mod package;
mod servers;
mod tools;
mod vscode;
