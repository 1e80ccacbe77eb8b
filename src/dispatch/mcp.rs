//! MCP servers among the tools: looked for in the settings, started for those who need them, their tools joining and
//! leaving in the order of all such things.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::editor::{News, ToolsChanged};
use crate::mcp::{CALL_PATIENCE, LIST_PATIENCE, Mcp, SEARCH_PATIENCE, meant};
use crate::sessions::Session;
use crate::sessions::requests::McpStatus;

use super::Dispatch;
use super::catalog::{Joined, lock};

/// The tool that finds others.
const SEARCH: &str = "tool_search";

/// The servers, and what joined of their tools.
#[derive(Default)]
pub(super) struct Servers {
    mcp: OnceLock<Arc<Mcp>>,
    /// By name, what tells each from another of its name.
    joined: Mutex<BTreeMap<String, String>>,
}

impl Dispatch {
    /// Takes the tools of MCP servers in. Only the first ones are taken.
    pub fn serve_mcp(self: &Arc<Self>, mcp: Arc<Mcp>) {
        let me = Arc::downgrade(self);
        mcp.listen(Box::new(move || {
            if let Some(me) = me.upgrade() {
                drop(me.in_turn(Dispatch::rejoin));
            }
        }));
        if self.servers.mcp.set(mcp).is_err() {
            warn!("there are MCP servers already");
        }
    }

    /// The settings, the folders, trust in them, or their files are others: the servers are looked for anew. What comes
    /// after this sees what became of it. Must be called on the runtime.
    pub fn configured(&self) {
        let (Some(mcp), Some(me)) = (self.servers.mcp.get().cloned(), self.me.upgrade()) else { return };
        if mcp.unused() && self.joining.pending().is_none() {
            return;
        }
        let turn = self.joining.turn();
        tokio::spawn(async move {
            turn.comes().await;
            if mcp.look().await {
                let joining = tokio::task::spawn_blocking(move || me.rejoin());
                // A panic was told where it happened.
                let _ = joining.await;
            }
            drop(turn);
        });
    }

    /// How the servers do.
    pub(super) fn mcp_status(&self) -> Vec<McpStatus> {
        self.servers.mcp.get().map(|mcp| mcp.status()).unwrap_or_default()
    }

    /// All servers end; comes back when they have.
    pub(super) async fn servers_ended(&self) {
        if let Some(mcp) = self.servers.mcp.get() {
            mcp.end().await;
        }
    }

    /// The servers whose tools a list is to have, if there are any to wait for.
    pub(super) fn servers_in_list(&self, include_deferred: bool) -> Option<Arc<Mcp>> {
        self.servers.mcp.get().filter(|mcp| mcp.in_list(include_deferred)).cloned()
    }

    /// A list needs these servers: comes back when they are there, or will not be for a while.
    pub(super) async fn servers_listed(&self, mcp: &Mcp, session: &Arc<Session>, include_deferred: bool) {
        mcp.want(session, !include_deferred);
        mcp.settled(LIST_PATIENCE).await;
        self.joining.after(self.joining.mark()).await;
    }

    /// A call needs the servers if it searches tools, or may mean one of theirs that is not there yet: comes back when
    /// they are there, or will not be for a while, or the call is cancelled.
    pub(super) async fn servers_called(&self, session: &Arc<Session>, name: &str, cancel: &CancellationToken) {
        let Some(mcp) = self.servers.mcp.get().filter(|mcp| !mcp.is_empty()) else { return };
        let found = self.tools.find(session, name).map(|entry| entry.traits().name.to_owned());
        let searches = found.as_deref() == Ok(SEARCH);
        let there = found.is_ok_and(|found| lock(&self.servers.joined).contains_key(&found));
        if !searches && (there || !meant(name)) {
            return;
        }
        mcp.want(session, false);
        tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            () = mcp.settled(if searches { SEARCH_PATIENCE } else { CALL_PATIENCE }) => {}
        }
        self.joining.after(self.joining.mark()).await;
    }

    /// The tools of the servers are what they are by now.
    fn rejoin(&self) {
        let Some(mcp) = self.servers.mcp.get() else { return };
        let tools = mcp.tools();
        let mut joined = lock(&self.servers.joined);
        let now: BTreeMap<&str, &str> =
            tools.iter().map(|(tool, _, identity)| (tool.traits().name, identity.as_str())).collect();
        let gone: Vec<String> = joined
            .iter()
            .filter(|(name, identity)| now.get(name.as_str()) != Some(&identity.as_str()))
            .map(|(name, _)| name.clone())
            .collect();
        joined.retain(|name, _| !gone.contains(name));
        let left = self.tools.leave_all(&gone);
        let new: Vec<_> = tools.iter().filter(|(tool, ..)| !joined.contains_key(tool.traits().name)).collect();
        let became = self.tools.join_all(new.iter().map(|(tool, rule, _)| (Arc::clone(tool), *rule)), usize::MAX);
        let mut any = !left.is_empty();
        for ((tool, _, identity), became) in new.into_iter().zip(became) {
            let name = tool.traits().name.to_owned();
            match became {
                Ok(Joined::Usable | Joined::Unfit { .. }) => {
                    any = true;
                    joined.insert(name, identity.clone());
                }
                Err(why) => warn!(tool = name, why, "a tool of an MCP server that cannot join"),
            }
        }
        drop(joined);
        if any {
            self.workspace.editor.tell(News::Tools(ToolsChanged::default()));
        }
    }
}
