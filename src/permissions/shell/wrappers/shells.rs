//! Shells, and what runs lines or programs for them: `bash -c`, `eval`, `env`, `su`, `watch` and the like.

use super::options::{Known, like, options};
use super::{Wrapped, assignment, joined};
use crate::permissions::shell::effects::{Runs, Word};

/// What runs in the shell itself.
pub(super) fn here(program: &str, args: &[Word]) -> Wrapped {
    let mut wrapped = Wrapped::harmless();
    match program {
        "eval" => {
            let args = match args {
                [Word::Known(end), args @ ..] if end == "--" => args,
                args => args,
            };
            wrapped.child = false;
            if args.is_empty() { wrapped } else { wrapped.line(joined(args)) }
        }
        "exec" => {
            let found = options(args, &Known { flags: "cl", takes: "a", ..Known::default() });
            if found.unclear { wrapped.unclear(program, args).words(found.rest) } else { wrapped.words(found.rest) }
        }
        "command" => {
            let found = options(args, &Known { flags: "pvV", ..Known::default() });
            match (found.has(&["v", "V"]), found.unclear) {
                (true, false) => wrapped,
                (_, true) => wrapped.unclear(program, args).words(found.rest),
                (false, false) => inside(wrapped, found.rest),
            }
        }
        "builtin" => {
            let args = match args {
                [Word::Known(end), args @ ..] if end == "--" => args,
                args => args,
            };
            inside(wrapped, args)
        }
        _ => {
            let found = options(args, &Known { takes: "p", ..Known::default() });
            wrapped.child = false;
            match found.rest {
                [] => wrapped,
                [file, arguments @ ..] => script_file(wrapped, program, file, arguments),
            }
        }
    }
}

/// Commands of the shell that change it.
const STATE: &[&str] = &[
    ".",
    "alias",
    "break",
    "cd",
    "continue",
    "declare",
    "eval",
    "exec",
    "export",
    "getopts",
    "let",
    "local",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "trap",
    "typeset",
    "unset",
];

/// `command cd x` changes the folder of this shell, as `cd x` does.
fn inside(mut wrapped: Wrapped, words: &[Word]) -> Wrapped {
    wrapped.child = false;
    let quoted = |word: &Word| match word {
        Word::Known(text) => like(word, &format!("'{}'", text.replace('\'', "'\\''"))),
        Word::Unknown(_) => word.clone(),
    };
    match words {
        [Word::Known(name), ..] if STATE.contains(&name.as_str()) => {
            let line: Vec<Word> = words.iter().map(quoted).collect();
            // Quoted as it is, no function and no alias is meant, but a builtin is.
            wrapped.line(joined(&line))
        }
        words => {
            wrapped.child = true;
            wrapped.words(words)
        }
    }
}

/// Programs that fetch from other machines.
const FETCH: &[&str] = &["curl", "wget", "fetch", "http", "nc", "ncat"];

