//! What looks like a credential in a text: keys and tokens by the shapes that their makers document, and values that are
//! given to names like `PASSWORD` and look like nothing a person would write. Pure.
//!
//! It is asked about only where such a text leaves: to another machine, or to a place outside the workspace folders. In the
//! workspace folders it stays where it was, and a file is read and written like any other. What is noted for later is looked
//! at more strictly ([`noted_credential`]): there, doubt costs no more than another wording.

use std::ops::Range;

/// Tokens that begin so, then have at least so many characters of their alphabet: (prefix, length, what it is).
const TOKENS: &[(&str, usize, &str)] = &[
    ("AIza", 35, "a Google API key"),
    ("AKIA", 16, "an AWS access key id"),
    ("ASIA", 16, "an AWS access key id"),
    ("GOCSPX-", 24, "a Google client secret"),
    ("dop_v1_", 64, "a DigitalOcean token"),
    ("ghp_", 36, "a GitHub token"),
    ("gho_", 36, "a GitHub token"),
    ("ghr_", 36, "a GitHub token"),
    ("ghs_", 36, "a GitHub token"),
    ("ghu_", 36, "a GitHub token"),
    ("github_pat_", 50, "a GitHub token"),
    ("glpat-", 20, "a GitLab token"),
    ("hf_", 34, "a Hugging Face token"),
    ("npm_", 36, "an npm token"),
    ("pypi-AgEIcHlwaS5vcmc", 50, "a PyPI token"),
    ("rk_live_", 20, "a Stripe key"),
    ("sk-ant-", 40, "an Anthropic key"),
    ("sk-proj-", 40, "an OpenAI key"),
    ("sk_live_", 20, "a Stripe key"),
    ("whsec_", 32, "a Stripe secret"),
    ("xapp-", 30, "a Slack token"),
    ("xoxb-", 24, "a Slack token"),
    ("xoxp-", 24, "a Slack token"),
    ("ya29.", 30, "a Google access token"),
];

/// What names end in, without case, that are given a secret.
const NAMES: &[&str] =
    &["apikey", "api_key", "passphrase", "password", "passwd", "secret", "secret_key", "access_key", "token"];

/// Tokens that a note may not hold, though they are shorter than those that leave: (prefix, length, what it is).
const SHORT_TOKENS: &[(&str, usize, &str)] = &[
    ("github_pat_", 22, "a GitHub token"),
    ("sk-ant-", 10, "an Anthropic key"),
    ("sk-", 20, "an OpenAI key"),
    ("xoxa-", 10, "a Slack token"),
    ("xoxb-", 10, "a Slack token"),
    ("xoxp-", 10, "a Slack token"),
    ("xoxr-", 10, "a Slack token"),
    ("xoxs-", 10, "a Slack token"),
];

/// What names end in besides that are given a secret in a note.
const NOTED_NAMES: &[&str] = &["private_key", "pwd", "client_secret", "credentials", "pin"];

/// In a note a value given to such a name may be a secret from so many bytes on.
const SHORTEST_NOTED: usize = 8;

/// A word of lower-case letters of at most so many bytes is a plain one.
const PLAIN_WORD: usize = 14;

/// A value given to such a name is a secret from so many characters on.
const SHORTEST: usize = 16;

/// Of so many bits a character, on average: what people write has less.
const ENTROPY: f64 = 3.3;

/// What in a text looks like a credential, in words for a person.
pub fn credential(text: &str) -> Option<&'static str> {
    if key_block(text) {
        return Some("a private key");
    }
    token(text).or_else(|| text.lines().any(assigned).then_some("a password or token"))
}

/// What in a note looks like a credential, in words for a person: whatever [`credential`] sees, keys that are cut short, and
/// any value of a password or key that is no plain word and does not say where to look.
pub fn noted_credential(note: &str) -> Option<&'static str> {
    let head = note.match_indices("-----BEGIN ").any(|(at, begin)| {
        note[at + begin.len()..].split_once("-----").is_some_and(|(label, _)| label.trim_end().contains("PRIVATE KEY"))
    });
    if head {
        return Some("a private key");
    }
    credential(note)
        .or_else(|| starts(note, SHORT_TOKENS, |_, _| true))
        .or_else(|| note.lines().any(noted).then_some("a password or token"))
}

