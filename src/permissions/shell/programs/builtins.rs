//! What a shell does by itself.

use super::super::effects::{Verdict, Word};
use super::options::{known, shown};
use super::rows::{Operands, Row, asks, custom, looks};
use super::sheet::Sheet;

/// The builtins that are no programs. Wrappers (`eval`, `exec`, `command`, `builtin`, `time`) are elsewhere.
pub(super) const ROWS: &[Row] = &[
    looks(
        "cd, pushd, popd, dirs, exit, logout, return, break, continue, shift, wait, help, getopts, caller, type, \
        bg, fg, disown, suspend",
        "*",
        Operands::Text,
    ),
    looks("jobs", "-l -n -p -r -s", Operands::Text),
    custom("export, declare, typeset, local, readonly, unset, let, read", assigns),
    // `-e`, `-u`, `-x` and `-o pipefail` are everybody's; `-a`, `-k` and others change what later commands get.
    looks("set", "+ -e -u -x -v -f -C -n -E -T -o:", Operands::Text),
    looks("compgen", "-b -c -d -e -f -g -j -k -s -u -v -a -A: -P: -S: -X:", Operands::Text),
    looks("hash", "-r -l -t -d", Operands::Text).dangers(&[(
        "-p:",
        Verdict::NeedsApproval,
        "gives a command another program",
    )]),
    looks("shopt", "-p -q -s -u -o", Operands::Text).then(|parsed, sheet| {
        if parsed.has("-s -u") {
            sheet.asks("changes how the rest of the line is read");
        }
    }),
    asks(
        "alias, unalias, enable, bind, complete, compopt, setopt, unsetopt, autoload, zmodload, abbr, function",
        "changes what commands mean",
    ),
    custom("trap", trap),
    looks("mapfile, readarray", "-t -d: -n: -O: -s: -u: -c:", Operands::Text)
        .dangers(&[("-C:!", Verdict::NeedsApproval, "runs a command for each line")])
        .then(|parsed, sheet| {
            if parsed.known().any(steers) {
                sheet.asks("sets what steers later commands");
            }
        }),
    looks("history", "-n -r", Operands::Text).dangers(&[
        ("-c", Verdict::Destructive, "drops the shell's history"),
        ("-d:", Verdict::Destructive, "drops a line of the shell's history"),
        ("-w -a", Verdict::NeedsApproval, "writes the shell's history"),
        ("-s -p", Verdict::NeedsApproval, "changes the shell's history"),
    ]),
    asks("fc", "runs an earlier command again"),
];

/// Variables that make programs run, load or trust something else.
fn steers(name: &str) -> bool {
    const HEADS: &[&str] = &[
        "LD_", "DYLD_", "GIT_", "PYTHON", "NODE_", "NPM_", "npm_", "RUBY", "PERL", "CARGO", "RUST", "BASH_", "JAVA_",
        "MAVEN_", "GRADLE_", "GO", "KUBE", "DOCKER_", "AWS_", "SSH_", "CC", "CXX", "CPP", "LESS", "MAN", "MAKE",
        "PIP_", "GEM_", "BUNDLE_", "LUA_", "R_", "_JAVA", "JDK_", "OPENSSL_", "SSL_", "CURL_", "XDG_", "TERM",
        "RIPGREP_", "TAR_", "AWK", "GCC_",
    ];
    const NAMES: &[&str] = &[
        "PATH",
        "IFS",
        "ENV",
        "CDPATH",
        "SHELL",
        "HOME",
        "PAGER",
        "EDITOR",
        "VISUAL",
        "BROWSER",
        "PS0",
        "PS1",
        "PS4",
        "PROMPT_COMMAND",
        "SHELLOPTS",
        "BASHOPTS",
        "FPATH",
        "ZDOTDIR",
        "COMPILER_PATH",
        "LIBRARY_PATH",
        "CPATH",
        "AR",
        "LD",
        "AS",
        "http_proxy",
        "https_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "all_proxy",
        "HOSTALIASES",
        "INPUTRC",
        "TMPDIR",
        "POSIXLY_CORRECT",
        "GCONV_PATH",
        "LOCPATH",
        "NLSPATH",
        "MALLOC_CONF",
        "PKG_CONFIG",
        "PKG_CONFIG_PATH",
        "CLASSPATH",
        "FIGNORE",
        "GLOBIGNORE",
        "HISTFILE",
    ];
    NAMES.contains(&name) || HEADS.iter().any(|head| name.starts_with(head)) || name.ends_with("_COMMAND")
}

/// Setting a variable is harmless, unless it steers what runs later, or an index in it runs something.
fn assigns(sheet: &mut Sheet<'_>) {
    let program = sheet.invocation.program;
    for word in sheet.args() {
        let text = shown(word);
        let name = text.split(['=', '+']).next().unwrap_or_default();
        let runs = known(word).is_some() && text.contains('[') && (text.contains("$(") || text.contains('`'));
        if runs || program == "let" && text.contains('[') {
            sheet.asks("may run what stands in an index");
        } else if !text.starts_with('-') && steers(name) {
            sheet.asks(&format!("sets `{name}`, which steers what later commands do"));
        } else if known(word).is_none()
            && (!name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') || !text.contains('='))
        {
            sheet.asks(&format!("gets `{text}`, which may set any variable"));
        } else if text.starts_with('-') && text.contains('n') && program != "read" {
            sheet.asks("gives a variable another name");
        }
    }
}

fn trap(sheet: &mut Sheet<'_>) {
    let args: Vec<&Word> = sheet.args().iter().filter(|word| known(word) != Some("--")).collect();
    match args.as_slice() {
        [first, ..] if matches!(known(first), Some("-p" | "-l" | "-P")) => {}
        [first, _, ..] if matches!(known(first), Some("" | "-")) => {}
        [line, _, ..] => sheet.runs_line(line, false),
        [] | [_] => {}
    }
}
