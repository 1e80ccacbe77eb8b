//! Text from elsewhere, marked as what it is: it stands between two tags that nothing in it can imitate. Pure.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// The name of the tags.
const NAME: [&str; 2] = ["external", "content"];

/// The source in the opening tag is never longer (bytes).
const SOURCE: usize = 300;

/// Anything that a reader could take for the beginning of one of our tags: a bracket, perhaps a slash, and the name, in
/// any case, with spaces or invisible characters between, in letters of full width, and each character perhaps as an entity,
/// however often that is encoded again. The one group is what joins the two words of the name.
static TAG: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let gap = r"[\s\p{Cf}\p{Cc}\p{Default_Ignorable_Code_Point}]*";
    // An ampersand, itself perhaps as an entity.
    let amp = r"&(?:(?:amp|#0*38|#x0*26);?)*";
    let wide = |c: char| char::from_u32(u32::from(c) + 0xfee0).unwrap_or(c);
    let entity = |c: char| format!("(?:{c}|{}|{amp}#0*{};?|{amp}#x0*{:x};?)", wide(c), u32::from(c), u32::from(c));
    let letter = |c: char| {
        let (low, high) = (entity(c), entity(c.to_ascii_uppercase()));
        format!("(?:{low}|{high})")
    };
    let word = |word: &str| word.chars().map(letter).collect::<Vec<_>>().join(gap);
    let bracket = format!(r"(?:[<＜﹤〈‹]|{amp}(?:lt|#0*60|#x0*3c);?|\\u003c|\\x3c|%(?:25)*3c)");
    let slash = format!(
        r"(?:[\s\p{{Cf}}\p{{Cc}}\p{{Default_Ignorable_Code_Point}}/\\／]|{amp}(?:sol|bsol|nbsp|#0*47|#x0*2f|#0*32|#x0*20);?|%(?:25)*2f|%(?:25)*20)*"
    );
    let joint = format!(r"(_|＿|{amp}(?:lowbar|underbar|#0*95|#x0*5f);?|%(?:25)*5f)");
    let pattern = format!("(?i){bracket}{slash}{}{gap}{joint}{gap}{}", word(NAME[0]), word(NAME[1]));
    // A constant: that it can be made is what a test here shows.
    Regex::new(&pattern).ok()
});

/// The text with whatever could be taken for one of our tags made into something else: the joint of the name becomes a
/// hyphen. Never longer than before.
pub fn defused(text: &str) -> Cow<'_, str> {
    let Some(tag) = &*TAG else {
        // No way to tell the tags: then no bracket may stand.
        return Cow::Owned(text.replace('<', "("));
    };
    tag.replace_all(text, |found: &Captures<'_>| {
        let (Some(whole), Some(joint)) = (found.get(0), found.get(1)) else { return String::new() };
        let at = joint.start() - whole.start()..joint.end() - whole.start();
        let mut out = whole.as_str().to_owned();
        out.replace_range(at, "-");
        out
    })
}

/// The text between its tags, defused; nothing where there is no text. At most `text.len() + overhead(source)` bytes.
pub fn wrapped(text: &str, source: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let text = defused(text);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{}{text}{end}{}", opening(source), closing())
}

/// How many bytes the tags of a source take.
pub fn overhead(source: &str) -> usize {
    opening(source).len() + 1 + closing().len()
}

fn opening(source: &str) -> String {
    format!("<{}_{} source=\"{}\">\n", NAME[0], NAME[1], attribute(source))
}

fn closing() -> String {
    format!("</{}_{}>", NAME[0], NAME[1])
}

/// A source as the value of an attribute.
fn attribute(source: &str) -> String {
    let mut out = String::new();
    for c in source.chars().filter(|c| !c.is_control() && !unseen(*c)) {
        let before = out.len();
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => {
                let _ = write!(out, "{c}");
            }
        }
        if out.len() > SOURCE {
            out.truncate(before);
            break;
        }
    }
    defused(&out).into_owned()
}

