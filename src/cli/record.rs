//! `--record FILE`: what is recorded of a run, and where.

use std::sync::Arc;

use ropewalk::ports::{Disk as _, LineFile, SystemClock, SystemDisk};
use ropewalk::recording::{FORMAT, Head, Recorder};
use ropewalk::server::protocol;
use serde_json::Value;

use super::{Command, Common, complain, named_file, own_file};

/// Starts recording, if that is asked for. An error is told to the person: then nothing runs.
pub(crate) fn start(common: &Common, command: &Command) -> Result<Option<Recorder>, String> {
    let Some(path) = &common.record else { return Ok(None) };
    let (name, ephemeral) = match command {
        Command::Serve => ("serve", common.ephemeral),
        Command::Try(_) => ("try", true),
        Command::Call(_) => ("call", true),
        _ => return Err("--record is for serve, try and call".to_owned()),
    };
    let own = if matches!(command, Command::Serve) { own_file(common) } else { named_file(common) };
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
    let file = LineFile::make(path, common.record_force).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => format!("{shown} is there already; --record-force records over it"),
        _ => format!("cannot record in {shown}: {error}"),
    })?;
    let recorder = Recorder::start(head, file, Arc::new(SystemClock), |why| complain(&why));
    recorder.map(Some).map_err(|error| format!("cannot record: {error}"))
}
