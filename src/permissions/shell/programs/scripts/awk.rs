//! Reads an awk program.

use super::Script;

/// What an awk program does besides printing. Only its words are looked at, not its grammar: a redirection is told from
/// a comparison by whether a `print` is open outside brackets.
pub(super) fn look(program: &str) -> Script {
    let mut script = Script::default();
    let tokens = match tokens(program) {
        Ok(tokens) => tokens,
        Err(why) => {
            script.unclear = Some(why.to_owned());
            return script;
        }
    };
    // The depth of brackets at which a `print` is open.
    let (mut depth, mut print) = (0_i32, None);
    for (at, token) in tokens.iter().enumerate() {
        let text = |offset: usize| match tokens.get(at + offset) {
            // What is put together from several parts is not the text alone.
            Some(Token::Text(text)) if !joined(tokens.get(at + offset + 1)) => Some(text.clone()),
            _ => None,
        };
        match token {
            Token::Name(name) => match name.as_str() {
                "system" => script.runs.push(match tokens.get(at + 1) {
                    Some(Token::Sign("(")) => text(2),
                    _ => None,
                }),
                "print" | "printf" => print = Some(depth),
                _ => {}
            },
            Token::Sign(sign) => match *sign {
                "(" | "[" => depth += 1,
                ")" | "]" => depth -= 1,
                "{" | "}" | ";" | "\n" => print = None,
                "|" | "|&" => match tokens.get(at + 1) {
                    Some(Token::Name(name)) if name == "getline" => script.runs.push(match at.checked_sub(1) {
                        Some(before) => before_pipe(&tokens, before),
                        None => None,
                    }),
                    _ => script.runs.push(text(1)),
                },
                ">" | ">>" if print == Some(depth) => script.writes.push(text(1)),
                ">>" => script.writes.push(text(1)),
                "<" => {
                    if let Some(Token::Text(file)) = tokens.get(at + 1) {
                        script.reads.push(file.clone());
                    }
                }
                "@" => script.unclear = Some("it loads code, or calls what only running it shows".to_owned()),
                _ => {}
            },
            Token::Text(_) | Token::Other => {}
        }
    }
    script
}

fn before_pipe(tokens: &[Token], at: usize) -> Option<String> {
    match (tokens.get(at)?, at.checked_sub(1).and_then(|before| tokens.get(before))) {
        (Token::Text(text), None | Some(Token::Sign(_))) => Some(text.clone()),
        _ => None,
    }
}

/// Whether what follows a text is joined to it.
fn joined(next: Option<&Token>) -> bool {
    matches!(next, Some(Token::Text(_) | Token::Name(_) | Token::Other | Token::Sign("(" | "$")))
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Name(String),
    Text(String),
    /// A number or a pattern.
    Other,
    Sign(&'static str),
}

const SIGNS: &[&str] = &[
    "|&", "||", "|", "&&", ">>", ">=", "<=", "==", "!=", "(", ")", "[", "]", "{", "}", ";", "\n", ">", "<", "@", "$",
    ",", "+", "-", "*", "/", "%", "^", "!", "?", ":", "~", "=", "&", ".",
];

fn tokens(program: &str) -> Result<Vec<Token>, &'static str> {
    let mut tokens = Vec::new();
    let mut rest = program;
    while let Some(c) = rest.chars().next() {
        if matches!(c, ' ' | '\t' | '\r') {
            rest = &rest[1..];
        } else if let Some(behind) = rest.strip_prefix("\\\n").or(rest.strip_prefix("\\\r\n")) {
            rest = behind;
        } else if c == '#' {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        } else if c == '"' {
            let (text, behind) = quoted(&rest[1..])?;
            tokens.push(Token::Text(text));
            rest = behind;
        } else if c == '/' && !value(tokens.last()) {
            rest = pattern(&rest[1..])?;
            tokens.push(Token::Other);
        } else if c.is_ascii_digit() {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '.');
            tokens.push(Token::Other);
        } else if c.is_ascii_alphabetic() || c == '_' {
            let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push(Token::Name(rest[..length].to_owned()));
            rest = &rest[length..];
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            tokens.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        } else {
            return Err("it has characters that are not known");
        }
    }
    Ok(tokens)
}

