//! [`Text`] against the plain string of [`model`](crate::text::model).

use proptest::prelude::*;

use super::*;
use crate::text::model::{self, BREAKS, ENCODINGS};

/// Everything that can be asked of a text is what the model says of the string.
fn assert_is(text: &Text, expected: &str) -> Result<(), TestCaseError> {
    prop_assert_eq!(text.to_string(), expected);
    prop_assert_eq!(text.len(), expected.len());
    let lines = model::lines(expected, text.breaks());
    prop_assert_eq!(text.line_count(), lines.len());
    for (line, &(start, end)) in lines.iter().enumerate() {
        prop_assert_eq!((text.line_start(line), text.line_end(line)), (start, end), "line {}", line);
    }
    prop_assert_eq!(text.line_start(lines.len()), expected.len());
    for from in [0, 1, lines.len() / 2, lines.len() - 1, lines.len(), lines.len() + 1] {
        let walked: Vec<_> = text.lines_from(from).collect();
        let contents: Vec<_> = lines.iter().skip(from).map(|&(start, end)| &expected[start..end]).collect();
        prop_assert_eq!(walked, contents, "from line {}", from);
    }
    prop_assert_eq!(&text.lone_crs, &Text::new(expected, text.breaks()).lone_crs, "the list of lone CRs");
    Ok(())
}

/// A splice of a text: ends at any character boundary, a piece of odd text between.
fn splice_of(text: &str, (a, b): (prop::sample::Index, prop::sample::Index), new: String) -> Splice {
    let bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let (a, b) = (*a.get(&bounds), *b.get(&bounds));
    Splice { range: a.min(b)..a.max(b), text: new }
}

/// Splices of one text that do not overlap, in rising order.
fn splices_of(text: &str, ends: Vec<(prop::sample::Index, String)>) -> Vec<Splice> {
    let bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let mut ends: Vec<(usize, String)> = ends.into_iter().map(|(at, new)| (*at.get(&bounds), new)).collect();
    ends.sort();
    ends.chunks_exact(2).map(|pair| Splice { range: pair[0].0..pair[1].0, text: pair[0].1.clone() }).collect()
}

fn spliced(text: &str, splices: &[Splice]) -> String {
    let mut out = String::new();
    let mut at = 0;
    for splice in splices {
        out.push_str(&text[at..splice.range.start]);
        out.push_str(&splice.text);
        at = splice.range.end;
    }
    out + &text[at..]
}

fn ends(of: impl Strategy<Value = String>) -> impl Strategy<Value = (String, Vec<(prop::sample::Index, String)>)> {
    (of, prop::collection::vec((any::<prop::sample::Index>(), model::text()), 0..8))
}

#[test]
fn lines_end_where_the_editor_says() {
    fn check(text: &str, breaks: LineBreaks, expected: &[&str]) {
        let text = Text::new(text, breaks);
        let lines: Vec<String> = (0..text.line_count()).map(|line| text.line(line)).collect();
        assert_eq!(lines, expected, "{text:?}");
    }
    check("", LineBreaks::Lf, &[""]);
    check("a\nb\r\nc", LineBreaks::Lf, &["a", "b", "c"]);
    check("a\n", LineBreaks::Lf, &["a", ""]);
    check("a\rb\r\rc\n", LineBreaks::Lf, &["a\rb\r\rc", ""]);
    check("a\rb\r\rc\n", LineBreaks::Lsp, &["a", "b", "", "c", ""]);
    check("\r\r\n\n\r", LineBreaks::Lsp, &["", "", "", "", ""]);
    for breaks in BREAKS {
        check("a\u{b}b\u{c}c\u{85}d\u{2028}e\u{2029}f\0g", breaks, &["a\u{b}b\u{c}c\u{85}d\u{2028}e\u{2029}f\0g"]);
    }
}

#[test]
fn positions_that_do_not_fit_are_told_apart() {
    use Clamp::{Exact, MidCharacter, PastEnd};
    fn check(text: &str, breaks: LineBreaks, encoding: Encoding, at: (u32, u32), expected: (usize, Clamp)) {
        let found = Text::new(text, breaks).byte_of(Position::new(at.0, at.1), encoding);
        assert_eq!(found, expected, "{text:?} {encoding:?} {at:?}");
    }
    check("a😀b", LineBreaks::Lf, Encoding::Utf16, (0, 3), (5, Exact));
    check("a😀b", LineBreaks::Lf, Encoding::Utf16, (0, 2), (1, MidCharacter));
    check("a😀b", LineBreaks::Lf, Encoding::Utf8, (0, 3), (1, MidCharacter));
    check("a😀b", LineBreaks::Lf, Encoding::Utf32, (0, 2), (5, Exact));
    check("ab\ncd", LineBreaks::Lf, Encoding::Utf16, (0, 9), (2, PastEnd));
    check("ab\ncd", LineBreaks::Lf, Encoding::Utf16, (7, 0), (5, PastEnd));
    check("ab\r\ncd", LineBreaks::Lf, Encoding::Utf16, (0, 9), (2, PastEnd));
    // Neovim in a file with both kinds of line ends: the CR is a character of the line.
    check("ab\r\ncd", LineBreaks::Lf, Encoding::Utf16, (0, 3), (3, Exact));
    check("ab\r\ncd", LineBreaks::Lsp, Encoding::Utf16, (0, 3), (2, PastEnd));
}

