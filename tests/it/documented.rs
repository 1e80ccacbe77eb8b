//! `docs/PROTOCOL.md` and the pages below it tell the truth: every method of ours has one section, its fields are those of
//! the schemas, and its example is what really goes over the wire. With `UPDATE_EXPECT=1` what is made is brought up to
//! date.

mod exchange;
mod fields;
mod most;
mod rest;

use std::collections::BTreeMap;
use std::path::Path;

use ropewalk::server::protocol::{Direction, Kind, METHODS, schemas};
use serde_json::Value;

use exchange::Examples;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs");
/// The page that says how it all goes together.
const ENTRY: &str = "PROTOCOL.md";
/// The page that is made as a whole.
const TYPES: &str = "protocol/types.md";
/// The example on the entry page.
const FIRST: &str = "first";
/// What a section says of requests.
const CANNOT: &str = "**When it cannot.** ";

/// The pages by name, as they are.
type Pages = BTreeMap<String, String>;

#[expect(clippy::disallowed_methods, reason = "the pages are files of the repository")]
fn pages() -> Pages {
    let mut names: Vec<String> = vec![ENTRY.to_owned()];
    for entry in Path::new(DOCS).join("protocol").read_dir().unwrap() {
        names.push(format!("protocol/{}", entry.unwrap().file_name().to_string_lossy()));
    }
    names.into_iter().map(|name| (name.clone(), std::fs::read_to_string(Path::new(DOCS).join(name)).unwrap())).collect()
}

/// The sections of a page, each by the name in its heading, which is of the method or says what the example is.
fn sections(name: &str, page: &str) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    for line in page.lines() {
        let heading = line.strip_prefix("## ").map(|heading| match heading {
            "A first conversation" if name == ENTRY => FIRST.to_owned(),
            heading => heading.trim_matches('`').to_owned(),
        });
        if let Some(heading) = heading {
            out.push((heading, String::new()));
        }
        if let Some((_, text)) = out.last_mut() {
            text.push_str(line);
            text.push('\n');
        }
    }
    out
}

/// A text with what stands between two marks put in the place of what is there; what has no such marks stays.
fn between(text: &str, from: &str, to: &str, new: &str) -> String {
    let Some((before, rest)) = text.split_once(from) else { return text.to_owned() };
    let Some((_, after)) = rest.split_once(to) else { return text.to_owned() };
    format!("{before}{from}{new}{to}{after}")
}

/// The pages as they should be.
fn mended(pages: &Pages, examples: &Examples, schemas: &Value) -> Pages {
    let methods: BTreeMap<&str, &Value> = schemas["methods"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|method| Some((method["name"].as_str()?, method)))
        .collect();
    let mut out = Pages::new();
    for (name, page) in pages {
        if name == TYPES {
            out.insert(name.clone(), fields::types(schemas));
            continue;
        }
        let mut page = page.clone();
        for (heading, section) in sections(name, &page.clone()) {
            let mut new = section.clone();
            if let Some(method) = methods.get(heading.as_str()) {
                let fields = format!("\n\n{}\n", fields::of_method(schemas, method));
                new = between(&new, "<!-- fields -->", "<!-- example -->", &fields);
            }
            if let Some(messages) = examples.0.get(heading.as_str()) {
                let pretty = |message: &Value| serde_json::to_string_pretty(message).unwrap() + "\n";
                let shown: String = messages.iter().map(pretty).collect();
                if let Some((before, after)) = new.split_once("<!-- example -->") {
                    new = format!("{before}<!-- example -->{}", between(after, "```json\n", "```", &shown));
                }
            }
            page = page.replacen(&section, &new, 1);
        }
        out.insert(name.clone(), page);
    }
    out
}

/// What is wrong with the pages, beside what `mended` mends.
fn faults(pages: &Pages, examples: &Examples) -> Vec<String> {
    let mut faults = Vec::new();
    let all: Vec<(String, String, String)> = pages
        .iter()
        .flat_map(|(name, page)| {
            sections(name, page).into_iter().map(|(heading, text)| (name.clone(), heading, text)).collect::<Vec<_>>()
        })
        .filter(|(name, heading, _)| heading == FIRST || (name != ENTRY && name != TYPES))
        .collect();
    for method in METHODS {
        let found: Vec<_> = all.iter().filter(|(_, heading, _)| heading == method.name).collect();
        let [(page, _, text)] = found.as_slice() else {
            faults.push(format!("{} has {} sections; one is needed", method.name, found.len()));
            continue;
        };
        let request = method.kind == Kind::Request;
        if request != text.contains(CANNOT) {
            faults.push(format!(
                "{page}: {}: a request, and no other method, says what comes when it cannot",
                method.name
            ));
        }
        if text.matches("<!-- fields -->").count() != 1 {
            faults.push(format!("{page}: {}: there is no place for its fields", method.name));
        }
        let shown = examples.0.get(method.name).is_some_and(|messages| {
            messages.iter().any(|message| message["method"] == method.name)
                && (!request || messages.iter().any(|message| message.get("result").is_some()))
        });
        if !shown {
            faults.push(format!("{}: no example is replayed", method.name));
        }
        let arrow = if method.direction == Direction::ToSidecar { '→' } else { '←' };
        let kind = if request { "request" } else { "notification" };
        let anchor = method.name.replace('/', "").to_lowercase();
        let row = format!("| [`{}`]({page}#{anchor}) | {arrow} {kind} | ", method.name);
        if pages[ENTRY].matches(&row).count() != 1 {
            faults.push(format!("{ENTRY}: the contents have no row that begins with {row}"));
        }
    }
    for (page, heading, text) in &all {
        if heading != FIRST && !METHODS.iter().any(|method| method.name == heading) {
            faults.push(format!("{page}: {heading} is no method"));
        }
        if text.matches("```json\n").count() != 1 || text.matches("<!-- example -->").count() != 1 {
            faults.push(format!("{page}: {heading}: there is one place for its example"));
        }
    }
    if !pages.contains_key(TYPES) {
        faults.push(format!("there is no {TYPES}; an empty file is enough for UPDATE_EXPECT=1"));
    }
    for label in examples.0.keys().filter(|label| !all.iter().any(|(_, heading, _)| heading == *label)) {
        faults.push(format!("the example {label} has no section"));
    }
    faults
}

