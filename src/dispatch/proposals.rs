//! Changes that are proposed instead of made: they land in what their session proposes, and a person accepts or rejects
//! them.

mod accept;
mod told;

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::languages::problems::SYNTAX;
use crate::languages::verdict::{Baseline, DocumentReport, SourceReport, Verdict};
use crate::languages::{DiagnosticsReport, Wait, WaitMode};
use crate::sessions::policy::Apply;
use crate::sessions::{DEFAULT_SESSION, Session};
use crate::syntax::{self, Language};
use crate::tool::{ErrorKind, ToolError};
use crate::workspace::proposals::Selector;
use crate::workspace::{Fate, FileChange, Laid, Preview, Refusal, Target, Workspace};

pub use told::{
    AcceptParams, AcceptResult, AcceptedFile, ProposedFile, ProposedHunk, Refused, RejectParams, RejectResult,
    RejectedFile,
};

use super::call::{self, EditResult};
use super::change::{DIFF_SHARE, Made, Stopped, Told, counted, hash, lines, told_hunks};
use super::review::ChangesParams;
use super::{Call, Dispatch, ids};

/// The part of a session that keeps what it proposes.
const PART: &str = "proposals";

/// What is said of a source of diagnostics behind a proposal.
const UNSEEN: &str = "it sees the text as it is, without what you propose";

/// At most so many faults of the embedded check are told.
const FAULTS_TOLD: usize = 5;

