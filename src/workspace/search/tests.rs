//! Searches over trees in memory and on the real disk.
