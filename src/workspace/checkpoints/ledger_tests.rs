//! Ledgers, driven by small stories and by random ones.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

fn by(call: &str) -> By {
    By { session: "s".into(), turn: Some("t".into()), call: call.into(), accepted: false }
}

fn text(text: &str) -> Text {
    Text::new(text, LineBreaks::Lf)
}

/// A text of one line a word.
fn words(words: &str) -> String {
    words.split_whitespace().fold(String::new(), |mut out, word| {
        let _ = writeln!(out, "{word}");
        out
    })
}

fn shown(ledger: &Ledger) -> String {
    ledger.text().to_string().split('\n').collect::<Vec<_>>().join(" ").trim_end().to_owned()
}

fn all(ledger: &Ledger) -> BTreeSet<MarkId> {
    ledger.marks().iter().map(|mark| mark.id).collect()
}

fn of(ledger: &Ledger, call: &str) -> BTreeSet<MarkId> {
    ledger.marks().iter().filter(|mark| mark.by.call == call).map(|mark| mark.id).collect()
}

/// Plays `who: words` lines on a ledger; `undo CALL`, `undo all`, `keep CALL` and `redo` act on marks.
fn play(story: &str) -> String {
    let mut lines = story.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut ledger = Ledger::new(text(&words(lines.next().unwrap())));
    let mut out = String::new();
    for line in lines {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        match verb {
            "undo" => {
                let which = if rest == "all" { all(&ledger) } else { of(&ledger, rest) };
                let undo = ledger.undo(&which);
                let left = undo.left.clone();
                if !undo.undone.is_empty() {
                    ledger.undone(undo);
                }
                let _ = writeln!(
                    out,
                    "{line}: {}{}",
                    shown(&ledger),
                    if left.is_empty() { String::new() } else { format!(" {left:?}") }
                );
            }
            "redo" => {
                let last = *ledger.undos().last().unwrap();
                match ledger.redo(last).unwrap() {
                    Ok(undo) => {
                        ledger.undone(undo);
                        let _ = writeln!(out, "redo: {} ({} marks)", shown(&ledger), ledger.marks().len());
                    }
                    Err(by) => {
                        let _ = writeln!(out, "redo: not after {}", by.call);
                    }
                }
            }
            "fold" => {
                let (call, rest) = rest.split_once(' ').unwrap();
                let splices = diff::splices(&ledger.text().to_string(), &words(rest));
                ledger.folded(&splices, &by(call));
            }
            "keep" => {
                let which = of(&ledger, rest);
                ledger.keep(&which);
            }
            "user" => {
                let splices = diff::splices(&ledger.text().to_string(), &words(rest));
                ledger.user(&splices);
            }
            call => {
                let splices = diff::splices(&ledger.text().to_string(), &words(rest));
                ledger.agent(&splices, &by(call));
            }
        }
    }
    out + &format!("{} marks left\n", ledger.marks().len())
}

#[track_caller]
fn check(story: &str, expected: &str) {
    let trimmed: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(play(story).lines().collect::<Vec<_>>(), trimmed, "{story}");
}

#[test]
fn what_a_call_changed_is_undone_and_what_the_user_typed_stays() {
    check("a b c\n A a B c\n undo A", "undo A: a b c\n 0 marks left");
    check("a b c\n A a B c\n user 0 a B c d\n undo A", "undo A: 0 a b c d\n 0 marks left");
    check("a z\n A a 1 2 3 z\n user a 1 mine 2 3 z\n undo A", "undo A: a mine z\n 0 marks left");
    check("a b c\n A a c\n user a c d\n undo A", "undo A: a b c d\n 0 marks left");
    check("a b c\n A a B c\n user a Bee c\n undo A", "undo A: a Bee c [User(1, 1)]\n 1 marks left");
    check("a b c d e\n A a B c D e\n user a B c Dee e\n undo A", "undo A: a b c Dee e [User(2, 1)]\n 1 marks left");
}

