//! Reads a command's options by a notation that every table of programs shares.
//!
//! The notation is a line of words. `-x` and `--long` are flags; `--long:` takes a value, `--long?` takes one only when
//! it is attached, `--long::` takes two. Behind that: `<` the value is a file that is read, `>` one that is written,
//! `!` a command line that is run, `@` a machine that is talked to. `-NUM` is any number, `*` says that whatever is
//! not listed is a harmless flag, `+` that the first word which is no option ends the options. A word with one dash and
//! more letters is one option if it is listed, and a cluster of letters else.

use super::super::effects::{Verdict, Word};

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Attached,
    Value,
    Two,
}

/// What an option's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Touches {
    /// Nothing that matters.
    Nothing,
    /// A file that is read.
    Reads,
    /// A file that is written.
    Writes,
    /// A command line that is run.
    Runs,
    /// A machine.
    Network,
}

/// Options that change the verdict: in the notation, what they make of it, and why (it goes on behind the command's
/// and the option's name).
pub(super) type Danger = (&'static str, Verdict, &'static str);

/// An option as a table lists it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listed {
    /// Its name with the dashes.
    pub name: &'static str,
    takes: Takes,
    /// What its value is.
    pub touches: Touches,
    /// What it makes of the verdict, and why.
    pub danger: Option<(Verdict, &'static str)>,
}

/// The options that a command has.
#[derive(Debug, Default)]
pub(super) struct Spec {
    listed: Vec<Listed>,
    /// Whether an option that is not listed is harmless.
    pub tame: bool,
    stops: bool,
    numbers: bool,
}

impl Spec {
    /// From lines in the notation.
    pub(super) fn of(lines: &[&'static str], dangers: &[Danger]) -> Self {
        let mut spec = Self::default();
        for line in lines {
            spec.add(line, None);
        }
        for (line, verdict, why) in dangers {
            spec.add(line, Some((*verdict, why)));
        }
        spec
    }

    /// The same, ended by the first word that is no option.
    pub(super) fn stopping(mut self) -> Self {
        self.stops = true;
        self
    }

    fn add(&mut self, line: &'static str, danger: Option<(Verdict, &'static str)>) {
        for token in line.split_ascii_whitespace() {
            match token {
                "*" => self.tame = true,
                "+" => self.stops = true,
                "-NUM" => self.numbers = true,
                _ => self.listed.push(listed(token, danger)),
            }
        }
    }

    /// Whether one of its options does more than look.
    pub(super) fn risky(&self) -> bool {
        !self.tame
            || self
                .listed
                .iter()
                .any(|listed| listed.danger.is_some() || !matches!(listed.touches, Touches::Nothing | Touches::Reads))
    }

    fn exact(&self, name: &str) -> Option<Listed> {
        // The dangers are listed last, and count where a name is listed twice.
        self.listed.iter().rev().find(|listed| listed.name == name).copied()
    }

    fn beginning(&self, name: &str) -> Vec<Listed> {
        self.listed.iter().filter(|listed| listed.name.starts_with(name)).copied().collect()
    }
}

fn listed(token: &'static str, danger: Option<(Verdict, &'static str)>) -> Listed {
    let (rest, touches) = match token.as_bytes().last() {
        Some(b'<') => (&token[..token.len() - 1], Touches::Reads),
        Some(b'>') => (&token[..token.len() - 1], Touches::Writes),
        Some(b'!') => (&token[..token.len() - 1], Touches::Runs),
        Some(b'@') => (&token[..token.len() - 1], Touches::Network),
        _ => (token, Touches::Nothing),
    };
    let (name, takes) = if let Some(name) = rest.strip_suffix("::") {
        (name, Takes::Two)
    } else if let Some(name) = rest.strip_suffix(':') {
        (name, Takes::Value)
    } else if let Some(name) = rest.strip_suffix('?')
        && name.len() > 1
    {
        (name, Takes::Attached)
    } else {
        (rest, Takes::Nothing)
    };
    Listed { name, takes, touches, danger }
}

/// An option that was given.
#[derive(Debug, Clone)]
pub(super) struct Given {
    /// The option.
    pub option: Listed,
    /// Its value; of two, the second.
    pub value: Option<Word>,
}

