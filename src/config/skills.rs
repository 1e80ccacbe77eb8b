//! Settings of skills.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Skills that models may load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SkillSettings {
    /// Whether there are any.
    pub enabled: bool,
    /// Whether those of trusted workspace folders count beside the user's own.
    pub project: bool,
    /// Folders of the user's with more skills: absolute, or below the home folder with `~/`. They count before the usual ones.
    pub folders: Vec<String>,
}

impl Default for SkillSettings {
    fn default() -> Self {
        SkillSettings { enabled: true, project: true, folders: Vec::new() }
    }
}

impl SkillSettings {
    /// These settings where nobody can tell the user's from a project's: what the user turned off stays off, and only the
    /// user's own folders are looked into.
    #[must_use]
    pub fn within(&self, user: &SkillSettings) -> SkillSettings {
        SkillSettings {
            enabled: self.enabled && user.enabled,
            project: self.project && user.project,
            folders: user.folders.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_only_tightens() {
        let skills = |enabled, project, folders: &[&str]| SkillSettings {
            enabled,
            project,
            folders: folders.iter().map(|folder| (*folder).to_owned()).collect(),
        };
        let user = skills(true, false, &["/mine"]);
        assert_eq!(skills(false, true, &["/theirs"]).within(&user), skills(false, false, &["/mine"]));
        assert_eq!(skills(true, true, &[]).within(&skills(false, true, &[])), skills(false, true, &[]));
    }
}
