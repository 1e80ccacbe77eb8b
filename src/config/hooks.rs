//! Hooks: commands of the user's own that run before and after calls of tools. They come from the user's settings only,
//! never from a project's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Commands that run round calls.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HookSettings {
    /// Before a call, in order: each may block it, rewrite its arguments, or add words for the model.
    pub before: Vec<Hook>,
    /// After a call, in order: each may add words for the model.
    pub after: Vec<Hook>,
    /// They could not be read: what they would have blocked is not known.
    #[serde(skip)]
    pub broken: bool,
}

impl HookSettings {
    /// The hooks of others run too, before these.
    pub(super) fn keep(&mut self, others: &HookSettings) {
        for (own, others) in [(&mut self.before, &others.before), (&mut self.after, &others.after)] {
            let new: Vec<Hook> = own.drain(..).filter(|hook| !others.contains(hook)).collect();
            own.extend(others.iter().cloned().chain(new));
        }
        self.broken |= others.broken;
    }
}

/// One command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hook {
    /// What it is called in what the model is told; absent: the name of its program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The tools it is for, by name: `*` stands for any characters, `?` for one.
    #[serde(default = "every_tool")]
    pub tool: String,
    /// Program and arguments. The program is a full path, or found on the `PATH`.
    pub command: Vec<String>,
    /// How long it may take (ms).
    #[serde(default = "timeout_ms")]
    pub timeout_ms: u64,
    /// What becomes of a call when a hook before it fails.
    #[serde(default)]
    pub on_failure: OnFailure,
}

/// What becomes of a call when a hook before it fails, takes too long, or gives an answer that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// It is refused.
    #[default]
    Refuse,
    /// It goes on as if there were no hook.
    Allow,
}

fn every_tool() -> String {
    "*".to_owned()
}

fn timeout_ms() -> u64 {
    10_000
}

impl Hook {
    /// Its name for people and models.
    pub fn shown(&self) -> &str {
        let program = self.command.first().map_or("", |program| program.rsplit('/').next().unwrap_or(program));
        self.name.as_deref().unwrap_or(program)
    }

    /// Whether it is for this tool.
    pub fn is_for(&self, tool: &str) -> bool {
        fits(&self.tool, tool)
    }
}

/// Whether a name fits a pattern of `*`, `?` and plain characters. Takes no longer than one length times the other.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut here) = (0, 0);
    // Where the last star stands, and how much of the name it has eaten.
    let mut star: Option<(usize, usize)> = None;
    while here < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, here));
                at += 1;
            }
            Some(&wanted) if wanted == '?' || wanted == name[here] => {
                at += 1;
                here += 1;
            }
            _ => {
                let Some((place, eaten)) = star else { return false };
                star = Some((place, eaten + 1));
                at = place + 1;
                here = eaten + 1;
            }
        }
    }
    pattern[at.min(pattern.len())..].iter().all(|rest| *rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_patterns() {
        for (pattern, name, expected) in [
            ("*", "read", true),
            ("read", "read", true),
            ("read", "reads", false),
            ("read", "rea", false),
            ("r?ad", "read", true),
            ("mcp__*", "mcp__github__search", true),
            ("mcp__*__search", "mcp__github__search", true),
            ("mcp__*__search", "mcp__github__list", false),
            ("*edit*", "multi_edit", true),
            ("*a*b", "aab", true),
            ("*a*b", "aaba", false),
            ("", "read", false),
            ("", "", true),
            ("**", "", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_hook_is_named_after_its_program() {
        let hook: Hook = serde_json::from_value(serde_json::json!({ "command": ["/opt/guard", "-v"] })).unwrap();
        assert_eq!((hook.shown(), hook.tool.as_str(), hook.on_failure), ("guard", "*", OnFailure::Refuse));
    }
}
