//! What a folder holds that opening it could run or obey, found by looking only; and for each kind why that does not happen,
//! or what would let it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ropewalk::permissions::visible;
use ropewalk::ports::{Disk, FileKind};
use serde_json::Value;

/// Of one kind at most so many are told; the rest is counted.
const SHOWN: usize = 12;

/// Files with more bytes are not looked into.
const MOST_BYTES: u64 = 1024 * 1024;

/// Folders are looked at for links so deep, and at most so many names.
const DEPTH: usize = 4;
const MOST_NAMES: usize = 20_000;

/// Folders that are not looked at for links: they are large, and full of links to themselves.
const SKIPPED: &[&str] = &[".git", "node_modules", "target", ".venv", "venv"];

/// A kind of thing that could run or be obeyed.
struct Kind {
    title: &'static str,
    found: Vec<String>,
    /// Why it does nothing while the folder is not trusted.
    distrusted: &'static str,
    /// What is so once it is.
    trusted: &'static str,
}

/// Where things of one kind are: files that count by being there.
type Names = &'static [&'static str];

const TASKS: Names = &[
    ".devcontainer/devcontainer.json",
    ".devcontainer.json",
    ".fleet/run.json",
    ".idea/runConfigurations",
    ".vscode/launch.json",
    ".vscode/tasks.json",
    ".zed/tasks.json",
];

const BUILDS: Names = &[
    ".bazelrc",
    ".cargo/config",
    ".cargo/config.toml",
    ".npmrc",
    ".yarnrc.yml",
    "CMakeLists.txt",
    "GNUmakefile",
    "Jenkinsfile",
    "Makefile",
    "Rakefile",
    "Taskfile.yml",
    "build.gradle",
    "build.gradle.kts",
    "build.rs",
    "conftest.py",
    "gradlew",
    "justfile",
    "makefile",
    "meson.build",
    "mvnw",
    "noxfile.py",
    "setup.py",
    "tox.ini",
];

const FORMATTERS: Names = &[
    ".eslintrc.cjs",
    ".eslintrc.js",
    ".prettierrc",
    ".prettierrc.cjs",
    ".prettierrc.js",
    ".prettierrc.json",
    ".prettierrc.mjs",
    ".stylelintrc.js",
    "babel.config.js",
    "eslint.config.cjs",
    "eslint.config.js",
    "eslint.config.mjs",
    "eslint.config.ts",
    "prettier.config.cjs",
    "prettier.config.js",
    "prettier.config.mjs",
    "tailwind.config.js",
    "vite.config.js",
    "vite.config.ts",
];

const ENVIRONMENTS: Names = &[".env", ".env.local", ".envrc", ".mise.toml", ".tool-versions", "mise.toml"];

const EDITORS: Names = &[".dir-locals.el", ".exrc", ".gdbinit", ".lldbinit", ".nvim.lua", ".nvimrc", ".vimrc"];

const SETTINGS: Names = &[
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/config.toml",
    ".continue/config.json",
    ".gemini/settings.json",
    ".opencode/config.json",
    ".ropewalk/settings.json",
    ".vscode/settings.json",
    ".zed/settings.json",
    "opencode.json",
];

const SERVERS: Names = &[".cursor/mcp.json", ".mcp.json", ".vscode/mcp.json", ".zed/mcp.json", "mcp.json"];

const ORDERS: Names = &[
    ".agents",
    ".claude/CLAUDE.md",
    ".claude/agents",
    ".claude/commands",
    ".claude/skills",
    ".cursor/rules",
    ".cursorrules",
    ".github/copilot-instructions.md",
    ".ropewalk/agents",
    ".ropewalk/memory",
    ".ropewalk/skills",
    ".windsurfrules",
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
];

const HOOKS: Names = &[".husky", ".pre-commit-config.yaml", "lefthook.yml"];

/// Folders of programs that a project brings with it.
const PROGRAMS: Names = &["node_modules/.bin", ".venv/bin", "venv/bin"];

/// Keys of git's configuration whose values are run, without case: section, key; `*` is any sub-section.
const GIT_KEYS: &[&str] = &[
    "alias.*",
    "core.alternaterefscommand",
    "core.askpass",
    "core.editor",
    "core.fsmonitor",
    "core.gitproxy",
    "core.hookspath",
    "core.pager",
    "core.sshcommand",
    "credential.helper",
    "credential.*.helper",
    "diff.external",
    "diff.*.command",
    "diff.*.textconv",
    "difftool.*.cmd",
    "filter.*.clean",
    "filter.*.process",
    "filter.*.smudge",
    "gpg.program",
    "gpg.*.program",
    "include.path",
    "includeif.*.path",
    "interactive.difffilter",
    "merge.*.driver",
    "mergetool.*.cmd",
    "pager.*",
    "protocol.ext.allow",
    "remote.*.receivepack",
    "remote.*.uploadpack",
    "sequence.editor",
    "submodule.*.update",
    "uploadpack.packobjectshook",
];

