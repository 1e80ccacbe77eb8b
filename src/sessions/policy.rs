//! What a session asks for, and what holds for it: the user's settings, made stricter by what it asks and never looser.
//! Pure.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{GuardSettings, Mode, PermissionSettings, Settings};
use crate::permissions::{Bases, Policy, Rules};

/// A list in what a session asks for has at most so many entries, and a text so many bytes.
const MAX_ENTRIES: usize = 1000;
const MAX_TEXT: usize = 4096;

/// What a session asks for. What is absent stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Asked {
    /// Its name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The folders it works in, as URIs: what is outside them is asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<Vec<String>>,
    /// Its mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Which tools it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolSwitches>,
    /// Its own rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<RuleLists>,
    /// What becomes of its edits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apply: Option<Apply>,
    /// Whether edited documents are saved, by the editor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub save: Option<Save>,
    /// Its share of what is limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budgets: Option<Budgets>,
    /// Guards it wants on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guards: Option<GuardSwitches>,
}

/// Which tools a session has, by any of their names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolSwitches {
    /// Only these; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable: Option<Vec<String>>,
    /// Not these.
    pub disable: Vec<String>,
}

/// Which tools a session may call. It narrows what there is, and never widens it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ToolPolicy {
    /// Only these, by any of their names; absent: all.
    pub enable: Option<BTreeSet<String>>,
    /// Not these, by any of their names.
    pub disable: BTreeSet<String>,
    /// And only what this one lets be called too.
    pub within: Option<Arc<ToolPolicy>>,
}

impl ToolPolicy {
    /// Whether a tool of these names, which all are its own, may be called.
    pub fn allows<'a>(&self, mut names: impl Iterator<Item = &'a str> + Clone) -> bool {
        let disabled = names.clone().any(|name| self.disable.contains(name))
            || self.within.as_ref().is_some_and(|outer| !outer.allows(names.clone()));
        !disabled && self.enable.as_ref().is_none_or(|enabled| names.any(|name| enabled.contains(name)))
    }
}

/// Rules, `Tool` or `Tool(pattern)`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RuleLists {
    /// Calls that run without asking, as far as the user's settings let them.
    pub allow: Vec<String>,
    /// Calls that a person is asked about.
    pub ask: Vec<String>,
    /// Calls that do not run.
    pub deny: Vec<String>,
}

/// What becomes of a session's edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Apply {
    /// They are made.
    #[default]
    Now,
    /// They wait for the person: only the session sees them until they are accepted.
    Propose,
}

/// Whether edited documents are saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Save {
    /// No.
    #[default]
    Never,
    /// Those that had no unsaved change before the call.
    IfClean,
    /// Yes, with whatever unsaved changes of the user's they have.
    Always,
}

/// A session's share of what is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Budgets {
    /// At most so many bytes of text in one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<usize>,
}

/// Guards that a session wants on; what is off in the settings can be turned on, and nothing off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GuardSwitches {
    /// See [`GuardSettings::repeats`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<bool>,
    /// See [`GuardSettings::failures`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<bool>,
    /// See [`GuardSettings::undone`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undone: Option<bool>,
}

/// What holds for a session, and what it asked for and did not get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Effective {
    /// The session.
    pub session_id: String,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its folders, as URIs; absent: all that are open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<Vec<String>>,
    /// Its mode.
    pub mode: Mode,
    /// Which tools it has.
    pub tools: ToolSwitches,
    /// Its own rules, beside the user's.
    pub rules: RuleLists,
    /// What becomes of its edits.
    pub apply: Apply,
    /// Whether edited documents are saved.
    pub save: Save,
    /// Its share of what is limited.
    pub budgets: Budgets,
    /// Which guards are on.
    pub guards: GuardSettings,
    /// What it asked for and did not get.
    pub not_granted: Vec<NotGranted>,
    /// Whether something of it was kept from an earlier run.
    pub restored: bool,
}

/// Something that a session asked for and did not get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotGranted {
    /// What it is about: a field of the params, with an entry's index where it is a list.
    pub field: String,
    /// What was asked for.
    pub asked: String,
    /// Why it was not granted, or what it does instead.
    pub reason: String,
}

/// What is kept of a session's policy.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Wanted {
    /// What it asked for.
    pub asked: Asked,
    /// The folders of `asked.roots`, canonical; `None` for one that is no folder here.
    pub folders: Vec<Option<String>>,
    /// The mode that the person set. Danger is never here.
    pub person: Option<Mode>,
    /// In plan mode: what held before, for when the person agrees to the plan.
    pub before: Option<BeforePlan>,
}

/// What held of the modes of a session before it went into plan mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BeforePlan {
    /// The mode that it asked for.
    pub asked: Option<Mode>,
    /// The mode that the person had set.
    pub person: Option<Mode>,
}

/// A change of the mode that a model asked for. It is made when all calls have ended that came before its call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// Into plan mode.
    Plan,
    /// Out of it: the person agreed to the plan.
    Leave,
}

