//! What may be remembered: of which size, and no secrets. Pure.

use crate::permissions::{noted_credential, visible};
use crate::sessions::memories::{Memory, id};
use crate::tool::{ErrorKind, ToolError};

use super::Arguments;

/// The longest name (characters).
const NAME: usize = 80;

/// The longest description (characters).
const DESCRIPTION: usize = 400;

/// The longest content (bytes).
const CONTENT: usize = 16 * 1024;

/// At most so many tags, and so many memories that one takes the place of.
const LIST: usize = 16;

/// What is to be saved, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tidied {
    pub memory: Memory,
    /// The ids of those it takes the place of.
    pub supersedes: Vec<String>,
}

/// What a call wants to save, or why it is not saved.
pub(super) fn tidy(arguments: &Arguments) -> Result<Tidied, ToolError> {
    // First of all: what is refused for another reason is written again, and a secret with it.
    let others = [&arguments.name, &arguments.description, &arguments.content, &arguments.query];
    let texts = others.into_iter().flatten().chain(&arguments.tags).chain(&arguments.supersedes);
    if let Some(what) = texts.into_iter().find_map(|text| noted_credential(text)) {
        return Err(ToolError::new(
            ErrorKind::Denied,
            format!(
                "Nothing was saved: this looks like it holds {what}. Memories are kept as plain text and shown to later \
                 sessions, so that no secret may be among them. Save where it is kept and how it is got, not what it is."
            ),
        ));
    }
    let kind = arguments.kind.ok_or_else(|| unfit("`type` is missing: user, feedback, project or reference"))?;
    let name = named(arguments.name.as_deref())?;
    let description = line("description", arguments.description.as_deref(), DESCRIPTION)?;
    let content = arguments.content.as_deref().unwrap_or_default().trim();
    if content.is_empty() {
        return Err(unfit("`content` is empty; say what is to be remembered"));
    }
    if content.len() > CONTENT {
        let bytes = content.len();
        return Err(unfit(&format!("`content` has {bytes} bytes, and at most {CONTENT} are kept; say it shorter")));
    }
    let tags = list("tags", &arguments.tags)?;
    let mut supersedes = Vec::new();
    for other in list("supersedes", &arguments.supersedes)? {
        let known = ["user/", "feedback/", "project/", "reference/"].iter().any(|kind| other.starts_with(kind));
        // A name alone means one of the same sort.
        supersedes.push(if known { other } else { id(kind, &other) });
    }
    let memory = Memory { kind, name, description, content: content.to_owned(), tags };
    Ok(Tidied { memory, supersedes })
}

/// The name that a call gives.
pub(super) fn named(name: Option<&str>) -> Result<String, ToolError> {
    let name = line("name", name, NAME)?;
    if name.contains(['/', '*']) {
        return Err(unfit(&format!("the name {name:?} has a `/` or `*` in it; use hyphens, and `type` for the sort")));
    }
    Ok(name)
}

/// A text of one line, without what stands around it.
fn line(field: &str, text: Option<&str>, most: usize) -> Result<String, ToolError> {
    let text = text.map(str::trim).unwrap_or_default();
    if text.is_empty() {
        return Err(unfit(&format!("`{field}` is missing or empty")));
    }
    let chars = text.chars().count();
    if chars > most {
        return Err(unfit(&format!("`{field}` has {chars} characters, and at most {most} are kept; say it shorter")));
    }
    if visible(text) != text {
        let shown = visible(text);
        return Err(unfit(&format!("`{field}` has line ends or characters in it that cannot be seen: {shown}")));
    }
    Ok(text.to_owned())
}

/// Short texts, each once.
fn list(field: &str, texts: &[String]) -> Result<Vec<String>, ToolError> {
    let mut kept: Vec<String> = Vec::new();
    for text in texts.iter().filter(|text| !text.trim().is_empty()) {
        let text = line(field, Some(text), NAME + 10)?;
        if !kept.contains(&text) {
            kept.push(text);
        }
    }
    if kept.len() > LIST {
        return Err(unfit(&format!("`{field}` has {} entries, and at most {LIST} are kept", kept.len())));
    }
    Ok(kept)
}

pub(super) fn unfit(why: &str) -> ToolError {
    ToolError::new(
        ErrorKind::InvalidArguments,
        format!(
            "Nothing was done: {why}. For example {{\"action\":\"save\",\"type\":\"project\",\"name\":\"release-steps\",\
             \"description\":\"How a release is made\",\"content\":\"...\"}}."
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn read(change: impl FnOnce(&mut Value)) -> Result<Tidied, ToolError> {
        let mut arguments = json!({
            "action": "save", "type": "project", "name": " release steps ", "description": "How a release is made.",
            "content": "\nTag it.\n", "tags": ["git", " git", ""], "supersedes": ["old", "user/older"],
        });
        change(&mut arguments);
        tidy(&serde_json::from_value(arguments).unwrap())
    }

    #[test]
    fn what_is_kept_is_tidy() {
        let Tidied { memory, supersedes } = read(|_| {}).unwrap();
        assert_eq!((memory.id().as_str(), memory.content.as_str()), ("project/release steps", "Tag it."));
        assert_eq!(
            (memory.tags, supersedes),
            (vec!["git".to_owned()], vec!["project/old".into(), "user/older".into()])
        );
    }

    #[test]
    fn what_is_too_much_or_too_little_is_refused() {
        let many: Vec<String> = (0..17).map(|at| at.to_string()).collect();
        for (field, value, words) in [
            ("type", json!(null), "`type` is missing"),
            ("name", json!("  "), "`name` is missing"),
            ("name", json!("a".repeat(81)), "81 characters, and at most 80"),
            ("name", json!("a/b"), "has a `/`"),
            ("name", json!("a\nb"), "cannot be seen: a\\u{a}b"),
            ("description", json!("\u{200b}x"), "cannot be seen: \\u{200b}x"),
            ("description", json!("é".repeat(401)), "401 characters"),
            ("content", json!(" \n"), "`content` is empty"),
            ("content", json!("x".repeat(16 * 1024 + 1)), "16385 bytes"),
            ("tags", json!(many), "`tags` has 17 entries"),
            ("supersedes", json!(many), "`supersedes` has 17 entries"),
        ] {
            let refused = read(|arguments| arguments[field] = value.clone()).unwrap_err();
            assert_eq!(refused.kind, ErrorKind::InvalidArguments, "{field} {value}");
            assert!(refused.message.contains(words), "{field} {value}: {refused}");
        }
    }

    proptest! {
        /// Wherever in whichever field a secret stands, it is not kept, and the refusal does not say it.
        #[test]
        fn a_secret_is_refused_in_every_field(
            field in prop::sample::select(vec!["name", "description", "content", "query", "tags", "supersedes"]),
            before in "[a-z .,]{0,20}",
            after in "[a-z .,]{0,20}",
        ) {
            let secret = format!("{}{}", "ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
            let text = format!("{before} {secret} {after}");
            let value = if matches!(field, "tags" | "supersedes") { json!(["x", text]) } else { json!(text) };
            let refused = read(|arguments| arguments[field] = value).unwrap_err();
            prop_assert_eq!(refused.kind, ErrorKind::Denied);
            prop_assert!(!refused.message.contains(&secret));
        }
    }
}
