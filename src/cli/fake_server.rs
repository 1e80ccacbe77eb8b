//! `ropewalk fake-server`: plays a language server over standard input and output.

use clap::Args;
use ropewalk::fake_server::{self, End};
use ropewalk::ports::Ports;

use super::complain;

/// `ropewalk fake-server`
#[derive(Debug, Args)]
pub(crate) struct FakeServer {
    /// What it does: a file of JSON, or the JSON itself (its schema: `ropewalk schema`, under `fakeServerScript`).
    script: String,
}

/// Plays it to its end. Exit code 2 when the script is wrong, else as the script says.
pub(crate) async fn run(words: FakeServer) -> u8 {
    let ports = Ports::system();
    let played = async {
        let script = fake_server::read_script(&words.script, &ports)?;
        fake_server::run(tokio::io::stdin(), tokio::io::stdout(), tokio::io::stderr(), ports.clone(), script).await
    };
    match played.await {
        Ok(End::Code(code)) => code,
        Ok(End::Killed) => {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
            1
        }
        Err(why) => {
            complain(&why);
            2
        }
    }
}
