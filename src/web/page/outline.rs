//! One pass over a page's tags: what is text stays, what is not text goes, and what comes out is closed where it was opened.

use std::cell::RefCell;

use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult};
use html5ever::{Attribute, LocalName};
use url::Url;

use super::Form;
use super::feed::{Tags, work};

/// So many elements may be open at once; deeper ones are not told apart.
const MOST_OPEN: usize = 128;

/// So many of those that come out may be.
const DEEPEST: usize = 40;

/// A page has at most so many elements.
const MOST_ELEMENTS: usize = 60_000;

/// A title has at most so many characters.
const TITLE: usize = 300;

/// A link or a picture's place has at most so many bytes.
const LONGEST_LINK: usize = 2000;

/// Elements without content.
const VOID: &[&str] =
    &["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"];

/// Elements whose content is no text for a reader.
const NEVER: &[&str] = &[
    "audio", "button", "canvas", "datalist", "dialog", "embed", "iframe", "math", "noembed", "noframes", "noscript",
    "object", "script", "select", "style", "svg", "template", "textarea", "video",
];

/// Elements that stand beside the text.
const BESIDE: &[&str] = &["footer", "menu", "nav"];

/// Elements that are blocks and nothing more.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "body",
    "center",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "header",
    "hgroup",
    "main",
    "menu",
    "nav",
    "section",
    "summary",
];

/// Elements that come out as they are.
const KEPT: &[&str] = &[
    "a",
    "b",
    "blockquote",
    "caption",
    "code",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "i",
    "li",
    "ol",
    "p",
    "pre",
    "strong",
    "table",
    "td",
    "th",
    "tr",
    "ul",
];

/// Of these, those within a line.
const INLINE: &[&str] = &["a", "b", "code", "em", "i", "strong"];

/// Takes the tags of one page.
pub(super) struct Outline(RefCell<State>);

#[expect(clippy::struct_excessive_bools, reason = "each is one fact of the pass")]
struct State {
    form: Form,
    /// Where links begin.
    base: Url,
    /// Whether what stands beside the text is taken, too.
    whole: bool,
    out: String,
    open: Vec<Open>,
    /// Elements that were opened while too many were.
    lost: usize,
    /// What is open from here on is left out.
    left_out: Option<usize>,
    /// How many of the open elements came out.
    depth: usize,
    title: String,
    titled: bool,
    /// How many drawings and formulas are open, whose elements have rules of their own.
    foreign: usize,
    tokens: usize,
    elements: usize,
    work: usize,
    cut: bool,
    /// Plain text: white space came since the last character.
    space: bool,
}

struct Open {
    name: LocalName,
    /// Whether it came out.
    out: bool,
    /// Of a table: how many rows it has by now.
    rows: usize,
}

impl Outline {
    pub(super) fn new(base: &Url, form: Form, whole: bool) -> Outline {
        Outline(RefCell::new(State {
            form,
            base: base.clone(),
            whole,
            out: String::new(),
            open: Vec::new(),
            lost: 0,
            left_out: None,
            depth: 0,
            title: String::new(),
            titled: false,
            foreign: 0,
            tokens: 0,
            elements: 0,
            work: 0,
            cut: false,
            space: false,
        }))
    }

    /// The title, and what came out.
    pub(super) fn finished(&self) -> (String, String) {
        let mut state = self.0.borrow_mut();
        while !state.open.is_empty() {
            state.close();
        }
        let words: Vec<&str> = state.title.split_whitespace().collect();
        (words.join(" ").chars().take(TITLE).collect(), std::mem::take(&mut state.out))
    }
}

impl Tags for Outline {
    fn seen(&self) -> (usize, usize) {
        let state = self.0.borrow();
        (state.tokens, state.work)
    }

    fn full(&self) -> bool {
        self.0.borrow().cut
    }
}

impl TokenSink for Outline {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut state = self.0.borrow_mut();
        match token {
            Token::ParseError(_) => {}
            _ if state.cut => {}
            Token::TagToken(tag) => {
                state.tokens += 1;
                let raw = match tag.kind {
                    TagKind::StartTag => state.start(&tag),
                    TagKind::EndTag => {
                        state.end(&tag.name);
                        None
                    }
                };
                if let Some(raw) = raw {
                    return TokenSinkResult::RawData(raw);
                }
            }
            Token::CharacterTokens(text) => {
                state.tokens += 1;
                state.text(&text);
            }
            _ => state.tokens += 1,
        }
        TokenSinkResult::Continue
    }
}

