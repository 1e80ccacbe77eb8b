//! Differences between two texts: as minimal splices for an editor, and as a unified diff for people and models.

use similar::{Algorithm, DiffOp, TextDiff, capture_diff_slices};

use super::Splice;

/// Changed stretches longer than this (bytes, both sides together) are replaced as whole lines; a character diff of
/// them costs more than it saves.
const FINE_LIMIT: usize = 4096;

/// The splices that turn `old` into `new`, in rising order, not touching one another. Line by line first, then by
/// characters inside small changed stretches, so that an editor's marks, folds and cursors outside the change stay put.
///
/// `spliced(old, splices(old, new)) == new` always holds, byte for byte.
pub fn splices(old: &str, new: &str) -> Vec<Splice> {
    let (prefix, suffix) = common_ends(old, new);
    let (old_core, new_core) = (&old[prefix..old.len() - suffix], &new[prefix..new.len() - suffix]);
    if old_core.is_empty() && new_core.is_empty() {
        return Vec::new();
    }
    if old_core.is_empty() || new_core.is_empty() {
        return vec![Splice { range: prefix..old.len() - suffix, text: new_core.to_owned() }];
    }
    let (old_lines, new_lines) = (lines(old_core), lines(new_core));
    let mut out = Vec::new();
    let (mut old_at, mut new_at) = (prefix, prefix);
    let (mut old_line, mut new_line) = (0, 0);
    for op in capture_diff_slices(Algorithm::Myers, &old_lines, &new_lines) {
        let (olds, news) = (op.old_range(), op.new_range());
        debug_assert_eq!((olds.start, news.start), (old_line, new_line));
        let old_len: usize = old_lines[olds.clone()].iter().map(|line| line.len()).sum();
        let new_len: usize = new_lines[news.clone()].iter().map(|line| line.len()).sum();
        if !matches!(op, DiffOp::Equal { .. }) {
            fine(old_at, &old[old_at..old_at + old_len], &new[new_at..new_at + new_len], &mut out);
        }
        (old_at, new_at) = (old_at + old_len, new_at + new_len);
        (old_line, new_line) = (olds.end, news.end);
    }
    out
}

/// Splits one changed stretch into character splices if it is small.
fn fine(at: usize, old: &str, new: &str, out: &mut Vec<Splice>) {
    let (prefix, suffix) = common_ends(old, new);
    let (old_core, new_core) = (&old[prefix..old.len() - suffix], &new[prefix..new.len() - suffix]);
    let at = at + prefix;
    if old_core.is_empty() || new_core.is_empty() || old_core.len() + new_core.len() > FINE_LIMIT {
        push(out, Splice { range: at..at + old_core.len(), text: new_core.to_owned() });
        return;
    }
    let olds: Vec<(usize, char)> = old_core.char_indices().collect();
    let old_chars: Vec<char> = olds.iter().map(|&(_, c)| c).collect();
    let new_chars: Vec<char> = new_core.chars().collect();
    let byte = |index: usize| olds.get(index).map_or(old_core.len(), |&(byte, _)| byte);
    for op in capture_diff_slices(Algorithm::Myers, &old_chars, &new_chars) {
        if !matches!(op, DiffOp::Equal { .. }) {
            let range = at + byte(op.old_range().start)..at + byte(op.old_range().end);
            push(out, Splice { range, text: new_chars[op.new_range()].iter().collect() });
        }
    }
}

/// Adds a splice, joined to the one before when they touch.
fn push(out: &mut Vec<Splice>, splice: Splice) {
    if splice.range.is_empty() && splice.text.is_empty() {
        return;
    }
    match out.last_mut() {
        Some(last) if last.range.end == splice.range.start => {
            last.range.end = splice.range.end;
            last.text.push_str(&splice.text);
        }
        _ => out.push(splice),
    }
}

/// Lengths in bytes of the longest common prefix and, of what is left, suffix; both on character boundaries.
pub fn common_ends(old: &str, new: &str) -> (usize, usize) {
    let mut prefix = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    while !old.is_char_boundary(prefix) || !new.is_char_boundary(prefix) {
        prefix -= 1;
    }
    let (old, new) = (&old[prefix..], &new[prefix..]);
    let mut suffix = old.bytes().rev().zip(new.bytes().rev()).take_while(|(a, b)| a == b).count();
    while !old.is_char_boundary(old.len() - suffix) || !new.is_char_boundary(new.len() - suffix) {
        suffix -= 1;
    }
    (prefix, suffix)
}

/// The lines of a text, each with its LF (a CR before it is part of the line).
pub fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// A unified diff with three lines of context, headed by `name` on both sides. Empty when nothing differs.
pub fn unified(name: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    // Lines as everywhere here: a lone CR is content.
    let diff = TextDiff::configure().newline_terminated(true).diff_slices(&lines(old), &lines(new));
    diff.unified_diff().context_radius(3).header(&format!("a/{name}"), &format!("b/{name}")).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{LineBreaks, Text};
    use proptest::prelude::*;

    #[test]
    fn only_what_differs_is_spliced() {
        fn check(old: &str, new: &str, expected: &[(std::ops::Range<usize>, &str)]) {
            let found = splices(old, new);
            let found: Vec<_> = found.iter().map(|splice| (splice.range.clone(), splice.text.as_str())).collect();
            assert_eq!(found, expected, "{old:?} -> {new:?}");
        }
        check("same\n", "same\n", &[]);
        check("", "a", &[(0..0, "a")]);
        check("a\nb\nc\n", "a\nB\nc\n", &[(2..3, "B")]);
        check("a\nb\nc\n", "a\nc\n", &[(2..4, "")]);
        check("one\ntwo\nthree\nfour\n", "One\ntwo\nthree\nFour\n", &[(0..1, "O"), (14..15, "F")]);
        // The two letters share their first UTF-8 byte: the splice still takes whole characters.
        check("é", "è", &[(0..2, "è")]);
    }

    #[test]
    fn a_unified_diff_counts_lines_as_we_do() {
        let old = "a\rb\nc\r\nd";
        expect_test::expect![[r#"
            "--- a/x.rs\n+++ b/x.rs\n@@ -1,3 +1,3 @@\n a\rb\n-c\r\n+C\r\n d\n\\ No newline at end of file\n"
        "#]]
        .assert_eq(&format!("{:?}\n", unified("x.rs", old, "a\rb\nC\r\nd")));
        assert_eq!(unified("x.rs", old, old), "");
    }

    proptest! {
        #[test]
        fn splices_rebuild_the_new_text(old in "[ab\r\né😀]{0,40}", new in "[ab\r\né😀]{0,40}") {
            let text = Text::new(&old, LineBreaks::Lf).spliced(&splices(&old, &new));
            prop_assert_eq!(text.to_string(), new);
        }
    }
}
