//! The incoming bytes, cut into messages. Pure.
//!
//! What is no message is told as a fault in its place, for a change of a text may have been lost with it; then the next
//! message is looked for.

use super::messages::{self, Fault, Message};

/// The longest message that is accepted (bytes); a longer one is skipped.
pub(super) const MAX_BODY: usize = 512 << 20;

/// The longest header that is accepted (bytes).
const MAX_HEADER: usize = 8 << 10;

/// The room for bytes that is kept between messages (bytes); what a longer message took is given back.
const KEPT: usize = 256 << 10;

const FIELD: &[u8] = b"content-length";
const END: &[u8] = b"\r\n\r\n";

/// Cuts a stream of bytes into messages, however they are split between reads.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    buffer: Vec<u8>,
    /// The body that is being waited for.
    body: Option<usize>,
    /// Bytes of a body that is too long, still to be thrown away.
    skip: usize,
    /// How much was thrown away since the last header (bytes). It is told once at the beginning and once at the end, not
    /// with every read.
    thrown: usize,
}

impl Splitter {
    /// Takes some bytes and gives the messages that they complete.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Vec<Message> {
        let skipped = self.skip.min(bytes.len());
        self.skip -= skipped;
        bytes = &bytes[skipped..];
        self.buffer.extend_from_slice(bytes);
        let mut messages = Vec::new();
        let mut at = 0;
        loop {
            let rest = &self.buffer[at..];
            if let Some(len) = self.body {
                if rest.len() < len {
                    break;
                }
                self.body = None;
                at += len;
                messages.push(messages::read(&rest[..len]));
                continue;
            }
            let Some(end) = memchr::memmem::find(rest, END) else {
                if rest.len() > MAX_HEADER {
                    if self.thrown == 0 {
                        messages.push(fault(format!("{} bytes without the end of a header", rest.len())));
                    }
                    // The beginning of a header may be at the very end of what is thrown away.
                    self.thrown += rest.len() - FIELD.len();
                    at += rest.len() - FIELD.len();
                }
                break;
            };
            let header = &rest[..end];
            at += end + END.len();
            let thrown = std::mem::take(&mut self.thrown);
            let found = content_length(header);
            if thrown > 0 || found.is_some_and(|found| found.strays) {
                messages.push(fault(format!("{} bytes that belong to no message", thrown + header.len())));
            }
            match found.map(|found| found.len) {
                Some(len) if len > MAX_BODY => {
                    messages.push(fault(format!("a message of {len} bytes; at most {MAX_BODY} are accepted")));
                    let here = len.min(self.buffer.len() - at);
                    at += here;
                    self.skip = len - here;
                    if self.skip > 0 {
                        break;
                    }
                }
                Some(len) => self.body = Some(len),
                None if header.trim_ascii().is_empty() => {}
                None => messages.push(fault(format!("no Content-Length in the header {:?}", lossy(header)))),
            }
        }
        self.buffer.drain(..at);
        if self.buffer.len() < KEPT {
            self.buffer.shrink_to(KEPT);
        }
        messages
    }
}

fn fault(why: String) -> Message {
    Message::Fault(Fault::bytes(why))
}

/// What a header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Length {
    /// The length of the body (bytes).
    len: usize,
    /// Whether there is something before the header that is no header: something broken was left over, and nobody knows
    /// what it was.
    strays: bool,
}

