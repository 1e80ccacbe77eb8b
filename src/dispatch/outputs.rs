//! `ropewalk/output`: front ends look at a kept output.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::outputs::{Ask, Found, Mode, OutputKind, Pattern, look, open, unknown};
use crate::ports::Disk;

use super::Dispatch;

/// Looking at an output may take so long; it reads all of one where lines are searched for.
const DEADLINE: Duration = Duration::from_secs(30);

/// `ropewalk/output`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OutputParams {
    /// The session; absent: the default one.
    pub session_id: Option<String>,
    /// The call that made the output, or the output's own id.
    pub call_id: String,
    /// The first line, 1-based; absent: 1.
    pub offset: Option<usize>,
    /// The first character of that line, 1-based; absent: 1.
    pub column: Option<usize>,
    /// At most so many lines, with a pattern so many that match; absent: as many as the settings let a front end have.
    pub limit: Option<usize>,
    /// Only lines that match this regular expression; one that is none is taken literally. Each comes with its number.
    pub pattern: Option<String>,
}

/// Some of a kept output: the answer to `ropewalk/output`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputText {
    /// Whether it is kept.
    pub found: bool,
    /// The output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The call that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The lines.
    pub text: String,
    /// What is shown and where it goes on, in words; or why nothing is.
    pub remark: String,
    /// The line to go on with, 1-based; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
    /// The character of that line to go on with, 1-based, where the line was not shown from its beginning to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_column: Option<usize>,
    /// How many lines it has.
    pub total_lines: usize,
    /// Its length in bytes.
    pub total_bytes: usize,
    /// What sort of text it is, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<OutputKind>,
    /// Where it comes from, if that is another machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<String>,
}

impl Dispatch {
    /// Some of a kept output, as it is, without any marks. Nothing is evicted by that.
    pub async fn output(&self, params: OutputParams) -> OutputText {
        let session = self.session(params.session_id.as_deref());
        let found = session.outputs().find(&params.call_id);
        let Some(found) = found else {
            let remark = unknown(&params.call_id, &session.outputs().all());
            return OutputText { remark, ..OutputText::default() };
        };
        let (disk, kept) = (Arc::clone(&self.workspace.ports.disk), found.kept.clone());
        let room = self.workspace.settings().output.display_bytes;
        // It ends with the request, however that ends.
        let cancel = CancellationToken::new();
        let _ends = cancel.clone().drop_guard();
        let looking = move || looked(&found, &params, room, &*disk, &|| cancel.is_cancelled());
        let late = self.workspace.ports.clock.sleep(DEADLINE);
        let looked = tokio::select! {
            biased;
            looked = tokio::task::spawn_blocking(looking) => looked,
            () = late => {
                warn!(id = kept.id, "looking at an output took too long");
                let seconds = DEADLINE.as_secs();
                let remark = format!(
                    "Looking at the output {} took more than {seconds} s. Begin at a later line, or ask for lines without \
                     a pattern.",
                    kept.id
                );
                return OutputText { remark, ..OutputText::default() };
            }
        };
        match looked {
            Ok(Ok(text)) => text,
            Ok(Err(error)) => {
                warn!(%error, id = kept.id, "an output could not be read from the disk");
                let remark = format!("The output {} could not be read from the disk: {error}.", kept.id);
                OutputText { remark, ..OutputText::default() }
            }
            Err(error) => {
                warn!(%error, id = kept.id, "looking at an output broke down");
                OutputText { remark: "Looking at it broke down.".to_owned(), ..OutputText::default() }
            }
        }
    }
}

fn looked(
    found: &Found,
    params: &OutputParams,
    room: usize,
    disk: &dyn Disk,
    stop: &dyn Fn() -> bool,
) -> std::io::Result<OutputText> {
    let ask = Ask {
        mode: Mode::Window,
        offset: params.offset.unwrap_or(1),
        column: params.column.unwrap_or(1),
        limit: params.limit.unwrap_or(usize::MAX),
        pattern: params.pattern.as_deref().filter(|text| !text.is_empty()).map(|text| Pattern::new(text, false)),
        context: 0,
    };
    let looked = look(&mut open(disk, found)?, &ask, room, stop)?;
    let kept = found.kept.clone();
    Ok(OutputText {
        found: true,
        id: Some(kept.id),
        call_id: Some(kept.call_id),
        text: looked.text,
        remark: looked.remark,
        next_offset: looked.next.map(|next| next.offset),
        next_column: looked.next.map(|next| next.column).filter(|column| *column > 1),
        total_lines: looked.total_lines,
        total_bytes: kept.bytes,
        kind: kept.kind,
        external: kept.external,
    })
}
