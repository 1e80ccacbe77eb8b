//! What needs a person's consent gets it, for exactly what they saw, or does not happen.

use std::sync::Arc;

use serde_json::{Value, json};

use super::kit::{Desk, FakeTool, decided, decided_with, params, said, text};
use crate::config::Mode;
use crate::dispatch::call::{AppliedPart, DecisionKind};
use crate::dispatch::{CallParams, Status};
use crate::editor::{ApproveResult, Consent, News};
use crate::permissions::Rule;
use crate::ports::MemoryDisk;
use crate::sessions::requests::{GrantsParams, SessionRequest, SetModeParams};
use crate::text::{Splice, Text};
use crate::tool::{ErrorKind, Plan, ToolError};
use crate::tools;
use crate::workspace::commit::Rewrite;
use crate::workspace::documents::ContentChange;
use crate::workspace::{Fate, FileChange, Key, Refusal, RefusalKind, Rewritten};

fn desk() -> Desk {
    let built_in = tools::table().into_iter().map(|tool| {
        let rule = Rule::of(tool.traits().name);
        (tool, rule)
    });
    let shout = FakeTool::new("shout", |_, _| async { Ok(said("")) }).reaching("/out/b.txt").planning(|context| {
        let target = context.workspace.resolve("/out/b.txt")?;
        Ok(Plan::Change(vec![FileChange {
            target,
            rewrite: Arc::new(Shout),
            label: "shout".into(),
            fate: Fate::Stays,
        }]))
    });
    let blurt = FakeTool::new("blurt", |_, _| async { Ok(said("")) })
        .reaching("/w/.env")
        .planning(|_| Err(ToolError::new(ErrorKind::NotFound, "there is only SECRET=1")));
    Desk::over(
        MemoryDisk::new()
            .with_file("/w/a.txt", "one\ntwo\nthree\n")
            .with_file("/w/.env", "SECRET=1\n")
            .with_file("/w/.envrc", "export A=1\n")
            .with_file("/out/b.txt", "one\ntwo\n"),
        built_in.chain([shout.ruled(Rule::Write), blurt.ruled(Rule::Write)]),
    )
}

/// Makes `two` `TWO`.
struct Shout;

impl Rewrite for Shout {
    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal> {
        let before = before.map(Text::to_string).unwrap_or_default();
        let at = before.find("two").ok_or_else(|| Refusal::new(RefusalKind::NotFound, "there is no two"))?;
        let splices = vec![Splice { range: at..at + 3, text: "TWO".to_owned() }];
        Ok(Rewritten { splices, ..Rewritten::default() })
    }
}

fn write(path: &str, content: &str) -> Value {
    json!({ "file_path": path, "content": content })
}

#[tokio::test]
async fn reads_and_writes_inside_are_not_asked_about() {
    let desk = desk();
    assert_eq!(desk.call("read", json!({ "file_path": "a.txt" })).await.status, Status::Ok);
    assert_eq!(desk.call("write", write("new.txt", "x\n")).await.status, Status::Ok);
    assert_eq!(desk.questions(), 0);
}

#[tokio::test]
async fn secrets_and_places_outside_are_asked_about() {
    for path in ["/w/.env", "/out/b.txt"] {
        let desk = desk();
        // Nobody answers: it does not happen, and nothing of the text is told.
        let result = desk.call("read", json!({ "file_path": path })).await;
        assert_eq!((result.status, result.error.unwrap().kind), (Status::Denied, ErrorKind::Denied), "{path}");
        desk.answer(|params| decided(params, Consent::Once));
        assert_eq!(desk.call("read", json!({ "file_path": path })).await.status, Status::Ok, "{path}");
        assert_eq!(desk.questions(), 2);
    }
}

