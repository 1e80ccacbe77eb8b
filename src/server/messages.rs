//! The body of a message as what it is: a call, an answer, or a fault that still says what was lost. Pure.

use std::ops::Range;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use tower_lsp::jsonrpc::{Error, ErrorCode, Id, Request, Response};

use super::outline::{Field, Outline};

/// What came in.
#[derive(Debug, Clone)]
pub(super) enum Message {
    /// A request or a notification.
    Call(Request, Reading),
    /// The answer to a question of ours.
    Answer(Response, Reading),
    /// Something that cannot be read.
    Fault(Fault),
}

/// Whether a message was read as what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// It was.
    Exact,
    /// Halves of surrogate pairs are in it, which no text of ours can hold; U+FFFD stands for each.
    Mended,
}

/// Something that cannot be read, and what could be made out of it.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    /// What is wrong, for the log and for whoever sent it.
    pub why: String,
    outline: Outline,
}

/// Text synchronisation that is lost, or may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LostSync {
    /// The method, if it is sure.
    pub method: Option<String>,
    /// The document, if it is sure.
    pub uri: Option<String>,
}

/// Which question of ours a fault may have been the answer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Question {
    /// None: it is no answer.
    None,
    /// The one with this id.
    This(Id),
    /// The one with this id, if it is an answer at all.
    Perhaps(Id),
    /// Any.
    Any,
}

/// The notifications that carry a text. Without one of them the mirror is wrong.
const SYNC: [&str; 3] = ["textDocument/didOpen", "textDocument/didChange", "textDocument/didClose"];

impl Fault {
    /// Bytes that are no message at all.
    pub(super) fn bytes(why: String) -> Fault {
        Fault { why, outline: Outline::default() }
    }

    /// What goes back to whoever sent it; nothing to an answer, nor to what is surely a notification.
    pub(super) fn answer(&self) -> Option<Response> {
        let Outline { sound, object, id, method, .. } = &self.outline;
        let notification = *sound && *object && *method != Field::Absent && *id == Field::Absent;
        if self.is_answer() || notification {
            return None;
        }
        let error = Error { code: self.code(), message: self.why.clone().into(), data: None };
        Some(Response::from_error(id.one().cloned().unwrap_or_default(), error))
    }

    /// The text synchronisation that was lost with it, or may have been.
    pub(super) fn sync(&self) -> Option<LostSync> {
        let Outline { sound, object, method, uri, .. } = &self.outline;
        let possible = match method {
            Field::One(method) => SYNC.contains(&method.as_str()),
            Field::Unclear => true,
            Field::Absent => !(self.is_answer() || *sound && *object),
        };
        possible.then(|| LostSync { method: method.one().cloned(), uri: uri.one().cloned() })
    }

    /// The question of ours that it may have answered.
    pub(super) fn question(&self) -> Question {
        let Outline { id, method, .. } = &self.outline;
        match (method, id) {
            (Field::One(_) | Field::Unclear, _) => Question::None,
            (Field::Absent, Field::One(id @ (Id::Number(_) | Id::String(_)))) if self.is_answer() => {
                Question::This(id.clone())
            }
            (Field::Absent, Field::One(id @ (Id::Number(_) | Id::String(_)))) => Question::Perhaps(id.clone()),
            (Field::Absent, _) => Question::Any,
        }
    }

    fn is_answer(&self) -> bool {
        self.outline.method == Field::Absent && self.outline.answers
    }

    fn code(&self) -> ErrorCode {
        let Outline { sound, utf8, method, .. } = &self.outline;
        if !sound || !utf8 {
            return ErrorCode::ParseError;
        }
        let valid = self.outline.is_sound();
        match method {
            Field::One(method) if valid && method.is_empty() => ErrorCode::MethodNotFound,
            Field::One(_) if valid => ErrorCode::InvalidParams,
            _ => ErrorCode::InvalidRequest,
        }
    }
}

/// Reads a body.
pub(super) fn read(body: &[u8]) -> Message {
    let fault = match whole(body, Reading::Exact) {
        Ok(message) => return message,
        Err(fault) => fault,
    };
    if let Some(message) = mend_surrogates(body).and_then(|mended| whole(&mended, Reading::Mended).ok()) {
        return message;
    }
    let outline = Outline::of(body);
    // These have a meaning that needs no params, and nobody can do without it.
    if outline.is_sound()
        && let Some(method @ ("shutdown" | "exit" | "initialized")) = outline.method.one().map(String::as_str)
    {
        let bare = Request::build(method.to_owned());
        match &outline.id {
            Field::One(id) => return Message::Call(bare.id(id.clone()).finish(), Reading::Exact),
            Field::Absent => return Message::Call(bare.finish(), Reading::Exact),
            Field::Unclear => {}
        }
    }
    Message::Fault(Fault { why: why(&fault, &outline, body), outline })
}

