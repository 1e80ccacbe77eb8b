//! Patches of both formats: read, placed, and undone by what they say.

use super::parts::texts;
use ropewalk::patch::{FaultKind, FilePatch, Kind, Side, apply, parse};
use ropewalk::text::{BOM, LineBreaks, Text, diff};

/// A text, a patch of any format, and another text: from the first to that one there is a patch too.
pub fn patches(data: &[u8]) {
    let [before, patch, after] = texts::<3>(data);
    let (before, after) = (before.trim_start_matches(BOM), after.trim_start_matches(BOM));
    match parse(&patch) {
        Ok(files) => {
            assert!(!files.is_empty());
            let lines = patch.split('\n').count();
            for file in &files {
                assert!(!file.path.is_empty() && (1..=lines).contains(&file.line), "{file:?}");
                assert!(file.hunks.iter().all(|hunk| hunk.line >= file.line && hunk.line <= lines), "{file:?}");
                applied(Some(before), file);
                applied(None, file);
            }
        }
        Err(fault) => {
            assert_eq!(fault.kind, FaultKind::Unreadable);
            assert!(!fault.message.is_empty());
        }
    }
    // A CR at the end of a line is taken as a matter of the file, not of the patch.
    if before == after || before.contains('\r') || after.contains('\r') {
        return;
    }
    let ours = diff::unified("a.txt", before, after);
    let files = parse(&ours).unwrap_or_else(|fault| panic!("our own diff cannot be read: {fault:?}\n{ours}"));
    assert_eq!(files.len(), 1, "{ours}");
    let placed = apply(Some(before), &files[0]).unwrap_or_else(|fault| panic!("{fault:?}\n{ours}"));
    assert_eq!(Text::new(before, LineBreaks::Lf).spliced(&placed.splices).to_string(), after, "{ours}");
}

fn applied(before: Option<&str>, file: &FilePatch) {
    let text = before.unwrap_or_default();
    let placed = match apply(before, file) {
        Ok(placed) => placed,
        Err(fault) => {
            assert_ne!(fault.kind, FaultKind::Unreadable, "what was read is not unreadable: {fault:?}");
            assert!(!fault.message.is_empty());
            let count = text.split('\n').count();
            assert!(fault.lines.iter().all(|line| (1..=count).contains(line)), "{:?} of {count}", fault.lines);
            return;
        }
    };
    let mut end = 0;
    for splice in &placed.splices {
        assert!(splice.range.start >= end && splice.range.start <= splice.range.end, "{placed:?}");
        assert!(text.get(splice.range.clone()).is_some(), "a place is in the text, on characters: {placed:?}");
        end = splice.range.end;
    }
    let after = Text::new(text, LineBreaks::Lf).spliced(&placed.splices).to_string();
    let count = |text: &str| text.split_inclusive('\n').count();
    let added = || file.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.side == Side::Added);
    match file.kind {
        Kind::Delete => assert_eq!(after, ""),
        Kind::Add => assert_eq!(count(&after), added().count(), "{file:?} {after:?}"),
        Kind::Update | Kind::Copy => {
            let removed = file.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.side == Side::Removed);
            assert_eq!(count(&after) + removed.count(), count(text) + added().count(), "{file:?}\n{text:?}\n{after:?}");
            assert_eq!(placed.hunks.len(), file.hunks.len());
            let lines: Vec<&str> = after.lines().collect();
            for (placed, hunk) in placed.hunks.iter().zip(&file.hunks) {
                assert!((0.0..=1.0).contains(&placed.similarity));
                let (first, many) = placed.after;
                // Where every line is there to the byte, so are the new ones afterwards.
                if placed.strategy != "patch" || many == 0 {
                    continue;
                }
                let there = lines.get(first - 1..first - 1 + many).expect("what is told of is there");
                let new = hunk.lines.iter().filter(|line| line.side != Side::Removed);
                let new: Vec<&str> = new.map(|line| &*line.text).collect();
                assert!(new.windows(many).any(|new| new == there), "{new:?} {there:?}");
            }
        }
    }
}
