//! The way of one request through redirects. Pure.

use super::request::{Method, Request};
use super::target::{Origin, Refused, Step, follow};

/// At most so many redirects are followed.
pub const MOST_REDIRECTS: usize = 10;

/// Where a request is on its way.
#[derive(Debug, Clone)]
pub struct Course {
    local: Vec<Origin>,
    now: Request,
    seen: Vec<(Method, String)>,
}

/// What comes after an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Nothing: it is what was asked for.
    Arrived,
    /// The request goes on within the same site.
    On(Request),
    /// It would go on to another machine.
    Elsewhere(Request),
}

impl Course {
    /// The beginning of a way. `local`: the origins that the user has named.
    pub fn new(request: Request, local: &[Origin]) -> Course {
        let seen = vec![key(&request)];
        Course { local: local.to_vec(), now: request, seen }
    }

    /// The request of now.
    pub fn now(&self) -> &Request {
        &self.now
    }

    /// How many redirects were followed.
    pub fn redirects(&self) -> usize {
        self.seen.len() - 1
    }

    /// What an answer of this status, with this `Location`, leads to.
    pub fn answered(&self, status: u16, location: Option<&str>) -> Result<Next, Refused> {
        let Some(location) = location.filter(|_| matches!(status, 301 | 302 | 303 | 307 | 308)) else {
            return Ok(Next::Arrived);
        };
        let step = follow(&self.now.target, location, &self.local)?;
        let (Step::Go(target) | Step::Elsewhere(target)) = &step;
        let next = self.now.redirected(status, target.clone());
        if self.seen.contains(&key(&next)) {
            return Err(Refused(format!("The redirects go round in a circle: {} was asked for before.", target.url)));
        }
        if self.redirects() >= MOST_REDIRECTS {
            return Err(Refused(format!(
                "There are more than {MOST_REDIRECTS} redirects, one after the other; the last one leads to {}.",
                target.url
            )));
        }
        Ok(match step {
            Step::Go(_) => Next::On(next),
            Step::Elsewhere(_) => Next::Elsewhere(next),
        })
    }

    /// The request goes on so.
    pub fn go(&mut self, next: Request) {
        self.seen.push(key(&next));
        self.now = next;
    }
}

fn key(request: &Request) -> (Method, String) {
    (request.method, request.target.url.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::parse;

    fn course(url: &str) -> Course {
        Course::new(Request::get(parse(url, &[]).unwrap()), &[])
    }

    /// Follows these, all with 302: how often it went on, and how it ended.
    fn walk(from: &str, locations: &[&str]) -> (usize, String) {
        let mut course = course(from);
        for location in locations {
            match course.answered(302, Some(location)) {
                Ok(Next::On(next)) => course.go(next),
                Ok(Next::Elsewhere(next)) => return (course.redirects(), format!("elsewhere {}", next.target.url)),
                Ok(Next::Arrived) => return (course.redirects(), "arrived".to_owned()),
                Err(Refused(why)) => return (course.redirects(), why),
            }
        }
        (course.redirects(), course.now().target.url.to_string())
    }

    #[test]
    fn ways() {
        let many: Vec<String> = (0..12).map(|at| format!("/{at}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for (locations, redirects, end) in [
            (&["/b", "c", "?d"][..], 3, "https://a.org/c?d"),
            (&["https://www.a.org/"][..], 1, "https://www.a.org/"),
            (&["/b", "https://b.org/c"], 1, "elsewhere https://b.org/c"),
            (&["/b", "/"], 1, "in a circle: https://a.org/ was"),
            (&["#x"], 0, "in a circle"),
            (&["http://127.0.0.1/"], 0, "this machine"),
            (&["http://a.org/"], 0, "encryption"),
            (&["https://a.org:22/"], 0, "another protocol"),
            (&many, 10, "more than 10 redirects"),
        ] {
            let (followed, told) = walk("https://a.org/", locations);
            assert_eq!(followed, redirects, "{locations:?} {told}");
            assert!(told.contains(end), "{locations:?} {told}");
        }
    }

    #[test]
    fn only_redirects_redirect() {
        let course = course("https://a.org/");
        for status in [200, 201, 300, 304, 305, 306, 401, 500] {
            assert_eq!(course.answered(status, Some("/b")), Ok(Next::Arrived), "{status}");
        }
        assert_eq!(course.answered(302, None), Ok(Next::Arrived));
        // After a form was posted its page is asked for once more, by another method.
        let mut posted = course.clone();
        posted.go(Request { method: Method::Post, ..course.now().clone() });
        assert!(posted.answered(303, Some("/b")).is_ok());
    }
}
