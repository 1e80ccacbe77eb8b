//! A rename over three files by the `lsp` tool of the real binary and a real server, in closed files and in an open one.

use std::path::Path;
use std::time::Duration;

use ropewalk::ports::{Disk as _, SystemDisk};
use serde_json::{Value, json};

use crate::tools;

const FILES: [(&str, &str); 3] = [
    ("lib.py", "def go() -> int:\n    return 1\n"),
    ("one.py", "from lib import go\n\nprint(go(), \"go\")  # 😀 go\n"),
    ("two.py", "import lib\n\nprint(\"😀\", lib.go(), lib.go())\n"),
];

const RENAMED: [(&str, &str); 3] = [
    ("lib.py", "def went() -> int:\n    return 1\n"),
    ("one.py", "from lib import went\n\nprint(went(), \"go\")  # 😀 go\n"),
    ("two.py", "import lib\n\nprint(\"😀\", lib.went(), lib.went())\n"),
];

fn on_disk(root: &Path, name: &str) -> String {
    String::from_utf8(SystemDisk.read(&root.join(name)).unwrap()).unwrap()
}

/// Renames what the first file defines; `open` are open documents. The files on the disk then, and the result.
fn rename(folder: &Path, open: &[&str]) -> (Vec<String>, Value) {
    let scratch = tempfile::tempdir().unwrap();
    let root = SystemDisk.canonicalize(scratch.path()).unwrap();
    for (name, text) in FILES {
        SystemDisk.create(&root.join(name), text.as_bytes()).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", folder.join("py/bin").display());
    let arguments = json!({ "operation": "rename", "file_path": "lib.py", "symbol": "go", "new_name": "went" });
    let (arguments, shown) = (arguments.to_string(), root.to_string_lossy().into_owned());
    let mut words = vec!["call", "lsp", &arguments, "--root", &shown, "--trust", &shown];
    for name in open {
        words.extend(["--open", name]);
    }
    let ended = tools::run(Path::new(tools::SIDECAR), &words, &[("PATH", &path)], Duration::from_mins(2));
    assert_eq!(ended.status.code(), Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let result: Value = serde_json::from_str(&ended.stdout).unwrap();
    (FILES.iter().map(|(name, _)| on_disk(&root, name)).collect(), result)
}

#[test]
fn three_files_are_renamed_at_once() {
    let Some(folder) = tools::folder() else { return };
    let (files, result) = rename(&folder, &[]);
    assert_eq!(files, RENAMED.map(|(_, text)| text), "{result:#}");
    assert_eq!((&result["applied"], result["edits"].as_array().unwrap().len()), (&json!("all"), 3), "{result:#}");
}

#[test]
fn an_open_document_is_renamed_in_its_buffer() {
    let Some(folder) = tools::folder() else { return };
    let (files, result) = rename(&folder, &["one.py"]);
    assert_eq!(files, [RENAMED[0].1, FILES[1].1, RENAMED[2].1], "{result:#}");
    let edits = result["edits"].as_array().unwrap();
    let open = edits.iter().find(|edit| edit["unsaved"] == true).unwrap_or_else(|| panic!("{result:#}"));
    assert!(open["unifiedDiff"].as_str().unwrap().contains("+print(went(), \"go\")  # 😀 go\n"), "{open:#}");
}
