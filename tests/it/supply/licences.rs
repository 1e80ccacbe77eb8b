//! The page of licences: every crate in the program, every package in the extension, and the texts that go with them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::graph::Package;
use super::spdx;

/// A package of npm: name, version, licence.
type Bundled = (String, String, String);

/// What comes before the list.
const HEAD: &str = "\
What others made and Ropewalk contains, with its licences.

Made from Cargo.lock, editors/vscode/package-lock.json and the packages themselves, for Linux and macOS:
UPDATE_EXPECT=1 cargo nextest run --test it supply::the_list_of_licences_is_current

Besides, the program contains the standard library of Rust (MIT OR Apache-2.0, https://github.com/rust-lang/rust) and
SQLite, which is in the public domain (https://sqlite.org/copyright.html).
";

/// Words in the name of a file that tell which licence is in it.
const MARKS: &[(&str, &str)] = &[
    ("0bsd", "0BSD"),
    ("apache", "Apache-2.0"),
    ("bsd", "BSD-3-Clause"),
    ("isc", "ISC"),
    ("mit", "MIT"),
    ("unicode", "Unicode-3.0"),
    ("unlicense", "Unlicense"),
    ("whatwg", "BSD-3-Clause"),
    ("zlib", "Zlib"),
];

/// What the names of programs and their data end in; those that have to do with licences are no texts of such.
const PROGRAMS: &[&str] = &["c", "h", "hpp", "js", "json", "py", "rs", "sh", "toml", "yaml", "yml"];

/// Folders of a crate that nothing of gets into the program.
const OUTSIDE: &[&str] = &["benches", "examples", "target", "tests", "wasm-stdlib"];

/// The packages that the extension is bundled from: those of the lock file that are not only for its making, sorted.
pub(super) fn bundled(lock: &Value) -> BTreeSet<Bundled> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    lock["packages"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(place, package)| !place.is_empty() && package["dev"] != true && package["devOptional"] != true)
        .map(|(place, package)| {
            let name = place.rsplit("node_modules/").next().unwrap().to_owned();
            (name, text(&package["version"]), text(&package["license"]))
        })
        .collect()
}

/// Whether a file goes with a crate of which we take these licences: texts of those, and notices of any kind, but no
/// text of a licence that we do not take.
fn belongs(name: &str, chosen: &[String]) -> bool {
    let name = name.to_lowercase();
    let licence = ["licen", "copying", "copyright", "notice"].iter().any(|word| name.contains(word));
    let is_text = !PROGRAMS.contains(&name.rsplit('.').next().unwrap_or_default());
    let marks: Vec<&str> = MARKS.iter().filter(|(mark, _)| has_word(&name, mark)).map(|(_, id)| *id).collect();
    let taken = marks.is_empty() || marks.iter().any(|id| chosen.iter().any(|chosen| chosen.starts_with(id)));
    licence && is_text && taken
}

/// Whether a word is in a name and no part of a longer one; a number may follow.
fn has_word(name: &str, word: &str) -> bool {
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .any(|part| part.trim_end_matches(|c: char| c.is_ascii_digit()) == word || part == word)
}

#[expect(clippy::disallowed_methods, reason = "a test of the repository reads what it is made of")]
fn texts(folder: &Path, chosen: &[String]) -> Vec<String> {
    let (mut found, mut todo) = (Vec::<(PathBuf, String)>::new(), vec![folder.to_owned()]);
    while let Some(inside) = todo.pop() {
        for entry in std::fs::read_dir(&inside).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            // In a folder of licences the files are called as the licences are.
            let in_folder = if inside.ends_with("LICENSES") { format!("licenses-{name}") } else { name.clone() };
            if path.is_dir() {
                if !OUTSIDE.contains(&name.as_str()) {
                    todo.push(path);
                }
            } else if belongs(&in_folder, chosen) {
                let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
                found.push((path, text));
            }
        }
    }
    found.sort();
    found.into_iter().map(|(_, text)| text).collect()
}

/// A text without what differs for nothing: ends of lines and spaces at them, empty lines at its beginning and end.
fn plain(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').trim_start_matches('\u{feff}').to_owned()
}