/// What of the examples does not fit the schemas.
fn misfits(examples: &Examples) -> Vec<String> {
    let schemas = schemas();
    let mut faults = Vec::new();
    for method in schemas["methods"].as_array().into_iter().flatten() {
        let Some(messages) = method["name"].as_str().and_then(|name| examples.0.get(name)) else { continue };
        for part in ["params", "result"] {
            let Some(schema) = method.get(part) else { continue };
            let mut whole = schema.clone();
            whole["$defs"] = schemas["$defs"].clone();
            let validator = jsonschema::validator_for(&whole).unwrap();
            for value in messages.iter().filter_map(|message| message.get(part)) {
                faults.extend(validator.iter_errors(value).map(|fault| format!("{} {part}: {fault}", method["name"])));
            }
        }
    }
    faults
}

async fn examples() -> Examples {
    let mut all = Examples::default();
    most::most(&mut all).await;
    rest::rest(&mut all).await;
    all
}

#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_methods, reason = "the pages are files of the repository")]
async fn the_pages_have_every_method_and_their_examples_are_real() {
    let (pages, examples) = (pages(), examples().await);
    let mut faults = faults(&pages, &examples);
    faults.extend(misfits(&examples));
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    for (name, expected) in mended(&pages, &examples, &schemas()) {
        let page = &pages[&name];
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(Path::new(DOCS).join(&name), &expected).unwrap();
        } else if *page != expected {
            let first = page.lines().zip(expected.lines()).find(|(there, real)| there != real);
            panic!("docs/{name} does not say what is so; UPDATE_EXPECT=1 mends it: {first:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_check_of_the_pages_can_fail() {
    let (good, examples) = (pages(), examples().await);
    let spoilt = |name: &str, from: &str, to: &str| {
        let mut pages = good.clone();
        let page = pages.get_mut(name).unwrap();
        assert!(page.contains(from), "{name} has no {from}");
        *page = page.replacen(from, to, 1);
        pages
    };
    let schemas = schemas();
    let seen = |pages: &Pages| !faults(pages, &examples).is_empty() || mended(pages, &examples, &schemas) != *pages;
    assert!(!seen(&good));
    for (name, from, to) in [
        // A value of an example, in each direction.
        ("protocol/calls.md", "\"cancelled\": 1", "\"cancelled\": 2"),
        ("protocol/consent.md", "\"decision\": \"once\"", "\"decision\": \"deny\""),
        ("protocol/documents.md", "\"reason\": \"the disk is full\"", "\"reason\": \"it is not\""),
        ("protocol/jobs.md", "\"state\": \"running\"", "\"state\": \"failed\""),
        ("PROTOCOL.md", "\"applied\": true", "\"applied\": false"),
        // A field, who sends it, a type.
        ("protocol/calls.md", "- `callId?` (string)", "- `callId` (string)"),
        ("protocol/calls.md", "*Request, editor to sidecar.*", "*Request, sidecar to editor.*"),
        ("protocol/types.md", "## Consent\n", "## Assent\n"),
        // A section that is gone, is there twice, is of no method, or says too little.
        ("protocol/review.md", "## `ropewalk/keep`", "## `ropewalk/keep` and more"),
        ("protocol/review.md", "## `ropewalk/keep`", "## `ropewalk/undo`"),
        ("protocol/review.md", "## `ropewalk/keep`", "## `ropewalk/keeps`"),
        ("protocol/review.md", CANNOT, ""),
        ("protocol/review.md", "```json\n", "```\n"),
        // A row of the contents.
        ("PROTOCOL.md", "| → request | stops calls |", "| ← request | stops calls |"),
    ] {
        assert!(seen(&spoilt(name, from, to)), "{name}: {from} became {to}, and nobody saw it");
    }
    let mut odd = Examples(examples.0.clone());
    odd.show("ropewalk/neverHeardOf", Value::Null);
    assert!(!faults(&good, &odd).is_empty());
    odd.0.remove("ropewalk/neverHeardOf");
    odd.0.remove("ropewalk/keep");
    assert!(!faults(&good, &odd).is_empty());
    let mut odd = Examples(examples.0.clone());
    odd.0.get_mut("ropewalk/keep").unwrap()[0]["params"]["uri"] = Value::from(7);
    assert!(!misfits(&odd).is_empty());
}
