//! Patterns over commands: what they say, and which commands they fit. Pure.
//!
//! A pattern is the words of a command, exactly; words with `:*` or ` *` behind them, for every command that begins with
//! these words; or `*`, for every command. To allow, it has to fit word for word, and everything else has to be known; to
//! hold back, it is enough that it may be meant: the program is known by its last component, flags between the words are passed
//! over, `*` and `?` in a word stand for anything, and a word that nobody knows before it runs fits every word.

use super::lines::{Line, Step};
use super::shell::Word;
use super::{arity, glob, steering};

/// Characters by which a shell makes more of a line than one command.
const SHELL: &[char] = &['|', '&', ';', '\n', '`', '$', '(', ')', '<', '>', '{', '}'];

/// What a pattern over commands says.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Says {
    /// Every command.
    All,
    /// What begins with this text, as words.
    Begin(String),
    /// Exactly this text.
    Exactly(String),
}

fn says(pattern: &str) -> Says {
    let pattern = pattern.trim();
    if pattern == "*" {
        return Says::All;
    }
    match pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *")) {
        Some(begin) => Says::Begin(begin.trim().to_owned()),
        None => Says::Exactly(pattern.to_owned()),
    }
}

/// Whether a text behind a command means itself in a pattern.
pub(super) fn means_itself(line: &str) -> bool {
    says(line) == Says::Exactly(line.to_owned())
}

/// Whether a pattern says exactly this one simple command, of which nothing but the text is known.
pub(super) fn is_command(pattern: &str, command: &str) -> bool {
    let command = command.trim();
    match says(pattern) {
        Says::All => true,
        Says::Exactly(text) => text == command,
        Says::Begin(begin) => !begin.is_empty() && !command.contains(SHELL) && begins(&begin, command),
    }
}

/// Whether a pattern may say one of the commands in a line of which nothing but the text is known.
pub(super) fn may_be_command(pattern: &str, command: &str) -> bool {
    let mut pieces = std::iter::once(command).chain(command.split(SHELL)).map(str::trim);
    match says(pattern) {
        Says::All => true,
        Says::Exactly(text) => pieces.any(|piece| piece == text),
        Says::Begin(begin) => begin.is_empty() || pieces.any(|piece| begins(&begin, piece)),
    }
}

fn begins(prefix: &str, command: &str) -> bool {
    command.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

/// Which of some patterns, together, allow a line: every command in it is allowed by one of them or only reads, or one says
/// the whole line. `None`: they do not.
pub(super) fn allowing<'a, T>(patterns: &[(&'a str, T)], line: &Line) -> Option<Vec<T>>
where
    T: Copy + PartialEq + 'a,
{
    if !line.clear() {
        return None;
    }
    let text = line.line.trim();
    let whole = patterns.iter().find(|(pattern, _)| match says(pattern) {
        Says::All => true,
        Says::Exactly(said) => said == text,
        Says::Begin(_) => false,
    });
    if let Some((_, rule)) = whole {
        return Some(vec![*rule]);
    }
    if assigns(text) {
        // What a variable does to a command is not in its words.
        return None;
    }
    let mut used: Vec<T> = Vec::new();
    for step in line.steps.iter().filter(|step| !step.read_only) {
        let (_, rule) = patterns.iter().find(|(pattern, _)| fits(pattern, step))?;
        if !used.contains(rule) {
            used.push(*rule);
        }
    }
    // Where nothing but reading is left, what the line writes comes from itself (`echo x > file`), and no pattern says that.
    let harmless = line.only_reads() && !line.analysis.network && line.analysis.hosts.is_empty();
    (!used.is_empty() || harmless).then_some(used)
}

