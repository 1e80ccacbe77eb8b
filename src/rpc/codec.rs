//! The base protocol's frames: a header with `Content-Length`, an empty line, so many bytes. Pure.
//!
//! Reading is tolerant: header names in any case, other headers, LF alone, lines that are no headers (a server that
//! prints to its standard output) are skipped. Only a length that cannot be is an error.

use super::MAX_FRAME;

/// Header lines longer than this (bytes) are dropped as noise.
const MAX_LINE: usize = 8 * 1024;

/// Why a stream of frames cannot be read on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The frame is longer than allowed (bytes).
    #[error("a frame of {0} bytes is longer than the {MAX_FRAME} allowed")]
    TooLong(u64),
    /// The length is not a number.
    #[error("`{0}` is not a frame length")]
    BadLength(String),
}

/// A message as a frame.
pub fn encode(body: &[u8]) -> Vec<u8> {
    let mut frame = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    frame.extend_from_slice(body);
    frame
}

/// Takes bytes in any pieces and gives whole frames.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// How much of `buffer` has been used up.
    used: usize,
    /// How far behind `used` an LF has been looked for.
    searched: usize,
    /// The length from the header being read.
    length: Option<usize>,
    /// Whether the header is over and the body is being read.
    body: bool,
    /// Whether an overlong line is being dropped.
    noise: bool,
}

impl Decoder {
    /// A decoder at the beginning of a stream.
    pub fn new() -> Decoder {
        Decoder::default()
    }

    /// Adds bytes as they came.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.used > 0 {
            self.buffer.drain(..self.used);
            self.used = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole frame's body; `None` when more bytes are needed. After an error the stream is of no more use.
    pub fn next_frame(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        loop {
            if self.body {
                let length = self.length.unwrap_or_default();
                let Some(body) = self.buffer.get(self.used..self.used + length) else { return Ok(None) };
                let body = body.to_vec();
                self.used += length;
                (self.body, self.length) = (false, None);
                return Ok(Some(body));
            }
            let Some(line) = self.line() else { return Ok(None) };
            self.header(&line)?;
        }
    }

    /// Whether a frame has begun and is not whole: its header, or a part of its body. Where the stream ends so, its end
    /// is missing. Noise is no beginning.
    pub fn is_within_frame(&self) -> bool {
        let begun = || {
            let rest = &self.buffer[self.used..];
            String::from_utf8_lossy(rest).to_ascii_lowercase().contains("content-length")
        };
        self.length.is_some() || begun()
    }

    /// The next header line without its end; an overlong one comes as a line that says nothing.
    fn line(&mut self) -> Option<Vec<u8>> {
        let rest = &self.buffer[self.used..];
        let Some(at) = memchr::memchr(b'\n', &rest[self.searched..]).map(|at| at + self.searched) else {
            self.searched = rest.len();
            if rest.len() > MAX_LINE {
                self.noise = true;
                self.used = self.buffer.len();
                self.searched = 0;
            }
            return None;
        };
        let line = rest[..at].strip_suffix(b"\r").unwrap_or(&rest[..at]).to_vec();
        self.used += at + 1;
        self.searched = 0;
        Some(if std::mem::take(&mut self.noise) { b"noise".to_vec() } else { line })
    }

    fn header(&mut self, line: &[u8]) -> Result<(), FrameError> {
        if line.is_empty() {
            // A block without a length (an empty line of noise) is skipped.
            self.body = self.length.is_some();
            return Ok(());
        }
        let line = String::from_utf8_lossy(line);
        let Some((name, value)) = line.split_once(':') else { return Ok(()) };
        // Noise without a line end can stand before the name.
        let name = name.trim().to_ascii_lowercase();
        if !name.ends_with("content-length") {
            return Ok(());
        }
        let value = value.trim();
        let length: u64 = value.parse().map_err(|_| FrameError::BadLength(value.chars().take(40).collect()))?;
        match usize::try_from(length) {
            Ok(length) if length <= MAX_FRAME => self.length = Some(length),
            _ => return Err(FrameError::TooLong(length)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(bytes: &[u8]) -> Result<Vec<String>, FrameError> {
        let mut decoder = Decoder::new();
        decoder.push(bytes);
        let mut frames = Vec::new();
        while let Some(frame) = decoder.next_frame()? {
            frames.push(String::from_utf8(frame).unwrap());
        }
        Ok(frames)
    }

    #[test]
    fn odd_headers_are_tolerated() {
        fn check(stream: &str, expected: &[&str]) {
            assert_eq!(all(stream.as_bytes()).unwrap(), expected, "{stream:?}");
        }
        check("", &[]);
        check("Content-Length: 2\r\n\r\n{}", &["{}"]);
        check("Content-Length: 2\r\n\r\n{}Content-Length: 0\r\n\r\nContent-Length: 1\r\n\r\n1", &["{}", "", "1"]);
        check("content-length:2\n\n{}", &["{}"]);
        check("CONTENT-LENGTH :  2 \r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n{}", &["{}"]);
        check("Content-Type: x\r\nContent-Length: 2\r\n\r\n{}", &["{}"]);
        check("hello from the server\r\n\r\nContent-Length: 2\r\n\r\n{}", &["{}"]);
        check("no line end Content-Length: 2\r\n\r\n{}", &["{}"]);
        check("\r\n\r\nContent-Length: 2\r\n\r\n{}", &["{}"]);
        check("Content-Length: 4\r\n\r\né\n\n", &["é\n\n"]);
        check("Content-Length: 3\r\n\r\n{}", &[]);
    }

    #[test]
    fn a_long_line_of_noise_is_skipped() {
        let stream = format!("{}\nContent-Length: 2\r\n\r\n{{}}", "x".repeat(3 * MAX_LINE));
        assert_eq!(all(stream.as_bytes()).unwrap(), ["{}"]);
        let mut decoder = Decoder::new();
        for piece in stream.as_bytes().chunks(1000) {
            decoder.push(piece);
            if let Some(frame) = decoder.next_frame().unwrap() {
                assert_eq!(frame, b"{}");
                return;
            }
            assert!(decoder.buffer.len() <= MAX_LINE + 1000, "noise is not kept");
        }
        panic!("no frame");
    }

    #[test]
    fn impossible_lengths_are_errors() {
        assert_eq!(all(b"Content-Length: -1\r\n\r\n"), Err(FrameError::BadLength("-1".into())));
        assert_eq!(all(b"Content-Length: many\r\n\r\n"), Err(FrameError::BadLength("many".into())));
        assert_eq!(all(b"Content-Length: 67108865\r\n\r\n"), Err(FrameError::TooLong(67_108_865)));
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_frames(
            bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..6),
            cuts in prop::collection::vec(1usize..20, 1..60),
        ) {
            let stream: Vec<u8> = bodies.iter().flat_map(|body| encode(body)).collect();
            let mut decoder = Decoder::new();
            let mut frames = Vec::new();
            let (mut rest, mut cuts) = (&stream[..], cuts.iter().cycle());
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
                decoder.push(piece);
                while let Some(frame) = decoder.next_frame().unwrap() {
                    frames.push(frame);
                }
                rest = after;
            }
            prop_assert_eq!(frames, bodies);
        }
    }
}
