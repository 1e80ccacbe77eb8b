//! Real source files to make cases from: the standard library of Python, npm's own sources, the crates we depend on.

use std::path::{Path, PathBuf};

/// Bytes that a file has at least and at most.
const SIZES: std::ops::RangeInclusive<usize> = 1_200..=60_000;
/// Characters of the longest line.
const LONGEST_LINE: usize = 300;
/// Files of one source; more are thinned out evenly.
const FILES: usize = 300;

/// What a file is written in, as far as edits of it differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// Blocks by indentation, `#` comments.
    Python,
    /// Braces, `//` comments, parentheses about conditions.
    JavaScript,
    /// Braces, `//` comments.
    Rust,
}

impl Language {
    fn of(path: &Path) -> Option<Language> {
        match path.extension()?.to_str()? {
            "py" => Some(Language::Python),
            "js" | "mjs" | "cjs" | "ts" => Some(Language::JavaScript),
            "rs" => Some(Language::Rust),
            _ => None,
        }
    }

    /// What begins a comment to the end of the line.
    pub(super) fn comment(self) -> &'static str {
        if self == Language::Python { "#" } else { "//" }
    }
}

/// One file.
#[derive(Debug, Clone)]
pub(super) struct File {
    /// A name for people, the same on every machine.
    pub(super) name: String,
    /// What it is written in.
    pub(super) language: Language,
    /// Its lines, without their ends, which are all LF.
    pub(super) lines: Vec<String>,
    /// All of it without any white space.
    pub(super) squeezed: String,
}

impl File {
    /// A file of a text; `None` if it is of no use (CR, BOM, NUL, too small, too large, too long a line, no end).
    pub(super) fn of(name: String, language: Language, text: &str) -> Option<File> {
        let odd = |c: char| c == '\r' || c == '\u{feff}' || c == '\0' || c == '\u{c}' || c == '\u{b}';
        if !SIZES.contains(&text.len()) || !text.ends_with('\n') || text.contains(odd) {
            return None;
        }
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if lines.iter().any(|line| line.chars().count() > LONGEST_LINE) {
            return None;
        }
        Some(File { name, language, squeezed: squeeze(text), lines })
    }

    /// The columns of one step of indentation: the smallest that many lines have; `None` if there are tabs.
    pub(super) fn unit(&self) -> Option<usize> {
        if self.lines.iter().any(|line| line.trim_start_matches(' ').starts_with('\t')) {
            return None;
        }
        let depths: Vec<usize> =
            self.lines.iter().map(|line| line.len() - line.trim_start().len()).filter(|depth| *depth > 0).collect();
        [2, 4, 8].into_iter().find(|unit| {
            let at = depths.iter().filter(|depth| *depth == unit).count();
            at * 12 > depths.len() && at > 1
        })
    }
}

/// A text without its white space.
pub(super) fn squeeze(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// The files there are, and what was found where, for people.
#[derive(Debug, Default)]
pub(super) struct Corpus {
    /// The files, in a fixed order.
    pub(super) files: Vec<File>,
    /// A line on each source.
    pub(super) notes: Vec<String>,
}

impl Corpus {
    /// Adds the files of a folder, those below it too, under a name.
    pub(super) fn add(&mut self, name: &str, folders: &[PathBuf]) {
        let mut files = Vec::new();
        for folder in folders {
            let base = folder.parent().unwrap_or(folder);
            for path in below(folder) {
                let Some(language) = Language::of(&path) else { continue };
                let Some(text) = read(&path) else { continue };
                let inside = path.strip_prefix(base).unwrap_or(&path).display();
                files.extend(File::of(format!("{name}:{inside}"), language, &text));
            }
        }
        if files.is_empty() {
            self.notes.push(format!("{name}: absent"));
            return;
        }
        let all = files.len();
        let stride = all.div_ceil(FILES);
        let kept: Vec<File> = files.into_iter().step_by(stride).collect();
        self.notes.push(format!("{name}: {} of {all} files", kept.len()));
        self.files.extend(kept);
    }
}

#[expect(clippy::disallowed_methods, reason = "a bench reads its corpus itself")]
fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// The files below a folder, sorted.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(folder) = todo.pop() {
        let Ok(entries) = folder.read_dir() else { continue };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() && !["site-packages", "__pycache__", "target"].iter().any(|name| path.ends_with(name)) {
                todo.push(path);
            } else if kind.is_file() {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
