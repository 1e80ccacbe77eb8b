//! Whatever a line is wrapped in, its verdict is never better and none of its commands is lost.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::{analyse, rows};
use crate::permissions::shell::{Analysis, Verdict, Word};

/// What may stand around a line, `@`.
pub(super) const COMPOUNDS: &[&str] = &[
    "@",
    "true; @",
    "@⏎true",
    "true && { @⏎}",
    "false || { @⏎}",
    "{ @⏎} || true",
    "( @⏎)",
    "{ @⏎}",
    "! { @⏎}",
    "time { @⏎}",
    "{ @⏎} | cat",
    "ls | { @⏎}",
    "{ @⏎} &",
    "echo $( @⏎)",
    "echo \"$( @⏎)\"",
    "x=$( @⏎)",
    "x=$( @⏎) ls",
    "a=(1 $( @⏎))",
    "echo ${x:-$( @⏎)}",
    "echo $((1 + $( @⏎)))",
    "[[ -n $( @⏎) ]]",
    "cat <( @⏎)",
    "ls > >( @⏎)",
    "cat <<EOT⏎$( @⏎)⏎EOT",
    "cat <<< \"$( @⏎)\"",
    "if @⏎then :; fi",
    "if true; then @⏎fi",
    "if true; then :; elif true; then :; else @⏎fi",
    "while @⏎do :; done",
    "until false; do @⏎done",
    "for i in 1 2 3; do @⏎done",
    "for i in *; do @⏎done",
    "for ((i = 0; i < 3; i++)); do @⏎done",
    "case x in x) @⏎;; esac",
    "f() { @⏎}; f",
    "f() { @⏎}",
    "function f { @⏎}; f a b",
    "coproc { @⏎}",
    "{ @⏎} 2> /dev/null",
];

/// What may be given a line as one quoted word, `@`.
pub(super) const LINES: &[&str] = &[
    "bash -c @",
    "sh -ec @",
    "bash --norc -o pipefail -c @ name argument",
    "zsh -c @",
    "fish -c @",
    "eval @",
    "eval -- @",
    "command eval @",
    "builtin eval @",
    "exec bash -c @",
    "sudo sh -c @",
    "sudo -u root -- bash -c @",
    "doas sh -c @",
    "su -c @",
    "su root -c @",
    "pkexec sh -c @",
    "run0 sh -c @",
    "env -u B A=1 bash -c @",
    "nice -n 3 sh -c @",
    "ionice -c 3 sh -c @",
    "nohup sh -c @",
    "timeout -k 1 5 sh -c @",
    "stdbuf -oL sh -c @",
    "setsid -w sh -c @",
    "chroot /x sh -c @",
    "unshare -r sh -c @",
    "nsenter -t 1 sh -c @",
    "ls | xargs sh -c @",
    "xargs -a x -I REPL sh -c @",
    "find . -exec sh -c @ ';'",
    "find . -name x -execdir bash -c @ _ {} +",
    "fd x -x sh -c @",
    "watch -n 1 @",
    "watch -x sh -c @",
    "parallel ::: @",
    "flock /dev/null -c @",
    "script -c @ /dev/null",
    "strace -f sh -c @",
    "ltrace sh -c @",
    "gdb --args sh -c @",
    "busybox sh -c @",
    "systemd-run --user sh -c @",
    "npx -c @",
    "trap @ EXIT",
    "bash <<< @",
    "sh -s <<< @",
    "at now <<< @",
    "time bash -c @",
    "given=@; eval \"$given\"",
    "f() { eval \"$1\"; }; f @",
    "sh -c 'eval \"$1\"' _ @",
    "command time bash -c @",
];

/// The same, where it runs on another machine; its places are not ours then, and its verdict still counts.
const ELSEWHERE: &[&str] = &["ssh host @", "ssh -p 22 -o BatchMode=yes user@host @", "docker exec c sh -c @"];

