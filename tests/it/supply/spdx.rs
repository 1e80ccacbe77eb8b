//! Which licences of an SPDX expression we take where there is a choice.

/// The licences that we take where others are offered too, the best first: the first has the shortest text.
const PREFERRED: &[&str] = &["MIT", "Apache-2.0", "ISC", "BSD-3-Clause", "Unlicense"];

/// The licences that an expression leaves us with: of those that `OR` (or `/`) joins the preferred one, of those that
/// `AND` joins all.
pub(super) fn chosen(expression: &str) -> Vec<String> {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let found = either(&tokens, &mut at);
    assert_eq!(at, tokens.len(), "no SPDX expression: {expression}");
    found
}

/// How willingly a set of licences is taken; lower is better.
fn rank(licences: &[String]) -> (usize, usize) {
    let worst = licences
        .iter()
        .map(|licence| PREFERRED.iter().position(|preferred| preferred == licence).unwrap_or(PREFERRED.len()));
    (licences.len(), worst.max().unwrap_or_default())
}

fn either(tokens: &[&str], at: &mut usize) -> Vec<String> {
    let mut best = both(tokens, at);
    while tokens.get(*at) == Some(&"OR") {
        *at += 1;
        let other = both(tokens, at);
        if rank(&other) < rank(&best) {
            best = other;
        }
    }
    best
}

fn both(tokens: &[&str], at: &mut usize) -> Vec<String> {
    let mut all = one(tokens, at);
    while tokens.get(*at) == Some(&"AND") {
        *at += 1;
        all.extend(one(tokens, at));
    }
    all
}

fn one(tokens: &[&str], at: &mut usize) -> Vec<String> {
    let token = tokens.get(*at).unwrap_or_else(|| panic!("an SPDX expression ends early: {tokens:?}"));
    *at += 1;
    if *token == "(" {
        let inner = either(tokens, at);
        assert_eq!(tokens.get(*at), Some(&")"), "{tokens:?}");
        *at += 1;
        return inner;
    }
    if tokens.get(*at) == Some(&"WITH") {
        *at += 2;
        return vec![format!("{token} WITH {}", tokens[*at - 1])];
    }
    vec![(*token).to_owned()]
}

#[test]
fn a_choice_is_made() {
    for (expression, expected) in [
        ("MIT", "MIT"),
        ("MIT OR Apache-2.0", "MIT"),
        ("Apache-2.0/MIT", "MIT"),
        ("Apache-2.0 / MIT", "MIT"),
        ("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT", "MIT"),
        ("Apache-2.0 WITH LLVM-exception", "Apache-2.0 WITH LLVM-exception"),
        ("(Apache-2.0 OR MIT) AND BSD-3-Clause", "MIT, BSD-3-Clause"),
        ("MIT AND Zlib OR Apache-2.0", "Apache-2.0"),
        ("MPL-2.0", "MPL-2.0"),
    ] {
        assert_eq!(chosen(expression).join(", "), expected, "{expression}");
    }
}
