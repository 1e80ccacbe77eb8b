//! The formatter after a change. An open document is formatted by the editor or by a language server of ours, any other
//! text by a command of the user's; what they say becomes a second commit, made only if the text is still the one that
//! they were asked about.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tracing::warn;

use crate::config::{FormatterMode, FormatterSettings};
use crate::editor::{AskError, FileChangeKind, FileChanged, Origin};
use crate::languages::ask::Indent;
use crate::languages::{Edited, applied, language_of};
use crate::process::{Exit, Launch};
use crate::text::{BOM, LineEnd, LineEnds, Splice, Text};
use crate::workspace::paths::uri_of_path;
use crate::workspace::view::MAX_FILE_BYTES;
use crate::workspace::{Fate, FileChange, Key, Refusal, RefusalKind, Rewrite, Rewritten, SetRefused, Snapshot};

use super::change::Made;
use super::follow::{Followed, hunks, places};
use super::{Call, Dispatch};

/// What stands for the path of the file in the arguments of a command.
const FILE: &str = "${file}";

/// The text is not the one any more that was formatted.
const MOVED_ON: &str = "it changed meanwhile";

/// A formatter and what it makes of a text.
struct Format {
    /// Who it is, behind "by".
    by: String,
    /// The text after it.
    after: String,
}

/// Why a text was not formatted.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Unformatted {
    /// It took longer than this.
    Late(Duration),
    /// In words that go behind "it was not formatted: ".
    Because(String),
}

impl Unformatted {
    fn told(&self) -> String {
        match self {
            Unformatted::Late(deadline) => format!("the formatter took longer than {} ms", deadline.as_millis()),
            Unformatted::Because(why) => why.clone(),
        }
    }
}

fn because<T>(why: impl Into<String>) -> Result<T, Unformatted> {
    Err(Unformatted::Because(why.into()))
}

impl Dispatch {
    /// Formats each text that the call changed, once.
    pub(super) async fn format(&self, call: &Call<'_>, made: &mut Made) {
        let settings = self.workspace.settings();
        let settings = &settings.formatter;
        if settings.mode == FormatterMode::Off {
            return;
        }
        let mut late = None;
        for at in made.last_of_each() {
            let edited = made.settling[at].1.clone();
            let outcome = match &late {
                // One that hangs is not waited for again and again.
                Some(late) => Err(Unformatted::clone(late)),
                None => self.asked_formatter(call, settings, &edited).await,
            };
            let outcome = match outcome {
                Ok(None) => continue,
                Ok(Some(format)) => self.laid_out(call, &edited, format).await,
                Err(why) => Err(why),
            };
            match outcome {
                Ok(None) => {}
                Ok(Some(followed)) => self.followed(call, made, at, followed),
                Err(why) => {
                    made.note(at, &format!("it was not formatted: {}", why.told()));
                    late = Some(why).filter(|why| matches!(why, Unformatted::Late(_)));
                }
            }
        }
    }

    /// What the formatter of a text makes of it; `None` when it has none, or nothing is changed by it.
    async fn asked_formatter(
        &self,
        call: &Call<'_>,
        settings: &FormatterSettings,
        edited: &Edited,
    ) -> Result<Option<Format>, Unformatted> {
        // Of a text that is empty, or was deleted, there is nothing to format.
        if edited.after.is_empty() {
            return Ok(None);
        }
        let deadline = Duration::from_millis(settings.timeout_ms);
        let document = self.workspace.documents.get(&edited.target.key);
        if document.as_ref().is_some_and(|document| document.text != edited.after) {
            return because(MOVED_ON);
        }
        let work = async {
            if let Some(document) = &document
                && let Some(format) = self.formatted_open(document, deadline).await?
            {
                return Ok(Some(format));
            }
            self.formatted_by_command(settings, edited, document.as_ref(), deadline).await
        };
        let format = tokio::select! {
            biased;
            () = call.context.cancel.cancelled() => return because("the call was cancelled"),
            format = work => format?,
            () = self.workspace.ports.clock.sleep(deadline) => return Err(Unformatted::Late(deadline)),
        };
        let Some(Format { by, after }) = format else { return Ok(None) };
        let before = bare(&edited.after);
        let after = in_ends_of(&before, after.strip_prefix(BOM).unwrap_or(&after));
        if before.to_string() == after {
            return Ok(None);
        }
        if after.trim().is_empty() && !before.to_string().trim().is_empty() {
            return because(format!("{by} left nothing of it"));
        }
        if after.len() as u64 > MAX_FILE_BYTES {
            return because(format!("{by} made {} bytes of it", after.len()));
        }
        Ok(Some(Format { by, after }))
    }

