//! Which names are protected, and which stand for secrets: compared as a file system might take them, so without case,
//! invisible characters and look-alike widths. Pure.

use std::path::Path;

use icu_normalizer::DecomposingNormalizerBorrowed;

/// Folders whose content runs, or decides what may run: of version control, editors, agents, shells, and ours.
const PROTECTED_FOLDERS: &[&str] = &[
    ".agents",
    ".aider",
    ".claude",
    ".codex",
    ".continue",
    ".cursor",
    ".devcontainer",
    ".fleet",
    ".gemini",
    ".git",
    ".gnupg",
    ".hg",
    ".husky",
    ".idea",
    ".jj",
    ".nvim",
    ".opencode",
    ".ropewalk",
    ".ssh",
    ".svn",
    ".vscode",
    ".vscode-server",
    ".windsurf",
    ".zed",
];

/// Files of the same kind.
const PROTECTED_FILES: &[&str] = &[
    ".aider.conf.yml",
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".bazelrc",
    ".cshrc",
    ".cursorrules",
    ".direnvrc",
    ".emacs",
    ".envrc",
    ".exrc",
    ".gdbinit",
    ".gitconfig",
    ".gitmodules",
    ".inputrc",
    ".kshrc",
    ".lldbinit",
    ".login",
    ".mcp.json",
    ".netrwhist",
    ".nvim.lua",
    ".nvimrc",
    ".pre-commit-config.yaml",
    ".profile",
    ".pythonrc",
    ".tcshrc",
    ".tmux.conf",
    ".vimrc",
    ".xinitrc",
    ".xprofile",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    "authorized_keys",
    "config.fish",
    "crontab",
    "lefthook.yml",
    "mcp.json",
    "ropewalk.toml",
];

/// Files that are protected by how their names end.
const PROTECTED_ENDS: &[&str] = &[".code-workspace"];

/// Folders that hold secrets.
const SECRET_FOLDERS: &[&str] = &[".gnupg", ".password-store", ".ssh"];

/// Files that hold secrets.
const SECRET_FILES: &[&str] = &[
    "_netrc",
    ".dockercfg",
    ".env",
    ".envrc",
    ".git-credentials",
    ".htpasswd",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".terraformrc",
    ".vault-token",
    ".yarnrc.yml",
    "credentials",
    "credentials.csv",
    "credentials.ini",
    "credentials.json",
    "credentials.toml",
    "credentials.xml",
    "credentials.yaml",
    "credentials.yml",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    "id_rsa",
    "kubeconfig",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
    "terraform.tfstate",
];

/// Files that hold secrets by how their names end.
const SECRET_ENDS: &[&str] = &[".env", ".jks", ".kdbx", ".key", ".keystore", ".p12", ".pem", ".pfx", ".ppk"];

/// Files that hold secrets only in one folder: (folder, file).
const SECRET_PAIRS: &[(&str, &str)] =
    &[(".aws", "config"), (".docker", "config.json"), (".kube", "config"), ("gh", "hosts.yml")];

/// Why writing a path always needs a person's consent.
pub fn protected(path: &Path) -> Option<&'static str> {
    let names = folded(path);
    let file = names.last()?;
    let folder = PROTECTED_FOLDERS.iter().find(|folder| names.iter().any(|name| name == *folder));
    let file = PROTECTED_FILES.iter().find(|name| file == *name).or_else(|| ended(file, PROTECTED_ENDS));
    folder.or(file).copied().or_else(|| pair(&names, &[("git", "config"), ("git", "hooks")]))
}

/// Why reading a path may show secrets.
pub fn secret(path: &Path) -> Option<&'static str> {
    let names = folded(path);
    let file = names.last()?;
    if Path::new(file).extension().is_some_and(|end| end == "pub") {
        return None;
    }
    let folder = SECRET_FOLDERS.iter().find(|folder| names.iter().any(|name| name == *folder));
    let named = SECRET_FILES.iter().find(|name| file == *name).or_else(|| ended(file, SECRET_ENDS));
    let dotted = file.starts_with(".env.").then_some(".env.*");
    folder.or(named).copied().or(dotted).or_else(|| pair(&names, SECRET_PAIRS))
}

fn ended(file: &str, ends: &'static [&'static str]) -> Option<&'static &'static str> {
    ends.iter().find(|end| file.ends_with(**end))
}

