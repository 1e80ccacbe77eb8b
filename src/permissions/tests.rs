//! The decision on calls: on reads and writes; on command lines, mode by verdict, trust and rule; and what no rule may do to
//! any decision.

use super::shell::Verdict;
use super::*;
use proptest::prelude::*;

/// Commands that only read, in these tests.
const READS: &[&str] = &["ls", "cat", "echo"];

const MODES: [Mode; 5] = [Mode::Danger, Mode::Build, Mode::Review, Mode::Plan, Mode::Explore];

pub(super) fn rules(allow: &[&str], ask: &[&str], deny: &[&str]) -> Rules {
    let owned = |rules: &[&str]| rules.iter().map(|&rule| rule.to_owned()).collect::<Vec<_>>();
    Rules::read(&owned(allow), &owned(ask), &owned(deny))
}

pub(super) fn policy(mode: Mode) -> Policy {
    let bases = Bases { folders: vec![PathBuf::from("/w")], home: None };
    Policy { mode, ceiling: mode, bases, ..Policy::default() }
}

fn line(line: &str, verdict: Verdict) -> Line {
    Line::played(line, verdict, READS)
}

fn run(line: Line) -> Reach {
    let hosts = line.analysis.hosts.clone();
    Reach { lines: vec![line], hosts, ..Reach::default() }
}

fn place(path: &str) -> Place {
    let unknown = path.starts_with('$');
    let paths = if unknown { vec![] } else { vec![PathBuf::from(path)] };
    Place { asked: path.to_owned(), paths, inside: path.starts_with("/w/") }
}

fn reads(line: Line, path: &str) -> Reach {
    Reach { reads: vec![place(path)], ..run(line) }
}

fn writes(line: Line, path: &str) -> Reach {
    Reach { writes: vec![place(path)], ..run(line) }
}

fn decided(reach: &Reach, policy: &Policy) -> DecisionKind {
    judge("bash", Rule::Shell, reach, policy).decision
}

#[test]
fn commands_by_verdict_and_mode() {
    use DecisionKind::{Allow, Ask, Deny};
    use Verdict::{Destructive, NeedsApproval, ReadOnly, WorkspaceWrite};
    let looks = || line("ls", ReadOnly);
    let distrusted = |verdict| Line { untrusted: Some("/w".into()), ..line("ls", verdict) };
    let mut network = looks();
    network.analysis.network = true;
    let mut named = line("curl x", NeedsApproval);
    named.analysis.network = true;
    named.analysis.hosts = vec!["example.org".into()];
    let mut secret = looks();
    secret.analysis.secrets = vec![".env".into()];
    let program = |hash: Option<&str>| Program { path: "/w/x.sh".into(), hash: hash.map(str::to_owned) };
    let script = |hash| Line { programs: vec![program(hash)], ..line("/w/x.sh", NeedsApproval) };
    for (reach, decisions, singly) in [
        //                                        danger build review plan explore
        (run(looks()), [Allow; 5], false),
        (reads(looks(), "/w/src/a"), [Allow; 5], false),
        (reads(looks(), "/etc/passwd"), [Allow, Ask, Ask, Ask, Ask], false),
        (reads(looks(), "$file"), [Allow, Ask, Ask, Ask, Ask], false),
        (reads(looks(), "/w/.env"), [Allow, Ask, Ask, Ask, Ask], true),
        (run(secret), [Allow, Ask, Ask, Ask, Ask], true),
        (run(network), [Allow, Ask, Ask, Ask, Ask], false),
        (run(named), [Allow, Ask, Ask, Deny, Deny], false),
        (writes(line("mkdir a", WorkspaceWrite), "/w/a"), [Allow, Ask, Ask, Deny, Deny], false),
        (writes(line("mkdir a", WorkspaceWrite), "/a"), [Allow, Ask, Ask, Deny, Deny], false),
        (writes(line("echo a", WorkspaceWrite), "/w/.git/config"), [Ask, Ask, Ask, Deny, Deny], true),
        (writes(line("echo a", WorkspaceWrite), "/home/me/.bashrc"), [Ask, Ask, Ask, Deny, Deny], true),
        (run(line("make", NeedsApproval)), [Allow, Ask, Ask, Deny, Deny], false),
        (run(script(Some("1234"))), [Allow, Ask, Ask, Deny, Deny], false),
        (run(script(None)), [Allow, Ask, Ask, Deny, Deny], true),
        (run(line("rm -rf /", Destructive)), [Allow, Ask, Ask, Deny, Deny], true),
        (run(Line::unclear("ls \"")), [Allow, Ask, Ask, Deny, Deny], true),
        // Not understood, and it names a protected place.
        (run(Line::unclear("cat > .git/hooks/post-commit <<\"")), [Ask, Ask, Ask, Deny, Deny], true),
        // Nothing runs where nobody trusts it, whatever it is and whatever mode.
        (run(distrusted(ReadOnly)), [Deny; 5], true),
        (run(distrusted(NeedsApproval)), [Deny; 5], true),
        // A monitor that is read, listed or stopped.
        (Reach::default(), [Allow; 5], false),
    ] {
        assert_eq!(MODES.map(|mode| decided(&reach, &policy(mode))), decisions, "{reach:?}");
        let judged = judge("bash", Rule::Shell, &reach, &policy(Mode::Build));
        assert_eq!((judged.singly, judged.reason.is_empty()), (singly, false), "{}: {reach:?}", judged.reason);
    }
    let distrusted = judge("bash", Rule::Shell, &run(distrusted(ReadOnly)), &policy(Mode::Build));
    assert!(distrusted.reason.contains("/w is not trusted") && distrusted.by == By::Trust, "{}", distrusted.reason);
}

