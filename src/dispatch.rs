//! The life of a call, in one straight line; one file a stage.
//!
//! Name, arguments, coercion, validation (pure, at once) · turn (`schedule`) · what it would do (`propose`) · consent
//! (`approve`, with the neighbours of its `batch`) · running it (`execute`) or making its changes (`change`) · diagnostics,
//! the turn given up · `shape`. However a call ends, it ends in exactly one [`CallResult`].

mod admit;
mod agents;
mod approve;
mod arguments;
mod batch;
mod bounds;
pub mod call;
mod calls;
mod catalog;
mod change;
mod client_tools;
mod coerce;
pub mod dialects;
mod early;
mod events;
mod execute;
mod first_use;
mod follow;
mod format;
mod gate;
mod guards;
mod hooks;
mod ids;
mod input;
mod joining;
mod keep;
mod late;
mod lines;
mod listing;
mod looking;
mod mcp;
mod names;
mod nested;
#[doc(hidden)]
pub mod open;
mod outputs;
mod own;
mod preview;
mod project;
mod proposals;
mod propose;
mod questions;
pub mod review;
mod round;
mod save;
mod schedule;
mod sessions;
mod shape;
#[cfg(test)]
mod tests;
mod unread;
mod validate;
mod world;

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use batch::{AdmittedBatch, BatchParams, BatchResult};
pub use call::{CallParams, CallResult, ListToolsParams, ListedTool, PreviewResult, Status, ToolInfo};
pub use client_tools::{
    RegisterToolsParams, RegisterToolsResult, Registered, Registration, ToolDefinition, UnregisterToolsParams,
    UnregisterToolsResult,
};
pub(crate) use ids::{NAMES, overlong};
pub use input::ToolInputParams;
pub use outputs::{OutputParams, OutputText};
pub use own::OwnSettings;
pub use proposals::{
    AcceptParams, AcceptResult, AcceptedFile, ProposedFile, ProposedHunk, Refused, RejectParams, RejectResult,
    RejectedFile,
};
pub use sessions::SessionAnswer;

use crate::editor::{News, ToolEvent};
use crate::jobs::Jobs;
use crate::languages::Languages;
use crate::outputs::Budget;
use crate::permissions::{Footing, Rule, Trust};
use crate::process::SystemPrograms;
use crate::sessions::policy::Apply;
use crate::sessions::{Session, Sessions};
use crate::tool::{AnyTool, Context, Progress, ToolError};
use crate::workspace::Workspace;
use crate::workspace::checkpoints::By;

pub(crate) use approve::said;
use approve::{Approvals, Asking};
use batch::Member;
use call::{AppliedPart, Timing};
use calls::{Calls, OpenCall};
use catalog::{Entry, Registry};
use change::{Made, Stopped};
use early::Early;
use events::Reporter;
use execute::{Limits, cancelled, contained};
use guards::{Guards, Watched, failure};
use hooks::Beside;
use input::Inputs;
use joining::Joining;
use keep::Keeper;
use late::Late;
use nested::{Inside, Kinship, Lineage};
use preview::Previews;
use propose::Planned;
use review::Review;
use round::Rounds;
use schedule::Schedule;
use shape::Ending;
use world::World;

/// So often a change is worked out anew because the text moved on while it was on its way.
const ROUNDS: u32 = 3;

/// Takes calls and answers each exactly once.
pub struct Dispatch {
    tools: Registry,
    /// Itself, for the tools that call other tools.
    me: Weak<Dispatch>,
    workspace: Arc<Workspace>,
    languages: Arc<Languages>,
    sessions: Arc<Sessions>,
    /// Which folders are trusted, for tools that run something.
    pub trust: Arc<Trust>,
    schedule: Arc<Schedule>,
    calls: Arc<Calls>,
    previews: Previews,
    late: Late,
    approvals: Approvals,
    rounds: Rounds,
    kin: Kinship,
    /// The calls within calls that run.
    nested: TaskTracker,
    /// Work that goes on when the call that began it has ended.
    pub jobs: Arc<Jobs>,
    keeper: Keeper,
    guards: Guards,
    inputs: Inputs,
    world: Arc<World>,
    review: Review,
    hooks: hooks::Runner,
    own: own::Own,
    /// The way in for agents.
    door: agents::Way,
    /// Tools that are about to join or leave.
    joining: Joining,
    /// Descriptions that are about to be looked at anew.
    looking: looking::Looking,
    /// MCP servers.
    servers: mcp::Servers,
}

