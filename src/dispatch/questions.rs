//! The question to a person, about one call or about several of a batch that stand side by side.
//!
//! The first of a batch that has to be asked about takes its neighbours along, each with what it would do now, for as long
//! as they have to be asked about too and none depends on one before it. What would look different by the time of its
//! turn is asked about then. An answer is bound to what was shown; at its turn a call that would do something else by
//! then is asked about again.

use serde_json::Value;

use crate::editor::{ApproveCall, ApproveDecision, ApproveParams, Consent};
use crate::outputs::Budget;
use crate::permissions::{DecisionKind, Rule, visible};
use crate::tool::{Capability, ToolError};
use crate::workspace::Target;

use super::approve::{granted, remembered, unasked};
use super::batch::{Member, Place};
use super::call::Timing;
use super::execute::cancelled;
use super::propose::{Consented, Outline, Proposal, outline, propose, suggested};
use super::{Call, Dispatch};

/// At most so many calls are asked about at once.
const TOGETHER: usize = 16;

/// What a person answered about one call, and what they were shown.
#[derive(Debug, Clone)]
pub(super) struct Given {
    /// `None`: they did not decide on it.
    pub decision: Option<ApproveDecision>,
    pub consented: Consented,
    pub arguments: Value,
}

/// What a call of a batch touches, as far as it matters to those behind it.
struct Footprint {
    reads: Vec<Target>,
    writes: Vec<Target>,
    /// It may change, or depend on, anything.
    opaque: bool,
}

/// A neighbour that can be asked about already.
struct Neighbour {
    index: usize,
    call: ApproveCall,
    consented: Consented,
    footprint: Footprint,
}

impl Footprint {
    fn of(call: &Call<'_>, outline: &Outline) -> Footprint {
        let traits = call.entry.traits();
        Footprint {
            reads: outline.reads.clone(),
            writes: outline.writes.clone(),
            opaque: !outline.access.commands.is_empty()
                || traits.capabilities.contains(&Capability::ExecutesCode)
                || matches!(call.entry.rule, Rule::Unknown | Rule::Mcp { reads: false, .. }),
        }
    }

    /// Whether what this call does, and so what a person would be shown of it, may depend on one before it.
    fn depends_on(&self, earlier: &Footprint) -> bool {
        let touches = |target: &Target| {
            earlier.writes.iter().any(|written| {
                written.key == target.key || written.paths.iter().any(|path| target.paths.contains(path))
            })
        };
        earlier.opaque
            || self.opaque && !earlier.writes.is_empty()
            || self.reads.iter().chain(&self.writes).any(touches)
    }
}

