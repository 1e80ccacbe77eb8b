//! Files and folders: what lists, copies, moves, links and deletes them.

use super::super::effects::{Verdict, Word};
use super::options::{Parsed, known, shown};
use super::rows::{Operands, Row, asks, changes, custom, destroys, looks};
use super::sheet::{Sheet, listing};

const OVERWRITES: &str = "replaces what is at its target, if something is there, and does not keep it";
const DELETES_ALL: &str = "changes everything below a folder at once";

/// The programs.
pub(super) const ROWS: &[Row] = &[
    looks(
        "ls, dir, vdir, gls, exa, eza, lsd",
        "* -I: --ignore: --hide: -w: --width: -T: --tabsize: --block-size: --sort: --time: --format: \
            --indicator-style: --quoting-style: --time-style:",
        Operands::Reads,
    ),
    looks("pwd, basename, dirname, realpath, readlink, which, whereis", "*", Operands::Text),
    looks(
        "tree",
        "-a -d -l -f -x -p -u -g -s -h -D -F -q -N -Q -r -t -c -U -i -A -S -n -C -X -J -v -L: -P: -I: -H: \
        -T: --charset: --filelimit: --timefmt: --sort? --dirsfirst --filesfirst --noreport --du --si --prune \
        --matchdirs --ignore-case --gitignore --gitfile:< --info --infofile:< --inodes --device --metafirst \
        --fromfile -o:> --help --version",
        Operands::Reads,
    )
    .dangers(&[("-R", Verdict::NeedsApproval, "may write a page into every folder")]),
    looks("stat, gstat", "* -c: --format: --printf:", Operands::Reads),
    looks(
        "file",
        "-b -i -I -L -h -z -Z -k -r -s -0 -p -v -d -E -N -n -S -m:< -f:< -F: -e: -P: --mime --mime-type \
        --mime-encoding --brief --magic-file:< --files-from:< --separator: --exclude: --parameter: --extension \
        --dereference --no-dereference --keep-going --raw --special-files --uncompress --print0 --version --help",
        Operands::Reads,
    )
    .dangers(&[("-C --compile", Verdict::NeedsApproval, "writes a compiled table of magic numbers")]),
    looks(
        "du, gdu",
        "* -d: --max-depth: --exclude: -X:< --exclude-from:< -t: --threshold: -B: --block-size: -I: \
        --files0-from:< --time-style:",
        Operands::Reads,
    ),
    looks("df", "* -B: --block-size: -t: --type: -x: --exclude-type:", Operands::Reads),
    looks(
        "md5, md5sum, sha1sum, sha224sum, sha256sum, sha384sum, sha512sum, shasum, b2sum, b3sum, cksum, sum",
        "* -a: --algorithm:",
        Operands::Reads,
    ),
    looks("cmp", "* -n: --bytes: -i: --ignore-initial:", Operands::Reads),
    looks("lsattr, getfacl, getfattr, pathchk, namei, dircolors, locate, plocate, mlocate", "*", Operands::Text),
    changes(
        "mkdir, gmkdir",
        "-p -v -m: -Z --parents --verbose --mode: --context? --help --version",
        Operands::Writes,
        "makes folders",
    ),
    changes(
        "touch, gtouch",
        "-a -c -m -h -f -r:< -t: -d: --date: --reference:< --no-create --no-dereference --time: \
        --help --version",
        Operands::Writes,
        "makes files or sets their times",
    ),
    changes(
        "rmdir",
        "-p -v --parents --verbose --ignore-fail-on-non-empty --help --version",
        Operands::Writes,
        "removes empty folders",
    ),
    changes("mkfifo", "-m: -Z --mode: --context?", Operands::Writes, "makes pipes"),
    changes(
        "mktemp",
        "-d -u -q -t --directory --dry-run --quiet --suffix: -p:> --tmpdir?",
        Operands::Text,
        "makes a temporary file",
    ),
    looks(
        "cp, gcp",
        "-a -b -d -f -H -i -l -L -n -P -p -R -r -s -S: -t:> -T -u -v -x -Z -c -X --archive \
        --attributes-only --backup? --copy-contents --dereference --force --interactive --link --no-clobber \
        --no-dereference --no-preserve: --no-target-directory --one-file-system --parents --preserve? --recursive \
        --reflink? --remove-destination --sparse: --strip-trailing-slashes --suffix: --symbolic-link \
        --target-directory:> --update? --verbose --debug --context? --help --version",
        Operands::Copies("-t --target-directory"),
    )
    .then(copy),
    looks(
        "mv, gmv",
        "-b -f -i -n -S: -t:> -T -u -v -Z --backup? --force --interactive --no-clobber \
        --no-target-directory --strip-trailing-slashes --suffix: --target-directory:> --update? --verbose --debug \
        --exchange --no-copy --context --help --version",
        Operands::Text,
    )
    .then(move_),
    asks("install, ginstall", OVERWRITES)
        .options(
            "* -d -m: -o: -g: -S: --mode: --owner: --group: --suffix: -t:> --target-directory:> \
            --strip-program:!",
        )
        .operands(Operands::Copies("-t --target-directory")),
    changes(
        "ln, gln",
        "-b -d -i -L -n -P -r -s -S: -t:> -T -v -h --backup? --directory --interactive --logical \
        --no-dereference --physical --relative --symbolic --suffix: --target-directory:> --no-target-directory \
        --verbose --help --version",
        Operands::Copies("-t --target-directory"),
        "makes links",
    )
    .dangers(&[("-f -F --force", Verdict::NeedsApproval, OVERWRITES)])
    .then(link),
    custom("link", |sheet| {
        sheet.changes("makes a link");
        sheet.args().iter().skip(1).for_each(|word| sheet.writes(word));
    }),
    looks("tee, gtee", "-a -i -p --append --ignore-interrupts --output-error? --help --version", Operands::Writes)
        .then(tee),
    destroys("truncate", "cuts files off; what they held is lost")
        .options("* -c -o -r:< -s: --reference:< --size: --no-create --io-blocks")
        .operands(Operands::Writes),
    destroys("shred, srm, wipe, gshred", "overwrites files so that nothing can bring them back")
        .options("* -n: -s: --iterations: --size: --random-source:< --remove?")
        .operands(Operands::Writes),
    looks("rm, grm", "* --interactive? --preserve-root? --no-preserve-root", Operands::Writes).then(remove),
    looks("unlink, trash-empty", "*", Operands::Writes).then(remove),
    asks("trash, trash-put, gio", "moves files to the trash").operands(Operands::Writes),
    custom("dd, gdd", dd),
    looks("chmod, gchmod", "* --reference:<", Operands::First("--reference")).then(chmod),
    asks("chown, chgrp, gchown, gchgrp", "changes who owns files")
        .options("* --reference:< --from:")
        .operands(Operands::First("--reference"))
        .dangers(&[("-R --recursive", Verdict::Destructive, DELETES_ALL)])
        .then(owned),
    asks("chattr, chflags, setfattr, xattr", "changes what may be done with files")
        .operands(Operands::First(""))
        .dangers(&[("-R", Verdict::Destructive, DELETES_ALL)]),
    asks("setfacl", "changes who may do what with files")
        .operands(Operands::Text)
        .options("* -m: -x: -M:< -X:<")
        .dangers(&[(
            "-R --recursive -b --remove-all --restore:<",
            Verdict::Destructive,
            "changes or drops many rights",
        )]),
    asks("mknod", "makes a device file"),
    asks("split, gsplit, csplit", "writes pieces over whatever has their names")
        .options(
            "* --filter:! -b: -l: -n: \
        -a: -C: --bytes: --lines: --number: -f: -t: --additional-suffix: --suffix-length:",
        )
        .operands(Operands::Reads),
    asks("rename, mmv, prename, zmv, vidir", "renames many files by a pattern"),
    asks("patch, gpatch", "changes files as a patch says")
        .options(
            "* -i:< --input:< -o:> --output:> -r:> \
        --reject-file:> -d: --directory: -p: --strip: -D: -F: --fuzz:",
        )
        .operands(Operands::Writes),
    asks("dos2unix, unix2dos, fromdos, todos", "rewrites files in place").operands(Operands::Writes),
    asks("mkisofs, genisoimage, hdiutil", "makes or mounts images"),
];

