//! Looking for text: ripgrep's engine over files and buffers, on all threads of the walk.

use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch};
use ropey::Rope;

use crate::permissions::secret;
use crate::ports::{Fault, FileKind};
use crate::text::BOM;
use crate::workspace::{Refusal, RefusalKind};

use super::foreign::{self, AsShown};
use super::kept::Kept;
use super::sieve::{Hand, sift};
use super::watched::{Halt, Watched};
use super::{Ended, Hits, Job, Kind, Layer, Line, Part, Place, Run};

/// Longer lines (bytes) are not searched, and files with one are told; so is all of a file when lines are joined.
pub(super) const LONGEST: usize = 256 * 1024 * 1024;

/// At most so many faults are kept.
const MAX_TOLD: usize = 20;

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// A regular expression, or the text itself.
    pub pattern: String,
    /// Whether the pattern is the text itself.
    pub literal: bool,
    /// Whether only whole words count.
    pub word: bool,
    /// What case means.
    pub case: Case,
    /// Whether a match may go over line ends; `.` matches them then.
    pub multiline: bool,
    /// So many lines before each match are shown too.
    pub before: usize,
    /// So many lines after each match are shown too.
    pub after: usize,
    /// At most so many matching lines of one file are shown.
    pub per_file: usize,
    /// What is wanted of each file.
    pub mode: Mode,
    /// So many results (matching lines; files, in the other modes) are passed over first.
    pub skip: usize,
    /// At most so many results are wanted.
    pub limit: usize,
}

/// What case means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Case {
    /// Upper and lower case differ.
    #[default]
    Sensitive,
    /// They do not.
    Insensitive,
    /// They differ if the pattern has an upper case letter.
    Smart,
}

/// What is wanted of each file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// The lines.
    #[default]
    Lines,
    /// Whether there is a match.
    Files,
    /// How many lines match.
    Count,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// The results that were asked for, in order.
    pub parts: Vec<Part>,
    /// How many files have a match.
    pub files: u64,
    /// How many lines match ([`Mode::Files`]: as `files`).
    pub matched: u64,
    /// How many results there are to page through: matching lines, of each file at most as many as may be shown.
    pub showable: u64,
    /// How many files were searched.
    pub searched: u64,
    /// How many others are binary and were left out.
    pub binary: u64,
    /// Where the NUL byte is (0-based, bytes) that makes one of them binary: the one, if one file was named.
    pub binary_at: Option<u64>,
    /// How many of those in `faulty` were searched in part: what was found there before is among the results.
    pub broken: u64,
    /// How many with a match were left out because they may hold secrets.
    pub secret: u64,
    /// What could not be looked at, sorted; at most some.
    pub faults: Vec<Fault>,
    /// How many could not be looked at.
    pub faulty: u64,
    /// Whether it was stopped before it had seen everything: then there are at least so many as counted.
    pub ended: Option<Ended>,
}

impl Found {
    /// Finds out in which column the lines match of which that is not known yet.
    pub fn locate(&mut self, matcher: &RegexMatcher) {
        for line in self.parts.iter_mut().flat_map(|part| &mut part.hits.lines) {
            if line.kind == Kind::Match && line.column.is_none() {
                let at = matcher.find(line.text.as_bytes()).ok().flatten();
                line.column =
                    at.map(|at| String::from_utf8_lossy(&line.text.as_bytes()[..at.start()]).chars().count() + 1);
            }
        }
    }
}

impl Query {
    /// The compiled pattern. A refusal says where it is wrong.
    pub fn matcher(&self) -> Result<RegexMatcher, Refusal> {
        let mut builder = RegexMatcherBuilder::new();
        builder.fixed_strings(self.literal).word(self.word).multi_line(true);
        match self.case {
            Case::Sensitive => {}
            Case::Insensitive => _ = builder.case_insensitive(true),
            Case::Smart => _ = builder.case_smart(true),
        }
        if self.multiline {
            builder.crlf(true).line_terminator(None).dot_matches_new_line(true);
        } else {
            builder.crlf(true);
        }
        builder.build(&self.pattern).map_err(|error| {
            let message = match error.kind() {
                ErrorKind::NotAllowed(_) => format!(
                    "The pattern {:?} has a line end in it, but each line is searched by itself. Set `multiline` to true.",
                    self.pattern
                ),
                _ => format!(
                    "The pattern is not a regular expression:\n{}\nMend it, or set `literal` to true to look for the text as it is.",
                    self.fault().unwrap_or_else(|| error.to_string()).trim_end()
                ),
            };
            Refusal::new(RefusalKind::InvalidArguments, message)
        })
    }

