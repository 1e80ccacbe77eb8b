//! What pages look like, and that none of them takes forever.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn page(html: &str, form: Form) -> Page {
    let base = Url::parse("https://example.org/docs/page").unwrap();
    shown(html, &base, form, &AtomicBool::new(false))
}

fn check(html: &str, markdown: &Expect, text: &Expect) {
    markdown.assert_eq(&page(html, Form::Markdown).text);
    text.assert_eq(&page(html, Form::Text).text);
}

#[test]
fn what_a_reader_reads() {
    check(
        "<!doctype html><html><head><title> A &amp; B </title><style>p { x }</style><script>if (a<b) document.write('<p>no')\
         </script></head><body><nav><a href=/>home</a></nav><header><h1>Title</h1></header><p>One <b>bold</b> and\n<em>soft</em> \
         <a href='../x?a=1&b=2'>link</a>, <code>a_b</code>.<p>Two<br>lines <span>in</span> a span<ul><li>a<li>b<ul><li>c</ul></ul>\
         <ol start=3><li>x</li></ol><pre><code class='hl language-rust'>fn main() {\n    a &lt; b\n}</code></pre>\
         <blockquote>said</blockquote><img src=i.png alt=Picture><img src=j.png><footer>imprint</footer>",
        &expect![[r"
            # Title

            One **bold** and *soft* [link](https://example.org/x?a=1&b=2), `a_b`.

            Two
            lines in a span

            - a
            - b
              - c

            3. x

            ```rust
            fn main() {
                a < b
            }
            ```

            > said

            ![Picture](https://example.org/docs/i.png)"]],
        &expect![[r"
            Title

            One bold and soft link, a_b.

            Two
            lines in a span

            - a
            - b

            - c

            - x

            fn main() {
                a < b
            }

            said"]],
    );
    assert_eq!(page("<title> A &amp;\n B </title>x", Form::Text).title, "A & B");
}

#[test]
fn tables() {
    check(
        "<table><caption>Sizes</caption><thead><tr><th>Name<th>Size</thead><tbody><tr><td>a|b<td><p>1<p>2<tr><th>c<td>\
         <table><tr><td>in</table></table>after",
        &expect![[r"
            Sizes

            | Name |Size |
            | --- | --- |
            | a\|b |1 2 |
            | c |\| in \| \| --- \| |

            after"]],
        &expect![[r"
            Sizes
            Name	Size
            a|b

            1

            2

            c

            in

            after"]],
    );
}

#[test]
fn what_is_not_for_readers_is_left_out() {
    for html in [
        "<div hidden>no</div>yes",
        "<div style='display : none'>no</div>yes",
        "<p aria-hidden=true>no<p>yes",
        "<svg><title>no</title><style/><text>no</text></svg>yes",
        "<noscript><p>no</noscript>yes",
        "<textarea><b>no</textarea>yes",
        "<div role=navigation>no<div>no</div></div>yes",
        "<template><p>no</template>yes",
        "<!-- no -->yes",
        "<select><option>no<option>no</select>yes",
        "yes<script>no",
        "yes<script><!--<script>no</script>no--></script>",
    ] {
        for form in [Form::Markdown, Form::Text] {
            assert_eq!(page(html, form).text, "yes", "{html}");
        }
    }
    // Where that is all there is, it is shown.
    assert_eq!(page("<nav>menu</nav>", Form::Text).text, "menu");
    assert_eq!(page("<body style='visibility:hidden'>yes", Form::Text).text, "yes");
}

#[test]
fn links_lead_somewhere() {
    for (html, expected) in [
        ("<a href='/a b'>x</a>", "[x](https://example.org/a%20b)"),
        ("<a href='//other.org'>x</a>", "[x](https://other.org/)"),
        ("<a href='mailto:a@b.org'>x</a>", "[x](mailto:a@b.org)"),
        ("<base href='/sub/'><a href=y>x</a>", "[x](https://example.org/sub/y)"),
        ("<a href='javascript:alert(1)'>x</a>", "x"),
        ("<a href='#top'>x</a>", "x"),
        ("<a href='data:text/html,x'>x</a>", "x"),
        ("<a name=here>x</a>", "x"),
        ("<a href=/1>a<a href=/2>b</a>", "[ab](https://example.org/1)"),
    ] {
        assert_eq!(page(html, Form::Markdown).text, expected, "{html}");
    }
}

/// Some ten kilobytes each of what, by the megabyte, no tree of the page, no stack and no square of anything would bear.
#[test]
fn no_page_takes_forever() {
    let many = |part: &str| part.repeat(40_000 / part.len());
    let numbered = |part: &str| (0..3000).map(|at| part.replace('#', &at.to_string())).collect::<String>();
    for html in [
        many("<div>"),
        many("<b>"),
        many("<blockquote>"),
        many("<ul><li>"),
        many("<table><tr><td>"),
        many("<a href=x>"),
        many("</div>"),
        many("<p>x"),
        numbered("<font a=#><p>x"),
        format!("<a {}>", numbered(" a#")),
        many(&format!("<a {}>", (0..500).map(|at| format!(" a{at}")).collect::<Vec<_>>().concat())),
        many("<!--"),
        many("<"),
        many("&"),
        many("<td>x"),
        format!("<table><tr><td>{}<tr>{}", "x".repeat(20_000), many("<tr><td>x")),
        format!("<table><tr>{}", many("<td>x")),
        many("<li>x"),
        many("<b>x</b>"),
        many("<pre>\n"),
        format!("<pre>{}", many("`")),
        format!("<a href='{}'>x", many("a")),
        format!("<img alt=x src='data:image/png;base64,{}'>yes", many("A")),
        format!("<script>{}", many("<script>")),
    ] {
        for form in [Form::Markdown, Form::Text] {
            let page = page(&html, form);
            assert!(page.text.len() <= html.len() * 8 + 10_000, "{} bytes of {}", page.text.len(), &html[..20]);
        }
    }
    let picture = format!("<img alt=x src='data:image/png;base64,{}'>yes", many("A"));
    assert_eq!(page(&picture, Form::Text).text, "yes");
}

#[test]
fn it_stops_when_it_is_told() {
    let base = Url::parse("https://example.org/").unwrap();
    let page = shown("<p>x", &base, Form::Text, &AtomicBool::new(true));
    assert_eq!(page, Page { cut: true, ..Page::default() });
}

proptest! {
    #[test]
    fn any_page_is_shown(
        parts in proptest::collection::vec(
            "(</?(p|div|a|b|i|ul|ol|li|table|tr|td|th|pre|code|h1|title|script|nav|br|caption|tbody|svg|dl|dd)( [a-z]+=[\"']?[a-z:/#]{0,6}[\"']?)?/?>|&[a-z#0-9]{0,4};?|[a-z <>\\n|*_`\\[\\]-]{0,6})",
            0..60,
        ),
    ) {
        let html = parts.concat();
        for form in [Form::Markdown, Form::Text] {
            let page = page(&html, form);
            prop_assert!(!page.cut);
            prop_assert_eq!(page.text.trim_end(), page.text.as_str());
            prop_assert!(!page.text.contains("\n\n\n"));
        }
    }
}
