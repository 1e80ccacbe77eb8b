//! Programs that run other programs: what they run, read from their own arguments. Pure.

mod finders;
mod options;
mod remote;
mod shells;
mod table;

use super::effects::{Effects, Invocation, Runs, Verdict, Word};
use super::walk::state::Value;

/// What stands for words that are added only when it runs: a variable that no line knows.
pub(super) const ADDED: &str = "$_";

/// What a program that runs others does.
#[derive(Debug)]
pub(super) struct Wrapped {
    pub effects: Effects,
    /// The folder in which it runs them.
    pub folder: Option<Word>,
    /// Variables that it sets for them.
    pub sets: Vec<(String, Value)>,
    /// What they get as `$1` and so on.
    pub arguments: Option<Vec<Word>>,
    /// Whether they run apart from this shell.
    pub child: bool,
    /// Words of which any may begin what it runs, where its arguments are not understood.
    pub guess: Vec<Word>,
}

impl Wrapped {
    /// One that does no harm itself.
    fn harmless() -> Wrapped {
        let effects = Effects::harmless();
        Wrapped { effects, folder: None, sets: Vec::new(), arguments: None, child: true, guess: Vec::new() }
    }

    /// It needs approval itself.
    fn asks(mut self, why: impl Into<String>) -> Wrapped {
        self.effects.verdict = self.effects.verdict.max(Verdict::NeedsApproval);
        self.effects.reasons.push(why.into());
        self
    }

    /// It destroys something itself.
    fn destroys(mut self, why: impl Into<String>) -> Wrapped {
        self.effects.verdict = Verdict::Destructive;
        self.effects.reasons.insert(0, why.into());
        self
    }

    /// It runs a program.
    fn words(mut self, words: &[Word]) -> Wrapped {
        if !words.is_empty() {
            self.effects.runs.push(Runs::Words { words: words.to_vec(), more: false, elsewhere: false });
        }
        self
    }

    /// It runs a line.
    fn line(mut self, line: Word) -> Wrapped {
        self.effects.runs.push(Runs::Line { line, elsewhere: false });
        self
    }

    /// What its arguments mean is not known, so they are looked at for anything that destroys.
    fn unclear(mut self, program: &str, args: &[Word]) -> Wrapped {
        self.guess = args.to_vec();
        self.asks(format!("what the arguments of `{program}` mean is not known"))
    }
}

/// What a command runs, if it is one that runs others; `None`: ask the tables of programs.
pub(super) fn wrapped(invocation: &Invocation<'_>) -> Option<Wrapped> {
    let Invocation { program, args, .. } = *invocation;
    match program {
        "eval" | "exec" | "command" | "builtin" | "source" | "." => Some(shells::here(program, args)),
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "mksh" | "oksh" | "ash" | "yash" | "rbash" | "fish" | "csh"
        | "tcsh" | "nu" | "pwsh" | "xonsh" | "elvish" => Some(shells::shell(program, args, invocation.fed)),
        "su" | "runuser" => Some(shells::su(program, args)),
        "env" | "genv" => Some(shells::env(args)),
        "watch" => Some(shells::watch(args)),
        "script" => Some(shells::script(args)),
        "flock" => Some(shells::flock(args)),
        "at" | "batch" | "crontab" => Some(shells::later(program, args)),
        "busybox" | "toybox" => Some(shells::applet(program, args)),
        "xargs" | "gxargs" => Some(finders::xargs(args)),
        "parallel" | "sem" => Some(finders::parallel(args)),
        "find" | "gfind" | "bfs" => Some(finders::find(invocation)),
        "fd" | "fdfind" => finders::fd(args),
        "ssh" | "autossh" | "mosh" => Some(remote::ssh(program, args)),
        "scp" | "sftp" => Some(remote::copy(program, args)),
        "git" => remote::git(args),
        _ => table::wrapped(program, args),
    }
}

/// Words joined to one line, as `eval` and `ssh` do.
fn joined(words: &[Word]) -> Word {
    let text = words.iter().map(Word::text).collect::<Vec<_>>().join(" ");
    if words.iter().all(|word| matches!(word, Word::Known(_))) { Word::Known(text) } else { Word::Unknown(text) }
}

/// `NAME=value`, split.
fn assignment(word: &Word) -> Option<(String, Value)> {
    let (name, value) = word.text().split_once('=')?;
    let value = match word {
        Word::Known(_) => Value::Known(value.to_owned()),
        Word::Unknown(_) => Value::Unknown,
    };
    let named = !name.is_empty() && !name.starts_with('-') && !name.contains(['/', '$', '`']);
    named.then(|| (name.to_owned(), value))
}
