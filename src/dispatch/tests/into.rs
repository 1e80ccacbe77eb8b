//! What becomes of arguments that come broken, in pieces, or before their call.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::kit::{Desk, FakeTool, params, said, text};
use crate::dispatch::arguments::any_json;
use crate::dispatch::{CallParams, Status, ToolInputParams};
use crate::editor::{News, ToolEventKind};
use crate::permissions::Rule;
use crate::ports::{Disk as _, MemoryDisk};
use crate::tool::ErrorKind;
use crate::workspace::Key;

/// The arguments that tools ran with, in order.
type Log = Arc<Mutex<Vec<String>>>;

fn logging(name: &'static str, log: &Log) -> FakeTool {
    let log = Arc::clone(log);
    FakeTool::new(name, move |arguments, _| {
        let log = Arc::clone(&log);
        async move {
            log.lock().unwrap().push(format!("{name} {arguments}"));
            Ok(said(&format!("{name} of {}", arguments["word"])))
        }
    })
}

fn desk(log: &Log) -> Desk {
    Desk::over(
        MemoryDisk::new().with_file("/w/a.txt", "one\n"),
        [
            logging("change", log).ruled(Rule::Write),
            logging("execute", log).executing().ruled(Rule::Write),
            logging("look", log).parallel().ruled(Rule::Read),
            logging("shell", log).executing().free().ruled(Rule::Write),
            logging("unknown", log).parallel().ruled(Rule::Unknown),
        ],
    )
}

fn taken(log: &Log) -> Vec<String> {
    std::mem::take(&mut log.lock().unwrap())
}

fn piece(call: &str, name: &str, index: u64, delta: &str, done: bool) -> ToolInputParams {
    ToolInputParams {
        call_id: call.to_owned(),
        message_id: "m1".to_owned(),
        index,
        name: Some(name.to_owned()),
        delta: Some(delta.to_owned()),
        done,
        ..ToolInputParams::default()
    }
}

/// A call whose arguments have streamed in.
fn streamed(call: &str, name: &str) -> CallParams {
    CallParams { call_id: Some(call.to_owned()), arguments: None, ..params(name, Value::Null) }
}

