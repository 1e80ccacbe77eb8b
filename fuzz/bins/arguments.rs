//! libFuzzer's program for the target `arguments`.
#![no_main]

#[path = "../targets/arguments.rs"]
mod arguments;
#[path = "../targets/parts.rs"]
mod parts;

libfuzzer_sys::fuzz_target!(|data: &[u8]| arguments::arguments(data));
