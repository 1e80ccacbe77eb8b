//! The front as an editor meets it: order, cancellation and the end of a run over an in-memory pipe, with doubles behind
//! it; and the life cycle of the real binary.

#![expect(unreachable_pub, reason = "the modules of a test binary are for each other")]

mod documented;
mod doubles;
mod editor;
mod ends;
mod front;
mod naive;
mod order;
mod process;
mod real;
mod tidy;