impl Dispatch {
    /// The person's answer about a call. `first`: it has not been asked about before.
    pub(super) async fn answer(
        &self,
        call: &Call<'_>,
        first: bool,
        proposal: &Proposal,
        now: &Consented,
    ) -> Result<Given, ToolError> {
        let cancel = &call.context.cancel;
        if let Some(member) = call.member.filter(|_| first) {
            let place = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(cancelled("while a person was asked about it")),
                place = member.place() => place,
            };
            if let Place::Answered(given) = place {
                return Ok(*given);
            }
        }
        if let Some(aside) = self.set_aside(call) {
            return Err(aside);
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(cancelled("while a person was asked about it")),
            given = self.question(call, first, proposal, now) => given,
        }
    }

    async fn question(
        &self,
        call: &Call<'_>,
        first: bool,
        proposal: &Proposal,
        now: &Consented,
    ) -> Result<Given, ToolError> {
        let session = &call.context.session.id;
        let mut calls = vec![asked(call, proposal)];
        // One message after another would be no help: only a question of ours takes several.
        let several = first && self.workspace.editor.abilities().approve;
        let neighbours = match call.member.filter(|_| several) {
            Some(member) => self.neighbours(call, member, &proposal.outline).await,
            None => Vec::new(),
        };
        calls.extend(neighbours.iter().map(|neighbour| neighbour.call.clone()));
        let indices: Vec<usize> = neighbours.iter().map(|neighbour| neighbour.index).collect();
        // Given up before its answer, they are asked about at their own moments.
        let together = call.member.map(|member| member.ask_with(&indices));
        let waiting = self.waiting(session, calls.len());
        let question = ApproveParams { session_id: session.clone(), calls };
        let answer = self.workspace.editor.approve(question).await;
        drop(waiting);
        let answer = answer.map_err(|error| unasked(&proposal.outline.judgement, None, &error))?;
        let decision = |id: &str| decision(&answer.decisions, id).cloned();
        if let Some(together) = together {
            let given = neighbours.into_iter().map(|Neighbour { index, call, consented, .. }| {
                (index, Given { decision: decision(&call.call_id), consented, arguments: call.arguments })
            });
            together.answered(given.collect());
        }
        Ok(Given { decision: decision(call.id), consented: now.clone(), arguments: call.arguments.clone() })
    }

    /// The calls behind this one in its batch that can be asked about with it.
    async fn neighbours(&self, call: &Call<'_>, member: &Member, outline: &Outline) -> Vec<Neighbour> {
        let first = Footprint::of(call, outline);
        let mut found: Vec<Neighbour> = Vec::new();
        for index in member.index + 1..member.index + TOGETHER {
            let Some(neighbour) = self.foreseen(call, member, index).await else { break };
            let footprint = &neighbour.footprint;
            let depends =
                footprint.depends_on(&first) || found.iter().any(|found| footprint.depends_on(&found.footprint));
            let id = &neighbour.call.call_id;
            // Two of one name cannot be told apart in the answer.
            let named = id == call.id || found.iter().any(|found| found.call.call_id == *id);
            if depends || named {
                break;
            }
            found.push(neighbour);
        }
        found
    }

    /// A call of the batch as it would be asked about now; `None`: it would not be, or it cannot be said yet.
    async fn foreseen(&self, asking: &Call<'_>, member: &Member, index: usize) -> Option<Neighbour> {
        let (call_id, params, cancel) = member.undecided(index)?;
        if params.truncated || params.approved_by.is_some() {
            return None;
        }
        let session = &asking.context.session;
        let entry = self.tools.find(session, &params.name).ok()?;
        let arguments = entry.ready(params.arguments.as_ref()).ok()?.arguments;
        let budget = Budget::new(&self.workspace.settings().output, params.max_bytes);
        let context = self.context(session, params.apply, cancel, budget.max);
        let mut timing = Timing::default();
        let call = Call {
            params: &params,
            id: &call_id,
            entry: &entry,
            arguments,
            context,
            budget,
            timing: &mut timing,
            lineage: None,
            reporter: None,
            member: None,
            maker: None,
        };
        let asks = |outline: &Outline| {
            outline.judgement.decision == DecisionKind::Ask
                && !granted(&call, outline)
                && remembered(&call, outline).is_none()
        };
        let turn = params.turn_id.as_deref();
        let outline = outline(&entry, &call.arguments, &call.context, &self.own, turn).await.ok().filter(&asks)?;
        let proposal = propose(outline, &entry, &call.arguments, &call.context, &call.limits()).await.ok()?;
        if proposal.plan.is_err() || !asks(&proposal.outline) {
            return None;
        }
        Some(Neighbour {
            index,
            call: asked(&call, &proposal),
            consented: proposal.consented(),
            footprint: Footprint::of(&call, &proposal.outline),
        })
    }
}

/// What was decided on a call: of several decisions a no, or else the first.
fn decision<'a>(decisions: &'a [ApproveDecision], id: &str) -> Option<&'a ApproveDecision> {
    let of_it = || decisions.iter().filter(|decision| decision.call_id == id);
    of_it().find(|decision| decision.decision == Consent::Deny).or_else(|| of_it().next())
}

/// A call as a person is shown it.
fn asked(call: &Call<'_>, proposal: &Proposal) -> ApproveCall {
    let judgement = &proposal.outline.judgement;
    ApproveCall {
        call_id: call.id.to_owned(),
        name: call.entry.traits().name.to_owned(),
        arguments: call.arguments.clone(),
        targets: proposal.outline.targets(),
        diff: proposal.diff().map(|diff| diff.split('\n').map(visible).collect::<Vec<_>>().join("\n")),
        reason: judgement.reason.clone(),
        risk: judgement.risk,
        suggested_rule: suggested(call.entry, &call.context, &proposal.outline),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Key;

    fn target(path: &str) -> Target {
        Target {
            shown: path.to_owned(),
            key: Key::File(path.into()),
            uri: format!("file://{path}"),
            paths: vec![path.into()],
            inside: true,
        }
    }

    /// `r:a w:b !` is a call that reads a, writes b, and may do anything.
    fn footprint(words: &str) -> Footprint {
        let all = |kind: &str| words.split(' ').filter_map(|word| word.strip_prefix(kind)).map(target).collect();
        Footprint { reads: all("r:"), writes: all("w:"), opaque: words.contains('!') }
    }

    #[test]
    fn what_depends_on_what_is_before_it() {
        for (earlier, later, depends) in [
            ("r:/a", "r:/a", false),
            ("r:/a", "w:/a", false),
            ("w:/a", "w:/b", false),
            ("w:/a", "r:/b w:/b", false),
            ("r:/a w:/a", "r:/a w:/a", true),
            ("w:/a", "r:/a", true),
            ("!", "r:/a", true),
            ("w:/a", "!", true),
            ("r:/a", "!", false),
            ("!", "!", true),
        ] {
            assert_eq!(footprint(later).depends_on(&footprint(earlier)), depends, "{earlier} then {later}");
        }
        // A second buffer of the same file is the same file.
        let mut second = footprint("w:/a");
        second.writes[0].key = Key::Unnamed("file:///%61".into());
        assert!(second.depends_on(&footprint("w:/a")));
    }
}
