//! The head of one file in a unified diff: git's lines, and `---` and `+++`.

use super::names::{self, Name};
use super::source::{Source, fault, shown};
use super::{Fault, FilePatch, Hunk, Kind, Side};

/// What the lines above the hunks of a file say.
#[derive(Debug, Default)]
pub(super) struct Head {
    /// Where it begins, 0-based.
    line: usize,
    pair: Option<(String, String)>,
    sides: Option<(Name, Name)>,
    /// Unquoted names of a rename or copy.
    from: Option<String>,
    to: Option<String>,
    copied: bool,
    made: bool,
    deleted: bool,
    mode: Option<String>,
}

impl Head {
    /// Reads a head from `at` (0-based) on; gives the line behind it.
    pub(super) fn read(source: &Source<'_>, at: usize) -> Result<(Head, usize), Fault> {
        let mut head = Head { line: at, ..Head::default() };
        let mut next = at;
        if let Some(names) = source.get(at).and_then(|line| line.strip_prefix("diff --git ")) {
            head.pair = names::git_pair(names);
            next += 1;
            while let Some(line) = source.get(next) {
                if !head.extended(line, next)? {
                    break;
                }
                next += 1;
            }
        }
        let side = |at: usize, word: &str| {
            let rest = source.get(at).and_then(|line| line.strip_prefix(word));
            rest.map(|rest| names::side(rest).map_err(|what| fault(at, what))).transpose()
        };
        if let Some(old) = side(next, "--- ")? {
            let Some(new) = side(next + 1, "+++ ")? else {
                let came =
                    source.get(next + 1).map_or("the end of the patch".to_owned(), |line| format!("`{}`", shown(line)));
                return Err(fault(
                    next + 1,
                    format!("{came} came, and a line `+++ b/path` was expected below `--- ...`. Put it there."),
                ));
            };
            head.sides = Some((old, new));
            next += 2;
        }
        Ok((head, next))
    }

    /// Takes a line of git's; whether it was one.
    fn extended(&mut self, line: &str, at: usize) -> Result<bool, Fault> {
        let name = |rest: &str| {
            if rest.starts_with('"') {
                names::unquoted(rest).map(|(name, _)| name).map_err(|what| fault(at, what))
            } else {
                Ok(rest.to_owned())
            }
        };
        let (word, rest) = [
            "old mode ",
            "new mode ",
            "new file mode ",
            "deleted file mode ",
            "rename from ",
            "rename to ",
            "copy from ",
            "copy to ",
            "similarity index ",
            "dissimilarity index ",
            "index ",
        ]
        .iter()
        .find_map(|&word| Some((word.trim_end(), line.strip_prefix(word)?)))
        .unwrap_or(("", line));
        match word {
            "new mode" => self.mode = Some(plain_mode(line, rest, at)?),
            "new file mode" => (self.made, self.mode) = (true, Some(plain_mode(line, rest, at)?)),
            "old mode" => drop(plain_mode(line, rest, at)?),
            "deleted file mode" => {
                plain_mode(line, rest, at)?;
                self.deleted = true;
            }
            // Behind the hashes stands the mode of a file that keeps it.
            "index" => rest.split(' ').nth(1).map_or(Ok(()), |mode| plain_mode(line, mode, at).map(drop))?,
            "rename from" => self.from = Some(name(rest)?),
            "rename to" => self.to = Some(name(rest)?),
            "copy from" => (self.from, self.copied) = (Some(name(rest)?), true),
            "copy to" => (self.to, self.copied) = (Some(name(rest)?), true),
            "" if binary(line) => return Err(fault(at, BINARY)),
            "" => return Ok(false),
            _ => {}
        }
        Ok(true)
    }

