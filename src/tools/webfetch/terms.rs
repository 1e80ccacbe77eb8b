//! How the settings let the web be reached, and who says whether a redirect is followed.

use std::time::Duration;

use async_trait::async_trait;
use url::Url;

use crate::config::WebSettings;
use crate::permissions::{By, DecisionKind};
use crate::tool::{Context, ErrorKind, ToolError};
use crate::web::{Guide, Halt, Origin, Request, Terms, Trouble, TroubleKind};

use super::reached;

/// A machine that says nothing for so long is given up.
const SILENCE: Duration = Duration::from_secs(15);

/// The local machines that the user has named.
pub(in crate::tools) fn local(web: &WebSettings) -> Vec<Origin> {
    web.local.iter().filter_map(|text| Origin::read(text)).collect()
}

/// How a fetch is done.
pub(in crate::tools) fn terms(web: &WebSettings, max_bytes: usize, whole: Duration) -> Result<Terms, ToolError> {
    let proxy = match web.proxy.trim() {
        "" => None,
        text => Some(proxy(text).ok_or_else(|| {
            let words = "The setting `web.proxy` is no URL of a proxy (like \"http://proxy.example.org:3128\"), so that \
                         nothing is fetched. The user has to mend it.";
            ToolError::new(ErrorKind::Unavailable, words)
        })?),
    };
    Ok(Terms { local: local(web), proxy, max_bytes, whole, silence: SILENCE.min(whole) })
}

fn proxy(text: &str) -> Option<Url> {
    Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// Asks the rules about redirects.
pub(in crate::tools) struct Asking<'a> {
    /// Of the call.
    pub(in crate::tools) context: &'a Context,
    /// The tool.
    pub(in crate::tools) tool: &'static str,
}

#[async_trait]
impl Guide for Asking<'_> {
    async fn passes(&self, next: &Request, same_site: bool) -> Result<(), Halt> {
        let access = reached(next.method, &next.target);
        // Who cannot be asked allows nothing.
        let Ok(judged) = self.context.slot.judge(self.tool, access).await else { return Err(Halt::Ask) };
        match judged.decision {
            DecisionKind::Allow => Ok(()),
            // The person was asked about this site, and nothing says that its other name is to be asked about.
            DecisionKind::Ask if same_site && judged.by == By::Default && next.method.reads() => Ok(()),
            DecisionKind::Ask => Err(Halt::Ask),
            DecisionKind::Deny => Err(Halt::Deny(judged.reason)),
        }
    }
}

/// Trouble, for the model.
pub(in crate::tools) fn failed(trouble: Trouble) -> ToolError {
    let Trouble { kind, words } = trouble;
    match kind {
        TroubleKind::Refused => ToolError::new(ErrorKind::Denied, words),
        TroubleKind::Unreachable => ToolError::transient(words),
        TroubleKind::Slow => ToolError::new(ErrorKind::Timeout, words),
        TroubleKind::Broken => ToolError::new(ErrorKind::Failed, words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_terms() {
        let web = WebSettings {
            local: ["http://localhost:8080/x", "nonsense", "ftp://a.corp"].map(str::to_owned).to_vec(),
            proxy: " http://proxy.corp:3128 ".to_owned(),
            ..WebSettings::default()
        };
        let made = terms(&web, 10, Duration::from_secs(1)).unwrap();
        assert_eq!(made.local, [Origin { scheme: "http".to_owned(), host: "localhost".to_owned(), port: 8080 }]);
        assert_eq!(made.proxy.unwrap().as_str(), "http://proxy.corp:3128/");
        assert_eq!(made.silence, Duration::from_secs(1));
        for broken in ["proxy.corp:3128", "socks5://a", "x"] {
            let web = WebSettings { proxy: broken.to_owned(), ..WebSettings::default() };
            assert!(terms(&web, 10, Duration::from_secs(1)).is_err(), "{broken}");
        }
    }
}
