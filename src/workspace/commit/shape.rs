//! From what a rewrite wants to what is sent or written: the text's own line ends, its byte order mark left alone, and
//! no more replaced than differs. Pure.

use crate::text::{BOM, LineEnd, LineEnds, Splice, Text, diff};
use crate::workspace::{Refusal, RefusalKind};

use super::{Rewrite, Rewritten};

/// An edit of more places than this is sent as so many: an editor keeps its marks and cursors between the places of an
/// edit, but takes its time for each of them.
const MAX_SPLICES: usize = 2000;

/// A change ready to be made.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shaped {
    /// The change; the splices are in bytes of the whole text before, a byte order mark included.
    pub(super) rewritten: Rewritten,
    /// The text after it.
    pub(super) after: Text,
}

/// Asks a rewrite for its change of a text and shapes it. Errors are the rewrite's own, or
/// [`RefusalKind::Failed`] when its splices are not of this text.
pub(super) fn shape(before: &Text, rewrite: &dyn Rewrite) -> Result<Shaped, Refusal> {
    let mark = if before.slice(0..BOM.len_utf8()).starts_with(BOM) { BOM.len_utf8() } else { 0 };
    let bare =
        if mark == 0 { before.clone() } else { before.spliced(&[Splice { range: 0..mark, text: String::new() }]) };
    let mut rewritten = rewrite.rewrite(Some(&bare))?;
    check(&bare, &rewritten.splices)?;
    let ends = uniform(&bare);
    let mut fine: Vec<Splice> = Vec::with_capacity(rewritten.splices.len());
    for mut splice in bare.widened(&rewritten.splices) {
        if splice.range.start == 0 && splice.text.starts_with(BOM) {
            splice.text.drain(..BOM.len_utf8());
        }
        if let Some(end) = ends {
            bring(&bare, end, &mut splice);
        }
        let old = bare.slice(splice.range.clone());
        for part in diff::splices(&old, &splice.text) {
            let range = part.range.start + splice.range.start..part.range.end + splice.range.start;
            fine.push(Splice { range, text: part.text });
        }
    }
    let mut fine = bare.widened(&fewer(&bare, fine, MAX_SPLICES));
    for splice in &mut fine {
        splice.range = splice.range.start + mark..splice.range.end + mark;
    }
    let after = before.spliced(&fine);
    rewritten.splices = fine;
    Ok(Shaped { rewritten, after })
}

/// The same change in at most so many splices: those with the least text between them become one, and take that text
/// along. Nothing before the first and behind the last is touched.
fn fewer(text: &Text, splices: Vec<Splice>, most: usize) -> Vec<Splice> {
    let Some(excess) = splices.len().checked_sub(most).filter(|&excess| excess > 0) else { return splices };
    let mut gaps: Vec<(usize, usize)> = splices
        .windows(2)
        .enumerate()
        .map(|(index, pair)| (pair[1].range.start - pair[0].range.end, index + 1))
        .collect();
    gaps.sort_unstable();
    let closed: std::collections::HashSet<usize> = gaps.into_iter().take(excess).map(|(_, index)| index).collect();
    let mut fewer: Vec<Splice> = Vec::with_capacity(most);
    for (index, splice) in splices.into_iter().enumerate() {
        match fewer.last_mut() {
            Some(last) if closed.contains(&index) => {
                last.text.push_str(&text.slice(last.range.end..splice.range.start));
                last.text.push_str(&splice.text);
                last.range.end = splice.range.end;
            }
            _ => fewer.push(splice),
        }
    }
    fewer
}

/// Asks a rewrite for a new text, where there is none yet.
pub(super) fn shape_new(rewrite: &dyn Rewrite, breaks: crate::text::LineBreaks) -> Result<Shaped, Refusal> {
    let mut rewritten = rewrite.rewrite(None)?;
    let empty = Text::new("", breaks);
    check(&empty, &rewritten.splices)?;
    rewritten.splices = empty.widened(&rewritten.splices);
    Ok(Shaped { after: empty.spliced(&rewritten.splices), rewritten })
}

