//! What is gathered of one command's effects while its words are read.

use super::super::effects::{Effects, Invocation, Runs, Verdict, Word};
use super::options::{known, shown};

/// The effects of a command, as they become known.
pub(super) struct Sheet<'a> {
    /// The command, with its subcommand: `git reset`.
    pub command: String,
    /// What is judged.
    pub invocation: Invocation<'a>,
    reasons: Vec<(Verdict, String)>,
    verdict: Verdict,
    reads: Vec<Word>,
    writes: Vec<Word>,
    network: bool,
    hosts: Vec<String>,
    runs: Vec<Runs>,
}

impl<'a> Sheet<'a> {
    /// Of a command of which nothing is known yet.
    pub(super) fn new(invocation: &Invocation<'a>) -> Self {
        Self {
            command: invocation.program.to_owned(),
            invocation: *invocation,
            reasons: Vec::new(),
            verdict: Verdict::ReadOnly,
            reads: Vec::new(),
            writes: Vec::new(),
            network: false,
            hosts: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// The command's words behind the program.
    pub(super) fn args(&self) -> &'a [Word] {
        self.invocation.args
    }

    /// The worst so far.
    pub(super) fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// It is at least so bad, because the command `why`.
    pub(super) fn raise(&mut self, verdict: Verdict, why: &str) {
        if verdict > Verdict::ReadOnly {
            let reason = format!("`{}` {why}", self.command);
            self.because(verdict, reason);
        }
    }

    /// It is at least so bad, because its option `why`.
    pub(super) fn raise_by(&mut self, verdict: Verdict, option: &str, why: &str) {
        if verdict > Verdict::ReadOnly {
            let reason = format!("`{} {option}` {why}", self.command);
            self.because(verdict, reason);
        }
    }

    /// It is at least so bad, for a whole reason.
    pub(super) fn because(&mut self, verdict: Verdict, reason: String) {
        self.verdict = self.verdict.max(verdict);
        if !self.reasons.iter().any(|(_, known)| *known == reason) {
            self.reasons.push((verdict, reason));
        }
    }

    /// It changes files of the workspace.
    pub(super) fn changes(&mut self, why: &str) {
        self.raise(Verdict::WorkspaceWrite, why);
    }

    /// It does what nobody can tell to be harmless.
    pub(super) fn asks(&mut self, why: &str) {
        self.raise(Verdict::NeedsApproval, why);
    }

    /// It destroys.
    pub(super) fn destroys(&mut self, why: &str) {
        self.raise(Verdict::Destructive, why);
    }

    /// It reads a file.
    pub(super) fn reads(&mut self, word: &Word) {
        if known(word) != Some("-") && !self.reads.contains(word) {
            self.reads.push(word.clone());
        }
    }

    /// It writes a file. What only running it shows may be any file.
    pub(super) fn writes(&mut self, word: &Word) {
        match word {
            Word::Known(text) if harmless_device(text) => return,
            Word::Known(text) if text.starts_with("/dev/") => {
                let why = format!("writes to the device `{text}`");
                self.destroys(&why);
            }
            Word::Known(_) => {}
            Word::Unknown(text) => {
                let why = format!("writes to `{text}`, and only running it shows what that is");
                self.asks(&why);
            }
        }
        if !self.writes.contains(word) {
            self.writes.push(word.clone());
        }
    }

    /// It puts a file where a word says. A folder is not what is written then, but what is put into it.
    pub(super) fn puts(&mut self, source: &Word, target: &Word) {
        match (known(source), known(target)) {
            (Some(source), Some(folder)) if matches!(folder, "." | "..") || folder.ends_with('/') => {
                let name = source.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
                self.writes(&Word::Known(format!("{}/{name}", folder.trim_end_matches('/'))));
            }
            _ => self.writes(target),
        }
    }

    /// It talks to other machines.
    pub(super) fn network(&mut self) {
        self.network = true;
    }

    /// It talks to the machine that a word names, if it names one.
    pub(super) fn host(&mut self, word: &Word) {
        self.network = true;
        if let Some(host) = known(word).and_then(host_of)
            && !self.hosts.contains(&host)
        {
            self.hosts.push(host);
        }
    }

    /// It runs a command line.
    pub(super) fn runs_line(&mut self, line: &Word, elsewhere: bool) {
        self.runs.push(Runs::Line { line: line.clone(), elsewhere });
    }

    /// It runs a program with its arguments.
    pub(super) fn runs_words(&mut self, words: &[&Word], elsewhere: bool) {
        if !words.is_empty() {
            let words = words.iter().map(|word| (*word).clone()).collect();
            self.runs.push(Runs::Words { words, more: false, elsewhere });
        }
    }

    /// It does whatever its input says, if it has one.
    pub(super) fn obeys_input(&mut self) {
        if self.invocation.fed {
            self.asks("does what its input says");
        }
    }

    /// All of it; the worst reason first.
    pub(super) fn done(mut self) -> Effects {
        // What changes files and names none of them does it where it runs.
        if self.verdict == Verdict::WorkspaceWrite && self.writes.is_empty() {
            self.writes.push(Word::Known(".".to_owned()));
        }
        self.reasons.sort_by_key(|(verdict, _)| std::cmp::Reverse(*verdict));
        Effects {
            verdict: self.verdict,
            reasons: self.reasons.into_iter().map(|(_, reason)| reason).collect(),
            reads: self.reads,
            writes: self.writes,
            network: self.network,
            hosts: self.hosts,
            runs: self.runs,
        }
    }
}

/// Devices that take everything and keep nothing.
fn harmless_device(path: &str) -> bool {
    matches!(path, "-" | "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "/dev/full")
}

/// The machine that an address (`https://user@host:1/x`, `user@host:path`, `host:path`, `host`) names.
pub(super) fn host_of(address: &str) -> Option<String> {
    let authority = match address.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest.split(['/', '?', '#']).next()?,
        None if address.starts_with(['/', '.', '-', '~']) => return None,
        None => address.split('/').next()?,
    };
    let host = authority.rsplit('@').next()?;
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None => host.split(':').next()?,
    };
    (!host.is_empty()).then(|| host.to_lowercase())
}

