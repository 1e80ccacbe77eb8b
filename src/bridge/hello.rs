//! What is said at the door, one line of JSON each way, before the frames of MCP. The words are pure; reading is bounded.

use std::io;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

use super::known::VERSION;

/// A line at the door is at most so long (bytes).
const LONGEST_LINE: usize = 4096;

/// A name is shown up to so many characters.
const LONGEST_NAME: usize = 80;

/// What one who wants to join says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hello {
    /// The version of this, [`VERSION`].
    pub ropewalk: u32,
    /// The secret.
    pub token: String,
    /// Who it is, in its own words.
    #[serde(default)]
    pub client: Caller,
}

/// Who joins, in its own words.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Caller {
    /// The program for which it joins.
    pub name: String,
    /// That program's process.
    pub process: Option<u32>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Answer {
    /// Come in: what follows is MCP.
    Welcome {
        /// The version of this.
        ropewalk: u32,
        /// The session that the calls will be of.
        session: String,
    },
    /// Stay out.
    Refused {
        /// The version of this.
        ropewalk: u32,
        /// Why, in words for a person.
        error: String,
    },
}

impl Answer {
    /// A refusal.
    pub(super) fn refused(why: impl Into<String>) -> Answer {
        Answer::Refused { ropewalk: VERSION, error: why.into() }
    }
}

impl Hello {
    /// What a line says, or why it is not one of these.
    pub(super) fn read(line: &str) -> Result<Hello, String> {
        let Ok(mut hello) = serde_json::from_str::<Hello>(line) else {
            return Err(
                "This is the door of a Ropewalk sidecar; `ropewalk mcp --connect` knows what to say here.".into()
            );
        };
        if hello.ropewalk != VERSION {
            let theirs = hello.ropewalk;
            return Err(format!(
                "The two sides are of different versions ({theirs} there, {VERSION} here): use the same `ropewalk` for both."
            ));
        }
        hello.client.name = hello.client.name.chars().take(LONGEST_NAME).collect();
        Ok(hello)
    }
}

/// Whether two secrets are the same, in a time that tells nothing of where they differ.
pub(super) fn same_secret(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.bytes().zip(other.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

/// A value as a line.
pub(super) fn line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// Reads one line, without its end. What comes behind it stays to be read.
pub(super) async fn read_line<R: AsyncBufRead + Unpin>(from: &mut R) -> io::Result<String> {
    let mut line = Vec::new();
    loop {
        let some = from.fill_buf().await?;
        if some.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let end = some.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(some.len());
        if line.len() + taken > LONGEST_LINE {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the line is too long"));
        }
        line.extend_from_slice(&some[..taken]);
        from.consume(end.map_or(taken, |end| end + 1));
        if end.is_some() {
            return String::from_utf8(line).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, BufReader};

    #[test]
    fn what_may_be_said() {
        let hello = |name: &str| Hello {
            ropewalk: VERSION,
            token: "t".into(),
            client: Caller { name: name.into(), process: Some(4) },
        };
        let said = String::from_utf8(line(&hello("agent")).unwrap()).unwrap();
        assert_eq!(Hello::read(said.trim_end()), Ok(hello("agent")));
        let long = String::from_utf8(line(&hello(&"x".repeat(1000))).unwrap()).unwrap();
        assert_eq!(Hello::read(&long).unwrap().client.name.len(), LONGEST_NAME);
        assert_eq!(Hello::read(r#"{"ropewalk":1,"token":"t","more":1}"#).unwrap().client, Caller::default());
        for wrong in ["", "{}", "GET / HTTP/1.1", r#"{"ropewalk":1}"#, r#"{"ropewalk":"1","token":"t"}"#, "[]"] {
            assert!(Hello::read(wrong).unwrap_err().starts_with("This is the door"), "{wrong}");
        }
        let newer = Hello::read(r#"{"ropewalk":2,"token":"t"}"#).unwrap_err();
        assert!(newer.contains("2 there, 1 here"), "{newer}");
    }

    #[test]
    fn secrets_are_compared_whole() {
        for (one, other, same) in
            [("abc", "abc", true), ("abc", "abd", false), ("abc", "ab", false), ("", "", true), ("", "a", false)]
        {
            assert_eq!(same_secret(one, other), same, "{one} {other}");
        }
    }

    #[test]
    fn answers_are_told_apart() {
        let welcome = Answer::Welcome { ropewalk: 1, session: "mcp-1".into() };
        for answer in [welcome, Answer::refused("no")] {
            let said = line(&answer).unwrap();
            assert_eq!(serde_json::from_slice::<Answer>(&said).unwrap(), answer);
        }
    }

    #[tokio::test]
    async fn a_line_is_bounded_and_nothing_behind_it_is_taken() {
        // In pieces of three bytes, as a slow pipe gives them.
        let mut from = BufReader::with_capacity(3, &b"hello\n{\"jsonrpc\""[..]);
        assert_eq!(read_line(&mut from).await.unwrap(), "hello");
        let mut rest = String::new();
        from.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "{\"jsonrpc\"");
        let endless = vec![b'x'; LONGEST_LINE + 1];
        assert_eq!(read_line(&mut &endless[..]).await.unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(read_line(&mut &b"half"[..]).await.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(read_line(&mut &b"\xff\n"[..]).await.is_err());
    }
}
