//! Which files a search is about: globs to include and exclude, and types. Pure.

use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::types::{Types, TypesBuilder};

use crate::workspace::{Refusal, RefusalKind};

/// Globs and a type that a file must fit. The default fits all.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    include: Option<Gitignore>,
    exclude: Option<Gitignore>,
    types: Option<Types>,
}

/// What a filter is made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Globs of which one must fit the file or a folder it is in. None: all do.
    pub include: Vec<String>,
    /// Globs of which none may.
    pub exclude: Vec<String>,
    /// The name of a type of files: `rust`, `py`, `ts`.
    pub kind: Option<String>,
    /// Whether case makes no difference in globs.
    pub any_case: bool,
}

/// At most so many types are offered where one is not known.
const MAX_HINTS: usize = 5;

impl Filter {
    /// A refusal tells which glob or type is wrong.
    pub fn new(wanted: &Wanted) -> Result<Filter, Refusal> {
        let types = match &wanted.kind {
            None => None,
            Some(kind) => Some(types(kind)?),
        };
        Ok(Filter {
            include: globs(&wanted.include, wanted.any_case)?,
            exclude: globs(&wanted.exclude, wanted.any_case)?,
            types,
        })
    }

    /// Whether a file fits, by its path relative to the folder that is searched.
    pub fn fits(&self, path: &Path) -> bool {
        let named = |globs: &Gitignore| globs.matched_path_or_any_parents(path, false).is_ignore();
        self.include.as_ref().is_none_or(named)
            && !self.exclude.as_ref().is_some_and(named)
            && self.types.as_ref().is_none_or(|types| types.matched(path, false).is_whitelist())
    }

    /// Whether nothing in a folder can fit, by its relative path.
    pub fn leaves_out(&self, folder: &Path) -> bool {
        self.exclude.as_ref().is_some_and(|globs| globs.matched(folder, true).is_ignore())
    }

    /// Whether a document without a file fits: it has no path for a glob or a type to fit.
    pub fn fits_unnamed(&self) -> bool {
        self.include.is_none() && self.types.is_none()
    }

    /// Whether all files fit.
    pub fn is_all(&self) -> bool {
        self.include.is_none() && self.exclude.is_none() && self.types.is_none()
    }
}

/// Globs as in `.gitignore`: without a slash for a name at any depth, with one for a path from the folder searched.
fn globs(globs: &[String], any_case: bool) -> Result<Option<Gitignore>, Refusal> {
    if globs.is_empty() {
        return Ok(None);
    }
    let wrong = |glob: &str, why: &str| {
        Refusal::new(
            RefusalKind::InvalidArguments,
            format!("{glob:?} is not a glob: {why}. For example: \"src/**/*.rs\", \"*.{{ts,tsx}}\"."),
        )
    };
    let mut builder = GitignoreBuilder::new("");
    builder.case_insensitive(any_case).map_err(|error| wrong(&globs.join(", "), &error.to_string()))?;
    for glob in globs {
        let trimmed = glob.strip_prefix("./").map_or_else(|| glob.clone(), |rest| format!("/{rest}"));
        if trimmed.trim().is_empty() {
            return Err(wrong(glob, "it is empty"));
        }
        // `.gitignore` takes a bracket without an end for itself; here it is more likely a slip.
        globset::GlobBuilder::new(glob)
            .literal_separator(true)
            .build()
            .map_err(|error| wrong(glob, &error.kind().to_string()))?;
        // Where `.gitignore` would see an exception or a comment, a name is meant.
        let line = if trimmed.starts_with(['!', '#']) { format!("\\{trimmed}") } else { trimmed };
        builder.add_line(None, &line).map_err(|error| {
            let why = match &error {
                ignore::Error::Glob { err, .. } => err.clone(),
                error => error.to_string(),
            };
            wrong(glob, &why)
        })?;
    }
    builder.build().map(Some).map_err(|error| wrong(&globs.join(", "), &error.to_string()))
}

