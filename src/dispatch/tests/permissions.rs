//! Plan mode, the noes of a round, commands and trust, and what a workspace folder's own settings hold back.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::kit::{Desk, FakeTool, decided, decided_with, params, said, text};
use crate::config::{Mode, Settings};
use crate::dispatch::{BatchParams, CallParams, CallResult, Status};
use crate::editor::{Abilities, Consent, ModeChanged, News};
use crate::permissions::{Requirement, Rule};
use crate::ports::{Disk as _, MemoryDisk};
use crate::sessions::requests::{SessionRequest, SetModeParams};
use crate::tool::Capability;

fn desk() -> Desk {
    Desk::new(MemoryDisk::new().with_file("/w/a.txt", "one\n").with_file("/out/b.txt", "far\n"))
}

fn write(path: &str) -> CallParams {
    params("write", json!({ "file_path": path, "content": "x\n" }))
}

fn read(path: &str) -> CallParams {
    params("read", json!({ "file_path": path }))
}

async fn batch(desk: &Desk, calls: Vec<CallParams>) -> Vec<CallResult> {
    let admitted = desk.dispatch.admit_batch(BatchParams { calls, ..BatchParams::default() });
    desk.dispatch.run_batch(admitted).await.results
}

fn statuses(results: &[CallResult]) -> Vec<Status> {
    results.iter().map(|result| result.status).collect()
}

fn modes(desk: &Desk) -> Vec<Mode> {
    let told = desk.editor.told.lock().unwrap();
    let mode = |news: &News| match news {
        News::Mode(ModeChanged { mode, .. }) => Some(*mode),
        _ => None,
    };
    told.iter().filter_map(mode).collect()
}

fn plan(text: &str) -> CallParams {
    params("plan_exit", json!({ "plan": text }))
}

fn enter() -> CallParams {
    params("plan_enter", json!({}))
}

#[tokio::test]
async fn plan_mode_holds_from_the_next_round_until_a_person_agrees_to_the_plan() {
    use Status::{Denied, Error, Ok};
    let desk = desk();
    let results = batch(&desk, vec![write("n1.txt"), enter(), write("n2.txt"), plan("too early")]).await;
    assert_eq!(statuses(&results), [Ok, Ok, Ok, Error], "{results:?}");
    assert!(text(&results[3]).contains("not in plan mode"), "{}", text(&results[3]));
    assert_eq!((modes(&desk), desk.questions()), (vec![Mode::Plan], 0));
    let results = batch(&desk, vec![read("a.txt"), write("n3.txt")]).await;
    assert_eq!(statuses(&results), [Ok, Denied]);
    assert!(text(&desk.call_with(enter()).await).contains("already"));
    // A no leaves everything as it is, and its words reach the model.
    desk.answer(|params| decided_with(params, Consent::Deny, None, Some("smaller steps")));
    let refused = desk.call_with(plan("1. Rewrite all")).await;
    assert_eq!(refused.status, Denied);
    assert!(text(&refused).contains("smaller steps"), "{}", text(&refused));
    assert_eq!(desk.call_with(write("n3.txt")).await.status, Denied);
    // The person may write in the plan; the answer has it as it was agreed to.
    desk.answer(|params| {
        assert_eq!(params.calls[0].arguments["plan"], "1. Change a.txt");
        assert!(params.calls[0].suggested_rule.is_none());
        decided_with(params, Consent::Always, Some(&json!({ "plan": "1. Change b.txt" })), None)
    });
    let results = batch(&desk, vec![plan("1. Change a.txt"), write("n3.txt")]).await;
    assert_eq!(statuses(&results), [Ok, Denied], "the round it is asked in is still planning");
    assert!(text(&results[0]).contains("build mode") && text(&results[0]).ends_with("1. Change b.txt"));
    assert_eq!(desk.call_with(write("n3.txt")).await.status, Ok);
    assert_eq!((modes(&desk), desk.questions()), (vec![Mode::Plan, Mode::Build], 2));
    // Consent to one plan is none to the next.
    desk.call_with(enter()).await;
    assert_eq!(desk.call_with(plan("1. Change a.txt")).await.status, Denied);
    assert_eq!(desk.questions(), 3);
}