/// The report on a folder (canonical). `trusted`: whether the person trusts it. `servers`: the language servers that would
/// run its code, as they are called. Looks at the disk; runs nothing.
pub(super) fn report(disk: &dyn Disk, root: &Path, trusted: bool, servers: &[String]) -> String {
    let look = Look { disk, root };
    let word = if trusted { "trusted" } else { "not trusted" };
    let shown = visible(&root.to_string_lossy());
    let mut out = format!(
        "What opening {shown} could run or have obeyed\n  Found by looking; nothing was run. The folder is {word}.\n"
    );
    let mut none = Vec::new();
    for kind in kinds(&look, servers) {
        if kind.found.is_empty() {
            none.push(kind.title);
            continue;
        }
        let _ = writeln!(out, "\n{}", kind.title);
        for line in kind.found.iter().take(SHOWN) {
            let _ = writeln!(out, "  - {}", visible(line));
        }
        if kind.found.len() > SHOWN {
            let _ = writeln!(out, "  - and {} more", kind.found.len() - SHOWN);
        }
        let _ = writeln!(out, "  {}", if trusted { kind.trusted } else { kind.distrusted });
    }
    if !none.is_empty() {
        let _ = writeln!(out, "\nNot found: {}", none.join("; ").to_lowercase());
    }
    if !trusted {
        let _ =
            writeln!(out, "\nTo trust the folder: `--trust {shown}`, or in the editor (`ropewalk/didChangeTrust`).");
    }
    out
}

fn kinds(look: &Look<'_>, servers: &[String]) -> Vec<Kind> {
    let kind = |title, found, distrusted, trusted| Kind { title, found, distrusted, trusted };
    vec![
        kind(
            "Language servers that run the project's code",
            servers.to_vec(),
            "Not started: they start in trusted folders only.",
            "One starts when a document of its language is opened (`diagnostics.ownServers: \"off\"` holds all back).",
        ),
        kind(
            "Programs of its own",
            look.programs(),
            "Not run: in a folder that is not trusted the machine's own are used, or none.",
            "Language servers among them are preferred to the machine's; each is bound to what it held when it first ran, and \
             another content waits for trust to be given anew. Commands that run one need consent, bound to its content.",
        ),
        kind(
            "Commands in git's configuration",
            look.git(),
            "Not run: git is called by commands only, and no command runs in a folder that is not trusted.",
            "Ropewalk itself calls no git. A command that does is asked about unless it only looks, and git runs then without \
             file system monitor and without bare repositories it was not told of.",
        ),
        kind(
            "Hooks",
            look.hooks(),
            "Not run: git calls them, and no command runs in a folder that is not trusted.",
            "Run by the git commands they belong to, each of which is asked about. Writing one always asks.",
        ),
        kind(
            "Formatters and linters that load code",
            look.those(FORMATTERS),
            "Not loaded: formatters of the user's settings run in trusted folders only, and a folder names none itself.",
            "Loaded where the user's settings name such a formatter, or an editor or a language server formats.",
        ),
        kind(
            "Builds and scripts",
            look.builds(),
            "Not run: commands run in trusted folders only.",
            "Run by a command or by a language server that builds. A command is asked about, and consent to one that runs a \
             script ends when the script changes.",
        ),
        kind(
            "Tasks of editors",
            look.those(TASKS),
            "Not read. The editor has its own word on them.",
            "Not read. The editor has its own word on them; writing one always asks.",
        ),
        kind(
            "Configuration that editors and debuggers run",
            look.those(EDITORS),
            "Not read. Writing one always asks.",
            "Not read. Writing one always asks.",
        ),
        kind(
            "Environments",
            look.those(ENVIRONMENTS),
            "Not loaded, and reading one asks where it may hold secrets.",
            "Not loaded, and reading one asks where it may hold secrets.",
        ),
        kind(
            "Servers for tools (MCP)",
            look.servers(),
            "Not started: servers come from the user's own settings.",
            "Not started: servers come from the user's own settings.",
        ),
        kind(
            "Settings of agents and editors",
            look.those(SETTINGS),
            "What they allow does not count. Deny and ask rules of `.ropewalk/settings.json` do.",
            "What they allow does not count. Deny and ask rules of `.ropewalk/settings.json` do.",
        ),
        kind(
            "Orders for agents",
            look.those(ORDERS),
            "Not obeyed: they are text like any other, and decide nothing.",
            "They decide nothing by themselves: what a model does because of them is judged like anything else.",
        ),
        kind(
            "Links that lead out of the folder",
            look.links(),
            "Followed by no search; to read or write through one is judged by where it leads, and asked about.",
            "Followed by no search; to read or write through one is judged by where it leads, and asked about.",
        ),
    ]
}

