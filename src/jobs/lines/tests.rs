//! Lines are read once or counted as dropped, however output comes and whoever looks.

use super::*;
use proptest::prelude::*;

const ALL: Wanted = Wanted { since: None, limit: usize::MAX, bytes: usize::MAX, pattern: None };

fn texts(lines: &[Line]) -> Vec<(u64, &str)> {
    lines.iter().map(|line| (line.number, line.text.as_str())).collect()
}

fn since(since: u64) -> Wanted {
    Wanted { since: Some(since), ..ALL }
}

fn matching(pattern: &str) -> Wanted {
    Wanted { pattern: Some(Regex::new(pattern).unwrap()), ..ALL }
}

fn rows(lines: &mut Lines, numbers: std::ops::Range<usize>) {
    for number in numbers {
        lines.push(Stream::Out, format!("row {number}\n").as_bytes());
    }
}

#[test]
fn lines_are_shown_once_and_again_on_request() {
    let mut lines = Lines::default();
    lines.push(Stream::Out, "on".as_bytes());
    lines.push(Stream::Err, "\u{1b}[31mwarning\u{1b}[0m\n".as_bytes());
    lines.push(Stream::Out, "e\ntw".as_bytes());
    let seen = lines.look(&ALL, None);
    assert_eq!(texts(&seen.lines), [(0, "warning"), (1, "one")]);
    assert_eq!((seen.lines[0].stream, seen.next, seen.total), (Stream::Err, 2, 2));
    assert_eq!(seen.open, [(Stream::Out, "tw".to_owned())]);
    assert_eq!((lines.look(&ALL, None).lines.len(), lines.unread()), (0, 0));
    assert_eq!(texts(&lines.look(&since(1), None).lines), [(1, "one")]);
    lines.end();
    lines.end();
    let seen = lines.look(&ALL, None);
    assert_eq!((texts(&seen.lines), seen.open.len()), (vec![(2, "tw")], 0));
    // Past the end is the end.
    let seen = lines.look(&since(99), None);
    assert_eq!((seen.from, seen.next, seen.lines.len()), (3, 3, 0));
}

#[test]
fn a_look_keeps_to_its_limits_and_says_where_it_goes_on() {
    let mut lines = Lines::default();
    rows(&mut lines, 0..10);
    let seen = lines.look(&Wanted { limit: 3, ..ALL }, None);
    assert_eq!((texts(&seen.lines)[2], seen.next, seen.total, lines.unread()), ((2, "row 2"), 3, 10, 7));
    // What was there is not told once more by itself.
    assert_eq!(lines.ride(20, 2000, |_| true), None);
    let seen = lines.look(&Wanted { bytes: 3 * (5 + MARK_BYTES) - 1, ..ALL }, None);
    assert_eq!((texts(&seen.lines), seen.next), (vec![(3, "row 3"), (4, "row 4")], 5));
    let seen = lines.look(&Wanted { bytes: 1, limit: 0, ..ALL }, None);
    assert_eq!((texts(&seen.lines), seen.next), (vec![(5, "row 5")], 6));
    let seen = lines.look(&Wanted { since: Some(2), limit: 2, ..matching("[0-9]*[13579]$") }, None);
    assert_eq!((texts(&seen.lines), seen.unmatched, seen.next), (vec![(3, "row 3"), (5, "row 5")], 3, 7));
    let seen = lines.look(&matching("never"), None);
    assert_eq!((seen.from, seen.lines.len(), seen.unmatched, seen.next, lines.unread()), (7, 0, 3, 10, 0));
}

#[test]
fn the_oldest_make_room_and_are_counted() {
    let mut lines = Lines::default();
    rows(&mut lines, 0..KEPT_LINES + 5);
    assert_eq!((lines.total(), lines.dropped(), lines.unread()), (KEPT_LINES as u64 + 5, 5, KEPT_LINES as u64 + 5));
    let seen = lines.look(&since(2), None);
    assert_eq!((seen.from, seen.dropped, seen.lines.len(), seen.lines[0].number), (2, 3, KEPT_LINES, 5));

    let mut lines = Lines::default();
    let long = format!("{}\n", "x".repeat(LINE_BYTES + 100));
    let many = KEPT_BYTES / LINE_BYTES + 3;
    for _ in 0..many {
        lines.push(Stream::Out, long.as_bytes());
    }
    let seen = lines.look(&ALL, None);
    assert_eq!((seen.dropped, seen.lines.len()), (3, many - 3));
    assert_eq!((seen.lines[0].text.len(), seen.lines[0].cut), (LINE_BYTES, 100));
    // One that never ends takes no more.
    for _ in 0..100 {
        lines.push(Stream::Err, "é".repeat(LINE_BYTES).as_bytes());
    }
    assert!(lines.look(&ALL, None).open[0].1.len() <= LINE_BYTES);
}

