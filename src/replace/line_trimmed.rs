//! `lineTrimmed`: each line equal once trimmed.

use super::haystack::Haystack;
use super::keys::trimmed_key;
use super::lines::trim;
use super::search::line_runs;
use super::{Finding, Pair};

/// Runs of as many lines as old has.
pub(super) fn find<'a>(haystack: &Haystack<'_>, pair: &Pair<'a>, all: bool) -> Finding<'a> {
    line_runs(haystack, pair, all, haystack.trimmed(), trimmed_key, |_, old, here| trim(old) == trim(here))
}
