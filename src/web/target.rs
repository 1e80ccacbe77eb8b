//! From the text of a URL to what may be dialled for it. Pure: names are looked up by somebody else, who asks again here
//! with what came.

use std::fmt;
use std::net::IpAddr;

use url::{Host, Url};

use super::address::special;

/// A URL is at most so long, in bytes.
const LONGEST: usize = 8 * 1024;

/// Names that never are machines of the public internet, with all below them (RFC 6761, 6762, 8375, 9476; `internal` by
/// ICANN's resolution of 2024).
const LOCAL_NAMES: &[&str] = &[
    "localhost",
    "local",
    "internal",
    "home.arpa",
    "localdomain",
    "intranet",
    "lan",
    "corp",
    "home",
    "private",
    "onion",
    "alt",
    "test",
    "invalid",
    "example",
];

/// Ports of protocols that could be spoken to by way of a request: the list of the Fetch standard.
const BAD_PORTS: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
    110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531,
    532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060,
    5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];

/// A URL that may be fetched, as far as its text goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// As the URL standard writes it.
    pub url: Url,
    /// The machine and its port.
    pub origin: Origin,
}

/// A machine and its port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// `http` or `https`.
    pub scheme: String,
    /// The name in lower case, without a dot at its end, or the address in its usual form (IPv6 without brackets).
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Origin {
    /// Reads an origin as settings name it: a URL, of which nothing but the machine and its port counts.
    pub fn read(text: &str) -> Option<Origin> {
        let url = Url::parse(text.trim()).ok()?;
        if matches!(url.scheme(), "http" | "https") { origin(&url) } else { None }
    }
}

/// Why something is not fetched, for the model: what came, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// What a redirect means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// It is followed: the same machine, or the same site.
    Go(Target),
    /// It leads to another machine, which nobody has been asked about.
    Elsewhere(Target),
}

/// Reads a URL. `local`: origins that the user has named, which may be fetched wherever they are.
pub fn parse(text: &str, local: &[Origin]) -> Result<Target, Refused> {
    if text.len() > LONGEST {
        return Err(Refused(format!("The URL has {} bytes; at most {LONGEST} are taken.", text.len())));
    }
    let url = Url::parse(text.trim()).map_err(|error| {
        Refused(format!("{text:?} is no URL ({error}). Give a whole one, for example \"https://example.org/page\"."))
    })?;
    check(url, local)
}

fn check(mut url: Url, local: &[Origin]) -> Result<Target, Refused> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Refused(format!("Only http and https are fetched; this is `{}:`.", url.scheme())));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let words =
            "The URL has a user name or a password before its host, which can hide where it leads; leave it out.";
        return Err(Refused(words.to_owned()));
    }
    url.set_fragment(None);
    let origin = origin(&url).ok_or_else(|| Refused(format!("{url} names no machine.")))?;
    if local.contains(&origin) {
        return Ok(Target { url, origin });
    }
    match url.host() {
        Some(Host::Ipv4(address)) => public(&origin.host, IpAddr::V4(address))?,
        Some(Host::Ipv6(address)) => public(&origin.host, IpAddr::V6(address))?,
        _ => named(&origin.host)?,
    }
    if BAD_PORTS.contains(&origin.port) {
        return Err(Refused(format!("Port {} belongs to another protocol; it is not fetched from.", origin.port)));
    }
    Ok(Target { url, origin })
}

/// The machine and port of a URL.
fn origin(url: &Url) -> Option<Origin> {
    let host = match url.host()? {
        Host::Domain(name) => name.strip_suffix('.').unwrap_or(name).to_owned(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    };
    Some(Origin { scheme: url.scheme().to_owned(), host, port: url.port_or_known_default()? })
}

fn named(host: &str) -> Result<(), Refused> {
    let local = |name: &&&str| host.strip_suffix(**name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    if let Some(name) = LOCAL_NAMES.iter().find(local) {
        return Err(Refused(format!(
            "{host} is no machine of the public internet (`{name}` is reserved); local ones are not fetched unless the \
             user's settings name them."
        )));
    }
    let whole = !host.is_empty() && host.split('.').all(|label| !label.is_empty());
    if !whole || !host.contains('.') {
        return Err(Refused(format!(
            "{host:?} is no full name of a machine of the public internet; give one with its domain."
        )));
    }
    Ok(())
}

fn public(host: &str, address: IpAddr) -> Result<(), Refused> {
    match special(address) {
        None => Ok(()),
        Some(what) if host == address.to_string() => {
            Err(Refused(format!("{address} is {what}; only the public internet is fetched from.")))
        }
        Some(what) => Err(Refused(format!(
            "{host} leads to {address}, which is {what}; only the public internet is fetched from."
        ))),
    }
}

/// Which addresses may be dialled, of those that the target's name leads to: all of them, or none when one of them is
/// special (a name that leads to both is a trap). To be asked for each connection, with what is dialled then.
pub fn checked(target: &Target, found: &[IpAddr], local: &[Origin]) -> Result<Vec<IpAddr>, Refused> {
    let host = &target.origin.host;
    if found.is_empty() {
        return Err(Refused(format!("{host} leads to no address.")));
    }
    if !local.contains(&target.origin) {
        found.iter().try_for_each(|address| public(host, *address))?;
    }
    Ok(found.to_vec())
}

/// What a redirect from a target to `location` (as the header has it) means.
pub fn follow(from: &Target, location: &str, local: &[Origin]) -> Result<Step, Refused> {
    if location.len() > LONGEST {
        let bytes = location.len();
        return Err(Refused(format!(
            "The redirect is not followed: its URL has {bytes} bytes; at most {LONGEST} are taken."
        )));
    }
    let url = from
        .url
        .join(location.trim())
        .map_err(|error| Refused(format!("The redirect to {location:?} cannot be read ({error}).")))?;
    let to = check(url, local).map_err(|Refused(why)| Refused(format!("The redirect is not followed. {why}")))?;
    if from.origin.scheme == "https" && to.origin.scheme == "http" && !local.contains(&to.origin) {
        return Err(Refused(format!("The redirect to {} is not followed: it gives up encryption.", to.url)));
    }
    // What the user has named is theirs alone to reach: nobody on the internet sends anybody there.
    if local.contains(&to.origin) && from.origin != to.origin && !local.contains(&from.origin) {
        return Err(Refused(format!("The redirect to {} is not followed: it leads to a local machine.", to.url)));
    }
    let site = |host: &str| host.strip_prefix("www.").unwrap_or(host).to_owned();
    let same = site(&from.origin.host) == site(&to.origin.host);
    Ok(if same { Step::Go(to) } else { Step::Elsewhere(to) })
}
