//! The kinds of cases, and what they are made with.

use super::content;
use super::corpus::Corpus;
use super::random::Random;
use super::refusals;
use super::scene::Scene;
use super::score::Case;
use super::spacing;
use super::spelling;
use super::whole;

/// Makes one case; `None` where the draw does not suit the kind, and another must be drawn.
pub(super) type Make = fn(&mut Random, &Corpus) -> Option<Case>;

/// All kinds, in the order of the table.
pub(super) const KINDS: &[(&str, Make)] = &[
    ("exact", spacing::exact),
    ("end_mismatch", spacing::end_mismatch),
    ("trailing_space_old", spacing::trailing_old),
    ("trailing_space_file", spacing::trailing_file),
    ("dedent", spacing::dedent),
    ("more_indent", spacing::more_indent),
    ("dedent_old_only", spacing::dedent_old_only),
    ("first_line_dedented", spacing::first_line_dedented),
    ("first_line_dedented_fuzzy", spacing::first_line_dedented_fuzzy),
    ("flush_left", spacing::flush_left),
    ("one_line_misindented", spacing::one_line_misindented),
    ("tabs_for_spaces", spacing::tabs_for_spaces),
    ("spaces_for_tabs", spacing::spaces_for_tabs),
    ("inner_space", spacing::inner_space),
    ("inner_space_lost", spacing::inner_space_lost),
    ("blank_boundary", spacing::blank_boundary),
    ("blank_dropped", spacing::blank_dropped),
    ("blank_added", spacing::blank_added),
    ("blank_with_space", spacing::blank_with_space),
    ("lines_joined", spacing::lines_joined),
    ("line_split", spacing::line_split),
    ("several_at_once", spacing::several),
    ("tabs_in_made_lines", spacing::tabs_in_made_lines),
    ("escaped_all", spelling::escaped_all),
    ("escaped_newlines", spelling::escaped_newlines),
    ("escaped_quotes", spelling::escaped_quotes),
    ("escaped_tabs", spelling::escaped_tabs),
    ("backslashes_stay", spelling::backslashes_stay),
    ("unescaped_in_old", spelling::unescaped_in_old),
    ("curly_in_old", spelling::curly_in_old),
    ("curly_in_file", spelling::curly_in_file),
    ("dashes_in_old", spelling::dashes_in_old),
    ("dashes_in_file", spelling::dashes_in_file),
    ("nbsp_in_old", spelling::nbsp_in_old),
    ("nbsp_in_file", spelling::nbsp_in_file),
    ("line_numbers", spelling::line_numbers),
    ("line_numbers_old_only", spelling::line_numbers_old_only),
    ("html_entities", spelling::html_entities),
    ("code_fence", spelling::code_fence),
    ("stale_kept", content::stale_kept),
    ("stale_two", content::stale_two),
    ("stale_short", content::stale_short),
    ("stale_twin", content::stale_twin),
    ("stale_changed", content::stale_changed),
    ("stale_dropped", content::stale_dropped),
    ("omitted", content::omitted),
    ("omitted_beside", content::omitted_beside),
    ("omitted_twin", content::omitted_twin),
    ("omitted_two", content::omitted_two),
    ("omitted_in_drop", content::omitted_in_drop),
    ("comments_left_out", content::comments_left_out),
    ("end_comment_left_out", content::end_comment_left_out),
    ("hallucinated_line", content::hallucinated_line),
    ("lines_swapped", content::lines_swapped),
    ("line_repeated", content::line_repeated),
    ("last_line_cut", content::last_line_cut),
    ("partly_done", content::partly_done),
    ("wrong_case", content::wrong_case),
    ("quotes_swapped", content::quotes_swapped),
    ("punctuation", content::punctuation),
    ("stale_and_dedent", content::stale_and_dedent),
    ("sibling_right", content::sibling_right),
    ("siblings_equal", refusals::siblings_equal),
    ("sibling_gone", refusals::sibling_gone),
    ("two_ends", refusals::two_ends),
    ("ambiguous_exact", refusals::ambiguous_exact),
    ("ambiguous_fuzzy", refusals::ambiguous_fuzzy),
    ("absent", refusals::absent),
    ("removed", refusals::removed),
    ("elision_old", refusals::elision_old),
    ("elision_new", refusals::elision_new),
    ("identical", refusals::identical),
    ("already_done", refusals::already_done),
    ("empty_old", refusals::empty_old),
    ("crlf_exact", whole::crlf_exact),
    ("crlf_fuzzy", whole::crlf_fuzzy),
    ("crlf_in_old", whole::crlf_in_old),
    ("mixed_ends_exact", whole::mixed_ends_exact),
    ("mixed_ends_fuzzy", whole::mixed_ends_fuzzy),
    ("mid_line", whole::mid_line),
    ("mid_line_several", whole::mid_line_several),
    ("dollar_exact", whole::dollar_exact),
    ("dollar_fuzzy", whole::dollar_fuzzy),
    ("no_final_newline", whole::no_final_newline),
    ("bom_exact", whole::bom_exact),
    ("bom_fuzzy", whole::bom_fuzzy),
    ("unicode_exact", whole::unicode_exact),
    ("unicode_fuzzy", whole::unicode_fuzzy),
    ("unicode_stale", whole::unicode_stale),
    ("replace_all_exact", whole::replace_all_exact),
    ("replace_all_fuzzy", whole::replace_all_fuzzy),
];

/// How often another draw is tried before a kind is given up.
const DRAWS: usize = 20_000;

/// The case of a kind with this number; `None` if the corpus has no place that suits it.
pub(super) fn make(kind: &str, make: Make, seed: u64, number: usize, corpus: &Corpus) -> Option<Case> {
    let mut random = Random::new(seed, &format!("{kind}/{number}"));
    (0..DRAWS).find_map(|_| make(&mut random, corpus))
}

/// The case of a scene as it is.
pub(super) fn case(scene: &Scene) -> Case {
    let size = |lines: &[String]| lines.iter().map(|line| line.len() + 1).sum::<usize>();
    Case {
        file: scene.name.clone(),
        line: scene.before.len() + 1,
        text: scene.text(),
        old: scene.old_side(),
        new: scene.new_side(),
        all: false,
        accept: vec![scene.want()],
        may_refuse: false,
        loose_ends: Vec::new(),
        outside: (size(&scene.before), size(&scene.after)),
    }
}

/// The case of a scene whose old is not in its file as it is.
pub(super) fn inexact(scene: &Scene) -> Option<Case> {
    let case = case(scene);
    (!case.text.contains(&case.old) && case.old != case.new).then_some(case)
}

/// The case of a scene in which only a refusal is right.
pub(super) fn refusal(scene: &Scene) -> Option<Case> {
    let case = inexact(scene)?;
    Some(Case { accept: Vec::new(), ..case })
}
