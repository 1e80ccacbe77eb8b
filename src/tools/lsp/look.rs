//! The operations that only look.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::languages::ask::{Direction, Relation};
use crate::languages::problems::clean;
use crate::tool::{Content, Outcome};

use super::Operation;
use super::desk::{Desk, Said, Stop};
use super::rows::{Files, noted, outcome};

/// Of a hover at most so many characters are shown.
const HOVER: usize = 8_000;

/// What a call that only looks is answered.
pub(super) async fn answer(desk: &Desk<'_>) -> Result<Outcome, Stop> {
    let declaration = desk.arguments.include_declaration;
    match desk.arguments.operation {
        Operation::Definition => places(desk, Relation::Definition, "definition").await,
        Operation::Declaration => places(desk, Relation::Declaration, "declaration").await,
        Operation::TypeDefinition => places(desk, Relation::TypeDefinition, "type definition").await,
        Operation::Implementation => places(desk, Relation::Implementation, "implementation").await,
        Operation::References => places(desk, Relation::References { declaration }, "reference").await,
        Operation::DocumentSymbols => symbols(desk).await,
        Operation::WorkspaceSymbols => workspace_symbols(desk).await,
        Operation::IncomingCalls => calls(desk, Direction::Incoming).await,
        Operation::OutgoingCalls => calls(desk, Direction::Outgoing).await,
        _ => hover(desk).await,
    }
}

async fn hover(desk: &Desk<'_>) -> Result<Outcome, Stop> {
    let (at, subject) = (desk.at().await?, &desk.subject);
    let said = desk.ask(|door| async move { door.hover(subject, at).await }).await?;
    let told: Vec<(&str, String)> = said
        .answers
        .iter()
        .filter(|(_, answer)| !answer.value.is_empty())
        .map(|(door, answer)| (door.name.as_str(), clean(&answer.value.join("\n\n"), HOVER)))
        .collect();
    let mut text = match told.as_slice() {
        [] => "The server has nothing to say of this place.".to_owned(),
        [(_, only)] => only.clone(),
        several => several.iter().map(|(name, text)| format!("{name}:\n{text}")).collect::<Vec<_>>().join("\n\n"),
    };
    noted(&mut text, &said.notes);
    let data: Vec<Value> = told.iter().map(|(name, text)| json!({ "server": name, "text": text })).collect();
    Ok(Outcome {
        content: vec![Content::text(text)],
        structured: Some(json!({ "operation": "hover", "results": data, "total": told.len(), "notes": said.notes })),
        ..Outcome::default()
    })
}

async fn places(desk: &Desk<'_>, relation: Relation, what: &str) -> Result<Outcome, Stop> {
    let (at, subject) = (desk.at().await?, &desk.subject);
    let Said { answers, notes } = desk.ask(|door| async move { door.places(subject, at, relation).await }).await?;
    let (mut files, mut rows) = (Files::new(desk), Vec::new());
    for (_, answer) in &answers {
        for place in &answer.value {
            rows.push(files.row(place, &answer.seen, String::new()).await);
        }
    }
    Ok(outcome(desk, rows, what, &notes))
}

