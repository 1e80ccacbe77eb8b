//! What is under way with one server: which of its answers belong to which of our calls, whom it keeps waiting, and
//! which of its lists are others by now.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{NumberOrString, ProgressNotificationParam, ProgressToken};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};

use super::clean;
use crate::tool::Progress;

/// So many signs of progress are kept that came before anybody could say whose they are.
const UNCLAIMED: usize = 64;

/// So many questions of a server are open at most.
const QUESTIONS: usize = 8;

/// A message of progress is shown up to so many bytes.
const MESSAGE: usize = 300;

/// Whose call of a server it is.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    /// The session.
    pub session: String,
    /// The call.
    pub call: String,
    /// Where it says how far it has come.
    pub progress: Progress,
}

#[derive(Debug, Default)]
struct Open {
    running: BTreeMap<String, (Option<Caller>, Arc<Notify>)>,
    unclaimed: VecDeque<ProgressNotificationParam>,
}

/// What is under way with one server.
#[derive(Debug)]
pub(super) struct Desk {
    open: Mutex<Open>,
    /// How many people, or models, the server waits for.
    people: watch::Sender<usize>,
    /// Counts how often the server said that its tools are others.
    tools: watch::Sender<u64>,
}

impl Default for Desk {
    fn default() -> Desk {
        Desk { open: Mutex::default(), people: watch::Sender::new(0), tools: watch::Sender::new(0) }
    }
}

/// A call that is under way, until it is dropped.
#[derive(Debug)]
pub(super) struct Claim {
    desk: Arc<Desk>,
    token: String,
    alive: Arc<Notify>,
}

impl Claim {
    /// Comes back when the server said something of the call since the last time.
    pub(super) async fn alive(&self) {
        self.alive.notified().await;
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.desk.open().running.remove(&self.token);
    }
}

/// The server waits for a person, or a model, until this is dropped.
pub(super) struct Waiting(Arc<Desk>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.people.send_modify(|people| *people -= 1);
    }
}

impl Desk {
    /// A call is under way, and this is what progress of it is called.
    pub(super) fn claim(self: &Arc<Desk>, token: &ProgressToken, caller: Option<Caller>) -> Claim {
        let (token, alive) = (name(token), Arc::new(Notify::new()));
        let early = {
            let mut open = self.open();
            open.running.insert(token.clone(), (caller, Arc::clone(&alive)));
            let (early, others): (VecDeque<_>, VecDeque<_>) =
                std::mem::take(&mut open.unclaimed).into_iter().partition(|said| name(&said.progress_token) == token);
            open.unclaimed = others;
            early
        };
        for said in &early {
            self.progress(said);
        }
        Claim { desk: Arc::clone(self), token, alive }
    }

    /// The server says how far a call has come.
    pub(super) fn progress(&self, said: &ProgressNotificationParam) {
        let mut open = self.open();
        let Some((caller, alive)) = open.running.get(&name(&said.progress_token)) else {
            if open.unclaimed.len() >= UNCLAIMED {
                open.unclaimed.pop_front();
            }
            open.unclaimed.push_back(said.clone());
            return;
        };
        alive.notify_one();
        if let Some(Caller { progress, .. }) = caller {
            let message = said.message.as_deref().map(|message| clean::line(message, MESSAGE));
            progress.report(percentage(said.progress, said.total), message.as_deref());
        }
    }

    /// The one call that is under way, if it is one: session and call.
    pub(super) fn only(&self) -> (Option<String>, Option<String>) {
        let open = self.open();
        let mut callers = open.running.values().filter_map(|(caller, _)| caller.as_ref());
        match (callers.next(), callers.next()) {
            (Some(one), None) => (Some(one.session.clone()), Some(one.call.clone())),
            _ => (None, None),
        }
    }

