//! The indentation of new lines, carried over from the model's text to the place.
//!
//! The lines of the old text that were found show how its indentation maps to the place's. A new line takes the
//! indentation of the place where the old text had the same one nearby; else it keeps its distance to its neighbour,
//! counted in levels where one side indents with tabs, or by another width.

use super::lines::{Lines, blank, indentation};

/// How many columns a tab is worth where nothing shows it.
const TAB: usize = 4;

/// At most so many lines of a text are looked at to learn its style.
const STYLE_LINES: usize = 2_000;

/// One line of the old text and its counterpart in the place.
#[derive(Debug, Clone, Copy)]
struct Pair<'a> {
    line: usize,
    old: &'a str,
    place: &'a str,
}

/// What a text indents with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Tabs.
    Tabs,
    /// So many spaces a level.
    Spaces(usize),
    /// Nothing shows it.
    Unknown,
}

/// The way from the model's indentation to the place's.
pub(super) struct Indent<'a> {
    pairs: Vec<Pair<'a>>,
    /// The first line, when it lost an indentation that the others kept.
    bare_first: Option<Pair<'a>>,
    model: Style,
    place: Style,
    /// Columns of the place for columns of the model, where both indent with spaces and the lines show it.
    scale: Option<(usize, usize)>,
    /// Old lost its indentation and new did not: what new has is the place's already.
    absolute: bool,
    /// How many columns a tab is worth where it meets spaces: a level of the place.
    tab: usize,
}

