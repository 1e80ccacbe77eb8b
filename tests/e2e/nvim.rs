//! Neovim: each scenario of `nvim/scenarios/*.lua`, played in a real Neovim with real keys.
//!
//! The driver is a Neovim too: it starts a second one, speaks to it by RPC, and prints a verdict as JSON in its last
//! line. `documents`, `edits`, `adapter` and parts of others play against a stand-in inside the editor, the rest against
//! the real one.

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

scenarios! { agents:
    codex_as_an_agent_goes_when_it_is_cancelled_and_with_the_sidecar,
    codex_as_an_agent_joins_its_session_unasked,
    codex_in_a_terminal_edits_an_unsaved_buffer,
}

scenarios! { approvals:
    a_call_is_approved_and_one_denied_with_words,
    a_long_question_is_scrolled_and_a_tiny_screen_will_do,
    a_picker_of_the_users_own_is_used,
    a_question_goes_with_its_sidecar,
    a_question_that_is_taken_back_goes_and_answers_nobody,
    a_question_waits_while_a_command_is_typed,
    all_of_a_call_is_on_the_screen,
    closing_the_window_is_a_no,
    each_key_gives_its_answer_and_the_user_is_where_they_were,
    insert_mode_goes_on_where_it_was,
    keys_on_their_way_answer_nothing_and_go_into_the_text,
    no_with_words_tells_the_model,
    questions_of_several_sidecars_queue,
    replace_and_visual_mode_go_on_where_they_were,
    several_calls_are_asked_one_by_one_or_all_at_once,
}

scenarios! { bridge:
    an_agent_edits_an_unsaved_buffer_and_sees_its_diagnostics,
    an_agent_that_is_not_let_in_gets_nothing,
}

scenarios! { api:
    a_cancelled_call_still_answers,
    a_request_that_was_cancelled_calls_back_and_a_question_is_taken_back,
    a_session_keeps_to_what_it_was_opened_with,
    a_session_outlives_a_restart_but_danger_does_not,
    a_session_that_cannot_be_opened_runs_nothing,
    a_session_that_is_reset_keeps_its_limits,
    agents_and_models_of_the_user_answer,
    calls_in_a_coroutine_wait_and_others_call_back,
    events_are_heard_by_listeners_and_autocommands,
    other_clients_keep_their_handlers,
    proposals_are_accepted_and_rejected,
    the_capabilities_are_those_of_the_options,
    the_wire_takes_messages_apart_wherever_they_are_cut,
    tools_in_lua_are_called_by_the_sidecar,
}

scenarios! { conformance:
    a_buffer_that_is_closed_unsaved_and_opened_again,
    a_byte_order_mark_stays,
    a_file_that_gets_another_name_while_it_is_open,
    a_file_without_a_buffer_is_written_on_the_disk,
    a_hundred_thousand_lines,
    a_missing_final_newline_is_added_by_a_save_alone,
    a_read_only_file_is_not_edited,
    a_refused_edit_is_told,
    a_stale_edit_is_refused_and_computed_anew,
    a_stale_edit_whose_place_is_gone_changes_nothing,
    combined_characters_before_the_edit,
    crlf_stays_through_typing_an_edit_and_a_save,
    two_windows_on_a_buffer_stay_where_they_are,
    undo_in_insert_mode_takes_back_the_edit_and_leaves_the_typing,
}

scenarios! { desk:
    a_long_result_is_shown_whole,
    a_result_that_comes_while_the_user_types_takes_no_focus,
    each_subcommand_completes_and_does_what_it_says,
    health_says_what_is_so,
    options_say_what_is_expected,
    the_help_has_tags_for_its_links_and_narrow_lines,
    the_log_of_calls_grows_and_leaves_the_cursor_alone,
    the_program_is_built_where_the_plugin_lies_when_asked,
}

scenarios! { documents:
    chaos_dos,
    chaos_mixed,
    chaos_noeol,
    chaos_plain,
    chaos_void,
}

