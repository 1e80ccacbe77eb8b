//! Texts that grow over several frames: a document that is typed into, the arguments that a model writes, the output of a
//! command. A secret in one may have come in pieces, none of which shows what it is; so it is known of every byte which
//! frame brought it, and once the secret is whole its pieces are cut out of the frames that brought them. Pure.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use serde_json::Value;

use super::line::Dir;
use super::redact::Redactor;
use super::shapes::secrets;
use crate::text::{Clamp, Encoding, LineBreaks, Splice, Text, TextEdit};

/// So much of a text is looked at round a change (bytes, each way), at most.
const AROUND: usize = 16 << 10;

/// Texts longer than this (bytes) are looked at only as they come.
const LONGEST: usize = 16 << 20;

/// Where in a message a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Open,
    Change(usize),
    Delta,
    Output,
}

impl Slot {
    fn of(self, message: &mut Value) -> Option<&mut Value> {
        let params = message.get_mut("params")?;
        match self {
            Slot::Open => params.get_mut("textDocument")?.get_mut("text"),
            Slot::Change(at) => params.get_mut("contentChanges")?.get_mut(at)?.get_mut("text"),
            Slot::Delta => params.get_mut("delta"),
            Slot::Output => params.get_mut("detail")?.get_mut("text"),
        }
    }
}

/// A part of a text that one frame brought.
#[derive(Debug, Clone, Copy)]
struct Piece {
    n: u64,
    slot: Slot,
    /// Where it begins in what the frame brought (bytes).
    from: usize,
    /// Bytes.
    len: usize,
}

/// A text and where each part of it is from.
#[derive(Debug)]
struct Woven {
    text: Text,
    pieces: Vec<Piece>,
}

impl Woven {
    fn new(text: &str, breaks: LineBreaks, n: u64, slot: Slot) -> Woven {
        Woven { text: Text::new(text, breaks), pieces: vec![Piece { n, slot, from: 0, len: text.len() }] }
    }

    /// Replaces a part of the text by what a frame brought.
    fn splice(&mut self, splice: &Splice, n: u64, slot: Slot) {
        let Range { start, end } = splice.range;
        let (mut pieces, mut rest, mut at) = (Vec::with_capacity(self.pieces.len() + 2), Vec::new(), 0);
        for piece in self.pieces.drain(..) {
            let stop = at + piece.len;
            if at < start {
                pieces.push(Piece { len: stop.min(start) - at, ..piece });
            }
            if stop > end {
                let cut = end.max(at);
                rest.push(Piece { from: piece.from + cut - at, len: stop - cut, ..piece });
            }
            at = stop;
        }
        pieces.push(Piece { n, slot, from: 0, len: splice.text.len() });
        pieces.append(&mut rest);
        pieces.retain(|piece| piece.len > 0);
        self.pieces = pieces;
        self.text.splice(splice);
    }

    /// The parts of what frames brought that make up a part of the text: which, where in it, and where in the part.
    fn origins(&self, range: Range<usize>) -> impl Iterator<Item = (Piece, Range<usize>, Range<usize>)> + '_ {
        let mut at = 0;
        self.pieces.iter().filter_map(move |piece| {
            let (start, end) = (at, at + piece.len);
            at = end;
            let (from, to) = (range.start.max(start), range.end.min(end));
            (from < to).then(|| {
                let theirs = piece.from + from - start..piece.from + to - start;
                (*piece, theirs, from - range.start..to - range.start)
            })
        })
    }
}

/// A place in a frame that has to be another text.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    slot: Slot,
    at: Range<usize>,
    masked: String,
}

/// All texts that grow.
#[derive(Debug, Default)]
pub(super) struct Typed {
    encoding: Encoding,
    breaks: LineBreaks,
    documents: HashMap<String, Woven>,
    streams: HashMap<String, Woven>,
    places: BTreeMap<u64, Vec<Place>>,
    /// Whether a place is in a frame that is written already.
    late: bool,
}

impl Typed {
    /// Whether frames that are written already hold pieces of secrets.
    pub(super) fn is_late(&self) -> bool {
        self.late
    }

