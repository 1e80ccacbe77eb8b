//! The page on which `DuckDuckGo` shows results to browsers without scripts. Pure.

use std::cell::RefCell;
use std::sync::atomic::AtomicBool;

use html5ever::Attribute;
use html5ever::tokenizer::{TagKind, Token, TokenSink, TokenSinkResult};
use url::Url;

use crate::web::page::feed::{Tags, fed, work};

use super::engine::{Found, found};

/// The links of so many results are looked at.
const MOST: usize = 100;

/// The results on a page. Advertisements are none.
pub(super) fn read(html: &str) -> Vec<Found> {
    let (sink, _) = fed(html, Results::default(), &AtomicBool::new(false));
    let State { results, .. } = sink.0.into_inner();
    results
        .into_iter()
        .filter_map(|Raw { link, title, text }| {
            let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            found(line(&title), &led_to(&link)?, None, &line(&text))
        })
        .collect()
}

/// Where a result leads, which the page hides in a link of its own.
fn led_to(link: &str) -> Option<String> {
    let base = Url::parse("https://duckduckgo.com/").ok()?;
    let url = base.join(link).ok()?;
    let own = url.host_str().is_some_and(|host| host == "duckduckgo.com" || host.ends_with(".duckduckgo.com"));
    if !own {
        return Some(url.to_string());
    }
    url.query_pairs().find(|(name, _)| name == "uddg").map(|(_, led_to)| led_to.into_owned())
}

#[derive(Default)]
struct Results(RefCell<State>);

#[derive(Default)]
struct State {
    results: Vec<Raw>,
    tokens: usize,
    work: usize,
    /// What the text that comes belongs to, and the element that it ends with.
    within: Option<(Part, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Title,
    Text,
}

#[derive(Default)]
struct Raw {
    link: String,
    title: String,
    text: String,
}

impl Tags for Results {
    fn seen(&self) -> (usize, usize) {
        let state = self.0.borrow();
        (state.tokens, state.work)
    }
}

impl TokenSink for Results {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut state = self.0.borrow_mut();
        state.tokens += usize::from(!matches!(token, Token::ParseError(_)));
        match token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => {
                state.work += work(&tag.attrs);
                let of_class = |class: &str| has_class(&tag.attrs, class);
                if of_class("result__a") && state.results.len() < MOST {
                    let link = attribute(&tag.attrs, "href").unwrap_or_default().to_owned();
                    state.results.push(Raw { link, ..Raw::default() });
                    state.within = Some((Part::Title, tag.name.to_string()));
                } else if of_class("result__snippet") {
                    state.within = Some((Part::Text, tag.name.to_string()));
                }
            }
            Token::TagToken(tag) if state.within.as_ref().is_some_and(|(_, name)| **name == *tag.name) => {
                state.within = None;
            }
            Token::CharacterTokens(text) => {
                let part = state.within.as_ref().map(|(part, _)| *part);
                if let (Some(part), Some(result)) = (part, state.results.last_mut()) {
                    let into = if part == Part::Title { &mut result.title } else { &mut result.text };
                    into.push_str(&text);
                }
            }
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

fn attribute<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a str> {
    attributes.iter().find(|attribute| &*attribute.name.local == name).map(|attribute| &*attribute.value)
}

fn has_class(attributes: &[Attribute], class: &str) -> bool {
    attribute(attributes, "class").is_some_and(|classes| classes.split_whitespace().any(|one| one == class))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read() {
        let html = r#"<div class="result results_links"><h2 class="result__title"><a rel="nofollow" class="result__a"
            href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.org%2Fa%3Fb%3D1&amp;rut=x">One <b>and</b> only</a></h2>
            <a class="result__snippet" href="x">Some <b>words</b> &amp; more</a></div>
            <div class="result result--ad"><a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=x">Buy</a>
            <a class="result__snippet">now</a></div>
            <a class="result__a" href="https://other.org/">Two</a>"#;
        let found = read(html);
        let told: Vec<(&str, &str, &str)> =
            found.iter().map(|one| (one.title.as_str(), one.url.as_str(), one.text.as_str())).collect();
        let expected =
            [("One and only", "https://example.org/a?b=1", "Some words & more"), ("Two", "https://other.org/", "")];
        assert_eq!(told, expected);
        assert_eq!(read("<html><p>nothing"), []);
    }
}
