//! The `*** Begin Patch` format.

use super::names::{Section, section};
use super::numbers::{Header, header};
use super::source::{Source, fault, shown};
use super::unified::{Left, hunk};
use super::{Fault, FilePatch, Hunk, HunkLine, Kind, Side};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// Reads all files of a patch, or of several in a row.
pub(super) fn parse(source: &Source<'_>) -> Result<Vec<FilePatch>, Fault> {
    let (mut files, mut at) = (Vec::new(), source.start + 1);
    loop {
        let Some(line) = source.get(at).map(str::trim_end) else {
            return Err(fault(
                source.end - 1,
                format!("the patch ended and no `{END}` had come: it may have been cut off. Send the whole of it."),
            ));
        };
        if line == END {
            let Some(next) = next_patch(source, at + 1)? else { break };
            at = next + 1;
        } else if line.is_empty() {
            at += 1;
        } else if let Some((kind, path)) = section(line) {
            if path.is_empty() {
                return Err(fault(at, format!("`{}` names no file. Put its path behind the colon.", shown(line))));
            }
            files.push(match kind {
                Section::Add => added(source, &mut at, path)?,
                Section::Delete => deleted(source, &mut at, path)?,
                Section::Update => updated(source, &mut at, path)?,
                Section::Move => {
                    return Err(fault(
                        at,
                        "`*** Move to:` came, and it stands directly below `*** Update File: path` and nowhere \
                         else. Put that line above \
                         it.",
                    ));
                }
            });
        } else {
            return Err(fault(at, format!("`{}` came, and {EXPECTED} was expected.", shown(line))));
        }
    }
    if files.is_empty() {
        return Err(fault(
            source.start,
            format!(
                "the patch names no file. Put `*** Add File: path`, `*** Update File: path` or `*** Delete File: path` \
                 between `{BEGIN}` and `{END}`."
            ),
        ));
    }
    Ok(files)
}

const EXPECTED: &str = "`*** Add File: path`, `*** Update File: path`, `*** Delete File: path` or `*** End Patch`";

/// Where another patch begins behind the end of one.
fn next_patch(source: &Source<'_>, from: usize) -> Result<Option<usize>, Fault> {
    let Some(at) = (from..source.end).find(|&at| !source.line(at).trim().is_empty()) else { return Ok(None) };
    if source.line(at).trim_end() == BEGIN {
        return Ok(Some(at));
    }
    Err(fault(at, format!("`{}` came behind `{END}`. Send only the patch.", shown(source.line(at)))))
}

/// Whether a line is one of the format's own, and no line of a file.
fn own(source: &Source<'_>, at: usize, _: Left) -> bool {
    let line = source.line(at);
    line.starts_with("***") && line.trim_end() != "*** End of File"
}

fn empty(kind: Kind, path: &str, at: usize) -> FilePatch {
    FilePatch { path: path.to_owned(), kind, move_to: None, hunks: Vec::new(), mode: None, line: at + 1 }
}

/// Whether the two lines that head a file in a unified diff stand here, where they say nothing new.
fn sides(source: &Source<'_>, at: usize) -> bool {
    let starts = |at: usize, word: &str| source.get(at).is_some_and(|line| line.starts_with(word));
    starts(at, "--- ") && starts(at + 1, "+++ ")
}

fn added(source: &Source<'_>, at: &mut usize, path: &str) -> Result<FilePatch, Fault> {
    let mut file = empty(Kind::Add, path, *at);
    *at += 1;
    if sides(source, *at) {
        *at += 2;
    }
    let numbered = |line: &str| matches!(header(line), Some(Header::Bare | Header::Numbers(_)));
    if source.get(*at).is_some_and(numbered) {
        *at += 1;
    }
    let mut hunk = Hunk { line: *at + 1, first: *at + 1, ..Hunk::default() };
    while let Some(line) = source.get(*at).filter(|_| !own(source, *at, None)) {
        if let Some(text) = line.strip_prefix('+') {
            if hunk.lines.last().is_some_and(|last: &HunkLine| last.bare) {
                return Err(fault(
                    *at,
                    "a line follows after `\\ No newline at end of file`, which is only below the last.",
                ));
            }
            let crlf = source.ends_crlf(*at);
            hunk.lines.push(HunkLine { side: Side::Added, text: text.to_owned(), bare: false, crlf });
        } else if line.starts_with('\\') {
            let Some(last) = hunk.lines.last_mut() else {
                return Err(fault(*at, "`\\ No newline at end of file` stands below no line of the text."));
            };
            last.bare = true;
        } else if line.trim_end() == "*** End of File" || blank_until_next(source, *at) {
            // Says what is so anyway.
        } else {
            return Err(fault(
                *at,
                format!(
                    "`{}` is in the new file {path} and does not begin with `+`. Put a `+` before each line of a new file, \
                     blank ones too; to change a file that is there, use `*** Update File: {path}`.",
                    shown(line)
                ),
            ));
        }
        *at += 1;
    }
    if !hunk.lines.is_empty() {
        file.hunks.push(hunk);
    }
    Ok(file)
}

/// Whether there are but blank lines up to the next line of the format's own. Asked for blank lines only, each run of
/// which is gone through once for each of its lines at most where it is short.
fn blank_until_next(source: &Source<'_>, at: usize) -> bool {
    const FAR: usize = 16;
    let next = (at..source.end.min(at + FAR)).find(|&at| !source.line(at).trim().is_empty());
    source.line(at).trim().is_empty() && next.is_none_or(|next| own(source, next, None))
}

fn deleted(source: &Source<'_>, at: &mut usize, path: &str) -> Result<FilePatch, Fault> {
    let mut file = empty(Kind::Delete, path, *at);
    *at += 1;
    let mut hunk = Hunk { line: *at + 1, first: *at + 1, ..Hunk::default() };
    while let Some(line) = source.get(*at).filter(|_| !own(source, *at, None)) {
        if let Some(text) = line.strip_prefix('-') {
            hunk.lines.push(HunkLine { side: Side::Removed, text: text.to_owned(), bare: false, crlf: false });
        } else if !line.trim().is_empty() {
            return Err(fault(
                *at,
                format!(
                    "`{}` stands below `*** Delete File:`, which needs no lines; those of the file would begin with \
                     `-`. Leave it out.",
                    shown(line)
                ),
            ));
        }
        *at += 1;
    }
    if !hunk.lines.is_empty() {
        file.hunks.push(hunk);
    }
    Ok(file)
}

fn updated(source: &Source<'_>, at: &mut usize, path: &str) -> Result<FilePatch, Fault> {
    let mut file = empty(Kind::Update, path, *at);
    *at += 1;
    if let Some((Section::Move, to)) = source.get(*at).and_then(|line| section(line.trim_end())) {
        if to.is_empty() {
            return Err(fault(*at, "`*** Move to:` names no file. Put the new path behind the colon."));
        }
        file.move_to = Some(to.to_owned());
        *at += 1;
    }
    if sides(source, *at) {
        *at += 2;
    }
    while let Some(line) = source.get(*at).filter(|_| !own(source, *at, None)) {
        if line.is_empty() && blank_until_next(source, *at) {
            *at += 1;
            continue;
        }
        file.hunks.push(hunk(source, at, own)?);
    }
    if file.hunks.is_empty() && file.move_to.is_none() {
        return Err(fault(
            file.line - 1,
            format!("`*** Update File: {path}` has no lines that change it. Add `@@` and lines with ` `, `-`, `+`."),
        ));
    }
    Ok(file)
}
