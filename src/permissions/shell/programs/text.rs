//! Text: what filters, sorts, compares and shows it.

use super::super::effects::Verdict;
use super::options::{Parsed, known};
use super::rows::{Operands, Row, custom, looks};
use super::scripts;
use super::sheet::Sheet;

/// The programs.
pub(super) const ROWS: &[Row] = &[
    looks(
        "cat, gcat, tac, nl, zcat, gzcat, bzcat, xzcat, zstdcat, lz4cat, rev, fold, fmt, pr, expand, unexpand, \
        tsort",
        "* -b: -w: --width: -h: -l: -p: -s: -t: --tabs: --header-numbering: --separator:",
        Operands::Reads,
    ),
    looks("head, ghead", "* -NUM -n: -c: --lines: --bytes:", Operands::Reads),
    looks(
        "tail, gtail",
        "* -NUM -n: -c: --lines: --bytes: --pid: -s: --sleep-interval: --max-unchanged-stats:",
        Operands::Reads,
    ),
    // Without a terminal they are `cat`; what `LESSOPEN` runs is for whoever sets it to answer.
    looks(
        "less, more, most, zless, zmore",
        "-NUM -a -A -B -c -C -d -e -E -f -F -g -G -i -I -J -K -L -m -M -n -N -q \
        -Q -r -R -s -S -u -U -V -w -W -X -b: -h: -j: -p: -P: -x: -y: -z: --RAW-CONTROL-CHARS --chop-long-lines \
        --quit-if-one-screen --no-init --LINE-NUMBERS --help --version",
        Operands::Reads,
    )
    .dangers(&[
        (
            "-k:< -t: -T: --lesskey-file:< --lesskey-src:< --lesskey-content: --tag: --tag-file:",
            Verdict::NeedsApproval,
            "may run commands",
        ),
        ("-o:> -O:> --log-file:> --LOG-FILE:>", Verdict::NeedsApproval, "writes a copy of its input"),
    ])
    .then(pager),
    looks(
        "bat, batcat",
        "-A -p -n -l: -H: -r: -f -P -L -u -d -s --plain? --style: --color: --colour: --language: \
        --highlight-line: --line-range: --paging: --no-paging --theme: --decorations: --tabs: --wrap: --show-all \
        --number --file-name: --list-languages --list-themes --terminal-width: --italic-text: --squeeze-blank \
        --map-syntax: -m: --chop-long-lines --force-colorization --unbuffered --help --version \
        --pager:!",
        Operands::Reads,
    ),
    looks("wc, gwc", "* --files0-from:< --total:", Operands::Reads),
    looks(
        "sort, gsort",
        "-b -d -f -g -i -M -h -n -R -r -V -c -C -m -s -u -z -k: -t: -S: -T:> -o:> --output:> \
        --temporary-directory:> --compress-program:! --files0-from:< --parallel: --key: --field-separator: \
        --buffer-size: --batch-size: --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort \
        --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --random-source:< \
        --reverse --sort: --version-sort --check? --merge --stable --unique --zero-terminated --debug --help \
        --version",
        Operands::Reads,
    )
    .then(sort),
    looks(
        "uniq, guniq",
        "-NUM -c -d -D -u -i -z -f: -s: -w: --count --repeated --all-repeated? --unique \
        --ignore-case --zero-terminated --group? --skip-fields: --skip-chars: --check-chars: --help \
        --version",
        Operands::Second,
    ),
    looks(
        "cut, gcut, paste, column, col, colrm, comm, join, look",
        "* -b: -c: -d: -f: -s: -t: -o: -1: -2: -v: -a: \
        -e: -j: -N: -E: -R: -W: -T: -O: --bytes: --characters: --delimiter: --fields: --output-delimiter: \
        --delimiters:",
        Operands::Reads,
    ),
    looks(
        "tr, gtr, seq, gseq, echo, true, false, :, sleep, gsleep, factor, numfmt, yes, nproc, arch, fortune, \
        figlet, lolcat, bc, units",
        "*",
        Operands::Text,
    ),
    looks("expr", "*", Operands::Text),
    custom("test, [", test),
    looks("printf, gprintf", "+ --help --version", Operands::Text).dangers(&[(
        "-v:",
        Verdict::NeedsApproval,
        "sets a variable of the shell",
    )]),
    looks(
        "diff, gdiff, colordiff",
        "* -U: -C: -I: -x: -X:< -W: -F: --unified? --context? --exclude: \
        --exclude-from:< --label: -L: --from-file:< --to-file:< --ignore-matching-lines: --width: --tabsize: \
        --horizon-lines: --show-function-line:",
        Operands::Reads,
    )
    .dangers(&[("-l --paginate", Verdict::NeedsApproval, "hands its output to another program")]),
    looks(
        "diff3",
        "-a -A -e -E -i -m -T -x -X -3 -L: --label: --text --show-all --ed --merge --diff-program:!",
        Operands::Reads,
    ),
    looks(
        "sdiff",
        "-a -b -B -d -E -H -i -l -s -t -w: -W -Z -o:> -I: --output:> --width: --text --left-column \
        --suppress-common-lines --diff-program:!",
        Operands::Reads,
    ),
    looks("wdiff", "-1 -2 -3 -i -s -n -w: -x: -y: -z: --statistics --ignore-case", Operands::Reads),
    looks(
        "xxd",
        "-a -b -C -c: -d -e -E -g: -h -i -l: -n: -o: -p -ps -postscript -plain -r -revert -s: -seek: -u -v \
        -R: -cols: -len: -include -bits",
        Operands::Second,
    ),
    looks(
        "od, god, hexdump, hd, hexyl",
        "* -A: -j: -N: -t: -S: -w: -n: -s: -e: -f:< --address-radix: --skip-bytes: --read-bytes: --format:",
        Operands::Reads,
    ),
    looks(
        "strings, size, readelf, otool, c++filt",
        "* -n: -t: -e: -T: --bytes: --radix: --encoding: -x: -p: -R: --debug-dump?",
        Operands::Reads,
    ),
    looks(
        "nm, objdump",
        "-a -A -B -C -D -d -e -f -g -h -i -l -n -o -p -P -r -R -s -S -t -T -u -U -V -v -w -x -z -j: \
        -m: -M: -b: --demangle? --no-demangle --dynamic --defined-only --undefined-only --extern-only --size-sort \
        --numeric-sort --no-sort --reverse-sort --print-size --line-numbers --radix: --disassemble? \
        --disassemble-all --source --syms --headers --all-headers --section: --file-headers --private-headers \
        --reloc --dynamic-syms --dynamic-reloc --full-contents --section-headers --archive-headers \
        --no-show-raw-insn --start-address: --stop-address: --help --version",
        Operands::Reads,
    )
    .dangers(&[("--plugin:", Verdict::NeedsApproval, "loads a plugin")])
    .then(from_file),
    looks(
        "base64, base32, basenc, gbase64",
        "-d -D -i: -w: -b: --decode --ignore-garbage --wrap: --base64 \
        --base64url --base32 --base16 -o:> --output:> --help --version",
        Operands::Reads,
    ),
    looks(
        "shuf, gshuf",
        "-e -i: -n: -r -z -o:> --echo --input-range: --head-count: --repeat --zero-terminated \
        --output:> --random-source:<",
        Operands::Reads,
    ),
    looks(
        "iconv",
        "-c -s -l -f: -t: -o:> --output:> --from-code: --to-code: --list --silent --verbose",
        Operands::Reads,
    ),
    looks(
        "jq, gojq, jaq",
        "-n -r -R -s -c -C -M -S -a -j -e -f:< -L: -h -V --arg:: --argjson:: --slurpfile::< \
        --rawfile::< --args --jsonargs --null-input --raw-input --slurp --compact-output --raw-output --raw-output0 \
        --join-output --ascii-output --sort-keys --color-output --monochrome-output --tab --indent: --unbuffered \
        --stream --stream-errors --seq --from-file:< --exit-status --binary --help --version --build-configuration",
        Operands::First("-f --from-file"),
    ),
    looks(
        "yq",
        "-r -P -o: -p: -e -n -N -j -y -c -C -M -I: -s: --output-format: --input-format: --exit-status \
        --null-input --no-doc --prettyPrint --unwrapScalar --indent: --colors --no-colors --from-file:< --raw-output \
        --help --version",
        Operands::First("--from-file"),
    )
    .dangers(&[("-i --inplace --in-place -w", Verdict::NeedsApproval, "rewrites its files in place")])
    .then(yq),
    looks(
        "xmllint",
        "--noout --format --recover --xpath: --nonet --valid --huge --noblanks --c14n --encode: \
        --pretty: --schema:< --relaxng:< --dtdvalid:< --output:> -o:> --html --xmlout",
        Operands::Reads,
    ),
    looks("csvlook, csvcut, csvstat, csvgrep", "* -c: -m: -r: -d:", Operands::Reads),
    custom("sed, gsed", scripts::sed),
    custom("awk, gawk, mawk, nawk, original-awk", scripts::awk),
    looks("ed, red, ex", "*", Operands::Writes).then(|_, sheet| {
        sheet.asks("is an editor that does what its input says");
    }),
];

