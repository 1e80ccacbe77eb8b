//! Commands that may write in some places only: which those are, and how the kernel is told (Landlock, Linux 6.2 and
//! later).
//!
//! Reading stays free. Writing, truncating, creating, deleting, renaming and linking are refused outside the places, to
//! the command and all that it starts, for good. What is not covered: modes, owners, times and attributes of files, and
//! the network. A command that cannot be confined does not run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Confine;

/// Devices and the like that tools write to and that keep nothing.
const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm", "/dev/mqueue"];

/// Caches of build tools: the variable that moves the folder, where it is below the home folder otherwise, and the
/// parts of it that are written in a build. Parts that hold programs or settings are left out where builds get by
/// without them: what a confined command writes there would run unconfined later.
const CACHES: &[(&str, &str, &[&str])] = &[
    ("XDG_CACHE_HOME", ".cache", &[""]),
    ("", "Library/Caches", &[""]),
    ("CARGO_HOME", ".cargo", &["registry", "git", ".package-cache", ".package-cache-mutate", ".global-cache"]),
    ("RUSTUP_HOME", ".rustup", &["tmp", "downloads"]),
    ("CARGO_TARGET_DIR", "", &[""]),
    ("SCCACHE_DIR", "", &[""]),
    ("CCACHE_DIR", ".ccache", &[""]),
    ("NPM_CONFIG_CACHE", ".npm", &[""]),
    ("YARN_CACHE_FOLDER", ".yarn", &["berry/cache"]),
    ("PNPM_HOME", ".local/share/pnpm", &["store"]),
    ("BUN_INSTALL", ".bun", &["install/cache"]),
    ("PIP_CACHE_DIR", "", &[""]),
    ("UV_CACHE_DIR", "", &[""]),
    ("GOPATH", "go", &["pkg"]),
    ("GOMODCACHE", "", &[""]),
    ("GOCACHE", "", &[""]),
    ("GRADLE_USER_HOME", ".gradle", &["caches", "daemon", "native", "notifications", "workers", ".tmp"]),
    ("", ".m2", &["repository"]),
    ("NUGET_PACKAGES", ".nuget/packages", &[""]),
    ("TMPDIR", "", &[""]),
];

impl Confine {
    /// These folders, the system's temporary ones, and the caches that build tools write to.
    pub fn around(roots: &[PathBuf]) -> Confine {
        Confine { writable: places(roots, |name| std::env::var_os(name)) }
    }
}

fn places(roots: &[PathBuf], variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = absolute("HOME");
    let caches = CACHES.iter().flat_map(|(name, below, parts)| {
        let below = || home.as_ref().filter(|_| !below.is_empty()).map(|home| home.join(below));
        let folder = absolute(name).or_else(below);
        parts.iter().filter_map(move |part| Some(folder.as_ref()?.join(part)))
    });
    let temporary = ["/tmp", "/var/tmp"].into_iter().map(PathBuf::from);
    let mut places: Vec<PathBuf> = roots.iter().cloned().chain(temporary).chain(caches).collect();
    // The same folder may have two names here.
    let mut seen = std::collections::BTreeSet::new();
    places.retain(|place| seen.insert(place.clone()));
    places
}

/// Whether commands can be confined on this machine. The error says why not, as words that follow a colon.
pub fn confinement() -> Result<(), String> {
    kernel::probe()
}

/// This process and all that it starts may write below `writable` only, from now on. The error says why that cannot be
/// had.
pub(super) fn enforce(writable: &[PathBuf]) -> Result<(), String> {
    let devices = DEVICES.iter().map(Path::new);
    kernel::enforce(writable.iter().map(PathBuf::as_path).chain(devices))
}

#[cfg(target_os = "linux")]
mod kernel {
    use std::path::Path;

    use landlock::{
        ABI, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, RulesetCreated,
        RulesetCreatedAttr as _, RulesetError, RulesetStatus, path_beneath_rules,
    };

    /// The first version that also holds truncation; without that, a file outside could be emptied.
    const NEEDED: ABI = ABI::V3;

    const MISSING: &str = "this kernel has no Landlock that holds truncation too (Linux 6.2 or later, with `landlock` \
         among its active security modules)";

    fn rules() -> Result<RulesetCreated, RulesetError> {
        let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        rules.handle_access(AccessFs::from_write(NEEDED))?.create()
    }

    pub(super) fn probe() -> Result<(), String> {
        rules().map(drop).map_err(|_| MISSING.to_owned())
    }

    pub(super) fn enforce<'a>(writable: impl Iterator<Item = &'a Path>) -> Result<(), String> {
        let rules = rules().map_err(|_| MISSING.to_owned())?;
        let enforced = rules
            // Places that do not exist are passed over: nothing can be written below them.
            .add_rules(path_beneath_rules(writable, AccessFs::from_write(NEEDED)))
            .and_then(RulesetCreated::restrict_self);
        match enforced {
            Ok(status) if status.ruleset == RulesetStatus::FullyEnforced => Ok(()),
            Ok(_) => Err(MISSING.to_owned()),
            Err(error) => Err(format!("the kernel refuses to confine it: {error}")),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod kernel {
    use std::path::Path;

    const MISSING: &str = "commands can be confined on Linux only";

    pub(super) fn probe() -> Result<(), String> {
        Err(MISSING.to_owned())
    }

    pub(super) fn enforce<'a>(_: impl Iterator<Item = &'a Path>) -> Result<(), String> {
        probe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_come_first_and_caches_follow_their_variables() {
        let variable = |name: &str| {
            let value = match name {
                "HOME" => "/home/me",
                "CARGO_HOME" => "/opt/cargo",
                "GOCACHE" => "off",
                "TMPDIR" => "/tmp",
                _ => return None,
            };
            Some(OsString::from(value))
        };
        let places = places(&["/work/one".into(), "/work/two".into()], variable);
        assert!(places.starts_with(&["/work/one".into(), "/work/two".into(), "/tmp".into(), "/var/tmp".into()]));
        let has = |place: &str| places.iter().any(|found| found == Path::new(place));
        for place in
            ["/home/me/.cache", "/opt/cargo/registry", "/home/me/.rustup/tmp", "/home/me/go/pkg", "/home/me/.npm"]
        {
            assert!(has(place), "{place} in {places:?}");
        }
        for place in ["/home/me", "/opt/cargo", "/opt/cargo/bin", "/home/me/.cargo/registry", "/home/me/.rustup", "off"]
        {
            assert!(!has(place), "{place} in {places:?}");
        }
        assert_eq!(places.iter().filter(|place| **place == Path::new("/tmp")).count(), 1);
    }

    #[test]
    fn without_a_home_there_are_no_caches() {
        assert_eq!(places(&["/work".into()], |_| None), ["/work", "/tmp", "/var/tmp"].map(PathBuf::from));
    }
}