impl State {
    fn is_open(&self, name: &str) -> bool {
        self.open.iter().any(|open| &*open.name == name)
    }

    /// Whether an element of this name is open, nearer than any of these.
    fn within(&self, name: &str, borders: &[&str]) -> Option<usize> {
        let at = self.open.iter().rposition(|open| &*open.name == name || borders.contains(&&*open.name))?;
        (&*self.open[at].name == name).then_some(at)
    }

    fn start(&mut self, tag: &Tag) -> Option<RawKind> {
        let name = &*tag.name;
        self.elements += 1;
        self.work += work(&tag.attrs);
        if self.elements > MOST_ELEMENTS {
            self.cut = true;
            return None;
        }
        let foreign = self.foreign > 0;
        let raw = if foreign { None } else { raw(name) };
        if VOID.contains(&name) || foreign && tag.self_closing {
            self.void(name, &tag.attrs);
            return None;
        }
        if self.open.len() >= MOST_OPEN {
            self.lost += 1;
            return raw;
        }
        self.imply(name);
        if name == "title" && !foreign && !self.titled {
            self.titled = true;
        }
        let beside = !self.whole && (BESIDE.contains(&name) || attribute(&tag.attrs, "role") == Some("navigation"));
        if self.left_out.is_none() && (NEVER.contains(&name) || beside || hidden(name, &tag.attrs)) {
            self.left_out = Some(self.open.len());
        }
        let out = self.left_out.is_none() && name != "title" && self.opened(name, &tag.attrs);
        self.depth += usize::from(out);
        self.foreign += usize::from(is_foreign(name));
        self.open.push(Open { name: tag.name.clone(), out, rows: 0 });
        raw
    }

    /// Ends what ends by itself when this begins.
    fn imply(&mut self, name: &str) {
        let (ends, borders): (&[&str], &[&str]) = match name {
            "li" => (&["li"], &["ul", "ol", "table"]),
            "dt" | "dd" => (&["dt", "dd"], &["dl", "table"]),
            "tr" => (&["tr"], &["table"]),
            "td" | "th" => (&["td", "th"], &["table", "tr"]),
            "tbody" | "thead" | "tfoot" => (&["tr", "tbody", "thead", "tfoot"], &["table"]),
            "option" => (&["option"], &["select"]),
            _ if BLOCKS.contains(&name) || KEPT.contains(&name) && !INLINE.contains(&name) => {
                (&["p"], &["td", "th", "li", "blockquote", "table"])
            }
            _ => return,
        };
        for ended in ends {
            if let Some(at) = self.within(ended, borders) {
                self.close_to(at);
            }
        }
    }

    fn end(&mut self, name: &LocalName) {
        if self.lost > 0 && !VOID.contains(&&**name) {
            self.lost -= 1;
            return;
        }
        let borders: &[&str] = match &**name {
            "li" => &["ul", "ol", "table"],
            "td" | "th" | "tr" | "tbody" | "thead" | "tfoot" => &["table"],
            // What is within a line does not end blocks.
            inline if INLINE.contains(&inline) => &["td", "th", "li", "table", "div", "section", "article"],
            _ => &[],
        };
        if let Some(at) = self.within(name, borders) {
            self.close_to(at);
        }
    }

    fn close_to(&mut self, at: usize) {
        while self.open.len() > at {
            self.close();
        }
    }

    fn close(&mut self) {
        let Some(Open { name, out, .. }) = self.open.pop() else { return };
        self.foreign -= usize::from(is_foreign(&name));
        if out {
            self.depth -= 1;
            self.closed(&name);
        }
        if self.left_out.is_some_and(|at| self.open.len() <= at) {
            self.left_out = None;
        }
    }

