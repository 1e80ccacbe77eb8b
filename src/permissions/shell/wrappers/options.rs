//! The options of a program that stand before what it runs.

use crate::permissions::shell::effects::Word;

/// Which options a program has.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known {
    /// Letters without an argument.
    pub flags: &'static str,
    /// Letters with one.
    pub takes: &'static str,
    /// Letters whose argument, if any, stands in the same word.
    pub may: &'static str,
    /// Long options without an argument, or with one behind `=`.
    pub long: &'static [&'static str],
    /// Long options with one, behind `=` or as the next word.
    pub long_takes: &'static [&'static str],
}

/// The options that were found.
#[derive(Debug, Default)]
pub(super) struct Options<'a> {
    /// Each with its argument, without dashes.
    pub given: Vec<(String, Option<Word>)>,
    /// What stands behind them.
    pub rest: &'a [Word],
    /// Whether something among them is not known, so that they may end elsewhere.
    pub unclear: bool,
}

impl Options<'_> {
    /// Whether one of the options is given.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.given.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    /// The arguments of some options, in their order.
    pub(super) fn of(&self, names: &[&str]) -> Vec<Word> {
        let named = self.given.iter().filter(|(name, _)| names.contains(&name.as_str()));
        named.filter_map(|(_, value)| value.clone()).collect()
    }
}

/// A word like another, with another text.
pub(super) fn like(word: &Word, text: &str) -> Word {
    match word {
        Word::Known(_) => Word::Known(text.to_owned()),
        Word::Unknown(_) => Word::Unknown(text.to_owned()),
    }
}

/// Reads options up to the first word that is none.
pub(super) fn options<'a>(args: &'a [Word], known: &Known) -> Options<'a> {
    let mut found = Options { rest: args, ..Options::default() };
    while let Some((word, behind)) = found.rest.split_first() {
        let text = word.text();
        if matches!(word, Word::Unknown(_)) && (!text.starts_with('-') || text.starts_with("-$")) {
            found.unclear = true;
            break;
        }
        if !text.starts_with('-') || text == "-" {
            break;
        }
        found.rest = behind;
        if text == "--" {
            break;
        }
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(like(word, value))),
                None => (long, None),
            };
            // Long options may be shortened.
            let full = |names: &[&'static str]| match names.iter().find(|full| **full == name) {
                Some(full) => Some(*full),
                None => names.iter().find(|full| !name.is_empty() && full.starts_with(name)).copied(),
            };
            let (flag, taking) = (full(known.long), full(known.long_takes));
            let exact = known.long.contains(&name);
            match (flag, taking, value) {
                (_, Some(full), Some(value)) if !exact => found.given.push((full.to_owned(), Some(value))),
                (_, Some(full), None) if !exact => {
                    found.unclear |= flag.is_some();
                    let value = found.rest.split_first();
                    found.given.push((full.to_owned(), value.map(|(value, _)| value.clone())));
                    found.rest = value.map_or(&[], |(_, rest)| rest);
                }
                (Some(full), _, value) => found.given.push((full.to_owned(), value)),
                _ => found.unclear = true,
            }
            continue;
        }
        for (at, c) in text.char_indices().skip(1) {
            let behind = &text[at + c.len_utf8()..];
            if known.takes.contains(c) {
                let value = if behind.is_empty() {
                    let value = found.rest.split_first();
                    found.rest = value.map_or(&[], |(_, rest)| rest);
                    value.map(|(value, _)| value.clone())
                } else {
                    Some(like(word, behind))
                };
                found.given.push((c.to_string(), value));
                break;
            }
            if known.may.contains(c) {
                found.given.push((c.to_string(), (!behind.is_empty()).then(|| like(word, behind))));
                break;
            }
            found.unclear |= !known.flags.contains(c) || matches!(word, Word::Unknown(_));
            found.given.push((c.to_string(), None));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_end_where_the_command_begins() {
        const KNOWN: Known = Known {
            flags: "vx",
            takes: "uc",
            may: "i",
            long: &["verbose", "chdir-not"],
            long_takes: &["user", "chdir"],
        };
        #[track_caller]
        fn check(line: &str, rest: &str, unclear: bool) {
            let words: Vec<Word> = line
                .split(' ')
                .map(|word| match word.contains('$') {
                    true => Word::Unknown(word.to_owned()),
                    false => Word::Known(word.to_owned()),
                })
                .collect();
            let found = options(&words, &KNOWN);
            let found = (found.rest.iter().map(Word::text).collect::<Vec<_>>().join(" "), found.unclear);
            assert_eq!(found, (rest.to_owned(), unclear), "{line}");
        }
        check("a -v", "a -v", false);
        check("-v a", "a", false);
        check("-vu root a", "a", false);
        check("-uroot a", "a", false);
        check("-xi a", "a", false);
        check("-iv a", "a", false);
        check("-- -v", "-v", false);
        check("--user root a", "a", false);
        check("--user=root a", "a", false);
        check("--us root a", "a", false);
        check("--verbose a", "a", false);
        check("--verb a", "a", false);
        check("--chdir-not a", "a", false);
        check("--what a", "a", true);
        check("-q a", "a", true);
        check("$x a", "$x a", true);
        check("-u $x a", "a", false);
        check("-$x a", "-$x a", true);
        check("-v", "", false);
        check("-u", "", false);
    }
}
