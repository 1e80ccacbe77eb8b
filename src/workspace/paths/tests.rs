//! One file, one key; and what a name in a tool call means.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::ports::MemoryDisk;

fn file(path: &str) -> Key {
    Key::File(path.into())
}

fn unnamed(uri: &str) -> Key {
    Key::Unnamed(uri.to_owned())
}

/// ```text
/// /w/a/only-a /w/a/both /w/a/sub/f     /w/link -> a      /w/away -> /else      /w/dangling -> a/none
/// /w/b/both                            /w/loop -> loop   /else/f
/// ```
fn disk() -> MemoryDisk {
    MemoryDisk::new()
        .with_file("/w/a/only-a", "")
        .with_file("/w/a/both", "")
        .with_file("/w/a/sub/f", "")
        .with_file("/w/b/both", "")
        .with_file("/else/f", "")
        .with_link("/w/link", "a")
        .with_link("/w/away", "/else")
        .with_link("/w/a/out", "/else")
        .with_link("/w/dangling", "a/none")
        .with_link("/w/loop", "loop")
}

#[test]
fn a_uri_has_one_key() {
    let disk = disk().with_dir("/D:/real").with_file("/w/a b/ü#?%.rs", "");
    for (uri, key) in [
        ("file:///w/a/both", file("/w/a/both")),
        ("FILE://localhost/w/a/both", file("/w/a/both")),
        ("file:/w/a/both", file("/w/a/both")),
        ("file:///w/%61/b%6Fth", file("/w/a/both")),
        ("file:///w//a/./both", file("/w/a/both")),
        ("file:///w/link/both", file("/w/a/both")),
        ("file:///w/link/new/er", file("/w/a/new/er")),
        ("file:///w/link/../b/both", file("/w/b/both")),
        ("file:///w/away/../w/b/both", file("/w/b/both")),
        ("file:///w/away/../new", file("/new")),
        ("file:///w/a/none/../both", file("/w/a/both")),
        ("file:///w/dangling", file("/w/a/none")),
        ("file:///w/loop", file("/w/loop")),
        ("file:///w/loop/x", file("/w/loop/x")),
        ("file:///w/a/both/below", file("/w/a/both/below")),
        ("file:///", file("/")),
        ("file:///w/a%20b/%C3%BC%23%3F%25.rs", file("/w/a b/ü#?%.rs")),
        ("file:///w/a b/ü#?%.rs", file("/w/a b/ü#?%.rs")),
        ("file:///w/100%/%zz", file("/w/100%/%zz")),
        ("file:///C:/x.rs", file("/c:/x.rs")),
        ("file:///c%3A/x.rs", file("/c:/x.rs")),
        ("file:///D%3A/real", file("/D:/real")),
        ("file:///d:/real", file("/d:/real")),
        ("file://", unnamed("file://")),
        ("file:", unnamed("file:")),
        ("untitled:Untitled-1", unnamed("untitled:Untitled-1")),
        ("untitled:nvim-3", unnamed("untitled:nvim-3")),
        ("vscode-notebook-cell:/w/n.ipynb#W0", unnamed("vscode-notebook-cell:/w/n.ipynb#W0")),
    ] {
        assert_eq!(key_of_uri(&disk, uri), Some(key), "{uri}");
    }
    for uri in [
        "file://server/share/x",
        "file://localhost",
        "file:x.rs",
        "file:///w/%00",
        "git:/w/a/both",
        "vscode-remote://ssh/w/a",
        "/w/a/both",
        "",
    ] {
        assert_eq!(key_of_uri(&disk, uri), None, "{uri}");
    }
}

#[test]
fn paths_become_uris() {
    for (path, uri) in [
        ("/w/a b/ü#?%.rs", "file:///w/a%20b/%C3%BC%23%3F%25.rs"),
        ("/app/(group)/[id]/@x.tsx", "file:///app/(group)/%5Bid%5D/@x.tsx"),
        ("/a\\b:c\nd", "file:///a%5Cb:c%0Ad"),
        ("/", "file:///"),
    ] {
        assert_eq!(uri_of_path(Path::new(path)), uri);
    }
}

proptest! {
    #[test]
    fn a_path_comes_back_from_its_uri(names in prop::collection::vec(prop::collection::vec(1u8.., 1..6), 1..4)) {
        let names = names.iter().map(|name| OsStr::from_bytes(name).to_owned());
        let path: PathBuf = [OsString::from("/w")].into_iter().chain(names).collect();
        prop_assume!(path.components().all(|part| !matches!(part, Component::ParentDir)));
        let path: PathBuf = path.components().collect();
        prop_assume!(path.is_absolute());
        let uri = uri_of_path(&path);
        prop_assert!(uri.is_ascii());
        // A name that begins with a slash makes the path itself another one; any path will do.
        let expected = folded_drive(&MemoryDisk::new(), path);
        prop_assert_eq!(key_of_uri(&MemoryDisk::new(), &uri), Some(Key::File(expected)));
    }
}

