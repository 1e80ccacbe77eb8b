//! From a page of our own making to Markdown. Pure.

use htmd::element_handler::{HandlerResult, Handlers};
use htmd::options::{BulletListMarker, Options};
use htmd::{Element, HtmlToMarkdown, Node};

/// The Markdown of a page that [`super::outline`] made; nothing where it cannot be made.
pub(super) fn made(html: &str) -> String {
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    let converter = HtmlToMarkdown::builder()
        .options(options)
        .add_handler(vec!["table"], table)
        .add_handler(vec!["tbody", "thead"], inside)
        .add_handler(vec!["tr"], row)
        .add_handler(vec!["td", "th"], cell)
        .build();
    converter.convert(html).unwrap_or_default()
}

// Tables are ours: a library that makes all columns equally wide makes gigabytes of a few long cells.

#[expect(clippy::needless_pass_by_value, reason = "the library hands it over")]
#[expect(clippy::unnecessary_wraps, reason = "the library wants it so")]
fn table(handlers: &dyn Handlers, element: Element<'_>) -> Option<HandlerResult> {
    let rows = handlers.walk_children(element.node).content;
    Some(format!("\n\n{}\n\n", rows.trim_matches('\n')).into())
}

#[expect(clippy::needless_pass_by_value, reason = "the library hands it over")]
#[expect(clippy::unnecessary_wraps, reason = "the library wants it so")]
fn inside(handlers: &dyn Handlers, element: Element<'_>) -> Option<HandlerResult> {
    Some(handlers.walk_children(element.node))
}

#[expect(clippy::needless_pass_by_value, reason = "the library hands it over")]
fn row(handlers: &dyn Handlers, element: Element<'_>) -> Option<HandlerResult> {
    let cells = cells(element.node);
    if cells == 0 {
        return None;
    }
    let content = handlers.walk_children(element.node).content;
    let first = element.attrs.iter().any(|attribute| &*attribute.name.local == "class");
    let rule = if first { format!("|{}\n", " --- |".repeat(cells)) } else { String::new() };
    Some(format!("| {}\n{rule}", content.trim()).into())
}

#[expect(clippy::needless_pass_by_value, reason = "the library hands it over")]
#[expect(clippy::unnecessary_wraps, reason = "the library wants it so")]
fn cell(handlers: &dyn Handlers, element: Element<'_>) -> Option<HandlerResult> {
    let content = handlers.walk_children(element.node).content;
    let words: Vec<&str> = content.split_whitespace().collect();
    Some(format!("{} | ", words.join(" ").replace('|', "\\|")).into())
}

fn cells(row: &Node) -> usize {
    let cell = |node: &&std::rc::Rc<Node>| match &node.data {
        markup5ever_rcdom::NodeData::Element { name, .. } => matches!(&*name.local, "td" | "th"),
        _ => false,
    };
    row.children.borrow().iter().filter(cell).count()
}
