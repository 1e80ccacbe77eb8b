//! `bash` with commands that are played: their output, their ends, and what is told beside it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use serde_json::{Value, json};

use super::kit::{Desk, FakeTool, decided, params, said, text};
use crate::config::Settings;
use crate::dispatch::{CallParams, CallResult, OutputParams, Status};
use crate::editor::{Consent, FileChanged, News, SaveFailure, SaveResult, ToolEventKind};
use crate::permissions::Rule;
use crate::ports::MemoryDisk;
use crate::process::{
    Command, Ended, Exit, Input, Launch, Piece, Played, PlayedPrograms, Printed, Programs, Running, Started, Stream,
};
use crate::sessions::policy::Apply;
use crate::tool::ErrorKind;
use crate::tools;
use crate::workspace::documents::ContentChange;

pub(super) const EXITED: Option<Ended> = Some(Ended { exit: Exit::Code(0), left: 0 });

pub(super) fn out(text: impl AsRef<[u8]>) -> Piece {
    Piece { stream: Stream::Out, bytes: text.as_ref().to_vec() }
}

fn err(text: impl AsRef<[u8]>) -> Piece {
    Piece { stream: Stream::Err, bytes: text.as_ref().to_vec() }
}

fn played(output: Vec<Piece>, ended: Option<Ended>) -> Played {
    Played { output, ended }
}

/// A desk whose bash does this.
fn desk_with(disk: MemoryDisk, play: impl Fn(&Command) -> Played + Send + Sync + 'static) -> Desk {
    let desk = Desk::new(disk);
    desk.dispatch.trust.set(Path::new("/w"), true);
    let (programs, _) = PlayedPrograms::new("/bin");
    desk.dispatch.set_programs(Arc::new(programs.playing("/bin/bash", play)));
    desk
}

pub(super) fn desk(output: Vec<Piece>, ended: Option<Ended>) -> Desk {
    desk_with(MemoryDisk::new().with_dir("/w"), move |_| played(output.clone(), ended))
}

fn settled(desk: &Desk, change: impl FnOnce(&mut Settings)) {
    let mut settings = Settings::clone(&desk.workspace.settings());
    change(&mut settings);
    desk.workspace.set_settings(Arc::new(settings));
}

pub(super) async fn bash(desk: &Desk, arguments: Value) -> CallResult {
    desk.answer(|params| decided(params, Consent::Once));
    desk.call("bash", arguments).await
}

async fn run(desk: &Desk) -> CallResult {
    bash(desk, json!({ "command": "it" })).await
}

