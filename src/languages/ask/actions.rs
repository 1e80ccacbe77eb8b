//! `(Command | CodeAction)[]`. Pure.

use serde_json::{Map, Value, json};

use super::edits::{Edits, workspace_edit};
use super::fields;

/// Something the server offers to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// What it does, in the server's words.
    pub title: String,
    /// Its kind, by the protocol's name.
    pub kind: Option<String>,
    /// The server thinks that it is the one to take.
    pub preferred: bool,
    /// Why it cannot be done now.
    pub disabled: Option<String>,
    edit: Result<Option<Edits>, String>,
    command: Option<Command>,
    raw: Value,
}

/// A command that the server runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// Its name.
    pub name: String,
    arguments: Value,
}

impl Command {
    /// The parameters of `workspace/executeCommand`.
    pub(super) fn params(&self) -> Value {
        let mut params = Map::from_iter([("command".to_owned(), json!(self.name))]);
        if !self.arguments.is_null() {
            params.insert("arguments".to_owned(), self.arguments.clone());
        }
        Value::Object(params)
    }
}

impl Action {
    /// Its edit: `None` where it has none (or none yet); the error says why it cannot be read.
    pub fn edit(&self) -> Result<Option<&Edits>, &str> {
        self.edit.as_ref().map(Option::as_ref).map_err(String::as_str)
    }

    /// The command it runs after its edit.
    pub fn command(&self) -> Option<&Command> {
        self.command.as_ref()
    }

    /// Whether the server may have more to say of it when it is asked.
    pub(super) fn unresolved(&self) -> bool {
        self.edit == Ok(None) && self.command.is_none()
    }

    /// As it came, to be asked about.
    pub(super) fn raw(&self) -> &Value {
        &self.raw
    }

    /// The same with what the server added.
    pub(super) fn resolved(self, answer: &Value) -> Action {
        action(answer).unwrap_or(self)
    }
}

/// The actions in the server's order; what is none is left out.
pub(super) fn actions(answer: &Value) -> Vec<Action> {
    answer.as_array().into_iter().flatten().filter_map(action).collect()
}

fn action(value: &Value) -> Option<Action> {
    let title = fields::text(value.get("title")?)?;
    // Of a bare command, `command` is its name; of an action it is an object.
    let command = match value.get("command") {
        Some(Value::String(_)) => command(value),
        Some(inner) => command(inner),
        None => None,
    };
    let edit = value.get("edit").map_or(Ok(None), workspace_edit);
    Some(Action {
        title,
        kind: value.get("kind").and_then(fields::text),
        preferred: value["isPreferred"] == true,
        disabled: value.get("disabled").map(|disabled| {
            disabled.get("reason").and_then(fields::text).unwrap_or_else(|| "the server does not say why".to_owned())
        }),
        edit,
        command,
        raw: value.clone(),
    })
}

fn command(value: &Value) -> Option<Command> {
    let name = value.get("command")?.as_str()?.to_owned();
    Some(Command { name, arguments: value.get("arguments").cloned().unwrap_or(Value::Null) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_actions_of_every_form() {
        fn check(value: &Value, expected: &str) {
            let told: Vec<String> = actions(&json!([value]))
                .iter()
                .map(|action| {
                    let command = action.command().map(|command| command.params().to_string());
                    let edit = match action.edit() {
                        Ok(None) => "no edit".to_owned(),
                        Ok(Some(edits)) => format!("{} edits", edits.operations.len()),
                        Err(why) => why.to_owned(),
                    };
                    let (preferred, unresolved) = (action.preferred, action.unresolved());
                    let kind = action.kind.as_deref().unwrap_or("-");
                    let title = &action.title;
                    format!("{title} {kind} {preferred} {:?} {edit} {command:?} {unresolved}", action.disabled)
                })
                .collect();
            assert_eq!(told.join(""), expected, "{value}");
        }
        check(
            &json!({ "title": "Run", "command": "x.run", "arguments": [1] }),
            r#"Run - false None no edit Some("{\"command\":\"x.run\",\"arguments\":[1]}") false"#,
        );
        check(
            &json!({ "title": "Fix", "kind": "quickfix", "isPreferred": true, "data": 1 }),
            "Fix quickfix true None no edit None true",
        );
        check(
            &json!({ "title": "Fix", "edit": { "changes": { "u:a": [
                { "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 } },
                  "newText": "x" }] } },
                "command": { "title": "then", "command": "x.then" } }),
            r#"Fix - false None 1 edits Some("{\"command\":\"x.then\"}") false"#,
        );
        check(
            &json!({ "title": "Not now", "disabled": { "reason": "no selection" } }),
            r#"Not now - false Some("no selection") no edit None true"#,
        );
        check(&json!({ "title": "Odd", "edit": 7 }), "Odd - false None it is no object None false");
        check(&json!({ "command": "x" }), "");
        check(&Value::Null, "");
    }
}
