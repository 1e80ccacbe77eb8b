//! Recordings: what is played again comes the same, what was changed is found, and no secret is in one.

use std::path::Path;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use ropewalk::ports::{Disk as _, MemoryDisk, Ports, SystemClock};
use ropewalk::recording::{self, Content, Dir, FORMAT, Frame, Head, Outcome, Recorder, Recording, Replayed, Sink};
use ropewalk::server::{self, ServeOptions};
use serde_json::{Value, json};

use crate::editor::{FakeEditor, Manner, framed};

mod program;

const URI: &str = "file:///w/notes.txt";

/// Lines in memory.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<String>>);

impl Sink for Lines {
    fn append(&mut self, lines: &[u8]) -> std::io::Result<()> {
        self.0.lock().unwrap().push_str(std::str::from_utf8(lines).unwrap());
        Ok(())
    }

    fn rewrite(&mut self, edit: &mut dyn FnMut(&str) -> Option<String>) -> std::io::Result<()> {
        let mut text = self.0.lock().unwrap();
        *text = text.lines().map(|line| edit(line).unwrap_or_else(|| line.to_owned()) + "\n").collect();
        Ok(())
    }
}

fn head() -> Head {
    Head {
        recording: FORMAT,
        version: "1".to_owned(),
        schema: String::new(),
        command: "serve".to_owned(),
        platform: String::new(),
        ephemeral: true,
        trusted: Vec::new(),
        folders: Vec::new(),
        own_settings: None,
    }
}

/// The world that every conversation starts in.
fn start() -> (Ports, ServeOptions) {
    let disk = MemoryDisk::new();
    disk.create_dir_all(Path::new("/w")).unwrap();
    disk.create(Path::new("/w/notes.txt"), b"one\ntwo\n").unwrap();
    disk.create(Path::new("/w/closed.txt"), b"password = hunter2closed\nthree\n").unwrap();
    (Ports { disk: Arc::new(disk), ..Ports::system() }, ServeOptions { repeatable: true, ..ServeOptions::default() })
}

/// Something that an editor does.
#[derive(Debug, Clone)]
enum Step {
    Type(String),
    Read(&'static str),
    Write(Manner),
    TypedMeanwhile,
    Cancelled,
    SideBySide,
    Preview,
    Text,
    Rubbish,
    Unknown,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => "[a-z ]{1,6}".prop_map(Step::Type),
        1 => proptest::sample::select(vec!["notes.txt", "closed.txt", "none.txt"]).prop_map(Step::Read),
        2 => proptest::sample::select(vec![Manner::Apply, Manner::AnswerFirst, Manner::Split, Manner::Refuse])
            .prop_map(Step::Write),
        1 => Just(Step::TypedMeanwhile),
        1 => Just(Step::Cancelled),
        1 => Just(Step::SideBySide),
        1 => Just(Step::Preview),
        1 => Just(Step::Text),
        1 => Just(Step::Rubbish),
        1 => Just(Step::Unknown),
    ]
}

fn call(editor: &mut FakeEditor, name: &str, arguments: Value) -> i64 {
    editor.request("ropewalk/callTool", json!({ "name": name, "arguments": arguments }))
}

async fn read(editor: &mut FakeEditor, file: &str) {
    let id = call(editor, "read", json!({ "file_path": file }));
    editor.result(id).await;
}

async fn write(editor: &mut FakeEditor, content: &str) -> i64 {
    read(editor, "notes.txt").await;
    call(editor, "write", json!({ "file_path": "notes.txt", "content": content }))
}

