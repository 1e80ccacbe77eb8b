//! The trees that are searched.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with a name.
pub(crate) struct Tree {
    /// The name in the table.
    pub(crate) name: String,
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Kept for as long as it is needed, if it was made.
    _made: Option<tempfile::TempDir>,
}

/// Files of the made tree.
const FILES: usize = 50_000;

/// Those whose names are given, or all: the sources of the crates that cargo has fetched, the packages that npm has
/// installed, and 50,000 small files.
pub(crate) fn trees(chosen: &[String]) -> Vec<Tree> {
    let named = |name: &str| chosen.is_empty() || chosen.iter().any(|word| word == name);
    let mut trees = Vec::new();
    let found = |name: &str, path: PathBuf| Tree { name: name.to_owned(), path, _made: None };
    if named("crates") {
        trees.extend(crates().map(|path| found("crates", path)));
    }
    if named("node") {
        trees.extend(node().map(|path| found("node", path)));
    }
    if named("small") {
        let made = small();
        trees.push(Tree { name: "small".to_owned(), path: made.path().to_owned(), _made: Some(made) });
    }
    for path in chosen.iter().filter(|word| word.contains('/')) {
        trees.push(found(path, PathBuf::from(path)));
    }
    trees
}

fn crates() -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))?;
    let sources = home.join("registry/src").read_dir().ok()?;
    sources.filter_map(|entry| Some(entry.ok()?.path())).max_by_key(|path| path.read_dir().map_or(0, Iterator::count))
}

#[expect(clippy::disallowed_methods, reason = "a bench finds its own way")]
fn node() -> Option<PathBuf> {
    // Those of the tests' own language servers are many; else what npm itself brought.
    if let Some(tools) = std::env::var_os("ROPEWALK_TOOLS") {
        let own = PathBuf::from(tools).join("npm/node_modules");
        if own.is_dir() {
            return Some(own);
        }
    }
    let output = Command::new("npm").args(["root", "-g"]).output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    path.is_dir().then_some(path)
}

#[expect(clippy::disallowed_methods, reason = "a bench makes its own files")]
fn small() -> tempfile::TempDir {
    let made = tempfile::tempdir().expect("a folder");
    let write = |path: &Path, text: &str| std::fs::write(path, text).expect("a file");
    let words = ["return", "value", "deserialize_any", "if", "let", "for", "name", "unit_test(", "TODO", "list"];
    let mut seed = 7_usize;
    let mut next = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    };
    for number in 0..FILES {
        let folder = made.path().join(format!("{:02}/{:02}", number % 50, number / 50 % 40));
        if number < 50 * 40 {
            std::fs::create_dir_all(&folder).expect("a folder");
        }
        let mut text = String::new();
        for _ in 0..next() % 40 {
            // Some words are rare.
            let line: Vec<&str> =
                (0..next() % 9).map(|_| words[(next() % 100).min(next() % 100) % words.len()]).collect();
            text.push_str(&line.join(" "));
            text.push('\n');
        }
        write(&folder.join(format!("file{number}.txt")), &text);
    }
    made
}
