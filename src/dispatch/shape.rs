//! From how a call ended to its one result: the whole text kept before anything is cut, what the model gets bounded, and
//! text from elsewhere marked.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::config::OutputSettings;
use crate::languages::DiagnosticsReport;
use crate::outputs::{
    Budget, Cut, How, Long, NewOutput, OutputKind, Text, classify, display_end, external, head_end, line_count, present,
};
use crate::sessions::Session;
use crate::tool::{Access, Capability, Content, ErrorKind, Failed, Outcome, ToolError, Traits, ViewOf};

use super::bounds::{Bounded, bound};
use super::call::{CallError, CallResult, OutputInfo, Status, Timing};
use super::change::{Made, Told, told_diagnostics, told_late};
use super::keep::Keeper;

/// Of the budget, what we add to an output that is in a file takes at most one part in so many.
const REST_SHARE: usize = 4;

/// How a call ended without breaking down.
pub(super) enum Done {
    /// It ran.
    Ran(Outcome),
    /// It ran and failed, with words that come from elsewhere.
    FailedElsewhere { error: ToolError, source: String },
    /// It ran and failed, and what it put out is told all the same.
    FailedAfter { error: ToolError, outcome: Outcome },
    /// It made its changes, which are in [`Made`].
    Changed,
}

impl Done {
    /// How a run ended. Whatever a tool that talks to others says, in success or failure, is text from elsewhere, whether
    /// the tool calls it so or not.
    pub(super) fn of(
        ended: Result<Outcome, ToolError>,
        traits: Traits<'_>,
        access: &Access,
    ) -> Result<Done, ToolError> {
        let source = traits
            .capabilities
            .contains(&Capability::Network)
            .then(|| access.hosts.first().map_or(traits.name, String::as_str).to_owned());
        match (ended, source) {
            (Ok(mut outcome), source) => {
                outcome.external = outcome.external.or(source);
                outcome.kind = outcome.kind.or_else(|| access.commands.first().map(|command| classify(command)));
                Ok(match outcome.failed.take() {
                    Some(Failed { kind, data }) => {
                        let error = ToolError { data, ..ToolError::new(kind, begun(&outcome)) };
                        Done::FailedAfter { error, outcome }
                    }
                    None => Done::Ran(outcome),
                })
            }
            // Those two are our own words.
            (Err(error), Some(source)) if !matches!(error.kind, ErrorKind::Cancelled | ErrorKind::Timeout) => {
                Ok(Done::FailedElsewhere { error, source })
            }
            (Err(error), _) => Err(error),
        }
    }
}

/// Where the text of a call came from, if it came from elsewhere.
pub(super) fn elsewhere(ended: &Result<Done, ToolError>) -> Option<&str> {
    match ended {
        Ok(Done::Ran(outcome) | Done::FailedAfter { outcome, .. }) => outcome.external.as_deref(),
        Ok(Done::FailedElsewhere { source, .. }) => Some(source),
        Ok(Done::Changed) | Err(_) => None,
    }
}

/// The first line of what a call put out, in short.
fn begun(outcome: &Outcome) -> String {
    const CHARS: usize = 200;
    let texts = outcome.content.iter().filter_map(|content| match content {
        Content::Text { text } => Some(text.as_str()),
        Content::Image { .. } => None,
    });
    let mut lines = texts.chain(outcome.long.as_ref().map(|long| long.excerpt.text.as_str())).flat_map(str::lines);
    let text = lines.find(|line| !line.trim().is_empty());
    text.unwrap_or_default().chars().take(CHARS).collect()
}

/// How a call ended, and what it had changed by then.
pub(super) struct Ending {
    pub done: Result<Done, ToolError>,
    pub made: Option<Made>,
    /// Late diagnostics of earlier edits.
    pub news: Option<DiagnosticsReport>,
    /// What else the model is told: what the person said with their consent, background work that has ended.
    pub words: Vec<String>,
}

/// Names of a call.
pub(super) struct Named {
    pub call_id: String,
    /// The tool's.
    pub name: String,
    /// The call's number in its session.
    pub number: u64,
    /// Files in these folders are named by their path from there.
    pub folders: Vec<PathBuf>,
}

/// Where outputs are kept, and how much is shown.
pub(super) struct Keeping<'a> {
    pub keeper: &'a Keeper,
    pub session: &'a Session,
    pub settings: &'a OutputSettings,
    pub budget: Budget,
}

/// A result, and all of its text where `content` has less.
pub(super) struct Shaped {
    pub result: CallResult,
    /// Whether the model is given all that the tool said.
    pub entire: bool,
    whole: Option<Whole>,
}