scenarios! { editor:
    a_session_that_saves_writes_what_it_edits,
    files_changed_on_the_disk_come_up_without_a_question,
    formatting_asks_the_client_of_the_buffer_and_counts_as_the_sidecar_does,
    progress_that_began_before_the_sidecar_and_never_ended_is_told,
    ruff_in_neovim_formats_what_an_agent_writes,
    saving_while_the_user_types,
    saving_writes_as_w_does_and_moves_nothing,
    typing_is_told_now_and_then_not_at_each_key,
    what_cannot_be_saved_is_told_with_its_reason_and_never_asked,
    what_the_user_looks_at_is_told,
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
    options_are_checked,
    published_diagnostics_go_on_raw_with_their_version,
    pulled_diagnostics_go_on_with_the_version_asked_about,
    reload_rename_and_language,
    resync_gives_the_text_as_it_is,
    two_unnamed_buffers_are_two_documents,
}

scenarios! { life:
    a_call_while_the_sidecar_is_down_starts_it,
    after_a_crash_all_is_opened_again_and_work_goes_on,
    an_option_decides_about_trust_without_a_question,
    keys_that_were_on_their_way_do_not_trust,
    neither_a_crash_nor_a_message_waits_for_a_key,
    no_process_is_left_when_neovim_ends,
    no_process_is_left_when_neovim_is_killed,
    nothing_runs_before_there_is_something_to_do,
    trust_is_asked_once_and_remembered_by_neovim,
    trust_not_given_stays_not_given,
    what_neovim_trusts_already_is_not_asked_about,
}

scenarios! { questions:
    a_form_is_declined_or_closed,
    a_form_is_filled_in_field_by_field_and_seen_before_it_is_sent,
    a_model_asks_and_hears,
    a_page_is_opened_only_after_a_yes,
    a_question_that_is_taken_back_goes,
    insert_mode_goes_on_after_words_were_written,
    keys_on_their_way_choose_nothing,
    nobody_at_the_editor_and_questions_switched_off,
    one_option_is_chosen_by_its_number_or_by_enter,
    pickers_of_the_users_own_are_used,
    several_options_are_marked_and_none_is_an_answer,
    what_was_answered_before_the_questions_were_closed_counts,
    words_and_empty_words_and_no_answer_are_three_things,
}

scenarios! { review:
    a_proposal_is_edited_and_accepted_by_writing,
    a_proposal_is_shown_and_accepted_or_rejected,
    a_range_a_call_a_file_and_a_session_are_judged,
    crlf_tabs_wide_and_very_long_lines,
    differences_side_by_side,
    hunks_are_shown_where_they_are_and_move_with_typing,
    many_removed_lines_are_shown_cut_and_two_windows_show_the_same,
    next_and_previous_go_over_files_and_round,
    one_hunk_is_kept_and_one_undone_by_keys_between_typing,
    reloading_and_unloading,
    the_edges_of_a_file,
    the_overview_is_judged_by_the_same_keys,
    the_quickfix_list_has_every_hunk,
    the_users_colours_and_keys_count,
    typing_does_not_wait_for_the_review,
    what_an_undo_leaves_is_told_in_one_line,
}

scenarios! { rough:
    a_command_that_shows_its_outcome_keeps_edits_off,
    a_list_that_comes_late_takes_no_keys,
    a_macro_answers_no_question,
    a_picker_of_somebody_elses_comes_when_typing_pauses,
    a_question_waits_until_a_macro_is_recorded,
    a_relative_root_is_the_folder_it_names,
    a_selection_in_select_mode_and_one_in_the_line_of_the_edit,
    a_selection_stays_on_its_text_through_an_edit,
    a_sidecar_comes_back_where_nothing_can_be_said,
    an_edit_above_completion_waits_for_the_choice,
    an_edited_proposal_that_is_refused_is_not_lost,
    another_client_of_the_same_name_is_left_alone,
    characters_that_the_encoding_of_a_file_lacks_are_not_saved,
    completion_that_is_on_takes_away_only_its_own_text,
    plugins_put_tables_and_failures_in_the_place_of_functions,
    the_log_survives_sessions_and_unloading,
    what_cannot_be_sent_is_an_answer_too,
    what_is_invisible_is_spelled_out,
    what_is_typed_into_a_block_of_lines_comes_into_all_of_them,
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
