//! Which addresses of the internet protocols are no ordinary machines of the public internet. Pure.
//!
//! The ranges are those of IANA's special-purpose registries for IPv4 (RFC 6890 and those after it) and IPv6, with the
//! blocks that never were public besides. An address that carries another one inside (mapped, 6to4, NAT64, Teredo) is no
//! way round them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// First address, length of the prefix in bits, what it is.
type Range4 = ([u8; 4], u32, &'static str);

/// The special ranges of IPv4.
const RANGES4: &[Range4] = &[
    ([0, 0, 0, 0], 8, "this network"),
    ([10, 0, 0, 0], 8, "a private network"),
    ([100, 64, 0, 0], 10, "a provider's shared network"),
    ([127, 0, 0, 0], 8, "this machine"),
    // A public address that each machine of Azure finds its platform's agent at, which hands out secrets.
    ([168, 63, 129, 16], 32, "a cloud's own way to its machines"),
    ([169, 254, 0, 0], 16, "the local link, where clouds keep their metadata"),
    ([172, 16, 0, 0], 12, "a private network"),
    ([192, 0, 0, 0], 24, "reserved for protocols"),
    ([192, 0, 2, 0], 24, "reserved for documentation"),
    ([192, 31, 196, 0], 24, "reserved for AS112"),
    ([192, 52, 193, 0], 24, "reserved for AMT"),
    ([192, 88, 99, 0], 24, "reserved for 6to4 relays"),
    ([192, 168, 0, 0], 16, "a private network"),
    ([192, 175, 48, 0], 24, "reserved for AS112"),
    ([198, 18, 0, 0], 15, "reserved for benchmarks"),
    ([198, 51, 100, 0], 24, "reserved for documentation"),
    ([203, 0, 113, 0], 24, "reserved for documentation"),
    ([224, 0, 0, 0], 4, "multicast"),
    ([240, 0, 0, 0], 4, "reserved"),
];

/// First address (its first four groups), length of the prefix in bits (at most 64), what it is.
type Range6 = ([u16; 4], u32, &'static str);

/// The special ranges within what is handed out of IPv6, `2000::/3`. All that is outside of that is special as it is.
const RANGES6: &[Range6] = &[
    ([0x2001, 0, 0, 0], 23, "reserved for protocols"),
    ([0x2001, 0xdb8, 0, 0], 32, "reserved for documentation"),
    ([0x2002, 0, 0, 0], 16, "a way round over IPv4 (6to4)"),
    ([0x2620, 0x4f, 0x8000, 0], 48, "reserved for AS112"),
    ([0x3ffe, 0, 0, 0], 16, "a test network of old"),
    ([0x3fff, 0, 0, 0], 20, "reserved for documentation"),
];

/// What an address is, if it is no ordinary machine of the public internet.
pub fn special(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => special4(address),
        IpAddr::V6(address) => special6(address),
    }
}

fn special4(address: Ipv4Addr) -> Option<&'static str> {
    let bits = u32::from(address);
    let inside = |(first, length, _): &&Range4| (bits ^ u32::from(Ipv4Addr::from(*first))) >> (32 - length) == 0;
    RANGES4.iter().find(inside).map(|(_, _, what)| *what)
}

fn special6(address: Ipv6Addr) -> Option<&'static str> {
    let bits = u128::from(address);
    let groups = address.segments();
    match groups {
        [0, 0, 0, 0, 0, 0, 0, 0] => return Some("no address"),
        [0, 0, 0, 0, 0, 0, 0, 1] => return Some("this machine"),
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => return Some("an IPv4 address in disguise"),
        // NAT64 is how networks without IPv4 reach it: it is what it leads to.
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
            let [.., a, b, c, d] = address.octets();
            return special4(Ipv4Addr::new(a, b, c, d));
        }
        [0x64, 0xff9b, 1, ..] => return Some("a network's own way to IPv4 (NAT64)"),
        [0xfe80..=0xfebf, ..] => return Some("the local link"),
        [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => return Some("a private network"),
        [0xff00..=0xffff, ..] => return Some("multicast"),
        [0x2000..=0x3fff, ..] => {}
        _ => return Some("not handed out"),
    }
    // The interface of ISATAP, which carries an IPv4 address.
    if matches!(groups, [.., 0 | 0x200, 0x5efe, _, _]) {
        return Some("an IPv4 address in disguise");
    }
    let top = (bits >> 64) as u64;
    let inside = |(first, length, _): &&Range6| {
        let first = first.iter().fold(0u64, |sum, group| sum << 16 | u64::from(*group));
        (top ^ first) >> (64 - length) == 0
    };
    RANGES6.iter().find(inside).map(|(_, _, what)| *what)
}
