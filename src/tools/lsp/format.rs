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
    let indent = indent(&subject.text.to_string());
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

/// How a text is indented: by tabs if more lines are than by spaces; a step of spaces is the least that a line is
/// indented more than the one before, if that is found often enough, else four.
fn indent(text: &str) -> Indent {
    let (mut tabs, mut spaces, mut steps, mut last) = (0usize, 0usize, [0usize; 9], 0usize);
    for line in text.lines().filter(|line| !line.trim().is_empty()).take(10_000) {
        if line.starts_with('\t') {
            tabs += 1;
            continue;
        }
        let width = line.len() - line.trim_start_matches(' ').len();
        spaces += usize::from(width > 0);
        if let Some(step) = width.checked_sub(last).and_then(|step| steps.get_mut(step)) {
            *step += 1;
        }
        last = width;
    }
    let best = (2..=8).max_by_key(|width| (steps[*width], std::cmp::Reverse(*width)));
    let width = best.filter(|width| steps[*width] > 0).and_then(|width| u32::try_from(width).ok()).unwrap_or(4);
    if tabs > spaces { Indent { width: 4, spaces: false } } else { Indent { width, spaces: true } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indents() {
        for (text, width, spaces) in [
            ("a\n  b\n    c\nd\n", 2, true),
            ("a\n    b\n", 4, true),
            ("a\n\tb\n\t\tc\n  d\n", 4, false),
            ("a\nb\n", 4, true),
            ("", 4, true),
        ] {
            assert_eq!(indent(text), Indent { width, spaces }, "{text:?}");
        }
    }
}
