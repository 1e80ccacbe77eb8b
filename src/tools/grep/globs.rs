//! One glob or several, as models give them.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

/// One glob or several.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Globs(pub Vec<String>);

impl<'de> Deserialize<'de> for Globs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Globs, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Given {
            One(String),
            Many(Vec<String>),
        }
        Ok(Globs(match Given::deserialize(deserializer)? {
            Given::Many(globs) => globs,
            // A list in a string is a list.
            Given::One(text) => match serde_json::from_str::<Vec<String>>(&text) {
                Ok(globs) => globs,
                Err(_) if text.trim().is_empty() => Vec::new(),
                Err(_) => vec![text],
            },
        }))
    }
}

impl JsonSchema for Globs {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Globs".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "array"], "items": { "type": "string" } })
    }
}
