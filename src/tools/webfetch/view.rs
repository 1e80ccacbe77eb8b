//! What came, as a model gets to see it. Pure.

use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use serde_json_path::JsonPath;

use crate::outputs::OutputKind;
use crate::tool::{Content, ErrorKind, Failed, Outcome, ToolError};
use crate::web::kind::{self, Kind};
use crate::web::page::{self, Form};
use crate::web::{Fetched, Method, Refused, fields};

use super::{Format, MOST_BYTES};

/// A picture is handed over up to so many bytes: as base64 that is 5 MB, the most that models' interfaces take.
const MAX_IMAGE_BYTES: usize = 3_750_000;

/// What was asked for.
pub(super) struct Asked {
    pub(super) method: Method,
    pub(super) format: Format,
    pub(super) max_bytes: usize,
    /// Of JSON only these.
    pub(super) paths: Vec<(String, JsonPath)>,
    /// Whether the client shows pictures to the model.
    pub(super) images: bool,
}

/// What came, for the model.
pub(super) fn shown(fetched: &Fetched, asked: &Asked, stop: &AtomicBool) -> Result<Outcome, ToolError> {
    let Fetched { target, status, content_type, headers, body, cut, leads_to, redirects } = fetched;
    let mut structured = json!({
        "url": target.url.as_str(),
        "status": status,
        "contentType": content_type,
        "bytes": body.len(),
        "cut": cut,
        "redirects": redirects,
        "headers": headers.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect::<serde_json::Map<_, _>>(),
    });
    let mut text = head(fetched);
    if let Some(next) = leads_to {
        let words = format!(
            "It leads to {}, which is another machine or sends something, and was not asked about. To go on, call webfetch \
             with that URL{}.",
            next.target.url,
            if next.method == Method::Get { String::new() } else { format!(" and the method {}", next.method) }
        );
        text.push_str(&words);
        structured["leadsTo"] = next.target.url.as_str().into();
        return Ok(outcome(vec![Content::text(text)], structured, fetched, None));
    }
    if !asked.method.reads() || asked.method == Method::Head {
        // Of these, what matters may be said there alone.
        for (name, value) in headers {
            let _ = writeln!(text, "{name}: {value}");
        }
        text.push('\n');
    }
    let mut content = Vec::new();
    let mut notes = Vec::new();
    let what = kind::kind(content_type.as_deref(), body);
    match what {
        _ if body.is_empty() => text.push_str("(no content)"),
        Kind::Html | Kind::Json | Kind::Text => {
            let (decoded, charset) = kind::text(content_type.as_deref(), body, *cut);
            structured["charset"] = charset.into();
            let form = match asked.format {
                Format::Markdown => Some(Form::Markdown),
                Format::Text => Some(Form::Text),
                Format::Html | Format::Raw => None,
            };
            match form.filter(|_| what == Kind::Html) {
                _ if !asked.paths.is_empty() => {
                    let picked = picked(&decoded, asked, *cut)?;
                    text.push_str(&serde_json::to_string_pretty(&picked).unwrap_or_default());
                    structured["fields"] = picked;
                }
                Some(form) => {
                    let page = page::shown(&decoded, &target.url, form, stop);
                    if !page.title.is_empty() {
                        let _ = write!(text, "Title: {}\n\n", page.title);
                        structured["title"] = page.title.into();
                    }
                    text.push_str(if page.text.is_empty() {
                        "(the page shows no text without scripts)"
                    } else {
                        &page.text
                    });
                    if page.cut {
                        notes.push(
                            "The page is too large or too tangled to be shown whole; `raw` shows its source."
                                .to_owned(),
                        );
                    }
                }
                None => text.push_str(&decoded),
            }
        }
        Kind::Image(mime) => {
            structured["mimeType"] = mime.into();
            let _ = write!(text, "An image ({mime}, {} bytes{}).", body.len(), if *cut { " of more" } else { "" });
            if asked.images && !cut && body.len() <= MAX_IMAGE_BYTES {
                content.push(Content::Image { data: STANDARD.encode(body), mime_type: mime.to_owned() });
            } else if !asked.images {
                text.push_str(" This client does not show images to the model.");
            } else {
                let _ = write!(text, " More than {MAX_IMAGE_BYTES} bytes cannot be shown.");
            }
        }
        Kind::Pdf => {
            text.push_str(
                "A PDF. No text is taken out of PDFs here; where a command may be run, `curl` fetches it into a file and \
                 `pdftotext -layout FILE -` shows its text.",
            );
        }
        Kind::Binary => text
            .push_str("This is no text, and is not shown; where a command may be run, `curl` fetches it into a file."),
    }
    if *cut && !matches!(what, Kind::Image(_)) {
        let more = if asked.max_bytes < MOST_BYTES {
            format!("a larger `max_bytes` (up to {MOST_BYTES}) reads more")
        } else {
            "more are not read".to_owned()
        };
        notes.push(format!("Only the first {} bytes were read; {more}.", body.len()));
    }
    for note in notes {
        let _ = write!(text, "\n\n({note})");
    }
    content.insert(0, Content::text(text));
    let failed = (!(200..300).contains(status))
        .then(|| Failed { kind: ErrorKind::Failed, data: Some(json!({ "status": status })) });
    Ok(outcome(content, structured, fetched, failed))
}

