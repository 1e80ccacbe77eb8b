//! Streamable HTTP to the one machine that the settings name: no proxy, no redirect, no address that the name does not
//! stand for when it is dialled, and bounded answers.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Once};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use rmcp::transport::{DynamicTransportError, StreamableHttpClientTransport};

use super::frames::LONGEST_LINE;
use crate::web::{Origin, Refused, Target, causes, checked, parse};

/// A connection is made within this time.
const CONNECT: Duration = Duration::from_secs(10);

/// Headers that belong to the transport.
const OURS: [&str; 6] = ["accept", "content-length", "content-type", "host", "mcp-protocol-version", "mcp-session-id"];

/// The transport to a URL, or why there can be none. `named`: the user named this URL, so that it may lead to a local
/// machine.
pub(super) fn transport(
    url: &str,
    headers: &std::collections::BTreeMap<String, String>,
    named: bool,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    let local: Vec<Origin> = if named { own(url).into_iter().collect() } else { Vec::new() };
    let target = parse(url, &local).map_err(|Refused(why)| why)?;
    let mut custom = HashMap::new();
    for (name, value) in headers {
        let bad = |what: &str| format!("the header {name:?} {what}");
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad("has a name that is none"))?;
        if OURS.contains(&key.as_str()) {
            return Err(bad("belongs to the transport; leave it out"));
        }
        let mut value = HeaderValue::from_str(value).map_err(|_| bad("has a value that cannot be sent"))?;
        value.set_sensitive(true);
        custom.insert(key, value);
    }
    crate::ports::outside(|| format!("dial {}", target.origin.host)).map_err(|error| error.to_string())?;
    let client = client(&target, local).map_err(|error| error.to_string())?;
    let config = StreamableHttpClientTransportConfig::with_uri(target.url.as_str())
        .custom_headers(custom)
        .max_sse_event_size(LONGEST_LINE);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// Why something could not be sent, or was not answered as it should be, with all causes.
pub(super) fn words(fault: &DynamicTransportError) -> String {
    let error = &*fault.error;
    match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        Some(StreamableHttpError::Client(error)) => causes(error).trim_end_matches('.').to_owned(),
        Some(StreamableHttpError::UnexpectedServerResponse(what)) if what.starts_with("HTTP 3") => {
            let what = what.trim_end_matches([':', ' ']);
            format!("it leads elsewhere ({what}), where nobody follows: its URL has to be the one that answers")
        }
        _ => error.to_string(),
    }
}

/// The machine and port of a URL that the user named.
fn own(url: &str) -> Option<Origin> {
    let url = url::Url::parse(url.trim()).ok()?;
    let host = match url.host()? {
        url::Host::Domain(name) => name.strip_suffix('.').unwrap_or(name).to_owned(),
        url::Host::Ipv4(address) => address.to_string(),
        url::Host::Ipv6(address) => address.to_string(),
    };
    Some(Origin { scheme: url.scheme().to_owned(), host, port: url.port_or_known_default()? })
}

fn client(target: &Target, local: Vec<Origin>) -> reqwest::Result<reqwest::Client> {
    static CRYPTO: Once = Once::new();
    CRYPTO.call_once(|| {
        // An error means that there is one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let resolver = Guarded { target: target.clone(), local };
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT)
        .dns_resolver(Arc::new(resolver))
        .user_agent(concat!("ropewalk/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// Finds addresses, and gives only those that may be dialled.
struct Guarded {
    target: Target,
    local: Vec<Origin>,
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let (target, local, name) = (self.target.clone(), self.local.clone(), name.as_str().to_owned());
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let addresses: Vec<_> = found.iter().map(SocketAddr::ip).collect();
            let allowed = checked(&target, &addresses, &local).map_err(|Refused(why)| std::io::Error::other(why))?;
            let addresses: Addrs = Box::new(allowed.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[tokio::test]
    async fn what_goes_wrong_is_told_with_its_cause() {
        type Over = StreamableHttpClientTransport<reqwest::Client>;
        let told = |error| words(&DynamicTransportError::new::<Over, rmcp::RoleClient>(error));
        let moved = StreamableHttpError::UnexpectedServerResponse("HTTP 307 Temporary Redirect: ".into());
        assert_eq!(
            told(moved),
            "it leads elsewhere (HTTP 307 Temporary Redirect), where nobody follows: its URL has to be the one that answers"
        );
        assert_eq!(told(StreamableHttpError::SessionExpired), "Session expired (HTTP 404)");
        // A port that was just free has nobody.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let url = format!("http://{free}/");
        let local: Vec<Origin> = own(&url).into_iter().collect();
        let client = client(&parse(&url, &local).unwrap(), local).unwrap();
        let error = client.get(url).send().await.unwrap_err();
        let said = told(StreamableHttpError::Client(error));
        assert!(said.contains("refused"), "{said}");
    }

    #[tokio::test]
    async fn only_what_may_be_reached() {
        let none = BTreeMap::new();
        let header = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
        for (url, headers, named, why) in [
            ("http://127.0.0.1:9/mcp", &none, true, None),
            ("http://localhost:9/mcp", &none, true, None),
            ("http://127.0.0.1:9/mcp", &none, false, Some("127.0.0.1 is")),
            ("http://localhost:9/mcp", &none, false, Some("local")),
            ("http://169.254.169.254/", &none, false, Some("169.254.169.254 is")),
            ("https://example.org/mcp", &none, false, None),
            ("https://a:b@example.org/mcp", &none, true, Some("user name or a password")),
            ("https://example.org/", &header("Authorization", "Bearer x"), true, None),
            ("https://example.org/", &header("Mcp-Session-Id", "x"), true, Some("belongs to the transport")),
            ("https://example.org/", &header("a b", "x"), true, Some("has a name that is none")),
            ("https://example.org/", &header("a", "x\ny"), true, Some("has a value that cannot be sent")),
        ] {
            match (transport(url, headers, named), why) {
                (Ok(_), None) => {}
                (Err(told), Some(why)) => assert!(told.contains(why), "{url}: {told}"),
                (Ok(_), Some(_)) => panic!("{url} is reached"),
                (Err(told), None) => panic!("{url}: {told}"),
            }
        }
    }
}