#[tokio::test]
async fn where_the_person_chose_plan_mode_it_goes_back_to_what_they_had_before() {
    let desk = desk();
    let set = |mode| SessionRequest::SetMode(SetModeParams { session_id: None, mode });
    desk.dispatch.ask_session(set(Mode::Review)).await.unwrap();
    desk.dispatch.ask_session(set(Mode::Plan)).await.unwrap();
    desk.answer(|params| decided(params, Consent::Once));
    let agreed = desk.call_with(plan("1. Look")).await;
    assert!(text(&agreed).contains("review mode"), "{}", text(&agreed));
    assert_eq!(modes(&desk), [Mode::Review, Mode::Plan, Mode::Review]);
    // Settings that say so are not left.
    let mut settings = Settings::default();
    settings.permissions.mode = Mode::Plan;
    desk.workspace.set_settings(Arc::new(settings));
    desk.dispatch.ask_session(set(Mode::Plan)).await.unwrap();
    desk.answer(|params| decided(params, Consent::Once));
    let other = CallParams { session_id: Some("other".to_owned()), ..plan("1. Look") };
    let kept = desk.call_with(other).await;
    assert_eq!(kept.status, Status::Denied);
    assert!(text(&kept).contains("permissions.mode"), "{}", text(&kept));
}

#[tokio::test]
async fn without_a_person_no_plan_is_agreed_to() {
    let desk = desk();
    *desk.editor.abilities.lock().unwrap() = Abilities { approve: false, ..Abilities::default() };
    desk.call_with(enter()).await;
    let alone = desk.call_with(plan("1. Go")).await;
    assert_eq!(alone.status, Status::Denied);
    assert!(text(&alone).contains("nobody could be asked"), "{}", text(&alone));
    assert_eq!(desk.call_with(write("n.txt")).await.status, Status::Denied);
    // Where a rule would help, it is said.
    let far = desk.call_with(read("/out/b.txt")).await;
    assert!(text(&far).contains("`read(//out/b.txt)`"), "{}", text(&far));
}

#[tokio::test]
async fn a_no_sets_aside_what_waits_to_be_asked_about_with_it() {
    use Status::{Denied, Ok};
    let calls = || vec![write("/out/b.txt"), read("/out/b.txt"), read("a.txt"), write("/out/b.txt")];
    let told = desk();
    // The second depends on the first, so that it is not asked about together with it.
    told.answer(|params| decided(params, Consent::Deny));
    let results = batch(&told, calls()).await;
    assert_eq!(statuses(&results), [Denied, Denied, Ok, Denied]);
    assert!(text(&results[1]).contains("said no to `write` (call c1)"), "{}", text(&results[1]));
    assert_eq!(told.questions(), 1);
    // What comes later is asked about.
    told.answer(|params| decided(params, Consent::Once));
    assert_eq!(told.call_with(read("/out/b.txt")).await.status, Ok);
    // It can be had otherwise.
    let apart = desk();
    let (settings, remarks) = Settings::parse(&json!({ "permissions": { "cascadeDenials": false } }));
    assert_eq!(remarks, []);
    apart.workspace.set_settings(Arc::new(settings));
    apart.answer(|params| decided(params, Consent::Deny));
    apart.answer(|params| decided(params, Consent::Once));
    let results = batch(&apart, calls()).await;
    assert_eq!(statuses(&results)[..3], [Denied, Ok, Ok]);
    assert_eq!(apart.questions(), 2);
}

#[tokio::test]
async fn a_no_holds_for_the_calls_of_its_turn_that_had_come() {
    let desk = desk();
    let turn = |params: CallParams, turn: &str| CallParams { turn_id: Some(turn.to_owned()), ..params };
    desk.answer(|params| decided(params, Consent::Deny));
    let one = desk.dispatch.admit(turn(write("/out/b.txt"), "t1"));
    let two = desk.dispatch.admit(turn(read("/out/b.txt"), "t1"));
    let other = desk.dispatch.admit(turn(read("/out/b.txt"), "t2"));
    let run = |admitted| Box::pin(desk.dispatch.run(admitted));
    assert_eq!(run(one).await.status, Status::Denied);
    assert!(text(&run(two).await).contains("set aside"));
    desk.answer(|params| decided(params, Consent::Once));
    assert_eq!(run(other).await.status, Status::Ok);
    desk.answer(|params| decided(params, Consent::Once));
    assert_eq!(desk.call_with(turn(read("/out/b.txt"), "t1")).await.status, Status::Ok);
    assert_eq!(desk.questions(), 3);
}

