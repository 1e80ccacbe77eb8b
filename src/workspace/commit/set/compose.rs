//! Several changes, in the order in which they were asked for, as one change a file. Pure.

use std::collections::HashMap;
use std::sync::Arc;

use crate::text::{LineBreaks, Splice, Text, diff};
use crate::workspace::commit::{Fate, FileChange, Hunk, Rewrite, Rewritten};
use crate::workspace::paths::Key;
use crate::workspace::{Refusal, RefusalKind};

/// Composes changes that follow one another on one file, by whatever name they call it. Afterwards every file is in one
/// change; a name that one change moves away and another one makes anew is in both, in this order.
pub(in crate::workspace) fn compose(changes: &[FileChange]) -> Result<Vec<FileChange>, Refusal> {
    let mut composed: Vec<FileChange> = Vec::with_capacity(changes.len());
    // Which change brought forth the file that has a name by now; `None`: the name is free by now, by that change.
    let mut names: HashMap<Key, (usize, bool)> = HashMap::new();
    for change in changes {
        let key = &change.target.key;
        match names.get(key).copied() {
            Some((at, true)) => follow(&mut composed[at], change),
            Some((at, false)) if composed[at].fate == Fate::Deleted => {
                if change.fate != Fate::Stays {
                    return Err(gone(change));
                }
                // Deleted and made anew: the file stays, and has a new text.
                let first = composed[at].clone();
                if first.target.key == *key {
                    let rewrite = Arc::new(Anew(Arc::clone(&first.rewrite), Arc::clone(&change.rewrite)));
                    composed[at] = FileChange { rewrite, fate: Fate::Stays, ..first };
                } else {
                    names.insert(key.clone(), (composed.len(), true));
                    composed.push(change.clone());
                    continue;
                }
            }
            Some((_, false)) => {
                if change.fate != Fate::Stays {
                    return Err(gone(change));
                }
                names.insert(key.clone(), (composed.len(), true));
                composed.push(change.clone());
                continue;
            }
            None => {
                names.insert(key.clone(), (composed.len(), true));
                composed.push(change.clone());
            }
        }
        let (at, _) = names[key];
        match &change.fate {
            Fate::Stays => drop(names.insert(key.clone(), (at, true))),
            Fate::Deleted => drop(names.insert(key.clone(), (at, false))),
            Fate::Moved { to } if to.key == *key => {}
            Fate::Moved { to } => {
                if matches!(names.get(&to.key), Some((_, true))) {
                    return Err(Refusal::new(
                        RefusalKind::InvalidArguments,
                        format!(
                            "{} cannot be moved to {}: the same call puts another file there. Nothing was changed.",
                            change.target.shown, to.shown
                        ),
                    ));
                }
                names.insert(key.clone(), (at, false));
                names.insert(to.key.clone(), (at, true));
            }
        }
    }
    Ok(composed)
}

fn gone(change: &FileChange) -> Refusal {
    Refusal::new(
        RefusalKind::NotFound,
        format!(
            "{} is not there any more at that point: an earlier part of the same call moves or deletes it. Nothing was \
             changed.",
            change.target.shown
        ),
    )
}

/// Puts a change behind another one of the same file.
fn follow(first: &mut FileChange, then: &FileChange) {
    first.rewrite = Arc::new(Then(Arc::clone(&first.rewrite), Arc::clone(&then.rewrite)));
    match &then.fate {
        Fate::Stays => {}
        Fate::Deleted => first.fate = Fate::Deleted,
        Fate::Moved { to } if to.key == first.target.key => first.fate = Fate::Stays,
        Fate::Moved { .. } => first.fate = then.fate.clone(),
    }
}

/// One rewrite and then another, as one.
struct Then(Arc<dyn Rewrite>, Arc<dyn Rewrite>);

impl Rewrite for Then {
    fn executable(&self) -> Option<bool> {
        self.1.executable().or(self.0.executable())
    }

    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal> {
        let empty = Text::new("", LineBreaks::default());
        let first = self.0.rewrite(before)?;
        let between = before.unwrap_or(&empty).spliced(&first.splices);
        let then = self.1.rewrite(Some(&between))?;
        let after = between.spliced(&then.splices).to_string();
        let splices = match before {
            Some(before) => diff::splices(&before.to_string(), &after),
            None => vec![Splice { range: 0..0, text: after }],
        };
        let notes = first.notes.into_iter().chain(then.notes).collect();
        Ok(Rewritten { splices, hunks: hunks(first.hunks, then.hunks), notes })
    }
}

/// The places of two rewrites: those before both of the first text, and those after both of the last one.
fn hunks(mut first: Vec<Hunk>, mut then: Vec<Hunk>) -> Vec<Hunk> {
    let moved = |line: usize, less: usize, more: usize| (line + more).saturating_sub(less).max(1);
    let (firsts, thens) = (first.clone(), then.clone());
    for hunk in &mut first {
        let start = hunk.after.start;
        for later in thens.iter().filter(|later| later.before.start + later.before.count <= start) {
            hunk.after.start = moved(hunk.after.start, later.before.count, later.after.count);
        }
    }
    for hunk in &mut then {
        let start = hunk.before.start;
        for earlier in firsts.iter().filter(|earlier| earlier.after.start + earlier.after.count <= start) {
            hunk.before.start = moved(hunk.before.start, earlier.after.count, earlier.before.count);
        }
    }
    first.append(&mut then);
    first
}

/// A file that is deleted, if that may be, and made anew: what it holds gives way to the new text.
struct Anew(Arc<dyn Rewrite>, Arc<dyn Rewrite>);

