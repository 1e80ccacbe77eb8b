//! The texts that are searched, and what is looked for in them. All are made by rule: every run has the same ones.

use std::fmt::Write as _;

/// What is measured.
pub(super) struct Case {
    /// What it shows.
    pub(super) name: &'static str,
    /// The text.
    pub(super) text: String,
    /// What is looked for.
    pub(super) old: String,
    /// What goes there.
    pub(super) new: String,
    /// Every place.
    pub(super) all: bool,
    /// The strategy that finds it, or the kind of miss.
    pub(super) outcome: &'static str,
    /// The reference is run on so many lines of the text at most; for more its time is extrapolated. 0: not run.
    pub(super) reference: usize,
}

/// Lines of the reference's text in cases that it takes one after the other.
const REFERENCE: usize = 100_000;

/// A number that depends on another and looks like chance.
fn chance(seed: usize) -> usize {
    let mixed = (seed as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    usize::try_from((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40).unwrap_or(0)
}

const NOUNS: [&str; 16] = [
    "account", "buffer", "channel", "document", "element", "folder", "gateway", "handler", "index", "journal", "key",
    "listener", "message", "node", "option", "packet",
];
const VERBS: [&str; 12] =
    ["append", "build", "close", "decode", "encode", "fetch", "gather", "insert", "load", "merge", "open", "parse"];

/// One function of plain code: 12 lines, some of them as in every other.
fn function(number: usize, out: &mut Vec<String>) {
    let noun = |at: usize| NOUNS[chance(number * 31 + at) % NOUNS.len()];
    let verb = |at: usize| VERBS[chance(number * 37 + at) % VERBS.len()];
    let (a, b, c) = (noun(1), noun(2), noun(3));
    out.extend([
        format!("    /// Makes {a} {number} ready to {} its {b}.", verb(4)),
        format!("    pub fn {}_{a}_{number}(&mut self, {b}: &{b}::Options) -> Result<(), Error> {{", verb(1)),
        format!("        let {c} = self.{}_{c}({b}.limit(), {});", verb(2), chance(number) % 9_999),
        format!("        if {c}.is_empty() || {b}.closed {{"),
        "            return Ok(());".to_owned(),
        "        }".to_owned(),
        String::new(),
        format!("        self.{a}s.{}(\"{c} {number}\", {c}.len())?;", verb(3)),
        format!("        self.count += {}; // one for each {c}", chance(number + 7) % 99),
        "        Ok(())".to_owned(),
        "    }".to_owned(),
        String::new(),
    ]);
}

/// So many lines of plain code.
fn code(lines: usize) -> Vec<String> {
    let mut out = Vec::with_capacity(lines + 12);
    for number in 0..lines.div_ceil(12) {
        function(number, &mut out);
    }
    out.truncate(lines);
    out
}

fn joined<S: AsRef<str>>(lines: &[S]) -> String {
    lines.iter().flat_map(|line| [line.as_ref(), "\n"]).collect()
}

/// A function that no text has.
fn strange(lines: usize) -> Vec<String> {
    let mut out = Vec::new();
    for number in 0..lines.div_ceil(12) {
        function(90_000_000 + number, &mut out);
    }
    out.truncate(lines);
    out
}

/// Plain code of so many lines: exact, by each strategy, and not at all.
pub(super) fn plain(lines: usize) -> Vec<Case> {
    let mut code = code(lines);
    let from = lines / 12 * 3 / 4 * 12;
    for at in [2, 3, 7, 8] {
        let _ = write!(code[from + at], " // step_{at}_of_the_one");
    }
    let text = joined(&code);
    let place = &code[from..from + 11];
    let case = |name: &'static str, outcome: &'static str, old: String| {
        let new = old.replace("self.count +=", "self.total +=");
        assert_ne!(old, new, "{name}");
        Case { name, text: text.clone(), old, new, all: false, outcome, reference: REFERENCE }
    };
    let changed = |change: &dyn Fn(usize, &str) -> String| -> String {
        joined(&place.iter().enumerate().map(|(at, line)| change(at, line)).collect::<Vec<_>>())
    };
    let inside = |at: usize| at > 0 && at < place.len() - 1;
    let mut spread = place.to_vec();
    spread[1] = spread[1].replace("(&mut self, ", "(&mut self,\n        ");
    // Up to a line that can hold a block: a brace cannot.
    let mut stale = place[..9].to_vec();
    stale[2] = stale[2].replace("let ", "let mut ");
    let mut cases = vec![
        case("exact", "simple", joined(place)),
        case(
            "dedented",
            "indentationFlexible",
            changed(&|_, line| line.strip_prefix("    ").unwrap_or(line).to_owned()),
        ),
        case("trimmed", "lineTrimmed", changed(&|_, line| line.trim().to_owned())),
        case(
            "spaced",
            "blockAnchor",
            changed(&|at, line| {
                if inside(at) {
                    line.replace(" = ", "  =  ")
                        .replace(" +=", "  +=")
                        .replace("self.count  +=", "self.count +=")
                        .replace("// ", "//  ")
                } else {
                    line.to_owned()
                }
            }),
        ),
        case("wrapped", "whitespaceNormalized", joined(&spread)),
        case("escaped", "escapeNormalized", changed(&|_, line| line.replace('"', "\\\""))),
        case("curly quotes", "typographic", changed(&|_, line| line.replacen('"', "“", 1).replacen('"', "”", 1))),
        case("numbered", "lineNumbers", changed(&|at, line| format!("{}\t{line}", from + at + 1))),
        case("blank ends", "trimmedBoundary", format!("\n\n{}\n\n\n", joined(place).replacen('"', "“", 1))),
        case("a stale line", "blockAnchorRelaxed", joined(&stale)),
        case(
            "a stale first line",
            "multiOccurrence",
            changed(&|at, line| if at == 0 { line.replace("Makes", "Gets") } else { line.to_owned() }),
        ),
        case("miss, 12 lines", "NotFound", joined(&strange(12))),
    ];
    let miss = |name: &'static str, old: Vec<String>| {
        let old = joined(&old);
        Case {
            name,
            text: text.clone(),
            new: format!("{old}more\n"),
            old,
            all: false,
            outcome: "NotFound",
            reference: REFERENCE,
        }
    };
    cases.push(miss("miss, 1 line", strange(3).split_off(2)));
    cases.push(miss("miss, 48 lines", strange(48)));
    // Each line is somewhere in the text, and no two of them together.
    cases.push(miss("miss, lines of all over", (0..12).map(|at| code[chance(at) % lines].clone()).collect()));
    cases.push(Case {
        name: "all, exact",
        text: text.clone(),
        old: "self.count".into(),
        new: "self.total".into(),
        all: true,
        outcome: "simple",
        reference: 0,
    });
    cases.push(Case {
        name: "all, trimmed",
        text,
        old: "Ok(())\n    }\n\n".into(),
        new: "Ok(())\n    }\n\n\n".into(),
        all: true,
        outcome: "lineTrimmed",
        reference: 0,
    });
    cases
}

/// Texts that make a careless search quadratic.
pub(super) fn hostile() -> Vec<Case> {
    let case = |name, text: String, old: String, outcome, reference| {
        let new = format!("{old}new\n");
        Case { name, text, old, new, all: false, outcome, reference }
    };
    let all = |mut case: Case| {
        case.all = true;
        case
    };
    let braces = |lines: usize| "}\n".repeat(lines);
    let long = |bytes: usize| -> String {
        let mut line = String::with_capacity(bytes + 32);
        let mut at = 0;
        while line.len() < bytes {
            line.push_str("var a");
            line.push_str(&chance(at).to_string());
            line.push_str("=f(b,c);");
            at += 1;
        }
        line
    };
    let minified = long(20_000);
    let big = code(1_000_000);
    let big_text = joined(&big);
    let part = &big[600_000..605_000];
    let fuzzy: Vec<String> = part.iter().map(|line| line.trim().to_owned()).collect();
    let stale: Vec<String> = part
        .iter()
        .enumerate()
        .map(|(at, line)| if at % 100 == 7 { line.replace("self", "this") } else { line.clone() })
        .collect();
    let line = long(100_000_000);
    let inside = line[50_000_000..50_002_000].to_owned();
    let inside = inside[inside.find(';').unwrap_or(0)..].to_owned();
    let near = inside.replacen("=f(b", "=g(b", 1);
    let near_line = {
        let middle = line[..60_000_000].rfind("=f(b").unwrap_or(0);
        format!("{}=g(b{}", &line[..middle], &line[middle + 4..])
    };
    let repeated = |text: usize, old: usize, odd: &str| {
        let line = "    value = next(value)\n";
        (line.repeat(text), format!("{}{odd}{}", line.repeat(old / 2), line.repeat(old / 2)))
    };
    let (same, odd) = repeated(100_000, 1_000, "    other = next(value)\n");
    let wide: Vec<String> = (0..48).map(|at| long(20_000).replace("=f(", &format!("=f{at}("))).collect();
    let other: Vec<String> = (0..48).map(|at| long(20_000).replace("=f(", &format!("=h{at}("))).collect();
    vec![
        case("braces, 100 k, absent", braces(100_000), format!("{}x\n", braces(5_000)), "NotFound", 10_000),
        case("braces, 1 M, absent", braces(1_000_000), format!("{}x\n", braces(5_000)), "NotFound", 10_000),
        case("braces, 1 M, indented", braces(1_000_000), "  }\n".repeat(5_000), "Ambiguous", 10_000),
        all(case("braces, 1 M, all", braces(1_000_000), "}\n".into(), "simple", 0)),
        all(case("braces, 1 M, all, spaced", braces(1_000_000), " }\n".into(), "indentationFlexible", 0)),
        case("blank lines, 1 M", " \t\n".repeat(1_000_000), "\t\n \nx\n".into(), "NotFound", 10_000),
        case("blank lines, 1 M, blank old", " \t\n".repeat(1_000_000), "\t\t\n \n".into(), "NotFound", 10_000),
        case("repeated line, one odd", same, odd, "NotFound", 10_000),
        case("5,000 lines, 1 M, exact", big_text.clone(), joined(part), "simple", 1_000_000),
        case("5,000 lines, 1 M, trimmed", big_text.clone(), joined(&fuzzy), "lineTrimmed", 6_000),
        case("5,000 lines, 1 M, stale", big_text.clone(), joined(&stale), "blockAnchorRelaxed", 6_000),
        case("5,000 lines, 1 M, absent", big_text, joined(&strange(5_000)), "NotFound", 6_000),
        case("100 MB line, old inside", line.clone(), inside, "simple", 0),
        case("100 MB line, near", line.clone(), near, "NotFound", 0),
        case("100 MB line, old 100 MB, near", line, near_line, "NotFound", 0),
        case(
            "minified line, small change",
            format!("{minified}\n"),
            minified.replacen("=f(b", "=g(b", 1),
            "NotFound",
            10,
        ),
        case("minified line, many changes", format!("{minified}\n"), minified.replace("b,c", "c,b"), "NotFound", 10),
        case("48 minified lines", joined(&wide), joined(&other), "NotFound", 0),
    ]
}