#[test]
fn commands_by_rule() {
    use DecisionKind::{Allow, Ask, Deny};
    use Verdict::{Destructive, NeedsApproval, ReadOnly, WorkspaceWrite};
    let needs = |text| line(text, NeedsApproval);
    for (allow, ask, deny, reach, decisions) in [
        // allow, ask, deny; in build and in review mode
        (&["bash(npm test:*)"][..], &[][..], &[][..], run(needs("npm test -- -w")), [Allow, Allow]),
        (&["bash"], &[], &[], run(needs("make")), [Allow, Allow]),
        (&["bash(npm test:*)"], &[], &[], run(needs("npm test && make")), [Ask, Ask]),
        (&["bash(npm test:*)", "bash(make)"], &[], &[], run(needs("npm test && make")), [Allow, Allow]),
        (&["bash(npm test:*)"], &[], &[], run(needs("ls && npm test | cat")), [Allow, Allow]),
        // What a redirection writes: in the workspace folders by the command that is allowed, elsewhere by nothing.
        (&["bash(npm test:*)"], &[], &[], writes(needs("npm test"), "/w/out.txt"), [Allow, Allow]),
        (&["bash(npm test:*)"], &[], &[], writes(needs("npm test"), "/out.txt"), [Ask, Ask]),
        (&["bash(npm test:*)", "bash(//out.txt)"], &[], &[], writes(needs("npm test"), "/out.txt"), [Allow, Allow]),
        (&["bash(npm test:*)"], &[], &[], writes(needs("npm test"), "/w/.git/x"), [Ask, Ask]),
        (&["bash(npm test:*)"], &[], &[], writes(line("echo x", WorkspaceWrite), "/w/out.txt"), [Ask, Ask]),
        (&["bash(//etc/**)"], &[], &[], reads(line("cat /etc/a", ReadOnly), "/etc/a"), [Allow, Allow]),
        // Nothing opens what is grave.
        (&["bash", "bash(rm:*)", "*"], &[], &[], run(line("rm -rf a", Destructive)), [Ask, Ask]),
        (&["bash"], &[], &[], run(Line::unclear("npm test \"")), [Ask, Ask]),
        (&["bash"], &[], &[], reads(line("cat /w/.env", ReadOnly), "/w/.env"), [Ask, Ask]),
        // Ask and deny hold for one command among others, and over what is allowed.
        (&["bash"], &["bash(make:*)"], &[], run(needs("npm test && make")), [Ask, Ask]),
        (&["bash"], &[], &["bash(make:*)"], run(needs("npm test && make")), [Deny, Deny]),
        (&[], &["bash(ls:*)"], &[], run(line("ls", ReadOnly)), [Ask, Ask]),
        (&[], &[], &["bash(./secret/**)"], reads(line("cat a", ReadOnly), "/w/secret/a"), [Deny, Deny]),
        (&[], &[], &["*(secret)"], reads(line("cat a", ReadOnly), "/w/secret/a"), [Deny, Deny]),
        // A command's name is no path.
        (&[], &[], &["bash(make)"], reads(line("cat make", ReadOnly), "/w/make"), [Allow, Allow]),
        (
            &["bash"],
            &[],
            &["bash(domain:evil.org)"],
            Reach { hosts: vec!["a.evil.org".into()], ..run(needs("curl")) },
            [Deny, Deny],
        ),
    ] {
        let with = |mode| Policy { user: rules(allow, ask, deny), ..policy(mode) };
        assert_eq!(
            [Mode::Build, Mode::Review].map(|mode| decided(&reach, &with(mode))),
            decisions,
            "{allow:?} {reach:?}"
        );
    }
    // The reason names the rules.
    let both = Policy { user: rules(&["bash(npm test:*)", "bash(make)"], &[], &[]), ..policy(Mode::Build) };
    let judged = judge("bash", Rule::Shell, &run(needs("npm test && make")), &both);
    assert_eq!(judged.reason, "the rules bash(make), bash(npm test:*) allow it");
    // While rules cannot be read, nothing runs that they may have been about.
    let broken = Policy { user: rules(&[], &[], &["bash("]), ..policy(Mode::Danger) };
    assert_eq!(decided(&run(line("ls", ReadOnly)), &broken), Deny);
}

