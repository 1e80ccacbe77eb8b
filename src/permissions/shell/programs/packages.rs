//! Package managers: what is installed may run scripts; what is published cannot be taken back.

use super::super::effects::Verdict;
use super::options::{Danger, known};
use super::rows::{Operands, Row, Verbs, asks, custom, destroys, looks};
use super::sheet::Sheet;

const INSTALLS: &str = "fetches packages and runs their scripts";
const SCRIPTS: &str = "runs a script that the repository names";
const REMOVES: &str = "removes packages that others may depend on";
const PUBLISHES: &str = "publishes what others get, or takes it back";

const NPM_LOOKING: &str = "-g -a -l -p -r -D -P --all --json --depth: --long --parseable --global --prod --dev \
    --production --link --omit: --include: --silent --recursive --filter: --workspace: --workspaces -w: \
    --only-projects --no-color --loglevel: --pattern: --level: --package-lock-only";
const NPM_DANGERS: &[Danger] = &[
    ("--registry:@", Verdict::NeedsApproval, "asks another registry"),
    (
        "--prefix: --dir: -C: --cwd: --userconfig:< --globalconfig:< --script-shell:! --node-options: --git:!",
        Verdict::NeedsApproval,
        "uses other settings, which can run commands",
    ),
];

/// npm and its likes.
pub(super) const NPM: Verbs = Verbs {
    names: "npm, pnpm, yarn, bun, cnpm, tnpm",
    before: looks(
        "npm",
        "-v -h --version --help -s --silent --no-color -w: --workspace: --filter: -F: -r \
        --recursive --loglevel: -g --global --ws --workspaces",
        Operands::Text,
    )
    .dangers(NPM_DANGERS)
    .then(|_, sheet| {
        if sheet.invocation.program == "yarn" {
            sheet.asks("may be the program that the repository brings along for it");
        }
    }),
    common: "",
    rows: &[&[
        looks(
            "ls, list, ll, la, why, explain, root, prefix, bin, help, config get, config list, config ls, query, \
            fund, licenses, get",
            NPM_LOOKING,
            Operands::Text,
        )
        .dangers(NPM_DANGERS),
        looks(
            "outdated, view, info, show, v, search, ping, whoami, doctor, audit, owner ls, dist-tag ls, access \
            list, team ls, pm ls, npm audit, npm \
            info",
            NPM_LOOKING,
            Operands::Text,
        )
        .dangers(NPM_DANGERS)
        .net()
        .then(|parsed, sheet| {
            if parsed.known().next() == Some("fix") {
                sheet.asks(INSTALLS);
            }
        }),
        asks(
            "install, i, in, add, ci, clean-install, install-test, it, install-ci-test, update, up, upgrade, \
            dedupe, rebuild, link, ln, audit fix, import, fetch, patch, patch-commit, prune, shrinkwrap, pm, \
            workspaces focus, plugin, set, set version, self-update, env, unlink, store, cache, cache add, cache \
            verify, set-script, setup",
            INSTALLS,
        )
        .net(),
        asks(
            "run, run-script, rum, urn, test, t, tst, start, stop, restart, build, dev, serve, lint, format, watch, \
            preview, deploy, workspace, workspaces, workspaces foreach, workspaces run, version, pack, init, create, \
            explore, edit, repo, docs, bugs, home, node, node-gyp, exe, recursive, completion, bun",
            SCRIPTS,
        ),
        asks("exec, x, dlx", "fetches and runs a program")
            .net()
            .options(
                "+ -c:! --call:! -p: --package: -y --yes \
            --no --workspace: -w: --silent --parallel -r --recursive --shell-mode *",
            )
            .operands(Operands::Here(0)),
        asks("uninstall, un, remove, rm, r", "removes packages from the project"),
        asks(
            "config, config set, config delete, config edit, c, login, logout, adduser, token, profile, hook",
            "changes settings, or who you are",
        )
        .net(),
        destroys(
            "publish, unpublish, deprecate, owner add, owner rm, owner, dist-tag, dist-tag add, dist-tag rm, \
            access, access grant, access revoke, access set, team, org, star, npm publish, npm tag add, \
            undeprecate",
            PUBLISHES,
        )
        .net(),
        destroys("cache clean, cache clear, store prune, cache rm", "deletes what was fetched before"),
    ]],
    // `yarn NAME` and `bun NAME` run the script of that name.
    else_: asks("", SCRIPTS).net(),
};

