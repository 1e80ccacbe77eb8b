//! Sessions of agents: their names, and that nothing is decided more loosely there than in the session they work for.

use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::config::Settings;
use crate::permissions::{DecisionKind, Place, Reach, Rule, judge};
use crate::sessions::{Session, Sessions};

#[test]
fn names_say_who_works_for_whom() {
    for (name, above, deep) in [
        ("pane", None, 0),
        ("pane/a1", Some("pane"), 1),
        ("pane/a12/a3", Some("pane/a12"), 2),
        ("a/b/a1", Some("a/b"), 1),
        ("/a1", None, 0),
        ("pane/a", None, 0),
        ("pane/a0", None, 0),
        ("pane/a01", None, 0),
        ("pane/b1", None, 0),
        ("pane/a1x", None, 0),
        ("pane/a1/", None, 0),
    ] {
        assert_eq!((parent(name), depth(name)), (above, deep), "{name}");
    }
    assert_eq!(parent(&child("pane", 7)), Some("pane"));
    assert!(is_below("p/a1/a2", "p") && is_below("p/a1", "p") && !is_below("p", "p") && !is_below("pp/a1", "p"));
}

const MODES: [Mode; 4] = [Mode::Build, Mode::Review, Mode::Plan, Mode::Explore];
const RULES: [&str; 8] = [
    "write",
    "write(src/**)",
    "read(//etc/**)",
    "bash(ls:*)",
    "agent",
    "agent(codex)",
    "read(src/keep)",
    "write(broken",
];
const TOOLS: [&str; 5] = ["read", "write", "edit", "bash", "agent"];

fn rule_lists() -> impl Strategy<Value = Option<RuleLists>> {
    let list = || prop::collection::vec(prop::sample::select(RULES.to_vec()).prop_map(str::to_owned), 0..3);
    prop::option::of((list(), list(), list()).prop_map(|(allow, ask, deny)| RuleLists { allow, ask, deny }))
}

fn switches() -> impl Strategy<Value = Option<ToolSwitches>> {
    let list = || prop::collection::vec(prop::sample::select(TOOLS.to_vec()).prop_map(str::to_owned), 0..4);
    prop::option::of((prop::option::of(list()), list()).prop_map(|(enable, disable)| ToolSwitches { enable, disable }))
}

fn asked() -> impl Strategy<Value = (Asked, Vec<Option<String>>)> {
    let folders =
        prop::option::of(prop::collection::vec(prop::sample::select(vec!["/w", "/w/src", "/w/b", "/x"]), 0..3));
    let mode = prop::option::of(prop::sample::select(MODES.to_vec()));
    let (apply, save) = (prop::option::of(prop::bool::ANY), prop::option::of(0..3_u8));
    let bytes = prop::option::of(1..100_usize);
    (mode, rule_lists(), switches(), folders, (apply, save, bytes)).prop_map(
        |(mode, rules, tools, folders, (apply, save, bytes))| {
            let asked = Asked {
                mode,
                rules,
                tools,
                roots: folders
                    .as_ref()
                    .map(|folders| folders.iter().map(|folder| format!("file://{folder}")).collect()),
                apply: apply.map(|propose| if propose { Apply::Propose } else { Apply::Now }),
                save: save.map(|save| [Save::Never, Save::IfClean, Save::Always][usize::from(save)]),
                budgets: bytes.map(|bytes| Budgets { max_bytes: Some(bytes) }),
                ..Asked::default()
            };
            (asked, folders.into_iter().flatten().map(|folder| Some(folder.to_owned())).collect())
        },
    )
}

