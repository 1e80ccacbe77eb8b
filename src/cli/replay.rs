//! `ropewalk replay FILE`: plays the editor's side of a recording against a sidecar, up to the first difference.
//!
//! A recording may be somebody else's, so that nothing in it is trusted: the sidecar has the folders in memory, starts no
//! program and reaches no other machine, unless the person says `--live`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use ropewalk::config::OwnFile;
use ropewalk::permissions::visible;
use ropewalk::ports::{self, Clock as _, Disk as _, MemoryDisk, Ports, SystemClock, SystemDisk};
use ropewalk::process::{self, Launch, Programs as _, SystemPrograms};
use ropewalk::recording::{self, Difference, Head, Outcome, Recording, Replayed};
use ropewalk::server::{self, ServeOptions, protocol};
use serde_json::{Value, json};
use url::Url;

use super::{complain, say, told_to_end};

/// `ropewalk replay`
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The recording.
    file: PathBuf,
    /// The files of the recorded workspace folder are in this folder now, as they were at the start; given again, those of
    /// the next one. Without it: where they were, if that is the current folder or below it. They are only read.
    #[arg(long, value_name = "FOLDER", conflicts_with = "live")]
    root: Vec<PathBuf>,
    /// Play it for real: on the files where they are, with commands, language servers and the network. Only for recordings
    /// that you would run.
    #[arg(long)]
    live: bool,
    /// Against this program (and its arguments), instead of a sidecar of our own. It gets frames that may make it run
    /// commands and change files.
    #[arg(long, value_name = "PROGRAM", num_args = 1.., allow_hyphen_values = true, requires = "live")]
    against: Vec<String>,
    /// The outcome as JSON.
    #[arg(long)]
    json: bool,
    /// Give up after this many milliseconds.
    #[arg(long, value_name = "MS")]
    deadline: Option<u64>,
}

/// Exit codes.
mod code {
    pub(super) const SAME: u8 = 0;
    pub(super) const DIFFERS: u8 = 1;
    pub(super) const UNUSABLE: u8 = 2;
    pub(super) const DEADLINE: u8 = 124;
}

/// Bytes that the pipe between the two sides holds.
const PIPE: usize = 1 << 20;

/// Where the recorded settings of the user's are, in memory.
const OWN: &str = "/ropewalk-replay/settings.json";

/// Runs the replay.
pub(crate) async fn run(words: Replay) -> u8 {
    let recording = match read(&words.file) {
        Ok(recording) => recording,
        Err(why) => {
            complain(&format!("{}: {why}", words.file.display()));
            return code::UNUSABLE;
        }
    };
    if !words.json {
        remark(&recording.head);
    }
    let deadline = async {
        match words.deadline {
            Some(ms) => SystemClock.sleep(Duration::from_millis(ms)).await,
            None => std::future::pending().await,
        }
    };
    let replayed = tokio::select! {
        replayed = play(&words, &recording) => replayed,
        () = deadline => {
            complain("the deadline has passed");
            return code::DEADLINE;
        }
        signalled = told_to_end() => return signalled,
    };
    let replayed = match replayed {
        Ok(replayed) => replayed,
        Err(why) => {
            complain(&visible(&why));
            return code::UNUSABLE;
        }
    };
    let tried = ports::kept_inside();
    say(&if words.json { as_json(&recording, &replayed, &tried) } else { shown(&told(&recording, &replayed, &tried)) });
    match replayed.outcome {
        Outcome::Same => code::SAME,
        Outcome::Differs(_) if tried.is_empty() => code::DIFFERS,
        Outcome::Differs(_) | Outcome::SameUpTo(_) => code::UNUSABLE,
    }
}

fn read(file: &Path) -> Result<Recording, String> {
    let bytes = SystemDisk.read(file).map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "it is no recording: it is not UTF-8".to_owned())?;
    Recording::read(&text).map_err(|error| error.to_string())
}

/// Tells what may be the reason of differences.
fn remark(head: &Head) {
    let version = env!("CARGO_PKG_VERSION");
    if head.version != version {
        complain(&format!("recorded by version {}, played against {version}", visible(&head.version)));
    } else if head.schema != protocol::schema_hash() {
        complain("recorded with another protocol than this program's");
    }
    if !head.ephemeral {
        complain("recorded with state from earlier runs, which is not there now");
    }
}

async fn play(words: &Replay, recording: &Recording) -> Result<Replayed, String> {
    let clock = Arc::new(SystemClock);
    if let [program, arguments @ ..] = words.against.as_slice() {
        let found = process::find(program, &[]).ok_or_else(|| format!("there is no program {program}"))?;
        let launch = Launch { program: found, args: arguments.to_vec(), ..Launch::default() };
        let started = SystemPrograms::new(clock.clone()).start(&launch);
        let started = started.map_err(|error| format!("cannot start {program}: {error}"))?;
        return Ok(recording::replay(recording, started.writer, started.reader, &*clock).await);
    }
    let head = &recording.head;
    let (ports, own_file, _held) = if words.live {
        let folder = ports::scratch_folder("ropewalk-replay-").map_err(|error| error.to_string())?;
        let own = head.own_settings.as_ref().map(|own| put_own(&folder.path().join("own.json"), own));
        (Ports::system(), own.transpose()?, Some(folder))
    } else {
        ports::stay_inside();
        // Beside this task, so that a deadline and a signal are heard meanwhile.
        let (folders, roots) = (head.folders.clone(), words.root.clone());
        let loading = tokio::task::spawn_blocking(move || memory_of(&folders, &roots));
        let memory = loading.await.map_err(|error| error.to_string())??;
        let own = head.own_settings.as_ref().map(|own| {
            memory.put(OWN, own.to_string());
            OwnFile { path: PathBuf::from(OWN), named: true, home: None }
        });
        (Ports { disk: Arc::new(memory), ..Ports::system() }, own, None)
    };
    let options = ServeOptions {
        trusted: head.trusted.iter().map(PathBuf::from).collect(),
        repeatable: true,
        own_file,
        ..ServeOptions::default()
    };
    let (ours, theirs) = tokio::io::duplex(PIPE);
    let (their_input, their_output) = tokio::io::split(theirs);
    let (output, input) = tokio::io::split(ours);
    let mut sidecar = Box::pin(server::serve(their_input, their_output, ports, options));
    let mut playing = Box::pin(recording::replay(recording, input, output, &*clock));
    let (replayed, ended) = tokio::select! {
        replayed = &mut playing => (replayed, false),
        _ = &mut sidecar => (playing.as_mut().await, true),
    };
    drop(playing);
    if !ended {
        // Its pipes are gone, so that it ends, and its children with it.
        sidecar.await;
    }
    Ok(replayed)
}

