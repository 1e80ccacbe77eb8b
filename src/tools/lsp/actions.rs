//! `code_actions`: what servers offer to do with a part of a text; and doing one of these.

use std::fmt::Write as _;
use std::ops::Range;

use serde_json::{Value, json};

use crate::languages::ask::actions::Action;
use crate::languages::ask::{Answer, Door, Seen, Unanswered};
use crate::languages::problems::clean;
use crate::tool::{Content, ErrorKind, NestedCall, NestedResult, Outcome, ToolError};
use crate::tools::lsp_edit::{Collected, NAME, Waiting};
use crate::workspace::FileChange;

use super::change::{Purpose, changes as of_edit};
use super::desk::{Desk, Stop, why};
use super::rows::noted;

/// An action, and where it comes from.
struct Offered {
    door: Door,
    action: Action,
    seen: Seen,
}

/// The bytes of the lines that are asked about, if some are.
pub(super) fn lines(desk: &Desk<'_>) -> Result<Option<Range<usize>>, Stop> {
    let (text, arguments) = (&desk.subject.text, desk.arguments);
    let Some(first) = arguments.line.or(arguments.end_line) else { return Ok(None) };
    let last = arguments.end_line.unwrap_or(first);
    let count = text.line_count();
    if first == 0 || last > count {
        let message = format!("{} has {count} lines; there are no lines {first} to {last}.", desk.shown());
        return Err(ToolError::new(ErrorKind::InvalidArguments, message).into());
    }
    Ok(Some(text.line_start(first - 1)..text.line_end(last - 1)))
}

/// What is asked about: a place, some lines, or all of the text.
async fn part(desk: &Desk<'_>) -> Result<Range<usize>, Stop> {
    let arguments = desk.arguments;
    let place = arguments.text.is_some() || arguments.column.is_some() || arguments.symbol.is_some();
    if place && arguments.end_line.is_none() {
        let at = desk.at().await?;
        return Ok(at..at);
    }
    Ok(lines(desk)?.unwrap_or(0..desk.subject.text.len()))
}

/// All actions, in the order of the servers and theirs.
async fn offered(desk: &Desk<'_>) -> Result<(Vec<Offered>, Vec<String>), Stop> {
    let (range, subject) = (part(desk).await?, &desk.subject);
    let said = desk.ask(|door| {
        let range = range.clone();
        async move { door.actions(subject, range).await }
    });
    let said = said.await?;
    let mut all = Vec::new();
    for (door, Answer { value, seen, .. }) in said.answers {
        let each = value.into_iter().map(|action| Offered { door: door.clone(), action, seen: seen.clone() });
        all.extend(each);
    }
    Ok((all, said.notes))
}

/// The list of actions.
pub(super) async fn list(desk: &Desk<'_>) -> Result<Outcome, Stop> {
    let (all, notes) = offered(desk).await?;
    let (mut text, mut data) = (String::new(), Vec::new());
    for (at, Offered { door, action, .. }) in all.iter().take(desk.arguments.limit).enumerate() {
        let title = title(action);
        let kind = action.kind.as_ref().map(|kind| format!("{kind}, ")).unwrap_or_default();
        let _ = write!(text, "{}. {title} ({kind}{})", at + 1, door.name);
        if action.preferred {
            text.push_str(" (preferred)");
        }
        if let Some(command) = action.command() {
            let _ = write!(text, " (runs the server's command `{}`)", clean(&command.name, 100));
        }
        if let Some(why) = &action.disabled {
            let _ = write!(text, " (not possible now: {})", clean(why, 200).replace('\n', " "));
        }
        text.push('\n');
        data.push(json!({
            "number": at + 1,
            "title": title,
            "kind": action.kind,
            "server": door.name,
            "preferred": action.preferred,
            "disabled": action.disabled,
            "command": action.command().map(|command| command.name.as_str()),
        }));
    }
    let _ = match (all.len(), data.len()) {
        (0, _) => write!(text, "No server offers anything here."),
        (total, shown) if shown < total => write!(text, "({total} actions; the first {shown} are shown)"),
        (1, _) => write!(text, "(1 action; give its title as `apply` to do it)"),
        (total, _) => write!(text, "({total} actions; give the title of one as `apply` to do it)"),
    };
    noted(&mut text, &notes);
    let data: Vec<Value> = data;
    Ok(Outcome {
        content: vec![Content::text(text)],
        structured: Some(json!({ "operation": "code_actions", "results": data, "total": all.len(), "notes": notes })),
        ..Outcome::default()
    })
}

