//! What our own servers can be asked beside diagnostics: where things are, what they are, and how to change them.
//!
//! A [`Door`] leads to one server. A question is about exactly the text that the one who asks sees: the server has been
//! told of it before, in order, or the question is refused as [`Unanswered::Moved`]. Answers are read leniently into plain
//! types; edits alone are read strictly, for half of an edit is a wrong one.

pub mod actions;
pub mod calls;
pub mod edits;
mod fields;
mod hover;
mod indent;
pub mod places;
pub mod symbols;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::client::{About, Asking, Client, Command, Reply, Spot};
use super::hub::{Event, Offer};
use super::settle::Rev;
use super::{Languages, lock};
use crate::ports::Clock;
use crate::text::{Encoding, Text};
use crate::workspace::{Key, Target};

pub use super::client::Unanswered;
use actions::Action;
use calls::{Call, Item};
use edits::{Edits, TextEdits};
pub use indent::Indent;
use places::Location;
use symbols::Symbol;

/// How long one answer may take.
const DEADLINE: Duration = Duration::from_secs(30);

/// The method that runs a command.
const RUN: &str = "workspace/executeCommand";

/// How long to wait before asking again when the server says that something changed under it.
const BACK_OFF: [Duration; 3] = [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2)];

/// Who waits for an offer.
pub(super) type Offered = oneshot::Sender<(Offer, Vec<Client>)>;

/// The servers of a document.
pub struct Servers {
    /// Its language; empty when nobody knows.
    pub language: String,
    /// Those that can be asked, in a fixed order.
    pub doors: Vec<Door>,
    /// Why others cannot, a phrase each.
    pub unserved: Vec<String>,
    /// The sources the editor has for this language.
    pub editor: Vec<String>,
}

/// The way to one server.
#[derive(Clone)]
pub struct Door {
    /// Its name.
    pub name: String,
    /// It still works on something, so that it may not know everything yet.
    pub busy: bool,
    client: Client,
    clock: Arc<dyn Clock>,
}

/// A text that is asked about.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The document or file.
    pub key: Key,
    /// Its text, as the one who asks sees it.
    pub text: Text,
}

/// An answer, with the texts that it is about.
#[derive(Debug, Clone)]
pub struct Answer<T> {
    /// What was answered.
    pub value: T,
    /// What the server had before it.
    pub seen: Seen,
    /// So many parts of what it gave could not be read: without them, nothing found is not nothing there.
    pub unread: usize,
}

/// What a server had before it when it answered.
#[derive(Debug, Clone)]
pub struct Seen {
    /// How its positions count.
    pub encoding: Encoding,
    texts: Arc<BTreeMap<Key, (Rev, Text)>>,
}

impl Seen {
    /// A server that was told these texts under these numbers.
    #[cfg(test)]
    pub(crate) fn of(encoding: Encoding, texts: impl IntoIterator<Item = (Key, (Rev, Text))>) -> Seen {
        Seen { encoding, texts: Arc::new(texts.into_iter().collect()) }
    }

    /// The text that it was told of a document; what it was told nothing about, it reads from the disk.
    pub fn text(&self, key: &Key) -> Option<&Text> {
        self.texts.get(key).map(|(_, text)| text)
    }

    /// Whether a version that it put on an edit is the one of the text it was told; one that is no number of ours, or none,
    /// says nothing.
    pub fn agrees(&self, key: &Key, version: Option<i64>) -> bool {
        let (Some(version), Some((rev, _))) = (version, self.texts.get(key)) else { return true };
        version < i64::from(super::settle::FIRST_REV) || version == i64::from(*rev)
    }
}

/// Where something is, as a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// Where it is defined.
    Definition,
    /// Where it is declared.
    Declaration,
    /// Where its type is defined.
    TypeDefinition,
    /// Where it is implemented.
    Implementation,
    /// Where it is used; and where it is declared, if that is wanted.
    References {
        /// The declaration too.
        declaration: bool,
    },
}

/// Which way calls are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Who calls it.
    Incoming,
    /// What it calls.
    Outgoing,
}

impl Languages {
    /// Who can be asked about a document that was looked at. `thorough`: about more than that document, so that servers
    /// which still read the project are waited for (25 s at most). Ends early, with nobody, on `cancel`.
    pub async fn servers_of(&self, target: &Target, thorough: bool, cancel: &CancellationToken) -> Servers {
        let id = self.waits.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        lock(&self.shared.asks).insert(id, sender);
        self.put(Event::Ask { id, key: target.key.clone(), thorough });
        let offered = tokio::select! {
            offered = answer => offered.ok(),
            () = cancel.cancelled() => None,
            () = self.over.cancelled() => None,
        };
        lock(&self.shared.asks).remove(&id);
        let (offer, clients) = offered.unwrap_or_default();
        let clock = &self.ports.clock;
        let doors = offer.served.into_iter().zip(clients).map(|(served, client)| Door {
            name: served.name,
            busy: served.busy,
            client,
            clock: Arc::clone(clock),
        });
        let doors = doors.collect();
        Servers { language: offer.language, doors, unserved: offer.unserved, editor: offer.editor }
    }
}

