//! What lies over the disk, against a naive search of the merged texts; and the two walks against each other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;

use super::kit::{grep, job, lines, names, open, query, workspace};
use crate::ports::{Disk, MemoryDisk, SystemDisk};
use crate::text::{LineBreaks, Text};
use crate::workspace::search::{Besides, Mode, Wanted};
use crate::workspace::{Key, Workspace};

type Texts = BTreeMap<String, String>;

fn texts() -> impl Strategy<Value = Texts> {
    let name = prop_oneof![
        Just("a"),
        Just("b"),
        Just("dir/a"),
        Just("dir/b"),
        Just("dir-x/a"),
        Just("dir.y"),
        Just("dir/sub/c"),
        Just("z/y/x/w")
    ];
    let text = "([ab]{0,3}[ \u{e9}]?[ab]{0,2}\r?\n){0,4}[ab]{0,3}";
    prop::collection::btree_map(name.prop_map(str::to_owned), text, 0..7)
}

/// As a search without any cleverness has it: by the bytes of the path, line by line.
fn naive(texts: &Texts, pattern: &str) -> Vec<String> {
    let regex = regex::Regex::new(pattern).unwrap();
    let mut found = Vec::new();
    for (name, text) in texts {
        let lines = text.split_inclusive('\n').map(|line| line.trim_end_matches('\n').trim_end_matches('\r'));
        for (number, line) in lines.enumerate() {
            if let Some(at) = regex.find(line) {
                let column = line[..at.start()].chars().count() + 1;
                found.push(format!("{name}:{}:{column}:{line}", number + 1));
            }
        }
    }
    found
}

fn overlaid(disk: &Texts, documents: &Texts) -> Workspace {
    let memory = MemoryDisk::new().with_dir("/w");
    for (name, text) in disk {
        memory.put(format!("/w/{name}"), text);
    }
    let workspace = workspace(Arc::new(memory), &[Path::new("/w")]);
    for (name, text) in documents {
        open(&workspace, Path::new(&format!("/w/{name}")), text);
    }
    workspace
}

