//! The way in for other programs: a client of MCP that holds an invitation joins one session of ours.

use std::path::PathBuf;

use async_trait::async_trait;

use super::{ErrorKind, ToolError};

/// The environment variable in which a program that we start finds the socket to join at.
pub const SOCKET_VARIABLE: &str = "ROPEWALK_SOCKET";

/// The environment variable in which a program that we start finds the secret that lets it in.
pub const TOKEN_VARIABLE: &str = "ROPEWALK_TOKEN";

/// What lets clients join one session, until it is withdrawn.
#[derive(Clone, PartialEq, Eq)]
pub struct Invitation {
    /// The socket to join at.
    pub socket: PathBuf,
    /// The secret that names the session. Whoever has it is that session.
    pub token: String,
}

/// Lets others in.
#[async_trait]
pub trait Door: Send + Sync + 'static {
    /// Lets clients that have the invitation join a session, which has to be open. Nobody is asked about them.
    async fn invite(&self, session: &str) -> Result<Invitation, ToolError>;

    /// Lets nobody in by it any more, and sends away who came by it.
    fn withdraw(&self, invitation: &Invitation);
}

/// A door that nobody comes in by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed;

#[async_trait]
impl Door for Closed {
    async fn invite(&self, _session: &str) -> Result<Invitation, ToolError> {
        Err(ToolError::new(
            ErrorKind::Unavailable,
            "Other programs cannot join here: there is no socket to join at. Work on without one.",
        ))
    }

    fn withdraw(&self, _invitation: &Invitation) {}
}
