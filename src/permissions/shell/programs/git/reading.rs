//! git commands that look.

use super::super::super::effects::Verdict;
use super::super::options::{Danger, Parsed, known};
use super::super::rows::{Operands, Row, asks, looks};
use super::super::sheet::Sheet;
use super::remote;

/// Options of everything that shows differences.
macro_rules! diff {
    ($more:literal) => {
        concat!(
            "-NUM -p -u -s -U? -z -B? -M? -C? -D -l: -S: -G: -O:< -R -a -b -w -I: -W -X? -0 -1 -2 -3 -c -m --patch \
                --no-patch --unified? --raw --patch-with-raw --patch-with-stat --indent-heuristic \
                --no-indent-heuristic --minimal --patience --histogram --anchored: --diff-algorithm: --stat? \
                --stat-width: --stat-count: --compact-summary --numstat --shortstat --dirstat? --cumulative \
                --summary --name-only --name-status --submodule? --color? --no-color --color-moved? --no-color-moved \
                --color-moved-ws: --color-words? --word-diff? --word-diff-regex: --no-renames --rename-empty \
                --no-rename-empty --check --ws-error-highlight: --full-index --binary --abbrev? --no-abbrev \
                --break-rewrites? --find-renames? --find-copies? --find-copies-harder --irreversible-delete \
                --diff-filter: --find-object: --pickaxe-all --pickaxe-regex --skip-to: --rotate-to: --relative? \
                --no-relative --text --ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change \
                --ignore-all-space --ignore-blank-lines --ignore-matching-lines: --inter-hunk-context: \
                --function-context --exit-code --quiet --no-ext-diff --no-textconv --ignore-submodules? \
                --src-prefix: --dst-prefix: --no-prefix --default-prefix --line-prefix: --ita-invisible-in-index \
                --cc --combined-all-paths --no-index --cached --staged --merge-base --output-indicator-new: \
                --output-indicator-old: --output-indicator-context: --base --ours --theirs --help ",
            $more
        )
    };
}

const HISTORY: &str = diff!(
    "-n: -g -t -r -i -E -F -P -L: -q -e -v -k --oneline --graph --no-graph --all --decorate? --no-decorate \
        --decorate-refs: --decorate-refs-exclude: --author: --committer: --grep: --grep-reflog: --since: --after: \
        --until: --before: --max-count: --skip: --follow --no-merges --merges --first-parent --reverse --date: \
        --format: --pretty? --abbrev-commit --no-abbrev-commit --branches? --tags? --remotes? --left-right \
        --left-only --right-only --cherry --cherry-pick --cherry-mark --source --topo-order --date-order \
        --author-date-order --parents --children --simplify-by-decoration --simplify-merges --full-history --dense \
        --sparse --show-pulls --ancestry-path? --stdin --notes? --no-notes --show-notes? --invert-grep --all-match \
        --no-walk? --boundary --walk-reflogs --diff-merges: --no-diff-merges --remerge-diff --mailmap --no-mailmap \
        --use-mailmap --no-use-mailmap --log-size --glob: --exclude: --encoding: --expand-tabs? --no-expand-tabs \
        --min-parents: --max-parents: --no-min-parents --no-max-parents --reflog --relative-date --root --objects \
        --count --not --header --timestamp --bisect --since-as-filter: --regexp-ignore-case --basic-regexp \
        --extended-regexp --fixed-strings --perl-regexp --remove-empty --clear-decorations --in-commit-order \
        --single-worktree --ignore-missing --creation-factor: --no-dual-color --disk-usage --no-commit-header"
);

const OUTSIDE: &[Danger] = &[
    ("--output:>", Verdict::NeedsApproval, "overwrites a file"),
    ("--ext-diff", Verdict::NeedsApproval, "runs the external diff programs that are configured"),
    ("--textconv", Verdict::NeedsApproval, "runs the text converters that are configured"),
    ("--show-signature", Verdict::NeedsApproval, "runs the configured program for signatures"),
];

