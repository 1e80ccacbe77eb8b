//! Several calls that came together: their tickets in the order of the calls, one question for neighbours, one wait for
//! diagnostics, and the ends of those that ran side by side told in reverse.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared, join_all};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::editor::{Editor, News, ToolEvent};
use crate::languages::verdict::DocumentReport;
use crate::languages::{DiagnosticsReport, Edited, Languages, Prepared, Wait, WaitMode};
use crate::workspace::Key;

use super::execute::contained;
use super::questions::Given;
use super::{Admitted, CallParams, CallResult, Dispatch};

/// `ropewalk/callTools`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BatchParams {
    /// The session of the calls that name none; absent: the default one.
    pub session_id: Option<String>,
    /// The turn of the calls that name none.
    pub turn_id: Option<String>,
    /// The calls, in the order of the model.
    pub calls: Vec<CallParams>,
}

/// The answer to `ropewalk/callTools`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BatchResult {
    /// One result for each call, in the order of the calls.
    pub results: Vec<CallResult>,
}

/// Calls that have their places in the order of their sessions and have not run yet.
pub struct AdmittedBatch {
    calls: Vec<Admitted>,
    cancel: CancellationToken,
}

impl AdmittedBatch {
    /// Cancels all of them, before or while they run.
    pub fn canceller(&self) -> CancellationToken {
        self.cancel.clone()
    }
}

/// What the calls of a batch have in common.
struct Batch {
    editor: Arc<dyn Editor>,
    languages: Arc<Languages>,
    state: Mutex<State>,
    /// A call was decided on, or a question answered.
    decided: Notify,
    /// No call makes any more changes.
    arrived: Notify,
}

struct State {
    calls: Vec<Call>,
    /// How many of them make no more changes.
    arrived: usize,
    /// The one wait for diagnostics, once all calls have come as far.
    together: Option<Shared<BoxFuture<'static, Arc<Together>>>>,
}

/// A call as the others of its batch see it.
struct Call {
    id: String,
    session: String,
    params: Arc<CallParams>,
    cancel: CancellationToken,
    /// The calls of the batch, from the first to behind the last, that may run side by side with it.
    beside: (usize, usize),
    /// Whether it may yet have to be asked about.
    undecided: bool,
    question: Question,
    /// It makes no more changes.
    arrived: bool,
    /// The changes it made, and how long it would wait for what is said of them.
    edits: Option<(Vec<(Prepared, Edited)>, Wait)>,
    /// It has ended.
    ended: bool,
    /// Its last event, if anybody wants to hear of it and has not.
    last: Option<ToolEvent>,
}

/// How far the question about a call is that was asked with another one.
enum Question {
    None,
    Open,
    Answered(Box<Given>),
}

/// What a call that has to be asked about finds.
pub(super) enum Place {
    /// It was asked about already.
    Answered(Box<Given>),
    /// It has to be asked about now.
    Lead,
}

/// What the one wait for diagnostics brought.
struct Together {
    /// `None`: it broke down.
    report: Option<DiagnosticsReport>,
    /// The documents of the report, in its order, each with the last call that edited it.
    documents: Vec<(Key, usize)>,
    /// The last call that edited anything.
    last: usize,
}

/// The place of a call in its batch. Dropped, the others wait for it no more.
pub(super) struct Member {
    batch: Arc<Batch>,
    pub index: usize,
}