/// The one kind of line end a text has; `None` for mixed ones, where the rewrite has decided, and for none at all.
pub(super) fn uniform(text: &Text) -> Option<LineEnd> {
    match text.line_ends() {
        LineEnds { lf: 0, crlf: 1.., .. } => Some(LineEnd::Crlf),
        LineEnds { lf: 1.., crlf: 0, .. } => Some(LineEnd::Lf),
        _ => None,
    }
}

/// Brings the new text of a splice to one kind of line end; a CR at its end that would join the LF behind it is the
/// rest of a CRLF that was meant for that place.
fn bring(text: &Text, end: LineEnd, splice: &mut Splice) {
    splice.text = end.apply(&splice.text);
    let follows = text.slice(splice.range.end..splice.range.end + 1);
    let joins = if end == LineEnd::Lf { follows == "\n" } else { follows == "\r" };
    if joins && splice.text.ends_with('\r') && !text.slice(splice.range.clone()).ends_with('\r') {
        splice.text.pop();
    }
}

/// Splices must rise, not overlap, and lie within the text on character boundaries: anything else would edit a wrong
/// place, and is a defect of ours.
fn check(text: &Text, splices: &[Splice]) -> Result<(), Refusal> {
    let mut at = 0;
    for Splice { range, .. } in splices {
        let fits = at <= range.start && range.start <= range.end && range.end <= text.len();
        if !fits || text.floor(range.start) != range.start || text.floor(range.end) != range.end {
            tracing::error!(?range, at, len = text.len(), "a rewrite gave a splice that does not fit its text");
            return Err(Refusal::new(
                RefusalKind::Failed,
                "The edit was computed for a place that is not in the text (a defect of this program); nothing was \
                 changed. Read the file again and try a smaller edit.",
            ));
        }
        at = range.end;
    }
    Ok(())
}

