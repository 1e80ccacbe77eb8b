//! The editor by itself: undo steps and answers in each manner, and the mirror against it.

use std::path::Path;
use std::sync::Arc;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::editor::{Act, Editor};
use super::manner::{MANNERS, Manner};
use super::script::line;
use crate::ports::MemoryDisk;
use crate::text::{Encoding, model};
use crate::workspace::Key;
use crate::workspace::documents::{ContentChange, Counting, Documents};

const URI: &str = "file:///w/a.txt";

/// An editor with one document, and what it says.
struct Desk {
    editor: Editor,
    said: Vec<Value>,
}

impl Desk {
    fn new(manner: Manner, encoding: Encoding, text: &str) -> Desk {
        let disk = Arc::new(MemoryDisk::new().with_dir("/w").with_file("/w/a.txt", "file\n"));
        let mut editor = Editor::new(manner, Path::new("/w"), disk);
        editor.encoding = encoding;
        let mut desk = Desk { editor, said: Vec::new() };
        desk.does(&json!({ "open": { "path": "a.txt", "text": text } }).to_string());
        desk
    }

    fn hear(&mut self) -> Vec<Value> {
        let said = self.editor.acts().into_iter().map(|act| match act {
            Act::Send(message) => message,
            Act::ReleaseAfter(ms) => json!({ "releaseAfter": ms }),
        });
        let said: Vec<Value> = said.collect();
        self.said.extend(said.clone());
        said
    }

    fn does(&mut self, step: &str) -> &mut Desk {
        self.editor.step(&line(step, 1).unwrap().step).unwrap();
        self.hear();
        self
    }

    fn types(&mut self, text: &str, after: &str, stays: bool) -> &mut Desk {
        self.does(&json!({ "type": { "path": "a.txt", "text": text, "after": after, "stays": stays } }).to_string())
    }

    /// Asks for an edit; what is said to it, each message in a word or two.
    fn edit(&mut self, version: Option<i32>, edits: &Value) -> String {
        let document = json!({ "uri": URI, "version": version });
        let change = json!({ "documentChanges": [{ "textDocument": document, "edits": edits }] });
        let request = json!({
            "jsonrpc": "2.0", "id": 1, "method": "workspace/applyEdit", "params": { "edit": change },
        });
        self.editor.hear(&request);
        let words = self.hear();
        let words = words.iter().map(|message| match message["method"].as_str() {
            Some("textDocument/didChange") => format!("change to {}", message["params"]["textDocument"]["version"]),
            Some(method) => method.to_owned(),
            None if message["error"].is_object() => message["error"]["message"].to_string(),
            None if message["releaseAfter"].is_number() => format!("release after {}", message["releaseAfter"]),
            None => message["result"].to_string(),
        });
        words.collect::<Vec<_>>().join("; ")
    }

    fn text(&self) -> String {
        self.editor.documents.get(URI).map(|document| document.text().to_string()).unwrap_or_default()
    }

    fn depth(&self) -> usize {
        self.editor.documents[URI].undo_depth()
    }
}

fn at(line: u32, from: u32, to: u32, text: &str) -> Value {
    let (start, end) = (json!({ "line": line, "character": from }), json!({ "line": line, "character": to }));
    json!({ "range": { "start": start, "end": end }, "newText": text })
}

