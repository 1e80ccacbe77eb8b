//! What may be done without asking: trust in folders, and the decision on a call. Pure, but for the list of trusted roots.

pub mod arity;
mod commands;
mod credentials;
mod glob;
mod hosts;
mod judge;
mod lines;
mod names;
mod policy;
mod rules;
pub mod shell;
mod steering;
mod suggest;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::config::Mode;
pub use credentials::{credential, credential_for, credential_spans, names_credential, noted_credential};
pub use judge::judge;
pub use lines::{Line, Program, Step, candidates, elsewhere, is_runners, is_sink};
pub use names::{protected, secret};
pub use policy::Policy;
pub use rules::{Bases, Fault, Rules};
pub use suggest::suggest;

use crate::editor::Risk;
use crate::text::percent;

/// Which folders the person trusts: a repository is not the user, so nothing of an untrusted one is run or obeyed.
#[derive(Debug, Default)]
pub struct Trust {
    /// What was said of folders: the number of the grant, or that one within a trusted folder is not trusted.
    roots: RwLock<BTreeMap<PathBuf, Option<u64>>>,
    grants: AtomicU64,
}

/// What was trusted when a call was judged: what the call starts is started only while all of it still is, by the same
/// grants. Trust that was taken away and given anew is given to what is there by then.
#[derive(Debug, Clone, Default)]
pub struct Footing {
    /// The folders and files (canonical) that trust covered, by which grant, and who knows whether it still does.
    covered: Vec<(PathBuf, u64)>,
    trust: Option<Arc<Trust>>,
}

impl Footing {
    /// Of these paths (canonical) those that were covered at some moment, and the trust that may have changed since.
    pub fn on<'a>(trust: &Arc<Trust>, then: &Trust, paths: impl IntoIterator<Item = &'a Path>) -> Footing {
        let covered = paths.into_iter().filter_map(|path| Some((path.to_owned(), then.grant(path)?))).collect();
        Footing { covered, trust: Some(Arc::clone(trust)) }
    }

    /// Also on what another one rests on.
    pub fn extend(&mut self, other: Footing) {
        self.covered.extend(other.covered);
        self.trust = self.trust.take().or(other.trust);
    }

    /// The first of which this is so no more, in words.
    pub fn fallen(&self) -> Option<String> {
        let trust = self.trust.as_ref()?;
        self.covered.iter().find_map(|(path, then)| match trust.grant(path) {
            Some(now) if now == *then => None,
            Some(_) => Some(format!("trust in {} was given anew after the call was judged", path.display())),
            None => Some(format!("{} is not trusted any more", path.display())),
        })
    }
}

impl Trust {
    /// Trusts nothing.
    pub fn new() -> Trust {
        Trust::default()
    }

    /// Trusts a folder (canonical path) and what is below it, or no longer does. To trust one that is trusted already is a
    /// grant of its own: it covers what the folder holds by now. What was said of the innermost folder counts: one within a
    /// trusted folder that is not to be trusted is not.
    pub fn set(&self, root: &Path, trusted: bool) {
        let mut roots = self.roots.write().unwrap_or_else(PoisonError::into_inner);
        roots.remove(root);
        if trusted {
            roots.insert(root.to_owned(), Some(self.grants.fetch_add(1, Ordering::Relaxed)));
        } else if innermost(&roots, root).is_some_and(|(_, grant)| grant.is_some()) {
            roots.insert(root.to_owned(), None);
        }
    }

    /// What is trusted at this moment, whatever changes later.
    #[must_use]
    pub fn now(&self) -> Trust {
        let roots = self.roots.read().unwrap_or_else(PoisonError::into_inner).clone();
        Trust { roots: RwLock::new(roots), grants: AtomicU64::new(self.grants.load(Ordering::Relaxed)) }
    }

    /// Nothing is said of a folder itself any more: it is as trusted as what it lies in.
    pub fn forget(&self, root: &Path) {
        self.roots.write().unwrap_or_else(PoisonError::into_inner).remove(root);
    }

    /// The folder that is not to be trusted though it lies in one that is, and that a canonical path lies in.
    pub fn excluded(&self, path: &Path) -> Option<PathBuf> {
        let roots = self.roots.read().unwrap_or_else(PoisonError::into_inner);
        innermost(&roots, path).filter(|(_, grant)| grant.is_none()).map(|(root, _)| root.clone())
    }

    /// Whether a canonical path lies in a trusted folder.
    pub fn covers(&self, path: &Path) -> bool {
        self.grant(path).is_some()
    }

