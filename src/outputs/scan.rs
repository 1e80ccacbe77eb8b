//! Reads a kept text from anywhere, some of it at a time: places by their line, character and byte, and lines one after the
//! other, of which those that are too long come in pieces. At most a few MiB are in memory, however long the text is and
//! however long its lines are.

use std::io::{self, SeekFrom};
use std::ops::ControlFlow;

use crate::ports::ReadSeek;

use super::index::{Index, Mark};
use super::{lines, trimmed};

/// How much is read at a time (bytes).
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// At least, where there is so much.
    pub chunk: usize,
    /// A line of more than this comes in pieces of at most this.
    pub piece: usize,
    /// So much of a piece stands in the next one as well, besides the lead.
    pub overlap: usize,
    /// So much before that stands there too, for what looks back from a match.
    pub lead: usize,
}

/// For use: 1 MiB at most, and matches of up to 64 KiB are found wherever they are.
pub(super) const SIZES: Sizes = Sizes { chunk: 256 << 10, piece: 1 << 20, overlap: 64 << 10, lead: 256 };

/// A reader of a kept text.
pub(super) struct Scan<'a> {
    from: &'a mut dyn ReadSeek,
    index: &'a Index,
    /// Asked now and then whether to go on no longer.
    stop: &'a dyn Fn() -> bool,
    sizes: Sizes,
    buffer: Vec<u8>,
    /// Where the buffer begins in the text. The reader stands where it ends, once something was read.
    start: u64,
    placed: bool,
}

/// A line of the text, or some of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    /// Where the line begins in the text (bytes).
    pub line: u64,
    /// Where this begins in the line (bytes).
    pub at: u64,
    /// The text, without the end of the line.
    pub text: &'a str,
    /// So many bytes at its beginning were in the piece before, to look back at only.
    pub lead: usize,
    /// What begins from this byte on comes in the next piece as well. In the last piece of a line: its length.
    pub again: usize,
    /// Whether the line ends with it.
    pub last: bool,
}

impl<'a> Scan<'a> {
    pub(super) fn new(from: &'a mut dyn ReadSeek, index: &'a Index, sizes: Sizes, stop: &'a dyn Fn() -> bool) -> Self {
        Scan { from, index, stop, sizes, buffer: Vec::new(), start: 0, placed: false }
    }

