//! Invitations: programs that the sidecar starts itself, and lets join a session of its own.

use std::sync::Arc;

use async_trait::async_trait;

use crate::ports::secret;
use crate::tool::{Door, ErrorKind, Invitation, ToolError};

use super::{Bridge, Invited, lock};

/// At most so many invitations hold at once.
const MOST_INVITATIONS: usize = 64;

impl Bridge {
    fn invited(&self, session: &str) -> Result<Invitation, String> {
        let mut listening = lock(&self.listening);
        if self.end.is_cancelled() {
            return Err("the editor is gone".to_owned());
        }
        if lock(&self.invited).len() >= MOST_INVITATIONS {
            return Err(format!("{MOST_INVITATIONS} others can already"));
        }
        let token = secret().map_err(|error| error.to_string())?;
        let socket = self.listen(&mut listening).map_err(|error| error.to_string())?.socket().to_owned();
        let invited = Invited { session: session.to_owned(), withdrawn: self.end.child_token() };
        lock(&self.invited).insert(token.clone(), invited);
        Ok(Invitation { socket, token })
    }
}

#[async_trait]
impl Door for Bridge {
    async fn invite(&self, session: &str) -> Result<Invitation, ToolError> {
        let unavailable = |why: &str| {
            let words = format!("Other programs cannot join here: {why}. Work on without one.");
            ToolError::new(ErrorKind::Unavailable, words)
        };
        let me = self.me.upgrade().ok_or_else(|| unavailable("the editor is gone"))?;
        let session = session.to_owned();
        let invited = tokio::task::spawn_blocking(move || Arc::clone(&me).invited(&session)).await;
        invited.map_err(|fault| unavailable(&fault.to_string()))?.map_err(|why| unavailable(&why))
    }

    fn withdraw(&self, invitation: &Invitation) {
        if let Some(invited) = lock(&self.invited).remove(&invitation.token) {
            invited.withdrawn.cancel();
        }
    }
}
