//! The mirror against a plain string, and what its followers hear.

use std::sync::mpsc as channel;

use proptest::prelude::*;

use super::*;
use crate::text::Position;
use crate::text::model::{self, BREAKS, ENCODINGS};

const URI: &str = "file:///f";

fn key() -> Key {
    Key::File("/f".into())
}

fn documents(encoding: Encoding, breaks: LineBreaks, text: &str) -> Documents {
    let documents = Documents::new();
    documents.count_as(Counting { encoding, breaks });
    documents.open(key(), URI, "rust", 1, text);
    documents
}

fn get(documents: &Documents) -> Snapshot {
    documents.get(&key()).expect("the document is open")
}

fn full(text: &str) -> ContentChange {
    ContentChange { range: None, text: text.to_owned() }
}

fn replace(start: (u32, u32), end: (u32, u32), text: &str) -> ContentChange {
    let range = Range { start: Position::new(start.0, start.1), end: Position::new(end.0, end.1) };
    ContentChange { range: Some(range), text: text.to_owned() }
}

fn change() -> impl Strategy<Value = ContentChange> {
    prop_oneof![
        9 => (model::range(), model::text())
            .prop_map(|(range, text)| ContentChange { range: Some(range), text }),
        1 => model::text().prop_map(|text| ContentChange { range: None, text }),
    ]
}

/// Several notifications of one or several changes each.
fn notifications() -> impl Strategy<Value = Vec<Vec<ContentChange>>> {
    prop::collection::vec(prop::collection::vec(change(), 1..4), 1..8)
}

proptest! {
    #[test]
    fn the_mirror_equals_a_plain_string(
        text in prop_oneof![12 => model::text(), 1 => model::long_text()],
        notifications in notifications(),
    ) {
        for (encoding, breaks) in ENCODINGS.into_iter().flat_map(|encoding| BREAKS.map(|breaks| (encoding, breaks))) {
            let documents = documents(encoding, breaks, &text);
            let (_, mut watch) = documents.watch(&key()).unwrap();
            let mut model = text.clone();
            let mut fits = true;
            for (version, changes) in (2..).zip(&notifications) {
                let mut texts = Vec::new();
                for change in changes {
                    if let Some(range) = change.range {
                        let (next, clamp) = model::change(&model, breaks, encoding, range, &change.text);
                        fits &= clamp != Clamp::MidCharacter;
                        model = next;
                    } else {
                        model.clone_from(&change.text);
                        fits = true;
                    }
                    texts.push(model.clone());
                }
                let before = get(&documents);
                let applied = documents.change(&key(), version, changes.clone());
                let after = get(&documents);
                prop_assert_eq!(after.text.to_string(), model.as_str());
                prop_assert_eq!(after.version, version);
                prop_assert_eq!(after.trust == Sync::Good, fits);
                prop_assert_eq!(applied == Applied::Yes, fits);
                prop_assert_eq!(after.text.line_count(), model::lines(&model, breaks).len());

                // What a watcher hears is the same, step by step.
                let DocEvent::Changed { before: heard, steps, after: heard_after } = watch.try_recv().unwrap() else {
                    panic!("a change is heard as a change");
                };
                prop_assert_eq!((&heard, &heard_after), (&before, &after));
                let mut at = before.text.clone();
                for (step, text) in steps.iter().zip(&texts) {
                    at = at.spliced(std::slice::from_ref(&step.splice));
                    prop_assert_eq!(&at.to_string(), text);
                    prop_assert_eq!(&step.after, &at);
                }
                prop_assert_eq!(steps.len(), texts.len());
            }
        }
    }
}

#[test]
fn a_change_that_does_not_fit_makes_the_document_suspect() {
    fn check(change: ContentChange, text: &str, suspect: bool) {
        let documents = documents(Encoding::Utf16, LineBreaks::Lf, "a😀\nb\n");
        let applied = documents.change(&key(), 2, vec![change]);
        assert_eq!(get(&documents).text.to_string(), text);
        assert_eq!(matches!(applied, Applied::Suspect(_)), suspect);
        assert_eq!(matches!(get(&documents).trust, Sync::Suspect(_)), suspect);
    }
    check(replace((0, 0), (0, 1), "x"), "x😀\nb\n", false);
    // Past the end is what editors send when everything goes.
    check(replace((0, 0), (99, 0), ""), "", false);
    check(replace((1, 0), (1, 99), "x"), "a😀\nx\n", false);
    check(replace((7, 7), (8, 8), "x"), "a😀\nb\nx", false);
    check(replace((0, 2), (0, 3), "x"), "ax\nb\n", true);
    check(replace((1, 1), (0, 3), "x"), "a😀x\n", true);
}

