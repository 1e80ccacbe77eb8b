//! `ropewalk run` and `ropewalk fake-editor`: the scripts of `fixtures/run` and those of `docs/RUN.md`, in this process and by the
//! real binary.

#![expect(
    clippy::disallowed_methods,
    reason = "the binary is started as a person starts it, and the scripts are files of the repository"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use ropewalk::fake_editor::{self, Manner, Played, Setup, report};
use ropewalk::ports::{MemoryDisk, Ports};
use ropewalk::server::ServeOptions;
use serde_json::{Value, json};

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn scripts() -> Vec<PathBuf> {
    let entries = here().join("fixtures/run").read_dir().unwrap();
    let mut scripts: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    scripts.sort();
    assert!(scripts.len() >= 10, "{scripts:?}");
    scripts
}

/// Plays a script with a disk in memory; what a person would read, and how it went.
async fn played(script: &str) -> (String, Played) {
    let lines = fake_editor::parse(script).unwrap_or_else(|faults| panic!("{faults:?}"));
    let ports = Ports { disk: Arc::new(MemoryDisk::new().with_dir("/w")), ..Ports::system() };
    let settings = json!({ "diagnostics": { "ownServers": "off" } });
    let setup = Setup {
        root: "/w".into(),
        manner: Manner::default(),
        settings: settings.as_object().unwrap().clone(),
        abilities: fake_editor::abilities_of(&lines),
        waits: true,
        open_questions: false,
        repeatable: true,
    };
    let options = ServeOptions { repeatable: true, ..ServeOptions::default() };
    let mut told = String::new();
    let never = std::future::pending();
    let tell = |outcome: &fake_editor::Outcome| told.push_str(&report::human("script", outcome));
    let played = fake_editor::play(&ports, setup, options, &lines, &[], never, tell).await;
    (told, played)
}

