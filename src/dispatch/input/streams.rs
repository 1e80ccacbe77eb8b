//! The streams of arguments as data: what is kept of each, for how long, and what stands before what. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::ToolInputParams;

/// Of one call at most so many bytes are kept.
pub(super) const CALL_BYTES: usize = 8 * 1024 * 1024;

/// Of all calls at most so many bytes are kept; the oldest give way.
const ALL_BYTES: usize = 64 * 1024 * 1024;

/// Of at most so many streams the text is kept; the oldest give way.
const STREAMS: usize = 512;

/// At most so many streams are known, so that pieces that come late are not taken for the beginning of something.
const KNOWN: usize = 8192;

/// At most so many reads are started before their calls.
const EARLY: usize = 16;

/// What matters of the tool of a stream. Of one that is not known, the worst is assumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Kind {
    /// Its calls run beside their neighbours: they change nothing.
    pub shared: bool,
    /// Its arguments are shown as they grow.
    pub shown: bool,
}

/// How far a stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// More may come.
    Open,
    /// It is complete.
    Done,
    /// Its text is not kept any more. It is still known, so that its call is not taken for one without arguments.
    Gone(Gone),
}

/// Why the text of a stream is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gone {
    /// It was cancelled.
    Cancelled,
    /// It grew too long, or there was too much in all.
    TooLong,
    /// Too many others came after it.
    TooMany,
    /// Pieces of two calls came under its name: whose is whose is not guessed.
    Mixed,
    /// Its call has come.
    Claimed,
}

/// The arguments of one call to come. `E` is what was started with them.
#[derive(Debug)]
pub(super) struct Stream<E> {
    pub session: String,
    pub turn: Option<String>,
    pub call: String,
    message: String,
    index: u64,
    pub name: Option<String>,
    pub kind: Kind,
    pub text: String,
    pub state: State,
    pub early: Option<E>,
    /// Up to here (bytes) it has been shown.
    shown: usize,
    showing: Showing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Showing {
    /// Nobody is at it.
    No,
    /// Somebody is.
    Yes,
    /// Nobody shall be any more.
    Never,
}

/// What is new in a stream that is shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fresh {
    pub session: String,
    pub call: String,
    pub name: String,
    pub text: String,
}

/// All streams, by the order in which they began.
#[derive(Debug)]
pub(super) struct Streams<E> {
    all: BTreeMap<u64, Stream<E>>,
    /// By session and call.
    named: HashMap<String, HashMap<String, u64>>,
    /// Those that are not gone.
    kept: BTreeSet<u64>,
    last: u64,
    bytes: usize,
}

impl<E> Default for Streams<E> {
    fn default() -> Streams<E> {
        Streams { all: BTreeMap::new(), named: HashMap::new(), kept: BTreeSet::new(), last: 0, bytes: 0 }
    }
}

impl<E> Streams<E> {
    /// Takes a piece; gives the number of its stream, if that goes on.
    pub(super) fn take(&mut self, session: &str, piece: ToolInputParams, kind: Option<Kind>) -> Option<u64> {
        let mut found = self.find(session, &piece.call_id);
        if let Some(number) = found.filter(|number| self.all.get(number).is_some_and(|stream| stream.is_before(&piece)))
        {
            self.remove(number);
            found = None;
        }
        let number = match found {
            Some(number) => number,
            None => self.begin(session, &piece),
        };
        let stream = self.all.get_mut(&number).filter(|stream| matches!(stream.state, State::Open | State::Done))?;
        if stream.index != piece.index {
            self.end(number, Gone::Mixed);
            return None;
        }
        if stream.state == State::Done {
            return None;
        }
        if let (Some(name), Some(kind)) = (piece.name, kind) {
            stream.name = Some(name);
            stream.kind = kind;
        }
        let delta = piece.delta.unwrap_or_default();
        if stream.text.len() + delta.len() > CALL_BYTES {
            self.end(number, Gone::TooLong);
            return None;
        }
        stream.text.push_str(&delta);
        self.bytes += delta.len();
        if piece.done {
            stream.state = State::Done;
        }
        self.make_room(number);
        Some(number)
    }

