//! Text synchronisation: changes as editors send them, against a plain string.

use super::parts::{BETWEEN, texts};
use ropewalk::text::{Encoding, LineBreaks, Position, Range};
use ropewalk::workspace::Documents;
use ropewalk::workspace::documents::{ContentChange, Counting, Sync};
use ropewalk::workspace::paths::Key;

/// The first byte says how the two sides count. Then the text, and changes: a byte, four for a range, and the new text.
pub fn text_sync(data: &[u8]) {
    let Some((&how, data)) = data.split_first() else { return };
    let encoding = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32][usize::from(how % 3)];
    let breaks = if how & 0x10 == 0 { LineBreaks::Lf } else { LineBreaks::Lsp };
    let mut parts = data.split(|byte| *byte == BETWEEN);
    let mut plain = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let documents = Documents::new();
    documents.count_as(Counting { encoding, breaks });
    let key = documents.open(Key::Unnamed("untitled:a".to_owned()), "untitled:a", "text", 0, &plain);
    let (mut sound, mut version) = (true, 0);
    let mut waiting = Vec::new();
    for part in parts.take(64) {
        let (head, text) = part.split_at(part.len().min(5));
        let at = |index: usize| number(head.get(index).copied().unwrap_or_default());
        let range = Range { start: Position::new(at(1), at(2)), end: Position::new(at(3), at(4)) };
        let [text] = texts::<1>(text);
        let kind = head.first().copied().unwrap_or_default();
        let range = (kind % 16 != 0).then_some(range);
        match range {
            None => (plain, sound) = (text.clone().into_owned(), true),
            Some(range) => sound &= change(&mut plain, range, &text, encoding, breaks),
        }
        waiting.push(ContentChange { range, text: text.into_owned() });
        // Several changes may come in one message.
        if kind & 0x40 == 0 {
            version += 1;
            documents.change(&key, version, std::mem::take(&mut waiting));
            check(&documents, &key, &plain, sound);
        }
    }
    documents.change(&key, version + 1, waiting);
    check(&documents, &key, &plain, sound);
    let text = documents.get(&key).expect("it is open").text;
    assert_eq!(text.line_count(), lines(&plain, breaks).len());
    // There and back: each boundary has a position that leads to it, and the middle of a CRLF one of its own or that of
    // its start.
    for (byte, _) in plain.char_indices().chain([(plain.len(), ' ')]) {
        let (back, _) = text.byte_of(text.position_of(byte, encoding), encoding);
        let inside = byte > 0 && plain.as_bytes()[byte - 1..].starts_with(b"\r\n");
        assert!(back == byte || inside && back == byte - 1, "{byte} became {back} in {plain:?}");
    }
}

/// Small numbers are lines and characters; the largest is beyond any text.
fn number(byte: u8) -> u32 {
    if byte == 0xfe { u32::MAX } else { u32::from(byte % 48) }
}

fn check(documents: &Documents, key: &Key, plain: &str, sound: bool) {
    let snapshot = documents.get(key).expect("it is open");
    assert_eq!(snapshot.text.to_string(), plain);
    assert_eq!(snapshot.text.len(), plain.len());
    assert_eq!(snapshot.trust == Sync::Good, sound, "{:?}", snapshot.trust);
}

/// Replaces a range of a plain string; whether the range was one.
fn change(plain: &mut String, range: Range, new: &str, encoding: Encoding, breaks: LineBreaks) -> bool {
    let (start, first) = byte_of(plain, range.start, encoding, breaks);
    let (end, second) = byte_of(plain, range.end, encoding, breaks);
    plain.replace_range(start.min(end)..start.max(end), new);
    first && second && range.start <= range.end
}

/// The lines of a text, without their ends: first byte and the byte behind the last.
fn lines(text: &str, breaks: LineBreaks) -> Vec<(usize, usize)> {
    let (mut found, mut start, bytes) = (Vec::new(), 0, text.as_bytes());
    for (at, byte) in bytes.iter().enumerate() {
        let lone = *byte == b'\r' && breaks == LineBreaks::Lsp && bytes.get(at + 1) != Some(&b'\n');
        if *byte == b'\n' || lone {
            let end = if *byte == b'\n' && at > start && bytes[at - 1] == b'\r' { at - 1 } else { at };
            found.push((start, end));
            start = at + 1;
        }
    }
    found.push((start, text.len()));
    found
}

/// The byte of a position, past the end as editors take it, and whether it is on a character.
fn byte_of(text: &str, position: Position, encoding: Encoding, breaks: LineBreaks) -> (usize, bool) {
    let lines = lines(text, breaks);
    let Some(&(start, end)) = lines.get(position.line as usize) else { return (text.len(), true) };
    let mut left = position.character as usize;
    for (at, character) in text[start..end].char_indices() {
        let units = match encoding {
            Encoding::Utf8 => character.len_utf8(),
            Encoding::Utf16 => character.len_utf16(),
            Encoding::Utf32 => 1,
        };
        if left < units {
            return (start + at, left == 0);
        }
        left -= units;
    }
    // Where only LF ends a line, the CR before it is a character that a position can be behind.
    let behind_cr = left == 1 && breaks == LineBreaks::Lf && text[end..].starts_with("\r\n");
    (end + usize::from(behind_cr), true)
}
