//! What of our own environment a command gets that an agent asked for: what the user's shell would give it, less what
//! makes programs run other programs, less secrets, less ways into the editor and the terminal, and with words that
//! keep it from asking or paging. Pure.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// What loads code into programs, or changes what a shell or git does, whatever the command line says; names.
const RUNS_THINGS: &[&str] = &[
    "BASHOPTS",
    "BASH_ENV",
    "ENV",
    "LESSCLOSE",
    "LESSOPEN",
    "PROMPT_COMMAND",
    "PS4",
    "SHELLOPTS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
];

/// The same; beginnings of names.
const RUNS_THINGS_PREFIXES: &[&str] = &["BASH_FUNC_", "DYLD_", "LD_"];

/// Those of git that only say something. All others are left out: they run programs, or lead to another repository than
/// the one that the command is in (an editor that `git commit` started has them).
const GIT_KEPT: &[&str] = &[
    "GIT_ALLOW_PROTOCOL",
    "GIT_AUTHOR_",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMITTER_",
    "GIT_LFS_SKIP_SMUDGE",
    "GIT_OPTIONAL_LOCKS",
    "GIT_SSL_",
];

/// The editor, and the terminal it runs in, take orders over these; and what describes them is not true of a command
/// whose output is read from a pipe.
const WAYS_BACK: &[&str] = &[
    "ALACRITTY_SOCKET",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "ELECTRON_RUN_AS_NODE",
    "FORCE_COLOR",
    "KITTY_LISTEN_ON",
    "LINES",
    "MYVIMRC",
    "NVIM",
    "NVIM_LISTEN_ADDRESS",
    "STY",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "TMUX",
    "TMUX_PANE",
    "VIM",
    "VIMRUNTIME",
    "WEZTERM_UNIX_SOCKET",
    "ZELLIJ",
    "ZELLIJ_SESSION_NAME",
];

/// The same; beginnings of names.
const WAYS_BACK_PREFIXES: &[&str] = &["VSCODE_"];

/// What says where we are, and how we were started.
const OURS: &[&str] = &["OLDPWD", "PWD", "RUST_LOG", "SHLVL", "_"];

/// Whole words of a name that make it that of a secret.
const SECRET_WORDS: &[&str] = &[
    "APIKEY",
    "AUTH",
    "AUTHORIZATION",
    "COOKIE",
    "COOKIES",
    "CREDS",
    "JWT",
    "PASS",
    "PASSPHRASE",
    "PAT",
    "PWD",
    "TOKENS",
];

/// Parts of a name, wherever they stand, that make it so.
const SECRET_PARTS: &[&str] = &["ACCESS_KEY", "CREDENTIAL", "PASSWD", "PASSWORD", "PRIVATE_KEY", "SECRET"];

/// The ends of names that make them so.
const SECRET_ENDS: &[&str] = &["APIKEY", "TOKEN", "_KEY", "_KEYS"];

/// These look like it and are none: the socket of the user's own agent, without which git cannot reach a host.
const NO_SECRETS: &[&str] = &["SSH_AUTH_SOCK"];

