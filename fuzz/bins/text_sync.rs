//! libFuzzer's program for the target `text_sync`.
#![no_main]

#[path = "../targets/parts.rs"]
mod parts;
#[path = "../targets/text_sync.rs"]
mod text_sync;

libfuzzer_sys::fuzz_target!(|data: &[u8]| text_sync::text_sync(data));
