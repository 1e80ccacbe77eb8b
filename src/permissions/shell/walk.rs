//! The walk over a line: every command in it, wherever it stands, in the order in which it would run, with what is
//! known of the shell at that place.

mod bodies;
mod builtins;
mod escapes;
pub(super) mod grammar;
mod judge;
pub(super) mod lex;
mod parse;
mod rough;
mod scan;
mod second;
pub(super) mod state;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::rc::Rc;

use super::effects::{Effects, Invocation, Verdict, Word};
use super::{Analysis, Scene, Simple, Touched};
use crate::permissions::names::invisible;
use bodies::Frame;
use grammar::{AndOr, Command, Joint, Op, Pipeline, Redirect, Script, Target, Term, What};
use state::{Feed, Function, State, both};

/// What the programs are judged by.
pub(super) type Table = fn(&Invocation<'_>) -> Effects;

/// Lines of more bytes are not looked into.
pub(super) const LINE_LIMIT: usize = 64 << 10;
/// Bytes that are read in all, of the line and of those within it that commands run.
const TEXT_LIMIT: usize = 4 * LINE_LIMIT;
/// Commands and words that are looked at.
const WORK_LIMIT: usize = 20_000;
/// Turns of a loop over known words that are gone through one by one.
const UNROLLED: usize = 8;
/// Calls of a function by itself that are followed.
const TURNS: usize = 3;
/// Levels of commands within commands.
const DEPTH_LIMIT: usize = 48;

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub reasons: Vec<(Verdict, String)>,
    pub commands: Vec<Simple>,
    pub reads: Vec<Touched>,
    pub writes: Vec<Touched>,
    pub secrets: Vec<String>,
    pub network: bool,
    pub hosts: Vec<String>,
    pub unclear: Option<String>,
}

/// A walk.
#[derive(Debug)]
pub(super) struct Walker<'a> {
    table: Table,
    here: &'a Scene,
    /// What stands for the scene on another machine.
    there: Scene,
    /// How many commands around this one run on another machine.
    away: usize,
    pub state: State,
    pub found: Found,
    depth: usize,
    work: usize,
    bytes: usize,
    /// The bodies of functions that are being walked, each with how many pipelines and jobs were around it.
    calls: Vec<(Rc<Command>, usize)>,
    /// Pipelines and jobs in the background around this place.
    forks: usize,
    /// Commands met that fetch from other machines.
    downloads: usize,
    /// Functions that nothing has called yet, with what was known where they are defined.
    uncalled: Vec<(String, Rc<Command>, State)>,
    /// The functions and loops around this place.
    frames: Vec<Frame>,
    /// Variables that were made read-only: what is assigned to them later may be refused.
    fixed: BTreeSet<String>,
    /// Variables that were made arrays: what looks like a list of elements is taken for one then.
    arrays: BTreeSet<String>,
    /// Whether something in this line of text may have failed so that the rest of it is left out.
    fails: bool,
    /// What was assigned behind that, and whether it can only be a number.
    doubtful: Vec<(String, bool)>,
    /// Bytes that words have become.
    pub grown: usize,
    /// How often something was found that does more than look.
    raised: usize,
    /// Whether a look at any piece of a line is going on.
    guessing: bool,
    /// Whether the line consists of commands that one consent can be given for.
    pub plain: bool,
    /// Those commands, and whether each only looks.
    pub plainly: Vec<(Vec<String>, bool)>,
}

/// Looks into a line with a table of programs.
pub(super) fn analyse(line: &str, scene: &Scene, table: Table) -> Analysis {
    walked(line, scene, table).found.analysis()
}

