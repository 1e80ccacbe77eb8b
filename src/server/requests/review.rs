//! Review: `ropewalk/changes`, `keep` and `undo`; the same as code lenses, code actions and commands, and with them those
//! that accept and reject what is proposed.

use std::sync::Arc;

use futures_util::FutureExt as _;
use serde::Serialize;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::Error;

use crate::dispatch::review::{
    ChangedFile, ChangesParams, ChangesResult, HunkKind, ListChangesParams, Outcome, UndoParams, UndoResult,
};
use crate::dispatch::{ProposedFile, ProposedHunk};
use crate::editor::{Editor as _, Loudness, News, Review};
use crate::server::convert;
use crate::server::front::Front;
use crate::server::protocol;
use crate::tool::ToolError;
use crate::workspace::LineSpan;

use super::sessions::refused;
use super::{Started, at_once, read_choice, uncancelled, write};

/// The kind of our code actions.
pub(in crate::server) const ACTION: &str = "ropewalk";

impl Front {
    pub(super) fn begin_changes(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let changes = Arc::clone(&self.rooms.calls).changes(read_choice(params)?);
        Ok(uncancelled(changes.map(|answer| answered(&answer)).boxed()))
    }

    pub(super) fn begin_keep(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let keep = Arc::clone(&self.rooms.calls).keep(read_choice(params)?);
        Ok(uncancelled(keep.map(|answer| answered(&answer)).boxed()))
    }

    pub(super) fn begin_undo(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let undo = Arc::clone(&self.rooms.calls).undo(read_choice(params)?);
        Ok(uncancelled(undo.map(|answer| answered(&answer)).boxed()))
    }

    /// The command that undoes: whoever clicks sees no result, so that what stays is told in a message.
    pub(super) fn begin_undo_command(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let params: UndoParams = read_choice(params)?;
        let undo = Arc::clone(&self.rooms.calls).undo(params);
        let front = Arc::clone(self);
        let told = async move {
            let answer = undo.await;
            if let Ok(result) = &answer {
                for words in stays(result) {
                    front.outbox.tell(News::Show(Loudness::Info, words));
                }
            }
            answered(&answer)
        };
        Ok(uncancelled(told.boxed()))
    }

    /// `textDocument/codeLens`
    pub(super) fn begin_lenses(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        self.begin_shown(params, |found, prefix, _| {
            let changed = found.files.iter().flat_map(|file| lenses(file, prefix));
            let proposed = found.proposals.iter().flat_map(|file| proposed_lenses(file, prefix, several(found)));
            changed.chain(proposed).collect()
        })
    }

    /// `textDocument/codeAction`
    pub(super) fn begin_actions(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        self.begin_shown(params, |found, prefix, params| {
            let Some(lines) = asked_lines(params) else { return Vec::new() };
            let changed = found.files.iter().flat_map(|file| actions(file, prefix, lines));
            let proposed =
                found.proposals.iter().flat_map(|file| proposed_actions(file, prefix, several(found), lines));
            changed.chain(proposed).collect()
        })
    }

    fn begin_shown(
        self: &Arc<Self>,
        params: &Value,
        show: fn(&ChangesResult, &str, &Value) -> Vec<Value>,
    ) -> Result<Started, Error> {
        let uri = convert::document_uri(params).ok_or_else(|| Error::invalid_params("no textDocument.uri"))?.to_owned();
        // A client that did not ask for lenses, and one whose document is virtual to us, has none.
        if self.outbox.abilities().review != Review::Lens || self.rooms.workspace.key_of(&uri).is_none() {
            return Ok(at_once(Ok(json!([]))));
        }
        let choice = ChangesParams { uri: Some(uri), ..ChangesParams::default() };
        let asked = ListChangesParams { choice, include_accepted: false };
        let changes = Arc::clone(&self.rooms.calls).changes(asked);
        let (prefix, params) = (self.command_prefix.clone(), params.clone());
        let shown = async move {
            let found = changes.await.map_err(|error| refused(&error))?;
            Ok(Value::Array(show(&found, &prefix, &params)))
        };
        Ok(uncancelled(shown.boxed()))
    }
}

