//! From the text of a script to its shape: lists, pipelines, compound commands, redirections. Words are `lex`'s.
//!
//! What the shell itself would refuse, and a few things whose meaning depends on its version or options, are faults.

use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;

use super::grammar::{AndOr, Assign, Command, Head, Joint, Op, Part, Pipeline, Redirect, Script, Simple, Target, What};
use super::lex::Left;

/// Levels of nesting that are followed.
const DEPTH_LIMIT: usize = 24;

/// Characters looked at for each one of the text (some are looked at again), and so many besides.
const STEPS_PER_BYTE: usize = 16;
const FREE_STEPS: usize = 4_000;

/// Why a text is not understood.
pub(super) type Parsed<T> = Result<T, String>;

/// A script, and where its commands stand.
pub(in crate::permissions::shell) struct Read {
    pub script: Script,
    /// Where simple commands begin, in bytes.
    pub starts: Vec<usize>,
    /// The regions whose text was read apart from the rest, in bytes.
    pub apart: Vec<Range<usize>>,
    /// Why the text from some place on is not in the script.
    pub fault: Option<String>,
}

/// Reads a script as far as it can be understood.
pub(in crate::permissions::shell) fn read(text: &str) -> Read {
    let mut parser = Parser::new(text, 0);
    let mut script = Script::default();
    let fault = parser.script_into(&mut script).and_then(|()| parser.finished()).err();
    Read { script, starts: parser.starts, apart: parser.apart, fault }
}

/// A here-document whose text comes with the next line.
pub(super) struct Pending {
    pub delimiter: String,
    pub quoted: bool,
    pub strip: bool,
    pub into: Rc<OnceCell<Vec<Part>>>,
}

pub(super) struct Parser<'a> {
    pub text: &'a str,
    /// Where the stretch that is being read ends, in bytes: at the end of the text, or of a substitution in it.
    pub end: usize,
    /// In bytes, always between two characters.
    pub at: usize,
    pub depth: usize,
    pub steps: usize,
    pub pending: Vec<Pending>,
    /// Whether here-documents from outside the innermost substitution are pending.
    pub outer: bool,
    pub starts: Vec<usize>,
    pub apart: Vec<Range<usize>>,
}

/// The signs of redirections, the longer ones first.
const OPS: &[(&str, Op)] = &[
    ("&>>", Op::Write),
    ("&>", Op::Write),
    ("<<<", Op::Text),
    ("<<-", Op::Document),
    ("<<", Op::Document),
    ("<>", Op::Both),
    ("<&", Op::CopyIn),
    ("<", Op::Read),
    (">>", Op::Write),
    (">|", Op::Write),
    (">&", Op::CopyOut),
    (">", Op::Write),
];

