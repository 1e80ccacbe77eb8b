//! Words by which a command runs something else than the commands that begin like it: other files, folders, programs or
//! packages. What is said for all commands that begin so does not reach them. Pure.

/// Commands whose words name what is fetched and run, so that no two of them are alike.
const SINGLE: &[&[&str]] = &[
    &["bun", "add"],
    &["bun", "install"],
    &["cargo", "add"],
    &["cargo", "install"],
    &["deno", "run"],
    &["docker", "compose", "exec"],
    &["docker", "compose", "run"],
    &["docker", "exec"],
    &["docker", "pull"],
    &["docker", "run"],
    &["gh", "pr", "checkout"],
    &["gh", "repo"],
    &["git", "am"],
    &["git", "apply"],
    &["git", "clone"],
    &["git", "remote"],
    &["git", "submodule"],
    &["go", "get"],
    &["go", "install"],
    &["go", "run"],
    &["kubectl", "apply"],
    &["npm", "init"],
    &["npm", "install"],
    &["npm", "link"],
    &["npm", "update"],
    &["pip", "install"],
    &["pip3", "install"],
    &["pnpm", "add"],
    &["pnpm", "install"],
    &["pnpm", "update"],
    &["python", "-m", "pip"],
    &["python3", "-m", "pip"],
    &["rustup", "toolchain"],
    &["yarn", "add"],
    &["yarn", "install"],
    &["yarn", "workspace"],
];

/// Options of any program that name other files, folders, programs or sources. An abbreviation counts as well.
const LONG: &[&str] = &[
    "--artifact-dir",
    "--basetemp",
    "--build-arg",
    "--conf",
    "--config",
    "--config-env",
    "--config-file",
    "--confcutdir",
    "--cwd",
    "--dir",
    "--directory",
    "--eval",
    "--exec",
    "--extra-index-url",
    "--file",
    "--find-links",
    "--fix",
    "--globalconfig",
    "--global-setup",
    "--import",
    "--import-map",
    "--include-dir",
    "--index-url",
    "--kubeconfig",
    "--loader",
    "--lockfile-path",
    "--makefile",
    "--manifest-path",
    "--node-options",
    "--open",
    "--open-files-in-pager",
    "--out-dir",
    "--output",
    "--override-ini",
    "--plugin",
    "--prefix",
    "--preload",
    "--project",
    "--rcfile",
    "--receive-pack",
    "--registry",
    "--require",
    "--resolve-plugins-relative-to",
    "--rootdir",
    "--root",
    "--rulesdir",
    "--runner",
    "--script-shell",
    "--server",
    "--shell",
    "--setup-file",
    "--strategy",
    "--target-dir",
    "--template",
    "--upload-pack",
    "--userconfig",
    "--viewer",
];

/// Short options of some programs that do so, and long ones with one dash.
const OWN: &[(&str, &[&str])] = &[
    ("bun", &["-c", "-r"]),
    ("cargo", &["-C", "-Z"]),
    ("deno", &["-A", "-c", "-r", "--allow-all", "--allow-run", "--allow-ffi", "--unsafely-ignore-certificate-errors"]),
    ("docker", &["-f", "-o", "-v", "--allow", "--secret", "--ssh"]),
    ("gh", &["-R", "--repo"]),
    ("git", &["-c", "-C", "-X", "-O", "--exec-path", "--gpg-sign", "--ext-diff", "--textconv", "--contents", "-x"]),
    (
        "go",
        &[
            "-C",
            "-asmflags",
            "-compiler",
            "-exec",
            "-gccgoflags",
            "-gcflags",
            "-ldflags",
            "-mod",
            "-modfile",
            "-o",
            "-outputdir",
            "-overlay",
            "-pkgdir",
            "-toolexec",
            "-vettool",
        ],
    ),
    ("kubectl", &["-f", "-s", "--cluster", "--context", "--user", "--as", "--token", "--filename", "--raw"]),
    ("make", &["-C", "-E", "-I", "-W", "-f", "-o", "--old-file", "--new-file", "--what-if"]),
    ("npm", &["-C", "-c", "-g", "--global", "--browser", "--git"]),
    ("npx", &["-c", "-p", "--call", "--package"]),
    ("pnpm", &["-C", "-c", "-g", "--global"]),
    ("python", &["-c", "-o", "-p"]),
    ("python3", &["-c", "-o", "-p"]),
    ("yarn", &["-c", "--use-yarnrc", "--modules-folder"]),
];