    /// An element begins: whether it comes out.
    fn opened(&mut self, name: &str, attributes: &[Attribute]) -> bool {
        let block = BLOCKS.contains(&name);
        if self.form == Form::Text {
            match name {
                "pre" | "p" | "ul" | "ol" | "table" | "blockquote" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                    self.gap(2);
                }
                "li" => {
                    self.gap(1);
                    self.out.push_str("- ");
                }
                "td" | "th" if !self.out.ends_with('\n') => self.out.push('\t'),
                "tr" | "caption" => self.gap(1),
                _ if block => self.gap(1),
                _ => return false,
            }
            return true;
        }
        if self.depth >= DEEPEST {
            self.out.push(' ');
            return false;
        }
        let inline = INLINE.contains(&name);
        match name {
            // Within itself it says nothing more, and in a text that stands as it is it would be seen.
            _ if inline && (self.out_is_open(name) || self.is_open("pre") && name != "code") => return false,
            "a" => {
                let Some(link) = attribute(attributes, "href").and_then(|link| self.link(link)) else { return false };
                self.tag("a", "href", &link);
            }
            "ol" => {
                let start = attribute(attributes, "start").and_then(|start| start.trim().parse::<u32>().ok());
                match start.filter(|start| *start <= 1_000_000) {
                    Some(start) => self.tag("ol", "start", &start.to_string()),
                    None => self.out.push_str("<ol>"),
                }
            }
            "pre" | "code" => {
                let classes = attribute(attributes, "class").unwrap_or_default();
                let plain = |class: &&str| {
                    class.starts_with("language-")
                        && class.chars().all(|c| c.is_ascii_alphanumeric() || "-+#_".contains(c))
                };
                match classes.split_whitespace().find(plain) {
                    Some(language) => self.tag(name, "class", language),
                    None => self.tag(name, "", ""),
                }
                if name == "pre" && !self.out.ends_with('\n') {
                    // The first line end of a `pre` is none.
                    self.out.push('\n');
                }
            }
            "tr" => {
                let Some(table) = self.within("table", &[]) else { return false };
                self.open[table].rows += 1;
                let first = self.open[table].rows == 1;
                self.tag("tr", if first { "class" } else { "" }, "first");
            }
            "td" | "th" if self.within("tr", &["table"]).is_none() => return false,
            "caption" if self.within("table", &[]).is_none() => return false,
            "td" | "th" => self.tag("td", "", ""),
            _ if KEPT.contains(&name) => self.tag(name, "", ""),
            _ if block => self.tag("div", "", ""),
            _ => return false,
        }
        true
    }

    fn out_is_open(&self, name: &str) -> bool {
        self.open.iter().any(|open| open.out && &*open.name == name)
    }

    /// An element that came out ends.
    fn closed(&mut self, name: &str) {
        if self.form == Form::Text {
            match name {
                "pre" | "p" | "ul" | "ol" | "table" | "blockquote" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                    self.gap(2);
                }
                "td" | "th" => self.space = false,
                _ => self.gap(1),
            }
            return;
        }
        let name = match name {
            "th" => "td",
            name if KEPT.contains(&name) => name,
            _ => "div",
        };
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push('>');
    }

    fn void(&mut self, name: &str, attributes: &[Attribute]) {
        if name == "base"
            && let Some(base) = attribute(attributes, "href").and_then(|href| self.base.join(href.trim()).ok())
            && matches!(base.scheme(), "http" | "https")
        {
            self.base = base;
        }
        if self.left_out.is_some() {
            return;
        }
        if matches!(name, "hr") {
            self.imply("div");
        }
        match (self.form, name) {
            (Form::Text, "br") => self.out.push('\n'),
            (Form::Text, "hr") => self.gap(2),
            (Form::Markdown, "br" | "hr") if self.within("pre", &[]).is_some() => self.out.push('\n'),
            (Form::Markdown, "br" | "hr") => self.tag(name, "", ""),
            (Form::Markdown, "img") => {
                let words = attribute(attributes, "alt").map(str::trim).filter(|words| !words.is_empty());
                let place = attribute(attributes, "src").and_then(|place| self.link(place));
                if let (Some(words), Some(place), false) = (words, place, self.is_open("pre")) {
                    self.out.push_str("<img alt=\"");
                    escape(words, &mut self.out);
                    self.out.push_str("\" src=\"");
                    escape(&place, &mut self.out);
                    self.out.push_str("\">");
                }
            }
            _ => {}
        }
    }

    /// Where a link leads, whole; `None`: nowhere that could be fetched.
    fn link(&self, link: &str) -> Option<String> {
        let link = link.trim();
        if link.is_empty() || link.starts_with('#') || link.len() > LONGEST_LINK {
            return None;
        }
        let url = self.base.join(link).ok()?;
        let known = matches!(url.scheme(), "http" | "https" | "mailto") && url.as_str().len() <= LONGEST_LINK;
        known.then(|| url.to_string())
    }

    fn tag(&mut self, name: &str, attribute: &str, value: &str) {
        self.out.push('<');
        self.out.push_str(name);
        if !attribute.is_empty() {
            self.out.push(' ');
            self.out.push_str(attribute);
            self.out.push_str("=\"");
            escape(value, &mut self.out);
            self.out.push('"');
        }
        self.out.push('>');
    }

    fn text(&mut self, text: &str) {
        if self.titled && self.open.last().is_some_and(|open| &*open.name == "title") {
            if self.title.len() < TITLE * 4 {
                self.title.extend(text.chars().filter(|c| !unseen(*c)));
            }
            return;
        }
        if self.left_out.is_some() || self.open.last().is_some_and(|open| &*open.name == "title") {
            return;
        }
        if self.form == Form::Markdown {
            // Text right in a table would be put before it.
            let stray = self
                .open
                .last()
                .is_some_and(|open| matches!(&*open.name, "table" | "tr" | "tbody" | "thead" | "tfoot" | "colgroup"));
            if !stray || text.chars().any(|c| !c.is_whitespace()) {
                escape(text, &mut self.out);
            }
            return;
        }
        if self.is_open("pre") {
            self.out.extend(text.chars().filter(|c| !unseen(*c)));
            return;
        }
        for c in text.chars().filter(|c| *c == '\x0c' || !unseen(*c)) {
            if c.is_ascii_whitespace() {
                self.space = true;
                continue;
            }
            if self.space && !self.out.is_empty() && !self.out.ends_with(['\n', '\t', ' ']) {
                self.out.push(' ');
            }
            self.space = false;
            self.out.push(c);
        }
    }

    /// Plain text: what follows begins on a line of its own, so many line ends behind what was before.
    fn gap(&mut self, ends: usize) {
        self.space = false;
        if self.out.is_empty() || self.out.ends_with("- ") {
            return;
        }
        self.out.truncate(self.out.trim_end_matches([' ', '\t']).len());
        let have = self.out.len() - self.out.trim_end_matches('\n').len();
        for _ in have..ends {
            self.out.push('\n');
        }
    }
}

