//! What a call would do now: where it reaches, and which lines it would change. Changes nothing.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use tracing::warn;

use crate::permissions::{
    DecisionKind, Footing, Judgement, Line, Place, Policy, Program, Reach, Rule, credential, credential_for, judge,
    suggest, visible,
};
use crate::sessions::Session;
use crate::text::{BOM, Text, diff};
use crate::tool::{Access, Context, ErrorKind, Plan, ToolError, Vouched};
use crate::workspace::commit::Rewrite;
use crate::workspace::{Fate, FileChange, Key, Preview, Refusal, RefusalKind, Rewritten, Target, Workspace};

use super::call::AccessInfo;
use super::catalog::Entry;
use super::execute::Limits;
use super::gate;
use super::lines::{Look, Looked};
use super::own::Own;
use super::project::Project;

/// Where a call reaches and what the rules say of that, before anything is read for it.
pub(super) struct Outline {
    pub reads: Vec<Target>,
    pub writes: Vec<Target>,
    pub access: Access,
    /// The command lines that it runs, looked into.
    pub lines: Vec<Line>,
    /// What looks like a credential in its arguments, where it may leave by the call.
    credential: Option<&'static str>,
    /// Where a text of the turn came from that came from elsewhere, where that matters.
    external: Option<String>,
    /// What consent is bound to besides.
    bound: Vec<String>,
    /// Whether somebody vouches for it.
    vouched: Vouched,
    /// What is held back besides the user's rules.
    held_back: HeldBack,
    /// The trust that its command lines were judged by.
    pub footing: Footing,
    pub judgement: Judgement,
}

/// What is held back besides the user's rules.
#[derive(Default)]
struct HeldBack {
    /// By the workspace folders themselves.
    project: Project,
    /// The places of the user's own settings file.
    own: Vec<PathBuf>,
}

/// A call at one moment: what it reaches, what the rules say, and what it would do, or why it cannot.
pub(super) struct Proposal {
    pub outline: Outline,
    pub plan: Result<Planned, ToolError>,
}

impl Consented {
    /// Whether another one reaches the same files and documents, and runs the same commands on the same machines.
    pub(super) fn reaches_as(&self, other: &Consented) -> bool {
        self.targets == other.targets && self.commands == other.commands && self.said == other.said
    }
}

/// What a call would do.
pub(super) enum Planned {
    /// Run the tool.
    Run,
    /// Make these changes.
    Change(Vec<(FileChange, Preview)>),
}

/// What a person consents to: exactly these targets, exactly these lines, wherever they are by then, and of commands the
/// folder they run in and what the programs hold that they bring with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Consented {
    targets: Vec<(Key, Vec<PathBuf>)>,
    lines: Vec<String>,
    commands: Vec<(PathBuf, Vec<Program>)>,
    /// Command lines, machines, memories and what bears on these.
    said: Vec<String>,
}

/// Works out what a call reaches by its names alone. The error is a name that means nothing.
pub(super) async fn outline(
    entry: &Entry,
    arguments: &serde_json::Value,
    context: &Context,
    own: &Own,
    turn: Option<&str>,
) -> Result<Outline, ToolError> {
    let mut access = entry.tool.access_in(arguments, &context.workspace.settings());
    let runs = entry.rule == Rule::Shell && !access.commands.is_empty();
    let look = runs.then(|| Look {
        workspace: Arc::clone(&context.workspace),
        programs: Arc::clone(&context.programs),
        trust: Arc::clone(&context.trust),
    });
    let (mut reads, mut writes, looked, held_back) =
        resolve(&context.workspace, &access, look, (arguments, own)).await?;
    let Looked { lines, reads: read, writes: written, footing } = looked;
    for (asked, target) in read {
        access.reads.push(asked);
        reads.push(target);
    }
    for (asked, target) in written {
        access.writes.push(asked);
        writes.push(target);
    }
    for host in lines.iter().flat_map(|line| &line.analysis.hosts) {
        if !access.hosts.contains(host) {
            access.hosts.push(host.clone());
        }
    }
    let to_server = matches!(entry.rule, Rule::Mcp { .. });
    let leaves = to_server
        || !access.hosts.is_empty()
        || lines.iter().any(|line| line.analysis.network)
        || writes.iter().any(|target| !target.inside);
    let credential = leaves.then(|| held(arguments)).flatten();
    // One that characters that nobody sees hide leaves without them.
    let credential = credential.or_else(|| to_server.then(|| held(&crate::mcp::as_sent(arguments))).flatten());
    let remembers = !access.memories.is_empty();
    let external = remembers.then(|| context.session.heard_from(turn)).flatten();
    let bound = entry.tool.bound_to(arguments).iter().map(|line| visible(line)).collect();
    let vouched = entry.tool.vouched(arguments, &context.session);
    let judgement = Judgement::unknown(entry.rule);
    let mut outline =
        Outline { reads, writes, access, lines, credential, external, bound, vouched, held_back, footing, judgement };
    outline.judgement = judged(entry, context, &outline);
    Ok(outline)
}