fn why(fault: &str, outline: &Outline, body: &[u8]) -> String {
    match outline {
        Outline { utf8: false, .. } => "the message is not UTF-8".to_owned(),
        Outline { sound: false, .. } => format!("the message is not JSON: {fault}"),
        Outline { object: false, .. } if body.trim_ascii_start().starts_with(b"[") => {
            "a batch: send its messages one by one".to_owned()
        }
        Outline { method: Field::One(method), .. } if method.is_empty() => "the method has no name".to_owned(),
        _ => format!("the message cannot be read: {fault}"),
    }
}

/// Which fields are there, whatever they hold.
#[derive(Deserialize)]
struct Ends {
    #[serde(default, deserialize_with = "there")]
    method: bool,
    #[serde(default)]
    result: Option<IgnoredAny>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

fn there<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| true)
}

/// A message that can be read as a whole; else what is wrong with it.
fn whole(body: &[u8], reading: Reading) -> Result<Message, String> {
    let fault = |fault: serde_json::Error| fault.to_string();
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err("it is not an object".to_owned());
    }
    let ends: Ends = serde_json::from_slice(body).map_err(fault)?;
    if ends.method {
        let call: Request = serde_json::from_slice(body).map_err(fault)?;
        if call.method().is_empty() {
            return Err("it has no method".to_owned());
        }
        return Ok(Message::Call(call, reading));
    }
    match serde_json::from_slice::<Response>(body) {
        Ok(answer) => Ok(Message::Answer(answer, reading)),
        // Some clients leave the result of an answer out when it is null.
        Err(_) if ends.result.is_none() && ends.error.is_none() => {
            let bare: Request = serde_json::from_slice(body).map_err(fault)?;
            let id = bare.id().cloned().ok_or("it has neither a method nor an id")?;
            Ok(Message::Answer(Response::from_ok(id, Value::Null), reading))
        }
        Err(why) => Err(why.to_string()),
    }
}

