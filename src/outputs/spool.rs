//! An output that is written to the disk while it comes: its beginning in one file, its end in a row of short ones, of
//! which the oldest give way, so that what is kept is bounded however much comes. In the end all of it is one file.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, Read as _, Write};
use std::path::PathBuf;
use std::sync::Arc;

use crate::ports::Disk;

use super::SpillPlace;

/// How much is kept (bytes).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Of the beginning.
    pub head: u64,
    /// In one file of the end.
    pub part: u64,
    /// So many of those are kept, besides the one that is being written.
    pub parts: usize,
}

/// 32 MiB at least, and never more than 40.
pub(super) const BOUNDS: Bounds = Bounds { head: 16 << 20, part: 4 << 20, parts: 4 };

/// Pieces that are copied from file to file (bytes).
const COPIED: usize = 64 * 1024;

/// An output on its way to the disk. Dropped before its end, it leaves nothing.
pub(super) struct Spool {
    disk: Arc<dyn Disk>,
    place: SpillPlace,
    bounds: Bounds,
    head: File,
    parts: VecDeque<File>,
    made: usize,
    dropped: Dropped,
    finished: bool,
}

/// What is not kept of the middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Dropped {
    /// Bytes.
    pub bytes: u64,
    /// Line ends.
    pub lines: usize,
    /// So many line ends are before it.
    pub after: usize,
    /// Lines of ours that stand in its place.
    pub remarks: usize,
}

struct File {
    path: PathBuf,
    to: Box<dyn Write + Send>,
    bytes: u64,
    lines: usize,
    /// Whether the last line has its end.
    ended: bool,
}

impl File {
    fn new(disk: &dyn Disk, path: PathBuf) -> io::Result<File> {
        let to = disk.create_growing(&path)?;
        Ok(File { path, to, bytes: 0, lines: 0, ended: true })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(bytes)?;
        self.bytes += bytes.len() as u64;
        self.lines += memchr::memchr_iter(b'\n', bytes).count();
        self.ended = bytes.last().map_or(self.ended, |last| *last == b'\n');
        Ok(())
    }
}

/// An output that is on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spooled {
    pub path: PathBuf,
    pub bytes: u64,
    /// Line ends.
    pub lines: usize,
    pub dropped: Dropped,
}

impl Spool {
    /// Makes the file. Blocking, as all of this.
    pub(super) fn new(place: &SpillPlace, session: &str, bounds: Bounds) -> io::Result<Spool> {
        let disk = Arc::clone(place.disk());
        let head = File::new(&*disk, place.growing(session)?)?;
        let parts = VecDeque::new();
        Ok(Spool {
            disk,
            place: place.clone(),
            bounds,
            head,
            parts,
            made: 0,
            dropped: Dropped::default(),
            finished: false,
        })
    }

    /// Puts some text at the end; best whole lines.
    pub(super) fn write(&mut self, text: &str) -> io::Result<()> {
        if self.parts.is_empty() && self.head.bytes < self.bounds.head {
            return self.head.write(text.as_bytes());
        }
        if self.parts.back().is_none_or(|part| part.bytes >= self.bounds.part) {
            let path = self.head.path.with_extension(format!("{}.part", self.made));
            self.made += 1;
            self.parts.push_back(File::new(&*self.disk, path)?);
            if self.parts.len() > self.bounds.parts + 1
                && let Some(oldest) = self.parts.pop_front()
            {
                self.dropped.bytes += oldest.bytes;
                self.dropped.lines += oldest.lines;
                self.place.remove(&[oldest.path]);
            }
        }
        match self.parts.back_mut() {
            Some(part) => part.write(text.as_bytes()),
            None => Ok(()),
        }
    }

