//! Command lines of a call, looked into where the disk has to be asked: where the files really are that they name, which
//! files of the workspace they would run and what these hold, and whether the folders are trusted.

use std::fmt::Write as _;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::permissions::shell::{Scene, Touched, Word};
use crate::permissions::{Footing, Line, Program, Trust, candidates, elsewhere, is_runners, is_sink};
use crate::ports::{Disk, FileKind, env};
use crate::process::Programs;
use crate::workspace::{Key, Refusal, Target, Workspace};

/// Files with more bytes are not read to know them again: consent to run them counts once.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// At most so many files of one line are looked at.
const MOST_FILES: usize = 64;

/// Files of runners are looked for in so many folders above.
const MOST_ABOVE: usize = 32;

/// Bytes that are read at once.
const PIECE: usize = 64 * 1024;

/// What is needed to look.
pub(super) struct Look {
    pub workspace: Arc<Workspace>,
    pub programs: Arc<dyn Programs>,
    pub trust: Arc<Trust>,
}

/// Command lines, and the places that they name, each as it was written and where it is.
#[derive(Default)]
pub(super) struct Looked {
    pub lines: Vec<Line>,
    pub reads: Vec<(String, Target)>,
    pub writes: Vec<(String, Target)>,
    /// The trust that they are judged by.
    pub footing: Footing,
}

