//! Builds, tests and checks: they run what the repository says.

use super::super::effects::Verdict;
use super::rows::{Operands, Row, Verbs, asks, destroys, looks};

const BUILDS: &str = "builds by the repository's own rules, which can run anything";
const TESTS: &str = "runs the repository's tests";
const CHECKS: &str = "runs by the repository's settings, which can load code";
const COMPILES: &str = "writes what it compiles over whatever is there";
const CARGO: &str = "compiles and runs the repository's build scripts and macros";
const CONFIGURED: &str = "asks rustc by the repository's settings, which can name another program for it";

/// cargo.
pub(super) const CARGO_VERBS: Verbs = Verbs {
    names: "cargo, cross",
    before: looks(
        "cargo",
        "-V -v -q -h --version --list --help --verbose --quiet --color: --offline --frozen --locked",
        Operands::Text,
    )
    .dangers(&[(
        "--config: -C: -Z: --explain:",
        Verdict::NeedsApproval,
        "uses other settings, which can name programs to run",
    )]),
    common: "",
    rows: &[&[
        looks(
            "help, locate-project, pkgid, version, read-manifest",
            "-q -v --message-format: --workspace --manifest-path:<",
            Operands::Text,
        ),
        looks("search, info", "--limit: -q -v --registry:", Operands::Text).net().dangers(&[(
            "--index:@",
            Verdict::NeedsApproval,
            "asks another registry",
        )]),
        asks(
            "metadata, tree, verify-project, config, outdated, audit, deny, machete, udeps, license, geiger, \
            about",
            CONFIGURED,
        )
        .net(),
        asks(
            "build, b, check, c, run, r, test, t, bench, doc, d, rustc, rustdoc, clippy, fix, nextest, nextest run, \
            watch, miri, llvm-cov, tarpaulin, expand, leptos, tauri, ndk, make, xtask, install, package, vendor, \
            insta, criterion, flamegraph, bloat, asm, hack, mutants, semver-checks, component, wasi, apk, bootimage, \
            embed, flash, dist",
            CARGO,
        )
        .net(),
        asks("fmt", "rewrites the repository's files, by its settings"),
        asks(
            "add, update, remove, rm, generate-lockfile, fetch, init, new, login, logout, set-version, upgrade, \
            sort",
            "changes the project or fetches packages",
        )
        .net(),
        destroys("clean", "deletes everything that was built"),
        destroys("publish, yank, owner, release, unpublish", "publishes what others get, or takes it back").net(),
        destroys("uninstall", "removes installed programs"),
    ]],
    else_: asks("", "runs a program of that name, or an alias that the repository may have set"),
};

/// go.
pub(super) const GO: Verbs = Verbs {
    names: "go",
    before: looks("go", "-h --help", Operands::Text),
    common: "-C:",
    rows: &[&[
        looks("version, help, doc", "-m -v -json -all -u -c -src -short -cmd -ex", Operands::Text),
        looks("env", "-json -changed", Operands::Text).dangers(&[(
            "-w -u",
            Verdict::NeedsApproval,
            "changes settings, of which some run commands",
        )]),
        looks(
            "list",
            "-m -f: -json? -e -deps -test -find -u -versions -mod: -tags: -retracted -reuse:<",
            Operands::Text,
        )
        .net()
        .dangers(&[(
            "-export -compiled -toolexec:! -exec:! -overlay:< -modfile:< -ldflags: -gcflags:",
            Verdict::NeedsApproval,
            "compiles, which can run programs",
        )]),
        looks("mod graph, mod why, mod verify", "-m -vendor -go: -x", Operands::Text).net(),
        asks(
            "build, run, test, generate, install, vet, tool, fix, get, mod, mod tidy, mod download, mod init, mod \
            edit, mod vendor, work, work use, work sync, work init, work edit, work vendor, telemetry, \
            bug",
            "fetches, compiles or runs what the repository says",
        )
        .net()
        .options(
            "* -toolexec:! -exec:! -o:> -vettool:! -tags: -run: -bench: -count: -timeout: -coverprofile:> \
                -cpuprofile:> -memprofile:>",
        ),
        asks("fmt", "rewrites the repository's files"),
        destroys("clean", "deletes what was built or fetched"),
    ]],
    else_: asks("", "is no subcommand that is known"),
};

