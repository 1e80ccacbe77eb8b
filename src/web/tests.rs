//! Each row of `fixtures/web/targets.txt`, and what holds for all addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;

/// What the user's settings name.
fn own() -> Vec<Origin> {
    let origin = |scheme: &str, host: &str, port| Origin { scheme: scheme.to_owned(), host: host.to_owned(), port };
    vec![origin("http", "127.0.0.1", 8080), origin("https", "wiki.corp", 443)]
}

/// What becomes of a row's URL: a word, and why.
fn decided(url: &str, found: &[IpAddr]) -> (&'static str, String) {
    let own = own();
    let step = match url.strip_prefix("-> ") {
        Some(location) => {
            let from = parse("https://example.org/dir/page", &own).unwrap();
            follow(&from, location, &own).map(|step| match step {
                Step::Go(target) => ("go", target),
                Step::Elsewhere(target) => ("elsewhere", target),
            })
        }
        None => parse(url, &own).map(|target| (if own.contains(&target.origin) { "own" } else { "allow" }, target)),
    };
    match step.and_then(|(word, target)| checked(&target, found, &own).map(|_| word)) {
        Ok(word) => (word, String::new()),
        Err(Refused(why)) => ("block", why),
    }
}

#[test]
fn rows() {
    let (mut rows, mut faults) = (0, Vec::new());
    for (at, line) in include_str!("../../fixtures/web/targets.txt").lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        rows += 1;
        let mut fields = line.split('|').map(str::trim);
        let mut field = || fields.next().unwrap_or_default();
        let (expected, url, found, fragment) = (field(), field(), field(), field());
        let found: Vec<IpAddr> = found.split_whitespace().map(|address| address.parse().unwrap()).collect();
        let (word, why) = decided(url, &found);
        if word != expected || !why.contains(fragment) {
            faults.push(format!("line {}: {line}\n    {word}: {why}", at + 1));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(rows >= 200, "{rows}");
}

proptest! {
    #[test]
    fn no_ipv6_address_is_a_way_round(bits in any::<u32>(), low in any::<u32>()) {
        let inner = Ipv4Addr::from(bits);
        let [a, b, c, d] = inner.octets().map(u16::from);
        let (high, rest) = (a << 8 | b, c << 8 | d);
        let carriers = [
            Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, rest),
            Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, rest),
            Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, rest),
            Ipv6Addr::new(0x2002, high, rest, 0, 0, 0, 0, 1),
            Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, rest),
            Ipv6Addr::new(0x2001, 0, 0x4136, 0xe378, 0x8000, (low >> 16) as u16, !high, !rest),
            Ipv6Addr::new(0x2606, 0x4700, 0, 0, 0, 0x5efe, high, rest),
        ];
        for carrier in carriers {
            prop_assert!(special(carrier.into()).is_some(), "{carrier}");
        }
        let nat64 = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, rest);
        prop_assert_eq!(special(nat64.into()).is_some(), special(inner.into()).is_some());
    }

    #[test]
    fn an_address_is_the_same_however_it_is_spelled(bits in any::<u32>(), form in 0usize..5) {
        let address = Ipv4Addr::from(bits);
        let [a, b, c, d] = address.octets();
        let host = match form {
            0 => format!("{bits}"),
            1 => format!("0x{bits:x}"),
            2 => format!("0{bits:o}"),
            3 => format!("{a}.{}", bits & 0xff_ffff),
            _ => format!("0x{a:x}.0{b:o}.{}", u32::from(c) << 8 | u32::from(d)),
        };
        let target = parse(&format!("http://{host}/"), &[]);
        prop_assert_eq!(target.is_ok(), special(address.into()).is_none(), "{} {:?}", host, target);
        if let Ok(target) = target {
            prop_assert_eq!(target.origin.host, address.to_string());
        }
    }

    #[test]
    fn whatever_is_read_leads_to_the_public_internet(text in "(https?:|)[/\\\\]{0,3}[a-z0-9@.:%\\[\\]x]{0,24}[/?#]?.{0,8}") {
        if let Ok(target) = parse(&text, &[]) {
            prop_assert!(matches!(target.url.scheme(), "http" | "https"));
            prop_assert!(target.url.username().is_empty() && target.url.password().is_none());
            if let Ok(address) = target.origin.host.parse() {
                prop_assert_eq!(special(address), None);
            }
            // It reads the same again.
            prop_assert_eq!(parse(target.url.as_str(), &[]), Ok(target));
        }
    }
}
