//! The cut: both ends of an output that is too long, the lines of its middle that look like failures, and how to get the
//! rest. Pure.

use std::fmt::Write as _;

use super::failures::looks_failed;
use super::{Excerpt, lines};

/// How much of one output is shown. Bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// At most so much in all, the remarks on what was cut included.
    pub max: usize,
    /// Of that, from the end; the rest is from the beginning.
    pub tail: usize,
}

/// An output as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// What is shown.
    pub text: String,
    /// Whether that is less than all.
    pub truncated: bool,
}

/// Of the budget, at most one part in so many goes to lines from the middle.
const MIDDLE_SHARE: usize = 10;

/// A line from the middle is shown up to so many bytes.
const MIDDLE_LINE: usize = 200;

/// The remarks on what was cut are never longer (bytes), the name of the output aside and for numbers of 12 digits.
const REMARKS: usize = 280;

impl Budget {
    /// The settings' budget, lowered to `wanted` where the caller asks for less; the parts keep their proportion.
    pub fn new(settings: &crate::config::OutputSettings, wanted: Option<usize>) -> Budget {
        let max = wanted.map_or(settings.max_bytes, |wanted| wanted.min(settings.max_bytes));
        let parts = settings.head_bytes.saturating_add(settings.tail_bytes).max(1);
        let tail = usize::try_from(max as u128 * settings.tail_bytes as u128 / parts as u128).unwrap_or(max);
        Budget { max, tail }
    }

    /// The same proportion of at most `max` bytes.
    #[must_use]
    pub fn within(self, max: usize) -> Budget {
        if max >= self.max {
            return self;
        }
        let tail = usize::try_from(max as u128 * self.tail as u128 / self.max.max(1) as u128).unwrap_or(max);
        Budget { max, tail }
    }

    /// Cuts the middle out of a text that is too long: what is left of beginning and end are whole lines where there
    /// are any, lines of the middle that look like failures are kept with their numbers, and it is told what is gone and
    /// how the `output` tool shows it. `id` is the name under which the whole is kept.
    pub fn cut(self, text: &str, id: &str) -> Cut {
        self.cut_numbered(text, id, &|line| line)
    }

    /// The same for a text that is not the whole that is kept: `line_of` gives for a line of the text (1-based) the line
    /// of the whole.
    pub fn cut_numbered(self, text: &str, id: &str, line_of: &dyn Fn(usize) -> usize) -> Cut {
        self.cut_of(text, 0, id, line_of)
    }

    /// The same for an output that is in a file, of what is at hand of it.
    pub fn cut_excerpt(self, excerpt: &Excerpt, id: &str) -> Cut {
        let cut = self.within(Excerpt::SHOWN).cut_of(&excerpt.text, excerpt.missing, id, &|row| excerpt.line_of(row));
        Cut { truncated: true, ..cut }
    }

    fn cut_of(self, text: &str, missing: usize, id: &str, line_of: &dyn Fn(usize) -> usize) -> Cut {
        if text.len() <= self.max {
            return Cut { text: text.to_owned(), truncated: false };
        }
        let room = self.max.saturating_sub(REMARKS + id.len());
        let tail_room = self.tail.min(room);
        let lines_room = (self.max / MIDDLE_SHARE).min(room - tail_room);
        let tail = tail_start(text, tail_room);
        let mut head = head_end(text, room - tail_room - lines_room).min(tail);
        let first = 1 + ends(&text.as_bytes()[..head]);
        let (failures, left_out) = failures(&text[head..tail], lines_room, first, line_of);
        if failures.is_empty() && left_out == 0 {
            // What was kept free for such lines goes to the beginning.
            head = head_end(text, room - tail_room).min(tail);
        }
        let mut out = String::with_capacity(self.max);
        out.push_str(&text[..head]);
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&remark(text, head..tail, missing, id, line_of));
        if !failures.is_empty() {
            out.push_str("[of these, lines that look like failures]\n");
            out.push_str(&failures);
            if left_out > 0 {
                let _ = writeln!(out, "[and {left_out} more such lines]");
            }
            out.push_str("[the end]\n");
        }
        out.push_str(&text[tail..]);
        if out.len() > self.max {
            // Only when there is hardly any room: then the remark itself is what is cut.
            out.truncate(floor(&out, self.max));
        }
        Cut { text: out, truncated: true }
    }
}

