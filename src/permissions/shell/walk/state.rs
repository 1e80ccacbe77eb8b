//! What is known of the shell at some place of a line: folder, variables, functions, arguments, standard input.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use super::grammar::Command;
use crate::permissions::shell::Scene;
use crate::permissions::shell::effects::Word;

/// Folders that the line may be in at once; more are unknown.
const FOLDERS: usize = 4;

/// What a variable holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::permissions::shell) enum Value {
    Known(String),
    /// Some number.
    Number,
    /// What the line gave it, which only running it shows.
    Unknown,
    /// What it held before the line.
    Outer,
}

impl Value {
    /// Whether evaluating it as arithmetic can run nothing. What was there before the line is the user's own.
    pub(in crate::permissions::shell) fn is_number(&self) -> bool {
        match self {
            Value::Known(text) => text.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit()),
            Value::Number | Value::Outer => true,
            Value::Unknown => false,
        }
    }

    /// It may also be the other one.
    fn or(&mut self, other: &Value) {
        if self != other {
            *self = if self.is_number() && other.is_number() { Value::Number } else { Value::Unknown };
        }
    }
}

/// What standard input holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::permissions::shell) enum Feed {
    Nothing,
    /// A text that is known, or as written.
    Text(Word),
    /// What another command puts out, or a file. `text`: what that probably is. `download`: it may come from another
    /// machine.
    Stream {
        text: Option<String>,
        download: bool,
    },
}

#[derive(Debug, Clone)]
pub(in crate::permissions::shell) struct Function {
    pub bodies: Vec<Rc<Command>>,
    /// Whether it is defined whatever happens.
    pub definite: bool,
}

#[derive(Debug, Clone)]
pub(in crate::permissions::shell) struct State {
    pub vars: BTreeMap<String, Value>,
    /// The folders that it may be in; `None`: any.
    pub folders: Option<Vec<PathBuf>>,
    pub functions: BTreeMap<String, Function>,
    /// `$1` and so on; `None`: unknown.
    pub arguments: Option<Vec<Word>>,
    pub feed: Feed,
}

impl State {
    pub(super) fn new(scene: &Scene) -> State {
        State {
            vars: BTreeMap::new(),
            folders: Some(vec![scene.workdir.clone()]),
            functions: BTreeMap::new(),
            arguments: Some(Vec::new()),
            feed: Feed::Nothing,
        }
    }

    /// It may also be as `other` is: what differs is not known.
    pub(super) fn or(&mut self, other: &State) {
        for (name, value) in &other.vars {
            let mine = self.vars.entry(name.clone()).or_insert(Value::Outer);
            mine.or(value);
        }
        for (name, value) in &mut self.vars {
            if !other.vars.contains_key(name) {
                value.or(&Value::Outer);
            }
        }
        for (name, function) in &mut self.functions {
            function.definite &= other.functions.contains_key(name);
        }
        for (name, function) in &other.functions {
            match self.functions.get_mut(name) {
                None => {
                    self.functions.insert(name.clone(), Function { definite: false, ..function.clone() });
                }
                Some(mine) => {
                    for body in &function.bodies {
                        if !mine.bodies.iter().any(|known| Rc::ptr_eq(known, body)) {
                            mine.bodies.push(Rc::clone(body));
                        }
                    }
                }
            }
        }
        self.folders = both(self.folders.take(), other.folders.as_ref());
        if self.arguments != other.arguments {
            self.arguments = None;
        }
        if self.feed != other.feed {
            self.feed = Feed::Stream { text: None, download: false };
        }
    }

    /// Whether variables, folders and functions are the same.
    pub(super) fn alike(&self, other: &State) -> bool {
        let same = |one: &Function, other: &Function| {
            one.bodies.len() == other.bodies.len()
                && one.bodies.iter().zip(&other.bodies).all(|(one, other)| Rc::ptr_eq(one, other))
        };
        self.vars == other.vars
            && self.folders == other.folders
            && self.functions.len() == other.functions.len()
            && self.functions.iter().all(|(name, one)| other.functions.get(name).is_some_and(|other| same(one, other)))
    }

    /// No variable that the line sets is known any longer.
    pub(super) fn forget(&mut self) {
        self.vars.values_mut().for_each(|value| *value = Value::Unknown);
    }
}

/// The folders of either.
pub(super) fn both(one: Option<Vec<PathBuf>>, other: Option<&Vec<PathBuf>>) -> Option<Vec<PathBuf>> {
    let (mut one, other) = (one?, other?);
    for folder in other {
        if !one.contains(folder) {
            one.push(folder.clone());
        }
    }
    (one.len() <= FOLDERS).then_some(one)
}
