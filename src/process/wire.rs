//! What passes between us and the supervisor of a child, over one socket: the request, with the child's three pipes
//! beside it, and afterwards short words of one length both ways. Pure.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;
use std::time::Duration;

use super::Exit;

/// Bytes of each word.
pub(super) const WORD: usize = 9;

/// What is to be run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Request {
    /// The program; a full path.
    pub(super) program: PathBuf,
    /// Its arguments.
    pub(super) args: Vec<OsString>,
    /// Where it runs; `None`: where the supervisor does.
    pub(super) dir: Option<PathBuf>,
    /// All of its environment.
    pub(super) env: Vec<(OsString, OsString)>,
    /// Where alone it may write; `None`: wherever we may.
    pub(super) writable: Option<Vec<PathBuf>>,
}

/// What we tell a supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Ask all of it to end, and end it by force after so long.
    Stop(Duration),
    /// End all of it by force.
    Kill,
}

/// What a supervisor tells us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// The program runs, with this process id, which is also that of its group.
    Started(u32),
    /// It could not be started: the error's number in the system (0: none), and the bytes of words that follow.
    Failed(i32, u32),
    /// The program itself has ended.
    Ended(Exit),
    /// It has ended with all that it started; so many processes had outlived it, and so many could not be ended.
    Over(u32, u32),
}

impl Request {
    /// The bytes of all but the length.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        text(&mut out, self.program.as_os_str());
        number(&mut out, self.args.len());
        for arg in &self.args {
            text(&mut out, arg);
        }
        number(&mut out, usize::from(self.dir.is_some()));
        if let Some(dir) = &self.dir {
            text(&mut out, dir.as_os_str());
        }
        number(&mut out, self.env.len());
        for (name, value) in &self.env {
            text(&mut out, name);
            text(&mut out, value);
        }
        number(&mut out, usize::from(self.writable.is_some()));
        if let Some(writable) = &self.writable {
            number(&mut out, writable.len());
            for folder in writable {
                text(&mut out, folder.as_os_str());
            }
        }
        out
    }

    /// The request in these bytes; `None` when they are no such thing.
    pub(super) fn decode(bytes: &[u8]) -> Option<Request> {
        let mut rest = bytes;
        let program = take_text(&mut rest)?.into();
        let args = (0..take_number(&mut rest)?).map(|_| take_text(&mut rest)).collect::<Option<_>>()?;
        let dir = if take_number(&mut rest)? == 0 { None } else { Some(take_text(&mut rest)?.into()) };
        let pair = |rest: &mut &[u8]| Some((take_text(rest)?, take_text(rest)?));
        let env = (0..take_number(&mut rest)?).map(|_| pair(&mut rest)).collect::<Option<_>>()?;
        let writable = if take_number(&mut rest)? == 0 {
            None
        } else {
            let folder = |rest: &mut &[u8]| take_text(rest).map(PathBuf::from);
            Some((0..take_number(&mut rest)?).map(|_| folder(&mut rest)).collect::<Option<_>>()?)
        };
        rest.is_empty().then_some(Request { program, args, dir, env, writable })
    }
}

