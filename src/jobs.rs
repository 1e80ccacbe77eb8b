//! Work in the background: what a call began and left running when it ended. Panes see it, read what it puts out, and
//! stop it; the session it belongs to is told once when it ends.
//!
//! A job ends by itself, when it is stopped, when its session is closed, and when we end; never with a turn. A monitor is
//! a job whose output is kept as lines too: the session reads them, and is told of new ones with its next result.

mod lines;
mod monitors;
mod ring;
mod told;

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, error};

use crate::editor::{Editor, JobInfo, JobState, JobsChanged, News};
use crate::permissions::Footing;
use crate::ports::Clock;
use crate::process::Stream;
use crate::sessions::Session;

pub use lines::{KEPT_BYTES, KEPT_LINES, LINE_BYTES, Line, Seen, Wanted};
pub use monitors::{MonitorInfo, New, Note, Reading};
pub use told::{JobNews, marked};

use monitors::Monitor;
use ring::Ring;

/// How long a job that was stopped may take to end by itself; then it is dropped where it waits.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// So many jobs of a session that have ended are remembered.
const REMEMBERED: usize = 32;

/// What a job has put out since a cursor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobOutput {
    /// The text. Bytes that are not UTF-8 are replaced.
    pub text: String,
    /// Where the next text begins (bytes from the beginning of all output), for the next question.
    pub cursor: u64,
    /// So many bytes between the cursor that was asked for and `text` are not kept any more.
    pub dropped: u64,
    /// How the job is doing.
    pub state: JobState,
}

/// All jobs of all sessions.
pub struct Jobs {
    editor: Arc<dyn Editor>,
    clock: Arc<dyn Clock>,
    tasks: TaskTracker,
    all: Mutex<BTreeMap<String, Held>>,
    births: AtomicU64,
    /// The process ends.
    over: AtomicBool,
}

/// The jobs of one session.
#[derive(Default)]
struct Held {
    /// Tells it from those of sessions of the same name before it.
    birth: u64,
    started: u64,
    jobs: Vec<Job>,
    /// What the session has not been told yet, each with the number of its job, in order; the oldest give way.
    news: VecDeque<(u64, String)>,
    /// So many of them gave way.
    untold: usize,
}

impl Held {
    fn news(&mut self) -> Vec<String> {
        let untold = std::mem::take(&mut self.untold);
        let before = (untold > 0).then(|| format!("{untold} other jobs ended"));
        before.into_iter().chain(std::mem::take(&mut self.news).into_iter().map(|(_, words)| words)).collect()
    }
}

struct Job {
    number: u64,
    label: String,
    state: JobState,
    detail: Option<String>,
    output: Ring,
    stop: CancellationToken,
    /// The folder that it runs in, where it has said so.
    folder: Option<PathBuf>,
    /// Why it was stopped, where nobody asked for that.
    because: Option<String>,
    /// Its output as lines, if the session watches it.
    monitor: Option<Monitor>,
    /// Somebody waits for its end, so that it is not told besides.
    awaited: bool,
}

impl Job {
    fn new(label: &str, monitor: Option<Monitor>) -> Job {
        Job {
            number: 0,
            label: label.to_owned(),
            state: JobState::Running,
            detail: None,
            output: Ring::default(),
            stop: CancellationToken::new(),
            folder: None,
            because: None,
            monitor,
            awaited: false,
        }
    }

    fn info(&self) -> JobInfo {
        JobInfo {
            id: format!("j{}", self.number),
            label: self.label.clone(),
            state: self.state,
            detail: self.detail.clone(),
            output_bytes: self.output.total(),
            dropped_bytes: self.output.dropped(),
        }
    }
}

/// Which job it is: of which of the sessions of a name, and its number there.
struct Place {
    birth: u64,
    number: u64,
    stop: CancellationToken,
}

/// A job as the work in it sees it.
#[derive(Clone)]
pub struct Running {
    jobs: Arc<Jobs>,
    session: String,
    /// Its session's jobs, and which of them it is.
    place: (u64, u64),
    /// Fires when the job is to stop. It has two seconds then.
    pub stop: CancellationToken,
}

impl Running {
    /// Its name in its session: `j1`.
    pub fn id(&self) -> String {
        format!("j{}", self.place.1)
    }

