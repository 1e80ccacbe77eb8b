//! The lines of a recording: a head, frames, gaps, and an end. Pure.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the format; a reader refuses one that it does not know.
pub const FORMAT: u32 = 1;

/// No recording is longer (ms): whoever plays one waits as it says.
const LONGEST: u64 = 366 * 24 * 60 * 60 * 1000;

/// Which way a frame went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dir {
    /// From the editor to the sidecar.
    In,
    /// From the sidecar to the editor.
    Out,
}

/// The first line: what was recorded, and how it was started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Head {
    /// The version of the format: [`FORMAT`].
    pub recording: u32,
    /// The version of the program.
    pub version: String,
    /// The hash of the protocol's schemas.
    pub schema: String,
    /// The command: `serve`, `try`, `call`.
    pub command: String,
    /// System and processor.
    pub platform: String,
    /// Whether nothing was kept or learned.
    pub ephemeral: bool,
    /// The folders that the command line trusts.
    pub trusted: Vec<String>,
    /// The workspace folders (URIs) that the editor introduced itself with.
    #[serde(default)]
    pub folders: Vec<String>,
    /// The user's own settings at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_settings: Option<Value>,
}

/// A frame as it crossed the wire, less its secrets.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// Its number, from 1; frames that were dropped have one too.
    pub n: u64,
    /// Which way it went.
    pub dir: Dir,
    /// Milliseconds since the start.
    pub ms: u64,
    /// What it is.
    pub content: Content,
}

/// What a frame is.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A message.
    Message(Value),
    /// Bytes that are no message, headers included, and what is wrong with them.
    Raw(Vec<u8>, String),
    /// The stream ended.
    End,
}

/// A frame as a line has it.
#[derive(Serialize, Deserialize)]
struct FrameLine {
    n: u64,
    dir: Dir,
    ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    message: Option<Value>,
    /// Base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raw: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    end: bool,
}

/// A message may be null, which is not none.
fn some<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Frames that are not there, and how many of each way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Gap {
    #[serde(rename = "in")]
    pub input: u64,
    pub out: u64,
}

impl Gap {
    pub(super) fn is_empty(self) -> bool {
        self == Gap::default()
    }
}

/// The last line, of a recording that came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct End {
    /// Frames that are there.
    pub frames: u64,
    /// Frames that are not.
    pub dropped: Gap,
    /// Places where a secret was.
    pub redacted: u64,
    /// The exit code.
    pub code: u8,
}

/// A line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Line {
    Head(Box<Head>),
    Frame(Frame),
    Gap(Gap),
    End(End),
}

#[derive(Serialize, Deserialize)]
struct GapLine {
    gap: Gap,
}

#[derive(Serialize, Deserialize)]
struct EndLine {
    end: End,
}

impl Line {
    /// The line, with its end.
    pub(super) fn write(self) -> String {
        let text = match self {
            Line::Head(head) => serde_json::to_string(&head),
            Line::Frame(frame) => serde_json::to_string(&FrameLine::from(frame)),
            Line::Gap(gap) => serde_json::to_string(&GapLine { gap }),
            Line::End(end) => serde_json::to_string(&EndLine { end }),
        };
        // Nothing of this can fail: all keys are strings.
        format!("{}\n", text.unwrap_or_default())
    }

    /// Reads a line, without its end.
    pub(super) fn read(line: &str) -> Result<Line, String> {
        let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let fault = |error: serde_json::Error| error.to_string();
        if value.get("recording").is_some() {
            return Ok(Line::Head(serde_json::from_value(value).map_err(fault)?));
        }
        if value.get("n").is_some() {
            let line: FrameLine = serde_json::from_value(value).map_err(fault)?;
            return Ok(Line::Frame(line.frame()?));
        }
        if value.get("gap").is_some() {
            return serde_json::from_value(value).map(|GapLine { gap }| Line::Gap(gap)).map_err(fault);
        }
        serde_json::from_value(value).map(|EndLine { end }| Line::End(end)).map_err(fault)
    }
}

impl From<Frame> for FrameLine {
    fn from(frame: Frame) -> FrameLine {
        let Frame { n, dir, ms, content } = frame;
        let mut line = FrameLine { n, dir, ms, message: None, raw: None, why: None, end: false };
        match content {
            Content::Message(message) => line.message = Some(message),
            Content::Raw(bytes, why) => {
                use base64::Engine as _;
                line.raw = Some(base64::engine::general_purpose::STANDARD.encode(bytes));
                line.why = Some(why);
            }
            Content::End => line.end = true,
        }
        line
    }
}

impl FrameLine {
    fn frame(self) -> Result<Frame, String> {
        use base64::Engine as _;
        let FrameLine { n, dir, ms, message, raw, why, end } = self;
        let content = match (message, raw, end) {
            (Some(message), None, false) => Content::Message(message),
            (None, Some(raw), false) => {
                let bytes = base64::engine::general_purpose::STANDARD.decode(raw).map_err(|error| error.to_string())?;
                Content::Raw(bytes, why.unwrap_or_default())
            }
            (None, None, true) => Content::End,
            _ => return Err(format!("frame {n} has to be a message, raw bytes or an end")),
        };
        Ok(Frame { n, dir, ms, content })
    }
}

/// A recording that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// How it was made.
    pub head: Head,
    /// The frames in the order in which they crossed the wire, up to the first gap.
    pub frames: Vec<Frame>,
    /// Whether frames are missing from there on.
    pub gap: bool,
    /// Whether it came to its end: not when the sidecar was killed.
    pub complete: bool,
    /// Whether secrets were cut out, or may have been.
    pub redacted: bool,
}

