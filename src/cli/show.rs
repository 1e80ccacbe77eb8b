//! `ropewalk try`: the main job, shown to a person, over the same wire that an editor uses.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use ropewalk::dispatch::{CallResult, Status};
use ropewalk::languages::verdict;
use ropewalk::ports::{self, Disk as _, SystemDisk};
use ropewalk::process;
use ropewalk::recording::Recorder;
use ropewalk::text::{LineBreaks, Text, hash};
use ropewalk::tool::Content;
use serde_json::json;

use super::desk::{Desk, DeskError};
use super::record::Record;
use super::scenario::{self, Edit, Scenario};
use super::{Common, complain, say, told_to_end};

/// `ropewalk try`
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// A file of yours to play on: it is opened as a document and never written. Without one: a bundled sample.
    file: Option<PathBuf>,
    /// What is recorded.
    #[command(flatten)]
    pub(super) record: Record,
}

/// Plays the scene. Exit code 0 when all went as it should, else 1 (2: the file cannot be used).
pub(crate) async fn run(common: &Common, show: Show, recorder: Option<&Recorder>) -> u8 {
    let played = match show.file {
        Some(file) => match own_file(&file) {
            Ok((path, scenario)) => play(common, &path, &scenario, false, recorder).await,
            Err(why) => {
                complain(&why);
                return 2;
            }
        },
        None => bundled(common, recorder).await,
    };
    match played {
        Ok(true) => 0,
        Ok(false) => 1,
        Err(DeskError::Signalled(code)) => code,
        Err(error) => {
            complain(&error.to_string());
            1
        }
    }
}

fn own_file(file: &Path) -> Result<(PathBuf, Scenario), String> {
    let shown = file.display();
    let path = SystemDisk.canonicalize(file).map_err(|error| format!("cannot open {shown}: {error}"))?;
    let bytes = SystemDisk.read(&path).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{shown} is not UTF-8 text"))?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let scenario = scenario::of_file(&name, text)
        .ok_or_else(|| format!("{shown} has no three lines in a row that stand there only once; try another file"))?;
    Ok((path, scenario))
}

/// Plays the bundled sample in a folder of its own: the Python one, or the C one where only clangd is found.
async fn bundled(common: &Common, recorder: Option<&Recorder>) -> Result<bool, DeskError> {
    let found = |name: &str| process::find(name, &[]).is_some();
    let python = ["ruff", "basedpyright-langserver", "pyright-langserver"].iter().any(|name| found(name));
    let scenario = if !python && found("clangd") { scenario::c() } else { scenario::python() };
    let folder = ports::scratch_folder("ropewalk-try-").map_err(DeskError::Disk)?;
    let path = folder.path().join(&scenario.name);
    SystemDisk.create(&path, scenario.text.as_bytes()).map_err(DeskError::Disk)?;
    play(common, &path, &scenario, true, recorder).await
}

async fn play(
    common: &Common,
    path: &Path,
    scenario: &Scenario,
    trusted: bool,
    recorder: Option<&Recorder>,
) -> Result<bool, DeskError> {
    let mut trust = common.trust.clone();
    let folder = project_of(path);
    if trusted {
        trust.push(folder.clone());
    }
    let desk = Desk::start(&folder, &trust, super::named_file(common), serde_json::Map::new(), recorder).await?;
    // However it ends, the language servers are ended first.
    let went = tokio::select! {
        went = scenes(&desk, &folder, path, scenario) => went,
        code = told_to_end() => Err(DeskError::Signalled(code)),
    };
    desk.close().await;
    went
}

