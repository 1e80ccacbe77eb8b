//! libFuzzer's program for the target `schemas`.
#![no_main]

#[path = "../targets/parts.rs"]
mod parts;
#[path = "../targets/schemas.rs"]
mod schemas;

libfuzzer_sys::fuzz_target!(|data: &[u8]| schemas::schemas(data));