/// Walks a line.
pub(super) fn walked<'a>(line: &str, scene: &'a Scene, table: Table) -> Walker<'a> {
    let home = scene.home.clone().unwrap_or_else(|| PathBuf::from("/root"));
    let mut walker = Walker {
        table,
        here: scene,
        there: Scene { workdir: home.clone(), roots: Vec::new(), home: Some(home) },
        away: 0,
        state: State::new(scene),
        found: Found::default(),
        depth: 0,
        work: WORK_LIMIT,
        bytes: TEXT_LIMIT,
        calls: Vec::new(),
        forks: 0,
        downloads: 0,
        uncalled: Vec::new(),
        frames: Vec::new(),
        fixed: BTreeSet::new(),
        arrays: BTreeSet::new(),
        fails: false,
        doubtful: Vec::new(),
        grown: 0,
        raised: 0,
        guessing: false,
        plain: true,
        plainly: Vec::new(),
    };
    if line.len() > LINE_LIMIT {
        walker.unclear(format!("it is longer than {} KiB", LINE_LIMIT >> 10));
        walker.rough(line);
    } else {
        walker.line(line);
        // Nothing in sight calls them, but something else may.
        while let Some((name, body, state)) = walker.uncalled.pop() {
            walker.state = state;
            let function = Function { bodies: vec![body], definite: true };
            walker.state.functions.insert(name.clone(), function.clone());
            walker.state.arguments = None;
            walker.call_with(&name, &function, None);
        }
    }
    if walker.work == 0 {
        // What was not come to is at least looked at by its words.
        (walker.work, walker.grown) = (WORK_LIMIT, 0);
        walker.rough(line);
    }
    walker
}

impl Found {
    fn analysis(mut self) -> Analysis {
        let unclear = self.unclear.take();
        if let Some(why) = &unclear {
            self.reasons.push((Verdict::NeedsApproval, format!("what it does is not clear: {why}")));
        }
        self.reasons.sort_by_key(|(verdict, _)| std::cmp::Reverse(*verdict));
        let verdict = self.reasons.first().map_or(Verdict::ReadOnly, |(verdict, _)| *verdict);
        let mut reasons: Vec<String> = Vec::new();
        for (_, reason) in self.reasons {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        let Found { commands, reads, writes, mut secrets, network, mut hosts, .. } = self;
        secrets.sort();
        secrets.dedup();
        hosts.sort();
        hosts.dedup();
        Analysis { verdict, reasons, commands, reads, writes, secrets, network, hosts, unclear }
    }
}

impl Walker<'_> {
    /// The scene of the machine that this place of the line runs on.
    pub(super) fn scene(&self) -> &Scene {
        if self.away > 0 { &self.there } else { self.here }
    }

    /// Whether there is work left; each question is some.
    pub(super) fn spend(&mut self) -> bool {
        self.work = self.work.saturating_sub(1);
        if self.work == 0 {
            self.exhaust("it does too much to look at all of it".to_owned());
        }
        self.work > 0
    }

    /// Looks no further.
    pub(super) fn exhaust(&mut self, why: String) {
        self.work = 0;
        self.unclear(why);
    }

    pub(super) fn raise(&mut self, verdict: Verdict, reason: String) {
        self.raised += usize::from(verdict > Verdict::ReadOnly);
        if verdict > Verdict::ReadOnly && !self.found.reasons.contains(&(verdict, reason.clone())) {
            self.found.reasons.push((verdict, reason));
        }
    }

    pub(super) fn unclear(&mut self, why: String) {
        self.plain = false;
        self.found.unclear.get_or_insert(why);
    }

    /// A line, in the shell as it is.
    pub(super) fn line(&mut self, text: &str) {
        if !self.deeper() {
            return;
        }
        let Some(left) = self.bytes.checked_sub(text.len()) else {
            self.depth -= 1;
            return self.unclear("the lines that it runs are too long".to_owned());
        };
        self.bytes = left;
        let odd = text.chars().find(|c| c.is_control() && !matches!(c, '\t' | '\n') || hidden(*c));
        if let Some(c) = odd {
            self.unclear(format!("it holds a character that is not seen (U+{:04X})", u32::from(c)));
        }
        let read = parse::read(text);
        let fault = read.fault.clone().or_else(|| second::differs(text, &read));
        let broken = fault.is_some() || odd.is_some();
        if let Some(why) = fault {
            self.unclear(why);
        }
        for list in &read.script.lists {
            if self.work == 0 {
                break;
            }
            self.list(list);
            if list.ends_line {
                self.line_left_out();
            }
        }
        if broken {
            self.rough(text);
        }
        self.depth -= 1;
    }

    fn deeper(&mut self) -> bool {
        if self.depth >= DEPTH_LIMIT {
            self.unclear("it is nested too deeply".to_owned());
            return false;
        }
        self.depth += 1;
        true
    }