/// Text of which `content` has less.
struct Whole {
    /// All of it, or the end of it.
    text: Arc<str>,
    /// So many bytes are before that.
    missing: usize,
}

impl Shaped {
    /// The result for a front end that shows it: with the end of what was cut for the model as `display`.
    pub(super) fn detail(&self, settings: &OutputSettings) -> Option<Value> {
        let mut detail = serde_json::to_value(&self.result).ok()?;
        if let (Some(whole), Some(fields)) = (&self.whole, detail.as_object_mut()) {
            let Whole { text, missing } = whole;
            let shown = display_end(text, text.len() + missing, settings.display_bytes);
            fields.insert("display".to_owned(), shown.into());
        }
        Some(detail)
    }
}

/// The words of a call.
#[derive(Default)]
struct Words {
    /// What the tool said.
    body: String,
    /// The same with less of the diffs, where they are long.
    shorter: Option<String>,
    /// What we add to it.
    rest: Vec<String>,
    external: Option<String>,
    kind: Option<OutputKind>,
    view_of: Option<ViewOf>,
    long: Option<Long>,
}

/// The result. Text is joined into one piece and cut to the budget; the whole goes into the session's store first.
pub(super) fn shape(ending: Ending, named: Named, keeping: &Keeping<'_>, timing: Timing) -> Shaped {
    let Ending { done, made, news, words: said } = ending;
    let id = format!("o{}", named.number);
    let (mut words, mut others, mut structured, mut failed) = (Words::default(), Vec::new(), None, None);
    let done = match done {
        Ok(Done::FailedAfter { error, outcome }) => {
            failed = Some(error);
            Ok(Done::Ran(outcome))
        }
        done => done,
    };
    match done {
        Ok(Done::Ran(outcome)) => {
            structured = outcome.structured;
            let mut text = Vec::new();
            for content in outcome.content {
                match content {
                    Content::Text { text: piece } => text.push(piece),
                    image @ Content::Image { .. } => others.push(image),
                }
            }
            text.retain(|piece| !piece.is_empty());
            words.body = text.join("\n");
            (words.external, words.kind, words.view_of) = (outcome.external, outcome.kind, outcome.view_of);
            words.long = outcome.long;
            words.rest.extend(outcome.beside);
        }
        Ok(Done::FailedElsewhere { error, source }) => {
            words.body.clone_from(&error.message);
            words.external = Some(source);
            failed = Some(error);
        }
        Ok(Done::Changed | Done::FailedAfter { .. }) => {}
        Err(error) => {
            words.body.clone_from(&error.message);
            failed = Some(error);
        }
    }
    let applied = made.as_ref().and_then(|made| super::applied(made, failed.as_ref()));
    let proposed = made.as_ref().is_some_and(|made| made.proposed && failed.is_none());
    let (mut edits, mut diagnostics) = (None, None);
    if let Some(made) = made {
        if failed.is_some() && !made.edits.is_empty() {
            words.body.push_str("\nWhat is there all the same:");
        }
        words.tell(&made.told, &id);
        if !made.edits.is_empty() {
            words.rest.push(told_diagnostics(made.report.as_ref(), &named.folders));
            edits = Some(made.edits);
            diagnostics = made.report;
        }
    }
    if let Some(mut news) = news {
        words.rest.push(told_late(&news, &named.folders));
        // What the call's own edits brought comes first.
        let all = diagnostics.get_or_insert_default();
        all.documents.append(&mut news.documents);
        all.other_files.append(&mut news.other_files);
        all.other_files_cut += news.other_files_cut;
    }
    words.rest.extend(said);
    let max = keeping.settings.display_bytes;
    let data = failed.as_mut().and_then(|error| error.data.take());
    let Bounded { structured, data, left_out, whole } =
        bound(structured, data, edits.as_deref_mut().unwrap_or_default(), max, &id);
    let kept = Kept { id, call_id: &named.call_id, tool: &named.name, keeping };
    for (id, text) in &whole {
        kept.keep(id, Arc::from(text.as_str()), words.external.clone(), None);
    }
    let said = words.body.len();
    let (shown, mut output, whole) = kept.shown(words);
    let entire = match (&whole, &shown) {
        (Some(whole), Some(shown)) => shown.starts_with(&whole.text[..said]),
        _ => true,
    };
    if let Some(first) = left_out.first().and_then(|left| left.output.clone())
        && output.is_none()
    {
        output = Some(OutputInfo { id: first, total_bytes: 0, truncated: true, kind: None, left_out: Vec::new() });
    }
    if let Some(output) = &mut output {
        output.left_out = left_out;
    }
    let mut content: Vec<Content> = shown.map(Content::text).into_iter().collect();
    content.append(&mut others);
    let result = CallResult {
        call_id: named.call_id,
        name: named.name,
        status: status(failed.as_ref()),
        is_error: failed.is_some(),
        content,
        structured_content: structured,
        error: failed.map(|error| CallError { kind: error.kind, data: data.unwrap_or(Value::Null) }),
        applied,
        proposed,
        edits,
        diagnostics,
        output,
        timing,
    };
    Shaped { result, entire, whole }
}

