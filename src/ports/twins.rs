//! What holds for every [`Disk`]: each test here runs on the real one, in a temporary folder, and on its twin.

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use super::{DirEntry, Disk, FileKind, MemoryDisk, SystemDisk};

/// Prepares the world that the tests start from, then runs the test in it, on both disks.
///
/// ```text
/// file      "old", mode 0640        link -> file            dangling -> nowhere
/// dir/inner "inner"                 linkdir -> dir          loop -> loop
/// twin1, twin2: one file "both"
/// ```
fn on_both(test: impl Fn(&dyn Disk, &Path)) {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let folder = tempfile::tempdir().unwrap();
    let root = SystemDisk.canonicalize(folder.path()).unwrap();
    SystemDisk.create_dir_all(&root.join("dir")).unwrap();
    for (name, content) in [("file", "old"), ("dir/inner", "inner"), ("twin1", "both")] {
        SystemDisk.create(&root.join(name), content.as_bytes()).unwrap();
    }
    std::fs::set_permissions(root.join("file"), std::fs::Permissions::from_mode(0o640)).unwrap();
    std::fs::hard_link(root.join("twin1"), root.join("twin2")).unwrap();
    for (name, to) in [("link", "file"), ("linkdir", "dir"), ("dangling", "nowhere"), ("loop", "loop")] {
        symlink(to, root.join(name)).unwrap();
    }
    test(&SystemDisk, &root);

    let root = PathBuf::from("/w");
    let disk = MemoryDisk::new()
        .with_file("/w/file", "old")
        .with_mode("/w/file", 0o640)
        .with_file("/w/dir/inner", "inner")
        .with_file("/w/twin1", "both")
        .with_hard_link("/w/twin2", "/w/twin1")
        .with_link("/w/link", "file")
        .with_link("/w/linkdir", "dir")
        .with_link("/w/dangling", "nowhere")
        .with_link("/w/loop", "loop");
    test(&disk, &root);
}

/// Every name below the folder with what it is, and the content of each file: to show that nothing else changed.
fn listing(disk: &dyn Disk, folder: &Path) -> Vec<(PathBuf, FileKind, Vec<u8>)> {
    let mut all = Vec::new();
    for DirEntry { name, kind, .. } in disk.read_dir(folder).unwrap() {
        let path = folder.join(name);
        let bytes = if kind == FileKind::File { disk.read(&path).unwrap() } else { Vec::new() };
        all.push((path.clone(), kind, bytes));
        if kind == FileKind::Directory {
            all.extend(listing(disk, &path));
        }
    }
    all
}

#[test]
fn what_others_may_have_written_is_not_read_as_ones_own() {
    on_both(|disk, root| {
        let read = |name: &str| disk.read_own(&root.join(name), 5).map_err(|error| error.kind());
        assert_eq!(read("file"), Ok(b"old".to_vec()));
        assert_eq!(read("dir/inner"), Ok(b"inner".to_vec()));
        // Only the file itself may be no link.
        assert_eq!(read("linkdir/inner"), Ok(b"inner".to_vec()));
        for (name, kind) in [
            ("link", ErrorKind::PermissionDenied),
            ("dangling", ErrorKind::PermissionDenied),
            ("loop", ErrorKind::PermissionDenied),
            ("dir", ErrorKind::PermissionDenied),
            ("none", ErrorKind::NotFound),
            ("none/none", ErrorKind::NotFound),
            ("file/none", ErrorKind::NotADirectory),
        ] {
            assert_eq!(read(name), Err(kind), "{name}");
        }
        let long = disk.read_own(&root.join("dir/inner"), 4).unwrap_err();
        assert_eq!(
            (long.kind(), long.to_string().as_str()),
            (ErrorKind::FileTooLarge, "it has 5 bytes; at most 4 are read")
        );
        for mode in [0o620, 0o602, 0o666] {
            disk.set_mode(&root.join("file"), mode).unwrap();
            assert_eq!(read("file"), Err(ErrorKind::PermissionDenied), "{mode:o}");
        }
    });
}

