//! The fuzz targets of `fuzz/targets` as bounded properties: over their corpus, which holds every input that ever
//! failed, over inputs made of it, and over any bytes. `fuzz/README.md` tells how they are run without bounds.

use std::collections::BTreeSet;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestRunner;

#[path = "../../fuzz/targets/arguments.rs"]
mod arguments;
#[path = "../../fuzz/targets/cascade.rs"]
mod cascade;
#[path = "../../fuzz/targets/frames.rs"]
mod frames;
#[path = "../../fuzz/targets/messages.rs"]
mod messages;
#[path = "../../fuzz/targets/parts.rs"]
mod parts;
#[path = "../../fuzz/targets/patches.rs"]
mod patches;
#[path = "../../fuzz/targets/schemas.rs"]
mod schemas;
#[path = "../../fuzz/targets/settings.rs"]
mod settings;
#[path = "../../fuzz/targets/shell.rs"]
mod shell;
#[path = "../../fuzz/targets/terminal.rs"]
mod terminal;
#[path = "../../fuzz/targets/text_sync.rs"]
mod text_sync;
#[path = "../../fuzz/targets/urls.rs"]
mod urls;

/// Makes the test of each target, called as it is.
macro_rules! properties {
    ($($target:ident),+ $(,)?) => {
        /// All targets, by name.
        const TARGETS: &[&str] = &[$(stringify!($target)),+];

        $(#[test]
        fn $target() {
            check(stringify!($target), $target::$target);
        })+
    };
}

properties!(arguments, cascade, frames, messages, patches, schemas, settings, shell, terminal, text_sync, urls);

/// Drawn inputs are never longer (bytes), but for what comes of the corpus.
const LONGEST: usize = 160;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

/// The files of a folder, sorted by name.
#[expect(clippy::disallowed_methods, reason = "a test of the repository reads the repository")]
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[expect(clippy::disallowed_methods, reason = "a test of the repository reads the repository")]
fn read(file: &Path) -> Vec<u8> {
    std::fs::read(file).unwrap()
}

fn check(name: &str, target: fn(&[u8])) {
    let files = files(&folder().join("corpus").join(name));
    assert!(files.len() >= 5, "{name} has a corpus of {}", files.len());
    let corpus: Vec<Vec<u8>> = files.iter().map(|file| read(file)).collect();
    for (file, input) in files.iter().zip(&corpus) {
        assert!(catch_unwind(|| target(input)).is_ok(), "{} fails, see above", file.display());
    }
    let bytes = vec(any::<u8>(), 0..LONGEST);
    let text = any::<String>().prop_map(String::into_bytes);
    let drawn = prop_oneof![1 => bytes, 1 => text, 6 => mutated(corpus)];
    // What fails is kept as a file of the corpus, not as a seed.
    let mut runner = TestRunner::new(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() });
    let outcome = runner.run(&drawn, |input| {
        target(&input);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("put the input into fuzz/corpus/{name} once it is mended: {failure}");
    }
}

/// One change of an input; places are parts of it, whatever its length.
#[derive(Debug, Clone)]
enum Change {
    /// Bytes are put in.
    Insert(Index, Vec<u8>),
    /// So many bytes go.
    Remove(Index, usize),
    /// So many bytes come once more, somewhere else.
    Repeat(Index, usize, Index),
    /// Everything from here on is that of another input, from there on.
    Cross(Index, Index, Index),
}

fn mutated(corpus: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let odd: Vec<&[u8]> =
        vec![b"\xff", b"\n", b"\r\n", b"\"", b"\\", b"{", b"]", b"0", b" ", b">", b"\x1b[", b"\xc3\xa9", b"\0"];
    let piece = prop_oneof![select(odd).prop_map(<[u8]>::to_vec), vec(any::<u8>(), 1..4)];
    let change = prop_oneof![
        (any::<Index>(), piece).prop_map(|(at, piece)| Change::Insert(at, piece)),
        (any::<Index>(), 1..8_usize).prop_map(|(at, count)| Change::Remove(at, count)),
        (any::<Index>(), 1..24_usize, any::<Index>()).prop_map(|(from, count, to)| Change::Repeat(from, count, to)),
        (any::<Index>(), any::<Index>(), any::<Index>()).prop_map(|(at, other, from)| Change::Cross(at, other, from)),
    ];
    (any::<Index>(), vec(change, 1..6)).prop_map(move |(which, changes)| {
        let input = which.get(&corpus).clone();
        changes.iter().fold(input, |input, change| changed(input, change, &corpus))
    })
}

fn changed(mut input: Vec<u8>, change: &Change, corpus: &[Vec<u8>]) -> Vec<u8> {
    let place = |at: &Index, input: &[u8]| at.index(input.len() + 1);
    match change {
        Change::Insert(at, piece) => drop(input.splice(place(at, &input)..place(at, &input), piece.iter().copied())),
        Change::Remove(at, count) => {
            let from = place(at, &input);
            input.drain(from..(from + count).min(input.len()));
        }
        Change::Repeat(from, count, to) => {
            let (from, to) = (place(from, &input), place(to, &input));
            let piece = input[from..(from + count).min(input.len())].to_vec();
            input.splice(to..to, piece);
        }
        Change::Cross(at, other, from) => {
            let other = other.get(corpus);
            input.truncate(place(at, &input));
            input.extend_from_slice(&other[place(from, other)..]);
        }
    }
    input
}

#[test]
fn the_check_can_fail() {
    // One byte in the corpus, and one that only comes by changing it.
    for target in [|input: &[u8]| assert!(!input.contains(&b'C')), |input: &[u8]| assert!(!input.contains(&0xff))] {
        assert!(catch_unwind(|| check("frames", target)).is_err());
    }
}

#[test]
fn every_target_has_its_program() {
    let names = |part: &str| -> BTreeSet<String> {
        let files = files(&folder().join(part));
        files.iter().map(|file| file.file_stem().unwrap().to_string_lossy().into_owned()).collect()
    };
    let targets: BTreeSet<String> = TARGETS.iter().map(|&name| name.to_owned()).collect();
    let mut sources = names("targets");
    assert!(sources.remove("parts"));
    assert_eq!((&sources, &names("bins"), &names("corpus")), (&targets, &targets, &targets));
    let manifest = String::from_utf8(read(&folder().join("Cargo.toml"))).unwrap();
    let readme = String::from_utf8(read(&folder().join("README.md"))).unwrap();
    for name in TARGETS {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "Cargo.toml builds no {name}");
        assert!(readme.contains(&format!("| `{name}` |")), "README.md does not tell of {name}");
    }
}
