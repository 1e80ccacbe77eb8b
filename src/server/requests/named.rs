//! What holds for the params of every method, before they are read: they are an object, the names in them are short, and a
//! call says which tool it is of. Pure.

use serde_json::Value;

use crate::dispatch::{NAMES, overlong};

/// Why params are malformed, in words for whoever sent them. Null stands for an object without fields.
pub(super) fn misfit(params: &Value) -> Option<String> {
    match params {
        Value::Null => None,
        Value::Object(_) => {
            let calls = params["calls"].as_array().map_or(&[][..], Vec::as_slice);
            let within = calls.iter().enumerate().map(|(at, call)| (format!("calls[{at}]."), call));
            std::iter::once((String::new(), params)).chain(within).find_map(|(place, given)| {
                NAMES.iter().find_map(|name| overlong(&format!("{place}{name}"), given[*name].as_str()?))
            })
        }
        _ => Some("expected an object with named fields".to_owned()),
    }
}

/// Why the params of a call, which stand at this place (`calls[0].`), are none: nothing says which tool it is of. A name that
/// is empty does, for it is what a model wrote; so does a `callId`, whose name may have streamed in.
pub(super) fn toolless(place: &str, call: &Value) -> Option<String> {
    let says = |field: &str| call.get(field).is_some_and(|value| !value.is_null());
    (!says("name") && !says("callId")).then(|| {
        format!(
            "`{place}name` is missing: it says which tool is called. Only a call whose `callId` is that of a `toolInput` \
             with a name can do without"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_malformed_is_named() {
        let long = "x".repeat(257);
        for (params, words) in [
            (Value::Null, None),
            (json!({}), None),
            (json!({ "sessionId": "x".repeat(256), "turnId": null, "callId": 7 }), None),
            (json!({ "arguments": { "sessionId": long } }), None),
            (json!({ "sessionId": long }), Some("`sessionId` has 257 bytes; at most 256 are taken")),
            (json!({ "turnId": long }), Some("`turnId` has 257 bytes")),
            (json!({ "callId": "é".repeat(129) }), Some("`callId` has 258 bytes")),
            (json!({ "messageId": long }), Some("`messageId` has 257 bytes")),
            (json!({ "calls": [{}, { "callId": long }] }), Some("`calls[1].callId` has 257 bytes")),
            (json!([]), Some("expected an object")),
            (json!(["pane"]), Some("expected an object")),
            (json!("pane"), Some("expected an object")),
        ] {
            let told = misfit(&params);
            match (&told, words) {
                (None, None) => {}
                (Some(told), Some(words)) if told.contains(words) => {}
                _ => panic!("{params}: {told:?}"),
            }
        }
    }

    #[test]
    fn a_call_says_which_tool_it_is_of() {
        for (call, fits) in [
            (Value::Null, false),
            (json!({}), false),
            (json!({ "name": null, "callId": null, "arguments": {} }), false),
            (json!({ "name": "" }), true),
            (json!({ "name": "read" }), true),
            (json!({ "callId": "c1" }), true),
        ] {
            assert_eq!(toolless("", &call).is_none(), fits, "{call}");
        }
        assert!(toolless("calls[2].", &json!({})).unwrap().starts_with("`calls[2].name` is missing"));
    }
}
