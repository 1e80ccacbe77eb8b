//! What the other side asks, and what it is answered: by the rules of `answer` steps, else as an editor does by itself.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::editor::Editor;
use super::step::{Answer, Failure, Reply};
use crate::editor::Consent;

/// Consent is asked for by this method.
pub(super) const APPROVE: &str = "ropewalk/approve";
/// And by this one, where the editor has nothing better.
const MESSAGE: &str = "window/showMessageRequest";

/// The code of an answer to a request that was taken back.
const CANCELLED: i64 = -32800;
/// The code for a method that nobody knows.
const UNKNOWN: i64 = -32601;
/// The code for a request that cannot be done.
const FAILED: i64 = -32803;

/// What is answered, what was asked, and what waits.
#[derive(Debug, Default)]
pub(super) struct Answers {
    rules: Vec<Answer>,
    /// Questions are left open unless a rule answers them, instead of being denied.
    pub(super) open: bool,
    /// How often each method came.
    pub(super) received: BTreeMap<String, usize>,
    /// Calls that were asked about although nothing said what to answer.
    pub(super) unallowed: Vec<Unallowed>,
    /// Questions that wait for a `reply`.
    pub(super) waiting: Vec<Waiting>,
}

/// A call that was asked about although nothing said what to answer; it was denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unallowed {
    /// The call.
    pub(super) call: String,
    /// Why it was asked about.
    pub(super) reason: String,
    /// The rule that would let it pass, where one would.
    pub(super) rule: Option<String>,
}

/// A question that waits for an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Waiting {
    id: Value,
    method: String,
    params: Value,
}

impl Answers {
    /// How questions are answered from now on.
    pub(super) fn learn(&mut self, answer: &Answer) {
        let method = method_of(answer);
        if answer.times.is_none() {
            self.rules.retain(|rule| rule.times.is_some() || method_of(rule) != method);
        }
        self.rules.push(answer.clone());
    }

    /// The rule for a method: those that count their times go first, in their order.
    fn rule(&mut self, method: &str) -> Option<Answer> {
        let fits = |rule: &&mut Answer| method_of(rule) == method && rule.times != Some(0);
        let counted = self.rules.iter_mut().find(|rule| fits(rule) && rule.times.is_some());
        if let Some(rule) = counted {
            rule.times = rule.times.map(|times| times - 1);
            return Some(rule.clone());
        }
        self.rules.iter_mut().find(fits).map(|rule| rule.clone())
    }

    /// Whether a question waits for a `reply`.
    pub(super) fn is_open(&self, id: &Value) -> bool {
        self.waiting.iter().any(|waiting| waiting.id == *id)
    }

    /// The oldest open question that a reply may be for.
    fn meant_by(&self, reply: &Reply) -> Option<usize> {
        self.waiting.iter().position(|waiting| {
            reply.id.as_ref().is_none_or(|id| *id == waiting.id)
                && reply.method.as_ref().is_none_or(|method| *method == waiting.method)
        })
    }

    /// Questions for consent so far.
    pub(super) fn asked(&self) -> usize {
        self.received.get(APPROVE).copied().unwrap_or(0)
    }
}

fn method_of(answer: &Answer) -> &str {
    answer.method.as_deref().unwrap_or(APPROVE)
}

fn error(code: i64, message: impl Into<String>) -> Failure {
    Failure { code, message: message.into() }
}

impl Editor {
    /// Hears a message that is no answer.
    pub(super) fn hear(&mut self, message: &Value) {
        let Some(method) = message.get("method").and_then(Value::as_str) else { return };
        *self.answers.received.entry(method.to_owned()).or_default() += 1;
        let params = message.get("params").unwrap_or(&Value::Null);
        match message.get("id") {
            Some(id) => self.request(id, method, params),
            None if method == "$/cancelRequest" => self.taken_back(&params["id"]),
            None => {}
        }
    }

    fn respond(&mut self, id: &Value, answer: Result<Value, Failure>) {
        self.send(match answer {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(failure) => json!({ "jsonrpc": "2.0", "id": id, "error": failure }),
        });
    }

    /// A question is not asked any more.
    fn taken_back(&mut self, id: &Value) {
        if let Some(at) = self.answers.waiting.iter().position(|waiting| waiting.id == *id) {
            self.answers.waiting.remove(at);
            self.respond(id, Err(error(CANCELLED, "taken back")));
        }
    }

    fn request(&mut self, id: &Value, method: &str, params: &Value) {
        if method == "workspace/applyEdit" {
            return self.apply_edit(id, params);
        }
        if let Some(rule) = self.answers.rule(method) {
            return self.by_rule(&rule, id, method, params);
        }
        match method {
            APPROVE | "ropewalk/ask" | "ropewalk/runTool" | "ropewalk/runAgent" | "ropewalk/elicit"
            | "ropewalk/sample" | MESSAGE
                if self.answers.open =>
            {
                self.leave_open(id, method, params);
            }
            APPROVE => {
                self.nothing_allows(params);
                let no = consent(params, Consent::Deny, &Answer::default());
                self.respond(id, Ok(no));
            }
            MESSAGE => {
                let about = self.answers.rule(APPROVE).and_then(|rule| rule.approve);
                let button = about.and_then(|about| button(params, about)).unwrap_or(Value::Null);
                if button.is_null() && button_of_ours(params) {
                    let question = params["message"].as_str().unwrap_or_default();
                    let reason = question.lines().next().unwrap_or_default().to_owned();
                    self.answers.unallowed.push(Unallowed { call: "a call".to_owned(), reason, rule: None });
                }
                self.respond(id, Ok(button));
            }
            _ => {
                let answer = self.by_itself(method, params);
                self.respond(id, answer);
            }
        }
    }

