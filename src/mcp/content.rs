//! What servers answer, for the model: texts as they are, pictures as pictures, everything else in words that say what
//! it is and how to get at it. Read piece by piece: one that cannot be read costs only itself. Pure.

use serde_json::Value;

use super::clean;
use crate::tool::{Content, ErrorKind, Failed, Outcome};

/// A name or a type in a piece is shown up to so many bytes.
const WORD: usize = 300;

/// A picture is at most so long (bytes of base64).
const LONGEST_PICTURE: usize = 8 * 1024 * 1024;

/// Pictures are shown of these types.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// What the answer to a call of a tool is.
///
/// `images`: whether the client shows pictures to the model.
pub(super) fn outcome(server: &str, answer: &Value, images: bool) -> Outcome {
    let pieces = answer["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut content: Vec<Content> = pieces.iter().map(|piece| self::piece(piece, images)).collect();
    let structured = answer.get("structuredContent").filter(|value| !value.is_null()).cloned();
    let said = content.iter().any(|piece| !matches!(piece, Content::Text { text } if text.is_empty()));
    if !said {
        content.clear();
        content.push(Content::text(match &structured {
            Some(value) => serde_json::to_string_pretty(value).unwrap_or_default(),
            None if answer.get("content").is_none() => {
                format!("(an answer of another form: {})", clean::line(&answer.to_string(), WORD))
            }
            None => "(it answered nothing)".to_owned(),
        }));
    }
    let failed =
        (answer["isError"] == Value::Bool(true)).then(|| Failed { kind: ErrorKind::Failed, data: structured.clone() });
    Outcome { content, structured, external: Some(server.to_owned()), failed, ..Outcome::default() }
}

/// What a resource is that was read.
pub(super) fn resource(server: &str, answer: &Value, images: bool) -> Outcome {
    let contents = answer["contents"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut content: Vec<Content> = contents.iter().map(|piece| held(piece, images)).collect();
    if content.is_empty() {
        content.push(Content::text("(there is nothing in it)"));
    }
    Outcome { content, external: Some(server.to_owned()), ..Outcome::default() }
}

/// What a prompt is: its messages, each with whose it is.
pub(super) fn prompt(server: &str, answer: &Value, images: bool) -> Outcome {
    let mut content = Vec::new();
    if let Some(about) = answer["description"].as_str() {
        content.push(Content::text(clean::words(about, WORD)));
    }
    for message in answer["messages"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let role = clean::line(message["role"].as_str().unwrap_or("unknown"), WORD);
        let pieces = match &message["content"] {
            Value::Array(pieces) => pieces.clone(),
            one => vec![one.clone()],
        };
        content.push(Content::text(format!("[{role}]")));
        content.extend(pieces.iter().map(|piece| self::piece(piece, images)));
    }
    if content.is_empty() {
        content.push(Content::text("(the prompt has no messages)"));
    }
    Outcome { content, external: Some(server.to_owned()), ..Outcome::default() }
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
