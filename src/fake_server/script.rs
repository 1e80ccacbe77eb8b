//! The script: what the server is asked to be. Data only, read from JSON; a key that is not known is an error.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::text::Encoding;

/// A method of the language server protocol, such as `textDocument/didOpen`.
pub type Method = String;

/// What a fake language server does. Everything is optional: the empty script is a polite server that publishes an
/// empty list, with the version, for each text.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Script {
    /// How positions count, and what the server says of it.
    pub position_encoding: Option<Encoding>,
    /// Which changes it takes.
    pub sync: Sync,
    /// Merged into the capabilities that follow from the script, object by object; `null` removes a key.
    pub capabilities: Map<String, Value>,
    /// What turns text into diagnostics.
    pub rules: Vec<Rule>,
    /// Words that are defined in one place and used in others, in all files that the server knows.
    pub names: Option<Names>,
    /// How diagnostics are told.
    pub diagnostics: Diagnostics,
    /// Files below the root that it reads when it starts, so that it knows them without their being open.
    pub project: Vec<PathBuf>,
    /// It registers for changes of files on the disk, and reads the files that it is then told of.
    pub watches: bool,
    /// Answers by method, instead of those that follow from the rest of the script. In their texts `${uri}` is the
    /// document that was asked about and `${root}` the URI of the root, without a slash at its end.
    pub answers: BTreeMap<Method, Value>,
    /// Errors by method, instead of an answer.
    pub errors: BTreeMap<Method, Failure>,
    /// Methods that it hears and never answers; for a notification: that it does not heed.
    pub ignores: Vec<Method>,
    /// How late it is (ms), by method: of the request that is answered, or of the notification that is sent. What comes
    /// meanwhile is heard and answered.
    pub delays: BTreeMap<Method, u64>,
    /// The same for the first time only, instead of `delays`: a cold start.
    pub first_delays: BTreeMap<Method, u64>,
    /// What is held back, by method as in `delays`, until the client has sent the method named as the value for the
    /// first time. For tests that shall not depend on the time.
    pub holds: BTreeMap<Method, Method>,
    /// What `textDocument/formatting` changes.
    pub formatting: Vec<Rewrite>,
    /// Its code actions.
    pub actions: Vec<Action>,
    /// Its commands by name: what each asks the client to change, in the document whose URI is the first argument.
    pub commands: BTreeMap<String, Vec<Rewrite>>,
    /// What it asks the client by itself when it is initialised: methods, or `all`.
    pub asks: Vec<Method>,
    /// What it does when it hears a method that it does not know.
    pub unknown_methods: Unknown,
    /// When it dies. The first that fits counts.
    pub crashes: Vec<Crash>,
    /// From the moment it hears one of these methods on, it neither reads nor writes (and does not go when its input
    /// ends; after ten minutes it does).
    pub wedges: Vec<Method>,
    /// When it says far too much.
    pub floods: Vec<Flood>,
    /// When it writes what is no message.
    pub garbage: Vec<Garbage>,
    /// A file that gets a line of JSON for each message: `{"heard": ...}` or `{"said": ...}`.
    pub transcript: Option<PathBuf>,
}

/// Which changes a server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Sync {
    /// None: it checks what is on the disk, when a document is opened and when it is saved.
    None,
    /// Whole texts.
    Full,
    /// Ranges.
    #[default]
    Incremental,
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The default.
    #[default]
    Error,
    /// A warning.
    Warning,
    /// Information.
    Information,
    /// A hint.
    Hint,
}

impl Severity {
    /// The protocol's number for it.
    pub(super) fn number(self) -> u8 {
        match self {
            Severity::Error => 1,
            Severity::Warning => 2,
            Severity::Information => 3,
            Severity::Hint => 4,
        }
    }
}

