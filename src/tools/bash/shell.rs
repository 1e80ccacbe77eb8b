//! How `bash` and `monitor` start a command line: by which shell, in which folder, with what of the environment, and
//! where it may write.

use std::path::PathBuf;
use std::sync::Arc;

use crate::ports::FileKind;
use crate::process::{Command, Confine, Input, Launch, Running};
use crate::tool::{Context, ErrorKind, ToolError};

/// What the model is told where it is not bash that ran it.
pub(in crate::tools) const BY_SH: &str = "there is no bash here; sh ran it";

/// A command line that is ready to be started.
pub(in crate::tools) struct Prepared {
    pub command: Command,
    /// It is sh that runs it.
    pub by_sh: bool,
}

/// Finds the shell and the folder for a command line. A `workdir` that is blank is none.
pub(in crate::tools) async fn prepared(
    line: &str,
    workdir: Option<&str>,
    input: Input,
    context: &Context,
) -> Result<Prepared, ToolError> {
    let (program, options, by_sh): (_, &[&str], _) = if let Some(bash) = context.programs.find("bash", &[]) {
        (bash, &["--noprofile", "--norc", "-c", "--"], false)
    } else if let Some(sh) = context.programs.find("sh", &[]) {
        (sh, &["-c", "--"], true)
    } else {
        let words = "There is neither bash nor sh on the PATH (in its absolute folders): no command can be run.";
        return Err(ToolError::new(ErrorKind::Unavailable, words));
    };
    let settings = context.workspace.settings();
    let roots = roots(context);
    let dir = folder(workdir, &roots, context).await?;
    let args = options.iter().map(|option| (*option).to_owned()).chain([line.to_owned()]).collect();
    let command = Command {
        launch: Launch { program, args, dir: Some(dir), ..Launch::default() },
        input,
        keep: settings.bash.keep_environment.clone(),
        confine: settings.bash.sandbox.then(|| Confine::around(&roots)),
    };
    Ok(Prepared { command, by_sh })
}

/// What a command line may be at all: the fault of one that is not.
pub(in crate::tools) fn fault(line: &str) -> Option<&'static str> {
    if line.trim().is_empty() {
        return Some("`command` is empty; give a command line, for example \"cargo test\".");
    }
    line.contains('\0').then_some("`command` has a NUL character in it, which no command line can have; leave it out.")
}

/// The session's folders.
fn roots(context: &Context) -> Vec<PathBuf> {
    let wanted = context.session.wanted();
    match wanted.asked.roots {
        Some(_) => wanted.folders.into_iter().flatten().map(PathBuf::from).collect(),
        None => context.workspace.roots().folders,
    }
}

/// The folder that the command runs in.
async fn folder(workdir: Option<&str>, roots: &[PathBuf], context: &Context) -> Result<PathBuf, ToolError> {
    let Some(named) = workdir.filter(|named| !named.trim().is_empty()).map(str::to_owned) else {
        return roots.first().cloned().ok_or_else(|| {
            let words = "No workspace folder is open: give an absolute `workdir` to say where the command runs.";
            ToolError::new(ErrorKind::InvalidArguments, words)
        });
    };
    let workspace = Arc::clone(&context.workspace);
    let look = tokio::task::spawn_blocking(move || {
        let target = workspace.resolve(&named)?;
        let fault = |kind, why: String| Err(ToolError::new(kind, format!("`workdir` {} {why}", target.shown)));
        let [path] = target.paths.as_slice() else {
            return fault(ErrorKind::InvalidArguments, "is no folder on the disk; name one.".to_owned());
        };
        match workspace.ports.disk.metadata(path) {
            Ok(found) if found.kind == FileKind::Directory => Ok(path.clone()),
            Ok(_) => fault(ErrorKind::InvalidArguments, "is a file; name the folder it is in.".to_owned()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                fault(ErrorKind::NotFound, "does not exist; name a folder that does.".to_owned())
            }
            Err(error) => fault(ErrorKind::Failed, format!("cannot be looked at: {error}.")),
        }
    });
    look.await
        .map_err(|error| ToolError::new(ErrorKind::Failed, format!("`workdir` could not be looked up: {error}.")))?
}

/// Starts it.
pub(in crate::tools) fn started(command: &Command, context: &Context) -> Result<Running, ToolError> {
    if context.cancel.is_cancelled() {
        return Err(ToolError::new(ErrorKind::Cancelled, "The call was cancelled before the command was run."));
    }
    // What the call was judged by may have ended while it waited for something since.
    if let Some(why) = context.footing.fallen() {
        let words = format!("The command was not run: {why}.");
        return Err(ToolError::new(ErrorKind::Denied, words));
    }
    context.programs.command(command).map_err(|error| {
        let program = command.launch.program.display();
        if command.confine.is_some() && error.kind() == std::io::ErrorKind::Unsupported {
            let words = format!(
                "The command was not run: the setting `bash.sandbox` confines commands to the workspace folders, and that \
                 cannot be had here: {error}. Tell the user; no command runs before the setting is changed."
            );
            return ToolError::new(ErrorKind::Unavailable, words);
        }
        if error.kind() == std::io::ErrorKind::ConnectionAborted {
            let words = format!(
                "It is not known whether the command was run: {error}. It may have ended what watched it. See what it has \
                 done before it is run again."
            );
            return ToolError::new(ErrorKind::Unknown, words);
        }
        if error.kind() == std::io::ErrorKind::ArgumentListTooLong {
            let bytes = command.launch.args.last().map_or(0, String::len);
            let words = format!(
                "The command was not run: it has {bytes} bytes, and that is more than the system lets a command line have \
                 (about 128 KiB on Linux). Write what is long to a file, or give it as the command's input, and run that."
            );
            return ToolError::new(ErrorKind::InvalidArguments, words);
        }
        ToolError::new(ErrorKind::Failed, format!("The command was not run: {program} could not be started: {error}."))
    })
}
