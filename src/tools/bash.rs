//! `bash`: runs a command line, with the output as it came, how it ended, and what else there is to know of it: which
//! unsaved text it did not see, which files that the model knows it changed.

mod likeness;
mod pump;
pub(super) mod shell;
mod unsaved;
mod watch;
mod words;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::outputs::{Gather, Gathered, NewOutput, classify};
use crate::process::{Command, Input};
use crate::tool::{Access, Capability, Content, Context, ErrorKind, Failed, Outcome, Tool, ToolError, Traits};

use pump::{Limits, Pumped, Stopped};
use shell::{Prepared, started};
use unsaved::Unseen;
use watch::{Changed, Watch};
use words::{Told, closing, how};

/// A command runs so long (ms), when the call does not say.
const TIMEOUT: u64 = 120_000;

/// A command that is waited for runs no longer than this (ms).
const LONGEST: u64 = 600_000;

/// A command that is stopped has so long to end by itself; then it is ended by force.
const GRACE: Duration = Duration::from_secs(2);

/// The same for one in the background: within the two seconds that a job has.
const JOB_GRACE: Duration = Duration::from_secs(1);

/// A job is named by its command up to so many characters.
const LABEL: usize = 60;

/// Runs a command line with bash and gives what it puts out (standard output and standard error in the order in which
/// they came) and its exit code. Nothing can be typed to it: its standard input is closed, unless `stdin` gives a text. It reads
/// and writes the disk, and does not see the unsaved text of open documents. When it ends, whatever it left running is
/// ended too; what is to go on is started with `background`. To read, search and change files use the tools for that.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The command line.
    #[schemars(example = &"cargo test --lib")]
    pub command: String,
    /// It is stopped after so many milliseconds; at most 600000. In the background only if this is given.
    #[schemars(example = 120_000)]
    pub timeout: Option<u64>,
    /// What it is for, in a few words, for the person who reads along.
    #[schemars(example = &"Run the unit tests")]
    pub description: Option<String>,
    /// The folder it runs in; else the first workspace folder.
    #[schemars(example = &"packages/app")]
    pub workdir: Option<String>,
    /// Start it and go on at once. Its end is told with a later result, and its output is kept.
    #[serde(default)]
    pub background: bool,
    /// What it reads from its standard input.
    pub stdin: Option<String>,
}

impl Arguments {
    /// The folder that is named, if one is.
    fn workdir(&self) -> Option<&str> {
        self.workdir.as_deref().filter(|named| !named.trim().is_empty())
    }
}

/// The tool.
pub struct Bash;

#[async_trait]
impl Tool for Bash {
    type Arguments = Arguments;

    const TRAITS: Traits<'static> = Traits {
        name: "bash",
        title: "Run a command",
        capabilities: &[Capability::ReadsFiles, Capability::WritesFiles, Capability::ExecutesCode],
        parallel: false,
        deferred: false,
        free_form: Some("command"),
        // Longer than any command, its end and what is looked at round it.
        deadline: Duration::from_secs(LONGEST / 1000 + 60),
        aliases: &[
            ("cmd", "command"),
            ("script", "command"),
            ("timeout_ms", "timeout"),
            ("cwd", "workdir"),
            ("working_directory", "workdir"),
            ("directory", "workdir"),
            ("run_in_background", "background"),
            ("is_background", "background"),
            ("input", "stdin"),
        ],
        names: &["shell", "exec_shell", "run_command", "execute_command", "terminal", "run_terminal_cmd"],
    };

    /// The time it takes to end a command by force, and to hear of it.
    const WINDS_DOWN: Duration = Duration::from_secs(5);

    fn access(&self, arguments: &Arguments) -> Access {
        Access {
            commands: vec![arguments.command.clone()],
            reads: arguments.workdir().map(str::to_owned).into_iter().collect(),
            ..Access::default()
        }
    }

    fn validate(&self, arguments: &Arguments) -> Result<(), ToolError> {
        match shell::fault(&arguments.command) {
            Some(fault) => Err(ToolError::new(ErrorKind::InvalidArguments, fault)),
            None => Ok(()),
        }
    }

    async fn run(&self, arguments: Arguments, context: &Context) -> Result<Outcome, ToolError> {
        let (command, mut told) = prepared(&arguments, context).await?;
        context.progress.report(None, arguments.description.as_deref());
        told.unseen = unsaved::before(context).await;
        if arguments.background {
            return in_background(&arguments, command, told, context).await;
        }
        let limit = limit(arguments.timeout);
        told.notes.extend(limit.1);
        let watch = Watch::begin(context).await;
        let running = started(&command, context)?;
        let progress = context.progress.clone();
        let limits = Limits { timeout: Some(Duration::from_millis(limit.0)), grace: GRACE, cancel: &context.cancel };
        let gather = Gather::new(context.spill.clone(), &context.session.id);
        let clock = &*context.workspace.ports.clock;
        let pumped = pump::pump(running, gather, limits, clock, |_, text| progress.output(text)).await?;
        told.changed = watch.end(context, &told.unseen).await;
        told.stopped = pumped.stopped.map(|stopped| (stopped, limit.0));
        told.alike = pumped.alike;
        ended(pumped, told).await
    }
}