/// A command's words, told apart.
#[derive(Debug, Default)]
pub(super) struct Parsed<'a> {
    /// The options, in their order.
    pub given: Vec<Given>,
    /// The words that are no options. Where the first of them ends the options: it and all behind it.
    pub operands: Vec<&'a Word>,
    /// How many operands stood before `--`, if there was one.
    pub dashes: Option<usize>,
    /// Options that are not listed, or only abbreviated.
    pub foreign: Vec<String>,
    /// A word that may be any option.
    pub vague: Option<&'a str>,
    /// All that is not read as an option and its value, where the first operand ends the options.
    pub rest: &'a [Word],
}

impl<'a> Parsed<'a> {
    /// Whether one of some options (their names, with spaces between) was given.
    pub(super) fn has(&self, names: &str) -> bool {
        self.find(names).is_some()
    }

    /// The last of some options that was given.
    pub(super) fn find(&self, names: &str) -> Option<&Given> {
        self.given.iter().rev().find(|given| names.split(' ').any(|name| name == given.option.name))
    }

    /// The values of some options.
    pub(super) fn values<'s>(&'s self, names: &'s str) -> impl Iterator<Item = &'s Word> + 's {
        self.given
            .iter()
            .filter(move |given| names.split(' ').any(|name| name == given.option.name))
            .filter_map(|given| given.value.as_ref())
    }

    /// The operands whose text is known.
    pub(super) fn known(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.operands.iter().filter_map(|word| known(word))
    }
}

/// A word's text, if it is known.
pub(super) fn known(word: &Word) -> Option<&str> {
    match word {
        Word::Known(text) => Some(text),
        Word::Unknown(_) => None,
    }
}

/// A word's text, known or as it is written.
pub(super) fn shown(word: &Word) -> &str {
    match word {
        Word::Known(text) | Word::Unknown(text) => text,
    }
}

/// Whether what is written so may turn out to be an option, or several words of which one is.
pub(in crate::permissions::shell) fn may_be_option(written: &str) -> bool {
    // What a process substitution stands for is a path.
    if written.starts_with("<(") || written.starts_with(">(") {
        return false;
    }
    let fixed = written.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '_'));
    let mut quoted = false;
    let mut splits = written.contains('@');
    for c in written.chars() {
        match c {
            '"' => quoted = !quoted,
            '\'' | '\\' | '<' | '>' | ' ' | '\n' => splits = true,
            '$' | '`' if !quoted => splits = true,
            _ => {}
        }
    }
    !fixed || splits
}

/// Tells a command's options from its other words.
pub(super) fn read<'a>(args: &'a [Word], spec: &Spec) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    let mut ended = false;
    let mut at = 0;
    while let Some(word) = args.get(at) {
        let option = match word {
            Word::Unknown(text) => {
                if !ended && may_be_option(text) {
                    parsed.vague.get_or_insert(text);
                }
                None
            }
            Word::Known(text) if !ended && text.starts_with('-') && text.len() > 1 => Some(text.as_str()),
            Word::Known(_) => None,
        };
        match option {
            None if spec.stops => break,
            None => {
                parsed.operands.push(word);
                at += 1;
            }
            Some("--") => {
                ended = true;
                parsed.dashes = Some(parsed.operands.len());
                at += 1;
                if spec.stops {
                    break;
                }
            }
            Some(text) => at += 1 + one(text, &args[at + 1..], spec, &mut parsed),
        }
    }
    parsed.rest = args.get(at..).unwrap_or_default();
    if spec.stops {
        parsed.operands = parsed.rest.iter().collect();
    }
    parsed
}

