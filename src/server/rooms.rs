//! What the front needs of the rooms behind it, as two narrow ports: so that order, cancellation and the end of a run
//! can be tested with doubles that record what they saw.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::dispatch::{CallParams, CallResult, Dispatch, ListToolsParams, PreviewResult, ToolInfo};
use crate::editor::FileChanged;
use crate::languages::{DiagnosticsReport, Languages, Wait};
use crate::permissions::Trust;
use crate::workspace::{Snapshot, Workspace};

use super::protocol::{
    DiagnosticProgressParams, DidChangeContextParams, DidChangeDiagnosticSourcesParams, DidChangeDiagnosticsParams,
};

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
}

/// Knows about problems in documents. All that is told is told in the order in which the editor sent it.
#[async_trait]
pub trait Sources: Send + Sync + 'static {
    /// The editor forwards what one of its servers says.
    fn forwarded(&self, said: DidChangeDiagnosticsParams);
    /// The editor names the sources it has for a document.
    fn named(&self, sources: DidChangeDiagnosticSourcesParams);
    /// A source of the editor works.
    fn progressed(&self, progress: DiagnosticProgressParams);
    /// A file changed on the disk.
    fn file_changed(&self, change: &FileChanged);
    /// The settings are new; [`Workspace::settings`] has them.
    fn configured(&self);
    /// What is known of these documents now, or soon.
    async fn report(&self, documents: Vec<Snapshot>, wait: &Wait, cancel: &CancellationToken) -> DiagnosticsReport;
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
    pub(super) fn set_trust(&self, folder: &Path, trusted: bool) {
        tracing::info!(folder = %folder.display(), trusted, "trust");
        self.trust.set(folder, trusted);
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
        let cancel = CancellationToken::new();
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
}

#[async_trait]
impl Sources for Languages {
    fn forwarded(&self, _said: DidChangeDiagnosticsParams) {
        todo!()
    }
    fn named(&self, _sources: DidChangeDiagnosticSourcesParams) {
        todo!()
    }
    fn progressed(&self, _progress: DiagnosticProgressParams) {
        todo!()
    }
    fn file_changed(&self, change: &FileChanged) {
        Languages::file_changed(self, change);
    }
    fn configured(&self) {
        todo!()
    }
    async fn report(&self, _documents: Vec<Snapshot>, _wait: &Wait, _cancel: &CancellationToken) -> DiagnosticsReport {
        todo!()
    }
    fn open_work(&self) -> Vec<String> {
        todo!()
    }
    async fn shutdown(&self, grace: Duration) {
        Languages::shutdown(self, grace).await;
    }
}
