//! Rules that people write: `Tool` or `Tool(pattern)`, to allow, to ask, to deny. Pure.
//!
//! Tools are named without regard to case; `*` is every tool, and `mcp__server` every tool of that server. What the
//! pattern says depends on what a call reaches: a path (`./` or bare: from a workspace folder; `~/`: from the home folder;
//! `/` or `//`: absolute; `*`, `?` and `**` as in a shell), a command (exactly, or `words:*` for those that begin with these
//! words: see `commands`), or a machine (`domain:example.org`, its sub-domains included; `host:example.org`, itself alone;
//! `host:.example.org`, its sub-domains alone). For a tool that runs command lines
//! a pattern with a `/`, or one that begins with `.` or `~`, is a path too.
//!
//! `{a,b}` and `[...]` mean themselves to allow, and what a shell makes of them as well to hold back.
//!
//! A deny or an ask holds when one thing that a call reaches fits, as the most forgiving file system would compare it, the
//! content of a folder that fits included. An allow holds only when everything fits, exactly.

use std::path::{Component, Path, PathBuf};

use super::commands::{self, is_command, may_be_command};
use super::glob;
use super::hosts::{is_host, machine, machines};
use super::names::fold;
use super::{Place, Reach, readings};

/// Names under which rules know a tool, beside its own: (in a rule, the tool). A rule for `bash` holds for whatever runs
/// command lines.
const ALIASES: &[(&str, &str)] = &[
    ("bash", "monitor"),
    ("exec_shell", "bash"),
    ("exec_shell", "monitor"),
    ("fetch_url", "webfetch"),
    ("list", "ls"),
    ("list_dir", "ls"),
    ("multiedit", "multi_edit"),
    ("read_file", "read"),
    ("shell", "bash"),
    ("shell", "monitor"),
    ("task", "agent"),
    ("todo", "todowrite"),
    ("web_fetch", "webfetch"),
    ("web_search", "websearch"),
    ("write_file", "write"),
];

/// A rule has at most so many bytes.
const LONGEST: usize = 4096;

/// The braces of a rule stand for at most so many texts.
const MOST_ALTERNATIVES: usize = 64;

/// Where paths in patterns begin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bases {
    /// The workspace folders, canonical.
    pub folders: Vec<PathBuf>,
    /// The home folder.
    pub home: Option<PathBuf>,
}

/// The rules of one author.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    allow: Vec<Pattern>,
    ask: Vec<Pattern>,
    deny: Vec<Pattern>,
    faults: Vec<Fault>,
}

/// A rule that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The rule as it was written.
    pub rule: String,
    /// Why it cannot be read.
    pub why: &'static str,
    /// Whether it was to hold something back, so that its loss may not let anything pass.
    pub holds_back: bool,
}

/// What a call is, for a rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub tool: &'a str,
    pub reach: &'a Reach,
    /// Whether `reach` is all that it reaches, as far as anybody knows.
    pub known: bool,
    pub bases: &'a Bases,
    /// The session's folders, if it has only some.
    pub roots: Option<&'a [PathBuf]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    /// As it was written.
    text: String,
    /// Lower case.
    tool: String,
    inner: Option<String>,
    /// What else it may have been meant to say, where it is to hold something back.
    others: Vec<String>,
}

impl Rules {
    /// Reads rules; those that cannot be read are faults.
    pub fn read(allow: &[String], ask: &[String], deny: &[String]) -> Rules {
        let mut faults = Vec::new();
        let mut each = |rules: &[String], holds_back| {
            let mut read = Vec::with_capacity(rules.len());
            for rule in rules {
                let pattern = Pattern::read(rule);
                match if holds_back { pattern.and_then(Pattern::holding_back) } else { pattern } {
                    Ok(pattern) => read.push(pattern),
                    Err(why) => faults.push(Fault { rule: rule.clone(), why, holds_back }),
                }
            }
            read
        };
        let (allow, ask, deny) = (each(allow, false), each(ask, true), each(deny, true));
        Rules { allow, ask, deny, faults }
    }

