//! Parts of a JSON document, picked by paths of RFC 9535. Pure.

use serde_json::{Map, Value};
use serde_json_path::JsonPath;

use super::target::Refused;

/// At most so many paths.
const MOST_PATHS: usize = 20;

/// A path has at most so many bytes.
const LONGEST: usize = 300;

/// A path picks at most so many values.
const MOST_VALUES: usize = 10_000;

/// A path goes by at most so many values, those counted again that it comes to again.
const MOST_STEPS: usize = 20_000_000;

/// Of a document with more values no path picks by a pattern, since a pattern is read anew for each value.
const MOST_MATCHED: usize = 20_000;

/// A pattern may cost so many bytes to be read.
const PATTERN: usize = 64 * 1024;

/// A path, and what it may cost.
#[derive(Debug, Clone)]
pub struct Path {
    /// As it was given.
    name: String,
    query: JsonPath,
    cost: Cost,
}

/// What a path may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cost {
    /// It comes to each value at most so often: `$[0,0][0,0]` four times to one.
    times: usize,
    /// Whether it matches patterns.
    matches: bool,
}

/// Reads paths. What a path costs grows with each search at any depth, each filter and each list of selectors, and a
/// filter
/// that begins again at the root looks at all of the document for each value: one search and two filters are the
/// most, and
/// `$` stands at the beginning alone.
pub fn paths(given: &[String]) -> Result<Vec<Path>, Refused> {
    if given.len() > MOST_PATHS {
        return Err(Refused(format!("`fields` has {} paths; at most {MOST_PATHS} are taken.", given.len())));
    }
    given.iter().map(|text| path(text)).collect()
}

fn path(text: &str) -> Result<Path, Refused> {
    let refused =
        |why: &str| Refused(format!("The JSONPath {text:?} in `fields` {why}; a right one is \"$.items[*].name\"."));
    if text.len() > LONGEST {
        return Err(refused(&format!("has more than {LONGEST} bytes")));
    }
    // People leave the `$` out.
    let whole = if text.starts_with('$') { text.to_owned() } else { format!("$.{}", text.trim_start_matches('.')) };
    let path = JsonPath::parse(&whole).map_err(|error| refused(&format!("cannot be read ({error})")))?;
    let (bare, literals) = without_literals(&whole);
    let count = |what: &str| bare.matches(what).count();
    if count("..") > 1 || count("?") > 2 || count("$") > 1 {
        return Err(refused("searches too much: one `..`, two filters and one `$`, at its beginning, are the most"));
    }
    let matches = ["match(", "search("].iter().any(|function| bare.contains(function));
    // Which of the literals are patterns does not matter: none of them may be one that is long to read.
    let heavy = |literal: &String| {
        let read = regex::RegexBuilder::new(literal).size_limit(PATTERN).build();
        matches!(read, Err(regex::Error::CompiledTooBig(_)))
    };
    if matches && (!patterns_are_literal(&bare) || literals.iter().any(heavy)) {
        return Err(refused("matches by what is no pattern in quotes, or by one that is too large"));
    }
    Ok(Path { name: text.to_owned(), query: path, cost: Cost { times: times(&bare), matches } })
}

/// A path with each literal in it emptied, and the literals.
fn without_literals(path: &str) -> (String, Vec<String>) {
    let (mut bare, mut literals, mut open) = (String::with_capacity(path.len()), Vec::<String>::new(), None);
    let mut characters = path.chars();
    while let Some(c) = characters.next() {
        match (open, c) {
            (None, '"' | '\'') => {
                bare.push(c);
                literals.push(String::new());
                open = Some(c);
            }
            (None, c) => bare.push(c),
            (Some(quote), c) if c == quote => {
                bare.push(c);
                open = None;
            }
            (Some(_), c) => {
                let meant = if c == '\\' { escaped(&mut characters) } else { Some(c) };
                if let Some(literal) = literals.last_mut() {
                    literal.extend(meant);
                }
            }
        }
    }
    (bare, literals)
}

/// What stands behind a backslash, as far as it matters to a pattern.
fn escaped(characters: &mut std::str::Chars<'_>) -> Option<char> {
    match characters.next()? {
        'u' => {
            let digits: String = characters.by_ref().take(4).collect();
            u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32)
        }
        c => Some(c),
    }
}

/// Whether each `match` and `search` of a path without literals has a literal as its second argument.
fn patterns_are_literal(bare: &str) -> bool {
    let mut calls = bare.match_indices("match(").chain(bare.match_indices("search("));
    calls.all(|(at, name)| {
        let (mut depth, mut last) = (0_usize, at + name.len());
        for (place, c) in bare[at + name.len()..].char_indices() {
            match c {
                '(' | '[' => depth += 1,
                ')' if depth == 0 => {
                    let place = at + name.len() + place;
                    return matches!(bare[last..place].trim(), "''" | "\"\"");
                }
                ')' | ']' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => last = at + name.len() + place + 1,
                _ => {}
            }
        }
        false
    })
}

