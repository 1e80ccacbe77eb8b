//! `ropewalk fake-editor`: an editor that is driven over standard input and output, with a sidecar, or any language server,
//! as its child.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use ropewalk::fake_editor::{self, Driven, Setup, code};
use ropewalk::ports::{self, Disk as _, Ports, SystemDisk};
use ropewalk::process::{self, Child, Exit, Launch, Programs as _, Started, SystemPrograms};
use serde_json::json;
use tokio::io::BufReader;
use url::Url;

use super::run::EditorWords;
use super::{Common, complain, own_program, told_to_end, unsaid};

/// So long may the program take to end when it was asked to.
const POLITE: Duration = Duration::from_secs(10);
/// And so long when it was told to.
const GRACE: Duration = Duration::from_secs(2);

/// `ropewalk fake-editor`
#[derive(Debug, Args)]
pub(crate) struct FakeEditor {
    #[command(flatten)]
    editor: EditorWords,
    /// The workspace folder, from which paths of steps are taken; without it: the current directory.
    #[arg(long, value_name = "FOLDER")]
    root: Option<PathBuf>,
    /// Deny what is asked and nothing answers, instead of leaving it open for a `reply` step.
    #[arg(long)]
    deny: bool,
    /// Give up after this many milliseconds: the program is ended, and the exit code is 124.
    #[arg(long, value_name = "MS", default_value_t = 300_000)]
    deadline: u64,
    /// The program to talk to over its standard input and output, and its arguments; without it: this one, `--ephemeral`.
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

/// Plays until standard input ends. Exit code 0 when the program kept to the protocol and ended well, else 1 (2: it cannot be
/// started; 124: the deadline).
pub(crate) async fn run(common: &Common, words: FakeEditor) -> u8 {
    let ports = Ports::system();
    let started = prepared(common, &words).and_then(|(setup, launch)| {
        let programs = SystemPrograms::new(Arc::clone(&ports.clock));
        let started = programs.start(&launch);
        let started = started.map_err(|error| format!("cannot start {}: {error}", launch.program.display()))?;
        Ok((setup, started))
    });
    let (setup, Started { reader, writer, child }) = match started {
        Ok(started) => started,
        Err(why) => {
            complain(&why);
            return code::USAGE;
        }
    };
    let stop = || {
        if let Some(child) = &child {
            child.stop(GRACE);
        }
    };
    let conversation = async {
        let steps = BufReader::new(tokio::io::stdin());
        let Driven { fault, told } =
            fake_editor::drive(steps, tokio::io::stdout(), (reader, writer), &ports, setup, stop).await;
        if let Err(error) = told {
            unsaid(&error);
        }
        let exit = ended(child.as_ref(), &ports, fault.is_none()).await;
        (fault, exit)
    };
    let cut = tokio::select! {
        (fault, exit) = conversation => return judged(fault, exit),
        code = told_to_end() => code,
        () = ports.clock.sleep(Duration::from_millis(words.deadline)) => {
            complain(&format!("the deadline came, after {} ms", words.deadline));
            code::DEADLINE
        }
    };
    ended(child.as_ref(), &ports, false).await;
    cut
}

/// The exit code for how the program behaved and ended.
fn judged(fault: Option<String>, exit: Exit) -> u8 {
    match (fault, exit) {
        (Some(fault), _) => complain(&format!("the program {fault}")),
        (None, Exit::Code(0)) => return code::OK,
        (None, exit) => complain(&format!("the program {exit}")),
    }
    code::FAILED
}

/// Waits for the end of the program, and sees to it.
async fn ended(child: Option<&Child>, ports: &Ports, politely: bool) -> Exit {
    let Some(child) = child else { return Exit::Unknown };
    if politely {
        tokio::select! {
            exit = child.exited() => return exit,
            () = ports.clock.sleep(POLITE) => {}
        }
    }
    child.stop(GRACE);
    child.exited().await
}

fn prepared(common: &Common, words: &FakeEditor) -> Result<(Setup, Launch), String> {
    let root = words.root.clone().map_or_else(ports::current_dir, Ok).and_then(|root| SystemDisk.canonicalize(&root));
    let root = root.map_err(|error| format!("no workspace folder: {error}"))?;
    let mut settings = words.editor.settings()?;
    let trusted = common.trust.iter().filter_map(|folder| SystemDisk.canonicalize(folder).ok());
    let trusted: Vec<String> =
        trusted.filter_map(|folder| Url::from_file_path(folder).ok()).map(String::from).collect();
    settings.insert("trusted".to_owned(), json!(trusted));
    let launch = if let Some((program, args)) = words.program.split_first() {
        let found = process::find(program, &[]).ok_or_else(|| format!("there is no program `{program}`"))?;
        Launch { program: found, args: args.to_vec(), dir: Some(root.clone()), ..Launch::default() }
    } else {
        let program = own_program().ok_or("this program cannot be found, to be started once more")?;
        let mut args = vec!["--ephemeral".to_owned()];
        if let Some(settings) = &common.settings {
            let settings = std::path::absolute(settings).unwrap_or_else(|_| settings.clone());
            args.extend(["--settings".to_owned(), settings.to_string_lossy().into_owned()]);
        }
        Launch { program, args, dir: Some(root.clone()), ..Launch::default() }
    };
    let setup = Setup {
        root,
        manner: words.editor.manner,
        settings,
        abilities: serde_json::Map::new(),
        waits: false,
        open_questions: !words.deny,
        repeatable: false,
    };
    Ok((setup, launch))
}
