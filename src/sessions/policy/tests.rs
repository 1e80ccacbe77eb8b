//! What a session asks for, and what it gets.

use super::*;

fn settings(mode: Mode) -> Settings {
    let mut settings = Settings::default();
    settings.permissions.mode = mode;
    settings
}

fn effective(wanted: &Wanted, danger: bool, settings: &Settings) -> Effective {
    let folders = [PathBuf::from("/w")];
    wanted.effective("s", danger, Around { settings, folders: &folders, home: None, saves: false })
}

fn told(effective: &Effective) -> Vec<&str> {
    effective.not_granted.iter().map(|refused| refused.field.as_str()).collect()
}

#[test]
fn a_mode_is_only_made_stricter_unless_by_the_person() {
    use Mode::{Build, Danger, Explore, Plan, Review};
    for (user, asked, person, danger, mode, granted) in [
        (Build, None, None, false, Build, true),
        (Build, Some(Plan), None, false, Plan, true),
        (Review, Some(Build), None, false, Review, false),
        (Build, Some(Danger), None, false, Build, false),
        (Plan, Some(Explore), None, false, Explore, true),
        (Review, None, Some(Build), false, Build, true),
        (Review, Some(Build), Some(Build), false, Build, true),
        (Build, Some(Build), Some(Review), false, Review, false),
        (Build, None, Some(Review), true, Danger, true),
        (Build, Some(Plan), None, true, Plan, true),
    ] {
        let wanted = Wanted { asked: Asked { mode: asked, ..Asked::default() }, person, ..Wanted::default() };
        let effective = effective(&wanted, danger, &settings(user));
        let shown = format!("{user:?} {asked:?} {person:?} {danger}");
        assert_eq!((effective.mode, told(&effective).is_empty()), (mode, granted), "{shown}");
    }
}

#[test]
fn out_of_plan_mode_it_goes_back_to_what_held_before() {
    use Mode::{Build, Explore, Plan, Review};
    // The settings, what the session asks, what the person set; how plan mode comes; what holds after it.
    for (user, asked, person, by_person, after) in [
        (Build, None, None, false, Build),
        (Build, Some(Review), None, false, Review),
        (Build, None, Some(Review), false, Review),
        (Review, None, Some(Build), false, Build),
        (Build, Some(Explore), None, false, Explore),
        (Build, None, None, true, Build),
        (Review, None, None, true, Review),
        (Build, Some(Review), Some(Build), true, Review),
        // What the settings hold it to is not left.
        (Plan, None, None, false, Plan),
        (Plan, None, None, true, Plan),
    ] {
        let mut wanted = Wanted { asked: Asked { mode: asked, ..Asked::default() }, person, ..Wanted::default() };
        let settings = settings(user);
        if by_person {
            wanted.choose(Plan);
        } else {
            wanted.switch(Switch::Plan);
        }
        let shown = format!("{user:?} {asked:?} {person:?} {by_person}");
        assert_eq!(wanted.mode(false, &settings), Plan, "{shown}");
        // Twice is once.
        wanted.switch(Switch::Plan);
        wanted.switch(Switch::Leave);
        assert_eq!(wanted.mode(false, &settings), after, "{shown}");
    }
    // A mode that the person chose meanwhile counts.
    let mut wanted = Wanted::default();
    wanted.switch(Switch::Plan);
    wanted.choose(Review);
    assert_eq!(wanted.mode(false, &settings(Build)), Review);
    wanted.switch(Switch::Leave);
    assert_eq!(wanted.mode(false, &settings(Build)), Review);
}

#[test]
fn what_is_not_granted_is_told() {
    let asked: Asked = serde_json::from_value(serde_json::json!({
        "label": "pane",
        "roots": ["file:///w/part", "file:///elsewhere", "file:///gone"],
        "tools": { "disable": ["write"] },
        "rules": { "allow": ["read(", "read(a)"], "deny": ["()"] },
        "apply": "propose",
        "save": "ifClean",
        "budgets": { "maxBytes": 1_000_000 },
        "guards": { "repeats": false, "undone": true },
    }))
    .unwrap();
    let folders = vec![Some("/w/part".to_owned()), Some("/elsewhere".to_owned()), None];
    let wanted = Wanted { asked, folders, ..Wanted::default() };
    let effective = effective(&wanted, false, &settings(Mode::Build));
    let expected =
        ["roots[1]", "roots[2]", "rules.allow[0]", "rules.deny[0]", "save", "budgets.maxBytes", "guards.repeats"];
    assert_eq!(told(&effective), expected);
    assert_eq!(effective.roots, Some(vec!["file:///w/part".to_owned()]));
    assert_eq!((effective.apply, effective.save), (Apply::Propose, Save::Never));
    assert_eq!(effective.budgets.max_bytes, Some(30_000));
    assert!(effective.guards.repeats && effective.guards.undone);
}

#[test]
fn guards_and_budgets_only_tighten() {
    let mut user = settings(Mode::Build);
    user.guards = GuardSettings { repeats: false, failures: true, undone: false };
    let guards = GuardSwitches { repeats: Some(true), failures: Some(false), undone: None };
    let budgets = Some(Budgets { max_bytes: Some(100) });
    let wanted = Wanted { asked: Asked { guards: Some(guards), budgets, ..Asked::default() }, ..Wanted::default() };
    assert_eq!(wanted.guards(&user), GuardSettings { repeats: true, failures: true, undone: false });
    for (call, most) in [(None, Some(100)), (Some(50), Some(50)), (Some(500), Some(100))] {
        assert_eq!(wanted.max_bytes(call), most);
    }
    assert_eq!(Wanted::default().max_bytes(Some(7)), Some(7));
}

#[test]
fn tools_are_switched_by_name() {
    let with = |enable: Option<&[&str]>, disable: &[&str]| {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let tools = ToolSwitches { enable: enable.map(owned), disable: owned(disable) };
        Wanted { asked: Asked { tools: Some(tools), ..Asked::default() }, ..Wanted::default() }
    };
    for (wanted, offered) in [
        (Wanted::default(), [true, true]),
        (with(None, &["write"]), [true, false]),
        (with(Some(&["read"]), &[]), [true, false]),
        (with(Some(&["read", "write"]), &["read"]), [false, true]),
    ] {
        assert_eq!(["read", "write"].map(|tool| wanted.tools().allows(std::iter::once(tool))), offered, "{wanted:?}");
    }
}

#[test]
fn roots_that_are_nowhere_leave_nothing_inside() {
    let asked = Asked { roots: Some(vec!["file:///gone".to_owned()]), ..Asked::default() };
    let wanted = Wanted { asked, folders: vec![None], ..Wanted::default() };
    let settings = settings(Mode::Build);
    let policy = wanted.policy(false, Around { settings: &settings, folders: &[], home: None, saves: false });
    assert_eq!(policy.roots, Some(vec![]));
}