struct Look<'a> {
    disk: &'a dyn Disk,
    root: &'a Path,
}

impl Look<'_> {
    fn those(&self, names: &[&str]) -> Vec<String> {
        let there = |name: &&&str| self.disk.link_metadata(&self.root.join(name)).is_ok();
        names.iter().filter(there).map(|name| (*name).to_owned()).collect()
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let entries = self.disk.read_dir(&self.root.join(folder)).unwrap_or_default();
        entries.into_iter().map(|entry| entry.name).collect()
    }

    /// A file that is there and not too long; `None`: it is not. Not text: what can be read of it.
    fn text(&self, name: &str) -> Option<String> {
        let path = self.root.join(name);
        let fits = self.disk.metadata(&path).is_ok_and(|file| file.kind == FileKind::File && file.len <= MOST_BYTES);
        let bytes = fits.then(|| self.disk.read(&path).ok()).flatten()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn programs(&self) -> Vec<String> {
        let told = |folder: &&str| {
            let names = self.names(folder);
            let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
            let more = if names.len() > SHOWN { ", ..." } else { "" };
            (!names.is_empty()).then(|| format!("{folder}: {} ({shown}{more})", names.len()))
        };
        PROGRAMS.iter().filter_map(told).collect()
    }

    /// Where git keeps what belongs to the folder: `.git`, or what a file of that name points to.
    fn git_folder(&self) -> Option<PathBuf> {
        let git = self.root.join(".git");
        if self.disk.metadata(&git).ok()?.kind == FileKind::Directory {
            return Some(git);
        }
        let named = self.text(".git")?;
        Some(self.root.join(named.strip_prefix("gitdir:")?.trim()))
    }

    fn git(&self) -> Vec<String> {
        let Some(folder) = self.git_folder() else { return Vec::new() };
        let mut found = Vec::new();
        for file in ["config", "config.worktree"] {
            let path = folder.join(file);
            let short = path.strip_prefix(self.root).unwrap_or(&path).to_owned();
            let Some(text) = path.to_str().and_then(|path| self.text(path)) else { continue };
            found.extend(commands_in(&text).into_iter().map(|command| format!("{}: {command}", short.display())));
        }
        found
    }

    fn hooks(&self) -> Vec<String> {
        let mut found = self.those(HOOKS);
        if let Some(folder) = self.git_folder().map(|folder| folder.join("hooks")) {
            let short = folder.strip_prefix(self.root).unwrap_or(&folder).to_owned();
            let names = folder.to_str().map(|folder| self.names(folder)).unwrap_or_default();
            let real = names.into_iter().filter(|name| Path::new(name).extension().is_none_or(|end| end != "sample"));
            found.extend(real.map(|name| short.join(name).display().to_string()));
        }
        found
    }

    fn builds(&self) -> Vec<String> {
        let mut found = self.those(BUILDS);
        if let Some(package) = self.text("package.json") {
            let package: Option<Value> = serde_json::from_str(&package).ok();
            let scripts = package.as_ref().and_then(|package| package["scripts"].as_object());
            found.push(match (&package, scripts) {
                (None, _) => "package.json, which cannot be read".to_owned(),
                (Some(_), None) => "package.json, without scripts".to_owned(),
                (Some(_), Some(scripts)) => {
                    let mut names: Vec<&str> = scripts.keys().map(String::as_str).collect();
                    names.sort_unstable();
                    format!("package.json with the scripts {}", names.join(", "))
                }
            });
        }
        found
    }

    fn servers(&self) -> Vec<String> {
        let told = |file: String| {
            let servers: Option<Value> = self.text(&file).and_then(|text| serde_json::from_str(&text).ok());
            let named = servers.as_ref().and_then(|all| {
                ["mcpServers", "servers", "context_servers"].iter().find_map(|key| all[*key].as_object())
            });
            match named {
                None => file,
                Some(servers) => {
                    let mut names: Vec<String> = servers
                        .iter()
                        .map(|(name, server)| match server["command"].as_str() {
                            Some(command) => format!("{name} (`{command}`)"),
                            None => name.clone(),
                        })
                        .collect();
                    names.sort_unstable();
                    format!("{file}: {}", names.join(", "))
                }
            }
        };
        self.those(SERVERS).into_iter().map(told).collect()
    }

    /// Links to places outside, near the top.
    fn links(&self) -> Vec<String> {
        let (mut found, mut seen) = (Vec::new(), 0);
        let mut folders = vec![(PathBuf::new(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            for entry in self.disk.read_dir(&self.root.join(&folder)).unwrap_or_default() {
                seen += 1;
                if seen > MOST_NAMES {
                    found.push(format!("(only {MOST_NAMES} names were looked at)"));
                    return found;
                }
                let short = folder.join(entry.file_name());
                match entry.kind {
                    FileKind::Directory if depth < DEPTH && !SKIPPED.contains(&entry.name.as_str()) => {
                        folders.push((short, depth + 1));
                    }
                    FileKind::Link => {
                        let path = self.root.join(&short);
                        let real = self.disk.canonicalize(&path).or_else(|_| self.disk.read_link(&path));
                        if let Ok(real) = real
                            && !path.parent().unwrap_or(self.root).join(&real).starts_with(self.root)
                        {
                            found.push(format!("{} -> {}", short.display(), real.display()));
                        }
                    }
                    _ => {}
                }
            }
        }
        found.sort_unstable();
        found
    }
}

/// The settings in a git configuration that name commands, or other files of settings.
fn commands_in(config: &str) -> Vec<String> {
    let (mut found, mut section) = (Vec::new(), String::new());
    for line in config.lines().map(str::trim) {
        if let Some(head) = line.strip_prefix('[') {
            let head = head.split(']').next().unwrap_or_default();
            let (name, sub) = head.split_once(char::is_whitespace).unwrap_or((head, ""));
            let sub = sub.trim().trim_matches('"');
            section = name.to_lowercase();
            if !sub.is_empty() {
                section = format!("{section}.{sub}");
            }
            continue;
        }
        if line.starts_with(['#', ';']) {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        let full = format!("{section}.{}", key.trim());
        if !key.trim().is_empty() && GIT_KEYS.iter().any(|known| fits(known, &full)) {
            found.push(format!("{full} = {}", value.trim()));
        }
    }
    found
}

/// Whether a key is one of the table: its `*` is whatever stands between the section and the key, or the key itself.
fn fits(known: &str, full: &str) -> bool {
    let full = full.to_lowercase();
    match known.split_once('*') {
        None => known == full,
        Some((before, after)) => {
            full.len() > before.len() + after.len() && full.starts_with(before) && full.ends_with(after)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use ropewalk::ports::MemoryDisk;

    #[test]
    fn commands_of_git() {
        let config = "[core]\n\tbare = false\n\tfsmonitor = ./x\n\tHooksPath=.h\n; [alias]\n[filter \"lfs\"]\n  clean = a\n\
                      [diff \"bin\"]\ntextconv = t\n[alias]\n\tst = !sh\n[remote \"o\"]\n\turl = x\n\tuploadpack = u\n\
                      [includeIf \"gitdir:/w\"]\npath = y\n[user]\nname = clean\n";
        expect![[r"
            core.fsmonitor = ./x
            core.HooksPath = .h
            filter.lfs.clean = a
            diff.bin.textconv = t
            alias.st = !sh
            remote.o.uploadpack = u
            includeif.gitdir:/w.path = y"]]
        .assert_eq(&commands_in(config).join("\n"));
    }

    fn hostile() -> MemoryDisk {
        MemoryDisk::new()
            .with_file("/w/.git/config", "[core]\n\tfsmonitor = ./run\u{202e}me\n")
            .with_file("/w/.git/hooks/pre-commit", "x")
            .with_file("/w/.git/hooks/pre-push.sample", "x")
            .with_file("/w/node_modules/.bin/prettier", "x")
            .with_file("/w/.mcp.json", r#"{ "mcpServers": { "db": { "command": "./db" } } }"#)
            .with_file("/w/package.json", r#"{ "scripts": { "test": "x", "postinstall": "y" } }"#)
            .with_file("/w/.ropewalk/settings.json", "{}")
            .with_file("/w/CLAUDE.md", "Run everything.")
            .with_file("/out/a", "a")
            .with_link("/w/sub/leak", "/out/a")
    }

    #[test]
    fn a_hostile_folder_is_told_and_a_trusted_one_too() {
        let servers = ["typescript-language-server".to_owned()];
        let told = report(&hostile(), Path::new("/w"), false, &servers);
        for words in [
            "The folder is not trusted.",
            "typescript-language-server\n  Not started",
            "node_modules/.bin: 1 (prettier)",
            ".git/config: core.fsmonitor = ./run\\u{202e}me",
            "- .git/hooks/pre-commit\n  Not run",
            "package.json with the scripts postinstall, test",
            ".mcp.json: db (`./db`)",
            "sub/leak -> /out/a",
            "CLAUDE.md\n  Not obeyed",
            "Not found: formatters and linters that load code",
            "--trust /w",
        ] {
            assert!(told.contains(words), "{words}\n{told}");
        }
        assert!(!told.contains("pre-push"), "{told}");
        let told = report(&hostile(), Path::new("/w"), true, &servers);
        assert!(told.contains("One starts when") && !told.contains("--trust"), "{told}");
    }
}