/// The whole page. Texts that differ in nothing but white space are there once.
pub(super) fn page(crates: &BTreeSet<Package>, bundled: &BTreeSet<Bundled>) -> String {
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut written: Vec<(String, Vec<String>)> = Vec::new();
    let mut page = format!("{HEAD}\nCrates ({}), with the numbers of their texts below:\n\n", crates.len());
    for package in crates {
        let who = format!("{} {}", package.name, package.version);
        let chosen = spdx::chosen(&package.licence);
        let mut own = BTreeSet::new();
        for text in texts(&package.folder, &chosen) {
            let same = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let number = *numbers.entry(same).or_insert_with(|| {
                written.push((plain(&text), Vec::new()));
                written.len()
            });
            if own.insert(number) {
                written[number - 1].1.push(who.clone());
            }
        }
        let refer = if own.is_empty() {
            // The wording is known by its name; whose it is, where it comes from.
            format!("no text in its package, see {}", package.repository)
        } else {
            own.iter().map(|number| format!("[{number}]")).collect::<Vec<_>>().join(" ")
        };
        let _ = writeln!(page, "{who}  {}  {refer}", package.licence);
    }
    let _ = write!(
        page,
        "\nPackages in the VS Code extension ({}), with their texts in its dist/NOTICES.txt:\n\n",
        bundled.len()
    );
    for (name, version, licence) in bundled {
        let _ = writeln!(page, "{name} {version}  {licence}");
    }
    for (index, (text, users)) in written.iter().enumerate() {
        let _ = write!(page, "\n{}\n[{}] {}\n\n{text}\n", "-".repeat(80), index + 1, users.join(", "));
    }
    page
}

#[test]
fn files_are_told_from_others() {
    let check = |name: &str, chosen: &[&str], expected: bool| {
        let chosen: Vec<String> = chosen.iter().map(|licence| (*licence).to_owned()).collect();
        assert_eq!(belongs(name, &chosen), expected, "{name} for {chosen:?}");
    };
    check("LICENSE", &["MIT"], true);
    check("LICENSE-MIT", &["MIT"], true);
    check("LICENSE-APACHE", &["MIT"], false);
    check("LICENSE-Apache-2.0_WITH_LLVM-exception", &["MIT"], false);
    check("LICENSE-Apache-2.0_WITH_LLVM-exception", &["Apache-2.0 WITH LLVM-exception"], true);
    check("LICENSE.Apache2", &["MIT"], false);
    check("LICENSE.MIT", &["MIT"], true);
    check("license-mit.md", &["MIT"], true);
    check("LICENSE-WHATWG", &["MIT", "BSD-3-Clause"], true);
    check("COPYRIGHT", &["MIT"], true);
    check("UNLICENSE", &["MIT"], false);
    check("LICENSE-BoringSSL", &["Apache-2.0", "ISC"], true);
    check("LICENSE-THIRD-PARTY", &["MIT"], true);
    check("licenses-MIT.txt", &["MIT"], true);
    check("license.rs", &["MIT"], false);
    check("README.md", &["MIT"], false);
}

#[test]
fn what_only_builds_the_extension_is_not_in_it() {
    let lock = serde_json::json!({ "packages": {
        "": { "name": "own" },
        "node_modules/@a/b": { "version": "1.0.0", "license": "MIT" },
        "node_modules/@a/b/node_modules/c": { "version": "2.0.0", "license": "ISC" },
        "node_modules/d": { "version": "3.0.0", "license": "MIT", "dev": true },
    }});
    let names: Vec<String> = bundled(&lock).into_iter().map(|(name, version, _)| format!("{name} {version}")).collect();
    assert_eq!(names, ["@a/b 1.0.0", "c 2.0.0"]);
}

#[test]
fn a_text_that_two_crates_share_is_there_once() {
    let folder = tempfile::tempdir().unwrap();
    let package = |name: &str, text: Option<&str>| {
        let place = folder.path().join(name);
        make(&place, text);
        Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            licence: "MIT OR Apache-2.0".to_owned(),
            repository: format!("https://example.org/{name}"),
            rust: None,
            knows: BTreeSet::new(),
            from_registry: true,
            folder: place,
        }
    };
    let crates =
        BTreeSet::from([package("a", Some("One\r\n  text. \n")), package("b", Some("One text.")), package("c", None)]);
    let page = page(&crates, &BTreeSet::from([("n".to_owned(), "2.0.0".to_owned(), "ISC".to_owned())]));
    expect_test::expect![[r"
        Crates (3), with the numbers of their texts below:

        a 1.0.0  MIT OR Apache-2.0  [1]
        b 1.0.0  MIT OR Apache-2.0  [1]
        c 1.0.0  MIT OR Apache-2.0  no text in its package, see https://example.org/c

        Packages in the VS Code extension (1), with their texts in its dist/NOTICES.txt:

        n 2.0.0  ISC

        --------------------------------------------------------------------------------
        [1] a 1.0.0, b 1.0.0

        One
          text.
    "]]
    .assert_eq(page.strip_prefix(HEAD).unwrap().trim_start_matches('\n'));
}

#[expect(clippy::disallowed_methods, reason = "a test makes its own files")]
fn make(folder: &Path, text: Option<&str>) {
    std::fs::create_dir_all(folder).unwrap();
    if let Some(text) = text {
        std::fs::write(folder.join("LICENSE-MIT"), text).unwrap();
    }
}
