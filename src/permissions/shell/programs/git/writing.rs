//! git commands that record, exchange and rewrite history.

use super::super::super::effects::{Verdict, Word};
use super::super::options::{Parsed, known, shown};
use super::super::rows::{Operands, Row, asks, changes, destroys, looks};
use super::super::sheet::{Sheet, listing};
use super::address;

const COMMITS: &str = "makes a commit, and runs the repository's hooks";
const REWRITES: &str = "rewrites history, and runs the repository's hooks";
const OTHERS: &str = "overwrites what others have in the remote repository";

/// The verbs.
pub(in super::super) const ROWS: &[Row] = &[
    changes(
        "add, stage",
        "-A -u -n -v -f -N --all --no-all --ignore-removal --update --dry-run --verbose --force \
        --intent-to-add --chmod: --refresh --ignore-errors --ignore-missing --renormalize --sparse \
        --no-warn-embedded-repo --pathspec-from-file:< --pathspec-file-nul",
        Operands::Text,
        "puts files into the index",
    )
    .dangers(&[("-e -i -p --edit --interactive --patch", Verdict::NeedsApproval, "asks at a terminal")]),
    asks("commit", COMMITS)
        .options("* -m: -F:< --message: --file:< -C: -c: --author: --date: -t:< --template:<")
        .dangers(&[("--amend", Verdict::NeedsApproval, "replaces the last commit")]),
    asks("merge, cherry-pick, revert, am", COMMITS).options("* -m: -s: -X: -S? -x -n").dangers(&[(
        "--abort --quit --skip",
        Verdict::Destructive,
        "throws away what was resolved so far",
    )]),
    asks("rebase", REWRITES).options("* --onto: -s: -X: -C: -S?").dangers(&[
        ("-x:! --exec:!", Verdict::NeedsApproval, "runs a command on each commit"),
        ("--abort --skip --quit", Verdict::Destructive, "throws away what was resolved so far"),
    ]),
    asks("pull", "fetches from another machine, merges, and runs the repository's hooks")
        .net()
        .options("* -s: -X: --depth: -j: --jobs: -o: --upload-pack:!")
        .dangers(&[("-f --force", Verdict::Destructive, "overwrites branches with fetched ones")])
        .then(fetched),
    asks("fetch", "fetches from another machine")
        .net()
        .options(
            "* --depth: --deepen: --shallow-since: -j: --jobs: -o: --server-option: --refmap: --filter: \
            --upload-pack:!",
        )
        .then(fetched),
    asks("clone", "fetches from another machine and checks it out")
        .net()
        .options(
            "* -b: --branch: -o: --origin: --depth: -j: --jobs: --filter: --reference: --separate-git-dir:> \
            -u:! --upload-pack:! --shallow-since: --server-option: --bundle-uri:",
        )
        .dangers(&[("-c: --config: --template:", Verdict::NeedsApproval, "sets what can run commands")])
        .then(cloned),
    asks("push", "sends commits to another machine, and runs the repository's hooks")
        .net()
        .options("* -o: --push-option: --repo: --receive-pack:! --exec:!")
        .dangers(&[
            ("-f --force --force-with-lease? --mirror --force-if-includes", Verdict::Destructive, OTHERS),
            ("-d --delete --prune", Verdict::Destructive, "deletes what others have in the remote repository"),
        ])
        .then(push),
    asks("rm", "deletes files and takes them out of the index")
        .options("* -r -n --dry-run -q --quiet --ignore-unmatch --pathspec-from-file:< --sparse --cached")
        .operands(Operands::Writes)
        .dangers(&[("-f --force", Verdict::Destructive, "deletes files with changes that are not committed")]),
    changes("mv", "-k -n -v --dry-run --verbose --sparse", Operands::Writes, "moves files").dangers(&[(
        "-f --force",
        Verdict::NeedsApproval,
        "replaces what is at its target",
    )]),
    changes(
        "init",
        "-q -b: --quiet --bare --initial-branch: --object-format: --ref-format: --shared?",
        Operands::Writes,
        "makes a repository",
    )
    .dangers(&[("--template: --separate-git-dir:>", Verdict::NeedsApproval, "sets what can run commands")]),
    asks(
        "format-patch, archive, bundle, bundle create, bundle verify, bundle unbundle, fast-export, bugreport, \
        diagnose",
        "writes files that may replace others",
    )
    .options("* -o:> --output:> --output-directory:> --exec:! --remote:@"),
    looks(
        "apply",
        "* --check --stat --numstat --summary -p: -C: --directory: --include: --exclude: -v -q",
        Operands::Reads,
    )
    .then(apply),
    asks("hash-object", "stores an object").operands(Operands::Reads),
    asks(
        "gc, repack, prune-packed, pack-refs, maintenance, maintenance run, maintenance start, maintenance stop, \
        commit-graph, multi-pack-index",
        "repacks the repository",
    )
    .dangers(&[("--prune? --aggressive", Verdict::Destructive, "drops what lost commits could be found by")]),
    destroys("prune", "drops commits that nothing names"),
    destroys("filter-branch, filter-repo, fast-import, replay", "rewrites the whole history"),
    asks(
        "send-email, imap-send, request-pull, instaweb, daemon, http-backend, upload-pack, receive-pack, \
        upload-archive, shell, credential, credential-store, credential-cache",
        "talks to other programs or machines",
    )
    .net(),
    asks("difftool, mergetool, gui, gitk, citool", "runs the configured tools"),
    asks("lfs, lfs pull, lfs push, lfs fetch, lfs install, lfs track", "fetches files or changes settings").net(),
    asks("svn, p4, cvsimport, cvsserver, subtree, flow", "runs a program that works on the repository").net(),
];

fn fetched(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    if let Some(first) = parsed.operands.first() {
        address(first, sheet);
    }
    // `+main:main` overwrites our own branch.
    for spec in parsed.known().skip(1) {
        if let Some((_, target)) = spec.strip_prefix('+').and_then(|spec| spec.split_once(':'))
            && !target.is_empty()
            && !target.starts_with("refs/remotes/")
        {
            sheet.destroys(&format!("overwrites `{target}` with what it fetches"));
        }
    }
}

fn cloned(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    if let Some(first) = parsed.operands.first() {
        address(first, sheet);
    }
    if let Some(folder) = parsed.operands.get(1) {
        sheet.writes(folder);
    }
}

fn push(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    if let Some(first) = parsed.operands.first() {
        address(first, sheet);
    }
    let forced: Vec<&Word> = parsed.operands.iter().filter(|word| shown(word).starts_with('+')).copied().collect();
    if !forced.is_empty() {
        sheet
            .destroys(&format!("overwrites {} in the remote repository, whatever others have there", listing(&forced)));
    }
    let deleted: Vec<&Word> = parsed
        .operands
        .iter()
        .filter(|word| known(word).is_some_and(|text| text.starts_with(':') && text.len() > 1))
        .copied()
        .collect();
    if !deleted.is_empty() {
        sheet.destroys(&format!("deletes {} in the remote repository", listing(&deleted)));
    }
}

fn apply(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    let looks = parsed.has("--check --stat --numstat --summary");
    if !looks || !parsed.foreign.is_empty() || parsed.vague.is_some() {
        sheet.asks("changes files as a patch says");
    }
}
