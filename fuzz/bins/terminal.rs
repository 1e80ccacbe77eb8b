//! libFuzzer's program for the target `terminal`.
#![no_main]

#[path = "../targets/terminal.rs"]
mod terminal;

libfuzzer_sys::fuzz_target!(|data: &[u8]| terminal::terminal(data));
