//! What a program gets of the words as written: quotes, braces, tildes, variables, splitting and globs, as far as they
//! are known without running anything. What is expanded on the way and runs something is judged.

mod braces;
mod fields;
mod params;

use super::effects::{Verdict, Word};
use super::walk::Walker;
use super::walk::grammar::{Op, Part, Script, Term, What};
use super::walk::state::{Feed, Value};
use fields::Fields;

/// Bytes that all words of a line may become.
const GROWTH: usize = 4 << 20;

impl Walker<'_> {
    /// The words that become of some words.
    pub(super) fn expand(&mut self, terms: &[Term]) -> Vec<Word> {
        let mut words = Vec::new();
        for term in terms {
            match braces::expanded(&term.parts) {
                Some(many) => {
                    for parts in many {
                        let mut fields = Fields::new(self.separators(), true);
                        self.parts(&parts, &mut fields);
                        self.filled(&fields);
                        words.extend(fields.finished());
                    }
                }
                None => words.push(Word::Unknown(term.raw.clone())),
            }
            if !self.spend() {
                break;
            }
        }
        words
    }

    /// The one word that becomes of a word where nothing is split and no glob matched.
    pub(super) fn field(&mut self, parts: &[Part]) -> Word {
        let mut fields = Fields::new(None, false);
        self.parts(parts, &mut fields);
        self.filled(&fields);
        fields.single()
    }

    /// Counts what was made of a word.
    fn filled(&mut self, fields: &Fields) {
        self.grown = self.grown.saturating_add(fields.size());
        if fields.is_full() || self.grown > GROWTH {
            self.exhaust("its words become too long".to_owned());
        }
    }

    /// What an assignment gives a variable.
    pub(super) fn value(&mut self, term: &Term) -> Value {
        let number = match term.parts.as_slice() {
            [Part::Arithmetic { .. }] => true,
            [Part::Command { script, raw, .. }] => self.counts(script, raw),
            [Part::Param(param)] => param.length,
            _ => false,
        };
        match self.field(&term.parts) {
            _ if number => Value::Number,
            Word::Known(text) => Value::Known(text),
            Word::Unknown(_) => Value::Unknown,
        }
    }

    /// What unquoted values are split at; `None`: unknown.
    fn separators(&self) -> Option<String> {
        match self.state.vars.get("IFS") {
            None => Some(" \t\n".to_owned()),
            Some(Value::Known(text)) => Some(text.clone()),
            Some(_) => None,
        }
    }

    fn parts(&mut self, parts: &[Part], fields: &mut Fields) {
        for (index, part) in parts.iter().enumerate() {
            match part {
                Part::Bare(text) if index == 0 && text.starts_with('~') => {
                    let end = text.find('/');
                    if end.is_none() && parts.len() > 1 {
                        fields.bare(text);
                        continue;
                    }
                    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
                    match (name, self.variable("HOME")) {
                        ("~", Value::Known(home)) => fields.quoted(&home),
                        _ => fields.unknown(name),
                    }
                    if !rest.is_empty() {
                        fields.bare(rest);
                    }
                }
                Part::Bare(text) => fields.bare(text),
                Part::Quoted(text) => fields.quoted(text),
                Part::Param(param) => self.param(param, fields),
                Part::Command { script, raw, .. } => {
                    self.nested(script, Feed::Nothing);
                    fields.unknown(raw);
                }
                Part::Process { script, raw } => {
                    let feed =
                        if raw.starts_with('>') { Feed::Stream { text: None, download: false } } else { Feed::Nothing };
                    self.nested(script, feed);
                    fields.unknown(raw);
                }
                Part::Arithmetic { parts, raw } => {
                    self.arithmetic(parts);
                    fields.unknown(raw);
                }
                Part::Array(elements) => {
                    let words = self.expand(elements);
                    for element in elements {
                        // `([index]=value)`
                        if let Some((index, _)) = element.raw.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
                            self.subscript(index);
                        }
                    }
                    // They may be a command that is run later.
                    self.guess(&words);
                    let text: Vec<&str> = words.iter().map(Word::text).collect();
                    fields.unknown(&format!("({})", text.join(" ")));
                }
            }
        }
    }

    /// A substitution that can only give a number, if it does what it says.
    pub(super) fn counts(&self, script: &Script, raw: &str) -> bool {
        let [list] = script.lists.as_slice() else { return false };
        // Of a pipeline the last command gives what is put out.
        let Some(command) = list.first.commands.last() else { return false };
        let several = list.first.commands.len() > 1;
        let What::Simple(simple) = &command.what else { return false };
        let program = simple.words.first().map(|word| word.raw.as_str());
        list.rest.is_empty()
            && (several || !raw.contains(['[', '*', '?', '{']))
            && command.redirects.iter().all(|redirect| redirect.op != Op::CopyIn)
            && program.is_some_and(|name| matches!(name, "date" | "wc" | "nproc"))
            && program.is_some_and(|name| !self.state.functions.contains_key(name))
            && simple.words.iter().all(|word| word.parts.iter().all(|p| matches!(p, Part::Bare(_) | Part::Quoted(_))))
    }

    /// What the shell evaluates as arithmetic: the value of a variable is an expression too, and a subscript in it may
    /// run something.
    pub(super) fn arithmetic(&mut self, parts: &[Part]) {
        self.may_fail();
        let mut text = String::new();
        for part in parts {
            match part {
                Part::Bare(piece) | Part::Quoted(piece) => text.push_str(piece),
                Part::Command { script, raw, .. } => {
                    self.nested(script, Feed::Nothing);
                    if !self.counts(script, raw) {
                        self.evaluated("the output of a command");
                    }
                    text.push(' ');
                }
                Part::Param(param) => {
                    self.field(std::slice::from_ref(part));
                    let named = self.variable(&param.name);
                    let unknown = !param.rest.is_empty() || param.indirect;
                    if !param.length && (unknown || !named.is_number()) {
                        self.evaluated(&format!("the value of `{}`", param.name));
                    }
                    text.push(' ');
                }
                Part::Process { .. } | Part::Array(_) => {
                    self.field(std::slice::from_ref(part));
                }
                Part::Arithmetic { parts, .. } => {
                    self.arithmetic(parts);
                    text.push(' ');
                }
            }
        }
        if text.contains("$(") || text.contains('`') {
            self.evaluated("a text that runs commands");
        }
        let assigns = text.contains("++") || text.contains("--") || text.contains('=');
        let names = text.split(|c: char| c != '_' && !c.is_ascii_alphanumeric());
        for name in names.filter(|name| name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())) {
            if !self.variable(name).is_number() {
                self.evaluated(&format!("the value of `{name}`"));
            }
            if assigns {
                self.assign(name, Value::Number);
            }
        }
    }

    /// The index of an array, as written or as it became: what it names is evaluated.
    pub(super) fn subscript(&mut self, text: &str) {
        if text.contains("$(") || text.contains('`') {
            self.evaluated("a text that runs commands");
        }
        let names = text.split(|c: char| c != '_' && !c.is_ascii_alphanumeric());
        for name in names.filter(|name| name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())) {
            if !self.variable(name).is_number() {
                self.evaluated(&format!("the value of `{name}`"));
            }
        }
    }

    fn evaluated(&mut self, what: &str) {
        self.raise(Verdict::NeedsApproval, format!("arithmetic evaluates {what}, which may run commands"));
        self.plain = false;
    }
}
