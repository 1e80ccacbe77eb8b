//! The front matter of a skill: YAML between two lines of three hyphens. What is broken costs only what it says. Pure.

use serde_json::{Map, Value};

/// Front matter with more bytes is not read.
const MOST_BYTES: usize = 16 * 1024;

/// What a skill says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Front {
    /// Its name, if it gives one.
    pub name: Option<String>,
    /// What it is for, on one line.
    pub description: Option<String>,
    /// Which arguments it takes, in its author's words.
    pub hint: Option<String>,
    /// Its author does not want models to find it by themselves.
    pub unlisted: bool,
    /// What is wrong with the front matter, in words.
    pub fault: Option<String>,
}

/// What a skill says of itself, and the rest of its text. Keys that mean nothing here are fine; where the YAML is none, what
/// can be read line by line counts.
pub(super) fn read(text: &str) -> (Front, &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some((yaml, body)) = split(text) else {
        let begun = lines(text).next().is_some_and(|(_, line)| line == "---");
        let fault = begun.then(|| "its front matter has no end: a line `---` is missing".to_owned());
        return (Front { description: first_words(text), fault, ..Front::default() }, text);
    };
    let (fields, fault) = fields(yaml);
    let text_of = |keys: &[&str]| keys.iter().find_map(|key| fields.get(*key)).and_then(said);
    let front = Front {
        name: text_of(&["name"]),
        description: text_of(&["description", "when_to_use"]).or_else(|| first_words(body)),
        hint: text_of(&["argument-hint", "argument_hint", "arguments"]),
        unlisted: fields.get("disable-model-invocation").is_some_and(|value| *value == true || *value == "true"),
        fault,
    };
    (front, body)
}

/// The front matter and what comes after it.
fn split(text: &str) -> Option<(&str, &str)> {
    let mut lines = lines(text);
    let (end, first) = lines.next()?;
    if first != "---" {
        return None;
    }
    let mut at = end;
    for (end, line) in lines {
        if line == "---" || line == "..." {
            return Some((&text[first.len()..at], text[end..].trim_start_matches(['\r', '\n'])));
        }
        at = end;
    }
    None
}

/// The lines of a text without white space at their ends, each with where it ends, its line end included.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        *at += line.len();
        Some((*at, line.trim_end()))
    })
}

/// The keys of front matter, and what is wrong with it.
fn fields(yaml: &str) -> (Map<String, Value>, Option<String>) {
    if yaml.len() > MOST_BYTES {
        let bytes = yaml.len();
        return (Map::new(), Some(format!("its front matter has {bytes} bytes, and at most {MOST_BYTES} are read")));
    }
    if yaml.trim().is_empty() {
        return (Map::new(), None);
    }
    let why = match serde_saphyr::from_str::<Value>(yaml) {
        Ok(Value::Object(fields)) => return (fields, None),
        Ok(Value::Null) => return (Map::new(), None),
        Ok(_) => "it is no mapping of keys".to_owned(),
        Err(error) => error.to_string().lines().next().unwrap_or_default().trim().to_owned(),
    };
    (by_line(yaml), Some(format!("its front matter is no valid YAML ({why}); it was read line by line")))
}

/// Keys and their values where each is on one line, as people write them who forget the quotes (`description: Use when: ...`).
fn by_line(yaml: &str) -> Map<String, Value> {
    let mut fields = Map::new();
    for line in yaml.lines() {
        if let Some((key, value)) = line.split_once(':')
            && !key.is_empty()
            && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        {
            let value = value.trim();
            let unquoted = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
            fields.entry(key).or_insert_with(|| Value::String(unquoted.unwrap_or(value).to_owned()));
        }
    }
    fields
}

/// A value as one line of text; `None`: there is none.
fn said(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        // `argument-hint: [file]` is a list to YAML.
        Value::Array(items) => format!("[{}]", items.iter().filter_map(said).collect::<Vec<_>>().join(", ")),
        Value::Null | Value::Object(_) => return None,
    };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then_some(line)
}

/// The first line of a text that says something, for a skill that does not say what it is for.
fn first_words(text: &str) -> Option<String> {
    let line = text.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty())?;
    (line != "---").then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn front(name: &str, description: &str) -> Front {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Front { name: some(name), description: some(description), ..Front::default() }
    }

    #[test]
    fn what_is_whole_is_read() {
        let hinted = Front { hint: Some("[issue]".to_owned()), unlisted: true, ..front("a", "d") };
        for (text, expected, body) in [
            ("---\nname: a\ndescription: d\n---\nBody\n", front("a", "d"), "Body\n"),
            ("---\r\nname: a\r\ndescription: d\r\n---\r\n\r\nBody", front("a", "d"), "Body"),
            ("\u{feff}--- \nname: 'a'\ndescription: >\n  d\n  e\n---\nB", front("a", "d e"), "B"),
            ("---\nname: 7\ndescription: true\nlicense: MIT\nmetadata:\n  x: [1]\n---\nB", front("7", "true"), "B"),
            (
                "---\nname: a\ndescription: d\nargument-hint: [issue]\ndisable-model-invocation: true\n---\nB",
                hinted,
                "B",
            ),
            ("---\n---\n# Title\nB", front("", "Title"), "# Title\nB"),
            ("---\n# nothing but a comment\n---\nB", front("", "B"), "B"),
            ("# Title\n\nB", front("", "Title"), "# Title\n\nB"),
            ("", Front::default(), ""),
            ("---\nname: a\n---", front("a", ""), ""),
            ("---\nname: a\n---\nB\n---\nC", front("a", "B"), "B\n---\nC"),
            ("-----\nB", front("", "-----"), "-----\nB"),
        ] {
            assert_eq!(read(text), (expected, body), "{text}");
        }
    }

    #[test]
    fn what_is_broken_is_told_and_costs_only_itself() {
        let long = format!("---\nname: a\nx: {}\n---\nB", "y".repeat(MOST_BYTES));
        for (text, expected, fault) in [
            (
                "---\nname: a\ndescription: Use when: it rains\n---\nB",
                front("a", "Use when: it rains"),
                "no valid YAML",
            ),
            ("---\nname: \"a\n description: d\n---\nB", front("\"a", "B"), "no valid YAML"),
            ("---\n- a\n- b\n---\nB", front("", "B"), "no mapping"),
            ("---\nname: a\ndescription: d\nB", front("", ""), "no end"),
            (&long, front("", "B"), "bytes, and at most"),
        ] {
            let (mut read, _) = read(text);
            let told = read.fault.take().unwrap_or_else(|| panic!("no fault: {text}"));
            assert!(told.contains(fault), "{told}");
            assert_eq!(read, expected, "{text}");
        }
    }

    #[test]
    fn entities_that_grow_are_no_danger() {
        let mut yaml = "---\na: &a [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for (one, other) in
            ["a", "b", "c", "d", "e", "f", "g", "h"].iter().zip(["b", "c", "d", "e", "f", "g", "h", "i"])
        {
            yaml.extend([format!("{other}: &{other} [{}]\n", vec![format!("*{one}"); 10].join(","))]);
        }
        yaml.push_str("name: bomb\n---\nB");
        let (front, body) = read(&yaml);
        assert_eq!((front.name.as_deref(), body), (Some("bomb"), "B"));
        assert!(front.fault.is_some());
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_the_body_is_its_end(text in "(---\n)?([a-z:\\-#\\[\\]&*'\" ]{0,12}\n){0,6}(---\n)?[a-z\n]{0,20}") {
            let (_, body) = read(&text);
            prop_assert!(text.ends_with(body));
        }
    }
}
