//! `rename`: everywhere the thing is used, as one change of many files.

use crate::tool::{Context, ErrorKind, ToolError};
use crate::workspace::FileChange;

use super::Arguments;
use super::change::{Purpose, changes as of_edit, unknown};
use super::desk::{Desk, Stop, look};

/// At most so many files that the server knows only from the disk are shown to it before it is asked again. (It keeps
/// no more files open than that.)
const SHOWN: usize = 48;

/// The changes of a renaming.
pub(super) async fn changes(arguments: &Arguments, context: &Context) -> Result<Vec<FileChange>, Stop> {
    let new = arguments.new_name.as_deref().unwrap_or_default().trim();
    let mut shown = false;
    loop {
        let desk = Desk::open(arguments, context).await?;
        let (at, subject) = (desk.at().await?, &desk.subject);
        let said = desk.ask(|door| async move { door.rename(subject, at, new).await }).await?;
        let answer = said.answers.iter().find_map(|(_, answer)| Some((answer.value.as_ref()?, &answer.seen)));
        let old = word(&subject.text.to_string(), at);
        let Some((edits, seen)) = answer else {
            let message = format!(
                "Nothing was renamed: {:?} in {} is nothing that the server can rename to {new:?}.",
                old,
                desk.shown()
            );
            return Err(ToolError::new(ErrorKind::NotFound, message).into());
        };
        // Whatever the server has read from the disk by itself is shown to it, and it is asked once more: then its answer
        // is about exactly the texts that are changed.
        let unknown = unknown(edits, seen, &context.workspace);
        if !shown && !unknown.is_empty() {
            for uri in unknown.iter().take(SHOWN) {
                // What cannot be read is told once it is known that the edit really is of it.
                if let Ok(target) = context.workspace.resolve(uri) {
                    drop(look(context, &target).await);
                }
            }
            shown = true;
            continue;
        }
        let label = format!("rename {old} to {new}");
        let names = (!old.is_empty()).then_some((old.as_str(), new));
        let purpose = Purpose { label, strategy: "rename", notes: said.notes, names };
        return of_edit(edits, seen, &context.workspace, &purpose).await;
    }
}

/// The word that a byte is in or before.
fn word(text: &str, at: usize) -> String {
    let part = |char: &char| char.is_alphanumeric() || *char == '_' || *char == '$';
    let before: Vec<char> = text[..at].chars().rev().take_while(part).collect();
    before.into_iter().rev().chain(text[at..].chars().take_while(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_round_a_place() {
        for (at, expected) in [(0, "let"), (4, "añ_1"), (7, "añ_1"), (9, "añ_1"), (10, ""), (11, "")] {
            assert_eq!(word("let añ_1 = 2", at), expected, "{at}");
        }
    }
}
