//! Sequences of edits: what they make, and what is said when one does not fit.

use expect_test::expect;

use super::*;
use crate::tools::edit::compose::tests::applied;
use crate::workspace::LineSpan;

fn sequence(edits: &[(&str, &str)]) -> Sequence {
    let steps = edits.iter().map(|(old, new)| step(old, new, false)).collect();
    Sequence::several("a.py", steps)
}

fn step(old: &str, new: &str, all: bool) -> Step {
    Step { old: old.to_owned(), new: new.to_owned(), all }
}

fn run(before: Option<&str>, edits: &Sequence) -> Result<(String, Rewritten), Refusal> {
    let done = edits.rewrite(before.map(|text| Text::new(text, LineBreaks::Lf)).as_ref())?;
    Ok((applied(before.unwrap_or_default(), &done.splices), done))
}

fn lines(start: usize, count: usize) -> LineSpan {
    LineSpan { start, count }
}

const FILE: &str = "import os\n\n\ndef load(path):\n    with open(path) as f:\n        return f.read()\n\n\ndef save(path, text):\n    with open(path, 'w') as f:\n        f.write(text)\n";

#[test]
fn each_edit_works_on_the_result_of_the_one_before() {
    #[track_caller]
    fn check(before: &str, edits: &[(&str, &str)], after: &str) {
        let (text, done) = run(Some(before), &sequence(edits)).unwrap();
        assert_eq!(text, after, "{done:?}");
    }
    check("a\nb\nc\n", &[("a", "A"), ("c", "C")], "A\nb\nC\n");
    check("a\nb\nc\n", &[("c", "C"), ("a", "A")], "A\nb\nC\n");
    check("a\n", &[("a", "b"), ("b", "c"), ("c", "d")], "d\n");
    check("a\nb\n", &[("a\n", ""), ("b\n", "a\n")], "a\n");
    check("one two\n", &[("one", "two three"), ("two three", "x")], "x two\n");
    // Line ends of the file, also for what an earlier edit put in.
    check("a\r\nb\r\n", &[("a\n", "x\ny\n"), ("x\ny\nb\n", "z\nb\n")], "z\r\nb\r\n");
    // An exact edit makes room for an inexact one.
    check(
        "  if a:\n      b()\n",
        &[("if a:", "if c:"), ("if c:\n    b()\n", "if c:\n    d()\n")],
        "  if c:\n      d()\n",
    );
    // What is left at the end is what counts.
    check("a\nb\n", &[("a", "x"), ("x", "a"), ("b", "c")], "a\nc\n");
}

#[test]
fn the_first_edit_may_make_the_file() {
    let (text, done) = run(None, &sequence(&[("", "a = 1\nb = 2\n"), ("b = 2", "b = 3")])).unwrap();
    assert_eq!(text, "a = 1\nb = 3\n");
    assert_eq!((done.hunks.len(), done.hunks[0].before, done.hunks[0].after), (1, lines(1, 0), lines(1, 2)));
    let (text, _) = run(Some(""), &sequence(&[("", "a\n"), ("a", "b")])).unwrap();
    assert_eq!(text, "b\n");
    let refusal = run(None, &sequence(&[("a", "b"), ("", "c")])).unwrap_err();
    assert_eq!((refusal.kind, refusal.data), (RefusalKind::NotFound, Some(json!({ "edit": 1 }))));
    let refusal = run(None, &sequence(&[("", "b\n"), ("", "c\n")])).unwrap_err();
    assert_eq!((refusal.kind, refusal.data), (RefusalKind::InvalidArguments, Some(json!({ "edit": 2 }))));
    assert!(refusal.message.contains("Had matched"), "{}", refusal.message);
}

#[test]
fn hunks_are_in_lines_before_and_after_the_whole_call() {
    #[track_caller]
    fn check(before: &str, edits: &[(&str, &str)], expected: &[(LineSpan, LineSpan, &str)]) {
        let (_, done) = run(Some(before), &sequence(edits)).unwrap();
        let found: Vec<_> = done.hunks.iter().map(|hunk| (hunk.before, hunk.after, hunk.strategy.as_str())).collect();
        assert_eq!(found, expected);
    }
    let five = "a\nb\nc\nd\ne\n";
    check(
        five,
        &[("d\n", "D\nD\nD\n"), ("b\n", "")],
        &[(lines(2, 1), lines(2, 0), "simple"), (lines(4, 1), lines(3, 3), "simple")],
    );
    // The second edit is of a line that the first put in.
    check(five, &[("b\n", "x\ny\n"), ("y\n", "z\nz\n")], &[(lines(2, 1), lines(2, 3), "simple")]);
    // It reaches over the border, and is inexact.
    check(
        "a\n    b\n    c\nd\n",
        &[("b", "x"), ("x\nc\n", "x\ny\n")],
        &[(lines(2, 2), lines(2, 2), "indentationFlexible")],
    );
    // Neighbours that do not overlap stay apart; one whose edits cancel out is no hunk.
    check(
        five,
        &[("b\n", "B\n"), ("c\n", "C\n"), ("e", "x"), ("x", "e")],
        &[(lines(2, 1), lines(2, 1), "simple"), (lines(3, 1), lines(3, 1), "simple")],
    );
}

