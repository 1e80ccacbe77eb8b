//! The incoming bytes, cut into messages. Pure.
//!
//! The transport ends for good at the first message that it cannot decode. So nothing reaches it but whole messages that
//! it will accept; of the others a word goes to the log, and the next one is looked for.

use std::ops::Range;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tower_lsp::jsonrpc::{Request, Response};

/// The longest message that is accepted (bytes); a longer one is skipped.
pub(super) const MAX_BODY: usize = 512 << 20;

/// The longest header that is accepted (bytes).
const MAX_HEADER: usize = 8 << 10;

const FIELD: &[u8] = b"content-length";
const END: &[u8] = b"\r\n\r\n";

/// What came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Frame {
    /// A message that is JSON-RPC, framed anew.
    Message(Vec<u8>),
    /// Something else, and why it is not a message. Whoever sent it may wait for an answer.
    Bad(String),
}

/// Cuts a stream of bytes into messages, however they are split between reads.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    buffer: Vec<u8>,
    /// The body that is being waited for.
    body: Option<usize>,
    /// Bytes of a body that is too long, still to be thrown away.
    skip: usize,
}

impl Splitter {
    /// Takes some bytes and gives the messages that they complete.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Vec<Frame> {
        let skipped = self.skip.min(bytes.len());
        self.skip -= skipped;
        bytes = &bytes[skipped..];
        self.buffer.extend_from_slice(bytes);
        let mut frames = Vec::new();
        let mut at = 0;
        loop {
            let rest = &self.buffer[at..];
            if let Some(len) = self.body {
                if rest.len() < len {
                    break;
                }
                self.body = None;
                at += len;
                frames.push(accept(&rest[..len]));
                continue;
            }
            let Some(end) = memchr::memmem::find(rest, END) else {
                if rest.len() > MAX_HEADER {
                    frames.push(Frame::Bad(format!("{} bytes without the end of a header", rest.len())));
                    // The beginning of a header may be at the very end of what is thrown away.
                    at += rest.len() - FIELD.len();
                }
                break;
            };
            let header = &rest[..end];
            at += end + END.len();
            match content_length(header) {
                Some(len) if len > MAX_BODY => {
                    frames.push(Frame::Bad(format!("a message of {len} bytes; at most {MAX_BODY} are accepted")));
                    let here = len.min(self.buffer.len() - at);
                    at += here;
                    self.skip = len - here;
                    if self.skip > 0 {
                        break;
                    }
                }
                Some(len) => self.body = Some(len),
                None => frames.push(Frame::Bad(format!("no Content-Length in the header {:?}", lossy(header)))),
            }
        }
        self.buffer.drain(..at);
        frames
    }
}

/// The length that a header gives. Bytes before the field, left over from something broken, do not matter.
fn content_length(header: &[u8]) -> Option<usize> {
    let lower = header.to_ascii_lowercase();
    let at = memchr::memmem::rfind(&lower, FIELD)? + FIELD.len();
    let line = lower[at..].split(|&byte| byte == b'\r' || byte == b'\n').next()?;
    std::str::from_utf8(line).ok()?.trim().strip_prefix(':')?.trim().parse().ok()
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(120)]).into_owned()
}

/// The outline of a JSON-RPC message: what is needed to answer for it when the rest cannot be read.
#[derive(Deserialize)]
struct Outline {
    jsonrpc: Version,
    #[serde(default)]
    id: Option<Id>,
    #[serde(default)]
    method: Option<String>,
}