#[test]
fn a_folder_of_others_holds_nothing_of_ones_own() {
    use std::os::unix::fs::PermissionsExt as _;
    let held = tempfile::tempdir().unwrap();
    let file = held.path().join("file");
    SystemDisk.create(&file, b"text").unwrap();
    for (mode, own) in [(0o755, true), (0o775, false), (0o777, false), (0o1777, true), (0o700, true)] {
        std::fs::set_permissions(held.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(SystemDisk.read_own(&file, 9).is_ok(), own, "{mode:o}");
    }
}

#[test]
fn reading_follows_links_and_names_what_it_cannot_read() {
    on_both(|disk, root| {
        for name in ["file", "link", "dir/../file", "linkdir/../file"] {
            assert_eq!(disk.read(&root.join(name)).unwrap(), b"old", "{name}");
        }
        for (name, kind) in [
            ("absent", ErrorKind::NotFound),
            ("dangling", ErrorKind::NotFound),
            ("dir", ErrorKind::IsADirectory),
            ("linkdir", ErrorKind::IsADirectory),
            ("file/below", ErrorKind::NotADirectory),
        ] {
            assert_eq!(disk.read(&root.join(name)).unwrap_err().kind(), kind, "{name}");
        }
        for error in [disk.read(&root.join("loop")).unwrap_err(), disk.canonicalize(&root.join("loop")).unwrap_err()] {
            assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::LOOP.raw_os_error()));
        }
        assert_eq!(disk.read_link(&root.join("linkdir/../dangling")).unwrap(), Path::new("nowhere"));
        assert_eq!(disk.read_link(&root.join("file")).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(disk.canonicalize(&root.join("linkdir/inner")).unwrap(), root.join("dir/inner"));
        assert_eq!(disk.canonicalize(&root.join("linkdir/..")).unwrap(), root);
    });
}

#[test]
fn metadata_tells_kind_mode_and_names() {
    on_both(|disk, root| {
        let file = disk.metadata(&root.join("link")).unwrap();
        assert_eq!((file.kind, file.len, file.mode, file.links, file.owned), (FileKind::File, 3, 0o640, 1, true));
        assert_eq!(disk.metadata(&root.join("twin2")).unwrap().links, 2);
        assert_eq!(disk.link_metadata(&root.join("link")).unwrap().kind, FileKind::Link);
        assert_eq!(disk.metadata(&root.join("linkdir")).unwrap().kind, FileKind::Directory);
        let names: Vec<String> = disk.read_dir(root).unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["dangling", "dir", "file", "link", "linkdir", "loop", "twin1", "twin2"]);
    });
}

#[test]
fn a_private_directory_is_for_nobody_else() {
    on_both(|disk, root| {
        let path = root.join("new/private");
        for _ in 0..2 {
            disk.create_private_dir(&path).unwrap();
            assert_eq!(disk.metadata(&path).unwrap().mode, 0o700);
        }
        // One that is there and is ours is made private.
        disk.create_private_dir(&root.join("dir")).unwrap();
        assert_eq!(disk.metadata(&root.join("dir")).unwrap().mode, 0o700);
        for name in ["file", "linkdir", "dangling"] {
            let error = disk.create_private_dir(&root.join(name)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotADirectory, "{name}");
        }
    });
}

#[test]
fn a_new_file_was_changed_just_now() {
    on_both(|disk, root| {
        disk.create(&root.join("later"), b"x").unwrap();
        assert!(disk.modified(&root.join("later")).unwrap().elapsed().is_ok_and(|age| age.as_secs() < 3600));
        assert_eq!(disk.modified(&root.join("absent")).unwrap_err().kind(), ErrorKind::NotFound);
        assert!(disk.modified(&root.join("dangling")).is_err(), "links are followed");
    });
}

#[test]
fn a_replaced_file_has_the_new_content_and_the_mode_asked_for() {
    on_both(|disk, root| {
        let before = listing(disk, root);
        let path = root.join("file");
        let mut seen = None;
        let mut still = || {
            seen = Some(disk.read(&path).unwrap());
            true
        };
        disk.replace(&path, b"new\0bytes", 0o750, &mut still).unwrap();
        assert_eq!(seen.as_deref(), Some(&b"old"[..]), "until the last question the old file is there, whole");
        let found = disk.metadata(&path).unwrap();
        assert_eq!((found.mode, found.links, disk.read(&path).unwrap().as_slice()), (0o750, 1, &b"new\0bytes"[..]));
        disk.replace(&path, b"old", 0o640, &mut || true).unwrap();
        assert_eq!(listing(disk, root), before, "no temporary file, and the links are still links");

        disk.replace(&root.join("twin1"), b"one", 0o644, &mut || true).unwrap();
        assert_eq!(disk.read(&root.join("twin2")).unwrap(), b"both", "the other name keeps the old file");
    });
}

