//! What is said when an output is not there: which ones are. Pure.

use std::fmt::Write as _;

use super::Kept;

/// So many of those that are kept are named, the newest.
const NAMED: usize = 20;

/// A name that was asked for is repeated up to so many bytes.
const ASKED: usize = 100;

/// Words for a model that asked for an output that is not kept. `all`: what is, in the order in which it was made.
pub fn unknown(asked: &str, all: &[Kept]) -> String {
    let asked = &asked[..asked.floor_char_boundary(ASKED)];
    let mut out = format!(
        "No output is kept under the name {asked:?}: there never was one in this session, or newer ones took its place. "
    );
    if all.is_empty() {
        out.push_str("None is kept at all. Run the tool again to get its output.");
        return out;
    }
    out.push_str("Run the tool again, or ask for one of these:");
    let hidden = all.len().saturating_sub(NAMED);
    for kept in all.iter().skip(hidden).rev() {
        let call = &kept.call_id[..kept.call_id.floor_char_boundary(ASKED)];
        let _ = write!(out, "\n{} (call {call}, {}, {} bytes)", kept.id, kept.tool, kept.bytes);
    }
    if hidden > 0 {
        let _ = write!(out, "\nand {hidden} older ones");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn kept(number: usize) -> Kept {
        Kept {
            id: format!("o{number}"),
            call_id: format!("c{number}"),
            tool: "read".into(),
            bytes: number * 10,
            external: None,
            kind: None,
        }
    }

    #[test]
    fn the_newest_are_named() {
        let all: Vec<Kept> = (1..=22).map(kept).collect();
        let told = unknown("o99", &all[..2]);
        expect![[r#"
            No output is kept under the name "o99": there never was one in this session, or newer ones took its place. Run the tool again, or ask for one of these:
            o2 (call c2, read, 20 bytes)
            o1 (call c1, read, 10 bytes)"#]]
        .assert_eq(&told);
        let told = unknown(&"x".repeat(5000), &all);
        assert!(told.ends_with("\no3 (call c3, read, 30 bytes)\nand 2 older ones") && told.len() < 1200, "{told}");
        assert!(unknown("o1", &[]).ends_with("Run the tool again to get its output."));
    }
}
