//! Changes that are proposed instead of made: they land in what their session proposes, and a person accepts or rejects
//! them.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::config::Mode;
use crate::languages::verdict::{Baseline, DocumentReport, SourceReport};
use crate::languages::{DiagnosticsReport, WaitMode};
use crate::permissions::{DecisionKind, Judgement, Place, Policy, Reach, Rule, judge};
use crate::sessions::policy::Apply;
use crate::sessions::{DEFAULT_SESSION, Session};
use crate::syntax::{self, Language};
use crate::tool::{ErrorKind, ToolError};
use crate::workspace::checkpoints::By;
use crate::workspace::commit::SetRefused;
use crate::workspace::proposals::{Accepting, PendingFile, Selector};
use crate::workspace::{Fate, FileChange, Laid, Preview, Refusal, Target, Workspace};

use super::call::{self, EditResult};
use super::change::{DIFF_SHARE, Made, Stopped, Told, counted, hash, lines, told_hunks};
use super::{Call, Dispatch, ids};

/// The part of a session that keeps what it proposes.
const PART: &str = "proposals";

/// At most so many faults of the embedded check are told.
const FAULTS_TOLD: usize = 5;

/// `ropewalk/accept`: what is absent does not restrict; one of `hunkId`, `callId` and `uri` must be there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AcceptParams {
    /// The session that proposed it; absent: the default one.
    pub session_id: Option<String>,
    /// One hunk, by its name in the session, for instance `p1.2`.
    pub hunk_id: Option<String>,
    /// All that a call proposed.
    pub call_id: Option<String>,
    /// All that is proposed for a file.
    pub uri: Option<String>,
    /// What is to be applied instead: with `uri` the whole text of the file, with `hunkId` the lines of the hunk.
    pub edited_text: Option<String>,
}

/// `ropewalk/reject`: as [`AcceptParams`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RejectParams {
    /// The session that proposed it; absent: the default one.
    pub session_id: Option<String>,
    /// One hunk, by its name in the session, for instance `p1.2`.
    pub hunk_id: Option<String>,
    /// All that a call proposed.
    pub call_id: Option<String>,
    /// All that is proposed for a file.
    pub uri: Option<String>,
    /// What the model is told of the reason.
    pub feedback: Option<String>,
}

/// The answer to `ropewalk/accept`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcceptResult {
    /// What is applied now, file by file: all that was named, or nothing.
    pub accepted: Vec<AcceptedFile>,
    /// Why nothing was applied, or not all of it could be taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
}

/// A file with accepted hunks in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcceptedFile {
    /// The names of the hunks that are applied; also of those that others stood on.
    pub hunk_ids: Vec<String>,
    /// What happened to the file.
    pub edit: EditResult,
}

/// Why a person's decision could not be followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refused {
    /// What kind of reason.
    pub kind: ErrorKind,
    /// The reason, for the person.
    pub message: String,
}

/// The answer to `ropewalk/reject`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RejectResult {
    /// What is not proposed any more, file by file.
    pub rejected: Vec<RejectedFile>,
    /// Why nothing was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
}

/// A file of which hunks were rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RejectedFile {
    /// The file.
    pub uri: String,
    /// The names of the hunks that are gone.
    pub hunk_ids: Vec<String>,
    /// The calls that changed lines of named hunks once more: those stay until these calls are rejected.
    pub stand_under: Vec<String>,
}

impl Dispatch {
    /// The files as a session sees them, what it proposes over the rest. `asked`: what the call wants to become of its
    /// changes, which can only be stricter than what the session wants.
    pub(super) fn bound(&self, session: &Session, asked: Option<Apply>) -> Arc<Workspace> {
        let breaks = self.workspace.documents.counting().breaks;
        self.workspace.proposals.restore(&session.id, || session.part(PART), breaks);
        let proposes = asked == Some(Apply::Propose) || session.wanted().apply() == Apply::Propose;
        Arc::new(self.workspace.of_session(&session.id, proposes))
    }

    /// The files as a session sees them, once all that is kept of it is here.
    pub async fn seen_by(&self, session: Option<&str>) -> Arc<Workspace> {
        let session = self.session(session);
        session.ready(&*self.workspace.ports.clock).await;
        self.bound(&session, None)
    }

    /// Whether changes are to be proposed and not made: the session or the call wants that, or they build on what is only
    /// proposed.
    pub(super) fn proposing(call: &Call<'_>, changes: &[(FileChange, Preview)]) -> bool {
        let workspace = &call.context.workspace;
        workspace.proposes() || workspace.touches_proposals(changes.iter().map(|(change, _)| change))
    }

