//! A page's tags, one after the other, whatever somebody has written into it to make that last. Pure.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use html5ever::Attribute;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, TokenSink, Tokenizer, TokenizerOpts};

/// So many bytes are looked at before it is seen whether that leads anywhere.
const PIECE: usize = 16 * 1024;

/// One tag, comment or word of a page has at most so many bytes, without its `data:` URLs.
const LONGEST_TOKEN: usize = 192 * 1024;

/// A `data:` URL of more bytes is left out.
const LONGEST_DATA: usize = 1024;

/// What it may cost to look for attributes that are there twice: the sum of the squares of their numbers.
const MOST_WORK: usize = 100_000_000;

/// What takes a page's tags.
pub trait Tags: TokenSink<Handle = ()> {
    /// How many tokens came, and what their attributes cost: see [`work`].
    fn seen(&self) -> (usize, usize);

    /// Whether nothing more is taken.
    fn full(&self) -> bool {
        false
    }
}

/// What looking at the attributes of one tag costs.
pub fn work(attributes: &[Attribute]) -> usize {
    attributes.len() * attributes.len()
}

/// Hands a page's tags over; and whether that was not all of it. Ends early once `stop` is set.
pub fn fed<S: Tags>(html: &str, sink: S, stop: &AtomicBool) -> (S, bool) {
    let html = without_data(html);
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let input = BufferQueue::default();
    let (mut rest, mut waited, mut tokens) = (&*html, 0, 0);
    while !rest.is_empty() {
        let (now, work) = tokenizer.sink.seen();
        if now != tokens {
            (waited, tokens) = (0, now);
        }
        if waited > LONGEST_TOKEN || work > MOST_WORK || tokenizer.sink.full() || stop.load(Ordering::Relaxed) {
            return (tokenizer.sink, true);
        }
        let (piece, behind) = rest.split_at(rest.floor_char_boundary(PIECE.min(rest.len())));
        (rest, waited) = (behind, waited + piece.len());
        input.push_back(StrTendril::from(piece));
        // Scripts stop it, which are nothing to us.
        while !input.is_empty() {
            let _ = tokenizer.feed(&input);
        }
    }
    tokenizer.end();
    let full = tokenizer.sink.full();
    (tokenizer.sink, full)
}

/// Without pictures and fonts that are written into the page.
fn without_data(html: &str) -> Cow<'_, str> {
    let mut out: Option<String> = None;
    let mut copied = 0;
    for (at, word) in html.match_indices("data:") {
        if at < copied {
            continue;
        }
        let from = at + word.len();
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '>' | '<' | ')');
        let end = html[from..].find(ends).map_or(html.len(), |found| from + found);
        if end - from > LONGEST_DATA {
            let out = out.get_or_insert_default();
            out.push_str(&html[copied..from]);
            copied = end;
        }
    }
    match out {
        None => Cow::Borrowed(html),
        Some(mut out) => {
            out.push_str(&html[copied..]);
            Cow::Owned(out)
        }
    }
}
