//! Elision: a line that stands for lines left out, such as `// ... rest of the code unchanged`.

use super::lines::Lines;

/// The words that give an elision away.
const WORDS: [&str; 12] = [
    "existing",
    "rest",
    "unchanged",
    "remaining",
    "remainder",
    "same",
    "omitted",
    "elided",
    "previous",
    "snip",
    "above",
    "truncated",
];

/// What a comment begins with.
const COMMENTS: [&str; 11] = ["<!--", "{/*", "/*", "//", "--", "(*", "#", "*", ";", "%", "'"];

/// What a comment ends with.
const CLOSERS: [&str; 4] = ["-->", "*/}", "*/", "*)"];

/// The first line of `text` that elides something and that is not in the file itself (which `has` knows), trimmed.
pub(super) fn elided(text: &str, has: impl Fn(&str) -> bool) -> Option<&str> {
    if !text.contains("...") && !text.contains('…') {
        return None;
    }
    let lines: Vec<&str> = Lines::of(text).contents().collect();
    lines.into_iter().map(str::trim).find(|line| elides(line) && !has(line))
}

/// Whether a trimmed line is an elision: a comment, or nothing else, with an ellipsis that stands apart and one of the
/// words. The `...rest` of a language, and `f(a, ...)` in a comment, are none.
fn elides(line: &str) -> bool {
    let marker = COMMENTS.iter().find(|marker| line.starts_with(**marker));
    let mut content =
        marker.map_or(line, |marker| line[marker.len()..].trim_start_matches(['/', '*', '#', '-', '!', ';', '%']));
    for closer in CLOSERS {
        content = content.strip_suffix(closer).unwrap_or(content);
    }
    content = content.trim();
    for (open, close) in [('(', ')'), ('[', ']'), ('<', '>'), ('{', '}')] {
        content = content.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)).unwrap_or(content);
    }
    let content = content.trim().replace('…', "...").to_lowercase();
    let begins = content.strip_prefix("...").map(|rest| rest.trim_start_matches('.'));
    let ends = content.ends_with("...");
    let apart = content.split_whitespace().any(|word| word.len() > 2 && word.bytes().all(|byte| byte == b'.'));
    let shape = if marker.is_some() {
        begins.is_some() || ends || apart
    } else {
        // Without a comment sign the line must begin with an ellipsis, and be no spread of a language.
        begins.is_some_and(|rest| rest.starts_with(char::is_whitespace) || ends)
    };
    shape && content.split(|c: char| !c.is_alphanumeric()).any(|word| WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_elides() {
        for line in [
            "// ... existing code ...",
            "# ... rest of the function unchanged",
            "/* … unchanged … */",
            "<!-- ... rest ... -->",
            "{/* ... existing props ... */}",
            "... rest of file ...",
            "// rest of the code remains the same...",
            "// ...existing code...",
            "-- ... same as before",
            "[... remaining lines omitted ...]",
            "// rest ... unchanged",
            "… existing code …",
            "(... omitted ...)",
            "//... (rest of the implementation)",
        ] {
            assert!(elides(line), "{line}");
        }
        for line in [
            "...rest,",
            "...existing",
            "// calls f(a, ...) with the rest",
            "...",
            "# ...",
            "let x = rest...",
            "// the rest",
            "return { ...state, rest }",
            "print('... existing')",
            "// e.g. foo(...) is the same",
            "for i in 0...rest {",
        ] {
            assert!(!elides(line), "{line}");
        }
    }

    #[test]
    fn a_line_of_the_file_is_no_elision() {
        let line = "# ... existing checks ...";
        let text = format!("a\n  {line}\n");
        let check = |file: &str, expected| assert_eq!(elided(&text, |line| file.contains(line)), expected, "{file:?}");
        check("b\n", Some(line));
        check(&format!("\t{line}\nb\n"), None);
    }
}
