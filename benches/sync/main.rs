//! What following the editor's typing costs: how long a `didChange` takes to apply, by the size of the document, and how
//! long it takes while 500 calls wait.
//!
//! Three tables. The mirror alone against a `String` in which a position is found by walking to it (the plain way), and
//! against the rope that the mirror is made of (the limit). Then the real binary over its pipes, against a server that
//! reads and forgets. Then the delay: a change and a question that reads the mirror, with and without calls that wait.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench prints its table, and ends where it cannot go on"
)]

#[expect(dead_code, reason = "other benches use more of it")]
#[path = "../shared/child.rs"]
mod child;
#[expect(dead_code, reason = "other benches use more of it")]
#[path = "../shared/echo.rs"]
mod echo;
#[path = "../shared/figures.rs"]
mod figures;
mod peers;
#[expect(dead_code, reason = "other benches use more of it")]
#[path = "../shared/sidecar.rs"]
mod sidecar;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ropewalk::text::{Encoding, LineBreaks, Position, Range};
use ropewalk::workspace::Key;
use ropewalk::workspace::documents::{Applied, ContentChange, Counting, Documents};
use serde_json::json;

use echo::Echo;
use figures::{plain, quantile, ratio, size};
use peers::{Plain, Walked};
use sidecar::Sidecar;

/// The documents, in bytes.
const DOCUMENTS: &[usize] = &[1_000, 100_000, 1_000_000, 10_000_000, 50_000_000];

/// So many changes are made of each kind at most, by each side.
const MOST: usize = 3_000;

/// So long one row of the first table is measured at most, all sides together.
const ROW: Duration = Duration::from_millis(1_500);

/// So many calls wait.
const WAITING: usize = 500;

/// So often the delay is measured, with and without them.
const DELAYS: usize = 300;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some(echo::ECHOES) => echo::serve(),
        Some("mirror") => mirror(),
        Some("pipes") => pipes(),
        Some("delay") => delay(),
        _ => {
            mirror();
            pipes();
            delay();
        }
    }
}

/// A kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A character is typed.
    Char,
    /// A line is put in.
    Line,
    /// The whole text comes anew.
    Whole,
}

const KINDS: [(Kind, &str); 3] = [(Kind::Char, "a character"), (Kind::Line, "a line"), (Kind::Whole, "the whole text")];

impl Kind {
    /// The change with this number: its place, all over the text of so many lines, and what is put there.
    fn change(self, number: usize, lines: usize, text: &str) -> ContentChange {
        let line = u32::try_from(number.wrapping_mul(2_654_435_761) % lines).expect("a line");
        let at = |character| Position { line, character };
        let empty = |character| Some(Range { start: at(character), end: at(character) });
        match self {
            Kind::Char => ContentChange { range: empty(20), text: "x".to_owned() },
            Kind::Line => ContentChange { range: empty(0), text: "a line that was not there before\n".to_owned() },
            Kind::Whole => ContentChange { range: None, text: text.to_owned() },
        }
    }
}

fn mirror() {
    println!("one change in the mirror, medians in microseconds\n");
    println!(
        "| document | change | ours | changes a second | plain `String` | plain / ours | rope alone | ours / rope |"
    );
    println!("|---:|---|---:|---:|---:|---:|---:|---:|");
    for &bytes in DOCUMENTS {
        let text = text(bytes);
        let lines = text.matches('\n').count();
        for (kind, name) in KINDS {
            let documents = Documents::new();
            documents.count_as(Counting { encoding: Encoding::Utf16, breaks: LineBreaks::Lsp });
            let key = Key::File(PathBuf::from("/work/a.txt"));
            documents.open(key.clone(), "file:///work/a.txt", "plaintext", 1, &text);
            let (mut walked, mut rope) = (Walked::new(&text), Plain::new(&text));
            let (mut ours, mut plainly, mut alone) = (Vec::new(), Vec::new(), Vec::new());
            let start = Instant::now();
            let mut version = 1;
            while ours.len() < MOST && (ours.len() < 3 || start.elapsed() < ROW) {
                let change = kind.change(ours.len(), lines, &text);
                let changes = vec![change.clone()];
                version += 1;
                let moment = Instant::now();
                let applied = documents.change(&key, version, changes);
                ours.push(moment.elapsed());
                assert!(applied == Applied::Yes, "{applied:?}");
                let moment = Instant::now();
                walked.change(&change);
                plainly.push(moment.elapsed());
                let moment = Instant::now();
                rope.change(&change);
                alone.push(moment.elapsed());
            }
            let mirrored = documents.get(&key).expect("an open document").text.to_string();
            assert!(mirrored == walked.text && rope.rope == mirrored, "the texts differ");
            let [ours, plainly, alone] = [&mut ours, &mut plainly, &mut alone].map(|times| quantile(times, 50));
            println!(
                "| {} | {name} | {} | {:.0} | {} | {} | {} | {} |",
                size(bytes),
                micros(ours),
                1.0 / ours.as_secs_f64(),
                micros(plainly),
                ratio(plainly, ours),
                micros(alone),
                ratio(ours, alone)
            );
        }
    }
}

