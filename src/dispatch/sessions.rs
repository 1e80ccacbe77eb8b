//! What is asked about sessions. Each request takes effect at once, in the order of arrival; while what was kept of its
//! session is still being brought back, in its turn after that.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::editor::{ModeChanged, News, Todo, TodosChanged, ToolsChanged};
use crate::sessions::policy::{Asked, Effective};
use crate::sessions::requests::{
    CloseResult, DidShowParams, DidShowResult, ForgetParams, ForgetResult, GrantsParams, GrantsResult, SessionRequest,
    Status, TodosParams, TodosResult,
};
use crate::sessions::todos::{self, TodoCounts};
use crate::sessions::{DEFAULT_SESSION, Session};
use crate::text::{Encoding, Range, Text};
use crate::tool::{ErrorKind, ToolError};
use crate::workspace::{Key, Snapshot};

use super::{Dispatch, ids};

/// A request names at most so many calls, documents or folders.
const MAX_NAMED: usize = 1000;

/// The answer to a request about a session.
pub type SessionAnswer = BoxFuture<'static, Result<Value, ToolError>>;

impl Dispatch {
    /// Takes a request about a session. What it changes is changed when this returns, or before any call of the session
    /// that is admitted later; the future only brings the answer.
    pub fn ask_session(self: &Arc<Self>, request: SessionRequest) -> SessionAnswer {
        match self.asked_session(request) {
            Ok(answer) => answer,
            Err(error) => std::future::ready(Err(error)).boxed(),
        }
    }

    fn asked_session(self: &Arc<Self>, request: SessionRequest) -> Result<SessionAnswer, ToolError> {
        let (session, turn) = request.names();
        if let Some(long) = ids::too_long("sessionId", session).or_else(|| ids::too_long("turnId", turn)) {
            return Err(long);
        }
        let id = session.unwrap_or(DEFAULT_SESSION).to_owned();
        let session = self.session(Some(&id));
        Ok(match request {
            SessionRequest::Open(params) => {
                let misfit = params.asked.misfit().map(|why| unfit(format!("The session was not changed: {why}.")));
                if let Some(misfit) = misfit {
                    return Err(misfit);
                }
                let folders = self.folders(params.asked.roots.as_deref());
                self.act(session, move |dispatch, session| dispatch.opened(session, params.asked, folders))
            }
            SessionRequest::SetMode(params) => self.act(session, move |dispatch, session| {
                dispatch.rounds.chosen(&session.id);
                dispatch.moded(session, |session| session.set_mode(params.mode))
            }),
            SessionRequest::EndTurn(params) => {
                // What still streams in for it comes to nothing.
                self.inputs.end_turn(&id, &params.turn_id);
                self.act(session, move |dispatch, session| {
                    session.end_turn(&params.turn_id);
                    dispatch.guards.end_turn(&session.id, &params.turn_id);
                })
            }
            SessionRequest::Close(_) => {
                self.end_agents(&id, false);
                session.turn_over();
                let cancelled = self.cancel(Some(&id), None, None);
                self.sessions.close(&id);
                self.drop_session(&id);
                self.act(session, move |dispatch, session| {
                    dispatch.drop_proposals(session);
                    CloseResult { cancelled }
                })
            }
            SessionRequest::Reset(_) => {
                self.end_agents(&id, true);
                session.turn_over();
                let cancelled = self.cancel(Some(&id), None, None);
                self.drop_session(&id);
                self.act(session, move |dispatch, session| {
                    dispatch.world_changed();
                    dispatch.drop_proposals(session);
                    let mut files = Vec::new();
                    dispatch.moded(session, |session| files = session.reset());
                    dispatch.keeper.remove(files);
                    dispatch.tell_todos(session, Vec::new());
                    dispatch.tell_consents(session, false);
                    CloseResult { cancelled }
                })
            }
            SessionRequest::Forget(params) => {
                let keys = self.forgotten(&params)?;
                self.act(session, move |dispatch, session| {
                    // What was read on the ground of it counts no more, and to read again is not to go round in circles.
                    dispatch.world_changed();
                    forget(session, &params.call_ids, &keys)
                })
            }
            SessionRequest::DidShow(params) => self.shown(session, params),
            SessionRequest::Grants(params) => {
                self.act(session, move |dispatch, session| dispatch.granted(session, &params))
            }
            SessionRequest::Todos(params) => {
                if let Some(why) = params.todos.as_deref().and_then(todos::misfit) {
                    return Err(unfit(format!("The task list was not changed: {why}")));
                }
                self.act(session, move |dispatch, session| dispatch.listed(session, params))
            }
            SessionRequest::Status(_) => self.act(session, Dispatch::status),
        })
    }