    /// Where the pattern is wrong, told of the pattern as it was given.
    fn fault(&self) -> Option<String> {
        regex_syntax::Parser::new().parse(&self.pattern).err().map(|error| error.to_string())
    }

    /// `longest`: see [`LONGEST`].
    fn searcher(&self, matcher: &RegexMatcher, longest: usize) -> Searcher {
        let lines = self.mode == Mode::Lines;
        let mut builder = SearcherBuilder::new();
        builder
            .line_terminator(LineTerminator::crlf())
            .line_number(lines)
            .multi_line(self.multiline)
            .before_context(if lines { self.before } else { 0 })
            .after_context(if lines { self.after } else { 0 })
            .heap_limit(Some(longest))
            .binary_detection(BinaryDetection::quit(0));
        let searcher = builder.build();
        if searcher.multi_line_with_matcher(matcher) {
            // Whoever reads for it sees to the length, and has better words for it.
            return builder.heap_limit(None).build();
        }
        searcher
    }
}

impl Job {
    /// Searches. Blocking; stops soon after [`Run::stop`].
    pub fn grep(&self, query: &Query, matcher: &RegexMatcher) -> Found {
        let out = Mutex::new(Tally::new(query));
        if let Some(place) = &self.scope.single {
            let mut seeker = Seeker::new(self, query, matcher, &out);
            match self.layer(place) {
                Some(layer) => seeker.layer(place, layer, true),
                None => seeker.file(place.clone(), true),
            }
        } else {
            let layers = self.layers();
            std::thread::scope(|scope| {
                if !layers.is_empty() {
                    let out = &out;
                    scope.spawn(move || {
                        let mut seeker = Seeker::new(self, query, matcher, out);
                        for (place, layer) in &layers {
                            if self.run.ended().is_some() {
                                break;
                            }
                            seeker.layer(place, layer, false);
                        }
                    });
                }
                sift(self, true, || Seeker::new(self, query, matcher, &out));
            });
        }
        let mut tally = out.into_inner().unwrap_or_else(PoisonError::into_inner);
        tally.faults.sort();
        tally.faults.truncate(MAX_TOLD);
        let (files, matched, showable) = (tally.kept.files, tally.kept.matched, tally.kept.total);
        Found {
            parts: tally.kept.part(query.skip, query.limit),
            files,
            matched,
            showable,
            searched: tally.searched,
            binary: tally.binary,
            binary_at: tally.binary_at,
            broken: tally.broken,
            secret: tally.secret,
            faults: tally.faults,
            faulty: tally.faulty,
            ended: self.run.ended(),
        }
    }
}

/// What one thread found, and then all of them.
#[derive(Debug)]
struct Tally {
    kept: Kept,
    searched: u64,
    binary: u64,
    binary_at: Option<u64>,
    broken: u64,
    secret: u64,
    faults: Vec<Fault>,
    faulty: u64,
}

impl Tally {
    fn new(query: &Query) -> Tally {
        let kept = Kept::new(query.skip.saturating_add(query.limit));
        let faults = Vec::new();
        Tally { kept, searched: 0, binary: 0, binary_at: None, broken: 0, secret: 0, faults, faulty: 0 }
    }

    fn fault(&mut self, fault: Fault) {
        self.faulty += 1;
        self.faults.push(fault);
        if self.faults.len() > 4 * MAX_TOLD {
            self.faults.sort();
            self.faults.truncate(MAX_TOLD);
        }
    }
}

/// One thread of a search.
struct Seeker<'s> {
    job: &'s Job,
    query: &'s Query,
    matcher: RegexMatcher,
    searcher: Searcher,
    /// Whether a match holds all of a file in memory.
    whole: bool,
    /// Whether the pattern may fit the text of a file that is not UTF-8 where it does not fit its bytes.
    depends: bool,
    tally: Tally,
    out: &'s Mutex<Tally>,
}