pub(super) fn answered<T: Serialize>(answer: &Result<T, ToolError>) -> Result<Value, Error> {
    match answer {
        Ok(answer) => write(answer),
        Err(error) => Err(refused(error)),
    }
}

/// What an undo left, in words for a person; each reason once.
fn stays(result: &UndoResult) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for hunk in result.hunks.iter().filter(|hunk| hunk.outcome != Outcome::Undone) {
        let why = hunk.why.iter().map(|why| format!("Ropewalk: {why}"));
        words.extend(why.filter(|why| !words.contains(why)).collect::<Vec<_>>());
    }
    words
}

/// A command with what it is about.
fn command(prefix: &str, name: &str, title: &str, argument: &Value) -> Value {
    json!({ "title": title, "command": format!("{prefix}.{name}"), "arguments": [argument] })
}

/// Keep and undo, for each hunk above it and for the file at its top. Lines only, so that positions count the same in
/// every encoding.
fn lenses(file: &ChangedFile, prefix: &str) -> Vec<Value> {
    let pair = |line: usize, keep: &str, undo: &str, argument: &Value| {
        [(protocol::KEEP_COMMAND, keep), (protocol::UNDO_COMMAND, undo)]
            .map(|(name, title)| lens(line, &command(prefix, name, title, argument)))
    };
    let all = file.hunks.len();
    let (keep, undo) = (format!("Keep file ({all})"), format!("Undo file ({all})"));
    let mut lenses = pair(0, &keep, &undo, &json!({ "uri": file.uri })).to_vec();
    for hunk in file.hunks.iter().filter(|hunk| hunk.under.is_none()) {
        let what = what(hunk.kind);
        let (keep, undo) = (format!("Keep{what}"), format!("Undo{what}"));
        let line = hunk.lines.start.saturating_sub(1);
        lenses.extend(pair(line, &keep, &undo, &json!({ "hunkId": hunk.hunk_id })));
    }
    lenses
}

/// A command above a line (0-based).
fn lens(line: usize, command: &Value) -> Value {
    let place = json!({ "line": line, "character": 0 });
    json!({ "range": { "start": place, "end": place }, "command": command })
}

/// Whether more than one session proposes something: then it is said which.
fn several(found: &ChangesResult) -> bool {
    found.proposals.iter().any(|file| file.session_id != found.proposals[0].session_id)
}

/// Who proposes, behind what.
fn of(file: &ProposedFile, several: bool) -> String {
    if several { format!(" of {}", file.session_id) } else { String::new() }
}

/// What is proposed, behind a verb.
fn proposed(hunk: &ProposedHunk) -> &'static str {
    match hunk.kind {
        HunkKind::Changed => "proposal",
        HunkKind::Created => "proposed new file",
        HunkKind::Deleted => "proposed deletion",
        HunkKind::Moved => "proposed move",
        HunkKind::Mode => "proposed mode",
    }
}

/// Accept and reject, for each proposal above the lines that it would replace, and for all of the file at its top where
/// there are several.
fn proposed_lenses(file: &ProposedFile, prefix: &str, several: bool) -> Vec<Value> {
    let of = of(file, several);
    let pair = |line: usize, what: &str, argument: &Value| {
        [(protocol::ACCEPT_COMMAND, "Accept"), (protocol::REJECT_COMMAND, "Reject")].map(|(name, verb)| {
            let title = format!("{verb} {what}{of}");
            lens(line, &command(prefix, name, &title, argument))
        })
    };
    let mut lenses = Vec::new();
    if file.hunks.len() > 1 {
        let what = format!("all proposals ({})", file.hunks.len());
        lenses.extend(pair(0, &what, &json!({ "sessionId": file.session_id, "uri": file.uri })));
    }
    for hunk in &file.hunks {
        let argument = json!({ "sessionId": file.session_id, "hunkId": hunk.hunk_id });
        lenses.extend(pair(hunk.lines.start.saturating_sub(1), proposed(hunk), &argument));
    }
    lenses
}

