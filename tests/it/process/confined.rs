//! Commands that may write in some places only. Where the kernel cannot hold them to it, they are refused.

use std::io;
use std::path::PathBuf;

use ropewalk::process::{self, Command, Confine, Ended, Exit, Programs as _, SystemPrograms};

use super::supervised::{command, finish, mark, programs};

/// Runs it confined to the places; `None` where that cannot be had, and then it was refused and did not run.
async fn confined(script: &str, writable: Vec<PathBuf>) -> Option<(String, String, Ended)> {
    let command = Command { confine: Some(Confine { writable }), ..command(script, &mark("confined")) };
    match (process::confinement(), programs().command(&command)) {
        (Ok(()), running) => Some(finish(&mut running.unwrap()).await),
        (Err(why), Err(error)) => {
            assert_eq!((error.kind(), error.to_string()), (io::ErrorKind::Unsupported, why));
            None
        }
        (Err(why), Ok(_)) => panic!("it runs, but {why}"),
    }
}

#[tokio::test]
async fn writing_is_refused_outside_and_works_inside() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (inside, outside) = (folder.path().join("inside"), folder.path().join("outside"));
    std::fs::create_dir(&inside).unwrap();
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("kept"), "kept").unwrap();
    let (at, off) = (inside.display(), outside.display());
    std::os::unix::fs::symlink(&outside, inside.join("way out")).unwrap();
    for (script, works) in [
        (format!("echo x > {at}/new && mkdir {at}/dir && mv {at}/new {at}/dir/moved && rm -r {at}/dir"), true),
        (format!("cat {off}/kept"), true),
        ("echo x > /dev/null && echo x > /dev/stderr && echo x >&2".to_owned(), true),
        (format!("echo x > {off}/new"), false),
        (format!("echo x >> {off}/kept"), false),
        (format!(": > {off}/kept"), false),
        (format!("truncate -s 0 {off}/kept"), false),
        (format!("rm {off}/kept"), false),
        (format!("mv {off}/kept {at}/taken"), false),
        (format!("ln {off}/kept {at}/linked"), false),
        (format!("mkdir {off}/dir"), false),
        (format!("ln -s x {off}/link"), false),
        (format!("echo x > '{at}/way out/new'"), false),
        (format!("setsid -w sh -c 'sh -c \"echo x > {off}/new\"'"), false),
    ] {
        let Some((_, err, ended)) = confined(&script, vec![inside.clone()]).await else { return };
        assert_eq!(ended.exit == Exit::Code(0), works, "{script}: {ended:?} {err}");
        // A move between places with other rights is told as one between file systems.
        let refused = err.contains("ermission denied") || err.contains("cross-device");
        assert_eq!(refused, !works, "{script}: {err}");
    }
    assert_eq!(std::fs::read_to_string(outside.join("kept")).unwrap(), "kept");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
}

#[tokio::test]
async fn cargo_builds_in_its_root() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let root = folder.path().join("tiny");
    std::fs::create_dir_all(root.join("src")).unwrap();
    let manifest = "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
    std::fs::write(root.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(root.join("src/main.rs"), "fn main() {\n    println!(\"built\");\n}\n").unwrap();
    let script = format!("cd {} && unset CARGO_TARGET_DIR && cargo run --offline", root.display());
    let Some((out, err, ended)) = confined(&script, Confine::around(&[root]).writable).await else { return };
    assert_eq!((out.as_str(), ended.exit), ("built\n", Exit::Code(0)), "{err}");
}

#[tokio::test]
async fn without_a_supervisor_a_confined_command_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("echo x > {}/new", folder.path().display());
    let confine = Some(Confine { writable: vec![folder.path().to_owned()] });
    let plain = SystemPrograms::new(std::sync::Arc::new(ropewalk::ports::SystemClock));
    let error = plain.command(&Command { confine, ..command(&script, &mark("plain")) }).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
