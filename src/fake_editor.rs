//! An editor that behaves, or misbehaves, as it is told: for scripts (`ropewalk run`) and for tests of whatever talks to
//! editors (`ropewalk fake-editor`). `docs/RUN.md` tells how to write its steps.
//!
//! `step` is what can be asked for, `script` reads it. `manner` is how editors differ; `document` has a text with its undo
//! stack, `editor` the documents and what a person does, `wanted` an edit as it is asked for, `apply` what becomes of it, `answers` of a question. All that is
//! pure. `stage` is an editor at work over a `link`; `play` takes it through a script, `expect` judges, `fail_on` too,
//! `report` tells; `drive` does what comes from outside, line by line. `model` is the pure editor for others.

mod answers;
mod apply;
mod document;
mod drive;
mod editor;
mod expect;
mod fail_on;
mod link;
mod manner;
mod model;
mod play;
pub mod report;
mod script;
mod stage;
pub mod step;
#[cfg(test)]
mod tests;
mod values;
mod wanted;

use serde_json::{Map, Value};

pub use drive::{Driven, drive};
pub use expect::Miss;
pub use fail_on::FailOn;
pub use manner::{MANNERS, Manner};
pub use model::Model;
pub use play::{Cut, Outcome, Played, Trouble, code, play};
pub use script::{Fault, Line, parse};
pub use stage::Setup;
pub use wanted::{ApplyEdit, splices_of};

/// What an editor has to declare of ours so that it is asked what a script answers by method.
pub fn abilities_of(lines: &[Line]) -> Map<String, Value> {
    let methods = lines.iter().filter_map(|line| match &line.step {
        step::Step::Answer(answer) => answer.method.as_deref()?.strip_prefix("ropewalk/"),
        _ => None,
    });
    let known = ["approve", "ask", "runAgent", "runTool", "elicit", "sample"];
    methods.filter(|method| known.contains(method)).map(|method| (method.to_owned(), true.into())).collect()
}

/// The JSON Schema of one line of a script.
pub fn schema() -> Value {
    schemars::schema_for!(Line).to_value()
}