/// The command as it is started, and what is to be told of that.
async fn prepared(arguments: &Arguments, context: &Context) -> Result<(Command, Told), ToolError> {
    let input = arguments.stdin.clone().map_or(Input::Closed, Input::Text);
    let Prepared { command, by_sh } = shell::prepared(&arguments.command, arguments.workdir(), input, context).await?;
    let notes = by_sh.then(|| shell::BY_SH.to_owned()).into_iter().collect();
    Ok((command, Told { notes, ..Told::default() }))
}

/// How long the command may run (ms), and what is told of that.
fn limit(asked: Option<u64>) -> (u64, Option<String>) {
    match asked {
        None => (TIMEOUT, None),
        Some(0) => (LONGEST, Some(format!("a timeout of 0 ms is none; the longest, {LONGEST} ms, was used"))),
        Some(asked) if asked > LONGEST => {
            (LONGEST, Some(format!("a timeout of {asked} ms is too long; the longest, {LONGEST} ms, was used")))
        }
        Some(asked) => (asked, None),
    }
}

/// What a command that has ended comes to.
async fn ended(pumped: Pumped, told: Told) -> Result<Outcome, ToolError> {
    let structured = data(&pumped, &told);
    let failed = failure(&pumped, &told).map(|kind| Failed { kind, data: Some(brief(&structured)) });
    let gathered = finished(pumped, &told).await?;
    let (content, long) = match gathered {
        Gathered::Text(text) => (vec![Content::text(text)], None),
        Gathered::Long(long) => (Vec::new(), Some(long)),
    };
    Ok(Outcome { content, structured: Some(structured), failed, long, ..Outcome::default() })
}

fn failure(pumped: &Pumped, told: &Told) -> Option<ErrorKind> {
    match told.stopped {
        Some((Stopped::Timeout, _)) => Some(ErrorKind::Timeout),
        Some((Stopped::Cancelled, _)) => Some(ErrorKind::Cancelled),
        None if pumped.ended.exit == crate::process::Exit::Code(0) => None,
        None => Some(ErrorKind::Failed),
    }
}

/// All of the output, with the words on how it ended below it.
async fn finished(pumped: Pumped, told: &Told) -> Result<Gathered, ToolError> {
    let mut gather = pumped.gather;
    let words = closing(&pumped.ended, told, gather.is_empty());
    if !gather.ends_line() {
        gather.push("\n");
    }
    gather.push(&words);
    let finish = tokio::task::spawn_blocking(move || gather.finish());
    finish.await.map_err(|error| pump::broke_down(&error))
}

/// How it ended, for front ends.
fn data(pumped: &Pumped, told: &Told) -> Value {
    let (code, signal) = words::code_and_signal(pumped.ended.exit);
    let shares = &pumped.shares;
    let stopped = told.stopped.map(|(stopped, _)| stopped);
    let changed = |changed: &Changed| json!({ "uri": changed.uri, "type": changed.kind });
    json!({
        "exitCode": code,
        "signal": signal,
        "timedOut": stopped == Some(Stopped::Timeout),
        "cancelled": stopped == Some(Stopped::Cancelled),
        "stdoutBytes": shares.bytes[0],
        "stderrBytes": shares.bytes[1],
        "stretches": shares.stretches.iter().map(|stretch| json!({
            "stream": if stretch.stream == 0 { "stdout" } else { "stderr" },
            "bytes": stretch.bytes,
        })).collect::<Vec<_>>(),
        "stretchesLeftOut": shares.left_out,
        "processesEnded": pumped.ended.left,
        "unsaved": told.unseen.uris(),
        "filesChanged": told.changed.iter().map(changed).collect::<Vec<_>>(),
    })
}