#[derive(Serialize, Deserialize)]
enum Version {
    #[serde(rename = "2.0")]
    Two,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Id {
    Number(i64),
    String(String),
}

fn accept(body: &[u8]) -> Frame {
    let outline = match std::str::from_utf8(body).map(serde_json::from_str::<Outline>) {
        Ok(Ok(outline)) => outline,
        Ok(Err(fault)) => return Frame::Bad(format!("a message that is not JSON-RPC ({fault}): {:?}", lossy(body))),
        Err(fault) => return Frame::Bad(format!("a message that is not UTF-8 ({fault}): {:?}", lossy(body))),
    };
    if readable(body, &outline) {
        return Frame::Message(framed(body));
    }
    if let Some(mended) = mend_surrogates(body).filter(|mended| readable(mended, &outline)) {
        return Frame::Message(framed(&mended));
    }
    // Nested too deeply, a number out of range. Without its params a request is still answered, with an error.
    let Outline { jsonrpc, id, method } = outline;
    let bare = match (method, id) {
        (Some(method), Some(id)) => json!({ "jsonrpc": jsonrpc, "id": id, "method": method }),
        (Some(method), None) => json!({ "jsonrpc": jsonrpc, "method": method }),
        (None, id) => {
            let error = json!({ "code": -32700, "message": "the answer cannot be read" });
            json!({ "jsonrpc": jsonrpc, "id": id, "error": error })
        }
    };
    Frame::Message(framed(bare.to_string().as_bytes()))
}

/// Whether the transport can read it: its own types are asked.
fn readable(body: &[u8], outline: &Outline) -> bool {
    let request = || serde_json::from_slice::<Request>(body).is_ok();
    match outline.method {
        Some(_) => request(),
        // An answer without result and error counts as a request without a method.
        None => serde_json::from_slice::<Response>(body).is_ok() || (request() && bare(body)),
    }
}

/// Whether an answer has neither a result nor an error.
fn bare(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Ends {
        result: Option<IgnoredAny>,
        error: Option<IgnoredAny>,
    }
    serde_json::from_slice::<Ends>(body).is_ok_and(|ends| ends.result.is_none() && ends.error.is_none())
}

fn framed(body: &[u8]) -> Vec<u8> {
    let mut frame = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    frame.extend_from_slice(body);
    frame
}

/// Editors whose strings are UTF-16 can send half of a surrogate pair as an escape, for instance between two keystrokes
/// that make an emoji. No UTF-8 text has it. U+FFFD takes its place: one UTF-16 unit too, so that positions still agree.
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
    use proptest::prelude::*;

    use super::*;

    fn frame(body: &str) -> Vec<u8> {
        framed(body.as_bytes())
    }

    fn bodies(frames: Vec<Frame>) -> Vec<String> {
        frames
            .into_iter()
            .map(|frame| match frame {
                Frame::Message(bytes) => {
                    let text = String::from_utf8(bytes).unwrap();
                    text.split_once("\r\n\r\n").unwrap().1.to_owned()
                }
                Frame::Bad(why) => format!("bad: {}", why.split(['(', ';']).next().unwrap().trim()),
            })
            .collect()
    }

    const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

