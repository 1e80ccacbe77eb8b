//! What MCP servers ask for by way of us: words of a person (`ropewalk/elicit`) and of a model (`ropewalk/sample`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An MCP server asks a person for something: `ropewalk/elicit`. What is in it are the server's words, not ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ElicitParams {
    /// The server, by the name that the settings give it.
    pub server: String,
    /// The session whose call the question belongs to, where only one is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// That call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// What it asks for.
    pub message: String,
    /// How it is answered.
    pub mode: ElicitMode,
    /// In the mode `form`: JSON Schema of the answer, an object of plain fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_schema: Option<Value>,
    /// In the mode `url`: the page to show to the person, once they agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// How an MCP server's question is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ElicitMode {
    /// By filling in a form.
    Form,
    /// On a page of its own.
    Url,
}

/// The answer to [`ElicitParams`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ElicitAnswer {
    /// What the person did.
    pub action: ElicitAction,
    /// What they filled in, when they accepted a form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Value>,
}

/// What a person did about an MCP server's question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ElicitAction {
    /// They answered.
    Accept,
    /// They said no.
    Decline,
    /// They looked away.
    Cancel,
}

/// An MCP server asks a model for something: `ropewalk/sample`. Whoever answers asks the person first, as MCP has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SampleParams {
    /// The server, by the name that the settings give it.
    pub server: String,
    /// The session whose call the question belongs to, where only one is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// That call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The parameters of MCP's `sampling/createMessage`, as they came.
    pub request: Value,
}

/// The answer to [`SampleParams`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampleAnswer {
    /// The result of MCP's `sampling/createMessage`: `{ role, content, model, stopReason? }`.
    pub result: Value,
}
