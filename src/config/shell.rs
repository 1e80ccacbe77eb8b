//! Settings of commands that agents run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Commands that agents run: `bash` and `monitor`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ShellSettings {
    /// Names of variables of the environment that commands get although they look like secrets.
    pub keep_environment: Vec<String>,
    /// Whether commands may write only to the workspace folders, to temporary folders and to caches, where the system can
    /// hold them to that.
    pub sandbox: bool,
}

impl ShellSettings {
    /// These settings where nobody can tell the user's from a project's: as strict as the stricter of both.
    #[must_use]
    pub fn within(&self, user: &ShellSettings) -> ShellSettings {
        let keep_environment =
            self.keep_environment.iter().filter(|name| user.keep_environment.contains(name)).cloned().collect();
        ShellSettings { keep_environment, sandbox: self.sandbox || user.sandbox }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_only_tightens() {
        let shell = |keep: &[&str], sandbox| ShellSettings {
            keep_environment: keep.iter().map(|name| (*name).to_owned()).collect(),
            sandbox,
        };
        let user = shell(&["A_TOKEN", "B_KEY"], false);
        assert_eq!(shell(&["A_TOKEN", "C_SECRET"], true).within(&user), shell(&["A_TOKEN"], true));
        assert_eq!(shell(&[], false).within(&shell(&[], true)), shell(&[], true));
    }
}