    /// The server waits for somebody; `None`: it asks too much at once.
    pub(super) fn waits(self: &Arc<Desk>) -> Option<Waiting> {
        let taken = self.people.send_if_modified(|people| {
            let taken = *people < QUESTIONS;
            *people += usize::from(taken);
            taken
        });
        taken.then(|| Waiting(Arc::clone(self)))
    }

    /// Comes back at `until`, but for the time in which the server waits for somebody, who has no deadline: `patience`
    /// after that.
    pub(super) async fn silent(&self, mut until: Instant, patience: Duration) {
        let mut people = self.people.subscribe();
        loop {
            sleep_until(until).await;
            if *people.borrow_and_update() == 0 {
                return;
            }
            // An error would mean that nobody counts any more.
            let _ = people.wait_for(|people| *people == 0).await;
            until = Instant::now() + patience;
        }
    }

    /// The server says that its tools are others.
    pub(super) fn tools_changed(&self) {
        self.tools.send_modify(|count| *count += 1);
    }

    /// Hears of it when the server says so.
    pub(super) fn tools(&self) -> watch::Receiver<u64> {
        self.tools.subscribe()
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn name(token: &ProgressToken) -> String {
    match &token.0 {
        NumberOrString::Number(number) => number.to_string(),
        NumberOrString::String(text) => text.to_string(),
    }
}

/// How far it is, from 0 to 100, where that can be said.
fn percentage(progress: f64, total: Option<f64>) -> Option<u32> {
    let total = total.filter(|total| *total > 0.0 && total.is_finite())?;
    let share = (progress / total * 100.0).clamp(0.0, 100.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 100")]
    share.is_finite().then_some(share as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(token: i64, progress: f64, total: Option<f64>) -> ProgressNotificationParam {
        let mut said = ProgressNotificationParam::new(ProgressToken(NumberOrString::Number(token)), progress);
        said.total = total;
        said.message = Some("a\u{1b}b".to_owned());
        said
    }

    #[tokio::test]
    async fn progress_finds_its_call_also_when_it_comes_first() {
        let desk = Arc::new(Desk::default());
        let progress = Progress::heard();
        let caller = Caller { session: "s".into(), call: "c".into(), progress: progress.clone() };
        desk.progress(&said(7, 1.0, Some(4.0)));
        let claim = desk.claim(&ProgressToken(NumberOrString::Number(7)), Some(caller));
        claim.alive().await;
        let told = progress.take().unwrap();
        assert_eq!((told.percentage, told.message.as_deref()), (Some(25), Some("ab")));
        assert_eq!(desk.only(), (Some("s".to_owned()), Some("c".to_owned())));
        drop(claim);
        assert_eq!(desk.only(), (None, None));
        for token in 0..200 {
            desk.progress(&said(token, 1.0, None));
        }
        assert_eq!(desk.open().unclaimed.len(), UNCLAIMED);
    }

    #[tokio::test(start_paused = true)]
    async fn while_somebody_is_asked_no_time_runs() {
        let desk = Arc::new(Desk::default());
        let asked: Vec<Waiting> = (0..20).filter_map(|_| desk.waits()).collect();
        assert_eq!(asked.len(), QUESTIONS);
        let patience = Duration::from_secs(5);
        let silent = desk.silent(Instant::now() + patience, patience);
        let begun = Instant::now();
        let answered = async {
            tokio::time::sleep(Duration::from_mins(5)).await;
            drop(asked);
        };
        tokio::join!(silent, answered);
        assert_eq!(begun.elapsed(), Duration::from_mins(5) + patience);
        assert!(desk.waits().is_some());
    }

    #[test]
    fn shares() {
        for (progress, total, share) in [
            (1.0, Some(3.0), Some(33)),
            (9.0, Some(3.0), Some(100)),
            (-1.0, Some(3.0), Some(0)),
            (1.0, None, None),
            (1.0, Some(0.0), None),
            (f64::NAN, Some(1.0), None),
        ] {
            assert_eq!(percentage(progress, total), share, "{progress} {total:?}");
        }
    }
}