impl Dispatch {
    /// Gives the calls of a batch their tickets, in their order. Synchronous; never blocks.
    pub fn admit_batch(&self, params: BatchParams) -> AdmittedBatch {
        let BatchParams { session_id, turn_id, calls } = params;
        let cancel = CancellationToken::new();
        let mut admitted: Vec<Admitted> = calls
            .into_iter()
            .map(|call| {
                let session_id = call.session_id.clone().or_else(|| session_id.clone());
                let turn_id = call.turn_id.clone().or_else(|| turn_id.clone());
                self.admit_as(CallParams { session_id, turn_id, ..call }, None, None, cancel.child_token())
            })
            .collect();
        let runs =
            runs(&admitted.iter().map(|call| (call.session.id.as_str(), call.lineage.shared)).collect::<Vec<_>>());
        let calls = admitted
            .iter()
            .zip(runs)
            .map(|(call, beside)| Call {
                id: call.call_id.clone(),
                session: call.session.id.clone(),
                params: Arc::new(call.params.clone()),
                cancel: call.cancel.clone(),
                beside,
                undecided: true,
                question: Question::None,
                arrived: false,
                edits: None,
                ended: false,
                last: None,
            })
            .collect();
        let batch = Arc::new(Batch {
            editor: Arc::clone(&self.workspace.editor),
            languages: Arc::clone(&self.languages),
            state: Mutex::new(State { calls, arrived: 0, together: None }),
            decided: Notify::new(),
            arrived: Notify::new(),
        });
        for (index, call) in admitted.iter_mut().enumerate() {
            call.member = Some(Member { batch: Arc::clone(&batch), index });
        }
        AdmittedBatch { calls: admitted, cancel }
    }

    /// Runs the calls of a batch, each to its one result; a failure stays in its place.
    pub async fn run_batch(&self, batch: AdmittedBatch) -> BatchResult {
        // In one task: what is ready at the same time goes on in the order of the calls, every time.
        let results = join_all(batch.calls.into_iter().map(|call| Box::pin(self.run(call)))).await;
        BatchResult { results }
    }
}

/// For each call of a batch (its session, and whether it may run beside others) the run of neighbours that it is in.
fn runs(calls: &[(&str, bool)]) -> Vec<(usize, usize)> {
    let mut runs = Vec::with_capacity(calls.len());
    for run in calls.chunk_by(|a, b| a.1 && b.1 && a.0 == b.0) {
        let first = runs.len();
        runs.extend(std::iter::repeat_n((first, first + run.len()), run.len()));
    }
    runs
}

impl Batch {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A change that those wait for who have to be asked about.
    fn decide(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.decided.notify_waiters();
    }

    /// A call makes no more changes than these, and is not asked about any more.
    fn arrive(&self, index: usize, edits: Option<(Vec<(Prepared, Edited)>, Wait)>) {
        let mut state = self.lock();
        let call = &mut state.calls[index];
        let (decided, first) = (std::mem::take(&mut call.undecided), !std::mem::replace(&mut call.arrived, true));
        if first {
            call.edits = edits;
            state.arrived += 1;
        }
        let all = first && state.arrived == state.calls.len();
        drop(state);
        if decided {
            self.decided.notify_waiters();
        }
        if all {
            self.arrived.notify_waiters();
        }
    }

    /// Waits until the state gives something; looks again when `changed` says so.
    async fn when<T>(&self, changed: &Notify, mut look: impl FnMut(&mut State) -> Option<T>) -> T {
        loop {
            // Before the look: a change between it and the wait is not missed.
            let changed = changed.notified();
            if let Some(found) = look(&mut self.lock()) {
                return found;
            }
            changed.await;
        }
    }

    /// The one wait for diagnostics, once no call of the batch makes any more changes.
    fn together(&self, state: &mut State) -> Option<Shared<BoxFuture<'static, Arc<Together>>>> {
        let State { calls, arrived, together } = state;
        if *arrived < calls.len() {
            return None;
        }
        Some(together.get_or_insert_with(|| self.settle(calls).boxed().shared()).clone())
    }

    fn settle(&self, calls: &mut [Call]) -> impl Future<Output = Arc<Together>> + Send + use<> {
        let (mut edits, mut wait, mut documents) = (Vec::new(), None, Vec::<(Key, usize)>::new());
        let mut last = 0;
        for (index, call) in calls.iter_mut().enumerate() {
            let Some((made, own)) = call.edits.take() else { continue };
            for (_, edited) in &made {
                match documents.iter_mut().find(|(key, _)| *key == edited.target.key) {
                    Some((_, owner)) => *owner = index,
                    None => documents.push((edited.target.key.clone(), index)),
                }
            }
            last = index;
            edits.extend(made);
            wait = Some(wait.map_or(own.clone(), |wait| longest(wait, own)));
        }
        let languages = Arc::clone(&self.languages);
        async move {
            let (wait, never) = (wait.unwrap_or_default(), CancellationToken::new());
            let report = contained("diagnostics", languages.settle(edits, &wait, &never)).await.ok();
            Arc::new(Together { report, documents, last })
        }
    }
}

