//! `tool_search`: finds tools by words or by a regular expression, and shows how to call them.

mod rank;

use std::fmt::Write as _;
use std::time::Duration;

use async_trait::async_trait;
use regex::RegexBuilder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::tool::{Access, Content, Context, ErrorKind, Listed, Outcome, Tool, ToolError, Traits};

/// A compiled pattern may take so much memory (bytes).
const PATTERN_BYTES: usize = 1 << 20;

/// A longer schema (bytes) is shown by the names and types of its parameters alone.
const SHOWN_SCHEMA: usize = 4_000;

/// Of a tool's description so much is shown (characters).
const SHOWN_DESCRIPTION: usize = 600;

/// So much of the budget (bytes) is left for what is said round the tools.
const ROUND: usize = 400;

/// Finds tools that are not in the list yet, and shows their parameters so that they can be called. Searches the names,
/// titles, descriptions and parameter names of all tools. A tool that was found is called by its name like any other.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// A few words on what is needed; with `regex`, a regular expression.
    #[schemars(example = "create issue")]
    pub query: String,
    /// Whether `query` is a regular expression (upper and lower case are the same to it).
    #[serde(default)]
    pub regex: bool,
    /// At most so many tools.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 50))]
    pub limit: usize,
}

fn default_limit() -> usize {
    5
}

/// The tool.
pub struct ToolSearch;

#[async_trait]
impl Tool for ToolSearch {
    type Arguments = Arguments;

    const TRAITS: Traits<'static> = Traits {
        name: "tool_search",
        title: "Find tools",
        capabilities: &[],
        parallel: true,
        deferred: false,
        free_form: None,
        deadline: Duration::from_secs(10),
        aliases: &[
            ("q", "query"),
            ("pattern", "query"),
            ("search", "query"),
            ("keywords", "query"),
            ("max_results", "limit"),
            ("top_k", "limit"),
        ],
        names: &["search_tools", "find_tools", "tool_search_tool_bm25", "tool_search_tool_regex"],
    };

    fn access(&self, _: &Arguments) -> Access {
        Access::default()
    }

    fn validate(&self, arguments: &Arguments) -> Result<(), ToolError> {
        if arguments.query.trim().is_empty() {
            let message = "`query` is empty; give a few words on what is needed, for example \"create issue\".";
            return Err(ToolError::new(ErrorKind::InvalidArguments, message));
        }
        if arguments.regex {
            pattern(&arguments.query)?;
        }
        Ok(())
    }

    async fn run(&self, arguments: Arguments, context: &Context) -> Result<Outcome, ToolError> {
        let tools: Vec<Listed> =
            context.slot.catalog(&context.session).into_iter().filter(|tool| tool.name != Self::TRAITS.name).collect();
        answer(&arguments, &tools, context.budget)
    }
}

fn pattern(query: &str) -> Result<regex::Regex, ToolError> {
    let built = RegexBuilder::new(query).case_insensitive(true).size_limit(PATTERN_BYTES).build();
    built.map_err(|fault| {
        let (kind, hint) = match &fault {
            regex::Error::CompiledTooBig(_) => ("is too large", "Search for less"),
            _ => ("is not valid", "Mend it"),
        };
        ToolError::new(
            ErrorKind::InvalidArguments,
            format!("The regular expression {kind}: {fault}\n{hint}, or leave `regex` out to search by plain words."),
        )
    })
}

fn answer(arguments: &Arguments, tools: &[Listed], budget: usize) -> Result<Outcome, ToolError> {
    let query = arguments.query.trim();
    let order = if arguments.regex { rank::by_pattern(&pattern(query)?, tools) } else { rank::by_words(query, tools) };
    let found: Vec<&Listed> = order.iter().filter_map(|index| tools.get(*index)).collect();
    let mut text = match found.len() {
        0 => format!(
            "No tool matches {query:?}; {} were searched. Try other or fewer words, or go on with the tools that are \
             listed.",
            counted(tools.len())
        ),
        all if all > arguments.limit => format!(
            "{} match {query:?}; the best {} are shown. A larger `limit` shows more.",
            counted(all),
            arguments.limit
        ),
        all => format!("{} {} {query:?}.", counted(all), if all == 1 { "matches" } else { "match" }),
    };
    let mut shown = Vec::new();
    for tool in found.iter().take(arguments.limit) {
        // One that does not fit whole is shown by name: it must not crowd out the others.
        let room = budget.saturating_sub(text.len() + ROUND);
        let full = described(tool);
        let told = if full.len() <= room { full } else { format!("\n\n{}: too long to be shown here", tool.name) };
        if told.len() > room {
            break;
        }
        text.push_str(&told);
        shown.push(json!({ "name": tool.name, "title": tool.title, "deferred": tool.deferred }));
    }
    if shown.iter().any(|tool| tool["deferred"] == true) {
        text.push_str("\n\nA deferred tool is called like any other, by its name with arguments that fit its schema.");
    }
    let structured = json!({ "query": query, "total": found.len(), "tools": shown });
    Ok(Outcome { content: vec![Content::text(text)], structured: Some(structured), ..Outcome::default() })
}

