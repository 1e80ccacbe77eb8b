//! Looks into the programs of sed and awk: what they run, read and write.

use super::super::effects::{Verdict, Word};
use super::options::{Spec, known, read, shown};
use super::rows::{doubts, options};
use super::sheet::{Sheet, listing};

mod awk;
mod sed;

const SED: &str = "-n -E -r -s -u -z -l: -e: -f:< -i? --quiet --silent --regexp-extended --separate --unbuffered \
                   --null-data --line-length: --expression: --file:< --in-place? --posix --debug --sandbox \
                   --follow-symlinks --help --version";

/// What a program in sed or awk does besides printing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    /// Commands it runs; `None`: one that only running it shows.
    runs: Vec<Option<String>>,
    /// Files it reads.
    reads: Vec<String>,
    /// Files it writes; `None`: one that only running it shows.
    writes: Vec<Option<String>>,
    /// Why it cannot be understood.
    unclear: Option<String>,
}

impl Script {
    /// All of it in one line, for tests.
    #[cfg(test)]
    fn told(&self) -> String {
        let mut told = Vec::new();
        told.extend(self.runs.iter().map(|run| format!("run {}", run.as_deref().unwrap_or("?"))));
        told.extend(self.reads.iter().map(|file| format!("read {file}")));
        told.extend(self.writes.iter().map(|file| format!("write {}", file.as_deref().unwrap_or("?"))));
        told.extend(self.unclear.iter().map(|_| "unclear".to_owned()));
        told.join("; ")
    }

    fn tell(self, sheet: &mut Sheet<'_>) {
        for command in self.runs {
            match command {
                Some(command) => {
                    sheet.asks(&format!("runs `{command}` from its program"));
                    sheet.runs_line(&Word::Known(command), false);
                }
                None => sheet.asks("runs commands from its program"),
            }
        }
        for file in self.reads {
            sheet.reads(&Word::Known(file));
        }
        for file in self.writes {
            match file {
                Some(file) if matches!(file.as_str(), "/dev/stdout" | "/dev/stderr" | "/dev/null") => {}
                Some(file) => {
                    sheet.asks(&format!("writes `{file}` from its program"));
                    sheet.writes(&Word::Known(file));
                }
                None => sheet.asks("writes files from its program"),
            }
        }
        if let Some(why) = self.unclear {
            sheet.asks(&format!("has a program that could not be read: {why}"));
        }
    }
}

/// `sed`.
pub(super) fn sed(sheet: &mut Sheet<'_>) {
    let spec = Spec::of(&[SED], &[]);
    let parsed = read(sheet.args(), &spec);
    options(&parsed, sheet);
    doubts(&parsed, &spec, sheet);
    let mut files = parsed.operands.as_slice();
    let in_place = parsed.has("-i --in-place");
    // On macOS the suffix is a word of its own, often an empty one.
    if in_place
        && let Some((first, rest)) = files.split_first()
        && known(first) == Some("")
    {
        files = rest;
    }
    let mut programs: Vec<&Word> = parsed.values("-e --expression").collect();
    if parsed.has("-f --file") {
        sheet.asks("does what a file of commands says");
    } else if programs.is_empty()
        && let Some((program, rest)) = files.split_first()
    {
        programs.push(program);
        files = rest;
    }
    if !programs.is_empty() && programs.iter().all(|program| known(program).is_some()) {
        let lines: Vec<&str> = programs.iter().map(|program| shown(program)).collect();
        sed::look(&lines.join("\n")).tell(sheet);
    } else if !programs.is_empty() {
        sheet.asks("gets its program from what only running it shows");
    }
    for file in files {
        sheet.reads(file);
        if in_place {
            sheet.writes(file);
        }
    }
    if in_place {
        sheet.raise_by(
            Verdict::NeedsApproval,
            "-i",
            &format!("rewrites {} in place; what it replaces is not kept", listing(files)),
        );
    }
}

/// `awk`.
pub(super) fn awk(sheet: &mut Sheet<'_>) {
    let spec = Spec::of(
        &["+ -F: -v: -f:< -b -c -C -h -M -n -N -O -P -r -s -S -t -V --field-separator: --assign: --file:< --posix \
           --traditional --re-interval --sandbox --version --help --bignum --csv -k"],
        &[],
    );
    let parsed = read(sheet.args(), &spec);
    options(&parsed, sheet);
    doubts(&parsed, &spec, sheet);
    let mut files = parsed.operands.as_slice();
    if parsed.has("-f --file") {
        sheet.asks("does what a file of commands says");
    } else if let Some((program, rest)) = files.split_first() {
        files = rest;
        match program {
            Word::Known(text) => awk::look(text).tell(sheet),
            Word::Unknown(_) => sheet.asks("gets its program from what only running it shows"),
        }
    }
    for file in files {
        // `name=value` sets a variable.
        let variable = known(file).is_some_and(|text| {
            text.split_once('=').is_some_and(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
        });
        if !variable {
            sheet.reads(file);
        }
    }
}
