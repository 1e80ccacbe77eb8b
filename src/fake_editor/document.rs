//! One document of an editor: its text, its version, what undo and redo go back to, and what the disk has. Pure.

use std::ops::Range as Bytes;

use serde_json::{Value, json};

use super::manner::Manner;
use crate::text::{Encoding, LineEnd, Splice, Text, diff};

/// So many bytes of typing Emacs takes back at once.
const AMALGAMATED: usize = 20;

/// A document.
#[derive(Debug, Clone)]
pub(super) struct Document {
    manner: Manner,
    /// The language id it was opened with.
    pub(super) language: String,
    /// The version the other side was last told.
    pub(super) version: i32,
    text: Text,
    line_end: LineEnd,
    bom: bool,
    ended: bool,
    /// The text as it was last saved; `None`: there is no such file.
    saved: Option<Text>,
    undo: Vec<Step>,
    redo: Vec<Text>,
    /// Neovim's insert mode: what is typed, and what edits do, is one step.
    inserting: bool,
}

/// What one undo takes back.
#[derive(Debug, Clone)]
struct Step {
    /// The text before it.
    before: Text,
    /// Where typing goes on that joins it (bytes), and how much was typed.
    typed: Option<(usize, usize)>,
    /// It was made in an insert mode that has not been left since.
    open: bool,
}

/// What a change of the text is to undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// A person types, and (in Neovim) stays in insert mode afterwards or not.
    Typing {
        /// Insert mode is not left.
        stays: bool,
    },
    /// An edit of the other side's.
    Edit,
    /// A file that was read anew: what was undoable stays so.
    Reload,
}

impl Document {
    /// A document with the text of a file. `on_disk`: that file is there, so that nothing is unsaved.
    pub(super) fn new(manner: Manner, language: &str, file: &str, on_disk: bool) -> Document {
        let loaded = manner.load(file);
        let text = Text::new(&loaded.text, manner.breaks());
        Document {
            manner,
            language: language.to_owned(),
            version: manner.first_version(),
            saved: on_disk.then(|| text.clone()),
            text,
            line_end: loaded.line_end,
            bom: loaded.bom,
            ended: loaded.ended,
            undo: Vec::new(),
            redo: Vec::new(),
            inserting: false,
        }
    }

    /// Its text, as it goes over the wire.
    pub(super) fn text(&self) -> &Text {
        &self.text
    }

    /// The file holds this, whatever the document has.
    pub(super) fn was_saved_as(&mut self, file: &str) {
        self.saved = Some(Text::new(&self.manner.load(file).text, self.manner.breaks()));
    }

    /// Whether its text is not that of the file.
    pub(super) fn unsaved(&self) -> bool {
        self.saved.as_ref().is_none_or(|saved| saved.rope() != self.text.rope())
    }

    /// How many steps undo can take back.
    pub(super) fn undo_depth(&self) -> usize {
        self.undo.len()
    }

    /// How many steps redo can make again.
    pub(super) fn redo_depth(&self) -> usize {
        self.redo.len()
    }

    /// What is written to the disk; it is what is there from now on.
    pub(super) fn save(&mut self) -> String {
        self.leave_insert_mode();
        self.saved = Some(self.text.clone());
        self.manner.saved(&self.text.to_string(), self.line_end, self.bom)
    }

    /// Leaves insert mode, where there is one.
    pub(super) fn leave_insert_mode(&mut self) {
        self.inserting = false;
        if let Some(step) = self.undo.last_mut() {
            step.open = false;
            step.typed = None;
        }
    }

    /// Changes the text: the splices refer to it as it is and do not overlap. Gives the content changes that tell it, in
    /// their order, one for each splice that changes something; each refers to the text that those before it left.
    pub(super) fn change(&mut self, splices: &[Splice], cause: Cause, encoding: Encoding) -> Vec<Value> {
        let before = self.text.clone();
        let mut ordered: Vec<&Splice> = splices.iter().collect();
        ordered.sort_by_key(|splice| (splice.range.start, splice.range.end));
        let mut changes = Vec::new();
        // From the end, so that the places of those before stay right.
        for splice in ordered.into_iter().rev() {
            let text = self.manner.inserted(&splice.text, self.line_end);
            changes.extend(self.put(&Splice { range: splice.range.clone(), text }, encoding));
        }
        if !changes.is_empty() {
            self.remember(before, splices, cause);
        }
        changes
    }

