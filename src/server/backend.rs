//! The part of the conversation that the transport types for us: `initialize`, `shutdown`. Everything else is taken by
//! [`super::ordered`] before it comes here.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use tower_lsp::LanguageServer;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CodeLensOptions, ExecuteCommandOptions,
    InitializeParams, InitializeResult, OneOf, PositionEncodingKind, SaveOptions, ServerCapabilities, ServerInfo,
    TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions,
    WorkspaceFoldersServerCapabilities, WorkspaceServerCapabilities,
};

use crate::editor::Review;
use crate::text::Encoding;

use super::convert::Client;
use super::front::Front;
use super::protocol;
use super::requests::review::ACTION;

/// Answers what the transport routes.
pub(super) struct Backend {
    front: Arc<Front>,
}

impl Backend {
    /// A backend of this connection.
    pub(super) fn new(front: Arc<Front>) -> Backend {
        Backend { front }
    }
}

#[async_trait]
impl LanguageServer for Backend {
    /// The params were read and applied when the request arrived; see [`Front::initialize`].
    async fn initialize(&self, _: InitializeParams) -> Result<InitializeResult> {
        Ok(InitializeResult {
            capabilities: capabilities(&self.front.outbox.client(), &self.front.command_prefix),
            server_info: Some(ServerInfo {
                name: "ropewalk".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
        })
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }
}

/// What we tell this editor that we can do.
fn capabilities(client: &Client, command_prefix: &str) -> ServerCapabilities {
    let encoding = match client.encoding {
        Encoding::Utf8 => PositionEncodingKind::UTF8,
        Encoding::Utf16 => PositionEncodingKind::UTF16,
        Encoding::Utf32 => PositionEncodingKind::UTF32,
    };
    let lens = client.abilities.review == Review::Lens;
    ServerCapabilities {
        position_encoding: Some(encoding),
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions { include_text: Some(false) })),
            ..TextDocumentSyncOptions::default()
        })),
        // A client that registers our commands by itself would have them twice.
        execute_command_provider: (!client.abilities.owns_commands).then(|| ExecuteCommandOptions {
            commands: protocol::COMMANDS.iter().map(|name| format!("{command_prefix}.{name}")).collect(),
            ..ExecuteCommandOptions::default()
        }),
        code_lens_provider: lens.then_some(CodeLensOptions { resolve_provider: Some(false) }),
        code_action_provider: lens.then(|| {
            CodeActionProviderCapability::Options(CodeActionOptions {
                code_action_kinds: Some(vec![CodeActionKind::new(ACTION)]),
                ..CodeActionOptions::default()
            })
        }),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            ..WorkspaceServerCapabilities::default()
        }),
        experimental: Some(json!({
            "ropewalk": { "version": env!("CARGO_PKG_VERSION"), "methods": protocol::accepted() },
        })),
        ..ServerCapabilities::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::editor::Abilities;

    fn told(client: &Client) -> Value {
        serde_json::to_value(capabilities(client, "ropewalk")).unwrap()
    }

    #[test]
    fn commands_are_told_unless_the_client_has_them() {
        assert_eq!(
            told(&Client::default())["executeCommandProvider"]["commands"],
            json!(["ropewalk.accept", "ropewalk.call", "ropewalk.keep", "ropewalk.reject", "ropewalk.undo"])
        );
        let abilities = Abilities { owns_commands: true, ..Abilities::default() };
        assert_eq!(told(&Client { abilities, ..Client::default() }).get("executeCommandProvider"), None);
    }

    #[test]
    fn lenses_and_actions_are_told_where_they_are_wanted() {
        let plain = told(&Client::default());
        assert_eq!((plain.get("codeLensProvider"), plain.get("codeActionProvider")), (None, None));
        let abilities = Abilities { review: Review::Lens, owns_commands: true, ..Abilities::default() };
        let lens = told(&Client { abilities, ..Client::default() });
        assert_eq!(lens["codeLensProvider"], json!({ "resolveProvider": false }));
        assert_eq!(lens["codeActionProvider"], json!({ "codeActionKinds": ["ropewalk"] }));
        assert_eq!(lens.get("executeCommandProvider"), None);
    }

    #[test]
    fn the_chosen_encoding_is_told() {
        for (encoding, name) in [(Encoding::Utf8, "utf-8"), (Encoding::Utf16, "utf-16"), (Encoding::Utf32, "utf-32")] {
            assert_eq!(told(&Client { encoding, ..Client::default() })["positionEncoding"], name);
        }
    }
}
