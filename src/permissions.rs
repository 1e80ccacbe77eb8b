//! What may be done without asking: trust in folders, and the decision on a call. Pure, but for the list of trusted roots.

pub mod arity;
mod glob;
mod names;
mod policy;
mod rules;
pub mod shell;
mod suggest;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::config::Mode;
pub use names::{protected, secret};
pub use policy::Policy;
pub use rules::{Bases, Fault, Rules};
pub use suggest::suggest;

use crate::editor::Risk;
use crate::text::percent;

/// Which folders the person trusts: a repository is not the user, so nothing of an untrusted one is run or obeyed.
#[derive(Debug, Default)]
pub struct Trust {
    /// The trusted folders, each with the number of its grant.
    roots: RwLock<BTreeMap<PathBuf, u64>>,
    grants: AtomicU64,
}

impl Trust {
    /// Trusts nothing.
    pub fn new() -> Trust {
        Trust::default()
    }

    /// Trusts a folder (canonical path) and what is below it, or no longer does. To trust one that is trusted already is a
    /// grant of its own: it covers what the folder holds by now.
    pub fn set(&self, root: &Path, trusted: bool) {
        let mut roots = self.roots.write().unwrap_or_else(PoisonError::into_inner);
        if trusted {
            roots.insert(root.to_owned(), self.grants.fetch_add(1, Ordering::Relaxed));
        } else {
            roots.remove(root);
        }
    }

    /// Whether a canonical path lies in a trusted folder.
    pub fn covers(&self, path: &Path) -> bool {
        self.grant(path).is_some()
    }

    /// The newest grant that covers a canonical path: another number means that trust was given anew since.
    pub fn grant(&self, path: &Path) -> Option<u64> {
        let roots = self.roots.read().unwrap_or_else(PoisonError::into_inner);
        roots.iter().filter(|(root, _)| path.starts_with(root)).map(|(_, grant)| *grant).max()
    }
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
    /// Calls run a command line, which is looked into.
    Shell,
    /// Calls touch nothing but what the session itself remembers.
    Session,
    /// Nothing is known of the tool: a person is asked about each call.
    Unknown,
}

/// The rule of each tool, sorted by name.
const RULES: &[(&str, Rule)] = &[
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
    ("monitor", Rule::Shell),
    ("multi_edit", Rule::Write),
    ("output", Rule::Read),
    ("read", Rule::Read),
    ("todowrite", Rule::Session),
    ("tool_search", Rule::Read),
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
            Rule::Read | Rule::Session => Requirement::Auto,
            Rule::Write | Rule::ReadOrWrite => Requirement::Suggest,
            Rule::Shell | Rule::Unknown => Requirement::Required,
        }
    }

    /// Whether its calls may change or run something, as far as anybody knows.
    fn changes(self) -> bool {
        match self {
            // Of a shell, what runs something names the command; what does not looks at, or ends, what the session began.
            Rule::Read | Rule::ReadOrWrite | Rule::Session | Rule::Shell => false,
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
    /// Command lines it runs.
    pub commands: Vec<String>,
    /// Hosts it talks to.
    pub hosts: Vec<String>,
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
}

/// What a decision rests on, as far as modes and rules look at it differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ground {
    /// A protected place would be written.
    Protected,
    /// A place may hold secrets.
    Secret,
    /// Anything else.
    Other,
}

/// Decides on a call of a tool. Depends on nothing but its arguments.
pub fn judge(tool: &str, rule: Rule, reach: &Reach, policy: &Policy) -> Judgement {
    let (usual, ground) = usual(rule, reach, policy.roots.as_deref());
    policy.refine(tool, rule, reach, &usual, ground)
}

