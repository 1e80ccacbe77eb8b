//! Command lines as the decision on a call sees them: looked into, with where they would run and which files of the
//! workspace they would run. Pure.

use std::path::{Path, PathBuf};

use super::shell::{self, Analysis, Scene, Simple, Verdict, Word, analyse};
use super::{commands, names, protected, visible};

/// Commands of a line are looked at one by one up to so many.
const MOST_STEPS: usize = 64;

/// The commands of a line with more bytes are not looked at one by one.
const LONGEST: usize = 4096;

/// A question names at most so many reasons.
const MOST_REASONS: usize = 3;

/// A command line that a call runs, looked into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The line.
    pub line: String,
    /// The folder it would run in, canonical.
    pub workdir: PathBuf,
    /// What it would run.
    pub analysis: Analysis,
    /// Each command of it, in the order of [`Analysis::commands`].
    pub steps: Vec<Step>,
    /// A folder that it would run in or reach, and that the person does not trust.
    pub untrusted: Option<PathBuf>,
    /// The files of the workspace folders that it would run, as far as that can be seen; sorted by path.
    pub programs: Vec<Program>,
    /// How its commands begin, where one consent can cover all lines whose commands begin so; `None`: only exactly this one.
    pub shared: Option<Vec<Vec<String>>>,
}

/// One command of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its words, the program's first.
    pub words: Vec<Word>,
    /// Whether it only reads, wherever its output goes.
    pub read_only: bool,
}

/// A file that would run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Program {
    /// Where it really is.
    pub path: PathBuf,
    /// SHA-256 of what it holds, lower-case hex, and of its unsaved text where that is saved before; `None`: it could not be
    /// read.
    pub hash: Option<String>,
}

/// What asks for a person in a line, the graver the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Concern {
    /// It runs or changes something.
    Runs {
        /// What it runs cannot be told from what it might be another time.
        unbound: bool,
    },
    /// Nothing that was said before covers it.
    Grave,
}

impl Line {
    /// A line as it would run in a scene; where it is trusted and what files it runs is for others to say.
    pub fn looked_into(line: &str, scene: &Scene) -> Line {
        let analysis = analyse(line, scene);
        // What only reads as a whole does so in each of its parts; what is very long is not taken apart again.
        let all = only_reads(&analysis);
        let again = !all && line.len() <= LONGEST;
        let steps = analysis.commands.iter().take(MOST_STEPS).map(|simple| Step {
            words: simple.words.clone(),
            read_only: all || again && only_reads(&analyse(&written(simple), scene)),
        });
        let steps: Vec<Step> = steps.collect();
        let shared = shell::shared(line, scene);
        Line {
            line: line.to_owned(),
            workdir: scene.workdir.clone(),
            analysis,
            steps,
            untrusted: None,
            programs: Vec::new(),
            shared,
        }
    }

    /// Whether all of it was understood.
    pub(super) fn clear(&self) -> bool {
        self.analysis.unclear.is_none() && !self.steps.is_empty() && self.steps.len() == self.analysis.commands.len()
    }

    /// Whether it changes nothing and runs nothing that others wrote.
    pub(super) fn only_reads(&self) -> bool {
        self.analysis.unclear.is_none() && self.analysis.verdict == Verdict::ReadOnly && self.programs.is_empty()
    }

    /// Why it will not run at all.
    pub(super) fn distrusted(&self) -> Option<String> {
        let folder = visible(&self.untrusted.as_ref()?.to_string_lossy());
        Some(format!(
            "commands run in trusted folders only, and {folder} is not trusted; the person can trust it (in the editor, or \
             with `--trust`)"
        ))
    }

    /// Why it may write a protected place though none is known that it writes: it is not understood, and names one.
    pub(super) fn may_write_protected(&self) -> Option<String> {
        self.analysis.unclear.as_ref()?;
        let words = commands::pieces(&self.line).flat_map(|piece| piece.split(['=', ':', ',']));
        let (word, what) = words.into_iter().find_map(|word| Some((word, protected(Path::new(word))?)))?;
        Some(format!("{} is protected ({what}), and it is not clear what the command does with it", visible(word)))
    }

