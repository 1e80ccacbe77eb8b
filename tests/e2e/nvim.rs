//! Neovim: each scenario of `nvim/scenarios/*.lua`, played in a real Neovim with real keys.
//!
//! The driver is a Neovim too: it starts a second one, speaks to it by RPC, and prints a verdict as JSON in its last
//! line. `documents`, `edits` and `adapter` play against a stand-in inside the editor; `sidecar` against the real one.

use std::path::Path;
use std::time::Duration;

use crate::tools;

const DRIVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/nvim/driver.lua");
const SCENARIOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/nvim/scenarios");

/// Far beyond what any scenario takes; the driver's own waits are shorter.
const DEADLINE: Duration = Duration::from_mins(3);

fn drive(tools: &Path, arguments: &[&str]) -> tools::Ended {
    let nvim = tools::program(tools, "bin/nvim");
    let mut all = vec!["-u", "NONE", "-i", "NONE", "-l", DRIVER];
    all.extend(arguments);
    let tools = tools.to_string_lossy();
    tools::run(&nvim, &all, &[("ROPEWALK_TOOLS", &tools), ("ROPEWALK_BIN", tools::SIDECAR)], DEADLINE)
}

fn play(file: &str, scenario: &str) {
    let Some(folder) = tools::folder() else { return };
    let ended = drive(&folder, &[&format!("{SCENARIOS}/{file}.lua"), scenario]);
    let verdict = ended.stdout.lines().last().unwrap_or_default();
    let verdict: serde_json::Value = serde_json::from_str(verdict).unwrap_or_default();
    assert!(
        ended.status.success() && verdict["ok"] == true,
        "{file}: {scenario}: {}\n{}\n{}",
        verdict["detail"].as_str().unwrap_or("no verdict"),
        ended.stdout,
        ended.stderr,
    );
}

/// One test a scenario, and one that no scenario of the file is left out.
macro_rules! scenarios {
    ($file:ident: $($scenario:ident),* $(,)?) => {
        mod $file {
            $(
                #[test]
                fn $scenario() {
                    super::play(stringify!($file), stringify!($scenario));
                }
            )*

            #[test]
            fn every_scenario_is_listed() {
                super::listed(stringify!($file), &[$(stringify!($scenario)),*]);
            }
        }
    };
}

fn listed(file: &str, tests: &[&str]) {
    let Some(folder) = tools::folder() else { return };
    let ended = drive(&folder, &[&format!("{SCENARIOS}/{file}.lua")]);
    let mut tests = tests.to_vec();
    tests.sort_unstable();
    assert_eq!(ended.stdout.lines().collect::<Vec<_>>(), tests, "{}", ended.stderr);
}

scenarios! { bridge:
    an_agent_edits_an_unsaved_buffer_and_sees_its_diagnostics,
    an_agent_that_is_not_let_in_gets_nothing,
}

scenarios! { documents:
    chaos_dos,
    chaos_mixed,
    chaos_noeol,
    chaos_plain,
    chaos_void,
}

scenarios! { edits:
    a_buffer_without_final_newline_stays_without,
    a_freshly_opened_buffer_takes_an_edit_and_one_only,
    a_hidden_buffer_is_edited_in_place,
    a_lone_cr_is_content,
    a_stale_edit_lands_nowhere,
    an_edit_above_a_line_that_grows,
    bytes_that_are_not_utf8_are_never_overwritten,
    chaos_from_nothing,
    chaos_with_final_newline,
    chaos_without_final_newline,
    crlf,
    cursor_marks_folds_and_the_buffer_list_stay,
    emoji_columns,
    several_edits_are_one_version_and_one_step,
    the_end_of_a_buffer,
    typing_in_insert_mode_is_kept_and_undo_takes_back_exactly_the_edit,
    typing_in_the_line_of_the_edit_survives_its_undo,
    what_cannot_be_applied_is_refused_with_a_reason,
}

scenarios! { adapter:
    a_call_is_answered_when_the_sidecar_dies,
    a_question_shows_all_of_a_call_with_nothing_hidden,
    a_question_that_nobody_answers_yes_to_is_a_no,
    a_save_under_another_name_is_told_once,
    calls_and_the_command,
    checkhealth_speaks,
    diagnostics_from_before_the_sidecar_are_told_when_it_opens_the_document,
    initialize_says_what_the_adapter_can,
    keys_that_were_on_their_way_do_not_answer,
    options_are_checked,
    published_diagnostics_go_on_raw_with_their_version,
    pulled_diagnostics_go_on_with_the_version_asked_about,
    reload_rename_and_language,
    resync_gives_the_text_as_it_is,
    two_unnamed_buffers_are_two_documents,
}

scenarios! { sidecar:
    a_freshly_opened_buffer_at_version_0,
    the_first_edit_of_a_fresh_buffer_is_undone_in_one_step,
    a_line_typed_above_while_the_edit_is_under_way_moves_it,
    a_lone_cr,
    a_proposal_is_its_sessions_own_until_it_is_accepted_after_typing,
    a_reloaded_buffer,
    an_unsaved_buffer_is_edited_while_the_user_types,
    clangd_as_a_server_of_the_sidecar,
    crlf,
    emoji_columns,
    one_hunk_is_kept_and_one_undone_through_lenses_between_typing,
    ruff_as_a_server_of_the_sidecar,
    ruff_in_neovim_is_forwarded,
    the_sidecar_follows_whatever_is_typed,
    two_unnamed_buffers_are_edited_independently,
    u_takes_back_exactly_the_edit_and_keeps_the_typing,
    without_a_final_newline,
}
