//! A second reader: another grammar reads the same text, and must find no command that the parser did not.

use tree_sitter::Node;

use super::parse::Read;
use crate::syntax::{Language, tree};

/// Why a text is not clear: the other grammar does not understand it, or finds commands in it at other places.
pub(in crate::permissions::shell) fn differs(text: &str, read: &Read) -> Option<String> {
    let tree = match tree(Language::Bash, text) {
        Ok(tree) => tree,
        Err(why) => return Some(why),
    };
    if tree.root_node().has_error() {
        return Some("it does not follow the shell's grammar".to_owned());
    }
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.kind() == "command_name" && !known(node, text, read) {
            let name = text.get(node.byte_range()).unwrap_or_default();
            let name: String = name.chars().take(40).collect();
            return Some(format!("it can be read in two ways (`{}` may be a command)", name.escape_debug()));
        }
        if cursor.goto_first_child() {
            continue;
        }
        loop {
            if cursor.goto_next_sibling() {
                break;
            }
            if !cursor.goto_parent() {
                return None;
            }
        }
    }
}

fn known(node: Node<'_>, text: &str, read: &Read) -> bool {
    let at = node.start_byte();
    // It takes these for programs.
    let name = text.get(node.byte_range()).unwrap_or_default();
    read.starts.contains(&at)
        || read.apart.iter().any(|region| region.contains(&at))
        || matches!(name, "time" | "coproc" | "-p" | "select" | "}")
}
