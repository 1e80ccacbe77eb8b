//! Monitors of sessions: what is read, waited for, told and refused.

use super::*;
use crate::editor::Absent;
use crate::jobs::JobNews;
use crate::ports::SystemClock;
use tokio::sync::mpsc::UnboundedSender;

const ALL: Wanted = Wanted { since: None, limit: 100, bytes: 10_000, pattern: None };
const LONG: Duration = Duration::from_mins(10);

/// What a played command prints; its end is that of the sender.
type Prints = UnboundedSender<(Stream, &'static str)>;

fn jobs() -> Arc<Jobs> {
    Jobs::new(Arc::new(Absent), Arc::new(SystemClock))
}

fn begin(jobs: &Arc<Jobs>, session: &str, label: &str) -> Result<(String, Prints), Vec<MonitorInfo>> {
    let (prints, mut printed) = mpsc::unbounded_channel::<(Stream, &'static str)>();
    let new = New { label, limit: 2, grace: Duration::from_secs(3) };
    let session = Arc::new(Session::new(session));
    let id = jobs.monitor(&session, new, |running, mut notes| async move {
        loop {
            tokio::select! {
                biased;
                piece = printed.recv() => match piece {
                    Some((stream, text)) => running.printed(stream, text.as_bytes()),
                    None => return Ok("exit code 0".to_owned()),
                },
                Some(note) = notes.recv() => {
                    running.printed(Stream::Out, note.text.as_bytes());
                    let _ = note.taken.send(Ok(()));
                }
                () = running.stop.cancelled() => {
                    running.printed(Stream::Out, b"bye");
                    running.ended("by signal 15");
                    return Err("by signal 15".to_owned());
                }
            }
        }
    })?;
    Ok((id, prints))
}

fn texts(reading: &Reading) -> Vec<&str> {
    reading.seen.lines.iter().map(|line| line.text.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_read_waits_for_what_it_wants_and_no_longer() {
    let jobs = jobs();
    let (id, prints) = begin(&jobs, "s", "server").unwrap();
    // Time passes only when nothing else can happen: that this comes back at all means that it waited.
    let reading = jobs.read("s", &id, &ALL, Duration::from_secs(1)).await.unwrap();
    assert_eq!((texts(&reading).len(), reading.job.state), (0, JobState::Running));

    let begun = tokio::time::Instant::now();
    let print = async {
        tokio::task::yield_now().await;
        prints.send((Stream::Out, "starting\n")).unwrap();
    };
    let (reading, ()) = tokio::join!(jobs.read("s", &id, &ALL, LONG), print);
    assert_eq!(texts(&reading.unwrap()), ["starting"]);

    let ready = Wanted { pattern: Some(Regex::new("^ready").unwrap()), ..ALL };
    let print = async {
        for text in ["wait\n", "wait\nrea", "dy\n", "more\n"] {
            tokio::task::yield_now().await;
            prints.send((Stream::Out, text)).unwrap();
        }
    };
    let (reading, ()) = tokio::join!(jobs.read("s", &id, &ready, LONG), print);
    let reading = reading.unwrap();
    assert_eq!((texts(&reading), reading.seen.lines[0].number), (vec!["ready"], 3));

    let end = async {
        tokio::task::yield_now().await;
        drop(prints);
    };
    let (reading, ()) = tokio::join!(jobs.read("s", &id, &ready, LONG), end);
    assert_eq!(reading.unwrap().job.state, JobState::Exited);
    assert_eq!(begun.elapsed(), Duration::ZERO, "only events were waited for");
    // It was told by the read.
    assert_eq!(jobs.told("s").ended, [""; 0]);
    assert!(jobs.read("s", "j9", &ALL, LONG).await.is_none());
    assert!(jobs.read("other", &id, &ALL, LONG).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_closed_session_ends_all_waits() {
    let jobs = jobs();
    let (id, _prints) = begin(&jobs, "s", "server").unwrap();
    let begun = tokio::time::Instant::now();
    let close = async {
        tokio::task::yield_now().await;
        jobs.close("s");
    };
    let (reading, over, ()) = tokio::join!(jobs.read("s", &id, &ALL, LONG), jobs.over("s", &id, LONG), close);
    assert_eq!((reading, over, jobs.input("s", &id).is_some()), (None, None, false));
    jobs.idle().await;
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn lines_and_ends_are_told_once_and_to_their_session() {
    let jobs = jobs();
    let (id, prints) = begin(&jobs, "s", "server").unwrap();
    let (_, _others) = begin(&jobs, "other", "watch").unwrap();
    assert_eq!(jobs.told("s"), JobNews::default());
    prints.send((Stream::Out, "one\n")).unwrap();
    prints.send((Stream::Err, "tw")).unwrap();
    tokio::task::yield_now().await;
    let told = jobs.told("s");
    assert_eq!(told.said, ["Since then monitor j1 (server) has put out 1 line:\n| one"]);
    assert_eq!((jobs.told("s"), jobs.told("other")), (JobNews::default(), JobNews::default()));
    assert_eq!(jobs.monitors("s")[0].unread, 0);
    assert_eq!(jobs.stop("s", &id), Some(true));
    assert_eq!(jobs.over("s", &id, LONG).await.unwrap().state, JobState::Stopped);
    let told = jobs.told("s");
    assert_eq!(told.said, ["Since then monitor j1 (server) has put out 2 lines:\n| bye\n! tw"]);
    assert_eq!(told.ended, ["job j1 (server) was stopped: by signal 15"]);
    assert_eq!(jobs.told("s"), JobNews::default());
    // What panes read is what was printed, byte for byte.
    assert_eq!(jobs.output("s", &id, 0).unwrap().text, "one\ntwbye");
}

#[tokio::test(start_paused = true)]
async fn so_many_run_in_a_session_and_no_more() {
    let jobs = jobs();
    let (_, first) = begin(&jobs, "s", "one").unwrap();
    // Another kind of job takes no place.
    jobs.start(&Arc::new(Session::new("s")), "else", |_| std::future::pending());
    let (_, _second) = begin(&jobs, "s", "two").unwrap();
    let full = begin(&jobs, "s", "three").unwrap_err();
    assert_eq!(full.iter().map(|info| info.job.label.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    assert!(begin(&jobs, "other", "three").is_ok());
    assert_eq!(jobs.list("s").len(), 3);
    drop(first);
    jobs.over("s", "j1", LONG).await.unwrap();
    assert_eq!(begin(&jobs, "s", "three").unwrap().0, "j4");
    assert!(jobs.over("s", "j2", LONG).await.is_none() && jobs.input("s", "j2").is_none(), "that is no monitor");
}

#[tokio::test(start_paused = true)]
async fn what_is_written_comes_to_the_work() {
    let jobs = jobs();
    let (id, prints) = begin(&jobs, "s", "cat").unwrap();
    let (taken, heard) = oneshot::channel();
    let note = Note { text: "hello\n".to_owned(), close: false, taken };
    jobs.input("s", &id).unwrap().try_send(note).unwrap();
    heard.await.unwrap().unwrap();
    assert_eq!(texts(&jobs.read("s", &id, &ALL, Duration::ZERO).await.unwrap()), ["hello"]);
    drop(prints);
    jobs.over("s", &id, LONG).await.unwrap();
    assert!(jobs.input("s", &id).is_none());
}