/// A call that has its place in its session's order and has not run yet. Dropped, it gives its place up.
pub struct Admitted {
    params: CallParams,
    session: Arc<Session>,
    /// Of the session, when the call came.
    epoch: u64,
    /// Counts the calls of the session; names the call and its output where the caller names none.
    number: u64,
    call_id: String,
    cancel: CancellationToken,
    /// It as the calls see it that it makes; it holds its ticket.
    lineage: Arc<Lineage>,
    /// Keeps it on the list of open calls.
    _open: OpenCall,
    since: Instant,
    /// Why it will not run, whatever it is.
    misfit: Option<ToolError>,
    /// Its place in a batch.
    member: Option<Member>,
    /// What was read for it before it came.
    early: Option<Early>,
    /// Tools that were about to join or leave when it came: it waits until they have.
    after: joining::Mark,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.lineage.release();
    }
}

impl Admitted {
    /// Cancels the call, before or while it runs.
    pub fn canceller(&self) -> CancellationToken {
        self.cancel.clone()
    }
}

/// What comes to be known of a call while it lives, and is there however it ends.
#[derive(Default)]
struct Course {
    asking: Asking,
    timing: Timing,
    made: Option<Made>,
    watched: Watched,
    beside: Beside,
    /// What was read for it before it came, until it is used.
    early: Option<Early>,
}

/// A call whose tool and arguments are known.
struct Call<'a> {
    params: &'a CallParams,
    id: &'a str,
    entry: &'a Entry,
    /// The canonical arguments.
    arguments: serde_json::Value,
    context: Context,
    budget: Budget,
    timing: &'a mut Timing,
    /// It as the calls see it that it makes; a preview makes none.
    lineage: Option<&'a Arc<Lineage>>,
    /// Tells of it.
    reporter: Option<&'a Reporter>,
    /// Its place in a batch.
    member: Option<&'a Member>,
    /// Who makes its changes, where a person makes what another call proposed.
    maker: Option<By>,
}

impl Call<'_> {
    fn limits(&self) -> Limits<'_> {
        let traits = self.entry.traits();
        Limits {
            tool: traits.name,
            deadline: traits.deadline,
            winds_down: self.entry.tool.winds_down(),
            clock: &*self.context.workspace.ports.clock,
            cancel: &self.context.cancel,
            lineage: self.lineage.map(|lineage| &**lineage),
        }
    }
}

impl Dispatch {
    /// A dispatch over the built-in tools.
    pub fn new(
        workspace: Arc<Workspace>,
        languages: Arc<Languages>,
        sessions: Arc<Sessions>,
        trust: Arc<Trust>,
    ) -> Arc<Dispatch> {
        Dispatch::with(Registry::built_in(), workspace, languages, sessions, trust)
    }

    /// A dispatch over any tools, each with the rule for its calls.
    pub fn over(
        tools: impl IntoIterator<Item = (Arc<dyn AnyTool>, Rule)>,
        workspace: Arc<Workspace>,
        languages: Arc<Languages>,
        sessions: Arc<Sessions>,
        trust: Arc<Trust>,
    ) -> Arc<Dispatch> {
        Dispatch::with(Registry::new(tools), workspace, languages, sessions, trust)
    }