fn pager(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    for word in &parsed.operands {
        if let Some(command) = known(word).and_then(|text| text.strip_prefix('+')) {
            sheet.asks(&format!("does `{command}` when it opens, which may run commands"));
        }
    }
}

/// `@file` stands for options that are in a file.
fn from_file(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    if parsed.known().any(|text| text.starts_with('@')) {
        sheet.asks("takes more options from a file");
    }
}

/// `sort +1 -2` is an old way to give keys; `sort -o` at the end counts too, which the reader does already.
fn sort(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    if let Some(target) = parsed.values("-o --output").last() {
        let why = format!("overwrites `{}`", super::options::shown(target));
        sheet.asks(&why);
    }
}

/// In bash, `test -v 'a[$(x)]'` runs `x`; nothing else that it does runs anything.
fn test(sheet: &mut Sheet<'_>) {
    let variable = sheet.args().iter().any(|word| known(word) == Some("-v"));
    for word in sheet.args() {
        match known(word) {
            Some(text) if text.contains("$(") || text.contains('`') => {
                sheet.asks("may run what stands in an index");
            }
            None if variable => sheet.asks("asks for a variable that only running it shows"),
            _ => {}
        }
    }
}

fn yq(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    if parsed.has("-s") {
        sheet.asks("may write a file for each document");
    }
    if parsed.known().next().is_some_and(|program| program.contains("system")) {
        sheet.asks("may run commands");
    }
}