    /// These, with what other ones allow.
    pub(super) fn and_allow(&self, mut others: Rules) -> Rules {
        let mut rules = self.clone();
        rules.allow.append(&mut others.allow);
        rules
    }

    /// The rules that cannot be read.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// The rule, as it was written, that forbids a call.
    pub(super) fn denies(&self, subject: Subject<'_>) -> Option<&str> {
        self.deny.iter().find(|pattern| pattern.touches(subject)).map(|pattern| pattern.text.as_str())
    }

    /// The rule that wants a person asked.
    pub(super) fn asks(&self, subject: Subject<'_>) -> Option<&str> {
        self.ask.iter().find(|pattern| pattern.touches(subject)).map(|pattern| pattern.text.as_str())
    }
}

/// The allow rules of some authors that, together, cover everything that a call reaches; `None`: they do not.
pub(super) fn allowed<'a>(authors: &[&'a Rules], subject: Subject<'_>) -> Option<Vec<&'a str>> {
    let patterns: Vec<&Pattern> =
        authors.iter().flat_map(|rules| &rules.allow).filter(|pattern| pattern.names(subject.tool)).collect();
    if let Some(pattern) = patterns.iter().find(|pattern| pattern.inner.is_none()) {
        return Some(vec![&pattern.text]);
    }
    let inner: Vec<(&str, &'a str)> =
        patterns.iter().filter_map(|pattern| Some((pattern.inner.as_deref()?, pattern.text.as_str()))).collect();
    let Reach { reads, writes, lines, commands, hosts, memories, .. } = subject.reach;
    let nothing = reads.is_empty() && writes.is_empty() && lines.is_empty() && commands.is_empty() && hosts.is_empty();
    if !subject.known || nothing && memories.is_empty() {
        return None;
    }
    let mut used: Vec<&'a str> = Vec::new();
    let mut cover = |fits: &dyn Fn(&str) -> bool| {
        let found = inner.iter().find(|(pattern, _)| fits(pattern)).map(|(_, rule)| *rule);
        used.extend(found);
        found.is_some()
    };
    let runs = !lines.is_empty();
    for place in reads.iter().chain(writes) {
        // Where a command that is allowed reaches in the workspace folders is its own business.
        if runs && place.inside && place.within(subject.roots) {
            continue;
        }
        let covered =
            |path: &PathBuf| cover(&|pattern| (!runs || says_path(pattern)) && is_path(pattern, path, subject.bases));
        if place.paths.is_empty() || !place.paths.iter().all(covered) {
            return None;
        }
    }
    if !commands.iter().all(|command| cover(&|pattern| is_command(pattern, command)))
        || !memories.iter().all(|memory| cover(&|pattern| is_memory(pattern, memory)))
        || !runs && !hosts.iter().all(|host| cover(&|pattern| is_host(pattern, host)))
    {
        return None;
    }
    for line in lines {
        used.extend(commands::allowing(&inner, line)?);
    }
    used.sort_unstable();
    used.dedup();
    Some(used)
}

/// Whether a pattern of a tool that runs command lines can say a path.
fn says_path(pattern: &str) -> bool {
    pattern.contains('/') || pattern.starts_with(['.', '~'])
}

impl Pattern {
    fn read(rule: &str) -> Result<Pattern, &'static str> {
        let text = rule.trim();
        if text.len() > LONGEST {
            return Err("it is too long: at most 4096 bytes are taken");
        }
        let (tool, inner) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => {
                let inner = rest.strip_suffix(')').ok_or("its bracket is not closed")?.trim();
                if inner.is_empty() {
                    return Err("there is nothing in its brackets");
                }
                (tool, Some(inner.to_owned()))
            }
        };
        let named = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if tool != "*" && (tool.is_empty() || !tool.chars().all(named)) {
            return Err("it does not begin with the name of a tool");
        }
        if inner.as_deref().and_then(machines).is_some_and(|name| machine(name.trim_start_matches('.')).is_none()) {
            return Err("it names no machine");
        }
        if inner.as_deref().is_some_and(|inner| inner.split('/').any(|part| part == "..")) {
            return Err("`..` in a pattern means another place from every place");
        }
        Ok(Pattern { text: text.to_owned(), tool: tool.to_ascii_lowercase(), inner, others: Vec::new() })
    }

    /// It as a rule that holds something back: braces and brackets mean what they mean in a shell, too.
    fn holding_back(self) -> Result<Pattern, &'static str> {
        let others = match &self.inner {
            Some(inner) => alternatives(inner).ok_or("its braces have too many alternatives")?,
            None => Vec::new(),
        };
        Ok(Pattern { others, ..self })
    }

    fn names(&self, tool: &str) -> bool {
        let tool = tool.to_ascii_lowercase();
        let of_server = || self.tool.starts_with("mcp__") && tool.starts_with(&format!("{}__", self.tool));
        let alias = || ALIASES.iter().any(|(name, real)| self.tool == *name && tool == *real);
        self.tool == "*" || self.tool == tool || alias() || of_server()
    }

    /// Whether a call may reach something of this. Doubt is a yes.
    fn touches(&self, subject: Subject<'_>) -> bool {
        if !self.names(subject.tool) {
            return false;
        }
        let Some(inner) = self.inner.as_deref() else { return true };
        !subject.known || self.others.iter().map(String::as_str).chain([inner]).any(|inner| self.means(inner, subject))
    }

    /// Whether a call may reach something of what this pattern says.
    fn means(&self, inner: &str, subject: Subject<'_>) -> bool {
        let Reach { reads, writes, lines, commands, hosts, memories, .. } = subject.reach;
        let path = lines.is_empty() || self.tool == "*" || says_path(inner);
        if machines(inner).is_some() {
            return hosts.iter().any(|host| is_host(inner, host));
        }
        path && reads.iter().chain(writes).any(|place| may_be_place(inner, place, subject.bases))
            || lines.iter().any(|line| commands::may_be_in(inner, line))
            || commands.iter().any(|command| may_be_command(inner, command))
            || hosts.iter().any(|host| is_host(inner, host))
            || memories.iter().any(|memory| may_be_memory(inner, memory))
    }
}

