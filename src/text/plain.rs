//! What a program prints for a terminal, as plain lines: control sequences go, what is struck over or written again from
//! the start of the line counts as it was last. Pure, and the same however the bytes are cut into pieces.

/// A line that a program printed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlainLine {
    /// Its text, without its line end.
    pub text: String,
    /// So many characters at its end were too many and are not kept.
    pub cut: u64,
}

/// Makes lines of what comes in pieces. Bytes that are not UTF-8 are replaced.
#[derive(Debug, Clone)]
pub struct Plain {
    /// A line keeps at most so many bytes.
    longest: usize,
    /// The beginning of a character whose end has not come.
    tail: Vec<u8>,
    state: State,
    line: String,
    cut: u64,
    /// The byte of the line where the next character goes.
    at: usize,
    /// The place is the start of the line, and the next character begins it anew.
    anew: bool,
}

/// Where in a control sequence the text is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Text,
    /// Behind ESC, with or without characters between it and its last.
    Escape,
    Between,
    /// In a sequence that ends with a letter, with its parameters so far.
    Control(String),
    /// In a string that goes on until it is closed, and behind an ESC in it.
    String,
    StringEscape,
}

/// Parameters of a control sequence are kept up to so many characters; longer ones mean nothing.
const PARAMETERS: usize = 16;

/// A whole text, made plain. Its last line has a line end if it had one.
pub fn plain(text: &str) -> String {
    let mut plain = Plain::new(usize::MAX);
    let mut out = String::with_capacity(text.len());
    plain.push(text.as_bytes(), &mut |line| {
        out.push_str(&line.text);
        out.push('\n');
    });
    out.push_str(&plain.finish().map(|line| line.text).unwrap_or_default());
    out
}