    pub(super) fn script(&mut self, script: &Script) {
        for list in &script.lists {
            if self.work == 0 {
                break;
            }
            self.list(list);
        }
    }

    /// A script in a process of its own.
    pub(super) fn nested(&mut self, script: &Script, feed: Feed) {
        if !self.deeper() {
            return;
        }
        let outside = self.state.clone();
        let (fails, doubtful) = (self.fails, self.doubtful.len());
        self.state.feed = feed;
        self.script(script);
        self.state = outside;
        // What fails in a process of its own ends that alone.
        self.fails = fails;
        self.doubtful.truncate(doubtful);
        self.depth -= 1;
    }

    fn list(&mut self, list: &AndOr) {
        let outside = list.background.then(|| self.state.clone());
        if outside.is_some() {
            self.forks += 1;
            self.state.feed = Feed::Nothing;
        }
        let mut folders = self.state.folders.clone();
        self.pipeline(&list.first);
        let after = (!list.rest.is_empty()).then(|| self.state.clone());
        folders = both(folders, self.state.folders.as_ref());
        let mut either = false;
        for (joint, pipeline) in &list.rest {
            let before = self.state.clone();
            if *joint == Joint::Or {
                either = true;
                self.state.folders.clone_from(&folders);
            }
            self.pipeline(pipeline);
            folders = both(folders, self.state.folders.as_ref());
            if either {
                self.state.or(&before);
            }
        }
        if let Some(after) = after {
            self.state.or(&after);
        }
        // Each `cd` in it may have failed.
        self.state.folders = folders;
        if let Some(outside) = outside {
            self.state = outside;
            self.forks -= 1;
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        if let [command] = pipeline.commands.as_slice() {
            return self.command(command);
        }
        self.forks += 1;
        let outside = self.state.clone();
        let downloads = self.downloads;
        let mut text = None;
        for (index, command) in pipeline.commands.iter().enumerate() {
            let last = index + 1 == pipeline.commands.len();
            self.state = outside.clone();
            if index > 0 {
                self.state.feed = Feed::Stream { text: text.take(), download: self.downloads > downloads };
            }
            let known = self.found.commands.len();
            self.command(command);
            let told = (self.found.commands.len() == known + 1).then(|| printed(self.found.commands.last()));
            text = told.flatten().or_else(|| passed(command));
            if last {
                // Some shells run the last one themselves.
                let mut either = outside.clone();
                self.state.feed = either.feed.clone();
                either.or(&self.state);
                self.state = either;
            }
        }
        if pipeline.commands.is_empty() {
            self.state = outside;
        }
        self.forks -= 1;
    }

    fn command(&mut self, command: &Command) {
        if !self.spend() || !self.deeper() {
            return;
        }
        if let What::Simple(simple) = &command.what {
            self.simple(simple, &command.redirects);
        } else {
            let outside = self.state.feed.clone();
            if let Some(feed) = self.redirects(&command.redirects) {
                self.state.feed = feed;
            }
            self.compound(&command.what);
            self.state.feed = outside;
        }
        self.depth -= 1;
    }

    fn compound(&mut self, what: &What) {
        match what {
            What::Simple(_) => {}
            What::Group { body, subshell: true } => {
                let feed = self.state.feed.clone();
                self.nested(body, feed);
            }
            What::Group { body, subshell: false } => self.script(body),
            What::If { arms, other } => {
                self.plain = false;
                let mut ends: Vec<State> = Vec::new();
                for (condition, then) in arms {
                    self.script(condition);
                    let before = self.state.clone();
                    self.script(then);
                    ends.push(std::mem::replace(&mut self.state, before));
                }
                if let Some(other) = other {
                    self.script(other);
                }
                for end in &ends {
                    self.state.or(end);
                }
            }
            What::Loop { head, body } => self.turns(head, body),
            What::Case { of, arms } => {
                self.plain = false;
                self.field(&of.parts);
                let before = self.state.clone();
                let mut ends = Vec::new();
                for (patterns, body) in arms {
                    for pattern in patterns {
                        self.field(&pattern.parts);
                    }
                    self.script(body);
                    // `;&` goes on with the next body.
                    ends.push(self.state.clone());
                    self.state.or(&before);
                }
                for end in &ends {
                    self.state.or(end);
                }
            }
            What::Function { name, body } => self.define(name.as_deref(), body),
            What::Arithmetic(parts) => {
                self.plain = false;
                self.arithmetic(parts);
            }
            What::Test(terms) => {
                self.plain = false;
                self.tested(terms);
            }
            What::Apart(command) => {
                self.plain = false;
                let outside = self.state.clone();
                self.state.feed = Feed::Stream { text: None, download: false };
                self.forks += 1;
                self.command(command);
                self.forks -= 1;
                self.state = outside;
            }
        }
    }

    /// Judges what redirections open; standard input, if one of them gives it.
    fn redirects(&mut self, redirects: &[Redirect]) -> Option<Feed> {
        let mut feed = None;
        for redirect in redirects {
            let input = redirect.fd.as_deref().is_none_or(|fd| fd == "0");
            let word = match &redirect.target {
                Target::Term(term) => self.field(&term.parts),
                Target::Document(parts) => self.field(parts.get().map_or(&[], Vec::as_slice)),
            };
            // Where a glob matches one file, that is opened.
            let word = match (word, &redirect.target) {
                (Word::Known(text), Target::Term(term)) if globs(term) => Word::Unknown(text),
                (word, _) => word,
            };
            let copied = word.text().trim_end_matches('-').bytes().all(|b| b.is_ascii_digit());
            match redirect.op {
                Op::CopyOut if copied => {}
                Op::Write | Op::CopyOut => {
                    self.opened(&word, true);
                    self.plain &= matches!(&word, Word::Known(text) if text == "/dev/null");
                }
                Op::Read | Op::Both => {
                    self.opened(&word, redirect.op == Op::Both);
                    let nothing = matches!(&word, Word::Known(text) if text == "/dev/null");
                    if input {
                        feed = Some(if nothing { Feed::Nothing } else { Feed::Stream { text: None, download: false } });
                    }
                    self.plain &= nothing;
                }
                Op::CopyIn => {
                    if input && word.text() != "-" {
                        feed = Some(Feed::Stream { text: None, download: false });
                    }
                }
                Op::Document | Op::Text => {
                    self.plain = false;
                    if input {
                        feed = Some(Feed::Text(word));
                    }
                }
            }
        }
        feed
    }
}

/// Whether a word holds a glob without quotes.
fn globs(term: &Term) -> bool {
    term.parts.iter().any(|part| matches!(part, grammar::Part::Bare(text) if text.contains(['*', '?', '['])))
}

/// What a command puts out, if that is what it is there for.
fn printed(command: Option<&Simple>) -> Option<String> {
    let [Word::Known(program), args @ ..] = command?.words.as_slice() else { return None };
    if !matches!(program.as_str(), "echo" | "printf") {
        return None;
    }
    let args: Vec<&str> = args.iter().map(Word::text).collect();
    let flags = args.iter().take_while(|arg| arg.starts_with('-')).count();
    // Of a format only what it is made of is looked at.
    let args = args[flags..].iter().filter(|arg| !arg.starts_with('%'));
    Some(args.map(|arg| arg.replace("\\n", "\n")).collect::<Vec<_>>().join(" "))
}

/// The text of a here-document that a command only passes on.
fn passed(command: &Command) -> Option<String> {
    let What::Simple(simple) = &command.what else { return None };
    let name = simple.words.first().map(|word| word.raw.as_str());
    let document = |redirect: &Redirect| match &redirect.target {
        Target::Document(parts) => parts.get().cloned(),
        Target::Term(term) => (redirect.op == Op::Text).then(|| term.parts.clone()),
    };
    let parts = command.redirects.iter().find_map(document).filter(|_| matches!(name, Some("cat" | "tee")))?;
    let text = |part: &grammar::Part| match part {
        grammar::Part::Bare(text) | grammar::Part::Quoted(text) => text.clone(),
        grammar::Part::Param(param) => param.raw.clone(),
        _ => String::new(),
    };
    Some(parts.iter().map(text).collect())
}

/// Characters that hide what a line says: it is shown in another order, or something of it not at all.
fn hidden(c: char) -> bool {
    // Emoji are made with these two.
    invisible(c) && !matches!(c, '\u{200d}' | '\u{fe0f}')
}
