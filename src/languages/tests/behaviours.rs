//! The table of what is said: each behaviour of a server, against each kind of edit. `fixtures/verdicts.txt` holds it;
//! `UPDATE_EXPECT=1` writes it anew. What is told is also held against what is true.

use expect_test::expect_file;

use super::simulated::{Behaviour, Crash, Form, HONEST, Stamps, assert_true, play};
use super::verdict::{Conclusion, conclusion};
use super::*;

const PULLS: Behaviour = Behaviour { pushes: false, pulls: true, ..HONEST };
const LOOSE: Behaviour = Behaviour { stamps: Stamps::None, ..HONEST };

const BEHAVIOURS: &[Behaviour] = &[
    Behaviour { name: "publishes with versions", ..HONEST },
    Behaviour { name: "slow (1.5 s)", check_ms: 1500, ..HONEST },
    Behaviour { name: "very slow (20 s)", check_ms: 20_000, ..HONEST },
    Behaviour { name: "publishes twice, at first nothing", twice: true, ..HONEST },
    Behaviour { name: "publishes only what changed", only_changes: true, ..HONEST },
    Behaviour { name: "no versions", ..LOOSE },
    Behaviour { name: "no versions, only what changed", only_changes: true, ..LOOSE },
    Behaviour { name: "no versions, works for 600 ms", check_ms: 600, progress: true, ..LOOSE },
    Behaviour { name: "no versions, works for 3 s", check_ms: 3000, progress: true, ..LOOSE },
    Behaviour { name: "always version 0", stamps: Stamps::Always(0), ..HONEST },
    Behaviour { name: "always version 1", stamps: Stamps::Always(1), ..HONEST },
    Behaviour { name: "counts for itself", stamps: Stamps::Own, ..HONEST },
    Behaviour { name: "silent", pushes: false, ..HONEST },
    Behaviour { name: "answers when asked", ..PULLS },
    Behaviour { name: "answers slowly (1.5 s)", check_ms: 1500, ..PULLS },
    Behaviour { name: "says later that it can be asked", dynamic: true, ..PULLS },
    Behaviour { name: "answers the second time", modified: 1, ..PULLS },
    Behaviour { name: "never stops refusing", modified: 99, ..PULLS },
    Behaviour { name: "does not know the question", unknown: true, ..PULLS },
    Behaviour { name: "checks the disk besides", disk: true, ..PULLS },
    Behaviour { name: "takes no changes", no_changes: true, ..HONEST },
    Behaviour { name: "floods", floods: true, ..HONEST },
    Behaviour { name: "odd diagnostics", form: Form::Odd, ..HONEST },
    Behaviour { name: "odd answers", form: Form::Odd, ..PULLS },
    Behaviour { name: "publishes what nobody can read", form: Form::Unreadable, ..HONEST },
    Behaviour { name: "answers what nobody can read", form: Form::Unreadable, ..PULLS },
    Behaviour { name: "wedged after the first change", wedged: true, ..HONEST },
    Behaviour { name: "wedged when asked", wedged: true, ..PULLS },
    Behaviour { name: "wedged in initialize", deaf: true, ..HONEST },
    Behaviour { name: "dies at its start", crash: Crash::BeforeInitialize, ..HONEST },
    Behaviour { name: "dies in initialize", crash: Crash::InInitialize, ..HONEST },
    Behaviour { name: "dies of a change", crash: Crash::OnChange, ..HONEST },
    Behaviour { name: "dies in its check", check_ms: 50, crash: Crash::InCheck, ..HONEST },
    Behaviour { name: "dies when asked", check_ms: 50, crash: Crash::InCheck, ..PULLS },
];

/// What happens to the document, which holds `bad0` and `ok`.
#[derive(Debug, Clone, Copy)]
enum Edit {
    Introduces,
    Resolves,
    Neutral,
    TypedBeside,
    TypedInto,
    TypedTwice,
    Saved,
    Closed,
}

const EDITS: [(Edit, &str); 8] = [
    (Edit::Introduces, "introduces"),
    (Edit::Resolves, "resolves"),
    (Edit::Neutral, "neutral"),
    (Edit::TypedBeside, "and typed beside"),
    (Edit::TypedInto, "and typed into"),
    (Edit::TypedTwice, "and typed twice"),
    (Edit::Saved, "and saved"),
    (Edit::Closed, "and closed"),
];

/// What came before the edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// The document was just opened.
    Nothing,
    /// It has been open for long.
    Rest,
    /// And was edited ten times, so that the source is known.
    TenEdits,
}

