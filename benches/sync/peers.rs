//! The plain ways to follow an editor: a `String`, and a rope with nothing round it. Both believe every position.

use ropewalk::text::Position;
use ropewalk::workspace::documents::ContentChange;
use ropey::Rope;

/// A string in which a position is found by walking to it: line by line, then UTF-16 unit by UTF-16 unit.
pub(crate) struct Walked {
    pub(crate) text: String,
}

impl Walked {
    pub(crate) fn new(text: &str) -> Walked {
        Walked { text: text.to_owned() }
    }

    pub(crate) fn change(&mut self, change: &ContentChange) {
        match change.range {
            None => change.text.clone_into(&mut self.text),
            Some(range) => {
                let (start, end) = (self.offset(range.start), self.offset(range.end));
                self.text.replace_range(start..end, &change.text);
            }
        }
    }

    fn offset(&self, position: Position) -> usize {
        let start = match position.line.checked_sub(1) {
            None => 0,
            Some(before) => memchr::memchr_iter(b'\n', self.text.as_bytes())
                .nth(before as usize)
                .map_or(self.text.len(), |at| at + 1),
        };
        let mut units = position.character as usize;
        let mut offset = start;
        for char in self.text[start..].chars() {
            if units == 0 || char == '\n' {
                break;
            }
            units = units.saturating_sub(char.len_utf16());
            offset += char.len_utf8();
        }
        offset
    }
}

/// The rope that the mirror is made of.
pub(crate) struct Plain {
    pub(crate) rope: Rope,
}

impl Plain {
    pub(crate) fn new(text: &str) -> Plain {
        Plain { rope: Rope::from_str(text) }
    }

    pub(crate) fn change(&mut self, change: &ContentChange) {
        match change.range {
            None => self.rope = Rope::from_str(&change.text),
            Some(range) => {
                let (start, end) = (self.char(range.start), self.char(range.end));
                self.rope.remove(start..end);
                self.rope.insert(start, &change.text);
            }
        }
    }

    fn char(&self, position: Position) -> usize {
        let line = self.rope.line_to_char(position.line as usize);
        let units = self.rope.char_to_utf16_cu(line) + position.character as usize;
        self.rope.utf16_cu_to_char(units)
    }
}