    /// Makes one file of it.
    pub(super) fn finish(mut self) -> io::Result<Spooled> {
        if self.dropped.bytes > 0 {
            self.dropped.after = self.head.lines;
            let mut remark = String::new();
            if !self.head.ended {
                remark.push('\n');
            }
            let Dropped { bytes, lines, .. } = self.dropped;
            let _ = writeln!(remark, "[{bytes} bytes, {lines} lines, are kept nowhere: the output is too long]");
            self.head.write(remark.as_bytes())?;
            self.dropped.remarks = self.head.lines - self.dropped.after;
        }
        let mut buffer = vec![0; COPIED];
        while let Some(part) = self.parts.front() {
            let mut from = self.disk.open(&part.path)?;
            while let count @ 1.. = from.read(&mut buffer)? {
                self.head.write(&buffer[..count])?;
            }
            let copied = self.parts.pop_front();
            self.place.remove(&copied.map(|part| part.path).into_iter().collect::<Vec<_>>());
        }
        self.head.to.flush()?;
        self.finished = true;
        let File { path, bytes, lines, .. } = &self.head;
        Ok(Spooled { path: path.clone(), bytes: *bytes, lines: *lines, dropped: self.dropped })
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        let mut files: Vec<PathBuf> = self.parts.drain(..).map(|part| part.path).collect();
        if !self.finished {
            files.push(self.head.path.clone());
        }
        self.place.remove(&files);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::{MemoryDisk, Operation};
    use std::path::Path;

    fn place(disk: &Arc<MemoryDisk>) -> SpillPlace {
        SpillPlace::new(disk.clone(), Path::new("/state"), 7)
    }

    fn files(disk: &MemoryDisk) -> usize {
        disk.read_dir(Path::new("/state/outputs")).map_or(0, |entries| entries.len())
    }

    const SMALL: Bounds = Bounds { head: 10, part: 10, parts: 2 };

    /// Writes rows `a0` to `a<count>` and gives what is on the disk in the end.
    fn rows(count: usize) -> (String, Spooled) {
        let disk = Arc::new(MemoryDisk::new());
        let mut spool = Spool::new(&place(&disk), "s", SMALL).unwrap();
        for row in 0..count {
            spool.write(&format!("a{row}\n")).unwrap();
        }
        let spooled = spool.finish().unwrap();
        assert_eq!(files(&disk), 1);
        let text = String::from_utf8(disk.bytes(&spooled.path).unwrap()).unwrap();
        assert_eq!((spooled.bytes, spooled.lines), (text.len() as u64, text.matches('\n').count()));
        (text, spooled)
    }

    #[test]
    fn what_is_not_too_long_is_whole() {
        for count in [0, 1, 4, 5, 12, 14] {
            let (text, spooled) = rows(count);
            let expected: Vec<String> = (0..count).map(|row| format!("a{row}\n")).collect();
            assert_eq!(text, expected.concat());
            assert_eq!(spooled.dropped, Dropped::default());
        }
    }

    #[test]
    fn of_the_middle_of_what_is_too_long_it_is_told_how_much_is_gone() {
        let (text, spooled) = rows(100);
        let (head, rest) = text.split_once('[').unwrap();
        let (remark, tail) = rest.split_once("]\n").unwrap();
        assert_eq!(head, "a0\na1\na2\na3\n");
        assert!(tail.ends_with("a98\na99\n") && tail.len() >= 20 && tail.len() <= 40, "{tail}");
        let Dropped { bytes, lines, after, remarks } = spooled.dropped;
        assert_eq!((lines + 4 + tail.matches('\n').count(), after, remarks), (100, 4, 1));
        let shown = (head.len() + tail.len()) as u64;
        assert_eq!(bytes + shown, 390, "nothing is counted twice");
        assert_eq!(remark, format!("{bytes} bytes, {lines} lines, are kept nowhere: the output is too long"));
    }

    #[test]
    fn a_beginning_without_a_line_end_gets_one_before_the_remark() {
        let disk = Arc::new(MemoryDisk::new());
        let mut spool = Spool::new(&place(&disk), "s", SMALL).unwrap();
        for _ in 0..8 {
            spool.write("0123456789").unwrap();
        }
        let spooled = spool.finish().unwrap();
        assert_eq!((spooled.dropped.remarks, spooled.dropped.bytes), (2, 40));
        assert!(disk.bytes(&spooled.path).unwrap().starts_with(b"0123456789\n[40 bytes, 0 lines, "));
    }

    #[test]
    fn what_fails_or_is_dropped_leaves_nothing() {
        let disk = Arc::new(MemoryDisk::new());
        let mut spool = Spool::new(&place(&disk), "s", SMALL).unwrap();
        for _ in 0..8 {
            spool.write("0123456789").unwrap();
        }
        assert!(files(&disk) > 1);
        drop(spool);
        assert_eq!(files(&disk), 0);
        let mut spool = Spool::new(&place(&disk), "s", SMALL).unwrap();
        disk.fail(Operation::Grow, &spool.head.path, io::ErrorKind::StorageFull);
        assert_eq!(spool.write("x").unwrap_err().kind(), io::ErrorKind::StorageFull);
        drop(spool);
        assert_eq!(files(&disk), 0);
    }
}