fn pipes() {
    println!("\none change over the pipes, of many at once, microseconds\n");
    println!("| document | change | changes | ours | changes a second | read and forgotten | ours / that |");
    println!("|---:|---|---:|---:|---:|---:|---:|");
    for &bytes in DOCUMENTS {
        let text = text(bytes);
        let lines = text.matches('\n').count();
        let mut sidecar = Sidecar::start(&json!({}));
        let mut echo = Echo::start();
        sidecar.open("a.txt", &text);
        sidecar.ask("ropewalk/status", &json!({}));
        for (kind, name) in KINDS {
            let count = if kind == Kind::Whole { (20_000_000 / bytes).clamp(2, 500) } else { 2_000 };
            let frames: Vec<u8> = (0..count)
                .flat_map(|number| {
                    let change = kind.change(number, lines, &text);
                    let place = |at: Position| (at.line as usize, at.character as usize);
                    let range = change.range.map(|range| (place(range.start), place(range.end)));
                    sidecar.change("a.txt", range, &change.text)
                })
                .collect();
            // What is answered comes behind all of them: they are applied in their order, before the question is looked at.
            let (ours, _) = sidecar.timed_behind(&frames, "ropewalk/status", &json!({}));
            let nothing = echo.timed(&frames, &json!({ "answer": 100 }));
            let each = |time: Duration| time / u32::try_from(count).expect("a count");
            println!(
                "| {} | {name} | {count} | {} | {:.0} | {} | {} |",
                size(bytes),
                micros(each(ours)),
                1.0 / each(ours).as_secs_f64(),
                micros(each(nothing)),
                ratio(ours, nothing)
            );
        }
    }
}

fn delay() {
    let mut idle = Sidecar::start(&json!({}));
    let mut busy = Sidecar::start(&json!({}));
    for sidecar in [&mut idle, &mut busy] {
        sidecar.open("typed.txt", "typed: \n");
        sidecar.open("edited.txt", "count = 0;\n");
    }
    // The first edit waits for the editor, the other calls wait for it.
    for number in 0..WAITING {
        let arguments = match number % 2 {
            0 => {
                json!({ "file_path": "edited.txt", "old_string": "count = 0;", "new_string": format!("count = {number};") })
            }
            _ => json!({ "file_path": "edited.txt" }),
        };
        let tool = if number % 2 == 0 { "edit" } else { "read" };
        let (_, frame) = busy.request("ropewalk/callTool", &json!({ "name": tool, "arguments": arguments }));
        busy.write(&frame);
    }
    while busy.next()["method"] != "workspace/applyEdit" {}
    let mut times = [Vec::new(), Vec::new()];
    let mut typed = String::new();
    for _ in 0..DELAYS {
        typed.push('x');
        for (sidecar, times) in [&mut idle, &mut busy].into_iter().zip(&mut times) {
            let end = (0, "typed: ".len() + typed.len() - 1);
            let frame = sidecar.change("typed.txt", Some((end, end)), "x");
            let question = json!({ "uri": sidecar.uri("typed.txt") });
            let (time, answer) = sidecar.timed_behind(&frame, "ropewalk/documentText", &question);
            assert!(answer["text"] == format!("typed: {typed}\n"), "the mirror is behind: {answer}");
            times.push(time);
        }
    }
    println!("\nfrom a change to the answer that has it in it, microseconds\n");
    println!("| calls that wait | median | 95 % | longest | against none |");
    println!("|---:|---:|---:|---:|---:|");
    let [mut idle, mut busy] = times;
    let none = quantile(&mut idle, 50);
    for (waiting, times) in [(0, &mut idle), (WAITING, &mut busy)] {
        let (median, late, longest) = (quantile(times, 50), quantile(times, 95), quantile(times, 100));
        let against = ratio(median, none);
        println!("| {waiting} | {} | {} | {} | {against} |", micros(median), micros(late), micros(longest));
    }
}

fn micros(time: Duration) -> String {
    plain(time.as_secs_f64() * 1e6)
}

/// A text of about so many bytes. Every tenth line has characters in it that are longer in one counting than in another.
fn text(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 100);
    for number in 0.. {
        if text.len() >= bytes {
            break;
        }
        let words = if number % 10 == 0 { "a naïve line with a 🙂 in it" } else { "a line with some words in it" };
        let _ = writeln!(text, "{number:>9} {words}");
    }
    text
}
