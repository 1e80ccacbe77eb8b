//! The rows that the tables of programs are made of, and how a command is judged by its row.

use super::super::effects::{Verdict, Word};
use super::options::{Danger, Parsed, Spec, Touches, known, may_be_option, read, shown};
use super::sheet::Sheet;

/// What the words are that are no options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// Nothing that matters.
    Text,
    /// Files that are read.
    Reads,
    /// Files that are written.
    Writes,
    /// A pattern or a program, then files that are read; with one of these options there is no such first word.
    First(&'static str),
    /// Files that are read, and last what is written; with one of these options (whose value is written) all are read.
    Copies(&'static str),
    /// A file that is read, and one that is written.
    Second,
    /// Machines or addresses.
    Hosts,
    /// So many words, then a command that runs elsewhere.
    Elsewhere(usize),
    /// So many words, then a command that runs here.
    Here(usize),
}

/// What is looked at besides the tables.
pub(super) type Then = fn(&Parsed<'_>, &mut Sheet<'_>);

/// A command of the tables: a program, or one of a program's subcommands.
#[derive(Clone, Copy)]
pub(super) struct Row {
    names: &'static str,
    verdict: Verdict,
    why: &'static str,
    network: bool,
    options: &'static str,
    operands: Operands,
    dangers: &'static [Danger],
    then: Option<Then>,
    whole: Option<fn(&mut Sheet<'_>)>,
}

/// A command that looks, with all its options in the notation.
pub(super) const fn looks(names: &'static str, options: &'static str, operands: Operands) -> Row {
    Row {
        names,
        verdict: Verdict::ReadOnly,
        why: "",
        network: false,
        options,
        operands,
        dangers: &[],
        then: None,
        whole: None,
    }
}

/// A command that changes files in the workspace and loses nothing.
pub(super) const fn changes(names: &'static str, options: &'static str, operands: Operands, why: &'static str) -> Row {
    Row { verdict: Verdict::WorkspaceWrite, why, ..looks(names, options, operands) }
}

/// A command that is asked about.
pub(super) const fn asks(names: &'static str, why: &'static str) -> Row {
    Row { verdict: Verdict::NeedsApproval, why, ..looks(names, "*", Operands::Text) }
}

/// A command that destroys.
pub(super) const fn destroys(names: &'static str, why: &'static str) -> Row {
    Row { verdict: Verdict::Destructive, why, ..looks(names, "*", Operands::Text) }
}

/// A command that no table can tell of.
pub(super) const fn custom(names: &'static str, whole: fn(&mut Sheet<'_>)) -> Row {
    Row { whole: Some(whole), ..looks(names, "*", Operands::Text) }
}

impl Row {
    /// With these options.
    pub(super) const fn options(self, options: &'static str) -> Self {
        Self { options, ..self }
    }

    /// With these operands.
    pub(super) const fn operands(self, operands: Operands) -> Self {
        Self { operands, ..self }
    }

    /// With options that change the verdict.
    pub(super) const fn dangers(self, dangers: &'static [Danger]) -> Self {
        Self { dangers, ..self }
    }

    /// With a closer look.
    pub(super) const fn then(self, then: Then) -> Self {
        Self { then: Some(then), ..self }
    }

    /// It talks to other machines.
    pub(super) const fn net(self) -> Self {
        Self { network: true, ..self }
    }

    /// Whether it is the row of a command.
    pub(super) fn is(&self, name: &str) -> bool {
        self.names.split(',').any(|own| own.trim() == name)
    }

    /// The commands that it is the row of.
    #[cfg(test)]
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.split(',').map(str::trim)
    }

    /// Whether its words are read by hand, or looked at besides.
    #[cfg(test)]
    pub(super) fn is_looked_at(&self) -> bool {
        self.whole.is_some() || self.then.is_some()
    }

    /// Its options.
    pub(super) fn spec(&self, common: &'static str) -> Spec {
        Spec::of(&[self.options, common], self.dangers)
    }

    /// Judges a command.
    pub(super) fn judge(&self, args: &[Word], common: &'static str, sheet: &mut Sheet<'_>) {
        if let Some(whole) = self.whole {
            whole(sheet);
            return;
        }
        let spec = self.spec(common);
        let parsed = read(args, &spec);
        sheet.raise(self.verdict, self.why);
        if self.network {
            sheet.network();
        }
        self.weigh(&parsed, &spec, sheet);
        operands(self.operands, &parsed, sheet);
        if let Some(then) = self.then {
            then(&parsed, sheet);
        }
    }

    /// Judges the options.
    fn weigh(&self, parsed: &Parsed<'_>, spec: &Spec, sheet: &mut Sheet<'_>) {
        options(parsed, sheet);
        if self.verdict >= Verdict::NeedsApproval {
            return;
        }
        doubts(parsed, spec, sheet);
    }
}

/// What the options that were given do.
pub(super) fn options(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    for given in &parsed.given {
        let name = given.option.name;
        // `curl -o /dev/null` keeps nothing and replaces nothing.
        let nowhere = given.option.touches == Touches::Writes
            && given
                .value
                .as_ref()
                .and_then(known)
                .is_some_and(|file| matches!(file, "-" | "/dev/null" | "/dev/stdout" | "/dev/stderr"));
        if nowhere {
            continue;
        }
        if let Some((verdict, why)) = given.option.danger {
            sheet.raise_by(verdict, name, why);
        }
        let Some(value) = &given.value else { continue };
        match given.option.touches {
            Touches::Nothing => {}
            Touches::Reads => sheet.reads(value),
            Touches::Writes => {
                let why = format!("writes `{}`", shown(value));
                sheet.raise_by(Verdict::WorkspaceWrite, name, &why);
                sheet.writes(value);
            }
            Touches::Runs => {
                let why = format!("runs `{}`", shown(value));
                sheet.raise_by(Verdict::NeedsApproval, name, &why);
                sheet.runs_line(value, false);
            }
            Touches::Network => sheet.host(value),
        }
    }
}

