//! Archives and compression.

use super::super::effects::{Verdict, Word};
use super::options::{Parsed, Spec, known, read, shown};
use super::rows::{Operands, Row, asks, custom, doubts, looks, options};
use super::sheet::Sheet;

const EXTRACTS: &str = "unpacks over whatever is there";
const PACKS: &str = "replaces the archive, if it is there";

/// The programs.
pub(super) const ROWS: &[Row] = &[
    custom("tar, gtar, bsdtar", tar),
    looks("unzip", "-l -t -v -z -Z -Z1 -p -c -q -a -C -x: -n -j -L -d:> -o -u -f -P: -O: -I: -1", Operands::Text)
        .then(unzip),
    looks("zipinfo, zipdetails", "*", Operands::Reads),
    asks("zip", PACKS)
        .options("* -TT:! --unzip-command:! -b:> -O:> --out:> -x: -i: -n: -P: -t: -tt: -s:")
        .operands(Operands::Text)
        .dangers(&[
            ("-m --move", Verdict::Destructive, "deletes the files that it packs"),
            ("-d --delete", Verdict::Destructive, "deletes from the archive"),
        ])
        .then(|parsed, sheet| {
            if let Some((archive, files)) = parsed.operands.split_first() {
                sheet.writes(archive);
                for file in files {
                    sheet.reads(file);
                }
            }
        }),
    looks(
        "gzip, gunzip, bzip2, bunzip2, xz, unxz, lzma, unlzma, zstd, unzstd, lz4, unlz4, brotli, compress, \
        uncompress, pigz, pbzip2, lzop",
        "* -S: -p: -b: --suffix: -T: --threads: -M: --memlimit: -o:> --output:>",
        Operands::Text,
    )
    .then(squeeze),
    looks("lsar, zstdless, xzless, bzless, lzless", "*", Operands::Reads),
    custom("7z, 7za, 7zr, 7zz, rar, unrar, ar, jar", lettered),
    asks(
        "cpio, pax, unar, ouch, dtrx, atool, aunpack, apack, xar, cabextract, unsquashfs, mksquashfs, innoextract, \
        rpm2cpio, dpkg-deb, makeself",
        EXTRACTS,
    )
    .net()
    .options("* -I:< -O:> -F: -E:< --rsh-command:! -D:"),
];

const TAR: &str = "-A -c -d -r -t -u -x -a -B -g:> -G -h -i -j -J -k -l -m -M -n -N: -o -O -p -P -R -s -S -U -v -w \
    -W -z -Z -f: -b: -C: -K: -L: -T:< -V: -X:< -H: --create --extract --get --list --append --update --diff \
    --compare --catenate --concatenate --file: --directory: --verbose --gzip --gunzip --ungzip --bzip2 --xz --zstd \
    --lzip --lzma --lzop --compress --uncompress --auto-compress --no-auto-compress --exclude: --exclude-from:< \
    --exclude-vcs --exclude-vcs-ignores --exclude-caches --files-from:< --null --no-null --strip-components: \
    --transform: --xform: --wildcards --no-wildcards --anchored --no-anchored --ignore-case --no-recursion \
    --recursion --numeric-owner --owner: --group: --mode: --mtime: --sort: --format: --no-same-owner --same-owner \
    --no-same-permissions --preserve-permissions --same-permissions --touch --keep-old-files --keep-newer-files \
    --skip-old-files --overwrite --overwrite-dir --unlink-first --recursive-unlink --to-stdout --dereference \
    --hard-dereference --one-file-system --sparse --totals? --checkpoint? --show-transformed-names --full-time \
    --block-number --index-file:> --listed-incremental:> --newer: --after-date: --newer-mtime: --label: --warning: \
    --ignore-failed-read --ignore-zeros --acls --no-acls --xattrs --no-xattrs --selinux --verify --force-local \
    --version --help --utc --backup? --suffix: --occurrence? --starting-file: --occurrence";