async fn symbols(desk: &Desk<'_>) -> Result<Outcome, Stop> {
    let subject = &desk.subject;
    let Said { answers, notes } = desk.ask(|door| async move { door.symbols(subject).await }).await?;
    // Several servers know the same symbols; the one that knows most of them is believed.
    let best = answers.iter().max_by_key(|(_, answer)| answer.value.len());
    let Some((_, answer)) = best else { return Ok(outcome(desk, Vec::new(), "symbol", &notes)) };
    let text = subject.text.with_breaks(crate::text::LineBreaks::Lsp);
    let line = |position| subject.text.line_of(text.byte_of(position, answer.seen.encoding).0) + 1;
    let (total, limit) = (answer.value.len(), desk.arguments.limit);
    let (mut told, mut data) = (String::new(), Vec::new());
    for symbol in answer.value.iter().take(limit) {
        let (at, first, last) = (line(symbol.place.range.start), line(symbol.whole.start), line(symbol.whole.end));
        let span = if first == last { format!("{at}") } else { format!("{first}-{last}") };
        let detail = symbol.detail.as_ref().map(|detail| clean(detail, 200).replace('\n', " "));
        let _ = writeln!(
            told,
            "{}{} {}{} (line {span})",
            "  ".repeat(symbol.depth),
            symbol.kind,
            clean(&symbol.name, 200).replace('\n', " "),
            detail.as_ref().map(|detail| format!(" {detail}")).unwrap_or_default(),
        );
        data.push(json!({
            "name": symbol.name, "kind": symbol.kind, "detail": detail, "container": symbol.container,
            "depth": symbol.depth, "line": at, "startLine": first, "endLine": last,
        }));
    }
    let _ = match total {
        0 => write!(told, "{} defines nothing that the server knows of.", desk.shown()),
        1 => write!(told, "(1 symbol in {})", desk.shown()),
        _ if total > limit => {
            write!(
                told,
                "({total} symbols in {}; the first {limit} are shown, a larger `limit` shows more)",
                desk.shown()
            )
        }
        _ => write!(told, "({total} symbols in {})", desk.shown()),
    };
    noted(&mut told, &notes);
    Ok(Outcome {
        content: vec![Content::text(told)],
        structured: Some(json!({ "operation": "document_symbols", "results": data, "total": total, "notes": notes })),
        ..Outcome::default()
    })
}

async fn workspace_symbols(desk: &Desk<'_>) -> Result<Outcome, Stop> {
    let query = desk.arguments.query.as_deref().unwrap_or_default().trim();
    let Said { answers, notes } = desk.ask(|door| async move { door.workspace_symbols(query).await }).await?;
    let (mut files, mut rows) = (Files::new(desk), Vec::new());
    for (door, answer) in answers {
        for symbol in door.placed(answer.value, desk.arguments.limit).await {
            let of = symbol.container.as_ref().map(|of| format!(" in {of}")).unwrap_or_default();
            let label = clean(&format!("{} {}{of}", symbol.kind, symbol.name), 200).replace('\n', " ");
            rows.push(files.row(&symbol.place, &answer.seen, label).await);
        }
    }
    Ok(outcome(desk, rows, "symbol", &notes))
}

async fn calls(desk: &Desk<'_>, direction: Direction) -> Result<Outcome, Stop> {
    let (at, subject) = (desk.at().await?, &desk.subject);
    let Said { answers, mut notes } = desk.ask(|door| async move { door.callables(subject, at).await }).await?;
    let (mut files, mut rows) = (Files::new(desk), Vec::new());
    for (door, items) in answers {
        for item in &items.value {
            let answer = match door.calls(item, direction).await {
                Ok(answer) => answer,
                Err(unanswered) => {
                    notes.push(super::desk::why(&door.name, &unanswered));
                    continue;
                }
            };
            notes.extend(super::desk::unread(&door.name, answer.unread));
            for call in &answer.value {
                let uri = match direction {
                    Direction::Incoming => &call.item.place.uri,
                    Direction::Outgoing => &item.place.uri,
                };
                let mut at = Vec::new();
                for range in &call.sites {
                    let site = crate::languages::ask::places::Location { uri: uri.clone(), range: *range };
                    at.push(files.row(&site, &answer.seen, String::new()).await.line);
                }
                at.sort_unstable();
                at.dedup();
                let lines: Vec<String> = at.iter().map(ToString::to_string).collect();
                let (calls, by) = match direction {
                    Direction::Incoming => ("calls it on", ""),
                    Direction::Outgoing => ("is called on", " of the caller"),
                };
                let sites = match lines.len() {
                    0 => String::new(),
                    1 => format!(" ({calls} line {}{by})", lines[0]),
                    _ => format!(" ({calls} lines {}{by})", lines.join(", ")),
                };
                let label = clean(&format!("{} {}{sites}", call.item.kind, call.item.name), 300).replace('\n', " ");
                rows.push(files.row(&call.item.place, &answer.seen, label).await);
            }
        }
    }
    let what = match direction {
        Direction::Incoming => "caller",
        Direction::Outgoing => "callee",
    };
    Ok(outcome(desk, rows, what, &notes))
}
