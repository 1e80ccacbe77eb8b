//! Agents that are commands: what has to be so before one is started, its command line, and following it to its end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use regex::{Regex, RegexBuilder};

use super::fill::{self, Fillings};
use super::run::{End, broke_down, tail};
use crate::config::{AgentSettings, Mode};
use crate::jobs;
use crate::outputs::{Decoder, Gather, Plain};
use crate::permissions::Footing;
use crate::ports::Clock;
use crate::process::{self, Command, Confine, Exit, Input, Launch, Running, Stream};
use crate::sessions::agents::{AgentState, KEPT_BYTES};
use crate::tool::{Context, ErrorKind, Invitation, Progress, SOCKET_VARIABLE, TOKEN_VARIABLE, ToolError};

/// Told to stop, a command has so long before it is ended by force.
const GRACE: Duration = Duration::from_secs(1);

/// Its name of the conversation is looked for in so many first bytes of each of its streams.
const SEARCHED: usize = 128 * 1024;

/// Of its error stream, so many last bytes are told where it failed.
const COMPLAINT: usize = 4 * 1024;

/// A command that may be started, as far as can be said before.
#[derive(Debug)]
pub(super) struct Checked {
    pub settings: AgentSettings,
    program: PathBuf,
    /// The program to go on with a conversation, if there is one.
    resuming: Option<PathBuf>,
    folder: PathBuf,
    /// The trust in it that it is started on.
    pub footing: Footing,
    thread: Option<Regex>,
    confine: Option<Confine>,
}

/// Looks whether an agent may be started here. Errors are for the model.
pub(super) fn checked(name: &str, settings: &AgentSettings, context: &Context) -> Result<Checked, ToolError> {
    let refused = |words: String| Err(ToolError::new(ErrorKind::Denied, words));
    let missing = |words: String| ToolError::new(ErrorKind::Unavailable, words);
    let session = &context.session;
    let roots = match session.wanted() {
        wanted if wanted.asked.roots.is_some() => wanted.folders.into_iter().flatten().map(PathBuf::from).collect(),
        _ => context.workspace.roots().folders,
    };
    let Some(folder) = roots.first().cloned() else {
        return Err(missing(format!(
            "No workspace folder is open, and agent \"{name}\" runs in one. Nothing was started."
        )));
    };
    let now = context.trust.now();
    if !now.covers(&folder) {
        return refused(format!(
            "Agent \"{name}\" is a command, and nothing is run in {}, which is not trusted. Nothing was started; the user can \
             trust the folder in the editor.",
            folder.display()
        ));
    }
    let all = context.workspace.settings();
    let mode = session.mode(&all);
    if matches!(mode, Mode::Plan | Mode::Explore) && !settings.read_only {
        return refused(format!(
            "The session is in {} mode, and agent \"{name}\" is a command that may change files by itself. Nothing was started; \
             look yourself, or use an agent that only reads (its setting `readOnly`).",
            mode.name()
        ));
    }
    if context.workspace.proposes() && !settings.read_only {
        return refused(format!(
            "Changes are only proposed here, and agent \"{name}\" is a command that may change files by itself. Nothing was \
             started; do it yourself, or use an agent that by itself only reads (its setting `readOnly`)."
        ));
    }
    let Some(asked) = settings.command.first().filter(|program| !program.is_empty()) else {
        return Err(missing(format!("The setting `agents.{name}.command` is empty: there is nothing to start.")));
    };
    let program = context.programs.find(asked, &[]).ok_or_else(|| {
        missing(format!(
            "Agent \"{name}\" was not started: there is no program `{asked}` on the PATH (in its absolute folders). Tell the user."
        ))
    })?;
    let resuming = settings.resume_command.first().and_then(|asked| context.programs.find(asked, &[]));
    let build = |pattern: &String| RegexBuilder::new(pattern).size_limit(1 << 20).build();
    let thread = settings.thread_pattern.as_ref().map(build).transpose().map_err(|error| {
        missing(format!(
            "The setting `agents.{name}.threadPattern` is no regular expression: {error}. Nothing was started."
        ))
    })?;
    let confine = all.bash.sandbox.then(|| {
        let mut confine = Confine::around(&roots);
        confine.writable.extend(settings.writable.iter().map(PathBuf::from).filter(|path| path.is_absolute()));
        confine
    });
    let footing = Footing::on(&context.trust, &now, [folder.as_path()]);
    Ok(Checked { settings: settings.clone(), program, resuming, folder, footing, thread, confine })
}