    /// The newest grant that covers a canonical path: another number means that trust was given anew since.
    pub fn grant(&self, path: &Path) -> Option<u64> {
        let roots = self.roots.read().unwrap_or_else(PoisonError::into_inner);
        (*innermost(&roots, path)?.1)?;
        roots.iter().filter(|(root, _)| path.starts_with(root)).filter_map(|(_, grant)| *grant).max()
    }
}

/// What was said of the innermost folder that a path lies in.
fn innermost<'a>(roots: &'a BTreeMap<PathBuf, Option<u64>>, path: &Path) -> Option<(&'a PathBuf, &'a Option<u64>)> {
    roots.iter().filter(|(root, _)| path.starts_with(root)).max_by_key(|(root, _)| root.components().count())
}

/// Whether a person is asked about a tool's calls, in general.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Requirement {
    /// No.
    Auto,
    /// In some modes.
    Suggest,
    /// Always.
    Required,
}

/// What the rules say of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DecisionKind {
    /// It runs.
    Allow,
    /// A person is asked.
    Ask,
    /// It does not run.
    Deny,
}

/// The rule for a tool's calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Reads run inside the workspace folders, secret files aside.
    Read,
    /// Writes run inside the workspace folders (undo is the net), protected and secret files aside.
    Write,
    /// What a call does depends on its input: one that writes is judged as a write, one that does not as a read.
    ReadOrWrite,
    /// Calls talk to other machines, which are asked about by name; what is sent there is asked about by itself.
    Fetch,
    /// Calls run a command line, which is looked into.
    Shell,
    /// Calls touch nothing but what the session itself remembers.
    Session,
    /// Calls ask the person something, and touch nothing.
    Person,
    /// Calls look at what is remembered of the workspace folder, or change it, which is asked about like a write.
    Memory,
    /// Calls end plan mode: a person has to agree to the plan.
    Plan,
    /// Calls that start an agent, which is what their commands name, are asked about like writes; the agent may do what its
    /// session may.
    Agent,
    /// Calls run on an MCP server.
    Mcp {
        /// The server declares that they change nothing.
        reads: bool,
        /// The user trusts the server, and it is what they trusted: nobody is asked.
        trusted: bool,
    },
    /// Nothing is known of the tool: a person is asked about each call.
    Unknown,
}

/// The rule of each tool, sorted by name.
const RULES: &[(&str, Rule)] = &[
    ("agent", Rule::Agent),
    ("apply_patch", Rule::Write),
    ("bash", Rule::Shell),
    ("edit", Rule::Write),
    ("file_search", Rule::Read),
    ("glob", Rule::Read),
    ("grep", Rule::Read),
    ("invalid", Rule::Read),
    ("ls", Rule::Read),
    ("lsp", Rule::ReadOrWrite),
    ("lsp_edit", Rule::Write),
    ("memory", Rule::Memory),
    ("monitor", Rule::Shell),
    ("multi_edit", Rule::Write),
    ("output", Rule::Read),
    ("plan_enter", Rule::Session),
    ("plan_exit", Rule::Plan),
    ("question", Rule::Person),
    ("read", Rule::Read),
    ("skill", Rule::Session),
    ("todowrite", Rule::Session),
    ("tool_search", Rule::Read),
    ("webfetch", Rule::Fetch),
    ("websearch", Rule::Fetch),
    ("write", Rule::Write),
];

impl Rule {
    /// The rule of a tool.
    pub fn of(tool: &str) -> Rule {
        RULES.iter().find(|(name, _)| *name == tool).map_or(Rule::Unknown, |(_, rule)| *rule)
    }

    /// Whether a person is asked, in general.
    pub fn requirement(self) -> Requirement {
        match self {
            Rule::Read | Rule::Fetch | Rule::Session | Rule::Person | Rule::Mcp { reads: true, trusted: true } => {
                Requirement::Auto
            }
            Rule::Write
            | Rule::ReadOrWrite
            | Rule::Memory
            | Rule::Agent
            | Rule::Mcp { reads: false, trusted: true } => Requirement::Suggest,
            Rule::Shell | Rule::Plan | Rule::Unknown | Rule::Mcp { trusted: false, .. } => Requirement::Required,
        }
    }

    /// Whether what a call reaches is all that is to be known of it.
    fn known(self) -> bool {
        !matches!(self, Rule::Unknown | Rule::Mcp { .. })
    }

    /// Whether its calls change or run something whatever they reach, as far as anybody knows.
    fn changes(self) -> bool {
        match self {
            // What a command line does is seen by looking into it, and which memories a call changes by its arguments.
            Rule::Read
            | Rule::ReadOrWrite
            | Rule::Fetch
            | Rule::Shell
            | Rule::Session
            | Rule::Person
            | Rule::Memory
            | Rule::Plan
            | Rule::Agent => false,
            Rule::Mcp { reads, .. } => !reads,
            Rule::Write | Rule::Unknown => true,
        }
    }
}

