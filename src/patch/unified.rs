//! Unified diffs, git's too; and the lines of hunks, which both formats share.

use super::git::{Head, binary, binary_fault};
use super::numbers::{Header, header};
use super::source::{Source, commit_head, fault, shown};
use super::{Fault, FilePatch, Hunk, HunkLine, Side};

/// Reads all files of a unified diff.
pub(super) fn parse(source: &Source<'_>) -> Result<Vec<FilePatch>, Fault> {
    let (mut files, mut at) = (Vec::new(), source.start);
    while let Some(line) = source.get(at) {
        if line.trim().is_empty() {
            at += 1;
        } else if line.starts_with("Index: ") && source.unified_at(at) {
            at += 2;
        } else if source.unified_at(at) {
            let (head, mut next) = Head::read(source, at)?;
            let mut hunks = Vec::new();
            while source.get(next).is_some_and(|line| line.starts_with("@@")) {
                hunks.push(hunk(source, &mut next, ends)?);
            }
            files.push(head.file(hunks)?);
            at = next;
        } else if commit_head(line) {
            // The head of the next commit: words until its patch begins.
            at += 1;
            while at < source.end && !source.unified_at(at) {
                at += 1;
            }
        } else if binary(line) {
            return Err(binary_fault(at));
        } else {
            return Err(fault(
                at,
                format!(
                    "`{}` came, and a hunk (`@@ -1,3 +1,4 @@`) or the next file (`--- a/path`, `+++ b/path`) was \
                     expected. Each line of a hunk begins with a space, `-` or `+`; send the patch without other words.",
                    shown(line)
                ),
            ));
        }
    }
    if files.is_empty() {
        return Err(fault(
            source.start,
            "no file is named. Write `--- a/path` and `+++ b/path` before the first hunk.",
        ));
    }
    Ok(files)
}

/// How many lines the header of a hunk still promises, before and after; `None` without numbers.
pub(super) type Left = Option<(usize, usize)>;

/// Whether a line is no part of the hunk above it. A removed `-- x` above an added `++ y` looks like the head of a
/// file: it is one where a hunk follows, unless the hunk above is complete with exactly these two.
fn ends(source: &Source<'_>, at: usize, left: Left) -> bool {
    let line = source.line(at);
    if !line.starts_with("--- ") {
        return source.unified_at(at) || binary(line) || commit_head(line);
    }
    if !source.unified_at(at) {
        return false;
    }
    let hunk_follows = source.get(at + 2).is_some_and(|line| line.starts_with("@@"));
    match left {
        Some((1, 1)) => false,
        Some((old, new)) if old > 0 && new > 0 => hunk_follows,
        Some(_) => true,
        None => hunk_follows,
    }
}

/// Reads a hunk from `at` (0-based) on, which goes to the line behind it.
pub(super) fn hunk(
    source: &Source<'_>,
    at: &mut usize,
    ends: impl Fn(&Source<'_>, usize, Left) -> bool,
) -> Result<Hunk, Fault> {
    let mut hunk = Hunk { line: *at + 1, ..Hunk::default() };
    while let Some(line) = source.get(*at).filter(|line| line.starts_with("@@")) {
        match header(line) {
            Some(Header::Numbers(numbers)) => hunk.numbers = Some(numbers),
            Some(Header::Anchor(text)) => hunk.anchors.push((*at, text)),
            Some(Header::Bare) => {}
            None => {
                return Err(fault(
                    *at,
                    format!(
                        "`{}` has line numbers that cannot be read. Write `@@ -12,3 +12,4 @@`, or `@@` alone: the place \
                         is found by the lines.",
                        shown(line)
                    ),
                ));
            }
        }
        *at += 1;
    }
    hunk.first = *at + 1;
    let promised = hunk.numbers.as_ref().map(|numbers| (numbers.old_count, numbers.new_count));
    let (mut old, mut new, mut soft) = (0, 0, 0);
    while let Some(line) = source.get(*at) {
        let left = promised.map(|(olds, news)| (olds.saturating_sub(old), news.saturating_sub(new)));
        if line.starts_with("@@") || ends(source, *at, left) {
            break;
        }
        if line.trim_end() == "*** End of File" {
            (hunk.at_end, soft) = (true, 0);
            *at += 1;
            break;
        }
        if line.starts_with('\\') {
            let Some(last) = hunk.lines.last_mut().filter(|last| !last.bare) else {
                return Err(fault(*at, "`\\ No newline at end of file` stands below no line of the text."));
            };
            last.bare = true;
            (*at, soft) = (*at + 1, 0);
            continue;
        }
        let side = match line.bytes().next() {
            // A blank line may have lost its space.
            None | Some(b' ') => Side::Context,
            Some(b'-') => Side::Removed,
            Some(b'+') => Side::Added,
            Some(_) => {
                return Err(fault(
                    *at,
                    format!(
                        "`{}` begins with neither a space (a line that stays) nor `-` (removed) nor `+` (added). Put a \
                         space before it if it stays.",
                        shown(line)
                    ),
                ));
            }
        };
        soft = if line.is_empty() { soft + 1 } else { 0 };
        old += usize::from(side != Side::Added);
        new += usize::from(side != Side::Removed);
        let text = line.get(1..).unwrap_or_default().to_owned();
        hunk.lines.push(HunkLine { side, text, bare: false, crlf: source.ends_crlf(*at) });
        *at += 1;
    }
    // Blank lines at the end separate it from what follows, as far as they are not promised.
    while soft > 0 && promised.is_none_or(|(olds, news)| old > olds || new > news) {
        hunk.lines.pop();
        (soft, old, new) = (soft - 1, old - 1, new - 1);
    }
    check(&hunk)?;
    Ok(hunk)
}

/// What any hunk must be.
fn check(hunk: &Hunk) -> Result<(), Fault> {
    let at = hunk.line - 1;
    if hunk.lines.is_empty() {
        return Err(fault(at, "the hunk has no lines. Below `@@` come lines that begin with a space, `-` or `+`."));
    }
    if hunk.lines.iter().all(|line| line.side == Side::Context) {
        return Err(fault(at, "the hunk changes nothing: none of its lines begins with `-` or `+`. Leave it out."));
    }
    for side in [Side::Removed, Side::Added] {
        let mut lines =
            hunk.lines.iter().enumerate().filter(|(_, line)| line.side == side || line.side == Side::Context);
        if let Some((bare, _)) = lines.find(|(_, line)| line.bare)
            && let Some((next, _)) = lines.next()
        {
            return Err(fault(
                hunk.line_of(bare) + 1,
                format!(
                    "`\\ No newline at end of file` stands above line {}, which is of the same text: only its last line has \
                     no end. Leave the mark out, or put it below the last line.",
                    hunk.line_of(next) + 1
                ),
            ));
        }
    }
    Ok(())
}
