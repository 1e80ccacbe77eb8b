//! Everything at once: many calls in many sessions with cancels, closes and typing in between; long batches; and the same
//! script again and again.

use serde_json::{Value, json};

use crate::editor::{FakeEditor, Manner};
use crate::real::{URI, editor_with_notes};

/// Pseudo-random numbers, the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

fn call(session: u64, dice: &mut Dice) -> Value {
    let (name, arguments) = match dice.below(6) {
        0 | 1 => ("read", json!({ "file_path": "notes.txt" })),
        2 => ("todowrite", json!({ "todos": [{ "content": "work", "status": "pending" }] })),
        3 => ("read", json!({ "file_path": "/elsewhere/plan.txt" })),
        4 => ("output", json!({ "id": "o1" })),
        _ => ("tool_search", json!({ "query": "read" })),
    };
    json!({ "sessionId": format!("s{session}"), "turnId": format!("t{}", dice.below(3)), "name": name, "arguments": arguments })
}

/// Answers what is asked, until a request is answered.
async fn serve(editor: &mut FakeEditor, id: i64, dice: &mut Dice) -> Value {
    loop {
        let message = editor
            .next_where(|message| {
                message["id"] == id && message.get("method").is_none() || message["method"] == "ropewalk/approve"
            })
            .await
            .unwrap_or_else(|| panic!("no answer to {id}"));
        if message.get("method").is_none() {
            return message["result"].clone();
        }
        let asked = message["params"]["calls"].as_array().unwrap().clone();
        let mut decisions = Vec::new();
        for call in asked {
            let word = ["once", "session", "deny", "always"][usize::try_from(dice.below(4)).unwrap()];
            decisions.push(json!({ "callId": call["callId"], "decision": word }));
            // Twice, and for another call.
            decisions.push(json!({ "callId": call["callId"], "decision": word }));
            decisions.push(json!({ "callId": "nobody", "decision": "always" }));
        }
        let answer = json!({ "decisions": decisions });
        editor.respond(&message["id"], answer.clone());
        // A second answer is nobody's.
        editor.respond(&message["id"], answer);
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_calls_in_fifty_sessions_each_end_once_whatever_happens_around_them() {
    for seed in 0..3 {
        let mut dice = Dice(seed);
        let (mut editor, disk) = editor_with_notes().await;
        disk.put("/elsewhere/plan.txt", "a plan\n");
        let (mut calls, mut others) = (Vec::new(), Vec::new());
        for number in 0..1000 {
            let session = dice.below(50);
            let params = call(session, &mut dice);
            calls.push(editor.request("ropewalk/callTool", params));
            let session = format!("s{}", dice.below(50));
            match dice.below(12) {
                0 => editor.notify("$/cancelRequest", json!({ "id": calls[usize::try_from(number / 2).unwrap()] })),
                1 => others.push(editor.request("ropewalk/closeSession", json!({ "sessionId": session }))),
                2 => others.push(editor.request("ropewalk/resetSession", json!({ "sessionId": session }))),
                3 => others.push(editor.request("ropewalk/setMode", json!({ "sessionId": session, "mode": "review" }))),
                4 => others.push(editor.request("ropewalk/cancel", json!({ "sessionId": session, "turnId": "t1" }))),
                5 => others.push(editor.request("ropewalk/grants", json!({ "sessionId": session, "revokeAll": true }))),
                6 => others.push(editor.request("ropewalk/endTurn", json!({ "sessionId": session, "turnId": "t1" }))),
                7 => editor.splice(URI, 0..0, "x"),
                _ => {}
            }
        }
        let mut ends = std::collections::BTreeMap::<String, usize>::new();
        for id in calls {
            let result = serve(&mut editor, id, &mut dice).await;
            *ends.entry(result["status"].as_str().unwrap_or("none").to_owned()).or_default() += 1;
        }
        for id in others {
            serve(&mut editor, id, &mut dice).await;
        }
        assert_eq!(ends.values().sum::<usize>(), 1000);
        assert!(ends["ok"] > 100 && ends["cancelled"] > 10 && !ends.contains_key("none"), "{ends:?}");
        let settle = editor.request("ropewalk/settle", json!({ "deadlineMs": 60_000 }));
        let settled = serve(&mut editor, settle, &mut dice).await;
        assert_eq!(settled["settled"], true, "{settled}");
        // Nobody waits for a person any more.
        let mut waiting = std::collections::BTreeMap::new();
        while let Some(told) = editor.stashed(|message| message["method"] == "ropewalk/approvalsChanged") {
            waiting.insert(told["params"]["sessionId"].to_string(), told["params"]["waiting"].clone());
        }
        assert!(waiting.values().all(|waiting| *waiting == 0), "{waiting:?}");
        editor.accept_rest();
        assert_eq!(editor.leave().await, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn two_hundred_edits_of_which_each_depends_on_the_one_before_it() {
    let (mut editor, _) = editor_with_notes().await;
    let word = |number: usize| if number == 0 { "one!".to_owned() } else { format!("<{number}>") };
    let calls: Vec<Value> = (0..200)
        .map(|number| {
            let arguments =
                json!({ "file_path": "notes.txt", "old_string": word(number), "new_string": word(number + 1) });
            json!({ "name": "edit", "arguments": arguments })
        })
        .collect();
    let id = editor.request("ropewalk/callTools", json!({ "turnId": "t", "calls": calls }));
    for _ in 0..200 {
        editor.serve_edit(Manner::Apply).await;
    }
    let results = editor.result(id).await["results"].clone();
    let results = results.as_array().unwrap();
    assert!(results.iter().all(|result| result["status"] == "ok"), "{results:?}");
    let later = results.iter().filter(|result| result["diagnostics"]["documents"][0]["reportIn"] == "c200").count();
    assert_eq!((later, editor.buffers[URI].text.as_str()), (199, "<200>\ntwo\n"));
    editor.accept_rest();
    assert_eq!(editor.leave().await, 0);
}