/// What serves both waits.
fn longest(one: Wait, other: Wait) -> Wait {
    let rank = |mode: WaitMode| match mode {
        WaitMode::None => 0,
        WaitMode::Auto => 1,
        WaitMode::Fresh => 2,
    };
    Wait {
        wait: if rank(one.wait) >= rank(other.wait) { one.wait } else { other.wait },
        deadline_ms: one.deadline_ms.zip(other.deadline_ms).map(|(one, other)| one.max(other)),
        sources: one.sources.zip(other.sources).map(|(mut one, other)| {
            one.extend(other);
            one.sort_unstable();
            one.dedup();
            one
        }),
    }
}

impl Member {
    /// Names the batch, for as long as calls of it are open.
    pub(super) fn batch_id(&self) -> usize {
        Arc::as_ptr(&self.batch).addr()
    }

    /// What a call finds that has to be asked about: an answer from when a neighbour was asked about, perhaps soon, or
    /// nothing. In the order of the batch: whoever is before it is past this first, so that it is asked about with them.
    pub(super) async fn place(&self) -> Place {
        self.batch
            .when(&self.batch.decided, |state| {
                let (before, rest) = state.calls.split_at_mut(self.index);
                let own = &mut rest[0];
                match std::mem::replace(&mut own.question, Question::None) {
                    Question::Answered(given) => Some(Place::Answered(given)),
                    Question::Open => {
                        own.question = Question::Open;
                        None
                    }
                    Question::None => {
                        let waits = before.iter().any(|call| call.undecided && call.session == own.session);
                        (!waits).then_some(Place::Lead)
                    }
                }
            })
            .await
    }

    /// A call behind this one that may be asked about with it: its id, what was sent, what cancels it.
    pub(super) fn undecided(&self, index: usize) -> Option<(String, Arc<CallParams>, CancellationToken)> {
        let state = self.batch.lock();
        let (own, call) = (state.calls.get(self.index)?, state.calls.get(index)?);
        let asks = call.undecided
            && call.session == own.session
            && matches!(call.question, Question::None)
            && !call.cancel.is_cancelled();
        asks.then(|| (call.id.clone(), Arc::clone(&call.params), call.cancel.clone()))
    }

    /// This call is asked about now, and with it those behind it.
    pub(super) fn ask_with(&self, others: &[usize]) -> AskedTogether {
        self.batch.decide(|state| {
            state.calls[self.index].undecided = false;
            for &other in others {
                state.calls[other].question = Question::Open;
            }
        });
        AskedTogether { batch: Arc::clone(&self.batch), others: others.to_vec() }
    }

    /// The call may run: it is not asked about any more.
    pub(super) fn cleared(&self) {
        self.batch.decide(|state| state.calls[self.index].undecided = false);
    }

    /// The call makes no more changes, and waits for no diagnostics.
    pub(super) fn arrive(&self) {
        self.batch.arrive(self.index, None);
    }

    /// What is known of the changes of this call, from the one wait of the batch. A call that is cancelled waits no longer.
    pub(super) async fn settled(
        &self,
        edits: Vec<(Prepared, Edited)>,
        wait: &Wait,
        cancel: &CancellationToken,
    ) -> Option<DiagnosticsReport> {
        self.batch.arrive(self.index, Some((edits.clone(), wait.clone())));
        let together = async {
            let together = self.batch.when(&self.batch.arrived, |state| self.batch.together(state)).await;
            together.await
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => {
                self.batch.lock().calls[self.index].edits = None;
                let alone = self.batch.languages.settle(edits, wait, cancel);
                contained("diagnostics", alone).await.ok()
            }
            together = together => self.share(&edits, &together),
        }
    }