/// A conversation, recorded.
async fn conversation(steps: &[Step]) -> String {
    let lines = Lines::default();
    let complain = |why| panic!("{why}");
    let recorder = Recorder::start(head(), lines.clone(), Arc::new(SystemClock), complain).unwrap();
    let (ports, options) = start();
    let mut editor = FakeEditor::start(|input, output| {
        let (input, output) = recorder.tap(input, output);
        tokio::spawn(server::serve(input, output, ports, options))
    });
    let params = json!({
        "processId": null,
        "workspaceFolders": [{ "uri": "file:///w", "name": "w" }],
        "initializationOptions": { "diagnostics": { "ownServers": "off" } },
        "capabilities": {
            "general": { "positionEncodings": ["utf-16"] },
            "workspace": { "applyEdit": true },
            "experimental": { "ropewalk": { "resync": true, "approve": true, "events": true } },
        },
    });
    editor.ask("initialize", params).await;
    editor.notify("initialized", json!({}));
    editor.open(URI, "one\ntwo\n");
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Type(text) => editor.splice(URI, 0..0, text),
            Step::Read(file) => read(&mut editor, file).await,
            Step::Write(manner) => {
                let id = write(&mut editor, &format!("a\nb {at}\n")).await;
                editor.serve_edit(*manner).await;
                editor.result(id).await;
            }
            Step::TypedMeanwhile => {
                let id = write(&mut editor, &format!("c\nd {at}\n")).await;
                let (edit, _) = editor.asked("workspace/applyEdit").await;
                editor.splice(URI, 0..0, "typed ");
                editor.respond(&edit, json!({ "applied": false }));
                editor.result(id).await;
            }
            Step::Cancelled => {
                let first = write(&mut editor, &format!("e\n{at}\n")).await;
                let second = call(&mut editor, "write", json!({ "file_path": "notes.txt", "content": "f\n" }));
                let (edit, _) = editor.asked("workspace/applyEdit").await;
                editor.notify("$/cancelRequest", json!({ "id": second }));
                editor.result(second).await;
                editor.respond(&edit, json!({ "applied": false }));
                editor.result(first).await;
            }
            Step::SideBySide => {
                let ids = ["notes.txt", "closed.txt", "none.txt"].map(|file| {
                    editor.request(
                        "ropewalk/callTool",
                        json!({ "sessionId": file, "name": "read", "arguments": { "file_path": file } }),
                    )
                });
                for id in ids {
                    editor.result(id).await;
                }
            }
            Step::Preview => {
                let arguments = json!({ "file_path": "new.txt", "content": "new\n" });
                editor.ask("ropewalk/previewCall", json!({ "name": "write", "arguments": arguments })).await;
            }
            Step::Text => {
                editor.ask("ropewalk/documentText", json!({ "uri": URI })).await;
            }
            Step::Rubbish => {
                editor.send_raw(framed("{\"jsonrpc\":\"2.0\",\"id\":"));
                editor.maybe_answer_to_nobody().await;
                // A change may have been lost with it.
                if let Some((id, _)) = editor.maybe_asked("ropewalk/resync").await {
                    let buffer = editor.buffers[URI].clone();
                    editor.respond(&id, json!({ "version": buffer.version, "text": buffer.text }));
                }
            }
            Step::Unknown => {
                let id = editor.request("ropewalk/none", json!({}));
                editor.error_code(id).await;
            }
        }
    }
    editor.ask("ropewalk/settle", json!({})).await;
    editor.accept_rest();
    let code = editor.leave().await;
    assert!(recorder.finish(code));
    lines.0.lock().unwrap().clone()
}

async fn replayed(recording: &Recording) -> Replayed {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (their_input, their_output) = tokio::io::split(theirs);
    let (output, input) = tokio::io::split(ours);
    let (ports, options) = start();
    let sidecar = tokio::spawn(server::serve(their_input, their_output, ports, options));
    let replayed = recording::replay(recording, input, output, &SystemClock).await;
    sidecar.abort();
    replayed
}

fn paused<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(future)
}

/// The pointers of everything in a message that is no list and no object.
fn leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            leaves(value, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), found);
        }),
        Value::Array(items) => items.iter().enumerate().for_each(|(n, item)| leaves(item, &format!("{at}/{n}"), found)),
        _ => found.push(at.to_owned()),
    }
}

/// What is not compared, or names what a frame is about.
fn is_special(pointer: &str) -> bool {
    let key = pointer.rsplit('/').next().unwrap();
    key.ends_with("Ms")
        || key == "hash"
        || key == "version" && (pointer.starts_with("/result/serverInfo") || pointer.contains("/experimental/"))
}