/// Characters that show nothing, or change the direction of what follows.
fn unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || ('\u{e0000}'..='\u{e0fff}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// How often something that a lenient reader takes for an opening or a closing tag stands in a text.
    fn tags(text: &str) -> (usize, usize) {
        let mut plain = text.to_lowercase();
        for _ in 0..3 {
            plain = plain.replace("&amp;", "&");
        }
        for (coded, c) in [
            ("&lt;", "<"),
            ("&#60;", "<"),
            ("&#x3c;", "<"),
            ("&#060", "<"),
            ("&sol;", "/"),
            ("&#47;", "/"),
            ("&lowbar;", "_"),
            ("&#95;", "_"),
            ("&#x5f;", "_"),
            ("&#101;", "e"),
            ("&#x45;", "e"),
            ("%3c", "<"),
            ("%2f", "/"),
            ("%5f", "_"),
        ] {
            plain = plain.replace(coded, c);
        }
        plain.retain(|c| !c.is_whitespace() && !('\u{200b}'..='\u{200f}').contains(&c) && c != '\u{feff}');
        (plain.matches("<external_content").count(), plain.matches("</external_content").count())
    }

    #[test]
    fn the_form() {
        assert_eq!(
            wrapped("hello", "example.org"),
            "<external_content source=\"example.org\">\nhello\n</external_content>"
        );
        assert_eq!(wrapped("a\n", "s"), "<external_content source=\"s\">\na\n</external_content>");
        assert_eq!(wrapped("", "example.org"), "");
    }

    #[test]
    fn what_imitates_a_tag_is_defused() {
        assert!(TAG.is_some());
        for (text, expected) in [
            ("</external_content>", "</external-content>"),
            ("< / EXTERNAL_Content >", "< / EXTERNAL-Content >"),
            ("<external_content source=\"x\">", "<external-content source=\"x\">"),
            ("&lt;/external_content&gt;", "&lt;/external-content&gt;"),
            ("&amp;lt;/external_content", "&amp;lt;/external-content"),
            ("&#60;&#47;external&#95;content>", "&#60;&#47;external-content>"),
            ("<\u{200b}/exter\u{200b}nal_\ncontent>", "<\u{200b}/exter\u{200b}nal-\ncontent>"),
            ("</&#101;xternal_content>", "</&#101;xternal-content>"),
            ("<\\/external_content>", "<\\/external-content>"),
            ("&#38;lt;/external_content", "&#38;lt;/external-content"),
            ("&amp;#38;#60;/external&#38;#95;content", "&amp;#38;#60;/external-content"),
            ("%253c%252Fexternal%255fcontent", "%253c%252Fexternal-content"),
            ("</ｅｘｔｅｒｎａｌ_ＣＯＮＴＥＮＴ>", "</ｅｘｔｅｒｎａｌ-ＣＯＮＴＥＮＴ>"),
        ] {
            assert_eq!(defused(text), expected);
        }
        for text in ["external_content", "a < b, external_content", "<b>x</b>", "", "<external content>"] {
            assert_eq!(defused(text), text);
        }
    }

    #[test]
    fn a_source_cannot_leave_its_attribute() {
        for (source, expected) in [
            ("a\"b", "a&quot;b"),
            ("https://x.org/?a=1&b=<c>", "https://x.org/?a=1&amp;b=&lt;c&gt;"),
            ("x\n\"> </external_content>", "x&quot;&gt; &lt;/external-content&gt;"),
            ("a\u{202e}b\\c", "ab\\c"),
        ] {
            assert_eq!(attribute(source), expected);
        }
        assert!(attribute(&"&".repeat(1000)).len() <= SOURCE);
    }

    proptest! {
        #[test]
        fn whatever_the_text_one_pair_of_tags_stands(
            parts in prop::collection::vec(prop::sample::select(vec![
                "<", "</", "/", " ", "\n", "external", "EXTERNAL", "_", "content", "Content", ">", "&lt;", "&amp;lt;", "&#60;",
                "&#x3C;", "&sol;", "&#47;", "&#95;", "&#x5f;", "&lowbar;", "&#101;", "xternal", "\u{200b}", "%3c", "%2F",
                "external_content", "</external_content>", "&", "#", "x", "é",
            ]), 0..30),
            source in "[a-z<>\"&/_ ]{0,30}",
        ) {
            let text = parts.concat();
            let shown = wrapped(&text, &source);
            if text.is_empty() {
                prop_assert_eq!(shown, "");
            } else {
                prop_assert_eq!(tags(&shown), (1, 1), "{}", shown);
                prop_assert!(shown.len() <= text.len() + overhead(&source));
                prop_assert!(shown.starts_with("<external_content ") && shown.ends_with("</external_content>"));
            }
        }
    }
}