    /// Follows a message as it came. What it completes is known to `redactor` from then on.
    pub(super) fn follow(&mut self, n: u64, dir: Dir, message: &Value, redactor: &mut Redactor) {
        let params = &message["params"];
        match (dir, message["method"].as_str()) {
            (Dir::Out, None) => {
                let chosen = &message["result"]["capabilities"]["positionEncoding"];
                if let Ok(encoding) = serde_json::from_value(chosen.clone()) {
                    self.encoding = encoding;
                }
            }
            (Dir::In, Some("initialize")) => {
                let breaks = &params["capabilities"]["experimental"]["ropewalk"]["lineBreaks"];
                self.breaks = if *breaks == "lsp" { LineBreaks::Lsp } else { LineBreaks::Lf };
            }
            (Dir::In, Some("textDocument/didOpen")) => {
                let document = &params["textDocument"];
                if let (Some(uri), Some(text)) = (document["uri"].as_str(), document["text"].as_str()) {
                    self.opened(uri, text, n, Slot::Open);
                }
            }
            (Dir::In, Some("textDocument/didClose")) => {
                self.documents.remove(params["textDocument"]["uri"].as_str().unwrap_or_default());
            }
            (Dir::In, Some("textDocument/didChange")) => {
                let uri = params["textDocument"]["uri"].as_str().unwrap_or_default().to_owned();
                let changes = params["contentChanges"].as_array().map(Vec::as_slice).unwrap_or_default();
                for (at, change) in changes.iter().enumerate() {
                    self.changed(&uri, change, n, Slot::Change(at), redactor);
                }
            }
            (Dir::In, Some("ropewalk/toolInput")) => {
                self.streamed("in", params, &params["delta"], n, Slot::Delta, redactor);
            }
            (Dir::Out, Some("ropewalk/toolEvent")) if params["kind"] == "output" => {
                self.streamed("out", params, &params["detail"]["text"], n, Slot::Output, redactor);
            }
            _ => {}
        }
    }

    /// Cuts out of a message what is known by now to be a piece of a secret.
    pub(super) fn mend(&self, n: u64, message: &mut Value) {
        for place in self.places.get(&n).map(Vec::as_slice).unwrap_or_default() {
            if let Some(Value::String(text)) = place.slot.of(message)
                && text.get(place.at.clone()).is_some_and(|part| part.len() == place.masked.len())
            {
                text.replace_range(place.at.clone(), &place.masked);
            }
        }
    }

    fn opened(&mut self, uri: &str, text: &str, n: u64, slot: Slot) {
        if text.len() <= LONGEST {
            self.documents.insert(uri.to_owned(), Woven::new(text, self.breaks, n, slot));
        } else {
            self.documents.remove(uri);
        }
    }

    fn changed(&mut self, uri: &str, change: &Value, n: u64, slot: Slot, redactor: &mut Redactor) {
        let Some(text) = change["text"].as_str() else { return drop(self.documents.remove(uri)) };
        if change.get("range").is_none_or(Value::is_null) {
            return self.opened(uri, text, n, slot);
        }
        let Some(woven) = self.documents.get_mut(uri) else { return };
        let edit = serde_json::from_value(change["range"].clone());
        let splice =
            edit.map(|range| woven.text.splice_of(&TextEdit { range, new_text: text.to_owned() }, self.encoding));
        match splice {
            Ok((splice, clamp)) if clamp != Clamp::MidCharacter && woven.text.len() + splice.text.len() <= LONGEST => {
                woven.splice(&splice, n, slot);
                let start = splice.range.start;
                self.late |= completed(woven, start..start + splice.text.len(), n, redactor, &mut self.places);
            }
            // Nobody knows the text any more until it is opened again.
            _ => drop(self.documents.remove(uri)),
        }
    }

    fn streamed(&mut self, way: &str, params: &Value, piece: &Value, n: u64, slot: Slot, redactor: &mut Redactor) {
        let Some(piece) = piece.as_str() else { return };
        let key = format!("{way} {} {}", params["sessionId"], params["callId"]);
        let woven = self.streams.entry(key).or_insert_with(|| Woven::new("", LineBreaks::Lf, n, slot));
        let end = woven.text.len();
        if end + piece.len() > LONGEST {
            return;
        }
        woven.splice(&Splice { range: end..end, text: piece.to_owned() }, n, slot);
        self.late |= completed(woven, end..end + piece.len(), n, redactor, &mut self.places);
    }
}