#[test]
fn a_credential_is_asked_about_where_it_leaves() {
    use DecisionKind::{Allow, Ask};
    let carrying = |reach: Reach| Reach { credential: Some("a GitHub token"), ..reach };
    let mut sends = line("curl x", Verdict::NeedsApproval);
    sends.analysis.network = true;
    let write = |path: &str| Reach { writes: vec![place(path)], ..Reach::default() };
    let all = Policy { user: rules(&["bash", "write"], &[], &[]), ..policy(Mode::Build) };
    for (tool, rule, reach, decision) in [
        ("bash", Rule::Shell, run(sends.clone()), Allow),
        ("bash", Rule::Shell, carrying(run(sends)), Ask),
        ("write", Rule::Write, carrying(write("/w/a")), Allow),
        ("write", Rule::Write, write("/out/a"), Allow),
        ("write", Rule::Write, carrying(write("/out/a")), Ask),
    ] {
        let judged = judge(tool, rule, &reach, &all);
        assert_eq!(judged.decision, decision, "{reach:?}");
        assert_eq!(judged.singly, decision == Ask);
    }
}

#[test]
fn plan_mode_is_left_by_a_persons_word_alone() {
    use DecisionKind::{Allow, Ask};
    for (mode, decision) in MODES.into_iter().zip([Allow, Allow, Allow, Ask, Allow]) {
        let all = Policy { user: rules(&["*", "plan_exit"], &[], &[]), ..policy(mode) };
        let judged = judge("plan_exit", Rule::Plan, &Reach::default(), &all);
        assert_eq!(judged.decision, decision, "{mode:?}: {}", judged.reason);
    }
    // The person lets everything pass, and the session planned all the same.
    let planned = Policy { ceiling: Mode::Danger, user: rules(&["*"], &[], &[]), ..policy(Mode::Plan) };
    assert_eq!(judge("plan_exit", Rule::Plan, &Reach::default(), &planned).decision, Ask);
}

