//! Any text is looked into, in bounded work, and what is not understood is never harmless.

use proptest::prelude::*;

use super::{analyse, rows, scene, table};
use crate::permissions::shell::walk::LINE_LIMIT;
use crate::permissions::shell::{Verdict, analyse as real, walk};

/// Repeated, nested and unfinished pieces of a line.
const PIECES: &[&str] = &[
    "(",
    ")",
    "$(",
    "${",
    "$((",
    "((",
    "`",
    "\\`",
    "'",
    "\"",
    "{",
    "}",
    "{a,",
    "[",
    "[[ ",
    "a[",
    "<(",
    "<<E ",
    "<<<",
    "if ",
    "case x in ",
    "f() { ",
    "! ",
    "| ",
    "&& ",
    "; ",
    "\n",
    "\\",
    "\\\n",
    "$'",
    "$\"",
    "$[",
    "~",
    "*",
    "time ",
    "coproc ",
    "eval ",
    "bash -c ",
    "sudo ",
    "env -S ",
    "xargs ",
    "find . -exec ",
    "a=$a$a; ",
    "for i in {1..400}; do ",
    "{1..9}{1..9}",
    "$@",
    "${x:-",
    "while :; do ",
    "x=(",
    "ssh h ",
    "parallel ",
    "trap ",
    "function f ",
    "alias a=",
    "#",
    "é",
    "\u{202e}",
    "\0",
    "\r",
];

#[test]
fn pieces_again_and_again() {
    for piece in PIECES {
        for count in [1, 7, 60, 1_000] {
            let line = piece.repeat(count);
            let analysis = analyse(&line);
            assert!(analysis.commands.len() <= 20_000, "{piece:?}");
            analyse(&format!("rm -rf / {line}"));
            analyse(&format!("{line} rm -rf /"));
        }
    }
}

#[test]
fn a_broken_line_is_not_judged_lower_than_what_can_be_read_of_it() {
    for tail in ["'", "\"", ")", "`", "$(", "${", "|", "&&", "; ;", "<<E", "(", "\u{0}", "if", "fi", ";;"] {
        for line in ["rm -rf /", "sudo rm -rf /", "ls; rm -rf ~", "mkfs /dev/sda", "bash -c 'rm -rf /'"] {
            for broken in [format!("{line} ; {tail}"), format!("{line} {tail}"), format!("{tail} ; {line}")] {
                let analysis = analyse(&broken);
                assert_eq!(analysis.verdict, Verdict::Destructive, "{broken:?} {analysis:?}");
            }
        }
        let analysis = analyse(&format!("ls ; {tail}"));
        assert!(analysis.verdict >= Verdict::NeedsApproval && analysis.unclear.is_some(), "{tail:?} {analysis:?}");
    }
}

#[test]
fn a_line_beyond_the_limit_is_not_clear() {
    let line = format!("ls {}", "a".repeat(LINE_LIMIT));
    assert!(analyse(&line).unclear.is_some_and(|why| why.contains("longer")));
    assert_eq!(analyse(&format!("{line}; rm -rf /")).verdict, Verdict::Destructive);
    assert_eq!(analyse(&format!("rm -rf /; {line}")).verdict, Verdict::Destructive);
    let line = format!("ls {}", "a".repeat(LINE_LIMIT - 100));
    assert_eq!(analyse(&line).unclear, None);
}

#[test]
fn work_is_bounded_where_lines_breed_lines() {
    // Each level runs the next one many times.
    let mut line = "foo".to_owned();
    for name in ["a", "b", "c", "d", "e", "f", "g"] {
        line = format!("{name}() {{ {}\n}}; {}", line, format!("{name}; ").repeat(12));
    }
    let analysis = analyse(&line);
    assert!(analysis.unclear.is_some_and(|why| why.contains("too much")), "{:?}", analysis.verdict);
    let mut line = "ls".to_owned();
    for _ in 0..80 {
        line = format!("eval {}", line.replace('\\', "\\\\").replace(' ', "\\ "));
        if line.len() > LINE_LIMIT {
            break;
        }
    }
    assert!(analyse(&line).verdict >= Verdict::NeedsApproval);
}

proptest! {
    #[test]
    fn any_text_is_looked_into(line in any::<String>()) {
        let analysis = analyse(&line);
        prop_assert!(analysis.unclear.is_none() || analysis.verdict >= Verdict::NeedsApproval);
        prop_assert_eq!(analyse(&line), analysis);
        real(&line, &scene());
    }

    #[test]
    fn any_pieces_are_looked_into(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
        let line = pieces.concat();
        let analysis = analyse(&line);
        prop_assert!(analysis.unclear.is_none() || analysis.verdict >= Verdict::NeedsApproval);
        let _ = crate::permissions::shell::consent::shared_by(&line, &scene(), table);
    }

    #[test]
    fn mutations_of_lines_are_looked_into(
        row in 0..10_000_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(PIECES), any::<bool>()), 1..6),
    ) {
        let rows = rows();
        let mut line: Vec<char> = rows[row % rows.len()].1.chars().collect();
        for (at, piece, insert) in changes {
            let at = at.index(line.len() + 1);
            let end = if insert { at } else { (at + 1).min(line.len()) };
            line.splice(at..end, piece.chars());
        }
        let line: String = line.into_iter().collect();
        let analysis = walk::analyse(&line, &scene(), table);
        prop_assert!(analysis.unclear.is_none() || analysis.verdict >= Verdict::NeedsApproval);
        prop_assert_eq!(analysis.reasons.is_empty(), analysis.verdict == Verdict::ReadOnly);
    }
}
