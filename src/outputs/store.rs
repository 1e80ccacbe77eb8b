//! Whole outputs of one session, kept for as long as its share of memory and disk allows. Pure: what has to be written,
//! removed or read is told to the caller.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use super::spill::SPILL_FROM;
use super::{OutputKind, Spilled};

/// At most so many outputs are known, however small they are.
const MOST: usize = 10_000;

/// An output to keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOutput {
    /// Its name.
    pub id: String,
    /// The call that made it.
    pub call_id: String,
    /// The tool of that call.
    pub tool: String,
    /// All of it.
    pub text: Arc<str>,
    /// Where it comes from, if it is text from elsewhere.
    pub external: Option<String>,
    /// What sort of text it is, where that is known.
    pub kind: Option<OutputKind>,
}

/// What is to be done after an output was kept.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Put {
    /// Write it to the disk, and report by [`Store::written`] with this number.
    pub write: Option<u64>,
    /// Files of outputs that are kept no longer.
    pub remove: Vec<PathBuf>,
}

/// Where the whole text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whole {
    /// Here.
    Memory(Arc<str>),
    /// On the disk.
    Disk(Spilled),
}

/// An output that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What is known of it.
    pub kept: Kept,
    /// Its text.
    pub whole: Whole,
}

/// What is known of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its name.
    pub id: String,
    /// The call that made it.
    pub call_id: String,
    /// The tool of that call.
    pub tool: String,
    /// Its length in bytes.
    pub bytes: usize,
    /// Where it comes from, if it is text from elsewhere.
    pub external: Option<String>,
    /// What sort of text it is, where that is known.
    pub kind: Option<OutputKind>,
}

/// Outputs by id, the longest unused first.
#[derive(Debug, Default)]
pub struct Store {
    outputs: VecDeque<Output>,
    /// What those in memory take, without those that only wait to be on the disk.
    bytes: usize,
    disk_bytes: usize,
    puts: u64,
}

#[derive(Debug)]
struct Output {
    kept: Kept,
    put: u64,
    text: Option<Arc<str>>,
    /// Whether what it has in memory counts.
    counted: bool,
    /// So much that is (bytes).
    held: usize,
    disk: OnDisk,
}

#[derive(Debug, PartialEq, Eq)]
enum OnDisk {
    No,
    Soon,
    At(Spilled),
}

impl Store {
    /// Keeps an output; the longest unused ones make room for it in `limit` bytes of memory. It stays itself, however
    /// long it is. `spills`: there is a place on the disk for what is long.
    pub fn put(&mut self, new: NewOutput, limit: usize, spills: bool) -> Put {
        let mut done = Put::default();
        if let Some(at) = self.position(&new.id) {
            self.drop_at(at, &mut done.remove);
        }
        self.puts += 1;
        let NewOutput { id, call_id, tool, text, external, kind } = new;
        let bytes = text.len();
        let writes = spills && bytes > SPILL_FROM;
        done.write = writes.then_some(self.puts);
        self.bytes += bytes;
        self.outputs.push_back(Output {
            kept: Kept { id, call_id, tool, bytes, external, kind },
            put: self.puts,
            text: Some(text),
            counted: true,
            held: bytes,
            disk: if writes { OnDisk::Soon } else { OnDisk::No },
        });
        self.make_room(limit, &mut done.remove);
        done
    }

    /// Keeps an output that is on the disk already; the text of `new` counts for nothing. The longest unused ones make room for
    /// it in `disk` bytes there, and in `memory` bytes for what of it had no room on the disk. Answers the files of outputs
    /// that are kept no longer.
    pub fn put_file(&mut self, new: NewOutput, spilled: Spilled, memory: usize, disk: usize) -> Vec<PathBuf> {
        let mut remove = Vec::new();
        if let Some(at) = self.position(&new.id) {
            self.drop_at(at, &mut remove);
        }
        self.puts += 1;
        let NewOutput { id, call_id, tool, external, kind, .. } = new;
        let bytes = usize::try_from(spilled.index().bytes()).unwrap_or(usize::MAX);
        let held = spilled.in_memory();
        self.disk_bytes += bytes;
        self.bytes += held;
        self.outputs.push_back(Output {
            kept: Kept { id, call_id, tool, bytes, external, kind },
            put: self.puts,
            text: None,
            counted: held > 0,
            held,
            disk: OnDisk::At(spilled),
        });
        self.spare_disk(disk, &mut remove);
        self.make_room(memory, &mut remove);
        remove
    }