/// What there is beside a session's own wishes.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    /// The user's settings.
    pub settings: &'a Settings,
    /// The workspace folders, canonical.
    pub folders: &'a [PathBuf],
    /// The home folder.
    pub home: Option<&'a Path>,
    /// The editor saves documents when it is asked to.
    pub saves: bool,
}

impl Asked {
    /// Takes over what is given.
    pub fn merge(&mut self, newer: Asked) {
        fn take<T>(here: &mut Option<T>, newer: Option<T>) {
            if newer.is_some() {
                *here = newer;
            }
        }
        take(&mut self.label, newer.label);
        take(&mut self.roots, newer.roots);
        take(&mut self.mode, newer.mode);
        take(&mut self.tools, newer.tools);
        take(&mut self.rules, newer.rules);
        take(&mut self.apply, newer.apply);
        take(&mut self.save, newer.save);
        take(&mut self.budgets, newer.budgets);
        take(&mut self.guards, newer.guards);
    }

    /// Why it is not taken: something is too long.
    pub fn misfit(&self) -> Option<String> {
        let tools = self.tools.iter().flat_map(|tools| [tools.enable.as_ref(), Some(&tools.disable)]).flatten();
        let rules = self.rules.iter().flat_map(|rules| [&rules.allow, &rules.ask, &rules.deny]);
        let lists: Vec<&Vec<String>> = self.roots.iter().chain(tools).chain(rules).collect();
        if let Some(long) = lists.iter().find(|list| list.len() > MAX_ENTRIES) {
            return Some(format!("a list has {} entries; at most {MAX_ENTRIES} are taken", long.len()));
        }
        let long = self.label.iter().chain(lists.into_iter().flatten()).find(|text| text.len() > MAX_TEXT)?;
        Some(format!("a text has {} bytes; at most {MAX_TEXT} are taken", long.len()))
    }
}

impl Wanted {
    /// The session's mode, and the one that it may not be looser than. `danger`: the person set that for this run.
    pub(super) fn modes(&self, danger: bool, settings: &PermissionSettings) -> (Mode, Mode) {
        let ceiling = if danger { Mode::Danger } else { self.person.unwrap_or(settings.mode) };
        let asked = self.asked.mode.filter(|mode| mode.strictness() >= ceiling.strictness());
        (asked.unwrap_or(ceiling), ceiling)
    }

    /// The person chose a mode.
    pub fn choose(&mut self, mode: Mode) {
        let planned = self.person == Some(Mode::Plan) || self.asked.mode == Some(Mode::Plan);
        let before = BeforePlan { asked: self.asked.mode, person: self.person };
        self.before = match (mode, planned) {
            (Mode::Plan, true) => self.before,
            (Mode::Plan, false) => Some(before),
            _ => None,
        };
        self.person = Some(mode).filter(|mode| *mode != Mode::Danger);
        self.asked.mode = None;
    }

    /// Makes a change that a model asked for. The way out leads to what held before, and never further than the person and
    /// the settings let it.
    pub fn switch(&mut self, switch: Switch) {
        match switch {
            Switch::Plan if self.asked.mode == Some(Mode::Plan) => {}
            Switch::Plan => {
                if self.person != Some(Mode::Plan) {
                    self.before = Some(BeforePlan { asked: self.asked.mode, person: self.person });
                }
                self.asked.mode = Some(Mode::Plan);
            }
            Switch::Leave => {
                let BeforePlan { asked, person } = self.before.take().unwrap_or_default();
                self.asked.mode = asked.filter(|mode| *mode != Mode::Plan);
                if self.person == Some(Mode::Plan) {
                    self.person = person.filter(|mode| *mode != Mode::Plan);
                }
            }
        }
    }

    /// The session's mode.
    pub fn mode(&self, danger: bool, settings: &Settings) -> Mode {
        self.modes(danger, &settings.permissions).0
    }

    /// Which tools it may call.
    pub fn tools(&self) -> ToolPolicy {
        let set = |names: &Vec<String>| names.iter().cloned().collect();
        self.asked.tools.as_ref().map_or_else(ToolPolicy::default, |tools| ToolPolicy {
            enable: tools.enable.as_ref().map(set),
            disable: set(&tools.disable),
            within: None,
        })
    }

    /// Which guards are on.
    pub fn guards(&self, settings: &Settings) -> GuardSettings {
        let asked = self.asked.guards.unwrap_or_default();
        let on = |usual: bool, asked: Option<bool>| usual || asked == Some(true);
        GuardSettings {
            repeats: on(settings.guards.repeats, asked.repeats),
            failures: on(settings.guards.failures, asked.failures),
            undone: on(settings.guards.undone, asked.undone),
        }
    }

    /// What becomes of its edits.
    pub fn apply(&self) -> Apply {
        self.asked.apply.unwrap_or_default()
    }

    /// Whether edited documents are saved; never by an editor that does not do it (`saves`).
    pub fn save(&self, saves: bool) -> Save {
        self.asked.save.filter(|_| saves).unwrap_or_default()
    }

