//! What a call would do now: where it reaches, and which lines it would change. Changes nothing.

use std::path::PathBuf;
use std::sync::Arc;

use tracing::warn;

use crate::permissions::{DecisionKind, Judgement, Place, Policy, Reach, Rule, arity, judge, suggest};
use crate::text::{BOM, Text, diff};
use crate::tool::{Access, Context, ErrorKind, Plan, ToolError};
use crate::workspace::commit::Rewrite;
use crate::workspace::{Fate, FileChange, Key, Preview, Refusal, RefusalKind, Rewritten, Target, Workspace};

use super::call::AccessInfo;
use super::catalog::Entry;
use super::execute::Limits;
use super::gate;

/// Where a call reaches and what the rules say of that, before anything is read for it.
pub(super) struct Outline {
    pub reads: Vec<Target>,
    pub writes: Vec<Target>,
    pub access: Access,
    pub judgement: Judgement,
}

/// A call at one moment: what it reaches, what the rules say, and what it would do, or why it cannot.
pub(super) struct Proposal {
    pub outline: Outline,
    pub plan: Result<Planned, ToolError>,
}

impl Consented {
    /// Whether another one reaches the same files and documents.
    pub(super) fn reaches_as(&self, other: &Consented) -> bool {
        self.targets == other.targets
    }
}

/// What a call would do.
pub(super) enum Planned {
    /// Run the tool.
    Run,
    /// Make these changes.
    Change(Vec<(FileChange, Preview)>),
}

/// What a person consents to: exactly these targets, and exactly these lines, wherever they are by then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Consented {
    targets: Vec<(Key, Vec<PathBuf>)>,
    lines: Vec<String>,
}

/// Works out what a call reaches by its names alone. The error is a name that means nothing.
pub(super) async fn outline(
    entry: &Entry,
    arguments: &serde_json::Value,
    context: &Context,
) -> Result<Outline, ToolError> {
    let access = entry.tool.access(arguments);
    let (reads, writes) = resolve(&context.workspace, &access).await?;
    let judgement = judged(entry, context, &access, &reads, &writes);
    Ok(Outline { reads, writes, access, judgement })
}

/// Works out what a call would do, for which the files it changes are read; what it changes beyond the names in it is
/// judged with the rest.
pub(super) async fn propose(
    outline: Outline,
    entry: &Entry,
    arguments: &serde_json::Value,
    context: &Context,
    limits: &Limits<'_>,
) -> Result<Proposal, ToolError> {
    let plan = limits.bound(planned(entry, arguments, context)).await;
    if let Err(error) = &plan
        && matches!(error.kind, ErrorKind::Cancelled)
    {
        return Err(error.clone());
    }
    let Outline { reads, mut writes, access, mut judgement } = outline;
    let named = writes.len();
    if let Ok(Planned::Change(changes)) = &plan {
        for target in changes.iter().flat_map(|(change, _)| ends(change)) {
            // Of one key, but by now of other files: a link has changed since.
            if !writes.iter().any(|known| known.key == target.key && known.paths == target.paths) {
                writes.push(target.clone());
            }
        }
    }
    if writes.len() > named {
        judgement = judged(entry, context, &access, &reads, &writes);
    }
    Ok(Proposal { outline: Outline { reads, writes, access, judgement }, plan })
}

/// The files that a change reaches: where one is, and where it is moved to.
fn ends(change: &FileChange) -> Vec<&Target> {
    match &change.fate {
        Fate::Stays | Fate::Deleted => vec![&change.target],
        Fate::Moved { to } => vec![&change.target, to],
    }
}

fn judged(entry: &Entry, context: &Context, access: &Access, reads: &[Target], writes: &[Target]) -> Judgement {
    let (reach, policy) = (reach(access, reads, writes), policy(context));
    let usual = judge(entry.traits().name, entry.rule, &reach, &policy);
    let writes = matches!(entry.rule, Rule::Write | Rule::ReadOrWrite) && !reach.writes.is_empty();
    let only_writes = writes && reach.commands.is_empty() && reach.hosts.is_empty();
    if usual.decision != DecisionKind::Ask || !only_writes || !context.workspace.proposes() {
        return usual;
    }
    // What is only proposed changes nothing, and a person judges it later; the answer shows what is there all the same.
    let reads = reach.reads.into_iter().chain(reach.writes).collect();
    judge("read", Rule::Read, &Reach { reads, ..Reach::default() }, &policy)
}

/// The allow rule that would let a call pass that is asked about, if one rule can say so.
pub(super) fn suggested(entry: &Entry, context: &Context, outline: &Outline) -> Option<String> {
    let reach = reach(&outline.access, &outline.reads, &outline.writes);
    suggest(entry.traits().name, entry.rule, &reach, &policy(context))
}

fn reach(access: &Access, reads: &[Target], writes: &[Target]) -> Reach {
    Reach {
        reads: places(reads, &access.reads),
        writes: places(writes, &access.writes),
        commands: access.commands.clone(),
        hosts: access.hosts.clone(),
    }
}

