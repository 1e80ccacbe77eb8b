//! The bytes of one direction, cut into frames as they are. Pure.
//!
//! Unlike the sidecar's own reader, which throws away what is no message, everything is kept: a recording is there for
//! what goes wrong.

/// The longest header that is waited for (bytes).
const MAX_HEADER: usize = 8 << 10;

/// The longest frame that is kept (bytes).
pub(super) const MAX_FRAME: usize = 64 << 20;

const FIELD: &[u8] = b"content-length";
const END: &[u8] = b"\r\n\r\n";

/// A piece of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cut {
    /// The body of a message with a proper header.
    Body(Vec<u8>),
    /// Bytes that are no such message, all of them, and what is wrong.
    Stray(Vec<u8>, &'static str),
    /// A message that was too long to keep.
    TooLong,
    /// The stream has ended.
    End,
}

impl Cut {
    /// How much it holds (bytes).
    pub(super) fn len(&self) -> usize {
        match self {
            Cut::Body(bytes) | Cut::Stray(bytes, _) => bytes.len(),
            Cut::TooLong | Cut::End => 0,
        }
    }
}

/// Cuts a stream, however it is split between reads.
#[derive(Debug, Default)]
pub(super) struct Cutter {
    /// A header, with its end once the body is waited for.
    head: Vec<u8>,
    body: Vec<u8>,
    /// The length of the body that is waited for.
    awaited: Option<usize>,
    /// Whether the header is nothing but fields.
    proper: bool,
    /// Bytes still to be passed over.
    skip: usize,
}

impl Cutter {
    /// Takes some bytes and gives what they complete.
    pub(super) fn push(&mut self, mut bytes: &[u8], mut give: impl FnMut(Cut)) {
        while !bytes.is_empty() {
            if self.skip > 0 {
                let len = self.skip.min(bytes.len());
                self.skip -= len;
                bytes = &bytes[len..];
            } else if let Some(awaited) = self.awaited {
                let len = (awaited - self.body.len()).min(bytes.len());
                self.body.extend_from_slice(&bytes[..len]);
                bytes = &bytes[len..];
                self.done(awaited, &mut give);
            } else {
                self.head.push(bytes[0]);
                bytes = &bytes[1..];
                if self.head.ends_with(END) {
                    self.headed(&mut give);
                } else if self.head.len() > MAX_HEADER {
                    give(Cut::Stray(std::mem::take(&mut self.head), "no header ends here"));
                }
            }
        }
    }

    /// The stream has ended.
    pub(super) fn end(&mut self, mut give: impl FnMut(Cut)) {
        let mut rest = std::mem::take(&mut self.head);
        rest.append(&mut self.body);
        self.awaited = None;
        if !rest.is_empty() {
            give(Cut::Stray(rest, "the stream ended within a message"));
        }
        give(Cut::End);
    }

    fn headed(&mut self, give: &mut impl FnMut(Cut)) {
        let header = &self.head[..self.head.len() - END.len()];
        match content_length(header) {
            Some(len) if len > MAX_FRAME => {
                self.head.clear();
                self.skip = len;
                give(Cut::TooLong);
            }
            Some(len) => {
                self.proper = header.split(|byte| *byte == b'\n').all(is_field);
                self.awaited = Some(len);
                self.done(len, give);
            }
            None => give(Cut::Stray(std::mem::take(&mut self.head), "a header without a length")),
        }
    }

    fn done(&mut self, awaited: usize, give: &mut impl FnMut(Cut)) {
        if self.body.len() < awaited {
            return;
        }
        self.awaited = None;
        let (mut head, mut body) = (std::mem::take(&mut self.head), std::mem::take(&mut self.body));
        if self.proper {
            give(Cut::Body(body));
        } else {
            head.append(&mut body);
            give(Cut::Stray(head, "bytes that belong to no message before a header"));
        }
    }
}

fn is_field(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
    let token = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    line.is_empty() || name.len() < line.len() && !name.is_empty() && name.iter().all(token)
}

fn content_length(header: &[u8]) -> Option<usize> {
    let lower = header.to_ascii_lowercase();
    let field = memchr::memmem::rfind(&lower, FIELD)?;
    let line = lower[field + FIELD.len()..].split(|byte| matches!(byte, b'\r' | b'\n')).next()?;
    std::str::from_utf8(line).ok()?.trim().strip_prefix(':')?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cuts(pieces: &[&[u8]]) -> Vec<Cut> {
        let (mut cutter, mut cuts) = (Cutter::default(), Vec::new());
        for piece in pieces {
            cutter.push(piece, |cut| cuts.push(cut));
        }
        cutter.end(|cut| cuts.push(cut));
        assert_eq!(cuts.pop(), Some(Cut::End));
        cuts
    }

    #[test]
    fn what_is_a_frame_and_what_is_not() {
        let body = |text: &str| Cut::Body(text.into());
        let stray = |text: &str, why| Cut::Stray(text.into(), why);
        let before = "bytes that belong to no message before a header";
        for (stream, expected) in [
            ("Content-Length: 2\r\n\r\n{}", vec![body("{}")]),
            ("content-length:2\r\nX: y\r\n\r\n{}Content-Length: 1\r\n\r\n1", vec![body("{}"), body("1")]),
            ("Content-Length: 0\r\n\r\nContent-Length: 1\r\n\r\n1", vec![body(""), body("1")]),
            ("{}Content-Length: 2\r\n\r\n[]", vec![stray("{}Content-Length: 2\r\n\r\n[]", before)]),
            (
                "X: y\r\n\r\nContent-Length: 1\r\n\r\n1",
                vec![stray("X: y\r\n\r\n", "a header without a length"), body("1")],
            ),
            (
                "Content-Length: 9\r\n\r\n{}",
                vec![stray("Content-Length: 9\r\n\r\n{}", "the stream ended within a message")],
            ),
        ] {
            assert_eq!(cuts(&[stream.as_bytes()]), expected, "{stream:?}");
        }
    }

    #[test]
    fn what_is_too_long_is_passed_over() {
        let mut stream = format!("Content-Length: {}\r\n\r\n", MAX_FRAME + 1).into_bytes();
        stream.resize(stream.len() + MAX_FRAME + 1, b'x');
        stream.extend_from_slice(b"Content-Length: 1\r\n\r\n1");
        assert_eq!(cuts(&[&stream]), [Cut::TooLong, Cut::Body(b"1".to_vec())]);
        assert!(matches!(&cuts(&[&[b'x'; MAX_HEADER + 2]])[..], [Cut::Stray(..), Cut::Stray(..)]));
    }

    proptest! {
        #[test]
        fn the_cuts_between_reads_do_not_matter(at in proptest::collection::vec(0usize..120, 0..8)) {
            let stream = b"rubbish\r\n\r\nContent-Length: 3\r\n\r\n123x\nContent-Length: 4\r\n\r\n1234Content-Length: 1\r\n\r\n5";
            let mut at: Vec<usize> = at.into_iter().map(|at| at.min(stream.len())).chain([0, stream.len()]).collect();
            at.sort_unstable();
            let pieces: Vec<&[u8]> = at.windows(2).map(|cut| &stream[cut[0]..cut[1]]).collect();
            prop_assert_eq!(cuts(&pieces), cuts(&[stream]));
        }
    }
}
