//! The numbered cases of `fixtures/patch`, and what must hold for any patch and any text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use similar::TextDiff;

use super::*;
use crate::text::{LineBreaks, Splice, Text};

fn spliced(text: &str, splices: &[Splice]) -> String {
    Text::new(text, LineBreaks::Lf).spliced(splices).to_string()
}

type Files = BTreeMap<String, String>;

/// Applies a whole patch to files, in order.
fn patched(before: &Files, patch: &str) -> Result<Files, Fault> {
    let mut files = before.clone();
    for file in parse(patch)? {
        let named = |fault: Fault| Fault { message: format!("{}: {}", file.path, fault.message), ..fault };
        let old = files.get(&file.path).cloned();
        let done = apply(old.as_deref(), &file).map_err(named)?;
        let new = spliced(old.as_deref().unwrap_or_default(), &done.splices);
        if file.kind == Kind::Delete || (file.move_to.is_some() && file.kind != Kind::Copy) {
            files.remove(&file.path);
        }
        if file.kind != Kind::Delete {
            files.insert(file.move_to.clone().unwrap_or(file.path), new);
        }
    }
    Ok(files)
}

fn one(text: &str, patch: &str) -> Result<String, Fault> {
    let files = patched(&[("f".to_owned(), text.to_owned())].into(), patch)?;
    Ok(files.get("f").cloned().unwrap_or_default())
}

#[expect(clippy::disallowed_methods, reason = "cases are files, and a test may read them as they are")]
fn folder(root: &Path) -> Files {
    let (mut files, mut todo): (Files, Vec<PathBuf>) = (Files::new(), vec![root.to_owned()]);
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
                files.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    files
}

/// The cases of `fixtures/patch`; the format is in its README.
#[test]
#[expect(clippy::disallowed_methods, reason = "cases are files, and a test may read them as they are")]
fn fixtures() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/patch");
    let mut cases: Vec<_> =
        std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    cases.sort();
    assert!(cases.len() >= 100, "only {} cases in {}", cases.len(), root.display());
    let mut wrong = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        assert!(name.starts_with(&format!("{:03}-", at + 1)), "{name} is number {}", at + 1);
        let patch = std::fs::read_to_string(case.join("patch")).unwrap();
        let before = folder(&case.join("before"));
        let done = patched(&before, &patch);
        if case.join("after").is_dir() || case.join("empty").exists() {
            let after = folder(&case.join("after"));
            match done {
                Ok(files) if files == after => {}
                other => wrong.push(format!("{name}: {other:#?}\nexpected {after:#?}")),
            }
        } else {
            match done {
                Ok(files) => wrong.push(format!("{name} was applied: {files:#?}")),
                Err(fault) => expect_test::expect_file![case.join("message")]
                    .assert_eq(&format!("{:?}\n{}\n", fault.kind, fault.message)),
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
}

/// A unified diff as `similar` makes it.
fn unified_of(old: &str, new: &str, context: usize) -> String {
    let diff = TextDiff::configure().newline_terminated(true).diff_slices(&lines(old), &lines(new));
    diff.unified_diff().context_radius(context).header("a/f", "b/f").to_string()
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The same in the other format: without numbers.
fn enveloped(unified: &str) -> String {
    let mut patch = "*** Begin Patch\n*** Update File: f\n".to_owned();
    for line in unified.split_inclusive('\n').skip(2) {
        patch.push_str(if line.starts_with("@@") { "@@\n" } else { line });
    }
    patch + "*** End Patch\n"
}

/// A text of few different lines, with and without a last line end.
fn text() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec!["a", "b", "  c", "", "-- d", "++ e", "@@", "*** End Patch", "“q”", "x \t"]);
    (prop::collection::vec(line, 0..14), any::<bool>()).prop_map(|(lines, ended)| {
        let text = lines.join("\n");
        if ended && !lines.is_empty() { text + "\n" } else { text }
    })
}