    /// Says in which folder (canonical) it runs, and on what trust. Where that has ended since its call was judged, it is
    /// told to stop: whoever takes trust away either finds it by its folder, or did so before this looks.
    pub fn runs_in(&self, folder: &Path, footing: &Footing) {
        let fallen = self.jobs.with(&self.session, self.place, |job| {
            job.folder = Some(folder.to_owned());
            job.because = footing.fallen().or(job.because.take());
            job.because.is_some()
        });
        if fallen == Some(true) {
            self.stop.cancel();
        }
    }

    /// Puts out some bytes. Never waits; the oldest are dropped when there are too many.
    pub fn output(&self, bytes: &[u8]) {
        let _ = self.jobs.with(&self.session, self.place, |job| job.output.push(bytes));
    }

    /// The same for what a program printed to one of its streams: of a monitor, it counts as lines too.
    pub fn printed(&self, stream: Stream, bytes: &[u8]) {
        let _ = self.jobs.with(&self.session, self.place, |job| {
            job.output.push(bytes);
            if let Some(monitor) = &mut job.monitor {
                monitor.push(stream, bytes);
            }
        });
    }

    /// A call waits for its end and tells it: its session is not told besides. `false`: it is.
    pub fn awaited(&self, awaited: bool) {
        self.jobs.with(&self.session, self.place, |job| job.awaited = awaited);
    }

    /// Whether it is stopped because the process ends.
    pub fn ends_with_us(&self) -> bool {
        self.jobs.over.load(Ordering::Acquire)
    }

    /// Says how it ended; told also where the job was stopped.
    pub fn ended(&self, words: &str) {
        let _ = self.jobs.with(&self.session, self.place, |job| job.detail = Some(words.to_owned()));
    }
}

impl Jobs {
    /// No jobs. `editor` hears of what changes.
    pub fn new(editor: Arc<dyn Editor>, clock: Arc<dyn Clock>) -> Arc<Jobs> {
        Arc::new(Jobs {
            editor,
            clock,
            tasks: TaskTracker::new(),
            all: Mutex::default(),
            births: AtomicU64::new(0),
            over: AtomicBool::new(false),
        })
    }

    /// Starts a job of a session; gives its id. `work` ends with words on how it ended, good or bad. Must be called on the
    /// runtime.
    pub fn start<F, W>(self: &Arc<Jobs>, session: &Arc<Session>, label: &str, work: W) -> String
    where
        W: FnOnce(Running) -> F + Send + 'static,
        F: Future<Output = Result<String, String>> + Send + 'static,
    {
        let place = self.enter(&mut self.lock(), &session.id, Job::new(label, None));
        self.begin(session, place, STOP_GRACE, work)
    }

    /// A job has its place in its session.
    fn enter(&self, all: &mut BTreeMap<String, Held>, session: &str, mut job: Job) -> Place {
        let birth = || Held { birth: self.births.fetch_add(1, Ordering::Relaxed), ..Held::default() };
        let line = all.entry(session.to_owned()).or_insert_with(birth);
        line.started += 1;
        job.number = line.started;
        let place = Place { birth: line.birth, number: job.number, stop: job.stop.clone() };
        line.jobs.push(job);
        place
    }

    /// A job that has its place begins. Told to stop, it may take so long.
    fn begin<F, W>(self: &Arc<Jobs>, session: &Arc<Session>, place: Place, grace: Duration, work: W) -> String
    where
        W: FnOnce(Running) -> F + Send + 'static,
        F: Future<Output = Result<String, String>> + Send + 'static,
    {
        // Held on to until the job has ended: a session with one is not idle.
        let (owner, session) = (Arc::clone(session), session.id.as_str());
        let Place { birth, number, stop } = place;
        let place = (birth, number);
        self.tell(session);
        let running = Running { jobs: Arc::clone(self), session: session.to_owned(), place, stop: stop.clone() };
        let (id, session, jobs) = (running.id(), session.to_owned(), Arc::clone(self));
        // Begun in its task, so that it breaks down there and nowhere else.
        let work = AssertUnwindSafe(async move { work(running).await }).catch_unwind();
        self.tasks.spawn(async move {
            let ended = tokio::select! {
                ended = work => Some(ended),
                () = async {
                    stop.cancelled().await;
                    jobs.clock.sleep(grace).await;
                } => None,
            };
            let (state, detail) = match ended {
                _ if stop.is_cancelled() => (JobState::Stopped, None),
                Some(Ok(Ok(words))) => (JobState::Exited, Some(words)),
                Some(Ok(Err(words))) => (JobState::Failed, Some(words)),
                Some(Err(_)) | None => {
                    error!(session, job = place.1, "a job panicked");
                    (JobState::Failed, Some("it broke down".to_owned()))
                }
            };
            jobs.ended(&session, place, state, detail);
            drop(owner);
        });
        id
    }