#[test]
fn each_tool_has_its_row_in_the_table_of_defaults() {
    for tool in crate::tools::table() {
        let traits = tool.traits();
        let rule = Rule::of(traits.name);
        assert_ne!(rule, Rule::Unknown, "{} has no row", traits.name);
        if !traits.read_only() {
            assert_ne!(rule.requirement(), Requirement::Auto, "{} changes or runs something", traits.name);
        }
        if traits.capabilities.contains(&Capability::ExecutesCode) {
            assert!(matches!(rule, Rule::Shell | Rule::ReadOrWrite | Rule::Agent), "{} runs something", traits.name);
        }
    }
}

fn shell(line: &str) -> Desk {
    let tool = FakeTool::new("bash", async |_: Value, _| Ok(said("ran"))).running(line).ruled(Rule::Shell);
    Desk::over(MemoryDisk::new().with_file("/w/a.txt", "one\n"), [tool])
}

#[tokio::test]
async fn no_command_runs_in_a_folder_that_nobody_trusts() {
    let desk = shell("ls");
    let bash = || params("bash", json!({}));
    let preview = desk.dispatch.preview(bash()).await;
    assert!(preview.approval.reason.contains("/w is not trusted"), "{}", preview.approval.reason);
    let denied = desk.call_with(CallParams { approved_by: Some(preview.preview_id), ..bash() }).await;
    assert_eq!((denied.status, desk.questions()), (Status::Denied, 0));
    assert!(text(&denied).contains("/w is not trusted; the person can trust it"), "{}", text(&denied));
    // Danger mode trusts nobody.
    let set = SessionRequest::SetMode(SetModeParams { session_id: None, mode: Mode::Danger });
    desk.dispatch.ask_session(set).await.unwrap();
    assert_eq!(desk.call_with(bash()).await.status, Status::Denied);
    desk.dispatch.trust.set(Path::new("/w"), true);
    assert_eq!(desk.call_with(bash()).await.status, Status::Ok);
    desk.dispatch.trust.set(Path::new("/w"), false);
    assert_eq!(desk.call_with(bash()).await.status, Status::Denied);
}

#[tokio::test]
async fn the_settings_of_a_folder_hold_back_and_let_nothing_pass() {
    let settings = json!({ "permissions": {
        "allow": ["*", "read(//out/**)"],
        "ask": ["read(asked.txt)"],
        "deny": ["write(keep/**)"],
    }});
    let disk = || MemoryDisk::new().with_file("/w/asked.txt", "one\n").with_file("/out/b.txt", "far\n");
    let desk = Desk::new(disk().with_file("/w/.ropewalk/settings.json", settings.to_string()));
    let denied = desk.call_with(write("keep/a.txt")).await;
    assert_eq!(denied.status, Status::Denied);
    assert!(text(&denied).contains("in the settings of the workspace folder"), "{}", text(&denied));
    assert_eq!(desk.call_with(write("other.txt")).await.status, Status::Ok);
    for (path, asked) in [("asked.txt", 1), ("/out/b.txt", 2)] {
        desk.answer(|params| decided(params, Consent::Once));
        assert_eq!((desk.call_with(read(path)).await.status, desk.questions()), (Status::Ok, asked), "{path}");
    }
    // What it held back is not known any more: nothing is changed until it is mended.
    let broken = Desk::new(disk().with_file("/w/.ropewalk/settings.json", "{ \"permissions\": "));
    let denied = broken.call_with(write("other.txt")).await;
    assert!(text(&denied).contains(".ropewalk/settings.json in /w: it is no JSON"), "{}", text(&denied));
    assert_eq!(broken.call_with(read("asked.txt")).await.status, Status::Ok);
}

