//! Which tools fit best, in a total order: by words (BM25 over weighted fields), or by a pattern. Pure.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde_json::Value;

use crate::tool::Listed;

/// How soon more of the same word counts for less.
const SATURATION: f64 = 1.2;

/// How much the length of a tool's text counts: 0 not at all, 1 in full.
const LENGTH: f64 = 0.75;

/// How often a word counts where it stands in each field.
const NAME: f64 = 4.0;
const TITLE: f64 = 2.0;
const DESCRIPTION: f64 = 1.0;
const PARAMETER: f64 = 1.0;

/// Parameters are looked for so deep in a schema.
const DEEPEST: usize = 6;

/// Words that say nothing about what is wanted.
const EMPTY: &[&str] = &[
    "a", "an", "and", "are", "can", "do", "for", "from", "i", "in", "is", "it", "me", "my", "need", "of", "on", "or",
    "please", "that", "the", "this", "to", "tool", "want", "with",
];

/// The tools that hold any of the words, the best first: by BM25 with the inverse document frequency of each word among
/// these tools, then by name.
pub(super) fn by_words(query: &str, tools: &[Listed]) -> Vec<usize> {
    let documents: Vec<BTreeMap<String, f64>> = tools.iter().map(weighed).collect();
    let all: BTreeSet<String> = words(query).into_iter().collect();
    let telling: BTreeSet<String> = all.iter().filter(|word| !EMPTY.contains(&word.as_str())).cloned().collect();
    let wanted = if telling.is_empty() { all } else { telling };
    let length = |document: &BTreeMap<String, f64>| document.values().sum::<f64>();
    let count = as_float(documents.len());
    let average = documents.iter().map(length).sum::<f64>() / count.max(1.0);
    let mut scores = vec![0.0; documents.len()];
    for word in &wanted {
        let holding = as_float(documents.iter().filter(|document| document.contains_key(word)).count());
        let rarity = (1.0 + (count - holding + 0.5) / (holding + 0.5)).ln();
        for (document, score) in documents.iter().zip(&mut scores) {
            let Some(often) = document.get(word) else { continue };
            let long = 1.0 - LENGTH + LENGTH * length(document) / average;
            *score += rarity * often * (SATURATION + 1.0) / (often + SATURATION * long);
        }
    }
    let exact = query.trim().to_lowercase();
    let mut order: Vec<usize> =
        (0..tools.len()).filter(|index| scores.get(*index).is_some_and(|score| *score > 0.0)).collect();
    let name = |index: usize| tools.get(index).map_or("", |tool| tool.name.as_str());
    let score = |index: usize| scores.get(index).copied().unwrap_or_default();
    order.sort_by(|&a, &b| {
        let named = |index: usize| name(index).to_lowercase() == exact;
        let best = named(b).cmp(&named(a)).then(score(b).total_cmp(&score(a)));
        best.then_with(|| name(a).cmp(name(b)))
    });
    order
}

/// The tools in which a pattern is found: first in the name, then in the title, in the description, in the name of a
/// parameter; then by name.
pub(super) fn by_pattern(pattern: &Regex, tools: &[Listed]) -> Vec<usize> {
    let mut order: Vec<(u8, &str, usize)> = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        let place = if pattern.is_match(&tool.name) {
            0
        } else if pattern.is_match(&tool.title) {
            1
        } else if pattern.is_match(&tool.description) {
            2
        } else if parameters(&tool.schema).iter().any(|name| pattern.is_match(name)) {
            3
        } else {
            continue;
        };
        order.push((place, &tool.name, index));
    }
    order.sort_unstable();
    order.into_iter().map(|(_, _, index)| index).collect()
}

/// The words of a tool, each with how often it counts.
fn weighed(tool: &Listed) -> BTreeMap<String, f64> {
    let mut document = BTreeMap::new();
    let parameters = parameters(&tool.schema).join(" ");
    let title = if tool.title == tool.name { "" } else { tool.title.as_str() };
    let fields =
        [(tool.name.as_str(), NAME), (title, TITLE), (&tool.description, DESCRIPTION), (&parameters, PARAMETER)];
    for (text, weight) in fields {
        for word in words(text) {
            *document.entry(word).or_insert(0.0) += weight;
        }
    }
    document
}

/// The names of the parameters, nested ones too.
fn parameters(schema: &Value) -> Vec<String> {
    fn collect(schema: &Value, depth: usize, names: &mut Vec<String>) {
        if depth == 0 {
            return;
        }
        for (name, part) in schema["properties"].as_object().into_iter().flatten() {
            names.push(name.clone());
            collect(part, depth - 1, names);
        }
        collect(&schema["items"], depth - 1, names);
    }
    let mut names = Vec::new();
    if schema.is_object() {
        collect(schema, DEEPEST, &mut names);
    }
    names
}

