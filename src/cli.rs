//! The words of the command line, and the small commands.

pub(crate) mod call;
pub(crate) mod desk;
pub(crate) mod doctor;
pub(crate) mod fake_editor;
pub(crate) mod fake_server;
pub(crate) mod mcp;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod scenario;
pub(crate) mod show;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, Parser, Subcommand};
use etcetera::BaseStrategy as _;
use ropewalk::bridge;
use ropewalk::config::{OwnFile, Settings};
use ropewalk::dispatch::ListedTool;
use ropewalk::permissions::Rules;
use ropewalk::ports::{self, Disk as _, Ports, SystemDisk};
use ropewalk::recording::Recorder;
use ropewalk::server::{self, ServeOptions};
use serde_json::{Map, Value, json};
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;

use desk::{Desk, DeskError};
use record::Record;

/// A sidecar for editors: runs an AI agent's tool calls in unsaved buffers and brings the real diagnostics back.
#[derive(Debug, Parser)]
#[command(name = "ropewalk", version, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    /// What to do; without a word: serve.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// What holds for all commands.
    #[command(flatten)]
    pub(crate) common: Common,
    /// What is recorded, said before the command.
    #[command(flatten)]
    pub(crate) record: Record,
    /// Write the log to this file instead of standard error (what is logged: `RUST_LOG`, default `warn`).
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Taken for granted; accepted because editors like to pass it.
    #[arg(long, global = true, hide = true)]
    pub(crate) stdio: bool,
}

/// What holds for all commands.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// Trust this folder: commands may run in it, and language servers that run the project's code may start. Can be given
    /// more than once.
    #[arg(long, global = true, value_name = "FOLDER")]
    pub(crate) trust: Vec<PathBuf>,
    /// Keep state in memory only and pin what is otherwise learned (always so for `try` and `call`), and read no settings
    /// of your own but those of `--settings`, so that runs can be repeated.
    #[arg(long, global = true)]
    pub(crate) ephemeral: bool,
    /// Keep state in this folder instead of the system's place for it.
    #[arg(long, global = true, value_name = "FOLDER")]
    pub(crate) state: Option<PathBuf>,
    /// Read your own settings and the folders that you trust from this file, which has to be there, instead of
    /// `ropewalk/settings.json` in the system's place for settings (`doctor` tells where that is). `try`, `call`, `run` and
    /// `tools` read it only where it is named.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve an editor over standard input and output (the default).
    Serve(Record),
    /// See the main job done: an unsaved buffer is edited and its diagnostics come back.
    Try(show::Show),
    /// Run one tool call and print its result as JSON.
    ///
    /// Exit codes: 0 ok, 1 the tool failed, 2 usage, 3 denied or would ask, 6 conflict, 124 deadline, 130 cancelled.
    Call(call::Call),
    /// Play scripts of steps, an editor and a sidecar in one process, and say whether what they expect is so.
    ///
    /// Exit codes: 0 ok, 1 an expectation is not so, 2 usage or a script that cannot be read, 3 a call was asked about and
    /// nothing allowed it, 124 deadline, 130 interrupted.
    Run(run::Run),
    /// Serve the tools to a client of MCP over standard input and output: on the disk, or (`--connect`) in the editor.
    Mcp(mcp::Mcp),
    /// Play the editor's side of a recording against a sidecar, up to the first difference.
    ///
    /// Exit codes: 0 the same, 1 a difference, 2 it cannot be read or needs more than a replay does, 124 deadline, 130
    /// interrupted.
    Replay(replay::Replay),
    /// List the tools.
    Tools(Tools),
    /// Print the JSON Schemas of the protocol, and those of a line of a script and of the fake server's script.
    Schema,
    /// Tell which language servers are found, what is trusted, and how to get the rest; or what a folder could run.
    Doctor(doctor::Doctor),
    /// Play an editor that is driven by steps on standard input, with a sidecar as its child: for tests in any language.
    FakeEditor(fake_editor::FakeEditor),
    /// Play a language server that behaves, or misbehaves, as a script says: for tests of what talks to servers.
    FakeServer(fake_server::FakeServer),
}

