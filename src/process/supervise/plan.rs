//! When a supervisor asks, when it uses force, and when it is through. Pure: time comes in as an argument.

use std::time::{Duration, Instant};

/// So long after the polite signal come those by force where nobody is left who could say otherwise.
const ALONE: Duration = Duration::from_millis(300);

/// So long has what a command left behind after it was asked to end.
const LEFT: Duration = Duration::from_millis(100);

/// So long is force used; what is still there then cannot be ended (it waits in the kernel, or belongs to somebody
/// else).
const FORCE: Duration = Duration::from_secs(1);

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Wait for news, at most so long.
    Wait(Option<Duration>),
    /// Send the polite signal to all.
    Ask,
    /// Send the other to all, and look again soon.
    Force,
    /// Everything has ended, or cannot be ended.
    Done,
}

/// How far the end is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    No,
    Asked { force_at: Instant },
    Forced { give_up_at: Instant },
}

/// The end of one command and all that it started.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    ending: Ending,
    /// The command itself has ended.
    over: bool,
    /// The polite signal is still to be sent.
    ask: bool,
}

impl Plan {
    /// The command runs.
    pub(super) fn new() -> Plan {
        Plan { ending: Ending::No, over: false, ask: false }
    }

    /// All of it shall end, by force after `grace`. Later words can only make the grace shorter.
    pub(super) fn stop(&mut self, grace: Duration, now: Instant) {
        let force_at = now.checked_add(grace);
        match (self.ending, force_at) {
            (Ending::No, Some(force_at)) => self.ending = Ending::Asked { force_at },
            // A grace beyond all clocks.
            (Ending::No, None) => self.ending = Ending::Asked { force_at: now + Duration::from_hours(24) },
            (Ending::Asked { force_at: before }, Some(force_at)) => {
                self.ending = Ending::Asked { force_at: before.min(force_at) };
            }
            (Ending::Asked { .. }, None) | (Ending::Forced { .. }, _) => {}
        }
        self.ask = true;
    }

    /// All of it shall end by force.
    pub(super) fn kill(&mut self, now: Instant) {
        if !matches!(self.ending, Ending::Forced { .. }) {
            self.ending = Ending::Forced { give_up_at: now + FORCE };
        }
    }

    /// Nobody waits for it any more.
    pub(super) fn alone(&mut self, now: Instant) {
        self.stop(ALONE, now);
    }

    /// The command itself has ended; what it left goes too.
    pub(super) fn over(&mut self, now: Instant) {
        self.over = true;
        self.stop(LEFT, now);
    }

    /// Whether the command itself has ended.
    pub(super) fn is_over(self) -> bool {
        self.over
    }

    /// What is to be done now; `left`: whether anything of it is still there.
    pub(super) fn step(&mut self, left: bool, now: Instant) -> Step {
        if self.over && !left {
            return Step::Done;
        }
        match self.ending {
            Ending::No => Step::Wait(None),
            Ending::Asked { force_at } if now >= force_at => {
                self.kill(now);
                Step::Force
            }
            Ending::Asked { force_at } => {
                if std::mem::take(&mut self.ask) {
                    return Step::Ask;
                }
                Step::Wait(Some(force_at - now))
            }
            Ending::Forced { give_up_at } if now >= give_up_at => Step::Done,
            Ending::Forced { .. } => Step::Force,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_command_that_ends_with_nothing_left_is_done_at_once() {
        let start = Instant::now();
        let mut plan = Plan::new();
        assert_eq!(plan.step(true, start), Step::Wait(None));
        plan.over(start);
        assert_eq!(plan.step(false, start), Step::Done);
    }

    #[test]
    fn what_is_left_is_asked_and_then_forced() {
        let start = Instant::now();
        let mut plan = Plan::new();
        plan.over(start);
        assert_eq!(plan.step(true, start), Step::Ask);
        assert_eq!(plan.step(true, start), Step::Wait(Some(LEFT)));
        assert_eq!(plan.step(true, start + LEFT), Step::Force);
        assert_eq!(plan.step(true, start + LEFT + ms(5)), Step::Force);
        assert_eq!(plan.step(false, start + LEFT + ms(6)), Step::Done);
    }

    #[test]
    fn graces_only_become_shorter() {
        let start = Instant::now();
        let mut plan = Plan::new();
        plan.stop(Duration::MAX, start);
        assert_eq!(plan.step(true, start), Step::Ask);
        plan.stop(ms(5000), start);
        assert_eq!(plan.step(true, start), Step::Ask);
        assert_eq!(plan.step(true, start), Step::Wait(Some(ms(5000))));
        plan.stop(ms(9000), start);
        plan.alone(start + ms(100));
        assert_eq!(plan.step(true, start + ms(100)), Step::Ask);
        assert_eq!(plan.step(true, start + ms(100)), Step::Wait(Some(ALONE)));
        plan.over(start + ms(150));
        assert_eq!(plan.step(true, start + ms(150)), Step::Ask, "what came after the first word is asked too");
        assert_eq!(plan.step(true, start + ms(150)), Step::Wait(Some(LEFT)));
        plan.kill(start + ms(160));
        assert_eq!(plan.step(true, start + ms(160)), Step::Force);
    }

    #[test]
    fn what_cannot_be_ended_holds_nobody_up() {
        let start = Instant::now();
        let mut plan = Plan::new();
        plan.kill(start);
        assert_eq!(plan.step(true, start), Step::Force);
        plan.stop(Duration::ZERO, start);
        plan.kill(start + ms(900));
        assert_eq!(plan.step(true, start + FORCE), Step::Done);
    }

    proptest! {
        /// Whatever came before: two seconds after the end of the control socket there is nothing left to do.
        #[test]
        fn alone_it_is_through_in_two_seconds(
            words in proptest::collection::vec((0..4_u8, 0..10_000_u64), 0..8),
            tick in 1..50_u64,
        ) {
            let mut now = Instant::now();
            let mut plan = Plan::new();
            for (word, millis) in words {
                match word {
                    0 => plan.stop(ms(millis), now),
                    1 => plan.kill(now),
                    2 => plan.over(now),
                    _ => { plan.step(true, now); }
                }
            }
            plan.alone(now);
            let end = now + ms(2000);
            while now < end && plan.step(true, now) != Step::Done {
                now += ms(tick);
            }
            prop_assert!(now < end);
        }
    }
}
