//! What statements in SQL destroy. They are not understood in full; what may be read in two ways is read in both.

/// A statement that loses something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Loss {
    /// How it begins.
    pub statement: String,
    /// What it does, behind its name.
    pub why: &'static str,
}

/// The statements of a text that lose something, none twice.
pub(super) fn losses(text: &str) -> Vec<Loss> {
    let mut found: Vec<Loss> = Vec::new();
    // A backslash escapes in some dialects and not in others, and a comment is code in some.
    for (escapes, comments) in [(false, false), (true, false), (false, true), (true, true)] {
        for words in statements(text, escapes, comments) {
            if let Some(loss) = loss(&words)
                && !found.contains(&loss)
            {
                found.push(loss);
            }
        }
    }
    found
}

fn loss(words: &[String]) -> Option<Loss> {
    let at = |index: usize| words.get(index).map_or("", String::as_str);
    let has = |word: &str| words.iter().any(|own| own == word);
    let why = match at(0) {
        "DROP" => "drops it with everything in it",
        "TRUNCATE" => "empties the whole table",
        "DELETE" if !has("WHERE") => "deletes every row",
        "UPDATE" if !has("WHERE") => "changes every row",
        "ALTER" if has("DROP") => "drops a part of it",
        "ALTER" if at(1) == "SYSTEM" || at(1) == "USER" || at(1) == "ROLE" => "changes the server or its users",
        "GRANT" | "REVOKE" => "changes who may do what",
        // A statement may stand behind `WITH x AS (...)`, `EXPLAIN ANALYZE`, or a label.
        _ => {
            let inner = words.iter().position(|word| matches!(word.as_str(), "DROP" | "TRUNCATE" | "DELETE"))?;
            let next = words.get(inner + 1).map_or("", String::as_str);
            let rest = &words[inner..];
            let destroys = match rest[0].as_str() {
                "DELETE" => next == "FROM" && !rest.iter().any(|word| word == "WHERE"),
                _ => KINDS.contains(&next),
            };
            if !destroys {
                return None;
            }
            return Some(Loss { statement: head(rest), why: "deletes" });
        }
    };
    Some(Loss { statement: head(words), why })
}

const KINDS: &[&str] = &[
    "TABLE",
    "DATABASE",
    "SCHEMA",
    "INDEX",
    "VIEW",
    "USER",
    "ROLE",
    "COLLECTION",
    "KEYSPACE",
    "SEQUENCE",
    "FUNCTION",
    "PROCEDURE",
    "TRIGGER",
    "TYPE",
    "MATERIALIZED",
];

fn head(words: &[String]) -> String {
    words.iter().take(3).cloned().collect::<Vec<_>>().join(" ")
}

/// The words of each statement, in capitals, without what stands in quotes.
fn statements(text: &str, escapes: bool, comments: bool) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut word = String::new();
    let mut rest = text.chars().peekable();
    let mut quote = None;
    while let Some(c) = rest.next() {
        if let Some(open) = quote {
            if escapes && c == '\\' {
                rest.next();
            } else if c == open {
                quote = None;
            }
            continue;
        }
        let next = rest.peek().copied();
        if c.is_alphanumeric() || c == '_' {
            word.extend(c.to_uppercase());
            continue;
        }
        if let Some(last) = all.last_mut()
            && !word.is_empty()
        {
            last.push(std::mem::take(&mut word));
        }
        match c {
            '\'' => quote = Some(c),
            '-' if comments && next == Some('-') => while rest.next_if(|c| *c != '\n').is_some() {},
            '/' if comments && next == Some('*') => {
                let mut last = ' ';
                for c in rest.by_ref() {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
            }
            ';' => all.push(Vec::new()),
            _ => {}
        }
    }
    if let Some(last) = all.last_mut()
        && !word.is_empty()
    {
        last.push(word);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_lose() {
        for (text, expected) in [
            ("drop table users", "DROP TABLE USERS"),
            ("Select 1; DROP DATABASE x;", "DROP DATABASE X"),
            ("TRUNCATE t", "TRUNCATE T"),
            ("delete from t", "DELETE FROM T"),
            ("delete from t where id = 1", ""),
            ("update t set a = 1", "UPDATE T SET"),
            ("update t set a = 1 where b", ""),
            ("alter table t drop column c", "ALTER TABLE T"),
            ("alter table t add column c int", ""),
            ("select * from dropped_tables", ""),
            ("select 'drop table x'", ""),
            ("select 'it''s; drop table x'", ""),
            ("select 'a\\'; drop table x; --'", "DROP TABLE X"),
            ("select 1 -- it's\n; drop table x", "DROP TABLE X"),
            ("/*! drop table x */", "DROP TABLE X"),
            ("with gone as (delete from t returning *) select * from gone", "DELETE FROM T"),
            ("explain analyze delete from t", "DELETE FROM T"),
            ("insert into t values (1)", ""),
            ("drop\n\ttable\nx", "DROP TABLE X"),
            ("GRANT ALL ON x TO y", "GRANT ALL ON"),
            ("", ""),
        ] {
            let found: Vec<String> = losses(text).into_iter().map(|loss| loss.statement).collect();
            assert_eq!(found.join("; "), expected, "{text}");
        }
    }
}