#[test]
fn the_settings_of_a_folder_only_hold_back() {
    use DecisionKind::{Allow, Ask, Deny};
    let project = rules(&["*", "bash"], &["read(docs/**)"], &["bash(git push:*)"]);
    let with = Policy { project, ..policy(Mode::Build) };
    let read = |path: &str| Reach { reads: vec![place(path)], ..Reach::default() };
    for (tool, rule, reach, decision) in [
        ("bash", Rule::Shell, run(line("make", Verdict::NeedsApproval)), Ask),
        ("bash", Rule::Shell, run(line("git push", Verdict::NeedsApproval)), Deny),
        ("read", Rule::Read, read("/w/docs/a"), Ask),
        ("read", Rule::Read, read("/w/a"), Allow),
        ("read", Rule::Read, read("/etc/a"), Ask),
    ] {
        assert_eq!(judge(tool, rule, &reach, &with).decision, decision, "{tool} {reach:?}");
    }
}

/// Calls of all kinds.
fn calls() -> impl Strategy<Value = (&'static str, Rule, Reach)> {
    let path =
        prop_oneof![Just("/w/a"), Just("/w/.git/x"), Just("/w/.env"), Just("/etc/a"), Just("/w/src/b"), Just("$x")];
    let verdict = prop_oneof![
        Just(Verdict::ReadOnly),
        Just(Verdict::WorkspaceWrite),
        Just(Verdict::NeedsApproval),
        Just(Verdict::Destructive)
    ];
    let text =
        prop_oneof![Just("ls"), Just("make"), Just("npm test"), Just("ls && make"), Just("make | rm x"), Just("$c x")];
    let line =
        (text, verdict, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(text, verdict, clear, net, trust)| {
            let mut line = if clear { line(text, verdict) } else { Line::unclear(text) };
            line.analysis.network = net;
            Line { untrusted: (!trust).then(|| "/w".into()), ..line }
        });
    let shell = (proptest::collection::vec(line, 0..2), path.clone(), any::<u8>()).prop_map(|(lines, path, way)| {
        let mut reach = Reach { lines, ..Reach::default() };
        match way % 3 {
            0 => reach.reads.push(place(path)),
            1 => reach.writes.push(place(path)),
            _ => {}
        }
        ("bash", Rule::Shell, reach)
    });
    let other = (path, any::<bool>()).prop_map(|(path, writes)| {
        if writes {
            ("write", Rule::Write, Reach { writes: vec![place(path)], ..Reach::default() })
        } else {
            ("read", Rule::Read, Reach { reads: vec![place(path)], ..Reach::default() })
        }
    });
    let unknown = Just(("mcp__a__b", Rule::Unknown, Reach::default()));
    prop_oneof![3 => shell, 2 => other, 1 => unknown]
}

fn lists() -> impl Strategy<Value = [Vec<String>; 3]> {
    let rule = prop_oneof![
        Just("*"),
        Just("bash"),
        Just("bash(make)"),
        Just("bash(ls:*)"),
        Just("bash(npm test:*)"),
        Just("write(src/**)"),
        Just("read(//etc/**)"),
        Just("*(a)"),
        Just("mcp__a"),
        Just("bash(broken"),
    ];
    let list = proptest::collection::vec(rule.prop_map(str::to_owned), 0..3);
    (list.clone(), list.clone(), list).prop_map(|(allow, ask, deny)| [allow, ask, deny])
}

fn mode() -> impl Strategy<Value = Mode> {
    (0..MODES.len()).prop_map(|at| MODES[at])
}

