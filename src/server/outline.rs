//! What can be made out of a message that cannot be read as a whole. Pure.
//!
//! Whoever sent it may wait for an answer, and a change of a text may be lost with it: so as much is read as is sure.
//! Nothing is guessed. What stands behind the first fault of the syntax counts as not seen.

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use tower_lsp::jsonrpc::Id;

/// One field of a message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Field<T> {
    /// It was not seen.
    #[default]
    Absent,
    /// It was there once, and whole.
    One(T),
    /// It was there, but not in a way that can be relied on: twice, of another type, or with bytes that are no UTF-8.
    Unclear,
}

impl<T> Field<T> {
    /// The value, if it is sure.
    pub(super) fn one(&self) -> Option<&T> {
        match self {
            Field::One(value) => Some(value),
            Field::Absent | Field::Unclear => None,
        }
    }

    fn put(&mut self, value: Field<T>) {
        *self = match self {
            Field::Absent => value,
            Field::One(_) | Field::Unclear => Field::Unclear,
        };
    }
}

/// The outline of a message.
#[expect(clippy::struct_excessive_bools, reason = "four independent facts about some bytes")]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Outline {
    /// Whether the syntax holds to the end, so that a field that was not seen is not there.
    pub sound: bool,
    /// Whether every byte is UTF-8.
    pub utf8: bool,
    /// Whether it is an object, as every message is.
    pub object: bool,
    /// The version of JSON-RPC.
    pub jsonrpc: Field<String>,
    /// The id.
    pub id: Field<Id>,
    /// The method.
    pub method: Field<String>,
    /// Whether it has a result or an error, as answers do.
    pub answers: bool,
    /// `params.textDocument.uri`
    pub uri: Field<String>,
}

impl Outline {
    /// Makes out what can be made out.
    pub(super) fn of(body: &[u8]) -> Outline {
        let text = String::from_utf8_lossy(body);
        let mut outline = Outline { utf8: matches!(text, std::borrow::Cow::Borrowed(_)), ..Outline::default() };
        let mut parser = serde_json::Deserializer::from_str(&text);
        let walked = Walk { place: Place::Message, outline: &mut outline }.deserialize(&mut parser);
        outline.sound = walked.and_then(|()| parser.end()).is_ok();
        outline
    }

    /// Whether nothing but its params, or its result, can be what is wrong with it.
    pub(super) fn is_sound(&self) -> bool {
        let version = self.jsonrpc.one().is_some_and(|version| version == "2.0");
        self.sound && self.utf8 && self.object && version && self.id != Field::Unclear
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Message,
    Params,
    Document,
    Version,
    Id,
    Method,
    Uri,
}

/// Walks down to the fields that matter. Everything else is passed over without recursion, however deep it is.
struct Walk<'a> {
    place: Place,
    outline: &'a mut Outline,
}

