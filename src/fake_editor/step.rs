//! The step language: what a script, or whoever drives the editor, can ask for. Data only, read from JSON; a key that is
//! not known is an error. `docs/RUN.md` has an example of each.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::manner::Manner;
use crate::editor::Consent;
use crate::fake_server::script::Rule;
use crate::text::{Position, Range};

/// A step: one line of JSON, an object with one of these keys, and `name` beside it where the step has a name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Opens a document.
    Open(Open),
    /// A person types.
    Type(Type),
    /// A change of the text by its range, as another extension makes one.
    Change(Change),
    /// Takes back the last step of a document.
    Undo(Named),
    /// Makes again what was taken back.
    Redo(Named),
    /// Saves a document.
    Save(Named),
    /// Closes a document, saved or not.
    Close(Named),
    /// Another program writes, or removes, a file.
    WriteDisk(WriteDisk),
    /// New settings.
    Settings(Settings),
    /// The person trusts a folder, or no longer does.
    Trust(Trust),
    /// Opens a session, which later calls belong to.
    Session(Session),
    /// Runs a call.
    Call(Call),
    /// Runs several calls at once.
    Calls(Calls),
    /// Waits for a call, or a request, that was not waited for.
    Await(Labelled),
    /// Cancels a call, or all of them.
    Cancel(Cancel),
    /// Says how questions are answered from now on.
    Answer(Answer),
    /// Answers a question that was left open.
    Reply(Reply),
    /// Says how the editor behaves from now on.
    Editor(Behaviour),
    /// Tells the changes that are held back.
    Release(Release),
    /// A language server of the editor's says something, or is there from now on.
    Diagnostics(Diagnostics),
    /// Sends any request.
    Request(Request),
    /// Sends any notification.
    Notify(Notify),
    /// Waits until the other side has sent something.
    Until(Until),
    /// Waits until nothing is under way.
    Settle(Settle),
    /// Says what is expected by now.
    Expect(Box<Expect>),
}

/// Opens a document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Open {
    /// The document: a path below the root, or a URI (`untitled:one`).
    #[serde(alias = "uri")]
    pub path: String,
    /// Its text, which no file has; without it: that of the file.
    #[serde(default)]
    pub text: Option<String>,
    /// Its language id; without it: by its name.
    #[serde(default)]
    pub language_id: Option<String>,
}

/// A person types: exactly one of `at`, `after`, `before` and `end` says where.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Type {
    /// The document.
    #[serde(alias = "uri")]
    pub path: String,
    /// What is typed.
    pub text: String,
    /// At this position (0-based, in the units of the wire).
    #[serde(default)]
    pub at: Option<Position>,
    /// Behind this text, which stands there once.
    #[serde(default)]
    pub after: Option<String>,
    /// Before this text, which stands there once.
    #[serde(default)]
    pub before: Option<String>,
    /// At the end of the document.
    #[serde(default)]
    pub end: bool,
    /// Neovim: insert mode is not left, so that what comes next may be one undo step with this.
    #[serde(default)]
    pub stays: bool,
}

/// A change of the text by its range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Change {
    /// The document.
    #[serde(alias = "uri")]
    pub path: String,
    /// What goes (0-based, in the units of the wire).
    pub range: Range,
    /// What takes its place.
    pub text: String,
}

/// A document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Named {
    /// The document.
    #[serde(alias = "uri")]
    pub path: String,
}

/// Another program writes, or removes, a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WriteDisk {
    /// The file, below the root.
    pub path: String,
    /// What is in it from now on; null: it is removed.
    pub text: Option<String>,
    /// Whether an editor notices: it tells the watchers, and reads an open document without unsaved changes anew.
    #[serde(default = "yes")]
    pub noticed: bool,
}

fn yes() -> bool {
    true
}

/// New settings: the object, as in the editor's own settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Settings {
    /// The settings; they are put over those of the run, group by group.
    pub settings: Map<String, Value>,
}

/// The person trusts a folder, or no longer does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Trust {
    /// The folder, below the root; without it: the root.
    #[serde(default)]
    pub path: Option<String>,
    /// Whether it is trusted.
    #[serde(default = "yes")]
    pub trusted: bool,
}

