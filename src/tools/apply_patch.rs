//! `apply_patch`: a patch over many files, or their whole contents, made as one change.

mod changes;
mod patched;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::write::{after_all, existing, guarded, whole};
use crate::patch::{self, FilePatch, Kind};
use crate::tool::{Access, Capability, Content, Context, ErrorKind, Outcome, Plan, Tool, ToolError, Traits};
use crate::workspace::{Fate, FileChange, Target};
use changes::{Changes, Left};
use patched::{Moded, Patched, refused};

/// Applies a patch to one file or many, in the editor's unsaved buffers where they are open: all of it or nothing. Two
/// formats are understood: `*** Begin Patch` with `*** Add File:`, `*** Update File:` (and `*** Move to:`), `*** Delete
/// File:` and `*** End Patch`; and unified diffs, git's too. Hunks are found by their lines, in their order, and must fit
/// one place; `@@ <a line above>` narrows down where. Line numbers need not be right. Instead of a patch, `changes` gives
/// files their whole new contents.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The patch.
    #[serde(default)]
    #[schemars(
        example = "*** Begin Patch\n*** Update File: src/main.rs\n@@ fn main() {\n-    old();\n+    new();\n*** End Patch\n"
    )]
    pub patch: Option<String>,
    /// Instead of a patch: files and their whole new contents.
    #[serde(default)]
    pub changes: Vec<Item>,
    /// Whether to change nothing and only show what would change.
    #[serde(default)]
    pub dry_run: bool,
}

/// A file and its whole new content.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// The file: an absolute path, one relative to the workspace folder, or the URI of an open document.
    #[schemars(example = "src/main.rs")]
    pub path: String,
    /// The whole new content.
    #[schemars(example = "fn main() {}\n")]
    pub content: String,
}

/// The tool.
pub struct ApplyPatch;

#[async_trait]
impl Tool for ApplyPatch {
    type Arguments = Arguments;

    const TRAITS: Traits<'static> = Traits {
        name: "apply_patch",
        title: "Apply a patch",
        capabilities: &[Capability::ReadsFiles, Capability::WritesFiles],
        parallel: false,
        deferred: false,
        free_form: Some("patch"),
        deadline: Duration::from_mins(1),
        aliases: &[
            ("diff", "patch"),
            ("input", "patch"),
            ("patch_text", "patch"),
            ("files", "changes"),
            ("dryRun", "dry_run"),
            ("preview", "dry_run"),
            ("file_path", "path"),
            ("filePath", "path"),
            ("file", "path"),
            ("text", "content"),
            ("contents", "content"),
        ],
        names: &["patch", "apply_diff"],
    };

    fn access(&self, arguments: &Arguments) -> Access {
        let mut names: Vec<String> = arguments.changes.iter().map(|item| item.path.clone()).collect();
        for file in files(arguments).unwrap_or_default() {
            names.push(file.path);
            names.extend(file.move_to);
        }
        let mut seen = HashSet::with_capacity(names.len());
        let named: Vec<String> = names.into_iter().filter(|name| seen.insert(name.clone())).collect();
        // The answer shows what was there before, as a diff: it is read too.
        let writes = if arguments.dry_run { Vec::new() } else { named.clone() };
        Access { reads: named, writes, ..Access::default() }
    }

    fn validate(&self, arguments: &Arguments) -> Result<(), ToolError> {
        let what = match (&arguments.patch, arguments.changes.as_slice()) {
            (Some(_), []) => return files(arguments).map(drop),
            (None, []) => "neither `patch` nor `changes` came",
            (Some(_), [_, ..]) => "both `patch` and `changes` came",
            (None, changes) => match changes.iter().find(|item| item.path.trim().is_empty()) {
                Some(_) => "a `path` in `changes` is empty",
                None => return Ok(()),
            },
        };
        let message = format!(
            "{what}, and exactly one of them was expected: `patch`, a text that begins with `*** Begin Patch` or a unified \
             diff; or `changes`, a list of {{\"path\": \"src/main.rs\", \"content\": \"...\"}}."
        );
        Err(ToolError::new(ErrorKind::InvalidArguments, message))
    }

    async fn plan(&self, arguments: &Arguments, context: &Context) -> Result<Plan, ToolError> {
        if arguments.dry_run {
            return Ok(Plan::Run);
        }
        let changes = changes(arguments, context).await?;
        Ok(if changes.is_empty() { Plan::Run } else { Plan::Change(changes) })
    }

    async fn run(&self, arguments: Arguments, context: &Context) -> Result<Outcome, ToolError> {
        let changes = context.workspace.compose(&changes(&arguments, context).await?)?;
        let previews = context.workspace.preview_set(&changes).await?;
        let (mut words, mut diffs, mut files) = (Vec::new(), String::new(), Vec::new());
        for (change, preview) in changes.iter().zip(previews) {
            let shown = &change.target.shown;
            words.push(match &change.fate {
                Fate::Deleted => format!("{shown} would be deleted."),
                Fate::Moved { to } => format!("{shown} would be moved to {}.", to.shown),
                Fate::Stays if preview.before.is_none() => format!("{shown} would be made."),
                Fate::Stays => format!("{shown} would be changed."),
            });
            words.extend(preview.rewritten.notes.iter().map(|note| format!("{shown}: {note}.")));
            diffs.push_str(&preview.unified_diff);
            files.push(json!({ "uri": change.target.uri, "hunks": preview.rewritten.hunks }));
        }
        let mut text = words.join("\n");
        if changes.is_empty() {
            "Every file has exactly this content already; nothing was done.".clone_into(&mut text);
        } else {
            text.push_str("\nNothing was changed (dry_run).\n");
            text.push_str(&diffs);
        }
        Ok(Outcome {
            content: vec![Content::text(text)],
            structured: Some(json!({ "changed": false, "files": files })),
            ..Outcome::default()
        })
    }
}

