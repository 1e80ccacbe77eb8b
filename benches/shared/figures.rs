//! Figures of tables.

use std::time::Duration;

/// So many percent of the times are no longer than this.
pub(crate) fn quantile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    times[(times.len() * percent / 100).min(times.len() - 1)]
}

/// How many times as long the first is as the second.
pub(crate) fn ratio(time: Duration, other: Duration) -> String {
    plain(time.as_secs_f64() / other.as_secs_f64())
}

/// A number with as many digits as say something.
pub(crate) fn plain(number: f64) -> String {
    match number {
        _ if number >= 99.5 => format!("{number:.0}"),
        _ if number >= 9.95 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

/// Bytes in the unit that reads best.
pub(crate) fn size(bytes: usize) -> String {
    match bytes {
        1_000_000.. => format!("{} MB", bytes / 1_000_000),
        1_000.. => format!("{} KB", bytes / 1_000),
        _ => format!("{bytes} B"),
    }
}