fn pair(names: &[String], pairs: &[(&str, &'static str)]) -> Option<&'static str> {
    let [.., folder, file] = names else { return None };
    pairs.iter().find(|(a, b)| folder == a && file == b).map(|(_, file)| *file)
}

/// The components of a path (also of a URI) as the most forgiving file system compares them.
fn folded(path: &Path) -> Vec<String> {
    path.to_string_lossy().split(['/', '\\']).map(fold).filter(|name| !name.is_empty()).collect()
}

pub(super) fn fold(name: &str) -> String {
    // Some disks take a letter with its accent for the two apart.
    let apart = DecomposingNormalizerBorrowed::new_nfkd().normalize(name);
    let plain: String = apart
        .chars()
        .filter(|character| !invisible(*character) && !character.is_control())
        .map(narrow)
        // Upper case first: `ſ` and `ı` have no lower case of their own, and still name the same file on some disks.
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .collect();
    plain.trim_end_matches([' ', '.']).to_owned()
}

/// Dashes as the one of ASCII, beyond what Unicode itself takes for the same.
fn narrow(character: char) -> char {
    match u32::from(character) {
        0x2010..=0x2015 | 0x2212 | 0xfe58 | 0xfe63 => '-',
        _ => character,
    }
}

/// Characters that show nothing: Unicode's default-ignorable ones, and the tags.
pub(super) fn invisible(character: char) -> bool {
    matches!(u32::from(character),
        0x00ad | 0x034f | 0x061c | 0x115f..=0x1160 | 0x17b4..=0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f
        | 0x202a..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfff8
        | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets() {
        for path in [
            ".env",
            ".env.local",
            "a/.env.production",
            "config.env",
            ".ENV",
            ".envrc",
            "id_rsa",
            "/h/.ssh/config",
            "/h/.ssh/known_hosts",
            "cert.pem",
            "server.key",
            ".netrc",
            ".npmrc",
            "credentials",
            "/h/.aws/credentials",
            "/h/.aws/config",
            "credentials.json",
            "store.p12",
            "/h/.kube/config",
            ".\u{200d}env",
            "．env",
            ".env.",
            "ſecrets.json",
        ] {
            assert!(secret(Path::new(path)).is_some(), "{path}");
        }
        for path in [
            ".environment",
            "environment.txt",
            "monkey.key.rs",
            "keyboard.rs",
            "key",
            "env",
            "env.rs",
            "src/env/mod.rs",
            "id_rsa.pub",
            "credentials.rs",
            "credentials_test.go",
            "pem.rs",
            "config",
            "kube/config.rs",
            "obj.keys",
            "secrets.rs",
            "secrets_manager.py",
            "not_a_netrc",
            ".environment.local",
            "",
        ] {
            assert_eq!(secret(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn letters_and_their_accents_are_one() {
        assert_eq!(fold("Caf\u{e9}"), fold("cafe\u{301}"));
        assert_eq!(fold("\u{212b}ngstr\u{f6}m"), fold("A\u{30a}ngstro\u{308}m"));
        assert_ne!(fold("caf\u{e9}"), fold("cafe"));
    }

    #[test]
    fn protected_places() {
        for path in [
            ".git",
            ".git/config",
            "a/.git/hooks/post-commit",
            ".GIT/HEAD",
            ".g\u{200c}it/config",
            ".git./config",
            ".git /config",
            ".ropewalk/settings.json",
            ".vscode/tasks.json",
            ".mcp.json",
            ".envrc",
            ".nvim.lua",
            "/h/.bashrc",
            "/h/.zshenv",
            "/h/.config/git/config",
            "/h/.claude/settings.json",
            "x.code-workspace",
            ".ＧＩＴ/config",
            ".gıt/x",
            ".𝐠𝐢𝐭/config",
            "file:///w/.git/config",
        ] {
            assert!(protected(Path::new(path)).is_some(), "{path}");
        }
        for path in [
            ".gitignore",
            ".gitattributes",
            ".github/workflows/ci.yml",
            "git/notes.txt",
            "src/vscode/x.ts",
            "bashrc.md",
            "my.git.txt",
            "a.git/x",
            ".vscodeignore",
            "docs/.profile.md",
            "mcp.json.md",
            "",
        ] {
            assert_eq!(protected(Path::new(path)), None, "{path}");
        }
    }
}
