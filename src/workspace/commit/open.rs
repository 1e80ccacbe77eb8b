//! The commit of an open document: compute, send, see it land; compute anew where the text was faster.

use tokio_util::sync::CancellationToken;

use crate::text::{Splice, Text, diff};
use crate::workspace::documents::{Snapshot, Sync};
use crate::workspace::{Refusal, RefusalKind};

use super::deliver::{Delivery, Fate, Reply, Watch, deliver};
use super::queues::Turn;
use super::sent::Sent;
use super::shape::{self, Shaped};
use super::{Committed, Desk, FileChange, apart, late, shape_apart, words};

/// Makes a change in the editor's buffer, in the turn of its document.
pub(super) async fn commit(
    desk: &Desk,
    turn: &Turn,
    mut watch: Watch,
    change: &FileChange,
    cancel: &CancellationToken,
) -> Result<Committed, Refusal> {
    let shown = &change.target.shown;
    let mut notes = Vec::new();
    let mut first: Option<Text> = None;
    let mut rebases = 0;
    loop {
        trusted(desk, &mut watch, shown, cancel).await?;
        let before = watch.now.clone();
        let origin = first.get_or_insert_with(|| before.text.clone()).clone();
        let shaped = match shape_apart(&before.text, &change.rewrite).await {
            Err(refusal) if rebases > 0 => return Err(misfit(shown, &refusal, &origin, &before.text).await),
            shaped => shaped?,
        };
        if cancel.is_cancelled() {
            return Err(cancelled());
        }
        if !catch_up(&mut watch) {
            return Err(closed(shown));
        }
        if watch.now.text == before.text && watch.now.epoch == before.epoch {
            if shaped.rewritten.splices.is_empty() {
                return Ok(nothing(desk, change, &watch.now, shaped, notes));
            }
            let sent = sent(desk, &watch.now.text, shaped.rewritten.splices.clone())?;
            let before = watch.now.clone();
            let (fate, delivery) = deliver(desk, &mut watch, sent, &change.label).await;
            let landed = match fate {
                Fate::Landed { step, version } => {
                    Some((delivery.echo.text(step).unwrap_or(delivery.echo.now()).clone(), Some(version)))
                }
                Fate::Merged => Some((delivery.echo.now().clone(), Some(watch.now.version))),
                Fate::Saved(text) => {
                    notes.push("The document was saved and closed with the change in it.".to_owned());
                    Some((text, None))
                }
                Fate::NotThere => None,
                Fate::Elsewhere { on, step } => {
                    let place = lines_of(&delivery, step).await;
                    let undone = take_back(desk, &mut watch, &delivery, (on, step), &change.label).await;
                    if let Err(why) = undone {
                        let words = format!(
                            "The editor applied the edit of {shown} to a text it was not meant for, {place}, and it \
                             could not be taken back: {why}. Read the file again and repair that place first."
                        );
                        return Err(told(RefusalKind::Unknown, shown, &words, &before.text, &watch.now.text).await);
                    }
                    let versions = Some((before.version, watch.now.version));
                    desk.checkpoints.taken_back(&change.target.key, versions);
                    notes.push(format!(
                        "The editor first applied the edit to a text it was not meant for, {place}; that was \
                         taken back."
                    ));
                    None
                }
                failed => {
                    return Err(refuse(desk, turn, change, &before, failed, watch, delivery).await);
                }
            };
            if let Some((after, version)) = landed {
                return done(desk, change, &before, &delivery, shaped, (after, version), rebases, notes).await;
            }
        }
        rebases += 1;
        if rebases > desk.settings.commit.rebases {
            let words = format!(
                "{shown} kept changing while the edit was under way; it was computed {rebases} times and never \
                 applied. Nothing of it is in the text. Try again when the text is at rest."
            );
            return Err(told(RefusalKind::Conflict, shown, &words, &origin, &watch.now.text).await);
        }
    }
}

