//! Tracks, driven by scripts of `ms what`.

use super::*;

/// Runs a script against one track and tells its state about text 102 at each `?`.
///
/// `0 sent 101`, `5 text 101`, `5 answer 101`, `5 foreign 7`, `5 none`, `5 begin`, `5 end`, `9 ?`.
#[track_caller]
fn check(script: &str, expected: &str) {
    let mut habits = Habits::new(Duration::from_millis(250), false);
    assert_eq!(run(&mut Track::default(), &mut habits, script), expected, "{script}");
}

fn run(track: &mut Track, habits: &mut Habits, script: &str) -> String {
    let zero = Instant::now();
    let mut noise = Noise::default();
    let mut out = Vec::new();
    for line in script.split(',').map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split(' ').collect();
        let now = zero + Duration::from_millis(words[0].parse().unwrap());
        let number = words.get(2).map(|number| number.parse::<i32>().unwrap());
        let content = Content::default();
        match words[1] {
            "sent" => track.sent(number.unwrap(), now, habits, noise),
            "text" => track.heard(Stamp::Text(number.unwrap()), number, content, now, habits),
            "answer" => track.heard(Stamp::Answer(number.unwrap()), None, content, now, habits),
            "foreign" => track.heard(Stamp::Foreign, number, content, now, habits),
            "none" => track.heard(Stamp::None, None, content, now, habits),
            "begin" => noise.open_since = Some(now),
            "end" => noise = Noise { open_since: None, ended: Some(now) },
            "?" => out.push(match track.state(102..=Rev::MAX, habits, noise, now) {
                State::Fresh(set) => format!("fresh {}", set.rev),
                State::At(at) => format!("at {}", (at - zero).as_millis()),
                State::Busy => "busy".into(),
                State::Silent => "silent".into(),
            }),
            other => panic!("{other}"),
        }
    }
    out.join(", ")
}

#[test]
fn an_answer_counts_at_once_and_only_for_its_text() {
    check(
        "0 sent 101, 5 answer 101, 10 sent 102, 11 ?, 12 answer 101, 13 ?, 14 answer 102, 14 ?",
        "silent, silent, fresh 102",
    );
    check("0 sent 101, 10 sent 102, 20 sent 103, 30 answer 103, 30 ?", "fresh 103");
}

#[test]
fn a_stamp_counts_after_its_pair_had_time() {
    check("0 sent 102, 10 text 102, 11 ?, 160 ?", "at 160, fresh 102");
    check("0 sent 102, 10 text 102, 100 text 102, 100 ?, 160 ?", "at 160, fresh 102");
    check("0 sent 101, 10 sent 102, 11 text 101, 5000 ?", "silent");
}

#[test]
fn a_source_that_publishes_once_is_not_waited_for_twice() {
    let once = "0 sent 1, 10 text 1, 200 sent 2, 210 text 2, 400 sent 3, 410 text 3";
    check(&format!("{once}, 600 sent 102, 610 text 102, 610 ?"), "fresh 102");
    // Two are too few, and one that was overtaken by the next text says nothing of pairs.
    check("0 sent 1, 10 text 1, 200 sent 2, 210 text 2, 600 sent 102, 610 text 102, 610 ?", "at 760");
    check("0 sent 1, 10 text 1, 20 sent 2, 30 text 2, 40 sent 3, 50 text 3, 60 sent 102, 70 text 102, 70 ?", "at 220");
    // A pair that is seen again, even for the text before, is waited for from then on.
    check(&format!("{once}, 600 sent 4, 610 text 4, 700 sent 102, 705 text 4, 710 text 102, 710 ?"), "at 860");
    check(&format!("{once}, 600 sent 102, 610 text 102, 620 text 102, 620 ?"), "at 760");
    // What comes long afterwards is no pair.
    check(&format!("{once}, 600 sent 102, 610 text 102, 790 text 102, 790 ?"), "fresh 102");
    // In a run that must be repeatable nothing is learned.
    let mut pinned = Habits::new(Duration::from_millis(250), true);
    let script = format!("{once}, 600 sent 102, 610 text 102, 610 ?");
    assert_eq!(run(&mut Track::default(), &mut pinned, &script), "at 760");
}

#[test]
fn without_a_stamp_quiet_decides() {
    check(
        "0 sent 101, 10 none, 20 sent 102, 21 ?, 30 none, 31 ?, 100 none, 279 ?, 350 ?",
        "silent, at 280, at 350, fresh 102",
    );
}