/// A title on one line.
fn title(action: &Action) -> String {
    clean(&action.title, 300).replace('\n', " ")
}

/// The action that is wanted, with its edit.
async fn chosen(desk: &Desk<'_>) -> Result<Offered, Stop> {
    let wanted = desk.arguments.apply.as_deref().unwrap_or_default().trim();
    let (mut all, _) = offered(desk).await?;
    let mut named: Vec<usize> = (0..all.len()).filter(|at| title(&all[*at].action) == wanted).collect();
    if named.is_empty() {
        let number = wanted.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        named = number.filter(|at| *at < all.len()).into_iter().collect();
    }
    let fail = |kind, message: String| Err(Stop::Failed(ToolError::new(kind, message)));
    let at = match named.as_slice() {
        [only] => *only,
        [] => {
            let titles: Vec<String> =
                all.iter().take(20).map(|offered| format!("{:?}", title(&offered.action))).collect();
            let offers = if titles.is_empty() { "nothing".to_owned() } else { titles.join(", ") };
            return fail(
                ErrorKind::NotFound,
                format!("No action here is called {wanted:?}; the servers offer {offers}."),
            );
        }
        several => {
            let numbers: Vec<String> = several.iter().map(|at| (at + 1).to_string()).collect();
            return fail(
                ErrorKind::Ambiguous,
                format!(
                    "{} actions are called {wanted:?}: give the number of one ({}) as `apply`.",
                    several.len(),
                    numbers.join(", ")
                ),
            );
        }
    };
    let Offered { door, action, seen } = all.swap_remove(at);
    if let Some(disabled) = &action.disabled {
        let disabled = clean(disabled, 300);
        return fail(ErrorKind::Unavailable, format!("{wanted:?} is not possible now: {disabled}."));
    }
    let action = match door.resolved(action).await {
        Ok(action) => action,
        Err(Unanswered::Moved) => return Err(Stop::Moved),
        Err(other) => {
            let message = format!("{wanted:?} was not done: {}.", why(&door.name, &other));
            return fail(ErrorKind::Failed, message);
        }
    };
    Ok(Offered { door, action, seen })
}

fn unread(wanted: &str, why: &str) -> Stop {
    let message = format!("{wanted:?} was not done: its edit could not be read ({why}). Nothing was changed.");
    Stop::Failed(ToolError::new(ErrorKind::Failed, message))
}

/// The changes of an action that is an edit.
pub(super) async fn changes(desk: &Desk<'_>) -> Result<Vec<FileChange>, Stop> {
    let Offered { action, seen, .. } = chosen(desk).await?;
    let name = title(&action);
    let mut notes = Vec::new();
    let edit = action.edit().map_err(|why| unread(&name, why))?;
    if let Some(command) = action.command() {
        let command = clean(&command.name, 100);
        if edit.is_none() {
            let message = format!(
                "{name:?} is a command of the server's, `{command}`, which counts as running code. To run it, give `command`: \
                 {command:?} too."
            );
            return Err(ToolError::new(ErrorKind::InvalidArguments, message).into());
        }
        notes.push(format!(
            "the action also has the command `{command}`, which was not run; `command` with `apply` would run it"
        ));
    }
    let Some(edits) = edit else { return Ok(Vec::new()) };
    let purpose = Purpose { label: name, strategy: "codeAction", notes, names: None };
    of_edit(edits, &seen, &desk.context.workspace, &purpose).await
}

