//! git commands on branches, tags, the index, stashes and settings.

use super::super::super::effects::{Verdict, Word};
use super::super::options::{Parsed, known, shown};
use super::super::rows::{Operands, Row, asks, changes, destroys, looks};
use super::super::sheet::{Sheet, listing};
use super::{HOOKS, remote};

const LOSES: &str = "throws away changes that are not committed";

/// The verbs.
pub(in super::super) const ROWS: &[Row] = &[
    looks(
        "branch",
        "-a -r -v -q -i -l -t -c -m -d -u: --all --remotes --list --verbose --quiet --show-current \
        --contains? --no-contains? --merged? --no-merged? --points-at: --format: --sort: --column? --no-column \
        --ignore-case --color? --no-color --abbrev? --no-abbrev --omit-empty --track? --no-track --copy --move \
        --delete --create-reflog --set-upstream-to: --unset-upstream --recurse-submodules --help",
        Operands::Text,
    )
    .dangers(&[
        ("-D", Verdict::Destructive, "deletes branches with what is merged nowhere"),
        ("-f --force", Verdict::Destructive, "moves or deletes branches, whatever is lost by it"),
        ("-M -C", Verdict::Destructive, "replaces a branch that is there"),
        ("--edit-description", Verdict::NeedsApproval, "opens an editor"),
    ])
    .then(branch),
    looks(
        "tag",
        "-l -n? -i -a -m: -F:< --list --sort: --contains? --no-contains? --merged? --no-merged? \
        --points-at: --format: --column? --no-column --color? --ignore-case --omit-empty --annotate --message: \
        --file:< --cleanup: --create-reflog --no-sign --help",
        Operands::Text,
    )
    .dangers(&[
        ("-d --delete", Verdict::Destructive, "deletes tags"),
        ("-f --force", Verdict::Destructive, "moves tags that are there"),
        (
            "-s -u: -v --sign --local-user: --verify",
            Verdict::NeedsApproval,
            "runs the configured program for signatures",
        ),
        ("-e --edit", Verdict::NeedsApproval, "opens an editor"),
    ])
    .then(tag),
    asks("checkout", "changes files to another commit's, and runs the repository's hooks")
        .options(
            "* -b -B: --orphan: -t? --track? --no-track -l --detach -d -q --quiet --conflict: \
            --recurse-submodules --guess --no-guess -m --merge",
        )
        .dangers(&[
            ("-f --force", Verdict::Destructive, LOSES),
            ("-p --patch --ours --theirs -2 -3", Verdict::Destructive, LOSES),
            ("--pathspec-from-file:< --overlay --no-overlay", Verdict::Destructive, LOSES),
            ("-B:", Verdict::Destructive, "moves a branch that is there"),
        ])
        .then(checkout),
    asks("switch", "changes files to another commit's, and runs the repository's hooks").dangers(&[
        ("-f --force --discard-changes", Verdict::Destructive, LOSES),
        ("-C: --force-create:", Verdict::Destructive, "moves a branch that is there"),
    ]),
    looks(
        "restore",
        "* -s: --source: -S --staged -W --worktree --conflict: --pathspec-from-file:< -p --patch -q \
        --quiet --progress --no-progress --ours --theirs -m --merge --overlay --no-overlay \
        --recurse-submodules",
        Operands::Text,
    )
    .then(restore),
    asks("reset", "moves the branch or forgets what is staged")
        .options("* --soft --mixed -q --quiet -N -p --patch --pathspec-from-file:<")
        .dangers(&[
            ("--hard --merge", Verdict::Destructive, LOSES),
            ("--keep", Verdict::NeedsApproval, "moves the branch and the files"),
        ]),
    looks("clean", "* -n --dry-run -d -e: --exclude: -f --force -x -X -q --quiet -i --interactive", Operands::Text)
        .then(clean),
    changes(
        "stash, stash push, stash save",
        "-k -u -a -q -m: -S --keep-index --no-keep-index --include-untracked \
        --all --quiet --message: --staged --pathspec-from-file:< --pathspec-file-nul",
        Operands::Text,
        "puts changes away for later",
    )
    .dangers(&[("-p --patch", Verdict::NeedsApproval, "asks at a terminal")]),
    changes("stash apply, stash pop", "-q --quiet --index", Operands::Text, "brings back what was put away"),
    destroys("stash drop, stash clear", "throws away what was put away"),
    asks("stash branch, stash create, stash store", "changes branches or stashes"),
    asks("remote add, remote set-url", "says where pushes go and fetches come from")
        .operands(Operands::Text)
        .then(remote),
    asks(
        "remote rename, remote remove, remote rm, remote set-head, remote set-branches",
        "changes the known repositories",
    ),
    asks("remote prune, remote update", "fetches, and forgets branches that are gone").net(),
    looks(
        "config",
        "-l -z --list --get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool \
        --show-origin --show-scope --global --local --system --worktree --name-only --default: --type: --bool --int \
        --path --null --includes --no-includes --bool-or-int --expiry-date --fixed-value --all",
        Operands::Text,
    )
    .dangers(&[
        ("-e --edit", Verdict::NeedsApproval, "opens an editor"),
        (
            "--unset --unset-all --remove-section --rename-section --add --replace-all",
            Verdict::NeedsApproval,
            "changes settings, of which some run commands",
        ),
        ("-f:< --file:< --blob:", Verdict::NeedsApproval, "works on another file of settings"),
    ])
    .then(config),
    asks(
        "config set, config unset, config edit, config remove-section, config rename-section",
        "changes settings, of which some run commands",
    )
    .then(settings),
    destroys("reflog expire, reflog delete", "drops what lost commits could be found by"),
    asks("worktree add, worktree move, worktree repair, worktree lock, worktree unlock, worktree prune", HOOKS),
    asks("worktree remove", "removes a working tree").dangers(&[("-f --force", Verdict::Destructive, LOSES)]),
    asks(
        "submodule init, submodule update, submodule add, submodule sync, submodule absorbgitdirs, \
        submodule set-branch, submodule set-url",
        "fetches and checks out other repositories",
    )
    .net()
    .dangers(&[("-f --force", Verdict::Destructive, LOSES)])
    .then(remote_if_added),
    asks("submodule deinit", "removes the files of submodules").dangers(&[("-f --force", Verdict::Destructive, LOSES)]),
    asks("submodule foreach", "runs a command in each submodule")
        .options("+ --recursive -q --quiet")
        .then(|parsed, sheet| super::line_of(&parsed.operands, sheet)),
    asks(
        "bisect, bisect start, bisect good, bisect bad, bisect new, bisect old, bisect skip, bisect reset, bisect \
        replay, bisect view, bisect terms, bisect visualize",
        "changes files to another commit's, and runs the repository's hooks",
    ),
    asks("bisect run", "runs a command on many commits").options("+").operands(Operands::Here(0)),
    asks("symbolic-ref", "moves what a name stands for").dangers(&[(
        "-d --delete",
        Verdict::Destructive,
        "deletes a name",
    )]),
    asks("update-ref", "moves what a name stands for").dangers(&[(
        "-d --stdin",
        Verdict::Destructive,
        "deletes names, and with them what only they keep",
    )]),
    asks(
        "notes, notes add, notes append, notes copy, notes edit, notes merge, replace, sparse-checkout, rerere, \
        read-tree, update-index, checkout-index, write-tree, commit-tree, mktree, mktag",
        "changes the repository",
    ),
    destroys("notes remove, notes prune, rerere clear, rerere forget", "drops what was noted"),
];

