//! What the cascade costs, as ratios in one run: against a scan of the same bytes, and against what the reference
//! algorithms do. `cargo bench --bench cascade`; arguments: the lines of plain code (default 1000 10000 100000
//! 1000000), `hostile`, or a part of a case's name.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(clippy::cast_precision_loss, reason = "sizes and counts are far below 2^52")]

mod reference;
mod texts;

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use ropewalk::replace::{Request, find};
use texts::Case;

/// So often is everything measured, unless that takes too long; the median counts.
const RUNS: usize = 9;

/// No more runs after this, but at least one.
const PATIENCE: Duration = Duration::from_secs(2);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let sizes: Vec<usize> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let names: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|argument| argument.parse::<usize>().is_err()).collect();
    let wanted = |case: &Case| names.is_empty() || names.iter().any(|name| case.name.contains(*name));
    let hostile = names.contains(&"hostile");
    println!("| case | lines | MB | scan ms | find ms | find / scan | reference ms | reference / find | by |");
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---|");
    let sizes = match (&sizes[..], hostile) {
        ([], false) => vec![1_000, 10_000, 100_000, 1_000_000],
        _ => sizes,
    };
    for lines in sizes {
        for case in texts::plain(lines).into_iter().filter(|case| wanted(case)) {
            println!("{}", row(&case));
        }
    }
    if hostile || arguments.is_empty() || !names.is_empty() {
        for case in texts::hostile().into_iter().filter(|case| hostile || wanted(case)) {
            println!("{}", row(&case));
        }
    }
    println!(
        "\n~ was measured on the first lines of the text, and extrapolated as if it grew no faster than the lines."
    );
}

/// Measures a case.
fn row(case: &Case) -> String {
    let lines = case.text.split('\n').count() - usize::from(case.text.ends_with('\n'));
    let scan = median(|| {
        black_box(memchr::memchr(0, black_box(case.text.as_bytes())));
    });
    let request = Request { old: &case.old, new: &case.new, all: case.all };
    let mut outcome = String::new();
    let ours = median(|| {
        outcome = match find(black_box(&case.text), &request) {
            Ok(found) => found.strategy.to_owned(),
            Err(miss) => format!("{:?}", miss.kind),
        };
    });
    let mut row = format!(
        "| {} | {lines} | {:.2} | {:.3} | {:.3} | {:.1} |",
        case.name,
        case.text.len() as f64 / 1e6,
        ms(scan),
        ms(ours),
        ours.as_secs_f64() / scan.as_secs_f64()
    );
    if case.reference == 0 {
        row.push_str(" | |");
    } else {
        let (times, about) = (lines as f64 / lines.min(case.reference) as f64, lines > case.reference);
        let text: String = case.text.split_inclusive('\n').take(case.reference).collect();
        let theirs = median(|| {
            black_box(reference::edit(black_box(&text), &case.old, &case.new));
        })
        .mul_f64(times);
        let about = if about { "~" } else { "" };
        let _ = write!(row, " {about}{:.1} | {about}{:.1} |", ms(theirs), theirs.as_secs_f64() / ours.as_secs_f64());
    }
    let _ = write!(row, " {outcome}{} |", if outcome == case.outcome { "" } else { " (unexpected)" });
    row
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn median(mut run: impl FnMut()) -> Duration {
    let begin = Instant::now();
    let mut times = Vec::new();
    while times.len() < RUNS && (times.is_empty() || begin.elapsed() < PATIENCE) {
        let start = Instant::now();
        run();
        times.push(start.elapsed());
    }
    times.sort_unstable();
    times[times.len() / 2]
}
