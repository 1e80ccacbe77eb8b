//! libFuzzer's program for the target `cascade`.
#![no_main]

#[path = "../targets/cascade.rs"]
mod cascade;
#[path = "../targets/parts.rs"]
mod parts;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cascade::cascade(data));
