//! [`Text`]: a rope that counts lines as its reader does. Clones are O(1); edits and look-ups O(log n).

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use ropey::{Rope, RopeSlice};

use super::position::{Clamp, Encoding, LineBreaks, Position, Range, TextEdit};
use super::{LineEnds, Splice};

/// An immutable-by-sharing text with exact positions.
///
/// The rope itself ends lines at LF only (the crate is built without its `cr_lines` and `unicode_lines` features).
/// Under [`LineBreaks::Lsp`] lone CRs end lines too; their byte offsets are kept in a sorted list beside the rope,
/// which in real texts is empty.
#[derive(Clone)]
pub struct Text {
    rope: Rope,
    breaks: LineBreaks,
    /// Byte offsets of every CR that no LF follows. Empty under [`LineBreaks::Lf`].
    lone_crs: Arc<Vec<usize>>,
}

impl Text {
    /// A text from a string.
    pub fn new(text: &str, breaks: LineBreaks) -> Text {
        let lone_crs = match breaks {
            LineBreaks::Lf => Vec::new(),
            LineBreaks::Lsp => lone_crs_in(text.as_bytes(), None).collect(),
        };
        Text { rope: Rope::from_str(text), breaks, lone_crs: Arc::new(lone_crs) }
    }

    /// The same text, its lines counted another way.
    #[must_use]
    pub fn with_breaks(&self, breaks: LineBreaks) -> Text {
        if breaks == self.breaks { self.clone() } else { Text::new(&self.to_string(), breaks) }
    }

    /// How this text ends its lines.
    pub fn breaks(&self) -> LineBreaks {
        self.breaks
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.rope.len_bytes()
    }

    /// Whether there is no byte in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The underlying rope.
    pub fn rope(&self) -> &Rope {
        &self.rope
    }

    /// Number of lines; a text that ends with a line end has an empty last line, an empty text has one line.
    pub fn line_count(&self) -> usize {
        self.rope.len_lines() + self.lone_crs.len()
    }

    /// The bytes `range` as a string. The range is clamped to the text and moved outwards to character boundaries.
    pub fn slice(&self, range: std::ops::Range<usize>) -> String {
        let (start, end) = (self.floor(range.start), self.ceil(range.end));
        if start >= end {
            return String::new();
        }
        self.piece(start, end).map_or_else(|| self.rope.byte_slice(start..end).to_string(), str::to_owned)
    }

    /// The bytes from one character boundary to another where they are in one chunk of the rope. A slice of the rope counts
    /// characters, lines and UTF-16 units of what it holds when it is made, which takes longer than what is done with it.
    fn piece(&self, start: usize, end: usize) -> Option<&str> {
        let (chunk, at, ..) = self.rope.chunk_at_byte(start);
        chunk.get(start - at..end.checked_sub(at)?)
    }

    /// The character boundary at or before a byte offset.
    pub fn floor(&self, byte: usize) -> usize {
        let byte = byte.min(self.len());
        let (chunk, at, ..) = self.rope.chunk_at_byte(byte);
        at + chunk.floor_char_boundary(byte - at)
    }

    fn ceil(&self, byte: usize) -> usize {
        let byte = byte.min(self.len());
        let (chunk, at, ..) = self.rope.chunk_at_byte(byte);
        at + chunk.ceil_char_boundary(byte - at)
    }

    /// Byte offset at which a 0-based line starts, or the text's length past the last line.
    pub fn line_start(&self, line: usize) -> usize {
        if line >= self.line_count() {
            return self.len();
        }
        // The line after the j-th lone CR (0-based, at byte c) has the number lf_line(c) + j + 1: rising in j.
        let before = partition(&self.lone_crs, |j, &cr| self.rope.byte_to_line(cr) + j < line);
        match before.checked_sub(1).map(|last| self.lone_crs[last]) {
            Some(cr) if self.rope.byte_to_line(cr) + before == line => cr + 1,
            _ => self.rope.line_to_byte(line - before),
        }
    }

