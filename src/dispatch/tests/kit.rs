//! A desk to test at: an editor that answers as a test wants, a disk in memory, and tools made of closures.

use std::collections::VecDeque;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::dispatch::{CallParams, CallResult, Dispatch};
use crate::editor::{
    Abilities, ApplyEdit, ApproveDecision, ApproveParams, ApproveResult, AskError, Consent, EditReply, Editor, News,
    RunAgentParams, RunAgentResult, SaveResult,
};
use crate::languages::{Languages, Wait, WaitMode};
use crate::permissions::{Rule, Trust};
use crate::ports::{MemoryDisk, Ports, Seeded, SystemClock};
use crate::text::{Splice, Text, TextEdit};
use crate::tool::{Access, AnyTool, Capability, Content, Context, Outcome, Plan, ToolError, Traits};
use crate::tools;
use crate::workspace::documents::ContentChange;
use crate::workspace::{Documents, Key, Roots, Snapshot, Workspace};

/// What the editor answers to a question for consent; runs before the answer, so that it can change the world.
pub(super) type Answer = Box<dyn FnOnce(&ApproveParams) -> ApproveResult + Send>;

/// What the editor answers when it is asked how it would format a document; `None`: nothing, ever.
pub(super) type Formatter = Box<dyn Fn(&Snapshot) -> Option<Result<Option<Vec<TextEdit>>, AskError>> + Send + Sync>;

/// What the editor does when it is asked to save a document, and answers; `None`: nothing, ever.
pub(super) type Saver = Box<dyn Fn(&Snapshot) -> Option<Result<SaveResult, AskError>> + Send + Sync>;

/// What the editor does with an edit, and answers; `None`: nothing, ever. The first says how often it was asked before.
pub(super) type Applier = Box<dyn Fn(usize, &Documents, &ApplyEdit) -> Option<EditReply> + Send + Sync>;

/// What the editor does when it is asked to run an agent.
pub(super) type Runner =
    Box<dyn Fn(RunAgentParams) -> BoxFuture<'static, Result<RunAgentResult, AskError>> + Send + Sync>;

/// An editor that applies edits at once and echoes them.
pub(super) struct FakeEditor {
    pub abilities: Mutex<Abilities>,
    pub answers: Mutex<VecDeque<Answer>>,
    /// The questions that were asked.
    pub asked: Mutex<Vec<ApproveParams>>,
    /// When set, a question is never answered; the notice tells that it came.
    pub silent: Mutex<Option<Arc<Notify>>>,
    pub told: Mutex<Vec<News>>,
    pub applier: Mutex<Option<Applier>>,
    /// The edits that it was asked for.
    pub edits: Mutex<Vec<ApplyEdit>>,
    pub formatter: Mutex<Option<Formatter>>,
    pub saver: Mutex<Option<Saver>>,
    pub runner: Mutex<Option<Runner>>,
    documents: Arc<Documents>,
}

#[async_trait]
impl Editor for FakeEditor {
    fn abilities(&self) -> Abilities {
        self.abilities.lock().unwrap().clone()
    }

    async fn apply_edit(&self, edit: ApplyEdit, _: Duration) -> Result<EditReply, AskError> {
        let before = {
            let mut edits = self.edits.lock().unwrap();
            edits.push(edit.clone());
            edits.len() - 1
        };
        let reply = match &*self.applier.lock().unwrap() {
            Some(applier) => applier(before, &self.documents, &edit),
            None => Some(apply(&self.documents, &edit, &[])),
        };
        match reply {
            Some(reply) => Ok(reply),
            None => std::future::pending().await,
        }
    }

    async fn approve(&self, params: ApproveParams) -> Result<ApproveResult, AskError> {
        self.asked.lock().unwrap().push(params.clone());
        let silent = self.silent.lock().unwrap().clone();
        if let Some(notice) = silent {
            notice.notify_one();
            std::future::pending::<()>().await;
        }
        let answer = self.answers.lock().unwrap().pop_front();
        answer.map(|answer| answer(&params)).ok_or(AskError::Unsupported)
    }

    async fn format(&self, uri: &str, version: i32, _: Duration) -> Result<Option<Vec<TextEdit>>, AskError> {
        let answer = {
            let document = self.documents.get(&self.documents.key_of(uri).unwrap()).unwrap();
            assert_eq!(document.version, version);
            self.formatter.lock().unwrap().as_ref().map(|formatter| formatter(&document))
        };
        match answer {
            None => Err(AskError::Unsupported),
            Some(Some(answer)) => answer,
            Some(None) => std::future::pending().await,
        }
    }

    async fn save(&self, uris: &[String], _: Duration) -> Result<SaveResult, AskError> {
        let answers: Vec<_> = {
            let documents = uris.iter().map(|uri| self.documents.get(&self.documents.key_of(uri).unwrap()).unwrap());
            let saver = self.saver.lock().unwrap();
            documents.map(|document| saver.as_ref().map(|saver| saver(&document))).collect()
        };
        let mut failed = Vec::new();
        for answer in answers {
            match answer {
                None => return Err(AskError::Unsupported),
                Some(None) => std::future::pending().await,
                Some(Some(answer)) => failed.extend(answer?.failed),
            }
        }
        Ok(SaveResult { failed })
    }