/// Of that, what is told of a failure.
fn brief(data: &Value) -> Value {
    json!({
        "exitCode": data["exitCode"],
        "signal": data["signal"],
        "timedOut": data["timedOut"],
        "cancelled": data["cancelled"],
    })
}

/// Starts the command as a job.
async fn in_background(
    arguments: &Arguments,
    command: Command,
    mut told: Told,
    context: &Context,
) -> Result<Outcome, ToolError> {
    let timeout = arguments.timeout.filter(|asked| *asked > 0).map(|asked| limit(Some(asked)));
    let timeout_ms = timeout.as_ref().map(|(ms, _)| *ms);
    told.notes.extend(timeout.and_then(|(_, note)| note));
    let watch = Watch::begin(context).await;
    let (running, folder) = (started(&command, context)?, command.launch.dir.clone());
    let label = words::label(arguments.description.as_deref().unwrap_or(&arguments.command), LABEL);
    let (line, call, context) = (arguments.command.clone(), Arc::clone(&context.call), context.clone());
    let (jobs, session, epoch) = (Arc::clone(&context.jobs), Arc::clone(&context.session), context.session.epoch());
    let mut begun = Told { notes: std::mem::take(&mut told.notes), unseen: told.unseen.clone(), ..Told::default() };
    let id = jobs.start(&session, &label, move |job| async move {
        if let Some(folder) = &folder {
            job.runs_in(folder, &context.footing);
        }
        let limits = Limits { timeout: timeout_ms.map(Duration::from_millis), grace: JOB_GRACE, cancel: &job.stop };
        let gather = Gather::new(context.spill.clone(), &context.session.id);
        let clock = &*context.workspace.ports.clock;
        let pumped = pump::pump(running, gather, limits, clock, |bytes, _| job.output(bytes)).await;
        let pumped = pumped.map_err(|error| error.message)?;
        // What it did not see was told when it began.
        let unseen = std::mem::take(&mut told.unseen);
        told.changed = watch.end(&context, &unseen).await;
        told.stopped = pumped.stopped.map(|stopped| (stopped, timeout_ms.unwrap_or_default()));
        told.alike = pumped.alike;
        let good = failure(&pumped, &told).is_none();
        let mut words = how(&pumped.ended, told.stopped);
        if let Some(changed) = words::changed(&told.changed) {
            words = format!("{words}; {changed}");
        }
        let gathered = finished(pumped, &told).await.map_err(|error| error.message)?;
        if context.session.epoch() == epoch {
            keep(gathered, &job.id(), &call, &line, &context);
            words = format!("{words}; its output is kept: id \"{}\"", job.id());
        } else {
            context.discard(gathered);
        }
        if good { Ok(words) } else { Err(words) }
    });
    begun.notes.insert(0, format!(
        "it runs in the background as job {id}; its end is told with a later result, and then the `output` tool shows what \
         it put out: id \"{id}\""
    ));
    let content = vec![Content::text(words::started(&begun))];
    let structured = json!({ "jobId": id, "unsaved": begun.unseen.uris() });
    Ok(Outcome { content, structured: Some(structured), ..Outcome::default() })
}

/// Keeps the output of a job under the job's name.
fn keep(gathered: Gathered, id: &str, call: &str, line: &str, context: &Context) {
    let new = NewOutput {
        id: id.to_owned(),
        call_id: call.to_owned(),
        tool: Bash::TRAITS.name.to_owned(),
        text: Arc::from(""),
        external: None,
        kind: Some(classify(line)),
    };
    context.keep(gathered, new);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_clamped_and_that_is_told() {
        for (asked, ms, told) in [
            (None, TIMEOUT, false),
            (Some(1), 1, false),
            (Some(LONGEST), LONGEST, false),
            (Some(LONGEST + 1), LONGEST, true),
            (Some(u64::MAX), LONGEST, true),
            (Some(0), LONGEST, true),
        ] {
            let (limit, note) = limit(asked);
            assert_eq!((limit, note.is_some()), (ms, told), "{asked:?}");
        }
    }

    #[test]
    fn what_is_no_command_line_is_refused() {
        let validate = |command: &str| {
            let arguments = serde_json::from_value(json!({ "command": command })).unwrap();
            Bash.validate(&arguments).map_err(|error| error.kind)
        };
        assert_eq!(validate("true"), Ok(()));
        for command in ["", " \n", "a\0b"] {
            assert_eq!(validate(command), Err(ErrorKind::InvalidArguments), "{command:?}");
        }
    }
}
