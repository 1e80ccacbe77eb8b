//! The web, guarded: which addresses may be fetched, what a redirect means, which machine is dialled, and what a model gets
//! to see of what came. The rules are pure; what dials is told by them.

pub mod address;
mod client;
mod course;
pub mod fields;
pub mod kind;
pub mod page;

mod request;
pub mod target;
mod wire;

#[cfg(test)]
mod tests;

pub use address::special;
pub use client::{Client, Fetched, Guide, Halt, Lookup, Proxy, Reply, SystemLookup, Terms, Trouble, TroubleKind, Wire};
pub use course::{Course, MOST_REDIRECTS, Next};
pub use request::{Method, Request, headers};
pub use target::{Origin, Refused, Step, Target, checked, follow, parse};
pub use wire::{Http, causes};
