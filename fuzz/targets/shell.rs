//! The analysis of command lines: what is not understood is never harmless, and no way of writing a line makes it so.

use std::collections::BTreeSet;

use super::parts::texts;
use ropewalk::permissions::shell::{Analysis, Scene, Verdict, analyse, shared};

/// Words that the shell takes for its own where a command stands.
const OWN: &[&str] = &[
    "if", "then", "else", "elif", "fi", "case", "esac", "for", "select", "while", "until", "do", "done", "in",
    "function", "time", "coproc",
];

/// A line, and plain words: those mean the same in any quotes.
pub fn shell(data: &[u8]) {
    let [line, words] = texts::<2>(data);
    let scene = Scene { workdir: "/w".into(), roots: vec!["/w".into()], home: Some("/home/u".into()) };
    let found = analyse(&line, &scene);
    assert_eq!(analyse(&line, &scene), found, "the same line gives the same answer");
    judged(&found);
    redirected(&line, &found);
    surrounded(&line, &found, &scene);
    if let Some(prefixes) = shared(&line, &scene) {
        assert!(!prefixes.is_empty() && prefixes.iter().all(|prefix| !prefix.is_empty()), "{prefixes:?}");
        assert!(found.unclear.is_none() && found.verdict < Verdict::Destructive, "{found:?}");
    }
    quoted(&words, &scene);
}

fn judged(found: &Analysis) {
    assert!(found.unclear.is_none() || found.verdict >= Verdict::NeedsApproval, "{found:?}");
    assert_eq!(found.reasons.is_empty(), found.verdict == Verdict::ReadOnly, "{found:?}");
    let different: BTreeSet<&String> = found.reasons.iter().collect();
    assert_eq!(different.len(), found.reasons.len(), "no reason is told twice: {:?}", found.reasons);
    assert!(found.commands.iter().all(|simple| !simple.words.is_empty()));
    if found.verdict == Verdict::ReadOnly {
        let sink = |path: &str| path.starts_with("/dev/");
        let outside = found.writes.iter().find(|write| !sink(&write.asked));
        assert!(outside.is_none(), "it reads only and writes {outside:?}");
    }
}

/// A line without quotes and expansions that reads only has no redirect to a file.
fn redirected(line: &str, found: &Analysis) {
    let simple = |c: char| c.is_ascii_alphanumeric() || " ./_-|&;<>,:@%+=".contains(c);
    if found.verdict != Verdict::ReadOnly || !line.chars().all(simple) || line.contains("<<") {
        return;
    }
    for (at, _) in line.match_indices('>') {
        let rest = line[at + 1..].trim_start_matches(['>', '|', '&']).trim_start();
        let target = rest.split([' ', '|', '&', ';', '<', '>']).next().unwrap_or_default();
        let descriptor =
            line[at..].starts_with(">&") && (target == "-" || target.trim_end_matches('-').parse::<u32>().is_ok());
        assert!(descriptor || target.starts_with("/dev/"), "{line:?} writes {target:?} and only reads");
    }
}

/// What is run by a subshell, a background job or another shell is judged no better.
fn surrounded(line: &str, found: &Analysis, scene: &Scene) {
    if found.unclear.is_some() || line.len() > 2048 {
        return;
    }
    let single = format!("'{}'", line.replace('\'', r"'\''"));
    for (how, around) in [
        ("a subshell", format!("(\n{line}\n)")),
        ("a group", format!("{{\n{line}\n}}")),
        ("bash -c", format!("bash -c {single}")),
        ("eval", format!("eval {single}")),
        ("behind another", format!("true\n{line}")),
        ("before another", format!("{line}\ntrue")),
    ] {
        // What ends a line early ends all of a group: what stands in its next lines never runs.
        if around.ends_with([')', '}']) && line.contains('\n') {
            continue;
        }
        let other = analyse(&around, scene);
        assert!(other.verdict >= found.verdict, "{how}: {around:?}\n{other:?}\n{found:?}");
    }
}

/// Quotes round words that need none change nothing.
fn quoted(words: &str, scene: &Scene) {
    let plain = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || "./_-:,@%+".contains(c));
    let words: Vec<&str> = words.split(' ').filter(|word| !word.is_empty()).collect();
    if words.is_empty() || !words.iter().all(plain) || OWN.contains(&words[0]) {
        return;
    }
    let bare = analyse(&words.join(" "), scene);
    for quote in ["'", "\"", "\\"] {
        let written: Vec<String> = words
            .iter()
            .map(|word| if quote == "\\" { format!("\\{word}") } else { format!("{quote}{word}{quote}") })
            .collect();
        let other = analyse(&written.join(" "), scene);
        assert_eq!((other.verdict, &other.unclear), (bare.verdict, &bare.unclear), "{written:?}\n{other:?}\n{bare:?}");
        assert_eq!((other.commands, &other.writes.len()), (bare.commands.clone(), &bare.writes.len()), "{written:?}");
    }
}
