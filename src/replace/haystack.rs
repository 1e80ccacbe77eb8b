//! A text prepared once for all strategies: each form of it is made when the first strategy asks for it, in one scan.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::indent::{self, Style};
use super::keys::{collapsed_key, dedented_key, trimmed_key};
use super::lines::{Lines, blank};
use super::typographic::Plain;
use super::words;
use crate::text::{BOM, LineEnds};

/// A text and its forms. Offsets are bytes of the body, which is the text without its byte order mark.
pub(super) struct Haystack<'a> {
    /// The text without its byte order mark.
    pub(super) body: &'a str,
    /// Bytes of the byte order mark: 0 or 3.
    pub(super) base: usize,
    flat: OnceCell<Flat<'a>>,
    lines: OnceCell<Lines<'a>>,
    ends: OnceCell<LineEnds>,
    trimmed: OnceCell<Vec<u64>>,
    dedented: OnceCell<Vec<u64>>,
    collapsed: OnceCell<Vec<u64>>,
    squeezed: OnceCell<Squeezed>,
    solid: OnceCell<Solid>,
    plain: OnceCell<Option<Plain>>,
    style: OnceCell<Style>,
    words: RefCell<HashMap<String, Rc<[usize]>>>,
}

/// The lines that are not blank.
pub(super) struct Solid {
    /// Their numbers, 0-based.
    pub(super) lines: Vec<usize>,
    /// A hash of each without white space at its ends.
    pub(super) keys: Vec<u64>,
}

impl<'a> Haystack<'a> {
    /// Takes a text; nothing is computed yet.
    pub(super) fn new(text: &'a str) -> Haystack<'a> {
        let body = text.strip_prefix(BOM).unwrap_or(text);
        Haystack {
            body,
            base: text.len() - body.len(),
            flat: OnceCell::new(),
            lines: OnceCell::new(),
            ends: OnceCell::new(),
            trimmed: OnceCell::new(),
            dedented: OnceCell::new(),
            collapsed: OnceCell::new(),
            squeezed: OnceCell::new(),
            solid: OnceCell::new(),
            plain: OnceCell::new(),
            style: OnceCell::new(),
            words: RefCell::default(),
        }
    }

    /// The body with LF for every line end.
    pub(super) fn flat(&self) -> &Flat<'a> {
        self.flat.get_or_init(|| Flat::of(self.body))
    }

    /// The table of lines.
    pub(super) fn lines(&self) -> &Lines<'a> {
        self.lines.get_or_init(|| Lines::of(self.body))
    }

    /// Which line ends the body uses.
    pub(super) fn ends(&self) -> LineEnds {
        *self.ends.get_or_init(|| LineEnds::of(self.body))
    }

    /// A hash of each line without white space at its ends.
    pub(super) fn trimmed(&self) -> &[u64] {
        self.trimmed.get_or_init(|| self.lines().contents().map(trimmed_key).collect())
    }

    /// A hash of each line without its indentation; all blank lines have the same.
    pub(super) fn dedented(&self) -> &[u64] {
        self.dedented.get_or_init(|| self.lines().contents().map(dedented_key).collect())
    }

    /// The body with every run of white space as one space.
    pub(super) fn squeezed(&self) -> &Squeezed {
        self.squeezed.get_or_init(|| Squeezed::of(self.body))
    }

    /// A hash of each line with every run of white space as one space, and none at its ends.
    pub(super) fn collapsed(&self) -> &[u64] {
        self.collapsed.get_or_init(|| self.lines().contents().map(collapsed_key).collect())
    }

    /// The lines that are not blank.
    pub(super) fn solid(&self) -> &Solid {
        self.solid.get_or_init(|| {
            let (lines, trimmed, blank_key) = (self.lines(), self.trimmed(), trimmed_key(""));
            let solid = |&line: &usize| trimmed[line] != blank_key || !blank(lines.content(line));
            let count = (0..lines.count()).filter(solid).count();
            let mut table = Solid { lines: Vec::with_capacity(count), keys: Vec::with_capacity(count) };
            for line in (0..lines.count()).filter(solid) {
                table.lines.push(line);
                table.keys.push(trimmed[line]);
            }
            table
        })
    }

    /// The flat body with its look-alikes plain; `None` when it has none.
    pub(super) fn plain(&self) -> Option<&Plain> {
        self.plain.get_or_init(|| Plain::of(&self.flat().text)).as_ref()
    }

    /// What the body indents with.
    pub(super) fn style(&self) -> Style {
        *self.style.get_or_init(|| indent::of_text(self.lines()))
    }

    /// For each word the first places in the body that do not overlap, at most `most`, which is the same in all calls.
    pub(super) fn places_of(&self, words: &[&str], most: usize) -> Vec<Rc<[usize]>> {
        let mut known = self.words.borrow_mut();
        let missing: Vec<&str> = words.iter().copied().filter(|word| !known.contains_key(*word)).collect();
        for (word, places) in missing.iter().zip(words::places(self.body, &missing, most)) {
            known.insert((*word).to_owned(), places.into());
        }
        words.iter().filter_map(|word| known.get(*word).cloned()).collect()
    }
}

