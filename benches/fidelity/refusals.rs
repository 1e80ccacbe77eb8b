//! Kinds in which only a refusal is right.

use super::corpus::{Corpus, squeeze};
use super::edits::other_word;
use super::kinds::{case, inexact, refusal};
use super::random::Random;
use super::scene::{Row, Scene, Step, draw, indent, likeness, pairs, solid};
use super::score::Case;
use super::spacing::{dedent_by, trail};

/// Two blocks that differ in some lines, and an old that is as far from the one as from the other.
pub(super) fn siblings_equal(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 4, 15)?;
    let at = *random.pick(&scene.kept_rows(true, false))?;
    let line = scene.rows[at].file.clone()?;
    let (one, two) = (format!("{line} + 1"), format!("{line} + 2"));
    let place: Vec<String> = scene.rows.iter().filter_map(|row| row.file.clone()).collect();
    let index = scene.rows[..at].iter().filter(|row| row.file.is_some()).count();
    let mut other = place;
    other[index] = one;
    scene.rows[at].say(&two);
    scene.after.splice(0..0, [String::new()].into_iter().chain(other));
    // The place itself must be no nearer than the other: both lack or have three characters.
    scene.rows[at].file = Some(format!("{line} + 3"));
    refusal(&scene)
}

/// The first and last line of old are there, what it says is between them is not.
pub(super) fn sibling_gone(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 3, 15)?;
    let other = draw(random, corpus, 3, 15)?;
    let last = scene.rows.len() - 1;
    if scene.rows[0].step != Step::Keep || scene.rows[last].step != Step::Keep {
        return None;
    }
    let inside: Vec<Row> = other.rows.into_iter().map(|row| Row { file: None, want: None, ..row }).collect();
    let said: Vec<Vec<u32>> = inside.iter().filter_map(|row| row.old.as_deref()).map(pairs).collect();
    let there: Vec<String> = scene.rows.iter().filter_map(|row| row.file.clone()).collect();
    if likeness(&said, &there) > 0.5 || has_all(&scene, &inside) {
        return None;
    }
    for row in &mut scene.rows[1..last] {
        (row.old, row.new) = (None, None);
    }
    scene.rows.splice(1..1, inside);
    refusal(&scene)
}

fn has_all(scene: &Scene, rows: &[Row]) -> bool {
    let said: Vec<Vec<u32>> = rows.iter().filter_map(|row| row.old.as_deref()).map(pairs).collect();
    let lines: Vec<String> = scene.text().lines().map(str::to_owned).collect();
    likeness(&said, &lines) > 0.6
}

/// Old is the first and the last line of a block as if nothing were between them.
pub(super) fn two_ends(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 4, 15)?;
    let last = scene.rows.len() - 1;
    for (at, row) in scene.rows.iter_mut().enumerate() {
        let line = row.file.clone();
        let (old, new) = if at == 0 || at == last { (line.clone(), line) } else { (None, None) };
        *row = Row { step: Step::Keep, file: row.file.clone(), old, new, want: row.file.clone() };
    }
    let at = if random.percent(50) { 0 } else { last };
    scene.rows[at].new = Some(other_word(random, scene.rows[at].old.as_deref()?, None)?);
    let case = refusal(&scene)?;
    let squeezed = squeeze(&case.old);
    (!squeeze(&case.text).contains(&squeezed)).then_some(case)
}

/// Text that is there more than once.
pub(super) fn ambiguous_exact(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let file = random.pick(&corpus.files)?;
    let count = random.within(1, 3);
    let start = random.below(file.lines.len().checked_sub(count)?);
    let old = file.lines[start..start + count].join("\n");
    let text = file.lines.join("\n") + "\n";
    if solid(&old) < 4 || text.matches(&old).count() < 2 {
        return None;
    }
    let new = other_word(random, &old, Some(file))?;
    Some(Case {
        file: file.name.clone(),
        line: start + 1,
        text,
        old,
        new,
        all: false,
        accept: Vec::new(),
        may_refuse: false,
        loose_ends: Vec::new(),
        outside: (0, 0),
    })
}

