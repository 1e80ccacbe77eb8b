//! A person accepts what is proposed: it is committed by the usual path, and formatted, saved and looked at by the sources
//! of diagnostics like the change of a call.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;
use tracing::error;

use crate::config::Mode;
use crate::dispatch::call::{CallParams, EditResult, Timing};
use crate::dispatch::change::{self, Made, Told};
use crate::dispatch::{Call, Dispatch};
use crate::languages::{Edited, Prepared, Wait};
use crate::outputs::Budget;
use crate::permissions::{DecisionKind, Judgement, Place, Policy, Reach, Rule, judge};
use crate::sessions::Session;
use crate::text::Text;
use crate::tool::{Context, ErrorKind};
use crate::workspace::checkpoints::By;
use crate::workspace::commit::{Landed, SetRefused};
use crate::workspace::proposals::{Accepting, Selector, Shares};
use crate::workspace::{Committed, Fate, FileChange, Key, Refusal, RefusalKind, Target};

use super::told::{AcceptResult, AcceptedFile, Refused};

/// The tool whose rules hold for what is accepted.
const TOOL: &str = "edit";

/// The hunks under review that accepted changes left, by file.
type Left = Arc<Mutex<BTreeMap<Key, Vec<String>>>>;

impl Dispatch {
    /// Applies what is meant, all of it or nothing.
    pub(super) async fn accepted(
        &self,
        session: &Arc<Session>,
        selector: Selector,
        edited: Option<String>,
        wait: Wait,
    ) -> AcceptResult {
        let refuse = |refused: Refused| AcceptResult { refused: Some(refused), ..AcceptResult::default() };
        self.workspace.recovered().await;
        self.review_ready().await;
        let epoch = session.epoch();
        let accepting = match self.bound(session, None).accepting(&selector, edited).await {
            Ok(accepting) => accepting,
            Err(refusal) => return refuse(super::refused(refusal)),
        };
        if let Some(refused) = self.forbidden(session, &accepting) {
            return refuse(refused);
        }
        let maker = accepting.iter().find_map(Accepting::by).cloned();
        let prepared: Vec<(Key, Prepared)> = accepting.iter().map(|one| self.about_to(one)).collect();
        let changes: Vec<FileChange> = accepting.iter().map(|accepting| accepting.change.clone()).collect();
        let left = Left::default();
        let landed = self.shared_out(&accepting, &left);
        // Not through the session's eyes: what is committed is what is really there.
        let cancel = CancellationToken::new();
        let commit = self.workspace.commit_set_then(&changes, &cancel, landed);
        let done = match AssertUnwindSafe(commit).catch_unwind().await {
            Ok(done) => done,
            Err(_) => Err(broke_down(&changes)),
        };
        let (committed, refused) = match done {
            Ok(committed) => (committed, None),
            Err(SetRefused { refusal, left, .. }) => {
                if refusal.kind == RefusalKind::Unknown {
                    accepting.iter().for_each(Accepting::in_doubt);
                }
                (left, Some(super::refused(refusal)))
            }
        };
        let mut result = AcceptResult { refused, ..AcceptResult::default() };
        let mut made = self.taken_up(accepting, prepared, committed, &left, &mut result).await;
        self.world.changed();
        if let Some(maker) = maker.filter(|_| !result.accepted.is_empty()) {
            self.seen_through(session, epoch, maker, wait, &mut made, &mut result).await;
        }
        self.keep_proposals(session);
        result
    }

    /// A file just before what is proposed for it is applied, by its key.
    fn about_to(&self, accepting: &Accepting) -> (Key, Prepared) {
        let target = accepting.target();
        let open = self.workspace.documents.get(&target.key);
        let language = open.as_ref().map(|document| document.language_id.as_str());
        let empty = Text::new("", self.workspace.documents.counting().breaks);
        let before = open.as_ref().map(|document| &document.text).or(accepting.base()).unwrap_or(&empty);
        let place = change::place(target, &accepting.change.fate);
        (target.key.clone(), self.languages.prepare(place, language, before))
    }

    /// Hears of what is applied in the moment in which it is: each call has its share in it.
    fn shared_out(&self, accepting: &[Accepting], left: &Left) -> Landed {
        let shares: BTreeMap<Key, Shares> =
            accepting.iter().map(|one| (one.target().key.clone(), one.shares())).collect();
        let (checkpoints, documents) = (Arc::clone(&self.workspace.checkpoints), Arc::clone(&self.workspace.documents));
        let (left, late) = (Arc::clone(left), self.heard_late());
        Arc::new(move |committed| {
            let Some(shares) = shares.get(&committed.target.key) else { return };
            let mut names = Vec::new();
            for (change, by) in shares.of(committed) {
                names.extend(checkpoints.made(&change, &by));
            }
            left.lock().unwrap_or_else(PoisonError::into_inner).insert(committed.target.key.clone(), names);
            // Nobody listened for a document that had no changes before.
            if let Some(snapshot) = documents.get(&committed.target.key) {
                checkpoints.sync(&snapshot);
            }
            late(committed);
        })
    }