/// The decision by what a call reaches alone.
fn usual(rule: Rule, reach: &Reach, roots: Option<&[PathBuf]>) -> (Judgement, Ground) {
    let on = |ground: Ground, reason: String, risk: Risk, singly: bool| {
        let decision = DecisionKind::Ask;
        (Judgement { requirement: rule.requirement(), decision, reason, risk, singly }, ground)
    };
    let ask = |reason: String, risk: Risk, singly: bool| on(Ground::Other, reason, risk, singly);
    if let Some((shown, what)) = reach.writes.iter().find_map(|place| place.named(protected)) {
        let reason = format!("{shown} is protected ({what}): what is written there can run or change what may run");
        return on(Ground::Protected, reason, Risk::High, true);
    }
    if let Some((shown, what)) = reach.writes.iter().chain(&reach.reads).find_map(|place| place.named(secret)) {
        return on(Ground::Secret, format!("{shown} may hold secrets ({what})"), Risk::High, true);
    }
    if rule == Rule::Unknown {
        return ask("nothing is known of what this tool does".to_owned(), Risk::High, true);
    }
    if let Some(command) = reach.commands.first() {
        // Judged anew at each use: consent to a command never covers a dangerous one that begins like it.
        let danger = reach.commands.iter().find_map(|command| arity::danger(command));
        let why = danger.as_ref().map(|danger| format!(" ({danger})")).unwrap_or_default();
        return ask(format!("it runs a command: {}{why}", visible(command)), Risk::High, danger.is_some());
    }
    if let Some(host) = reach.hosts.first() {
        return ask(format!("it talks to another machine: {}", visible(host)), Risk::High, false);
    }
    if !matches!(rule, Rule::Write | Rule::ReadOrWrite)
        && let Some(place) = reach.writes.first()
    {
        return ask(format!("a tool that does not write wants to write {}", place.shown()), Risk::High, true);
    }
    let outside = |place: &&Place| !place.inside || !place.within(roots);
    if let Some(place) = reach.writes.iter().find(outside) {
        return ask(format!("{} is outside the workspace folders", place.shown()), Risk::High, false);
    }
    if let Some(place) = reach.reads.iter().find(outside) {
        return ask(format!("{} is outside the workspace folders", place.shown()), Risk::Medium, false);
    }
    let (reason, risk) = if !reach.writes.is_empty() {
        ("it writes inside the workspace folders, and can be undone", Risk::Medium)
    } else if matches!(rule, Rule::Session | Rule::Shell) {
        ("it touches only what the session remembers or has begun", Risk::Low)
    } else {
        ("it only reads, inside the workspace folders", Risk::Low)
    };
    let decision = DecisionKind::Allow;
    let reason = reason.to_owned();
    (Judgement { requirement: rule.requirement(), decision, reason, risk, singly: false }, Ground::Other)
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
mod tests {
    use super::*;

    fn inside(asked: &str) -> Place {
        Place { asked: asked.to_owned(), paths: vec![Path::new("/w").join(asked)], inside: true }
    }

    fn outside(asked: &str) -> Place {
        Place { asked: asked.to_owned(), paths: vec![PathBuf::from(asked)], inside: false }
    }

    fn unnamed() -> Place {
        Place { asked: "untitled:1".to_owned(), paths: vec![], inside: true }
    }

    fn linked(asked: &str, path: &str) -> Place {
        Place { asked: asked.to_owned(), paths: vec![PathBuf::from(path)], inside: true }
    }

    #[test]
    fn the_table_is_sorted() {
        assert!(RULES.is_sorted_by(|(a, _), (b, _)| a < b));
        assert_eq!(Rule::of("nobody_knows"), Rule::Unknown);
    }

    #[test]
    fn reads() {
        use DecisionKind::{Allow, Ask};
        for (place, decision, risk) in [
            (inside("src/main.rs"), Allow, Risk::Low),
            (unnamed(), Allow, Risk::Low),
            (inside(".git/config"), Allow, Risk::Low),
            (inside(".env"), Ask, Risk::High),
            (inside("deploy/server.PEM"), Ask, Risk::High),
            (linked("notes.txt", "/w/.env.local"), Ask, Risk::High),
            (linked(".env", "/w/notes.txt"), Ask, Risk::High),
            (outside("/etc/passwd"), Ask, Risk::Medium),
            (outside("/home/me/.ssh/id_rsa"), Ask, Risk::High),
        ] {
            let judged =
                judge("t", Rule::Read, &Reach { reads: vec![place.clone()], ..Reach::default() }, &Policy::default());
            assert_eq!((judged.decision, judged.risk), (decision, risk), "{place:?}: {}", judged.reason);
        }
    }

    #[test]
    fn writes() {
        use DecisionKind::{Allow, Ask};
        for (place, decision, singly) in [
            (inside("src/main.rs"), Allow, false),
            (unnamed(), Allow, false),
            (inside(".github/workflows/ci.yml"), Allow, false),
            (outside("/etc/passwd"), Ask, false),
            (inside(".git/hooks/pre-commit"), Ask, true),
            (inside(".GIT/config"), Ask, true),
            (inside(".g\u{200c}it/config"), Ask, true),
            (inside("sub/.vscode/tasks.json"), Ask, true),
            (linked("notes.txt", "/w/.git/config"), Ask, true),
            (linked(".envrc", "/w/elsewhere"), Ask, true),
            (inside(".env"), Ask, true),
            (outside("/home/me/.bashrc"), Ask, true),
            (Place { asked: "file:///w/%2Egit/config".to_owned(), ..unnamed() }, Ask, true),
            (Place { asked: "untitled:.bashrc".to_owned(), ..unnamed() }, Ask, true),
            (Place { asked: "untitled:%2Ebashrc?q#f".to_owned(), ..unnamed() }, Ask, true),
            (Place { asked: "untitled:%252Ebashrc".to_owned(), ..unnamed() }, Allow, false),
            (Place { paths: vec!["/w/a".into(), "/w/.git/config".into()], ..inside("a") }, Ask, true),
        ] {
            let judged =
                judge("t", Rule::Write, &Reach { writes: vec![place.clone()], ..Reach::default() }, &Policy::default());
            assert_eq!((judged.decision, judged.singly), (decision, singly), "{place:?}: {}", judged.reason);
        }
        // One bad place among good ones decides.
        let reach = Reach { writes: vec![inside("a"), inside(".mcp.json"), inside("b")], ..Reach::default() };
        assert_eq!(judge("t", Rule::Write, &reach, &Policy::default()).decision, Ask);
    }

    #[test]
    fn what_is_not_known_asks() {
        assert_eq!(judge("t", Rule::Unknown, &Reach::default(), &Policy::default()).decision, DecisionKind::Ask);
        let commands = Reach { commands: vec!["ls".to_owned()], ..Reach::default() };
        let hosts = Reach { hosts: vec!["example.org".to_owned()], ..Reach::default() };
        let writes = Reach { writes: vec![inside("a")], ..Reach::default() };
        for reach in [commands, hosts, writes] {
            assert_eq!(judge("t", Rule::Read, &reach, &Policy::default()).decision, DecisionKind::Ask, "{reach:?}");
        }
    }

    #[test]
    fn a_question_hides_nothing() {
        assert_eq!(visible("a\u{202e}b\nc é"), "a\\u{202e}b\\u{a}c é");
    }
}
