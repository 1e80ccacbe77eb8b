//! Settings of what may be done without asking, and of the guards against going round in circles.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a session's calls may do, in general.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Nothing is asked, protected places aside. Only a person sets it, for one session, and it is never kept.
    Danger,
    /// Writes run: undo is the net.
    #[default]
    Build,
    /// Writes are asked about.
    Review,
    /// Nothing is written or run: the outcome is a plan for a person.
    Plan,
    /// Nothing is written or run.
    Explore,
}

impl Mode {
    /// How strict it is: what a higher one lets pass, a lower one does too.
    pub fn strictness(self) -> u8 {
        match self {
            Mode::Danger => 0,
            Mode::Build => 1,
            Mode::Review => 2,
            Mode::Plan | Mode::Explore => 3,
        }
    }

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Danger => "danger",
            Mode::Build => "build",
            Mode::Review => "review",
            Mode::Plan => "plan",
            Mode::Explore => "explore",
        }
    }
}

/// What may be done without asking. Rules are `Tool` or `Tool(pattern)`; a deny goes before an ask, an ask before an allow.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PermissionSettings {
    /// The mode of every session that asks for none; a session may only ask for a stricter one. Never `danger`.
    pub mode: Mode,
    /// Calls that run without asking, protected and secret places aside.
    pub allow: Vec<String>,
    /// Calls that a person is asked about.
    pub ask: Vec<String>,
    /// Calls that do not run.
    pub deny: Vec<String>,
    /// What could not be read of these settings, in words. While there is something, nothing that changes or runs
    /// anything is allowed, for it may have been a rule against it.
    #[serde(skip)]
    pub broken: Vec<String>,
}

/// Guards against going round in circles, within one turn of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GuardSettings {
    /// Refuses the same read a third time with nothing changed between, and the edit that failed on the same text.
    pub repeats: bool,
    /// Warns after three failures of one tool in a row, and stops it after eight.
    pub failures: bool,
    /// Tells of edits that undo each other.
    pub undone: bool,
}

impl Default for GuardSettings {
    fn default() -> Self {
        GuardSettings { repeats: true, failures: true, undone: true }
    }
}
