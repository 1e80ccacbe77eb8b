//! What was found as text, within a budget: what is said to be shown is shown. Pure.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::workspace::search::{Ended, Found, Kind, Line, Mode, Part};

/// Kept free in the budget (bytes) for what is said of the results at the end, remarks on the search aside.
const SUMMARY: usize = 500;

/// So much (bytes) is shown in any case.
const LEAST: usize = 200;

/// A file with something in it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct File {
    /// Its name for the model.
    pub shown: String,
    /// Its URI.
    pub uri: String,
    /// Whether it is shown as the editor has it, which is not what is on the disk.
    pub unsaved: bool,
}

/// All that is to be shown.
#[derive(Debug)]
pub(super) struct Report<'a> {
    pub found: &'a Found,
    /// Of each part of what was found.
    pub files: &'a [File],
    pub mode: Mode,
    /// So many results were passed over.
    pub skip: usize,
    /// Whether lines bear their numbers.
    pub numbers: bool,
    /// What was searched for, and where, for messages.
    pub pattern: &'a str,
    pub place: &'a str,
    /// Whether it is one file or document that was searched.
    pub single: bool,
    /// Remarks on the search.
    pub words: Vec<String>,
}

/// The text for the model, and the same as data.
pub(super) struct Rendered {
    pub text: String,
    pub data: Value,
}

