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
    /// What the settings leave out, relative to the workspace folder.
    always: Option<Gitignore>,
    types: Option<Types>,
}

/// What a filter is made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Globs of which one must fit the file or a folder it is in. None: all do. One that begins with `!` is one of
    /// `exclude` without it, wherever it stands; a name that begins so is given as `\!`.
    pub include: Vec<String>,
    /// Globs of which none may. One that begins with `!` takes back what those before it leave out, as in `.gitignore`.
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
        let (mut include, mut exclude) = (Vec::new(), wanted.exclude.clone());
        for glob in &wanted.include {
            if glob.split('/').any(|part| part == "..") {
                let message = format!("{glob:?} has `..` in it, which no glob fits; give the folder as `path`.");
                return Err(Refusal::new(RefusalKind::InvalidArguments, message));
            }
            match glob.strip_prefix('!') {
                // A second mark is a part of the name.
                Some(out) if out.starts_with('!') => exclude.push(format!("\\{out}")),
                Some(out) => exclude.push(out.to_owned()),
                None => include.push(glob.clone()),
            }
        }
        Ok(Filter {
            include: globs(&include, wanted.any_case)?,
            exclude: globs(&exclude, wanted.any_case)?,
            always: None,
            types,
        })
    }

    /// The same, less what these globs fit, which are relative to the workspace folder and not to the folder searched.
    pub fn without(self, globs_of_settings: &[String]) -> Result<Filter, Refusal> {
        Ok(Filter { always: globs(globs_of_settings, false)?, ..self })
    }

    /// Whether a file fits, by its path relative to the folder that is searched, which is `under` in its workspace folder.
    pub fn fits(&self, under: &Path, path: &Path) -> bool {
        let named = |globs: &Gitignore| globs.matched_path_or_any_parents(path, false).is_ignore();
        self.include.as_ref().is_none_or(named)
            && !self.exclude.as_ref().is_some_and(named)
            && self.types.as_ref().is_none_or(|types| types.matched(path, false).is_whitelist())
            && !self.always.as_ref().is_some_and(|globs| left_out(globs, under, path))
    }

    /// Whether nothing in a folder can fit, by its relative path.
    pub fn leaves_out(&self, under: &Path, folder: &Path) -> bool {
        self.exclude.as_ref().is_some_and(|globs| globs.matched(folder, true).is_ignore())
            || self.always.as_ref().is_some_and(|globs| globs.matched(under.join(folder), true).is_ignore())
    }

    /// Whether a document without a file fits: it has no path for a glob or a type to fit.
    pub fn fits_unnamed(&self) -> bool {
        self.include.is_none() && self.types.is_none()
    }

    /// Whether all files fit.
    pub fn is_all(&self) -> bool {
        self.include.is_none() && self.exclude.is_none() && self.always.is_none() && self.types.is_none()
    }
}

/// Whether globs leave out a file or a folder that it is in. The folder that is searched was named, so that it and those
/// above it do not count.
fn left_out(globs: &Gitignore, under: &Path, path: &Path) -> bool {
    let parts = path.ancestors().take_while(|part| !part.as_os_str().is_empty()).enumerate();
    let mut said = parts.map(|(above, part)| globs.matched(under.join(part), above > 0));
    said.find(|said| !said.is_none()).is_some_and(|said| said.is_ignore())
}

