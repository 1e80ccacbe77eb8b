//! What faults are called: brackets and their partners, names of the grammar's nodes, excerpts of the text.

use tree_sitter::Node;

use super::Language;

/// At most so many characters of a text are shown in a message.
const EXCERPT: usize = 40;

/// One of two tokens that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    Opens(Bracket),
    Closes(Bracket),
}

/// The kinds of tokens that come in twos.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bracket {
    Round,
    Square,
    Curly,
    /// `if` and `fi` and their like in shells.
    Word(&'static str),
    /// An element of JSX.
    Element,
    /// A string, by its delimiter.
    Quote(&'static str),
}

impl Bracket {
    pub(super) fn is_quote(self) -> bool {
        matches!(self, Bracket::Quote(_))
    }
}

/// Which half of what a node is.
pub(super) fn half(language: Language, node: Node<'_>, text: &str) -> Option<Half> {
    if node.is_named() {
        return match node.kind() {
            "jsx_opening_element" => Some(Half::Opens(Bracket::Element)),
            "jsx_closing_element" => Some(Half::Closes(Bracket::Element)),
            // Python's strings begin with a node of their own, which has the prefix in it.
            "string_start" => delimiter(text.get(node.byte_range())?).map(|mark| Half::Opens(Bracket::Quote(mark))),
            "string_end" => delimiter(text.get(node.byte_range())?).map(|mark| Half::Closes(Bracket::Quote(mark))),
            _ => None,
        };
    }
    let kind = node.kind();
    Some(match kind {
        "(" | "$(" | "((" | "$((" | "<(" | ">(" => Half::Opens(Bracket::Round),
        ")" | "))" => Half::Closes(Bracket::Round),
        "[" | "[[" => Half::Opens(Bracket::Square),
        "]" | "]]" => Half::Closes(Bracket::Square),
        "{" | "${" => Half::Opens(Bracket::Curly),
        "}" => Half::Closes(Bracket::Curly),
        "\"\"\"" | "\"" | "`" | "'''" => Half::Opens(Bracket::Quote(delimiter(kind)?)),
        // In Rust one of these begins a lifetime.
        "'" if language != Language::Rust => Half::Opens(Bracket::Quote("'")),
        _ if language == Language::Bash => match kind {
            "if" => Half::Opens(Bracket::Word("if")),
            "fi" => Half::Closes(Bracket::Word("if")),
            "case" => Half::Opens(Bracket::Word("case")),
            "esac" => Half::Closes(Bracket::Word("case")),
            "do" => Half::Opens(Bracket::Word("do")),
            "done" => Half::Closes(Bracket::Word("do")),
            _ => return None,
        },
        _ => return None,
    })
}

/// The quotes at the end of a string's delimiter.
fn delimiter(text: &str) -> Option<&'static str> {
    ["\"\"\"", "'''", "\"", "'", "`"].into_iter().find(|mark| text.ends_with(mark))
}

/// What a missing node is called.
pub(super) fn expected(language: Language, kind: &str) -> String {
    let json = matches!(language, Language::Json | Language::JsonWithComments);
    match kind {
        "number" if json => "a value".to_owned(),
        "\n" | "\r\n" | "newline" | "_newline" | "line_end" => "a line end".to_owned(),
        _ if kind.chars().all(|char| char.is_ascii_lowercase() || char == '_') && kind.len() > 4 => {
            // The grammar's name of a thing; keywords that long (`while`) are never missing, only their partners are.
            let words = kind.trim_matches('_').replace('_', " ");
            let article = if words.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
            format!("{article} {words}")
        }
        _ => quoted(kind),
    }
}

/// A text between backticks on one line, its end left out if it is long, odd characters escaped.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("`");
    let mut length = 0;
    let mut blank = false;
    for char in text.trim().chars() {
        if length >= EXCERPT {
            out.push('…');
            break;
        }
        if char.is_whitespace() {
            blank = true;
            continue;
        }
        if std::mem::take(&mut blank) {
            out.push(' ');
            length += 1;
        }
        length += 1;
        match char {
            '"' | '\'' | '\\' => out.push(char),
            char => out.extend(char.escape_debug()),
        }
    }
    out.push('`');
    out
}