fn put_own(path: &Path, own: &Value) -> Result<OwnFile, String> {
    SystemDisk.create(path, own.to_string().as_bytes()).map_err(|error| error.to_string())?;
    Ok(OwnFile { path: path.to_owned(), named: true, home: None })
}

/// The recorded folders, in memory: with the files of `roots`, or of where they were.
fn memory_of(folders: &[String], roots: &[PathBuf]) -> Result<MemoryDisk, String> {
    if roots.len() > folders.len() {
        return Err(format!("{} folders were recorded, and --root is given {} times", folders.len(), roots.len()));
    }
    let memory = MemoryDisk::new();
    for (at, folder) in folders.iter().enumerate() {
        let place = place_of(folder)?;
        let named = roots.get(at);
        let from = SystemDisk.canonicalize(named.unwrap_or(&place)).map_err(|error| {
            let other = if named.is_some() { "" } else { "; --root names where its files are now" };
            format!("{} cannot be read: {error}{other}", named.unwrap_or(&place).display())
        })?;
        if named.is_none() && !is_here(&from)? {
            return Err(format!(
                "the recording names the folder {}, which is not below the one you are in, and nothing of it is read: \
                 say --root {} if that is right, or name the folder that its files are in",
                from.display(),
                place.display()
            ));
        }
        recording::load(&SystemDisk, &from, &memory, &place).map_err(|error| error.to_string())?;
    }
    Ok(memory)
}

/// The path of a recorded folder.
fn place_of(folder: &str) -> Result<PathBuf, String> {
    let url = Url::parse(folder).ok().filter(|url| url.scheme() == "file");
    let place = url.and_then(|url| url.to_file_path().ok()).filter(|place| place.is_absolute());
    place.ok_or_else(|| format!("the recording names the folder {folder:?}, which is no file: URI of an absolute path"))
}

/// Whether a folder is the current one or below it. `folder`: without links.
fn is_here(folder: &Path) -> Result<bool, String> {
    let here = ports::current_dir().and_then(|here| SystemDisk.canonicalize(&here));
    here.map(|here| folder.starts_with(here)).map_err(|error| format!("the current folder cannot be read: {error}"))
}

fn as_json(recording: &Recording, replayed: &Replayed, tried: &[String]) -> String {
    let told = json!({
        "frames": recording.frames.len(),
        "complete": recording.complete,
        "sent": replayed.sent,
        "came": replayed.came,
        "outcome": replayed.outcome,
        "notDone": tried,
    });
    format!("{}\n", serde_json::to_string_pretty(&told).unwrap_or_default())
}

/// Lines for a terminal: a recording may be somebody else's, and hold what a terminal would obey.
fn shown(lines: &str) -> String {
    lines.lines().fold(String::new(), |all, line| all + &visible(line) + "\n")
}

fn told(recording: &Recording, replayed: &Replayed, tried: &[String]) -> String {
    let Replayed { sent, came, outcome } = replayed;
    let counts = format!("{sent} frames sent, {came} came");
    match outcome {
        Outcome::Same if recording.complete => format!("the same: {counts}\n"),
        Outcome::Same => format!("the same up to the end of the recording, which was cut off: {counts}\n"),
        Outcome::SameUpTo(last) => {
            format!(
                "the same up to frame {last}, behind which frames are missing: {counts}; of the rest nothing is known\n"
            )
        }
        Outcome::Differs(difference) => {
            let mut words = different(difference);
            if let Some(first) = tried.first() {
                let more = match tried.len() {
                    1 => String::new(),
                    all => format!(", and {} things more", all - 1),
                };
                let _ = writeln!(
                    words,
                    "The sidecar wanted to {first}{more}, which a replay does not do. Where you would run what was \
                     recorded: --live"
                );
            }
            words
        }
    }
}

fn different(difference: &Difference) -> String {
    let Difference { frame, why, pointer, expected, got, message, around } = difference;
    let which = frame.map_or("after the last frame".to_owned(), |frame| format!("frame {frame}"));
    let mut words = format!("a difference at {which}: {why}\n");
    let value = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_string);
    if let Some(pointer) = pointer {
        let (old, new) = (value(expected), value(got));
        let _ = writeln!(words, "  at {pointer:?}\n  recorded: {old}\n  came:     {new}");
    } else if let Some(message) = message {
        let _ = writeln!(words, "  came: {message}");
    }
    words.push_str("the frames round it:\n");
    for line in around {
        let _ = writeln!(words, "  {line}");
    }
    words
}
