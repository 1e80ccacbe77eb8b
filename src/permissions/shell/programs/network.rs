//! Programs that talk to other machines. What reads from them is read-only with network; what sends, saves or runs is
//! asked about.

use super::super::effects::{Verdict, Word};
use super::options::{Parsed, known, shown};
use super::rows::{Operands, Row, asks, looks};
use super::sheet::{Sheet, host_of};

const SENDS: &str = "sends what it is given to another machine";
const REPLACES: &str = "saves over whatever is there";

/// The programs.
pub(super) const ROWS: &[Row] = &[
    looks(
        "curl",
        "-# -4 -6 -f -g -G -i -I -k -l -L -m: -n -N -q -R -s -S -v -V -y: -Y: -z: -H: -A: -e: -r: -w: -0 \
        -1 -2 -3 -Z --fail --fail-with-body --fail-early --globoff --get --include --head --insecure --location \
        --max-time: --connect-timeout: --no-buffer --no-progress-meter --progress-bar --silent --show-error \
        --verbose --version --help --header: --user-agent: --referer: --range: --write-out: --compressed --http1.0 \
        --http1.1 --http2 --http2-prior-knowledge --http3 --ipv4 --ipv6 --max-redirs: --max-filesize: --limit-rate: \
        --retry: --retry-delay: --retry-max-time: --retry-connrefused --retry-all-errors --speed-limit: \
        --speed-time: --tlsv1 --tlsv1.2 --tlsv1.3 --tls-max: --url:@ --parallel --parallel-max: --path-as-is --raw \
        --tcp-nodelay --keepalive-time: --no-keepalive --styled-output --no-styled-output --proto: --proto-default: \
        --proto-redir: --ssl-reqd --compressed-ssh --noproxy: --url-query: --cacert:< --capath:< --disable \
        --location-trusted --interface: --dns-servers:",
        Operands::Hosts,
    )
    .net()
    .dangers(&[
        (
            "-d: --data: --data-raw: --data-binary: --data-ascii: --data-urlencode: --json: -F: --form: \
                --form-string:",
            Verdict::NeedsApproval,
            SENDS,
        ),
        ("-T:< --upload-file:<", Verdict::NeedsApproval, "sends a file to another machine"),
        ("-X: --request:", Verdict::ReadOnly, ""),
        (
            "-o:> --output:> -O --remote-name --remote-name-all -J --remote-header-name -D:> --dump-header:> -c:> \
                --cookie-jar:> --trace:> --trace-ascii:> --stderr:> --libcurl:> --etag-save:> --hsts: --alt-svc: \
                --output-dir:> --create-dirs -a --append",
            Verdict::NeedsApproval,
            REPLACES,
        ),
        ("-K:< --config:<", Verdict::NeedsApproval, "takes more options from a file"),
        (
            "-x: --proxy: --preproxy: --socks5: --socks5-hostname: --socks4: --socks4a: --resolve: --connect-to: \
                --doh-url: --unix-socket: --abstract-unix-socket:",
            Verdict::NeedsApproval,
            "goes another way than the address says",
        ),
        (
            "-u: --user: -E:< --cert:< --key:< --netrc --netrc-file:< --netrc-optional --oauth2-bearer: -b: \
                --cookie: --aws-sigv4: --negotiate --ntlm --delegation:",
            Verdict::NeedsApproval,
            "sends who you are",
        ),
        (
            "-Q: --quote: --prequote: --postquote: -t: --telnet-option: --mail-from: --mail-rcpt:",
            Verdict::NeedsApproval,
            "gives orders to another machine",
        ),
        ("--engine: --krb: --random-file:", Verdict::NeedsApproval, "loads code"),
    ])
    .then(curl),
    looks(
        "wget, wget2",
        "-q -v -nv -S -t: -T: -w: -4 -6 -U: --quiet --verbose --no-verbose --server-response \
        --spider --tries: --timeout: --wait: --user-agent: --header: --max-redirect: --no-check-certificate \
        --inet4-only --inet6-only --no-cache --no-cookies --retry-connrefused --waitretry: --random-wait \
        --limit-rate: --show-progress --progress: --no-hsts --version --help --connect-timeout: --read-timeout: \
        --dns-timeout: --https-only -O:> --output-document:> --no-config --compression:",
        Operands::Hosts,
    )
    .net()
    .dangers(&[
        ("--post-data: --post-file:< --body-data: --body-file:< --method:", Verdict::NeedsApproval, SENDS),
        ("--use-askpass:!", Verdict::NeedsApproval, "runs a program"),
        ("-i:< --input-file:< -e: --execute: --config:<", Verdict::NeedsApproval, "takes orders from elsewhere"),
        (
            "-r -m -p -k -N -c -nc -x -P:> -o:> -a:> --recursive --mirror --page-requisites --convert-links \
                --timestamping --continue --no-clobber --force-directories --directory-prefix:> --output-file:> \
                --append-output:> --save-cookies:> --warc-file:> --content-disposition \
                --trust-server-names",
            Verdict::NeedsApproval,
            REPLACES,
        ),
        (
            "--user: --password: --http-user: --http-password: --ftp-user: --ftp-password: --load-cookies:< \
                --certificate:< --private-key:< --ask-password",
            Verdict::NeedsApproval,
            "sends who you are",
        ),
    ])
    .then(wget),
    asks(
        "http, https, xh, xhs, curlie, httpie, hurl, grpcurl, websocat, wscat, ab, wrk, hey, k6, vegeta, siege",
        SENDS,
    )
    .operands(Operands::Hosts)
    .net(),
    asks(
        "aria2c, axel, youtube-dl, yt-dlp, lftp, httrack, rclone, croc, magic-wormhole, wormhole, transfer, s3cmd, \
        mc, ipfs, rtorrent, transmission-cli",
        "fetches or sends files",
    )
    .operands(Operands::Hosts)
    .net()
    .then(|parsed, sheet| {
        if parsed
            .known()
            .next()
            .is_some_and(|verb| matches!(verb, "sync" | "delete" | "purge" | "move" | "rb" | "rm" | "del" | "cleanup"))
        {
            sheet.destroys("deletes files at the other end");
        }
    }),
    asks("rsync", "copies files over whatever is there")
        .options(
            "* -e:! --rsh:! --rsync-path: --files-from:< --exclude-from:< --include-from:< --exclude: \
            --include: -f: --filter: --log-file:> --partial-dir:> --backup-dir:> -B: --bwlimit: -T:> --temp-dir:> \
            --port: --password-file:< --compare-dest: --copy-dest: --link-dest: --write-batch:> --only-write-batch:> \
            --read-batch:< --chmod: --chown: --timeout: --max-size: --min-size: --suffix: -M: --remote-option:",
        )
        .dangers(&[
            (
                "--delete --delete-before --delete-during --del --delete-delay --delete-after --delete-excluded \
                --delete-missing-args --remove-source-files",
                Verdict::Destructive,
                "deletes files without undo",
            ),
            ("--daemon", Verdict::NeedsApproval, "serves files to other machines"),
        ])
        .then(remote_copy),
    asks("nc, ncat, netcat, telnet, cryptcat, rlogin, rsh, ftp, tftp", "opens a way to another machine")
        .net()
        .options("* -e:! -c:! --exec:! --sh-exec:! --lua-exec:< -p: -s: -w: -x: -X:")
        .operands(Operands::Hosts)
        .then(|parsed, sheet| {
            for word in parsed.known() {
                if ["exec:", "system:", "shell:"].iter().any(|head| word.to_lowercase().starts_with(head)) {
                    let command = word.split_once(':').map_or("", |(_, command)| command).to_owned();
                    sheet.asks(&format!("runs `{command}` for whoever is at the other end"));
                    sheet.runs_line(&Word::Known(command), false);
                }
            }
        }),
    looks("ping, ping6", "* -c: -i: -W: -w: -s: -t: -I: -m: -Q: -S: -l: -p: -M:", Operands::Hosts).net().dangers(&[(
        "-f",
        Verdict::NeedsApproval,
        "floods another machine",
    )]),
    looks(
        "traceroute, traceroute6, tracepath, mtr, dig, drill, kdig, nslookup, host, whois, delv, dog, doggo",
        "* -f: -m: -q: -w: -t: -p: -k: -b: -c:",
        Operands::Hosts,
    )
    .net(),
    asks(
        "nmap, masscan, zmap, nikto, hping3, sqlmap, hydra, arp-scan, tshark, wireshark, ettercap, ngrep",
        "probes other machines",
    )
    .options("* -oN:> -oX:> -oG:> -oA:> -w:> -z:!")
    .operands(Operands::Hosts)
    .net(),
    asks("tcpdump", "listens to the network").options("* -w:> -z:! -r:< -i: -c: -s: -W: -C: -G: -Z:").net(),
    asks("ssh-keygen", "makes, changes or forgets keys")
        .options("* -f:> -t: -b: -C: -N: -P: -R: -D:< -w:<")
        .dangers(&[("-R:", Verdict::NeedsApproval, "forgets a machine's key")])
        .then(|parsed, sheet| {
            if let Some(Some(library)) = parsed.find("-D").map(|given| given.value.as_ref()) {
                sheet.asks(&format!("loads `{}`", shown(library)));
            }
        }),
    asks(
        "ssh-copy-id, ssh-add, ssh-keyscan, sshfs, sshpass, cloudflared, ngrok, tailscale, openvpn, wireguard, vpnc, \
        openconnect, zerotier-cli",
        "handles keys or opens ways to other machines",
    )
    .net(),
    asks(
        "http-server, serve, live-server, caddy, nginx, apachectl, apache2ctl, httpd, darkhttpd, lighttpd, haproxy, \
        traefik, envoy",
        "serves files or steers a server",
    )
    .net(),
    asks("gpg, gpg2, gpgsm, gpgconf, gpg-agent, gpg-connect-agent", "handles keys and secrets")
        .options("* -o:> --output:>")
        .dangers(&[
            (
                "--delete-keys --delete-secret-keys --delete-secret-and-public-key --delete-key",
                Verdict::Destructive,
                "deletes keys",
            ),
            (
                "--recv-keys --send-keys --search-keys --refresh-keys --keyserver:",
                Verdict::NeedsApproval,
                "talks to a key server",
            ),
        ])
        .net(),
];

