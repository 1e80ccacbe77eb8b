//! The machine: what runs on it, its users, services, firewall, routes, disks and power.

use super::super::effects::{Verdict, Word};
use super::options::{Parsed, known, shown};
use super::rows::{Operands, Row, Verbs, asks, custom, destroys, looks};
use super::sheet::Sheet;

const SETTINGS: &str = "changes settings of the machine";
const RULES: &str = "changes what the firewall lets through";
const NET: &str = "changes the machine's addresses or routes";
const USERS: &str = "changes the machine's users";
const POWER: &str = "stops or restarts the machine";
const DISKS: &str = "overwrites or changes disks";
const KERNEL: &str = "changes the running kernel";

/// The programs.
pub(super) const ROWS: &[Row] = &[
    looks(
        "ps, pstree, pgrep, pidof, free, uptime, whoami, id, groups, uname, lscpu, lsblk, lsusb, lspci, lsmod, \
        lsof, vmstat, iostat, mpstat, tty, locale, printenv, w, who, last, users, logname, sw_vers, system_profiler, \
        findmnt, getconf, getent, ipcs, ulimit, cal, ncal, lsns, lslocks, lsipc, pwdx, pmap, hostid, \
        acpi, modinfo, tload, systemd-detect-virt, times",
        "*",
        Operands::Text,
    ),
    looks("top", "-b -c -H -i -S -n: -d: -p: -u: -U: -w? -o: -e: -E: -1 -l: -s: -stats: -pid:", Operands::Text)
        .then(top),
    asks("htop, btop, atop, glances, iotop", "wants a terminal"),
    looks(
        "hostname, domainname",
        "-a -A -d -f -i -I -s -y --alias --domain --fqdn --all-fqdns --ip-address \
        --all-ip-addresses --short --help --version",
        Operands::Text,
    )
    .dangers(&[("-F:< --file:< -b --boot", Verdict::Destructive, "gives the machine another name")])
    .then(|parsed, sheet| {
        if !parsed.operands.is_empty() {
            sheet.destroys("gives the machine another name");
        }
    }),
    custom("date, gdate", date),
    destroys("hwclock, ntpdate, chronyd, sntp", "sets the machine's clock"),
    looks(
        "journalctl",
        "* -u: --unit: -n: --lines: -S: --since: -U: --until: -o: --output: -p: --priority: -g: \
        --grep: -t: -b? --boot? --user-unit: -D:< --directory:< --file:< --root:< -F: --field: -M: -c: --cursor: \
        --cursor-file:>",
        Operands::Text,
    )
    .dangers(&[
        ("--vacuum-size: --vacuum-time: --vacuum-files:", Verdict::Destructive, "deletes the machine's logs"),
        (
            "--rotate --flush --sync --relinquish-var --smart-relinquish-var --setup-keys --update-catalog",
            Verdict::NeedsApproval,
            "changes the machine's logs",
        ),
    ]),
    looks("dmesg", "* -l: -f: --level: --facility: --since: --until: -F:< --file:<", Operands::Text).dangers(&[
        ("-C -c --clear --read-clear", Verdict::Destructive, "clears the kernel's messages"),
        ("-D -E -n: --console-off --console-on --console-level:", Verdict::NeedsApproval, SETTINGS),
    ]),
    custom("kill", kill),
    destroys("killall, pkill, skill, xkill", "ends every program of a name"),
    looks("fuser", "-a -m -n: -u -v -4 -6", Operands::Text).dangers(&[(
        "-k",
        Verdict::Destructive,
        "ends the programs that it finds",
    )]),
    asks("renice", "changes how programs run"),
    destroys("reboot, shutdown, poweroff, halt, telinit, init, pm-suspend, pm-hibernate, kexec", POWER),
    custom("service, rc-service", service),
    destroys(
        "chkconfig, update-rc.d, rc-update, insserv, svcadm, sv, s6-svc, initctl, supervisorctl, pm2",
        "starts, stops or changes services",
    ),
    destroys(
        "useradd, adduser, userdel, deluser, usermod, groupadd, addgroup, groupdel, delgroup, groupmod, \
        gpasswd, passwd, chpasswd, chgpasswd, chage, chsh, chfn, newusers, vipw, vigr, visudo, pwconv, dscl, \
        sysadminctl, newgrp, faillock",
        USERS,
    ),
    destroys(
        "setenforce, setsebool, semanage, semodule, restorecon, chcon, fixfiles, aa-enforce, aa-disable, \
        aa-complain, apparmor_parser, auditctl, authconfig, authselect, spctl, csrutil, tccutil",
        "changes how the machine is protected",
    ),
    looks("getenforce, sestatus, aa-status, getsebool, matchpathcon, ausearch, aureport", "*", Operands::Text),
    custom("iptables, ip6tables, ebtables, arptables", iptables),
    looks("iptables-save, ip6tables-save", "-c -t: --counters --table:", Operands::Text).dangers(&[(
        "-f:> -M:! --file:> --modprobe:!",
        Verdict::NeedsApproval,
        "writes a file or runs a program",
    )]),
    destroys(
        "iptables-restore, ip6tables-restore, iptables-apply, pfctl, ipfw, ipset, conntrack, shorewall, csf",
        RULES,
    ),
    custom("nft", nft),
    custom("ufw", |sheet| plain_verb(sheet, &["status", "version", "show"], RULES)),
    custom("firewall-cmd", firewall),
    custom("ip, bridge", ip),
    custom("tc, ethtool, nmcli, iw, networkctl, resolvectl, wpa_cli, brctl, ovs-vsctl", |sheet| {
        let words: Vec<&str> = sheet.args().iter().map_while(known).collect();
        let shows = |at: usize| words.get(at).is_some_and(|word| matches!(*word, "show" | "list" | "ls" | "status"));
        if words.len() != sheet.args().len()
            || words[..words.len().min(2)].iter().any(|word| word.starts_with('-'))
            || !shows(0) && !shows(1)
        {
            sheet.destroys(NET);
        }
    }),
    looks("ifconfig", "-a -s -v -l", Operands::Text).then(|parsed, sheet| {
        if parsed.operands.len() > 1 {
            sheet.destroys(NET);
        }
    }),
    looks("route, netstat, ss, arp, nstat, ifstat, ipcalc, iwconfig, iwgetid", "*", Operands::Text).then(routes),
    destroys("ifup, ifdown, dhclient, dhcpcd, networksetup, scutil, wg, wg-quick, vconfig, tunctl", NET),
    looks("mount", "-l -h -V --help --version -t: --show-labels", Operands::Text).then(mount),
    destroys(
        "umount, swapon, swapoff, losetup, cryptsetup, mdadm, lvcreate, lvremove, lvextend, lvreduce, lvresize, \
        vgcreate, vgremove, vgreduce, vgextend, pvcreate, pvremove, zfs, zpool, btrfs, e2fsck, fsck, xfs_repair, \
        resize2fs, tune2fs, xfs_growfs, dmsetup, multipath, diskutil, quotaon, quotaoff, setquota, edquota",
        DISKS,
    ),
    destroys(
        "mkfs, mke2fs, mkswap, mkdosfs, wipefs, blkdiscard, badblocks, hdparm, sgdisk, gdisk, cfdisk, sfdisk, \
        fdisk, parted, partprobe, newfs, mkntfs, nvme, ddrescue, grub-install, update-grub, efibootmgr, bootctl, \
        dracut, mkinitcpio, update-initramfs",
        DISKS,
    )
    .operands(Operands::Text),
    looks("pvs, vgs, lvs, pvdisplay, vgdisplay, lvdisplay, swaplabel, dumpe2fs, lsscsi", "*", Operands::Text),
    custom("sysctl", sysctl),
    destroys("modprobe, insmod, rmmod, depmod, kmod, bpftool, kextload, kextunload, nvram, pmset, systemsetup", KERNEL),
    asks("atrm, atd, anacron", "runs or drops commands later"),
    looks("atq", "*", Operands::Text),
    custom("hostnamectl, timedatectl, localectl", |sheet| {
        plain_verb(
            sheet,
            &["status", "show", "list-timezones", "list-locales", "list-keymaps", "timesync-status"],
            SETTINGS,
        );
    }),
    custom("loginctl", |sheet| {
        plain_verb(
            sheet,
            &["list-sessions", "list-users", "list-seats", "session-status", "user-status", "show-session", "list"],
            "ends sessions or changes users",
        );
    }),
    custom("launchctl", |sheet| {
        plain_verb(sheet, &["list", "print", "blame", "version"], "starts, stops or changes services");
    }),
    custom("defaults", |sheet| plain_verb(sheet, &["read", "read-type", "domains", "find", "help"], SETTINGS)),
    asks(
        "automator, shortcuts, gnome-open, start, xdotool, ydotool, wmctrl, gdbus, busctl, notify-send, say, \
        screencapture, scrot, gsettings, dconf, xset, xrandr",
        "drives other programs or the desktop",
    ),
    asks("security, secret-tool, kwallet-query, keyctl, pass, bw, vault, sops, age", "handles secrets"),
    asks("pbcopy, xclip, xsel, wl-copy, clip", "replaces the clipboard"),
    asks("pbpaste, wl-paste", "reads the clipboard"),
    asks("logger, wall, write, mesg, mail, mailx, sendmail, mutt, swaks, msmtp", "sends a message").net(),
    looks("fc-list, fc-match, tput, clear, setterm", "*", Operands::Text),
    destroys(
        "ldconfig, update-alternatives, alternatives, update-ca-certificates, update-ca-trust, trust, \
        dpkg-reconfigure, dpkg-divert, logrotate, tmpreaper, systemd-tmpfiles, localedef, locale-gen",
        SETTINGS,
    ),
    looks("umask, stty", "*", Operands::Text),
    asks("zellij", "runs programs that stay when the call is over"),
];

