//! From a whole output to what the model is given of it. Pure.

use super::compress::compressed;
use super::cut::{Budget, Cut};
use super::{OutputKind, external, line_count};

/// A text in two parts. The whole is the body, a line end and the rest, where both say something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Text<'a> {
    /// What the tool said.
    pub body: &'a str,
    /// The same made shorter by somebody who says so in it.
    pub shorter: Option<&'a str>,
    /// What we add to it.
    pub rest: &'a str,
}

/// How a text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct How<'a> {
    /// At most so much.
    pub budget: Budget,
    /// The name under which the whole is kept.
    pub id: &'a str,
    /// Where the body comes from, if it is text from elsewhere.
    pub external: Option<&'a str>,
    /// Make a body of this kind shorter, if it is too long.
    pub compress: Option<OutputKind>,
}

/// A body that fits stays whole if so many bytes are left for what we add to it.
const REST_LEAST: usize = 400;

/// Of the budget, what we add to a text from elsewhere takes at most one part in so many.
const REST_SHARE: usize = 4;

impl Text<'_> {
    /// All of it.
    pub fn whole(self) -> String {
        joined(self.body, self.rest)
    }

    /// How many lines of the whole are above the rest: those of the body, and an empty one if the body ends a line.
    fn above(self) -> usize {
        line_count(self.body) + usize::from(self.body.ends_with('\n'))
    }
}

fn joined(body: &str, rest: &str) -> String {
    match (body.is_empty(), rest.is_empty()) {
        (false, false) => format!("{body}\n{rest}"),
        _ => format!("{body}{rest}"),
    }
}

/// What the model is given of a text: at most the budget's bytes. A text from elsewhere stands between its tags, of
/// which there is one pair, whatever is cut.
pub fn present(text: Text<'_>, how: How<'_>) -> Cut {
    match how.external {
        Some(source) if !text.body.is_empty() => marked(text, how, source),
        _ => unmarked(text, how),
    }
}

fn unmarked(text: Text<'_>, how: How<'_>) -> Cut {
    let (max, body) = (how.budget.max, text.shorter.unwrap_or(text.body));
    let shown = joined(body, text.rest);
    if shown.len() <= max {
        return Cut { text: shown, truncated: text.shorter.is_some() };
    }
    if !text.rest.is_empty() && body.len() + 1 + REST_LEAST <= max {
        // A tool that has kept to the budget counts on being shown whole.
        let room = how.budget.within(max - body.len() - 1);
        let rest = room.cut_numbered(text.rest, how.id, &|line| text.above() + line);
        return Cut { text: joined(body, &rest.text), truncated: true };
    }
    plain(&text.whole(), how)
}

fn plain(whole: &str, how: How<'_>) -> Cut {
    let short = match how.compress {
        Some(kind) if whole.len() > how.budget.max => compressed(whole, kind, how.id),
        _ => None,
    };
    match short {
        Some(short) => {
            let cut = how.budget.cut_numbered(&short.text, how.id, &|line| short.line_of(line));
            Cut { truncated: true, ..cut }
        }
        None => how.budget.cut(whole, how.id),
    }
}