impl<'a> Indent<'a> {
    /// Learns from the lines of old (number, text) with their counterparts in the place, from the new lines, and, for
    /// what those do not show, from the style of the whole text.
    pub(super) fn learn(found: &[(usize, &'a str, &'a str)], new: &Lines<'_>, whole: Style) -> Indent<'a> {
        let mut pairs: Vec<Pair<'a>> = found
            .iter()
            .filter(|(_, old, place)| !blank(old) && !blank(place))
            .map(|&(line, old, place)| Pair { line, old: indentation(old), place: indentation(place) })
            .collect();
        let bare_first = bare_first(&pairs).then(|| pairs.remove(0));
        let model =
            style(pairs.iter().map(|pair| pair.old).chain(new.contents().filter(|line| !blank(line)).map(indentation)));
        let place = match style(pairs.iter().map(|pair| pair.place)) {
            Style::Unknown => whole,
            Style::Spaces(_) => match whole {
                Style::Spaces(unit) => Style::Spaces(unit),
                _ => style(pairs.iter().map(|pair| pair.place)),
            },
            tabs @ Style::Tabs => tabs,
        };
        let model = match (model, place) {
            (Style::Spaces(_), Style::Tabs) => {
                Style::Spaces(columns_per_tab(&pairs, |pair| (pair.old, pair.place), model))
            }
            other => other.0,
        };
        let place = match (model, place) {
            (Style::Tabs, Style::Spaces(unit)) => {
                Style::Spaces(columns_per_tab(&pairs, |pair| (pair.place, pair.old), Style::Spaces(unit)))
            }
            other => other.1,
        };
        let scale = scale(&pairs);
        let tab = if let Style::Spaces(unit) = place { unit } else { TAB };
        Indent { pairs, bare_first, model, place, scale, absolute: false, tab }
    }

    /// Takes note of the lines of old that new changed (old, the place's, new): where old lost the depth that each of
    /// these lines has in the place and in new, every new line has its own depth already. Not so when a line of new is
    /// shallower than all of the place (then new was written from old's depth), or when nothing but the depth changed
    /// (then the lines are to go deeper).
    pub(super) fn compare(&mut self, changed: &[(&str, &str, &str)], new: &Lines<'_>) {
        let depth = |line: &str| columns(indentation(line), self.tab);
        let shown = changed.iter().filter(|(old, place, new)| !blank(old) && !blank(place) && !blank(new));
        let kept = |&&(old, place, new): &&(&str, &str, &str)| {
            indentation(new) == indentation(place) && depth(old) < depth(place)
        };
        let (all, these) = (shown.clone().count(), shown.clone().filter(kept).count());
        let pairs = self.pairs.iter().all(|pair| columns(pair.old, self.tab) < columns(pair.place, self.tab));
        let Some(least) = self.pairs.iter().map(|pair| columns(pair.place, self.tab)).min() else { return };
        let deep = new.contents().filter(|line| !blank(line)).all(|line| depth(line) >= least);
        let more = new.contents().filter(|line| !blank(line)).count() != self.pairs.len()
            || shown.clone().any(|(old, _, new)| old.trim() != new.trim());
        self.absolute = all > 0 && all == these && pairs && deep && more;
    }

    /// The indentation of a line that takes the place of line `line` of old.
    pub(super) fn of_change(&self, line: usize, new: &str) -> String {
        if self.absolute {
            return new.to_owned();
        }
        // The other lines are as in the place then, and so is this one if it got its indentation back.
        if let Some(first) = self.bare_first.filter(|first| first.line == line) {
            return if new.is_empty() { first.place } else { new }.to_owned();
        }
        match self.pairs.iter().find(|pair| pair.line == line) {
            Some(pair) if pair.old == new => pair.place.to_owned(),
            Some(pair) => match self.same(line, new) {
                Some(same) => same.to_owned(),
                None => self.shift(*pair, new),
            },
            None => self.of_addition(line, new),
        }
    }

    /// The indentation of the first new line, where it is none of old's.
    pub(super) fn of_first(&self, gap: usize, new: &str) -> String {
        match self.bare_first {
            Some(first) if new.is_empty() => first.place.to_owned(),
            _ => self.of_addition(gap, new),
        }
    }

    /// The indentation of a line that comes before line `gap` of old.
    pub(super) fn of_addition(&self, gap: usize, new: &str) -> String {
        if self.absolute {
            return new.to_owned();
        }
        if let Some(same) = self.same(gap, new) {
            return same.to_owned();
        }
        let after = self.pairs.partition_point(|pair| pair.line < gap);
        let before = after.checked_sub(1).map(|at| self.pairs[at]);
        let after = self.pairs.get(after).copied();
        let far = |pair: &Pair<'_>| columns(pair.old, self.tab).abs_diff(columns(new, self.tab));
        let nearest = match (before, after) {
            (Some(before), Some(after)) if far(&after) < far(&before) => Some(after),
            (Some(before), _) => Some(before),
            (None, after) => after.or(self.bare_first),
        };
        nearest.map_or_else(|| new.to_owned(), |pair| self.shift(pair, new))
    }

    /// The place's indentation of the nearest line that old indents just so.
    fn same(&self, gap: usize, new: &str) -> Option<&'a str> {
        // Between lines `gap - 1` and `gap` both are at the same distance.
        let far =
            |pair: &&Pair<'_>| if pair.line < gap { 2 * (gap - pair.line) - 1 } else { 2 * (pair.line - gap) + 1 };
        self.pairs.iter().filter(|pair| pair.old == new).min_by_key(far).map(|pair| pair.place)
    }

    /// An indentation of the model's that keeps its distance to one that was found.
    fn shift(&self, pair: Pair<'_>, new: &str) -> String {
        if let Some(more) = new.strip_prefix(pair.old) {
            return format!("{}{}", pair.place, self.convert(more));
        }
        if let Some(less) = pair.old.strip_prefix(new) {
            let less = self.convert(less);
            return match pair.place.strip_suffix(less.as_str()) {
                Some(cut) => cut.to_owned(),
                None => {
                    up_to(pair.place, columns(pair.place, self.tab).saturating_sub(columns(&less, self.tab)), self.tab)
                }
            };
        }
        let (from, to) = (columns(pair.old, self.tab), columns(new, self.tab));
        if to >= from {
            format!("{}{}", pair.place, self.convert(&" ".repeat(to - from)))
        } else {
            let less = self.convert(&" ".repeat(from - to));
            up_to(pair.place, columns(pair.place, self.tab).saturating_sub(columns(&less, self.tab)), self.tab)
        }
    }

