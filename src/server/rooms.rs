//! What the front needs of the rooms behind it, as two narrow ports: so that order, cancellation and the end of a run
//! can be tested with doubles that record what they saw.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::config::Settings;
use crate::dispatch::review::{ChangesParams, ChangesResult, KeepResult, ListChangesParams, UndoParams, UndoResult};
use crate::dispatch::{AcceptParams, AcceptResult, RejectParams, RejectResult};
use crate::dispatch::{
    BatchParams, BatchResult, CallParams, CallResult, Dispatch, ListToolsParams, ListedTool, OutputParams, OutputText,
    OwnSettings, PreviewResult, RegisterToolsParams, RegisterToolsResult, SessionAnswer, ToolInfo, ToolInputParams,
    UnregisterToolsParams, UnregisterToolsResult,
};
use crate::editor::FileChanged;
use crate::jobs::Jobs;
use crate::languages::{DiagnosticsReport, Forwarded, Languages, ProgressKind, SourceName, Wait};
use crate::permissions::Trust;
use crate::sessions::requests::SessionRequest;
use crate::tool::{ErrorKind, ToolError};
use crate::workspace::{Roots, Target, Workspace};

use super::context::Context;

/// A call that has its place in the order of its session.
pub struct Begun {
    /// Cancels it. It still gives its one result.
    pub cancel: CancellationToken,
    /// Runs it to its one result. Nothing of it has run yet.
    pub result: BoxFuture<'static, CallResult>,
}

/// Calls that have their places in the order of their sessions.
pub struct BegunBatch {
    /// Cancels all of them. Each still gives its one result.
    pub cancel: CancellationToken,
    /// Runs them to their results. Nothing of them has run yet.
    pub result: BoxFuture<'static, BatchResult>,
}

/// The answer to a person's review.
pub type Reviewed<T> = BoxFuture<'static, Result<T, ToolError>>;

/// Takes calls.
pub trait Calls: Send + Sync + 'static {
    /// The tools, sorted.
    fn list_tools(&self, params: &ListToolsParams) -> Vec<ToolInfo>;
    /// Gives a call its ticket, at once: the order of these calls is the order of the tickets.
    fn begin(self: Arc<Self>, params: CallParams) -> Begun;
    /// What a call would do.
    fn preview(self: Arc<Self>, params: CallParams) -> BoxFuture<'static, PreviewResult>;
    /// Cancels calls of a session: one, those of a turn, or all. Answers how many.
    fn cancel(&self, session_id: Option<&str>, call_id: Option<&str>, turn_id: Option<&str>) -> usize;
    /// Cancels everything.
    fn cancel_all(&self);
    /// The calls that have not ended, in words, sorted.
    fn open_calls(&self) -> Vec<String>;
    /// Gives the calls of a batch their tickets, at once and in their order.
    fn begin_batch(self: Arc<Self>, params: BatchParams) -> BegunBatch;
    /// Work in the background.
    fn jobs(&self) -> Option<Arc<Jobs>> {
        None
    }
    /// Comes back when nothing runs any more that is no request: after [`Calls::cancel_all`], for the end.
    fn idle(self: Arc<Self>) -> BoxFuture<'static, ()> {
        std::future::ready(()).boxed()
    }
    /// The tools in the form that was asked for.
    fn list(self: Arc<Self>, params: ListToolsParams) -> BoxFuture<'static, Arc<[ListedTool]>> {
        let tools = self.list_tools(&params).into_iter().map(|tool| ListedTool::Plain(Box::new(tool))).collect();
        std::future::ready(tools).boxed()
    }
    /// Tools of the client's own join. Their place in the order is taken at once.
    fn register_tools(self: Arc<Self>, _: RegisterToolsParams) -> BoxFuture<'static, RegisterToolsResult> {
        std::future::ready(RegisterToolsResult::default()).boxed()
    }
    /// Tools of the client's own leave, in the same order.
    fn unregister_tools(self: Arc<Self>, params: UnregisterToolsParams) -> BoxFuture<'static, UnregisterToolsResult> {
        std::future::ready(UnregisterToolsResult { removed: Vec::new(), unknown: params.names }).boxed()
    }
    /// Some of a kept output. Who keeps none finds none.
    fn output(self: Arc<Self>, _: OutputParams) -> BoxFuture<'static, OutputText> {
        std::future::ready(OutputText::default()).boxed()
    }
    /// Takes a request about a session: it takes effect in the order of these calls, and the future brings its answer.
    fn session(self: Arc<Self>, request: SessionRequest) -> SessionAnswer {
        let (session, _) = request.names();
        let message = format!("There are no sessions here, and none called {}.", session.unwrap_or("default"));
        std::future::ready(Err(ToolError::new(ErrorKind::Unavailable, message))).boxed()
    }
    /// A person accepts what is proposed.
    fn accept(self: Arc<Self>, _: AcceptParams) -> BoxFuture<'static, Result<AcceptResult, ToolError>> {
        std::future::ready(Ok(AcceptResult::default())).boxed()
    }
    /// A person rejects what is proposed.
    fn reject(self: Arc<Self>, _: RejectParams) -> BoxFuture<'static, Result<RejectResult, ToolError>> {
        std::future::ready(Ok(RejectResult::default())).boxed()
    }
    /// The files as a session sees them, with what it proposes. `None`: as everybody does.
    fn seen_by(self: Arc<Self>, session: String) -> BoxFuture<'static, Option<Arc<Workspace>>> {
        let _ = session;
        std::future::ready(None).boxed()
    }
    /// What agents changed and nobody has judged yet. Who changes nothing has nothing.
    fn changes(self: Arc<Self>, _: ListChangesParams) -> Reviewed<ChangesResult> {
        std::future::ready(Ok(ChangesResult::default())).boxed()
    }
    /// A person keeps changes.
    fn keep(self: Arc<Self>, _: ChangesParams) -> Reviewed<KeepResult> {
        std::future::ready(Ok(KeepResult::default())).boxed()
    }
    /// A person undoes changes, or an undo.
    fn undo(self: Arc<Self>, _: UndoParams) -> Reviewed<UndoResult> {
        std::future::ready(Ok(UndoResult::default())).boxed()
    }
    /// A file changed, by whomever.
    fn world_changed(&self) {}
    /// The folders, what is trusted or the settings are others now: what descriptions of tools tell of them may be too.
    fn look_again(self: Arc<Self>) {}
    /// A file changed (its URI), by whomever.
    fn file_changed(self: Arc<Self>, uri: &str) {
        let _ = uri;
    }
    /// The settings, the folders, trust in them, or files that name servers are others.
    fn configured(&self) {}
    /// A folder is not trusted any more: what goes on there in the background ends.
    fn trust_ended(&self, folder: &Path) {
        let _ = folder;
    }
    /// Calls are judged by what the user's own settings file says at that moment.
    fn heed(&self, own: OwnSettings) {
        let _ = own;
    }
    /// A piece of a call's arguments, as the model writes them. Applied at once, in order.
    fn tool_input(&self, piece: ToolInputParams) {
        let _ = piece;
    }
}