/// Editors whose strings are UTF-16 can send half of a surrogate pair as an escape, for instance between two keystrokes
/// that make an emoji. No UTF-8 text has it. U+FFFD takes its place: one UTF-16 unit too, so that UTF-16 positions still
/// agree. A text that came so is not the editor's, and whoever keeps one must know: see [`Reading::Mended`].
fn mend_surrogates(body: &[u8]) -> Option<Vec<u8>> {
    let mut mended = body.to_vec();
    let mut changed = false;
    let mut at = 0;
    while at < mended.len() {
        if mended[at] != b'\\' {
            at += 1;
            continue;
        }
        match (surrogate(&mended, at), surrogate(&mended, at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => at += 12,
            (Some(_), _) => {
                mended[replaced(at)].copy_from_slice(b"fffd");
                changed = true;
                at += 6;
            }
            (None, _) => at += 2,
        }
    }
    changed.then_some(mended)
}

fn replaced(at: usize) -> Range<usize> {
    at + 2..at + 6
}

/// The surrogate that the escape at this place means, if it is one.
fn surrogate(body: &[u8], at: usize) -> Option<u16> {
    let escape = body.get(at..at + 6)?;
    let digits = std::str::from_utf8(escape.strip_prefix(b"\\u")?).ok()?;
    u16::from_str_radix(digits, 16).ok().filter(|unit| (0xD800..=0xDFFF).contains(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call or an answer as JSON.
    fn good(body: &str) -> String {
        match read(body.as_bytes()) {
            Message::Call(call, reading) => told(serde_json::to_string(&call).unwrap(), reading),
            Message::Answer(answer, reading) => {
                format!("answer {}", told(serde_json::to_string(&answer).unwrap(), reading))
            }
            Message::Fault(fault) => format!("fault: {}", fault.why),
        }
    }

    fn told(message: String, reading: Reading) -> String {
        match reading {
            Reading::Exact => message,
            Reading::Mended => format!("mended {message}"),
        }
    }

    /// What is answered, what may be lost, and which question it may have answered.
    fn bad(body: &[u8]) -> String {
        let Message::Fault(fault) = read(body) else { panic!("no fault: {}", String::from_utf8_lossy(body)) };
        let answer = fault.answer().map_or("silence".to_owned(), |answer| {
            let answer = serde_json::to_value(&answer).unwrap();
            format!("{} to {}", answer["error"]["code"], answer["id"])
        });
        let lost = fault.sync().map_or("nothing lost".to_owned(), |lost| {
            let method = lost.method.as_deref().and_then(|method| method.strip_prefix("textDocument/"));
            format!("lost {} of {}", method.unwrap_or("?"), lost.uri.as_deref().unwrap_or("all"))
        });
        format!("{answer}, {lost}, {:?}", fault.question())
    }

    #[test]
    fn whole_messages() {
        for (body, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, r#"{"jsonrpc":"2.0","method":"ping","id":1}"#),
            (r#"{"jsonrpc":"2.0","method":"m","params":null}"#, r#"{"jsonrpc":"2.0","method":"m","params":null}"#),
            // A method makes it a call, whatever else it has.
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","result":null}"#, r#"{"jsonrpc":"2.0","method":"m","id":1}"#),
            (r#"{"jsonrpc":"2.0","id":7,"result":[3]}"#, r#"answer {"jsonrpc":"2.0","result":[3],"id":7}"#),
            (r#"{"jsonrpc":"2.0","id":7}"#, r#"answer {"jsonrpc":"2.0","result":null,"id":7}"#),
            (r#"{"jsonrpc":"2.0","id":7,"error":null}"#, r#"answer {"jsonrpc":"2.0","result":null,"id":7}"#),
            (
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#,
                r#"answer {"jsonrpc":"2.0","error":{"code":-32700,"message":"?"},"id":null}"#,
            ),
            // The end comes whatever its params are; but it must be meant.
            (
                r#"{"jsonrpc":"1.0","method":"exit"}"#,
                "fault: the message cannot be read: expected JSON-RPC version \"2.0\" at line 1 column 16",
            ),
            (r#"{"jsonrpc":"2.0","method":"exit","params":[1e999]}"#, r#"{"jsonrpc":"2.0","method":"exit"}"#),
            (
                r#"{"jsonrpc":"2.0","id":4,"method":"shutdown","params":[1e999]}"#,
                r#"{"jsonrpc":"2.0","method":"shutdown","id":4}"#,
            ),
        ] {
            assert_eq!(good(body), expected, "{body}");
        }
    }

    #[test]
    fn nothing_is_too_deep_but_what_is() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let request = |params: &str| format!(r#"{{"jsonrpc":"2.0","method":"m","params":{params},"id":"a"}}"#);
        let brackets = format!("[\"{}\\\"{}\"]", "[".repeat(500), "{".repeat(500));
        for params in [deep(100), brackets] {
            assert_eq!(good(&request(&params)), request(&params));
        }
        assert_eq!(bad(request(&deep(200)).as_bytes()), "-32602 to \"a\", nothing lost, None");
    }

    #[test]
    fn half_a_surrogate_pair_keeps_its_width_and_is_told() {
        for (sent, read, mended) in [
            (r"\ud83d", "\u{fffd}", true),
            (r"\ude00x", "\u{fffd}x", true),
            (r"\ud83d\ud83d\ude00", "\u{fffd}😀", true),
            (r"\ud83d\n", "\u{fffd}\\n", true),
            (r"\\ud83d \ud83d", "\\\\ud83d \u{fffd}", true),
            // These are what they are.
            (r"\ud83d\ude00", "😀", false),
            (r"\ufffd", "\u{fffd}", false),
            ("\u{fffd}", "\u{fffd}", false),
            (r"\\ud83d", r"\\ud83d", false),
        ] {
            let body = |text: &str| format!(r#"{{"jsonrpc":"2.0","method":"m","params":["{text}"]}}"#);
            let mark = if mended { "mended " } else { "" };
            assert_eq!(good(&body(sent)), format!("{mark}{}", body(read)), "{sent}");
            let answer = |text: &str| format!(r#"{{"jsonrpc":"2.0","result":"{text}","id":7}}"#);
            assert_eq!(good(&answer(sent)), format!("answer {mark}{}", answer(read)), "{sent}");
        }
    }

    #[test]
    fn a_fault_is_answered_and_says_what_may_be_lost() {
        let change =
            |params: &str| format!(r#"{{"jsonrpc":"2.0","method":"textDocument/didChange","params":{params}}}"#);
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for (body, expected) in [
            // Requests.
            (r#"{"jsonrpc":"2.0","id":903,"method":"m","params":{]}"#.to_owned(), "-32700 to 903, nothing lost, None"),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#.to_owned(), "-32600 to null, nothing lost, None"),
            (r#"{"jsonrpc":"2.0","id":[],"method":"m"}"#.to_owned(), "-32600 to null, nothing lost, None"),
            (r#"{"jsonrpc":"2.0","id":908,"method":""}"#.to_owned(), "-32601 to 908, nothing lost, None"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1e999]}"#.to_owned(), "-32602 to 1, nothing lost, None"),
            (r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#.to_owned(), "-32600 to 1, nothing lost, None"),
            (r#"{"id":1,"method":"m"}"#.to_owned(), "-32600 to 1, nothing lost, None"),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#.to_owned(), "-32600 to 1, lost ? of all, None"),
            (r#"[{"jsonrpc":"2.0","id":900,"method":"m"}]"#.to_owned(), "-32600 to null, lost ? of all, Any"),
            ("{}".to_owned(), "-32600 to null, nothing lost, Any"),
            ("{".to_owned(), "-32700 to null, lost ? of all, Any"),
            (String::new(), "-32700 to null, lost ? of all, Any"),
            (r#"{"jsonrpc":"2.0","id":3,"#.to_owned(), "-32700 to 3, lost ? of all, Perhaps(Number(3))"),
            // Notifications.
            (r#"{"jsonrpc":"2.0","method":"m","params":[1e999]}"#.to_owned(), "silence, nothing lost, None"),
            (change(&format!(r#"{{"x":{deep},"textDocument":{{"uri":"u"}}}}"#)), "silence, lost didChange of u, None"),
            (change(r#"{"textDocument":{"uri":7},"x":1e999}"#), "silence, lost didChange of all, None"),
            (change(r#"{"textDocument":{"uri":"u"}},"jsonrpc":"2.0""#), "silence, lost didChange of u, None"),
            (change(r#"{"textDocument":{"uri":"u"},]}"#), "-32700 to null, lost didChange of u, None"),
            // Answers.
            (r#"{"jsonrpc":"2.0","id":7,"result":1e999}"#.to_owned(), "silence, nothing lost, This(Number(7))"),
            (format!(r#"{{"jsonrpc":"2.0","id":7,"result":{deep}}}"#), "silence, nothing lost, This(Number(7))"),
            (r#"{"jsonrpc":"2.0","id":7,"error":"no"}"#.to_owned(), "silence, nothing lost, This(Number(7))"),
            (r#"{"jsonrpc":"2.0","id":7,"result":{]}"#.to_owned(), "silence, nothing lost, This(Number(7))"),
            (r#"{"jsonrpc":"2.0","result":{},"id":7.5}"#.to_owned(), "silence, nothing lost, Any"),
            (r#"{"jsonrpc":"2.0","result":{]},"id":7}"#.to_owned(), "silence, nothing lost, Any"),
        ] {
            assert_eq!(bad(body.as_bytes()), expected, "{body}");
        }
    }

    #[test]
    fn one_damaged_byte_leaves_the_rest_readable() {
        for (body, expected) in [
            (
                &b"{\"jsonrpc\":\"2.0\",\"id\":904,\"method\":\"m\",\"params\":\"\xff\"}"[..],
                "-32700 to 904, nothing lost, None",
            ),
            (
                b"{\"method\":\"textDocument/didChange\",\"params\":{\"textDocument\":{\"uri\":\"u\"},\"x\":\"\xff\"}}",
                "silence, lost didChange of u, None",
            ),
            (
                b"{\"method\":\"textDocument/didChange\",\"params\":{\"textDocument\":{\"uri\":\"\xff\"}}}",
                "silence, lost didChange of all, None",
            ),
            (b"{\"method\":\"textDocument/did\xff\"}", "silence, lost ? of all, None"),
            (b"{\"id\":5,\"result\":\"caf\xe9\"}", "silence, nothing lost, This(Number(5))"),
            (b"\xff\xfe", "-32700 to null, lost ? of all, Any"),
        ] {
            assert_eq!(bad(body), expected, "{}", String::from_utf8_lossy(body));
        }
    }
}