    /// A difference of indentation in the place's style.
    fn convert(&self, difference: &str) -> String {
        match (self.model, self.place) {
            (Style::Spaces(unit), Style::Tabs) => {
                let width = columns(difference, self.tab);
                format!("{}{}", "\t".repeat(width / unit), " ".repeat(width % unit))
            }
            (Style::Tabs, Style::Spaces(unit)) => {
                difference.chars().map(|c| if c == '\t' { " ".repeat(unit) } else { c.to_string() }).collect()
            }
            _ => match self.scale {
                Some((model, place))
                    if !difference.contains('\t') && (difference.len() * place).is_multiple_of(model) =>
                {
                    " ".repeat(difference.len() * place / model)
                }
                _ => difference.to_owned(),
            },
        }
    }
}

/// Whether the first line alone lost its indentation: a model that begins to copy at the first word does that.
fn bare_first(pairs: &[Pair<'_>]) -> bool {
    let [first, rest @ ..] = pairs else { return false };
    !rest.is_empty()
        && first.old.is_empty()
        && !first.place.is_empty()
        && rest.iter().all(|pair| pair.old == pair.place)
}

/// Columns of the place for columns of the model, if the lines show two depths and agree on the proportion.
fn scale(pairs: &[Pair<'_>]) -> Option<(usize, usize)> {
    if pairs.iter().any(|pair| pair.old.contains('\t') || pair.place.contains('\t')) {
        return None;
    }
    let least = pairs.iter().min_by_key(|pair| pair.old.len())?;
    let step = pairs.iter().filter(|pair| pair.old.len() > least.old.len()).min_by_key(|pair| pair.old.len())?;
    let (model, place) = (step.old.len() - least.old.len(), step.place.len().checked_sub(least.place.len())?);
    let agrees = |pair: &Pair<'_>| {
        pair.place.len() >= least.place.len()
            && (pair.old.len() - least.old.len()) * place == (pair.place.len() - least.place.len()) * model
    };
    (place > 0 && pairs.iter().all(agrees)).then_some((model, place))
}

/// How many spaces of one side are a tab of the other.
fn columns_per_tab<'a>(pairs: &[Pair<'a>], sides: impl Fn(&Pair<'a>) -> (&'a str, &'a str), spaces: Style) -> usize {
    let counts: Vec<(usize, usize)> = pairs
        .iter()
        .map(sides)
        .map(|(spaces, tabs)| (spaces.len(), tabs.chars().filter(|&c| c == '\t').count()))
        .collect();
    let between = counts.iter().zip(counts.iter().skip(1)).find_map(|(a, b)| {
        let (spaces, tabs) = (a.0.abs_diff(b.0), a.1.abs_diff(b.1));
        (spaces > 0 && tabs > 0 && spaces % tabs == 0).then(|| spaces / tabs)
    });
    let alone = || counts.iter().find_map(|&(s, t)| (s > 0 && t > 0 && s % t == 0).then(|| s / t));
    let shown = match spaces {
        Style::Spaces(unit) => unit,
        _ => TAB,
    };
    between.or_else(alone).filter(|&unit| unit <= 16).unwrap_or(shown).max(1)
}

/// The style of some lines, by their indentations.
fn style<'a>(indentations: impl Iterator<Item = &'a str>) -> Style {
    let mut widths: Vec<usize> = Vec::new();
    for indentation in indentations {
        if indentation.contains('\t') {
            return Style::Tabs;
        }
        widths.push(indentation.len());
    }
    widths.sort_unstable();
    widths.dedup();
    // A single column is an alignment (as in ` * comment`), not a level.
    let step = widths.windows(2).map(|pair| pair[1] - pair[0]).filter(|&step| step > 1).min();
    match (step, widths.last()) {
        (Some(step), _) => Style::Spaces(step),
        (None, Some(&width)) if width > 0 => Style::Spaces(if width.is_multiple_of(TAB) { TAB } else { width }),
        _ => Style::Unknown,
    }
}

