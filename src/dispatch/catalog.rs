//! The tools as dispatch holds them: who is there, in which order, for which session; and what each list of them is.

mod entry;
mod stand_in;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use tracing::warn;

use crate::config::Settings;
use crate::editor::Abilities;
use crate::permissions::Rule;
use crate::sessions::{Session, ToolPolicy};
use crate::tool::{AnyTool, ErrorKind, Listed, ToolError};
use crate::tools;

use super::call::{ListToolsParams, ListedTool};
use super::dialects::{Dialect, shaped};
use super::names::{self, Declared, Standing, quoted};
use stand_in::{StandIn, free_name, likeness};

pub(super) use entry::{Entry, Ready};

/// So many lists are remembered.
const LISTS: usize = 64;

/// All tools: the built-in ones sorted by name, then those that joined later, sorted by name. So every list of them is the
/// same each time, and what joins or leaves moves no built-in one.
pub(super) struct Registry {
    native: Vec<Source>,
    joined: Mutex<Vec<Source>>,
    shelf: RwLock<Arc<Vec<Arc<Entry>>>>,
    lists: Mutex<HashMap<Wanted, Arc<[ListedTool]>>>,
    /// The tools that were of no use when somebody was first given a list, or was last told of a new one.
    told: Mutex<Option<Vec<String>>>,
    /// What is around now.
    around: Box<dyn Fn() -> Around + Send + Sync>,
}

/// What it depends on which tools are of use: the settings of now, and what the editor can do.
pub(super) type Around = (Arc<Settings>, Abilities);

/// A tool as it came.
#[derive(Clone)]
enum Source {
    Usable(Arc<Entry>),
    /// Its own name and title, and why it cannot be used.
    Unfit {
        name: String,
        title: String,
        why: String,
    },
}

/// What a list depends on, besides the tools that there are.
#[derive(PartialEq, Eq, Hash)]
struct Wanted {
    policy: Arc<ToolPolicy>,
    activated: Vec<String>,
    dialect: Dialect,
    include_deferred: bool,
}

/// How a tool joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Joined {
    /// It can be called.
    Usable,
    /// It cannot; under this name, if one is free, it says why.
    Unfit {
        /// The name in the list.
        listed_as: Option<String>,
        /// Why.
        why: String,
    },
}

impl Source {
    fn new(tool: Arc<dyn AnyTool>, rule: Rule) -> Source {
        let (name, title) = (tool.traits().name.to_owned(), tool.traits().title.to_owned());
        match Entry::new(tool, rule) {
            Ok(entry) => Source::Usable(Arc::new(entry)),
            Err(unfit) => {
                warn!(tool = name, %unfit, "a tool that cannot be used");
                Source::Unfit { name, title, why: unfit.to_string() }
            }
        }
    }

    fn name(&self) -> &str {
        match self {
            Source::Usable(entry) => entry.traits().name,
            Source::Unfit { name, .. } => name,
        }
    }
}

impl Registry {
    /// Some tools, each with the rule for its calls.
    pub(super) fn new(tools: impl IntoIterator<Item = (Arc<dyn AnyTool>, Rule)>) -> Registry {
        Registry::of(tools.into_iter().map(|(tool, rule)| Source::new(tool, rule)).collect())
    }

    /// The built-in tools. Nothing of their schemas is worked out yet.
    pub(super) fn built_in() -> Registry {
        let entry = |tool: Arc<dyn AnyTool>| {
            let rule = Rule::of(tool.traits().name);
            Source::Usable(Arc::new(Entry::built_in(tool, rule)))
        };
        Registry::of(tools::table().into_iter().map(entry).collect())
    }

    fn of(mut native: Vec<Source>) -> Registry {
        native.sort_by(|a, b| a.name().cmp(b.name()));
        let shelf = RwLock::new(Arc::new(shelved(&native, &[]).0));
        let settings = Arc::new(Settings::default());
        // Until somebody says who is there, an editor that can do what any tool is of use for.
        let able = Abilities { run_agent: true, ..Abilities::default() };
        let around = Box::new(move || (Arc::clone(&settings), able.clone()));
        Registry { native, joined: Mutex::default(), shelf, lists: Mutex::default(), told: Mutex::default(), around }
    }

