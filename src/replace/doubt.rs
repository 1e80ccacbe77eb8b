//! Where a place has other lines than old, a line of old may stand for more than one line of it: what new does to such
//! a line is refused.
//!
//! The pairing of lines is the most alike there is. That does not say that it is the one old means: of two braces, of
//! which old has one, either may be it. Where new leaves them both alone it makes no difference.

use std::collections::HashSet;
use std::ops::Range;

use super::lines::{Lines, blank, indentation, trim};
use super::script::Step;
use super::tokens::alike;

/// So many lines further on are looked at, where lines have an odd depth: fixture 224.
const FURTHER: isize = 3;

/// What is looked at.
pub(super) struct Doubt<'a> {
    /// The whole text.
    pub(super) whole: &'a Lines<'a>,
    /// The lines of the place in it, 0-based.
    pub(super) place: Range<usize>,
    /// Old, line by line.
    pub(super) old: &'a [&'a str],
    /// New, line by line.
    pub(super) new: &'a [&'a str],
    /// For each line of old its line in the place, counted from the place's first; rising.
    pub(super) partners: &'a [Option<usize>],
    /// What new does to old.
    pub(super) steps: &'a [Step],
}

/// New lines that come one after the other: the line of old that they come before, and which they are.
struct Added {
    gap: usize,
    lines: Range<usize>,
}

