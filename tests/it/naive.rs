//! The same server wired the way the transport suggests: notification handlers that are `async`, its own client, its own
//! pipes. It shows that the checks of [`crate::order`] can fail, and why the seams are there.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    DidChangeTextDocumentParams, DidOpenTextDocumentParams, InitializeParams, InitializeResult, WorkspaceEdit,
};
use tower_lsp::{Client, LanguageServer, LspService, Server};

use crate::doubles::DOCUMENT;
use crate::editor::{FakeEditor, Pipe};
use crate::order;

struct Naive {
    client: Client,
    document: Arc<Mutex<(String, i32)>>,
    jitter: Mutex<u32>,
    gate: Semaphore,
}

impl Naive {
    /// What a handler does before it takes the lock: wait for something, now longer, now shorter.
    async fn think(&self) {
        let turns = {
            let mut seed = self.jitter.lock().unwrap();
            *seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            (*seed >> 16) % 4
        };
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
    }

    async fn call(&self, params: Value) -> Result<Value> {
        match params["name"].as_str() {
            Some("wait") => drop(self.gate.acquire().await),
            Some("edit") => drop(self.client.apply_edit(WorkspaceEdit::default()).await),
            Some("panic") => panic!("the double was told to"),
            _ => {}
        }
        let ran = self.document.lock().unwrap().1;
        Ok(json!({ "status": "ok", "structuredContent": { "ran": ran } }))
    }

    #[expect(clippy::unused_async, reason = "the transport wants it so")]
    async fn document_text(&self, _: Value) -> Result<Value> {
        let (text, version) = self.document.lock().unwrap().clone();
        Ok(json!({ "text": text, "version": version }))
    }
}

#[tower_lsp::async_trait]
impl LanguageServer for Naive {
    async fn initialize(&self, _: InitializeParams) -> Result<InitializeResult> {
        Ok(InitializeResult::default())
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        *self.document.lock().unwrap() = (params.text_document.text, params.text_document.version);
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        self.think().await;
        let mut document = self.document.lock().unwrap();
        for change in params.content_changes {
            let range = change.range.unwrap();
            let len = document.0.len();
            let offset = |character: u32| usize::try_from(character).unwrap().min(len);
            document.0.replace_range(offset(range.start.character)..offset(range.end.character), &change.text);
        }
        document.1 = params.text_document.version;
    }
}

async fn serve(input: Pipe, output: Pipe) -> u8 {
    let (service, socket) = LspService::build(|client| Naive {
        client,
        document: Arc::default(),
        jitter: Mutex::new(7),
        gate: Semaphore::new(0),
    })
    .custom_method("ropewalk/callTool", Naive::call)
    .custom_method("ropewalk/documentText", Naive::document_text)
    .finish();
    Server::new(input, output, socket).serve(service).await;
    0
}

async fn ready() -> FakeEditor {
    let mut editor = FakeEditor::start(|input, output| tokio::spawn(serve(input, output)));
    editor.initialize(json!({})).await;
    editor.open(DOCUMENT, "start");
    order::same_text(&mut editor).await.unwrap();
    editor
}

/// The reason for which a check failed.
fn failed(mut editor: FakeEditor, result: std::result::Result<(), String>) -> String {
    editor.accept_rest();
    editor.close_their_input();
    result.expect_err("the check passes without the seams, so that it checks nothing")
}

#[tokio::test(start_paused = true)]
async fn changes_are_reordered_without_the_seams() {
    let mut editor = ready().await;
    let result = order::requests_among_changes(&mut editor).await;
    let why = failed(editor, result);
    assert!(why.contains("older than the change before them"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn the_text_goes_wrong_without_the_seams() {
    let mut editor = ready().await;
    for n in 0..1000 {
        editor.splice(DOCUMENT, n % 5..n % 5 + 1, &format!("{}", n % 10));
        editor.splice(DOCUMENT, 0..0, &format!("{}", n % 7));
    }
    let result = order::same_text(&mut editor).await;
    let why = failed(editor, result);
    assert!(why.starts_with("the mirror has "), "{why}");
}

#[tokio::test(start_paused = true)]
async fn four_handlers_that_wait_deadlock_without_the_seams() {
    let mut editor = ready().await;
    let result = order::edits_that_wait_among_changes(&mut editor, 4).await;
    assert_eq!(failed(editor, result), "no request passes the waiting handlers");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_has_no_effect_without_the_seams() {
    let mut editor = ready().await;
    let result = order::cancel_among_busy_handlers(&mut editor, 5).await;
    assert_eq!(failed(editor, result), "a cancel without effect");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_has_no_result_without_the_seams() {
    let mut editor = ready().await;
    let result = order::cancel_among_busy_handlers(&mut editor, 1).await;
    let why = failed(editor, result);
    assert!(why.contains("-32800"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn a_panic_ends_everything_without_the_seams() {
    let mut editor = ready().await;
    let result = order::a_panic_costs_only_its_call(&mut editor).await;
    assert_eq!(failed(editor, result), "no answer to the request that panicked");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_input_leaves_an_orphan_without_the_seams() {
    let mut editor = ready().await;
    let result = order::the_end_of_input_ends_it(&mut editor).await;
    assert_eq!(failed(editor, result), "an orphan");
}

#[tokio::test(start_paused = true)]
async fn one_broken_message_ends_everything_without_the_seams() {
    let mut editor = ready().await;
    editor.send_raw(crate::editor::framed("{"));
    let result = order::same_text(&mut editor).await;
    assert_eq!(failed(editor, result), "no documentText");
}
