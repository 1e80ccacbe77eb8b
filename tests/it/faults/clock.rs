//! The clock on the wall jumps back and forth, and nothing that is told, made, undone or kept differs for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ropewalk::ports::{Clock, MemoryDisk, Ports, SystemClock};
use ropewalk::server::{self, ServeOptions};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::editor::{FakeEditor, Manner};

/// A clock whose wall shows the next of these days after 1970 at each look.
struct Jumping {
    days: &'static [u64],
    looks: AtomicUsize,
}

impl Clock for Jumping {
    fn now(&self) -> Instant {
        SystemClock.now()
    }

    fn wall(&self) -> SystemTime {
        let look = self.looks.fetch_add(1, Ordering::SeqCst);
        UNIX_EPOCH + Duration::from_hours(24 * self.days[look % self.days.len()])
    }

    fn sleep(&self, duration: Duration) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
        SystemClock.sleep(duration)
    }
}

const OPEN: &str = "file:///w/open.txt";

/// An editor with what it has open.
async fn editor(disk: &Arc<MemoryDisk>, clock: &Arc<Jumping>, state: &std::path::Path, text: &str) -> FakeEditor {
    let ports = Ports { disk: disk.clone(), clock: clock.clone(), ..Ports::system() };
    let options = ServeOptions { state_dir: Some(state.to_owned()), ..ServeOptions::default() };
    let mut editor = FakeEditor::start(|input, output| tokio::spawn(server::serve(input, output, ports, options)));
    editor.introduce(&[std::path::Path::new("/w")], json!({ "resync": true, "approve": true }), json!({})).await;
    editor.open(OPEN, text);
    editor
}

/// A conversation over two runs of the program, and all that was told in it, but for how long it took.
async fn told(days: &'static [u64]) -> (Vec<Value>, usize) {
    let state = tempfile::tempdir().unwrap();
    let disk = Arc::new(MemoryDisk::new().with_file("/w/open.txt", "one\n").with_file("/w/closed.txt", "one\ntwo\n"));
    let clock = Arc::new(Jumping { days, looks: AtomicUsize::new(0) });
    let mut all = Vec::new();
    let mut text = "one\ntwo\nthree\n".to_owned();
    for run in 0..3 {
        let mut editor = editor(&disk, &clock, state.path(), &text).await;
        let todo = json!({ "content": format!("run {run}"), "status": "pending" });
        for (name, arguments, edits) in [
            ("read", json!({ "file_path": "closed.txt" }), false),
            ("edit", json!({ "file_path": "open.txt", "old_string": "two", "new_string": format!("two {run}") }), true),
            (
                "edit",
                json!({ "file_path": "closed.txt", "old_string": "two", "new_string": format!("two {run}") }),
                false,
            ),
            ("write", json!({ "file_path": format!("new{run}.txt"), "content": "made\n" }), false),
            ("todowrite", json!({ "todos": [todo] }), false),
            ("glob", json!({ "pattern": "*", "sort": "path" }), false),
        ] {
            let id =
                editor.request("ropewalk/callTool", json!({ "sessionId": "s", "name": name, "arguments": arguments }));
            if edits {
                editor.serve_edit(Manner::Apply).await;
            }
            let mut result = editor.result(id).await;
            result.as_object_mut().unwrap().remove("timing");
            all.push(result);
        }
        all.push(editor.ask("ropewalk/changes", json!({ "sessionId": "s" })).await);
        // The newest change of all is undone, and brought back in the run after it.
        let changes = editor.ask("ropewalk/changes", json!({ "sessionId": "s", "uri": OPEN })).await;
        let hunk = changes["files"][0]["hunks"][0]["hunkId"].clone();
        let id = editor.request("ropewalk/undo", json!({ "sessionId": "s", "hunkId": hunk }));
        editor.serve_edit(Manner::Apply).await;
        all.push(editor.result(id).await);
        all.push(editor.ask("ropewalk/todos", json!({ "sessionId": "s" })).await);
        let status = editor.ask("ropewalk/status", json!({ "sessionId": "s" })).await;
        assert_eq!(status["store"]["kept"], true, "{status}");
        all.push(status["mode"].clone());
        text.clone_from(&editor.buffers[OPEN].text);
        all.push(json!([text, String::from_utf8(disk.bytes("/w/closed.txt").unwrap()).unwrap()]));
        editor.accept_rest();
        assert_eq!(editor.leave().await, 0);
    }
    (all, clock.looks.load(Ordering::SeqCst))
}

#[tokio::test]
async fn a_clock_that_jumps_changes_nothing_that_is_told_made_or_kept() {
    let (steady, _) = told(&[21_000]).await;
    // Back to the beginning, weeks ahead, weeks behind. What is longer makes sessions old (30 days), and rightly so: which
    // jumps do not is shown where they are kept.
    let (jumping, looks) = told(&[21_000, 0, 21_015, 20_990]).await;
    assert!(looks > 5, "{looks}");
    for (number, (steady, jumping)) in steady.iter().zip(&jumping).enumerate() {
        assert_eq!(steady, jumping, "{number}");
    }
    assert_eq!(steady.len(), jumping.len());
}
