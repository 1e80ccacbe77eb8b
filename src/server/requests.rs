//! Our own requests: what of each happens at once, in order, and what is then done beside the reader.

mod named;
mod outputs;
mod proposals;
mod registry;
pub(super) mod review;
mod sessions;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower_lsp::jsonrpc::{Error, ErrorCode};

use crate::dispatch::CallParams;
use crate::languages::Wait;
use crate::ports::FileKind;
use crate::workspace::{Key, Refusal, Snapshot, Target, View};

mod sched;

use super::front::{Front, Phase};
use super::protocol::{
    self, CancelParams, CancelResult, DiagnosticsParams, DocumentText, DocumentTextParams, SettleParams, SettleResult,
};

/// How long `settle` waits without a deadline of its own.
const SETTLE: Duration = Duration::from_secs(10);

/// How often `settle` looks again. It is for harnesses, which ask for it rarely and want no part of the product to pay
/// for it the rest of the time.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// A request of which the part that must happen in order has happened.
pub(super) struct Started {
    /// Fired by `$/cancelRequest`. The request is still answered, by whatever it has.
    pub cancel: CancellationToken,
    /// The rest.
    pub rest: BoxFuture<'static, Result<Value, Error>>,
}

/// How a request begins.
type Begin = fn(&Arc<Front>, &Value) -> Result<Started, Error>;

impl Front {
    /// Begins one of our own requests; `None` when the method is not one of them.
    pub(super) fn begin(self: &Arc<Self>, method: &str, params: &Value) -> Option<Result<Started, Error>> {
        let begin = match method {
            protocol::ACCEPT => Front::begin_accept,
            protocol::REJECT => Front::begin_reject,
            protocol::CALL_TOOL => Front::begin_call,
            protocol::CALL_TOOLS => Front::begin_batch,
            protocol::JOBS => Front::begin_jobs,
            protocol::JOB_OUTPUT => Front::begin_job_output,
            protocol::STOP_JOB => Front::begin_stop_job,
            protocol::PREVIEW_CALL => Front::begin_preview,
            protocol::LIST_TOOLS => Front::begin_list,
            protocol::REGISTER_TOOLS => Front::begin_register,
            protocol::UNREGISTER_TOOLS => Front::begin_unregister,
            protocol::CANCEL => Front::begin_cancel,
            protocol::DOCUMENT_TEXT => Front::begin_document_text,
            protocol::DIAGNOSTICS => Front::begin_diagnostics,
            protocol::SETTLE => Front::begin_settle,
            protocol::OUTPUT => Front::begin_output,
            protocol::CHANGES => Front::begin_changes,
            protocol::KEEP => Front::begin_keep,
            protocol::UNDO => Front::begin_undo,
            "textDocument/codeLens" => Front::begin_lenses,
            "textDocument/codeAction" => Front::begin_actions,
            "workspace/executeCommand" => Front::begin_command,
            _ => return self.begin_session(method, params),
        };
        Some(self.in_phase().and_then(|()| begin(self, params)))
    }

    fn in_phase(&self) -> Result<(), Error> {
        match self.phase() {
            Phase::Open => Ok(()),
            Phase::Fresh => Err(Error {
                code: ErrorCode::ServerError(-32002),
                message: "Server not initialized".into(),
                data: None,
            }),
            Phase::ShutDown => Err(Error::invalid_request()),
        }
    }

    fn begin_call(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        Ok(self.start_call(read_call(params)?))
    }

    fn start_call(&self, params: CallParams) -> Started {
        let begun = Arc::clone(&self.rooms.calls).begin(params);
        Started { cancel: begun.cancel, rest: begun.result.map(|result| write(&result)).boxed() }
    }

    fn begin_preview(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let preview = Arc::clone(&self.rooms.calls).preview(read_call(params)?);
        Ok(uncancelled(preview.map(|result| write(&result)).boxed()))
    }

    fn begin_cancel(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let CancelParams { session_id, call_id, turn_id } = read(params)?;
        let calls = &self.rooms.calls;
        let cancelled = calls.cancel(session_id.as_deref(), call_id.as_deref(), turn_id.as_deref());
        Ok(at_once(write(&CancelResult { cancelled })))
    }

