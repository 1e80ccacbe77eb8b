//! `monitor`: runs commands in the background, follows what they print, writes to them and stops them.

mod tend;
mod words;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;

use super::bash::shell;
use crate::editor::JobState;
use crate::jobs::{MonitorInfo, New, Note, Wanted};
use crate::process::Input;
use crate::tool::{Access, Capability, Content, Context, ErrorKind, Outcome, Tool, ToolError, Traits};

/// So many may run in a session.
const RUNNING: usize = 5;

/// A command runs so long (ms) when the call does not say.
const TIMEOUT: u64 = 300_000;

/// And at most so long (ms), unless it is to run until it is stopped.
const LONGEST_TIMEOUT: u64 = 1_800_000;

/// A read waits at most so long (ms).
const LONGEST_WAIT: u64 = 300_000;

/// So many lines, when the call does not say.
const LIMIT: usize = 200;

/// Of the budget, one part in so many is left for what else the result has to tell.
const LEFT: usize = 10;

/// So long a write waits for the command to take it; then the text is taken whenever the command reads.
const TAKEN: Duration = Duration::from_secs(1);

/// A command that was told to stop is waited for so much longer than it has before it is ended by force.
const AFTER_FORCE: Duration = Duration::from_secs(2);

/// Runs a command in the background and follows it: a development server, a watcher, a long build, an interpreter. `start`
/// answers at once with the monitor's id. Lines it prints come by themselves with your next results, marked `|` (standard
/// output) or `!` (standard error); `read` shows more of them, or waits for one; `write` sends text to its input; `stop`
/// ends it with all that it started; `list` shows all monitors. It goes on when the turn ends, and ends with the session.
/// For a command whose end you want to wait for, use `bash`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// What to do.
    #[serde(default)]
    pub action: Action,
    /// start: the command line, as a shell takes it.
    #[schemars(example = &"npm run dev")]
    pub command: Option<String>,
    /// start: what it is, in a few words, for the person. By default the beginning of the command.
    pub description: Option<String>,
    /// start: the folder it runs in. By default the workspace folder.
    pub workdir: Option<String>,
    /// start: it is stopped after so many ms: 300000 by default, at most 1800000; 0: it runs until it is stopped.
    pub timeout: Option<u64>,
    /// read, write, stop: the monitor, as `start` named it.
    #[schemars(example = &"j1")]
    pub id: Option<String>,
    /// read: the number of the first line, 0 for the first of all. By default the first that you were not shown yet.
    pub since: Option<u64>,
    /// read: at most so many lines.
    #[serde(default = "limit")]
    #[schemars(range(min = 1))]
    pub limit: usize,
    /// read: only lines that match this regular expression, each with its number.
    #[schemars(example = &"listening on|error")]
    pub pattern: Option<String>,
    /// read: if there is no such line yet, wait for one so many ms at most (300000 at the longest), or until it ends.
    #[serde(default)]
    pub wait: u64,
    /// write: the text for its standard input.
    pub text: Option<String>,
    /// write: end the text with a line end if it has none. false: send it exactly as it is.
    #[serde(default = "newline")]
    pub newline: bool,
    /// write: close its standard input, behind the text.
    #[serde(default)]
    pub close_stdin: bool,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Action {
    /// Run a command.
    #[default]
    Start,
    /// Show lines that it printed.
    Read,
    /// Write to its standard input.
    Write,
    /// End it.
    Stop,
    /// Show all monitors.
    List,
}

fn limit() -> usize {
    LIMIT
}

fn newline() -> bool {
    true
}

/// The tool.
pub struct Monitor;

#[async_trait]
impl Tool for Monitor {
    type Arguments = Arguments;

