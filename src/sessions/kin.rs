//! Sessions that work for others: those of agents. Which is whose follows from its name alone, so that it is known after a
//! restart and whoever opens it; what it asks for is narrowed by what holds for the session it works for. Pure.

use std::path::Path;

use crate::config::Mode;

use super::policy::{Apply, Asked, Budgets, GuardSwitches, NotGranted, RuleLists, Save, ToolSwitches, Wanted};

/// So deep may sessions work for one another.
pub const MAX_DEPTH: usize = 5;

/// The name of a session has at most so many bytes.
pub const MAX_NAME_BYTES: usize = 256;

/// The name of the session of an agent: that of the session it works for, `/a`, and its number there.
pub fn child(session: &str, number: u64) -> String {
    format!("{session}/a{number}")
}

/// The session that a session works for, if it is that of an agent.
pub fn parent(session: &str) -> Option<&str> {
    let (parent, last) = session.rsplit_once('/')?;
    let number = last.strip_prefix('a')?;
    let counts = !number.starts_with('0') && number.bytes().all(|byte| byte.is_ascii_digit());
    (!parent.is_empty() && !number.is_empty() && counts).then_some(parent)
}

/// How many sessions are above a session.
pub fn depth(session: &str) -> usize {
    std::iter::successors(parent(session), |above| parent(above)).count()
}

/// Whether a session works for another one, perhaps through others.
pub fn is_below(session: &str, above: &str) -> bool {
    std::iter::successors(parent(session), |session| parent(session)).any(|known| known == above)
}

/// The mode of a session, and the one it may not be looser than, by what it wants itself and by these two of the session that
/// it works for.
pub(super) fn modes(own: &Wanted, (mode, ceiling): (Mode, Mode)) -> (Mode, Mode) {
    let ceiling = stricter(ceiling, own.person);
    (stricter(stricter(mode, own.asked.mode), Some(ceiling)), ceiling)
}

fn stricter(mode: Mode, other: Option<Mode>) -> Mode {
    other.filter(|other| other.strictness() > mode.strictness()).unwrap_or(mode)
}

/// What a session wants, as far as the session that it works for has it. What it does not speak of is as there.
pub(super) fn narrowed(own: Wanted, above: &Wanted) -> Wanted {
    let (roots, folders) = roots(&own, above);
    let asked = Asked {
        label: own.asked.label,
        roots,
        mode: own.asked.mode,
        tools: tools(own.asked.tools, above.asked.tools.as_ref()),
        rules: rules(own.asked.rules, above.asked.rules.as_ref()),
        apply: Some(if own.asked.apply == Some(Apply::Propose) { Apply::Propose } else { above.apply() }),
        save: least(own.asked.save, above.asked.save.or(Some(Save::Never)), |save| match save {
            Save::Never => 0,
            Save::IfClean => 1,
            Save::Always => 2,
        }),
        budgets: budgets(own.asked.budgets, above.asked.budgets),
        guards: guards(own.asked.guards, above.asked.guards),
    };
    Wanted { asked, folders, person: own.person, before: own.before }
}

/// The smaller of two by a measure, where both are there.
fn least<T: Copy>(one: Option<T>, other: Option<T>, measure: impl Fn(T) -> u8) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if measure(one) <= measure(other) { one } else { other }),
        (one, other) => one.or(other),
    }
}

