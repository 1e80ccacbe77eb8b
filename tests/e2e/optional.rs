//! Servers that are too large to be set up for every run: `tests/run servers-optional`. Each is skipped, with a word on
//! why, unless `ROPEWALK_OPTIONAL` names the programs, as `rust-analyzer=PATH:gopls=PATH`.

use crate::servers::project::{Case, across_files};

/// The program of a server, if this run has it.
#[expect(clippy::print_stdout, reason = "a test that is skipped says why")]
fn program(name: &str) -> Option<String> {
    let all = ropewalk::ports::env("ROPEWALK_OPTIONAL").unwrap_or_default();
    let mut named = all.split(':').filter_map(|one| one.split_once('='));
    let found = named.find(|(server, _)| *server == name).map(|(_, path)| path.to_owned());
    if found.is_none() {
        println!("skipped: this run has no {name}; `tests/run servers-optional` looks for it");
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn rust_analyzer() {
    let Some(program) = program("rust-analyzer") else { return };
    let case = Case {
        server: "rust-analyzer",
        command: vec![program],
        language: "rust",
        more: &[("Cargo.toml", "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2024\"\n")],
        lib: (
            "src/lib.rs",
            "pub mod app;\npub struct S { pub go: u32 }\n",
            "pub mod app;\npub struct S { pub went: u32 }\n",
        ),
        app: ("src/app.rs", "pub fn make() -> crate::S {\n    crate::S { go: 1 }\n}\n", "pub fn more() {}\n"),
        by_disk: false,
    };
    across_files(case, None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gopls() {
    let Some(program) = program("gopls") else { return };
    let case = Case {
        server: "gopls",
        command: vec![program],
        language: "go",
        more: &[("go.mod", "module sample\n\ngo 1.18\n")],
        lib: ("lib.go", "package main\n\nfunc run() {}\n", "package main\n\nfunc ran() {}\n"),
        app: ("main.go", "package main\n\nfunc main() { run() }\n", "\nfunc more() {}\n"),
        by_disk: false,
    };
    across_files(case, None).await;
}