/// The globs with those that begin with the path of a folder made relative to it.
pub(super) fn relative<'a>(globs: &[String], folders: &(impl Iterator<Item = &'a Path> + Clone)) -> Vec<String> {
    let shorter = |glob: &String| {
        let (mark, bare) = glob.strip_prefix('!').map_or(("", glob.as_str()), |bare| ("!", bare));
        let rest = folders.clone().find_map(|folder| bare.strip_prefix(folder.to_str()?)?.strip_prefix('/'));
        rest.map_or_else(|| glob.clone(), |rest| format!("{mark}/{rest}"))
    };
    globs.iter().map(shorter).collect()
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
        let (back, bare) = glob.strip_prefix('!').map_or(("", glob.as_str()), |bare| ("!", bare));
        let trimmed = bare.strip_prefix("./").map_or_else(|| bare.to_owned(), |rest| format!("/{rest}"));
        if trimmed.trim().is_empty() {
            return Err(wrong(glob, "it is empty"));
        }
        // `.gitignore` takes a bracket without an end for itself; here it is more likely a slip.
        globset::GlobBuilder::new(bare)
            .literal_separator(true)
            .build()
            .map_err(|error| wrong(glob, &error.kind().to_string()))?;
        // Where `.gitignore` would see a comment, a name is meant.
        let line =
            if trimmed.starts_with(['!', '#']) { format!("{back}\\{trimmed}") } else { format!("{back}{trimmed}") };
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
            assert_eq!(filter.fits(Path::new(""), Path::new(path)), fits, "include {glob} {path}");
            let filter = Filter::new(&Wanted { exclude: vec![glob.into()], ..Wanted::default() }).unwrap();
            assert_eq!(filter.fits(Path::new(""), Path::new(path)), !fits, "exclude {glob} {path}");
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
        check("\\!a", "!a", true);
        check("\\!a", "a", false);
        check("#a", "#a", true);
        check("A.rs", "a.rs", false);
        check("[ab].c", "x/b.c", true);
        check("-x*", "-x1", true);
    }

    #[test]
    fn a_glob_with_an_exclamation_mark_leaves_out() {
        fn check(include: &[&str], exclude: &[&str], fitting: &[&str]) {
            let owned = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect();
            let wanted = Wanted { include: owned(include), exclude: owned(exclude), ..Wanted::default() };
            let filter = Filter::new(&wanted).unwrap();
            let all = ["a.py", "m.py", "m.rs", "sub/m.py", "!x", "gen/a.rs"];
            let found: Vec<&str> = all.into_iter().filter(|path| filter.fits(Path::new(""), Path::new(path))).collect();
            assert_eq!(found, fitting, "{include:?} {exclude:?}");
        }
        check(&["!m.py"], &[], &["a.py", "m.rs", "!x", "gen/a.rs"]);
        check(&["*.py", "!m.py"], &[], &["a.py"]);
        check(&["!m.py", "*.py"], &[], &["a.py"]);
        check(&["!./m.py", "*.py"], &[], &["a.py", "sub/m.py"]);
        check(&["!gen/", "!*.py"], &[], &["m.rs", "!x"]);
        check(&["!!x", "!*.py"], &[], &["m.rs", "gen/a.rs"]);
        check(&["\\!x"], &[], &["!x"]);
        check(&["!\\!x", "!*.rs"], &[], &["a.py", "m.py", "sub/m.py"]);
        check(&[], &["*.py", "!m.py"], &["m.py", "m.rs", "sub/m.py", "!x", "gen/a.rs"]);
        for empty in ["!", "! "] {
            let wanted = Wanted { include: vec![empty.into()], ..Wanted::default() };
            assert!(Filter::new(&wanted).unwrap_err().message.contains("it is empty"));
        }
    }

    #[test]
    fn case_can_be_set_aside_and_types_be_named() {
        let wanted = Wanted { include: vec!["*.RS".into()], any_case: true, ..Wanted::default() };
        assert!(Filter::new(&wanted).unwrap().fits(Path::new(""), Path::new("a.rs")));
        for (kind, path, fits) in [
            ("rust", "src/a.rs", true),
            ("rs", "a.rs", true),
            (".py", "a.py", true),
            ("rust", "a.py", false),
            ("cpp", "a.hpp", true),
        ] {
            let filter = Filter::new(&Wanted { kind: Some(kind.into()), ..Wanted::default() }).unwrap();
            assert_eq!(filter.fits(Path::new(""), Path::new(path)), fits, "{kind} {path}");
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
