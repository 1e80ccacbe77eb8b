//! Brace expansion: `a{b,c}` is two words, `{1..3}` three.

use crate::permissions::shell::walk::grammar::Part;

/// Words that may come of one; more are not looked at.
const LIMIT: usize = 512;

/// A letter without quotes, or what braces do not look into.
#[derive(Debug, Clone)]
enum Unit {
    Letter(char),
    Part(Part),
}

/// The words that come of the parts of a word; `None`: too many.
pub(super) fn expanded(parts: &[Part]) -> Option<Vec<Vec<Part>>> {
    if !parts.iter().any(|part| matches!(part, Part::Bare(text) if text.contains('{'))) {
        return Some(vec![parts.to_vec()]);
    }
    let units: Vec<Unit> = parts
        .iter()
        .flat_map(|part| match part {
            Part::Bare(text) => text.chars().map(Unit::Letter).collect(),
            part => vec![Unit::Part(part.clone())],
        })
        .collect();
    let mut left = LIMIT * 8;
    Some(many(&units, &mut left)?.iter().map(|units| joined(units)).collect())
}

fn joined(units: &[Unit]) -> Vec<Part> {
    let mut parts = Vec::new();
    for unit in units {
        match (unit, parts.last_mut()) {
            (Unit::Letter(c), Some(Part::Bare(text))) => text.push(*c),
            (Unit::Letter(c), _) => parts.push(Part::Bare(c.to_string())),
            (Unit::Part(part), _) => parts.push(part.clone()),
        }
    }
    parts
}

fn letter(unit: &Unit) -> Option<char> {
    match unit {
        Unit::Letter(c) => Some(*c),
        Unit::Part(_) => None,
    }
}

fn many(units: &[Unit], left: &mut usize) -> Option<Vec<Vec<Unit>>> {
    *left = left.checked_sub(1)?;
    for (open, unit) in units.iter().enumerate() {
        if letter(unit) != Some('{') {
            continue;
        }
        let Some((close, commas)) = closing(units, open) else { continue };
        let inner = &units[open + 1..close];
        let alternatives = if commas.is_empty() {
            match sequence(inner, left) {
                Some(alternatives) => alternatives?,
                None => continue,
            }
        } else {
            let mut alternatives = Vec::new();
            let mut begin = open + 1;
            for end in commas.into_iter().chain([close]) {
                alternatives.extend(many(&units[begin..end], left)?);
                begin = end + 1;
            }
            alternatives
        };
        let behind = many(&units[close + 1..], left)?;
        if alternatives.len() * behind.len() > LIMIT {
            return None;
        }
        let all = alternatives.iter().flat_map(|middle| {
            behind.iter().map(|behind| [&units[..open], middle.as_slice(), behind.as_slice()].concat())
        });
        return Some(all.collect());
    }
    Some(vec![units.to_vec()])
}

/// Where the brace closes, and the commas between.
fn closing(units: &[Unit], open: usize) -> Option<(usize, Vec<usize>)> {
    let (mut depth, mut commas) = (0_usize, Vec::new());
    for (index, unit) in units.iter().enumerate().skip(open) {
        match letter(unit) {
            Some('{') => depth += 1,
            Some('}') if depth == 1 => return Some((index, commas)),
            Some('}') => depth -= 1,
            Some(',') if depth == 1 => commas.push(index),
            _ => {}
        }
    }
    None
}

/// The words of `1..3`, `a..c` or `1..9..2`. The outer `None`: it is no sequence; the inner one: it is too long.
fn sequence(inner: &[Unit], left: &mut usize) -> Option<Option<Vec<Vec<Unit>>>> {
    let text: String = inner.iter().map(letter).collect::<Option<_>>()?;
    let mut ends = text.split("..");
    let (from, to, step) = (ends.next()?, ends.next()?, ends.next());
    if ends.next().is_some() {
        return None;
    }
    let step = step.map_or(Ok(1), str::parse::<i64>).ok()?.unsigned_abs().max(1);
    let single = |text: &str| {
        let mut chars = text.chars();
        chars.next().filter(|c| c.is_ascii_alphabetic() && chars.next().is_none()).map(|c| i64::from(u32::from(c)))
    };
    let width = [from, to].iter().filter(|end| end.trim_start_matches('-').starts_with('0')).map(|end| end.len()).max();
    let (from, to, letters) = match (from.parse::<i64>(), to.parse::<i64>()) {
        (Ok(from), Ok(to)) => (from, to, false),
        _ => (single(from)?, single(to)?, true),
    };
    let count = usize::try_from(from.abs_diff(to) / step).unwrap_or(usize::MAX);
    if count >= LIMIT || *left < count {
        return Some(None);
    }
    *left -= count;
    let mut values = Vec::new();
    let mut value = from;
    for _ in 0..=count {
        let text = match letters {
            true => u32::try_from(value).ok().and_then(char::from_u32)?.to_string(),
            false => format!("{value:0width$}", width = width.unwrap_or(0).min(20)),
        };
        values.push(text.chars().map(Unit::Letter).collect());
        let step = i64::try_from(step).unwrap_or(i64::MAX);
        value = if from <= to { value.saturating_add(step) } else { value.saturating_sub(step) };
    }
    Some(Some(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces() {
        #[track_caller]
        fn check(text: &str, expected: &[&str]) {
            let found = expanded(&[Part::Bare(text.to_owned())]).map(|many| {
                let text = |parts: Vec<Part>| match parts.as_slice() {
                    [Part::Bare(text)] => text.clone(),
                    _ => String::new(),
                };
                many.into_iter().map(text).collect::<Vec<_>>()
            });
            assert_eq!(found.unwrap_or_default(), expected, "{text}");
        }
        check("{rm,-rf,/}", &["rm", "-rf", "/"]);
        check("a{b,c}d{e,f}", &["abde", "abdf", "acde", "acdf"]);
        check("{a,{b,c}}", &["a", "b", "c"]);
        check("x{,y}", &["x", "xy"]);
        check("{1..3}", &["1", "2", "3"]);
        check("{c..a}", &["c", "b", "a"]);
        check("{08..10}", &["08", "09", "10"]);
        check("{1..9..4}", &["1", "5", "9"]);
        check("{}", &["{}"]);
        check("{a}", &["{a}"]);
        check("{a{b,c}}", &["{ab}", "{ac}"]);
        check("{a,b", &["{a,b"]);
        check("a}", &["a}"]);
        check("{1..99999999}", &[]);
        check(&"{a,b}".repeat(40), &[]);
        check(&format!("{{{}..1}}", i64::MAX), &[]);
    }
}
