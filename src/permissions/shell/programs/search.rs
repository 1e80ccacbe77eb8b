//! Search in files.

use super::rows::{Operands, Row, looks};

/// The programs. `find` and `fd` run what they are told to and are wrappers.
pub(super) const ROWS: &[Row] = &[
    looks(
        "grep, egrep, fgrep, ggrep, zgrep, zegrep, zfgrep, bzgrep, xzgrep, zstdgrep",
        "* -NUM -e: -f:< -m: -A: -B: \
        -C: -d: -D: --regexp: --file:< --include: --exclude: --exclude-dir: --exclude-from:< --label: --max-count: \
        --after-context: --before-context: --context: --binary-files: --devices: --directories: --group-separator: \
        --color? --colour?",
        Operands::First("-e -f --regexp --file"),
    ),
    looks(
        "rg",
        "-NUM -a -A: -b -B: -c -C: -d: -e: -E: -f:< -F -g: -h -H -i -I -j: -l -L -m: -M: -n -N -o -p -P -q \
        -r: -s -S -t: -T: -u -U -v -V -w -x -z -0 -. --after-context: --auto-hybrid-regex --no-auto-hybrid-regex \
        --before-context: --binary --no-binary --block-buffered --no-block-buffered --byte-offset --case-sensitive \
        --color: --colors: --column --no-column --context: --context-separator: --no-context-separator --count \
        --count-matches --crlf --no-crlf --debug --dfa-size-limit: --encoding: --engine: --field-context-separator: \
        --field-match-separator: --file:< --files --files-with-matches --files-without-match --fixed-strings \
        --no-fixed-strings --follow --no-follow --generate: --glob: --glob-case-insensitive --heading --no-heading \
        --help --hidden --no-hidden --hyperlink-format: --iglob: --ignore-case --ignore-file:< \
        --ignore-file-case-insensitive --include-zero --invert-match --json --no-json --line-buffered \
        --no-line-buffered --line-number --no-line-number --line-regexp --max-columns: --max-columns-preview \
        --max-count: --max-depth: --maxdepth: --max-filesize: --mmap --no-mmap --multiline --no-multiline \
        --multiline-dotall --no-config --no-filename --no-ignore --ignore --no-ignore-dot --no-ignore-exclude \
        --no-ignore-files --no-ignore-global --no-ignore-messages --no-ignore-parent --no-ignore-vcs --no-messages \
        --messages --no-pcre2-unicode --no-require-git --no-unicode --null --null-data --one-file-system \
        --only-matching --path-separator: --passthru --pcre2 --no-pcre2 --pcre2-version --pretty --quiet \
        --regex-size-limit: --regexp: --replace: --search-zip --no-search-zip --no-pre --smart-case --sort: --sortr: \
        --stats --no-stats --stop-on-nonmatch --text --no-text --threads: --trace --trim --no-trim --type: \
        --type-add: --type-clear: --type-list --type-not: --unrestricted --version --vimgrep --with-filename \
        --word-regexp --pre-glob: --pre:! --hostname-bin:!",
        Operands::First("-e -f --regexp --file --files --type-list"),
    ),
    looks(
        "ag",
        "-NUM -a -A: -B: -C: -c -D -f -F -G: -g: -H -i -l -L -m: -n -o -p:< -Q -r -R -s -S -t -u -U -v -V -w \
        -W: -z -0 --ackmate --all-types --after? --before? --context? --color --nocolor --column --count --depth: \
        --filename --nofilename --files-with-matches --files-without-matches --fixed-strings --follow --group \
        --nogroup --heading --noheading --hidden --ignore: --ignore-case --ignore-dir: --literal --max-count: \
        --numbers --nonumbers --only-matching --path-to-ignore:< --print-long-lines --recurse --norecurse \
        --search-binary --search-files --search-zip --silent --skip-vcs-ignores --smart-case --stats --stats-only \
        --unrestricted --version --vimgrep --width: --word-regexp --pager:!",
        Operands::First("-g"),
    ),
    // With `-x` and `-X` it is a wrapper.
    looks(
        "fd, fdfind",
        "-0 -1 -a -A -c: -d: -e: -E: -F -g -H -h -i -I -j: -l -L -n -o: -p -q -s -S: -t: -u -V --absolute-path \
        --and: --base-directory: --changed-after: --changed-before: --changed-within: --color: --case-sensitive \
        --exact-depth: --exclude: --extension: --fixed-strings --follow --full-path --glob --help --hidden \
        --ignore-case --ignore-file:< --list-details --max-depth: --max-results: --min-depth: --newer: --no-follow \
        --no-ignore --no-ignore-parent --no-ignore-vcs --one-file-system --older: --owner: --path-separator: --print0 \
        --prune --quiet --regex --search-path:< --show-errors --size: --strip-cwd-prefix? --threads: --type: \
        --unrestricted --version",
        Operands::First(""),
    ),
    looks("pdfgrep", "* -m: -A: -B: -C:", Operands::First("-e -f")),
];
