//! Open documents when there is much of everything: places, changes, waiting for what will not come.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::editor::AskError;
use crate::text::{Splice, Text};
use crate::workspace::commit::{Rewrite, Rewritten};
use crate::workspace::{Refusal, RefusalKind};

use super::fake::{Bench, PATH, Show, YES, change, pause};

const TEXT: &str = "one\ntwo\nthree\n";

/// Nothing more comes from an editor that is gone: nobody waits for it, and what was shown before counts.
#[tokio::test(start_paused = true)]
async fn an_editor_that_is_gone_is_not_waited_for() {
    let bench = Bench::open(TEXT);
    bench.editor.next(|_, _| async { Err(AskError::Gone) });
    let start = tokio::time::Instant::now();
    let refused = bench.replace("two", "2").await.unwrap_err();
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(refused.kind, RefusalKind::Unknown);
    assert!(refused.message.contains("the editor was gone"), "{}", refused.message);

    let bench = Bench::open(TEXT);
    bench.editor.next(|fake, edit| async move {
        fake.apply(&edit, Show::Once);
        Err(AskError::Gone)
    });
    assert_eq!(bench.replace("two", "2").await.unwrap().after.to_string(), "one\n2\nthree\n");
}

/// A document that changes faster than its changes are taken in does not keep the wait from ending.
#[tokio::test(start_paused = true)]
async fn a_flood_of_changes_does_not_hold_the_timer() {
    let bench = Bench::open(TEXT);
    let flood = Arc::clone(&bench.editor);
    bench.editor.next(move |_, _| async move {
        tokio::spawn(async move {
            for _ in 0..3000 {
                for (from, to) in [("one", "eno"), ("eno", "one")] {
                    flood.types(from, to);
                }
                tokio::time::advance(Duration::from_millis(2)).await;
            }
        });
        std::future::pending().await
    });
    let refused = bench.replace("two", "2").await.unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Unknown);
    assert!(bench.editor.version() < 4000, "{}", bench.editor.version());
}

/// Thousands of places, echoed at once or one by one, before and after the answer.
#[tokio::test(start_paused = true)]
async fn thousands_of_places() {
    let (old, new) = ("x = 1\n".repeat(1500), "y = 1\n".repeat(1500));
    for show in [Show::Once, Show::Each, Show::EachForward, Show::Whole] {
        let bench = Bench::open(&old);
        bench.editor.next(move |fake, edit| async move {
            assert_eq!(edit.edits.len(), 1500);
            tokio::spawn(async move {
                pause(100).await;
                fake.apply(&edit, show);
            });
            YES
        });
        let change = change(PATH, All);
        let done = bench.workspace.commit(&change, &CancellationToken::new()).await.unwrap();
        assert_eq!(done.after.to_string(), new, "{show:?}");
        assert_eq!(done.notes, [""; 0]);
    }
}

/// Makes each x a y.
struct All;

impl Rewrite for All {
    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal> {
        let text = before.unwrap().to_string();
        let splices = text.match_indices('x').map(|(at, _)| Splice { range: at..at + 1, text: "y".into() }).collect();
        Ok(Rewritten { splices, ..Rewritten::default() })
    }
}