/// Knows about problems in documents. All that is told is told in the order in which the editor sent it.
#[async_trait]
pub trait Sources: Send + Sync + 'static {
    /// The editor forwards what one of its servers says.
    fn forwarded(&self, said: Forwarded);
    /// The editor names the sources it has for a document.
    fn editor_sources(&self, uri: &str, sources: Vec<SourceName>);
    /// A source of the editor's works.
    fn progress(&self, source_id: &str, token: &str, kind: ProgressKind);
    /// A file changed on the disk.
    fn file_changed(&self, change: &FileChanged);
    /// The settings or the folders are new. `repeatable`: nothing is learned, so that the same run gives the same report.
    fn configure(&self, settings: Arc<Settings>, roots: &Roots, repeatable: bool);
    /// Trust in some folder changed.
    fn trust_changed(&self);
    /// What is known of a document (of all that are open: `None`) in a version, or soon.
    async fn report(
        &self,
        target: Option<&Target>,
        min_version: Option<i32>,
        wait: &Wait,
        cancel: &CancellationToken,
    ) -> DiagnosticsReport;
    /// The waits and messages to servers that have not ended, in words, sorted.
    fn open_work(&self) -> Vec<String>;
    /// Ends every server.
    async fn shutdown(&self, grace: Duration);
}

/// What stands behind the front.
#[derive(Clone)]
pub struct Rooms {
    /// Files and documents.
    pub workspace: Arc<Workspace>,
    /// Which folders are trusted.
    pub trust: Arc<Trust>,
    /// Takes calls.
    pub calls: Arc<dyn Calls>,
    /// Knows about problems.
    pub sources: Arc<dyn Sources>,
    /// What the editor has said of itself, and what the user looks at there.
    pub context: Arc<Context>,
}

impl Rooms {
    /// The real rooms.
    pub fn of(parts: &super::Parts) -> Rooms {
        Rooms {
            workspace: Arc::clone(&parts.workspace),
            trust: Arc::clone(&parts.trust),
            calls: Arc::clone(&parts.dispatch) as Arc<dyn Calls>,
            sources: Arc::clone(&parts.languages) as Arc<dyn Sources>,
            context: Arc::default(),
        }
    }
}

impl Calls for Dispatch {
    fn list_tools(&self, params: &ListToolsParams) -> Vec<ToolInfo> {
        Dispatch::list_tools(self, params)
    }

    fn begin(self: Arc<Self>, params: CallParams) -> Begun {
        let admitted = self.admit(params);
        let cancel = admitted.canceller();
        Begun { cancel, result: async move { self.run(admitted).await }.boxed() }
    }

