//! The search engines: which one is asked, how, and what its answers mean. Pure.

use std::sync::atomic::AtomicBool;

use serde::Serialize;
use serde_json::{Value, json};
use url::Url;

use crate::config::{SearchEngine, WebSearchSettings};
use crate::tool::{ErrorKind, ToolError};
use crate::web::page::{self, Form};
use crate::web::{Fetched, Method, Origin, Refused, Request, Target, kind, parse};

use super::duckduckgo;

/// Of a page so many characters are shown.
const SHOWN: usize = 500;

/// A title has at most so many characters.
const TITLE: usize = 200;

/// One of the engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Exa,
    Brave,
    DuckDuckGo,
}

/// The engine to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) engine: Engine,
    /// Empty: it needs none.
    pub(super) key: String,
    /// Where it is.
    pub(super) base: Target,
    /// Whether the user has named its place.
    pub(super) named: bool,
}

/// A page that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Found {
    pub(super) title: String,
    pub(super) url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) published: Option<String>,
    /// A few lines of it.
    pub(super) text: String,
}

impl Chosen {
    /// The engine of these settings, if it can be asked. `env`: the user's environment.
    pub(super) fn of(settings: &WebSearchSettings, env: impl Fn(&str) -> Option<String>) -> Option<Chosen> {
        let from_env = |engine: Engine| engine.variable().and_then(&env).filter(|key| !key.trim().is_empty());
        let engine = match settings.engine {
            SearchEngine::Off => return None,
            SearchEngine::Exa => Engine::Exa,
            SearchEngine::Brave => Engine::Brave,
            SearchEngine::DuckDuckGo => Engine::DuckDuckGo,
            SearchEngine::Auto => {
                let engine = [Engine::Exa, Engine::Brave].into_iter().find(|engine| from_env(*engine).is_some())?;
                let base = parse(engine.place(), &[]).ok()?;
                return Some(Chosen { engine, key: from_env(engine)?.trim().to_owned(), base, named: false });
            }
        };
        let key = match settings.key.trim() {
            "" => from_env(engine).map(|key| key.trim().to_owned()),
            key => Some(key.to_owned()),
        };
        let key = if engine.variable().is_some() { key? } else { String::new() };
        let (named, place) = match settings.url.trim() {
            "" => (false, engine.place()),
            place => (true, place),
        };
        let own: Vec<Origin> = Origin::read(place).filter(|_| named).into_iter().collect();
        Some(Chosen { engine, key, base: parse(place, &own).ok()?, named })
    }

    /// The request for a search.
    pub(super) fn request(&self, query: &str, count: usize) -> Result<Request, Refused> {
        let mut url = self.base.url.clone();
        let path = format!("{}{}", url.path().trim_end_matches('/'), self.engine.path());
        url.set_path(&path);
        let mut headers = vec![("accept".to_owned(), "application/json".to_owned())];
        let (mut method, mut body) = (Method::Get, None);
        match self.engine {
            Engine::Exa => {
                method = Method::Post;
                let asked = json!({
                    "query": query,
                    "numResults": count,
                    "contents": { "text": { "maxCharacters": SHOWN } },
                });
                body = Some(asked.to_string().into_bytes());
                headers.push(("content-type".to_owned(), "application/json".to_owned()));
                headers.push(("x-api-key".to_owned(), self.key.clone()));
            }
            Engine::Brave => {
                url.query_pairs_mut().append_pair("q", query).append_pair("count", &count.to_string());
                headers.push(("x-subscription-token".to_owned(), self.key.clone()));
            }
            Engine::DuckDuckGo => {
                url.query_pairs_mut().append_pair("q", query);
                headers = vec![("accept".to_owned(), "text/html".to_owned())];
            }
        }
        let known: Vec<Origin> = if self.named { vec![self.base.origin.clone()] } else { Vec::new() };
        Ok(Request { method, target: parse(url.as_str(), &known)?, headers, body })
    }
}