/// Some words as one line, for a reason.
pub(super) fn listing(words: &[&Word]) -> String {
    let shown: Vec<String> = words.iter().map(|word| format!("`{}`", shown(word))).collect();
    match shown.as_slice() {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [all @ .., last] if all.len() < 4 => format!("{} and {last}", all.join(", ")),
        [first, second, third, rest @ ..] => format!("{first}, {second}, {third} and {} more", rest.len()),
        [..] => shown.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_in_addresses() {
        for (address, expected) in [
            ("https://Example.com/x", Some("example.com")),
            ("http://u:p@h.org:80?x", Some("h.org")),
            ("http://[::1]:3000/", Some("::1")),
            ("git@github.com:a/b.git", Some("github.com")),
            ("host:dir/file", Some("host")),
            ("example.org", Some("example.org")),
            ("./file", None),
            ("/a/b", None),
            ("file:///etc/passwd", None),
            ("", None),
        ] {
            assert_eq!(host_of(address).as_deref(), expected, "{address}");
        }
    }

    #[test]
    fn lists_for_people() {
        let words: Vec<Word> = ["a", "b", "c", "d", "e"].iter().map(|word| Word::Known((*word).to_owned())).collect();
        let listed: Vec<String> = (0..=5).map(|count| listing(&words.iter().take(count).collect::<Vec<_>>())).collect();
        assert_eq!(
            listed,
            ["nothing", "`a`", "`a` and `b`", "`a`, `b` and `c`", "`a`, `b`, `c` and `d`", "`a`, `b`, `c` and 2 more"]
        );
    }
}
