//! Kinds in which old and the file differ in white space only.

use super::corpus::Corpus;
use super::kinds::{case, inexact};
use super::random::Random;
use super::scene::{Row, Scene, Step, draw, indent};
use super::score::Case;

pub(super) fn exact(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    Some(case(&draw(random, corpus, 1, 25)?))
}

/// Old ends with a line end and new does not, or the other way round.
pub(super) fn end_mismatch(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 1, 12)?;
    scene.ended = true;
    let mut case = case(&scene);
    let side = if random.percent(50) { &mut case.old } else { &mut case.new };
    side.pop();
    // Old is there to the byte, so to take new to the byte is as defensible as to see that a line is meant.
    case.accept.push(case.text.replacen(&case.old, &case.new, 1));
    Some(case)
}

/// Puts white space behind some lines of old.
pub(super) fn trail(random: &mut Random, scene: &mut Scene) -> Option<()> {
    let mut any = false;
    for row in &mut scene.rows {
        let Some(old) = row.old.clone() else { continue };
        if random.percent(40) {
            row.say(&format!("{old}{}", random.pick(&[" ", "  ", "\t", "    "])?));
            any = true;
        }
    }
    any.then_some(())
}

/// Trailing space or less indentation, so that old is not there to the byte.
pub(super) fn blur(random: &mut Random, scene: &mut Scene) -> Option<()> {
    if random.percent(50) { trail(random, scene) } else { dedent_by(random, scene) }?;
    inexact(scene).map(|_| ())
}

pub(super) fn trailing_old(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 1, 25)?;
    trail(random, &mut scene)?;
    inexact(&scene)
}

pub(super) fn trailing_file(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 1, 25)?;
    let mut changed = Vec::new();
    for (at, row) in scene.rows.iter_mut().enumerate() {
        let Some(line) = row.file.as_mut().filter(|_| random.percent(50)) else { continue };
        let space = random.pick(&[" ", "  ", "\t"])?;
        line.push_str(space);
        match row.step {
            Step::Keep => row.want.as_mut()?.push_str(space),
            Step::Change => changed.push((at, space)),
            Step::Drop | Step::Add => {}
        }
    }
    let mut case = inexact(&scene)?;
    if changed.len() > 5 {
        return None;
    }
    // A changed line is as new has it, or keeps the space behind it: a model that does not see it cannot mean it.
    let mut variants = vec![scene];
    for (at, space) in changed {
        for mut variant in variants.clone() {
            variant.rows[at].want.as_mut()?.push_str(space);
            case.accept.push(variant.want());
            variants.push(variant);
        }
    }
    Some(case)
}

pub(super) fn dedent(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 2, 25)?;
    dedent_by(random, &mut scene)?;
    inexact(&scene)
}

/// Takes some or all of the common indentation off old and new.
pub(super) fn dedent_by(random: &mut Random, scene: &mut Scene) -> Option<()> {
    let common = scene.common_indent();
    let unit = scene.unit.unwrap_or(1).max(1);
    let cut = if random.percent(70) { common } else { random.within(1, common / unit) * unit };
    if cut == 0 || cut > common {
        return None;
    }
    scene.each_side(|line| line[cut..].to_owned());
    Some(())
}

pub(super) fn more_indent(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 1, 25)?;
    let unit = scene.unit?;
    let more = " ".repeat(unit * random.within(1, 2));
    scene.each_side(|line| format!("{more}{line}"));
    inexact(&scene)
}

/// Old has lost its indentation, new is indented as the file is.
pub(super) fn dedent_old_only(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 3, 25)?;
    // Without a line that stays nothing tells that new is at its depth already.
    scene.rows.iter().find(|row| row.kept().is_some_and(|line| indent(line) > 0))?;
    let common = scene.common_indent();
    if common == 0 {
        return None;
    }
    for old in scene.rows.iter_mut().filter_map(|row| row.old.as_mut()).filter(|line| !line.trim().is_empty()) {
        *old = old[common..].to_owned();
    }
    inexact(&scene)
}

fn lead_off(scene: &Scene) -> Option<Case> {
    let mut case = case(scene);
    let first = |view: fn(&Row) -> Option<&String>| scene.rows.iter().find_map(view);
    let (old, new) = (first(|row| row.file.as_ref())?, first(|row| row.want.as_ref())?);
    // A new first line of another depth could not tell it any more.
    if indent(old) == 0 || indent(old) != indent(new) {
        return None;
    }
    case.old = case.old[indent(old)..].to_owned();
    case.new = case.new[indent(new)..].to_owned();
    Some(case)
}

