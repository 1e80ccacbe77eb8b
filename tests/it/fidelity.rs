//! The generator of `benches/fidelity` over this repository's own sources: a few cases of each kind, none of them wrong.

#[path = "../../benches/fidelity/content.rs"]
mod content;
#[path = "../../benches/fidelity/corpus.rs"]
mod corpus;
#[path = "../../benches/fidelity/edits.rs"]
mod edits;
#[path = "../../benches/fidelity/kinds.rs"]
mod kinds;
#[path = "../../benches/fidelity/random.rs"]
mod random;
#[path = "../../benches/fidelity/refusals.rs"]
mod refusals;
#[path = "../../benches/fidelity/report.rs"]
mod report;
#[path = "../../benches/fidelity/scene.rs"]
mod scene;
#[path = "../../benches/fidelity/score.rs"]
mod score;
#[path = "../../benches/fidelity/spacing.rs"]
mod spacing;
#[path = "../../benches/fidelity/spelling.rs"]
mod spelling;
#[path = "../../benches/fidelity/whole.rs"]
mod whole;

use corpus::Corpus;
use kinds::{KINDS, make};
use report::Ran;
use score::Verdict;

/// Kinds of which Rust has no or too few places.
const NOT_OF_RUST: &[&str] =
    &["quotes_swapped", "end_comment_left_out", "unescaped_in_old", "stale_twin", "omitted_twin"];

#[test]
fn no_kind_of_inexact_edit_goes_wrong_in_our_own_sources() {
    let mut corpus = Corpus::default();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    corpus.add("ropewalk", &[root.join("src")]);
    assert!(corpus.files.len() > 50, "{:?}", corpus.notes);
    let (mut wrong, mut right) = (Vec::new(), 0);
    for (kind, draw) in KINDS.iter().filter(|(kind, _)| !NOT_OF_RUST.contains(kind)) {
        for number in 0..2 {
            let case = make(kind, *draw, 1, number, &corpus).unwrap_or_else(|| panic!("no place for {kind}"));
            let ran = Ran { kind, number, outcome: score::run(&case), case };
            match ran.outcome.verdict {
                Verdict::Wrong => wrong.push(ran.in_full()),
                Verdict::Right => right += 1,
                Verdict::Placed | Verdict::Refused => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(right > KINDS.len(), "a generator or a cascade that refuses most is of no use: {right} right");
}
