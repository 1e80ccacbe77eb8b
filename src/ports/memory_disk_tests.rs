//! What only the twin of the disk can do.

use super::*;

#[test]
fn failures_and_hooks_come_when_ordered() {
    let disk = MemoryDisk::new().with_file("/w/a", "one").with_file("/w/b", "two");
    disk.fail(Operation::Read, "/w/a", io::ErrorKind::PermissionDenied);
    assert_eq!(disk.read(Path::new("/w/a")).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    assert_eq!(disk.read(Path::new("/w/b")).unwrap(), b"two");
    disk.mend(Operation::Read, "/w/a");
    assert_eq!(disk.read(Path::new("/w/a")).unwrap(), b"one");

    disk.fail(Operation::Overwrite, "/w/a", io::ErrorKind::StorageFull);
    assert_eq!(disk.overwrite(Path::new("/w/a"), b"1234").unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(disk.bytes("/w/a").unwrap(), b"12", "half was written");

    disk.before(Operation::Replace, |disk, path| disk.put(path, "theirs"));
    let path = Path::new("/w/b");
    let refused = disk.replace(path, b"ours", 0o644, &mut || disk.bytes(path).unwrap() == b"two");
    assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::Interrupted);
    assert_eq!(disk.bytes(path).unwrap(), b"theirs");
    assert_eq!(disk.changes(), [], "nothing of ours was ever done");
}