impl Dispatch {
    /// The files as a session sees them, what it proposes over the rest. `asked`: what the call wants to become of its
    /// changes, which can only be stricter than what the session wants.
    pub(super) fn bound(&self, session: &Session, asked: Option<Apply>) -> Arc<Workspace> {
        let breaks = self.workspace.documents.counting().breaks;
        let restored = self.workspace.proposals.restore(&session.id, || session.part(PART), breaks);
        if !restored.is_empty() {
            self.workspace.tell_proposals(restored);
        }
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
        let by = call.by();
        let lasts = Arc::clone(&session);
        let current = move || lasts.epoch() == epoch;
        let laid = match call.context.workspace.lay(&by, &changes, current).await {
            Ok(laid) => laid,
            Err(refusal) if super::propose::needs_new_consent(&refusal) => return Err(Stopped::Again(refusal.into())),
            Err(refusal) => return Err(Stopped::Failed(refusal.into())),
        };
        self.world.changed();
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

    /// What is known of proposed texts: what the embedded check says, and that nobody else has seen them.
    ///
    /// A language server knows one text of a file, and its diagnostics of other files follow from that: were it lent the
    /// proposed one, what it says of the others meanwhile, and late, could not be told from what it says of the real
    /// texts, and other sessions would be told of it. A second server of a kind is not started. So each source is
    /// named with what it has seen, which is another text: never as one that has checked this one.
    async fn looked_at(&self, laid: Vec<Laid>) -> DiagnosticsReport {
        let mut others = Vec::new();
        for laid in laid.iter().filter(|laid| laid.fate != Fate::Deleted) {
            if let Some(real) = &laid.real {
                // Once it is applied, there is something to compare with.
                self.languages.look(&laid.target, laid.language.as_deref(), real);
            }
            others.push(self.unseeing(&laid.target).await);
        }
        let encoding = self.workspace.documents.counting().encoding;
        let look = move || {
            let there = laid.into_iter().filter(|laid| laid.fate != Fate::Deleted);
            let document = |(laid, mut sources): (Laid, Vec<SourceReport>)| {
                let language = Language::of(laid.language.as_deref(), &laid.target.uri);
                let before = laid.before.as_ref().map(ToString::to_string);
                let after = laid.after.to_string();
                let check = syntax::check(language, before.as_deref(), &laid.splices, &after);
                let baseline = if before.is_some() { Baseline::Known } else { Baseline::None };
                let source = SourceReport::of_check(&check, baseline, &laid.after, encoding, FAULTS_TOLD);
                sources.push(source);
                sources.sort_by(|a, b| a.id.cmp(&b.id));
                DocumentReport { uri: laid.target.uri, version: None, sources, report_in: None }
            };
            DiagnosticsReport { documents: there.zip(others).map(document).collect(), ..DiagnosticsReport::default() }
        };
        tokio::task::spawn_blocking(look).await.unwrap_or_default()
    }

    /// The sources that check a file: what they say is of its text as it is.
    async fn unseeing(&self, target: &Target) -> Vec<SourceReport> {
        let wait = Wait { wait: WaitMode::None, ..Wait::default() };
        let known = self.languages.report(Some(target), None, &wait, &CancellationToken::new()).await;
        let sources = known.documents.into_iter().flat_map(|document| document.sources);
        // Those that say nothing of any text of it are not worth a word here.
        let checks = |source: &SourceReport| {
            source.id != SYNTAX && !matches!(source.verdict, Verdict::NoServer | Verdict::Untrusted)
        };
        sources.filter(checks).map(|source| SourceReport::new(source.id, Verdict::Stale).with_detail(UNSEEN)).collect()
    }

    /// What a session proposes outlives a restart.
    fn keep_proposals(&self, session: &Session) {
        session.save(PART, &self.workspace.proposals.kept(&session.id));
    }

    /// A session is closed, or begins anew: it proposes nothing any more.
    pub(super) fn drop_proposals(&self, session: &Session) {
        // What is kept of it and nobody has looked at yet goes as well.
        self.bound(session, None);
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
        self.keep_proposals(session);
        let mut told = String::from("Since then, about what you proposed:");
        for piece in news {
            told.push_str("\n- ");
            told.push_str(&piece);
        }
        Some(told)
    }

    /// What sessions propose and nobody has judged yet, as far as it is meant.
    pub(super) async fn proposed(&self, choice: &ChangesParams) -> Result<Vec<ProposedFile>, ToolError> {
        if let Some(session) = &choice.session_id {
            // What is kept of it may not have been looked at yet.
            let session = self.asked(Some(session)).await?;
            self.bound(&session, None);
        }
        let key = match &choice.uri {
            None => None,
            Some(uri) => match self.workspace.key_of(uri) {
                None => return Ok(Vec::new()),
                key => key,
            },
        };
        let pending = self.workspace.pending(choice.session_id.as_deref(), key).await;
        let documents = &self.workspace.documents;
        let version = |uri: &str| Some(documents.get(&documents.key_of(uri)?)?.version);
        Ok(told::proposed(pending, choice, version))
    }

    /// A person accepts what is proposed: it is committed, all that is named or nothing.
    pub fn accept(self: &Arc<Self>, params: AcceptParams) -> BoxFuture<'static, Result<AcceptResult, ToolError>> {
        let me = Arc::clone(self);
        // Once begun it is seen through, whoever still listens.
        let done = tokio::spawn(async move {
            let AcceptParams { session_id, hunk_id, call_id, uri, edited_text, diagnostics } = params;
            let session = me.asked(session_id.as_deref()).await?;
            let selector = me.selector(hunk_id, call_id, uri).await?;
            Ok(me.accepted(&session, selector, edited_text, diagnostics).await)
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
    let mut words = match (&laid.fate, &laid.before) {
        (Fate::Stays, None) => format!("Proposed a new file {shown} ({}).", counted(lines(&laid.after), "line")),
        (Fate::Stays, Some(_)) if laid.splices.is_empty() && laid.executable.is_some() => {
            format!("Proposed to change the mode of {shown}.")
        }
        (Fate::Stays, Some(_)) if laid.splices.is_empty() => {
            format!("{shown} is already so: nothing is proposed for it.")
        }
        (Fate::Stays, Some(_)) => format!("Proposed for {shown}: {}.", told_hunks(&laid.hunks)),
        (Fate::Deleted, _) => format!("Proposed to delete {shown}."),
        (Fate::Moved { to }, _) if laid.splices.is_empty() => format!("Proposed to move {shown} to {}.", to.shown),
        (Fate::Moved { to }, _) => {
            format!("Proposed to move {shown} to {} and to change it: {}.", to.shown, told_hunks(&laid.hunks))
        }
    };
    match laid.executable {
        Some((_, true)) => words.push_str(" It could be run then (mode 100755)."),
        Some((_, false)) => words.push_str(" It could not be run any more then (mode 100644)."),
        None => {}
    }
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
