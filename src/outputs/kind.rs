//! What sort of text a command prints, told from the command line. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What sort of text an output is: it decides how the output may be made shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OutputKind {
    /// Files or differences: each line matters.
    Source,
    /// What a search found.
    Search,
    /// The report of a build, a test run or an installation.
    Log,
    /// Anything else.
    Other,
}

/// Programs that print files.
const SOURCE: &[&str] = &["cat", "bat", "head", "tail", "less", "more", "nl", "tac", "diff"];

/// Programs that print what they found.
const SEARCH: &[&str] = &["grep", "egrep", "fgrep", "rg", "ag", "ack", "find", "fd", "fdfind", "locate"];

/// Programs that print reports, whatever they are told to do.
const LOG: &[&str] = &[
    "ant",
    "bazel",
    "cargo",
    "cmake",
    "ctest",
    "docker",
    "dotnet",
    "eslint",
    "go",
    "gradle",
    "gradlew",
    "jest",
    "just",
    "make",
    "meson",
    "mocha",
    "mvn",
    "mvnw",
    "mypy",
    "ninja",
    "nox",
    "phpunit",
    "pip",
    "pip3",
    "playwright",
    "podman",
    "pytest",
    "rake",
    "rspec",
    "ruff",
    "swift",
    "tox",
    "tsc",
    "vitest",
    "webpack",
    "zig",
];

/// Programs that print reports when they are told to do one of these.
const LOG_WHEN: &[(&[&str], &[&str])] = &[
    (
        &["npm", "pnpm", "yarn", "bun"],
        &["ci", "i", "install", "add", "run", "test", "t", "exec", "build", "update", "upgrade", "audit"],
    ),
    (
        &["apt", "apt-get", "brew", "dnf", "gem", "composer", "poetry", "uv", "conda"],
        &["install", "update", "upgrade", "sync", "add", "build"],
    ),
];

/// Programs that run what follows them: their name, and the options of theirs that take a word of their own.
const RUNNERS: &[(&[&str], &[&str])] = &[
    (&["npx"], &["-p", "--package"]),
    (&["bunx"], &[]),
    (&["pnpm", "dlx"], &[]),
    (&["pnpm", "exec"], &[]),
    (&["yarn", "dlx"], &[]),
    (&["yarn", "exec"], &[]),
    (&["npm", "exec"], &[]),
    (&["bundle", "exec"], &[]),
    (&["uv", "run"], &["--with", "-p", "--python"]),
    (&["poetry", "run"], &[]),
    (&["pipx", "run"], &[]),
    (&["python", "-m"], &[]),
    (&["python3", "-m"], &[]),
    (&["env"], &["-u", "--unset", "-C", "--chdir"]),
    (&["time"], &["-f", "-o"]),
    (&["nice"], &["-n"]),
    (&["ionice"], &["-c", "-n"]),
    (&["nohup"], &[]),
    (&["stdbuf"], &["-i", "-o", "-e"]),
    (&["sudo"], &["-u", "-g"]),
    (&["command"], &[]),
    (&["exec"], &[]),
    (&["xargs"], &["-n", "-P", "-I", "-L", "-d"]),
];

/// Commands that print nothing of their own and only prepare for the next one.
const SILENT: &[&str] =
    &["cd", "pushd", "popd", "export", "set", "source", ".", "mkdir", "true", "umask", "ulimit", "unset"];

/// Commands in a pipe that pass on what they are given.
const PASSING: &[&str] = &["tee", "cat", "sponge", "unbuffer"];

/// What a command line prints. What is not understood is [`OutputKind::Other`].
pub fn classify(command: &str) -> OutputKind {
    let Some(pipelines) = split(command) else { return OutputKind::Other };
    let mut kinds: Vec<OutputKind> = pipelines.iter().filter_map(|pipeline| of_pipeline(pipeline)).collect();
    kinds.dedup();
    match kinds.as_slice() {
        [kind] => *kind,
        // A report among other things is what gets long.
        kinds if kinds.contains(&OutputKind::Log) && !kinds.contains(&OutputKind::Source) => OutputKind::Log,
        _ => OutputKind::Other,
    }
}