/// A text whose lines are all different.
fn distinct() -> impl Strategy<Value = (String, String)> {
    let edit = prop_oneof![6 => Just(0u8), 1 => Just(1), 1 => Just(2), 1 => Just(3)];
    (prop::collection::vec(edit, 1..40), any::<bool>(), any::<bool>()).prop_map(|(edits, old_ended, new_ended)| {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for (at, edit) in edits.iter().enumerate() {
            let line = format!("{}line {at}", " ".repeat(at % 3));
            match edit {
                0 => {
                    old.push(line.clone());
                    new.push(line);
                }
                1 => old.push(line),
                2 => new.push(line),
                _ => {
                    old.push(line.clone());
                    new.push(line + " changed");
                }
            }
        }
        let text =
            |lines: Vec<String>, ended: bool| lines.join("\n") + if ended && !lines.is_empty() { "\n" } else { "" };
        (text(old, old_ended), text(new, new_ended))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn a_unified_diff_of_two_texts_makes_the_second(old in text(), new in text(), context in 1usize..5) {
        prop_assume!(old != new);
        let patch = unified_of(&old, &new, context);
        match one(&old, &patch) {
            Ok(made) => prop_assert_eq!(made, new),
            Err(fault) => prop_assert!(false, "{}\n{}", fault.message, patch),
        }
    }

    #[test]
    fn without_context_it_is_right_or_refused(old in text(), new in text()) {
        prop_assume!(old != new);
        let patch = unified_of(&old, &new, 0);
        if let Ok(made) = one(&old, &patch) {
            prop_assert_eq!(made, new);
        }
    }

    #[test]
    fn the_other_format_with_all_lines_makes_the_second_too(old in text(), new in text()) {
        prop_assume!(old != new);
        let patch = enveloped(&unified_of(&old, &new, 100));
        match one(&old, &patch) {
            Ok(made) => prop_assert_eq!(made, new),
            Err(fault) => prop_assert!(false, "{}\n{}", fault.message, patch),
        }
    }

    #[test]
    fn without_numbers_it_is_right_or_refused(old in text(), new in text(), context in 0usize..4) {
        prop_assume!(old != new);
        let patch = enveloped(&unified_of(&old, &new, context));
        if let Ok(made) = one(&old, &patch) {
            prop_assert_eq!(made, new, "{}", patch);
        }
    }

    #[test]
    fn where_lines_are_distinct_no_numbers_are_needed((old, new) in distinct(), context in 1usize..4, crlf in any::<bool>()) {
        prop_assume!(old != new && !old.is_empty());
        let patch = enveloped(&unified_of(&old, &new, context));
        let ends = |text: &str| if crlf { text.replace('\n', "\r\n") } else { text.to_owned() };
        match one(&ends(&old), &patch) {
            // A text of one line without an end has no line ends of its own.
            Ok(made) if !old.contains('\n') => prop_assert_eq!(made.replace("\r\n", "\n"), new),
            Ok(made) => prop_assert_eq!(made, ends(&new)),
            Err(fault) => prop_assert!(false, "{}\n{}", fault.message, patch),
        }
    }

    #[test]
    fn wrong_numbers_and_counts_do_no_harm((old, new) in distinct(), wrong in 0usize..90) {
        prop_assume!(old != new && !old.is_empty());
        let patch = unified_of(&old, &new, 2);
        let patch: String = patch.split_inclusive('\n').map(|line| {
            if line.starts_with("@@") { format!("@@ -{wrong},{wrong} +{wrong},7 @@\n") } else { line.to_owned() }
        }).collect();
        if let Ok(made) = one(&old, &patch) {
            prop_assert_eq!(made, new, "{}", patch);
        }
    }

    /// Whatever is sent: an error, or a change of nothing but what is named.
    #[test]
    fn a_mutilated_patch_never_panics_nor_reaches_further(
        (old, new) in distinct(),
        envelope in any::<bool>(),
        cuts in prop::collection::vec((0usize..400, 0usize..12, "[-+ @*\n\\\\a/\r`é]{0,6}"), 1..6),
    ) {
        let unified = unified_of(&old, &new, 2);
        let mut patch = if envelope { enveloped(&unified) } else { unified };
        for (at, len, put) in cuts {
            let floor = |mut at: usize| { at = at.min(patch.len()); while !patch.is_char_boundary(at) { at -= 1 } at };
            let (from, to) = (floor(at), floor(at + len));
            patch.replace_range(from..to, &put);
        }
        if let Ok(files) = parse(&patch) {
            prop_assert!(!files.is_empty());
            for file in files {
                if let Ok(done) = apply(Some(&old), &file) {
                    let mut at = 0;
                    for splice in &done.splices {
                        prop_assert!(at <= splice.range.start && splice.range.end <= old.len());
                        at = splice.range.end;
                    }
                    // Every line that stays or goes is the text's, and every line that comes is the patch's.
                    let made = spliced(&old, &done.splices);
                    for line in made.lines() {
                        let known = old.lines().any(|of| of == line) || patch.lines().any(|of| of.contains(line.trim()));
                        prop_assert!(known, "{line:?}\n{patch}");
                    }
                }
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused(patch in "(\\*\\*\\* (Begin Patch|End Patch|Add File: f|Update File: f|Move to: g)|diff --git a/f b/f|--- a/f|\\+\\+\\+ b/f|@@ -1,2 \\+1 @@|@@|[ +-]?[a-c]{0,2}|\\\\ No|\n){0,30}") {
        match parse(&patch) {
            Ok(files) => prop_assert!(!files.is_empty()),
            Err(fault) => {
                prop_assert_eq!(fault.kind, FaultKind::Unreadable);
                prop_assert!(!fault.message.is_empty());
            }
        }
    }
}

#[test]
fn very_many_hunks_are_placed() {
    const HUNKS: usize = 100_000;
    let mut old = String::new();
    let mut patch = "*** Begin Patch\n*** Update File: f\n".to_owned();
    let mut new = String::new();
    for at in 0..HUNKS {
        use std::fmt::Write as _;
        let _ = write!(old, "head {at}\nbody\n");
        let _ = write!(new, "head {at}\nBODY\n");
        let _ = write!(patch, "@@\n head {at}\n-body\n+BODY\n");
    }
    patch.push_str("*** End Patch\n");
    assert!(one(&old, &patch).unwrap() == new);
    // The same with lines that are all alike: refused, and not looked for forever.
    let alike = format!("*** Begin Patch\n*** Update File: f\n{}*** End Patch\n", "@@\n a\n-a\n+b\n".repeat(HUNKS / 4));
    let fault = one(&"a\n".repeat(HUNKS), &alike).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Ambiguous, "{}", fault.message);
    let near = format!("*** Begin Patch\n*** Update File: f\n@@\n{}-b\n+c\n*** End Patch\n", " a\n".repeat(20_000));
    let fault = one(&("a\n".repeat(HUNKS) + "b x\nb\n"), &near).unwrap_err();
    assert!(fault.message.len() < 20_000, "{}", fault.message.len());
}

#[test]
fn very_long_lines_are_bounded_in_what_is_said() {
    let long = "x".repeat(2 << 20);
    let patch = format!("*** Begin Patch\n*** Update File: f\n@@\n-{long}\n+y\n*** End Patch\n");
    assert_eq!(one(&format!("{long}\n"), &patch).unwrap(), "y\n");
    let fault = one(&format!("{long}z\n"), &patch).unwrap_err();
    assert!(fault.message.len() < 4_000, "{}", fault.message.len());
    let fault = parse(&format!("words {long}\n")).unwrap_err();
    assert!(fault.message.len() < 4_000);
    assert_eq!(parse(&"+".repeat(MAX_PATCH_BYTES + 1)).unwrap_err().kind, FaultKind::Unreadable);
}

#[test]
fn how_a_hunk_was_found_is_told() {
    let text = "fn a() {\n    let x = “1”;\n    b();  \n}\n";
    for (patch, strategy, before, after) in [
        ("@@\n fn a() {\n+    c();\n", "patch", (2, 0), (2, 1)),
        ("@@\n     b();\n-}\n+}}\n", "lineTrimmed", (4, 1), (4, 1)),
        ("@@\n   b();\n+  c();\n }\n", "whitespaceNormalized", (4, 0), (4, 1)),
        ("@@\n-    let x = \"1\";\n+    let y = \"1\";\n", "typographic", (2, 1), (2, 1)),
    ] {
        let patch = format!("*** Begin Patch\n*** Update File: f\n{patch}*** End Patch\n");
        let file = &parse(&patch).unwrap()[0];
        let done = apply(Some(text), file).unwrap();
        let found = &done.hunks[0];
        assert_eq!((found.strategy, found.before, found.after), (strategy, before, after), "{patch}");
    }
}

/// What stands above the hunk before it to the byte is meant, and not what is somewhat like it below.
#[test]
fn a_hunk_out_of_order_is_not_put_where_it_only_nearly_fits() {
    let patch = |body: &str| format!("*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n");
    let first = "@@\n-head\n+HEAD\n@@\n-call();\n+other();\n";
    let fault = one("call();\nhead\n    call();\n", &patch(first)).unwrap_err();
    assert!(fault.message.contains("order"), "{}", fault.message);
    // What the hunk before it has taken is no other place.
    let twice = "@@\n-call();\n+one();\n@@\n-call();\n+two();\n";
    assert_eq!(one("call();\n    call();\n", &patch(twice)).unwrap(), "one();\n    two();\n");
}