fn branch(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    let lists = parsed.has("-l --list --contains --no-contains --merged --no-merged --points-at --show-current");
    if parsed.has("-d --delete") {
        sheet.asks("deletes branches that are merged");
    } else if parsed.has("-m --move") {
        sheet.asks("renames a branch");
    } else if parsed.has("-u --set-upstream-to --unset-upstream") {
        sheet.asks("changes what a branch follows");
    } else if parsed.has("-c --copy") || !lists && !parsed.operands.is_empty() {
        sheet.changes("makes a branch");
    }
}

fn tag(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    let lists = parsed.has("-l --list -n --contains --no-contains --merged --no-merged --points-at");
    if parsed.has("-a --annotate") && !parsed.has("-m --message -F --file") {
        sheet.asks("opens an editor");
    } else if !lists && !parsed.operands.is_empty() {
        sheet.changes("makes a tag");
    }
}

/// A path given to `checkout` throws away what is in the file; a branch does not. One word may be either.
fn checkout(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    let makes = parsed.has("-b -B --orphan -t --track");
    // `-b name start`: neither is a path.
    let names = if makes { 2 } else { 1 };
    let behind = parsed.dashes.map(|at| parsed.operands.len() - at);
    let paths: Vec<&Word> = match (parsed.dashes, behind) {
        (Some(at), Some(count)) if count > 0 => parsed.operands[at..].to_vec(),
        _ => parsed.operands.iter().skip(names).copied().collect(),
    };
    if !paths.is_empty() {
        sheet.destroys(&format!("throws away changes to {} that are not committed", listing(&paths)));
    } else if !makes && let [one] = parsed.operands.as_slice() {
        let text = shown(one);
        if path_like(text) {
            sheet.destroys(&format!("throws away changes to `{text}` that are not committed"));
        } else if known(one).is_none() {
            sheet.asks("may get a path, and then throws away changes to it");
        }
    }
}