/// Whether a line of a note gives a password or key a value.
fn noted(line: &str) -> bool {
    noted_values(line).next().is_some()
}

/// The values that a line of a note gives to passwords and keys (byte ranges).
fn noted_values(line: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    line.match_indices(['=', ':']).filter_map(|(at, _)| {
        let quotes: &[char] = &['"', '\'', '`', ' ', '\t', '*'];
        let before = line[..at].trim_end_matches(quotes);
        let name = before.rsplit(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | ' ')).next();
        let name: String = name.unwrap_or_default().to_ascii_lowercase().replace(['-', ' '], "_");
        if !NAMES.iter().chain(NOTED_NAMES).any(|end| name.ends_with(end)) {
            return None;
        }
        // `==`, `=>` and `:=` are read where they end.
        let value = line[at + 1..].trim_start_matches(['=', ':', '>']).trim_start_matches(quotes);
        let from = line.len() - value.len();
        let end = value.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ';' | '&' | ')'));
        let value = value[..end.unwrap_or(value.len())].trim_end_matches(['.', '*']);
        secretive(value).then(|| from..from + value.len())
    })
}

/// Whether a value may be a secret: long enough, no plain word, and no word of where to look.
fn secretive(value: &str) -> bool {
    let reference =
        value.contains(['$', '(', '{', '<', '[']) || value.starts_with(['/', '.', '~']) || value.contains("://");
    let plain = value.len() <= PLAIN_WORD && value.chars().skip(1).all(char::is_lowercase);
    let masked = value.chars().all(|c| matches!(c, '*' | 'x' | 'X' | '.' | '-' | '_' | '…'));
    // A path or a name with parts (`docs/auth.md`, `auth.token`): letters alone, in pieces.
    let parts = value.contains(['/', '.', '_'])
        && value.chars().all(|c| c.is_alphabetic() || matches!(c, '/' | '.' | '_' | '-'));
    value.len() >= SHORTEST_NOTED && !reference && !plain && !masked && !parts
}

/// Headers and fields that hold a credential whatever it looks like.
const HOLDERS: &[&str] = &["authorization", "cookie", "proxy_authorization", "set_cookie", "x_api_key", "x_auth_token"];

/// What looks like a credential in a text that is given to a name: a header, a field.
pub fn credential_for(name: &str, text: &str) -> Option<&'static str> {
    let name = name.trim().to_ascii_lowercase().replace('-', "_");
    let held = HOLDERS.contains(&name.as_str()) && !text.trim().is_empty();
    credential(text).or_else(|| (held || assigned(&format!("{name}={text}"))).then_some("a password or token"))
}

/// Whether a name, of a field or a variable, is one that is given a secret.
pub fn names_credential(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    HOLDERS.contains(&name.as_str()) || NAMES.iter().chain(NOTED_NAMES).any(|end| name.ends_with(end))
}

/// Where in a text there are credentials (byte ranges, in no order, which may overlap): the secret parts of all that
/// [`noted_credential`] sees.
pub fn credential_spans(text: &str) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = key_bodies(text).collect();
    spans.extend(TOKENS.iter().flat_map(|token| tokens_like(text, *token, &is_token)));
    spans.extend(SHORT_TOKENS.iter().flat_map(|token| tokens_like(text, *token, &|_, _| true)));
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        spans.extend(assigned_values(line).chain(noted_values(line)).map(|value| at + value.start..at + value.end));
        at += line.len();
    }
    spans
}

/// What stands between the head and the end of private keys (byte ranges). One without an end goes as far as it may be one,
/// line ends that are written as `\n` included.
fn key_bodies(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    text.match_indices("-----BEGIN ").filter_map(|(at, begin)| {
        let (label, rest) = text[at + begin.len()..].split_once("-----")?;
        if label.len() > 40 || !label.contains("PRIVATE KEY") {
            return None;
        }
        let from = text.len() - rest.len();
        let may = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '\\' | '\r' | '\n' | '\t');
        let len = rest.find("-----END").or_else(|| rest.find(|c| !may(c))).unwrap_or(rest.len());
        let letters = rest[..len].bytes().filter(u8::is_ascii_alphanumeric).count();
        (letters >= SHORTEST).then(|| from..from + len)
    })
}