/// Takes in what has happened so far; `false` when the document is closed.
fn catch_up(watch: &mut Watch) -> bool {
    let mut open = true;
    while let Ok(event) = watch.events.try_recv() {
        open = !matches!(event, crate::workspace::documents::DocEvent::Closed(_));
        watch.now = event.snapshot().clone();
    }
    open
}

fn cancelled() -> Refusal {
    Refusal::new(RefusalKind::Cancelled, "Cancelled before anything was changed.")
}

/// Makes sure that the mirror is the editor's text, by asking where the editor can tell.
async fn trusted(desk: &Desk, watch: &mut Watch, shown: &str, cancel: &CancellationToken) -> Result<(), Refusal> {
    if let Some(now) = desk.documents.get(&watch.now.key) {
        watch.now.trust = now.trust;
    }
    if watch.now.trust.doubt().is_some() {
        tokio::select! {
            biased;
            _ = desk.resync(&watch.now) => {}
            () = cancel.cancelled() => return Err(cancelled()),
        }
        if !catch_up(watch) {
            return Err(closed(shown));
        }
    }
    let trust = &watch.now.trust;
    let Some(why) = trust.doubt() else { return Ok(()) };
    // Only an editor that tells its text shows that the half is gone.
    let advice = if matches!(trust, Sync::Halves(_)) && desk.editor.abilities().resync {
        "Ask the user to complete or delete that character, or to close the document and open it again; then read it again."
    } else {
        "Ask the user to close the document and open it again, then read it again."
    };
    Err(Refusal::new(
        RefusalKind::Conflict,
        format!(
            "The text of {shown} as known here may differ from the editor's ({why}), so nothing was changed. {advice}"
        ),
    ))
}

fn sent(desk: &Desk, text: &Text, splices: Vec<Splice>) -> Result<Sent, Refusal> {
    Sent::new(text, splices, desk.documents.counting().encoding).ok_or_else(|| {
        Refusal::new(
            RefusalKind::Failed,
            "The edit cannot be told to the editor exactly, so nothing was changed. Try an edit of whole lines.",
        )
    })
}

fn closed(shown: &str) -> Refusal {
    Refusal::new(
        RefusalKind::Conflict,
        format!(
            "{shown} was closed in the editor before the edit was seen in it, and the file on the disk does not \
             have the change. Read the file again before you edit it."
        ),
    )
}

async fn misfit(shown: &str, refusal: &Refusal, origin: &Text, now: &Text) -> Refusal {
    let words = format!(
        "{shown} changed while the edit was under way, and the edit does not fit its new text: {} Nothing was \
         changed. Read the file again.",
        refusal.message
    );
    let mut told = told(RefusalKind::Conflict, shown, &words, origin, now).await;
    // By its reason it is known whether the change can be worked out anew.
    if let (Some(data), Some(reason)) = (&mut told.data, refusal.data.as_ref().and_then(|data| data.get("reason"))) {
        data["reason"] = reason.clone();
    }
    told
}

/// A refusal that shows how the text changed, which may take its time to find out.
async fn told(kind: RefusalKind, shown: &str, words: &str, old: &Text, new: &Text) -> Refusal {
    let (shown, words, old, new) = (shown.to_owned(), words.to_owned(), old.clone(), new.clone());
    apart(move || Ok(words::moved_on(kind, &shown, &words, &old, &new))).await.unwrap_or_else(|refusal| refusal)
}

/// Where, in words, an edit landed: the lines of the text after `step` changes.
async fn lines_of(delivery: &Delivery, step: usize) -> String {
    let place = match delivery.echo.text(step).zip(delivery.echo.text(step.saturating_sub(1))) {
        Some((after, before)) => {
            let changes = changes(before, after).await;
            changes.first().map(|first| after.line_of(first.range.start) + 1)
        }
        None => None,
    };
    place.map_or_else(|| "at the wrong place".to_owned(), |line| format!("near line {line}"))
}

