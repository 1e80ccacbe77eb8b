//! An output as it comes, however much: short, it is a text in memory; long, it goes to the disk, and only its ends and
//! the lines that look like failures stay at hand.

use std::collections::VecDeque;
use std::io;

use tokio::task::JoinError;
use tracing::warn;

use super::failures::{looks_failed, may_have_failed};
use super::spool::{Bounds, Rest, Spool};
use super::{SpillPlace, Spilled, head_end};

/// An output stays in memory as a whole up to so many bytes.
const WHOLE: usize = 1 << 20;

/// Of a longer one, so many bytes of its beginning and of its end stay.
const HEAD: usize = 256 << 10;
const TAIL: usize = 512 << 10;

/// It is written to the disk in pieces of about so many bytes.
const CHUNK: usize = 1 << 20;

/// So many lines that look like failures stay, each with so many bytes.
const FAILURES: usize = 400;
const FAILURE: usize = 300;

/// An output as it comes.
pub struct Gather {
    place: Option<SpillPlace>,
    session: String,
    bounds: Bounds,
    /// All of it; once it is long, what is still to be written.
    text: String,
    long: Option<Ends>,
}

/// What stays at hand of a long output.
#[derive(Default)]
struct Ends {
    /// `None`: there is no place for the whole, or no more.
    spool: Option<Spool>,
    head: String,
    tail: String,
    failures: VecDeque<(usize, String)>,
    bytes: usize,
    /// Line ends.
    lines: usize,
    /// Why the disk does not have the whole, where it was to.
    lost: Option<io::ErrorKind>,
}

/// An output that has come to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gathered {
    /// It is short, or all that is kept of it is: where something is missing, that is told in it.
    Text(String),
    /// It is on the disk.
    Long(Long),
}

/// An output on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Long {
    /// Where it is. Whoever has this keeps its files or removes them.
    pub spilled: Spilled,
    /// Its length (bytes).
    pub bytes: usize,
    /// What is kept nowhere, in words, each as it stands in its place; mostly nothing.
    pub lost: Vec<String>,
    /// What is at hand of it.
    pub excerpt: Excerpt,
}

/// The beginning of a text, lines of its middle, and its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Excerpt {
    /// Those, one after the other.
    pub text: String,
    /// So many bytes of the whole are not in it.
    pub missing: usize,
    /// Where its lines go on from another line of the whole than the one before: its line and that of the whole
    /// (1-based), in rising order.
    rows: Vec<(usize, usize)>,
}

impl Excerpt {
    /// At most so many bytes of its text may be shown, so that both ends come from where they say they do.
    pub(super) const SHOWN: usize = 300 << 10;

    /// The line of the whole that a line of the excerpt (both 1-based) is.
    pub fn line_of(&self, row: usize) -> usize {
        let at = self.rows.partition_point(|(first, _)| *first <= row);
        let (first, line) = at.checked_sub(1).and_then(|at| self.rows.get(at)).copied().unwrap_or((1, 1));
        line + (row - first.min(row))
    }
}

impl Gather {
    /// Nothing yet. `place`: where it goes when it becomes long; without one, only its ends are kept then.
    pub fn new(place: Option<SpillPlace>, session: &str) -> Gather {
        let bounds = Bounds::of(place.as_ref().map_or(0, SpillPlace::most));
        Gather { place, session: session.to_owned(), bounds, text: String::new(), long: None }
    }

    /// Takes some more.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Whether so much has come that [`Gather::write`] is due.
    pub fn is_due(&self) -> bool {
        self.text.len() > if self.long.is_some() { CHUNK } else { WHOLE }
    }

    /// Whether nothing has come.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.long.is_none()
    }

    /// Whether the last line has its end, or nothing has come.
    pub fn ends_line(&self) -> bool {
        let last = self.text.as_bytes().last();
        let before = || self.long.as_ref().and_then(|long| long.tail.as_bytes().last());
        last.or_else(before).is_none_or(|last| *last == b'\n')
    }

    /// Writes what is long to the disk. Blocking.
    pub fn write(&mut self) {
        // Up to the end of a line, where there is one.
        let end = memchr::memrchr(b'\n', self.text.as_bytes()).map_or(self.text.len(), |at| at + 1);
        self.write_to(end);
    }

    /// The same beside the runtime's threads, where it is due.
    pub async fn written(mut self) -> Result<Gather, JoinError> {
        if !self.is_due() {
            return Ok(self);
        }
        let write = tokio::task::spawn_blocking(move || {
            self.write();
            self
        });
        write.await
    }

    fn write_to(&mut self, end: usize) {
        let long = self.long.get_or_insert_with(|| {
            let mut ends = Ends::default();
            if let Some(place) = &self.place {
                match Spool::new(place, &self.session, self.bounds) {
                    Ok(spool) => ends.spool = Some(spool),
                    Err(error) => ends.lost(&error),
                }
            }
            ends
        });
        long.take(&self.text[..end]);
        self.text.drain(..end);
    }

    /// The end: all of it. Blocking.
    pub fn finish(mut self) -> Gathered {
        if self.long.is_some() || self.is_due() {
            self.write_to(self.text.len());
        }
        match self.long {
            None => Gathered::Text(self.text),
            Some(long) => long.finish(),
        }
    }
}

