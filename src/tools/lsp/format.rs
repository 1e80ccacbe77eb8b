//! `format`: a file, or some lines of it, as a server formats it.

use crate::languages::ask::Indent;
use crate::languages::ask::edits::{Edits, Operation};
use crate::workspace::FileChange;

use super::change::{Purpose, changes as of_edit};
use super::desk::{Desk, Stop};

/// The changes of a formatting: those of the first server that has any.
pub(super) async fn changes(desk: &Desk<'_>) -> Result<Vec<FileChange>, Stop> {
    let subject = &desk.subject;
    let range = super::actions::lines(desk)?;
    let indent = Indent::of(&subject.text);
    let said = desk.ask(|door| {
        let range = range.clone();
        async move { door.format(subject, range, indent).await }
    });
    let said = said.await?;
    let Some((door, answer)) = said.answers.iter().find(|(_, answer)| !answer.value.is_empty()) else {
        return Ok(Vec::new());
    };
    let uri = desk.target.uri.clone();
    let operations = vec![Operation::Edit { uri, version: None, edits: answer.value.clone() }];
    let edits = Edits { operations, confirm: Vec::new() };
    let label = format!("format {}", desk.target.shown);
    let notes = vec![format!("formatted by {}", door.name)];
    let purpose = Purpose { label, strategy: "format", notes, names: None };
    of_edit(&edits, &answer.seen, &desk.context.workspace, &purpose).await
}