fn outcome(content: Vec<Content>, structured: Value, fetched: &Fetched, failed: Option<Failed>) -> Outcome {
    Outcome {
        content,
        structured: Some(structured),
        external: Some(fetched.target.origin.host.clone()),
        kind: Some(OutputKind::Source),
        failed,
        ..Outcome::default()
    }
}

/// The first lines: how it was answered, by whom, with what.
fn head(fetched: &Fetched) -> String {
    let reason = called(fetched.status);
    let status = format!("HTTP {} {reason}", fetched.status);
    let mut text = format!("{}\n{}\n", status.trim_end(), fetched.target.url);
    if let Some(content_type) = &fetched.content_type {
        let _ = writeln!(text, "{}", content_type.chars().filter(|c| !c.is_control()).take(200).collect::<String>());
    }
    text.push('\n');
    text
}

/// What a status is called.
fn called(status: u16) -> &'static str {
    reqwest::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or_default()
}

fn picked(decoded: &str, asked: &Asked, cut: bool) -> Result<Value, ToolError> {
    fields::pick(decoded, &asked.paths).map_err(|Refused(why)| {
        let more = if cut { " Only a part of it was read: a larger `max_bytes` reads more." } else { "" };
        ToolError::new(ErrorKind::Failed, format!("{why}{more}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::{Request, parse};
    use expect_test::{Expect, expect};

    fn fetched(content_type: &str, body: &[u8]) -> Fetched {
        Fetched {
            target: parse("https://example.org/a", &[]).unwrap(),
            status: 200,
            content_type: Some(content_type.to_owned()),
            headers: vec![("etag".to_owned(), "\"x\"".to_owned())],
            body: body.to_vec(),
            cut: false,
            leads_to: None,
            redirects: 0,
        }
    }

    fn asked(format: Format) -> Asked {
        Asked { method: Method::Get, format, max_bytes: 100, paths: Vec::new(), images: true }
    }

    fn text(outcome: &Outcome) -> &str {
        match &outcome.content[0] {
            Content::Text { text } => text,
            other @ Content::Image { .. } => panic!("{other:?}"),
        }
    }

    fn check(fetched: &Fetched, asked: &Asked, expected: &Expect) {
        expected.assert_eq(text(&shown(fetched, asked, &AtomicBool::new(false)).unwrap()));
    }

    #[test]
    fn what_a_model_sees() {
        let page = fetched("text/html; charset=iso-8859-1", b"<title>T</title><p>b\xfc <a href=b>c</a>");
        check(
            &page,
            &asked(Format::Markdown),
            &expect![[r"
            HTTP 200 OK
            https://example.org/a
            text/html; charset=iso-8859-1

            Title: T

            bü [c](https://example.org/b)"]],
        );
        check(
            &page,
            &asked(Format::Text),
            &expect![[r"
            HTTP 200 OK
            https://example.org/a
            text/html; charset=iso-8859-1

            Title: T

            bü c"]],
        );
        check(
            &page,
            &asked(Format::Raw),
            &expect![[r"
            HTTP 200 OK
            https://example.org/a
            text/html; charset=iso-8859-1

            <title>T</title><p>bü <a href=b>c</a>"]],
        );
        check(
            &Fetched { cut: true, ..fetched("text/plain", b"abc") },
            &asked(Format::Markdown),
            &expect![[r"
            HTTP 200 OK
            https://example.org/a
            text/plain

            abc

            (Only the first 3 bytes were read; a larger `max_bytes` (up to 10485760) reads more.)"]],
        );
        check(
            &fetched("application/pdf", b"%PDF-1.7"),
            &asked(Format::Markdown),
            &expect![[r"
            HTTP 200 OK
            https://example.org/a
            application/pdf

            A PDF. No text is taken out of PDFs here; where a command may be run, `curl` fetches it into a file and `pdftotext -layout FILE -` shows its text."]],
        );
        check(
            &fetched("application/zip", b"PK\x03\x04\0"),
            &asked(Format::Raw),
            &expect![[r"
            HTTP 200 OK
            https://example.org/a
            application/zip

            This is no text, and is not shown; where a command may be run, `curl` fetches it into a file."]],
        );
        check(
            &fetched("text/html", b""),
            &Asked { method: Method::Head, ..asked(Format::Text) },
            &expect![[r#"
            HTTP 200 OK
            https://example.org/a
            text/html

            etag: "x"

            (no content)"#]],
        );
        let next = Request::get(parse("https://other.org/", &[]).unwrap());
        let leads = Fetched { status: 302, leads_to: Some(next), ..fetched("text/html", b"moved") };
        check(
            &leads,
            &asked(Format::Text),
            &expect![[r"
            HTTP 302 Found
            https://example.org/a
            text/html

            It leads to https://other.org/, which is another machine or sends something, and was not asked about. To go on, call webfetch with that URL."]],
        );
    }

    #[test]
    fn a_picture_is_shown_where_pictures_are() {
        let picture = fetched("image/png", b"\x89PNG\r\n\x1a\n....");
        let shows = shown(&picture, &asked(Format::Markdown), &AtomicBool::new(false)).unwrap();
        assert_eq!(
            shows.content[1],
            Content::Image { data: "iVBORw0KGgouLi4u".to_owned(), mime_type: "image/png".to_owned() }
        );
        let blind = Asked { images: false, ..asked(Format::Markdown) };
        let told = shown(&picture, &blind, &AtomicBool::new(false)).unwrap();
        assert_eq!(told.content.len(), 1);
        assert!(text(&told).contains("does not show images"), "{}", text(&told));
    }

    #[test]
    fn fields_are_picked_and_failures_are_failures() {
        let paths = fields::paths(&["$.a[*].b".to_owned()]).unwrap();
        let asked = Asked { paths, ..asked(Format::Markdown) };
        let json = fetched("application/json", br#"{ "a": [{ "b": 1 }, { "b": 2 }] }"#);
        let outcome = shown(&json, &asked, &AtomicBool::new(false)).unwrap();
        assert_eq!(outcome.structured.unwrap()["fields"], json!({ "$.a[*].b": [1, 2] }));
        let error = shown(&fetched("text/html", b"<p>"), &asked, &AtomicBool::new(false)).unwrap_err();
        assert!(error.message.contains("is no JSON"), "{error}");
        let gone = Fetched { status: 404, ..json };
        let outcome = shown(&gone, &asked, &AtomicBool::new(false)).unwrap();
        assert_eq!(outcome.failed.as_ref().map(|failed| failed.kind), Some(ErrorKind::Failed));
        assert!(
            text(&outcome).starts_with("HTTP 404 Not Found\nhttps://example.org/a\napplication/json\n\n{"),
            "{}",
            text(&outcome)
        );
    }
}