#[test]
fn suspicion_ends_with_the_whole_text() {
    let misfit = || replace((1, 0), (0, 0), "");
    let suspect = || {
        let documents = documents(Encoding::Utf16, LineBreaks::Lf, "a\nb\n");
        documents.change(&key(), 2, vec![misfit()]);
        assert_ne!(get(&documents).trust, Sync::Good);
        // A change that fits cannot help.
        let applied = documents.change(&key(), 3, vec![replace((0, 0), (0, 0), "x")]);
        assert!(matches!(&applied, Applied::Suspect(why) if why.contains("version 2")), "{applied:?}");
        documents
    };
    let full_text = suspect();
    assert_eq!(full_text.change(&key(), 4, vec![full("new")]), Applied::Yes);
    let resynced = suspect();
    resynced.resynced(&key(), 3, "new");
    let reopened = suspect();
    reopened.open(key(), URI, "rust", 1, "new");
    for documents in [full_text, resynced, reopened] {
        assert_eq!((get(&documents).trust, get(&documents).text.to_string()), (Sync::Good, "new".to_owned()));
    }

    let documents = suspect();
    documents.resynced(&key(), 2, "older than what we have");
    assert_ne!(get(&documents).trust, Sync::Good);
    // In one notification: what came before the whole text does not matter, what comes after it does.
    assert_eq!(documents.change(&key(), 4, vec![misfit(), full("a\nb")]), Applied::Yes);
    assert!(matches!(documents.change(&key(), 5, vec![full("a\nb"), misfit()]), Applied::Suspect(_)));
}

#[test]
fn a_resync_that_overtakes_its_changes_is_not_changed_by_them_again() {
    let documents = documents(Encoding::Utf16, LineBreaks::Lf, "");
    documents.resynced(&key(), 3, "ab");
    assert_eq!(documents.change(&key(), 2, vec![replace((0, 0), (0, 0), "a")]), Applied::Yes);
    assert_eq!(documents.change(&key(), 3, vec![replace((0, 1), (0, 1), "b")]), Applied::Yes);
    assert_eq!((get(&documents).text.to_string().as_str(), get(&documents).version), ("ab", 3));
    assert_eq!(documents.change(&key(), 4, vec![replace((0, 2), (0, 2), "c")]), Applied::Yes);
    assert_eq!(get(&documents).text.to_string(), "abc");
}

#[test]
fn nothing_but_what_a_resync_brought_is_passed_over() {
    let insert = |at: u32, text: &str| vec![replace((0, at), (0, at), text)];
    let documents = documents(Encoding::Utf16, LineBreaks::Lf, "");
    // The editor counts a version for the answer itself: no change of that number ever comes.
    documents.resynced(&key(), 3, "ab");
    documents.change(&key(), 4, insert(2, "c"));
    documents.change(&key(), 3, insert(3, "d"));
    assert_eq!(get(&documents).text.to_string(), "abcd", "the later change ended it");

    // Two answers, one after the other.
    documents.resynced(&key(), 5, "abcde");
    documents.resynced(&key(), 6, "abcdef");
    documents.change(&key(), 4, insert(4, "x"));
    documents.change(&key(), 5, insert(4, "x"));
    documents.change(&key(), 6, insert(4, "x"));
    assert_eq!(get(&documents).text.to_string(), "abcdef");

    // Versions that never rise say nothing about what is included.
    documents.resynced(&key(), 6, "abc");
    documents.change(&key(), 6, insert(3, "d"));
    assert_eq!(get(&documents).text.to_string(), "abcd");

    // Opened again, nothing is outstanding.
    documents.resynced(&key(), 9, "abc");
    documents.open(key(), URI, "rust", 7, "abc");
    documents.change(&key(), 8, insert(3, "d"));
    assert_eq!(get(&documents).text.to_string(), "abcd");
}

#[test]
fn a_reopened_document_is_new_whatever_its_version() {
    let documents = documents(Encoding::Utf16, LineBreaks::Lf, "old");
    documents.change(&key(), 9, vec![full("older")]);
    let before = get(&documents);
    documents.close(&key());
    assert_eq!(documents.get(&key()), None);
    assert_eq!(documents.change(&key(), 10, vec![full("x")]), Applied::NotOpen);
    documents.open(key(), URI, "rust", 0, "new");
    let after = get(&documents);
    assert_eq!((after.text.to_string().as_str(), after.version), ("new", 0));
    assert!(after.epoch > before.epoch);
}