/// What turns one text into another, found where it may take its time.
async fn changes(from: &Text, to: &Text) -> Vec<Splice> {
    let (from, to) = (from.clone(), to.clone());
    let whole = vec![Splice { range: 0..from.len(), text: to.to_string() }];
    apart(move || Ok(diff::splices(&from.to_string(), &to.to_string()))).await.unwrap_or(whole)
}

/// Undoes an edit that landed at the wrong place, `(on, step)` as in [`Fate::Elsewhere`]; on success the watch is at a
/// text without it.
pub(super) async fn take_back(
    desk: &Desk,
    watch: &mut Watch,
    delivery: &Delivery,
    (on, step): (usize, usize),
    label: &str,
) -> Result<(), String> {
    let touched = || "the text there was changed since".to_owned();
    let (right, wrong) = delivery.echo.text(on).zip(delivery.echo.text(step)).ok_or_else(touched)?;
    let undo = changes(wrong, right).await;
    let mut splices = delivery.echo.carried(step, &undo).ok_or_else(touched)?;
    for _ in 0..=desk.settings.commit.rebases {
        let text = watch.now.text.clone();
        let undo = sent(desk, &text, text.widened(&splices)).map_err(|refusal| refusal.message)?;
        let (fate, undoing) = deliver(desk, watch, undo, &format!("Undo: {label}")).await;
        match fate {
            Fate::Landed { .. } | Fate::Merged => return Ok(()),
            Fate::NotThere => splices = undoing.echo.moved().ok_or_else(touched)?,
            Fate::Refused(why) => return Err(format!("the editor refused that ({why})")),
            Fate::Gone => return Err("the editor is gone".to_owned()),
            Fate::Closed | Fate::Saved(_) => return Err("the document was closed".to_owned()),
            _ => return Err("the editor did not show that it did so".to_owned()),
        }
    }
    Err("the text kept changing".to_owned())
}

/// What is told of a change that the text already has.
pub(super) const ALREADY_SO: &str = "The text was already so; nothing was changed.";

/// A change that the text already has.
fn nothing(desk: &Desk, change: &FileChange, now: &Snapshot, shaped: Shaped, mut notes: Vec<String>) -> Committed {
    notes.extend(shaped.rewritten.notes);
    notes.push(ALREADY_SO.to_owned());
    Committed {
        target: change.target.clone(),
        fate: super::Fate::Stays,
        before: Some(now.text.clone()),
        after: now.text.clone(),
        splices: Vec::new(),
        version_before: Some(now.version),
        version_after: Some(now.version),
        unsaved: unsaved(desk, now),
        late: false,
        executable: None,
        hunks: shaped.rewritten.hunks,
        notes,
        unified_diff: String::new(),
    }
}

/// Whether the buffer holds what the file does not, as far as the editor has told.
fn unsaved(desk: &Desk, document: &Snapshot) -> bool {
    match desk.documents.get(&document.key) {
        Some(now) => now.saved.as_ref() != Some(&now.text),
        None => false,
    }
}

#[expect(clippy::too_many_arguments, reason = "the parts of one result, each of another origin")]
async fn done(
    desk: &Desk,
    change: &FileChange,
    before: &Snapshot,
    delivery: &Delivery,
    shaped: Shaped,
    (after, version_after): (Text, Option<i32>),
    rebases: u32,
    mut notes: Vec<String>,
) -> Result<Committed, Refusal> {
    let sent = delivery.echo.sent();
    let pure = after.same_lines(&sent.expected);
    notes.extend(shaped.rewritten.notes);
    if rebases > 0 {
        let times = if rebases == 1 { "once".to_owned() } else { format!("{rebases} times") };
        notes.push(format!("The text changed while the edit was under way; it was computed anew {times}."));
    }
    notes.extend(words::altered(&sent.expected, &after));
    if !pure {
        notes.push("The user changed the text at the same time; both changes are in it.".to_owned());
    }
    if delivery.echo.followed() {
        notes.push("The user typed on after the edit.".to_owned());
    }
    let splices = if after == sent.expected { sent.splices.clone() } else { changes(&sent.before, &after).await };
    let own = if pure { &after } else { &sent.expected };
    let (shown, old, new) = (change.target.shown.clone(), sent.before.clone(), own.clone());
    let unified_diff = apart(move || Ok(shape::unified(&shown, &old, &new))).await?;
    Ok(Committed {
        target: change.target.clone(),
        fate: super::Fate::Stays,
        unified_diff,
        before: Some(sent.before.clone()),
        after,
        splices,
        version_before: Some(before.version),
        version_after,
        unsaved: version_after.is_some() && unsaved(desk, before),
        late: false,
        executable: None,
        hunks: shaped.rewritten.hunks,
        notes,
    })
}

