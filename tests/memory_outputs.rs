//! The memory that a long output takes does not grow with it, neither while it comes nor when it is looked at: measured by an
//! allocator that counts.
//!
//! A target of its own with a single test, so that nothing else allocates beside what is measured.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use std::path::Path;
use std::sync::Arc;

use peak_alloc::PeakAlloc;
use ropewalk::outputs::{Ask, Gather, Gathered, Looked, Mode, NewOutput, Pattern, SpillPlace, Store, look, open};
use ropewalk::ports::{Ports, scratch_folder};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const MIB: usize = 1 << 20;

/// Bytes of a line.
const LINE: usize = 4096;

/// Lines that are made and pushed at once.
const BATCH: usize = 64;

/// Bytes allocated at the most during some work beyond what was before.
fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    let result = work();
    (result, ALLOCATOR.peak_usage().saturating_sub(before))
}

/// A line (1-based) of an output.
fn line(number: usize) -> String {
    format!("{number:>9} {}\n", "é=".repeat((LINE - 11) / 3))
}

/// An output of so many bytes, in a file, and what it took to get it there.
fn kept(place: &SpillPlace, bytes: usize) -> (Store, usize) {
    let (gathered, taken) = peak(|| {
        let mut gather = Gather::new(Some(place.clone()), "s");
        for batch in 0..bytes / LINE / BATCH {
            (1..=BATCH).for_each(|number| gather.push(&line(batch * BATCH + number)));
            if gather.is_due() {
                gather.write();
            }
        }
        gather.finish()
    });
    let Gathered::Long(long) = gathered else { panic!("it is not in a file") };
    assert!(long.lost.is_empty() && long.bytes / MIB >= bytes / MIB - 1, "{:?} {}", long.lost, long.bytes);
    let mut store = Store::default();
    let new = NewOutput {
        id: "o1".into(),
        call_id: "c1".into(),
        tool: "bash".into(),
        text: Arc::from(""),
        external: None,
        kind: None,
    };
    store.put_file(new, long.spilled, 16 * MIB, 1 << 40);
    (store, taken)
}

/// What is looked at, and what it takes.
fn looked(ports: &Ports, store: &mut Store, ask: &Ask) -> (Looked, usize) {
    let found = store.find("o1").unwrap();
    peak(|| look(&mut open(&*ports.disk, &found).unwrap(), ask, 30_000, &|| false).unwrap())
}

#[test]
fn memory_does_not_grow_with_an_output() {
    let folder = scratch_folder("ropewalk-memory-").unwrap();
    let ports = Ports::system();
    let place = SpillPlace::temporary(&ports, folder.path()).with_most(1 << 30);
    let most = [8 * MIB, 200 * MIB].map(|bytes| {
        let (mut store, gathering) = kept(&place, bytes);
        let rows = bytes / LINE / BATCH * BATCH;
        let ask = |mode, offset, pattern: Option<&str>| {
            let pattern = pattern.map(|text| Pattern::new(text, true));
            Ask { mode, offset, column: 1, limit: 4, pattern, context: 1 }
        };
        let mut most = 0;
        for offset in [1, rows / 3, rows / 2, rows - 3] {
            let (looked, taken) = looked(&ports, &mut store, &ask(Mode::Window, offset, None));
            assert_eq!(looked.text, (offset..offset + 4).map(line).collect::<String>());
            assert_eq!(looked.total_lines, rows);
            most = most.max(taken);
        }
        for (ask, first) in [
            (ask(Mode::Tail, 1, None), format!("{:>9} ", rows - 3)),
            (ask(Mode::Window, 1, Some(&format!(" {rows} "))), format!("{}: ", rows - 1)),
            (ask(Mode::Summary, 1, None), "the beginning:\n".to_owned()),
        ] {
            let (looked, taken) = looked(&ports, &mut store, &ask);
            assert!(looked.text.starts_with(&first), "{first:?} {}", &looked.text[..40]);
            most = most.max(taken);
        }
        place.remove(&store.clear());
        [gathering, most]
    });
    place.close();
    assert!(ports.disk.read_dir(Path::new(folder.path())).unwrap().is_empty(), "nothing is left");
    for (short, long) in most[0].into_iter().zip(most[1]) {
        assert!(short < 10 * MIB, "{most:?}");
        assert!(long <= short + MIB / 4, "{most:?}");
    }
}
