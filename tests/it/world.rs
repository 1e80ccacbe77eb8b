//! What only the real binary in a world of its own can show: the user's own git excludes, and files of another user.

#![expect(clippy::disallowed_methods, reason = "the test makes the world that the binary is put into")]

use std::fmt::Write as _;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::process::Command;

use crate::process::Binary;

/// A folder that anybody may pass through, with a home, a place for state and a repository in it.
pub struct World {
    _gone: tempfile::TempDir,
    /// Where all of it is.
    pub at: PathBuf,
    /// The repository.
    pub folder: PathBuf,
}

/// Gives a file or folder these permission bits.
pub fn mode_at(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

impl World {
    /// An empty one.
    pub fn new() -> World {
        let gone = tempfile::tempdir().unwrap();
        let at = gone.path().canonicalize().unwrap();
        std::fs::set_permissions(&at, Permissions::from_mode(0o755)).unwrap();
        let folder = at.join("w");
        for name in ["home", "state", "w/.git", "w/sub"] {
            std::fs::create_dir_all(at.join(name)).unwrap();
        }
        World { _gone: gone, at, folder }
    }

    /// With a file.
    pub fn put(&self, name: &str, text: &str) -> &World {
        let path = self.at.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// Gives something in the repository other permission bits.
    pub fn mode(&self, name: &str, mode: u32) {
        mode_at(&self.folder.join(name), mode);
    }

    /// Gives these to the user of [`as_another`].
    pub fn owned(&self, names: &[&str]) {
        if rustix::process::geteuid().is_root() {
            for name in names {
                std::os::unix::fs::chown(self.at.join(name), Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        for name in ["XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"] {
            command.env_remove(name);
        }
        command.current_dir(&self.folder).env("GIT_CONFIG_SYSTEM", "/dev/null");
        command.env("HOME", self.at.join("home")).env("XDG_STATE_HOME", self.at.join("state"));
        command.env_remove("XDG_CONFIG_HOME");
        command
    }

    /// Starts it in the repository.
    pub async fn start(&self, command: &mut Command, settings: Value) -> Session {
        let mut binary = Binary::of(command);
        let uri = format!("file://{}", self.folder.display());
        let mut all = json!({ "diagnostics": { "ownServers": "off" } });
        all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        binary.hello_in(None, all, Some(&uri)).await;
        Session { binary, calls: 0 }
    }
}

/// A running binary that answers calls.
pub struct Session {
    binary: Binary,
    calls: i64,
}

impl Session {
    /// The result of a call.
    pub async fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.calls += 1;
        let call = json!({ "name": name, "arguments": arguments });
        self.binary.ask(self.calls, "ropewalk/callTool", call).await["result"].clone()
    }

    /// How it is.
    pub async fn status(&mut self) -> Value {
        self.calls += 1;
        self.binary.ask(self.calls, "ropewalk/status", json!({})).await["result"].clone()
    }

    /// What a call tells the model.
    pub async fn told(&mut self, name: &str, arguments: Value) -> String {
        let result = self.call(name, arguments).await;
        result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
    }

    /// The files that `glob`, `grep`, `file_search` and `ls` see; they are to agree.
    async fn seen(&mut self) -> Vec<String> {
        let calls = [
            ("glob", json!({ "pattern": "*", "sort": "path" })),
            ("grep", json!({ "pattern": "word", "output_mode": "files_with_matches" })),
            ("file_search", json!({ "query": "txt" })),
            ("ls", json!({ "depth": 9 })),
        ];
        let mut all = Vec::new();
        for (name, arguments) in calls {
            let result = self.call(name, arguments).await;
            let data = &result["structuredContent"];
            let rows = ["files", "matches", "entries"].into_iter().find_map(|key| data[key].as_array()).unwrap();
            let files = rows.iter().filter(|row| row["kind"].is_null() || row["kind"] == "file");
            let mut seen: Vec<String> =
                files.map(|row| row["path"].as_str().unwrap().trim_start_matches("./").to_owned()).collect();
            seen.sort();
            all.push((name, seen));
        }
        let seen = all[0].1.clone();
        for (name, others) in &all {
            assert_eq!(*others, seen, "{name}");
        }
        seen
    }
}

const BINARY: &str = env!("CARGO_BIN_EXE_ropewalk");

#[tokio::test]
async fn what_the_users_own_excludes_name_is_left_out() {
    let world = World::new();
    for name in ["keep.txt", "default.txt", "xdg.txt", "named.txt", "sub/default.txt", "info.txt", "tracked.txt"] {
        world.put(&format!("w/{name}"), "word\n");
    }
    world.put("home/.config/git/ignore", "default.txt\ntracked.txt\n").put("xdg/git/ignore", "xdg.txt\n");
    world
        .put("home/mine", "named.txt\n")
        .put("w/.git/info/exclude", "info.txt\n")
        .put("w/.gitignore", "!tracked.txt\n");
    // As git has it: the folder of the user's settings, or wherever the variable says, or the file that is configured.
    let mut session = world.start(&mut world.command(Path::new(BINARY)), json!({})).await;
    assert_eq!(session.seen().await, ["keep.txt", "named.txt", "tracked.txt", "xdg.txt"]);
    let told = session.told("grep", json!({ "pattern": "word", "ignored": true, "output_mode": "count" })).await;
    assert!(told.contains("7 matching lines in 7 files"), "{told}");
    // Named, it is there.
    assert!(session.told("read", json!({ "file_path": "default.txt" })).await.starts_with("1\tword"));
    let mut elsewhere = world.command(Path::new(BINARY));
    elsewhere.env("XDG_CONFIG_HOME", world.at.join("xdg"));
    let seen = world.start(&mut elsewhere, json!({})).await.seen().await;
    assert_eq!(seen, ["default.txt", "keep.txt", "named.txt", "sub/default.txt", "tracked.txt"]);
    world.put("home/.gitconfig", "[core]\n\texcludesFile = ~/mine\n");
    let mut session = world.start(&mut world.command(Path::new(BINARY)), json!({})).await;
    assert_eq!(session.seen().await, ["default.txt", "keep.txt", "sub/default.txt", "tracked.txt", "xdg.txt"]);
    // The switch switches all of it off; what git keeps for itself is never seen.
    let settings = json!({ "search": { "respectIgnoreFiles": false } });
    let seen = world.start(&mut world.command(Path::new(BINARY)), settings).await.seen().await;
    assert_eq!(seen.len(), 7);
    // Without a repository git's rules do not hold, unless that is wanted.
    std::fs::remove_dir_all(world.folder.join(".git")).unwrap();
    let mut session = world.start(&mut world.command(Path::new(BINARY)), json!({})).await;
    assert_eq!(session.seen().await.len(), 7);
    let settings = json!({ "search": { "requireGit": false } });
    let seen = world.start(&mut world.command(Path::new(BINARY)), settings).await.seen().await;
    assert_eq!(seen, ["default.txt", "info.txt", "keep.txt", "sub/default.txt", "tracked.txt", "xdg.txt"]);
}

#[tokio::test]
async fn exclude_settings_hold_for_every_search() {
    let world = World::new();
    for name in
        ["a.txt", "gen/b.txt", "sub/gen/c.txt", "sub/d.min.txt", "top.txt", "sub/top.txt", ".hid.txt", "sub/e.txt"]
    {
        world.put(&format!("w/{name}"), "word\n");
    }
    let settings = json!({ "search": { "exclude": ["gen/", "*.min.*", "/top.txt", "sub/e.txt"], "hidden": true } });
    let mut session = world.start(&mut world.command(Path::new(BINARY)), settings).await;
    assert_eq!(session.seen().await, [".hid.txt", "a.txt", "sub/top.txt"]);
    // A call adds to them and takes none back.
    let call = json!({ "pattern": "*", "exclude": ["a.*", "!gen/"], "ignored": true, "sort": "path" });
    assert!(session.told("glob", call).await.starts_with(".hid.txt\nsub/top.txt\n\n"));
    let told = session.told("grep", json!({ "pattern": "word", "path": "sub" })).await;
    assert!(told.starts_with("sub/top.txt\n1:word\n\n(1 matching line in 1 file; 1 file searched)"), "{told}");
    // A glob that is none costs a clear answer, not the search.
    let settings = json!({ "search": { "exclude": ["a["] } });
    let mut session = world.start(&mut world.command(Path::new(BINARY)), settings).await;
    let told = session.told("grep", json!({ "pattern": "word" })).await;
    assert!(told.starts_with("\"a[\" is not a glob"), "{told}");
}

/// The number of the user `nobody`.
const NOBODY: u32 = 65534;

/// Runs the binary as somebody to whom the files are closed: as `nobody` where the tests are run by root, to whom nothing
/// is closed; else as ourselves, for whom the modes suffice.
pub fn as_another(world: &World) -> Command {
    if !rustix::process::geteuid().is_root() {
        return world.command(Path::new(BINARY));
    }
    // The build may lie where only root gets to.
    let copy = world.at.join("ropewalk");
    std::fs::copy(BINARY, &copy).unwrap();
    std::fs::set_permissions(&copy, Permissions::from_mode(0o755)).unwrap();
    for name in ["home", "state", "w"] {
        std::os::unix::fs::chown(world.at.join(name), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let mut own = world.command(&copy);
    own.uid(NOBODY).gid(NOBODY);
    own
}

#[tokio::test]
async fn a_file_of_another_user_costs_only_itself_in_every_tool() {
    let world = World::new();
    for name in ["closed.txt", "open.txt", "shut/in.txt", "sub/here.txt", "z.txt"] {
        world.put(&format!("w/{name}"), "word\n");
    }
    world.mode("closed.txt", 0);
    world.mode("shut", 0);
    world.mode("z.txt", 0o444);
    world.mode("sub", 0o555);
    let mut session = world.start(&mut as_another(&world), json!({ "freshness": "off" })).await;
    let mut told = String::new();
    for (name, arguments) in [
        ("read", json!({ "file_path": "closed.txt" })),
        ("read", json!({ "file_path": "shut" })),
        ("read", json!({ "file_path": "shut/in.txt" })),
        ("read", json!({ "file_path": "z.txt" })),
        ("write", json!({ "file_path": "closed.txt", "content": "x\n" })),
        ("write", json!({ "file_path": "shut/new.txt", "content": "x\n" })),
        ("write", json!({ "file_path": "sub/new.txt", "content": "x\n" })),
        ("write", json!({ "file_path": "sub/here.txt", "content": "x\n" })),
        ("edit", json!({ "file_path": "closed.txt", "old_string": "word", "new_string": "x" })),
        ("grep", json!({ "pattern": "word" })),
        ("grep", json!({ "pattern": "word", "path": "closed.txt" })),
        ("grep", json!({ "pattern": "word", "path": "shut" })),
        ("glob", json!({ "pattern": "*.txt", "sort": "path" })),
        ("file_search", json!({ "query": "txt" })),
        ("ls", json!({})),
        ("ls", json!({ "path": "shut" })),
    ] {
        let answer = session.told(name, arguments.clone()).await;
        writeln!(told, "{name} {arguments}\n{answer}\n").unwrap();
    }
    expect_test::expect![[r#"
        read {"file_path":"closed.txt"}
        closed.txt may not be read: the system denies access to it.

        read {"file_path":"shut"}
        Looking at shut failed: Permission denied (os error 13).

        read {"file_path":"shut/in.txt"}
        shut/in.txt may not be read: the system denies access to it.
        `read` has failed 3 times in a row. Look at why before you try it again.

        read {"file_path":"z.txt"}
        1	word

        (end of file, 1 line)

        write {"file_path":"closed.txt","content":"x\n"}
        closed.txt may not be read: the system denies access to it.

        write {"file_path":"shut/new.txt","content":"x\n"}
        shut/new.txt may not be read: the system denies access to it.

        write {"file_path":"sub/new.txt","content":"x\n"}
        sub/new.txt could not be made: Permission denied (os error 13). Nothing was changed.
        `write` has failed 3 times in a row. Look at why before you try it again.

        write {"file_path":"sub/here.txt","content":"x\n"}
        sub/here.txt could not be written: Permission denied (os error 13). Nothing was changed.

        edit {"file_path":"closed.txt","old_string":"word","new_string":"x"}
        closed.txt could not be read: Permission denied (os error 13). Nothing was changed.

        grep {"pattern":"word"}
        open.txt
        1:word

        sub/here.txt
        1:word

        z.txt
        1:word

        (3 matching lines in 3 files; 3 files searched)
        (could not be looked at: closed.txt: Permission denied (os error 13); shut: Permission denied (os error 13))

        grep {"pattern":"word","path":"closed.txt"}
        closed.txt was not searched: Permission denied (os error 13).

        grep {"pattern":"word","path":"shut"}
        No file was searched in shut.
        (could not be looked at: shut: Permission denied (os error 13))

        glob {"pattern":"*.txt","sort":"path"}
        closed.txt
        open.txt
        sub/here.txt
        z.txt

        (4 files)
        (could not be looked at: shut: Permission denied (os error 13))

        file_search {"query":"txt"}
        closed.txt
        open.txt
        sub/here.txt
        z.txt

        (4 files)
        (could not be looked at: shut: Permission denied (os error 13))

        ls {}
        ./
          shut/
          sub/
            here.txt
          closed.txt
          open.txt
          z.txt

        (2 folders, 4 files down to depth 2)
        (could not be looked at: shut: Permission denied (os error 13))

        ls {"path":"shut"}
        shut could not be listed: Permission denied (os error 13).

    "#]]
    .assert_eq(&told.replace(&world.at.display().to_string(), "AT"));
    for name in ["closed.txt", "sub/here.txt", "z.txt"] {
        world.mode(name, 0o644);
        assert_eq!(std::fs::read(world.folder.join(name)).unwrap(), b"word\n", "{name}");
    }
    world.mode("shut", 0o755);
    world.mode("sub", 0o755);
    assert!(!world.folder.join("sub/new.txt").exists());
}
