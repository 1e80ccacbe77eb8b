//! The ladder of names: which tool a model means that spells its name nearly right. Pure.

use std::collections::BTreeSet;

/// Suggestions are at most so many edits away.
const NEAR: usize = 3;

/// At most so many suggestions.
const SUGGESTIONS: usize = 3;

/// A shorter beginning of a name names nothing.
const SHORTEST_PREFIX: usize = 3;

/// A name as a tool declares it, and its others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Declared<'a> {
    /// The tool's own name.
    pub name: &'a str,
    /// What else it is called.
    pub others: &'a [&'a str],
}

/// The index of the tool that `asked` names, or a message that says which there are.
pub(super) fn find(asked: &str, tools: &[Declared<'_>]) -> Result<usize, String> {
    let all = || {
        tools.iter().enumerate().flat_map(|(index, tool)| {
            std::iter::once(tool.name).chain(tool.others.iter().copied()).map(move |name| (index, name))
        })
    };
    if let Some(index) = tools.iter().position(|tool| tool.name == asked) {
        return Ok(index);
    }
    let mut wanted = snake(asked);
    loop {
        // A tool's own name goes before another's other name, whatever the order of the table.
        if let Some(index) = tools.iter().position(|tool| snake(tool.name) == wanted) {
            return Ok(index);
        }
        if let Some((index, _)) = all().find(|(_, name)| snake(name) == wanted) {
            return Ok(index);
        }
        match wanted.strip_suffix("_tool").filter(|rest| !rest.is_empty()) {
            Some(rest) => wanted = rest.to_owned(),
            None => break,
        }
    }
    if wanted.chars().count() >= SHORTEST_PREFIX {
        let begun: BTreeSet<usize> =
            all().filter(|(_, name)| snake(name).starts_with(&wanted)).map(|(index, _)| index).collect();
        if let (1, Some(&only)) = (begun.len(), begun.first()) {
            return Ok(only);
        }
    }
    Err(unknown(asked, &wanted, tools, all()))
}

fn unknown<'a>(
    asked: &str,
    wanted: &str,
    tools: &[Declared<'a>],
    all: impl Iterator<Item = (usize, &'a str)>,
) -> String {
    let mut near: Vec<(usize, &str)> = all
        .filter_map(|(index, name)| {
            let distance = distance(wanted, &snake(name));
            // A short name is within three edits of anything.
            let close = distance <= NEAR && distance < name.chars().count();
            let tool = tools.get(index)?;
            (close || snake(name).starts_with(wanted) && !wanted.is_empty()).then_some((distance, tool.name))
        })
        .collect();
    near.sort_unstable();
    let mut suggestions: Vec<&str> = Vec::new();
    for (_, name) in near {
        if !suggestions.contains(&name) && suggestions.len() < SUGGESTIONS {
            suggestions.push(name);
        }
    }
    let mut names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
    names.sort_unstable();
    let hint = match suggestions.as_slice() {
        [] => String::new(),
        some => format!(" Did you mean {}?", quoted(some)),
    };
    format!("There is no tool `{asked}`.{hint} The tools are: {}.", names.join(", "))
}

/// `` `a`, `b` or `c` ``
pub(super) fn quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

/// A name in lower case with `_` between its words, however it was written: `ReadFile`, `read-file`, `HTTPFetch`.
pub(super) fn snake(name: &str) -> String {
    let characters: Vec<char> = name.trim().chars().collect();
    let mut out = String::with_capacity(name.len() + 4);
    for (at, &character) in characters.iter().enumerate() {
        if matches!(character, '-' | ' ' | '_') {
            if !out.ends_with('_') {
                out.push('_');
            }
            continue;
        }
        let before = at.checked_sub(1).and_then(|at| characters.get(at));
        let after = characters.get(at + 1);
        let word_begins = character.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_ascii_digit()
                    || before.is_uppercase() && after.is_some_and(|after| after.is_lowercase())
            });
        if word_begins && !out.is_empty() && !out.ends_with('_') {
            out.push('_');
        }
        out.extend(character.to_lowercase());
    }
    out
}

/// How many characters must be put in, taken out or changed to get from one to the other.
pub(super) fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, a) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (&b, above) in b.iter().zip(row.iter_mut().skip(1)) {
            let cost = (diagonal + usize::from(a != b)).min(*above + 1).min(left + 1);
            diagonal = *above;
            *above = cost;
            left = cost;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    const TOOLS: &[Declared<'_>] = &[
        Declared { name: "edit", others: &["edit_file", "str_replace"] },
        Declared { name: "fetch_url", others: &[] },
        Declared { name: "multi_edit", others: &[] },
        Declared { name: "read", others: &["read_file", "view"] },
        Declared { name: "todo_write", others: &[] },
        Declared { name: "todo_read", others: &[] },
        Declared { name: "write", others: &["write_file", "create"] },
    ];

    #[test]
    fn nearly_right_names() {
        for (asked, name) in [
            ("read", "read"),
            ("READ", "read"),
            (" Read ", "read"),
            ("ReadFile", "read"),
            ("readFile", "read"),
            ("read-file", "read"),
            ("read file", "read"),
            ("read__file", "read"),
            ("read_tool", "read"),
            ("ReadFileTool", "read"),
            ("read_tool_tool", "read"),
            ("FetchURL", "fetch_url"),
            ("fetchUrl", "fetch_url"),
            ("StrReplace", "edit"),
            ("writ", "write"),
            ("mul", "multi_edit"),
            ("cre", "write"),
        ] {
            assert_eq!(find(asked, TOOLS).map(|index| TOOLS[index].name), Ok(name), "{asked}");
        }
    }

    #[test]
    fn names_that_name_nothing() {
        for asked in ["", "re", "todo", "readx", "reads_files", "bash", "tool", "_tool", "écrire"] {
            assert!(find(asked, TOOLS).is_err(), "{asked}");
        }
    }

    #[test]
    fn an_unknown_tool_is_told() {
        let mut told = String::new();
        for asked in ["raed", "todo", "bash", "wriite_flie"] {
            told += &find(asked, TOOLS).unwrap_err();
            told.push('\n');
        }
        expect![[r"
            There is no tool `raed`. Did you mean `read`? The tools are: edit, fetch_url, multi_edit, read, todo_read, todo_write, write.
            There is no tool `todo`. Did you mean `todo_read` or `todo_write`? The tools are: edit, fetch_url, multi_edit, read, todo_read, todo_write, write.
            There is no tool `bash`. The tools are: edit, fetch_url, multi_edit, read, todo_read, todo_write, write.
            There is no tool `wriite_flie`. Did you mean `write`? The tools are: edit, fetch_url, multi_edit, read, todo_read, todo_write, write.
        "]].assert_eq(&told);
    }

    #[test]
    fn distances() {
        for (a, b, expected) in [("", "", 0), ("a", "", 1), ("", "ab", 2), ("kitten", "sitting", 3), ("é", "e", 1)] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
            assert_eq!(distance(b, a), expected, "{b} {a}");
        }
    }
}
