//! The life of a call, in one straight line; one file a stage.
//!
//! Name, arguments, coercion, validation (pure, at once) · turn (`schedule`) · what it would do (`propose`) · consent
//! (`approve`) · running it (`execute`) or making its changes (`change`) · diagnostics, the turn given up · `shape`.
//! However a call ends, it ends in exactly one [`CallResult`].

mod approve;
mod arguments;
pub mod call;
mod calls;
mod catalog;
mod change;
mod coerce;
mod early;
mod execute;
mod hooks;
mod ids;
mod input;
mod late;
mod names;
mod preview;
mod propose;
mod schedule;
mod shape;
#[cfg(test)]
mod tests;
mod unread;
mod validate;

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::debug;

pub use call::{CallParams, CallResult, ListToolsParams, PreviewResult, Status, ToolInfo};
pub use input::ToolInputParams;

use crate::editor::{News, ToolEvent, ToolEventKind};
use crate::languages::Languages;
use crate::outputs::Budget;
use crate::permissions::{Rule, Trust};
use crate::process::SystemPrograms;
use crate::sessions::{DEFAULT_SESSION, Session, Sessions};
use crate::tool::{AnyTool, Context, Listed, Slot, ToolError};
use crate::tools;
use crate::workspace::Workspace;

use approve::Asking;
use call::{AppliedPart, Timing};
use calls::{Calls, OpenCall};
use catalog::{Entry, Registry};
use change::{Made, Stopped};
use early::{Changes, Early};
use execute::{Limits, cancelled, contained};
use hooks::Beside;
use input::{Claimed, Inputs};
use late::Late;
use preview::Previews;
use propose::Planned;
use schedule::{Schedule, Ticket};
use shape::Ending;

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
    inputs: Inputs,
    /// Counts what may change what tools see.
    changes: Arc<Changes>,
    hooks: hooks::Runner,
}

/// A call that has its place in its session's order and has not run yet. Dropped, it gives its place up.
pub struct Admitted {
    params: CallParams,
    session: Arc<Session>,
    /// Counts the calls of the session; names the call and its output where the caller names none.
    number: u64,
    call_id: String,
    cancel: CancellationToken,
    ticket: Ticket,
    open: OpenCall,
    since: Instant,
    /// Why it will not run, whatever it is.
    misfit: Option<ToolError>,
    /// What was read for it before it came.
    early: Option<Early>,
}

impl Admitted {
    /// Cancels the call, before or while it runs.
    pub fn canceller(&self) -> CancellationToken {
        self.cancel.clone()
    }
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
}