    /// One splice, with what the editor makes of the end of the text on that occasion.
    fn put(&mut self, splice: &Splice, encoding: Encoding) -> Option<Value> {
        let mut plain = self.text.clone();
        plain.splice(splice);
        let plain = plain.to_string();
        let settled = self.manner.settled(plain.clone(), self.line_end, self.ended);
        let whole;
        let told = if settled == plain {
            splice
        } else {
            whole = smallest(&self.text.to_string(), &settled);
            &whole
        };
        let told = self.text.widen(told);
        if self.text.slice(told.range.clone()) == told.text {
            return None;
        }
        let range = self.text.range_of(told.range.clone(), encoding);
        self.text.splice(&told);
        Some(json!({ "range": range, "text": told.text }))
    }

    fn remember(&mut self, before: Text, splices: &[Splice], cause: Cause) {
        self.redo.clear();
        let typed = match (cause, splices) {
            (Cause::Typing { .. }, [one]) if one.range.is_empty() => Some((one.range.start, one.text.len())),
            _ => None,
        };
        let joins = match (self.undo.last(), cause) {
            (Some(last), Cause::Typing { .. }) if self.manner.is_neovim() => last.open,
            // Neovim itself has no step of its own for an edit that comes while somebody types; our plugin makes one.
            (Some(last), Cause::Edit) if self.manner == Manner::Neovim => last.open,
            (Some(last), Cause::Typing { .. }) => self.goes_on(last, typed, splices),
            _ => false,
        };
        let stays = matches!(cause, Cause::Typing { stays: true }) && self.manner.is_neovim();
        if let Cause::Typing { .. } = cause {
            self.inserting = stays;
        }
        // What our plugin puts in is a step that typing does not join either.
        let open = match cause {
            Cause::Typing { .. } => stays,
            Cause::Edit => self.manner == Manner::Neovim && self.inserting,
            Cause::Reload => false,
        };
        let end = typed.map(|(at, len)| (at + len, len));
        match self.undo.last_mut() {
            Some(last) if joins => {
                last.open = open;
                last.typed = match (last.typed, end) {
                    (Some((_, sum)), Some((end, len))) => Some((end, sum + len)),
                    _ => None,
                };
            }
            _ => self.undo.push(Step { before, typed: end, open }),
        }
    }

    /// Whether what is typed goes on where the last step was typed.
    fn goes_on(&self, last: &Step, typed: Option<(usize, usize)>, splices: &[Splice]) -> bool {
        let (Some((end, sum)), Some((at, len))) = (last.typed, typed) else { return false };
        let plain = !splices.iter().any(|splice| splice.text.contains(['\r', '\n']));
        plain && at == end && (self.manner != Manner::Eglot || sum + len <= AMALGAMATED)
    }

    /// Takes the last step back; the content changes that tell it. `None`: there is nothing to take back.
    pub(super) fn undo(&mut self, encoding: Encoding) -> Option<Vec<Value>> {
        self.leave_insert_mode();
        let step = self.undo.pop()?;
        self.redo.push(self.text.clone());
        Some(self.become_text(step.before, encoding))
    }

    /// Makes the step again that was last taken back.
    pub(super) fn redo(&mut self, encoding: Encoding) -> Option<Vec<Value>> {
        self.leave_insert_mode();
        let text = self.redo.pop()?;
        self.undo.push(Step { before: self.text.clone(), typed: None, open: false });
        Some(self.become_text(text, encoding))
    }

    fn become_text(&mut self, text: Text, encoding: Encoding) -> Vec<Value> {
        let splices = diff::splices(&self.text.to_string(), &text.to_string());
        let mut changes = Vec::new();
        for splice in self.text.widened(&splices).iter().rev() {
            changes.push(json!({ "range": self.text.range_of(splice.range.clone(), encoding), "text": splice.text }));
            self.text.splice(splice);
        }
        self.text = text;
        changes
    }

    /// The file was read anew. Gives the content changes, and whether there is another line end or byte order mark.
    pub(super) fn reload(&mut self, file: &str, encoding: Encoding) -> Vec<Value> {
        let loaded = self.manner.load(file);
        (self.line_end, self.bom, self.ended) = (loaded.line_end, loaded.bom, loaded.ended);
        let text = Text::new(&loaded.text, self.manner.breaks());
        self.saved = Some(text.clone());
        if text.rope() == self.text.rope() {
            return Vec::new();
        }
        let before = self.text.clone();
        let changes = self.become_text(text, encoding);
        self.remember(before, &[], Cause::Reload);
        changes
    }
}

/// The one splice that makes a text another.
fn smallest(old: &str, new: &str) -> Splice {
    let (front, back) = diff::common_ends(old, new);
    let range: Bytes<usize> = front..old.len() - back;
    Splice { range, text: new[front..new.len() - back].to_owned() }
}
