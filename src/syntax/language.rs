//! Which grammar a document is parsed with, by its language id or the name of its file.

/// A language the embedded check has a grammar for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Language {
    /// Bash, and what it has in common with other shells.
    Bash,
    /// C.
    C,
    /// C++.
    Cpp,
    /// Go.
    Go,
    /// JavaScript, JSX included.
    JavaScript,
    /// JSON.
    Json,
    /// JSON with comments and trailing commas, as editors and compilers take it.
    JsonWithComments,
    /// Python.
    Python,
    /// Rust.
    Rust,
    /// TOML.
    Toml,
    /// TypeScript with JSX.
    Tsx,
    /// TypeScript.
    TypeScript,
}

/// Extensions, without the dot and in lower case.
const EXTENSIONS: &[(&str, Language)] = &[
    ("bash", Language::Bash),
    ("bats", Language::Bash),
    ("c", Language::C),
    ("cc", Language::Cpp),
    ("cjs", Language::JavaScript),
    ("code-workspace", Language::JsonWithComments),
    ("cpp", Language::Cpp),
    ("cppm", Language::Cpp),
    ("cts", Language::TypeScript),
    ("cxx", Language::Cpp),
    ("ebuild", Language::Bash),
    ("geojson", Language::Json),
    ("go", Language::Go),
    // C++'s grammar takes nearly all of C; C's takes little of C++.
    ("h", Language::Cpp),
    ("hh", Language::Cpp),
    ("hpp", Language::Cpp),
    ("hxx", Language::Cpp),
    ("inl", Language::Cpp),
    ("ipp", Language::Cpp),
    ("ixx", Language::Cpp),
    ("js", Language::JavaScript),
    ("json", Language::Json),
    ("jsonc", Language::JsonWithComments),
    ("jsx", Language::JavaScript),
    ("mjs", Language::JavaScript),
    ("mts", Language::TypeScript),
    ("py", Language::Python),
    ("pyi", Language::Python),
    ("pyw", Language::Python),
    ("rs", Language::Rust),
    ("sh", Language::Bash),
    ("toml", Language::Toml),
    ("ts", Language::TypeScript),
    ("tsx", Language::Tsx),
    ("webmanifest", Language::Json),
];

/// Names of files, in lower case, whose extension says nothing or something else.
const NAMES: &[(&str, Language)] = &[
    (".bash_aliases", Language::Bash),
    (".bash_login", Language::Bash),
    (".bash_logout", Language::Bash),
    (".bash_profile", Language::Bash),
    (".bashrc", Language::Bash),
    (".envrc", Language::Bash),
    (".profile", Language::Bash),
    ("apkbuild", Language::Bash),
    ("pkgbuild", Language::Bash),
    (".babelrc", Language::JsonWithComments),
    (".eslintrc", Language::JsonWithComments),
    (".eslintrc.json", Language::JsonWithComments),
    (".jshintrc", Language::JsonWithComments),
    (".swcrc", Language::JsonWithComments),
    ("api-extractor.json", Language::JsonWithComments),
    ("babel.config.json", Language::JsonWithComments),
    ("bun.lock", Language::JsonWithComments),
    ("composer.lock", Language::Json),
    ("devcontainer.json", Language::JsonWithComments),
    (".devcontainer.json", Language::JsonWithComments),
    ("flake.lock", Language::Json),
    ("pipfile.lock", Language::Json),
    ("cargo.lock", Language::Toml),
    ("gopkg.lock", Language::Toml),
    ("pdm.lock", Language::Toml),
    ("pipfile", Language::Toml),
    ("poetry.lock", Language::Toml),
    ("uv.lock", Language::Toml),
    ("sconscript", Language::Python),
    ("sconstruct", Language::Python),
    ("wscript", Language::Python),
];

impl Language {
    /// The language of a document: by the editor's language id, unless that is absent or says nothing ("plaintext"), by
    /// its path or URI otherwise. `None`: there is no grammar for it.
    ///
    /// An id that is not known here is believed too: a template that ends in `.json` is no JSON.
    pub fn of(language_id: Option<&str>, path: &str) -> Option<Language> {
        match language_id.map(str::trim).filter(|id| !matches!(*id, "" | "plaintext" | "text" | "txt")) {
            None => Language::of_path(path),
            Some(id) => match (Language::of_id(id), Language::of_path(path)) {
                // Editors tell the two apart less often than the name does.
                (Some(Language::Json), Some(Language::JsonWithComments)) => Some(Language::JsonWithComments),
                (language, _) => language,
            },
        }
    }

