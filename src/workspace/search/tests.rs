//! Searches over trees in memory and on the real disk.

mod kit;
mod odd;
mod overlaid;
mod running;
