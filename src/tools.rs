//! The table of tools: one line a tool, sorted by name.

pub mod edit;
pub mod invalid;
pub mod multi_edit;
pub mod output;
pub mod read;
pub mod todowrite;
pub mod tool_search;
pub mod write;

use std::sync::Arc;

use crate::tool::{AnyTool, ErrorKind, ToolError, erase};

/// Every built-in tool.
pub fn table() -> Vec<Arc<dyn AnyTool>> {
    vec![
        erase(edit::Edit),              //
        erase(invalid::Invalid),        //
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
