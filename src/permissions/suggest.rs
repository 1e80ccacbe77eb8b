//! The rule a person could write so that a call like this one is not asked about again. Pure.
//!
//! It is said only where one rule says it exactly: it is tried before it is told, with the very code that reads rules.

use std::path::{Path, PathBuf};

use super::commands;
use super::rules::Rules;
use super::shell::Word;
use super::{DecisionKind, Line, Place, Policy, Reach, Rule, arity, judge, visible};

/// Characters that mean something in a pattern.
const SPECIAL: &[char] = &['*', '?', '[', ']', '{', '}', '(', ')', '\\', '!'];

/// The rule that, among the user's allow rules, would let this call pass; `None` where it passes already, where no rule opens
/// what it reaches, or where one rule cannot say it.
pub fn suggest(tool: &str, rule: Rule, reach: &Reach, policy: &Policy) -> Option<String> {
    let now = judge(tool, rule, reach, policy);
    if now.decision != DecisionKind::Ask || now.singly {
        return None;
    }
    let suggested = match rule {
        // Of what runs elsewhere nothing but the tool can be named.
        Rule::Mcp { .. } => tool.to_owned(),
        _ => format!("{tool}({})", pattern(reach, policy)?),
    };
    let mut with = policy.clone();
    with.user = policy.user.allowing(&suggested)?;
    (judge(tool, rule, reach, &with).decision == DecisionKind::Allow).then_some(suggested)
}

fn pattern(reach: &Reach, policy: &Policy) -> Option<String> {
    let Reach { reads, writes, lines, commands, hosts, .. } = reach;
    if let [line] = lines.as_slice() {
        // Only where every place it reaches is one that commands reach without more.
        return commands.is_empty().then(|| line_pattern(line)).flatten();
    }
    match (reads.is_empty() && writes.is_empty(), commands.as_slice(), hosts.as_slice()) {
        _ if !lines.is_empty() => None,
        (false, [], []) => path(reads.iter().chain(writes), policy),
        (true, [command], []) => exactly(command),
        (true, [], [host]) => plain(host).then(|| format!("domain:{host}")),
        _ => None,
    }
}

/// The one file that all of these are.
fn path<'a>(places: impl Iterator<Item = &'a Place>, policy: &Policy) -> Option<String> {
    let mut all: Vec<&PathBuf> = Vec::new();
    for place in places {
        if place.paths.is_empty() {
            return None;
        }
        all.extend(&place.paths);
    }
    let first = all.first()?;
    if all.iter().any(|other| other != first) {
        return None;
    }
    // With several folders a name relative to one would be one relative to each.
    let relative = match policy.bases.folders.as_slice() {
        [folder] => first.strip_prefix(folder).ok().and_then(Path::to_str).map(|inside| format!("./{inside}")),
        _ => None,
    };
    let pattern = match relative {
        Some(inside) => inside,
        None => format!("/{}", first.to_str()?),
    };
    plain(&pattern).then_some(pattern)
}

/// A command line as a rule says it: by how it begins where consent covers that, else exactly.
fn line_pattern(line: &Line) -> Option<String> {
    // A rule knows no danger, so that it may only say how a line begins where nothing dangerous begins so.
    if let Some([begin]) = line.shared.as_deref()
        && line.analysis.secrets.is_empty()
        && !arity::may_be_dangerous(begin)
    {
        let begin = begin.join(" ");
        return plain(&begin).then(|| format!("{begin}:*"));
    }
    // What is known only when it runs is another command each time.
    let known = line.steps.iter().flat_map(|step| &step.words).all(|word| matches!(word, Word::Known(_)));
    known.then(|| exactly(&line.line)).flatten()
}

fn exactly(line: &str) -> Option<String> {
    let line = line.trim();
    let fits = commands::means_itself(line) && !line.split('/').any(|part| part == "..") && visible(line) == line;
    (fits && !line.is_empty()).then(|| line.to_owned())
}

/// Whether a text means itself in a pattern, and is what it looks like.
fn plain(text: &str) -> bool {
    !text.contains(SPECIAL) && text.trim() == text && visible(text) == text
}

