//! What the program is made of, held to what is written of it: the list of licences, the oldest Rust, features.
//!
//! `cargo deny` (in `tests/run lint`) looks at the rest: licences that may be, sources, what comes twice.

mod graph;
mod licences;
mod spdx;

use std::collections::BTreeSet;
use std::path::Path;

use expect_test::expect_file;

use graph::{Graph, TARGETS};

/// Dependencies that are taken with the features that they come with, each for its reason. Of every other one that has
/// such, Cargo.toml names those that are needed.
const DEFAULTS: &[(&str, &str)] = &[
    ("anyhow", "std alone"),
    ("memchr", "std alone"),
    ("nucleo-matcher", "names of files and symbols are of any script: case, marks and segments count"),
    ("regex", "patterns come from models and people, and texts are of any script; its speed is that of searches"),
    ("regex-syntax", "what `regex` has"),
    ("rustix", "std alone"),
    ("schemars", "std and derive, both needed"),
    ("serde", "std alone"),
    ("serde_json", "std alone"),
    ("serde_json_path", "functions and regex: the whole of RFC 9535"),
    ("tempfile", "names that nobody can guess"),
    ("thiserror", "std alone"),
    ("tower-lsp", "the runtime, tokio"),
    ("tree-sitter", "std alone"),
    ("url", "std alone"),
];

/// Crates that are never part of the program: second ways to TLS and to HTTP, what clones repositories, and what sends
/// home. `deny.toml` refuses those that are known by name to do harm here; this also holds without `cargo deny`.
const UNWANTED: &[&str] = &[
    "aws-lc-rs",
    "aws-lc-sys",
    "curl",
    "git2",
    "gix",
    "isahc",
    "native-tls",
    "openssl",
    "openssl-sys",
    "opentelemetry",
    "sentry",
    "surf",
    "ureq",
];

/// Features that come along by default somewhere, and nobody here uses.
const UNWANTED_FEATURES: &[(&str, &str)] = &[
    ("clap", "color"),
    ("jsonschema", "resolve-file"),
    ("jsonschema", "resolve-http"),
    ("reqwest", "default-tls"),
    ("reqwest", "native-tls"),
    ("reqwest", "system-proxy"),
    ("rmcp", "auth"),
    ("rmcp", "macros"),
    ("rmcp", "transport-child-process"),
    ("rusqlite", "load_extension"),
    ("rustls", "aws_lc_rs"),
    ("tokio", "full"),
    ("tree-sitter", "wasm"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[expect(clippy::disallowed_methods, reason = "a test of the repository reads the repository")]
fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap()
}

#[test]
fn the_list_of_licences_is_current() {
    let mut crates = BTreeSet::new();
    for target in TARGETS {
        crates.extend(Graph::of(Some(target)).linked().into_iter().cloned());
    }
    let bundled = licences::bundled(&serde_json::from_str(&read("editors/vscode/package-lock.json")).unwrap());
    expect_file!["../../THIRD-PARTY.txt"].assert_eq(&licences::page(&crates, &bundled));
}

#[test]
fn the_version_is_told_alike_everywhere() {
    let json = |file: &str| -> serde_json::Value { serde_json::from_str(&read(file)).unwrap() };
    let (package, lock) = (json("editors/vscode/package.json"), json("editors/vscode/package-lock.json"));
    let own = env!("CARGO_PKG_VERSION");
    for told in [&package["version"], &lock["version"], &lock["packages"][""]["version"]] {
        assert_eq!(told, own, "editors/vscode");
    }
    assert!(read("editors/vscode/CHANGELOG.md").contains(&format!("\n## {own}\n")), "no section on {own}");
    assert!(
        read("README.md").contains(&format!("`ropewalk-linux-x64-{own}.vsix`")),
        "the README's name of the package"
    );
}

/// A version such as `1.95` or `1.88.0`.
fn version(text: &str) -> Vec<u32> {
    let mut parts: Vec<u32> = text.split('.').map(|part| part.parse().unwrap()).collect();
    parts.resize(3, 0);
    parts
}

/// Every `Rust 1.N` of a text.
fn rusts_named(text: &str) -> impl Iterator<Item = &str> {
    text.split("Rust ").skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        rest[..end].trim_end_matches('.')
    })
}

#[test]
fn the_oldest_rust_is_enough_for_all_crates_and_told_alike_everywhere() {
    let graph = Graph::of(None);
    let own = graph.root().rust.clone().expect("Cargo.toml has a rust-version");
    let newer: Vec<String> = graph
        .packages()
        .filter(|package| package.rust.as_ref().is_some_and(|rust| version(rust) > version(&own)))
        .map(|package| format!("{} {} needs Rust {}", package.name, package.version, package.rust.as_ref().unwrap()))
        .collect();
    assert!(newer.is_empty(), "Cargo.toml promises Rust {own}:\n{}", newer.join("\n"));
    for (file, must) in
        [("README.md", true), ("docs/RELEASE.md", true), ("rust-toolchain.toml", true), ("CONTRIBUTING.md", false)]
    {
        let text = read(file);
        let named: Vec<&str> = rusts_named(&text).filter(|named| !named.is_empty()).collect();
        assert!(named.iter().all(|named| *named == own), "{file} names {named:?}, and Cargo.toml {own}");
        assert!(!must || !named.is_empty(), "{file} does not say that Rust {own} is needed");
    }
}

#[test]
fn the_parts_of_the_check_of_rust_can_fail() {
    assert_eq!(
        rusts_named("Rust 1.95. And Rust code, Rust 1.9 or newer; Rust 2").collect::<Vec<_>>(),
        ["1.95", "", "1.9", "2"]
    );
    assert!(version("1.100") > version("1.95.1"));
    assert!(version("1.95") == version("1.95.0"));
}

#[test]
fn features_that_come_by_default_are_wanted() {
    let graph = Graph::of(None);
    let found: Vec<&str> = graph.taken_with_defaults();
    let told: Vec<&str> = DEFAULTS.iter().map(|(name, _)| *name).collect();
    assert_eq!(found, told, "write `default-features = false` into Cargo.toml, or here why not");
}

#[test]
fn nothing_unwanted_is_in_the_program() {
    let mut seen = BTreeSet::new();
    for target in TARGETS {
        let graph = Graph::of(Some(target));
        for package in graph.linked() {
            assert!(!UNWANTED.contains(&package.name.as_str()), "{} is part of the program for {target}", package.name);
            assert!(package.from_registry, "{} comes from {}, no registry", package.name, package.folder.display());
            for (_, feature) in UNWANTED_FEATURES.iter().filter(|(name, _)| *name == package.name) {
                assert!(!graph.features(package).contains(feature), "{}/{feature} is on for {target}", package.name);
                // A feature that was renamed would never be found again.
                assert!(package.knows.contains(*feature), "{} {} has no {feature}", package.name, package.version);
            }
            seen.insert(package.name.clone());
        }
    }
    let gone: Vec<_> = UNWANTED_FEATURES.iter().filter(|(name, _)| !seen.contains(*name)).collect();
    assert!(gone.is_empty(), "no crate of the program: {gone:?}");
}