impl Words {
    /// What was done to files: all of it into the body, and with the beginnings of long diffs into the shorter one.
    fn tell(&mut self, told: &[Told], id: &str) {
        let mut shorter = self.body.clone();
        let mut less = false;
        for Told { words, diff, share } in told {
            for text in [&mut self.body, &mut shorter] {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(words);
                if !diff.is_empty() {
                    text.push('\n');
                }
            }
            let above = line_count(&self.body);
            self.body.push_str(diff);
            let end = head_end(diff, *share);
            shorter.push_str(diff[..end].trim_end_matches('\n'));
            if end < diff.len() {
                less = true;
                let (first, last) = (above + line_count(&diff[..end]) + 1, above + line_count(diff));
                if end > 0 {
                    shorter.push('\n');
                }
                let _ = write!(
                    shorter,
                    "[lines {first}-{last}, the rest of the diff, left out here; the `output` tool shows them: id \"{id}\", \
                     offset {first}]"
                );
            }
        }
        self.shorter = less.then_some(shorter);
    }
}

/// What keeps the outputs of one call.
struct Kept<'a> {
    id: String,
    call_id: &'a str,
    tool: &'a str,
    keeping: &'a Keeping<'a>,
}

impl Kept<'_> {
    fn named(&self, id: &str, text: Arc<str>, external: Option<String>, kind: Option<OutputKind>) -> NewOutput {
        let (call_id, tool) = (self.call_id.to_owned(), self.tool.to_owned());
        NewOutput { id: id.to_owned(), call_id, tool, text, external, kind }
    }

    fn keep(&self, id: &str, text: Arc<str>, external: Option<String>, kind: Option<OutputKind>) {
        let new = self.named(id, text, external, kind);
        self.keeping.keeper.keep(self.keeping.session, new, self.keeping.settings);
    }

    /// What the model is given of the words, where the whole is, and the whole where that is more.
    fn shown(&self, words: Words) -> (Option<String>, Option<OutputInfo>, Option<Whole>) {
        let Words { body, shorter, mut rest, external, kind, view_of, long } = words;
        rest.retain(|piece| !piece.is_empty());
        let rest = rest.join("\n");
        if let Some(view) = view_of {
            let shown = self.again(&body, &rest, external.as_deref());
            let ViewOf { id, total_bytes, truncated } = view;
            return (Some(shown), Some(OutputInfo { id, total_bytes, truncated, kind, left_out: Vec::new() }), None);
        }
        if let Some(long) = long {
            return self.shown_long(long, &rest, external, kind);
        }
        let text = Text { body: &body, shorter: shorter.as_deref(), rest: &rest };
        let whole: Arc<str> = text.whole().into();
        if whole.is_empty() {
            return (None, None, None);
        }
        self.keep(&self.id, Arc::clone(&whole), external.clone(), kind);
        let how = How {
            budget: self.keeping.budget,
            id: &self.id,
            external: external.as_deref(),
            compress: kind.filter(|_| self.keeping.settings.compress),
        };
        let Cut { text: shown, truncated } = present(text, how);
        let info = OutputInfo { id: self.id.clone(), total_bytes: whole.len(), truncated, kind, left_out: Vec::new() };
        (Some(shown), Some(info), truncated.then_some(Whole { text: whole, missing: 0 }))
    }

    /// What the model is given of an output that is in a file already, and of what we add to it. That is kept apart
    /// where it is too long.
    fn shown_long(
        &self,
        long: Long,
        rest: &str,
        external: Option<String>,
        kind: Option<OutputKind>,
    ) -> (Option<String>, Option<OutputInfo>, Option<Whole>) {
        let budget = self.keeping.budget;
        let Long { spilled, bytes, lost, excerpt } = long;
        // What cannot be fetched is told at once.
        let told = lost.iter().map(String::as_str).chain((!rest.is_empty()).then_some(rest));
        let rest = told.collect::<Vec<_>>().join("\n");
        let apart = format!("{}.rest", self.id);
        let added = budget.within(budget.max / REST_SHARE).cut(&rest, &apart);
        if added.truncated {
            self.keep(&apart, rest.into(), None, None);
        }
        let added = if added.text.is_empty() { String::new() } else { format!("\n{}", added.text) };
        let tags = external.as_deref().map_or(0, external::overhead);
        let mut shown =
            budget.within(budget.max.saturating_sub(added.len() + tags)).cut_excerpt(&excerpt, &self.id).text;
        if let Some(source) = &external {
            shown = external::wrapped(&shown, source);
        }
        shown.push_str(&added);
        shown.truncate(shown.floor_char_boundary(budget.max));
        let new = self.named(&self.id, Arc::from(""), external, kind);
        self.keeping.keeper.keep_file(self.keeping.session, new, spilled, self.keeping.settings);
        let (id, total_bytes) = (self.id.clone(), bytes);
        let info = OutputInfo { id, total_bytes, truncated: true, kind, left_out: Vec::new() };
        (Some(shown), Some(info), Some(Whole { text: excerpt.text.into(), missing: excerpt.missing }))
    }

    /// A view of an output that is kept already. The tool has kept to the budget; what we add to it is cut to what is
    /// left, and kept itself where it is.
    fn again(&self, body: &str, rest: &str, external: Option<&str>) -> String {
        let max = self.keeping.budget.max;
        let mut shown = external.map_or_else(|| body.to_owned(), |source| external::wrapped(body, source));
        if shown.len() > max {
            // No room for the tags, or hardly for a character.
            if external.is_some() {
                shown = String::from("[there is no room for text from elsewhere; allow more bytes]");
            }
            shown.truncate(shown.floor_char_boundary(max));
        }
        let room = max.saturating_sub(shown.len() + 1);
        if rest.is_empty() || room == 0 {
            return shown;
        }
        let cut = self.keeping.budget.within(room).cut(rest, &self.id);
        if cut.truncated {
            self.keep(&self.id, Arc::from(rest), None, None);
        }
        format!("{shown}\n{}", cut.text)
    }
}

