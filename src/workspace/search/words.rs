//! What is said of a search besides its results. Pure.

use crate::ports::Fault;
use crate::workspace::Roots;

use super::{Ended, Place, names};

/// So many faults are told one by one.
const MAX_FAULTS: usize = 5;

pub(super) fn words(roots: &Roots, faults: &[Fault], faulty: u64, ended: Option<Ended>) -> Vec<String> {
    let mut words = Vec::new();
    if ended == Some(Ended::TimeLimit) {
        words.push(
            "the search was ended by its time limit: there may be more; narrow it by a `path` or globs".to_owned(),
        );
    }
    if faulty > 0 {
        let told: Vec<String> = faults
            .iter()
            .take(MAX_FAULTS)
            .map(|fault| {
                let place = Place { base: 0, path: fault.path.clone() };
                format!("{}: {}", names::shown(roots, &place), fault.why)
            })
            .collect();
        let more = match faulty.saturating_sub(told.len() as u64) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        words.push(format!("could not be looked at: {}{more}", told.join("; ")));
    }
    words
}