    /// The jobs of a session, in the order in which they were started.
    pub fn list(&self, session: &str) -> Vec<JobInfo> {
        self.lock().get(session).map(|line| line.jobs.iter().map(Job::info).collect()).unwrap_or_default()
    }

    /// What a job has put out since a cursor (bytes from the beginning); `None`: there is no such job.
    pub fn output(&self, session: &str, id: &str, cursor: u64) -> Option<JobOutput> {
        let all = self.lock();
        let job = all.get(session)?.jobs.iter().find(|job| named(job, id))?;
        let (text, dropped, cursor) = job.output.since(cursor);
        Some(JobOutput { text, cursor, dropped, state: job.state })
    }

    /// Tells a job to stop; `None`: there is no such job, `false`: it had ended, or was told before.
    pub fn stop(&self, session: &str, id: &str) -> Option<bool> {
        let (stop, runs) = {
            let all = self.lock();
            let job = all.get(session)?.jobs.iter().find(|job| named(job, id))?;
            (job.stop.clone(), job.state == JobState::Running && !job.stop.is_cancelled())
        };
        // Without the lock: whoever is woken by it may come back here at once.
        stop.cancel();
        Some(runs)
    }

    /// What a session has not been told of its jobs yet: one line for each that has ended.
    pub fn news(&self, session: &str) -> Vec<String> {
        self.lock().get_mut(session).map(Held::news).unwrap_or_default()
    }

    /// A session is closed: its jobs are stopped, and nothing is known of them any more.
    pub fn close(&self, session: &str) {
        let Some(line) = self.lock().remove(session) else { return };
        debug!(session, jobs = line.jobs.len(), "a session with jobs is closed");
        for job in line.jobs {
            job.stop.cancel();
        }
    }

    /// Stops the jobs that run in such a folder; their sessions are told why.
    pub fn stop_where(&self, runs_in: impl Fn(&Path) -> bool, because: &str) {
        let stops: Vec<CancellationToken> = {
            let mut all = self.lock();
            let jobs = all.values_mut().flat_map(|line| &mut line.jobs);
            let running = jobs.filter(|job| job.state == JobState::Running && !job.stop.is_cancelled());
            let meant = running.filter(|job| job.folder.as_deref().is_some_and(&runs_in));
            meant
                .map(|job| {
                    job.because = Some(because.to_owned());
                    job.stop.clone()
                })
                .collect()
        };
        // Without the lock: whoever is woken by it may come back here at once.
        for stop in stops {
            stop.cancel();
        }
    }

    /// Stops every job, for the end of the process.
    pub fn stop_all(&self) {
        self.over.store(true, Ordering::Release);
        let all: Vec<CancellationToken> =
            self.lock().values().flat_map(|line| line.jobs.iter().map(|job| job.stop.clone())).collect();
        for stop in all {
            stop.cancel();
        }
    }