    /// What asks for a person, if something does, and why.
    pub(super) fn concern(&self) -> Option<(Concern, String)> {
        let Analysis { verdict, secrets, unclear, .. } = &self.analysis;
        let line = visible(&self.line);
        if let Some(why) = unclear {
            return Some((Concern::Grave, format!("it is not clear what the command does: {}", visible(why))));
        }
        if let Some(secret) = secrets.first() {
            return Some((Concern::Grave, format!("the command reaches {}, which may hold secrets", visible(secret))));
        }
        if *verdict == Verdict::Destructive {
            return Some((
                Concern::Grave,
                self.because("it runs a command that destroys or changes what cannot be undone"),
            ));
        }
        if self.only_reads() && !self.analysis.network {
            return None;
        }
        if let Some(program) = self.programs.iter().find(|program| program.hash.is_none()) {
            let path = visible(&program.path.to_string_lossy());
            return Some((Concern::Runs { unbound: true }, format!("it runs {path}, which cannot be read")));
        }
        let opening = match verdict {
            Verdict::WorkspaceWrite => format!("it runs a command that changes files, which cannot be undone: {line}"),
            Verdict::ReadOnly if self.analysis.network => format!("it may talk to another machine: {line}"),
            _ => format!("it runs a command: {line}"),
        };
        Some((Concern::Runs { unbound: false }, self.because(&opening)))
    }

    fn because(&self, opening: &str) -> String {
        let reasons: Vec<String> =
            self.analysis.reasons.iter().take(MOST_REASONS).map(|reason| visible(reason)).collect();
        if reasons.is_empty() { opening.to_owned() } else { format!("{opening} ({})", reasons.join("; ")) }
    }
}

/// Whether what was found changes nothing and is all that there is.
fn only_reads(analysis: &Analysis) -> bool {
    let Analysis { verdict, secrets, unclear, network, hosts, .. } = analysis;
    unclear.is_none() && *verdict == Verdict::ReadOnly && secrets.is_empty() && !network && hosts.is_empty()
}