/// What looks like a credential in the texts of some arguments.
fn held(arguments: &serde_json::Value) -> Option<&'static str> {
    match arguments {
        serde_json::Value::String(text) => credential(text),
        serde_json::Value::Array(items) => items.iter().find_map(held),
        serde_json::Value::Object(fields) => fields.iter().find_map(|(name, value)| match value {
            serde_json::Value::String(text) => credential_for(name, text),
            value => held(value),
        }),
        _ => None,
    }
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
    let mut outline = outline;
    let writes = &mut outline.writes;
    let named = writes.len();
    if let Ok(Planned::Change(changes)) = &plan {
        let mut known: HashSet<(Key, Vec<PathBuf>)> = writes.iter().map(reached).collect();
        for target in changes.iter().flat_map(|(change, _)| ends(change)) {
            // Of one key, but by now of other files: a link has changed since.
            if known.insert(reached(target)) {
                writes.push(target.clone());
            }
        }
    }
    if writes.len() > named {
        if writes.iter().any(|target| !target.inside) {
            outline.credential = held(arguments);
        }
        outline.judgement = judged(entry, context, &outline);
    }
    Ok(Proposal { outline, plan })
}

/// What tells one place from another: its key, and the files that this leads to.
fn reached(target: &Target) -> (Key, Vec<PathBuf>) {
    (target.key.clone(), target.paths.clone())
}

/// The files that a change reaches: where one is, and where it is moved to.
fn ends(change: &FileChange) -> Vec<&Target> {
    match &change.fate {
        Fate::Stays | Fate::Deleted => vec![&change.target],
        Fate::Moved { to } => vec![&change.target, to],
    }
}

fn judged(entry: &Entry, context: &Context, outline: &Outline) -> Judgement {
    let (reach, policy) = (outline.reach(entry.rule), policy(context, &outline.held_back));
    let mut usual = judge(entry.traits().name, outline.rule(entry), &reach, &policy);
    if let Vouched::Changed(what) = &outline.vouched
        && usual.decision == DecisionKind::Ask
    {
        usual.reason = format!("{}: {what}", usual.reason);
    }
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
    suggest(entry.traits().name, outline.rule(entry), &outline.reach(entry.rule), &policy(context, &outline.held_back))
}

fn policy(context: &Context, held_back: &HeldBack) -> Policy {
    policy_of(&context.session, &context.workspace, held_back)
}

fn policy_of(session: &Session, workspace: &Workspace, held_back: &HeldBack) -> Policy {
    let policy = session.policy(&workspace.settings(), &workspace.roots().folders);
    let policy = Policy { state: workspace.state_dir(), own: held_back.own.clone(), ..policy };
    held_back.project.within(policy)
}

