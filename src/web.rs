//! The web, guarded: which addresses may be fetched, what a redirect means, and which machine is dialled. The rules are
//! pure; what dials is told by them.

pub mod address;
pub mod target;

#[cfg(test)]
mod tests;

pub use address::special;
pub use target::{Origin, Refused, Step, Target, checked, follow, parse};