/// The lines (0-based, the last included) that code actions are asked for; `None` where other kinds are.
fn asked_lines(params: &Value) -> Option<(usize, usize)> {
    let only = params.pointer("/context/only").and_then(Value::as_array);
    let kind = |kind: &Value| kind.as_str().is_some_and(|kind| kind.is_empty() || kind == ACTION);
    if only.is_some_and(|only| !only.iter().any(kind)) {
        return None;
    }
    let line =
        |pointer: &str| params.pointer(pointer).and_then(Value::as_u64).and_then(|line| usize::try_from(line).ok());
    Some((line("/range/start/line").unwrap_or(0), line("/range/end/line").unwrap_or(usize::MAX)))
}

/// Whether a hunk meets such lines.
fn meets(span: LineSpan, (first, last): (usize, usize)) -> bool {
    let start = span.start.saturating_sub(1);
    start <= last && first <= start + span.count.saturating_sub(1)
}

fn action(prefix: &str, name: &str, title: &str, argument: &Value) -> Value {
    json!({ "title": title, "kind": ACTION, "command": command(prefix, name, title, argument) })
}

/// Accept and reject for each proposal that the lines meet, and for all of the file.
fn proposed_actions(file: &ProposedFile, prefix: &str, several: bool, lines: (usize, usize)) -> Vec<Value> {
    let of = of(file, several);
    let pair = |what: &str, argument: &Value| {
        [(protocol::ACCEPT_COMMAND, "Accept"), (protocol::REJECT_COMMAND, "Reject")]
            .map(|(name, verb)| action(prefix, name, &format!("{verb} {what}{of}"), argument))
    };
    let mut out = Vec::new();
    for hunk in file.hunks.iter().filter(|hunk| meets(hunk.lines, lines)) {
        let argument = json!({ "sessionId": file.session_id, "hunkId": hunk.hunk_id });
        out.extend(pair(&format!("this {}", proposed(hunk)), &argument));
    }
    out.extend(pair("all proposals for this file", &json!({ "sessionId": file.session_id, "uri": file.uri })));
    out
}

/// What a hunk is, behind a verb.
fn what(kind: HunkKind) -> &'static str {
    match kind {
        HunkKind::Changed => "",
        HunkKind::Created => " new file",
        HunkKind::Deleted => " deletion",
        HunkKind::Moved => " move",
        HunkKind::Mode => " mode",
    }
}