impl Look {
    /// Looks into command lines that would run in the folder which the arguments name. Blocking.
    pub(super) fn at(&self, commands: &[String], arguments: &Value) -> Result<Looked, Refusal> {
        let folders = self.workspace.roots().folders;
        let workdir = match arguments["workdir"].as_str().filter(|name| !name.trim().is_empty()) {
            Some(name) => self.workspace.resolve(name)?.paths.into_iter().next(),
            None => folders.first().cloned(),
        };
        let workdir = workdir.unwrap_or_else(|| PathBuf::from("/"));
        let home = env("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let scene = Scene { workdir, roots: folders, home };
        let mut looked = Looked::default();
        // The decision and what it rests on are of one moment.
        let now = self.trust.now();
        for command in commands {
            let mut line = Line::looked_into(command, &scene);
            let reads = self.places(&line.analysis.reads);
            let writes = self.places(&line.analysis.writes);
            line.programs = self.programs(&line, &scene);
            let paths = reads.iter().chain(&writes).flat_map(|(_, target)| &target.paths);
            let paths: Vec<&Path> =
                paths.map(PathBuf::as_path).chain(line.programs.iter().map(|program| program.path.as_path())).collect();
            let rests_on = paths.iter().copied().chain([scene.workdir.as_path()]);
            let rests_on = rests_on.chain(scene.roots.iter().map(PathBuf::as_path));
            looked.footing.extend(Footing::on(&self.trust, &now, rests_on));
            line.untrusted = untrusted(&now, &scene, &paths);
            looked.reads.extend(reads);
            looked.writes.extend(writes);
            looked.lines.push(line);
        }
        Ok(looked)
    }

    fn places(&self, touched: &[Touched]) -> Vec<(String, Target)> {
        let touched = touched.iter().filter(|touched| !touched.path.as_deref().is_some_and(is_sink));
        touched.map(|touched| (touched.asked.clone(), self.place(touched))).collect()
    }

    /// Where a place is that a line names. One that cannot be known is nowhere, and so in no workspace folder.
    fn place(&self, touched: &Touched) -> Target {
        let path = touched.path.as_deref().and_then(Path::to_str);
        path.and_then(|path| self.workspace.resolve(path).ok()).unwrap_or_else(|| Target {
            shown: touched.asked.clone(),
            key: Key::Unnamed(touched.asked.clone()),
            uri: touched.asked.clone(),
            paths: Vec::new(),
            inside: false,
        })
    }

    /// The files of the workspace folders that a line would run.
    fn programs(&self, line: &Line, scene: &Scene) -> Vec<Program> {
        let disk = &*self.workspace.ports.disk;
        let mut dirs = vec![scene.workdir.clone()];
        let mut found: Vec<Program> = Vec::new();
        for step in line.steps.iter().take(MOST_FILES) {
            let (program, files) = candidates(&step.words);
            let Some(program) = program else { continue };
            if let ("cd" | "pushd", Some(Word::Known(to))) = (program, step.words.get(1)) {
                let to = dirs[dirs.len() - 1].join(to);
                dirs.push(to);
            }
            if program.contains('/') {
                let paths: Vec<PathBuf> = dirs.iter().map(|dir| dir.join(program)).collect();
                let real: Vec<PathBuf> = paths.iter().filter_map(|path| disk.canonicalize(path).ok()).collect();
                if real.is_empty() {
                    found.extend(paths.into_iter().take(1).map(|path| Program { path, hash: None }));
                } else {
                    found.extend(paths.iter().filter_map(|path| self.known(path, scene)));
                }
            } else if let Some(path) = self.programs.find(program, &[]) {
                found.extend(self.known(&path, scene));
            }
            if !step.read_only {
                let files = || files.iter().take(MOST_FILES);
                let mut named: Vec<PathBuf> =
                    dirs.iter().flat_map(|dir| files().map(move |file| dir.join(file))).collect();
                // Runners take the nearest file of theirs, also from a folder above.
                let above = dirs.iter().flat_map(|dir| dir.ancestors().skip(1));
                let above = above.filter(|dir| scene.roots.iter().any(|root| dir.starts_with(root)));
                for dir in above.take(MOST_ABOVE) {
                    named.extend(files().filter(|file| is_runners(file)).map(|file| dir.join(file)));
                }
                // And where they are told to.
                let told: Vec<PathBuf> =
                    dirs.iter().flat_map(|dir| elsewhere(&step.words).map(move |place| dir.join(place))).collect();
                named.extend(told.iter().flat_map(|place| files().map(move |file| place.join(file))));
                named.extend(told.iter().flat_map(|place| elsewhere(&step.words).map(move |file| place.join(file))));
                named.extend(told);
                found.extend(named.iter().filter_map(|path| self.known(path, scene)));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The hash of a file, with that of its unsaved text where this is saved before the command runs.
    fn with_unsaved(&self, path: &Path, on_disk: String) -> String {
        let saves = self.workspace.settings().save_before_bash;
        let document = saves.then(|| self.workspace.documents.get(&Key::File(path.to_owned()))).flatten();
        match document.map(|document| crate::text::hash(&document.text.to_string())) {
            Some(unsaved) if unsaved != on_disk => format!("{on_disk}, unsaved {unsaved}"),
            _ => on_disk,
        }
    }

    /// A file by where it is and what it holds, if it is one of the workspace folders, or a link in them leads to it.
    fn known(&self, path: &Path, scene: &Scene) -> Option<Program> {
        let disk = &*self.workspace.ports.disk;
        let real = disk.canonicalize(path).ok()?;
        let ours = |path: &Path| scene.roots.iter().any(|root| path.starts_with(root));
        let linked = || path.parent().and_then(|dir| disk.canonicalize(dir).ok()).is_some_and(|dir| ours(&dir));
        if !ours(&real) && !linked() || disk.metadata(&real).is_ok_and(|of| of.kind == FileKind::Directory) {
            return None;
        }
        let hash = hash(disk, &real).ok().map(|hash| self.with_unsaved(&real, hash));
        Some(Program { path: real, hash })
    }
}

impl super::Dispatch {
    /// A folder is not trusted any more: background work that runs there is stopped, and its session told. Calls that run
    /// come to their own ends; those that come after are judged anew.
    pub fn trust_ended(&self, folder: &Path) {
        let ended = |runs_in: &Path| runs_in.starts_with(folder) && !self.trust.covers(runs_in);
        self.jobs.stop_where(ended, &format!("{} is not trusted any more", folder.display()));
        self.configured();
    }
}

/// SHA-256 of a file, lower-case hex. Errors are the disk's, or say that it is too long.
fn hash(disk: &dyn Disk, path: &Path) -> io::Result<String> {
    let mut file = disk.open(path)?.take(MOST_BYTES + 1);
    let (mut hash, mut piece, mut total) = (Sha256::new(), vec![0; PIECE], 0);
    loop {
        match file.read(&mut piece)? {
            0 if total > MOST_BYTES => return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is too long")),
            0 => {
                return Ok(hash.finalize().iter().fold(String::new(), |mut hex, byte| {
                    let _ = write!(hex, "{byte:02x}");
                    hex
                }));
            }
            count => {
                total += count as u64;
                hash.update(&piece[..count]);
            }
        }
    }
}

/// The folder for which a line will not run: one that it would run in or reach and that is not trusted. Outside of all
/// folders it runs only where nobody's trust is missing.
fn untrusted(trust: &Trust, scene: &Scene, paths: &[&Path]) -> Option<PathBuf> {
    let root = |path: &Path| {
        scene.roots.iter().filter(|root| path.starts_with(root)).max_by_key(|root| root.as_os_str().len())
    };
    if !trust.covers(&scene.workdir) {
        let missing = || scene.roots.iter().find(|root| !trust.covers(root));
        if let Some(excluded) = trust.excluded(&scene.workdir) {
            return Some(excluded);
        }
        match root(&scene.workdir).or_else(missing) {
            Some(root) => return Some(root.clone()),
            None if scene.roots.is_empty() => return Some(scene.workdir.clone()),
            None => {}
        }
    }
    let mut reached = paths.iter().filter(|path| !trust.covers(path));
    reached.find_map(|path| trust.excluded(path).or_else(|| root(path).cloned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;
    use crate::editor::Absent;
    use crate::permissions::shell::Verdict;
    use crate::ports::{MemoryDisk, Ports};
    use crate::process::PlayedPrograms;
    use crate::workspace::Documents;

    #[test]
    fn where_commands_do_not_run() {
        let path = |text: &str| PathBuf::from(text);
        for (roots, trusted, workdir, reached, expected) in [
            (&["/w"][..], &["/w"][..], "/w/sub", &["/w/a", "/etc/passwd"][..], None),
            (&["/w"], &[], "/w", &[], Some("/w")),
            (&["/w"], &["/w/sub"], "/w", &[], Some("/w")),
            (&["/w"], &["/w/sub"], "/w/sub", &[], None),
            (&["/w"], &["/w/sub"], "/w/sub", &["/w/a"], Some("/w")),
            (&["/w", "/v"], &["/w"], "/w", &["/v/x"], Some("/v")),
            (&["/w", "/v"], &["/w"], "/w", &["/x"], None),
            // From outside it may reach anything.
            (&["/w", "/v"], &["/w"], "/tmp", &[], Some("/v")),
            (&["/w"], &["/w"], "/tmp", &[], None),
            (&["/w"], &["/tmp"], "/tmp", &["/w/a"], Some("/w")),
            (&[], &[], "/", &[], Some("/")),
            // The innermost folder is told.
            (&["/w", "/w/sub"], &[], "/w/sub/x", &[], Some("/w/sub")),
        ] {
            let trust = Trust::new();
            for root in trusted {
                trust.set(Path::new(root), true);
            }
            let scene =
                Scene { workdir: path(workdir), roots: roots.iter().map(|root| path(root)).collect(), home: None };
            let reached: Vec<&Path> = reached.iter().map(Path::new).collect();
            assert_eq!(untrusted(&trust, &scene, &reached), expected.map(path), "{roots:?} {trusted:?} {workdir}");
        }
    }

    fn programs(disk: MemoryDisk, line: &str) -> Vec<(String, bool)> {
        programs_in("/w", disk, line)
    }

    fn look(disk: MemoryDisk) -> Look {
        let (programs, _) = PlayedPrograms::new("/w/bin");
        let programs = programs.answering("/w/bin/tool", |_, _| None);
        let ports = Ports { disk: Arc::new(disk), ..Ports::system() };
        let documents = Arc::new(Documents::new());
        let workspace = Arc::new(Workspace::new(ports, Arc::new(Absent), documents));
        Look { workspace, programs: Arc::new(programs), trust: Arc::default() }
    }

    fn programs_in(workdir: &str, disk: MemoryDisk, line: &str) -> Vec<(String, bool)> {
        let look = look(disk);
        let scene = Scene { workdir: workdir.into(), roots: vec!["/w".into()], home: None };
        let line = Line::played(line, Verdict::NeedsApproval, &["cat", "cd"]);
        let found = look.programs(&line, &scene).into_iter();
        found.map(|program| (program.path.display().to_string(), program.hash.is_some())).collect()
    }

    #[test]
    fn the_files_that_a_line_would_run() {
        let disk = || {
            MemoryDisk::new()
                .with_file("/w/x.sh", "x")
                .with_file("/w/sub/y.py", "y")
                .with_file("/w/package.json", "{}")
                .with_file("/w/bin/tool", "t")
                .with_file("/opt/z", "z")
                .with_file("/w/other/package.json", "{}")
                .with_file("/w/other/Makefile", "all:")
                .with_file("/w/rules.mk", "all:")
                .with_link("/w/link", "/w/x.sh")
                .with_link("/w/out", "/opt/z")
        };
        for (line, expected) in [
            ("./x.sh a", &[("/w/x.sh", true)][..]),
            ("/w/link", &[("/w/x.sh", true)]),
            ("bash -e x.sh", &[("/w/x.sh", true)]),
            ("python3.12 sub/y.py x.sh", &[("/w/sub/y.py", true), ("/w/x.sh", true)]),
            ("cd sub && python y.py", &[("/w/sub/y.py", true)]),
            ("npm run test", &[("/w/package.json", true)]),
            ("tool", &[("/w/bin/tool", true)]),
            // Nobody knows what that will be.
            ("./later.sh", &[("/w/./later.sh", false)]),
            // A runner's file may lie above, or where it is told to look.
            ("cd sub && npm run test", &[("/w/package.json", true)]),
            ("npm --prefix other run test", &[("/w/other/package.json", true), ("/w/package.json", true)]),
            ("pnpm --dir=other test", &[("/w/other/package.json", true), ("/w/package.json", true)]),
            ("make -C other -f rules.mk", &[("/w/other/Makefile", true), ("/w/rules.mk", true)]),
            ("node --require=./x.sh -e 1", &[("/w/x.sh", true)]),
            ("bash --rcfile x.sh -i", &[("/w/x.sh", true)]),
            // Where a link of the folder leads is known by what is there.
            ("./out", &[("/opt/z", true)]),
            // What only reads runs nothing; what is elsewhere is the machine's.
            ("cat x.sh", &[]),
            ("/opt/z", &[]),
            ("cargo test", &[]),
            ("$tool x", &[]),
        ] {
            let found = programs(disk(), line);
            let found: Vec<(&str, bool)> = found.iter().map(|(path, known)| (path.as_str(), *known)).collect();
            assert_eq!(found, expected, "{line}");
        }
        assert_eq!(programs_in("/w/sub", disk(), "npm run test"), [("/w/package.json".to_owned(), true)]);
        assert_eq!(programs_in("/w/sub", disk(), "python x.sh"), [], "an interpreter looks nowhere else");
    }

    #[test]
    fn unsaved_text_counts_where_it_is_saved_first() {
        let look = look(MemoryDisk::new().with_file("/w/x.sh", "one"));
        let scene = Scene { workdir: "/w".into(), roots: vec!["/w".into()], home: None };
        let known = || look.known(Path::new("/w/x.sh"), &scene).unwrap().hash.unwrap();
        let saved = known();
        look.workspace.documents.open(Key::File("/w/x.sh".into()), "file:///w/x.sh", "shellscript", 1, "two");
        assert_eq!(known(), saved, "the disk is what runs");
        let settings = Settings { save_before_bash: true, ..Settings::default() };
        look.workspace.set_settings(Arc::new(settings));
        assert_ne!(known(), saved);
        look.workspace.documents.open(Key::File("/w/x.sh".into()), "file:///w/x.sh", "shellscript", 2, "one");
        assert_eq!(known(), saved);
    }

    #[test]
    fn a_file_is_known_by_what_it_holds() {
        let disk = MemoryDisk::new().with_file("/w/a", "one").with_file("/w/b", "one").with_file("/w/c", "two");
        let of = |path: &str| hash(&disk, Path::new(path)).unwrap();
        assert_eq!(of("/w/a"), of("/w/b"));
        assert_ne!(of("/w/a"), of("/w/c"));
        assert!(hash(&disk, Path::new("/w/none")).is_err());
    }
}
