//! Folders as a tree of which a part is shown: level by level, and in each level every folder its share. Pure.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::mark;
use crate::ports::FileKind;
use crate::tools::grep::{counted, length};
use crate::workspace::paths::uri_of_path;
use crate::workspace::search::visible;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Item {
    pub kind: FileKind,
    /// Whether it is an open document.
    pub over: bool,
}

/// Folders in a row.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub folders: Vec<Folder>,
}

/// A folder with all that is in it, some levels deep.
#[derive(Debug)]
pub(super) struct Folder {
    /// Its name for the model.
    shown: String,
    /// Its path.
    path: PathBuf,
    children: BTreeMap<PathBuf, BTreeMap<Name, Item>>,
}

/// Folders before all else, then by the bytes of the name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    not_folder: bool,
    bytes: Vec<u8>,
}

impl Name {
    fn new(name: &OsStr, kind: FileKind) -> Name {
        Name { not_folder: kind != FileKind::Directory, bytes: name.as_bytes().to_vec() }
    }

    fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.bytes))
    }
}

/// How many entries of each folder are shown: by its number and its relative path.
pub(super) type Pick = BTreeMap<(usize, PathBuf), usize>;

/// Whether the text of an open document differs from its file.
type Unsaved<'a> = &'a dyn Fn(usize, &Path) -> bool;
/// How many names in a folder are not among those that were seen.
type LeftOut<'a> = &'a dyn Fn(usize, &Path, &dyn Fn(&str) -> bool) -> usize;

impl Folder {
    /// An empty one.
    pub(super) fn new(shown: String, path: PathBuf) -> Folder {
        Folder { shown, path, children: BTreeMap::new() }
    }

    /// Puts in what is at a relative path, and the folders on the way there (which may be on no disk), not deeper than
    /// `depth`.
    pub(super) fn put(&mut self, path: &Path, item: Item, depth: usize) {
        let mut parent = PathBuf::new();
        let parts: Vec<OsString> = path.iter().map(OsStr::to_owned).collect();
        for (level, part) in parts.iter().enumerate().take(depth) {
            let item = if level + 1 == parts.len() { item } else { Item { kind: FileKind::Directory, over: false } };
            self.children.entry(parent.clone()).or_default().entry(Name::new(part, item.kind)).or_insert(item);
            parent.push(part);
        }
    }
}

impl Tree {
    /// Which entries to show, at most `limit`.
    pub(super) fn pick(&self, limit: usize) -> Pick {
        let mut pick = Pick::new();
        let mut left = limit;
        let mut level: Vec<(usize, PathBuf)> = (0..self.folders.len()).map(|number| (number, PathBuf::new())).collect();
        while !level.is_empty() && left > 0 {
            // One more for each folder that has more, until there are none or no room is left.
            let mut open: Vec<&(usize, PathBuf)> = level.iter().collect();
            while left > 0 && !open.is_empty() {
                open.retain(|folder| {
                    let (number, path) = folder;
                    let have = self.folders[*number].children.get(path).map_or(0, BTreeMap::len);
                    let shown = pick.entry((*folder).clone()).or_default();
                    let more = *shown < have && left > 0;
                    if more {
                        *shown += 1;
                        left -= 1;
                    }
                    more
                });
            }
            level = level
                .iter()
                .flat_map(|(number, path)| {
                    let shown = pick.get(&(*number, path.clone())).copied().unwrap_or_default();
                    let children = self.folders[*number].children.get(path);
                    children
                        .into_iter()
                        .flatten()
                        .take(shown)
                        .filter(|(_, item)| item.kind == FileKind::Directory)
                        .map(move |(name, _)| (*number, path.join(name.as_path())))
                })
                .collect();
        }
        pick
    }

    /// The tree as text and as data.
    pub(super) fn render(
        &self,
        pick: &Pick,
        depth: usize,
        budget: usize,
        unsaved: Unsaved<'_>,
        left_out: LeftOut<'_>,
        words: &[String],
    ) -> (String, Value) {
        /// Kept free in the budget (bytes) for what is said of the entries at the end, remarks on the search aside.
        const SUMMARY: usize = 400;
        let mut page = Page {
            tree: self,
            pick,
            depth,
            room: budget.saturating_sub(SUMMARY + length(words)),
            text: String::new(),
            entries: Vec::new(),
            left_out: 0,
            full: false,
            unsaved,
            find_left_out: left_out,
        };
        for (number, folder) in self.folders.iter().enumerate() {
            let name = if folder.shown.ends_with('/') { folder.shown.clone() } else { format!("{}/", folder.shown) };
            let _ = writeln!(page.text, "{name}");
            page.folder(number, Path::new(""), 1);
        }
        let all = self.folders.iter().flat_map(|folder| folder.children.values()).flatten();
        let (mut files, mut folders) = (0u64, 0u64);
        for (_, item) in all {
            if item.kind == FileKind::Directory { folders += 1 } else { files += 1 }
        }
        let (total, shown) = (files + folders, page.entries.len());
        let _ =
            write!(page.text, "\n({}, {} down to depth {depth}", counted(folders, "folder"), counted(files, "file"));
        if (shown as u64) < total {
            let _ = write!(page.text, "; {shown} of {total} shown: list a folder by itself for the rest");
        }
        page.text.push(')');
        if page.left_out > 0 {
            let _ = write!(page.text, "\n(left out as hidden, ignored or excluded: {})", page.left_out);
        }
        for word in words {
            let _ = write!(page.text, "\n({word})");
        }
        let data = json!({ "entries": page.entries, "folders": folders, "files": files, "leftOut": page.left_out });
        (page.text, data)
    }
}

