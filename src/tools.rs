//! The table of tools: one line a tool, sorted by name.

pub mod agent;
pub mod apply_patch;
pub mod bash;
pub mod edit;
pub mod file_search;
pub mod glob;
pub mod grep;
pub mod invalid;
pub mod ls;
pub mod lsp;
pub mod lsp_edit;
pub mod memory;
pub mod monitor;
pub mod multi_edit;
pub mod output;
pub mod plan_enter;
pub mod plan_exit;
pub mod question;
pub mod read;
pub mod skill;
pub mod todowrite;
pub mod tool_search;
pub mod webfetch;
pub mod websearch;
pub mod write;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use crate::ports::Clock;
use crate::tool::{AnyTool, Context, ErrorKind, Progress, ToolError, erase};
use crate::workspace::View;
use crate::workspace::search::{Besides, Job, Run, Wanted};

/// Every built-in tool.
pub fn table() -> Vec<Arc<dyn AnyTool>> {
    let asked_for = lsp_edit::Collected::default();
    let web = crate::web::Client::default();
    vec![
        erase(agent::AgentTool::default()),
        erase(apply_patch::ApplyPatch), //
        erase(bash::Bash),              //
        erase(edit::Edit),              //
        erase(file_search::FileSearch), //
        erase(glob::Glob),              //
        erase(grep::Grep),              //
        erase(invalid::Invalid),        //
        erase(ls::Ls),                  //
        erase(lsp::Lsp::new(asked_for.clone())),
        erase(lsp_edit::LspEdit::new(asked_for)),
        erase(memory::MemoryTool),    //
        erase(monitor::Monitor),      //
        erase(multi_edit::MultiEdit), //
        erase(output::Output),        //
        erase(plan_enter::PlanEnter), //
        erase(plan_exit::PlanExit),   //
        erase(question::Question),    //
        erase(read::Read),            //
        erase(skill::SkillTool::default()),
        erase(todowrite::TodoWrite),    //
        erase(tool_search::ToolSearch), //
        erase(webfetch::WebFetch::new(web.clone())),
        erase(websearch::WebSearch::new(web)),
        erase(write::Write), //
    ]
}

/// A path that a call gives must say something.
fn named(file_path: &str) -> Result<(), ToolError> {
    if !file_path.trim().is_empty() {
        return Ok(());
    }
    Err(ToolError::new(
        ErrorKind::InvalidArguments,
        "`file_path` is empty; give the path of a file, for example \"src/main.rs\".",
    ))
}

/// What a search below `path` reads, as far as that is not the workspace folders themselves.
fn searched(path: Option<&str>) -> Vec<String> {
    let path = path.filter(|path| !matches!(path.trim(), "" | "." | "./"));
    path.map(str::to_owned).into_iter().collect()
}

/// A search tells so often how far it has come.
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// Runs a search off the runtime's threads, and tells meanwhile how far it has come.
async fn go<T, F>(job: Job, context: &Context, work: F) -> Result<T, ToolError>
where
    T: Send + 'static,
    F: FnOnce(&Job) -> T + Send + 'static,
{
    let run = Arc::clone(&job.run);
    let telling = telling(&run, &context.progress, &*context.workspace.ports.clock);
    tokio::select! {
        biased;
        done = job.go(&context.cancel, work) => Ok(done?),
        never = telling => match never {},
    }
}

async fn telling(run: &Run, progress: &Progress, clock: &dyn Clock) -> Infallible {
    loop {
        clock.sleep(TOLD_EVERY).await;
        progress.report(None, Some(&format!("{} files looked at", run.files())));
    }
}

/// Shows language servers what is really there of a text: what is only proposed, they do not see.
fn show(context: &Context, view: &View) {
    if let Some(real) = view.real() {
        context.languages.look(&real.target, real.language(), &real.text);
    }
}

/// Prepares a search. Links and folders are looked at off the runtime's threads.
async fn job(context: &Context, path: Option<String>, wanted: Wanted, besides: Besides) -> Result<Job, ToolError> {
    let workspace = Arc::clone(&context.workspace);
    let job = tokio::task::spawn_blocking(move || workspace.job(path.as_deref(), &wanted, besides, &[]));
    let failed = |error| ToolError::new(ErrorKind::Failed, format!("Preparing the search failed: {error}."));
    Ok(job.await.map_err(failed)??)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::SystemClock;

    #[tokio::test(start_paused = true)]
    async fn a_long_search_tells_how_far_it_is() {
        let (run, progress) = (Run::default(), Progress::heard());
        let mut said = Vec::new();
        for _ in 0..2 {
            let telling = telling(&run, &progress, &SystemClock);
            assert!(tokio::time::timeout(TOLD_EVERY + TOLD_EVERY / 2, telling).await.is_err());
            said.extend(progress.take().and_then(|told| told.message));
        }
        assert_eq!(said, ["0 files looked at", "0 files looked at"]);
    }
}