/// What is gone, and how to get it. `missing`: so many bytes more than there are in the text.
fn remark(
    text: &str,
    gone: std::ops::Range<usize>,
    missing: usize,
    id: &str,
    line_of: &dyn Fn(usize) -> usize,
) -> String {
    let first = 1 + ends(&text.as_bytes()[..gone.start]);
    let last = 1 + ends(&text.as_bytes()[..gone.end.saturating_sub(1).max(gone.start)]);
    let within = text[..gone.start].rfind('\n').map_or(0, |at| at + 1);
    let column = text[within..gone.start].chars().count() + 1;
    let (first, last) = (line_of(first), line_of(last));
    let mut out = if first == last { format!("[line {first}") } else { format!("[lines {first}-{last}") };
    let _ = write!(
        out,
        " left out here ({} of {} bytes); the `output` tool shows them: id \"{id}\", offset {first}",
        gone.len() + missing,
        text.len() + missing
    );
    if column > 1 {
        let _ = write!(out, ", column {column}");
    }
    out.push_str("]\n");
    out
}

fn ends(text: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', text).count()
}

/// The character boundary at or before a byte offset.
pub(super) fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}

/// Where a beginning of at most `max` bytes ends (a byte offset): after a line, or if the first line is longer, after a
/// character.
pub fn head_end(text: &str, max: usize) -> usize {
    if text.len() <= max {
        return text.len();
    }
    let end = floor(text, max);
    memchr::memrchr(b'\n', &text.as_bytes()[..end]).map_or(end, |at| at + 1)
}

/// Where an end of at most `max` bytes starts: with a line, or if the last line that says something is longer, with a
/// character of it.
pub(super) fn tail_start(text: &str, max: usize) -> usize {
    let start = text.ceil_char_boundary(text.len() - max.min(text.len()));
    let at_line = start == 0 || text.as_bytes()[start - 1] == b'\n';
    match memchr::memchr(b'\n', &text.as_bytes()[start..]) {
        Some(at) if !at_line && !text[start + at + 1..].trim().is_empty() => start + at + 1,
        _ => start,
    }
}

