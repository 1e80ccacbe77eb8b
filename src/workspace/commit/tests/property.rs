//! Any document, any edit, any mixture of typing, splitting, holding back, refusing, delaying and not answering: the
//! agent's change is in the text once, or is not and the call says so; and what the user typed is all there.

use proptest::prelude::*;

use crate::editor::AskError;
use crate::text::{Encoding, LineBreaks, LineEnd, Splice, Text};
use crate::workspace::commit::{Rewrite, Rewritten};
use crate::workspace::documents::Counting;
use crate::workspace::{Refusal, RefusalKind};

use super::fake::{Bench, Fake, NO, PATH, Show, YES, change, pause};

/// What is done with one of the two marked lines, `xKx` and `xLx`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Keep,
    /// A line with a mark of its own, Q or R, is added behind it.
    Insert,
    /// It becomes a line with that mark.
    Replace,
    Delete,
}

#[derive(Debug, Clone)]
struct Deeds([Deed; 2]);

const MARKS: [(char, char); 2] = [('K', 'Q'), ('L', 'R')];

impl Rewrite for Deeds {
    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal> {
        let text = before.unwrap().to_string();
        let mut splices = Vec::new();
        for (deed, (old, new)) in self.0.iter().zip(MARKS) {
            if *deed == Deed::Keep {
                continue;
            }
            let line = format!("x{old}x\n");
            let wanted = match deed {
                Deed::Insert => format!("x{old}x\ny{new}y\n"),
                Deed::Replace => format!("y{new}y\n"),
                Deed::Delete | Deed::Keep => String::new(),
            };
            let line = if text.contains("\r\n") { LineEnd::Crlf.apply(&line) } else { line };
            let at = text.find(&line).ok_or_else(|| Refusal::new(RefusalKind::NotFound, "It is not there."))?;
            splices.push(Splice { range: at..at + line.len(), text: wanted });
        }
        splices.sort_by_key(|splice| splice.range.start);
        Ok(Rewritten { splices, ..Rewritten::default() })
    }
}

#[derive(Debug, Clone, Copy)]
enum Key {
    /// A character that is nowhere else, at this fraction of the text.
    Type(u16),
    /// The same with a line end.
    Enter(u16),
    /// One of the letters that stand for nothing goes.
    Delete(u16),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Checks the version, and says no.
    Checks,
    /// Checks the version, and says yes even so.
    ChecksAndSaysYes,
    /// Checks the version, and answers with an error.
    ChecksAndFails,
    /// Applies whatever comes by its line numbers.
    Careless,
    /// Says no.
    Refuses,
    /// Says yes and does nothing.
    Lies,
}

/// How one edit is treated.
#[derive(Debug, Clone)]
struct Conduct {
    before: Vec<Key>,
    between: Vec<Key>,
    after: Vec<Key>,
    manner: Manner,
    show: Show,
    /// Notifications are held back; if so, whether they go out as one replacement.
    held: Option<bool>,
    pauses: [u64; 3],
    answers: bool,
}

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![
        4 => any::<u16>().prop_map(Key::Type),
        2 => any::<u16>().prop_map(Key::Enter),
        1 => any::<u16>().prop_map(Key::Delete)
    ]
}

fn conduct() -> impl Strategy<Value = Conduct> {
    let keys = || prop::collection::vec(key(), 0..3);
    let manner = prop_oneof![
        4 => Just(Manner::Checks),
        2 => Just(Manner::ChecksAndSaysYes),
        1 => Just(Manner::ChecksAndFails),
        2 => Just(Manner::Careless),
        1 => Just(Manner::Refuses),
        1 => Just(Manner::Lies)
    ];
    let show = prop_oneof![Just(Show::Once), Just(Show::Each), Just(Show::EachForward), Just(Show::Whole)];
    let waits = || prop_oneof![3 => Just(0u64), 2 => Just(150), 1 => Just(2500)];
    (
        keys(),
        keys(),
        keys(),
        manner,
        show,
        prop::option::of(any::<bool>()),
        [waits(), waits(), waits()],
        prop::bool::weighted(0.9),
    )
        .prop_map(|(before, between, after, manner, show, held, pauses, answers)| Conduct {
            before,
            between,
            after,
            manner,
            show,
            held,
            pauses,
            // One that applies what it should not must at least say so, or nobody can tell its doings from the user's;
            // and what it overwrites must show.
            answers: answers || manner == Manner::Careless,
        })
}

/// The user's hands; gives each typed character once.
struct Hands(u32);

impl Hands {
    fn press(&mut self, fake: &Fake, keys: &[Key]) {
        for key in keys {
            let text = fake.text();
            let place = |fraction: u16| {
                let mut at = text.len() * usize::from(fraction) / usize::from(u16::MAX);
                while !text.is_char_boundary(at) || (text[..at].ends_with('\r') && text[at..].starts_with('\n')) {
                    at -= 1;
                }
                at
            };
            match *key {
                Key::Type(fraction) | Key::Enter(fraction) => {
                    let at = place(fraction);
                    let mut typed = char::from_u32(0xe000 + self.0).unwrap().to_string();
                    if matches!(key, Key::Enter(_)) {
                        typed.push_str(if text.contains("\r\n") { "\r\n" } else { "\n" });
                    }
                    fake.splice(&Splice { range: at..at, text: typed });
                    self.0 += 1;
                }
                Key::Delete(fraction) => {
                    let at = place(fraction);
                    if text[at..].starts_with(['a', 'b', '}']) {
                        fake.splice(&Splice { range: at..at + 1, text: String::new() });
                    }
                }
            }
        }
    }
}

