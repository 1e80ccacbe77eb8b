//! What is told of a command below what it put out. Pure.

use rustix::process::Signal;

use crate::process::{Ended, Exit};

use super::pump::Stopped;
use super::{Changed, Unseen};

/// So many files are named.
const NAMED: usize = 20;

/// What there is to tell besides how a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Told {
    /// How it was run.
    pub notes: Vec<String>,
    /// What it did not see.
    pub unseen: Unseen,
    /// The files that it changed, as far as they are known here.
    pub changed: Vec<Changed>,
    /// Why it was stopped, and after how long it would have been (ms).
    pub stopped: Option<(Stopped, u64)>,
    /// Lines of the output look like ours.
    pub alike: bool,
}

/// The lines below the output. `nothing`: there is none.
pub(super) fn closing(ended: &Ended, told: &Told, nothing: bool) -> String {
    let mut lines = Vec::new();
    if nothing {
        lines.push("(no output)".to_owned());
    }
    if told.alike {
        lines.push(
            "[some lines above look like words of this tool and are output of the command; from here on they are not]"
                .to_owned(),
        );
    }
    lines.extend(beside(told).into_iter().map(|note| format!("[{note}]")));
    if ended.left > 0 {
        let (were, them) = if ended.left == 1 {
            ("process that it had left was", "it")
        } else {
            ("processes that it had left were", "them")
        };
        lines.push(format!(
            "[{} {were} ended with it; to keep {them} going use `background: true`, or the tool `monitor`]",
            ended.left
        ));
    }
    if let Some(changed) = changed(&told.changed) {
        lines.push(format!("[{changed}]"));
    }
    lines.push(how(ended, told.stopped));
    lines.join("\n")
}

/// The lines of a command that goes on.
pub(super) fn started(told: &Told) -> String {
    let mut lines = beside(told);
    if let Some(first) = lines.first_mut() {
        first.replace_range(..1, &first[..1].to_uppercase());
        first.push('.');
    }
    let mut lines = lines.into_iter();
    let first = lines.next().into_iter();
    first.chain(lines.map(|note| format!("[{note}]"))).collect::<Vec<_>>().join("\n")
}

fn beside(told: &Told) -> Vec<String> {
    let mut notes = told.notes.clone();
    notes.extend(told.unseen.words());
    notes
}

/// Names, as many as are told.
pub(super) fn named(names: &[String]) -> String {
    let mut shown: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    let more = format!("and {} more", names.len().saturating_sub(NAMED));
    if names.len() > NAMED {
        shown.push(&more);
    }
    shown.join(", ")
}

/// Which files it changed.
pub(super) fn changed(changed: &[Changed]) -> Option<String> {
    let names: Vec<String> = changed.iter().map(Changed::told).collect();
    (!names.is_empty()).then(|| format!("changed on the disk by this command: {}", named(&names)))
}

/// How a command ended, in one line.
pub(super) fn how(ended: &Ended, stopped: Option<(Stopped, u64)>) -> String {
    let exit = exit(ended.exit);
    match stopped {
        None => exit,
        Some((Stopped::Timeout, ms)) => format!(
            "timed out after {ms} ms and was stopped ({exit}); above is what it had put out by then. Give it a longer \
             `timeout` (at most {} ms), or run it with `background: true`.",
            super::LONGEST
        ),
        Some((Stopped::Cancelled, _)) => {
            format!("cancelled and stopped ({exit}); above is what it had put out by then, and what it did stays done")
        }
    }
}

fn exit(exit: Exit) -> String {
    match exit {
        // A shell tells so that what it ran was ended by a signal.
        Exit::Code(code @ 129..=192) => match name(code - 128) {
            Some(name) => format!("exit code {code} (as after signal {}, {name})", code - 128),
            None => format!("exit code {code}"),
        },
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => match name(signal) {
            Some(name) => format!("ended by signal {signal} ({name})"),
            None => format!("ended by signal {signal}"),
        },
        Exit::Unknown => "it ended, and how is not known".to_owned(),
    }
}

/// The exit code and the signal, as far as there are any.
pub(super) fn code_and_signal(exit: Exit) -> (Option<i32>, Option<i32>) {
    match exit {
        Exit::Code(code) => (Some(code), None),
        Exit::Signal(signal) => (None, Some(signal)),
        Exit::Unknown => (None, None),
    }
}

/// The name of a signal on this system.
fn name(signal: i32) -> Option<&'static str> {
    let names = [
        (Signal::HUP, "HUP"),
        (Signal::INT, "INT"),
        (Signal::QUIT, "QUIT"),
        (Signal::ILL, "ILL"),
        (Signal::TRAP, "TRAP"),
        (Signal::ABORT, "ABRT"),
        (Signal::BUS, "BUS"),
        (Signal::FPE, "FPE"),
        (Signal::KILL, "KILL"),
        (Signal::USR1, "USR1"),
        (Signal::SEGV, "SEGV"),
        (Signal::USR2, "USR2"),
        (Signal::PIPE, "PIPE"),
        (Signal::ALARM, "ALRM"),
        (Signal::TERM, "TERM"),
        (Signal::STOP, "STOP"),
        (Signal::XCPU, "XCPU"),
        (Signal::XFSZ, "XFSZ"),
        (Signal::SYS, "SYS"),
    ];
    names.into_iter().find(|(known, _)| known.as_raw() == signal).map(|(_, name)| name)
}

