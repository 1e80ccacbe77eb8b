//! Whole lines by the real tables of programs: the rows of `fixtures/shell/lines.txt`, and what holds for each of them
//! in any wrapper.

use super::verdict;
use super::wrapping::{COMPOUNDS, LINES, PREFIXES, single};
use crate::permissions::shell::{Analysis, Scene, Simple, Verdict, Word, analyse, shared};

/// A user in the only workspace folder.
fn scene() -> Scene {
    Scene { workdir: "/w".into(), roots: vec!["/w".into()], home: Some("/home/u".into()) }
}

fn look(line: &str) -> Analysis {
    analyse(line, &scene())
}

/// The rows `verdict | line | a piece of a reason`, as in `grammar.txt`; `network` is one that reads and talks to others.
fn rows() -> Vec<(&'static str, String, &'static str)> {
    let rows = include_str!("../../../../fixtures/shell/lines.txt").lines();
    let rows = rows.filter(|row| !row.is_empty() && !row.starts_with("# "));
    let parsed = rows.map(|row| {
        let (verdict, rest) = row.split_once(" | ").unwrap_or_else(|| panic!("{row}"));
        let (line, reason) = rest.rsplit_once(" | ").unwrap_or_else(|| panic!("{row}"));
        (verdict.trim(), line.trim().replace('⏎', "\n"), reason.trim())
    });
    parsed.collect()
}

fn told(analysis: &Analysis) -> &'static str {
    match verdict(analysis) {
        "reads" if analysis.network => "network",
        verdict => verdict,
    }
}

