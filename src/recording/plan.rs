//! In which order frames may come: what has to have come before the next one is sent, and which recorded frame one that
//! came has to be. Pure.
//!
//! Frames of one lane (a call, a document, a kind of news) come in the order in which they were recorded; those of several
//! lanes come as they like. What was recorded before a frame of the editor's comes before that is sent.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::compare::{Terms, Unequal, unequal};
use super::line::{Content, Dir, Frame};
use crate::sessions::DEFAULT_SESSION;

/// A frame of the sidecar's that is expected.
#[derive(Debug)]
struct Expected {
    /// Where it is among the frames.
    at: usize,
    lane: String,
    /// Whether it is an answer, and to which id.
    answers: Option<String>,
    came: bool,
}

/// What can be done next.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// Send this frame of the editor's (its place among the frames).
    Send(usize),
    /// Wait for the sidecar, for this frame at least.
    Wait(usize),
    /// Nothing is left.
    Done,
}

/// What is wrong with a frame that came.
#[derive(Debug, PartialEq)]
pub(super) struct Wrong {
    /// The recorded frame that it is compared with (its place among the frames); none: all have come.
    pub at: Option<usize>,
    /// What is wrong, in words.
    pub why: &'static str,
    /// Where they differ.
    pub unequal: Option<Box<Unequal>>,
}

