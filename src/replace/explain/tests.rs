//! What is said of misses, for texts as they are met, and how much of it for texts that nobody should send.

use expect_test::{Expect, expect};

use crate::replace::{Miss, MissKind, Request, find};

fn missed(text: &str, old: &str, new: &str) -> Miss {
    find(text, &Request { old, new, all: false }).expect_err("a miss")
}

#[track_caller]
fn check(kind: MissKind, text: &str, old: &str, new: &str, expected: &Expect) {
    let miss = missed(text, old, new);
    assert_eq!(miss.kind, kind, "{}", miss.explanation);
    expected.assert_eq(&miss.explanation);
}

const PYTHON: &str = "class Cache:\n    def __init__(self, limit):\n        self.limit = limit\n        self.items = {}\n\n    def get(self, key):\n        return self.items.get(key)\n\n    def put(self, key, value):\n        if len(self.items) >= self.limit:\n            self.items.clear()\n        self.items[key] = value\n";

const RUST: &str = "impl Parser {\n    fn next(&mut self) -> Option<Token> {\n        let token = self.tokens.pop();\n        self.seen += 1;\n        token\n    }\n\n    fn peek(&self) -> Option<&Token> {\n        let token = self.tokens.last();\n        token\n    }\n}\n";

const SCRIPT: &str = "export function sum(list: number[]): number {\n  let total = 0;\n  for (const item of list) {\n    total += item;\n  }\n  return total;\n}\n\nexport function mean(list: number[]): number {\n  let total = 0;\n  for (const item of list) {\n    total += item;\n  }\n  return total / list.length;\n}\n";

