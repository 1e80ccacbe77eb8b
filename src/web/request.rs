//! What is asked of a machine. Pure.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::target::{Refused, Target};

/// A request has at most so many headers of the caller's.
const MOST_HEADERS: usize = 50;

/// A header's value has at most so many bytes.
const LONGEST_VALUE: usize = 8 * 1024;

/// Headers that belong to the connection and not to the caller, or that make one request look like another.
const OURS: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
];

/// Headers that say nothing of who asks: only these go along to another origin.
const PLAIN: &[&str] = &[
    "accept",
    "accept-language",
    "cache-control",
    "content-language",
    "content-type",
    "if-modified-since",
    "if-none-match",
    "pragma",
    "range",
    "user-agent",
];

/// What is done with what a URL names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum Method {
    /// Fetches it.
    #[default]
    Get,
    /// Fetches what is said of it.
    Head,
    /// Asks what may be done with it.
    Options,
    /// Gives something to it.
    Post,
    /// Puts something in its place.
    Put,
    /// Changes a part of it.
    Patch,
    /// Removes it.
    Delete,
}

impl Method {
    /// As it goes over the wire.
    pub fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Options => "OPTIONS",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }

    /// Whether it only fetches.
    pub fn reads(self) -> bool {
        matches!(self, Method::Get | Method::Head)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is asked of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What is done.
    pub method: Method,
    /// With what.
    pub target: Target,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// What is sent along.
    pub body: Option<Vec<u8>>,
}

impl Request {
    /// One that fetches.
    pub fn get(target: Target) -> Request {
        Request { method: Method::Get, target, headers: Vec::new(), body: None }
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str())
    }

    /// Adds a header where there is none of its name.
    pub fn default_header(&mut self, name: &str, value: &str) {
        if self.header(name).is_none() {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
    }

    /// The same request to where a redirect of this status leads: what it still does, what it sends, and what it says of who
    /// asks. To another origin nothing goes along that could be a credential.
    #[must_use]
    pub fn redirected(&self, status: u16, target: Target) -> Request {
        let turns = match status {
            303 => self.method != Method::Head,
            301 | 302 => self.method == Method::Post,
            _ => false,
        };
        let (method, body) = if turns { (Method::Get, None) } else { (self.method, self.body.clone()) };
        let same = target.origin == self.target.origin;
        let stays = |(name, _): &&(String, String)| {
            (same || PLAIN.contains(&name.as_str())) && (body.is_some() || !name.starts_with("content-"))
        };
        let headers = self.headers.iter().filter(stays).cloned().collect();
        Request { method, target, headers, body }
    }
}

/// The caller's headers, names in lower case; which of them cannot be sent, and why.
pub fn headers<'a>(
    given: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> Result<Vec<(String, String)>, Refused> {
    let mut headers: Vec<(String, String)> = Vec::new();
    for (name, value) in given {
        let name = name.trim().to_ascii_lowercase();
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || name.len() > 256 || !name.bytes().all(token) {
            return Err(Refused(format!("{name:?} is no name of a header.")));
        }
        if OURS.contains(&name.as_str()) || name.starts_with("proxy-") || name.starts_with("sec-") {
            return Err(Refused(format!("The header `{name}` cannot be set; leave it out.")));
        }
        let value = value.trim();
        if value.len() > LONGEST_VALUE || value.bytes().any(|byte| byte < 0x20 && byte != b'\t' || byte == 0x7f) {
            return Err(Refused(format!(
                "The value of the header `{name}` cannot be sent: it has control characters, or more than \
                 {LONGEST_VALUE} bytes."
            )));
        }
        if headers.iter().any(|(have, _)| *have == name) {
            return Err(Refused(format!("The header `{name}` is there twice; give it once.")));
        }
        headers.push((name, value.to_owned()));
    }
    if headers.len() > MOST_HEADERS {
        return Err(Refused(format!("There are {} headers; at most {MOST_HEADERS} are sent.", headers.len())));
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::parse;

    fn named(name: &str) -> Result<Vec<(String, String)>, Refused> {
        headers([(&name.to_owned(), &"x".to_owned())])
    }

    #[test]
    fn what_belongs_to_the_connection_cannot_be_set() {
        for name in
            ["Host", "Content-Length", "Transfer-Encoding", "Proxy-Authorization", "X-HTTP-Method-Override", "a b", ""]
        {
            assert!(named(name).is_err(), "{name}");
        }
        assert_eq!(named(" X-Custom ").unwrap(), [("x-custom".to_owned(), "x".to_owned())]);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let given = [pair("A", "1"), pair("a", "2")];
        assert!(headers(given.iter().map(|(name, value)| (name, value))).is_err());
        let given = [pair("a", "1\r\nHost: b")];
        assert!(headers(given.iter().map(|(name, value)| (name, value))).is_err());
    }

    #[test]
    fn what_a_redirect_makes_of_a_request() {
        use Method::{Delete, Get, Head, Post, Put};
        for (method, status, becomes) in [
            (Get, 301, Get),
            (Head, 303, Head),
            (Post, 301, Get),
            (Post, 302, Get),
            (Post, 303, Get),
            (Post, 307, Post),
            (Post, 308, Post),
            (Put, 302, Put),
            (Put, 303, Get),
            (Delete, 303, Get),
        ] {
            let request =
                Request { method, body: Some(b"x".to_vec()), ..Request::get(parse("https://a.org/", &[]).unwrap()) };
            let next = request.redirected(status, parse("https://a.org/b", &[]).unwrap());
            assert_eq!((next.method, next.body.is_some()), (becomes, becomes == method), "{method} {status}");
        }
    }

    #[test]
    fn credentials_stay_with_their_origin() {
        let given: Vec<(String, String)> =
            ["authorization", "cookie", "x-api-key", "x-anything", "accept", "content-type"]
                .map(|name| (name.to_owned(), "x".to_owned()))
                .to_vec();
        let from = parse("https://a.org/", &[]).unwrap();
        let request = Request { headers: given.clone(), body: Some(Vec::new()), ..Request::get(from) };
        for (to, all) in [
            ("https://a.org/b", true),
            ("https://a.org:8443/", false),
            ("http://a.org/", false),
            ("https://www.a.org/", false),
            ("https://b.org/", false),
        ] {
            let kept = request.redirected(307, parse(to, &[]).unwrap()).headers;
            let names: Vec<&str> = kept.iter().map(|(name, _)| name.as_str()).collect();
            if all {
                assert_eq!(kept, given, "{to}");
            } else {
                assert_eq!(names, ["accept", "content-type"], "{to}");
            }
        }
    }
}
