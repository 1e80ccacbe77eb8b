//! Kinds in which old says of some lines what the file does not: stale, left out, imagined.

use super::corpus::{Corpus, Language, squeeze};
use super::edits::{is_name, other_word, words};
use super::kinds::{inexact, refusal};
use super::random::Random;
use super::scene::{Row, Scene, Step, draw, once, solid};
use super::score::Case;
use super::spacing::{dedent_by, trail};

/// A scene of so many lines that say something, like no other place of its file, so that it can be told by the rest
/// when a line of it is wrong.
fn plain(random: &mut Random, corpus: &Corpus, least: usize) -> Option<Scene> {
    let scene = draw(random, corpus, least, 25)?;
    (scene.said() >= least).then_some(scene)
}

/// The case of a scene that has no twin in its file.
fn told_by_the_rest(scene: &Scene) -> Option<Case> {
    inexact(scene).filter(|_| !scene.has_twin())
}

fn stale(random: &mut Random, scene: &mut Scene, step: Step) -> Option<()> {
    let rows: Vec<usize> = match step {
        Step::Keep => scene.kept_rows(false, false),
        step => (0..scene.rows.len()).filter(|at| scene.rows[*at].step == step).collect(),
    };
    let row = &mut scene.rows[*random.pick(&rows)?];
    let line = other_word(random, row.old.as_deref()?, None)?;
    if row.file.as_deref() == Some(&line) || row.want.as_deref() == Some(&line) {
        return None;
    }
    row.say(&line);
    Some(())
}

/// Old and new have another word in a line that the edit does not touch: the file's stays.
pub(super) fn stale_kept(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = plain(random, corpus, 4)?;
    stale(random, &mut scene, Step::Keep)?;
    told_by_the_rest(&scene)
}

pub(super) fn stale_two(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = plain(random, corpus, 8)?;
    stale(random, &mut scene, Step::Keep)?;
    stale(random, &mut scene, Step::Keep)?;
    if scene.rows.iter().filter(|row| row.file.is_some() && row.old != row.file).count() < 2 {
        return None;
    }
    told_by_the_rest(&scene)
}

pub(super) fn stale_and_dedent(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = plain(random, corpus, 4)?;
    stale(random, &mut scene, Step::Keep)?;
    dedent_by(random, &mut scene)?;
    told_by_the_rest(&scene)
}

/// The line that the edit changes is not as old has it: nobody can tell what it should become.
pub(super) fn stale_changed(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = plain(random, corpus, 1)?;
    stale(random, &mut scene, Step::Change)?;
    // A line that new has as the file has it, but for its depth, is no conflict: both mean the same.
    let moved =
        |row: &Row| row.step == Step::Change && blank_aside(row.file.as_ref()) == blank_aside(row.want.as_ref());
    if scene.rows.iter().any(moved) {
        return None;
    }
    refusal(&scene)
}

fn blank_aside(line: Option<&String>) -> String {
    squeeze(line.map_or("", String::as_str))
}

/// The line that the edit takes away is not as old has it: what goes with it is unknown.
pub(super) fn stale_dropped(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = plain(random, corpus, 1)?;
    stale(random, &mut scene, Step::Drop)?;
    refusal(&scene)
}

/// As [`stale_kept`] in a place of few lines: to ask is right too.
pub(super) fn stale_short(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 2, 4)?;
    stale(random, &mut scene, Step::Keep)?;
    Some(Case { may_refuse: true, ..inexact(&scene)? })
}

/// As [`stale_kept`], in a file that has another place much like it: to ask is right too, the other place is wrong.
pub(super) fn stale_twin(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = plain(random, corpus, 3)?;
    stale(random, &mut scene, Step::Keep)?;
    Some(Case { may_refuse: true, ..inexact(&scene).filter(|_| scene.has_twin())? })
}

/// As [`omitted`], in a file that has another place much like it.
pub(super) fn omitted_twin(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = plain(random, corpus, 4)?;
    let at = *random.pick(&scene.kept_rows(true, true))?;
    leave_out(&mut scene.rows[at]);
    Some(Case { may_refuse: true, ..inexact(&scene).filter(|_| scene.has_twin())? })
}

/// Of two or more things that the edit does, one is done already: it must not be done twice. To ask is right too where
/// it is a line that old still has or that only new has, for then old is not what is there in what the edit is about.
pub(super) fn partly_done(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = plain(random, corpus, 5)?;
    let touched: Vec<usize> = (0..scene.rows.len()).filter(|at| scene.rows[*at].step != Step::Keep).collect();
    if touched.len() < 2 {
        return None;
    }
    let row = &mut scene.rows[*random.pick(&touched)?];
    row.file.clone_from(&row.want);
    let may_refuse = row.step != Step::Change;
    let same = scene.rows.iter().all(|row| row.file == row.want);
    Some(Case { may_refuse, ..told_by_the_rest(&scene).filter(|_| !same)? })
}