fn copy(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    let kept = parsed.has("-n --no-clobber -b --backup -S --suffix")
        || parsed.find("--update").and_then(|given| given.value.as_ref()).and_then(known) == Some("none");
    if parsed.has("-f --force --remove-destination") && !parsed.has("-b --backup") || !kept {
        sheet.asks(OVERWRITES);
    } else {
        sheet.changes("copies files, over nothing that is not kept");
    }
    if parsed.has("-t --target-directory") || parsed.operands.len() > 1 {
        return;
    }
    sheet.asks("gets no target that can be seen");
}

fn move_(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    let into = parsed.values("-t --target-directory").last();
    let (target, sources) = match (into, parsed.operands.split_last()) {
        (Some(folder), _) => (Some(folder), parsed.operands.as_slice()),
        (None, Some((last, sources))) => (Some(*last), sources),
        (None, None) => (None, parsed.operands.as_slice()),
    };
    for source in sources {
        sheet.writes(source);
        if into.is_none()
            && let Some(target) = target
        {
            sheet.puts(source, target);
        }
    }
    if target.and_then(known).is_some_and(|target| target.starts_with("/dev/")) {
        let moved = listing(sources);
        sheet.destroys(&format!("moves {moved} where nothing is kept"));
    } else if parsed.has("-n --no-clobber -b --backup") && !parsed.has("-f --force -i") {
        sheet.changes("moves files, over nothing that is not kept");
    } else {
        sheet.asks(OVERWRITES);
    }
}

