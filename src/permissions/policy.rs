//! What holds for the calls of one session: its mode, the user's rules, and its own, which only make those stricter. Pure.

use std::path::PathBuf;

use crate::config::Mode;
use crate::editor::Risk;

use super::judge::Ground;
use super::rules::{Bases, Rules, Subject, allowed};
use super::{By, DecisionKind, Judgement, Reach, Rule, visible};

/// What holds for the calls of one session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    /// The session's mode.
    pub mode: Mode,
    /// What the user, or the person at this session, allows at most.
    pub ceiling: Mode,
    /// The user's rules.
    pub user: Rules,
    /// The session's rules: these allow nothing that the ceiling and the user's rules do not.
    pub session: Rules,
    /// The rules of the workspace folders' own settings. What they allow does not count.
    pub project: Rules,
    /// What could not be read of the user's settings, in words: see [`crate::config::PermissionSettings::broken`].
    pub broken: Vec<String>,
    /// Where paths in the rules begin.
    pub bases: Bases,
    /// Where we keep what we remember, canonical: protected, whatever it is called.
    pub state: Option<PathBuf>,
    /// Where the user's own settings file is, with all links resolved: protected, whatever it is called.
    pub own: Vec<PathBuf>,
    /// The session's folders, canonical: what is outside them counts as outside the workspace. `None`: all of it.
    pub roots: Option<Vec<PathBuf>>,
    /// What holds for the session that this one works for: nothing is decided more loosely than there.
    pub within: Option<Box<Policy>>,
}

impl Policy {
    /// The decision on a call that has been judged by what it reaches alone (on this ground).
    pub(super) fn refine(&self, tool: &str, rule: Rule, reach: &Reach, usual: &Judgement, ground: Ground) -> Judgement {
        let roots = self.roots.as_deref();
        let subject = Subject { tool, reach, known: rule.known(), bases: &self.bases, roots };
        let changes = rule.changes()
            || !reach.writes.is_empty()
            || !reach.commands.is_empty()
            || !reach.memories.is_empty()
            || !reach.lines.iter().all(super::Line::only_reads);
        if rule == Rule::Plan && self.mode != Mode::Plan && self.ceiling != Mode::Plan {
            // There is nothing to leave, which the tool says itself.
            let reason = "the session is not in plan mode".to_owned();
            return Judgement { decision: DecisionKind::Allow, reason, ..usual.clone() };
        }
        let deny = |rules: &Rules| rules.denies(subject).map(str::to_owned);
        let denied = deny(&self.user).or_else(|| deny(&self.session));
        if let Some(rule) = denied {
            return denies(usual, By::Rule, format!("the rule {} denies it", visible(&rule)));
        }
        if let Some(rule) = deny(&self.project) {
            let reason = format!("the rule {} in the settings of the workspace folder denies it", visible(&rule));
            return denies(usual, By::Rule, reason);
        }
        if (changes || !reach.lines.is_empty() || !reach.hosts.is_empty())
            && let Some(fault) = self.fault()
        {
            return denies(
                usual,
                By::Fault,
                format!("what may be done is not known until this is mended in the settings: {}", visible(&fault)),
            );
        }
        let under = |mode, authors: &[&Rules]| {
            let (leaves, agent) = (rule == Rule::Plan, rule == Rule::Agent);
            Layer { mode, authors, subject, changes, leaves, agent, project: &self.project }.decide(usual, ground)
        };
        let (user, both) = ([&self.user], [&self.user, &self.session]);
        stricter(under(self.ceiling, &user), under(self.mode, &both))
    }

    /// A rule that was to hold something back and cannot be read.
    fn fault(&self) -> Option<String> {
        let unread = [&self.user, &self.session, &self.project]
            .into_iter()
            .flat_map(Rules::faults)
            .find(|fault| fault.holds_back);
        let unread = unread.map(|fault| format!("the rule `{}` cannot be read: {}", fault.rule, fault.why));
        unread.or_else(|| self.broken.first().cloned())
    }
}

/// One mode with its rules.
struct Layer<'a> {
    mode: Mode,
    authors: &'a [&'a Rules],
    /// Whose ask rules count, and no others of theirs.
    project: &'a Rules,
    subject: Subject<'a>,
    /// Whether the call changes or runs something, as far as anybody knows.
    changes: bool,
    /// Whether the call asks for a person's word on a plan.
    leaves: bool,
    /// Whether the call starts an agent: its session is in this mode too, so that it changes and runs nothing where that is
    /// not allowed.
    agent: bool,
}

