//! Kinds about the whole file: line ends, its end, byte order marks, scripts, parts of lines, every place.

use super::corpus::Corpus;
use super::edits::{is_name, other_word, words};
use super::kinds::{case, inexact};
use super::random::Random;
use super::scene::{Scene, Step, draw, draw_in, once, solid};
use super::score::Case;
use super::spacing::{blur, dedent_by, trail};

fn crlf(text: &str) -> String {
    text.replace('\n', "\r\n")
}

fn of_crlf_file(random: &mut Random, scene: &Scene) -> Option<Case> {
    let mut plain = case(scene);
    let (old, new) = *random.pick(&[(false, false), (false, false), (true, true), (true, false)])?;
    if old {
        plain.old = crlf(&plain.old);
    }
    if new {
        plain.new = crlf(&plain.new);
    }
    let (before, after) = (scene.before.len(), scene.after.len());
    plain.outside = (plain.outside.0 + before, plain.outside.1 + after);
    plain.text = crlf(&plain.text);
    plain.accept = plain.accept.iter().map(|text| crlf(text)).collect();
    Some(plain)
}

pub(super) fn crlf_exact(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let scene = draw(random, corpus, 1, 25)?;
    of_crlf_file(random, &scene)
}

pub(super) fn crlf_fuzzy(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 2, 25)?;
    blur(random, &mut scene)?;
    of_crlf_file(random, &scene)
}

/// The file has LF, the model CRLF.
pub(super) fn crlf_in_old(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let scene = draw(random, corpus, 2, 25)?;
    let mut case = case(&scene);
    case.old = crlf(&case.old);
    if random.percent(75) {
        case.new = crlf(&case.new);
    }
    Some(case)
}

fn mixed(random: &mut Random, scene: &mut Scene) -> Case {
    for line in scene.before.iter_mut().chain(&mut scene.after).filter(|_| random.percent(50)) {
        line.push('\r');
    }
    for row in &mut scene.rows {
        if random.percent(50) {
            for line in [&mut row.file, &mut row.want].into_iter().flatten() {
                line.push('\r');
            }
        }
    }
    // Which end a made line gets is a matter of taste as long as it is one of the two.
    Case { loose_ends: scene.made(), ..case(scene) }
}

pub(super) fn mixed_ends_exact(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 2, 25)?;
    Some(mixed(random, &mut scene))
}

pub(super) fn mixed_ends_fuzzy(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 2, 25)?;
    blur(random, &mut scene)?;
    Some(mixed(random, &mut scene))
}

fn boundary(random: &mut Random, text: &str, from: usize, to: usize) -> usize {
    let mut at = random.within(from, to);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Part of one line.
pub(super) fn mid_line(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let scene = draw(random, corpus, 1, 1)?;
    let plain = case(&scene);
    let line = scene.rows.iter().find_map(|row| row.file.clone())?;
    let start = boundary(random, &line, 0, line.len() / 2);
    let end = boundary(random, &line, line.len() / 2, line.len());
    part_of(random, &plain, &line, start..end)
}

/// From the middle of a line to the middle of another.
pub(super) fn mid_line_several(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let scene = draw(random, corpus, 2, 8)?;
    let plain = case(&scene);
    let lines: Vec<&str> = scene.rows.iter().filter_map(|row| row.file.as_deref()).collect();
    let place = lines.join("\n");
    let first = lines.first()?.len();
    let last = lines.last()?.len();
    let start = boundary(random, &place, 1, first);
    let end = boundary(random, &place, place.len() - last + 1, place.len());
    part_of(random, &plain, &place, start..end.max(start))
}

fn part_of(random: &mut Random, plain: &Case, place: &str, range: std::ops::Range<usize>) -> Option<Case> {
    let old = place[range].to_owned();
    let new = other_word(random, &old, None)?;
    let (before, after) = plain.text.split_once(&old)?;
    if !once(&plain.text, &old) || solid(&old) < 3 {
        return None;
    }
    let accept = vec![format!("{before}{new}{after}")];
    Some(Case { accept, outside: (before.len(), after.len()), old, new, ..plain.clone() })
}

/// New with what other tools take for references to what was matched.
fn dollar(random: &mut Random, scene: &mut Scene) -> Option<()> {
    let row = scene.rows.iter_mut().find(|row| row.step == Step::Change)?;
    let word = random.pick(&["$&", "$1", "\\1", "\\g<0>", "${name}", "$$", "%s", "$`"])?;
    let line = format!("{} {word}", row.new.as_deref()?);
    (row.new, row.want) = (Some(line.clone()), Some(line));
    Some(())
}

pub(super) fn dollar_exact(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 1, 25)?;
    dollar(random, &mut scene)?;
    Some(case(&scene))
}

pub(super) fn dollar_fuzzy(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 2, 25)?;
    dollar(random, &mut scene)?;
    blur(random, &mut scene)?;
    inexact(&scene)
}

