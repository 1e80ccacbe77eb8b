//! Joined to the sidecar of a fake editor, by its socket.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rmcp::model::{ReadResourceRequestParams, SubscribeRequestParams};
use ropewalk::bridge::join::{self, Way};
use ropewalk::bridge::{Bridge, known_in};
use ropewalk::ports::{Disk as _, MemoryDisk, Ports, SystemClock};
use ropewalk::server::{self, Rooms, ServeOptions};
use ropewalk::tool::{Door, Invitation};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::oneshot;

use super::agent::{Heard, Manner, Running, start, status, text};
use crate::editor::{FakeEditor, Manner as Applies};

const URI: &str = "file:///w/notes.txt";
const SECRET: &str = "file:///w/.env";

/// An editor with the folder `/w`, whose sidecar can be joined.
struct Scene {
    editor: FakeEditor,
    disk: Arc<MemoryDisk>,
    bridge: Arc<Bridge>,
    folder: tempfile::TempDir,
}

impl Scene {
    async fn new(abilities: Value, settings: Value) -> Scene {
        let disk = Arc::new(MemoryDisk::new());
        disk.create_dir_all(Path::new("/w")).unwrap();
        disk.create(Path::new("/w/notes.txt"), b"one\ntwo\n").unwrap();
        let ports = Ports { disk: disk.clone(), ..Ports::system() };
        let folder = tempfile::tempdir().unwrap();
        let meeting = folder.path().join("ropewalk");
        let (sender, bridge) = oneshot::channel();
        let mut editor = FakeEditor::start(|input, output| {
            tokio::spawn(async move {
                let rooms = {
                    let ports = ports.clone();
                    move |editor| {
                        let parts = server::assemble(ports, editor);
                        let rooms = Rooms::of(&parts);
                        let _ = sender.send(Bridge::open(&rooms, &parts, meeting, true));
                        rooms
                    }
                };
                server::serve_with(input, output, ports, ServeOptions::default(), rooms).await
            })
        });
        let bridge = bridge.await.unwrap();
        let mut options = settings;
        options["diagnostics"] = json!({ "ownServers": "off" });
        let params = json!({
            "processId": null,
            "clientInfo": { "name": "Fake" },
            "workspaceFolders": [{ "uri": "file:///w", "name": "w" }],
            "initializationOptions": options,
            "capabilities": {
                "general": { "positionEncodings": ["utf-8"] },
                "workspace": { "applyEdit": true },
                "experimental": { "ropewalk": abilities },
            },
        });
        editor.ask("initialize", params).await;
        editor.open(URI, "one\ntwo\n");
        editor.splice(URI, 3..3, "!");
        Scene { editor, disk, bridge, folder }
    }

    async fn usual() -> Scene {
        Scene::new(json!({ "approve": true, "resync": true }), json!({})).await
    }

    fn meeting(&self) -> PathBuf {
        self.folder.path().join("ropewalk")
    }

    /// The way in, once the sidecar has made itself known.
    async fn way(&self) -> Way {
        loop {
            if let Ok(way) = join::way(&self.meeting(), Path::new("/w"), None, None) {
                return way;
            }
            tokio::task::yield_now().await;
        }
    }

    async fn join(&self) -> Running {
        let way = self.way().await;
        come_in(&way).await
    }

    /// The person answers the question whether somebody may join.
    async fn lets_in(&mut self, decision: &str) -> Value {
        let (id, params) = self.editor.asked("ropewalk/approve").await;
        assert_eq!(params["calls"][0]["name"], "join", "{params}");
        let answer = json!({ "decisions": [{ "callId": "join", "decision": decision }] });
        self.editor.respond(&id, answer);
        params
    }

    async fn leave(mut self) {
        self.editor.accept_rest();
        assert_eq!(self.editor.leave().await, 0);
        self.bridge.close();
    }
}

async fn come_in(way: &Way) -> Running {
    let joined = join::join(way, join::caller(), &SystemClock).await.unwrap_or_else(|why| panic!("{why}"));
    let (theirs, ours) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(ours);
    tokio::spawn(join::pass_on(joined, input, output));
    let (input, output) = tokio::io::split(theirs);
    start(Manner::default(), input, output).await
}