/// How much it lets pass.
fn looseness(decision: DecisionKind) -> u8 {
    match decision {
        DecisionKind::Allow => 2,
        DecisionKind::Ask => 1,
        DecisionKind::Deny => 0,
    }
}

proptest! {
    #[test]
    fn nothing_loosens(
        (tool, rule, reach) in calls(),
        user in lists(),
        session in lists(),
        project in lists(),
        ceiling in mode(),
        mode in mode(),
        more in lists(),
    ) {
        prop_assume!(mode.strictness() >= ceiling.strictness());
        let read = |[allow, ask, deny]: &[Vec<String>; 3]| Rules::read(allow, ask, deny);
        let base = Policy { user: read(&user), ceiling, mode, ..policy(mode) };
        let decide = |policy: &Policy| judge(tool, rule, &reach, policy).decision;
        let usual = looseness(decide(&base));
        // Whatever a session asks for, beyond the mode of its own: never looser than the user alone would have it.
        let alone = Policy { mode: ceiling, ..base.clone() };
        let asked = Policy { session: read(&session), ..base.clone() };
        let (asked, alone) = (decide(&asked), decide(&alone));
        prop_assert!(looseness(asked) <= looseness(alone));
        // Whatever the settings of a folder say.
        let with_project = Policy { project: read(&project), ..base.clone() };
        let held = decide(&with_project);
        prop_assert!(looseness(held) <= usual);
        // One more deny rule.
        let mut denying = user;
        denying[2].extend(more[2].iter().cloned());
        let denied = decide(&Policy { user: read(&denying), ..base.clone() });
        prop_assert!(looseness(denied) <= usual);
        // What holds for all: nothing changes in plan and explore mode, nothing runs without trust, and no mode or rule
        // lets a protected place be written.
        let decision = decide(&base);
        prop_assert!(!judge(tool, rule, &reach, &base).reason.is_empty(), "every decision is explained");
        let changes = rule == Rule::Unknown || !reach.writes.is_empty()
            || reach.lines.iter().any(|line| line.analysis.verdict != Verdict::ReadOnly || line.analysis.unclear.is_some());
        if matches!(mode, Mode::Plan | Mode::Explore) && changes {
            prop_assert_eq!(decision, DecisionKind::Deny);
        }
        if reach.lines.iter().any(|line| line.untrusted.is_some()) {
            prop_assert_eq!(decision, DecisionKind::Deny);
        }
        if reach.writes.iter().any(|place| place.asked.contains(".git")) {
            prop_assert_ne!(decision, DecisionKind::Allow);
        }
    }
}

fn inside(asked: &str) -> Place {
    Place { asked: asked.to_owned(), paths: vec![Path::new("/w").join(asked)], inside: true }
}

fn outside(asked: &str) -> Place {
    Place { asked: asked.to_owned(), paths: vec![PathBuf::from(asked)], inside: false }
}

fn unnamed() -> Place {
    Place { asked: "untitled:1".to_owned(), paths: vec![], inside: true }
}

fn linked(asked: &str, path: &str) -> Place {
    Place { asked: asked.to_owned(), paths: vec![PathBuf::from(path)], inside: true }
}

#[test]
fn the_table_is_sorted() {
    assert!(RULES.is_sorted_by(|(a, _), (b, _)| a < b));
    assert_eq!(Rule::of("nobody_knows"), Rule::Unknown);
}

#[test]
fn reads_by_place() {
    use DecisionKind::{Allow, Ask};
    for (place, decision, risk) in [
        (inside("src/main.rs"), Allow, Risk::Low),
        (unnamed(), Allow, Risk::Low),
        (inside(".git/config"), Allow, Risk::Low),
        (inside(".env"), Ask, Risk::High),
        (inside("deploy/server.PEM"), Ask, Risk::High),
        (linked("notes.txt", "/w/.env.local"), Ask, Risk::High),
        (linked(".env", "/w/notes.txt"), Ask, Risk::High),
        (outside("/etc/passwd"), Ask, Risk::Medium),
        (outside("/home/me/.ssh/id_rsa"), Ask, Risk::High),
    ] {
        let judged =
            judge("t", Rule::Read, &Reach { reads: vec![place.clone()], ..Reach::default() }, &Policy::default());
        assert_eq!((judged.decision, judged.risk), (decision, risk), "{place:?}: {}", judged.reason);
    }
}