#[tokio::test]
async fn both_streams_are_there_in_the_order_of_their_arrival() {
    let pieces = vec![out("one\n\x1b[1mtw"), err("warning: "), out("o\x1b[0m\n"), err("x\n"), out(b"\xff\r\n")];
    let desk = desk(pieces, EXITED);
    let result = run(&desk).await;
    expect![[r"
        one
        twwarning: o
        x
        �
        exit code 0"]]
    .assert_eq(&text(&result));
    assert_eq!((result.status, result.error), (Status::Ok, None));
    let structured = result.structured_content.unwrap();
    expect![[r#"{"exitCode":0,"signal":null,"timedOut":false,"cancelled":false,"stdoutBytes":12,"stderrBytes":11,"stretches":[{"stream":"stdout","bytes":6},{"stream":"stderr","bytes":9},{"stream":"stdout","bytes":2},{"stream":"stderr","bytes":2},{"stream":"stdout","bytes":4}],"stretchesLeftOut":0,"processesEnded":0,"unsaved":[],"filesChanged":[]}"#]]
    .assert_eq(&structured.to_string());
}

#[tokio::test]
async fn a_character_is_never_split_and_front_ends_hear_it_raw() {
    let euro = "€".as_bytes();
    let pieces = vec![out(&euro[..1]), err(&euro[..2]), out(&euro[1..]), err(&euro[2..]), out("\x1b[31m!\n")];
    let desk = desk(pieces, EXITED);
    let result = run(&desk).await;
    assert_eq!(text(&result), "€€!\nexit code 0");
    let told = desk.editor.told.lock().unwrap();
    let heard: String = told
        .iter()
        .filter_map(|news| match news {
            News::Tool(event) if event.kind == ToolEventKind::Output => event.detail.as_ref()?["text"].as_str(),
            _ => None,
        })
        .collect();
    assert_eq!(heard, "€€\x1b[31m!\n");
}

#[tokio::test]
async fn what_fails_says_so_with_its_output() {
    for (exit, words) in
        [(Exit::Code(3), "no such thing\nexit code 3"), (Exit::Signal(9), "no such thing\nended by signal 9 (KILL)")]
    {
        let result = run(&desk(vec![err("no such thing")], Some(Ended { exit, left: 0 }))).await;
        let error = result.error.clone().unwrap();
        assert_eq!((result.status, error.kind, text(&result).as_str()), (Status::Error, ErrorKind::Failed, words));
        assert_eq!(error.data["exitCode"], if exit == Exit::Code(3) { json!(3) } else { json!(null) });
    }
}

#[tokio::test]
async fn no_output_and_what_was_left_are_told() {
    let result = run(&desk(vec![], Some(Ended { exit: Exit::Code(0), left: 1 }))).await;
    expect![[r"
        (no output)
        [1 process that it had left was ended with it; to keep it going use `background: true`, or the tool `monitor`]
        exit code 0"]]
    .assert_eq(&text(&result));
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_end_is_stopped_in_time_and_what_it_put_out_stays() {
    let desk = desk(vec![out("so far\n")], None);
    let result = bash(&desk, json!({ "command": "it", "timeout": "700" })).await;
    expect![[r"
        so far
        timed out after 700 ms and was stopped (ended by signal 15 (TERM)); above is what it had put out by then. Give it a longer `timeout` (at most 600000 ms), or run it with `background: true`."]]
    .assert_eq(&text(&result));
    assert_eq!((result.status, result.error.unwrap().kind), (Status::Error, ErrorKind::Timeout));
    // The longest there is, and no longer.
    let started = tokio::time::Instant::now();
    let result = bash(&desk, json!({ "command": "it", "timeout": 9_999_999 })).await;
    let noted = "\n[a timeout of 9999999 ms is too long; the longest, 600000 ms, was used]\ntimed out after 600000 ms";
    assert!(text(&result).contains(noted), "{}", text(&result));
    assert_eq!(started.elapsed().as_secs(), 600);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_one_gives_what_it_has() {
    let desk = desk(vec![out("so far\n")], None);
    desk.answer(|params| decided(params, Consent::Once));
    let admitted = desk.dispatch.admit(params("bash", json!({ "command": "it" })));
    let cancel = admitted.canceller();
    let run = desk.dispatch.run(admitted);
    let stop = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(run, stop);
    expect![[r"
        so far
        cancelled and stopped (ended by signal 15 (TERM)); above is what it had put out by then, and what it did stays done"]]
    .assert_eq(&text(&result));
    assert_eq!((result.status, result.error.unwrap().kind), (Status::Cancelled, ErrorKind::Cancelled));
    assert_eq!(result.structured_content.unwrap()["cancelled"], true);
}

#[tokio::test]
async fn it_is_started_as_it_was_asked_for() {
    let disk = MemoryDisk::new().with_file("/w/part/a.txt", "").with_dir("/tmp");
    let desk = desk_with(disk, |command| {
        let mut command = command.clone();
        // Besides the workspace, it may write where this machine keeps what is temporary and can be made anew.
        if let Some(confine) = &mut command.confine {
            confine.writable.truncate(1);
        }
        played(vec![out(format!("{command:?}\n"))], EXITED)
    });
    settled(&desk, |settings| {
        settings.bash.keep_environment = vec!["MY_TOKEN".into()];
        settings.bash.sandbox = true;
    });
    let result = bash(&desk, json!({ "command": "-x 'a b'", "workdir": "part", "stdin": "text" })).await;
    expect![[r#"
        Command { launch: Launch { program: "/bin/bash", args: ["--noprofile", "--norc", "-c", "--", "-x 'a b'"], dir: Some("/w/part"), env: {} }, input: Text("text"), keep: ["MY_TOKEN"], confine: Some(Confine { writable: ["/w"] }) }
        exit code 0"#]]
    .assert_eq(&text(&result));
    let blank = bash(&desk, json!({ "command": "it", "workdir": " ", "timeout": "" })).await;
    assert!(text(&blank).contains("dir: Some(\"/w\")"), "{}", text(&blank));
    // Whatever is no object is the command.
    let raw = bash(&desk, json!("echo \"{}\"")).await;
    assert!(text(&raw).contains(r#""--", "echo \"{}\""]"#) && text(&raw).contains("input: Closed"), "{}", text(&raw));
    for (workdir, kind) in [
        ("missing", ErrorKind::NotFound),
        ("part/a.txt", ErrorKind::InvalidArguments),
        ("~", ErrorKind::InvalidArguments),
    ] {
        let result = bash(&desk, json!({ "command": "it", "workdir": workdir })).await;
        assert_eq!(result.error.map(|error| error.kind), Some(kind), "{workdir}");
    }
}

#[tokio::test]
async fn without_bash_it_is_sh_and_without_that_nothing() {
    let desk = Desk::new(MemoryDisk::new().with_dir("/w"));
    desk.dispatch.trust.set(Path::new("/w"), true);
    let (programs, _) = PlayedPrograms::new("/bin");
    let programs = programs.playing("/bin/sh", |command| {
        assert_eq!(command.input, Input::Closed);
        played(vec![out(format!("{:?}", command.launch.args))], EXITED)
    });
    desk.dispatch.set_programs(Arc::new(programs));
    let result = run(&desk).await;
    assert_eq!(text(&result), "[\"-c\", \"--\", \"it\"]\n[there is no bash here; sh ran it]\nexit code 0");
    desk.dispatch.set_programs(Arc::new(PlayedPrograms::new("/bin").0));
    assert_eq!(run(&desk).await.error.unwrap().kind, ErrorKind::Unavailable);
}

#[tokio::test]
async fn a_long_output_is_in_a_file_and_its_middle_is_looked_at() {
    let rows: String = (1..=150_000)
        .map(|row| if row == 70_000 { "error: it broke\n".to_owned() } else { format!("row {row} is fine\n") })
        .collect();
    let pieces: Vec<Piece> = rows.as_bytes().chunks(16_000).map(out).collect();
    let desk = desk(pieces, Some(Ended { exit: Exit::Code(1), left: 0 }));
    desk.dispatch.spill_to(Some(std::path::Path::new("/state")), &desk.workspace.ports);
    let result = run(&desk).await;
    let shown = text(&result);
    assert!(shown.starts_with("row 1 is fine\n") && shown.ends_with("row 150000 is fine\nexit code 1"), "{shown}");
    assert!(shown.len() <= 30_000 && shown.len() > 26_000, "{}", shown.len());
    let lines: Vec<&str> = shown.lines().collect();
    let remark = lines.iter().position(|line| line.starts_with("[lines ")).unwrap();
    assert_eq!(lines[remark + 2], "70000: error: it broke");
    let last: usize = lines[remark - 1].split(' ').nth(1).unwrap().parse().unwrap();
    assert!(lines[remark].starts_with(&format!("[lines {}-", last + 1)), "{}", lines[remark]);
    let total = rows.len() + "exit code 1".len();
    assert!(lines[remark].contains(&format!(" of {total} bytes")), "{}", lines[remark]);
    let output = result.output.unwrap();
    assert_eq!((output.total_bytes, output.truncated), (total, true));
    assert_eq!((result.status, result.error.unwrap().kind), (Status::Error, ErrorKind::Failed));

    let look = desk.call("output", json!({ "id": output.id, "offset": 100_000, "limit": 2 })).await;
    assert!(text(&look).starts_with("row 100000 is fine\nrow 100001 is fine\n("), "{}", text(&look));
    let found = desk.call("output", json!({ "id": output.id, "pattern": "broke", "context": 1 })).await;
    let around = "69999: row 69999 is fine\n70000: error: it broke\n70001: row 70001 is fine\n";
    assert!(text(&found).starts_with(around), "{}", text(&found));
    let whole =
        desk.dispatch.output(OutputParams { call_id: output.id, limit: Some(1), ..OutputParams::default() }).await;
    assert_eq!((whole.total_bytes, whole.total_lines), (total, 150_001));
    let told = desk.editor.told.lock().unwrap();
    let Some(News::Tool(complete)) = told.iter().find(|news| {
        matches!(news, News::Tool(event) if event.kind == ToolEventKind::Complete && event.call_id == result.call_id)
    }) else {
        panic!()
    };
    let display = complete.detail.as_ref().unwrap()["display"].as_str().unwrap();
    assert!(display.starts_with("[showing the last ") && display.ends_with("exit code 1"), "{}", display.len());
    assert!(display.lines().next().unwrap().contains(&format!(" of {total} bytes")) && display.len() > 400_000);
}

#[tokio::test]
async fn what_is_kept_nowhere_is_told_at_once_and_the_rest_is_there() {
    let row = |row: usize| format!("row {row:>5} {}\n", "x".repeat(2000));
    let pieces: Vec<Piece> = (1..=20_000)
        .collect::<Vec<_>>()
        .chunks(8)
        .map(|rows| out(rows.iter().map(|number| row(*number)).collect::<String>()))
        .collect();
    let desk = desk(pieces, EXITED);
    settled(&desk, |settings| settings.output.spill_bytes = 0);
    desk.dispatch.spill_to(Some(Path::new("/state")), &desk.workspace.ports);
    let result = run(&desk).await;
    let shown = text(&result);
    let (before, lost) = shown.rsplit_once('\n').unwrap();
    assert!(shown.len() <= 30_000, "{}", shown.len());
    let end = &shown[shown.len() - 300..];
    assert!(before.ends_with("\nexit code 0"), "{end:?} {:?}", result.output);
    let (bytes, rest) = lost.strip_prefix('[').unwrap().split_once(" bytes, ").unwrap();
    assert!(rest.ends_with(" lines, are kept nowhere: the output is too long]"), "{rest}");
    let lines = rest.split_once(' ').unwrap().0.parse::<usize>().unwrap();
    assert_eq!(bytes.parse::<usize>().unwrap(), lines * row(1).len());
    let output = result.output.unwrap();
    let found = desk.call("output", json!({ "id": output.id, "pattern": "are kept nowhere" })).await;
    assert!(text(&found).contains(lost), "{}", text(&found));
    let first = json!({ "id": output.id, "pattern": "row 20000 ", "limit": 1 });
    assert!(text(&desk.call("output", first).await).starts_with(&format!("{}: row 20000", 20_000 - lines + 1)));
}

#[tokio::test]
async fn unsaved_text_is_named_or_saved_first() {
    let disk =
        || MemoryDisk::new().with_file("/w/a.txt", "a\n").with_file("/w/b.txt", "b\n").with_file("/x/c.txt", "c\n");
    let desk = desk_with(disk(), |_| played(vec![out("ran\n")], EXITED));
    for (path, text) in [("/w/b.txt", "b!\n"), ("/w/a.txt", "a!\n"), ("/x/c.txt", "c!\n"), ("/w/same.txt", "")] {
        desk.open(path, text);
    }
    desk.disk.put("/w/same.txt", "");
    let result = run(&desk).await;
    let named = "ran\n[it read the disk, and did not see the unsaved text of a.txt, b.txt]\nexit code 0";
    assert_eq!(text(&result), named);
    assert_eq!(result.structured_content.unwrap()["unsaved"], json!(["file:///w/a.txt", "file:///w/b.txt"]));

    settled(&desk, |settings| settings.save_before_bash = true);
    let result = run(&desk).await;
    let cannot = "[could not be saved before it ran: a.txt: the editor does not save when it is asked to, b.txt: ";
    assert!(text(&result).contains(cannot) && text(&result).contains("unsaved text of a.txt, b.txt]"));

    desk.editor.abilities.lock().unwrap().save = true;
    let (files, documents) = (Arc::clone(&desk.disk), Arc::clone(&desk.documents));
    *desk.editor.saver.lock().unwrap() = Some(Box::new(move |document| {
        if document.uri.ends_with("b.txt") {
            let failure = SaveFailure { uri: document.uri.clone(), reason: "it is read-only".into() };
            return Some(Ok(SaveResult { failed: vec![failure] }));
        }
        files.put(document.uri.trim_start_matches("file://"), document.text.to_string());
        documents.save(&document.key);
        Some(Ok(SaveResult::default()))
    }));
    let result = run(&desk).await;
    expect![[r"
        ran
        [could not be saved before it ran: b.txt: it is read-only]
        [it read the disk, and did not see the unsaved text of b.txt]
        exit code 0"]]
    .assert_eq(&text(&result));
    assert_eq!(desk.disk.bytes("/w/a.txt").unwrap(), b"a!\n");
}

#[tokio::test]
async fn what_was_judged_before_trust_was_taken_away_does_not_start_after_it() {
    for (again, background) in [(false, false), (true, false), (false, true), (true, true)] {
        let starts = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counted = Arc::clone(&starts);
        let desk = desk_with(MemoryDisk::new().with_file("/w/a.txt", "a\n"), move |_| {
            counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            played(vec![out("ran\n")], EXITED)
        });
        settled(&desk, |settings| settings.save_before_bash = true);
        desk.editor.abilities.lock().unwrap().save = true;
        desk.open("/w/a.txt", "a!\n");
        // The command waits for the editor to save, and meanwhile the person thinks better of it.
        let trust = Arc::clone(&desk.dispatch.trust);
        *desk.editor.saver.lock().unwrap() = Some(Box::new(move |_| {
            trust.set(Path::new("/w"), false);
            if again {
                trust.set(Path::new("/w"), true);
            }
            Some(Ok(SaveResult::default()))
        }));
        let result = bash(&desk, json!({ "command": "it", "background": background })).await;
        let why = if again { "trust in /w was given anew" } else { "/w is not trusted any more" };
        assert!(text(&result).contains(why), "{}", text(&result));
        let started = starts.load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!((result.status, started), (Status::Denied, 0), "{again} {background}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_starts_at_the_moment_when_trust_is_taken_away_is_stopped() {
    for tool in ["bash", "monitor"] {
        for (again, why) in [(false, "/w is not trusted any more"), (true, "trust in /w was given anew")] {
            let desk = Desk::new(MemoryDisk::new().with_file("/w/a.txt", "a\n"));
            let trust = Arc::clone(&desk.dispatch.trust);
            trust.set(Path::new("/w"), true);
            let (programs, _) = PlayedPrograms::new("/bin");
            // Whoever takes trust away does not find the job, which is not there yet.
            desk.dispatch.set_programs(Arc::new(programs.playing("/bin/bash", move |_| {
                trust.set(Path::new("/w"), false);
                if again {
                    trust.set(Path::new("/w"), true);
                }
                played(vec![], None)
            })));
            desk.answer(|params| decided(params, Consent::Once));
            let arguments = match tool {
                "bash" => json!({ "command": "it", "background": true }),
                _ => json!({ "command": "it" }),
            };
            let begun = desk.call(tool, arguments).await;
            assert_eq!(begun.status, Status::Ok, "{}", text(&begun));
            desk.dispatch.jobs.idle().await;
            let told = text(&desk.call("read", json!({ "file_path": "a.txt" })).await);
            assert!(told.contains(&format!("was stopped, because {why}")), "{tool}: {told}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn documents_that_are_said_to_be_saved_and_are_not_are_told() {
    let disk = MemoryDisk::new().with_file("/w/a.txt", "a\n").with_file("/w/b.txt", "b\n").with_file("/w/c.txt", "c\n");
    let desk = desk_with(disk, |_| played(vec![out("ran\n")], EXITED));
    settled(&desk, |settings| settings.save_before_bash = true);
    desk.editor.abilities.lock().unwrap().save = true;
    for name in ["a", "b", "c"] {
        desk.open(&format!("/w/{name}.txt"), "unsaved\n");
    }
    let (files, documents) = (Arc::clone(&desk.disk), Arc::clone(&desk.documents));
    *desk.editor.saver.lock().unwrap() = Some(Box::new(move |document| {
        if document.uri.ends_with("c.txt") {
            // It formats what it saves.
            let change = ContentChange { range: None, text: "formatted\n".into() };
            documents.change(&document.key, document.version + 1, vec![change]);
            documents.save(&document.key);
            files.put("/w/c.txt", "formatted\n");
        }
        Some(Ok(SaveResult::default()))
    }));
    let result = run(&desk).await;
    expect![[r"
        ran
        [could not be saved before it ran: a.txt: the editor said so, but the file has another text, b.txt: the editor said so, but the file has another text]
        [the editor changed the text when it saved c.txt]
        [it read the disk, and did not see the unsaved text of a.txt, b.txt]
        exit code 0"]]
    .assert_eq(&text(&result));
}

#[tokio::test]
async fn what_is_only_proposed_is_named() {
    let desk = desk_with(MemoryDisk::new().with_file("/w/a.txt", "a\n"), |_| played(vec![], EXITED));
    let arguments = json!({ "file_path": "a.txt", "old_string": "a", "new_string": "b" });
    let proposed = CallParams { apply: Some(Apply::Propose), ..params("edit", arguments) };
    assert_eq!(desk.call_with(proposed).await.status, Status::Ok);
    let result = run(&desk).await;
    let words = "(no output)\n[it did not see what is only proposed for a.txt]\nexit code 0";
    assert!(text(&result).starts_with(words), "{}", text(&result));
}

#[tokio::test]
async fn what_it_changed_of_what_is_known_is_told_once() {
    let disk = MemoryDisk::new()
        .with_file("/w/open.txt", "1\n")
        .with_file("/w/edited.txt", "1\n")
        .with_file("/w/read.txt", "1\n")
        .with_file("/w/gone.txt", "1\n")
        .with_file("/w/same.txt", "1\n")
        .with_file("/w/unknown.txt", "1\n");
    let desk = Desk::new(disk);
    desk.dispatch.trust.set(Path::new("/w"), true);
    let files = Arc::clone(&desk.disk);
    let (programs, _) = PlayedPrograms::new("/bin");
    desk.dispatch.set_programs(Arc::new(programs.playing("/bin/bash", move |command| {
        if command.launch.args.last().is_some_and(|line| line == "change") {
            for name in ["open", "edited", "read", "unknown", "new"] {
                files.put(format!("/w/{name}.txt"), "2\n");
            }
            files.put("/w/same.txt", "1\n");
            files.take_away("/w/gone.txt");
        }
        played(vec![], EXITED)
    })));
    desk.open("/w/open.txt", "1\n");
    desk.open("/w/edited.txt", "1, edited\n");
    desk.open("/w/new.txt", "new\n");
    for name in ["read.txt", "gone.txt", "same.txt"] {
        desk.call("read", json!({ "file_path": name })).await;
    }
    let result = bash(&desk, json!({ "command": "change" })).await;
    expect![[r"
        (no output)
        [it read the disk, and did not see the unsaved text of edited.txt, new.txt]
        [changed on the disk by this command: edited.txt (it has unsaved text in the editor: the two will conflict), gone.txt (deleted), new.txt (new; it has unsaved text in the editor: the two will conflict), open.txt, read.txt]
        exit code 0"]]
    .assert_eq(&text(&result));
    let told: Vec<FileChanged> = desk
        .editor
        .told
        .lock()
        .unwrap()
        .iter()
        .filter_map(|news| match news {
            News::Files(files) => Some(files.clone()),
            _ => None,
        })
        .flatten()
        .collect();
    assert_eq!(told.len(), 5, "{told:?}");
    // Told once; and what the model has read is old by its hash.
    assert!(!text(&run(&desk).await).contains("changed on the disk"));
    let stale = desk.call("write", json!({ "file_path": "read.txt", "content": "3\n" })).await;
    assert_eq!(stale.error.unwrap().kind, ErrorKind::Stale);
}

#[tokio::test(start_paused = true)]
async fn in_the_background_it_goes_on_and_its_output_is_kept() {
    let desk = desk(vec![out("listening\n"), err("\x1b[1mwarning\x1b[0m\n")], None);
    let started =
        bash(&desk, json!({ "command": "serve --forever", "background": true, "description": "Dev server" })).await;
    expect!["It runs in the background as job j1; its end is told with a later result, and then the `output` tool shows what it put out: id \"j1\"."]
        .assert_eq(&text(&started));
    assert_eq!((started.status, &started.structured_content.unwrap()["jobId"]), (Status::Ok, &json!("j1")));
    // It has no timeout that it was not given.
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(desk.dispatch.jobs.output("default", "j1", 0).unwrap().text, "listening\n\x1b[1mwarning\x1b[0m\n");
    assert_eq!(desk.dispatch.jobs.stop("default", "j1"), Some(true));
    tokio::time::sleep(Duration::from_secs(3)).await;
    let output = desk.call("output", json!({ "id": "j1" })).await;
    let kept = "listening\nwarning\ncancelled and stopped (ended by signal 15 (TERM))";
    assert!(text(&output).starts_with(kept), "{}", text(&output));
    assert!(text(&output).ends_with("Since then: job j1 (Dev server) was stopped."), "{}", text(&output));

    let limited = json!({ "command": "serve\n  --forever", "background": true, "timeout": 1000 });
    bash(&desk, limited).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let news = text(&desk.call("ls", json!({})).await);
    assert!(
        news.contains("job j2 (serve --forever) failed: timed out after 1000 ms") && news.ends_with("id \"j2\"."),
        "{news}"
    );
}

#[tokio::test]
async fn where_it_cannot_be_confined_it_is_not_run() {
    struct Open;
    #[async_trait::async_trait]
    impl Programs for Open {
        fn find(&self, program: &str, _: &[std::path::PathBuf]) -> Option<std::path::PathBuf> {
            Some(std::path::Path::new("/bin").join(program))
        }
        fn start(&self, _: &Launch) -> std::io::Result<Started> {
            Err(std::io::ErrorKind::Unsupported.into())
        }
        async fn run_on(&self, _: &Launch, _: &str, _: Duration) -> std::io::Result<Printed> {
            Err(std::io::ErrorKind::Unsupported.into())
        }
        fn command(&self, _: &Command) -> std::io::Result<Running> {
            Err(std::io::Error::new(std::io::ErrorKind::Unsupported, "this kernel cannot"))
        }
    }
    let desk = Desk::new(MemoryDisk::new().with_dir("/w"));
    desk.dispatch.trust.set(Path::new("/w"), true);
    desk.dispatch.set_programs(Arc::new(Open));
    let result = run(&desk).await;
    assert!(text(&result).contains("could not be started: this kernel cannot"), "{}", text(&result));
    settled(&desk, |settings| settings.bash.sandbox = true);
    let result = run(&desk).await;
    assert!(
        text(&result).contains("`bash.sandbox`") && text(&result).contains("this kernel cannot"),
        "{}",
        text(&result)
    );
    assert_eq!(result.error.unwrap().kind, ErrorKind::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn what_runs_or_was_cancelled_may_have_changed_what_is_looked_at() {
    let look = FakeTool::new("look", |_, _| async { Ok(said("seen")) }).parallel().ruled(Rule::Read);
    let bash_tool = tools::table().into_iter().find(|tool| tool.traits().name == "bash").unwrap();
    let desk = Desk::over(MemoryDisk::new().with_dir("/w"), [look, (bash_tool, Rule::Shell)]);
    desk.dispatch.trust.set(Path::new("/w"), true);
    let (programs, _) = PlayedPrograms::new("/bin");
    desk.dispatch.set_programs(Arc::new(programs.playing("/bin/bash", |_| played(vec![], None))));
    let call = |name: &str, arguments: Value| CallParams { turn_id: Some("t".into()), ..params(name, arguments) };
    let looks = async |count: usize| {
        let mut kinds = Vec::new();
        for _ in 0..count {
            kinds.push(desk.call_with(call("look", json!({}))).await.status);
        }
        kinds
    };
    assert_eq!(looks(3).await, [Status::Ok, Status::Ok, Status::Denied]);
    desk.answer(|params| decided(params, Consent::Once));
    let admitted = desk.dispatch.admit(call("bash", json!({ "command": "it" })));
    let cancel = admitted.canceller();
    let stop = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(desk.dispatch.run(admitted), stop);
    assert_eq!(result.status, Status::Cancelled);
    assert_eq!(looks(3).await, [Status::Ok, Status::Ok, Status::Denied]);
    desk.answer(|params| decided(params, Consent::Once));
    desk.call_with(call("bash", json!({ "command": "it", "background": true }))).await;
    assert_eq!(looks(4).await, [Status::Ok; 4]);
}

#[tokio::test]
async fn it_counts_as_a_change_and_is_never_made_again() {
    let look = FakeTool::new("look", |_, _| async { Ok(said("seen")) }).parallel().ruled(Rule::Read);
    let bash_tool = tools::table().into_iter().find(|tool| tool.traits().name == "bash").unwrap();
    assert!(!bash_tool.traits().read_only() && !bash_tool.traits().parallel);
    let desk = Desk::over(MemoryDisk::new().with_dir("/w"), [look, (bash_tool, Rule::Shell)]);
    desk.dispatch.trust.set(Path::new("/w"), true);
    let (programs, _) = PlayedPrograms::new("/bin");
    let failing = |_: &Command| played(vec![], Some(Ended { exit: Exit::Code(1), left: 0 }));
    desk.dispatch.set_programs(Arc::new(programs.playing("/bin/bash", failing)));
    let call = |name: &str, arguments: Value| CallParams { turn_id: Some("t".into()), ..params(name, arguments) };
    for round in 0..9 {
        for _ in 0..2 {
            let seen = desk.call_with(call("look", json!({}))).await;
            assert_eq!(seen.status, Status::Ok, "{}", text(&seen));
        }
        desk.answer(|params| decided(params, Consent::Once));
        let result = desk.call_with(call("bash", json!({ "command": "it" }))).await;
        let kind = result.error.as_ref().map(|error| error.kind);
        // That a test fails is no failure of the tool, however often it is run.
        assert_eq!(kind, Some(ErrorKind::Failed), "{round}");
        assert!(!text(&result).contains("times in a row"), "{}", text(&result));
    }
}
