//! `docs/FAULTS.md` cannot lie about what shows it: every test that it names is there, and every test of this room is named.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const PAGE: &str = "docs/FAULTS.md";

#[expect(clippy::disallowed_methods, reason = "a test of the repository reads the repository")]
fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).ok()
}

/// The tests of a source text.
fn tests_in(source: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut marked = false;
    for line in source.lines().map(str::trim) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            marked = true;
        } else if let Some(rest) = line.strip_prefix("async fn ").or(line.strip_prefix("fn ")) {
            if marked {
                found.insert(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
            }
            marked = false;
        }
    }
    found
}

/// What the page names: `file.rs::test`.
fn named(page: &str) -> Vec<(String, String)> {
    let quoted = page.split('`').skip(1).step_by(2);
    quoted
        .filter_map(|word| word.split_once(".rs::").map(|(file, test)| (format!("{file}.rs"), test.to_owned())))
        .collect()
}

/// The tests of this room, as the page names them.
fn own() -> BTreeSet<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/faults");
    let mut files: Vec<PathBuf> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut own = BTreeSet::new();
    let names = files.iter().filter_map(|file| file.file_name()?.to_str());
    for file in names.filter(|name| *name != "table.rs").map(|name| format!("tests/it/faults/{name}")) {
        own.extend(tests_in(&read(&file).unwrap()).into_iter().map(|test| (file.clone(), test)));
    }
    own.extend(
        tests_in(&read("tests/memory_faults.rs").unwrap())
            .into_iter()
            .map(|test| ("tests/memory_faults.rs".into(), test)),
    );
    own
}

/// What is wrong with the page.
fn faults(page: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let named = named(page);
    for (file, test) in &named {
        match read(file) {
            None => faults.push(format!("{PAGE} names {file}, which is not there")),
            Some(source) if !tests_in(&source).contains(test) => {
                faults.push(format!("{PAGE}: {file} has no test {test}"));
            }
            Some(_) => {}
        }
    }
    faults.extend(
        own()
            .into_iter()
            .filter(|test| !named.contains(test))
            .map(|(file, test)| format!("{PAGE} does not name {file}::{test}")),
    );
    let rows = page.lines().filter(|line| line.starts_with('|')).skip(2);
    for row in rows {
        // A bar within quotes is none of the table.
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        if cells.len() != 4 || cells.iter().any(|cell| cell.is_empty()) || !cells[1].contains(".rs::") {
            faults.push(format!("{PAGE}: four cells are needed, the second with a test: {row}"));
        }
    }
    faults
}

#[test]
fn the_page_names_tests_that_are_there() {
    let page = read(PAGE).expect("the page");
    let faults = faults(&page);
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    assert!(named(&page).len() > 40);
}

#[test]
fn the_check_of_the_page_can_fail() {
    let page = read(PAGE).expect("the page");
    for (from, to) in [
        ("::typing_does_not_wait", "::typing_does_wait"),
        ("`tests/it/faults/slow.rs::", "`tests/it/faults/fast.rs::"),
        ("| nothing |", "|  |"),
        ("| nothing |", "|"),
    ] {
        assert!(page.contains(from), "{from}");
        assert!(!faults(&page.replacen(from, to, 1)).is_empty(), "{from} became {to}, and nobody saw it");
    }
    assert_eq!(
        tests_in("#[test]\nfn a() {}\nfn b() {}\n#[tokio::test(start_paused = true)]\n#[cfg(x)]\nasync fn c() {}\n"),
        BTreeSet::from(["a".to_owned(), "c".to_owned()])
    );
}