/// What one run of an agent is about.
pub(super) struct Task<'a> {
    pub prompt: &'a str,
    /// Its own name of the conversation that it is to go on with.
    pub thread: Option<&'a str>,
    /// Its session here.
    pub session: &'a str,
    pub invitation: Option<&'a Invitation>,
    /// The program that serves our tools.
    pub program: Option<&'a Path>,
}

impl Checked {
    /// The folder it runs in.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether it can go on with its conversation itself.
    pub(super) fn goes_on(&self, thread: Option<&str>) -> bool {
        let resume = &self.settings.resume_command;
        self.resuming.is_some() && (thread.is_some() || !resume.iter().any(|argument| argument.contains("{thread}")))
    }

    /// The command; `resumes`: the one to go on with.
    pub(super) fn command(&self, task: &Task<'_>, resumes: bool) -> Command {
        let text = |path: Option<&Path>| path.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
        let (folder, program) = (text(Some(&self.folder)), text(task.program));
        let socket = text(task.invitation.map(|invitation| invitation.socket.as_path()));
        let fillings = Fillings::from([
            ("prompt", task.prompt),
            ("thread", task.thread.unwrap_or_default()),
            ("session", task.session),
            ("workspace", folder.as_str()),
            ("mcp", program.as_str()),
            ("socket", socket.as_str()),
        ]);
        let settings = &self.settings;
        let resuming = self.resuming.as_ref().filter(|_| resumes);
        let line = if resuming.is_some() { &settings.resume_command } else { &settings.command };
        let (args, input) = fill::arguments(settings, line, &fillings);
        let mut env: BTreeMap<String, String> =
            settings.env.iter().map(|(name, value)| (name.clone(), fill::filled(value, &fillings))).collect();
        if let Some(Invitation { token, .. }) = task.invitation {
            env.insert(SOCKET_VARIABLE.to_owned(), socket.clone());
            env.insert(TOKEN_VARIABLE.to_owned(), token.clone());
        }
        Command {
            launch: Launch {
                program: resuming.unwrap_or(&self.program).clone(),
                args,
                dir: Some(self.folder.clone()),
                env,
            },
            input: input.map_or(Input::Closed, Input::Text),
            keep: settings.keep_environment.clone(),
            confine: self.confine.clone(),
        }
    }
}

/// Starts it.
pub(super) fn started(name: &str, command: &Command, context: &Context) -> Result<Running, ToolError> {
    context.programs.command(command).map_err(|error| {
        let program = command.launch.program.display();
        let kind = match error.kind() {
            std::io::ErrorKind::Unsupported | std::io::ErrorKind::NotFound => ErrorKind::Unavailable,
            _ => ErrorKind::Failed,
        };
        ToolError::new(kind, format!("Agent \"{name}\" was not started: {program} could not be run: {error}."))
    })
}

/// What has come of a command so far.
struct Heard {
    decoders: [Decoder; 2],
    plain: Plain,
    gather: Gather,
    /// The beginnings of both streams, in which the name of the conversation is looked for.
    heads: [String; 2],
    /// Their ends.
    tails: [String; 2],
}

impl Heard {
    fn text(&mut self, stream: usize, text: &str) {
        let (gather, tails) = (&mut self.gather, &mut self.tails);
        self.plain.push(stream, text, &mut |stream, text| take(gather, tails, stream, text));
    }

    fn finish(&mut self) {
        for stream in 0..2 {
            let rest = self.decoders[stream].finish();
            self.text(stream, rest);
        }
        let (gather, tails) = (&mut self.gather, &mut self.tails);
        self.plain.finish(&mut |stream, text| take(gather, tails, stream, text));
    }
}

/// What it says is its standard output; the rest is for people, unless it fails.
fn take(gather: &mut Gather, tails: &mut [String; 2], stream: usize, text: &str) {
    if stream == 0 {
        gather.push(text);
    }
    let most = if stream == 0 { KEPT_BYTES } else { COMPLAINT };
    tails[stream].push_str(text);
    if tails[stream].len() > 2 * most {
        let cut = tails[stream].len() - tail(&tails[stream], most).len();
        tails[stream].drain(..cut);
    }
}

