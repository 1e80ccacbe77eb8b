//! One problem that several sources report is told once.

use std::collections::HashMap;

use crate::languages::problems::{Delta, Located, same_words};
use crate::languages::settle::Rev;
use crate::languages::verdict::Severity;

/// What makes two problems of different sources one: everything but the name of the tool.
type Same = (Rev, usize, usize, Severity, Option<String>, String);

fn same(rev: Rev, problem: &Located) -> Same {
    let Located { bytes, severity, code, message, .. } = problem;
    (rev, bytes.start, bytes.end, *severity, code.clone(), same_words(message))
}

/// Takes out of the deltas of one document, each of the text with that number, what an earlier source tells as well.
///
/// A problem that is new to one source and old to another stays new: nothing is hidden by being told once. One that is
/// old to a source that can compare is not listed because another cannot. What a source itself reports twice stays
/// twice.
pub(super) fn once(deltas: &mut [(Rev, &mut Delta)]) {
    fn lists(delta: &mut Delta) -> [&mut Vec<Located>; 3] {
        [&mut delta.new, &mut delta.unchanged, &mut delta.present]
    }
    let mut told: HashMap<Same, usize> = HashMap::new();
    let mut own: Vec<HashMap<Same, usize>> = vec![HashMap::new(); deltas.len()];
    for class in 0..3 {
        for ((rev, delta), own) in deltas.iter_mut().zip(&mut own) {
            lists(delta)[class].retain(|problem| count(own, &told, same(*rev, problem)));
            raise(&mut told, own);
        }
    }
    let mut gone: HashMap<Same, usize> = HashMap::new();
    for (rev, delta) in deltas {
        let mut own = HashMap::new();
        delta.resolved.retain(|problem| count(&mut own, &gone, same(*rev, problem)));
        raise(&mut gone, &own);
    }
}

/// Counts a problem of one source; whether it is one more than others told.
fn count(own: &mut HashMap<Same, usize>, told: &HashMap<Same, usize>, same: Same) -> bool {
    let others = told.get(&same).copied().unwrap_or(0);
    let number = own.entry(same).or_insert(0);
    *number += 1;
    *number > others
}

#[expect(clippy::iter_over_hash_type, reason = "of two numbers the greater one counts, in whatever order")]
fn raise(told: &mut HashMap<Same, usize>, own: &HashMap<Same, usize>) {
    for (same, number) in own {
        let all = told.entry(same.clone()).or_insert(0);
        *all = (*all).max(*number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(word: &str) -> Located {
        // `a@3`: its message and place; `a@3!` is a warning, `a@3#x` has the code x.
        let (word, code) = word.split_once('#').map_or((word, None), |(word, code)| (word, Some(code.to_owned())));
        let (word, severity) = word.strip_suffix('!').map_or((word, Severity::Error), |word| (word, Severity::Warning));
        let (message, at) = word.split_once('@').unwrap();
        let at: usize = at.parse().unwrap();
        Located { bytes: at..at + 1, severity, source: None, code, message: message.to_owned() }
    }

    fn list(words: &str) -> Vec<Located> {
        words.split(' ').filter(|word| !word.is_empty()).map(problem).collect()
    }

    /// Each source as `rev; new; unchanged; present; resolved`; what is left, in the same form.
    #[track_caller]
    fn check(sources: &[&str], expected: &[&str]) {
        let mut deltas: Vec<(Rev, Delta, String)> = sources
            .iter()
            .enumerate()
            .map(|(index, source)| {
                let parts: Vec<&str> = source.split(';').map(str::trim).collect();
                let mut delta = Delta {
                    new: list(parts[1]),
                    unchanged: list(parts[2]),
                    present: list(parts[3]),
                    resolved: list(parts[4]),
                };
                // Whatever each source calls the tool that found it.
                for list in [&mut delta.new, &mut delta.unchanged, &mut delta.present, &mut delta.resolved] {
                    for problem in list {
                        problem.source = Some(format!("tool {index}"));
                    }
                }
                (parts[0].parse().unwrap(), delta, String::new())
            })
            .collect();
        once(&mut deltas.iter_mut().map(|(rev, delta, _)| (*rev, delta)).collect::<Vec<_>>());
        let words = |list: &[Located]| {
            let each = list.iter().map(|problem| {
                let mild = if problem.severity == Severity::Error { "" } else { "!" };
                let code = problem.code.as_ref().map(|code| format!("#{code}")).unwrap_or_default();
                format!("{}@{}{mild}{code}", problem.message, problem.bytes.start)
            });
            each.collect::<Vec<_>>().join(" ")
        };
        let left: Vec<String> = deltas
            .iter()
            .map(|(rev, delta, _)| {
                let lists = [&delta.new, &delta.unchanged, &delta.present, &delta.resolved];
                format!("{rev}; {}", lists.map(|list| words(list)).join("; "))
            })
            .collect();
        assert_eq!(left, expected, "{sources:?}");
    }

    #[test]
    fn one_problem_is_told_once() {
        check(&["1; a@1; ; ; ", "1; a@1; ; ; "], &["1; a@1; ; ; ", "1; ; ; ; "]);
        // Other places, severities, codes, words and texts are other problems.
        check(
            &["1; a@1; ; ; ", "1; a@2 a@1! a@1#x b@1; ; ; ", "2; a@1; ; ; "],
            &["1; a@1; ; ; ", "1; a@2 a@1! a@1#x b@1; ; ; ", "2; a@1; ; ; "],
        );
        // Twice by one is two; by both, two as well.
        check(&["1; a@1 a@1; ; ; ", "1; a@1 a@1 a@1; ; ; "], &["1; a@1 a@1; ; ; ", "1; a@1; ; ; "]);
    }

    #[test]
    fn being_told_once_hides_nothing() {
        check(&["1; ; a@1; ; ", "1; a@1; ; ; "], &["1; ; ; ; ", "1; a@1; ; ; "]);
        check(&["1; ; ; a@1; ", "1; ; a@1; ; "], &["1; ; ; ; ", "1; ; a@1; ; "]);
        check(&["1; ; ; a@1; ", "1; a@1; ; ; "], &["1; ; ; ; ", "1; a@1; ; ; "]);
        check(&["1; a@1; a@1; ; ", "1; a@1; a@1; ; "], &["1; a@1; a@1; ; ", "1; ; ; ; "]);
    }

    #[test]
    fn what_went_away_is_counted_once() {
        check(&["1; ; ; ; a@1 b@2", "1; ; ; ; a@1 c@3"], &["1; ; ; ; a@1 b@2", "1; ; ; ; c@3"]);
    }
}