fn types(kind: &str) -> Result<Types, Refusal> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    let wanted = kind.trim().trim_start_matches('.').to_lowercase();
    let definitions = builder.definitions();
    // Models name extensions where a type is asked for.
    let by_end = || {
        let end = format!("*.{wanted}");
        let having = definitions.iter().filter(|known| known.globs().contains(&end));
        having.min_by_key(|known| known.globs().len()).map(|known| known.name().to_owned())
    };
    let named = definitions.iter().find(|known| known.name() == wanted).map(|known| known.name().to_owned());
    let Some(name) = named.or_else(by_end) else {
        let mut near: Vec<(f32, &str)> = definitions
            .iter()
            .map(|known| (similar::TextDiff::from_chars(wanted.as_str(), known.name()).ratio(), known.name()))
            .filter(|(likeness, _)| *likeness >= 0.5)
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        let near: Vec<&str> = near.into_iter().take(MAX_HINTS).map(|(_, name)| name).collect();
        let hint = if near.is_empty() { String::new() } else { format!(" Near it: {}.", near.join(", ")) };
        let message = format!(
            "There is no file type {kind:?}.{hint} Types are named like \"rust\", \"py\", \"ts\", \"md\"; or give a glob as \
             `include`, for example \"*.rs\"."
        );
        return Err(Refusal::new(RefusalKind::InvalidArguments, message));
    };
    builder.select(&name);
    builder.build().map_err(|error| Refusal::new(RefusalKind::InvalidArguments, format!("{kind:?}: {error}.")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_fit_as_in_gitignore() {
        fn check(glob: &str, path: &str, fits: bool) {
            let filter = Filter::new(&Wanted { include: vec![glob.into()], ..Wanted::default() }).unwrap();
            assert_eq!(filter.fits(Path::new(path)), fits, "include {glob} {path}");
            let filter = Filter::new(&Wanted { exclude: vec![glob.into()], ..Wanted::default() }).unwrap();
            assert_eq!(filter.fits(Path::new(path)), !fits, "exclude {glob} {path}");
        }
        check("*.rs", "a.rs", true);
        check("*.rs", "src/deep/a.rs", true);
        check("*.rs", "a.rst", false);
        check("*.{ts,tsx}", "a/b.tsx", true);
        check("src/*.rs", "src/a.rs", true);
        check("src/*.rs", "src/deep/a.rs", false);
        check("src/*.rs", "x/src/a.rs", false);
        check("src/**/*.rs", "src/a.rs", true);
        check("src/**/*.rs", "src/b/c/a.rs", true);
        check("**/test/**/*.js", "a/test/b/c.js", true);
        check("a/**/b/**/c", "a/x/b/y/z/c", true);
        check("src", "src/a.rs", true);
        check("src/", "src/a/b.rs", true);
        check("src/", "src", false);
        check("./*.rs", "a.rs", true);
        check("./*.rs", "src/a.rs", false);
        check("/*.rs", "src/a.rs", false);
        check("!a", "!a", true);
        check("#a", "#a", true);
        check("A.rs", "a.rs", false);
        check("[ab].c", "x/b.c", true);
        check("-x*", "-x1", true);
    }

    #[test]
    fn case_can_be_set_aside_and_types_be_named() {
        let wanted = Wanted { include: vec!["*.RS".into()], any_case: true, ..Wanted::default() };
        assert!(Filter::new(&wanted).unwrap().fits(Path::new("a.rs")));
        for (kind, path, fits) in [
            ("rust", "src/a.rs", true),
            ("rs", "a.rs", true),
            (".py", "a.py", true),
            ("rust", "a.py", false),
            ("cpp", "a.hpp", true),
        ] {
            let filter = Filter::new(&Wanted { kind: Some(kind.into()), ..Wanted::default() }).unwrap();
            assert_eq!(filter.fits(Path::new(path)), fits, "{kind} {path}");
        }
    }

    #[test]
    fn what_is_wrong_is_told() {
        let glob = Wanted { include: vec!["a[".into()], ..Wanted::default() };
        expect_test::expect![[
            r#""a[" is not a glob: unclosed character class; missing ']'. For example: "src/**/*.rs", "*.{ts,tsx}"."#
        ]]
        .assert_eq(&Filter::new(&glob).unwrap_err().message);
        let kind = Wanted { kind: Some("rrust".into()), ..Wanted::default() };
        expect_test::expect![[r#"There is no file type "rrust". Near it: rust, rst, crystal, fut, usd. Types are named like "rust", "py", "ts", "md"; or give a glob as `include`, for example "*.rs"."#]]
            .assert_eq(&Filter::new(&kind).unwrap_err().message);
    }
}
