//! Hooks: the user's own commands round a call. Before it they may block it, rewrite its arguments (which are then read
//! and judged anew) or add words; after it they may add words, and never change what it said.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::config::{Hook, OnFailure};
use crate::editor::{Loudness, News};
use crate::process::{Exit, Launch, Programs};
use crate::tool::{Content, ErrorKind, ToolError};

use super::call::{CallResult, Status};
use super::execute::cancelled;
use super::{Call, Dispatch};

/// Words of one hook are told up to so many characters.
const TOLD_CHARS: usize = 4000;

/// A hook gets no longer than this, whatever the settings say.
const LONGEST: Duration = Duration::from_mins(10);

/// What is told with the result of a call, beside what it says itself.
#[derive(Default)]
pub(super) struct Beside {
    /// Words for the model, in order.
    pub told: Vec<String>,
    /// The tool that ran and its arguments, for the hooks after it.
    ran: Option<(String, Value)>,
}

/// What a hook answers on its standard output; nothing at all means that it has nothing against the call.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Answer {
    /// The call does not run, for this reason.
    block: Option<String>,
    /// It runs with these arguments.
    arguments: Option<serde_json::Map<String, Value>>,
    /// The model is told this.
    context: Option<String>,
}

/// Starts hooks.
pub(super) struct Runner {
    programs: RwLock<Arc<dyn Programs>>,
}

impl Runner {
    pub(super) fn new(programs: Arc<dyn Programs>) -> Runner {
        Runner { programs: RwLock::new(programs) }
    }