/// One rule: each match of a pattern is a problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// A regular expression (the syntax of Rust's `regex`; `^` and `$` are the ends of lines).
    pub pattern: String,
    /// How bad it is.
    #[serde(default)]
    pub severity: Severity,
    /// Its code.
    #[serde(default)]
    pub code: Option<Value>,
    /// Its message; `$0` is the match, `$1` its first group, `${name}` a named one.
    pub message: String,
    /// It is found on the disk only: told by a push when the document is opened or saved, and not in answers.
    #[serde(default)]
    pub needs_save: bool,
    /// Merged into the diagnostic; `null` removes a key. For what no server should send.
    #[serde(default)]
    pub fields: Map<String, Value>,
}

/// Names across files. The answers to definition, references, rename, hover, and both kinds of symbols follow from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Names {
    /// What defines a name: a regular expression whose first group is the name.
    pub defines: String,
    /// What uses one: a regular expression whose first group is the name.
    pub uses: String,
    /// How bad it is when nothing defines a used name.
    #[serde(default)]
    pub severity: Severity,
    /// The code of that.
    #[serde(default)]
    pub code: Option<Value>,
    /// The message of that; `$1` is the name.
    #[serde(default = "undefined")]
    pub message: String,
}

fn undefined() -> String {
    "`$1` is not defined".to_owned()
}

/// How diagnostics are told.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of the script by itself")]
pub struct Diagnostics {
    /// By which way.
    pub by: By,
    /// With asking: it says that it can be asked by a registration after the start.
    pub registers: bool,
    /// With asking: the identifier to ask with.
    pub identifier: Option<String>,
    /// What it stamps publications with.
    pub stamps: Stamps,
    /// It publishes nothing when a document is opened.
    pub silent_on_open: bool,
    /// It publishes only what differs from what it last published for the document.
    pub only_news: bool,
    /// It publishes an empty list at once, and the real one so long after it (ms).
    pub pair_ms: Option<u64>,
    /// Publications that are delayed or held go out also when a newer text has come meanwhile; otherwise they are
    /// dropped.
    pub keeps_old: bool,
    /// Whether it tells its progress with each check.
    pub progress: Progress,
    /// With asking: whether it says `unchanged`.
    pub unchanged: Unchanged,
    /// With asking: it tells of other documents in its answers.
    pub related: bool,
    /// With asking: it asks to be asked again when other documents may have changed.
    pub refreshes: bool,
    /// It can be asked for the whole workspace.
    pub workspace: bool,
    /// One odd diagnostic of each of these kinds is added to every list.
    pub odd: Vec<Odd>,
}

/// By which way diagnostics come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// It publishes them.
    #[default]
    Push,
    /// It can be asked, and publishes only what needs a save.
    Pull,
    /// Both.
    Both,
    /// Neither.
    Never,
}

/// What a publication is stamped with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stamps {
    /// The version of the text, as it should be.
    #[default]
    Version,
    /// Nothing.
    None,
    /// Always 0.
    Zero,
    /// Always 1.
    One,
    /// How often it has published for the document.
    Counter,
}

/// How it tells its progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Progress {
    /// Not at all.
    #[default]
    None,
    /// It begins when a text comes, and ends behind the publication for it.
    Checks,
    /// It begins when a text comes, and never ends.
    Endless,
}

/// When a server that is asked says `unchanged`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unchanged {
    /// Never; its answers have no `resultId`.
    #[default]
    Never,
    /// When it is so.
    Honest,
    /// Always, also to a client that was never told anything: what it says so about is lost.
    Always,
}

/// Diagnostics that no server should send, and some do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Odd {
    /// `codeDescription.href` is an empty text.
    EmptyHref,
    /// The code is 1.5.
    FractionalCode,
    /// The range begins in line -1.
    NegativeLine,
    /// The range ends far behind the text.
    FarRange,
    /// The range ends before it begins.
    ReversedRange,
    /// There is nothing but a message.
    OnlyMessage,
    /// There is no message.
    NoMessage,
    /// The message has a million characters.
    HugeMessage,
    /// The message holds control characters.
    ControlCharacters,
    /// The severity is 99.
    WrongSeverity,
    /// It is no object, but a text.
    NoObject,
}