    /// Puts the changes of a call into what its session proposes, all of them or none. `epoch`: of the session, when the
    /// call came.
    pub(super) async fn lay(
        &self,
        call: &mut Call<'_>,
        changes: &[(FileChange, Preview)],
        made: &mut Made,
        epoch: u64,
    ) -> Result<(), Stopped> {
        let clock = self.workspace.ports.clock.clone();
        let started = clock.now();
        made.proposed = true;
        let changes: Vec<FileChange> = changes.iter().map(|(change, _)| change.clone()).collect();
        let session = Arc::clone(&call.context.session);
        let by = By { session: session.id.clone(), turn: call.params.turn_id.clone(), call: call.id.to_owned() };
        let laid = match call.context.workspace.lay(&by, &changes).await {
            Ok(laid) => laid,
            Err(refusal) if super::propose::needs_new_consent(&refusal) => return Err(Stopped::Again(refusal.into())),
            Err(refusal) => return Err(Stopped::Failed(refusal.into())),
        };
        self.world.changed();
        if session.epoch() != epoch {
            self.workspace.proposals.withdraw(&session.id, call.id);
            let words = "The session was closed or began anew meanwhile; nothing is proposed.";
            return Err(Stopped::Failed(ToolError::new(ErrorKind::Cancelled, words)));
        }
        self.keep_proposals(&session);
        for laid in &laid {
            told(call, laid, made);
        }
        if let Some(last) = made.told.last_mut() {
            last.words.push_str(" Nothing is applied: until a person accepts it, only you see it.");
        }
        made.report = Some(if call.params.diagnostics.wait == WaitMode::None {
            DiagnosticsReport::default()
        } else {
            self.looked_at(laid).await
        });
        call.timing.apply_ms += super::millis(clock.now() - started);
        Ok(())
    }

    /// What is known of proposed texts: what the embedded check says, for no server has seen them.
    async fn looked_at(&self, laid: Vec<Laid>) -> DiagnosticsReport {
        let encoding = self.workspace.documents.counting().encoding;
        let look = move || {
            let there = laid.into_iter().filter(|laid| laid.fate != Fate::Deleted);
            let document = |laid: Laid| {
                let language = Language::of(laid.language.as_deref(), &laid.target.uri);
                let before = laid.before.as_ref().map(ToString::to_string);
                let after = laid.after.to_string();
                let check = syntax::check(language, before.as_deref(), &laid.splices, &after);
                let baseline = if before.is_some() { Baseline::Known } else { Baseline::None };
                let source = SourceReport::of_check(&check, baseline, &laid.after, encoding, FAULTS_TOLD);
                DocumentReport { uri: laid.target.uri, version: None, sources: vec![source], report_in: None }
            };
            DiagnosticsReport { documents: there.map(document).collect(), ..DiagnosticsReport::default() }
        };
        tokio::task::spawn_blocking(look).await.unwrap_or_default()
    }

    /// What a session proposes outlives a restart.
    fn keep_proposals(&self, session: &Session) {
        session.save(PART, &self.workspace.proposals.kept(&session.id));
    }

    /// A session is closed, or begins anew: it proposes nothing any more.
    pub(super) fn drop_proposals(&self, session: &Session) {
        let uris = self.workspace.proposals.forget(&session.id);
        if !uris.is_empty() {
            self.workspace.tell_proposals(uris);
        }
        if session.part::<serde_json::Value>(PART).is_some() {
            self.keep_proposals(session);
        }
    }

    /// What the model is told of what became of its proposals, once.
    pub(super) fn told_proposals(&self, session: &Session) -> Option<String> {
        let news = self.workspace.proposals.take_news(&session.id);
        if news.is_empty() {
            return None;
        }
        let mut told = String::from("Since then, about what you proposed:");
        for piece in news {
            told.push_str("\n- ");
            told.push_str(&piece);
        }
        Some(told)
    }

    /// What sessions propose (all of them: `None`), for a file or all of them.
    pub async fn pending(&self, session: Option<&str>, uri: Option<&str>) -> Vec<PendingFile> {
        let key = uri.map(|uri| self.workspace.key_of(uri));
        match key {
            Some(None) => Vec::new(),
            Some(key) => self.workspace.pending(session, key).await,
            None => self.workspace.pending(session, None).await,
        }
    }

