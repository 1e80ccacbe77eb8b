//! Programs that run another one for each of the things they find or read: `find`, `fd`, `xargs`, `parallel`.

use super::options::{Known, options};
use super::{ADDED, Wrapped, joined};
use crate::permissions::shell::effects::{Invocation, Runs, Verdict, Word};
use crate::permissions::shell::paths::{self, Place};
use crate::permissions::shell::programs::may_be_option;

/// `find places tests actions`
pub(super) fn find(invocation: &Invocation<'_>) -> Wrapped {
    let args = invocation.args;
    let mut wrapped = Wrapped::harmless();
    let mut begin = 0;
    while let Some(arg) = args.get(begin).map(Word::text) {
        match arg {
            "-H" | "-L" | "-P" => begin += 1,
            "-D" => begin += 2,
            _ if arg.starts_with("-O") => begin += 1,
            _ => break,
        }
    }
    let rest = args.get(begin..).unwrap_or_default();
    let first = |word: &Word| matches!(word, Word::Known(text) if text.starts_with(['-', '(', ')', '!', ',']));
    let end = rest.iter().position(first).unwrap_or(rest.len());
    let (places, mut rest) = rest.split_at(end);
    // What begins with a dash, or becomes several words, is an action perhaps.
    if places.iter().any(|place| matches!(place, Word::Unknown(text) if may_be_option(text))) {
        wrapped = wrapped.unclear("find", args);
    }
    let mut places = places.to_vec();
    if places.is_empty() {
        places.push(Word::Known(".".to_owned()));
    }
    wrapped.effects.reads.clone_from(&places);
    let mut tests = false;
    let mut deletes = false;
    let mut commands: Vec<(Vec<Word>, bool)> = Vec::new();
    while let Some((word, behind)) = rest.split_first() {
        rest = behind;
        if matches!(word, Word::Unknown(_)) {
            // It may be an action.
            wrapped = wrapped.unclear("find", args);
            continue;
        }
        match word.text() {
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let end = rest.iter().position(|word| word.text() == ";");
                let plus = rest.windows(2).position(|pair| pair[0].text().contains("{}") && pair[1].text() == "+");
                let end = match (end, plus) {
                    (Some(end), Some(plus)) => end.min(plus + 1),
                    (end, plus) => end.or(plus.map(|plus| plus + 1)).unwrap_or(rest.len()),
                };
                commands.push((rest[..end].to_vec(), tests));
                rest = rest.get(end + 1..).unwrap_or_default();
            }
            "-delete" => {
                deletes = true;
                wrapped.effects.verdict = wrapped.effects.verdict.max(Verdict::NeedsApproval);
                wrapped.effects.reasons.push("`find -delete` deletes what it finds".to_owned());
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                wrapped.effects.writes.extend(rest.first().cloned());
                rest = rest.get(1..).unwrap_or_default();
            }
            "-files0-from" => {
                wrapped.effects.reads.extend(rest.first().cloned());
                rest = rest.get(1..).unwrap_or_default();
                places.push(Word::Unknown(ADDED.to_owned()));
            }
            "-maxdepth" | "-mindepth" | "-newer" | "-anewer" | "-cnewer" | "-printf" | "-regextype" | "-fstype" => {
                rest = rest.get(1..).unwrap_or_default();
            }
            "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-regex" | "-iregex" | "-type" | "-size"
            | "-mtime" | "-mmin" | "-atime" | "-amin" | "-ctime" | "-cmin" | "-user" | "-group" | "-perm"
            | "-links" | "-inum" | "-lname" | "-ilname" | "-samefile" | "-uid" | "-gid" | "-xtype" | "-used"
            | "-newermt" => {
                // Of the kinds of test these choose; others say little.
                let all = matches!(rest.first().map(Word::text), Some("*" | "?*" | "*.*" | "d" | "f" | "f,d"));
                tests |= !all;
                rest = rest.get(1..).unwrap_or_default();
            }
            "-empty" => tests = true,
            _ => {}
        }
    }
    for place in &places {
        let inside = match place {
            Word::Known(text) => {
                let path = paths::resolve(&invocation.scene.workdir, text);
                paths::place(&path, invocation.scene) == Place::Inside || invocation.scene.roots.contains(&path)
            }
            Word::Unknown(_) => false,
        };
        if deletes && !(tests && inside) {
            wrapped.effects.writes.push(all_of(place, tests));
        }
        for (words, tests) in &commands {
            let found = match (tests, place, inside) {
                (false, place, _) => place.clone(),
                (true, place, true) => Word::Unknown(format!("{}/{{}}", place.text().trim_end_matches('/'))),
                (true, place, false) => all_of(place, true),
            };
            let words: Vec<Word> = words.iter().map(|word| put(word, &found)).collect();
            // What runs gets further names only in place of `{}`.
            wrapped.effects.runs.push(Runs::Words { words, more: false, elsewhere: false });
        }
    }
    wrapped
}