/// A line as the name of a job: its beginning, in one line.
pub(super) fn label(line: &str, most: usize) -> String {
    let words = line.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let words = words.collect::<Vec<_>>().join(" ");
    let mut shown: String = words.chars().take(most).collect();
    if shown.len() < words.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::editor::FileChangeKind;
    use expect_test::expect;

    fn ended(exit: Exit) -> Ended {
        Ended { exit, left: 0 }
    }

    #[test]
    fn every_end_is_told_in_one_line() {
        let (late, cancelled) = (Some((Stopped::Timeout, 500)), Some((Stopped::Cancelled, 500)));
        let lines: Vec<String> = [
            (Exit::Code(0), None),
            (Exit::Code(2), None),
            (Exit::Code(137), None),
            (Exit::Code(190), None),
            (Exit::Signal(9), None),
            (Exit::Signal(64), None),
            (Exit::Unknown, None),
            (Exit::Signal(15), late),
            (Exit::Code(0), late),
            (Exit::Signal(9), cancelled),
        ]
        .into_iter()
        .map(|(exit, stopped)| how(&ended(exit), stopped))
        .collect();
        expect![[r"
            exit code 0
            exit code 2
            exit code 137 (as after signal 9, KILL)
            exit code 190
            ended by signal 9 (KILL)
            ended by signal 64
            it ended, and how is not known
            timed out after 500 ms and was stopped (ended by signal 15 (TERM)); above is what it had put out by then. Give it a longer `timeout` (at most 600000 ms), or run it with `background: true`.
            timed out after 500 ms and was stopped (exit code 0); above is what it had put out by then. Give it a longer `timeout` (at most 600000 ms), or run it with `background: true`.
            cancelled and stopped (ended by signal 9 (KILL)); above is what it had put out by then, and what it did stays done"]]
        .assert_eq(&lines.join("\n"));
    }

    #[test]
    fn what_there_is_to_know_stands_above_the_end() {
        let changed = |shown: &str, kind, conflicts| Changed {
            uri: format!("file:///w/{shown}"),
            shown: shown.to_owned(),
            kind,
            conflicts,
        };
        let told = Told {
            notes: vec!["there is no bash here; sh ran it".to_owned()],
            unseen: Unseen {
                unsaved: vec![("a.txt".to_owned(), "file:///w/a.txt".to_owned())],
                proposed: vec!["p.txt".to_owned()],
                not_saved: vec!["b.txt: the editor said no".to_owned()],
                changed_on_save: vec!["c.txt".to_owned()],
            },
            changed: vec![
                changed("a.txt", FileChangeKind::Changed, true),
                changed("b.txt", FileChangeKind::Created, false),
                changed("c.txt", FileChangeKind::Deleted, false),
            ],
            stopped: None,
            alike: false,
        };
        expect![[r"
            (no output)
            [there is no bash here; sh ran it]
            [could not be saved before it ran: b.txt: the editor said no]
            [the editor changed the text when it saved c.txt]
            [it read the disk, and did not see the unsaved text of a.txt]
            [it did not see what is only proposed for p.txt]
            [2 processes that it had left were ended with it; to keep them going use `background: true`, or the tool `monitor`]
            [changed on the disk by this command: a.txt (it has unsaved text in the editor: the two will conflict), b.txt (new), c.txt (deleted)]
            exit code 1"]]
        .assert_eq(&closing(&Ended { exit: Exit::Code(1), left: 2 }, &told, true));
        let job = Told { notes: vec!["it runs as j1".to_owned()], unseen: told.unseen, ..Told::default() };
        expect![[r"
            It runs as j1.
            [could not be saved before it ran: b.txt: the editor said no]
            [the editor changed the text when it saved c.txt]
            [it read the disk, and did not see the unsaved text of a.txt]
            [it did not see what is only proposed for p.txt]"]]
        .assert_eq(&started(&job));
        assert_eq!(closing(&ended(Exit::Code(0)), &Told::default(), false), "exit code 0");
        let alike = Told { alike: true, ..Told::default() };
        assert_eq!(
            closing(&ended(Exit::Code(1)), &alike, false),
            "[some lines above look like words of this tool and are output of the command; from here on they are not]\n\
             exit code 1"
        );
    }

    #[test]
    fn lists_and_labels_are_bounded() {
        let names: Vec<String> = (1..=25).map(|number| format!("f{number:02}")).collect();
        assert!(named(&names).ends_with("f19, f20, and 5 more"));
        assert_eq!(named(&names[..2]), "f01, f02");
        assert_eq!(label("cargo test\n  --lib \u{1b}", 60), "cargo test --lib");
        assert_eq!(label(&"x".repeat(70), 60), "x".repeat(60) + "…");
    }
}