/// What a pattern with braces and brackets says besides itself: `{a,b}` is `a` or `b`, and `[...]` some character. `None`:
/// that would be too many.
fn alternatives(pattern: &str) -> Option<Vec<String>> {
    if pattern.matches('{').count() > MOST_ALTERNATIVES {
        return None;
    }
    let (mut open, mut all) = (vec![pattern.to_owned()], Vec::new());
    while let Some(next) = open.pop() {
        if open.len() + all.len() >= MOST_ALTERNATIVES {
            return None;
        }
        match braces(&next) {
            Some((before, inner, after)) => {
                open.extend(inner.into_iter().map(|one| format!("{before}{one}{after}")));
            }
            None => all.push(next),
        }
    }
    let classed: Vec<String> = all.iter().filter_map(|one| classless(one)).collect();
    all.extend(classed);
    all.retain(|one| one != pattern);
    all.sort_unstable();
    all.dedup();
    Some(all)
}

/// The first braces with a comma of their own in a text: what is before them, their alternatives, and what is behind.
fn braces(text: &str) -> Option<(&str, Vec<&str>, &str)> {
    for (start, _) in text.match_indices('{') {
        let (mut depth, mut from, mut found) = (0_usize, start + 1, Vec::new());
        for (at, character) in text[start..].char_indices() {
            let at = start + at;
            match character {
                '{' => depth += 1,
                ',' if depth == 1 => {
                    found.push(&text[from..at]);
                    from = at + 1;
                }
                '}' if depth == 1 => {
                    if found.is_empty() {
                        break;
                    }
                    found.push(&text[from..at]);
                    return Some((&text[..start], found, &text[at + 1..]));
                }
                '}' => depth -= 1,
                _ => {}
            }
        }
    }
    None
}