    #[test]
    fn what_is_a_message_and_what_is_not() {
        for (input, expected) in [
            (frame(PING), vec![PING.to_owned()]),
            (
                frame(r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#),
                vec!["bad: a message that is not JSON-RPC".to_owned()],
            ),
            (frame(r#"{"jsonrpc":"1.0","method":"x"}"#), vec!["bad: a message that is not JSON-RPC".to_owned()]),
            (frame("{"), vec!["bad: a message that is not JSON-RPC".to_owned()]),
            (frame(""), vec!["bad: a message that is not JSON-RPC".to_owned()]),
            (framed(b"\xff\xfe"), vec!["bad: a message that is not UTF-8".to_owned()]),
            (
                b"Content-Type: x\r\n\r\n".to_vec(),
                vec![r#"bad: no Content-Length in the header "Content-Type: x""#.into()],
            ),
            (format!("content-LENGTH:{}\r\nX: y\r\nZ: w\r\n\r\n{PING}", PING.len()).into(), vec![PING.to_owned()]),
            (format!("rubbish Content-Length: {}\r\n\r\n{PING}", PING.len()).into(), vec![PING.to_owned()]),
        ] {
            let mut splitter = Splitter::default();
            let shown = String::from_utf8_lossy(&input).into_owned();
            assert_eq!(bodies(splitter.push(&input)), expected, "{shown}");
            assert_eq!(bodies(splitter.push(&frame(PING))), [PING], "after {shown}");
        }
    }

    #[test]
    fn half_a_surrogate_pair_keeps_its_width() {
        for (sent, read) in [
            (r"\ud83d", r"\ufffd"),
            (r"\ude00x", r"\ufffdx"),
            (r"\ud83d\ud83d\ude00", r"\ufffd\ud83d\ude00"),
            (r"\ud83d\n", r"\ufffd\n"),
            (r"\\ud83d \ud83d", r"\\ud83d \ufffd"),
        ] {
            let body = |text: &str| format!(r#"{{"jsonrpc":"2.0","method":"m","params":["{text}"]}}"#);
            assert_eq!(bodies(Splitter::default().push(&frame(&body(sent)))), [body(read)]);
        }
    }

    #[test]
    fn params_that_cannot_be_read_are_taken_away() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let request = |params: &str| format!(r#"{{"jsonrpc":"2.0","method":"m","id":"a","params":{params}}}"#);
        let answer = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#);
        let brackets = format!("[\"{}\\\"{}\"]", "[".repeat(500), "{".repeat(500));
        let stripped = r#"{"jsonrpc":"2.0","id":"a","method":"m"}"#.to_owned();
        let failed =
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32700,"message":"the answer cannot be read"}}"#.to_owned();
        let null = r#"{"jsonrpc":"2.0","id":7}"#.to_owned();
        for (sent, read) in [
            (request(&deep(100)), request(&deep(100))),
            (request(&brackets), request(&brackets)),
            (request(&deep(200)), stripped.clone()),
            (request("[1e999]"), stripped),
            (answer("[3]"), answer("[3]")),
            (answer("null"), answer("null")),
            (answer(&deep(5000)), failed.clone()),
            (answer("1e999"), failed),
            (null.clone(), null),
        ] {
            assert_eq!(bodies(Splitter::default().push(&frame(&sent))), [read]);
        }
    }

    #[test]
    fn a_message_that_is_too_long_is_skipped() {
        let mut splitter = Splitter::default();
        let mut frames = splitter.push(format!("Content-Length: {}\r\n\r\nabc", MAX_BODY + 1).as_bytes());
        let chunk = vec![b'x'; 1 << 20];
        let mut left = MAX_BODY + 1 - 3;
        while left > 0 {
            let len = left.min(chunk.len());
            frames.extend(splitter.push(&chunk[..len]));
            left -= len;
        }
        assert_eq!(splitter.buffer.len(), 0);
        frames.extend(splitter.push(&frame(PING)));
        assert_eq!(bodies(frames), [format!("bad: a message of {} bytes", MAX_BODY + 1).as_str(), PING]);
    }

    #[test]
    fn endless_rubbish_is_not_kept() {
        let mut splitter = Splitter::default();
        for _ in 0..100 {
            splitter.push(&[b'x'; 1024]);
        }
        assert!(splitter.buffer.len() <= MAX_HEADER + 1024);
        let mut frames = splitter.push(b"\r\n\r\n");
        frames.retain(|frame| matches!(frame, Frame::Message(_)));
        frames.extend(splitter.push(&frame(PING)));
        assert_eq!(bodies(frames), [PING]);
    }

    proptest! {
        #[test]
        fn the_cuts_between_reads_do_not_matter(cuts in proptest::collection::vec(0usize..200, 0..12)) {
            let texts: Vec<String> =
                (0..4).map(|n| format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"é{n}"}}"#)).collect();
            let all: Vec<u8> = texts.iter().flat_map(|text| frame(text)).collect();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(all.len())).chain([0, all.len()]).collect();
            cuts.sort_unstable();
            let mut splitter = Splitter::default();
            let frames: Vec<Frame> = cuts.windows(2).flat_map(|cut| splitter.push(&all[cut[0]..cut[1]])).collect();
            prop_assert_eq!(bodies(frames), texts);
        }
    }
}