#[test]
fn each_edit_is_told() {
    let edits = Sequence::several(
        "a.py",
        vec![
            step("import os\n", "import os\nimport sys\n", false),
            step("open(path", "io.open(path", true),
            step(
                "def load(path):\nwith io.open(path) as f:\n",
                "def load(path):\nwith io.open(path) as file:\n",
                false,
            ),
        ],
    );
    let (_, done) = run(Some(FILE), &edits).unwrap();
    expect![[r"
        edit 1: by simple, at lines 1-2.
        edit 2: 2 places by simple, the first at lines 5-6, together with edit 3.
        edit 3: by lineTrimmed, at lines 5-6, together with edit 2. old_string was not there exactly; it was found by lineTrimmed (100 % alike, white space aside), and only what new_string changes of it was changed."]]
    .assert_eq(&done.notes.join("\n"));
}

#[test]
fn a_failed_edit_names_itself_and_what_the_others_have_to_do_with_it() {
    #[track_caller]
    fn check(edits: &[(&str, &str)], kind: RefusalKind, expected: &expect_test::Expect) {
        let refusal = run(Some(FILE), &sequence(edits)).unwrap_err();
        assert_eq!(refusal.kind, kind, "{refusal:?}");
        assert_eq!(refusal.data.as_ref().unwrap()["edit"], edits.len() - usize::from(edits.len() == 4), "{refusal:?}");
        expected.assert_eq(&refusal.message);
    }
    // Nobody else is to blame.
    check(
        &[("import os\n", "import os\nimport sys\n"), ("return g.read()", "return 1")],
        RefusalKind::NotFound,
        &expect![[r"
            a.py: edit 2 of 2 does not fit, so none of the edits was made. old_string is not in the text. The closest is line 7 (93 % alike; - is what you sent, + is what is there):
              - return g.read()
            7 +         return f.read()
            Copy line 7 as it is there into old_string, or read the file again if you expected something else.
            The line numbers are those of the text as edit 1 would leave it.
            Had matched, in lines of the file as it is: edit 1 at line 1 (by simple)."]],
    );
    // An earlier edit changed it.
    check(
        &[("return f.read()", "return f.readlines()"), ("return f.read()\n", "return None\n")],
        RefusalKind::NotFound,
        &expect![[r"
            a.py: edit 2 of 2 does not fit, so none of the edits was made. old_string is not in the text. The closest is line 6 (75 % alike; - is what you sent, + is what is there):
              - return f.read()
            6 +         return f.readlines()
            Copy line 6 as it is there into old_string, or read the file again if you expected something else.
            Before edit 1 it fits at line 6, and edit 1 changes that text. Send old_string as it is after edit 1, or make one edit of the two.
            Had matched, in lines of the file as it is: edit 1 at line 6 (by simple)."]],
    );
    // An earlier edit made another one.
    check(
        &[("import os\n", "import os\nx = f.read()\n"), ("f.read()", "f.readline()")],
        RefusalKind::Ambiguous,
        &expect![[r"
            a.py: edit 2 of 2 does not fit, so none of the edits was made. old_string fits 2 places, so nothing was changed:
              line 2: `x = f.read()`
              line 7: `return f.read()`
            Add lines around it that only the right place has, to old_string and to new_string,
            or set replace_all to change every one.
            The line numbers are those of the text as edit 1 would leave it.
            Before edit 1 it fits one place only, line 6: edit 1 makes another. Put this edit before edit 1, or add lines to old_string that only the right place has.
            The place at line 2 is where edit 1 put text in.
            Had matched, in lines of the file as it is: edit 1 at line 1 (by simple)."]],
    );
    // An earlier edit did it already.
    check(
        &[("load(path)", "load(name)"), ("\n  def load(path):\n", "\n  def load(name):\n")],
        RefusalKind::NotFound,
        &expect![[r"
            a.py: edit 2 of 2 does not fit, so none of the edits was made. old_string is not in the text. The closest is line 4 (80 % alike; - is what you sent, + is what is there):
              -   def load(path):
            4 + def load(name):
            new_string is in the text already, at line 3: the change may have been made before.
            Copy line 4 as it is there into old_string, or read the file again if you expected something else.
            Before edit 1 it fits at line 3, and edit 1 changes that text. Send old_string as it is after edit 1, or make one edit of the two.
            Had matched, in lines of the file as it is: edit 1 at line 4 (by simple)."]],
    );
    // A later edit will put it in.
    check(
        &[
            ("import os", "import sys"),
            ("f.write(text)", "f.write(x)"),
            ("import re\n", ""),
            ("import sys\n", "import sys\nimport re\n"),
        ],
        RefusalKind::NotFound,
        &expect![[r"
            a.py: edit 3 of 4 does not fit, so none of the edits was made. old_string is not in the text. The closest is line 1 (70 % alike; - is what you sent, + is what is there):
              - import re
            1 + import sys
            Copy line 1 as it is there into old_string, or read the file again if you expected something else.
            Edit 4, which comes later, puts that text in: send edit 4 first.
            Had matched, in lines of the file as it is: edit 1 at line 1 (by simple), edit 2 at line 11 (by simple)."]],
    );
}

#[test]
fn edits_that_undo_each_other_are_told_so() {
    let refusal = run(Some(FILE), &sequence(&[("import os", "import sys"), ("import sys", "import os")])).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::InvalidArguments);
    expect![[r"a.py: the edits undo each other: after all 2 the text would be the same as before, so there is nothing to change. Send only the edits whose results are to stay."]]
    .assert_eq(&refusal.message);
}

#[test]
fn what_is_told_is_bounded() {
    let before: String = (0..300).map(|at| ["line ", &at.to_string(), ";\n"].concat()).collect();
    let edit = |at: usize| (format!("line {at};"), format!("new {at};\n{}", "x".repeat(30)));
    let mut steps: Vec<Step> = (0..100).map(edit).map(|(old, new)| step(&old, &new, false)).collect();
    let (_, done) = run(Some(&before), &Sequence::several("a", steps.clone())).unwrap();
    assert_eq!(done.hunks.len(), 100);
    assert!(done.notes.concat().len() < 4000, "{}", done.notes.concat().len());
    steps.push(step("nowhere", "x", false));
    let refusal = run(Some(&before), &Sequence::several("a", steps)).unwrap_err();
    assert!(refusal.message.len() < 4000, "{}", refusal.message.len());
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever the edits, they give what the single ones give in turn; and the lines of the hunks hold the changes.
        #[test]
        fn several_edits_are_single_ones_in_turn(
            before in "([ab]{1,2}\n){1,6}",
            edits in prop::collection::vec(("[ab]{1,2}\n?", "[abc]{0,2}\n?", any::<bool>()), 1..5),
        ) {
            let steps: Vec<Step> = edits.iter().map(|(old, new, all)| step(old, new, *all)).collect();
            let mut now = Ok(before.clone());
            for step in &steps {
                now = now.and_then(|text| run(Some(&text), &Sequence::one("a", step.clone())).map(|(text, _)| text));
            }
            match (now, run(Some(&before), &Sequence::several("a", steps))) {
                (Ok(now), Ok((text, done))) => {
                    prop_assert_eq!(&now, &text);
                    let mut mended: Vec<&str> = before.split_inclusive('\n').collect();
                    let after: Vec<&str> = text.split_inclusive('\n').collect();
                    let mut apart = true;
                    for pair in done.hunks.windows(2) {
                        apart &= pair[0].before.start + pair[0].before.count <= pair[1].before.start;
                    }
                    // Hunks in one line share it; else the lines after put in the place of those before are the text.
                    if apart {
                        for hunk in done.hunks.iter().rev() {
                            let from = hunk.before.start - 1;
                            let new = after[hunk.after.start - 1..hunk.after.start - 1 + hunk.after.count].to_vec();
                            mended.splice(from..from + hunk.before.count, new);
                        }
                        prop_assert_eq!(mended.concat(), text);
                    }
                }
                (Ok(now), Err(refusal)) => prop_assert!(now == before, "{:?}", refusal),
                (Err(_), Err(_)) => {}
                (Err(single), Ok(done)) => prop_assert!(false, "{:?} {:?}", single, done),
            }
        }
    }
}
