//! What work in the background has put out, kept under the name of its job.

use std::path::PathBuf;

use super::Context;
use crate::outputs::{Gathered, Long, NewOutput};

impl Context {
    /// Keeps what was gathered as an output of the session: `new`, but for its text.
    pub fn keep(&self, gathered: Gathered, new: NewOutput) {
        let settings = self.workspace.settings();
        let limits = &settings.output;
        let mut outputs = self.session.outputs();
        let remove = match gathered {
            Gathered::Text(text) => {
                outputs.put(NewOutput { text: text.into(), ..new }, limits.kept_bytes, false).remove
            }
            Gathered::Long(Long { spilled, .. }) => {
                outputs.put_file(new, spilled, limits.kept_bytes, limits.disk_bytes)
            }
        };
        drop(outputs);
        self.remove(remove);
    }

    /// Of a session that is gone nothing is kept.
    pub fn discard(&self, gathered: Gathered) {
        if let Gathered::Long(long) = gathered {
            self.remove(long.spilled.files());
        }
    }

    fn remove(&self, files: Vec<PathBuf>) {
        if let Some(place) = self.spill.clone()
            && !files.is_empty()
        {
            tokio::task::spawn_blocking(move || place.remove(&files));
        }
    }
}
