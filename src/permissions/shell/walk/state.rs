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
            if mine != value {
                *mine = Value::Unknown;
            }
        }
        for (name, value) in &mut self.vars {
            if !other.vars.contains_key(name) {
                *value = Value::Unknown;
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