    fn begin(&mut self, session: &str, piece: &ToolInputParams) -> u64 {
        self.last += 1;
        let stream = Stream {
            session: session.to_owned(),
            turn: piece.turn_id.clone(),
            call: piece.call_id.clone(),
            message: piece.message_id.clone(),
            index: piece.index,
            name: None,
            kind: Kind::default(),
            text: String::new(),
            state: State::Open,
            early: None,
            shown: 0,
            showing: Showing::No,
        };
        self.all.insert(self.last, stream);
        self.kept.insert(self.last);
        self.named.entry(session.to_owned()).or_default().insert(piece.call_id.clone(), self.last);
        if self.kept.len() > STREAMS
            && let Some(oldest) = self.kept.first().copied()
        {
            self.end(oldest, Gone::TooMany);
        }
        if self.all.len() > KNOWN
            && let Some(oldest) = self.all.keys().next().copied()
        {
            self.remove(oldest);
        }
        self.last
    }

    /// Lets go of the text of a stream.
    fn end(&mut self, number: u64, why: Gone) {
        if let Some(stream) = self.all.get_mut(&number) {
            self.bytes -= stream.end(why);
            self.kept.remove(&number);
        }
    }

    /// Forgets a stream.
    fn remove(&mut self, number: u64) -> Option<Stream<E>> {
        let stream = self.all.remove(&number)?;
        self.bytes -= stream.text.len();
        self.kept.remove(&number);
        if let Some(calls) = self.named.get_mut(&stream.session) {
            calls.remove(&stream.call);
            if calls.is_empty() {
                self.named.remove(&stream.session);
            }
        }
        Some(stream)
    }

    /// Lets the oldest go until all the rest fits.
    fn make_room(&mut self, but: u64) {
        while self.bytes > ALL_BYTES {
            let oldest = self.kept.iter().copied().find(|number| *number != but && self.is_long(*number));
            let Some(oldest) = oldest else { return };
            self.end(oldest, Gone::TooLong);
        }
    }

    fn is_long(&self, number: u64) -> bool {
        self.all.get(&number).is_some_and(|stream| !stream.text.is_empty())
    }

    fn find(&self, session: &str, call: &str) -> Option<u64> {
        self.named.get(session)?.get(call).copied()
    }

    /// The stream of a call.
    pub(super) fn get(&self, session: &str, call: &str) -> Option<&Stream<E>> {
        self.by_number(self.find(session, call)?)
    }

    /// The stream of a number.
    pub(super) fn by_number(&self, number: u64) -> Option<&Stream<E>> {
        self.all.get(&number)
    }

    /// The stream of a call, which is over with it. That it was there is still known where its message has a name: what
    /// comes late for it, or twice, begins nothing.
    pub(super) fn claim(&mut self, session: &str, call: &str) -> Option<Stream<E>> {
        let number = self.find(session, call)?;
        if self.all.get(&number)?.state == State::Gone(Gone::Claimed) {
            return None;
        }
        let stream = self.remove(number)?;
        if !stream.message.is_empty() {
            self.all.insert(number, stream.claimed());
            self.named.entry(stream.session.clone()).or_default().insert(stream.call.clone(), number);
        }
        Some(stream)
    }

    /// Streams that are dead, and whose calls shall not be taken for calls without arguments.
    pub(super) fn cancel(&mut self, fits: impl Fn(&Stream<E>) -> bool) {
        for number in self.numbers(|stream| fits(stream) && stream.state != State::Gone(Gone::Claimed)) {
            self.end(number, Gone::Cancelled);
        }
    }

    fn numbers(&self, fits: impl Fn(&Stream<E>) -> bool) -> Vec<u64> {
        self.all.iter().filter(|(_, stream)| fits(stream)).map(|(number, _)| *number).collect()
    }

    /// Streams of which nobody will ask again.
    pub(super) fn forget(&mut self, fits: impl Fn(&Stream<E>) -> bool) {
        for number in self.numbers(fits) {
            self.remove(number);
        }
    }

