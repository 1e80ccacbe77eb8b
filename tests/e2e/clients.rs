//! The thin clients of `clients/`: each does the same scenarios against a sidecar that frames its messages unkindly,
//! asks what cannot be, and dies; and their examples run against the real one.

mod scenarios;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::tools::{self, Ended};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// Far beyond what anything here takes.
const DEADLINE: Duration = Duration::from_mins(5);
/// More than `strict`, as whoever copies the client may have it, and nothing that is more than types, so that the sources
/// run unchanged where types are stripped.
const TSC: &str = "--strict --noUncheckedIndexedAccess --exactOptionalPropertyTypes --noImplicitReturns --noUnusedLocals \
                   --noUnusedParameters --verbatimModuleSyntax --erasableSyntaxOnly --allowImportingTsExtensions \
                   --rewriteRelativeImportExtensions --skipLibCheck --lib es2022 --target es2022 --module nodenext \
                   --types node";

/// How the programs of a language are run.
struct Language {
    program: PathBuf,
    before: Vec<String>,
    environment: Vec<(&'static str, String)>,
    /// Where compiled programs are, for as long as they are used.
    _folder: Option<tempfile::TempDir>,
}

impl Language {
    fn run(&self, arguments: &[&str]) -> Ended {
        let mut all: Vec<&str> = self.before.iter().map(String::as_str).collect();
        all.extend(arguments);
        let environment: Vec<(&str, &str)> =
            self.environment.iter().map(|(name, text)| (*name, text.as_str())).collect();
        tools::run(&self.program, &all, &environment, DEADLINE)
    }
}

/// A program on the `PATH`.
#[expect(clippy::unwrap_used, reason = "a test looks for its tools")]
fn on_path(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file());
    found.unwrap_or_else(|| panic!("{name} is missing: `tests/run clients` says what to install"))
}

/// Python itself, where the one on the `PATH` only looks for it each time.
fn python_itself() -> PathBuf {
    let ended = tools::run(&on_path("python3"), &["-c", "import sys; print(sys.executable)"], &[], DEADLINE);
    PathBuf::from(ended.stdout.trim_end())
}

/// The `PATH`, with the sidecar first.
#[expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test passes its environment on")]
fn path() -> String {
    let folder = Path::new(tools::SIDECAR).parent().unwrap();
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

fn python(script: &str) -> Language {
    let environment = vec![("PYTHONPATH", format!("{ROOT}/clients/python")), ("PATH", path())];
    Language { program: python_itself(), before: vec![script.to_owned()], environment, _folder: None }
}

fn lua(tools: &Path, script: &str) -> Language {
    let before = ["-u", "NONE", "-i", "NONE", "-l", script].map(str::to_owned).to_vec();
    let environment = vec![("LUA_PATH", format!("{ROOT}/clients/lua/?.lua;;")), ("PATH", path())];
    Language { program: tools::program(tools, "bin/nvim"), before, environment, _folder: None }
}

/// Compiles the client and a program beside it.
#[expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test makes its own files")]
fn typescript(tools: &Path, source: &str) -> Language {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    std::fs::copy(format!("{ROOT}/clients/typescript/ropewalk.ts"), file("ropewalk.ts")).unwrap();
    std::fs::write(file("main.ts"), source).unwrap();
    std::fs::write(file("package.json"), "{ \"type\": \"module\" }").unwrap();
    let types = tools.join("clients/node_modules/@types");
    let (types, main, out) = (types.display().to_string(), file("main.ts"), folder.path().display().to_string());
    let mut arguments: Vec<&str> = TSC.split_whitespace().collect();
    arguments.extend(["--typeRoots", &types, "--outDir", &out, main.to_str().unwrap()]);
    let tsc = tools::program(tools, "npm/node_modules/.bin/tsc");
    let ended = tools::run(&tsc, &arguments, &[], DEADLINE);
    assert!(ended.status.success(), "tsc: {}{}", ended.stdout, ended.stderr);
    let before = vec![file("main.js").display().to_string()];
    let environment = vec![("PATH", path())];
    Language { program: on_path("node"), before, environment, _folder: Some(folder) }
}

/// Plays all scenarios, and tells of each that went wrong.
fn play_all(language: &Language) {
    let double = [python_itself().display().to_string(), format!("{ROOT}/tests/e2e/clients/double.py")];
    let double = serde_json::json!(double).to_string();
    for scenario in scenarios::all() {
        let ended = language.run(&[&double, &scenario.handlers.to_string(), &scenario.steps.to_string()]);
        let said: Vec<Value> = serde_json::from_str(ended.stdout.lines().last().unwrap_or_default())
            .unwrap_or_else(|error| panic!("{}: {error}\n{}\n{}", scenario.name, ended.stdout, ended.stderr));
        (scenario.check)(&said);
        assert!(ended.status.success(), "{}: {}", scenario.name, ended.stderr);
    }
}

#[test]
fn python_does_all_scenarios() {
    if tools::folder().is_none() {
        return;
    }
    play_all(&python(&format!("{ROOT}/tests/e2e/clients/drive.py")));
}

#[test]
fn lua_does_all_scenarios() {
    let Some(tools) = tools::folder() else { return };
    play_all(&lua(&tools, &format!("{ROOT}/tests/e2e/clients/drive.lua")));
}

#[test]
fn typescript_does_all_scenarios() {
    let Some(tools) = tools::folder() else { return };
    play_all(&typescript(&tools, &read("tests/e2e/clients/drive.ts")));
}

#[expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test reads the repository")]
fn read(file: &str) -> String {
    std::fs::read_to_string(format!("{ROOT}/{file}")).unwrap()
}

/// The example of the page in this language.
fn example(language: &str) -> String {
    let page = read("clients/README.md");
    let opening = format!("```{language}\n");
    let mut blocks = page.split(opening.as_str()).skip(1);
    let block = blocks.next().unwrap_or_else(|| panic!("clients/README.md has no example in {language}"));
    assert!(blocks.next().is_none(), "clients/README.md has two examples in {language}");
    block.split("```").next().unwrap_or_default().to_owned()
}

/// Writes an example down and says where.
#[expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test makes its own files")]
fn written(folder: &tempfile::TempDir, name: &str, source: &str) -> String {
    let file = folder.path().join(name);
    std::fs::write(&file, source).unwrap();
    file.display().to_string()
}

/// What each example prints; which servers are found differs from machine to machine.
fn has_greeted(ended: &Ended) {
    assert!(ended.status.success(), "{ended:?}");
    let said: Vec<&str> = ended.stdout.lines().collect();
    assert!(said.starts_with(&["def greet(name):", "    print('Hello', name)"]), "{ended:?}");
    assert_eq!(said.last(), Some(&"syntax fresh"), "{ended:?}");
}

#[test]
fn the_example_in_python_runs() {
    if tools::folder().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    has_greeted(&python(&written(&folder, "example.py", &example("python"))).run(&[]));
}

#[test]
fn the_example_in_lua_runs() {
    let Some(tools) = tools::folder() else { return };
    let folder = tempfile::tempdir().unwrap();
    has_greeted(&lua(&tools, &written(&folder, "example.lua", &example("lua"))).run(&[]));
}

#[test]
fn the_example_in_typescript_runs() {
    let Some(tools) = tools::folder() else { return };
    has_greeted(&typescript(&tools, &example("typescript")).run(&[]));
}
