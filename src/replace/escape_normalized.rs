//! `escapeNormalized`: equal once literal `\n`, `\t`, `\"`, `\\` and the like in old are what they stand for.
//!
//! Models escape a text once too often. Quotes alone are tried first, for the other escapes of a text are mostly meant.

use std::borrow::Cow;

use super::haystack::Haystack;
use super::{Finding, Pair, above, first_of};

/// The strategies above, on the pair without its escapes.
pub(super) fn find<'a>(haystack: &Haystack<'_>, pair: &Pair<'a>, all: bool) -> Finding<'a> {
    // A doubled backslash in new alone says that everything was escaped, not just the quotes.
    let doubled = pair.new.contains("\\\\") && !pair.old.contains("\\\\");
    for quotes_only in [true, false] {
        let Some(old) = unescaped(&pair.old, quotes_only).filter(|_| !(quotes_only && doubled)) else { continue };
        let new = unescaped(&pair.new, quotes_only).map_or_else(|| pair.new.clone(), Cow::Owned);
        let finding = first_of(above("escapeNormalized"), haystack, &Pair { old: Cow::Owned(old), new }, all);
        if !finding.places.is_empty() {
            return finding;
        }
    }
    Finding::none(pair)
}

/// A text without its escapes; `None` when it has none of the set.
fn unescaped(text: &str, quotes_only: bool) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    let mut any = false;
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let next = chars.next();
        let plain = match next {
            Some(c @ ('"' | '\'' | '`')) => Some(c),
            Some('n') if !quotes_only => Some('\n'),
            Some('t') if !quotes_only => Some('\t'),
            Some('r') if !quotes_only => Some('\r'),
            Some(c @ ('\\' | '$' | '/')) if !quotes_only => Some(c),
            _ => None,
        };
        any |= plain.is_some();
        if let Some(plain) = plain {
            out.push(plain);
        } else {
            out.push('\\');
            out.extend(next);
        }
    }
    any.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone() {
        fn check(text: &str, quotes: Option<&str>, every: Option<&str>) {
            assert_eq!(unescaped(text, true).as_deref(), quotes, "{text:?}");
            assert_eq!(unescaped(text, false).as_deref(), every, "{text:?}");
        }
        check("plain", None, None);
        check(r#"say(\"hi\")"#, Some(r#"say("hi")"#), Some(r#"say("hi")"#));
        check(r"a\n\tb", None, Some("a\n\tb"));
        check(r"\\n \d \", None, Some(r"\n \d \"));
        check(r#"\\\""#, Some(r#"\\""#), Some(r#"\""#));
    }
}
