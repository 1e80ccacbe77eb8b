//! Guards against going round in circles, within one turn of the model: the same look at the same world, the same edit
//! that failed on the same text, a tool that fails again and again, edits that undo each other.
//!
//! The state machine of a turn is pure. Calls that name no turn are only warned: nobody says when their turn is over.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::config::GuardSettings;
use crate::editor::JobState;
use crate::permissions::Rule;
use crate::sessions::Session;
use crate::sessions::requests::{ToolFailures, TurnStatus};
use crate::text;
use crate::tool::{Capability, ErrorKind, ToolError};
use crate::workspace::{Key, RefusalKind, Workspace};

use super::change::Made;
use super::shape::Done;
use super::{Call, Dispatch};

/// The same call, with nothing changed between, runs so often.
const REPEATS: u32 = 2;
/// Failures of one tool in a row that are told.
const WARN_AFTER: u32 = 3;
/// Failures of one tool in a row that stop it.
const HALT_AFTER: u32 = 8;
/// An edit is compared with so many before it.
const EDITS: usize = 30;
/// Turns of a session that are remembered; the oldest give way.
const TURNS: usize = 8;
/// Calls, and edits that failed, that a turn remembers; the oldest give way.
const CALLS: usize = 512;
/// Tools whose failures a turn counts.
const TOOLS: usize = 256;
/// Bytes that are kept of why an edit failed.
const WHY: usize = 2000;

/// What the guards know of one turn.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// Calls that changed nothing: how often each was made, and in which state of the world last.
    made: Recent<(u32, u64)>,
    /// Edits that failed.
    failed: Recent<FailedEdit>,
    /// By tool: failures in a row.
    failures: BTreeMap<String, u32>,
    edits: VecDeque<(Key, [Option<String>; 2])>,
}

/// An edit that failed on a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FailedEdit {
    /// The hash of the text; `None`: there was none.
    hash: Option<String>,
    why: String,
}

/// How a call ended, for the guards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Good,
    Bad,
    /// It was refused, cancelled or cut off: that says nothing of the tool.
    Neither,
}

impl Turn {
    /// How often a call was made in this very state of the world.
    fn repeats(&self, key: &str, world: u64) -> u32 {
        self.made.get(key).filter(|(_, last)| *last == world).map_or(0, |(count, _)| *count)
    }

    /// A call that changes nothing was made.
    fn made(&mut self, key: &str, world: u64) {
        let count = self.repeats(key, world) + 1;
        self.made.put(key, (count, world));
    }

    /// A call of a tool ended: how often the tool failed in a row by now.
    fn ended(&mut self, tool: &str, end: End) -> u32 {
        match end {
            End::Good => drop(self.failures.remove(tool)),
            End::Bad if self.failures.len() < TOOLS || self.failures.contains_key(tool) => {
                *self.failures.entry(tool.to_owned()).or_default() += 1;
            }
            End::Bad | End::Neither => {}
        }
        self.failures.get(tool).copied().unwrap_or_default()
    }

    /// A text was changed (hashes; `None`: there was none): whether that undoes one of the last changes of it.
    fn undoes(&mut self, key: &Key, before: Option<&str>, after: Option<&str>) -> bool {
        let inverse = |(other, [from, to]): &(Key, [Option<String>; 2])| {
            other == key && from.as_deref() == after && to.as_deref() == before
        };
        let undoes = before != after && self.edits.iter().any(inverse);
        self.edits.push_back((key.clone(), [before.map(str::to_owned), after.map(str::to_owned)]));
        if self.edits.len() > EDITS {
            self.edits.pop_front();
        }
        undoes
    }

    fn halted(&self, tool: &str) -> bool {
        self.failures.get(tool).is_some_and(|count| *count >= HALT_AFTER)
    }
}

/// A map that forgets the oldest entries.
#[derive(Debug)]
struct Recent<T> {
    values: HashMap<String, T>,
    order: VecDeque<String>,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Recent { values: HashMap::new(), order: VecDeque::new() }
    }
}

impl<T> Recent<T> {
    fn get(&self, key: &str) -> Option<&T> {
        self.values.get(key)
    }

    fn put(&mut self, key: &str, value: T) {
        if self.values.insert(key.to_owned(), value).is_none() {
            self.order.push_back(key.to_owned());
            if self.order.len() > CALLS
                && let Some(oldest) = self.order.pop_front()
            {
                self.values.remove(&oldest);
            }
        }
    }
}

/// The last turns of a session; the one without a name is that of calls that name none.
type Turns = VecDeque<(Option<String>, Turn)>;

/// The turns of all sessions.
#[derive(Default)]
pub(super) struct Guards {
    turns: Mutex<HashMap<String, Turns>>,
}

impl Guards {
    /// A turn is over.
    pub(super) fn end_turn(&self, session: &str, turn: &str) {
        if let Some(turns) = self.lock().get_mut(session) {
            turns.retain(|(name, _)| name.as_deref() != Some(turn));
        }
    }