/// Whether a token ends a value, so that `/` behind it divides.
fn value(token: Option<&Token>) -> bool {
    match token {
        Some(Token::Name(name)) => {
            !matches!(name.as_str(), "return" | "print" | "printf" | "in" | "case" | "do" | "else" | "getline" | "exit")
        }
        Some(Token::Text(_) | Token::Other | Token::Sign(")" | "]" | "$")) => true,
        _ => false,
    }
}

/// A text up to its quote, its escapes undone as far as they matter.
fn quoted(rest: &str) -> Result<(String, &str), &'static str> {
    let mut text = String::new();
    let mut chars = rest.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok((text, &rest[at + 1..])),
            '\n' => return Err("a text does not close"),
            '\\' => match chars.next() {
                Some((_, c @ ('"' | '\\' | '/'))) => text.push(c),
                Some((_, 'n')) => text.push('\n'),
                Some((_, 't')) => text.push('\t'),
                // Other escapes may spell any character.
                Some((_, _)) => text.push('\u{fffd}'),
                None => break,
            },
            c => text.push(c),
        }
    }
    Err("a text does not close")
}

fn pattern(rest: &str) -> Result<&str, &'static str> {
    let (mut bracket, mut chars) = (None::<usize>, rest.char_indices());
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
                bracket = bracket.map(|inside| inside + 1);
            }
            '/' if bracket.is_some() => return Err("a `/` stands in brackets"),
            '/' => return Ok(&rest[at + 1..]),
            '\n' => return Err("a pattern does not close"),
            '[' if bracket.is_none() => bracket = Some(0),
            ']' if bracket.is_some_and(|inside| inside > 0) => bracket = None,
            '^' if bracket == Some(0) => {}
            _ => bracket = bracket.map(|inside| inside + 1),
        }
    }
    Err("a pattern does not close")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(program: &str, expected: &str) {
        assert_eq!(look(program).told(), expected, "{program}");
    }

    #[test]
    fn programs_that_only_print() {
        for program in [
            "{print $1}",
            "$3 > 5",
            "$3 > 5 {print}",
            "{ if ($1 > 2) print $2 }",
            "{ print ($1 > 2) }",
            "/a|b/ {print}",
            "{ x = $1 / $2 / $3; print x }",
            "BEGIN { print \"system(x) | sh > y\" }",
            "NR==FNR{a[$1];next} $1 in a",
            "a || b",
            "# system(\"x\")\n{print}",
            "{ gsub(/[>|]/, \"\"); print }",
            "{ print length > 3 ? 1 : 2 }",
        ] {
            // The last is a redirection to awk, as it is to us.
            let expected = if program.contains("length > 3") { "write ?" } else { "" };
            check(program, expected);
        }
    }

    #[test]
    fn programs_that_do_more() {
        check("BEGIN{system(\"id\")}", "run id");
        check("{system(\"rm \" $1)}", "run ?");
        check("{system (x)}", "run ?");
        check("{print | \"sh\"}", "run sh");
        check("{print $1 | \"sort -n\"}", "run sort -n");
        check("BEGIN{\"date\" | getline d}", "run date");
        check("BEGIN{cmd | getline}", "run ?");
        check("{print |& \"x\"}", "run x");
        check("{print > \"out\"}", "write out");
        check("{print >> \"out\"}", "write out");
        check("{print > $1\".txt\"}", "write ?");
        check("{print > (\"a\" $1)}", "write ?");
        check("{printf(\"x\") > \"out\"}", "write out");
        check("{print \"a\" > \"o\" x}", "write ?");
        check("BEGIN{while ((getline line < \"in\") > 0) print line}", "read in");
        check("BEGIN{f=\"system\"; @f(\"id\")}", "unclear");
        check("@load \"x\"", "unclear");
        check("{print \"a}", "unclear");
        check("/[/]/{print}", "unclear");
        check("{ x / system(\"id\") / y }", "run id");
    }
}
