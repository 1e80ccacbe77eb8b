//! What the programs of the tables are told of a command, and what they tell of what it does.

use super::Scene;

/// What running something may do; the worse is the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It only looks, and runs nothing that the repository or somebody else wrote.
    ReadOnly,
    /// It changes files in the workspace folders, and nothing is lost by it.
    WorkspaceWrite,
    /// It does more, or nobody knows what.
    NeedsApproval,
    /// It destroys, or changes the machine or what others depend on; asked about each time.
    Destructive,
}

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Word {
    /// What the program gets, quotes and expansions gone.
    Known(String),
    /// What only running it shows, as written. It may become several words, or none.
    Unknown(String),
}

impl Word {
    /// What the program gets, or what is written for what it gets: quotes are gone, the known parts are put in, and
    /// what only running it shows stands as it is written (`src/*.rs`, `$x/y`, `$(date)`).
    pub fn text(&self) -> &str {
        let (Word::Known(text) | Word::Unknown(text)) = self;
        text
    }
}

/// A command as the tables see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Invocation<'a> {
    /// The program by its last component: `git` for `/usr/bin/git`.
    pub program: &'a str,
    /// The program as written. With a `/` it is a file, which somebody may have put there.
    pub given: &'a str,
    /// The words behind it.
    pub args: &'a [Word],
    /// Whether its standard input is another command's output, a file or a here-document.
    pub fed: bool,
    /// Where it would run.
    pub scene: &'a Scene,
}

/// Folders in which programs are that the system or the user installed.
const INSTALLED: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/opt/homebrew/bin",
    "/opt/homebrew/sbin",
    "/run/current-system/sw/bin",
];

impl Invocation<'_> {
    /// Whether the program is a file that is named by its path, and not one that was installed.
    pub(super) fn own(&self) -> bool {
        self.given.rsplit_once('/').is_some_and(|(folder, _)| !INSTALLED.contains(&folder))
    }
}

/// What a command does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Effects {
    /// The worst of what the program does itself; what it runs and touches is judged besides.
    pub verdict: Verdict,
    /// Why it is not read-only, in words for a person that name the command.
    pub reasons: Vec<String>,
    /// Files and folders it reads.
    pub reads: Vec<Word>,
    /// Files and folders it writes.
    pub writes: Vec<Word>,
    /// Whether it may talk to other machines.
    pub network: bool,
    /// The machines it names.
    pub hosts: Vec<String>,
    /// What it runs in its turn, to be judged like what stands in the line itself.
    pub runs: Vec<Runs>,
}

impl Effects {
    /// Those of a command that does no harm itself.
    pub(super) fn harmless() -> Effects {
        Effects {
            verdict: Verdict::ReadOnly,
            reasons: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            network: false,
            hosts: Vec::new(),
            runs: Vec::new(),
        }
    }
}

/// What a command runs in its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Runs {
    /// A program with its arguments. `more`: further words are added when it runs (`xargs`, `find -exec {}`).
    Words {
        /// The words, the program's first.
        words: Vec<Word>,
        /// Whether further words are added.
        more: bool,
        /// Whether it runs on another machine (`ssh`): paths and folders are not ours.
        elsewhere: bool,
    },
    /// A command line (`sh -c`, `eval`).
    Line {
        /// The line.
        line: Word,
        /// Whether it runs on another machine.
        elsewhere: bool,
    },
    /// Whatever its standard input says.
    Fed,
}
