//! What the editor says of itself and of what the user looks at, for those beside it.

use tokio::sync::watch;

use super::protocol::DidChangeContextParams;

/// What the editor has said last. Whoever wants to can wait for more.
#[derive(Debug, Default)]
pub struct Context {
    looked_at: watch::Sender<DidChangeContextParams>,
    editor: watch::Sender<Option<String>>,
}

impl Context {
    /// What the user looks at.
    pub fn now(&self) -> DidChangeContextParams {
        self.looked_at.borrow().clone()
    }

    /// The same, and what comes after it.
    pub fn looks(&self) -> watch::Receiver<DidChangeContextParams> {
        self.looked_at.subscribe()
    }

    /// The editor's name, once it has introduced itself; it counts as changed with each change of its folders or settings,
    /// which are in place by then.
    pub fn editor(&self) -> watch::Receiver<Option<String>> {
        self.editor.subscribe()
    }

    pub(super) fn set(&self, context: DidChangeContextParams) {
        self.looked_at.send_replace(context);
    }

    /// The editor has introduced itself.
    pub(super) fn met(&self, name: Option<&str>) {
        self.editor.send_replace(Some(name.unwrap_or("an editor").to_owned()));
    }

    /// Its folders or settings are others now.
    pub(super) fn configured(&self) {
        self.editor.send_modify(|_| ());
    }
}