    /// A person accepts what is proposed: it is committed, all that is named or nothing.
    pub fn accept(self: &Arc<Self>, params: AcceptParams) -> BoxFuture<'static, Result<AcceptResult, ToolError>> {
        let me = Arc::clone(self);
        // Once begun it is seen through, whoever still listens.
        let done = tokio::spawn(async move {
            let AcceptParams { session_id, hunk_id, call_id, uri, edited_text } = params;
            let session = me.asked(session_id.as_deref()).await?;
            let selector = me.selector(hunk_id, call_id, uri).await?;
            Ok(me.accepted(&session, selector, edited_text).await)
        });
        async move { done.await.unwrap_or_else(|_| Err(broken())) }.boxed()
    }

    /// A person rejects what is proposed.
    pub fn reject(self: &Arc<Self>, params: RejectParams) -> BoxFuture<'static, Result<RejectResult, ToolError>> {
        let me = Arc::clone(self);
        async move {
            let RejectParams { session_id, hunk_id, call_id, uri, feedback } = params;
            let session = me.asked(session_id.as_deref()).await?;
            let selector = me.selector(hunk_id, call_id, uri).await?;
            let rejected = me.bound(&session, None).reject(&selector, feedback.as_deref()).await;
            me.world.changed();
            me.keep_proposals(&session);
            let rejected = match rejected {
                Ok(rejected) => rejected,
                Err(refusal) => return Ok(RejectResult { refused: Some(refused(refusal)), ..RejectResult::default() }),
            };
            let file = |rejected: crate::workspace::proposals::Rejected| RejectedFile {
                uri: rejected.target.uri,
                hunk_ids: rejected.hunks,
                stand_under: rejected.left.into_iter().map(|by| by.call).collect(),
            };
            Ok(RejectResult { rejected: rejected.into_iter().map(file).collect(), refused: None })
        }
        .boxed()
    }

    async fn asked(&self, session: Option<&str>) -> Result<Arc<Session>, ToolError> {
        if let Some(long) = ids::too_long("sessionId", session) {
            return Err(long);
        }
        let session = self.session(Some(session.unwrap_or(DEFAULT_SESSION)));
        session.ready(&*self.workspace.ports.clock).await;
        Ok(session)
    }

    async fn selector(
        &self,
        hunk: Option<String>,
        call: Option<String>,
        uri: Option<String>,
    ) -> Result<Selector, ToolError> {
        if hunk.is_none() && call.is_none() && uri.is_none() {
            let message = "What is meant? Name a hunk by `hunkId`, a call by `callId`, or a file by `uri`.";
            return Err(ToolError::new(ErrorKind::InvalidArguments, message));
        }
        let workspace = Arc::clone(&self.workspace);
        let key = tokio::task::spawn_blocking(move || {
            uri.map(|uri| workspace.resolve(&uri).map(|target| target.key)).transpose()
        });
        let key = key
            .await
            .map_err(|_| broken())?
            .map_err(|refusal| ToolError::new(ErrorKind::InvalidArguments, refusal.message))?;
        Ok(Selector { hunk, call, key })
    }

    async fn accepted(&self, session: &Arc<Session>, selector: Selector, edited: Option<String>) -> AcceptResult {
        let refuse = |refused: Refused| AcceptResult { accepted: Vec::new(), refused: Some(refused) };
        let mut accepting = match self.bound(session, None).accepting(&selector, edited).await {
            Ok(accepting) => accepting,
            Err(refusal) => return refuse(refused(refusal)),
        };
        if let Some(refused) = self.forbidden(session, &accepting) {
            return refuse(refused);
        }
        let changes: Vec<FileChange> = accepting.iter().map(|accepting| accepting.change.clone()).collect();
        // Not through the session's eyes: what is committed is what is really there.
        let (committed, refused) = match self.workspace.commit_set(&changes, &CancellationToken::new()).await {
            Ok(committed) => (committed, None),
            Err(SetRefused { refusal, left, .. }) => (left, Some(self::refused(refusal))),
        };
        let mut accepted = Vec::new();
        for committed in committed {
            let at = accepting.iter().position(|accepting| accepting.target().key == committed.target.key);
            let Some(at) = at else { continue };
            let (one, landed) = (accepting.remove(at), committed.clone());
            let settled = tokio::task::spawn_blocking(move || crate::workspace::proposals::accepted(one, &landed));
            let hunk_ids = settled.await.unwrap_or_default();
            if committed.version_after.is_none() {
                self.tell_servers(&committed);
            }
            accepted.push(AcceptedFile { hunk_ids, edit: EditResult::of(&committed) });
        }
        self.world.changed();
        self.keep_proposals(session);
        AcceptResult { accepted, refused }
    }

    /// Why what is proposed may not be applied even where a person wants it: a rule denies it, or it is of a protected
    /// place, which a person has to accept singly.
    fn forbidden(&self, session: &Session, accepting: &[Accepting]) -> Option<Refused> {
        let policy = session.policy(&self.workspace.settings(), &self.workspace.roots().folders);
        // The modes hold back the model and not the person.
        let policy = Policy { mode: Mode::Build, ceiling: Mode::Build, ..policy };
        accepting.iter().find_map(|one| {
            let to = match &one.change.fate {
                Fate::Moved { to } => Some(to),
                Fate::Stays | Fate::Deleted => None,
            };
            let place = |target: &Target| Place {
                asked: target.shown.clone(),
                paths: target.paths.clone(),
                inside: target.inside,
            };
            let reach = Reach { writes: [one.target()].into_iter().chain(to).map(place).collect(), ..Reach::default() };
            let Judgement { decision, reason, singly, .. } = judge("edit", Rule::Write, &reach, &policy);
            let message = match decision {
                DecisionKind::Deny => format!("It was not applied: {reason}."),
                DecisionKind::Ask if singly && accepting.len() > 1 => {
                    format!("Nothing was applied: {reason}. Accept it by its own `uri`, apart from the others.")
                }
                DecisionKind::Ask | DecisionKind::Allow => return None,
            };
            Some(Refused { kind: ErrorKind::Denied, message })
        })
    }
}