#[tokio::test]
async fn the_question_names_every_target_and_shows_the_change() {
    let desk = desk();
    desk.call("read", json!({ "file_path": "/w/.envrc" })).await;
    desk.answer(|params| decided(params, Consent::Once));
    assert_eq!(desk.call("read", json!({ "file_path": "/w/.envrc" })).await.status, Status::Ok);
    desk.answer(|params| decided(params, Consent::Once));
    assert_eq!(desk.call("write", write(".envrc", "export A=2\n")).await.status, Status::Ok);
    let asked = desk.editor.asked.lock().unwrap().last().cloned().unwrap();
    let call = &asked.calls[0];
    assert_eq!((call.name.as_str(), call.targets.as_slice()), ("write", &["/w/.envrc".to_owned()][..]));
    assert!(call.diff.as_ref().unwrap().contains("\n-export A=1\n+export A=2\n"), "{:?}", call.diff);
    assert_eq!(desk.disk.bytes("/w/.envrc").unwrap(), b"export A=2\n");
}

#[tokio::test]
async fn no_means_no() {
    let desk = desk();
    desk.answer(|params| decided_with(params, Consent::Deny, None, Some("not that one")));
    let result = desk.call("write", write("/out/new.txt", "x\n")).await;
    assert_eq!(result.status, Status::Denied);
    assert!(text(&result).contains("not that one"));
    // An answer without a decision on this call is none.
    desk.answer(|_| ApproveResult { decisions: vec![] });
    assert_eq!(desk.call("write", write("/out/new.txt", "x\n")).await.status, Status::Denied);
    assert_eq!(desk.disk.bytes("/out/new.txt"), None);
}

#[tokio::test]
async fn consent_for_the_session_covers_the_same_place_and_no_protected_one() {
    let desk = desk();
    desk.answer(|params| decided(params, Consent::Session));
    assert_eq!(desk.call("write", write("/out/new.txt", "x\n")).await.status, Status::Ok);
    assert_eq!(desk.call("write", write("/out/new.txt", "y\n")).await.status, Status::Ok);
    assert_eq!(desk.questions(), 1);
    assert_eq!(desk.call("write", write("/out/other.txt", "y\n")).await.status, Status::Denied);
    desk.answer(|params| decided(params, Consent::Always));
    assert_eq!(desk.call("write", write(".mcp.json", "{}\n")).await.status, Status::Ok);
    assert_eq!(desk.call("write", write(".mcp.json", "{ }\n")).await.status, Status::Denied);
}

#[tokio::test]
async fn a_person_can_give_other_arguments() {
    let desk = desk();
    desk.answer(|params| {
        decided_with(params, Consent::Once, Some(&json!({"path": "/out/theirs.txt", "content": "t\n"})), None)
    });
    let result = desk.call("write", write("/out/mine.txt", "m\n")).await;
    assert_eq!(result.status, Status::Ok, "{}", text(&result));
    assert_eq!(desk.disk.bytes("/out/theirs.txt").unwrap(), b"t\n");
    assert_eq!((desk.disk.bytes("/out/mine.txt"), desk.questions()), (None, 1));
    desk.answer(|params| decided_with(params, Consent::Once, Some(&json!({"path": 7.5})), None));
    let result = desk.call("write", write("/out/mine.txt", "m\n")).await;
    assert_eq!(result.error.unwrap().kind, ErrorKind::InvalidArguments);
}

fn typed(desk: &Desk, text: &str) -> impl FnOnce() + Send + 'static {
    let (documents, text) = (Arc::clone(&desk.documents), text.to_owned());
    move || {
        let document = documents.all().remove(0);
        documents.change(&document.key, document.version + 1, vec![ContentChange { range: None, text }]);
    }
}

#[tokio::test]
async fn lines_that_only_moved_while_a_person_thought_are_changed() {
    let desk = desk();
    let key = desk.open("/out/b.txt", "one\ntwo\n");
    let typing = typed(&desk, "zero\none\ntwo\n");
    desk.answer(move |params| {
        typing();
        decided(params, Consent::Once)
    });
    let result = desk.call("shout", json!({})).await;
    assert_eq!((result.status, result.applied), (Status::Ok, Some(AppliedPart::All)), "{}", text(&result));
    assert_eq!((desk.text(&key).as_str(), desk.questions()), ("zero\none\nTWO\n", 1));
}