/// Of a pipe, the last command says whether it is source or what a search found; else the first decides. `None`: it
/// prints nothing.
fn of_pipeline(commands: &[Vec<String>]) -> Option<OutputKind> {
    let named: Vec<Vec<&str>> =
        commands.iter().map(|words| unwrapped(words)).filter(|words| !words.is_empty()).collect();
    let first = named.first()?;
    if named.len() == 1 && SILENT.contains(&first[0]) {
        return None;
    }
    // What passes on what it is given does not count, unless it is all there is.
    let last = named.iter().rev().find(|words| named.len() == 1 || !passes(words)).unwrap_or(first);
    Some(match (of_command(last), of_command(first)) {
        (kind @ (OutputKind::Source | OutputKind::Search), _) => kind,
        (_, OutputKind::Log) => OutputKind::Log,
        _ => OutputKind::Other,
    })
}

fn passes(words: &[&str]) -> bool {
    PASSING.contains(&words[0]) && (words[0] == "tee" || words.iter().skip(1).all(|word| word.starts_with('-')))
}

fn of_command(words: &[&str]) -> OutputKind {
    let Some((&program, rest)) = words.split_first() else { return OutputKind::Other };
    let verb = || rest.iter().find(|word| !word.starts_with('-')).copied().unwrap_or_default();
    match program {
        "git" => of_git(rest),
        "sed" if rest.iter().any(|word| word.starts_with("-n") || *word == "--quiet") => OutputKind::Source,
        program if SOURCE.contains(&program) => OutputKind::Source,
        program if SEARCH.contains(&program) => OutputKind::Search,
        program if LOG.contains(&program) => OutputKind::Log,
        program if LOG_WHEN.iter().any(|(programs, verbs)| programs.contains(&program) && verbs.contains(&verb())) => {
            OutputKind::Log
        }
        _ => OutputKind::Other,
    }
}

fn of_git(words: &[&str]) -> OutputKind {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "-C" | "-c" | "--git-dir" | "--work-tree" => {
                words.next();
            }
            "diff" | "show" | "blame" => return OutputKind::Source,
            "grep" | "ls-files" => return OutputKind::Search,
            word if word.starts_with('-') => {}
            _ => break,
        }
    }
    OutputKind::Other
}

/// The words of a command without assignments and the programs that only run it; its program by its name alone.
fn unwrapped(words: &[String]) -> Vec<&str> {
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    loop {
        let assignments = words.iter().take_while(|word| assigns(word)).count();
        words.drain(..assignments);
        let Some(first) = words.first_mut() else { return words };
        *first = first.rsplit('/').next().unwrap_or(first);
        if *first == "timeout" {
            // Its own options, then how long.
            let options = 1 + options(&words[1..], &["-s", "--signal", "-k", "--kill-after"]);
            words.drain(..(options + 1).min(words.len()));
            continue;
        }
        let runner = RUNNERS.iter().find(|(names, _)| words.starts_with(names));
        let Some((names, taking)) = runner else { return words };
        words.drain(..names.len());
        let own = options(&words, taking);
        words.drain(..own);
    }
}

/// How many words at the beginning are options, with the words that some of them take.
fn options(words: &[&str], taking: &[&str]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-') && word.len() > 1) {
        at += 1 + usize::from(taking.contains(word));
        if *word == "--" {
            break;
        }
    }
    at.min(words.len())
}