/// What of a command cannot be told to be harmless.
pub(super) fn doubts(parsed: &Parsed<'_>, spec: &Spec, sheet: &mut Sheet<'_>) {
    if !spec.tame {
        for name in &parsed.foreign {
            sheet.raise_by(Verdict::NeedsApproval, name, "is not an option known to be harmless");
        }
    }
    if let Some(written) = parsed.vague
        && spec.risky()
    {
        let why = format!("gets `{written}`, which may turn out to be any option");
        sheet.asks(&why);
    }
}

fn operands(kind: Operands, parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    let all = parsed.operands.as_slice();
    match kind {
        Operands::Text => {}
        Operands::Reads => all.iter().for_each(|word| sheet.reads(word)),
        Operands::Writes => all.iter().for_each(|word| sheet.writes(word)),
        Operands::First(options) => {
            let skipped = usize::from(options.is_empty() || !parsed.has(options));
            all.iter().skip(skipped).for_each(|word| sheet.reads(word));
        }
        Operands::Copies(options) => {
            let (target, sources) = match all.split_last() {
                Some((target, sources)) if options.is_empty() || !parsed.has(options) => (Some(target), sources),
                _ => (None, all),
            };
            for word in sources {
                sheet.reads(word);
            }
            if let Some(target) = target {
                sheet.writes(target);
            }
        }
        Operands::Second => {
            // An operand that may become several words may be both.
            let several =
                |word: &Word| matches!(word, Word::Unknown(text) if may_be_option(text) || text.contains('*'));
            if let Some(first) = all.first() {
                sheet.reads(first);
                if several(first) {
                    sheet.asks("writes to a second file if it gets one");
                }
            }
            if let Some(second) = all.get(1) {
                let why = format!("writes `{}`, its second file", shown(second));
                sheet.asks(&why);
                sheet.writes(second);
            }
        }
        Operands::Hosts => all.iter().for_each(|word| sheet.host(word)),
        Operands::Elsewhere(count) => sheet.runs_words(all.get(count..).unwrap_or_default(), true),
        Operands::Here(count) => sheet.runs_words(all.get(count..).unwrap_or_default(), false),
    }
}

/// A program whose first words say what it does.
pub(super) struct Verbs {
    /// The program's names.
    pub names: &'static str,
    /// What it does without a verb, and its options before the verb.
    pub before: Row,
    /// Options that may stand anywhere behind the verb too.
    pub common: &'static str,
    /// The verbs. One of several words goes before one of fewer.
    pub rows: &'static [&'static [Row]],
    /// What is said of a verb that no row has.
    pub else_: Row,
}

impl Verbs {
    /// Judges a command.
    pub(super) fn judge(&self, args: &[Word], sheet: &mut Sheet<'_>) {
        let spec = self.before.spec(self.common).stopping();
        let parsed = read(args, &spec);
        let Some((verb, mut rest)) = parsed.rest.split_first() else {
            self.before.judge(args, self.common, sheet);
            return;
        };
        options(&parsed, sheet);
        doubts(&parsed, &spec, sheet);
        if let Some(then) = self.before.then {
            then(&parsed, sheet);
        }
        let Some(verb) = known(verb) else {
            sheet.asks("gets its subcommand from what only running it shows");
            self.else_.judge(rest, self.common, sheet);
            return;
        };
        // `cargo +nightly build`: what is meant comes behind.
        let mut verb = verb;
        if verb.starts_with('+') && self.names.starts_with("cargo") {
            sheet.asks(&format!("uses the toolchain `{}`", &verb[1..]));
            match rest.split_first() {
                Some((Word::Known(next), behind)) => (verb, rest) = (next, behind),
                _ => return,
            }
        }
        let mut name = verb.to_owned();
        let mut row = self.row(&name);
        // Where the next words make a longer verb, what stands between is an option of the shorter one.
        loop {
            let spec = row.map_or_else(|| Spec::of(&["*", self.common], &[]), |row| row.spec(self.common)).stopping();
            let parsed = read(rest, &spec);
            let Some((next, behind)) = parsed.rest.split_first() else { break };
            let Some(next) = known(next) else { break };
            let longer = format!("{name} {next}");
            let Some(found) = self.row(&longer) else {
                if !self.leads(&longer) {
                    break;
                }
                (name, rest, row) = (longer, behind, None);
                continue;
            };
            options(&parsed, sheet);
            doubts(&parsed, &spec, sheet);
            (name, rest, row) = (longer, behind, Some(found));
        }
        sheet.command = format!("{} {name}", sheet.command);
        match row {
            Some(row) => row.judge(rest, self.common, sheet),
            None => self.else_.judge(rest, self.common, sheet),
        }
    }

    fn row(&self, name: &str) -> Option<&'static Row> {
        self.rows.iter().copied().flatten().find(|row| row.is(name))
    }

    /// Whether a longer verb begins so.
    fn leads(&self, name: &str) -> bool {
        self.rows.iter().copied().flatten().any(|row| {
            row.names.split(',').any(|own| own.trim().strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')))
        })
    }
}
