//! The user's own settings file, as calls know it: it is looked at again before each is judged, and is protected from them.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use tracing::warn;

use crate::workspace::Workspace;

use super::Dispatch;

/// The user's own settings file.
pub struct OwnSettings {
    /// Where it is, or would be.
    pub file: PathBuf,
    /// Looks whether it is another by now; what it says is in force when this returns. Blocking.
    pub look: Box<dyn Fn() + Send + Sync>,
}

/// That file, where there is to be one.
#[derive(Clone, Default)]
pub(super) struct Own(Arc<OnceLock<OwnSettings>>);

impl Own {
    /// Looks at it. Blocking.
    pub(super) fn look(&self) {
        if let Some(own) = self.0.get() {
            (own.look)();
        }
    }

    /// Where a change would reach it, with all links resolved. Blocking.
    pub(super) fn places(&self, workspace: &Workspace) -> Vec<PathBuf> {
        let path = self.0.get().and_then(|own| own.file.to_str());
        path.and_then(|path| workspace.resolve(path).ok()).map(|target| target.paths).unwrap_or_default()
    }
}

impl Dispatch {
    /// Calls are judged by what the user's own settings file says at that moment. Only the first that is named counts.
    pub fn heed(&self, own: OwnSettings) {
        if let Err(second) = self.own.0.set(own) {
            warn!(file = %second.file.display(), "a second file of the user's own settings");
        }
    }

    /// The settings in force are those of now.
    pub(super) async fn heeded(&self) {
        if self.own.0.get().is_some() {
            let own = self.own.clone();
            if let Err(error) = tokio::task::spawn_blocking(move || own.look()).await {
                warn!(%error, "looking at the user's own settings broke down");
            }
        }
    }
}
