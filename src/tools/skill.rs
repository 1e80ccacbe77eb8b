//! `skill`: loads instructions that the user, or a workspace folder that they trust, keeps for a kind of work.

mod expand;
mod found;
mod front;
mod listing;
mod places;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tracing::debug;

use crate::permissions::Trust;
use crate::ports::env;
use crate::tool::{Access, Content, Context, ErrorKind, Outcome, Tool, ToolError, Traits};
use crate::workspace::Workspace;

use expand::{Expanded, expand};
use found::{Found, Skill, files, find};
use listing::{described, missed, named};
use places::{Own, Scope, may_be_skill, places};

/// So many files of a skill are named.
const SHOWN_FILES: usize = 10;

/// Loads a skill: instructions for a kind of work, written by the user or for this project, often with files of their own.
/// Load one before you begin work that it is for; then follow it, and read its files where it says so.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its name.
    #[schemars(example = "code-review")]
    pub name: String,
    /// What it is to work on, where it takes arguments: words, those with spaces in quotes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
}

/// The tool, with what its description says of the skills that there are.
#[derive(Default)]
pub struct SkillTool {
    described: RwLock<String>,
}

#[async_trait]
impl Tool for SkillTool {
    type Arguments = Arguments;

    const TRAITS: Traits<'static> = Traits {
        name: "skill",
        title: "Load a skill",
        capabilities: &[],
        parallel: true,
        deferred: false,
        free_form: None,
        deadline: Duration::from_secs(20),
        aliases: &[
            ("id", "name"),
            ("skill", "name"),
            ("skill_name", "name"),
            ("command", "name"),
            ("args", "arguments"),
        ],
        names: &["load_skill", "use_skill", "slash_command"],
    };

    fn access(&self, _: &Arguments) -> Access {
        Access::default()
    }

    fn validate(&self, arguments: &Arguments) -> Result<(), ToolError> {
        if arguments.name.trim().is_empty() {
            let message = "`name` is empty; give the name of a skill, as the description of this tool lists them.";
            return Err(ToolError::new(ErrorKind::InvalidArguments, message));
        }
        Ok(())
    }

    fn adds(&self) -> String {
        self.described.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn look_again(&self, workspace: &Workspace, trust: &Trust) -> bool {
        let found = look(workspace, trust);
        for fault in &found.faults {
            debug!(fault, "skills");
        }
        let now = described(&found);
        let mut before = self.described.write().unwrap_or_else(PoisonError::into_inner);
        let changed = *before != now;
        *before = now;
        changed
    }

    fn looks_at(&self, name: &str) -> bool {
        may_be_skill(name)
    }

    async fn run(&self, arguments: Arguments, context: &Context) -> Result<Outcome, ToolError> {
        if !context.workspace.settings().skills.enabled {
            let message = "Skills are turned off in the user's settings. Go on without them.";
            return Err(ToolError::new(ErrorKind::Unavailable, message));
        }
        let (workspace, trust) = (Arc::clone(&context.workspace), Arc::clone(&context.trust));
        let loading = tokio::task::spawn_blocking(move || load(&arguments, &workspace, &trust));
        let failed = |error| ToolError::new(ErrorKind::Failed, format!("Looking for skills failed: {error}."));
        loading.await.map_err(failed)?
    }
}

/// The skills that there are now.
fn look(workspace: &Workspace, trust: &Trust) -> Found {
    let path = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let own = Own { home: path("HOME"), config: path("XDG_CONFIG_HOME") };
    let mut folders = workspace.roots().folders;
    folders.retain(|folder| trust.covers(folder));
    find(&*workspace.ports.disk, &places(&workspace.settings().skills, &own, &folders))
}

fn load(arguments: &Arguments, workspace: &Workspace, trust: &Trust) -> Result<Outcome, ToolError> {
    let found = look(workspace, trust);
    let Some(skill) = named(&found, &arguments.name) else {
        let mut message = missed(&found, &arguments.name);
        if workspace.roots().folders.iter().any(|folder| !trust.covers(folder)) {
            message.push_str(" Skills of workspace folders that the person does not trust do not count.");
        }
        // What is there under a name like that and cannot be used is likely what was meant.
        let wanted = arguments.name.trim().trim_start_matches('/').to_lowercase();
        for fault in found.faults.iter().filter(|fault| fault.to_lowercase().contains(&wanted)).take(3) {
            let _ = write!(message, "\n{fault}.");
        }
        return Err(ToolError::new(ErrorKind::NotFound, message));
    };
    Ok(told(skill, arguments.arguments.as_deref(), &files(&*workspace.ports.disk, skill)))
}

/// A skill for the model, with its arguments and the names of its files.
fn told(skill: &Skill, given: Option<&str>, (files, more): &(Vec<String>, bool)) -> Outcome {
    let base = skill.base.display().to_string();
    let Expanded { text, mut notes } = expand(&skill.body, given, &base);
    let whose = match skill.scope {
        Scope::User => "the user's",
        Scope::Project(_) => "this project's",
    };
    notes.extend(skill.front.fault.iter().map(|fault| format!("{}.", sentence(fault))));
    let others =
        skill.others.iter().map(|other| format!("Another skill of this name is not used: {}", other.display()));
    notes.extend(others);
    if skill.body.contains("!`") {
        notes.push(
            "Commands in it that are written as !`command` have not been run; run them if they are needed.".into(),
        );
    }
    let mut out = format!("The skill {} ({whose}). Its folder, where relative paths in it begin: {base}", skill.name);
    for note in &notes {
        let _ = write!(out, "\n({note})");
    }
    let _ = write!(out, "\n\n{}", text.trim_end());
    if !files.is_empty() {
        out.push_str("\n\nFiles of the skill:");
        for file in files.iter().take(SHOWN_FILES) {
            let _ = write!(out, "\n- {file}");
        }
        if let Some(rest) = files.len().checked_sub(SHOWN_FILES).filter(|rest| *rest > 0) {
            let least = if *more { "at least " } else { "" };
            let _ = write!(out, "\n({least}{rest} more)");
        }
    }
    let structured = json!({
        "name": skill.name,
        "file": skill.file.display().to_string(),
        "folder": base,
        "files": files.iter().take(SHOWN_FILES).collect::<Vec<_>>(),
        "fileCount": files.len(),
    });
    Outcome { content: vec![Content::text(out)], structured: Some(structured), ..Outcome::default() }
}

/// A text that begins with a capital letter.
fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}