impl Engine {
    pub(super) fn name(self) -> &'static str {
        match self {
            Engine::Exa => "Exa",
            Engine::Brave => "Brave",
            Engine::DuckDuckGo => "DuckDuckGo",
        }
    }

    /// The variable of the environment that has its key; `None`: it needs none.
    fn variable(self) -> Option<&'static str> {
        match self {
            Engine::Exa => Some("EXA_API_KEY"),
            Engine::Brave => Some("BRAVE_API_KEY"),
            Engine::DuckDuckGo => None,
        }
    }

    fn place(self) -> &'static str {
        match self {
            Engine::Exa => "https://api.exa.ai",
            Engine::Brave => "https://api.search.brave.com",
            Engine::DuckDuckGo => "https://html.duckduckgo.com",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Engine::Exa => "/search",
            Engine::Brave => "/res/v1/web/search",
            Engine::DuckDuckGo => "/html/",
        }
    }

    /// What an answer says was found.
    pub(super) fn read(self, fetched: &Fetched, count: usize) -> Result<Vec<Found>, ToolError> {
        let name = self.name();
        let failed = |kind, words: String| Err(ToolError::new(kind, words));
        match fetched.status {
            200 => {}
            401 | 403 => {
                let words = format!("{name} does not take the key ({}). The user has to mend it.", fetched.status);
                return failed(ErrorKind::Unavailable, words);
            }
            429 => {
                let words = format!("{name} was asked too often (429). Wait, or go on without a search.");
                return failed(ErrorKind::Unavailable, words);
            }
            202 if self == Engine::DuckDuckGo => {
                let words = "DuckDuckGo wants to see that a person asks, which nobody can show from here. Go on without a \
                             search; another engine can be set in `web.search`.";
                return failed(ErrorKind::Unavailable, words.to_owned());
            }
            status => return failed(ErrorKind::Failed, format!("{name} gave no results: HTTP {status}.")),
        }
        let (text, _) = kind::text(fetched.content_type.as_deref(), &fetched.body, fetched.cut);
        let mut found = match self {
            Engine::DuckDuckGo => duckduckgo::read(&text),
            Engine::Exa | Engine::Brave => {
                let answer: Value = serde_json::from_str(&text).map_err(|error| {
                    ToolError::new(ErrorKind::Failed, format!("The answer of {name} cannot be read: {error}."))
                })?;
                let list = if self == Engine::Exa { &answer["results"] } else { &answer["web"]["results"] };
                list.as_array().into_iter().flatten().filter_map(|one| self.one(one)).collect()
            }
        };
        found.truncate(count);
        Ok(found)
    }

    fn one(self, one: &Value) -> Option<Found> {
        let text = |key: &str| one[key].as_str().map(plain).filter(|text| !text.is_empty());
        let (lines, published) = match self {
            Engine::Exa => (text("text").or_else(|| text("summary")), "publishedDate"),
            Engine::Brave | Engine::DuckDuckGo => (text("description"), "page_age"),
        };
        let date = one[published].as_str().map(|date| date.chars().take(10).filter(|c| !c.is_control()).collect());
        found(text("title").unwrap_or_default(), one["url"].as_str()?, date, &lines.unwrap_or_default())
    }
}

