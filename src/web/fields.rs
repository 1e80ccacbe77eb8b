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

/// Reads paths. What a path costs grows with each search at any depth and each filter: one search and two filters are the
/// most.
pub fn paths(given: &[String]) -> Result<Vec<(String, JsonPath)>, Refused> {
    if given.len() > MOST_PATHS {
        return Err(Refused(format!("`fields` has {} paths; at most {MOST_PATHS} are taken.", given.len())));
    }
    given.iter().map(|text| Ok((text.clone(), path(text)?))).collect()
}

fn path(text: &str) -> Result<JsonPath, Refused> {
    let refused =
        |why: &str| Refused(format!("The JSONPath {text:?} in `fields` {why}; a right one is \"$.items[*].name\"."));
    if text.len() > LONGEST {
        return Err(refused(&format!("has more than {LONGEST} bytes")));
    }
    let count = |what: &str| text.matches(what).count();
    if count("..") > 1 || count("?") > 2 || count("$") > 1 {
        return Err(refused("searches too much: one `..`, two filters and one `$` are the most"));
    }
    // People leave the `$` out.
    let whole = if text.starts_with('$') { text.to_owned() } else { format!("$.{}", text.trim_start_matches('.')) };
    JsonPath::parse(&whole).map_err(|error| refused(&format!("cannot be read ({error})")))
}

/// What the paths pick: an object with an array for each.
pub fn pick(text: &str, paths: &[(String, JsonPath)]) -> Result<Value, Refused> {
    let document: Value = serde_json::from_str(text)
        .map_err(|error| Refused(format!("What came is no JSON ({error}), so that `fields` cannot pick from it.")))?;
    let mut picked = Map::new();
    for (name, path) in paths {
        let found = path.query(&document).all();
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
        ] {
            let told = picked(text, path).unwrap_err();
            assert!(told.contains(why), "{path}: {told}");
        }
        assert!(paths(&vec!["a".to_owned(); 21]).is_err());
        let many = format!("[{}0]", "0,".repeat(MOST_VALUES));
        assert!(picked(&many, "$[*]").unwrap_err().contains("10001 values"));
    }
}
