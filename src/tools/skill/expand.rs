//! What a call gives a skill, put where the skill wants it: `$ARGUMENTS` is all of it, `$1`, `$2` and so on are its words.
//! What is put in is never looked at again. Pure.

/// A number up to this, that no argument was given for, is told.
const TOLD: usize = 20;

/// A skill's text with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Expanded {
    /// The text.
    pub text: String,
    /// What the model should know of it, in words.
    pub notes: Vec<String>,
}

/// What a `$` begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// `$ARGUMENTS`
    All,
    /// `$1` (or `$ARGUMENTS[0]`): the word with this place (0-based).
    Word(usize),
    /// `${CLAUDE_SKILL_DIR}`
    Folder,
}

/// Puts arguments into a skill's text. A word that was not given leaves its place as it stands, for `$2` may be no place of
/// a word at all. Arguments that the text has no place for are added at its end. `folder`: where the skill is.
pub(super) fn expand(body: &str, given: Option<&str>, folder: &str) -> Expanded {
    let given = given.map(str::trim).filter(|given| !given.is_empty());
    let words = given.map(split).unwrap_or_default();
    let (mut text, mut rest) = (String::with_capacity(body.len()), body);
    let (mut used, mut wanted, mut missing) = (false, false, Vec::new());
    while let Some(at) = rest.find('$') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some((place, len)) = place(rest) else {
            text.push('$');
            rest = &rest[1..];
            continue;
        };
        match place {
            Place::Folder => text.push_str(folder),
            Place::All => {
                wanted = true;
                used |= given.is_some();
                text.push_str(given.unwrap_or_default());
            }
            Place::Word(index) => {
                if let Some(word) = words.get(index) {
                    used = true;
                    text.push_str(word);
                } else {
                    if index < TOLD && !missing.contains(&(index + 1)) {
                        missing.push(index + 1);
                    }
                    text.push_str(&rest[..len]);
                }
            }
        }
        rest = &rest[len..];
    }
    text.push_str(rest);
    let mut notes = Vec::new();
    match given {
        None if wanted => notes.push("The skill takes arguments, and none were given.".to_owned()),
        Some(given) if !used => {
            notes.push("The skill has no place for arguments; those given stand at its end.".to_owned());
            text.truncate(text.trim_end().len());
            text.push_str("\n\nArguments: ");
            text.push_str(given);
        }
        _ => {}
    }
    if given.is_some() && !missing.is_empty() {
        missing.sort_unstable();
        let shown: Vec<String> = missing.iter().map(|number| format!("${number}")).collect();
        notes.push(format!("No argument was given for {}: what stands there was left as it is.", shown.join(", ")));
    }
    Expanded { text, notes }
}

