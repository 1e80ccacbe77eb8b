//! Programs that run another one with its words as they are, behind options of their own.

use super::Wrapped;
use super::options::{Known, options};
use crate::permissions::shell::effects::Word;

struct Row {
    names: &'static [&'static str],
    known: Known,
    /// Words between the options and the command.
    skip: usize,
    /// Why it needs approval itself.
    asks: Option<&'static str>,
    /// Whether `NAME=value` may stand before the command.
    sets: bool,
    /// Options whose argument is the folder it runs in.
    folder: &'static [&'static str],
    /// Options whose argument is a file that it writes.
    writes: &'static [&'static str],
    /// Whether a program may be missing, so that it starts a shell or shows something.
    alone: bool,
}

const NONE: Known = Known { flags: "", takes: "", may: "", long: &[], long_takes: &[] };

const PLAIN: Row =
    Row { names: &[], known: NONE, skip: 0, asks: None, sets: false, folder: &[], writes: &[], alone: true };

const AS: &str = "runs as another user";
const WHERE: &str = "runs it in another root or with other rights";
const TRACE: &str = "watches or steers another program";
const FETCHES: &str = "may fetch a program from elsewhere, and runs it";
const RUNS: &str = "runs another program in an environment of its own";

const ROWS: &[Row] = &[
    Row {
        names: &["sudo", "gksudo", "kdesudo", "gksu", "kdesu"],
        known: Known {
            flags: "AbEeHiKklNnPSsVvB",
            takes: "CcDghpRrTtUua",
            may: "",
            long: &[
                "askpass",
                "background",
                "bell",
                "edit",
                "help",
                "set-home",
                "login",
                "remove-timestamp",
                "reset-timestamp",
                "list",
                "non-interactive",
                "preserve-env",
                "preserve-groups",
                "stdin",
                "shell",
                "version",
                "validate",
                "no-update",
            ],
            long_takes: &[
                "close-from",
                "chdir",
                "group",
                "host",
                "prompt",
                "chroot",
                "role",
                "command-timeout",
                "type",
                "other-user",
                "user",
                "login-class",
                "auth-type",
            ],
        },
        asks: Some(AS),
        sets: true,
        folder: &["D", "chdir"],
        ..PLAIN
    },
    Row { names: &["doas"], known: Known { flags: "Lns", takes: "aCu", ..NONE }, asks: Some(AS), ..PLAIN },
    Row {
        names: &["pkexec"],
        known: Known {
            long: &["disable-internal-agent", "keep-cwd", "version", "help"],
            long_takes: &["user"],
            ..NONE
        },
        asks: Some(AS),
        ..PLAIN
    },
    Row {
        names: &["run0", "systemd-run"],
        known: Known {
            flags: "dGPqrStv",
            takes: "CDEgHMpu",
            long: &[
                "collect",
                "no-ask-password",
                "no-block",
                "pipe",
                "pty",
                "quiet",
                "remain-after-exit",
                "scope",
                "send-sighup",
                "shell",
                "slice-inherit",
                "same-dir",
                "user",
                "system",
                "wait",
                "ignore-failure",
                "on-clock-change",
                "on-timezone-change",
                "lightweight",
            ],
            long_takes: &[
                "unit",
                "property",
                "description",
                "slice",
                "uid",
                "gid",
                "group",
                "nice",
                "chdir",
                "working-directory",
                "setenv",
                "background",
                "machine",
                "host",
                "service-type",
                "job-mode",
                "expand-environment",
                "on-active",
                "on-boot",
                "on-startup",
                "on-unit-active",
                "on-unit-inactive",
                "on-calendar",
                "path-property",
                "socket-property",
                "timer-property",
                "capsule",
            ],
            ..NONE
        },
        asks: Some(AS),
        folder: &["D", "chdir", "working-directory"],
        ..PLAIN
    },
    Row { names: &["gosu", "su-exec", "setuidgid", "s6-setuidgid"], skip: 1, asks: Some(AS), ..PLAIN },
    Row { names: &["nohup", "chronic", "unbuffer", "fakeroot", "eatmydata"], ..PLAIN },
    Row {
        names: &["nice", "gnice"],
        known: Known { flags: "0123456789-", takes: "n", long_takes: &["adjustment"], ..NONE },
        ..PLAIN
    },
    Row {
        names: &["ionice"],
        known: Known {
            flags: "t",
            takes: "cnpPu",
            long: &["ignore"],
            long_takes: &["class", "classdata", "pid", "pgid", "uid"],
            ..NONE
        },
        ..PLAIN
    },
    Row {
        names: &["chrt"],
        known: Known {
            flags: "abfoirdvmR",
            takes: "TPD",
            long: &["all-tasks", "batch", "fifo", "idle", "other", "rr", "deadline", "verbose", "max", "reset-on-fork"],
            long_takes: &["sched-runtime", "sched-period", "sched-deadline"],
            ..NONE
        },
        skip: 1,
        ..PLAIN
    },
    Row {
        names: &["taskset"],
        known: Known { flags: "ac", long: &["all-tasks", "cpu-list"], ..NONE },
        skip: 1,
        ..PLAIN
    },
    Row {
        names: &["timeout", "gtimeout"],
        known: Known {
            flags: "vfp",
            takes: "ks",
            long: &["foreground", "preserve-status", "verbose"],
            long_takes: &["kill-after", "signal"],
            ..NONE
        },
        skip: 1,
        ..PLAIN
    },
    Row {
        names: &["stdbuf", "gstdbuf"],
        known: Known { takes: "ioe", long_takes: &["input", "output", "error"], ..NONE },
        ..PLAIN
    },
    Row { names: &["setsid"], known: Known { flags: "cfw", long: &["ctty", "fork", "wait"], ..NONE }, ..PLAIN },
    Row {
        names: &["time", "gtime"],
        known: Known {
            flags: "apqvlh",
            takes: "fo",
            long: &["append", "portability", "quiet", "verbose"],
            long_takes: &["format", "output"],
            ..NONE
        },
        writes: &["o", "output"],
        ..PLAIN
    },
    Row {
        names: &["chroot"],
        known: Known { long: &["skip-chdir"], long_takes: &["groups", "userspec"], ..NONE },
        skip: 1,
        asks: Some(WHERE),
        ..PLAIN
    },
    Row {
        names: &["unshare"],
        known: Known {
            flags: "fcr",
            takes: "RwSGl",
            may: "muinpUCT",
            long: &[
                "fork",
                "mount-proc",
                "map-root-user",
                "map-current-user",
                "map-auto",
                "keep-caps",
                "kill-child",
                "mount",
                "uts",
                "ipc",
                "net",
                "pid",
                "user",
                "cgroup",
                "time",
                "mount-binfmt",
            ],
            long_takes: &[
                "root",
                "wd",
                "setuid",
                "setgid",
                "map-user",
                "map-group",
                "propagation",
                "setgroups",
                "map-users",
                "map-groups",
                "monotonic",
                "boottime",
                "load-interp",
            ],
        },
        asks: Some(WHERE),
        ..PLAIN
    },
    Row {
        names: &["nsenter"],
        known: Known {
            flags: "aFZec",
            takes: "tSGW",
            may: "muinpCUTrw",
            long: &[
                "all",
                "mount",
                "uts",
                "ipc",
                "net",
                "pid",
                "cgroup",
                "user",
                "time",
                "root",
                "wd",
                "env",
                "no-fork",
                "follow-context",
                "preserve-credentials",
                "keep-caps",
                "user-parent",
                "join-cgroup",
            ],
            long_takes: &["target", "setuid", "setgid", "wdns", "net-socket"],
        },
        asks: Some(WHERE),
        ..PLAIN
    },
    Row {
        names: &["strace", "ltrace"],
        known: Known {
            flags: "cCDfFhiknqrStTvVwxyYzZ",
            takes: "abeEIoOpPsuUXAlnF",
            long: &["follow-forks", "output-separately", "summary-only", "summary", "quiet", "decode-fds", "tips"],
            long_takes: &["trace", "output", "attach", "string-limit", "user", "env", "columns", "signal", "status"],
            ..NONE
        },
        asks: Some(TRACE),
        writes: &["o", "output"],
        ..PLAIN
    },
    Row {
        names: &["gdb", "lldb", "rr", "valgrind", "perf", "heaptrack", "ldd", "catchsegv", "uftrace", "bpftrace"],
        known: Known {
            flags: "qnbhv",
            takes: "xdp",
            long: &["args", "batch", "quiet", "nx", "nh"],
            long_takes: &["ex", "eval-command", "command", "directory", "cd", "pid", "tool"],
            ..NONE
        },
        asks: Some(TRACE),
        ..PLAIN
    },
    Row {
        names: &["npx", "bunx", "uvx", "pnpx"],
        known: Known {
            flags: "yq",
            takes: "pc",
            long: &["yes", "no", "no-install", "bun", "silent", "quiet", "offline", "isolated"],
            long_takes: &["package", "call", "from", "with", "python", "index-url"],
            ..NONE
        },
        asks: Some(FETCHES),
        ..PLAIN
    },
    Row {
        names: &[
            "bwrap",
            "firejail",
            "proot",
            "systemd-inhibit",
            "dbus-run-session",
            "xvfb-run",
            "setarch",
            "linux32",
            "linux64",
            "runcon",
            "setpriv",
            "capsh",
            "prlimit",
            "cpulimit",
            "numactl",
            "cgexec",
            "torsocks",
            "torify",
            "proxychains",
            "proxychains4",
            "rlwrap",
            "entr",
            "hyperfine",
            "direnv",
            "asdf",
            "mise",
            "rtx",
            "dotenv",
            "op",
            "doppler",
            "aws-vault",
            "conda",
            "mamba",
            "micromamba",
            "start-stop-daemon",
            "daemonize",
            "tini",
            "dumb-init",
            "ts",
            "tsp",
            "screen",
            "tmux",
            "dtach",
            "abduco",
            "expect",
            "socat",
            "faketime",
            "ccache",
            "sccache",
            "distcc",
            "nix-shell",
            "nix",
            "guix",
            "flatpak",
            "snap",
            "toolbox",
            "distrobox",
            "lxc-attach",
            "machinectl",
            "vagrant",
            "multipass",
            "wsl",
            "wsl.exe",
            "cmd",
            "cmd.exe",
            "powershell",
            "powershell.exe",
            "osascript",
            "open",
            "xdg-open",
            "doit",
            "retry",
            "timelimit",
            "softlimit",
            "envdir",
            "chpst",
            "chps",
            "foreman",
            "honcho",
            "concurrently",
            "nodemon",
            "watchexec",
            "watchman",
            "inotifywait",
            "cargo-watch",
            "reflex",
            "dbus-send",
            "gcore",
        ],
        asks: Some(RUNS),
        ..PLAIN
    },
];