/// The head of a private key, on a line of its own, with something behind it.
fn key_block(text: &str) -> bool {
    text.match_indices("-----BEGIN ").any(|(at, begin)| {
        let rest = &text[at + begin.len()..];
        let Some((label, rest)) = rest.split_once("-----") else { return false };
        // A text may write line ends as `\n`.
        let body: String =
            rest.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/')).take(64).collect();
        label.len() <= 40 && label.ends_with("PRIVATE KEY") && body.len() >= 40
    })
}

fn token(text: &str) -> Option<&'static str> {
    starts(text, TOKENS, is_token)
}

/// Whether the body behind a prefix of [`TOKENS`] is one.
fn is_token(prefix: &str, body: &[u8]) -> bool {
    let upper = !matches!(prefix, "AKIA" | "ASIA")
        || body.len() == 16 && body.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    // A placeholder repeats itself (`ghp_xxxxxxxx`).
    upper && entropy(body) > 2.5
}

/// What a text has of these tokens: (prefix, length, what it is), with a body that is long enough and may be one.
fn starts(
    text: &str,
    tokens: &[(&str, usize, &'static str)],
    may: impl Fn(&str, &[u8]) -> bool,
) -> Option<&'static str> {
    tokens.iter().find_map(|token| tokens_like(text, *token, &may).next().map(|_| token.2))
}

/// Where a text has such a token (byte ranges).
fn tokens_like<'a>(
    text: &'a str,
    (prefix, least, _): (&'a str, usize, &'static str),
    may: &'a impl Fn(&str, &[u8]) -> bool,
) -> impl Iterator<Item = Range<usize>> + 'a {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    text.match_indices(prefix).filter_map(move |(at, _)| {
        let whole = at == 0 || !part(text.as_bytes()[at - 1]);
        let rest = &text.as_bytes()[at + prefix.len()..];
        let len = rest.iter().take_while(|byte| part(**byte) || **byte == b'.').count();
        (whole && len >= least && may(prefix, &rest[..len])).then(|| at..at + prefix.len() + len)
    })
}

/// Whether a line gives a name like `PASSWORD` a value that looks like a secret.
fn assigned(line: &str) -> bool {
    assigned_values(line).next().is_some()
}

/// The values that look like secrets and that a line gives to names like `PASSWORD` (byte ranges).
fn assigned_values(line: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    line.match_indices(['=', ':']).filter_map(|(at, _)| {
        let quotes: &[char] = &['"', '\'', '`', ' ', '\t'];
        let name = line[..at].trim_end_matches(quotes);
        let name =
            name.rsplit(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-')).next().unwrap_or_default();
        let name = name.to_ascii_lowercase().replace('-', "_");
        if !NAMES.iter().any(|end| name.ends_with(end)) {
            return None;
        }
        let value = line[at + 1..].trim_start_matches(quotes);
        let from = line.len() - value.len();
        let end = value.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ';' | '&' | ')'));
        let value = &value[..end.unwrap_or(value.len())];
        random(value).then(|| from..from + value.len())
    })
}

/// Whether a value looks like one that no person wrote.
fn random(value: &str) -> bool {
    let bytes = value.as_bytes();
    let classes = [
        bytes.iter().any(u8::is_ascii_lowercase),
        bytes.iter().any(u8::is_ascii_uppercase),
        bytes.iter().any(u8::is_ascii_digit),
    ];
    // A variable, a call, a path, a UUID or a placeholder is no secret.
    let reference =
        value.contains(['$', '(', '{', '<', '[', '*']) || value.starts_with(['/', '.', '~']) || value.contains("://");
    let dotted =
        value.contains('.') && value.split('.').all(|part| part.chars().all(|c| c.is_ascii_alphabetic() || c == '_'));
    value.is_ascii()
        && bytes.len() >= SHORTEST
        && !reference
        && !dotted
        && !uuid(value)
        && classes.iter().filter(|class| **class).count() >= 2
        && classes[2]
        && entropy(bytes) >= ENTROPY
}

