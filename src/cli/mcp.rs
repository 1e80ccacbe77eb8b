//! `ropewalk mcp`: the tools for a client of MCP over standard input and output, on the disk or in the editor.

use std::path::{Path, PathBuf};

use clap::Args;
use ropewalk::bridge::{self, Alone, join, serve_alone};
use ropewalk::config::Settings;
use ropewalk::permissions::Rules;
use ropewalk::ports::{self, Disk as _, Ports, SystemClock, SystemDisk};
use ropewalk::tool::{SOCKET_VARIABLE, TOKEN_VARIABLE};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Common, complain, own_file, state_dir, told_to_end};

/// `ropewalk mcp`
#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// Join the editor that has the folder open: calls then see and change its open documents, saved or not, and its
    /// user is asked whether you may.
    #[arg(long)]
    connect: bool,
    /// The workspace folder; without it: the current directory (or, without `--connect`, the folders that the client
    /// names).
    #[arg(long, value_name = "FOLDER")]
    root: Option<PathBuf>,
    /// Join the sidecar of this socket.
    #[arg(long, value_name = "PATH", requires = "connect", conflicts_with = "editor")]
    socket: Option<PathBuf>,
    /// Of several editors, join the one of this process number, or with this in its name.
    #[arg(long, value_name = "NUMBER|NAME", requires = "connect")]
    editor: Option<String>,
    /// Let calls pass without asking: a rule as in `permissions.allow`, for instance `bash(cargo test:*)`. Can be given
    /// more than once. In the editor its own settings hold.
    #[arg(long, value_name = "RULE", conflicts_with = "connect")]
    allow: Vec<String>,
}

/// Exit codes.
mod code {
    pub(super) const OK: u8 = 0;
    pub(super) const FAILED: u8 = 1;
    pub(super) const USAGE: u8 = 2;
}

/// Runs until the client hangs up, or the editor is gone.
pub(crate) async fn run(common: &Common, words: Mcp) -> u8 {
    let root = words.root.clone().map_or_else(ports::current_dir, Ok).and_then(|root| SystemDisk.canonicalize(&root));
    let root = match root {
        Ok(root) => root,
        Err(error) => {
            complain(&format!("no workspace folder: {error}"));
            return code::USAGE;
        }
    };
    let invited = match (ports::env(SOCKET_VARIABLE), ports::env(TOKEN_VARIABLE)) {
        (Some(socket), Some(token)) => Some(join::Way { socket: PathBuf::from(socket), token }),
        _ => None,
    };
    match (invited, words.connect) {
        // Who started us has chosen already.
        (Some(way), _) if words.socket.is_none() && words.editor.is_none() => joined(Ok(way)).await,
        (_, true) => joined(way(&root, &words)).await,
        (_, false) => alone(common, words, root).await,
    }
}

fn way(root: &Path, words: &Mcp) -> Result<join::Way, String> {
    let socket = words.socket.as_ref().map(std::path::absolute).transpose().map_err(|error| error.to_string())?;
    join::way(&bridge::own_folder(), root, words.editor.as_deref(), socket.as_deref())
}

async fn joined(way: Result<join::Way, String>) -> u8 {
    let joined = match way {
        Ok(way) => join::join(&way, join::caller(), &SystemClock).await,
        Err(why) => Err(why),
    };
    match joined {
        Ok(joined) => {
            tokio::select! {
                () = join::pass_on(joined, tokio::io::stdin(), tokio::io::stdout()) => code::OK,
                signalled = told_to_end() => signalled,
            }
        }
        Err(why) => {
            complain(&why);
            join::decline(tokio::io::stdin(), tokio::io::stdout(), &why, &SystemClock).await;
            code::FAILED
        }
    }
}

async fn alone(common: &Common, words: Mcp, root: PathBuf) -> u8 {
    let (settings, remarks) = Settings::parse(&json!({ "permissions": { "allow": words.allow } }));
    let rules = Rules::read(&settings.permissions.allow, &settings.permissions.ask, &settings.permissions.deny);
    let faults = rules.faults().iter().map(|fault| format!("the rule {:?} cannot be read: {}", fault.rule, fault.why));
    let faults: Vec<String> = remarks.iter().map(|remark| remark.message.clone()).chain(faults).collect();
    if !faults.is_empty() {
        complain(&faults.join("; "));
        return code::USAGE;
    }
    let options = Alone {
        root,
        asks_roots: words.root.is_none(),
        trusted: common.trust.iter().filter_map(|folder| SystemDisk.canonicalize(folder).ok()).collect(),
        settings,
        own_file: own_file(common),
        state_dir: state_dir(common),
        repeatable: common.ephemeral,
    };
    let end = CancellationToken::new();
    let stop = end.clone();
    let serving = serve_alone(tokio::io::stdin(), tokio::io::stdout(), Ports::system(), options, end);
    let mut serving = Box::pin(serving);
    tokio::select! {
        () = &mut serving => code::OK,
        signalled = told_to_end() => {
            stop.cancel();
            serving.await;
            signalled
        }
    }
}