fn curl(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    if let Some(method) = parsed.values("-X --request").last() {
        match known(method).map(str::to_uppercase).as_deref() {
            Some("GET" | "HEAD" | "OPTIONS") => {}
            Some("DELETE") => sheet.destroys("deletes at another machine (`-X DELETE`)"),
            _ => sheet.asks(&format!("changes things at another machine (`-X {}`)", shown(method))),
        }
    }
    // `-w %output{file}` writes, and `-w @file` and `-H @file` read.
    for format in parsed.values("-w --write-out -H --header") {
        match known(format) {
            Some(text) if text.contains("%output{") => sheet.asks("writes a file from its format (`%output`)"),
            Some(text) if text.starts_with('@') => {
                sheet.asks(&format!("takes `{text}` from a file"));
                sheet.reads(&Word::Known(text[1..].to_owned()));
            }
            _ => {}
        }
    }
    for data in parsed.values("-d --data --data-binary --data-ascii --data-urlencode --json -F --form") {
        if let Some((_, file)) = known(data).and_then(|text| text.split_once('@'))
            && file != "-"
        {
            sheet.reads(&Word::Known(file.split(';').next().unwrap_or(file).to_owned()));
        }
    }
    for address in parsed.known() {
        let (scheme, path) = address.split_once("://").unwrap_or(("http", address));
        match scheme.to_lowercase().as_str() {
            "http" | "https" => {}
            "file" => sheet.reads(&Word::Known(path.to_owned())),
            other => sheet.asks(&format!("talks `{other}` to another machine")),
        }
    }
}