#[tokio::test]
async fn another_change_than_the_one_shown_is_asked_about_again() {
    let desk = desk();
    let key = desk.open("/out/b.txt", "one\ntwo\n");
    let typing = typed(&desk, "one\ntwo, and more\n");
    desk.answer(move |params| {
        typing();
        decided(params, Consent::Once)
    });
    desk.answer(|params| decided(params, Consent::Once));
    let result = desk.call("shout", json!({})).await;
    assert_eq!((result.status, desk.questions()), (Status::Ok, 2), "{}", text(&result));
    assert_eq!(desk.text(&key), "one\nTWO, and more\n");
}

#[tokio::test]
async fn a_change_that_never_stays_the_same_is_a_conflict() {
    let desk = desk();
    let key = desk.open("/out/b.txt", "one\ntwo\n");
    for round in 0..3 {
        let typing = typed(&desk, &format!("one\ntwo {round}\n"));
        desk.answer(move |params| {
            typing();
            decided(params, Consent::Once)
        });
    }
    let result = desk.call("shout", json!({})).await;
    assert_eq!((result.error.as_ref().unwrap().kind, desk.questions()), (ErrorKind::Conflict, 3));
    assert_eq!(desk.text(&key), "one\ntwo 2\n");
}

#[tokio::test]
async fn what_fails_shows_nothing_of_a_secret_before_consent() {
    let desk = desk();
    let result = desk.call("blurt", json!({})).await;
    assert_eq!(result.status, Status::Denied);
    assert!(!text(&result).contains("SECRET=1"), "{}", text(&result));
    desk.answer(|params| decided(params, Consent::Once));
    assert_eq!(desk.call("blurt", json!({})).await.error.unwrap().kind, ErrorKind::NotFound);
}

#[tokio::test]
async fn a_preview_is_consent_once_for_what_it_showed() {
    let desk = desk();
    let call = || write("/out/new.txt", "x\n");
    let preview = desk.dispatch.preview(params("write_file", call())).await;
    assert!(preview.valid, "{:?}", preview.problems);
    assert_eq!((preview.name.as_str(), preview.approval.decision), ("write", DecisionKind::Ask));
    assert_eq!(preview.access.writes, ["file:///out/new.txt"]);
    assert!(preview.diff.as_ref().unwrap().ends_with("+x\n"), "{:?}", preview.diff);
    assert_eq!((desk.questions(), desk.disk.bytes("/out/new.txt")), (0, None));

    let by =
        |arguments: Value| CallParams { approved_by: Some(preview.preview_id.clone()), ..params("write", arguments) };
    // Not for other arguments, nor for another session.
    assert_eq!(desk.call_with(by(write("/out/new.txt", "y\n"))).await.status, Status::Denied);
    let elsewhere = CallParams { session_id: Some("other".into()), ..by(call()) };
    assert_eq!(desk.call_with(elsewhere).await.status, Status::Denied);
    let questions = desk.questions();
    let result = desk.call_with(by(json!({ "content": "x\n", "path": "/out/new.txt" }))).await;
    assert_eq!((result.status, desk.questions()), (Status::Ok, questions), "{}", text(&result));
    assert_eq!(desk.call_with(by(write("/out/new.txt", "x\ny\n"))).await.status, Status::Denied);
}

#[tokio::test]
async fn a_preview_of_other_lines_is_no_consent() {
    let desk = desk();
    let key = desk.open("/out/b.txt", "one\ntwo\n");
    let preview = desk.dispatch.preview(params("shout", json!({}))).await;
    typed(&desk, "one\ntwo, and more\n")();
    let call = CallParams { approved_by: Some(preview.preview_id), ..params("shout", json!({})) };
    assert_eq!(desk.call_with(call).await.status, Status::Denied);
    assert_eq!(desk.text(&key), "one\ntwo, and more\n");
}

