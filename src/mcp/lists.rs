//! Lists of a server that come page by page: bounded, and never going round in circles.

use std::collections::BTreeSet;
use std::future::Future;

use serde_json::Value;

/// A list has at most so many pages.
const MOST_PAGES: usize = 100;

/// A list has at most so many bytes, as JSON.
const MOST_BYTES: usize = 32 << 20;

/// What a page calls the next one by is at most so long (bytes).
const LONGEST_CURSOR: usize = 16 << 10;

/// A list, as far as it was taken.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct List {
    /// Its items, each as the server has it.
    pub items: Vec<Value>,
    /// Why there are no more of them, if there may be.
    pub cut: Option<String>,
}

/// All items of a list: `page` fetches the one at a cursor, and `key` is where its items are. An error on a page behind
/// the first costs only what is behind it.
pub(super) async fn all<E, F>(key: &str, most: usize, mut page: impl FnMut(Option<String>) -> F) -> Result<List, E>
where
    E: std::fmt::Display,
    F: Future<Output = Result<Value, E>>,
{
    let (mut list, mut cursor, mut seen) = (List::default(), None, BTreeSet::new());
    let mut bytes = 0;
    for number in 0..MOST_PAGES {
        let mut answer = match page(cursor.take()).await {
            Ok(answer) => answer,
            Err(error) if number == 0 => return Err(error),
            Err(error) => {
                list.cut = Some(format!("page {} failed: {error}", number + 1));
                return Ok(list);
            }
        };
        let Some(Value::Array(items)) = answer.get_mut(key).map(Value::take) else {
            list.cut = Some(format!("page {} has no `{key}`", number + 1));
            return Ok(list);
        };
        bytes += serde_json::to_vec(&items).map_or(usize::MAX / 2, |json| json.len());
        if bytes > MOST_BYTES {
            list.cut = Some(format!("they are longer than {MOST_BYTES} bytes together"));
            return Ok(list);
        }
        list.items.extend(items);
        if list.items.len() > most {
            list.items.truncate(most);
            list.cut = Some(format!("there are more than {most}"));
            return Ok(list);
        }
        let Some(next) = answer["nextCursor"].as_str().filter(|next| !next.is_empty()) else { return Ok(list) };
        if next.len() > LONGEST_CURSOR {
            list.cut = Some(format!("page {} calls the next one by more than {LONGEST_CURSOR} bytes", number + 1));
            return Ok(list);
        }
        if !seen.insert(next.to_owned()) {
            list.cut = Some("its pages go round in a circle".to_owned());
            return Ok(list);
        }
        cursor = Some(next.to_owned());
    }
    list.cut = Some(format!("there are more than {MOST_PAGES} pages"));
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    async fn fetched(pages: &[Result<Value, &str>]) -> Result<(usize, Option<String>), String> {
        let mut pages = pages.iter();
        let list = all("tools", 5, |_| {
            let page = pages.next().cloned().unwrap_or_else(|| Ok(json!({ "tools": [], "nextCursor": "again" })));
            async move { page.map_err(str::to_owned) }
        })
        .await?;
        Ok((list.items.len(), list.cut))
    }

    #[tokio::test]
    async fn pages_are_bounded() {
        let page = |count: usize, next: &str| Ok(json!({ "tools": vec![1; count], "nextCursor": next }));
        let cut = |words: &str| Some(words.to_owned());
        for (pages, got) in [
            (vec![Ok(json!({ "tools": [1] }))], Ok((1, None))),
            (vec![page(2, "a"), page(1, "")], Ok((3, None))),
            (vec![page(2, "a"), page(4, "b")], Ok((5, cut("there are more than 5")))),
            (vec![page(1, "a"), page(1, "a")], Ok((2, cut("its pages go round in a circle")))),
            (vec![page(1, &"c".repeat(16 << 10)), page(1, "")], Ok((2, None))),
            (
                vec![page(1, &"c".repeat((16 << 10) + 1))],
                Ok((1, cut("page 1 calls the next one by more than 16384 bytes"))),
            ),
            (vec![page(1, "a"), Err("broken")], Ok((1, cut("page 2 failed: broken")))),
            (vec![Err("broken")], Err("broken".to_owned())),
            (vec![Ok(json!({}))], Ok((0, cut("page 1 has no `tools`")))),
        ] {
            assert_eq!(fetched(&pages).await, got, "{pages:?}");
        }
        let large = |next: &str| Ok(json!({ "tools": ["x".repeat(MOST_BYTES / 2)], "nextCursor": next }));
        let got = fetched(&[large("a"), large("b"), large("c")]).await;
        assert_eq!(got, Ok((1, cut("they are longer than 33554432 bytes together"))));
        let mut number = 0;
        let endless = all::<String, _>("tools", 5, |_| {
            number += 1;
            std::future::ready(Ok(json!({ "tools": [], "nextCursor": number.to_string() })))
        });
        assert_eq!(endless.await.unwrap().cut, cut("there are more than 100 pages"));
    }
}
