//! The three-way merge: what new changes of old is changed in the place, and nothing else of it.

use std::ops::Range;

use super::Pair;
use super::doubt::Doubt;
use super::haystack::Haystack;
use super::indent::{Indent, Style};
use super::lines::{Lines, blank, indentation};
use super::script::{Step, script};
use super::tokens::{alike, weave};
use crate::text::{LineEnd, LineEnds};

/// The place and new both changed these lines, and not the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clash {
    /// The 0-based line of the text, or the one after which something is missing.
    pub(super) line: usize,
    /// What old says there; `None`: nothing, where the place has something.
    pub(super) old: Option<String>,
    /// What the place says there; `None`: it has no such line.
    pub(super) place: Option<String>,
    /// What new wants there; `None`: it gone.
    pub(super) new: Option<String>,
    /// Old may as well mean another line.
    pub(super) doubt: bool,
}

/// The two texts of the request, and the lines of the text that old was found at.
pub(super) struct Merge<'a> {
    /// The whole text.
    pub(super) whole: &'a Lines<'a>,
    /// The line ends of the whole text.
    pub(super) ends: LineEnds,
    /// What the whole text indents with.
    pub(super) style: Style,
    /// The lines of the place, 0-based.
    pub(super) place: Range<usize>,
    /// Old.
    pub(super) old: &'a Lines<'a>,
    /// New.
    pub(super) new: &'a Lines<'a>,
    /// For each line of old its line in the place, counted from the place's first; rising.
    pub(super) partners: &'a [Option<usize>],
}

/// A line of the result, without and with its end.
struct Out {
    text: String,
    end: Option<LineEnd>,
}

impl Merge<'_> {
    /// The text that takes the place's bytes; with `closed` its last line has an end.
    pub(super) fn run(&self, closed: bool) -> Result<String, Clash> {
        let (old, new): (Vec<&str>, Vec<&str>) = (self.old.contents().collect(), self.new.contents().collect());
        let found: Vec<(usize, &str, &str)> =
            (0..old.len()).filter_map(|line| self.partners[line].map(|at| (line, old[line], self.line(at)))).collect();
        let steps = script(&old, &new);
        let doubt = Doubt {
            whole: self.whole,
            place: self.place.clone(),
            old: &old,
            new: &new,
            partners: self.partners,
            steps: &steps,
        };
        if let Some(line) = doubt.line() {
            return Err(self.doubted(line));
        }
        let mut indent = Indent::learn(&found, self.new, self.style);
        indent.compare(&self.altered(&steps), self.new);
        let trailing = found.iter().any(|(_, old, place)| old.trim_end() != *old && place.trim_end() == *place);
        let mut walk = Walk {
            merge: self,
            indent,
            bare_ends: trailing,
            next: 0,
            out: Vec::new(),
            gap: 0,
            added: Vec::new(),
            dropped: false,
            lost: None,
            lost_dropped: false,
        };
        for step in steps {
            walk.step(step)?;
        }
        walk.close_gap(self.place.len(), false)?;
        Ok(self.join(walk.out, closed))
    }

    /// The lines of old that the place has and new keeps or changes: old's, the place's and new's.
    fn altered(&self, steps: &[Step]) -> Vec<(&str, &str, &str)> {
        let both = |step: &Step| match *step {
            Step::Keep(old, new) | Step::Change(old, new) => {
                let at = self.partners[old]?;
                Some((self.old.content(old), self.line(at), self.new.content(new)))
            }
            Step::Drop(_) | Step::Add(_) => None,
        };
        steps.iter().filter_map(both).collect()
    }

    /// A line of old that may stand for more than one line of the place.
    fn doubted(&self, line: usize) -> Clash {
        let at = self.partners[line.min(self.old.count())..].iter().flatten().next().copied();
        let here = at.unwrap_or(self.place.len());
        Clash {
            line: self.place.start + here,
            old: (line < self.old.count()).then(|| self.old.content(line).to_owned()),
            place: at.map(|at| self.line(at).to_owned()),
            new: None,
            doubt: true,
        }
    }

    fn line(&self, at: usize) -> &str {
        self.whole.content(self.place.start + at)
    }

    fn end(&self, at: usize) -> Option<LineEnd> {
        self.whole.end(self.place.start + at)
    }

    /// The end for a line that has none of its own: the place's first.
    fn usual_end(&self) -> LineEnd {
        (0..self.place.len()).find_map(|at| self.end(at)).unwrap_or_else(|| self.ends.prevailing())
    }

    fn join(&self, out: Vec<Out>, closed: bool) -> String {
        let usual = self.usual_end();
        let last = out.len();
        let mut text = String::new();
        for (at, line) in out.into_iter().enumerate() {
            text.push_str(&line.text);
            if at + 1 < last || closed {
                text.push_str(line.end.unwrap_or(usual).as_str());
            }
        }
        text
    }
}