/// Follows a command to its end.
pub(super) async fn follow(
    running: Running,
    checked: &Checked,
    job: &jobs::Running,
    progress: Option<&Progress>,
    gather: Gather,
    clock: &dyn Clock,
) -> End {
    let Running { mut output, process, .. } = running;
    let mut heard = Heard {
        decoders: Default::default(),
        plain: Plain::default(),
        gather,
        heads: Default::default(),
        tails: Default::default(),
    };
    let timeout = Duration::from_millis(checked.settings.timeout_ms).min(super::LONGEST);
    let (mut overdue, mut ending) = (pin!(clock.sleep(timeout)), pin!(process.ended()));
    let (mut printing, mut stopped, mut late, mut ended) = (true, false, false, None);
    while printing || ended.is_none() {
        tokio::select! {
            piece = output.recv(), if printing => {
                let Some(piece) = piece else {
                    printing = false;
                    continue;
                };
                job.output(&piece.bytes);
                let stream = usize::from(piece.stream == Stream::Err);
                let text = heard.decoders[stream].push(&piece.bytes);
                if let Some(progress) = progress.filter(|_| stream == 0) {
                    progress.output(&text);
                }
                let room = SEARCHED.saturating_sub(heard.heads[stream].len());
                heard.heads[stream].push_str(head(&text, room));
                heard.text(stream, &text);
                match heard.gather.written().await {
                    Ok(gather) => heard.gather = gather,
                    Err(error) => return broke_down(&error),
                }
            }
            end = &mut ending, if ended.is_none() => ended = Some(end),
            () = job.stop.cancelled(), if !stopped => {
                stopped = true;
                process.stop(GRACE);
            }
            () = &mut overdue, if !late => {
                late = true;
                process.stop(GRACE);
            }
        }
    }
    heard.finish();
    let exit = ended.map_or(Exit::Unknown, |ended: process::Ended| ended.exit);
    let (state, detail) = told(exit, stopped, late.then_some(timeout));
    let thread = checked.thread.as_ref().and_then(|pattern| found(pattern, &heard.heads));
    let Heard { mut gather, tails: [said, complaint], .. } = heard;
    let complaint = tail(&complaint, COMPLAINT).trim();
    if state != AgentState::Ended && !complaint.is_empty() {
        if !gather.ends_line() {
            gather.push("\n");
        }
        gather.push(complaint);
        gather.push("\n");
    }
    End::of(state, detail, &said, thread, gather).await
}

fn head(text: &str, room: usize) -> &str {
    let mut at = room.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    &text[..at]
}

/// Its own name of the conversation, in what it printed.
fn found(pattern: &Regex, heads: &[String; 2]) -> Option<String> {
    let in_text = |text: &String| {
        let found = pattern.captures(text)?;
        fill::thread(found.get(1).or_else(|| found.get(0))?.as_str())
    };
    heads.iter().find_map(in_text)
}

/// How it ended; `late`: its time, where that was over.
fn told(exit: Exit, stopped: bool, late: Option<Duration>) -> (AgentState, String) {
    match (exit, late) {
        _ if stopped => (AgentState::Stopped, "it was stopped".to_owned()),
        (_, Some(time)) => {
            (AgentState::Failed, format!("its time ({} ms) was over, and it was stopped", time.as_millis()))
        }
        (Exit::Code(0), None) => (AgentState::Ended, "exit code 0".to_owned()),
        (exit, None) => (AgentState::Failed, format!("its program {exit}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told() {
        let time = Some(Duration::from_secs(5));
        for (exit, stopped, late, state, words) in [
            (Exit::Code(0), false, None, AgentState::Ended, "exit code 0"),
            (Exit::Code(3), false, None, AgentState::Failed, "its program ended with exit code 3"),
            (Exit::Signal(9), false, None, AgentState::Failed, "its program was ended by signal 9"),
            (Exit::Signal(15), true, None, AgentState::Stopped, "it was stopped"),
            (Exit::Signal(15), true, time, AgentState::Stopped, "it was stopped"),
            (Exit::Code(0), false, time, AgentState::Failed, "its time (5000 ms) was over, and it was stopped"),
        ] {
            assert_eq!(told(exit, stopped, late), (state, words.to_owned()));
        }
    }

    #[test]
    fn its_name_of_the_conversation_is_found_where_it_is_printed() {
        let pattern = Regex::new(r"session id: (\S+)").unwrap();
        let heads = |out: &str, err: &str| [out.to_owned(), err.to_owned()];
        assert_eq!(found(&pattern, &heads("", "x\nsession id: 0199-ab\n")), Some("0199-ab".to_owned()));
        assert_eq!(found(&pattern, &heads("session id: --last", "")), None);
        assert_eq!(found(&pattern, &heads("nothing", "")), None);
        let whole = Regex::new(r"0199\S+").unwrap();
        assert_eq!(found(&whole, &heads("0199-ab", "")), Some("0199-ab".to_owned()));
        assert_eq!((head("aé", 2), head("aé", 9), head("aé", 0)), ("a", "aé", ""));
    }
}
