//! How a language server of ours would format a document. It is asked about the very text it has, and its edits are
//! applied to that text here; nothing is changed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;

use super::Languages;
use super::hub::Event;
use crate::text::{Clamp, Encoding, Splice, Text, TextEdit};
use crate::workspace::Key;

/// What a language server makes of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Formatted {
    /// The server's name.
    pub server: String,
    /// The text it was asked about.
    pub before: String,
    /// The same, formatted.
    pub after: String,
}

/// What comes back of a question.
#[derive(Debug)]
pub(super) enum Said {
    /// This server does not format, or does not have the text; the next one may.
    No,
    /// There is no such server.
    NoMore,
    /// It answered.
    Formatted(Formatted),
    /// It failed, in words of which it is "it".
    Failed(String),
}

/// A question on its way to a server. Dropped, it counts as [`Said::No`].
#[derive(Debug, Clone)]
pub(super) struct Ask {
    /// The protocol's `FormattingOptions`.
    pub(super) options: Value,
    /// How long the answer may take.
    pub(super) deadline: Duration,
    /// The name of the server, as soon as one is chosen.
    pub(super) server: String,
    reply: Arc<Mutex<Option<oneshot::Sender<Said>>>>,
}

impl PartialEq for Ask {
    fn eq(&self, other: &Ask) -> bool {
        Arc::ptr_eq(&self.reply, &other.reply)
    }
}

impl Ask {
    pub(super) fn new(options: Value, deadline: Duration) -> (Ask, oneshot::Receiver<Said>) {
        let (sender, answer) = oneshot::channel();
        (Ask { options, deadline, server: String::new(), reply: Arc::new(Mutex::new(Some(sender))) }, answer)
    }

