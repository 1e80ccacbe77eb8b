//! The front as an editor meets it: order, cancellation and the end of a run over an in-memory pipe, with doubles behind
//! it; and the life cycle of the real binary.

#![expect(unreachable_pub, reason = "the modules of a test binary are for each other")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "clippy does not take the functions beside tests for tests"
)]
#![expect(clippy::needless_pass_by_value, reason = "JSON is made where it is passed")]

mod agents;
mod asked;
mod bad;
mod bash;
mod bridge;
mod commands;
mod documented;
mod doubles;
mod editor;
mod ends;
mod fake_server;
mod faults;
mod fidelity;
mod files;
mod format;
mod front;
mod fuzz;
mod halves;
#[cfg(target_os = "linux")]
mod hangs;
mod hostile;
mod into;
mod late;
mod lost;
mod lsp;
mod malformed;
mod many;
mod mcp;
mod memory;
mod monitor;
mod multi;
mod naive;
mod odd;
mod order;
mod outputs;
mod own;
mod patches;
mod process;
mod proposals;
mod real;
mod recording;
mod registry;
mod review;
mod run;
mod search;
mod sessions;
mod simulation;
mod skills;
mod slot;
mod staged;
mod storm;
mod supply;
mod tidy;
mod trust;
mod web;
mod world;
