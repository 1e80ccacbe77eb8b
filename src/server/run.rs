//! One run, from the first byte to the exit code: the transport with its seams, and the end.

use std::pin::pin;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tower_lsp::{LspService, Server};
use tracing::{info, warn};

use crate::bridge::Bridge;
use crate::editor::{Editor, Loudness, News};
use crate::ports::Ports;
use crate::tool::Door;

use super::backend::Backend;
use super::front::Front;
use super::lifecycle::{self, Gone};
use super::ordered::Ordered;
use super::outbox::outbox;
use super::rooms::Rooms;
use super::{ServeOptions, assemble, stdio};

/// Serves one editor until it is gone, and gives the exit code. Children have ended and the last bytes have left when it
/// returns; the caller ends the process without waiting for the thread that reads standard input.
pub async fn serve<R, W>(input: R, output: W, ports: Ports, options: ServeOptions) -> u8
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin,
{
    let (state_dir, repeatable) = (options.state_dir.clone(), options.repeatable);
    let clock = Arc::clone(&ports.clock);
    let (meeting, announces) = (options.meeting.clone(), !repeatable);
    let (mut kept, mut bridge) = (None, None);
    let code = serve_with(input, output, ports.clone(), options, |editor| {
        let parts = assemble(ports, Arc::clone(&editor));
        if let Some(folder) = state_dir.as_deref().filter(|_| !repeatable) {
            let complain = move |words| editor.tell(News::Log(Loudness::Warning, words));
            parts.sessions.keep_in(folder, Arc::clone(&parts.ports.clock), Box::new(complain));
        }
        parts.dispatch.spill_to(state_dir.as_deref(), &parts.ports);
        parts.workspace.set_state_dir(state_dir);
        kept = Some((Arc::clone(&parts.sessions), Arc::clone(&parts.workspace), Arc::clone(&parts.dispatch)));
        let rooms = Rooms::of(&parts);
        bridge = meeting.map(|folder| Bridge::open(&rooms, &parts, folder, announces));
        if let Some(bridge) = &bridge {
            parts.dispatch.set_door(Arc::clone(bridge) as Arc<dyn Door>);
        }
        rooms
    })
    .await;
    if let Some(bridge) = bridge {
        bridge.close();
    }
    if let Some((sessions, workspace, dispatch)) = kept {
        dispatch.keep_review();
        tokio::select! {
            _ = async { tokio::join!(sessions.flush(), workspace.rest(), dispatch.forget_outputs()) } => {}
            () = clock.sleep(lifecycle::STORE_GRACE) => warn!("not everything that sessions remember was written"),
        }
    }
    code
}

/// The same with rooms of the caller's own behind the front.
pub async fn serve_with<R, W, F>(input: R, output: W, ports: Ports, options: ServeOptions, rooms: F) -> u8
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin,
    F: FnOnce(Arc<dyn Editor>) -> Rooms,
{
    let gone = Gone::new();
    let backlog = stdio::Backlog::default();
    let (outbox, socket) = outbox(Arc::clone(&ports.clock), backlog.clone());
    let rooms = rooms(Arc::new(outbox.clone()));
    let signals = options.signals;
    let front = Arc::new(Front::new(rooms, outbox, gone.clone(), options));
    front.heed_own_settings();

    let (service, unused) = LspService::new(|_| Backend::new(Arc::clone(&front)));
    drop(unused);
    let (writer, drain) = stdio::output(gone.clone(), backlog);
    let inbox = stdio::Inbox::default();
    let serving = Server::new(stdio::Input::new(input, inbox.clone(), gone.clone()), writer, socket)
        .concurrency_level(usize::MAX)
        .serve(Ordered::new(service, inbox, Arc::clone(&front)));
    // The pipes are driven by this task, not by the runtime's pool: a pool full of blocked handlers does not stop them.
    let mut draining = pin!(drain.run(output));
    let ending = end_of(&front, &ports, signals);
    let mut drained = false;
    let code = {
        let mut serving = pin!(serving);
        let mut ending = pin!(ending);
        let mut served = false;
        loop {
            tokio::select! {
                code = &mut ending => break code,
                () = &mut serving, if !served => served = true,
                () = &mut draining, if !drained => drained = true,
            }
        }
    };
    // The transport is gone, and with it the queue of the output, which therefore ends.
    if !drained {
        tokio::select! {
            () = draining => {}
            () = ports.clock.sleep(lifecycle::FLUSH_GRACE) => warn!("the editor did not read our last words"),
        }
    }
    info!(code, "ended");
    code
}

/// Waits for the end and for everything that has to end first.
async fn end_of(front: &Arc<Front>, ports: &Ports, signals: bool) -> u8 {
    let gone = front.gone.clone();
    let watched = async {
        if signals {
            lifecycle::watch_signals(gone.clone()).await;
        }
        std::future::pending::<()>().await;
    };
    let parent = async {
        if let Some(parent) = front.introduced().await {
            lifecycle::watch_parent(parent, Arc::clone(&ports.clock), gone.clone()).await;
        }
        std::future::pending::<()>().await;
    };
    let code = tokio::select! {
        code = front.gone.wait() => code,
        () = watched => 1,
        () = parent => 1,
    };
    front.rooms.calls.cancel_all();
    front.outbox.hang_up();
    front.tasks.close();
    // Side by side: a call that is being written to the disk needs no language server to end.
    let idle = Arc::clone(&front.rooms.calls).idle();
    let calls = async {
        tokio::select! {
            _ = async { tokio::join!(front.tasks.wait(), idle) } => {}
            () = ports.clock.sleep(lifecycle::CALLS_GRACE) => {
                warn!(open = ?front.rooms.calls.open_calls(), "calls did not end");
            }
        }
    };
    tokio::join!(calls, front.rooms.sources.shutdown(lifecycle::SERVERS_GRACE));
    code
}