/// The text that takes the place of one that equals old word by word, whatever its lines are.
pub(super) fn woven(
    haystack: &Haystack<'_>,
    pair: &Pair<'_>,
    range: &Range<usize>,
    whole: bool,
) -> Result<String, Clash> {
    let (place, table) = (&haystack.body[range.clone()], haystack.lines());
    let line = table.at(range.start);
    let end = table.end(line).unwrap_or_else(|| haystack.ends().prevailing());
    let has_ends = haystack.ends().first.is_some();
    let first = |text: &str| text.trim().lines().next().map(str::to_owned);
    let clash = || Clash { line, old: first(&pair.old), place: first(place), new: first(&pair.new), doubt: false };
    if !whole {
        let new = if has_ends { end.apply(&pair.new) } else { pair.new.to_string() };
        return weave(&pair.old, place, &new).ok_or_else(clash);
    }
    if blank(&pair.new) {
        return Ok(String::new());
    }
    let (old, new) = (Lines::of(&pair.old), Lines::of(&pair.new));
    let first = |lines: &Lines<'_>| lines.contents().position(|line| !blank(line)).unwrap_or(0);
    let found = [(0, old.content(first(&old)), table.content(line))];
    let indent = Indent::learn(&found, &new, haystack.style());
    let mut lead = String::new();
    let mut moved = String::new();
    for (at, text) in new.contents().enumerate().skip(first(&new)) {
        if moved.is_empty() {
            lead = indent.of_change(0, indentation(text));
        } else if !blank(text) {
            moved.push_str(&indent.of_addition(1, indentation(text)));
        }
        moved.push_str(text.trim_start());
        if new.end(at).is_some() {
            moved.push_str(if has_ends { end.as_str() } else { "\n" });
        }
    }
    let core = weave(pair.old.trim(), place.trim(), moved.trim()).ok_or_else(clash)?;
    Ok(lead + &core + &place[place.trim_end().len()..])
}

/// The walk over the steps.
struct Walk<'a> {
    merge: &'a Merge<'a>,
    indent: Indent<'a>,
    /// White space at line ends is the model's, not the place's.
    bare_ends: bool,
    /// The next line of the place.
    next: usize,
    out: Vec<Out>,
    /// The line of old that comes next.
    gap: usize,
    /// New lines that came since the last line of old.
    added: Vec<usize>,
    /// Whether the last line of old went.
    dropped: bool,
    /// Since the last line of old that the place has: the first one that it lacks, blank ones aside, ...
    lost: Option<usize>,
    /// ... and whether new drops one of them.
    lost_dropped: bool,
}

