//! Which settings are in force: the user's own file, over it what the editor says, and within both what a project may add;
//! and the trust that the file gives.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::config::{Own, OwnFile, OwnWatch, PermissionSettings, Remark, Settings};
use crate::dispatch::OwnSettings;
use crate::editor::{Editor as _, Loudness, News};
use crate::permissions::{Fault, Rules};

use super::front::{Front, State};

/// Whose settings the editor sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The user's.
    User,
    /// The user's, with what a project's files say over them, and nobody can tell which is which: no command to run is
    /// taken from these, for a repository is not the user.
    Merged,
}

/// What says which settings are in force.
#[derive(Default)]
pub(super) struct Layers {
    /// Of the user's own file.
    file: Settings,
    /// What the editor sent as the user's, without what a project says over it.
    user: Value,
    /// What it sent that may hold a project's.
    merged: Option<Value>,
    /// The folders (canonical) whose trust the file gives.
    trusted: BTreeSet<PathBuf>,
    /// Those that the editor said are not trusted: its word goes before the file's.
    withdrawn: BTreeSet<PathBuf>,
}

impl Layers {
    /// The editor has spoken of trust in a folder.
    pub(super) fn said(&mut self, folder: &Path, trusted: bool) {
        self.trusted.remove(folder);
        if trusted {
            self.withdrawn.remove(folder);
        } else {
            self.withdrawn.insert(folder.to_owned());
        }
    }

    /// The settings in force, and what was not taken of what the editor sent last.
    fn made(&self) -> (Settings, Vec<Remark>) {
        let user = self.file.overlaid(&self.user);
        match &self.merged {
            None => user,
            Some(merged) => {
                // Of the user's own each time, so that what a project held back ends with that.
                let (settings, remarks) = self.file.overlaid(merged);
                (settings.within(&user.0), remarks)
            }
        }
    }
}

impl State {
    /// Whether a folder is trusted by its name: by the editor, the command line or the user's own file.
    pub(super) fn named(&self, folder: &Path) -> bool {
        self.trusted.iter().any(|known| known == folder) || self.layers.trusted.contains(folder)
    }
}

/// The user's own settings file, and what it held when it was last looked at.
pub(super) struct Watched {
    path: PathBuf,
    /// The folders that it named are those of this text.
    seen: Mutex<Seen>,
}

struct Seen {
    file: OwnWatch,
    trusted: BTreeSet<PathBuf>,
}

impl Watched {
    pub(super) fn new(file: OwnFile) -> Watched {
        let path = file.path.clone();
        Watched { path, seen: Mutex::new(Seen { file: OwnWatch::new(file), trusted: BTreeSet::new() }) }
    }
}

impl Front {
    /// Reads the user's own settings file, and has it looked at before each decision from now on. Blocking, before the
    /// editor has said anything.
    pub(super) fn heed_own_settings(self: &Arc<Self>) {
        let Some(own) = &self.own else { return };
        self.look();
        let front = Arc::downgrade(self);
        let look = move || {
            if let Some(front) = front.upgrade() {
                front.look();
            }
        };
        self.rooms.calls.heed(OwnSettings { file: own.path.clone(), look: Box::new(look) });
    }

    /// Looks at the user's own settings file, beside the reader, which waits for no disk: a call that comes meanwhile is
    /// judged by what the file says by then all the same.
    pub(super) fn look_again(self: &Arc<Self>) {
        if self.own.is_some() {
            let front = Arc::clone(self);
            self.tasks.spawn_blocking(move || front.look());
        }
    }

    /// What the user's own settings file says now is in force when this returns. Blocking.
    fn look(&self) {
        let Some(Watched { path, seen }) = &self.own else { return };
        let disk = &*self.rooms.workspace.ports.disk;
        // Held while the file is read, so that what is read last is what is in force; nothing else waits for it.
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.state().layers.file.clone();
        let Some(says) = seen.file.look(disk, &before) else { return };
        self.trust_as(&says, &seen.trusted);
        let changed = {
            let mut state = self.state();
            let changed = state.layers.file != says.settings;
            state.layers.file = says.settings.clone();
            if changed {
                self.rooms.workspace.set_settings(Arc::new(state.layers.made().0));
            }
            changed
        };
        if changed {
            self.tell_sources();
        }
        self.tell_own(path, &says);
        seen.trusted = says.trusted;
    }

    /// Trusts the folders that the file names by now, and no longer those that it named `before`.
    fn trust_as(&self, says: &Own, before: &BTreeSet<PathBuf>) {
        let mut state = self.state();
        for folder in before.difference(&says.trusted) {
            let open = state.trust_open && state.folders.iter().any(|(_, open)| open == folder);
            if state.layers.trusted.remove(folder) && !open && !state.named(folder) {
                self.forget_trust(folder);
            }
        }
        for folder in says.trusted.difference(before) {
            if !state.layers.withdrawn.contains(folder) {
                state.layers.trusted.insert(folder.clone());
                self.set_trust(folder, true);
            }
        }
    }