    /// Where programs are found and started.
    pub(super) fn programs(&self) -> Arc<dyn Programs> {
        Arc::clone(&self.programs.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks one hook. The error says, in words without anything that differs from run to run, why there is no answer.
    async fn ask(&self, hook: &Hook, input: &Value) -> Result<Answer, String> {
        let (program, args) = hook.command.split_first().ok_or("its command is empty")?;
        let programs = self.programs();
        let found = programs.find(program, &[]).ok_or_else(|| format!("there is no program {program:?}"))?;
        let launch = Launch { program: found, args: args.to_vec(), ..Launch::default() };
        let deadline = Duration::from_millis(hook.timeout_ms).min(LONGEST);
        let printed =
            programs.run_on(&launch, &input.to_string(), deadline).await.map_err(|error| match error.kind() {
                std::io::ErrorKind::TimedOut => format!("it took longer than {} ms", deadline.as_millis()),
                _ => format!("it could not be run: {error}"),
            })?;
        if printed.exit != Exit::Code(0) {
            warn!(hook = hook.shown(), stderr = printed.stderr, "a hook failed");
            return Err(format!("it {}", printed.exit));
        }
        if printed.stdout.trim().is_empty() {
            return Ok(Answer::default());
        }
        serde_json::from_str(&printed.stdout)
            .map_err(|fault| format!("its answer cannot be read: {}", bounded(&fault.to_string())))
    }
}

impl Dispatch {
    /// Where the programs of hooks are found and started; the real ones until this is called.
    pub fn set_programs(&self, programs: Arc<dyn Programs>) {
        *self.hooks.programs.write().unwrap_or_else(PoisonError::into_inner) = programs;
    }

    /// Whether a hook has a say before calls of a tool.
    pub(super) fn hooked(&self, tool: &str) -> bool {
        self.workspace.settings().hooks.before.iter().any(|hook| hook.is_for(tool))
    }

    /// The hooks before a call, one after the other, each with the arguments as the one before left them.
    pub(super) async fn before(&self, call: &mut Call<'_>, beside: &mut Beside) -> Result<(), ToolError> {
        let settings = self.workspace.settings();
        let tool = call.entry.traits().name;
        if settings.hooks.broken && !call.entry.shared() {
            return Err(ToolError::new(
                ErrorKind::Unavailable,
                format!(
                    "`{tool}` was not run: the user's settings of hooks cannot be read, and until they are mended nothing \
                     runs that may change something. Tell the user; do not call it again before that."
                ),
            ));
        }
        for hook in settings.hooks.before.iter().filter(|hook| hook.is_for(tool)) {
            let name = hook.shown();
            let input = json!({
                "sessionId": call.context.session.id, "callId": call.id, "name": tool, "arguments": call.arguments,
            });
            let answer = tokio::select! {
                biased;
                () = call.context.cancel.cancelled() => return Err(cancelled("while a hook looked at it")),
                answer = self.hooks.ask(hook, &input) => answer,
            };
            let applied = match answer {
                Ok(Answer { block: Some(reason), context, .. }) => {
                    beside.told.extend(context.map(|words| said(name, &words)));
                    return Err(ToolError::new(
                        ErrorKind::Denied,
                        format!("The hook `{name}` blocked this call: {}", bounded(reason.trim())),
                    ));
                }
                Ok(Answer { arguments: None, context, .. }) => Ok(context),
                Ok(Answer { arguments: Some(arguments), context, .. }) => call
                    .entry
                    .ready(Some(&Value::Object(arguments)))
                    .map(|ready| {
                        call.arguments = ready.arguments;
                        context
                    })
                    .map_err(|error| format!("the arguments it gave do not fit: {}", error.message)),
                Err(why) => Err(why),
            };
            match applied {
                Ok(context) => beside.told.extend(context.map(|words| said(name, &words))),
                Err(why) => {
                    self.failed(name, &why);
                    if hook.on_failure == OnFailure::Refuse {
                        return Err(ToolError::new(
                            ErrorKind::Unavailable,
                            format!(
                                "`{tool}` was not run: the user's hook `{name}` must be asked before it, and gave no \
                                 answer ({why}). Tell the user."
                            ),
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    /// The call runs now, with these arguments.
    pub(super) fn runs(&self, call: &Call<'_>, beside: &mut Beside) {
        let tool = call.entry.traits().name;
        if self.workspace.settings().hooks.after.iter().any(|hook| hook.is_for(tool)) {
            beside.ran = Some((tool.to_owned(), call.arguments.clone()));
        }
    }

    /// Puts beside the result what is told with it, and what the hooks after the call say.
    pub(super) async fn after(
        &self,
        result: &mut CallResult,
        beside: Beside,
        session: &str,
        cancel: &CancellationToken,
    ) {
        let Beside { mut told, ran } = beside;
        if let Some((tool, arguments)) = ran.filter(|_| result.status != Status::Cancelled) {
            let settings = self.workspace.settings();
            let mut input =
                json!({ "sessionId": session, "callId": result.call_id, "name": tool, "arguments": arguments });
            input["result"] = serde_json::to_value(&*result).unwrap_or_default();
            for hook in settings.hooks.after.iter().filter(|hook| hook.is_for(&tool)) {
                let name = hook.shown();
                let answer = tokio::select! {
                    biased;
                    () = cancel.cancelled() => break,
                    answer = self.hooks.ask(hook, &input) => answer,
                };
                match answer {
                    Ok(Answer { block: None, arguments: None, context }) => {
                        told.extend(context.map(|words| said(name, &words)));
                    }
                    Ok(_) => self.failed(name, "after a call it can only add `context`"),
                    Err(why) => self.failed(name, &why),
                }
            }
        }
        result.content.extend(told.into_iter().map(Content::text));
    }

    fn failed(&self, hook: &str, why: &str) {
        warn!(hook, why, "a hook gave no answer");
        self.workspace.editor.tell(News::Log(Loudness::Warning, format!("Ropewalk: the hook {hook}: {why}")));
    }
}

fn said(hook: &str, words: &str) -> String {
    format!("[hook {hook}] {}", bounded(words.trim_end()))
}

fn bounded(words: &str) -> String {
    match words.char_indices().nth(TOLD_CHARS) {
        None => words.to_owned(),
        Some((at, _)) => format!("{}… (cut)", &words[..at]),
    }
}