    /// What the editor, or else a language server, makes of an open document.
    async fn formatted_open(&self, document: &Snapshot, deadline: Duration) -> Result<Option<Format>, Unformatted> {
        let editor = &self.workspace.editor;
        if editor.abilities().format {
            match editor.format(&document.uri, document.version, deadline).await {
                Ok(Some(edits)) => {
                    let by = "the editor";
                    let encoding = self.workspace.documents.counting().encoding;
                    let after = applied(&document.text, &edits, encoding);
                    let after = after.map_err(|why| Unformatted::Because(format!("{by} gave {why}")))?;
                    return Ok(Some(Format { by: by.to_owned(), after }));
                }
                Ok(None) | Err(AskError::Unsupported) => {}
                Err(AskError::Timeout) => return Err(Unformatted::Late(deadline)),
                Err(error) => return because(error.to_string()),
            }
        }
        let options = Indent::of(&document.text).options();
        match self.languages.format(&document.key, &options, deadline).await {
            Ok(None) => Ok(None),
            Ok(Some(formatted)) if formatted.before != document.text.to_string() => because(MOVED_ON),
            Ok(Some(formatted)) => Ok(Some(Format { by: formatted.server, after: formatted.after })),
            Err(why) => because(why),
        }
    }

    /// What the user's command for the language makes of a text.
    async fn formatted_by_command(
        &self,
        settings: &FormatterSettings,
        edited: &Edited,
        document: Option<&Snapshot>,
        deadline: Duration,
    ) -> Result<Option<Format>, Unformatted> {
        let Key::File(path) = &edited.target.key else { return Ok(None) };
        let languages = document.map(|document| document.language_id.as_str()).into_iter();
        let mut languages = languages.chain(language_of(&edited.target.uri));
        let Some(command) = languages.find_map(|language| settings.commands.get(language)) else { return Ok(None) };
        let Some((program, args)) = command.split_first() else { return Ok(None) };
        let Some(root) = root_of(&self.workspace.roots().folders, path) else { return Ok(None) };
        let by = format!("`{}`", program.rsplit('/').next().unwrap_or(program));
        if !(self.trust.covers(&root) && self.trust.covers(path)) {
            return because(format!("{by} runs in trusted folders only, and this one is not trusted"));
        }
        let Some(file) = path.to_str() else { return because("its path is no UTF-8") };
        let programs = self.hooks.programs();
        let Some(found) = programs.find(program, &[]) else { return because(format!("there is no program {by}")) };
        let args = args.iter().map(|argument| argument.replace(FILE, file)).collect();
        let launch = Launch { program: found, args, dir: Some(root), ..Launch::default() };
        let printed = programs.filter(&launch, &bare(&edited.after).to_string(), MAX_FILE_BYTES, deadline).await;
        match printed {
            Ok(printed) if printed.exit == Exit::Code(0) => Ok(Some(Format { by, after: printed.stdout })),
            Ok(printed) => {
                warn!(program, uri = edited.target.uri, stderr = printed.stderr, "a formatter failed");
                because(format!("{by} {}", printed.exit))
            }
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => Err(Unformatted::Late(deadline)),
            Err(error) => because(format!("{by} could not be used: {error}")),
        }
    }