    /// The editor sent settings.
    pub(super) fn configure(&self, sent: &Value, scope: Scope) {
        let (settings, remarks) = {
            let mut state = self.state();
            match scope {
                Scope::User => (state.layers.user, state.layers.merged) = (sent.clone(), None),
                Scope::Merged => state.layers.merged = Some(sent.clone()),
            }
            let (settings, remarks) = state.layers.made();
            let settings = Arc::new(settings);
            self.rooms.workspace.set_settings(Arc::clone(&settings));
            (settings, remarks)
        };
        self.tell_remarks(None, &remarks);
        self.tell_faults(None, &settings.permissions);
        self.tell_sources();
    }

    fn tell_own(&self, file: &Path, says: &Own) {
        if let Some(why) = &says.fault {
            let words = format!(
                "Ropewalk: your settings in {} do not count: {why}; until that is mended nothing is changed or run, and what \
                 can be read of their ask and deny rules holds",
                file.display()
            );
            self.outbox.tell(News::Log(Loudness::Warning, words));
        }
        self.tell_remarks(Some(file), &says.remarks);
        self.tell_faults(Some(file), &says.settings.permissions);
    }

    fn tell_remarks(&self, file: Option<&Path>, remarks: &[Remark]) {
        for Remark { key, message } in remarks {
            let words = format!("Ropewalk: setting {key}{}: {message}", of(file));
            self.outbox.tell(News::Log(Loudness::Warning, words));
        }
    }

    fn tell_faults(&self, file: Option<&Path>, rules: &PermissionSettings) {
        for Fault { rule, why, holds_back } in Rules::read(&rules.allow, &rules.ask, &rules.deny).faults() {
            let then = if *holds_back { "; until it is mended nothing is changed or run" } else { "" };
            let words = format!("Ropewalk: the rule {rule:?}{} cannot be read: {why}{then}", of(file));
            self.outbox.tell(News::Log(Loudness::Warning, words));
        }
    }
}

fn of(file: Option<&Path>) -> String {
    file.map(|file| format!(" in {}", file.display())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Freshness, Mode};
    use serde_json::json;

    fn made(file: &Value, user: Value, merged: Option<Value>) -> Settings {
        Layers { file: Settings::parse(file).0, user, merged, ..Layers::default() }.made().0
    }

    #[test]
    fn the_editor_goes_before_the_file_and_a_project_only_tightens_both() {
        let file = json!({
            "freshness": "warn",
            "permissions": { "mode": "review", "allow": ["write(a)"], "deny": ["read(a)"] },
            "output": { "maxBytes": 500 },
            "diagnostics": { "servers": { "mine": { "command": ["mine"] } } },
        });
        let editor = json!({ "permissions": { "mode": "build", "deny": ["read(b)"] }, "output": { "maxBytes": 700 } });
        let project = json!({
            "freshness": "off",
            "permissions": { "mode": "plan", "allow": ["*"], "deny": ["read(c)"] },
            "output": { "maxBytes": 900, "tailBytes": 10 },
            "diagnostics": { "servers": { "mine": { "command": ["evil"] }, "evil": { "command": ["evil"] } } },
            "hooks": { "before": [{ "command": ["evil"] }] },
        });
        for (user, merged, mode, deny, max) in [
            (Value::Null, None, Mode::Review, vec!["read(a)"], 500),
            (editor.clone(), None, Mode::Build, vec!["read(a)", "read(b)"], 700),
            (Value::Null, Some(project.clone()), Mode::Plan, vec!["read(a)", "read(c)"], 500),
            (editor.clone(), Some(project), Mode::Plan, vec!["read(a)", "read(b)", "read(c)"], 700),
            (editor, Some(json!({})), Mode::Review, vec!["read(a)", "read(b)"], 500),
        ] {
            let projects = merged.as_ref().is_some_and(|merged| merged.get("hooks").is_some());
            let settings = made(&file, user, merged);
            let permissions = &settings.permissions;
            assert_eq!(
                (permissions.mode, &permissions.deny, settings.output.max_bytes),
                (mode, &deny.into_iter().map(str::to_owned).collect(), max)
            );
            assert_eq!(
                (settings.freshness, permissions.allow.as_slice()),
                (Freshness::Warn, &["write(a)".to_owned()][..])
            );
            assert_eq!(
                (settings.diagnostics.servers.len(), settings.diagnostics.servers["mine"].command.as_slice()),
                (1, &["mine".to_owned()][..])
            );
            assert!(settings.hooks.before.is_empty());
            assert_eq!(settings.output.tail_bytes, if projects { 10 } else { 8000 });
        }
        assert_eq!(made(&json!({}), Value::Null, None), Settings::default());
    }
}
