//! The documents a server has, and the notifications that keep them equal to ours. Pure.

use serde_json::{Value, json};

use super::capabilities::Abilities;
use crate::languages::settle::Rev;
use crate::text::{LineBreaks, Splice, Text};

/// A document as the server has it.
#[derive(Debug, Clone)]
pub(super) struct Document {
    /// How the server knows it.
    pub(super) uri: String,
    /// Its language.
    pub(super) language_id: String,
    /// Our number of the text, which is the version the server has.
    pub(super) rev: Rev,
    /// The text; its lines end as the protocol says, whatever the editor counts.
    text: Text,
}

impl Document {
    /// The document, and the `didOpen` that tells of it.
    pub(super) fn open(uri: String, language_id: String, rev: Rev, text: &Text) -> (Document, Value) {
        let text = text.with_breaks(LineBreaks::Lsp);
        let params = json!({ "textDocument": {
            "uri": uri, "languageId": language_id, "version": rev, "text": text.to_string()
        } });
        (Document { uri, language_id, rev, text }, params)
    }

    /// Applies changes, one after the other, and gives the `didChange` that tells of them: as changes where the server
    /// takes them, else as the whole text.
    pub(super) fn change(&mut self, rev: Rev, steps: &[Splice], abilities: &Abilities) -> Value {
        let mut changes = Vec::new();
        for step in steps {
            if abilities.incremental {
                // A position cannot address the middle of a CRLF, so such a change takes the whole line end.
                let edit = self.text.edit_of(&self.text.widen(step), abilities.encoding);
                changes.push(json!({ "range": edit.range, "text": edit.new_text }));
            }
            self.text.splice(step);
        }
        if !abilities.incremental {
            changes.push(json!({ "text": self.text.to_string() }));
        }
        self.rev = rev;
        json!({ "textDocument": { "uri": self.uri, "version": rev }, "contentChanges": changes })
    }

    /// The text, as the server has been told it.
    pub(super) fn text(&self) -> &Text {
        &self.text
    }

    /// The `didSave` of the text as it is.
    pub(super) fn save(&self, with_text: bool) -> Value {
        if with_text {
            json!({ "textDocument": self.name(), "text": self.text.to_string() })
        } else {
            json!({ "textDocument": self.name() })
        }
    }

    /// The protocol's `TextDocumentIdentifier`.
    pub(super) fn name(&self) -> Value {
        json!({ "uri": self.uri })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Encoding, TextEdit};
    use proptest::prelude::*;

    fn abilities(encoding: Encoding) -> Abilities {
        Abilities { encoding, incremental: true, changes: true, ..Abilities::default() }
    }

    #[test]
    fn changes_are_told_in_the_servers_counting() {
        let (mut document, opened) =
            Document::open("u:x".into(), "c".into(), 101, &Text::new("é😀\rb\r\n", LineBreaks::Lf));
        assert_eq!(opened["textDocument"]["text"], "é😀\rb\r\n");
        // The lone CR is a line end to the server; the place behind `b` is on its line 1.
        let step = Splice { range: 8..8, text: "!".into() };
        let told = document.change(102, &[step], &abilities(Encoding::Utf16));
        let place = json!({ "line": 1, "character": 1 });
        assert_eq!(told["contentChanges"], json!([{ "range": { "start": place, "end": place }, "text": "!" }]));
        assert_eq!(told["textDocument"], json!({ "uri": "u:x", "version": 102 }));
        let whole = document.change(103, &[Splice { range: 0..2, text: String::new() }], &Abilities::default());
        assert_eq!(whole["contentChanges"], json!([{ "text": "😀\rb!\r\n" }]));
        assert_eq!(document.save(true), json!({ "textDocument": { "uri": "u:x" }, "text": "😀\rb!\r\n" }));
    }

    proptest! {
        #[test]
        fn what_the_server_applies_gives_our_text(
            start in "[a\r\né😀]{0,12}",
            steps in prop::collection::vec((0usize..20, 0usize..20, "[b\r\n😀]{0,4}"), 1..6),
            encoding in prop::sample::select(vec![Encoding::Utf8, Encoding::Utf16, Encoding::Utf32]),
        ) {
            let mut ours = Text::new(&start, LineBreaks::Lf);
            let (mut document, opened) = Document::open("u:x".into(), "c".into(), 101, &ours);
            let mut theirs = Text::new(opened["textDocument"]["text"].as_str().unwrap(), LineBreaks::Lsp);
            for (rev, (from, to, text)) in (102..).zip(steps) {
                let range = ours.floor(from.min(to))..ours.floor(from.max(to));
                let step = Splice { range, text };
                let told = document.change(rev, std::slice::from_ref(&step), &abilities(encoding));
                ours.splice(&step);
                for change in told["contentChanges"].as_array().unwrap() {
                    let edit = TextEdit {
                        range: serde_json::from_value(change["range"].clone()).unwrap(),
                        new_text: change["text"].as_str().unwrap().to_owned(),
                    };
                    let (splice, clamp) = theirs.splice_of(&edit, encoding);
                    prop_assert_eq!(clamp, crate::text::Clamp::Exact);
                    theirs.splice(&splice);
                }
                prop_assert_eq!(theirs.to_string(), ours.to_string());
            }
        }
    }
}