fn is_foreign(name: &str) -> bool {
    matches!(name, "svg" | "math")
}

/// How the content of an element is read, if not as tags and text.
fn raw(name: &str) -> Option<RawKind> {
    match name {
        "script" => Some(RawKind::ScriptData),
        "style" | "xmp" | "iframe" | "noembed" | "noframes" | "noscript" => Some(RawKind::Rawtext),
        "title" | "textarea" => Some(RawKind::Rcdata),
        _ => None,
    }
}

fn attribute<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a str> {
    attributes.iter().find(|attribute| &*attribute.name.local == name).map(|attribute| &*attribute.value)
}

/// Whether a reader does not see an element. What holds the whole page is often hidden until a script has run.
fn hidden(name: &str, attributes: &[Attribute]) -> bool {
    if matches!(name, "html" | "body") {
        return false;
    }
    let style: String = attribute(attributes, "style")
        .unwrap_or_default()
        .chars()
        .filter(|c| !c.is_whitespace())
        .take(500)
        .collect::<String>()
        .to_ascii_lowercase();
    attribute(attributes, "hidden").is_some_and(|value| value != "until-found")
        || attribute(attributes, "aria-hidden") == Some("true")
        || style.contains("display:none")
        || style.contains("visibility:hidden")
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if unseen(c) => {}
            c => out.push(c),
        }
    }
}

/// Whether a character is a control that no page means: a terminal would obey it.
fn unseen(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\n' | '\r')
}