/// Opens a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Its name; calls that name none belong to it from now on.
    pub id: String,
    /// What `ropewalk/openSession` takes besides: `mode`, `apply`, `save`, `rules` and so on.
    #[serde(flatten)]
    pub wishes: Map<String, Value>,
}

/// Runs a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// Its arguments: an object, or the raw text of a model.
    #[serde(default)]
    pub arguments: Value,
    /// The session; without it: that of the last `session` step.
    #[serde(default)]
    pub session_id: Option<String>,
    /// How later steps call it, and its `callId`; without it: `c1`, `c2` and so on.
    #[serde(default, rename = "as")]
    pub label: Option<String>,
    /// Whether the next step waits for its end.
    #[serde(default)]
    pub wait: Option<bool>,
    /// Further params of `ropewalk/callTool`: `turnId`, `apply`, `diagnostics` and so on.
    #[serde(default)]
    pub params: Map<String, Value>,
}

/// Runs several calls at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Calls {
    /// The calls, in their order. What they say of `wait` and `sessionId` does not count.
    pub calls: Vec<Call>,
    /// The session; without it: that of the last `session` step.
    #[serde(default)]
    pub session_id: Option<String>,
    /// Whether the next step waits for their end.
    #[serde(default)]
    pub wait: Option<bool>,
}

/// A call or request by its label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Labelled {
    /// The label.
    pub call: String,
}

/// Cancels a call, or all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cancel {
    /// The label; without it: all calls of the session.
    #[serde(default)]
    pub call: Option<String>,
}

/// How questions are answered: `approve`, or `method` with `result`, `error` or `open`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Answer {
    /// What the person says to calls that need consent.
    pub approve: Option<Consent>,
    /// With `approve`: words for the model.
    pub feedback: Option<String>,
    /// With `approve`: other arguments to use instead.
    pub arguments: Option<Value>,
    /// The method that is answered, such as `ropewalk/ask`.
    pub method: Option<String>,
    /// The answer to it.
    pub result: Option<Value>,
    /// The error it is answered with.
    pub error: Option<Failure>,
    /// It is left open, for a `reply` step to answer.
    pub open: bool,
    /// How often; without it: from now on.
    pub times: Option<u32>,
}

/// An error of JSON-RPC.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Failure {
    /// Its code.
    pub code: i64,
    /// Its words.
    pub message: String,
}

/// Answers a question that was left open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reply {
    /// The method: the oldest open question of it is answered.
    #[serde(default)]
    pub method: Option<String>,
    /// Or the id of the request, as an event told it.
    #[serde(default)]
    pub id: Option<Value>,
    /// The answer.
    #[serde(default)]
    pub result: Value,
    /// Or the error.
    #[serde(default)]
    pub error: Option<Failure>,
    /// Or, for consent, what the person says to all calls of the question.
    #[serde(default)]
    pub approve: Option<Consent>,
}

/// How the editor behaves from now on; what is absent stays as it is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Behaviour {
    /// Which editor it is. Only before everything else.
    pub manner: Option<Manner>,
    /// What it declares of ours besides, or instead (`"approve": false`). Only before everything else.
    pub abilities: Map<String, Value>,
    /// What it does with the next edits, one after the other, instead of applying them.
    pub next: Vec<Trouble>,
    /// When it tells the change that an edit made; null: as the manner has it.
    pub echo: Option<Echo>,
    /// The change is told so much later (ms).
    pub delay_ms: Option<u64>,
    /// Each place of an edit is told as a change of its own; null: as the manner has it.
    pub split: Option<bool>,
}

/// What it does with one edit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Trouble {
    /// It refuses.
    Refuse,
    /// It says that it was applied, and does nothing.
    Lie,
    /// It does nothing and never answers.
    Silent,
    /// It applies the edit, tells the change, and never answers.
    Unanswered,
    /// The document is closed before.
    Close,
    /// The person types before it is looked at.
    Type(Type),
    /// The person types when it has been applied, and the change that is told has both.
    TypeWith(Type),
    /// Nothing special: for the edits in between.
    Apply,
}

/// When the change that an edit made is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Echo {
    /// Before the answer.
    Before,
    /// After the answer.
    After,
    /// When a `release` step says so; whatever is told afterwards waits behind it.
    Held,
}

/// Tells the changes that are held back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Release {}

