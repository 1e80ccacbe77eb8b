//! Searches that are stopped.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio_util::sync::CancellationToken;

use super::kit::{grep, job, query, set, workspace};
use crate::ports::{MemoryDisk, Operation};
use crate::workspace::RefusalKind;
use crate::workspace::search::{Ended, Run};

fn disk(files: usize) -> MemoryDisk {
    let disk = MemoryDisk::new().with_dir("/w");
    for number in 0..files {
        disk.put(format!("/w/{number:03}"), "needle\n");
    }
    disk
}

#[test]
fn a_stopped_search_keeps_what_it_has() {
    let disk = disk(50);
    let reads = Arc::new(AtomicUsize::new(0));
    let run: Arc<std::sync::OnceLock<Arc<Run>>> = Arc::default();
    let (counted, stopped) = (Arc::clone(&reads), Arc::clone(&run));
    disk.before(Operation::Read, move |_, path| {
        let file = path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.'));
        if file && counted.fetch_add(1, Ordering::Relaxed) == 10 {
            stopped.get().unwrap().stop(Ended::TimeLimit);
        }
    });
    let workspace = workspace(Arc::new(disk), &[Path::new("/w")]);
    let job = job(&workspace, None);
    run.set(Arc::clone(&job.run)).unwrap();
    let found = grep(&job, &query("needle"));
    assert_eq!(found.ended, Some(Ended::TimeLimit));
    // The one that was being read is not among them.
    assert_eq!((found.matched, found.faulty), (10, 0));
    assert_eq!((reads.load(Ordering::Relaxed), job.run.files()), (11, 11));
    assert!(job.words(&[], 0, found.ended).concat().contains("time limit"));
}

#[tokio::test]
async fn cancelling_ends_the_wait_and_the_search() {
    let workspace = workspace(Arc::new(disk(1)), &[Path::new("/w")]);
    let cancel = CancellationToken::new();
    let job = job(&workspace, None);
    let run = Arc::clone(&job.run);
    let (started, cancelling) = (CancellationToken::new(), cancel.clone());
    let begun = started.clone();
    let waiting = tokio::spawn(async move {
        job.go(&cancelling, move |job| {
            begun.cancel();
            while job.run.ended().is_none() {
                std::thread::yield_now();
            }
        })
        .await
    });
    started.cancelled().await;
    cancel.cancel();
    assert_eq!(waiting.await.unwrap().unwrap_err().kind, RefusalKind::Cancelled);
    assert_eq!(run.ended(), Some(Ended::Cancelled));
}

#[tokio::test]
async fn a_search_nobody_waits_for_ends() {
    let workspace = workspace(Arc::new(disk(1)), &[Path::new("/w")]);
    let job = job(&workspace, None);
    let (started, ended) = (CancellationToken::new(), CancellationToken::new());
    let (begun, over) = (started.clone(), ended.clone());
    let waiting = tokio::spawn(async move {
        let cancel = CancellationToken::new();
        let work = move |job: &super::super::Job| {
            begun.cancel();
            while job.run.ended().is_none() {
                std::thread::yield_now();
            }
            over.cancel();
        };
        job.go(&cancel, work).await
    });
    started.cancelled().await;
    waiting.abort();
    ended.cancelled().await;
}

#[tokio::test]
async fn a_search_out_of_time_answers() {
    let workspace = workspace(Arc::new(disk(1)), &[Path::new("/w")]);
    set(&workspace, |settings| settings.search.time_limit_ms = 1);
    let work = |job: &super::super::Job| {
        while job.run.ended().is_none() {
            std::thread::yield_now();
        }
        job.run.ended()
    };
    let ended = job(&workspace, None).go(&CancellationToken::new(), work).await.unwrap();
    assert_eq!(ended, Some(Ended::TimeLimit));
}