struct Page<'a> {
    tree: &'a Tree,
    pick: &'a Pick,
    depth: usize,
    room: usize,
    text: String,
    entries: Vec<Value>,
    left_out: usize,
    full: bool,
    unsaved: Unsaved<'a>,
    find_left_out: LeftOut<'a>,
}

impl Page<'_> {
    fn folder(&mut self, number: usize, path: &Path, level: usize) {
        let empty = BTreeMap::new();
        let children = self.tree.folders[number].children.get(path).unwrap_or(&empty);
        let indent = "  ".repeat(level);
        let shown = self.pick.get(&(number, path.to_owned())).copied().unwrap_or_default();
        let mut done = 0;
        for (name, item) in children.iter().take(shown) {
            let path = path.join(name.as_path());
            let unsaved = item.over && (self.unsaved)(number, &path);
            let flag = if unsaved { " (unsaved)" } else { "" };
            let shown = visible(name.as_path());
            // What cannot be given back as it is shown can be by its URI.
            let uri = uri_of_path(&self.tree.folders[number].path.join(&path));
            let odd = name.as_path().to_str() != Some(&shown);
            let named = if odd { format!(" ({uri})") } else { String::new() };
            let line = format!("{indent}{shown}{}{flag}{named}\n", mark(item.kind));
            if self.full || self.text.len() + line.len() > self.room {
                self.full = true;
                break;
            }
            self.text.push_str(&line);
            done += 1;
            let below = Path::new(&self.tree.folders[number].shown);
            let whole = if below == Path::new(".") { path.clone() } else { below.join(&path) };
            self.entries.push(json!({
                "path": visible(&whole),
                "uri": uri,
                "kind": kind(item.kind),
                "unsaved": unsaved,
            }));
            if item.kind == FileKind::Directory && level < self.depth {
                self.folder(number, &path, level + 1);
            }
        }
        if children.len() > done {
            let _ = writeln!(self.text, "{indent}… {} more", children.len() - done);
        }
        let seen = |name: &str| children.keys().any(|child| child.as_path().to_string_lossy() == name);
        self.left_out += (self.find_left_out)(number, path, &seen);
    }
}

fn kind(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Directory => "folder",
        FileKind::Link => "link",
        FileKind::Other => "other",
        FileKind::File => "file",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn tree(paths: &[&str], depth: usize) -> Tree {
        let mut folder = Folder::new(".".into(), "/w".into());
        for path in paths {
            let kind = if path.ends_with('/') { FileKind::Directory } else { FileKind::File };
            folder.put(Path::new(path), Item { kind, over: path.contains("open") }, depth);
        }
        Tree { folders: vec![folder] }
    }

    fn check(paths: &[&str], depth: usize, limit: usize, expected: &Expect) {
        let tree = tree(paths, depth);
        let (text, _) = tree.render(&tree.pick(limit), depth, 30_000, &|_, _| true, &|_, _, _| 0, &[]);
        expected.assert_eq(&text);
    }

    #[test]
    fn folders_come_first_and_levels_one_by_one() {
        let paths = ["b.txt", "a/", "a/2", "a/1", "a/x/", "a/x/deep", "c/", "c/open.txt", "new/folder/open.rs"];
        check(
            &paths,
            2,
            100,
            &expect![[r"
                ./
                  a/
                    x/
                    1
                    2
                  c/
                    open.txt (unsaved)
                  new/
                    folder/
                  b.txt

                (5 folders, 4 files down to depth 2)"]],
        );
    }

    #[test]
    fn a_big_folder_does_not_eat_the_limit() {
        let mut paths: Vec<String> = (0..500).map(|number| format!("big/{number:03}")).collect();
        paths.extend(["big/", "small/", "small/one", "small/two", "z"].map(str::to_owned));
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        check(
            &paths,
            2,
            8,
            &expect![[r"
                ./
                  big/
                    000
                    001
                    002
                    … 497 more
                  small/
                    one
                    two
                  z

                (2 folders, 503 files down to depth 2; 8 of 505 shown: list a folder by itself for the rest)"]],
        );
    }
}
