//! One command: what it runs, what it touches, and what that may do.

use std::path::Path;

use super::grammar::{Part, Redirect, Simple, Term};
use super::state::{Feed, Value};
use super::{Walker, builtins};
use crate::permissions::shell::effects::{Effects, Invocation, Runs, Verdict, Word};
use crate::permissions::shell::paths::{self, Place};
use crate::permissions::shell::wrappers::{self, Wrapped};
use crate::permissions::shell::{Scene, Simple as Told, Touched};

/// Programs that fetch from other machines.
const FETCH: &[&str] = &["aria2c", "axel", "curl", "fetch", "ftp", "http", "https", "lynx", "nc", "ncat", "wget", "xh"];

/// Programs that put things into a folder they are given, so that the folder is not what they change.
const FILLS: &[&str] = &[
    "7z", "bsdtar", "bun", "cargo", "cp", "curl", "git", "go", "install", "ln", "mkdir", "npm", "pip", "pip3", "pnpm",
    "rsync", "scp", "tar", "touch", "unzip", "wget", "yarn",
];

/// Interpreters that run the text behind one of the flags.
const CODE: &[(&str, &[&str])] = &[
    ("bun", &["-e", "--eval", "-p", "--print"]),
    ("deno", &["eval"]),
    ("lua", &["-e"]),
    ("node", &["-e", "--eval", "-p", "--print", "-pe"]),
    ("osascript", &["-e"]),
    ("perl", &["-e", "-E", "-ne", "-pe", "-i", "-lne", "-lpe"]),
    ("php", &["-r"]),
    ("python", &["-c"]),
    ("python2", &["-c"]),
    ("python3", &["-c"]),
    ("ruby", &["-e", "-ne", "-pe"]),
];

/// How a command is called.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct How {
    /// By another program, which knows no functions of the shell.
    pub external: bool,
    /// Further words are added when it runs.
    pub more: bool,
}

