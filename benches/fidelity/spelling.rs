//! Kinds in which old spells the same text another way: escapes, look-alikes, line numbers, markup.

use super::corpus::{Corpus, Language};
use super::kinds::{case, inexact};
use super::random::Random;
use super::scene::{Scene, Step, draw, indent};
use super::score::Case;
use super::spacing::blur;

/// Escapes those of the characters that a JSON string must.
fn escape(text: &str, which: &[char]) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !which.contains(&c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c => out.extend(['\\', c]),
        }
    }
    out
}

/// Escapes both sides; what has backslashes of its own can only be told if those are escaped too.
fn escaped(scene: &Scene, change: impl Fn(&str) -> String, backslashes: bool) -> Option<Case> {
    let mut case = case(scene);
    if !backslashes && (case.old.contains('\\') || case.new.contains('\\')) {
        return None;
    }
    (case.old, case.new) = (change(&case.old), change(&case.new));
    (!case.text.contains(&case.old)).then_some(case)
}

/// Encoded as a JSON string once too often.
pub(super) fn escaped_all(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let scene = draw(random, corpus, 1, 12)?;
    escaped(&scene, |text| escape(text, &['\n', '"', '\t', '\\']), true)
}

pub(super) fn escaped_newlines(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let scene = draw(random, corpus, 2, 12)?;
    escaped(&scene, |text| escape(text, &['\n']), false)
}

pub(super) fn escaped_quotes(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let scene = draw(random, corpus, 1, 25)?;
    escaped(&scene, |text| escape(text, &['"']), false)
}

pub(super) fn escaped_tabs(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 1, 25)?;
    let unit = scene.unit.filter(|unit| scene.on_steps(*unit))?;
    scene.everywhere(|line| {
        let depth = indent(line);
        format!("{}{}{}", "\t".repeat(depth / unit), " ".repeat(depth % unit), &line[depth..])
    });
    escaped(&scene, |text| escape(text, &['\t']), false)
}

/// Text with backslashes of its own, which differs in white space only: no backslash may be taken for an escape.
pub(super) fn backslashes_stay(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 2, 25)?;
    if !scene.new_side().contains('\\') {
        return None;
    }
    blur(random, &mut scene)?;
    inexact(&scene)
}

/// The model unescaped a line too many: old has a line end where the file has `\n`. To ask is right too.
pub(super) fn unescaped_in_old(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 3, 25)?;
    let with: Vec<usize> = scene
        .kept_rows(false, false)
        .into_iter()
        .filter(|at| scene.rows[*at].file.as_deref().is_some_and(|line| line.contains("\\n")))
        .collect();
    let at = *random.pick(&with)?;
    let line = scene.rows[at].file.as_deref()?.replace("\\n", "\n");
    scene.rows[at].say(&line);
    Some(Case { may_refuse: true, ..inexact(&scene)? })
}

fn curl(line: &str) -> String {
    let mut open = true;
    line.chars()
        .map(|c| match c {
            '"' => {
                open = !open;
                if open { '”' } else { '“' }
            }
            '\'' => '’',
            c => c,
        })
        .collect()
}

fn dash(line: &str) -> String {
    line.replace('-', "–")
}

/// Whether old and new have the same characters that `change` touches in the lines that new changes, so that it can be
/// told which of them the edit left alone.
fn alike(scene: &Scene, change: fn(&str) -> String) -> bool {
    let touched = |line: Option<&String>| -> Vec<char> {
        let line = line.map_or("", String::as_str);
        let changed = change(line);
        line.chars().zip(changed.chars()).filter(|(a, b)| a != b).map(|(a, _)| a).collect()
    };
    scene.rows.iter().all(|row| match row.step {
        Step::Change => touched(row.file.as_ref()) == touched(row.want.as_ref()),
        Step::Add => touched(row.want.as_ref()).is_empty(),
        Step::Keep | Step::Drop => true,
    })
}