/// How many bytes at the end are the beginning of a character that may still be completed.
pub fn unfinished(bytes: &[u8]) -> usize {
    let tail = bytes.iter().rev().take(3).position(|byte| byte & 0xc0 != 0x80).map_or(0, |at| at + 1);
    let Some(lead) = bytes.len().checked_sub(tail).and_then(|at| bytes.get(at)) else { return 0 };
    let length = match lead {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    if tail < length { tail } else { 0 }
}

impl Plain {
    /// Nothing yet. A line keeps at most `longest` bytes; what is beyond is counted.
    pub fn new(longest: usize) -> Plain {
        let state = State::Text;
        Plain { longest, tail: Vec::new(), state, line: String::new(), cut: 0, at: 0, anew: false }
    }

    /// Takes some bytes, and gives each line that they complete.
    pub fn push(&mut self, bytes: &[u8], line: &mut dyn FnMut(PlainLine)) {
        if self.tail.is_empty() {
            self.decode(bytes, line);
        } else {
            let mut all = std::mem::take(&mut self.tail);
            all.extend_from_slice(bytes);
            self.decode(&all, line);
        }
    }

    /// There is no more: the last line, if it was not ended.
    pub fn finish(&mut self) -> Option<PlainLine> {
        let tail = std::mem::take(&mut self.tail);
        if !tail.is_empty() {
            self.take(char::REPLACEMENT_CHARACTER, &mut |_| {});
        }
        self.state = State::Text;
        let ended = self.end();
        (ended != PlainLine::default()).then_some(ended)
    }

    /// The line that has not ended yet, as it is now.
    pub fn open(&self) -> &str {
        &self.line
    }

    fn decode(&mut self, bytes: &[u8], line: &mut dyn FnMut(PlainLine)) {
        let (whole, tail) = bytes.split_at(bytes.len() - unfinished(bytes));
        self.tail = tail.to_vec();
        let text = String::from_utf8_lossy(whole);
        let mut rest = &*text;
        while let Some(c) = rest.chars().next() {
            // Most of it is plain text at the end of a line.
            let run = if self.state == State::Text && self.at == self.line.len() && !self.anew {
                rest.find(|c: char| c.is_control() && c != '\t').unwrap_or(rest.len())
            } else {
                0
            };
            if run == 0 {
                self.take(c, line);
                rest = &rest[c.len_utf8()..];
                continue;
            }
            let room = if self.cut > 0 { 0 } else { self.longest - self.line.len().min(self.longest) };
            let fits = rest[..run].floor_char_boundary(room);
            self.line.push_str(&rest[..fits]);
            self.at = self.line.len();
            self.cut += rest[fits..run].chars().count() as u64;
            rest = &rest[run..];
        }
    }

    fn take(&mut self, c: char, line: &mut dyn FnMut(PlainLine)) {
        match (&mut self.state, c) {
            // An end of a line ends whatever was not closed before it: nothing hides what comes behind it.
            (_, '\n') => {
                self.state = State::Text;
                let ended = self.end();
                line(ended);
            }
            (State::String | State::StringEscape, '\u{7}' | '\u{9c}' | '\u{18}' | '\u{1a}')
            | (State::StringEscape, '\\') => self.state = State::Text,
            (State::String, '\u{1b}') => self.state = State::StringEscape,
            (State::String, _) => {}
            (_, '\u{1b}') => self.state = State::Escape,
            (State::Text, c) => self.print(c),
            (State::Escape | State::StringEscape, '[') => self.state = State::Control(String::new()),
            (State::Escape | State::StringEscape, ']' | 'P' | 'X' | '^' | '_') => self.state = State::String,
            (State::Escape | State::StringEscape | State::Between, ' '..='/') => self.state = State::Between,
            (State::Escape | State::StringEscape | State::Between, '0'..='~') => self.state = State::Text,
            (State::Control(parameters), ' '..='?') => {
                if parameters.len() < PARAMETERS {
                    parameters.push(c);
                }
            }
            (State::Control(parameters), '@'..='~') => {
                let parameters = std::mem::take(parameters);
                self.state = State::Text;
                self.control(&parameters, c);
            }
            // What stands in no sequence: it was broken off, and this is text again.
            (State::Escape | State::StringEscape | State::Between | State::Control(_), c) => {
                self.state = State::Text;
                self.print(c);
            }
        }
    }

    /// A character of text, or one that controls by itself.
    fn print(&mut self, c: char) {
        match c {
            '\r' => {
                self.anew = true;
                self.at = self.line.len();
            }
            '\u{8}' => self.left(1),
            '\u{9b}' => self.state = State::Control(String::new()),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => self.state = State::String,
            c if c.is_control() && c != '\t' => {}
            c => self.put(c),
        }
    }

    fn put(&mut self, c: char) {
        if std::mem::take(&mut self.anew) {
            self.clear();
        }
        let (at, room) = (self.at, self.longest - self.line.len().min(self.longest));
        let old = self.line[at..].chars().next().map_or(0, char::len_utf8);
        if (old == 0 && self.cut > 0) || c.len_utf8() > room.saturating_add(old) {
            self.cut += 1;
        } else {
            self.line.replace_range(at..at + old, c.encode_utf8(&mut [0; 4]));
            self.at += c.len_utf8();
        }
    }

    /// The place goes to the left.
    fn left(&mut self, count: usize) {
        if self.anew {
            return;
        }
        let from_cut = count.min(usize::try_from(self.cut).unwrap_or(usize::MAX));
        self.cut -= from_cut as u64;
        for _ in from_cut..count {
            if self.at == 0 {
                break;
            }
            self.at = self.line.floor_char_boundary(self.at - 1);
        }
    }

    /// What a sequence that ends with a letter does to the line. Those that do nothing to it are dropped.
    fn control(&mut self, parameters: &str, letter: char) {
        let number = parameters.split(';').next().and_then(|number| number.parse::<usize>().ok());
        match letter {
            'K' | 'J' => match number.unwrap_or(0) {
                0 if self.anew => self.clear(),
                0 => {
                    self.line.truncate(self.at);
                    self.cut = 0;
                }
                1 if self.at < self.line.len() || self.anew => {}
                _ => self.clear(),
            },
            'G' | '`' if number.unwrap_or(1) <= 1 => {
                self.anew = true;
                self.at = self.line.len();
            }
            'D' => self.left(number.unwrap_or(1).max(1)),
            'C' => {
                for _ in 0..number.unwrap_or(1).clamp(1, 1000) {
                    // Over what is there; beyond that, the gap is one of spaces.
                    if let Some(c) = self.line[self.at..].chars().next() {
                        self.at += c.len_utf8();
                    } else if !self.anew {
                        self.put(' ');
                    }
                }
            }
            _ => {}
        }
    }

    fn clear(&mut self) {
        self.line.clear();
        (self.cut, self.at) = (0, 0);
    }

    fn end(&mut self) -> PlainLine {
        let ended = PlainLine { text: std::mem::take(&mut self.line), cut: self.cut };
        (self.cut, self.at, self.anew) = (0, 0, false);
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_terminal_would_show() {
        for (printed, shown) in [
            ("plain\ttext é 😀\n", "plain\ttext é 😀\n"),
            ("no end", "no end"),
            ("", ""),
            ("\n\n", "\n\n"),
            ("dos\r\nends\r\n", "dos\nends\n"),
            ("\u{1b}[1;31merror\u{1b}[0m: x\n", "error: x\n"),
            ("\u{9b}1mbold\u{9b}m\n", "bold\n"),
            ("\u{1b}]0;title\u{7}text\n", "text\n"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\\n", "link\n"),
            ("\u{1b}Pq#0;2\u{1b}\\after\n", "after\n"),
            ("\u{1b}(B\u{1b}=\u{1b}7x\u{1b}8\n", "x\n"),
            ("bell\u{7} null\u{0} del\u{7f}\n", "bell null del\n"),
            // The last state of a line that is written again and again.
            (" 10%\r 50%\r100%\n", "100%\n"),
            ("Downloading 100%\rDone.\n", "Done.\n"),
            ("Building\r\u{1b}[Kok\n", "ok\n"),
            ("Building\u{1b}[2K\u{1b}[1Gok\n", "ok\n"),
            ("Building\r\u{1b}[K\n", "\n"),
            ("stays\r\n", "stays\n"),
            ("stays\r", "stays"),
            // Struck over.
            ("b\u{8}bo\u{8}ol\u{8}ld\u{8}d _\u{8}u\n", "bold u\n"),
            ("|\u{8}/\u{8}-\u{8}\\\n", "\\\n"),
            ("abc\u{8}\u{8}\u{8}x\n", "xbc\n"),
            ("abc\u{8}\u{8}\u{1b}[K\n", "a\n"),
            ("é😀\u{8}\u{8}\u{8}\u{8}a\n", "a😀\n"),
            ("a\u{1b}[3Cb\u{1b}[2Dc\n", "a  cb\n"),
            // Broken off: what comes behind is not lost.
            ("\u{1b}]0;never closed\nnext\n", "\nnext\n"),
            ("\u{1b}[31\nnext\n", "\nnext\n"),
            ("\u{1b}[31é\n", "é\n"),
            ("a\u{1b}\n", "a\n"),
            ("\u{1b}]x\u{1b}[1mred\n", "red\n"),
            ("end\u{1b}", "end"),
        ] {
            assert_eq!(plain(printed), shown, "{printed:?}");
        }
    }

    #[test]
    fn a_line_keeps_so_much_and_counts_the_rest() {
        let mut plain = Plain::new(5);
        let mut lines = Vec::new();
        plain.push("12345\n123é5\n1234567".as_bytes(), &mut |line| lines.push((line.text, line.cut)));
        assert_eq!((lines.len(), plain.open()), (2, "12345"));
        plain.push("\rab\nab\u{8}\u{8}".as_bytes(), &mut |line| lines.push((line.text, line.cut)));
        plain.push(b"\xc3", &mut |line| lines.push((line.text, line.cut)));
        lines.extend(plain.finish().map(|line| (line.text, line.cut)));
        let expected = [("12345", 0), ("123é", 1), ("ab", 0), ("\u{fffd}b", 0)];
        assert_eq!(lines, expected.map(|(text, cut)| (text.to_owned(), cut)));
        assert_eq!(plain.finish(), None);
    }

    proptest! {
        #[test]
        fn cut_anywhere_it_is_the_same(
            pieces in proptest::collection::vec(
                prop_oneof![
                    Just("\u{1b}"), Just("["), Just("]"), Just("2"), Just(";"), Just("K"), Just("m"), Just("\u{7}"),
                    Just("\\"), Just("\r"), Just("\n"), Just("\u{8}"), Just("é"), Just("😀"), Just("word"), Just("\u{9b}"),
                ],
                0..40,
            ),
            cuts in proptest::collection::vec(1usize..5, 0..60),
        ) {
            let text = pieces.concat();
            let mut plain_lines = Plain::new(7);
            let mut at_once = Vec::new();
            plain_lines.push(text.as_bytes(), &mut |line| at_once.push(line));
            at_once.extend(plain_lines.finish());
            let (mut by_pieces, mut rest, mut plain_lines) = (Vec::new(), text.as_bytes(), Plain::new(7));
            for cut in cuts.into_iter().chain([usize::MAX]) {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                plain_lines.push(piece, &mut |line| by_pieces.push(line));
                rest = after;
            }
            by_pieces.extend(plain_lines.finish());
            prop_assert_eq!(&by_pieces, &at_once);
            for line in at_once {
                prop_assert!(line.text.len() <= 7 && !line.text.chars().any(|c| c.is_control() && c != '\t'), "{:?}", line);
            }
            prop_assert_eq!(plain(&text).matches('\n').count(), text.matches('\n').count());
        }
    }
}
