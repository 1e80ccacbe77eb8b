//! Order, cancel, panics, deadlines: every call ends once, and harms only itself.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::kit::{Desk, FakeTool, params, said, text};
use crate::dispatch::{CallParams, CallResult, Status};
use crate::editor::{News, ToolEventKind};
use crate::permissions::Rule;
use crate::ports::MemoryDisk;
use crate::sessions::DEFAULT_SESSION;
use crate::tool::{ErrorKind, Outcome, ToolError};

/// What calls did, in order, and a word that lets them go on.
#[derive(Clone, Default)]
struct Stage {
    log: Arc<Mutex<Vec<String>>>,
    arrived: Arc<Notify>,
    go: Arc<Notify>,
}

impl Stage {
    fn actor(&self, name: &'static str) -> FakeTool {
        let stage = self.clone();
        FakeTool::new(name, move |arguments, _| {
            let stage = stage.clone();
            async move {
                let word = arguments["word"].as_str().unwrap_or(name).to_owned();
                stage.log.lock().unwrap().push(format!("+{word}"));
                stage.arrived.notify_one();
                stage.go.notified().await;
                stage.log.lock().unwrap().push(format!("-{word}"));
                Ok(said(&word))
            }
        })
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// Waits until `count` entries are in the log.
    async fn until(&self, count: usize) {
        while self.log().len() < count {
            self.arrived.notified().await;
        }
    }
}

fn desk(stage: &Stage) -> Arc<Desk> {
    Arc::new(Desk::over(
        MemoryDisk::new(),
        [
            stage.actor("change").ruled(Rule::Write),
            stage.actor("look").parallel().ruled(Rule::Read),
            FakeTool::new("panics", |_, _| async { panic!("on purpose") }).ruled(Rule::Write),
            FakeTool::new("plans_badly", |_, _| async { Ok(said("")) })
                .planning(|_| panic!("in the plan"))
                .ruled(Rule::Write),
            FakeTool::new("asks", |_, _| async { Ok(said("consented")) }).ruled(Rule::Unknown),
            FakeTool::new("talks", |arguments, _| async move { Ok(said(arguments["word"].as_str().unwrap())) })
                .ruled(Rule::Write),
            FakeTool::new("fails", |_, _| async {
                Err::<Outcome, _>(ToolError::new(ErrorKind::Unavailable, "not today"))
            })
            .ruled(Rule::Write),
        ],
    ))
}

fn start(desk: &Arc<Desk>, params: CallParams) -> JoinHandle<CallResult> {
    let admitted = desk.dispatch.admit(params);
    let desk = Arc::clone(desk);
    tokio::spawn(async move { desk.dispatch.run(admitted).await })
}

fn kind(result: &CallResult) -> Option<ErrorKind> {
    result.error.as_ref().map(|error| error.kind)
}

#[tokio::test]
async fn neighbours_that_read_run_together_and_others_alone() {
    let stage = Stage::default();
    let desk = desk(&stage);
    let calls: Vec<_> = [("change", "w1"), ("look", "r1"), ("look", "r2"), ("change", "w2")]
        .into_iter()
        .map(|(tool, word)| start(&desk, params(tool, json!({ "word": word }))))
        .collect();
    stage.until(1).await;
    stage.go.notify_one();
    stage.until(4).await;
    assert_eq!(stage.log()[..2], ["+w1", "-w1"]);
    let mut both = stage.log()[2..].to_vec();
    both.sort();
    assert_eq!(both, ["+r1", "+r2"]);
    stage.go.notify_one();
    stage.go.notify_waiters();
    stage.go.notify_one();
    stage.until(7).await;
    assert_eq!(stage.log()[6], "+w2");
    stage.go.notify_one();
    for call in calls {
        assert_eq!(call.await.unwrap().status, Status::Ok);
    }
    assert_eq!(desk.dispatch.open_calls(), [""; 0]);
}

#[tokio::test]
async fn sessions_do_not_wait_for_each_other() {
    let stage = Stage::default();
    let desk = desk(&stage);
    let first = start(&desk, params("change", json!({ "word": "one" })));
    let other = CallParams { session_id: Some("other".into()), ..params("change", json!({ "word": "two" })) };
    let second = start(&desk, other);
    stage.until(2).await;
    assert_eq!(desk.dispatch.open_calls(), ["default/c1 change", "other/c1 change"]);
    stage.go.notify_waiters();
    assert_eq!((first.await.unwrap().status, second.await.unwrap().status), (Status::Ok, Status::Ok));
}

#[tokio::test]
async fn a_panic_costs_only_its_own_call() {
    let desk = desk(&Stage::default());
    for (tool, words) in [("panics", "on purpose"), ("plans_badly", "in the plan")] {
        let broken = start(&desk, params(tool, json!({})));
        let next = start(&desk, params("talks", json!({ "word": "hello" })));
        let broken = broken.await.unwrap();
        assert_eq!((broken.status, kind(&broken)), (Status::Error, Some(ErrorKind::Failed)));
        assert!(text(&broken).contains(words), "{}", text(&broken));
        assert_eq!(text(&next.await.unwrap()), "hello");
    }
    assert_eq!(desk.dispatch.open_calls(), [""; 0]);
}

#[tokio::test]
async fn a_failure_is_the_tools_own() {
    let desk = desk(&Stage::default());
    let result = desk.call("fails", json!({})).await;
    assert_eq!((result.status, kind(&result), result.is_error), (Status::Error, Some(ErrorKind::Unavailable), true));
    assert_eq!(text(&result), "not today");
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_at_its_deadline() {
    let stage = Stage::default();
    let desk = desk(&stage);
    let result = desk.call("change", json!({})).await;
    assert_eq!((result.status, kind(&result)), (Status::Error, Some(ErrorKind::Timeout)));
    assert_eq!(result.timing.run_ms, 10_000);
    assert_eq!(stage.log(), ["+change"]);
}

#[tokio::test]
async fn cancelled_wherever_it_is() {
    let stage = Stage::default();
    let desk = desk(&stage);

    // Before it was run at all.
    let admitted = desk.dispatch.admit(params("talks", json!({ "word": "x" })));
    assert_eq!(desk.dispatch.cancel(None, Some("c1"), None), 1);
    assert_eq!(desk.dispatch.cancel(None, Some("c1"), None), 0);
    assert_eq!(desk.dispatch.run(admitted).await.status, Status::Cancelled);

    // While it runs, and while it waits for its turn.
    let running = start(&desk, params("change", json!({})));
    let waiting = start(&desk, params("talks", json!({ "word": "x" })));
    stage.until(1).await;
    assert_eq!(desk.dispatch.cancel(Some(DEFAULT_SESSION), Some("c3"), None), 1);
    let waiting = waiting.await.unwrap();
    assert_eq!((waiting.status, kind(&waiting)), (Status::Cancelled, Some(ErrorKind::Cancelled)));
    assert_eq!(desk.dispatch.cancel(Some("another"), None, None), 0);
    assert_eq!(desk.dispatch.cancel(None, None, None), 1);
    assert_eq!(running.await.unwrap().status, Status::Cancelled);

    // While a person is asked.
    let notice = Arc::new(Notify::new());
    *desk.editor.silent.lock().unwrap() = Some(Arc::clone(&notice));
    let asking = start(&desk, params("asks", json!({})));
    notice.notified().await;
    desk.dispatch.cancel_all();
    let asking = asking.await.unwrap();
    assert_eq!((asking.status, kind(&asking)), (Status::Cancelled, Some(ErrorKind::Cancelled)));
    assert_eq!(desk.dispatch.open_calls(), [""; 0]);
}

#[tokio::test]
async fn a_turn_is_cancelled_as_one() {
    let stage = Stage::default();
    let desk = desk(&stage);
    let of_turn = |turn: &str| CallParams { turn_id: Some(turn.into()), ..params("look", json!({})) };
    let calls: Vec<_> = ["t1", "t2", "t1"].into_iter().map(|turn| start(&desk, of_turn(turn))).collect();
    stage.until(3).await;
    assert_eq!(desk.dispatch.cancel(None, None, Some("t1")), 2);
    stage.go.notify_one();
    let mut ended = Vec::new();
    for call in calls {
        ended.push(call.await.unwrap().status);
    }
    assert_eq!(ended, [Status::Cancelled, Status::Ok, Status::Cancelled]);
}

#[tokio::test]
async fn a_call_that_is_dropped_gives_its_place_up() {
    let desk = desk(&Stage::default());
    drop(desk.dispatch.admit(params("change", json!({}))));
    assert_eq!(text(&desk.call("talks", json!({ "word": "next" })).await), "next");
    assert_eq!(desk.dispatch.open_calls(), [""; 0]);
}

#[tokio::test]
async fn what_cannot_run_is_told() {
    let desk = desk(&Stage::default());
    for (call, expected) in [
        (params("nothing", json!({})), ErrorKind::UnknownTool),
        (params("talks", json!({ "word": [] })), ErrorKind::InvalidArguments),
        (params("talks", json!("{broken")), ErrorKind::InvalidArguments),
        (CallParams { truncated: true, ..params("talks", json!({ "word": "x" })) }, ErrorKind::Truncated),
        (CallParams { truncated: true, ..params("nothing", json!({})) }, ErrorKind::Truncated),
    ] {
        let result = desk.call_with(call).await;
        assert_eq!((result.status, kind(&result)), (Status::Error, Some(expected)));
    }
    let near = desk.call("Talks-Tool", json!("{\"word\": \"hi\",}")).await;
    assert_eq!((near.name.as_str(), text(&near).as_str(), near.call_id.as_str()), ("talks", "hi", "c6"));
}

#[tokio::test]
async fn what_is_too_long_is_cut_and_kept() {
    let desk = desk(&Stage::default());
    let lines: Vec<String> = (0..10_000).map(|line| format!("line {line}")).collect();
    let long = lines.join("\n") + "\n";
    let result = desk.call("talks", json!({ "word": long })).await;
    let output = result.output.clone().unwrap();
    assert_eq!((output.id.as_str(), output.total_bytes, output.truncated), ("o1", long.len(), true));
    assert!(text(&result).len() <= 30_000 && text(&result).ends_with("line 9999\n"));
    let small = CallParams { max_bytes: Some(1000), ..params("talks", json!({ "word": long })) };
    assert!(text(&desk.call_with(small).await).len() <= 1000);
}

#[tokio::test]
async fn front_ends_hear_of_each_call() {
    let desk = desk(&Stage::default());
    let result = desk.call("talks", json!({ "word": "x" })).await;
    desk.call("nothing", json!({})).await;
    let told: Vec<_> = desk
        .editor
        .told
        .lock()
        .unwrap()
        .iter()
        .map(|news| match news {
            News::Tool(event) => (event.kind, event.call_id.clone(), event.detail.clone()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(told[0], (ToolEventKind::Start, "c1".into(), None));
    assert_eq!(told[1], (ToolEventKind::Complete, "c1".into(), Some(serde_json::to_value(&result).unwrap())));
    assert_eq!((told[2].0, told[2].1.as_str(), told.len()), (ToolEventKind::Complete, "c2", 3));
    desk.editor.abilities.lock().unwrap().events = false;
    desk.call("talks", json!({ "word": "x" })).await;
    assert_eq!(desk.editor.told.lock().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn time_is_told_by_stage() {
    let stage = Stage::default();
    let desk = desk(&stage);
    let first = start(&desk, params("change", json!({})));
    let second = start(&desk, params("talks", json!({ "word": "x" })));
    stage.until(1).await;
    tokio::time::advance(Duration::from_secs(3)).await;
    stage.go.notify_one();
    assert_eq!(first.await.unwrap().timing.run_ms, 3000);
    let second = second.await.unwrap().timing;
    assert_eq!((second.queued_ms, second.run_ms), (3000, 0));
}

#[tokio::test]
async fn names_that_are_too_long_are_refused_and_nothing_of_them_is_kept() {
    let desk = Desk::new(MemoryDisk::new().with_file("/w/a.txt", "hi\n"));
    let long = "x".repeat(1_000_000);
    let read = || params("read", json!({ "file_path": "a.txt" }));
    for call in [
        CallParams { session_id: Some(long.clone()), ..read() },
        CallParams { turn_id: Some(long.clone()), ..read() },
        CallParams { call_id: Some(long.clone()), ..read() },
    ] {
        assert!(!desk.dispatch.preview(call.clone()).await.valid);
        let result = desk.call_with(call).await;
        assert_eq!(result.error.as_ref().unwrap().kind, ErrorKind::InvalidArguments);
        assert!(result.call_id.len() < 300 && text(&result).contains("at most 256"), "{}", text(&result));
    }
    // The default session was asked for by two of them and by this one.
    assert_eq!(desk.call_with(read()).await.status, Status::Ok);
}

#[tokio::test]
async fn arguments_nested_without_end_are_refused() {
    let desk = Desk::new(MemoryDisk::new().with_file("/w/a.txt", "hi\n"));
    let deep = |levels: usize| format!("{}{}", r#"{"file_path":"#.repeat(levels), "}".repeat(levels));
    let array = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    for arguments in [
        json!(deep(100_000)),
        json!(format!("{{\"file_path\": {}}}", array(100_000))),
        json!(format!("{{\"file_path\": {}}}", array(100))),
        json!({ "file_path": array(100_000) + "x" }),
        json!({ "limit": array(100_000), "file_path": 1.5 }),
        serde_json::from_str(&format!("{{\"file_path\": {}}}", array(120))).unwrap(),
    ] {
        let result = desk.call("read", arguments).await;
        let kind = result.error.as_ref().unwrap().kind;
        assert!(matches!(kind, ErrorKind::InvalidArguments | ErrorKind::NotFound | ErrorKind::Failed), "{kind:?}");
    }
}