/// A link may lead out of the workspace, and what is written through it later goes there.
fn link(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    if parsed.operands.len() < 2 && !parsed.has("-t --target-directory") {
        sheet.asks("makes a link that cannot be seen in full");
    }
    let second_name = !parsed.has("-s --symbolic");
    for word in &parsed.operands {
        if second_name {
            // What is written under the new name is written to the file itself.
            sheet.writes(word);
        }
        let leads_out = match word {
            Word::Known(text) => text.starts_with(['/', '~']) || text.split('/').any(|part| part == ".."),
            Word::Unknown(_) => true,
        };
        if leads_out {
            sheet.asks(&format!("makes a link that may lead out of the workspace (`{}`)", shown(word)));
        }
    }
}

fn tee(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    let kept = parsed.known().all(|file| matches!(file, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty"));
    if parsed.operands.is_empty() || kept && parsed.known().count() == parsed.operands.len() {
        return;
    }
    if parsed.has("-a --append") {
        sheet.changes("adds to files");
    } else {
        sheet.asks(&format!("overwrites {}", listing(&parsed.operands)));
    }
}

/// How much would go with a path.
fn remove(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    let below = parsed.foreign.iter().any(|flag| matches!(flag.as_str(), "-r" | "-R"))
        || parsed.foreign.iter().any(|flag| flag.len() > 2 && "--recursive".starts_with(flag.as_str()));
    if parsed.operands.is_empty() {
        sheet.destroys("deletes without undo");
    }
    let mut plain = Vec::new();
    for word in &parsed.operands {
        match extent(shown(word), sheet) {
            Some(extent) => sheet.destroys(&format!("deletes {extent} (`{}`)", shown(word))),
            None => plain.push(*word),
        }
    }
    if plain.is_empty() {
        return;
    }
    let plain = listing(&plain);
    if below {
        sheet.destroys(&format!("deletes {plain} with everything in it, without undo"));
    } else {
        sheet.destroys(&format!("deletes {plain} without undo"));
    }
}

/// What a path stands for, if it is more than a file or folder of somebody's.
fn extent(path: &str, sheet: &Sheet<'_>) -> Option<&'static str> {
    let bare = path.trim_matches('"');
    let bare = bare.strip_suffix("/*").or(bare.strip_suffix("/.")).unwrap_or(bare);
    let trimmed = bare.trim_end_matches('/');
    let scene = sheet.invocation.scene;
    let same = |folder: &std::path::Path| !trimmed.is_empty() && std::path::Path::new(trimmed) == folder;
    if trimmed.is_empty() {
        Some("the whole file system")
    } else if matches!(trimmed, "~" | "$HOME" | "${HOME}") || scene.home.as_deref().is_some_and(same) {
        Some("the whole home folder")
    } else if scene.roots.iter().any(|root| same(root)) {
        Some("the whole workspace folder")
    } else if matches!(trimmed, "." | "*" | "./*" | ".*") || same(&scene.workdir) {
        Some("everything in the current folder")
    } else if trimmed.split('/').any(|part| part == "..") {
        Some("what lies above the current folder")
    } else if SYSTEM.contains(&trimmed) {
        Some("a folder of the system")
    } else {
        None
    }
}

/// Folders that the system itself needs.
const SYSTEM: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib64",
    "/opt",
    "/proc",
    "/root",
    "/sbin",
    "/srv",
    "/sys",
    "/usr",
    "/usr/bin",
    "/usr/lib",
    "/usr/local",
    "/var",
    "/Applications",
    "/Library",
    "/System",
    "/Users",
];

fn dd(sheet: &mut Sheet<'_>) {
    for word in sheet.args() {
        match word {
            Word::Known(text) => match text.split_once('=') {
                Some(("if", file)) => sheet.reads(&Word::Known(file.to_owned())),
                Some(("of", file)) if !matches!(file, "/dev/null" | "/dev/stdout") => {
                    sheet.destroys(&format!("writes raw bytes over `{file}`"));
                    sheet.writes(&Word::Known(file.to_owned()));
                }
                Some((
                    "of" | "bs" | "ibs" | "obs" | "cbs" | "count" | "skip" | "iseek" | "seek" | "oseek" | "conv"
                    | "iflag" | "oflag" | "status",
                    _,
                )) => {}
                _ if matches!(text.as_str(), "--help" | "--version") => {}
                _ => sheet.asks(&format!("gets `{text}`, which is not known to be harmless")),
            },
            Word::Unknown(text) if text.starts_with("of=") => {
                sheet.destroys(&format!("writes raw bytes over `{}`", &text[3..]));
                sheet.writes(&Word::Unknown(text[3..].to_owned()));
            }
            Word::Unknown(text) => sheet.asks(&format!("gets `{text}`, which may name what it writes")),
        }
    }
}

fn chmod(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    let every =
        parsed.foreign.iter().any(|flag| flag == "-R" || flag.len() > 2 && "--recursive".starts_with(flag.as_str()));
    // `chmod -x file`: the mode looks like options.
    let minus = parsed.foreign.iter().any(|flag| matches!(flag.as_str(), "-r" | "-w" | "-x" | "-X" | "-s" | "-t"));
    let (mode, files) = match parsed.operands.split_first() {
        Some((mode, files)) if !minus && !parsed.has("--reference") => (Some(shown(mode)), files),
        _ => (None, parsed.operands.as_slice()),
    };
    for file in files {
        sheet.writes(file);
    }
    if parsed.vague.is_some() {
        sheet.asks("changes rights that only running it shows");
    }
    let outside = files.iter().any(|file| extent(shown(file), sheet).is_some());
    if every {
        sheet.destroys("changes the rights of everything below a folder at once");
    } else if outside {
        sheet.destroys("changes the rights of a folder that others depend on");
    }
    let mode = mode.unwrap_or_default();
    let octal = mode.chars().all(|c| c.is_digit(8)) && !mode.is_empty();
    let open = octal && mode.ends_with(['2', '3', '6', '7']) || opens(mode);
    let special = octal && mode.len() > 3 && !mode.starts_with('0') || mode.contains('s');
    if open {
        sheet.asks("lets everybody write");
    }
    if special {
        sheet.asks("makes programs that run as somebody else");
    }
    sheet.changes("changes the rights of files");
}

/// Whether a symbolic mode lets others write: `o+w`, `a=rwx`, `+w` is held back by the umask.
fn opens(mode: &str) -> bool {
    mode.split(',').any(|clause| {
        clause.split_once(['+', '=']).is_some_and(|(who, what)| who.contains(['o', 'a']) && what.contains('w'))
    })
}

fn owned(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    for file in parsed.operands.iter().skip(usize::from(!parsed.has("--reference"))) {
        sheet.writes(file);
    }
}