impl<'s> Seeker<'s> {
    fn new(job: &'s Job, query: &'s Query, matcher: &RegexMatcher, out: &'s Mutex<Tally>) -> Seeker<'s> {
        let tally = Tally::new(query);
        let searcher = query.searcher(matcher, job.longest);
        let (whole, depends) = (searcher.multi_line_with_matcher(matcher), foreign::depends(query));
        Seeker { job, query, matcher: matcher.clone(), searcher, whole, depends, tally, out }
    }

    /// A file's bytes; `None` when it cannot be read, which is told.
    fn open(&mut self, place: &Place, named: bool) -> Option<Box<dyn Read + Send>> {
        match self.job.disk.open(&place.path) {
            Ok(reader) => Some(reader),
            // It was there a moment ago; now there is nothing to search.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !named => None,
            Err(error) => {
                self.tally.fault(Fault { path: place.path.clone(), why: error.to_string() });
                None
            }
        }
    }

    fn file(&mut self, place: Place, named: bool) {
        let Some(file) = self.open(&place, named) else { return };
        self.searcher.set_binary_detection(BinaryDetection::quit(0));
        let (run, most) = (&self.job.run, self.whole.then_some(self.job.longest));
        let mut reader = Watched::new(file, run, most, self.depends);
        let mut taken = self.attempt(&place, &mut reader);
        let mut halt = reader.halt;
        if halt == Some(Halt::Foreign) {
            // Once more from its beginning, by the text as it is shown.
            let Some(file) = self.open(&place, named) else { return };
            let mut reader = AsShown::new(Watched::new(file, run, most, false));
            taken = self.attempt(&place, &mut reader);
            halt = reader.inner.halt;
        }
        if let Some(Halt::Binary(at)) = halt {
            taken.binary = Some(at);
        }
        self.count(place, taken, named);
    }

    fn layer(&mut self, place: &Place, layer: &Layer, named: bool) {
        // The editor shows it as text, whatever is in it.
        self.searcher.set_binary_detection(BinaryDetection::none());
        let rope = layer.text.rope().clone();
        let taken = self.attempt(place, RopeReader::new(&rope));
        self.count(place.clone(), taken, named);
    }

    fn attempt(&mut self, place: &Place, reader: impl Read) -> Taken {
        let store = match self.query.mode {
            Mode::Lines if self.tally.kept.wants(place) => {
                self.query.per_file.min(self.query.skip.saturating_add(self.query.limit))
            }
            _ => 0,
        };
        let mut taker = Taker {
            matcher: &self.matcher,
            query: self.query,
            run: &self.job.run,
            store,
            stored: 0,
            matched: 0,
            binary: None,
            lines: Vec::new(),
            pending: Vec::new(),
        };
        let result = self.searcher.search_reader(&self.matcher, reader, &mut taker);
        let Taker { matched, binary, lines, .. } = taker;
        Taken { matched, binary, lines, failed: result.err() }
    }

    fn count(&mut self, place: Place, taken: Taken, named: bool) {
        let Taken { matched, binary, lines, failed } = taken;
        self.job.run.count(1);
        if let Some(at) = binary {
            self.tally.binary += 1;
            self.tally.binary_at = Some(at);
            return;
        }
        match failed {
            // What was found before is still true.
            Some(error) if self.job.run.ended().is_none() => {
                self.tally.broken += 1;
                self.tally.fault(Fault { path: place.path.clone(), why: told(&error, self.job.longest) });
            }
            _ => self.tally.searched += 1,
        }
        if matched == 0 {
            return;
        }
        if !named && !self.job.secrets && secret(&place.path).is_some() {
            self.tally.secret += 1;
            return;
        }
        let weight = match self.query.mode {
            Mode::Lines => usize::try_from(matched).unwrap_or(usize::MAX).min(self.query.per_file),
            Mode::Files | Mode::Count => 1,
        };
        self.tally.kept.push(Hits { place, matched, lines, weight });
    }
}

/// What was found in one file.
struct Taken {
    matched: u64,
    /// Where there is a NUL byte (bytes, 0-based), in a file that is binary.
    binary: Option<u64>,
    lines: Vec<Line>,
    failed: Option<io::Error>,
}

/// Why a search broke off, in words that follow the path and a colon.
fn told(error: &io::Error, longest: usize) -> String {
    let why = error.to_string();
    // The engine has no kind for it.
    if why.contains("allocation limit") {
        return format!(
            "one of its lines has more than {longest} bytes, and it was searched only up to there; break the line up with \
             a command and search what comes out"
        );
    }
    why
}

impl Hand for Seeker<'_> {
    fn take(&mut self, place: Place, _: FileKind, _: usize) {
        self.file(place, false);
    }

