//! The commands of the shell that change what it knows: folders, variables, arguments, options.

use std::path::PathBuf;

use super::Walker;
use super::grammar::{Part, Term};
use super::judge::short;
use super::state::{Feed, Value};
use crate::permissions::shell::effects::{Verdict, Word};
use crate::permissions::shell::paths;

/// Whether a command takes assignments as arguments.
pub(super) fn declares(name: &str) -> bool {
    matches!(name, "alias" | "declare" | "export" | "local" | "readonly" | "typeset")
}

pub(super) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b == b'_' || b.is_ascii_alphabetic())
        && bytes.all(|b| b == b'_' || b.is_ascii_alphanumeric())
}

/// Variables that decide what runs, by their whole names.
const NAMES: &[&str] = &[
    "ANT_OPTS",
    "AR",
    "AS",
    "BASHOPTS",
    "BROWSER",
    "CC",
    "CDPATH",
    "CHROME_PATH",
    "CLASSPATH",
    "CPP",
    "CURL_HOME",
    "CXX",
    "EDITOR",
    "EMACSLOADPATH",
    "ENV",
    "EXECIGNORE",
    "EXINIT",
    "FCEDIT",
    "FPATH",
    "GCONV_PATH",
    "GLOBIGNORE",
    "GNUPGHOME",
    "HISTFILE",
    "HISTFILESIZE",
    "HOME",
    "HOSTALIASES",
    "IFS",
    "INPUTRC",
    "JAVA_HOME",
    "LD",
    "LESS",
    "LESSCLOSE",
    "LESSOPEN",
    "LOCPATH",
    "LUA_INIT",
    "MAIL",
    "MAILPATH",
    "MAKE",
    "MAKEFILES",
    "MAKEFLAGS",
    "MANPAGER",
    "MFLAGS",
    "NLSPATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "OPENSSL_CONF",
    "PAGER",
    "PATH",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "POSIXLY_CORRECT",
    "PSQLRC",
    "PYTHONBREAKPOINT",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "RIPGREP_CONFIG_PATH",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC",
    "RUSTDOC",
    "SHELL",
    "SHELLOPTS",
    "TERMCAP",
    "TERMINFO",
    "VIMINIT",
    "VISUAL",
    "WGETRC",
    "ZDOTDIR",
];

/// How the names of such variables begin.
const BEGINS: &[&str] = &[
    "ANSIBLE_",
    "AWS_",
    "BASH_",
    "BUNDLE_",
    "CARGO_",
    "DOCKER_",
    "DYLD_",
    "FZF_",
    "GIT_",
    "JAVA_TOOL",
    "JDK_JAVA",
    "KUBE",
    "LD_",
    "MALLOC_",
    "NPM_CONFIG_",
    "PIP_",
    "RUSTC_",
    "SSH_",
    "SSL_",
    "SUDO_",
    "TF_",
    "UV_",
    "_JAVA",
];

/// How they end.
const ENDS: &[&str] = &[
    "FLAGS",
    "_ASKPASS",
    "_CMD",
    "_COMMAND",
    "_COMPILER",
    "_CONFIG",
    "_EDITOR",
    "_HOME",
    "_HOOK",
    "_INIT",
    "_LINKER",
    "_LOADER",
    "_OPTIONS",
    "_OPTS",
    "_PAGER",
    "_PATH",
    "_PRELOAD",
    "_PROXY",
    "_RUNNER",
    "_SHELL",
    "_WRAPPER",
];

/// Those of them that decide nothing.
const HARMLESS: &[&str] = &[
    "CARGO_INCREMENTAL",
    "CARGO_NET_OFFLINE",
    "CARGO_TERM_COLOR",
    "CARGO_TERM_PROGRESS_WHEN",
    "GIT_AUTHOR_DATE",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_DATE",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_OPTIONAL_LOCKS",
    "GIT_TERMINAL_PROMPT",
    "PIP_DISABLE_PIP_VERSION_CHECK",
    "PIP_NO_INPUT",
];