/// Does an action whose command was allowed: first its edit, then the command, then the edits that this asked for. Each
/// edit is a call of its own, which is judged like every other.
pub(super) async fn run(desk: &Desk<'_>, collected: &Collected) -> Result<Outcome, Stop> {
    let Offered { door, action, seen } = chosen(desk).await?;
    let name = title(&action);
    let wanted = desk.arguments.command.as_deref().unwrap_or_default();
    match action.command() {
        Some(command) if command.name == wanted => {}
        other => {
            let has =
                other.map_or_else(|| "no command".to_owned(), |command| format!("the command {:?}", command.name));
            let message = format!("{name:?} has {has}, not {wanted:?}; nothing was run.");
            return Err(ToolError::new(ErrorKind::InvalidArguments, message).into());
        }
    }
    let mut told = Vec::new();
    let edit = action.edit().map_err(|why| unread(&name, why))?;
    if let Some(edits) = edit {
        let waiting = Waiting { label: name.clone(), edits: edits.clone(), seen };
        told.push(words(&made(desk, collected, waiting).await)?);
    }
    let answer = match door.run(&action).await {
        Ok(answer) => answer,
        Err(unanswered) => {
            let message = unfinished(&name, wanted, &door.name, &unanswered, !told.is_empty());
            return Err(ToolError::new(ErrorKind::Failed, message).into());
        }
    };
    told.insert(0, format!("{} ran `{wanted}`.", door.name));
    let mut left = answer.value.len();
    for edits in answer.value {
        let waiting = Waiting { label: name.clone(), edits, seen: answer.seen.clone() };
        match words(&made(desk, collected, waiting).await) {
            Ok(words) => told.push(words),
            // What was done before it stays done, and has to be known.
            Err(error) => {
                told.push(format!("{left} of the edits that it asked for then were not made: {}", error.message));
                return Err(ToolError::new(error.kind, told.join("\n")).into());
            }
        }
        left -= 1;
    }
    if told.len() == 1 {
        told.push("It asked for no edit.".to_owned());
    }
    Ok(Outcome {
        content: vec![Content::text(told.join("\n"))],
        structured: Some(json!({ "operation": "code_actions", "ran": wanted })),
        ..Outcome::default()
    })
}

/// What is said of a command that did not come to a good end. `edited`: the edit of its action was made before.
fn unfinished(name: &str, command: &str, server: &str, unanswered: &Unanswered, edited: bool) -> String {
    let before = if edited { " Its edit was made before." } else { "" };
    match unanswered {
        Unanswered::Cannot(_) => format!(
            "{name:?} was not done: `{command}` is a command for an editor, which {server} does not run itself.{before}"
        ),
        // It was sent, and nobody has said that it did nothing.
        Unanswered::Late | Unanswered::Gone | Unanswered::Modified => format!(
            "{name:?} was not done to its end: {}. What `{command}` did until then is not known; no edit that it asked for \
             was made.{before}",
            why(server, unanswered)
        ),
        other => format!("{name:?} was not done: {}.{before}", why(server, other)),
    }
}

async fn made(desk: &Desk<'_>, collected: &Collected, waiting: Waiting) -> NestedResult {
    let id = collected.put(waiting);
    let arguments = json!({ "edit": id });
    let call = NestedCall { name: NAME.to_owned(), arguments, ..NestedCall::default() };
    let result = desk.context.slot.call(call).await;
    collected.take(&id);
    result
}

fn words(result: &NestedResult) -> Result<String, ToolError> {
    let text = |content: &Content| match content {
        Content::Text { text } => Some(text.clone()),
        Content::Image { .. } => None,
    };
    let text = result.content.iter().filter_map(text).collect::<Vec<_>>().join("\n");
    match result.failed {
        None => Ok(text),
        Some(kind) => Err(ToolError::new(kind, text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_says_that_a_command_did_nothing_where_that_is_not_known() {
        for (unanswered, edited, told) in [
            (Unanswered::Failed("no".into()), false, "\"Fix\" was not done: s says: no."),
            (Unanswered::Failed("no".into()), true, "\"Fix\" was not done: s says: no. Its edit was made before."),
            (
                Unanswered::Late,
                false,
                "\"Fix\" was not done to its end: s did not answer in time. What `x` did until then is not known; no edit \
                 that it asked for was made.",
            ),
            (
                Unanswered::Cannot(Vec::new()),
                false,
                "\"Fix\" was not done: `x` is a command for an editor, which s does not run itself.",
            ),
        ] {
            assert_eq!(unfinished("Fix", "x", "s", &unanswered, edited), told, "{unanswered:?}");
        }
    }
}