    fn preview(self: Arc<Self>, params: CallParams) -> BoxFuture<'static, PreviewResult> {
        Dispatch::preview(&self, params)
    }

    fn cancel(&self, session_id: Option<&str>, call_id: Option<&str>, turn_id: Option<&str>) -> usize {
        Dispatch::cancel(self, session_id, call_id, turn_id)
    }

    fn cancel_all(&self) {
        Dispatch::cancel_all(self);
    }

    fn open_calls(&self) -> Vec<String> {
        Dispatch::open_calls(self)
    }

    fn begin_batch(self: Arc<Self>, params: BatchParams) -> BegunBatch {
        let admitted = self.admit_batch(params);
        let cancel = admitted.canceller();
        BegunBatch { cancel, result: async move { self.run_batch(admitted).await }.boxed() }
    }

    fn jobs(&self) -> Option<Arc<Jobs>> {
        Some(Arc::clone(&self.jobs))
    }

    fn trust_ended(&self, folder: &Path) {
        Dispatch::trust_ended(self, folder);
    }

    fn heed(&self, own: OwnSettings) {
        Dispatch::heed(self, own);
    }

    fn idle(self: Arc<Self>) -> BoxFuture<'static, ()> {
        async move { Dispatch::idle(&self).await }.boxed()
    }

    fn list(self: Arc<Self>, params: ListToolsParams) -> BoxFuture<'static, Arc<[ListedTool]>> {
        Dispatch::list(&self, params)
    }

    fn register_tools(self: Arc<Self>, params: RegisterToolsParams) -> BoxFuture<'static, RegisterToolsResult> {
        Dispatch::register_tools(&self, params)
    }

    fn unregister_tools(self: Arc<Self>, params: UnregisterToolsParams) -> BoxFuture<'static, UnregisterToolsResult> {
        Dispatch::unregister_tools(&self, params)
    }

    fn output(self: Arc<Self>, params: OutputParams) -> BoxFuture<'static, OutputText> {
        async move { Dispatch::output(&self, params).await }.boxed()
    }

    fn session(self: Arc<Self>, request: SessionRequest) -> SessionAnswer {
        self.ask_session(request)
    }

    fn accept(self: Arc<Self>, params: AcceptParams) -> BoxFuture<'static, Result<AcceptResult, ToolError>> {
        Dispatch::accept(&self, params)
    }

    fn reject(self: Arc<Self>, params: RejectParams) -> BoxFuture<'static, Result<RejectResult, ToolError>> {
        Dispatch::reject(&self, params)
    }

    fn seen_by(self: Arc<Self>, session: String) -> BoxFuture<'static, Option<Arc<Workspace>>> {
        async move { Some(Dispatch::seen_by(&self, Some(&session)).await) }.boxed()
    }

    fn changes(self: Arc<Self>, params: ListChangesParams) -> Reviewed<ChangesResult> {
        async move { Dispatch::changes(&self, params).await }.boxed()
    }

    fn keep(self: Arc<Self>, params: ChangesParams) -> Reviewed<KeepResult> {
        async move { self.keep_changes(params).await }.boxed()
    }

    fn undo(self: Arc<Self>, params: UndoParams) -> Reviewed<UndoResult> {
        async move { self.undo_changes(params).await }.boxed()
    }

    fn world_changed(&self) {
        Dispatch::world_changed(self);
    }

    fn look_again(self: Arc<Self>) {
        Dispatch::look_again(&self);
    }

    fn file_changed(self: Arc<Self>, uri: &str) {
        Dispatch::file_changed(&self, uri);
    }

    fn configured(&self) {
        Dispatch::configured(self);
    }

    fn tool_input(&self, piece: ToolInputParams) {
        Dispatch::tool_input(self, piece);
    }
}

#[async_trait]
impl Sources for Languages {
    fn forwarded(&self, said: Forwarded) {
        Languages::forwarded(self, said);
    }

    fn editor_sources(&self, uri: &str, sources: Vec<SourceName>) {
        Languages::editor_sources(self, uri, sources);
    }

    fn progress(&self, source_id: &str, token: &str, kind: ProgressKind) {
        Languages::progress(self, source_id, token, kind);
    }

    fn file_changed(&self, change: &FileChanged) {
        Languages::file_changed(self, change);
    }

    fn configure(&self, settings: Arc<Settings>, roots: &Roots, repeatable: bool) {
        Languages::configure(self, settings, roots, repeatable);
    }

    fn trust_changed(&self) {
        Languages::trust_changed(self);
    }

    async fn report(
        &self,
        target: Option<&Target>,
        min_version: Option<i32>,
        wait: &Wait,
        cancel: &CancellationToken,
    ) -> DiagnosticsReport {
        Languages::report(self, target, min_version, wait, cancel).await
    }

    fn open_work(&self) -> Vec<String> {
        Languages::open_work(self)
    }

    async fn shutdown(&self, grace: Duration) {
        Languages::shutdown(self, grace).await;
    }
}
