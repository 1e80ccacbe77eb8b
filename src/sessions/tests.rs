//! Sessions: opened once, dropped when idle, brought back in order.

use super::*;
use crate::config::{Mode, Settings};
use crate::editor::TodoStatus;
use crate::outputs::{Index, NewOutput, Spilled};
use crate::ports::SystemClock;

fn open(sessions: &Sessions, id: Option<&str>) -> (Arc<Session>, Vec<String>) {
    sessions.open(id, || "/w".to_owned())
}

fn todo(content: &str) -> Todo {
    Todo { id: "1".to_owned(), content: content.to_owned(), status: TodoStatus::Pending, priority: None }
}

#[test]
fn a_session_is_opened_once() {
    let sessions = Sessions::default();
    let (first, _) = open(&sessions, None);
    assert_eq!((first.next_call(), first.next_call(), first.next_preview()), (1, 2, 1));
    assert_eq!(open(&sessions, Some(DEFAULT_SESSION)).0.next_call(), 3);
    assert_eq!(open(&sessions, Some("other")).0.next_call(), 1);
    assert!(sessions.close("other") && !sessions.close("other"));
    assert_eq!(open(&sessions, Some("other")).0.next_call(), 1);
}

#[test]
fn the_longest_idle_sessions_are_dropped_and_never_a_busy_one() {
    let sessions = Sessions::default();
    open(&sessions, None);
    let (busy, _) = open(&sessions, Some("busy"));
    for number in 0..MAX_IDLE {
        assert_eq!(open(&sessions, Some(&format!("s{number}"))).1, Vec::<String>::new());
    }
    // One more is opened and held: there are as many idle ones as may be.
    let (held, dropped) = open(&sessions, Some("held"));
    assert_eq!(dropped, Vec::<String>::new());
    // Used again, or ended after a long call, is not idle for long.
    open(&sessions, Some("s0"));
    drop(busy);
    sessions.rest("busy");
    assert_eq!(open(&sessions, Some("next")).1, ["s1"]);
    drop(held);
    assert_eq!(open(&sessions, Some("more")).1, ["s2", "s3"]);
    // The default one is older than all of them.
    assert!(lock(&sessions.all).open.contains_key(DEFAULT_SESSION));
    assert_eq!(lock(&sessions.all).open.len(), MAX_IDLE + 2);
}

#[test]
fn what_is_done_before_a_session_is_back_is_done_in_its_turn() {
    let session = Session::with("s", Arc::new(Standing::new("/w", None)), Parts::awaited(), None);
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let note = |word: &'static str| {
        let log = Arc::clone(&log);
        move |session: &Session| {
            let kept = session.todos().first().map(|todo| todo.content.clone()).unwrap_or_default();
            lock(&log).push(format!("{word} {kept}"));
        }
    };
    session.then(note("one"));
    session.then(|session| session.set_todos(&[todo("newer")]));
    session.then(note("two"));
    assert_eq!(lock(&log).len(), 0);
    let kept = serde_json::to_value([todo("kept")]).unwrap();
    session.restore(Some(BTreeMap::from([(TODOS.to_owned(), kept.clone())])));
    assert_eq!(*lock(&log), ["one kept", "two newer"]);
    // It comes once, and then everything is done at once.
    session.restore(Some(BTreeMap::from([(TODOS.to_owned(), kept)])));
    session.then(note("three"));
    assert_eq!(*lock(&log), ["one kept", "two newer", "three newer"]);
}

#[tokio::test(start_paused = true)]
async fn what_never_comes_is_not_waited_for_for_ever() {
    let session = Session::with("s", Arc::new(Standing::new("/w", None)), Parts::awaited(), None);
    session.then(|session| session.set_todos(&[todo("mine")]));
    session.ready(&SystemClock).await;
    assert_eq!(session.todos(), [todo("mine")]);
}

#[test]
fn what_a_person_said_is_kept() {
    let session = Session::new("s");
    session.consent(|consents| consents.relent("nothing"));
    assert_eq!(session.part::<Consents>(CONSENTS), None);
    session.consent(|consents| consents.grant("like", "edit", &[]));
    session.consent(|consents| consents.deny("exact", "edit", &[], Some("no")));
    let later = Session::with("s", Arc::new(Standing::new("/w", None)), Parts::awaited(), None);
    later.restore(Some(lock(&session.parts).values.clone()));
    assert!(later.consents().granted("like") && later.consents().denied("exact").is_some());
    later.reset();
    assert!(!later.consents().granted("like") && later.part::<Consents>(CONSENTS).is_none());
}