/// Looks for secrets round a change that the frame `n` brought, of which a part may have come before: whether one has.
fn completed(
    woven: &Woven,
    change: Range<usize>,
    n: u64,
    redactor: &mut Redactor,
    places: &mut BTreeMap<u64, Vec<Place>>,
) -> bool {
    let mut late = false;
    let text = &woven.text;
    let (first, last) = (text.line_of(change.start), text.line_of(change.end));
    let near = |from: usize, to: usize| {
        let from = text.floor(from.max(change.start.saturating_sub(AROUND)));
        let to = text.floor(to.min(change.end + AROUND));
        (from, text.slice(from..to))
    };
    let (mut from, mut window) = near(text.line_start(first), text.line_end(last));
    // A private key is of many lines, of which this may be the first or the last.
    if window.contains("PRIVATE KEY") {
        (from, window) = near(0, text.len());
    }
    for span in secrets(&window) {
        let here = from + span.start..from + span.end;
        let masked = redactor.learn(&window[span]);
        for (piece, theirs, ours) in woven.origins(here) {
            if let Some(masked) = masked.get(ours) {
                let place = Place { slot: piece.slot, at: theirs, masked: masked.to_owned() };
                let placed = places.entry(piece.n).or_default();
                if !placed.contains(&place) {
                    placed.push(place);
                    late |= piece.n < n;
                }
            }
        }
    }
    late
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn open(text: &str) -> Value {
        json!({ "method": "textDocument/didOpen", "params": { "textDocument": { "uri": "u", "text": text } } })
    }

    fn change(line: u32, from: u32, to: u32, text: &str) -> Value {
        let range = json!({ "start": { "line": line, "character": from }, "end": { "line": line, "character": to } });
        let changes = json!([{ "range": range, "text": text }]);
        json!({ "method": "textDocument/didChange", "params": { "textDocument": { "uri": "u" }, "contentChanges": changes } })
    }

    /// The messages as they are once all secrets are known.
    fn mended(messages: Vec<Value>) -> Vec<Value> {
        let (mut typed, mut redactor) = (Typed::default(), Redactor::default());
        for (n, message) in (1..).zip(&messages) {
            typed.follow(n, Dir::In, message, &mut redactor);
        }
        (1..)
            .zip(messages)
            .map(|(n, mut message)| {
                typed.mend(n, &mut message);
                redactor.message(&mut message);
                message
            })
            .collect()
    }

    fn texts(messages: &[Value]) -> String {
        messages
            .iter()
            .map(|message| {
                let params = &message["params"];
                let text = [&params["textDocument"]["text"], &params["contentChanges"][0]["text"], &params["delta"]];
                text.into_iter().find_map(Value::as_str).unwrap().to_owned()
            })
            .collect()
    }

    #[test]
    fn a_secret_that_is_typed_letter_by_letter() {
        let mut messages = vec![open("a\npassword = \"\"\nb\n")];
        messages
            .extend((0u32..).zip("hunter2secret".chars()).map(|(at, c)| change(1, 12 + at, 12 + at, &c.to_string())));
        let after = mended(messages);
        assert!(texts(&after[1..]).starts_with("redacted"), "{}", texts(&after[1..]));
        assert_eq!(texts(&after[..1]), "a\npassword = \"\"\nb\n");
        assert_eq!(texts(&after[1..]).len(), 13);
        assert!(!texts(&after[1..]).contains(['h', 'u', '2']) || !texts(&after[1..]).contains("unter"));
    }

    #[test]
    fn a_name_that_is_given_to_what_was_there() {
        // The value was there before; only the name shows what it is.
        let after = mended(vec![open("x = hunter2secret\n"), change(0, 0, 1, "password")]);
        assert_eq!(texts(&after[..1]), "x = redacted1____\n");
    }

    #[test]
    fn arguments_that_a_model_writes() {
        let delta = |text: &str| json!({ "method": "ropewalk/toolInput", "params": { "callId": "c", "delta": text } });
        let after = mended(vec![delta("{\"content\":\"password = hun"), delta("ter2se"), delta("cret\"}")]);
        assert!(!texts(&after).contains("hun") && !texts(&after).contains("ter2"), "{}", texts(&after));
        assert!(texts(&after).ends_with("\"}"));
    }

    proptest! {
        #[test]
        fn every_byte_is_known_by_its_frame(edits in proptest::collection::vec((0usize..40, 0usize..10, "[a-z]{0,5}"), 0..30)) {
            let mut woven = Woven::new("0123456789", LineBreaks::Lf, 0, Slot::Open);
            let mut brought = vec!["0123456789".to_owned()];
            for (n, (at, len, text)) in (1..).zip(edits) {
                let start = at.min(woven.text.len());
                let end = (start + len).min(woven.text.len());
                woven.splice(&Splice { range: start..end, text: text.clone() }, n, Slot::Change(0));
                brought.push(text);
                let whole = woven.text.slice(0..woven.text.len());
                let from: String = woven
                    .origins(0..whole.len())
                    .map(|(piece, theirs, _)| &brought[usize::try_from(piece.n).unwrap()][theirs])
                    .collect();
                prop_assert_eq!(from, whole);
            }
        }
    }
}