    fn with(
        tools: Registry,
        workspace: Arc<Workspace>,
        languages: Arc<Languages>,
        sessions: Arc<Sessions>,
        trust: Arc<Trust>,
    ) -> Arc<Dispatch> {
        let files = Arc::clone(&workspace);
        let tools = tools.under(move || (files.settings(), files.editor.abilities()));
        let jobs = Jobs::new(Arc::clone(&workspace.editor), Arc::clone(&workspace.ports.clock));
        let world = Arc::<World>::default();
        let heard = Arc::clone(&world);
        workspace.documents.listen(Box::new(move |_| heard.changed()));
        let programs = Arc::new(SystemPrograms::new(Arc::clone(&workspace.ports.clock)));
        Arc::new_cyclic(|me| Dispatch {
            tools,
            me: Weak::clone(me),
            workspace,
            languages,
            sessions,
            trust,
            schedule: Arc::default(),
            calls: Arc::default(),
            previews: Previews::default(),
            late: Late::default(),
            approvals: Approvals::default(),
            rounds: Rounds::default(),
            kin: Kinship::default(),
            nested: TaskTracker::new(),
            jobs,
            keeper: Keeper::default(),
            guards: Guards::default(),
            inputs: Inputs::default(),
            world,
            review: Review::default(),
            joining: Joining::default(),
            looking: looking::Looking::default(),
            door: agents::Way::default(),
            servers: mcp::Servers::default(),
            hooks: hooks::Runner::new(programs),
            own: own::Own::default(),
        })
    }

    /// Runs an admitted call to its one result, whatever happens: cancel, panic, deadline.
    pub async fn run(&self, mut admitted: Admitted) -> CallResult {
        let params = std::mem::take(&mut admitted.params);
        let mut course = Course { early: admitted.early.take(), ..Course::default() };
        let Admitted { session, call_id, lineage, .. } = &admitted;
        session.ready(&*self.workspace.ports.clock).await;
        self.joining.after(admitted.after).await;
        self.servers_called(session, &params.name, &admitted.cancel).await;
        self.workspace.recovered().await;
        let settings = self.workspace.settings();
        let budget = Budget::new(&settings.output, session.wanted().max_bytes(params.max_bytes));
        let token = params.work_done_token.as_ref();
        let reporter = Reporter::new(&self.workspace.editor, &session.id, call_id, token);
        let context = Context {
            slot: self.slot(Some(lineage)),
            progress: reporter.progress.clone(),
            call: Arc::from(call_id.as_str()),
            ..self.context(session, params.apply, admitted.cancel.clone(), budget.max)
        };
        if context.workspace.proposes() {
            lineage.propose();
        }
        let name = self
            .tools
            .find(session, &params.name)
            .map_or_else(|_| params.name.clone(), |entry| entry.traits().name.to_owned());
        let ended = if let Some(misfit) = admitted.misfit.clone() {
            Err(misfit)
        } else {
            let living = self.live(&params, &admitted, context, budget, &reporter, &mut course);
            // Boxed, for the future of a whole life is large and would be moved about with everything that holds it.
            contained(&name, Box::pin(living)).await.unwrap_or_else(Err)
        };
        lineage.finished().await;
        let Course { asking, timing, made, mut watched, beside, early } = course;
        drop(early);
        // Of a session that was closed or reset meanwhile nothing is remembered of what was begun before.
        let current = session.epoch() == admitted.epoch;
        if current {
            if let Some(source) = shape::elsewhere(&ended) {
                session.heard(params.turn_id.as_deref(), source);
            }
            self.watched(session, params.turn_id.as_deref(), &name, &mut watched, failure(&ended), made.as_ref()).await;
        }
        let notes = std::mem::take(&mut watched.notes);
        lineage.release();
        if let Some(member) = &admitted.member {
            member.arrive();
        }
        let real = made.as_ref().filter(|made| current && !made.proposed);
        if let Some(report) = real.and_then(|made| made.report.as_ref()) {
            self.late.reported(&session.id, report);
        }
        if let Some(news) = self.languages.late() {
            self.late.came(news);
        }
        let jobs = self.jobs.told(&session.id);
        let agents = if current { session.agents_told() } else { Vec::new() };
        let words = asking.words().into_iter().chain(notes).chain(jobs.said).chain(change::told_jobs(&jobs.ended));
        let words = words.chain(agents);
        if let Some(made) = &made {
            self.reviewable(made);
        }
        let proposed = if current { self.told_proposals(session) } else { None };
        let judged = self.judged(&session.id).await;
        let words = words.chain(proposed).chain(self.workspace.recovery_news()).chain(judged).collect();
        let changed = made.is_some();
        let ending = Ending { done: ended, made, news: self.late.take(&session.id), words };
        let folders = self.workspace.roots().folders;
        let named = shape::Named { call_id: call_id.clone(), name, number: admitted.number, folders };
        let keeping = shape::Keeping { keeper: &self.keeper, session, settings: &settings.output, budget };
        let mut shaped = shape::shape(ending, named, &keeping, timing);
        if !shaped.entire && !changed {
            // What was cut out of the answer was not shown, whatever the tool thought it showed.
            session.forget_calls(&BTreeSet::from([call_id.as_str()]));
        }
        self.after(&mut shaped.result, beside, &session.id, &admitted.cancel).await;
        let last = reporter.end(shaped.result.status, || shaped.detail(&settings.output));
        match &admitted.member {
            Some(member) => member.ended(last),
            None => self.tell(last),
        }
        let (session, epoch) = (Arc::clone(session), admitted.epoch);
        self.round_seen(&session);
        drop(admitted);
        self.round_over(&session);
        self.sessions.rest(&session.id);
        if session.epoch() != epoch && !self.sessions.is_open(&session) {
            self.ended_after(&session);
        }
        shaped.result
    }

