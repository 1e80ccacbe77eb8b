//! How each deed of a script is done.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ropewalk::editor::Consent;
use ropewalk::fake_editor::step::{
    Answer, Behaviour, Change, Echo, Named, Open, Release, Step as Move, Trouble, Type, WriteDisk,
};
use serde_json::{Value, json};

use super::desk::{Asked, Desk, NAMES, ROOT, SESSIONS, uri};
use super::ledger::{Fault, Intent, State};
use super::script::{Deed, Kind, Pace, Step};
use super::settle;
use super::texts::{ERROR, blanks, key, lines, mark, place, range, signs};

/// Plays one step, and what happens before the next.
pub async fn play(desk: &mut Desk, step: &Step) -> Result<(), Fault> {
    desk.count("steps");
    desk.note(&format!("= {step:?}"));
    act(desk, step).await?;
    match step.pace {
        Pace::Rush => Ok(()),
        Pace::Unread => desk.rest_unread().await,
        Pace::Half => desk.halve().await,
        Pace::Meet => desk.meet().await,
        Pace::Long => {
            desk.meet().await?;
            desk.rest(12_000).await?;
            desk.meet().await
        }
    }
}

fn named(path: String) -> Named {
    Named { path }
}

/// One of the open documents.
fn document(desk: &Desk, pick: u32) -> Option<String> {
    let open = desk.model.open();
    (!open.is_empty()).then(|| open[pick as usize % open.len()].clone())
}

fn name(pick: u32) -> &'static str {
    NAMES[pick as usize % NAMES.len()]
}

fn session(pick: u32) -> &'static str {
    SESSIONS[pick as usize % SESSIONS.len()]
}

async fn act(desk: &mut Desk, step: &Step) -> Result<(), Fault> {
    let number = step.number;
    match step.deed {
        Deed::Open { .. }
        | Deed::Close { .. }
        | Deed::Type { .. }
        | Deed::Delete { .. }
        | Deed::Undo { .. }
        | Deed::Redo { .. }
        | Deed::Save { .. }
        | Deed::Format { .. }
        | Deed::Outside { .. } => person(desk, number, step.deed),
        Deed::Trouble { which } => trouble(desk, number, which),
        Deed::Echo { which } => {
            let echo = Some([Echo::Before, Echo::After, Echo::Held][which as usize % 3]);
            desk.behave(Behaviour { echo, ..Behaviour::default() })
        }
        Deed::Release => desk.person(&Move::Release(Release {})).map(drop),
        Deed::Late => {
            desk.late = true;
            Ok(())
        }
        Deed::OnTime => {
            desk.late = false;
            desk.tell_late();
            Ok(())
        }
        Deed::Consent { open } => consent(desk, open),
        Deed::Answer { yes } => settle::answer(desk, yes).map(drop),
        Deed::Cancel { call, named } => cancel(desk, call, named),
        Deed::Accept { .. } | Deed::Reject { .. } | Deed::TakeBack { .. } | Deed::BringBack | Deed::Keep { .. } => {
            review(desk, step.deed)
        }
        Deed::Settle => settle::settle(desk).await,
        _ => agent(desk, number, step.deed),
    }
}

fn person(desk: &mut Desk, number: u32, deed: Deed) -> Result<(), Fault> {
    match deed {
        Deed::Open { file } => {
            let name = name(file);
            let text = name.starts_with("untitled:").then(String::new);
            let open = Open { path: name.to_owned(), text, language_id: None };
            if desk.person(&Move::Open(open))? {
                desk.count("opened");
            }
        }
        Deed::Outside { file, noticed, removed } => {
            let name = name(file);
            if name.starts_with("untitled:") {
                return Ok(());
            }
            let old = desk.disk.bytes(format!("{ROOT}/{name}"));
            let old = old.and_then(|bytes| String::from_utf8(bytes).ok());
            let text = (!removed).then(|| format!("outside {}\n{}", key(number * 4), old.unwrap_or_default()));
            desk.person(&Move::WriteDisk(WriteDisk { path: name.to_owned(), text, noticed }))?;
            desk.count("written outside");
        }
        _ => return at_document(desk, number, deed),
    }
    Ok(())
}

