//! The parts of an input: texts with a byte between them that stands in no text.

use std::borrow::Cow;

/// What stands between two parts.
pub const BETWEEN: u8 = 0xff;

/// So many parts, as text; those that are not there are empty.
pub fn texts<const N: usize>(data: &[u8]) -> [Cow<'_, str>; N] {
    let mut parts = data.splitn(N, |byte| *byte == BETWEEN).map(String::from_utf8_lossy);
    std::array::from_fn(|_| parts.next().unwrap_or_default())
}