fn wget(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    let target = parsed.values("-O --output-document").last();
    match target.map(shown) {
        Some("-" | "/dev/null" | "/dev/stdout") => {}
        Some(file) => {
            let why = format!("saves over `{file}`");
            sheet.asks(&why);
        }
        None if parsed.has("--spider") => {}
        None => sheet.changes("saves a file in the current folder"),
    }
}

/// An operand is a file here, or `host:path`.
fn remote_copy(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    ssh_options(parsed, sheet);
    let last = parsed.operands.len().saturating_sub(1);
    for (at, word) in parsed.operands.iter().enumerate() {
        let far = known(word)
            .is_some_and(|text| text.contains("://") || text.split('/').next().is_some_and(|head| head.contains(':')));
        if far {
            sheet.network();
            if known(word).and_then(host_of).is_some() {
                sheet.host(word);
            }
        } else if at == last {
            sheet.writes(word);
        } else {
            sheet.reads(word);
        }
    }
    for path in parsed.values("--rsync-path") {
        sheet.runs_line(path, true);
    }
}

/// `-o ProxyCommand=...` and `LocalCommand` run here.
fn ssh_options(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    for option in parsed.values("-o") {
        let Some(text) = known(option) else { continue };
        let (name, value) = text.split_once(['=', ' ']).unwrap_or((text, ""));
        if matches!(name.trim().to_lowercase().as_str(), "proxycommand" | "localcommand" | "knownhostscommand") {
            sheet.asks(&format!("runs `{value}` (`-o {name}`)"));
            sheet.runs_line(&Word::Known(value.to_owned()), false);
        }
    }
}