fn assigns(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// A command line as lists of pipes of commands of words; quotes and redirections are gone. `None` for what this does
/// not understand: substitutions, groups, here-documents, quotes that do not end.
fn split(command: &str) -> Option<Vec<Vec<Vec<String>>>> {
    let mut pipelines = vec![vec![Vec::new()]];
    let mut word: Option<String> = None;
    // The next word is where something is redirected to.
    let mut redirected = false;
    let mut chars = command.chars().peekable();
    let end_word = |word: &mut Option<String>, redirected: &mut bool, pipelines: &mut Vec<Vec<Vec<String>>>| {
        if let Some(word) = word.take()
            && !std::mem::take(redirected)
            && let Some(words) = pipelines.last_mut().and_then(|pipeline| pipeline.last_mut())
        {
            words.push(word);
        }
    };
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                let quoted: &mut String = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        c => quoted.push(c),
                    }
                }
            }
            '"' => {
                let quoted: &mut String = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '\\' => quoted.push(chars.next()?),
                        '`' => return None,
                        '$' if chars.peek() == Some(&'(') => return None,
                        c => quoted.push(c),
                    }
                }
            }
            '\\' => match chars.next()? {
                '\n' => {}
                c => word.get_or_insert_default().push(c),
            },
            '`' | '(' | ')' | '{' if word.is_none() || c != '{' => return None,
            '$' if chars.peek() == Some(&'(') => return None,
            '<' | '>' => {
                if c == '<' && chars.peek() == Some(&'<') {
                    return None;
                }
                // A number right before it is no word of the command.
                if word.as_ref().is_some_and(|word| word.chars().all(|c| c.is_ascii_digit())) {
                    word = None;
                }
                end_word(&mut word, &mut redirected, &mut pipelines);
                while chars.next_if(|c| matches!(c, '>' | '&' | '|')).is_some() {}
                redirected = true;
            }
            '&' if chars.peek() == Some(&'>') => {}
            '|' | '&' | ';' | '\n' => {
                end_word(&mut word, &mut redirected, &mut pipelines);
                redirected = false;
                let doubled = chars.next_if_eq(&c).is_some();
                if c == '|' && !doubled {
                    chars.next_if_eq(&'&');
                    pipelines.last_mut()?.push(Vec::new());
                } else {
                    pipelines.push(vec![Vec::new()]);
                }
            }
            '#' if word.is_none() => while chars.next_if(|c| *c != '\n').is_some() {},
            c if c.is_whitespace() => end_word(&mut word, &mut redirected, &mut pipelines),
            c => word.get_or_insert_default().push(c),
        }
    }
    end_word(&mut word, &mut redirected, &mut pipelines);
    Some(pipelines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn command_lines() {
        use OutputKind::{Log, Other, Search, Source};
        for (command, kind) in [
            ("cat src/main.rs", Source),
            ("head -n 5 a; tail b", Source),
            ("sed -n '1,20p' a", Source),
            ("sed s/a/b/ a", Other),
            ("git diff HEAD~1", Source),
            ("git --no-pager -C sub show HEAD", Source),
            ("git log", Other),
            ("git grep x", Search),
            ("grep -rn 'a | b' src", Search),
            ("rg x", Search),
            ("/usr/bin/find . -name '*.rs'", Search),
            ("npm test", Log),
            ("npm view left-pad", Other),
            ("pnpm --silent run build", Log),
            ("cargo test --lib 2>&1", Log),
            ("make", Log),
            ("docker build .", Log),
            ("./gradlew check", Log),
            ("./node_modules/.bin/vitest run", Log),
            // Prefixes.
            ("cd x && npm test", Log),
            ("cd a; cd b\nmake", Log),
            ("FOO=1 cargo test", Log),
            ("FOO='a b' BAR=2 time make -j4", Log),
            ("time make", Log),
            ("npx vitest", Log),
            ("npx -y --package vitest vitest run", Log),
            ("env -i PATH=/bin cargo build", Log),
            ("timeout -s KILL 60 pytest -x", Log),
            ("nice -n 10 stdbuf -oL cargo test", Log),
            ("uv run pytest", Log),
            ("python3 -m pytest tests", Log),
            ("sudo -u me apt-get install x", Log),
            // Pipes: the last decides source and search, the first a report.
            ("cargo test | tail -50", Source),
            ("cargo test 2>&1 | grep FAILED", Search),
            ("cat a | grep 'x | y'", Search),
            ("npm test | tee out.log", Log),
            ("npm test |& cat", Log),
            ("cargo test | sort", Log),
            ("cat a | wc -l", Other),
            ("echo 'cargo test | x'", Other),
            // Lists.
            ("cargo build && cargo test", Log),
            ("echo hello && cargo test", Log),
            ("cat a && cargo test", Other),
            ("grep a b || cat c", Other),
            // Redirections are no words.
            ("cargo test > out.txt 2> err.txt", Log),
            ("cargo test &> out.txt", Log),
            // What is not understood.
            ("cat <<EOF\nx\nEOF", Other),
            ("cargo test $(cat args)", Other),
            ("(cargo test)", Other),
            ("cargo test \"", Other),
            ("", Other),
            ("cd x", Other),
            ("# cargo test", Other),
        ] {
            assert_eq!(classify(command), kind, "{command}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_some_kind(command in "[a-z '\"|&;<>$(){}=\\\\\n#/-]{0,60}") {
            classify(&command);
        }
    }
}
