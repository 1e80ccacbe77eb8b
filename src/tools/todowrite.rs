//! `todowrite`: the model's own task list. Models write it in several dialects; one form is kept.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::editor::{News, Todo, TodoPriority, TodoStatus, TodosChanged};
use crate::sessions::todos::{TodoCounts, misfit};
use crate::tool::{Access, Content, Context, ErrorKind, Outcome, Tool, ToolError, Traits};

/// Keeps the list of tasks of this session, which the person sees too. Each call gives the whole list anew; an empty one
/// clears it. Use it for work of several steps: have one task in progress at a time, and mark it completed as soon as
/// it is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// All tasks, in order.
    #[schemars(example = [Item::example()])]
    pub todos: Vec<Item>,
    /// Why the list changes, in a few words, for the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
}

/// One task, as models write it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    /// What is to be done. Every task has it.
    #[serde(
        default,
        alias = "step",
        alias = "text",
        alias = "title",
        alias = "task",
        alias = "description",
        skip_serializing_if = "Option::is_none"
    )]
    pub content: Option<String>,
    /// How far it is: `pending`, `in_progress`, `completed` or `cancelled`.
    #[serde(default, alias = "state", skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// How much it matters: high, medium or low.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// Its name in the list, the same from call to call; by default its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

impl Item {
    fn example() -> Item {
        let text = |text: &str| Some(text.to_owned());
        Item { content: text("Find where the option is read"), status: text("in_progress"), priority: None, id: None }
    }
}

/// The tool.
pub struct TodoWrite;

#[async_trait]
impl Tool for TodoWrite {
    type Arguments = Arguments;

    const TRAITS: Traits<'static> = Traits {
        name: "todowrite",
        title: "Keep the task list",
        capabilities: &[],
        parallel: false,
        deferred: false,
        free_form: None,
        deadline: Duration::from_secs(10),
        aliases: &[
            ("plan", "todos"),
            ("items", "todos"),
            ("tasks", "todos"),
            ("checklist", "todos"),
            ("todo_list", "todos"),
            ("reason", "explanation"),
        ],
        names: &["todo", "update_todos", "write_todos", "checklist_write", "update_plan"],
    };

    fn access(&self, _: &Arguments) -> Access {
        Access::default()
    }

    fn validate(&self, arguments: &Arguments) -> Result<(), ToolError> {
        todos(&arguments.todos).map(drop)
    }

    async fn run(&self, arguments: Arguments, context: &Context) -> Result<Outcome, ToolError> {
        let todos = todos(&arguments.todos)?;
        let session = &context.session;
        session.set_todos(&todos);
        let changed = TodosChanged { session_id: session.id.clone(), todos: todos.clone() };
        context.workspace.editor.tell(News::Todos(changed));
        let structured = json!({ "todos": todos, "explanation": arguments.explanation });
        Ok(Outcome {
            content: vec![Content::text(rendered(&todos))],
            structured: Some(structured),
            ..Outcome::default()
        })
    }
}

/// The list in the one form that is kept.
fn todos(items: &[Item]) -> Result<Vec<Todo>, ToolError> {
    let mut taken: BTreeSet<String> = items.iter().filter_map(|item| item.id.clone()).collect();
    let mut todos = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let status = match &item.status {
            None => TodoStatus::default(),
            Some(word) => status(word).ok_or_else(|| {
                let known = "pending, in_progress, completed or cancelled";
                unfit(&format!("the status of entry {} is {word:?}; expected {known}.", index + 1))
            })?,
        };
        let id = item.id.clone().unwrap_or_else(|| {
            // Its number, unless another entry is called so.
            let free = (index + 1..=index + 1 + taken.len())
                .map(|number| number.to_string())
                .find(|name| !taken.contains(name));
            free.unwrap_or_default()
        });
        taken.insert(id.clone());
        let content = item.content.clone().unwrap_or_default().trim().to_owned();
        todos.push(Todo { id, content, status, priority: item.priority.as_deref().and_then(priority) });
    }
    match misfit(&todos) {
        None => Ok(todos),
        Some(why) => Err(unfit(&why)),
    }
}

/// What a word means, whatever dialect it is from.
fn status(word: &str) -> Option<TodoStatus> {
    Some(match plain(word).as_str() {
        "pending" | "todo" | "open" | "not_started" | "new" => TodoStatus::Pending,
        "in_progress" | "inprogress" | "active" | "doing" | "started" | "current" => TodoStatus::InProgress,
        "completed" | "complete" | "done" | "finished" | "closed" => TodoStatus::Completed,
        "cancelled" | "canceled" | "skipped" | "dropped" | "abandoned" => TodoStatus::Cancelled,
        _ => return None,
    })
}