fn changed(value: &Value) -> Value {
    match value {
        Value::String(text) => json!(format!("{text}x")),
        Value::Bool(yes) => json!(!yes),
        Value::Number(number) => json!(number.as_f64().unwrap() + 1.0),
        _ => json!(0),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_was_recorded_comes_again(steps in proptest::collection::vec(step(), 0..12)) {
        let text = paused(conversation(&steps));
        let recording = Recording::read(&text).unwrap();
        prop_assert!(recording.complete && !recording.gap);
        prop_assert_eq!(&recording.head.folders, &["file:///w"]);
        let replayed = paused(replayed(&recording));
        prop_assert_eq!(&replayed.outcome, &Outcome::Same, "{:#?}", replayed);
        let out = recording.frames.iter().filter(|frame| frame.dir == Dir::Out && matches!(frame.content, Content::Message(_)));
        prop_assert_eq!(replayed.came, out.count());
    }

    #[test]
    fn what_was_changed_is_found(steps in proptest::collection::vec(step(), 0..6), seed in 0usize..1000) {
        let recording = Recording::read(&paused(conversation(&steps))).unwrap();
        for at in 0..recording.frames.len() {
            let Frame { n, dir: Dir::Out, content: Content::Message(message), .. } = &recording.frames[at] else { continue };
            let mut pointers = Vec::new();
            leaves(message, "", &mut pointers);
            // The numbers of questions are mapped.
            let question = message.get("method").is_some();
            pointers.retain(|pointer| !(is_special(pointer) || question && pointer == "/id"));
            let pointer = &pointers[seed % pointers.len()];
            let mut message = message.clone();
            let value = message.pointer_mut(pointer).unwrap();
            *value = changed(value);
            let mut other = recording.clone();
            other.frames[at].content = Content::Message(message);
            let replayed = paused(replayed(&other));
            let Outcome::Differs(difference) = &replayed.outcome else {
                return Err(TestCaseError::fail(format!("{pointer} of frame {n} was changed, and {:?}", replayed.outcome)));
            };
            let names = ["id", "method", "callId", "sessionId", "uri"];
            if !names.iter().any(|name| pointer.ends_with(&format!("/{name}"))) {
                prop_assert_eq!(difference.frame, Some(*n), "{} {:#?}", pointer, difference);
                prop_assert_eq!(difference.pointer.as_deref(), Some(pointer.as_str()));
            }
        }
    }
}

#[test]
fn secrets_are_not_in_a_recording_and_it_comes_again() {
    let typed = "hunter2typed";
    // Each letter before the one that was typed before it, so that no frame has two of them.
    let mut steps: Vec<Step> = typed.chars().rev().map(|c| Step::Type(c.to_string())).collect();
    steps.push(Step::Type("password = ".to_owned()));
    steps.extend([Step::Read("notes.txt"), Step::Read("closed.txt"), Step::Text]);
    let text = paused(conversation(&steps));
    assert!(!text.contains("hunter2"), "{text}");
    let recording = Recording::read(&text).unwrap();
    assert!(recording.redacted);
    let letters: String = recording
        .frames
        .iter()
        .filter_map(|frame| match &frame.content {
            Content::Message(message) => message["params"]["contentChanges"][0]["text"].as_str(),
            _ => None,
        })
        .filter(|text| text.chars().count() == 1)
        .collect();
    // The last letters came first.
    assert!(letters.ends_with("detcader"), "{letters}");
    let replayed = paused(replayed(&recording));
    assert_eq!(replayed.outcome, Outcome::Same, "{replayed:#?}");
}

/// A token, put together here, so that no text of this repository is one.
fn token() -> String {
    let alphabet: Vec<char> = ('A'..='Z').chain('0'..='9').collect();
    let body: String = (0..36).map(|at: usize| alphabet[(at * at * 5 + at * 7) % 36]).collect();
    format!("ghp_{body}")
}

/// What is left of a recording of these frames of the editor's, as the file has it at the end.
fn recorded(messages: &[Value]) -> String {
    let lines = Lines::default();
    let recorder = Recorder::start(head(), lines.clone(), Arc::new(SystemClock), |why| panic!("{why}")).unwrap();
    paused(async {
        let bytes: Vec<u8> = messages.iter().flat_map(|message| framed(&message.to_string())).collect();
        let (mut input, _output) = recorder.tap(std::io::Cursor::new(bytes), tokio::io::sink());
        tokio::io::copy(&mut input, &mut tokio::io::sink()).await.unwrap();
    });
    assert!(recorder.finish(0));
    lines.0.lock().unwrap().clone()
}

fn full(text: &str) -> Value {
    let params = json!({ "textDocument": { "uri": URI, "version": 1 }, "contentChanges": [{ "text": text }] });
    json!({ "method": "textDocument/didChange", "params": params })
}

#[test]
fn a_secret_that_is_typed_in_whole_texts_is_cut_out_of_all_of_them() {
    let secret = token();
    for before in ["t = ", "API_KEY=", "x: \""] {
        let frames: Vec<Value> = (1..=secret.len()).map(|len| full(&format!("{before}{}", &secret[..len]))).collect();
        let text = recorded(&frames);
        assert!(!text.contains(&secret[..8]), "{text}");
        assert!(text.contains(&secret[..7]), "{text}");
        // Every frame has the text that it had, but for its letters.
        let recording = Recording::read(&text).unwrap();
        for (frame, sent) in recording.frames.iter().zip(&frames) {
            let Content::Message(message) = &frame.content else { continue };
            let text = |message: &Value| message["params"]["contentChanges"][0]["text"].as_str().unwrap().to_owned();
            assert_eq!(text(message).len(), text(sent).len());
            assert!(text(message).starts_with(before));
        }
    }
}

#[test]
fn parts_of_a_secret_that_were_shown_before_it_was_whole_are_cut_out() {
    let secret = token();
    let result = |text: String| json!({ "id": 1, "result": { "content": [{ "type": "text", "text": text }] } });
    let saved = json!({ "method": "textDocument/didSave", "params": { "textDocument": { "uri": URI }, "text": &secret[..36] } });
    let edit = json!({ "file_path": "a", "old_string": &secret[..35], "new_string": secret });
    let text = recorded(&[
        result(format!("1\tt = {}\n", &secret[..26])),
        json!({ "id": 2, "result": { "text": &secret[..36] } }),
        result(format!("a.txt:1:{}", &secret[..31])),
        saved,
        json!({ "id": 3, "method": "ropewalk/callTool", "params": { "name": "edit", "arguments": edit } }),
        result(json!({ "text": &secret[..20] }).to_string()),
    ]);
    assert!(!text.contains(&secret[..8]), "{text}");
}