#[tokio::test]
async fn a_preview_of_what_cannot_run_says_why() {
    let desk = desk();
    for (name, arguments, words) in [
        ("nothing", json!({}), "There is no tool"),
        ("write", json!({ "file_path": "a" }), "`content` is missing"),
        ("write", write("a.txt", "x"), "was not written, because"),
    ] {
        let preview = desk.dispatch.preview(params(name, arguments)).await;
        assert!(!preview.valid && preview.problems[0].contains(words), "{:?}", preview.problems);
    }
}

/// A workspace in which `n.txt` leads to `.env` and `innocent.txt` to `.git/config`, with a second buffer of each.
fn doubled() -> Desk {
    let desk = Desk::new(
        MemoryDisk::new()
            .with_file("/w/.git/config", "[core]\n")
            .with_file("/w/.env", "KEY=1\n")
            .with_file("/out/x", "hi\n")
            .with_dir("/root")
            .with_dir("/etc/cron.d")
            .with_link("/w/innocent.txt", ".git/config")
            .with_link("/w/n.txt", ".env"),
    );
    for (uri, text) in [
        ("file:///w/.git/config", "[core]\n"),
        ("file:///w/%2Egit/config", "[core]\n"),
        ("file:///w/innocent.txt", "[core]\n"),
        ("file:///w/.env", "KEY=1\n"),
        ("file:///w/%2eenv", "KEY=1\n"),
        ("file:///w/n.txt", "KEY=1\n"),
        ("file:///out/x", "hi\n"),
        ("file:///out/%78", "hi\n"),
        ("untitled:Untitled-1", "hi\n"),
        ("untitled:/w/new.txt", "hi\n"),
        ("untitled:/root/.bashrc", "hi\n"),
        ("untitled:/root/%2Ebashrc", "hi\n"),
        ("untitled:/root/.bash\u{200b}rc", "hi\n"),
        ("untitled:%2Froot%2F.BASHRC", "hi\n"),
        ("untitled:///root/%2Ebashrc", "hi\n"),
        ("untitled:/root/.bashrc?q#f", "hi\n"),
        ("untitled:.bashrc", "hi\n"),
        ("untitled:%2Ebashrc?q", "hi\n"),
        ("untitled:/w/n.txt", "hi\n"),
        ("untitled:/w/innocent.txt", "hi\n"),
        ("untitled:/etc/cron.d/x", "hi\n"),
        ("untitled:etc/cron.d/x", "hi\n"),
        ("vscode-notebook-cell:/w/n.ipynb#W0", "hi\n"),
        ("vscode-notebook-cell:/out/n.ipynb#W0", "hi\n"),
    ] {
        let key = crate::workspace::paths::key_of_uri(&*desk.disk, uri).unwrap();
        desk.documents.open(key, uri, "plaintext", 1, text);
    }
    desk
}