/// A conversation under way.
pub(super) struct Plan<'a> {
    frames: &'a [Frame],
    terms: Terms,
    expected: Vec<Expected>,
    /// The next frame of the editor's that was not sent.
    next: usize,
    /// The sidecar's questions: their ids then, and now.
    ids: HashMap<String, Value>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(frames: &'a [Frame], terms: Terms) -> Plan<'a> {
        // The sessions of calls, by the ids of their requests.
        let mut sessions: BTreeMap<String, String> = BTreeMap::new();
        let mut expected = Vec::new();
        for (at, frame) in frames.iter().enumerate() {
            let Content::Message(message) = &frame.content else { continue };
            match frame.dir {
                Dir::In if message.get("method").is_some() => {
                    if let Some(id) = message.get("id") {
                        let session = message["params"]["sessionId"].as_str().unwrap_or(DEFAULT_SESSION);
                        sessions.insert(id.to_string(), session.to_owned());
                    }
                }
                Dir::In => {}
                Dir::Out => {
                    let answers = message.get("method").is_none().then(|| message["id"].to_string());
                    let session = answers.as_ref().and_then(|id| sessions.get(id)).map(String::as_str);
                    expected.push(Expected { at, lane: lane(message, session), answers, came: false });
                }
            }
        }
        Plan { frames, terms, expected, next: 0, ids: HashMap::new() }
    }

    /// What can be done next.
    pub(super) fn next(&mut self) -> Next {
        let waited = self.expected.iter().find(|expected| !expected.came).map(|expected| expected.at);
        let unsent = |frame: &Frame| frame.dir == Dir::In;
        let send = self.frames.iter().enumerate().skip(self.next).find(|(_, frame)| unsent(frame)).map(|(at, _)| at);
        match (send, waited) {
            (Some(send), Some(wait)) if wait < send => Next::Wait(wait),
            (Some(send), _) => {
                self.next = send + 1;
                Next::Send(send)
            }
            (None, Some(wait)) => Next::Wait(wait),
            (None, None) => Next::Done,
        }
    }

    /// Whether all frames of the editor's were sent.
    pub(super) fn all_sent(&self) -> bool {
        self.frames.iter().skip(self.next).all(|frame| frame.dir == Dir::Out)
    }

    /// How many of the sidecar's frames have come.
    pub(super) fn came(&self) -> usize {
        self.expected.iter().filter(|expected| expected.came).count()
    }

    /// A message of the editor's, as it has to be now: an answer has the id that the question has now.
    pub(super) fn now(&self, message: &Value) -> Value {
        let mut now = message.clone();
        if message.get("method").is_none()
            && let Some(id) = message.get("id").and_then(|id| self.ids.get(&id.to_string()))
        {
            now["id"] = id.clone();
        }
        // Whoever it was that started the sidecar then is nobody to watch now.
        if message["method"] == "initialize" && message["params"].get("processId").is_some() {
            now["params"]["processId"] = Value::Null;
        }
        now
    }

    /// Takes a message of the sidecar's.
    pub(super) fn take(&mut self, message: &Value) -> Result<(), Wrong> {
        let message = &self.then(message);
        let answers = message.get("method").is_none().then(|| message["id"].to_string());
        let open = |expected: &&Expected| !expected.came;
        let found = if let Some(id) = &answers {
            self.expected.iter().filter(open).find(|expected| expected.answers.as_ref() == Some(id))
        } else {
            let lane = lane(message, None);
            let told = |expected: &&Expected| expected.answers.is_none() && expected.lane == lane;
            self.expected.iter().filter(open).find(told)
        };
        let Some(found) = found else { return Err(self.unexpected(message, answers.is_some())) };
        let recorded = self.message(found.at);
        if let Some(unequal) = recorded.and_then(|recorded| unequal(recorded, message, self.terms)) {
            return Err(Wrong {
                at: Some(found.at),
                why: "it is not what was recorded",
                unequal: Some(Box::new(unequal)),
            });
        }
        let before = |other: &&Expected| other.at < found.at && other.lane == found.lane;
        if let Some(before) = self.expected.iter().filter(open).find(before) {
            return Err(Wrong { at: Some(before.at), why: "what was recorded after it came before it", unequal: None });
        }
        let at = found.at;
        if let Some(recorded) = self.message(at)
            && let (None, Some(id), Some(now)) = (&answers, recorded.get("id"), message.get("id"))
        {
            self.ids.insert(id.to_string(), now.clone());
        }
        self.expected.iter_mut().filter(|expected| expected.at == at).for_each(|expected| expected.came = true);
        Ok(())
    }

    fn message(&self, at: usize) -> Option<&'a Value> {
        match &self.frames[at].content {
            Content::Message(message) => Some(message),
            _ => None,
        }
    }

    /// A message of the sidecar's with the ids that its questions had then, where it names one.
    fn then(&self, message: &Value) -> Value {
        let mut then = message.clone();
        if message["method"] == "$/cancelRequest" {
            let now = &message["params"]["id"];
            let id = self.ids.iter().find(|(_, id)| *id == now).and_then(|(id, _)| serde_json::from_str(id).ok());
            if let Some(id) = id {
                then["params"]["id"] = id;
            }
        }
        then
    }

    /// What is wrong with a message that nobody waits for: it is compared with what it is most likely instead of.
    fn unexpected(&self, message: &Value, answer: bool) -> Wrong {
        let open = || self.expected.iter().filter(|expected| !expected.came);
        let alike = open().find(|expected| {
            let recorded = self.message(expected.at);
            expected.answers.is_some() == answer
                && recorded.is_some_and(|recorded| recorded.get("method") == message.get("method"))
        });
        let found = alike.or_else(|| open().next());
        let unequal =
            found.and_then(|found| self.message(found.at)).and_then(|recorded| unequal(recorded, message, self.terms));
        Wrong { at: found.map(|found| found.at), why: "nothing like it was recorded", unequal: unequal.map(Box::new) }
    }
}

