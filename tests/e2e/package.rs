//! The package of the VS Code extension: made twice, in folders, at times and under settings that differ, it is the
//! same to the byte, and it holds what it should and nothing else.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::{tools, vscode};

/// Far beyond what packing takes.
const DEADLINE: Duration = Duration::from_mins(5);
/// 2026-09-21T14:13:20Z, as `SOURCE_DATE_EPOCH` has it (s).
const EPOCH: &str = "1790000000";
/// Stands for the program: packing looks at nothing in it.
const PROGRAM: &[u8] = b"\x7fELF stands for the program\n";
/// Tells of an archive what is in it, as JSON.
const LIST: &str = "
import json, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
entries = [[e.filename, oct(e.external_attr >> 16 & 0o777), list(e.date_time)] for e in archive.infolist()]
texts = {name: archive.read('extension/' + name).decode() for name in ['THIRD-PARTY.txt', 'dist/NOTICES.txt']}
program = archive.read('extension/bin/ropewalk').decode('latin-1')
print(json.dumps({'entries': entries, 'texts': texts, 'program': program}))
";

/// How one of the packages is made.
struct Making {
    /// Where the copy of the sources is, below a temporary folder.
    place: &'static str,
    umask: &'static str,
    zone: &'static str,
    locale: &'static str,
    /// When all sources were last changed, in seconds from 1970.
    changed: u64,
    /// Permissions of the program that is packed.
    mode: u32,
    /// Whether folders are filled from their last name to the first.
    backwards: bool,
}

/// Copies sources, but neither what was made of them nor what was installed.
#[expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test makes its own files")]
fn copy(from: &Path, to: &Path, making: &Making) {
    if from.is_file() {
        std::fs::copy(from, to).unwrap();
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(making.changed);
        std::fs::File::options().write(true).open(to).unwrap().set_modified(changed).unwrap();
        return;
    }
    std::fs::create_dir_all(to).unwrap();
    let mut names: Vec<_> = std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    if making.backwards {
        names.reverse();
    }
    for name in names {
        let made = ["node_modules", "dist", "out", ".vscode-test"].iter().any(|made| *made == name);
        if !made && Path::new(&name).extension().is_none_or(|end| end != "vsix") {
            copy(&from.join(&name), &to.join(&name), making);
        }
    }
}

/// Makes a package and says where it is.
#[expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test makes its own files")]
fn make(tools: &Path, extension: &Path, inside: &Path, making: &Making) -> PathBuf {
    let (checkout, place) = (extension.ancestors().nth(2).unwrap(), inside.join(making.place));
    copy(extension, &place.join("editors/vscode"), making);
    for name in ["LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY.txt"] {
        copy(&checkout.join(name), &place.join(name), making);
    }
    std::os::unix::fs::symlink(extension.join("node_modules"), place.join("editors/vscode/node_modules")).unwrap();
    let program = place.join("built");
    std::fs::write(&program, PROGRAM).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(making.mode)).unwrap();
    let out = place.join("out.vsix");
    let node = tools::program(tools, "node24/bin/node").to_string_lossy().into_owned();
    let script = format!("umask {}; exec \"$@\"", making.umask);
    let (package, program) = (place.join("editors/vscode/scripts/package.mjs"), program.to_string_lossy());
    let package =
        [&package.to_string_lossy(), "--target", "linux-x64", "--binary", &program, "--out"].map(str::to_owned);
    let mut arguments = vec!["-c", &script, "sh", &node];
    arguments.extend(package.iter().map(String::as_str));
    let file = out.to_string_lossy();
    arguments.push(&file);
    let environment = [("SOURCE_DATE_EPOCH", EPOCH), ("TZ", making.zone), ("LC_ALL", making.locale)];
    let ended = tools::run(Path::new("/bin/sh"), &arguments, &environment, DEADLINE);
    assert!(ended.status.success(), "{}{}", ended.stdout, ended.stderr);
    out
}

#[expect(clippy::unwrap_used, reason = "what a test's own program prints is JSON")]
fn list(tools: &Path, package: &Path) -> Value {
    let python = tools::program(tools, "node24/bin/python");
    let ended = tools::run(&python, &["-c", LIST, &package.to_string_lossy()], &[], DEADLINE);
    assert!(ended.status.success(), "{}", ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap()
}

/// The packages that the page of licences says are in the extension: `name version`.
#[expect(clippy::unwrap_used, reason = "a test reads the page that the repository has")]
fn told(page: &str) -> Vec<&str> {
    let list = page.split("Packages in the VS Code extension").nth(1).unwrap().split("\n\n").nth(1).unwrap();
    list.lines().map(|line| line.split("  ").next().unwrap()).collect()
}

/// The packages whose texts the bundle comes with.
fn bundled(notices: &str) -> Vec<&str> {
    let line = format!("{}\n\n", "-".repeat(80));
    let heads = notices.split(&line).filter_map(|text| {
        text.trim_start_matches("This extension contains these packages:").trim_start().split(" (").next()
    });
    let mut names: Vec<&str> = heads.collect();
    names.sort_unstable();
    names
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads its own files")]
fn two_packages_are_the_same_to_the_byte() {
    let Some(tools) = vscode::set_up() else { return };
    let (extension, folder) = (vscode::extension(), tempfile::tempdir().unwrap());
    let one = Making {
        place: "one",
        umask: "022",
        zone: "UTC",
        locale: "C",
        changed: 1_700_000_000,
        mode: 0o755,
        backwards: false,
    };
    let other = Making {
        place: "deep/in/another place",
        umask: "077",
        zone: "Asia/Kathmandu",
        locale: "cs_CZ.UTF-8",
        changed: 1_600_000_001,
        mode: 0o600,
        backwards: true,
    };
    let packages = [one, other].map(|making| make(&tools, &extension, folder.path(), &making));
    let [one, other] = packages.each_ref().map(|package| std::fs::read(package).unwrap());
    let lists = packages.each_ref().map(|package| list(&tools, package));
    assert_eq!(lists[0], lists[1]);
    assert!(one == other, "the same entries, and other bytes: {} and {}", one.len(), other.len());

    let entries = lists[0]["entries"].as_array().unwrap();
    let shown = |entry: &Value| format!("{} {}", entry[0].as_str().unwrap(), entry[1].as_str().unwrap());
    let names: Vec<String> = entries.iter().map(shown).filter(|name| !name.starts_with("extension/media/")).collect();
    expect_test::expect![[r"
        [Content_Types].xml 0o664
        extension.vsixmanifest 0o664
        extension/bin/ropewalk 0o755
        extension/changelog.md 0o664
        extension/dist/extension.js 0o644
        extension/dist/NOTICES.txt 0o644
        extension/LICENSE.txt 0o644
        extension/package.json 0o644
        extension/readme.md 0o664
        extension/ropewalk.d.ts 0o644
        extension/THIRD-PARTY.txt 0o644"]]
    .assert_eq(&names.join("\n"));
    assert!(entries.iter().all(|entry| entry[2] == json!([2026, 9, 21, 14, 13, 20])), "{entries:?}");
    assert_eq!(lists[0]["program"].as_str().map(str::as_bytes), Some(PROGRAM));
    let text = |name: &str| lists[0]["texts"][name].as_str().unwrap();
    assert_eq!(told(text("THIRD-PARTY.txt")), bundled(text("dist/NOTICES.txt")));
}
