//! The folder where sidecars make themselves known: what is in it is read, written, and swept where its owner is gone.

use std::io;
use std::path::{Path, PathBuf};

use tracing::{debug, info};

use crate::ports::{PrivateFolder, env, user};
use crate::process;

use super::known::{Known, VERSION};
use super::place;

/// A file that makes a sidecar known is at most so long (bytes).
const LONGEST_FILE: u64 = 64 * 1024;

/// At most so many files are read.
const MOST_FILES: usize = 256;

/// The folder of this user on this system. It need not be there yet.
pub fn own_folder() -> PathBuf {
    place::folder(env("XDG_RUNTIME_DIR").as_deref(), &std::env::temp_dir(), user())
}

/// The sidecars that have made themselves known and whose processes are there, by process. A folder that is not there has
/// none; one that is not ours alone is an error.
pub fn known_in(folder: &Path) -> io::Result<Vec<Known>> {
    let folder = match PrivateFolder::open(folder) {
        Ok(folder) => folder,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let names = folder.names()?;
    let names = names.iter().filter_map(|name| name.to_str()).filter(|name| place::makes_known(name));
    let mut known: Vec<Known> = names.take(MOST_FILES).filter_map(|name| read(&folder, name)).collect();
    known.retain(|known| process::exists(known.process));
    known.sort_by_key(|known| known.process);
    Ok(known)
}

/// What is known of the sidecar of a socket, from the file beside it.
pub fn known_beside(socket: &Path) -> io::Result<Known> {
    let name = socket.file_name().and_then(|name| name.to_str()).and_then(place::process_of);
    let (Some(process), Some(folder)) = (name, socket.parent()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "its name is not one that Ropewalk gives"));
    };
    let folder = PrivateFolder::open(folder)?;
    read(&folder, &place::known_of(process))
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no sidecar says beside it how to join"))
}

fn read(folder: &PrivateFolder, name: &str) -> Option<Known> {
    let read = folder.read(name, LONGEST_FILE);
    let known = read.and_then(|bytes| serde_json::from_slice::<Known>(&bytes).map_err(io::Error::from));
    match known {
        // Its own number, and its socket beside it: else somebody else's word would lead elsewhere.
        Ok(known)
            if known.ropewalk == VERSION
                && place::known_of(known.process) == name
                && known.socket == folder.path().join(place::socket_of(known.process)) =>
        {
            Some(known)
        }
        Ok(_) => None,
        Err(error) => {
            debug!(name, %error, "a sidecar that cannot be read of");
            None
        }
    }
}

/// Makes the folder where it is not there, and removes what sidecars left that are gone.
pub(super) fn enter(folder: &Path) -> io::Result<PrivateFolder> {
    let folder = PrivateFolder::make(folder)?;
    let names = folder.names()?;
    for name in names.iter().filter_map(|name| name.to_str()) {
        let Some(process) = place::process_of(name) else { continue };
        // Whoever is known is listened for already; one that is not known yet may be about to listen.
        let told = names.iter().any(|name| *name == *place::known_of(process));
        let listens = || answers(&folder.path().join(place::socket_of(process)));
        let ours = process == std::process::id();
        if (ours || ((told || !process::exists(process)) && !listens())) && folder.remove(name).is_ok() {
            info!(name, "removed what a sidecar left that is gone");
        }
    }
    Ok(folder)
}

/// Whether somebody listens at a socket, as far as can be told without waiting.
fn answers(socket: &Path) -> bool {
    use rustix::io::Errno;
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
    let connected = || {
        let caller = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
        rustix::io::ioctl_fionbio(&caller, true)?;
        rustix::net::connect(&caller, &SocketAddrUnix::new(socket)?)
    };
    !matches!(connected(), Err(Errno::CONNREFUSED | Errno::NOENT))
}

/// Makes a sidecar known.
pub(super) fn tell(folder: &PrivateFolder, known: &Known) -> io::Result<()> {
    folder.write(&place::known_of(known.process), &serde_json::to_vec(known)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(folder: &Path, process: u32) -> Known {
        Known {
            ropewalk: VERSION,
            process,
            editor: "ed".to_owned(),
            roots: vec![PathBuf::from("/w")],
            socket: folder.join(place::socket_of(process)),
            token: "secret".to_owned(),
        }
    }

    /// A process number that nobody has.
    const NOBODY: u32 = u32::MAX;

    #[test]
    fn who_is_there_is_known_and_who_is_gone_is_swept() {
        let all = tempfile::tempdir().unwrap();
        let at = all.path().join("ropewalk");
        assert!(known_in(&at).unwrap().is_empty(), "no folder, nobody");
        let folder = enter(&at).unwrap();
        let own = known(&at, std::process::id());
        tell(&folder, &own).unwrap();
        tell(&folder, &known(&at, NOBODY)).unwrap();
        drop(std::os::unix::net::UnixListener::bind(at.join(place::socket_of(NOBODY))).unwrap());
        folder.write("notes.txt", b"a person's").unwrap();
        assert!(known_in(&at).unwrap() == [own.clone()]);
        assert!(known_beside(&own.socket).unwrap() == own);
        // Of one that cannot be seen from here, in another container, but listens, everything stays.
        let listening = std::os::unix::net::UnixListener::bind(at.join(place::socket_of(NOBODY - 1))).unwrap();
        tell(&folder, &known(&at, NOBODY - 1)).unwrap();
        // One whose number is somebody else's now does not listen.
        tell(&folder, &known(&at, 1)).unwrap();
        let names = enter(&at).unwrap().names().unwrap();
        assert_eq!(names, [&*place::known_of(NOBODY - 1), &*place::socket_of(NOBODY - 1), "notes.txt"]);
        drop(listening);
        assert_eq!(enter(&at).unwrap().names().unwrap(), ["notes.txt"]);
    }

    #[test]
    fn what_lies_is_not_believed() {
        let all = tempfile::tempdir().unwrap();
        let at = all.path().join("ropewalk");
        let folder = enter(&at).unwrap();
        let own = std::process::id();
        let elsewhere = Known { socket: PathBuf::from("/tmp/trap.sock"), ..known(&at, own) };
        let another = Known { process: 1, ..known(&at, own) };
        let newer = Known { ropewalk: VERSION + 1, ..known(&at, own) };
        for liar in [elsewhere, another, newer] {
            folder.write(&place::known_of(own), &serde_json::to_vec(&liar).unwrap()).unwrap();
            assert!(known_in(&at).unwrap().is_empty());
        }
        for garbage in [&b""[..], b"{", &vec![b' '; 70_000]] {
            folder.write(&place::known_of(own), garbage).unwrap();
            assert!(known_in(&at).unwrap().is_empty());
        }
    }

    #[test]
    fn a_socket_of_another_name_has_nobody_beside_it() {
        let all = tempfile::tempdir().unwrap();
        let at = all.path().join("ropewalk");
        enter(&at).unwrap();
        assert!(known_beside(&at.join("trap.sock")).is_err());
        assert!(known_beside(&at.join("12.sock")).is_err());
        assert!(known_beside(Path::new("/")).is_err());
    }
}
