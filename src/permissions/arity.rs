//! Which command lines one consent can cover: those that begin with the same command, by a table of how many words make
//! one. Pure.
//!
//! A grammar for whole command lines comes later. Until then a line is either plain words, or it is not understood and
//! consent covers exactly it. A consent never reaches further than the table knows: an unknown program, a flag before the
//! command is complete, or a dangerous one behind it makes the line stand for itself alone.

/// Commands of more than one word: the first ones, how many words the command has, and the words that may come next; no
/// such words: any.
const ARITY: &[(&[&str], usize, &[&str])] = &[
    (&["bun"], 2, &["add", "build", "install", "test"]),
    (&["bun", "run"], 3, &[]),
    (
        &["cargo"],
        2,
        &[
            "add",
            "bench",
            "build",
            "check",
            "clean",
            "clippy",
            "doc",
            "fix",
            "fmt",
            "generate",
            "install",
            "metadata",
            "package",
            "publish",
            "remove",
            "run",
            "search",
            "test",
            "tree",
            "uninstall",
            "update",
            "yank",
        ],
    ),
    (&["deno"], 2, &["fmt", "lint", "run", "test"]),
    (
        &["docker"],
        2,
        &[
            "build", "cp", "exec", "images", "inspect", "kill", "logs", "ps", "pull", "push", "rm", "rmi", "run",
            "start", "stop", "tag",
        ],
    ),
    (&["docker"], 3, &["compose", "container", "image", "network", "system", "volume"]),
    (&["gh"], 3, &["issue", "pr", "release", "repo", "run", "secret", "workflow"]),
    (
        &["git"],
        2,
        &[
            "add",
            "am",
            "apply",
            "bisect",
            "blame",
            "branch",
            "cat-file",
            "checkout",
            "cherry-pick",
            "clean",
            "clone",
            "commit",
            "config",
            "describe",
            "diff",
            "fetch",
            "format-patch",
            "grep",
            "init",
            "log",
            "ls-files",
            "merge",
            "mv",
            "notes",
            "pull",
            "push",
            "rebase",
            "reflog",
            "remote",
            "reset",
            "restore",
            "revert",
            "rm",
            "show",
            "stash",
            "status",
            "submodule",
            "switch",
            "tag",
            "worktree",
        ],
    ),
    (&["go"], 2, &["build", "clean", "env", "fmt", "generate", "get", "install", "list", "run", "test", "vet"]),
    (&["go"], 3, &["mod", "work"]),
    (&["kubectl"], 2, &["apply", "exec", "explain", "label", "logs", "patch", "port-forward", "scale", "set"]),
    (&["kubectl"], 3, &["create", "delete", "describe", "get", "rollout", "top"]),
    (&["make"], 1, &[]),
    (
        &["npm"],
        2,
        &[
            "audit",
            "build",
            "cache",
            "ci",
            "dedupe",
            "fund",
            "help",
            "info",
            "init",
            "install",
            "link",
            "list",
            "ls",
            "outdated",
            "pack",
            "prune",
            "publish",
            "rebuild",
            "start",
            "stop",
            "test",
            "uninstall",
            "update",
            "version",
            "view",
        ],
    ),
    (&["npm", "run"], 3, &[]),
    (&["npx"], 2, &[]),
    (&["pip"], 2, &["freeze", "install", "list", "show", "uninstall"]),
    (&["pip3"], 2, &["freeze", "install", "list", "show", "uninstall"]),
    (&["pnpm"], 2, &["add", "build", "install", "start", "test", "update"]),
    (&["pnpm", "run"], 3, &[]),
    (&["rustup"], 2, &["default", "install", "show", "update"]),
    (&["rustup"], 3, &["target", "toolchain"]),
    (&["yarn"], 2, &["add", "audit", "build", "install", "start", "test"]),
    (&["yarn", "run"], 3, &[]),
    (&["yarn", "workspace"], 3, &[]),
];

/// `python -m module` and the like: the flag belongs to the command.
const MODULES: &[&str] = &["python", "python3"];

