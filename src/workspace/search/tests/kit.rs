//! Workspaces to search, and answers as text.

use std::path::Path;
use std::sync::Arc;

use crate::config::Settings;
use crate::editor::Absent;
use crate::ports::{Disk, Ports};
use crate::workspace::search::{Besides, Case, Found, Job, Mode, Query, Wanted};
use crate::workspace::{Documents, Key, Roots, Workspace, paths};

pub(super) fn workspace(disk: Arc<dyn Disk>, roots: &[&Path]) -> Workspace {
    let roots = Roots::from_paths(&*disk, roots.iter().copied());
    let ports = Ports { disk, ..Ports::system() };
    let workspace = Workspace::new(ports, Arc::new(Absent), Arc::new(Documents::new()));
    workspace.set_roots(roots);
    workspace
}

pub(super) fn open(workspace: &Workspace, path: &Path, text: &str) {
    let uri = paths::uri_of_path(path);
    workspace.documents.open(Key::File(path.to_owned()), &uri, "text", 1, text);
}

pub(super) fn set(workspace: &Workspace, change: impl FnOnce(&mut Settings)) {
    let mut settings = (*workspace.settings()).clone();
    change(&mut settings);
    workspace.set_settings(Arc::new(settings));
}

pub(in super::super) fn query(pattern: &str) -> Query {
    Query {
        pattern: pattern.to_owned(),
        literal: false,
        word: false,
        case: Case::Sensitive,
        multiline: false,
        before: 0,
        after: 0,
        per_file: 1000,
        mode: Mode::Lines,
        skip: 0,
        limit: 10_000,
    }
}

pub(super) fn job(workspace: &Workspace, path: Option<&str>) -> Job {
    workspace.job(path, &Wanted::default(), Besides::default(), &[]).unwrap()
}

pub(super) fn grep(job: &Job, query: &Query) -> Found {
    let matcher = query.matcher().unwrap();
    let mut found = job.grep(query, &matcher);
    found.locate(&matcher);
    found
}

/// `name:line:column:text` of each match.
pub(super) fn lines(job: &Job, found: &Found) -> Vec<String> {
    let mut lines = Vec::new();
    for part in &found.parts {
        for line in part
            .hits
            .lines
            .iter()
            .filter(|line| line.kind == super::super::Kind::Match)
            .skip(part.first)
            .take(part.count)
        {
            let column = line.column.unwrap_or_default();
            lines.push(format!("{}:{}:{column}:{}", job.shown(&part.hits.place), line.number, line.text));
        }
    }
    lines
}

pub(super) fn names(job: &Job) -> Vec<String> {
    job.files(false).entries.iter().map(|entry| job.shown(&entry.place)).collect()
}
