//! HTTP and TLS: one request to one machine, at the addresses that were checked and no others.

use std::error::Error as _;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::{FutureExt as _, StreamExt as _};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::redirect::Policy;
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::sync::OnceCell;

use super::client::{Proxy, Reply, Trouble, TroubleKind, Wire};
use super::request::Request;

/// What we call ourselves.
const AGENT: &str = concat!("Mozilla/5.0 (compatible; ropewalk/", env!("CARGO_PKG_VERSION"), ")");

/// Of an answer so many headers are told, of each so many characters.
const MOST_SHOWN: usize = 50;
const LONGEST_SHOWN: usize = 300;

/// Real connections. Each request has one of its own, so that none is used again that was dialled for another check; what
/// they share is how TLS is spoken, made with the first that needs it.
#[derive(Default)]
pub struct Http {
    tls: OnceCell<ClientConfig>,
}

impl Http {
    /// TLS 1.2 or 1.3, with what the system trusts.
    async fn tls(&self) -> Result<&ClientConfig, Trouble> {
        let make = || async {
            // Reads the system's certificates from the disk.
            let made = tokio::task::spawn_blocking(|| {
                let versions = [&rustls::version::TLS13, &rustls::version::TLS12];
                let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
                    .with_protocol_versions(&versions)?
                    .with_platform_verifier()?;
                let mut config = builder.with_no_client_auth();
                config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
                Ok::<_, rustls::Error>(config)
            });
            let trouble = |why: String| Trouble::new(TroubleKind::Broken, format!("TLS cannot be spoken here: {why}."));
            made.await.map_err(|error| trouble(error.to_string()))?.map_err(|error| trouble(error.to_string()))
        };
        self.tls.get_or_try_init(make).await
    }
}

/// One that trusts nobody, for connections without TLS.
fn no_tls() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}

/// Knows the names of one request and where they are, and no others.
struct Pinned(Vec<(String, Vec<IpAddr>)>);

impl Resolve for Pinned {
    fn resolve(&self, name: Name) -> Resolving {
        let asked = name.as_str().trim_end_matches('.').to_ascii_lowercase();
        let found = self.0.iter().find(|(name, _)| *name == asked).map(|(_, addresses)| addresses.clone());
        async move {
            let found = found.ok_or_else(|| format!("{asked} was not checked"))?;
            let addresses = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        }
        .boxed()
    }
}

#[async_trait]
impl Wire for Http {
    async fn send(&self, request: &Request, addresses: &[IpAddr], proxy: Option<&Proxy>) -> Result<Reply, Trouble> {
        crate::ports::outside(|| format!("dial {}", request.target.origin.host))
            .map_err(|error| Trouble::new(TroubleKind::Refused, error.to_string()))?;
        let broken =
            |what: &str, error: &reqwest::Error| Trouble::new(TroubleKind::Broken, format!("{what}{}", causes(error)));
        let secure = |scheme: &str| scheme == "https";
        let any = secure(&request.target.origin.scheme) || proxy.is_some_and(|proxy| secure(proxy.url.scheme()));
        let tls = if any {
            self.tls().await?.clone()
        } else {
            no_tls().map_err(|error| Trouble::new(TroubleKind::Broken, format!("TLS cannot be set up: {error}.")))?
        };
        let mut pinned = vec![(request.target.origin.host.clone(), addresses.to_vec())];
        let mut builder = reqwest::Client::builder();
        builder = builder.no_proxy();
        if let Some(Proxy { url, addresses }) = proxy {
            let name = url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
            // Where the proxy has the machine's own name, it is the proxy that is dialled.
            pinned = vec![(name, addresses.clone())];
            let proxy =
                reqwest::Proxy::all(url.clone()).map_err(|error| broken("The proxy cannot be used: ", &error))?;
            builder = builder.proxy(proxy);
        }
        let client = builder
            .tls_backend_preconfigured(tls)
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            .dns_resolver(Arc::new(Pinned(pinned)))
            .pool_max_idle_per_host(0)
            .referer(false)
            .user_agent(AGENT)
            .build()
            .map_err(|error| broken("It cannot be fetched from here: ", &error))?;
        let method = reqwest::Method::from_bytes(request.method.name().as_bytes());
        let method = method.map_err(|error| Trouble::new(TroubleKind::Refused, error.to_string()))?;
        let mut sent = client.request(method, request.target.url.clone());
        for (name, value) in &request.headers {
            sent = sent.header(name, value);
        }
        if let Some(body) = &request.body {
            sent = sent.body(body.clone());
        }
        let host = &request.target.origin.host;
        let reply = sent.send().await.map_err(|error| {
            if error.is_connect() {
                let words = format!("{host} cannot be reached: {}", causes(&error));
                Trouble::new(TroubleKind::Unreachable, words)
            } else {
                broken(&format!("{host} gave no answer that can be read: "), &error)
            }
        })?;
        let header =
            |name| reply.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let (status, location, content_type) = (reply.status().as_u16(), header(LOCATION), header(CONTENT_TYPE));
        let headers = shown(reply.headers());
        let host = host.clone();
        let body = reply.bytes_stream().map(move |chunk| {
            let words = |error| format!("The content of {host} broke off: {}", causes(&error));
            chunk.map(|bytes| bytes.to_vec()).map_err(|error| Trouble::new(TroubleKind::Broken, words(error)))
        });
        Ok(Reply { status, location, content_type, headers, body: body.boxed() })
    }
}

/// The headers of an answer, as far as they are bearable and say nothing that belongs to one client alone.
fn shown(headers: &HeaderMap) -> Vec<(String, String)> {
    let cookies = |name: &str| matches!(name, "set-cookie" | "set-cookie2");
    let named = headers.iter().filter(|(name, _)| !cookies(name.as_str()));
    let told = named.map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).chars().take(LONGEST_SHOWN).collect();
        (name.as_str().to_owned(), value)
    });
    told.take(MOST_SHOWN).collect()
}

/// An error with what caused it, without the URL, which the caller knows.
fn causes(error: &reqwest::Error) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        let told = error.to_string();
        if !words.iter().any(|word| word.contains(&told)) {
            words.push(told);
        }
        cause = error.source();
    }
    if words.is_empty() {
        words.push("it broke off".to_owned());
    }
    format!("{}.", words.join(": "))
}
