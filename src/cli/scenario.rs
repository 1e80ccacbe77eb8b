//! What `ropewalk try` plays: who types what, and what the agent then asks for. Pure.

/// The pieces of one showing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scenario {
    /// The file's name, for a bundled sample.
    pub(crate) name: String,
    /// Its text on the disk.
    pub(crate) text: String,
    /// The user types this ...
    pub(crate) typed: String,
    /// ... at this byte of the text.
    pub(crate) typed_at: usize,
    /// The agent's first edit: inexact, and it breaks something.
    pub(crate) breaks: Edit,
    /// The agent's second edit, after it has seen the diagnostics: mends it.
    pub(crate) mends: Edit,
}

/// What an agent asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    /// The text it believes to be there.
    pub(crate) old: String,
    /// What it wants there.
    pub(crate) new: String,
}

/// The bundled sample in Python: for ruff, basedpyright, pyright, or the embedded check alone.
pub(crate) fn python() -> Scenario {
    let text = include_str!("../../fixtures/try/shelf.py").to_owned();
    let typed_at = text.find("    def take(").unwrap_or(text.len());
    Scenario {
        name: "shelf.py".into(),
        text,
        typed: "    def total(self) -> int:\n        return sum(self.items.values())\n\n".into(),
        typed_at,
        breaks: Edit {
            old: "def total(self) -> int:\n  return sum(self.items.values())".into(),
            new: "def total(self) -> int:\n  if not self.items:\n    return nothing\n  return sum(self.items.values()"
                .into(),
        },
        mends: Edit {
            old: "  return nothing\nreturn sum(self.items.values()".into(),
            new: "  return 0\nreturn sum(self.items.values())".into(),
        },
    }
}

/// The bundled sample in C: for clangd.
pub(crate) fn c() -> Scenario {
    let text = include_str!("../../fixtures/try/shelf.c").to_owned();
    let typed_at = text.find("int main(").unwrap_or(text.len());
    Scenario {
        name: "shelf.c".into(),
        text,
        typed: "static int total(const struct shelf *shelf)\n{\n    int sum = 0;\n    for (int slot = 0; slot < SLOTS; slot++) {\n        sum += shelf->count[slot];\n    }\n    return sum;\n}\n\n".into(),
        typed_at,
        breaks: Edit {
            old: "for (int slot = 0; slot < SLOTS; slot++) {\n  sum += shelf->count[slot];\n}".into(),
            new: "for (int slot = 0; slot < SLOTS; slot++) {\n  sum += shelf->counts[slot];\n  sum = (sum;\n}".into(),
        },
        mends: Edit {
            old: "  sum += shelf->counts[slot];\n  sum = (sum;".into(),
            new: "  sum += shelf->count[slot];".into(),
        },
    }
}

/// A showing on a person's own file; `None` when no three lines of it stand there only once.
///
/// The block with the deepest first line is taken, its indentation dropped to make the edit inexact (or, where nothing
/// is indented, a space added to its end), and an unbalanced bracket is what breaks it.
pub(crate) fn of_file(name: &str, text: &str) -> Option<Scenario> {
    let lines: Vec<&str> = text.lines().collect();
    let depth = |line: &str| line.len() - line.trim_start().len();
    let block = |at: usize| lines[at..at + 3].iter().map(|line| line.trim()).collect::<Vec<_>>();
    let at = (0..lines.len().saturating_sub(2))
        .filter(|&at| block(at).iter().all(|line| !line.is_empty()))
        .filter(|&at| (0..lines.len() - 2).filter(|&other| block(other) == block(at)).count() == 1)
        .max_by_key(|&at| (lines[at..at + 3].iter().map(|line| depth(line)).min(), std::cmp::Reverse(at)))?;
    let common = lines[at..at + 3].iter().map(|line| depth(line)).min().unwrap_or(0);
    let old: Vec<String> = if common > 0 {
        lines[at..at + 3].iter().map(|line| line.get(common..).unwrap_or(line.trim_start()).to_owned()).collect()
    } else {
        lines[at..at + 3].iter().map(|line| format!("{line} ")).collect()
    };
    let typed_at = lines[..at].iter().map(|line| line.len()).sum::<usize>() + line_ends_before(text, at);
    let last = old.last()?.clone();
    let broken = format!("{}(", &last[..depth(&last)]);
    Some(Scenario {
        name: name.to_owned(),
        text: text.to_owned(),
        typed: "\n".into(),
        typed_at,
        breaks: Edit { old: old.join("\n"), new: format!("{}\n{broken}", old.join("\n")) },
        mends: Edit { old: format!("{last}\n{broken}"), new: last },
    })
}

/// The bytes of line ends before a 0-based line.
fn line_ends_before(text: &str, line: usize) -> usize {
    text.split_inclusive('\n').take(line).map(|line| line.len() - line.trim_end_matches(['\r', '\n']).len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_typing_goes_between_two_methods() {
        for scenario in [python(), c()] {
            assert!(scenario.typed_at < scenario.text.len());
            assert!(scenario.text[..scenario.typed_at].ends_with("\n\n"));
        }
    }

    #[test]
    fn a_block_of_a_persons_file() {
        let scenario = of_file("a.rs", "fn a() {\r\n    one();\r\n    two();\r\n    three();\r\n}\r\n").unwrap();
        assert_eq!(scenario.breaks.old, "one();\ntwo();\nthree();");
        assert_eq!(scenario.breaks.new, "one();\ntwo();\nthree();\n(");
        assert_eq!(&scenario.text[scenario.typed_at..][..8], "    one(");
        assert_eq!(scenario.mends.old, "three();\n(");
    }

    #[test]
    fn a_file_of_repetitions_has_no_block() {
        assert_eq!(of_file("a.txt", "a\na\na\na\na\n"), None);
        assert_eq!(of_file("a.txt", ""), None);
        assert_eq!(of_file("a.txt", "one\ntwo"), None);
    }
}
