//! A file while it is searched: what cannot go on ends the reading, and why is known.

use std::io::{self, Read};

use super::Run;
use super::foreign::{Sentinel, utf16};

/// Why reading was ended before the end of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Halt {
    /// The search was stopped.
    Stopped,
    /// It is not UTF-8, and that makes a difference.
    Foreign,
    /// It is binary, by the byte at this offset (0-based).
    Binary(u64),
    /// It is too long to be held in memory.
    Long,
}

/// A reader that fails when there is no sense in going on.
pub(super) struct Watched<'a, R> {
    inner: R,
    run: &'a Run,
    /// So many bytes are held in memory at most, by a search that holds all of a file.
    most: Option<usize>,
    sentinel: Option<Sentinel>,
    utf16: bool,
    /// Bytes so far.
    read: u64,
    /// Why it failed.
    pub halt: Option<Halt>,
}

impl<'a, R: Read> Watched<'a, R> {
    /// `most`: so many bytes at most, where all of a file is held in memory; such a file is looked through for NUL bytes on
    /// the way, so that no large binary file is. `utf8`: whether what is not UTF-8 ends it.
    pub(super) fn new(inner: R, run: &'a Run, most: Option<usize>, utf8: bool) -> Watched<'a, R> {
        Watched { inner, run, most, sentinel: utf8.then(Sentinel::default), utf16: false, read: 0, halt: None }
    }

    fn look(&mut self, bytes: &[u8]) -> Option<Halt> {
        let before = self.read;
        self.read += bytes.len() as u64;
        if before == 0 && utf16(bytes) {
            self.utf16 = true;
            self.sentinel = None;
        }
        if let Some(most) = self.most {
            if !self.utf16
                && let Some(at) = memchr::memchr(0, bytes)
            {
                return Some(Halt::Binary(before + at as u64));
            }
            if self.read > most as u64 {
                return Some(Halt::Long);
            }
        }
        let passes = match &mut self.sentinel {
            Some(sentinel) if bytes.is_empty() => sentinel.ends(),
            Some(sentinel) => sentinel.passes(bytes),
            None => true,
        };
        (!passes).then_some(Halt::Foreign)
    }

    fn halted(&mut self, halt: Halt) -> io::Error {
        self.halt = Some(halt);
        io::Error::other(match halt {
            Halt::Stopped => "the search was stopped".to_owned(),
            Halt::Foreign => "it is not UTF-8".to_owned(),
            Halt::Binary(at) => format!("it is binary, there is a NUL byte at offset {at}"),
            Halt::Long => format!(
                "it has more than {} bytes, and a search over line ends holds all of a file in memory; search it line by \
                 line (without `multiline`), or leave it out with `exclude` or another `path`",
                self.most.unwrap_or_default()
            ),
        })
    }
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some(halt) = self.halt {
            return Err(self.halted(halt));
        }
        if self.read > 0 && self.run.ended().is_some() {
            return Err(self.halted(Halt::Stopped));
        }
        if into.is_empty() {
            return Ok(0);
        }
        let read = self.inner.read(into)?;
        match self.look(&into[..read]) {
            None => Ok(read),
            Some(halt) => Err(self.halted(halt)),
        }
    }
}