fn uuid(value: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let parts: Vec<&str> = value.split('-').collect();
    parts.len() == lengths.len()
        && parts
            .iter()
            .zip(lengths)
            .all(|(part, len)| part.len() == len && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Shannon's, in bits a byte.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let total = u32::try_from(bytes.len()).map_or(f64::MAX, f64::from);
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / total)
        .map(|share| -share * share.log2())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Put together here, so that no text of this repository is one.
    fn made(prefix: &str, len: usize) -> String {
        let alphabet: Vec<char> = ('A'..='Z').chain('0'..='9').collect();
        let body: String = (0..len).map(|at| alphabet[(at * at * 5 + at * 7) % alphabet.len()]).collect();
        format!("{prefix}{body}")
    }

    #[test]
    fn credentials_are_seen() {
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7";
        let random = "hJ8s9Kx2Lq4Vb7Nw1Zt5";
        for (text, what) in [
            (format!("-----BEGIN {} KEY-----\n{body}\n", "RSA PRIVATE"), "a private key"),
            (format!("key = \"-----BEGIN {} KEY-----\\n{body}\"", "PRIVATE"), "a private key"),
            (format!("id: {}", made("AKIA", 16)), "an AWS access key id"),
            (format!("curl -H 'Authorization: Bearer {}' x", made("ghp_", 36)), "a GitHub token"),
            (made("glpat-", 20), "a GitLab token"),
            (format!("{};", made("xoxb-", 30)), "a Slack token"),
            (made("sk_live_", 24), "a Stripe key"),
            (format!("?key={}", made("AIza", 35)), "a Google API key"),
            (format!("DB_PASSWORD={random}"), "a password or token"),
            (format!("  \"apiKey\": \"{random}\","), "a password or token"),
            (format!("export NPM_TOKEN='{random}' && x"), "a password or token"),
        ] {
            assert_eq!(credential(&text), Some(what), "{text}");
        }
    }

    #[test]
    fn the_name_that_it_is_given_to_tells() {
        let random = "hJ8s9Kx2Lq4Vb7Nw1Zt5";
        for (name, text, seen) in [
            ("Authorization", "Basic eDp5", true),
            ("Cookie", "a=b", true),
            ("Cookie", " ", false),
            ("X-Access-Token", random, true),
            ("api_key", random, true),
            ("X-Trace", random, false),
            ("Accept", "text/html", false),
        ] {
            assert_eq!(credential_for(name, text).is_some(), seen, "{name}: {text}");
        }
    }

    #[test]
    fn what_only_looks_like_one_is_none() {
        for text in [
            "",
            "the password is checked elsewhere",
            "PASSWORD=changeme",
            "token: String,",
            "let token = self.tokens.next_token(position, &mut lookahead1);",
            "API_TOKEN=${{ secrets.API_TOKEN_2_FOR_DEPLOYMENT }}",
            "TOKEN=$(cat /run/secrets/token_file_1)",
            "secret = os.environ[\"MY_SECRET_2_NAME_HERE\"]",
            "password: /run/secrets/db_password_1",
            "token = \"https://example.org/oauth2/v1/token\"",
            "\"token\": \"123e4567-e89b-12d3-a456-426614174000\"",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "MAKIA0123456789ABCDEFG",
            "-----BEGIN CERTIFICATE-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7",
            "a line may begin with -----BEGIN PRIVATE KEY-----, which is looked for",
            "sha256 = 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "\"integrity\": \"sha512-Xk7Q0pFmrw2vJ8hGk3s9l1Zt5B7n4c6D0e2F8a1B3c5D7e9F==\"",
            "checksum = \"0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0\"",
            "<img src=\"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk\">",
            "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        ] {
            assert_eq!(credential(text), None, "{text}");
        }
    }

    #[test]
    fn notes_hold_no_credentials() {
        let random = "hJ8s9Kx2Lq4Vb7Nw1Zt5";
        for (note, what) in [
            (format!("-----BEGIN {} KEY-----", "OPENSSH PRIVATE"), "a private key"),
            (format!("-----BEGIN {} KEY BLOCK-----", "PGP PRIVATE"), "a private key"),
            (format!("OPENAI_API_KEY={}", made("sk-", 24)), "an OpenAI key"),
            (format!("use {} here", made("sk-", 24)), "an OpenAI key"),
            (format!("key {}", made("sk-ant-api03-", 12)), "an Anthropic key"),
            (format!("AWS_ACCESS_KEY_ID={}", made("AKIA", 16)), "an AWS access key id"),
            (format!("token: {}", made("ghp_", 36)), "a GitHub token"),
            (made("github_pat_", 24), "a GitHub token"),
            (made("xoxb-", 12), "a Slack token"),
            (made("glpat-", 20), "a GitLab token"),
            (made("AIza", 35), "a Google API key"),
            ("password = hunter2secret".to_owned(), "a password or token"),
            ("The **password**: `hunter2secret`.".to_owned(), "a password or token"),
            ("db password is admin; Passwd: Tr0ub4dor&3".to_owned(), "a password or token"),
            ("client_secret: correcthorsebattery".to_owned(), "a password or token"),
            ("\"clientSecret\": \"correct-horse-battery\"".to_owned(), "a password or token"),
            ("API key: abcd1234efgh".to_owned(), "a password or token"),
            ("private key := 0011223344556677".to_owned(), "a password or token"),
            (format!("DB_PASSWORD={random}"), "a password or token"),
        ] {
            assert_eq!(noted_credential(&note), Some(what), "{note}");
        }
    }

    #[test]
    fn where_credentials_are() {
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7";
        let random = "hJ8s9Kx2Lq4Vb7Nw1Zt5";
        let token = made("ghp_", 36);
        for (text, secrets) in [
            (format!("a = 1\nDB_PASSWORD={random}\nb"), vec![random]),
            (format!("é \"apiKey\": \"{random}\", x"), vec![random]),
            (format!("curl -H 'Authorization: Bearer {token}' x"), vec![&token]),
            (format!("{token} and {token}"), vec![&token, &token]),
            ("The **password**: `hunter2secret`.".to_owned(), vec!["hunter2secret"]),
            (format!("-----BEGIN {} KEY-----{body}-----END", "RSA PRIVATE"), vec![body]),
            (format!("-----BEGIN {} KEY-----{body}\n and so on", "RSA PRIVATE"), vec![body]),
            ("the password is checked elsewhere".to_owned(), vec![]),
        ] {
            let mut found: Vec<&str> = credential_spans(&text).into_iter().map(|at| text[at].trim()).collect();
            found.dedup();
            let expected: Vec<&str> = secrets;
            assert!(expected.iter().all(|secret| found.contains(secret)), "{text}: {found:?}");
            assert_eq!(found.is_empty(), expected.is_empty(), "{text}: {found:?}");
        }
    }

    #[test]
    fn notes_may_speak_of_credentials() {
        for note in [
            "",
            "The rate limiter is a token bucket: ten requests a second.",
            "See [[secret-rotation]] and [[api-key-policy]].",
            "The API key: ask the admin, it is in 1Password.",
            "password: required",
            "Passwords are rotated every 90 days.",
            "token: refreshed every hour",
            "The token: stored in the keychain under ropewalk.",
            "secret: see docs/auth.md",
            "secret: docs/secrets/auth.md",
            "token = \"https://example.org/oauth2/v1/token\"",
            "API_TOKEN=${API_TOKEN}",
            "PASSWORD=$(pass show db)",
            "password: <from the vault>",
            "password: ********",
            "token: /run/secrets/db_token_1",
            "const token = parser.next_token();",
            "Tokenizer: handles 3 languages",
            "sk-learn is used for the model",
            "the branch is called task-1234567890123456789012345",
            "ghp_ is how such tokens begin",
        ] {
            assert_eq!(noted_credential(note), None, "{note}");
        }
    }
}