/// Reads one word of options; how many words behind it were its values.
fn one<'a>(text: &str, behind: &'a [Word], spec: &Spec, parsed: &mut Parsed<'a>) -> usize {
    let (name, attached) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    let whole = name.len() > 2 && (text.starts_with("--") || spec.exact(name).is_some());
    if whole {
        let found = if let Some(option) = spec.exact(name) {
            vec![option]
        } else {
            // An abbreviation stands for any option that begins so; it is known to be harmless only in full.
            parsed.foreign.push(name.to_owned());
            spec.beginning(name)
        };
        let mut taken = 0;
        for option in found {
            let value = match (attached, option.takes) {
                (Some(value), _) => Some(Word::Known(value.to_owned())),
                (None, Takes::Value) => value_of(behind, 1, &mut taken, parsed),
                (None, Takes::Two) => value_of(behind, 2, &mut taken, parsed),
                (None, Takes::Nothing | Takes::Attached) => None,
            };
            parsed.given.push(Given { option, value });
        }
        return taken;
    }
    if spec.numbers && text[1..].chars().all(|c| c.is_ascii_digit()) {
        return 0;
    }
    let mut taken = 0;
    let cluster = &text[1..];
    for (offset, letter) in cluster.char_indices() {
        let rest = &cluster[offset + letter.len_utf8()..];
        let name = format!("-{letter}");
        let Some(option) = spec.exact(&name) else {
            parsed.foreign.push(name);
            continue;
        };
        let value = match option.takes {
            Takes::Attached | Takes::Value if !rest.is_empty() => {
                Some(Word::Known(rest.strip_prefix('=').unwrap_or(rest).to_owned()))
            }
            Takes::Nothing | Takes::Attached => None,
            Takes::Value => value_of(behind, 1, &mut taken, parsed),
            Takes::Two => value_of(behind, 2, &mut taken, parsed),
        };
        parsed.given.push(Given { option, value });
        if option.takes != Takes::Nothing {
            break;
        }
    }
    taken
}

/// The last of so many words behind an option.
fn value_of<'a>(behind: &'a [Word], count: usize, taken: &mut usize, parsed: &mut Parsed<'a>) -> Option<Word> {
    let words = &behind[..count.min(behind.len())];
    for word in words {
        if let Word::Unknown(text) = word
            && may_be_option(text)
        {
            // Nothing, or more than the value.
            parsed.vague.get_or_insert(text);
        }
    }
    *taken = (*taken).max(words.len());
    words.last().cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<Word> {
        line.split_whitespace()
            .map(|word| if word.contains('$') { Word::Unknown(word.to_owned()) } else { Word::Known(word.to_owned()) })
            .collect()
    }

    #[track_caller]
    fn check(notation: &'static str, line: &str, expected: &str) {
        let args = words(line);
        let parsed = read(&args, &Spec::of(&[notation], &[]));
        let mut out: Vec<String> = parsed
            .given
            .iter()
            .map(|given| match &given.value {
                Some(value) => format!("{}={}", given.option.name, shown(value)),
                None => given.option.name.to_owned(),
            })
            .collect();
        out.push("|".to_owned());
        out.extend(parsed.operands.iter().map(|word| shown(word).to_owned()));
        out.extend(parsed.foreign.iter().map(|name| format!("?{name}")));
        out.extend(parsed.vague.map(|text| format!("!{text}")));
        assert_eq!(out.join(" "), expected, "{line}");
    }

    #[test]
    fn options_and_operands() {
        check("-a -b: -c?", "-ab x y", "-a -b=x | y");
        check("-a -b: -c?", "-abx y", "-a -b=x | y");
        check("-a -b: -c?", "-c x -cy", "-c -c=y | x");
        check("-a -b:", "x -- -a", "| x -a");
        check("-a -b:", "x - -a", "-a | x -");
        check("+ -a -b:", "-a x -a", "-a | x -a");
        check("+ -a -b:", "-a -- -a", "-a | -a");
        check("-x", "-y", "| ?-y");
        check("--long: --lone", "--long v --long=w", "--long=v --long=w |");
        check("--long: --lone", "--lo v", "--long=v --lone | ?--lo");
        check("--arg::", "--arg a v f", "--arg=v | f");
        check("-NUM", "-12 x", "| x");
        check("-name: -n", "-name v -n", "-name=v -n |");
        check("-name: -n", "-name=v", "-name=v |");
        check("-b:", "-b", "-b |");
    }

    #[test]
    fn what_only_running_it_shows() {
        check("-a", "$X", "| $X !$X");
        check("-b:", "-b $X", "-b=$X | !$X");
        check("-b:", "-- $X", "| $X");
        check("+ -a", "x $X", "| x $X");
        check("-a", "--o=$X", "| --o=$X !--o=$X");
        for (written, expected) in [
            ("src/*.rs", false),
            ("*.rs", true),
            ("\"$f\"", true),
            ("./\"$f\"", false),
            ("./$f", true),
            ("a{b,c}", false),
            ("{a,-c}", true),
            ("x\"$@\"", true),
            ("<(ls)", false),
            ("[a-]x", true),
        ] {
            assert_eq!(may_be_option(written), expected, "{written}");
        }
    }
}