fn binary(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
    command.args(words).current_dir(here()).stdin(Stdio::null()).env("RUST_LOG", "error");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Runs a script that is given on standard input.
fn piped(words: &[&str], input: &str) -> Output {
    use std::io::Write as _;
    let mut command = binary(words);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // What is told to be wrong before anything is read ends it before all of this is written.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

#[tokio::test]
async fn the_scripts_hold_in_this_process() {
    for script in scripts() {
        let (told, played) = played(&std::fs::read_to_string(&script).unwrap()).await;
        assert_eq!(played.code, 0, "{}\n{told}", script.display());
    }
}

#[test]
fn the_scripts_hold_in_the_binary_and_print_the_same_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let junit = folder.path().join("junit.xml");
    // In one of them typing races with a call, on purpose: what the call hears of it differs.
    let same = scripts().into_iter().filter(|path| path.file_stem().unwrap() != "held");
    let names: Vec<String> = same.map(|path| path.display().to_string()).collect();
    let mut words = vec!["run", "--json", "--junit", junit.to_str().unwrap()];
    words.extend(names.iter().map(String::as_str));
    let (first, second) = (binary(&words).output().unwrap(), binary(&words).output().unwrap());
    assert_eq!(first.status.code(), Some(0), "{}{}", text(&first.stdout), text(&first.stderr));
    assert_eq!(text(&first.stdout), text(&second.stdout));
    let events: Vec<Value> = text(&first.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ends: Vec<&Value> = events.iter().filter(|event| event["event"] == "script").collect();
    assert_eq!(ends.len(), names.len());
    assert!(ends.iter().all(|end| end["ok"] == true && end["failed"] == 0));
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("name=\"one undo takes the edit back, and one redo makes it again\"/>"), "{xml}");
    assert!(xml.contains("failures=\"0\" errors=\"0\""), "{xml}");
}

/// The blocks of a page in this language, each with the block of text that follows it.
fn blocks(page: &str) -> Vec<(String, Option<String>)> {
    let mut blocks: Vec<(String, Option<String>)> = Vec::new();
    let mut open: Option<(&str, String)> = None;
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => open = Some((language, String::new())),
            (Some(_), Some(_)) => match open.take().unwrap() {
                ("jsonl", script) => blocks.push((script, None)),
                ("text", output) => blocks.last_mut().unwrap().1 = Some(output),
                _ => {}
            },
            (Some((_, inside)), None) => inside.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    blocks
}

/// The page with the output below each example that has one brought up to date.
fn with_outputs(page: &str, outputs: &[String]) -> String {
    let (mut out, mut outputs, mut skipping) = (String::new(), outputs.iter(), false);
    for line in page.lines() {
        skipping &= line != "```";
        if !skipping {
            out.extend([line, "\n"]);
        }
        if line == "```text" {
            out.push_str(outputs.next().unwrap());
            skipping = true;
        }
    }
    out
}

#[tokio::test]
async fn the_page_tells_the_truth() {
    let path = here().join("docs/RUN.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (mut words, mut outputs) = (BTreeSet::new(), Vec::new());
    for (script, output) in blocks(&page) {
        for line in script.lines() {
            let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            words.extend(line.as_object().unwrap().keys().filter(|key| *key != "name").cloned());
        }
        let (told, played) = played(&script).await;
        match output {
            Some(_) => outputs.push(told),
            None => assert_eq!(played.code, 0, "{script}\n{told}"),
        }
    }
    let schema = fake_editor::schema();
    let steps = schema.pointer("/oneOf").or_else(|| schema.pointer("/allOf/0/oneOf")).unwrap_or(&Value::Null);
    let known: BTreeSet<String> = steps
        .as_array()
        .unwrap_or_else(|| panic!("{schema:#}"))
        .iter()
        .flat_map(|step| step["properties"].as_object().unwrap().keys().cloned())
        .collect();
    assert_eq!(words, known, "an example for each step");
    let right = with_outputs(&page, &outputs);
    if std::env::var("UPDATE_EXPECT").is_ok() {
        std::fs::write(&path, right).unwrap();
    } else {
        assert!(page == right, "outputs of docs/RUN.md are old: UPDATE_EXPECT=1 cargo nextest run --test it run::");
    }
}

#[test]
fn exit_codes() {
    fn check(words: &[&str], script: &str, code: i32, says: &str) {
        let mut all = vec!["run", "-"];
        all.extend(words);
        let output = piped(&all, script);
        let told = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{words:?} {script}\n{told}");
        assert!(told.contains(says), "{says}\n{told}");
    }
    let outside = r#"{"call": {"name": "read", "arguments": {"file_path": "/etc/hostname"}}}"#;
    let inside = r#"{"call": {"name": "read", "arguments": {"file_path": "a.txt"}}}"#;
    check(&[], r#"{"settle": {}}"#, 0, "0 failed");
    check(&[], r#"{"expect": {"asked": 1}}"#, 1, "expected: 1");
    check(&[], r#"{"type": {"path": "a", "text": "x", "end": true}}"#, 1, "is not open");
    check(&[], "{\"opne\": {}}\n\n{\"settle\": 1}", 2, "standard input:3: `settle`");
    check(&[], "", 2, "there is no step in it");
    check(&["--allow", "bash(("], inside, 2, "cannot be read");
    check(&["--fail-on", "wonder"], inside, 2, "`wonder` is nothing");
    check(&["--root", "/nowhere"], inside, 2, "no folder /nowhere");
    check(&["--copy", "Cargo.toml"], inside, 2, "cannot copy Cargo.toml: it is no folder");
    check(&["-"], inside, 2, "`-` was given twice");
    check(&[], r#"{"open": {"path": "a"}, "open": {"path": "b"}}"#, 2, "the key `open` is there twice");
    check(&["--junit", "/nowhere/junit.xml"], r#"{"settle": {}}"#, 2, "cannot write /nowhere/junit.xml");
    check(&["--junit", "/nowhere/junit.xml"], r#"{"expect": {"asked": 1}}"#, 1, "cannot write /nowhere/junit.xml");
    for path in ["/etc/made", "file:///etc/made", "../made", "sub/../../made"] {
        let write = format!(r#"{{"write-disk": {{"path": "{path}", "text": "x"}}}}"#);
        check(&[], &write, 1, "is outside of");
        check(&[], &format!(r#"{{"open": {{"path": "{path}", "text": "x"}}}}"#), 1, "is outside of");
    }
    check(&[], r#"{"write-disk": {"path": "http://x/y", "text": "x"}}"#, 1, "is no file");
    check(&[], outside, 3, "--allow 'read(//etc/hostname)'");
    check(&["--as", "neovim"], outside, 3, "before it would let it pass");
    check(&["--as", "eglot"], outside, 3, "nobody could be asked");
    check(&["--allow", "read(//etc/hostname)"], outside, 0, "0 failed");
    check(&["--fail-on", "notFound"], inside, 1, "it ended as notFound");
    check(&["--fail-on", "ask"], outside, 1, "nothing allowed");
    let asks = r#"{"answer": {"method": "ropewalk/ask", "open": true}}
        {"call": {"name": "question", "arguments": {"questions": [{"question": "Which?"}]}}}"#;
    check(&["--deadline", "300"], asks, 124, "the deadline came");
}

#[test]
fn an_interrupted_run_says_so() {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    let mut command = binary(&["run", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let asks = r#"{"answer": {"method": "ropewalk/ask", "open": true}}
        {"call": {"name": "question", "arguments": {"questions": [{"question": "Which?"}]}}}
        {"settle": {}}"#;
    child.stdin.take().unwrap().write_all(asks.as_bytes()).unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("ok      1") {
        line.clear();
        assert!(output.read_line(&mut line).unwrap() > 0);
    }
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    assert!(rest.contains("it was told to end") && rest.contains("1 not tried"), "{rest}");
}

#[test]
fn files_are_changed_only_where_the_words_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let (file, other) = (folder.path().join("a.txt"), folder.path().join("sub/b.txt"));
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    std::fs::write(&file, "one\n").unwrap();
    std::fs::write(&other, "b\n").unwrap();
    let script = r#"{"call": {"name": "read", "arguments": {"file_path": "sub/b.txt"}}}
        {"expect": {"status": "ok"}}
        {"open": {"path": "a.txt"}}
        {"type": {"path": "a.txt", "end": true, "text": "two\n"}}
        {"save": {"path": "a.txt"}}
        {"expect": {"path": "a.txt", "disk": "one\ntwo\n"}}"#;
    let root = folder.path().to_str().unwrap();
    assert_eq!(piped(&["run", "--copy", root, "-"], script).status.code(), Some(0));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\n");
    assert_eq!(piped(&["run", "-"], script).status.code(), Some(1), "its folder is empty");
    assert_eq!(piped(&["run", "--root", root, "-"], script).status.code(), Some(0));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\ntwo\n");
}

#[test]
fn failures_are_told_to_those_who_read_xml() {
    let folder = tempfile::tempdir().unwrap();
    let junit = folder.path().join("junit.xml");
    let script = "{\"name\": \"a <b> & \\\"c\\\" \\u0007\", \"open\": {\"path\": \"a.txt\", \"text\": \"\\u001b[0m<&>\\n\"}}\n\
        {\"expect\": {\"path\": \"a.txt\", \"text\": \"\\u0000\\n\"}}\n\
        {\"name\": \"broken\", \"undo\": {\"path\": \"a.txt\"}}\n{\"name\": \"never\", \"settle\": {}}\n";
    let output = piped(&["run", "--junit", junit.to_str().unwrap(), "-"], script);
    assert_eq!(output.status.code(), Some(1));
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.chars().all(|c| c == '\n' || !c.is_control()), "{xml:?}");
    expect_test::expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="ropewalk run" tests="3" failures="1" errors="1">
          <testsuite name="standard input" tests="3" failures="1" errors="1" skipped="1">
            <testcase classname="standard input" name="a &lt;b&gt; &amp; &quot;c&quot; "><failure message="standard input:2: expect: text">standard input:2: expect: text
          expected: &quot;\0\n&quot;
          there is: &quot;\u{1b}[0m&lt;&amp;&gt;\n&quot;
                  --- a/text
                  +++ b/text
                  @@ -1 +1 @@
                  -\u{0}
                  +\u{1b}[0m&lt;&amp;&gt;
        </failure></testcase>
            <testcase classname="standard input" name="broken"><error message="standard input:3: undo in a.txt: there is nothing to undo in `a.txt`">standard input:3: undo in a.txt: there is nothing to undo in `a.txt`
        </error></testcase>
            <testcase classname="standard input" name="never"><skipped/></testcase>
          </testsuite>
        </testsuites>
    "#]].assert_eq(&xml);
}

#[test]
fn an_editor_is_driven_from_outside_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "one\ntwo\n").unwrap();
    let steps = r#"{"editor": {"manner": "neovim-adapter"}, "id": 1}
        {"open": {"path": "a.txt"}, "id": 2}
        nonsense
        {"type": {"path": "b.txt", "end": true, "text": "x"}, "id": 3}
        {"call": {"name": "read", "arguments": {"file_path": "/etc/hostname"}, "as": "asked"}, "id": 4}
        {"await": {"call": "asked"}, "id": 5}
        {"reply": {"method": "ropewalk/approve", "approve": "deny"}, "id": 6}
        {"call": {"name": "read", "arguments": {"file_path": "a.txt"}, "wait": true}, "id": 7}
        {"call": {"name": "edit", "arguments": {"file_path": "a.txt", "old_string": "two", "new_string": "2"}, "wait": true}}
        {"expect": {"path": "a.txt", "text": "one\n2\n", "version": 1}, "id": 8}
        {"expect": {"call": "asked", "status": "ok"}, "id": 9}"#;
    let output = piped(&["fake-editor", "--root", folder.path().to_str().unwrap()], steps);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let events: Vec<Value> = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ok = |id: i64| {
        let step = events.iter().find(|event| event["event"] == "step" && event["id"] == id);
        step.unwrap_or_else(|| panic!("{id}: {events:#?}"))["ok"] == true
    };
    assert_eq!([1, 2, 3, 4, 5, 6, 7, 8, 9].map(ok), [true, true, false, true, true, true, true, true, false]);
    let bad = events.iter().find(|event| event["line"] == 3).unwrap();
    assert!(bad["error"].as_str().unwrap().starts_with("no JSON object"), "{bad}");
    let asked = events.iter().find(|event| event["method"] == "ropewalk/approve").unwrap();
    assert_eq!((&asked["event"], &asked["open"]), (&json!("request"), &json!(true)));
    let ended = events.iter().find(|event| event["event"] == "ended" && event["call"] == "asked").unwrap();
    assert_eq!(ended["result"]["status"], "denied");
    assert!(events.iter().any(|event| event["method"] == "workspace/applyEdit"));
}

#[test]
fn any_language_server_can_be_its_child() {
    let steps = r#"{"open": {"path": "a.fake", "text": "BAD\n", "languageId": "fake"}}
        {"until": {"method": "textDocument/publishDiagnostics"}, "id": 1}"#;
    let folder = tempfile::tempdir().unwrap();
    let script = r#"{ "rules": [{ "pattern": "BAD", "message": "$0 is bad" }] }"#;
    let root = folder.path().to_str().unwrap();
    let program = env!("CARGO_BIN_EXE_ropewalk");
    let output = piped(&["fake-editor", "--root", root, "--", program, "fake-server", script], steps);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let told = text(&output.stdout);
    assert!(told.contains("BAD is bad") && told.contains(r#""id":1,"ok":true"#), "{told}");
    let output = piped(&["fake-editor", "--root", root, "--", "no-such-program-at-all"], steps);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn output_that_cannot_be_written_is_told() {
    let script = here().join("fixtures/run/unsaved.jsonl");
    let script = script.to_str().unwrap();
    for (words, code) in [
        (vec!["run", "--json", script], 2),
        (vec!["run", script], 2),
        // What is wrong besides counts first.
        (vec!["run", "--fail-on", "error", "--as", "eglot", "--deadline", "0", script], 124),
        (vec!["tools"], 2),
        (vec!["schema"], 2),
        (vec!["fake-editor"], 2),
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = binary(&words);
        // An editor that is driven says nothing unless something happens.
        let steps = std::fs::File::open(script).unwrap();
        let output = command.stdin(steps).stdout(full).output().unwrap();
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words:?} {told}");
        assert_eq!(told.matches("standard output cannot be written: ").count(), 1, "{words:?} {told}");
        // A reader that went away does not mind.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = binary(&words).stdout(writer).output().unwrap();
        let expected = if code == 2 { 0 } else { code };
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(expected), String::new()), "{words:?}");
    }
}

#[test]
fn a_program_that_does_not_do_its_part_is_ended() {
    fn check(words: &[&str], program: &[&str], steps: &str, code: i32, says: &str) {
        let mut all = vec!["fake-editor"];
        all.extend(words);
        if !program.is_empty() {
            all.push("--");
            all.extend(program);
        }
        let output = piped(&all, steps);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{program:?} {told}{}", text(&output.stdout));
        assert!(told.contains(says) && (told.is_empty() == says.is_empty()), "{program:?} {told}");
    }
    let open = r#"{"open": {"path": "a.txt", "text": "x\n"}}"#;
    check(&[], &[], "", 0, "");
    check(&[], &[], open, 0, "");
    let deadline = ["--deadline", "300"];
    check(&deadline, &["sleep", "558"], open, 124, "the deadline came, after 300 ms");
    check(&deadline, &["yes", "FLOOD"], open, 124, "the deadline came, after 300 ms");
    check(&[], &["true"], open, 1, "the program is gone, and did not answer `initialize`");
    check(&[], &["true"], "", 1, "the program is gone, and did not answer `initialize`");
    check(&[], &["cat"], open, 1, "the program did not take our `initialize`");
    let broken = r"printf 'Content-Length: x\r\n\r\n'; sleep 558";
    check(
        &[],
        &["sh", "-c", broken],
        open,
        1,
        "the program sent a frame that cannot be read: `x` is not a frame length",
    );
    let half = r"printf 'Content-Length: 9\r\n\r\n{'; exec >&-; sleep 558";
    check(&[], &["sh", "-c", half], open, 1, "the program ended its output inside a frame");
}