    /// `ropewalk.call` with the params of `callTool` as its one argument, or as two: the tool's name and its arguments.
    /// `ropewalk.keep`, `undo`, `accept` and `reject` with the params of those methods as their one argument.
    fn begin_command(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let command = params["command"].as_str().unwrap_or_default();
        let name = command.strip_prefix(self.command_prefix.as_str()).and_then(|rest| rest.strip_prefix('.'));
        let arguments = params["arguments"].as_array().map_or(&[][..], Vec::as_slice);
        let review = match name {
            Some(protocol::CALL_COMMAND) => None,
            Some(protocol::KEEP_COMMAND) => Some((protocol::KEEP, Front::begin_keep as Begin)),
            Some(protocol::UNDO_COMMAND) => Some((protocol::UNDO, Front::begin_undo_command as Begin)),
            Some(protocol::ACCEPT_COMMAND) => Some((protocol::ACCEPT, Front::begin_accept_command as Begin)),
            Some(protocol::REJECT_COMMAND) => Some((protocol::REJECT, Front::begin_reject_command as Begin)),
            _ => {
                let known = protocol::COMMANDS.map(|name| format!("{:?}", format!("{}.{name}", self.command_prefix)));
                let known = known.join(", ");
                return Err(Error::invalid_params(format!("unknown command {command:?}; the commands are {known}")));
            }
        };
        if let Some((method, begin)) = review {
            // Without an argument it would be about everything there is, which nobody means by a slip.
            return match arguments {
                [chosen @ Value::Object(_)] => begin(self, chosen),
                _ => Err(Error::invalid_params(format!(
                    "{} arguments; expected one object as for {method}",
                    arguments.len()
                ))),
            };
        }
        match arguments {
            [call @ Value::Object(_)] => Ok(self.start_call(read_call(call)?)),
            [Value::String(name)] => Ok(self.start_call(CallParams { name: name.clone(), ..CallParams::default() })),
            [Value::String(name), arguments] => Ok(self.start_call(CallParams {
                name: name.clone(),
                arguments: Some(arguments.clone()),
                ..CallParams::default()
            })),
            _ => Err(Error::invalid_params(format!(
                "{} arguments; expected one object as for {}, or a tool's name and its arguments",
                arguments.len(),
                protocol::CALL_TOOL
            ))),
        }
    }

    fn begin_document_text(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let params: DocumentTextParams = read(params)?;
        // The rope as it is now: later changes, which may be applied before the rest runs, do not show.
        let snapshot = self.open_document(&params.uri);
        let front = Arc::clone(self);
        Ok(uncancelled(
            async move {
                let text = match params.session_id {
                    Some(session) => front.document_text_of(&params.uri, session, snapshot).await,
                    None => front.document_text(&params.uri, snapshot).await,
                };
                match text {
                    Ok(text) => write(&text),
                    Err(refusal) => Err(Error::invalid_params(refusal.message)),
                }
            }
            .boxed(),
        ))
    }

    /// A text as a session sees it: with what it proposes.
    async fn document_text_of(
        &self,
        uri: &str,
        session: String,
        snapshot: Option<Snapshot>,
    ) -> Result<DocumentText, Refusal> {
        if let Some(workspace) = Arc::clone(&self.rooms.calls).seen_by(session).await {
            let view = workspace.view(&workspace.resolve(uri)?).await?;
            if view.proposed() {
                let text = view.text.to_string();
                let version = view.real().and_then(View::version);
                return Ok(DocumentText { version, hash: crate::text::hash(&text), unsaved: true, text });
            }
        }
        self.document_text(uri, snapshot).await
    }

    async fn document_text(&self, uri: &str, snapshot: Option<Snapshot>) -> Result<DocumentText, Refusal> {
        let workspace = &self.rooms.workspace;
        let view = match workspace.resolve(uri) {
            Ok(target) => workspace.view(&target).await,
            Err(refusal) => Err(refusal),
        };
        let Some(snapshot) = snapshot else {
            let view = view?;
            let text = view.text.to_string();
            return Ok(DocumentText {
                version: view.version(),
                hash: crate::text::hash(&text),
                unsaved: view.unsaved(),
                text,
            });
        };
        // A view of another moment says nothing about this text; a buffer that moves on is an unsaved one.
        let unsaved = view.map_or(true, |view| view.text != snapshot.text || view.unsaved());
        let text = snapshot.text.to_string();
        Ok(DocumentText { version: Some(snapshot.version), hash: crate::text::hash(&text), unsaved, text })
    }

    fn begin_diagnostics(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let params: DiagnosticsParams = read(params)?;
        let cancel = CancellationToken::new();
        let front = Arc::clone(self);
        let token = cancel.clone();
        let rest = async move {
            // Where links lead is asked of the disk, for which nothing waits that comes after this.
            let target = params.uri.as_ref().map(|uri| front.rooms.workspace.resolve(uri)).transpose();
            let target = target.map_err(|refusal| Error::invalid_params(refusal.message))?;
            if let Some(target) = &target {
                front.there(target).await?;
            }
            let wait = Wait { deadline_ms: params.deadline_ms, ..Wait::default() };
            write(&front.rooms.sources.report(target.as_ref(), params.min_version, &wait, &token).await)
        };
        Ok(Started { cancel, rest: rest.boxed() })
    }