#[tokio::test]
async fn consent_to_a_command_ends_when_what_it_runs_changes() {
    let desk = trusted("./x.sh --fast");
    let bash = || params("bash", json!({}));
    let changed = |text: &str| desk.disk.overwrite(Path::new("/w/x.sh"), text.as_bytes()).unwrap();
    // What a preview showed is what it ran then.
    let preview = desk.dispatch.preview(bash()).await;
    changed("echo two\n");
    let stale = desk.call_with(CallParams { approved_by: Some(preview.preview_id), ..bash() }).await;
    assert_eq!((stale.status, desk.questions()), (Status::Denied, 1), "{}", text(&stale));
    desk.answer(|params| {
        let targets = &params.calls[0].targets;
        assert!(
            targets.contains(&"/w/x.sh".to_owned()) && targets.contains(&"./x.sh --fast".to_owned()),
            "{targets:?}"
        );
        decided(params, Consent::Session)
    });
    assert_eq!((desk.call_with(bash()).await.status, desk.questions()), (Status::Ok, 2));
    assert_eq!((desk.call_with(bash()).await.status, desk.questions()), (Status::Ok, 2), "it was consented to");
    changed("echo three\n");
    desk.answer(|params| decided(params, Consent::Deny));
    assert_eq!((desk.call_with(bash()).await.status, desk.questions()), (Status::Denied, 3));
    changed("echo two\n");
    // A no is for what was asked about, whatever the script says by then.
    assert_eq!((desk.call_with(bash()).await.status, desk.questions()), (Status::Denied, 3));
    // It changes while the person looks: they are asked again.
    let desk = trusted("./x.sh");
    let disk = Arc::clone(&desk.disk);
    desk.answer(move |params| {
        disk.overwrite(Path::new("/w/x.sh"), b"rm -rf /\n").unwrap();
        decided(params, Consent::Once)
    });
    desk.answer(|params| decided(params, Consent::Deny));
    assert_eq!((desk.call_with(bash()).await.status, desk.questions()), (Status::Denied, 2));
}

#[tokio::test]
async fn commands_are_judged_by_what_they_do() {
    use Status::{Denied, Ok};
    // The line, how many questions, and whether consent for the session covers it the next time.
    for (line, asked, again) in [
        ("ls -la", 0, 0),
        ("cat a.txt | sort", 0, 0),
        ("cat /out/b.txt", 1, 1),
        ("cat leak", 1, 1),
        ("cat .env", 1, 2),
        ("mkdir new", 1, 1),
        ("cargo build", 1, 1),
        ("cargo build > /out/log", 1, 1),
        ("echo x > .git/config", 1, 2),
        ("rm -rf src", 1, 2),
        ("cargo build && rm -rf src", 1, 2),
        ("cargo build \"", 1, 2),
    ] {
        let desk = trusted(line);
        for _ in 0..2 {
            desk.answer(|params| decided(params, Consent::Session));
        }
        let bash = || params("bash", json!({}));
        assert_eq!((desk.call_with(bash()).await.status, desk.questions()), (Ok, asked), "{line}");
        assert_eq!((desk.call_with(bash()).await.status, desk.questions()), (Ok, again), "{line}");
        let set = SessionRequest::SetMode(SetModeParams { session_id: None, mode: Mode::Plan });
        desk.dispatch.ask_session(set).await.unwrap();
        let planned = if asked == 0 || line.starts_with("cat") { Ok } else { Denied };
        if !line.contains(".env") {
            assert_eq!(desk.call_with(bash()).await.status, planned, "{line}");
        }
    }
}

fn trusted(line: &str) -> Desk {
    let tool = FakeTool::new("bash", async |_: Value, _| Ok(said("ran"))).running(line).ruled(Rule::Shell);
    let disk = MemoryDisk::new()
        .with_file("/w/a.txt", "one\n")
        .with_file("/w/.env", "A=1\n")
        .with_file("/w/.git/config", "")
        .with_file("/w/src/a.rs", "")
        .with_file("/w/x.sh", "echo one\n")
        .with_file("/out/b.txt", "far\n")
        .with_link("/w/leak", "/out/b.txt")
        .with_link("/w/link", "/w/.git");
    let desk = Desk::over(disk, [tool]);
    desk.dispatch.trust.set(Path::new("/w"), true);
    desk
}

