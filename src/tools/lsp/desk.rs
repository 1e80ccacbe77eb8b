//! A question on the desk: the text it is about, and the servers that can be asked.

use std::future::Future;

use futures_util::future::join_all;
use serde_json::json;

use crate::languages::ask::{Answer, Door, Servers, Subject, Unanswered};
use crate::permissions::visible;
use crate::tool::{Content, Context, ErrorKind, Outcome, ToolError};
use crate::workspace::Target;

use super::Arguments;
use super::spot::{Spot, ambiguous, spot};

/// Why a question has no answer.
pub(in crate::tools) enum Stop {
    /// The server had another text than we; ask anew.
    Moved,
    /// For good.
    Failed(ToolError),
}

impl From<ToolError> for Stop {
    fn from(error: ToolError) -> Stop {
        Stop::Failed(error)
    }
}

impl From<crate::workspace::Refusal> for Stop {
    fn from(refusal: crate::workspace::Refusal) -> Stop {
        Stop::Failed(refusal.into())
    }
}

/// A question, its text, and who can be asked.
pub(super) struct Desk<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) context: &'a Context,
    pub(super) target: Target,
    pub(super) subject: Subject,
    pub(super) servers: Servers,
    /// The session proposes changes of it, which no server has seen.
    proposed: bool,
}

/// What the servers said.
pub(super) struct Said<T> {
    /// Each answer with the server that gave it, in the order of the servers.
    pub(super) answers: Vec<(Door, Answer<T>)>,
    /// What to know of the answers: who did not answer, who may not know everything yet.
    pub(super) notes: Vec<String>,
}