/// The folders that are in both: where one lies in the other, the inner one.
fn roots(own: &Wanted, above: &Wanted) -> (Option<Vec<String>>, Vec<Option<String>>) {
    let listed = |wanted: &Wanted| {
        let uris = wanted.asked.roots.clone()?;
        let folders = uris.iter().enumerate().map(|(at, _)| wanted.folders.get(at).cloned().flatten());
        Some(uris.iter().cloned().zip(folders).collect::<Vec<_>>())
    };
    let both = match (listed(own), listed(above)) {
        (None, None) => return (None, Vec::new()),
        (Some(one), None) | (None, Some(one)) => one,
        (Some(own), Some(above)) => {
            let lies = |inner: &Option<String>, outer: &Option<String>| match (inner, outer) {
                (Some(inner), Some(outer)) => Path::new(inner).starts_with(outer),
                _ => false,
            };
            let inner = own.iter().filter(|(_, folder)| above.iter().any(|(_, outer)| lies(folder, outer)));
            let outer = above.iter().filter(|(_, folder)| own.iter().any(|(_, outer)| lies(folder, outer)));
            let mut both: Vec<_> = inner.cloned().collect();
            let rest: Vec<_> =
                outer.filter(|(_, folder)| !both.iter().any(|(_, known)| known == folder)).cloned().collect();
            both.extend(rest);
            both
        }
    };
    let (uris, folders) = both.into_iter().unzip();
    (Some(uris), folders)
}

/// As they are shown; what is decided by is in [`super::policy::ToolPolicy`], which knows that a tool has several names.
fn tools(own: Option<ToolSwitches>, above: Option<&ToolSwitches>) -> Option<ToolSwitches> {
    let Some(above) = above else { return own };
    let own = own.unwrap_or_default();
    let mut disable = above.disable.clone();
    disable.extend(own.disable.into_iter().filter(|name| !above.disable.contains(name)));
    Some(ToolSwitches { enable: own.enable.or_else(|| above.enable.clone()), disable })
}

/// All of them: what is allowed here and not there is asked about there, and so it is here.
fn rules(own: Option<RuleLists>, above: Option<&RuleLists>) -> Option<RuleLists> {
    let Some(above) = above else { return own };
    let own = own.unwrap_or_default();
    let both = |above: &[String], own: Vec<String>| above.iter().cloned().chain(own).collect();
    Some(RuleLists {
        allow: both(&above.allow, own.allow),
        ask: both(&above.ask, own.ask),
        deny: both(&above.deny, own.deny),
    })
}

fn budgets(own: Option<Budgets>, above: Option<Budgets>) -> Option<Budgets> {
    let bytes = |budgets: Option<Budgets>| budgets.and_then(|budgets| budgets.max_bytes);
    let least = [bytes(own), bytes(above)].into_iter().flatten().min();
    least.map(|max_bytes| Budgets { max_bytes: Some(max_bytes) })
}

fn guards(own: Option<GuardSwitches>, above: Option<GuardSwitches>) -> Option<GuardSwitches> {
    let Some(above) = above else { return own };
    let own = own.unwrap_or_default();
    let on = |own: Option<bool>, above: Option<bool>| if above == Some(true) { above } else { own };
    Some(GuardSwitches {
        repeats: on(own.repeats, above.repeats),
        failures: on(own.failures, above.failures),
        undone: on(own.undone, above.undone),
    })
}

/// What a session asked for and did not get because the session that it works for has it otherwise.
pub(super) fn not_granted(own: &Asked, held: &Asked, mode: Mode) -> Vec<NotGranted> {
    const REASON: &str = "it is the session of an agent, and may do no more than the session that started it";
    let mut refused = Vec::new();
    let mut refuse = |field: &str, asked: String| {
        refused.push(NotGranted { field: field.to_owned(), asked, reason: REASON.to_owned() });
    };
    if let Some(asked) = own.mode.filter(|asked| *asked != mode) {
        refuse("mode", asked.name().to_owned());
    }
    if own.apply == Some(Apply::Now) && held.apply == Some(Apply::Propose) {
        refuse("apply", "now".to_owned());
    }
    if own.save.is_some() && own.save != held.save {
        refuse("save", if own.save == Some(Save::Always) { "always" } else { "ifClean" }.to_owned());
    }
    let most = |asked: &Asked| asked.budgets.and_then(|budgets| budgets.max_bytes);
    if let Some(asked) = most(own).filter(|asked| Some(*asked) != most(held)) {
        refuse("budgets.maxBytes", asked.to_string());
    }
    refused
}

#[cfg(test)]
mod tests;