/// The files of the patch; none without one.
fn files(arguments: &Arguments) -> Result<Vec<FilePatch>, ToolError> {
    let Some(text) = &arguments.patch else { return Ok(Vec::new()) };
    patch::parse(text).map_err(|fault| refused(fault, None).into())
}

/// All changes that a call asks for, in its order; those of one file that follow one another are one.
async fn changes(arguments: &Arguments, context: &Context) -> Result<Vec<FileChange>, ToolError> {
    let mut changes = Changes::default();
    for item in &arguments.changes {
        let target = resolve(context, &item.path).await?;
        put(context, target, &item.content, &mut changes).await?;
    }
    // Updates of one file wait for the next, which may be of the same.
    let mut waiting: Option<(Target, Vec<FilePatch>)> = None;
    for file in files(arguments)? {
        let target = resolve(context, &file.path).await?;
        let plain = file.kind == Kind::Update && file.move_to.is_none();
        if let Some((same, patches)) = waiting.as_mut().filter(|(same, _)| plain && same.key == target.key) {
            tracing::debug!(uri = same.uri, "a patch changes a file twice");
            patches.push(file);
            continue;
        }
        if let Some((target, patches)) = waiting.take() {
            changes.push(update(target, patches, Fate::Stays));
        }
        if plain {
            waiting = Some((target, vec![file]));
        } else {
            other(context, target, file, &mut changes).await?;
        }
    }
    if let Some((target, patches)) = waiting {
        changes.push(update(target, patches, Fate::Stays));
    }
    Ok(changes.into_all())
}

fn update(target: Target, patches: Vec<FilePatch>, fate: Fate) -> FileChange {
    let label = format!("patch {}", target.shown);
    let rewrite = Arc::new(Patched { shown: target.shown.clone(), patches });
    FileChange { target, rewrite, label, fate }
}

/// Gives a file a whole content, behind what the call has done with it before.
async fn put(context: &Context, target: Target, content: &str, changes: &mut Changes) -> Result<(), ToolError> {
    let there = match changes.left(&target.key) {
        Left::Untouched => {
            if let Some(change) = whole(context, target, content).await? {
                changes.push(change);
            }
            return Ok(());
        }
        Left::Nothing => false,
        Left::Own => true,
        Left::Of(first) => {
            guard(context, changes.get_mut(first)).await?;
            true
        }
    };
    changes.push(after_all(target, content, there));
    Ok(())
}

