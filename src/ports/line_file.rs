//! A file of lines that the user named, for their eyes only: made anew, added to at its end, whole line by whole line.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::{Disk as _, FileKind, SystemDisk};

/// The file. It is held open, so that it stays the same one whatever becomes of its name.
#[derive(Debug)]
pub struct LineFile {
    path: PathBuf,
    file: File,
    /// Its length (bytes), up to the end of the last whole line.
    len: u64,
}

impl LineFile {
    /// A new file (mode 0600). One that is there is an error of the kind [`io::ErrorKind::AlreadyExists`]; with `over`, a
    /// regular file is removed first.
    pub fn make(path: &Path, over: bool) -> io::Result<LineFile> {
        if over && SystemDisk.link_metadata(path).is_ok_and(|found| found.kind == FileKind::File) {
            rustix::fs::unlink(path)?;
        }
        let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        Ok(LineFile { path: std::path::absolute(path)?, file, len: 0 })
    }

    /// Adds lines, each with its end. What cannot be written whole is taken away again, as far as that can be done.
    pub fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(lines) {
            let _ = self.file.set_len(self.len).and_then(|()| self.file.seek(SeekFrom::Start(self.len)));
            return Err(error);
        }
        self.len += lines.len() as u64;
        Ok(())
    }

    /// Puts other lines in the place of those that are there, all of them or none: `edit` gives another for a line, each
    /// without its end. An error of the kind [`io::ErrorKind::NotFound`]: the file does not have its name any more.
    pub fn rewrite(&mut self, edit: &mut dyn FnMut(&str) -> Option<String>) -> io::Result<()> {
        let (named, held) = (rustix::fs::lstat(&self.path)?, rustix::fs::fstat(&self.file)?);
        if (named.st_dev, named.st_ino) != (held.st_dev, held.st_ino) {
            return Err(io::Error::new(io::ErrorKind::NotFound, "another file has its name"));
        }
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        // Files made so are for their owner alone (mode 0600).
        let mut aside = tempfile::Builder::new().prefix(".ropewalk-").tempfile_in(folder)?;
        let mut out = BufWriter::new(aside.as_file_mut());
        self.file.seek(SeekFrom::Start(0))?;
        let mut len = 0;
        for line in BufReader::new(&mut self.file).lines() {
            let line = line?;
            let line = edit(&line).unwrap_or(line);
            len += line.len() as u64 + 1;
            writeln!(out, "{line}")?;
        }
        out.flush()?;
        drop(out);
        self.file = aside.persist(&self.path).map_err(|fault| fault.error)?;
        self.len = len;
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test looks at what is on the disk")]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_private_and_never_somebody_elses() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut file = LineFile::make(&path, false).unwrap();
        file.append(b"one\ntwo\n").unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(LineFile::make(&path, false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        LineFile::make(&path, true).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for over in [false, true] {
            assert!(LineFile::make(&link, over).is_err(), "a link is not followed");
        }
    }

    #[test]
    fn lines_are_put_in_the_place_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut file = LineFile::make(&path, false).unwrap();
        file.append(b"one\ntwo\n").unwrap();
        file.rewrite(&mut |line| (line == "one").then(|| "1".to_owned())).unwrap();
        file.append(b"three\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1\ntwo\nthree\n");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(file.rewrite(&mut |_| None).unwrap_err().kind(), io::ErrorKind::NotFound);
        file.append(b"nobody reads this\n").unwrap();
        std::fs::write(&path, "theirs").unwrap();
        assert_eq!(file.rewrite(&mut |_| None).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "theirs");
    }
}