/// How often a path without literals may come to one value: the product of the lengths of its lists of selectors.
fn times(bare: &str) -> usize {
    let (mut times, mut open) = (1_usize, Vec::new());
    for c in bare.chars() {
        match c {
            '[' => open.push(1_usize),
            ',' => {
                if let Some(selectors) = open.last_mut() {
                    *selectors += 1;
                }
            }
            ']' => times = times.saturating_mul(open.pop().unwrap_or(1)),
            _ => {}
        }
    }
    times
}

/// How many values a document has.
fn values(document: &Value) -> usize {
    1 + match document {
        Value::Array(items) => items.iter().map(values).sum::<usize>(),
        Value::Object(fields) => fields.values().map(values).sum::<usize>(),
        _ => 0,
    }
}

/// What the paths pick: an object with an array for each.
pub fn pick(text: &str, paths: &[Path]) -> Result<Value, Refused> {
    let document: Value = serde_json::from_str(text)
        .map_err(|error| Refused(format!("What came is no JSON ({error}), so that `fields` cannot pick from it.")))?;
    let values = values(&document);
    let mut picked = Map::new();
    for Path { name, query, cost } in paths {
        if cost.times.saturating_mul(values) > MOST_STEPS || cost.matches && values > MOST_MATCHED {
            let words = format!(
                "The path {name:?} is too much work for what came, which has {values} values; take one without lists of \
                 selectors and without patterns."
            );
            return Err(Refused(words));
        }
        let found = query.query(&document).all();
        if found.len() > MOST_VALUES {
            let words = format!("The path {name:?} picks {} values; at most {MOST_VALUES} are given.", found.len());
            return Err(Refused(words));
        }
        picked.insert(name.clone(), found.into_iter().cloned().collect());
    }
    Ok(Value::Object(picked))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn picked(text: &str, path: &str) -> Result<Value, String> {
        let paths = paths(&[path.to_owned()]).map_err(|Refused(why)| why)?;
        pick(text, &paths).map(|all| all[path].clone()).map_err(|Refused(why)| why)
    }

    #[test]
    fn what_is_picked() {
        let text = r#"{ "items": [{ "name": "a", "n": 1 }, { "name": "b", "n": 5 }], "x.y": 3 }"#;
        for (path, expected) in [
            ("$.items[*].name", json!(["a", "b"])),
            ("items[0].n", json!([1])),
            (".items[-1].name", json!(["b"])),
            ("$..n", json!([1, 5])),
            ("$.items[?@.n > 2].name", json!(["b"])),
            ("$['x.y']", json!([3])),
            ("$.nothing", json!([])),
            ("$['items'][0,1].n", json!([1, 5])),
            ("$.items[?@.name != '$..?,' && search(@.name, '^b')].n", json!([5])),
        ] {
            assert_eq!(picked(text, path), Ok(expected), "{path}");
        }
    }

    #[test]
    fn what_cannot_be_picked_is_told() {
        let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        for (text, path, why) in [
            ("{}", "$[", "cannot be read"),
            ("{}", "$..a..b", "searches too much"),
            ("{}", "$[?@.a[?@.b[?@.c]]]", "searches too much"),
            ("<html>", "$.a", "is no JSON"),
            (&deep, "$.a", "is no JSON"),
            ("{}", &"a".repeat(301), "more than 300 bytes"),
            // Each of these would take a minute and more, or all memory, for a document of a few megabytes.
            ("{}", "a[?$..x]", "searches too much"),
            ("{}", "a[?$.b[*]]", "searches too much"),
            ("[[[0]]]", &format!("${}", "[*,*]".repeat(40)), "too much work"),
            (&format!("[{}0]", "0,".repeat(200_000)), &format!("$..[{}*]", "*,".repeat(140)), "too much work"),
            (&format!("[{}0]", "0,".repeat(20_000)), "$[?match(@, 'a')]", "too much work"),
            ("[]", "$[?match(@.a, @.b)]", "no pattern in quotes"),
            ("[]", "$[?match(@.a, '(\\\\w{100}){100}')]", "too large"),
            ("[]", "$[?search(@.a, '(\\u005cw{100}){100}')]", "too large"),
        ] {
            let told = picked(text, path).unwrap_err();
            assert!(told.contains(why), "{path}: {told}");
        }
        assert!(paths(&vec!["a".to_owned(); 21]).is_err());
        let many = format!("[{}0]", "0,".repeat(MOST_VALUES));
        assert!(picked(&many, "$[*]").unwrap_err().contains("10001 values"));
    }
}
