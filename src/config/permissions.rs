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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Whether a person's no to one call also sets aside the calls of the same round that wait to be asked about.
    pub cascade_denials: bool,
    /// What could not be read of these settings, in words. While there is something, nothing that changes or runs
    /// anything is allowed, for it may have been a rule against it.
    #[serde(skip)]
    pub broken: Vec<String>,
}

impl Default for PermissionSettings {
    fn default() -> Self {
        PermissionSettings {
            mode: Mode::default(),
            allow: Vec::new(),
            ask: Vec::new(),
            deny: Vec::new(),
            cascade_denials: true,
            broken: Vec::new(),
        }
    }
}

impl PermissionSettings {
    /// What others hold back is held back by these too: their ask and deny rules, and what could not be read of them.
    pub(super) fn keep(&mut self, others: &PermissionSettings) {
        self.keep_rules(others);
        self.broken = both(&others.broken, &self.broken);
    }

    /// The ask and deny rules of others hold besides these.
    pub(super) fn keep_rules(&mut self, others: &PermissionSettings) {
        self.ask = both(&others.ask, &self.ask);
        self.deny = both(&others.deny, &self.deny);
    }

    /// These settings as an editor gives them that has merged a project's into the user's: they only make the user's
    /// stricter.
    #[must_use]
    pub fn within(&self, user: &PermissionSettings) -> PermissionSettings {
        let mode = if self.mode.strictness() > user.mode.strictness() { self.mode } else { user.mode };
        PermissionSettings {
            mode,
            allow: user.allow.clone(),
            ask: both(&user.ask, &self.ask),
            deny: both(&user.deny, &self.deny),
            cascade_denials: user.cascade_denials || self.cascade_denials,
            broken: both(&user.broken, &self.broken),
        }
    }
}

/// All of one list, then what only the other one has.
fn both(one: &[String], other: &[String]) -> Vec<String> {
    let more = other.iter().filter(|rule| !one.contains(rule));
    one.iter().chain(more).cloned().collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_project_is_merged_into_only_gets_stricter() {
        let rules = |rules: &[&str]| rules.iter().map(|&rule| rule.to_owned()).collect::<Vec<_>>();
        let user = PermissionSettings {
            mode: Mode::Review,
            allow: rules(&["read(docs/**)"]),
            ask: rules(&["write(a)"]),
            deny: rules(&["read(b)"]),
            broken: rules(&["one"]),
            ..PermissionSettings::default()
        };
        let merged = PermissionSettings {
            mode: Mode::Build,
            allow: rules(&["*"]),
            ask: rules(&["write(c)"]),
            deny: vec![],
            cascade_denials: false,
            broken: vec![],
        };
        let within = merged.within(&user);
        assert_eq!((within.mode, &within.allow, &within.broken), (Mode::Review, &user.allow, &user.broken));
        assert_eq!((within.ask, within.deny), (rules(&["write(a)", "write(c)"]), rules(&["read(b)"])));
        assert!(within.cascade_denials);
        let stricter = PermissionSettings { mode: Mode::Plan, ..merged };
        assert_eq!(stricter.within(&user).mode, Mode::Plan);
    }
}
