//! A script from its first step to its last, and, where a rule is broken, the shortest one that still breaks it.

use std::fmt::Write as _;

use super::deeds;
use super::desk::{Config, Counts, Desk};
use super::ledger::Fault;
use super::script::{Step, draw};
use super::settle;

/// How a script went.
pub struct Played {
    /// What was counted.
    pub counts: Counts,
    /// Everything that was said.
    pub transcript: String,
    /// The step (from 0) at which a rule was broken, and how.
    pub broken: Option<(usize, Fault)>,
}

/// Plays a script, settles, and leaves. On one thread and by a clock that stands still while anything can be done, so that
/// the same script goes the same way each time.
pub fn play(config: Config, script: &[Step]) -> Played {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .max_blocking_threads(1)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let mut desk = match Desk::start(config).await {
            Ok(desk) => desk,
            Err(fault) => {
                return Played { counts: Counts::new(), transcript: String::new(), broken: Some((0, fault)) };
            }
        };
        for (at, step) in script.iter().enumerate() {
            if let Err(fault) = deeds::play(&mut desk, step).await {
                return Played { counts: desk.counts, transcript: desk.transcript, broken: Some((at, fault)) };
            }
        }
        desk.note("= the end");
        let settled = settle::settle(&mut desk).await;
        let (desk, left) = desk.leave().await;
        let broken = settled.and(left).err().map(|fault| (script.len(), fault));
        Played { counts: desk.counts, transcript: desk.transcript, broken }
    })
}

/// So many scripts are tried to find a shorter one.
const TRIES: usize = 250;

/// Leaves out steps as long as the same rule is broken.
pub fn shrink(config: Config, script: &[Step], at: usize, rule: &str) -> Vec<Step> {
    let breaks = |script: &[Step]| play(config, script).broken.is_some_and(|(_, fault)| fault.rule == rule);
    let mut script = script[..script.len().min(at + 1)].to_vec();
    let (mut tries, mut length) = (0, script.len() / 2);
    while length > 0 && tries < TRIES {
        let (mut start, mut shorter) = (0, false);
        while start < script.len() && tries < TRIES {
            let mut less = script.clone();
            less.drain(start..(start + length).min(script.len()));
            tries += 1;
            if breaks(&less) {
                script = less;
                shorter = true;
            } else {
                start += length;
            }
        }
        if !shorter || length > 1 {
            length = if length == 1 { 0 } else { length / 2 };
        }
    }
    script
}

/// So many characters of each line of a transcript are shown.
const SHOWN: usize = 600;

/// What is wrong, for a person who has to find out why: the seed, the step, the shortest script, what was said in it, and
/// how the rule is broken, with the texts.
pub fn explain(config: Config, script: &[Step], at: usize, fault: &Fault) -> String {
    let shortest = shrink(config, script, at, fault.rule);
    let played = play(config, &shortest);
    let last = played.broken.map_or_else(|| fault.why.clone(), |(_, fault)| fault.why);
    let mut words = format!("{config:?}\nstep {at} breaks the rule `{}`: {}\n", fault.rule, fault.why);
    let _ = writeln!(words, "so do these {} steps:", shortest.len());
    for step in &shortest {
        let _ = writeln!(words, "  {step:?}");
    }
    let _ = writeln!(words, "with them it is: {last}\nand this is said:");
    for line in played.transcript.lines() {
        let short: String = line.chars().take(SHOWN).collect();
        let _ = writeln!(words, "  {short}");
    }
    words
}

/// Plays what a seed draws; what was counted, or what is wrong.
pub fn seed(config: Config, steps: usize) -> Result<Counts, String> {
    let script = draw(config.seed, steps);
    let played = play(config, &script);
    match played.broken {
        None => Ok(played.counts),
        Some((at, fault)) => Err(explain(config, &script, at, &fault)),
    }
}