/// systemctl.
pub(super) const SYSTEMCTL: Verbs = Verbs {
    names: "systemctl",
    before: looks("systemctl", SYSTEM_OPTIONS, Operands::Text).dangers(SYSTEM_DANGERS),
    common: "-a -l -q -t: -p: -P: -n: -o: --user --system --all --full --quiet --no-pager --no-legend --plain \
        --type: --state: --property: --value --lines: --output: --failed --no-block --now --force -f --global \
        --runtime --wait --no-ask-password -s: --signal: --kill-whom: --reverse --after --before --with-dependencies \
        --show-types --recursive",
    rows: &[&[
        looks(
            "status, show, is-active, is-enabled, is-failed, is-system-running, list-units, list-unit-files, \
            list-timers, list-sockets, list-dependencies, list-jobs, list-machines, list-paths, list-automounts, \
            cat, help, get-default, show-environment, whoami",
            "-r",
            Operands::Text,
        )
        .dangers(SYSTEM_DANGERS),
        destroys(
            "start, stop, restart, try-restart, reload-or-restart, try-reload-or-restart, condrestart, reload, \
            kill, freeze, thaw, clean, reset-failed, isolate",
            "starts, stops or restarts services that others depend on",
        ),
        destroys(
            "enable, disable, reenable, preset, preset-all, mask, unmask, link, revert, add-wants, \
            add-requires, edit, set-default, set-property, daemon-reload, daemon-reexec, set-environment, \
            unset-environment, import-environment, bind, mount-image, service-log-level",
            "changes which services run",
        ),
        destroys(
            "reboot, poweroff, halt, kexec, soft-reboot, suspend, hibernate, hybrid-sleep, \
            suspend-then-hibernate, exit, default, rescue, emergency, switch-root, sleep",
            POWER,
        ),
        asks("cancel, log-level, log-target", "changes what systemd does"),
    ]],
    else_: asks("", "is no subcommand that is known"),
};