#[test]
fn a_refused_replacement_leaves_everything_as_it_was() {
    on_both(|disk, root| {
        let before = listing(disk, root);
        let no = disk.replace(&root.join("file"), b"new", 0o644, &mut || false).unwrap_err();
        assert_eq!(no.kind(), ErrorKind::Interrupted);
        for (name, kind) in [
            ("link", ErrorKind::InvalidInput),
            ("dangling", ErrorKind::InvalidInput),
            ("loop", ErrorKind::InvalidInput),
            ("linkdir/inner", ErrorKind::InvalidInput),
            ("linkdir/new", ErrorKind::InvalidInput),
            ("dir/../file", ErrorKind::InvalidInput),
            ("file/below", ErrorKind::InvalidInput),
            ("dir", ErrorKind::IsADirectory),
            ("absent/new", ErrorKind::NotFound),
        ] {
            let mut asked = false;
            let mut still = || {
                asked = true;
                true
            };
            let refused = disk.replace(&root.join(name), b"new", 0o644, &mut still).unwrap_err();
            assert_eq!(refused.kind(), kind, "replace {name}: {refused}");
            assert!(!asked, "{name} is refused before the question");
            let refused = disk.overwrite(&root.join(name), b"new").unwrap_err();
            assert_eq!(refused.kind(), kind, "overwrite {name}: {refused}");
        }
        for path in ["file", ""] {
            let refused = disk.replace(Path::new(path), b"new", 0o644, &mut || true).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{path:?}");
        }
        assert_eq!(listing(disk, root), before);
    });
}

#[test]
fn a_name_that_becomes_a_link_meanwhile_is_refused() {
    // The real disk only: the twin's hook has tests of its own.
    let folder = tempfile::tempdir().unwrap();
    let root = SystemDisk.canonicalize(folder.path()).unwrap();
    let (path, other) = (root.join("file"), root.join("other"));
    SystemDisk.create(&path, b"old").unwrap();
    SystemDisk.create(&other, b"other").unwrap();
    let mut swap = || {
        SystemDisk.remove(&path).unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        true
    };
    let refused = SystemDisk.replace(&path, b"new", 0o644, &mut swap).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    assert_eq!(SystemDisk.read(&other).unwrap(), b"other");
    assert_eq!(SystemDisk.read_dir(&root).unwrap().len(), 2, "no temporary file is left");
}

