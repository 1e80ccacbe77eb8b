//! Files that are not UTF-8, and files that are too long to be held.

use std::path::Path;
use std::sync::Arc;

use super::kit::{grep, job, lines, query, workspace};
use crate::ports::MemoryDisk;
use crate::workspace::search::{Case, Mode, Query};

#[test]
fn files_that_are_not_utf8_are_searched_as_they_are_shown() {
    let disk = MemoryDisk::new()
        .with_file("/w/broken", "na\u{ef}ve\n".as_bytes().iter().chain(b"caf\xff\n").copied().collect::<Vec<u8>>())
        .with_file("/w/latin", b"caf\xe9 1\nna\xefve\n\x80 5\nplain\n")
        .with_file("/w/late", [&b"caf\xc3\xa9 2\n".repeat(20_000)[..], b"na\xefve \xe9\n"].concat())
        .with_file("/w/utf8", "caf\u{e9} 3\n");
    let workspace = workspace(Arc::new(disk), &[Path::new("/w")]);
    let job = job(&workspace, None);
    let found = |query: &Query| -> Vec<String> {
        lines(&job, &grep(&job, query)).into_iter().filter(|line| !line.contains(" 2")).collect()
    };
    let none: &[&str] = &[];
    for (pattern, expected) in [
        ("café", &["latin:1:1:café 1", "utf8:1:1:café 3"][..]),
        ("naïve", &["broken:1:1:naïve", "late:20001:1:naïve é", "latin:2:1:naïve"]),
        ("ve é$", &["late:20001:4:naïve é"]),
        ("^caf.$", &["broken:2:1:cafÿ"]),
        ("caf\\w+", &["broken:2:1:cafÿ", "latin:1:1:café 1", "utf8:1:1:café 3"]),
        // The word goes on behind the f.
        (r"caf\b", none),
        ("€", &["latin:3:1:€ 5"]),
        ("[à-ü]ve", &["broken:1:3:ïve", "late:20001:3:ïve é", "latin:2:3:ïve"]),
        // Bytes are meant.
        ("(?-u)caf\\xe9", &["latin:1:1:café 1"]),
        ("plain", &["latin:4:1:plain"]),
    ] {
        let expected: Vec<String> = expected.iter().map(|line| line.replace(":ïve", ":naïve")).collect();
        assert_eq!(found(&query(pattern)), expected, "{pattern}");
    }
    assert_eq!(found(&Query { case: Case::Insensitive, ..query("NAÏVE É") }), ["late:20001:1:naïve é"]);
    assert_eq!(found(&Query { word: true, ..query("caf") }), none);
    assert_eq!(found(&Query { multiline: true, ..query("é 1\\nnaï") }), ["latin:1:4:café 1", "latin:2:0:naïve"]);
    // Every file counts once, and every line of it.
    let all = grep(&job, &query("é"));
    assert_eq!((all.files, all.matched, all.searched), (3, 20_003, 4));
    for (mode, matched) in [(Mode::Count, 20_003), (Mode::Files, 3)] {
        let found = grep(&job, &Query { mode, ..query("é") });
        assert_eq!((found.files, found.matched), (3, matched));
    }
}

#[test]
fn what_is_too_long_to_be_held_is_told_with_a_way_out() {
    let long = "x\n".repeat(2000);
    let disk = MemoryDisk::new()
        .with_file("/w/a", "one\ntwo\n")
        .with_file("/w/binary", [b"one\n\0".to_vec(), vec![b'x'; 4000]].concat())
        .with_file("/w/line", format!("one\ntwo\n{}one\n", "y".repeat(400_000)))
        .with_file("/w/long", format!("one\ntwo\n{long}one\n"))
        .with_file("/w/z", "one\ntwo\n");
    let workspace = workspace(Arc::new(disk), &[Path::new("/w")]);
    let mut job = job(&workspace, None);
    job.longest = 2000;
    let joined = grep(&job, &Query { multiline: true, ..query("one\ntwo") });
    let expected = ["a:1:1:one", "a:2:0:two", "z:1:1:one", "z:2:0:two"];
    assert_eq!(lines(&job, &joined), expected);
    assert_eq!((joined.searched, joined.binary, joined.binary_at, joined.faulty), (2, 1, Some(4), 2));
    expect_test::expect![["could not be looked at: line: it has more than 2000 bytes, and a search over line ends holds all of a file in memory; search it line by line (without `multiline`), or leave it out with `exclude` or another `path`; long: it has more than 2000 bytes, and a search over line ends holds all of a file in memory; search it line by line (without `multiline`), or leave it out with `exclude` or another `path`"]]
        .assert_eq(&job.words(&joined.faults, joined.faulty, None).concat());
    // A pattern that cannot match a line end holds no file.
    let apart = grep(&job, &Query { multiline: true, ..query("one|two") });
    assert_eq!((apart.files, apart.searched, apart.broken), (4, 3, 1));
    // Line by line, only the line is too long; what stands before it is found.
    job.longest = 100_000;
    let single = grep(&job, &query("one"));
    assert_eq!((single.files, single.matched, single.searched, single.broken), (4, 5, 3, 1));
    expect_test::expect![["could not be looked at: line: one of its lines has more than 100000 bytes, and it was searched only up to there; break the line up with a command and search what comes out"]]
        .assert_eq(&job.words(&single.faults, single.faulty, None).concat());
}
