//! What a process that was killed in the middle of a write left beside a file is gone after the next write there; what
//! is anybody else's stays.

#![expect(clippy::disallowed_methods, reason = "the process is started as a person starts it, and the test has files")]

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::json;

/// A file that was last written to so many minutes ago.
fn put(folder: &Path, name: &str, minutes: u64) {
    let file = File::create(folder.join(name)).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_mins(minutes)).unwrap();
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn what_a_killed_process_left_beside_a_file_goes_with_the_next_write() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("other")).unwrap();
    std::fs::write(root.join("a.txt"), "one\n").unwrap();
    // A process that was, and is no more.
    let mut child = Command::new("true").stdin(Stdio::null()).spawn().unwrap();
    let dead = child.id();
    child.wait().unwrap();
    let own = std::process::id();
    let left = format!(".ropewalk-{dead:08x}-0123456789abcdef");
    put(&root, &left, 60);
    let staying = [
        format!(".ropewalk-{dead:08x}-1123456789abcdef"),
        format!(".ropewalk-{own:08x}-0123456789abcdef"),
        format!(".ropewalk-{dead:08x}-0123456789abcdef.txt"),
        format!(".ropewalk-{dead:08x}-notes"),
        ".ropewalk-0123456789abcdef".to_owned(),
        "a.txt~".to_owned(),
    ];
    // The first may be of a process that is not seen from here, the second is of one that is there, and the others only
    // look like ours.
    for (at, name) in staying.iter().enumerate() {
        put(&root, name, if at == 0 { 5 } else { 60 });
    }
    std::fs::create_dir(root.join(format!(".ropewalk-{dead:08x}-2123456789abcdef"))).unwrap();
    put(&root.join("other"), &left, 60);

    let edit = json!({ "file_path": "a.txt", "old_string": "one", "new_string": "1" }).to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_ropewalk"))
        .args(["call", "edit", &edit])
        .current_dir(&root)
        .env("XDG_STATE_HOME", root.join("other"))
        .env("XDG_CONFIG_HOME", root.join("other"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(std::fs::read_to_string(root.join("a.txt")).unwrap(), "1\n");
    let mut expected = staying.to_vec();
    expected.extend(["a.txt".to_owned(), "other".to_owned(), format!(".ropewalk-{dead:08x}-2123456789abcdef")]);
    expected.sort();
    assert_eq!(names(&root), expected);
    // Where nothing is written nothing is removed.
    assert!(names(&root.join("other")).contains(&left));
}
