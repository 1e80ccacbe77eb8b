//! Command lines of a call, looked into where the disk has to be asked: where the files really are that they name, which
//! files of the workspace they would run and what these hold, and whether the folders are trusted.

use std::fmt::Write as _;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::permissions::shell::{Scene, Touched, Word};
use crate::permissions::{Line, Program, Trust, candidates, is_sink};
use crate::ports::{Disk, FileKind, env};
use crate::process::Programs;
use crate::workspace::{Key, Refusal, Target, Workspace};

/// Files with more bytes are not read to know them again: consent to run them counts once.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// At most so many files of one line are looked at.
const MOST_FILES: usize = 64;

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
        for command in commands {
            let mut line = Line::looked_into(command, &scene);
            let reads = self.places(&line.analysis.reads);
            let writes = self.places(&line.analysis.writes);
            line.programs = self.programs(&line, &scene);
            let paths = reads.iter().chain(&writes).flat_map(|(_, target)| &target.paths);
            let paths: Vec<&Path> =
                paths.map(PathBuf::as_path).chain(line.programs.iter().map(|program| program.path.as_path())).collect();
            line.untrusted = untrusted(&self.trust, &scene, &paths);
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
                    found.extend(real.into_iter().filter_map(|path| self.known(path, scene)));
                }
            } else if let Some(path) = self.programs.find(program, &[]) {
                found.extend(disk.canonicalize(&path).ok().and_then(|path| self.known(path, scene)));
            }
            if !step.read_only {
                let named = dirs.iter().flat_map(|dir| files.iter().take(MOST_FILES).map(move |file| dir.join(file)));
                let real = named.filter_map(|path| disk.canonicalize(&path).ok());
                found.extend(real.filter_map(|path| self.known(path, scene)));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// A file by what it holds, if it is one of the workspace folders.
    fn known(&self, path: PathBuf, scene: &Scene) -> Option<Program> {
        let disk = &*self.workspace.ports.disk;
        if !scene.roots.iter().any(|root| path.starts_with(root))
            || disk.metadata(&path).is_ok_and(|of| of.kind == FileKind::Directory)
        {
            return None;
        }
        let hash = hash(disk, &path).ok();
        Some(Program { path, hash })
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
        match root(&scene.workdir).or_else(missing) {
            Some(root) => return Some(root.clone()),
            None if scene.roots.is_empty() => return Some(scene.workdir.clone()),
            None => {}
        }
    }
    let mut reached = paths.iter().filter(|path| !trust.covers(path));
    reached.find_map(|path| root(path)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let (programs, _) = PlayedPrograms::new("/w/bin");
        let programs = programs.answering("/w/bin/tool", |_, _| None);
        let ports = Ports { disk: Arc::new(disk), ..Ports::system() };
        let documents = Arc::new(Documents::new());
        let workspace = Arc::new(Workspace::new(ports, Arc::new(Absent), documents));
        let look = Look { workspace, programs: Arc::new(programs), trust: Arc::default() };
        let scene = Scene { workdir: "/w".into(), roots: vec!["/w".into()], home: None };
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
            // What only reads runs nothing; what is elsewhere is the machine's.
            ("cat x.sh", &[]),
            ("./out", &[]),
            ("cargo test", &[]),
            ("$tool x", &[]),
        ] {
            let found = programs(disk(), line);
            let found: Vec<(&str, bool)> = found.iter().map(|(path, known)| (path.as_str(), *known)).collect();
            assert_eq!(found, expected, "{line}");
        }
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