    /// The same, with the settings and the editor of now.
    pub(super) fn under(self, around: impl Fn() -> Around + Send + Sync + 'static) -> Registry {
        Registry { around: Box::new(around), ..self }
    }

    /// The tools that are of no use now, in the order of the shelf.
    fn useless(&self) -> Vec<String> {
        let (settings, editor) = (self.around)();
        let shelf = self.shelf();
        let useless = shelf.iter().filter(|entry| entry.tool.lacks(&settings, &editor).is_some());
        useless.map(|entry| entry.traits().name.to_owned()).collect()
    }

    /// Which tools a session has, for a list that is handed out.
    fn told_policy(&self, session: &Session) -> Arc<ToolPolicy> {
        let useless = self.useless();
        lock(&self.told).get_or_insert_with(|| useless.clone());
        without(session.tools(), useless)
    }

    /// Which tools a session has: those that are of use, as far as it has them.
    fn policy(&self, session: &Session) -> Arc<ToolPolicy> {
        without(session.tools(), self.useless())
    }

    /// A tool joins, as [`Registry::join_all`] has it.
    #[cfg(test)]
    pub(super) fn join(&self, tool: Arc<dyn AnyTool>, rule: Rule) -> Result<Joined, String> {
        self.join_all([(tool, rule)], usize::MAX).remove(0)
    }

    /// Tools join, in this order, until there are `most`; the list changes once. The error is a name that another tool
    /// has, or one so like it that calls could go to the wrong one. Works out their schemas, which takes its time.
    pub(super) fn join_all(
        &self,
        tools: impl IntoIterator<Item = (Arc<dyn AnyTool>, Rule)>,
        most: usize,
    ) -> Vec<Result<Joined, String>> {
        let native: Vec<(String, &str, &str)> = self
            .native
            .iter()
            .filter_map(|source| if let Source::Usable(entry) = source { Some(entry) } else { None })
            .flat_map(|entry| entry.names().map(|taken| (likeness(taken), taken, entry.traits().name)))
            .collect();
        let mut names: BTreeSet<String> = lock(&self.joined).iter().map(|source| source.name().to_owned()).collect();
        let mut came: Vec<Result<Source, String>> = Vec::new();
        for (tool, rule) in tools {
            let name = tool.traits().name;
            came.push(if names.contains(name) {
                Err(format!("there is a tool `{name}` already; unregister it first"))
            } else if names.len() >= most {
                Err(format!("there are {most} tools of the client's own, and no more are taken"))
            } else if let Some(why) = taken(&native, name) {
                Err(why)
            } else {
                names.insert(name.to_owned());
                Ok(Source::new(tool, rule))
            });
        }
        let mut joined = lock(&self.joined);
        joined.extend(came.iter().filter_map(|source| source.as_ref().ok()).cloned());
        joined.sort_by(|a, b| a.name().cmp(b.name()));
        let stood_in = self.shelve(&joined);
        let told = |source| match source {
            Source::Usable(_) => Joined::Usable,
            Source::Unfit { name, why, .. } => Joined::Unfit { listed_as: stood_in.get(&name).cloned(), why },
        };
        came.into_iter().map(|source| source.map(told)).collect()
    }

    /// A tool that joined leaves, as [`Registry::leave_all`] has it.
    #[cfg(test)]
    pub(super) fn leave(&self, name: &str) -> bool {
        self.leave_all(&[name.to_owned()]) == [name.to_owned()]
    }

    /// Tools that joined leave; the list changes once. Gives the names of those that were there.
    pub(super) fn leave_all(&self, names: &[String]) -> Vec<String> {
        let mut joined = lock(&self.joined);
        let mut there: BTreeSet<String> = joined.iter().map(|source| source.name().to_owned()).collect();
        let left: Vec<String> = names.iter().filter(|name| there.remove(*name)).cloned().collect();
        if !left.is_empty() {
            joined.retain(|source| there.contains(source.name()));
            self.shelve(&joined);
        }
        left
    }

    fn shelve(&self, joined: &[Source]) -> HashMap<String, String> {
        let (shelf, stood_in) = shelved(&self.native, joined);
        let mut lists = lock(&self.lists);
        *self.shelf.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(shelf);
        lists.clear();
        stood_in
    }

