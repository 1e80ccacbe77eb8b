//! Lists in pages. Pure.
//!
//! A cursor is the name of the last thing on the page before, so that it stays good when the list changes in between.

use rmcp::model::ErrorData;

/// A page has at most so many things: more than there are of most lists, for clients that look at the first page only.
const PAGE: usize = 200;

/// So much of a cursor that leads nowhere is shown (bytes).
const SHOWN: usize = 80;

/// One page, and the cursor of the next. `name` names each thing, no two alike; the order is the list's own.
pub(super) fn page<T: Clone>(
    all: &[T],
    cursor: Option<&str>,
    name: impl Fn(&T) -> String,
) -> Result<(Vec<T>, Option<String>), ErrorData> {
    page_of(PAGE, all, cursor, name)
}

fn page_of<T: Clone>(
    size: usize,
    all: &[T],
    cursor: Option<&str>,
    name: impl Fn(&T) -> String,
) -> Result<(Vec<T>, Option<String>), ErrorData> {
    let from = match cursor {
        None => 0,
        Some(cursor) => {
            let Some(at) = all.iter().position(|one| name(one) == cursor) else {
                let shown = crate::permissions::visible(&cursor[..cursor.floor_char_boundary(SHOWN)]);
                let why =
                    format!("The cursor `{shown}` leads nowhere (any more); ask for the list from its beginning.");
                return Err(ErrorData::invalid_params(why, None));
            };
            at + 1
        }
    };
    let page: Vec<T> = all[from..].iter().take(size).cloned().collect();
    let next = (from + page.len() < all.len()).then(|| page.last().map(&name)).flatten();
    Ok((page, next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cursor_that_leads_nowhere_is_refused() {
        let refusal = page(&["a", "b"], Some("c"), |name| (*name).to_owned()).unwrap_err();
        assert_eq!(refusal.code.0, -32602);
        assert_eq!(page::<&str>(&[], None, |name| (*name).to_owned()).unwrap(), (vec![], None));
        assert_eq!(page(&["a"], Some("a"), |name| (*name).to_owned()).unwrap(), (vec![], None));
    }

    proptest! {
        #[test]
        fn all_pages_together_are_the_list(count in 0usize..40, size in 1usize..7) {
            let all: Vec<usize> = (0..count).collect();
            let (mut seen, mut cursor) = (Vec::new(), None);
            loop {
                let (page, next) = page_of(size, &all, cursor.as_deref(), usize::to_string).unwrap();
                prop_assert!(page.len() <= size);
                seen.extend(page);
                match next {
                    Some(next) => cursor = Some(next),
                    None => break,
                }
            }
            prop_assert_eq!(seen, all);
        }
    }
}
