//! Settings of the web: which machines may be talked to, and how.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tools that name the machines they talk to, as rules know them (a rule for `bash` holds for `monitor` too).
const TALKING: &[&str] = &["bash", "webfetch", "websearch"];

/// Of these, those that only fetch: what a list allows, it allows them.
const FETCHING: &[&str] = &["webfetch", "websearch"];

/// The web: `webfetch`, `websearch`, and which machines commands may talk to. A machine is `example.org` (itself alone),
/// `.example.org` or `*.example.org` (its sub-domains alone), or an address. What no list names is asked about.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WebSettings {
    /// Machines that are fetched from without asking.
    pub allow: Vec<String>,
    /// Machines that a person is asked about, whatever allows them.
    pub ask: Vec<String>,
    /// Machines that nothing talks to.
    pub deny: Vec<String>,
    /// Local machines that may be fetched from although they are none of the public internet, each with scheme and port:
    /// `http://localhost:8080`.
    pub local: Vec<String>,
    /// The proxy to go through, for instance `http://proxy.example.org:3128`; empty: none. What the environment says of
    /// proxies does not count.
    pub proxy: String,
    /// The search engine.
    pub search: WebSearchSettings,
}

/// The search engine of `websearch`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WebSearchSettings {
    /// Which one.
    pub engine: SearchEngine,
    /// Its key; empty: that of the environment (`EXA_API_KEY`, `BRAVE_API_KEY`). Counts where `engine` names one.
    pub key: String,
    /// Where it is, if not at its usual place: a URL. Counts where `engine` names one.
    pub url: String,
}

/// Which search engine is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SearchEngine {
    /// The first of Exa and Brave that the environment has a key for, or none.
    #[default]
    Auto,
    /// Exa. Needs a key.
    Exa,
    /// Brave. Needs a key.
    Brave,
    /// The page of `DuckDuckGo` for browsers without scripts. Needs no key.
    DuckDuckGo,
    /// None.
    Off,
}

impl WebSettings {
    /// These settings where nobody can tell the user's from a project's: it only adds machines that are asked about or not
    /// talked to.
    #[must_use]
    pub fn within(&self, user: &WebSettings) -> WebSettings {
        let both = |user: &[String], merged: &[String]| {
            let more = merged.iter().filter(|host| !user.contains(host));
            user.iter().chain(more).cloned().collect()
        };
        WebSettings { ask: both(&user.ask, &self.ask), deny: both(&user.deny, &self.deny), ..user.clone() }
    }

    /// What these lists allow, as rules.
    pub fn allow_rules(&self) -> Vec<String> {
        rules(FETCHING, &self.allow)
    }

    /// What is asked about, as rules.
    pub fn ask_rules(&self) -> Vec<String> {
        rules(TALKING, &self.ask)
    }

    /// What is denied, as rules.
    pub fn deny_rules(&self) -> Vec<String> {
        rules(TALKING, &self.deny)
    }
}

fn rules(tools: &[&str], hosts: &[String]) -> Vec<String> {
    let rule = |host: &String, tool: &&str| {
        let host = host.trim();
        format!("{tool}(host:{})", host.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(host))
    };
    hosts.iter().flat_map(|host| tools.iter().map(move |tool| rule(host, tool))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(hosts: &[&str]) -> Vec<String> {
        hosts.iter().map(|&host| host.to_owned()).collect()
    }

    #[test]
    fn a_project_only_tightens() {
        let user = WebSettings {
            allow: hosts(&["a.org"]),
            deny: hosts(&["b.org"]),
            local: hosts(&["http://localhost:1"]),
            proxy: "http://p.org".to_owned(),
            ..WebSettings::default()
        };
        let project = WebSettings {
            allow: hosts(&["*"]),
            ask: hosts(&["c.org"]),
            deny: hosts(&["d.org"]),
            local: hosts(&["http://169.254.169.254:80"]),
            proxy: "http://evil.org".to_owned(),
            search: WebSearchSettings { url: "http://evil.org".to_owned(), ..WebSearchSettings::default() },
        };
        let expected = WebSettings { ask: hosts(&["c.org"]), deny: hosts(&["b.org", "d.org"]), ..user.clone() };
        assert_eq!(project.within(&user), expected);
    }

    #[test]
    fn lists_become_rules() {
        let web =
            WebSettings { allow: hosts(&["a.org", "*.b.org"]), deny: hosts(&[".c.org "]), ..WebSettings::default() };
        let allowed =
            ["webfetch(host:a.org)", "websearch(host:a.org)", "webfetch(host:.b.org)", "websearch(host:.b.org)"];
        assert_eq!(web.allow_rules(), allowed);
        assert_eq!(web.deny_rules(), ["bash(host:.c.org)", "webfetch(host:.c.org)", "websearch(host:.c.org)"]);
        assert!(web.ask_rules().is_empty());
    }
}