#[tokio::test]
async fn an_unsaved_document_is_changed_once_the_person_lets_the_client_in() {
    let mut scene = Scene::usual().await;
    let client = scene.join().await;
    let tools = client.service.peer().list_all_tools().await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == "edit"), "what there is may be looked at before");
    let peer = client.service.peer().clone();
    let edit = json!({ "file_path": "/w/notes.txt", "old_string": "one!", "new_string": "ONE" });
    let editing = tokio::spawn(async move { peer.call_tool(super::agent::call("edit", edit)).await });
    let question = scene.lets_in("once").await;
    assert_eq!(question["sessionId"], "mcp-1");
    let shown = question["calls"][0]["targets"].to_string();
    assert!(shown.contains("calls itself: test-agent") && shown.contains("(process "), "{shown}");
    scene.editor.serve_edit(Applies::Apply).await;
    let edited = super::agent::result(editing.await.unwrap().unwrap());
    assert_eq!((status(&edited), &edited["_meta"]["ropewalk/applied"]), ("ok", &json!("all")), "{edited}");
    assert_eq!(scene.editor.buffers[URI].text, "ONE\ntwo\n");
    assert_eq!(scene.disk.bytes("/w/notes.txt").unwrap(), b"one\ntwo\n", "nothing is saved");
    // It is a session of its own.
    let of_pane = scene.editor.ask("ropewalk/status", json!({})).await;
    assert_eq!(of_pane["sessionId"], "default");
    scene.leave().await;
}

#[tokio::test]
async fn who_is_not_let_in_runs_nothing() {
    for decision in ["deny", "nonsense"] {
        let mut scene = Scene::usual().await;
        let client = scene.join().await;
        let peer = client.service.peer().clone();
        let call = super::agent::call("read", json!({ "file_path": "/w/notes.txt" }));
        let reading = tokio::spawn(async move { peer.call_tool(call).await });
        scene.lets_in(decision).await;
        let read = super::agent::result(reading.await.unwrap().unwrap());
        assert_eq!((status(&read), &read["isError"]), ("denied", &json!(true)), "{read}");
        assert!(!text(&read).contains("two"), "{read}");
        let listed = client.service.peer().list_all_resources().await.unwrap_err().to_string();
        assert!(listed.contains("not") && !listed.contains("notes.txt"), "{listed}");
        let again = client.call("read", json!({ "file_path": "/w/notes.txt" })).await;
        assert_eq!(status(&again), "denied", "it is not asked about again");
        scene.leave().await;
    }
}

#[tokio::test]
async fn where_nobody_can_be_asked_nobody_is_let_in() {
    let scene = Scene::new(json!({ "resync": true }), json!({})).await;
    let client = scene.join().await;
    let read = client.call("read", json!({ "file_path": "/w/notes.txt" })).await;
    assert_eq!(status(&read), "denied");
    assert!(text(&read).contains("could not be asked"), "{read}");
    scene.leave().await;
}

#[tokio::test]
async fn a_yes_for_the_session_holds_for_the_same_program_and_sessions_are_apart() {
    let mut scene = Scene::usual().await;
    let one = scene.join().await;
    scene.lets_in("session").await;
    let read = one.call("read", json!({ "file_path": "/w/notes.txt" })).await;
    assert!(text(&read).contains("one!"), "{read}");
    let two = scene.join().await;
    // Not read in this session.
    let written = two.call("write", json!({ "file_path": "/w/notes.txt", "content": "x\n" })).await;
    assert_eq!(status(&written), "error", "{written}");
    // What the one asks, its session is asked about; the other does not wait for it.
    let peer = one.service.peer().clone();
    scene.disk.put("/out/plan.txt", "a plan\n");
    let call = super::agent::call("read", json!({ "file_path": "/out/plan.txt" }));
    let asking = tokio::spawn(async move { peer.call_tool(call).await });
    let (id, params) = scene.editor.asked("ropewalk/approve").await;
    assert_eq!((&params["sessionId"], &params["calls"][0]["name"]), (&json!("mcp-1"), &json!("read")));
    assert!(text(&two.call("read", json!({ "file_path": "/w/notes.txt" })).await).contains("two"));
    let call_id = params["calls"][0]["callId"].clone();
    scene.editor.respond(&id, json!({ "decisions": [{ "callId": call_id, "decision": "deny" }] }));
    let denied = super::agent::result(asking.await.unwrap().unwrap());
    assert!(text(&denied).contains("A person said no"), "{denied}");
    scene.leave().await;
}

#[tokio::test]
async fn a_client_that_goes_takes_its_calls_and_its_session_with_it() {
    let mut scene = Scene::usual().await;
    let client = scene.join().await;
    scene.lets_in("session").await;
    scene.disk.put("/out/plan.txt", "a plan\n");
    let peer = client.service.peer().clone();
    let call = super::agent::call("read", json!({ "file_path": "/out/plan.txt" }));
    tokio::spawn(async move { peer.call_tool(call).await });
    let (question, _) = scene.editor.asked("ropewalk/approve").await;
    client.service.cancel().await.unwrap();
    let taken_back = scene.editor.next_where(|message| message["method"] == "$/cancelRequest").await.unwrap();
    assert_eq!(taken_back["params"]["id"], question);
    let settled = scene.editor.ask("ropewalk/settle", json!({})).await;
    assert_eq!(settled["settled"], true, "{settled}");
    // The next one is another session.
    let next = scene.join().await;
    let peer = next.service.peer().clone();
    let call = super::agent::call("read", json!({ "file_path": "/out/plan.txt" }));
    tokio::spawn(async move { peer.call_tool(call).await });
    let (id, params) = scene.editor.asked("ropewalk/approve").await;
    assert_eq!(params["sessionId"], "mcp-2");
    scene.editor.respond(&id, json!({ "decisions": [] }));
    scene.leave().await;
}