proptest! {
    #[test]
    fn a_text_is_its_string(string in model::text()) {
        for breaks in BREAKS {
            assert_is(&Text::new(&string, breaks), &string)?;
        }
    }

    #[test]
    fn a_spliced_text_is_the_spliced_string(
        string in prop_oneof![9 => model::text(), 1 => model::long_text()],
        splices in prop::collection::vec((any::<(prop::sample::Index, prop::sample::Index)>(), model::text()), 1..6),
    ) {
        for breaks in BREAKS {
            let mut expected = string.clone();
            let mut text = Text::new(&string, breaks);
            for (ends, new) in splices.clone() {
                let splice = splice_of(&expected, ends, new);
                let inverse = splice.inverse(&text);
                let before = text.clone();
                text.splice(&splice);
                expected.replace_range(splice.range.clone(), &splice.text);
                assert_is(&text, &expected)?;
                let mut back = text.clone();
                back.splice(&inverse);
                prop_assert_eq!(&back, &before);
                prop_assert_eq!(&back.lone_crs, &before.lone_crs);
            }
        }
    }

    #[test]
    fn splices_of_one_text_go_in_at_once((string, ends) in ends(model::text())) {
        let splices = splices_of(&string, ends);
        for breaks in BREAKS {
            assert_is(&Text::new(&string, breaks).spliced(&splices), &spliced(&string, &splices))?;
        }
    }

    #[test]
    fn positions_are_the_models(string in model::text(), positions in prop::collection::vec(model::position(), 1..8)) {
        for breaks in BREAKS {
            let text = Text::new(&string, breaks);
            for encoding in ENCODINGS {
                for &position in &positions {
                    let expected = model::byte_of(&string, breaks, encoding, position);
                    prop_assert_eq!(text.byte_of(position, encoding), expected, "{:?} {:?}", position, encoding);
                }
            }
        }
    }

    #[test]
    fn a_byte_is_found_again_by_its_position(string in prop_oneof![9 => model::text(), 1 => model::long_text()]) {
        for breaks in BREAKS {
            let text = Text::new(&string, breaks);
            // Of a long text the last stretch is enough.
            for byte in string.len().saturating_sub(60)..=string.len() {
                if !string.is_char_boundary(byte) {
                    prop_assert!(text.floor(byte) < byte);
                    continue;
                }
                for encoding in ENCODINGS {
                    let position = text.position_of(byte, encoding);
                    prop_assert_eq!(position, model::position_of(&string, breaks, encoding, byte));
                    let inside_crlf = string[..byte].ends_with('\r') && string[byte..].starts_with('\n');
                    let expected = if inside_crlf { byte - 1 } else { byte };
                    prop_assert_eq!(text.byte_of(position, encoding), (expected, Clamp::Exact));
                }
            }
        }
    }

    #[test]
    fn an_editor_that_applies_the_edits_has_the_spliced_text((string, ends) in ends(model::text())) {
        let splices = splices_of(&string, ends);
        let expected = spliced(&string, &splices);
        for breaks in BREAKS {
            let text = Text::new(&string, breaks);
            for encoding in ENCODINGS {
                let widened = text.widened(&splices);
                prop_assert!(widened.windows(2).all(|pair| pair[0].range.end < pair[1].range.start));
                let edits: Vec<TextEdit> =
                    widened.iter().map(|splice| text.edit_of(splice, encoding)).collect();
                // Every range counts in the text before, so the last edit goes first. VS Code looks all places up first.
                let mut edited = string.clone();
                for edit in edits.iter().rev() {
                    let (start, first) = model::byte_of(&string, breaks, encoding, edit.range.start);
                    let (end, second) = model::byte_of(&string, breaks, encoding, edit.range.end);
                    prop_assert_eq!((first, second), (Clamp::Exact, Clamp::Exact));
                    edited.replace_range(start..end, &edit.new_text);
                }
                prop_assert_eq!(&edited, &expected);
                // Neovim and Emacs look each place up when its turn comes. A CR and the LF of a later edit may have
                // become a line end by then, but not to those who count LFs.
                if breaks == LineBreaks::Lf {
                    let edited = edits.iter().rev().fold(string.clone(), |edited, edit| {
                        model::change(&edited, breaks, encoding, edit.range, &edit.new_text).0
                    });
                    prop_assert_eq!(&edited, &expected);
                }
            }
        }
    }

    #[test]
    fn a_widened_splice_comes_back_from_its_edit(
        string in model::text(),
        ends: (prop::sample::Index, prop::sample::Index),
        new in model::text(),
    ) {
        let splice = splice_of(&string, ends, new);
        for breaks in BREAKS {
            let text = Text::new(&string, breaks);
            let widened = text.widen(&splice);
            prop_assert_eq!(text.spliced(std::slice::from_ref(&widened)), text.spliced(std::slice::from_ref(&splice)));
            prop_assert!(widened.range.start <= splice.range.start && widened.range.end >= splice.range.end);
            for encoding in ENCODINGS {
                let found = text.splice_of(&text.edit_of(&widened, encoding), encoding);
                prop_assert_eq!(found, (widened.clone(), Clamp::Exact));
            }
        }
    }

    #[test]
    fn the_same_lines_are_the_same_lines(left in "[a\r\n]{0,6}", right in "[a\r\n]{0,6}") {
        let (a, b) = (left.replace("\r\n", "\n"), right.replace("\r\n", "\n"));
        let expected = a == b || a == format!("{b}\n") || b == format!("{a}\n");
        let same = Text::new(&left, LineBreaks::Lf).same_lines(&Text::new(&right, LineBreaks::Lf));
        prop_assert_eq!(same, expected);
    }
}
