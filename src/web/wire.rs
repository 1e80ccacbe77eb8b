//! HTTP and TLS: one request to one machine, at the addresses that were checked and no others.

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::{FutureExt as _, StreamExt as _};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::redirect::Policy;
use rustls::crypto::ring;
use rustls::{AlertDescription, ClientConfig};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::OnceCell;
use tokio_util::task::AbortOnDropHandle;

use super::client::{Proxy, Reply, Trouble, TroubleKind, Wire};
use super::request::Request;
use super::target::Origin;

/// What we call ourselves.
const AGENT: &str = concat!("Mozilla/5.0 (compatible; ropewalk/", env!("CARGO_PKG_VERSION"), ")");

/// Of an answer so many headers are told, of each so many characters.
const MOST_SHOWN: usize = 50;
const LONGEST_SHOWN: usize = 300;

/// Real connections. Each request has one of its own, so that none is used again that was dialled for another check; what
/// they share is how TLS is spoken, made with the first that needs it, and the thread that they live on.
#[derive(Default)]
pub struct Http {
    tls: OnceCell<ClientConfig>,
    runtime: OnceCell<Runtime>,
}

impl Drop for Http {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Http {
    /// Where connections live. A machine that floods one (with 1xx answers without end, say) keeps busy whatever thread
    /// reads them, for seconds at a time: that must be none that a deadline, a cancel or the editor waits for.
    async fn runtime(&self) -> Result<&Runtime, Trouble> {
        let make = || async {
            let made = Builder::new_multi_thread().worker_threads(1).thread_name("ropewalk-web").enable_all().build();
            made.map_err(|error| Trouble::new(TroubleKind::Broken, format!("No thread can be started: {error}.")))
        };
        self.runtime.get_or_try_init(make).await
    }

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
        // Not `deflate`, of which there are two kinds that are mistaken for each other; and no part of what is compressed.
        let ranged = request.header("range").is_some();
        sent = sent.header(ACCEPT_ENCODING, if ranged { "identity" } else { "gzip, br" });
        let host = &request.target.origin.host;
        let sending = AbortOnDropHandle::new(self.runtime().await?.spawn(sent.send()));
        let reply =
            sending.await.map_err(|_| Trouble::new(TroubleKind::Broken, format!("{host} could not be asked.")))?;
        let reply = reply.map_err(|error| match spoken(&error) {
            Some(tls) => not_secure(&request.target.origin, tls),
            None if error.is_connect() => {
                let words = format!("{host} cannot be reached: {}", causes(&error));
                Trouble::new(TroubleKind::Unreachable, words)
            }
            None => broken(&format!("{host} gave no answer that can be read: "), &error),
        })?;
        let header =
            |name| reply.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let (status, location, content_type) = (reply.status().as_u16(), header(LOCATION), header(CONTENT_TYPE));
        let headers = shown(reply.headers());
        // What could be decompressed says so no more.
        let encoding = header(CONTENT_ENCODING).filter(|name| !matches!(name.trim(), "" | "identity"));
        let host = host.clone();
        let body = reply.bytes_stream().map(move |chunk| {
            let trouble = |words: String| Trouble::new(TroubleKind::Broken, words);
            let chunk =
                chunk.map_err(|error| trouble(format!("The content of {host} broke off: {}", causes(&error))))?;
            match &encoding {
                Some(name) if !chunk.is_empty() => Err(trouble(format!(
                    "The content of {host} is encoded as {name:?}, which was not asked for and cannot be read here."
                ))),
                _ => Ok(chunk.to_vec()),
            }
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

/// What TLS has to say of an error.
fn spoken<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    if let Some(tls) = error.downcast_ref() {
        return Some(tls);
    }
    // What is wrapped in an error of I/O is not what it names as its cause.
    let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    match wrapped {
        Some(inner) => spoken(inner),
        None => spoken(error.source()?),
    }
}

/// Why TLS cannot be spoken with a machine. It will be so the next time, too.
fn not_secure(Origin { host, port, .. }: &Origin, error: &rustls::Error) -> Trouble {
    let words = match error {
        rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented => format!(
            "{host} cannot show that it is {host}: {error}. Nothing was asked of it. What is trusted is for the user to say, \
             to the system."
        ),
        rustls::Error::InvalidMessage(_) => format!(
            "{host} does not speak TLS at port {port}: {error}. See that the port is right, and whether `http:` is meant."
        ),
        rustls::Error::PeerIncompatible(_)
        | rustls::Error::AlertReceived(
            AlertDescription::ProtocolVersion
            | AlertDescription::HandshakeFailure
            | AlertDescription::InsufficientSecurity,
        ) => format!("{host} does not speak TLS 1.2 or 1.3 as it is spoken today: {error}."),
        _ => format!("TLS could not be spoken with {host}: {error}."),
    };
    Trouble::new(TroubleKind::Broken, words)
}

/// An error with what caused it, without the URL, which the caller knows.
pub fn causes(error: &reqwest::Error) -> String {
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