/// pip and its likes.
pub(super) const PIP: Verbs = Verbs {
    names: "pip, pip3, pipx, uv, poetry, pdm, hatch, rye, pipenv, flit, twine, pixi",
    before: looks(
        "pip",
        "-V -h -v -q --version --help --no-color --disable-pip-version-check --no-input --isolated",
        Operands::Text,
    )
    .dangers(&[(
        "--python: --proxy: --index-url:@ --cert:< --directory: --project: -C: --config-file:<",
        Verdict::NeedsApproval,
        "uses other settings",
    )]),
    common: "",
    rows: &[&[
        looks(
            "list, show, freeze, check, config list, config get, cache dir, cache info, cache list, inspect, \
            debug, help, env list, env info, pip list, pip show, pip freeze, pip check, pip tree, python list, \
            python find, tool list, tree, self version, self show, version, info",
            "-f: -v -l -o -u -q -a --format: --files --verbose --local --outdated --uptodate --user --path: \
                --not-required --all --json -n: -p: --tree --latest --depth: --no-dev --only: --with: --without: \
                --show-urls",
            Operands::Text,
        )
        .then(|_, sheet| {
            // These ask the project, whose plugins and settings may run.
            if matches!(sheet.invocation.program, "poetry" | "pdm" | "hatch" | "pipenv" | "uv" | "rye" | "pixi") {
                sheet.asks("reads the project by settings that may run code");
            }
        }),
        looks("search, index versions", "", Operands::Text).net(),
        asks(
            "install, download, wheel, add, sync, lock, update, upgrade, inject, ensurepath, create, build, \
            upgrade-all, reinstall, self update, pip install, pip sync, pip compile, tool install, tool upgrade, \
            python install, python pin, venv, init, new, export, config set, config, cache, env use, activate, \
            shell, env create, env update, hash, self, source, fetch",
            INSTALLS,
        )
        .net()
        .then(|parsed, sheet| {
            for word in parsed.known() {
                if word.contains("://") || word.starts_with("git+") {
                    sheet.host(&super::super::effects::Word::Known(word.to_owned()));
                }
            }
        }),
        asks("run, tool run, runpip, test, task, exec, script", SCRIPTS)
            .options("+ --with: -p: --python: --extra: --group: -n: --spec: --env-file:< *")
            .operands(Operands::Here(0))
            .net(),
        destroys(
            "uninstall, remove, uninstall-all, pip uninstall, tool uninstall, python uninstall, env remove, \
            cache purge, cache clean, cache clear, clean, cache prune, cache remove, prune",
            REMOVES,
        ),
        destroys("publish, upload, register", PUBLISHES).net(),
    ]],
    else_: asks("", "is no subcommand that is known").net(),
};

/// apt, dnf and their likes.
pub(super) const SYSTEM: Verbs = Verbs {
    names: "apt, apt-get, aptitude, dnf, yum, microdnf, tdnf, zypper, apk, brew, port, choco, scoop, winget, pkg, \
    pkg_add, xbps-install, emerge, eopkg, nala, urpmi",
    before: looks(
        "apt",
        "-q -v -h --version --help -y --yes --assume-yes --assumeyes --non-interactive -n",
        Operands::Text,
    )
    .dangers(&[(
        "-o: -c:< -C:< --config:< --root: --installroot: --repository: -R: --option:",
        Verdict::NeedsApproval,
        "uses other settings",
    )]),
    common: "",
    rows: &[&[
        looks(
            "list, show, search, policy, depends, rdepends, info, deps, uses, leaves, outdated, provides, \
            repoquery, repolist, check-update, history list, list-updates, if, se, lr, services list, desc, doctor, \
            whatprovides, pkgnames, changelog, showpkg, help, find, contents, dot, files, livecheck",
            "-a -v -q -i -e -u -l -1 -n --installed --upgradable --upgradeable --all-versions --manual-installed \
                --names-only --full --json? --versions --formula --cask --all --installed-only --verbose --tree \
                --include-build",
            Operands::Text,
        )
        .net(),
        asks(
            "install, add, update, upgrade, reinstall, build-dep, download, source, tap, bundle, fetch, makecache, \
            groupinstall, localinstall, in, up, dist-upgrade, full-upgrade, refresh, dup, link, pin, safe-upgrade, \
            selfupdate, switch, edit, create, build, test, mark, satisfy, upgrade-minimal, distro-sync, module, \
            config-manager, swap, run, connect, set, enable, override, remote-add, config",
            "installs packages on the machine, and runs their scripts",
        )
        .net()
        .dangers(&[(
            "--allow-downgrades --force-yes --allow-remove-essential --allow-unauthenticated --nodeps --force",
            Verdict::Destructive,
            "installs over what others depend on",
        )]),
        destroys(
            "remove, purge, autoremove, autopurge, erase, uninstall, del, rm, clean, autoclean, untap, unlink, \
            zap, groupremove, downgrade, history undo, history rollback, services stop, services start, services \
            restart, services run, cleanup, unpin, delete, disable, remove-orphans, undo, ar, rr, removerepo, \
            deselect, prune, system-upgrade",
            "removes or replaces what the machine depends on",
        ),
    ]],
    else_: asks("", "changes the machine's packages, or nobody can tell").net(),
};

