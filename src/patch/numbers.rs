//! The `@@` lines.

use super::Numbers;

/// What a line that begins with `@@` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Header {
    /// Line numbers.
    Numbers(Numbers),
    /// A line of the text that is above.
    Anchor(String),
    /// Nothing but that a hunk begins.
    Bare,
}

/// Reads a line that begins with `@@`; `None` for numbers that are none.
pub(super) fn header(line: &str) -> Option<Header> {
    let rest = line.strip_prefix("@@")?;
    let plain = rest.trim();
    let plain = plain.strip_suffix("@@").map_or(plain, str::trim);
    if matches!(plain, "" | "..." | "\u{2026}" | "... ...") {
        return Some(Header::Bare);
    }
    let numbered = plain.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if !numbered {
        // The indentation of an anchor is not the author's point; white space is forgiven where it is looked for.
        let text = rest.strip_prefix(' ').unwrap_or(rest).trim_end();
        let text = text.strip_suffix("@@").map_or(text, str::trim_end);
        return Some(Header::Anchor(text.to_owned()));
    }
    let rest = rest.trim_start();
    let (old, rest) = rest.split_once(' ')?;
    let rest = rest.trim_start();
    let (new, heading) = match rest.split_once("@@") {
        Some((new, heading)) => (new.trim(), heading.trim()),
        None => (rest.trim(), ""),
    };
    let ((old_start, old_count), (new_start, new_count)) = (range(old, '-')?, range(new, '+')?);
    Some(Header::Numbers(Numbers { old_start, old_count, new_start, new_count, heading: heading.to_owned() }))
}

/// `-start,count`, where the count may be missing and is 1 then.
fn range(text: &str, sign: char) -> Option<(usize, usize)> {
    let text = text.strip_prefix(sign)?;
    let (start, count) = text.split_once(',').unwrap_or((text, "1"));
    // A number beyond all texts is a number all the same.
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().unwrap_or(usize::MAX / 4)).map(|number: usize| number.min(usize::MAX / 4))
    };
    Some((number(start)?, number(count)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        let numbers = |old_start, old_count, new_start, new_count, heading: &str| {
            Some(Header::Numbers(Numbers { old_start, old_count, new_start, new_count, heading: heading.to_owned() }))
        };
        for (line, expected) in [
            ("@@ -1,2 +3,4 @@", numbers(1, 2, 3, 4, "")),
            ("@@ -1 +3 @@ fn a() {", numbers(1, 1, 3, 1, "fn a() {")),
            ("@@ -0,0 +1,2 @@", numbers(0, 0, 1, 2, "")),
            ("@@ -1,2 +3,4", numbers(1, 2, 3, 4, "")),
            ("@@-1,2 +3,4@@", numbers(1, 2, 3, 4, "")),
            ("@@ -1,2 @@", None),
            ("@@ -1,x +1 @@", None),
            ("@@", Some(Header::Bare)),
            ("@@ ... @@", Some(Header::Bare)),
            ("@@ @@", Some(Header::Bare)),
            ("@@ class A:", Some(Header::Anchor("class A:".to_owned()))),
            ("@@     def f():", Some(Header::Anchor("    def f():".to_owned()))),
            ("@@ fn f() @@", Some(Header::Anchor("fn f()".to_owned()))),
            ("@@ -- a comment", Some(Header::Anchor("-- a comment".to_owned()))),
            ("@@ -99999999999999999999999 +1 @@", numbers(usize::MAX / 4, 1, 1, 1, "")),
        ] {
            assert_eq!(header(line), expected, "{line}");
        }
    }
}