fn at_document(desk: &mut Desk, number: u32, deed: Deed) -> Result<(), Fault> {
    let (Deed::Close { document: pick }
    | Deed::Type { document: pick, .. }
    | Deed::Delete { document: pick, .. }
    | Deed::Undo { document: pick }
    | Deed::Redo { document: pick }
    | Deed::Save { document: pick }
    | Deed::Format { document: pick }) = deed
    else {
        return Ok(());
    };
    let Some(path) = document(desk, pick) else { return Ok(()) };
    let Some((_, text)) = desk.model.document(&path) else { return Ok(()) };
    let (step, what) = match deed {
        Deed::Close { .. } => (Move::Close(named(path)), "closed"),
        Deed::Type { at, count, tail, stays, .. } => {
            let at = Some(super::texts::position(&text, place(&text, at), desk.utf8));
            let mut typed: String = (0..count).map(|index| key(number * 4 + index)).collect();
            typed.push_str(["", "", "", "\n", "\n\n", " BAD", " é𝄞", "  ", "x", "\n"][tail as usize]);
            (Move::Type(Type { path, text: typed, at, after: None, before: None, end: false, stays }), "typed")
        }
        Deed::Delete { at, count, .. } => {
            let start = place(&text, at);
            let most = text[start..].char_indices().map(|(at, _)| at).nth(count as usize);
            let mut end = most.map_or(text.len(), |at| start + at);
            if text[..end].ends_with('\r') {
                end -= 1;
            }
            let range = range(&text, start..end.max(start), desk.utf8);
            (Move::Change(Change { path, range, text: String::new() }), "deleted")
        }
        Deed::Undo { .. } => (Move::Undo(named(path)), "undone"),
        Deed::Redo { .. } => (Move::Redo(named(path)), "redone"),
        Deed::Save { .. } => (Move::Save(named(path)), "saved"),
        _ => {
            for bytes in blanks(&text) {
                let range = range(&text, bytes, desk.utf8);
                desk.person(&Move::Change(Change { path: path.clone(), range, text: String::new() }))?;
            }
            return Ok(());
        }
    };
    if desk.person(&step)? {
        desk.count(what);
    }
    Ok(())
}

fn trouble(desk: &mut Desk, number: u32, which: u32) -> Result<(), Fault> {
    let typed = Type {
        path: document(desk, which / 16).unwrap_or_else(|| NAMES[0].to_owned()),
        text: format!("{}\n", key(number * 4 + 3)),
        at: None,
        after: None,
        before: None,
        end: true,
        stays: false,
    };
    let (trouble, what) = match which % 8 {
        0 => (Trouble::Refuse, "refusals"),
        1 => (Trouble::Lie, "lies"),
        2 => (Trouble::Silent, "edits lost"),
        3 => (Trouble::Unanswered, "answers lost"),
        4 => (Trouble::Close, "closed under an edit"),
        5 | 6 => (Trouble::Type(typed), "typed before an edit"),
        _ => (Trouble::TypeWith(typed), "typed with an edit"),
    };
    desk.count(what);
    desk.behave(Behaviour { next: vec![trouble], ..Behaviour::default() })
}

fn consent(desk: &mut Desk, open: bool) -> Result<(), Fault> {
    for method in ["ropewalk/approve", "window/showMessageRequest"] {
        let answer = Answer {
            approve: (!open).then_some(Consent::Deny),
            method: (open || method == "ropewalk/approve").then(|| method.to_owned()),
            open,
            times: Some(1),
            ..Answer::default()
        };
        desk.person(&Move::Answer(answer))?;
        if !open {
            break;
        }
    }
    Ok(())
}