/// Why a change was not made, or may have been.
async fn refuse(
    desk: &Desk,
    turn: &Turn,
    change: &FileChange,
    before: &Snapshot,
    fate: Fate,
    watch: Watch,
    delivery: Delivery,
) -> Refusal {
    let shown = &change.target.shown;
    let now = watch.now.text.clone();
    let told = async |kind, words: &str| told(kind, shown, words, &before.text, &now).await;
    match fate {
        Fate::Refused(why) => Refusal::new(
            RefusalKind::Conflict,
            format!(
                "The editor refused the edit of {shown} ({why}); nothing was changed. If that does not say what to do: the \
                 user may be in the middle of something, then once more is enough, or the document is read-only, then \
                 ask the user."
            ),
        ),
        Fate::Ignored => Refusal::new(
            RefusalKind::Conflict,
            format!(
                "The editor says that it applied the edit of {shown}, but its text, asked for, has not changed. \
                 Nothing was changed. The document may be read-only; ask the user."
            ),
        ),
        Fate::Unclear if matches!(delivery.reply, Reply::Refused(_)) => {
            told(
                RefusalKind::Conflict,
                &format!(
                    "{shown} was changed at the same place while the edit was under way, and the editor refused the \
                 edit. Read the file again before you edit it."
                ),
            )
            .await
        }
        Fate::Unclear if delivery.reply == Reply::Applied => {
            told(
                RefusalKind::Unknown,
                &format!(
                    "{shown} was changed at the same place while the edit was under way; whether the edit is in the \
                 text cannot be told, and it is not sent again. Read the file again before you edit it."
                ),
            )
            .await
        }
        Fate::Gone => Refusal::new(
            RefusalKind::Unknown,
            format!(
                "An edit of {shown} was sent, and then the editor was gone; whether the edit was applied cannot be \
                 told, and nothing more can be changed through this editor. When it is back, read the file before you \
                 edit it."
            ),
        ),
        Fate::Suspect(why) => Refusal::new(
            RefusalKind::Unknown,
            format!(
                "The edit of {shown} was sent, and then the editor's changes did not fit the text known here \
                 ({why}); whether the edit was applied cannot be told. Ask the user to close the document and \
                 open it again, then read it."
            ),
        ),
        Fate::Unsupported => Refusal::new(
            RefusalKind::Unavailable,
            format!("The editor takes no edits, so {shown}, which it has open, cannot be changed."),
        ),
        Fate::Silent | Fate::Unclear => {
            let words = format!(
                "An edit of {shown} was sent to the editor, and within {} ms nothing showed whether it was \
                 applied. It is not sent again, and no other edit of this document is sent until the editor shows \
                 a change of it. Read the file to see whether the edit is there.",
                desk.settings.commit.echo_ms
            );
            let shut = turn.shut(&words);
            late::follow(desk.clone(), change, before, watch, delivery, shut);
            told(RefusalKind::Unknown, &words).await
        }
        Fate::Closed
        | Fate::Saved(_)
        | Fate::Landed { .. }
        | Fate::Merged
        | Fate::NotThere
        | Fate::Elsewhere { .. } => closed(shown),
    }
}
