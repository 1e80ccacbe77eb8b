//! Taking a change back out of a text that others have changed since. Pure.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::text::diff::lines;

/// A text with a change taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::workspace) struct Reverted {
    /// The text.
    pub(in crate::workspace) text: String,
    /// How many stretches of the change stay, since others changed the very lines.
    pub(in crate::workspace) left: usize,
    /// How many were taken back.
    pub(in crate::workspace) taken: usize,
}

/// A stretch of lines that one text has in place of another's.
struct Change {
    old: Range<usize>,
    new: Range<usize>,
}

/// Takes the change from `before` to `after` back out of `now`, a text that grew out of `after`.
///
/// What others put between lines of the change stays, in its place; where they changed or removed the very lines of a
/// stretch of it, the stretch stays as they left it.
pub(in crate::workspace) fn revert(before: &str, after: &str, now: &str) -> Reverted {
    if now == after {
        let taken = usize::from(before != after);
        return Reverted { text: before.to_owned(), left: 0, taken };
    }
    let (befores, afters, nows) = (lines(before), lines(after), lines(now));
    // A line end that was put behind the last line, or is another one now, does not make a line somebody else's.
    let ours = changes(&contents(&afters), &contents(&nows));
    let back = changes(&afters, &befores);
    let mut out = String::with_capacity(now.len());
    let (mut left, mut taken) = (0, 0);
    let mut walk = Walk { nows: &nows, ours: &ours, next: 0, at: 0, now: 0, end: afters.len() };
    for change in &back {
        walk.until(change.old.start, &mut out);
        if walk.changed_within(&change.old) {
            left += 1;
            walk.until(change.old.end, &mut out);
            continue;
        }
        taken += 1;
        walk.put_in_before(&change.old, &mut out);
        put(&befores[change.new.clone()], &mut out);
        walk.skip(change.old.end, &mut out);
    }
    walk.finish(&mut out);
    Reverted { text: out, left, taken }
}

/// A stretch of a change that was to be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::workspace) struct Stretch {
    /// What it has in `before`, in bytes.
    pub(in crate::workspace) at: Range<usize>,
    /// It stays, since others changed the very lines.
    pub(in crate::workspace) left: bool,
}

impl Stretch {
    /// Which of some places, apart from one another, have a part in it.
    pub(in crate::workspace) fn among<'a>(&self, places: &'a [Range<usize>]) -> impl Iterator<Item = usize> + 'a {
        let Range { start, end } = self.at;
        // What takes lines out is that of whoever has nothing there, if somebody has.
        let here = start == end && places.contains(&self.at);
        let meets = move |place: &Range<usize>| match (start == end, place.is_empty()) {
            (true, _) if here => *place == (start..end),
            (false, false) => place.start < end && start < place.end,
            _ => place.start <= end && start <= place.end,
        };
        places.iter().enumerate().filter(move |(_, place)| meets(place)).map(|(at, _)| at)
    }
}

/// What [`revert`] takes back and what it leaves, in the order of the text.
pub(in crate::workspace) fn stretches(before: &str, after: &str, now: &str) -> Vec<Stretch> {
    let (befores, afters, nows) = (lines(before), lines(after), lines(now));
    let ours = changes(&contents(&afters), &contents(&nows));
    let ours: Vec<&Change> = ours.iter().filter(|change| !change.old.is_empty()).collect();
    let (mut line, mut byte, mut next) = (0, 0, 0);
    let mut stretch = |change: &Change| {
        byte += befores[line..change.new.start].iter().map(|line| line.len()).sum::<usize>();
        let start = byte;
        byte += befores[change.new.clone()].iter().map(|line| line.len()).sum::<usize>();
        line = change.new.end;
        while ours.get(next).is_some_and(|our| our.old.end <= change.old.start) {
            next += 1;
        }
        let left = now != after && ours.get(next).is_some_and(|our| our.old.start < change.old.end);
        Stretch { at: start..byte, left }
    };
    changes(&afters, &befores).iter().map(&mut stretch).collect()
}

fn contents<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    lines.iter().map(|line| line.trim_end_matches(['\r', '\n'])).collect()
}

fn changes(old: &[&str], new: &[&str]) -> Vec<Change> {
    let mut out: Vec<Change> = Vec::new();
    for op in capture_diff_slices(Algorithm::Myers, old, new) {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        let (old, new) = (op.old_range(), op.new_range());
        match out.last_mut() {
            Some(last) if last.old.end == old.start && last.new.end == new.start => {
                (last.old.end, last.new.end) = (old.end, new.end);
            }
            _ => out.push(Change { old, new }),
        }
    }
    out
}

/// Adds lines; one that needs a line end before others follow gets one.
fn put(lines: &[&str], out: &mut String) {
    for line in lines {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(line);
    }
}

/// A walk over the lines of `after`, giving out what has become of them.
struct Walk<'a> {
    nows: &'a [&'a str],
    ours: &'a [Change],
    /// The next of `ours`.
    next: usize,
    /// The next line of `after`, and the line of `now` that it, or what is there in its place, is.
    at: usize,
    now: usize,
    /// How many lines `after` has.
    end: usize,
}