/// The programs.
pub(super) const ROWS: &[Row] = &[
    custom("pacman, yay, paru", pacman),
    custom("dpkg, dpkg-query", |sheet| {
        lettered(
            sheet,
            &[
                "-l",
                "-L",
                "-s",
                "-S",
                "-p",
                "-W",
                "-c",
                "-I",
                "-f",
                "-V",
                "--list",
                "--listfiles",
                "--status",
                "--search",
                "--show",
                "--info",
                "--contents",
                "--print-architecture",
                "--get-selections",
                "--verify",
                "--version",
                "--compare-versions",
            ],
            &["-r", "-P", "--remove", "--purge", "--force-all", "--clear-selections", "--set-selections"],
        );
    }),
    custom("rpm", |sheet| {
        lettered(
            sheet,
            &[
                "-q",
                "-qa",
                "-qi",
                "-ql",
                "-qf",
                "-qR",
                "-V",
                "-Va",
                "--query",
                "--verify",
                "--version",
                "--showrc",
                "-qc",
                "-qd",
            ],
            &["-e", "--erase", "--nodeps", "--force", "--rebuilddb"],
        );
    }),
    looks("apt-cache, apt-file, dpkg-architecture, rpmspec", "*", Operands::Text).net(),
    asks(
        "apt-mark, apt-key, add-apt-repository, apt-add-repository, debconf-set-selections, rpmbuild, debuild, \
        dpkg-buildpackage, makepkg, alien, softwareupdate, installer, mas, fwupdmgr, do-release-upgrade, \
        unattended-upgrade, tasksel, nix-env, nix-build",
        "changes the machine's packages",
    )
    .net()
    .then(|parsed, sheet| {
        if parsed.known().any(|word| matches!(word, "gc" | "del" | "rollback" | "remove" | "delete-generations"))
            || parsed
                .foreign
                .iter()
                .any(|flag| matches!(flag.as_str(), "--uninstall" | "--delete-generations" | "--rollback"))
        {
            sheet.destroys(REMOVES);
        }
    }),
    destroys(
        "nix-collect-garbage, nix-store, nixos-install, debootstrap, deborphan",
        "deletes packages or makes systems",
    ),
    custom(
        "gem, bundle, bundler, composer, cpan, cpanm, luarocks, opam, cabal, stack, mix, rebar3, hex, nuget, dub, \
        nimble, shards, raco, juliaup, pub, dart, flutter, pod, carthage, mint, vcpkg, conan, spack, sdk, sdkman, nvm, \
        fnm, n, volta, corepack, rbenv, pyenv, goenv, jenv, tfenv, ghcup, rustup, dotnet, swift, xcode-select, xcodes, \
        ng, nx, turbo, lerna, rush, lein, clj, clojure, coursier, cs, helm-docs, krew, steampipe, tldr, deps, elan, \
        wasm-pack, cargo-binstall",
        languages,
    ),
];