async fn scenes(desk: &Desk, folder: &Path, path: &Path, scenario: &Scenario) -> Result<bool, DeskError> {
    let disk_before = SystemDisk.read(path).map_err(DeskError::Disk)?;
    let name = &scenario.name;
    let folders = [SystemDisk.canonicalize(folder).map_err(DeskError::Disk)?];

    heading(&format!("1. {name} is opened as a document, and somebody types in it without saving"));
    let uri = desk.open(path, &scenario.text)?;
    let typed = Text::new(&scenario.text, LineBreaks::Lf);
    desk.type_at(&uri, typed.position_of(scenario.typed_at, desk.encoding()), &scenario.typed)?;
    quote("+ ", &scenario.typed);
    desk.call("read", json!({ "file_path": path, "limit": 1 })).await?;

    heading("2. Diagnostics before the edit");
    say(&indent(&verdict::render_within(&desk.diagnostics(&uri).await?, &folders)));

    heading("3. An agent edits that buffer; its text is not quite what stands there");
    let broken = edit(desk, path, &scenario.breaks).await?;
    let went_in = report(&broken, &folders);

    heading("4. It has seen what came back, and mends it");
    let mended = edit(desk, path, &scenario.mends).await?;
    let went_in = report(&mended, &folders) && went_in;

    heading("5. The file on the disk");
    let disk_after = SystemDisk.read(path).map_err(DeskError::Disk)?;
    let untouched = disk_before == disk_after;
    let (buffer, version) = desk.text(&uri)?;
    let mirror = desk.mirrored(&uri).await?;
    let equal = mirror.0 == buffer && mirror.1 == version;
    let on_disk = hash(&String::from_utf8_lossy(&disk_after));
    say(&format!(
        "   {} (SHA-256 {}...)\n   the buffer is at version {version}, unsaved, SHA-256 {}...; the sidecar's mirror {}\n\n",
        if untouched { "unchanged, byte for byte" } else { "CHANGED: this should never happen" },
        &on_disk[..12],
        &hash(&buffer)[..12],
        if equal { "is equal to it" } else { "DIFFERS: this should never happen" },
    ));
    Ok(untouched && equal && went_in)
}

/// The workspace folder for a file: its repository, else the folder it is in.
fn project_of(path: &Path) -> PathBuf {
    let repository = path.ancestors().skip(1).find(|folder| SystemDisk.metadata(&folder.join(".git")).is_ok());
    repository.or(path.parent()).unwrap_or(Path::new("/")).to_owned()
}

async fn edit(desk: &Desk, path: &Path, edit: &Edit) -> Result<CallResult, DeskError> {
    quote("old | ", &edit.old);
    quote("new | ", &edit.new);
    desk.call("edit", json!({ "file_path": path, "old_string": edit.old, "new_string": edit.new })).await
}

/// Prints a result; whether the edit went in.
fn report(result: &CallResult, folders: &[PathBuf]) -> bool {
    for edit in result.edits.iter().flatten() {
        for hunk in &edit.hunks {
            say(&format!(
                "   found by {} (similarity {:.2}), line {} on; version {} -> {}\n",
                hunk.strategy,
                hunk.similarity,
                hunk.before.start,
                edit.version_before.map_or("disk".into(), |version| version.to_string()),
                edit.version_after.map_or("disk".into(), |version| version.to_string()),
            ));
        }
        say(&indent(&edit.unified_diff));
    }
    match &result.diagnostics {
        Some(report) => {
            say(&format!("   diagnostics after the edit:\n{}", indent(&verdict::render_within(report, folders))));
        }
        None => {
            for content in &result.content {
                if let Content::Text { text } = content {
                    say(&indent(text));
                }
            }
        }
    }
    result.status == Status::Ok
}

fn heading(text: &str) {
    say(&format!("\n{text}\n\n"));
}

fn quote(mark: &str, text: &str) {
    let quoted = text.lines().fold(String::new(), |mut out, line| {
        let _ = writeln!(out, "   {mark}{line}");
        out
    });
    say(&format!("{quoted}\n"));
}

fn indent(text: &str) -> String {
    text.lines().fold(String::new(), |mut out, line| {
        let _ = writeln!(out, "   {line}");
        out
    })
}
