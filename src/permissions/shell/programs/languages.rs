//! Interpreters, editors, debuggers and what else runs code that it is given.

use super::super::effects::{Verdict, Word};
use super::options::{Parsed, known};
use super::rows::{Operands, Row, asks, custom, looks};
use super::sheet::Sheet;

const CODE: &str = "runs code";
const EDITOR: &str = "is an editor that waits at a terminal, and can run commands";
const OTHERS: &str = "runs or steers another program";

/// The programs.
pub(super) const ROWS: &[Row] = &[
    asks(
        "python, python2, python3, pypy, pypy3, ipython, jupyter, node, nodejs, deno, qjs, ruby, irb, jruby, perl, \
        raku, php, lua, luajit, tclsh, wish, Rscript, R, julia, octave, matlab, maxima, gp, sage, scala, kotlin, \
        groovy, java, jshell, clisp, sbcl, guile, racket, scheme, chicken, csi, runghc, runhaskell, ocaml, elixir, \
        iex, erl, escript, swipl, gprolog, dotnet-script, fsi, cscript, wscript, mono, wine, crystal, v, osh, \
        wasmtime, wasmer, wasm3, bb, babashka, jbang, streamlit, gunicorn, uvicorn, flask, celery, django-admin, \
        rails, rackup, puma, unicorn, artisan, ts-node-dev, forever, overmind, hivemind, chokidar, air, onchange, \
        fswatch, npm-run-all, run-s, run-p, cross-env, ansible-runner, scrapy, dbt, airflow, dagster, prefect, mlflow, \
        ray, torchrun, accelerate, mpirun, mpiexec, srun, sbatch, qsub",
        CODE,
    )
    .options("+ * -c: -e: -E: -m: -r: -i -u -p:")
    .then(interpreted),
    asks(
        "vi, vim, view, nvim, gvim, mvim, vimdiff, rvim, emacs, emacsclient, nano, pico, micro, helix, hx, kak, \
        joe, jed, ne, mcedit, code, code-insiders, cursor, zed, subl, atom, gedit, kate, idea, pycharm, webstorm, \
        clion, mate, bbedit, vscodium, codium, sudoedit, ranger, nnn, lf, vifm, tig, lazygit, gitui, fzf, sk, peco, \
        gum, dialog, whiptail, zenity",
        EDITOR,
    )
    .options("* -c: --cmd: -S:< -s:< -u:< --eval: -w:> -W:> -l:<")
    .then(edited),
    asks(
        "pdb, dlv, jdb, cgdb, ddd, dtrace, kcachegrind, gprof, gcov, llvm-profdata, systemtap, stap, sysdig, py-spy, \
        rbspy, async-profiler, jmap, jstack, jcmd, jps, jstat, frida, radare2, r2, rizin, ghidra, hopper, ida, chrome, \
        chromium, google-chrome, firefox, safari, microsoft-edge, electron, chromedriver, geckodriver, Xvfb, startx",
        OTHERS,
    )
    .options("+ * -ex:! -iex:! -x:< -p: -o: --eval-command: --command:<"),
    looks(
        "man, apropos, whatis, info",
        "-k -f -w -W -a -K -s: -S: --where --path --apropos --whatis --all --sections:",
        Operands::Text,
    )
    .dangers(&[(
        "-P:! --pager:! -H? --html? -B:! --browser:! -C:< --config-file:< -M: --manpath: -l --local-file -X? \
                -T? -t -r: --preprocessor: -p: -o:> --output:> -O:> --dribble:> \
                --restore:<",
        Verdict::NeedsApproval,
        "runs a program, or takes a page from anywhere",
    )])
    .then(|parsed, sheet| {
        // A name with a slash is a file, which the formatter is run on.
        if parsed.operands.iter().any(|word| known(word).is_none_or(|text| text.contains('/')))
            && sheet.invocation.program == "man"
        {
            sheet.asks("formats a file that may come from anywhere");
        }
    }),
    custom("openssl, libressl", openssl),
    asks("claude, codex, gemini, aider, opencode, llm, ollama, cody, amp, crush, qwen", "runs another agent or model")
        .net(),
    asks(
        "certbot, acme.sh, mkcert, step, cfssl, keytool, certutil, pk12util, easyrsa, sbsign, ykman, gnutls-cli, \
        p11tool, pkcs11-tool, minisign, signify, age-keygen",
        "handles keys and certificates",
    )
    .net(),
    asks(
        "fakechroot, i386, uname26, prime-run, optirun, gamemoderun, mangohud, caffeinate, setlock, aa-exec, sg, \
        run-parts, pkgx, arch-chroot, with, cgcreate",
        "runs a program",
    )
    .options("+ *")
    .operands(Operands::Here(0)),
    looks("uuidgen, uuid, mcookie, pwgen", "*", Operands::Text),
];

