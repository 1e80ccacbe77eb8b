//! What one consent covers beside the line it is given for.

use proptest::prelude::*;

use super::{analyse, rows, scene, table};
use crate::permissions::shell::{Verdict, Word, consent};

fn shared(line: &str) -> Option<Vec<Vec<String>>> {
    consent::shared_by(line, &scene(), table)
}

#[test]
fn what_one_consent_covers() {
    #[track_caller]
    fn check(line: &str, expected: Option<&[&str]>) {
        let found = shared(line).map(|all| all.iter().map(|words| words.join(" ")).collect::<Vec<_>>());
        let expected = expected.map(|all| all.iter().map(ToString::to_string).collect());
        assert_eq!(found, expected, "{line}");
    }
    check("cargo build", Some(&["cargo build"]));
    check("cargo build --release", Some(&["cargo build"]));
    check("cargo build && cargo test -q", Some(&["cargo build", "cargo test"]));
    check("cargo build; cargo test", Some(&["cargo build", "cargo test"]));
    check("(cargo build) 2>&1", Some(&["cargo build"]));
    check("cargo build > /dev/null", Some(&["cargo build"]));
    check("cargo test 2>&1 | tail -5", Some(&["cargo test", "tail -5"]));
    check("cd src && npm run dev", Some(&["cd src", "npm run dev"]));
    check("make -j8", Some(&["make"]));
    check("git commit -m 'one; two'", Some(&["git commit"]));
    // Nothing that only looks needs one.
    check("ls", None);
    check("ls | head", None);
    check("", None);
    // What is not known, wrapped, redirected to a file, or sets something.
    check("cargo build && foo", None);
    check("cargo build && $x", None);
    check("cargo build $x", None);
    check("cargo build $(curl x)", None);
    check("cargo build *.rs", None);
    check("sudo cargo build", None);
    check("env A=1 cargo build", None);
    check("time -p cargo build", Some(&["cargo build"]));
    check("timeout 5 cargo build", None);
    check("bash -c 'cargo build'", None);
    check("cargo build > log", None);
    check("cargo run < in", None);
    check("cargo run <<< in", None);
    check("A=1 cargo build", None);
    check("A=1; cargo build", None);
    check("export A=1; cargo build", None);
    check("for x in 1; do cargo build; done", None);
    check("if ls; then cargo build; fi", None);
    check("f() { rm x; }; cargo build", None);
    check("cargo() { rm x; }; cargo build", None);
    check("alias cargo=rm; cargo build", None);
    check("trap 'rm x' EXIT; cargo build", None);
    check("./cargo build", None);
    check("cargo build '", None);
    // What is dangerous, or asked about each time.
    check("cargo build; rm -rf /", None);
    check("cargo build; rm x", None);
    check("git push --force", None);
    check("cargo build && git push -f", None);
    check("git push", Some(&["git push"]));
    check("curl x | sh", None);
    check("cargo build | sh", None);
}

/// The line's commands, if all of their words are known.
fn commands(line: &str) -> Option<Vec<Vec<String>>> {
    let known = |word: &Word| match word {
        Word::Known(text) => Some(text.clone()),
        Word::Unknown(_) => None,
    };
    analyse(line).commands.iter().map(|simple| simple.words.iter().map(known).collect()).collect()
}

/// A consent for a line covers only commands that begin as its own.
fn covers_no_more(line: &str) {
    let Some(shared) = shared(line) else { return };
    let analysis = analyse(line);
    assert!(analysis.verdict < Verdict::Destructive && analysis.unclear.is_none(), "{line}");
    let commands = commands(line).unwrap_or_else(|| panic!("{line}"));
    assert_eq!(commands.len(), shared.len(), "{line}");
    for (command, beginning) in commands.iter().zip(&shared) {
        assert!(command.starts_with(beginning) && !beginning.is_empty(), "{line}: {command:?} {beginning:?}");
    }
}

#[test]
fn rows_share_no_more_than_their_commands() {
    for (_, line, _) in rows() {
        covers_no_more(&line);
    }
}

proptest! {
    #[test]
    fn equal_consents_are_for_equal_commands(
        lines in prop::array::uniform2(prop::collection::vec(prop::sample::select(vec![
            "cargo build", "cargo test -q", "cargo", "git push", "git push -f", "git status", "npm run dev", "ls", "tail -5", "tail",
            "foo", "rm -rf /", "make", "curl x", "sh", "x=1", "$(foo)", "sudo", "f() { foo; }", "> a", "2>&1", "'cargo' build",
        ]), 1..4)),
        between in prop::array::uniform2(prop::sample::select(vec![" && ", "; ", " | ", " ", "\n", " || ", " & "])),
    ) {
        let [one, other] = [lines[0].join(between[0]), lines[1].join(between[1])];
        covers_no_more(&one);
        covers_no_more(&other);
        if let (Some(shared_one), Some(shared_other)) = (shared(&one), shared(&other))
            && shared_one == shared_other
        {
            // By the table the same commands, whatever stands behind them.
            let begins = |line: &str| -> Vec<Vec<String>> {
                let known = commands(line).unwrap_or_default();
                known.into_iter().zip(&shared_one).map(|(words, begin)| words[..begin.len()].to_vec()).collect()
            };
            prop_assert_eq!(begins(&one), begins(&other), "{} / {}", one, other);
        }
    }

    #[test]
    fn a_consent_covers_no_line_with_more_in_it(
        line in prop::sample::select(vec!["cargo build", "cargo test -q && ls", "npm run dev", "git push", "make; make test"]),
        more in prop::sample::select(vec![
            "@; foo", "@ && rm a", "foo | @", "@ | sh", "@ > a", "A=1 @", "sudo @", "@ $(foo)", "@ `foo`", "@ & foo", "(@; foo)",
            "@\nfoo", "{ @; foo; }", "if @; then foo; fi", "eval '@'", "@ <(foo)", "f() { foo; }; @", "@ #\nfoo", "@ \"$(foo)\"",
            "@; foo '", "@ <<E\n$(foo)\nE", "@ ${x:-$(foo)}", "@ $((x))", "time foo; @", "! foo; @", "foo & @", "@ || foo",
        ]),
    ) {
        let covered = shared(line);
        prop_assert!(covered.is_some());
        let longer = more.replace('@', line);
        prop_assert_ne!(shared(&longer), covered, "{}", longer);
    }
}
