//! Which line ends a text uses, and text brought to them.

use serde::{Deserialize, Serialize};

/// One kind of line end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LineEnd {
    /// `\n`
    #[default]
    Lf,
    /// `\r\n`
    Crlf,
}

impl LineEnd {
    /// The characters themselves.
    pub fn as_str(self) -> &'static str {
        match self {
            LineEnd::Lf => "\n",
            LineEnd::Crlf => "\r\n",
        }
    }

    /// `text` with each of its line ends (LF or CRLF) as this one. Lone CRs are content and stay.
    pub fn apply(self, text: &str) -> String {
        // Most texts have no CR, which is seen many bytes at once.
        let plain = match memchr::memchr(b'\r', text.as_bytes()) {
            Some(_) => text.replace("\r\n", "\n"),
            None => text.to_owned(),
        };
        match self {
            LineEnd::Lf => plain,
            LineEnd::Crlf => plain.replace('\n', "\r\n"),
        }
    }
}

/// How many of each kind a text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineEnds {
    /// LFs that no CR precedes.
    pub lf: usize,
    /// CRLF pairs.
    pub crlf: usize,
    /// The kind of the first line end, if there is one.
    pub first: Option<LineEnd>,
}

impl LineEnds {
    /// Counts the line ends of a string.
    pub fn of(text: &str) -> LineEnds {
        LineEnds::of_chunks(std::iter::once(text))
    }

    /// Counts over the pieces of a text in order; a CRLF may be split between two of them.
    pub fn of_chunks<'a>(chunks: impl Iterator<Item = &'a str>) -> LineEnds {
        let mut ends = LineEnds::default();
        let mut before = 0u8;
        for chunk in chunks {
            let bytes = chunk.as_bytes();
            for at in memchr::memchr_iter(b'\n', bytes) {
                let previous = if at == 0 { before } else { bytes[at - 1] };
                let kind = if previous == b'\r' { LineEnd::Crlf } else { LineEnd::Lf };
                match kind {
                    LineEnd::Lf => ends.lf += 1,
                    LineEnd::Crlf => ends.crlf += 1,
                }
                ends.first.get_or_insert(kind);
            }
            before = bytes.last().copied().unwrap_or(before);
        }
        ends
    }

    /// The kind to write where nothing nearer decides: the more frequent one, the first one on a tie, else LF.
    pub fn prevailing(self) -> LineEnd {
        match self.lf.cmp(&self.crlf) {
            std::cmp::Ordering::Less => LineEnd::Crlf,
            std::cmp::Ordering::Greater => LineEnd::Lf,
            std::cmp::Ordering::Equal => self.first.unwrap_or_default(),
        }
    }

    /// Whether both kinds occur.
    pub fn mixed(self) -> bool {
        self.lf > 0 && self.crlf > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prevailing_kind() {
        for (text, kind, mixed) in [
            ("", LineEnd::Lf, false),
            ("a", LineEnd::Lf, false),
            ("a\nb", LineEnd::Lf, false),
            ("a\r\nb\r\n", LineEnd::Crlf, false),
            ("a\r\nb\n", LineEnd::Crlf, true),
            ("a\nb\r\n", LineEnd::Lf, true),
            ("a\nb\r\nc\r\n", LineEnd::Crlf, true),
            ("a\rb", LineEnd::Lf, false),
        ] {
            let ends = LineEnds::of(text);
            assert_eq!((ends.prevailing(), ends.mixed()), (kind, mixed), "{text:?}");
        }
    }

    #[test]
    fn a_crlf_split_between_chunks_is_one() {
        let ends = LineEnds::of_chunks(["a\r", "\nb\n"].into_iter());
        assert_eq!((ends.crlf, ends.lf), (1, 1));
    }

    #[test]
    fn text_is_brought_to_a_kind() {
        assert_eq!(LineEnd::Crlf.apply("a\nb\r\nc\rd"), "a\r\nb\r\nc\rd");
        assert_eq!(LineEnd::Lf.apply("a\nb\r\nc\rd"), "a\nb\nc\rd");
    }
}