/// `tar`; its first word may be a cluster of letters without a dash.
fn tar(sheet: &mut Sheet<'_>) {
    let mut args = sheet.args().to_vec();
    if let Some(Word::Known(first)) = args.first_mut()
        && !first.starts_with('-')
    {
        // In the old way the values of all the letters come behind, in their order; for one that is as in the new way.
        let valued = first
            .chars()
            .filter(|c| matches!(c, 'f' | 'b' | 'C' | 'K' | 'L' | 'T' | 'V' | 'X' | 'g' | 'N' | 'H' | 'I' | 'F'))
            .count();
        if valued > 1 {
            sheet.asks("is given options in the old way, which cannot be told apart safely");
        }
        // The letter that takes a value goes last, for in the new way it ends the cluster.
        let (with, without): (String, String) = first
            .chars()
            .partition(|c| matches!(c, 'f' | 'b' | 'C' | 'K' | 'L' | 'T' | 'V' | 'X' | 'g' | 'N' | 'H' | 'I' | 'F'));
        *first = format!("-{without}{with}");
    }
    let spec = Spec::of(
        &[TAR],
        &[
            (
                "-I:! -F:! --use-compress-program:! --to-command:! --rsh-command:! --rmt-command:! --info-script:! \
              --new-volume-script:!",
                Verdict::NeedsApproval,
                "runs a program",
            ),
            ("--checkpoint-action:", Verdict::NeedsApproval, "does something as it goes on"),
            ("--remove-files", Verdict::Destructive, "deletes the files that it packs"),
            ("--delete", Verdict::Destructive, "deletes from the archive"),
            ("--absolute-names --absolute-paths", Verdict::NeedsApproval, "lets the archive say where its files go"),
        ],
    );
    let parsed = read(&args, &spec);
    options(&parsed, sheet);
    doubts(&parsed, &spec, sheet);
    for action in parsed.values("--checkpoint-action") {
        if let Some(command) = known(action).and_then(|text| text.strip_prefix("exec=")) {
            sheet.runs_line(&Word::Known(command.to_owned()), false);
        }
    }
    let archive = parsed.values("-f --file").last().cloned();
    if let Some(text) = archive.as_ref().and_then(known)
        && text.split('/').next().is_some_and(|head| head.contains(':'))
        && !parsed.has("--force-local")
    {
        sheet.asks("reaches its archive on another machine");
        sheet.network();
    }
    let writes = parsed.has("-c -r -u -A --create --append --update --catenate --concatenate");
    if let Some(archive) = &archive {
        if writes { sheet.writes(archive) } else { sheet.reads(archive) }
    }
    let to_pipe = archive.as_ref().and_then(known) == Some("-");
    if parsed.has("-x --extract --get") {
        if !parsed.has("-O --to-stdout") {
            sheet.asks(EXTRACTS);
            match parsed.values("-C --directory").last() {
                Some(folder) => sheet.writes(folder),
                None => sheet.writes(&Word::Known(".".to_owned())),
            }
        }
        if parsed.has("-P") {
            sheet.asks("lets the archive say where its files go");
        }
    } else if writes {
        if !to_pipe {
            let name = archive.as_ref().map_or("the archive", shown);
            sheet.asks(&format!("writes `{name}` over whatever is there"));
        }
        parsed.operands.iter().for_each(|file| sheet.reads(file));
    } else if !parsed.has("-t -d --list --diff --compare --version --help") {
        sheet.asks("does what its options do not say");
    }
}

fn unzip(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    if let Some(archive) = parsed.operands.first() {
        sheet.reads(archive);
    }
    if parsed.operands.is_empty() || parsed.has("-l -t -v -z -Z -Z1 -p -c") {
        return;
    }
    if !parsed.has("-d") {
        sheet.writes(&Word::Known(".".to_owned()));
    }
    if parsed.has("-o") {
        sheet.asks("unpacks over whatever is there, without asking");
    } else if parsed.has("-n") {
        sheet.changes("unpacks what is not there yet");
    } else {
        sheet.asks(EXTRACTS);
    }
}

fn squeeze(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    let flag = |names: &[&str]| parsed.foreign.iter().any(|flag| names.contains(&flag.as_str()));
    // For `lz4`, `-l` is a format.
    let lists = sheet.invocation.program != "lz4" && flag(&["-l", "--list"]);
    let prints = lists || flag(&["-c", "--stdout", "--to-stdout", "-t", "--test"]);
    for file in &parsed.operands {
        sheet.reads(file);
        if !prints {
            sheet.writes(file);
        }
    }
    if prints && parsed.vague.is_none() || parsed.operands.is_empty() && !parsed.has("-o --output") {
        return;
    }
    if flag(&["-f", "--force", "--rm"]) || parsed.has("-o --output") || parsed.vague.is_some() {
        sheet.asks("replaces files, over whatever is there");
    } else {
        sheet.changes("puts a packed or unpacked file in the place of each");
    }
}

/// Programs whose first word is a letter that says what they do.
fn lettered(sheet: &mut Sheet<'_>) {
    let args = sheet.args();
    let plain = args.iter().all(|word| known(word).is_some());
    let verb = args.first().and_then(known).unwrap_or_default().trim_start_matches('-');
    let (looks, deletes): (&[char], &[char]) = match sheet.invocation.program {
        "ar" => (&['t', 'p'], &['d']),
        "jar" => (&['t'], &[]),
        _ => (&['l', 't', 'i', 'h', 'v'], &['d']),
    };
    for word in args.iter().skip(1).take(1) {
        if verb.starts_with(looks) { sheet.reads(word) } else { sheet.writes(word) }
    }
    if verb.starts_with(deletes) {
        sheet.destroys("deletes from the archive");
    } else if !verb.starts_with(looks) || !plain || args.iter().any(|word| shown(word).contains("-sdel")) {
        sheet.asks("packs or unpacks over whatever is there");
    }
}