#[test]
fn the_closest_region_is_shown() {
    check(
        MissKind::NotFound,
        PYTHON,
        "    def put(self, key, val):\n        if len(self) > self.limit:\n            self.items.popitem(last=False)\n",
        "    def put(self, key, val):\n        pass\n",
        &expect![[r"
            old_string is not in the text. The closest is lines 9-11 (71 % alike; - is what you sent, + is what is there):
               -     def put(self, key, val):
             9 +     def put(self, key, value):
               -         if len(self) > self.limit:
            10 +         if len(self.items) >= self.limit:
               -             self.items.popitem(last=False)
            11 +             self.items.clear()
            Copy lines 9-11 as they are there into old_string, or read the file again if you expected something else."]],
    );
    // From the middle of a line, in CRLF, with a byte order mark and without a last line end.
    let text = format!("\u{feff}{}", RUST.trim_end().replace('\n', "\r\n"));
    check(
        MissKind::Conflict,
        &text,
        "token = self.tokens.first();\n        token\n    }\n}",
        "x",
        &expect![[r"
        The closest place is lines 9-12 (by multiOccurrence), but there new_string changes what is not as old_string has it, so nothing was changed. At line 9:
          old_string has `token = self.tokens.first();`
          the text has `let token = self.tokens.last();`
          new_string has it taken out
        (- is what you sent, + is what is there):
           - token = self.tokens.first();
         9 +         let token = self.tokens.last();
        10           token
        11       }
        12   }
        Send old_string with the lines as they are there, and new_string as they should become."]],
    );
    check(
        MissKind::NotFound,
        SCRIPT,
        "return total / items.length;",
        "return total / (list.length || 1);",
        &expect![[r"
            old_string is not in the text. The closest is line 14 (82 % alike; - is what you sent, + is what is there):
               - return total / items.length;
            14 +   return total / list.length;
            Copy line 14 as it is there into old_string, or read the file again if you expected something else."]],
    );
}

#[test]
fn what_is_not_seen_is_marked() {
    check(
        MissKind::NotFound,
        "a = 1\nname =\u{200b} \"x\"\nb = 2\n",
        "name = \"x\"\n",
        "name = \"y\"\n",
        &expect![[r#"
        old_string is not in the text. The closest is line 2 (90 % alike; - is what you sent, + is what is there):
          - name = "x"
        2 + name =<U+200B> "x"
        Only white space and invisible characters differ in line 2.
        Names such as <tab>, <space> and <U+00A0> stand for characters that are not seen.
        Copy line 2 as it is there into old_string, or read the file again if you expected something else."#]],
    );
    check(
        MissKind::NotFound,
        "total = 1\nTotal = Compute(Items)\n",
        "total = 1\ntotal = compute(items)\n",
        "total = 0\n",
        &expect![[r"
            old_string is not in the text. The closest is lines 1-2 (90 % alike; - is what you sent, + is what is there):
            1   total = 1
              - total = compute(items)
            2 + Total = Compute(Items)
            Only upper and lower case or look-alikes differ in line 2.
            Copy lines 1-2 as they are there into old_string, or read the file again if you expected something else."]],
    );
}

#[test]
fn a_change_made_before_is_told() {
    check(
        MissKind::NotFound,
        PYTHON,
        "        self.items = dict()\n",
        "        self.items = {}\n",
        &expect![[r"
            old_string is not in the text. The closest is line 4 (68 % alike; - is what you sent, + is what is there):
              -         self.items = dict()
            4 +         self.items = {}
            new_string is in the text already, at line 4: the change may have been made before.
            Copy line 4 as it is there into old_string, or read the file again if you expected something else."]],
    );
    // A new text that says little is everywhere.
    assert!(!missed(PYTHON, "self.stuff = limit\n", "key").explanation.contains("already"));
}

#[test]
fn each_of_several_places_is_told_by_what_it_has_alone() {
    check(
        MissKind::Ambiguous,
        SCRIPT,
        "    total += item;\n",
        "    total -= item;\n",
        &expect![[r"
        old_string fits 2 places, so nothing was changed:
          line 4: `total += item;` (2 below, line 6: `return total;`)
          line 12: `total += item;` (2 below, line 14: `return total / list.length;`)
        Add lines around it that only the right place has, to old_string and to new_string,
        or set replace_all to change every one."]],
    );
    check(
        MissKind::Ambiguous,
        RUST,
        "        token\n    }\n",
        "        token.clone()\n    }\n",
        &expect![[r"
        old_string fits 2 places, so nothing was changed:
          line 5: `token` (1 above, line 4: `self.seen += 1;`)
          line 10: `token` (1 above, line 9: `let token = self.tokens.last();`)
        Add lines around it that only the right place has, to old_string and to new_string,
        or set replace_all to change every one."]],
    );
    check(
        MissKind::Ambiguous,
        "let a = f(x) + f(x);\nlet b = f(x);\n",
        "f(x)",
        "g(x)",
        &expect![[r"
        old_string fits 3 places, so nothing was changed:
          line 1, column 9: `let a = f(x) + f(x);`
          line 1, column 16: `let a = f(x) + f(x);`
          line 2: `let b = f(x);`
        Add lines around it that only the right place has, to old_string and to new_string,
        or set replace_all to change every one."]],
    );
    check(
        MissKind::Ambiguous,
        "a\n}\n}\nb\n}\n}\n}\n",
        "}\n",
        "};\n",
        &expect![[r"
        old_string fits 5 places, so nothing was changed:
          line 2: `}` (1 above, line 1: `a`)
          line 3: `}` (1 below, line 4: `b`)
          line 5: `}` (1 above, line 4: `b`)
          line 6: `}` (2 above, line 4: `b`)
          line 7: `}` (3 above, line 4: `b`)
        Add lines around it that only the right place has, to old_string and to new_string,
        or set replace_all to change every one."]],
    );
}

#[test]
fn a_clash_tells_all_three_sides() {
    let text = "fn load() {\n    let file = open(path)?;\n    let size = file.len();\n    let data = read(file, size);\n    log(data);\n    close(file);\n}\n";
    // New changes a line that is not as old has it.
    check(
        MissKind::Conflict,
        text,
        "fn load() {\n    let file = open(path)?;\n    let size = file.len();\n    let data = read(file);\n    log(data);\n    close(file);\n}\n",
        "fn load() {\n    let file = open(path)?;\n    let size = file.len();\n    let data = slurp(file);\n    log(data);\n    close(file);\n}\n",
        &expect![[r"
            The closest place is lines 1-7 (by multiOccurrence), but there new_string changes what is not as old_string has it, so nothing was changed. At line 4:
              old_string has `let data = read(file);`
              the text has `let data = read(file, size);`
              new_string has `let data = slurp(file);`
            (- is what you sent, + is what is there):
            1   fn load() {
            2       let file = open(path)?;
            3       let size = file.len();
              -     let data = read(file);
            4 +     let data = read(file, size);
            5       log(data);
            6       close(file);
            7   }
            Send old_string with the lines as they are there, and new_string as they should become."]],
    );
    // New puts a line in where the text has one that old lacks.
    let body = |more: &str| {
        format!(
            "let tx = begin(db);\n    insert(tx, user);\n{more}    insert(tx, group);\n    insert(tx, roles);\ncommit(tx);\n"
        )
    };
    check(
        MissKind::Conflict,
        &body("    audit(tx, user);\n"),
        &body(""),
        &body("    notify(tx, user);\n"),
        &expect![[r"
            The closest place is lines 1-6 (by blockAnchorRelaxed), but there new_string changes what is not as old_string has it, so nothing was changed. At line 3:
              old_string has nothing there
              the text has `audit(tx, user);`
              new_string has `notify(tx, user);`
            (- is what you sent, + is what is there):
            1   let tx = begin(db);
            2       insert(tx, user);
            3 +     audit(tx, user);
            4       insert(tx, group);
            5       insert(tx, roles);
            6   commit(tx);
            Send old_string with the lines as they are there, and new_string as they should become."]],
    );
}

#[test]
fn line_numbers_are_those_of_the_text() {
    for (lead, end) in [("", "\n"), ("\u{feff}", "\n"), ("\u{feff}", "\r\n"), ("", "\r\n")] {
        for last in ["", end] {
            let lines: Vec<String> = (1..=9).map(|at| format!("value_{at} = compute({at})")).collect();
            let text = format!("{lead}{}{last}", lines.join(end));
            let miss = missed(&text, "alue_7 = computed(7)\nvalue_8 = computed(8)\nvalue_9 = compute(9)", "x");
            assert_eq!(miss.lines, [7, 8, 9], "{text:?}");
            for (at, line) in lines.iter().enumerate().skip(6).map(|(at, line)| (at + 1, line)) {
                let shown =
                    miss.explanation.lines().any(|row| row.starts_with(&format!("{at} ")) && row.ends_with(line));
                assert!(shown, "{at}: {}", miss.explanation);
            }
            assert_eq!(missed(&text, "compute(", "x(").lines, (1..=9).collect::<Vec<_>>());
        }
    }
}

/// Texts that nobody should send: what is told of them is short all the same.
#[test]
fn whatever_is_told_is_bounded() {
    let long = "word ".repeat(60_000);
    let places = "x = 1;\n".repeat(20_000);
    let invisible = "\u{200b}".repeat(20_000);
    let block: String = (0..1_000).map(|at| ["    value_", &at.to_string(), " = compute();\n"].concat()).collect();
    let cases: Vec<(MissKind, String, String, String)> = vec![
        (MissKind::NotFound, format!("{long}end\n"), "word word words other\n".into(), "x".into()),
        (MissKind::NotFound, format!("{long}end\n"), format!("{long}fin\n"), long.clone()),
        (MissKind::NotFound, format!("name{invisible} = 1\n"), format!("name = 1{invisible}2\n"), "x".into()),
        (MissKind::Ambiguous, places.clone(), "x = 1;\n".into(), long.clone()),
        (MissKind::Ambiguous, format!("{long}\n{long}\n"), "word ".into(), "x".into()),
        (MissKind::Ambiguous, format!("{long}\n{long}\n"), format!("{long}\n"), "x".into()),
        (MissKind::Elision, places, format!("// ... rest {long}\n"), "x".into()),
        (
            MissKind::NotFound,
            block.clone(),
            block.replace("= compute", "= computed").replace("value", "values") + "more\n",
            "x".into(),
        ),
        (
            MissKind::Conflict,
            block.replace("value_7 = compute", "value_7 = computed"),
            block.clone(),
            block.replace("value_7 = compute", "value_7 = count"),
        ),
    ];
    for (kind, text, old, new) in cases {
        let miss = missed(&text, &old, &new);
        assert_eq!(miss.kind, kind, "{}", miss.explanation);
        assert!(miss.explanation.len() < 12_000, "{kind:?}: {}", miss.explanation.len());
        assert!(miss.lines.len() <= super::NUMBERS);
        assert_eq!(missed(&text, &old, &new), miss, "the same each time");
    }
}
