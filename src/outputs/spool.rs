//! An output that is written to the disk while it comes: in one file, and once that is as long as it may be, the end in a
//! row of short ones, of which the oldest give way, so that what is kept is bounded however much comes. Once the disk takes
//! no more, what is there stays. In the end it is known where all of it is, where its lines are, and what is kept nowhere.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use crate::ports::Disk;

use super::spilled::{Part, Spilled};
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

/// An output on its way to the disk. Dropped before its end, it leaves nothing.
pub(super) struct Spool {
    disk: Arc<dyn Disk>,
    place: SpillPlace,
    bounds: Bounds,
    head: File,
    parts: VecDeque<File>,
    made: usize,
    /// Of the parts that gave way (bytes, line ends).
    dropped: (u64, usize),
    finished: bool,
}

/// What is kept nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Gap {
    /// Bytes.
    pub bytes: u64,
    /// Line ends.
    pub lines: usize,
    /// So many line ends of the output are before it.
    pub after: usize,
    /// Line ends of ours that stand in its place.
    pub remarks: usize,
}

/// What came after the disk took no more.
#[derive(Clone, Copy)]
pub(super) struct Rest<'a> {
    /// The end of it, which is at hand, at most so much as came.
    pub text: &'a str,
    /// So much came before that (bytes, line ends).
    pub lost: (u64, usize),
    /// Why the disk took no more.
    pub why: io::ErrorKind,
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
    pub spilled: Spilled,
    /// What is kept nowhere, in its order.
    pub gaps: Vec<Gap>,
    /// The same in words, each as it stands there.
    pub told: Vec<String>,
}

impl Spooled {
    /// The line that a line of the output (both 1-based) is of what is kept, if it is.
    pub(super) fn line(&self, line: usize) -> Option<usize> {
        let mut now = line;
        for gap in &self.gaps {
            if line > gap.after + gap.lines {
                now = now - gap.lines + gap.remarks;
            } else if line > gap.after {
                return None;
            }
        }
        Some(now)
    }
}

impl Spool {
    /// Makes the file. Blocking, as all of this.
    pub(super) fn new(place: &SpillPlace, session: &str, bounds: Bounds) -> io::Result<Spool> {
        let disk = Arc::clone(place.disk());
        let head = File::new(&*disk, place.growing(session)?)?;
        let parts = VecDeque::new();
        Ok(Spool { disk, place: place.clone(), bounds, head, parts, made: 0, dropped: (0, 0), finished: false })
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
                self.dropped.0 += oldest.index.bytes();
                self.dropped.1 += oldest.index.line_ends();
                self.place.remove(&[oldest.path]);
            }
        }
        match self.parts.back_mut() {
            Some(part) => part.write(text),
            None => Ok(()),
        }
    }

    /// How much was written, what gave way since among it (bytes, line ends).
    pub(super) fn written(&self) -> (u64, usize) {
        let files = std::iter::once(&self.head).chain(&self.parts);
        files.fold(self.dropped, |(bytes, lines), file| (bytes + file.index.bytes(), lines + file.index.line_ends()))
    }

    /// The end. `rest`: what came since a write failed.
    pub(super) fn finish(mut self, rest: Option<Rest<'_>>) -> Spooled {
        let (_, lines_written) = self.written();
        let mut whole = Whole::default();
        let head = self.head.index.line_ends();
        whole.file(self.head.path.clone(), &self.head.index);
        if self.dropped.0 > 0 {
            whole.gap(self.dropped, head, "the output is too long");
        }
        for File { path, index, .. } in self.parts.drain(..) {
            whole.file(path, &index);
        }
        if let Some(Rest { text, lost, why }) = rest {
            if lost.0 > 0 {
                whole.gap(lost, lines_written, &format!("the disk took no more ({why})"));
            }
            whole.text(text);
        }
        self.finished = true;
        let Whole { parts, index, gaps, told } = whole;
        Spooled { spilled: Spilled::new(parts, index), gaps, told }
    }
}

/// What is kept, as it is put together.
#[derive(Default)]
struct Whole {
    parts: Vec<Part>,
    index: Index,
    gaps: Vec<Gap>,
    told: Vec<String>,
}

impl Whole {
    fn file(&mut self, path: PathBuf, index: &Index) {
        self.index.append(index);
        self.parts.push(Part::File(path, index.bytes()));
    }

    fn text(&mut self, text: &str) {
        self.index.append(&Index::of(text));
        self.parts.push(Part::Text(Arc::from(text)));
    }