pub(super) fn first_line_dedented(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    lead_off(&draw(random, corpus, 2, 25)?)
}

pub(super) fn first_line_dedented_fuzzy(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 2, 25)?;
    trail(random, &mut scene)?;
    lead_off(&scene).filter(|case| !case.text.contains(&case.old))
}

/// No line of old or new has any indentation; each line that new changes stays at its depth.
pub(super) fn flush_left(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 2, 25)?;
    let moved = |row: &Row| match (row.file.as_deref(), row.want.as_deref()) {
        (Some(file), Some(want)) => indent(file) != indent(want),
        (None, Some(_)) => true,
        _ => false,
    };
    if scene.rows.iter().any(moved) {
        return None;
    }
    scene.each_side(|line| line[indent(line)..].to_owned());
    inexact(&scene)
}

pub(super) fn one_line_misindented(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 3, 25)?;
    let at = *random.pick(&scene.kept_rows(true, false))?;
    let line = scene.rows[at].file.clone()?;
    let deeper = random.percent(50) || indent(&line) < 2;
    scene.rows[at].say(&if deeper { format!("  {line}") } else { line[1..].to_owned() });
    inexact(&scene)
}

fn steps(line: &str, unit: usize, step: &str) -> String {
    let depth = indent(line);
    format!("{}{}{}", step.repeat(depth / unit), " ".repeat(depth % unit), &line[depth..])
}

pub(super) fn tabs_for_spaces(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 1, 25)?;
    let unit = scene.unit.filter(|unit| scene.on_steps(*unit))?;
    scene.each_side(|line| steps(line, unit, "\t"));
    inexact(&scene)
}

pub(super) fn spaces_for_tabs(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 1, 25)?;
    let unit = scene.unit.filter(|unit| scene.on_steps(*unit))?;
    let step = " ".repeat(*random.pick(&[2, 4, 4, 8])?);
    scene.each_of_file(|line| steps(line, unit, "\t"));
    scene.each_side(|line| steps(line, unit, &step));
    inexact(&scene)
}

/// The byte ranges of the runs of spaces inside a line.
fn gaps(line: &str) -> Vec<std::ops::Range<usize>> {
    let mut found: Vec<std::ops::Range<usize>> = Vec::new();
    let end = line.trim_end().len();
    for at in (indent(line)..end).filter(|at| line.as_bytes()[*at] == b' ') {
        match found.last_mut() {
            Some(last) if last.end == at => last.end += 1,
            _ => found.push(at..at + 1),
        }
    }
    found
}

pub(super) fn inner_space(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 1, 25)?;
    for row in &mut scene.rows {
        let Some(line) = row.file.clone().filter(|_| random.percent(60)) else { continue };
        if let Some(gap) = random.pick(&gaps(&line)) {
            let to = if gap.len() > 1 { " " } else { "  " };
            row.say(&format!("{}{to}{}", &line[..gap.start], &line[gap.end..]));
        }
    }
    inexact(&scene)
}

/// Old lacks a space behind a comma or about an operator.
pub(super) fn inner_space_lost(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 3, 25)?;
    let at = *random.pick(&scene.kept_rows(false, false))?;
    let line = scene.rows[at].file.clone()?;
    let mark = *random.pick(&[", ", " = ", " + ", " == ", ": "])?;
    if !line.contains(mark) {
        return None;
    }
    scene.rows[at].say(&line.replacen(mark, mark.trim(), 9));
    inexact(&scene)
}

pub(super) fn blank_boundary(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 1, 25)?;
    let says = |line: Option<&String>| line.is_some_and(|line| !line.trim().is_empty());
    if !says(scene.before.last()) || !says(scene.after.first()) {
        return None;
    }
    let (above, below) = *random.pick(&[(1, 0), (0, 1), (1, 1), (2, 0), (0, 2)])?;
    scene.ended |= below > 0;
    let mut case = case(&scene);
    let dress = |text: &str| format!("{}{text}{}", "\n".repeat(above), "\n".repeat(below));
    case.old = dress(&case.old);
    if random.percent(75) {
        case.new = dress(&case.new);
    } else if case.text.contains(&case.old) {
        // The line end before the place is there to the byte; that new takes it away may be what is meant.
        case.accept.push(case.text.replacen(&case.old, &case.new, 1));
    }
    Some(case)
}