fn policy(context: &Context) -> Policy {
    let workspace = &context.workspace;
    context.session.policy(&workspace.settings(), &workspace.roots().folders)
}

async fn planned(entry: &Entry, arguments: &serde_json::Value, context: &Context) -> Result<Planned, ToolError> {
    let changes = match entry.tool.plan(arguments, context).await? {
        Plan::Run => return Ok(Planned::Run),
        Plan::Change(changes) => changes,
    };
    let changes: Vec<FileChange> = context
        .workspace
        .compose(&changes)?
        .into_iter()
        // What is deleted follows no grammar any more.
        .map(|change| if change.fate == Fate::Deleted { change } else { gate::gated(&context.workspace, change) })
        .collect();
    let previews = context.workspace.preview_set(&changes).await?;
    Ok(Planned::Change(changes.into_iter().zip(previews).collect()))
}

/// The targets of the names. Names are resolved on the disk, which may be slow.
async fn resolve(workspace: &Arc<Workspace>, access: &Access) -> Result<(Vec<Target>, Vec<Target>), ToolError> {
    if access.reads.is_empty() && access.writes.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let (workspace, access) = (Arc::clone(workspace), access.clone());
    let resolved = tokio::task::spawn_blocking(move || -> Result<_, Refusal> {
        let all = |names: &[String]| names.iter().map(|name| workspace.resolve(name)).collect::<Result<Vec<_>, _>>();
        Ok((all(&access.reads)?, all(&access.writes)?))
    });
    match resolved.await {
        Ok(targets) => targets.map_err(ToolError::from),
        Err(error) => {
            warn!(%error, "resolving a name broke down");
            Err(ToolError::new(ErrorKind::Failed, "The files of the call could not be looked up."))
        }
    }
}

fn places(targets: &[Target], names: &[String]) -> Vec<Place> {
    let place = |(at, target): (usize, &Target)| Place {
        asked: names.get(at).unwrap_or(&target.shown).clone(),
        paths: target.paths.clone(),
        inside: target.inside,
    };
    targets.iter().enumerate().map(place).collect()
}

impl Outline {
    /// Every file, document, command and host, resolved, for a person to see.
    pub(super) fn targets(&self) -> Vec<String> {
        let mut targets: Vec<String> = Vec::new();
        for target in self.reads.iter().chain(&self.writes) {
            let paths = target.paths.iter().map(|path| path.to_string_lossy().into_owned());
            let document = match &target.key {
                Key::File(_) => None,
                Key::Unnamed(uri) => Some(uri.clone()),
            };
            for shown in paths.chain(document) {
                if !targets.contains(&shown) {
                    targets.push(shown);
                }
            }
        }
        targets.extend(self.access.commands.iter().chain(&self.access.hosts).cloned());
        targets.iter().map(|target| crate::permissions::visible(target)).collect()
    }

    /// What calls have in common that one consent can cover: the tool, and exactly what is reached. Files count by
    /// where they are and not by how they are spelled or shown; a document without a place counts by its URI.
    pub(super) fn likeness(&self, tool: &str) -> String {
        let reached = |targets: &[Target]| {
            let mut reached: Vec<String> = targets
                .iter()
                .map(|target| match (&target.key, target.paths.as_slice()) {
                    (key, []) => format!("{key:?}"),
                    (_, paths) => format!("{paths:?}"),
                })
                .collect();
            reached.sort_unstable();
            reached.dedup();
            reached
        };
        let commands: Vec<(bool, String)> = self
            .access
            .commands
            .iter()
            .map(|line| arity::shared(line).map_or((false, line.clone()), |begin| (true, begin.join(" "))))
            .collect();
        let parts = (tool, reached(&self.reads), reached(&self.writes), commands, &self.access.hosts);
        format!("{parts:?}")
    }

    /// What one consent covers of it, for a person to see: as [`Outline::targets`], commands by how they begin.
    pub(super) fn covered(&self) -> Vec<String> {
        let mut covered = self.targets();
        for line in &self.access.commands {
            if let Some(begin) = arity::shared(line) {
                let shown = crate::permissions::visible(line);
                covered.retain(|target| *target != shown);
                covered.push(format!("{} ...", begin.join(" ")));
            }
        }
        covered
    }

    pub(super) fn access_info(&self) -> AccessInfo {
        let uris = |targets: &[Target]| targets.iter().map(|target| target.uri.clone()).collect();
        AccessInfo {
            reads: uris(&self.reads),
            writes: uris(&self.writes),
            commands: self.access.commands.clone(),
            hosts: self.access.hosts.clone(),
        }
    }
}

impl Proposal {
    /// The changes as one unified diff.
    pub(super) fn diff(&self) -> Option<String> {
        match &self.plan {
            Ok(Planned::Change(changes)) => {
                Some(changes.iter().map(|(_, preview)| preview.unified_diff.as_str()).collect())
            }
            _ => None,
        }
    }

