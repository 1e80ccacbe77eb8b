//! The skills by name, for a tool's description and for a name that is none. Pure.

use std::fmt::Write as _;

use crate::permissions::visible;
use crate::text::similarity::similarity;

use super::found::{Found, Skill};

/// All that a description says of skills has about so many bytes at most.
const MOST_BYTES: usize = 8_000;

/// Of that, what is said of skills by name alone.
const NAMES_BYTES: usize = 1_500;

/// What a skill is for is said in so many characters.
const DESCRIPTION: usize = 250;

/// A name is like another from here on.
const ALIKE: f64 = 0.5;

/// So many names that are alike are told.
const NEAR: usize = 3;

/// What a tool's description says of the skills that there are: each with what it is for, and those for which there is no
/// room by name, then by their count. The same skills always give the same text.
pub(super) fn described(found: &Found) -> String {
    let listed: Vec<&Skill> = found.skills.iter().filter(|skill| !skill.front.unlisted).collect();
    if listed.is_empty() {
        return String::new();
    }
    let mut out = "\n\nThe skills:".to_owned();
    let mut rest = listed.iter();
    for skill in rest.by_ref() {
        let line = line(skill);
        if out.len() + line.len() > MOST_BYTES - NAMES_BYTES {
            let mut left = vec![*skill];
            left.extend(rest.copied());
            let _ = write!(out, "\nand, by name alone: {}", names(&left));
            break;
        }
        out.push('\n');
        out.push_str(&line);
    }
    out
}

fn line(skill: &Skill) -> String {
    let description = skill.front.description.as_deref().unwrap_or("(nothing is said of it)");
    let hint = skill.front.hint.as_deref().map(|hint| format!(" (arguments: {})", cut(hint))).unwrap_or_default();
    visible(&format!("- {}: {}{hint}", skill.name, cut(description)))
}

/// The beginning of a text, and whether it goes on.
fn cut(text: &str) -> String {
    match text.char_indices().nth(DESCRIPTION) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
    }
}

/// Names, as many as there is room for.
fn names(skills: &[&Skill]) -> String {
    let mut out = String::new();
    for (at, skill) in skills.iter().enumerate() {
        if out.len() + skill.name.len() + 2 > NAMES_BYTES {
            let _ = write!(out, ", and {} more", skills.len() - at);
            break;
        }
        if at > 0 {
            out.push_str(", ");
        }
        out.push_str(&skill.name);
    }
    out
}

/// The skill of a name: exactly, as a person writes commands (`/name`), or in another case where only one is called so.
pub(super) fn named<'a>(found: &'a Found, asked: &str) -> Option<&'a Skill> {
    let asked = asked.trim();
    let exactly = |name: &str| found.skills.iter().find(|skill| skill.name == name);
    exactly(asked).or_else(|| exactly(asked.strip_prefix('/')?)).or_else(|| {
        let wanted = asked.trim_start_matches('/').to_lowercase();
        let mut alike = found.skills.iter().filter(|skill| skill.name.to_lowercase() == wanted);
        alike.next().filter(|_| alike.next().is_none())
    })
}

/// There is no skill of a name: which are called alike, and which there are.
pub(super) fn missed(found: &Found, asked: &str) -> String {
    let listed: Vec<&Skill> = found.skills.iter().filter(|skill| !skill.front.unlisted).collect();
    let wanted = asked.trim().trim_start_matches('/').to_lowercase();
    let mut near: Vec<(f64, &str)> = listed
        .iter()
        .map(|skill| {
            let name = skill.name.to_lowercase();
            let part = wanted.len() >= 3 && (name.contains(&wanted) || wanted.contains(&name));
            (if part { 1.0 } else { similarity(&wanted, &name) }, skill.name.as_str())
        })
        .filter(|(alike, _)| *alike >= ALIKE)
        .collect();
    near.sort_by(|(one, a), (other, b)| other.total_cmp(one).then_with(|| a.cmp(b)));
    let mut out = format!("There is no skill {:?}.", visible(asked.trim()));
    if !near.is_empty() {
        let near: Vec<&str> = near.iter().take(NEAR).map(|(_, name)| *name).collect();
        let _ = write!(out, " Did you mean {}?", near.join(" or "));
    }
    if listed.is_empty() {
        out.push_str(" There are no skills here.");
    } else {
        let _ = write!(out, " The skills are: {}.", names(&listed));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::skill::front::Front;
    use crate::tools::skill::places::Scope;
    use expect_test::expect;

    fn skill(name: &str, description: &str) -> Skill {
        let description = Some(description.to_owned()).filter(|text| !text.is_empty());
        Skill {
            name: name.to_owned(),
            scope: Scope::User,
            file: "/s/SKILL.md".into(),
            base: "/s".into(),
            front: Front { description, ..Front::default() },
            body: String::new(),
            command: false,
            others: Vec::new(),
        }
    }

    fn found(skills: Vec<Skill>) -> Found {
        Found { skills, faults: Vec::new() }
    }

    #[test]
    fn a_description_names_them() {
        assert_eq!(described(&found(vec![])), "");
        let mut hinted = skill("deploy", "Deploys.");
        hinted.front.hint = Some("[where]".to_owned());
        let mut unlisted = skill("quiet", "Not for models.");
        unlisted.front.unlisted = true;
        expect![[r"


            The skills:
            - deploy: Deploys. (arguments: [where])
            - odd: a\u{202e}b
            - review: (nothing is said of it)"]]
        .assert_eq(&described(&found(vec![hinted, skill("odd", "a\u{202e}b"), unlisted, skill("review", "")])));
    }

    #[test]
    fn a_description_is_bounded() {
        let many: Vec<Skill> = (0..400).map(|at| skill(&format!("skill-{at:03}"), &"é".repeat(1000))).collect();
        let text = described(&found(many));
        assert!(text.len() <= MOST_BYTES, "{}", text.len());
        assert!(text.contains("é…\nand, by name alone: skill-0") && text.ends_with(" more"), "{text}");
    }

    #[test]
    fn names_are_found_as_they_are_meant() {
        let all = found(vec![skill("Deploy", ""), skill("review", ""), skill("Review", ""), skill("project:x", "")]);
        for (asked, name) in [
            ("Deploy", Some("Deploy")),
            (" deploy ", Some("Deploy")),
            ("/deploy", Some("Deploy")),
            ("review", Some("review")),
            ("REVIEW", None),
            ("project:x", Some("project:x")),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(named(&all, asked).map(|skill| skill.name.as_str()), name, "{asked}");
        }
    }

    #[test]
    fn a_name_that_is_none_gets_the_nearest_and_all() {
        let all = found(vec![skill("code-review", ""), skill("commit", ""), skill("deploy", ""), skill("pdf", "")]);
        let told: Vec<String> =
            ["review", "comit", "deply", "zzz", "pdf-forms"].map(|asked| missed(&all, asked)).into();
        expect![[r#"
            There is no skill "review". Did you mean code-review? The skills are: code-review, commit, deploy, pdf.
            There is no skill "comit". Did you mean commit? The skills are: code-review, commit, deploy, pdf.
            There is no skill "deply". Did you mean deploy? The skills are: code-review, commit, deploy, pdf.
            There is no skill "zzz". The skills are: code-review, commit, deploy, pdf.
            There is no skill "pdf-forms". Did you mean pdf? The skills are: code-review, commit, deploy, pdf."#]]
        .assert_eq(&told.join("\n"));
        assert!(missed(&found(vec![]), "a\u{1b}").starts_with("There is no skill \"a\\\\u{1b}\". There are no skills"));
    }
}