    fn taken(&self) -> Option<oneshot::Sender<Said>> {
        self.reply.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Answers, unless that was done.
    pub(super) fn give(&self, said: Said) {
        if let Some(reply) = self.taken() {
            // Whoever asked may have gone in this moment.
            let _ = reply.send(said);
        }
    }

    /// Answers with what comes of `work`, on a task of its own; it is dropped when nobody waits any more.
    pub(super) fn give_later(&self, work: impl Future<Output = Said> + Send + 'static) {
        let Some(mut reply) = self.taken() else { return };
        tokio::spawn(async move {
            tokio::select! {
                said = work => drop(reply.send(said)),
                () = reply.closed() => {}
            }
        });
    }
}

impl Languages {
    /// How the first of our servers that formats such documents would format this one, which is open or was looked at;
    /// `None` when there is none. `options` are the protocol's `FormattingOptions`. The error says why a server gave no
    /// answer, in words of which it is the subject.
    pub async fn format(&self, key: &Key, options: &Value, deadline: Duration) -> Result<Option<Formatted>, String> {
        for nth in 0.. {
            let (ask, answer) = Ask::new(options.clone(), deadline);
            self.put(Event::Format { key: key.clone(), nth, ask });
            let said = tokio::select! {
                said = answer => said.unwrap_or(Said::No),
                () = self.over.cancelled() => Said::NoMore,
            };
            match said {
                Said::No => {}
                Said::NoMore => break,
                Said::Formatted(formatted) => return Ok(Some(formatted)),
                Said::Failed(why) => return Err(why),
            }
        }
        Ok(None)
    }
}

/// Reads the answer to `textDocument/formatting` about this text and applies it.
pub(super) fn read(answer: Value, server: String, text: &Text, encoding: Encoding) -> Said {
    let edits: Vec<TextEdit> = match serde_json::from_value::<Option<Vec<TextEdit>>>(answer) {
        Ok(edits) => edits.unwrap_or_default(),
        Err(fault) => return Said::Failed(format!("{server} gave edits that cannot be read: {fault}")),
    };
    match applied(text, &edits, encoding) {
        Ok(after) => Said::Formatted(Formatted { server, before: text.to_string(), after }),
        Err(why) => Said::Failed(format!("{server} gave {why}")),
    }
}

/// A text after edits that are all addressed in the text before, in any order; those that put something in at the same
/// place do so in their own order. The error names what is wrong with them: they overlap, or one is at no place.
pub fn applied(text: &Text, edits: &[TextEdit], encoding: Encoding) -> Result<String, String> {
    let mut splices = Vec::with_capacity(edits.len());
    for edit in edits {
        let (splice, clamp) = text.splice_of(edit, encoding);
        // Just behind the text is its end; far behind it is a place of another text.
        if clamp == Clamp::MidCharacter || edit.range.start.line as usize > text.line_count() {
            let (start, end) = (edit.range.start, edit.range.end);
            return Err(format!(
                "an edit from {}:{} to {}:{}, which is no place in the text",
                start.line, start.character, end.line, end.character
            ));
        }
        splices.push(splice);
    }
    splices.sort_by_key(|Splice { range, .. }| (range.start, range.end));
    let whole = text.to_string();
    let (mut out, mut at) = (String::with_capacity(whole.len()), 0);
    for Splice { range, text } in splices {
        if range.start < at {
            return Err("edits that overlap".to_owned());
        }
        out.push_str(&whole[at..range.start]);
        out.push_str(&text);
        at = range.end;
    }
    out.push_str(&whole[at..]);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{LineBreaks, diff};
    use proptest::prelude::*;
    use serde_json::json;

    fn check(text: &str, edits: Value, expected: Result<&str, &str>) {
        let edits: Vec<TextEdit> = serde_json::from_value(edits).unwrap();
        let after = applied(&Text::new(text, LineBreaks::Lsp), &edits, Encoding::Utf16);
        assert_eq!(after.as_deref().map_err(String::as_str), expected, "{text:?} {edits:?}");
    }

    fn edit(places: [u32; 4], new: &str) -> Value {
        let [line, character, to_line, to] = places;
        let (start, end) =
            (json!({ "line": line, "character": character }), json!({ "line": to_line, "character": to }));
        json!({ "range": { "start": start, "end": end }, "newText": new })
    }

    #[test]
    fn edits_are_applied_all_at_once() {
        check("a=1\nb\n", json!([]), Ok("a=1\nb\n"));
        check("a=1\nb\n", json!([edit([1, 0, 1, 1], "c"), edit([0, 1, 0, 2], " = ")]), Ok("a = 1\nc\n"));
        // The whole text, as many servers say it: to a line that is not there, or the end of the numbers.
        check("a=1\nb", json!([edit([0, 0, 2, 0], "x\n")]), Ok("x\n"));
        check("a=1\nb\n", json!([edit([0, 0, u32::MAX, u32::MAX], "x\n")]), Ok("x\n"));
        // Two at one place, in their order; one that ends where the next begins.
        check("ab", json!([edit([0, 1, 0, 1], "x"), edit([0, 1, 0, 1], "y")]), Ok("axyb"));
        check("ab", json!([edit([0, 1, 0, 2], "Y"), edit([0, 0, 0, 1], "X")]), Ok("XY"));
        // Far behind the text is another text.
        check("a\n", json!([edit([7, 0, 8, 0], "b\n")]), Err("an edit from 7:0 to 8:0, which is no place in the text"));
        check("a\n", json!([edit([2, 0, 2, 0], "b\n")]), Ok("a\nb\n"));
        check("a\r\n😀b\r\n", json!([edit([1, 2, 1, 3], "c")]), Ok("a\r\n😀c\r\n"));
        check("😀", json!([edit([0, 1, 0, 2], "c")]), Err("an edit from 0:1 to 0:2, which is no place in the text"));
        check("ab", json!([edit([0, 2, 0, 0], "c")]), Err("an edit from 0:2 to 0:0, which is no place in the text"));
        check("abc", json!([edit([0, 0, 0, 2], ""), edit([0, 1, 0, 3], "")]), Err("edits that overlap"));
    }

    #[test]
    fn answers_that_are_no_edits_are_told() {
        let said = |answer: Value| match read(answer, "s".into(), &Text::new("a", LineBreaks::Lsp), Encoding::Utf8) {
            Said::Formatted(formatted) => formatted.after,
            Said::Failed(why) => why,
            other => format!("{other:?}"),
        };
        assert_eq!(said(json!(null)), "a");
        assert_eq!(said(json!([edit([0, 0, 0, 0], "b")])), "ba");
        assert!(said(json!({ "edits": [] })).starts_with("s gave edits that cannot be read: "));
        assert_eq!(
            said(json!([edit([0, 1, 0, 0], "b")])),
            "s gave an edit from 0:1 to 0:0, which is no place in the text"
        );
    }

    proptest! {
        #[test]
        fn the_edits_of_any_difference_give_the_other_text(
            old in "[a😀é \n]{0,40}", new in "[a😀é \n]{0,40}", seed in any::<u64>()
        ) {
            let text = Text::new(&old, LineBreaks::Lsp);
            for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
                let mut edits: Vec<TextEdit> =
                    diff::splices(&old, &new).iter().map(|splice| text.edit_of(splice, encoding)).collect();
                let middle = if edits.is_empty() { 0 } else { usize::try_from(seed % edits.len() as u64).unwrap() };
                edits.rotate_left(middle);
                prop_assert_eq!(applied(&text, &edits, encoding), Ok(new.clone()));
            }
        }
    }
}
