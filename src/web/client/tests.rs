//! Fetches without a network: names that lead elsewhere the second time, machines that send on, and that no special address
//! is dialled whatever they say.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use futures_util::stream;
use proptest::prelude::*;

use super::*;
use crate::ports::SystemClock;
use crate::web::{Method, parse, special};

/// Where names lead, each time they are looked up; the last answer stays.
#[derive(Default)]
struct Names(Mutex<BTreeMap<String, Vec<Vec<IpAddr>>>>);

#[async_trait]
impl Lookup for Names {
    async fn lookup(&self, host: &str) -> std::io::Result<Vec<IpAddr>> {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let answers = names.get_mut(host).ok_or_else(|| std::io::Error::other("no such name"))?;
        Ok(if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() })
    }
}

/// An answer: the status, where it leads, and the pieces of the body, after which it may be silent.
type Answer = (u16, Option<String>, Vec<&'static str>, bool);

/// What machines answer, by URL.
#[derive(Default)]
struct Machines {
    answers: BTreeMap<String, Answer>,
    dialled: Mutex<Vec<(Request, Vec<IpAddr>, bool)>>,
}

#[async_trait]
impl Wire for Machines {
    async fn send(&self, request: &Request, addresses: &[IpAddr], proxy: Option<&Proxy>) -> Result<Reply, Trouble> {
        self.dialled.lock().unwrap().push((request.clone(), addresses.to_vec(), proxy.is_some()));
        let nothing = (404, None, vec!["nothing"], false);
        let (status, location, pieces, silent) =
            self.answers.get(request.target.url.as_str()).cloned().unwrap_or(nothing);
        let pieces = stream::iter(pieces.into_iter().map(|piece| Ok(piece.as_bytes().to_vec())));
        let body = if silent { pieces.chain(stream::pending()).boxed() } else { pieces.boxed() };
        Ok(Reply { status, location, content_type: Some("text/plain".to_owned()), headers: Vec::new(), body })
    }
}

/// Says the same of every redirect, and counts.
struct Says(Result<(), Halt>, AtomicUsize);

#[async_trait]
impl Guide for Says {
    async fn passes(&self, _: &Request, _: bool) -> Result<(), Halt> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.clone()
    }
}

struct World {
    names: Arc<Names>,
    machines: Arc<Machines>,
    terms: Terms,
}

impl World {
    /// Names with the addresses they lead to each time, and answers.
    fn new(names: &[(&str, &[&str])], answers: &[(&str, u16, Option<&str>)]) -> World {
        let names = names.iter().map(|(name, times)| {
            let all = |time: &&str| time.split_whitespace().map(|address| address.parse().unwrap()).collect();
            ((*name).to_owned(), times.iter().map(all).collect())
        });
        let answers = answers.iter().map(|(url, status, location)| {
            ((*url).to_owned(), (*status, location.map(str::to_owned), vec!["one ", "two"], false))
        });
        World {
            names: Arc::new(Names(Mutex::new(names.collect()))),
            machines: Arc::new(Machines { answers: answers.collect(), ..Machines::default() }),
            terms: Terms {
                local: Vec::new(),
                proxy: None,
                max_bytes: 100,
                whole: Duration::from_secs(30),
                silence: Duration::from_secs(5),
            },
        }
    }

    async fn ask(&self, request: Request, says: Result<(), Halt>) -> (Result<Fetched, Trouble>, usize) {
        let client = Client::new(self.names.clone(), self.machines.clone());
        let guide = Says(says, AtomicUsize::new(0));
        let fetched = client.fetch(request, &self.terms, &guide, &SystemClock).await;
        (fetched, guide.1.into_inner())
    }

    async fn get(&self, url: &str) -> Result<Fetched, Trouble> {
        self.ask(Request::get(parse(url, &self.terms.local).unwrap()), Ok(())).await.0
    }