/// The lines that look like failures, as many as there is room for, with their numbers; and how many there was no room
/// for. `first`: the number of the text's first line.
fn failures(text: &str, max: usize, first: usize, line_of: &dyn Fn(usize) -> usize) -> (String, usize) {
    let mut out = String::new();
    let mut left_out = 0;
    for (at, line) in lines(text).enumerate() {
        let line = super::trimmed(line);
        if !looks_failed(line) {
            continue;
        }
        let shown = format!("{}: {}\n", line_of(first + at), &line[..floor(line, MIDDLE_LINE)]);
        if left_out > 0 || out.len() + shown.len() > max {
            left_out += 1;
            continue;
        }
        out.push_str(&shown);
    }
    (out, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::OutputSettings;
    use expect_test::expect;
    use proptest::prelude::*;

    #[test]
    fn a_budget_keeps_its_proportion() {
        for (wanted, max, tail) in
            [(None, 30_000, 8000), (Some(50_000), 30_000, 8000), (Some(3000), 3000, 800), (Some(0), 0, 0)]
        {
            let budget = Budget::new(&OutputSettings::default(), wanted);
            assert_eq!(budget, Budget { max, tail });
            assert_eq!(Budget::new(&OutputSettings::default(), None).within(max), budget);
        }
    }

    #[test]
    fn the_middle_goes() {
        let rows: Vec<String> = (1..=60).map(|line| format!("line {line}")).collect();
        let mut text = rows.join("\n") + "\n";
        text.insert_str(250, "\nerror[E0308]: mismatched types\ntest result: 0 failed\n10 errors\n");
        let cut = Budget { max: 490, tail: 60 }.cut(&text, "o1");
        expect![[r#"
            line 1
            line 2
            line 3
            line 4
            line 5
            line 6
            line 7
            line 8
            line 9
            line 10
            line 11
            line 12
            line 13
            [lines 14-57 left out here (384 of 535 bytes); the `output` tool shows them: id "o1", offset 14]
            [of these, lines that look like failures]
            34: error[E0308]: mismatched types
            36: 10 errors
            [the end]
            line 54
            line 55
            line 56
            line 57
            line 58
            line 59
            line 60
        "#]]
        .assert_eq(&cut.text);
        assert!(cut.truncated);
    }

    #[test]
    fn one_long_line_is_left_out_from_a_column_on() {
        let cut = Budget { max: 400, tail: 60 }.cut(&"é".repeat(1000), "o7");
        expect![[
            r#"[line 1 left out here (1882 of 2000 bytes); the `output` tool shows them: id "o7", offset 1, column 30]"#
        ]]
        .assert_eq(cut.text.lines().nth(1).unwrap());
    }

    #[test]
    fn what_fits_stays() {
        let text = "x".repeat(30_000);
        let budget = Budget::new(&OutputSettings::default(), None);
        assert_eq!(budget.cut(&text, "o1"), Cut { text, truncated: false });
    }

    #[test]
    fn both_ends_of_a_long_text_are_shown() {
        let budget = Budget::new(&OutputSettings::default(), None);
        let text = "H".repeat(24_000) + &"M".repeat(10_000) + &"T".repeat(8000);
        let cut = budget.cut(&text, "o1");
        assert!(cut.text.starts_with(&"H".repeat(21_000)) && cut.text.ends_with(&"T".repeat(7900)));
        assert!(!cut.text.contains('M') && cut.text.contains("\"o1\"") && cut.text.len() <= 30_000);
        // Lines are cut between them.
        let rows: String = (0..600).fold(String::new(), |rows, row| rows + &format!("{row:03} {}\n", "x".repeat(85)));
        let cut = budget.cut(&rows, "o1");
        assert!(cut.text.lines().all(|line| line.len() == 89 || line.starts_with('[')), "{}", cut.text);
    }

    #[test]
    fn the_end_says_something() {
        let text = format!("{}\nlast {}\n\n", "first\n".repeat(200), "x".repeat(300));
        let cut = Budget { max: 900, tail: 100 }.cut(&text, "o1");
        assert!(cut.text.ends_with(&format!("{}\n\n", "x".repeat(98))), "{}", cut.text);
    }

    proptest! {
        #[test]
        fn a_cut_keeps_to_its_budget(text in "([a-zé😀 ]{0,30}(error)?\n?){0,80}", max in 0usize..2000, tail in 0usize..600) {
            let cut = Budget { max, tail: tail.min(max) }.cut(&text, "o12");
            prop_assert!(cut.text.len() <= max || !cut.truncated);
            prop_assert_eq!(cut.truncated, text.len() > max);
            if cut.truncated && max > 800 {
                // What is shown of both ends is really the ends, and the remark names what is between them.
                let at = cut.text.find(" left out here (").unwrap();
                let start = cut.text[..at].rfind("[line").unwrap();
                let head = &cut.text[..start];
                prop_assert!(text.starts_with(head) || text.starts_with(head.strip_suffix('\n').unwrap()));
                let rest = cut.text[at..].split_once("]\n").unwrap().1;
                let end = rest.rsplit_once("[the end]\n").map_or(rest, |(_, end)| end);
                prop_assert!(text.ends_with(end));
                let offset: usize = cut.text[at..].split_once("offset ").unwrap().1
                    .split([',', ']']).next().unwrap().parse().unwrap();
                let last_shown = head.lines().count();
                prop_assert!(offset == last_shown || offset == last_shown + 1, "{offset} {last_shown}");
                prop_assert!(tail < 40 || !end.is_empty());
            }
        }
    }
}
