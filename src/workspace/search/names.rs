//! Names of files as they are shown: nothing in them can pass for something else. Pure.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::Place;
use crate::workspace::Roots;
use crate::workspace::paths::uri_of_path;

/// The name of a place: in the one workspace folder relative to it; where there are several, absolute, so that it says
/// which.
pub(super) fn shown(roots: &Roots, place: &Place) -> String {
    let path = match roots.folders.as_slice() {
        [only] => place.path.strip_prefix(only).unwrap_or(&place.path),
        _ => &place.path,
    };
    if path.as_os_str().is_empty() {
        return ".".to_owned();
    }
    let shown = visible(path);
    if place.unnamed() || path.to_str() == Some(&shown) {
        shown
    } else {
        format!("{shown} ({})", uri_of_path(&place.path))
    }
}

/// A path as it is, unless there is something in it that cannot be seen or is not UTF-8: then in quotes, with that
/// escaped as `\n`, `\u{200b}`, `\xff`.
pub fn visible(path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.contains(hidden)
    {
        return text.to_owned();
    }
    let mut out = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '"' | '\\' => out.extend(['\\', c]),
                c if hidden(c) => {
                    let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
                }
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn names_are_shown_whole() {
        for (name, shown) in [
            (&b"src/a b.rs"[..], "src/a b.rs"),
            ("é😀\"\\".as_bytes(), "é😀\"\\"),
            (b"two\nlines", r#""two\nlines""#),
            (b"bad\xff\xfe\"x", r#""bad\xff\xfe\"x""#),
            ("zero\u{200b}width\u{1b}[2J".as_bytes(), r#""zero\u{200b}width\u{1b}[2J""#),
        ] {
            assert_eq!(visible(Path::new(OsStr::from_bytes(name))), shown);
        }
    }
}