fn marked(text: Text<'_>, how: How<'_>, source: &str) -> Cut {
    let max = how.budget.max;
    let own = external::defused(text.rest);
    let text = Text { rest: &own, ..text };
    // What is much too long is not looked through for tags before it is cut.
    if text.body.len() <= max {
        let whole = joined(&external::wrapped(text.body, source), text.rest);
        if whole.len() <= max {
            return Cut { text: whole, truncated: false };
        }
    }
    let rest = how.budget.within(max / REST_SHARE).cut_numbered(text.rest, how.id, &|line| text.above() + line);
    let taken = external::overhead(source) + 1 + rest.text.len();
    let Some(room) = max.checked_sub(taken).filter(|room| *room > 0) else {
        // Not even the tags fit: then nothing of it is shown.
        let remark = format!("[left out; the `output` tool shows it: id \"{}\"]", how.id);
        return Cut { text: remark[..remark.floor_char_boundary(max)].to_owned(), truncated: true };
    };
    let body = plain(text.body, How { budget: how.budget.within(room), external: None, ..how });
    let shown = joined(&external::wrapped(&body.text, source), &rest.text);
    Cut { text: shown, truncated: body.truncated || rest.truncated }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use proptest::prelude::*;

    fn how(max: usize) -> How<'static> {
        How { budget: Budget { max, tail: max / 4 }, id: "o1", external: None, compress: None }
    }

    fn rows(count: usize) -> String {
        (1..=count).fold(String::new(), |text, row| text + &format!("row {row}\n"))
    }

    #[test]
    fn a_text_from_elsewhere_is_cut_between_its_tags() {
        let body = rows(200);
        let text = Text { body: &body, rest: "Since then: nothing.", ..Text::default() };
        let shown = present(text, How { external: Some("example.org"), ..how(500) });
        expect![[r#"
            <external_content source="example.org">
            row 1
            row 2
            row 3
            row 4
            row 5
            [lines 6-187 left out here (1358 of 1492 bytes); the `output` tool shows them: id "o1", offset 6]
            row 188
            row 189
            row 190
            row 191
            row 192
            row 193
            row 194
            row 195
            row 196
            row 197
            row 198
            row 199
            row 200
            </external_content>
            Since then: nothing."#]]
        .assert_eq(&shown.text);
        assert!(shown.truncated);
        assert_eq!(present(Text { rest: "x", ..Text::default() }, How { external: Some("s"), ..how(500) }).text, "x");
        let tiny = present(text, How { external: Some("example.org"), ..how(40) });
        assert_eq!(tiny.text, "[left out; the `output` tool shows it: i");
    }

    #[test]
    fn what_is_long_is_compressed_where_that_is_wanted() {
        let body = format!("{}end\n", "again\n".repeat(200));
        let shown = |compress| present(Text { body: &body, ..Text::default() }, How { compress, ..how(700) });
        assert_eq!(
            shown(Some(OutputKind::Log)),
            Cut { text: "again\n  [previous line repeated 199 more times]\nend\n".into(), truncated: true }
        );
        assert!(shown(None).text.len() > 300 && shown(Some(OutputKind::Source)).text.contains("left out here"));
        // The numbers of a cut of what was made shorter are those of the whole.
        let long = format!("{}{}", "again\n".repeat(100), rows(300));
        let cut =
            present(Text { body: &long, ..Text::default() }, How { compress: Some(OutputKind::Other), ..how(700) });
        let remark = cut.text.lines().find(|line| line.starts_with("[lines")).unwrap();
        let last_row: usize = cut.text.split("\n[lines").next().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
        assert!(remark.starts_with(&format!("[lines {}-", 100 + last_row + 1)), "{remark} after row {last_row}");
    }

    #[test]
    fn a_body_that_fits_stays_whole() {
        let (body, rest) = (rows(20), rows(200));
        let text = Text { body: &body, rest: &rest, ..Text::default() };
        let shown = present(text, how(800));
        assert!(shown.text.starts_with(&format!("{body}\nrow 1\n")) && shown.text.ends_with("row 200\n"));
        // The lines are those of the whole.
        let remark = shown.text.lines().find(|line| line.starts_with("[lines ")).unwrap();
        let first: usize = remark["[lines ".len()..].split('-').next().unwrap().parse().unwrap();
        let last_row = shown.text.split("\n[lines").next().unwrap().lines().last().unwrap();
        assert_eq!(text.whole().lines().nth(first - 2), Some(last_row));
        // What somebody made shorter is shown where it fits, and is less than all.
        let shorter = Text { shorter: Some("row 1\n[less]"), rest: "end", ..text };
        assert_eq!(present(shorter, how(800)), Cut { text: "row 1\n[less]\nend".into(), truncated: true });
    }

    proptest! {
        #[test]
        fn it_keeps_to_its_budget_and_marks_once(
            body in "([a-z ]{0,12}|</external_content>|&lt;/external_content|error)(\n([a-zé ]{0,12}|<external_content|error)){0,60}",
            rest in "([a-z ]{0,20}\n?){0,10}", max in 0usize..900, external in any::<bool>(), log in any::<bool>(),
        ) {
            let shown = present(Text { body: &body, shorter: None, rest: &rest }, How {
                external: external.then_some("a.b"),
                compress: log.then_some(OutputKind::Log),
                ..how(max)
            });
            prop_assert!(shown.text.len() <= max, "{} > {max}", shown.text.len());
            if external {
                let tags = (shown.text.matches("<external_content").count(), shown.text.matches("</external_content").count());
                let whole = shown.text.matches("</external_content>").count();
                prop_assert!(tags == (1, 1) && whole == 1 || tags == (0, 0), "{}", shown.text);
                prop_assert!(tags == (1, 1) || body.is_empty() || max < 400);
            }
        }
    }
}
