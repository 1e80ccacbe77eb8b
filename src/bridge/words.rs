//! What we say to models and people who are at the other end of MCP. Pure.

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