    /// The language of an editor's language id (VS Code's, Neovim's, Emacs' and the protocol's names).
    pub fn of_id(id: &str) -> Option<Language> {
        Some(match id.to_ascii_lowercase().as_str() {
            "shellscript" | "sh" | "bash" => Language::Bash,
            "c" => Language::C,
            "cpp" | "c++" => Language::Cpp,
            "go" => Language::Go,
            "javascript" | "javascriptreact" | "javascript.jsx" | "js" | "jsx" => Language::JavaScript,
            "json" => Language::Json,
            "jsonc" => Language::JsonWithComments,
            "python" => Language::Python,
            "rust" => Language::Rust,
            "toml" => Language::Toml,
            "typescriptreact" | "typescript.tsx" | "tsx" => Language::Tsx,
            "typescript" | "ts" => Language::TypeScript,
            _ => return None,
        })
    }

    /// The language of a path or URI, by the name of the file.
    pub fn of_path(path: &str) -> Option<Language> {
        let (folder, name) = path.rsplit_once(['/', '\\']).unwrap_or(("", path));
        let name = name.to_ascii_lowercase();
        let found = |table: &[(&str, Language)], wanted: &str| {
            table.iter().find(|(entry, _)| *entry == wanted).map(|&(_, language)| language)
        };
        if let Some(language) = found(NAMES, &name) {
            return Some(language);
        }
        let language = found(EXTENSIONS, name.rsplit_once('.')?.1)?;
        let commented = name.starts_with("tsconfig.")
            || name.starts_with("tsconfig-")
            || name.starts_with("jsconfig.")
            || [".vscode", ".zed", ".devcontainer"].iter().any(|dotted| folder.ends_with(dotted));
        Some(if language == Language::Json && commented { Language::JsonWithComments } else { language })
    }

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Language::Bash => "Bash",
            Language::C => "C",
            Language::Cpp => "C++",
            Language::Go => "Go",
            Language::JavaScript => "JavaScript",
            Language::Json => "JSON",
            Language::JsonWithComments => "JSON with comments",
            Language::Python => "Python",
            Language::Rust => "Rust",
            Language::Toml => "TOML",
            Language::Tsx => "TSX",
            Language::TypeScript => "TypeScript",
        }
    }

    /// Its grammar.
    pub(super) fn grammar(self) -> tree_sitter::Language {
        match self {
            Language::Bash => tree_sitter_bash::LANGUAGE.into(),
            Language::C => tree_sitter_c::LANGUAGE.into(),
            Language::Cpp => tree_sitter_cpp::LANGUAGE.into(),
            Language::Go => tree_sitter_go::LANGUAGE.into(),
            Language::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Language::Json | Language::JsonWithComments => tree_sitter_json::LANGUAGE.into(),
            Language::Python => tree_sitter_python::LANGUAGE.into(),
            Language::Rust => tree_sitter_rust::LANGUAGE.into(),
            Language::Toml => tree_sitter_toml_ng::LANGUAGE.into(),
            Language::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Language::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(id: Option<&str>, path: &str, language: Option<Language>) {
        assert_eq!(Language::of(id, path), language, "{id:?} {path}");
    }

    #[test]
    fn the_language_id_comes_first() {
        check(Some("python"), "a.txt", Some(Language::Python));
        check(Some("Rust"), "", Some(Language::Rust));
        check(Some("typescriptreact"), "a.ts", Some(Language::Tsx));
        check(Some("vue"), "a.ts", None);
        check(Some("jinja-json"), "a.json", None);
        check(Some("plaintext"), "a.json", Some(Language::Json));
        check(Some(""), "a.json", Some(Language::Json));
        check(Some("json"), "/x/tsconfig.json", Some(Language::JsonWithComments));
        check(Some("json"), "/x/package.json", Some(Language::Json));
        check(Some("jsonc"), "/x/package.json", Some(Language::JsonWithComments));
    }

    #[test]
    fn names_and_extensions() {
        for (path, language) in [
            ("src/main.rs", Language::Rust),
            ("file:///x/a%20b.py", Language::Python),
            ("C:\\x\\a.CPP", Language::Cpp),
            ("Cargo.lock", Language::Toml),
            ("Cargo.toml", Language::Toml),
            ("/root/.bashrc", Language::Bash),
            ("a.sh", Language::Bash),
            ("a.h", Language::Cpp),
            ("a.c", Language::C),
            ("a.mjs", Language::JavaScript),
            ("a.jsx", Language::JavaScript),
            ("a.d.ts", Language::TypeScript),
            ("a.tsx", Language::Tsx),
            ("a.go", Language::Go),
            ("a.json", Language::Json),
            ("a.jsonc", Language::JsonWithComments),
            ("tsconfig.base.json", Language::JsonWithComments),
            ("x/.vscode/settings.json", Language::JsonWithComments),
        ] {
            check(None, path, Some(language));
        }
        for path in ["", "a", "Makefile", "a.lock", "package-lock", "json", "a.rs/b", ".", "a."] {
            check(None, path, None);
        }
    }

    #[test]
    fn tables_have_no_entry_twice() {
        for table in [EXTENSIONS, NAMES] {
            for (index, (entry, _)) in table.iter().enumerate() {
                assert!(table[..index].iter().all(|(other, _)| other != entry), "{entry}");
                assert_eq!(*entry, entry.to_ascii_lowercase());
            }
        }
    }
}