impl Doubt<'_> {
    /// A line of old (0-based; as many as old has for its end) that is in doubt and that new does something to.
    pub(super) fn line(&self) -> Option<usize> {
        let surplus: Vec<usize> = self.surplus();
        let lost: Vec<usize> =
            (0..self.old.len()).filter(|&line| self.partners[line].is_none() && !blank(self.old[line])).collect();
        let mut touched = vec![false; self.old.len() + 1];
        for step in self.steps {
            if let Step::Change(old, _) | Step::Drop(old) = *step {
                touched[old] = true;
            }
        }
        let added = self.added();
        let twins = self.twins(&touched, &surplus, &lost);
        if surplus.is_empty() && lost.is_empty() {
            return twins.or_else(|| self.deeper(&touched, &added));
        }
        twins
            .or_else(|| self.beside_twins(&touched, &added))
            .or_else(|| self.made_already(&added, &surplus))
            .or_else(|| self.loose_end(&touched, &added, &surplus))
            .or_else(|| self.shifted(&touched, &added, &surplus, &lost))
            .or_else(|| self.slides(&added, &surplus, &lost))
    }

    fn here(&self, at: usize) -> &str {
        self.whole.content(self.place.start + at)
    }

    /// Lines of the place that pair with none of old, blank ones aside.
    fn surplus(&self) -> Vec<usize> {
        let mut left = vec![true; self.place.len()];
        for &at in self.partners.iter().flatten() {
            left[at] = false;
        }
        (0..left.len()).filter(|&at| left[at] && !blank(self.here(at))).collect()
    }

    /// Lines of the place that pair with one that reads otherwise, and those of old that they pair with.
    fn stale(&self) -> (Vec<usize>, Vec<usize>) {
        let pairs = self.partners.iter().enumerate().filter_map(|(line, at)| Some(((*at)?, line)));
        pairs.filter(|&(at, line)| !blank(self.old[line]) && !alike(self.old[line], self.here(at))).unzip()
    }

    fn added(&self) -> Vec<Added> {
        let (mut added, mut gap): (Vec<Added>, usize) = (Vec::new(), 0);
        for step in self.steps {
            match *step {
                Step::Keep(old, _) | Step::Change(old, _) | Step::Drop(old) => gap = old + 1,
                Step::Add(new) => match added.last_mut().filter(|last| last.gap == gap && last.lines.end == new) {
                    Some(last) => last.lines.end = new + 1,
                    None => added.push(Added { gap, lines: new..new + 1 }),
                },
            }
        }
        added
    }

    /// A line that new changes or takes out, and that reads like one which only the place, or only old, has (or which
    /// the other has otherwise); or one that only old has, new changes, and another line of old reads like.
    fn twins(&self, touched: &[bool], surplus: &[usize], lost: &[usize]) -> Option<usize> {
        let (here, stale) = self.stale();
        let only_here: HashSet<&str> = surplus.iter().chain(&here).map(|&at| trim(self.here(at))).collect();
        let only_old: HashSet<&str> = lost.iter().chain(&stale).map(|&line| trim(self.old[line])).collect();
        let as_it_is = |line: &usize| self.partners[*line].is_some() && stale.binary_search(line).is_err();
        let changed: HashSet<&str> =
            lost.iter().filter(|&&line| touched[line]).map(|&line| trim(self.old[line])).collect();
        (0..self.old.len()).filter(as_it_is).find(|&line| {
            let text = trim(self.old[line]);
            (touched[line] && (only_here.contains(text) || only_old.contains(text))) || changed.contains(text)
        })
    }

    /// A line beside which new puts lines in, or takes out one that the place lacks, and next to which the place has
    /// another that reads like it.
    fn beside_twins(&self, touched: &[bool], added: &[Added]) -> Option<usize> {
        let lacking = (0..self.old.len()).filter(|&line| touched[line] && self.partners[line].is_none());
        added.iter().map(|added| added.gap).chain(lacking).find(|&gap| {
            let before = self.partners[..gap].iter().rposition(Option::is_some);
            let after = (gap..self.old.len()).find(|&line| self.partners[line].is_some());
            before.into_iter().chain(after).any(|line| {
                let (from, _) = self.between(line);
                let (_, to) = self.between(line + 1);
                let text = trim(self.old[line]);
                let like = (from..to).filter(|&at| trim(self.here(at)) == text).count();
                !text.is_empty() && like > 1
            })
        })
    }

    /// New lines one of which only the place has, unless it has all of them just there.
    fn made_already(&self, added: &[Added], surplus: &[usize]) -> Option<usize> {
        let only_here: HashSet<&str> = surplus.iter().map(|&at| trim(self.here(at))).collect();
        let there = |added: &Added| {
            let (from, to) = self.between(added.gap);
            let here: Vec<&str> = (from..to).map(|at| trim(self.here(at))).filter(|line| !line.is_empty()).collect();
            let new: Vec<&str> =
                added.lines.clone().map(|line| trim(self.new[line])).filter(|line| !line.is_empty()).collect();
            here == new
        };
        let some = |added: &&Added| added.lines.clone().any(|line| only_here.contains(trim(self.new[line])));
        added.iter().filter(some).find(|added| !there(added)).map(|added| added.gap)
    }

    /// The lines of the place between the last partner before a line of old and the next one's.
    fn between(&self, gap: usize) -> (usize, usize) {
        let from = self.partners[..gap].iter().rev().flatten().next().map_or(0, |at| at + 1);
        let to = self.partners[gap..].iter().flatten().next().copied().unwrap_or(self.place.len());
        (from, to)
    }

    /// Lines at an end of old that are no longer than what old left out next to them: they may as well be what the model
    /// made up.
    fn loose_end(&self, touched: &[bool], added: &[Added], surplus: &[usize]) -> Option<usize> {
        let length = |line: &str| trim(line).len();
        let paired: Vec<(usize, usize)> =
            self.partners.iter().enumerate().filter_map(|(line, at)| at.map(|at| (line, at))).collect();
        let solid: Vec<(usize, usize)> = paired.into_iter().filter(|&(line, _)| !blank(self.old[line])).collect();
        // The lines that only the place has between two partners, if old has not as many of its own there.
        let left_out = |pair: &[(usize, usize)]| -> usize {
            let here = surplus.partition_point(|&at| at < pair[0].1)..surplus.partition_point(|&at| at < pair[1].1);
            let own = (pair[0].0 + 1..pair[1].0).filter(|&line| !blank(self.old[line])).count();
            if here.len() > own { surplus[here].iter().map(|&at| length(self.here(at))).sum() } else { 0 }
        };
        let loose = |lines: Range<usize>, gaps: Range<usize>| {
            touched[lines].contains(&true) || added.iter().any(|added| gaps.contains(&added.gap))
        };
        let first = solid.windows(2).position(|pair| left_out(pair) > 0)?;
        let head: usize = solid[..=first].iter().map(|&(line, _)| length(self.old[line])).sum();
        let end = solid[first].0 + 1;
        if head <= left_out(&solid[first..first + 2]) && loose(0..end, 0..end) {
            return Some(0);
        }
        let last = solid.windows(2).rposition(|pair| left_out(pair) > 0)?;
        let tail: usize = solid[last + 1..].iter().map(|&(line, _)| length(self.old[line])).sum();
        let start = solid[last + 1].0;
        let count = self.old.len();
        (tail <= left_out(&solid[last..last + 2]) && loose(start..count, start + 1..count + 1)).then_some(start)
    }

    /// Lines up to an end of old that would fit the text as well so many lines further, as old has lines more there than
    /// the place has.
    fn shifted(&self, touched: &[bool], added: &[Added], surplus: &[usize], lost: &[usize]) -> Option<usize> {
        let more = lost.len().checked_sub(surplus.len()).filter(|&more| more > 0)?;
        let (first, last) = (*lost.first()?, *lost.last()?);
        let does = |lines: Range<usize>| {
            touched[lines.clone()].contains(&true)
                || added.iter().any(|added| (lines.start..=lines.end).contains(&added.gap))
        };
        let fits = |lines: Range<usize>, to: &dyn Fn(usize) -> Option<usize>| {
            lines.clone().any(|line| !blank(self.old[line]))
                && lines.into_iter().all(|line| match self.partners[line] {
                    None => true,
                    Some(at) => to(self.place.start + at)
                        .filter(|&at| at < self.whole.count())
                        .is_some_and(|at| trim(self.whole.content(at)) == trim(self.old[line])),
                })
        };
        let (head, tail) = (0..first, last + 1..self.old.len());
        if does(first..self.old.len()) && fits(tail, &|at| at.checked_add(more)) {
            return Some(last);
        }
        (does(0..first + 1) && fits(head, &|at| at.checked_sub(more))).then_some(first)
    }

    /// Lines up to an end of old that have another depth in the place than the rest would have them have, where the lines a
    /// little further on have just that depth: then it may be those, and the place has lines between that old lacks.
    fn deeper(&self, touched: &[bool], added: &[Added]) -> Option<usize> {
        let does = |lines: Range<usize>| {
            touched[lines.clone()].contains(&true)
                || added.iter().any(|added| (lines.start..=lines.end).contains(&added.gap))
        };
        let depth = |line: &str| indentation(line).len().cast_signed();
        // By how much a line of old goes deeper in a line of the whole text.
        let moved = |line: usize, at: usize| depth(self.whole.content(at)) - depth(self.old[line]);
        let solid: Vec<(usize, usize)> = (0..self.old.len())
            .filter(|&line| !blank(self.old[line]))
            .filter_map(|line| Some((line, self.place.start + self.partners[line]?)))
            .collect();
        let (&(head, from), &(tail, to)) = (solid.first()?, solid.last()?);
        let fits = |lines: &[(usize, usize)], by: isize, like: isize| {
            lines.iter().all(|&(line, at)| {
                at.checked_add_signed(by)
                    .filter(|&at| at < self.whole.count())
                    .is_some_and(|at| trim(self.whole.content(at)) == trim(self.old[line]) && moved(line, at) == like)
            })
        };
        let (first, last) = (moved(head, from), moved(tail, to));
        let odd = solid.iter().position(|&(line, at)| moved(line, at) != first)?;
        if does(solid[odd].0..self.old.len()) && (1..=FURTHER).any(|by| fits(&solid[odd..], by, first)) {
            return Some(solid[odd].0);
        }
        let odd = solid.iter().rposition(|&(line, at)| moved(line, at) != last)?;
        let end = solid[odd].0 + 1;
        (does(0..end) && (1..=FURTHER).any(|by| fits(&solid[..=odd], -by, last))).then(|| end - 1)
    }

    /// Lines that new takes out or puts in, where the same lines further up or down make the same new of old, and the
    /// place has other lines than old between here and there.
    fn slides(&self, added: &[Added], surplus: &[usize], lost: &[usize]) -> Option<usize> {
        // The gaps of old where it has other lines than the place.
        let mut odd: Vec<usize> = lost.iter().flat_map(|&line| [line, line + 1]).collect();
        for &at in surplus {
            let before = self.partners.iter().rposition(|partner| partner.is_some_and(|partner| partner < at));
            let after = self.partners.iter().position(|partner| partner.is_some_and(|partner| partner > at));
            odd.extend(before.map_or(0, |line| line + 1)..=after.unwrap_or(self.old.len()));
        }
        let crosses = |gaps: Range<usize>, by: usize| by > 0 && odd.iter().any(|gap| gaps.contains(gap));
        let dropped: Vec<usize> =
            self.steps.iter().filter_map(|step| if let Step::Drop(old) = *step { Some(old) } else { None }).collect();
        for run in dropped.chunk_by(|a, b| a + 1 == *b) {
            let run = run[0]..run[run.len() - 1] + 1;
            let (up, down) = slide(self.old, &run);
            if crosses(run.start - up..run.end + down + 1, up + down) {
                return Some(run.start);
            }
        }
        added
            .iter()
            .find(|added| {
                let (up, down) = slide(self.new, &added.lines);
                crosses(added.gap.saturating_sub(up)..added.gap + down + 1, up + down)
            })
            .map(|added| added.gap)
    }
}