#[tokio::test]
async fn a_document_is_judged_by_where_it_lies_and_not_by_its_spelling() {
    use DecisionKind::{Allow, Ask};
    let desk = doubled();
    for (uri, old, read, edit) in [
        ("file:///w/.git/config", "[core]", Allow, Ask),
        ("file:///w/%2Egit/config", "[core]", Allow, Ask),
        ("file:///w/innocent.txt", "[core]", Allow, Ask),
        ("innocent.txt", "[core]", Allow, Ask),
        ("file:///w/.env", "KEY=1", Ask, Ask),
        ("file:///w/%2eenv", "KEY=1", Ask, Ask),
        ("file:///w/n.txt", "KEY=1", Ask, Ask),
        ("n.txt", "KEY=1", Ask, Ask),
        ("file:///out/x", "hi", Ask, Ask),
        ("file:///out/%78", "hi", Ask, Ask),
        ("untitled:Untitled-1", "hi", Allow, Allow),
        ("untitled:/w/new.txt", "hi", Allow, Allow),
        ("untitled:/root/.bashrc", "hi", Ask, Ask),
        ("untitled:/root/%2Ebashrc", "hi", Ask, Ask),
        ("untitled:/root/.bash\u{200b}rc", "hi", Ask, Ask),
        ("untitled:%2Froot%2F.BASHRC", "hi", Ask, Ask),
        ("untitled:///root/%2Ebashrc", "hi", Ask, Ask),
        ("untitled:/root/.bashrc?q#f", "hi", Ask, Ask),
        ("untitled:.bashrc", "hi", Allow, Ask),
        ("untitled:%2Ebashrc?q", "hi", Allow, Ask),
        ("untitled:/w/n.txt", "hi", Ask, Ask),
        ("untitled:/w/innocent.txt", "hi", Allow, Ask),
        ("untitled:/etc/cron.d/x", "hi", Ask, Ask),
        ("untitled:etc/cron.d/x", "hi", Ask, Ask),
        ("vscode-notebook-cell:/w/n.ipynb#W0", "hi", Allow, Allow),
        ("vscode-notebook-cell:/out/n.ipynb#W0", "hi", Ask, Ask),
    ] {
        let change = json!({ "file_path": uri, "old_string": old, "new_string": "evil" });
        for (name, arguments, decision) in [("read", json!({ "file_path": uri }), read), ("edit", change, edit)] {
            let preview = desk.dispatch.preview(params(name, arguments.clone())).await;
            assert!(preview.valid, "{name} {uri}: {:?}", preview.problems);
            assert_eq!(preview.approval.decision, decision, "{name} {uri}: {}", preview.approval.reason);
            // Nobody answers.
            let status = if decision == Allow { Status::Ok } else { Status::Denied };
            assert_eq!(desk.call(name, arguments).await.status, status, "{name} {uri}");
        }
    }
}

#[tokio::test]
async fn the_question_about_a_second_buffer_names_the_file() {
    let desk = doubled();
    desk.call("read", json!({ "file_path": "file:///w/n.txt" })).await;
    let asked = desk.editor.asked.lock().unwrap().last().cloned().unwrap();
    assert_eq!(asked.calls[0].targets, ["/w/.env", "file:///w/n.txt"]);
    assert!(asked.calls[0].reason.starts_with("/w/.env may hold secrets"), "{}", asked.calls[0].reason);
}

#[tokio::test]
async fn a_link_that_changed_since_a_document_was_opened_counts_both_ways() {
    let desk = Desk::new(
        MemoryDisk::new().with_file("/w/a.txt", "hi\n").with_link("/w/link.txt", ".git/config").with_dir("/w/.git"),
    );
    // Opened when the link led to `a.txt`; saved, it goes where the link leads now.
    desk.documents.open(Key::File("/w/a.txt".into()), "file:///w/link.txt", "plaintext", 1, "hi\n");
    for name in ["a.txt", "file:///w/link.txt"] {
        let change = json!({ "file_path": name, "old_string": "hi", "new_string": "evil" });
        assert_eq!(desk.call("edit", change).await.status, Status::Denied, "{name}");
    }
}

#[tokio::test]
async fn consent_covers_a_file_in_whatever_buffer_and_no_other_file() {
    let desk = doubled();
    let read = |name: &str| json!({ "file_path": name });
    desk.answer(|params| decided(params, Consent::Session));
    assert_eq!(desk.call("read", read("file:///out/x")).await.status, Status::Ok);
    assert_eq!(desk.call("read", read("/out/x")).await.status, Status::Ok);
    assert_eq!(desk.call("read", read("file:///out/%78")).await.status, Status::Ok);
    assert_eq!(desk.questions(), 1);
    assert_eq!(
        desk.call("edit", json!({"file_path": "/out/x", "old_string": "hi", "new_string": "ho"})).await.status,
        Status::Denied
    );
    // Two names that are shown alike are two files.
    let other = "/out/a\u{200b}b";
    desk.answer(|params| decided(params, Consent::Session));
    assert_eq!(desk.call("write", write(other, "x\n")).await.status, Status::Ok);
    assert_eq!(desk.call("write", write("/out/a\\u{200b}b", "x\n")).await.status, Status::Denied);
}

