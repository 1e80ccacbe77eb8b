//! What a loop changes of the shell, by a look at its text: it holds already in its second turn.

use std::collections::BTreeSet;

use super::grammar::{AndOr, Command, Head, Part, Pipeline, Script, Simple, Target, Term, What};

/// What may change.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Variables.
    pub names: BTreeSet<String>,
    /// Variables that only arithmetic sets, if no other does.
    pub numbers: BTreeSet<String>,
    /// Whether any variable may.
    pub unknown: bool,
    /// Whether the folder may.
    pub folder: bool,
}

impl Changes {
    /// Whether anything changes.
    pub(super) fn any(&self) -> bool {
        self.unknown || self.folder || !self.names.is_empty() || !self.numbers.is_empty()
    }
}

/// What the turns of a loop may change.
pub(super) fn changes(head: &Head, body: &Script) -> Changes {
    let mut changes = Changes::default();
    changes.head(head);
    changes.script(body);
    changes
}

/// Commands that set variables whose names their arguments tell, or anything.
const SETS: &[&str] = &[
    ".",
    "declare",
    "eval",
    "export",
    "getopts",
    "let",
    "local",
    "mapfile",
    "printf",
    "read",
    "readarray",
    "readonly",
    "set",
    "shift",
    "source",
    "typeset",
    "unset",
    "builtin",
    "command",
    "wait",
    "trap",
    "exec",
    "alias",
];

impl Changes {
    fn head(&mut self, head: &Head) {
        match head {
            Head::While(condition) => self.script(condition),
            Head::Each { name, words } => {
                self.names.insert(name.clone());
                self.terms(words.as_deref().unwrap_or_default());
            }
            Head::Count(parts) => self.arithmetic(parts),
        }
    }

    fn script(&mut self, script: &Script) {
        for AndOr { first, rest, .. } in &script.lists {
            for Pipeline { commands } in std::iter::once(first).chain(rest.iter().map(|(_, pipeline)| pipeline)) {
                for command in commands {
                    self.command(command);
                }
            }
        }
    }

    fn command(&mut self, command: &Command) {
        for redirect in &command.redirects {
            match &redirect.target {
                Target::Term(term) => self.parts(&term.parts),
                Target::Document(parts) => self.parts(parts.get().map_or(&[], Vec::as_slice)),
            }
            self.unknown |= redirect.fd.as_deref().is_some_and(|fd| !fd.bytes().all(|b| b.is_ascii_digit()));
        }
        match &command.what {
            What::Simple(simple) => self.simple(simple),
            What::Group { subshell: true, .. } | What::Apart(_) => {}
            What::Group { body, .. } => self.script(body),
            What::If { arms, other } => {
                for (condition, then) in arms {
                    self.script(condition);
                    self.script(then);
                }
                if let Some(other) = other {
                    self.script(other);
                }
            }
            What::Loop { head, body } => {
                self.head(head);
                self.script(body);
            }
            What::Case { of, arms } => {
                self.parts(&of.parts);
                for (patterns, body) in arms {
                    self.terms(patterns);
                    self.script(body);
                }
            }
            What::Function { .. } => self.unknown = true,
            What::Arithmetic(parts) => self.arithmetic(parts),
            What::Test(terms) => {
                // `=~` sets BASH_REMATCH, which no program's name comes from.
                self.terms(terms);
            }
        }
    }

    fn simple(&mut self, simple: &Simple) {
        for assign in &simple.assigns {
            let counted = matches!(assign.value.parts.as_slice(), [Part::Arithmetic { .. }]) && !assign.append;
            let list = if counted { &mut self.numbers } else { &mut self.names };
            list.insert(assign.name.clone());
            self.parts(&assign.value.parts);
        }
        self.terms(&simple.words);
        let Some(first) = simple.words.first() else { return };
        let name = match first.parts.as_slice() {
            [Part::Bare(name)] => name.as_str(),
            // Quoted or expanded, it may be any of them.
            _ => "eval",
        };
        self.folder |= matches!(name, "cd" | "pushd" | "popd" | "eval" | "." | "source" | "builtin" | "command");
        // `printf -v name` is the only one that sets.
        self.unknown |= SETS.contains(&name) && (name != "printf" || simple.words.iter().any(|w| w.raw.contains("-v")));
    }

    fn terms(&mut self, terms: &[Term]) {
        for term in terms {
            self.parts(&term.parts);
        }
    }

    fn parts(&mut self, parts: &[Part]) {
        for part in parts {
            match part {
                Part::Param(param) => {
                    if matches!(param.op.as_str(), ":=" | "=") {
                        self.names.insert(param.name.clone());
                    }
                    self.parts(&param.rest);
                    self.arithmetic(param.subscript.as_deref().unwrap_or_default());
                }
                Part::Arithmetic { parts, .. } => self.arithmetic(parts),
                Part::Array(elements) => self.terms(elements),
                Part::Bare(_) | Part::Quoted(_) | Part::Command { .. } | Part::Process { .. } => {}
            }
        }
    }

    fn arithmetic(&mut self, parts: &[Part]) {
        self.parts(parts);
        for part in parts {
            if let Part::Bare(text) | Part::Quoted(text) = part
                && (text.contains('=') || text.contains("++") || text.contains("--"))
            {
                let names = text.split(|c: char| c != '_' && !c.is_ascii_alphanumeric());
                self.numbers.extend(names.map(str::to_owned));
            }
        }
    }
}