/// Keep and undo for each hunk that the lines meet, and for the file.
fn actions(file: &ChangedFile, prefix: &str, lines: (usize, usize)) -> Vec<Value> {
    let action = |name: &str, title: &str, argument: &Value| action(prefix, name, title, argument);
    let mut out = Vec::new();
    for hunk in file.hunks.iter().filter(|hunk| hunk.under.is_none()) {
        if meets(hunk.lines, lines) {
            let argument = json!({ "hunkId": hunk.hunk_id });
            let what = if hunk.kind == HunkKind::Changed { " this change" } else { what(hunk.kind) };
            out.push(action(protocol::KEEP_COMMAND, &format!("Keep{what}"), &argument));
            out.push(action(protocol::UNDO_COMMAND, &format!("Undo{what}"), &argument));
        }
    }
    let argument = json!({ "uri": file.uri });
    out.push(action(protocol::KEEP_COMMAND, "Keep all changes of this file", &argument));
    out.push(action(protocol::UNDO_COMMAND, "Undo all changes of this file", &argument));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::review::HunkInfo;

    fn file() -> ChangedFile {
        let hunk = |id: &str, start: usize, count: usize, kind: HunkKind| HunkInfo {
            hunk_id: id.into(),
            kind,
            session_id: "s".into(),
            turn_id: None,
            call_id: "c".into(),
            lines: LineSpan { start, count },
            before: String::new(),
            after: String::new(),
            now: String::new(),
            touched: false,
            accepted: false,
            under: None,
            moved_from: None,
        };
        let hunks = vec![hunk("1.1", 3, 2, HunkKind::Changed), hunk("1.2", 9, 0, HunkKind::Changed)];
        ChangedFile { uri: "file:///a".into(), version: Some(1), hunks }
    }

    #[test]
    fn lenses_stand_above_their_hunks() {
        let told: Vec<String> = lenses(&file(), "rw")
            .iter()
            .map(|lens| {
                let command = &lens["command"];
                format!("{} {} {}", lens["range"]["start"]["line"], command["command"], command["arguments"][0])
            })
            .collect();
        expect_test::expect![[r#"
            0 "rw.keep" {"uri":"file:///a"}
            0 "rw.undo" {"uri":"file:///a"}
            2 "rw.keep" {"hunkId":"1.1"}
            2 "rw.undo" {"hunkId":"1.1"}
            8 "rw.keep" {"hunkId":"1.2"}
            8 "rw.undo" {"hunkId":"1.2"}
        "#]]
        .assert_eq(&(told.join("\n") + "\n"));
    }

    #[test]
    fn proposals_stand_above_the_lines_that_they_would_replace() {
        let hunk = |id: &str, start: usize, kind: HunkKind| ProposedHunk {
            hunk_id: id.into(),
            kind,
            turn_id: None,
            call_id: "c".into(),
            lines: LineSpan { start, count: 1 },
            proposed_lines: LineSpan { start: start + 7, count: 1 },
            before: String::new(),
            after: String::new(),
        };
        let proposed = |session: &str, hunks: Vec<ProposedHunk>| ProposedFile {
            uri: "file:///a".into(),
            version: Some(1),
            session_id: session.into(),
            moved_to: None,
            hunks,
        };
        let found = ChangesResult {
            proposals: vec![
                proposed("s", vec![hunk("p1.0", 1, HunkKind::Moved), hunk("p1.1", 3, HunkKind::Changed)]),
                proposed("t", vec![hunk("p1.1", 9, HunkKind::Changed)]),
            ],
            ..ChangesResult::default()
        };
        let lenses = found.proposals.iter().flat_map(|file| proposed_lenses(file, "rw", several(&found)));
        let told = lenses.map(|lens| {
            let command = &lens["command"];
            let place = &lens["range"]["start"]["line"];
            format!("{place} {}: {} {}\n", command["title"], command["command"], command["arguments"][0])
        });
        expect_test::expect![[r#"
            0 "Accept all proposals (2) of s": "rw.accept" {"sessionId":"s","uri":"file:///a"}
            0 "Reject all proposals (2) of s": "rw.reject" {"sessionId":"s","uri":"file:///a"}
            0 "Accept proposed move of s": "rw.accept" {"sessionId":"s","hunkId":"p1.0"}
            0 "Reject proposed move of s": "rw.reject" {"sessionId":"s","hunkId":"p1.0"}
            2 "Accept proposal of s": "rw.accept" {"sessionId":"s","hunkId":"p1.1"}
            2 "Reject proposal of s": "rw.reject" {"sessionId":"s","hunkId":"p1.1"}
            8 "Accept proposal of t": "rw.accept" {"sessionId":"t","hunkId":"p1.1"}
            8 "Reject proposal of t": "rw.reject" {"sessionId":"t","hunkId":"p1.1"}
        "#]]
        .assert_eq(&told.collect::<String>());
        let actions = found.proposals.iter().flat_map(|file| proposed_actions(file, "rw", false, (2, 2)));
        let titles = actions.map(|action| format!("{} {}\n", action["kind"], action["title"]));
        expect_test::expect![[r#"
            "ropewalk" "Accept this proposal"
            "ropewalk" "Reject this proposal"
            "ropewalk" "Accept all proposals for this file"
            "ropewalk" "Reject all proposals for this file"
            "ropewalk" "Accept all proposals for this file"
            "ropewalk" "Reject all proposals for this file"
        "#]]
        .assert_eq(&titles.collect::<String>());
    }

    #[test]
    fn actions_are_those_of_the_lines() {
        let count = |first: u64, last: u64, only: Value| {
            let range = json!({ "start": { "line": first, "character": 0 }, "end": { "line": last, "character": 0 } });
            let asked = asked_lines(&json!({ "range": range, "context": { "only": only } }));
            asked.map_or(0, |lines| actions(&file(), "rw", lines).len())
        };
        for (first, last, only, expected) in [
            (0, 0, json!(null), 2),
            (2, 2, json!(null), 4),
            (3, 8, json!([ACTION]), 6),
            (4, 7, json!([""]), 2),
            (2, 2, json!(["quickfix"]), 0),
        ] {
            assert_eq!(count(first, last, only.clone()), expected, "{first} {last} {only}");
        }
    }
}
