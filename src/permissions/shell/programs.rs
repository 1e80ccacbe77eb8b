//! The tables of programs: what each does with its arguments.

mod archives;
mod builds;
mod builtins;
mod cloud;
mod clusters;
mod containers;
mod databases;
mod files;
mod git;
mod languages;
mod machine;
mod network;
mod options;
mod packages;
mod rows;
mod scripts;
mod search;
mod sheet;
mod text;

use super::effects::{Effects, Invocation, Verdict};
use options::known;
pub(super) use options::may_be_option;
use rows::{Row, Verbs};
use sheet::Sheet;

/// The tables of programs that are judged by one row.
const ROWS: &[&[Row]] = &[
    files::ROWS,
    text::ROWS,
    search::ROWS,
    builtins::ROWS,
    machine::ROWS,
    network::ROWS,
    archives::ROWS,
    databases::ROWS,
    containers::ROWS,
    clusters::ROWS,
    cloud::ROWS,
    packages::ROWS,
    builds::ROWS,
    languages::ROWS,
];

/// The programs that are judged by their verbs.
const VERBS: &[&Verbs] = &[
    &git::GIT,
    &machine::SYSTEMCTL,
    &databases::ETCD,
    &containers::DOCKER,
    &clusters::KUBECTL,
    &clusters::HELM,
    &cloud::TERRAFORM,
    &cloud::GH,
    &packages::NPM,
    &packages::PIP,
    &packages::SYSTEM,
    &builds::CARGO_VERBS,
    &builds::GO,
];

/// Programs that tell their version or their usage when that is all they are asked, and run nothing of the repository
/// for it (`pytest` loads its plugins first, `mvn` takes options of the virtual machine from `.mvn`).
const PROBED: &[&str] = &[
    "ansible",
    "apt",
    "aws",
    "az",
    "brew",
    "bun",
    "bundle",
    "cargo",
    "cargo-clippy",
    "clang",
    "clang++",
    "clippy-driver",
    "cmake",
    "composer",
    "conda",
    "curl",
    "deno",
    "docker",
    "dotnet",
    "fd",
    "ffmpeg",
    "find",
    "flatpak",
    "g++",
    "gcc",
    "gcloud",
    "gem",
    "gh",
    "ghc",
    "git",
    "go",
    "gofmt",
    "gpg",
    "gradle",
    "helm",
    "java",
    "javac",
    "jq",
    "julia",
    "just",
    "kotlinc",
    "kubectl",
    "ld",
    "lua",
    "mamba",
    "make",
    "meson",
    "micromamba",
    "mypy",
    "mysql",
    "nginx",
    "ninja",
    "node",
    "npm",
    "npx",
    "nvim",
    "oc",
    "openssl",
    "perl",
    "php",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "poetry",
    "psql",
    "python",
    "python3",
    "redis-cli",
    "rg",
    "ruby",
    "ruff",
    "rust-analyzer",
    "rustc",
    "rustfmt",
    "rustup",
    "scala",
    "snap",
    "sqlite3",
    "ssh",
    "swift",
    "tar",
    "terraform",
    "tmux",
    "tofu",
    "tsc",
    "uv",
    "vim",
    "wget",
    "zig",
    "zsh",
    "bash",
    "sh",
    "fish",
];

/// Programs that are installed under a name with their version, too.
const VERSIONED: &[&str] = &[
    "clang",
    "clang++",
    "clang-format",
    "clang-tidy",
    "emacs",
    "g++",
    "gcc",
    "java",
    "lua",
    "node",
    "perl",
    "php",
    "pip",
    "pypy",
    "python",
    "ruby",
    "vim",
];

/// What a command does. A program that no table knows needs approval.
pub(super) fn effects(invocation: &Invocation<'_>) -> Effects {
    let mut sheet = Sheet::new(invocation);
    if !probe(invocation) {
        judge(&mut sheet);
    }
    sheet.done()
}

fn judge(sheet: &mut Sheet<'_>) {
    let program = sheet.invocation.program;
    let args = sheet.args();
    if let Some(row) = row(program).or_else(|| row(plain_name(program))) {
        row.judge(args, "", sheet);
    } else if let Some(verbs) = verbs(program).or_else(|| verbs(plain_name(program))) {
        verbs.judge(args, sheet);
    } else {
        sheet.network();
        sheet.because(Verdict::NeedsApproval, format!("nothing is known of `{program}`"));
    }
}

/// A program's name without the version at its end (`python3.12`, `gcc-13`), or the tool's name for `mkfs.ext4`.
fn plain_name(program: &str) -> &str {
    if program.starts_with("mkfs.") || program.starts_with("fsck.") {
        return &program[..4];
    }
    let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    if VERSIONED.contains(&name) { name } else { program }
}

fn row(program: &str) -> Option<&'static Row> {
    ROWS.iter().copied().flatten().find(|row| row.is(program))
}

fn verbs(program: &str) -> Option<&'static Verbs> {
    VERBS.iter().copied().find(|verbs| verbs.names.split(',').any(|name| name.trim() == program))
}

/// Whether a program is only asked for its version or its usage.
fn probe(invocation: &Invocation<'_>) -> bool {
    let [word] = invocation.args else { return false };
    let Some(word) = known(word) else { return false };
    let asked = match invocation.program {
        "node" | "bun" | "deno" | "ruby" | "perl" | "php" | "lua" | "npm" | "pnpm" | "yarn" => word == "-v",
        "python" | "python3" | "rustc" | "cargo" | "pip" | "pip3" => word == "-V",
        "java" | "javac" => word == "-version",
        "terraform" | "tofu" | "helm" | "docker" | "uv" | "zig" => word == "version",
        _ => false,
    };
    PROBED.contains(&invocation.program) && (asked || matches!(word, "--version" | "--help"))
}

#[cfg(test)]
mod tests;