fn leave_out(row: &mut Row) {
    (row.old, row.new) = (None, None);
}

/// Old and new lack a line of the place: it stays.
pub(super) fn omitted(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = plain(random, corpus, 5)?;
    let at = *random.pick(&scene.kept_rows(true, true))?;
    leave_out(&mut scene.rows[at]);
    told_by_the_rest(&scene)
}

/// As [`omitted`], beside a line that the edit changes: to ask is as right as to keep it.
pub(super) fn omitted_beside(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = plain(random, corpus, 5)?;
    let at = *random.pick(&scene.kept_rows(true, false))?;
    let steps = [scene.rows[at - 1].step, scene.rows[at + 1].step];
    // Beside an added line it could not be told which comes first.
    if steps.contains(&Step::Add) || steps == [Step::Keep, Step::Keep] {
        return None;
    }
    leave_out(&mut scene.rows[at]);
    Some(Case { may_refuse: true, ..told_by_the_rest(&scene)? })
}

/// Old and new lack the lines of comment inside the place.
pub(super) fn comments_left_out(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = plain(random, corpus, 5)?;
    let comment = scene.language.comment();
    let comments: Vec<usize> = (0..scene.rows.len())
        .filter(|at| scene.rows[*at].file.as_deref().is_some_and(|line| line.trim_start().starts_with(comment)))
        .collect();
    let calm = scene.kept_rows(true, true);
    if comments.is_empty() || comments.iter().any(|at| !calm.contains(at)) || scene.said() < comments.len() + 4 {
        return None;
    }
    for at in &comments {
        leave_out(&mut scene.rows[*at]);
    }
    // A single one, or one line of ten, is plain; of more, to ask is right too.
    let many = comments.len() > (scene.rows.len() / 10).max(1);
    Some(Case { may_refuse: many, ..told_by_the_rest(&scene)? })
}

/// Old and new lack the comment at the end of a line that the edit does not touch.
pub(super) fn end_comment_left_out(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = plain(random, corpus, 4)?;
    let mark = if scene.language == Language::Python { "  # " } else { "; // " };
    let ending: Vec<usize> = scene
        .kept_rows(false, false)
        .into_iter()
        .filter(|at| scene.rows[*at].file.as_deref().is_some_and(|line| line.contains(mark)))
        .collect();
    let row = &mut scene.rows[*random.pick(&ending)?];
    let line = row.file.clone()?;
    let code = line[..line.find(mark)? + usize::from(mark.starts_with(';'))].trim_end();
    if code.trim().is_empty() {
        return None;
    }
    row.say(code);
    let short = code.trim().len() * 2 < line.trim().len();
    Some(Case { may_refuse: short, ..told_by_the_rest(&scene)? })
}

/// Old has a line that the file never had. The edit says nothing of it, or takes it away; the file stays without it. To
/// ask is right too: the model believes something of the file that is not so.
pub(super) fn hallucinated_line(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = plain(random, corpus, 5)?;
    let at = *random.pick(&scene.kept_rows(true, true))?;
    let line = other_word(random, scene.rows[at].file.as_deref()?, None)?;
    let line = other_word(random, &line, None)?;
    let mut row = Row::imagined(&line);
    if random.percent(30) {
        row.new = None;
    }
    scene.rows.insert(at, row);
    Some(Case { may_refuse: true, ..told_by_the_rest(&scene)? })
}

pub(super) fn wrong_case(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = plain(random, corpus, 4)?;
    let row = *random.pick(&scene.kept_rows(false, false))?;
    let line = scene.rows[row].file.clone()?;
    let all = words(&line);
    let (at, word) = *random.pick(&all)?;
    let first = word.chars().next().filter(|c| c.is_ascii_alphabetic() && is_name(word))?;
    let other = if first.is_ascii_lowercase() { first.to_ascii_uppercase() } else { first.to_ascii_lowercase() };
    scene.rows[row].say(&format!("{}{other}{}", &line[..at], &line[at + 1..]));
    told_by_the_rest(&scene)
}

pub(super) fn quotes_swapped(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = plain(random, corpus, 4)?;
    let mut any = false;
    for at in scene.kept_rows(false, false) {
        let line = scene.rows[at].file.clone()?;
        let (double, single) = (line.matches('"').count(), line.matches('\'').count());
        let swapped = match (double, single) {
            (2, 0) => line.replace('"', "'"),
            (0, 2) => line.replace('\'', "\""),
            _ => continue,
        };
        scene.rows[at].say(&swapped);
        any = true;
    }
    told_by_the_rest(&scene).filter(|_| any && scene.language != Language::Rust)
}

