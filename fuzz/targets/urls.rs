//! URLs that may be fetched: what passes leads to the public internet, by whatever spelling and redirect.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::parts::texts;
use ropewalk::web::{Course, MOST_REDIRECTS, Next, Origin, Request, Step, Target, checked, follow, parse, special};

/// A URL, an origin that the user has named, an address, and redirects.
pub fn urls(data: &[u8]) {
    let [url, local, address, first, second] = texts::<5>(data);
    addresses(address.as_bytes());
    let local: Vec<Origin> = Origin::read(&local).into_iter().collect();
    let Ok(target) = parse(&url, &[]) else {
        if let Ok(target) = parse(&url, &local) {
            assert_eq!(local, [target.origin], "what is not public was named");
        }
        return;
    };
    public(&target);
    assert_eq!(parse(target.url.as_str(), &[]).as_ref(), Ok(&target), "what passes does so again");
    assert_eq!(parse(&url, &local).as_ref(), Ok(&target));
    dialled(&target, address.as_bytes());
    let mut course = Course::new(Request::get(target.clone()), &local);
    for location in [&first, &second].into_iter().cycle().take(2 * MOST_REDIRECTS) {
        step(&target, location, &local);
        match course.answered(302, Some(location)) {
            Ok(Next::On(next)) => course.go(next),
            Ok(Next::Arrived) => panic!("a redirect leads on"),
            Ok(Next::Elsewhere(next)) => return public_or(&next.target, &local),
            Err(refused) => return assert!(!refused.0.is_empty()),
        }
        assert!(course.redirects() <= MOST_REDIRECTS);
        public_or(&course.now().target, &local);
    }
}

/// Where a redirect leads: never to a local machine, and on the same site or told as elsewhere.
fn step(from: &Target, location: &str, local: &[Origin]) {
    let to = match follow(from, location, local) {
        Ok(Step::Go(to)) => {
            let site = |target: &Target| target.origin.host.trim_start_matches("www.").to_owned();
            assert_eq!(site(from), site(&to), "another site is elsewhere");
            to
        }
        Ok(Step::Elsewhere(to)) => to,
        Err(refused) => return assert!(!refused.0.is_empty()),
    };
    public_or(&to, local);
    let kept = from.origin.scheme == "http" || to.origin.scheme == "https" || local.contains(&to.origin);
    assert!(kept, "{} gives up encryption", to.url);
    assert!(!local.contains(&to.origin) || from.origin == to.origin || local.contains(&from.origin), "{}", to.url);
}

fn public_or(target: &Target, local: &[Origin]) {
    if !local.contains(&target.origin) {
        public(target);
    }
}

/// A target that nobody has named leads to no machine of ours.
fn public(target: &Target) {
    let Target { url, origin } = target;
    assert!(matches!(url.scheme(), "http" | "https") && url.scheme() == origin.scheme);
    assert!(url.username().is_empty() && url.password().is_none() && url.fragment().is_none(), "{url}");
    assert_eq!(url.port_or_known_default(), Some(origin.port));
    let host = url.host_str().expect("it has a host").trim_matches(['[', ']']);
    assert_eq!(host.strip_suffix('.').unwrap_or(host), origin.host);
    assert!(
        !host.is_ascii() || !host.contains(|c: char| c.is_ascii_uppercase() || c.is_ascii_whitespace()),
        "{host:?}"
    );
    if let Ok(address) = origin.host.parse::<IpAddr>() {
        assert!(!private(address), "{url} leads to {address}");
        return;
    }
    assert!(origin.host.contains('.') && !origin.host.ends_with('.'), "{host:?}");
    let top = origin.host.rsplit('.').next().unwrap_or_default();
    assert!(!matches!(top, "localhost" | "local" | "internal" | "lan" | "onion" | "home" | "corp"), "{host:?}");
    // What a resolver of old would take for an address: 127.1, 0x7f.1, 2130706433.
    let hex = top.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let numeric = hex || top.bytes().all(|byte| byte.is_ascii_digit());
    assert!(!numeric, "{host:?} may be read as an address");
}

/// Addresses are dialled all or not at all.
fn dialled(target: &Target, bytes: &[u8]) {
    let found: Vec<IpAddr> =
        bytes.chunks_exact(4).map(|four| IpAddr::from([four[0], four[1], four[2], four[3]])).collect();
    match checked(target, &found, &[]) {
        Ok(dialled) => assert!(dialled == found && !found.iter().copied().any(private), "{found:?}"),
        Err(refused) => assert!(!refused.0.is_empty()),
    }
}

/// What the standard library calls private, or is so by what is carried in it, is special.
fn addresses(bytes: &[u8]) {
    let mut octets = [0; 16];
    octets.iter_mut().zip(bytes).for_each(|(octet, byte)| *octet = *byte);
    let four = Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]);
    let six = Ipv6Addr::from(octets);
    let [a, b, c, d] = four.octets();
    let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    let around = [
        Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low),
        Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
        Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
        Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
        Ipv6Addr::new(0x2600, 1, 2, 3, 0, 0x5efe, high, low),
    ];
    for address in [IpAddr::V4(four), IpAddr::V6(six)] {
        assert!(!private(address) || special(address).is_some(), "{address}");
    }
    for address in around {
        assert!(!private(IpAddr::V4(four)) || special(IpAddr::V6(address)).is_some(), "{address}");
    }
}

/// Whether an address is no machine of the public internet, as far as the standard library and a few more know.
fn private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => {
            let [a, b, ..] = four.octets();
            let named = four.is_private() || four.is_loopback() || four.is_link_local() || four.is_unspecified();
            named || four.is_broadcast() || four.is_multicast() || a == 0 || a == 100 && (64..128).contains(&b)
        }
        IpAddr::V6(six) => {
            let named = six.is_loopback() || six.is_unspecified() || six.is_multicast() || six.is_unique_local();
            named || six.is_unicast_link_local() || six.to_ipv4_mapped().is_some_and(|four| private(IpAddr::V4(four)))
        }
    }
}
