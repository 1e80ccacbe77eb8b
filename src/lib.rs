//! Ropewalk: a sidecar for editors that runs an AI agent's tool calls in the editor's own, unsaved buffers.
//!
//! The code map, in reading order; the number is the rank, and a file uses only its own rank or lower.
//!
//! | room | rank | what it is |
//! |---|---|---|
//! | [`text`] | 0 | pure: positions, line ends, ropes, splices, diffs, similarity |
//! | [`config`] | 0 | settings as plain structs with their defaults |
//! | [`ports`] | 0 | the world behind traits: disk, clock, randomness; the real ones and their twins in memory |
//! | [`editor`] | 1 | the port to the editor: what we may ask of it and tell it |
//! | [`replace`] | 1 | pure: the cascade that finds the place an edit means |
//! | [`patch`] | 1 | pure: patch formats, parsed and applied |
//! | [`permissions`] | 1 | pure: trust, and what a call may do without asking |
//! | [`syntax`] | 1 | pure: the embedded tree-sitter check |
//! | [`outputs`] | 1 | whole outputs: kept, cut, marked, compressed, looked at again |
//! | [`web`] | 1 | the guarded HTTP client: which addresses are dialled, what a redirect means, what a page says |
//! | [`rpc`] | 1 | a JSON-RPC peer over any pair of pipes |
//! | [`process`] | 1 | every child process |
//! | [`workspace`] | 2 | the files as the user sees them: documents, disk, view, commit |
//! | [`languages`] | 2 | language servers, their diagnostics, and what is known of them |
//! | [`sessions`] | 2 | what a session remembers |
//! | [`jobs`] | 2 | work in the background, for panes to see and to stop |
//! | [`tool`] | 3 | the slot: what a tool is, what it gets and what it gives back |
//! | [`mcp`] | 4 | client of MCP servers, whose tools join ours |
//! | [`tools`] | 5 | the table of tools, one file each |
//! | [`dispatch`] | 6 | the life of a call, in one straight line |
//! | [`server`] | 7 | the front: LSP and our own methods over stdio |
//! | [`bridge`] | 7 | our tools for clients of MCP: over a pipe, or joined to an editor's sidecar by a socket |
//! | [`fake_editor`] | 7 | an editor by a script, for runs of it and for tests of what talks to editors |
//! | [`recording`] | 7 | every frame of a conversation, kept without its secrets and played again |
//! | [`fake_server`] | 7 | a language server by a script, for tests of what talks to servers |
//!
//! A message flows one way: bytes, `server::ordered`, then either the workspace at once (text sync) or dispatch, a tool,
//! the workspace and the languages, the shape of the answer, and the outbox.

pub mod bridge;
pub mod config;
pub mod dispatch;
pub mod editor;
pub mod fake_editor;
pub mod fake_server;
pub mod jobs;
pub mod languages;
pub mod mcp;
pub mod outputs;
pub mod patch;
pub mod permissions;
pub mod ports;
pub mod process;
pub mod recording;
pub mod replace;
pub mod rpc;
pub mod server;
pub mod sessions;
pub mod syntax;
pub mod text;
pub mod tool;
pub mod tools;
pub mod web;
pub mod workspace;
