//! After the wait: an edit of which nothing was heard is followed on, so that its queue opens again as soon as anything
//! is known, and so that a late landing is told, and undone where it is at the wrong place.

use crate::workspace::documents::DocEvent;

use super::deliver::{Delivery, Reply, Watch, heard};
use super::echo::Verdict;
use super::evidence::End;
use super::open::take_back;
use super::queues::Shut;
use super::{Desk, FileChange};

/// An edit that has not come after so many events will not come.
const EVENTS: usize = 1000;

/// Follows an edit in the background until its fate is known, the document is loaded anew, or it is closed.
pub(super) fn follow(desk: Desk, change: &FileChange, mut watch: Watch, mut delivery: Delivery, shut: Shut) {
    let (key, shown, label) = (change.target.key.clone(), change.target.shown.clone(), change.label.clone());
    tokio::spawn(async move {
        let mut events = 0;
        while events < EVENTS {
            let mut renewed = false;
            tokio::select! {
                biased;
                event = watch.events.recv() => {
                    let Some(event) = event else { break };
                    events += 1;
                    renewed = matches!(event, DocEvent::Opened(_) | DocEvent::Closed(_));
                    let told = !matches!(event, DocEvent::Saved(_));
                    delivery.take(&mut watch, &event).await;
                    if told {
                        desk.queues.reopen(&key, shut);
                    }
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
            match (delivery.echo.verdict(), delivery.reply == Reply::Applied) {
                (Verdict::Landed { version, .. }, _) => {
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
