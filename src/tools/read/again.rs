//! What an earlier call showed is not shown again, if nothing can be wrong with that: the very same lines of the very
//! same text, in an answer that reached the model whole, is not forgotten, and is kept.

use std::sync::Arc;

use serde_json::json;

use crate::outputs::Whole;
use crate::permissions::visible;
use crate::tool::{Content, Context, Outcome};
use crate::workspace::View;

use super::window::Window;

/// Where lines were shown before.
struct Before {
    call: Arc<str>,
    /// The name of that call's output.
    output: String,
    /// The line of the output where they begin, 1-based.
    offset: usize,
}

/// The answer that takes the place of the lines; `None` when they have to be shown, or would take no more room.
pub(super) fn unchanged(context: &Context, view: &View, hash: &str, window: &Window, lines: &str) -> Option<Outcome> {
    let Before { call, output, offset } = before(context, view, hash, window)?;
    let name = visible(&view.target.shown);
    let text = format!(
        "Unchanged: {} of {name} are exactly as call {call} showed them in this conversation, and are not repeated. To \
         see them once more, call `output` with id \"{output}\", offset {offset}, limit {}.",
        window.told(),
        window.shown.len()
    );
    (text.len() < lines.len()).then(|| Outcome {
        content: vec![Content::text(text)],
        structured: Some(json!({ "unchanged": true, "shownBy": &*call, "output": output })),
        ..Outcome::default()
    })
}

fn before(context: &Context, view: &View, hash: &str, window: &Window) -> Option<Before> {
    if !context.workspace.settings().read.unchanged {
        return None;
    }
    let asked = window.first..window.first + window.shown.len();
    if asked.is_empty() || window.whole_lines() != [asked.clone()] {
        return None;
    }
    let call = context.session.shown_by(&view.target.key, hash, &asked)?;
    let mut outputs = context.session.outputs();
    let output = outputs.of_call(&call)?.to_owned();
    let Whole::Memory(text) = outputs.find(&output)?.whole else { return None };
    drop(outputs);
    // A call's name may be used twice: the output itself is the proof.
    let at = position(&text, &window.rows())?;
    let offset = text[..at].matches('\n').count() + 1;
    Some(Before { call, output, offset })
}

/// The byte where `rows` stand in `text`, from the beginning of a line on.
fn position(text: &str, rows: &str) -> Option<usize> {
    text.match_indices(rows).map(|(at, _)| at).find(|&at| at == 0 || text.as_bytes()[at - 1] == b'\n')
}
