//! What runs on other machines or is copied there, and what git is told to run.

use super::options::{Known, like, options};
use super::{Wrapped, joined};
use crate::permissions::shell::effects::{Runs, Word};

const SSH: Known = Known {
    flags: "46AaCfGgKkMNnqsTtVvXxYy",
    takes: "BbcDEeFIiJLlmOoPpQRSWw",
    may: "",
    long: &[],
    long_takes: &["ssh", "port", "bind-server", "predict", "client", "server", "family"],
};

const NONE: Known = Known { flags: "", takes: "", may: "", long: &[], long_takes: &[] };
const SCP: Known = Known { flags: "346ABCOpqRrsTvtfd", takes: "cDFiJloPSX", ..NONE };
const SFTP: Known = Known { flags: "46AaCfNpqrv", takes: "bBcDFiJloPRSsX", ..NONE };

/// `ssh host line`
pub(super) fn ssh(program: &str, args: &[Word]) -> Wrapped {
    let found = options(args, &SSH);
    let mut wrapped = Wrapped::harmless().asks(format!("`{program}` runs on another machine"));
    wrapped.effects.network = true;
    if found.unclear {
        wrapped = wrapped.unclear(program, args);
    }
    for option in found.of(&["o"]) {
        wrapped = configured(wrapped, &option);
    }
    if found.has(&["F", "I"]) {
        wrapped = wrapped.asks(format!("what `{program}` is configured to run is in a file"));
    }
    let Some((host, mut rest)) = found.rest.split_first() else { return wrapped };
    wrapped.effects.hosts.push(named(host.text()));
    wrapped.effects.hosts.extend(found.of(&["J"]).iter().flat_map(|hosts| hosts.text().split(',')).map(named));
    // Options may also stand behind the host.
    let behind = options(rest, &SSH);
    for option in behind.of(&["o"]) {
        wrapped = configured(wrapped, &option);
    }
    if !behind.given.is_empty() || behind.rest.len() < rest.len() {
        rest = behind.rest;
    }
    if !rest.is_empty() {
        wrapped.effects.runs.push(Runs::Line { line: joined(rest), elsewhere: true });
    } else if !found.has(&["N", "f", "O", "W"]) {
        wrapped = wrapped.asks(format!("`{program}` runs what it reads from its input on another machine"));
    }
    wrapped
}

/// `-o Name=value`, which may name a command.
fn configured(mut wrapped: Wrapped, option: &Word) -> Wrapped {
    let text = option.text();
    let (name, value) = text.split_once(['=', ' ']).unwrap_or((text, ""));
    let runs = ["proxycommand", "localcommand", "knownhostscommand", "match"];
    if runs.contains(&name.trim().to_lowercase().as_str()) {
        wrapped = wrapped.line(like(option, value.trim()));
    }
    if name.eq_ignore_ascii_case("remotecommand") {
        wrapped.effects.runs.push(Runs::Line { line: like(option, value.trim()), elsewhere: true });
    }
    wrapped
}

/// The machine of `user@machine`, `ssh://user@machine:22/path` and `machine:path`.
fn named(host: &str) -> String {
    let host = host.split_once("://").map_or(host, |(_, host)| host);
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        Some((host, _)) => host.to_owned(),
        None => host.split([':', '/']).next().unwrap_or(host).to_owned(),
    }
}

/// Whether a word names a place on another machine.
fn is_remote(text: &str) -> bool {
    let before = text.split(':').next().unwrap_or_default();
    text.contains("://") || text.contains(':') && !before.contains('/') && !before.is_empty()
}

/// `scp from to`, `sftp host`
pub(super) fn copy(program: &str, args: &[Word]) -> Wrapped {
    let found = options(args, if program == "scp" { &SCP } else { &SFTP });
    let mut wrapped = Wrapped::harmless().asks(format!("`{program}` copies to or from another machine"));
    wrapped.effects.network = true;
    for option in found.of(&["o"]) {
        wrapped = configured(wrapped, &option);
    }
    if found.has(&["F"]) {
        wrapped = wrapped.asks(format!("what `{program}` is configured to run is in a file"));
    }
    for program in found.of(&["S"]) {
        wrapped = wrapped.words(&[program]);
    }
    // The other side, as a program of this machine with its arguments.
    wrapped = found.of(&["D"]).into_iter().fold(wrapped, Wrapped::line);
    wrapped.effects.reads.extend(found.of(&["F", "i", "b"]));
    if program == "scp" {
        let (remote, local): (Vec<&Word>, Vec<&Word>) = found.rest.iter().partition(|word| is_remote(word.text()));
        wrapped.effects.hosts.extend(remote.iter().map(|word| named(word.text())));
        let last = found.rest.last().filter(|word| !is_remote(word.text()));
        wrapped.effects.writes.extend(last.cloned());
        wrapped.effects.reads.extend(local.into_iter().filter(|word| Some(*word) != last).cloned());
    } else if let Some((host, here)) = found.rest.split_first() {
        wrapped.effects.hosts.push(named(host.text()));
        wrapped.effects.writes.extend(here.iter().cloned());
    }
    wrapped.effects.hosts.extend(found.of(&["J"]).iter().flat_map(|hosts| hosts.text().split(',')).map(named));
    if found.unclear { wrapped.unclear(program, args) } else { wrapped }
}

/// `git -c name=value`, where it decides what git runs; `None`: git as the tables know it.
pub(super) fn git(args: &[Word]) -> Option<Wrapped> {
    let mut rest = args;
    let mut lines = Vec::new();
    while let Some((word, behind)) = rest.split_first() {
        rest = behind;
        match word.text() {
            "-c" => {
                let (setting, behind) = rest.split_first()?;
                rest = behind;
                let value = setting.text().split_once('=').map_or("", |(_, value)| value);
                if let Some(line) = value.strip_prefix('!') {
                    lines.push(like(setting, line));
                }
            }
            "-C" | "--git-dir" | "--work-tree" | "--namespace" => rest = rest.get(1..).unwrap_or_default(),
            text if text.starts_with('-') => {}
            _ => break,
        }
    }
    if lines.is_empty() {
        return None;
    }
    let wrapped = Wrapped::harmless().asks("`git -c` gives git a command line to run");
    Some(lines.into_iter().fold(wrapped, Wrapped::line))
}