    /// A session is gone, or begins anew.
    pub(super) fn forget(&self, session: &str) {
        self.lock().remove(session);
    }

    /// What is held against a session's turns.
    pub(super) fn status(&self, session: &str) -> Vec<TurnStatus> {
        let all = self.lock();
        let status = |(name, turn): &(Option<String>, Turn)| TurnStatus {
            turn_id: name.clone(),
            failures: turn
                .failures
                .iter()
                .map(|(tool, count)| ToolFailures {
                    name: tool.clone(),
                    in_a_row: *count,
                    halted: name.is_some() && turn.halted(tool),
                })
                .collect(),
        };
        let mut status: Vec<TurnStatus> = all.get(session).into_iter().flatten().map(status).collect();
        status.sort_by(|a, b| a.turn_id.cmp(&b.turn_id));
        status
    }

    fn within<R>(&self, session: &str, turn: Option<&str>, act: impl FnOnce(&mut Turn) -> R) -> R {
        let mut all = self.lock();
        let turns = all.entry(session.to_owned()).or_default();
        // The one used last is at the end, so that the longest unused one gives way.
        let at = turns.iter().position(|(name, _)| name.as_deref() == turn);
        let mut found =
            at.and_then(|at| turns.remove(at)).unwrap_or_else(|| (turn.map(str::to_owned), Turn::default()));
        let answer = act(&mut found.1);
        turns.push_back(found);
        if turns.len() > TURNS {
            turns.pop_front();
        }
        answer
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Turns>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is watched of one call.
#[derive(Default)]
pub(super) struct Watched {
    /// Names the tool and its canonical arguments; `None`: it did not come so far.
    key: Option<String>,
    /// Whether it only looks at what is here.
    looks: bool,
    /// Whether it changes something in a way of its own.
    changes: bool,
    /// The one file that it would edit.
    edits: Option<String>,
    /// The state of the world when it began.
    world: u64,
    /// Whether the end of the call was remembered.
    over: bool,
    /// What there is to say.
    pub(super) notes: Vec<String>,
}

impl Watched {
    /// A person may have given the call other arguments: it goes by those from now on.
    pub(super) fn rename(&mut self, call: &Call<'_>) {
        if self.key.is_some() {
            self.key = Some(name_of(call));
            self.edits = edited(call);
        }
    }
}

/// What names a call for the guards: its tool and its canonical arguments.
fn name_of(call: &Call<'_>) -> String {
    format!("{} {}", call.entry.traits().name, text::hash(&canonical(&call.arguments).to_string()))
}

/// The one file that a call would edit.
fn edited(call: &Call<'_>) -> Option<String> {
    match call.entry.tool.access(&call.arguments).writes.as_slice() {
        [file] if call.entry.rule == Rule::Write => Some(file.clone()),
        _ => None,
    }
}

/// The error that a call ended with. A command that ran to its end with another code than 0 is none: its tool did what
/// was asked of it, and whoever mends a test runs it often.
pub(super) fn failure(done: &Result<Done, ToolError>) -> Option<&ToolError> {
    match done {
        Ok(Done::FailedAfter { error, .. }) if error.kind == ErrorKind::Failed => None,
        Ok(Done::FailedElsewhere { error, .. } | Done::FailedAfter { error, .. }) | Err(error) => Some(error),
        Ok(Done::Ran(_) | Done::Changed) => None,
    }
}

impl Dispatch {
    /// Looks at a call before it does anything. The error is why it does not run.
    pub(super) async fn guarded(&self, call: &Call<'_>, watched: &mut Watched) -> Result<(), ToolError> {
        let traits = call.entry.traits();
        let session = &call.context.session;
        let on = session.wanted().guards(&self.workspace.settings());
        let key = name_of(call);
        if self.jobs.list(&session.id).iter().any(|job| job.state == JobState::Running) {
            // Who looks at what a running job does, looks again.
            self.world.changed();
        }
        watched.looks = call.entry.shared() && !traits.capabilities.contains(&Capability::Network);
        watched.changes = !traits.read_only();
        watched.edits = edited(call);
        watched.world = self.world.changes();
        watched.key = Some(key.clone());
        let turn = call.params.turn_id.as_deref();
        let (halted, repeats, failed) = self.guards.within(&session.id, turn, |turn| {
            (turn.halted(traits.name), turn.repeats(&key, watched.world), turn.failed.get(&key).cloned())
        });
        let mut faults = Vec::new();
        if on.failures && halted {
            faults.push(("failures", format!(
                "`{}` has failed {HALT_AFTER} times in a row in this turn and is stopped until the turn is over. Go on in \
                 another way, or say what is in the way.",
                traits.name
            )));
        }
        if on.repeats && watched.looks && repeats >= REPEATS {
            faults.push(("repeats", format!(
                "This same call of `{}` was made {repeats} times already, and nothing has changed since: its answer \
                 is the one you have. Use that, or change the arguments.",
                traits.name
            )));
        }
        if on.repeats
            && let (Some(failed), Some(file)) = (failed, &watched.edits)
            && hash_of(&call.context.workspace, file).await == Some(failed.hash)
        {
            faults.push(("repeats", format!(
                "This very call of `{}` has failed already, and the text has not changed since. Change the call. It failed \
                 so: {}",
                traits.name, failed.why
            )));
        }
        let Some((guard, fault)) = faults.into_iter().next() else { return Ok(()) };
        if turn.is_none() {
            watched.notes.push(fault);
            return Ok(());
        }
        watched.key = None;
        Err(ToolError {
            kind: ErrorKind::Denied,
            message: fault,
            data: Some(serde_json::json!({ "guard": guard })),
            transient: false,
        })
    }

    /// Remembers how a call ended, once, and notes what the guards have to say of it.
    pub(super) async fn watched(
        &self,
        session: &Session,
        turn: Option<&str>,
        tool: &str,
        watched: &mut Watched,
        failed: Option<&ToolError>,
        made: Option<&Made>,
    ) {
        if std::mem::replace(&mut watched.over, true) {
            return;
        }
        let on = session.wanted().guards(&self.workspace.settings());
        let failed_kind = failed.map(|error| error.kind);
        let end = end(failed_kind);
        let Watched { key, looks, changes, edits, world, over: _, notes } = watched;
        let (looks, changes, world) = (*looks, *changes, *world);
        let failed = match (failed, &*edits) {
            // What these say depends on nothing but the arguments and the text.
            (Some(error), Some(file)) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Ambiguous) => {
                let hash = hash_of(&self.bound(session, None), file).await;
                let why = beginning(&error.message);
                hash.filter(|_| self.world.changes() == world).map(|hash| FailedEdit { hash, why })
            }
            _ => None,
        };
        // What was cancelled may have changed something before that.
        let ran = end != End::Neither || failed_kind == Some(ErrorKind::Cancelled);
        if changes && key.is_some() && ran {
            self.world.changed();
        }
        let texts = made.map(|made| made.texts.as_slice()).unwrap_or_default();
        let (in_a_row, undone) = self.guards.within(&session.id, turn, |turn| {
            if let Some(key) = key.as_deref().filter(|_| looks && end != End::Neither) {
                turn.made(key, world);
            }
            if let (Some(key), Some(failed)) = (&*key, failed) {
                turn.failed.put(key, failed);
            }
            let undone =
                |(key, before, after): &(Key, Option<String>, String)| turn.undoes(key, before.as_deref(), Some(after));
            let undone = texts.iter().map(undone).filter(|undone| *undone).count();
            (turn.ended(tool, end), undone)
        });
        notes.extend(told(tool, on, end, in_a_row, undone));
    }
}

/// What there is to say once a call has ended.
fn told(tool: &str, on: GuardSettings, end: End, in_a_row: u32, undone: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if on.failures && end == End::Bad && in_a_row == WARN_AFTER {
        notes.push(format!("`{tool}` has failed {WARN_AFTER} times in a row. Look at why before you try it again."));
    }
    if on.failures && end == End::Bad && in_a_row >= HALT_AFTER {
        notes.push(format!("`{tool}` has failed {in_a_row} times in a row: stop trying it."));
    }
    if on.undone && undone > 0 {
        notes.push(
            "This brings back a text that you changed before: it undoes that edit. Decide which of both you \
             want."
                .to_owned(),
        );
    }
    notes
}

fn end(error: Option<ErrorKind>) -> End {
    match error {
        None => End::Good,
        Some(ErrorKind::Denied | ErrorKind::Cancelled | ErrorKind::Truncated | ErrorKind::UnknownTool) => End::Neither,
        Some(_) => End::Bad,
    }
}

/// The hash of a text by its name in a call: of none where there is none; `None` when that cannot be found out.
async fn hash_of(workspace: &Workspace, file: &str) -> Option<Option<String>> {
    let target = workspace.resolve(file).ok()?;
    match workspace.view(&target).await {
        Ok(view) => Some(Some(view.hash())),
        Err(refusal) if refusal.kind == RefusalKind::NotFound => Some(None),
        Err(_) => None,
    }
}

/// The beginning of why an edit failed.
fn beginning(why: &str) -> String {
    let end = why.char_indices().map(|(at, _)| at).chain([why.len()]).take_while(|at| *at <= WHY).last();
    why[..end.unwrap_or_default()].to_owned()
}

/// The same value with the keys of every object sorted.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let sorted: BTreeMap<&String, &Value> = fields.iter().collect();
            Value::Object(sorted.into_iter().map(|(key, value)| (key.clone(), canonical(value))).collect())
        }
        Value::Array(items) => items.iter().map(canonical).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests;