impl Report<'_> {
    pub(super) fn render(&self, budget: usize) -> Rendered {
        let remarks = self.remarks();
        let room = budget.saturating_sub(SUMMARY + self.pattern.len() + length(&remarks)).max(LEAST);
        let mut page = Page { text: String::new(), matches: Vec::new(), shown: 0, room, full: false };
        for (part, file) in self.found.parts.iter().zip(self.files) {
            match self.mode {
                Mode::Lines => self.lines(&mut page, part, file),
                Mode::Files | Mode::Count => self.file(&mut page, part, file),
            }
            if page.full {
                break;
            }
        }
        let total = self.units();
        let end = self.skip as u64 + page.shown as u64;
        let next = (end < total && page.shown > 0).then_some(end + 1);
        let at_least = self.found.ended.is_some();
        let mut text = page.text;
        let summary = self.summary(page.shown, next, page.full);
        if text.is_empty() {
            text = summary;
        } else {
            let _ = write!(text, "\n({summary})");
        }
        for word in remarks {
            let _ = write!(text, "\n({word})");
        }
        let found = self.found;
        let data = json!({
            "matches": page.matches,
            "totalFiles": found.files,
            "totalLines": if self.mode == Mode::Files { Value::Null } else { json!(found.matched) },
            "atLeast": at_least,
            "searchedFiles": found.searched,
            "binaryFiles": found.binary,
            "secretFiles": found.secret,
            "unreadable": found.faulty,
            "nextOffset": next,
        });
        Rendered { text, data }
    }

    /// How many results there are to page through.
    fn units(&self) -> u64 {
        match self.mode {
            Mode::Lines => self.found.showable,
            Mode::Files | Mode::Count => self.found.files,
        }
    }

    fn summary(&self, shown: usize, next: Option<u64>, full: bool) -> String {
        let found = self.found;
        let least = if found.ended.is_some() { "at least " } else { "" };
        let searched = counted(found.searched, "file");
        if found.files == 0
            && let Some(why) = self.unsearched()
        {
            return why;
        }
        if found.files == 0 && found.searched == 0 && found.binary + found.faulty > 0 {
            return format!("No file was searched in {}.", self.place);
        }
        if found.files == 0 {
            return format!("No match for {:?} in {}; {least}{searched} searched.", self.pattern, self.place);
        }
        if shown == 0 {
            return format!("There are only {least}{} results; offset {} is past them.", self.units(), self.skip + 1);
        }
        let mut out = match self.mode {
            Mode::Files => format!("{least}{} with a match", counted(found.files, "file")),
            Mode::Lines | Mode::Count => {
                format!("{least}{} in {}", counted(found.matched, "matching line"), counted(found.files, "file"))
            }
        };
        let _ = write!(out, "; {searched} searched");
        if let Some(next) = next {
            let (first, last) = (self.skip + 1, self.skip + shown);
            let why = if full { ", there is no room for more in one answer" } else { "" };
            let _ = write!(out, "; shown: {first}-{last}{why}; go on with offset {next}");
        }
        out
    }

    /// That the one file that was named was not searched, and why.
    fn unsearched(&self) -> Option<String> {
        let (found, place) = (self.found, self.place);
        if !self.single || found.searched > 0 {
            return None;
        }
        if let Some(at) = found.binary_at {
            return Some(format!("{place} was not searched: it is binary, there is a NUL byte at offset {at}."));
        }
        let how =
            if found.broken > 0 { "not searched to its end, and no match was found before" } else { "not searched" };
        let fault = found.faults.first()?;
        Some(format!("{place} was {how}: {}.", fault.why.trim_end_matches('.')))
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.found.files == 0 && self.unsearched().is_some() {
            return remarks;
        }
        if self.found.binary > 0 {
            remarks.push(format!("left out: {}", counted(self.found.binary, "binary file")));
        }
        if self.found.secret > 0 {
            remarks.push(format!(
                "{} with a match may hold secrets and {} not shown; name one as `path` to ask for it",
                counted(self.found.secret, "file"),
                if self.found.secret == 1 { "is" } else { "are" }
            ));
        }
        remarks.extend(self.words.iter().cloned());
        remarks
    }

    fn lines(&self, page: &mut Page, part: &Part, file: &File) {
        let heading = format!("{}{}\n", file.shown, if file.unsaved { " (unsaved)" } else { "" });
        let mut block = if page.text.is_empty() { heading } else { format!("\n{heading}") };
        let wanted = part.first..part.first + part.count;
        // How many matches came before the line.
        let (mut passed, mut last, mut any) = (0, None, false);
        for line in &part.hits.lines {
            let show = match line.kind {
                Kind::Match => wanted.contains(&passed),
                // Between two matches it belongs to both.
                Kind::Context => wanted.contains(&passed) || passed > 0 && wanted.contains(&(passed - 1)),
            };
            if line.kind == Kind::Match {
                passed += 1;
            }
            if !show {
                continue;
            }
            if last.is_some_and(|last| last + 1 < line.number)
                && part.hits.lines.iter().any(|line| line.kind == Kind::Context)
            {
                block.push_str("--\n");
            }
            last = Some(line.number);
            self.line(&mut block, line);
            if page.text.len() + block.len() > page.room && page.shown > 0 {
                page.full = true;
                return;
            }
            page.text.push_str(&block);
            block.clear();
            if line.kind == Kind::Match {
                any = true;
                page.shown += 1;
                page.matches.push(json!({
                    "path": file.shown, "uri": file.uri, "line": line.number, "column": line.column, "text": line.text,
                    "unsaved": file.unsaved,
                }));
            }
        }
        let hidden = part.hits.matched.saturating_sub((part.first + part.count) as u64);
        if any && hidden > 0 && (part.first + part.count) == part.hits.capacity() {
            let _ = writeln!(page.text, "({hidden} more in this file; raise `max_per_file` or search it alone)");
        }
    }

    fn line(&self, out: &mut String, line: &Line) {
        let mark = if line.kind == Kind::Match { ':' } else { '-' };
        if self.numbers {
            let _ = write!(out, "{}{mark}", line.number);
        }
        let (before, after) = (if line.cut_before { "…" } else { "" }, if line.cut_after { "…" } else { "" });
        let _ = write!(out, "{before}{}{after}", line.text);
        if line.cut_before || line.cut_after {
            let _ = match line.column {
                Some(column) => write!(out, " (cut; the match is at column {column})"),
                None => write!(out, " (cut)"),
            };
        }
        out.push('\n');
    }

    fn file(&self, page: &mut Page, part: &Part, file: &File) {
        let mut line = file.shown.clone();
        if self.mode == Mode::Count {
            let _ = write!(line, ":{}", part.hits.matched);
        }
        line.push_str(if file.unsaved { " (unsaved)\n" } else { "\n" });
        if page.text.len() + line.len() > page.room && page.shown > 0 {
            page.full = true;
            return;
        }
        page.text.push_str(&line);
        page.shown += 1;
        let lines = if self.mode == Mode::Count { json!(part.hits.matched) } else { Value::Null };
        page.matches.push(json!({ "path": file.shown, "uri": file.uri, "lines": lines, "unsaved": file.unsaved }));
    }
}

struct Page {
    text: String,
    matches: Vec<Value>,
    /// How many results are on it.
    shown: usize,
    room: usize,
    full: bool,
}

/// How much room remarks take, one a line in brackets. Bytes.
pub(in crate::tools) fn length(remarks: &[String]) -> usize {
    remarks.iter().map(|remark| remark.len() + 3).sum()
}