impl Ends {
    /// It cannot be written to the disk.
    fn lost(&mut self, error: &io::Error) {
        warn!(%error, "a long output cannot be written to the disk");
        self.lost = Some(error.kind());
    }

    fn take(&mut self, text: &str) {
        if let Some(spool) = self.spool.as_mut().filter(|_| self.lost.is_none())
            && let Err(error) = spool.write(text)
        {
            if spool.written().0 == 0 {
                self.spool = None;
            }
            self.lost(&error);
        }
        let room = HEAD.saturating_sub(self.head.len());
        if room > 0 && self.head.len() == self.bytes {
            self.head.push_str(&text[..text.floor_char_boundary(room)]);
        }
        self.tail.push_str(&text[text.ceil_char_boundary(text.len().saturating_sub(2 * TAIL))..]);
        if self.tail.len() > 2 * TAIL {
            let from = self.tail.ceil_char_boundary(self.tail.len() - TAIL);
            self.tail.drain(..from);
        }
        self.look_for_failures(text);
        self.bytes += text.len();
        self.lines += memchr::memchr_iter(b'\n', text.as_bytes()).count();
    }

    /// Finds lines that look like failures; at first the first ones, and of more the last half.
    fn look_for_failures(&mut self, text: &str) {
        let (mut counted, mut line) = (0, self.lines + 1);
        let mut from = 0;
        while let Some(at) = may_have_failed(&text[from..]) {
            let start = memchr::memrchr(b'\n', &text.as_bytes()[..from + at]).map_or(0, |at| at + 1);
            let end = memchr::memchr(b'\n', &text.as_bytes()[from + at..]).map_or(text.len(), |end| from + at + end);
            line += memchr::memchr_iter(b'\n', &text.as_bytes()[counted..start]).count();
            counted = start;
            let whole = super::trimmed(&text[start..end]);
            let shown = &whole[..whole.floor_char_boundary(FAILURE)];
            if looks_failed(shown) {
                self.failures.push_back((line, shown.to_owned()));
                if self.failures.len() > FAILURES {
                    self.failures.remove(FAILURES / 2);
                }
            }
            if end == text.len() {
                return;
            }
            from = end + 1;
        }
    }

    fn finish(mut self) -> Gathered {
        let tail = &self.tail[self.tail.ceil_char_boundary(self.tail.len().saturating_sub(TAIL))..];
        let Some(spool) = self.spool.take() else {
            return Gathered::Text(joined(&self.head, tail, self.bytes, self.lost));
        };
        let written = spool.written();
        let spooled = spool.finish(self.lost.map(|why| self.rest(written, why)));
        let index = spooled.spilled.index();
        let (head_lines, tail_lines) = (super::line_count(&self.head), ends(tail));
        let mut excerpt = Excerpt { text: self.head, ..Excerpt::default() };
        if !excerpt.text.ends_with('\n') {
            excerpt.text.push('\n');
        }
        let mut row = head_lines + 1;
        let first_of_tail = index.line_ends().saturating_sub(tail_lines) + 1;
        for (line, text) in self.failures {
            // What is kept nowhere cannot be looked at.
            let Some(now) = spooled.line(line) else { continue };
            if now <= head_lines || now >= first_of_tail {
                continue;
            }
            excerpt.rows.push((row, now));
            excerpt.text.push_str(&text);
            excerpt.text.push('\n');
            row += 1;
        }
        excerpt.rows.push((row, first_of_tail));
        excerpt.text.push_str(tail);
        let bytes = usize::try_from(index.bytes()).unwrap_or(usize::MAX);
        excerpt.missing = bytes.saturating_sub(excerpt.text.len());
        Gathered::Long(Long { spilled: spooled.spilled, bytes, lost: spooled.told, excerpt })
    }