/// The verbs of git with `-s strategy` and `-u program`, of which others have a harmless meaning.
const GIT: &[(&str, &[&str])] = &[
    ("cherry-pick", &["-s", "-S"]),
    ("commit", &["-F", "-t", "-S", "-C"]),
    ("merge", &["-s", "-S", "-F"]),
    ("pull", &["-s", "-S"]),
    ("rebase", &["-s", "-S"]),
    ("revert", &["-s", "-S"]),
    ("tag", &["-F", "-s", "-u"]),
];

/// Whether a command stands for itself alone, whatever it begins with.
pub(super) fn single(words: &[String]) -> bool {
    SINGLE.iter().any(|head| head.len() <= words.len() && head.iter().zip(words).all(|(head, word)| head == word))
}

/// Whether some of the words behind the first `count` make a command run something else than others that begin so.
pub(super) fn steers<'a>(words: impl IntoIterator<Item = &'a str>, count: usize) -> bool {
    let words: Vec<&str> = words.into_iter().collect();
    let Some(program) = words.first() else { return false };
    let verb = words.get(1).filter(|_| *program == "git");
    let own = OWN.iter().filter(|(name, _)| name == program).flat_map(|(_, flags)| flags.iter());
    let of_verb = GIT.iter().filter(|(name, _)| Some(name) == verb).flat_map(|(_, flags)| flags.iter());
    let short: Vec<&str> = own.chain(of_verb).copied().collect();
    words.iter().skip(count).any(|word| option(word, program, &short) || elsewhere(word) || sets(word, program))
}

fn option(word: &str, program: &str, own: &[&str]) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    if name.starts_with("--") {
        // `--conf` is `--config` to many programs; `--target` is another option than `--target-dir`.
        let begins = |long: &&str| long.starts_with(name) && name.len() > 3 && name != "--target";
        let single = program == "go" && own.contains(&&name[1..]);
        return single || LONG.iter().any(begins) || own.iter().any(begins);
    }
    if !name.starts_with('-') || name.len() < 2 {
        return false;
    }
    // go has no clusters of letters; the others have, with a value behind.
    let cluster = |flag: &&str| program != "go" && flag.len() == 2 && name[1..].contains(&flag[1..]);
    own.iter().any(|flag| name == *flag || cluster(flag))
}

/// Whether a word names something that is not below the folder it runs in.
fn elsewhere(word: &str) -> bool {
    let value = word.split_once('=').map_or(word, |(_, value)| value);
    value.contains("://")
        || value.contains("::") && value.starts_with("ext")
        || value.starts_with(['/', '~', '@'])
        || value.split('/').any(|part| part == "..")
        || value.starts_with("git@")
}

/// `make NAME=value` gives a variable to the rules.
fn sets(word: &str, program: &str) -> bool {
    program == "make" && !word.starts_with('-') && word.contains('=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_make_it_another_command() {
        #[track_caller]
        fn check(line: &str, count: usize, expected: bool) {
            assert_eq!(steers(line.split(' '), count), expected, "{line}");
        }
        for line in [
            "cargo build --config build.rustc=x",
            "cargo test --conf=x",
            "cargo build --manifest-path a/Cargo.toml",
            "cargo run -Zx",
            "cargo build -C a",
            "npm test --prefix a",
            "npm test --script-shell=x",
            "go test -exec ./x",
            "go test -exec=./x",
            "go build -toolexec x",
            "git push --receive-pack=x",
            "git fetch --upload-p x",
            "git merge -s x",
            "git pull https://x/y",
            "git push ../x",
            "python3 -m pytest -p x",
            "cargo run /x",
        ] {
            check(line, 2, true);
        }
        for line in ["make -f x", "make -C x", "make -kf x", "make SHELL=x", "make --eval=x", "make CC=x all"] {
            check(line, 1, true);
        }
        for line in [
            "cargo build --release",
            "cargo test -p a --features b -- --nocapture",
            "cargo clippy --all-targets -- -D warnings",
            "npm test -- -t name",
            "npm run dev --port 1",
            "git push -u origin main",
            "git commit -am message",
            "git commit -s -m x",
            "git pull --rebase",
            "go test -run X -v ./...",
            "git push origin a:b",
            "git add -A",
        ] {
            check(line, 2, false);
        }
        check("make -j8 all", 1, false);
        check("make -k test", 1, false);
    }

    #[test]
    fn commands_that_stand_for_themselves() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for line in ["npm install x", "pip install x", "docker run x", "go run x.go", "yarn workspace a b"] {
            assert!(single(&words(line)), "{line}");
        }
        for line in ["npm test", "docker build .", "go test", "pip list", "npm"] {
            assert!(!single(&words(line)), "{line}");
        }
    }
}