/// A file or document that a call reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// As the call named it.
    pub asked: String,
    /// The files it stands for or would be saved to, with all links resolved; empty for a document without a place in
    /// the file system.
    pub paths: Vec<PathBuf>,
    /// Whether all of these lie in the workspace folders, or there are none.
    pub inside: bool,
}

/// Everything a call reaches, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reach {
    /// What it reads.
    pub reads: Vec<Place>,
    /// What it changes.
    pub writes: Vec<Place>,
    /// Command lines it runs, looked into.
    pub lines: Vec<Line>,
    /// What it has others do, of which nothing but the name is known: commands of a language server, requests that send
    /// something to another machine.
    pub commands: Vec<String>,
    /// Hosts it talks to.
    pub hosts: Vec<String>,
    /// What looks like a credential in what the model wrote.
    pub credential: Option<&'static str>,
    /// Memories of the workspace folder that it changes, as `type/name`.
    pub memories: Vec<String>,
    /// Where a text of the same turn came from that came from elsewhere.
    pub external: Option<String>,
}

/// The decision on one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// In general.
    pub requirement: Requirement,
    /// This call.
    pub decision: DecisionKind,
    /// Why.
    pub reason: String,
    /// How much can go wrong.
    pub risk: Risk,
    /// Whether consent to this call says nothing about the next one, whatever the person answered.
    pub singly: bool,
    /// What the decision was made by.
    pub by: By,
}

impl Judgement {
    /// That of a call of which nothing is known yet.
    pub fn unknown(rule: Rule) -> Judgement {
        Judgement {
            requirement: rule.requirement(),
            decision: DecisionKind::Ask,
            reason: "nothing is known of it".to_owned(),
            risk: Risk::High,
            singly: true,
            by: By::Default,
        }
    }
}

/// What a decision was made by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// What is usual for what the call reaches.
    Default,
    /// The folder is not trusted.
    Trust,
    /// The mode of the session, or the one it may not be looser than.
    Mode,
    /// A rule.
    Rule,
    /// Settings that cannot be read.
    Fault,
}

impl By {
    /// Its name in the log.
    pub fn name(self) -> &'static str {
        match self {
            By::Default => "default",
            By::Trust => "trust",
            By::Mode => "mode",
            By::Rule => "rule",
            By::Fault => "fault",
        }
    }
}

impl Place {
    /// What a test on the components of a path says of this place, where it really is or as its name can be read; and
    /// which of these it is, for a person.
    fn named(&self, test: fn(&Path) -> Option<&'static str>) -> Option<(String, &'static str)> {
        let real = |path: &PathBuf| Some((visible(&path.to_string_lossy()), test(path)?));
        let read = |name: String| Some((visible(&self.asked), test(Path::new(&name))?));
        self.paths.iter().find_map(real).or_else(|| readings(&self.asked).into_iter().find_map(read))
    }

    /// Whether it lies in these folders; a document without a place does.
    fn within(&self, roots: Option<&[PathBuf]>) -> bool {
        roots.is_none_or(|roots| self.paths.iter().all(|path| roots.iter().any(|root| path.starts_with(root))))
    }

    fn shown(&self) -> String {
        let mut paths = self.paths.iter().map(|path| visible(&path.to_string_lossy()));
        let Some(first) = paths.next() else { return visible(&self.asked) };
        let others: Vec<String> = paths.collect();
        if others.is_empty() { first } else { format!("{first} (or {})", others.join(", ")) }
    }
}

/// A name as it may be meant: as it stands, or as a URI, percent-encoded and perhaps with a scheme and a query.
fn readings(asked: &str) -> Vec<String> {
    let plain = |text: &str| String::from_utf8_lossy(&percent::decoded(text)).into_owned();
    let mut readings = vec![asked.to_owned(), plain(asked), plain(percent::without_query(asked))];
    if let Some((_, rest)) = asked.split_once(':') {
        readings.extend([plain(rest), plain(percent::without_query(rest))]);
    }
    readings
}

/// A text for a question to a person: invisible and control characters are shown as escapes, nothing is left out.
pub fn visible(text: &str) -> String {
    use std::fmt::Write as _;
    text.chars().fold(String::with_capacity(text.len()), |mut out, character| {
        if names::invisible(character) || character.is_control() {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
        } else {
            out.push(character);
        }
        out
    })
}

#[cfg(test)]
mod tests;
