//! What a kept output is like: its length, both ends, and the lines that look like failures.

use std::fmt::Write as _;
use std::io;
use std::ops::ControlFlow;

use super::super::failures::{looks_failed, may_have_failed};
use super::super::scan::Scan;
use super::matching::{Start, beginning};
use super::{Looked, counted};

/// It shows so many lines of each end, and so many that look like failures.
const ENDS: usize = 5;
const FAILURES: usize = 30;

/// A line is shown up to so many bytes.
const LINE: usize = 200;

pub(super) fn summary(scan: &mut Scan<'_>, room: usize) -> io::Result<Looked> {
    let total = scan.index().line_count();
    let (failed, failures) = failures(scan)?;
    let first = rows(scan, 0, ENDS.min(total))?;
    let end = rows(scan, total.saturating_sub(ENDS).max(ENDS.min(total)), total)?;
    let sections = [("the beginning", first), ("the end", end), ("lines that look like failures", failures)];
    let mut out = String::new();
    let mut told = 0;
    for (title, rows) in sections.iter().filter(|(_, rows)| !rows.is_empty()) {
        let mut section = format!("{title}:\n");
        for line in rows {
            if out.len() + section.len() + line.len() > room {
                break;
            }
            section.push_str(line);
            told += usize::from(title.starts_with("lines"));
        }
        if out.len() + section.len() <= room {
            out.push_str(&section);
        }
    }
    let mut remark = format!("{}, {} bytes", counted(total, "line"), scan.index().bytes());
    match failed {
        0 => remark.push_str("; no line looks like a failure"),
        count if count > told => {
            let _ = write!(remark, "; {count} lines look like failures, {told} are shown");
        }
        _ => {}
    }
    Ok(Looked { text: out, remark, next: None, total_lines: total })
}

/// Some lines (0-based), each with its number.
fn rows(scan: &mut Scan<'_>, from: usize, end: usize) -> io::Result<Vec<String>> {
    let row = |row| {
        let line = scan.line_start(row)?.byte;
        let (Start::Whole(text, _) | Start::Some(text)) = beginning(scan, line, LINE)?;
        Ok(told(row, &text))
    };
    (from..end).map(row).collect()
}

fn told(row: usize, text: &str) -> String {
    format!("{}: {}\n", row + 1, &text[..text.floor_char_boundary(LINE)])
}

/// How many lines look like failures, and the first of them.
fn failures(scan: &mut Scan<'_>) -> io::Result<(usize, Vec<String>)> {
    let (mut count, mut first) = (0, Vec::new());
    let (mut row, mut failed, mut head) = (0, false, String::new());
    scan.lines(0, &mut |piece| {
        failed |= may_have_failed(piece.text).is_some() && looks_failed(piece.text);
        if !piece.last && piece.at == 0 {
            piece.text[..piece.text.floor_char_boundary(LINE)].clone_into(&mut head);
        }
        if piece.last {
            if std::mem::take(&mut failed) {
                count += 1;
                if first.len() < FAILURES {
                    first.push(told(row, if piece.at == 0 { piece.text } else { &head }));
                }
            }
            row += 1;
        }
        ControlFlow::Continue(())
    })?;
    Ok((count, first))
}