#[tokio::test]
async fn nothing_is_read_for_a_call_that_nobody_can_consent_to() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static PLANNED: AtomicUsize = AtomicUsize::new(0);
    let plans = FakeTool::new("plans", |_, _| async { Ok(said("")) }).reaching("/out/b.txt").planning(|_| {
        PLANNED.fetch_add(1, Ordering::Relaxed);
        Ok(Plan::Run)
    });
    let desk = Desk::over(MemoryDisk::new().with_file("/out/b.txt", "x\n"), [plans.ruled(Rule::Write)]);
    desk.editor.abilities.lock().unwrap().approve = false;
    let result = desk.call("plans", json!({})).await;
    assert_eq!((result.status, desk.questions(), PLANNED.load(Ordering::Relaxed)), (Status::Denied, 0, 0));
    assert!(text(&result).contains("nobody could be asked"), "{}", text(&result));
    // A preview that was never shown gives no hope; one that was does.
    let by = |id: &str| CallParams { approved_by: Some(id.to_owned()), ..params("plans", json!({})) };
    assert_eq!(desk.call_with(by("p9")).await.status, Status::Denied);
    assert_eq!(PLANNED.load(Ordering::Relaxed), 0);
    let preview = desk.dispatch.preview(params("plans", json!({}))).await;
    assert_eq!(desk.call_with(by(&preview.preview_id)).await.status, Status::Ok);
    assert_eq!(desk.call_with(by(&preview.preview_id)).await.status, Status::Denied);
    assert_eq!(PLANNED.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn consent_for_good_counts_in_every_session_until_it_is_taken_back() {
    let desk = desk();
    let write = |session: &str| CallParams {
        session_id: Some(session.to_owned()),
        ..params("write", write("/out/new.txt", "x\n"))
    };
    desk.answer(|params| decided(params, Consent::Always));
    assert_eq!(desk.call_with(write("one")).await.status, Status::Ok);
    assert_eq!(desk.call_with(write("two")).await.status, Status::Ok);
    assert_eq!(desk.questions(), 1);
    // By the time it is told that something changed it has.
    let told = desk.editor.told.lock().unwrap().clone();
    let last = told.iter().rposition(|news| matches!(news, News::Approvals(_))).unwrap();
    assert!(matches!(&told[last], News::Approvals(changed) if changed.session_id == "one" && changed.waiting == 0));
    let ask = |revoke: &[String]| {
        let grants = GrantsParams { session_id: Some("two".to_owned()), revoke: revoke.to_vec(), revoke_all: false };
        desk.dispatch.ask_session(SessionRequest::Grants(grants))
    };
    let listed = ask(&[]).await.unwrap();
    assert_eq!(
        (&listed["grants"][0]["scope"], &listed["grants"][0]["targets"]),
        (&json!("always"), &json!(["/out/new.txt"]))
    );
    let left = ask(&[listed["grants"][0]["id"].as_str().unwrap().to_owned()]).await.unwrap();
    assert_eq!(left, json!({ "grants": [] }));
    assert_eq!(desk.call_with(write("one")).await.status, Status::Denied);
}

#[tokio::test]
async fn in_danger_mode_nothing_is_remembered() {
    let desk = desk();
    let dispatch = Arc::clone(&desk.dispatch);
    // The person sets it while the question is open.
    desk.answer(move |params| {
        let mode = SetModeParams { session_id: None, mode: Mode::Danger };
        drop(dispatch.ask_session(SessionRequest::SetMode(mode)));
        decided(params, Consent::Always)
    });
    assert_eq!(desk.call("write", write("/out/new.txt", "x\n")).await.status, Status::Ok);
    let grants = desk.dispatch.ask_session(SessionRequest::Grants(GrantsParams::default())).await.unwrap();
    assert_eq!(grants, json!({ "grants": [] }));
}

#[tokio::test]
async fn a_mode_that_is_set_while_a_question_is_open_counts() {
    let desk = desk();
    let dispatch = Arc::clone(&desk.dispatch);
    desk.answer(move |params| {
        let mode = SetModeParams { session_id: None, mode: Mode::Plan };
        drop(dispatch.ask_session(SessionRequest::SetMode(mode)));
        decided(params, Consent::Once)
    });
    let result = desk.call("write", write("/out/new.txt", "x\n")).await;
    assert!(result.status == Status::Denied && text(&result).contains("plan mode"), "{}", text(&result));
    assert_eq!(desk.disk.bytes("/out/new.txt"), None);
}

#[tokio::test]
async fn other_arguments_that_reach_what_is_asked_about_singly_are_asked_about() {
    let desk = desk();
    desk.answer(|params| {
        decided_with(params, Consent::Session, Some(&json!({"path": ".envrc", "content": "evil\n"})), None)
    });
    let result = desk.call("write", write("/out/mine.txt", "m\n")).await;
    assert_eq!((result.status, desk.questions()), (Status::Denied, 2), "{}", text(&result));
    let asked = desk.editor.asked.lock().unwrap().last().cloned().unwrap();
    assert_eq!(asked.calls[0].targets, ["/w/.envrc"]);
    assert_eq!(desk.disk.bytes("/w/.envrc").unwrap(), b"export A=1\n");
    // Of the same file, what the person wrote is what they want.
    desk.call("read", json!({ "file_path": "/w/a.txt" })).await;
    desk.answer(|params| decided(params, Consent::Once));
    desk.call("read", json!({ "file_path": ".envrc" })).await;
    desk.answer(|params| {
        decided_with(params, Consent::Once, Some(&json!({"path": ".envrc", "content": "theirs\n"})), None)
    });
    assert_eq!(desk.call("write", write(".envrc", "m\n")).await.status, Status::Ok);
    assert_eq!((desk.disk.bytes("/w/.envrc").unwrap(), desk.questions()), (b"theirs\n".to_vec(), 4));
}

#[tokio::test]
async fn of_several_decisions_on_one_call_a_no_counts_and_those_on_others_do_not() {
    let desk = desk();
    desk.answer(|params| {
        let mut answer = decided(params, Consent::Once);
        answer.decisions.extend(decided(params, Consent::Deny).decisions);
        answer
    });
    assert_eq!(desk.call("write", write("/out/new.txt", "x\n")).await.status, Status::Denied);
    desk.answer(|params| {
        let mut answer = decided(params, Consent::Always);
        answer.decisions[0].call_id = "another".to_owned();
        answer
    });
    assert_eq!(desk.call("write", write("/out/other.txt", "x\n")).await.status, Status::Denied);
    let grants = desk.dispatch.ask_session(SessionRequest::Grants(GrantsParams::default())).await.unwrap();
    assert_eq!(grants["grants"].as_array().unwrap().len(), 1, "the no to the first: {grants}");
    // A no to exactly this can be taken back.
    assert_eq!(desk.call("write", write("/out/new.txt", "x\n")).await.status, Status::Denied);
    assert_eq!(desk.questions(), 2);
    let all = GrantsParams { revoke_all: true, ..GrantsParams::default() };
    desk.dispatch.ask_session(SessionRequest::Grants(all)).await.unwrap();
    desk.answer(|params| decided(params, Consent::Once));
    assert_eq!(desk.call("write", write("/out/new.txt", "x\n")).await.status, Status::Ok);
}

#[tokio::test]
async fn the_question_suggests_a_rule_that_would_let_the_call_pass() {
    let desk = desk();
    desk.call("write", write("/out/new.txt", "x\n")).await;
    desk.call("write", write(".envrc", "x\n")).await;
    let asked = desk.editor.asked.lock().unwrap().clone();
    let rules: Vec<Option<&str>> = asked.iter().map(|asked| asked.calls[0].suggested_rule.as_deref()).collect();
    assert_eq!(rules, [Some("write(//out/new.txt)"), None]);
}