fn counted(tools: usize) -> String {
    if tools == 1 { "1 tool".to_owned() } else { format!("{tools} tools") }
}

fn described(tool: &Listed) -> String {
    let mut text = format!("\n\n{}", tool.name);
    if tool.title != tool.name {
        let _ = write!(text, ": {}", tool.title);
    }
    text.push_str(if tool.deferred { " (deferred)" } else { " (listed)" });
    let description: String = tool.description.trim().chars().take(SHOWN_DESCRIPTION).collect();
    let cut = if description.len() < tool.description.trim().len() { "…" } else { "" };
    let _ = write!(text, "\n{description}{cut}");
    // Of a listed tool the model has the schema.
    if tool.deferred {
        let schema = tool.schema.to_string();
        if schema.len() <= SHOWN_SCHEMA {
            let _ = write!(text, "\nSchema: {schema}");
        } else {
            let _ = write!(text, "\nParameters: {}", parameters(&tool.schema).join(", "));
        }
    }
    text
}

fn parameters(schema: &Value) -> Vec<String> {
    let required = |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|r| r == name));
    let told = |(name, part): (&String, &Value)| {
        let kind = part["type"].as_str().unwrap_or("any");
        if required(name) { format!("{name} ({kind}, required)") } else { format!("{name} ({kind})") }
    };
    schema["properties"].as_object().into_iter().flatten().map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn tool(name: &str, description: &str, deferred: bool) -> Listed {
        Listed {
            name: name.to_owned(),
            title: name.to_owned(),
            description: description.to_owned(),
            schema: json!({ "type": "object", "properties": { "owner": { "type": "string" } }, "required": ["owner"] }),
            deferred,
        }
    }

    fn text(query: &str, regex: bool, limit: usize, budget: usize) -> Result<String, String> {
        let tools = [
            tool("create_issue", "Opens a new issue in a repository.", true),
            tool("list_issues", "Lists the issues of a repository.", true),
            tool("read", "Reads a file.", false),
        ];
        let outcome = answer(&Arguments { query: query.to_owned(), regex, limit }, &tools, budget);
        outcome
            .map(|outcome| match outcome.content.as_slice() {
                [Content::Text { text }] => text.clone(),
                other => panic!("{other:?}"),
            })
            .map_err(|error| error.message)
    }

    #[test]
    fn what_is_shown() {
        expect![[r#"
            1 tool matches "please open".

            create_issue (deferred)
            Opens a new issue in a repository.
            Schema: {"type":"object","properties":{"owner":{"type":"string"}},"required":["owner"]}

            A deferred tool is called like any other, by its name with arguments that fit its schema."#]]
        .assert_eq(&text("please open", false, 5, 10_000).unwrap());
        expect![[r#"
            1 tool matches "^read$".

            read (listed)
            Reads a file."#]]
        .assert_eq(&text("^read$", true, 5, 10_000).unwrap());
        let none = "No tool matches \"weather\"; 3 tools were searched. Try other or fewer words, or go on with the tools \
                    that are listed.";
        assert_eq!(text("weather", false, 5, 10_000).unwrap(), none);
        let some = text("repository", false, 1, 10_000).unwrap();
        assert!(some.starts_with("2 tools match \"repository\"; the best 1 are shown."), "{some}");
    }

    #[test]
    fn an_answer_keeps_to_its_budget() {
        for budget in [0, 300, 500, 600, 700] {
            let text = text("repository", false, 5, budget).unwrap();
            assert!(text.len() <= budget.max(160), "{budget}: {} {text}", text.len());
        }
    }

    #[test]
    fn a_broken_pattern_is_told_with_its_place() {
        expect![[r"
            The regular expression is not valid: regex parse error:
                read(
                    ^
            error: unclosed group
            Mend it, or leave `regex` out to search by plain words."]]
        .assert_eq(&text("read(", true, 5, 10_000).unwrap_err());
        let large = text("(a{1000}){1000}", true, 5, 10_000).unwrap_err();
        assert!(large.starts_with("The regular expression is too large"), "{large}");
    }
}