/// Options of the shell that do not change what a line means.
const OPTIONS: &[&str] =
    &["errexit", "errtrace", "functrace", "monitor", "noclobber", "noglob", "nounset", "pipefail", "verbose", "xtrace"];

/// Variables of the shell that are numbers: what is assigned to them is evaluated.
const INTEGERS: &[&str] = &["COMP_POINT", "HISTCMD", "LINENO", "OPTIND", "RANDOM", "SECONDS", "SRANDOM"];

/// Bytes of a value that is followed.
const VALUE: usize = 16 << 10;

/// Pagers that only pass on what they get.
const PASSES: &[&str] = &["", "cat"];

/// Whether a variable decides what programs run, or what they run.
fn decides(name: &str, value: &Value) -> bool {
    let upper = name.to_uppercase();
    let plain = matches!(value, Value::Known(text) if PASSES.contains(&text.as_str()));
    if HARMLESS.contains(&upper.as_str()) || plain && upper.ends_with("PAGER") {
        return false;
    }
    NAMES.contains(&upper.as_str())
        || BEGINS.iter().any(|begin| upper.starts_with(begin))
        || ENDS.iter().any(|end| upper.ends_with(end))
}

impl Walker<'_> {
    /// A variable gets a value.
    pub(in crate::permissions::shell) fn assign(&mut self, name: &str, value: Value) {
        self.plain = false;
        if decides(name, &value) {
            let why = format!("the variable `{}` decides what runs, or how", short(name));
            self.raise(Verdict::NeedsApproval, why);
        }
        if name == "PROMPT_COMMAND"
            && let Value::Known(line) = &value
        {
            let line = line.clone();
            self.line(&line);
        }
        if INTEGERS.contains(&name) && !value.is_number() {
            self.subscript("[$(");
        }
        let fixed = self.fixed.contains(name);
        if fixed {
            self.may_fail();
        }
        let value = match value {
            _ if fixed => Value::Unknown,
            Value::Known(text) if text.len() > VALUE => Value::Unknown,
            value => value,
        };
        if self.fails {
            self.doubtful.push((name.to_owned(), value.is_number()));
        }
        self.state.vars.insert(name.to_owned(), value);
    }

    /// Goes to another folder; `None`: home.
    pub(super) fn enter_folder(&mut self, to: Option<&Word>) {
        let home = || match self.variable("HOME") {
            Value::Known(home) => Some(Word::Known(home)),
            _ => None,
        };
        let target = to.cloned().or_else(home);
        self.state.folders = match target {
            Some(Word::Known(to)) if to != "-" && !to.is_empty() => {
                let absolute = to.starts_with('/');
                let folders = if absolute { Some(vec![PathBuf::from("/")]) } else { self.state.folders.take() };
                folders.map(|folders| folders.iter().map(|folder| paths::resolve(folder, &to)).collect())
            }
            _ => None,
        };
        if self.state.vars.contains_key("CDPATH") {
            self.state.folders = None;
        }
    }

    /// Words that `[[` compares: names and numbers beside some operators are evaluated.
    pub(super) fn tested(&mut self, terms: &[Term]) {
        const COMPARE: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
        let words: Vec<Word> = terms.iter().map(|term| self.field(&term.parts)).collect();
        let compares = |at: usize| words.get(at).is_some_and(|word| COMPARE.contains(&word.text()));
        for (at, term) in terms.iter().enumerate() {
            if compares(at + 1) || at > 0 && compares(at - 1) {
                self.arithmetic(&term.parts);
                self.subscript(words[at].text());
            }
        }
        self.named(&words);
    }

    /// Words of a test: with `-v` they name variables, whose indexes are evaluated.
    fn named(&mut self, words: &[Word]) {
        let names = words.iter().any(|word| matches!(word.text(), "-v" | "-R"));
        for word in words {
            if names && matches!(word, Word::Unknown(_)) {
                let why = format!("`{}` may be the name of a variable with an index, which runs", short(word.text()));
                self.raise(Verdict::NeedsApproval, why);
            }
            self.evaluates(word);
        }
    }

    /// Words of `[` that may become several: an operator among them may evaluate another.
    pub(super) fn splits(&mut self, terms: &[Term], words: &[Word]) {
        if words.iter().all(|word| matches!(word, Word::Known(_))) {
            return;
        }
        for term in terms {
            let mut quoted = false;
            let bare = term.raw.chars().any(|c| {
                quoted ^= c == '"';
                !quoted && matches!(c, '$' | '`')
            });
            let told = match term.parts.as_slice() {
                [Part::Param(param)] => param.length || self.variable(&param.name).is_number(),
                [Part::Command { script, raw }] => self.counts(script, raw),
                [Part::Arithmetic { .. }] => true,
                _ => false,
            };
            if bare && !told {
                let why = format!(
                    "`{}` stands without quotes in a test, and may become one that runs commands",
                    short(&term.raw)
                );
                self.raise(Verdict::NeedsApproval, why);
            }
        }
    }

    /// A word that the shell takes for the name of a variable, or may: a subscript in it is evaluated.
    fn evaluates(&mut self, word: &Word) {
        let Word::Known(text) = word else { return };
        let Some((_, index)) = text.split_once('[') else { return };
        let index = index.rsplit_once(']').map_or(index, |(index, _)| index).to_owned();
        if text.contains("$(") || text.contains('`') {
            let why = format!("`{}` may be evaluated, and runs commands then", short(text));
            self.raise(Verdict::NeedsApproval, why);
        } else {
            self.subscript(&index);
        }
    }

    /// A command of the shell itself; whether it is one that is judged here.
    pub(super) fn builtin(&mut self, name: &str, args: &[Word]) -> bool {
        match name {
            "cd" | "pushd" => {
                let mut rest = args;
                while let Some((Word::Known(flag), behind)) = rest.split_first()
                    && flag.starts_with('-')
                    && flag.len() > 1
                {
                    rest = behind;
                }
                match rest {
                    [] if name == "cd" => self.enter_folder(None),
                    [to] => self.enter_folder(Some(to)),
                    _ => self.state.folders = None,
                }
            }
            "popd" => self.state.folders = None,
            ":" | "true" | "false" | "times" | "jobs" | "fg" | "bg" | "disown" | "exit" | "dirs" | "umask"
            | "caller" | "logout" | "suspend" => {}
            "return" | "break" | "continue" => self.leaves(name == "return"),
            "wait" | "getopts" => self.sets(args),
            "[" | "test" => self.named(args),
            "declare" | "export" | "local" | "readonly" | "typeset" => self.declared(name, args),
            "unset" => {
                self.sets(args);
                for function in self.state.functions.values_mut() {
                    function.definite = false;
                }
            }
            "read" | "mapfile" | "readarray" => {
                self.sets(args);
                if name != "read" || args.iter().any(|arg| arg.text().starts_with('-') && arg.text().contains('a')) {
                    self.arrays.extend(args.iter().map(|arg| arg.text().to_owned()));
                }
                let names = args.iter().filter(|arg| !arg.text().starts_with('-'));
                if names.count() == 0 {
                    self.assign(if name == "read" { "REPLY" } else { "MAPFILE" }, Value::Unknown);
                }
                let mut args = args.iter();
                while let Some(arg) = args.next() {
                    // `mapfile -C` runs a command again and again.
                    let Some((letters, attached)) = arg.text().split_once('C') else { continue };
                    if name != "read" && letters.starts_with('-') {
                        self.raise(Verdict::NeedsApproval, format!("`{name} -C` runs a command"));
                        let line = if attached.is_empty() { args.next().map_or("", Word::text) } else { attached };
                        self.line(line);
                    }
                }
            }
            "let" => {
                for arg in args {
                    self.arithmetic(&[Part::Quoted(arg.text().to_owned())]);
                    if matches!(arg, Word::Unknown(_)) {
                        self.raise(Verdict::NeedsApproval, "`let` evaluates what only running it shows".to_owned());
                    }
                }
            }
            "set" => self.set(args),
            "shift" => {
                if self.fails {
                    self.doubtful.push(("@".to_owned(), false));
                }
                self.state.arguments = match (self.state.arguments.take(), args) {
                    (Some(words), []) => Some(words.get(1..).unwrap_or_default().to_vec()),
                    _ => None,
                };
            }
            "shopt" | "enable" | "hash" | "bind" | "complete" | "compopt" => {
                let asks =
                    args.is_empty() || args.iter().all(|arg| matches!(arg.text(), "-p" | "-q" | "-l" | "-a" | "-r"));
                let quiet =
                    ["globstar", "nullglob", "dotglob", "failglob", "nocaseglob", "pipefail", "inherit_errexit"];
                let globs = name == "shopt" && args.iter().skip(1).all(|arg| quiet.contains(&arg.text()));
                if !asks && !globs {
                    self.raise(Verdict::NeedsApproval, format!("`{name}` changes how the shell runs commands"));
                }
            }
            "alias" | "unalias" => {
                for arg in args {
                    if let Some((_, line)) = arg.text().split_once('=') {
                        self.raise(Verdict::NeedsApproval, "`alias` changes what a command is".to_owned());
                        let line = line.to_owned();
                        let outside = self.state.clone();
                        self.line(&line);
                        self.state = outside;
                    }
                }
            }
            "trap" => {
                let rest = match args {
                    [Word::Known(flag), rest @ ..] if flag == "--" => rest,
                    args => args,
                };
                match rest {
                    [line, signals @ ..] if !signals.is_empty() && !matches!(line.text(), "-" | "" | "-p" | "-l") => {
                        if matches!(line, Word::Unknown(_)) {
                            let why = "`trap` runs a line that only running it shows".to_owned();
                            self.raise(Verdict::NeedsApproval, why);
                        }
                        // It runs whenever it likes: here, or after whatever the line changes.
                        let outside = self.state.clone();
                        self.line(line.text());
                        let last = signals.iter().all(|signal| matches!(signal.text(), "EXIT" | "0"));
                        if !last && !self.state.alike(&outside) {
                            let why = "`trap` changes variables, folders or functions at any time".to_owned();
                            self.raise(Verdict::NeedsApproval, why);
                        }
                        self.state.forget();
                        self.state.folders = None;
                        self.state.feed = Feed::Nothing;
                        self.line(line.text());
                        self.state = outside;
                    }
                    _ => {}
                }
            }
            "printf" => {
                let mut args = args.iter();
                while let Some(arg) = args.next().map(Word::text) {
                    if let Some(name) = arg.strip_prefix("-v") {
                        let name = if name.is_empty() { args.next().map_or("", Word::text) } else { name };
                        self.set_by_name(&Word::Known(name.to_owned()));
                    }
                }
                return false;
            }
            _ => return false,
        }
        true
    }

    /// Arguments that may be names of variables which get values.
    fn sets(&mut self, args: &[Word]) {
        for arg in args {
            self.set_by_name(arg);
        }
    }

    fn set_by_name(&mut self, arg: &Word) {
        self.evaluates(arg);
        let text = arg.text();
        let name = text.split('[').next().unwrap_or_default();
        match arg {
            Word::Known(_) if is_name(name) => self.assign(name, Value::Unknown),
            Word::Known(_) => {}
            Word::Unknown(_) => {
                self.state.forget();
                let why = format!("which variable it sets (`{}`) shows only when it runs", short(text));
                self.raise(Verdict::NeedsApproval, why);
            }
        }
    }

    fn declared(&mut self, command: &str, args: &[Word]) {
        let flags = args.iter().map_while(|arg| arg.text().strip_prefix('-'));
        let flags: String = flags.flat_map(str::chars).collect();
        let own = matches!(command, "declare" | "local" | "typeset") && !flags.contains('g');
        let lists = flags.contains(['a', 'A']);
        for arg in args {
            let text = arg.text();
            self.evaluates(arg);
            let bare = text.split(['=', '+', '[']).next().unwrap_or_default();
            if let Some(frame) = self.frames.iter_mut().rev().find(|frame| frame.function)
                && own
                && is_name(bare)
            {
                frame.locals.insert(bare.to_owned());
            }
            if lists && is_name(bare) {
                self.arrays.insert(bare.to_owned());
            }
            // Of a list in a text the elements are expanded; the parser's own lists begin so too, and are looked at there.
            let holds = text.split_once('=').map(|(_, value)| value);
            let listed = match (arg, holds) {
                (Word::Known(_), Some(value)) => value.starts_with('('),
                (Word::Unknown(_), Some(value)) => !value.starts_with('(') && self.arrays.contains(bare),
                _ => false,
            };
            if listed {
                let why = format!("`{}` takes a text for a list, and runs what stands in it", short(text));
                self.raise(Verdict::NeedsApproval, why);
            }
            let Some((name, value)) = text.split_once('=') else {
                match arg {
                    Word::Known(text) if is_name(text) => {
                        // It passes on what it holds, to what runs from now on.
                        let value = self.variable(text);
                        if !matches!(value, Value::Outer) {
                            self.assign(text, value);
                        }
                        if command == "readonly" || flags.contains('r') {
                            self.fixed.insert(text.clone());
                        }
                    }
                    // `-n` makes a name for another variable, `-i` evaluates what is assigned, others change its case.
                    Word::Known(flags) if flags.starts_with('-') && flags.contains(['n', 'i', 'l', 'u', 'c']) => {
                        let why = format!("`{}` evaluates what a variable holds", short(flags));
                        self.raise(Verdict::NeedsApproval, why);
                    }
                    Word::Known(_) => {}
                    Word::Unknown(_) => self.set_by_name(arg),
                }
                continue;
            };
            let name = name.trim_end_matches('+');
            let name = name.split('[').next().unwrap_or_default();
            if !is_name(name) {
                self.set_by_name(&Word::Unknown(text.to_owned()));
                continue;
            }
            let value = match arg {
                // Which of several variables of the name is set is not told apart.
                Word::Known(_) if !text.contains("+=") && !flags.contains('g') => Value::Known(value.to_owned()),
                _ => Value::Unknown,
            };
            self.assign(name, value);
            if command == "readonly" || flags.contains('r') {
                self.fixed.insert(name.to_owned());
            }
        }
    }

    fn set(&mut self, args: &[Word]) {
        if self.fails {
            self.doubtful.push(("@".to_owned(), false));
        }
        let mut rest = args;
        while let Some((arg, behind)) = rest.split_first() {
            match arg {
                Word::Known(flag) if flag == "--" => {
                    self.state.arguments = Some(behind.to_vec());
                    return;
                }
                Word::Known(flag) if flag.starts_with(['-', '+']) => {
                    // `-k` and `-a` pass variables on, `-m` and the rest do nothing that matters.
                    if flag.contains(['k', 'a', 'r']) {
                        let why = format!("`set {}` changes how the shell runs commands", short(flag));
                        self.raise(Verdict::NeedsApproval, why);
                    }
                    rest = behind;
                    if flag.ends_with('o') {
                        let named = behind.first().map_or("errexit", Word::text);
                        if !OPTIONS.contains(&named) {
                            let why = format!("`set -o {}` changes how the shell runs commands", short(named));
                            self.raise(Verdict::NeedsApproval, why);
                        }
                        rest = behind.get(1..).unwrap_or_default();
                    }
                }
                _ => {
                    self.state.arguments = Some(rest.to_vec());
                    return;
                }
            }
        }
    }
}