    pub(super) fn index(&self) -> &'a Index {
        self.index
    }

    /// So many bytes from a place on, fewer only at the end of the text.
    pub(super) fn bytes(&mut self, at: u64, most: usize) -> io::Result<&[u8]> {
        if (self.stop)() {
            return Err(io::Error::other("it was cancelled"));
        }
        let left = usize::try_from(self.index.bytes().saturating_sub(at)).unwrap_or(usize::MAX);
        let most = most.min(left);
        let held = usize::try_from(at.wrapping_sub(self.start)).ok().filter(|from| *from <= self.buffer.len());
        match held.filter(|_| self.placed) {
            Some(from) if from + most <= self.buffer.len() => return Ok(&self.buffer[from..from + most]),
            Some(from) => drop(self.buffer.drain(..from)),
            None => {
                self.buffer.clear();
                self.from.seek(SeekFrom::Start(at))?;
                self.placed = true;
            }
        }
        self.start = at;
        let held = self.buffer.len();
        self.buffer.resize(most.max(self.sizes.chunk).min(left).max(held), 0);
        let read = self.from.read_exact(&mut self.buffer[held..]);
        if let Err(error) = read {
            self.placed = false;
            return Err(if error.kind() == io::ErrorKind::UnexpectedEof { changed() } else { error });
        }
        Ok(&self.buffer[..most])
    }

    /// So many bytes from the beginning of a character on, or a little less, so that no character is split.
    pub(super) fn text(&mut self, at: u64, most: usize) -> io::Result<&str> {
        let bytes = self.bytes(at, most)?;
        let end = whole_chars(bytes);
        valid(&bytes[..end])
    }

    /// The last bytes of the text, so many or a little less, so that no character is split.
    pub(super) fn tail(&mut self, most: usize) -> io::Result<&str> {
        let end = self.index.bytes();
        let mut from = end.saturating_sub(most as u64);
        if self.char_start(from)? < from {
            // The character that begins before is left out, all of it.
            from = self.next_char(from)?;
        }
        valid(self.bytes(from, most)?)
    }

    /// Where the first character that does not begin before a byte begins, or the end.
    fn next_char(&mut self, at: u64) -> io::Result<u64> {
        let bytes = self.bytes(at, 4)?;
        Ok(at + bytes.iter().position(|byte| starts(*byte)).unwrap_or(bytes.len()) as u64)
    }

    /// Where the character that a byte is of begins, or the end.
    pub(super) fn char_start(&mut self, at: u64) -> io::Result<u64> {
        let from = at.saturating_sub(3);
        let before = self.bytes(from, 4)?;
        let within = usize::try_from(at - from).unwrap_or_default();
        let back = (0..=within).rev().find(|at| before.get(*at).is_none_or(|byte| starts(*byte)));
        Ok(from + back.unwrap_or(within) as u64)
    }

    /// Where a line begins (0-based; there must be so many line ends).
    pub(super) fn line_start(&mut self, row: usize) -> io::Result<Mark> {
        let Mark { mut byte, lines, mut chars } = self.index.last_where(|mark| mark.lines < row);
        let mut need = row - lines.min(row);
        while need > 0 {
            let chunk = self.bytes(byte, self.sizes.chunk)?;
            if chunk.is_empty() {
                return Err(changed());
            }
            let mut found = 0;
            let end = memchr::memchr_iter(b'\n', chunk).inspect(|_| found += 1).nth(need - 1).map(|at| at + 1);
            let piece = &chunk[..end.unwrap_or(chunk.len())];
            (byte, chars) = (byte + piece.len() as u64, chars + chars_in(piece));
            need -= found;
        }
        Ok(Mark { byte, lines: row, chars })
    }

    /// How many characters are before a byte, the beginning of one.
    pub(super) fn chars_before(&mut self, byte: u64) -> io::Result<u64> {
        let mut mark = self.index.last_where(|mark| mark.byte <= byte);
        while mark.byte < byte {
            let most = usize::try_from(byte - mark.byte).unwrap_or(usize::MAX).min(self.sizes.chunk);
            let chunk = self.bytes(mark.byte, most)?;
            if chunk.is_empty() {
                return Err(changed());
            }
            (mark.byte, mark.chars) = (mark.byte + chunk.len() as u64, mark.chars + chars_in(chunk));
        }
        Ok(mark.chars)
    }

    /// Where a character (1-based) of the line that begins there is, its end among them; `Err`: where the next line begins, of
    /// a line that has not so many.
    pub(super) fn column(&mut self, line: Mark, column: usize) -> io::Result<Result<u64, u64>> {
        let wanted = line.chars + (column.max(1) - 1) as u64;
        // The last mark before it may be in a later line: then the line has not so many, which is seen from one in it.
        let mark = self.index.last_where(|mark| mark.chars <= wanted && mark.lines <= line.lines);
        let Mark { mut byte, mut chars, .. } = if mark.byte > line.byte { mark } else { line };
        loop {
            let chunk = self.text(byte, self.sizes.chunk.max(4))?;
            if chunk.is_empty() {
                return Ok(Err(byte));
            }
            let end = memchr::memchr(b'\n', chunk.as_bytes()).map(|at| at + 1);
            let rest = &chunk[..end.unwrap_or(chunk.len())];
            let count = rest.chars().count() as u64;
            if chars + count > wanted {
                let skipped = usize::try_from(wanted - chars).unwrap_or(usize::MAX);
                let at = rest.char_indices().nth(skipped).map_or(rest.len(), |(at, _)| at);
                return Ok(Ok(byte + at as u64));
            }
            (byte, chars) = (byte + rest.len() as u64, chars + count);
            if end.is_some() {
                return Ok(Err(byte));
            }
        }
    }

    /// Shows every line from the one that begins there on, until it is told that this was enough.
    pub(super) fn lines(&mut self, mut at: u64, each: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>) -> io::Result<()> {
        while at < self.index.bytes() {
            let most = self.sizes.chunk;
            let end = self.index.bytes();
            let chunk = self.bytes(at, most)?;
            let whole = match memchr::memrchr(b'\n', chunk) {
                Some(last) => last + 1,
                None if at + chunk.len() as u64 == end => chunk.len(),
                None => 0,
            };
            let mut line = at;
            for text in lines(valid(&chunk[..whole])?) {
                let shown = trimmed(text);
                let again = shown.len();
                if each(Piece { line, at: 0, text: shown, lead: 0, again, last: true }).is_break() {
                    return Ok(());
                }
                line += text.len() as u64;
            }
            at = line;
            if whole == 0 {
                match self.long_line(at, each)? {
                    Some(next) => at = next,
                    None => return Ok(()),
                }
            }
        }
        Ok(())
    }

    /// Shows a line piece by piece; where the next one begins.
    fn long_line(&mut self, line: u64, each: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>) -> io::Result<Option<u64>> {
        let (end, Sizes { piece, overlap, lead, .. }) = (self.index.bytes(), self.sizes);
        let mut at = line;
        loop {
            let chunk = self.bytes(at, piece)?;
            let ends = match memchr::memchr(b'\n', chunk) {
                None if at + chunk.len() as u64 == end => Some(chunk.len()),
                found => found.map(|at| at + 1),
            };
            // What may be the first half of a line end stays with the second.
            let cut = ends.unwrap_or_else(|| {
                let cut = whole_chars(chunk);
                cut - usize::from(chunk[..cut].ends_with(b"\r"))
            });
            let text = valid(&chunk[..cut])?;
            let text = if ends.is_some() { trimmed(text) } else { text };
            let lead_here = if at == line { 0 } else { text.floor_char_boundary(lead) };
            let next = text.floor_char_boundary(cut.saturating_sub(overlap + lead));
            let again = if ends.is_some() { text.len() } else { text.floor_char_boundary(next + lead) };
            let shown = Piece { line, at: at - line, text, lead: lead_here, again, last: ends.is_some() };
            if each(shown).is_break() {
                return Ok(None);
            }
            if let Some(ends) = ends {
                return Ok(Some(at + ends as u64));
            }
            at += next.max(1) as u64;
        }
    }
}

/// Whether a character begins with this byte.
fn starts(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

/// How many characters begin in these bytes.
fn chars_in(bytes: &[u8]) -> u64 {
    let from = bytes.iter().position(|byte| starts(*byte)).unwrap_or(bytes.len());
    let bytes = &bytes[from..];
    let whole = match str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) => error.valid_up_to(),
    };
    let counted = str::from_utf8(&bytes[..whole]).map_or(0, |text| text.chars().count());
    (counted + bytes[whole..].iter().filter(|byte| starts(**byte)).count()) as u64
}

/// So many bytes from the beginning are whole characters, if they are characters at all.
fn whole_chars(bytes: &[u8]) -> usize {
    let Some(last) = (bytes.len().saturating_sub(4)..bytes.len()).rev().find(|at| starts(bytes[*at])) else {
        return bytes.len();
    };
    let width = match bytes[last] {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    };
    if last + width > bytes.len() { last } else { bytes.len() }
}

fn valid(bytes: &[u8]) -> io::Result<&str> {
    str::from_utf8(bytes).map_err(|_| changed())
}

/// The file of an output is not what was written.
pub(super) fn changed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "its file was changed")
}
