//! The decision on a call: by what it reaches, then by modes and rules. Pure.

use std::path::Path;

use super::lines::Concern;
use super::policy::stricter;
use super::{By, DecisionKind, Judgement, Place, Policy, Reach, Rule, protected, secret, visible};
use crate::editor::Risk;

/// What a decision rests on, as far as modes and rules look at it differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ground {
    /// A protected place would be written: nothing opens it but a person, each time.
    Protected,
    /// Secrets, destruction, or what cannot be understood: no rule opens it, and danger mode does.
    Grave,
    /// Anything else.
    Other,
}

/// Decides on a call of a tool. Depends on nothing but its arguments.
pub fn judge(tool: &str, rule: Rule, reach: &Reach, policy: &Policy) -> Judgement {
    let (usual, ground) = usual(rule, reach, policy);
    let own = policy.refine(tool, rule, reach, &usual, ground);
    match &policy.within {
        None => own,
        Some(outer) => stricter(judge(tool, rule, reach, outer), own),
    }
}

/// The decision by what a call reaches alone.
fn usual(rule: Rule, reach: &Reach, policy: &Policy) -> (Judgement, Ground) {
    let (requirement, roots) = (rule.requirement(), policy.roots.as_deref());
    let judged =
        |decision, reason, risk, singly| Judgement { requirement, decision, reason, risk, singly, by: By::Default };
    let on = |ground: Ground, reason: String, risk: Risk, singly: bool| {
        (judged(DecisionKind::Ask, reason, risk, singly), ground)
    };
    let ask = |reason: String, risk: Risk, singly: bool| on(Ground::Other, reason, risk, singly);
    if let Some(reason) = reach.lines.iter().find_map(super::Line::distrusted) {
        let denied = judged(DecisionKind::Deny, reason, Risk::High, true);
        return (Judgement { by: By::Trust, ..denied }, Ground::Other);
    }
    if let Some((shown, what)) = reach.writes.iter().find_map(|place| place.named(protected)) {
        let reason = format!("{shown} is protected ({what}): what is written there can run or change what may run");
        return on(Ground::Protected, reason, Risk::High, true);
    }
    let ours = |place: &&Place| place.paths.iter().any(|path| policy.state.iter().any(|state| path.starts_with(state)));
    if let Some(place) = reach.writes.iter().find(ours) {
        let reason = format!("{} is protected: what we remember, consent among it, is kept there", place.shown());
        return on(Ground::Protected, reason, Risk::High, true);
    }
    let own = |place: &&Place| place.paths.iter().any(|path| policy.own.iter().any(|own| same(own, path)));
    if let Some(place) = reach.writes.iter().find(own) {
        let reason = format!("{} is protected: it holds the user's own settings", place.shown());
        return on(Ground::Protected, reason, Risk::High, true);
    }
    if let Some(reason) = reach.lines.iter().find_map(super::Line::may_write_protected) {
        return on(Ground::Protected, reason, Risk::High, true);
    }
    if let Some((shown, what)) = reach.writes.iter().chain(&reach.reads).find_map(|place| place.named(secret)) {
        return on(Ground::Grave, format!("{shown} may hold secrets ({what})"), Risk::High, true);
    }
    if rule == Rule::Unknown {
        return ask("nothing is known of what this tool does".to_owned(), Risk::High, true);
    }
    if let Rule::Mcp { reads, trusted } = rule {
        if let Some(what) = reach.credential {
            return on(Ground::Grave, format!("what looks like {what} would go to an MCP server"), Risk::High, true);
        }
        let risk = if reads { Risk::Medium } else { Risk::High };
        if !trusted {
            return ask("it runs on an MCP server, which is not trusted".to_owned(), risk, false);
        }
        let reason = "it runs on an MCP server that the user trusts".to_owned();
        return (judged(DecisionKind::Allow, reason, risk, false), Ground::Other);
    }
    if rule == Rule::Plan {
        return ask(
            "the plan is done, and with consent to it the session leaves plan mode".to_owned(),
            Risk::Medium,
            true,
        );
    }
    if let (Some(memory), Some(source)) = (reach.memories.first(), &reach.external) {
        let reason = format!(
            "the memory {} would be changed in a turn that holds text from elsewhere ({}), which may be what wants it, and \
             later sessions would believe it",
            visible(memory),
            visible(source)
        );
        return on(Ground::Grave, reason, Risk::High, true);
    }
    let outside = |place: &&Place| !place.inside || !place.within(roots);
    let network = !reach.hosts.is_empty() || reach.lines.iter().any(|line| line.analysis.network);
    if let Some(what) = reach.credential {
        let place = reach.writes.iter().find(outside).map(Place::shown);
        let to = place.or_else(|| network.then(|| "another machine".to_owned()));
        if let Some(to) = to {
            return on(Ground::Grave, format!("what looks like {what} would go to {to}"), Risk::High, true);
        }
    }
    let worst = reach.lines.iter().filter_map(super::Line::concern).max_by_key(|(concern, _)| *concern);
    if let Some((Concern::Grave, reason)) = &worst {
        return on(Ground::Grave, reason.clone(), Risk::High, true);
    }
    if let Some(command) = reach.commands.first().filter(|_| rule != Rule::Agent) {
        let what = if rule == Rule::Fetch { "sends something to another machine" } else { "runs a command" };
        return ask(format!("it {what}: {}", visible(command)), Risk::High, false);
    }
    if let Some(host) = reach.hosts.first() {
        let others = match reach.hosts.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        return ask(format!("it talks to another machine: {}{others}", visible(host)), Risk::High, false);
    }
    if !matches!(rule, Rule::Write | Rule::ReadOrWrite | Rule::Shell)
        && let Some(place) = reach.writes.first()
    {
        return ask(format!("a tool that does not write wants to write {}", place.shown()), Risk::High, true);
    }
    if let Some(place) = reach.writes.iter().find(outside) {
        return ask(format!("{} is outside the workspace folders", place.shown()), Risk::High, false);
    }
    if let Some((Concern::Runs { unbound }, reason)) = worst {
        return ask(reason, Risk::High, unbound);
    }
    if let Some(place) = reach.reads.iter().find(outside) {
        return ask(format!("{} is outside the workspace folders", place.shown()), Risk::Medium, false);
    }
    let (reason, risk) = if rule == Rule::Agent && !reach.commands.is_empty() {
        ("the agent that it starts may do what this session may, and no more", Risk::Medium)
    } else if !reach.writes.is_empty() {
        ("it writes inside the workspace folders, and can be undone", Risk::Medium)
    } else if !reach.memories.is_empty() {
        ("it changes what is remembered of the workspace folder", Risk::Medium)
    } else if rule == Rule::Person {
        ("it only asks the person", Risk::Low)
    } else if matches!(rule, Rule::Session | Rule::Agent) || rule == Rule::Shell && reach.lines.is_empty() {
        ("it touches only what the session itself has", Risk::Low)
    } else {
        ("it only reads, inside the workspace folders", Risk::Low)
    };
    (judged(DecisionKind::Allow, reason.to_owned(), risk, false), Ground::Other)
}

/// Whether two paths may be one file, on a disk that makes no difference of case too.
fn same(one: &Path, other: &Path) -> bool {
    one == other || one.to_string_lossy().to_lowercase() == other.to_string_lossy().to_lowercase()
}