#[test]
fn how_each_answers_an_edit() {
    fn check(expected: &Expect, version: Option<i32>, prepare: fn(&mut Desk)) {
        let each = MANNERS.map(|manner| {
            let mut desk = Desk::new(manner, Encoding::Utf16, "one\ntwo\n");
            desk.types("!", "one", false);
            desk.types("?", "two", false);
            let version = version.map(|ago| desk.editor.documents[URI].version - ago);
            prepare(&mut desk);
            let said = desk.edit(version, &json!([at(0, 0, 3, "ONE"), at(1, 0, 3, "TWO")]));
            format!("{:<14} {said} -> {:?}\n", manner.name(), desk.text())
        });
        expected.assert_eq(&each.concat());
    }
    check(
        &expect![[r#"
        vscode         change to 4; {"applied":true} -> "ONE!\nTWO?\n"
        neovim         change to 3; change to 4; {"applied":true} -> "ONE!\nTWO?\n"
        neovim-adapter change to 3; change to 4; {"applied":true} -> "ONE!\nTWO?\n"
        eglot          {"applied":true}; change to 3 -> "ONE!\nTWO?\n"
    "#]],
        Some(0),
        |_| {},
    );
    // An older version.
    check(
        &expect![[r#"
        vscode         {"applied":false} -> "one!\ntwo?\n"
        neovim         {"applied":true} -> "one!\ntwo?\n"
        neovim-adapter {"applied":false,"failureReason":"the buffer is at version 2"} -> "one!\ntwo?\n"
        eglot          "Edits on `/w/a.txt' require version 1, you have 2" -> "one!\ntwo?\n"
    "#]],
        Some(1),
        |_| {},
    );
    // Version 0: Neovim by itself looks at none.
    check(
        &expect![[r#"
        vscode         {"applied":false} -> "one!\ntwo?\n"
        neovim         change to 3; change to 4; {"applied":true} -> "ONE!\nTWO?\n"
        neovim-adapter {"applied":false,"failureReason":"the buffer is at version 2"} -> "one!\ntwo?\n"
        eglot          "Edits on `/w/a.txt' require version 0, you have 2" -> "one!\ntwo?\n"
    "#]],
        Some(2),
        |_| {},
    );
    // No version at all.
    check(
        &expect![[r#"
        vscode         change to 4; {"applied":true} -> "ONE!\nTWO?\n"
        neovim         change to 3; change to 4; {"applied":true} -> "ONE!\nTWO?\n"
        neovim-adapter {"applied":false,"failureReason":"the buffer is at version 2"} -> "one!\ntwo?\n"
        eglot          {"applied":true}; change to 3 -> "ONE!\nTWO?\n"
    "#]],
        None,
        |_| {},
    );
    let refuses = |desk: &mut Desk| {
        desk.does(r#"{"editor": {"next": ["refuse"]}}"#);
    };
    check(
        &expect![[r#"
        vscode         {"applied":false} -> "one!\ntwo?\n"
        neovim         {"applied":false,"failureReason":"not now"} -> "one!\ntwo?\n"
        neovim-adapter {"applied":false,"failureReason":"not now"} -> "one!\ntwo?\n"
        eglot          "User cancelled server edit" -> "one!\ntwo?\n"
    "#]],
        Some(0),
        refuses,
    );
    // Closed before: what is not open has no version in VS Code and Neovim, and is opened from the disk.
    let closes = |desk: &mut Desk| {
        desk.does(r#"{"editor": {"next": ["close"]}}"#);
    };
    check(
        &expect![[r#"
        vscode         textDocument/didClose; textDocument/didOpen; change to 2; {"applied":true} -> "ONEe\nTWO"
        neovim         textDocument/didClose; textDocument/didOpen; change to 1; change to 2; {"applied":true} -> "ONEe\nTWO\n"
        neovim-adapter textDocument/didClose; {"applied":false,"failureReason":"`file:///w/a.txt` is not open"} -> ""
        eglot          textDocument/didClose; textDocument/didOpen; "Edits on `/w/a.txt' require version 2, you have 0" -> "file\n"
    "#]],
        Some(0),
        closes,
    );
    let held = |desk: &mut Desk| {
        desk.does(r#"{"editor": {"delayMs": 70, "split": true}}"#);
    };
    check(
        &expect![[r#"
        vscode         release after 70; {"applied":true} -> "ONE!\nTWO?\n"
        neovim         release after 70; {"applied":true} -> "ONE!\nTWO?\n"
        neovim-adapter release after 70; {"applied":true} -> "ONE!\nTWO?\n"
        eglot          {"applied":true}; release after 70 -> "ONE!\nTWO?\n"
    "#]],
        Some(0),
        held,
    );
}

#[test]
fn what_is_one_undo_step() {
    fn check(manner: Manner, expected: [usize; 4]) {
        let mut desk = Desk::new(manner, Encoding::Utf16, "one\ntwo\n");
        desk.types("a", "one", false).types("b", "onea", false);
        let typed_on = desk.depth();
        desk.types("c", "two", true).types("d", "onea", true);
        let inserting = desk.depth();
        let version = desk.editor.documents[URI].version;
        desk.edit(Some(version), &json!([at(0, 0, 1, "O"), at(1, 0, 1, "T")]));
        let edited = desk.depth();
        desk.types("e", "Twoc", false);
        assert_eq!([typed_on, inserting, edited, desk.depth()], expected, "{manner:?}");
        while desk.depth() > 0 {
            desk.does(r#"{"undo": {"path": "a.txt"}}"#);
        }
        assert_eq!(desk.text(), "one\ntwo\n", "{manner:?}");
        for _ in 0..expected[3] {
            desk.does(r#"{"redo": {"path": "a.txt"}}"#);
        }
        assert_eq!(desk.text(), "Oneadb\nTwoce\n", "{manner:?}");
    }
    // Typing that goes on where it was is one step in VS Code and Emacs; in Neovim one stay in insert mode is.
    check(Manner::Vscode, [1, 3, 4, 5]);
    check(Manner::Eglot, [1, 3, 4, 5]);
    check(Manner::Neovim, [2, 3, 3, 3]);
    check(Manner::NeovimAdapter, [2, 3, 4, 5]);
}

#[test]
fn typing_can_share_the_change_that_shows_an_edit() {
    let mut desk = Desk::new(Manner::Vscode, Encoding::Utf16, "one\ntwo\n");
    desk.does(r#"{"editor": {"next": [{"typeWith": {"path": "a.txt", "end": true, "text": "3"}}]}}"#);
    assert_eq!(desk.edit(Some(1), &json!([at(0, 0, 3, "ONE")])), "change to 2; {\"applied\":true}");
    assert_eq!(desk.text(), "ONE\ntwo\n3");
    let changes = desk.said[desk.said.len() - 2]["params"]["contentChanges"].as_array().unwrap();
    assert_eq!(changes.len(), 2);
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let mut desk = Desk::new(Manner::Vscode, Encoding::Utf16, "😀\n");
    assert_eq!(desk.edit(Some(1), &json!([at(0, 1, 2, "x")])), "{\"applied\":false}");
    assert_eq!(desk.edit(Some(1), &json!([at(0, 0, 2, "x"), at(0, 0, 2, "y")])), "{\"applied\":false}");
    assert!(desk.edit(Some(1), &json!("no")).contains("cannot be read"));
    assert_eq!(desk.text(), "😀\n");
}

/// Something that is done to a document; numbers choose a place in it.
#[derive(Debug, Clone)]
enum Deed {
    Type(usize, String, bool),
    Edit(Vec<(usize, usize, String)>, usize),
    Undo,
    Redo,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let piece = || proptest::string::string_regex("([ab😀é]|\r\n|\n|\r){0,6}").unwrap();
    let place = 0usize..40;
    let edit = (place.clone(), 0usize..5, piece());
    let deed = prop_oneof![
        (place, piece(), any::<bool>()).prop_map(|(at, text, stays)| Deed::Type(at, text, stays)),
        (prop::collection::vec(edit, 1..4), 0usize..4).prop_map(|(edits, ago)| Deed::Edit(edits, ago)),
        Just(Deed::Undo),
        Just(Deed::Redo),
    ];
    prop::collection::vec(deed, 1..12)
}

/// A place of a text that a position can name: never inside a character, nor in a CRLF.
fn boundary(text: &str, wanted: usize) -> usize {
    let fits =
        |at: &usize| text.is_char_boundary(*at) && !(text[..*at].ends_with('\r') && text[*at..].starts_with('\n'));
    (0..=wanted.min(text.len())).rev().find(fits).unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// What is told makes the same text of a plain string, and of the sidecar's mirror.
    #[test]
    fn what_is_told_is_what_is_there(
        which in 0usize..4,
        units in 0usize..3,
        start in "([ab😀é]|\r\n|\n|\r){0,12}",
        deeds in deeds(),
    ) {
        let (manner, encoding) = (MANNERS[which], model::ENCODINGS[units]);
        let breaks = manner.breaks();
        let mut desk = Desk::new(manner, encoding, &start);
        let opened = desk.said[0]["params"]["textDocument"].clone();
        let mut plain = opened["text"].as_str().unwrap().to_owned();
        let documents = Documents::new();
        documents.count_as(Counting { encoding, breaks });
        let key = Key::File("/w/a.txt".into());
        let version = i32::try_from(opened["version"].as_i64().unwrap()).unwrap();
        documents.open(key.clone(), URI, "text", version, &plain);
        for deed in deeds {
            let before = desk.text();
            let told = desk.said.len();
            let depth = desk.depth();
            match deed {
                Deed::Type(at, text, stays) => {
                    let byte = boundary(&before, at);
                    let position = model::position_of(&before, breaks, encoding, byte);
                    let step = json!({ "type": { "path": "a.txt", "text": text, "at": position, "stays": stays } });
                    desk.does(&step.to_string());
                }
                Deed::Edit(edits, ago) => {
                    let edits: Vec<Value> = edits.into_iter().map(|(at, len, text)| {
                        let (from, to) = (boundary(&before, at), boundary(&before, at + len));
                        let range = [from, to.max(from)].map(|byte| model::position_of(&before, breaks, encoding, byte));
                        json!({ "range": { "start": range[0], "end": range[1] }, "newText": text })
                    }).collect();
                    let now = desk.editor.documents[URI].version;
                    desk.edit(Some(now - i32::try_from(ago / 3).unwrap()), &json!(edits));
                }
                Deed::Undo if depth > 0 => {
                    desk.does(r#"{"undo": {"path": "a.txt"}}"#);
                }
                Deed::Redo if desk.editor.documents[URI].redo_depth() > 0 => {
                    desk.does(r#"{"redo": {"path": "a.txt"}}"#);
                }
                Deed::Undo | Deed::Redo => {}
            }
            for message in desk.said[told..].iter().filter(|message| message["method"] == "textDocument/didChange") {
                let changes = message["params"]["contentChanges"].as_array().unwrap();
                let mut heard = Vec::new();
                for change in changes {
                    let range = serde_json::from_value(change["range"].clone()).unwrap();
                    let text = change["text"].as_str().unwrap();
                    plain = model::change(&plain, breaks, encoding, range, text).0;
                    heard.push(ContentChange { range: Some(range), text: text.to_owned() });
                }
                let version = i32::try_from(message["params"]["textDocument"]["version"].as_i64().unwrap()).unwrap();
                documents.change(&key, version, heard);
            }
            prop_assert_eq!(&plain, &desk.text());
            let mirror = documents.get(&key).unwrap();
            prop_assert_eq!(&mirror.text.to_string(), &plain);
            prop_assert_eq!(mirror.version, desk.editor.documents[URI].version);
        }
        // All the way back.
        while desk.depth() > 0 {
            desk.does(r#"{"undo": {"path": "a.txt"}}"#);
        }
        prop_assert_eq!(desk.text(), opened["text"].as_str().unwrap());
    }
}
