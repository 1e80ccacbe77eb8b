//! Arguments that stream in before their call: kept until it comes, shown as previews while they grow, and, where they
//! are those of a harmless read, put to use early.

mod streams;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tracing::{debug, warn};

use crate::editor::{News, ToolEvent, ToolEventKind};
use crate::sessions::DEFAULT_SESSION;
use crate::tool::{Capability, ErrorKind, ToolError};

use super::catalog::Entry;
use super::early::Early;
use super::execute::cancelled;
use super::{CallParams, Dispatch, arguments, coerce, early, ids};
use streams::{Gone, Kind, State, Streams};

/// Previews of one call are at least so far apart.
const PACE: Duration = Duration::from_millis(50);

/// Longer arguments (bytes) are not previewed any further: each preview shows all of them.
const PREVIEWED_BYTES: usize = 256 * 1024;

/// `ropewalk/toolInput`: a piece of a call's arguments, as the model writes them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolInputParams {
    /// The session; absent: the default one.
    pub session_id: Option<String>,
    /// The turn of the model; with it, cancelling another turn leaves the stream alone.
    pub turn_id: Option<String>,
    /// The call that `callTool` will name.
    pub call_id: String,
    /// The model's message that the call is part of.
    pub message_id: String,
    /// Its place among the calls of that message.
    pub index: u64,
    /// The tool, once it is known.
    pub name: Option<String>,
    /// The next piece of the raw text.
    pub delta: Option<String>,
    /// The text is complete.
    pub done: bool,
}

/// What a call finds of its stream.
#[derive(Default)]
pub(super) struct Claimed {
    /// A read that was started for it.
    pub early: Option<Early>,
    /// Why it cannot run.
    pub misfit: Option<ToolError>,
}

/// All streams.
#[derive(Default)]
pub(super) struct Inputs(Mutex<Streams<Early>>);

impl Inputs {
    fn lock(&self) -> MutexGuard<'_, Streams<Early>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session is over, or was dropped.
    pub(super) fn forget(&self, session: &str) {
        self.lock().forget(|stream| stream.session == session);
    }

    /// Everything is over.
    pub(super) fn forget_all(&self) {
        self.lock().forget(|_| true);
    }

    /// A turn is over: what still streamed in for it comes to nothing.
    pub(super) fn end_turn(&self, session: &str, turn: &str) {
        self.lock().cancel(|stream| stream.session == session && stream.turn.as_deref() == Some(turn));
    }

    /// Calls of a session are cancelled: one, those of a turn, or all. Their streams are dead.
    pub(super) fn cancel(&self, session: &str, call_id: Option<&str>, turn_id: Option<&str>) {
        self.lock().cancel(|stream| {
            stream.session == session
                && call_id.is_none_or(|id| stream.call == id)
                && turn_id.is_none_or(|id| stream.turn.as_deref().is_none_or(|turn| turn == id))
        });
    }
}

impl Dispatch {
    /// Takes a piece of a call's arguments. At once and in order; what is done with it is done elsewhere.
    pub fn tool_input(&self, params: ToolInputParams) {
        let names =
            [params.session_id.as_ref(), params.turn_id.as_ref(), Some(&params.call_id), Some(&params.message_id)];
        if params.call_id.is_empty() || names.into_iter().flatten().any(|name| name.len() > ids::MAX_ID_BYTES) {
            warn!("a piece of arguments without a call, or with names too long");
            return;
        }
        let session_id = params.session_id.as_deref().unwrap_or(DEFAULT_SESSION).to_owned();
        if self.calls.has(&session_id, &params.call_id) {
            debug!(call = params.call_id, "a piece of arguments for a call that is under way");
            return;
        }
        let kind = params.name.as_deref().map(|name| self.kind_of(&session_id, name));
        let (done, name) = (params.done, params.name.clone());
        let Some(number) = self.inputs.lock().take(&session_id, params, kind) else { return };
        if let Some(name) = name {
            debug!(session = session_id, name, number, "arguments stream in");
        }
        self.show_stream(number);
        if done {
            self.put_to_use(&session_id, number);
        }
    }

    /// What a call with this id finds of its stream, which ends here. Explicit arguments count for more than streamed.
    pub(super) fn claim(&self, params: &mut CallParams) -> Claimed {
        let Some(call_id) = params.call_id.as_deref() else { return Claimed::default() };
        let session = params.session_id.as_deref().unwrap_or(DEFAULT_SESSION);
        let Some(stream) = self.inputs.lock().claim(session, call_id) else { return Claimed::default() };
        if params.name.is_empty() {
            params.name = stream.name.clone().unwrap_or_default();
        }
        let mut misfit = None;
        if params.arguments.is_none() {
            misfit = streamed(params, stream.state, stream.text);
        }
        Claimed { early: stream.early, misfit }
    }

    /// The same for a preview, after which the call is still to come.
    pub(super) fn peek(&self, params: &mut CallParams) -> Option<ToolError> {
        let call_id = params.call_id.as_deref().filter(|_| params.arguments.is_none())?;
        let session = params.session_id.as_deref().unwrap_or(DEFAULT_SESSION);
        let (name, state, text) = {
            let streams = self.inputs.lock();
            let stream = streams.get(session, call_id)?;
            (stream.name.clone(), stream.state, stream.text.clone())
        };
        if params.name.is_empty() {
            params.name = name.unwrap_or_default();
        }
        streamed(params, state, text)
    }

    fn kind_of(&self, session: &str, name: &str) -> Kind {
        let session = self.session(Some(session));
        let kind = self
            .tools
            .find(&session, name)
            .map_or(Kind::default(), |entry| Kind { shared: entry.shared(), shown: shown(&entry) });
        self.sessions.rest(&session.id);
        kind
    }