#[tokio::test]
async fn one_that_goes_while_it_is_asked_about_takes_the_question_with_it() {
    let mut scene = Scene::usual().await;
    let client = scene.join().await;
    let peer = client.service.peer().clone();
    let call = super::agent::call("read", json!({ "file_path": "/w/notes.txt" }));
    tokio::spawn(async move { peer.call_tool(call).await });
    let (question, _) = scene.editor.asked("ropewalk/approve").await;
    client.service.cancel().await.unwrap();
    let taken_back = scene.editor.next_where(|message| message["method"] == "$/cancelRequest").await.unwrap();
    assert_eq!(taken_back["params"]["id"], question);
    scene.leave().await;
}

#[tokio::test]
async fn the_invited_come_in_unasked_as_their_session_until_they_are_uninvited() {
    // Without being known to anybody.
    let mut scene = Scene::new(json!({ "approve": true }), json!({ "bridge": { "listen": false } })).await;
    scene.editor.ask("ropewalk/openSession", json!({ "sessionId": "sub", "mode": "explore" })).await;
    let invitation = scene.bridge.invite("sub").await.unwrap();
    assert!(known_in(&scene.meeting()).unwrap().is_empty());
    let Invitation { socket, token } = invitation.clone();
    let way = Way { socket, token };
    let client = come_in(&way).await;
    let read = client.call("read", json!({ "file_path": "/w/notes.txt" })).await;
    assert!(text(&read).contains("one!"), "{read}");
    let edit = json!({ "file_path": "/w/notes.txt", "old_string": "two", "new_string": "2" });
    assert_ne!(status(&client.call("edit", edit).await), "ok", "its session only looks");
    scene.bridge.withdraw(&invitation);
    client.service.waiting().await.unwrap();
    let refused = join::join(&way, join::caller(), &SystemClock).await.err().unwrap();
    assert!(refused.contains("The secret is not the one"), "{refused}");
    let still = scene.editor.ask("ropewalk/status", json!({ "sessionId": "sub" })).await;
    assert_eq!(still["mode"], "explore", "the session is its owner's");
    scene.leave().await;
}

#[tokio::test]
async fn what_the_editor_shows_are_resources_by_the_rules_of_reading() {
    let mut scene = Scene::usual().await;
    scene.editor.open(SECRET, "TOKEN=1\n");
    let context = |uri: &str| {
        json!({
            "uri": uri,
            "selections": [{ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 4 } }],
            "visibleRange": { "start": { "line": 0, "character": 0 }, "end": { "line": 1, "character": 0 } },
            "openEditors": [URI],
        })
    };
    scene.editor.notify("ropewalk/didChangeContext", context(URI));
    let mut client = scene.join().await;
    scene.lets_in("session").await;
    let peer = client.service.peer().clone();
    let listed = peer.list_all_resources().await.unwrap();
    let uris: Vec<&str> = listed.iter().map(|one| one.uri.as_str()).collect();
    assert_eq!(uris, ["ropewalk://context/selection", "ropewalk://context/editors", SECRET, URI]);
    let read = async |uri: &str| {
        let read = peer.read_resource(ReadResourceRequestParams::new(uri)).await;
        read.map(|read| serde_json::to_value(read).unwrap()["contents"][0]["text"].as_str().unwrap().to_owned())
    };
    assert_eq!(read(URI).await.unwrap(), "one!\ntwo\n");
    assert!(read(SECRET).await.unwrap_err().to_string().contains("not shown without asking"));
    assert!(read("file:///w/closed.txt").await.unwrap_err().to_string().contains("no document that is open"));
    let selected: Value = serde_json::from_str(&read("ropewalk://context/selection").await.unwrap()).unwrap();
    assert_eq!((&selected["document"], &selected["selections"][0]["text"]), (&json!(URI), &json!("one!")));
    let editors: Value = serde_json::from_str(&read("ropewalk://context/editors").await.unwrap()).unwrap();
    assert_eq!(editors, json!({ "focused": URI, "editors": [URI], "documents": [SECRET, URI] }));

    for uri in [URI, "ropewalk://context/selection"] {
        #[expect(deprecated, reason = "the revision of MCP that is spoken here has it")]
        peer.subscribe(SubscribeRequestParams::new(uri)).await.unwrap();
    }
    scene.editor.splice(URI, 0..0, "typed ");
    client.hears(|heard| *heard == Heard::Updated(URI.into())).await;
    scene.editor.notify("ropewalk/didChangeContext", context(SECRET));
    client.hears(|heard| *heard == Heard::Updated("ropewalk://context/selection".into())).await;
    let selected: Value = serde_json::from_str(&read("ropewalk://context/selection").await.unwrap()).unwrap();
    assert!(selected["withheld"].is_string() && selected["selections"][0].get("text").is_none(), "{selected}");
    scene.editor.open("untitled:1", "new\n");
    client.hears(|heard| *heard == Heard::Resources).await;
    assert_eq!(read("untitled:1").await.unwrap(), "new\n");
    let tools = json!({ "sessionId": "mcp-1", "tools": { "disable": ["bash"] } });
    scene.editor.ask("ropewalk/updateSession", tools).await;
    client.hears(|heard| *heard == Heard::Tools).await;
    scene.leave().await;
}