/// The verbs.
pub(in super::super) const ROWS: &[Row] = &[
    looks("log, show, whatchanged, rev-list, range-diff, cherry", HISTORY, Operands::Text).dangers(OUTSIDE),
    looks(
        "diff, diff-tree, diff-index, diff-files",
        diff!("-q -t -r -v --root --stdin --no-commit-id --pretty? --format: --follow --always"),
        Operands::Text,
    )
    .dangers(OUTSIDE)
    .then(compared),
    looks(
        "status",
        "-s -b -v -u? -z -M? --short --branch --show-stash --porcelain? --long --verbose \
        --untracked-files? --ignore-submodules? --ignored? --column? --no-column --ahead-behind --no-ahead-behind \
        --renames --no-renames --find-renames? --help",
        Operands::Text,
    ),
    looks(
        "rev-parse, ls-files, ls-tree, name-rev, merge-base, show-ref, show-branch, for-each-ref, count-objects, \
        check-ignore, check-attr, check-mailmap, check-ref-format, patch-id, stripspace, get-tar-commit-id, \
        verify-pack, show-index, version, column, fmt-merge-msg",
        "*",
        Operands::Text,
    ),
    looks(
        "describe",
        "--all --tags --contains --abbrev: --candidates: --exact-match --debug --long --match: \
        --exclude: --always --first-parent --dirty? --broken?",
        Operands::Text,
    ),
    looks(
        "shortlog",
        "-n -s -e -w? -c --numbered --summary --email --format: --group: --committer --author: \
        --since: --after: --until: --before: --all --no-merges --merges --branches? --tags? --remotes? --max-count: \
        -NUM",
        Operands::Text,
    ),
    looks(
        "blame, annotate",
        "-b -c -C? -M? -e -f -h -l -L: -n -p -s -t -w -S:< --root --show-stats --porcelain \
        --line-porcelain --incremental --encoding: --contents:< --date: --score-debug --show-name --show-number \
        --show-email --abbrev: --reverse --first-parent --ignore-rev: --ignore-revs-file:< --color-lines \
        --color-by-age --progress --no-progress --since:",
        Operands::Text,
    ),
    looks(
        "cat-file",
        "-e -p -t -s --batch? --batch-check? --batch-command? --batch-all-objects --buffer --unordered \
        --follow-symlinks --allow-unknown-type --mailmap --use-mailmap --path: -z -Z",
        Operands::Text,
    )
    .dangers(&[("--textconv --filters", Verdict::NeedsApproval, "runs the filters that are configured")]),
    looks(
        "grep",
        "-NUM -a -I -i -w -v -h -H -E -G -P -F -n -l -L -z -o -c -q -p -W -r -A: -B: -C: -e: -f:< -m: \
        --cached --untracked --no-index --recurse-submodules --no-recurse-submodules --no-exclude-standard \
        --exclude-standard --text --ignore-case --word-regexp --invert-match --full-name --extended-regexp \
        --basic-regexp --perl-regexp --fixed-strings --line-number --no-line-number --column --files-with-matches \
        --name-only --files-without-match --null --only-matching --count --color? --no-color --break --heading \
        --show-function --after-context: --before-context: --context: --function-context --max-count: --max-depth: \
        --recursive --no-recursive --threads: --and --or --not --all-match --quiet",
        Operands::Text,
    )
    .dangers(&[
        ("-O? --open-files-in-pager?", Verdict::NeedsApproval, "runs a program on what it finds"),
        ("--textconv", Verdict::NeedsApproval, "runs the text converters that are configured"),
    ])
    .then(grep),
    looks(
        "ls-remote",
        "-h -t -q --heads --branches --tags --refs --quiet --exit-code --get-url --sort: --symref",
        Operands::Text,
    )
    .dangers(&[("--upload-pack:! --exec:!", Verdict::NeedsApproval, "runs a program to talk to the repository")])
    .net()
    .then(remote),
    looks(
        "fsck",
        "-v --full --no-full --strict --unreachable --dangling --no-dangling --root --tags --cache \
        --no-reflogs --verbose --progress --no-progress --connectivity-only --name-objects",
        Operands::Text,
    ),
    looks("help", "-a -g --all --guides --config --verbose", Operands::Text),
    looks("var", "-l", Operands::Text),
    looks("reflog, reflog show, reflog list, reflog exists", HISTORY, Operands::Text).dangers(OUTSIDE),
    looks("remote", "-v --verbose", Operands::Text),
    looks("remote show", "-n", Operands::Text).net().then(remote),
    looks("remote get-url", "--push --all", Operands::Text),
    looks("stash list, stash show", HISTORY, Operands::Text).dangers(&[
        ("--output:>", Verdict::NeedsApproval, "overwrites a file"),
        ("--ext-diff --textconv", Verdict::NeedsApproval, "runs the programs that are configured"),
        ("--include-untracked --no-include-untracked --only-untracked", Verdict::ReadOnly, ""),
    ]),
    looks("worktree list", "-v -z --porcelain --verbose --expire:", Operands::Text),
    looks(
        "submodule status, submodule summary",
        "--cached --recursive -q --quiet --files --summary-limit:",
        Operands::Text,
    ),
    looks(
        "notes list, notes show, bisect log, bundle list-heads, lfs ls-files, lfs status, lfs env, \
        sparse-checkout list, config list, config get, maintenance is-needed, rerere status, rerere diff, submodule",
        "-l -s --all --show-origin --show-scope --global --local --system --worktree --name-only --default: --type: \
            -z --null --regexp --value: --includes --no-includes",
        Operands::Text,
    ),
    asks("verify-commit, verify-tag", "runs the configured program for signatures"),
];

/// `git diff --no-index` reads any files.
fn compared(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    if parsed.has("--no-index") {
        parsed.operands.iter().for_each(|word| sheet.reads(word));
    }
}

fn grep(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    if let Some(program) = parsed.values("-O --open-files-in-pager").last() {
        sheet.runs_line(program, false);
    }
    if parsed.has("--no-index") {
        parsed.operands.iter().skip(1).filter(|word| known(word).is_some()).for_each(|word| sheet.reads(word));
    }
}
