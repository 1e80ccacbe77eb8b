//! A disk in memory, for tests: its failures can be chosen.

/// Files in memory.
#[derive(Debug, Default)]
pub struct MemoryDisk {}
