//! Names of files in patches: section lines, `---` and `+++` lines, git's quoted names.

/// What a line of the `*** Begin Patch` format opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Add,
    Delete,
    Update,
    Move,
}

/// The section that a line opens, and the name in it.
pub(super) fn section(line: &str) -> Option<(Section, &str)> {
    let rest = line.strip_prefix("***")?.trim_start();
    let kinds = [
        ("Add File:", Section::Add),
        ("Create File:", Section::Add),
        ("Delete File:", Section::Delete),
        ("Update File:", Section::Update),
        ("Move to:", Section::Move),
    ];
    kinds.iter().find_map(|&(word, kind)| Some((kind, rest.strip_prefix(word)?.trim())))
}

/// One side of a unified diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name {
    /// `/dev/null`: there is no such file.
    Nothing,
    /// A file.
    File(String),
}

/// The name on a `---` or `+++` line, without the word: unquoted, without a time. The error is what is wrong.
pub(super) fn side(rest: &str) -> Result<Name, String> {
    let name = if rest.starts_with('"') {
        unquoted(rest)?.0
    } else {
        let name = rest.split('\t').next().unwrap_or_default().trim_end();
        without_time(name).to_owned()
    };
    match name.as_str() {
        "" => Err("no file is named. Write `--- a/path` and `+++ b/path`, or /dev/null for none.".to_owned()),
        "/dev/null" => Ok(Name::Nothing),
        _ => Ok(Name::File(name)),
    }
}

/// A name without a time that spaces set apart from it: ` 2024-01-31 12:00:00`.
fn without_time(name: &str) -> &str {
    let date = |text: &str| {
        let bytes = text.as_bytes();
        let shape = |at: usize, byte: u8| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() };
        bytes.len() >= 13
            && bytes[..10].iter().enumerate().all(|(at, &byte)| shape(at, byte))
            && bytes[10] == b' '
            && bytes[11].is_ascii_digit()
            && text.contains(':')
    };
    let mut cuts = name.match_indices(' ').filter(|&(at, _)| date(&name[at + 1..]));
    cuts.next().map_or(name, |(at, _)| name[..at].trim_end())
}

/// A name in quotes with the escapes of C, and what follows it.
pub(super) fn unquoted(quoted: &str) -> Result<(String, &str), String> {
    let bad = || format!("`{quoted}` is no name in quotes. Escape as git does (\\\", \\\\, \\t, \\303\\251).");
    let bytes = quoted.as_bytes();
    let (mut name, mut at) = (Vec::new(), 1);
    loop {
        match bytes.get(at).ok_or_else(bad)? {
            b'"' => break,
            b'\\' => {
                let next = *bytes.get(at + 1).ok_or_else(bad)?;
                at += 1;
                match next {
                    b'0'..=b'3' => {
                        let digits = quoted.get(at..at + 3).ok_or_else(bad)?;
                        name.push(u8::from_str_radix(digits, 8).map_err(|_| bad())?);
                        at += 2;
                    }
                    b'n' => name.push(b'\n'),
                    b't' => name.push(b'\t'),
                    b'r' => name.push(b'\r'),
                    b'a' => name.push(7),
                    b'b' => name.push(8),
                    b'v' => name.push(11),
                    b'f' => name.push(12),
                    b'"' | b'\\' => name.push(next),
                    _ => return Err(bad()),
                }
            }
            &byte => name.push(byte),
        }
        at += 1;
    }
    let name = String::from_utf8(name)
        .map_err(|_| format!("the name {quoted} is not UTF-8, and such files cannot be changed."))?;
    Ok((name, &quoted[at + 1..]))
}