/// What is found in a place: the place itself, or what is in it.
fn all_of(place: &Word, tests: bool) -> Word {
    match (place, tests) {
        (Word::Known(text), true) => Word::Unknown(format!("{}/*", text.trim_end_matches('/'))),
        (place, _) => place.clone(),
    }
}

/// A word with what was found put in the place of `{}`.
fn put(word: &Word, found: &Word) -> Word {
    if !word.text().contains("{}") {
        return word.clone();
    }
    let text = word.text().replace("{}", found.text());
    match (word, found) {
        (Word::Known(_), Word::Known(_)) => Word::Known(text),
        _ => Word::Unknown(text),
    }
}

/// What `fd` puts a name it found, or a piece of it, in place of.
const HOLDERS: &[&str] = &["{}", "{/}", "{//}", "{.}", "{/.}"];

/// `fd pattern -x program`; `None`: it runs nothing.
pub(super) fn fd(args: &[Word]) -> Option<Wrapped> {
    let runs = |word: &Word| {
        let text = word.text();
        let short = text.starts_with('-') && !text.starts_with("--") && text.contains(['x', 'X']);
        short || text.starts_with("--exec")
    };
    let at = args.iter().position(runs)?;
    let text = args[at].text();
    // `-Hx` ends in the flag, `-xrm` holds the program.
    let flag = text.find(['x', 'X']).filter(|_| !text.starts_with("--"));
    let given = match (flag, text.split_once('=')) {
        (None, Some((_, program))) => Some(program.to_owned()),
        (Some(flag), _) if flag + 1 < text.len() => Some(text[flag + 1..].to_owned()),
        _ => None,
    };
    let behind = args.get(at + 1..).unwrap_or_default();
    let end = behind.iter().position(|word| word.text() == ";").unwrap_or(behind.len());
    let found = Word::Unknown("./{}".to_owned());
    let mut words: Vec<Word> = given.into_iter().map(Word::Known).chain(behind[..end].iter().cloned()).collect();
    let holds = |word: &Word| HOLDERS.iter().any(|holder| word.text().contains(holder));
    if words.iter().any(holds) {
        for word in &mut words {
            if holds(word) {
                *word = Word::Unknown(word.text().to_owned());
            }
        }
    } else {
        words.push(found);
    }
    let mut wrapped = Wrapped::harmless();
    if args[..at].iter().any(|word| matches!(word, Word::Unknown(_))) {
        wrapped = wrapped.unclear("fd", args);
    }
    Some(wrapped.words(&words))
}

