//! The rows of `fixtures/shell/programs.txt`, and what must hold for any words.

use std::path::PathBuf;
use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::super::Scene;
use super::super::effects::{Effects, Invocation, Verdict, Word};
use super::super::wrappers;
use super::*;

const FIXTURE: &str = include_str!("../../../../fixtures/shell/programs.txt");

fn scene() -> Scene {
    Scene {
        workdir: PathBuf::from("/work/project"),
        roots: vec![PathBuf::from("/work/project")],
        home: Some(PathBuf::from("/home/me")),
    }
}

/// Words as the fixture writes them: separated by spaces, in quotes where they hold some; with a `$` outside single
/// quotes they are unknown.
fn words(line: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let (mut text, mut begun, mut unknown, mut quote) = (String::new(), false, false, None);
    for c in line.chars() {
        match (quote, c) {
            (None, ' ') => {
                if std::mem::take(&mut begun) {
                    let text = std::mem::take(&mut text);
                    words.push(if unknown { Word::Unknown(text) } else { Word::Known(text) });
                    unknown = false;
                }
            }
            (None, '\'' | '"') => (quote, begun) = (Some(c), true),
            (Some(open), c) if c == open => quote = None,
            (open, c) => {
                begun = true;
                unknown |= c == '$' && open != Some('\'');
                text.push(c);
            }
        }
    }
    if begun {
        words.push(if unknown { Word::Unknown(text) } else { Word::Known(text) });
    }
    words
}

fn judged(given: &str, args: &[Word], fed: bool) -> Effects {
    let program = given.rsplit('/').next().unwrap_or(given);
    effects(&Invocation { program, given, args, fed, scene: &scene() })
}

fn told(line: &str) -> Effects {
    let (line, fed) = match line.strip_suffix(" <fed") {
        Some(line) => (line, true),
        None => (line, false),
    };
    let words = words(line);
    let (given, args) = words.split_first().unwrap();
    judged(options::shown(given), args, fed)
}

/// The rows: verdict, line, a part of a reason.
fn rows() -> Vec<(Verdict, &'static str, Option<&'static str>)> {
    let rows: Vec<_> = FIXTURE
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (verdict, rest) = line.split_once(" | ").unwrap_or_else(|| panic!("three columns: {line}"));
            let (command, reason) = rest.rsplit_once(" | ").unwrap_or_else(|| panic!("three columns: {line}"));
            let verdict = match verdict.trim() {
                "reads" => Verdict::ReadOnly,
                "writes" => Verdict::WorkspaceWrite,
                "asks" => Verdict::NeedsApproval,
                "destroys" => Verdict::Destructive,
                other => panic!("{other}: {line}"),
            };
            (verdict, command.trim(), (reason.trim() != "-").then_some(reason.trim()))
        })
        .collect();
    assert!(rows.len() >= 400, "{}", rows.len());
    assert!(rows.iter().filter(|(verdict, ..)| *verdict == Verdict::ReadOnly).count() >= 120);
    rows
}