/// What an interpreter is given: code in a word, or a file.
fn interpreted(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    let code: Vec<String> = parsed
        .given
        .iter()
        .filter(|given| matches!(given.option.name, "-c" | "-e" | "-E" | "-r" | "-m"))
        .map(|given| given.option.name.to_owned())
        .collect();
    if let Some(flag) = code.first() {
        let how = if flag == "-m" { "runs a module".to_owned() } else { format!("runs the code given with `{flag}`") };
        sheet.asks(&how);
    } else if let Some(script) = parsed.operands.first() {
        sheet.reads(script);
        if let Some(name) = known(script) {
            sheet.asks(&format!("runs what is in `{name}`"));
        }
    }
    sheet.network();
    sheet.obeys_input();
}

/// `+cmd`, `-c cmd`: what an editor does when it opens; `!` runs a program.
fn edited(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    let ex = parsed.values("-c --cmd").filter_map(known);
    let plus = parsed.known().filter_map(|text| text.strip_prefix('+'));
    let commands: Vec<String> = ex.chain(plus).map(str::to_owned).collect();
    for command in commands {
        if let Some(line) = command.trim_start_matches(':').strip_prefix('!') {
            sheet.asks(&format!("runs `{line}` when it opens"));
            sheet.runs_line(&Word::Known(line.to_owned()), false);
        }
    }
    for word in
        parsed.operands.iter().filter(|word| known(word).is_none_or(|text| !text.starts_with('+') && text != "."))
    {
        sheet.writes(word);
    }
}

/// openssl: what calculates and shows, what connects, and what writes.
fn openssl(sheet: &mut Sheet<'_>) {
    let words: Vec<&str> = sheet.args().iter().filter_map(known).collect();
    let plain = words.len() == sheet.args().len();
    let verb = words.first().copied().unwrap_or_default();
    for pair in sheet.args().windows(2) {
        let file = &pair[1];
        match known(&pair[0]) {
            Some("-out" | "-keyout" | "-writerand" | "-sess_out" | "-CAserial") => {
                sheet.asks("writes over a file");
                sheet.writes(file);
            }
            Some("-in" | "-CAfile" | "-inkey" | "-key" | "-cert" | "-config") => sheet.reads(file),
            Some("-connect" | "-host" | "-url") => sheet.host(file),
            _ => {}
        }
    }
    let loads = words
        .iter()
        .any(|word| matches!(*word, "-engine" | "-provider" | "-provider-path" | "-config" | "-engine_impl"));
    match verb {
        _ if loads => sheet.asks("loads code"),
        "s_client" | "s_server" | "s_time" | "ocsp" => {
            sheet.network();
            sheet.asks("talks to another machine");
        }
        "version" | "list" | "ciphers" | "errstr" | "help" | "prime" | "speed" if plain => {}
        "x509" | "req" | "rsa" | "pkey" | "ec" | "crl" | "asn1parse" | "verify" | "dgst" | "sha256" | "sha1"
        | "md5" | "sha512" | "rand" | "base64" | "crl2pkcs7"
            if plain
                && !words.iter().any(|word| {
                    matches!(*word, "-signkey" | "-CAcreateserial" | "-new" | "-newkey" | "-CA" | "-sign")
                }) => {}
        _ => sheet.asks("handles keys and secrets"),
    }
}
