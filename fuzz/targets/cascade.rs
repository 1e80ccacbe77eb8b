//! The cascade: what it finds is where it says, and nothing else is touched.

use super::parts::texts;
use ropewalk::replace::{Found, MissKind, Request, STRATEGIES, find, find_in};
use ropewalk::text::{BOM, LineBreaks, Text};

/// The first byte is odd where every place is meant. Then the text, what to look for, and what takes its place.
pub fn cascade(data: &[u8]) {
    let Some((&how, data)) = data.split_first() else { return };
    let [before, old, new] = texts::<3>(data);
    let request = Request { old: &old, new: &new, all: how & 1 == 1 };
    let result = find(&before, &request);
    let rope = Text::new(&before, LineBreaks::Lf);
    assert_eq!(find_in(&rope, &request), result, "a rope gives the same as its text");
    let body = before.strip_prefix(BOM).unwrap_or(&before);
    match &result {
        Ok(found) => sound(&before, &request, found),
        Err(miss) => {
            assert!(!miss.explanation.is_empty());
            let count = body.split('\n').count();
            assert!(miss.lines.iter().all(|line| (1..=count).contains(line)), "{:?} of {count}", miss.lines);
        }
    }
    if !plain(body) || !plain(&old) || !plain(&new) || old.trim().is_empty() || old == new {
        return;
    }
    let after = |found: &Found| rope.spliced(&found.splices).to_string();
    let places = (0..body.len()).filter(|at| body.is_char_boundary(*at) && body[*at..].starts_with(&*old)).count();
    match (&result, places) {
        (Err(miss), _) if miss.kind == MissKind::Elision => {}
        (_, 0) => {}
        (Ok(found), _) if request.all => {
            assert_eq!(found.strategy, "simple");
            let mark = &before[..before.len() - body.len()];
            assert_eq!(after(found), format!("{mark}{}", body.replace(&*old, &new)));
        }
        (Ok(found), 1) => {
            assert_eq!((found.strategy, after(found)), ("simple", before.replacen(&*old, &new, 1)));
        }
        (Ok(found), _) => panic!("{places} places are not one: {found:?}"),
        (Err(miss), _) => {
            assert!(!request.all && places > 1, "{places} exact places: {miss:?}");
            assert_eq!(miss.kind, MissKind::Ambiguous);
        }
    }
}

/// Texts of which equal bytes are equal lines: no CR, and no mark at the beginning.
fn plain(text: &str) -> bool {
    !text.contains('\r') && !text.contains(BOM)
}

fn sound(before: &str, request: &Request<'_>, found: &Found) {
    let mut end = if before.starts_with(BOM) { BOM.len_utf8() } else { 0 };
    assert!(!found.splices.is_empty() && (request.all || found.splices.len() == 1), "{found:?}");
    for splice in &found.splices {
        assert!(splice.range.start >= end && splice.range.start <= splice.range.end, "{found:?}");
        let there = before.get(splice.range.clone()).expect("a place is in the text, on characters");
        assert_ne!(there, splice.text, "what stays is no change");
        if found.strategy == STRATEGIES[0].name {
            let (there, old) = (there.replace('\r', ""), request.old.replace('\r', ""));
            assert_eq!(there, old, "an exact place is what was looked for");
        }
        end = splice.range.end;
    }
    assert!((0.0..=1.0).contains(&found.similarity), "{found:?}");
    assert!(STRATEGIES.iter().any(|strategy| strategy.name == found.strategy && (strategy.all || !request.all)));
}
