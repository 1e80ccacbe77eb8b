//! What is played: deeds of a person, an editor, a wire and some agents, drawn from a seed. A deed names documents, places
//! and calls by any numbers, so that a script stays one when steps are left out of it.

use ropewalk::ports::{Random as _, Seeded};

/// One step of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Its number in the script that was drawn, which names what it types and puts in.
    pub number: u32,
    /// What is done.
    pub deed: Deed,
    /// What happens before the next step.
    pub pace: Pace,
}

/// What happens between a step and the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Nothing.
    Rush,
    /// The sidecar works, and the editor does not look at what it says.
    Unread,
    /// Half of the last message is sent, and the sidecar works.
    Half,
    /// Both work until neither has anything to do.
    Meet,
    /// So do they, and twelve seconds go by.
    Long,
}

/// Which of several; any number.
type Pick = u32;

/// What an agent makes of some lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It puts its mark into the first of them.
    Insert,
    /// It replaces all of them.
    Replace,
    /// It adds a line behind them.
    Append,
    /// It adds a line with an error before them.
    Err,
    /// It adds a line with blanks at its end, which a formatter removes.
    Untidy,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// The person opens a file.
    Open { file: Pick },
    /// Closes a document, saved or not.
    Close { document: Pick },
    /// Types characters, and perhaps the end of a line, an error, or blanks.
    Type { document: Pick, at: Pick, count: u32, tail: Pick, stays: bool },
    /// Deletes some characters.
    Delete { document: Pick, at: Pick, count: u32 },
    /// Undoes the last step.
    Undo { document: Pick },
    /// Makes it again.
    Redo { document: Pick },
    /// Saves.
    Save { document: Pick },
    /// Formats the document.
    Format { document: Pick },
    /// Another program adds a line to a file, or removes the file.
    Outside { file: Pick, noticed: bool, removed: bool },
    /// The next edit meets this trouble.
    Trouble { which: Pick },
    /// From now on changes that an edit makes are told before the answer, after it, or held back.
    Echo { which: Pick },
    /// What is held back is told.
    Release,
    /// Diagnostics, saves and news of the disk are late from now on.
    Late,
    /// They are told, and late no more.
    OnTime,
    /// The next question for consent is denied, or left open.
    Consent { open: bool },
    /// A question that is open is answered.
    Answer { yes: bool },
    /// An agent reads a file.
    Read { session: Pick, file: Pick },
    /// It searches.
    Grep { session: Pick },
    /// It edits some lines, as it read them or as they are.
    Edit { session: Pick, file: Pick, line: Pick, count: u32, kind: Kind, read: bool },
    /// It makes several edits of one file.
    Multi { session: Pick, file: Pick, line: Pick, kind: Kind },
    /// It writes a whole file.
    Write { session: Pick, file: Pick, line: Pick },
    /// It makes a file.
    Make { session: Pick },
    /// It patches two files.
    Patch { session: Pick, file: Pick, other: Pick, line: Pick },
    /// It makes two calls at once.
    Batch { session: Pick, file: Pick, other: Pick, line: Pick },
    /// A call is cancelled: by its request, or by its name.
    Cancel { call: Pick, named: bool },
    /// The person accepts what a call proposes, or all of it for a file.
    Accept { call: Pick, file: bool },
    /// Rejects it.
    Reject { call: Pick, file: bool },
    /// Takes back what a call did, or everything in its file.
    TakeBack { call: Pick, file: bool },
    /// Takes back the last such undo.
    BringBack,
    /// Is content with what a call did.
    Keep { call: Pick },
    /// Everybody waits until nothing is under way, and everything is looked at.
    Settle,
}

/// Draws a script.
pub fn draw(seed: u64, steps: usize) -> Vec<Step> {
    let dice = Dice(Seeded::new(seed));
    (0..u32::try_from(steps).expect("a number of steps"))
        .map(|number| {
            // Somebody who has nothing open does little.
            let deed = if number < 5 { Deed::Open { file: dice.pick() } } else { dice.deed() };
            Step { number, deed, pace: dice.pace() }
        })
        .collect()
}

struct Dice(Seeded);

impl Dice {
    fn pick(&self) -> Pick {
        Pick::try_from(self.0.next() >> 40).expect("24 bits")
    }

    /// One in so many.
    fn once_in(&self, many: u32) -> bool {
        self.pick().is_multiple_of(many)
    }

    fn pace(&self) -> Pace {
        match self.pick() % 16 {
            0..4 => Pace::Rush,
            4..7 => Pace::Unread,
            7 => Pace::Half,
            15 => Pace::Long,
            _ => Pace::Meet,
        }
    }

    fn kind(&self) -> Kind {
        [Kind::Insert, Kind::Replace, Kind::Append, Kind::Err, Kind::Untidy, Kind::Insert][self.pick() as usize % 6]
    }

    fn deed(&self) -> Deed {
        let (session, file, document) = (self.pick(), self.pick(), self.pick());
        let (at, line, call) = (self.pick(), self.pick(), self.pick());
        match self.pick() % 100 {
            0..8 => Deed::Open { file },
            8..11 => Deed::Close { document },
            11..26 => {
                let (count, tail) = (1 + self.pick() % 3, self.pick() % 10);
                Deed::Type { document, at, count, tail, stays: self.once_in(2) }
            }
            26..29 => Deed::Delete { document, at, count: 1 + self.pick() % 12 },
            29..33 => Deed::Undo { document },
            33..35 => Deed::Redo { document },
            35..38 => Deed::Save { document },
            38 => Deed::Format { document },
            39..41 => Deed::Outside { file, noticed: self.once_in(2), removed: self.once_in(8) },
            41..45 | 95 => Deed::Trouble { which: self.pick() },
            45 => Deed::Echo { which: self.pick() },
            46 => Deed::Release,
            47 => Deed::Late,
            48 => Deed::OnTime,
            49 => Deed::Consent { open: self.once_in(2) },
            50 => Deed::Answer { yes: self.once_in(2) },
            51..57 => Deed::Read { session, file },
            57 => Deed::Grep { session },
            58..70 => {
                let (count, kind) = (1 + self.pick() % 3, self.kind());
                Deed::Edit { session, file, line, count, kind, read: self.once_in(3) }
            }
            70..73 => Deed::Multi { session, file, line, kind: self.kind() },
            73..76 => Deed::Write { session, file, line },
            76 => Deed::Make { session },
            77..80 => Deed::Patch { session, file, other: self.pick(), line },
            80..82 => Deed::Batch { session, file, other: self.pick(), line },
            82..84 => Deed::Cancel { call, named: self.once_in(2) },
            84..88 => Deed::Accept { call, file: self.once_in(3) },
            88..90 => Deed::Reject { call, file: self.once_in(3) },
            90..93 => Deed::TakeBack { call, file: self.once_in(3) },
            93 => Deed::BringBack,
            94 => Deed::Keep { call },
            _ => Deed::Settle,
        }
    }
}

#[test]
fn a_seed_decides_the_script() {
    assert_eq!(draw(7, 200), draw(7, 200));
    assert_ne!(draw(7, 200), draw(8, 200));
    assert_eq!(draw(7, 200)[..100], draw(7, 100));
}