    /// Tells what is kept nowhere (bytes, line ends), after so many line ends of the output.
    fn gap(&mut self, (bytes, lines): (u64, usize), after: usize, why: &str) {
        let remark = format!("[{bytes} bytes, {lines} lines, are kept nowhere: {why}]");
        let begin = if self.index.ends_line() { "" } else { "\n" };
        self.text(&format!("{begin}{remark}\n"));
        self.gaps.push(Gap { bytes, lines, after, remarks: begin.len() + 1 });
        self.told.push(remark);
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
    use std::io::Read as _;

    fn place(disk: &Arc<MemoryDisk>) -> SpillPlace {
        SpillPlace::in_memory(disk)
    }

    const SMALL: Bounds = Bounds { head: 10, part: 10, parts: 2 };

    fn text(disk: &MemoryDisk, spooled: &Spooled) -> String {
        let mut text = String::new();
        spooled.spilled.open(disk).unwrap().read_to_string(&mut text).unwrap();
        let index = spooled.spilled.index();
        assert_eq!(index.bytes(), text.len() as u64);
        assert_eq!((index.line_ends(), index.line_count()), (text.matches('\n').count(), text.lines().count()));
        text
    }

    /// Writes rows `a0` to `a<count>` and gives what is kept in the end.
    fn rows(count: usize) -> (String, Spooled) {
        let disk = Arc::new(MemoryDisk::new());
        let mut spool = Spool::new(&place(&disk), "s", SMALL).unwrap();
        for row in 0..count {
            spool.write(&format!("a{row}\n")).unwrap();
        }
        let spooled = spool.finish(None);
        assert_eq!(SpillPlace::files(&disk).len(), spooled.spilled.files().len());
        (text(&disk, &spooled), spooled)
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
            assert_eq!((spooled.gaps, spooled.told), (Vec::new(), Vec::new()));
        }
    }

    #[test]
    fn of_the_middle_of_what_is_too_long_it_is_told_how_much_is_gone() {
        let (text, spooled) = rows(100);
        let (head, rest) = text.split_once('[').unwrap();
        let (remark, tail) = rest.split_once("]\n").unwrap();
        assert_eq!(head, "a0\na1\na2\na3\n");
        assert!(tail.ends_with("a98\na99\n") && tail.len() >= 20 && tail.len() <= 40, "{tail}");
        let Gap { bytes, lines, after, remarks } = spooled.gaps[0];
        assert_eq!((lines + 4 + tail.matches('\n').count(), after, remarks), (100, 4, 1));
        let shown = (head.len() + tail.len()) as u64;
        assert_eq!(bytes + shown, 390, "nothing is counted twice");
        assert_eq!(remark, format!("{bytes} bytes, {lines} lines, are kept nowhere: the output is too long"));
        assert_eq!(spooled.told, [format!("[{remark}]")]);
        for (at, line) in text.lines().enumerate().filter(|(_, line)| line.starts_with('a')) {
            assert_eq!(spooled.line(line[1..].parse::<usize>().unwrap() + 1), Some(at + 1));
        }
        assert_eq!((spooled.line(5), spooled.line(4 + lines)), (None, None));
    }

    #[test]
    fn a_beginning_without_a_line_end_gets_one_before_the_remark() {
        let disk = Arc::new(MemoryDisk::new());
        let mut spool = Spool::new(&place(&disk), "s", SMALL).unwrap();
        for _ in 0..8 {
            spool.write("0123456789").unwrap();
        }
        let spooled = spool.finish(None);
        assert_eq!((spooled.gaps[0].remarks, spooled.gaps[0].bytes), (2, 40));
        assert!(text(&disk, &spooled).starts_with("0123456789\n[40 bytes, 0 lines, "));
    }

    #[test]
    fn once_the_disk_is_full_what_is_there_stays_and_what_is_lost_is_told() {
        for written in 1..9 {
            let disk = Arc::new(MemoryDisk::new());
            let mut spool = Spool::new(&place(&disk), "s", SMALL).unwrap();
            for row in 0..written {
                spool.write(&format!("row {row} {row}\n")).unwrap();
            }
            let last = spool.parts.back().unwrap_or(&spool.head).path.clone();
            let next = spool.head.path.with_extension(format!("{}.part", spool.made));
            for path in [last, next] {
                disk.fail(Operation::Grow, path, io::ErrorKind::StorageFull);
            }
            spool.write("too").unwrap_err();
            let rest = |lost| Some(Rest { text: "end\n", lost, why: io::ErrorKind::StorageFull });
            assert_eq!(spool.written(), (written * 8, usize::try_from(written).unwrap()));
            let spooled = spool.finish(rest((30, 3)));
            let text = text(&disk, &spooled);
            let rows = text.lines().filter(|line| line.starts_with("row")).count();
            let lost = "[30 bytes, 3 lines, are kept nowhere: the disk took no more (no storage space)]";
            assert!(text.ends_with(&format!("row {0} {0}\n{lost}\nend\n", written - 1)), "{text}");
            assert_eq!(spooled.told.last().map(String::as_str), Some(lost));
            let gone: usize = spooled.gaps.iter().map(|gap| gap.lines).sum();
            assert_eq!(rows + gone, usize::try_from(written).unwrap() + 3);
            assert_eq!(spooled.line(usize::try_from(written).unwrap() + 4), Some(text.lines().count()));
            assert_eq!(spooled.line(usize::try_from(written).unwrap() + 3), None);
        }
    }

    #[test]
    fn what_is_dropped_leaves_nothing() {
        let disk = Arc::new(MemoryDisk::new());
        let mut spool = Spool::new(&place(&disk), "s", SMALL).unwrap();
        for _ in 0..8 {
            spool.write("0123456789").unwrap();
        }
        assert!(SpillPlace::files(&disk).len() > 1);
        drop(spool);
        assert_eq!(SpillPlace::files(&disk).len(), 0);
    }
}