/// What every command gets, whatever we have.
const GIVEN: &[(&str, &str)] = &[
    // Nobody is there to answer. Git asks nobody then, an empty program for it is none, and Git's credential manager
    // opens no window.
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", ""),
    ("GCM_INTERACTIVE", "never"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("GH_PROMPT_DISABLED", "1"),
    ("PIP_NO_INPUT", "1"),
    ("COREPACK_ENABLE_DOWNLOAD_PROMPT", "0"),
    ("TF_INPUT", "0"),
    // A pager would wait for a key.
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("GH_PAGER", "cat"),
    ("AWS_PAGER", ""),
    // An editor would wait for a person; one that fails makes the command say that it wanted one.
    ("EDITOR", "false"),
    ("VISUAL", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    // Its output is read as it comes, not when a buffer is full.
    ("PYTHONUNBUFFERED", "1"),
    // Words about newer versions are nothing that was asked for.
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("NO_UPDATE_NOTIFIER", "1"),
    ("NPM_CONFIG_UPDATE_NOTIFIER", "false"),
    ("NPM_CONFIG_FUND", "false"),
    // A pipe is no terminal, and this one least of all. NO_COLOR is not set beside it: that would change what a
    // project's own tests of its colours find. Nor is CI: with it builds fail on warnings and tests write no snapshots.
    ("TERM", "dumb"),
];

/// Git's settings that every command gets, over all files of settings.
const GIT_SETTINGS: &[(&str, &str)] = &[
    // A folder of the project that merely looks like a repository is none: its settings could name programs.
    ("safe.bareRepository", "explicit"),
    ("core.fsmonitor", "false"),
    // Maintenance that goes on in the background would be ended with the command, each time anew.
    ("maintenance.auto", "false"),
];

/// Settings of git in our own environment that stay: the beginnings of keys, in small letters. None of them runs a program,
/// and without them a container's own git may refuse to work (`safe.directory`). Others may name programs or hold
/// secrets.
const GIT_SETTINGS_KEPT: &[&str] = &["advice.", "i18n.", "init.defaultbranch", "safe.directory", "user."];

/// The environment of a command, from ours. `keep` names variables that it gets although they look like secrets.
pub(in crate::process) fn for_command(
    vars: impl Iterator<Item = (OsString, OsString)>,
    keep: &[String],
) -> Vec<(OsString, OsString)> {
    let given = |name: &OsStr| GIVEN.iter().any(|(given, _)| *given == name);
    let vars: Vec<(OsString, OsString)> = vars.collect();
    let kept = git_settings(&vars);
    let mut out: Vec<(OsString, OsString)> = vars
        .into_iter()
        .filter(|(name, value)| !given(name) && passes(name, value, keep))
        .map(|(name, value)| if name == "PATH" { (name, without_relative(&value)) } else { (name, value) })
        .collect();
    let mut give = |name: &str, value: &str| out.push((name.into(), value.into()));
    for (name, value) in GIVEN {
        give(name, value);
    }
    // The last of a key counts: ours are.
    let own = GIT_SETTINGS.iter().map(|(key, value)| (OsString::from(key), OsString::from(value)));
    let settings: Vec<(OsString, OsString)> = kept.into_iter().chain(own).collect();
    out.push(("GIT_CONFIG_COUNT".into(), settings.len().to_string().into()));
    for (number, (key, value)) in settings.into_iter().enumerate() {
        out.push((format!("GIT_CONFIG_KEY_{number}").into(), key));
        out.push((format!("GIT_CONFIG_VALUE_{number}").into(), value));
    }
    out
}

/// The settings of git in an environment that stay, in their order.
fn git_settings(vars: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let value = |name: &str| vars.iter().find(|(found, _)| found == name).map(|(_, value)| value.clone());
    let count = value("GIT_CONFIG_COUNT").and_then(|count| count.to_str()?.parse::<usize>().ok()).unwrap_or_default();
    // So many variables there are at most.
    let numbers = 0..count.min(vars.len());
    let setting =
        |number| Some((value(&format!("GIT_CONFIG_KEY_{number}"))?, value(&format!("GIT_CONFIG_VALUE_{number}"))?));
    let stays = |(key, _): &(OsString, OsString)| {
        let key = key.to_string_lossy().to_ascii_lowercase();
        GIT_SETTINGS_KEPT.iter().any(|kept| key.starts_with(kept))
    };
    numbers.filter_map(setting).filter(stays).collect()
}

fn passes(name: &OsStr, value: &OsStr, keep: &[String]) -> bool {
    // What names the rest are made of cannot be said of one that is no text; no program that is of use here has one.
    let Some(name) = name.to_str() else { return false };
    let among = |names: &[&str], prefixes: &[&str]| {
        names.contains(&name) || prefixes.iter().any(|prefix| name.starts_with(prefix))
    };
    if among(RUNS_THINGS, RUNS_THINGS_PREFIXES) || among(WAYS_BACK, WAYS_BACK_PREFIXES) || among(OURS, &[]) {
        return false;
    }
    if name.starts_with("GIT_") && !among(&[], GIT_KEPT) {
        return false;
    }
    keep.iter().any(|kept| kept == name) || !(is_secret(name) || holds_password(name, value))
}

/// Whether the name is that of a secret.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let name = name.replace(['-', '.'], "_");
    !NO_SECRETS.contains(&name.as_str())
        && (name.split('_').any(|word| SECRET_WORDS.contains(&word))
            || SECRET_PARTS.iter().any(|part| name.contains(part))
            || SECRET_ENDS.iter().any(|end| name.ends_with(end)))
}

/// Whether the value is an address with a password in it (`postgres://me:secret@host`). Those of proxies stay: without
/// them there would be no network.
fn holds_password(name: &str, value: &OsStr) -> bool {
    if name.to_ascii_uppercase().ends_with("_PROXY") {
        return false;
    }
    let value = String::from_utf8_lossy(value.as_bytes());
    value.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#', ' ', ',']).next().unwrap_or_default();
        let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
        user.split_once(':').is_some_and(|(_, password)| !password.is_empty())
    })
}