#[tokio::test]
async fn what_nobody_was_asked_about_is_no_consent() {
    let desk = desk();
    let preview = desk.dispatch.preview(write("n1.txt")).await;
    assert!(preview.valid);
    let set = SetModeParams { session_id: None, mode: Mode::Review };
    desk.dispatch.ask_session(SessionRequest::SetMode(set)).await.unwrap();
    desk.answer(|params| decided(params, Consent::Deny));
    let call = CallParams { approved_by: Some(preview.preview_id), ..write("n1.txt") };
    assert_eq!((desk.call_with(call).await.status, desk.questions()), (Status::Denied, 1));
}

#[tokio::test]
async fn the_mode_that_the_person_chose_last_holds() {
    let desk = desk();
    let choose = |mode| desk.dispatch.ask_session(SessionRequest::SetMode(SetModeParams { session_id: None, mode }));
    desk.call_with(enter()).await;
    desk.answer(|params| decided(params, Consent::Once));
    // The round goes on: a call that had come when the plan was agreed to has not ended.
    let (planned, open) = (desk.dispatch.admit(plan("1. Look")), desk.dispatch.admit(read("a.txt")));
    assert_eq!(desk.dispatch.run(planned).await.status, Status::Ok);
    choose(Mode::Plan).await.unwrap();
    desk.dispatch.run(open).await;
    assert_eq!(desk.call_with(write("n1.txt")).await.status, Status::Denied);
}

#[tokio::test]
async fn no_command_writes_a_protected_place_unasked_even_in_danger() {
    let mut unasked = Vec::new();
    for line in [
        "echo x > .git/config",
        "echo x >> .GIT/config",
        "echo x > .git/../.git/config",
        "echo x > sub/../.ropewalk/settings.json",
        "echo x > link/config",
        "echo x > '.g\u{200c}it/config'",
        "echo x > .ｇｉｔ/config",
        "cat a.txt | tee .vscode/tasks.json",
        "tee -a .envrc < a.txt",
        "cp a.txt .git/hooks/pre-commit",
        "cp -t .git/hooks a.txt",
        "mv a.txt .mcp.json",
        "mv .git elsewhere",
        "ln -s /w/a.txt .git/hooks/pre-commit",
        "ln -sf a.txt .bashrc",
        "ln .git/config notes.txt",
        "install -m 755 a.txt .git/hooks/pre-commit",
        "dd if=a.txt of=.git/config",
        "sed -i s/a/b/ .git/config",
        "sort -o .git/config a.txt",
        "touch .git/hooks/x",
        "truncate -s 0 .git/config",
        "chmod +x .git/hooks/pre-commit",
        "rm .git/config",
        "rm -rf .git",
        "mkdir -p .claude/skills/x",
        "cd .git && echo x > config",
        "(cd .git; cp ../a.txt hooks/x)",
        "curl -o .git/hooks/x https://example.org",
        "wget -O .envrc https://example.org",
        "tar -xf a.tar -C .git",
        "unzip a.zip -d .vscode",
        "patch .git/config a.txt",
        "rsync a.txt .git/hooks/",
        "vim .git/config",
        "nano .envrc",
        "git config core.pager ./x.sh",
        "git config --unset core.pager",
        "git config set core.pager ./x.sh",
        "git config --global core.pager ./x.sh",
        "git config -f .git/config core.pager ./x.sh",
        "sudo tee .git/config < a.txt",
        "xargs -I{} cp a.txt .git/hooks/{} < a.txt",
        "find . -name a.txt -exec cp {} .git/hooks/x ';'",
        "bash -c 'echo x > .git/config'",
        "echo x > ~/.bashrc",
        "echo x > \"$HOME/.zshrc\"",
    ] {
        let desk = trusted(line);
        let set = SetModeParams { session_id: None, mode: Mode::Danger };
        desk.dispatch.ask_session(SessionRequest::SetMode(set)).await.unwrap();
        desk.answer(|params| decided(params, Consent::Deny));
        let result = desk.call_with(params("bash", json!({}))).await;
        if (result.status, desk.questions()) != (Status::Denied, 1) {
            unasked.push(line);
        }
    }
    assert_eq!(unasked, Vec::<&str>::new());
}
