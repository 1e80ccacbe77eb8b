//! Settings of the formatter that runs after changes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The formatter after `write`, edits and patches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FormatterSettings {
    /// Whether texts are formatted after a change.
    pub mode: FormatterMode,
    /// By language id: a program and its arguments, which read a text on the standard input and print the formatted one.
    /// `${file}` in an argument is the path of the file. They run in trusted folders only, and come from the user's
    /// settings, never from a project's.
    pub commands: BTreeMap<String, Vec<String>>,
    /// How long formatting one text may take (ms).
    pub timeout_ms: u64,
}

impl Default for FormatterSettings {
    fn default() -> Self {
        FormatterSettings { mode: FormatterMode::Off, commands: BTreeMap::new(), timeout_ms: 5000 }
    }
}

/// Whether texts are formatted after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FormatterMode {
    /// They are not.
    #[default]
    Off,
    /// They are, by the editor or a language server where the document is open, else by a command.
    OnWrite,
}

impl FormatterSettings {
    /// These settings as far as they do not go beyond `user`: what may come from a project can turn formatting off and
    /// shorten its time, and names no command.
    #[must_use]
    pub fn within(&self, user: &FormatterSettings) -> FormatterSettings {
        let off = [self.mode, user.mode].contains(&FormatterMode::Off);
        FormatterSettings {
            mode: if off { FormatterMode::Off } else { FormatterMode::OnWrite },
            commands: user.commands.clone(),
            timeout_ms: self.timeout_ms.min(user.timeout_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FormatterMode::{Off, OnWrite};

    #[test]
    fn a_project_can_only_tighten() {
        let settings = |mode, program: &str, timeout_ms| FormatterSettings {
            mode,
            commands: BTreeMap::from([("python".to_owned(), vec![program.to_owned()])]),
            timeout_ms,
        };
        for (user, merged, mode, timeout_ms) in [
            ((Off, 100), (OnWrite, 100), Off, 100),
            ((OnWrite, 100), (OnWrite, 900), OnWrite, 100),
            ((OnWrite, 100), (Off, 50), Off, 50),
            ((Off, 100), (Off, 50), Off, 50),
        ] {
            let within = settings(merged.0, "evil", merged.1).within(&settings(user.0, "black", user.1));
            assert_eq!(within, settings(mode, "black", timeout_ms), "{user:?} {merged:?}");
        }
    }
}