#[test]
fn every_line_has_its_verdict() {
    let rows = rows();
    let mut wrong = Vec::new();
    for (expected, line, reason) in &rows {
        let analysis = look(line);
        let reasons = analysis.reasons.join("; ");
        let because = if *reason == "-" { reasons.is_empty() } else { reasons.contains(reason) };
        if told(&analysis) != *expected || !because {
            wrong.push(format!("{expected} | {line} | {reason}\n    {} | {reasons}", told(&analysis)));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    let harmless = rows.iter().filter(|(verdict, ..)| *verdict == "reads").count();
    assert!(rows.len() >= 300 && harmless >= 120, "{} {harmless}", rows.len());
}

fn first(simple: &Simple) -> Option<&str> {
    simple.words.first().map(Word::text)
}

/// Where a wrapped line is judged better than the line, or loses a command of it.
fn better(line: &str, inner: &Analysis, wrapped: &str) -> Option<String> {
    let outer = look(wrapped);
    let lost = inner.commands.iter().find(|simple| !outer.commands.iter().any(|other| first(other) == first(simple)));
    let wrong = outer.verdict < inner.verdict || inner.network && !outer.network || lost.is_some();
    wrong.then(|| {
        format!("{line:?} -> {wrapped:?}\n    {:?}\n    {:?}\n    lost: {lost:?}", inner.reasons, outer.reasons)
    })
}

/// Whether what a line does depends on the arguments that the shell itself was given.
fn positional(line: &str) -> bool {
    let signs = |c: char| c.is_ascii_digit() || matches!(c, '@' | '*' | '#' | '!');
    line.split('$').skip(1).any(|rest| rest.trim_start_matches('{').starts_with(signs)) || line.contains("for i;")
}

#[test]
fn no_wrapper_makes_a_line_better() {
    let mut wrong = Vec::new();
    for (turn, (_, line, _)) in rows().into_iter().enumerate() {
        let alone = look(&line);
        if alone.unclear.is_some() || line.trim().is_empty() || positional(&line) || line.contains("{}") {
            continue;
        }
        for wrapper in LINES.iter().skip(turn % 24).step_by(24) {
            wrong.extend(better(&line, &alone, &wrapper.replace('@', &single(&line))));
        }
        // What fails in one line of a text leaves out the rest of that line; in a compound it leaves out all of it.
        if line.contains("<<") || line.contains('\n') {
            continue;
        }
        let inner = if line.contains('#') { format!("{line}\n") } else { line.clone() };
        for compound in COMPOUNDS.iter().skip(turn % 24).step_by(24) {
            wrong.extend(better(&line, &alone, &compound.replace('⏎', "\n").replace('@', &inner)));
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn no_prefix_makes_a_command_better() {
    const OWN: &[&str] = &[
        "cd", "test", "[", "export", "set", "read", "trap", "type", "command", "alias", "jobs", "wait", "!", "time",
        "coproc",
    ];
    let mut wrong = Vec::new();
    for (turn, (_, line, _)) in rows().into_iter().enumerate() {
        let plain = !line.contains([';', '|', '&', '(', '<', '>', '\n', '`', '#', '=', '$', '{', '*']);
        if !plain || OWN.contains(&line.split(' ').next().unwrap_or_default()) {
            continue;
        }
        let alone = look(&line);
        if alone.commands.len() != 1 || alone.unclear.is_some() {
            continue;
        }
        // `script` takes options behind its operands, too.
        let prefixes = PREFIXES.iter().filter(|prefix| **prefix != "script x ");
        for prefix in prefixes.skip(turn % 6).step_by(6) {
            wrong.extend(better(&line, &alone, &format!("{prefix}{line}")));
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn one_consent_covers_no_line_that_runs_something_else() {
    for (line, others) in [
        (
            "cargo build",
            &[
                "cargo build --config 'build.rustc=\"x\"'",
                "cargo build --config=x",
                "cargo build --manifest-path /tmp/x/Cargo.toml",
                "cargo build --manifest-path ../x/Cargo.toml",
                "cargo build -Zx",
                "cd /tmp/x && cargo build",
                "cargo build --target-dir /etc",
            ][..],
        ),
        (
            "make",
            &[
                "make -f x",
                "make -C x",
                "make SHELL=./x",
                "make --eval='$(shell x)'",
                "make -kC x",
                "make --directory=x",
            ],
        ),
        (
            "npm test",
            &["npm test --prefix x", "npm test --script-shell=./x", "npm test -C x", "npm test --node-options=x"],
        ),
        ("npm run dev", &["npm run dev --prefix ../x", "npm run dev --script-sh ./x", "npm run build"]),
        ("go test", &["go test -exec ./x", "go test --toolexec=./x", "go test -overlay x", "go test -C x"]),
        ("git push", &["git push --receive-pack=x", "git push --exec=x", "git push --rec x", "git push https://x/y"]),
        ("git merge x", &["git merge -s x y", "git merge --strategy=x y"]),
        ("git fetch", &["git fetch --upload-pack=x", "git fetch --upload x", "git fetch ext::x", "git fetch ../x"]),
        (
            "python3 -m pytest",
            &[
                "python3 -m pytest -p x",
                "python3 -m pytest -c x",
                "python3 -m pytest --rootdir=x",
                "python3 -m pytest ../x",
            ],
        ),
        ("pnpm test", &["pnpm test -C x", "pnpm test --dir x"]),
        ("bun test", &["bun test --preload ./x", "bun test --cwd x"]),
    ] {
        let covered = shared(line, &scene());
        assert!(covered.is_some(), "{line}");
        for other in others {
            assert_ne!(shared(other, &scene()), covered, "{other}");
        }
    }
    for line in ["npm install x", "pip install x", "go run x.go", "docker run x", "deno run x", "yarn workspace a test"]
    {
        assert_eq!(shared(line, &scene()), None, "{line}");
    }
    for line in ["cargo test -p a -- --nocapture", "git push -u origin main", "npm test -- -t name", "make -j8 all"] {
        assert!(shared(line, &scene()).is_some_and(|all| all.len() == 1), "{line}");
    }
}

#[test]
fn copies_tell_the_files_and_the_machines() {
    #[track_caller]
    fn check(line: &str, reads: &[&str], writes: &[&str], hosts: &[&str]) {
        let found = look(line);
        let asked: Vec<&str> = found.reads.iter().map(|touched| touched.asked.as_str()).collect();
        let changed: Vec<&str> = found.writes.iter().map(|touched| touched.asked.as_str()).collect();
        assert_eq!((asked, changed), (reads.to_vec(), writes.to_vec()), "{line}");
        assert_eq!((found.hosts, found.network), (hosts.iter().map(|&host| host.to_owned()).collect(), true), "{line}");
    }
    check("scp a host:b", &["a"], &[], &["host"]);
    check("scp .env me@host:", &[".env"], &[], &["host"]);
    check("scp host:b a", &[], &["a"], &["host"]);
    check("sftp -b orders me@host:x y", &["orders"], &["y"], &["host"]);
}

#[test]
fn a_table_of_commands_tells_the_files_that_it_may_be() {
    for (line, reads) in [
        ("crontab jobs", &["jobs"][..]),
        ("crontab -u me jobs", &["jobs"]),
        ("crontab .env x", &[".env", "x"]),
        ("crontab jobs -u me", &["jobs"]),
        ("crontab -u me -e", &[]),
        ("crontab -", &[]),
    ] {
        let asked: Vec<String> = look(line).reads.into_iter().map(|touched| touched.asked).collect();
        assert_eq!(asked, reads, "{line}");
    }
}

#[test]
fn a_line_of_a_megabyte_is_answered() {
    for piece in ["ls; ", "x[a[", "declare x=("] {
        let analysis = look(&piece.repeat((1 << 20) / piece.len()));
        assert!(analysis.unclear.is_some() && analysis.verdict >= Verdict::NeedsApproval, "{piece:?}");
    }
    // As long as is looked into.
    for piece in ["((a+1)); ", "x=$((1/0))\n", "for i in *; do break; done\n"] {
        look(&piece.repeat((60 << 10) / piece.len()));
    }
}