/// The two names of a `diff --git` line, without the word; `None` where it cannot be told where one ends.
pub(super) fn git_pair(rest: &str) -> Option<(String, String)> {
    if rest.starts_with('"') {
        let (old, rest) = unquoted(rest).ok()?;
        let rest = rest.strip_prefix(' ')?;
        let new = if rest.starts_with('"') { unquoted(rest).ok()?.0 } else { rest.to_owned() };
        return Some((old, new));
    }
    if let Some(at) = rest.find(" \"") {
        return Some((rest[..at].to_owned(), unquoted(&rest[at + 1..]).ok()?.0));
    }
    // Names with spaces: both are the same but for their prefixes.
    let same = |&(at, _): &(usize, &str)| {
        let (old, new) = (&rest[..at], &rest[at + 1..]);
        let bare = |name: &str| name.split_once('/').map_or(name.to_owned(), |(_, rest)| rest.to_owned());
        old == new || bare(old) == bare(new)
    };
    let middle = rest.match_indices(' ').find(same);
    let only = || (rest.matches(' ').count() == 1).then(|| rest.find(' ').map(|at| (at, " "))).flatten();
    let (at, _) = middle.or_else(only)?;
    Some((rest[..at].to_owned(), rest[at + 1..].to_owned()))
}

/// Both names without the prefixes that git puts before them, which only go together.
pub(super) fn stripped(old: &Name, new: &Name) -> (Name, Name) {
    let pairs = [("a/", "b/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/"), ("1/", "2/"), ("b/", "a/")];
    for (before, after) in pairs {
        let cut = |name: &Name, prefix: &str| match name {
            Name::Nothing => Some(Name::Nothing),
            Name::File(name) => {
                name.strip_prefix(prefix).filter(|rest| !rest.is_empty()).map(|rest| Name::File(rest.to_owned()))
            }
        };
        if let (Some(old), Some(new)) = (cut(old, before), cut(new, after)) {
            return (old, new);
        }
    }
    (old.clone(), new.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> Name {
        Name::File(name.to_owned())
    }

    #[test]
    fn names_of_sides() {
        for (line, name) in [
            ("a/x.rs", Ok(file("a/x.rs"))),
            ("a/x y.rs\t2024-01-01 00:00:00.0 +0000", Ok(file("a/x y.rs"))),
            ("x y.rs 2024-01-01 00:00:00 +0000", Ok(file("x y.rs"))),
            ("x 2024-01-01", Ok(file("x 2024-01-01"))),
            ("/dev/null", Ok(Name::Nothing)),
            ("/dev/null\tThu Jan 1", Ok(Name::Nothing)),
            ("\"a/\\303\\251\\t.txt\"", Ok(file("a/é\t.txt"))),
            ("", Err(())),
            ("\"a", Err(())),
            ("\"\\9\"", Err(())),
            ("\"\\377\"", Err(())),
        ] {
            assert_eq!(side(line).map_err(|_| ()), name, "{line}");
        }
    }

    #[test]
    fn prefixes_go_together() {
        for (old, new, expected) in [
            (file("a/x"), file("b/x"), (file("x"), file("x"))),
            (file("a/x"), file("a/x"), (file("a/x"), file("a/x"))),
            (file("a/x"), Name::Nothing, (file("x"), Name::Nothing)),
            (Name::Nothing, file("b/x"), (Name::Nothing, file("x"))),
            (file("i/x"), file("w/x"), (file("x"), file("x"))),
            (file("x"), file("b/x"), (file("x"), file("b/x"))),
        ] {
            assert_eq!(stripped(&old, &new), expected);
        }
    }

    #[test]
    fn pairs_of_git() {
        for (line, pair) in [
            ("a/x b/x", Some(("a/x", "b/x"))),
            ("a/x y b/x y", Some(("a/x y", "b/x y"))),
            ("x x", Some(("x", "x"))),
            ("a/x b/y", Some(("a/x", "b/y"))),
            ("a/x y b/z", None),
            ("\"a/\\303\\251\" \"b/\\303\\251\"", Some(("a/é", "b/é"))),
            ("a/x \"b/\\303\\251\"", Some(("a/x", "b/é"))),
        ] {
            let pair = pair.map(|(old, new)| (old.to_owned(), new.to_owned()));
            assert_eq!(git_pair(line), pair, "{line}");
        }
    }
}