const SYSTEM_OPTIONS: &str = "--version --help -h";
const SYSTEM_DANGERS: &[super::options::Danger] = &[
    ("-H: --host:", Verdict::NeedsApproval, "works on another machine"),
    ("-M: --machine: --root: --image:", Verdict::NeedsApproval, "works on another system"),
];

fn top(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    if !parsed.has("-b -l") {
        sheet.asks("wants a terminal");
    }
}

fn date(sheet: &mut Sheet<'_>) {
    let args = sheet.args();
    let mut at = 0;
    let simulates = args.iter().any(|word| known(word).is_some_and(|text| text.starts_with("-j")));
    while let Some(word) = args.get(at) {
        at += 1;
        let Some(text) = known(word) else {
            sheet.asks(&format!("gets `{}`, which may set the clock", shown(word)));
            continue;
        };
        match text {
            "--date" | "--reference" | "--file" => at += 1,
            _ if text.starts_with('-') && !text.starts_with("--") && text.ends_with(['d', 'r', 'f', 'v']) => {
                at += 1;
                if text.contains('s') {
                    sheet.destroys("sets the machine's clock");
                }
            }
            _ if text.starts_with('+') => {}
            _ if text.starts_with("--s")
                || text.starts_with('-') && !text.starts_with("--") && text.contains('s') && !value(text) =>
            {
                sheet.destroys("sets the machine's clock");
            }
            _ if text.starts_with('-') => {}
            _ if simulates => {}
            _ => sheet.destroys("sets the machine's clock"),
        }
    }
}