    /// Byte offset of the end of a 0-based line, before its line end.
    pub fn line_end(&self, line: usize) -> usize {
        if line + 1 >= self.line_count() {
            return self.len();
        }
        let next = self.line_start(line + 1);
        let end = next - 1; // an LF or a lone CR, one byte each
        if end > self.line_start(line) && self.rope.byte(end) == b'\n' && self.rope.byte(end - 1) == b'\r' {
            end - 1
        } else {
            end
        }
    }

    /// The 0-based line a byte offset is in.
    pub fn line_of(&self, byte: usize) -> usize {
        let byte = byte.min(self.len());
        self.rope.byte_to_line(byte) + self.lone_crs.partition_point(|&cr| cr < byte)
    }

    /// The content of a 0-based line without its line end.
    pub fn line(&self, line: usize) -> String {
        self.slice(self.line_start(line)..self.line_end(line))
    }

    /// The contents of the lines from a 0-based one on, as [`Text::line`] gives each: in one walk through the text.
    pub fn lines_from(&self, line: usize) -> impl Iterator<Item = Cow<'_, str>> {
        let walk = self.lone_crs.is_empty().then(|| Lines::new(&self.rope, self.line_start(line)));
        let mut walk = walk.filter(|_| line < self.line_count());
        (line..self.line_count()).map(move |line| {
            let walked = walk.as_mut().and_then(Iterator::next);
            walked.unwrap_or_else(|| Cow::Owned(self.line(line)))
        })
    }

    /// The byte offset of a position, and how far the position had to be bent.
    pub fn byte_of(&self, position: Position, encoding: Encoding) -> (usize, Clamp) {
        let line = position.line as usize;
        if line >= self.line_count() {
            return (self.len(), Clamp::PastEnd);
        }
        let (start, end) = (self.line_start(line), self.line_end(line));
        let wanted = position.character as usize;
        if let Some(line) = self.piece(start, end) {
            match offset_in(line, wanted, encoding) {
                Some((byte, true)) => return (start + byte, Clamp::Exact),
                Some((byte, false)) => return (start + byte, Clamp::MidCharacter),
                // Past its end.
                None => {}
            }
        }
        let slice = self.rope.byte_slice(start..end);
        let length = units(slice, encoding);
        if wanted == length + 1 && self.breaks == LineBreaks::Lf && self.splits_crlf(end + 1) {
            // Editors that count LFs show the CR of a mixed file as content, and the user can put the cursor behind it.
            return (end + 1, Clamp::Exact);
        }
        if wanted > length {
            return (end, Clamp::PastEnd);
        }
        let (byte, exact) = unit_to_byte(slice, wanted, encoding);
        (start + byte, if exact { Clamp::Exact } else { Clamp::MidCharacter })
    }

    /// The position of a byte offset; an offset inside a line end counts as that line's end.
    pub fn position_of(&self, byte: usize, encoding: Encoding) -> Position {
        let byte = self.floor(byte);
        let line = self.line_of(byte);
        let start = self.line_start(line);
        let byte = byte.min(self.line_end(line));
        let character = match self.piece(start, byte) {
            Some(before) => units_of(before, encoding),
            None => units(self.rope.byte_slice(start..byte), encoding),
        };
        Position { line: narrow(line), character: narrow(character) }
    }

    /// The positions of a range of bytes.
    pub fn range_of(&self, bytes: std::ops::Range<usize>, encoding: Encoding) -> Range {
        Range { start: self.position_of(bytes.start, encoding), end: self.position_of(bytes.end, encoding) }
    }

    /// A positional edit as a splice, and how far its range had to be bent; a reversed range counts as
    /// [`Clamp::MidCharacter`], since both mean that the two sides disagree.
    pub fn splice_of(&self, edit: &TextEdit, encoding: Encoding) -> (Splice, Clamp) {
        let (start, first) = self.byte_of(edit.range.start, encoding);
        let (end, second) = self.byte_of(edit.range.end, encoding);
        let reversed = edit.range.start > edit.range.end;
        let clamp = if reversed { Clamp::MidCharacter } else { first.max(second) };
        (Splice { range: start.min(end)..start.max(end), text: edit.new_text.clone() }, clamp)
    }

    /// A splice as a positional edit of this text. Only faithful when neither end of the splice is inside a CRLF;
    /// [`Text::widen`] makes it so.
    pub fn edit_of(&self, splice: &Splice, encoding: Encoding) -> TextEdit {
        TextEdit { range: self.range_of(splice.range.clone(), encoding), new_text: splice.text.clone() }
    }

    /// The same changes as edits that positions can address: none ends inside a CRLF, and none touches another.
    /// `splices` rise and do not overlap, and so do the results.
    #[must_use]
    pub fn widened(&self, splices: &[Splice]) -> Vec<Splice> {
        // Those that meet inside a CRLF must be one before they are widened, or both would take the whole line end.
        let whole = joined(splices.iter().cloned());
        joined(whole.iter().map(|splice| self.widen(splice)))
    }

    /// The same change with both ends moved out of any CRLF, which no position can address. For several changes of one
    /// text there is [`Text::widened`].
    #[must_use]
    pub fn widen(&self, splice: &Splice) -> Splice {
        let mut widened = splice.clone();
        if self.splits_crlf(widened.range.start) {
            widened.range.start -= 1;
            widened.text.insert(0, '\r');
        }
        if self.splits_crlf(widened.range.end) {
            widened.range.end += 1;
            widened.text.push('\n');
        }
        widened
    }

    fn splits_crlf(&self, byte: usize) -> bool {
        byte > 0 && byte < self.len() && self.rope.byte(byte) == b'\n' && self.rope.byte(byte - 1) == b'\r'
    }

    /// Applies one splice. Offsets past the end are clamped, and offsets inside a character moved outwards.
    pub fn splice(&mut self, splice: &Splice) {
        let (start, end) = (self.floor(splice.range.start), self.ceil(splice.range.end));
        let (first, last) = (self.rope.byte_to_char(start), self.rope.byte_to_char(end));
        if first < last {
            self.rope.remove(first..last);
        }
        if !splice.text.is_empty() {
            self.rope.insert(first, &splice.text);
        }
        if self.breaks == LineBreaks::Lsp {
            self.recount_crs(start, end, splice.text.len());
        }
    }

    /// Applies splices that all refer to this text and do not overlap, in any order.
    #[must_use]
    pub fn spliced(&self, splices: &[Splice]) -> Text {
        let mut order: Vec<&Splice> = splices.iter().collect();
        order.sort_by_key(|splice| (splice.range.start, splice.range.end));
        let mut text = self.clone();
        for splice in order.into_iter().rev() {
            text.splice(splice);
        }
        text
    }

    /// The line ends this text uses.
    pub fn line_ends(&self) -> LineEnds {
        LineEnds::of_chunks(self.rope.chunks())
    }

    /// Whether both hold the same text, taking CRLF and LF for equal and a final line end for optional: editors change
    /// both on their own when they apply an edit.
    pub fn same_lines(&self, other: &Text) -> bool {
        // Mostly they are the same to the byte as far as they go on alike, which is seen many bytes at once. A CR at the end
        // of that may have its LF in one of them only.
        let mut same = same_bytes(&self.rope, &other.rope);
        if same == self.len() && same == other.len() {
            return true;
        }
        if same > 0 && self.rope.byte(same - 1) == b'\r' {
            same -= 1;
        }
        let (mut left, mut right) = (Normalised::new(&self.rope, same), Normalised::new(&other.rope, same));
        loop {
            match (left.next(), right.next()) {
                (None, None) => return true,
                (Some(a), Some(b)) if a == b => {}
                (Some(b'\n'), None) => return left.next().is_none(),
                (None, Some(b'\n')) => return right.next().is_none(),
                _ => return false,
            }
        }
    }

    /// Brings the list of lone CRs up to date after the bytes `start..end` gave way to `inserted` bytes.
    fn recount_crs(&mut self, start: usize, end: usize, inserted: usize) {
        // A CR just before the splice may have gained or lost its LF, so it is looked at again.
        let from = start.saturating_sub(1);
        let (low, high) =
            (self.lone_crs.partition_point(|&cr| cr < from), self.lone_crs.partition_point(|&cr| cr < end));
        let to = start + inserted;
        let base = self.floor(from);
        let bytes = self.slice(from..to).into_bytes();
        let follows = (to < self.len()).then(|| self.rope.byte(to));
        let found: Vec<usize> =
            lone_crs_in(&bytes, follows).map(|at| base + at).filter(|&at| at >= from && at < to).collect();
        if found.is_empty() && low == self.lone_crs.len() {
            return;
        }
        let list = Arc::make_mut(&mut self.lone_crs);
        let tail: Vec<usize> = list[high..].iter().map(|cr| cr + inserted + start - end).collect();
        list.truncate(low);
        list.extend(found);
        list.extend(tail);
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rope.chunks().try_for_each(|chunk| f.write_str(chunk))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Text({:?}, {:?})", self.breaks, self.to_string())
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        self.rope == other.rope
    }
}

