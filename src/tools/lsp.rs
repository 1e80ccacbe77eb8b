//! `lsp`: asks language servers about the code, and lets them change it.

mod actions;
pub(super) mod change;
pub(super) mod desk;
mod format;
mod look;
mod problems;
mod rename;
mod rows;
mod spot;

use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tool::{Access, Capability, Context, ErrorKind, Outcome, Plan, Tool, ToolError, Traits};
use crate::workspace::FileChange;

use super::lsp_edit::Collected;
use desk::{Desk, Stop};

/// Asks language servers about code as it is in the editor, unsaved changes included: what something is (`hover`), where it
/// is defined, declared, implemented or used, what a file or the project defines, who calls it and what it calls, and what
/// is wrong (`diagnostics`). And lets them change code: `rename` everywhere it is used, `format`, and `code_actions`, which
/// lists what they offer, and does one of these with `apply`. A place is given by `line` and a piece of `text` on it (or a
/// `column`), or by `symbol` alone where the file has it once or defines it once.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// What to ask or do.
    pub operation: Operation,
    /// The file: an absolute path, one relative to the workspace folder, or the URI of an open document. Only
    /// `diagnostics` can do without it, and is about every file that was looked at then.
    #[schemars(example = "src/main.rs")]
    pub file_path: Option<String>,
    /// The line of the place; 1 is the first. For `code_actions` and `format`: the first line of the part.
    #[schemars(range(min = 1))]
    pub line: Option<usize>,
    /// The last line of the part, for `code_actions` and `format`.
    #[schemars(range(min = 1))]
    pub end_line: Option<usize>,
    /// A piece of the text on that line that begins with what is meant.
    #[schemars(example = "parse(")]
    pub text: Option<String>,
    /// Which one, where `text` or `symbol` is on the line several times; 1 is the first.
    #[schemars(range(min = 1))]
    pub occurrence: Option<usize>,
    /// The character on that line instead of `text`; 1 is the first.
    #[schemars(range(min = 1))]
    pub column: Option<usize>,
    /// The name of what is meant.
    #[schemars(example = &"parse")]
    pub symbol: Option<String>,
    /// For `workspace_symbols`: a name or a part of one. `file_path` then only says which servers are asked.
    pub query: Option<String>,
    /// For `rename`: the new name.
    pub new_name: Option<String>,
    /// For `references`: whether the declaration counts too.
    #[serde(default = "yes")]
    pub include_declaration: bool,
    /// For `code_actions`: the title (or the number in the list) of the one to do.
    pub apply: Option<String>,
    /// For `code_actions` with `apply`: the command of the action, as the list names it, where that is to be run too.
    pub command: Option<String>,
    /// At most so many results.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: usize,
}

fn yes() -> bool {
    true
}

fn default_limit() -> usize {
    100
}

/// What to ask or do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// What is wrong with a file, or with all that were looked at.
    Diagnostics,
    /// What something is.
    Hover,
    /// Where it is defined.
    Definition,
    /// Where it is declared.
    Declaration,
    /// Where its type is defined.
    TypeDefinition,
    /// Where it is implemented.
    Implementation,
    /// Where it is used.
    References,
    /// What a file defines.
    DocumentSymbols,
    /// What the project defines.
    WorkspaceSymbols,
    /// Who calls it.
    IncomingCalls,
    /// What it calls.
    OutgoingCalls,
    /// Renames it.
    Rename,
    /// What can be done here; does it.
    CodeActions,
    /// Formats a file, or a part of it.
    Format,
}

impl Operation {
    /// Its name on the wire.
    fn name(self) -> &'static str {
        match self {
            Operation::Diagnostics => "diagnostics",
            Operation::Hover => "hover",
            Operation::Definition => "definition",
            Operation::Declaration => "declaration",
            Operation::TypeDefinition => "type_definition",
            Operation::Implementation => "implementation",
            Operation::References => "references",
            Operation::DocumentSymbols => "document_symbols",
            Operation::WorkspaceSymbols => "workspace_symbols",
            Operation::IncomingCalls => "incoming_calls",
            Operation::OutgoingCalls => "outgoing_calls",
            Operation::Rename => "rename",
            Operation::CodeActions => "code_actions",
            Operation::Format => "format",
        }
    }

    /// Whether it is about one place.
    fn at_a_place(self) -> bool {
        !matches!(
            self,
            Operation::Diagnostics
                | Operation::DocumentSymbols
                | Operation::WorkspaceSymbols
                | Operation::CodeActions
                | Operation::Format
        )
    }

    /// Whether its answer is about more than the file.
    fn thorough(self) -> bool {
        !matches!(self, Operation::Diagnostics | Operation::Hover | Operation::DocumentSymbols | Operation::Format)
    }
}

impl Arguments {
    /// Whether the call changes files.
    fn changes(&self) -> bool {
        match self.operation {
            Operation::Rename | Operation::Format => true,
            Operation::CodeActions => self.apply.is_some(),
            _ => false,
        }
    }
}

/// The tool.
pub struct Lsp {
    /// The edits that commands of servers asked for.
    collected: Collected,
}

impl Lsp {
    /// The tool, which leaves edits that commands ask for in `collected`.
    pub fn new(collected: Collected) -> Lsp {
        Lsp { collected }
    }
}