/// A file whose lines run.
fn script_file(mut wrapped: Wrapped, program: &str, file: &Word, arguments: &[Word]) -> Wrapped {
    const INPUT: &[&str] = &["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "-"];
    if INPUT.contains(&file.text()) {
        wrapped.arguments = Some(arguments.to_vec());
        wrapped.effects.runs.push(Runs::Fed);
        return wrapped;
    }
    if file.text().contains("<(") {
        // What puts the script out was judged where it stands.
        let text = file.text();
        let fetched =
            FETCH.iter().any(|name| text.contains(&format!("<({name} ")) || text.contains(&format!(" {name} ")));
        let wrapped = wrapped.asks(format!("`{program}` runs what another command puts out"));
        return if fetched {
            wrapped.destroys(format!("`{program}` runs what another machine sends"))
        } else {
            wrapped
        };
    }
    wrapped.effects.reads.push(file.clone());
    wrapped.asks(format!("`{program}` runs what stands in `{}`", file.text()))
}

/// Shells that run nothing with `-n`, but read the file they are given.
const READS_ONLY: &[&str] = &["sh", "bash", "dash", "ksh"];

/// A shell.
pub(super) fn shell(program: &str, args: &[Word], fed: bool) -> Wrapped {
    let mut wrapped = Wrapped::harmless();
    if matches!(program, "fish" | "csh" | "tcsh" | "nu" | "pwsh" | "xonsh" | "elvish" | "zsh") {
        wrapped = wrapped.asks(format!("`{program}` reads its lines by a grammar of its own"));
    }
    let (mut line, mut input, mut reads, mut rest) = (false, false, false, args);
    while let Some((word, behind)) = rest.split_first() {
        let text = word.text();
        if matches!(word, Word::Unknown(_)) && (!text.starts_with(['-', '+']) || text.contains('$')) {
            if !line {
                // A file, or options.
                wrapped = wrapped.unclear(program, args);
            }
            break;
        }
        if !text.starts_with(['-', '+']) {
            break;
        }
        rest = behind;
        if matches!(text, "-" | "--") {
            break;
        }
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            match name {
                "rcfile" | "init-file" => {
                    let file = value.map(|value| like(word, value)).or_else(|| rest.first().cloned());
                    rest = if value.is_some() { rest } else { rest.get(1..).unwrap_or_default() };
                    wrapped = wrapped.asks(format!("`{program} --{name}` runs a file"));
                    wrapped.effects.reads.extend(file);
                }
                "command" | "init-command" => {
                    let text = value.map(|value| like(word, value)).or_else(|| rest.first().cloned());
                    rest = if value.is_some() { rest } else { rest.get(1..).unwrap_or_default() };
                    wrapped.effects.runs.extend(text.map(|line| Runs::Line { line, elsewhere: false }));
                }
                "login" | "noprofile" | "norc" | "posix" | "restricted" | "verbose" | "noediting" | "no-config"
                | "private" | "interactive" => {}
                _ => wrapped = wrapped.unclear(program, args),
            }
            continue;
        }
        let mut letters = text[1..].chars();
        while let Some(letter) = letters.next() {
            match letter {
                'c' if text.starts_with('-') => line = true,
                'C' if program == "fish" => line = true,
                's' => input = true,
                'n' if text.starts_with('-') && READS_ONLY.contains(&program) => reads = true,
                'o' | 'O' => {
                    // `-o name`, unless it is the last word.
                    if program == "zsh" && letters.as_str().len() > 1 {
                        break;
                    }
                    rest = rest.get(1..).unwrap_or_default();
                }
                _ => {}
            }
        }
    }
    match (line, rest) {
        (true, [text, arguments @ ..]) => {
            wrapped.arguments = Some(arguments.get(1..).unwrap_or_default().to_vec());
            wrapped.line(text.clone())
        }
        (true, []) => wrapped.unclear(program, args),
        // With `-n` it only looks whether the grammar is kept to.
        (false, [file @ Word::Known(_)]) if reads && !input && wrapped.effects.runs.is_empty() => {
            wrapped.effects.reads.push(file.clone());
            wrapped
        }
        (false, [file, arguments @ ..]) if !input => script_file(wrapped, program, file, arguments),
        (false, arguments) if !wrapped.effects.runs.is_empty() && !fed => {
            wrapped.arguments = Some(arguments.to_vec());
            wrapped
        }
        (false, arguments) => {
            wrapped.arguments = Some(arguments.to_vec());
            wrapped.effects.runs.push(Runs::Fed);
            wrapped
        }
    }
}

/// `su user -c line`
pub(super) fn su(program: &str, args: &[Word]) -> Wrapped {
    let mut wrapped = Wrapped::harmless().asks(format!("`{program}` runs as another user"));
    let mut index = 0;
    let mut plain = 0;
    let mut user = false;
    while let Some(arg) = args.get(index) {
        let text = arg.text();
        index += 1;
        let next = args.get(index);
        if let Some(line) = text.strip_prefix("--command=").or_else(|| text.strip_prefix("--session-command=")) {
            wrapped = wrapped.line(like(arg, line));
        } else if text == "--command" || text == "--session-command" {
            wrapped.effects.runs.extend(next.map(|line| Runs::Line { line: line.clone(), elsewhere: false }));
            index += 1;
        } else if text.starts_with('-') && !text.starts_with("--") {
            let letters = &text[1..];
            if let Some(at) = letters.find(['c', 'g', 'G', 's', 'u', 'w', 'T']) {
                let (letter, value) = (&letters[at..=at], &letters[at + 1..]);
                let value = if value.is_empty() { next.cloned() } else { Some(like(arg, value)) };
                index += usize::from(letters[at + 1..].is_empty());
                match letter {
                    "c" => wrapped.effects.runs.extend(value.map(|line| Runs::Line { line, elsewhere: false })),
                    "u" => user = true,
                    _ => {}
                }
            }
        } else if matches!(text, "--shell" | "--group" | "--supp-group" | "--user" | "--whitelist-environment") {
            user |= text == "--user";
            index += 1;
        } else if !text.starts_with('-') {
            // The first is the user, unless one is named and what stands here is a program.
            if user && plain == 0 {
                return wrapped.words(&args[index - 1..]);
            }
            plain += 1;
        }
    }
    if wrapped.effects.runs.is_empty() {
        wrapped.effects.runs.push(Runs::Fed);
    }
    wrapped.guess = args.to_vec();
    wrapped
}

