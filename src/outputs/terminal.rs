//! What a terminal would show in the end of what commands write to it: control sequences do nothing to a text but move
//! and erase in the line they stand in, and a line that is written over again and again is there once, in its last state.
//! Pure.

/// A line is held so long (bytes) for what may yet be written over it; the beginning of a longer one stays as it is.
const LINE: usize = 8 * 1024;

/// A control sequence is never longer (bytes), and a control string never than this; what is, is none.
const SEQUENCE: usize = 64;
const STRING: usize = 4 * 1024;

/// Two streams that go to one terminal: what is shown of them, in the order in which it was written.
#[derive(Debug, Default)]
pub struct Plain {
    sources: [Sequences; 2],
    line: Line,
    /// Whose line it is.
    writer: usize,
}

impl Plain {
    /// One of the streams (0 or 1) writes. `shown` is given what is settled by now, with its stream. Where the other one
    /// had begun a line, that part of the line is settled.
    pub fn push(&mut self, stream: usize, text: &str, shown: &mut impl FnMut(usize, &str)) {
        let stream = stream.min(1);
        if text.is_empty() {
            return;
        }
        if stream != self.writer {
            let writer = self.writer;
            self.line.settle(&mut |text| shown(writer, text));
            self.writer = stream;
        }
        let line = &mut self.line;
        self.sources[stream].read(text, &mut |act| line.act(act, &mut |text| shown(stream, text)));
    }

    /// What is shown by now of the line that may still be written over.
    pub fn open(&self) -> &str {
        &self.line.text
    }

    /// Nothing comes any more.
    pub fn finish(&mut self, shown: &mut impl FnMut(usize, &str)) {
        for stream in [self.writer, 1 - self.writer] {
            let held = self.sources[stream].finish();
            self.push(stream, &held, shown);
        }
        let writer = self.writer;
        self.line.settle(&mut |text| shown(writer, text));
    }
}

/// What is shown of a text in the end.
pub fn plain(text: &str) -> String {
    let (mut plain, mut out) = (Plain::default(), String::with_capacity(text.len()));
    plain.push(0, text, &mut |_, text| out.push_str(text));
    plain.finish(&mut |_, text| out.push_str(text));
    out
}

/// What a piece of a stream does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act<'a> {
    /// It writes text, line ends included.
    Text(&'a str),
    /// It goes to a column (0-based).
    Column(usize),
    /// It goes so many columns to the right.
    Right(usize),
    /// It goes so many columns to the left.
    Left(usize),
    /// It erases from here to the end of the line.
    EraseRest,
    /// It erases from the beginning of the line to here.
    EraseBefore,
    /// It erases the line.
    EraseLine,
}

/// Reads one stream: tells text from control sequences, which may be cut anywhere.
#[derive(Debug, Default)]
struct Sequences {
    state: State,
    /// What has come of a sequence so far, without what begins it.
    held: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and a character that one more belongs to.
    One,
    /// After ESC `[`.
    Control,
    /// After ESC `]` and its like, until the end of the string.
    String,
    /// In such a string after ESC.
    StringEscape,
}

/// Whether a character is more than a text that goes on.
fn special(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
}

