//! What the front needs of the rooms behind it, as two narrow ports: so that order, cancellation and the end of a run
//! can be tested with doubles that record what they saw.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::config::Settings;
use crate::dispatch::{CallParams, CallResult, Dispatch, ListToolsParams, PreviewResult, ToolInfo, ToolInputParams};
use crate::editor::FileChanged;
use crate::languages::{DiagnosticsReport, Forwarded, Languages, ProgressKind, SourceName, Wait};
use crate::permissions::Trust;
use crate::workspace::{Roots, Target, Workspace};

use super::protocol::DidChangeContextParams;

/// A call that has its place in the order of its session.
pub struct Begun {
    /// Cancels it. It still gives its one result.
    pub cancel: CancellationToken,
    /// Runs it to its one result. Nothing of it has run yet.
    pub result: BoxFuture<'static, CallResult>,
}

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
    /// A piece of a call's arguments, as the model writes them. Applied at once, in order.
    fn tool_input(&self, piece: ToolInputParams) {
        let _ = piece;
    }
    /// Files changed on the disk, as the editor tells.
    fn files_changed(&self) {}
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
    /// What the user looks at, as far as the editor has said.
    pub context: Arc<Context>,
}

/// What the user looks at.
#[derive(Debug, Default)]
pub struct Context(RwLock<DidChangeContextParams>);

impl Context {
    /// What the editor said last.
    pub fn now(&self) -> DidChangeContextParams {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, context: DidChangeContextParams) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = context;
    }
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
        async move { Dispatch::preview(&self, params).await }.boxed()
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

    fn tool_input(&self, piece: ToolInputParams) {
        Dispatch::tool_input(self, piece);
    }

    fn files_changed(&self) {
        Dispatch::files_changed(self);
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