impl Layer<'_> {
    fn decide(&self, usual: &Judgement, ground: Ground) -> Judgement {
        let usual = usual.clone();
        if usual.decision == DecisionKind::Deny {
            return usual;
        }
        match self.mode {
            Mode::Plan if self.changes && !self.agent => {
                let what = "in plan mode nothing is changed or run; say what you would do as a plan, and let the person \
                            decide";
                return denies(&usual, By::Mode, what.to_owned());
            }
            Mode::Explore if self.changes && !self.agent => {
                let what = "in explore mode nothing is changed or run; look, and tell what you found";
                return denies(&usual, By::Mode, what.to_owned());
            }
            // What leaves plan mode is a person's word on the plan, which no mode has said before.
            Mode::Danger if ground != Ground::Protected && !self.leaves => {
                return Judgement {
                    decision: DecisionKind::Allow,
                    reason: "in danger mode nothing but protected places is asked about".to_owned(),
                    by: By::Mode,
                    ..usual
                };
            }
            _ => {}
        }
        if ground == Ground::Protected {
            return usual;
        }
        if let Some(rule) = self.authors.iter().find_map(|rules| rules.asks(self.subject)) {
            return asks(&usual, By::Rule, format!("the rule {} wants it asked about", visible(rule)));
        }
        if let Some(rule) = self.project.asks(self.subject) {
            let reason =
                format!("the rule {} in the settings of the workspace folder wants it asked about", visible(rule));
            return asks(&usual, By::Rule, reason);
        }
        if ground == Ground::Grave {
            return usual;
        }
        if !self.leaves
            && let Some(rules) = allowed(self.authors, self.subject)
        {
            let reason = match rules.as_slice() {
                [] => usual.reason.clone(),
                [rule] => format!("the rule {} allows it", visible(rule)),
                rules => format!("the rules {} allow it", visible(&rules.join(", "))),
            };
            return Judgement { decision: DecisionKind::Allow, reason, by: By::Rule, ..usual };
        }
        if self.mode == Mode::Review && usual.decision == DecisionKind::Allow && self.changes {
            return asks(&usual, By::Mode, "in review mode every change is asked about".to_owned());
        }
        usual
    }
}

fn asks(usual: &Judgement, by: By, reason: String) -> Judgement {
    let reason = if usual.decision == DecisionKind::Ask { format!("{}, and {reason}", usual.reason) } else { reason };
    Judgement { decision: DecisionKind::Ask, reason, by, ..usual.clone() }
}

fn denies(usual: &Judgement, by: By, reason: String) -> Judgement {
    Judgement { decision: DecisionKind::Deny, reason, by, risk: usual.risk.max(Risk::Medium), ..usual.clone() }
}