impl Sequences {
    fn read(&mut self, text: &str, act: &mut impl FnMut(Act<'_>)) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.state == State::Text {
                let end = plain_end(rest);
                if end > 0 {
                    act(Act::Text(&rest[..end]));
                    rest = &rest[end..];
                    continue;
                }
            }
            let Some(c) = rest.chars().next() else { return };
            // One that ends a sequence without belonging to it is read again as text.
            if self.take(c, act) {
                rest = &rest[c.len_utf8()..];
            }
        }
    }

    /// Takes a character; answers whether it was taken. One that ends a sequence without being a part of it was not.
    fn take(&mut self, c: char, act: &mut impl FnMut(Act<'_>)) -> bool {
        match self.state {
            State::Text => self.control(c, act),
            State::Escape => match c {
                '\u{1b}' => {}
                '[' => self.begin(State::Control),
                ']' | 'P' | 'X' | '^' | '_' => self.begin(State::String),
                ' '..='/' => self.state = State::One,
                c => {
                    self.state = State::Text;
                    return !c.is_control();
                }
            },
            State::One => {
                self.state = State::Text;
                return !c.is_control();
            }
            State::Control => match c {
                ' '..='?' if self.held.len() < SEQUENCE => self.held.push(c),
                '@'..='~' => {
                    self.state = State::Text;
                    self.sequence(c, act);
                }
                c if c.is_control() => {
                    self.state = State::Text;
                    return false;
                }
                _ => return self.give_up(act),
            },
            State::String => match c {
                '\u{7}' | '\u{9c}' => self.state = State::Text,
                '\u{1b}' => self.state = State::StringEscape,
                c if c != '\n' && self.held.len() < STRING => self.held.push(c),
                _ => return self.give_up(act),
            },
            State::StringEscape if c == '\\' => self.state = State::Text,
            // It was ended by another sequence.
            State::StringEscape => {
                self.state = State::Escape;
                return false;
            }
        }
        true
    }

    fn begin(&mut self, state: State) {
        self.state = state;
        self.held.clear();
    }

    /// What was taken for a sequence is none: it is text, without what began it.
    fn give_up(&mut self, act: &mut impl FnMut(Act<'_>)) -> bool {
        self.state = State::Text;
        let held: String = self.held.drain(..).filter(|c| !special(*c)).collect();
        act(Act::Text(&held));
        false
    }

    /// Nothing comes any more: a string that did not end was none.
    fn finish(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        match std::mem::take(&mut self.state) {
            State::String => held.chars().filter(|c| !special(*c)).collect(),
            _ => String::new(),
        }
    }

    /// A control character in text.
    fn control(&mut self, c: char, act: &mut impl FnMut(Act<'_>)) {
        match c {
            '\u{1b}' => self.state = State::Escape,
            '\u{9b}' => self.begin(State::Control),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => self.begin(State::String),
            '\r' => act(Act::Column(0)),
            '\u{8}' => act(Act::Left(1)),
            // It separates names in some outputs, which must not run together.
            '\0' => act(Act::Text("\u{2400}")),
            '\u{b}' | '\u{c}' | '\u{85}' => act(Act::Text("\n")),
            _ => {}
        }
    }

    /// A control sequence that ends with `last`.
    fn sequence(&self, last: char, act: &mut impl FnMut(Act<'_>)) {
        let first = self.held.split(';').next().unwrap_or_default();
        let number = first.parse::<usize>().ok();
        let count = number.unwrap_or(1).max(1);
        match (last, number.unwrap_or(0)) {
            ('G' | '`', _) => act(Act::Column(count - 1)),
            ('C' | 'a', _) => act(Act::Right(count)),
            ('D', _) => act(Act::Left(count)),
            ('K' | 'J', 0) => act(Act::EraseRest),
            ('K', 1) => act(Act::EraseBefore),
            ('K', 2) => act(Act::EraseLine),
            _ => {}
        }
    }
}

/// Where the text at the beginning of a piece ends (a byte offset): before what is more than text.
fn plain_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut from = 0;
    // 0xc2 begins the characters from U+0080 on, of which the first are control characters.
    while let Some(at) = bytes[from..]
        .iter()
        .position(|byte| *byte < 0x20 && !matches!(byte, b'\n' | b'\t') || matches!(byte, 0x7f | 0xc2))
    {
        let at = from + at;
        if bytes[at] != 0xc2 || bytes.get(at + 1).is_some_and(|next| *next < 0xa0) {
            return at;
        }
        from = at + 2;
    }
    bytes.len()
}

/// The line that is being written, and where in it.
#[derive(Debug, Default)]
struct Line {
    text: String,
    /// The column (0-based, in characters); `None`: at the end.
    column: Option<usize>,
}

impl Line {
    fn act(&mut self, act: Act<'_>, shown: &mut impl FnMut(&str)) {
        match act {
            Act::Text(text) => self.write(text, shown),
            Act::Column(column) => self.go(column),
            Act::Right(count) => self.go(self.here().saturating_add(count)),
            Act::Left(count) => self.go(self.here().saturating_sub(count)),
            Act::EraseRest => {
                if let Some(column) = self.column {
                    self.text.truncate(self.byte(column));
                    self.go(column);
                }
            }
            Act::EraseBefore => {
                let column = self.here();
                let end = self.byte(column);
                let blank = " ".repeat(self.text[..end].chars().count());
                self.text.replace_range(..end, &blank);
                self.go(column);
            }
            Act::EraseLine => {
                let column = self.here();
                self.text.clear();
                self.go(column);
            }
        }
    }

    /// The column, whether at the end or not.
    fn here(&self) -> usize {
        self.column.unwrap_or_else(|| self.text.chars().count())
    }

    /// The byte offset of a column, or of the end.
    fn byte(&self, column: usize) -> usize {
        self.text.char_indices().nth(column).map_or(self.text.len(), |(at, _)| at)
    }

    fn go(&mut self, column: usize) {
        let column = column.min(LINE);
        self.column = Some(column).filter(|column| *column != self.text.chars().count());
    }

    fn write(&mut self, text: &str, shown: &mut impl FnMut(&str)) {
        let mut rest = text;
        while let Some(column) = self.column {
            let end = rest.find('\n').unwrap_or(rest.len());
            self.write_over(column, &rest[..end]);
            if end == rest.len() {
                self.bound(shown);
                return;
            }
            self.text.push('\n');
            self.settle(shown);
            rest = &rest[end + 1..];
        }
        let end = memchr::memrchr(b'\n', rest.as_bytes()).map_or(0, |at| at + 1);
        if end > 0 {
            self.settle(shown);
            shown(&rest[..end]);
        }
        self.text.push_str(&rest[end..]);
        self.bound(shown);
    }

    /// Nothing is written over what is too far back.
    fn bound(&mut self, shown: &mut impl FnMut(&str)) {
        if self.column.is_none() && self.text.len() > LINE {
            self.settle(shown);
        }
    }

    /// Writes text without line ends at a column.
    fn write_over(&mut self, column: usize, text: &str) {
        if text.is_empty() {
            return;
        }
        let there = self.text.chars().count();
        self.text.extend(std::iter::repeat_n(' ', column.saturating_sub(there)));
        let count = text.chars().count();
        let (start, end) = (self.byte(column), self.byte(column.saturating_add(count)));
        self.text.replace_range(start..end, text);
        self.column = Some(column + count).filter(|column| *column < self.text.chars().count());
    }

    /// What there is of the line is what it will be; a new one begins.
    fn settle(&mut self, shown: &mut impl FnMut(&str)) {
        if !self.text.is_empty() {
            shown(&self.text);
        }
        self.text.clear();
        self.column = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_state_of_each_line_is_shown() {
        for (written, shown) in [
            ("", ""),
            ("a\nb\n", "a\nb\n"),
            ("no end", "no end"),
            ("dos\r\nlines\r\n", "dos\nlines\n"),
            // Colours, titles, links, character sets, modes.
            ("\x1b[1;31mred\x1b[0m plain\x1b(B\n", "red plain\n"),
            ("\x1b]0;a title\x07text\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "textlink\n"),
            ("\u{9b}31mred\u{9d}title\u{9c}\n", "red\n"),
            ("\x1b[?25l\x1b[?25h\x1b=\x1b>\x1b7x\x1b8\n", "x\n"),
            ("\x1bPdevice\x1b\\x\x1b_app\x1b\\\n", "x\n"),
            // Progress.
            (" 10%\r 50%\r100%\n", "100%\n"),
            ("long line\rshort\n", "shortline\n"),
            ("long line\r\x1b[Kshort\n", "short\n"),
            ("long line\x1b[2K\rshort\n", "short\n"),
            ("working\x1b[1Gdone\x1b[K\n", "done\n"),
            ("abc\x1b[2Dx\x1b[Cy\n", "axcy\n"),
            ("abc\r\x1b[1Kx\n", "xbc\n"),
            ("ab\x1b[1Kc\n", "  c\n"),
            ("é€😀\rab\n", "ab😀\n"),
            ("bar\r", "bar"),
            ("\rbar\r\r\n", "bar\n"),
            // Overstrike, as manual pages are printed, and a spinner.
            ("b\x08bo\x08ol\x08ld _\x08u_\x08n\n", "bold un\n"),
            ("|\x08/\x08-\x08\\\x08 \n", " \n"),
            ("\x08\x08a\n", "a\n"),
            // What is heard, and what separates.
            ("a\x07b\x7f\u{84}c\0d\x0be\n", "abc\u{2400}d\ne\n"),
            ("a\tb\u{a0}c\u{e9}\n", "a\tb\u{a0}c\u{e9}\n"),
            // What is no sequence loses nothing but what began it.
            ("\x1b]never ended\nnext\n", "never ended\nnext\n"),
            ("\x1b]at the end", "at the end"),
            ("\x1b[31", ""),
            ("\x1b[12é\n", "12é\n"),
            ("\x1b\nx\x1b[3\ny\x1b(\nz\n", "\nx\ny\nz\n"),
            ("\x1b]a\x1b[1mb\n", "b\n"),
        ] {
            assert_eq!(plain(written), shown, "{written:?}");
        }
    }

    #[test]
    fn what_is_longer_than_a_sequence_or_a_line_is_text() {
        let long = "x".repeat(STRING + 1);
        assert_eq!(plain(&format!("\x1b]{long}\n")), format!("{long}\n"));
        let digits = "1".repeat(SEQUENCE + 9);
        assert_eq!(plain(&format!("\x1b[{digits}m\n")), format!("{digits}m\n"));
        let line = "y".repeat(LINE + 1);
        assert_eq!(plain(&format!("{line}\rz\n")), format!("{line}z\n"));
        // No number makes a line longer than is held.
        assert!(plain("\x1b[99999999999Cx\x1b[99999999999999999999999Gy\n").len() <= LINE + 8);
    }

    #[test]
    fn two_streams_are_shown_as_they_come() {
        let (mut plain, mut out) = (Plain::default(), Vec::new());
        let mut shown = |stream: usize, text: &str| out.push((stream, text.to_owned()));
        for (stream, text) in
            [(0, "Name: "), (1, "warning\x1b[3"), (0, "x\n 1%"), (1, "1m!\n"), (0, "\r 2%\r 3%\n"), (1, ""), (1, "end")]
        {
            plain.push(stream, text, &mut shown);
        }
        plain.finish(&mut shown);
        let expected = [(0, "Name: "), (1, "warning"), (0, "x\n"), (0, " 1%"), (1, "!\n"), (0, " 3%\n"), (1, "end")];
        assert_eq!(out, expected.map(|(stream, text)| (stream, text.to_owned())));
    }

    proptest! {
        #[test]
        fn in_pieces_it_is_what_it_is_at_once(
            parts in prop::collection::vec(prop::sample::select(vec![
                "a", "é", "\n", "\r", "\x08", "\x1b", "[", "3", "K", "]", "\x07", "\\", "\u{9b}", "\0", "\t", "G", ";", "xyz",
            ]), 0..40),
            cuts in prop::collection::vec(1usize..4, 0..40),
        ) {
            let written = parts.concat();
            let (mut pieces, mut out, mut rest) = (Plain::default(), String::new(), written.as_str());
            for cut in cuts.into_iter().chain([usize::MAX]) {
                let at = rest.floor_char_boundary(cut);
                pieces.push(0, &rest[..at], &mut |_, text| out.push_str(text));
                rest = &rest[at..];
            }
            pieces.push(0, rest, &mut |_, text| out.push_str(text));
            pieces.finish(&mut |_, text| out.push_str(text));
            prop_assert_eq!(&out, &plain(&written));
            prop_assert!(!out.contains(special), "{:?}", out);
            // Nothing is left to be done a second time.
            prop_assert_eq!(plain(&out), out);
        }

        #[test]
        fn what_is_text_stays(text in "[a-zé€😀\n\t ]{0,80}") {
            prop_assert_eq!(plain(&text), text);
        }
    }
}