    /// Starts a read whose arguments are complete, unless something before it in its session may change what it reads.
    fn put_to_use(&self, session_id: &str, number: u64) {
        let (name, text) = {
            let streams = self.inputs.lock();
            let Some(stream) = streams.by_number(number).filter(|stream| stream.state == State::Done) else { return };
            let Some(name) = stream.name.clone().filter(|_| stream.kind.shared && streams.may_start(number)) else {
                return;
            };
            (name, Value::String(stream.text.clone()))
        };
        if self.schedule.holds_writer(session_id) {
            return;
        }
        let session = self.session(Some(session_id));
        let Ok(entry) = self.tools.find(&session, &name) else { return };
        let me = self.me.clone();
        let lost = move || {
            if let Some(me) = me.upgrade() {
                me.inputs.lock().drop_early(number);
            }
        };
        if early::may(&entry)
            && let Some(early) = self.start_early(&entry, &session, &text, lost)
        {
            self.inputs.lock().put_early(number, early);
        }
    }

    /// Sees to it that somebody shows how the arguments of an edit grow, beside the reader and at a bearable pace.
    fn show_stream(&self, number: u64) {
        if !self.workspace.editor.abilities().events || !self.inputs.lock().begin_showing(number) {
            return;
        }
        let Some(me) = self.me.upgrade() else { return };
        tokio::spawn(async move {
            let (mut text, mut last) = (String::new(), None);
            let clock = Arc::clone(&me.workspace.ports.clock);
            loop {
                // What nobody reads would pile up; the newest shows all that those before it did.
                while me.workspace.editor.is_behind() {
                    clock.sleep(PACE).await;
                }
                // Its own statement: the streams are not held while anything is worked out.
                let fresh = me.inputs.lock().fresh(number);
                let Some(fresh) = fresh else { return };
                text.push_str(&fresh.text);
                if text.len() > PREVIEWED_BYTES {
                    me.inputs.lock().stop_showing(number);
                    return;
                }
                let session = me.session(Some(&fresh.session));
                let found = me.tools.find(&session, &fresh.name);
                let arguments =
                    found.ok().and_then(|entry| Some((entry.traits().name.to_owned(), so_far(&entry, &text)?)));
                drop(session);
                let detail = arguments.map(|(name, arguments)| (name, json!({ "arguments": arguments })));
                if detail.is_some() && detail != last {
                    last.clone_from(&detail);
                    me.show(number, &fresh, detail);
                }
                clock.sleep(PACE).await;
            }
        });
    }

    /// Tells a preview, unless the call has come in the meantime: nothing is previewed of a call that runs.
    fn show(&self, number: u64, fresh: &streams::Fresh, detail: Option<(String, Value)>) {
        let Some((name, detail)) = detail else { return };
        let event = ToolEvent {
            session_id: fresh.session.clone(),
            call_id: fresh.call.clone(),
            kind: ToolEventKind::Preview,
            name: Some(name),
            detail: Some(detail),
        };
        let streams = self.inputs.lock();
        if streams.by_number(number).is_some() {
            self.workspace.editor.tell(News::Tool(event));
        }
    }
}

/// Gives a call without arguments those that streamed in; or says why they are none.
fn streamed(params: &mut CallParams, state: State, text: String) -> Option<ToolError> {
    match state {
        State::Done => params.arguments = Some(Value::String(text)),
        // Whoever sends the call has stopped the stream: what came is a fragment.
        State::Open => params.truncated = true,
        State::Gone(Gone::Cancelled) => return Some(cancelled("while its arguments streamed in")),
        // It has come before, so that this is another one, without arguments.
        State::Gone(Gone::Claimed) => {}
        State::Gone(why) => {
            let (name, most) = (&params.name, streams::CALL_BYTES);
            let why = match why {
                Gone::TooMany => "are not kept any more: too many calls streamed in after it. Send the call again.",
                Gone::Mixed => {
                    "came mixed with those of another call under the same `callId`. Send each call again, under an id of \
                     its own."
                }
                _ => {
                    let why = format!(
                        "The streamed arguments of `{name}` were longer than is kept ({most} bytes). Split the work into \
                         several smaller calls."
                    );
                    return Some(ToolError::new(ErrorKind::InvalidArguments, why));
                }
            };
            let why = format!("The streamed arguments of `{name}` {why}");
            return Some(ToolError::new(ErrorKind::InvalidArguments, why));
        }
    }
    None
}

/// Whether the arguments of a tool are shown as they grow: it makes edits, which somebody may want to watch.
fn shown(entry: &Entry) -> bool {
    let capabilities = entry.traits().capabilities;
    capabilities.contains(&Capability::WritesFiles) && !capabilities.contains(&Capability::ExecutesCode)
}

/// The arguments as far as they are certain, by their real names.
fn so_far(entry: &Entry, text: &str) -> Option<Value> {
    let traits = entry.traits();
    if let Some(parameter) = traits.free_form.filter(|_| !text.trim().is_empty() && !arguments::begins_object(text)) {
        return Some(json!({ parameter: text }));
    }
    match arguments::beginning(text)? {
        Value::Object(fields) if fields.is_empty() => None,
        Value::Object(fields) => Some(Value::Object(renamed(entry, fields))),
        _ => None,
    }
}

fn renamed(entry: &Entry, fields: Map<String, Value>) -> Map<String, Value> {
    coerce::renamed(entry.schema(), entry.traits().aliases, fields)
}