    /// Whether a read may start before its call: nothing that came before it in its session, or comes before it in its
    /// message, may change anything, as far as is known of what has not become a call yet.
    pub(super) fn may_start(&self, number: u64) -> bool {
        let Some(read) = self.all.get(&number) else { return false };
        let before = |other: u64, stream: &Stream<E>| {
            if stream.message == read.message { stream.index < read.index } else { other < number }
        };
        let early = self.all.values().filter(|stream| stream.early.is_some()).count();
        let mut writers = self.all.iter().filter(|(_, stream)| {
            stream.session == read.session
                && !stream.kind.shared
                && !matches!(stream.state, State::Gone(Gone::Cancelled | Gone::Claimed))
        });
        early < EARLY && !writers.any(|(other, stream)| *other != number && before(*other, stream))
    }

    /// Keeps what was started with a stream; it is dropped where the stream is gone.
    pub(super) fn put_early(&mut self, number: u64, early: E) {
        if let Some(stream) = self.all.get_mut(&number).filter(|stream| stream.state == State::Done) {
            stream.early = Some(early);
        }
    }

    /// Drops what was started with a stream.
    pub(super) fn drop_early(&mut self, number: u64) {
        if let Some(stream) = self.all.get_mut(&number) {
            stream.early = None;
        }
    }

    /// Whether somebody has to begin to show a stream.
    pub(super) fn begin_showing(&mut self, number: u64) -> bool {
        let Some(stream) = self.all.get_mut(&number) else { return false };
        let begin = stream.kind.shown && stream.showing == Showing::No;
        if begin {
            stream.showing = Showing::Yes;
        }
        begin
    }

    /// What is to be shown of a stream; `None` ends the showing, until something new comes.
    pub(super) fn fresh(&mut self, number: u64) -> Option<Fresh> {
        let stream = self.all.get_mut(&number)?;
        let text = stream.text.get(stream.shown..).unwrap_or_default();
        let name = stream.name.as_ref().filter(|_| !text.is_empty());
        let Some(name) = name else {
            stream.showing = Showing::No;
            // Whoever shows it next begins anew.
            stream.shown = 0;
            return None;
        };
        let fresh = Fresh {
            session: stream.session.clone(),
            call: stream.call.clone(),
            name: name.clone(),
            text: text.to_owned(),
        };
        stream.shown = stream.text.len();
        Some(fresh)
    }

    /// The stream is not shown any further.
    pub(super) fn stop_showing(&mut self, number: u64) {
        if let Some(stream) = self.all.get_mut(&number) {
            stream.showing = Showing::Never;
        }
    }
}

impl<E> Stream<E> {
    /// Whether a piece is of another stream than this one, under the same name: of another message, so that the call of this
    /// one never came; or one that names its tool, as a beginning does, after the call of this one has come.
    fn is_before(&self, piece: &ToolInputParams) -> bool {
        let other = |own: &str, its: &str| !own.is_empty() && !its.is_empty() && own != its;
        let turn = piece.turn_id.as_deref().unwrap_or_default();
        let again = self.state == State::Gone(Gone::Claimed) && piece.name.is_some();
        again || other(&self.message, &piece.message_id) || other(self.turn.as_deref().unwrap_or_default(), turn)
    }

    /// What is still known of it when its call has come.
    fn claimed<F>(&self) -> Stream<F> {
        Stream {
            session: self.session.clone(),
            turn: self.turn.clone(),
            call: self.call.clone(),
            message: self.message.clone(),
            index: self.index,
            name: None,
            kind: self.kind,
            text: String::new(),
            state: State::Gone(Gone::Claimed),
            early: None,
            shown: 0,
            showing: Showing::Never,
        }
    }

