//! Requests about several calls at once and about work in the background.

use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::Value;
use tower_lsp::jsonrpc::Error;

use crate::jobs::Jobs;
use crate::sessions::DEFAULT_SESSION;

use super::super::front::Front;
use super::super::protocol::{JobOutputParams, JobsParams, JobsResult, StopJobParams, StopJobResult};
use super::named::toolless;
use super::{Started, at_once, read, write};

impl Front {
    pub(super) fn begin_batch(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let batch = read(params)?;
        let mut calls = params["calls"].as_array().into_iter().flatten().enumerate();
        if let Some(why) = calls.find_map(|(at, call)| toolless(&format!("calls[{at}]."), call)) {
            return Err(Error::invalid_params(why));
        }
        let begun = Arc::clone(&self.rooms.calls).begin_batch(batch);
        Ok(Started { cancel: begun.cancel, rest: begun.result.map(|result| write(&result)).boxed() })
    }

    pub(super) fn begin_jobs(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let JobsParams { session_id } = read(params)?;
        let jobs = self.rooms.calls.jobs().map(|jobs| jobs.list(session(session_id.as_deref()))).unwrap_or_default();
        Ok(at_once(write(&JobsResult { jobs })))
    }

    pub(super) fn begin_job_output(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let JobOutputParams { session_id, id, cursor } = read(params)?;
        let of = |jobs: Arc<Jobs>| jobs.output(session(session_id.as_deref()), &id, cursor);
        let output = self.rooms.calls.jobs().and_then(of).ok_or_else(|| unknown(&id))?;
        Ok(at_once(write(&output)))
    }

    pub(super) fn begin_stop_job(self: &Arc<Self>, params: &Value) -> Result<Started, Error> {
        let StopJobParams { session_id, id } = read(params)?;
        let stop = |jobs: Arc<Jobs>| jobs.stop(session(session_id.as_deref()), &id);
        let stopped = self.rooms.calls.jobs().and_then(stop).ok_or_else(|| unknown(&id))?;
        Ok(at_once(write(&StopJobResult { stopped })))
    }
}

fn session(id: Option<&str>) -> &str {
    id.unwrap_or(DEFAULT_SESSION)
}

fn unknown(id: &str) -> Error {
    Error::invalid_params(format!("there is no job {id:?} in this session; `ropewalk/jobs` lists those there are"))
}