/// The place twice, and old equal to both but for white space.
pub(super) fn ambiguous_fuzzy(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 2, 15)?;
    let deeper = random.percent(50);
    let twin: Vec<String> = scene
        .rows
        .iter()
        .filter_map(|row| row.file.as_deref())
        .map(|line| if deeper && !line.trim().is_empty() { format!("        {line}") } else { line.to_owned() })
        .collect();
    scene.after.push(String::new());
    scene.after.extend(twin);
    if deeper {
        // At a depth of its own, so that it equals neither.
        scene.common_indent().checked_sub(1)?;
        dedent_by(random, &mut scene)?;
    } else {
        trail(random, &mut scene)?;
    }
    refusal(&scene)
}

/// Text of another file.
pub(super) fn absent(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let (here, there) = (draw(random, corpus, 1, 15)?, draw(random, corpus, 1, 15)?);
    if has_all(&here, &there.rows) {
        return None;
    }
    let case = case(&here);
    let (old, new) = (there.old_side(), there.new_side());
    (!case.text.contains(&old)).then_some(Case { old, new, accept: Vec::new(), ..case })
}

/// The place is gone from its file, and nothing much like it is left.
pub(super) fn removed(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 1, 25)?;
    if scene.has_twin() {
        return None;
    }
    for row in &mut scene.rows {
        row.file = None;
    }
    refusal(&scene)
}

fn marker(random: &mut Random, scene: &Scene, depth: &str) -> Option<String> {
    let words =
        ["... existing code ...", "... rest of the code unchanged ...", "… (remaining lines)", "... same as before"];
    let words = *random.pick(&words)?;
    Some(format!("{depth}{} {words}", scene.language.comment()))
}

/// Old has "... existing code ..." in place of lines.
pub(super) fn elision_old(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 5, 25)?;
    elide(random, &mut scene, true)?;
    refusal(&scene)
}

/// New has it, and old is whole.
pub(super) fn elision_new(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 5, 25)?;
    elide(random, &mut scene, false)?;
    let case = case(&scene);
    Some(Case { accept: Vec::new(), ..case })
}

fn elide(random: &mut Random, scene: &mut Scene, old: bool) -> Option<()> {
    let from = *random.pick(&scene.kept_rows(true, false))?;
    let until = from + 1;
    if until + 1 >= scene.rows.len() || scene.rows[until].step != Step::Keep {
        return None;
    }
    let line = scene.rows[from].file.clone()?;
    let marker = marker(random, scene, &line[..indent(&line)])?;
    for row in &mut scene.rows[from..=until] {
        if old {
            row.old = None;
        }
        row.new = None;
    }
    if old {
        scene.rows[from].old = Some(marker.clone());
    }
    scene.rows[from].new = Some(marker);
    Some(())
}

pub(super) fn identical(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 1, 25)?;
    if random.percent(50) {
        trail(random, &mut scene)?;
    }
    let case = case(&scene);
    Some(Case { new: case.old.clone(), accept: Vec::new(), ..case })
}

/// The file is as new wants it already.
pub(super) fn already_done(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let scene = draw(random, corpus, 2, 25)?;
    // New lines beside old ones that are all still there could be wanted once more.
    if scene.rows.iter().all(|row| matches!(row.step, Step::Keep | Step::Add)) {
        return None;
    }
    let case = inexact(&Scene { rows: done(&scene), ..scene.clone() })?;
    Some(Case { accept: Vec::new(), ..case })
}

fn done(scene: &Scene) -> Vec<Row> {
    scene.rows.iter().map(|row| Row { file: row.want.clone(), ..row.clone() }).collect()
}

pub(super) fn empty_old(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let case = case(&draw(random, corpus, 1, 5)?);
    Some(Case { old: String::new(), accept: Vec::new(), ..case })
}
