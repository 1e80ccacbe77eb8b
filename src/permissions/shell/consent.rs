//! What one consent to a command line may cover beside it.

use super::effects::Verdict;
use super::walk::{Table, walked};
use super::{Scene, programs};
use crate::permissions::{arity, steering};

/// How each command of a line begins, in the order of the line, if a consent may be given for all lines with commands
/// that begin so: those the table of [`arity`] knows by their first words, those that only look by all of theirs.
///
/// `None`: a consent can only be for exactly this line. So it is where something in it is not known or not clear, runs
/// through another program, is redirected to a file, sets a variable, destroys something, or is asked about each time.
pub fn shared(line: &str, scene: &Scene) -> Option<Vec<Vec<String>>> {
    shared_by(line, scene, programs::effects)
}

pub(super) fn shared_by(line: &str, scene: &Scene, table: Table) -> Option<Vec<Vec<String>>> {
    let walker = walked(line, scene, table);
    let destroys = walker.found.reasons.iter().any(|(verdict, _)| *verdict == Verdict::Destructive);
    let told = walker.plainly.len() == walker.found.commands.len();
    if !walker.plain || destroys || !told || walker.found.unclear.is_some() || walker.plainly.is_empty() {
        return None;
    }
    let mut commands = Vec::new();
    for (words, looks) in &walker.plainly {
        let line = written(words)?;
        if arity::danger(&line).is_some() {
            return None;
        }
        commands.push(match arity::shared(&line) {
            // The words behind it make it another command.
            Some(prefix)
                if steering::single(words) || steering::steers(words.iter().map(String::as_str), prefix.len()) =>
            {
                return None;
            }
            Some(prefix) => prefix,
            // The table would take another command for the same one, were it in it.
            None if *looks && !arity_knows(words) => words.clone(),
            None => return None,
        });
    }
    let looks = walker.plainly.iter().all(|(words, looks)| *looks && !arity_knows(words));
    (!looks).then_some(commands)
}

/// Whether the table may know a command by these first words.
fn arity_knows(words: &[String]) -> bool {
    (1..=words.len().min(3)).any(|count| written(&words[..count]).is_none_or(|line| arity::shared(&line).is_some()))
}

/// Words as a line that a shell takes apart into them; `None`: not plainly.
fn written(words: &[String]) -> Option<String> {
    let quoted = |word: &String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@+".contains(c);
        match () {
            () if !word.is_empty() && word.chars().all(plain) => Some(word.clone()),
            () if word.contains('\'') => None,
            () => Some(format!("'{word}'")),
        }
    };
    words.iter().map(quoted).collect::<Option<Vec<_>>>().map(|words| words.join(" "))
}
