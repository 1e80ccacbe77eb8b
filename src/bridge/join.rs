//! The side of those who join: which sidecar, what is said at its door, and then bytes both ways.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::permissions::visible;
use crate::ports::{Clock, user};
use crate::process;

use super::hello::{Answer, Caller, Hello, line, read_line};
use super::known::{VERSION, choose};
use super::listen::same_user;
use super::meeting;

/// How long a sidecar may take to answer at its door; it asks nobody for that.
const PATIENCE: Duration = Duration::from_secs(10);

/// A client that is told why it cannot join may take so long to say its first word.
const FIRST_WORD: Duration = Duration::from_secs(10);

/// Its first word is at most so long (bytes).
const LONGEST_WORD: usize = 1 << 20;

/// A door, and what opens it.
#[derive(Clone, PartialEq, Eq)]
pub struct Way {
    /// The socket.
    pub socket: PathBuf,
    /// The secret.
    pub token: String,
}

/// A connection on which MCP may be spoken.
pub struct Joined {
    /// The session that the calls are of.
    pub session: String,
    input: BufReader<OwnedReadHalf>,
    output: OwnedWriteHalf,
}

/// The way to the sidecar that is meant: that of this socket, or the one whose editor has this folder (canonical) open,
/// among those in `meeting`. `editor`: its process or part of its name. Why there is none: words for a person.
pub fn way(meeting: &Path, folder: &Path, editor: Option<&str>, socket: Option<&Path>) -> Result<Way, String> {
    if let Some(socket) = socket {
        let known = meeting::known_beside(socket);
        let known = known.map_err(|error| format!("Nobody can be joined at {}: {error}.", socket.display()))?;
        return Ok(Way { socket: known.socket, token: known.token });
    }
    let known = meeting::known_in(meeting).map_err(|error| format!("Editors cannot be looked for: {error}."))?;
    let chosen = choose(&known, folder, editor)?;
    Ok(Way { socket: chosen.socket.clone(), token: chosen.token.clone() })
}

/// The program that started us, as far as it can be seen.
pub fn caller() -> Caller {
    let process = process::parent();
    let program = process.and_then(process::other).map(|other| other.program);
    let name = program.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    Caller { name: name.unwrap_or_default(), process }
}

/// Joins. Why not: words for a person.
pub async fn join(way: &Way, caller: Caller, clock: &dyn Clock) -> Result<Joined, String> {
    let meeting = async {
        let stream = UnixStream::connect(&way.socket).await?;
        let theirs = stream.peer_cred()?.uid();
        if !same_user(theirs, user()) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "another user's program listens there"));
        }
        let (input, mut output) = stream.into_split();
        let hello = Hello { ropewalk: VERSION, token: way.token.clone(), client: caller };
        output.write_all(&line(&hello)?).await?;
        let mut input = BufReader::new(input);
        let answer: Answer = serde_json::from_str(&read_line(&mut input).await?)?;
        Ok((answer, input, output))
    };
    let shown = way.socket.display();
    let met = tokio::select! {
        met = meeting => met.map_err(|error| format!("The editor's sidecar at {shown} cannot be joined: {error}.")),
        () = clock.sleep(PATIENCE) => Err(format!("The editor's sidecar at {shown} does not answer.")),
    };
    match met? {
        (Answer::Welcome { session, .. }, input, output) => Ok(Joined { session, input, output }),
        (Answer::Refused { error, .. }, ..) => Err(visible(&error)),
    }
}

/// Passes bytes on, both ways, until the sidecar hangs up. When our own input ends it is told so.
pub async fn pass_on<R, W>(joined: Joined, mut from: R, mut to: W)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let Joined { mut input, mut output, .. } = joined;
    let there = async {
        // Whatever fails, there is no more to pass on; the sidecar then hangs up.
        let _ = tokio::io::copy(&mut from, &mut output).await;
        let _ = output.shutdown().await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        _ = tokio::io::copy_buf(&mut input, &mut to) => {}
        () = there => {}
    }
    let _ = to.flush().await;
}

/// Tells a client of MCP, in the place of an answer to its first request, why it is not served.
pub async fn decline<R, W>(mut from: R, mut to: W, why: &str, clock: &dyn Clock)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut read = Vec::new();
    let first = async {
        while !read.contains(&b'\n') && read.len() < LONGEST_WORD {
            if from.read_buf(&mut read).await? == 0 {
                break;
            }
        }
        io::Result::Ok(())
    };
    tokio::select! {
        _ = first => {}
        () = clock.sleep(FIRST_WORD) => {}
    }
    if let Some(answer) = declined(&read, why) {
        // A client that is gone needs no answer.
        let _ = to.write_all(answer.as_bytes()).await;
        let _ = to.flush().await;
    }
}

/// The answer to a request that is not served; `None` when it is no request.
fn declined(read: &[u8], why: &str) -> Option<String> {
    let first = read.split(|byte| *byte == b'\n').next()?;
    let request: Value = serde_json::from_slice(first).ok()?;
    let id = request.get("id").filter(|id| id.is_number() || id.is_string())?;
    request.get("method")?;
    let answer = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32000, "message": why } });
    Some(format!("{answer}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::SystemClock;

    #[test]
    fn only_a_request_is_answered() {
        let answer = declined(b"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"initialize\"}\n{}", "nobody").unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!((&answer["id"], &answer["error"]["message"]), (&json!("a"), &json!("nobody")));
        for other in [&b""[..], b"x\n", b"{\"method\":\"a\"}\n", b"{\"id\":1}\n", b"{\"id\":null,\"method\":\"a\"}\n"] {
            assert_eq!(declined(other, "nobody"), None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_says_nothing_is_waited_for_a_while_only() {
        let (ours, _theirs) = tokio::io::duplex(64);
        let (from, to) = tokio::io::split(ours);
        decline(from, to, "nobody", &SystemClock).await;
    }

    #[test]
    fn nobody_is_found_where_nobody_is() {
        let all = tempfile::tempdir().unwrap();
        let at = all.path().join("ropewalk");
        let words = way(&at, Path::new("/w"), None, None).err().unwrap();
        assert!(words.starts_with("No editor with Ropewalk has /w open."), "{words}");
        let words = way(&at, Path::new("/w"), None, Some(&at.join("7.sock"))).err().unwrap();
        assert!(words.starts_with("Nobody can be joined at "), "{words}");
    }
}