/// Whether a word is more likely a path than a branch.
fn path_like(text: &str) -> bool {
    let last = text.rsplit('/').next().unwrap_or(text);
    let extension = last
        .rsplit_once('.')
        .is_some_and(|(stem, extension)| !stem.is_empty() && extension.starts_with(|c: char| c.is_ascii_alphabetic()));
    matches!(text, "." | "..")
        || text.starts_with(['.', '/', ':', '~'])
        || text.contains('*')
        || text.ends_with('/')
        || extension
}

fn restore(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    if parsed.has("-S --staged") && !parsed.has("-W --worktree") && parsed.vague.is_none() && parsed.foreign.is_empty()
    {
        sheet.asks("forgets what is staged");
    } else {
        sheet.destroys(&format!("throws away changes to {} that are not committed", listing(&parsed.operands)));
    }
}

fn clean(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    if !parsed.has("-n --dry-run") {
        sheet.destroys("deletes files that git does not know, without undo");
    } else if parsed.vague.is_some() || !parsed.foreign.is_empty() {
        sheet.asks("may delete files that git does not know");
    }
}

fn config(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    let reads = parsed.has("-l --list --get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool");
    let changes = parsed.has("-e --edit --unset --unset-all --remove-section --rename-section --add --replace-all");
    if changes || !reads && parsed.operands.len() != 1 {
        sheet.asks("changes settings, of which some run commands");
        settings(parsed, sheet);
    }
}

/// Which file of settings is written.
fn settings(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    let named: Vec<&Word> = parsed.values("-f --file").collect();
    for file in &named {
        sheet.writes(file);
    }
    let home = sheet.invocation.scene.home.as_ref();
    let file = match home {
        Some(home) if parsed.has("--global") => home.join(".gitconfig").to_string_lossy().into_owned(),
        _ if parsed.has("--system") => "/etc/gitconfig".to_owned(),
        _ => ".git/config".to_owned(),
    };
    if named.is_empty() {
        sheet.writes(&Word::Known(file));
    }
}

fn remote_if_added(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    if sheet.command.ends_with("add") {
        remote(parsed, sheet);
    }
}