#[test]
fn the_newest_ride_and_the_rest_is_counted() {
    let mut lines = Lines::default();
    assert_eq!(lines.ride(20, 2000, |_| true), None);
    rows(&mut lines, 0..2);
    let ride = lines.ride(20, 2000, |_| true).unwrap();
    assert_eq!((ride.from, ride.count, texts(&ride.lines)), (0, 2, vec![(0, "row 0"), (1, "row 1")]));
    assert_eq!((lines.ride(20, 2000, |_| true), lines.unread()), (None, 0));
    rows(&mut lines, 2..50);
    let ride = lines.ride(3, 2000, |_| true).unwrap();
    assert_eq!((ride.from, ride.count, texts(&ride.lines)[0]), (2, 48, (47, "row 47")));
    rows(&mut lines, 50..52);
    let ride = lines.ride(20, 8, |_| true).unwrap();
    assert_eq!((ride.from, ride.count, texts(&ride.lines)), (50, 2, vec![(51, "row 51")]));
    // What did not ride is not taken for shown.
    let seen = lines.look(&ALL, None);
    assert_eq!((seen.from, seen.lines.len(), lines.unread()), (2, 50, 0));
    rows(&mut lines, 52..53);
    assert!(lines.ride(20, 2000, |_| false).is_some());
    assert_eq!(lines.unread(), 1);
}

#[test]
fn a_line_that_is_waited_for_is_not_missed_though_it_is_gone() {
    let mut lines = Lines::default();
    rows(&mut lines, 0..1);
    let pattern = Regex::new("^ready").unwrap();
    let watch = lines.watch(0, &pattern);
    assert!(!lines.found(watch));
    lines.push(Stream::Out, b"re");
    assert!(!lines.found(watch));
    lines.push(Stream::Out, b"ady");
    assert!(lines.found(watch), "one that has not ended looks like it");
    lines.push(Stream::Out, b" at last\n");
    rows(&mut lines, 2..KEPT_LINES + 10);
    assert!(lines.found(watch));
    let wanted = matching("^ready");
    let seen = lines.look(&wanted, Some(watch));
    let first = lines.dropped();
    assert_eq!((texts(&seen.lines), seen.dropped), (vec![(1, "ready at last")], first - 1));
    assert_eq!(seen.unmatched + seen.dropped + 1, seen.next);
    lines.unwatch(watch);
    assert!(lines.found(watch), "nobody waits for ever for what nobody looks out for");
    // One that is there is found at once, and none before the place.
    lines.push(Stream::Out, b"ready\n");
    let (here, beyond) = (lines.watch(0, &pattern), lines.watch(lines.total(), &pattern));
    assert_eq!((lines.found(here), lines.found(beyond)), (true, false));
}

/// What happens to a monitor.
#[derive(Debug, Clone)]
enum Event {
    Prints(Stream, usize),
    Reads { limit: usize, bytes: usize },
    Rides,
}

fn event() -> impl Strategy<Value = Event> {
    let stream = prop_oneof![Just(Stream::Out), Just(Stream::Err)];
    prop_oneof![
        (stream, prop_oneof![0usize..40, 900usize..1500]).prop_map(|(stream, lines)| Event::Prints(stream, lines)),
        (1usize..700, 1usize..30_000).prop_map(|(limit, bytes)| Event::Reads { limit, bytes }),
        Just(Event::Rides),
    ]
}

proptest! {
    #[test]
    fn every_line_is_read_once_or_dropped(events in proptest::collection::vec(event(), 0..12)) {
        let mut lines = Lines::default();
        let (mut printed, mut read, mut dropped, mut ridden, mut counted) = (0u64, Vec::new(), 0, Vec::new(), 0);
        for event in events.into_iter().chain([Event::Reads { limit: usize::MAX, bytes: usize::MAX }, Event::Rides]) {
            match event {
                Event::Prints(stream, count) => {
                    for _ in 0..count {
                        lines.push(stream, format!("row {printed}\n").as_bytes());
                        printed += 1;
                    }
                }
                Event::Reads { limit, bytes } => {
                    let before = lines.unread();
                    let seen = lines.look(&Wanted { limit, bytes, ..ALL }, None);
                    // What is shown, what is lost and what is left are all that was unread.
                    prop_assert_eq!(seen.lines.len() as u64 + seen.dropped + lines.unread(), before);
                    prop_assert_eq!(seen.from + before, printed);
                    dropped += seen.dropped;
                    read.extend(seen.lines.into_iter().map(|line| line.number));
                }
                Event::Rides => {
                    let before = lines.unread();
                    if let Some(ride) = lines.ride(20, 2000, |_| true) {
                        counted += ride.count;
                        let numbers: Vec<u64> = ride.lines.iter().map(|line| line.number).collect();
                        if lines.unread() == 0 && before > 0 {
                            // All of it was shown here: none of it is read again.
                            read.extend(&numbers);
                        }
                        ridden.extend(numbers);
                    }
                }
            }
        }
        prop_assert_eq!(read.len() as u64 + dropped, printed, "each is read or dropped");
        prop_assert!(read.is_sorted_by(|one, other| one < other), "none is read twice");
        prop_assert!(ridden.is_sorted_by(|one, other| one < other), "none rides twice");
        prop_assert!(ridden.len() as u64 <= counted && counted <= printed);
        prop_assert_eq!(lines.ride(20, 2000, |_| true), None);
    }
}