    /// The file, with its hunks.
    pub(super) fn file(self, hunks: Vec<Hunk>) -> Result<FilePatch, Fault> {
        let line = self.line;
        let unnamed =
            || fault(line, "it cannot be told which file is meant. Add the lines `--- a/path` and `+++ b/path`.");
        let (old, new) = match (&self.sides, &self.pair) {
            (Some((old, new)), _) => names::stripped(old, new),
            (None, Some((old, new))) => names::stripped(&Name::File(old.clone()), &Name::File(new.clone())),
            (None, None) if self.from.is_some() && self.to.is_some() => (Name::Nothing, Name::Nothing),
            (None, None) => return Err(unnamed()),
        };
        let named = |name: &Name| match name {
            Name::Nothing => None,
            Name::File(name) => Some(name.clone()),
        };
        let has_from = self.from.is_some();
        let (kind, path, move_to) = match (self.from, self.to) {
            (Some(from), Some(to)) if self.copied => (Kind::Copy, from, Some(to)),
            (Some(from), Some(to)) => (Kind::Update, from, Some(to)),
            (Some(_), None) | (None, Some(_)) => {
                let word = if self.copied { "copy" } else { "rename" };
                let [came, missing] = if has_from { ["from", "to"] } else { ["to", "from"] };
                return Err(fault(
                    line,
                    format!(
                        "the file has `{word} {came}` and no `{word} {missing}`. Put that line below the other one."
                    ),
                ));
            }
            (None, None) => match (named(&old), named(&new)) {
                (None, None) => {
                    let what = "both sides are /dev/null, so no file is named. Put `b/path` behind `+++` for a new file, \
                                or `a/path` behind `---` for one that is deleted.";
                    return Err(fault(line, what));
                }
                (old, new) if self.made => (Kind::Add, new.or(old).ok_or_else(unnamed)?, None),
                (old, new) if self.deleted => (Kind::Delete, old.or(new).ok_or_else(unnamed)?, None),
                (None, Some(new)) => (Kind::Add, new, None),
                (Some(old), None) => (Kind::Delete, old, None),
                (Some(old), Some(new)) => (Kind::Update, updated(line, &old, new)?, None),
            },
        };
        let file = FilePatch { path, kind, move_to, hunks, mode: self.mode, line: line + 1 };
        check(file)
    }
}

/// The mode of a file of text in a line of git's; the fault where it is of anything else.
fn plain_mode(line: &str, mode: &str, at: usize) -> Result<String, Fault> {
    let mode = mode.trim();
    let what = match mode {
        "100644" | "100755" => return Ok(mode.to_owned()),
        // Git wrote it so long ago.
        "100664" => return Ok("100644".to_owned()),
        "120000" => {
            "is about a symbolic link, and only files of text can be changed. Leave that file out, and make the link \
                     by a command (ln -s)."
        }
        "160000" => {
            "is about a submodule, and only files of text can be changed. Leave that file out, and use a command \
                     (git submodule)."
        }
        _ => {
            "has a mode that cannot be set: 100644 (a file) or 100755 (one that can be run) was expected. Write one of these, \
              or set the mode by a command (chmod)."
        }
    };
    Err(fault(at, format!("`{}` {what}", shown(line))))
}

const BINARY: &str =
    "it is a binary patch, and only text can be changed. Leave that file out, and make it by a command.";

/// Whether a line says that a file is binary.
pub(super) fn binary(line: &str) -> bool {
    line == "GIT binary patch" || (line.starts_with("Binary files ") && line.ends_with(" differ"))
}

/// Refuses a line that says that a file is binary.
pub(super) fn binary_fault(at: usize) -> Fault {
    fault(at, BINARY)
}

/// The file of two names without /dev/null.
fn updated(line: usize, old: &str, new: String) -> Result<String, Fault> {
    let kept = [".orig", ".old", ".bak", "~"].iter().any(|end| old.strip_suffix(end) == Some(new.as_str()));
    if old == new || kept {
        return Ok(new);
    }
    Err(fault(
        line,
        format!(
            "`--- {old}` and `+++ {new}` name two files. To change one, name it on both; to move it, add `rename from {old}` \
             and `rename to {new}` below a line `diff --git a/{old} b/{new}`."
        ),
    ))
}

/// Whether the hunks go with what happens to the file.
fn check(file: FilePatch) -> Result<FilePatch, Fault> {
    let other = |side: Side| {
        file.hunks.iter().find_map(|hunk| {
            let at = hunk.lines.iter().position(|line| line.side != side)?;
            let mark = if hunk.lines[at].side == Side::Context {
                ' '
            } else if side == Side::Added {
                '-'
            } else {
                '+'
            };
            Some((hunk.line_of(at), format!("{mark}{}", shown(&hunk.lines[at].text))))
        })
    };
    match file.kind {
        Kind::Add => {
            if let Some((at, line)) = other(Side::Added) {
                return Err(fault(
                    at,
                    format!(
                        "`{line}` is in a new file, which has lines that begin with `+` and no others. To change a file that \
                         is there, name it behind `---` too."
                    ),
                ));
            }
            if file.hunks.len() > 1 {
                return Err(fault(
                    file.hunks[1].line - 1,
                    "a new file has one hunk, and this is another. Put its lines below those of the first.",
                ));
            }
        }
        Kind::Delete => {
            if let Some((at, line)) = other(Side::Removed) {
                return Err(fault(
                    at,
                    format!(
                        "`{line}` is in a file that is deleted, which has lines that begin with `-` and no others. To keep \
                         the file, name it behind `+++` too."
                    ),
                ));
            }
        }
        Kind::Update if file.hunks.is_empty() && file.move_to.is_none() && file.mode.is_none() => {
            let what = "the file has no hunks, so nothing would change. Add a hunk (`@@ ... @@` and lines with ` `, `-`, `+`).";
            return Err(fault(file.line - 1, what));
        }
        Kind::Update | Kind::Copy => {}
    }
    Ok(file)
}