    /// Does something with a session in its turn, and brings the answer.
    fn act<T: Serialize + Send + 'static>(
        self: &Arc<Self>,
        session: Arc<Session>,
        act: impl FnOnce(&Dispatch, &Session) -> T + Send + 'static,
    ) -> SessionAnswer {
        let (sender, answer) = oneshot::channel();
        let dispatch = Arc::clone(self);
        session.then(move |session| drop(sender.send(act(&dispatch, session))));
        let clock = Arc::clone(&self.workspace.ports.clock);
        async move {
            session.ready(&*clock).await;
            let answer = answer.await.map_err(|_| broken())?;
            serde_json::to_value(answer).map_err(|_| broken())
        }
        .boxed()
    }

    /// What was owed to a session, or held against it, besides what it remembers itself.
    pub(super) fn drop_session(&self, id: &str) {
        self.previews.forget(id);
        self.late.forget(id);
        self.guards.forget(id);
        self.kin.forget(id);
        self.rounds.forget(id);
        self.jobs.close(id);
        self.keeper.forget(id);
        self.inputs.forget(id);
        self.forget_verdicts(id);
    }

    /// The canonical folders of URIs.
    fn folders(&self, uris: Option<&[String]>) -> Option<Vec<Option<String>>> {
        let folder = |uri: &String| match self.workspace.key_of(uri) {
            Some(Key::File(path)) => path.into_os_string().into_string().ok(),
            Some(Key::Unnamed(_)) | None => None,
        };
        uris.map(|uris| uris.iter().map(folder).collect())
    }

    fn opened(&self, session: &Session, asked: Asked, folders: Option<Vec<Option<String>>>) -> Effective {
        // What it proposed before a restart is there again.
        self.bound(session, None);
        self.moded(session, |session| {
            session.want(|wanted| {
                wanted.asked.merge(asked);
                if let Some(folders) = folders {
                    wanted.folders = folders;
                }
            });
        })
    }

    /// Does something that may change the mode of a session or its list of tools, and tells when it did; what holds from
    /// now on.
    pub(super) fn moded(&self, session: &Session, act: impl FnOnce(&Session)) -> Effective {
        let settings = self.workspace.settings();
        let before = session.mode(&settings);
        let tools = (session.tools(), session.activated());
        self.with_agents(session, || act(session));
        if tools != (session.tools(), session.activated()) {
            self.workspace.editor.tell(News::Tools(ToolsChanged { session_id: Some(session.id.clone()) }));
        }
        let effective =
            session.effective(&settings, &self.workspace.roots().folders, self.workspace.editor.abilities().save);
        if effective.mode != before {
            let changed = ModeChanged { session_id: session.id.clone(), mode: effective.mode };
            self.workspace.editor.tell(News::Mode(changed));
        }
        effective
    }

    /// The keys that names may stand for; relative and absolute ones alike.
    fn forgotten(&self, params: &ForgetParams) -> Result<Vec<Key>, ToolError> {
        let named = params.uris.len().max(params.call_ids.len());
        if named > MAX_NAMED {
            return Err(unfit(format!("{named} names were given; at most {MAX_NAMED} are taken at once.")));
        }
        let mut keys: BTreeSet<Key> = BTreeSet::new();
        for name in &params.uris {
            if let Ok(target) = self.workspace.resolve(name) {
                keys.insert(target.key);
                continue;
            }
            // It may be in any of the folders: forgotten too much only means that it is read again.
            let folders = self.workspace.roots().folders;
            let named = folders.iter().map(|folder| folder.join(name).to_string_lossy().into_owned());
            let found = named.filter_map(|path| self.workspace.resolve(&path).ok()).map(|target| target.key);
            keys.extend(found.chain(self.workspace.key_of(name)));
        }
        Ok(keys.into_iter().collect())
    }

    /// The pane itself showed a text: it is looked at as it was when this was said.
    fn shown(&self, session: Arc<Session>, params: DidShowParams) -> SessionAnswer {
        let documents = &self.workspace.documents;
        let document = documents.key_of(&params.uri).and_then(|key| documents.get(&key));
        let encoding = documents.counting().encoding;
        let clock = Arc::clone(&self.workspace.ports.clock);
        async move {
            session.ready(&*clock).await;
            let shown = DidShowResult { seen: false, reason: None };
            let result = match document {
                None => DidShowResult { reason: Some(format!("{} is not open", params.uri)), ..shown },
                Some(document) if document.version != params.version => {
                    let reason = format!("its version is {}, and {} was shown", document.version, params.version);
                    DidShowResult { reason: Some(reason), ..shown }
                }
                Some(document) => {
                    saw(&session, &document, params.range, encoding);
                    DidShowResult { seen: true, reason: None }
                }
            };
            serde_json::to_value(result).map_err(|_| broken())
        }
        .boxed()
    }

    fn granted(&self, session: &Session, params: &GrantsParams) -> GrantsResult {
        let (here, shared) = session.revoke(&params.revoke, params.revoke_all);
        if here || shared {
            self.tell_consents(session, shared);
        }
        GrantsResult { grants: session.remembered() }
    }

    fn listed(&self, session: &Session, params: TodosParams) -> TodosResult {
        if let Some(todos) = params.todos {
            session.set_todos(&todos);
            self.tell_todos(session, todos);
        }
        TodosResult { todos: session.todos() }
    }

    fn status(&self, session: &Session) -> Status {
        Status {
            session_id: session.id.clone(),
            mode: session.mode(&self.workspace.settings()),
            open_calls: self.calls.of(&session.id),
            todos: TodoCounts::of(&session.todos()),
            output_bytes: session.outputs().bytes(),
            guards: self.guards.status(&session.id),
            store: session.kept(),
            mcp: self.mcp_status(),
        }
    }

    fn tell_todos(&self, session: &Session, todos: Vec<Todo>) {
        self.workspace.editor.tell(News::Todos(TodosChanged { session_id: session.id.clone(), todos }));
    }
}

