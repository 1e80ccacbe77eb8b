//! Some lines of a file that is too long to be held in memory: streamed from its beginning, a piece of it kept.
//!
//! Characters are counted by the bytes that begin one, so that a line of any length costs no memory. Where the beginning
//! of the file is not UTF-8, each byte is a character, as in Windows-1252.

use std::io::{self, Read};

use tokio_util::sync::CancellationToken;

use super::paths::{Key, Target};
use super::{Refusal, RefusalKind, Workspace};

/// So many bytes are read at once.
const CHUNK: usize = 256 * 1024;

/// How far into a file lines are looked for (bytes).
pub const SCAN_BYTES: u64 = 8 * 1024 * 1024 * 1024;

/// A character takes at most so many bytes.
const WIDEST: usize = 4;

/// Which lines are wanted, 0-based, and how much of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The first line.
    pub first: usize,
    /// At most so many lines.
    pub lines: usize,
    /// The first character of each line.
    pub column: usize,
    /// At most so many characters of each line.
    pub chars: usize,
    /// At most so many bytes of text altogether (of the first line at least one character is taken all the same).
    pub bytes: usize,
}

/// A part of one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The part.
    pub text: String,
    /// How many characters of the line it stands for.
    pub taken: usize,
    /// How many characters the line has.
    pub chars: usize,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stretch {
    /// The lines, from the first that is wanted on.
    pub pieces: Vec<Piece>,
    /// How many lines the file has, when its end was seen.
    pub total: Option<usize>,
    /// Whether its last line has an end, when that was seen.
    pub ended: bool,
    /// What the reader should know, for the model.
    pub note: Option<String>,
}

/// See [`Workspace::lines_of_large`].
pub(super) async fn lines(workspace: &Workspace, target: &Target, wanted: Wanted) -> Result<Stretch, Refusal> {
    let failed = |what: &str| Refusal::new(RefusalKind::Failed, format!("{} could not be read: {what}.", target.shown));
    let Key::File(path) = &target.key else { return Err(failed("it is no file")) };
    let (disk, path, over) = (workspace.ports.disk.clone(), path.clone(), CancellationToken::new());
    // Dropped with the call, so that nobody goes on reading for it.
    let _stop = over.clone().drop_guard();
    let scanned = tokio::task::spawn_blocking(move || scan(disk.open(&path)?, wanted, &|| over.is_cancelled())).await;
    match scanned {
        Ok(Ok(stretch)) => Ok(stretch),
        Ok(Err(error)) => Err(failed(&error.to_string())),
        Err(error) => Err(failed(&error.to_string())),
    }
}

/// One line while it is read.
#[derive(Default)]
struct Line {
    /// Characters so far.
    chars: usize,
    /// The bytes of those that are wanted.
    kept: Vec<u8>,
    /// Its last byte so far is a CR, which may belong to its end and is not counted yet.
    cr: bool,
    /// Whether there was a byte of it.
    any: bool,
}

struct Scan {
    wanted: Wanted,
    /// Each byte is a character.
    single: bool,
    number: usize,
    line: Line,
    /// Bytes of text that may still be taken.
    room: usize,
    full: bool,
    found: Stretch,
}

/// Reads until the lines are there, and one character beyond, or the end; `over` is asked between two chunks.
pub(crate) fn scan(mut file: impl Read, wanted: Wanted, over: &dyn Fn() -> bool) -> io::Result<Stretch> {
    let mut chunk = vec![0; CHUNK];
    let mut scan: Option<Scan> = None;
    let mut read = 0;
    loop {
        if over() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "it was cancelled"));
        }
        let len = match file.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            len => len?,
        };
        let scan = scan.get_or_insert_with(|| Scan::new(wanted, &chunk[..len]));
        if len == 0 {
            return scan.end();
        }
        if memchr::memchr(0, &chunk[..len]).is_some() {
            return Err(io::Error::other("it is binary, there is a NUL byte in it"));
        }
        if scan.take(&chunk[..len])? {
            return Ok(std::mem::take(&mut scan.found));
        }
        read += len as u64;
        if read >= SCAN_BYTES {
            let why = format!("only its first {SCAN_BYTES} bytes are looked through; cut out a part with a command");
            return Err(io::Error::other(why));
        }
    }
}

impl Scan {
    fn new(wanted: Wanted, head: &[u8]) -> Scan {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        // A character may be cut by the end of the chunk.
        let single = std::str::from_utf8(head).is_err_and(|error| error.error_len().is_some());
        let note = single.then(|| "It is not UTF-8, and shown as Windows-1252.".to_owned());
        let found = Stretch { note, ..Stretch::default() };
        Scan { wanted, single, number: 0, line: Line::default(), room: wanted.bytes, full: false, found }
    }