/// Words in lower case without a plural's `s`; `createIssue`, `create_issue` and `create-issue` are two words each.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before: Option<char> = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if !character.is_alphanumeric() {
            take(&mut word, &mut words);
            before = None;
            continue;
        }
        let next_is_lower = characters.peek().is_some_and(|next| next.is_lowercase());
        let begins = before.is_some_and(|before| {
            character.is_uppercase() && (before.is_lowercase() || before.is_uppercase() && next_is_lower)
        });
        if begins {
            take(&mut word, &mut words);
        }
        word.extend(character.to_lowercase());
        before = Some(character);
    }
    take(&mut word, &mut words);
    words
}

fn take(word: &mut String, words: &mut Vec<String>) {
    let taken = std::mem::take(word);
    let singular = taken.strip_suffix('s').filter(|rest| rest.chars().count() >= 3 && !rest.ends_with(['s', 'u', 'i']));
    let kept = singular.unwrap_or(&taken);
    if !kept.is_empty() {
        words.push(kept.to_owned());
    }
}

fn as_float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn tool(name: &str, description: &str, parameters: &[&str]) -> Listed {
        let properties: serde_json::Map<String, Value> =
            parameters.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
        Listed {
            name: name.to_owned(),
            title: name.to_owned(),
            description: description.to_owned(),
            schema: json!({ "type": "object", "properties": properties }),
            deferred: true,
        }
    }

    fn tools() -> Vec<Listed> {
        vec![
            tool(
                "add_label",
                "Puts a label on an issue of a repository.",
                &["owner", "repository", "issue_number", "label"],
            ),
            tool("create_issue", "Opens a new issue in a repository.", &["owner", "repository", "title"]),
            tool("createPullRequest", "Opens a pull request in a repository.", &["owner", "repository", "head"]),
            tool("get_weather", "Tells the weather of a place.", &["city"]),
            tool("list_issues", "Lists the issues of a repository.", &["owner", "repository", "state"]),
            tool(
                "merge",
                "Merges a pull request. The pull request must be open.",
                &["owner", "repository", "pull_number"],
            ),
        ]
    }

    fn names(order: &[usize]) -> Vec<String> {
        order.iter().map(|&index| tools()[index].name.clone()).collect()
    }

    #[test]
    fn by_words_the_best_comes_first() {
        for (query, first) in [
            ("create issue", "create_issue"),
            ("issues", "list_issues"),
            ("list issue", "list_issues"),
            ("please label the issue", "add_label"),
            ("open a pull request", "createPullRequest"),
            ("PULL REQUEST merge", "merge"),
            ("weather in a city", "get_weather"),
            ("createPullRequest", "createPullRequest"),
            ("merge", "merge"),
            ("issue_number", "add_label"),
        ] {
            assert_eq!(names(&by_words(query, &tools())).first().map(String::as_str), Some(first), "{query}");
        }
        assert_eq!(by_words("quantum", &tools()), Vec::<usize>::new());
        assert_eq!(by_words("!?", &tools()), Vec::<usize>::new());
        assert_eq!(by_words("weather", &[]), Vec::<usize>::new());
    }

    #[test]
    fn a_rare_word_counts_for_more_than_a_common_one() {
        // Both tools have one word of the query; "repository" is in nearly all of them.
        assert_eq!(names(&by_words("repository weather", &tools()))[0], "get_weather");
    }

    #[test]
    fn by_pattern_a_name_comes_before_a_description() {
        let found = |pattern: &str| names(&by_pattern(&Regex::new(pattern).unwrap(), &tools()));
        assert_eq!(found("issue"), ["create_issue", "list_issues", "add_label"]);
        assert_eq!(found("^(merge|get_.*)$"), ["get_weather", "merge"]);
        assert_eq!(found("_number$"), ["add_label", "merge"]);
        assert_eq!(found("nothing like it"), Vec::<String>::new());
    }

    #[test]
    fn words_of_texts() {
        for (text, expected) in [
            ("createIssue", &["create", "issue"][..]),
            ("mcp__github__list-Issues", &["mcp", "github", "list", "issue"]),
            ("HTTPFetch2", &["http", "fetch2"]),
            ("status glass is this buses", &["status", "glass", "is", "this", "buse"]),
            ("  ", &[]),
            ("Größen", &["größen"]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_order_does_not_depend_on_where_a_tool_stands(query in "[a-z ]{0,20}|issue|pull request|repository", turn in 0..6_usize) {
            let mut turned = tools();
            turned.rotate_left(turn);
            let names_of = |order: Vec<usize>, tools: &[Listed]| {
                order.into_iter().map(|index| tools[index].name.clone()).collect::<Vec<_>>()
            };
            prop_assert_eq!(names_of(by_words(&query, &turned), &turned), names_of(by_words(&query, &tools()), &tools()));
        }
    }
}