#[test]
fn writes_by_place() {
    use DecisionKind::{Allow, Ask};
    for (place, decision, singly) in [
        (inside("src/main.rs"), Allow, false),
        (unnamed(), Allow, false),
        (inside(".github/workflows/ci.yml"), Allow, false),
        (outside("/etc/passwd"), Ask, false),
        (inside(".git/hooks/pre-commit"), Ask, true),
        (inside(".GIT/config"), Ask, true),
        (inside(".g\u{200c}it/config"), Ask, true),
        (inside("sub/.vscode/tasks.json"), Ask, true),
        (linked("notes.txt", "/w/.git/config"), Ask, true),
        (linked(".envrc", "/w/elsewhere"), Ask, true),
        (inside(".env"), Ask, true),
        (outside("/home/me/.bashrc"), Ask, true),
        (Place { asked: "file:///w/%2Egit/config".to_owned(), ..unnamed() }, Ask, true),
        (Place { asked: "untitled:.bashrc".to_owned(), ..unnamed() }, Ask, true),
        (Place { asked: "untitled:%2Ebashrc?q#f".to_owned(), ..unnamed() }, Ask, true),
        (Place { asked: "untitled:%252Ebashrc".to_owned(), ..unnamed() }, Allow, false),
        (Place { paths: vec!["/w/a".into(), "/w/.git/config".into()], ..inside("a") }, Ask, true),
    ] {
        let judged =
            judge("t", Rule::Write, &Reach { writes: vec![place.clone()], ..Reach::default() }, &Policy::default());
        assert_eq!((judged.decision, judged.singly), (decision, singly), "{place:?}: {}", judged.reason);
    }
    // One bad place among good ones decides.
    let reach = Reach { writes: vec![inside("a"), inside(".mcp.json"), inside("b")], ..Reach::default() };
    assert_eq!(judge("t", Rule::Write, &reach, &Policy::default()).decision, Ask);
}

#[test]
fn what_we_remember_is_protected_whatever_it_is_called() {
    use DecisionKind::{Allow, Ask};
    for (path, decision) in [("/home/me/state/ours/db", Ask), ("/home/me/state/other", Allow)] {
        let reach = Reach { writes: vec![outside(path)], ..Reach::default() };
        let policy = Policy { state: Some("/home/me/state/ours".into()), ..policy(Mode::Danger) };
        assert_eq!(judge("write", Rule::Write, &reach, &policy).decision, decision, "{path}");
    }
}

#[test]
fn the_users_own_settings_are_protected_wherever_they_are() {
    use DecisionKind::{Allow, Ask};
    let own = vec![PathBuf::from("/home/me/dotfiles/Ropewalk.json"), PathBuf::from("/home/me/.config/r/settings.json")];
    for (path, decision) in [
        ("/home/me/dotfiles/Ropewalk.json", Ask),
        ("/home/me/.config/r/settings.json", Ask),
        ("/home/me/dotfiles/ropewalk.JSON", Ask),
        ("/home/me/dotfiles/other.json", Allow),
    ] {
        let reach = Reach { writes: vec![outside(path)], ..Reach::default() };
        let policy = Policy { own: own.clone(), ..policy(Mode::Danger) };
        let judged = judge("write", Rule::Write, &reach, &policy);
        assert_eq!((judged.decision, judged.singly), (decision, decision == Ask), "{path}");
    }
}

/// What happens, the changes of trust that it is, and why a call does not start then.
type Cases = Vec<(&'static str, Vec<Box<dyn Fn(&Trust)>>, Option<&'static str>)>;