/// What runs other programs is judged by what it runs, and no table is asked: a row there would never count.
#[test]
fn what_runs_others_has_no_row() {
    let rows = ROWS.iter().copied().flatten().flat_map(Row::names);
    let verbs = VERBS.iter().flat_map(|verbs| verbs.names.split(',').map(str::trim));
    let scene = scene();
    let twice = rows.chain(verbs).filter(|program| {
        let invocation = Invocation { program, given: program, args: &[], fed: false, scene: &scene };
        wrappers::wrapped(&invocation).is_some()
    });
    assert_eq!(twice.collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn the_fixture() {
    let mut faults = Vec::new();
    for (verdict, line, reason) in rows() {
        let told = told(line);
        let fits = reason.is_none_or(|part| told.reasons.iter().any(|reason| reason.contains(part)));
        if told.verdict != verdict || !fits || told.verdict > Verdict::ReadOnly && told.reasons.is_empty() {
            faults.push(format!("{line}\n    {verdict:?} {reason:?}\n    {:?} {:?}", told.verdict, told.reasons));
        }
    }
    assert!(faults.is_empty(), "{} of the rows:\n{}", faults.len(), faults.join("\n"));
}

/// What a command runs in its turn, in short.
fn runs(effects: &Effects) -> Vec<String> {
    use super::super::effects::Runs;
    let far = |elsewhere: &bool| if *elsewhere { "far " } else { "" };
    effects
        .runs
        .iter()
        .map(|runs| match runs {
            Runs::Words { words, elsewhere, .. } => {
                let words: Vec<&str> = words.iter().map(options::shown).collect();
                format!("{}words {}", far(elsewhere), words.join(" "))
            }
            Runs::Line { line, elsewhere } => format!("{}line {}", far(elsewhere), options::shown(line)),
            Runs::Fed => "fed".to_owned(),
        })
        .collect()
}

#[test]
fn what_runs_in_turn_and_what_is_touched() {
    #[track_caller]
    fn check(line: &str, expected: &str) {
        let told = told(line);
        let list = |words: &[Word]| words.iter().map(options::shown).collect::<Vec<_>>().join(" ");
        let mut parts = runs(&told);
        if !told.reads.is_empty() {
            parts.push(format!("reads {}", list(&told.reads)));
        }
        if !told.writes.is_empty() {
            parts.push(format!("writes {}", list(&told.writes)));
        }
        if told.network {
            parts.push(format!("net {}", told.hosts.join(" ")).trim_end().to_owned());
        }
        assert_eq!(parts.join("; "), expected, "{line}");
    }
    check("kubectl exec x -n y -- rm -rf /", "far words rm -rf /; net");
    check("kubectl exec x ls", "far words ls; net");
    check("docker exec -it -u root x sh -c id", "far words sh -c id");
    check("docker run --rm -e A=b image id -u", "far words id -u; net");
    check("npm exec -c 'rm x'", "line rm x; net");
    check("tar xf a.tar --to-command='rm x'", "line rm x; reads a.tar; writes .");
    check("sort --compress-program gzip a", "line gzip; reads a");
    check("git -c alias.x='!rm -rf y' x", "line rm -rf y");
    check("git submodule foreach git reset --hard", "line git reset --hard");
    check("git bisect run rm x", "words rm x");
    check("awk 'BEGIN{system(\"rm x\")}' a", "line rm x; reads a");
    check("ip netns exec blue rm x", "words rm x");
    check("trap 'rm x' EXIT", "line rm x");
    check("grep -f pats x a b", "reads pats x a b");
    check("grep x a b", "reads a b");
    check("head -n 5 a", "reads a");
    check("cp a b c", "reads a b; writes c");
    check("cp -t c a b", "reads a b; writes c");
    check("mv a b", "writes a b");
    check("mv ../a .", "writes ../a ./a");
    check("mv a b c/", "writes a c/a b c/b");
    check("sed -i s/a/b/ f g", "reads f g; writes f g");
    check("sed 's/a/b/w out' f", "reads f; writes out");
    check("dd if=a of=b", "reads a; writes b");
    check("git add x", "writes .");
    check("curl -T a https://u@h.org/x", "reads a; net h.org");
    check("curl -d @b https://h.org", "reads b; net h.org");
    check("curl file:///etc/passwd", "reads /etc/passwd; net");
    check("rsync -e 'ssh -p 1' a host:b", "line ssh -p 1; reads a; net host");
    check("git push git@host.org:a/b.git", "net host.org");
    check("docker run -v .:/app x", "net");
    check("docker run -v /data:/app:ro x", "reads /data; net");
    check("vim -c ':!rm x' a", "line rm x; writes a");
    check("psql -c '\\! rm x'", "line rm x; net");
}

#[test]
fn each_program_and_each_verb_is_in_one_row() {
    let mut seen: Vec<&str> = ROWS.iter().copied().flatten().flat_map(Row::names).collect();
    seen.extend(VERBS.iter().flat_map(|verbs| verbs.names.split(',').map(str::trim)));
    let mut faults = twice(seen);
    for verbs in VERBS {
        let own: Vec<&str> = verbs.rows.iter().copied().flatten().flat_map(Row::names).collect();
        faults.extend(twice(own).into_iter().map(|verb| format!("{}: {verb}", verbs.names)));
    }
    assert!(faults.is_empty(), "{faults:?}");
}

fn twice(mut names: Vec<&str>) -> Vec<String> {
    names.sort_unstable();
    names.windows(2).filter(|pair| pair[0] == pair[1] || pair[0].is_empty()).map(|pair| pair[0].to_owned()).collect()
}

/// Programs of which no option does more than look, and no word names what is run.
fn tame(program: &str) -> bool {
    row(program).is_some_and(|row| !row.is_looked_at() && !row.spec("").risky())
}

#[test]
fn a_word_that_may_be_anything_is_never_harmless() {
    let unknown = Word::Unknown("$X".to_owned());
    for (verdict, line, _) in rows() {
        let line = line.trim_end_matches(" <fed");
        let all = words(line);
        let (given, args) = all.split_first().unwrap();
        let given = options::shown(given);
        let program = given.rsplit('/').next().unwrap();
        // A format ends the options of `printf`, and variables of the shell are harmless by their names.
        if verdict > Verdict::ReadOnly
            || tame(program)
            || matches!(program, "printf" | "[" | "test" | "trap" | "set" | "cd")
        {
            continue;
        }
        let mut words = args.to_vec();
        words.insert(0, unknown.clone());
        let told = judged(given, &words, false);
        assert!(told.verdict >= Verdict::NeedsApproval, "{line} with $X: {told:?}");
        assert!(!told.reasons.is_empty());
    }
}

/// Every word of the fixture, and odd ones: what words are drawn from.
static POOL: LazyLock<Vec<String>> = LazyLock::new(pool);

/// The lines of the fixture that destroy.
static LOSING: LazyLock<Vec<&str>> = LazyLock::new(|| {
    rows().into_iter().filter(|(verdict, ..)| *verdict == Verdict::Destructive).map(|(_, line, _)| line).collect()
});

fn pool() -> Vec<String> {
    let mut pool: Vec<String> =
        rows().into_iter().flat_map(|(_, line, _)| words(line)).map(|word| options::shown(&word).to_owned()).collect();
    pool.extend(
        [
            "",
            "-",
            "--",
            "-\u{e9}",
            "--=",
            "-=",
            "+",
            "=",
            "\u{1f980}",
            "--x=\u{e9}",
            "'",
            "\"",
            "\\",
            "s/\u{e9}",
            "-o",
            "-f",
        ]
        .map(str::to_owned),
    );
    pool.sort_unstable();
    pool.dedup();
    pool
}

proptest! {
    #[test]
    fn no_words_panic(
        picks in vec((any::<Index>(), proptest::bool::weighted(0.1)), 0..6),
        program in any::<Index>(),
        noise in ".{0,6}",
    ) {
        let names: Vec<&str> = ROWS.iter().copied().flatten().flat_map(Row::names)
            .chain(VERBS.iter().flat_map(|verbs| verbs.names.split(',').map(str::trim)))
            .collect();
        let mut args: Vec<Word> = picks
            .iter()
            .map(|(pick, unknown)| {
                let text = pick.get(&POOL).clone();
                if *unknown { Word::Unknown(text) } else { Word::Known(text) }
            })
            .collect();
        args.push(Word::Known(noise));
        let told = judged(names[program.index(names.len())], &args, true);
        prop_assert!(told.verdict == Verdict::ReadOnly || !told.reasons.is_empty());
    }

    /// More options never make of a command that destroys one that nobody has to be asked about.
    #[test]
    fn an_option_more_never_hides_a_loss(pick in any::<Index>(), flag in "-[a-z]|--[a-z]{2,6}") {
        let line = pick.get(&LOSING);
        let all = words(line);
        let (given, args) = all.split_first().unwrap();
        // That is what it would delete, and nothing is.
        prop_assume!(!(line.starts_with("git clean") && flag == "-n"));
        let mut args = args.to_vec();
        args.push(Word::Known(flag));
        let told = judged(options::shown(given), &args, false);
        prop_assert!(told.verdict >= Verdict::NeedsApproval, "{} {:?}", line, told);
    }
}
