//! Open documents: what editors do, and what must come of it.

use crate::editor::AskError;
use crate::text::{Encoding, LineBreaks, LineEnd};
use crate::workspace::RefusalKind;
use crate::workspace::documents::Counting;

use super::fake::{Bench, NO, PATH, Replace, Show, YES, change, pause};

const TEXT: &str = "one\ntwo\nthree\n";

#[tokio::test(start_paused = true)]
async fn the_plain_case() {
    let bench = Bench::open(TEXT);
    let done = bench.replace("two", "TWO\n2").await.unwrap();
    assert_eq!(bench.editor.text(), "one\nTWO\n2\nthree\n");
    assert_eq!(done.after.to_string(), bench.editor.text());
    assert_eq!((done.version_before, done.version_after, done.unsaved), (Some(1), Some(2), true));
    assert_eq!(done.before.clone().unwrap().spliced(&done.splices), done.after);
    assert_eq!(done.notes, [""; 0]);
    assert_eq!((done.hunks[0].before.start, done.hunks[0].before.count, done.hunks[0].after.count), (2, 1, 2));
    expect_test::expect![[r"
        --- a/a.txt
        +++ b/a.txt
        @@ -1,3 +1,4 @@
         one
        -two
        +TWO
        +2
         three
    "]]
    .assert_eq(&done.unified_diff);
    assert_eq!(bench.disk.bytes(PATH).unwrap(), b"on the disk\n");
}

/// Each way of showing an edit of two places that are far apart, before or after the answer.
#[tokio::test(start_paused = true)]
async fn echoes_of_every_shape() {
    for show in [Show::Once, Show::Each, Show::EachForward, Show::Whole] {
        for answer_first in [false, true] {
            let bench = Bench::open("a1\nb\nc\nd\ne1\n");
            bench.editor.next(move |fake, edit| async move {
                assert_eq!(edit.edits.len(), 2, "{:?}", edit.edits);
                fake.skip(3);
                if answer_first {
                    tokio::spawn(async move {
                        pause(150).await;
                        fake.apply(&edit, show);
                    });
                } else {
                    fake.apply(&edit, show);
                    pause(150).await;
                }
                YES
            });
            let done = bench.replace("a1\nb\nc\nd\ne1\n", "a22\nb\nc\nd\ne2\n").await.unwrap();
            assert_eq!(done.after.to_string(), "a22\nb\nc\nd\ne2\n", "{show:?} {answer_first}");
            assert_eq!(done.version_after, Some(bench.editor.version()));
            assert_eq!(done.notes, [""; 0]);
            assert_eq!(bench.editor.edits().len(), 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_a_conflict_and_the_next_edit_may_try() {
    let bench = Bench::open(TEXT);
    bench.editor.next(|_, _| async { NO });
    bench.editor.next(|_, _| async { Err(AskError::Refused("require version 6".into())) });
    for words in ["it gave no reason", "require version 6"] {
        let refused = bench.replace("two", "2").await.unwrap_err();
        assert_eq!(refused.kind, RefusalKind::Conflict);
        assert!(refused.message.contains(words), "{}", refused.message);
    }
    assert_eq!(bench.editor.text(), TEXT);
    bench.replace("two", "2").await.unwrap();
    assert_eq!(bench.editor.text(), "one\n2\nthree\n");
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_takes_no_edits() {
    let bench = Bench::open(TEXT);
    bench.editor.next(|_, _| async { Err(AskError::Unsupported) });
    assert_eq!(bench.replace("two", "2").await.unwrap_err().kind, RefusalKind::Unavailable);
}

/// The user typed elsewhere before the edit arrived; the three ways in which editors answer that.
#[tokio::test(start_paused = true)]
async fn stale_edits_are_computed_anew() {
    for answer in [NO, YES, Err(AskError::Refused("stale".into()))] {
        for late in [false, true] {
            let bench = Bench::open(TEXT);
            let answer_now = answer.clone();
            bench.editor.next(move |fake, _| async move {
                if late {
                    tokio::spawn(async move {
                        pause(100).await;
                        fake.types("one\n", "zero\none\n");
                    });
                } else {
                    fake.types("one\n", "zero\none\n");
                }
                answer_now
            });
            let done = bench.replace("two\n", "two\nmore\n").await.unwrap();
            assert_eq!(bench.editor.text(), "zero\none\ntwo\nmore\nthree\n", "{answer:?} {late}");
            assert_eq!(done.after.to_string(), bench.editor.text());
            assert_eq!((done.version_before, done.version_after), (Some(2), Some(3)));
            assert_eq!(done.notes, ["The text changed while the edit was under way; it was computed anew once."]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn rebasing_ends() {
    let bench = Bench::open(TEXT);
    for number in 0..9 {
        bench.editor.next(move |fake, _| async move {
            fake.types("one\n", &format!("{number}\none\n"));
            NO
        });
    }
    let refused = bench.replace("two", "2").await.unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Conflict);
    assert!(refused.message.contains("+0\n+1\n+2\n+3\n"), "{}", refused.message);
    assert_eq!(bench.editor.edits().len(), 4);
    assert_eq!(bench.editor.text(), "0\n1\n2\n3\none\ntwo\nthree\n");
}

#[tokio::test(start_paused = true)]
async fn typing_inside_the_place_is_a_conflict_that_shows_it() {
    for answer in [NO, YES] {
        let bench = Bench::open("one\ntwo words\nthree\n");
        bench.editor.next(move |fake, _| async move {
            fake.types("two", "twoo");
            answer
        });
        let refused = bench.replace("two words\n", "exactly two words\n").await.unwrap_err();
        assert_eq!(refused.kind, RefusalKind::Conflict);
        assert!(refused.message.contains("-two words\n+twoo words\n"), "{}", refused.message);
        assert_eq!(bench.editor.text(), "one\ntwoo words\nthree\n");
    }
}

#[tokio::test(start_paused = true)]
async fn typing_before_and_after_in_the_same_notification() {
    for (as_one, before, after) in
        [(false, true, false), (false, false, true), (false, true, true), (true, true, false), (true, false, true)]
    {
        let bench = Bench::open("head\none\ntwo\nthree\nfoot\n");
        bench.editor.next(move |fake, edit| async move {
            fake.hold();
            if before {
                // Below the edit, so that an editor that does not check the version puts it at the right place.
                fake.types("foot", "my foot");
            }
            fake.apply(&edit, Show::Each);
            if after {
                fake.types("head", "my head");
            }
            if as_one {
                fake.flush_as_one();
            } else {
                fake.flush();
            }
            YES
        });
        let done = bench.replace("two\n", "two\nmore\n").await.unwrap();
        let text = bench.editor.text();
        assert!(text.contains("one\ntwo\nmore\nthree\n") && text.matches("more").count() == 1, "{text}");
        assert_eq!(text.contains("my head"), after);
        assert_eq!(text.contains("my foot"), before);
        assert_eq!(done.before.clone().unwrap().spliced(&done.splices), done.after);
        assert_eq!(done.version_after, Some(2));
        assert!(!done.notes.is_empty());
        assert_eq!(bench.editor.edits().len(), 1);
    }
}

/// `foo` becomes `foo` and `bar`: computed again on a text that has it, it would be there twice.
#[tokio::test(start_paused = true)]
async fn an_insertion_is_never_made_twice() {
    // The echo came together with typing that hides it, and the editor says no, yes, or nothing.
    for answer in [Some(NO), Some(YES), None] {
        let bench = Bench::open("x\nfoo\ny\n");
        bench.editor.next(move |fake, edit| async move {
            fake.hold();
            fake.apply(&edit, Show::Once);
            fake.types("foo\nbar\n", "foo\nbar\nbar 2\n");
            fake.flush_as_one();
            match answer {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        });
        let outcome = bench.replace("foo\n", "foo\nbar\n").await;
        assert_eq!(bench.editor.text(), "x\nfoo\nbar\nbar 2\ny\n", "{outcome:?}");
        assert_eq!(bench.editor.edits().len(), 1);
        assert!(outcome.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn applied_and_typed_on() {
    let bench = Bench::open(TEXT);
    bench.editor.next(|fake, edit| async move {
        fake.hold();
        fake.apply(&edit, Show::Once);
        fake.types("three", "threee");
        fake.flush();
        YES
    });
    let done = bench.replace("two", "2").await.unwrap();
    assert_eq!(done.after.to_string(), "one\n2\nthree\n");
    assert_eq!(done.notes, ["The user typed on after the edit."]);
    assert_eq!(bench.editor.text(), "one\n2\nthreee\n");
}

#[tokio::test(start_paused = true)]
async fn yes_and_nothing_done_is_unknown_and_shuts_the_queue() {
    let bench = Bench::open(TEXT);
    bench.editor.next(|_, _| async { YES });
    let refused = bench.replace("two", "2").await.unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Unknown);
    let again = bench.replace("two", "2").await.unwrap_err();
    assert_eq!(again.kind, RefusalKind::Unknown);
    assert_eq!(bench.editor.edits().len(), 1, "nothing more is sent");
    bench.editor.types("one", "1");
    pause(1).await;
    bench.replace("two", "2").await.unwrap();
    assert_eq!(bench.editor.text(), "1\n2\nthree\n");
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_can_tell_is_asked() {
    // It says yes and has done nothing: that is known, not unknown.
    let bench = Bench::open(TEXT);
    bench.editor.can_resync();
    bench.editor.next(|_, _| async { YES });
    let refused = bench.replace("two", "2").await.unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Conflict);
    bench.replace("two", "2").await.unwrap();

    // It has done it and lost the notification.
    let bench = Bench::open(TEXT);
    bench.editor.can_resync();
    bench.editor.next(|fake, edit| async move {
        fake.hold();
        fake.apply(&edit, Show::Once);
        fake.lose();
        YES
    });
    let done = bench.replace("two", "2").await.unwrap();
    assert_eq!(done.after.to_string(), "one\n2\nthree\n");

    // It has not answered and the user typed: the edit is stale by now, so another may be sent.
    let bench = Bench::open(TEXT);
    bench.editor.can_resync();
    bench.editor.next(|fake, _| async move {
        fake.types("one", "1");
        std::future::pending().await
    });
    let done = bench.replace("two\n", "two\nmore\n").await.unwrap();
    assert_eq!(done.after.to_string(), "1\ntwo\nmore\nthree\n");
}

#[tokio::test(start_paused = true)]
async fn an_echo_that_comes_late_opens_the_queue_and_is_told() {
    let bench = Bench::open(TEXT);
    bench.editor.next(|fake, edit| async move {
        pause(5000).await;
        fake.apply(&edit, Show::Once);
        YES
    });
    assert_eq!(bench.replace("two", "2").await.unwrap_err().kind, RefusalKind::Unknown);
    pause(4000).await;
    assert_eq!(bench.editor.text(), "one\n2\nthree\n");
    let done = bench.replace("three", "3").await.unwrap();
    assert_eq!(done.notes, ["The earlier edit of a.txt of which nothing was known did land after all, at version 2."]);
    assert_eq!(bench.workspace.late_news(&done.target.key), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_comes_late_opens_the_queue_and_is_told() {
    let bench = Bench::open(TEXT);
    bench.editor.next(|_, _| async move {
        pause(5000).await;
        NO
    });
    assert_eq!(bench.replace("two", "2").await.unwrap_err().kind, RefusalKind::Unknown);
    pause(4000).await;
    let done = bench.replace("two", "2").await.unwrap();
    assert_eq!(done.notes, ["The earlier edit of a.txt of which nothing was known was refused by the editor."]);
    assert_eq!(bench.editor.text(), "one\n2\nthree\n");
}

/// Neovim does not check version 0: the edit lands by line number, on another line.
#[tokio::test(start_paused = true)]
async fn an_edit_that_landed_elsewhere_is_taken_back() {
    for typed_on in [false, true] {
        let bench = Bench::open("");
        bench.editor.open(TEXT, 0);
        bench.editor.next(move |fake, edit| async move {
            fake.types("one\n", "zero\none\n");
            fake.apply(&edit, Show::Each);
            if typed_on {
                fake.types("three\n", "three\nfour\n");
            }
            YES
        });
        let done = bench.replace("two\n", "two\nmore\n").await.unwrap();
        let four = if typed_on { "four\n" } else { "" };
        assert_eq!(bench.editor.text(), format!("zero\none\ntwo\nmore\nthree\n{four}"));
        assert_eq!(bench.editor.edits().len(), 3);
        assert!(done.notes.iter().any(|note| note.contains("taken back")), "{:?}", done.notes);
    }
}

/// The same, but the line numbers are still right: that is where it belongs.
#[tokio::test(start_paused = true)]
async fn a_stale_edit_at_the_right_place_has_landed() {
    let bench = Bench::open("");
    bench.editor.open(TEXT, 0);
    bench.editor.next(|fake, edit| async move {
        fake.types("three\n", "three\nfour\n");
        fake.apply(&edit, Show::Each);
        YES
    });
    let done = bench.replace("two\n", "two\nmore\n").await.unwrap();
    assert_eq!(bench.editor.text(), "one\ntwo\nmore\nthree\nfour\n");
    assert_eq!(bench.editor.edits().len(), 1);
    assert_eq!(done.after.to_string(), bench.editor.text());
    assert_eq!(done.before.clone().unwrap().spliced(&done.splices), done.after);
    assert_eq!(done.notes, ["The user changed the text at the same time; both changes are in it."]);
}

#[tokio::test(start_paused = true)]
async fn a_late_edit_that_landed_elsewhere_is_taken_back_too() {
    let bench = Bench::open("");
    bench.editor.open(TEXT, 0);
    bench.editor.next(|fake, edit| async move {
        pause(5000).await;
        fake.types("one\n", "zero\none\n");
        fake.apply(&edit, Show::Each);
        YES
    });
    assert_eq!(bench.replace("two\n", "two\nmore\n").await.unwrap_err().kind, RefusalKind::Unknown);
    pause(8000).await;
    assert_eq!(bench.editor.text(), "zero\none\ntwo\nthree\n");
    let done = bench.replace("two", "2").await.unwrap();
    assert!(done.notes[0].contains("taken back"), "{:?}", done.notes);
}

#[tokio::test(start_paused = true)]
async fn closed_in_mid_call() {
    // Saved with the change in it.
    let bench = Bench::open(TEXT);
    let disk = std::sync::Arc::clone(&bench.disk);
    bench.editor.next(move |fake, _| async move {
        disk.put(PATH, "one\n2\nthree\n");
        fake.close();
        YES
    });
    let done = bench.replace("two", "2").await.unwrap();
    assert_eq!((done.unsaved, done.version_after), (false, None));
    assert_eq!(done.after.to_string(), "one\n2\nthree\n");

    // Not saved: the file is left alone.
    let bench = Bench::open(TEXT);
    bench.editor.next(|fake, _| async move {
        fake.close();
        YES
    });
    assert_eq!(bench.replace("two", "2").await.unwrap_err().kind, RefusalKind::Conflict);
    assert_eq!(bench.disk.bytes(PATH).unwrap(), b"on the disk\n");
    // And the next edit is one of the file.
    let done = bench.replace("on the disk", "in the file").await.unwrap();
    assert_eq!(done.version_after, None);
    assert_eq!(bench.disk.bytes(PATH).unwrap(), b"in the file\n");
}

#[tokio::test(start_paused = true)]
async fn opened_again_with_a_smaller_version() {
    // Without the edit: computed anew on the new text.
    let bench = Bench::open("");
    bench.editor.open(TEXT, 7);
    bench.editor.next(|fake, _| async move {
        fake.close();
        fake.open("uno\none\ntwo\n", 0);
        NO
    });
    let done = bench.replace("two\n", "two\nmore\n").await.unwrap();
    assert_eq!(bench.editor.text(), "uno\none\ntwo\nmore\n");
    assert_eq!((done.version_before, done.version_after), (Some(0), Some(1)));

    // With the edit in it.
    let bench = Bench::open("");
    bench.editor.open(TEXT, 7);
    bench.editor.next(|fake, _| async move {
        fake.open("one\ntwo\nmore\nthree\n", 0);
        YES
    });
    let done = bench.replace("two\n", "two\nmore\n").await.unwrap();
    assert_eq!((done.version_before, done.version_after), (Some(7), Some(0)));
    assert_eq!(bench.editor.edits().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn two_commits_take_turns() {
    let bench = Bench::open(TEXT);
    bench.editor.next(|fake, edit| async move {
        pause(500).await;
        fake.well(&edit, Show::Once)
    });
    let (first, second) = tokio::join!(bench.replace("two", "2"), bench.replace("three", "3"));
    assert_eq!((first.unwrap().version_after, second.unwrap().version_before), (Some(2), Some(2)));
    assert_eq!(bench.editor.text(), "one\n2\n3\n");
}

#[tokio::test(start_paused = true)]
async fn cancel_counts_until_the_edit_is_sent() {
    let bench = Bench::open(TEXT);
    let cancel = tokio_util::sync::CancellationToken::new();
    let change = change(PATH, Replace("two".into(), "2".into()));
    let inner = cancel.clone();
    bench.editor.next(move |fake, edit| async move {
        inner.cancel();
        pause(500).await;
        fake.well(&edit, Show::Once)
    });
    bench.workspace.commit(&change, &cancel).await.unwrap();
    assert_eq!(bench.editor.text(), "one\n2\nthree\n");
    let refused = bench.workspace.commit(&change, &cancel).await.unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_leaves_no_edit_unwatched() {
    let bench = Bench::open(TEXT);
    bench.editor.next(|fake, edit| async move {
        pause(500).await;
        fake.types("one\n", "zero\none\n");
        fake.apply(&edit, Show::Once);
        YES
    });
    let gone = tokio::time::timeout(std::time::Duration::from_millis(100), bench.replace("two\n", "two\nmore\n")).await;
    assert!(gone.is_err());
    pause(3000).await;
    // It landed at the wrong place, was taken back, and is not sent again, since nobody wants it any more.
    assert_eq!(bench.editor.text(), "zero\none\ntwo\nthree\n");
}

#[tokio::test(start_paused = true)]
async fn line_ends_marks_and_characters_stay_right() {
    for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
        for breaks in [LineBreaks::Lf, LineBreaks::Lsp] {
            let counting = Counting { encoding, breaks };
            let bench = Bench::counting("\u{feff}a😀b two\r\nnext 😀\r\n", counting);
            // Neovim hands LFs to the buffer, whose file has CRLFs.
            bench.editor.next(|fake, edit| async move {
                fake.apply_with(&edit, Show::Each, Some(LineEnd::Crlf), false);
                YES
            });
            let done = bench.replace("two\r\nnext 😀", "2\n😀😀\nlast").await.unwrap();
            assert_eq!(bench.editor.text(), "\u{feff}a😀b 2\r\n😀😀\r\nlast\r\n", "{encoding:?} {breaks:?}");
            assert_eq!(done.after.to_string(), bench.editor.text());
            assert_eq!(done.before.clone().unwrap().spliced(&done.splices), done.after);
            assert_eq!(done.notes, [""; 0]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_editor_alters_is_told() {
    let bench = Bench::open("one\ntwo\n");
    bench.editor.next(|fake, edit| async move {
        fake.apply_with(&edit, Show::Each, None, true);
        YES
    });
    let done = bench.replace("two\n", "2").await.unwrap();
    assert_eq!(bench.editor.text(), "one\n2\n");
    assert_eq!(done.after.to_string(), "one\n2");

    let bench = Bench::open("one\ntwo");
    bench.editor.next(|fake, edit| async move {
        fake.apply_with(&edit, Show::Whole, Some(LineEnd::Crlf), true);
        YES
    });
    let done = bench.replace("two", "2\n3").await.unwrap();
    assert_eq!(done.after.to_string(), "one\n2\r\n3\n");
    assert_eq!(done.before.clone().unwrap().spliced(&done.splices), done.after);
    assert_eq!(
        done.notes,
        ["The editor added a newline at the end of the file and changed line ends to its own kind by itself."]
    );
}

#[tokio::test(start_paused = true)]
async fn a_suspect_mirror_takes_no_edits_unless_the_editor_can_tell() {
    use crate::text::{Position, Range};
    use crate::workspace::documents::ContentChange;
    let spoil = |bench: &Bench| {
        let range = Range { start: Position::new(0, 2), end: Position::new(0, 1) };
        let change = ContentChange { range: Some(range), text: "?".into() };
        bench.editor.documents.change(&crate::workspace::Key::File(PATH.into()), 1, vec![change]);
    };
    let bench = Bench::open(TEXT);
    spoil(&bench);
    let refused = bench.replace("two", "2").await.unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Conflict);
    assert!(bench.editor.edits().is_empty());
    bench.editor.can_resync();
    bench.replace("two", "2").await.unwrap();
    assert_eq!(bench.editor.text(), "one\n2\nthree\n");

    // It comes into doubt while the edit is under way.
    for resync in [false, true] {
        let bench = Bench::open(TEXT);
        if resync {
            bench.editor.can_resync();
        }
        bench.editor.next(|fake, edit| async move {
            fake.documents.doubt(&crate::workspace::Key::File(PATH.into()), "a change was lost");
            fake.hold();
            fake.apply(&edit, Show::Once);
            fake.lose();
            YES
        });
        let outcome = bench.replace("two", "2").await;
        if resync {
            assert_eq!(outcome.unwrap().after.to_string(), "one\n2\nthree\n");
        } else {
            assert_eq!(outcome.unwrap_err().kind, RefusalKind::Unknown);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_to_do_sends_nothing() {
    let bench = Bench::open("a\r\nb\r\n");
    let done = bench.replace("a\r\nb", "a\nb").await.unwrap();
    assert!(bench.editor.edits().is_empty());
    assert_eq!(done.notes, ["The text was already so; nothing was changed."]);
}

#[tokio::test(start_paused = true)]
async fn a_preview_changes_nothing() {
    let bench = Bench::open(TEXT);
    let change = change(PATH, Replace("two".into(), "2".into()));
    let preview = bench.workspace.preview(&change).await.unwrap();
    assert_eq!(preview.after.to_string(), "one\n2\nthree\n");
    assert_eq!(preview.before.unwrap().to_string(), TEXT);
    assert!(preview.unified_diff.starts_with("--- a/a.txt\n"));
    assert_eq!((bench.editor.text().as_str(), bench.editor.edits().len()), (TEXT, 0));
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_rewrite_is_its_callers_and_frees_the_queue() {
    struct Panics;
    impl crate::workspace::Rewrite for Panics {
        fn rewrite(&self, _: Option<&crate::text::Text>) -> Result<super::super::Rewritten, crate::workspace::Refusal> {
            panic!("as told")
        }
    }
    let bench = Bench::open(TEXT);
    let workspace = std::sync::Arc::clone(&bench.workspace);
    let task = tokio::spawn(async move {
        let _ = workspace.commit(&change(PATH, Panics), &tokio_util::sync::CancellationToken::new()).await;
    });
    assert!(task.await.unwrap_err().is_panic());
    bench.replace("two", "2").await.unwrap();
}