/// `1 file`, `2 files`.
pub(in crate::tools) fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Whether counts are lower bounds.
pub(in crate::tools) fn least(ended: Option<Ended>) -> &'static str {
    if ended.is_some() { "at least " } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::search::{Besides, Case, Query, Wanted};
    use expect_test::{Expect, expect};
    use std::path::PathBuf;

    /// A report on texts that are searched in memory.
    fn check(texts: &[(&str, &str)], query: &Query, budget: usize, expected: &Expect) -> Value {
        let disk = texts.iter().fold(crate::ports::MemoryDisk::new(), |disk, (name, text)| {
            disk.with_file(PathBuf::from("/w").join(name), text)
        });
        let disk = std::sync::Arc::new(disk);
        let roots = crate::workspace::Roots::from_paths(&*disk, [std::path::Path::new("/w")]);
        let ports = crate::ports::Ports { disk, ..crate::ports::Ports::system() };
        let editor = std::sync::Arc::new(crate::editor::Absent);
        let workspace = crate::workspace::Workspace::new(ports, editor, std::sync::Arc::default());
        workspace.set_roots(roots);
        let job = workspace.job(None, &Wanted::default(), Besides::default(), &[]).unwrap();
        let matcher = query.matcher().unwrap();
        let mut found = job.grep(query, &matcher);
        found.locate(&matcher);
        let file = |part: &Part| File { shown: job.shown(&part.hits.place), uri: String::new(), unsaved: false };
        let files: Vec<File> = found.parts.iter().map(file).collect();
        let report = Report {
            found: &found,
            files: &files,
            mode: query.mode,
            skip: query.skip,
            numbers: true,
            pattern: &query.pattern,
            place: "the workspace",
            single: false,
            words: Vec::new(),
        };
        let rendered = report.render(budget);
        expected.assert_eq(&rendered.text);
        rendered.data
    }

    fn query(pattern: &str) -> Query {
        Query {
            pattern: pattern.to_owned(),
            literal: false,
            word: false,
            case: Case::Sensitive,
            multiline: false,
            before: 0,
            after: 0,
            per_file: 100,
            mode: Mode::Lines,
            skip: 0,
            limit: 100,
        }
    }

    #[test]
    fn lines_between_matches_and_gaps() {
        let text = "a1\nb\nc\na2\nd\ne\nf\ng\na3\nh\n";
        let near = Query { before: 1, after: 1, ..query("a") };
        check(
            &[("x", text)],
            &near,
            30_000,
            &expect![[r"
            x
            1:a1
            2-b
            3-c
            4:a2
            5-d
            --
            8-g
            9:a3
            10-h

            (3 matching lines in 1 file; 1 file searched)"]],
        );
        // A page in the middle has the lines round its matches only.
        check(
            &[("x", text)],
            &Query { skip: 1, limit: 1, ..near },
            30_000,
            &expect![[r"
            x
            2-b
            3-c
            4:a2
            5-d

            (3 matching lines in 1 file; 1 file searched; shown: 2-2; go on with offset 3)"]],
        );
    }

    #[test]
    fn many_matches_are_paged_and_bounded() {
        let text = "a\n".repeat(5);
        let few = Query { per_file: 2, limit: 3, ..query("a") };
        let data = check(
            &[("x", &text), ("y", &text)],
            &few,
            30_000,
            &expect![[r"
            x
            1:a
            2:a
            (3 more in this file; raise `max_per_file` or search it alone)

            y
            1:a

            (10 matching lines in 2 files; 2 files searched; shown: 1-3; go on with offset 4)"]],
        );
        assert_eq!((&data["totalLines"], &data["nextOffset"]), (&json!(10), &json!(4)));
        check(
            &[("x", &text), ("y", &text)],
            &Query { skip: 3, ..few },
            30_000,
            &expect![[r"
            y
            2:a
            (3 more in this file; raise `max_per_file` or search it alone)

            (10 matching lines in 2 files; 2 files searched)"]],
        );
        check(
            &[("x", &text)],
            &Query { skip: 9, ..query("a") },
            30_000,
            &expect!["There are only 5 results; offset 10 is past them."],
        );
        check(
            &[("x", &text)],
            &query("b"),
            30_000,
            &expect![[r#"No match for "b" in the workspace; 1 file searched."#]],
        );
        // What is said to be shown is shown, and the next page goes on there.
        let long = format!("{}\n", "a".repeat(100)).repeat(50);
        let data = check(
            &[("x", &long)],
            &query("a"),
            SUMMARY + 250,
            &expect![[r"
            x
            1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
            2:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa

            (50 matching lines in 1 file; 1 file searched; shown: 1-2, there is no room for more in one answer; go on with offset 3)"]],
        );
        assert_eq!(data["nextOffset"], json!(data["matches"].as_array().unwrap().len() + 1));
    }

    #[test]
    fn long_lines_say_where_the_match_is() {
        let long = format!("{}needle{}\n", "x".repeat(1000), "y".repeat(1000));
        let data = check(
            &[("x", &long)],
            &query("needle"),
            30_000,
            &expect![[r"
            x
            1:…xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxneedleyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy… (cut; the match is at column 1001)

            (1 matching line in 1 file; 1 file searched)"]],
        );
        assert_eq!(data["matches"][0]["column"], 1001);
    }
}