    /// Lets go of the text; gives its length.
    fn end(&mut self, why: Gone) -> usize {
        self.state = State::Gone(why);
        self.early = None;
        self.shown = 0;
        std::mem::take(&mut self.text).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const READ: Kind = Kind { shared: true, shown: false };
    const EDIT: Kind = Kind { shared: false, shown: true };

    fn piece(call: &str, message: &str, index: u64, delta: &str) -> ToolInputParams {
        ToolInputParams {
            call_id: call.to_owned(),
            message_id: message.to_owned(),
            index,
            delta: Some(delta.to_owned()),
            ..ToolInputParams::default()
        }
    }

    fn named(call: &str, message: &str, index: u64) -> ToolInputParams {
        ToolInputParams { name: Some("some".to_owned()), done: true, ..piece(call, message, index, "{}") }
    }

    #[test]
    fn pieces_add_up_until_the_call_comes() {
        let mut streams: Streams<()> = Streams::default();
        for delta in ["{\"a\": \"\\u00", "e9\"", "}"] {
            streams.take("s", piece("c1", "m", 0, delta), None);
            streams.take("other", piece("c1", "m", 0, "x"), None);
        }
        streams.take("s", ToolInputParams { done: true, ..piece("c1", "m", 0, "") }, None);
        assert_eq!(streams.take("s", piece("c1", "m", 0, "late"), None), None);
        let stream = streams.claim("s", "c1").unwrap();
        assert_eq!((stream.text.as_str(), stream.state), ("{\"a\": \"\\u00e9\"}", State::Done));
        assert!(streams.claim("s", "c1").is_none());
        assert_eq!(streams.claim("other", "c1").unwrap().state, State::Open);
        assert_eq!(streams.bytes, 0);
    }

    #[test]
    fn what_is_too_much_is_let_go_and_still_known() {
        let mut streams: Streams<()> = Streams::default();
        let half = "x".repeat(CALL_BYTES / 2 + 1);
        assert!(streams.take("s", piece("long", "m", 0, &half), None).is_some());
        assert_eq!(streams.take("s", piece("long", "m", 0, &half), None), None);
        assert_eq!((streams.get("s", "long").unwrap().state, streams.bytes), (State::Gone(Gone::TooLong), 0));
        for number in 0..16 {
            streams.take("s", piece(&format!("c{number}"), "m", 0, &half), None);
        }
        assert!(streams.bytes <= ALL_BYTES);
        assert_eq!(streams.get("s", "c0").unwrap().state, State::Gone(Gone::TooLong));
        assert_eq!(streams.get("s", "c15").unwrap().state, State::Open);
        for number in 0..STREAMS {
            streams.take("s", piece(&format!("d{number}"), "m", 0, "x"), None);
        }
        assert_eq!((streams.kept.len(), streams.bytes), (STREAMS, STREAMS));
        assert_eq!(streams.get("s", "c15").unwrap().state, State::Gone(Gone::TooMany));
        // What comes late for one that gave way is not the beginning of another.
        assert_eq!(streams.take("s", piece("c15", "m", 0, "tail"), None), None);
        for number in 0..KNOWN {
            streams.take("other", piece(&format!("e{number}"), "m", 0, "x"), None);
        }
        assert_eq!((streams.all.len(), streams.kept.len()), (KNOWN, STREAMS));
        assert!(streams.get("s", "d1").is_none() && !streams.named.contains_key("s"));
        streams.take("s", piece("d1", "m", 0, "x"), None);
        streams.cancel(|stream| stream.call == "d1");
        assert_eq!(streams.get("s", "d1").unwrap().state, State::Gone(Gone::Cancelled));
        streams.forget(|_| true);
        assert_eq!((streams.all.len(), streams.named.len(), streams.kept.len(), streams.bytes), (0, 0, 0, 0));
    }

    #[test]
    fn a_call_has_one_stream_and_pieces_of_two_are_never_put_together() {
        let text = |streams: &Streams<()>| {
            let stream = streams.get("s", "c").unwrap();
            (stream.text.clone(), stream.state)
        };
        let mut streams: Streams<()> = Streams::default();
        // The message broke off and came again under another name.
        streams.take("s", piece("c", "m1", 0, "rm -rf /tmp/"), None);
        streams.take("s", piece("c", "m2", 0, "ls"), None);
        assert_eq!(text(&streams), ("ls".to_owned(), State::Open));
        let turned =
            |turn: &str, delta: &str| ToolInputParams { turn_id: Some(turn.to_owned()), ..piece("c", "", 0, delta) };
        for (turn, delta, whole) in [("t1", "{", "{"), ("t1", "}", "{}"), ("t2", "[", "[")] {
            streams.take("t", turned(turn, delta), None);
            assert_eq!(streams.get("t", "c").unwrap().text, whole);
        }
        // Two calls of one message under one name.
        streams.take("s", piece("c", "m2", 1, "{"), None);
        assert_eq!(text(&streams), (String::new(), State::Gone(Gone::Mixed)));
        assert_eq!(streams.claim("s", "c").unwrap().state, State::Gone(Gone::Mixed));
        // What is late, or told twice, begins nothing once the call has come; another message does.
        assert_eq!(streams.take("s", ToolInputParams { done: true, ..piece("c", "m2", 0, "tail") }, None), None);
        assert!(streams.claim("s", "c").is_none());
        streams.cancel(|_| true);
        assert!(streams.claim("s", "c").is_none(), "what has come is not cancelled any more");
        assert!(streams.take("s", piece("c", "m3", 4, "new"), None).is_some());
        assert_eq!(text(&streams), ("new".to_owned(), State::Open));
    }

    #[test]
    fn nothing_starts_before_what_may_change_something() {
        #[track_caller]
        fn check(before: &[(&str, &str, u64, Option<Kind>)], expected: bool) {
            let mut streams: Streams<()> = Streams::default();
            for (session, message, index, kind) in before {
                streams.take(session, named(&format!("{session}{message}{index}"), message, *index), *kind);
            }
            let read = streams.take("s", named("read", "m", 5), Some(READ)).unwrap();
            assert_eq!(streams.may_start(read), expected, "{before:?}");
        }
        check(&[], true);
        check(&[("s", "m", 4, Some(READ))], true);
        check(&[("s", "m", 4, Some(EDIT))], false);
        // A tool that is not known yet may be anything.
        check(&[("s", "m", 4, None)], false);
        // What comes after it in the message does not matter, in whatever order they stream.
        check(&[("s", "m", 6, Some(EDIT))], true);
        check(&[("s", "before", 9, Some(EDIT))], false);
        check(&[("other", "m", 4, Some(EDIT))], true);
    }

    #[test]
    fn what_is_shown_is_shown_once() {
        let mut streams: Streams<()> = Streams::default();
        let mut first = piece("c", "m", 0, "{\"a");
        first.name = Some("edit".to_owned());
        let number = streams.take("s", first, Some(EDIT)).unwrap();
        assert!(streams.begin_showing(number) && !streams.begin_showing(number));
        assert_eq!(streams.fresh(number).unwrap().text, "{\"a");
        streams.take("s", piece("c", "m", 0, "\":"), None);
        streams.take("s", ToolInputParams { done: true, ..piece("c", "m", 0, "1}") }, None);
        assert_eq!(streams.fresh(number).unwrap().text, "\":1}");
        assert_eq!(streams.fresh(number), None);
        assert!(streams.begin_showing(number));
        streams.stop_showing(number);
        assert!(!streams.begin_showing(number));
    }

    proptest! {
        #[test]
        fn the_bytes_are_those_that_are_kept(steps in proptest::collection::vec((0..4_u8, 0..3_u8, "[a-z]{0,5}"), 0..40)) {
            let mut streams: Streams<()> = Streams::default();
            for (what, call, text) in steps {
                let call = format!("c{call}");
                match what {
                    0 | 1 => {
                        streams.take("s", piece(&call, "m", 0, &text), None);
                    }
                    2 => streams.cancel(|stream| stream.call == call),
                    _ => drop(streams.claim("s", &call)),
                }
                prop_assert_eq!(streams.bytes, streams.all.values().map(|stream| stream.text.len()).sum::<usize>());
            }
        }
    }
}