/// A command as a line that says it again.
fn written(simple: &Simple) -> String {
    let word = |word: &Word| match word {
        Word::Known(text) => format!("'{}'", text.replace('\'', r"'\''")),
        Word::Unknown(text) => text.clone(),
    };
    simple.words.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Whether a name is one of a file that swallows what is written and gives nothing of anybody's.
pub fn is_sink(path: &Path) -> bool {
    let devices = ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/full"];
    devices.iter().any(|device| path == Path::new(device))
}

/// Programs that run a file which they are given, by the name they are called by.
const INTERPRETERS: &[&str] = &[
    "bash", "bun", "dash", "deno", "fish", "ksh", "lua", "node", "perl", "php", "python", "python3", "ruby", "sh",
    "source", ".", "tclsh", "ts-node", "tsx", "zsh",
];

/// Programs that run what a file of the folder they run in says: (program, files).
const RUNNERS: &[(&str, &[&str])] = &[
    ("ant", &["build.xml"]),
    ("bun", &["package.json"]),
    ("composer", &["composer.json"]),
    ("gmake", &["GNUmakefile", "makefile", "Makefile"]),
    ("gradle", &["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"]),
    ("invoke", &["tasks.py"]),
    ("just", &["justfile", "Justfile", ".justfile"]),
    ("make", &["GNUmakefile", "makefile", "Makefile"]),
    ("mvn", &["pom.xml"]),
    ("ninja", &["build.ninja"]),
    ("nox", &["noxfile.py"]),
    ("npm", &["package.json"]),
    ("pnpm", &["package.json"]),
    ("rake", &["Rakefile", "rakefile"]),
    ("task", &["Taskfile.yml", "Taskfile.yaml"]),
    ("tox", &["tox.ini", "pyproject.toml"]),
    ("yarn", &["package.json"]),
];

/// The files that a command may run, as far as its words say; most of them are not there. Paths as written, or by name for
/// a program that is looked for on the `PATH`.
pub fn candidates(words: &[Word]) -> (Option<&str>, Vec<&str>) {
    let Some(Word::Known(program)) = words.first() else { return (None, Vec::new()) };
    let name = called(program);
    let mut files: Vec<&str> = Vec::new();
    if interprets(&name) {
        files.extend(words[1..].iter().filter_map(|word| match word {
            Word::Known(text) if !text.starts_with('-') && !text.is_empty() => Some(text.as_str()),
            _ => None,
        }));
    }
    if let Some((_, read)) = RUNNERS.iter().find(|(runner, _)| *runner == name) {
        files.extend(*read);
    }
    (Some(program), files)
}

/// The name that a program is called by.
fn called(program: &str) -> String {
    names::fold(program.rsplit('/').next().unwrap_or(program))
}

fn interprets(name: &str) -> bool {
    // `python3.12` is python3.
    let stem = name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or(name);
    INTERPRETERS.contains(&stem) || INTERPRETERS.contains(&name)
}

/// Whether a file is one that runners read, and look for in the folders above.
pub fn is_runners(file: &str) -> bool {
    RUNNERS.iter().any(|(_, files)| files.contains(&file))
}

/// Flags by which interpreters and runners are told to look elsewhere for what they run; of the long ones also with `=`.
const ELSEWHERE: &[&str] = &[
    "--cwd",
    "--dir",
    "--directory",
    "--env-file",
    "--file",
    "--import",
    "--init-file",
    "--justfile",
    "--loader",
    "--makefile",
    "--prefix",
    "--rakefile",
    "--rcfile",
    "--require",
    "--taskfile",
    "--working-directory",
    "-C",
    "-d",
    "-f",
    "-r",
    "-t",
];

/// The files and folders that flags of a command name as where it finds what it runs: as written.
pub fn elsewhere(words: &[Word]) -> impl Iterator<Item = &str> {
    let meant = words.first().and_then(known).is_some_and(|program| {
        let name = called(program);
        interprets(&name) || RUNNERS.iter().any(|(runner, _)| *runner == name)
    });
    words.iter().enumerate().skip(1).filter(move |_| meant).filter_map(move |(at, word)| {
        let flag = known(word)?;
        if ELSEWHERE.contains(&flag) {
            return words.get(at + 1).and_then(known);
        }
        if let Some((long, place)) = flag.split_once('=') {
            return ELSEWHERE.contains(&long).then_some(place);
        }
        // `-Cdir`
        let short = ELSEWHERE.iter().find(|short| short.len() == 2 && flag.starts_with(**short))?;
        flag.get(short.len()..)
    })
}

fn known(word: &Word) -> Option<&str> {
    match word {
        Word::Known(text) => Some(text),
        Word::Unknown(_) => None,
    }
}

#[cfg(test)]
impl Line {
    /// A line of a test: the commands between `&&`, `;` and `|`, each of plain words (`$x`: one that nobody knows); those
    /// that begin with one of `reads` only read.
    pub(crate) fn played(line: &str, verdict: Verdict, reads: &[&str]) -> Line {
        let word = |word: &str| {
            if word.starts_with('$') { Word::Unknown(word.to_owned()) } else { Word::Known(word.to_owned()) }
        };
        let pieces = line.split([';', '|', '&']).map(str::trim).filter(|piece| !piece.is_empty());
        let steps: Vec<Step> = pieces
            .map(|piece| Step {
                words: piece.split_whitespace().map(word).collect(),
                read_only: reads.iter().any(|program| piece.starts_with(program)),
            })
            .collect();
        let analysis = Analysis {
            verdict,
            reasons: Vec::new(),
            commands: steps.iter().map(|step| Simple { words: step.words.clone() }).collect(),
            reads: Vec::new(),
            writes: Vec::new(),
            secrets: Vec::new(),
            network: false,
            hosts: Vec::new(),
            unclear: None,
        };
        let alone = steps.len() == 1 && verdict < Verdict::Destructive;
        let shared = super::arity::shared(line).filter(|_| alone).map(|begin| vec![begin]);
        let (line, workdir) = (line.to_owned(), PathBuf::from("/w"));
        Line { line, workdir, analysis, steps, untrusted: None, programs: Vec::new(), shared }
    }

    /// The same, not understood.
    pub(super) fn unclear(line: &str) -> Line {
        let mut unclear = Line::played(line, Verdict::NeedsApproval, &[]);
        unclear.analysis.unclear = Some("it is not finished".to_owned());
        unclear.analysis.commands.clear();
        unclear.steps.clear();
        unclear.shared = None;
        unclear
    }
}