impl Walker<'_> {
    pub(super) fn simple(&mut self, simple: &Simple, redirects: &[Redirect]) {
        let words = match simple.words.split_first() {
            // `export A=$B` is not split.
            Some((first, rest)) if builtins::declares(&first.raw) => {
                let mut words = self.expand(std::slice::from_ref(first));
                for term in rest {
                    if assignment(term) {
                        let word = self.field(&term.parts);
                        let list = term.parts.iter().any(|part| matches!(part, Part::Array(_)));
                        let text = word.text();
                        if let (Some((name, value)), Word::Unknown(_)) = (text.split_once('='), &word) {
                            if list {
                                self.arrays.insert(name.trim_end_matches('+').to_owned());
                            } else if value.starts_with('(') {
                                let why =
                                    format!("`{}` takes a text for a list, and runs what stands in it", short(text));
                                self.raise(Verdict::NeedsApproval, why);
                            }
                        }
                        words.push(word);
                    } else {
                        words.extend(self.expand(std::slice::from_ref(term)));
                    }
                }
                words
            }
            _ => self.expand(&simple.words),
        };
        let outside = self.state.clone();
        let feed = self.redirects(redirects);
        self.plain &= simple.assigns.is_empty();
        for assign in &simple.assigns {
            if let Some(subscript) = &assign.subscript {
                self.arithmetic(subscript);
            }
            if assign.subscript.is_some() || assign.value.parts.iter().any(|part| matches!(part, Part::Array(_))) {
                self.arrays.insert(assign.name.clone());
            }
            let mut value = self.value(&assign.value);
            if assign.append || assign.subscript.is_some() {
                value = match (self.variable(&assign.name), value, &assign.subscript) {
                    (Value::Known(old), Value::Known(new), None) => Value::Known(old + &new),
                    _ => Value::Unknown,
                };
            }
            // `IFS= read` splits what it reads, and nothing else.
            let splits =
                assign.name == "IFS" && words.first().is_some_and(|word| matches!(word.text(), "read" | "mapfile"));
            if splits && simple.assigns.len() == 1 {
                self.state.vars.insert(assign.name.clone(), value);
            } else {
                self.assign(&assign.name, value);
            }
        }
        if words.is_empty() {
            return;
        }
        if matches!(words[0].text(), "[" | "test") {
            self.splits(&simple.words, &words);
        }
        if words.len() == 1 && words[0].text() == "exec" {
            // What it opens stays open.
            self.state.feed = feed.unwrap_or_else(|| self.state.feed.clone());
            self.tell(&words);
            return;
        }
        if let Some(feed) = feed {
            self.state.feed = feed;
        }
        self.run(&words, How::default());
        self.state.feed = outside.feed;
        for assign in &simple.assigns {
            // Some commands keep it, most do not.
            let old = outside.vars.get(&assign.name).cloned().unwrap_or(Value::Outer);
            let kept = self.state.vars.get(&assign.name) == Some(&old);
            self.state.vars.insert(assign.name.clone(), if kept { old } else { Value::Unknown });
        }
    }

    fn tell(&mut self, words: &[Word]) {
        self.found.commands.push(Told { words: words.to_vec() });
    }

    /// A command by its words.
    pub(super) fn run(&mut self, words: &[Word], how: How) {
        if words.is_empty() || !self.spend() || !self.deeper() {
            return;
        }
        self.program(words, how);
        self.depth -= 1;
    }

    fn program(&mut self, words: &[Word], how: How) {
        self.tell(words);
        let raised = self.raised;
        let (given, args) = match &words[0] {
            Word::Known(given) => (given.as_str(), &words[1..]),
            Word::Unknown(written) => {
                self.plain = false;
                let why = format!("which program `{}` is shows only when it runs", short(written));
                self.raise(Verdict::NeedsApproval, why);
                // It may be nothing at all.
                let known = words.iter().position(|word| matches!(word, Word::Known(_)));
                let next = if words.len() <= 8 { Some(1) } else { known };
                if let Some(behind) = next.and_then(|next| words.get(next..)) {
                    self.run(behind, how);
                }
                return;
            }
        };
        if !how.external
            && let Some(function) = self.state.functions.get(given).cloned()
        {
            self.call(given, &function, args);
            if function.definite {
                return;
            }
        }
        let program = given.rsplit('/').next().unwrap_or(given);
        if program.is_empty() {
            return self.raise(Verdict::NeedsApproval, "it runs a program without a name".to_owned());
        }
        if FETCH.contains(&program) {
            self.downloads += 1;
        }
        if !how.external && !given.contains('/') && self.builtin(given, args) {
            return self.consent(words, raised);
        }
        let fed = self.state.feed != Feed::Nothing;
        let table = self.table;
        let scene = self.scene().clone();
        let invocation = Invocation { program, given, args, fed, scene: &scene };
        if invocation.own() {
            self.plain = false;
            let why = format!("`{}` is a file that somebody may have put there", short(given));
            self.raise(Verdict::NeedsApproval, why);
        }
        let probed = matches!(args, [Word::Known(flag)] if flag == "--version" || flag == "--help");
        if !probed && let Some(wrapped) = wrappers::wrapped(&invocation) {
            self.plain = false;
            self.wrapped(program, wrapped);
            // What git does besides is another matter.
            if program != "git" {
                return;
            }
        }
        let folders = self.state.folders.clone().unwrap_or_else(|| vec!["/".into()]);
        for folder in folders {
            let scene = Scene { workdir: folder, ..scene.clone() };
            self.apply(program, table(&Invocation { scene: &scene, ..invocation }));
        }
        self.code(program, args, raised);
        let lower = program.to_lowercase();
        if lower != program {
            // Some file systems do not tell case apart.
            let invocation = Invocation { program: &lower, ..invocation };
            self.only_destructive(|walker| match wrappers::wrapped(&invocation) {
                Some(wrapped) => walker.wrapped(&lower, wrapped),
                None => walker.apply(&lower, table(&invocation)),
            });
        }
        if how.more {
            self.plain = false;
        }
        self.consent(words, raised);
    }

    /// Keeps a command for the question what one consent covers.
    fn consent(&mut self, words: &[Word], raised: usize) {
        let known = words.iter().map(|word| match word {
            Word::Known(text) => Some(text.clone()),
            Word::Unknown(_) => None,
        });
        match known.collect() {
            Some(words) => self.plainly.push((words, self.raised == raised)),
            None => self.plain = false,
        }
    }

    /// A text that an interpreter runs: what stands in it is not understood, but what it might pass to a shell is.
    fn code(&mut self, program: &str, args: &[Word], raised: usize) {
        let Some((_, flags)) = CODE.iter().find(|(name, _)| *name == program) else { return };
        let mut texts = args.iter().skip_while(|arg| !flags.contains(&arg.text())).skip(1);
        let joined = args.iter().find_map(|arg| {
            let short = flags.iter().filter(|flag| flag.len() == 2 && flag.starts_with('-'));
            short.filter_map(|flag| arg.text().strip_prefix(flag)).find(|text| !text.is_empty())
        });
        let Some(text) = texts.next().map(Word::text).or(joined) else { return };
        if self.raised == raised {
            self.raise(Verdict::NeedsApproval, format!("`{program}` runs the code it is given"));
        }
        let text = text.to_owned();
        self.rough_code(&text);
    }

    fn wrapped(&mut self, program: &str, wrapped: Wrapped) {
        let outside = self.state.clone();
        let downloads = self.downloads;
        for (name, value) in wrapped.sets {
            self.assign(&name, value);
        }
        if let Some(folder) = &wrapped.folder {
            self.enter_folder(Some(folder));
        }
        if let Some(arguments) = wrapped.arguments {
            self.state.arguments = Some(arguments);
        }
        if wrapped.child {
            // A process of its own sees only what is exported, and no functions.
            let set = outside.vars.keys().cloned().collect::<Vec<_>>();
            for name in set {
                self.state.vars.insert(name, Value::Unknown);
            }
            self.state.functions.clear();
        }
        let runs = wrapped.effects.runs.clone();
        self.apply_without_runs(program, wrapped.effects);
        for runs in runs {
            self.runs(program, runs, wrapped.child, downloads);
        }
        if !wrapped.guess.is_empty() {
            self.guess(&wrapped.guess);
        }
        if wrapped.child {
            self.state = outside;
        } else {
            // What runs in this shell changes it; the arguments are its own again.
            self.state.arguments = outside.arguments;
        }
    }

    /// Takes over what a table says.
    fn apply(&mut self, program: &str, mut effects: Effects) {
        let runs = std::mem::take(&mut effects.runs);
        let downloads = self.downloads;
        self.apply_without_runs(program, effects);
        for runs in runs {
            self.plain = false;
            let outside = self.state.clone();
            self.runs(program, runs, true, downloads);
            self.state = outside;
        }
    }

    fn apply_without_runs(&mut self, program: &str, effects: Effects) {
        let Effects { verdict, reasons, reads, writes, network, hosts, .. } = effects;
        if reasons.is_empty() {
            self.raise(verdict, format!("of what `{program}` does"));
        }
        for reason in reasons {
            self.raise(verdict, reason);
        }
        self.found.network |= network;
        self.found.hosts.extend(hosts);
        for read in reads {
            self.opened(&read, false);
        }
        let loses = verdict >= Verdict::NeedsApproval && !FILLS.contains(&program);
        for write in writes {
            self.touched(&write, true, loses);
        }
    }

    fn runs(&mut self, program: &str, runs: Runs, child: bool, downloads: usize) {
        if let Runs::Words { elsewhere: true, .. } | Runs::Line { elsewhere: true, .. } = &runs
            && self.away == 0
        {
            self.state.folders = Some(vec![self.there.workdir.clone()]);
        }
        match runs {
            Runs::Words { mut words, more, elsewhere } => {
                if more {
                    words.push(Word::Unknown(wrappers::ADDED.to_owned()));
                }
                self.away += usize::from(elsewhere);
                self.run(&words, How { external: child, more });
                self.away -= usize::from(elsewhere);
            }
            Runs::Line { line, elsewhere } => {
                self.away += usize::from(elsewhere);
                self.inner(program, &line, downloads);
                self.away -= usize::from(elsewhere);
            }
            Runs::Fed => match self.state.feed.clone() {
                Feed::Nothing => {
                    self.raise(Verdict::NeedsApproval, format!("`{program}` runs what it reads from its input"));
                }
                Feed::Text(line) => {
                    self.state.feed = Feed::Nothing;
                    self.inner(program, &line, downloads);
                }
                Feed::Stream { text, download } => {
                    let why = format!("`{program}` runs what it reads from its input, which nobody has seen");
                    self.raise(Verdict::NeedsApproval, why);
                    if download {
                        let why = format!("`{program}` runs what another machine sends");
                        self.raise(Verdict::Destructive, why);
                    }
                    self.state.feed = Feed::Nothing;
                    if let Some(text) = text {
                        self.line(&text);
                    }
                }
            },
        }
    }

    /// A line that a command runs.
    fn inner(&mut self, program: &str, line: &Word, downloads: usize) {
        match line {
            Word::Known(text) => self.line(text),
            Word::Unknown(text) => {
                let why = format!("`{program}` runs a line that only running it shows");
                self.raise(Verdict::NeedsApproval, why);
                if self.downloads > downloads || FETCH.iter().any(|name| text.contains(&format!("$({name} "))) {
                    self.raise(Verdict::Destructive, format!("`{program}` runs what another machine sends"));
                }
                self.line(text);
            }
        }
    }

    /// A place that is opened.
    pub(in crate::permissions::shell) fn opened(&mut self, word: &Word, writes: bool) {
        self.touched(word, writes, false);
    }

    /// A place that is read or written; `loses`: so that what is there goes away.
    fn touched(&mut self, word: &Word, writes: bool, loses: bool) {
        let asked = word.text();
        if asked == "-" || asked.is_empty() {
            return;
        }
        let folders = self.state.folders.clone();
        let absolute = Path::new(asked).is_absolute();
        let folders = if absolute { Some(vec!["/".into()]) } else { folders };
        let glob = !asked.contains(['$', '`', '~', '(']);
        let (known, text) = match word {
            Word::Known(text) => (true, text.as_str()),
            // The folder of a glob is known, and what it matches lies there.
            Word::Unknown(text) if glob => {
                let fixed = text.find(['*', '?', '[', '{']).unwrap_or(0);
                let folder = text[..fixed].rfind('/').map_or("", |end| &text[..=end]);
                let all = text[folder.len()..].trim_matches(['*', '.', '?']).is_empty();
                (false, if all { folder } else { text.as_str() })
            }
            Word::Unknown(text) => (false, text.as_str()),
        };
        let away = self.away > 0;
        if paths::may_match_secret(text) && !away || !known && !away && paths::may_match_secret(asked) {
            self.found.secrets.push(asked.to_owned());
        }
        let resolvable = matches!(word, Word::Known(_)) || glob;
        let Some(folders) = folders.filter(|_| resolvable) else {
            self.tell_place(asked, None, writes);
            if writes {
                let why = format!("where `{}` is shows only when it runs", short(asked));
                self.raise(Verdict::NeedsApproval, why);
                if loses && resolvable && paths::resolve(Path::new("/"), text) == Path::new("/") {
                    let why =
                        format!("it takes a whole folder away, and which shows only when it runs: `{}`", short(asked));
                    self.raise(Verdict::Destructive, why);
                }
            }
            return;
        };
        for folder in folders {
            let path = paths::resolve(&folder, text);
            let place = paths::place(&path, self.scene());
            if let Place::Network(host) = &place {
                self.found.network = true;
                self.found.hosts.push(host.clone());
                self.raise(Verdict::NeedsApproval, format!("`{}` is a connection to another machine", short(asked)));
                continue;
            }
            if place == Place::Nowhere {
                continue;
            }
            self.tell_place(asked, known.then(|| path.clone()), writes);
            if known && !away && paths::is_secret(&path) {
                self.found.secrets.push(asked.to_owned());
            }
            if !writes {
                continue;
            }
            let mut verdict = paths::writing(&place);
            let what = match &place {
                Place::Machine => "it writes to a device or to what the machine depends on",
                Place::Whole if loses => {
                    verdict = Verdict::Destructive;
                    "it takes a whole folder away that the workspace or the home folder is in"
                }
                Place::Whole if !self.scene().roots.iter().any(|root| path.starts_with(root)) => {
                    verdict = Verdict::NeedsApproval;
                    "it writes outside the workspace folders"
                }
                Place::Outside => "it writes outside the workspace folders",
                _ => "it writes in the workspace folders",
            };
            self.raise(verdict, format!("{what}: `{}`", short(asked)));
        }
    }

    fn tell_place(&mut self, asked: &str, path: Option<std::path::PathBuf>, writes: bool) {
        if self.away > 0 {
            return;
        }
        let touched = Touched { asked: asked.to_owned(), path };
        let list = if writes { &mut self.found.writes } else { &mut self.found.reads };
        if !list.contains(&touched) {
            list.push(touched);
        }
    }
}

/// Whether a word looks like an assignment.
fn assignment(term: &Term) -> bool {
    let Some(Part::Bare(text)) = term.parts.first() else { return false };
    text.find('=').is_some_and(|end| builtins::is_name(text[..end].trim_end_matches('+')))
}

/// A text for a reason.
pub(super) fn short(text: &str) -> String {
    let mut short: String = text.chars().take(80).flat_map(char::escape_debug).collect();
    if text.chars().nth(80).is_some() {
        short.push('…');
    }
    short
}