/// A unified diff for people and models: without a byte order mark, and without CRs at the ends of lines unless they
/// are all that differs.
pub(super) fn unified(name: &str, before: &Text, after: &Text) -> String {
    let plain = |text: &Text| {
        let text = text.to_string();
        LineEnd::Lf.apply(text.strip_prefix(BOM).unwrap_or(&text))
    };
    let (old, new) = (plain(before), plain(after));
    if old == new {
        return diff::unified(name, &before.to_string(), &after.to_string());
    }
    diff::unified(name, &old, &new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::LineBreaks;
    use proptest::prelude::*;

    struct Fixed(Vec<Splice>);

    impl Rewrite for Fixed {
        fn rewrite(&self, _: Option<&Text>) -> Result<Rewritten, Refusal> {
            Ok(Rewritten { splices: self.0.clone(), ..Rewritten::default() })
        }
    }

    fn splice(range: std::ops::Range<usize>, text: &str) -> Splice {
        Splice { range, text: text.into() }
    }

    #[test]
    fn line_ends_and_marks_are_the_texts_own() {
        fn check(before: &str, splices: &[Splice], after: &str) {
            let shaped = shape(&Text::new(before, LineBreaks::Lf), &Fixed(splices.to_vec())).unwrap();
            assert_eq!(shaped.after.to_string(), after, "{before:?} {splices:?}");
        }
        check("a\nb\n", &[splice(2..2, "x\r\ny\r\n")], "a\nx\ny\nb\n");
        check("a\r\nb\r\n", &[splice(3..3, "x\ny\n")], "a\r\nx\r\ny\r\nb\r\n");
        check("a\r\nb\n", &[splice(3..3, "x\ny\r\n")], "a\r\nx\ny\r\nb\n");
        check("a", &[splice(1..1, "\r\nb")], "a\r\nb");
        // A line's content with the CR of its CRLF, put where the line end stays.
        check("a\nb\n", &[splice(0..1, "x\r")], "x\nb\n");
        check("a\r\nb\r\n", &[splice(0..1, "x\r")], "x\r\nb\r\n");
        // Ends inside a CRLF.
        check("a\r\nb\r\n", &[splice(2..4, "\nc")], "a\r\nc\r\n");
        check("a\r\nb\r\n", &[splice(0..2, "c")], "c\r\nb\r\n");
        check("\u{feff}a\n", &[splice(0..1, "b")], "\u{feff}b\n");
        check("\u{feff}a\n", &[splice(0..2, "\u{feff}b\n")], "\u{feff}b\n");
        check("a\n", &[splice(0..1, "\u{feff}b")], "b\n");
    }

    #[test]
    fn only_what_differs_is_left() {
        let before = Text::new("one\ntwo\nthree\n", LineBreaks::Lf);
        let shaped = shape(&before, &Fixed(vec![splice(0..14, "One\ntwo\nthree\n")])).unwrap();
        assert_eq!(shaped.rewritten.splices, [splice(0..1, "O")]);
        let shaped = shape(&before, &Fixed(vec![splice(0..3, "one")])).unwrap();
        assert_eq!(shaped.rewritten.splices, []);
    }

    #[test]
    fn an_edit_of_very_many_places_takes_what_is_between_the_nearest_along() {
        let text = Text::new("a-b--c-d---e", LineBreaks::Lf);
        let splices: Vec<Splice> = [0, 2, 5, 7, 11]
            .into_iter()
            .zip(["A", "B", "C", "D", "E"])
            .map(|(at, new)| splice(at..at + 1, new))
            .collect();
        for (most, expected) in [
            (5, splices.clone()),
            (3, vec![splice(0..3, "A-B"), splice(5..8, "C-D"), splice(11..12, "E")]),
            (2, vec![splice(0..8, "A-B--C-D"), splice(11..12, "E")]),
            (1, vec![splice(0..12, "A-B--C-D---E")]),
        ] {
            let found = fewer(&text, splices.clone(), most);
            assert_eq!(found, expected, "{most}");
            assert_eq!(text.spliced(&found), text.spliced(&splices));
        }
        let lines = MAX_SPLICES + 100;
        let before = Text::new(&"one\n".repeat(lines), LineBreaks::Lf);
        let all = (0..lines).map(|line| splice(4 * line..4 * line + 3, "two")).collect();
        let shaped = shape(&before, &Fixed(all)).unwrap();
        assert_eq!(shaped.rewritten.splices.len(), MAX_SPLICES);
        assert_eq!(shaped.after.to_string(), "two\n".repeat(lines));
    }

    #[test]
    fn splices_of_another_text_are_refused() {
        for splices in [
            vec![splice(0..9, "")],
            vec![splice(2..3, ""), splice(1..2, "")],
            vec![splice(1..2, "x")],
            vec![Splice { range: std::ops::Range { start: 3, end: 2 }, text: String::new() }],
        ] {
            let refused = shape(&Text::new("é\n", LineBreaks::Lf), &Fixed(splices.clone())).unwrap_err();
            assert_eq!(refused.kind, RefusalKind::Failed, "{splices:?}");
        }
    }

    proptest! {
        /// In a text with one kind of line end nothing but the asked for changes, and the splices are ones an editor
        /// can be sent: rising, apart, not within a CRLF.
        #[test]
        fn shaping_keeps_the_meaning(
            lines in prop::collection::vec("[ab😀]{0,3}", 1..6),
            crlf in any::<bool>(),
            cuts in prop::collection::vec((0usize..40, 0usize..6, "[ab\nX]{0,4}"), 1..4),
        ) {
            let end = if crlf { LineEnd::Crlf } else { LineEnd::Lf };
            let text = Text::new(&lines.join(end.as_str()), LineBreaks::Lf);
            let (mut splices, mut at) = (Vec::new(), 0);
            for (gap, len, new) in cuts {
                let start = text.floor(at + gap);
                let stop = text.floor(start + len);
                splices.push(splice(start..stop, &new));
                at = stop;
            }
            let plain = text.spliced(&splices);
            let shaped = shape(&text, &Fixed(splices)).unwrap();
            prop_assert_eq!(&text.spliced(&shaped.rewritten.splices), &shaped.after);
            // Cuts within a CRLF leave half of it behind, which the shape makes whole again.
            if !crlf {
                prop_assert_eq!(plain.to_string(), shaped.after.to_string());
            }
            let mut last = None;
            for splice in &shaped.rewritten.splices {
                prop_assert!(last.is_none_or(|last| last < splice.range.start));
                prop_assert_eq!(&text.widen(splice), splice);
                last = Some(splice.range.end);
            }
        }
    }
}
