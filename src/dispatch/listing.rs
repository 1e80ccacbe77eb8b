//! The list of tools, when it is asked for.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::{Dispatch, ListToolsParams, ListedTool, ToolInfo};

impl Dispatch {
    /// The tools, sorted, byte for byte the same each time.
    pub fn list_tools(&self, params: &ListToolsParams) -> Vec<ToolInfo> {
        let session = self.session(params.session_id.as_deref());
        self.tools.listed(&session, params.include_deferred).iter().map(|entry| entry.info()).collect()
    }

    /// The tools in the form that was asked for; made once for as long as it is the same. It is the list of now, unless
    /// what was kept of the session, or tools that came before, are still awaited.
    pub fn list(self: &Arc<Self>, params: ListToolsParams) -> BoxFuture<'static, Arc<[ListedTool]>> {
        let session = self.session(params.session_id.as_deref());
        let mark = self.joining.mark();
        let servers = self.servers_in_list(params.include_deferred);
        if session.is_ready() && self.joining.past(mark) && servers.is_none() {
            return std::future::ready(self.tools.list(&session, &params)).boxed();
        }
        let me = Arc::clone(self);
        async move {
            session.ready(&*me.workspace.ports.clock).await;
            me.joining.after(mark).await;
            // Which there are may only be known now.
            if let Some(servers) = me.servers_in_list(params.include_deferred) {
                me.servers_listed(&servers, &session, params.include_deferred).await;
            }
            me.tools.list(&session, &params)
        }
        .boxed()
    }
}
