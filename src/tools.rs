//! The table of tools: one line a tool, sorted by name.

pub mod edit;

use std::sync::Arc;

use crate::tool::AnyTool;

/// Every built-in tool.
pub fn table() -> Vec<Arc<dyn AnyTool>> {
    vec![]
}