    /// What consent to this proposal covers.
    pub(super) fn consented(&self) -> Consented {
        let targets = self.outline.reads.iter().chain(&self.outline.writes);
        let targets = targets.map(|target| (target.key.clone(), target.paths.clone())).collect();
        let lines = match &self.plan {
            Ok(Planned::Run) => Vec::new(),
            Ok(Planned::Change(changes)) => changes
                .iter()
                .flat_map(|(change, preview)| {
                    let fate = match &change.fate {
                        Fate::Stays => None,
                        Fate::Deleted => Some("deleted".to_owned()),
                        Fate::Moved { to } => Some(format!("moved to {}", to.uri)),
                    };
                    std::iter::once(change.target.uri.clone())
                        .chain(fate)
                        .chain(changed_lines(preview.before.as_ref(), &preview.after))
                })
                .collect(),
            Err(error) => vec![error.message.clone()],
        };
        Consented { targets, lines }
    }

    /// The changes, each of which will refuse a text in which it would change other lines than it does now.
    pub(super) fn bind(&mut self) {
        if let Ok(Planned::Change(changes)) = &mut self.plan {
            for (change, preview) in changes {
                let lines = changed_lines(preview.before.as_ref(), &preview.after);
                change.rewrite = Arc::new(Bound { rewrite: Arc::clone(&change.rewrite), lines });
            }
        }
    }
}

/// A rewrite that a person consented to: it may only change the lines it changed when they looked.
struct Bound {
    rewrite: Arc<dyn Rewrite>,
    lines: Vec<String>,
}

/// In the data of a refusal: the text moved on so that other lines would change than those that were consented to.
const OTHER_LINES: &str = "otherLines";

impl Rewrite for Bound {
    fn executable(&self) -> Option<bool> {
        self.rewrite.executable()
    }

    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal> {
        let rewritten = self.rewrite.rewrite(before)?;
        let empty = Text::new("", crate::text::LineBreaks::default());
        let after = before.unwrap_or(&empty).spliced(&rewritten.splices);
        if changed_lines(before, &after) == self.lines {
            return Ok(rewritten);
        }
        let mut refusal = Refusal::new(
            RefusalKind::Conflict,
            "The text changed, so that other lines would change than those consented to.",
        );
        refusal.data = Some(serde_json::json!({ "reason": OTHER_LINES }));
        Err(refusal)
    }
}

/// Whether a refusal came from a change that consent no longer covers.
pub(super) fn needs_new_consent(refusal: &Refusal) -> bool {
    refusal.data.as_ref().is_some_and(|data| data["reason"] == OTHER_LINES)
}

/// The lines that go and come, in order, wherever they are.
fn changed_lines(before: Option<&Text>, after: &Text) -> Vec<String> {
    let before = before.map(Text::to_string).unwrap_or_default();
    let after = after.to_string();
    let plain = |text: &str| text.strip_prefix(BOM).unwrap_or(text).to_owned();
    let diff = diff::unified("", &plain(&before), &plain(&after));
    diff.lines().skip(2).filter(|line| line.starts_with(['+', '-', '\\'])).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{LineBreaks, Splice};

    fn text(text: &str) -> Text {
        Text::new(text, LineBreaks::Lf)
    }

    #[test]
    fn positions_do_not_count_and_content_does() {
        let lines = |before: &str, after: &str| changed_lines(Some(&text(before)), &text(after));
        let once = lines("a\nb\nc\n", "a\nB\nc\n");
        assert_eq!(once, ["-b", "+B"]);
        assert_eq!(once, lines("0\n1\n2\n3\na\nb\nc\n", "0\n1\n2\n3\na\nB\nc\n"));
        assert_ne!(once, lines("a\nb \nc\n", "a\nB\nc\n"));
        assert_eq!(lines("-- a/x\n", "++ b/x\n"), ["--- a/x", "+++ b/x"]);
        assert_eq!(changed_lines(None, &text("a\n")), ["+a"]);
        assert_ne!(changed_lines(None, &text("a\n")), changed_lines(None, &text("a")));
    }

    struct Insert(usize, &'static str);

    impl Rewrite for Insert {
        fn rewrite(&self, _: Option<&Text>) -> Result<Rewritten, Refusal> {
            let splices = vec![Splice { range: self.0..self.0, text: self.1.to_owned() }];
            Ok(Rewritten { splices, ..Rewritten::default() })
        }
    }

    #[test]
    fn a_bound_rewrite_changes_the_same_lines_or_none() {
        let bound = Bound { rewrite: Arc::new(Insert(2, "new\n")), lines: vec!["+new".to_owned()] };
        assert!(bound.rewrite(Some(&text("a\nb\n"))).is_ok());
        let refusal = bound.rewrite(Some(&text("abc\n"))).unwrap_err();
        assert!(needs_new_consent(&refusal));
    }
}
