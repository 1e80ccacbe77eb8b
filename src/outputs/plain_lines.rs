//! What one stream shows in a terminal, line by line, each of bounded length. Pure, and the same however the bytes are
//! cut into pieces.

use super::{Decoder, Plain};

/// A line that a program printed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlainLine {
    /// Its text, without its line end.
    pub text: String,
    /// So many characters at its end were too many and are not kept.
    pub cut: u64,
}

/// Makes lines of what comes in pieces. Bytes that are not UTF-8 are replaced.
#[derive(Debug)]
pub struct PlainLines {
    /// A line keeps at most so many bytes.
    longest: usize,
    decoder: Decoder,
    plain: Plain,
    /// What is settled of the line that has not ended.
    line: PlainLine,
}

impl PlainLines {
    /// Nothing yet. A line keeps at most `longest` bytes; what is beyond is counted.
    pub fn new(longest: usize) -> PlainLines {
        PlainLines { longest, decoder: Decoder::default(), plain: Plain::default(), line: PlainLine::default() }
    }

    /// Takes some bytes, and gives each line that they complete.
    pub fn push(&mut self, bytes: &[u8], ended: &mut dyn FnMut(PlainLine)) {
        let text = self.decoder.push(bytes);
        let (line, longest) = (&mut self.line, self.longest);
        self.plain.push(0, &text, &mut |_, shown| take(line, longest, shown, ended));
    }

    /// There is no more: the last line, if it was not ended.
    pub fn finish(&mut self) -> Option<PlainLine> {
        let (line, longest) = (&mut self.line, self.longest);
        let mut keep = |_, shown: &str| take(line, longest, shown, &mut |_| {});
        self.plain.push(0, self.decoder.finish(), &mut keep);
        self.plain.finish(&mut keep);
        let last = std::mem::take(&mut self.line);
        (last != PlainLine::default()).then_some(last)
    }

    /// The line that has not ended yet, as it is now.
    pub fn open(&self) -> String {
        let mut open = self.line.clone();
        take(&mut open, self.longest, self.plain.open(), &mut |_| {});
        open.text
    }
}

fn take(line: &mut PlainLine, longest: usize, shown: &str, ended: &mut dyn FnMut(PlainLine)) {
    for part in shown.split_inclusive('\n') {
        let text = part.strip_suffix('\n').unwrap_or(part);
        let room = if line.cut > 0 { 0 } else { longest.saturating_sub(line.text.len()) };
        let (fits, over) = text.split_at(text.floor_char_boundary(room));
        line.text.push_str(fits);
        line.cut += over.chars().count() as u64;
        if text.len() < part.len() {
            ended(std::mem::take(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(printed: &[&[u8]], longest: usize) -> Vec<(String, u64)> {
        let (mut plain, mut lines) = (PlainLines::new(longest), Vec::new());
        for piece in printed {
            plain.push(piece, &mut |line| lines.push((line.text, line.cut)));
        }
        lines.extend(plain.finish().map(|line| (line.text, line.cut)));
        assert_eq!(plain.finish(), None);
        lines
    }

    #[test]
    fn lines_are_what_a_terminal_would_show() {
        for (printed, shown) in [
            ("plain\ttext é 😀\n", "plain\ttext é 😀\n"),
            ("no end", "no end"),
            ("", ""),
            ("\n\n", "\n\n"),
            ("dos\r\nends\r\n", "dos\nends\n"),
            ("\u{9b}1mbold\u{9b}m\n", "bold\n"),
            ("\u{1b}Pq#0;2\u{1b}\\after\n", "after\n"),
            ("bell\u{7} null\u{0} del\u{7f}\n", "bell null␀ del\n"),
            ("Downloading 100%\rDone.          \n", "Done.          %\n"),
            ("Building\u{1b}[2K\u{1b}[1Gok\n", "ok\n"),
            ("Building\r\u{1b}[K\n", "\n"),
            ("stays\r", "stays"),
            ("abc\u{8}\u{8}\u{1b}[K\n", "a\n"),
            ("é😀\u{8}\u{8}\u{8}\u{8}a\n", "a😀\n"),
            ("a\u{1b}[3Cb\u{1b}[2Dc\n", "a  cb\n"),
            // Broken off: what comes behind is not lost.
            ("\u{1b}]0;never closed\nnext\n", "0;never closed\nnext\n"),
            ("\u{1b}[31\nnext\n", "\nnext\n"),
            ("a\u{1b}\n", "a\n"),
            ("end\u{1b}", "end"),
        ] {
            let shown: Vec<(String, u64)> = shown.lines().map(|line| (line.to_owned(), 0)).collect();
            assert_eq!(lines(&[printed.as_bytes()], 100), shown, "{printed:?}");
        }
    }

    #[test]
    fn a_line_keeps_so_much_and_counts_the_rest() {
        let mut plain = PlainLines::new(5);
        plain.push("123é5\n1234567".as_bytes(), &mut |line| {
            assert_eq!((line.text.as_str(), line.cut), ("123é", 1));
        });
        assert_eq!(plain.open(), "12345");
        let found = lines(&["12345\n1234567".as_bytes(), b"\rab\nab\x08\x08", b"\xc3"], 5);
        let expected = [("12345", 0), ("ab345", 2), ("\u{fffd}b", 0)];
        assert_eq!(found, expected.map(|(text, cut)| (text.to_owned(), cut)));
        // However long a line is, no more of it is held than it may keep and what may be written over.
        let mut plain = PlainLines::new(5);
        for _ in 0..100 {
            plain.push(&[b'x'; 10_000], &mut |_| panic!("no line has ended"));
        }
        assert!(plain.plain.open().len() <= 20_000 && plain.open() == "xxxxx");
        assert_eq!(plain.finish(), Some(PlainLine { text: "xxxxx".to_owned(), cut: 999_995 }));
    }

    proptest! {
        #[test]
        fn cut_anywhere_it_is_the_same(
            parts in proptest::collection::vec(prop::sample::select(vec![
                "\u{1b}", "[", "]", "2", ";", "K", "m", "\u{7}", "\\", "\r", "\n", "\u{8}", "é", "😀", "word", "\u{9b}",
            ]), 0..40),
            cuts in proptest::collection::vec(1usize..5, 0..60),
        ) {
            let text = parts.concat();
            let at_once = lines(&[text.as_bytes()], 7);
            let (mut pieces, mut rest) = (Vec::new(), text.as_bytes());
            for cut in cuts.into_iter().chain([usize::MAX]) {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            prop_assert_eq!(&lines(&pieces, 7), &at_once);
            for (line, _) in at_once {
                prop_assert!(line.len() <= 7 && !line.chars().any(|c| c.is_control() && c != '\t'), "{:?}", line);
            }
        }
    }
}
