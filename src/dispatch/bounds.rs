//! What goes over the wire besides `content` has a bound, too; what is left out is told, and kept where it can be asked for.
//! Pure.

use serde_json::Value;

use crate::outputs::head_end;

use super::call::{EditResult, LeftOut};

/// A result lists at most so many places of its edits.
const HUNKS: usize = 1000;

/// Parts of a result, bounded.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Bounded {
    pub structured: Option<Value>,
    /// The data of an error.
    pub data: Option<Value>,
    pub left_out: Vec<LeftOut>,
    /// What is kept, whole, under these names.
    pub whole: Vec<(String, String)>,
}

/// Bounds the data, an error's data and the diffs of a result to `max` bytes each. `id`: the name of the call's output.
pub(super) fn bound(
    structured: Option<Value>,
    data: Option<Value>,
    edits: &mut [EditResult],
    max: usize,
    id: &str,
) -> Bounded {
    let mut bounded = Bounded::default();
    bounded.structured = value(structured, "structuredContent", format!("{id}.data"), max, &mut bounded);
    bounded.data = value(data, "error.data", format!("{id}.error"), max, &mut bounded);
    diffs(edits, max, id, &mut bounded);
    let mut places = HUNKS;
    for (at, edit) in edits.iter_mut().enumerate() {
        if edit.hunks.len() > places {
            let bytes = edit.hunks[places..].iter().map(|hunk| serde_json::json!(hunk).to_string().len() + 1).sum();
            edit.hunks.truncate(places);
            bounded.left_out.push(LeftOut { field: format!("edits[{at}].hunks"), bytes, output: None });
        }
        places -= edit.hunks.len();
    }
    bounded
}

fn value(value: Option<Value>, field: &str, output: String, max: usize, bounded: &mut Bounded) -> Option<Value> {
    let json = value.as_ref()?.to_string();
    if json.len() <= max {
        return value;
    }
    bounded.left_out.push(LeftOut { field: field.to_owned(), bytes: json.len(), output: Some(output.clone()) });
    bounded.whole.push((output, json));
    None
}

fn diffs(edits: &mut [EditResult], max: usize, id: &str, bounded: &mut Bounded) {
    let total: usize = edits.iter().map(|edit| edit.unified_diff.len()).sum();
    if total <= max {
        return;
    }
    let output = format!("{id}.diff");
    bounded.whole.push((output.clone(), edits.iter().map(|edit| edit.unified_diff.as_str()).collect()));
    let mut room = max;
    for (at, edit) in edits.iter_mut().enumerate() {
        let end = diff_end(&edit.unified_diff, room);
        if end < edit.unified_diff.len() {
            bounded.left_out.push(LeftOut {
                field: format!("edits[{at}].unifiedDiff"),
                bytes: edit.unified_diff.len() - end,
                output: Some(output.clone()),
            });
            edit.unified_diff.truncate(end);
        }
        room -= end;
    }
}

/// Where a diff that has to be shorter ends: before a hunk, so that what is left is a diff, or if it is one hunk that is
/// too long, after a line.
fn diff_end(diff: &str, room: usize) -> usize {
    if diff.len() <= room {
        return diff.len();
    }
    let end = head_end(diff, room);
    match diff[..end].rmatch_indices("\n@@ ").next() {
        // The first hunk itself is too long.
        Some((at, _)) if diff[..at].contains("\n@@ ") => at + 1,
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{Hunk, LineSpan};
    use serde_json::json;

    fn edit(unified_diff: &str, hunks: usize) -> EditResult {
        let span = LineSpan { start: 1, count: 1 };
        let hunk = Hunk { strategy: "exact".into(), similarity: 1.0, before: span, after: span };
        EditResult {
            uri: "file:///a".into(),
            version_before: None,
            version_after: None,
            unsaved: false,
            hunks: vec![hunk; hunks],
            unified_diff: unified_diff.into(),
            deleted: false,
            moved_to: None,
            hunk_ids: Vec::new(),
        }
    }

    #[test]
    fn what_fits_stays() {
        let mut edits = [edit("--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n", 3)];
        let before = edits.clone();
        let bounded = bound(Some(json!({ "a": 1 })), Some(json!(2)), &mut edits, 100, "o1");
        assert_eq!(
            bounded,
            Bounded { structured: Some(json!({ "a": 1 })), data: Some(json!(2)), ..Bounded::default() }
        );
        assert_eq!(edits, before);
    }

    #[test]
    fn what_is_too_long_is_told_and_kept() {
        let diff = "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\n-c\n+d\n";
        let one = "--- a\n+++ b\n@@ -1,9 +1,9 @@\n-aaaaaaaaaa\n+bbbbbbbbbb\n+cccccccccc\n";
        let mut edits = [edit(diff, 1), edit(one, 2000)];
        let bounded =
            bound(Some(json!({ "text": "x".repeat(100) })), Some(json!("y".repeat(100))), &mut edits, 80, "o7");
        assert_eq!(edits[0].unified_diff, diff);
        assert_eq!(edits[1].unified_diff, "--- a\n+++ b\n@@ -1,9 +1,9 @@\n");
        assert_eq!((edits[0].hunks.len(), edits[1].hunks.len()), (1, 999));
        let told: Vec<(&str, Option<&str>)> =
            bounded.left_out.iter().map(|left| (left.field.as_str(), left.output.as_deref())).collect();
        assert_eq!(
            told,
            [
                ("structuredContent", Some("o7.data")),
                ("error.data", Some("o7.error")),
                ("edits[1].unifiedDiff", Some("o7.diff")),
                ("edits[1].hunks", None),
            ]
        );
        assert_eq!((bounded.structured, bounded.data), (None, None));
        assert_eq!(bounded.whole[2], ("o7.diff".to_owned(), format!("{diff}{one}")));
        // Cut before a hunk where there is one before it.
        assert_eq!(&diff[..diff_end(diff, diff.len() - 1)], "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n");
        assert_eq!(&one[..diff_end(one, one.len() - 1)], "--- a\n+++ b\n@@ -1,9 +1,9 @@\n-aaaaaaaaaa\n+bbbbbbbbbb\n");
    }
}
