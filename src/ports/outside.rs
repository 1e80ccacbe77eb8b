//! Whether this process may reach beyond itself: start programs, and talk to other machines. It may, unless it was told
//! to stay inside, which holds for good: where what is run comes from somebody else and is only to be looked at.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

static INSIDE: AtomicBool = AtomicBool::new(false);
static TRIED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// So many attempts are remembered.
const REMEMBERED: usize = 100;

/// From now on this process starts no program and reaches no other machine.
pub fn stay_inside() {
    INSIDE.store(true, Ordering::Release);
}

/// Asks whether something may be done beyond this process. `what`: in words, for instance `start git`. An error of the
/// kind [`io::ErrorKind::PermissionDenied`] says that it may not.
pub fn outside(what: impl FnOnce() -> String) -> io::Result<()> {
    if !INSIDE.load(Ordering::Acquire) {
        return Ok(());
    }
    let what = what();
    let error = io::Error::new(io::ErrorKind::PermissionDenied, format!("not done here: {what}"));
    let mut tried = TRIED.lock().unwrap_or_else(PoisonError::into_inner);
    if tried.len() < REMEMBERED {
        tried.push(what);
    }
    Err(error)
}

/// What was tried since the process stays inside, in order; the first hundred.
pub fn kept_inside() -> Vec<String> {
    TRIED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