    const TRAITS: Traits<'static> = Traits {
        name: "monitor",
        title: "Follow a command in the background",
        capabilities: &[Capability::ExecutesCode],
        parallel: false,
        deferred: false,
        // What is no JSON is not run: it may have been meant for a monitor that runs already.
        free_form: None,
        deadline: Duration::from_millis(LONGEST_WAIT + 30_000),
        aliases: &[
            ("monitor_id", "id"),
            ("job_id", "id"),
            ("job", "id"),
            ("cmd", "command"),
            ("cwd", "workdir"),
            ("directory", "workdir"),
            ("timeout_ms", "timeout"),
            ("cursor", "since"),
            ("filter", "pattern"),
            ("max_lines", "limit"),
            ("wait_ms", "wait"),
            ("input", "text"),
            ("stdin", "text"),
            ("close", "close_stdin"),
        ],
        names: &[],
    };

    /// A text that is written to a command may be run by it, as a shell does: it is looked at as a command line, and what
    /// forbids that forbids this. But what is harmless as a command line need not be as an answer to a question or in
    /// another language; so the command that reads it is named besides, as nothing that any table knows, and a person is
    /// asked about each text for each monitor. To read, to list and to stop reach nothing but what the session has begun.
    fn access(&self, arguments: &Arguments) -> Access {
        let commands = match arguments.action {
            Action::Start => arguments.command.iter().cloned().collect(),
            Action::Write => match arguments.written() {
                Some(text) if !text.is_empty() => {
                    vec![text, format!("input-of-monitor {}", arguments.id())]
                }
                _ => Vec::new(),
            },
            Action::Read | Action::Stop | Action::List => Vec::new(),
        };
        let workdir = arguments.workdir.as_deref().filter(|_| arguments.action == Action::Start);
        Access { reads: super::searched(workdir), commands, ..Access::default() }
    }

    fn validate(&self, arguments: &Arguments) -> Result<(), ToolError> {
        let given = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.trim().is_empty());
        let (command, id) = (given(&arguments.command), given(&arguments.id));
        match arguments.action {
            Action::Start if !command && id => Err(unfit(format!(
                "There is an `id` ({}) and no `command`, and the action is \"start\". Say what to do with it: action \"read\", \
                 \"write\" or \"stop\"; or give the command to start.",
                arguments.id()
            ))),
            Action::Start if !command => {
                Err(unfit("`command` is missing; give the command line to run, for example \"npm run dev\"."))
            }
            Action::Start => {
                arguments.command.as_deref().and_then(shell::fault).map_or(Ok(()), |fault| Err(unfit(fault)))
            }
            Action::Read | Action::Write | Action::Stop if !id => {
                Err(unfit("`id` is missing; give the id of a monitor, as `start` named it, for example \"j1\"."))
            }
            Action::Write if arguments.text.is_none() && !arguments.close_stdin => {
                Err(unfit("There is nothing to write: give `text`, or `close_stdin` true to end its input."))
            }
            Action::Read => arguments.regex().map(drop),
            Action::Write | Action::Stop | Action::List => Ok(()),
        }
    }

    async fn run(&self, arguments: Arguments, context: &Context) -> Result<Outcome, ToolError> {
        match arguments.action {
            Action::Start => start(&arguments, context).await,
            Action::Read => read(&arguments, context).await,
            Action::Write => write(&arguments, context).await,
            Action::Stop => stop(&arguments, context).await,
            Action::List => {
                let monitors = context.jobs.monitors(&context.session.id);
                Ok(said(words::list(&monitors), words::listed(&monitors)))
            }
        }
    }
}

impl Arguments {
    fn id(&self) -> &str {
        self.id.as_deref().unwrap_or_default().trim()
    }

    /// What is written, to the byte.
    fn written(&self) -> Option<String> {
        let mut text = self.text.clone()?;
        if self.newline && !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        Some(text)
    }

    fn regex(&self) -> Result<Option<Regex>, ToolError> {
        let Some(pattern) = self.pattern.as_deref().filter(|pattern| !pattern.is_empty()) else { return Ok(None) };
        let built = RegexBuilder::new(pattern).size_limit(1 << 20).build();
        built.map(Some).map_err(|error| {
            unfit(format!(
                "`pattern` is no regular expression: {error}. Mend it, or put \\ before what is meant literally."
            ))
        })
    }

