//! Emacs with Eglot, a client that knows LSP and nothing of Ropewalk: each scenario of `eglot/scenarios.el`.
//!
//! An Emacs is started for each, as a daemon that stays in the foreground: it has a command loop and its idle timers, and
//! needs no terminal. Emacs is the machine's own; `tests/run` sees that it is there.

use std::path::Path;
use std::time::Duration;

use crate::tools;

const DRIVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/eglot/driver.el");

/// Far beyond what any scenario takes; the driver's own waits are shorter.
const DEADLINE: Duration = Duration::from_mins(2);

/// What the driver wrote to the file that was named to it, and the rest that it said.
#[expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test makes and reads its own files")]
fn drive(scenario: &str) -> (String, String) {
    let home = tempfile::tempdir().unwrap();
    let (socket, verdict) = (home.path().join("socket"), home.path().join("verdict"));
    let daemon = format!("--fg-daemon={}", socket.display());
    let environment = [
        ("HOME", home.path().to_string_lossy().into_owned()),
        ("ROPEWALK_BIN", tools::SIDECAR.to_owned()),
        ("ROPEWALK_SCENARIO", scenario.to_owned()),
        ("ROPEWALK_VERDICT", verdict.to_string_lossy().into_owned()),
    ];
    let environment: Vec<(&str, &str)> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let ended = tools::run(Path::new("emacs"), &["-Q", &daemon, "-l", DRIVER], &environment, DEADLINE);
    let said = format!("{}\n{}", ended.stdout, ended.stderr);
    (std::fs::read_to_string(verdict).unwrap_or_default(), said)
}

/// Emacs with Eglot is set up on Linux alone.
fn is_set_up() -> bool {
    tools::folder().is_some() && cfg!(target_os = "linux")
}

fn play(scenario: &str) {
    if !is_set_up() {
        return;
    }
    let (verdict, said) = drive(scenario);
    let verdict: serde_json::Value = serde_json::from_str(&verdict).unwrap_or_default();
    let detail = verdict["detail"].as_str().unwrap_or("no verdict");
    assert!(verdict["ok"] == true, "{scenario}: {detail}\n{}\n{said}", verdict["log"].as_str().unwrap_or_default());
}

/// One test a scenario, and one that none is left out.
macro_rules! scenarios {
    ($($scenario:ident),* $(,)?) => {
        $(
            #[test]
            fn $scenario() {
                play(stringify!($scenario));
            }
        )*

        #[test]
        fn every_scenario_is_listed() {
            if !is_set_up() {
                return;
            }
            let mut tests = vec![$(stringify!($scenario)),*];
            tests.sort_unstable();
            let (names, said) = drive("");
            assert_eq!(names.lines().collect::<Vec<_>>(), tests, "{said}");
        }
    };
}

scenarios! {
    a_byte_order_mark_stays,
    a_document_that_is_opened_again,
    a_file_that_gets_another_name_while_it_is_open,
    a_file_without_a_buffer_is_written_on_the_disk,
    a_hundred_thousand_lines,
    a_missing_final_newline_stays_missing,
    a_read_only_buffer_takes_edits_of_eglot,
    a_refused_edit_is_told,
    a_stale_edit_at_version_0_lands_nowhere_else,
    a_stale_edit_is_computed_anew,
    an_edit_of_a_fresh_document_lands,
    columns_behind_an_emoji,
    crlf_stays,
    nobody_can_be_asked_so_the_answer_is_no,
    one_undo_takes_back_exactly_the_edit,
    two_windows_on_a_buffer_stay_where_they_are,
    typing_goes_on_while_an_edit_is_under_way,
    undo_takes_an_edit_with_the_typing_right_before_it,
}