#[test]
fn what_was_said_before_the_text_was_sent_is_not_about_it() {
    check("0 sent 101, 10 none, 20 sent 102, 5000 ?", "silent");
}

#[test]
fn work_begun_after_the_edit_and_still_going_on_vetoes_quiet() {
    check("0 sent 102, 5 begin, 10 none, 900 ?, 1000 end, 1001 ?, 1250 ?", "busy, at 1250, fresh 102");
    check("0 sent 101, 5 begin, 10 sent 102, 20 none, 270 ?", "fresh 102");
}

#[test]
fn stamps_that_never_fit_are_no_stamps() {
    // Always 1, over three texts: from the third miss on it counts as unstamped.
    check(
        "0 sent 100, 1 foreign 1, 10 sent 101, 11 foreign 1, 12 foreign 1, 20 sent 102, 30 foreign 1, 30 ?, 280 ?",
        "at 280, fresh 102",
    );
    check("0 sent 101, 10 sent 102, 30 foreign 1, 31 foreign 1, 5000 ?", "silent");
    // A constant that happened to be the number of the opening text (an editor's 1).
    check(
        "0 sent 99, 1 text 99, 10 sent 100, 11 text 99, 15 sent 101, 16 text 99, 20 sent 102, 30 text 99, 30 ?, 280 ?",
        "at 280, fresh 102",
    );
    // Words of an older text, however often they come, are no lie and no words of the newest.
    check("0 sent 101, 10 sent 102, 11 text 101, 12 text 101, 13 text 101, 14 text 101, 900 ?", "silent");
    // One that is only behind is honest.
    check(
        "0 sent 98, 1 sent 99, 2 sent 100, 3 text 98, 4 sent 101, 5 text 99, 6 sent 102, 7 text 100, 5000 ?, 5001 text 102, 5151 ?",
        "silent, fresh 102",
    );
}

#[test]
fn a_liar_that_turns_honest_is_believed_again() {
    check("0 sent 100, 1 sent 101, 2 foreign 1, 3 foreign 2, 4 foreign 3, 10 sent 102, 11 text 102, 12 ?", "at 161");
}

#[test]
fn quiet_is_learned_from_when_the_last_word_came() {
    let mut habits = Habits::new(Duration::from_millis(250), false);
    let mut track = Track::default();
    // Three texts, each with one word after 400 ms, each known to be quiet afterwards.
    run(
        &mut track,
        &mut habits,
        "0 sent 98, 400 none, 3000 sent 99, 3400 none, 6000 sent 100, 6400 none, 9000 sent 101",
    );
    // A word that comes too soon is not believed before the usual time; the usual word is, 100 ms later.
    assert_eq!(run(&mut track, &mut habits, "0 sent 102, 10 none, 11 ?, 390 none, 391 ?"), "at 400, at 490");
    let mut pinned = Habits::new(Duration::from_millis(250), true);
    let mut track = Track::default();
    run(
        &mut track,
        &mut pinned,
        "0 sent 98, 400 none, 3000 sent 99, 3400 none, 6000 sent 100, 6400 none, 9000 sent 101",
    );
    assert_eq!(run(&mut track, &mut pinned, "0 sent 102, 10 none, 11 ?"), "at 260");
}

#[test]
fn learned_values_are_clamped() {
    let mut habits = Habits::new(Duration::from_millis(250), false);
    for _ in 0..40 {
        habits.learn(Duration::from_mins(1), Duration::ZERO);
    }
    let now = Instant::now();
    assert_eq!(habits.quiet_at(now, now), now + Duration::from_millis(1500));
    assert_eq!(habits.lags.len(), KEPT);
}

#[test]
fn the_baseline_is_the_newest_sure_set() {
    let mut habits = Habits::new(Duration::from_millis(250), false);
    let mut track = Track::default();
    run(&mut track, &mut habits, "0 sent 101, 10 none, 1000 sent 102, 1010 none, 1020 sent 103");
    assert_eq!(track.known(103).map(|set| set.rev), Some(101), "the set of 102 had no quiet time");
    run(&mut track, &mut habits, "0 answer 103");
    assert_eq!(track.known(103).map(|set| set.rev), Some(103));
    assert_eq!(track.known(102).map(|set| set.rev), Some(101));
    assert_eq!(track.known(100), None);
}