    /// A call ended after its session: what it left is dropped, unless that belongs to a new session of the same name.
    fn ended_after(&self, session: &Session) {
        self.keeper.remove(session.outputs().clear());
        if !self.sessions.knows(&session.id) {
            self.drop_session(&session.id);
            self.workspace.proposals.forget(&session.id);
        }
    }

    /// The straight line. What was changed is put into `made` as soon as it is, so that it is told however this ends.
    async fn live(
        &self,
        params: &CallParams,
        admitted: &Admitted,
        context: Context,
        budget: Budget,
        reporter: &Reporter,
        course: &mut Course,
    ) -> Result<shape::Done, ToolError> {
        let Course { asking, timing, made, watched, beside, early } = course;
        if params.truncated {
            return Err(arguments::truncated(&params.name));
        }
        let lineage = &admitted.lineage;
        let found = self.tools.find(&context.session, &params.name)?;
        let entry = &*found;
        if lineage.shared && !entry.shared() {
            return Err(replaced(entry.traits().name));
        }
        let ready = entry.ready(params.arguments.as_ref());
        let ready = first_use::known(&context.session, entry, params.arguments.as_ref(), ready)?;
        if ready.synthesized {
            beside.told.push(unread::told(&ready.repairs));
        }
        let arguments = ready.arguments;

        let clock = Arc::clone(&self.workspace.ports.clock);
        if let Some(ticket) = lineage.ticket() {
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => return Err(cancelled("before it started")),
                () = ticket.turn() => {}
            }
        }
        timing.queued_ms = millis(clock.now() - admitted.since);
        // While it waited, the tool may have left, or been turned off in the session.
        if !Arc::ptr_eq(&found, &self.tools.find(&context.session, &params.name)?) {
            return Err(replaced(entry.traits().name));
        }
        let _changing = self.world.during(entry);
        self.activate(&context.session, entry);
        reporter.start(entry.traits().name, entry.traits().title);

