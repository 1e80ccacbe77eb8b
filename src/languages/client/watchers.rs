//! Which changes of files a server wants to hear of, by what it registered. Pure.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use serde_json::Value;

use super::Root;

/// All three kinds of change: made 1, changed 2, removed 4.
const ALL: u64 = 7;

/// One pattern of a registration.
#[derive(Debug, Clone)]
pub(super) struct Watcher {
    /// What a relative pattern is relative to; `None`: to any folder of the server's, or to nothing.
    base: Option<PathBuf>,
    /// `None`: it could not be read, so the server hears of everything.
    glob: Option<GlobMatcher>,
    kinds: u64,
}

impl Watcher {
    /// The watchers of one registration's options. What is odd is taken for "everything": a server that hears too much
    /// loses nothing.
    pub(super) fn all(options: &Value) -> Vec<Watcher> {
        options["watchers"].as_array().into_iter().flatten().map(Watcher::read).collect()
    }

    fn read(watcher: &Value) -> Watcher {
        let pattern = &watcher["globPattern"];
        let base = match &pattern["baseUri"] {
            Value::String(uri) => path_of(uri),
            folder => folder["uri"].as_str().and_then(path_of),
        };
        let glob = pattern.as_str().or_else(|| pattern["pattern"].as_str());
        let glob = glob.and_then(|glob| GlobBuilder::new(glob).literal_separator(true).build().ok());
        let kinds = watcher["kind"].as_u64().filter(|kinds| kinds & ALL != 0).unwrap_or(ALL);
        Watcher { base, glob: glob.map(|glob| glob.compile_matcher()), kinds }
    }

    /// Whether it covers a change: `1` created, `2` changed, `3` deleted.
    pub(super) fn covers(&self, uri: &str, kind: u8, folders: &[Root]) -> bool {
        if kind == 0 || self.kinds & (1 << (kind - 1)) == 0 {
            return false;
        }
        let Some(glob) = &self.glob else { return true };
        let Some(path) = path_of(uri) else { return false };
        let below = |base: &Path| path.strip_prefix(base).is_ok_and(|rest| glob.is_match(rest));
        match &self.base {
            Some(base) => below(base),
            None => glob.is_match(&path) || folders.iter().any(|folder| below(&folder.path)),
        }
    }
}

fn path_of(uri: &str) -> Option<PathBuf> {
    url::Url::parse(uri).ok()?.to_file_path().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn patterns_and_kinds_decide() {
        let folders = [Root { path: "/w/app".into(), uri: "file:///w/app".into() }];
        let check = |watcher: Value, path: &str, kind: u8, expected: bool| {
            let found = Watcher::all(&json!({ "watchers": [watcher] }));
            assert_eq!(found[0].covers(&format!("file://{path}"), kind, &folders), expected, "{watcher} {path} {kind}");
        };
        let plain = |glob: &str| json!({ "globPattern": glob });
        check(plain("**/*.py"), "/w/app/a/b.py", 1, true);
        check(plain("**/*.py"), "/elsewhere/b.py", 3, true);
        check(plain("**/*.py"), "/w/app/b.pyi", 1, false);
        check(plain("**/*.{py,pyi}"), "/w/app/b.pyi", 2, true);
        check(plain("*.toml"), "/w/app/x.toml", 2, true);
        check(plain("*.toml"), "/w/app/sub/x.toml", 2, false);
        check(plain("/w/app/**/*.rs"), "/w/app/src/lib.rs", 2, true);
        check(plain("src/[!a]*.rs"), "/w/app/src/b.rs", 2, true);
        check(plain("src/[!a]*.rs"), "/w/app/src/a.rs", 2, false);
        let relative = |base: Value| json!({ "globPattern": { "baseUri": base, "pattern": "**/*.rs" } });
        check(relative(json!("file:///w/lib")), "/w/lib/a.rs", 1, true);
        check(relative(json!({ "uri": "file:///w/lib", "name": "lib" })), "/w/lib/x/a.rs", 1, true);
        check(relative(json!("file:///w/lib")), "/w/app/a.rs", 1, false);
        let kinds = |kind: u64| json!({ "globPattern": "**/*", "kind": kind });
        check(kinds(1), "/w/app/a", 1, true);
        check(kinds(1), "/w/app/a", 2, false);
        check(kinds(6), "/w/app/a", 3, true);
        check(kinds(6), "/w/app/a", 1, false);
        check(kinds(0), "/w/app/a", 1, true);
        // What cannot be read covers everything.
        check(plain("[z-a]"), "/w/app/a", 1, true);
        check(json!({}), "/w/app/a", 1, true);
        check(json!(null), "/w/app/a", 0, false);
    }

    #[test]
    fn what_is_no_file_is_covered_by_no_pattern() {
        let watchers = Watcher::all(&json!({ "watchers": [{ "globPattern": "**/*" }] }));
        assert!(!watchers[0].covers("untitled:1", 1, &[]));
        assert!(Watcher::all(&json!(null)).is_empty());
    }
}