impl Walk<'_> {
    fn step(&mut self, step: Step) -> Result<(), Clash> {
        match step {
            Step::Add(new) => self.added.push(new),
            Step::Keep(old, new) | Step::Change(old, new) => {
                let partner = self.merge.partners[old];
                if let Some(at) = partner {
                    self.close_gap(at, false)?;
                    let line = if matches!(step, Step::Keep(..)) {
                        self.merge.line(at).to_owned()
                    } else {
                        self.changed(old, new, at)?
                    };
                    self.out.push(Out { text: line, end: self.merge.end(at) });
                    self.next = at + 1;
                } else if matches!(step, Step::Change(..)) {
                    return Err(self.clash(Some(old), self.next, false, Some(new)));
                } else {
                    self.lose(old, false);
                }
                (self.dropped, self.gap) = (false, old + 1);
            }
            Step::Drop(old) => {
                if let Some(at) = self.merge.partners[old] {
                    self.close_gap(at, true)?;
                    if !alike(self.merge.old.content(old), self.merge.line(at)) {
                        return Err(self.clash(Some(old), at, true, None));
                    }
                    self.next = at + 1;
                } else {
                    self.lose(old, true);
                }
                (self.dropped, self.gap) = (true, old + 1);
            }
        }
        Ok(())
    }

    /// A line that new changes: the change is woven into the place's line.
    fn changed(&self, old: usize, new: usize, at: usize) -> Result<String, Clash> {
        let place = self.merge.line(at);
        let (mut old_line, mut new_line) = (self.merge.old.content(old), self.merge.new.content(new));
        if self.bare_ends {
            (old_line, new_line) = (old_line.trim_end(), new_line.trim_end());
        }
        match weave(old_line.trim_start(), place.trim_start(), new_line.trim_start()) {
            Some(text) if blank(&text) => Ok(text),
            Some(text) => Ok(self.indent.of_change(old, indentation(new_line)) + &text),
            None if alike(place, new_line) => Ok(place.to_owned()),
            None => Err(self.clash(Some(old), at, true, Some(new))),
        }
    }

    /// Deals with what lies between the last line of old and the next: lines that only the place has, up to `to`, and
    /// lines that new adds.
    fn close_gap(&mut self, to: usize, dropping: bool) -> Result<(), Clash> {
        let extra = self.next..to.max(self.next);
        let added = std::mem::take(&mut self.added);
        let bare = extra.clone().all(|at| blank(self.merge.line(at)));
        let both_went = self.dropped && dropping;
        let (lost, lost_dropped) = (self.lost.take(), std::mem::take(&mut self.lost_dropped));
        // Where the place has other lines than old, or none, it was changed; if new changes the same lines it is to the
        // same ones or a clash.
        // At a border of the place nobody knows whether the line next to it is the one that old means.
        let border = extra.start == 0 || to == self.merge.place.len();
        let same = self.same(&added, &extra) && !(border && lost_dropped);
        if let Some(line) = lost.filter(|_| !same) {
            let adds = added.iter().any(|&new| !blank(self.merge.new.content(new)));
            if adds || (lost_dropped && (!bare || border)) {
                return Err(self.clash(Some(line), extra.start, !extra.is_empty(), added.first().copied()));
            }
        }
        if extra.is_empty() || (both_went && bare) {
            self.add(&added);
        } else if both_went {
            return Err(self.clash(None, extra.start, true, None));
        } else if added.is_empty() || self.same(&added, &extra) {
            self.keep(extra.clone());
        } else if bare || self.dropped {
            // Where new lines take the place of old ones they stay there; and blank lines that only the place has
            // separate the new ones from what follows.
            self.add(&added);
            self.keep(extra.clone());
        } else {
            return Err(self.clash(None, extra.start, true, added.first().copied()));
        }
        self.next = extra.end;
        Ok(())
    }

    /// Takes note of a line of old that the place lacks.
    fn lose(&mut self, old: usize, dropped: bool) {
        if !blank(self.merge.old.content(old)) {
            self.lost.get_or_insert(old);
            self.lost_dropped |= dropped;
        }
    }

    fn same(&self, added: &[usize], extra: &Range<usize>) -> bool {
        added.len() == extra.len()
            && added.iter().zip(extra.clone()).all(|(&new, at)| alike(self.merge.new.content(new), self.merge.line(at)))
    }

    fn keep(&mut self, lines: Range<usize>) {
        for at in lines {
            self.out.push(Out { text: self.merge.line(at).to_owned(), end: self.merge.end(at) });
        }
    }

    fn add(&mut self, added: &[usize]) {
        for &new in added {
            let line = self.merge.new.content(new);
            let (front, rest) = (indentation(line), line.trim_start());
            let rest = if self.bare_ends { rest.trim_end() } else { rest };
            let front = if front.is_empty() && rest.is_empty() || self.bare_ends && rest.is_empty() {
                String::new()
            } else if new == 0 {
                self.indent.of_first(self.gap, front)
            } else {
                self.indent.of_addition(self.gap, front)
            };
            self.out.push(Out { text: front + rest, end: None });
        }
    }

    /// Line `at` of the place (which it `has`, or after which it lacks one) against a line of old and one of new.
    fn clash(&self, old: Option<usize>, at: usize, has: bool, new: Option<usize>) -> Clash {
        let has = has && at < self.merge.place.len();
        Clash {
            line: self.merge.place.start + at,
            old: old.map(|line| self.merge.old.content(line).to_owned()),
            place: has.then(|| self.merge.line(at).to_owned()),
            new: new.map(|line| self.merge.new.content(line).to_owned()),
            doubt: false,
        }
    }
}