/// Whether a pattern says this command, word for word.
fn fits(pattern: &str, step: &Step) -> bool {
    let (begin, whole) = match says(pattern) {
        Says::All => return true,
        Says::Begin(begin) => (begin, false),
        Says::Exactly(text) => (text, true),
    };
    let Some(said) = arity::words(&begin) else { return false };
    let same = |(said, word): (&String, &Word)| matches!(word, Word::Known(known) if known == said);
    let count = if whole { said.len() == step.words.len() } else { said.len() <= step.words.len() };
    let told = |word: &Word| match word {
        Word::Known(_) => true,
        // It may turn out to be an option, which makes it another command.
        Word::Unknown(text) => text.starts_with(|c: char| c.is_ascii_alphanumeric()) && !text.contains(['$', '`']),
    };
    let behind = step.words.get(said.len()..).unwrap_or_default();
    let steered =
        !whole && (!behind.iter().all(told) || steering::steers(step.words.iter().map(Word::text), said.len()));
    count && !steered && said.iter().zip(&step.words).all(same)
}

/// Whether some text may give a variable to a command: `NAME=value` where a command begins.
fn assigns(line: &str) -> bool {
    line.split(SHELL).any(|piece| {
        let first = piece.split_whitespace().next().unwrap_or_default();
        let name = first.split_once('=').map(|(name, _)| name.trim_end_matches('+'));
        name.is_some_and(|name| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '[' || c == ']')
        })
    })
}

/// Whether a pattern may mean one of the commands of a line. Doubt is a yes.
pub(super) fn may_be_in(pattern: &str, line: &Line) -> bool {
    let says = says(pattern);
    let (begin, whole) = match &says {
        Says::All => return true,
        Says::Begin(begin) => (begin, false),
        Says::Exactly(text) => (text, true),
    };
    let said: Vec<String> = pieces(begin).map(str::to_owned).collect();
    if said.is_empty() || whole && line.line.trim() == begin {
        return true;
    }
    if line.steps.iter().any(|step| may_be(&said, whole, &step.words)) {
        return true;
    }
    if line.clear() {
        return false;
    }
    // What was not understood is looked at word by word: the command may begin at each of them.
    line.line.split(SHELL).any(|piece| {
        let words: Vec<Word> = pieces(piece).map(|word| Word::Known(word.to_owned())).collect();
        (0..words.len()).any(|from| may_be(&said, false, &words[from..]))
    })
}

/// The words of a text, roughly: as good as can be said of a text that need not follow any grammar.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let edge = |c: char| c.is_whitespace() || SHELL.contains(&c);
    let quotes: &[char] = &['\'', '"', '\\'];
    text.split(edge).map(move |word| word.trim_matches(quotes)).filter(|word| !word.is_empty())
}

fn may_be(said: &[String], whole: bool, words: &[Word]) -> bool {
    let flag = |word: &&Word| matches!(word, Word::Known(text) if text.starts_with('-'));
    let all: Vec<&Word> = words.iter().collect();
    if agree(said, &all, whole) {
        return true;
    }
    if whole {
        return false;
    }
    // Flags of the program itself may stand before the word that makes the command: `git -C elsewhere push`.
    let plain: Vec<&Word> = words.iter().filter(|word| !flag(word)).collect();
    let mut bare: Vec<&Word> = Vec::new();
    let mut behind = false;
    for (at, word) in words.iter().enumerate() {
        let is_flag = flag(&word);
        if at == 0 || !is_flag && !behind {
            bare.push(word);
        }
        behind = is_flag && at > 0;
    }
    agree(said, &plain, false) || agree(said, &bare, false)
}

fn agree(said: &[String], words: &[&Word], whole: bool) -> bool {
    let count = if whole { words.len() == said.len() } else { words.len() >= said.len() };
    // What nobody knows may become several words.
    let unknown = words.iter().take(said.len()).any(|word| matches!(word, Word::Unknown(_)));
    (count || unknown)
        && said.iter().zip(words).enumerate().all(|(at, (said, word))| match word {
            Word::Unknown(_) => true,
            Word::Known(text) if at == 0 => {
                let (said, text) = (last(said).to_lowercase(), last(text).to_lowercase());
                glob::component(&said, &text)
            }
            Word::Known(text) => glob::component(said, text),
        })
}

/// The last component of a name.
fn last(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