    /// Refuses a document that is neither open nor a file.
    async fn there(&self, target: &Target) -> Result<(), Error> {
        let workspace = &self.rooms.workspace;
        let Key::File(path) = &target.key else { return Ok(()) };
        if workspace.documents.get(&target.key).is_some() {
            return Ok(());
        }
        let (disk, path) = (Arc::clone(&workspace.ports.disk), path.clone());
        let looked = tokio::task::spawn_blocking(move || disk.metadata(&path).map(|found| found.kind)).await;
        let what = match looked.map_err(|_| Error::internal_error())? {
            Ok(FileKind::File) => return Ok(()),
            Ok(FileKind::Directory) => "is a directory, not a file".to_owned(),
            Ok(FileKind::Link | FileKind::Other) => "is no file".to_owned(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => "does not exist".to_owned(),
            Err(error) => format!("cannot be looked at ({error})"),
        };
        Err(Error::invalid_params(format!("{} is not open in the editor, and {what}", target.shown)))
    }

    fn begin_settle(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let params: SettleParams = read(params)?;
        let deadline = params.deadline_ms.map_or(SETTLE, Duration::from_millis);
        let cancel = CancellationToken::new();
        let front = Arc::clone(self);
        let token = cancel.clone();
        let rest = async move {
            let clock = Arc::clone(&front.rooms.workspace.ports.clock);
            let end = clock.now() + deadline;
            loop {
                let open = front.open_work();
                if open.is_empty() || token.is_cancelled() || clock.now() >= end {
                    return write(&SettleResult { settled: open.is_empty(), open });
                }
                tokio::select! {
                    () = token.cancelled() => {}
                    () = clock.sleep(LOOK_AGAIN) => {}
                }
            }
        };
        Ok(Started { cancel, rest: rest.boxed() })
    }

    /// Everything that has begun and not ended, in words, sorted.
    fn open_work(&self) -> Vec<String> {
        let mut open: Vec<String> =
            self.rooms.calls.open_calls().into_iter().map(|call| format!("call {call}")).collect();
        open.extend(self.outbox.open());
        open.extend(self.rooms.sources.open_work());
        open.sort();
        open
    }
}

fn at_once(answer: Result<Value, Error>) -> Started {
    uncancelled(std::future::ready(answer).boxed())
}

fn uncancelled(rest: BoxFuture<'static, Result<Value, Error>>) -> Started {
    Started { cancel: CancellationToken::new(), rest }
}

/// Reads params. Every method reads its own by this, so that one rule holds for all.
fn read<T: DeserializeOwned>(params: &Value) -> Result<T, Error> {
    if let Some(why) = named::misfit(params) {
        return Err(Error::invalid_params(why));
    }
    let params = if params.is_null() { json!({}) } else { params.clone() };
    serde_json::from_value(params).map_err(|fault| Error::invalid_params(fault.to_string()))
}

/// Reads the params of a call.
fn read_call(params: &Value) -> Result<CallParams, Error> {
    match named::misfit(params).or_else(|| named::toolless("", params)) {
        Some(why) => Err(Error::invalid_params(why)),
        None => read(params),
    }
}

/// Reads parameters that say what a person's word is about. What they do not say does not restrict, so that a name that is
/// not known, which would be passed over, is refused: it was meant to say something. So is a choice that is null, which is
/// what becomes of a name that its sender did not know, and would be a choice of everything.
fn read_choice<T: DeserializeOwned + JsonSchema>(params: &Value) -> Result<T, Error> {
    /// What chooses.
    const CHOICES: [&str; 6] = ["sessionId", "turnId", "callId", "uri", "hunkId", "undoId"];
    /// What any request may have.
    const COMMON: [&str; 2] = ["workDoneToken", "partialResultToken"];
    let schema = schemars::schema_for!(T);
    let known = schema.get("properties").and_then(Value::as_object);
    let mut fields = params.as_object().into_iter().flat_map(|fields| fields.keys()).map(String::as_str);
    let unknown = fields.find(|name| !COMMON.contains(name) && known.is_none_or(|known| !known.contains_key(*name)));
    if let Some(name) = unknown {
        let names: Vec<&str> = known.into_iter().flat_map(|known| known.keys()).map(String::as_str).collect();
        return Err(Error::invalid_params(format!("unknown field `{name}`; expected {}", names.join(", "))));
    }
    if let Some(name) = CHOICES.iter().find(|name| params.get(**name).is_some_and(Value::is_null)) {
        return Err(Error::invalid_params(format!(
            "`{name}` is null; expected a string, or no `{name}` at all where everything that the other fields leave is \
             meant. Nothing was done"
        )));
    }
    read(params)
}

fn write<T: Serialize>(result: &T) -> Result<Value, Error> {
    serde_json::to_value(result).map_err(|fault| {
        tracing::error!(%fault, "a result that cannot be written");
        Error::internal_error()
    })
}