/// The text that a change begins with is lost by what comes later: it must be known.
async fn guard(context: &Context, change: Option<&mut FileChange>) -> Result<(), ToolError> {
    let Some(change) = change else { return Ok(()) };
    if let Some(view) = existing(context, &change.target).await? {
        *change = guarded(context, &view, change.clone())?;
    }
    Ok(())
}

/// Adds what makes, deletes, moves or copies a file to the changes before it.
async fn other(context: &Context, target: Target, file: FilePatch, changes: &mut Changes) -> Result<(), ToolError> {
    match (file.kind, &file.move_to) {
        (Kind::Delete, _) => {
            // Lines that the patch deletes prove themselves; without any, what goes must be known.
            let proven = !file.hunks.is_empty();
            let mut change = update(target, vec![file], Fate::Deleted);
            match changes.left(&change.target.key) {
                Left::Untouched => {
                    let view = context.workspace.view(&change.target).await?;
                    if !proven {
                        change = guarded(context, &view, change)?;
                    }
                }
                Left::Of(first) if !proven => guard(context, changes.get_mut(first)).await?,
                Left::Of(_) | Left::Own | Left::Nothing => {}
            }
            changes.push(change);
        }
        (Kind::Copy, Some(to)) => {
            let to = resolve(context, to).await?;
            let text = context.workspace.view(&target).await?.text.to_string();
            let executable = match file.executable() {
                None => runs(context, &target).await.then_some(true),
                said => said,
            };
            let patched = Patched { shown: target.shown.clone(), patches: vec![file] };
            let content = patched.content(&text)?;
            put_with_mode(context, to, (&content, executable), changes).await?;
        }
        (Kind::Update, Some(to)) => {
            let to = resolve(context, to).await?;
            if to.key != target.key && !changes.give_up(&to.key) && existing(context, &to).await?.is_some() {
                let message = format!(
                    "{} was not moved to {}, and nothing was changed: there is a file already. Delete that one first, or \
                     move to another name.",
                    target.shown, to.shown
                );
                return Err(ToolError::new(ErrorKind::Conflict, message));
            }
            let fate = if to.key == target.key { Fate::Stays } else { Fate::Moved { to } };
            changes.push(update(target, vec![file], fate));
        }
        (Kind::Add | Kind::Update | Kind::Copy, _) => {
            let content = patch::apply(None, &file).map_err(|fault| refused(fault, Some(&target.shown)))?;
            let content: String = content.splices.into_iter().map(|splice| splice.text).collect();
            put_with_mode(context, target, (&content, file.executable()), changes).await?;
        }
    }
    Ok(())
}

/// The same as [`put`], and whether the file can be run where that is said.
async fn put_with_mode(
    context: &Context,
    target: Target,
    (content, executable): (&str, Option<bool>),
    changes: &mut Changes,
) -> Result<(), ToolError> {
    let count = changes.len();
    put(context, target.clone(), content, changes).await?;
    let Some(executable) = executable else { return Ok(()) };
    if let Some(last) = changes.get_mut(count) {
        last.rewrite = Arc::new(Moded { then: Some(Arc::clone(&last.rewrite)), executable });
    } else {
        // Its content is this already.
        let label = format!("patch {}", target.shown);
        changes.push(FileChange {
            target,
            rewrite: Arc::new(Moded { then: None, executable }),
            label,
            fate: Fate::Stays,
        });
    }
    Ok(())
}

/// Whether a file can be run, as the session sees it; one that is not on the disk, or cannot be looked at, cannot.
async fn runs(context: &Context, target: &Target) -> bool {
    let (workspace, target) = (Arc::clone(&context.workspace), target.clone());
    tokio::task::spawn_blocking(move || workspace.runs(&target)).await.unwrap_or(false)
}

/// Resolves a name off the runtime's threads: links are looked up on the disk.
async fn resolve(context: &Context, name: &str) -> Result<Target, ToolError> {
    if name.trim().is_empty() {
        return Err(ToolError::new(ErrorKind::InvalidArguments, "A path is empty; name the file."));
    }
    let (workspace, name) = (Arc::clone(&context.workspace), name.to_owned());
    let target = tokio::task::spawn_blocking(move || workspace.resolve(&name)).await;
    let failed = |error| ToolError::new(ErrorKind::Failed, format!("Looking a file up failed: {error}."));
    Ok(target.map_err(failed)??)
}
