//! A person, an editor, a wire and some agents by dice: the same seed plays the same script, and after every step
//! that settles both sides have the same texts, nothing typed is lost, every call has one answer, every edit is
//! there once or is said not to be, nobody wrote what nobody saved, and nothing is called clean that is not.
//!
//! `script` is what can be done and draws it, `deeds` does it; `desk` is the editor at its wire and looks at all
//! that comes, `settle` at both sides when nothing is under way; `ledger` knows what may be. `run` plays a script
//! and makes one that breaks a rule shorter; `sabotage` breaks each rule on purpose.

mod deeds;
mod desk;
mod ledger;
mod run;
mod sabotage;
mod script;
mod settle;
mod texts;
mod turns;
mod wire;

use std::fmt::Write as _;
use std::ops::Range;

use ropewalk::fake_editor::{MANNERS, Manner};
use ropewalk::ports::env;

use desk::{Config, Counts};

/// Every editor, told changes one way and the other.
fn configs(seed: u64) -> impl Iterator<Item = Config> {
    MANNERS
        .into_iter()
        .flat_map(move |manner| [false, true].map(|whole| Config { seed, manner, whole, sabotage: None }))
}

fn add(sum: &mut Counts, counts: &Counts) {
    for (what, count) in counts {
        *sum.entry(what).or_default() += count;
    }
}

fn in_words(counts: &Counts) -> String {
    counts.iter().fold(String::new(), |mut words, (what, count)| {
        let _ = writeln!(words, "{count:>9} {what}");
        words
    })
}

/// Plays seeds with one editor after another, or with all of them; the counts.
fn play(seeds: Range<u64>, steps: usize) -> Counts {
    let mut sum = Counts::new();
    for config in seeds.flat_map(configs) {
        match run::seed(config, steps) {
            Ok(counts) => add(&mut sum, &counts),
            Err(why) => panic!("{why}"),
        }
    }
    sum
}

#[test]
fn some_thousand_steps_break_no_rule() {
    let counts = play(0..3, 100);
    // Whatever can happen happens.
    for what in [
        "changes applied",
        "changes refused",
        "changes unknown",
        "changes proposed",
        "changes cancelled",
        "accepted",
        "rejected",
        "taken back",
        "undone",
        "redone",
        "saved",
        "closed",
        "answers lost",
        "edits lost",
        "late messages",
        "messages split",
        "verdicts",
        "files written",
        "mirrors looked at",
    ] {
        assert!(counts.get(what).is_some_and(|count| *count > 0), "{what}: {counts:#?}");
    }
}

#[test]
fn a_seed_gives_the_same_transcript_to_the_byte() {
    for config in configs(17) {
        let script = script::draw(config.seed, 150);
        let (one, two) = (run::play(config, &script), run::play(config, &script));
        let differs = one.transcript.lines().zip(two.transcript.lines()).position(|(one, two)| one != two);
        let lines = |text: &str| differs.map(|at| text.lines().nth(at).map(str::to_owned));
        assert_eq!(lines(&one.transcript), lines(&two.transcript), "{config:?} line {differs:?}");
        assert!(one.transcript == two.transcript && one.transcript.len() > 10_000, "{config:?}");
    }
}

#[test]
fn every_rule_can_be_broken() {
    for (sabotage, rule) in sabotage::ALL {
        let broken = (0..20).find_map(|seed| {
            // An editor that can be asked anew makes a lost change good; and only one with an adapter has a server.
            let lost = sabotage == sabotage::Sabotage::LoseChange;
            let manner = if lost { Manner::Neovim } else { Manner::Vscode };
            let config = Config { seed, manner, whole: false, sabotage: Some(sabotage) };
            run::play(config, &script::draw(seed, 150)).broken
        });
        let broken = broken.map(|(_, fault)| fault);
        assert_eq!(broken.as_ref().map(|fault| fault.rule), Some(rule), "{sabotage:?}: {broken:?}");
    }
}

/// A long run, where it is asked for: `ROPEWALK_SIMULATION_SEEDS=1..2000 ROPEWALK_SIMULATION_STEPS=400 cargo nextest run
/// --test it simulation::long --no-capture`. It tells every seed that breaks a rule, and goes on. Else one seed that the
/// others do not play.
#[test]
fn long() {
    let seeds = env("ROPEWALK_SIMULATION_SEEDS").unwrap_or_else(|| "9..10".to_owned());
    let (first, end) = seeds.split_once("..").expect("seeds as 1..2000");
    let seeds: Range<u64> = first.parse().expect("a number")..end.parse().expect("a number");
    let steps: usize = env("ROPEWALK_SIMULATION_STEPS").map_or(60, |steps| steps.parse().expect("a number"));
    let (mut sum, mut broken) = (Counts::new(), Vec::new());
    for config in seeds.flat_map(configs) {
        match run::seed(config, steps) {
            Ok(counts) => add(&mut sum, &counts),
            Err(why) => {
                println!("{why}\n");
                broken.push(config);
            }
        }
    }
    println!("{}", in_words(&sum));
    assert!(broken.is_empty(), "{} runs break a rule: {broken:?}", broken.len());
}