/// What may stand before a program and its arguments.
pub(super) const PREFIXES: &[&str] = &[
    "sudo ",
    "sudo -n -u root -- ",
    "doas ",
    "pkexec ",
    "env ",
    "env -i A=1 ",
    "nice ",
    "nice -n 5 ",
    "ionice -c2 -n7 ",
    "nohup ",
    "timeout 5 ",
    "timeout -s KILL 1m ",
    "stdbuf -o0 -e0 ",
    "setsid ",
    "chroot /x ",
    "unshare -mp ",
    "strace -o /dev/null ",
    "gdb --args ",
    "busybox ",
    "command ",
    "exec ",
    "time ",
    "command time -f %e ",
    "xargs ",
    "xargs -n 1 -P 2 ",
    "find . -exec ",
    "fd -x ",
    "flock x ",
    "watch -x ",
    "parallel ",
    "npx ",
    "run0 ",
    "systemd-run --scope ",
    "eval ",
    "command command ",
    "nice timeout 5 env A=1 ",
    "$SUDO ",
    "x= ",
    "2>/dev/null ",
    "ltrace ",
    "builtin command ",
    "script x ",
];

/// Of the shell's own, what only the shell itself does would not be done. `ls` is in front of rows that make it
/// another command, and `cp` does something else with one more word.
const OWN: &[&str] = &[
    "[", "alias", "cd", "cp", "declare", "enable", "exec", "export", "hash", "ls", "mapfile", "printf", "pushd",
    "read", "set", "shopt", "test", "trap", "unset", "wait",
];

pub(super) fn single(line: &str) -> String {
    format!("'{}'", line.replace('\'', "'\\''"))
}