    async fn run_agent(&self, params: RunAgentParams, _: Duration) -> Result<RunAgentResult, AskError> {
        let running = self.runner.lock().unwrap().as_ref().map(|runner| runner(params));
        match running {
            Some(running) => running.await,
            None => Err(AskError::Unsupported),
        }
    }

    fn tell(&self, news: News) {
        self.told.lock().unwrap().push(news);
    }
}

/// Applies an edit and tells it, with what the user typed (`old` to `new`) in the same notification.
pub(super) fn apply(documents: &Documents, edit: &ApplyEdit, typed: &[(&str, &str)]) -> EditReply {
    let refused = |why: &str| EditReply { applied: false, reason: Some(why.to_owned()) };
    let Some(document) = documents.all().into_iter().find(|document| document.uri == edit.uri) else {
        return refused("not open");
    };
    if document.version != edit.version {
        return refused("another version");
    }
    // All edits are addressed in the text before: applied from the end, none moves another.
    let edits = edit.edits.iter().rev();
    let mut changes: Vec<ContentChange> =
        edits.map(|edit| ContentChange { range: Some(edit.range), text: edit.new_text.clone() }).collect();
    let mut text = document.text;
    for edit in edit.edits.iter().rev() {
        text.splice(&text.splice_of(edit, documents.counting().encoding).0);
    }
    for (old, new) in typed {
        let change = typing(&text, old, new, documents);
        text.splice(&text.splice_of(&change, documents.counting().encoding).0);
        changes.push(ContentChange { range: Some(change.range), text: change.new_text });
    }
    documents.change(&document.key, document.version + 1, changes);
    EditReply { applied: true, reason: None }
}

/// The user types in an open document.
pub(super) fn types(documents: &Documents, key: &Key, old: &str, new: &str) {
    let document = documents.get(key).unwrap();
    let TextEdit { range, new_text } = typing(&document.text, old, new, documents);
    documents.change(key, document.version + 1, vec![ContentChange { range: Some(range), text: new_text }]);
}

fn typing(text: &Text, old: &str, new: &str, documents: &Documents) -> TextEdit {
    let start = text.to_string().find(old).unwrap_or_else(|| panic!("{old:?} is not in {text:?}"));
    let splice = Splice { range: start..start + old.len(), text: new.to_owned() };
    text.edit_of(&splice, documents.counting().encoding)
}

pub(super) fn decided(params: &ApproveParams, decision: Consent) -> ApproveResult {
    decided_with(params, decision, None, None)
}

pub(super) fn decided_with(
    params: &ApproveParams,
    decision: Consent,
    arguments: Option<&Value>,
    feedback: Option<&str>,
) -> ApproveResult {
    let decide = |call: &crate::editor::ApproveCall| ApproveDecision {
        call_id: call.call_id.clone(),
        decision,
        arguments: arguments.cloned(),
        feedback: feedback.map(str::to_owned),
    };
    ApproveResult { decisions: params.calls.iter().map(decide).collect() }
}

type Planning = fn(&Context) -> Result<Plan, ToolError>;
type Acting = Pin<Box<dyn Future<Output = Result<Outcome, ToolError>> + Send>>;

/// A tool made of closures.
pub(super) struct FakeTool {
    traits: Traits<'static>,
    act: Box<dyn Fn(Value, Context) -> Acting + Send + Sync>,
    plan: Option<Planning>,
    access: Access,
}

impl FakeTool {
    pub(super) fn new<F>(name: &'static str, act: impl Fn(Value, Context) -> F + Send + Sync + 'static) -> FakeTool
    where
        F: Future<Output = Result<Outcome, ToolError>> + Send + 'static,
    {
        FakeTool {
            traits: Traits {
                name,
                title: "A tool of a test",
                capabilities: &[Capability::WritesFiles],
                parallel: false,
                deferred: false,
                free_form: None,
                deadline: Duration::from_secs(10),
                aliases: &[],
                names: &[],
            },
            act: Box::new(move |arguments, context| Box::pin(act(arguments, context))),
            plan: None,
            access: Access::default(),
        }
    }

    /// Reads and writes this file.
    pub(super) fn reaching(mut self, path: &str) -> FakeTool {
        self.access = Access { reads: vec![path.to_owned()], writes: vec![path.to_owned()], ..Access::default() };
        self
    }

    pub(super) fn parallel(mut self) -> FakeTool {
        self.traits.capabilities = &[Capability::ReadsFiles];
        self.traits.parallel = true;
        self
    }

    pub(super) fn capable(mut self, capabilities: &'static [Capability]) -> FakeTool {
        self.traits.capabilities = capabilities;
        self
    }

    /// Runs programs, for all that is known.
    pub(super) fn executing(mut self) -> FakeTool {
        self.traits.capabilities = &[Capability::ExecutesCode];
        self
    }

    /// Runs this command line.
    pub(super) fn running(mut self, line: &str) -> FakeTool {
        self.access = Access { commands: vec![line.to_owned()], ..Access::default() };
        self.executing()
    }