fn number(out: &mut Vec<u8>, number: usize) {
    // Nothing that a program can be given is longer than the system's limit, which is far below this one.
    out.extend(u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
}

fn text(out: &mut Vec<u8>, text: &OsStr) {
    number(out, text.len());
    out.extend(text.as_bytes());
}

fn take_number(rest: &mut &[u8]) -> Option<usize> {
    let (bytes, after) = rest.split_first_chunk()?;
    *rest = after;
    usize::try_from(u32::from_le_bytes(*bytes)).ok()
}

fn take_text(rest: &mut &[u8]) -> Option<OsString> {
    let len = take_number(rest)?;
    let (bytes, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some(OsString::from_vec(bytes.to_vec()))
}

fn word(tag: u8, first: u32, second: u32) -> [u8; WORD] {
    let mut out = [tag; WORD];
    out[1..5].copy_from_slice(&first.to_le_bytes());
    out[5..].copy_from_slice(&second.to_le_bytes());
    out
}

fn parts(word: [u8; WORD]) -> (u8, u32, u32) {
    let [tag, a, b, c, d, rest @ ..] = word;
    (tag, u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes(rest))
}

impl Order {
    /// Its bytes.
    pub(super) fn encode(self) -> [u8; WORD] {
        match self {
            Order::Stop(grace) => word(b'S', u32::try_from(grace.as_millis()).unwrap_or(u32::MAX), 0),
            Order::Kill => word(b'K', 0, 0),
        }
    }

    /// The order in these bytes.
    pub(super) fn decode(bytes: [u8; WORD]) -> Option<Order> {
        match parts(bytes) {
            (b'S', millis, _) => Some(Order::Stop(Duration::from_millis(millis.into()))),
            (b'K', ..) => Some(Order::Kill),
            _ => None,
        }
    }
}

impl Report {
    /// Its bytes.
    pub(super) fn encode(self) -> [u8; WORD] {
        match self {
            Report::Started(pid) => word(b'P', pid, 0),
            Report::Failed(errno, len) => word(b'F', errno.cast_unsigned(), len),
            Report::Ended(Exit::Code(code)) => word(b'E', 0, code.cast_unsigned()),
            Report::Ended(Exit::Signal(signal)) => word(b'E', 1, signal.cast_unsigned()),
            Report::Ended(Exit::Unknown) => word(b'E', 2, 0),
            Report::Over(left, lasting) => word(b'O', left, lasting),
        }
    }

    /// The report in these bytes.
    pub(super) fn decode(bytes: [u8; WORD]) -> Option<Report> {
        Some(match parts(bytes) {
            (b'P', pid, _) => Report::Started(pid),
            (b'F', errno, len) => Report::Failed(errno.cast_signed(), len),
            (b'E', 0, code) => Report::Ended(Exit::Code(code.cast_signed())),
            (b'E', 1, signal) => Report::Ended(Exit::Signal(signal.cast_signed())),
            (b'E', 2, _) => Report::Ended(Exit::Unknown),
            (b'O', left, lasting) => Report::Over(left, lasting),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    fn os() -> impl Strategy<Value = OsString> {
        vec(any::<u8>(), 0..20).prop_map(OsString::from_vec)
    }

    proptest! {
        #[test]
        fn a_request_arrives_as_it_was(
            program in os(),
            args in vec(os(), 0..4),
            dir in option::of(os()),
            env in vec((os(), os()), 0..4),
            writable in option::of(vec(os(), 0..4)),
        ) {
            let writable = writable.map(|folders| folders.into_iter().map(PathBuf::from).collect());
            let request = Request { program: program.into(), args, dir: dir.map(PathBuf::from), env, writable };
            let bytes = request.encode();
            prop_assert_eq!(Request::decode(&bytes), Some(request));
            // Neither less nor more is one.
            prop_assert_eq!(Request::decode(&bytes[..bytes.len() - 1]), None);
            prop_assert_eq!(Request::decode(&[bytes, vec![0]].concat()), None);
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes in vec(any::<u8>(), 0..60)) {
            let _ = Request::decode(&bytes);
        }
    }

    #[test]
    fn words_arrive_as_they_were() {
        for order in [Order::Stop(Duration::ZERO), Order::Stop(Duration::from_millis(1500)), Order::Kill] {
            assert_eq!(Order::decode(order.encode()), Some(order));
        }
        let longest = Order::Stop(Duration::from_millis(u32::MAX.into()));
        assert_eq!(Order::decode(Order::Stop(Duration::MAX).encode()), Some(longest), "weeks are long enough");
        for report in [
            Report::Started(4_194_304),
            Report::Failed(2, 0),
            Report::Failed(0, 70),
            Report::Ended(Exit::Code(255)),
            Report::Ended(Exit::Code(-1)),
            Report::Ended(Exit::Signal(9)),
            Report::Ended(Exit::Unknown),
            Report::Over(3, 1),
        ] {
            assert_eq!(Report::decode(report.encode()), Some(report));
        }
        assert_eq!(Order::decode([0; WORD]), None);
        assert_eq!(Report::decode(*b"E\x03\0\0\0\0\0\0\0"), None);
    }
}
