//! The sidecars that can be joined, and which of them is meant. Pure.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::permissions::visible;

/// The version of what is written into the folder and said at the door. Another one is another product.
pub(super) const VERSION: u32 = 1;

/// What a sidecar says of itself to those who may join it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Known {
    /// The version of this, [`VERSION`].
    pub ropewalk: u32,
    /// The sidecar's process.
    pub process: u32,
    /// The editor, in its own words.
    pub editor: String,
    /// The folders that are open in it, canonical.
    pub roots: Vec<PathBuf>,
    /// Where to join.
    pub socket: PathBuf,
    /// Shows that whoever has it may read what only its user may.
    pub token: String,
}

/// How a root fits a folder: by the length of the root that has it. Longer is further inside.
fn depth(known: &Known, folder: &Path) -> Option<usize> {
    known.roots.iter().filter(|root| folder.starts_with(root)).map(|root| root.components().count()).max()
}

/// The one sidecar that is meant. `folder`: canonical, it has to be in a folder that is open there; `editor`: the number
/// of its process, or (part of) the name of the editor. Of several, those whose open folder is nearest count. Why there is
/// none, or not one: words for a person.
pub fn choose<'a>(known: &'a [Known], folder: &Path, editor: Option<&str>) -> Result<&'a Known, String> {
    let wanted = |known: &&Known| {
        editor.is_none_or(|editor| match editor.parse::<u32>() {
            Ok(process) => known.process == process,
            Err(_) => known.editor.to_lowercase().contains(&editor.to_lowercase()),
        })
    };
    let fits: Vec<(&Known, usize)> =
        known.iter().filter(wanted).filter_map(|known| Some((known, depth(known, folder)?))).collect();
    let nearest = fits.iter().map(|(_, depth)| *depth).max();
    let nearest: Vec<&Known> =
        fits.iter().filter(|(_, depth)| Some(*depth) == nearest).map(|(known, _)| *known).collect();
    match nearest.as_slice() {
        [one] => Ok(one),
        [] => Err(nobody(known, folder, editor)),
        several => {
            let mut words = format!(
                "Several editors have {} open. Choose one by `--editor` with its number or name:",
                folder.display()
            );
            list(&mut words, several);
            Err(words)
        }
    }
}

fn nobody(known: &[Known], folder: &Path, editor: Option<&str>) -> String {
    let which = editor.map_or_else(|| "No editor".to_owned(), |editor| format!("No editor `{}`", visible(editor)));
    let mut words = format!("{which} with Ropewalk has {} open.", folder.display());
    if known.is_empty() {
        words.push_str(
            " None runs that can be joined. Open the folder in an editor with Ropewalk (and leave its setting \
             `bridge.listen` on), then start this again; or leave out `--connect` to work on the files on the disk.",
        );
    } else {
        words.push_str(" Name an open folder by `--root`, or leave out `--connect` to work on the disk. Open are:");
        list(&mut words, &known.iter().collect::<Vec<_>>());
    }
    words
}

fn list(words: &mut String, known: &[&Known]) {
    let mut known = known.to_vec();
    known.sort_by_key(|known| known.process);
    for known in known {
        let roots: Vec<String> = known.roots.iter().map(|root| visible(&root.to_string_lossy())).collect();
        let _ = write!(words, "\n  --editor {}  {}: {}", known.process, visible(&known.editor), roots.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn known(process: u32, editor: &str, roots: &[&str]) -> Known {
        Known {
            ropewalk: VERSION,
            process,
            editor: editor.to_owned(),
            roots: roots.iter().map(PathBuf::from).collect(),
            socket: PathBuf::from("/run/x.sock"),
            token: "t".to_owned(),
        }
    }

    fn all() -> Vec<Known> {
        vec![
            known(30, "Neovim", &["/w/a"]),
            known(20, "Visual Studio Code", &["/w", "/other"]),
            known(10, "Neovim", &["/w/a/inner", "/twin"]),
            known(40, "Emacs\u{202e}", &["/twin"]),
        ]
    }

    #[test]
    fn the_nearest_open_folder_wins() {
        for (folder, editor, process) in [
            ("/w/a", None, 30),
            ("/w/a/src", None, 30),
            ("/w/a/inner/deep", None, 10),
            ("/w/b", None, 20),
            ("/w", None, 20),
            ("/other", None, 20),
            // Not `/w/a`, though its letters begin so.
            ("/w/ab", None, 20),
            ("/w/a/inner", Some("30"), 30),
            ("/w/a/inner", Some("code"), 20),
            ("/w/a/inner", Some("neovim"), 10),
            ("/twin", Some("40"), 40),
            ("/twin", Some("NEO"), 10),
        ] {
            let all = all();
            let chosen = choose(&all, Path::new(folder), editor).map(|known| known.process);
            assert_eq!(chosen, Ok(process), "{folder} {editor:?}");
        }
    }

    #[test]
    fn what_is_not_one_is_told() {
        fn check(known: &[Known], folder: &str, editor: Option<&str>, expected: &Expect) {
            expected.assert_eq(&choose(known, Path::new(folder), editor).map(|known| known.process).unwrap_err());
        }
        check(
            &all(),
            "/twin/x",
            None,
            &expect![[r"
            Several editors have /twin/x open. Choose one by `--editor` with its number or name:
              --editor 10  Neovim: /w/a/inner, /twin
              --editor 40  Emacs\u{202e}: /twin"]],
        );
        check(
            &all()[..1],
            "/elsewhere",
            None,
            &expect![[r"
            No editor with Ropewalk has /elsewhere open. Name an open folder by `--root`, or leave out `--connect` to work on the disk. Open are:
              --editor 30  Neovim: /w/a"]],
        );
        check(
            &all()[..1],
            "/w/a",
            Some("31"),
            &expect![[r"
            No editor `31` with Ropewalk has /w/a open. Name an open folder by `--root`, or leave out `--connect` to work on the disk. Open are:
              --editor 30  Neovim: /w/a"]],
        );
        check(
            &[],
            "/w",
            None,
            &expect![
                "No editor with Ropewalk has /w open. None runs that can be joined. Open the folder in an editor with Ropewalk (and leave its setting `bridge.listen` on), then start this again; or leave out `--connect` to work on the files on the disk."
            ],
        );
    }
}
