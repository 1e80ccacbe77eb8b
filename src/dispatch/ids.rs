//! The names that a caller gives to sessions, turns and calls. They are kept for long and told often, so that they have
//! to be short. Pure.

use std::borrow::Cow;

use crate::tool::{ErrorKind, ToolError};

use super::CallParams;

/// A name may have so many bytes of UTF-8.
pub(super) const MAX_ID_BYTES: usize = crate::sessions::kin::MAX_NAME_BYTES;

/// Why the names of a call are not taken.
pub(super) fn misfit(params: &CallParams) -> Option<ToolError> {
    let names = [("sessionId", &params.session_id), ("turnId", &params.turn_id), ("callId", &params.call_id)];
    names.into_iter().find_map(|(what, name)| too_long(what, name.as_deref()))
}

/// Why a name is not taken: `what` it names is a field of the params.
pub(super) fn too_long(what: &str, name: Option<&str>) -> Option<ToolError> {
    name.and_then(|name| overlong(what, name)).map(|words| ToolError::new(ErrorKind::InvalidArguments, words))
}

/// The fields of params that are such names.
pub(crate) const NAMES: [&str; 4] = ["sessionId", "turnId", "callId", "messageId"];

/// Why a name is too long, if it is: `what` it names is a field of the params.
pub(crate) fn overlong(what: &str, name: &str) -> Option<String> {
    let length = name.len();
    (length > MAX_ID_BYTES)
        .then(|| format!("`{what}` has {length} bytes; at most {MAX_ID_BYTES} are taken. Give a shorter one."))
}

/// A name as it is told. One that is too long is cut and marked so that it is none that is taken.
pub(super) fn told(name: &str) -> Cow<'_, str> {
    if name.len() <= MAX_ID_BYTES {
        return Cow::Borrowed(name);
    }
    let mut at = MAX_ID_BYTES;
    while !name.is_char_boundary(at) {
        at -= 1;
    }
    // The mark has three bytes, and fewer than four can be missing before it: twice is longer than any that is taken.
    Cow::Owned(format!("{}……", &name[..at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_refused_and_cut_where_they_are_told() {
        let fits = "é".repeat(MAX_ID_BYTES / 2);
        let params = CallParams { session_id: Some(fits.clone()), ..CallParams::default() };
        assert_eq!(misfit(&params), None);
        assert_eq!(told(&fits), fits);
        for long in ["é".repeat(MAX_ID_BYTES), format!("a{fits}"), "x".repeat(MAX_ID_BYTES + 1)] {
            let told = told(&long).into_owned();
            assert!(told.len() > MAX_ID_BYTES && told.len() < MAX_ID_BYTES + 10 && told.ends_with('…'), "{told}");
            for params in [
                CallParams { session_id: Some(long.clone()), ..CallParams::default() },
                CallParams { turn_id: Some(long.clone()), ..CallParams::default() },
                CallParams { call_id: Some(long.clone()), ..CallParams::default() },
            ] {
                assert_eq!(misfit(&params).unwrap().kind, ErrorKind::InvalidArguments);
            }
        }
    }
}