    /// At most so many bytes of text in an answer, of `wanted` by a call; `None`: the settings say.
    pub fn max_bytes(&self, wanted: Option<usize>) -> Option<usize> {
        let session = self.asked.budgets.and_then(|budgets| budgets.max_bytes);
        [session, wanted].into_iter().flatten().min()
    }

    /// What the session's calls are judged by.
    pub fn policy(&self, danger: bool, around: Around<'_>) -> Policy {
        let (settings, web) = (&around.settings.permissions, &around.settings.web);
        let both = |rules: &[String], hosts: Vec<String>| rules.iter().cloned().chain(hosts).collect::<Vec<_>>();
        let (mode, ceiling) = self.modes(danger, settings);
        let own = self.asked.rules.as_ref();
        let bases = Bases { folders: around.folders.to_vec(), home: around.home.map(Path::to_owned) };
        let roots = self.asked.roots.as_ref().map(|_| self.folders.iter().flatten().map(PathBuf::from).collect());
        Policy {
            mode,
            ceiling,
            user: Rules::read(
                &both(&settings.allow, web.allow_rules()),
                &both(&settings.ask, web.ask_rules()),
                &both(&settings.deny, web.deny_rules()),
            ),
            session: own.map(|own| Rules::read(&own.allow, &own.ask, &own.deny)).unwrap_or_default(),
            project: Rules::default(),
            broken: settings.broken.clone(),
            bases,
            state: None,
            own: Vec::new(),
            roots,
            within: None,
        }
    }

    /// What holds, and what was asked for in vain.
    pub fn effective(&self, session_id: &str, danger: bool, around: Around<'_>) -> Effective {
        let asked = &self.asked;
        let mut not_granted = Vec::new();
        let mut refuse = |field: String, asked: String, reason: String| {
            not_granted.push(NotGranted { field, asked, reason });
        };
        let (mode, ceiling) = self.modes(danger, &around.settings.permissions);
        if let Some(wish) = asked.mode.filter(|wish| *wish != mode) {
            let reason = if wish == Mode::Danger {
                "only a person sets it, by `setMode`".to_owned()
            } else {
                format!("it is looser than {}, which the person or the settings chose", ceiling.name())
            };
            refuse("mode".to_owned(), wish.name().to_owned(), reason);
        }
        let mut roots = None;
        for (index, uri) in asked.roots.iter().flatten().enumerate() {
            let folder = self.folders.get(index).and_then(Option::as_deref).map(Path::new);
            let open = folder.is_some_and(|folder| {
                around.folders.iter().any(|open| folder.starts_with(open) || open.starts_with(folder))
            });
            if open {
                roots.get_or_insert_with(Vec::new).push(uri.clone());
                continue;
            }
            let why = if folder.is_none() { "it is no folder here" } else { "it is in no workspace folder" };
            refuse(format!("roots[{index}]"), uri.clone(), why.to_owned());
        }
        let roots = if asked.roots.is_some() { Some(roots.unwrap_or_default()) } else { None };
        let rules = asked.rules.clone().unwrap_or_default();
        for (field, list) in [("allow", &rules.allow), ("ask", &rules.ask), ("deny", &rules.deny)] {
            let holds_back = field != "allow";
            for (index, rule) in list.iter().enumerate() {
                let read = Rules::read(std::slice::from_ref(rule), &[], &[]);
                let Some(fault) = read.faults().first() else { continue };
                let then = if holds_back { "; until it is mended nothing is changed or run" } else { "" };
                refuse(format!("rules.{field}[{index}]"), rule.clone(), format!("{}{then}", fault.why));
            }
        }
        let save = self.save(around.saves);
        if let Some(wish) = asked.save.filter(|wish| *wish != save) {
            let wish = if wish == Save::Always { "always" } else { "ifClean" };
            let reason = "this editor does not save documents for others; nothing is saved";
            refuse("save".to_owned(), wish.to_owned(), reason.to_owned());
        }
        let most = around.settings.output.max_bytes;
        if let Some(wish) = self.max_bytes(None).filter(|wish| *wish > most) {
            refuse("budgets.maxBytes".to_owned(), wish.to_string(), format!("the settings have {most}"));
        }
        let guards = self.guards(around.settings);
        let wish = asked.guards.unwrap_or_default();
        for (field, wish, on) in [
            ("repeats", wish.repeats, guards.repeats),
            ("failures", wish.failures, guards.failures),
            ("undone", wish.undone, guards.undone),
        ] {
            if wish == Some(false) && on {
                let reason = "a session can only turn guards on".to_owned();
                refuse(format!("guards.{field}"), "false".to_owned(), reason);
            }
        }
        Effective {
            session_id: session_id.to_owned(),
            label: asked.label.clone(),
            roots,
            mode,
            tools: asked.tools.clone().unwrap_or_default(),
            rules,
            apply: self.apply(),
            save,
            budgets: Budgets { max_bytes: Some(self.max_bytes(None).map_or(most, |wish| wish.min(most))) },
            guards,
            not_granted,
            restored: false,
        }
    }
}

#[cfg(test)]
mod tests;