    /// Makes what the formatter said; `None` when the text was so already.
    async fn laid_out(
        &self,
        call: &Call<'_>,
        edited: &Edited,
        format: Format,
    ) -> Result<Option<Followed>, Unformatted> {
        let Format { by, after } = format;
        let layout = Layout { before: bare(&edited.after).to_string(), after };
        let change = FileChange {
            target: edited.target.clone(),
            rewrite: Arc::new(layout),
            label: format!("format {}", edited.target.shown),
            fate: Fate::Stays,
        };
        let committed = self.commit(call, &[change]).await.map_err(|SetRefused { refusal, .. }| {
            Unformatted::Because(match refusal.kind {
                RefusalKind::Conflict => MOVED_ON.to_owned(),
                RefusalKind::Cancelled => "the call was cancelled".to_owned(),
                _ => refusal.message,
            })
        })?;
        let Some(committed) = committed.into_iter().next() else { return Ok(None) };
        let Some(before) = committed.before.filter(|_| !committed.splices.is_empty()) else { return Ok(None) };
        if committed.version_after.is_none() {
            // Language servers know a file by where it is, and not by a link to it that the call named.
            let uri = match &committed.target.key {
                Key::File(path) => uri_of_path(path),
                Key::Unnamed(uri) => uri.clone(),
            };
            self.languages.file_changed(&FileChanged { uri, kind: FileChangeKind::Changed, by: Origin::Editor });
        }
        let words = format!("Formatted {} by {by}: {}.", committed.target.shown, places(&committed.hunks));
        Ok(Some(Followed {
            target: committed.target,
            before,
            after: committed.after,
            splices: committed.splices,
            version_before: committed.version_before,
            version_after: committed.version_after,
            unsaved: committed.unsaved,
            hunks: committed.hunks,
            unified_diff: committed.unified_diff,
            words,
            notes: committed.notes,
        }))
    }
}

/// The change that a formatter makes of one text, and of no other.
struct Layout {
    before: String,
    after: String,
}

impl Rewrite for Layout {
    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal> {
        let Some(now) = before.filter(|now| bare(now).to_string() == self.before) else {
            return Err(Refusal::new(RefusalKind::Conflict, "It changed while it was being formatted."));
        };
        Ok(Rewritten {
            splices: vec![Splice { range: 0..now.len(), text: self.after.clone() }],
            hunks: hunks("format", &self.before, &self.after),
            notes: Vec::new(),
        })
    }

    fn origin(&self) -> Origin {
        Origin::Editor
    }
}

/// A text without its byte order mark, which no formatter is shown.
fn bare(text: &Text) -> Text {
    if !text.slice(0..BOM.len_utf8()).starts_with(BOM) {
        return text.clone();
    }
    text.spliced(&[Splice { range: 0..BOM.len_utf8(), text: String::new() }])
}

/// A formatted text with the one kind of line end that the text had before; where it had several, as the formatter made
/// them.
fn in_ends_of(before: &Text, after: &str) -> String {
    match before.line_ends() {
        LineEnds { lf: 0, crlf: 1.., .. } => LineEnd::Crlf.apply(after),
        LineEnds { lf: 1.., crlf: 0, .. } => LineEnd::Lf.apply(after),
        LineEnds { .. } => after.to_owned(),
    }
}

/// The innermost folder that a file lies in.
fn root_of(folders: &[PathBuf], path: &Path) -> Option<PathBuf> {
    let around = folders.iter().filter(|folder| path.starts_with(folder));
    around.max_by_key(|folder| folder.components().count()).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::LineBreaks;

    fn text(text: &str) -> Text {
        Text::new(text, LineBreaks::Lf)
    }

    #[test]
    fn line_ends_stay_what_they_were() {
        for (before, after, ends) in [
            ("a\r\nb\r\n", "a\nb\nc\n", "a\r\nb\r\nc\r\n"),
            ("a\nb\n", "a\r\nb\r\n", "a\nb\n"),
            ("a\r\nb\n", "a\nb\n", "a\nb\n"),
            ("a", "a\n", "a\n"),
        ] {
            assert_eq!(in_ends_of(&text(before), after), ends, "{before:?}");
        }
    }

    #[test]
    fn a_layout_is_of_one_text_only() {
        let layout = Layout { before: "a=1\n".into(), after: "a = 1\n".into() };
        let whole =
            |text: &Text| layout.rewrite(Some(text)).map(|rewritten| text.spliced(&rewritten.splices).to_string());
        assert_eq!(whole(&text("a=1\n")).as_deref(), Ok("a = 1\n"));
        for other in [Some(text("a=1\n\n")), Some(text("")), None] {
            assert_eq!(layout.rewrite(other.as_ref()).unwrap_err().kind, RefusalKind::Conflict, "{other:?}");
        }
    }

    #[test]
    fn the_root_is_the_innermost() {
        let folders = [PathBuf::from("/w"), PathBuf::from("/w/part"), PathBuf::from("/x")];
        for (path, root) in
            [("/w/a", Some("/w")), ("/w/part/b/c", Some("/w/part")), ("/w/partial", Some("/w")), ("/y", None)]
        {
            assert_eq!(root_of(&folders, Path::new(path)), root.map(PathBuf::from), "{path}");
        }
    }
}