/// The lane of a message of the sidecar's. `session`: that of the request which it answers.
fn lane(message: &Value, session: Option<&str>) -> String {
    let Some(method) = message.get("method").and_then(Value::as_str) else {
        let call = message["result"]["callId"].as_str();
        return match call {
            Some(call) => format!("call {} {call}", session.unwrap_or(DEFAULT_SESSION)),
            None => format!("answer {}", message["id"]),
        };
    };
    let params = &message["params"];
    if method == "ropewalk/toolEvent" {
        let (session, call) = (params["sessionId"].as_str(), params["callId"].as_str());
        return format!("call {} {}", session.unwrap_or(DEFAULT_SESSION), call.unwrap_or_default());
    }
    let of = [
        "/uri",
        "/textDocument/uri",
        "/changes/0/uri",
        "/edit/documentChanges/0/textDocument/uri",
        "/callId",
        "/sessionId",
        "/token",
        "/id",
    ];
    let of = of.into_iter().find_map(|pointer| params.pointer(pointer)).map(Value::to_string);
    format!("{method} {}", of.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn frames(messages: Vec<(Dir, Value)>) -> Vec<Frame> {
        (1..)
            .zip(messages)
            .map(|(n, (dir, message))| Frame { n, dir, ms: 0, content: Content::Message(message) })
            .collect()
    }

    fn call(id: i64) -> (Dir, Value) {
        (Dir::In, json!({ "id": id, "method": "ropewalk/callTool", "params": {} }))
    }

    fn result(id: i64, call: &str) -> Value {
        json!({ "id": id, "result": { "callId": call } })
    }

    fn event(call: &str, kind: &str) -> Value {
        let params = json!({ "sessionId": "default", "callId": call, "kind": kind });
        json!({ "method": "ropewalk/toolEvent", "params": params })
    }

    #[test]
    fn what_was_recorded_before_is_waited_for() {
        let frames = frames(vec![call(1), call(2), (Dir::Out, result(1, "c1")), call(3), (Dir::Out, result(2, "c2"))]);
        let mut plan = Plan::new(&frames, Terms { redacted: false });
        assert_eq!([plan.next(), plan.next(), plan.next()], [Next::Send(0), Next::Send(1), Next::Wait(2)]);
        // Calls that run side by side end as they like.
        assert_eq!(plan.take(&result(2, "c2")), Ok(()));
        assert_eq!(plan.next(), Next::Wait(2));
        assert_eq!(plan.take(&result(1, "c1")), Ok(()));
        assert_eq!([plan.next(), plan.next()], [Next::Send(3), Next::Done]);
    }

    #[test]
    fn what_belongs_together_keeps_its_order() {
        let start = (Dir::Out, event("c1", "start"));
        let frames = frames(vec![call(1), start, (Dir::Out, event("c1", "complete")), (Dir::Out, result(1, "c1"))]);
        let mut plan = Plan::new(&frames, Terms { redacted: false });
        let wrong = plan.take(&event("c1", "complete")).unwrap_err();
        assert_eq!((wrong.at, wrong.unequal.unwrap().pointer.as_str()), (Some(1), "/params/kind"));
        let wrong = plan.take(&result(1, "c1")).unwrap_err();
        assert_eq!((wrong.at, wrong.why), (Some(1), "what was recorded after it came before it"));
        for message in [event("c1", "start"), event("c1", "complete"), result(1, "c1")] {
            assert_eq!(plan.take(&message), Ok(()));
        }
        let wrong = plan.take(&event("c1", "complete")).unwrap_err();
        assert_eq!((wrong.at, wrong.why), (None, "nothing like it was recorded"));
    }

    #[test]
    fn questions_have_new_numbers() {
        let ask = |id: i64, uri: &str| json!({ "id": id, "method": "ropewalk/resync", "params": { "uri": uri } });
        let taken_back = |id: i64| json!({ "method": "$/cancelRequest", "params": { "id": id } });
        let frames = frames(vec![
            (Dir::Out, ask(1, "a")),
            (Dir::Out, ask(2, "b")),
            (Dir::In, json!({ "id": 2, "result": 0 })),
            (Dir::Out, taken_back(1)),
        ]);
        let mut plan = Plan::new(&frames, Terms { redacted: false });
        assert_eq!(plan.take(&ask(1, "b")), Ok(()));
        assert_eq!(plan.take(&ask(2, "a")), Ok(()));
        assert_eq!(plan.next(), Next::Send(2));
        assert_eq!(plan.now(&json!({ "id": 2, "result": 0 })), json!({ "id": 1, "result": 0 }));
        assert_eq!(plan.take(&taken_back(2)), Ok(()));
    }
}