    /// Takes up what was applied: it is proposed no more.
    async fn taken_up(
        &self,
        mut accepting: Vec<Accepting>,
        mut prepared: Vec<(Key, Prepared)>,
        committed: Vec<Committed>,
        left: &Left,
        result: &mut AcceptResult,
    ) -> Made {
        let mut made = Made::default();
        for committed in committed {
            let key = &committed.target.key;
            let Some(at) = accepting.iter().position(|accepting| accepting.target().key == *key) else { continue };
            let before = prepared.iter().position(|(of, _)| of == key).map(|at| prepared.remove(at).1);
            let (one, landed) = (accepting.remove(at), committed.clone());
            let settled = tokio::task::spawn_blocking(move || crate::workspace::proposals::accepted(one, &landed));
            let hunk_ids = settled.await.unwrap_or_default();
            if committed.version_after.is_none() {
                self.tell_servers(&committed);
            }
            let edit = EditResult::of(&committed);
            let change_ids = left.lock().unwrap_or_else(PoisonError::into_inner).remove(key).unwrap_or_default();
            result.accepted.push(AcceptedFile { hunk_ids, change_ids, edit: edit.clone() });
            made.edits.push(edit);
            let mut told = Told { words: String::new(), diff: String::new(), share: 0 };
            committed.notes.iter().for_each(|note| told.note(note));
            made.told.push(told);
            let Some(before) = before.filter(|_| committed.fate != Fate::Deleted) else { continue };
            let target = change::place(&committed.target, &committed.fate).clone();
            let was = committed.before.as_ref().map(change::hash);
            made.texts.push((target.key.clone(), was, change::hash(&committed.after)));
            made.places.push(made.told.len() - 1);
            let Committed { version_after, splices, after, .. } = committed;
            made.settling.push((before, Edited { target, version: version_after, splices, after }));
        }
        made
    }

    /// What follows a change: it is formatted and saved, front ends hear of it, and its diagnostics are awaited.
    async fn seen_through(
        &self,
        session: &Arc<Session>,
        epoch: u64,
        maker: By,
        wait: Wait,
        made: &mut Made,
        result: &mut AcceptResult,
    ) {
        let uris = made.edits.iter().flat_map(|edit| [Some(&edit.uri), edit.moved_to.as_ref()]).flatten();
        self.changes_changed(uris.cloned().collect());
        let Some(entry) = self.tools.named(TOOL) else { return };
        let budget = Budget::new(&self.workspace.settings().output, session.wanted().max_bytes(None));
        let params = CallParams { diagnostics: wait, ..CallParams::default() };
        let context = Context {
            call: Arc::from(maker.call.as_str()),
            ..self.context(session, None, CancellationToken::new(), budget.max)
        };
        let mut call = Call {
            params: &params,
            id: &maker.call,
            entry: &entry,
            arguments: serde_json::Value::Null,
            context,
            budget,
            timing: &mut Timing::default(),
            lineage: None,
            reporter: None,
            member: None,
            maker: Some(By { accepted: true, ..maker.clone() }),
        };
        self.follow_up(&call, made).await;
        self.settle(&mut call, made).await;
        let accepted = result.accepted.len();
        for (accepted, edit) in result.accepted.iter_mut().zip(&made.edits) {
            accepted.edit.unsaved = edit.unsaved;
        }
        result.followed = made.edits.split_off(accepted);
        result.notes = notes(&made.told, &result.accepted);
        result.diagnostics = made.report.take();
        // Of a session that was closed meanwhile nothing is remembered.
        if session.epoch() != epoch {
            return;
        }
        for note in &result.notes {
            self.workspace.proposals.tell(&session.id, note.trim_end_matches('.').to_owned());
        }
        if let Some(report) = &result.diagnostics {
            self.late.reported(&session.id, report);
            let told = change::told_diagnostics(Some(report), &self.workspace.roots().folders);
            if !told.is_empty() {
                self.workspace.proposals.tell(&session.id, format!("behind what was accepted:\n{told}"));
            }
        }
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
            let Judgement { decision, reason, singly, .. } = judge(TOOL, Rule::Write, &reach, &policy);
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

/// What is to be remarked of what followed: of an accepted file with its name before it.
fn notes(told: &[Told], accepted: &[AcceptedFile]) -> Vec<String> {
    let mut notes = Vec::new();
    for (at, told) in told.iter().enumerate() {
        let name = accepted.get(at).map(|accepted| accepted.edit.uri.rsplit('/').next().unwrap_or_default());
        for line in told.words.split("\nNote: ").map(str::trim).filter(|line| !line.is_empty()) {
            notes.push(name.map_or_else(|| line.to_owned(), |name| format!("{name}: {line}")));
        }
    }
    notes
}

fn broke_down(changes: &[FileChange]) -> SetRefused {
    error!("a commit of what was accepted panicked");
    let shown: Vec<&str> = changes.iter().map(|change| change.target.shown.as_str()).collect();
    let words = format!("Changing {} broke down half-way; it is not known whether it landed.", shown.join(", "));
    Refusal::new(RefusalKind::Unknown, words).into()
}