        let (lineage, reporter, member) = (Some(lineage), Some(reporter), admitted.member.as_ref());
        let id = &admitted.call_id;
        let maker = None;
        let mut call = Call { params, id, entry, arguments, context, budget, timing, lineage, reporter, member, maker };
        self.heeded().await;
        self.before(&mut call, beside).await?;
        self.guarded(&call, watched).await?;
        let mut rounds = 0;
        loop {
            let mut proposal = self.cleared(&mut call, asking).await?;
            call.context.footing = std::mem::take(&mut proposal.outline.footing);
            watched.rename(&call);
            if let Some(member) = member {
                member.cleared();
            }
            self.runs(&call, beside);
            match proposal.plan? {
                Planned::Run => {
                    if proposal.outline.fetches() {
                        let turn = params.turn_id.as_deref();
                        call.context.session.heard(turn, "a command that talks to other machines");
                    }
                    let started = clock.now();
                    let _waiting = self.waits_for_person(&call);
                    let outcome = self.ran(early.take(), &call).await;
                    call.timing.run_ms = millis(clock.now() - started);
                    return shape::Done::of(outcome, entry.traits(), &proposal.outline.access);
                }
                Planned::Change(changes) => {
                    let so_far = made.insert(Made::default());
                    if call.context.cancel.is_cancelled() {
                        return Err(cancelled("before anything was changed"));
                    }
                    let done = if Dispatch::proposing(&call, &changes) {
                        self.lay(&mut call, &changes, so_far, admitted.epoch).await
                    } else {
                        self.make(&mut call, &changes, so_far).await
                    };
                    let stopped = match done {
                        Ok(()) => None,
                        Err(Stopped::Again(_)) if rounds < ROUNDS => {
                            rounds += 1;
                            continue;
                        }
                        Err(Stopped::Again(error) | Stopped::Failed(error)) => Some(error),
                    };
                    // Remembered before the next call starts, which is judged by it.
                    if call.context.session.epoch() == admitted.epoch {
                        let (session, turn) = (&call.context.session, params.turn_id.as_deref());
                        let tool = entry.traits().name;
                        self.watched(session, turn, tool, watched, stopped.as_ref(), Some(so_far)).await;
                    }
                    // The next call may start: nothing is waited for any more but what others say of the change.
                    admitted.lineage.release();
                    if !so_far.proposed {
                        self.settle(&mut call, so_far).await;
                    }
                    return stopped.map_or(Ok(shape::Done::Changed), Err);
                }
            }
        }
    }

    /// The way back into the slot, as the tool of a call holds it.
    fn slot(&self, lineage: Option<&Arc<Lineage>>) -> Arc<Inside> {
        Arc::new(Inside { dispatch: Weak::clone(&self.me), lineage: lineage.cloned() })
    }

    /// What a tool gets that makes no calls and is not listened to.
    fn context(
        &self,
        session: &Arc<Session>,
        apply: Option<Apply>,
        cancel: CancellationToken,
        budget: usize,
    ) -> Context {
        Context {
            session: Arc::clone(session),
            workspace: self.bound(session, apply),
            languages: Arc::clone(&self.languages),
            cancel,
            budget,
            slot: self.slot(None),
            progress: Progress::default(),
            jobs: Arc::clone(&self.jobs),
            programs: self.hooks.programs(),
            spill: self.keeper.place(&self.workspace.settings().output),
            call: Arc::from(""),
            footing: Footing::default(),
            trust: Arc::clone(&self.trust),
        }
    }

    /// A file changed, by whomever: what was looked at before may look otherwise now.
    pub fn world_changed(&self) {
        self.world.changed();
    }

    fn tell(&self, event: Option<ToolEvent>) {
        if let Some(event) = event {
            self.workspace.editor.tell(News::Tool(event));
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The refusal of a call whose tool is not the one any more that it was admitted for.
fn replaced(tool: &str) -> ToolError {
    ToolError::new(
        crate::tool::ErrorKind::Unavailable,
        format!(
            "`{tool}` was replaced by another tool of that name while the call waited; nothing was run. Look at the \
                 list of tools, and send the call again if it still fits."
        ),
    )
}

/// How much of a change was made, for a call that makes changes.
fn applied(made: &Made, failed: Option<&ToolError>) -> Option<AppliedPart> {
    match (made.edits.is_empty(), failed) {
        _ if made.proposed => Some(AppliedPart::None),
        (_, None) => Some(AppliedPart::All),
        (false, Some(_)) => Some(AppliedPart::Some),
        // Sent, and nobody can say whether it landed: none of the three is true.
        (true, Some(error)) if error.kind == crate::tool::ErrorKind::Unknown => None,
        (true, Some(_)) => Some(AppliedPart::None),
    }
}
