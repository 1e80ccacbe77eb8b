//! libFuzzer's program for the target `shell`.
#![no_main]

#[path = "../targets/parts.rs"]
mod parts;
#[path = "../targets/shell.rs"]
mod shell;

libfuzzer_sys::fuzz_target!(|data: &[u8]| shell::shell(data));