impl Rules {
    /// The same with one more allow rule, if that can be read.
    fn allowing(&self, rule: &str) -> Option<Rules> {
        let one = Rules::read(std::slice::from_ref(&rule.to_owned()), &[], &[]);
        one.faults().is_empty().then(|| self.and_allow(one))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Mode;
    use crate::permissions::Bases;
    use crate::permissions::shell::Verdict;
    use proptest::prelude::*;

    fn policy(mode: Mode, folders: &[&str]) -> Policy {
        let bases = Bases { folders: folders.iter().map(PathBuf::from).collect(), home: None };
        Policy { mode, ceiling: mode, bases, ..Policy::default() }
    }

    fn place(path: &str) -> Place {
        Place { asked: path.to_owned(), paths: vec![PathBuf::from(path)], inside: path.starts_with("/w/") }
    }

    fn write(path: &str) -> Reach {
        Reach { writes: vec![place(path)], ..Reach::default() }
    }

    #[test]
    fn files() {
        for (mode, folders, reach, expected) in [
            (Mode::Build, &["/w"][..], write("/out/a b.txt"), Some("write(//out/a b.txt)")),
            (Mode::Review, &["/w"], write("/w/src/a.rs"), Some("write(./src/a.rs)")),
            (Mode::Review, &["/w", "/v"], write("/w/src/a.rs"), Some("write(//w/src/a.rs)")),
            // It passes, it never will, or a pattern cannot say it.
            (Mode::Build, &["/w"], write("/w/a"), None),
            (Mode::Plan, &["/w"], write("/w/a"), None),
            (Mode::Build, &["/w"], write("/w/.git/config"), None),
            (Mode::Build, &["/w"], write("/w/.env"), None),
            (Mode::Review, &["/w"], write("/w/*.txt"), None),
            (Mode::Review, &["/w"], write("/w/a(1)"), None),
            (Mode::Review, &["/w"], write("/w/a\u{200b}b"), None),
            (Mode::Review, &["/w"], write("/w/a "), None),
            (Mode::Review, &["/w"], Reach { writes: vec![place("/w/a"), place("/w/b")], ..Reach::default() }, None),
            (
                Mode::Review,
                &["/w"],
                Reach { reads: vec![place("/w/a")], writes: vec![place("/w/a")], ..Reach::default() },
                Some("write(./a)"),
            ),
        ] {
            let suggested = suggest("write", Rule::Write, &reach, &policy(mode, folders));
            assert_eq!(suggested.as_deref(), expected, "{reach:?}");
        }
        // What a rule wants asked stays asked.
        let asks = Policy { user: Rules::read(&[], &["write".to_owned()], &[]), ..policy(Mode::Build, &["/w"]) };
        assert_eq!(suggest("write", Rule::Write, &write("/w/a"), &asks), None);
    }

    /// Commands that only read, in these tests.
    const READS: &[&str] = &["cd", "ls"];

    fn run(line: Line) -> Reach {
        Reach { lines: vec![line], ..Reach::default() }
    }

    #[test]
    fn commands_and_hosts() {
        let asked = |line| Line::played(line, Verdict::NeedsApproval, READS);
        let mut secret = asked("cargo test -p x");
        secret.analysis.secrets.push(".env".to_owned());
        for (line, expected) in [
            (asked("cargo test -p x"), Some("bash(cargo test:*)")),
            (asked("npm run dev --port 1"), Some("bash(npm run dev:*)")),
            (asked("python a.py"), Some("bash(python a.py)")),
            (asked("cd x && npm test"), Some("bash(cd x && npm test)")),
            (asked("git push origin main"), Some("bash(git push origin main)")),
            (asked("make && npm test"), Some("bash(make && npm test)")),
            (Line::played("mkdir x", Verdict::WorkspaceWrite, READS), Some("bash(mkdir x)")),
            // It is asked about each time, or one rule cannot say exactly this.
            (Line::played("git push --force", Verdict::Destructive, READS), None),
            (Line::played("rm -rf /tmp/x", Verdict::Destructive, READS), None),
            (Line::unclear("npm test"), None),
            (secret, None),
            (asked("python $script"), None),
            (asked("x:*"), None),
            (asked("python *"), None),
            (asked("*"), None),
            (asked("python a\u{202e}b"), None),
            (Line::played("ls", Verdict::ReadOnly, READS), None),
        ] {
            let shown = line.line.clone();
            let suggested = suggest("bash", Rule::Shell, &run(line), &policy(Mode::Build, &["/w"]));
            assert_eq!(suggested.as_deref(), expected, "{shown}");
        }
        // What it reaches elsewhere is not what the command says.
        let reach = Reach { writes: vec![place("/out/x")], ..run(asked("cargo test")) };
        assert_eq!(suggest("bash", Rule::Shell, &reach, &policy(Mode::Build, &["/w"])), None);
        let reach = Reach { hosts: vec!["docs.example.org".to_owned()], ..Reach::default() };
        let suggested = suggest("webfetch", Rule::Read, &reach, &policy(Mode::Build, &["/w"]));
        assert_eq!(suggested.as_deref(), Some("webfetch(domain:docs.example.org)"));
    }

    proptest! {
        /// A rule that is told lets the line pass, and no line in which anything else runs than what begins like it.
        #[test]
        fn what_is_suggested_runs_nothing_else(
            one in "(cargo|npm|make|git|python) (test|run|build|x|-m)( [a-c.]{1,3})?",
            others in proptest::collection::vec("(cargo|npm|make|git|python|rm) ?(test|run|build|x|-m)?( [a-c.]{1,3})?", 1..3),
        ) {
            let policy = policy(Mode::Build, &["/w"]);
            let asked = |line: &str| run(Line::played(line, Verdict::NeedsApproval, READS));
            if let Some(rule) = suggest("bash", Rule::Shell, &asked(&one), &policy) {
                let with = Policy { user: Rules::read(std::slice::from_ref(&rule), &[], &[]), ..policy };
                let allows = |line: &str| judge("bash", Rule::Shell, &asked(line), &with).decision == DecisionKind::Allow;
                prop_assert!(allows(&one));
                let begin = rule.trim_start_matches("bash(").trim_end_matches(')').trim_end_matches(":*");
                let line = others.join(" && ");
                if allows(&line) {
                    for command in &others {
                        let rest = command.trim().strip_prefix(begin);
                        prop_assert!(rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')), "{} {}", rule, line);
                    }
                }
            }
        }

        /// A rule that is told lets the call pass, and no call to another file.
        #[test]
        fn what_is_suggested_covers_this_and_no_other(one in "[a.* ?\\[/(]{1,6}", other in "[ab./]{1,6}") {
            let policy = policy(Mode::Review, &["/w"]);
            let path = |name: &str| format!("/w/x{name}");
            if let Some(rule) = suggest("write", Rule::Write, &write(&path(&one)), &policy) {
                let with = Policy { user: Rules::read(&[rule], &[], &[]), ..policy };
                let decision = |name: &str| judge("write", Rule::Write, &write(&path(name)), &with).decision;
                prop_assert_eq!(decision(&one), DecisionKind::Allow);
                if Path::new(&path(&one)) != Path::new(&path(&other)) && !other.contains("..") {
                    prop_assert_eq!(decision(&other), DecisionKind::Ask);
                }
            }
        }
    }
}
