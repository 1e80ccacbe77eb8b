//! What we say to models and people who are at the other end of MCP. Pure.

use crate::permissions::visible;

/// A word of a client's is shown up to so many characters.
const LONGEST_WORD: usize = 200;

/// A word of a client's, as it is shown to it again: all that is in it, and not for ever.
pub(super) fn word(text: &str) -> String {
    let shown: String = text.chars().take(LONGEST_WORD).collect();
    let more = if shown.len() < text.len() { "..." } else { "" };
    format!("{}{more}", visible(&shown))
}

/// What a model should know of us before its first call.
pub(super) fn instructions(editor: bool) -> String {
    let place = if editor {
        "These tools work inside the user's editor. They see the text of its open documents, saved or not, and change the \
         open documents themselves; the user sees each change at once and can undo it. Prefer them to your own tools for \
         files: what those read from the disk may be older than what the user sees, and what they write there the editor \
         has to load again. `ropewalk://context/selection` and `ropewalk://context/editors` tell what the user looks at."
    } else {
        "These tools work on the files of the workspace. A file is replaced whole or not at all."
    };
    format!(
        "{place} The result of a change says which problems the language servers and the syntax check find afterwards, and \
         whether that is known already. A text that was not read, or that changed since, is not overwritten: read it \
         first. Some calls wait for the user's consent; a refusal says why. What was cut from a long result is there in \
         full through `output`."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_shown_whole_or_cut() {
        let long = "é".repeat(LONGEST_WORD);
        for (text, shown) in [
            ("", String::new()),
            ("a\u{202e}b", "a\\u{202e}b".to_owned()),
            (&long, long.clone()),
            (&format!("{long}x"), format!("{long}...")),
        ] {
            assert_eq!(word(text), shown);
        }
    }
}
