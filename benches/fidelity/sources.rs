//! Where real sources lie on this machine. Each is optional: what is absent is told and left out.

use std::path::{Path, PathBuf};

use super::corpus::Corpus;

/// All the files that this machine has.
pub(super) fn corpus() -> Corpus {
    let mut corpus = Corpus::default();
    let place = "import sysconfig; print(sysconfig.get_paths()['stdlib'])";
    let python: Vec<PathBuf> = answer("python3", &["-c", place]).into_iter().collect();
    corpus.add("python", &python);
    let npm: Vec<PathBuf> = answer("npm", &["root", "-g"]).map(|root| root.join("npm")).into_iter().collect();
    corpus.add("npm", &npm);
    corpus.add("crates", &crates());
    corpus
}

/// The path that a program prints.
#[expect(clippy::disallowed_methods, reason = "a bench asks for its corpus itself")]
fn answer(program: &str, arguments: &[&str]) -> Option<PathBuf> {
    let output = std::process::Command::new(program).args(arguments).output().ok()?;
    let line = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !line.trim().is_empty()).then(|| PathBuf::from(line.trim()))
}

/// The folders of the crates that the lock file names, in its order.
#[expect(clippy::disallowed_methods, reason = "a bench looks for its corpus itself")]
fn crates() -> Vec<PathBuf> {
    let home = std::env::var("CARGO_HOME").map(PathBuf::from).ok().or_else(|| {
        let home = std::env::home_dir()?;
        Some(home.join(".cargo"))
    });
    let lock = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock"));
    let (Some(home), Ok(lock)) = (home, lock) else { return Vec::new() };
    let Ok(registries) = home.join("registry/src").read_dir() else { return Vec::new() };
    let mut registries: Vec<PathBuf> = registries.flatten().map(|entry| entry.path()).collect();
    registries.sort();
    let mut found = Vec::new();
    let mut name = "";
    for line in lock.lines() {
        let value = line.split('"').nth(1).unwrap_or_default();
        if line.starts_with("name = ") {
            name = value;
        } else if line.starts_with("version = ") && !name.is_empty() {
            let folder = format!("{name}-{value}");
            found.extend(
                registries.iter().map(|registry| registry.join(&folder).join("src")).find(|path| path.is_dir()),
            );
            name = "";
        }
    }
    found
}