#[async_trait]
impl Tool for Lsp {
    type Arguments = Arguments;

    const TRAITS: Traits<'static> = Traits {
        name: "lsp",
        title: "Ask language servers",
        // A command of a server's is run only where the call names it, and is judged as one then.
        capabilities: &[Capability::ReadsFiles, Capability::WritesFiles],
        parallel: false,
        deferred: false,
        free_form: None,
        deadline: Duration::from_mins(2),
        aliases: &[
            ("filePath", "file_path"),
            ("path", "file_path"),
            ("file", "file_path"),
            ("uri", "file_path"),
            ("action", "operation"),
            ("method", "operation"),
            ("character", "column"),
            ("newName", "new_name"),
            ("endLine", "end_line"),
            ("start_line", "line"),
            ("includeDeclaration", "include_declaration"),
            ("name", "symbol"),
            ("title", "apply"),
            ("max_results", "limit"),
        ],
        names: &["language_server", "code_intelligence", "lsp_query"],
    };

    fn access(&self, arguments: &Arguments) -> Access {
        let file: Vec<String> = arguments.file_path.iter().cloned().collect();
        let writes = if arguments.changes() { file.clone() } else { Vec::new() };
        let applies = arguments.operation == Operation::CodeActions && arguments.apply.is_some();
        let commands = arguments.command.iter().filter(|_| applies).cloned().collect();
        Access { reads: file, writes, commands, ..Access::default() }
    }

    fn validate(&self, arguments: &Arguments) -> Result<(), ToolError> {
        let name = arguments.operation.name();
        let wrong = |message: String| Err(ToolError::new(ErrorKind::InvalidArguments, message));
        let blank = |text: &Option<String>| text.as_ref().is_none_or(|text| text.trim().is_empty());
        match &arguments.file_path {
            Some(file_path) => super::named(file_path)?,
            None if arguments.operation == Operation::Diagnostics => {}
            None => return wrong(format!("`{name}` needs `file_path`, for example \"src/main.rs\".")),
        }
        if arguments.operation.at_a_place()
            && arguments.line.is_none()
            && blank(&arguments.symbol)
            && blank(&arguments.text)
        {
            return wrong(format!(
                "`{name}` is about a place: give `line` with `text` (a piece of that line) or `column`, or `symbol` alone."
            ));
        }
        if arguments.operation == Operation::Rename && blank(&arguments.new_name) {
            return wrong("`rename` needs `new_name`.".to_owned());
        }
        if arguments.operation == Operation::WorkspaceSymbols && blank(&arguments.query) {
            return wrong("`workspace_symbols` needs `query`: a name, or a part of one.".to_owned());
        }
        if arguments.command.is_some() && arguments.apply.is_none() {
            return wrong("`command` says which command of the action in `apply` is run; give `apply` too.".to_owned());
        }
        if let (Some(line), Some(end)) = (arguments.line, arguments.end_line)
            && end < line
        {
            return wrong(format!("`end_line` ({end}) is before `line` ({line})."));
        }
        Ok(())
    }

    async fn plan(&self, arguments: &Arguments, context: &Context) -> Result<Plan, ToolError> {
        if !arguments.changes() || arguments.command.is_some() {
            return Ok(Plan::Run);
        }
        for _ in 0..TRIES {
            match changes(arguments, context).await {
                Ok(changes) if changes.is_empty() => return Ok(Plan::Run),
                Ok(changes) => return Ok(Plan::Change(changes)),
                Err(Stop::Failed(error)) => return Err(error),
                Err(Stop::Moved) => {}
            }
        }
        Err(moved())
    }

    async fn run(&self, arguments: Arguments, context: &Context) -> Result<Outcome, ToolError> {
        if arguments.operation == Operation::Diagnostics {
            return problems::diagnostics(&arguments, context).await;
        }
        if arguments.changes() && arguments.command.is_none() {
            return Ok(desk::words(&arguments, "There is nothing to change: the text is as the server wants it."));
        }
        for _ in 0..TRIES {
            match self.answer(&arguments, context).await {
                Ok(outcome) => return Ok(outcome),
                Err(Stop::Failed(error)) => return Err(error),
                Err(Stop::Moved) => {}
            }
        }
        Err(moved())
    }
}

/// So often a question is asked anew because the text changed under it.
const TRIES: usize = 3;

impl Lsp {
    async fn answer(&self, arguments: &Arguments, context: &Context) -> Result<Outcome, Stop> {
        let desk = Desk::open(arguments, context).await?;
        match arguments.operation {
            Operation::CodeActions if arguments.apply.is_some() => actions::run(&desk, &self.collected).await,
            Operation::CodeActions => actions::list(&desk).await,
            _ => look::answer(&desk).await,
        }
    }
}

/// The changes of a call that changes something.
async fn changes(arguments: &Arguments, context: &Context) -> Result<Vec<FileChange>, Stop> {
    match arguments.operation {
        Operation::Rename => rename::changes(arguments, context).await,
        Operation::Format => format::changes(&Desk::open(arguments, context).await?).await,
        _ => actions::changes(&Desk::open(arguments, context).await?).await,
    }
}

fn moved() -> ToolError {
    ToolError::new(
        ErrorKind::Conflict,
        "The text changed each time while the server was asked about it; nothing was changed. Send the call again.",
    )
}
