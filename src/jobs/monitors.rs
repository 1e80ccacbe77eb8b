//! Monitors: jobs that run a command whose output a session watches, line by line, and that it can write to.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use regex::Regex;
use tokio::sync::{mpsc, oneshot, watch};

use crate::editor::{JobInfo, JobState};
use crate::process::Stream;
use crate::sessions::Session;

use super::lines::{Lines, Seen, Wanted};
use super::{Job, Jobs, Running, named};

/// So many texts wait to be taken by a command; more are refused.
const WAITING_NOTES: usize = 8;

/// A text for the standard input of a monitor's command.
#[derive(Debug)]
pub struct Note {
    /// The text, written as it is.
    pub text: String,
    /// Its input ends behind it.
    pub close: bool,
    /// Hears whether the command could be given it.
    pub taken: oneshot::Sender<io::Result<()>>,
}

/// A monitor to begin.
#[derive(Debug, Clone, Copy)]
pub struct New<'a> {
    /// What it is, for people and for the model.
    pub label: &'a str,
    /// At most so many may run in the session, this one included.
    pub limit: usize,
    /// Told to stop, it may take so long to end.
    pub grace: Duration,
}

/// A monitor, in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonitorInfo {
    /// The job.
    pub job: JobInfo,
    /// How many lines it has put out.
    pub lines: u64,
    /// So many of them the session has not been shown.
    pub unread: u64,
    /// So many of its first lines are not kept any more.
    pub dropped: u64,
}

/// What was read of a monitor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The job.
    pub job: JobInfo,
    /// Its lines.
    pub seen: Seen,
}

/// What a job has besides, if it is a monitor.
#[derive(Debug)]
pub(super) struct Monitor {
    pub(super) lines: Lines,
    /// Where texts for its input go, as long as it runs.
    input: Option<mpsc::Sender<Note>>,
    /// Counts what happened to it.
    changed: watch::Sender<u64>,
}

impl Monitor {
    /// Takes some output.
    pub(super) fn push(&mut self, stream: Stream, bytes: &[u8]) {
        self.lines.push(stream, bytes);
        self.changed.send_modify(|count| *count += 1);
    }

    /// It has ended.
    pub(super) fn end(&mut self) {
        self.lines.end();
        self.input = None;
        self.changed.send_modify(|count| *count += 1);
    }
}

impl Jobs {
    /// Starts a monitor of a session; gives its id. `work` gets what is written to it, and ends as that of
    /// [`Jobs::start`]. The error is the monitors that run already, where they are too many. Must be called on the runtime.
    pub fn monitor<F, W>(
        self: &Arc<Jobs>,
        session: &Arc<Session>,
        new: New<'_>,
        work: W,
    ) -> Result<String, Vec<MonitorInfo>>
    where
        W: FnOnce(Running, mpsc::Receiver<Note>) -> F + Send + 'static,
        F: Future<Output = Result<String, String>> + Send + 'static,
    {
        let (sender, notes) = mpsc::channel(WAITING_NOTES);
        let monitor = Monitor { lines: Lines::default(), input: Some(sender), changed: watch::Sender::default() };
        let place = {
            let mut all = self.lock();
            let jobs = all.get(&session.id).map(|line| line.jobs.as_slice()).unwrap_or_default();
            let running: Vec<MonitorInfo> =
                jobs.iter().filter(|job| job.state == JobState::Running).filter_map(Job::monitored).collect();
            if running.len() >= new.limit {
                return Err(running);
            }
            self.enter(&mut all, &session.id, Job::new(new.label, Some(monitor)))
        };
        Ok(self.begin(session, place, new.grace, move |running| work(running, notes)))
    }

    /// The monitors of a session, in the order in which they were started; of those that ended, as many as are remembered.
    pub fn monitors(&self, session: &str) -> Vec<MonitorInfo> {
        let all = self.lock();
        let jobs = all.get(session).map(|line| line.jobs.as_slice()).unwrap_or_default();
        jobs.iter().filter_map(Job::monitored).collect()
    }