    /// Takes a text that is no JSON object as its `word`.
    pub(super) fn free(mut self) -> FakeTool {
        self.traits.free_form = Some("word");
        self
    }

    pub(super) fn planning(mut self, plan: Planning) -> FakeTool {
        self.plan = Some(plan);
        self
    }

    pub(super) fn ruled(self, rule: Rule) -> (Arc<dyn AnyTool>, Rule) {
        (Arc::new(self), rule)
    }
}

pub(super) fn said(text: &str) -> Outcome {
    Outcome { content: vec![Content::text(text)], ..Outcome::default() }
}

#[async_trait]
impl AnyTool for FakeTool {
    fn traits(&self) -> Traits<'_> {
        self.traits
    }

    fn description(&self) -> String {
        "Does what a test wants.".to_owned()
    }

    fn schema(&self) -> Value {
        json!({ "type": "object", "properties": { "word": { "type": "string" } } })
    }

    fn access(&self, _: &Value) -> Access {
        self.access.clone()
    }

    fn validate(&self, _: &Value) -> Result<(), ToolError> {
        Ok(())
    }

    async fn plan(&self, _: &Value, context: &Context) -> Result<Plan, ToolError> {
        self.plan.map_or(Ok(Plan::Run), |plan| plan(context))
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Outcome, ToolError> {
        (self.act)(arguments, context.clone()).await
    }
}

/// Everything a test needs.
pub(super) struct Desk {
    pub dispatch: Arc<Dispatch>,
    pub editor: Arc<FakeEditor>,
    pub documents: Arc<Documents>,
    pub workspace: Arc<Workspace>,
    pub disk: Arc<MemoryDisk>,
    pub languages: Arc<Languages>,
}

impl Desk {
    /// The built-in tools in a workspace with the folder `/w`.
    pub(super) fn new(disk: MemoryDisk) -> Desk {
        let built_in = tools::table().into_iter().map(|tool| {
            let rule = Rule::of(tool.traits().name);
            (tool, rule)
        });
        Desk::over(disk, built_in)
    }

    pub(super) fn over(disk: MemoryDisk, tools: impl IntoIterator<Item = (Arc<dyn AnyTool>, Rule)>) -> Desk {
        let disk = Arc::new(disk);
        let documents = Arc::new(Documents::new());
        let editor = Arc::new(FakeEditor {
            abilities: Mutex::new(Abilities { approve: true, events: true, ..Abilities::default() }),
            answers: Mutex::default(),
            asked: Mutex::default(),
            silent: Mutex::default(),
            told: Mutex::default(),
            applier: Mutex::default(),
            edits: Mutex::default(),
            formatter: Mutex::default(),
            saver: Mutex::default(),
            runner: Mutex::default(),
            documents: Arc::clone(&documents),
        });
        let clock = Arc::new(SystemClock);
        let ports = Ports { disk: disk.clone(), clock, random: Arc::new(Seeded::new(1)) };
        let workspace = Arc::new(Workspace::new(ports.clone(), editor.clone(), Arc::clone(&documents)));
        workspace.set_roots(Roots { folders: vec![PathBuf::from("/w")] });
        let trust = Arc::new(Trust::new());
        let languages = Languages::new(ports, editor.clone(), &documents, Arc::clone(&trust));
        let dispatch = Dispatch::over(tools, Arc::clone(&workspace), Arc::clone(&languages), Arc::default(), trust);
        Desk { dispatch, editor, documents, workspace, disk, languages }
    }

    /// Opens a document of a file.
    pub(super) fn open(&self, path: &str, text: &str) -> Key {
        let key = Key::File(PathBuf::from(path));
        self.documents.open(key.clone(), &format!("file://{path}"), "plaintext", 1, text);
        key
    }

    pub(super) fn text(&self, key: &Key) -> String {
        self.documents.get(key).unwrap().text.to_string()
    }

    pub(super) fn answer(&self, answer: impl FnOnce(&ApproveParams) -> ApproveResult + Send + 'static) {
        self.editor.answers.lock().unwrap().push_back(Box::new(answer));
    }

    pub(super) fn questions(&self) -> usize {
        self.editor.asked.lock().unwrap().len()
    }

    pub(super) async fn call(&self, name: &str, arguments: Value) -> CallResult {
        self.call_with(params(name, arguments)).await
    }

    pub(super) async fn call_with(&self, params: CallParams) -> CallResult {
        let admitted = self.dispatch.admit(params);
        self.dispatch.run(admitted).await
    }
}

pub(super) fn params(name: &str, arguments: Value) -> CallParams {
    CallParams {
        name: name.to_owned(),
        arguments: Some(arguments),
        diagnostics: Wait { wait: WaitMode::None, ..Wait::default() },
        ..CallParams::default()
    }
}

/// The text of a result.
pub(super) fn text(result: &CallResult) -> String {
    result
        .content
        .iter()
        .map(|content| match content {
            Content::Text { text } => text.as_str(),
            Content::Image { .. } => "[image]",
        })
        .collect::<Vec<_>>()
        .join("\n")
}
