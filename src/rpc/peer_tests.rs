//! A peer against a hand-driven other side.

use super::*;
use crate::ports::SystemClock;
use tokio::io::{DuplexStream, duplex, split};

const LONG: Duration = Duration::from_mins(10);

/// Writes down what it gets and answers `echo`.
#[derive(Clone, Default)]
struct Scribe(Arc<Mutex<Vec<String>>>, Arc<tokio::sync::Notify>);

impl Scribe {
    fn note(&self, line: String) {
        self.0.lock().unwrap().push(line);
        self.1.notify_one();
    }

    async fn lines(&self, count: usize) -> Vec<String> {
        loop {
            let lines = self.0.lock().unwrap().clone();
            if lines.len() >= count {
                return lines;
            }
            self.1.notified().await;
        }
    }
}

impl Handler for Scribe {
    fn request(&self, method: &str, params: Value) -> Result<Value, Fault> {
        if method == "echo" { Ok(params) } else { Err(Fault::unknown(method)) }
    }

    fn notification(&self, method: &str, params: Value) {
        self.note(format!("{method} {params}"));
    }

    fn closed(&self, why: &str) {
        self.note(format!("closed: {why}"));
    }
}

/// The other side of the pipe, message by message.
struct Other {
    pipe: DuplexStream,
    decoder: Decoder,
}

impl Other {
    async fn send(&mut self, message: Value) {
        self.pipe.write_all(&encode(message.to_string().as_bytes())).await.unwrap();
    }

    async fn next(&mut self) -> Value {
        let mut buffer = [0; 512];
        loop {
            if let Some(frame) = self.decoder.next_frame().unwrap() {
                return serde_json::from_slice(&frame).unwrap();
            }
            let count = self.pipe.read(&mut buffer).await.unwrap();
            assert!(count > 0, "the peer closed the pipe");
            self.decoder.push(&buffer[..count]);
        }
    }
}

fn connected() -> (Peer, Scribe, Other) {
    let (ours, theirs) = duplex(1024);
    let (reader, writer) = split(ours);
    let scribe = Scribe::default();
    let handler = scribe.clone();
    let peer = Peer::start(reader, writer, Arc::new(SystemClock), |_| handler);
    (peer, scribe, Other { pipe: theirs, decoder: Decoder::new() })
}

#[tokio::test(start_paused = true)]
async fn requests_are_answered_in_any_order() {
    let (peer, _, mut other) = connected();
    let one = peer.request("one", json!({}), LONG);
    let two = peer.request("two", json!([1]), LONG);
    peer.notify("three", Value::Null);
    let (first, second) = (other.next().await, other.next().await);
    assert_eq!(first, json!({ "jsonrpc": "2.0", "id": 1, "method": "one", "params": {} }));
    assert_eq!(second["method"], "two");
    assert_eq!(other.next().await, json!({ "jsonrpc": "2.0", "method": "three" }));
    other.send(json!({ "jsonrpc": "2.0", "id": second["id"], "result": 2 })).await;
    let error = json!({ "code": -32801, "message": "content modified" });
    other.send(json!({ "jsonrpc": "2.0", "id": first["id"], "error": error })).await;
    assert_eq!(two.await, Ok(json!(2)));
    let Err(CallError::Fault(fault)) = one.await else { panic!("no fault") };
    assert_eq!((fault.code, fault.message.as_str()), (code::CONTENT_MODIFIED, "content modified"));
}

#[tokio::test(start_paused = true)]
async fn every_request_of_the_other_side_is_answered() {
    let (_peer, scribe, mut other) = connected();
    other.send(json!({ "jsonrpc": "2.0", "id": "a", "method": "echo", "params": [7] })).await;
    other.send(json!({ "jsonrpc": "2.0", "id": 0, "method": "what" })).await;
    other.send(json!({ "jsonrpc": "2.0", "method": "news", "params": {} })).await;
    assert_eq!(other.next().await, json!({ "jsonrpc": "2.0", "id": "a", "result": [7] }));
    assert_eq!(other.next().await["error"]["code"], code::METHOD_NOT_FOUND);
    assert_eq!(scribe.lines(1).await, ["news {}"]);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_and_a_dropped_future_cancel_the_request() {
    let (peer, _, mut other) = connected();
    assert_eq!(peer.request("slow", Value::Null, Duration::from_millis(5)).await, Err(CallError::Timeout));
    drop(peer.request("dropped", Value::Null, LONG));
    let mut seen = Vec::new();
    for _ in 0..4 {
        let message = other.next().await;
        seen.push(format!("{} {}", message["method"].as_str().unwrap(), message["params"]));
    }
    assert_eq!(seen, ["slow null", "$/cancelRequest {\"id\":1}", "dropped null", "$/cancelRequest {\"id\":2}"]);
    // The late answer is nobody's any more.
    other.send(json!({ "jsonrpc": "2.0", "id": 1, "result": null })).await;
    other.send(json!({ "jsonrpc": "2.0", "id": 9, "method": "echo", "params": 1 })).await;
    assert_eq!(other.next().await["id"], 9);
}

#[tokio::test(start_paused = true)]
async fn when_the_other_side_dies_everything_ends() {
    let (peer, scribe, mut other) = connected();
    let waiting = peer.request("never", Value::Null, LONG);
    assert_eq!(other.next().await["method"], "never");
    drop(other);
    assert_eq!(waiting.await, Err(CallError::Closed));
    assert_eq!(scribe.lines(1).await, ["closed: the other side closed its output"]);
    assert_eq!(peer.request("later", Value::Null, LONG).await, Err(CallError::Closed));
}

#[tokio::test(start_paused = true)]
async fn broken_framing_ends_the_connection_and_broken_json_does_not() {
    let (peer, scribe, mut other) = connected();
    other.pipe.write_all(&encode(b"{ not json")).await.unwrap();
    other.send(json!({ "jsonrpc": "2.0", "method": "still here", "params": 1 })).await;
    assert_eq!(scribe.lines(1).await, ["still here 1"]);
    other.pipe.write_all(b"Content-Length: oops\r\n\r\n").await.unwrap();
    assert_eq!(scribe.lines(2).await[1], "closed: `oops` is not a frame length");
    assert!(peer.is_closed());
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_read_is_given_up_and_blocks_nobody() {
    let (peer, scribe, _other) = connected();
    let text = "x".repeat(8 * 1024 * 1024);
    for _ in 0..9 {
        peer.notify("text", json!(text));
    }
    assert!(peer.is_closed());
    assert_eq!(scribe.lines(1).await, ["closed: the other side does not read what it is sent"]);
}
