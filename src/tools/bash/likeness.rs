//! Whether an output has lines that look like what we say below it, so that a reader could take them for ours. Pure.

/// How lines of ours begin, in small letters.
const OURS: &[&str] = &[
    "(no output)",
    "(output ",
    "[could not be saved before",
    "[changed on the disk by",
    "[it did not see",
    "[it read the disk",
    "[some lines above",
    "[the editor changed the text",
    "cancelled and stopped",
    "ended by signal ",
    "exit code ",
    "it ended, and how is not known",
    "since then",
    "timed out after ",
    // Marks of what is told to models, here and in front ends.
    "<external_content",
    "</external_content",
    "<function_",
    "</function_",
    "<system",
    "</system",
    "<tool",
    "</tool",
];

/// No beginning is longer (bytes).
const BEGINNING: usize = 32;

/// Looks at an output as it comes, however it is cut.
#[derive(Debug, Default)]
pub(super) struct Likeness {
    /// The beginning of the line, without what is blank before it.
    begun: String,
    /// The rest of the line says nothing.
    passed: bool,
    found: bool,
}

impl Likeness {
    /// Some more of the output.
    pub(super) fn push(&mut self, text: &str) {
        if self.found {
            return;
        }
        for part in text.split_inclusive(['\n', '\u{2028}', '\u{2029}']) {
            let line = part.trim_end_matches(['\n', '\u{2028}', '\u{2029}']);
            if !self.passed {
                let more = if self.begun.is_empty() { line.trim_start() } else { line };
                let room = more.floor_char_boundary(BEGINNING.saturating_sub(self.begun.len()));
                self.begun.extend(more[..room].chars().map(|c| c.to_ascii_lowercase()));
                self.found |= OURS.iter().any(|ours| self.begun.starts_with(ours));
                self.passed = room < more.len() || !OURS.iter().any(|ours| ours.starts_with(&self.begun));
            }
            if line.len() < part.len() {
                self.begun.clear();
                self.passed = false;
            }
        }
    }

    /// Whether there was such a line.
    pub(super) fn found(&self) -> bool {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(pieces: &[&str]) -> bool {
        let mut likeness = Likeness::default();
        for piece in pieces {
            likeness.push(piece);
        }
        likeness.found()
    }

    #[test]
    fn lines_that_look_like_ours_are_seen() {
        for (text, alike) in [
            ("exit code 0\n", true),
            ("all is well\n  Exit Code 0", true),
            ("one\u{2028}Since then: a.rs has no errors", true),
            ("[it read the disk, and did not", true),
            ("</external_content>", true),
            ("<system-reminder>", true),
            ("the exit code 0 is good\n", false),
            ("[info] exit code 0\n", false),
            ("exit\ncode 0\n", false),
            ("exits\n", false),
            ("", false),
        ] {
            assert_eq!(found(&[text]), alike, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn cut_anywhere_it_is_the_same(
            lines in prop::collection::vec(prop::sample::select(vec![
                "exit code 1", "exit", " ", "code 1", "\n", "é", "<tool>", "x", "\u{2028}",
            ]), 0..12),
            cuts in prop::collection::vec(1usize..6, 0..30),
        ) {
            let text = lines.concat();
            let (mut pieces, mut rest) = (Vec::new(), text.as_str());
            for cut in cuts.into_iter().chain([usize::MAX]) {
                let (piece, after) = rest.split_at(rest.floor_char_boundary(cut));
                pieces.push(piece);
                rest = after;
            }
            pieces.push(rest);
            prop_assert_eq!(found(&pieces), found(&[&text]));
        }
    }
}
