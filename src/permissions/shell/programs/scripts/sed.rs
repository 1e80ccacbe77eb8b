//! Reads a sed program.

use super::Script;

/// What a sed program does besides editing its stream.
pub(super) fn look(program: &str) -> Script {
    let mut reader = Reader { rest: program, script: Script::default() };
    if let Err(why) = reader.commands() {
        reader.script.unclear = Some(why);
    }
    reader.script
}

struct Reader<'p> {
    rest: &'p str,
    script: Script,
}

impl<'p> Reader<'p> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn skip(&mut self, which: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(which);
    }

    fn line(&mut self) -> &'p str {
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        line
    }

    fn commands(&mut self) -> Result<(), String> {
        loop {
            self.skip(|c| c.is_whitespace() || c == ';');
            if self.rest.is_empty() {
                return Ok(());
            }
            self.address()?;
            self.skip(|c| c == ' ' || c == '\t');
            self.command()?;
        }
    }

    /// Line numbers, patterns, ranges of them, steps, and `!`.
    fn address(&mut self) -> Result<(), String> {
        loop {
            match self.peek() {
                Some(c) if c.is_ascii_digit() || matches!(c, '$' | ',' | '+' | '~' | '!' | ' ' | '\t') => {
                    self.next();
                }
                Some('/') => {
                    self.next();
                    self.until('/')?;
                    self.skip(|c| matches!(c, 'I' | 'M'));
                }
                Some('\\') => {
                    self.next();
                    let delimiter = self.next().ok_or("it ends in an address")?;
                    self.until(delimiter)?;
                    self.skip(|c| matches!(c, 'I' | 'M'));
                }
                _ => return Ok(()),
            }
        }
    }

    /// What stands before a delimiter that no backslash is in front of.
    fn until(&mut self, delimiter: char) -> Result<&'p str, String> {
        if delimiter == '\\' || delimiter == '\n' {
            return Err("its delimiter is odd".to_owned());
        }
        let start = self.rest;
        // How many characters stand in the open bracket; a `]` that is the first of them does not close it.
        let (mut length, mut bracket) = (0, None::<usize>);
        while let Some(c) = self.next() {
            match c {
                '\\' => {
                    length += 1 + self.next().map_or(0, char::len_utf8);
                    continue;
                }
                c if c == delimiter => {
                    // Some take a delimiter in brackets for a character, some for the end.
                    return if bracket.is_some() {
                        Err("a delimiter stands in brackets".to_owned())
                    } else {
                        Ok(&start[..length])
                    };
                }
                '[' if bracket.is_none() => bracket = Some(0),
                ']' if bracket.is_some_and(|inside| inside > 0) => bracket = None,
                '^' if bracket == Some(0) => {}
                _ => bracket = bracket.map(|inside| inside + 1),
            }
            length += c.len_utf8();
        }
        Err(format!("`{delimiter}` does not close"))
    }

    fn command(&mut self) -> Result<(), String> {
        let Some(command) = self.next() else { return Ok(()) };
        match command {
            '{' => Ok(()),
            '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => self.ended(),
            '#' => {
                self.line();
                Ok(())
            }
            // Some take a semicolon for a part of the label; then what stands behind it runs nothing.
            ':' => {
                self.skip(|c| c == ' ' || c == '\t');
                self.skip(|c| !c.is_whitespace() && c != ';');
                Ok(())
            }
            'q' | 'Q' | 'l' | 'L' => {
                self.skip(|c| c == ' ' || c.is_ascii_digit());
                self.ended()
            }
            'a' | 'i' | 'c' => {
                // Its text goes on over lines that end in a backslash.
                while self.line().ends_with('\\') {}
                Ok(())
            }
            'b' | 't' | 'T' => {
                self.skip(|c| c != '\n' && c != ';' && c != '}');
                Ok(())
            }
            'r' | 'R' => {
                let file = self.line().trim_start().to_owned();
                self.script.reads.push(file);
                Ok(())
            }
            'w' | 'W' => {
                let file = self.line().trim_start().to_owned();
                self.script.writes.push(Some(file));
                Ok(())
            }
            'e' => {
                let command = self.line().trim().to_owned();
                self.script.runs.push((!command.is_empty()).then_some(command));
                Ok(())
            }
            's' => self.substitute(),
            'y' => {
                let delimiter = self.next().ok_or("it ends in `y`")?;
                self.until(delimiter)?;
                self.until(delimiter)?;
                self.ended()
            }
            other => Err(format!("`{other}` is no command that is known")),
        }
    }

    fn substitute(&mut self) -> Result<(), String> {
        let delimiter = self.next().ok_or("it ends in `s`")?;
        self.until(delimiter)?;
        // Brackets mean nothing in what is put in.
        loop {
            match self.next() {
                None => return Err(format!("`{delimiter}` does not close")),
                Some('\\') => {
                    self.next();
                }
                Some(c) if c == delimiter => break,
                Some(_) => {}
            }
        }
        loop {
            match self.peek() {
                Some('g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9') => {
                    self.next();
                }
                Some('e') => {
                    self.next();
                    self.script.runs.push(None);
                }
                Some('w') => {
                    self.next();
                    let file = self.line().trim_start().to_owned();
                    self.script.writes.push(Some(file));
                    return Ok(());
                }
                _ => return self.ended(),
            }
        }
    }

    /// After a command only a separator may come.
    fn ended(&mut self) -> Result<(), String> {
        self.skip(|c| matches!(c, ' ' | '\t' | '\r'));
        match self.peek() {
            None | Some(';' | '\n' | '}' | '#') => Ok(()),
            Some(c) => Err(format!("`{c}` stands where a command should have ended")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(program: &str, expected: &str) {
        assert_eq!(look(program).told(), expected, "{program}");
    }

    #[test]
    fn programs_that_only_edit() {
        for program in [
            "s/a/b/",
            "s/a/b/g;s|c|d|",
            "1,10p",
            "$d",
            "/x/,/y/{s/e/w/;p}",
            "/x/!d",
            "\\,x,p",
            "1~2d",
            "y/abc/def/",
            ":a;N;$!ba;s/\\n/ /g",
            "2q",
            "a hello; w x",
            "i\\\nw file\\\ne more\np",
            "# e\np",
            "s/a\\/e/w\\/e/g",
            "/start/,$p",
            "s/[^]]*e/x/",
            "{p;p}",
            "",
        ] {
            check(program, "");
        }
    }

    #[test]
    fn programs_that_do_more() {
        check("s/a/b/e", "run ?");
        check("s/a/id/ge", "run ?");
        check("1e id", "run id");
        check("e", "run ?");
        check("w out", "write out");
        check("s/a/b/w out", "write out");
        check("s/a/b/gpw out", "write out");
        check("/x/r in", "read in");
        check("p;R in\nw out\nw other", "read in; write out; write other");
        check("{p;e id\n}", "run id");
        check("1{w out\n}", "write out");
        check("s/[/]x/e/", "unclear");
        check("s/[]/]x/w y/", "unclear");
        check("k", "unclear");
        check("s/a", "unclear");
        check("p e", "unclear");
        check("s", "unclear");
    }
}
