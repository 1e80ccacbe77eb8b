//! Machines in rules. Pure.

/// What a pattern says that can only be a machine.
pub(super) fn machines(pattern: &str) -> Option<&str> {
    pattern.strip_prefix("host:").map(str::trim)
}

/// A machine as URLs name it: in lower case, in ASCII, an address in its usual form; `None`: that is none.
pub(super) fn machine(name: &str) -> Option<url::Host> {
    let name = name.trim().trim_end_matches('.');
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse::<std::net::Ipv6Addr>() {
        return Some(url::Host::Ipv6(address));
    }
    // A star is no letter of a name: who writes one means something else.
    url::Host::parse(name).ok().filter(|_| !name.contains('*'))
}

/// Whether a pattern means a machine.
pub(super) fn is_host(pattern: &str, host: &str) -> bool {
    let (name, own, below) = match (machines(pattern), pattern.strip_prefix("domain:")) {
        (Some(name), _) => match name.strip_prefix('.') {
            Some(domain) => (domain, false, true),
            None => (name, true, false),
        },
        (None, Some(domain)) => (domain, true, true),
        (None, None) => return pattern == host,
    };
    let (Some(name), Some(host)) = (machine(name), machine(host)) else { return false };
    // An address has no domains below it.
    let inside = match (&name, &host) {
        (url::Host::Domain(name), url::Host::Domain(host)) => {
            host.strip_suffix(name.as_str()).is_some_and(|rest| rest.ends_with('.'))
        }
        _ => false,
    };
    own && name == host || below && inside
}
