//! `${NAME}` in the settings of a server, filled in. Pure.

/// A value that was filled in is at most so long (bytes).
const LONGEST: usize = 64 * 1024;

/// What a variable is, where it is one that may be used.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Result<Option<String>, String>;

/// A text with `${NAME}`, `${env:NAME}` and `${NAME:-default}` filled in by `lookup`, of which an error says why a
/// variable may not be used. `$` before anything else means itself. The error says what cannot be filled in.
pub(super) fn expand(text: &str, lookup: Lookup<'_>) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(start) = rest.find("${") {
        out.push_str(&rest[..start]);
        let inner = &rest[start + 2..];
        let Some(end) = inner.find('}') else {
            return Err(format!("`${{` in {text:?} has no end"));
        };
        out.push_str(&filled(&inner[..end], lookup)?);
        rest = &inner[end + 1..];
        if out.len() > LONGEST {
            return Err(format!("{text:.60?} becomes longer than {LONGEST} bytes"));
        }
    }
    out.push_str(rest);
    Ok(out)
}

fn filled(inner: &str, lookup: Lookup<'_>) -> Result<String, String> {
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    let name = name.strip_prefix("env:").unwrap_or(name);
    if let Some((kind, _)) = name.split_once(':') {
        return Err(format!("`${{{inner}}}` cannot be filled in here: `{kind}:` belongs to another program"));
    }
    let found = match lookup(name) {
        Err(_) if default.is_some() => None,
        found => found?,
    };
    match (found, default) {
        (Some(value), _) => Ok(value),
        (None, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(format!("the variable {name} of `${{{inner}}}` is not set")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_used_is_filled_in() {
        let lookup = |name: &str| match name {
            "A" => Ok(Some("x".to_owned())),
            "SECRET" => Err("the variable SECRET may not be used by a project".to_owned()),
            _ => Ok(None),
        };
        for (text, filled) in [
            ("plain $A $$", Ok("plain $A $$")),
            ("${A}/${env:A}", Ok("x/x")),
            ("${B:-y}${A:-y}", Ok("yx")),
            ("${B:-}", Ok("")),
            ("${SECRET:-none}", Ok("none")),
            ("${B}", Err("the variable B of `${B}` is not set")),
            ("${SECRET}", Err("the variable SECRET may not be used by a project")),
            ("${input:key}", Err("`${input:key}` cannot be filled in here: `input:` belongs to another program")),
            ("${A", Err("`${` in \"${A\" has no end")),
        ] {
            assert_eq!(expand(text, &lookup), filled.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
    }
}