/// Whether a cluster of `date`'s letters holds a value: `-d2024-05-02s`, `-Iseconds`.
fn value(text: &str) -> bool {
    let cluster = text.trim_start_matches('-');
    cluster.find(['d', 'I', 'r', 'f', 'v']).is_some_and(|at| cluster.find('s').is_none_or(|set| at < set))
}

fn kill(sheet: &mut Sheet<'_>) {
    let args = sheet.args();
    if args.iter().all(|word| known(word).is_some_and(|text| matches!(text, "-l" | "-L" | "--list")))
        && !args.is_empty()
        || args.first().and_then(known).is_some_and(|text| matches!(text, "-l" | "--list")) && args.len() == 2
    {
        return;
    }
    let words: Vec<&str> = args.iter().map(shown).collect();
    let hard = words
        .iter()
        .any(|word| matches!(word.to_uppercase().as_str(), "-9" | "-KILL" | "-SIGKILL" | "KILL" | "SIGKILL" | "9"));
    let all = words.iter().skip(1).any(|word| matches!(*word, "-1" | "0")) || words.first() == Some(&"0");
    if all {
        sheet.destroys("ends every program it may");
    } else if hard {
        sheet.destroys("ends programs at once, with what they have not saved");
    } else if words.first() == Some(&"-0") {
        sheet.raise(Verdict::ReadOnly, "");
    } else {
        sheet.asks("ends programs or sends them signals");
    }
    if words.first() == Some(&"-0") && args.iter().any(|word| known(word).is_none()) {
        sheet.asks("may end programs");
    }
}

fn service(sheet: &mut Sheet<'_>) {
    let words: Vec<&str> = sheet.args().iter().map(shown).collect();
    match words.as_slice() {
        ["--status-all"] | [_, "status"] if sheet.args().iter().all(|word| known(word).is_some()) => {}
        _ => sheet.destroys("starts, stops or restarts services that others depend on"),
    }
}

/// A program of which some first words only show.
fn plain_verb(sheet: &mut Sheet<'_>, reading: &[&str], why: &str) {
    // An option in front might take the verb for its value.
    let verb = sheet.args().iter().find(|word| !matches!(known(word), Some("--no-pager" | "--user")));
    let shows = verb.is_none_or(|word| known(word).is_some_and(|text| reading.contains(&text)));
    if !shows || sheet.args().iter().any(|word| known(word).is_none()) {
        sheet.destroys(why);
    }
}

fn iptables(sheet: &mut Sheet<'_>) {
    let mut lists = false;
    let mut doubtful = false;
    let args = sheet.args();
    for (at, word) in args.iter().enumerate() {
        let Some(text) = known(word) else {
            doubtful = true;
            continue;
        };
        let is_value = at > 0
            && args.get(at - 1).and_then(known).is_some_and(|before| matches!(before, "-t" | "--table" | "-L" | "-S"));
        match text {
            "--list" | "--list-rules" | "--version" | "--help" => lists = true,
            "--verbose" | "--numeric" | "--line-numbers" | "--exact" | "--table" => {}
            _ if text.starts_with("--table=") => {}
            _ if text.starts_with('-') && !text.starts_with("--") => {
                lists |= text.contains(['L', 'S']);
                doubtful |=
                    !text[1..].chars().all(|c| matches!(c, 'L' | 'S' | 'n' | 'v' | 'x' | 't' | 'V' | '4' | '6'));
            }
            _ => {
                doubtful |= !is_value && !matches!(text, "INPUT" | "OUTPUT" | "FORWARD" | "PREROUTING" | "POSTROUTING");
            }
        }
    }
    if !lists || doubtful {
        sheet.destroys(RULES);
    }
}

