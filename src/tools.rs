//! The table of tools: one line a tool, sorted by name.

pub mod edit;
pub mod file_search;
pub mod glob;
pub mod grep;
pub mod invalid;
pub mod ls;
pub mod multi_edit;
pub mod output;
pub mod read;
pub mod todowrite;
pub mod tool_search;
pub mod write;

use std::sync::Arc;

use crate::tool::{AnyTool, Context, ErrorKind, ToolError, erase};
use crate::workspace::search::{Besides, Job, Wanted};

/// Every built-in tool.
pub fn table() -> Vec<Arc<dyn AnyTool>> {
    vec![
        erase(edit::Edit),              //
        erase(file_search::FileSearch), //
        erase(glob::Glob),              //
        erase(grep::Grep),              //
        erase(invalid::Invalid),        //
        erase(ls::Ls),                  //
        erase(multi_edit::MultiEdit),   //
        erase(output::Output),          //
        erase(read::Read),              //
        erase(todowrite::TodoWrite),    //
        erase(tool_search::ToolSearch), //
        erase(write::Write),            //
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

/// Prepares a search. Links and folders are looked at off the runtime's threads.
async fn job(context: &Context, path: Option<String>, wanted: Wanted, besides: Besides) -> Result<Job, ToolError> {
    let workspace = Arc::clone(&context.workspace);
    let job = tokio::task::spawn_blocking(move || workspace.job(path.as_deref(), &wanted, besides, &[]));
    let failed = |error| ToolError::new(ErrorKind::Failed, format!("Preparing the search failed: {error}."));
    Ok(job.await.map_err(failed)??)
}
