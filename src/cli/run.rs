//! `ropewalk run`: scripts of steps, each played by an editor and a sidecar in this process.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use ropewalk::fake_editor::{self, Cut, FailOn, Line, MANNERS, Manner, Played, Setup, code, report};
use ropewalk::ports::{self, Clock as _, Disk as _, Fault, FileKind, Met, Ports, Step, SystemClock, SystemDisk};
use ropewalk::ports::{Visitor, WalkOptions};
use ropewalk::server::ServeOptions;
use serde_json::{Map, Value, json};

use super::{Common, allowing, complain, named_file, say, told_to_end};

/// At most so many bytes are copied for a script.
const MOST: u64 = 256 << 20;

/// `ropewalk run`
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The scripts: a step a line, see docs/RUN.md; `-` is standard input.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Play in this folder, whose files the calls and steps of the scripts then change. Without it each script has an empty
    /// folder of its own, which is removed afterwards.
    #[arg(long, value_name = "FOLDER", conflicts_with = "copy")]
    root: Option<PathBuf>,
    /// Give each script a copy of this folder, without what git ignores.
    #[arg(long, value_name = "FOLDER")]
    copy: Option<PathBuf>,
    #[command(flatten)]
    editor: EditorWords,
    /// Fail when a call comes to this: `error`, `ask`, `newErrors`, a verdict such as `pending`, a status such as `denied`,
    /// or the kind of an error. Can be given more than once.
    #[arg(long, value_name = "WHAT", value_parser = FailOn::read)]
    fail_on: Vec<FailOn>,
    /// Give up after this many milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 300_000)]
    deadline: u64,
    /// Write the outcome to this file as the XML of `JUnit`.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print one line of JSON for each step, and one for each script.
    #[arg(long)]
    json: bool,
}