    /// How long the command may run; `None`: until it is stopped. And what was not as it was asked for, in words.
    fn timeout(&self) -> (Option<u64>, Option<String>) {
        match self.timeout.unwrap_or(TIMEOUT) {
            0 => (None, None),
            asked if asked > LONGEST_TIMEOUT => (
                Some(LONGEST_TIMEOUT),
                Some(format!(
                    "A timeout of {asked} ms was asked for; the longest is {LONGEST_TIMEOUT}, and it has that."
                )),
            ),
            asked => (Some(asked), None),
        }
    }

    fn wanted(&self, budget: usize) -> Result<Wanted, ToolError> {
        let (since, limit, bytes) = (self.since, self.limit, budget - budget / LEFT);
        Ok(Wanted { since, limit, bytes, pattern: self.regex()? })
    }
}

async fn start(arguments: &Arguments, context: &Context) -> Result<Outcome, ToolError> {
    let session = &context.session;
    let full = |running: &[MonitorInfo]| {
        let message = format!(
            "{} monitors run in this session, and no more than {RUNNING} may: {}. Nothing was started; stop one of them first.",
            running.len(),
            words::names(running)
        );
        ToolError::new(ErrorKind::Unavailable, message)
    };
    let mut running = context.jobs.monitors(&session.id);
    running.retain(|monitor| monitor.job.state == JobState::Running);
    if running.len() >= RUNNING {
        return Err(full(&running));
    }
    let line = arguments.command.clone().unwrap_or_default();
    let prepared = shell::prepared(&line, arguments.workdir.as_deref(), Input::Open, context).await?;
    let label = words::label(arguments.description.as_deref(), &line);
    let (folder, footing) = (prepared.command.launch.dir.clone(), context.footing.clone());
    let command = shell::started(&prepared.command, context)?;
    let (timeout, remark) = arguments.timeout();
    let clock = Arc::clone(&context.workspace.ports.clock);
    // It ends by force in time before its job is given up.
    let new = New { label: &label, limit: RUNNING, grace: tend::GRACE + AFTER_FORCE };
    let started = context.jobs.monitor(session, new, move |job, notes| {
        if let Some(folder) = &folder {
            job.runs_in(folder, &footing);
        }
        tend::tend(job, command, notes, timeout.map(Duration::from_millis), clock)
    });
    // What began beside this call took the last place: the command is ended as it is dropped.
    let id = started.map_err(|running| full(&running))?;
    let until = match timeout {
        Some(timeout) => format!("It is stopped after {timeout} ms."),
        None => "It runs until it is stopped.".to_owned(),
    };
    let by_sh = prepared.by_sh.then(|| "There is no bash here; sh runs it.".to_owned());
    let remark = [remark, by_sh].into_iter().flatten().fold(String::new(), |all, remark| all + "\n" + &remark);
    let told = format!("Started monitor {id} ({label}). {until} What it prints comes with your next results.{remark}");
    Ok(said(told, json!({ "id": id, "label": label, "state": JobState::Running, "timeoutMs": timeout })))
}

async fn read(arguments: &Arguments, context: &Context) -> Result<Outcome, ToolError> {
    let (id, wanted) = (arguments.id(), arguments.wanted(context.budget)?);
    let wait = Duration::from_millis(arguments.wait.min(LONGEST_WAIT));
    let reading = context.jobs.read(&context.session.id, id, &wanted, wait).await;
    let reading = reading.ok_or_else(|| unknown(id, context))?;
    let mut told = words::read(&reading, wanted.pattern.is_some());
    if arguments.wait > LONGEST_WAIT {
        let _ = write!(told, "\n(A wait of {} ms was asked for; the longest is {LONGEST_WAIT}.)", arguments.wait);
    }
    Ok(said(told, words::data(&reading)))
}