    /// Whether everything that is wanted is there, and something behind it.
    fn complete(&self) -> bool {
        self.number >= self.wanted.first && (self.full || self.found.pieces.len() >= self.wanted.lines)
    }

    fn take(&mut self, mut bytes: &[u8]) -> io::Result<bool> {
        while !bytes.is_empty() {
            if self.complete() {
                return Ok(true);
            }
            if self.number < self.wanted.first {
                // Only the ends of the lines before matter.
                let Some(end) = memchr::memchr(b'\n', bytes) else {
                    self.line.any = true;
                    return Ok(false);
                };
                self.number += 1;
                self.line = Line::default();
                bytes = &bytes[end + 1..];
                continue;
            }
            let end = memchr::memchr(b'\n', bytes);
            self.part(&bytes[..end.unwrap_or(bytes.len())])?;
            let Some(end) = end else { return Ok(false) };
            self.line_ends();
            bytes = &bytes[end + 1..];
        }
        Ok(false)
    }

    /// Some bytes of a wanted line.
    fn part(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some((&last, _)) = bytes.split_last() else { return Ok(()) };
        self.line.any = true;
        if std::mem::take(&mut self.line.cr) {
            self.count(b"\r")?;
        }
        self.line.cr = last == b'\r';
        self.count(&bytes[..bytes.len() - usize::from(self.line.cr)])
    }

    /// Bytes of a wanted line that are content.
    fn count(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let mark = b"\xef\xbb\xbf";
        if self.number == 0 && self.line.chars == 0 && self.line.kept.is_empty() && bytes.starts_with(mark) {
            bytes = &bytes[mark.len()..];
        }
        let (first, last) = (self.wanted.column, self.wanted.column.saturating_add(self.wanted.chars));
        let begins = |byte: &u8| self.single || byte & 0xc0 != 0x80;
        // A long line is counted by the chunk, and looked at byte by byte only where it is wanted.
        let all = || bytes.iter().filter(|byte| begins(byte)).count();
        if self.line.chars > last {
            self.line.chars += all();
            return Ok(());
        }
        if self.line.chars < first {
            let count = all();
            if self.line.chars + count <= first {
                self.line.chars += count;
                return Ok(());
            }
        }
        for byte in bytes {
            self.line.chars += usize::from(begins(byte));
            if self.line.chars > first && self.line.chars <= last {
                self.line.kept.push(*byte);
            }
        }
        if self.line.kept.len() / WIDEST > self.wanted.chars {
            let line = self.number + 1;
            return Err(io::Error::other(format!(
                "line {line} is no text, it has a run of bytes that no encoding explains"
            )));
        }
        Ok(())
    }

    /// The end of a wanted line.
    fn line_ends(&mut self) {
        self.put();
        self.number += 1;
    }

    /// What was kept of a line becomes a piece, as far as there is room.
    fn put(&mut self) {
        let Line { chars, kept, .. } = std::mem::take(&mut self.line);
        let (mut text, mut taken, mut whole) = (String::new(), 0, true);
        for unit in units(&kept, self.single) {
            let shown = decoded(unit, self.single);
            let least = self.found.pieces.is_empty() && text.is_empty();
            if text.len() + shown.len() > self.room && !least {
                whole = false;
                break;
            }
            text.push_str(&shown);
            taken += 1;
        }
        if !whole && !self.found.pieces.is_empty() {
            self.full = true;
            return;
        }
        self.full = !whole || text.len() >= self.room;
        self.room = self.room.saturating_sub(text.len());
        self.found.pieces.push(Piece { text, taken, chars });
    }

    /// The end of the file.
    fn end(&mut self) -> io::Result<Stretch> {
        let open = self.line.any;
        if open && self.number >= self.wanted.first && !self.complete() {
            if std::mem::take(&mut self.line.cr) {
                self.count(b"\r")?;
            }
            self.put();
        }
        self.found.total = Some(self.number + usize::from(open));
        self.found.ended = !open;
        Ok(std::mem::take(&mut self.found))
    }
}

/// The characters of some bytes: each byte that begins one, with those that go on with it.
fn units(bytes: &[u8], single: bool) -> impl Iterator<Item = &[u8]> {
    bytes.chunk_by(move |_, next| !single && next & 0xc0 == 0x80)
}

/// A character; bytes that are none as Windows-1252.
fn decoded(unit: &[u8], single: bool) -> std::borrow::Cow<'_, str> {
    match std::str::from_utf8(unit) {
        Ok(text) if !single => text.into(),
        _ => encoding_rs::WINDOWS_1252.decode_without_bom_handling(unit).0,
    }
}

#[cfg(test)]
mod tests;