fn forget(session: &Session, calls: &[String], keys: &[Key]) -> ForgetResult {
    let texts = keys.iter().filter(|key| session.forget(key)).count();
    let calls: BTreeSet<&str> = calls.iter().map(String::as_str).collect();
    ForgetResult { forgotten: texts + session.forget_calls(&calls) }
}

/// The lines of a document that were shown whole count as seen.
fn saw(session: &Session, document: &Snapshot, range: Option<Range>, encoding: Encoding) {
    let text = &document.text;
    let hash = crate::text::hash(&text.to_string());
    match range {
        None => session.saw(&document.key, &hash, None),
        Some(range) => {
            let lines = whole_lines(text, range, encoding);
            if !lines.is_empty() {
                session.saw_lines(&document.key, &hash, lines, total(text), None);
            }
        }
    }
}

/// The lines (0-based) that lie in a range as a whole.
fn whole_lines(text: &Text, range: Range, encoding: Encoding) -> std::ops::Range<usize> {
    let (start, end) = (text.byte_of(range.start, encoding).0, text.byte_of(range.end, encoding).0);
    let first = text.line_of(start);
    let first = if text.line_start(first) == start { first } else { first + 1 };
    let last = text.line_of(end);
    let last = if end >= text.line_end(last) { last + 1 } else { last };
    first..last.min(total(text)).max(first)
}

/// The lines of a text; what comes after its last line end is none when it is empty.
fn total(text: &Text) -> usize {
    let lines = text.line_count();
    if text.line_start(lines - 1) == text.len() { lines - 1 } else { lines }
}

fn unfit(message: String) -> ToolError {
    ToolError::new(ErrorKind::InvalidArguments, message)
}

fn broken() -> ToolError {
    ToolError::new(ErrorKind::Failed, "The session was closed before this could be answered.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{LineBreaks, Position};

    #[test]
    fn only_whole_lines_were_shown() {
        let range =
            |a: (u32, u32), b: (u32, u32)| Range { start: Position::new(a.0, a.1), end: Position::new(b.0, b.1) };
        for (text, range, lines) in [
            ("ab\ncd\nef\n", range((0, 0), (3, 0)), 0..3),
            ("ab\ncd\nef", range((0, 0), (2, 2)), 0..3),
            ("ab\ncd\nef\n", range((0, 1), (1, 2)), 1..2),
            ("ab\ncd\nef\n", range((0, 0), (1, 1)), 0..1),
            ("ab\ncd\nef\n", range((1, 0), (2, 0)), 1..2),
            ("ab\n\nef\n", range((0, 0), (1, 0)), 0..2),
            ("ab\ncd\n", range((0, 1), (0, 2)), 1..1),
            ("ab\n", range((0, 0), (99, 0)), 0..1),
            ("", range((0, 0), (0, 0)), 0..0),
        ] {
            let text = Text::new(text, LineBreaks::Lf);
            assert_eq!(whole_lines(&text, range, Encoding::Utf16), lines, "{text} {range:?}");
        }
    }
}