/// A text with every run of white space, line ends too, as one space, and the way back.
pub(super) struct Squeezed {
    /// The text.
    pub(super) text: String,
    /// After each run that was longer: the offset in `text`, and in the original.
    shifts: Vec<(usize, usize)>,
}

impl Squeezed {
    fn of(text: &str) -> Squeezed {
        let mut squeezed = Squeezed { text: String::with_capacity(text.len()), shifts: Vec::new() };
        let mut at = 0;
        for piece in text.split_inclusive(char::is_whitespace) {
            let word = piece.trim_end();
            squeezed.text.push_str(word);
            at += piece.len();
            if word.len() < piece.len() {
                if !squeezed.text.ends_with(' ') || !word.is_empty() {
                    squeezed.text.push(' ');
                }
                match squeezed.shifts.last_mut() {
                    Some(last) if last.0 == squeezed.text.len() => last.1 = at,
                    _ => squeezed.shifts.push((squeezed.text.len(), at)),
                }
            }
        }
        squeezed
    }

    /// The offset in the original of what is at an offset of the text: of a space the beginning of its run.
    pub(super) fn original(&self, at: usize) -> usize {
        let after = self.shifts.partition_point(|&(squeezed, _)| squeezed <= at);
        after.checked_sub(1).map_or(at, |last| self.shifts[last].1 + at - self.shifts[last].0)
    }
}

/// A text with LF for every line end, and the way back.
pub(super) struct Flat<'a> {
    /// The text.
    pub(super) text: Cow<'a, str>,
    /// Where CRs are missing: offsets in `text` of the LFs they stood before.
    dropped: Vec<usize>,
}

impl<'a> Flat<'a> {
    /// Flattens a text; borrows it when it has no CRLF.
    pub(super) fn of(text: &'a str) -> Flat<'a> {
        let bytes = text.as_bytes();
        let mut crs = memchr::memchr_iter(b'\r', bytes).filter(|&at| bytes.get(at + 1) == Some(&b'\n')).peekable();
        if crs.peek().is_none() {
            return Flat { text: Cow::Borrowed(text), dropped: Vec::new() };
        }
        let (mut flat, mut dropped, mut from) = (String::with_capacity(text.len()), Vec::new(), 0);
        for cr in crs {
            flat.push_str(&text[from..cr]);
            dropped.push(flat.len());
            from = cr + 1;
        }
        flat.push_str(&text[from..]);
        Flat { text: Cow::Owned(flat), dropped }
    }

    /// The bytes of the original that a range of the flat text stands for. A CRLF is never split: a range that begins
    /// with its LF begins with its CR.
    pub(super) fn original(&self, range: Range<usize>) -> Range<usize> {
        let back = |at: usize| at + self.dropped.partition_point(|&lf| lf < at);
        back(range.start)..back(range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_byte_order_mark_is_not_in_the_body() {
        let haystack = Haystack::new("\u{feff}a\n");
        assert_eq!((haystack.body, haystack.base, haystack.lines().count()), ("a\n", 3, 1));
    }

    proptest! {
        #[test]
        fn squeezed_words_lead_back(text in "[ab \t\r\né]{0,30}") {
            let squeezed = Squeezed::of(&text);
            let plain: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert_eq!(squeezed.text.trim(), plain);
            prop_assert!(!squeezed.text.contains("  "));
            for (at, c) in squeezed.text.char_indices().filter(|&(_, c)| c != ' ') {
                prop_assert!(text[squeezed.original(at)..].starts_with(c));
                prop_assert_eq!(squeezed.original(at + c.len_utf8()), squeezed.original(at) + c.len_utf8());
            }
        }

        #[test]
        fn flat_ranges_lead_back(text in "[ab\r\n]{0,30}", from in 0usize..30, to in 0usize..30) {
            let flat = Flat::of(&text);
            prop_assert_eq!(&*flat.text, text.replace("\r\n", "\n"));
            let (from, to) = (from.min(flat.text.len()), to.min(flat.text.len()));
            let range = from.min(to)..from.max(to);
            let original = flat.original(range.clone());
            prop_assert_eq!(text[original.clone()].replace("\r\n", "\n"), &flat.text[range]);
            let splits = |at: usize| text[..at].ends_with('\r') && text[at..].starts_with('\n');
            prop_assert!(!splits(original.start) && !splits(original.end));
        }
    }
}