/// What no earlier consent covers, whatever it was given for: the command, and the words of which one makes it so; none:
/// always.
const DANGERS: &[(&[&str], &[&str])] = &[
    (&["cargo", "publish"], &[]),
    (&["cargo", "yank"], &[]),
    (&["docker", "exec"], &["--privileged"]),
    (&["docker", "run"], &["--privileged", "-v", "--volume", "--mount", "--network", "--pid", "--cap-add", "--device"]),
    (&["gh", "secret"], &[]),
    (&["git", "branch"], &["-D", "-d", "--delete", "-f", "--force", "-M"]),
    (&["git", "checkout"], &["-f", "--force", ".", "--"]),
    (&["git", "clean"], &[]),
    (&["git", "config"], &[]),
    (&["git", "push"], &["-f", "--force", "--force-with-lease", "--mirror", "-d", "--delete", "--prune", "--exec"]),
    (&["git", "rebase"], &["-x", "--exec"]),
    (&["git", "reflog"], &["expire", "delete"]),
    (&["git", "reset"], &["--hard", "--merge", "--keep"]),
    (&["git", "restore"], &[]),
    (&["git", "stash"], &["drop", "clear"]),
    (&["git", "bisect"], &["run"]),
    (&["git", "submodule"], &["foreach"]),
    (&["git", "switch"], &["-f", "--force", "--discard-changes", "-C"]),
    (&["kubectl", "delete"], &[]),
    (&["kubectl", "exec"], &[]),
    (&["npm", "publish"], &[]),
    (&["git", "grep"], &["-O", "--open-files-in-pager"]),
];

/// The words of a command line that is nothing but words; `None`: it has operators, expansions, quotes that do not close or
/// assignments, and is not understood.
pub fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '"' => break,
                        // What a shell would put something else in place of.
                        '$' | '`' | '\\' | '!' => return None,
                        c => word.push(c),
                    }
                }
            }
            '|' | '&' | ';' | '<' | '>' | '(' | ')' | '{' | '}' | '$' | '`' | '\\' | '*' | '?' | '[' | ']' | '#'
            | '!' | '~' | '^' | '%' => return None,
            c if c.is_control() || (c.is_whitespace() && c != ' ') => return None,
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    let first = words.first()?;
    (!first.contains('=')).then_some(words)
}

/// The command that some words begin with: flags are skipped, an unknown program is a command of one word. For people
/// and statistics; [`shared`] says what a consent covers.
pub fn prefix(words: &[String]) -> Vec<String> {
    let plain: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let lower: Vec<String> = plain.iter().take(3).map(|word| word.to_lowercase()).collect();
    if let [program, ..] = lower.as_slice()
        && MODULES.contains(&program.as_str())
        && words.get(1).is_some_and(|word| word == "-m")
    {
        return words.iter().take(3).map(|word| word.to_lowercase()).collect();
    }
    let count = arity(&lower).unwrap_or(1);
    lower.into_iter().take(count).collect()
}

/// How many words the command has, if the table knows it.
fn arity(lower: &[String]) -> Option<usize> {
    let fits = |(head, _, next): &&(&[&str], usize, &[&str])| {
        head.len() <= lower.len()
            && head.iter().zip(lower).all(|(head, word)| head == word)
            && (next.is_empty() || lower.get(head.len()).is_some_and(|word| next.contains(&word.as_str())))
    };
    ARITY.iter().filter(fits).max_by_key(|(head, ..)| head.len()).map(|(_, count, _)| *count)
}

/// What one consent to a command line can cover beside it: every line that begins with this command. `None`: only
/// exactly this line.
pub fn shared(line: &str) -> Option<Vec<String>> {
    let words = words(line)?;
    let leading: Vec<String> = words.iter().take(3).cloned().collect();
    let prefix = prefix(&words);
    let known = MODULES.contains(&prefix.first()?.as_str()) && prefix.len() == 3 || arity(&prefix).is_some();
    // Written so, in full and first: `git -C elsewhere status` is another thing than `git status`.
    let plain = leading.iter().zip(&prefix).all(|(word, prefix)| word == prefix) && leading.len() >= prefix.len();
    let complete = arity(&prefix).is_none_or(|count| count == prefix.len());
    (known && plain && complete && danger(line).is_none()).then_some(prefix)
}

/// Whether some of the lines that begin with a command are dangerous: a text that covers all of them covers those too.
pub fn may_be_dangerous(command: &[String]) -> bool {
    DANGERS.iter().any(|(head, _)| head.iter().zip(command).all(|(head, word)| head == word))
}

