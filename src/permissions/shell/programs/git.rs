//! git: what looks, what changes, what loses work, and what runs something.
//!
//! `diff`, `log -p`, `show` and `blame` use the text converters and external diff drivers that `.git/config` names, if
//! the attributes ask for them. That file never comes with a clone: it is the user's own, of a folder the user trusts,
//! and whatever else writes it is asked about (`git config`, and any path in `.git`). So they are taken to look, as
//! they do for people; what the command line itself hands to git (`-c`, `--git-dir`, `--ext-diff`, another folder) is
//! not.
//! Aliases cannot take the name of a command that git has.

use super::super::effects::{Verdict, Word};
use super::options::{Parsed, known, shown};
use super::rows::{Operands, Verbs, asks, looks};
use super::sheet::Sheet;

mod branches;
mod reading;
mod writing;

const HOOKS: &str = "runs the repository's hooks";

/// git itself.
pub(super) const GIT: Verbs = Verbs {
    names: "git",
    before: looks(
        "git",
        "-C: -P -v -h --no-pager --no-replace-objects --bare --literal-pathspecs --glob-pathspecs \
        --noglob-pathspecs --icase-pathspecs --no-optional-locks --no-advice --no-lazy-fetch --html-path --man-path \
        --info-path --exec-path --version --help --namespace: -c: --config-env:",
        Operands::Text,
    )
    .dangers(&[
        (
            "--git-dir: --work-tree: --attr-source:",
            Verdict::NeedsApproval,
            "uses another repository, whose settings can run commands",
        ),
        ("-p --paginate", Verdict::NeedsApproval, "runs the pager"),
    ])
    .then(global),
    common: "",
    rows: &[reading::ROWS, branches::ROWS, writing::ROWS],
    else_: asks("", "is no git command that is known; an alias can run anything"),
};

/// Settings that git only shows or stores by.
const HARMLESS_SETTINGS: &[&str] = &[
    "advice.",
    "blame.",
    "branch.sort",
    "color.",
    "column.",
    "core.abbrev",
    "core.autocrlf",
    "core.quotepath",
    "diff.algorithm",
    "diff.colormoved",
    "diff.context",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "diff.renames",
    "diff.renamelimit",
    "diff.submodule",
    "grep.",
    "init.defaultbranch",
    "log.date",
    "log.decorate",
    "log.follow",
    "merge.conflictstyle",
    "status.",
    "tag.sort",
    "user.email",
    "user.name",
];

fn global(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    for folder in parsed.values("-C") {
        if !inside(folder, sheet) {
            let why = format!("goes to `{}`, where other settings can run commands", shown(folder));
            sheet.raise_by(Verdict::NeedsApproval, "-C", &why);
        }
    }
    for setting in parsed.values("-c") {
        match setting {
            Word::Known(text) => set(text, sheet),
            Word::Unknown(text) => {
                sheet.raise_by(Verdict::NeedsApproval, "-c", &format!("sets `{text}`, which may run commands"));
            }
        }
    }
    if let Some(folder) = parsed.values("--exec-path").last() {
        let why = format!("takes git's own programs from `{}`", shown(folder));
        sheet.raise_by(Verdict::NeedsApproval, "--exec-path", &why);
    }
    for setting in parsed.values("--config-env") {
        let why = format!("sets `{}`, which may run commands", shown(setting));
        sheet.raise_by(Verdict::NeedsApproval, "--config-env", &why);
    }
}

/// Whether a folder lies within the workspace, by the words alone.
fn inside(folder: &Word, sheet: &Sheet<'_>) -> bool {
    let Some(folder) = known(folder) else { return false };
    let scene = sheet.invocation.scene;
    let path = scene.workdir.join(folder);
    let up = std::path::Path::new(folder).components().any(|part| part == std::path::Component::ParentDir);
    !up && !folder.starts_with('~') && scene.roots.iter().any(|root| path.starts_with(root))
}

/// What `-c name=value` means.
fn set(setting: &str, sheet: &mut Sheet<'_>) {
    let (name, value) = setting.split_once('=').unwrap_or((setting, "true"));
    let lower = name.to_lowercase();
    if let Some(command) = value.strip_prefix('!')
        && lower.starts_with("alias.")
    {
        sheet.raise_by(Verdict::NeedsApproval, "-c", &format!("makes `{name}` run `{command}`"));
        sheet.runs_line(&Word::Known(command.to_owned()), false);
        return;
    }
    let pager = lower == "core.pager" && matches!(value, "cat" | "" | "less");
    if pager
        || HARMLESS_SETTINGS.iter().any(|known| lower == *known || known.ends_with('.') && lower.starts_with(known))
    {
        return;
    }
    sheet.raise_by(Verdict::NeedsApproval, "-c", &format!("sets `{name}`, which may run commands"));
    let runs = [
        "pager",
        "sshcommand",
        "editor",
        "fsmonitor",
        "external",
        "textconv",
        "askpass",
        "cmd",
        "command",
        "program",
        "helper",
        "driver",
        "clean",
        "smudge",
        "process",
    ];
    if runs.iter().any(|end| lower.ends_with(end)) && !value.is_empty() && !matches!(value, "true" | "false") {
        sheet.runs_line(&Word::Known(value.trim_start_matches('!').to_owned()), false);
    }
}

/// An address of another repository; `ext::` runs a command.
fn remote(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    for word in &parsed.operands {
        address(word, sheet);
    }
}

fn address(word: &Word, sheet: &mut Sheet<'_>) {
    let Some(text) = known(word) else {
        sheet.asks(&format!("talks to `{}`, which only running it shows", shown(word)));
        return;
    };
    if let Some(command) = text.strip_prefix("ext::") {
        sheet.asks(&format!("runs `{command}` to talk to a repository"));
        sheet.runs_line(&Word::Known(command.to_owned()), false);
    } else if text.contains("::") {
        sheet.asks(&format!("runs a helper for `{text}`"));
    } else if text.contains("://") || text.contains('@') && text.contains(':') {
        sheet.host(word);
    }
}

/// Words that make one command line for the shell.
fn line_of(words: &[&Word], sheet: &mut Sheet<'_>) {
    let shown: Vec<&str> = words.iter().map(|word| shown(word)).collect();
    let text = shown.join(" ");
    let all_known = words.iter().all(|word| known(word).is_some());
    if !words.is_empty() {
        sheet.runs_line(&if all_known { Word::Known(text) } else { Word::Unknown(text) }, false);
    }
}