#[test]
fn the_folders_are_canonical_and_each_is_there_once() {
    let roots = Roots::from_uris(&disk(), ["file:///w/link", "git:/x", "file:///w/b/", "file:///w/a", "untitled:x"]);
    assert_eq!(roots.folders, [PathBuf::from("/w/a"), PathBuf::from("/w/b")]);
    let roots = Roots::from_paths(&disk(), [Path::new("/w"), Path::new("/w/link")]);
    assert_eq!(roots.folders, [PathBuf::from("/w"), PathBuf::from("/w/a")]);
    assert_eq!(roots.holding(Path::new("/w/a/both")), Some(Path::new("/w/a")));
    assert_eq!(roots.holding(Path::new("/w/ab")), Some(Path::new("/w")));
    assert_eq!(roots.holding(Path::new("/x")), None);
}

/// One line: the path or URI of the key, `uri`, `shown`, `inside`; or the kind and words of the refusal.
fn summary(roots: &Roots, documents: &Documents, name: &str) -> String {
    match resolve(&disk(), roots, documents, name) {
        Ok(Target { key, uri, shown, inside, .. }) => {
            let key = match key {
                Key::File(path) => path.display().to_string(),
                Key::Unnamed(uri) => format!("<{uri}>"),
            };
            format!("{name} = {key} | {uri} | {shown} | {}", if inside { "inside" } else { "outside" })
        }
        Err(refusal) => format!("{} ! {:?}: {refusal}", name.escape_debug(), refusal.kind),
    }
}

fn check(roots: &[&str], documents: &Documents, names: &[&str], expected: &Expect) {
    let roots = Roots::from_paths(&disk(), roots.iter().map(Path::new));
    let lines: Vec<String> = names.iter().map(|name| summary(&roots, documents, name) + "\n").collect();
    expected.assert_eq(&lines.concat());
}