    /// The output of that number was written to the disk, or could not be (`None`). The longest unused ones make room for it in
    /// `limit` bytes of disk. Answers the files that nobody wants.
    pub fn written(&mut self, put: u64, spilled: Option<Spilled>, limit: usize) -> Vec<PathBuf> {
        let mut remove = Vec::new();
        let Some(at) = self.outputs.iter().position(|output| output.put == put) else {
            return spilled.map(|spilled| spilled.files()).unwrap_or_default();
        };
        let output = &mut self.outputs[at];
        if let Some(spilled) = spilled {
            output.disk = OnDisk::At(spilled);
            self.disk_bytes += output.kept.bytes;
            if !output.counted {
                output.text = None;
            }
            self.spare_disk(limit, &mut remove);
        } else {
            output.disk = OnDisk::No;
            if !output.counted {
                self.drop_at(at, &mut remove);
            }
        }
        remove
    }

    /// Whether the output of that number is still to be written.
    pub fn wants(&self, put: u64) -> bool {
        self.outputs.iter().any(|output| output.put == put && output.disk == OnDisk::Soon)
    }

    /// A whole output, by its name or else by the call that made it (the last of that name). Nothing is evicted by
    /// that; what is asked for is wanted, and goes last.
    pub fn find(&mut self, name: &str) -> Option<Found> {
        let of_call =
            || self.outputs.iter().filter(|output| output.kept.call_id == name).max_by_key(|output| output.put);
        let put = match self.position(name) {
            Some(at) => self.outputs[at].put,
            None => of_call()?.put,
        };
        let at = self.outputs.iter().position(|output| output.put == put)?;
        let output = self.outputs.remove(at)?;
        let whole = match (&output.text, &output.disk) {
            (Some(text), _) => Some(Whole::Memory(Arc::clone(text))),
            (None, OnDisk::At(spilled)) => Some(Whole::Disk(spilled.clone())),
            (None, _) => None,
        };
        let kept = output.kept.clone();
        self.outputs.push_back(output);
        Some(Found { kept, whole: whole? })
    }

    /// The name of the output of a call, if it is kept: of several of that name the last.
    pub fn of_call(&self, call_id: &str) -> Option<&str> {
        let of_call = self.outputs.iter().filter(|output| output.kept.call_id == call_id);
        of_call.max_by_key(|output| output.put).map(|output| output.kept.id.as_str())
    }

    /// Every output that is kept, in the order in which they were made.
    pub fn all(&self) -> Vec<Kept> {
        let mut all: Vec<&Output> = self.outputs.iter().collect();
        all.sort_unstable_by_key(|output| output.put);
        all.into_iter().map(|output| output.kept.clone()).collect()
    }

    /// Keeps nothing any more; answers the files that nobody wants now.
    pub fn clear(&mut self) -> Vec<PathBuf> {
        let mut remove = Vec::new();
        while !self.outputs.is_empty() {
            self.drop_at(0, &mut remove);
        }
        remove
    }

    fn position(&self, id: &str) -> Option<usize> {
        self.outputs.iter().position(|output| output.kept.id == id)
    }

    fn drop_at(&mut self, at: usize, remove: &mut Vec<PathBuf>) {
        let Some(output) = self.outputs.remove(at) else { return };
        if output.counted {
            self.bytes -= output.held;
        }
        if let OnDisk::At(spilled) = output.disk {
            self.disk_bytes -= output.kept.bytes;
            remove.extend(spilled.files());
        }
    }