#[test]
fn later_calls_are_undone_first() {
    check("a\n A b\n B c\n undo B\n undo A", "undo B: b\n undo A: a\n 0 marks left");
    check(
        "a\n A b\n B c\n undo A",
        r#"undo A: c [Under(1, By { session: "s", turn: Some("t"), call: "B", accepted: false })]
        2 marks left"#,
    );
    check("a\n A b\n B c\n undo all", "undo all: a\n 0 marks left");
    check("a b c\n A a B c\n B a B C\n undo A\n undo B", "undo A: a b C\n undo B: a b c\n 0 marks left");
    check("a b c d\n A a B c d\n B x y z\n user x y z u\n undo all", "undo all: a b c d u\n 0 marks left");
}

#[test]
fn the_undo_of_an_undo_brings_nothing_else_back() {
    check(
        "a b c d\n A a B c d\n B a B c D\n undo A\n keep B\n redo",
        "undo A: a b c D\n redo: a B c D (1 marks)\n 1 marks left",
    );
    check(
        "a b c d\n A a B c d\n B a B c D\n undo A\n undo B\n redo\n redo\n undo all",
        "undo A: a b c D\n undo B: a b c d\n redo: a b c D (1 marks)\n redo: a B c D (2 marks)\n undo all: a b c d
        0 marks left",
    );
}

#[test]
fn what_a_formatter_does_is_folded_into_the_calls_marks() {
    check("a b c\n A a B c\n fold A a BB c\n undo A", "undo A: a b c\n 0 marks left");
    check("a b c\n A a B c\n fold A a BB c", "1 marks left");
    check("a b c d\n A A b C d\n fold A x y z d\n undo A", "undo A: a b c d\n 0 marks left");
    check("a b c d\n A A b C d\n fold A x y z d", "1 marks left");
    // Under the call's own mark is another call's.
    check(
        "a b c\n A a B c\n B a C c\n fold B a CC c\n undo B\n undo A",
        "undo B: a B c\n undo A: a b c\n 0 marks left",
    );
    check("a b c\n A a B c\n B a C c\n fold B x y z\n undo B\n undo A", "undo B: a B c\n undo A: a b c\n 0 marks left");
    // What the user put in stays.
    check("a z\n A a 1 2 z\n user a 1 mine 2 z\n fold A a 11 mine 22 z\n undo A", "undo A: a mine z\n 0 marks left");
}

#[test]
fn an_undo_is_undone() {
    check(
        "a b c\n A a B c\n undo A\n redo\n undo A",
        "undo A: a b c\n redo: a B c (1 marks)\n undo A: a b c\n 0 marks left",
    );
    check("a b c\n A a B c\n undo A\n user 0 a b c\n redo", "undo A: a b c\n redo: 0 a B c (1 marks)\n 1 marks left");
    check("a b c\n A a B c\n undo A\n B a X c\n redo", "undo A: a b c\n redo: not after B\n 1 marks left");
    check(
        "a b c\n A a B c\n undo A\n B a b X\n redo\n undo all",
        "undo A: a b c\n redo: a B X (2 marks)\n undo all: a b c\n 0 marks left",
    );
}

#[test]
fn what_the_user_takes_back_in_the_editor_is_no_change_any_more() {
    check("a b c\n A a B c\n user a b c", "0 marks left");
    check("a b c\n A a c\n user a b c", "0 marks left");
    check("a b c\n A a b b c\n user a b c", "0 marks left");
    check("a b c\n A a b b c\n user a c", "0 marks left");
    check("a b c\n A a 1 2 c\n user a c", "0 marks left");
    check("a b c\n A x b y\n user a b c", "0 marks left");
}

#[test]
fn kept_changes_are_the_users_from_then_on() {
    check("a b c\n A a B c\n keep A\n B a B C\n undo all", "undo all: a B c\n 0 marks left");
    check("a\n A b\n B c\n keep B\n undo all", "undo all: c\n 0 marks left");
}