/// A pattern with `?` for each `[...]` within a name; `None`: it has none.
fn classless(pattern: &str) -> Option<String> {
    let (mut out, mut rest, mut any) = (String::new(), pattern, false);
    while let Some(start) = rest.find('[') {
        // The first character of a class may be `]` itself.
        let skip = rest[start + 1..].chars().next().map_or(0, char::len_utf8);
        let Some(len) = rest[start + 1 + skip..].find([']', '/']) else { break };
        let end = start + 1 + skip + len;
        out.push_str(&rest[..start]);
        if rest[end..].starts_with(']') {
            any = true;
            out.push('?');
            rest = &rest[end + 1..];
        } else {
            out.push_str(&rest[start..end]);
            rest = &rest[end..];
        }
    }
    out.push_str(rest);
    any.then_some(out)
}

/// The patterns, from the root of the file system, that a pattern stands for; `None` when that cannot be said.
fn rooted(pattern: &str, bases: &Bases) -> Option<Vec<Vec<String>>> {
    let parts = |text: &str| -> Vec<String> {
        text.split('/').filter(|part| !matches!(*part, "" | ".")).map(str::to_owned).collect()
    };
    let below = |base: &Path, rest: &str| {
        let mut all = components(base);
        all.extend(parts(rest));
        all
    };
    if pattern.starts_with('/') {
        return Some(vec![parts(pattern)]);
    }
    if let Some(rest) = pattern.strip_prefix("~/") {
        return bases.home.as_deref().map(|home| vec![below(home, rest)]);
    }
    Some(bases.folders.iter().map(|folder| below(folder, pattern)).collect())
}

fn components(path: &Path) -> Vec<String> {
    let name = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        _ => None,
    };
    path.components().filter_map(name).collect()
}

fn is_path(pattern: &str, path: &Path, bases: &Bases) -> bool {
    let path = components(path);
    rooted(pattern, bases).is_some_and(|patterns| patterns.iter().any(|pattern| glob::covers(pattern, &path)))
}

/// Whether a pattern may mean a place: where it really is, or as its name can be read.
fn may_be_place(pattern: &str, place: &Place, bases: &Bases) -> bool {
    let folded = |parts: Vec<String>| -> Vec<String> { parts.iter().map(|part| fold(part)).collect() };
    let Some(rooted) = rooted(pattern, bases) else { return true };
    let mut patterns: Vec<Vec<String>> = rooted.into_iter().map(folded).collect();
    let mut paths: Vec<Vec<String>> = place.paths.iter().map(|path| folded(components(path))).collect();
    for reading in readings(&place.asked) {
        paths.push(folded(lexical(&reading)));
        let from_folders =
            bases.folders.iter().map(|folder| folded(lexical(&format!("{}/{reading}", folder.display()))));
        paths.extend(from_folders);
    }
    if place.paths.is_empty() {
        // A document without a place counts by its name alone, from nowhere.
        patterns.push(folded(pattern.split('/').map(str::to_owned).collect()));
    }
    patterns.iter().any(|pattern| paths.iter().any(|path| glob::covers_from_above(pattern, path)))
}

/// The components of a name, `.` and `..` resolved without looking at the disk.
fn lexical(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part.to_owned()),
        }
    }
    parts
}

/// Whether a pattern means a memory (`type/name`): `*` within each of the two.
fn is_memory(pattern: &str, memory: &str) -> bool {
    let parts = |text: &str| text.split('/').map(str::to_owned).collect::<Vec<String>>();
    glob::covers(&parts(pattern), &parts(memory))
}

/// Whether a pattern may mean a memory, however both are spelled.
fn may_be_memory(pattern: &str, memory: &str) -> bool {
    is_memory(&fold(pattern), &fold(memory))
}

#[cfg(test)]
mod tests;