impl<'a> Walk<'a> {
    /// The next change, if it begins before `end`.
    fn change(&self, end: usize) -> Option<&'a Change> {
        self.ours.get(self.next).filter(|change| change.old.start < end)
    }

    /// Gives out the lines before `end` as they are now. What was put in right before `end` is left for later.
    fn until(&mut self, end: usize, out: &mut String) {
        while self.at < end {
            match self.change(end) {
                Some(change) if change.old.start == self.at => self.give(change, out),
                change => {
                    let stop = change.map_or(end, |change| change.old.start);
                    let lines = stop - self.at;
                    put(&self.nows[self.now..self.now + lines], out);
                    (self.at, self.now) = (stop, self.now + lines);
                }
            }
        }
    }

    /// Gives out what stands in place of the lines of a change.
    fn give(&mut self, change: &Change, out: &mut String) {
        put(&self.nows[change.new.clone()], out);
        (self.at, self.now) = (change.old.end, change.new.end);
        self.next += 1;
    }

    /// Whether lines of a stretch that begins here were changed or removed, or, for an empty stretch, whether what is
    /// changed reaches over it.
    fn changed_within(&self, stretch: &Range<usize>) -> bool {
        let within = self.ours[self.next..].iter().take_while(|change| change.old.start < stretch.end);
        self.at > stretch.start || within.into_iter().any(|change| !change.old.is_empty())
    }

    /// Gives out what was put in right before the first line of a stretch; of an empty one nobody knows on which side of it
    /// that is.
    fn put_in_before(&mut self, stretch: &Range<usize>, out: &mut String) {
        if let Some(change) = self.change(stretch.end).filter(|change| change.old == (stretch.start..stretch.start)) {
            self.give(change, out);
        }
    }

    /// Leaves out the lines before `end`, none of which was changed, but gives out what was put in among them.
    fn skip(&mut self, end: usize, out: &mut String) {
        while let Some(change) = self.change(end) {
            self.give(change, out);
        }
        self.now += end - self.at;
        self.at = end;
    }

    fn finish(&mut self, out: &mut String) {
        self.until(self.end, out);
        put(&self.nows[self.now..], out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_taken_back_round_what_others_did() {
        fn check(before: &str, after: &str, now: &str, expected: &str, left: usize) {
            let joined =
                |text: &str| text.split(' ').filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n") + "\n";
            let reverted = revert(&joined(before), &joined(after), &joined(now));
            assert_eq!(reverted.text.lines().collect::<Vec<_>>().join(" "), expected, "{before} / {after} / {now}");
            assert_eq!(reverted.left, left, "{before} / {after} / {now}");
        }
        check("a", "b", "b", "a", 0);
        check("a b c", "a B c", "a B c", "a b c", 0);
        check("a b c", "a B c", "0 a B c d", "0 a b c d", 0);
        // Lines of the user between lines of the agent stay.
        check("a z", "a 1 2 3 z", "a 1 user 2 3 z", "a user z", 0);
        check("a z", "a 1 2 3 z", "a 1 2 3 user z", "a user z", 0);
        check("a z", "a 1 2 3 z", "a user 1 2 3 z", "a user z", 0);
        // What was put in before or behind a changed line is there afterwards.
        check("a b c", "a B c", "a user B c", "a user b c", 0);
        check("a b c", "a B c", "a B user c", "a b user c", 0);
        check("a b B c", "a x y c", "a user x y c", "a user b B c", 0);
        // A line of the agent that the user changed stays as it is.
        check("a b c", "a B c", "a user c", "a user c", 1);
        check("a b c d", "a B c D", "a user c D", "a user c d", 1);
        // Removed lines come back.
        check("a b c", "a c", "a c", "a b c", 0);
        check("a b c", "a c", "a user c", "a b user c", 0);
        check("a b c", "a c", "a d", "a b d", 0);
        check("a b c", "a c", "c", "b c", 0);
    }

    proptest::proptest! {
        #[test]
        fn what_stays_is_told_stretch_by_stretch(texts in proptest::collection::vec("([a-c]\n){0,8}[a-c]?", 3)) {
            let [before, after, now] = &texts[..] else { unreachable!() };
            let reverted = revert(before, after, now);
            let stretches = stretches(before, after, now);
            let left = stretches.iter().filter(|stretch| stretch.left).count();
            proptest::prop_assert_eq!((left, stretches.len() - left), (reverted.left, reverted.taken));
        }
    }

    #[test]
    fn a_stretch_is_of_the_places_that_have_a_part_in_it() {
        let places = [0..4, 4..4, 4..8, 12..16];
        for (at, expected) in
            [(0..2, vec![0]), (4..4, vec![1]), (2..6, vec![0, 1, 2]), (8..8, vec![2]), (9..11, vec![])]
        {
            assert_eq!(Stretch { at: at.clone(), left: false }.among(&places).collect::<Vec<_>>(), expected, "{at:?}");
        }
    }

    #[test]
    fn a_missing_last_line_end_joins_no_lines() {
        assert_eq!(revert("a\nb", "a\n", "a\nuser").text, "a\nb\nuser");
        assert_eq!(revert("a", "a\nb", "a\nb").text, "a");
        assert_eq!(revert("x\n", "x\ny", "x\ny\nuser\n").text, "x\nuser\n");
    }
}