/// `ropewalk tools`
#[derive(Debug, Clone, Args)]
pub(crate) struct Tools {
    /// As JSON, with the schemas.
    #[arg(long)]
    json: bool,
}

/// So many lines of the log wait to be written at most. The room for all of them is taken at the start: for as many as the
/// library's own limit that is more than everything else that an idle sidecar has.
const LOG_LINES: usize = 4_096;

/// Sends the log to a file, or to standard error, until the guard is dropped.
///
/// A thread of its own writes it, and lines that it cannot get rid of are dropped: nobody may be reading our standard
/// error, and neither a full pipe nor a closed one may stop or end us.
pub(crate) fn log_to(file: Option<&Path>) -> std::io::Result<WorkerGuard> {
    // What the library for MCP warns of is what the other side did, message by message; what matters of that we tell.
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn,rmcp=off"));
    let queue = NonBlockingBuilder::default().buffered_lines_limit(LOG_LINES);
    let (writer, guard) = match file {
        Some(file) => queue.finish(ports::append_to(file)?),
        None => queue.finish(std::io::stderr()),
    };
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(writer).init();
    Ok(guard)
}

/// The program that we are, also when the file was replaced or removed since we were started.
pub(crate) fn own_program() -> Option<PathBuf> {
    let link = Path::new("/proc/self/exe");
    if link.exists() { Some(link.to_owned()) } else { std::env::current_exe().ok() }
}

/// Says why on standard error.
pub(crate) fn fail(code: u8, why: &str) -> ExitCode {
    complain(why);
    ExitCode::from(code)
}

/// One line on standard error; a closed one is nobody's loss.
pub(crate) fn complain(why: &str) {
    let _ = writeln!(std::io::stderr().lock(), "ropewalk: {why}");
}

/// Whether something could not be said on standard output although there was a reader.
static UNSAID: AtomicBool = AtomicBool::new(false);

/// Text on standard output. A reader that went away is no failure; another one is told once, and [`said`] remembers it.
pub(crate) fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    drop(out);
    if let Err(error) = written {
        unsaid(&error);
    }
}

/// Notes that standard output could not be written.
pub(crate) fn unsaid(error: &std::io::Error) {
    if error.kind() != std::io::ErrorKind::BrokenPipe && !UNSAID.swap(true, Ordering::Relaxed) {
        complain(&format!("standard output cannot be written: {error}"));
    }
}

/// The exit code: that of the command, but 2 instead of 0 when not all of its output could be written.
pub(crate) fn said(code: u8) -> u8 {
    if code == 0 && UNSAID.load(Ordering::Relaxed) { 2 } else { code }
}