async fn write(arguments: &Arguments, context: &Context) -> Result<Outcome, ToolError> {
    let (id, session) = (arguments.id(), &context.session.id);
    let text = arguments.written().unwrap_or_default();
    let Some(input) = context.jobs.input(session, id) else {
        let monitors = context.jobs.monitors(session);
        let ended = monitors.iter().find(|monitor| monitor.job.id == id).ok_or_else(|| unknown(id, context))?;
        let message = format!(
            "Monitor {id} ({}) {}; nothing can be written to it any more. Start it again if you need it.",
            ended.job.label,
            words::state(&ended.job)
        );
        return Err(ToolError::new(ErrorKind::Unavailable, message));
    };
    let closed = || {
        let message = format!("Monitor {id} reads no input any more: it was closed. Nothing was written.");
        ToolError::new(ErrorKind::Unavailable, message)
    };
    let (taken, heard) = oneshot::channel();
    let bytes = text.len();
    input.try_send(Note { text, close: arguments.close_stdin, taken }).map_err(|error| match error {
        TrySendError::Closed(_) => closed(),
        TrySendError::Full(_) => ToolError::new(
            ErrorKind::Unavailable,
            format!("Monitor {id} has not read what was written to it before; nothing was written. `read` shows what it does."),
        ),
    })?;
    let clock = &context.workspace.ports.clock;
    let taken = tokio::select! {
        biased;
        taken = heard => Some(taken),
        () = clock.sleep(TAKEN) => None,
    };
    let closes = if arguments.close_stdin { " Its input is closed." } else { "" };
    let told = match taken {
        Some(Ok(Ok(()))) => format!("Wrote {bytes} bytes to monitor {id}.{closes}"),
        Some(Ok(Err(error))) => {
            let message =
                format!("Monitor {id} could not be written to: {error}. It may have read only a part, or nothing.");
            return Err(ToolError::new(ErrorKind::Failed, message));
        }
        Some(Err(_)) => {
            let message = format!(
                "Monitor {id} ended, or its input was closed, before it had taken the text. It may have read only a part, or \
                 nothing."
            );
            return Err(ToolError::new(ErrorKind::Unavailable, message));
        }
        None => format!("Monitor {id} has not read all of the {bytes} bytes yet; it gets them when it does.{closes}"),
    };
    Ok(said(told, json!({ "id": id, "bytes": bytes, "taken": taken.is_some() })))
}

async fn stop(arguments: &Arguments, context: &Context) -> Result<Outcome, ToolError> {
    let (id, session, jobs) = (arguments.id(), &context.session.id, &context.jobs);
    let told_now = jobs.stop(session, id).ok_or_else(|| unknown(id, context))?;
    if jobs.over(session, id, tend::GRACE + AFTER_FORCE * 2).await.is_none() {
        // A job of another kind, which has no lines.
        let told = if told_now { "was told to stop" } else { "had ended already, or was told to stop before" };
        return Ok(said(format!("Job {id} {told}."), json!({ "id": id })));
    }
    let wanted = Wanted { pattern: None, ..arguments.wanted(context.budget)? };
    let reading = jobs.read(session, id, &wanted, Duration::ZERO).await.ok_or_else(|| unknown(id, context))?;
    Ok(said(words::read(&reading, false), words::data(&reading)))
}

fn unknown(id: &str, context: &Context) -> ToolError {
    let monitors = context.jobs.monitors(&context.session.id);
    let known = if monitors.is_empty() {
        "there are none in this session; `start` begins one".to_owned()
    } else {
        format!("there are {}", words::names(&monitors))
    };
    ToolError::new(ErrorKind::NotFound, format!("There is no monitor {id:?}; {known}."))
}

fn unfit(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::InvalidArguments, message)
}

fn said(text: String, structured: serde_json::Value) -> Outcome {
    Outcome { content: vec![Content::text(text)], structured: Some(structured), ..Outcome::default() }
}

#[cfg(test)]
mod tests;