/// The programs.
pub(super) const ROWS: &[Row] = &[
    asks(
        "make, gmake, bmake, remake, cmake, ctest, cpack, ninja, samu, meson, scons, waf, bazel, bazelisk, buck, \
        buck2, pants, please, gn, gyp, autoreconf, autoconf, automake, aclocal, autoheader, libtoolize, configure, \
        qmake, xmake, premake5, tup, redo, gradle, gradlew, mvn, mvnw, ant, sbt, mill, leiningen, just, task, rake, \
        thor, invoke, nox, tox, grunt, gulp, webpack, rollup, vite, esbuild, parcel, tsup, swc, babel, next, nuxt, \
        astro, svelte-kit, gatsby, remix, vue-cli-service, react-scripts, storybook, hugo, jekyll, mkdocs, \
        sphinx-build, eleventy, docusaurus, xcodebuild, msbuild, nmake, devenv, trunk, mage, dune, ocamlbuild, zig, \
        nim, shake, latexmk, tectonic, quarto, pandoc, asciidoctor, doxygen, protoc, buf, flatc, thrift, swig, bison, \
        yacc, flex, lex, m4, gperf, xgettext, msgfmt, po4a, electron-builder, tauri, cordova, ionic, capacitor",
        BUILDS,
    )
    .options("* -o:> -j? -f:< -C: -n: -k: -D:")
    .dangers(&[("--eval:", Verdict::NeedsApproval, "runs what it is given")])
    .then(|parsed, sheet| {
        if parsed.known().any(|goal| matches!(goal, "clean" | "distclean" | "mrproper" | "clobber" | "uninstall")) {
            sheet.asks("deletes what was built");
        }
        if parsed.known().any(|goal| matches!(goal, "deploy" | "publish" | "release" | "upload")) {
            sheet.asks("may publish what others get");
        }
    }),
    asks(
        "pytest, py.test, nosetests, unittest, jest, vitest, mocha, ava, tap, jasmine, karma, cypress, playwright, \
        testcafe, rspec, minitest, cucumber, behave, robot, phpunit, pest, codecept, bats, shellspec, busted, prove, \
        gotestsum, ginkgo, cargo-nextest, hypothesis, locust, artillery, lit, c8, nyc, coverage, covr, stryker, \
        mutmut",
        TESTS,
    ),
    asks(
        "eslint, prettier, stylelint, biome, tsc, tsx, ts-node, standard, xo, oxlint, rome, dprint, mypy, pyright, \
        basedpyright, pylint, flake8, ruff, black, isort, autopep8, yapf, bandit, pyre, pytype, vulture, rubocop, \
        standardrb, sorbet, srb, steep, reek, brakeman, phpstan, psalm, phpcs, phpcbf, php-cs-fixer, golangci-lint, \
        staticcheck, revive, gosec, clang-tidy, clang-format, cppcheck, cpplint, include-what-you-use, scan-build, \
        ktlint, detekt, scalafmt, scalafix, spotless, checkstyle, spotbugs, pmd, swiftlint, swiftformat, \
        dartanalyzer, hlint, ormolu, fourmolu, stylish-haskell, credo, dialyzer, shfmt, taplo, yamllint, \
        markdownlint, markdownlint-cli2, vale, alex, write-good, textlint, codespell, typos, djlint, jsonlint, ajv, \
        spectral, redocly, semgrep, sonar-scanner, snyk, ts-prune, knip, depcheck, madge, size-limit, lint-staged, \
        commitlint, svgo, imagemin, stylua, luacheck, selene, nixfmt, nixpkgs-fmt, alejandra, rustfmt, buildifier, \
        perltidy, perlcritic, sqlfluff, jscpd, ctags, etags, gtags, cscope, cloc, tokei, scc",
        CHECKS,
    ),
    looks(
        "shellcheck",
        "-C? -e: -f: -i: -o: -s: -S: -P:< -W: -x -a --color? --exclude: --format: --include: \
        --enable: --shell: --severity: --external-sources --source-path:< --check-sourced --norc --list-optional \
        --wiki-link-count: --version",
        Operands::Reads,
    ),
    looks("gofmt, goimports", "-d -e -l -s -r: -local:", Operands::Reads).dangers(&[
        ("-w", Verdict::NeedsApproval, "rewrites files in place"),
        ("-cpuprofile:>", Verdict::NeedsApproval, "overwrites a file"),
    ]),
    asks(
        "gcc, g++, cc, c++, clang, clang++, cpp, tcc, icc, icx, nvcc, emcc, em++, gfortran, ifort, gnat, gdc, ldc2, \
        dmd, rustc, rustdoc, ghc, ghci, ocamlc, ocamlopt, ocamlfind, javac, kotlinc, scalac, groovyc, csc, mcs, fsc, \
        swiftc, valac, fpc, nasm, yasm, as, ld, lld, gold, mold, ranlib, strip, objcopy, windres, dsymutil, \
        install_name_tool, codesign, patchelf, wasm-ld, wasm2wat, wat2wasm, wasm-opt, erlc, elixirc, coffee, sass, \
        sassc, lessc, stylus, elm, purs, spago, gleam, solc, forge, hardhat, truffle, anchor, moonc, haxe, rescript, \
        bsc, tex, latex, pdflatex, xelatex, lualatex, bibtex, biber, dot, neato, plantuml, mmdc, ffmpeg, ffprobe, sox, \
        lame, convert, magick, mogrify, identify, gs, ps2pdf, pdftotext, pdftk, qpdf, exiftool, inkscape, \
        rsvg-convert, cwebp, optipng, pngquant, jpegoptim, gifsicle, tesseract, img2pdf, wkhtmltopdf, libreoffice, \
        soffice, unoconv, qrencode, zbarimg",
        COMPILES,
    )
    .options("* -o:> -MF:> -wrapper:! -specs:< -T:< -x: -I: -L: -l: -D: -include:<")
    .dangers(&[
        (
            "-fplugin? -fplugin: -Xclang: -load: -B: -fpass-plugin?",
            Verdict::NeedsApproval,
            "loads a plugin, or runs other programs for its parts",
        ),
        ("-shell-escape --shell-escape -enable-write18", Verdict::NeedsApproval, "lets the document run commands"),
    ])
    .operands(Operands::Reads),
];
