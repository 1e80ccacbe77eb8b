//! The faults of one text: where its tree has ERROR and MISSING nodes, and what stands there.

use std::fmt::Write as _;
use std::ops::Range;

use tree_sitter::{Node, Tree, TreeCursor};

use super::words::{Half, expected, half, quoted};
use super::{Fault, FaultKind, Language};

/// At most so many faults of a text are looked at; a text with more is hardly in this language.
pub(super) const FAULT_LIMIT: usize = 1_000;

/// A fault and what is around it.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) fault: Fault,
    /// The stretch of text the parser gave up on, in bytes.
    pub(super) region: Range<usize>,
    /// The byte of the opening bracket that has no partner, if that is the fault, whether the parser says that it is too
    /// much or that its partner is missing (which can be anywhere behind it).
    pub(super) opener: Option<usize>,
    /// What kind of bracket it is, if it is one without its partner.
    half: Option<Half>,
}

impl Found {
    /// Whether it is likely to be there only because of the other, which comes before it: an opening bracket that is not
    /// closed, so that the parser took what stands behind it for something else.
    pub(super) fn follows(&self, other: &Found) -> bool {
        let start = self.fault.bytes.start;
        self.opener.is_none()
            && self.half.is_none()
            && matches!(other.half, Some(Half::Opens(_)))
            && other.fault.bytes.start < start
            && start <= other.region.end
    }
}

/// The faults of a text in the order of their places.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) found: Vec<Found>,
    /// Whether there are more than [`FAULT_LIMIT`].
    pub(super) more: bool,
}

/// Walks the tree, of which a cursor keeps the path on the heap; only what has faults below is entered.
pub(super) fn collect(language: Language, tree: &Tree, text: &str) -> Collected {
    let mut faults = Collected::default();
    let mut cursor = tree.walk();
    // For each node on the path: the opening brackets among its children so far that have no partner yet.
    let mut open: Vec<Vec<Node<'_>>> = vec![Vec::new()];
    loop {
        let node = cursor.node();
        let siblings = open.last_mut();
        if node.is_missing() {
            let opener = siblings.and_then(Vec::pop);
            faults.found.push(missing(language, node, opener, text));
        } else if node.is_error() {
            broken(language, node, text, &mut faults.found);
        } else if let Some(open) = siblings {
            match half(language, node, text) {
                Some(Half::Opens(_)) => open.push(node),
                Some(Half::Closes(_)) => drop(open.pop()),
                None => {}
            }
        }
        if faults.found.len() > FAULT_LIMIT {
            faults.more = true;
            faults.found.truncate(FAULT_LIMIT);
            break;
        }
        if node.has_error() && cursor.goto_first_child() {
            open.push(Vec::new());
        } else if !onwards(&mut cursor, &mut open) {
            break;
        }
    }
    faults.found.sort_by_key(|found| (found.fault.bytes.start, found.fault.bytes.end, found.fault.kind));
    reunite(&mut faults.found);
    faults
}

/// To the next node that is not below this one; false at the end.
fn onwards(cursor: &mut TreeCursor<'_>, open: &mut Vec<Vec<Node<'_>>>) -> bool {
    while !cursor.goto_next_sibling() {
        if !cursor.goto_parent() {
            return false;
        }
        open.pop();
    }
    true
}

fn missing(language: Language, node: Node<'_>, opener: Option<Node<'_>>, text: &str) -> Found {
    let mut message = format!("missing {}", expected(language, node.kind()));
    let opener = opener.filter(|_| matches!(half(language, node, text), Some(Half::Closes(_))));
    // Where the partner stands says more than where the text went wrong for good.
    if let Some(opener) = opener {
        let line = opener.start_position().row + 1;
        if line != node.start_position().row + 1 {
            let _ = write!(message, " for the {} of line {line}", quoted(&text[opener.byte_range()]));
        }
    }
    let bytes = node.start_byte()..node.start_byte();
    let opener = opener.map(|opener| opener.start_byte());
    Found { region: bytes.clone(), opener, fault: Fault { bytes, message, kind: FaultKind::Missing }, half: None }
}

/// The faults of an ERROR node: each bracket among its children that has no partner; without one, the whole of it.
fn broken(language: Language, node: Node<'_>, text: &str, found: &mut Vec<Found>) {
    let region = node.byte_range();
    let mut fault = |bytes: Range<usize>, message: String, half: Option<Half>| {
        let opener = matches!(half, Some(Half::Opens(_))).then_some(bytes.start);
        let fault = Fault { bytes, message, kind: FaultKind::Error };
        found.push(Found { fault, region: region.clone(), opener, half });
    };
    let mut open: Vec<(Half, Range<usize>)> = Vec::new();
    let mut alone: Vec<(Half, Range<usize>)> = Vec::new();
    let (mut children, mut deeper) = (0, false);
    let mut cursor = node.walk();
    let mut more = cursor.goto_first_child();
    while more {
        let child = cursor.node();
        children += 1;
        deeper |= child.has_error() || child.is_error() || child.is_missing();
        let bytes = child.byte_range();
        match half(language, child, text) {
            // A quote that is open already is closed by the next one like it.
            Some(Half::Opens(kind)) if kind.is_quote() && open.iter().any(|(half, _)| *half == Half::Opens(kind)) => {
                let at = open.iter().rposition(|(half, _)| *half == Half::Opens(kind)).unwrap_or_default();
                open.truncate(at);
            }
            Some(opens @ Half::Opens(_)) => open.push((opens, bytes)),
            Some(closes @ Half::Closes(kind)) => match open.iter().rposition(|(half, _)| *half == Half::Opens(kind)) {
                Some(at) => alone.extend(open.drain(at..).skip(1)),
                None => alone.push((closes, bytes)),
            },
            None => {}
        }
        more = cursor.goto_next_sibling();
    }
    alone.append(&mut open);
    if alone.is_empty() {
        // What is wrong is told by the faults inside, if there are any.
        if !deeper {
            let verb = if children <= 1 { "unexpected" } else { "invalid syntax:" };
            fault(region.clone(), format!("{verb} {}", quoted(&text[region.clone()])), None);
        }
        return;
    }
    for (half, bytes) in alone.into_iter().take(FAULT_LIMIT + 1) {
        let verb = if matches!(half, Half::Opens(_)) { "unclosed" } else { "unexpected" };
        let message = format!("{verb} {}", quoted(&text[bytes.clone()]));
        fault(bytes, message, Some(half));
    }
}

/// Takes out the pairs of an unclosed bracket and an unexpected one that would close it: recovering from what stands
/// between them the parser lost sight of the one, so that only that is worth telling. If nothing is told between them,
/// the closing one stays, since it is where the parser gave up.
fn reunite(found: &mut Vec<Found>) {
    let mut open: Vec<usize> = Vec::new();
    let mut drop = vec![false; found.len()];
    for index in 0..found.len() {
        match found[index].half {
            Some(Half::Opens(kind)) if !kind.is_quote() => open.push(index),
            Some(Half::Closes(kind)) => {
                let partner = open.iter().rposition(|&at| found[at].half == Some(Half::Opens(kind)));
                if let Some(at) = partner {
                    let opener = open[at];
                    open.truncate(at);
                    drop[opener] = true;
                    drop[index] = opener + 1 < index;
                }
            }
            _ => {}
        }
    }
    let mut keep = drop.iter().map(|drop| !drop);
    found.retain(|_| keep.next().unwrap_or(true));
}
