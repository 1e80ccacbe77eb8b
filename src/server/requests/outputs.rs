//! `ropewalk/output`.

use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::Value;
use tower_lsp::jsonrpc::Error;

use crate::server::front::Front;

use super::{Started, read, uncancelled, write};

impl Front {
    pub(super) fn begin_output(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let output = Arc::clone(&self.rooms.calls).output(read(params)?);
        Ok(uncancelled(output.map(|text| write(&text)).boxed()))
    }
}
