//! Settings of the door for other programs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Other programs that join this sidecar: `ropewalk mcp --connect`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BridgeSettings {
    /// Whether programs of the user may ask to join. Each is let in by the person at the editor, or not at all.
    pub listen: bool,
}

impl Default for BridgeSettings {
    fn default() -> Self {
        BridgeSettings { listen: true }
    }
}

impl BridgeSettings {
    /// These settings where nobody can tell the user's from a project's: as strict as the stricter of both.
    #[must_use]
    pub fn within(&self, user: &BridgeSettings) -> BridgeSettings {
        BridgeSettings { listen: self.listen && user.listen }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_only_shuts_the_door() {
        for (merged, user, listens) in
            [(true, true, true), (true, false, false), (false, true, false), (false, false, false)]
        {
            let within = BridgeSettings { listen: merged }.within(&BridgeSettings { listen: user });
            assert_eq!(within.listen, listens, "{merged} {user}");
        }
    }
}
