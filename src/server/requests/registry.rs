//! The requests about the tools themselves: their list, and the client's own. Each takes its place in the
//! order at once, so that whatever is sent after it finds what it says; schemas are worked out beside the reader.

use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::Value;
use tower_lsp::jsonrpc::Error;

use crate::server::front::Front;
use crate::server::protocol::ListToolsResult;

use super::{Started, read, uncancelled, write};

impl Front {
    pub(super) fn begin_list(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let listed = Arc::clone(&self.rooms.calls).list(read(params)?);
        Ok(uncancelled(listed.map(|tools| write(&ListToolsResult { tools: tools.to_vec() })).boxed()))
    }

    pub(super) fn begin_register(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let told = Arc::clone(&self.rooms.calls).register_tools(read(params)?);
        Ok(uncancelled(told.map(|told| write(&told)).boxed()))
    }

    pub(super) fn begin_unregister(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let told = Arc::clone(&self.rooms.calls).unregister_tools(read(params)?);
        Ok(uncancelled(told.map(|told| write(&told)).boxed()))
    }
}