#[test]
fn two_buffers_of_one_file_are_two_texts() {
    let documents = documents(Encoding::Utf16, LineBreaks::Lf, "first");
    let other = documents.open(key(), "file:///link", "rust", 1, "second");
    assert_eq!(other, Key::Unnamed("file:///link".to_owned()));
    assert_eq!((documents.key_of(URI), documents.key_of("file:///link")), (Some(key()), Some(other.clone())));
    documents.change(&other, 2, vec![replace((0, 0), (0, 0), "the ")]);
    assert_eq!(get(&documents).text.to_string(), "first");
    assert_eq!(documents.get(&other).unwrap().text.to_string(), "the second");
    // Opened again, it stays what it was.
    assert_eq!(documents.open(key(), "file:///link", "rust", 1, "again"), other);

    // The first goes: the second is the file now.
    let (_, mut watch) = documents.watch(&other).unwrap();
    documents.close(&key());
    assert_eq!(documents.key_of("file:///link"), Some(key()));
    assert_eq!((get(&documents).uri.as_str(), get(&documents).text.to_string().as_str()), ("file:///link", "again"));
    assert_eq!(documents.get(&other), None);
    assert!(matches!(watch.try_recv(), Ok(DocEvent::Closed(_))));
    documents.close(&key());
    assert_eq!((documents.all().len(), documents.key_of("file:///link")), (0, None));
    assert_eq!(documents.open(key(), "file:///link", "rust", 1, "alone"), key());
}

#[test]
fn another_spelling_means_every_buffer_of_the_file() {
    let documents = documents(Encoding::Utf16, LineBreaks::Lf, "first");
    let unnamed = |uri: &str| Key::Unnamed(uri.to_owned());
    for uri in ["untitled:a b", "untitled:c"] {
        documents.open(unnamed(uri), uri, "", 1, "");
    }
    assert_eq!(documents.meant_by(&key()), [key()]);
    assert_eq!(documents.meant_by(&Key::File("/other".into())), []);
    assert_eq!(documents.meant_by(&unnamed("untitled:a%20b")), [unnamed("untitled:a b")]);
    assert_eq!(documents.meant_by(&unnamed("untitled:d")), []);
    let double = documents.open(key(), "file:///link", "rust", 1, "second");
    assert_eq!(documents.meant_by(&key()), [key(), double]);
    documents.close(&key());
    assert_eq!(documents.meant_by(&key()), [key()]);
}

#[test]
fn what_was_opened_unreadably_is_open_and_in_doubt() {
    let documents = documents(Encoding::Utf16, LineBreaks::Lf, "old");
    documents.change(&key(), 9, vec![full("older")]);
    let epoch = get(&documents).epoch;
    // A re-open without its text: the old one stays as a guess, and the version starts anew.
    documents.open_in_doubt(key(), URI, "rust", 1, None, "no text");
    let now = get(&documents);
    assert_eq!((now.text.to_string().as_str(), now.version), ("older", 1));
    assert_eq!((now.trust, now.epoch > epoch), (Sync::Suspect("no text".into()), true));
    assert!(matches!(documents.change(&key(), 2, vec![replace((0, 0), (0, 0), "x")]), Applied::Suspect(_)));
    documents.resynced(&key(), 2, "new");
    assert_eq!((get(&documents).text.to_string(), get(&documents).trust), ("new".to_owned(), Sync::Good));

    let other = Key::File("/other".into());
    documents.open_in_doubt(other.clone(), "file:///other", "", 0, None, "no text");
    assert_eq!(documents.get(&other).unwrap().text.len(), 0);
    let doubted = documents.doubt_all("lost");
    assert_eq!(doubted.iter().map(|document| document.uri.as_str()).collect::<Vec<_>>(), [URI, "file:///other"]);
    assert!(doubted.iter().all(|document| document.trust == Sync::Suspect("lost".into())));
}

#[test]
fn two_buffers_without_a_name_are_not_mistaken_for_one() {
    let documents = Documents::new();
    let open = || documents.open(Key::Unnamed("file://".into()), "file://", "", 0, "text");
    let unnamed = open();
    assert_eq!(documents.get(&unnamed).unwrap().trust, Sync::Good);
    open();
    assert!(matches!(documents.get(&unnamed).unwrap().trust, Sync::Suspect(_)));
    documents.close(&unnamed);
    open();
    assert_eq!(documents.get(&unnamed).unwrap().trust, Sync::Good);
}