/// The length that a header gives.
fn content_length(header: &[u8]) -> Option<Length> {
    let lower = header.to_ascii_lowercase();
    let field = memchr::memmem::rfind(&lower, FIELD)?;
    let line = lower[field + FIELD.len()..].split(|&byte| byte == b'\r' || byte == b'\n').next()?;
    let len = std::str::from_utf8(line).ok()?.trim().strip_prefix(':')?.trim().parse().ok()?;
    let named = |line: &[u8]| {
        let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
        let token = |&byte: &u8| byte.is_ascii_alphanumeric() || byte == b'-';
        name.len() < line.len() && !name.is_empty() && name.iter().all(token)
    };
    let mut before = lower[..field].split(|&byte| byte == b'\n').rev();
    let own = before.next().is_some_and(|same_line| same_line.trim_ascii().is_empty());
    let strays = !own || !before.all(|line| line.trim_ascii().is_empty() || named(line));
    Some(Length { len, strays })
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(120)]).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn framed(body: &[u8]) -> Vec<u8> {
        [format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
    }

    fn frame(body: &str) -> Vec<u8> {
        framed(body.as_bytes())
    }

    fn bodies(messages: Vec<Message>) -> Vec<String> {
        messages
            .into_iter()
            .map(|message| match message {
                Message::Call(call, _) => serde_json::to_string(&call).unwrap(),
                Message::Answer(answer, _) => serde_json::to_string(&answer).unwrap(),
                Message::Fault(fault) => format!("fault: {}", fault.why.split([':', ';']).next().unwrap()),
            })
            .collect()
    }

    const PING: &str = r#"{"jsonrpc":"2.0","method":"ping","id":1}"#;

    #[test]
    fn what_is_a_message_and_what_is_not() {
        let no_length = r#"fault: no Content-Length in the header "Content-Type"#;
        let strays = format!("fault: {} bytes that belong to no message", PING.len() + 18);
        for (input, expected) in [
            (frame(PING), vec![PING]),
            (frame("{"), vec!["fault: the message is not JSON"]),
            (frame(""), vec!["fault: the message is not JSON"]),
            (framed(b"\xff\xfe"), vec!["fault: the message is not UTF-8"]),
            (b"Content-Type: x\r\n\r\n".to_vec(), vec![no_length]),
            // Line ends between messages are of no matter.
            (b"\n\r\n\r\n".to_vec(), vec![]),
            (format!("\n\r\nContent-Length: {}\r\n\r\n{PING}", PING.len()).into(), vec![PING]),
            (format!("content-LENGTH:{}\r\nX: y\r\nZ: w\r\n\r\n{PING}", PING.len()).into(), vec![PING]),
            (format!("X-Y: z\r\nContent-Length: {}\r\n\r\n{PING}", PING.len()).into(), vec![PING]),
            // A message without a header of its own is lost, and told.
            (format!("{PING}Content-Length: {}\r\n\r\n{PING}", PING.len()).into(), vec![&strays, PING]),
        ] {
            let mut splitter = Splitter::default();
            let shown = String::from_utf8_lossy(&input).into_owned();
            assert_eq!(bodies(splitter.push(&input)), expected, "{shown}");
            assert_eq!(bodies(splitter.push(&frame(PING))), [PING], "after {shown}");
        }
    }

    #[test]
    fn a_long_message_leaves_no_room_behind() {
        let mut splitter = Splitter::default();
        let long = format!(r#"{{"jsonrpc":"2.0","method":"m","params":["{}"]}}"#, "x".repeat(20 << 20));
        for chunk in frame(&long).chunks(64 << 10) {
            splitter.push(chunk);
        }
        assert!(splitter.buffer.capacity() <= KEPT, "{}", splitter.buffer.capacity());
    }

    #[test]
    fn a_message_that_is_too_long_is_skipped() {
        let mut splitter = Splitter::default();
        let mut messages = splitter.push(format!("Content-Length: {}\r\n\r\nabc", MAX_BODY + 1).as_bytes());
        let chunk = vec![b'x'; 1 << 20];
        let mut left = MAX_BODY + 1 - 3;
        while left > 0 {
            let len = left.min(chunk.len());
            messages.extend(splitter.push(&chunk[..len]));
            left -= len;
        }
        assert_eq!(splitter.buffer.len(), 0);
        messages.extend(splitter.push(&frame(PING)));
        assert_eq!(bodies(messages), [format!("fault: a message of {} bytes", MAX_BODY + 1).as_str(), PING]);
    }

    #[test]
    fn endless_rubbish_is_not_kept_and_told_at_its_beginning_and_end() {
        let mut splitter = Splitter::default();
        let mut messages = Vec::new();
        for _ in 0..100 {
            messages.extend(splitter.push(&[b'x'; 1024]));
        }
        assert!(splitter.buffer.len() <= MAX_HEADER + 1024);
        messages.extend(splitter.push(&frame(PING)));
        let (first, last) =
            ("fault: 9216 bytes without the end of a header", "fault: 102418 bytes that belong to no message");
        assert_eq!(bodies(messages), [first, last, PING]);
        assert_eq!(bodies(splitter.push(&frame(PING))), [PING]);
    }

    proptest! {
        #[test]
        fn the_cuts_between_reads_do_not_matter(cuts in proptest::collection::vec(0usize..200, 0..12)) {
            let texts: Vec<String> =
                (0..4).map(|n| format!(r#"{{"jsonrpc":"2.0","method":"é{n}","id":{n}}}"#)).collect();
            let all: Vec<u8> = texts.iter().flat_map(|text| frame(text)).collect();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(all.len())).chain([0, all.len()]).collect();
            cuts.sort_unstable();
            let mut splitter = Splitter::default();
            let messages: Vec<Message> = cuts.windows(2).flat_map(|cut| splitter.push(&all[cut[0]..cut[1]])).collect();
            prop_assert_eq!(bodies(messages), texts);
        }
    }
}
