//! The requests about the tools themselves: their list, and the client's own. All happens at once, in order, so that a call
//! sent after them finds what they say.

use std::sync::Arc;

use serde_json::Value;
use tower_lsp::jsonrpc::Error;

use crate::dispatch::ListToolsParams;
use crate::server::front::Front;
use crate::server::protocol::ListToolsResult;

use super::{Started, at_once, read, write};

impl Front {
    pub(super) fn begin_list(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let params: ListToolsParams = read(params)?;
        Ok(at_once(write(&ListToolsResult { tools: self.rooms.calls.list(&params).to_vec() })))
    }

    pub(super) fn begin_register(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        Ok(at_once(write(&self.rooms.calls.register_tools(read(params)?))))
    }

    pub(super) fn begin_unregister(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        Ok(at_once(write(&self.rooms.calls.unregister_tools(read(params)?))))
    }
}
