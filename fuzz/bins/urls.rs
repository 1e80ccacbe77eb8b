//! libFuzzer's program for the target `urls`.
#![no_main]

#[path = "../targets/parts.rs"]
mod parts;
#[path = "../targets/urls.rs"]
mod urls;

libfuzzer_sys::fuzz_target!(|data: &[u8]| urls::urls(data));
