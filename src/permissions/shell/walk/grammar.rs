//! The shape of a shell script: what the parser gives and the walk goes through.

use std::cell::OnceCell;
use std::rc::Rc;

/// Lists of commands, one after the other.
#[derive(Debug, Clone, Default)]
pub(in crate::permissions::shell) struct Script {
    pub lists: Vec<AndOr>,
}

/// Pipelines joined by `&&` and `||`.
#[derive(Debug, Clone)]
pub(in crate::permissions::shell) struct AndOr {
    pub first: Pipeline,
    pub rest: Vec<(Joint, Pipeline)>,
    /// Whether it ends in `&`.
    pub background: bool,
    /// Whether the line of the text ends behind it.
    pub ends_line: bool,
}

/// What joins two pipelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::permissions::shell) enum Joint {
    And,
    Or,
}

/// Commands that feed each other.
#[derive(Debug, Clone)]
pub(in crate::permissions::shell) struct Pipeline {
    pub commands: Vec<Command>,
}

/// A command with its redirections.
#[derive(Debug, Clone)]
pub(in crate::permissions::shell) struct Command {
    pub what: What,
    pub redirects: Vec<Redirect>,
}

#[derive(Debug, Clone)]
pub(in crate::permissions::shell) enum What {
    Simple(Simple),
    Group {
        body: Script,
        subshell: bool,
    },
    If {
        /// Conditions with what follows from them.
        arms: Vec<(Script, Script)>,
        other: Option<Script>,
    },
    Loop {
        head: Head,
        body: Script,
    },
    Case {
        of: Term,
        arms: Vec<(Vec<Term>, Script)>,
    },
    Function {
        /// As the call would be written, quotes gone; `None`: not a plain name.
        name: Option<String>,
        body: Rc<Command>,
    },
    /// `((...))`.
    Arithmetic(Vec<Part>),
    /// `[[ ... ]]`: its words, operators left out.
    Test(Vec<Term>),
    /// `coproc`.
    Apart(Box<Command>),
}

#[derive(Debug, Clone)]
pub(in crate::permissions::shell) enum Head {
    While(Script),
    /// `for name in words`; without words it goes over the arguments.
    Each {
        name: String,
        words: Option<Vec<Term>>,
    },
    /// `for ((...))`.
    Count(Vec<Part>),
}

/// A command of words.
#[derive(Debug, Clone, Default)]
pub(in crate::permissions::shell) struct Simple {
    pub assigns: Vec<Assign>,
    pub words: Vec<Term>,
}

#[derive(Debug, Clone)]
pub(in crate::permissions::shell) struct Assign {
    pub name: String,
    pub subscript: Option<Vec<Part>>,
    /// `+=`.
    pub append: bool,
    pub value: Term,
}

#[derive(Debug, Clone)]
pub(in crate::permissions::shell) struct Redirect {
    /// What stands before the operator: a number, or `{name}` without its braces.
    pub fd: Option<String>,
    pub op: Op,
    /// The target; of a here-document its text.
    pub target: Target,
}

#[derive(Debug, Clone)]
pub(in crate::permissions::shell) enum Target {
    Term(Term),
    Document(Rc<OnceCell<Vec<Part>>>),
}

/// The kinds of redirection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::permissions::shell) enum Op {
    /// `<`
    Read,
    /// `>`, `>>`, `>|`, `&>`, `&>>`
    Write,
    /// `<>`
    Both,
    /// `<&`
    CopyIn,
    /// `>&`
    CopyOut,
    /// `<<`, `<<-`
    Document,
    /// `<<<`
    Text,
}

/// A word as written.
#[derive(Debug, Clone, Default)]
pub(in crate::permissions::shell) struct Term {
    pub parts: Vec<Part>,
    pub raw: String,
}

#[derive(Debug, Clone)]
pub(in crate::permissions::shell) enum Part {
    /// Text without quotes: braces, globs and tildes in it mean something.
    Bare(String),
    /// Text that stands for itself.
    Quoted(String),
    Param(Box<Param>),
    /// `$(...)` and backquotes.
    Command {
        script: Script,
        raw: String,
    },
    /// `<(...)` and `>(...)`.
    Process {
        script: Script,
        raw: String,
    },
    /// `$((...))` and `$[...]`.
    Arithmetic {
        parts: Vec<Part>,
        raw: String,
    },
    /// The elements of `name=(...)`.
    Array(Vec<Term>),
}

/// `$name` and `${...}`.
#[derive(Debug, Clone)]
pub(in crate::permissions::shell) struct Param {
    pub name: String,
    /// `${#name}`
    pub length: bool,
    /// `${!name}`
    pub indirect: bool,
    pub subscript: Option<Vec<Part>>,
    /// The operator behind the name, `:-` or `@P` or none.
    pub op: String,
    /// What stands behind the operator.
    pub rest: Vec<Part>,
    pub quoted: bool,
    pub raw: String,
}