fn cancel(desk: &mut Desk, pick: u32, named: bool) -> Result<(), Fault> {
    let open: Vec<(i64, String)> = desk
        .asked
        .iter()
        .filter_map(|(id, asked)| match asked {
            Asked::Calls(calls) => Some((*id, calls[0].clone())),
            _ => None,
        })
        .collect();
    if open.is_empty() {
        return Ok(());
    }
    desk.count("cancels");
    let (id, call) = &open[pick as usize % open.len()];
    if named {
        let session = desk.ledger.intents[call].session.clone();
        desk.request("ropewalk/cancel", json!({ "sessionId": session, "callId": call }), Asked::Own)?;
        return Ok(());
    }
    desk.send(json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": id } }))
}

/// One of the calls in these states.
fn among(desk: &Desk, states: &[State], pick: u32) -> Option<(String, Intent)> {
    let calls = desk.ledger.calls(states);
    let call = (!calls.is_empty()).then(|| calls[pick as usize % calls.len()].clone())?;
    let intent = desk.ledger.intents[&call].clone();
    Some((call, intent))
}

/// What is meant: a call, or everything of its session in its file.
fn which(call: &str, intent: &Intent, file: bool) -> (Value, Option<String>) {
    let mut params = json!({ "sessionId": intent.session });
    if file {
        params["uri"] = json!(intent.uris[0]);
    } else {
        params["callId"] = json!(call);
    }
    (params, (!file).then(|| call.to_owned()))
}

fn review(desk: &mut Desk, deed: Deed) -> Result<(), Fault> {
    match deed {
        Deed::Accept { call, file } => {
            let Some((call, intent)) = among(desk, &[State::Proposed], call) else { return Ok(()) };
            let (params, meant) = which(&call, &intent, file);
            *desk.ledger.accepting.entry(intent.session.clone()).or_default() += 1;
            desk.request("ropewalk/accept", params, Asked::Accept(intent.session, meant))?;
        }
        Deed::Reject { call, file } => {
            let Some((call, intent)) = among(desk, &[State::Proposed], call) else { return Ok(()) };
            let (params, meant) = which(&call, &intent, file);
            desk.request("ropewalk/reject", params, Asked::Reject(meant))?;
        }
        Deed::TakeBack { call, file } => {
            let states = [State::Applied, State::Partly, State::Unknown];
            let Some((call, intent)) = among(desk, &states, call) else { return Ok(()) };
            let (params, _) = which(&call, &intent, file);
            desk.ledger.taking += 1;
            desk.request("ropewalk/undo", params, Asked::TakeBack)?;
        }
        Deed::BringBack => {
            if let Some(undo) = desk.undone.take() {
                desk.ledger.taking += 1;
                desk.request("ropewalk/undo", json!({ "undoId": undo }), Asked::TakeBack)?;
            }
        }
        Deed::Keep { call } => {
            let Some((call, _)) = among(desk, &[State::Applied], call) else { return Ok(()) };
            desk.request("ropewalk/keep", json!({ "callId": call }), Asked::Own)?;
        }
        _ => {}
    }
    Ok(())
}

/// A call that is made.
struct Made {
    tool: &'static str,
    arguments: Value,
    marks: Vec<char>,
    kills: BTreeSet<char>,
    names: Vec<String>,
}

impl Made {
    fn looks(tool: &'static str, arguments: Value) -> Made {
        Made { tool, arguments, marks: Vec::new(), kills: BTreeSet::new(), names: Vec::new() }
    }
}

/// Some lines and what an agent makes of them.
fn remade(text: &[String], line: u32, count: u32, kind: Kind, mark: char) -> Option<(String, String)> {
    if text.is_empty() {
        return None;
    }
    let start = line as usize % text.len();
    let old = text[start..(start + count as usize).min(text.len())].concat();
    let new = match kind {
        Kind::Insert => {
            let body = old.split('\n').next().unwrap_or_default();
            let at = place(body, line / 7);
            format!("{}{mark}{}", &old[..at], &old[at..])
        }
        Kind::Replace => format!("agent {mark}\n"),
        Kind::Append if old.ends_with('\n') => format!("{old}added {mark}\n"),
        Kind::Append => format!("{old} added {mark}"),
        Kind::Err => format!("{ERROR} {mark}\n{old}"),
        Kind::Untidy => format!("untidy {mark}  \n{old}"),
    };
    Some((old, new))
}

fn gone(old: &str, new: &str) -> BTreeSet<char> {
    signs(old).difference(&signs(new)).copied().collect()
}

fn edit(text: &[String], name: &str, line: u32, count: u32, kind: Kind, mark: char) -> Option<Made> {
    let (old, new) = remade(text, line, count, kind, mark)?;
    let kills = gone(&old, &new);
    let arguments = json!({ "file_path": name, "old_string": old, "new_string": new });
    Some(Made { tool: "edit", arguments, marks: vec![mark], kills, names: vec![name.to_owned()] })
}

fn multi(text: &[String], name: &str, line: u32, kind: Kind, marks: [char; 2]) -> Option<Made> {
    let (old, new) = remade(text, line, 1, kind, marks[0])?;
    let (other, newer) = remade(text, line + 1, 1, Kind::Insert, marks[1])?;
    let kills = gone(&old, &new).into_iter().chain(gone(&other, &newer)).collect();
    let edits = json!([{ "old_string": old, "new_string": new }, { "old_string": other, "new_string": newer }]);
    let arguments = json!({ "file_path": name, "edits": edits });
    Some(Made { tool: "multi_edit", arguments, marks: marks.to_vec(), kills, names: vec![name.to_owned()] })
}

fn write(text: &[String], name: &str, line: u32, mark: char) -> Made {
    let mut new = text.to_vec();
    let at = if new.is_empty() { 0 } else { line as usize % new.len() };
    if line.is_multiple_of(2) || new.is_empty() {
        new.insert(at, format!("written {mark}\n"));
    } else {
        new[at] = format!("rewritten {mark}\n");
    }
    let (old, new) = (text.concat(), new.concat());
    let kills = gone(&old, &new);
    let arguments = json!({ "file_path": name, "content": new });
    Made { tool: "write", arguments, marks: vec![mark], kills, names: vec![name.to_owned()] }
}

fn patch(files: &[(&str, Vec<String>)], line: u32, marks: [char; 2]) -> Option<Made> {
    let mut words = "*** Begin Patch\n".to_owned();
    let (mut kills, mut names, mut used) = (BTreeSet::new(), Vec::new(), Vec::new());
    for ((name, text), mark) in files.iter().zip(marks) {
        if text.is_empty() {
            return None;
        }
        let start = line as usize % text.len();
        let old = text[start].trim_end_matches('\n');
        let new = if line.is_multiple_of(2) { format!("{old}{mark}") } else { format!("patched {mark}") };
        kills.extend(gone(old, &new));
        let _ = writeln!(words, "*** Update File: {name}\n@@");
        if start > 0 {
            let _ = writeln!(words, " {}", text[start - 1].trim_end_matches('\n'));
        }
        let _ = writeln!(words, "-{old}\n+{new}");
        names.push((*name).to_owned());
        used.push(mark);
    }
    words.push_str("*** End Patch\n");
    Some(Made { tool: "apply_patch", arguments: json!({ "patch": words }), marks: used, kills, names })
}

/// The lines of a file as it is.
fn text(desk: &Desk, name: &str) -> Option<Vec<String>> {
    desk.text(&uri(name)).map(|text| lines(&text))
}

fn agent(desk: &mut Desk, number: u32, deed: Deed) -> Result<(), Fault> {
    let marks = [mark(number * 3), mark(number * 3 + 1)];
    let (session, made) = match deed {
        Deed::Read { session: by, file } => {
            let (by, name) = (session(by), name(file));
            if let Some(text) = text(desk, name) {
                desk.read.insert((by, name), text);
            }
            (by, vec![Made::looks("read", json!({ "file_path": name }))])
        }
        Deed::Grep { session: by } => (session(by), vec![Made::looks("grep", json!({ "pattern": "agent|BAD" }))]),
        Deed::Edit { session: by, file, line, count, kind, read } => {
            let (by, name) = (session(by), name(file));
            let known = desk.read.get(&(by, name)).filter(|_| read).cloned();
            let Some(text) = known.or_else(|| text(desk, name)) else { return Ok(()) };
            (by, edit(&text, name, line, count, kind, marks[0]).into_iter().collect())
        }
        Deed::Multi { session: by, file, line, kind } => {
            let Some(text) = text(desk, name(file)) else { return Ok(()) };
            (session(by), multi(&text, name(file), line, kind, marks).into_iter().collect())
        }
        Deed::Write { session: by, file, line } => {
            let (by, name) = (session(by), name(file));
            let Some(text) = desk.read.get(&(by, name)).cloned().or_else(|| text(desk, name)) else { return Ok(()) };
            (by, vec![write(&text, name, line, marks[0])])
        }
        Deed::Make { session: by } => (session(by), vec![write(&[], &format!("made/{number}.txt"), 0, marks[0])]),
        Deed::Patch { session: by, file, other, line } => {
            let names: BTreeSet<&str> = [name(file), name(other)].into();
            let files: Vec<(&str, Vec<String>)> =
                names.into_iter().filter_map(|name| Some((name, text(desk, name)?))).collect();
            (session(by), patch(&files, line, marks).filter(|made| !made.marks.is_empty()).into_iter().collect())
        }
        Deed::Batch { session: by, file, other, line } => {
            let one = text(desk, name(file)).and_then(|text| edit(&text, name(file), line, 1, Kind::Insert, marks[0]));
            let two =
                text(desk, name(other)).and_then(|text| edit(&text, name(other), line / 3, 2, Kind::Append, marks[1]));
            (session(by), one.into_iter().chain(two).collect())
        }
        _ => return Ok(()),
    };
    call(desk, number, session, made)
}

fn call(desk: &mut Desk, number: u32, session: &str, made: Vec<Made>) -> Result<(), Fault> {
    let (mut calls, mut names) = (Vec::new(), Vec::new());
    for (index, made) in made.into_iter().enumerate() {
        let id = format!("c{number}-{index}");
        desk.count("calls");
        let uris = made.names.iter().map(|name| uri(name)).collect();
        let (session, marks, kills) = (session.to_owned(), made.marks, made.kills);
        desk.ledger.begin(&id, Intent { session, marks, kills, uris, state: State::Open });
        calls.push(json!({ "name": made.tool, "callId": id, "arguments": made.arguments }));
        names.push(id);
    }
    let (method, mut params) = match calls.len() {
        0 => return Ok(()),
        1 => ("ropewalk/callTool", calls.remove(0)),
        _ => ("ropewalk/callTools", json!({ "calls": calls })),
    };
    params["sessionId"] = json!(session);
    params["turnId"] = json!("t1");
    desk.request(method, params, Asked::Calls(names)).map(drop)
}