/// Threads change two documents at once; a listener and watchers that come in the middle hear all of it, in order.
#[test]
fn followers_lose_nothing_and_hear_it_in_order() {
    const THREADS: usize = 4;
    const CHANGES: usize = 200;
    let documents = documents(Encoding::Utf16, LineBreaks::Lf, "");
    let other = documents.open(Key::Unnamed("untitled:1".into()), "untitled:1", "rust", 1, "");
    let (sender, heard) = channel::channel();
    documents.listen(Box::new(move |event| sender.send(event.clone()).expect("the test listens")));
    let watches = std::thread::scope(|scope| {
        let writer = |key: Key| {
            let documents = &documents;
            move || {
                for _ in 0..CHANGES {
                    documents.change(&key, 2, vec![replace((0, 0), (0, 0), "x")]);
                }
            }
        };
        for _ in 0..THREADS {
            scope.spawn(writer(key()));
        }
        scope.spawn(writer(other.clone()));
        let watcher = scope.spawn(|| (0..20).map(|_| documents.watch(&key()).unwrap()).collect::<Vec<_>>());
        watcher.join().unwrap()
    });
    documents.save(&key());
    documents.close(&key());

    let mut lengths = HashMap::from([(key(), 0), (other.clone(), 0)]);
    let mut ends = Vec::new();
    for event in heard.try_iter() {
        let known = lengths.get_mut(&event.snapshot().key).unwrap();
        match &event {
            DocEvent::Changed { before, after, .. } => {
                assert_eq!((before.text.len(), after.text.len()), (*known, *known + 1));
                *known += 1;
            }
            DocEvent::Saved(after) => ends.push(("saved", after.text.len())),
            DocEvent::Closed(before) => ends.push(("closed", before.text.len())),
            DocEvent::Opened(_) | DocEvent::Resynced(_) => panic!("{event:?}"),
        }
    }
    assert_eq!(lengths, HashMap::from([(key(), THREADS * CHANGES), (other, CHANGES)]));
    assert_eq!(ends, [("saved", THREADS * CHANGES), ("closed", THREADS * CHANGES)]);

    for (snapshot, mut watch) in watches {
        let mut length = snapshot.text.len();
        loop {
            match watch.try_recv().expect("the watch ends with the close") {
                DocEvent::Changed { before, after, .. } => {
                    assert_eq!((before.text.len(), after.text.len()), (length, length + 1));
                    length += 1;
                }
                DocEvent::Saved(after) => assert_eq!(after.saved.as_ref().map(Text::len), Some(length)),
                DocEvent::Closed(_) => break,
                event => panic!("{event:?}"),
            }
        }
        assert_eq!(length, THREADS * CHANGES);
    }
}

#[test]
fn a_watch_goes_on_over_a_close_and_ends_with_its_receiver() {
    let documents = documents(Encoding::Utf16, LineBreaks::Lf, "one");
    assert!(documents.watch(&Key::Unnamed("untitled:1".into())).is_none());
    let (_, mut watch) = documents.watch(&key()).unwrap();
    documents.close(&key());
    documents.open(key(), URI, "rust", 1, "two");
    documents.resynced(&key(), 1, "three");
    documents.save(&key());
    let heard: Vec<String> = std::iter::from_fn(|| watch.try_recv().ok())
        .map(|event| {
            let kind = match event {
                DocEvent::Opened(_) => "opened",
                DocEvent::Changed { .. } => "changed",
                DocEvent::Resynced(_) => "resynced",
                DocEvent::Saved(_) => "saved",
                DocEvent::Closed(_) => "closed",
            };
            format!("{kind} {}", event.snapshot().text)
        })
        .collect();
    assert_eq!(heard, ["closed one", "opened two", "resynced three", "saved three"]);
    drop(watch);
    documents.save(&key());
    assert!(documents.lock().watchers.is_empty());
}

#[test]
fn halves_of_pairs_are_in_doubt_until_a_text_without_any() {
    let documents = documents(Encoding::Utf16, LineBreaks::default(), "ab");
    let insert = |text: &str| vec![replace((0, 0), (0, 0), text)];
    let halves = |documents: &Documents| matches!(get(documents).trust, Sync::Halves(_));
    let applied = documents.change_mended(&key(), 2, insert("\u{fffd}"));
    assert!(matches!(&applied, Applied::Suspect(why) if why.contains("half") && why.contains("U+FFFD")), "{applied:?}");
    assert!(halves(&documents));
    // A change without halves leaves those that are there, and so does a whole text that has some.
    documents.change(&key(), 3, insert("x"));
    assert!(halves(&documents));
    documents.change_mended(&key(), 4, vec![full("\u{fffd}")]);
    assert!(halves(&documents));
    documents.change(&key(), 5, vec![full("whole")]);
    assert_eq!(get(&documents).trust, Sync::Good);
    // The editor's own answer; one that is older than what is known says nothing.
    documents.resynced_mended(&key(), 4, "\u{fffd}");
    assert_eq!((get(&documents).text.to_string().as_str(), get(&documents).trust), ("whole", Sync::Good));
    documents.resynced_mended(&key(), 5, "\u{fffd}");
    assert!(halves(&documents) && get(&documents).text.to_string() == "\u{fffd}");
    documents.resynced(&key(), 7, "\u{1f60e}");
    // What the answer has brought already, halves and all, is passed over.
    assert_eq!(documents.change_mended(&key(), 6, insert("\u{fffd}")), Applied::Yes);
    assert_eq!((get(&documents).text.to_string().as_str(), get(&documents).trust), ("\u{1f60e}", Sync::Good));
    documents.open_mended(key(), URI, "text", 1, "\u{fffd}");
    assert!(halves(&documents));
}