    /// Waits until no job runs any more.
    pub async fn idle(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn ended(&self, session: &str, place: (u64, u64), state: JobState, detail: Option<String>) {
        {
            let mut all = self.lock();
            let (birth, number) = place;
            let Some(line) = all.get_mut(session).filter(|line| line.birth == birth) else { return };
            let Some(job) = line.jobs.iter_mut().find(|job| job.number == number) else { return };
            job.state = state;
            let how = match state {
                JobState::Running => "runs",
                JobState::Exited => "ended",
                JobState::Failed => "failed",
                JobState::Stopped => "was stopped",
            };
            if let Some(monitor) = &mut job.monitor {
                monitor.end();
            }
            job.detail = detail.or(job.detail.take());
            let words = job.detail.as_ref().map(|words| format!(": {words}")).unwrap_or_default();
            let because = job.because.as_ref().map(|why| format!(", because {why}")).unwrap_or_default();
            let news = (!job.awaited).then(|| (number, format!("job j{number} ({}) {how}{because}{words}", job.label)));
            line.news.extend(news);
            if line.news.len() > REMEMBERED {
                line.news.pop_front();
                line.untold += 1;
            }
            let over = line.jobs.iter().filter(|job| job.state != JobState::Running).count().saturating_sub(REMEMBERED);
            let mut gone = 0;
            line.jobs.retain(|job| {
                let goes = gone < over && job.state != JobState::Running;
                gone += usize::from(goes);
                !goes
            });
        }
        self.tell(session);
    }

    fn with<T>(&self, session: &str, (birth, number): (u64, u64), change: impl FnOnce(&mut Job) -> T) -> Option<T> {
        let mut all = self.lock();
        let line = all.get_mut(session).filter(|line| line.birth == birth);
        let job = line.and_then(|line| line.jobs.iter_mut().find(|job| job.number == number));
        job.map(change)
    }

    fn tell(&self, session: &str) {
        let changed = JobsChanged { session_id: session.to_owned(), jobs: self.list(session) };
        self.editor.tell(News::Jobs(changed));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Held>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn named(job: &Job, id: &str) -> bool {
    id.strip_prefix('j').is_some_and(|number| number == job.number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::editor::Absent;
    use crate::ports::SystemClock;
    use tokio::sync::oneshot;

    fn jobs() -> Arc<Jobs> {
        Jobs::new(Arc::new(Absent), Arc::new(SystemClock))
    }

    fn session(id: &str) -> Arc<Session> {
        Arc::new(Session::new(id))
    }

    fn states(jobs: &Jobs, session: &str) -> Vec<(String, JobState)> {
        jobs.list(session).into_iter().map(|job| (job.id, job.state)).collect()
    }

    #[tokio::test]
    async fn a_job_is_seen_read_and_told_of_once() {
        let jobs = jobs();
        let (go, wait) = oneshot::channel::<()>();
        let id = jobs.start(&session("s"), "count", |running| async move {
            running.output("één ".as_bytes());
            wait.await.unwrap();
            running.output(b"two");
            Ok("exit code 0".to_owned())
        });
        assert_eq!((id.as_str(), states(&jobs, "s")), ("j1", vec![("j1".to_owned(), JobState::Running)]));
        assert_eq!(jobs.news("s"), [""; 0]);
        tokio::task::yield_now().await;
        let output = jobs.output("s", "j1", 0).unwrap();
        assert_eq!((output.text.as_str(), output.cursor, output.dropped), ("één ", 6, 0));
        go.send(()).unwrap();
        jobs.idle().await;
        let output = jobs.output("s", "j1", output.cursor).unwrap();
        assert_eq!((output.text.as_str(), output.cursor, output.state), ("two", 9, JobState::Exited));
        assert_eq!(jobs.news("s"), ["job j1 (count) ended: exit code 0"]);
        assert_eq!((jobs.news("s").len(), jobs.stop("s", "j1"), jobs.stop("s", "j2")), (0, Some(false), None));
        assert_eq!((jobs.output("other", "j1", 0), jobs.list("other")), (None, vec![]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_whose_trust_ended_before_it_ran_is_stopped_with_the_reason() {
        let folder = Path::new("/w");
        // Trust ends before the job is known by its folder, or after that; or it ended and was given again.
        for (before, again, after, why) in [
            (false, false, false, None),
            (true, false, false, Some("/w is not trusted any more")),
            (true, true, false, Some("trust in /w was given anew")),
            (false, false, true, Some("taken away")),
        ] {
            let jobs = jobs();
            let trust = Arc::new(crate::permissions::Trust::new());
            trust.set(folder, true);
            let footing = Footing::on(&trust, &trust.now(), [folder]);
            if before {
                trust.set(folder, false);
                jobs.stop_where(|at| at.starts_with(folder), "taken away");
            }
            if again {
                trust.set(folder, true);
            }
            let (go, wait) = oneshot::channel::<()>();
            jobs.start(&session("s"), "x", move |running| async move {
                running.runs_in(Path::new("/w"), &footing);
                tokio::select! {
                    biased;
                    () = running.stop.cancelled() => Err("interrupted".to_owned()),
                    _ = wait => Ok("went on".to_owned()),
                }
            });
            tokio::task::yield_now().await;
            if after {
                jobs.stop_where(|at| at.starts_with(folder), "taken away");
            }
            go.send(()).ok();
            jobs.idle().await;
            let state = if why.is_some() { JobState::Stopped } else { JobState::Exited };
            assert_eq!(states(&jobs, "s"), [("j1".to_owned(), state)], "{why:?}");
            let news = jobs.news("s").concat();
            assert!(news.contains(why.unwrap_or("went on")), "{why:?}: {news}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn jobs_are_stopped_one_by_one_by_session_and_all() {
        let jobs = jobs();
        let polite = |running: Running| async move {
            running.stop.cancelled().await;
            Err("interrupted".to_owned())
        };
        // One that does not listen is dropped after its grace.
        let deaf = |_: Running| std::future::pending::<Result<String, String>>();
        jobs.start(&session("a"), "polite", polite);
        jobs.start(&session("a"), "deaf", deaf);
        jobs.start(&session("b"), "polite", polite);
        jobs.start(&session("c"), "deaf", deaf);
        assert_eq!((jobs.stop("a", "j1"), jobs.stop("a", "j1")), (Some(true), Some(false)));
        jobs.close("b");
        assert_eq!(jobs.list("b"), []);
        jobs.stop_all();
        jobs.idle().await;
        let stopped = |id: &str| (id.to_owned(), JobState::Stopped);
        assert_eq!((states(&jobs, "a"), states(&jobs, "c")), (vec![stopped("j1"), stopped("j2")], vec![stopped("j1")]));
        assert_eq!(jobs.news("a"), ["job j1 (polite) was stopped", "job j2 (deaf) was stopped"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_of_a_closed_session_is_none_of_the_next_one_of_that_name() {
        let jobs = jobs();
        let late = |running: Running| async move {
            running.stop.cancelled().await;
            running.output(b"from before");
            Ok(String::new())
        };
        jobs.start(&session("s"), "old", late);
        jobs.close("s");
        let id = jobs.start(&session("s"), "new", |_| std::future::pending());
        // The old one ends now, under the same number.
        tokio::time::sleep(STOP_GRACE / 2).await;
        assert_eq!((id.as_str(), states(&jobs, "s")), ("j1", vec![("j1".to_owned(), JobState::Running)]));
        assert_eq!((jobs.output("s", "j1", 0).unwrap().text.as_str(), jobs.news("s").len()), ("", 0));
        assert_eq!((jobs.stop("s", "j01"), jobs.stop("s", "j+1"), jobs.stop("s", "j1")), (None, None, Some(true)));
        jobs.idle().await;
    }

    #[tokio::test]
    async fn one_that_breaks_down_at_once_has_failed_and_news_are_bounded() {
        let jobs = jobs();
        let bad = |running: Running| -> std::future::Ready<Result<String, String>> { panic!("{}", running.id()) };
        jobs.start(&session("s"), "bad", bad);
        for _ in 0..REMEMBERED + 2 {
            jobs.start(&session("s"), "short", |_| async { Ok(String::new()) });
        }
        jobs.idle().await;
        let news = jobs.news("s");
        assert_eq!((news.len(), news[0].as_str()), (REMEMBERED + 1, "3 other jobs ended"));
        assert_eq!(jobs.news("s"), [""; 0]);
    }

    #[tokio::test]
    async fn one_that_breaks_down_harms_nobody_and_few_are_remembered() {
        let jobs = jobs();
        jobs.start(&session("s"), "bad", |_| async { panic!("on purpose") });
        jobs.idle().await;
        assert_eq!(jobs.news("s"), ["job j1 (bad) failed: it broke down"]);
        for _ in 0..REMEMBERED + 8 {
            jobs.start(&session("s"), "short", |_| async { Ok(String::new()) });
        }
        jobs.idle().await;
        let left = states(&jobs, "s");
        assert_eq!((left.len(), left.first().map(|job| job.0.as_str())), (REMEMBERED, Some("j10")));
    }
}