fn status(failed: Option<&ToolError>) -> Status {
    match failed.map(|error| error.kind) {
        None => Status::Ok,
        Some(ErrorKind::Denied) => Status::Denied,
        Some(ErrorKind::Cancelled) => Status::Cancelled,
        Some(_) => Status::Error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn traits(capabilities: &'static [Capability]) -> Traits<'static> {
        Traits {
            name: "tool",
            title: "A tool",
            capabilities,
            parallel: false,
            deferred: false,
            free_form: None,
            deadline: Duration::from_secs(1),
            aliases: &[],
            names: &[],
        }
    }

    #[test]
    fn what_is_from_elsewhere_and_what_kind_it_is() {
        let network: &[Capability] = &[Capability::Network];
        let hosts = Access { hosts: vec!["example.org".into()], ..Access::default() };
        let own = Outcome { external: Some("page 1".into()), ..Outcome::default() };
        for (outcome, capabilities, access, source) in [
            (Outcome::default(), &[][..], &hosts, None),
            (Outcome::default(), network, &hosts, Some("example.org")),
            (Outcome::default(), network, &Access::default(), Some("tool")),
            (own.clone(), network, &hosts, Some("page 1")),
            (own, &[], &hosts, Some("page 1")),
        ] {
            let Ok(Done::Ran(outcome)) = Done::of(Ok(outcome), traits(capabilities), access) else { panic!() };
            assert_eq!(outcome.external.as_deref(), source);
        }
        let commands = Access { commands: vec!["cd a && cargo test".into()], ..Access::default() };
        for (kind, expected) in [(None, OutputKind::Log), (Some(OutputKind::Search), OutputKind::Search)] {
            let outcome = Outcome { kind, ..Outcome::default() };
            let Ok(Done::Ran(outcome)) = Done::of(Ok(outcome), traits(&[]), &commands) else { panic!() };
            assert_eq!(outcome.kind, Some(expected));
        }
        for (kind, elsewhere) in [
            (ErrorKind::Failed, true),
            (ErrorKind::NotFound, true),
            (ErrorKind::Timeout, false),
            (ErrorKind::Cancelled, false),
        ] {
            let ended = |capabilities| Done::of(Err(ToolError::new(kind, "x")), traits(capabilities), &hosts);
            assert_eq!(matches!(ended(network), Ok(Done::FailedElsewhere { .. })), elsewhere, "{kind:?}");
            assert!(ended(&[]).is_err());
        }
    }
}
