//! A person's word on what is proposed.

use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::Value;
use tower_lsp::jsonrpc::Error;

use crate::server::front::Front;

use super::sessions::refused;
use super::{Started, read_choice, uncancelled, write};

impl Front {
    pub(super) fn begin_accept(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let accepted = Arc::clone(&self.rooms.calls).accept(read_choice(params)?);
        let answer = accepted.map(|done| done.map_err(|error| refused(&error)).and_then(|result| write(&result)));
        Ok(uncancelled(answer.boxed()))
    }

    pub(super) fn begin_reject(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let rejected = Arc::clone(&self.rooms.calls).reject(read_choice(params)?);
        let answer = rejected.map(|done| done.map_err(|error| refused(&error)).and_then(|result| write(&result)));
        Ok(uncancelled(answer.boxed()))
    }
}
