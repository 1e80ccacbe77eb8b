//! What servers answer, for the model: texts as they are, pictures as pictures, everything else in words that say what
//! it is and how to get at it. Read piece by piece: one that cannot be read costs only itself. Pure.

use serde_json::Value;

use super::clean;
use crate::tool::{Content, ErrorKind, Failed, Outcome};

/// A name or a type in a piece is shown up to so many bytes.
const WORD: usize = 300;

/// A picture is at most so long (bytes of base64).
const LONGEST_PICTURE: usize = 8 * 1024 * 1024;

/// At most so many pieces of one answer are looked at.
const MOST_PIECES: usize = 1000;

/// At most so many pictures of one answer are shown.
const MOST_PICTURES: usize = 20;

/// Pictures are shown of these types.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// What the answer to a call of a tool is.
///
/// `images`: whether the client shows pictures to the model.
pub(super) fn outcome(server: &str, answer: &Value, images: bool) -> Outcome {
    let pieces = answer["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut shown = Shown::default();
    shown.all(pieces, |piece| self::piece(piece, images));
    let mut structured = answer.get("structuredContent").filter(|value| !value.is_null()).cloned();
    shown.dropped += structured.as_mut().map_or(0, clean::arguments);
    if !shown.says_something() {
        shown.content.clear();
        shown.push(Content::text(match &structured {
            Some(value) => serde_json::to_string_pretty(value).unwrap_or_default(),
            None if !answer["content"].is_array() => {
                format!("(an answer of another form: {})", clean::line(&answer.to_string(), WORD))
            }
            None => "(it answered nothing)".to_owned(),
        }));
    }
    let content = shown.end();
    let failed =
        (answer["isError"] == Value::Bool(true)).then(|| Failed { kind: ErrorKind::Failed, data: structured.clone() });
    Outcome { content, structured, external: Some(server.to_owned()), failed, ..Outcome::default() }
}

/// What a resource is that was read.
pub(super) fn resource(server: &str, answer: &Value, images: bool) -> Outcome {
    let contents = answer["contents"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut shown = Shown::default();
    shown.all(contents, |piece| held(piece, images));
    if contents.is_empty() {
        shown.push(Content::text("(there is nothing in it)"));
    }
    Outcome { content: shown.end(), external: Some(server.to_owned()), ..Outcome::default() }
}

/// What a prompt is: its messages, each with whose it is.
pub(super) fn prompt(server: &str, answer: &Value, images: bool) -> Outcome {
    let mut shown = Shown::default();
    if let Some(about) = answer["description"].as_str() {
        shown.push(Content::text(clean::words(about, WORD)));
    }
    let messages = answer["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    for message in messages.iter().take(MOST_PIECES) {
        let role = clean::line(message["role"].as_str().unwrap_or("unknown"), WORD);
        let pieces = match &message["content"] {
            Value::Array(pieces) => pieces.clone(),
            one => vec![one.clone()],
        };
        shown.push(Content::text(format!("[{role}]")));
        shown.all(&pieces, |piece| self::piece(piece, images));
    }
    if messages.is_empty() && shown.content.is_empty() {
        shown.push(Content::text("(the prompt has no messages)"));
    }
    if messages.len() > MOST_PIECES {
        shown.push(Content::text(format!("({} more messages were left out)", messages.len() - MOST_PIECES)));
    }
    Outcome { content: shown.end(), external: Some(server.to_owned()), ..Outcome::default() }
}

/// What is shown of an answer: bounded, and without what nobody sees.
#[derive(Default)]
struct Shown {
    content: Vec<Content>,
    pictures: usize,
    /// So many characters were left out.
    dropped: usize,
}

impl Shown {
    fn push(&mut self, piece: Content) {
        let piece = match piece {
            Content::Text { text } => {
                let (text, dropped) = clean::seen(&text);
                self.dropped += dropped;
                Content::text(text)
            }
            Content::Image { data, mime_type } if self.pictures >= MOST_PICTURES => {
                let words = binary("a picture", &mime_type, &data);
                Content::text(format!("{words}; {MOST_PICTURES} are shown already"))
            }
            picture @ Content::Image { .. } => {
                self.pictures += 1;
                picture
            }
        };
        self.content.push(piece);
    }

    fn all(&mut self, pieces: &[Value], shown: impl Fn(&Value) -> Content) {
        pieces.iter().take(MOST_PIECES).for_each(|piece| self.push(shown(piece)));
        if pieces.len() > MOST_PIECES {
            self.push(Content::text(format!("({} more pieces were left out)", pieces.len() - MOST_PIECES)));
        }
    }

    fn says_something(&self) -> bool {
        self.content.iter().any(|piece| !matches!(piece, Content::Text { text } if text.is_empty()))
    }

    fn end(mut self) -> Vec<Content> {
        if self.dropped > 0 {
            let words = format!("({} characters that nobody sees were left out of the answer.)", self.dropped);
            self.content.push(Content::text(words));
        }
        self.content
    }
}

/// One piece of an answer.
fn piece(piece: &Value, images: bool) -> Content {
    let kind = piece["type"].as_str().unwrap_or_default();
    let mime = piece["mimeType"].as_str().unwrap_or_default();
    match (kind, piece["text"].as_str(), piece["data"].as_str()) {
        ("text", Some(text), _) => Content::text(text),
        ("image", _, Some(data)) => picture(mime, data, images, "a picture"),
        ("audio", _, Some(data)) => Content::text(binary("audio", mime, data)),
        ("resource", ..) if piece["resource"].is_object() => held(&piece["resource"], images),
        ("resource_link", ..) if piece["uri"].is_string() => Content::text(link(piece)),
        _ => Content::text(format!("(a piece that cannot be shown: {})", clean::line(&piece.to_string(), WORD))),
    }
}

fn picture(mime: &str, data: &str, images: bool, what: &str) -> Content {
    if images && PICTURES.contains(&mime) && data.len() <= LONGEST_PICTURE {
        return Content::Image { data: data.to_owned(), mime_type: mime.to_owned() };
    }
    let why = if !images {
        "this client does not show pictures to the model"
    } else if data.len() > LONGEST_PICTURE {
        "it is too long to be shown"
    } else {
        "pictures of this type are not shown"
    };
    Content::text(format!("{}; {why}", binary(what, mime, data)))
}

/// Something that is no text, in words.
fn binary(what: &str, mime: &str, data: &str) -> String {
    let padding = data.bytes().rev().take_while(|byte| *byte == b'=').count();
    let bytes = (data.len() / 4 * 3).saturating_sub(padding);
    let mime = if mime.is_empty() { "of no type".to_owned() } else { clean::line(mime, WORD) };
    format!("({what}, {mime}, {bytes} bytes)")
}

/// A reference to a resource, which can be read by its URI.
fn link(piece: &Value) -> String {
    let word = |key: &str| piece[key].as_str().map(|text| clean::line(text, WORD)).filter(|text| !text.is_empty());
    let mut out = format!("(resource {}", word("uri").unwrap_or_default());
    for (key, before) in [("name", ": "), ("mimeType", ", "), ("description", ", ")] {
        if let Some(text) = word(key) {
            out.push_str(before);
            out.push_str(&text);
        }
    }
    out.push_str("; read it by the tool `mcp` with action \"read\")");
    out
}

/// The content of a resource.
fn held(resource: &Value, images: bool) -> Content {
    let uri = clean::line(resource["uri"].as_str().unwrap_or("without a URI"), WORD);
    let mime = resource["mimeType"].as_str().unwrap_or_default();
    match (resource["text"].as_str(), resource["blob"].as_str()) {
        (Some(text), _) => Content::text(format!("[resource {uri}]\n{text}")),
        (None, Some(blob)) if mime.starts_with("image/") => picture(mime, blob, images, &format!("resource {uri}")),
        (None, Some(blob)) => Content::text(binary(&format!("resource {uri}"), mime, blob)),
        (None, None) => Content::text(format!("[resource {uri}] (it has neither text nor data)")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn told(outcome: &Outcome) -> String {
        let mut out = String::new();
        for piece in &outcome.content {
            match piece {
                Content::Text { text } => out.extend([format!("{text}\n")]),
                Content::Image { data, mime_type } => out.extend([format!("<{mime_type} {data}>\n")]),
            }
        }
        if let Some(failed) = &outcome.failed {
            out.extend([format!("! {:?}\n", failed.kind)]);
        }
        if let Some(structured) = &outcome.structured {
            out.extend([format!("= {structured}\n")]);
        }
        out
    }

    fn check(answer: &Value, expected: &Expect) {
        let outcome = outcome("s", answer, true);
        assert_eq!(outcome.external.as_deref(), Some("s"));
        expected.assert_eq(&told(&outcome));
    }

    #[test]
    fn every_kind_of_piece() {
        check(
            &json!({ "content": [
                { "type": "text", "text": "one" },
                { "type": "image", "data": "AAAA", "mimeType": "image/png" },
                { "type": "image", "data": "AAAA", "mimeType": "image/tiff" },
                { "type": "audio", "data": "AAA=", "mimeType": "audio/wav" },
                { "type": "resource", "resource": { "uri": "a://b", "text": "held" } },
                { "type": "resource", "resource": { "uri": "a://c", "mimeType": "image/png", "blob": "AAAA" } },
                { "type": "resource", "resource": { "uri": "a://d", "mimeType": "application/gzip", "blob": "AA==" } },
                { "type": "resource", "resource": { "uri": "a://e" } },
                { "type": "resource_link", "uri": "a://f", "name": "f", "mimeType": "text/plain",
                    "description": "x\u{200b}" },
                { "type": "hologram", "data": 1 }, 5,
            ] }),
            &expect![[r#"
                one
                <image/png AAAA>
                (a picture, image/tiff, 3 bytes); pictures of this type are not shown
                (audio, audio/wav, 2 bytes)
                [resource a://b]
                held
                <image/png AAAA>
                (resource a://d, application/gzip, 1 bytes)
                [resource a://e] (it has neither text nor data)
                (resource a://f: f, text/plain, x; read it by the tool `mcp` with action "read")
                (a piece that cannot be shown: {"type":"hologram","data":1})
                (a piece that cannot be shown: 5)
            "#]],
        );
    }

    #[test]
    fn what_nobody_sees_and_what_is_too_much_is_left_out_and_told() {
        check(
            &json!({
                "content": [{ "type": "text", "text": "a\u{e0049}\u{200b}b" }],
                "structuredContent": { "a": ["\u{202e}c"] },
            }),
            &expect![[r#"
                ab
                (3 characters that nobody sees were left out of the answer.)
                = {"a":["c"]}
            "#]],
        );
        check(
            &json!({ "content": [{ "type": "text", "text": "\u{200b}" }] }),
            &expect![[r"
                (it answered nothing)
                (1 characters that nobody sees were left out of the answer.)
            "]],
        );
        let picture = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
        let many = outcome("s", &json!({ "content": vec![picture; MOST_PIECES + 5] }), true);
        let pictures = many.content.iter().filter(|piece| matches!(piece, Content::Image { .. })).count();
        assert_eq!((pictures, many.content.len()), (MOST_PICTURES, MOST_PIECES + 1));
        assert!(told(&many).ends_with("(5 more pieces were left out)\n"));
    }

    #[test]
    fn failures_and_data() {
        check(
            &json!({ "content": [{ "type": "text", "text": "no" }], "isError": true }),
            &expect![[r"
                no
                ! Failed
            "]],
        );
        check(
            &json!({ "content": [], "structuredContent": { "a": 1 } }),
            &expect![[r#"
                {
                  "a": 1
                }
                = {"a":1}
            "#]],
        );
        check(
            &json!({ "content": [{ "type": "text", "text": "" }] }),
            &expect![[r"
                (it answered nothing)
            "]],
        );
        check(
            &json!({ "content": "no list" }),
            &expect![[r#"
                (an answer of another form: {"content":"no list"})
            "#]],
        );
        check(
            &json!({ "toolResult": 1 }),
            &expect![[r#"
                (an answer of another form: {"toolResult":1})
            "#]],
        );
    }

    #[test]
    fn resources_and_prompts() {
        let read = json!({ "contents": [{ "uri": "a://b", "text": "t" }, { "uri": "a://c", "blob": "AAAA" }] });
        expect![[r"
            [resource a://b]
            t
            (resource a://c, of no type, 3 bytes)
        "]]
        .assert_eq(&told(&resource("s", &read, false)));
        let got = json!({ "description": "about", "messages": [
            { "role": "user", "content": { "type": "text", "text": "hi" } },
            { "role": "assistant", "content": [{ "type": "image", "data": "AAAA", "mimeType": "image/png" }] },
        ] });
        expect![[r"
            about
            [user]
            hi
            [assistant]
            (a picture, image/png, 3 bytes); this client does not show pictures to the model
        "]]
        .assert_eq(&told(&prompt("s", &got, false)));
    }
}
