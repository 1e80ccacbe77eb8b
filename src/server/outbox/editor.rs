//! The port to the editor, over the wire: one question each, asked only of a client that declared it.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{BEHIND, Given, Outbox, news, read_as};
use crate::editor::{
    Abilities, ApplyEdit, ApproveParams, ApproveResult, AskError, AskParams, AskResult, Ear, EditReply, Editor,
    ElicitAnswer, ElicitParams, FormatParams, FormatResult, News, Resync, Review, RunAgentParams, RunAgentResult,
    RunToolParams, RunToolResult, SampleAnswer, SampleParams, SaveParams, SaveResult,
};
use crate::server::messages::Reading;
use crate::server::protocol;
use crate::text::TextEdit;

#[async_trait]
impl Editor for Outbox {
    fn abilities(&self) -> Abilities {
        self.client().abilities
    }

    async fn apply_edit(&self, edit: ApplyEdit, deadline: Duration) -> Result<EditReply, AskError> {
        if !self.client().apply_edit {
            return Err(AskError::Unsupported);
        }
        // Versioned also where `documentChanges` is not declared: Neovim does not declare it and honours it, and an edit
        // without a version must never leave.
        let params = json!({
            "label": edit.label,
            "edit": { "documentChanges": [{
                "textDocument": { "uri": edit.uri, "version": edit.version },
                "edits": edit.edits,
            }] },
        });
        let answer = self.ask("workspace/applyEdit", params, Some(deadline)).await?;
        Ok(EditReply {
            applied: answer.get("applied").and_then(Value::as_bool).unwrap_or(false),
            reason: answer.get("failureReason").and_then(Value::as_str).map(str::to_owned),
        })
    }

    async fn resync(&self, uri: &str, deadline: Duration) -> Result<Resync, AskError> {
        if !self.abilities().resync {
            return Err(AskError::Unsupported);
        }
        let Given { value, reading } = self.ask_for(protocol::RESYNC, json!({ "uri": uri }), Some(deadline)).await?;
        let answer: Resync = read_as(protocol::RESYNC, value)?;
        Ok(Resync { mended: reading == Reading::Mended, ..answer })
    }

    fn can_approve(&self) -> bool {
        let client = self.client();
        client.abilities.approve || client.message_actions
    }

    async fn approve(&self, params: ApproveParams) -> Result<ApproveResult, AskError> {
        let client = self.client();
        if client.abilities.approve {
            self.ask_as(protocol::APPROVE, json!(params), None).await
        } else if client.message_actions {
            self.approve_by_message(params).await
        } else {
            Err(AskError::Unsupported)
        }
    }

    fn can_ask(&self) -> bool {
        let client = self.client();
        client.abilities.ask || client.message_actions
    }

    async fn ask_person(&self, params: AskParams) -> Result<AskResult, AskError> {
        let client = self.client();
        if client.abilities.ask {
            let answer = self.ask(protocol::ASK, json!(params), None).await?;
            AskResult::read(&answer).map_err(AskError::Refused)
        } else if client.message_actions {
            self.ask_by_message(params).await
        } else {
            Err(AskError::Unsupported)
        }
    }

    async fn pull_diagnostics(&self, uri: &str, deadline: Duration) -> Result<(), AskError> {
        if !self.abilities().diagnostics {
            return Err(AskError::Unsupported);
        }
        self.ask(protocol::PULL_DIAGNOSTICS, json!({ "uri": uri }), Some(deadline)).await.map(|_| ())
    }

    async fn format(&self, uri: &str, version: i32, deadline: Duration) -> Result<Option<Vec<TextEdit>>, AskError> {
        if !self.abilities().format {
            return Err(AskError::Unsupported);
        }
        let params = FormatParams { uri: uri.to_owned(), version };
        let answer: Option<FormatResult> = self.ask_as(protocol::FORMAT, json!(params), Some(deadline)).await?;
        Ok(answer.and_then(|answer| answer.edits))
    }

    async fn save(&self, uris: &[String], deadline: Duration) -> Result<SaveResult, AskError> {
        if !self.abilities().save {
            return Err(AskError::Unsupported);
        }
        let params = SaveParams { uris: uris.to_vec() };
        let answer: Option<SaveResult> = self.ask_as(protocol::SAVE, json!(params), Some(deadline)).await?;
        Ok(answer.unwrap_or_default())
    }

    async fn run_tool(&self, params: RunToolParams, deadline: Duration) -> Result<RunToolResult, AskError> {
        if !self.abilities().run_tool {
            return Err(AskError::Unsupported);
        }
        self.ask_as(protocol::RUN_TOOL, json!(params), Some(deadline)).await
    }

    async fn run_agent(&self, params: RunAgentParams, deadline: Duration) -> Result<RunAgentResult, AskError> {
        if !self.abilities().run_agent {
            return Err(AskError::Unsupported);
        }
        self.ask_as(protocol::RUN_AGENT, json!(params), Some(deadline)).await
    }

    async fn elicit(&self, params: ElicitParams) -> Result<ElicitAnswer, AskError> {
        if !self.abilities().elicit {
            return Err(AskError::Unsupported);
        }
        self.ask_as(protocol::ELICIT, json!(params), None).await
    }

    async fn sample(&self, params: SampleParams) -> Result<SampleAnswer, AskError> {
        if !self.abilities().sample {
            return Err(AskError::Unsupported);
        }
        self.ask_as(protocol::SAMPLE, json!(params), None).await
    }

    fn is_behind(&self) -> bool {
        self.inner.backlog.bytes() > BEHIND
    }

    fn overhear(&self, ear: Ear) {
        // The first one stays.
        let _ = self.inner.ear.set(ear);
    }

    fn tell(&self, news: News) {
        if self.inner.ear.get().is_some_and(|ear| ear(&news)) {
            return;
        }
        let client = self.client();
        if matches!(news, News::Changes(_)) && client.refreshes_lenses && client.abilities.review == Review::Lens {
            self.ask_inline("workspace/codeLens/refresh", Value::Null, Box::new(|_| {}));
        }
        if let Some((method, params)) = news::message(news, client.abilities.events) {
            self.notify(method, params);
        }
    }
}