/// A language server of the editor's: `rules` for one that checks every text from now on, `items` for what it says now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Diagnostics {
    /// The document; with `rules` it may be absent: all that are open, and will be.
    #[serde(default, alias = "uri")]
    pub path: Option<String>,
    /// Its name, and its id.
    pub source: String,
    /// From now on it looks for these in each text, and says at once what it finds.
    #[serde(default)]
    pub rules: Option<Vec<Rule>>,
    /// What it says now, as in the protocol.
    #[serde(default)]
    pub items: Option<Vec<Value>>,
    /// With `items`: the version that it names; without it: that of the document.
    #[serde(default)]
    pub version: Option<i32>,
}

/// Sends any request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Request {
    /// The method.
    pub method: String,
    /// Its params.
    #[serde(default)]
    pub params: Value,
    /// How later steps call it.
    #[serde(default, rename = "as")]
    pub label: Option<String>,
    /// Whether the next step waits for its answer.
    #[serde(default)]
    pub wait: Option<bool>,
}

/// Sends any notification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Notify {
    /// The method.
    pub method: String,
    /// Its params.
    #[serde(default)]
    pub params: Value,
}

/// Waits until the other side has sent something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Until {
    /// The method of the request or notification.
    pub method: String,
    /// The how manieth since the start; without it: one more than at the last `until` for it.
    #[serde(default)]
    pub nth: Option<usize>,
}

/// Waits until nothing is under way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Settle {
    /// At most so long (ms).
    #[serde(default = "settle_ms")]
    pub deadline_ms: u64,
}

fn settle_ms() -> u64 {
    5000
}

/// What is expected by now: of a document (`path`), of a call or request (`call`; without it: the last one that ended),
/// or of the run. Whatever is named has to hold.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Expect {
    /// The document, or the file for `disk` and `diskIncludes`.
    #[serde(alias = "uri")]
    pub path: Option<String>,
    /// Its whole text in the editor. The other side must have the same, unless `mirror` is false.
    pub text: Option<String>,
    /// Part of its text in the editor.
    pub text_includes: Option<String>,
    /// Whether the other side has the same text and version; looked at whenever something is expected of a text, unless
    /// changes are held back.
    pub mirror: Option<bool>,
    /// The whole file on the disk.
    pub disk: Option<String>,
    /// Part of the file on the disk.
    pub disk_includes: Option<String>,
    /// Whether the file is there.
    pub on_disk: Option<bool>,
    /// Whether the document is open.
    pub open: Option<bool>,
    /// Whether its text is not that of the file.
    pub unsaved: Option<bool>,
    /// Its version in the editor.
    pub version: Option<i32>,
    /// How many steps undo could take back.
    pub undo_depth: Option<usize>,
    /// How many steps redo could make again.
    pub redo_depth: Option<usize>,
    /// How many hunks wait for a person's judgement: of the document, or all.
    pub changes: Option<usize>,
    /// How many hunks are proposed: of the document, or all.
    pub proposals: Option<usize>,
    /// The call or request.
    pub call: Option<String>,
    /// How it ended: `ok`, `error`, `denied`, `cancelled`, `superseded`.
    pub status: Option<String>,
    /// The kind of its error, such as `notFound`; `none`: there is none.
    pub error: Option<String>,
    /// How much of its change was made: `all`, `some`, `none`.
    pub applied: Option<String>,
    /// The verdict of each source that is named, such as `{"lint": "fresh"}`.
    pub verdicts: Option<BTreeMap<String, String>>,
    /// How many problems are new, of all documents and sources.
    pub new: Option<usize>,
    /// How many are resolved.
    pub resolved: Option<usize>,
    /// How many are unchanged.
    pub unchanged: Option<usize>,
    /// How many are there, where there was nothing to compare with.
    pub present: Option<usize>,
    /// The answer for the model, whole.
    pub content: Option<String>,
    /// Part of it.
    pub content_includes: Option<String>,
    /// What must not be part of it.
    pub content_excludes: Option<String>,
    /// A regular expression that it matches somewhere.
    pub content_matches: Option<String>,
    /// What is at these JSON pointers of the whole result; null also where there is nothing.
    pub pointers: Option<BTreeMap<String, Value>>,
    /// How many questions for consent there have been since the start.
    pub asked: Option<usize>,
    /// How many requests and notifications of each of these methods have come since the start, at least.
    pub received: Option<BTreeMap<String, usize>>,
}
