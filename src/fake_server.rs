//! `ropewalk fake-server SCRIPT`: a language server that behaves, or misbehaves, as a script says; for tests of
//! whatever talks to language servers. `docs/FAKE-SERVER.md` tells how to write one.
//!
//! `script` is what can be asked for, `server` the pure middle: a message in, acts with delays out. `rules` finds
//! diagnostics, `checks` tells them, `answers` knows names and edits, `trouble` makes trouble; `shell` does the acts.

mod act;
mod answers;
mod checks;
mod rules;
pub mod script;
mod server;
mod shell;
#[cfg(test)]
mod tests;
mod trouble;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};

pub use act::End;
pub(crate) use rules::Patterns;
pub use script::Script;

use crate::ports::Ports;

/// Plays the server of a script over a pair of pipes, and what it writes to its error stream into `errors`, until it
/// ends; how. When its input ends without an `exit`, that is with exit code 1. The error says what is wrong with the
/// script.
pub async fn run<R, W, E>(reader: R, writer: W, errors: E, ports: Ports, script: Script) -> Result<End, String>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
    E: AsyncWrite + Unpin + Send,
{
    shell::run(reader, writer, errors, ports, script).await
}

/// Reads a script: `words` is JSON itself if it begins with `{`, else the path of a file that holds it. The error says
/// what is wrong and where: a key that is not known is named, and so is a pattern that is no regular expression.
pub fn read_script(words: &str, ports: &Ports) -> Result<Script, String> {
    shell::read_script(words, ports)
}

/// The JSON Schema of a script.
pub fn schema() -> Value {
    schemars::schema_for!(Script).to_value()
}
