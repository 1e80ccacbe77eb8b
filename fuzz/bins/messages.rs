//! libFuzzer's program for the target `messages`.
#![no_main]

#[path = "../targets/messages.rs"]
mod messages;

libfuzzer_sys::fuzz_target!(|data: &[u8]| messages::messages(data));
