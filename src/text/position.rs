//! Positions as editors count them. Lines and characters are 0-based; a character is a unit of the negotiated encoding.

use serde::{Deserialize, Serialize};

/// What one unit of [`Position::character`] is (LSP 3.17, `positionEncoding`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub enum Encoding {
    /// A byte of UTF-8.
    #[serde(rename = "utf-8")]
    Utf8,
    /// A UTF-16 code unit: the protocol's default.
    #[default]
    #[serde(rename = "utf-16")]
    Utf16,
    /// A Unicode scalar value.
    #[serde(rename = "utf-32")]
    Utf32,
}

/// Which characters end a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LineBreaks {
    /// LF alone (CRLF is one end, since its LF ends the line): what Neovim and Emacs count.
    #[default]
    Lf,
    /// LF, CRLF and a lone CR, as the protocol's text says and language servers count.
    Lsp,
}

/// A place between two characters: 0-based line, 0-based offset in units of an [`Encoding`].
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Position {
    /// 0-based line.
    pub line: u32,
    /// 0-based offset in the line, in units of the encoding in force.
    pub character: u32,
}

/// From `start` up to, not including, `end`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Range {
    /// The first position inside.
    pub start: Position,
    /// The first position outside.
    pub end: Position,
}

/// A replacement addressed by positions, as it goes over the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextEdit {
    /// What is replaced.
    pub range: Range,
    /// What takes its place.
    pub new_text: String,
}

/// How far an incoming position had to be bent to fit the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Clamp {
    /// It fitted as it was.
    Exact,
    /// It lay past the end of its line or of the text and was moved to that end (before the line end). Editors do this.
    PastEnd,
    /// It lay inside a character: the two sides do not agree on the text any more.
    MidCharacter,
}

impl Position {
    /// Shorthand for tests and tables.
    pub const fn new(line: u32, character: u32) -> Position {
        Position { line, character }
    }
}