/// Waits until the process is told to end (SIGINT, SIGTERM, SIGHUP); gives the exit code that says so: 128 and the
/// signal's number. Signals are heard from this call on, also before anybody waits. Within a runtime.
pub(crate) fn told_to_end() -> impl Future<Output = u8> {
    use tokio::signal::unix::{Signal, SignalKind, signal};
    async fn next(signal: Option<Signal>) {
        match signal {
            Some(mut signal) => drop(signal.recv().await),
            None => std::future::pending().await,
        }
    }
    let [interrupt, terminate, hangup] =
        [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(|kind| signal(kind).ok());
    async move {
        tokio::select! {
            () = next(interrupt) => 130,
            () = next(terminate) => 143,
            () = next(hangup) => 129,
        }
    }
}

/// Serves an editor over standard input and output; the exit code.
pub(crate) async fn serve(common: &Common, recorder: Option<&Recorder>) -> u8 {
    let trusted = common.trust.iter().filter_map(|folder| SystemDisk.canonicalize(folder).ok()).collect();
    let options = ServeOptions {
        trusted,
        signals: true,
        repeatable: common.ephemeral,
        state_dir: state_dir(common),
        own_file: own_file(common),
        meeting: Some(bridge::own_folder()),
        ..ServeOptions::default()
    };
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    match recorder {
        Some(recorder) => {
            let (input, output) = recorder.tap(input, output);
            server::serve(input, output, Ports::system(), options).await
        }
        None => server::serve(input, output, Ports::system(), options).await,
    }
}

/// Where state is kept; nowhere when the run shall leave none.
pub(crate) fn state_dir(common: &Common) -> Option<PathBuf> {
    if common.ephemeral {
        return None;
    }
    if let Some(folder) = &common.state {
        // Where we are can change what a relative path means later.
        return Some(std::path::absolute(folder).unwrap_or_else(|_| folder.clone()));
    }
    let strategy = etcetera::choose_base_strategy().ok()?;
    // Where the system has no place for state (macOS), that for data is the custom.
    Some(strategy.state_dir().unwrap_or_else(|| strategy.data_dir()).join("ropewalk"))
}

/// The settings file that the person named, for runs that shall go the same way for everybody unless somebody wants to see
/// what their settings do.
pub(crate) fn named_file(common: &Common) -> Option<OwnFile> {
    let named = common.settings.as_ref()?;
    let path = std::path::absolute(named).unwrap_or_else(|_| named.clone());
    Some(OwnFile { path, named: true, home: etcetera::home_dir().ok() })
}

/// The settings that let what these rules name pass; the error says which of them cannot be read, and why.
pub(crate) fn allowing(rules: &[String]) -> Result<Map<String, Value>, String> {
    let settings = Map::from_iter([("permissions".to_owned(), json!({ "allow": rules }))]);
    let (read, remarks) = Settings::parse(&Value::Object(settings.clone()));
    let read = Rules::read(&read.permissions.allow, &[], &[]);
    let faults = read.faults().iter().map(|fault| format!("the rule {:?} cannot be read: {}", fault.rule, fault.why));
    let faults: Vec<String> = remarks.iter().map(|remark| remark.message.clone()).chain(faults).collect();
    if faults.is_empty() { Ok(settings) } else { Err(faults.join("; ")) }
}

/// The user's own settings file; none when the run shall not depend on it.
pub(crate) fn own_file(common: &Common) -> Option<OwnFile> {
    if common.settings.is_some() || common.ephemeral {
        return named_file(common);
    }
    let path = etcetera::choose_base_strategy().ok()?.config_dir().join("ropewalk/settings.json");
    Some(OwnFile { path, named: false, home: etcetera::home_dir().ok() })
}

/// Prints the table of tools.
pub(crate) async fn tools(common: &Common, tools: &Tools) -> u8 {
    let listed = async {
        let root = ports::current_dir().map_err(DeskError::Disk)?;
        let desk = Desk::start(&root, &common.trust, named_file(common), Map::new(), None).await?;
        let listed = desk.tools().await;
        desk.close().await;
        listed
    };
    let listed = match listed.await {
        Ok(listed) => listed,
        Err(error) => {
            complain(&error.to_string());
            return 1;
        }
    };
    if tools.json {
        say(&format!("{}\n", serde_json::to_string_pretty(&listed).unwrap_or_default()));
    } else {
        for tool in listed.tools {
            let ListedTool::Plain(tool) = tool else { continue };
            let first = tool.description.split(". ").next().unwrap_or_default().replace('\n', " ");
            say(&format!("{:<12} {}\n", tool.name, first.trim_end_matches('.')));
        }
    }
    0
}

/// Prints the JSON Schemas of the protocol, and those of a line of a script and of the fake server's script.
pub(crate) fn schema() -> u8 {
    let mut schemas = server::protocol::schemas();
    schemas["runLine"] = ropewalk::fake_editor::schema();
    schemas["fakeServerScript"] = ropewalk::fake_server::schema();
    say(&format!("{}\n", serde_json::to_string_pretty(&schemas).unwrap_or_default()));
    0
}