fn concluded(document: &DocumentReport) -> String {
    match conclusion(document) {
        Conclusion::Errors { new, present } => format!("errors: {new} new, {present} present"),
        Conclusion::OldErrors { unchanged } => format!("{unchanged} old errors"),
        Conclusion::NoErrors => "NO ERRORS".to_owned(),
        Conclusion::Unknown => "unknown".to_owned(),
    }
}

async fn row(behaviour: Behaviour, edit: Edit, before: Before) -> String {
    let mut bench = Bench::new();
    let (_, unused) = mpsc::unbounded_channel();
    play(std::mem::replace(&mut bench.started, unused), vec![behaviour]);
    let doc = bench.open("a.py", "bad0\nok\n");
    if behaviour.disk {
        // What nobody has told us of a server is known once it has been seen.
        tokio::time::sleep(Duration::from_secs(1)).await;
        bench.documents.save(&doc.key);
    }
    if before != Before::Nothing {
        tokio::time::sleep(Duration::from_secs(30)).await;
    }
    for _ in 0..if before == Before::TenEdits { 5 } else { 0 } {
        bench.settle(vec![bench.edit(&doc, 0..0, "x")]).await.unwrap();
        bench.settle(vec![bench.edit(&doc, 0..1, "")]).await.unwrap();
        tokio::time::sleep(Duration::from_secs(30)).await;
        bench.languages.late();
    }
    let mut texts = HashMap::new();
    let note = |bench: &Bench, texts: &mut HashMap<i32, String>| {
        if let Some(known) = bench.documents.get(&doc.key) {
            texts.insert(known.version, known.text.to_string());
        }
    };
    let settle = bench.settle(vec![match edit {
        Edit::Resolves => bench.edit(&doc, 0..5, ""),
        // Behind everything, so that no place changes.
        Edit::Neutral => bench.edit(&doc, 8..8, "fine\n"),
        _ => bench.edit(&doc, 0..0, "bad1\n"),
    }]);
    note(&bench, &mut texts);
    tokio::time::sleep(Duration::from_millis(2)).await;
    match edit {
        Edit::TypedBeside => drop(bench.replace(&doc, 13..13, "x")),
        Edit::TypedInto => drop(bench.replace(&doc, 2..3, "x")),
        Edit::TypedTwice => {
            bench.replace(&doc, 13..13, "x");
            note(&bench, &mut texts);
            tokio::time::sleep(Duration::from_millis(2)).await;
            bench.replace(&doc, 14..14, "y");
        }
        Edit::Saved => {
            bench.documents.save(&doc.key);
        }
        Edit::Closed => {
            bench.documents.close(&doc.key);
        }
        Edit::Introduces | Edit::Resolves | Edit::Neutral => {}
    }
    note(&bench, &mut texts);
    let report = settle.await.unwrap();
    let context = format!("{} / {edit:?}", behaviour.name);
    assert_true(&report.documents[0], &texts, &context);
    let mut line = format!("{} => {}", told(&report).replace('\n', " + "), concluded(&report.documents[0]));
    tokio::time::sleep(Duration::from_mins(1)).await;
    if let Some(late) = bench.languages.late() {
        for document in &late.documents {
            assert_true(document, &texts, &context);
        }
        line = format!("{line}; later {}", told(&late).replace('\n', " + "));
    }
    line
}

#[tokio::test(start_paused = true)]
async fn every_behaviour_against_every_edit() {
    let mut table = String::new();
    for behaviour in BEHAVIOURS {
        table = format!("{table}\n## {}\n", behaviour.name);
        for (edit, name) in EDITS {
            table = format!("{table}{name}: {}\n", row(*behaviour, edit, Before::Rest).await);
        }
    }
    // What is learned of a server changes what is said of it.
    for behaviour in BEHAVIOURS.iter().filter(|behaviour| behaviour.pushes && behaviour.stamps != Stamps::None) {
        table = format!("{table}\n## {}, after ten edits\n", behaviour.name);
        for (edit, name) in &EDITS[..3] {
            table = format!("{table}{name}: {}\n", row(*behaviour, *edit, Before::TenEdits).await);
        }
    }
    // What is known of one that has just begun is less than what is known of one that has been silent for long.
    for name in ["silent", "does not know the question"] {
        let behaviour = BEHAVIOURS.iter().find(|behaviour| behaviour.name == name).unwrap();
        table = format!("{table}\n## {name}, just opened\n");
        for (edit, name) in &EDITS[..3] {
            table = format!("{table}{name}: {}\n", row(*behaviour, *edit, Before::Nothing).await);
        }
    }
    expect_file!["../../../fixtures/verdicts.txt"].assert_eq(&table);
}