impl Eq for Text {}

/// The lines of a rope from the beginning of one on, where only LFs end lines.
struct Lines<'a> {
    chunks: ropey::iter::Chunks<'a>,
    /// What is left of the chunk that the walk is in.
    rest: &'a str,
    /// The last line was given.
    ended: bool,
}

impl<'a> Lines<'a> {
    fn new(rope: &'a Rope, byte: usize) -> Lines<'a> {
        let (mut chunks, at, ..) = rope.chunks_at_byte(byte);
        let first = chunks.next().unwrap_or_default();
        Lines { chunks, rest: first.get(byte - at..).unwrap_or_default(), ended: false }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Cow<'a, str>;

    fn next(&mut self) -> Option<Cow<'a, str>> {
        if self.ended {
            return None;
        }
        let mut before = String::new();
        loop {
            let Some(end) = memchr::memchr(b'\n', self.rest.as_bytes()) else {
                // A line that goes on in the next chunk, or the last one.
                let Some(next) = self.chunks.next() else {
                    self.ended = true;
                    return Some(joined_line(before, std::mem::take(&mut self.rest)));
                };
                before.push_str(self.rest);
                self.rest = next;
                continue;
            };
            let (line, rest) = self.rest.split_at(end);
            self.rest = &rest[1..];
            return Some(match joined_line(before, line) {
                Cow::Borrowed(line) => Cow::Borrowed(line.strip_suffix('\r').unwrap_or(line)),
                Cow::Owned(mut line) => {
                    if line.ends_with('\r') {
                        line.pop();
                    }
                    Cow::Owned(line)
                }
            });
        }
    }
}

/// A line of which the beginning, if there is any, was in other chunks.
fn joined_line(before: String, rest: &str) -> Cow<'_, str> {
    if before.is_empty() { Cow::Borrowed(rest) } else { Cow::Owned(before + rest) }
}

