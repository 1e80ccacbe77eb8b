//! `--record FILE`: what is recorded of a run, and where.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use ropewalk::ports::{Disk as _, FileKind, LineFile, SystemClock, SystemDisk};
use ropewalk::recording::{FORMAT, Head, Recorder};
use ropewalk::server::protocol;
use serde_json::Value;

use super::{Command, Common, complain, named_file, own_file};

/// What the commands that have a sidecar of their own are told of recording.
#[derive(Debug, Default, Args)]
pub(crate) struct Record {
    /// Record every frame that passes between the editor and us in this new file, less the secrets that can be told: for
    /// `serve`, `try` and `call` (docs/RECORDING.md).
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Put the recording in the place of a file that is there.
    #[arg(long, requires = "record")]
    record_force: bool,
}

/// Starts recording, if that is asked for, before the command (`first`) or behind it. An error is told to the person: then
/// nothing runs.
pub(crate) fn start(common: &Common, first: &Record, command: &Command) -> Result<Option<Recorder>, String> {
    let second = match command {
        Command::Serve(record) => Some(("serve", common.ephemeral, record)),
        Command::Try(show) => Some(("try", true, &show.record)),
        Command::Call(call) => Some(("call", true, &call.record)),
        _ => None,
    };
    let (name, ephemeral, second) = match second {
        Some(second) => second,
        None if first.record.is_none() => return Ok(None),
        None => return Err("--record is for serve, try and call".to_owned()),
    };
    let (path, force) = match (&first.record, &second.record) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => return Err("--record is given twice: before the command, and behind it".to_owned()),
        (Some(path), None) => (path, first.record_force),
        (None, Some(path)) => (path, second.record_force),
    };
    let own = if matches!(command, Command::Serve(_)) { own_file(common) } else { named_file(common) };
    let settings = own.and_then(|own| SystemDisk.read(&own.path).ok());
    let trusted = common.trust.iter().filter_map(|folder| SystemDisk.canonicalize(folder).ok());
    let head = Head {
        recording: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        schema: protocol::schema_hash(),
        command: name.to_owned(),
        platform: format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH),
        ephemeral,
        trusted: trusted.map(|folder| folder.to_string_lossy().into_owned()).collect(),
        folders: Vec::new(),
        own_settings: settings.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok()),
    };
    let shown = path.display();
    let file = LineFile::make(path, force).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            let other = match SystemDisk.link_metadata(path).map(|found| found.kind) {
                Ok(FileKind::Link) => "a link",
                Ok(FileKind::Directory) => "a folder",
                Ok(FileKind::Other) => "no regular file",
                _ => return format!("{shown} is there already; --record-force records over it"),
            };
            format!("{shown} is {other}, which is not recorded over: name another file")
        }
        _ => format!("cannot record in {shown}: {error}"),
    })?;
    let recorder = Recorder::start(head, file, Arc::new(SystemClock), |why| complain(&why));
    recorder.map(Some).map_err(|error| format!("cannot record: {error}"))
}
