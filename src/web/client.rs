//! Fetches, guarded: each machine on the way is looked up once, checked, and dialled at just the addresses that were
//! checked. What dials and what looks up are ports, so that all of this can be tested without a network.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use tracing::info;
use url::{Host, Url};

use crate::ports::{self, Clock};

use super::course::{Course, Next};
use super::request::Request;
use super::target::{Origin, Refused, Target, checked};
use super::wire::Http;

/// Looks names up.
#[async_trait]
pub trait Lookup: Send + Sync + 'static {
    /// The addresses of a name, in the order in which they are to be tried.
    async fn lookup(&self, host: &str) -> std::io::Result<Vec<IpAddr>>;
}

/// The system's way to look names up.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemLookup;

#[async_trait]
impl Lookup for SystemLookup {
    async fn lookup(&self, host: &str) -> std::io::Result<Vec<IpAddr>> {
        ports::outside(|| format!("look {host} up"))?;
        Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// Dials.
#[async_trait]
pub trait Wire: Send + Sync + 'static {
    /// Sends one request to a machine at one of these addresses and no other, and brings the head of its answer.
    /// Follows
    /// nothing. Through a proxy, that is dialled instead.
    async fn send(&self, request: &Request, addresses: &[IpAddr], proxy: Option<&Proxy>) -> Result<Reply, Trouble>;
}

/// The proxy that the user has named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Its URL.
    pub url: Url,
    /// Where it is.
    pub addresses: Vec<IpAddr>,
}

/// The head of an answer, and its body as it comes.
pub struct Reply {
    /// For instance 200.
    pub status: u16,
    /// Where a redirect leads.
    pub location: Option<String>,
    /// What the body is said to be.
    pub content_type: Option<String>,
    /// Names in lower case, and values; without cookies.
    pub headers: Vec<(String, String)>,
    /// The body, decompressed; an error ends it.
    pub body: BoxStream<'static, Result<Vec<u8>, Trouble>>,
}

/// Why nothing could be fetched, for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct Trouble {
    /// What kind.
    pub kind: TroubleKind,
    /// In words.
    pub words: String,
}

/// What kind of trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TroubleKind {
    /// It is not to be fetched.
    Refused,
    /// Nobody answers there.
    Unreachable,
    /// It took too long.
    Slow,
    /// The answer cannot be read.
    Broken,
}

impl Trouble {
    /// Trouble of a kind.
    pub fn new(kind: TroubleKind, words: impl Into<String>) -> Trouble {
        Trouble { kind, words: words.into() }
    }
}

impl From<Refused> for Trouble {
    fn from(Refused(why): Refused) -> Trouble {
        Trouble::new(TroubleKind::Refused, why)
    }
}

/// How a fetch is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// Origins that the user has named, which may be fetched wherever they are.
    pub local: Vec<Origin>,
    /// The user's proxy.
    pub proxy: Option<Url>,
    /// At most so many bytes of a body, decompressed, are read.
    pub max_bytes: usize,
    /// The whole may take so long.
    pub whole: Duration,
    /// A machine may be silent for so long.
    pub silence: Duration,
}

/// Who says whether a redirect is followed.
#[async_trait]
pub trait Guide: Send + Sync {
    /// Whether a request may go on so. `same_site`: to the same machine, or to one that differs by `www.` alone. The
    /// words
    /// say why it may not, or must not without a person's word.
    async fn passes(&self, next: &Request, same_site: bool) -> Result<(), Halt>;
}

/// Why a redirect is not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Halt {
    /// A person would have to be asked.
    Ask,
    /// It is not allowed, and why.
    Deny(String),
}

/// What came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Where it came from, behind all redirects.
    pub target: Target,
    /// For instance 200.
    pub status: u16,
    /// What the body is said to be.
    pub content_type: Option<String>,
    /// Names in lower case, and values; without cookies.
    pub headers: Vec<(String, String)>,
    /// The body, decompressed.
    pub body: Vec<u8>,
    /// Whether there was more of it than may be read.
    pub cut: bool,
    /// A redirect that was not followed, since a person would have to be asked: what would be asked for there.
    pub leads_to: Option<Request>,
    /// How many redirects were followed.
    pub redirects: usize,
}

/// Fetches. A copy is the same client; nothing is made before the first fetch.
#[derive(Clone)]
pub struct Client {
    lookup: Arc<dyn Lookup>,
    wire: Arc<dyn Wire>,
}

impl Default for Client {
    fn default() -> Client {
        Client::new(Arc::new(SystemLookup), Arc::new(Http::default()))
    }
}

impl Client {
    /// A client over these ports.
    pub fn new(lookup: Arc<dyn Lookup>, wire: Arc<dyn Wire>) -> Client {
        Client { lookup, wire }
    }

    /// Fetches. Dropped, it ends at once.
    pub async fn fetch(
        &self,
        request: Request,
        terms: &Terms,
        guide: &dyn Guide,
        clock: &dyn Clock,
    ) -> Result<Fetched, Trouble> {
        let read = AtomicUsize::new(0);
        tokio::select! {
            biased;
            fetched = self.walk(request, terms, guide, clock, &read) => fetched,
            () = clock.sleep(terms.whole) => {
                let what = match read.load(Ordering::Relaxed) {
                    0 => "nothing of its content had come".to_owned(),
                    bytes => format!("{bytes} bytes of its content had come"),
                };
                let words = format!(
                    "It took longer than {} ms, and {what}. Try again with a larger `timeout`, or ask for less.",
                    terms.whole.as_millis()
                );
                Err(Trouble::new(TroubleKind::Slow, words))
            }
        }
    }