#[tokio::test]
async fn the_door_follows_the_settings_and_folders() {
    let scene = Scene::usual().await;
    scene.way().await;
    let known = known_in(&scene.meeting()).unwrap();
    assert_eq!((known[0].editor.as_str(), &known[0].roots), ("Fake", &vec![PathBuf::from("/w")]));
    let socket = known[0].socket.clone();
    let settings = |listen: bool| json!({ "settings": { "ropewalk": { "bridge": { "listen": listen } } } });
    scene.editor.notify("workspace/didChangeConfiguration", settings(false));
    while socket.exists() {
        tokio::task::yield_now().await;
    }
    assert!(known_in(&scene.meeting()).unwrap().is_empty());
    scene.editor.notify("workspace/didChangeConfiguration", settings(true));
    scene.way().await;
    scene.disk.create_dir_all(Path::new("/v")).unwrap();
    let event = json!({ "event": { "added": [{ "uri": "file:///v", "name": "v" }], "removed": [] } });
    scene.editor.notify("workspace/didChangeWorkspaceFolders", event);
    while known_in(&scene.meeting()).unwrap()[0].roots.len() < 2 {
        tokio::task::yield_now().await;
    }
    let bridge = Arc::clone(&scene.bridge);
    scene.leave().await;
    drop(bridge);
}

#[tokio::test]
async fn hostile_ones_at_the_door_harm_only_themselves() {
    let mut scene = Scene::usual().await;
    let way = scene.way().await;
    let wrong = Way { token: "0".repeat(64), ..way.clone() };
    let refused = join::join(&wrong, join::caller(), &SystemClock).await.err().unwrap();
    assert!(refused.contains("The secret is not the one"), "{refused}");
    // Half-open ones, as many as fit at the door, and more.
    let mut silent = Vec::new();
    for _ in 0..16 {
        silent.push(UnixStream::connect(&way.socket).await.unwrap());
    }
    drop(silent);
    for said in ["GET / HTTP/1.1\r\n\r\n".to_owned(), "x".repeat(10_000), "{}\n".to_owned()] {
        let mut stream = UnixStream::connect(&way.socket).await.unwrap();
        // It may be sent away before it has said all of it.
        let _ = stream.write_all(said.as_bytes()).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        assert!(answer.is_empty() || String::from_utf8_lossy(&answer).contains("error"), "{answer:?}");
    }
    let client = scene.join().await;
    scene.lets_in("once").await;
    assert_eq!(status(&client.call("read", json!({ "file_path": "/w/notes.txt" })).await), "ok");
    scene.leave().await;
}

#[tokio::test]
async fn there_are_so_many_seats() {
    let scene = Scene::new(json!({}), json!({})).await;
    let way = scene.way().await;
    let mut seated = Vec::new();
    for _ in 0..8 {
        seated.push(come_in(&way).await);
    }
    let refused = join::join(&way, join::caller(), &SystemClock).await.err().unwrap();
    assert!(refused.contains("8 programs have joined"), "{refused}");
    drop(seated.pop().unwrap().service.cancel().await);
    loop {
        // The seat is free once its client is gone.
        if join::join(&way, join::caller(), &SystemClock).await.is_ok() {
            break;
        }
        tokio::task::yield_now().await;
    }
    scene.leave().await;
}

#[tokio::test]
async fn when_the_editor_goes_the_client_sees_the_end_and_nothing_is_left() {
    let mut scene = Scene::usual().await;
    let client = scene.join().await;
    scene.lets_in("once").await;
    assert_eq!(status(&client.call("read", json!({ "file_path": "/w/notes.txt" })).await), "ok");
    let meeting = scene.meeting();
    scene.bridge.close();
    client.service.waiting().await.unwrap();
    assert_eq!(meeting.read_dir().unwrap().count(), 0);
    scene.leave().await;
}
