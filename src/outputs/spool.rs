//! An output that is written to the disk while it comes: in one file, and once that is as long as it may be, the end in a
//! row of short ones, of which the oldest give way, so that what is kept is bounded however much comes. In the end all of
//! it is one file, and where its lines are is known.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, Read as _, Write};
use std::path::PathBuf;
use std::sync::Arc;

use crate::ports::Disk;

use super::{Index, SpillPlace};

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

/// The least that may be kept (bytes): less would be hardly more than what stays in memory.
const LEAST: u64 = 16 << 20;

impl Bounds {
    /// All of what has at most so many bytes, and of what is longer seven eighths of that from the beginning and about the last
    /// eighth from the end.
    pub(super) fn of(most: u64) -> Bounds {
        let most = most.max(LEAST);
        Bounds { head: most - most / 8, part: most / 64, parts: 7 }
    }
}

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
    index: Index,
}

impl File {
    fn new(disk: &dyn Disk, path: PathBuf) -> io::Result<File> {
        let to = disk.create_growing(&path)?;
        Ok(File { path, to, index: Index::default() })
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.to.write_all(text.as_bytes())?;
        self.index.push(text);
        Ok(())
    }
}

/// An output that is on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spooled {
    pub path: PathBuf,
    pub index: Index,
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
        if self.parts.is_empty() && self.head.index.bytes() < self.bounds.head {
            return self.head.write(text);
        }
        if self.parts.back().is_none_or(|part| part.index.bytes() >= self.bounds.part) {
            let path = self.head.path.with_extension(format!("{}.part", self.made));
            self.made += 1;
            self.parts.push_back(File::new(&*self.disk, path)?);
            if self.parts.len() > self.bounds.parts + 1
                && let Some(oldest) = self.parts.pop_front()
            {
                self.dropped.bytes += oldest.index.bytes();
                self.dropped.lines += oldest.index.line_ends();
                self.place.remove(&[oldest.path]);
            }
        }
        match self.parts.back_mut() {
            Some(part) => part.write(text),
            None => Ok(()),
        }
    }

    /// Makes one file of it.
    pub(super) fn finish(mut self) -> io::Result<Spooled> {
        if self.dropped.bytes > 0 {
            self.dropped.after = self.head.index.line_ends();
            let mut remark = String::new();
            if !self.head.index.ends_line() {
                remark.push('\n');
            }
            let Dropped { bytes, lines, .. } = self.dropped;
            let _ = writeln!(remark, "[{bytes} bytes, {lines} lines, are kept nowhere: the output is too long]");
            self.head.write(&remark)?;
            self.dropped.remarks = self.head.index.line_ends() - self.dropped.after;
        }
        let mut buffer = vec![0; COPIED];
        while let Some(part) = self.parts.front() {
            let mut from = self.disk.open(&part.path)?;
            while let count @ 1.. = from.read(&mut buffer)? {
                self.head.to.write_all(&buffer[..count])?;
            }
            if let Some(copied) = self.parts.pop_front() {
                self.head.index.append(&copied.index);
                self.place.remove(&[copied.path]);
            }
        }
        self.head.to.flush()?;
        self.finished = true;
        let index = std::mem::take(&mut self.head.index);
        Ok(Spooled { path: self.head.path.clone(), index, dropped: self.dropped })
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

    fn place(disk: &Arc<MemoryDisk>) -> SpillPlace {
        SpillPlace::in_memory(disk)
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
        assert_eq!(SpillPlace::files(&disk).len(), 1);
        let text = String::from_utf8(disk.bytes(&spooled.path).unwrap()).unwrap();
        assert_eq!(spooled.index.bytes(), text.len() as u64);
        assert_eq!((spooled.index.line_ends(), spooled.index.ends_line()), (text.matches('\n').count(), true));
        (text, spooled)
    }

    #[test]
    fn what_is_within_the_bound_is_whole_whatever_the_bound() {
        for most in [0, LEAST, 64 << 20, (1 << 30) + 5, u64::MAX / 2] {
            let Bounds { head, part, parts } = Bounds::of(most);
            // One more than those that are kept is being written.
            let (whole, longest) = (head + part * (parts as u64 + 1), most.max(LEAST));
            assert!(whole <= longest && longest - whole < 64, "{most}");
        }
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
        assert!(SpillPlace::files(&disk).len() > 1);
        drop(spool);
        assert_eq!(SpillPlace::files(&disk).len(), 0);
        let mut spool = Spool::new(&place(&disk), "s", SMALL).unwrap();
        disk.fail(Operation::Grow, &spool.head.path, io::ErrorKind::StorageFull);
        assert_eq!(spool.write("x").unwrap_err().kind(), io::ErrorKind::StorageFull);
        drop(spool);
        assert_eq!(SpillPlace::files(&disk).len(), 0);
    }
}