    fn shelf(&self) -> Arc<Vec<Arc<Entry>>> {
        Arc::clone(&self.shelf.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets each tool look again at what its description tells of the world; answers whether one tells something else now,
    /// or is of use now and was not when the list was last handed out, or the other way round. Blocking.
    pub(super) fn look_again(&self, look: impl Fn(&dyn AnyTool) -> bool) -> bool {
        let mut changed = false;
        for entry in self.shelf().iter() {
            changed |= look(&*entry.tool);
        }
        if changed {
            lock(&self.lists).clear();
        }
        let useless = self.useless();
        let mut told = lock(&self.told);
        if let Some(told) = told.as_mut().filter(|told| **told != useless) {
            *told = useless;
            changed = true;
        }
        changed
    }

    /// Whether the description of some tool may be another one once a file of this name has changed.
    pub(super) fn looks_at(&self, name: &str) -> bool {
        self.shelf().iter().any(|entry| entry.tool.looks_at(name))
    }

    /// The tools a session may call, listed or not, as other tools see them.
    pub(super) fn catalog(&self, session: &Session) -> Vec<Listed> {
        let (policy, activated) = (self.policy(session), session.activated());
        let shelf = self.shelf();
        let callable = shelf
            .iter()
            .filter(|entry| !entry.hidden() && policy.allows(entry.names()) && entry.unavailable().is_none());
        let mut catalog: Vec<Listed> = callable.map(|entry| entry.listed(dormant(entry, &activated))).collect();
        catalog.sort_by(|a, b| a.name.cmp(&b.name));
        catalog
    }

    /// The list for a client: what is always there, then the deferred tools that were called, in the order of their first
    /// calls, so that what was there stays in its place; or, where they are asked for, every deferred tool.
    pub(super) fn listed(&self, session: &Session, include_deferred: bool) -> Vec<Arc<Entry>> {
        self.arranged(&self.told_policy(session), &session.activated(), include_deferred)
    }

    fn arranged(&self, policy: &ToolPolicy, activated: &[String], include_deferred: bool) -> Vec<Arc<Entry>> {
        let shelf = self.shelf();
        let allowed = || shelf.iter().filter(|entry| !entry.hidden() && policy.allows(entry.names()));
        let deferred = |entry: &&Arc<Entry>| entry.traits().deferred;
        let head = allowed().filter(|entry| !deferred(entry));
        if include_deferred {
            return head.chain(allowed().filter(deferred)).cloned().collect();
        }
        let tail = activated.iter().filter_map(|name| allowed().filter(deferred).find(|e| e.traits().name == name));
        head.chain(tail).cloned().collect()
    }

    /// The list for a client in the form it wants.
    pub(super) fn list(&self, session: &Session, params: &ListToolsParams) -> Arc<[ListedTool]> {
        let wanted = Wanted {
            policy: self.told_policy(session),
            activated: session.activated(),
            dialect: params.dialect,
            include_deferred: params.include_deferred,
        };
        let mut lists = lock(&self.lists);
        if let Some(list) = lists.get(&wanted) {
            return Arc::clone(list);
        }
        let entries = self.arranged(&wanted.policy, &wanted.activated, wanted.include_deferred);
        let list: Arc<[ListedTool]> = entries.iter().map(|entry| shaped(entry.info(), wanted.dialect)).collect();
        if lists.len() >= LISTS {
            lists.clear();
        }
        lists.insert(wanted, Arc::clone(&list));
        list
    }

    /// The tool of exactly this name, whether or not a session has it.
    pub(super) fn named(&self, name: &str) -> Option<Arc<Entry>> {
        self.shelf().iter().find(|entry| entry.traits().name == name).cloned()
    }

    /// The tool that the model of a session means.
    pub(super) fn find(&self, session: &Session, asked: &str) -> Result<Arc<Entry>, ToolError> {
        let (policy, activated) = (self.policy(session), session.activated());
        let shelf = self.shelf();
        // A hidden tool is found by exactly its name, and never meant by another.
        if let Some(entry) = shelf.iter().find(|entry| entry.hidden() && entry.traits().name == asked) {
            return Ok(Arc::clone(entry));
        }
        let shelf: Vec<&Arc<Entry>> = shelf.iter().filter(|entry| !entry.hidden()).collect();
        let declared: Vec<Declared<'_>> = shelf
            .iter()
            .map(|entry| {
                let traits = entry.traits();
                let standing = if !policy.allows(entry.names()) {
                    Standing::Disabled
                } else if dormant(entry, &activated) {
                    Standing::Deferred
                } else {
                    Standing::Listed
                };
                Declared { name: traits.name, others: traits.names, standing }
            })
            .collect();
        let index = names::find(asked, &declared).map_err(|message| ToolError::new(ErrorKind::UnknownTool, message))?;
        match (declared.get(index), shelf.get(index)) {
            (Some(Declared { standing: Standing::Disabled, name, .. }), Some(entry)) => {
                let (settings, editor) = (self.around)();
                let name = quoted(&[name]);
                let words = match entry.tool.lacks(&settings, &editor) {
                    Some(why) => {
                        format!("{name} cannot be used here: {why}. Go on without it, or say that it is needed.")
                    }
                    None => format!(
                        "{name} is turned off in this session. Do not try the same another way; go on without it, or \
                         say that it is needed."
                    ),
                };
                Err(ToolError::new(ErrorKind::Unavailable, words))
            }
            (_, Some(entry)) => Ok(Arc::clone(entry)),
            (_, None) => Err(ToolError::new(ErrorKind::UnknownTool, format!("There is no tool `{asked}`."))),
        }
    }
}

/// What a session has, without these tools.
fn without(policy: Arc<ToolPolicy>, useless: Vec<String>) -> Arc<ToolPolicy> {
    if useless.is_empty() {
        return policy;
    }
    let mut narrower = (*policy).clone();
    narrower.disable.extend(useless);
    Arc::new(narrower)
}

/// Whether a session has yet to call a deferred tool.
pub(super) fn undiscovered(session: &Session, entry: &Entry) -> bool {
    entry.traits().deferred && dormant(entry, &session.activated())
}

fn dormant(entry: &Entry, activated: &[String]) -> bool {
    let traits = entry.traits();
    traits.deferred && !activated.iter().any(|name| name == traits.name)
}

/// Why no tool may join under a name: a built-in one has it, or one so like it that calls could go to the wrong one.
/// `native`: the names of the built-in ones, each as its likeness, as it is, and its tool's own name.
fn taken(native: &[(String, &str, &str)], name: &str) -> Option<String> {
    let alike = likeness(name);
    let (_, taken, own) = native.iter().find(|(taken, ..)| *taken == alike)?;
    Some(if taken == own {
        format!("`{own}` is a built-in tool, which nothing replaces")
    } else {
        format!("`{taken}` is another name of the built-in tool `{own}`, which nothing replaces")
    })
}

/// The tools in their order, with what stands in for those that cannot be used; and the names of the latter in the list.
fn shelved(native: &[Source], joined: &[Source]) -> (Vec<Arc<Entry>>, HashMap<String, String>) {
    let usable = |source: &Source| match source {
        Source::Usable(entry) => Some(Arc::clone(entry)),
        Source::Unfit { .. } => None,
    };
    let good: Vec<Arc<Entry>> = native.iter().chain(joined).filter_map(usable).collect();
    let mut taken: BTreeSet<String> = good.iter().flat_map(|entry| entry.names().map(likeness)).collect();
    let mut stood_in = HashMap::new();
    let mut shelf = Vec::with_capacity(native.len() + joined.len());
    for sources in [native, joined] {
        let mut part: Vec<Arc<Entry>> = sources.iter().filter_map(usable).collect();
        for source in sources {
            let Source::Unfit { name, title, why } = source else { continue };
            let Some(free) = free_name(name, &taken) else {
                warn!(tool = name, "left out: every name like it is taken");
                continue;
            };
            taken.insert(likeness(&free));
            stood_in.insert(name.clone(), free.clone());
            part.extend(Entry::stand_in(StandIn::new(free, title, why), why.clone()).map(Arc::new));
        }
        part.sort_by(|a, b| a.traits().name.cmp(b.traits().name));
        shelf.extend(part);
    }
    (shelf, stood_in)
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each holds one plain collection.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
