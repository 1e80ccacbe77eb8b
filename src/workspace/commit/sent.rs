//! An edit in the form in which it is sent. Pure.

use crate::text::{Clamp, Encoding, Splice, Text, TextEdit};

/// An edit as it was sent.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    /// The text it was computed against.
    pub(super) before: Text,
    /// The edit, in bytes of `before`, rising, not touching one another.
    pub(super) splices: Vec<Splice>,
    /// `before` with the edit.
    pub(super) expected: Text,
    /// The same edit as the editor gets it.
    pub(super) edits: Vec<TextEdit>,
    /// The units of its positions.
    pub(super) encoding: Encoding,
}

impl Sent {
    /// `None` when positions cannot say exactly what the splices say: then nothing may be sent.
    pub(super) fn new(before: &Text, splices: Vec<Splice>, encoding: Encoding) -> Option<Sent> {
        let edits: Vec<TextEdit> = splices.iter().map(|splice| before.edit_of(splice, encoding)).collect();
        let faithful = edits
            .iter()
            .zip(&splices)
            .all(|(edit, splice)| before.splice_of(edit, encoding) == (splice.clone(), Clamp::Exact));
        faithful.then(|| Sent { expected: before.spliced(&splices), before: before.clone(), splices, edits, encoding })
    }

    /// The edit at the line numbers that were sent, in bytes of another text.
    pub(super) fn at_its_lines(&self, text: &Text) -> Vec<Splice> {
        self.edits.iter().map(|edit| text.splice_of(edit, self.encoding).0).collect()
    }
}
