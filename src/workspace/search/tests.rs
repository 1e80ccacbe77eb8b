//! Searches over trees in memory and on the real disk.

mod foreign;
mod kit;
mod odd;
mod overlaid;
mod running;

pub(super) use kit::query;