/// `env NAME=value program`
pub(super) fn env(args: &[Word]) -> Wrapped {
    const KNOWN: Known = Known {
        flags: "i0v",
        takes: "uCSPa",
        may: "",
        long: &[
            "ignore-environment",
            "null",
            "debug",
            "list-signal-handling",
            "block-signal",
            "default-signal",
            "ignore-signal",
        ],
        long_takes: &["unset", "chdir", "split-string", "argv0"],
    };
    let mut wrapped = Wrapped::harmless();
    let mut args = args;
    loop {
        let found = options(args, &KNOWN);
        wrapped.folder = found.of(&["C", "chdir"]).into_iter().next().or(wrapped.folder);
        if found.has(&["P"]) {
            wrapped = wrapped.asks("`env -P` decides which program runs");
        }
        if let Some(split) = found.of(&["S", "split-string"]).into_iter().next() {
            // It takes a line apart nearly as a shell does, and goes on with what stands behind.
            let line = split.text().replace("\\_", " ").replace("\\c", "#");
            let behind: Vec<Word> = std::iter::once(like(&split, &line)).chain(found.rest.iter().cloned()).collect();
            return wrapped.asks("`env -S` takes a line apart in its own way").line(joined(&behind));
        }
        let mut rest = found.rest;
        if let [Word::Known(dash), behind @ ..] = rest
            && dash == "-"
        {
            args = behind;
            continue;
        }
        if found.unclear {
            wrapped = wrapped.unclear("env", args);
        }
        while let Some((word, behind)) = rest.split_first()
            && let Some(set) = assignment(word)
        {
            wrapped.sets.push(set);
            rest = behind;
        }
        return wrapped.words(rest);
    }
}

/// `watch line`
pub(super) fn watch(args: &[Word]) -> Wrapped {
    const KNOWN: Known = Known {
        flags: "bcCdegptrwxhvf",
        takes: "nqs",
        may: "",
        long: &[
            "beep",
            "color",
            "no-color",
            "differences",
            "errexit",
            "chgexit",
            "precise",
            "no-title",
            "no-rerun",
            "no-wrap",
            "exec",
            "follow",
        ],
        long_takes: &["interval", "equexit", "shotsdir"],
    };
    let found = options(args, &KNOWN);
    let wrapped = Wrapped::harmless();
    let wrapped = if found.unclear { wrapped.unclear("watch", args) } else { wrapped };
    match (found.rest, found.has(&["x", "exec"])) {
        ([], _) => wrapped,
        (rest, true) => wrapped.words(rest),
        (rest, false) => wrapped.line(joined(rest)),
    }
}

/// `script -c line file`, and `script file program` of other systems.
pub(super) fn script(args: &[Word]) -> Wrapped {
    const KNOWN: Known = Known {
        flags: "aefqdkpr",
        takes: "cBEIOomT",
        may: "t",
        long: &["append", "flush", "force", "quiet", "return", "timing"],
        long_takes: &["command", "echo", "log-in", "log-out", "log-io", "log-timing", "logging-format", "output-limit"],
    };
    // Options may also stand behind the file.
    let mut wrapped = Wrapped::harmless();
    let mut rest = args;
    let mut plain: Vec<Word> = Vec::new();
    let mut lines = Vec::new();
    let mut command: &[Word] = &[];
    loop {
        let found = options(rest, &KNOWN);
        if found.unclear {
            wrapped = wrapped.unclear("script", args);
        }
        lines.extend(found.of(&["c", "command"]));
        wrapped.effects.writes.extend(found.of(&[
            "B",
            "I",
            "O",
            "T",
            "log-in",
            "log-out",
            "log-io",
            "log-timing",
            "t",
        ]));
        let Some((word, behind)) = found.rest.split_first() else { break };
        if plain.is_empty() {
            command = behind;
        }
        plain.push(word.clone());
        rest = behind;
    }
    let file = plain.first().cloned().unwrap_or_else(|| Word::Known("typescript".to_owned()));
    wrapped.effects.writes.push(file);
    if lines.is_empty() {
        wrapped = wrapped.words(command);
        if plain.len() < 2 {
            wrapped.effects.runs.push(Runs::Fed);
        }
    }
    for line in lines {
        wrapped = wrapped.line(line);
    }
    wrapped
}