    async fn walk(
        &self,
        request: Request,
        terms: &Terms,
        guide: &dyn Guide,
        clock: &dyn Clock,
        read: &AtomicUsize,
    ) -> Result<Fetched, Trouble> {
        let mut course = Course::new(request, &terms.local);
        loop {
            let now = course.now();
            let (addresses, proxy) = self.found(&now.target, terms).await?;
            let host = now.target.origin.host.clone();
            let silent = || {
                let words = format!(
                    "{host} was silent for {} ms. Try again later, or without what is behind it.",
                    terms.silence.as_millis()
                );
                Trouble::new(TroubleKind::Slow, words)
            };
            info!(target: "ropewalk::network", host, ?addresses, method = %now.method, "dialled");
            let reply = tokio::select! {
                biased;
                reply = self.wire.send(now, &addresses, proxy.as_ref()) => reply?,
                () = clock.sleep(terms.silence) => return Err(silent()),
            };
            let led = course.answered(reply.status, reply.location.as_deref()).inspect_err(|Refused(why)| {
                info!(target: "ropewalk::network", host, why, "refused");
            });
            let leads_to = match led? {
                Next::Arrived => None,
                Next::On(next) => self.on(&mut course, next, true, guide).await?,
                Next::Elsewhere(next) => self.on(&mut course, next, false, guide).await?,
            };
            let arrived = match leads_to {
                None => None,
                Some(Onward::Went) => continue,
                Some(Onward::Stays(next)) => Some(next),
            };
            let Reply { status, content_type, headers, mut body, .. } = reply;
            let (mut bytes, mut cut) = (Vec::new(), false);
            loop {
                let chunk = tokio::select! {
                    biased;
                    chunk = body.next() => chunk,
                    () = clock.sleep(terms.silence) => return Err(silent()),
                };
                let Some(chunk) = chunk else { break };
                let chunk = chunk?;
                let room = terms.max_bytes - bytes.len();
                bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
                read.store(bytes.len(), Ordering::Relaxed);
                if chunk.len() > room {
                    cut = true;
                    break;
                }
            }
            let redirects = course.redirects();
            let target = course.now().target.clone();
            return Ok(Fetched {
                target,
                status,
                content_type,
                headers,
                body: bytes,
                cut,
                leads_to: arrived,
                redirects,
            });
        }
    }

    /// Goes on to where a redirect leads, or says why that has to be asked about.
    async fn on(
        &self,
        course: &mut Course,
        next: Request,
        same_site: bool,
        guide: &dyn Guide,
    ) -> Result<Option<Onward>, Trouble> {
        let now = course.now();
        // What is sent goes to the machine that it was given for: nobody has looked at what it would be to another one.
        if next.body.is_some() && next.target.origin != now.target.origin {
            return Ok(Some(Onward::Stays(next)));
        }
        // The same machine was decided on already, but for what is sent, which is decided on by the whole URL.
        let elsewhere = next.target.origin.host != now.target.origin.host;
        if elsewhere || next.method != now.method || !next.method.reads() {
            match guide.passes(&next, same_site).await {
                Ok(()) => {}
                Err(Halt::Ask) => return Ok(Some(Onward::Stays(next))),
                Err(Halt::Deny(why)) => {
                    info!(target: "ropewalk::network", host = next.target.origin.host, why, "refused");
                    return Err(Refused(format!("The redirect to {} is not followed: {why}.", next.target.url)).into());
                }
            }
        }
        course.go(next);
        Ok(Some(Onward::Went))
    }

    /// Where a machine is, checked; and the proxy to go through.
    async fn found(&self, target: &Target, terms: &Terms) -> Result<(Vec<IpAddr>, Option<Proxy>), Trouble> {
        let own = terms.local.contains(&target.origin);
        let proxy = match terms.proxy.as_ref().filter(|_| !own) {
            Some(url) => Some(self.proxy(url).await?),
            None => None,
        };
        let host = &target.origin.host;
        let found = match host.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => match self.lookup.lookup(host).await {
                Ok(found) => found,
                // Behind a proxy there may be no way to look a name up: the proxy does.
                Err(_) if proxy.is_some() => return Ok((Vec::new(), proxy)),
                Err(error) => {
                    let words = format!("{host} was not found ({error}). See that the name is right.");
                    return Err(Trouble::new(TroubleKind::Unreachable, words));
                }
            },
        };
        let addresses = checked(target, &found, &terms.local).inspect_err(|Refused(why)| {
            info!(target: "ropewalk::network", host, ?found, why, "refused");
        })?;
        Ok((addresses, proxy))
    }

    async fn proxy(&self, url: &Url) -> Result<Proxy, Trouble> {
        let trouble =
            |what: String| Trouble::new(TroubleKind::Unreachable, format!("The proxy of the settings {what}."));
        let addresses = match url.host() {
            Some(Host::Ipv4(address)) => vec![address.into()],
            Some(Host::Ipv6(address)) => vec![address.into()],
            Some(Host::Domain(name)) => {
                self.lookup.lookup(name).await.map_err(|error| trouble(format!("was not found: {error}")))?
            }
            None => return Err(trouble("names no machine".to_owned())),
        };
        Ok(Proxy { url: url.clone(), addresses })
    }
}

/// What became of a redirect.
enum Onward {
    Went,
    Stays(Request),
}

#[cfg(test)]
mod tests;