/// Takes up one proposed change: it is told, and the model knows by it what it sees from now on.
fn told(call: &Call<'_>, laid: &Laid, made: &mut Made) {
    let session = &call.context.session;
    let key = match &laid.fate {
        Fate::Moved { to } => {
            session.moved(&laid.target.key, &to.key);
            &to.key
        }
        Fate::Stays | Fate::Deleted => &laid.target.key,
    };
    let (before, after) = (laid.before.as_ref().map(hash), hash(&laid.after));
    let mut notes = laid.notes.clone();
    made.texts.push((key.clone(), before.clone(), after.clone()));
    let whole = laid.before.is_none() || laid.hunks.iter().all(|hunk| hunk.strategy == "write");
    let seen = session.seen(key);
    if laid.fate == Fate::Deleted {
        session.forget(key);
    } else if whole && (laid.fate == Fate::Stays || !laid.hunks.is_empty()) {
        session.saw(key, &after, Some(&call.context.call));
    } else if seen.is_some() && seen == before && session.unseen(key).is_empty() {
        session.changed(key, &after, Some(&call.context.call));
    } else if seen.is_some() && seen != before {
        notes.push("it had changed since you last read it; this is proposed for the text as it is now".to_owned());
    }
    let shown = &laid.target.shown;
    let words = match (&laid.fate, &laid.before) {
        (Fate::Stays, None) => format!("Proposed a new file {shown} ({}).", counted(lines(&laid.after), "line")),
        (Fate::Stays, Some(_)) => format!("Proposed for {shown}: {}.", told_hunks(&laid.hunks)),
        (Fate::Deleted, _) => format!("Proposed to delete {shown}."),
        (Fate::Moved { to }, _) if laid.splices.is_empty() => format!("Proposed to move {shown} to {}.", to.shown),
        (Fate::Moved { to }, _) => {
            format!("Proposed to move {shown} to {} and to change it: {}.", to.shown, told_hunks(&laid.hunks))
        }
    };
    let diff = if laid.before.is_some() && laid.fate != Fate::Deleted && !laid.splices.is_empty() {
        laid.unified_diff.trim_end_matches('\n').to_owned()
    } else {
        String::new()
    };
    let share = call.budget.max / DIFF_SHARE / (made.edits.len() + 1);
    let mut told = Told { words, diff, share };
    for note in &notes {
        told.note(note);
    }
    made.told.push(told);
    made.edits.push(EditResult {
        uri: laid.target.uri.clone(),
        version_before: laid.version,
        version_after: None,
        unsaved: false,
        hunks: laid.hunks.clone(),
        unified_diff: laid.unified_diff.clone(),
        deleted: laid.fate == Fate::Deleted,
        moved_to: call::moved_to(&laid.fate),
        hunk_ids: laid.ids.clone(),
    });
}

fn refused(refusal: Refusal) -> Refused {
    let ToolError { kind, message, .. } = refusal.into();
    Refused { kind, message }
}

fn broken() -> ToolError {
    ToolError::new(ErrorKind::Failed, "It broke down (a defect of this program); look at what is proposed now.")
}