impl<'a> Desk<'a> {
    /// Reads the text, shows it to its servers, and finds out who can be asked.
    pub(super) async fn open(arguments: &'a Arguments, context: &'a Context) -> Result<Desk<'a>, Stop> {
        let file_path = arguments.file_path.as_deref().unwrap_or_default();
        let target = context.workspace.resolve(file_path)?;
        let subject = look(context, &target).await?;
        let thorough = arguments.operation.thorough();
        let servers = context.languages.servers_of(&target, thorough, &context.cancel).await;
        let proposed = context.workspace.proposals.touch(&context.session.id, [&target.key].into_iter());
        Ok(Desk { arguments, context, target, subject, servers, proposed })
    }

    /// The byte that is meant.
    pub(super) async fn at(&self) -> Result<usize, Stop> {
        let found = match spot(&self.subject.text, self.arguments, &self.shown())? {
            Spot::At(at) => return Ok(at),
            Spot::Several(found) => found,
        };
        // One of them may be where the file defines it.
        let wanted = self.arguments.symbol.as_deref().unwrap_or_default().trim();
        let mut defined: Vec<usize> = Vec::new();
        let subject = &self.subject;
        if let Ok(said) = self.ask(|door| async move { door.symbols(subject).await }).await {
            let text = subject.text.with_breaks(crate::text::LineBreaks::Lsp);
            for (_, answer) in &said.answers {
                let named = answer.value.iter().filter(|symbol| symbol.name == wanted);
                defined.extend(named.map(|symbol| text.byte_of(symbol.place.range.start, answer.seen.encoding).0));
            }
        }
        defined.retain(|at| found.contains(at));
        defined.sort_unstable();
        defined.dedup();
        match defined.as_slice() {
            [only] => Ok(*only),
            _ => Err(ambiguous(&subject.text, wanted, &found, &self.shown()).into()),
        }
    }

    /// The name of the file, fit to be shown.
    pub(super) fn shown(&self) -> String {
        visible(&self.target.shown)
    }

    /// Asks every server. At least one has answered.
    pub(super) async fn ask<T, F>(&self, question: impl Fn(Door) -> F) -> Result<Said<T>, Stop>
    where
        F: Future<Output = Result<Answer<T>, Unanswered>>,
    {
        let doors = &self.servers.doors;
        let asked = join_all(doors.iter().map(|door| question(door.clone())));
        let asked = tokio::select! {
            asked = asked => asked,
            () = self.context.cancel.cancelled() => return Err(cancelled().into()),
        };
        let (mut said, mut cannot) = (Said { answers: Vec::new(), notes: Vec::new() }, Vec::new());
        for (door, answer) in doors.iter().zip(asked) {
            match answer {
                Ok(answer) => {
                    said.notes.extend(unread(&door.name, answer.unread));
                    said.answers.push((door.clone(), answer));
                }
                Err(Unanswered::Moved) => return Err(Stop::Moved),
                Err(Unanswered::Cannot(offers)) => cannot.push((door, offers)),
                Err(other) => said.notes.push(why(&door.name, &other)),
            }
        }
        if said.answers.is_empty() {
            return Err(self.unanswered(&said.notes, &cannot).into());
        }
        let busy =
            said.answers.iter().filter(|(door, _)| door.busy).map(|(door, _)| {
                format!("{} still reads the project, so that it may not know everything yet", door.name)
            });
        let busy: Vec<String> = busy.collect();
        said.notes.extend(busy);
        if self.proposed {
            said.notes.push(format!(
                "the servers have not seen what you propose for {}: the lines are those of the text without it",
                self.shown()
            ));
        }
        Ok(said)
    }

    fn unanswered(&self, failed: &[String], cannot: &[(&Door, Vec<&'static str>)]) -> ToolError {
        if self.context.cancel.is_cancelled() {
            return cancelled();
        }
        let operation = self.arguments.operation.name();
        let (shown, language) = (self.shown(), &self.servers.language);
        let language = if language.is_empty() { String::new() } else { format!(" ({language})") };
        if !failed.is_empty() {
            let message = format!("`{operation}` got no answer for {shown}: {}.", failed.join("; "));
            return ToolError::new(ErrorKind::Failed, message);
        }
        let mut reasons: Vec<String> = cannot
            .iter()
            .map(|(door, offers)| {
                let offers = if offers.is_empty() { "nothing".to_owned() } else { offers.join(", ") };
                format!("{} offers {offers}", door.name)
            })
            .collect();
        reasons.extend(self.servers.unserved.iter().cloned());
        if reasons.is_empty() {
            reasons.push("no server is known for this language".to_owned());
        }
        let message = format!(
            "No language server answers `{operation}` for {shown}{language}: {}. What works all the same: `diagnostics`, which \
             is about every source; `grep` and `read` for the text.",
            reasons.join("; ")
        );
        ToolError::new(ErrorKind::Unavailable, message)
    }
}

/// Reads a text as the session sees it, and shows it to its servers.
pub(super) async fn look(context: &Context, target: &Target) -> Result<Subject, Stop> {
    let view = context.workspace.view(target).await?;
    crate::tools::show(context, &view);
    let Some(real) = view.real() else { return Err(only_proposed(target).into()) };
    Ok(Subject { key: target.key.clone(), text: real.text.clone() })
}

/// No server has seen a file that is only proposed.
fn only_proposed(target: &Target) -> ToolError {
    let message = format!(
        "{} is only proposed and no language server has seen it; they can be asked about it once a person has accepted it. \
         What works all the same: `grep` and `read` for the text.",
        visible(&target.shown)
    );
    ToolError::new(ErrorKind::Unavailable, message)
}

/// An answer of words alone.
pub(super) fn words(arguments: &Arguments, text: &str) -> Outcome {
    Outcome {
        content: vec![Content::text(text)],
        structured: Some(json!({ "operation": arguments.operation.name(), "total": 0 })),
        ..Outcome::default()
    }
}

fn cancelled() -> ToolError {
    ToolError::new(ErrorKind::Cancelled, "The call was cancelled while a server was asked; nothing was changed.")
}

/// That parts of an answer could not be read, if there are any.
pub(super) fn unread(name: &str, parts: usize) -> Option<String> {
    (parts > 0).then(|| format!("{name} gave {parts} more that could not be read, so that this may not be all"))
}

/// Why a server gave no answer, as a phrase.
pub(super) fn why(name: &str, unanswered: &Unanswered) -> String {
    match unanswered {
        Unanswered::Cannot(_) => format!("{name} cannot do that"),
        Unanswered::Moved => format!("{name} had another text"),
        Unanswered::Modified => format!("{name} gave up because something kept changing"),
        Unanswered::Unsaved => format!("{name} knows only what is saved, and there are unsaved changes"),
        Unanswered::Failed(why) => {
            format!("{name} says: {}", crate::languages::problems::clean(why, 600).trim_end_matches('.'))
        }
        Unanswered::Late => format!("{name} did not answer in time"),
        Unanswered::Gone => format!("{name} is gone, or was ended"),
    }
}