/// Old has or lacks a comma or semicolon at the end of a line that the edit does not touch.
pub(super) fn punctuation(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = plain(random, corpus, 4)?;
    let at = *random.pick(&scene.kept_rows(false, false))?;
    let line = scene.rows[at].file.clone()?;
    let said = match line.strip_suffix([',', ';']) {
        Some(without) => without.to_owned(),
        None if line.ends_with(|c: char| c.is_alphanumeric() || ")]\"'".contains(c)) => format!("{line},"),
        None => return None,
    };
    scene.rows[at].say(&said);
    told_by_the_rest(&scene)
}

/// A block with the same first and last line and other lines between them, beside the place.
pub(super) fn sibling(random: &mut Random, scene: &Scene) -> Option<Vec<String>> {
    let lines: Vec<&String> = scene.rows.iter().filter_map(|row| row.file.as_ref()).collect();
    let mut made: Vec<String> = lines.iter().map(|line| (*line).clone()).collect();
    let inner = 1..made.len().checked_sub(1)?;
    let mut any = false;
    for at in inner {
        if random.percent(60)
            && let Some(line) = other_word(random, &made[at], None)
        {
            made[at] = line;
            any = true;
        }
    }
    any.then_some(made)
}

/// Two blocks with the same first and last line; old is one of them but for white space.
pub(super) fn sibling_right(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = plain(random, corpus, 4)?;
    let made = sibling(random, &scene)?;
    let place: Vec<&str> = scene.rows.iter().filter_map(|row| row.file.as_deref()).collect();
    let place = squeeze(&place.concat());
    if random.percent(50) {
        scene.before.extend(made);
        scene.before.push(String::new());
    } else {
        scene.after.splice(0..0, [String::new()].into_iter().chain(made));
    }
    if random.percent(50) {
        trail(random, &mut scene)?;
    } else {
        dedent_by(random, &mut scene)?;
    }
    inexact(&scene).filter(|case| once(&squeeze(&case.text), &place))
}

/// Old and new lack two lines of a longer place.
pub(super) fn omitted_two(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = plain(random, corpus, 10)?;
    let calm = scene.kept_rows(true, true);
    let (one, two) = (*random.pick(&calm)?, *random.pick(&calm)?);
    if one == two {
        return None;
    }
    leave_out(&mut scene.rows[one]);
    leave_out(&mut scene.rows[two]);
    Some(Case { may_refuse: true, ..told_by_the_rest(&scene)? })
}

/// The edit takes lines away, and between them the file has one that old does not know: it may not go with them.
pub(super) fn omitted_in_drop(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = plain(random, corpus, 7)?;
    let at = *random.pick(&scene.kept_rows(true, true))?;
    for beside in [at - 1, at + 1] {
        let row = &mut scene.rows[beside];
        // Of two braces it could not be told which one goes.
        row.kept().filter(|line| solid(line) >= 4)?;
        *row = Row::new(Step::Drop, row.file.as_deref(), None);
    }
    leave_out(&mut scene.rows[at]);
    Some(Case { may_refuse: true, ..told_by_the_rest(&scene)? })
}

/// Old and new have two lines in the other order, which the edit does not touch: the file's order stays, or to ask.
pub(super) fn lines_swapped(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = plain(random, corpus, 6)?;
    let calm = scene.kept_rows(true, true);
    let at = *random.pick(&calm)?;
    if !calm.contains(&(at + 1)) {
        return None;
    }
    let (one, two) = (scene.rows[at].file.clone()?, scene.rows[at + 1].file.clone()?);
    scene.rows[at].say(&two);
    scene.rows[at + 1].say(&one);
    Some(Case { may_refuse: true, ..told_by_the_rest(&scene)? })
}

/// Old and new have a line twice that the file has once.
pub(super) fn line_repeated(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = plain(random, corpus, 5)?;
    let at = *random.pick(&scene.kept_rows(true, true))?;
    let row = Row::imagined(scene.rows[at].file.as_deref()?);
    scene.rows.insert(at, row);
    Some(Case { may_refuse: true, ..told_by_the_rest(&scene)? })
}

/// Old and new break off in the middle of their last line, and old is elsewhere not to the byte: the rest stays.
pub(super) fn last_line_cut(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = plain(random, corpus, 5)?;
    trail(random, &mut scene)?;
    scene.ended = false;
    let row = scene.rows.last_mut()?;
    let line = row.kept()?.to_owned();
    let all = words(&line);
    let (at, _) = *all.get(1..).and_then(|rest| random.pick(rest))?;
    row.say(&line[..at]);
    Some(Case { may_refuse: true, ..told_by_the_rest(&scene)? })
}