/// Words that end the script before them.
const ENDS: &[&str] = &["then", "elif", "else", "fi", "do", "done", "esac", "}"];

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, depth: usize) -> Parser<'a> {
        let steps = text.len().saturating_mul(STEPS_PER_BYTE).saturating_add(FREE_STEPS);
        let (starts, apart) = (Vec::new(), Vec::new());
        Parser { text, end: text.len(), at: 0, depth, steps, pending: Vec::new(), outer: false, starts, apart }
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..self.end]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn sees(&self, what: &str) -> bool {
        self.rest().starts_with(what)
    }

    /// Goes behind the next character.
    pub(super) fn bump(&mut self) -> Parsed<Option<char>> {
        self.steps = self.steps.checked_sub(1).ok_or("it is too tangled")?;
        let next = self.peek();
        self.at += next.map_or(0, char::len_utf8);
        Ok(next)
    }

    /// Goes behind `what` if it stands here.
    pub(super) fn eat(&mut self, what: &str) -> bool {
        let found = self.sees(what);
        if found {
            self.at += what.len();
        }
        found
    }

    pub(super) fn expect(&mut self, what: &str) -> Parsed<()> {
        if self.eat(what) { Ok(()) } else { Err(self.missing(what)) }
    }

    pub(super) fn missing(&self, what: &str) -> String {
        match self.peek() {
            Some(c) => format!("there is `{}` where `{what}` was expected", c.escape_debug()),
            None => format!("it ends where `{what}` was expected"),
        }
    }

    pub(super) fn enter(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > DEPTH_LIMIT { Err("it is nested too deeply".to_owned()) } else { Ok(()) }
    }

    /// Goes behind blanks, continued lines and comments.
    pub(super) fn blanks(&mut self) -> Parsed<()> {
        loop {
            match self.peek() {
                Some(' ' | '\t') => _ = self.bump()?,
                Some('\\') if self.sees("\\\n") => self.at += 2,
                Some('#') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.bump()?;
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    /// Blanks and line ends, with the here-documents that begin behind the first one.
    pub(super) fn lines(&mut self) -> Parsed<()> {
        loop {
            self.blanks()?;
            if self.peek() != Some('\n') {
                return Ok(());
            }
            self.bump()?;
            self.documents()?;
        }
    }

    fn finished(&mut self) -> Parsed<()> {
        if self.at < self.end {
            return Err(self.missing("a command"));
        }
        if self.pending.is_empty() { Ok(()) } else { Err("a here-document has no text".to_owned()) }
    }

    /// The script up to what ends it from outside.
    pub(super) fn script(&mut self) -> Parsed<Script> {
        let mut script = Script::default();
        self.script_into(&mut script)?;
        Ok(script)
    }

    fn script_into(&mut self, script: &mut Script) -> Parsed<()> {
        self.enter()?;
        loop {
            self.lines()?;
            if self.ends() {
                break;
            }
            script.lists.push(AndOr { first: self.pipeline()?, rest: Vec::new(), background: false, ends_line: false });
            let Some(list) = script.lists.last_mut() else { break };
            loop {
                self.blanks()?;
                let joint = match () {
                    () if self.eat("&&") => Joint::And,
                    () if self.eat("||") => Joint::Or,
                    () => break,
                };
                self.lines()?;
                list.rest.push((joint, self.pipeline()?));
            }
            if self.sees(";;") || self.sees(";&") {
                break;
            }
            list.background = self.sees("&");
            let ended = self.eat("&") || self.eat(";");
            self.blanks()?;
            let Some(list) = script.lists.last_mut() else { break };
            list.ends_line = self.peek() == Some('\n');
            if !ended && !list.ends_line {
                break;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// Whether here is what only a compound command around this script can go on with.
    fn ends(&self) -> bool {
        match self.peek() {
            None | Some(')') => true,
            Some(';') => self.sees(";;") || self.sees(";&"),
            _ => self.reserved().is_some_and(|word| ENDS.contains(&word)),
        }
    }

    /// The plain word that stands here, if it is one.
    fn reserved(&self) -> Option<&'a str> {
        let rest = self.rest();
        let end = rest.find([' ', '\t', '\n', ';', '&', '|', '(', ')', '<', '>']).unwrap_or(rest.len());
        let word = &rest[..end];
        let plain = word.bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'{' | b'}' | b'!' | b'[' | b']'));
        (plain && !word.is_empty()).then_some(word)
    }

    fn eat_word(&mut self, what: &str) -> bool {
        self.reserved() == Some(what) && self.eat(what)
    }

    fn expect_word(&mut self, what: &str) -> Parsed<()> {
        self.lines()?;
        if self.eat_word(what) { Ok(()) } else { Err(self.missing(what)) }
    }

    fn pipeline(&mut self) -> Parsed<Pipeline> {
        loop {
            self.blanks()?;
            if self.eat_word("time") {
                self.blanks()?;
                for flag in ["-p", "--"] {
                    if self.rest().strip_prefix(flag).is_some_and(|rest| rest.starts_with([' ', '\t'])) {
                        self.at += flag.len();
                        self.blanks()?;
                    }
                }
                if self.peek().is_none_or(|c| matches!(c, '\n' | ';' | '&' | '|' | ')')) {
                    return Ok(Pipeline { commands: Vec::new() });
                }
            } else if !self.eat_word("!") {
                break;
            }
        }
        let mut commands = vec![self.command()?];
        loop {
            self.blanks()?;
            if self.sees("||") || !self.eat("|") {
                return Ok(Pipeline { commands });
            }
            self.eat("&");
            self.lines()?;
            commands.push(self.command()?);
        }
    }

    pub(super) fn command(&mut self) -> Parsed<Command> {
        self.enter()?;
        self.blanks()?;
        let what = self.what()?;
        let mut redirects = Vec::new();
        let what = match what {
            What::Simple(_) => self.simple(&mut redirects)?,
            what @ What::Function { .. } => what,
            what => loop {
                self.blanks()?;
                match self.redirect()? {
                    Some(redirect) => redirects.push(redirect),
                    None => break what,
                }
            },
        };
        self.depth -= 1;
        Ok(Command { what, redirects })
    }

    /// The compound command that begins here; an empty simple one if none does.
    fn what(&mut self) -> Parsed<What> {
        if self.sees("((")
            && let Some(parts) = self.arithmetic_or_else("((")?
        {
            return Ok(What::Arithmetic(parts));
        }
        if self.eat("(") {
            let body = self.script()?;
            self.expect(")")?;
            return Ok(What::Group { body, subshell: true });
        }
        let Some(word) = self.reserved() else { return Ok(What::Simple(Simple::default())) };
        let begin = self.at;
        self.at += word.len();
        match word {
            "{" => {
                let body = self.script()?;
                self.expect_word("}")?;
                Ok(What::Group { body, subshell: false })
            }
            "if" => {
                let mut arms = Vec::new();
                let mut other = None;
                loop {
                    let condition = self.script()?;
                    self.expect_word("then")?;
                    arms.push((condition, self.script()?));
                    self.lines()?;
                    if self.eat_word("elif") {
                        continue;
                    }
                    if self.eat_word("else") {
                        other = Some(self.script()?);
                    }
                    self.expect_word("fi")?;
                    return Ok(What::If { arms, other });
                }
            }
            "while" | "until" => {
                let head = Head::While(self.script()?);
                Ok(What::Loop { head, body: self.body()? })
            }
            "for" | "select" => self.each(),
            "case" => self.case(),
            "function" => {
                self.blanks()?;
                let name = self.term(false)?;
                self.blanks()?;
                if self.eat("(") {
                    self.blanks()?;
                    self.expect(")")?;
                }
                self.function(Parser::plain(&name))
            }
            "[[" => self.test(),
            "coproc" => {
                self.blanks()?;
                let name = self.rest().find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(0);
                let behind = self.rest()[name..].trim_start_matches([' ', '\t']);
                if name > 0 && (behind.starts_with("{ ") || behind.starts_with("{\n") || behind.starts_with('(')) {
                    self.at += name;
                }
                Ok(What::Apart(Box::new(self.command()?)))
            }
            "then" | "elif" | "else" | "fi" | "do" | "done" | "esac" | "}" | "in" if word != "in" => {
                self.at = begin;
                Err(self.missing("a command"))
            }
            _ => {
                self.at = begin;
                Ok(What::Simple(Simple::default()))
            }
        }
    }

    /// What a loop does again and again.
    fn body(&mut self) -> Parsed<Script> {
        self.expect_word("do")?;
        let body = self.script()?;
        self.expect_word("done")?;
        Ok(body)
    }

    fn each(&mut self) -> Parsed<What> {
        self.blanks()?;
        let head = if self.sees("((") {
            Head::Count(self.arithmetic_or_else("((")?.ok_or("`for ((` does not end")?)
        } else {
            let name = Parser::plain(&self.term(false)?).ok_or("a loop needs the plain name of a variable")?;
            self.lines()?;
            let mut words = None;
            if self.eat_word("in") {
                let words = words.insert(Vec::new());
                loop {
                    self.blanks()?;
                    if self.peek().is_none_or(|c| matches!(c, ';' | '\n')) {
                        break;
                    }
                    words.push(self.some_term()?);
                }
            }
            Head::Each { name, words }
        };
        self.blanks()?;
        self.eat(";");
        self.lines()?;
        let body = if self.eat_word("{") {
            let body = self.script()?;
            self.expect_word("}")?;
            body
        } else {
            self.body()?
        };
        Ok(What::Loop { head, body })
    }

    fn case(&mut self) -> Parsed<What> {
        self.blanks()?;
        let of = self.some_term()?;
        self.expect_word("in")?;
        let mut arms = Vec::new();
        loop {
            self.lines()?;
            if self.eat_word("esac") {
                return Ok(What::Case { of, arms });
            }
            self.eat("(");
            let mut patterns = Vec::new();
            loop {
                self.blanks()?;
                patterns.push(self.some_term()?);
                self.blanks()?;
                if !self.eat("|") {
                    break;
                }
            }
            self.expect(")")?;
            arms.push((patterns, self.script()?));
            self.lines()?;
            if !self.eat(";;&") && !self.eat(";;") && !self.eat(";&") {
                self.expect_word("esac")?;
                return Ok(What::Case { of, arms });
            }
        }
    }

    fn function(&mut self, name: Option<String>) -> Parsed<What> {
        self.lines()?;
        let body = self.command()?;
        if matches!(body.what, What::Simple(_) | What::Function { .. }) {
            return Err("a function has no body".to_owned());
        }
        Ok(What::Function { name, body: Rc::new(body) })
    }

    fn test(&mut self) -> Parsed<What> {
        let mut terms = Vec::new();
        let mut pattern = false;
        loop {
            self.lines()?;
            if self.eat_word("]]") {
                return Ok(What::Test(terms));
            }
            if !pattern && ["&&", "||", "(", ")", "<", ">"].iter().any(|op| self.eat(op)) {
                continue;
            }
            let term = if pattern { self.term(true)? } else { self.some_term()? };
            if term.raw.is_empty() {
                return Err(self.missing("]]"));
            }
            pattern = matches!(term.raw.as_str(), "=~" | "==" | "=" | "!=");
            terms.push(term);
        }
    }

    fn simple(&mut self, redirects: &mut Vec<Redirect>) -> Parsed<What> {
        let mut simple = Simple::default();
        let mut declares = false;
        loop {
            self.blanks()?;
            if let Some(redirect) = self.redirect()? {
                redirects.push(redirect);
                continue;
            }
            if self.peek().is_none_or(|c| matches!(c, '\n' | ';' | '&' | '|' | ')')) {
                break;
            }
            let begin = self.at;
            if simple.words.is_empty()
                && let Some(Left { name, subscript, append }) = self.assigned()
            {
                let value = if self.sees("(") { self.array()? } else { self.term(false)? };
                simple.assigns.push(Assign { name, subscript, append, value });
                continue;
            }
            if simple.words.is_empty() {
                self.starts.push(begin);
            }
            let mut term = self.term(false)?;
            if term.raw.starts_with('{')
                && term.raw.contains('[')
                && term.raw.ends_with('}')
                && self.peek().is_some_and(|c| matches!(c, '<' | '>'))
            {
                return Err("a redirection stores its number in an element of an array".to_owned());
            }
            if self.peek() == Some('(') {
                let raw = term.raw.as_str();
                if declares && raw.ends_with('=') && raw.find('=').is_some_and(|at| at + 1 == raw.len()) {
                    let array = self.array()?;
                    term.parts.extend(array.parts);
                    term.raw.push_str(&array.raw);
                } else if simple.words.is_empty() && simple.assigns.is_empty() && redirects.is_empty() {
                    self.starts.pop();
                    self.at += 1;
                    self.blanks()?;
                    self.expect(")")?;
                    return self.function(Parser::plain(&term));
                } else {
                    return Err(self.missing("a word"));
                }
            }
            if term.raw.is_empty() {
                return Err(self.missing("a word"));
            }
            if simple.words.is_empty() {
                declares = matches!(term.raw.as_str(), "declare" | "typeset" | "local" | "readonly" | "export");
            }
            simple.words.push(term);
        }
        if simple.words.is_empty() && simple.assigns.is_empty() && redirects.is_empty() {
            return Err(self.missing("a command"));
        }
        Ok(What::Simple(simple))
    }

    fn redirect(&mut self) -> Parsed<Option<Redirect>> {
        let rest = self.rest();
        let named = rest.strip_prefix('{').and_then(|inner| {
            let end = inner.find(|c: char| c != '_' && !c.is_ascii_alphanumeric())?;
            (end > 0 && inner[end..].starts_with('}')).then_some((&inner[..end], end + 2))
        });
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
        let (fd, skip) = match named {
            Some((name, skip)) => (Some(name), skip),
            None if digits > 0 => (Some(&rest[..digits]), digits),
            None => (None, 0),
        };
        let behind = &rest[skip..];
        // `<(` and `>(` are words.
        let process = behind.starts_with("<(") || behind.starts_with(">(");
        if process || !(behind.starts_with(['<', '>']) || fd.is_none() && behind.starts_with("&>")) {
            return Ok(None);
        }
        let Some((sign, op)) = OPS.iter().find(|(sign, _)| behind.starts_with(sign)) else { return Ok(None) };
        let fd = fd.map(str::to_owned);
        self.at += skip + sign.len();
        self.blanks()?;
        let term = self.some_term()?;
        let target = if *op == Op::Document {
            let into = Rc::new(OnceCell::new());
            let quoted = term.raw.contains(['\'', '"', '\\']);
            let delimiter = if quoted { Parser::unquoted(&term) } else { Some(term.raw) };
            let delimiter = delimiter.ok_or("where a here-document ends is not plain")?;
            self.pending.push(Pending { delimiter, quoted, strip: *sign == "<<-", into: Rc::clone(&into) });
            Target::Document(into)
        } else {
            Target::Term(term)
        };
        Ok(Some(Redirect { fd, op: *op, target }))
    }
}
