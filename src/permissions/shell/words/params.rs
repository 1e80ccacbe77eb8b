//! Variables and what is done to their values on the way.

use super::fields::Fields;
use crate::permissions::shell::effects::{Verdict, Word};
use crate::permissions::shell::walk::Walker;
use crate::permissions::shell::walk::grammar::{Param, Part};
use crate::permissions::shell::walk::lex;
use crate::permissions::shell::walk::state::Value;

impl Walker<'_> {
    /// What a variable holds at this place.
    pub(in crate::permissions::shell) fn variable(&self, name: &str) -> Value {
        // The shell sets these itself, to words of the line or to what it reads.
        if name.starts_with("BASH_") && name != "BASH_VERSINFO"
            || matches!(name, "OPTARG" | "REPLY" | "MAPFILE" | "DIRSTACK" | "FUNCNAME")
        {
            return Value::Unknown;
        }
        if let Some(value) = self.state.vars.get(name) {
            return value.clone();
        }
        let argument = |index: usize| match (&self.state.arguments, index) {
            (Some(_), 0) | (None, _) => Value::Unknown,
            (Some(words), index) => match words.get(index - 1) {
                // A word that may become several moves those behind it.
                _ if words.iter().take(index).any(|word| matches!(word, Word::Unknown(_))) => Value::Unknown,
                Some(Word::Known(text)) => Value::Known(text.clone()),
                _ => Value::Known(String::new()),
            },
        };
        let single = match (self.state.folders.as_deref(), self.state.vars.contains_key("OLDPWD")) {
            (Some([folder]), _) => folder.to_str().map(str::to_owned),
            _ => None,
        };
        match name {
            "HOME" => match self.scene().home.as_deref().and_then(|home| home.to_str()) {
                Some(home) => Value::Known(home.to_owned()),
                None => Value::Outer,
            },
            "PWD" => single.map_or(Value::Unknown, Value::Known),
            "IFS" => Value::Known(" \t\n".to_owned()),
            "#" | "?" | "$" | "!" | "SECONDS" | "RANDOM" | "LINENO" | "UID" | "EUID" | "PPID" | "SRANDOM" => {
                Value::Number
            }
            "@" | "*" | "-" | "_" => Value::Unknown,
            name => match name.parse() {
                Ok(index) => argument(index),
                Err(_) => Value::Outer,
            },
        }
    }

    /// Puts what `$name` or `${...}` stands for into a word.
    pub(super) fn param(&mut self, param: &Param, fields: &mut Fields) {
        let all = |subscript: &[Part]| match subscript {
            [Part::Bare(text) | Part::Quoted(text)] => text == "@" || text == "*",
            _ => false,
        };
        if let Some(subscript) = &param.subscript
            && !all(subscript)
        {
            self.arithmetic(subscript);
        }
        let plain = param.subscript.is_none() && !param.length && !param.indirect;
        if plain && param.op.is_empty() && matches!(param.name.as_str(), "@" | "*") {
            return self.arguments(param, fields);
        }
        // `${!begin*}` and `${!array[@]}` only list names.
        let lists = matches!(param.op.as_str(), "@" | "*")
            || param.raw.ends_with("@}")
            || param.subscript.as_deref().is_some_and(all);
        if param.indirect && !lists {
            self.raise(Verdict::NeedsApproval, format!("`{}` evaluates what another variable holds", param.raw));
        }
        if param.indirect || param.op.starts_with('@') {
            self.may_fail();
        }
        let value = self.variable(&param.name);
        if param.op == "@P" {
            let why = format!("`{}` runs the commands that the value holds", param.raw);
            self.raise(Verdict::NeedsApproval, why);
            self.plain = false;
            if let Value::Known(text) = &value
                && let Ok(parts) = lex::text(text)
            {
                self.field(&parts);
            }
        }
        // Judged also where it is not used: what it runs does not matter less for that.
        let offset = param.op == ":";
        let rest = if offset {
            self.arithmetic(&param.rest);
            None
        } else {
            match self.field(&param.rest) {
                Word::Known(text) => Some(text),
                Word::Unknown(_) => None,
            }
        };
        let known = match (&value, plain) {
            (Value::Known(text), true) => changed(text, &param.op, rest.as_deref(), &param.raw),
            _ => None,
        };
        if matches!(param.op.as_str(), ":=" | "=") && param.subscript.is_none() {
            let given = match (&known, &value) {
                (Some(text), _) => Value::Known(text.clone()),
                (None, _) => Value::Unknown,
            };
            self.assign(&param.name, given);
        }
        match known {
            Some(text) if param.quoted => fields.quoted(&text),
            Some(text) => fields.value(&text),
            None => fields.unknown(&param.raw),
        }
    }

    fn arguments(&mut self, param: &Param, fields: &mut Fields) {
        let Some(words) = self.state.arguments.clone() else {
            fields.unknown(&param.raw);
            return;
        };
        let several = param.name == "@" || !param.quoted;
        for (index, word) in words.iter().enumerate() {
            match (index, several) {
                (0, _) => {}
                (_, true) => fields.finish(),
                (_, false) => fields.quoted(" "),
            }
            match word {
                Word::Known(text) if !param.quoted => fields.value(text),
                word => fields.word(word),
            }
        }
    }
}

/// What becomes of a known value, if that can be told.
fn changed(text: &str, op: &str, rest: Option<&str>, raw: &str) -> Option<String> {
    let literal = rest.filter(|rest| !rest.contains(['*', '?', '[', '\\', '(']));
    match op {
        ":-" | ":=" if text.is_empty() => rest.map(str::to_owned),
        "" | ":-" | "-" | ":=" | "=" | ":?" | "?" => Some(text.to_owned()),
        ":+" if text.is_empty() => Some(String::new()),
        ":+" | "+" => rest.map(str::to_owned),
        "#" | "##" => literal.map(|rest| text.strip_prefix(rest).unwrap_or(text).to_owned()),
        "%" | "%%" => literal.map(|rest| text.strip_suffix(rest).unwrap_or(text).to_owned()),
        "^^" if rest == Some("") => Some(text.to_uppercase()),
        ",," if rest == Some("") => Some(text.to_lowercase()),
        ":" => {
            let numbers = raw.trim_end_matches('}').split(':').skip(1);
            let numbers: Vec<usize> = numbers.map(|number| number.trim().parse().ok()).collect::<Option<_>>()?;
            match numbers.as_slice() {
                [from] => Some(text.chars().skip(*from).collect()),
                [from, count] => Some(text.chars().skip(*from).take(*count).collect()),
                _ => None,
            }
        }
        _ => None,
    }
}