/// Lets everything run that can, what looks at the disk on a thread of its own included.
async fn others() {
    for _ in 0..2 {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn invented_structure_never_reaches_what_may_change_something(
        rest in any_json(),
        word in "[a-z {}\"\\\\\n]{0,12}",
        cut in any::<prop::sample::Index>(),
        more in "[}\\]]{1,3}",
    ) {
        let log = Log::default();
        let desk = desk(&log);
        let whole = json!({ "word": word, "rest": rest }).to_string();
        let mut end = cut.index(whole.len() - 1) + 1;
        while !whole.is_char_boundary(end) {
            end -= 1;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for broken in [whole[..end].to_owned(), format!("{whole}{more}")] {
                if serde_json::from_str::<Value>(&broken).is_ok() {
                    continue;
                }
                for tool in ["change", "execute", "shell", "unknown"] {
                    let result = desk.call(tool, json!(broken)).await;
                    prop_assert_eq!(result.error.unwrap().kind, ErrorKind::InvalidArguments, "{} {}", tool, broken);
                    let preview = desk.dispatch.preview(params(tool, json!(broken))).await;
                    prop_assert!(!preview.valid);
                }
                prop_assert_eq!(taken(&log), Vec::<String>::new());
                let looked = desk.call("look", json!(broken)).await;
                let ran = taken(&log).len() == 1;
                prop_assert_eq!(ran, looked.status == Status::Ok);
                prop_assert!(!ran || text(&looked).contains("not whole JSON"), "{}", text(&looked));
                let preview = desk.dispatch.preview(params("look", json!(broken))).await;
                prop_assert_eq!((preview.valid, preview.synthesized), (ran, ran));
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_write_that_is_cut_off_writes_nothing(content in "[a-z\n\"{}é]{0,30}", cut in any::<prop::sample::Index>()) {
        let desk = Desk::new(MemoryDisk::new().with_dir("/w"));
        let whole = json!({ "file_path": "new.txt", "content": content }).to_string();
        let mut end = cut.index(whole.len() - 1) + 1;
        while !whole.is_char_boundary(end) {
            end -= 1;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let result = runtime.block_on(desk.call("write", json!(whole[..end])));
        prop_assert!(result.is_error);
        prop_assert!(desk.disk.read(std::path::Path::new("/w/new.txt")).is_err());
    }
}

#[tokio::test]
async fn a_call_that_cannot_be_read_is_told_how_to_be_right() {
    let desk = Desk::new(MemoryDisk::new());
    let result = desk.call("write_file", json!(r#"{"file_path": "a.txt", "content": "one"#)).await;
    assert_eq!((result.name.as_str(), result.error.as_ref().unwrap().kind), ("write", ErrorKind::InvalidArguments));
    let told = text(&result);
    for part in ["a string, an object", "A call that fits: {\"file_path\":\"src/main.rs\"", "The schema: {", "\"one"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let preview = desk.dispatch.preview(params("write", json!(r#"{"file_path": "a.txt", "content": "one"#))).await;
    assert_eq!((preview.valid, preview.synthesized), (false, true));
    let result = desk.call("read", json!("what?")).await;
    assert!(text(&result).contains("The schema: {"), "{}", text(&result));
}

#[tokio::test]
async fn free_text_runs_as_it_is() {
    let log = Log::default();
    let desk = desk(&log);
    for (raw, expected) in [
        ("echo '{,}'\n", json!({ "word": "echo '{,}'\n" })),
        ("```sh\nls\n```", json!({ "word": "```sh\nls\n```" })),
        (r#"{"word": "ls"}"#, json!({ "word": "ls" })),
    ] {
        desk.answer(|params| super::kit::decided(params, crate::editor::Consent::Once));
        let result = desk.call("shell", json!(raw)).await;
        assert_eq!(result.status, Status::Ok, "{}", text(&result));
        assert_eq!(taken(&log), [format!("shell {expected}")]);
    }
}

#[tokio::test]
async fn unreadable_calls_of_other_hosts_have_a_place_to_go_that_is_in_no_list() {
    let desk = Desk::new(MemoryDisk::new());
    let listed = desk.dispatch.list_tools(&crate::dispatch::ListToolsParams::default());
    assert!(listed.iter().all(|tool| tool.name != "invalid"));
    let arguments = json!({ "tool": "read", "error": "expected value at line 1", "arguments": "{\"file_path\": " });
    let result = desk.call("invalid", arguments).await;
    assert_eq!((result.name.as_str(), result.error.as_ref().unwrap().kind), ("invalid", ErrorKind::InvalidArguments));
    let told = text(&result);
    assert!(
        told.contains("`read`") && told.contains("expected value at line 1") && told.contains("\"file_path\""),
        "{told}"
    );
    // Neither a beginning of its name nor a suggestion leads there.
    let unknown = desk.call("inval", json!({})).await;
    assert_eq!(unknown.error.as_ref().unwrap().kind, ErrorKind::UnknownTool);
    assert!(!text(&unknown).contains("`invalid`"), "{}", text(&unknown));
}

#[tokio::test]
async fn a_call_takes_what_streamed_in() {
    let log = Log::default();
    let desk = desk(&log);
    for delta in ["{\"wo", "rd\": \"caf\\u00", "e9 \\", "\"é\""] {
        desk.dispatch.tool_input(piece("c", "change", 0, delta, false));
    }
    let cut = desk.dispatch.preview(streamed("c", "change")).await;
    assert!(!cut.valid && cut.problems[0].contains("cut off"), "{:?}", cut.problems);
    desk.dispatch.tool_input(piece("c", "change", 0, "}", true));
    let preview = desk.dispatch.preview(streamed("c", "change")).await;
    assert_eq!((preview.valid, preview.arguments), (true, json!({ "word": "café \"é" })));
    // The name may have streamed in too.
    let result = desk.call_with(streamed("c", "")).await;
    assert_eq!((result.status, result.name.as_str()), (Status::Ok, "change"));
    assert_eq!(taken(&log), ["change {\"word\":\"café \\\"é\"}"]);
    // It is used once.
    desk.call_with(streamed("c", "change")).await;
    assert_eq!(taken(&log), ["change {}"]);
}

#[tokio::test]
async fn a_stream_that_is_not_done_is_a_fragment_and_explicit_arguments_win() {
    let log = Log::default();
    let desk = desk(&log);
    desk.dispatch.tool_input(piece("c", "change", 0, "{}", false));
    let result = desk.call_with(streamed("c", "change")).await;
    assert_eq!(result.error.unwrap().kind, ErrorKind::Truncated);
    desk.dispatch.tool_input(piece("d", "change", 0, "{\"word\": \"stre", false));
    let explicit = CallParams { arguments: Some(json!({ "word": "given" })), ..streamed("d", "change") };
    assert_eq!(desk.call_with(explicit).await.status, Status::Ok);
    assert_eq!(taken(&log), ["change {\"word\":\"given\"}"]);
    // Too long, and cancelled: neither is a call without arguments.
    desk.dispatch.tool_input(piece("e", "change", 0, &"x".repeat(9 * 1024 * 1024), true));
    assert_eq!(desk.call_with(streamed("e", "change")).await.error.unwrap().kind, ErrorKind::InvalidArguments);
    desk.dispatch.tool_input(piece("f", "change", 0, "{}", true));
    desk.dispatch.cancel(None, Some("f"), None);
    assert_eq!(desk.call_with(streamed("f", "change")).await.status, Status::Cancelled);
    let turn = |id: &str| Some(id.to_owned());
    desk.dispatch.tool_input(ToolInputParams { turn_id: turn("t1"), ..piece("g", "change", 0, "{}", true) });
    desk.dispatch.cancel(None, None, Some("t2"));
    assert_eq!(desk.call_with(streamed("g", "change")).await.status, Status::Ok);
    assert_eq!(taken(&log).len(), 1);
}

/// The arguments that were previewed.
fn previews(desk: &Desk) -> Vec<Value> {
    let told = desk.editor.told.lock().unwrap();
    let events = told.iter().filter_map(|news| match news {
        News::Tool(event) if event.kind == ToolEventKind::Preview => Some(event),
        _ => None,
    });
    events.map(|event| event.detail.as_ref().unwrap()["arguments"].clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn an_edit_is_previewed_as_it_grows_at_a_bearable_pace() {
    let log = Log::default();
    let desk = desk(&log);
    desk.dispatch.tool_input(piece("c", "change", 0, "{\"wor", false));
    others().await;
    assert_eq!(previews(&desk), Vec::<Value>::new());
    for delta in ["d\": \"a", "b", "c"] {
        desk.dispatch.tool_input(piece("c", "change", 0, delta, false));
        others().await;
    }
    assert_eq!(previews(&desk), Vec::<Value>::new());
    tokio::time::sleep(Duration::from_millis(51)).await;
    others().await;
    assert_eq!(previews(&desk), [json!({ "word": "abc" })]);
    for delta in ["d", "e", "\\u00"] {
        desk.dispatch.tool_input(piece("c", "change", 0, delta, false));
        others().await;
    }
    assert_eq!(previews(&desk).len(), 1);
    tokio::time::sleep(Duration::from_millis(51)).await;
    others().await;
    assert_eq!(previews(&desk)[1..], [json!({ "word": "abcde" })]);
    // After a pause the next is shown at once; once the call is there, nothing is.
    tokio::time::sleep(Duration::from_secs(1)).await;
    desk.dispatch.tool_input(piece("c", "change", 0, "e9", false));
    others().await;
    assert_eq!(previews(&desk)[2..], [json!({ "word": "abcdeé" })]);
    desk.dispatch.tool_input(piece("c", "change", 0, " more\"}", true));
    assert_eq!(desk.call_with(streamed("c", "change")).await.status, Status::Ok);
    tokio::time::sleep(Duration::from_secs(1)).await;
    others().await;
    assert_eq!(previews(&desk).len(), 3);
    // A read is not an edit, and nobody is told what they did not ask for.
    desk.dispatch.tool_input(piece("d", "look", 0, "{\"word\": \"a", false));
    desk.editor.abilities.lock().unwrap().events = false;
    desk.dispatch.tool_input(piece("e", "change", 0, "{\"word\": \"a", false));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(previews(&desk).len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_read_starts_before_its_call_and_runs_once() {
    let log = Log::default();
    let desk = desk(&log);
    let arguments = "{\"word\": \"a\"}";
    desk.dispatch.tool_input(piece("c", "look", 0, arguments, true));
    others().await;
    assert_eq!(taken(&log).len(), 1, "it has run");
    let early = desk.call_with(streamed("c", "look")).await;
    assert_eq!(taken(&log).len(), 0, "and does not again");
    let plain = desk.call("look", json!({ "word": "a" })).await;
    assert_eq!(serde_json::to_string(&early.content).unwrap(), serde_json::to_string(&plain.content).unwrap());
    taken(&log);
    // Canonical arguments are compared, not the text; other ones are not served.
    for (given, runs) in [(json!("{ \"word\":\"a\" }"), 0), (json!({ "word": "b" }), 1)] {
        desk.dispatch.tool_input(piece("c", "look", 0, arguments, true));
        others().await;
        taken(&log);
        let result = desk.call_with(CallParams { arguments: Some(given.clone()), ..streamed("c", "look") }).await;
        assert_eq!((result.status, taken(&log).len()), (Status::Ok, runs), "{given}");
    }
    // Nobody asks for it in time, or it is cancelled.
    for cancelled in [false, true] {
        desk.dispatch.tool_input(piece("c", "look", 0, arguments, true));
        others().await;
        taken(&log);
        if cancelled {
            desk.dispatch.cancel(None, None, None);
            assert_eq!(desk.call_with(streamed("c", "look")).await.status, Status::Cancelled);
            assert_eq!(taken(&log).len(), 0);
        } else {
            tokio::time::sleep(Duration::from_mins(1)).await;
            assert_eq!(desk.call_with(streamed("c", "look")).await.status, Status::Ok);
            assert_eq!(taken(&log).len(), 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_never_starts_past_a_change_and_is_never_stale() {
    let log = Log::default();
    let desk = desk(&log);
    let arguments = "{\"word\": \"a\"}";
    // Past a change that streams in, whatever is known of it.
    desk.dispatch.tool_input(piece("w", "change", 0, "{}", true));
    desk.dispatch.tool_input(piece("r", "look", 1, arguments, true));
    others().await;
    assert_eq!(taken(&log), Vec::<String>::new());
    desk.call_with(streamed("w", "change")).await;
    desk.call_with(streamed("r", "look")).await;
    assert_eq!(taken(&log), ["change {}", "look {\"word\":\"a\"}"]);
    // Past a change that has its place and has not run.
    let admitted = desk.dispatch.admit(params("change", json!({})));
    desk.dispatch.tool_input(piece("r", "look", 1, arguments, true));
    others().await;
    assert_eq!(taken(&log), Vec::<String>::new());
    desk.dispatch.run(admitted).await;
    desk.call_with(streamed("r", "look")).await;
    assert_eq!(taken(&log).len(), 2);
    // What no rule lets run by itself, and what may change something, does not start at all.
    for tool in ["unknown", "change", "execute", "shell"] {
        desk.dispatch.tool_input(piece("x", tool, 2, arguments, true));
        others().await;
        desk.dispatch.cancel(None, None, None);
        drop(desk.dispatch.admit(streamed("x", tool)));
    }
    assert_eq!(taken(&log), Vec::<String>::new());
    // Whatever may have changed what was read makes it run again.
    let key = desk.open("/w/a.txt", "one\n");
    for change in ["call", "typing", "file", "settings"] {
        desk.dispatch.tool_input(piece("r", "look", 1, arguments, true));
        others().await;
        assert_eq!(taken(&log).len(), 1, "{change}");
        match change {
            "call" => drop(
                desk.call_with(CallParams { session_id: Some("other".into()), ..params("change", json!({})) }).await,
            ),
            "typing" => drop(desk.documents.change(&key, 2, Vec::new())),
            "file" => desk.dispatch.world_changed(),
            _ => desk.workspace.set_settings(Arc::default()),
        }
        taken(&log);
        assert_eq!(desk.call_with(streamed("r", "look")).await.status, Status::Ok);
        assert_eq!(taken(&log), ["look {\"word\":\"a\"}"], "{change}");
    }
}

#[tokio::test]
async fn what_was_read_early_counts_as_seen_once_the_call_has_it() {
    let key = || Key::Unnamed("untitled:1".into());
    let look = FakeTool::new("look", move |_, context| async move {
        context.session.saw(&key(), "hash", None);
        Ok(said("seen"))
    });
    let desk = Desk::over(MemoryDisk::new(), [look.parallel().ruled(Rule::Read)]);
    desk.dispatch.tool_input(piece("r", "look", 0, "{}", true));
    others().await;
    assert_eq!(desk.dispatch.session(None).seen(&key()), None);
    desk.call_with(streamed("r", "look")).await;
    assert_eq!(desk.dispatch.session(None).seen(&key()).as_deref(), Some("hash"));
}

#[tokio::test]
async fn a_session_that_begins_anew_and_a_turn_that_ends_leave_no_streams() {
    use crate::sessions::requests::SessionRequest;
    let log = Log::default();
    let desk = desk(&log);
    let asked = |method: &str, more: Value| {
        let mut params = json!({ "sessionId": "s" });
        for (key, value) in more.as_object().unwrap() {
            params[key] = value.clone();
        }
        match method {
            "close" => SessionRequest::Close(serde_json::from_value(params).unwrap()),
            "reset" => SessionRequest::Reset(serde_json::from_value(params).unwrap()),
            _ => SessionRequest::EndTurn(serde_json::from_value(params).unwrap()),
        }
    };
    let of = |delta: &str, done: bool| ToolInputParams {
        session_id: Some("s".into()),
        turn_id: Some("t1".into()),
        ..piece("c", "change", 0, delta, done)
    };
    let call = || CallParams { session_id: Some("s".into()), ..streamed("c", "change") };
    for method in ["close", "reset"] {
        desk.dispatch.tool_input(of("{\"word\": \"old", false));
        desk.dispatch.ask_session(asked(method, json!({}))).await.unwrap();
        // The same script again, word for word.
        desk.dispatch.tool_input(of("{\"word\": \"new\"}", true));
        assert_eq!(desk.call_with(call()).await.status, Status::Ok, "{method}");
        assert_eq!(taken(&log), ["change {\"word\":\"new\"}"], "{method}");
    }
    desk.dispatch.tool_input(of("{\"word\": \"old", false));
    desk.dispatch.ask_session(asked("endTurn", json!({ "turnId": "t2" }))).await.unwrap();
    assert_eq!(desk.call_with(call()).await.error.unwrap().kind, ErrorKind::Truncated);
    desk.dispatch.tool_input(of("{}", true));
    desk.dispatch.ask_session(asked("endTurn", json!({ "turnId": "t1" }))).await.unwrap();
    assert_eq!(desk.call_with(call()).await.status, Status::Cancelled);
    assert_eq!(taken(&log), Vec::<String>::new());
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(200))]
    #[test]
    fn nothing_invented_reaches_what_changes_something_whichever_way_it_comes(
        text in "[{}\\[\\]\",:\\\\ a]{0,12}|\\{\"word\": \"[a\\\\\"}]{0,5}",
        cut in 0..40_usize,
    ) {
        let log = Log::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let desk = desk(&log);
            let strict = serde_json::from_str::<Value>(&text).ok();
            let at = text.char_indices().map(|(at, _)| at).nth(cut).unwrap_or(text.len());
            desk.dispatch.tool_input(piece("c", "change", 0, &text[..at], false));
            desk.dispatch.tool_input(piece("c", "change", 0, &text[at..], true));
            let preview = desk.dispatch.preview(params("change", json!(text))).await;
            let streamed = desk.call_with(streamed("c", "change")).await;
            let whole = desk.call("change", json!(text)).await;
            assert_eq!(streamed.status, whole.status, "{text:?}");
            let ran = taken(&log);
            // Whichever way it comes, it runs with the same arguments or not at all.
            assert!(ran.is_empty() || ran.len() == 2 && ran[0] == ran[1], "{text:?} {ran:?}");
            assert_eq!(preview.valid, !ran.is_empty(), "{text:?} {:?}", preview.problems);
            if preview.synthesized {
                assert!(ran.is_empty(), "{text:?} {ran:?}");
            }
            if let Some(Value::Object(fields)) = strict
                && fields.get("word").is_some_and(Value::is_string)
            {
                assert_eq!(ran[0], format!("change {}", Value::Object(fields)), "{text:?}");
            }
        });
    }
}