impl Walk<'_> {
    fn text(&mut self, text: Option<&str>) {
        // Bytes that are no UTF-8 have been replaced by this.
        let damaged = |text: &str| !self.outline.utf8 && text.contains('\u{FFFD}');
        let text = match text {
            Some(text) if !damaged(text) => Field::One(text.to_owned()),
            _ => Field::Unclear,
        };
        let outline = &mut *self.outline;
        match self.place {
            Place::Message | Place::Params | Place::Document => {}
            Place::Version => outline.jsonrpc.put(text),
            Place::Method => outline.method.put(text),
            Place::Uri => outline.uri.put(text),
            Place::Id => outline.id.put(match text {
                Field::One(text) => Field::One(Id::String(text)),
                Field::Absent | Field::Unclear => Field::Unclear,
            }),
        }
    }

    fn number(mut self, number: Option<i64>) {
        match number {
            Some(number) if self.place == Place::Id => self.outline.id.put(Field::One(Id::Number(number))),
            _ => self.text(None),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E: Error>(mut self, _: bool) -> Result<(), E> {
        self.text(None);
        Ok(())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.number(Some(number));
        Ok(())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.number(i64::try_from(number).ok());
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.number(None);
        Ok(())
    }

    fn visit_unit<E: Error>(mut self) -> Result<(), E> {
        match self.place {
            Place::Id => self.outline.id.put(Field::One(Id::Null)),
            _ => self.text(None),
        }
        Ok(())
    }

    fn visit_str<E: Error>(mut self, text: &str) -> Result<(), E> {
        self.text(Some(text));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.text(None);
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<(), A::Error> {
        self.text(None);
        self.outline.object |= self.place == Place::Message;
        while let Some(name) = fields.next_key::<String>()? {
            let place = match (self.place, name.as_str()) {
                (Place::Message, "jsonrpc") => Place::Version,
                (Place::Message, "id") => Place::Id,
                (Place::Message, "method") => Place::Method,
                (Place::Message, "params") => Place::Params,
                (Place::Params, "textDocument") => Place::Document,
                (Place::Document, "uri") => Place::Uri,
                (place, name) => {
                    self.outline.answers |= place == Place::Message && matches!(name, "result" | "error");
                    fields.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            fields.next_value_seed(Walk { place, outline: &mut *self.outline })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// sound, id, method, uri, answers
    fn made_out(body: &[u8]) -> String {
        fn show<T: std::fmt::Debug>(field: &Field<T>) -> String {
            match field {
                Field::Absent => "-".to_owned(),
                Field::One(value) => format!("{value:?}"),
                Field::Unclear => "?".to_owned(),
            }
        }
        let Outline { sound, id, method, uri, answers, .. } = Outline::of(body);
        let (id, method, uri) = (show(&id), show(&method), show(&uri));
        format!(
            "{}{} {id} {method} {uri}",
            if sound { "sound" } else { "broken" },
            if answers { " answer" } else { "" }
        )
    }

    #[test]
    fn what_is_sure_is_made_out() {
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        for (body, expected) in [
            (r#"{"id":3,"method":"m","params":{"textDocument":{"uri":"u"}}}"#.to_owned(), r#"sound Number(3) "m" "u""#),
            (format!(r#"{{"params":{{"x":{deep},"textDocument":{{"uri":"u"}}}},"method":"m"}}"#), r#"sound - "m" "u""#),
            (r#"{"params":{"x":1e999,"textDocument":{"uri":"u"}},"id":"a"}"#.to_owned(), r#"sound String("a") - "u""#),
            // Deeper, or elsewhere, it is no field of the message.
            (r#"{"params":{"uri":"u","method":"m","textDocument":[{"uri":"v"}]}}"#.to_owned(), "sound - - -"),
            (r#"{"id":1.5,"method":7}"#.to_owned(), "sound ? ? -"),
            (r#"{"id":null,"method":null}"#.to_owned(), "sound Null ? -"),
            (r#"{"id":1,"id":1,"method":"a","method":"a"}"#.to_owned(), "sound ? ? -"),
            (r#"{"id":1,"result":{}}"#.to_owned(), "sound answer Number(1) - -"),
            (r#"{"id":1,"error":nul"#.to_owned(), "broken answer Number(1) - -"),
            // What stands behind the fault is not seen: it may be anything.
            (
                r#"{"method":"m","params":{"text":"say "hi"","textDocument":{"uri":"u"}}}"#.to_owned(),
                r#"broken - "m" -"#,
            ),
            (r#"{"id":1,"params":{]},"method":"m"}"#.to_owned(), "broken Number(1) - -"),
            ("[]".to_owned(), "sound - - -"),
            ("{".to_owned(), "broken - - -"),
            (r#"{"id":1} {"#.to_owned(), "broken Number(1) - -"),
        ] {
            assert_eq!(made_out(body.as_bytes()), expected, "{body}");
        }
    }

    #[test]
    fn a_field_with_a_damaged_byte_is_not_relied_on() {
        for (body, expected) in [
            (
                &b"{\"id\":\"\xff\",\"method\":\"m\",\"params\":{\"textDocument\":{\"uri\":\"u\xe9\"}}}"[..],
                r#"sound ? "m" ?"#,
            ),
            (b"{\"id\":1,\"method\":\"\xff\",\"params\":\"\xff\"}", "sound Number(1) ? -"),
            (b"\xff\xfe", "broken - - -"),
            // The character itself may be sent.
            ("{\"method\":\"\u{FFFD}\"}".as_bytes(), "sound - \"\u{FFFD}\" -"),
        ] {
            assert_eq!(made_out(body), expected, "{}", String::from_utf8_lossy(body));
        }
    }
}