/// Blank lines that bear white space on one side only.
pub(super) fn blank_with_space(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 3, 25)?;
    let in_old = random.percent(60);
    let space = " ".repeat(random.within(1, 3) * 4);
    for row in scene.rows.iter_mut().filter(|row| row.step == Step::Keep) {
        if row.file.as_deref().is_some_and(str::is_empty) {
            if in_old {
                row.say(&space);
            } else {
                (row.file, row.want) = (Some(space.clone()), Some(space.clone()));
            }
        }
    }
    inexact(&scene)
}

fn between_kept(scene: &Scene, at: usize) -> bool {
    let keep = |at: usize| scene.rows.get(at).is_some_and(|row| row.step == Step::Keep);
    at > 0 && keep(at - 1) && keep(at + 1)
}

pub(super) fn blank_dropped(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 4, 25)?;
    let blank = |at: &usize| scene.rows[*at].file.as_deref().is_some_and(|line| line.trim().is_empty());
    let blanks: Vec<usize> = (0..scene.rows.len()).filter(blank).filter(|at| between_kept(&scene, *at)).collect();
    let at = *random.pick(&blanks)?;
    scene.rows[at].old = None;
    scene.rows[at].new = None;
    inexact(&scene).filter(|_| scene.said() >= 3)
}

pub(super) fn blank_added(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 3, 25)?;
    let at = *random.pick(&scene.kept_rows(true, true))?;
    let mut row = Row::imagined("");
    // Beside a blank line of the file it could not be told which of the two new takes away.
    if random.percent(30) && scene.rows[at - 1].kept().is_some() {
        row.new = None;
    }
    scene.rows.insert(at, row);
    inexact(&scene).filter(|_| scene.said() >= 3)
}

/// Old has on one line what the file has on two.
pub(super) fn lines_joined(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 3, 25)?;
    let at = *random.pick(&scene.kept_rows(false, true))?;
    let next = scene.rows.get(at + 1).filter(|_| between_kept(&scene, at + 1))?.kept()?.trim_start().to_owned();
    let line = format!("{} {next}", scene.rows[at].file.as_deref()?.trim_end());
    scene.rows[at].say(&line);
    scene.rows[at + 1].old = None;
    scene.rows[at + 1].new = None;
    inexact(&scene)
}

/// Old has on two lines what the file has on one.
pub(super) fn line_split(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 3, 25)?;
    let at = *random.pick(&scene.kept_rows(false, true))?;
    let line = scene.rows[at].file.clone()?;
    let gap = random.pick(&gaps(&line))?.clone();
    let depth = &line[..indent(&line)];
    scene.rows[at].say(&format!("{}\n{depth}    {}", &line[..gap.start], &line[gap.end..]));
    inexact(&scene)
}

/// Several of these at once.
pub(super) fn several(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 3, 25)?;
    trail(random, &mut scene)?;
    dedent_by(random, &mut scene)?;
    for row in &mut scene.rows {
        let Some(line) = row.old.clone().filter(|_| row.step == Step::Keep && random.percent(30)) else { continue };
        if let Some(gap) = random.pick(&gaps(&line)) {
            row.say(&format!("{}  {}", &line[..gap.start], &line[gap.end..]));
        }
    }
    inexact(&scene)
}

/// The lines that new makes are indented with tabs, those that it keeps with spaces as in the file.
pub(super) fn tabs_in_made_lines(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 3, 25)?;
    let unit = scene.unit.filter(|unit| scene.on_steps(*unit))?;
    trail(random, &mut scene)?;
    let mut verbatim = scene.clone();
    for at in 0..scene.rows.len() {
        if scene.rows[at].step == Step::Add {
            let line = steps(scene.rows[at].new.as_deref()?, unit, "\t");
            verbatim.rows[at].want = Some(line.clone());
            scene.rows[at].new = Some(line);
        }
    }
    let mut case = inexact(&scene).filter(|case| case.new.contains('\t'))?;
    // In the file's style is best; as the model wrote them is no harm in a language without significant tabs.
    if scene.language != super::corpus::Language::Python {
        case.accept.push(verbatim.want());
    }
    Some(case)
}
