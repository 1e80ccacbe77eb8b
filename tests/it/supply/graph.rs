//! What `cargo metadata` says of the crates that the program is made of.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What releases are made for; the same as in `deny.toml`.
pub(super) const TARGETS: &[&str] =
    &["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "x86_64-apple-darwin", "aarch64-apple-darwin"];

/// A crate, in one version. They are ordered by name, then version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Package {
    /// What it is called on the registry.
    pub(super) name: String,
    /// Its version.
    pub(super) version: String,
    /// An SPDX expression; crates of long ago write `/` for `OR`.
    pub(super) licence: String,
    /// Where it says that its sources are.
    pub(super) repository: String,
    /// The oldest Rust that it promises to build with.
    pub(super) rust: Option<String>,
    /// The features that it has, on or off; `default` only where that turns anything on.
    pub(super) knows: BTreeSet<String>,
    /// Whether it is from the registry, and from no folder and no repository.
    pub(super) from_registry: bool,
    /// Where its files are.
    pub(super) folder: PathBuf,
}

/// The crates, and who depends on whom.
pub(super) struct Graph {
    packages: BTreeMap<String, Package>,
    nodes: BTreeMap<String, Value>,
    manifest: Value,
    root: String,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl Package {
    fn of(value: &Value) -> Self {
        let features = value["features"].as_object().unwrap();
        let is_any =
            |name: &str, list: &Value| name != "default" || list.as_array().is_some_and(|list| !list.is_empty());
        Self {
            name: text(&value["name"]),
            version: text(&value["version"]),
            licence: text(&value["license"]),
            repository: text(&value["repository"]),
            rust: value["rust_version"].as_str().map(str::to_owned),
            knows: features.iter().filter(|(name, list)| is_any(name, list)).map(|(name, _)| name.clone()).collect(),
            from_registry: value["source"].as_str().is_some_and(|source| source.starts_with("registry+")),
            folder: Path::new(value["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned(),
        }
    }
}

impl Graph {
    /// The crates for one target, or for any. What is not on this machine yet is fetched.
    #[expect(clippy::disallowed_methods, reason = "a test of the repository asks cargo about it")]
    pub(super) fn of(target: Option<&str>) -> Self {
        let mut command = Command::new(env!("CARGO"));
        command.args(["metadata", "--locked", "--format-version", "1"]).current_dir(super::root());
        command.args(target.iter().flat_map(|target| ["--filter-platform", target]));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let all: Value = serde_json::from_slice(&output.stdout).unwrap();
        let by_id = |list: &Value| -> BTreeMap<String, Value> {
            list.as_array().unwrap().iter().map(|item| (text(&item["id"]), item.clone())).collect()
        };
        let (packages, root) = (by_id(&all["packages"]), text(&all["resolve"]["root"]));
        Self {
            manifest: packages[&root].clone(),
            packages: packages.iter().map(|(id, value)| (id.clone(), Package::of(value))).collect(),
            nodes: by_id(&all["resolve"]["nodes"]),
            root,
        }
    }

    /// Our own crate.
    pub(super) fn root(&self) -> &Package {
        &self.packages[&self.root]
    }

    /// Every crate, also those that only tests and building need.
    pub(super) fn packages(&self) -> impl Iterator<Item = &Package> {
        self.packages.values()
    }

    /// The crates whose code is in the program, or made code that is; without our own.
    pub(super) fn linked(&self) -> Vec<&Package> {
        let (mut seen, mut todo) = (BTreeSet::new(), vec![self.root.as_str()]);
        while let Some(id) = todo.pop() {
            if seen.insert(id) {
                let needed = self.nodes[id]["deps"].as_array().unwrap().iter().filter(|dependency| {
                    dependency["dep_kinds"].as_array().unwrap().iter().any(|kind| kind["kind"].is_null())
                });
                todo.extend(needed.map(|dependency| dependency["pkg"].as_str().unwrap()));
            }
        }
        seen.remove(self.root.as_str());
        seen.into_iter().map(|id| &self.packages[id]).collect()
    }

    /// The features of a crate that are on.
    pub(super) fn features(&self, package: &Package) -> BTreeSet<&str> {
        let (id, _) = self.packages.iter().find(|(_, other)| *other == package).unwrap();
        self.nodes[id]["features"].as_array().unwrap().iter().map(|feature| feature.as_str().unwrap()).collect()
    }

    /// The dependencies of our own that have features by default and are taken with them, sorted.
    pub(super) fn taken_with_defaults(&self) -> Vec<&str> {
        let has_any = |dependency: &&Value| {
            let mut named = self.packages.values().filter(|package| dependency["name"] == package.name.as_str());
            named.any(|package| package.knows.contains("default"))
        };
        let all = self.manifest["dependencies"].as_array().unwrap().iter();
        let taken =
            all.filter(|dependency| dependency["uses_default_features"] == true && dependency["kind"].is_null());
        let mut names: Vec<&str> =
            taken.filter(has_any).map(|dependency| dependency["name"].as_str().unwrap()).collect();
        names.sort_unstable();
        names
    }
}