fn calls() -> Vec<(&'static str, Rule, Reach)> {
    let place = |path: &str| Place {
        asked: path.to_owned(),
        paths: vec![PathBuf::from(path)],
        inside: path.starts_with("/w/"),
    };
    let read = |path: &str| ("read", Rule::Read, Reach { reads: vec![place(path)], ..Reach::default() });
    let write = |path: &str| ("write", Rule::Write, Reach { writes: vec![place(path)], ..Reach::default() });
    let agent = |name: &str| ("agent", Rule::Agent, Reach { commands: vec![name.to_owned()], ..Reach::default() });
    vec![
        read("/w/src/a"),
        read("/w/src/keep"),
        read("/etc/hosts"),
        read("/w/.env"),
        write("/w/src/a"),
        write("/w/b/a"),
        write("/x/a"),
        write("/w/.git/config"),
        agent("codex"),
        agent("other"),
        ("agent", Rule::Agent, Reach::default()),
        ("mcp__x__y", Rule::Unknown, Reach::default()),
        ("plan_exit", Rule::Plan, Reach::default()),
        ("todowrite", Rule::Session, Reach::default()),
        ("bash", Rule::Unknown, Reach { commands: vec!["ls".to_owned()], ..Reach::default() }),
    ]
}

fn strict(decision: DecisionKind) -> u8 {
    match decision {
        DecisionKind::Allow => 0,
        DecisionKind::Ask => 1,
        DecisionKind::Deny => 2,
    }
}

fn family() -> (Arc<Session>, Arc<Session>) {
    let sessions = Sessions::default();
    let (child, _) = sessions.open(Some("p/a1"), String::new);
    let (parent, _) = sessions.open(Some("p"), String::new);
    (parent, child)
}

fn wants(session: &Session, (asked, folders): (Asked, Vec<Option<String>>)) {
    session.want(|wanted| {
        wanted.asked = asked;
        wanted.folders = folders;
    });
}

proptest! {
    #[test]
    fn an_agent_may_do_no_more_than_the_session_it_works_for(
        above in asked(),
        own in asked(),
        person in prop::option::of(prop::sample::select(vec![Mode::Danger, Mode::Build, Mode::Plan])),
        own_person in prop::option::of(prop::sample::select(vec![Mode::Danger, Mode::Build, Mode::Review])),
        mode in prop::sample::select(MODES.to_vec()),
        user in rule_lists(),
    ) {
        let mut settings = Settings::default();
        settings.permissions.mode = mode;
        let user = user.unwrap_or_default();
        (settings.permissions.allow, settings.permissions.ask, settings.permissions.deny) = (user.allow, user.ask, user.deny);
        let (parent, child) = family();
        for (session, person) in [(&parent, person), (&child, own_person)] {
            if let Some(mode) = person {
                session.set_mode(mode);
            }
        }
        wants(&parent, above);
        wants(&child, own);
        let folders = [PathBuf::from("/w")];
        let (outer, inner) = (parent.policy(&settings, &folders), child.policy(&settings, &folders));
        for (tool, rule, reach) in calls() {
            let [outer, inner] = [&outer, &inner].map(|policy| judge(tool, rule, &reach, policy).decision);
            prop_assert!(strict(inner) >= strict(outer), "{tool} {reach:?}: {outer:?}, and {inner:?} for its agent");
        }
        let (outer, inner) = (parent.tools(), child.tools());
        for tool in TOOLS {
            let has = |policy: &crate::sessions::ToolPolicy| policy.allows(std::iter::once(tool));
            prop_assert!(has(&outer) || !has(&inner), "{tool}");
        }
        let (outer, inner) = (parent.wanted(), child.wanted());
        prop_assert!(outer.apply() == Apply::Now || inner.apply() == Apply::Propose);
        prop_assert!(inner.max_bytes(None).unwrap_or(usize::MAX) <= outer.max_bytes(None).unwrap_or(usize::MAX));
        prop_assert!(outer.save(true) == Save::Always || inner.save(true) != Save::Always);
        prop_assert!(outer.save(true) != Save::Never || inner.save(true) == Save::Never);
        prop_assert!(child.mode(&settings).strictness() >= parent.mode(&settings).strictness());
        prop_assert!(child.mode(&settings) != Mode::Danger);
        let told = child.effective(&settings, &folders, true);
        prop_assert_eq!(told.mode, child.mode(&settings));
    }

    #[test]
    fn one_that_asks_for_nothing_has_what_its_parent_has(above in asked(), person in prop::sample::select(vec![Mode::Build, Mode::Review])) {
        let settings = Settings::default();
        let (parent, child) = family();
        parent.set_mode(person);
        wants(&parent, above);
        let folders = [PathBuf::from("/w")];
        let (outer, inner) = (parent.policy(&settings, &folders), child.policy(&settings, &folders));
        for (tool, rule, reach) in calls() {
            let [outer, inner] = [&outer, &inner].map(|policy| judge(tool, rule, &reach, policy).decision);
            prop_assert_eq!(inner, outer, "{} {:?}", tool, reach);
        }
        prop_assert_eq!(child.mode(&settings), parent.mode(&settings));
        prop_assert_eq!(child.wanted().save(true), parent.wanted().save(true));
        prop_assert_eq!(child.wanted().max_bytes(None), parent.wanted().max_bytes(None));
    }
}