/// The place is the end of a file whose last line has no end.
pub(super) fn no_final_newline(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 1, 15)?;
    scene.after.clear();
    scene.file_ended = false;
    if random.percent(30) {
        blur(random, &mut scene)?;
    }
    let mut case = case(&scene);
    if scene.ended {
        // Old and new say that the last line ends: both to keep the file's end and to take new's word are defensible.
        case.accept.push(format!("{}\n", scene.want()));
    }
    Some(case)
}

fn marked(random: &mut Random, mut scene: Scene, blurred: bool) -> Option<Case> {
    if random.percent(60) {
        scene.before.clear();
    }
    if blurred {
        blur(random, &mut scene)?;
    }
    let mut case = case(&scene);
    let mark = |text: &str| format!("\u{feff}{text}");
    case.text = mark(&case.text);
    case.accept = case.accept.iter().map(|text| mark(text)).collect();
    case.outside.0 += '\u{feff}'.len_utf8();
    Some(case)
}

pub(super) fn bom_exact(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let scene = draw(random, corpus, 1, 25)?;
    marked(random, scene, false)
}

pub(super) fn bom_fuzzy(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let scene = draw(random, corpus, 2, 25)?;
    marked(random, scene, true)
}

/// A scene whose file has words of other scripts in place of the most frequent letters of its words.
fn foreign(random: &mut Random, corpus: &Corpus) -> Option<Scene> {
    let file = random.pick(&corpus.files)?;
    let mut scene = draw_in(random, file, 2, 25)?;
    let all: Vec<&str> = scene.rows.iter().filter_map(|row| row.file.as_deref()).flat_map(words_of).collect();
    let name = (*random.pick(&all)?).to_owned();
    let to = *random.pick(&["数据", "変数名", "🦀🚀", "größe", "имя", "👩‍💻", "e\u{301}tat", "결과"])?;
    scene.everywhere(|line| line.replace(&name, to));
    Some(scene)
}

fn words_of(line: &str) -> impl Iterator<Item = &str> {
    words(line).into_iter().map(|(_, word)| word).filter(|word| is_name(word))
}

pub(super) fn unicode_exact(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let scene = foreign(random, corpus)?;
    let case = case(&scene);
    once(&case.text, &case.old).then_some(case)
}

pub(super) fn unicode_fuzzy(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = foreign(random, corpus)?;
    blur(random, &mut scene)?;
    inexact(&scene)
}

pub(super) fn unicode_stale(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = foreign(random, corpus)?;
    if scene.said() < 4 {
        return None;
    }
    let row = *random.pick(&scene.kept_rows(false, false))?;
    let line = other_word(random, scene.rows[row].file.as_deref()?, None)?;
    scene.rows[row].say(&line);
    inexact(&scene).filter(|_| !scene.has_twin())
}

/// A word, everywhere.
pub(super) fn replace_all_exact(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let scene = draw(random, corpus, 1, 10)?;
    let plain = case(&scene);
    let line = scene.rows.iter().find_map(|row| row.file.clone())?;
    let old = words_of(&line).next()?.to_owned();
    if plain.text.matches(&old).count() < 2 {
        return None;
    }
    let new = format!("{old}{}", random.pick(&["2", "_new", "$&"])?);
    Some(Case { all: true, accept: vec![plain.text.replace(&old, &new)], outside: (0, 0), old, new, ..plain })
}

/// The place two or three times, each at its depth or all alike; old is like them but for white space.
pub(super) fn replace_all_fuzzy(random: &mut Random, corpus: &Corpus) -> Option<Case> {
    let mut scene = draw(random, corpus, 2, 12)?;
    let unit = " ".repeat(scene.unit?);
    let depth = usize::from(random.percent(60));
    let deeper = |line: &str, steps: usize| {
        if line.trim().is_empty() { line.to_owned() } else { format!("{}{line}", unit.repeat(steps)) }
    };
    let (mut copies, mut wanted) = (Vec::new(), Vec::new());
    for copy in 1..=random.within(1, 2) {
        for row in &scene.rows {
            copies.extend(row.file.as_deref().map(|line| deeper(line, copy * depth)));
            wanted.extend(row.want.as_deref().map(|line| deeper(line, copy * depth)));
        }
        copies.push("# between".to_owned());
        wanted.push("# between".to_owned());
    }
    if depth > 0 { dedent_by(random, &mut scene) } else { trail(random, &mut scene) }?;
    let (mut before, mut after) = (scene.clone(), scene);
    before.after.splice(0..0, ["# between".to_owned()].into_iter().chain(copies));
    after.after.splice(0..0, ["# between".to_owned()].into_iter().chain(wanted));
    let case = inexact(&before)?;
    Some(Case { all: true, accept: vec![after.want()], outside: (case.outside.0, 0), ..case })
}