#[test]
fn what_was_judged_under_one_grant_does_not_start_under_another() {
    let set = |root: &'static str, trusted| move |trust: &Trust| trust.set(Path::new(root), trusted);
    let cases: Cases = vec![
        ("nothing happens", vec![], None),
        ("another folder", vec![Box::new(set("/v", true))], None),
        ("one within it that is not reached", vec![Box::new(set("/w/vendor", false))], None),
        ("it ends", vec![Box::new(set("/w", false))], Some("/w is not trusted any more")),
        ("it is forgotten", vec![Box::new(|trust| trust.forget(Path::new("/w")))], Some("/w is not trusted any more")),
        (
            "it ends and is given again",
            vec![Box::new(set("/w", false)), Box::new(set("/w", true))],
            Some("trust in /w was given anew after the call was judged"),
        ),
        ("what it runs", vec![Box::new(set("/w/bin", false))], Some("/w/bin/x is not trusted any more")),
    ];
    for (what, changes, fallen) in cases {
        let trust = Arc::new(Trust::new());
        trust.set(Path::new("/w"), true);
        let paths = [Path::new("/w"), Path::new("/w/bin/x"), Path::new("/usr/bin/make")];
        let mut footing = Footing::default();
        footing.extend(Footing::on(&trust, &trust.now(), paths));
        for change in changes {
            change(&trust);
        }
        assert_eq!(footing.fallen().as_deref(), fallen, "{what}");
    }
    // The moment counts, not what is said after it.
    let trust = Arc::new(Trust::new());
    trust.set(Path::new("/w"), true);
    let then = trust.now();
    trust.set(Path::new("/w"), false);
    assert!(Footing::on(&trust, &then, [Path::new("/w")]).fallen().is_some());
    assert_eq!(Footing::default().fallen(), None);
}

#[test]
fn what_was_said_of_the_innermost_folder_counts() {
    let trust = Trust::new();
    let covers = |path: &str| trust.covers(Path::new(path));
    trust.set(Path::new("/w/vendor"), false);
    trust.set(Path::new("/w"), true);
    assert!(covers("/w/vendor/x"), "nothing was to be taken away");
    trust.set(Path::new("/w/vendor"), false);
    assert!(covers("/w/a") && !covers("/w/vendor/x") && !covers("/w/vendor") && covers("/w/vendors"));
    assert_eq!(trust.excluded(Path::new("/w/vendor/x")), Some("/w/vendor".into()));
    trust.set(Path::new("/w/vendor/ours"), true);
    assert!(covers("/w/vendor/ours/x") && !covers("/w/vendor/x"));
    trust.set(Path::new("/w"), true);
    assert!(!covers("/w/vendor/x"));
    trust.forget(Path::new("/w/vendor"));
    assert!(covers("/w/vendor/x") && trust.excluded(Path::new("/w/vendor/x")).is_none());
    trust.set(Path::new("/w"), false);
    assert!(!covers("/w/vendor/x") && covers("/w/vendor/ours"));
}

#[test]
fn what_is_not_known_asks() {
    assert_eq!(judge("t", Rule::Unknown, &Reach::default(), &Policy::default()).decision, DecisionKind::Ask);
    let commands = Reach { commands: vec!["ls".to_owned()], ..Reach::default() };
    let hosts = Reach { hosts: vec!["example.org".to_owned()], ..Reach::default() };
    let writes = Reach { writes: vec![inside("a")], ..Reach::default() };
    for reach in [commands, hosts, writes] {
        assert_eq!(judge("t", Rule::Read, &reach, &Policy::default()).decision, DecisionKind::Ask, "{reach:?}");
    }
}

#[test]
fn a_question_hides_nothing() {
    assert_eq!(visible("a\u{202e}b\nc é"), "a\\u{202e}b\\u{a}c é");
}