type Shared = std::sync::Arc<std::sync::Mutex<Hands>>;

fn act(bench: &Bench, conduct: Conduct, hands: Shared) {
    bench.editor.next(move |fake, edit| async move {
        let press = |keys: &[Key]| hands.lock().unwrap().press(&fake, keys);
        pause(conduct.pauses[0]).await;
        if conduct.held.is_some() && conduct.manner != Manner::Careless {
            fake.hold();
        }
        press(&conduct.before);
        let fits = edit.version == fake.version() && fake.unflushed() == 0;
        let answer = match conduct.manner {
            Manner::Refuses => NO,
            Manner::Lies => YES,
            Manner::Careless => {
                fake.apply(&edit, conduct.show);
                YES
            }
            _ if fits => {
                fake.apply(&edit, conduct.show);
                YES
            }
            Manner::Checks => NO,
            Manner::ChecksAndSaysYes => YES,
            Manner::ChecksAndFails => Err(AskError::Refused("stale".into())),
        };
        press(&conduct.between);
        pause(conduct.pauses[1]).await;
        press(&conduct.after);
        if conduct.held == Some(true) {
            fake.flush_as_one();
        } else {
            fake.flush();
        }
        pause(conduct.pauses[2]).await;
        if conduct.answers { answer } else { std::future::pending().await }
    });
}

fn deeds() -> impl Strategy<Value = Deeds> {
    let deed = || prop_oneof![Just(Deed::Keep), Just(Deed::Insert), Just(Deed::Replace), Just(Deed::Delete)];
    (deed(), deed()).prop_filter_map("something is done", |(one, two)| {
        (one != Deed::Keep || two != Deed::Keep).then_some(Deeds([one, two]))
    })
}

proptest! {
    #[test]
    fn present_once_or_told(
        lines in prop::collection::vec("[ab}]{0,2}|é😀", 0..6),
        marked in any::<[u8; 2]>(),
        crlf in any::<bool>(),
        final_end in any::<bool>(),
        encoding in prop_oneof![Just(Encoding::Utf8), Just(Encoding::Utf16), Just(Encoding::Utf32)],
        resync in any::<bool>(),
        version in 0i32..2,
        deeds in deeds(),
        conducts in prop::collection::vec(conduct(), 1..4),
    ) {
        let mut lines = lines;
        for (place, (mark, _)) in marked.iter().zip(MARKS) {
            lines.insert(usize::from(*place) % (lines.len() + 1), format!("x{mark}x"));
        }
        let mut text = lines.join("\n") + "\n";
        if !final_end {
            text.push('e');
        }
        if crlf {
            text = LineEnd::Crlf.apply(&text);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async move {
            let bench = Bench::counting("", Counting { encoding, breaks: LineBreaks::Lf });
            bench.editor.open(&text, version);
            if resync {
                bench.editor.can_resync();
            }
            let mut conducts = conducts;
            if resync {
                // Only adapters of ours can tell their text, and these check versions.
                for conduct in conducts.iter_mut().filter(|conduct| conduct.manner == Manner::Careless) {
                    conduct.manner = Manner::Checks;
                }
            }
            let careless = conducts.iter().any(|conduct| conduct.manner == Manner::Careless);
            let hands = Shared::new(std::sync::Mutex::new(Hands(0)));
            for conduct in conducts {
                act(&bench, conduct, Shared::clone(&hands));
            }
            let outcome = bench
                .workspace
                .commit(&change(PATH, deeds.clone()), &tokio_util::sync::CancellationToken::new())
                .await;
            pause(30_000).await;
            let (found, kind) = (bench.editor.text(), outcome.as_ref().err().map(|refusal| refusal.kind));
            assert_eq!(found, bench.editor.documents.all()[0].text.to_string());
            let count = |mark: char| found.matches(mark).count();
            for (deed, (old, new)) in deeds.0.iter().zip(MARKS) {
                let (made, unmade) = match deed {
                    Deed::Keep => continue,
                    Deed::Insert => ((1, 1), (1, 0)),
                    Deed::Replace => ((0, 1), (1, 0)),
                    Deed::Delete => ((0, 0), (1, 0)),
                };
                let is = (count(old), count(new));
                match kind {
                    None => assert_eq!(is, made, "{outcome:?} {found:?}"),
                    Some(RefusalKind::Unknown) => {
                        assert!(careless || is == made || is == unmade, "{outcome:?} {found:?}");
                    }
                    Some(_) => assert_eq!(is, unmade, "{outcome:?} {found:?}"),
                }
            }
            let typed = hands.lock().unwrap().0;
            for number in 0..typed {
                let lost = careless && kind == Some(RefusalKind::Unknown);
                assert!(lost || count(char::from_u32(0xe000 + number).unwrap()) == 1, "{outcome:?} {found:?}");
            }
            if let Ok(done) = &outcome {
                assert_eq!(&done.before.as_ref().unwrap().spliced(&done.splices), &done.after);
            }
        });
    }
}
