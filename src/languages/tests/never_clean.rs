//! "No errors" is never said of a text that has some: random servers, random edits, typing, saves and crashes.

use proptest::prelude::*;

use super::simulated::{Behaviour, Crash, Form, HONEST, Stamps, assert_true, play, truth};
use super::*;

#[derive(Debug, Clone)]
enum Step {
    /// A tool's edits of one batch: line and text, `None` removes the line; waits so long at most.
    Edits {
        edits: Vec<(usize, Option<&'static str>)>,
        deadline: Option<u64>,
        typing: Option<(u64, usize, &'static str)>,
    },
    /// The user puts a line there.
    Types(usize, &'static str),
    Saves,
    Rests(u64),
    /// The editor forwards what its own server says: true of the text now, with the version, or of the text before.
    Forwards {
        stamped: bool,
        stale: bool,
        pull: bool,
    },
    EditorSources(bool),
}

const LINES: [&str; 4] = ["bad a\n", "bad b\n", "fine\n", "é😀 fine\n"];

fn line() -> impl Strategy<Value = &'static str> {
    prop::sample::select(LINES.to_vec())
}

fn step() -> impl Strategy<Value = Step> {
    let edit = (0..5usize, prop::option::weighted(0.7, line()));
    let typing = prop::option::weighted(0.3, (0..300u64, 0..5usize, line()));
    let deadline = prop::option::weighted(0.3, 0..3000u64);
    prop_oneof![
        5 => (prop::collection::vec(edit, 1..3), deadline, typing)
            .prop_map(|(edits, deadline, typing)| Step::Edits { edits, deadline, typing }),
        1 => (0..5usize, line()).prop_map(|(at, line)| Step::Types(at, line)),
        1 => Just(Step::Saves),
        2 => (0..4000u64).prop_map(Step::Rests),
        1 => (any::<bool>(), any::<bool>(), any::<bool>())
            .prop_map(|(stamped, stale, pull)| Step::Forwards { stamped, stale, pull }),
        1 => any::<bool>().prop_map(Step::EditorSources),
    ]
}

/// A server that says nothing false: late, seldom, without a number or with a wrong one, or not at all.
fn behaviour() -> impl Strategy<Value = Behaviour> {
    let stamps = prop::sample::select(vec![Stamps::Honest, Stamps::None, Stamps::Always(0), Stamps::Always(1)]);
    let crash = prop_oneof![
        6 => Just(Crash::Never), 1 => Just(Crash::OnChange), 1 => Just(Crash::InCheck), 1 => Just(Crash::InInitialize)
    ];
    let form = prop_oneof![4 => Just(Form::Plain), 1 => Just(Form::Odd), 1 => Just(Form::Unreadable)];
    let check = prop_oneof![0..200u64, 0..4000u64];
    (check, 0..4u8, stamps, any::<[bool; 5]>(), 0..3u32, form, crash).prop_map(
        |(check_ms, asking, stamps, [only_changes, progress, wedged, floods, no_changes], modified, form, crash)| {
            Behaviour {
                name: "random",
                check_ms,
                pushes: asking != 0,
                pulls: asking < 2,
                dynamic: asking == 1,
                stamps,
                only_changes,
                // Words without a number that are false in the middle of the work are bounded by its progress.
                progress: progress && stamps == Stamps::None && asking > 1,
                wedged: wedged && check_ms % 4 == 0,
                floods: floods && stamps == Stamps::Honest,
                // What a check that began before a save and has no number is about, nobody can tell (DESIGN 6 takes it for
                // the saved text after a quiet window).
                no_changes: no_changes && check_ms % 5 == 0 && stamps == Stamps::Honest,
                modified,
                form,
                crash,
                ..HONEST
            }
        },
    )
}

/// The bytes before which line `at` begins, and behind which it ends.
fn bounds(text: &str, at: usize) -> std::ops::Range<usize> {
    let mut start = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if index == at {
            return start..start + line.len();
        }
        start += line.len();
    }
    start..start
}

async fn run(servers: Vec<Behaviour>, steps: Vec<Step>) {
    let context = format!("{servers:#?}\n{steps:#?}");
    let mut bench = Bench::without(&["basedpyright"]);
    let (_, unused) = mpsc::unbounded_channel();
    play(std::mem::replace(&mut bench.started, unused), servers);
    let doc = bench.open("a.py", "bad 0\nok\n");
    let mut texts = HashMap::from([(1, "bad 0\nok\n".to_owned())]);
    let note = |bench: &Bench, texts: &mut HashMap<i32, String>| {
        let now = bench.documents.get(&doc.key).unwrap();
        texts.insert(now.version, now.text.to_string());
    };
    let mut before = String::new();
    for step in steps {
        match step {
            Step::Edits { edits, deadline, typing } => {
                let mut batch = Vec::new();
                for (at, line) in edits {
                    before = bench.text(&doc).to_string();
                    let range = bounds(&before, at);
                    let range = if line.is_some() { range.start..range.start } else { range };
                    batch.push(bench.edit(&doc, range, line.unwrap_or_default()));
                    note(&bench, &mut texts);
                }
                let settle = bench.settle_with(batch, Wait { deadline_ms: deadline, ..Wait::default() });
                if let Some((after, at, line)) = typing {
                    tokio::time::sleep(Duration::from_millis(after)).await;
                    before = bench.text(&doc).to_string();
                    let start = bounds(&before, at).start;
                    bench.replace(&doc, start..start, line);
                    note(&bench, &mut texts);
                }
                let report = settle.await.unwrap();
                assert_eq!(report.documents.len(), 1, "{context}");
                assert_true(&report.documents[0], &texts, &context);
            }
            Step::Types(at, line) => {
                before = bench.text(&doc).to_string();
                let start = bounds(&before, at).start;
                bench.replace(&doc, start..start, line);
                note(&bench, &mut texts);
            }
            Step::Saves => bench.documents.save(&doc.key),
            Step::Rests(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
            Step::Forwards { stamped, stale, pull } => {
                let now = bench.documents.get(&doc.key).unwrap();
                let stale = stale && !before.is_empty() && now.version > 1;
                // An old list is told with its old number, by whoever numbers.
                let (text, version) =
                    if stale { (before.clone(), now.version - 1) } else { (now.text.to_string(), now.version) };
                if stale && !stamped {
                    continue;
                }
                let items =
                    truth(&text).into_iter().map(|(line, message)| error(u32::try_from(line).unwrap(), message));
                bench.languages.forwarded(Forwarded {
                    uri: doc.uri.clone(),
                    version: Some(version),
                    stamp: if stamped { StampedBy::Server } else { StampedBy::Receipt },
                    source: SourceName { id: "7".into(), name: "pylsp".into() },
                    position_encoding: crate::text::Encoding::Utf16,
                    kind: if pull { Delivery::Pull } else { Delivery::Push },
                    diagnostics: items.collect(),
                });
            }
            Step::EditorSources(there) => {
                let sources = there.then(|| SourceName { id: "7".into(), name: "pylsp".into() }).into_iter().collect();
                bench.languages.editor_sources(&doc.uri, sources);
            }
        }
        for document in bench.languages.late().into_iter().flat_map(|late| late.documents) {
            assert_true(&document, &texts, &context);
        }
    }
}

proptest! {
    // Half as many as others, for each takes its time; more where more are asked for.
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, ..ProptestConfig::default() })]

    #[test]
    fn no_errors_is_never_said_of_a_text_that_has_some(
        servers in prop::collection::vec(behaviour(), 1..3),
        steps in prop::collection::vec(step(), 1..14),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(run(servers, steps));
    }
}