    /// What was dialled: each URL with its addresses.
    fn dialled(&self) -> Vec<String> {
        let dialled = self.machines.dialled.lock().unwrap();
        let told = |(request, addresses, proxy): &(Request, Vec<IpAddr>, bool)| {
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            let by = if *proxy { " by proxy" } else { "" };
            format!("{} at {}{by}", request.target.url, addresses.join(" "))
        };
        dialled.iter().map(told).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_that_leads_elsewhere_the_second_time() {
    // What was checked is what is dialled: there is no second look-up to lie to.
    let world = World::new(&[("a.org", &["1.1.1.1", "127.0.0.1"])], &[("https://a.org/", 200, None)]);
    assert_eq!(world.get("https://a.org/").await.unwrap().body, b"one two");
    assert_eq!(world.dialled(), ["https://a.org/ at 1.1.1.1"]);
    // The next hop is looked up anew, and checked anew.
    let world = World::new(&[("a.org", &["1.1.1.1", "169.254.169.254"])], &[("https://a.org/", 302, Some("/b"))]);
    let trouble = world.get("https://a.org/").await.unwrap_err();
    assert_eq!(trouble.kind, TroubleKind::Refused);
    assert!(trouble.words.contains("169.254.169.254"), "{trouble}");
    assert_eq!(world.dialled(), ["https://a.org/ at 1.1.1.1"]);
    // One special address among others is enough.
    let world = World::new(&[("a.org", &["1.1.1.1 10.0.0.1"])], &[]);
    assert_eq!(world.get("https://a.org/").await.unwrap_err().kind, TroubleKind::Refused);
    assert!(world.dialled().is_empty());
    let trouble = world.get("https://nowhere.org/").await.unwrap_err();
    assert_eq!(trouble.kind, TroubleKind::Unreachable);
}

#[tokio::test(start_paused = true)]
async fn another_machine_is_gone_on_to_only_when_the_rules_say_so() {
    let names: &[(&str, &[&str])] = &[("a.org", &["1.1.1.1"]), ("b.org", &["8.8.8.8"]), ("www.a.org", &["1.1.1.1"])];
    for (location, says, asked, dialled, leads_to) in [
        ("https://a.org/x", Err(Halt::Ask), 0, 2, None),
        ("https://www.a.org/", Ok(()), 1, 2, None),
        ("https://www.a.org/", Err(Halt::Ask), 1, 1, Some("https://www.a.org/")),
        ("https://b.org/x", Ok(()), 1, 2, None),
        ("https://b.org/x", Err(Halt::Ask), 1, 1, Some("https://b.org/x")),
    ] {
        let world = World::new(names, &[("https://a.org/", 302, Some(location))]);
        let (fetched, questions) = world.ask(Request::get(parse("https://a.org/", &[]).unwrap()), says).await;
        let fetched = fetched.unwrap();
        assert_eq!((questions, world.dialled().len()), (asked, dialled), "{location}");
        assert_eq!(fetched.leads_to.map(|next| next.target.url.to_string()).as_deref(), leads_to, "{location}");
    }
    let world = World::new(names, &[("https://a.org/", 302, Some("https://b.org/"))]);
    let request = Request::get(parse("https://a.org/", &[]).unwrap());
    let (fetched, _) = world.ask(request, Err(Halt::Deny("the rule x denies it".to_owned()))).await;
    assert!(fetched.unwrap_err().words.ends_with("is not followed: the rule x denies it."));
    assert_eq!(world.dialled().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn no_credential_goes_along_to_another_origin() {
    let world = World::new(
        &[("a.org", &["1.1.1.1"]), ("b.org", &["8.8.8.8"])],
        &[("https://a.org/", 302, Some("/next")), ("https://a.org/next", 302, Some("https://b.org/"))],
    );
    let mut request = Request::get(parse("https://a.org/", &[]).unwrap());
    for name in ["authorization", "cookie", "x-token", "accept"] {
        request.headers.push((name.to_owned(), "x".to_owned()));
    }
    world.ask(request, Ok(())).await.0.unwrap();
    let sent: Vec<Vec<String>> = world
        .machines
        .dialled
        .lock()
        .unwrap()
        .iter()
        .map(|(request, ..)| request.headers.iter().map(|(name, _)| name.clone()).collect())
        .collect();
    assert_eq!(sent.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 1]);
    assert_eq!(sent[2], ["accept"]);
}

#[tokio::test(start_paused = true)]
async fn a_body_is_read_as_far_as_it_may_be() {
    let mut world = World::new(&[("a.org", &["1.1.1.1"])], &[("https://a.org/", 200, None)]);
    for (most, read, cut) in [(100, "one two", false), (7, "one two", false), (6, "one tw", true), (2, "on", true)] {
        world.terms.max_bytes = most;
        let fetched = world.get("https://a.org/").await.unwrap();
        assert_eq!((fetched.body.as_slice(), fetched.cut), (read.as_bytes(), cut), "{most}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_is_silent_is_given_up_and_so_is_who_never_ends() {
    let mut world = World::new(&[("a.org", &["1.1.1.1"])], &[]);
    let answers = [("https://a.org/".to_owned(), (200, None, vec!["one"], true))];
    world.machines = Arc::new(Machines { answers: answers.into(), ..Machines::default() });
    let trouble = world.get("https://a.org/").await.unwrap_err();
    assert_eq!(trouble.kind, TroubleKind::Slow);
    assert!(trouble.words.starts_with("a.org was silent for 5000 ms"), "{trouble}");
    world.terms.whole = Duration::from_secs(3);
    let trouble = world.get("https://a.org/").await.unwrap_err();
    assert!(trouble.words.starts_with("It took longer than 3000 ms, and 3 bytes"), "{trouble}");
}

#[tokio::test(start_paused = true)]
async fn a_proxy_is_no_way_round() {
    let mut world = World::new(
        &[("proxy.corp", &["10.0.0.1"]), ("a.org", &["1.1.1.1"]), ("trap.org", &["10.0.0.2"])],
        &[("https://a.org/", 200, None), ("https://unknown.org/", 200, None), ("http://127.0.0.1:8080/", 200, None)],
    );
    world.terms.proxy = Some(Url::parse("http://proxy.corp:3128").unwrap());
    world.terms.local = vec![Origin::read("http://127.0.0.1:8080").unwrap()];
    world.get("https://a.org/").await.unwrap();
    assert_eq!(world.get("https://trap.org/").await.unwrap_err().kind, TroubleKind::Refused);
    // Who has a proxy may have no way to look names up.
    world.get("https://unknown.org/").await.unwrap();
    // What is local is not asked of it.
    world.get("http://127.0.0.1:8080/").await.unwrap();
    let expected = [
        "https://a.org/ at 1.1.1.1 by proxy",
        "https://unknown.org/ at  by proxy",
        "http://127.0.0.1:8080/ at 127.0.0.1",
    ];
    assert_eq!(world.dialled(), expected);
}

/// An address of any kind, special ones often.
fn address() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("1.1.1.1".to_owned()),
        Just("2606:4700::1111".to_owned()),
        Just("127.0.0.1".to_owned()),
        Just("::ffff:169.254.169.254".to_owned()),
        any::<u32>().prop_map(|bits| std::net::Ipv4Addr::from(bits).to_string()),
        any::<u128>().prop_map(|bits| std::net::Ipv6Addr::from(bits).to_string()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn no_special_address_is_ever_dialled(
        found in proptest::collection::vec(proptest::collection::vec(address(), 1..3), 1..4),
        locations in proptest::collection::vec(
            prop_oneof![
                "https?://(a|b|www\\.a)\\.org/[0-3]",
                address().prop_map(|address| if address.contains(':') { format!("https://[{address}]/") } else { format!("https://{address}/") }),
                "//[0-9x.]{1,12}/",
                "/[0-3]",
            ],
            4,
        ),
        method in prop_oneof![Just(Method::Get), Just(Method::Post)],
    ) {
        let times: Vec<String> = found.iter().map(|addresses| addresses.join(" ")).collect();
        let times: Vec<&str> = times.iter().map(String::as_str).collect();
        let names: &[(&str, &[&str])] = &[("a.org", &times), ("b.org", &times), ("www.a.org", &times)];
        let mut answers = vec![("https://a.org/".to_owned(), locations[0].clone())];
        for (at, location) in locations.iter().enumerate() {
            for host in ["https://a.org", "https://b.org", "https://www.a.org", "http://a.org"] {
                answers.push((format!("{host}/{at}"), location.clone()));
            }
        }
        let answers: Vec<(&str, u16, Option<&str>)> =
            answers.iter().map(|(url, location)| (url.as_str(), 307, Some(location.as_str()))).collect();
        let world = World::new(names, &answers);
        let request = Request { method, ..Request::get(parse("https://a.org/", &[]).unwrap()) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let _ = runtime.block_on(world.ask(request, Ok(())));
        for (request, addresses, _) in world.machines.dialled.lock().unwrap().iter() {
            prop_assert!(!addresses.is_empty());
            for address in addresses {
                prop_assert_eq!(special(*address), None, "{}", request.target.url);
            }
        }
    }
}