fn in_old(random: &mut Random, corpus: &Corpus, change: fn(&str) -> String) -> Option<Case> {
    let mut scene = draw(random, corpus, 1, 25)?;
    if !alike(&scene, change) {
        return None;
    }
    scene.each_side(change);
    inexact(&scene)
}

fn in_file(random: &mut Random, corpus: &Corpus, change: fn(&str) -> String) -> Option<Case> {
    let mut scene = draw(random, corpus, 1, 25)?;
    if !alike(&scene, change) {
        return None;
    }
    for row in &mut scene.rows {
        for line in [&mut row.file, &mut row.want].into_iter().flatten() {
            *line = change(line);
        }
    }
    inexact(&scene)
}

pub(super) fn curly_in_old(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    in_old(random, corpus, curl)
}

pub(super) fn curly_in_file(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    in_file(random, corpus, curl)
}

pub(super) fn dashes_in_old(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    in_old(random, corpus, dash)
}

pub(super) fn dashes_in_file(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    in_file(random, corpus, dash)
}

fn bind(line: &str) -> String {
    let depth = indent(line);
    format!("{}{}", &line[..depth], line[depth..].replace(' ', "\u{a0}"))
}

/// No-break spaces inside some lines, or, as text copied from a page has them, before all.
pub(super) fn nbsp_in_old(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 1, 25)?;
    if random.percent(30) {
        scene.each_side(|line| {
            let depth = indent(line);
            format!("{}{}", line[..depth].replace(' ', "\u{a0}"), &line[depth..])
        });
        return inexact(&scene);
    }
    for row in &mut scene.rows {
        if let Some(line) = row.file.clone().filter(|_| random.percent(60)) {
            row.say(&bind(&line));
        }
    }
    inexact(&scene)
}

pub(super) fn nbsp_in_file(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 2, 25)?;
    for row in scene.rows.iter_mut().filter(|row| row.step == Step::Keep && row.file.is_some()) {
        if random.percent(60) {
            let line = row.file.as_deref().map(bind);
            (row.file, row.want) = (line.clone(), line);
        }
    }
    inexact(&scene)
}

fn number(text: &str, from: usize, form: usize) -> String {
    let lines: Vec<String> = text
        .split_inclusive('\n')
        .zip(from..)
        .map(|(line, n)| match form {
            0 => format!("{n}\t{line}"),
            1 => format!("{n:>6}\t{line}"),
            2 => format!("{n}: {line}"),
            3 => format!("{n:>4}│{line}"),
            4 => format!("{n:>6}→{line}"),
            5 => format!("{n} | {line}"),
            _ => format!("{n}|{line}"),
        })
        .collect();
    lines.concat()
}

fn numbered(random: &mut Random, corpus: &Corpus, both: bool) -> Option<Case> {
    let scene = draw(random, corpus, 1, 25)?;
    let mut case = case(&scene);
    let (from, form) = (scene.before.len() + 1, random.below(7));
    case.old = number(&case.old, from, form);
    if both {
        case.new = number(&case.new, from, form);
    }
    Some(case)
}

pub(super) fn line_numbers(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    numbered(random, corpus, true)
}

pub(super) fn line_numbers_old_only(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    numbered(random, corpus, false)
}

/// A person sees at once that `&lt;` stands for `<` where the file has that, and would never write it into code.
pub(super) fn html_entities(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 1, 25)?;
    if scene.text().contains("&lt;") || scene.text().contains("&gt;") || scene.text().contains("&amp;") {
        return None;
    }
    scene.each_side(|line| line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"));
    inexact(&scene)
}

/// Both sides stand in a code fence: markup that was never meant for the file.
pub(super) fn code_fence(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let scene = draw(random, corpus, 1, 25)?;
    let mut case = case(&scene);
    let tag = match scene.language {
        Language::Python => "python",
        Language::JavaScript => "js",
        Language::Rust => "rust",
    };
    let fence = |text: &str| format!("```{tag}\n{}\n```", text.trim_end_matches('\n'));
    (case.old, case.new) = (fence(&case.old), fence(&case.new));
    (!case.text.contains("```")).then_some(case)
}