    /// The longest unused leave the memory; of those that are not on the disk, nothing is left.
    fn make_room(&mut self, limit: usize, remove: &mut Vec<PathBuf>) {
        let mut at = 0;
        while self.bytes > limit && at + 1 < self.outputs.len() {
            let output = &mut self.outputs[at];
            if !output.counted {
                at += 1;
                continue;
            }
            // Of one that is on the disk but for a part, nothing stays without that part.
            if output.disk == OnDisk::No || output.text.is_none() {
                self.drop_at(at, remove);
                continue;
            }
            // One that is being written is held until it is: what is promised is there.
            output.counted = false;
            if output.disk != OnDisk::Soon {
                output.text = None;
            }
            self.bytes -= output.held;
            at += 1;
        }
        while self.outputs.len() > MOST {
            self.drop_at(0, remove);
        }
    }

    /// How many bytes are kept in memory.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The longest unused leave the disk, and with that are gone, unless they are in memory.
    fn spare_disk(&mut self, limit: usize, remove: &mut Vec<PathBuf>) {
        let mut at = 0;
        while self.disk_bytes > limit && at + 1 < self.outputs.len() {
            let output = &mut self.outputs[at];
            if !matches!(output.disk, OnDisk::At(..)) {
                at += 1;
            } else if output.counted && output.text.is_some() {
                if let OnDisk::At(spilled) = std::mem::replace(&mut output.disk, OnDisk::No) {
                    remove.extend(spilled.files());
                }
                self.disk_bytes -= output.kept.bytes;
                at += 1;
            } else {
                self.drop_at(at, remove);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outputs::Index;
    use crate::outputs::spilled::Part;
    use proptest::prelude::*;
    use std::path::Path;

    fn new(id: &str, text: &str) -> NewOutput {
        NewOutput {
            id: id.to_owned(),
            call_id: format!("call-{id}"),
            tool: "read".to_owned(),
            text: Arc::from(text),
            external: None,
            kind: None,
        }
    }

    /// A file of so many bytes.
    fn file(path: &str, bytes: usize) -> Spilled {
        Spilled::in_file(path.into(), Index::of(&"x".repeat(bytes)))
    }

    fn put_file(store: &mut Store, id: &str, path: &str, bytes: usize) -> Vec<PathBuf> {
        store.put_file(new(id, ""), file(path, bytes), 0, DISK)
    }

    const DISK: usize = 3000;

    fn put(store: &mut Store, id: &str, text: &str, limit: usize) {
        assert_eq!(store.put(new(id, text), limit, false), Put::default());
    }

    fn names(store: &Store) -> Vec<String> {
        store.all().into_iter().map(|kept| kept.id).collect()
    }

    #[test]
    fn the_oldest_make_room() {
        let mut store = Store::default();
        for id in ["o1", "o2", "o3"] {
            put(&mut store, id, "12345678", 20);
        }
        assert_eq!(names(&store), ["o2", "o3"]);
        assert_eq!((store.find("o1"), store.of_call("call-o1"), store.of_call("call-o2")), (None, None, Some("o2")));
    }

    #[test]
    fn a_session_keeps_at_most_16_mib() {
        let (mut store, text) = (Store::default(), "x".repeat(1024 * 1024));
        let limit = crate::config::OutputSettings::default().kept_bytes;
        for number in 0..40 {
            put(&mut store, &format!("o{number}"), &text, limit);
        }
        assert_eq!((store.bytes, store.outputs.len()), (16 * 1024 * 1024, 16));
        assert_eq!((store.find("o23"), store.find("o24").is_some()), (None, true));
    }

    #[test]
    fn what_is_read_stays_longer_and_reading_evicts_nothing() {
        let mut store = Store::default();
        put(&mut store, "o1", "12345678", 20);
        put(&mut store, "o2", "12345678", 20);
        for _ in 0..100 {
            let found = store.find("call-o1").unwrap();
            assert_eq!((found.kept.id.as_str(), found.whole), ("o1", Whole::Memory(Arc::from("12345678"))));
        }
        assert_eq!(names(&store), ["o1", "o2"]);
        put(&mut store, "o3", "12345678", 20);
        assert_eq!(names(&store), ["o1", "o3"]);
    }

    #[test]
    fn one_that_is_too_long_is_kept_alone() {
        let mut store = Store::default();
        put(&mut store, "o1", "ab", 4);
        put(&mut store, "o2", "0123456789", 4);
        assert_eq!(names(&store), ["o2"]);
    }

    #[test]
    fn the_same_id_is_replaced() {
        let mut store = Store::default();
        put(&mut store, "o1", "12345678", 10);
        put(&mut store, "o1", "1234567", 10);
        put(&mut store, "o2", "123", 10);
        assert_eq!(store.find("o1").unwrap().whole, Whole::Memory(Arc::from("1234567")));
    }

    #[test]
    fn of_two_calls_of_one_name_the_last_counts() {
        let mut store = Store::default();
        for id in ["o1", "o2"] {
            store.put(NewOutput { call_id: "toolu_1".into(), ..new(id, id) }, 100, false);
        }
        store.find("o1");
        assert_eq!(store.of_call("toolu_1"), Some("o2"));
        assert_eq!(store.find("toolu_1").unwrap().kept.id, "o2");
    }

    #[test]
    fn what_is_on_the_disk_outlives_its_place_in_memory() {
        let mut store = Store::default();
        let long = "x".repeat(SPILL_FROM + 1);
        let first = store.put(new("o1", &long), SPILL_FROM, true).write.unwrap();
        // Evicted while it is being written: it is still there.
        let second = store.put(new("o2", &long), SPILL_FROM, true).write.unwrap();
        assert!(store.wants(first) && matches!(store.find("o1").unwrap().whole, Whole::Memory(_)));
        assert_eq!(store.written(first, Some(file("/s/1", 0)), 1 << 20), Vec::<PathBuf>::new());
        assert!(matches!(store.find("o1").unwrap().whole, Whole::Disk(there) if there.files() == [Path::new("/s/1")]));
        assert!(!store.wants(first) && store.bytes == long.len());
        // One that could not be written is gone with its place in memory, and nothing is promised.
        store.put(new("o3", "short"), SPILL_FROM, true);
        assert_eq!(store.written(second, None, 1 << 20), Vec::<PathBuf>::new());
        assert_eq!(names(&store), ["o1", "o3"]);
        assert_eq!(store.clear(), [PathBuf::from("/s/1")]);
        assert_eq!((names(&store).len(), store.bytes, store.disk_bytes), (0, 0, 0));
        // Written after all, but for nobody.
        assert!(!store.wants(second));
        assert_eq!(store.written(second, Some(file("/s/2", 0)), 1 << 20), [PathBuf::from("/s/2")]);
    }

    #[test]
    fn what_is_in_a_file_already_takes_no_memory() {
        let mut store = Store::default();
        let third = DISK / 3;
        for (at, id) in ["o1", "o2", "o3"].into_iter().enumerate() {
            assert_eq!(put_file(&mut store, id, &format!("/s/{at}"), third), Vec::<PathBuf>::new());
        }
        let found = store.find("o1").unwrap();
        assert_eq!((store.bytes, found.kept.bytes, found.whole), (0, third, Whole::Disk(file("/s/0", third))));
        // The longest unused makes room, and so does one of the same name.
        assert_eq!(put_file(&mut store, "o4", "/s/3", third), [PathBuf::from("/s/1")]);
        assert_eq!(put_file(&mut store, "o4", "/s/4", 1), [PathBuf::from("/s/3")]);
        assert_eq!(names(&store), ["o1", "o3", "o4"]);
        assert_eq!((store.clear().len(), store.disk_bytes), (3, 0));
    }

    #[test]
    fn what_had_no_room_on_the_disk_takes_room_in_memory() {
        let mut store = Store::default();
        let parts = |path: &str| vec![Part::File(path.into(), 6), Part::Text("four".into())];
        let put = |store: &mut Store, id: &str| {
            store.put_file(new(id, ""), Spilled::new(parts(id), Index::of("0123456789")), 8, DISK)
        };
        assert_eq!([put(&mut store, "o1"), put(&mut store, "o2")], [Vec::<PathBuf>::new(), Vec::new()]);
        assert_eq!((store.bytes, store.disk_bytes), (8, 20));
        assert_eq!(put(&mut store, "o3"), [PathBuf::from("o1")]);
        assert_eq!((names(&store), store.bytes, store.disk_bytes), (vec!["o2".into(), "o3".into()], 8, 20));
    }

    #[test]
    fn short_ones_and_those_without_a_place_are_not_written() {
        let mut store = Store::default();
        assert_eq!(store.put(new("o1", &"x".repeat(SPILL_FROM)), 1 << 20, true).write, None);
        assert_eq!(store.put(new("o2", &"x".repeat(SPILL_FROM + 1)), 1 << 20, false).write, None);
    }

    proptest! {
        #[test]
        fn the_counts_stay_right(steps in prop::collection::vec((0..5u8, 0..6usize, 0..3usize), 0..80)) {
            let (mut store, sizes) = (Store::default(), [10, SPILL_FROM + 1, 2 * SPILL_FROM]);
            let indexes = sizes.map(|bytes| Index::of(&"x".repeat(bytes)));
            let (mut pending, mut files) = (Vec::new(), Vec::new());
            for (step, name, size) in steps {
                match step {
                    0 => {
                        let put = store.put(new(&format!("o{name}"), &"x".repeat(sizes[size])), 3 * SPILL_FROM, true);
                        pending.extend(put.write);
                        files.retain(|file| !put.remove.contains(file));
                    }
                    1 => if let Some(number) = pending.pop() {
                        let path = PathBuf::from(format!("/{number}"));
                        files.push(path.clone());
                        let remove = store.written(number, Some(Spilled::in_file(path, Index::default())), 4 * SPILL_FROM);
                        files.retain(|file| !remove.contains(file));
                    },
                    4 => {
                        let path = PathBuf::from(format!("/f{}", store.puts));
                        files.push(path.clone());
                        // Every other one has some of it in memory.
                        let mut parts = vec![Part::File(path, indexes[size].bytes() / 2)];
                        if store.puts.is_multiple_of(2) {
                            parts.push(Part::Text("x".repeat(sizes[size] / 2).into()));
                        }
                        let spilled = Spilled::new(parts, indexes[size].clone());
                        let new = new(&format!("o{name}"), "");
                        let remove = store.put_file(new, spilled, 3 * SPILL_FROM, 4 * SPILL_FROM);
                        files.retain(|file| !remove.contains(file));
                    }
                    2 => if let Some(number) = pending.pop() {
                        let remove = store.written(number, None, 4 * SPILL_FROM);
                        files.retain(|file| !remove.contains(file));
                    },
                    _ => { store.find(&format!("o{name}")); }
                }
                let counted: usize = store.outputs.iter().filter(|o| o.counted).map(|o| o.held).sum();
                prop_assert_eq!(store.bytes, counted);
                let mut on_disk: Vec<PathBuf> = store.outputs.iter().filter_map(|o| match &o.disk {
                    OnDisk::At(spilled) => spilled.files().pop(),
                    _ => None,
                }).collect();
                on_disk.sort();
                files.sort();
                prop_assert_eq!(&on_disk, &files, "every file has its output");
                prop_assert!(store.outputs.iter().all(|o| o.text.is_some() || matches!(o.disk, OnDisk::At(..))));
                prop_assert!(store.bytes <= 3 * SPILL_FROM);
            }
        }
    }
}