/// By how many lines a run of lines can move up and down so that what is left stays the same.
fn slide(lines: &[&str], run: &Range<usize>) -> (usize, usize) {
    let same = |a: usize, b: usize| trim(lines[a]) == trim(lines[b]);
    let up = (1..=run.start).take_while(|&by| same(run.start - by, run.end - by)).count();
    let down = (0..lines.len() - run.end).take_while(|&by| same(run.start + by, run.end + by)).count();
    (up, down)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replace::align;
    use crate::replace::script::script;

    #[test]
    fn what_can_move() {
        let check = |lines: &[&str], run: Range<usize>, expected| assert_eq!(slide(lines, &run), expected, "{lines:?}");
        check(&["a", "b", "c"], 1..2, (0, 0));
        check(&["a", "a", "a"], 1..2, (1, 1));
        check(&["x", "a", "b", "a", "b"], 1..3, (0, 2));
        check(&["b", "a", "b", "c"], 1..3, (1, 0));
    }

    #[test]
    fn which_line_is_in_doubt() {
        /// The text is the place, between the lines `above` and `below`.
        fn check(above: &str, place: &str, below: &str, old: &str, new: &str, expected: Option<usize>) {
            let text = format!("{above}{place}{below}");
            let whole = Lines::of(&text);
            let from = Lines::of(above).count();
            let here: Vec<&str> = place.lines().collect();
            let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
            let partners = align::partners(&old, &here, 0.6);
            let steps = script(&old, &new);
            let place = from..from + here.len();
            let doubt = Doubt { whole: &whole, place, old: &old, new: &new, partners: &partners, steps: &steps };
            assert_eq!(doubt.line(), expected, "{text:?} {old:?} {new:?}");
        }
        // Nothing is left over, or it is not touched.
        check("", "one();\n}\n}\n", "", "one();\n}\n}\n", "one();\n} // x\n}\n", None);
        check("", "one();\n}\n}\ntwo();\n", "", "one();\n}\ntwo();\n", "one();\n}\nthree(3);\n", None);
        // Twins.
        check("", "one();\n}\n}\ntwo();\n", "", "one();\n}\ntwo();\n", "one();\n} // x\ntwo();\n", Some(1));
        check("", "one();\n}\ntwo();\n", "", "one();\n}\n}\ntwo();\n", "one();\n}\ntwo();\n", Some(1));
        // A line of new that only the place has.
        check("", "one();\nif x {\ntwo();\n", "", "one();\ntwo();\n", "one();\nlet a;\nif x {\ntwo();\n", Some(1));
        check("", "one();\nif x {\ntwo();\n", "", "one();\ntwo();\n", "one();\nif x {\ntwo();\n", None);
        // A line of old that the place has otherwise, and one like it that new changes.
        let (place, old) = (
            "log(one, f.write);\nlog(one, f.read);\nlog(one, f.count);\n",
            "log(one, f.read);\nlog(one, f.count);\nlog(one, f.count);\n",
        );
        check(
            "",
            place,
            "log(one, f.count);\n",
            old,
            "log(one, f.read);\nlog(one, f.count);\nlog(two, f.count);\n",
            Some(2),
        );
        check(
            "",
            place,
            "log(one, f.count);\n",
            old,
            "log(two, f.read);\nlog(one, f.count);\nlog(one, f.count);\n",
            None,
        );
        // An end that is shorter than what was left out next to it.
        let (place, old) = ("}\nreturn x;\nindex(1);\nlog(1);\n", "}\nindex(1);\nlog(1);\n");
        check("", place, "", old, "new(1);\n}\nindex(1);\nlog(1);\n", Some(0));
        check("", place, "", old, "}\nindex(1);\nlog(1);\nnew(1);\n", None);
        // Braces of another depth than the rest, and of the right one further on.
        check("", "m {\n  one(1);\n  }\n", "}\n", "m {\n  one(1);\n}\n", "m {\n  two(1);\n  }\n}\n", Some(2));
        check("", "m {\n  one(1);\n  }\n", "}\n", "m {\n  one(1);\n}\n", "m {\n  two(1);\n}\n", None);
        check("", "m {\n  one(1);\n  }\n", "done\n", "m {\n  one(1);\n}\n", "m {\n  two(1);\n  }\n}\n", None);
        check("{\n", "  {\n  one(1);\n}\n", "", "{\n  one(1);\n}\n", "x {\n  {\n  one(1);\n}\n", Some(0));
        // Another brace follows, and old has a line more.
        let old = "index(1);\n} // of index\n}\n";
        check("", "index(1);\n}\n", "}\n", old, "index(1);\n} // of index\n}\nnew(1);\n", Some(1));
    }
}