fn nft(sheet: &mut Sheet<'_>) {
    let words: Vec<&str> = sheet.args().iter().filter_map(known).collect();
    let plain = words.len() == sheet.args().len();
    let verb = words.iter().position(|word| !word.starts_with('-'));
    let fine = plain
        && verb.is_some_and(|at| words[at] == "list")
        && words.iter().all(|word| {
            !word.contains([';', '\n', '{'])
                && (!word.starts_with('-') || matches!(*word, "-a" | "-n" | "-nn" | "-j" | "-s"))
        });
    if !fine {
        sheet.destroys(RULES);
    }
}

fn firewall(sheet: &mut Sheet<'_>) {
    let looks = |text: &str| {
        [
            "--list-",
            "--get-",
            "--query-",
            "--info-",
            "--zone=",
            "--state",
            "--permanent",
            "--version",
            "--help",
            "--policy=",
        ]
        .iter()
        .any(|head| text.starts_with(head))
    };
    if sheet.args().is_empty() || !sheet.args().iter().all(|word| known(word).is_some_and(looks)) {
        sheet.destroys(RULES);
    }
}

fn ip(sheet: &mut Sheet<'_>) {
    let args = sheet.args();
    let words: Vec<&str> = args.iter().filter_map(known).collect();
    // Of these options it is sure that they take no value, so that what comes behind is the object and its verb.
    let plain_options = [
        "-4",
        "-6",
        "-0",
        "-B",
        "-M",
        "-a",
        "-all",
        "-br",
        "-brief",
        "-c",
        "-color",
        "-d",
        "-details",
        "-h",
        "-human",
        "-iec",
        "-j",
        "-json",
        "-o",
        "-oneline",
        "-p",
        "-pretty",
        "-r",
        "-resolve",
        "-s",
        "-stats",
        "-statistics",
        "-t",
        "-ts",
        "-V",
    ];
    if words.iter().any(|word| word.starts_with('-') && !plain_options.contains(word)) {
        sheet.destroys(NET);
        return;
    }
    let plain: Vec<&&str> = words.iter().filter(|word| !word.starts_with('-')).collect();
    if let ["netns" | "vrf", "exec", ..] = plain.iter().map(|word| **word).collect::<Vec<_>>()[..] {
        sheet.asks("runs a command with another network");
        let at = words.iter().position(|word| *word == "exec").unwrap_or(0);
        let run: Vec<&Word> = args.iter().skip(at + 2).collect();
        sheet.runs_words(&run, false);
        return;
    }
    let verb = plain.get(1).map_or("show", |word| **word);
    // `ip` takes any beginning of a word for the word, and a lone `s` for `set`.
    let shows = verb.len() > 1 && verb != "s" || matches!(verb, "l" | "g" | "m");
    let shows = shows
        && ["show", "list", "lst", "get", "help", "monitor", "identify", "pids", "save"]
            .iter()
            .any(|known| known.starts_with(verb));
    if words.len() != args.len() || !shows {
        sheet.destroys(NET);
    }
}

fn routes(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    let words: Vec<&str> = parsed.known().collect();
    let program = sheet.invocation.program;
    let changes = match program {
        "route" => words.iter().any(|word| matches!(*word, "add" | "del" | "delete" | "change" | "flush" | "replace")),
        "arp" => parsed
            .foreign
            .iter()
            .any(|flag| matches!(flag.as_str(), "-d" | "-s" | "-f" | "-S" | "--delete" | "--set" | "--file")),
        "ss" => parsed.foreign.iter().any(|flag| matches!(flag.as_str(), "-K" | "--kill" | "-D" | "--diag")),
        "iwconfig" => words.len() > 1,
        _ => false,
    };
    if changes {
        sheet.destroys(NET);
    } else if parsed.vague.is_some() && matches!(program, "route" | "arp" | "ss" | "iwconfig")
        || program == "route" && parsed.operands.len() != words.len()
    {
        sheet.asks("may change the machine's addresses or routes");
    }
}

fn mount(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    if !parsed.operands.is_empty() || !parsed.foreign.is_empty() {
        sheet.destroys("puts a file system where files are");
    }
}

fn sysctl(sheet: &mut Sheet<'_>) {
    let mut looks = true;
    for word in sheet.args() {
        match known(word) {
            Some(
                "-a" | "-A" | "--all" | "-n" | "--values" | "-N" | "--names" | "-e" | "-b" | "-h" | "--help" | "-d",
            ) => {}
            Some(text) if !text.starts_with('-') && !text.contains('=') => {}
            _ => looks = false,
        }
    }
    if !looks {
        sheet.destroys(KERNEL);
    }
}
