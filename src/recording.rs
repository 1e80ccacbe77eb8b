//! Recordings: every frame between an editor and a sidecar, kept as lines without secrets, and played again.
//!
//! [`Recorder`] listens at the two pipes ([`Tap`]) and gives what it hears to a thread of its own, which cuts secrets out
//! ([`redact`]) and writes lines ([`line`]). [`replay`] plays the editor's side of a recording against another sidecar
//! and tells where what comes is not what came. `docs/RECORDING.md` is the format.

mod compare;
mod cut;
mod known;
mod line;
mod load;
mod mask;
mod plan;
mod recorder;
mod redact;
mod replay;
mod shapes;
mod tap;
mod typed;

pub use compare::NATURAL;
pub use line::{Content, Dir, FORMAT, Frame, Head, Recording, Unreadable};
pub use load::{LoadError, load};
pub use recorder::{Recorder, Sink};
pub use replay::{Difference, Outcome, Replayed, replay};
pub use tap::{TapReader, TapWriter};