impl Door {
    /// What is known of the thing at a place (a byte offset): texts, as Markdown or plain.
    pub async fn hover(&self, subject: &Subject, at: usize) -> Result<Answer<Vec<String>>, Unanswered> {
        let reply = self.ask("textDocument/hover", Some((subject, Spot::At(at))), json!({})).await?;
        Ok(reply.map(|value| hover::texts(&value)))
    }

    /// Places that have to do with the thing at a place.
    pub async fn places(
        &self,
        subject: &Subject,
        at: usize,
        relation: Relation,
    ) -> Result<Answer<Vec<Location>>, Unanswered> {
        let (method, fields) = match relation {
            Relation::Definition => ("textDocument/definition", json!({})),
            Relation::Declaration => ("textDocument/declaration", json!({})),
            Relation::TypeDefinition => ("textDocument/typeDefinition", json!({})),
            Relation::Implementation => ("textDocument/implementation", json!({})),
            Relation::References { declaration } => {
                ("textDocument/references", json!({ "context": { "includeDeclaration": declaration } }))
            }
        };
        let reply = self.ask(method, Some((subject, Spot::At(at))), fields).await?;
        let unread = unreadable(&reply.value, |part| places::location(part).is_some());
        Ok(Answer { unread, ..reply.map(|value| places::locations(&value)) })
    }

    /// What a document defines, in the order of the text, each with its depth.
    pub async fn symbols(&self, subject: &Subject) -> Result<Answer<Vec<Symbol>>, Unanswered> {
        let reply = self.ask("textDocument/documentSymbol", Some((subject, Spot::Whole)), json!({})).await?;
        let unread = unreadable(&reply.value, |part| !symbols::of_document(&json!([part])).is_empty());
        Ok(Answer { unread, ..reply.map(|value| symbols::of_document(&value)) })
    }

    /// What the project defines under names like this one.
    pub async fn workspace_symbols(&self, query: &str) -> Result<Answer<Vec<Symbol>>, Unanswered> {
        let reply = self.ask("workspace/symbol", None, json!({ "query": query })).await?;
        let unread = unreadable(&reply.value, |part| symbols::one(part).is_some());
        Ok(Answer { unread, ..reply.map(|value| symbols::of_workspace(&value)) })
    }

    /// Where symbols are that came without a place in their file; as they were, where the server cannot tell. At most
    /// `most` are asked about, and none behind one that got no answer in time.
    pub async fn placed(&self, mut symbols: Vec<Symbol>, most: usize) -> Vec<Symbol> {
        for symbol in symbols.iter_mut().filter(|symbol| symbol.unplaced()).take(most) {
            match self.ask("workspaceSymbol/resolve", None, symbol.raw().clone()).await {
                Ok(reply) => {
                    if let Some(found) = symbols::one(&reply.value).filter(|found| !found.unplaced()) {
                        *symbol = found;
                    }
                }
                Err(Unanswered::Failed(_)) => {}
                Err(_) => break,
            }
        }
        symbols
    }

    /// The things at a place whose calls can be followed.
    pub async fn callables(&self, subject: &Subject, at: usize) -> Result<Answer<Vec<Item>>, Unanswered> {
        let spot = Some((subject, Spot::At(at)));
        let reply = self.ask("textDocument/prepareCallHierarchy", spot, json!({})).await?;
        let unread = unreadable(&reply.value, |part| !calls::items(&json!([part])).is_empty());
        Ok(Answer { unread, ..reply.map(|value| calls::items(&value)) })
    }

    /// The calls of, or in, one of them.
    pub async fn calls(&self, item: &Item, direction: Direction) -> Result<Answer<Vec<Call>>, Unanswered> {
        let method = match direction {
            Direction::Incoming => "callHierarchy/incomingCalls",
            Direction::Outgoing => "callHierarchy/outgoingCalls",
        };
        let reply = self.ask(method, None, json!({ "item": item.raw() })).await?;
        let unread = unreadable(&reply.value, |part| !calls::calls(&json!([part]), direction).is_empty());
        Ok(Answer { unread, ..reply.map(|value| calls::calls(&value, direction)) })
    }

    /// How to rename the thing at a place; `None` if nothing there can be renamed.
    pub async fn rename(
        &self,
        subject: &Subject,
        at: usize,
        new_name: &str,
    ) -> Result<Answer<Option<Edits>>, Unanswered> {
        let fields = json!({ "newName": new_name });
        let reply = self.ask("textDocument/rename", Some((subject, Spot::At(at))), fields).await?;
        let edits = edits::workspace_edit(&reply.value).map_err(|why| Unanswered::Failed(unread(&why)))?;
        Ok(reply.map(|_| edits))
    }