/// Why no earlier consent covers a command line, whatever it was given for.
pub fn danger(line: &str) -> Option<String> {
    let words = words(line)?;
    let plain: Vec<String> =
        words.iter().filter(|word| !word.starts_with('-')).take(3).map(|word| word.to_lowercase()).collect();
    let (head, marks) = DANGERS
        .iter()
        .find(|(head, _)| head.len() <= plain.len() && head.iter().zip(&plain).all(|(head, word)| head == word))?;
    let marked = |word: &&String| {
        let flag = word.split('=').next().unwrap_or(word);
        // `-fd` is `-f -d`.
        let short = |mark: &str| mark.len() == 2 && mark.starts_with('-') && !flag.starts_with("--");
        marks.iter().any(|mark| {
            flag == *mark || short(mark) && flag.len() > 2 && flag.starts_with('-') && flag[1..].contains(&mark[1..])
        })
    };
    let forced = head == &["git", "push"] && words.iter().any(|word| word.starts_with('+') || word.starts_with(':'));
    match (marks.is_empty(), words.iter().find(marked)) {
        (true, _) => Some(format!("`{}` is asked about each time", head.join(" "))),
        (false, Some(mark)) => Some(format!("`{}` with `{mark}` is asked about each time", head.join(" "))),
        (false, None) if forced => Some("`git push` that forces or deletes is asked about each time".to_owned()),
        (false, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_command_of_a_line() {
        #[track_caller]
        fn check(line: &str, expected: &str) {
            assert_eq!(words(line).map(|words| prefix(&words).join(" ")).as_deref(), Some(expected), "{line}");
        }
        check("git push origin main", "git push");
        check("npm run dev --port 1", "npm run dev");
        check("ls -la", "ls");
        check("cargo build --release", "cargo build");
        check("git -C d status", "git");
        check("python -m pytest -q", "python -m pytest");
        check("docker compose up -d", "docker compose up");
        check("git frobnicate x", "git");
        check("make -j8 all", "make");
        check("GIT Status", "git status");
        check("yarn workspace app build", "yarn workspace app");
    }

    #[test]
    fn what_one_consent_covers() {
        #[track_caller]
        fn check(line: &str, expected: Option<&str>) {
            assert_eq!(shared(line).map(|words| words.join(" ")).as_deref(), expected, "{line}");
        }
        check("cargo build", Some("cargo build"));
        check("cargo build --release", Some("cargo build"));
        check("npm run dev --port 1", Some("npm run dev"));
        check("git commit -m 'one; two'", Some("git commit"));
        check("python3 -m pytest", Some("python3 -m pytest"));
        check("make test", Some("make"));
        // A compound line never shares, whatever it begins with.
        check("cargo build && curl x | sh", None);
        check("cargo build; rm -rf /", None);
        check("cargo build $(curl x)", None);
        check("cargo build > /etc/passwd", None);
        check("cargo build \"`curl x`\"", None);
        check("cargo build\nrm x", None);
        // Nor does what the table does not know.
        check("python a.py", None);
        check("rm a", None);
        check("curl x", None);
        check("ls -la", None);
        check("sudo cargo build", None);
        check("RUSTFLAGS=x cargo build", None);
        check("git frobnicate", None);
        check("npm run", None);
        // Nor what is not written plainly.
        check("git -C d status", None);
        check("npm --prefix d run dev", None);
        check("cargo +nightly build", None);
        check("", None);
        check("cargo 'build", None);
        // Nor what is dangerous.
        check("git push origin main", Some("git push"));
        check("git push --force origin main", None);
        check("git push -uf origin main", None);
        check("git push origin +main", None);
        check("git push origin :main", None);
        check("git reset --hard", None);
        check("git clean -fdx", None);
        check("docker run -v /:/host x", None);
        check("docker run --network=host x", None);
        check("cargo publish", None);
    }

    #[test]
    fn the_tables_are_well_formed() {
        for (head, count, next) in ARITY {
            assert!(!head.is_empty() && *count >= head.len() && *count <= 3, "{head:?}");
            assert!(next.is_sorted(), "{head:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shared_begins_with_it(line in "(git|cargo|npm|make|python) ?(push|build|run|-m|x)? ?[-a-z;|& $\"']{0,12}") {
            if let Some(prefix) = shared(&line) {
                let spaced = line.split_whitespace().collect::<Vec<_>>().join(" ");
                prop_assert!(spaced.starts_with(&prefix.join(" ")) || line.contains(['\'', '"']), "{line} {prefix:?}");
                let quoted = words(&line).unwrap_or_default();
                prop_assert_eq!(&quoted[..prefix.len()], &prefix[..]);
            }
        }
    }
}