    /// What came after so much was written (bytes, line ends), as far as it is at hand.
    fn rest(&self, (bytes, lines): (u64, usize), why: io::ErrorKind) -> Rest<'_> {
        let came = self.bytes - usize::try_from(bytes).unwrap_or(usize::MAX).min(self.bytes);
        let text = &self.tail[self.tail.ceil_char_boundary(self.tail.len().saturating_sub(came))..];
        Rest { text, lost: ((came - text.len()) as u64, self.lines - lines - ends(text)), why }
    }
}

fn ends(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
}

/// The ends of a text of so many bytes, and what is missing between them.
fn joined(head: &str, tail: &str, bytes: usize, lost: Option<io::ErrorKind>) -> String {
    let head = &head[..head_end(head, HEAD - 1)];
    let line_end = if head.ends_with('\n') { "" } else { "\n" };
    let missing = bytes.saturating_sub(head.len() + tail.len());
    let why = lost.map(|kind| format!(" and could not be written to the disk: {kind}")).unwrap_or_default();
    format!("{head}{line_end}[{missing} bytes are kept nowhere: the output is too long{why}]\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outputs::{Ask, Decoder, Mode, Pattern, Plain, Source, look};
    use crate::ports::{MemoryDisk, Operation};
    use proptest::prelude::*;
    use std::io::Read as _;
    use std::sync::Arc;

    fn row(number: usize) -> String {
        match number {
            30_000 | 150_000 => format!("row {number}: error: it broke\n"),
            number => format!("row {number} is as it should be\n"),
        }
    }

    const BOUNDS: Bounds = Bounds { head: 16 << 20, part: 4 << 20, parts: 4 };

    fn gathered(place: Option<SpillPlace>, rows: usize, bounds: Bounds) -> Gathered {
        let mut gather = Gather { bounds, ..Gather::new(place, "s") };
        for number in 1..=rows {
            gather.push(&row(number));
            if gather.is_due() {
                gather.write();
                assert!(!gather.is_empty() && gather.ends_line());
            }
        }
        gather.finish()
    }

    fn place(disk: &Arc<MemoryDisk>) -> SpillPlace {
        SpillPlace::in_memory(disk)
    }

    /// All that is kept of it.
    fn whole(disk: &MemoryDisk, long: &Long) -> String {
        let mut text = String::new();
        long.spilled.open(disk).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    /// Every line of the excerpt is the line of the whole that it is said to be.
    fn check(long: &Long, whole: &str) {
        let lines: Vec<&str> = whole.lines().collect();
        let (mut right, mut broken) = (0, Vec::new());
        for (at, line) in long.excerpt.text.lines().enumerate() {
            let there = lines[long.excerpt.line_of(at + 1) - 1];
            // At the ends of the beginning and of the end lines may be cut.
            right += usize::from(there == line);
            assert!(there.starts_with(line) || there.ends_with(line), "{line} {there}");
            if line.contains("broke") {
                broken.push(there);
            }
        }
        let index = long.spilled.index();
        assert_eq!((index.bytes(), index.line_count()), (whole.len() as u64, lines.len()));
        assert!(right + 2 >= long.excerpt.text.lines().count());
        assert!(!broken.is_empty() && broken.iter().all(|line| line.contains("broke")));
        assert_eq!((long.bytes, long.excerpt.missing + long.excerpt.text.len()), (whole.len(), whole.len()));
    }

    #[test]
    fn what_is_short_is_a_text() {
        let disk = Arc::new(MemoryDisk::new());
        assert_eq!(gathered(Some(place(&disk)), 2, BOUNDS), Gathered::Text(row(1) + &row(2)));
        assert_eq!(gathered(None, 0, BOUNDS), Gathered::Text(String::new()));
        assert_eq!(disk.changes(), []);
    }

    #[test]
    fn what_is_long_is_a_file_with_its_ends_at_hand() {
        let disk = Arc::new(MemoryDisk::new());
        let Gathered::Long(long) = gathered(Some(place(&disk)), 200_000, BOUNDS) else { panic!() };
        let whole = whole(&disk, &long);
        assert!(whole == (1..=200_000).map(row).collect::<String>());
        check(&long, &whole);
        assert!(long.excerpt.text.starts_with("row 1 is") && long.excerpt.text.ends_with(&row(200_000)));
    }

    #[test]
    fn where_the_middle_is_kept_nowhere_the_numbers_are_those_of_the_file() {
        let disk = Arc::new(MemoryDisk::new());
        let bounds = Bounds { head: 1, part: 1 << 20, parts: 2 };
        let Gathered::Long(long) = gathered(Some(place(&disk)), 200_000, bounds) else { panic!() };
        let whole = whole(&disk, &long);
        assert!(whole.contains(" lines, are kept nowhere") && whole.len() < 5 << 20);
        check(&long, &whole);
    }

    #[test]
    fn without_a_place_the_ends_stay_and_that_is_told() {
        let disk = Arc::new(MemoryDisk::new());
        disk.fail(Operation::CreateDirAll, "/state/outputs", std::io::ErrorKind::PermissionDenied);
        for place in [None, Some(place(&disk))] {
            let Gathered::Text(text) = gathered(place, 200_000, BOUNDS) else { panic!() };
            assert!(text.starts_with("row 1 is") && text.ends_with(&row(200_000)) && text.len() < HEAD + TAIL + 100);
            assert!(text.contains(" bytes are kept nowhere: the output is too long"));
        }
    }

    /// Rows, of which the disk takes so many and then no more.
    fn full_after(disk: &Arc<MemoryDisk>, fits: usize, rows: usize) -> Gathered {
        let mut gather = Gather::new(Some(place(disk)), "s");
        let mut go = |from: usize, to: usize| {
            for number in from..to {
                gather.push(&row(number));
                if number % 20_000 == 0 {
                    gather.write();
                }
            }
            gather.write();
        };
        go(1, fits + 1);
        disk.fail(Operation::Grow, &SpillPlace::files(disk)[0], io::ErrorKind::StorageFull);
        go(fits + 1, rows + 1);
        gather.finish()
    }

    #[test]
    fn once_the_disk_is_full_what_it_has_stays_and_what_is_lost_is_told() {
        let disk = Arc::new(MemoryDisk::new());
        let Gathered::Long(long) = full_after(&disk, 40_000, 200_000) else { panic!() };
        let text = whole(&disk, &long);
        check(&long, &text);
        let (kept, rest) = text.split_once('[').unwrap();
        let (remark, end) = rest.split_once("]\n").unwrap();
        assert!(kept == (1..=40_000).map(row).collect::<String>() && end.ends_with(&row(200_000)));
        assert!(end.len() >= TAIL && long.spilled.in_memory() < 2 * TAIL + 200);
        let came: usize = (1..=200_000).map(|number| row(number).len()).sum();
        let lost = came - kept.len() - end.len();
        let lines = 160_000 - end.matches('\n').count();
        assert_eq!(
            remark,
            format!("{lost} bytes, {lines} lines, are kept nowhere: the disk took no more (no storage space)")
        );
        assert_eq!(long.lost, [format!("[{remark}]")]);
        // What is at hand in any case is not lost.
        let disk = Arc::new(MemoryDisk::new());
        let Gathered::Long(long) = full_after(&disk, 40_000, 41_000) else { panic!() };
        assert!(whole(&disk, &long) == (1..=41_000).map(row).collect::<String>());
        assert_eq!(long.lost, Vec::<String>::new());
    }

    #[test]
    fn a_disk_that_takes_nothing_is_told_and_nothing_is_left_on_it() {
        let disk = Arc::new(MemoryDisk::new());
        let mut gather = Gather::new(Some(place(&disk)), "s");
        disk.fail(Operation::Create, "/state/outputs", io::ErrorKind::StorageFull);
        disk.fail(Operation::CreateDirAll, "/state/outputs", io::ErrorKind::StorageFull);
        (1..=100_000).for_each(|number| gather.push(&row(number)));
        gather.write();
        let Gathered::Text(text) = gather.finish() else { panic!() };
        assert!(text.starts_with("row 1 is") && text.ends_with(&row(100_000)), "both ends are there");
        let words = "the output is too long and could not be written to the disk: no storage space]\n";
        assert!(text.contains(words), "{}", &text[HEAD - 100..HEAD + 100]);
        assert_eq!(SpillPlace::files(&disk).len(), 0);
    }

    #[test]
    fn lines_without_an_end_are_bounded_too() {
        let disk = Arc::new(MemoryDisk::new());
        let mut gather = Gather::new(Some(place(&disk)), "s");
        for _ in 0..50 {
            gather.push(&"é".repeat(100_000));
            if gather.is_due() {
                gather.write();
            }
            assert!(gather.text.len() < 2 << 20 && !gather.ends_line());
        }
        let Gathered::Long(long) = gather.finish() else { panic!() };
        assert_eq!((long.bytes, whole(&disk, &long).len()), (10_000_000, 10_000_000));
        assert!(long.excerpt.text.len() <= HEAD + TAIL + 1 && long.excerpt.text.len() > Excerpt::SHOWN);
        assert_eq!((long.excerpt.line_of(1), long.excerpt.line_of(2)), (1, 1));
    }

    #[test]
    fn many_failures_are_bounded_and_are_the_first_and_the_last() {
        let mut ends = Ends::default();
        for number in 1..=1000 {
            ends.take(&format!("fine\nerror {number}\n"));
        }
        let lines: Vec<usize> = ends.failures.iter().map(|(line, _)| *line).collect();
        assert_eq!((lines.len(), lines[0], lines[FAILURES / 2 - 1], lines[FAILURES - 1]), (FAILURES, 2, 400, 2000));
    }

    /// What commands put out: lines, lines without an end, what moves a terminal about, and bytes that are no text.
    fn chunk() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            "[a-zé😀 \t]{0,30}\n".prop_map(String::into_bytes),
            "[a-z]{0,9}\r[A-Z]{0,9}(\r\n|\u{1b}\\[K|\u{8}x|\u{1b}\\[31mred)?".prop_map(String::into_bytes),
            "(error: )?[a-z]{1,9}\r\n".prop_map(String::into_bytes),
            (1..3usize).prop_map(|times| "huge é ".repeat(times * 700).into_bytes()),
            prop::collection::vec(any::<u8>(), 0..12),
            // Characters that are cut in the middle of a chunk.
            Just("é".as_bytes()[..1].to_vec()),
            Just("😀".as_bytes()[..3].to_vec()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
        #[test]
        fn what_is_looked_at_is_what_came_however_it_came(
            chunks in prop::collection::vec((chunk(), prop::bool::weighted(0.6)), 0..40),
            head in prop_oneof![Just(1_u64 << 20), 1..3000_u64], offset in 1..60usize, column in 1..200usize,
            limit in 1..20usize, budget in 400..3000usize,
        ) {
            let bounds = Bounds { head, part: 500, parts: 2 };
            let disk = Arc::new(MemoryDisk::new());
            let mut gather = Gather { bounds, ..Gather::new(Some(place(&disk)), "s") };
            let (mut decoder, mut terminal) = (Decoder::default(), Plain::default());
            let mut expected = String::new();
            for (chunk, write) in &chunks {
                let (text, mut now) = (decoder.push(chunk), String::new());
                terminal.push(0, &text, &mut |_, text| now.push_str(text));
                gather.push(&now);
                expected.push_str(&now);
                if *write {
                    gather.write();
                }
            }
            let mut end = String::new();
            terminal.push(0, decoder.finish(), &mut |_, text| end.push_str(text));
            terminal.finish(&mut |_, text| end.push_str(text));
            gather.push(&end);
            expected.push_str(&end);
            gather.write();
            let Gathered::Long(long) = gather.finish() else { return Err(TestCaseError::fail("not on the disk")) };
            let kept = whole(&disk, &long);
            if long.lost.is_empty() {
                prop_assert_eq!(&kept, &expected);
            } else {
                let (before, rest) = kept.split_once(&long.lost[0]).unwrap();
                let (before, after) = (before.strip_suffix('\n').unwrap_or(before), &rest[1..]);
                prop_assert!(expected.starts_with(before) && expected.ends_with(after));
            }
            // Through the index it is what it is where all of it is at hand.
            let ask = Ask { mode: Mode::Window, offset, column, limit, pattern: None, context: 1 };
            for mode in [Mode::Window, Mode::Head, Mode::Tail, Mode::Summary] {
                for pattern in [None, Some("e[a-z]*r|[A-Z]$"), Some("^huge")] {
                    let ask = Ask { mode, pattern: pattern.map(|text| Pattern::new(text, false)), ..ask.clone() };
                    let there = look(&mut Source::at(&*disk, &long.spilled).unwrap(), &ask, budget, &|| false).unwrap();
                    let here = look(&mut Source::of(Arc::from(kept.as_str())), &ask, budget, &|| false).unwrap();
                    prop_assert_eq!(there, here);
                }
            }
        }
    }
}