#[test]
fn what_becomes_of_the_parent_holds_at_once() {
    let settings = Settings::default();
    let (parent, child) = family();
    assert_eq!(child.mode(&settings), Mode::Build);
    parent.set_mode(Mode::Plan);
    assert_eq!(child.mode(&settings), Mode::Plan);
    // A person who chooses another mode for the agent alone does not lead it out.
    child.set_mode(Mode::Build);
    assert_eq!(child.mode(&settings), Mode::Plan);
    assert_eq!(child.mode_after(crate::sessions::policy::Switch::Leave, &settings), Mode::Plan);
    parent.set_mode(Mode::Danger);
    assert_eq!((parent.mode(&settings), child.mode(&settings)), (Mode::Danger, Mode::Build));
    parent.grant("like", false, "write", &[]);
    assert!(parent.granted("like") && !child.granted("like"));
    parent.consent(|consents| consents.deny("exact", "write", &[], Some("no")));
    assert_eq!((child.denied("exact"), child.denied("other")), (Some(Some("no".to_owned())), None));
    // A copy of it is held to the same.
    parent.set_mode(Mode::Explore);
    assert_eq!(child.fork().mode(&settings), Mode::Explore);
}

#[test]
fn what_an_agent_does_not_get_is_told() {
    let settings = Settings::default();
    let (parent, child) = family();
    let asks = |apply, mode, bytes| Asked {
        apply: Some(apply),
        mode: Some(mode),
        budgets: Some(Budgets { max_bytes: Some(bytes) }),
        ..Asked::default()
    };
    wants(&parent, (asks(Apply::Propose, Mode::Review, 10), Vec::new()));
    wants(&child, (asks(Apply::Now, Mode::Build, 20), Vec::new()));
    let told = child.effective(&settings, &[], true);
    let fields: Vec<&str> = told.not_granted.iter().map(|refused| refused.field.as_str()).collect();
    assert_eq!(fields, ["mode", "apply", "budgets.maxBytes"]);
    assert_eq!((told.mode, told.apply, told.budgets.max_bytes), (Mode::Review, Apply::Propose, Some(10)));
}

#[test]
fn those_above_are_opened_before_and_held() {
    let sessions = Sessions::default();
    let (child, _) = sessions.open(Some("p/a1/a2"), || "/w".to_owned());
    for name in ["p", "p/a1", "p/a1/a2"] {
        assert!(sessions.knows(name), "{name}");
    }
    sessions.open(Some("p/a2"), String::new);
    sessions.open(Some("q/a1"), String::new);
    let below = |id| sessions.below(id).iter().map(|session| session.id.clone()).collect::<Vec<_>>();
    assert_eq!(below("p"), ["p/a1/a2", "p/a1", "p/a2"]);
    assert_eq!(below("p/a1"), ["p/a1/a2"]);
    drop(child);
}
