//! libFuzzer's program for the target `patches`.
#![no_main]

#[path = "../targets/parts.rs"]
mod parts;
#[path = "../targets/patches.rs"]
mod patches;

libfuzzer_sys::fuzz_target!(|data: &[u8]| patches::patches(data));
