//! Which settings only the user gives: by their own settings file or the editor's user settings, never by a project, trusted
//! or not. They name programs that run, places that are talked to, or what is passed on to these; a repository is not the
//! user.

use super::Settings;

/// One setting, or a group of them, that only the user gives.
#[derive(Debug, Clone, Copy)]
pub struct UserOnly {
    /// Its key: names joined by dots.
    pub key: &'static str,
    /// Puts the user's in the place of what these settings have.
    take: fn(&mut Settings, &Settings),
}

/// All of them, sorted by key. A group is marked as the user's own by a line here: its settings are then taken from the
/// user's file and the editor's user settings, and whatever a project says of them is passed over.
pub const USER_ONLY: &[UserOnly] = &[
    UserOnly { key: "agents", take: |settings, user| settings.agents.clone_from(&user.agents) },
    UserOnly {
        key: "diagnostics.servers",
        take: |settings, user| settings.diagnostics.servers.clone_from(&user.diagnostics.servers),
    },
    UserOnly {
        key: "formatter.commands",
        take: |settings, user| settings.formatter.commands.clone_from(&user.formatter.commands),
    },
    UserOnly { key: "hooks", take: |settings, user| settings.hooks.clone_from(&user.hooks) },
    UserOnly {
        key: "permissions.allow",
        take: |settings, user| settings.permissions.allow.clone_from(&user.permissions.allow),
    },
    UserOnly { key: "saveBeforeBash", take: |settings, user| settings.save_before_bash = user.save_before_bash },
];

impl Settings {
    /// What only the user gives is as in the user's settings.
    pub(super) fn take_users_own(&mut self, user: &Settings) {
        for own in USER_ONLY {
            (own.take)(self, user);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Each with a value that is not its default.
    fn said(key: &str, program: &str) -> Value {
        match key {
            "agents" => json!({ "coder": { "command": [program] } }),
            "diagnostics.servers" => json!({ "ruff": { "command": [program] } }),
            "formatter.commands" => json!({ "python": [program] }),
            "hooks" => json!({ "before": [{ "command": [program] }], "after": [] }),
            "permissions.allow" => json!([program]),
            "saveBeforeBash" => json!(program == "mine"),
            other => panic!("{other} is said to be the user's own and not tried"),
        }
    }

    fn at(settings: &Settings, key: &str) -> Value {
        let value = serde_json::to_value(settings).unwrap();
        value.pointer(&format!("/{}", key.replace('.', "/"))).unwrap_or_else(|| panic!("there is no {key}")).clone()
    }

    #[test]
    fn what_is_the_users_own_comes_from_the_user_alone() {
        for own in USER_ONLY {
            let (user, remarks) = Settings::parse(&json!({ own.key: said(own.key, "mine") }));
            assert_eq!(remarks, vec![], "{}", own.key);
            for projects in [json!({ own.key: said(own.key, "evil") }), json!({})] {
                let project = Settings::parse(&projects).0;
                assert_ne!(at(&project, own.key), at(&user, own.key), "{}", own.key);
                assert_eq!(at(&project.within(&user), own.key), at(&user, own.key), "{}", own.key);
                // What the user does not say, nobody does.
                let default = Settings::default();
                let evil = Settings::parse(&projects).0;
                assert_eq!(at(&evil.within(&default), own.key), at(&default, own.key), "{}", own.key);
            }
        }
        assert!(USER_ONLY.is_sorted_by_key(|own| own.key));
    }

    #[test]
    fn limits_are_only_lowered() {
        let limits = |n: u64| {
            Settings::parse(&json!({
                "output": { "maxBytes": n, "headBytes": n, "tailBytes": n, "displayBytes": n, "keptBytes": n },
                "parallel": { "perSession": n, "beside": n },
                "search": { "timeLimitMs": n },
                "diagnostics": { "maxPerFile": n, "maxServers": n, "serverMemoryMib": n },
                "formatter": { "timeoutMs": n },
            }))
            .0
        };
        for (project, user, both) in [(9, 5, 5), (3, 5, 3)] {
            assert_eq!(limits(project).within(&limits(user)), limits(both), "{project} within {user}");
        }
        // No servers at most are as many as there are.
        let servers = |most: u64| Settings::parse(&json!({ "diagnostics.maxServers": most })).0;
        for (project, user, both) in [(0, 5, 5), (5, 0, 5), (0, 0, 0)] {
            assert_eq!(
                servers(project).within(&servers(user)).diagnostics.max_servers,
                both,
                "{project} within {user}"
            );
        }
    }
}
