//! The bytes of a file as text and back, exactly: UTF-8, UTF-8 with a byte order mark, UTF-16 by its mark. Pure.

/// How the bytes of a file stand for text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// UTF-8 without a mark.
    Utf8,
    /// UTF-8 after the bytes EF BB BF.
    Utf8Bom,
    /// UTF-16, little end first, after FF FE.
    Utf16Le,
    /// UTF-16, big end first, after FE FF.
    Utf16Be,
    /// Bytes that are none of these, read as Windows-1252 for showing only: never written.
    Legacy,
}
