//! Words as written: quotes, expansions and substitutions, and the texts of here-documents.

use super::escapes;
use super::grammar::{Param, Part, Script, Term};
use super::parse::{Parsed, Parser, Pending, read};

/// Where a text within a word ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// At `"`.
    Quote,
    /// At the `}` of `${`.
    Brace,
    /// At `))`, or not at all if `)` comes alone.
    Arithmetic,
    /// At the `]` of a subscript or of `$[`.
    Bracket,
    /// Where the text ends.
    End,
}

/// The left side of an assignment.
pub(super) struct Left {
    pub name: String,
    pub subscript: Option<Vec<Part>>,
    /// `+=`.
    pub append: bool,
}

/// The operators behind a variable's name in braces, the longer ones first.
const OPS: &[&str] = &[
    ":-", ":=", ":?", ":+", "##", "#", "%%", "%", "//", "/#", "/%", "/", "^^", "^", ",,", ",", "-", "=", "?", "+", ":",
];

impl Parser<'_> {
    /// A word that must be there.
    pub(super) fn some_term(&mut self) -> Parsed<Term> {
        let term = self.term(false)?;
        if term.raw.is_empty() { Err(self.missing("a word")) } else { Ok(term) }
    }

    /// The word that begins here; empty if none does. `pattern`: as behind `=~` and `==` in `[[`, where parentheses and
    /// bars belong to it.
    pub(super) fn term(&mut self, pattern: bool) -> Parsed<Term> {
        let begin = self.at;
        let mut parts = Vec::new();
        let mut open = 0_usize;
        while let Some(c) = self.peek() {
            match c {
                '(' if pattern => {
                    open += 1;
                    self.bump()?;
                    push(&mut parts, c, false);
                }
                ')' if pattern && open > 0 => {
                    open -= 1;
                    self.bump()?;
                    push(&mut parts, c, false);
                }
                '|' | ' ' | '<' | '>' | ';' | '&' if pattern && open > 0 => {
                    self.bump()?;
                    push(&mut parts, c, false);
                }
                '|' if pattern && !self.sees("||") => {
                    self.bump()?;
                    push(&mut parts, c, false);
                }
                '<' | '>' if self.sees("<(") || self.sees(">(") => self.process(&mut parts)?,
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '\'' => self.single(&mut parts)?,
                '"' => self.double(&mut parts)?,
                '$' => self.dollar(false, &mut parts)?,
                '`' => self.backquoted(false, &mut parts)?,
                '\\' => self.escape(&mut parts)?,
                c => {
                    self.bump()?;
                    push(&mut parts, c, false);
                }
            }
        }
        Ok(Term { parts, raw: self.text[begin..self.at].to_owned() })
    }

    /// The text of a word that has no expansions and no quotes.
    pub(super) fn plain(term: &Term) -> Option<String> {
        match term.parts.as_slice() {
            [Part::Bare(text)] => Some(text.clone()),
            _ => None,
        }
    }

    /// The text of a word that has no expansions.
    pub(super) fn unquoted(term: &Term) -> Option<String> {
        term.parts
            .iter()
            .map(|part| match part {
                Part::Bare(text) | Part::Quoted(text) => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// The left side of an assignment, if one begins here.
    pub(super) fn assigned(&mut self) -> Option<Left> {
        let (begin, depth) = (self.at, self.depth);
        let rest = self.rest();
        let end = rest.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        if end == 0 || rest.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.at += end;
        let (starts, apart) = (self.starts.len(), self.apart.len());
        let mut subscript = None;
        if self.eat("[") {
            subscript = self.until(Stop::Bracket, false).ok();
        }
        let append = self.eat("+=");
        if (append || self.eat("=")) && (rest[end..].starts_with('[') == subscript.is_some()) {
            return Some(Left { name: rest[..end].to_owned(), subscript, append });
        }
        (self.at, self.depth) = (begin, depth);
        self.starts.truncate(starts);
        self.apart.truncate(apart);
        None
    }

    /// The elements of an array, in parentheses.
    pub(super) fn array(&mut self) -> Parsed<Term> {
        let begin = self.at;
        self.enter()?;
        self.expect("(")?;
        let mut elements = Vec::new();
        loop {
            self.lines()?;
            if self.eat(")") {
                break;
            }
            elements.push(self.some_term()?);
        }
        self.depth -= 1;
        Ok(Term { parts: vec![Part::Array(elements)], raw: self.text[begin..self.at].to_owned() })
    }

    fn single(&mut self, parts: &mut Vec<Part>) -> Parsed<()> {
        self.bump()?;
        let mut text = String::new();
        loop {
            match self.bump()? {
                Some('\'') => break,
                Some(c) => text.push(c),
                None => return Err("a single quote does not close".to_owned()),
            }
        }
        parts.push(Part::Quoted(text));
        Ok(())
    }

    fn double(&mut self, parts: &mut Vec<Part>) -> Parsed<()> {
        self.bump()?;
        // Even an empty string makes a word.
        parts.push(Part::Quoted(String::new()));
        parts.extend(self.until(Stop::Quote, true)?);
        Ok(())
    }

    fn escape(&mut self, parts: &mut Vec<Part>) -> Parsed<()> {
        self.bump()?;
        match self.bump()? {
            Some('\n') => {}
            Some(c) => push(parts, c, true),
            None => push(parts, '\\', true),
        }
        Ok(())
    }

    fn process(&mut self, parts: &mut Vec<Part>) -> Parsed<()> {
        let begin = self.at;
        self.at += 2;
        let script = self.substituted()?;
        parts.push(Part::Process { script, raw: self.text[begin..self.at].to_owned() });
        Ok(())
    }

    /// The script up to `)`, with here-documents of its own.
    fn substituted(&mut self) -> Parsed<Script> {
        let outside = std::mem::take(&mut self.pending);
        let outer = self.outer;
        self.outer |= !outside.is_empty();
        let script = self.script()?;
        self.expect(")")?;
        if !self.pending.is_empty() {
            return Err("a here-document has no text".to_owned());
        }
        self.pending = outside;
        self.outer = outer;
        Ok(script)
    }

    fn backquoted(&mut self, quoted: bool, parts: &mut Vec<Part>) -> Parsed<()> {
        let begin = self.at;
        self.bump()?;
        let mut text = String::new();
        loop {
            match self.bump()? {
                Some('`') => break,
                Some('\\') => match self.bump()? {
                    Some(c @ ('`' | '\\' | '$')) => text.push(c),
                    Some('"') if quoted => text.push('"'),
                    Some(c) => text.extend(['\\', c]),
                    None => return Err("a backquote does not close".to_owned()),
                },
                Some(c) => text.push(c),
                None => return Err("a backquote does not close".to_owned()),
            }
        }
        self.enter()?;
        self.steps = self.steps.checked_sub(text.len()).ok_or("it is too tangled")?;
        let mut inner = Parser::new(&text, self.depth);
        inner.steps = self.steps;
        let script = inner.script()?;
        if inner.at < inner.end || !inner.pending.is_empty() {
            return Err(inner.missing("a command"));
        }
        self.steps = inner.steps;
        self.depth -= 1;
        // The same text has to be read alike by the second reader.
        if let Some(why) = super::second::differs(&text, &read(&text)) {
            return Err(why);
        }
        self.apart.push(begin..self.at);
        parts.push(Part::Command { script, raw: self.text[begin..self.at].to_owned() });
        Ok(())
    }

    fn dollar(&mut self, quoted: bool, parts: &mut Vec<Part>) -> Parsed<()> {
        let begin = self.at;
        if self.sees("$((")
            && let Some(inner) = self.arithmetic_or_else("$((")?
        {
            parts.push(Part::Arithmetic { parts: inner, raw: self.text[begin..self.at].to_owned() });
            return Ok(());
        }
        self.bump()?;
        if self.sees("\\\n") {
            // The shell takes the line end away before it looks what the dollar stands in front of.
            return Err("a line is continued within an expansion".to_owned());
        }
        let next = self.peek();
        match next {
            Some('(') => {
                self.bump()?;
                if self.rest().trim_start_matches("\\\n").starts_with('(') && self.sees("\\\n") {
                    return Err("a line is continued within an expansion".to_owned());
                }
                let script = self.substituted()?;
                parts.push(Part::Command { script, raw: self.text[begin..self.at].to_owned() });
            }
            Some('{') => {
                self.bump()?;
                self.enter()?;
                let param = self.braced(quoted, begin)?;
                self.depth -= 1;
                parts.push(Part::Param(Box::new(param)));
            }
            Some('[') => {
                self.bump()?;
                self.enter()?;
                let inner = self.until(Stop::Bracket, true)?;
                self.depth -= 1;
                parts.push(Part::Arithmetic { parts: inner, raw: self.text[begin..self.at].to_owned() });
            }
            Some('\'') if !quoted => {
                self.bump()?;
                let start = self.at;
                loop {
                    match self.bump()? {
                        Some('\'') => break,
                        Some('\\') => _ = self.bump()?,
                        Some(_) => {}
                        None => return Err("a single quote does not close".to_owned()),
                    }
                }
                parts.push(Part::Quoted(escapes::decoded(&self.text[start..self.at - 1])));
            }
            Some('"') if !quoted => self.double(parts)?,
            Some(c) if c == '_' || c.is_ascii_alphabetic() => {
                let rest = self.rest();
                let end = rest.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
                self.at += end;
                if self
                    .rest()
                    .strip_prefix("\\\n")
                    .is_some_and(|on| on.starts_with(|c: char| c == '_' || c.is_ascii_alphanumeric() || c == '\\'))
                {
                    return Err("a line is continued within the name of a variable".to_owned());
                }
                parts.push(Part::Param(Box::new(named(&rest[..end], quoted, &self.text[begin..self.at]))));
            }
            Some(c) if c.is_ascii_digit() || "@*#?-$!".contains(c) => {
                self.bump()?;
                parts.push(Part::Param(Box::new(named(&c.to_string(), quoted, &self.text[begin..self.at]))));
            }
            _ => push(parts, '$', true),
        }
        Ok(())
    }

    /// What stands between `opener` and `))`; `None`, and nothing read, if it does not end so and is a script in
    /// parentheses.
    pub(super) fn arithmetic_or_else(&mut self, opener: &str) -> Parsed<Option<Vec<Part>>> {
        let (begin, depth) = (self.at, self.depth);
        let (starts, apart) = (self.starts.len(), self.apart.len());
        self.at += opener.len();
        self.enter()?;
        if let Ok(parts) = self.until(Stop::Arithmetic, true) {
            self.depth -= 1;
            return Ok(Some(parts));
        }
        self.at = begin;
        self.depth = depth;
        self.starts.truncate(starts);
        self.apart.truncate(apart);
        if self.steps == 0 { Err("it is too tangled".to_owned()) } else { Ok(None) }
    }

    fn braced(&mut self, quoted: bool, begin: usize) -> Parsed<Param> {
        let name_at = |text: &str| {
            let first = text.chars().next();
            match first {
                Some(c) if c == '_' || c.is_ascii_alphabetic() => {
                    text.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(text.len())
                }
                Some(c) if c.is_ascii_digit() => text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()),
                Some('@' | '*' | '#' | '?' | '-' | '$' | '!') => 1,
                _ => 0,
            }
        };
        let behind = |text: &str| text.chars().nth(1).is_some_and(|c| c != '}' && name_at(&text[1..]) > 0);
        // `${#}` and `${#-x}` are of the number of arguments, `${#x}` and `${#@}` are lengths.
        let length = self.sees("#") && behind(self.rest()) && !self.sees("#-") && !self.sees("#?");
        let indirect = self.sees("!") && behind(self.rest());
        self.at += usize::from(length || indirect);
        let rest = self.rest();
        let end = name_at(rest);
        if end == 0 {
            return Err(self.missing("the name of a variable"));
        }
        let mut param = named(&rest[..end], quoted, "");
        (param.length, param.indirect) = (length, indirect);
        self.at += end;
        if self.eat("[") {
            param.subscript = Some(self.until(Stop::Bracket, quoted)?);
        }
        if self.eat("@") {
            param.op = self.bump()?.map(|c| format!("@{c}")).unwrap_or_default();
        } else if indirect && self.eat("*") {
            "*".clone_into(&mut param.op);
        } else if let Some(op) = OPS.iter().find(|op| self.sees(op)) {
            self.at += op.len();
            (*op).clone_into(&mut param.op);
        } else if !self.sees("}") {
            return Err(self.missing("}"));
        }
        param.rest = self.until(Stop::Brace, quoted)?;
        self.text[begin..self.at].clone_into(&mut param.raw);
        Ok(param)
    }

    /// The text up to its end, which is gone behind.
    fn until(&mut self, stop: Stop, quoted: bool) -> Parsed<Vec<Part>> {
        let mut parts = Vec::new();
        let mut open = 0_usize;
        loop {
            let Some(c) = self.peek() else {
                return if stop == Stop::End { Ok(parts) } else { Err("a quote or bracket does not close".to_owned()) };
            };
            match (c, stop) {
                ('"', Stop::Quote) | ('}', Stop::Brace) => {
                    self.bump()?;
                    return Ok(parts);
                }
                (']', Stop::Bracket) if open == 0 => {
                    self.bump()?;
                    return Ok(parts);
                }
                (')', Stop::Arithmetic) if open == 0 => {
                    self.expect("))")?;
                    return Ok(parts);
                }
                ('(', Stop::Arithmetic) | ('[', Stop::Bracket) => {
                    open += 1;
                    self.bump()?;
                    push(&mut parts, c, quoted);
                }
                (')', Stop::Arithmetic) | (']', Stop::Bracket) => {
                    open -= 1;
                    self.bump()?;
                    push(&mut parts, c, quoted);
                }
                ('\\', _) if !quoted => self.escape(&mut parts)?,
                ('\\', _) => {
                    self.bump()?;
                    let kept = match self.peek() {
                        Some('$' | '`' | '\\' | '\n') => false,
                        Some('"') => stop == Stop::End,
                        Some('}') => stop != Stop::Brace,
                        _ => true,
                    };
                    if kept {
                        push(&mut parts, '\\', true);
                    } else if let Some(c) = self.bump()?
                        && c != '\n'
                    {
                        push(&mut parts, c, true);
                    }
                }
                ('$', _) => self.dollar(quoted, &mut parts)?,
                ('`', _) => self.backquoted(quoted, &mut parts)?,
                ('"', Stop::Brace | Stop::Bracket | Stop::Arithmetic) => {
                    self.enter()?;
                    self.double(&mut parts)?;
                    self.depth -= 1;
                }
                ('\'', Stop::Brace | Stop::Bracket) if !quoted => self.single(&mut parts)?,
                ('\'', Stop::Brace | Stop::Bracket | Stop::Arithmetic) => {
                    return Err("what a single quote means here is not plain".to_owned());
                }
                ('<' | '>', Stop::Brace) if !quoted && (self.sees("<(") || self.sees(">(")) => {
                    self.process(&mut parts)?;
                }
                _ => {
                    self.bump()?;
                    push(&mut parts, c, quoted);
                }
            }
        }
    }

    /// The here-documents that begin here, behind a line end.
    pub(super) fn documents(&mut self) -> Parsed<()> {
        if self.outer {
            return Err("a here-document goes on behind a substitution".to_owned());
        }
        for pending in std::mem::take(&mut self.pending) {
            self.document(&pending)?;
        }
        Ok(())
    }

    fn document(&mut self, pending: &Pending) -> Parsed<()> {
        let begin = self.at;
        let mut text = String::new();
        let mut continued = false;
        // The line so far as the shell reads it, which looks for the delimiter in joined lines too.
        let mut joined = String::new();
        let end = loop {
            if self.at >= self.end {
                return Err(format!("a here-document does not end in a line `{}`", pending.delimiter));
            }
            let start = self.at;
            let line = self.rest().split_inclusive('\n').next().unwrap_or_default();
            self.at += line.len();
            self.steps = self.steps.checked_sub(line.len()).ok_or("it is too tangled")?;
            let stripped = if pending.strip && !continued { line.trim_start_matches('\t') } else { line };
            if !continued && stripped.strip_suffix('\n').unwrap_or(stripped) == pending.delimiter {
                // What stands behind it on the same line would end a substitution in some shells.
                break start;
            }
            let bare = stripped.strip_suffix('\n').unwrap_or(stripped);
            let backslashes = bare.bytes().rev().take_while(|b| *b == b'\\').count();
            let (was, goes_on) = (continued, !pending.quoted && backslashes % 2 == 1);
            if was || goes_on {
                joined.push_str(if goes_on { &bare[..bare.len() - 1] } else { bare });
            }
            if was && !goes_on {
                if joined == pending.delimiter {
                    return Err("a here-document ends in a continued line".to_owned());
                }
                joined.clear();
            }
            continued = goes_on;
            text.push_str(stripped);
        };
        let behind = self.at;
        let parts = if pending.quoted {
            vec![Part::Quoted(text)]
        } else {
            self.enter()?;
            let parts = if text.len() == end - begin {
                // Read in place, so that what it runs has a place in the line.
                let outside = std::mem::replace(&mut self.end, end);
                self.at = begin;
                let parts = self.until(Stop::End, true);
                self.end = outside;
                self.at = behind;
                parts?
            } else {
                let mut inner = Parser::new(&text, self.depth);
                inner.steps = self.steps;
                let parts = inner.until(Stop::End, true)?;
                self.steps = inner.steps;
                self.apart.push(begin..end);
                parts
            };
            self.depth -= 1;
            parts
        };
        pending.into.set(parts).map_err(|_| "a here-document has two texts".to_owned())
    }
}

fn named(name: &str, quoted: bool, raw: &str) -> Param {
    Param {
        name: name.to_owned(),
        length: false,
        indirect: false,
        subscript: None,
        op: String::new(),
        rest: Vec::new(),
        quoted,
        raw: raw.to_owned(),
    }
}

/// Adds a character to the last text of its kind.
fn push(parts: &mut Vec<Part>, c: char, quoted: bool) {
    match (parts.last_mut(), quoted) {
        (Some(Part::Bare(text)), false) | (Some(Part::Quoted(text)), true) => text.push(c),
        (_, false) => parts.push(Part::Bare(c.to_string())),
        (_, true) => parts.push(Part::Quoted(c.to_string())),
    }
}

/// A text as it stands in double quotes or a here-document.
pub(in crate::permissions::shell) fn text(text: &str) -> Parsed<Vec<Part>> {
    Parser::new(text, 0).until(Stop::End, true)
}