    /// Of what the one wait brought, what belongs to this call; what belongs to a later one is named.
    fn share(&self, edits: &[(Prepared, Edited)], together: &Together) -> Option<DiagnosticsReport> {
        let whole = together.report.as_ref()?;
        let mut report = DiagnosticsReport::default();
        for (at, (key, owner)) in together.documents.iter().enumerate() {
            let Some((_, edited)) = edits.iter().find(|(_, edited)| edited.target.key == *key) else { continue };
            if *owner == self.index {
                report.documents.extend(whole.documents.get(at).cloned());
            } else {
                report.documents.push(DocumentReport {
                    uri: edited.target.uri.clone(),
                    version: edited.version,
                    sources: Vec::new(),
                    report_in: Some(self.batch.lock().calls[*owner].id.clone()),
                });
            }
        }
        if together.last == self.index {
            report.other_files.clone_from(&whole.other_files);
        }
        Some(report)
    }

    /// The call has ended. Its end is told when all have ended that may run side by side with it, the last first.
    pub(super) fn ended(&self, last: Option<ToolEvent>) {
        self.batch.arrive(self.index, None);
        let told: Vec<ToolEvent> = {
            let mut state = self.batch.lock();
            let call = &mut state.calls[self.index];
            let (first, end) = call.beside;
            if !std::mem::replace(&mut call.ended, true) {
                call.last = last;
            }
            let run = &mut state.calls[first..end];
            if run.iter().all(|call| call.ended) {
                run.iter_mut().rev().filter_map(|call| call.last.take()).collect()
            } else {
                Vec::new()
            }
        };
        for event in told {
            self.batch.editor.tell(News::Tool(event));
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.ended(None);
    }
}

/// Calls that are asked about with one before them, until that is answered. Dropped before, they are asked about anew.
pub(super) struct AskedTogether {
    batch: Arc<Batch>,
    others: Vec<usize>,
}

impl AskedTogether {
    /// The person answered.
    pub(super) fn answered(mut self, given: Vec<(usize, Given)>) {
        self.others.clear();
        self.batch.decide(|state| {
            for (index, given) in given {
                state.calls[index].question = Question::Answered(Box::new(given));
            }
        });
    }
}

impl Drop for AskedTogether {
    fn drop(&mut self) {
        if !self.others.is_empty() {
            self.batch.decide(|state| {
                for &other in &self.others {
                    state.calls[other].question = Question::None;
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_one_session_that_only_read_are_one_run() {
        // Upper case: alone. The letter: the session.
        let check = |line: &str, expected: &[(usize, usize)]| {
            let calls: Vec<(String, bool)> =
                line.chars().map(|c| (c.to_lowercase().to_string(), c.is_lowercase())).collect();
            let calls: Vec<(&str, bool)> = calls.iter().map(|(session, shared)| (session.as_str(), *shared)).collect();
            assert_eq!(runs(&calls), expected, "{line}");
        };
        check("", &[]);
        check("a", &[(0, 1)]);
        check("aaa", &[(0, 3); 3]);
        check("aaAaa", &[(0, 2), (0, 2), (2, 3), (3, 5), (3, 5)]);
        check("AAA", &[(0, 1), (1, 2), (2, 3)]);
        check("aab", &[(0, 2), (0, 2), (2, 3)]);
    }

    #[test]
    fn one_wait_serves_all() {
        let wait = |mode, deadline_ms, sources: Option<&[&str]>| Wait {
            wait: mode,
            deadline_ms,
            sources: sources.map(|all| all.iter().map(|one| (*one).to_owned()).collect()),
        };
        let (auto, fresh) = (WaitMode::Auto, WaitMode::Fresh);
        assert_eq!(longest(wait(auto, Some(5), None), wait(fresh, Some(9), None)), wait(fresh, Some(9), None));
        assert_eq!(longest(wait(fresh, None, Some(&["a"])), wait(auto, Some(9), None)), wait(fresh, None, None));
        assert_eq!(
            longest(wait(auto, None, Some(&["b"])), wait(auto, None, Some(&["a", "b"]))),
            wait(auto, None, Some(&["a", "b"]))
        );
    }
}