    /// Reads lines of a monitor. With `wait`, first until there is one that was not there, or with a pattern one that
    /// matches, or the job has ended, or so much time is over. What is read counts as told, its end included. `None`: there
    /// is no such monitor, or not any more.
    pub async fn read(&self, session: &str, id: &str, wanted: &Wanted, wait: Duration) -> Option<Reading> {
        let watching = if wait.is_zero() { None } else { Some(Watching::new(self, session, id, wanted)?) };
        if let Some(Watching { changed, from, number, .. }) = &watching {
            let mut changed = changed.clone();
            let come = async {
                while !self.has_come(session, id, *from, *number) {
                    if changed.changed().await.is_err() {
                        return;
                    }
                }
            };
            tokio::select! {
                biased;
                () = come => {}
                () = self.clock.sleep(wait) => {}
            }
        }
        let number = watching.as_ref().and_then(|watching| watching.number);
        self.of(session, id, |_, monitor| monitor.lines.look(wanted, number)).map(|(job, seen)| {
            if job.state != JobState::Running {
                self.heard(session, id);
            }
            Reading { job, seen }
        })
    }

    /// Waits until a job has ended or so much time is over; how it is then. `None`: there is no such monitor, or not any
    /// more.
    pub async fn over(&self, session: &str, id: &str, wait: Duration) -> Option<JobInfo> {
        let (_, mut changed) = self.of(session, id, |_, monitor| monitor.changed.subscribe())?;
        let over = async {
            while self.of(session, id, |state, _| state).is_some_and(|(_, state)| state == JobState::Running) {
                if changed.changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            biased;
            () = over => {}
            () = self.clock.sleep(wait) => {}
        }
        self.of(session, id, |_, _| ()).map(|(job, ())| job)
    }

    /// Where texts for the input of a monitor go; `None`: it has ended, or there is none of that name.
    pub fn input(&self, session: &str, id: &str) -> Option<mpsc::Sender<Note>> {
        self.of(session, id, |_, monitor| monitor.input.clone())?.1
    }

    /// The session knows how a job ended: it is not told again.
    fn heard(&self, session: &str, id: &str) {
        if let Some(line) = self.lock().get_mut(session) {
            line.news.retain(|(number, _)| id != format!("j{number}"));
        }
    }

    fn has_come(&self, session: &str, id: &str, from: u64, watch: Option<u64>) -> bool {
        let come = |state: JobState, monitor: &mut Monitor| {
            state != JobState::Running
                || watch.map_or(monitor.lines.total() > from, |number| monitor.lines.found(number))
        };
        self.of(session, id, come).is_none_or(|(_, come)| come)
    }

    /// Does something with a monitor.
    fn of<T>(&self, session: &str, id: &str, act: impl FnOnce(JobState, &mut Monitor) -> T) -> Option<(JobInfo, T)> {
        let mut all = self.lock();
        let job = all.get_mut(session)?.jobs.iter_mut().find(|job| named(job, id))?;
        let done = act(job.state, job.monitor.as_mut()?);
        Some((job.info(), done))
    }
}

impl Job {
    fn monitored(&self) -> Option<MonitorInfo> {
        let lines = &self.monitor.as_ref()?.lines;
        let (total, unread, dropped) = (lines.total(), lines.unread(), lines.dropped());
        Some(MonitorInfo { job: self.info(), lines: total, unread, dropped })
    }
}

/// Somebody waits for something of a monitor.
struct Watching<'a> {
    jobs: &'a Jobs,
    session: &'a str,
    id: &'a str,
    changed: watch::Receiver<u64>,
    from: u64,
    number: Option<u64>,
}

impl<'a> Watching<'a> {
    fn new(jobs: &'a Jobs, session: &'a str, id: &'a str, wanted: &Wanted) -> Option<Watching<'a>> {
        let begin = |monitor: &mut Monitor| {
            let from = monitor.lines.from(wanted);
            let number = wanted.pattern.as_ref().map(|pattern: &Regex| monitor.lines.watch(from, pattern));
            (monitor.changed.subscribe(), from, number)
        };
        let (_, (changed, from, number)) = jobs.of(session, id, |_, monitor| begin(monitor))?;
        Some(Watching { jobs, session, id, changed, from, number })
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let _ = self.jobs.of(self.session, self.id, |_, monitor| monitor.lines.unwatch(number));
        }
    }
}

#[cfg(test)]
mod tests;
