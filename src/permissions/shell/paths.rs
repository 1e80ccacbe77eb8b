//! What the places mean that a line names: resolved by their words alone, against where the line runs. Pure.

use std::path::{Component, Path, PathBuf};

use super::Scene;
use super::effects::Verdict;
use crate::permissions::names::{fold, secret};

/// What opening a place for writing would do beside what the program means to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// Nothing is kept there: `/dev/null` and the like.
    Nowhere,
    /// A connection, to this machine.
    Network(String),
    /// In the workspace folders.
    Inside,
    /// A workspace folder itself, the home folder, or one that holds one of them.
    Whole,
    /// Anywhere else.
    Outside,
    /// A device, or a file on which the machine depends.
    Machine,
}

/// A path as written, resolved against a folder; `..` takes the name before it away, no link is followed.
pub(super) fn resolve(folder: &Path, asked: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for component in folder.join(asked).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => _ = path.pop(),
            component => path.push(component),
        }
    }
    path
}

/// What the descriptors of a program are called.
const FD: &[&str] = &["/proc/self/fd/", "/proc/thread-self/fd/"];

/// On what the machine depends.
const MACHINE: &[&str] = &[
    "/boot",
    "/proc",
    "/sys",
    "/etc/passwd",
    "/etc/shadow",
    "/etc/group",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/fstab",
    "/etc/pam.d",
    "/etc/ld.so.preload",
    "/efi",
];

/// What an absolute, resolved path is.
pub(super) fn place(path: &Path, scene: &Scene) -> Place {
    let text = path.to_string_lossy();
    // A file system may not tell case apart.
    let name = text.to_lowercase();
    if let Some(device) = name.strip_prefix("/dev/") {
        return match device.split('/').next().unwrap_or_default() {
            "tcp" | "udp" => Place::Network(text.split('/').nth(3).unwrap_or_default().to_owned()),
            "null" | "stdin" | "stdout" | "stderr" | "fd" | "tty" | "zero" | "full" | "random" | "urandom" => {
                Place::Nowhere
            }
            "shm" | "mqueue" | "pts" => Place::Outside,
            _ => Place::Machine,
        };
    }
    if FD.iter().any(|fd| name.starts_with(fd)) {
        return Place::Nowhere;
    }
    if MACHINE.iter().any(|place| Path::new(&name).starts_with(place)) {
        return Place::Machine;
    }
    let whole = scene.roots.iter().chain(&scene.home).any(|folder| folder.starts_with(path));
    if whole || path.parent().is_none() {
        return Place::Whole;
    }
    if scene.roots.iter().any(|root| path.starts_with(root)) { Place::Inside } else { Place::Outside }
}

/// The worst that writing to a place can be, by the place alone.
pub(super) fn writing(place: &Place) -> Verdict {
    match place {
        Place::Nowhere => Verdict::ReadOnly,
        Place::Inside | Place::Whole => Verdict::WorkspaceWrite,
        Place::Network(_) | Place::Outside => Verdict::NeedsApproval,
        Place::Machine => Verdict::Destructive,
    }
}

/// Whether a name as written stands for a secret.
pub(super) fn is_secret(path: &Path) -> bool {
    secret(path).is_some()
}

/// Names that stand for many secrets; a pattern that matches one of them may match a secret.
const SAMPLES: &[&str] = &[
    ".env",
    ".env.local",
    ".env.production",
    "app.env",
    ".envrc",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".git-credentials",
    ".htpasswd",
    ".vault-token",
    "credentials",
    "credentials.json",
    "id_rsa",
    "id_ed25519",
    "id_ecdsa",
    "id_dsa",
    "kubeconfig",
    "secrets.yaml",
    "secrets.yml",
    "secrets.json",
    "secrets.toml",
    "terraform.tfstate",
    "server.key",
    "cert.pem",
    "key.pem",
    "store.p12",
    "store.jks",
    "store.pfx",
    "x.kdbx",
    "x.ppk",
    ".ssh",
    ".gnupg",
    ".aws",
    ".kube",
    ".docker",
    ".password-store",
];

/// Whether a pattern could match a file that holds secrets. A pattern that could match anything does not count: a name
/// beginning with a dot is matched only by a pattern that begins so, and `*` alone says nothing.
pub(super) fn may_match_secret(pattern: &str) -> bool {
    let literal = |name: &str| !name.contains(['*', '?', '[']);
    let mut folder = PathBuf::new();
    for name in pattern.split('/') {
        // At least one letter that is meant.
        let telling = meant(name).contains(|c: char| c.is_alphanumeric() || c == '.');
        let matched = |sample: &&&str| {
            (sample.starts_with('.') == name.starts_with(['.', '[']) || !sample.starts_with('.'))
                && matches(&fold(name), sample)
        };
        if !literal(name) && telling && SAMPLES.iter().any(|sample| matched(&sample)) {
            return true;
        }
        folder.push(name);
    }
    is_secret(&folder)
}

