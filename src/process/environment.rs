//! What of our own environment a child gets. Language servers and what else we start ourselves: what programs need to
//! find their files and to speak the user's language, and nothing that may be a secret. Commands that an agent asked
//! for: `command`. Pure.

mod command;

use std::ffi::OsString;

pub(super) use command::for_command;

/// Variables that are passed on.
const NAMES: &[&str] = &[
    "CLANGD_FLAGS",
    "COLORTERM",
    "CONDA_PREFIX",
    "CPATH",
    "CARGO_HOME",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "HOME",
    "HOSTNAME",
    "JAVA_HOME",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "LOGNAME",
    "NODE_PATH",
    "NVM_DIR",
    "PATH",
    "PKG_CONFIG_PATH",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SDKROOT",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
];

/// Families of variables that are passed on.
const PREFIXES: &[&str] = &["LC_", "XDG_"];

/// Whether every child of ours gets a variable of this name.
pub fn inherited(name: &str) -> bool {
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// The part of an environment that a child of our own gets.
pub(super) fn scrubbed(vars: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    vars.filter(|(name, _)| name.to_str().is_some_and(inherited)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_listed_passes() {
        let vars = ["PATH", "LC_ALL", "XDG_CACHE_HOME", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "PATHS", "LD_PRELOAD"];
        let vars = vars.map(|name| (OsString::from(name), OsString::from("x")));
        let names: Vec<OsString> = scrubbed(vars.into_iter()).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["PATH", "LC_ALL", "XDG_CACHE_HOME"]);
    }
}