impl Call<'_> {
    fn limits(&self) -> Limits<'_> {
        let traits = self.entry.traits();
        Limits {
            tool: traits.name,
            deadline: traits.deadline,
            clock: &*self.context.workspace.ports.clock,
            cancel: &self.context.cancel,
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
        let built_in = tools::table().into_iter().map(|tool| {
            let rule = Rule::of(tool.traits().name);
            (tool, rule)
        });
        Dispatch::over(built_in, workspace, languages, sessions, trust)
    }

    /// A dispatch over any tools, each with the rule for its calls.
    pub fn over(
        tools: impl IntoIterator<Item = (Arc<dyn AnyTool>, Rule)>,
        workspace: Arc<Workspace>,
        languages: Arc<Languages>,
        sessions: Arc<Sessions>,
        trust: Arc<Trust>,
    ) -> Arc<Dispatch> {
        let tools = Registry::new(tools);
        let changes = Arc::<Changes>::default();
        let heard = Arc::clone(&changes);
        workspace.documents.listen(Box::new(move |_| heard.one()));
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
            inputs: Inputs::default(),
            changes,
            hooks: hooks::Runner::new(programs),
        })
    }

    /// The tools, sorted, byte for byte the same each time.
    pub fn list_tools(&self, params: &ListToolsParams) -> Vec<ToolInfo> {
        let session = self.session(params.session_id.as_deref());
        self.tools.of(&session).iter().map(|entry| entry.info()).collect()
    }

    /// Gives a call its ticket. Synchronous, so that the order of arrival is the order of tickets; never blocks.
    pub fn admit(&self, mut params: CallParams) -> Admitted {
        let Claimed { early, misfit } = self.claim(&mut params);
        let misfit = misfit.or_else(|| ids::misfit(&params));
        let session = self.session(params.session_id.as_deref());
        let number = session.next_call();
        let call_id = params.call_id.as_deref().map_or_else(|| format!("c{number}"), |id| ids::told(id).into_owned());
        let (tool, shared) = match self.tools.find(&session, &params.name) {
            Ok(entry) => (entry.traits().name.to_owned(), entry.shared()),
            Err(_) => (params.name.clone(), false),
        };
        let cancel = CancellationToken::new();
        let open = self.calls.open(calls::Call {
            session: session.id.clone(),
            id: call_id.clone(),
            turn: params.turn_id.as_deref().map(|id| ids::told(id).into_owned()),
            tool,
            cancel: cancel.clone(),
        });
        let ticket = self.schedule.take(&session.id, shared);
        let since = self.workspace.ports.clock.now();
        Admitted { params, session, number, call_id, cancel, ticket, open, since, misfit, early }
    }

    /// The session of a name. One whose name is not taken lives only for what is asked of it.
    fn session(&self, id: Option<&str>) -> Arc<Session> {
        if let Some(long) = id.filter(|id| id.len() > ids::MAX_ID_BYTES) {
            return Arc::new(Session::new(&ids::told(long)));
        }
        let (session, dropped) = self.sessions.open(id);
        for gone in dropped {
            debug!(session = gone, "dropped a session that was idle for long");
            self.previews.forget(&gone);
            self.late.forget(&gone);
            self.inputs.forget(&gone);
        }
        session
    }

    /// Runs an admitted call to its one result, whatever happens: cancel, panic, deadline.
    pub async fn run(&self, admitted: Admitted) -> CallResult {
        let Admitted { params, session, number, call_id, cancel, ticket, open, since, misfit, early } = admitted;
        let settings = self.workspace.settings();
        let budget = Budget::new(&settings.output, params.max_bytes);
        let context = Context {
            session: Arc::clone(&session),
            workspace: Arc::clone(&self.workspace),
            languages: Arc::clone(&self.languages),
            cancel: cancel.clone(),
            budget: budget.max,
            slot: self.slot(),
        };
        let (mut timing, mut made) = (Timing::default(), None);
        let mut beside = Beside::default();
        let name = self
            .tools
            .find(&session, &params.name)
            .map_or_else(|_| params.name.clone(), |entry| entry.traits().name.to_owned());
        let ended = if let Some(misfit) = misfit {
            Err(misfit)
        } else {
            let living = self.live(
                &params,
                &call_id,
                context,
                budget,
                ticket,
                since,
                &mut timing,
                &mut made,
                early,
                &mut beside,
            );
            // Boxed, for the future of a whole life is large and would be moved about with everything that holds it.
            contained(&name, Box::pin(living)).await.unwrap_or_else(Err)
        };
        if let Some(report) = made.as_ref().and_then(|made| made.report.as_ref()) {
            self.late.reported(&session.id, report);
        }
        if let Some(news) = self.languages.late() {
            self.late.came(news);
        }
        let ending = Ending { done: ended, made, news: self.late.take(&session.id) };
        let folders = self.workspace.roots().folders;
        let named = shape::Named { call_id, name, number, folders };
        let mut result = shape::shape(ending, named, &session, budget, timing);
        self.after(&mut result, beside, &session.id, &cancel).await;
        self.tell(&session, &result.call_id, ToolEventKind::Complete, None, || serde_json::to_value(&result).ok());
        drop(open);
        self.sessions.rest(&session.id);
        result
    }

    /// The straight line. What was changed is put into `made` as soon as it is, so that it is told however this ends.
    #[expect(clippy::too_many_arguments, reason = "the one caller owns each of these for its own end")]
    async fn live(
        &self,
        params: &CallParams,
        call_id: &str,
        context: Context,
        budget: Budget,
        ticket: Ticket,
        since: Instant,
        timing: &mut Timing,
        made: &mut Option<Made>,
        mut early: Option<Early>,
        beside: &mut Beside,
    ) -> Result<shape::Done, ToolError> {
        if params.truncated {
            return Err(arguments::truncated(&params.name));
        }
        let entry = &*self.tools.find(&context.session, &params.name)?;
        let catalog::Ready { arguments, repairs, synthesized } = entry.ready(params.arguments.as_ref())?;
        if synthesized {
            beside.told.push(unread::told(&repairs));
        }

        let clock = Arc::clone(&self.workspace.ports.clock);
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => return Err(cancelled("before it started")),
            () = ticket.turn() => {}
        }
        timing.queued_ms = millis(clock.now() - since);
        let _changing = self.changes.during(entry);
        self.tell(&context.session, call_id, ToolEventKind::Start, Some(entry.traits().name), || None);

        let mut call = Call { params, id: call_id, entry, arguments, context, budget, timing };
        self.before(&mut call, beside).await?;
        let mut asking = Asking::default();
        loop {
            let proposal = self.cleared(&mut call, &mut asking).await?;
            self.runs(&call, beside);
            match proposal.plan? {
                Planned::Run => {
                    let started = clock.now();
                    let running = self.run_or_take(early.take(), &call);
                    let outcome = call.limits().bound(running).await;
                    call.timing.run_ms = millis(clock.now() - started);
                    return outcome.map(shape::Done::Ran);
                }
                Planned::Change(changes) => {
                    let so_far = made.insert(Made::default());
                    if call.context.cancel.is_cancelled() {
                        return Err(cancelled("before anything was changed"));
                    }
                    let stopped = match self.make(&mut call, &changes, so_far).await {
                        Ok(()) => None,
                        Err(Stopped::AskAgain) => continue,
                        Err(Stopped::Failed(error)) => Some(error),
                    };
                    // The next call may start: nothing is waited for any more but what others say of the change.
                    drop(ticket);
                    let report = self.settle(&mut call, std::mem::take(&mut so_far.settling)).await;
                    so_far.report = report;
                    return stopped.map_or(Ok(shape::Done::Changed), Err);
                }
            }
        }
    }

    /// The way back into the slot, as tools hold it.
    fn slot(&self) -> Arc<dyn Slot> {
        match self.me.upgrade() {
            Some(me) => me,
            None => Arc::new(Closed),
        }
    }

    /// Cancels calls of a session: one, those of a turn, or all. Answers how many were cancelled.
    pub fn cancel(&self, session_id: Option<&str>, call_id: Option<&str>, turn_id: Option<&str>) -> usize {
        let session = session_id.unwrap_or(DEFAULT_SESSION);
        self.inputs.cancel(session, call_id, turn_id);
        self.calls.cancel(|call| {
            call.session == session
                && call_id.is_none_or(|id| call.id == id)
                && turn_id.is_none_or(|id| call.turn.as_deref() == Some(id))
        })
    }

    /// Cancels everything, for the end of the process.
    pub fn cancel_all(&self) {
        self.inputs.forget_all();
        self.calls.cancel(|_| true);
    }

    /// Files changed on the disk, as far as the editor knows.
    pub fn files_changed(&self) {
        self.changes.one();
    }

    /// The calls that have not ended, as `session/call tool`, sorted.
    pub fn open_calls(&self) -> Vec<String> {
        self.calls.told()
    }

    fn tell(
        &self,
        session: &Session,
        call_id: &str,
        kind: ToolEventKind,
        name: Option<&str>,
        detail: impl FnOnce() -> Option<serde_json::Value>,
    ) {
        let editor = &self.workspace.editor;
        if editor.abilities().events {
            editor.tell(News::Tool(ToolEvent {
                session_id: session.id.clone(),
                call_id: call_id.to_owned(),
                kind,
                name: name.map(str::to_owned),
                detail: detail(),
            }));
        }
    }
}

impl Slot for Dispatch {
    fn catalog(&self, session: &Session) -> Vec<Listed> {
        self.tools.of(session).iter().map(|entry| entry.listed()).collect()
    }
}

/// The slot of a dispatch that is gone.
struct Closed;

impl Slot for Closed {
    fn catalog(&self, _: &Session) -> Vec<Listed> {
        Vec::new()
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// How much of a change was made, for a call that makes changes.
fn applied(made: &Made, failed: Option<&ToolError>) -> Option<AppliedPart> {
    match (made.edits.is_empty(), failed) {
        (_, None) => Some(AppliedPart::All),
        (false, Some(_)) => Some(AppliedPart::Some),
        // Sent, and nobody can say whether it landed: none of the three is true.
        (true, Some(error)) if error.kind == crate::tool::ErrorKind::Unknown => None,
        (true, Some(_)) => Some(AppliedPart::None),
    }
}
