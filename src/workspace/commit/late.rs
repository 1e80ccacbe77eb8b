//! After the wait: an edit of which nothing was heard is followed on, so that its queue opens again as soon as anything
//! is known, and so that a late landing is told, and undone where it is at the wrong place.

use std::time::Duration;

use crate::text::{Splice, Text, diff};
use crate::workspace::documents::{DocEvent, Snapshot};

use super::deliver::{Delivery, Reply, Watch, heard};
use super::echo::Verdict;
use super::evidence::End;
use super::open::take_back;
use super::queues::Shut;
use super::{Committed, Desk, Fate, FileChange};

/// An edit that has not come after so many events will not come.
const EVENTS: usize = 1000;

/// What shows up after this long may as well be somebody's own doing, however much it looks like the edit.
const OURS: Duration = Duration::from_mins(10);

/// Follows an edit in the background until its fate is known, the document is loaded anew, or it is closed.
pub(super) fn follow(
    desk: Desk,
    change: &FileChange,
    before: &Snapshot,
    mut watch: Watch,
    mut delivery: Delivery,
    shut: Shut,
) {
    let (change, before) = (change.clone(), before.clone());
    let (key, shown, label) = (change.target.key.clone(), change.target.shown.clone(), change.label.clone());
    tokio::spawn(async move {
        let since = desk.clock().now();
        let mut events = 0;
        while events < EVENTS {
            let (mut renewed, mut told) = (false, false);
            tokio::select! {
                biased;
                event = watch.events.recv() => {
                    let Some(event) = event else { break };
                    events += 1;
                    renewed = matches!(event, DocEvent::Opened(_) | DocEvent::Closed(_));
                    told = !matches!(event, DocEvent::Saved(_));
                    delivery.take(&mut watch, &event).await;
                }
                answer = &mut delivery.answer, if delivery.reply == Reply::None => {
                    delivery.reply = heard(answer);
                    if delivery.reply == Reply::Gone {
                        break;
                    }
                    if matches!(delivery.reply, Reply::Refused(_) | Reply::Unsupported) {
                        let news = format!(
                            "The earlier edit of {shown} of which nothing was known was refused by the editor."
                        );
                        desk.queues.tell_late(&key, news);
                        break;
                    }
                }
            }
            let verdict = delivery.echo.verdict();
            // An edit that has landed is told before anybody can make the next one.
            if told && !matches!(verdict, Verdict::Landed { .. }) {
                desk.queues.reopen(&key, shut);
            }
            match (verdict, delivery.reply == Reply::Applied) {
                (Verdict::Landed { step, version }, _) => {
                    if desk.clock().now() - since <= OURS && watch.now.epoch == before.epoch {
                        desk.landed(committed(&change, &before, &delivery, (step, version)).await.as_ref());
                    }
                    desk.queues.tell_late(&key, landed(&shown, version));
                    break;
                }
                (Verdict::Elsewhere { on, step }, true) => {
                    let turn = desk.queues.wait(&key).await;
                    delivery.catch_up(&mut watch).await;
                    let outcome = match take_back(&desk, &mut watch, &delivery, (on, step), &label).await {
                        Ok(()) => "that was taken back".to_owned(),
                        Err(why) => format!("that could not be taken back: {why}"),
                    };
                    drop(turn);
                    desk.queues.tell_late(
                        &key,
                        format!(
                            "The editor applied an earlier edit of {shown} late and at the wrong place; {outcome}."
                        ),
                    );
                    break;
                }
                // While more is known already, that is looked at first.
                (Verdict::Waiting, _)
                    if delivery.echo.steps() > 0
                        && (renewed || watch.events.is_empty())
                        && delivery.judge(&desk).await == End::Merged =>
                {
                    desk.queues.tell_late(&key, landed(&shown, watch.now.version));
                    break;
                }
                _ if renewed => break,
                _ => tokio::task::yield_now().await,
            }
        }
        desk.queues.reopen(&key, shut);
    });
}

fn landed(shown: &str, version: i32) -> String {
    format!("The earlier edit of {shown} of which nothing was known did land after all, at version {version}.")
}

/// The edit as it landed after so many changes, in the notification of this version; `None` where what changed there is
/// not exactly the edit.
async fn committed(
    change: &FileChange,
    before: &Snapshot,
    delivery: &Delivery,
    (step, version): (usize, i32),
) -> Option<Committed> {
    let sent = std::sync::Arc::clone(delivery.echo.sent());
    // Each place may have come as one change, or as two: for what goes and for what comes.
    let first = step.saturating_sub(2 * sent.splices.len());
    let bases: Vec<(usize, Text)> =
        (first..step).rev().filter_map(|at| Some((at, delivery.echo.text(at)?.clone()))).collect();
    let after = delivery.echo.text(step)?.clone();
    let landed = after.clone();
    let find = move || {
        let wanted = parts(&sent.before, &diff::splices(&sent.before.to_string(), &sent.expected.to_string()));
        let after = landed.to_string();
        Ok(bases.into_iter().find_map(|(at, base)| {
            let splices = diff::splices(&base.to_string(), &after);
            (parts(&base, &splices) == wanted).then_some((at, base, splices))
        }))
    };
    let (at, base, splices) = super::apart(find).await.ok()??;
    Some(Committed {
        target: change.target.clone(),
        fate: Fate::Stays,
        before: Some(base),
        after,
        splices,
        // What came before the edit came before its version, and all of it after the version it was meant for.
        version_before: Some(if at == 0 { before.version } else { version - 1 }),
        version_after: Some(version),
        unsaved: true,
        late: true,
        executable: None,
        hunks: Vec::new(),
        notes: Vec::new(),
        unified_diff: String::new(),
    })
}

/// What goes and what comes, in order, wherever that is; line ends aside.
fn parts(text: &Text, splices: &[Splice]) -> Vec<(String, String)> {
    let plain = |text: &str| text.replace("\r\n", "\n");
    splices.iter().map(|splice| (plain(&text.slice(splice.range.clone())), plain(&splice.text))).collect()
}