/// The style of a whole text: what most of its lines that go deeper than the one before go deeper by.
pub(super) fn of_text(lines: &Lines<'_>) -> Style {
    let (mut tabs, mut steps, mut before) = (0usize, [0usize; 17], 0usize);
    for line in lines.contents().take(STYLE_LINES).filter(|line| !blank(line)) {
        let indentation = indentation(line);
        if indentation.starts_with('\t') {
            tabs += 1;
            continue;
        }
        let width = indentation.len();
        if width > before + 1 && width - before < steps.len() {
            steps[width - before] += 1;
        }
        before = width;
    }
    let best = (2..steps.len()).rev().max_by_key(|&step| steps[step]).filter(|&step| steps[step] > 0);
    match best {
        Some(step) if steps.iter().sum::<usize>() >= tabs => Style::Spaces(step),
        _ if tabs > 0 => Style::Tabs,
        _ => Style::Unknown,
    }
}

/// Columns of an indentation, where a tab is worth so many.
pub(super) fn columns(indentation: &str, tab: usize) -> usize {
    indentation.chars().fold(0, |at, c| if c == '\t' { at / tab * tab + tab } else { at + 1 })
}

/// The beginning of an indentation, at most so many columns of it.
fn up_to(indentation: &str, width: usize, tab: usize) -> String {
    let mut cut = String::new();
    for c in indentation.chars() {
        cut.push(c);
        if columns(&cut, tab) > width {
            cut.pop();
            cut.push_str(&" ".repeat(width - columns(&cut, tab)));
            break;
        }
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Old lines with their counterparts, the new line's indentation, the one expected before line `gap`.
    fn check(pairs: &[(&str, &str)], new: &str, gap: usize, expected: &str) {
        let found: Vec<_> = pairs.iter().enumerate().map(|(at, &(old, place))| (at, old, place)).collect();
        let text = format!("{new}x\n");
        let lines = Lines::of(&text);
        let whole: String = pairs.iter().flat_map(|(_, place)| [place, "\n"]).collect();
        let indent = Indent::learn(&found, &lines, of_text(&Lines::of(&whole)));
        assert_eq!(indent.of_addition(gap, new), expected, "{pairs:?} {new:?} {gap}");
    }

    #[test]
    fn the_same_depth_is_looked_up() {
        check(&[("a", "    a"), ("  b", "        b")], "", 2, "    ");
        check(&[("a", "    a"), ("  b", "        b")], "  ", 0, "        ");
        check(&[("\ta", "    a")], "\t", 1, "    ");
    }

    #[test]
    fn another_depth_keeps_its_distance() {
        check(&[("a", "    a")], "  ", 1, "      ");
        check(&[("a", "    a"), ("  b", "        b")], "    ", 2, "            ");
        check(&[("    a", "  a")], "", 1, "");
        check(&[("        a", "    a")], "    ", 1, "");
    }

    #[test]
    fn tabs_and_spaces_are_exchanged() {
        check(&[("a", "\ta"), ("    b", "\t\tb")], "        ", 2, "\t\t\t");
        check(&[("  a", "\ta"), ("    b", "\t\tb")], "      ", 2, "\t\t\t");
        check(&[("\ta", "  a"), ("\t\tb", "    b")], "\t\t\t", 2, "      ");
        check(&[("    a", "\ta")], "", 1, "");
        check(&[("a", "\ta"), ("    b", "\t\tb")], "      ", 2, "\t\t  ");
    }

    #[test]
    fn a_bare_first_line_says_nothing_about_the_others() {
        check(&[("a", "    a"), ("        b", "        b")], "            ", 2, "            ");
        check(&[("a", "    a"), ("        b", "        b")], "    ", 2, "    ");
    }
}
