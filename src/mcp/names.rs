//! What the tools of servers are called: `mcp__server__tool`, of characters that every API takes, no two alike. Pure.

use std::collections::BTreeSet;

/// What every name begins with.
pub(super) const PREFIX: &str = "mcp__";

/// A name is at most so long (bytes).
const LONGEST: usize = 64;

/// The part of the server is at most so long (bytes).
const SERVER: usize = 40;

/// So many hex digits tell names apart that would be alike.
const DIGITS: usize = 8;

/// The name of a tool of a server. Two different pairs have two different names (as far as SHA-256 goes): a pair whose
/// names can be taken as they are is told by them, any other by a suffix that follows from both.
///
/// The part of the server follows from its name alone, and no two servers share one: rules speak of all tools of a server
/// by it.
pub(super) fn of(server: &str, tool: &str) -> String {
    let part = part_of(server);
    let room = LONGEST - PREFIX.len() - part.len() - 2;
    // With an underscore at its beginning it could not be told where the server's name ends.
    if proper(tool) && !tool.starts_with('_') && !suffixed(tool) && tool.len() <= room {
        return format!("{PREFIX}{part}__{tool}");
    }
    let digest = crate::text::hash(&format!("{}:{server}{tool}", server.len()));
    let tool = shortened(&simple(tool), room - 1 - DIGITS);
    format!("{PREFIX}{part}__{tool}_{}", &digest[..DIGITS])
}

/// The part of a server in the names of its tools.
fn part_of(server: &str) -> String {
    let clear = !server.contains("__") && !server.ends_with('_');
    if proper(server) && clear && !suffixed(server) && server.len() <= SERVER {
        return server.to_owned();
    }
    let digest = crate::text::hash(server);
    format!("{}_{}", shortened(&simple(server), SERVER - 1 - DIGITS), &digest[..DIGITS])
}

/// The names of several tools of one server, in their order; `None` for one that would be another's.
pub(super) fn of_all<'a>(server: &str, tools: impl IntoIterator<Item = &'a str>) -> Vec<Option<String>> {
    let mut taken = BTreeSet::new();
    tools
        .into_iter()
        .map(|tool| {
            let name = of(server, tool);
            taken.insert(name.clone()).then_some(name)
        })
        .collect()
}

/// Whether a call may mean a tool of a server, however it is spelled.
pub fn meant(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    name.starts_with("mcp_") || name.starts_with("mcp-") || name == "mcp"
}

fn proper(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Whether a name ends as those do that were told apart: then it is told apart as well.
fn suffixed(name: &str) -> bool {
    name.rsplit_once('_').is_some_and(|(_, end)| {
        end.len() == DIGITS && end.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// A name of the characters that every API takes, without runs of `_` or any at its edges; never empty.
fn simple(name: &str) -> String {
    let mut out = String::new();
    for character in name.chars() {
        let kept = if character.is_ascii_alphanumeric() || character == '-' { character } else { '_' };
        if kept != '_' || !out.ends_with('_') {
            out.push(kept);
        }
    }
    let out = out.trim_matches('_');
    if out.is_empty() { "x".to_owned() } else { out.to_owned() }
}

fn shortened(name: &str, most: usize) -> String {
    name.chars().take(most).collect::<String>().trim_end_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use proptest::prelude::*;

    #[test]
    fn names() {
        let named = [
            ("everything", "echo"),
            ("every-thing", "get_Sum"),
            ("my server", "echo"),
            ("my_server", "echo"),
            ("a", "b__c"),
            ("a__b", "c"),
            ("a_", "b"),
            ("a", "_b"),
            ("größe", "längen messen"),
            ("s", "do.it/now"),
            ("a-server-with-a-very-long-name-indeed", "and-a-tool-with-a-name-that-is-longer-still"),
            ("", ""),
            ("s", "t_0123abcd"),
            ("my_server_e6c0f66d", "echo"),
            ("my.server", "_echo"),
        ]
        .map(|(server, tool)| of(server, tool));
        expect![[r"
            mcp__everything__echo
            mcp__every-thing__get_Sum
            mcp__my_server_b129874b__echo
            mcp__my_server__echo
            mcp__a__b__c
            mcp__a_b_63e5c1c4__c
            mcp__a_571fb0e3__b
            mcp__a__b_5755fcc4
            mcp__gr_e_d353a267__l_ngen_messen_49a0464c
            mcp__s__do_it_now_9599eeff
            mcp__a-server-with-a-very-long-name-indeed__and-a-tool-_f928aa70
            mcp__x_e3b0c442__x_ba768b33
            mcp__s__t_0123abcd_9c303af6
            mcp__my_server_e6c0f66d_a5edf108__echo
            mcp__my_server_9661c51a__echo_31326cfb
        "]]
        .assert_eq(&(named.join("\n") + "\n"));
    }

    #[test]
    fn of_one_server_none_is_given_twice() {
        let names = of_all("s", ["a", "b", "a"]);
        assert_eq!(names, [Some("mcp__s__a".to_owned()), Some("mcp__s__b".to_owned()), None]);
    }

    #[test]
    fn what_may_mean_one() {
        for (name, may) in [("mcp__a__b", true), ("MCP-a-b", true), ("mcp", true), ("mcpx", false), ("read", false)] {
            assert_eq!(meant(name), may, "{name}");
        }
    }

    /// `mcp__server` in a rule means every tool whose name goes on with `__`.
    #[test]
    fn no_server_is_in_what_a_rule_says_of_another() {
        let servers = ["a_b", "a b", "a.b", "a__b", "a_b_", "a_b\u{200b}", "a", "a_", "a\u{e9}b", ""];
        for one in servers {
            let rule = format!("{PREFIX}{}__", part_of(one));
            for other in servers.iter().filter(|other| **other != one) {
                for tool in ["t", "_t", "b__t", "t t", ""] {
                    let name = of(other, tool);
                    assert!(!name.starts_with(&rule), "{rule} {name}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn every_name_is_taken_everywhere(server in "\\PC{0,40}", tool in "\\PC{0,80}") {
            let name = of(&server, &tool);
            prop_assert!(name.len() <= LONGEST && proper(&name), "{name}");
            prop_assert_eq!(of(&server, &tool), name);
        }

        #[test]
        fn two_pairs_have_two_names(
            one in ("[ab_. -]{0,4}", "[ab_. -]{0,4}"), other in ("[ab_. -]{0,4}", "[ab_. -]{0,4}"),
        ) {
            prop_assume!(one != other);
            prop_assert_ne!(of(&one.0, &one.1), of(&other.0, &other.1));
        }
    }
}