/// The bytes of a rope with CRLF read as LF.
struct Normalised<'a> {
    bytes: std::iter::Peekable<ropey::iter::Bytes<'a>>,
}

impl<'a> Normalised<'a> {
    /// From a byte offset on.
    fn new(rope: &'a Rope, from: usize) -> Normalised<'a> {
        Normalised { bytes: rope.bytes_at(from).peekable() }
    }
}

impl Iterator for Normalised<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        match self.bytes.next()? {
            b'\r' if self.bytes.peek() == Some(&b'\n') => self.bytes.next(),
            byte => Some(byte),
        }
    }
}

/// How many bytes are the same at the beginning of both.
fn same_bytes(left: &Rope, right: &Rope) -> usize {
    let (mut lefts, mut rights) = (left.chunks(), right.chunks());
    let (mut a, mut b): (&[u8], &[u8]) = (&[], &[]);
    let mut same = 0;
    loop {
        if a.is_empty() {
            let Some(next) = lefts.next() else { return same };
            a = next.as_bytes();
        }
        if b.is_empty() {
            let Some(next) = rights.next() else { return same };
            b = next.as_bytes();
        }
        let len = a.len().min(b.len());
        if a[..len] != b[..len] {
            return same + a.iter().zip(b).take_while(|(a, b)| a == b).count();
        }
        same += len;
        (a, b) = (&a[len..], &b[len..]);
    }
}