impl Rewrite for Anew {
    fn executable(&self) -> Option<bool> {
        self.1.executable()
    }

    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal> {
        let Some(before) = before else {
            return Err(Refusal::new(RefusalKind::NotFound, "There is no such file to delete. Nothing was changed."));
        };
        self.0.rewrite(Some(before))?;
        let rewritten = self.1.rewrite(None)?;
        let text = rewritten.splices.into_iter().map(|splice| splice.text).collect();
        Ok(Rewritten { splices: vec![Splice { range: 0..before.len(), text }], ..rewritten })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::commit::tests::fake::{Replace, change};

    fn text(text: &str) -> Text {
        Text::new(text, LineBreaks::Lf)
    }

    /// A change of `old` to `new` in a file; a name behind it: it is moved there, or deleted (`-`).
    fn part((path, old, new, fate): (&str, &str, &str, &str)) -> FileChange {
        let mut part = change(path, Replace(old.into(), new.into()));
        part.fate = match fate {
            "" => Fate::Stays,
            "-" => Fate::Deleted,
            to => Fate::Moved { to: change(to, Replace(String::new(), String::new())).target },
        };
        part
    }

    fn told(change: &FileChange, before: Option<&str>) -> String {
        let name = |shown: &str| shown.rsplit('/').next().unwrap_or_default().to_owned();
        let after = change
            .rewrite
            .rewrite(before.map(text).as_ref())
            .map(|rewritten| before.map_or_else(|| text(""), text).spliced(&rewritten.splices).to_string());
        let fate = match &change.fate {
            Fate::Stays => String::new(),
            Fate::Deleted => " deleted".to_owned(),
            Fate::Moved { to } => format!(" -> {}", name(&to.shown)),
        };
        format!("{}{fate}: {}", name(&change.target.shown), after.unwrap_or_else(|refusal| refusal.message))
    }

    #[test]
    fn one_file_is_in_one_change() {
        type Part<'a> = (&'a str, &'a str, &'a str, &'a str);
        let check = |parts: &[Part<'_>], befores: &[Option<&str>], expected: &[&str]| {
            let parts: Vec<FileChange> = parts.iter().map(|part| self::part(*part)).collect();
            let composed = compose(&parts).unwrap();
            let told: Vec<String> =
                composed.iter().zip(befores).map(|(change, before)| told(change, *before)).collect();
            assert_eq!((told, composed.len()), (expected.iter().map(|&told| told.to_owned()).collect(), befores.len()));
        };
        let one = Some("one\n");
        check(&[("/a", "one", "two", ""), ("/a", "two", "three", "")], &[one], &["a: three\n"]);
        check(
            &[("/a", "one", "two", ""), ("/b", "one", "x", ""), ("/a", "two", "3", "")],
            &[one, one],
            &["a: 3\n", "b: x\n"],
        );
        check(&[("/a", "one", "two", "/b"), ("/b", "two", "three", "")], &[one], &["a -> b: three\n"]);
        check(&[("/a", "one", "two", "/b"), ("/b", "two", "3", "/c")], &[one], &["a -> c: 3\n"]);
        check(&[("/a", "one", "two", "/b"), ("/b", "two", "3", "/a")], &[one], &["a: 3\n"]);
        check(&[("/a", "", "new\n", ""), ("/a", "new", "newer", "")], &[None], &["a: newer\n"]);
        check(&[("/a", "one\n", "", "-"), ("/a", "", "new\n", "")], &[one], &["a: new\n"]);
        check(&[("/a", "one", "two", "/b"), ("/a", "", "new\n", "")], &[one, None], &["a -> b: two\n", "a: new\n"]);
        check(&[("/a", "one", "1", "/b"), ("/b", "1\n", "", "-")], &[one], &["a deleted: "]);
        check(&[("/a", "one\n", "", "-"), ("/b", "one", "1", "/a")], &[one, one], &["a deleted: ", "b -> a: 1\n"]);
        check(
            &[("/a", "one", "1", "/t"), ("/b", "one", "2", "/a"), ("/t", "1", "3", "/b")],
            &[one, one],
            &["a -> b: 3\n", "b -> a: 2\n"],
        );
    }

    #[test]
    fn what_cannot_follow_is_refused() {
        for parts in [
            [("/a", "1", "", "-"), ("/a", "1", "", "-")],
            [("/a", "1", "2", "/b"), ("/a", "1", "2", "/c")],
            [("/b", "1", "2", ""), ("/a", "1", "2", "/b")],
        ] {
            assert!(compose(&parts.map(part)).is_err(), "{parts:?}");
        }
    }

    #[test]
    fn what_is_made_anew_must_have_been_there_as_it_was_said() {
        let parts = [("/a", "two\n", "", "-"), ("/a", "", "new\n", "")].map(part);
        let composed = compose(&parts).unwrap();
        let made = |before: &str| composed[0].rewrite.rewrite(Some(&text(before))).is_ok();
        assert_eq!(["two\n", "one\n"].map(made), [true, false]);
        assert!(composed[0].rewrite.rewrite(None).is_err());
    }

    #[test]
    fn places_are_those_of_the_first_and_the_last_text() {
        let before = text("a\nb\nc\n");
        let parts = [("/a", "a\n", "1\n2\n3\n", ""), ("/a", "c", "C", ""), ("/a", "1\n", "", "")].map(part);
        let rewritten = compose(&parts).unwrap()[0].rewrite.rewrite(Some(&before)).unwrap();
        let lines: Vec<(usize, usize)> =
            rewritten.hunks.iter().map(|hunk| (hunk.before.start, hunk.after.start)).collect();
        assert_eq!(lines, [(1, 1), (3, 4), (1, 1)]);
    }
}
