//! Review: `ropewalk/changes`, `keep` and `undo`; the same as code lenses, code actions and commands.

use std::sync::Arc;

use futures_util::FutureExt as _;
use serde::Serialize;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::Error;

use crate::dispatch::review::{ChangedFile, ChangesParams, ChangesResult, HunkKind, Outcome, UndoParams, UndoResult};
use crate::editor::{Editor as _, Loudness, News, Review};
use crate::server::convert;
use crate::server::front::Front;
use crate::server::protocol;
use crate::tool::ToolError;

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
        self.begin_shown(params, |file, prefix, _| lenses(file, prefix))
    }

    /// `textDocument/codeAction`
    pub(super) fn begin_actions(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        self.begin_shown(params, actions)
    }

    fn begin_shown(
        self: &Arc<Self>,
        params: &Value,
        show: fn(&ChangedFile, &str, &Value) -> Vec<Value>,
    ) -> Result<Started, Error> {
        let uri = convert::document_uri(params).ok_or_else(|| Error::invalid_params("no textDocument.uri"))?.to_owned();
        // A client that did not ask for lenses, and one whose document is virtual to us, has none.
        if self.outbox.abilities().review != Review::Lens || self.rooms.workspace.key_of(&uri).is_none() {
            return Ok(at_once(Ok(json!([]))));
        }
        let asked = ChangesParams { uri: Some(uri), ..ChangesParams::default() };
        let changes = Arc::clone(&self.rooms.calls).changes(asked);
        let (prefix, params) = (self.command_prefix.clone(), params.clone());
        let shown = async move {
            let ChangesResult { files, .. } = changes.await.map_err(|error| refused(&error))?;
            Ok(files.iter().flat_map(|file| show(file, &prefix, &params)).collect::<Value>())
        };
        Ok(uncancelled(shown.boxed()))
    }
}

fn answered<T: Serialize>(answer: &Result<T, ToolError>) -> Result<Value, Error> {
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
    let at = |line: usize| {
        let place = json!({ "line": line, "character": 0 });
        json!({ "start": place, "end": place })
    };
    let pair = |line: usize, keep: &str, undo: &str, argument: &Value| {
        [(protocol::KEEP_COMMAND, keep), (protocol::UNDO_COMMAND, undo)]
            .map(|(name, title)| json!({ "range": at(line), "command": command(prefix, name, title, argument) }))
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

/// Keep and undo for each hunk that the range of the request meets, and for the file; none where other kinds are asked
/// for.
fn actions(file: &ChangedFile, prefix: &str, params: &Value) -> Vec<Value> {
    let only = params.pointer("/context/only").and_then(Value::as_array);
    let kind = |kind: &Value| kind.as_str().is_some_and(|kind| kind.is_empty() || kind == ACTION);
    if only.is_some_and(|only| !only.iter().any(kind)) {
        return Vec::new();
    }
    let line =
        |pointer: &str| params.pointer(pointer).and_then(Value::as_u64).and_then(|line| usize::try_from(line).ok());
    let first = line("/range/start/line").unwrap_or(0);
    let last = line("/range/end/line").unwrap_or(usize::MAX);
    let action = |name: &str, title: &str, argument: &Value| {
        let command = command(prefix, name, title, argument);
        json!({ "title": title, "kind": ACTION, "command": command })
    };
    let mut out = Vec::new();
    for hunk in file.hunks.iter().filter(|hunk| hunk.under.is_none()) {
        let start = hunk.lines.start.saturating_sub(1);
        let end = start + hunk.lines.count.saturating_sub(1);
        if start <= last && first <= end {
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
    use crate::workspace::LineSpan;

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
    fn actions_are_those_of_the_lines() {
        let count = |first: u64, last: u64, only: Value| {
            let range = json!({ "start": { "line": first, "character": 0 }, "end": { "line": last, "character": 0 } });
            actions(&file(), "rw", &json!({ "range": range, "context": { "only": only } })).len()
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
