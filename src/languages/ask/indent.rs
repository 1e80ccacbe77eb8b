//! How a text is indented, for whoever formats it. Pure.

use serde_json::{Value, json};

use crate::text::Text;

/// The width of a step, in columns, in a text that does not show any.
const WIDTH: u32 = 4;

/// So many lines of a text show its indentation.
const LOOKED_AT: usize = 2000;

/// How a text is indented, for a formatter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Indent {
    /// The width of one step, in columns.
    pub width: u32,
    /// By spaces.
    pub spaces: bool,
}

impl Indent {
    /// The indentation of a text: by tabs if more lines are than by spaces; a step of spaces is what a line is most often
    /// indented more than the one before.
    pub fn of(text: &Text) -> Indent {
        let (mut tabs, mut steps) = (0usize, [0usize; 9]);
        let (mut spaced, mut above) = (0usize, 0usize);
        for line in 0..text.line_count().min(LOOKED_AT) {
            let line = text.line(line);
            if line.trim().is_empty() {
                continue;
            }
            let depth = line.bytes().take_while(|byte| *byte == b' ').count();
            tabs += usize::from(line.starts_with('\t'));
            spaced += usize::from(depth > 1);
            if let Some(step) = depth.checked_sub(above).filter(|step| (2..=8).contains(step)) {
                steps[step] += 1;
            }
            above = depth;
        }
        if tabs > spaced {
            return Indent { width: WIDTH, spaces: false };
        }
        let most = steps.iter().copied().max().unwrap_or(0);
        let step = steps.iter().position(|count| most > 0 && *count == most);
        Indent { width: step.and_then(|step| u32::try_from(step).ok()).unwrap_or(WIDTH), spaces: true }
    }

    /// The protocol's `FormattingOptions`.
    pub fn options(self) -> Value {
        json!({ "tabSize": self.width, "insertSpaces": self.spaces })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::LineBreaks;

    #[test]
    fn the_indentation_is_that_of_the_text() {
        for (sample, width, spaces) in [
            ("", 4, true),
            ("a\nb\n", 4, true),
            ("a:\n  b\n  c:\n    d\n", 2, true),
            ("a\n  b\n    c\nd\n", 2, true),
            ("a:\n    b\n\n    c:\n        d\n", 4, true),
            ("a {\n\tb\n\tc\n}\n", 4, false),
            ("a\n\tb\n\t\tc\n  d\n", 4, false),
            ("a\r\n  b\r\n    c\r\n", 2, true),
            // A comment's star is no indentation, and one tab among many spaces is a slip.
            ("/**\n * a\n */\nf {\n   b\n   c {\n      d\n\te\n", 3, true),
        ] {
            assert_eq!(Indent::of(&Text::new(sample, LineBreaks::Lf)), Indent { width, spaces }, "{sample:?}");
        }
    }
}