    /// What the server offers to do with a part of a text (bytes), in its order. `diagnostics` are its own, as it sent them.
    pub async fn actions(&self, subject: &Subject, range: Range<usize>) -> Result<Answer<Vec<Action>>, Unanswered> {
        let fields = json!({ "context": { "diagnostics": self.problems(subject, &range).await, "triggerKind": 1 } });
        let reply = self.ask("textDocument/codeAction", Some((subject, Spot::Within(range))), fields).await?;
        Ok(reply.map(|value| actions::actions(&value)))
    }

    /// The diagnostics of a server that can be asked for them, as it has them, that touch a part of a text: many of its
    /// actions are for one of these, and are offered only to one who names it.
    async fn problems(&self, subject: &Subject, range: &Range<usize>) -> Vec<Value> {
        let spot = Some((subject, Spot::Whole));
        let Ok(reply) = self.ask("textDocument/diagnostic", spot, json!({})).await else { return Vec::new() };
        let text = subject.text.with_breaks(crate::text::LineBreaks::Lsp);
        let touches = |item: &&Value| {
            fields::range(&item["range"]).is_some_and(|found| {
                let start = text.byte_of(found.start, reply.encoding).0;
                let end = text.byte_of(found.end, reply.encoding).0;
                start <= range.end && range.start <= end
            })
        };
        reply.value["items"].as_array().into_iter().flatten().filter(touches).cloned().collect()
    }

    /// An action with its edit, where the server works that out only for one that is chosen.
    pub async fn resolved(&self, action: Action) -> Result<Action, Unanswered> {
        if !action.unresolved() {
            return Ok(action);
        }
        match self.ask("codeAction/resolve", None, action.raw().clone()).await {
            Ok(reply) => Ok(action.resolved(&reply.value)),
            Err(Unanswered::Cannot(_)) => Ok(action),
            Err(other) => Err(other),
        }
    }

    /// Runs a command of an action in the server; the edits it asked for meanwhile. To be called only for what was
    /// allowed: it counts as running code.
    pub async fn run(&self, action: &Action) -> Result<Answer<Vec<Edits>>, Unanswered> {
        let Some(command) = action.command() else { return Err(Unanswered::Cannot(Vec::new())) };
        let reply = self.ask(RUN, None, command.params()).await?;
        let read = |edit: &Value| edits::workspace_edit(edit);
        let edits: Result<Vec<Option<Edits>>, String> = reply.edits.iter().map(read).collect();
        let edits = edits.map_err(|why| Unanswered::Failed(unread(&why)))?;
        Ok(reply.map(|_| edits.into_iter().flatten().collect()))
    }

    /// How to format a text, or a part of it (bytes).
    pub async fn format(
        &self,
        subject: &Subject,
        range: Option<Range<usize>>,
        indent: Indent,
    ) -> Result<Answer<TextEdits>, Unanswered> {
        let (method, spot) = match range {
            None => ("textDocument/formatting", Spot::Whole),
            Some(range) => ("textDocument/rangeFormatting", Spot::Within(range)),
        };
        let reply = self.ask(method, Some((subject, spot)), json!({ "options": indent.options() })).await?;
        let edits = edits::text_edits(&reply.value).map_err(|why| Unanswered::Failed(unread(&why)))?;
        Ok(reply.map(|_| edits))
    }

    /// Asks, and asks again with patience where the server says that something changed under it.
    async fn ask(
        &self,
        method: &'static str,
        about: Option<(&Subject, Spot)>,
        fields: Value,
    ) -> Result<Reply, Unanswered> {
        let mut waits = BACK_OFF.iter();
        loop {
            let about = about.clone().map(|(subject, spot)| About {
                key: subject.key.clone(),
                text: subject.text.clone(),
                spot,
            });
            let (asking, answer) = Asking::new(method, about, fields.clone(), DEADLINE);
            self.client.tell(Command::Ask(Arc::clone(&asking)));
            drop(asking);
            match answer.await.unwrap_or(Err(Unanswered::Gone)) {
                // What a command did before it gave up, it would do again.
                Err(Unanswered::Modified) if method != RUN => match waits.next() {
                    Some(wait) => self.clock.sleep(*wait).await,
                    None => return Err(Unanswered::Modified),
                },
                other => return other,
            }
        }
    }
}

impl Reply {
    fn map<T>(self, read: impl FnOnce(Value) -> T) -> Answer<T> {
        let seen = Seen { encoding: self.encoding, texts: self.texts };
        Answer { value: read(self.value), seen, unread: 0 }
    }
}

/// How many parts of an answer cannot be read: `null` is no part, a list has several, anything else is one.
fn unreadable(answer: &Value, readable: impl Fn(&Value) -> bool) -> usize {
    match answer {
        Value::Null => 0,
        Value::Array(several) => several.iter().filter(|part| !readable(part)).count(),
        one => usize::from(!readable(one)),
    }
}

fn unread(why: &str) -> String {
    format!("its edit could not be read ({why})")
}