/// `xargs program`
pub(super) fn xargs(args: &[Word]) -> Wrapped {
    const KNOWN: Known = Known {
        flags: "0rtpxo",
        takes: "adEILnPsJRS",
        may: "eil",
        long: &[
            "null",
            "no-run-if-empty",
            "verbose",
            "interactive",
            "exit",
            "open-tty",
            "show-limits",
            "replace",
            "eof",
            "max-lines",
        ],
        long_takes: &["arg-file", "delimiter", "max-args", "max-procs", "max-chars", "process-slot-var"],
    };
    let found = options(args, &KNOWN);
    let mut wrapped = Wrapped::harmless();
    if found.unclear {
        wrapped = wrapped.unclear("xargs", args);
    }
    wrapped.effects.reads = found.of(&["a", "arg-file"]);
    let holder = found.of(&["I", "i", "J", "replace"]).into_iter().next();
    let holder = match holder {
        None if found.has(&["i", "replace"]) => Some("{}".to_owned()),
        holder => holder.map(|holder| holder.text().to_owned()),
    };
    if found.rest.is_empty() {
        return wrapped;
    }
    let words = match &holder {
        Some(holder) if !holder.is_empty() => {
            let put = |word: &Word| {
                let text = word.text();
                if text.contains(holder.as_str()) {
                    Word::Unknown(text.replace(holder.as_str(), ADDED))
                } else {
                    word.clone()
                }
            };
            found.rest.iter().map(put).collect()
        }
        _ => found.rest.to_vec(),
    };
    wrapped.effects.runs.push(Runs::Words { words, more: holder.is_none(), elsewhere: false });
    wrapped
}

/// `parallel line ::: arguments`
pub(super) fn parallel(args: &[Word]) -> Wrapped {
    const KNOWN: Known = Known {
        flags: "0kmqrtuvXxBWZ",
        takes: "aCdEILnNPSsjJ",
        may: "eil",
        long: &[
            "bar",
            "dry-run",
            "dryrun",
            "eta",
            "keep-order",
            "line-buffer",
            "lb",
            "no-notice",
            "no-run-if-empty",
            "null",
            "pipe",
            "progress",
            "quote",
            "tag",
            "ungroup",
            "verbose",
            "will-cite",
            "xargs",
            "link",
            "shuf",
            "resume",
            "fg",
            "bg",
            "wait",
        ],
        long_takes: &[
            "arg-file",
            "colsep",
            "delay",
            "delimiter",
            "halt",
            "jobs",
            "joblog",
            "load",
            "max-args",
            "max-procs",
            "nice",
            "results",
            "retries",
            "shebang",
            "sshlogin",
            "tempdir",
            "timeout",
            "workdir",
            "wd",
            "block",
            "memfree",
            "id",
        ],
    };
    let found = options(args, &KNOWN);
    let mut wrapped = Wrapped::harmless();
    if found.unclear {
        wrapped = wrapped.unclear("parallel", args);
    }
    if found.has(&["S", "sshlogin"]) {
        wrapped = wrapped.asks("`parallel --sshlogin` runs on other machines");
        wrapped.effects.network = true;
    }
    wrapped.effects.reads = found.of(&["a", "arg-file"]);
    wrapped.effects.writes = found.of(&["joblog", "results"]);
    let source = |word: &&Word| word.text().starts_with(":::");
    let end = found.rest.iter().position(|word| source(&word)).unwrap_or(found.rest.len());
    let (command, sources) = found.rest.split_at(end);
    let sources: Vec<&Word> = sources.iter().filter(|word| !source(word)).collect();
    if command.is_empty() {
        // Each argument is a line of its own, and so is each line of its input.
        for line in &sources {
            wrapped = wrapped.line((*line).clone());
        }
        if sources.is_empty() {
            wrapped.effects.runs.push(Runs::Fed);
        }
        return wrapped;
    }
    let holds = |word: &Word| word.text().contains('{') && word.text().contains('}');
    if sources.is_empty() || sources.len() > 16 {
        let mut command = command.to_vec();
        if !command.iter().any(holds) {
            command.push(Word::Unknown(ADDED.to_owned()));
        }
        let text = joined(&command).text().to_owned();
        return wrapped.line(Word::Unknown(text));
    }
    for source in sources {
        let mut words: Vec<Word> = command.iter().map(|word| put(word, source)).collect();
        if !command.iter().any(holds) {
            words.push(source.clone());
        }
        wrapped = wrapped.line(joined(&words));
    }
    wrapped
}
