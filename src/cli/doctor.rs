//! `ropewalk doctor`: what is found on this machine, what is trusted, and how to get the rest.

mod security;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use ropewalk::config::{Own, Remark};
use ropewalk::editor::Absent;
use ropewalk::languages::{Languages, ServerStatus};
use ropewalk::permissions::{Rules, Trust};
use ropewalk::ports::{self, Disk as _, Ports, SystemDisk};
use ropewalk::process;
use ropewalk::syntax::Language;
use ropewalk::workspace::Documents;

use super::{Common, own_file, say};

/// The language ids of the embedded check, in the order in which they are told.
const CHECKED: &[&str] =
    &["bash", "c", "cpp", "go", "javascript", "json", "python", "rust", "toml", "typescript", "typescriptreact"];

/// `ropewalk doctor`
#[derive(Debug, Clone, Args)]
pub(crate) struct Doctor {
    /// Tell instead what opening a folder could run, and why it does not, or what would let it. Nothing of it is run.
    #[arg(long)]
    security: bool,
    /// The folder that `--security` looks at; the current one if it is left out.
    #[arg(long, value_name = "FOLDER", requires = "security")]
    root: Option<PathBuf>,
}

/// Prints the report; exit code 0, or 2 when there is no such folder.
pub(crate) async fn run(common: &Common, doctor: &Doctor) -> u8 {
    let trust = Arc::new(Trust::new());
    let own = own_file(common).map(|file| {
        let text = file.text(&SystemDisk);
        let says = file.says(&text, &SystemDisk);
        (file, text.is_absent(), says)
    });
    for folder in own.iter().flat_map(|(_, _, says)| &says.trusted) {
        trust.set(folder, true);
    }
    for folder in &common.trust {
        if let Ok(folder) = SystemDisk.canonicalize(folder) {
            trust.set(&folder, true);
        }
    }
    let documents = Arc::new(Documents::new());
    let languages = Languages::new(Ports::system(), Arc::new(Absent), &documents, Arc::clone(&trust));
    let servers = languages.status().await;
    languages.shutdown(Duration::from_millis(100)).await;
    if doctor.security {
        return security(&trust, doctor.root.as_deref(), &servers);
    }

    let (found, missing): (Vec<_>, Vec<_>) = servers.iter().partition(|server| server.program.is_ok());
    let mut out = format!("ropewalk {}\n\nLanguage servers\n", env!("CARGO_PKG_VERSION"));
    if found.is_empty() {
        out.push_str("  none of those that are known was found\n");
    }
    for server in found {
        out.push_str(&line(server));
    }
    let _ = writeln!(
        out,
        "\n  A server marked * runs the project's code (build scripts, plugins), so it starts in trusted folders only.\n\
         \nEmbedded syntax check (always there; it does not check types)\n  {}",
        CHECKED.iter().filter_map(|id| Language::of_id(id)).map(Language::name).collect::<Vec<_>>().join(", ")
    );
    out.push_str(&commands(process::confinement(), process::beyond_reach()));
    out.push_str("\nYour settings\n");
    match &own {
        None => out.push_str("  none are read (--ephemeral)\n"),
        Some((file, absent, says)) => out.push_str(&settings(&file.path, *absent, says)),
    }
    let _ = writeln!(out, "\nTrust");
    if let Ok(folder) = ports::current_dir().and_then(|folder| SystemDisk.canonicalize(&folder)) {
        let word = if trust.covers(&folder) {
            "trusted"
        } else {
            "not trusted (--trust FOLDER, or the editor or your settings say so)"
        };
        let _ = writeln!(out, "  {}: {word}", folder.display());
    }
    for folder in own.iter().flat_map(|(_, _, says)| &says.trusted) {
        let _ = writeln!(out, "  {}: trusted, by your settings", folder.display());
    }
    for folder in &common.trust {
        let word = if SystemDisk.canonicalize(folder).is_ok() { "trusted" } else { "there is no such folder" };
        let _ = writeln!(out, "  {}: {word}", folder.display());
    }
    if !missing.is_empty() {
        out.push_str("\nLanguage servers that are not here\n");
        for server in missing {
            out.push_str(&line(server));
        }
    }
    say(&out);
    0
}

/// What is told of the person's own settings file.
fn settings(path: &Path, absent: bool, says: &Own) -> String {
    let mut out = format!("  {}", path.display());
    match &says.fault {
        _ if absent => out.push_str(": there is none\n"),
        Some(why) => {
            let _ = writeln!(out, ": cannot be used: {why}; until that is mended nothing is changed or run");
        }
        None => out.push_str(": read\n"),
    }
    for Remark { key, message } in &says.remarks {
        let _ = writeln!(out, "  setting {key}: {message}");
    }
    let rules = &says.settings.permissions;
    let read = Rules::read(&rules.allow, &rules.ask, &rules.deny);
    for fault in read.faults() {
        let _ = writeln!(out, "  the rule {:?} cannot be read: {}", fault.rule, fault.why);
    }
    let lost = !rules.broken.is_empty() || read.faults().iter().any(|fault| fault.holds_back);
    if says.fault.is_none() && lost {
        out.push_str("  until that is mended nothing is changed or run\n");
    }
    out
}

/// What is told of commands: whether they can be confined, and what their supervisor cannot reach.
fn commands(confinement: Result<(), String>, beyond_reach: Option<&str>) -> String {
    let sandbox = match confinement {
        Ok(()) => "can be had: `bash.sandbox` holds writing to the workspace, temporary folders and caches".to_owned(),
        Err(why) => format!("cannot be had: {why}; with `bash.sandbox` no command runs"),
    };
    let ends = beyond_reach.unwrap_or("all that a command starts ends with it");
    format!("\nCommands\n  sandbox: {sandbox}\n  processes: {ends}\n")
}

fn security(trust: &Trust, root: Option<&Path>, servers: &[ServerStatus]) -> u8 {
    let named = root.map_or_else(ports::current_dir, |root| Ok(root.to_owned()));
    let root = match named.and_then(|root| SystemDisk.canonicalize(&root)) {
        Ok(root) => root,
        Err(error) => {
            super::complain(&format!("there is no such folder: {error}"));
            return 2;
        }
    };
    let found = servers.iter().filter(|server| server.runs_project_code && server.program.is_ok());
    let found: Vec<String> = found.map(|server| format!("{} ({})", server.name, server.languages.join(", "))).collect();
    say(&security::report(&SystemDisk, &root, trust.covers(&root), &found));
    0
}

fn line(server: &ServerStatus) -> String {
    let mark = if server.runs_project_code { "*" } else { " " };
    let (found, what) = match &server.program {
        Ok(path) => ("found  ", path.display().to_string()),
        Err(why) => ("missing", why.clone()),
    };
    format!("  {found} {mark} {:<28} {}\n            {}\n", server.name, server.languages.join(", "), what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_of_commands_is_told() {
        let told = commands(Err("no Landlock".to_owned()), Some("some are not ended"));
        let words = "\nCommands\n  sandbox: cannot be had: no Landlock; with `bash.sandbox` no command runs\n  \
                     processes: some are not ended\n";
        assert_eq!(told, words);
        let told = commands(Ok(()), None);
        assert!(told.contains("sandbox: can be had") && told.ends_with("ends with it\n"), "{told}");
    }
}
