//! Which server of ours is asked to format a document.

use super::Hub;
use super::documents::Place;
use crate::languages::client::Command;
use crate::languages::format::Said;

impl Hub {
    /// Passes questions on to the servers they are for. Those about a document whose servers are still being looked for
    /// wait until they have been found.
    pub(super) fn ask_formatters(&mut self) {
        for (key, nth, mut ask) in std::mem::take(&mut self.formats) {
            let Some(doc) = self.docs.get(&key).filter(|_| !self.over) else {
                ask.give(Said::NoMore);
                continue;
            };
            if doc.places.values().any(|place| *place == Place::Looking) {
                self.formats.push((key, nth, ask));
                continue;
            }
            let server = doc.servers().nth(nth);
            match server {
                None => ask.give(Said::NoMore),
                Some(id) => {
                    self.running[id].server.name.clone_into(&mut ask.server);
                    self.tell(id, Command::Format { key, ask });
                }
            }
        }
    }
}
