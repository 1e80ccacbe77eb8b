//! A long output where it is kept: files one after the other, words of ours between them, and what the disk had no room
//! for. To who reads it, one text.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

use crate::ports::{Disk, ReadSeek};

use super::Index;
use super::scan::changed;

/// Where a long output is, and where its lines are in it. Cheap to copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spilled {
    parts: Arc<[Part]>,
    index: Arc<Index>,
}

/// Some of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// So many bytes from the beginning of a file. What the file has behind them, as of a write that failed midway, is not
    /// of it.
    File(PathBuf, u64),
    /// In memory.
    Text(Arc<str>),
}

impl Spilled {
    /// What is in those, one after the other.
    pub(super) fn new(parts: Vec<Part>, index: Index) -> Spilled {
        Spilled { parts: parts.into(), index: Arc::new(index) }
    }

    /// All of it is in one file.
    pub fn in_file(path: PathBuf, index: Index) -> Spilled {
        Spilled::new(vec![Part::File(path, index.bytes())], index)
    }

    /// Where its lines are.
    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// Its files.
    pub fn files(&self) -> Vec<PathBuf> {
        let file = |part: &Part| match part {
            Part::File(path, _) => Some(path.clone()),
            Part::Text(_) => None,
        };
        self.parts.iter().filter_map(file).collect()
    }

    /// So many bytes of it are in memory.
    pub fn in_memory(&self) -> usize {
        let text = |part: &Part| match part {
            Part::File(..) => 0,
            Part::Text(text) => text.len(),
        };
        self.parts.iter().map(text).sum()
    }

    /// Opens all of it; an error when a file is gone or shorter than what was written to it. Blocking.
    pub(super) fn open(&self, disk: &dyn Disk) -> io::Result<Chain> {
        let (mut links, mut end) = (Vec::with_capacity(self.parts.len()), 0);
        for part in &*self.parts {
            let (from, bytes): (Box<dyn ReadSeek>, u64) = match part {
                Part::File(path, bytes) => (disk.open_seekable(path)?, *bytes),
                Part::Text(text) => (Box::new(shared(Arc::clone(text))), text.len() as u64),
            };
            let (start, mut from) = (end, from);
            if from.seek(SeekFrom::End(0))? < bytes {
                return Err(changed());
            }
            end += bytes;
            links.push(Link { from, start, end });
        }
        Ok(Chain { links, at: 0 })
    }
}

/// A reader of a text that is shared.
pub(super) fn shared(text: Arc<str>) -> io::Cursor<impl AsRef<[u8]> + Send> {
    struct Shared(Arc<str>);

    impl AsRef<[u8]> for Shared {
        fn as_ref(&self) -> &[u8] {
            self.0.as_bytes()
        }
    }

    io::Cursor::new(Shared(text))
}

/// Readers one after the other, as one.
pub(super) struct Chain {
    links: Vec<Link>,
    at: u64,
}

struct Link {
    from: Box<dyn ReadSeek>,
    /// What it has is from here to there in the whole (bytes).
    start: u64,
    end: u64,
}

impl Read for Chain {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let at = self.at;
        let here = self.links.partition_point(|link| link.end <= at);
        let Some(Link { from, start, end }) = self.links.get_mut(here) else { return Ok(0) };
        let most = usize::try_from(*end - at).unwrap_or(usize::MAX).min(buffer.len());
        from.seek(SeekFrom::Start(at - *start))?;
        let count = from.read(&mut buffer[..most])?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Chain {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let end = self.links.last().map_or(0, |link| link.end);
        let to = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => end.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = to.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::MemoryDisk;

    /// `ab`, `cde`, nothing, and `f`, of which the second is a text; the last file has more than it should.
    fn spilled(disk: &MemoryDisk) -> Spilled {
        disk.put("/a", "ab");
        disk.put("/b", "");
        disk.put("/c", "f and the half of what had no room");
        let parts = vec![
            Part::File("/a".into(), 2),
            Part::Text(Arc::from("cde")),
            Part::File("/b".into(), 0),
            Part::File("/c".into(), 1),
        ];
        Spilled::new(parts, Index::of("abcdef"))
    }

    #[test]
    fn parts_are_read_as_one_text_from_anywhere() {
        let disk = MemoryDisk::new();
        let spilled = spilled(&disk);
        assert_eq!((spilled.in_memory(), spilled.files().len(), spilled.index().bytes()), (3, 3, 6));
        let mut chain = spilled.open(&disk).unwrap();
        for from in 0..=8 {
            let mut text = String::new();
            chain.seek(SeekFrom::Start(from as u64)).unwrap();
            chain.read_to_string(&mut text).unwrap();
            assert_eq!(text, "abcdef".get(from..).unwrap_or_default(), "{from}");
        }
        assert_eq!((chain.seek(SeekFrom::End(-2)).unwrap(), chain.seek(SeekFrom::Current(-1)).unwrap()), (4, 3));
        assert!(chain.seek(SeekFrom::Current(-9)).is_err());
    }

    #[test]
    fn a_file_that_is_gone_or_short_is_an_error() {
        let disk = MemoryDisk::new();
        let spilled = spilled(&disk);
        disk.put("/a", "a");
        assert_eq!(spilled.open(&disk).err().map(|error| error.kind()), Some(io::ErrorKind::InvalidData));
        disk.take_away("/a");
        assert_eq!(spilled.open(&disk).err().map(|error| error.kind()), Some(io::ErrorKind::NotFound));
    }
}