/// What `run` and `fake-editor` both take.
#[derive(Debug, Args)]
pub(crate) struct EditorWords {
    /// Which editor is played, unless the steps say so: `vscode`, `neovim`, `neovim-adapter` or `eglot`.
    #[arg(long = "as", value_name = "MANNER", default_value = "vscode", value_parser = manner)]
    pub(crate) manner: Manner,
    /// Let calls pass without asking: a rule as in `permissions.allow`, for instance `bash(cargo test:*)`. Can be given
    /// more than once.
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Let the language servers start that are found (and, for those that run the project's code, trusted). Without it, what
    /// is on the machine makes no difference.
    #[arg(long)]
    pub(crate) servers: bool,
}

fn manner(name: &str) -> Result<Manner, String> {
    let names = || MANNERS.map(Manner::name).join(", ");
    Manner::of(name).ok_or_else(|| format!("there are {}", names()))
}

impl EditorWords {
    /// The settings to begin with; the error says what is wrong with a rule.
    pub(crate) fn settings(&self) -> Result<Map<String, Value>, String> {
        let mut settings = allowing(&self.allow)?;
        if !self.servers {
            settings.insert("diagnostics".to_owned(), json!({ "ownServers": "off" }));
        }
        Ok(settings)
    }
}

/// A script that can be read.
struct Script {
    name: String,
    lines: Vec<Line>,
}

/// Plays the scripts, one after the other; the exit code is that of the first trouble.
pub(crate) async fn run(common: &Common, words: Run) -> u8 {
    let (scripts, settings) = match prepared(&words) {
        Ok(prepared) => prepared,
        Err(why) => {
            complain(&why);
            return code::USAGE;
        }
    };
    let due = SystemClock.now() + Duration::from_millis(words.deadline);
    let (mut all, mut code) = (Vec::new(), code::OK);
    for Script { name, lines } in scripts {
        let played = match played(common, &words, &settings, &name, &lines, due).await {
            Ok(played) => played,
            Err(why) => {
                complain(&why);
                return code::USAGE;
            }
        };
        code = if code == code::OK { played.code } else { code };
        let cut = played.outcomes.iter().flat_map(|outcome| &outcome.troubles);
        let cut = cut.into_iter().any(|trouble| matches!(trouble, fake_editor::Trouble::Cut(_)));
        all.push((name, lines, played));
        if cut {
            break;
        }
    }
    if let Some(file) = &words.junit
        && let Err(error) = write(file, &report::junit(&all))
    {
        complain(&format!("cannot write {}: {error}", file.display()));
        code = if code == code::OK { code::USAGE } else { code };
    }
    code
}

/// Everything that can be wrong before anything runs.
fn prepared(words: &Run) -> Result<(Vec<Script>, Map<String, Value>), String> {
    let settings = words.editor.settings()?;
    if words.files.iter().filter(|file| is_input(file)).count() > 1 {
        return Err("`-` was given twice, and standard input can be read only once".to_owned());
    }
    if let Some(from) = &words.copy {
        let folder = SystemDisk.canonicalize(from).and_then(|folder| SystemDisk.metadata(&folder));
        let folder = folder.map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
        if folder.kind != FileKind::Directory {
            return Err(format!("cannot copy {}: it is no folder", from.display()));
        }
    }
    let (mut scripts, mut faults) = (Vec::new(), String::new());
    for file in &words.files {
        let name = if is_input(file) { "standard input".to_owned() } else { file.display().to_string() };
        match text_of(file).map(|text| fake_editor::parse(&text)) {
            Ok(Ok(lines)) => scripts.push(Script { name, lines }),
            Ok(Err(found)) => faults.push_str(&report::human_faults(&name, &found)),
            Err(error) => faults.extend([name.as_str(), ": it cannot be read: ", &error.to_string(), "\n"]),
        }
    }
    if faults.is_empty() { Ok((scripts, settings)) } else { Err(format!("nothing was run:\n{}", faults.trim_end())) }
}

/// Whether a script is on standard input.
fn is_input(file: &Path) -> bool {
    file == Path::new("-")
}

fn text_of(file: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    if is_input(file) {
        std::io::stdin().lock().read_to_end(&mut bytes)?;
    } else {
        bytes = SystemDisk.read(file)?;
    }
    String::from_utf8(bytes).map_err(|_| std::io::Error::other("it is no UTF-8 text"))
}

async fn played(
    common: &Common,
    words: &Run,
    settings: &Map<String, Value>,
    name: &str,
    lines: &[Line],
    due: tokio::time::Instant,
) -> Result<Played, String> {
    let scratch = match &words.root {
        Some(_) => None,
        None => Some(ports::scratch_folder("ropewalk-run-").map_err(|error| format!("no temporary folder: {error}"))?),
    };
    let root = match (&words.root, &scratch) {
        (Some(root), _) => root.as_path(),
        (None, Some(scratch)) => scratch.path(),
        (None, None) => Path::new("."),
    };
    let shown = root.display();
    let root = SystemDisk.canonicalize(root).map_err(|error| format!("no folder {shown}: {error}"))?;
    if let Some(from) = &words.copy {
        copy(from, &root).map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
    }
    let setup = Setup {
        root,
        manner: words.editor.manner,
        settings: settings.clone(),
        abilities: fake_editor::abilities_of(lines),
        waits: true,
        open_questions: false,
        repeatable: true,
    };
    let trusted = common.trust.iter().filter_map(|folder| SystemDisk.canonicalize(folder).ok()).collect();
    let options = ServeOptions { trusted, repeatable: true, own_file: named_file(common), ..ServeOptions::default() };
    let told = told_to_end();
    let cut = async {
        tokio::select! {
            () = SystemClock.sleep(due - SystemClock.now()) => Cut::Deadline,
            code = told => Cut::Signal(code),
        }
    };
    if !words.json {
        say(&format!("{name}\n"));
    }
    let tell = |outcome: &fake_editor::Outcome| {
        say(&if words.json { format!("{}\n", report::json(name, outcome)) } else { report::human(name, outcome) });
    };
    let played = fake_editor::play(&Ports::system(), setup, options, lines, &words.fail_on, cut, tell).await;
    say(&if words.json { format!("{}\n", report::json_end(name, &played)) } else { report::human_end(name, &played) });
    Ok(played)
}

fn write(file: &Path, text: &str) -> std::io::Result<()> {
    if SystemDisk.metadata(file).is_ok() {
        SystemDisk.overwrite(file, text.as_bytes())
    } else {
        SystemDisk.create(file, text.as_bytes())
    }
}

/// Notes the files that are met, and what could not be looked at.
struct Notes(Arc<Mutex<Vec<Result<Met, Fault>>>>);

impl Visitor for Notes {
    fn visit(&mut self, met: Result<Met, Fault>) -> Step {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(met);
        Step::On
    }
}

/// Copies the files of a folder, links and what git ignores aside.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    let from = SystemDisk.canonicalize(from)?;
    let found = Arc::new(Mutex::new(Vec::new()));
    let options = WalkOptions { hidden: true, ..WalkOptions::default() };
    SystemDisk.walk(&from, &options, &mut || Box::new(Notes(Arc::clone(&found))));
    let found = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
    let mut left = MOST;
    for met in found {
        let met = met.map_err(|fault| std::io::Error::other(format!("{}: {}", fault.path.display(), fault.why)))?;
        let Some(target) = met.path.strip_prefix(&from).ok().map(|path| to.join(path)) else { continue };
        if met.kind == FileKind::Directory {
            SystemDisk.create_dir_all(&target)?;
        }
        if met.kind != FileKind::File {
            continue;
        }
        let known = SystemDisk.metadata(&met.path)?;
        let too_much = || std::io::Error::other(format!("it has more than {} MiB; name a smaller folder", MOST >> 20));
        left = left.checked_sub(known.len).ok_or_else(too_much)?;
        SystemDisk.create_dir_all(target.parent().unwrap_or(to))?;
        SystemDisk.create(&target, &SystemDisk.read(&met.path)?)?;
        SystemDisk.set_mode(&target, known.mode)?;
    }
    Ok(())
}