#[test]
fn ledgers_survive_being_kept() {
    let mut ledger = Ledger::new(text("a\nb\nc\n"));
    ledger.agent(&[Splice { range: 2..3, text: "B".into() }], &by("A"));
    ledger.agent(&[Splice { range: 2..3, text: "X".into() }], &by("B"));
    let undo = ledger.undo(&of(&ledger, "B"));
    ledger.undone(undo);
    let kept: Kept = serde_json::from_str(&serde_json::to_string(&ledger.kept()).unwrap()).unwrap();
    let mut back = Ledger::of(kept.clone(), LineBreaks::Lf).unwrap();
    assert_eq!(back.marks(), ledger.marks());
    let redo = back.redo(1).unwrap().unwrap();
    back.undone(redo);
    assert_eq!(back.text().to_string(), "a\nX\nc\n");
    let broken = Kept { text: "a".into(), ..kept };
    assert!(Ledger::of(broken, LineBreaks::Lf).is_none());
}

/// What happens to a text.
#[derive(Debug, Clone)]
enum Act {
    /// An agent replaces lines, counted in parts of the text, by so many; or a formatter does behind it.
    Agent(f64, usize, usize, bool),
    /// The user puts a line in.
    Line(f64),
    /// The user puts a word in somewhere.
    Word(f64),
    /// The user removes a stretch.
    Remove(f64, usize),
    /// Some marks are undone.
    Undo(u64),
    /// The last undo is undone.
    Redo,
    /// Some marks are kept.
    Keep(u64),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => (0.0..1.0, 0usize..4, 0usize..4, prop::bool::weighted(0.25))
            .prop_map(|(at, old, new, folds)| Act::Agent(at, old, new, folds)),
        2 => (0.0..1.0).prop_map(Act::Line),
        2 => (0.0..1.0).prop_map(Act::Word),
        1 => (0.0..1.0, 0usize..12).prop_map(|(at, len)| Act::Remove(at, len)),
        2 => any::<u64>().prop_map(Act::Undo),
        1 => Just(Act::Redo),
        1 => any::<u64>().prop_map(Act::Keep),
    ];
    prop::collection::vec(act, 1..14)
}

fn part(at: f64, of: usize) -> usize {
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a draw")]
    let drawn = (at * (of + 1) as f64) as usize;
    drawn.min(of)
}

fn chosen(ledger: &Ledger, bits: u64) -> BTreeSet<MarkId> {
    all(ledger).into_iter().filter(|id| bits >> (id % 64) & 1 == 1).collect()
}

/// Marks lie where they say, apart from one another.
fn sound(ledger: &Ledger) {
    assert!(fit(&ledger.marks, &ledger.text, ledger.next), "{ledger:?}");
    let mut tops: Vec<_> = ledger.marks.iter().filter(|mark| mark.under.is_none()).collect();
    tops.sort_by_key(|mark| (mark.at.start, mark.at.end));
    assert!(tops.windows(2).all(|pair| pair[0].at.end <= pair[1].at.start), "{ledger:?}");
    for mark in tops.iter().filter(|mark| !mark.touched) {
        assert_eq!(ledger.text.slice(mark.at.clone()), mark.after, "{mark:?} in {ledger:?}");
    }
}