/// What stands at the beginning of a text that begins with `$`, and how many bytes it has.
fn place(text: &str) -> Option<(Place, usize)> {
    const ALL: &str = "$ARGUMENTS";
    const FOLDER: &str = "${CLAUDE_SKILL_DIR}";
    if text.starts_with(FOLDER) {
        return Some((Place::Folder, FOLDER.len()));
    }
    if let Some(after) = text.strip_prefix(ALL) {
        let indexed = after.strip_prefix('[').and_then(|inner| inner.split_once(']'));
        if let Some((digits, _)) = indexed
            && let Some(index) = number(digits)
        {
            return Some((Place::Word(index), ALL.len() + digits.len() + 2));
        }
        // Another name that only begins so.
        let ends = !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        return ends.then_some((Place::All, ALL.len()));
    }
    let digits = text[1..].bytes().take_while(u8::is_ascii_digit).count();
    let (word, after) = text[1..].split_at(digits);
    // `$0` is no argument, and `$1.50` and `$2,000` are sums of money.
    let money = after.strip_prefix(['.', ',']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if word.starts_with('0') || money {
        return None;
    }
    Some((Place::Word(number(word)?.checked_sub(1)?), 1 + digits))
}

/// A number of at most three digits.
fn number(digits: &str) -> Option<usize> {
    let plain = (1..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

/// The words of what was given: white space separates them, quotes at the beginning of a word (or behind its `=`) hold it
/// together, and a backslash takes the meaning from a quote, a space or another backslash. A quote that is not closed is a
/// character like any other.
pub(super) fn split(given: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = given;
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        let opens = word.as_deref().is_none_or(|word| word.ends_with('='));
        if matches!(first, '"' | '\'')
            && opens
            && let Some((inner, len)) = quoted(after, first)
        {
            word.get_or_insert_default().push_str(&inner);
            rest = &after[len..];
        } else if first.is_whitespace() {
            words.extend(word.take());
            rest = after;
        } else if first == '\\'
            && let Some(escaped) = after.chars().next().filter(|c| matches!(c, '"' | '\'' | '\\') || c.is_whitespace())
        {
            word.get_or_insert_default().push(escaped);
            rest = &after[escaped.len_utf8()..];
        } else {
            word.get_or_insert_default().push(first);
            rest = after;
        }
    }
    words.extend(word);
    words
}

/// What stands before the quote that closes, and how many bytes that is with the quote. In double quotes a backslash takes
/// the meaning from a quote or another backslash.
fn quoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut inner = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        if character == quote {
            return Some((inner, at + quote.len_utf8()));
        }
        let next = text[at + character.len_utf8()..].chars().next();
        if character == '\\'
            && quote == '"'
            && let Some(escaped) = next.filter(|c| matches!(c, '"' | '\\'))
        {
            inner.push(escaped);
            characters.next();
        } else {
            inner.push(character);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(body: &str, given: &str) -> String {
        expand(body, Some(given), "/s").text
    }

    #[test]
    fn arguments_go_where_the_skill_wants_them() {
        let ten = "a b c d e f g h i j k";
        for (body, given, expected) in [
            ("Fix $ARGUMENTS.", "issue  7", "Fix issue  7."),
            ("$1 and $2", "one two", "one and two"),
            ("$10 $1 $11", ten, "j a k"),
            ("$10", "a", "$10\n\nArguments: a"),
            ("$1$2", "a b", "ab"),
            ("$1st", "fir", "first"),
            ("$1 $3", "a b", "a $3"),
            ("$0 $00 $01 $", "a", "$0 $00 $01 $\n\nArguments: a"),
            ("costs $1.50, $2,000 or $1000", "a b", "costs $1.50, $2,000 or $1000\n\nArguments: a b"),
            ("ends with $1.", "a", "ends with a."),
            ("$ARGUMENTS[1] $ARGUMENTS[0] $ARGUMENTS[9]", "a b", "b a $ARGUMENTS[9]"),
            ("$ARGUMENTS[x]", "a", "a[x]"),
            ("$ARGUMENTS_LIST $ARGUMENT $arguments", "a", "$ARGUMENTS_LIST $ARGUMENT $arguments\n\nArguments: a"),
            ("$$1 \\$1", "a", "$a \\a"),
            ("run ${CLAUDE_SKILL_DIR}/x.sh $1", "a", "run /s/x.sh a"),
            ("${CLAUDE_SKILL_DIR} ${HOME} ${1}", "a", "/s ${HOME} ${1}\n\nArguments: a"),
            ("Say hello.\n", "to me", "Say hello.\n\nArguments: to me"),
            ("[$1] [$2]", "\"a b\" 'c d'", "[a b] [c d]"),
            ("é$1é", "ü", "éüé"),
        ] {
            assert_eq!(text(body, given), expected, "{body} {given}");
        }
    }

    #[test]
    fn what_is_put_in_is_not_looked_at_again() {
        assert_eq!(text("$1 $2", "$2 $1"), "$2 $1");
        assert_eq!(text("$ARGUMENTS|$1", "$1 $ARGUMENTS ${CLAUDE_SKILL_DIR}"), "$1 $ARGUMENTS ${CLAUDE_SKILL_DIR}|$1");
        assert_eq!(text("$1$2", "$ 1"), "$1");
    }

    #[test]
    fn what_was_not_given_is_told() {
        for (body, given, expected, notes) in [
            ("awk '{ print $1 }'", None, "awk '{ print $1 }'", vec![]),
            ("Do $ARGUMENTS", None, "Do ", vec!["The skill takes arguments, and none were given."]),
            ("Do $ARGUMENTS", Some("  "), "Do ", vec!["The skill takes arguments, and none were given."]),
            (
                "$3 $1 $2 $2",
                Some("a"),
                "$3 a $2 $2",
                vec!["No argument was given for $2, $3: what stands there was left as it is."],
            ),
            ("$1 $500", Some("a"), "a $500", vec![]),
            (
                "Do",
                Some("a"),
                "Do\n\nArguments: a",
                vec!["The skill has no place for arguments; those given stand at its end."],
            ),
        ] {
            let expanded = expand(body, given, "/s");
            assert_eq!(
                (expanded.text.as_str(), expanded.notes),
                (expected, notes.iter().map(|n| (*n).to_owned()).collect())
            );
        }
    }

    #[test]
    fn words() {
        for (given, words) in [
            ("", vec![]),
            ("  a\tb\nc ", vec!["a", "b", "c"]),
            ("\"a b\" 'c d' e", vec!["a b", "c d", "e"]),
            ("--name=\"a b\" x", vec!["--name=a b", "x"]),
            ("\"\" ''", vec!["", ""]),
            ("don't stop, it's fine", vec!["don't", "stop,", "it's", "fine"]),
            ("\"open end", vec!["\"open", "end"]),
            (r#""say \"hi\" \\ \n" b"#, vec![r#"say "hi" \ \n"#, "b"]),
            (r"'a\' b", vec![r"a\", "b"]),
            (r#"a\ b \"c C:\dir \"#, vec!["a b", "\"c", r"C:\dir", r"\"]),
            ("\"a\"b", vec!["ab"]),
        ] {
            assert_eq!(split(given), words, "{given}");
        }
    }

    proptest! {
        #[test]
        fn quoted_words_come_back(words in prop::collection::vec("[ -~é\n]{0,8}", 0..6)) {
            let quoted: Vec<String> =
                words.iter().map(|word| format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))).collect();
            prop_assert_eq!(split(&quoted.join(" ")), words);
        }

        #[test]
        fn each_place_gets_its_own_word_and_nothing_else_moves(
            pieces in prop::collection::vec(("[a-z \n]{0,5}", 1_usize..=12), 0..8),
            words in prop::collection::vec("[$a-zA-Z1-9]{1,6}", 12..=12),
        ) {
            let body: String = pieces.iter().map(|(text, number)| format!("{text}${number};")).collect::<Vec<_>>().concat();
            let expected: String = pieces.iter().map(|(text, number)| format!("{text}{};", words[number - 1])).collect::<Vec<_>>().concat();
            let expanded = expand(&body, Some(&words.join(" ")), "/s");
            if pieces.is_empty() {
                prop_assert!(expanded.text.ends_with(&words.join(" ")));
            } else {
                prop_assert_eq!(expanded.text, expected);
                prop_assert!(expanded.notes.is_empty());
            }
        }

        #[test]
        fn without_arguments_only_the_place_of_all_goes(body in "[$A-Z0-9a-z\\[\\]{}_ .]{0,40}") {
            prop_assume!(!body.contains("$ARGUMENTS") && !body.contains("${CLAUDE_SKILL_DIR}"));
            let expanded = expand(&body, None, "/s");
            prop_assert_eq!((expanded.text, expanded.notes), (body, vec![]));
        }
    }
}
