//! `escapeNormalized`: equal once literal `\n`, `\t`, `\"`, `\\` and the like in old are what they stand for.
//!
//! Models escape a text once too often. Quotes alone are tried first, for the other escapes of a text are mostly meant.

use std::borrow::Cow;

use super::haystack::Haystack;
use super::{Finding, Pair, above, first_of};

/// The ways in which a text can be escaped, the most cautious first.
const SETS: [Set; 3] = [Set::Quotes, Set::All, Set::Entities];

/// What is undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Set {
    /// A backslash before a quote.
    Quotes,
    /// Every escape of a JSON string, and `\$`.
    All,
    /// The entities that HTML and XML need.
    Entities,
}

/// The strategies above, on the pair without its escapes.
pub(super) fn find<'a>(haystack: &Haystack<'_>, pair: &Pair<'a>, all: bool) -> Finding<'a> {
    for set in SETS {
        let Some(old) = unescaped(&pair.old, set) else { continue };
        // Where old has escaped quotes only, new must say whether its other escapes are meant.
        let set = match set {
            Set::Quotes if unescaped(&pair.old, Set::All).as_ref() == Some(&old) => match of_new(&pair.new) {
                Some(set) => set,
                None => return Finding::none(pair),
            },
            set => set,
        };
        let new = unescaped(&pair.new, set).map_or_else(|| pair.new.clone(), Cow::Owned);
        let finding = first_of(above("escapeNormalized"), haystack, &Pair { old: Cow::Owned(old), new }, all);
        if !finding.places.is_empty() {
            return finding;
        }
    }
    Finding::none(pair)
}

/// Which set a new text was escaped by, whose old text shows escaped quotes only. A doubled backslash, or a line end or
/// tab that is escaped outside every literal, says that everything was; those inside literals are meant. `None` when it
/// has both, or a literal that does not end (an apostrophe may have been taken for one).
fn of_new(new: &str) -> Option<Set> {
    if new.contains("\\\\") {
        return Some(Set::All);
    }
    let (mut inside, mut outside, mut unclear) = (false, false, false);
    // The quote that opened a literal, and whether an escape has come since.
    let mut literal: Option<(char, bool)> = None;
    let mut chars = new.chars();
    while let Some(c) = chars.next() {
        let delimiter = match c {
            '\\' => match chars.next() {
                Some('n' | 't' | 'r') => {
                    match &mut literal {
                        Some((_, escapes)) => *escapes = true,
                        None => outside = true,
                    }
                    continue;
                }
                Some(quote @ ('"' | '\'' | '`')) => quote,
                _ => continue,
            },
            quote @ ('"' | '\'' | '`') => quote,
            '\n' => {
                // No literal of these quotes goes on over a line, and an apostrophe opens none.
                let open = literal.filter(|(quote, _)| *quote == '`');
                unclear |= open.is_none() && literal.is_some_and(|(_, escapes)| escapes);
                literal = open;
                continue;
            }
            _ => continue,
        };
        match literal {
            None => literal = Some((delimiter, false)),
            Some((open, escapes)) if open == delimiter => {
                inside |= escapes;
                literal = None;
            }
            Some(_) => {}
        }
    }
    unclear |= literal.is_some_and(|(_, escapes)| escapes);
    match (inside || unclear, outside || unclear) {
        (true, true) => None,
        (_, true) => Some(Set::All),
        (_, false) => Some(Set::Quotes),
    }
}

/// What stands at the beginning of a text for an escaped character, and its length in bytes.
type Undo = fn(&str, Set) -> Option<(char, usize)>;

/// A text without its escapes; `None` when it has none of the set.
fn unescaped(text: &str, set: Set) -> Option<String> {
    let (mark, plain): (char, Undo) = if set == Set::Entities { ('&', entity) } else { ('\\', escape) };
    let (mut out, mut rest, mut any) = (String::with_capacity(text.len()), text, false);
    while let Some(at) = rest.find(mark) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let len = if let Some((plain, len)) = plain(rest, set) {
            any = true;
            out.push(plain);
            len
        } else {
            // What is escaped but not of the set stays, both characters of it.
            let len = rest.chars().take(if mark == '&' { 1 } else { 2 }).map(char::len_utf8).sum();
            out.push_str(&rest[..len]);
            len
        };
        rest = &rest[len..];
    }
    out.push_str(rest);
    any.then_some(out)
}

/// What the escape at the beginning of a text stands for, and its length in bytes.
fn escape(text: &str, set: Set) -> Option<(char, usize)> {
    let plain = match text.chars().nth(1)? {
        c @ ('"' | '\'' | '`') => c,
        'n' if set == Set::All => '\n',
        't' if set == Set::All => '\t',
        'r' if set == Set::All => '\r',
        c @ ('\\' | '$' | '/') if set == Set::All => c,
        _ => return None,
    };
    Some((plain, 2))
}

/// What the entity at the beginning of a text stands for, and its length in bytes.
fn entity(text: &str, _: Set) -> Option<(char, usize)> {
    const ENTITIES: [(&str, char); 6] =
        [("&lt;", '<'), ("&gt;", '>'), ("&amp;", '&'), ("&quot;", '"'), ("&#39;", '\''), ("&apos;", '\'')];
    ENTITIES.iter().find(|(name, _)| text.starts_with(name)).map(|(name, plain)| (*plain, name.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone() {
        fn check(text: &str, quotes: Option<&str>, every: Option<&str>) {
            assert_eq!(unescaped(text, Set::Quotes).as_deref(), quotes, "{text:?}");
            assert_eq!(unescaped(text, Set::All).as_deref(), every, "{text:?}");
        }
        check("plain", None, None);
        check(r#"say(\"hi\")"#, Some(r#"say("hi")"#), Some(r#"say("hi")"#));
        check(r"a\n\tb", None, Some("a\n\tb"));
        check(r"\\n \d \", None, Some(r"\n \d \"));
        check(r#"\\\""#, Some(r#"\\""#), Some(r#"\""#));
    }

    #[test]
    fn entities_are_undone() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(unescaped(text, Set::Entities).as_deref(), expected, "{text:?}");
        };
        check("a && b", None);
        check("Vec&lt;u8&gt; &amp;&amp; &quot;é&quot; &nbsp; &", Some("Vec<u8> && \"é\" &nbsp; &"));
        check("&amp;lt;", Some("&lt;"));
    }

    #[test]
    fn new_shows_what_was_escaped() {
        let check = |new: &str, expected: Option<Set>| assert_eq!(of_new(new), expected, "{new:?}");
        check(r#"say(\"bye\")"#, Some(Set::Quotes));
        check(r#"say(\"bye\n\")"#, Some(Set::Quotes));
        check(r#"# don't\nsay(\"bye\")"#, None);
        check(r#"log()\n    say(\"bye\")"#, Some(Set::All));
        check(r"log('\n')", Some(Set::Quotes));
        check("// don't\nlog('\\n')", Some(Set::Quotes));
        check(r#"log(\"\n\")\n    say()"#, None);
        check(r#"log(\"\\n\")\n    say()"#, Some(Set::All));
    }
}