/// The stricter of two decisions on one call; of equal ones the second.
pub(super) fn stricter(one: Judgement, other: Judgement) -> Judgement {
    let strictness = |judgement: &Judgement| match judgement.decision {
        DecisionKind::Allow => 0,
        DecisionKind::Ask => 1,
        DecisionKind::Deny => 2,
    };
    let singly = one.singly || other.singly;
    let mut stricter = if strictness(&one) > strictness(&other) { one } else { other };
    stricter.singly = singly;
    stricter
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permissions::tests::{policy, rules};
    use crate::permissions::{Place, judge};

    fn place(path: &str) -> Place {
        Place { asked: path.to_owned(), paths: vec![PathBuf::from(path)], inside: path.starts_with("/w/") }
    }

    fn read(path: &str) -> (&'static str, Rule, Reach) {
        ("read", Rule::Read, Reach { reads: vec![place(path)], ..Reach::default() })
    }

    fn write(path: &str) -> (&'static str, Rule, Reach) {
        ("write", Rule::Write, Reach { writes: vec![place(path)], ..Reach::default() })
    }

    fn decided(policy: &Policy, (tool, rule, reach): &(&'static str, Rule, Reach)) -> DecisionKind {
        judge(tool, *rule, reach, policy).decision
    }

    #[test]
    fn modes() {
        use DecisionKind::{Allow, Ask, Deny};
        let unknown = ("mcp__x__y", Rule::Unknown, Reach::default());
        let mcp = |reads, trusted| ("mcp__x__y", Rule::Mcp { reads, trusted }, Reach::default());
        let todos = ("todowrite", Rule::Session, Reach::default());
        // What only looks is a read, with whatever tool; what a plan adds to the names of a call counts like these.
        let lsp = |written: &[&str], commands: &[&str]| {
            let writes = written.iter().map(|path| place(path)).collect();
            let commands = commands.iter().map(|&command| command.to_owned()).collect();
            ("lsp", Rule::ReadOrWrite, Reach { reads: vec![place("/w/a")], writes, commands, ..Reach::default() })
        };
        let runs = ("bash", Rule::Unknown, Reach { commands: vec!["ls".to_owned()], ..Reach::default() });
        for (call, decisions) in [
            //                           danger build review plan explore
            (read("/w/a"), [Allow, Allow, Allow, Allow, Allow]),
            (read("/etc/a"), [Allow, Ask, Ask, Ask, Ask]),
            (read("/w/.env"), [Allow, Ask, Ask, Ask, Ask]),
            (write("/w/a"), [Allow, Allow, Ask, Deny, Deny]),
            (write("/etc/a"), [Allow, Ask, Ask, Deny, Deny]),
            (write("/w/.git/config"), [Ask, Ask, Ask, Deny, Deny]),
            (unknown, [Allow, Ask, Ask, Deny, Deny]),
            (runs, [Allow, Ask, Ask, Deny, Deny]),
            (mcp(false, false), [Allow, Ask, Ask, Deny, Deny]),
            (mcp(true, false), [Allow, Ask, Ask, Ask, Ask]),
            (mcp(false, true), [Allow, Allow, Ask, Deny, Deny]),
            (mcp(true, true), [Allow; 5]),
            (todos, [Allow; 5]),
            (lsp(&[], &[]), [Allow; 5]),
            (lsp(&["/w/a", "/w/b"], &[]), [Allow, Allow, Ask, Deny, Deny]),
            (lsp(&["/w/a", "/etc/b"], &[]), [Allow, Ask, Ask, Deny, Deny]),
            (lsp(&["/w/a", "/w/.git/config"], &[]), [Ask, Ask, Ask, Deny, Deny]),
            (lsp(&["/w/a"], &["fake.mend"]), [Allow, Ask, Ask, Deny, Deny]),
        ] {
            let modes = [Mode::Danger, Mode::Build, Mode::Review, Mode::Plan, Mode::Explore];
            assert_eq!(modes.map(|mode| decided(&policy(mode), &call)), decisions, "{call:?}");
        }
        let plan = judge("write", Rule::Write, &write("/w/a").2, &policy(Mode::Plan));
        assert!(plan.reason.contains("plan"), "{}", plan.reason);
    }

    #[test]
    fn deny_over_ask_over_allow() {
        use DecisionKind::{Allow, Ask, Deny};
        let all = |mode| Policy {
            user: rules(&["write", "read(//etc/**)"], &["write(prod/**)"], &["*(prod/keys/**)"]),
            ..policy(mode)
        };
        for (mode, call, decision) in [
            (Mode::Review, write("/w/a"), Allow),
            (Mode::Review, write("/w/prod/a"), Ask),
            (Mode::Review, write("/w/prod/keys/a"), Deny),
            (Mode::Build, write("/w/prod/a"), Ask),
            (Mode::Build, read("/etc/passwd"), Allow),
            (Mode::Build, read("/w/prod/keys/a"), Deny),
            // Danger asks nothing, and what is denied stays so.
            (Mode::Danger, write("/w/prod/a"), Allow),
            (Mode::Danger, write("/w/prod/keys/a"), Deny),
            // No rule opens what is protected or secret, nor a mode that changes nothing.
            (Mode::Build, write("/w/.git/config"), Ask),
            (Mode::Build, write("/w/.env"), Ask),
            (Mode::Plan, write("/w/a"), Deny),
        ] {
            assert_eq!(decided(&all(mode), &call), decision, "{mode:?} {call:?}");
        }
    }

    #[test]
    fn a_session_only_makes_stricter() {
        use DecisionKind::{Allow, Ask, Deny};
        let session = |ceiling, mode| Policy {
            ceiling,
            session: rules(&["write(src/**)", "read(//etc/**)"], &["read(notes)"], &["write(src/keep)"]),
            ..policy(mode)
        };
        for (ceiling, mode, call, decision) in [
            // It allows what it would ask itself, as far as the user would let it pass.
            (Mode::Build, Mode::Review, write("/w/src/a"), Allow),
            (Mode::Build, Mode::Review, write("/w/other"), Ask),
            (Mode::Review, Mode::Review, write("/w/src/a"), Ask),
            (Mode::Build, Mode::Build, read("/etc/passwd"), Ask),
            (Mode::Build, Mode::Build, read("/w/notes"), Ask),
            (Mode::Build, Mode::Build, write("/w/src/keep"), Deny),
        ] {
            assert_eq!(decided(&session(ceiling, mode), &call), decision, "{ceiling:?} {mode:?} {call:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_stops_what_changes() {
        use DecisionKind::{Allow, Deny};
        let ask = Policy { user: rules(&[], &["write("], &[]), ..policy(Mode::Build) };
        let session = Policy { session: rules(&[], &[], &["()"]), ..policy(Mode::Danger) };
        let broken = Policy { broken: vec!["setting permissions.deny: 7".to_owned()], ..policy(Mode::Build) };
        let allow = Policy { user: rules(&["write("], &[], &["read(keep)"]), ..policy(Mode::Build) };
        for (policy, written) in [(&ask, Deny), (&session, Deny), (&broken, Deny), (&allow, Allow)] {
            assert_eq!(decided(policy, &write("/w/a")), written, "{policy:?}");
            assert_eq!(decided(policy, &read("/w/a")), Allow, "{policy:?}");
        }
        assert_eq!(decided(&allow, &read("/w/keep")), Deny);
    }

    #[test]
    fn the_folders_of_a_session_are_its_workspace() {
        let policy = Policy { roots: Some(vec![PathBuf::from("/w/part")]), ..policy(Mode::Build) };
        assert_eq!(decided(&policy, &write("/w/part/a")), DecisionKind::Allow);
        assert_eq!(decided(&policy, &write("/w/other/a")), DecisionKind::Ask);
        let none = Policy { roots: Some(vec![]), ..policy };
        assert_eq!(decided(&none, &write("/w/part/a")), DecisionKind::Ask);
    }
}