proptest! {
    #[test]
    fn the_texts_over_the_disk_are_the_ones_that_are_searched(
        disk in texts(), documents in texts(), pattern in prop::sample::select(&["a", "ab", "b+", "a.b", "^b", "a$", "\u{e9}", "[^a]b", "x", r"\bb", "^$", "a|b"][..]),
    ) {
        let workspace = overlaid(&disk, &documents);
        let mut merged = disk.clone();
        merged.extend(documents.clone());
        let job = job(&workspace, None);
        prop_assert_eq!(names(&job), merged.keys().cloned().collect::<Vec<_>>());
        for entry in job.files(false).entries {
            let name = job.shown(&entry.place);
            let differs = documents.get(&name).is_some_and(|text| disk.get(&name) != Some(text));
            prop_assert_eq!(job.unsaved(&entry.place), differs, "{}", name);
        }
        let expected = naive(&merged, pattern);
        let found = grep(&job, &query(pattern));
        prop_assert_eq!(lines(&job, &found), &expected[..]);
        prop_assert_eq!((found.matched, found.searched), (expected.len() as u64, merged.len() as u64));
        // Pages put together are the whole.
        let mut paged = Vec::new();
        for page in 0.. {
            let part = super::super::Query { skip: page * 3, limit: 3, ..query(pattern) };
            let found = grep(&job, &part);
            prop_assert_eq!(found.matched, expected.len() as u64);
            let lines = lines(&job, &found);
            if lines.is_empty() {
                break;
            }
            paged.extend(lines);
        }
        prop_assert_eq!(paged, expected);
        // The other modes count the same.
        let files = grep(&job, &super::super::Query { mode: Mode::Files, ..query(pattern) });
        let counts = grep(&job, &super::super::Query { mode: Mode::Count, ..query(pattern) });
        prop_assert_eq!((files.files, counts.files, counts.matched), (found.files, found.files, found.matched));
    }

    #[test]
    fn both_walks_meet_the_same(
        files in prop::collection::btree_set("(a|b|\\.c|d){1}(/(a|b|\\.c|d)){0,3}\\.(rs|log|txt)", 0..12),
        rules in prop::collection::btree_map(
            prop_oneof![Just(""), Just("a.d/"), Just("b/"), Just("d/")],
            "(\\*\\.log|!a\\.log|/b|a/|b/a\\.rs|!\\.c|\\.c\\*|\\*\\*/d){0,1}(\n(\\*\\.rs|!b\\.rs|d/))?", 0..3),
        plain in any::<bool>(), repository in any::<bool>(), hidden in any::<bool>(), ignored in any::<bool>(),
    ) {
        let real = tempfile::tempdir().unwrap();
        let root = real.path().canonicalize().unwrap().join("w");
        let memory = MemoryDisk::new().with_dir(&root);
        SystemDisk.create_dir_all(&root).unwrap();
        let put = |path: PathBuf, text: &str| {
            if SystemDisk.create_dir_all(path.parent().unwrap()).is_ok() && SystemDisk.create(&path, text.as_bytes()).is_ok() {
                memory.put(&path, text);
            }
        };
        for file in &files {
            put(root.join(file), "text\n");
        }
        for (folder, rules) in &rules {
            put(root.join(folder).join(if plain { ".ignore" } else { ".gitignore" }), rules);
        }
        if repository {
            put(root.join(".git/HEAD"), "");
        }
        let listed = |disk: Arc<dyn Disk>| {
            let workspace = workspace(disk, &[&root]);
            let job = workspace.job(None, &Wanted::default(), Besides { hidden, ignored }, &[]).unwrap();
            let all = job.everything();
            (all.entries.iter().map(|entry| (job.shown(&entry.place), entry.kind)).collect::<Vec<_>>(), all.faults)
        };
        prop_assert_eq!(listed(Arc::new(memory)), listed(Arc::new(SystemDisk)));
    }
}

#[test]
fn proposals_lie_over_open_documents() {
    let workspace = overlaid(
        &Texts::from([("a".into(), "disk".into()), ("b".into(), "disk".into())]),
        &Texts::from([("a".into(), "buffer".into())]),
    );
    let proposed = |name: &str, text: &str| (Key::File(Path::new("/w").join(name)), Text::new(text, LineBreaks::Lf));
    let proposals = [proposed("a", "proposed"), proposed("new", "proposed")];
    let job = workspace.job(None, &Wanted::default(), Besides::default(), &proposals).unwrap();
    assert_eq!(names(&job), ["a", "b", "new"]);
    let found = grep(&job, &query("disk|buffer|proposed"));
    assert_eq!(lines(&job, &found), ["a:1:1:proposed", "b:1:1:disk", "new:1:1:proposed"]);
    assert!(job.unsaved(&found.parts[0].hits.place));
}

#[test]
fn each_file_is_found_in_its_innermost_folder() {
    let disk = MemoryDisk::new().with_file("/w/a", "x").with_file("/w/in/b", "x").with_file("/v/c", "x");
    let roots = [Path::new("/w"), Path::new("/v"), Path::new("/w/in")];
    let workspace = workspace(Arc::new(disk), &roots);
    open(&workspace, Path::new("/w/in/new"), "x");
    open(&workspace, Path::new("/elsewhere/d"), "x");
    workspace.documents.open(Key::Unnamed("untitled:1".into()), "untitled:1", "text", 1, "x");
    let everywhere = job(&workspace, None);
    // Several folders: whole paths, in the order of the folders.
    assert_eq!(names(&everywhere), ["/w/a", "/v/c", "/w/in/b", "/w/in/new", "untitled:1"]);
    assert_eq!(names(&job(&workspace, Some("/w"))), ["/w/a", "/w/in/b", "/w/in/new"]);
    assert_eq!(names(&job(&workspace, Some("/elsewhere"))), ["/elsewhere/d"]);
}