/// Programs that keep things of their own besides running programs.
const KEEPERS: &[&str] = &[
    "asdf",
    "conda",
    "distrobox",
    "doppler",
    "flatpak",
    "guix",
    "machinectl",
    "mamba",
    "micromamba",
    "mise",
    "multipass",
    "nix",
    "op",
    "rtx",
    "screen",
    "snap",
    "tmux",
    "toolbox",
    "vagrant",
];

/// What loses some of those, among the first words.
const LOSES: &[&str] = &[
    "autoremove",
    "delete",
    "destroy",
    "gc",
    "halt",
    "kill-server",
    "kill-session",
    "poweroff",
    "prune",
    "purge",
    "reboot",
    "remove",
    "terminate",
    "uninstall",
];

/// How many words may stand before that verb, with what options take.
const VERB_AMONG: usize = 3;

/// The verb with which a program loses what it keeps.
fn loses<'a>(program: &str, args: &'a [Word]) -> Option<&'a str> {
    let mut words = args.iter().map(Word::text).filter(|word| !word.starts_with('-')).take(VERB_AMONG);
    if KEEPERS.contains(&program) { words.find(|word| LOSES.contains(word)) } else { None }
}

/// What a command of the table runs.
pub(super) fn wrapped(program: &str, args: &[Word]) -> Option<Wrapped> {
    let row = ROWS.iter().find(|row| row.names.contains(&program))?;
    let found = options(args, &row.known);
    let mut wrapped = Wrapped::harmless();
    if let Some(why) = row.asks {
        wrapped = wrapped.asks(format!("`{program}` {why}"));
    }
    if let Some(verb) = loses(program, args) {
        wrapped = wrapped.destroys(format!("`{program}` deletes or stops what others depend on (`{verb}`)"));
    }
    wrapped.effects.network = row.asks == Some(FETCHES);
    let mut rest = found.rest;
    while row.sets
        && let Some((word, behind)) = rest.split_first()
        && let Some(set) = super::assignment(word)
    {
        wrapped.sets.push(set);
        rest = behind;
    }
    let skipped = rest.get(..row.skip).unwrap_or(rest);
    let split = skipped.iter().any(|word| matches!(word, Word::Unknown(_)));
    rest = rest.get(row.skip..).unwrap_or_default();
    wrapped.folder = found.of(row.folder).into_iter().next();
    for file in found.of(row.writes) {
        // `strace -o '|command'`
        match file.text().strip_prefix(['|', '!']) {
            Some(line) => wrapped = wrapped.line(super::options::like(&file, line)),
            None => wrapped.effects.writes.push(file),
        }
    }
    if matches!(program, "ionice" | "chrt" | "taskset") && found.has(&["p", "P", "u", "pid", "pgid", "uid"]) {
        wrapped = wrapped.asks(format!("`{program}` changes another program that runs"));
    }
    if row.asks == Some(FETCHES) {
        wrapped = found.of(&["call", "c"]).into_iter().fold(wrapped, Wrapped::line);
    }
    if found.has(&["e", "edit"]) && program == "sudo" {
        wrapped.effects.writes.extend(rest.iter().cloned());
        return Some(wrapped);
    }
    if found.unclear || split || row.known.flags.is_empty() && row.asks == Some(RUNS) || row.asks == Some(TRACE) {
        wrapped.guess = args.to_vec();
        if row.asks.is_none() {
            wrapped = wrapped.unclear(program, args);
        }
    }
    if rest.is_empty() && !row.alone {
        return Some(wrapped.unclear(program, args));
    }
    Some(wrapped.words(rest))
}
