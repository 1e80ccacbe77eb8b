//! Waiting until nothing is under way, and then looking at everything: both sides have the same texts, every call has its
//! answer, and what agents are shown is what is there.

use ropewalk::editor::Consent;
use ropewalk::fake_editor::step::{Release, Reply, Step as Move};
use serde_json::{Value, json};

use super::desk::{Asked, Desk, ROOT};
use super::ledger::{Fault, fault};
use super::texts::lines;

/// So often is looked whether nothing is under way any more, five seconds after another.
const LOOKS: usize = 500;

/// A question that is open is answered; whether one was.
pub fn answer(desk: &mut Desk, yes: bool) -> Result<bool, Fault> {
    let approve = Some(if yes { Consent::Once } else { Consent::Deny });
    let reply = Reply { method: None, id: None, result: Value::Null, error: None, approve };
    desk.person(&Move::Reply(reply))
}

/// Waits until nothing is under way, and looks at everything.
pub async fn settle(desk: &mut Desk) -> Result<(), Fault> {
    desk.late = false;
    desk.tell_late();
    desk.person(&Move::Release(Release {}))?;
    desk.meet().await?;
    let settling = desk.request("ropewalk/settle", json!({ "deadlineMs": 3_600_000 }), Asked::Own)?;
    let mut settled = None;
    for look in 0..LOOKS {
        while answer(desk, look % 2 == 0)? {}
        desk.person(&Move::Release(Release {}))?;
        desk.meet().await?;
        settled = desk.answer(settling);
        if settled.is_some() {
            break;
        }
        desk.rest(5000).await?;
    }
    let Some(settled) = settled else {
        return fault("settle", format!("never; these wait: {:?}", desk.asked));
    };
    if settled["settled"] != true {
        return fault("settle", format!("this is under way for ever: {settled}"));
    }
    // What a person asked for is not among what that waits for.
    for _ in 0..LOOKS {
        if desk.asked.is_empty() {
            break;
        }
        while answer(desk, true)? {}
        desk.rest(5000).await?;
        desk.meet().await?;
    }
    if let Some((id, asked)) = desk.asked.iter().next() {
        return fault("answer", format!("none to {id}, {asked:?}"));
    }
    while desk.model.holds_back() {
        desk.person(&Move::Release(Release {}))?;
        desk.meet().await?;
    }
    for uri in desk.model.open() {
        mirror(desk, &uri).await?;
    }
    desk.count("settled");
    Ok(())
}

/// The sidecar has a document as the editor has it, by its own word and by what a model is shown.
async fn mirror(desk: &mut Desk, uri: &str) -> Result<(), Fault> {
    let Some((version, text)) = desk.model.document(uri) else { return Ok(()) };
    let theirs = desk.ask("ropewalk/documentText", json!({ "uri": uri })).await?;
    if theirs["text"] != text || theirs["version"] != version {
        let why = format!("{uri} has in the editor version {version}: {text:?}\nin the sidecar {theirs}");
        return fault("mirror", why);
    }
    desk.count("mirrors looked at");
    let path = uri.strip_prefix(&format!("file://{ROOT}/")).unwrap_or(uri);
    let params = json!({ "sessionId": "judge", "callId": "look", "name": "read", "arguments": { "file_path": path } });
    let read = desk.ask("ropewalk/callTool", params).await?;
    let shown = read["content"][0]["text"].as_str().unwrap_or_default();
    let mut rest = shown;
    for line in lines(&text) {
        let line = line.trim_end_matches('\n');
        let Some(at) = rest.find(line) else {
            return fault("mirror", format!("{uri} is read without {line:?}: {shown}\nin the editor: {text:?}"));
        };
        rest = &rest[at + line.len()..];
    }
    Ok(())
}