/// What the rules say of machines that a call comes to while it runs, and of what it would send there.
pub(super) async fn further(
    entry: &Entry,
    access: Access,
    session: &Session,
    (workspace, own): (&Arc<Workspace>, &Own),
) -> Result<Judgement, ToolError> {
    let (.., held_back) = resolve(workspace, &Access::default(), None, (&serde_json::Value::Null, own)).await?;
    let Access { commands, hosts, .. } = access;
    let reach = Reach { commands, hosts, ..Reach::default() };
    Ok(judge(entry.traits().name, entry.rule, &reach, &policy_of(session, workspace, &held_back)))
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

/// The targets of the names, the command lines looked into, and what is held back besides the user's rules. All of it asks
/// the disk, which may be slow.
async fn resolve(
    workspace: &Arc<Workspace>,
    access: &Access,
    look: Option<Look>,
    (arguments, own): (&serde_json::Value, &Own),
) -> Result<(Vec<Target>, Vec<Target>, Looked, HeldBack), ToolError> {
    let (workspace, access) = (Arc::clone(workspace), access.clone());
    let arguments = if look.is_some() { arguments.clone() } else { serde_json::Value::Null };
    let own = own.clone();
    let resolved = tokio::task::spawn_blocking(move || -> Result<_, Refusal> {
        // Before anything is judged by what it says.
        own.look();
        let all = |names: &[String]| names.iter().map(|name| workspace.resolve(name)).collect::<Result<Vec<_>, _>>();
        let looked = look.map(|look| look.at(&access.commands, &arguments)).transpose()?;
        let folders = workspace.roots().folders;
        let project = Project::of(&*workspace.ports.disk, folders.iter().map(std::path::PathBuf::as_path));
        let held_back = HeldBack { project, own: own.places(&workspace) };
        Ok((all(&access.reads)?, all(&access.writes)?, looked.unwrap_or_default(), held_back))
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
    /// The rule for the call: that of its tool, unless that hangs on who vouches for it.
    fn rule(&self, entry: &Entry) -> Rule {
        match entry.rule {
            Rule::Mcp { reads, .. } => Rule::Mcp { reads, trusted: self.vouched == Vouched::Yes },
            rule => rule,
        }
    }

    /// Whether what it shows may come from other machines though nothing marks it: a command that fetches.
    pub(super) fn fetches(&self) -> bool {
        self.lines.iter().any(|line| line.analysis.network || !line.analysis.hosts.is_empty())
    }

    /// What the call reaches, for the decision on it.
    fn reach(&self, rule: Rule) -> Reach {
        Reach {
            reads: places(&self.reads, &self.access.reads),
            writes: places(&self.writes, &self.access.writes),
            lines: self.lines.clone(),
            commands: if rule == Rule::Shell { Vec::new() } else { self.access.commands.clone() },
            hosts: self.access.hosts.clone(),
            credential: self.credential,
            memories: self.access.memories.clone(),
            external: self.external.clone(),
        }
    }

    /// Every file, document, command and host, resolved, for a person to see; of commands also the folder they run in and
    /// the programs that they bring with them.
    pub(super) fn targets(&self) -> Vec<String> {
        let files = self.reads.iter().chain(&self.writes).flat_map(|target| {
            let document = match &target.key {
                Key::File(_) => None,
                Key::Unnamed(uri) => Some(uri.clone()),
            };
            target.paths.iter().map(|path| path.to_string_lossy().into_owned()).chain(document)
        });
        let programs = self.lines.iter().flat_map(|line| {
            let paths = std::iter::once(&line.workdir).chain(line.programs.iter().map(|program| &program.path));
            paths.map(|path| path.to_string_lossy().into_owned())
        });
        let mut seen = HashSet::new();
        let mut targets: Vec<String> = files.chain(programs).filter(|shown| seen.insert(shown.clone())).collect();
        targets.extend(self.access.commands.iter().chain(&self.access.hosts).chain(&self.bound).cloned());
        targets.extend(self.access.memories.iter().map(|memory| format!("memory {memory}")));
        targets.iter().map(|target| visible(target)).collect()
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
        let begin = |line: &Line| match &line.shared {
            Some(begin) => (true, format!("{begin:?}")),
            None => (false, line.line.clone()),
        };
        let lines: Vec<_> = self.lines.iter().map(|line| (begin(line), &line.workdir, &line.programs)).collect();
        if !self.access.memories.is_empty() {
            return format!("{:?}", (tool, &self.access.memories));
        }
        let others: &[String] = if lines.is_empty() { &self.access.commands } else { &[] };
        if !lines.is_empty() {
            // A command reaches other files of the workspace folders each time; what it reaches elsewhere was consented to.
            let outside = |targets: &[Target]| {
                let outside: Vec<Target> = targets.iter().filter(|target| !target.inside).cloned().collect();
                reached(&outside)
            };
            let parts = (tool, outside(&self.reads), outside(&self.writes), lines, &self.access.hosts);
            return format!("{parts:?}");
        }
        let parts = (tool, reached(&self.reads), reached(&self.writes), others, &self.access.hosts);
        if self.bound.is_empty() { format!("{parts:?}") } else { format!("{parts:?} {:?}", self.bound) }
    }

    /// What one consent covers of it, for a person to see: as [`Outline::targets`], commands by how they begin.
    pub(super) fn covered(&self) -> Vec<String> {
        let mut covered = self.targets();
        for line in &self.lines {
            if let Some(begins) = &line.shared {
                let shown = visible(&line.line);
                covered.retain(|target| *target != shown);
                covered.extend(begins.iter().map(|begin| format!("{} ...", begin.join(" "))));
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
        let targets = targets.map(reached).collect();
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
        let commands = self.outline.lines.iter().map(|line| (line.workdir.clone(), line.programs.clone())).collect();
        let access = &self.outline.access;
        let said = access.commands.iter().chain(&access.hosts).chain(&self.outline.bound).chain(&access.memories);
        // Who agreed before a text came from elsewhere did not agree to what that may want.
        let said = said.chain(&self.outline.external).cloned().collect();
        Consented { targets, lines, commands, said }
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