/// What was found, made bearable; `None`: it leads nowhere that could be fetched.
pub(super) fn found(title: String, url: &str, published: Option<String>, text: &str) -> Option<Found> {
    let url = Url::parse(url.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let title = if title.is_empty() { url.host_str().unwrap_or_default().to_owned() } else { title };
    let title = title.chars().take(TITLE).collect();
    Some(Found { title, url: url.to_string(), published, text: text.chars().take(SHOWN).collect() })
}

/// A text in one line, without the marks that engines put into it.
fn plain(text: &str) -> String {
    let text: String = text.chars().take(SHOWN * 4).collect();
    let shown = match Url::parse("https://example.org/") {
        Ok(base) if text.contains(['<', '&']) => page::shown(&text, &base, Form::Text, &AtomicBool::new(false)).text,
        _ => text,
    };
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(engine: SearchEngine, key: &str, url: &str) -> WebSearchSettings {
        WebSearchSettings { engine, key: key.to_owned(), url: url.to_owned() }
    }

    fn chosen(settings: &WebSearchSettings, env: &[&str]) -> Option<(Engine, String, String)> {
        let env = |name: &str| env.contains(&name).then(|| format!("env-{name}"));
        Chosen::of(settings, env).map(|chosen| (chosen.engine, chosen.key, chosen.base.url.to_string()))
    }

    #[test]
    fn which_engine_is_asked() {
        let exa = Some((Engine::Exa, "env-EXA_API_KEY".to_owned(), "https://api.exa.ai/".to_owned()));
        for (settings, env, expected) in [
            (settings(SearchEngine::Auto, "", ""), &[][..], None),
            (settings(SearchEngine::Auto, "", ""), &["EXA_API_KEY", "BRAVE_API_KEY"], exa.clone()),
            // A key for no engine in particular is for none, and nor is a place.
            (settings(SearchEngine::Auto, "k", "http://localhost"), &["EXA_API_KEY"], exa),
            (settings(SearchEngine::Off, "k", ""), &["EXA_API_KEY"], None),
            (settings(SearchEngine::Brave, "", ""), &["EXA_API_KEY"], None),
            (
                settings(SearchEngine::Brave, "k", "http://localhost:9/x/"),
                &["BRAVE_API_KEY"],
                Some((Engine::Brave, "k".to_owned(), "http://localhost:9/x/".to_owned())),
            ),
            (
                settings(SearchEngine::DuckDuckGo, "k", ""),
                &[],
                Some((Engine::DuckDuckGo, String::new(), "https://html.duckduckgo.com/".to_owned())),
            ),
            (settings(SearchEngine::Exa, "k", "nonsense"), &[], None),
        ] {
            assert_eq!(chosen(&settings, env), expected, "{settings:?} {env:?}");
        }
    }

    #[test]
    fn how_it_is_asked() {
        let request =
            |engine, url: &str| Chosen::of(&settings(engine, "k", url), |_| None).unwrap().request("a & b", 3).unwrap();
        let brave = request(SearchEngine::Brave, "http://localhost:9/x/");
        assert_eq!(brave.target.url.as_str(), "http://localhost:9/x/res/v1/web/search?q=a+%26+b&count=3");
        assert_eq!(brave.header("x-subscription-token"), Some("k"));
        let exa = request(SearchEngine::Exa, "");
        assert_eq!((exa.method, exa.target.url.as_str()), (Method::Post, "https://api.exa.ai/search"));
        assert_eq!(exa.header("x-api-key"), Some("k"));
        let page = request(SearchEngine::DuckDuckGo, "");
        assert_eq!(page.target.url.as_str(), "https://html.duckduckgo.com/html/?q=a+%26+b");
        assert!(page.headers.iter().all(|(_, value)| value != "k"));
    }

    fn answer(status: u16, body: &str) -> Fetched {
        Fetched {
            target: parse("https://example.org/", &[]).unwrap(),
            status,
            content_type: Some("application/json".to_owned()),
            headers: Vec::new(),
            body: body.as_bytes().to_vec(),
            cut: false,
            leads_to: None,
            redirects: 0,
        }
    }

    #[test]
    fn answers_are_read() {
        let exa = r#"{ "results": [{ "title": "One", "url": "https://a.org/1", "publishedDate": "2026-01-02T03:04:05Z",
            "text": "many\n words" }, { "url": "ftp://a.org" }, { "url": "https://b.org/x" }, 7] }"#;
        let found = Engine::Exa.read(&answer(200, exa), 8).unwrap();
        assert_eq!(
            (found.len(), found[0].published.as_deref(), found[0].text.as_str()),
            (2, Some("2026-01-02"), "many words")
        );
        assert_eq!(found[1].title, "b.org");
        let brave = r#"{ "web": { "results": [{ "title": "a <strong>b</strong> &amp; c", "url": "https://a.org",
            "description": "<strong>x</strong>" }, { "title": "2", "url": "https://b.org" }] } }"#;
        let found = Engine::Brave.read(&answer(200, brave), 1).unwrap();
        assert_eq!((found.len(), found[0].title.as_str(), found[0].text.as_str()), (1, "a b & c", "x"));
        for (status, body, words) in [
            (200, "<html>", "cannot be read"),
            (401, "", "does not take the key"),
            (429, "", "too often"),
            (500, "", "HTTP 500"),
        ] {
            let error = Engine::Brave.read(&answer(status, body), 8).unwrap_err();
            assert!(error.message.contains(words), "{error}");
        }
        assert_eq!(Engine::Brave.read(&answer(200, "{}"), 8), Ok(vec![]));
        assert!(Engine::DuckDuckGo.read(&answer(202, ""), 8).unwrap_err().message.contains("a person asks"));
    }
}