/// Why a recording cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// There is no head, or one that is none.
    #[error("it is no recording: {0}")]
    NoHead(String),
    /// A later program made it.
    #[error("it has the format {found}, and this program knows {FORMAT}: use the program that made it")]
    Format {
        /// The format that it says.
        found: u64,
    },
    /// A line is broken.
    #[error("line {number} cannot be read: {why}")]
    Line {
        /// Which line, from 1.
        number: usize,
        /// What is wrong.
        why: String,
    },
}

impl Recording {
    /// Reads a recording. A last line without its end is passed over: the sidecar was killed while it was written.
    pub fn read(text: &str) -> Result<Recording, Unreadable> {
        let mut lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).enumerate();
        let first = lines.next().map(|(_, line)| line).unwrap_or_default();
        let found = serde_json::from_str::<Value>(first).ok().and_then(|head| head["recording"].as_u64());
        if let Some(found) = found.filter(|found| *found != u64::from(FORMAT)) {
            return Err(Unreadable::Format { found });
        }
        let head = match Line::read(first) {
            Ok(Line::Head(head)) => *head,
            Ok(_) => return Err(Unreadable::NoHead("its first line is no head".to_owned())),
            Err(why) => return Err(Unreadable::NoHead(why)),
        };
        let mut recording = Recording { head, frames: Vec::new(), gap: false, complete: false, redacted: true };
        for (at, line) in lines {
            let number = at + 1;
            let broken = |why: &str| Unreadable::Line { number, why: why.to_owned() };
            if recording.complete {
                return Err(broken("there is nothing behind the end"));
            }
            match Line::read(line).map_err(|why| broken(&why))? {
                Line::Head(_) => return Err(broken("a second head")),
                Line::Gap(_) => recording.gap = true,
                Line::Frame(frame) if frame.ms > LONGEST => return Err(broken("its `ms` is more than a year")),
                Line::Frame(frame) if !recording.gap => {
                    if recording.frames.last().is_some_and(|last| last.n >= frame.n) {
                        return Err(broken("its number is not above the one before"));
                    }
                    recording.frames.push(frame);
                }
                Line::Frame(_) => {}
                Line::End(end) => {
                    recording.complete = true;
                    recording.redacted = end.redacted > 0;
                }
            }
        }
        Ok(recording)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    pub(in crate::recording) fn head() -> Head {
        Head {
            recording: FORMAT,
            version: "0.1.0".to_owned(),
            schema: String::new(),
            command: "serve".to_owned(),
            platform: "linux-x86_64".to_owned(),
            ephemeral: true,
            trusted: Vec::new(),
            folders: vec!["file:///w".to_owned()],
            own_settings: None,
        }
    }

    #[test]
    fn lines_are_read_as_they_were_written() {
        let frame = |content| Line::Frame(Frame { n: 1, dir: Dir::Out, ms: 5, content });
        for line in [
            Line::Head(Box::new(head())),
            frame(Content::Message(json!({ "b": 1, "a": [null, 0.5] }))),
            frame(Content::Message(Value::Null)),
            frame(Content::Raw(vec![0xff, 0], "not UTF-8".to_owned())),
            frame(Content::End),
            Line::Gap(Gap { input: 1, out: 2 }),
            Line::End(End { frames: 3, dropped: Gap::default(), redacted: 1, code: 0 }),
        ] {
            let text = line.clone().write();
            assert_eq!(Line::read(text.strip_suffix('\n').unwrap()), Ok(line), "{text}");
        }
    }

    #[test]
    fn what_can_be_read_and_what_not() {
        let head = Line::Head(Box::new(head())).write();
        let frame = |n| Line::Frame(Frame { n, dir: Dir::In, ms: 0, content: Content::Message(json!({})) }).write();
        let end = Line::End(End { frames: 1, dropped: Gap::default(), redacted: 0, code: 0 }).write();
        let read = |text: &str| {
            Recording::read(text).map(|it| (it.frames.len(), it.gap, it.complete)).map_err(|error| error.to_string())
        };
        assert_eq!(read(&format!("{head}{}{end}", frame(1))), Ok((1, false, true)));
        // The sidecar was killed: a line is torn.
        let torn = format!("{head}{}{}", frame(1), &frame(2)[..9]);
        assert_eq!(read(&torn), Ok((1, false, false)));
        let gap = Line::Gap(Gap { input: 0, out: 1 }).write();
        assert_eq!(read(&format!("{head}{}{gap}{}{end}", frame(1), frame(3))), Ok((1, true, true)));
        for (text, words) in [
            (String::new(), "it is no recording: "),
            ("{}\n".to_owned(), "it is no recording: "),
            (frame(1), "it is no recording: its first line is no head"),
            (format!("{head}{head}"), "line 2 cannot be read: a second head"),
            (format!("{head}{}{}", frame(1), frame(1)), "line 3 cannot be read: its number"),
            (format!("{head}{{\"n\":1,\"dir\":\"in\",\"ms\":0}}\n"), "line 2 cannot be read: frame 1 has to be"),
            (format!("{head}{end}{}", frame(1)), "line 3 cannot be read: there is nothing behind the end"),
            (format!("{head}{end}{end}"), "line 3 cannot be read: there is nothing behind the end"),
            (
                format!("{head}{}", frame(1).replace("\"ms\":0", "\"ms\":31622400001")),
                "line 2 cannot be read: its `ms` is more than a year",
            ),
            (head.replace("\"recording\":1", "\"recording\":2"), "it has the format 2, and this program knows 1"),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.starts_with(words), "{error}");
        }
    }
}