#[test]
fn absolute_paths_and_uris() {
    check(
        &["/w/a"],
        &Documents::new(),
        &[
            "/w/a/both",
            "/w/link/both",
            "/w/a/../b/both",
            "/w/a//./sub/f",
            "/w/a",
            "/w/a/new dir/new",
            "/w/a/out/f",
            "file:///w/link/both",
            "file:///w/b/both",
        ],
        &expect![[r"
            /w/a/both = /w/a/both | file:///w/a/both | both | inside
            /w/link/both = /w/a/both | file:///w/link/both | both | inside
            /w/a/../b/both = /w/b/both | file:///w/b/both | /w/b/both | outside
            /w/a//./sub/f = /w/a/sub/f | file:///w/a/sub/f | sub/f | inside
            /w/a = /w/a | file:///w/a | . | inside
            /w/a/new dir/new = /w/a/new dir/new | file:///w/a/new%20dir/new | new dir/new | inside
            /w/a/out/f = /else/f | file:///w/a/out/f | /else/f | outside
            file:///w/link/both = /w/a/both | file:///w/link/both | both | inside
            file:///w/b/both = /w/b/both | file:///w/b/both | /w/b/both | outside
        "]],
    );
}

#[test]
fn relative_paths_mean_the_folder_that_has_them() {
    let documents = Documents::new();
    // Only in the editor yet, in the second folder.
    documents.open(Key::File("/w/b/fresh".into()), "file:///w/b/fresh", "rust", 1, "");
    check(
        &["/w/a", "/w/b"],
        &documents,
        &["only-a", "both", "fresh", "nowhere/new", "sub/../only-a", "./sub/f", "../b/both", "out/../w/b/both"],
        &expect![[r"
            only-a = /w/a/only-a | file:///w/a/only-a | only-a | inside
            both ! Ambiguous: both is in 2 workspace folders: /w/a/both, /w/b/both. Give the absolute path of the one you mean.
            fresh = /w/b/fresh | file:///w/b/fresh | fresh | inside
            nowhere/new = /w/a/nowhere/new | file:///w/a/nowhere/new | nowhere/new | inside
            sub/../only-a = /w/a/only-a | file:///w/a/only-a | only-a | inside
            ./sub/f = /w/a/sub/f | file:///w/a/sub/f | sub/f | inside
            ../b/both = /w/b/both | file:///w/b/both | both | inside
            out/../w/b/both = /w/b/both | file:///w/b/both | both | inside
        "]],
    );
}

#[test]
fn the_data_of_an_ambiguous_name_lists_the_candidates() {
    let roots = Roots::from_paths(&disk(), [Path::new("/w/a"), Path::new("/w/b")]);
    let refusal = resolve(&disk(), &roots, &Documents::new(), "both").unwrap_err();
    assert_eq!(refusal.data, Some(json!({ "candidates": ["/w/a/both", "/w/b/both"] })));
}

#[test]
fn open_documents_are_spelled_as_the_editor_spells_them() {
    let documents = Documents::new();
    documents.open(Key::File("/w/a/both".into()), "file:///w/link/bo%74h", "rust", 1, "");
    documents.open(Key::Unnamed("untitled:Untitled-1".into()), "untitled:Untitled-1", "rust", 1, "");
    // A second buffer of a file that is open already.
    documents.open(Key::File("/w/a/both".into()), "file:///w/a/both", "rust", 1, "");
    check(
        &["/w/a"],
        &documents,
        &[
            "both",
            "/w/link/both",
            "file:///w/link/both",
            "file:///w/a/both",
            "untitled:Untitled-1",
            "untitled:Untitled-2",
        ],
        &expect![[r"
            both = /w/a/both | file:///w/link/bo%74h | both | inside
            /w/link/both = /w/a/both | file:///w/link/bo%74h | both | inside
            file:///w/link/both = /w/a/both | file:///w/link/bo%74h | both | inside
            file:///w/a/both = <file:///w/a/both> | file:///w/a/both | file:///w/a/both | inside
            untitled:Untitled-1 = <untitled:Untitled-1> | untitled:Untitled-1 | untitled:Untitled-1 | inside
            untitled:Untitled-2 ! NotFound: untitled:Untitled-2 is not open in the editor; open without a file: file:///w/a/both, untitled:Untitled-1.
        "]],
    );
}

#[test]
fn a_document_stands_for_the_files_it_may_be_saved_to() {
    let (roots, documents) = (Roots::from_paths(&disk(), [Path::new("/w/a")]), Documents::new());
    // Opened while `dangling` was a file, and of another file than the one it leads to now.
    documents.open(file("/w/dangling"), "file:///w/dangling", "rust", 1, "");
    for (uri, paths, inside) in [
        ("file:///w/dangling", &["/w/dangling", "/w/a/none"][..], false),
        ("file:///w/link/both", &["/w/a/both"], true),
        ("file:///w/a/bo%74h", &["/w/a/both"], true),
        ("file:///w/a/x%3Fy", &["/w/a/x?y"], true),
        ("file:///w/a/x?y", &["/w/a/x?y", "/w/a/x"], true),
        ("untitled:/w/link/new", &["/w/a/new"], true),
        ("untitled:///w/a/out/f", &["/else/f"], false),
        ("untitled://host/w/a/f", &["/w/a/f"], true),
        ("untitled:w%2Fa/../b", &["/w/b"], false),
        ("untitled:Untitled-1", &[], true),
        ("untitled:Untitled-2?a/b", &[], true),
        ("untitled:/w/a/%00", &[], true),
        ("vscode-notebook-cell:/w/a/n#W0", &["/w/a/n#W0", "/w/a/n"], true),
        ("file://", &[], true),
    ] {
        let key = key_of_uri(&disk(), uri).unwrap();
        documents.open(key, uri, "rust", 1, "");
        let target = resolve(&disk(), &roots, &documents, uri).unwrap();
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        assert_eq!((target.paths, target.inside), (paths, inside), "{uri}");
    }
    let closed = resolve(&disk(), &roots, &documents, "/w/link/sub/f").unwrap();
    assert_eq!((closed.paths, closed.inside), (vec![PathBuf::from("/w/a/sub/f")], true));
}

#[test]
fn names_that_mean_nothing_are_refused_with_words() {
    check(
        &["/w/a"],
        &Documents::new(),
        &["", "a\0b", "~", "~/x", "C:\\x", "c:/x", "git://w/x", "file://server/x", "untitled:x", "~x", "a:b"],
        &expect![[r#"
             ! InvalidArguments: The path is empty; give the absolute path of a file.
            a\0b ! InvalidArguments: "a\0b" is not a path: it has a NUL character in it.
            ~ ! InvalidArguments: ~ begins with ~, which is not expanded here; give the absolute path, or one relative to a workspace folder.
            ~/x ! InvalidArguments: ~/x begins with ~, which is not expanded here; give the absolute path, or one relative to a workspace folder.
            C:\\x ! InvalidArguments: C:\x is a path of Windows; this machine's paths begin with /.
            c:/x ! InvalidArguments: c:/x is a path of Windows; this machine's paths begin with /.
            git://w/x ! InvalidArguments: git://w/x is virtual: `git:` documents and files of other machines cannot be read or changed here. Give the absolute path of a file, or the URI of an open document.
            file://server/x ! InvalidArguments: file://server/x is virtual: `file:` documents and files of other machines cannot be read or changed here. Give the absolute path of a file, or the URI of an open document.
            untitled:x ! NotFound: untitled:x is not open in the editor; no document without a file is open.
            ~x = /w/a/~x | file:///w/a/~x | ~x | inside
            a:b = /w/a/a:b | file:///w/a/a:b | a:b | inside
        "#]],
    );
    check(
        &[],
        &Documents::new(),
        &["x", "/x"],
        &expect![[r"
        x ! InvalidArguments: x is a relative path and no workspace folder is open; give an absolute path.
        /x = /x | file:///x | /x | outside
    "]],
    );
}

#[test]
fn a_missing_file_below_a_link_has_one_key() {
    let (roots, documents) = (Roots::from_paths(&disk(), [Path::new("/w")]), Documents::new());
    let key = |name| resolve(&disk(), &roots, &documents, name).unwrap().key;
    for name in ["link/new/er", "/w/link/new/er", "file:///w/link/new/er", "a/new/../new/er", "link/sub/../new/er"] {
        assert_eq!(key(name), Key::File("/w/a/new/er".into()), "{name}");
    }
}