proptest! {
    /// Words of the user are never removed by an undo, nor by the undo of one; marks stay sound; and an undo that is
    /// undone at once changes nothing.
    #[test]
    fn no_undo_removes_what_the_user_typed(lines in 0usize..8, acts in acts(), last in any::<bool>()) {
        let mut start = words(&(0..lines).map(|line| format!("l{line}")).collect::<Vec<_>>().join(" "));
        if last {
            start.push_str("end");
        }
        let mut ledger = Ledger::new(text(&start));
        let (mut typed, mut calls) = (0, 0);
        for act in acts {
            let len = ledger.text().len();
            let now = ledger.text().to_string();
            match act {
                Act::Agent(at, old, new, folds) => {
                    let lines = diff::lines(&now);
                    let from = part(at, lines.len());
                    let to = (from + old).min(lines.len());
                    calls += 1;
                    let mut after: String = lines[..from].concat();
                    if !after.is_empty() && !after.ends_with('\n') && new > 0 {
                        after.push('\n');
                    }
                    // What the user typed an agent may well remove: then it is not there to be kept.
                    after.extend((0..new).map(|line| format!("c{calls}.{line}\n")));
                    after.push_str(&lines[to..].concat());
                    let splices = diff::splices(&now, &after);
                    if folds {
                        ledger.folded(&splices, &by(&format!("c{}", calls - 1)));
                    } else {
                        ledger.agent(&splices, &by(&format!("c{calls}")));
                    }
                    assert_eq!(ledger.text().to_string(), after);
                }
                Act::Line(at) => {
                    let line = part(at, ledger.text().line_count() - 1);
                    typed += 1;
                    let at = ledger.text().line_start(line);
                    ledger.user(&[Splice { range: at..at, text: format!("u{typed}u\n") }]);
                }
                Act::Word(at) => {
                    let at = part(at, len);
                    typed += 1;
                    ledger.user(&[Splice { range: at..at, text: format!("u{typed}u") }]);
                }
                Act::Remove(at, count) => {
                    let at = part(at, len);
                    ledger.user(&[Splice { range: at..(at + count).min(len), text: String::new() }]);
                }
                Act::Undo(bits) => {
                    let undo = ledger.undo(&chosen(&ledger, bits));
                    for word in (1..=typed).map(|word| format!("u{word}u")) {
                        prop_assert!(!now.contains(&word) || undo.text.to_string().contains(&word), "{word}: {now:?} -> {:?}", undo.text.to_string());
                    }
                    if !undo.undone.is_empty() {
                        let before = ledger.clone();
                        let number = ledger.undone(undo);
                        let redo = ledger.redo(number).unwrap().unwrap();
                        prop_assert_eq!(redo.text.to_string(), now);
                        let mut redone = ledger.clone();
                        redone.undone(redo);
                        prop_assert_eq!(redone.marks(), before.marks());
                    }
                }
                Act::Redo => {
                    if let Some(Ok(redo)) = ledger.undos().last().and_then(|last| ledger.redo(*last)) {
                        // What an agent had removed is removed once more.
                        let kept = ledger.undone.last().unwrap();
                        let (had, undone) = (kept.before.to_string(), kept.after.to_string());
                        for word in (1..=typed).map(|word| format!("u{word}u")) {
                            let mine = now.contains(&word) && (had.contains(&word) || !undone.contains(&word));
                            prop_assert!(!mine || redo.text.to_string().contains(&word), "{word}: {now:?}");
                        }
                        ledger.undone(redo);
                    }
                }
                Act::Keep(bits) => {
                    ledger.keep(&chosen(&ledger, bits));
                    prop_assert_eq!(ledger.text().to_string(), now);
                }
            }
            sound(&ledger);
        }
    }

    /// Where the user stays away from the agent's lines, undoing everything gives the user's own text.
    #[test]
    fn all_undone_is_what_the_user_alone_would_have(acts in prop::collection::vec((any::<bool>(), 0.0..1.0, 0usize..3, 0usize..3), 1..12)) {
        // Each base line stands for itself; agents change lines between fences, the user those outside of them.
        let mut mine: Vec<String> = (0..10).map(|line| format!("m{line}\n")).collect();
        let fenced = |mine: &[String], theirs: &[String]| {
            format!("{}--- fence\n{}--- fence\n{}", mine[..5].concat(), theirs.concat(), mine[5..].concat())
        };
        let original: Vec<String> = (0..6).map(|line| format!("t{line}\n")).collect();
        let mut theirs = original.clone();
        let mut ledger = Ledger::new(text(&fenced(&mine, &theirs)));
        for (number, (agent, at, old, new)) in acts.into_iter().enumerate() {
            if agent {
                let from = part(at, theirs.len());
                let to = (from + old).min(theirs.len());
                theirs.splice(from..to, (0..new).map(|line| format!("a{number}.{line}\n")));
            } else {
                let at = part(at, 9);
                mine[at] = format!("u{number}\n");
            }
            let splices = diff::splices(&ledger.text().to_string(), &fenced(&mine, &theirs));
            if agent {
                ledger.agent(&splices, &by(&number.to_string()));
            } else {
                ledger.user(&splices);
            }
        }
        let undo = ledger.undo(&all(&ledger));
        prop_assert_eq!(undo.text.to_string(), fenced(&mine, &original));
        prop_assert!(undo.left.is_empty());
    }
}