#[test]
fn a_new_file_takes_no_name_that_is_taken() {
    on_both(|disk, root| {
        disk.create(&root.join("fresh"), b"fresh").unwrap();
        assert_eq!(disk.read(&root.join("fresh")).unwrap(), b"fresh");
        let before = listing(disk, root);
        for (name, kind) in [
            ("file", ErrorKind::AlreadyExists),
            ("dangling", ErrorKind::AlreadyExists),
            ("dir", ErrorKind::AlreadyExists),
            ("absent/new", ErrorKind::NotFound),
            ("linkdir/new", ErrorKind::InvalidInput),
        ] {
            assert_eq!(disk.create(&root.join(name), b"x").unwrap_err().kind(), kind, "{name}");
        }
        assert_eq!(listing(disk, root), before);
        disk.remove(&root.join("fresh")).unwrap();
        assert_eq!(disk.read(&root.join("fresh")).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(disk.remove(&root.join("fresh")).unwrap_err().kind(), ErrorKind::NotFound);
    });
}

#[test]
fn an_overwritten_file_keeps_its_other_names_and_its_mode() {
    on_both(|disk, root| {
        disk.overwrite(&root.join("twin1"), b"x").unwrap();
        assert_eq!(disk.read(&root.join("twin2")).unwrap(), b"x", "shorter than before, and one file still");
        disk.overwrite(&root.join("file"), b"longer than before").unwrap();
        let found = disk.metadata(&root.join("file")).unwrap();
        assert_eq!((found.len, found.mode), (18, 0o640));
        assert_eq!(disk.overwrite(&root.join("absent"), b"x").unwrap_err().kind(), ErrorKind::NotFound);
    });
}

#[test]
fn folders_are_made_where_none_are() {
    on_both(|disk, root| {
        for name in ["a/b/c", "dir", "linkdir", "linkdir/deep/er"] {
            disk.create_dir_all(&root.join(name)).unwrap();
            assert_eq!(disk.metadata(&root.join(name)).unwrap().kind, FileKind::Directory, "{name}");
        }
        assert_eq!(disk.canonicalize(&root.join("linkdir/deep")).unwrap(), root.join("dir/deep"));
        for (name, kind) in [
            ("file", ErrorKind::AlreadyExists),
            ("dangling", ErrorKind::AlreadyExists),
            ("file/below", ErrorKind::NotADirectory),
        ] {
            assert_eq!(disk.create_dir_all(&root.join(name)).unwrap_err().kind(), kind, "{name}");
        }
    });
}

#[cfg(target_os = "linux")] // where a pipe is made without a program
#[test]
fn a_pipe_is_neither_read_nor_written() {
    let folder = tempfile::tempdir().unwrap();
    let root = SystemDisk.canonicalize(folder.path()).unwrap();
    let pipe = root.join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    assert_eq!(SystemDisk.metadata(&pipe).unwrap().kind, FileKind::Other);
    assert_eq!(SystemDisk.read(&pipe).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(SystemDisk.overwrite(&pipe, b"x").unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(SystemDisk.replace(&pipe, b"x", 0o644, &mut || true).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_rename_never_replaces_and_keeps_the_file() {
    on_both(|disk, root| {
        let at = |name: &str| root.join(name);
        disk.rename(&at("file"), &at("dir/moved")).unwrap();
        assert_eq!(disk.read(&at("dir/moved")).unwrap(), b"old");
        assert_eq!(disk.metadata(&at("dir/moved")).unwrap().mode, 0o640);
        assert_eq!(disk.read(&at("file")).unwrap_err().kind(), ErrorKind::NotFound);
        let before = listing(disk, root);
        for (from, to, kind) in [
            ("file", "other", ErrorKind::NotFound),
            ("twin1", "dir/inner", ErrorKind::AlreadyExists),
            ("twin1", "dangling", ErrorKind::InvalidInput),
            ("twin1", "nowhere/x", ErrorKind::NotFound),
            ("twin1", "linkdir/x", ErrorKind::InvalidInput),
            ("link", "x", ErrorKind::InvalidInput),
        ] {
            let found = disk.rename(&at(from), &at(to)).unwrap_err().kind();
            let taken = to == "dangling" && found == ErrorKind::AlreadyExists;
            assert!(found == kind || taken, "{from} {to}: {found:?}");
        }
        assert_eq!(listing(disk, root), before);
    });
}

#[test]
fn only_an_empty_folder_is_removed() {
    on_both(|disk, root| {
        disk.create_dir_all(&root.join("new")).unwrap();
        disk.remove_dir(&root.join("new")).unwrap();
        assert!(disk.metadata(&root.join("new")).is_err());
        assert!(disk.remove_dir(&root.join("dir")).is_err());
        assert!(disk.remove_dir(&root.join("linkdir")).is_err());
        assert_eq!(disk.read(&root.join("dir/inner")).unwrap(), b"inner");
    });
}

#[test]
fn a_lock_is_held_by_one() {
    on_both(|disk, root| {
        let path = root.join("lock");
        let first = disk.lock(&path).unwrap();
        assert!(first.is_some() && disk.lock(&path).unwrap().is_none());
        drop(first);
        assert!(disk.lock(&path).unwrap().is_some());
    });
}

#[test]
fn a_mode_is_set_and_nothing_else() {
    on_both(|disk, root| {
        let before = listing(disk, root);
        disk.set_mode(&root.join("file"), 0o755).unwrap();
        assert_eq!(disk.metadata(&root.join("file")).unwrap().mode, 0o755);
        // A link is not followed, be it the last or one on the way, and a folder is no file.
        for (name, kind) in [
            ("link", ErrorKind::InvalidInput),
            ("linkdir/inner", ErrorKind::InvalidInput),
            ("dir", ErrorKind::IsADirectory),
            ("absent", ErrorKind::NotFound),
        ] {
            assert_eq!(disk.set_mode(&root.join(name), 0o700).unwrap_err().kind(), kind, "{name}");
        }
        assert_eq!(disk.metadata(&root.join("file")).unwrap().mode, 0o755);
        assert_eq!(listing(disk, root), before);
    });
}

#[test]
fn a_file_that_grows_is_new_private_and_read_as_far_as_it_is_written() {
    on_both(|disk, root| {
        let path = root.join("grows");
        let mut file = disk.create_growing(&path).unwrap();
        file.write_all(b"one ").unwrap();
        assert_eq!(disk.read(&path).unwrap(), b"one ");
        file.write_all(b"two").unwrap();
        assert_eq!((disk.read(&path).unwrap(), disk.metadata(&path).unwrap().mode), (b"one two".to_vec(), 0o600));
        for (taken, kind) in [
            ("grows", ErrorKind::AlreadyExists),
            ("dangling", ErrorKind::AlreadyExists),
            ("file", ErrorKind::AlreadyExists),
            ("missing/grows", ErrorKind::NotFound),
            ("linkdir/grows", ErrorKind::InvalidInput),
        ] {
            assert_eq!(disk.create_growing(&root.join(taken)).err().map(|error| error.kind()), Some(kind), "{taken}");
        }
    });
}
