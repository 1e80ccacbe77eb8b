//! The ladder of names: which tool a model means that spells its name nearly right. Pure.

use std::collections::BTreeSet;

/// Suggestions are at most so many edits away.
const NEAR: usize = 3;

/// At most so many suggestions.
const SUGGESTIONS: usize = 3;

/// A shorter beginning of a name names nothing.
const SHORTEST_PREFIX: usize = 3;

/// Of a name that no tool has, so much is repeated (characters).
const SHOWN_CHARS: usize = 100;

/// More tools are not named one by one.
const NAMED: usize = 60;

/// What finds the tools that are not listed.
const FINDER: &str = "tool_search";

/// Whether a session knows of a tool and may call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is in the list.
    Listed,
    /// It can be called, and is listed once it has been.
    Deferred,
    /// It is not to be called.
    Disabled,
}

/// A name as a tool declares it, and its others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Declared<'a> {
    /// The tool's own name.
    pub name: &'a str,
    /// What else it is called.
    pub others: &'a [&'a str],
    /// Whether it may be named to a model.
    pub standing: Standing,
}

/// The index of the tool that `asked` names, or a message that says which there are. A rung on which several tools stand
/// ends the ladder: which of them is meant is not guessed. A tool's own name goes before another's other name.
pub(super) fn find(asked: &str, tools: &[Declared<'_>]) -> Result<usize, String> {
    let mut wanted = snake(asked);
    let exact = |name: &str| name == asked;
    let lower = asked.trim().to_lowercase();
    let cased = |name: &str| name.to_lowercase() == lower;
    let mut found = own(tools, &exact).or_else(|| other(tools, &exact));
    found = found.or_else(|| own(tools, &cased)).or_else(|| other(tools, &cased));
    loop {
        let same = |name: &str| snake(name) == wanted;
        let together = squeezed(&wanted);
        let alike = |name: &str| !together.is_empty() && squeezed(&snake(name)) == together;
        found = found.or_else(|| own(tools, &same)).or_else(|| other(tools, &same));
        found = found.or_else(|| own(tools, &alike)).or_else(|| other(tools, &alike));
        match wanted.strip_suffix("_tool").filter(|rest| found.is_none() && !rest.is_empty()) {
            Some(rest) => wanted = rest.to_owned(),
            None => break,
        }
    }
    if wanted.chars().count() >= SHORTEST_PREFIX {
        let begins = |name: &str| snake(name).starts_with(&wanted);
        found = found.or_else(|| {
            let begun: BTreeSet<usize> =
                own(tools, &begins).into_iter().chain(other(tools, &begins)).flatten().collect();
            (begun.len() == 1).then_some(begun)
        });
    }
    match found {
        Some(found) if found.len() == 1 => found.first().copied().ok_or_else(String::new),
        Some(several) => {
            let names: Vec<&str> = several.iter().filter_map(|index| Some(tools.get(*index)?.name)).collect();
            Err(format!("`{}` may be {}: call one of them by exactly that name.", shown(asked), quoted(&names)))
        }
        None => Err(unknown(asked, &wanted, tools)),
    }
}

/// The tools whose own name fits, if there are any.
fn own(tools: &[Declared<'_>], fits: &dyn Fn(&str) -> bool) -> Option<BTreeSet<usize>> {
    let found: BTreeSet<usize> =
        tools.iter().enumerate().filter(|(_, tool)| fits(tool.name)).map(|(index, _)| index).collect();
    (!found.is_empty()).then_some(found)
}

/// The tools of which another name fits, if there are any.
fn other(tools: &[Declared<'_>], fits: &dyn Fn(&str) -> bool) -> Option<BTreeSet<usize>> {
    let fitting = tools.iter().enumerate().filter(|(_, tool)| tool.others.iter().any(|name| fits(name)));
    let found: BTreeSet<usize> = fitting.map(|(index, _)| index).collect();
    (!found.is_empty()).then_some(found)
}

/// A name without anything between its words: `todo_write` and `todowrite` are the same.
fn squeezed(name: &str) -> String {
    name.replace('_', "")
}

fn unknown(asked: &str, wanted: &str, tools: &[Declared<'_>]) -> String {
    let callable = || tools.iter().filter(|tool| tool.standing != Standing::Disabled);
    let all = callable()
        .flat_map(|tool| std::iter::once(tool.name).chain(tool.others.iter().copied()).map(|name| (tool.name, name)));
    let mut near: Vec<(usize, &str)> = all
        .filter_map(|(tool, name)| {
            let distance = distance(wanted, &snake(name));
            // A short name is within three edits of anything.
            let close = distance <= NEAR && distance < name.chars().count();
            (close || snake(name).starts_with(wanted) && !wanted.is_empty()).then_some((distance, tool))
        })
        .collect();
    near.sort_unstable();
    let mut suggestions: Vec<&str> = Vec::new();
    for (_, name) in near {
        if !suggestions.contains(&name) && suggestions.len() < SUGGESTIONS {
            suggestions.push(name);
        }
    }
    let mut names: Vec<&str> =
        callable().filter(|tool| tool.standing == Standing::Listed).map(|tool| tool.name).collect();
    names.sort_unstable();
    let hint = match suggestions.as_slice() {
        [] => String::new(),
        some => format!(" Did you mean {}?", quoted(some)),
    };
    let deferred = callable().filter(|tool| tool.standing == Standing::Deferred).count();
    let more = if deferred > 0 && names.contains(&FINDER) {
        format!(" There are {deferred} more: find them with `{FINDER}`.")
    } else {
        String::new()
    };
    let rest = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let cut = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let listed = if names.is_empty() {
        " There are no tools.".to_owned()
    } else {
        format!(" The tools are: {}{cut}.", names.join(", "))
    };
    let none = match shown(asked) {
        nothing if nothing.trim().is_empty() => "The call names no tool.".to_owned(),
        name => format!("There is no tool `{name}`."),
    };
    format!("{none}{hint}{listed}{more}")
}

/// A name that came from outside, bounded, and without anything in it that cannot be seen.
fn shown(asked: &str) -> String {
    let mut shown = crate::permissions::visible(&asked.chars().take(SHOWN_CHARS).collect::<String>());
    if asked.chars().nth(SHOWN_CHARS).is_some() {
        shown.push('…');
    }
    shown
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

/// How many characters must be put in, taken out or changed to get from one to the other; of names of which one is so
/// much longer that they are not near, only how much.
pub(super) fn distance(a: &str, b: &str) -> usize {
    let apart = a.chars().count().abs_diff(b.chars().count());
    if apart > NEAR {
        return apart;
    }
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
    use proptest::prelude::*;

    const fn listed<'a>(name: &'a str, others: &'a [&'a str]) -> Declared<'a> {
        Declared { name, others, standing: Standing::Listed }
    }

    const TOOLS: &[Declared<'_>] = &[
        listed("edit", &["edit_file", "str_replace"]),
        listed("fetch_url", &[]),
        listed("multi_edit", &[]),
        listed("read", &["read_file", "view"]),
        listed("todo_write", &[]),
        listed("todo_read", &[]),
        listed("write", &["write_file", "create"]),
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
            ("multiedit", "multi_edit"),
            ("MULTIEDIT", "multi_edit"),
            ("Str_Replace_Tool", "edit"),
            ("TodoWriteTool", "todo_write"),
            ("todowrite", "todo_write"),
            ("readfile", "read"),
        ] {
            assert_eq!(find(asked, TOOLS).map(|index| TOOLS[index].name), Ok(name), "{asked}");
        }
    }

    #[test]
    fn names_that_name_nothing() {
        for asked in ["", "re", "_", "todo", "readx", "reads_files", "bash", "tool", "_tool", "écrire"] {
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
    fn which_of_several_is_meant_is_not_guessed() {
        let tools = [
            listed("getIssue", &[]),
            listed("get_issue", &[]),
            listed("put", &["set"]),
            listed("set_it", &[]),
            listed("store", &["put"]),
        ];
        let forward = |asked: &str| find(asked, &tools).map(|index| tools[index].name);
        let mut turned = tools;
        turned.reverse();
        let backward = |asked: &str| find(asked, &turned).map(|index| turned[index].name);
        for asked in ["getIssue", "get_issue", "GetIssue", "get-issue", "put", "PUT", "set", "Set", "sto", "get", "se"]
        {
            assert_eq!(forward(asked).ok(), backward(asked).ok(), "{asked}");
        }
        assert_eq!((forward("getIssue"), forward("get_issue")), (Ok("getIssue"), Ok("get_issue")));
        assert_eq!((forward("PUT"), forward("Set")), (Ok("put"), Ok("put")));
        assert_eq!(forward("GETISSUE"), Ok("getIssue"), "case comes before everything but the exact name");
        let told = "`get-issue` may be `getIssue` or `get_issue`: call one of them by exactly that name.";
        assert_eq!(forward("get-issue").unwrap_err(), told);
    }

    #[test]
    fn deferred_tools_are_found_and_not_listed() {
        let deferred = |name| Declared { name, others: &[], standing: Standing::Deferred };
        let disabled = |name| Declared { name, others: &[], standing: Standing::Disabled };
        let tools = [deferred("create_issue"), listed("read", &[]), listed(FINDER, &[]), disabled("write")];
        assert_eq!(find("CreateIssue", &tools), Ok(0));
        // Disabled is for the caller to say; it must not turn into another tool.
        assert_eq!(find("write", &tools), Ok(3));
        let told = "There is no tool `create_isue2`. Did you mean `create_issue`? The tools are: read, tool_search. \
                    There are 1 more: find them with `tool_search`.";
        assert_eq!(find("create_isue2", &tools).unwrap_err(), told);
        assert!(!find("wrte", &tools).unwrap_err().contains("write"));
        let many: Vec<String> = (0..200).map(|number| format!("tool{number:03}")).collect();
        let many: Vec<Declared<'_>> = many.iter().map(|name| listed(name, &[])).collect();
        assert!(find("x", &many).unwrap_err().ends_with("tool058, tool059 and 140 more."));
    }

    proptest! {
        #[test]
        fn the_order_of_the_table_changes_nothing(
            names in proptest::collection::btree_map("[ab]{1,2}(_[ab])?|[aB]b", proptest::collection::vec("[ab_]{1,3}", 0..3), 1..7),
            asked in "[abAB_ -]{1,4}(_tool)?",
            turn in 0..7_usize,
        ) {
            let names: Vec<(String, Vec<String>)> = names.into_iter().collect();
            let others: Vec<Vec<&str>> = names.iter().map(|(_, o)| o.iter().map(String::as_str).collect()).collect();
            let tools: Vec<Declared<'_>> =
                names.iter().zip(&others).map(|((name, _), others)| listed(name, others)).collect();
            let mut turned = tools.clone();
            turned.rotate_left(turn % tools.len());
            let name = |tools: &[Declared<'_>]| find(&asked, tools).map(|index| tools[index].name.to_owned()).ok();
            prop_assert_eq!(name(&tools), name(&turned));
            for tool in &tools {
                let meant = find(tool.name, &turned).map(|index| turned[index].name);
                prop_assert_eq!(meant, Ok(tool.name), "an exact name is always itself");
            }
        }
    }

    #[test]
    fn distances() {
        for (a, b, expected) in [("", "", 0), ("a", "", 1), ("", "ab", 2), ("kitten", "sitting", 3), ("é", "e", 1)] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
            assert_eq!(distance(b, a), expected, "{b} {a}");
        }
    }
}
