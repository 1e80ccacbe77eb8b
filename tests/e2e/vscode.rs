//! VS Code: the scenarios of `vscode/scenarios/*.mjs`, played in the real workbench (code-server) under a real browser.
//!
//! The driver starts one code-server and one Chromium for a file and gives each scenario a window of its own; it prints a
//! verdict as JSON in its last line. Pictures of how each scenario ended are kept below the target folder.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::tools;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/vscode");
const PICTURES: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/vscode");

/// Far beyond what the scenarios of a file take; the driver's own waits are shorter.
const DEADLINE: Duration = Duration::from_mins(7);

/// Two workbenches with their browsers at once are slower than one after the other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Where the extension is that `tests/run` built, else where a developer builds it.
pub(crate) fn extension() -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "tests learn from the environment what is set up")]
    let built = std::env::var("ROPEWALK_EXTENSION").ok().filter(|folder| !folder.is_empty());
    let folder = built.map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("editors/vscode"), PathBuf::from);
    let main = folder.join("dist/extension.js");
    assert!(main.is_file(), "{} is missing: `tests/run editors` builds it", main.display());
    folder
}

/// The folder of tools and the built extension, or `None` (with a line on why) where nothing is set up.
#[expect(clippy::print_stdout, reason = "a test that is skipped says why")]
pub(crate) fn set_up() -> Option<PathBuf> {
    if !cfg!(target_os = "linux") {
        println!("skipped: the workbench's processes are watched through /proc, which only Linux has");
        return None;
    }
    tools::folder()
}

/// Plays all scenarios of a file, which have to be those named, and fails with what every failed one said.
fn play(file: &str, scenarios: &[&str]) {
    let Some(folder) = set_up() else { return };
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let node = tools::program(&folder, "node24/bin/node");
    let (extension, tools) = (extension(), folder.to_string_lossy());
    let environment = [
        ("ROPEWALK_BIN", tools::SIDECAR),
        ("ROPEWALK_EXTENSION", &*extension.to_string_lossy()),
        ("ROPEWALK_KEEP", PICTURES),
        ("ROPEWALK_TOOLS", &*tools),
    ];
    let driver = format!("{FOLDER}/driver.mjs");
    let ended = tools::run(&node, &[&driver, &format!("{FOLDER}/scenarios/{file}.mjs")], &environment, DEADLINE);
    let verdict: serde_json::Value =
        serde_json::from_str(ended.stdout.lines().last().unwrap_or_default()).unwrap_or_default();
    let results = verdict["results"].as_array().cloned().unwrap_or_default();
    let failed: Vec<String> = results
        .iter()
        .filter(|result| result["ok"] != true)
        .map(|result| format!("{}: {}", result["name"], result["detail"].as_str().unwrap_or_default()))
        .collect();
    assert!(
        ended.status.success() && failed.is_empty(),
        "{file}: {}\n{}\n{}",
        if failed.is_empty() { "no verdict".to_owned() } else { failed.join("\n") },
        ended.stdout,
        ended.stderr,
    );
    let played: Vec<&str> = results.iter().filter_map(|result| result["name"].as_str()).collect();
    assert_eq!(played, scenarios, "the scenarios of {file}.mjs");
}

/// The extension's types, settings and tools are written by scripts from what the sidecar says of itself.
#[test]
fn what_was_generated_is_what_the_sidecar_says() {
    let Some(folder) = set_up() else { return };
    let (node, extension) = (tools::program(&folder, "node24/bin/node"), extension());
    for script in ["protocol", "tools"] {
        let path = extension.join(format!("scripts/{script}.mjs")).to_string_lossy().into_owned();
        let ended = tools::run(&node, &[&path, tools::SIDECAR, "--check"], &[], DEADLINE);
        assert!(ended.status.success(), "npm run {script} -- PROGRAM: {}\n{}", ended.stdout, ended.stderr);
    }
}

/// One test a file, with the names of its scenarios.
macro_rules! scenarios {
    ($file:ident: $($scenario:ident),* $(,)?) => {
        #[test]
        fn $file() {
            play(stringify!($file), &[$(stringify!($scenario)),*]);
        }
    };
}

scenarios! { approvals:
    a_call_is_approved_on_its_page,
    a_call_is_denied_with_words_for_the_model,
    a_call_that_is_cancelled_takes_its_page_back,
    a_question_is_answered_in_a_quick_pick,
    a_question_that_is_closed_is_told,
    closing_the_page_is_a_no,
}

scenarios! { conformance:
    a_byte_order_mark_stays,
    a_document_that_is_closed_unsaved_and_opened_again,
    a_file_that_gets_another_name_while_it_is_open,
    a_file_without_a_document_is_written_on_the_disk,
    a_file_without_write_permission_is_edited_in_its_buffer,
    a_hundred_thousand_lines,
    a_missing_final_newline_stays_missing,
    a_stale_edit_is_refused_and_computed_anew,
    a_stale_edit_whose_place_is_gone_changes_nothing,
    an_edit_of_a_fresh_document_lands,
    an_editor_that_was_made_read_only_takes_no_edits,
    combined_characters_before_the_edit,
    two_groups_on_a_document_stay_where_they_are,
    undo_in_the_middle_of_typing,
}

scenarios! { diagnostics:
    json_that_was_broken_is_mended,
    typescript_sees_what_was_never_saved,
    what_an_edit_breaks_in_a_document_without_problems,
}

scenarios! { documents:
    a_cell_of_a_notebook,
    a_person_types_while_calls_edit,
    an_edit_is_one_step_of_undo,
    an_unsaved_buffer_is_read_and_edited,
    an_untitled_document,
    columns_behind_an_emoji,
    emoji_stay_whole_wherever_the_document_is,
    half_a_character_that_somebody_typed,
    lines_end_as_they_did,
    the_caret_stays_where_the_person_is,
}

scenarios! { review:
    a_proposal_is_accepted_where_it_would_be,
    keys_and_commands_judge_what_is_at_the_cursor,
    lenses_come_though_the_keyboard_goes_elsewhere,
    one_hunk_is_kept_and_another_undone_through_lenses,
    the_side_view_tells_what_an_agent_does,
}

scenarios! { rough:
    a_question_that_comes_next_does_not_cover_what_is_typed_into,
    what_a_setting_makes_read_only_takes_no_edits,
}

scenarios! { trust:
    a_call_that_waits_outlives_the_trust_that_is_given,
    trust_that_is_given_lets_commands_run_once_allowed,
    without_trust_agents_read_and_edit_and_run_nothing,
}

scenarios! { life:
    a_sidecar_that_is_killed_while_a_call_waits_comes_again,
    nothing_is_left_of_a_window_that_closes_while_a_command_runs,
    the_sidecar_comes_with_the_window_and_goes_with_it,
}

scenarios! { hunks:
    a_proposal_is_edited_and_accepted,
    a_proposal_is_rejected_with_words,
    a_refused_undo_says_where,
    the_text_before_is_compared,
}

scenarios! { models:
    a_change_that_became_another_one_is_asked_about_again,
    a_models_edit_of_a_dirty_buffer_is_asked_about_once,
    a_models_edit_that_the_person_does_not_want_is_not_made,
    a_rule_that_says_no_fails_the_invocation_with_its_reason,
    an_agent_is_run_by_a_model_of_the_editor,
    an_extensions_own_tool_is_run_and_registered_again,
    an_mcp_server_asks_the_model_once_the_person_agrees,
    the_bridge_is_an_mcp_server_where_the_person_wants_it,
}

scenarios! { sideview:
    what_the_side_view_shows_can_be_judged_there,
}
