//! libFuzzer's program for the target `settings`.
#![no_main]

#[path = "../targets/parts.rs"]
mod parts;
#[path = "../targets/settings.rs"]
mod settings;

libfuzzer_sys::fuzz_target!(|data: &[u8]| settings::settings(data));
