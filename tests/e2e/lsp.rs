//! The `lsp` tool with real language servers, through the program's own command line.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::tools;

/// A folder with files, and the servers on the path.
struct Project {
    folder: tempfile::TempDir,
    path: String,
}

/// A project of these files; `None` where the real servers are not set up.
#[expect(clippy::disallowed_methods, reason = "tests make their own files, and pass their environment on")]
fn project(files: &[(&str, &str)]) -> Option<Project> {
    let tools = tools::folder()?;
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let own = std::env::var("PATH").unwrap();
    let programs = ["py/bin", "tsgo/node_modules/.bin", "npm/node_modules/.bin"].map(|below| tools.join(below));
    let programs: Vec<String> = programs.iter().map(|path: &PathBuf| path.display().to_string()).collect();
    Some(Project { folder, path: format!("{}:{own}", programs.join(":")) })
}

impl Project {
    fn root(&self) -> &Path {
        self.folder.path()
    }

    /// One call of `lsp`; its whole result.
    fn call(&self, arguments: &Value) -> Value {
        let root = self.root().display().to_string();
        let arguments = arguments.to_string();
        let words = ["--trust", &root, "call", "--root", &root, "lsp", &arguments];
        let ended = tools::run(Path::new(tools::SIDECAR), &words, &[("PATH", &self.path)], Duration::from_mins(2));
        serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {} {}", ended.stdout, ended.stderr))
    }

    /// The text of a call that went well.
    fn told(&self, arguments: &Value) -> String {
        let result = self.call(arguments);
        assert_eq!(result["status"], "ok", "{result:#}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    #[expect(clippy::disallowed_methods, reason = "a test looks at its own files")]
    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.root().join(name)).unwrap()
    }
}

const GREET: &str = "def greet(name: str) -> str:\n    return name\n\n\nclass Box:\n    def open(self) -> str:\n        \
                     return greet(\"é😀\")\n";
const FIRST: &str = "from a import greet\n\nprint(\"é😀\", greet(\"x\"))\n";
const SECOND: &str = "import a\n\na.greet(\"y\"); a.greet(\"z\")\n";

#[test]
fn a_python_name_is_renamed_in_three_files() {
    let Some(project) = project(&[("a.py", GREET), ("b.py", FIRST), ("c.py", SECOND)]) else { return };
    let rename = json!({ "operation": "rename", "file_path": "a.py", "line": 1, "text": "greet", "new_name": "hail" });
    let result = project.call(&rename);
    assert_eq!(result["status"], "ok", "{result:#}");
    assert_eq!(result["edits"].as_array().unwrap().len(), 3, "{result:#}");
    for (name, before) in [("a.py", GREET), ("b.py", FIRST), ("c.py", SECOND)] {
        assert_eq!(project.file(name), before.replace("greet", "hail"), "{name}");
    }
}

#[test]
fn a_python_name_is_looked_up() {
    let Some(project) = project(&[("a.py", GREET), ("b.py", FIRST), ("c.py", SECOND)]) else { return };
    let ask = |operation: &str| {
        project.told(&json!({ "operation": operation, "file_path": "b.py", "line": 3, "text": "greet(" }))
    };
    assert_eq!(ask("definition"), "a.py:1:5: def greet(name: str) -> str:\n(1 definition in 1 file)");
    assert!(ask("hover").contains("def greet(name: str) -> str"), "{}", ask("hover"));
    let references = ask("references");
    assert!(references.contains("b.py:3:13: print(\"é😀\", greet(\"x\"))\n"), "{references}");
    assert!(references.ends_with("in 3 files)"), "{references}");
    let symbols = project.told(&json!({ "operation": "document_symbols", "file_path": "a.py" }));
    assert!(symbols.contains("class Box (line 5-7)\n  method open (line 6-7)"), "{symbols}");
    let callers = project.told(&json!({ "operation": "incoming_calls", "file_path": "a.py", "symbol": "greet" }));
    assert!(callers.contains("a.py:6:9"), "{callers}");
}

#[test]
fn ruff_formats_and_fixes() {
    let Some(project) = project(&[("a.py", "import os\nx = [1,2]\n")]) else { return };
    let listed = project.told(&json!({ "operation": "code_actions", "file_path": "a.py", "line": 1 }));
    let title = listed.lines().find(|line| line.contains("Remove unused import")).unwrap_or_else(|| panic!("{listed}"));
    let title = title.split_once(". ").unwrap().1.split(" (quickfix").next().unwrap();
    let fix = json!({ "operation": "code_actions", "file_path": "a.py", "line": 1, "apply": title });
    project.told(&fix);
    assert_eq!(project.file("a.py"), "x = [1,2]\n");
    project.told(&json!({ "operation": "format", "file_path": "a.py" }));
    assert_eq!(project.file("a.py"), "x = [1, 2]\n");
    let again = project.told(&json!({ "operation": "format", "file_path": "a.py" }));
    assert!(again.starts_with("There is nothing to change"), "{again}");
}

#[test]
fn a_typescript_name_is_renamed_in_three_files() {
    let files = [
        ("tsconfig.json", "{ \"compilerOptions\": { \"module\": \"nodenext\" } }\n"),
        ("a.ts", "export function greet(name: string) {\n  return name;\n}\n"),
        ("b.ts", "import { greet } from './a.js';\ngreet('é😀'); greet('x');\n"),
        ("c.ts", "import { greet as g } from './a.js';\ng('y');\n"),
    ];
    let Some(project) = project(&files) else { return };
    project.told(&json!({ "operation": "rename", "file_path": "a.ts", "symbol": "greet", "new_name": "hail" }));
    for (name, before) in &files[1..] {
        assert_eq!(project.file(name), before.replace("greet", "hail"), "{name}");
    }
}

#[test]
fn clangd_knows_a_definition() {
    let text = "int twice(int x) { return 2 * x; }\nint main() { return twice(3); }\n";
    let Some(project) = project(&[("a.c", text), ("compile_flags.txt", "-std=c11\n")]) else { return };
    let at = json!({ "operation": "definition", "file_path": "a.c", "line": 2, "text": "twice" });
    assert_eq!(project.told(&at), "a.c:1:5: int twice(int x) { return 2 * x; }\n(1 definition in 1 file)");
    project.told(&json!({ "operation": "rename", "file_path": "a.c", "symbol": "twice", "new_name": "double_of" }));
    assert_eq!(project.file("a.c"), text.replace("twice", "double_of"));
}