/// `flock file program`, `flock file -c line`
pub(super) fn flock(args: &[Word]) -> Wrapped {
    const KNOWN: Known = Known {
        flags: "sxenuoFv",
        takes: "wE",
        may: "",
        long: &["shared", "exclusive", "unlock", "nonblock", "nb", "close", "no-fork", "verbose", "fcntl"],
        long_takes: &["timeout", "wait", "conflict-exit-code"],
    };
    let found = options(args, &KNOWN);
    let mut wrapped = Wrapped::harmless();
    if found.unclear {
        wrapped = wrapped.unclear("flock", args);
    }
    let Some((file, rest)) = found.rest.split_first() else { return wrapped };
    if !file.text().bytes().all(|b| b.is_ascii_digit()) {
        wrapped.effects.writes.push(file.clone());
    }
    match rest {
        [Word::Known(flag), line, ..] if flag == "-c" || flag == "--command" => wrapped.line(line.clone()),
        rest => wrapped.words(rest),
    }
}

/// `at`, `batch`, `crontab`: what runs later.
pub(super) fn later(program: &str, args: &[Word]) -> Wrapped {
    let mut wrapped = Wrapped::harmless();
    let has = |flag: &str| args.iter().any(|arg| arg.text() == flag);
    let known = args.iter().all(|arg| matches!(arg, Word::Known(_)));
    let texts: Vec<&str> = args.iter().map(Word::text).collect();
    if program == "crontab" {
        match texts.as_slice() {
            ["-l"] | ["-u", _, "-l"] | ["-l", "-u", _] if known => return wrapped,
            ["-e"] | ["-u", _, "-e"] | ["-e", "-u", _] if known => {
                return wrapped.asks("`crontab` changes what runs later");
            }
            _ if has("-r") => return wrapped.destroys("`crontab -r` deletes all that was to run later"),
            _ => {}
        }
        // Which of several is the file differs from one to the other; what is behind `-u` is a user.
        let behind_user = |at: usize| at.checked_sub(1).is_some_and(|before| texts[before] == "-u");
        let files = args.iter().enumerate().filter(|(at, arg)| !arg.text().starts_with('-') && !behind_user(*at));
        wrapped.effects.reads.extend(files.map(|(_, file)| file.clone()));
        if wrapped.effects.reads.is_empty() {
            wrapped.effects.runs.push(Runs::Fed);
        }
        return wrapped.destroys("`crontab` replaces all that was to run later");
    }
    // The last of several options decides, so that these are harmless only beside no other.
    match texts.as_slice() {
        ["-l"] if known => return wrapped,
        ["-c", jobs @ ..] if known && jobs.iter().all(|job| !job.starts_with('-')) => return wrapped,
        _ => {}
    }
    let file = args.iter().position(|arg| arg.text() == "-f").and_then(|at| args.get(at + 1));
    match file {
        Some(file) => wrapped.effects.reads.push(file.clone()),
        None => wrapped.effects.runs.push(Runs::Fed),
    }
    wrapped.asks(format!("`{program}` runs something later"))
}

/// `busybox applet`
pub(super) fn applet(program: &str, args: &[Word]) -> Wrapped {
    match args {
        [Word::Known(flag), ..] if flag.starts_with("--list") || flag == "--help" => Wrapped::harmless(),
        [Word::Known(flag), ..] if flag.starts_with("--install") => {
            Wrapped::harmless().asks(format!("`{program} --install` puts programs in place"))
        }
        args => Wrapped::harmless().words(args),
    }
}
