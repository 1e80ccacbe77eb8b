//! What a model gets to see of a page: its text, as Markdown or plain. Pure, and takes its time: not for the runtime's
//! threads.
//!
//! A page is never made into a tree as it comes, since a few megabytes of tags that are not closed make one that no stack
//! and no time is enough for. Its tags are looked at one after the other, in one pass; what comes of that is either the
//! plain text, or a page of our own, small in its kinds of elements and bounded in depth, which a library makes Markdown of.

pub mod feed;
mod markdown;
mod outline;

use std::sync::atomic::AtomicBool;

use url::Url;

use outline::Outline;

/// How a page is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As Markdown.
    Markdown,
    /// As plain text.
    Text,
}

/// A page as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// Its title; empty: it has none.
    pub title: String,
    /// Its text.
    pub text: String,
    /// Whether it was too large to be shown whole.
    pub cut: bool,
}

/// Shows a page. `base`: where it is. Ends early once `stop` is set.
pub fn shown(html: &str, base: &Url, form: Form, stop: &AtomicBool) -> Page {
    let mut page = walked(html, base, form, false, stop);
    if page.text.is_empty() {
        // All of it may be what pages have beside their text.
        page = walked(html, base, form, true, stop);
    }
    page
}

fn walked(html: &str, base: &Url, form: Form, whole: bool, stop: &AtomicBool) -> Page {
    let (outline, cut) = feed::fed(html, Outline::new(base, form, whole), stop);
    let (title, text) = outline.finished();
    let text = match form {
        Form::Markdown => markdown::made(&text),
        Form::Text => text,
    };
    Page { title, text: lines(&text), cut }
}

/// Without white space at the ends of lines, and without more than one empty line in a row.
fn lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.lines() {
        let line = line.trim_end();
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty < 2 && !(line.is_empty() && out.is_empty()) {
            out.push_str(line);
            out.push('\n');
        }
    }
    out.truncate(out.trim_end().len());
    out
}

#[cfg(test)]
mod tests;