/// A word that means none is no priority: nothing rests on it.
fn priority(word: &str) -> Option<TodoPriority> {
    Some(match plain(word).as_str() {
        "high" | "urgent" | "critical" => TodoPriority::High,
        "medium" | "normal" => TodoPriority::Medium,
        "low" => TodoPriority::Low,
        _ => return None,
    })
}

fn plain(word: &str) -> String {
    word.trim().to_ascii_lowercase().replace([' ', '-'], "_")
}

fn unfit(why: &str) -> ToolError {
    ToolError::new(
        ErrorKind::InvalidArguments,
        format!(
            "The task list was not changed: {why} Send the whole list again, for example \
             {{\"todos\":[{{\"content\":\"Find the place\",\"status\":\"in_progress\"}}]}}."
        ),
    )
}

/// The list for the model, always in this form.
fn rendered(todos: &[Todo]) -> String {
    if todos.is_empty() {
        return "The task list is empty.".to_owned();
    }
    let counts = TodoCounts::of(todos);
    let mut out = format!("{} of {} tasks are open.", counts.open(), todos.len());
    for (index, todo) in todos.iter().enumerate() {
        let mark = match todo.status {
            TodoStatus::Pending => ' ',
            TodoStatus::InProgress => '~',
            TodoStatus::Completed => 'x',
            TodoStatus::Cancelled => '-',
        };
        let name = if todo.id == (index + 1).to_string() { String::new() } else { format!(" ({})", todo.id) };
        let priority = match todo.priority {
            Some(TodoPriority::High) => " (high)",
            Some(TodoPriority::Low) => " (low)",
            Some(TodoPriority::Medium) | None => "",
        };
        let _ = write!(out, "\n[{mark}] {}.{name} {}{priority}", index + 1, todo.content.replace('\n', " "));
    }
    if counts.in_progress > 1 {
        let _ = write!(out, "\n({} tasks are in progress; have one at a time.)", counts.in_progress);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::Value;

    fn read(list: Value) -> Result<String, String> {
        let items: Vec<Item> = serde_json::from_value(list).unwrap();
        todos(&items).map(|todos| rendered(&todos)).map_err(|error| error.message)
    }

    #[test]
    fn every_dialect_is_one_list() {
        let one = read(json!([
            { "id": "1", "content": "Read", "status": "completed" },
            { "id": "2", "content": "Change", "status": "in_progress" },
            { "content": "Test", "status": "pending" },
        ]));
        for other in [
            json!([
                { "content": "Read", "status": "done", "priority": "normal" },
                { "content": "Change", "status": "in_progress", "priority": "normal" },
                { "content": "Test", "status": "pending", "priority": "normal" },
            ]),
            json!([
                { "step": "Read", "status": "Completed" },
                { "step": " Change ", "status": "in-progress" },
                { "step": "Test" },
            ]),
        ] {
            assert_eq!(read(other), one);
        }
        expect![[r"
            2 of 3 tasks are open.
            [x] 1. Read
            [~] 2. Change
            [ ] 3. Test"]]
        .assert_eq(&one.unwrap());
    }

    #[test]
    fn what_is_told() {
        let list = json!([
            { "id": "b", "content": "One", "status": "in_progress", "priority": "HIGH" },
            { "content": "Two\nlines", "status": "doing", "priority": "whatever" },
            { "id": "2", "content": "Three", "status": "cancelled", "priority": "low" },
        ]);
        expect![[r"
            2 of 3 tasks are open.
            [~] 1. (b) One (high)
            [~] 2. (3) Two lines
            [-] 3. (2) Three (low)
            (2 tasks are in progress; have one at a time.)"]]
        .assert_eq(&read(list).unwrap());
        assert_eq!(read(json!([])).unwrap(), "The task list is empty.");
    }

    #[test]
    fn what_cannot_be_kept_is_refused_with_the_way_out() {
        for (list, words) in [
            (json!([{ "status": "pending" }]), "entry 1 has no content"),
            (json!([{ "content": "a" }, { "content": "b", "status": "maybe" }]), "the status of entry 2 is \"maybe\""),
            (json!([{ "content": "a", "id": "x" }, { "content": "b", "id": "x" }]), "two entries have the id"),
        ] {
            let refused = read(list).unwrap_err();
            assert!(refused.contains(words) && refused.contains("for example"), "{refused}");
        }
    }
}
