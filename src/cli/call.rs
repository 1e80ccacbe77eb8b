//! `ropewalk call`: one tool call, its result as JSON on standard output, and an exit code that says how it ended.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ropewalk::dispatch::Status;
use ropewalk::ports::{self, Clock as _, SystemClock};
use ropewalk::recording::Recorder;
use ropewalk::tool::ErrorKind;
use serde_json::Value;

use super::desk::Desk;
use super::record::Record;
use super::{Common, allowing, complain, named_file, say, told_to_end};

/// `ropewalk call`
#[derive(Debug, Args)]
pub(crate) struct Call {
    /// The tool's name.
    tool: String,
    /// Its arguments: a JSON object.
    json: String,
    /// Open this file as a document first, as an editor would: the call then edits the buffer, not the file.
    #[arg(long, value_name = "FILE")]
    open: Vec<PathBuf>,
    /// The workspace folder; without it: the current directory.
    #[arg(long, value_name = "FOLDER")]
    root: Option<PathBuf>,
    /// Let pass what this permission rule names, as in settings, for example `bash(touch x)`. Can be given more than once;
    /// what nobody allowed is denied, for there is nobody to ask.
    #[arg(long, value_name = "RULE")]
    allow: Vec<String>,
    /// Cancel the call after this many milliseconds.
    #[arg(long, value_name = "MS")]
    deadline: Option<u64>,
    /// What is recorded.
    #[command(flatten)]
    pub(super) record: Record,
}

/// Exit codes of `call`.
mod code {
    pub(super) const OK: u8 = 0;
    pub(super) const FAILED: u8 = 1;
    pub(super) const USAGE: u8 = 2;
    pub(super) const DENIED: u8 = 3;
    pub(super) const CONFLICT: u8 = 6;
    pub(super) const DEADLINE: u8 = 124;
    pub(super) const CANCELLED: u8 = 130;
}

/// Runs the call.
pub(crate) async fn run(common: &Common, call: Call, recorder: Option<&Recorder>) -> u8 {
    // What is not JSON goes on as it is: dispatch mends what can be mended and says what cannot.
    let arguments: Value = serde_json::from_str(&call.json).unwrap_or(Value::String(call.json.clone()));
    let root = match call.root.clone().map_or_else(ports::current_dir, Ok) {
        Ok(root) => root,
        Err(error) => {
            complain(&format!("no current directory: {error}"));
            return code::USAGE;
        }
    };
    let settings = match allowing(&call.allow) {
        Ok(settings) => settings,
        Err(why) => {
            complain(&why);
            return code::USAGE;
        }
    };
    let desk = match Desk::start(&root, &common.trust, named_file(common), settings, recorder).await {
        Ok(desk) => desk,
        Err(error) => {
            complain(&error.to_string());
            return code::FAILED;
        }
    };
    for file in &call.open {
        if let Err(error) = desk.open_file(&root.join(file)) {
            complain(&format!("cannot open {}: {error}", file.display()));
            desk.close().await;
            return code::USAGE;
        }
    }
    let deadline = async {
        match call.deadline {
            Some(ms) => SystemClock.sleep(Duration::from_millis(ms)).await,
            None => std::future::pending().await,
        }
    };
    let (result, cut) = {
        let running = desk.call(&call.tool, arguments);
        tokio::pin!(running);
        tokio::select! {
            result = &mut running => (result, None),
            () = deadline => {
                desk.cancel_all();
                (running.await, Some(code::DEADLINE))
            }
            signalled = told_to_end() => {
                desk.cancel_all();
                (running.await, Some(signalled))
            }
        }
    };
    let exit = match result {
        Ok(result) => {
            let text = serde_json::to_string_pretty(&result).unwrap_or_default();
            say(&format!("{text}\n"));
            exit_code(result.status, result.error.as_ref().map(|error| error.kind), cut)
        }
        Err(error) => {
            complain(&error.to_string());
            code::FAILED
        }
    };
    desk.close().await;
    exit
}

/// The exit code of a result. `cut`: why we cancelled the call, if we did; a call that ended well all the same is well.
fn exit_code(status: Status, error: Option<ErrorKind>, cut: Option<u8>) -> u8 {
    match (status, error) {
        (Status::Ok, _) => code::OK,
        (Status::Denied, _) | (_, Some(ErrorKind::Denied)) => code::DENIED,
        (Status::Cancelled, _) | (_, Some(ErrorKind::Cancelled)) => cut.unwrap_or(code::CANCELLED),
        (_, Some(ErrorKind::Conflict | ErrorKind::Stale | ErrorKind::Unknown)) => code::CONFLICT,
        (_, Some(ErrorKind::Timeout)) => code::DEADLINE,
        (_, Some(ErrorKind::UnknownTool | ErrorKind::InvalidArguments)) => code::USAGE,
        (Status::Error | Status::Superseded, _) => code::FAILED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes() {
        fn check(status: Status, error: Option<ErrorKind>, cut: Option<u8>, expected: u8) {
            assert_eq!(exit_code(status, error, cut), expected, "{status:?} {error:?} {cut:?}");
        }
        check(Status::Ok, None, None, 0);
        // The edit had landed when the deadline came: only its wait for diagnostics was cut short.
        check(Status::Ok, None, Some(code::DEADLINE), 0);
        check(Status::Error, Some(ErrorKind::NotFound), None, 1);
        check(Status::Error, Some(ErrorKind::Ambiguous), None, 1);
        check(Status::Error, Some(ErrorKind::UnknownTool), None, 2);
        check(Status::Error, Some(ErrorKind::InvalidArguments), None, 2);
        check(Status::Denied, Some(ErrorKind::Denied), None, 3);
        check(Status::Error, Some(ErrorKind::Conflict), None, 6);
        check(Status::Error, Some(ErrorKind::Stale), None, 6);
        check(Status::Error, Some(ErrorKind::Timeout), None, 124);
        check(Status::Cancelled, Some(ErrorKind::Cancelled), None, 130);
        check(Status::Cancelled, Some(ErrorKind::Cancelled), Some(code::DEADLINE), 124);
        check(Status::Cancelled, Some(ErrorKind::Cancelled), Some(code::CANCELLED), 130);
    }
}
