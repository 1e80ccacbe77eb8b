//! The tokens of a line, and a three-way merge of them: what a change of words must not do to the spaces and quotes of
//! the place.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::haystack::Flat;

/// Above this many tokens on both sides together only common beginnings and endings are taken for unchanged.
const DIFF_LIMIT: usize = 4_000;

/// A word, a run of white space, or one other character.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    /// What it is compared by: look-alikes are plain, a run of white space is one space.
    pub(super) key: &'a str,
    /// The characters themselves.
    pub(super) text: &'a str,
}

/// The plain form of a character that only looks like another one.
pub(super) fn plain(c: char) -> Option<&'static str> {
    Some(match c {
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}' | '\u{2033}' => "\"",
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' | '\u{2032}' | '\u{2bc}' => "'",
        '\u{2010}'..='\u{2015}' | '\u{2212}' => "-",
        '\u{2026}' => "...",
        _ => return None,
    })
}

/// The tokens of a text, white space at its ends included.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let run = |holds: fn(char) -> bool| rest.find(|c| !holds(c)).unwrap_or(rest.len());
        let (len, key) = if c.is_whitespace() {
            (run(char::is_whitespace), Some(" "))
        } else if word(c) {
            (run(word), None)
        } else if rest.starts_with("...") {
            (3, None)
        } else {
            (c.len_utf8(), plain(c))
        };
        tokens.push(Token { key: key.unwrap_or(&rest[..len]), text: &rest[..len] });
        at += len;
    }
    tokens
}

fn word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether two texts are the same, white space (also its amount at the ends) and look-alikes aside.
pub(super) fn alike(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim(), b.trim());
    a == b || tokens(a).iter().map(|token| token.key).eq(tokens(b).iter().map(|token| token.key))
}

/// Carries the change from `old` to `new` over to `place`, which is [`alike`] to `old`: tokens that the change leaves
/// alone keep the characters of the place. `None` when the place is not alike.
pub(super) fn weave(old: &str, place: &str, new: &str) -> Option<String> {
    let (olds, places, news) = (tokens(old.trim()), tokens(place.trim()), tokens(new.trim()));
    if !olds.iter().map(|token| token.key).eq(places.iter().map(|token| token.key)) {
        return None;
    }
    let mut out = String::with_capacity(new.len());
    out.push_str(three_way(lead(old), lead(place), lead(new)));
    for (of_old, of_new) in common(&olds, &news) {
        match of_old {
            Some(index) => out.push_str(three_way(olds[index].text, places[index].text, news[of_new].text)),
            None => out.push_str(news[of_new].text),
        }
    }
    out.push_str(three_way(tail(old), tail(place), tail(new)));
    Some(out)
}

/// Of two changes of what is alike, the one that was made; the place's when both were. Line ends are no change.
fn three_way<'a>(old: &str, place: &'a str, new: &'a str) -> &'a str {
    let same = |a: &str, b: &str| a == b || Flat::of(a).text == Flat::of(b).text;
    if same(place, old) && !same(place, new) { new } else { place }
}

fn lead(text: &str) -> &str {
    if text.trim().is_empty() { "" } else { &text[..text.len() - text.trim_start().len()] }
}

fn tail(text: &str) -> &str {
    &text[text.trim_end().len()..]
}

/// Each token of the new text in order, with the token of the old one that it is.
fn common<'t>(old: &[Token<'t>], new: &[Token<'t>]) -> Vec<(Option<usize>, usize)> {
    let mut pairs = Vec::with_capacity(new.len());
    if old.len() + new.len() > DIFF_LIMIT {
        let prefix = old.iter().zip(new).take_while(|(a, b)| a.key == b.key).count();
        let rest = old.len().min(new.len()) - prefix;
        let suffix = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a.key == b.key).count();
        pairs.extend((0..prefix).map(|at| (Some(at), at)));
        pairs.extend((prefix..new.len() - suffix).map(|at| (None, at)));
        pairs.extend((0..suffix).map(|at| (Some(old.len() - suffix + at), new.len() - suffix + at)));
        return pairs;
    }
    let keys = |tokens: &[Token<'t>]| -> Vec<&'t str> { tokens.iter().map(|token| token.key).collect() };
    let (olds, news) = (keys(old), keys(new));
    for op in capture_diff_slices(Algorithm::Myers, &olds, &news) {
        match op {
            DiffOp::Equal { old_index, new_index, len } => {
                pairs.extend((0..len).map(|at| (Some(old_index + at), new_index + at)));
            }
            _ => pairs.extend(op.new_range().map(|at| (None, at))),
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_a_line() {
        let keys: Vec<&str> = tokens("a_1  += “x…”\u{a0}—...").iter().map(|token| token.key).collect();
        assert_eq!(keys, ["a_1", " ", "+", "=", " ", "\"", "x", "...", "\"", " ", "-", "..."]);
    }

    #[test]
    fn a_change_is_woven_into_the_place() {
        fn check(old: &str, place: &str, new: &str, expected: Option<&str>) {
            assert_eq!(weave(old, place, new).as_deref(), expected, "{old:?} {place:?} {new:?}");
        }
        check("let x = 1;", "let  x =   1;", "let x = 2;", Some("let  x =   2;"));
        // The model's own extra space, in old and in new, is not wanted.
        check("let  x = 1;", "let x = 1;", "let  x = 2;", Some("let x = 2;"));
        // A space that new takes away on purpose goes.
        check("f( a )", "f( a )", "f(a)", Some("f(a)"));
        check("say \"don't\"", "say “don’t”", "say \"won't\"", Some("say “won’t”"));
        check("a", "b", "c", None);
        check("x;  ", "x;", "y;  ", Some("y;"));
        check("x;", "x;\t", "y;", Some("y;\t"));
        check("", "  ", "a", Some("a  "));
    }

    #[test]
    fn the_long_are_woven_by_their_ends() {
        let old = "w ".repeat(3_000);
        let place = old.replace(' ', "  ");
        let new = format!("{}x {}", "w ".repeat(1_500), "w ".repeat(1_500));
        let woven = weave(&old, &place, &new).unwrap();
        assert_eq!(woven.split_whitespace().collect::<String>(), new.split_whitespace().collect::<String>());
        assert!(woven.matches("w  w").count() > 1_000);
    }
}
