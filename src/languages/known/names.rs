//! Languages by the protocol's names. Pure.

/// The name under which the protocol knows a language: some editors have names of their own.
pub fn language(id: &str) -> &str {
    match id {
        "sh" | "bash" | "zsh" => "shellscript",
        "c++" => "cpp",
        "objc" => "objective-c",
        "objcpp" => "objective-cpp",
        "cuda" => "cuda-cpp",
        "cs" => "csharp",
        "javascript.jsx" => "javascriptreact",
        "tsx" | "typescript.tsx" => "typescriptreact",
        "json5" => "jsonc",
        "eruby" => "erb",
        other => other,
    }
}

/// The language of a file that no editor has open, by its name.
pub fn language_of(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name {
        "go.mod" => return Some("gomod"),
        "go.work" => return Some("gowork"),
        "tsconfig.json" | "jsconfig.json" | ".eslintrc" | ".eslintrc.json" => return Some("jsonc"),
        ".bashrc" | ".bash_profile" | ".profile" => return Some("shellscript"),
        "Dockerfile" | "Containerfile" => return Some("dockerfile"),
        "CMakeLists.txt" => return Some("cmake"),
        "Gemfile" | "Rakefile" => return Some("ruby"),
        "Cargo.lock" => return Some("toml"),
        _ => {}
    }
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension {
        "py" | "pyi" | "pyw" => "python",
        "js" | "mjs" | "cjs" => "javascript",
        "jsx" => "javascriptreact",
        "ts" | "mts" | "cts" => "typescript",
        "tsx" => "typescriptreact",
        "c" => "c",
        "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" | "hxx" | "c++" | "ipp" | "inl" => "cpp",
        "m" => "objective-c",
        "mm" => "objective-cpp",
        "cu" | "cuh" => "cuda-cpp",
        "rs" => "rust",
        "go" => "go",
        "json" => "json",
        "jsonc" | "json5" => "jsonc",
        "sh" | "bash" => "shellscript",
        "html" | "htm" => "html",
        "css" => "css",
        "scss" => "scss",
        "less" => "less",
        "yaml" | "yml" => "yaml",
        "toml" => "toml",
        "md" | "markdown" => "markdown",
        "lua" => "lua",
        "zig" => "zig",
        "tf" => "terraform",
        "tfvars" => "terraform-vars",
        "svelte" => "svelte",
        "astro" => "astro",
        "ex" | "exs" => "elixir",
        "heex" => "heex",
        "erl" | "hrl" => "erlang",
        "gleam" => "gleam",
        "hs" => "haskell",
        "ml" => "ocaml",
        "mli" => "ocaml.interface",
        "kt" | "kts" => "kotlin",
        "java" => "java",
        "scala" | "sbt" => "scala",
        "clj" | "cljs" | "cljc" => "clojure",
        "rb" => "ruby",
        "erb" => "erb",
        "php" => "php",
        "cs" => "csharp",
        "fs" | "fsi" | "fsx" => "fsharp",
        "dart" => "dart",
        "nix" => "nix",
        "tex" => "latex",
        "bib" => "bibtex",
        "swift" => "swift",
        "elm" => "elm",
        "cmake" => "cmake",
        "graphql" | "gql" => "graphql",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_of_files() {
        for (path, id) in [
            ("/a/b.py", Some("python")),
            ("x.d.ts", Some("typescript")),
            ("/a.dir/Makefile", None),
            ("/p/tsconfig.json", Some("jsonc")),
            ("/p/go.mod", Some("gomod")),
            ("/p/Dockerfile", Some("dockerfile")),
            ("/p/README.md", Some("markdown")),
            ("lib.rs", Some("rust")),
        ] {
            assert_eq!(language_of(path), id, "{path}");
        }
    }

    #[test]
    fn names_of_editors_are_the_protocols() {
        for (id, expected) in [("sh", "shellscript"), ("cs", "csharp"), ("rust", "rust"), ("eruby", "erb")] {
            assert_eq!(language(id), expected);
            assert_eq!(language(language(id)), expected, "{id}");
        }
    }
}