#[test]
fn danger_is_no_part_of_what_is_kept() {
    let (session, settings) = (Session::new("s"), Settings::default());
    session.set_mode(Mode::Review);
    session.set_mode(Mode::Danger);
    assert_eq!(session.mode(&settings), Mode::Danger);
    let kept = lock(&session.parts).values.clone();
    assert!(!format!("{kept:?}").contains("danger"), "{kept:?}");
    session.set_mode(Mode::Plan);
    assert_eq!(session.mode(&settings), Mode::Plan);
    session.reset();
    assert_eq!(session.mode(&settings), Mode::Build);
}

#[test]
fn tools_are_narrowed() {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    for (enable, disable, allowed) in [
        (None, &[][..], true),
        (Some(&["read"][..]), &[][..], true),
        (Some(&["read_file"][..]), &[][..], true),
        (Some(&["edit"][..]), &[][..], false),
        (Some(&[][..]), &[][..], false),
        (None, &["read_file"][..], false),
        (Some(&["read"][..]), &["read"][..], false),
        (None, &["edit"][..], true),
    ] {
        let policy = ToolPolicy { enable: enable.map(owned), disable: owned(disable), within: None };
        assert_eq!(policy.allows(["read", "read_file"].into_iter()), allowed, "{policy:?}");
    }
}

#[test]
fn a_tool_is_activated_once() {
    let session = Session::new("s");
    let first: Vec<bool> = ["b", "a", "b"].iter().map(|name| session.activate(name)).collect();
    assert_eq!((first, session.activated()), (vec![true, true, false], vec!["b".to_owned(), "a".to_owned()]));
}

#[test]
fn what_a_fork_was_shown_counts_once_it_is_adopted() {
    let (session, key) = (Session::new("s"), Key::Unnamed("untitled:1".into()));
    session.saw_lines(&key, "h", 0..2, 10, None);
    let fork = session.fork();
    fork.saw_lines(&key, "h", 2..10, 10, None);
    assert_eq!((fork.unseen(&key), session.unseen(&key).len()), (vec![], 1));
    let other = Key::Unnamed("untitled:2".into());
    fork.saw(&other, "o", None);
    assert_eq!(session.seen(&other), None);
    session.adopt(&fork, None);
    assert_eq!((session.unseen(&key), session.seen(&other).as_deref()), (vec![], Some("o")));
}

#[test]
fn a_fork_is_judged_as_its_session() {
    let (session, settings) = (Session::new("s"), Settings::default());
    session.set_mode(Mode::Danger);
    session.consent(|consents| consents.grant("like", "edit", &[]));
    let fork = session.fork();
    assert_eq!((fork.mode(&settings), fork.consents().granted("like")), (Mode::Danger, true));
}

#[test]
fn what_is_said_for_good_counts_in_every_session_of_the_folder() {
    let sessions = Sessions::default();
    let ((one, _), (two, _)) = (open(&sessions, Some("one")), open(&sessions, Some("two")));
    let (elsewhere, _) = sessions.open(Some("three"), || "/other".to_owned());
    assert!(one.grant("like", true, "bash", &["ls".to_owned()]) && !one.grant("here", false, "bash", &[]));
    assert_eq!([&one, &two, &elsewhere].map(|session| session.granted("like")), [true, true, false]);
    assert_eq!([&one, &two].map(|session| session.granted("here")), [true, false]);
    assert_eq!(sessions.beside(&one), ["one", "two"]);
    // It outlives its session, and is taken back from any of them.
    one.reset();
    sessions.close("one");
    assert!(open(&sessions, Some("one")).0.granted("like"));
    let listed = two.remembered();
    assert_eq!((listed.len(), listed[0].scope), (1, consents::Scope::Always));
    assert_eq!(two.revoke(&[listed[0].id.clone()], false), (false, true));
    assert!(!open(&sessions, Some("one")).0.granted("like"));
    two.grant("again", true, "bash", &[]);
    assert_eq!((two.revoke(&[], true), two.remembered()), ((false, true), vec![]));
}

#[test]
fn what_is_still_being_written_when_a_session_is_reset_is_of_none_of_its_outputs() {
    let session = Session::new("s");
    let put = |text: &str| {
        let (id, text) = ("o1".to_owned(), text.repeat(outputs::SPILL_FROM + 1).into());
        let new = NewOutput { id, call_id: "c1".to_owned(), tool: "read".to_owned(), text, external: None, kind: None };
        session.outputs().put(new, 1, true).write.unwrap()
    };
    let before = put("a");
    assert_eq!(session.reset(), Vec::<PathBuf>::new());
    let after = put("b");
    let path = PathBuf::from("/state/outputs/a");
    let file = Some(Spilled::in_file(path.clone(), Index::default()));
    assert_eq!(session.outputs().written(before, file, 1 << 20), [path], "nobody wants it");
    assert!(session.outputs().wants(after));
}
