//! Programs that a project brings with it, bound to what they held when they were first run in a trusted folder.
//!
//! Trust is given to a folder as it is. Another content under the same name (a branch that was checked out, a package that
//! was updated, a tool that wrote there) runs only after a new grant. What is remembered lives as long as we do: with us
//! the trust ends that the editor told us of. Of a script that loads others, the script is bound and not what it loads.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sha2::{Digest as _, Sha256};

use crate::ports::Disk;

/// Bytes that are read at once.
const PIECE: usize = 64 * 1024;

/// What is remembered of each program, by its path.
#[derive(Debug, Default)]
pub(super) struct Bound(Mutex<HashMap<PathBuf, (u64, Vec<u8>)>>);

/// What is to be thought of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judgement {
    /// It was not known under this grant; now it is.
    New,
    /// It is what it was.
    Same,
    /// It is another one.
    Changed,
}

impl Bound {
    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, (u64, Vec<u8>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a program was judged before.
    pub(super) fn knows(&self, program: &Path) -> bool {
        self.lock().contains_key(program)
    }

    /// Looks at a program that is about to run under a grant of trust (links are followed). Blocking; errors are the
    /// disk's.
    pub(super) fn judge(&self, disk: &dyn Disk, program: &Path, grant: u64) -> io::Result<Judgement> {
        let hash = hash(disk, program)?;
        let mut bound = self.lock();
        Ok(match bound.get(program) {
            Some((under, known)) if *under == grant && *known == hash => Judgement::Same,
            Some((under, _)) if *under == grant => Judgement::Changed,
            _ => {
                bound.insert(program.to_owned(), (grant, hash));
                Judgement::New
            }
        })
    }
}

fn hash(disk: &dyn Disk, path: &Path) -> io::Result<Vec<u8>> {
    let mut file = disk.open(path)?;
    let mut hash = Sha256::new();
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hash.finalize().to_vec()),
            count => hash.update(&piece[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::MemoryDisk;

    #[test]
    fn a_program_is_bound_to_its_content_under_each_grant() {
        let bound = Bound::default();
        let path = Path::new("/w/node_modules/.bin/x");
        let judge = |content: &str, grant: u64| {
            let disk = MemoryDisk::new().with_file("/w/node_modules/.bin/x", content);
            bound.judge(&disk, path, grant).unwrap()
        };
        assert!(!bound.knows(path));
        let steps = [
            ("one", 1, Judgement::New),
            ("one", 1, Judgement::Same),
            ("two", 1, Judgement::Changed),
            ("two", 1, Judgement::Changed),
            ("one", 1, Judgement::Same),
            ("two", 2, Judgement::New),
            ("one", 2, Judgement::Changed),
            ("two", 2, Judgement::Same),
        ];
        for (content, grant, expected) in steps {
            assert_eq!(judge(content, grant), expected, "{content} under {grant}");
        }
        assert!(bound.knows(path));
        assert!(bound.judge(&MemoryDisk::new(), path, 2).is_err(), "what cannot be read is not run");
    }
}