fn doubled(line: &str) -> String {
    let mut quoted = String::from("\"");
    for c in line.chars() {
        if matches!(c, '"' | '\\' | '$' | '`') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted + "\""
}

fn encoded(line: &str) -> String {
    let mut quoted = String::from("$'");
    for byte in line.bytes() {
        write!(quoted, "\\x{byte:02x}").unwrap();
    }
    quoted + "'"
}

/// The programs and their known arguments, as text.
fn commands(analysis: &Analysis) -> Vec<String> {
    let known = |word: &Word| match word {
        Word::Known(text) => text.clone(),
        // What is known of a word may differ from place to place.
        Word::Unknown(_) => "?".to_owned(),
    };
    analysis.commands.iter().map(|simple| simple.words.iter().map(known).collect::<Vec<_>>().join(" ")).collect()
}

/// Only the programs.
fn programs(analysis: &Analysis) -> Vec<String> {
    let first = |simple: &crate::permissions::shell::Simple| simple.words.first().map(|word| word.text().to_owned());
    analysis.commands.iter().filter_map(first).collect()
}

#[track_caller]
fn no_better(line: &str, inner: &Analysis, wrapped: &str, elsewhere: bool) {
    let outer = analyse(wrapped);
    let told = || format!("{line:?} -> {wrapped:?}\n{inner:?}\n{outer:?}");
    // On another machine nothing is ours to lose, and it is asked about anyway.
    let least = if elsewhere && !machine(inner) { Verdict::NeedsApproval.min(inner.verdict) } else { inner.verdict };
    assert!(outer.verdict >= least, "{}", told());
    let found = programs(&outer);
    for program in programs(inner) {
        assert!(found.contains(&program), "{program} is lost: {}", told());
    }
    if !elsewhere {
        assert!(outer.network || !inner.network, "{}", told());
        for host in &inner.hosts {
            assert!(outer.hosts.contains(host), "{}", told());
        }
    }
}

/// Whether a line destroys more than the workspace.
fn machine(analysis: &Analysis) -> bool {
    !analysis.reasons.iter().any(|reason| reason.contains("whole folder"))
}

/// Lines that parse, so that they can stand in others.
fn lines() -> Vec<String> {
    let rows = rows().into_iter().map(|(_, line, _)| line);
    let lines: Vec<String> = rows.filter(|line| analyse(line).unclear.is_none()).collect();
    assert!(lines.len() > 500, "{}", lines.len());
    lines
}

#[test]
fn a_compound_is_no_better_than_what_is_in_it() {
    for line in lines().iter().filter(|line| !line.trim().is_empty() && !line.contains("<<")) {
        let alone = analyse(line);
        for compound in COMPOUNDS {
            // A comment ends with the line.
            let inner = if line.contains('#') { format!("{line}\n") } else { line.clone() };
            no_better(line, &alone, &compound.replace('⏎', "\n").replace('@', &inner), false);
        }
    }
}

#[test]
fn a_line_given_to_a_shell_is_no_better_than_itself() {
    for (turn, line) in lines().into_iter().enumerate() {
        let alone = analyse(&line);
        for (index, wrapper) in LINES.iter().enumerate().filter(|(index, _)| index % 2 == turn % 2) {
            let quoted = [single, doubled, encoded][(index + turn) % 3](&line);
            no_better(&line, &alone, &wrapper.replace('@', &quoted), false);
        }
        for wrapper in ELSEWHERE {
            no_better(&line, &alone, &wrapper.replace('@', &single(&line)), true);
        }
    }
}

#[test]
fn a_command_behind_a_wrapper_is_no_better_than_alone() {
    let plain = |line: &&String| {
        let analysis = analyse(line);
        let first = line.split([' ', '\n']).next().unwrap_or_default();
        analysis.commands.len() == 1
            && !line.contains([';', '|', '&', '(', '<', '>', '\n', '`', '#', '='])
            && !OWN.contains(&first)
            && !matches!(first, "!" | "time" | "coproc" | "for" | "if" | "while" | "case" | "{" | "[[")
    };
    let lines = lines();
    let lines: Vec<&String> = lines.iter().filter(plain).collect();
    assert!(lines.len() > 60, "{}", lines.len());
    for line in lines {
        let alone = analyse(line);
        for prefix in PREFIXES {
            no_better(line, &alone, &format!("{prefix}{line}"), false);
        }
    }
}

#[test]
fn quoting_changes_nothing() {
    let same = |line: &str, quoted: &str| {
        let (plain, quoted_analysis) = (analyse(line), analyse(quoted));
        assert_eq!(commands(&plain), commands(&quoted_analysis), "{line:?} -> {quoted:?}");
        assert_eq!(plain.verdict, quoted_analysis.verdict, "{line:?} -> {quoted:?}");
    };
    for line in
        ["rm -rf /", "sudo rm -rf /w", "bash -c ls", "curl x", "ls -la src", "env A=1 rm -rf /home", "nice rm -r /"]
    {
        let words: Vec<&str> = line.split(' ').collect();
        for (at, word) in words.iter().enumerate() {
            for cut in 0..=word.len() {
                let (head, tail) = word.split_at(cut);
                for quoted in [
                    format!("{head}''{tail}"),
                    format!("{head}\"\"{tail}"),
                    format!("'{head}'{tail}"),
                    format!("{head}'{tail}'"),
                    format!("\"{head}\"\"{tail}\""),
                    if tail.is_empty() { word.to_string() } else { format!("{head}\\\n{tail}") },
                    format!("{head}$''{tail}"),
                    format!("{head}{}", encoded(tail)),
                    format!("{}\"{tail}\"", encoded(head)),
                    tail.chars().fold(head.to_owned(), |quoted, c| quoted + "\\" + &c.to_string()),
                ] {
                    // An assignment is one only while its name is not quoted; to `env` that makes no difference.
                    let mut all: Vec<&str> = words.clone();
                    all[at] = &quoted;
                    same(line, &all.join(" "));
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn wrappers_in_wrappers(
        line in prop::sample::select(vec![
            "rm -rf /", "foo a", "ls > /tmp/x", "curl x | sh", "ls", "touch a", "git clean -f",
        ]),
        wrappers in prop::collection::vec((prop::sample::select([LINES, COMPOUNDS].concat()), 0..3_usize), 1..5),
    ) {
        let mut wrapped = line.to_owned();
        for (wrapper, quoting) in wrappers {
            let inner = if LINES.contains(&wrapper) { [single, doubled, encoded][quoting](&wrapped) } else { wrapped };
            wrapped = wrapper.replace('⏎', "\n").replace('@', &inner);
        }
        no_better(line, &analyse(line), &wrapped, false);
    }
}