fn pacman(sheet: &mut Sheet<'_>) {
    let words: Vec<&str> = sheet.args().iter().filter_map(known).collect();
    let plain = words.len() == sheet.args().len();
    let first = words.first().copied().unwrap_or_default();
    sheet.network();
    let looks = first.starts_with("-Q")
        || matches!(
            first,
            "-Ss" | "-Si" | "-Sii" | "-F" | "-Fs" | "-Fl" | "-V" | "--version" | "--query" | "-Sl" | "-Sg" | "-T"
        );
    if first.starts_with("-R")
        || words.contains(&"--remove")
        || first.starts_with("-Sc")
        || words.contains(&"--overwrite")
    {
        sheet.destroys(REMOVES);
    } else if !looks || !plain {
        sheet.asks(INSTALLS);
    }
}

/// Programs whose options say what they do.
fn lettered(sheet: &mut Sheet<'_>, looks: &[&str], destroys: &[&str]) {
    let words: Vec<&str> = sheet.args().iter().filter_map(known).collect();
    let plain = words.len() == sheet.args().len();
    if words.iter().any(|word| destroys.contains(word)) {
        sheet.destroys("removes or replaces what the machine depends on");
        return;
    }
    let options: Vec<&&str> = words.iter().filter(|word| word.starts_with('-')).collect();
    let fine = options.first().is_some_and(|first| looks.contains(first))
        && options.iter().all(|word| {
            looks.contains(word)
                || word.starts_with("--qf")
                || word.starts_with("--queryformat")
                || **word == "--last"
                || **word == "--showformat"
        });
    if !fine || !plain {
        sheet.asks("changes the machine's packages");
    }
}

/// Package managers and version managers of languages, by their first words.
fn languages(sheet: &mut Sheet<'_>) {
    let words: Vec<&str> = sheet.args().iter().filter_map(known).collect();
    let plain = words.len() == sheet.args().len();
    let verbs: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
    let verb = verbs.first().copied().unwrap_or_default();
    let pair = (verb, verbs.get(1).copied().unwrap_or_default());
    let publishes = ["push", "publish", "yank", "owner", "hex.publish", "upload", "nuget.push", "release", "deploy"];
    let removes = [
        "uninstall",
        "remove",
        "rm",
        "cleanup",
        "purge",
        "cache-clear",
        "clean",
        "reset",
        "prune",
        "uninstall-all",
        "delete",
        "ecto.drop",
        "ecto.reset",
    ];
    // Of these programs it is sure that a verb looks and that the project has no say in it.
    let looks: &[(&str, &str)] = match sheet.invocation.program {
        "gem" => &[
            ("list", ""),
            ("search", ""),
            ("info", ""),
            ("env", ""),
            ("environment", ""),
            ("which", ""),
            ("contents", ""),
            ("outdated", ""),
        ],
        "rustup" => &[
            ("show", ""),
            ("show", "active-toolchain"),
            ("toolchain", "list"),
            ("target", "list"),
            ("component", "list"),
            ("which", ""),
            ("check", ""),
        ],
        "nvm" | "fnm" | "volta" | "pyenv" | "rbenv" => &[
            ("ls", ""),
            ("list", ""),
            ("current", ""),
            ("versions", ""),
            ("version", ""),
            ("which", ""),
            ("ls-remote", ""),
            ("where", ""),
        ],
        "luarocks" | "opam" | "vcpkg" => &[("list", ""), ("show", ""), ("search", ""), ("switch", "list")],
        _ => &[],
    };
    let fine = plain
        && looks.iter().any(|(first, second)| {
            *first == pair.0 && (*second == pair.1 || second.is_empty() && !matches!(pair.0, "show" | "toolchain"))
        })
        && words.iter().all(|word| {
            !word.starts_with('-')
                || matches!(*word, "--installed" | "-v" | "-l" | "--local" | "--remote" | "-a" | "--all" | "-q")
        });
    if publishes.contains(&verb)
        || pair == ("nuget", "push")
        || pair == ("nuget", "delete")
        || pair == ("trunk", "push")
    {
        sheet.network();
        sheet.destroys(PUBLISHES);
    } else if removes.contains(&verb) || removes.contains(&pair.1) || pair == ("self", "uninstall") {
        sheet.destroys(REMOVES);
    } else if !fine {
        sheet.network();
        sheet.asks("fetches packages, or runs what the repository's files say");
    }
}