/// An error instead of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Failure {
    /// The code: -32801 (content modified), -32802 (server cancelled), -32601 (method not found) ...
    pub code: i64,
    /// The words.
    #[serde(default)]
    pub message: String,
    /// More, such as `{"retriggerRequest": true}`.
    #[serde(default)]
    pub data: Option<Value>,
    /// So many times, and then it answers; absent: always.
    #[serde(default)]
    pub times: Option<u32>,
}

/// A change of text: each match of a pattern is replaced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rewrite {
    /// A regular expression, as in a rule.
    pub pattern: String,
    /// What takes the place of a match; groups as in a rule's message.
    pub with: String,
}

/// A code action. It is offered where its pattern matches in the lines that are asked about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Action {
    /// Its title.
    pub title: String,
    /// Its kind, such as `quickfix`.
    #[serde(default)]
    pub kind: Option<String>,
    /// A regular expression, as in a rule.
    pub pattern: String,
    /// What takes the place of each match in these lines.
    #[serde(default)]
    pub with: Option<String>,
    /// The command that it runs, with the document's URI as its argument.
    #[serde(default)]
    pub command: Option<String>,
    /// Its edit comes only with `codeAction/resolve`.
    #[serde(default)]
    pub resolves: bool,
}

/// What is done on hearing a method that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unknown {
    /// A request is answered with the error -32601; a notification is passed over.
    #[default]
    Error,
    /// Nothing, so that a request has no answer.
    Ignore,
    /// It dies with exit code 1.
    Leave,
}

/// A moment: the client sent a method, for the so-and-so-manieth time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Crash {
    /// The method that it hears.
    pub on: Method,
    /// The how-manieth such message it is, from 1; absent: the first.
    #[serde(default = "first")]
    pub nth: u32,
    /// What of the consequences is still written.
    #[serde(default)]
    pub when: When,
    /// What it writes to its error stream before.
    #[serde(default)]
    pub stderr: String,
    /// Its exit code.
    #[serde(default = "failed")]
    pub exit_code: u8,
    /// It dies by the signal KILL instead.
    #[serde(default)]
    pub killed: bool,
    /// Only once in all: a file that is made then, and while it is there this crash does not happen.
    #[serde(default)]
    pub once: Option<PathBuf>,
}

fn first() -> u32 {
    1
}

fn failed() -> u8 {
    3
}

/// How far a server gets before it dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum When {
    /// It says nothing more.
    #[default]
    Before,
    /// All that follows from the message at once is said.
    After,
    /// Half of the first message that follows at once is written.
    MidFrame,
}

/// Far too much at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Flood {
    /// The method that it hears.
    pub on: Method,
    /// So many publications, each for a file of its own that nobody opened.
    pub publishes: u32,
    /// So many `window/logMessage`.
    pub logs: u32,
    /// So many lines on the error stream.
    pub stderr: u32,
    /// How long each message or line is (characters), about.
    pub length: u32,
}

/// What is no message, at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Garbage {
    /// The method that it hears; the garbage goes out before anything that follows from it.
    pub on: Method,
    /// What it is.
    pub kind: GarbageKind,
}

/// What a server writes that is no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum GarbageKind {
    /// Lines of text between the frames, as of a forgotten `print`.
    Noise,
    /// A frame that holds no JSON.
    NoJson,
    /// A frame that holds JSON, which is no message.
    NoMessage,
    /// A frame with other headers, in lower case, with LF alone; its message is a good one.
    OddHeaders,
    /// An answer to a question that nobody asked.
    StrayAnswer,
    /// A length that is no number: nothing can be read after it.
    BadLength,
    /// A length of a terabyte: nothing can be read after it.
    HugeLength,
}