    fn fault(&mut self, fault: Fault) {
        self.tally.fault(fault);
    }
}

impl Drop for Seeker<'_> {
    fn drop(&mut self) {
        let own = std::mem::replace(&mut self.tally, Tally::new(self.query));
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        out.kept.absorb(own.kept);
        out.searched += own.searched;
        out.binary += own.binary;
        out.binary_at = out.binary_at.or(own.binary_at);
        out.broken += own.broken;
        out.secret += own.secret;
        out.faulty += own.faulty;
        out.faults.extend(own.faults);
    }
}

/// Takes the lines of one file.
struct Taker<'a> {
    matcher: &'a RegexMatcher,
    query: &'a Query,
    run: &'a Run,
    /// So many matching lines are stored, the rest counted.
    store: usize,
    stored: usize,
    matched: u64,
    binary: Option<u64>,
    lines: Vec<Line>,
    /// Lines before a match that has not come yet.
    pending: Vec<Line>,
}

impl Sink for Taker<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.query.mode == Mode::Files {
            self.matched = 1;
            return Ok(false);
        }
        let joined = searcher.multi_line();
        self.matched += if joined { found.lines().count() as u64 } else { 1 };
        if self.stored < self.store {
            self.lines.append(&mut self.pending);
            let first = found.line_number().unwrap_or_default();
            // A match in a short line is found again when it is shown, which few are; not where bytes are shown as others.
            let again = !joined && Line::short(found.bytes()) && std::str::from_utf8(found.bytes()).is_ok();
            let at =
                if again { None } else { self.matcher.find(found.bytes()).ok().flatten().map(|found| found.start()) };
            let mut start = 0;
            for (number, line) in (first..).zip(found.lines()) {
                if self.stored >= self.store {
                    break;
                }
                let here = at.filter(|at| (start..start + line.len()).contains(at)).map(|at| at - start);
                start += line.len();
                self.lines.push(Line::new(number, Kind::Match, line, here));
                self.stored += 1;
            }
        } else {
            self.pending.clear();
        }
        Ok(self.run.ended().is_none())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        let line = |context: &SinkContext<'_>| {
            Line::new(context.line_number().unwrap_or_default(), Kind::Context, context.bytes(), None)
        };
        match context.kind() {
            SinkContextKind::Before if self.stored < self.store => self.pending.push(line(context)),
            SinkContextKind::After if self.stored as u64 == self.matched => self.lines.push(line(context)),
            _ => {}
        }
        Ok(true)
    }

    fn binary_data(&mut self, searcher: &Searcher, at: u64) -> Result<bool, io::Error> {
        self.binary = searcher.binary_detection().quit_byte().map(|_| at);
        Ok(false)
    }
}

/// A rope as a reader, a byte order mark at its beginning aside.
struct RopeReader<'a> {
    chunks: ropey::iter::Chunks<'a>,
    rest: &'a [u8],
}

impl<'a> RopeReader<'a> {
    fn new(rope: &'a Rope) -> RopeReader<'a> {
        let mark = rope.chars().next() == Some(BOM);
        let slice = if mark { rope.slice(1..) } else { rope.slice(..) };
        RopeReader { chunks: slice.chunks(), rest: b"" }
    }
}

impl Read for RopeReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut written = 0;
        while written < into.len() {
            if self.rest.is_empty() {
                match self.chunks.next() {
                    Some(chunk) => self.rest = chunk.as_bytes(),
                    None => break,
                }
            }
            let len = self.rest.len().min(into.len() - written);
            into[written..written + len].copy_from_slice(&self.rest[..len]);
            self.rest = &self.rest[len..];
            written += len;
        }
        Ok(written)
    }
}
