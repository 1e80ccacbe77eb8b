//! Loops and functions: their bodies, and the places from which the shell leaves them.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::grammar::{Command, Head, Script};
use super::state::{Function, State, Value};
use super::{TURNS, UNROLLED, Walker, scan};
use crate::permissions::shell::effects::{Verdict, Word};

/// A function or a loop that is being walked.
#[derive(Debug, Default)]
pub(super) struct Frame {
    /// Whether it is a function.
    pub function: bool,
    /// What may hold where it is left before its end.
    left: Option<State>,
    /// The variables that are the function's own.
    pub locals: BTreeSet<String>,
}

impl Walker<'_> {
    pub(super) fn turns(&mut self, head: &Head, body: &Script) {
        self.plain = false;
        let before = self.state.clone();
        let over = match head {
            Head::Each { words: Some(words), .. } => self.expand(words),
            Head::Each { words: None, .. } => {
                self.state.arguments.clone().unwrap_or_else(|| vec![Word::Unknown("$@".to_owned())])
            }
            _ => Vec::new(),
        };
        let known = over.iter().all(|word| matches!(word, Word::Known(_)));
        if let Head::Each { name, .. } = head
            && known
            && (1..=UNROLLED).contains(&over.len())
        {
            // What each turn changes is known in the next.
            for word in over {
                self.assign(name, Value::Known(word.text().to_owned()));
                self.within(|walker| walker.script(body));
            }
            return self.state.or(&before);
        }
        // The first turn is as the line stands, the later ones with what the earlier have changed.
        self.turn(head, &over, body);
        self.state.or(&before);
        let changes = scan::changes(head, body);
        if changes.any() {
            if changes.unknown || !self.state.functions.is_empty() {
                self.state.forget();
            }
            for name in &changes.numbers {
                if self.state.vars.contains_key(name) {
                    self.state.vars.insert(name.clone(), Value::Number);
                }
            }
            for name in &changes.names {
                self.state.vars.insert(name.clone(), Value::Unknown);
            }
            if changes.folder {
                self.state.folders = None;
            }
            self.turn(head, &over, body);
            self.state.or(&before);
        }
    }

    fn turn(&mut self, head: &Head, over: &[Word], body: &Script) {
        match head {
            Head::While(condition) => self.script(condition),
            Head::Count(parts) => self.arithmetic(parts),
            Head::Each { name, .. } => self.assign(name, common(over)),
        }
        self.within(|walker| walker.script(body));
    }

    pub(super) fn define(&mut self, name: Option<&str>, body: &Rc<Command>) {
        self.plain = false;
        self.uncalled.push((name.unwrap_or_default().to_owned(), Rc::clone(body), self.state.clone()));
        match name {
            Some(name) => {
                let mut function = Function { bodies: vec![Rc::clone(body)], definite: true };
                // Where this may be left out, it is still the old one.
                if let Some(old) = self.state.functions.get(name).filter(|_| self.fails) {
                    function.bodies.extend(old.bodies.iter().cloned());
                }
                self.state.functions.insert(name.to_owned(), function);
            }
            None => self.unclear("it defines a function whose name is not plain".to_owned()),
        }
    }

    /// A call of a function of the line.
    pub(super) fn call(&mut self, name: &str, function: &Function, args: &[Word]) {
        self.call_with(name, function, Some(args.to_vec()));
    }

    /// A call with arguments that may be unknown.
    pub(super) fn call_with(&mut self, name: &str, function: &Function, args: Option<Vec<Word>>) {
        let again = |(body, _): &&(Rc<Command>, usize)| function.bodies.iter().any(|called| Rc::ptr_eq(called, body));
        let around = self.calls.iter().filter(again).count();
        if let Some((_, forks)) = self.calls.iter().find(again) {
            if self.forks > *forks {
                self.raise(Verdict::Destructive, format!("`{name}` starts itself again and again (a fork bomb)"));
            } else {
                self.raise(Verdict::NeedsApproval, format!("`{name}` calls itself"));
            }
        }
        if around >= TURNS {
            return;
        }
        self.uncalled.retain(|(_, body, _)| !function.bodies.iter().any(|called| Rc::ptr_eq(called, body)));
        let outside = std::mem::replace(&mut self.state.arguments, args);
        let before = self.state.clone();
        for (index, body) in function.bodies.iter().enumerate() {
            self.calls.push((Rc::clone(body), self.forks));
            self.frames.push(Frame { function: true, ..Frame::default() });
            self.command(body);
            self.left();
            self.calls.pop();
            if index > 0 {
                self.state.or(&before);
            }
        }
        self.state.arguments = outside;
    }

    /// The body of a loop.
    fn within(&mut self, body: impl FnOnce(&mut Self)) {
        self.frames.push(Frame::default());
        body(self);
        self.left();
    }

    /// Behind a function or a loop.
    fn left(&mut self) {
        let Some(Frame { left, locals, .. }) = self.frames.pop() else { return };
        if let Some(left) = left {
            self.state.or(&left);
        }
        // Which of the variables of that name holds now is not told apart.
        for name in locals {
            self.state.vars.insert(name, Value::Unknown);
        }
    }

    /// `return`, or `break` and `continue`: the rest may be left out.
    pub(super) fn leaves(&mut self, function: bool) {
        // They may leave several loops at once, and those around a function too.
        for frame in self.frames.iter_mut().rev() {
            match &mut frame.left {
                Some(left) => left.or(&self.state),
                None => frame.left = Some(self.state.clone()),
            }
            if function && frame.function {
                break;
            }
        }
    }

    /// Something stands here that may fail so that the rest of the line of text is left out.
    pub(in crate::permissions::shell) fn may_fail(&mut self) {
        self.fails = true;
    }

    /// Behind a line of the text: what fails in it (a division by zero, a read-only variable) leaves out the rest of it,
    /// and the shell goes on with the next.
    pub(super) fn line_left_out(&mut self) {
        if !self.fails {
            return;
        }
        for (name, number) in self.doubtful.clone() {
            if name == "@" {
                self.state.arguments = None;
                continue;
            }
            let number = number && self.variable(&name).is_number();
            self.state.vars.insert(name, if number { Value::Number } else { Value::Unknown });
        }
        if self.depth <= 1 {
            self.fails = false;
            self.doubtful.clear();
        }
    }
}

/// What the values of all words have in common.
fn common(words: &[Word]) -> Value {
    match words {
        [Word::Known(text)] => Value::Known(text.clone()),
        words if words.iter().all(|word| word.text().bytes().all(|b| b.is_ascii_digit())) => Value::Number,
        _ => Value::Unknown,
    }
}