/// A search path without the entries that mean another folder wherever one is.
fn without_relative(path: &OsStr) -> OsString {
    let kept =
        path.as_bytes().split(|byte| *byte == b':').filter(|entry| Path::new(OsStr::from_bytes(entry)).is_absolute());
    OsStr::from_bytes(&kept.collect::<Vec<_>>().join(&b':')).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(vars: &[(&str, &str)], keep: &[&str]) -> Vec<(String, String)> {
        let keep: Vec<String> = keep.iter().map(|name| (*name).to_owned()).collect();
        let vars = vars.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let text = |text: OsString| text.into_string().unwrap();
        for_command(vars, &keep).into_iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    fn passed(name: &str, value: &str, keep: &[&str]) -> bool {
        of(&[(name, value)], keep).contains(&(name.to_owned(), value.to_owned()))
    }

    #[test]
    fn what_users_set_passes() {
        for (name, value) in [
            ("HOME", "/home/me"),
            ("LANG", "de_DE.UTF-8"),
            ("RUSTFLAGS", "-D warnings"),
            ("NODE_OPTIONS", "--max-old-space-size=4096"),
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("AWS_PROFILE", "dev"),
            ("AWS_REGION", "eu-central-1"),
            ("TOKENIZERS_PARALLELISM", "false"),
            ("KEYBOARD", "de"),
            ("COMPASS", "north"),
            ("GIT_AUTHOR_NAME", "Me"),
            ("GIT_SSL_CAINFO", "/etc/ca"),
            ("HTTPS_PROXY", "http://me:secret@proxy:3128"),
            ("REGISTRY_URL", "https://me@host/path:with@odd"),
            ("DATABASE_URL", "postgres://localhost/test"),
            ("CI", "true"),
        ] {
            assert!(passed(name, value, &[]), "{name}");
        }
    }

    #[test]
    fn what_runs_things_or_leads_back_does_not_whatever_is_kept() {
        for name in [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "DYLD_INSERT_LIBRARIES",
            "BASH_ENV",
            "ENV",
            "SHELLOPTS",
            "BASHOPTS",
            "PS4",
            "PROMPT_COMMAND",
            "BASH_FUNC_ls%%",
            "GIT_SSH_COMMAND",
            "GIT_SSH",
            "GIT_EXTERNAL_DIFF",
            "GIT_PROXY_COMMAND",
            "GIT_CONFIG_COUNT",
            "GIT_CONFIG_GLOBAL",
            "GIT_CONFIG_PARAMETERS",
            "GIT_EXEC_PATH",
            "GIT_DIR",
            "GIT_INDEX_FILE",
            "GIT_TEMPLATE_DIR",
            "GIT_TRACE",
            "SSH_ASKPASS",
            "LESSOPEN",
            "NVIM",
            "TMUX",
            "VSCODE_IPC_HOOK_CLI",
            "FORCE_COLOR",
            "PWD",
            "PAGER",
            "EDITOR",
            "TERM",
            "GIT_ASKPASS",
        ] {
            assert!(!passed(name, "/bin/evil", &[name]), "{name}");
        }
    }

    #[test]
    fn settings_of_git_stay_where_they_run_nothing_and_ours_are_the_last() {
        let settings = |vars: &[(&str, &str)]| -> Vec<String> {
            let out = of(vars, &[]);
            let value = |name: &str| {
                let mut found = out.iter().filter(|(found, _)| found == name).map(|(_, value)| value.clone());
                let first = found.next().unwrap();
                assert_eq!(found.next(), None, "{name} is there once");
                first
            };
            let count: usize = value("GIT_CONFIG_COUNT").parse().unwrap();
            let setting = |number| {
                format!(
                    "{}={}",
                    value(&format!("GIT_CONFIG_KEY_{number}")),
                    value(&format!("GIT_CONFIG_VALUE_{number}"))
                )
            };
            (0..count).map(setting).collect()
        };
        let own = ["safe.bareRepository=explicit", "core.fsmonitor=false", "maintenance.auto=false"];
        assert_eq!(settings(&[]), own);
        assert_eq!(settings(&[("GIT_CONFIG_COUNT", "many")]), own);
        assert_eq!(settings(&[("GIT_CONFIG_COUNT", "18446744073709551615")]), own);
        let found = settings(&[
            ("GIT_CONFIG_COUNT", "4"),
            ("GIT_CONFIG_KEY_0", "safe.directory"),
            ("GIT_CONFIG_VALUE_0", "*"),
            ("GIT_CONFIG_KEY_1", "core.sshCommand"),
            ("GIT_CONFIG_VALUE_1", "evil"),
            ("GIT_CONFIG_KEY_2", "http.extraHeader"),
            ("GIT_CONFIG_VALUE_2", "Authorization: x"),
            ("GIT_CONFIG_KEY_3", "User.Name"),
            ("GIT_CONFIG_VALUE_3", "Me"),
        ]);
        assert_eq!(found, [&["safe.directory=*", "User.Name=Me"][..], &own].concat());
    }

    #[test]
    fn secrets_pass_only_where_they_are_named() {
        for (name, value) in [
            ("GITHUB_TOKEN", "x"),
            ("GHTOKEN", "x"),
            ("npm_config__authToken", "x"),
            ("OPENAI_API_KEY", "x"),
            ("OPENAI_APIKEY", "x"),
            ("AWS_SECRET_ACCESS_KEY", "x"),
            ("AWS_ACCESS_KEY_ID", "x"),
            ("AWS_SESSION_TOKEN", "x"),
            ("MYSECRETS", "x"),
            ("PGPASSWORD", "x"),
            ("DB_PASS", "x"),
            ("MYSQL_PWD", "x"),
            ("KEY_PASSPHRASE", "x"),
            ("GOOGLE_APPLICATION_CREDENTIALS", "x"),
            ("NPM_AUTH", "x"),
            ("CARGO_REGISTRIES_MINE_TOKEN", "x"),
            ("GITHUB_PAT", "x"),
            ("DATABASE_URL", "postgres://me:secret@host/db"),
            ("BROKERS", "amqp://a, amqp://me:secret@host"),
        ] {
            assert!(!passed(name, value, &["OTHER"]), "{name}");
            assert!(passed(name, value, &["OTHER", name]), "{name}");
        }
    }

    #[test]
    fn the_search_path_has_no_relative_entries() {
        for (path, expected) in [
            ("/bin:/usr/bin", "/bin:/usr/bin"),
            (".:/bin::node_modules/.bin:/usr/bin:", "/bin:/usr/bin"),
            ("", ""),
            ("..", ""),
        ] {
            let found = of(&[("PATH", path)], &[]);
            assert!(found.contains(&("PATH".to_owned(), expected.to_owned())), "{path:?}: {found:?}");
        }
    }

    #[test]
    fn nothing_asks_or_pages() {
        let given = of(&[("GIT_CONFIG_COUNT", "9"), ("TERM", "xterm-256color"), ("PAGER", "less")], &[]);
        let lines: Vec<String> = given.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        expect_test::expect![[r"
            GIT_TERMINAL_PROMPT=0
            GIT_ASKPASS=
            GCM_INTERACTIVE=never
            SSH_ASKPASS_REQUIRE=never
            DEBIAN_FRONTEND=noninteractive
            GH_PROMPT_DISABLED=1
            PIP_NO_INPUT=1
            COREPACK_ENABLE_DOWNLOAD_PROMPT=0
            TF_INPUT=0
            PAGER=cat
            GIT_PAGER=cat
            MANPAGER=cat
            SYSTEMD_PAGER=cat
            GH_PAGER=cat
            AWS_PAGER=
            EDITOR=false
            VISUAL=false
            GIT_EDITOR=false
            GIT_SEQUENCE_EDITOR=false
            PYTHONUNBUFFERED=1
            PIP_DISABLE_PIP_VERSION_CHECK=1
            NO_UPDATE_NOTIFIER=1
            NPM_CONFIG_UPDATE_NOTIFIER=false
            NPM_CONFIG_FUND=false
            TERM=dumb
            GIT_CONFIG_COUNT=3
            GIT_CONFIG_KEY_0=safe.bareRepository
            GIT_CONFIG_VALUE_0=explicit
            GIT_CONFIG_KEY_1=core.fsmonitor
            GIT_CONFIG_VALUE_1=false
            GIT_CONFIG_KEY_2=maintenance.auto
            GIT_CONFIG_VALUE_2=false
        "]]
        .assert_eq(&lines.concat());
    }

    proptest! {
        /// No name comes twice, and none that looks like a secret comes at all.
        #[test]
        fn no_name_comes_twice(names in proptest::collection::btree_set("[A-Z_]{1,12}", 0..20)) {
            let vars: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
            let found = of(&vars, &[]);
            let unique: std::collections::BTreeSet<&String> = found.iter().map(|(name, _)| name).collect();
            prop_assert_eq!(unique.len(), found.len());
            for (name, value) in &found {
                prop_assert!(value != "x" || !is_secret(name));
            }
        }
    }
}
