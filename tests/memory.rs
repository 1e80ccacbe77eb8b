//! The memory that the cascade takes grows no faster than the text: measured by an allocator that counts.
//!
//! A target of its own with a single test, so that nothing else allocates beside what is measured.

use std::fmt::Write as _;

use peak_alloc::PeakAlloc;
use ropewalk::replace::{MissKind, Request, find, find_in};
use ropewalk::text::{LineBreaks, Text};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Bytes allocated at the most during some work beyond what was before.
fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    let result = work();
    (result, ALLOCATOR.peak_usage() - before)
}

/// So many lines of code, no two alike.
fn code(lines: usize) -> String {
    (0..lines).fold(String::new(), |mut text, at| {
        let _ = writeln!(text, "    let name_{at} = call_{at}(value, \"text {at}\"); // note");
        text
    })
}

/// A block in the middle of it.
fn block(lines: usize) -> Vec<String> {
    code(lines).lines().skip(lines / 2).take(6).map(str::to_owned).collect()
}

fn changed(lines: usize, change: impl Fn(usize, &str) -> String) -> String {
    block(lines).iter().enumerate().map(|(at, line)| change(at, line) + "\n").collect()
}

/// What finds it (or the kind of miss), the text and old for so many lines, and bytes allowed for a byte of both.
type Case = (&'static str, fn(usize) -> (String, String), usize);

const CASES: &[Case] = &[
    ("simple", |n| (code(n), changed(n, |_, line| line.into())), 0),
    ("indentationFlexible", |n| (code(n), changed(n, |_, line| line.trim().into())), 2),
    ("lineTrimmed", |n| (code(n), changed(n, |at, line| format!("{}{line} ", " ".repeat(at * 2)))), 2),
    (
        "blockAnchor",
        |n| (code(n), changed(n, |at, line| line.replace(" = ", ["  = ", " = "][usize::from(at % 5 == 0)]))),
        2,
    ),
    ("whitespaceNormalized", |n| (code(n), changed(n, |_, line| line.replace(" = ", " =\n"))), 2),
    ("escapeNormalized", |n| (code(n), changed(n, |_, line| line.replace('"', "\\\""))), 2),
    ("typographic", |n| (code(n), changed(n, |_, line| line.replace('"', "“"))), 2),
    ("lineNumbers", |n| (code(n), changed(n, |at, line| format!("{}\t{line}", at + 1))), 2),
    ("trimmedBoundary", |n| (code(n), "\n".to_owned() + &changed(n, |_, line| line.replace('"', "“")) + "\n\n"), 2),
    (
        "blockAnchorRelaxed",
        |n| (code(n), changed(n, |at, line| line.replace("note", ["note", "word"][usize::from(at == 2)]))),
        2,
    ),
    (
        "multiOccurrence",
        |n| (code(n), changed(n, |at, line| line.replace("note", ["word", "note"][usize::from(at > 0)]))),
        2,
    ),
    ("NotFound", |n| (code(n), "    if nothing {\n        like(this);\n    }\n".into()), 3),
    ("NotFound", |n| ("}\n".repeat(n), "}\n".repeat(n / 20) + "x\n"), 40),
    ("NotFound", |n| (" \t\n".repeat(n), "\t\n \nx\n".into()), 10),
    ("NotFound", |n| ("word ".repeat(n * 10), "word ".repeat(n * 9) + "other"), 12),
    ("Ambiguous", |n| ("}\n".repeat(n), " }\n".repeat(n / 20)), 40),
    ("NotFound", |n| (code(n).replace('\n', "\r\n"), "if nothing {\n    like(this);\n}\n".into()), 3),
];

#[test]
fn memory_grows_no_faster_than_the_text() {
    let mut faults = Vec::new();
    for (case, (outcome, make, each)) in CASES.iter().enumerate() {
        for lines in [4_000, 8_000, 16_000] {
            let (text, old) = make(lines);
            let new = format!("{old}new\n");
            let rope = Text::new(&text, LineBreaks::Lf);
            let request = Request { old: &old, new: &new, all: false };
            let (of_string, taken) = peak(|| find(&text, &request));
            let name = match &of_string {
                Ok(found) => found.strategy.to_owned(),
                Err(miss) => format!("{:?}", miss.kind),
            };
            let allowed = each * (text.len() + old.len()) + 100_000;
            if name != *outcome || taken > allowed {
                faults.push(format!("{case} {outcome}: by {name}, {taken} of {allowed} bytes for {lines} lines"));
            }
            let (of_rope, taken) = peak(|| find_in(&rope, &request));
            assert_eq!(of_rope, of_string, "{outcome}");
            // An exact place is found without a copy; else the text is copied once.
            let allowed = if *outcome == "simple" { 400_000 } else { allowed + text.len() };
            if taken > allowed {
                faults.push(format!("{case} {outcome}: {taken} of {allowed} bytes for a rope of {lines} lines"));
            }
        }
    }
    a_place_takes_no_more_than_its_edit();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn a_place_takes_no_more_than_its_edit() {
    for lines in [4_000, 8_000, 16_000] {
        for old in ["}\n", " }\n"] {
            let text = "}\n".repeat(lines);
            let (found, taken) = peak(|| find(&text, &Request { old, new: "];\n", all: true }));
            assert_ne!(found.as_ref().map_err(|miss| miss.kind), Err(MissKind::NotFound));
            assert!(taken <= 600 * lines + 400_000, "{old:?}: {taken} bytes for {lines} places");
        }
    }
}
