//! Faults that a sidecar meets, and what is lost by each (nothing): `docs/FAULTS.md` has the table, with the names of the
//! tests, of which those that no other place has are here.

mod clock;
mod frail;
#[cfg(target_os = "linux")]
mod killed;
#[cfg(target_os = "linux")]
mod mounted;
mod once;
#[cfg(target_os = "linux")]
mod rights;
mod slow;
mod table;