    fn by_rule(&mut self, rule: &Answer, id: &Value, method: &str, params: &Value) {
        if rule.open {
            return self.leave_open(id, method, params);
        }
        let answer = match (&rule.error, rule.approve) {
            (Some(failure), _) => Err(failure.clone()),
            (None, Some(said)) => Ok(consent(params, said, rule)),
            (None, None) => Ok(rule.result.clone().unwrap_or(Value::Null)),
        };
        self.respond(id, answer);
    }

    fn leave_open(&mut self, id: &Value, method: &str, params: &Value) {
        let waiting = Waiting { id: id.clone(), method: method.to_owned(), params: params.clone() };
        self.answers.waiting.push(waiting);
    }

    /// Whether the question of a reply waits for it.
    pub(super) fn can_reply(&self, reply: &Reply) -> bool {
        self.answers.meant_by(reply).is_some()
    }

    /// Answers a question that was left open.
    pub(super) fn reply(&mut self, reply: &Reply) -> Result<(), String> {
        let Some(at) = self.answers.meant_by(reply) else {
            let open: Vec<&str> = self.answers.waiting.iter().map(|waiting| waiting.method.as_str()).collect();
            let open =
                if open.is_empty() { "none is open".to_owned() } else { format!("open are: {}", open.join(", ")) };
            return Err(format!("no such question waits for an answer ({open})"));
        };
        let waiting = self.answers.waiting.remove(at);
        let answer = match (&reply.error, reply.approve) {
            (Some(failure), _) => Err(failure.clone()),
            (None, Some(said)) if waiting.method == MESSAGE => Ok(button(&waiting.params, said).unwrap_or(Value::Null)),
            (None, Some(said)) => Ok(consent(&waiting.params, said, &Answer::default())),
            (None, None) => Ok(reply.result.clone()),
        };
        self.respond(&waiting.id, answer);
        Ok(())
    }

    /// There is nobody any more who would answer what is open.
    pub(super) fn deny_what_is_open(&mut self) {
        self.answers.open = false;
        for waiting in std::mem::take(&mut self.answers.waiting) {
            self.request(&waiting.id, &waiting.method, &waiting.params);
        }
    }

    fn nothing_allows(&mut self, params: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        for call in params["calls"].as_array().into_iter().flatten() {
            self.answers.unallowed.push(Unallowed {
                call: format!("{} ({})", text(&call["name"]), text(&call["callId"])),
                reason: text(&call["reason"]),
                rule: call["suggestedRule"].as_str().map(str::to_owned),
            });
        }
    }

    /// What an editor answers without anybody's help.
    fn by_itself(&mut self, method: &str, params: &Value) -> Result<Value, Failure> {
        let uri = params["uri"].as_str().unwrap_or_default();
        let knows_ours = self.manner.has_adapter();
        match method {
            "ropewalk/resync" if knows_ours => match self.documents.get(uri) {
                Some(document) => Ok(json!({ "version": document.version, "text": document.text().to_string() })),
                None => Err(error(FAILED, format!("`{uri}` is not open"))),
            },
            "ropewalk/save" if knows_ours => {
                let uris = params["uris"].as_array().cloned().unwrap_or_default();
                let failed = uris
                    .iter()
                    .filter_map(Value::as_str)
                    .filter_map(|uri| self.save(uri).err().map(|reason| json!({ "uri": uri, "reason": reason })));
                Ok(json!({ "failed": failed.collect::<Vec<_>>() }))
            }
            "ropewalk/pullDiagnostics" if knows_ours => {
                let uri = uri.to_owned();
                self.check(&uri);
                Ok(Value::Null)
            }
            // It has no formatter, and questions that nobody answers are closed.
            "ropewalk/format" | "ropewalk/ask" if knows_ours => Ok(Value::Null),
            "ropewalk/elicit" if knows_ours => Ok(json!({ "action": "decline" })),
            "workspace/configuration" => {
                let items = params["items"].as_array().map_or(0, Vec::len);
                Ok(Value::Array(vec![Value::Null; items]))
            }
            "client/registerCapability"
            | "client/unregisterCapability"
            | "window/workDoneProgress/create"
            | "workspace/codeLens/refresh"
            | "workspace/diagnostic/refresh"
            | "workspace/workspaceFolders" => Ok(Value::Null),
            "window/showDocument" => Ok(json!({ "success": true })),
            _ => Err(error(UNKNOWN, format!("the method `{method}` is not known"))),
        }
    }
}

/// The same word on each call of a question.
fn consent(params: &Value, said: Consent, rule: &Answer) -> Value {
    let decisions = params["calls"].as_array().into_iter().flatten().map(|call| {
        let mut decision = json!({ "callId": call["callId"], "decision": said });
        if let Some(feedback) = &rule.feedback {
            decision["feedback"] = json!(feedback);
        }
        if let Some(arguments) = &rule.arguments {
            decision["arguments"] = arguments.clone();
        }
        decision
    });
    json!({ "decisions": decisions.collect::<Vec<_>>() })
}

/// Whether a message asks for consent.
fn button_of_ours(params: &Value) -> bool {
    params["actions"].as_array().into_iter().flatten().any(|action| action["title"] == "Deny")
}

/// The button of a message that says this.
fn button(params: &Value, said: Consent) -> Option<Value> {
    let title = match said {
        Consent::Once => "Allow once",
        Consent::Session | Consent::Always => "Allow in this session",
        Consent::Deny => "Deny",
    };
    params["actions"].as_array()?.iter().find(|action| action["title"] == title).cloned()
}