/// Rising splices with those that touch made one.
fn joined(splices: impl Iterator<Item = Splice>) -> Vec<Splice> {
    let mut joined: Vec<Splice> = Vec::new();
    for splice in splices {
        match joined.last_mut() {
            Some(last) if last.range.end == splice.range.start => {
                last.range.end = splice.range.end;
                last.text.push_str(&splice.text);
            }
            _ => joined.push(splice),
        }
    }
    joined
}

fn lone_crs_in(bytes: &[u8], follows: Option<u8>) -> impl Iterator<Item = usize> + '_ {
    memchr::memchr_iter(b'\r', bytes).filter(move |&at| bytes.get(at + 1).copied().or(follows) != Some(b'\n'))
}

/// `partition_point` that also sees the index.
fn partition<T>(list: &[T], holds: impl Fn(usize, &T) -> bool) -> usize {
    let (mut low, mut high) = (0, list.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        if holds(middle, &list[middle]) { low = middle + 1 } else { high = middle }
    }
    low
}

fn units(slice: RopeSlice<'_>, encoding: Encoding) -> usize {
    match encoding {
        Encoding::Utf8 => slice.len_bytes(),
        Encoding::Utf16 => slice.len_utf16_cu(),
        Encoding::Utf32 => slice.len_chars(),
    }
}

/// [`units`] of a string.
fn units_of(text: &str, encoding: Encoding) -> usize {
    match encoding {
        Encoding::Utf8 => text.len(),
        Encoding::Utf16 => text.chars().map(char::len_utf16).sum(),
        Encoding::Utf32 => text.chars().count(),
    }
}

/// [`unit_to_byte`] of a string; `None`: the string is shorter.
fn offset_in(text: &str, unit: usize, encoding: Encoding) -> Option<(usize, bool)> {
    if encoding == Encoding::Utf8 {
        let byte = (unit <= text.len()).then(|| text.floor_char_boundary(unit))?;
        return Some((byte, byte == unit));
    }
    let mut before = 0;
    for (byte, char) in text.char_indices() {
        let after = before + if encoding == Encoding::Utf16 { char.len_utf16() } else { 1 };
        if unit < after {
            return Some((byte, unit == before));
        }
        before = after;
    }
    (unit == before).then_some((text.len(), true))
}

/// The byte offset of a unit offset that is within the slice, and whether it was on a character boundary (if not: the
/// start of the character it is inside).
fn unit_to_byte(slice: RopeSlice<'_>, unit: usize, encoding: Encoding) -> (usize, bool) {
    match encoding {
        Encoding::Utf8 => {
            let byte = slice.char_to_byte(slice.byte_to_char(unit));
            (byte, byte == unit)
        }
        Encoding::Utf16 => {
            let char = slice.utf16_cu_to_char(unit);
            (slice.char_to_byte(char), slice.char_to_utf16_cu(char) == unit)
        }
        Encoding::Utf32 => (slice.char_to_byte(unit), true),
    }
}

/// Lines and characters fit the wire's 32 bits for any text below 4 GiB; beyond that they stick to the maximum.
fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