/// A pattern without its sets of what must not be there.
fn meant(pattern: &str) -> String {
    let mut rest = pattern;
    let mut meant = String::new();
    while let Some(at) = ["[!", "[^"].iter().filter_map(|open| rest.find(open)).min() {
        meant.push_str(&rest[..at]);
        rest = rest[at + 2..].split_once(']').map_or("", |(_, rest)| rest);
    }
    meant + rest
}

/// Whether a name matches a pattern of `*`, `?` and `[...]`.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    // For each length of the pattern's beginning: which beginnings of the name it matches.
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    let mut at = 0;
    while at < pattern.len() {
        let mut next = vec![false; name.len() + 1];
        match pattern[at] {
            '*' => {
                let mut any = false;
                for (next, reached) in next.iter_mut().zip(&reached) {
                    any |= *reached;
                    *next = any;
                }
            }
            c => {
                let set = (c == '[').then(|| closing(&pattern, at)).flatten();
                for (index, named) in name.iter().enumerate() {
                    let fits = match set {
                        Some(end) => in_set(&pattern[at + 1..end], *named),
                        None => c == '?' || c == *named,
                    };
                    next[index + 1] = reached[index] && fits;
                }
                at = set.unwrap_or(at);
            }
        }
        reached = next;
        at += 1;
    }
    reached[name.len()]
}

/// Where the set that begins at `at` ends.
fn closing(pattern: &[char], at: usize) -> Option<usize> {
    let skip = if matches!(pattern.get(at + 1), Some('!' | '^')) { 3 } else { 2 };
    (at + skip..pattern.len()).find(|index| pattern[*index] == ']')
}

fn in_set(set: &[char], c: char) -> bool {
    let (negated, set) = match set {
        ['!' | '^', set @ ..] => (true, set),
        set => (false, set),
    };
    // Classes such as `[:alpha:]` match whatever they like here: rather a secret too many.
    let found = set.contains(&':')
        || set.contains(&c)
        || set.windows(3).any(|range| range[1] == '-' && (range[0]..=range[2]).contains(&c));
    found != negated
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene() -> Scene {
        Scene { workdir: "/w/a".into(), roots: vec!["/w/a".into(), "/v".into()], home: Some("/home/u".into()) }
    }

    #[test]
    fn places() {
        #[track_caller]
        fn check(path: &str, expected: &Place) {
            assert_eq!(&place(&resolve(Path::new("/w/a"), path), &scene()), expected, "{path}");
        }
        check("x", &Place::Inside);
        check("./b/../x", &Place::Inside);
        check("/v/x", &Place::Inside);
        check("../x", &Place::Outside);
        check("/tmp/x", &Place::Outside);
        check("/home/u/x", &Place::Outside);
        check("/dev/shm/x", &Place::Outside);
        check(".", &Place::Whole);
        check("..", &Place::Whole);
        check("b/..", &Place::Whole);
        check("/", &Place::Whole);
        check("/../..", &Place::Whole);
        check("/home", &Place::Whole);
        check("/home/u/", &Place::Whole);
        check("/dev/null", &Place::Nowhere);
        check("/dev/fd/2", &Place::Nowhere);
        check("/dev/../dev/stderr", &Place::Nowhere);
        check("/dev/sda", &Place::Machine);
        check("/DEV/nvme0n1", &Place::Machine);
        check("/etc/passwd", &Place::Machine);
        check("/etc/hosts", &Place::Outside);
        check("/proc/sysrq-trigger", &Place::Machine);
        check("/dev/tcp/Evil.example/80", &Place::Network("Evil.example".to_owned()));
    }

    #[test]
    fn patterns_that_may_match_secrets() {
        for pattern in [
            ".e*",
            "a/.en?",
            ".*",
            "*.pem",
            "*.key",
            "id_*",
            "*rsa",
            "~/.ss*/x",
            ".[e]nv",
            "[.]env",
            "cred*",
            ".env*",
            "/h/.ssh/*",
            "*.p1[0-9]",
            ".E*",
            "secret*",
            "*.env",
        ] {
            assert!(may_match_secret(pattern), "{pattern}");
        }
        for pattern in ["*", "*.rs", "src/*", "**/*.ts", "?", "[!a]*", "*.json.txt", "lib*", "test_*", ".github/*"] {
            assert!(!may_match_secret(pattern), "{pattern}");
        }
    }
}
