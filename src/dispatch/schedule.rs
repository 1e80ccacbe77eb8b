//! Whose turn it is. Each lane has its own line: tickets in the order in which they were taken; neighbours that are shared
//! hold their turn together, everything else alone. No lane waits behind another.
//!
//! How many run at once is bounded, and nobody can wait for ever for that: the first of a lane always runs, and only those
//! beside it count. A call within a call has a lane of its own, so that it never waits for what its parent holds.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::config::ParallelSettings;

/// A line of calls of which each has its turn after those before it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Lane {
    /// The calls of a session.
    Session(String),
    /// The calls that one call makes, by its number.
    Under(u64),
}

/// All lines.
#[derive(Default)]
pub(super) struct Schedule {
    lines: Mutex<Lines>,
}

#[derive(Default)]
struct Lines {
    all: HashMap<Lane, Line>,
    caps: ParallelSettings,
    /// How many calls run beside the first of their lane.
    beside: usize,
    /// The lanes that could have more run if more might run beside the first ones, the longest waiting first.
    starved: VecDeque<Lane>,
    tickets: u64,
}

#[derive(Default)]
struct Line {
    waiting: VecDeque<Place>,
    /// How many of these have their turn and are not the first.
    beside: usize,
}

struct Place {
    ticket: u64,
    shared: bool,
    has_turn: bool,
    turn: Arc<Notify>,
}

/// A place in a line. Dropping it leaves the line, whether its turn had come or not.
pub(super) struct Ticket {
    schedule: Arc<Schedule>,
    lane: Lane,
    number: u64,
    turn: Arc<Notify>,
}

impl Schedule {
    /// Takes the next place in a line. Never waits. `shared`: may hold its turn together with its neighbours.
    pub(super) fn take(self: &Arc<Schedule>, lane: Lane, shared: bool, caps: &ParallelSettings) -> Ticket {
        let mut lines = self.lock();
        lines.tickets += 1;
        let (ticket, turn) = (lines.tickets, Arc::new(Notify::new()));
        let place = Place { ticket, shared, has_turn: false, turn: Arc::clone(&turn) };
        lines.all.entry(lane.clone()).or_default().waiting.push_back(place);
        lines.call(&lane);
        if lines.caps != *caps {
            lines.caps = caps.clone();
            lines.feed();
        }
        drop(lines);
        Ticket { schedule: Arc::clone(self), lane, number: ticket, turn }
    }

    /// Whether a place in a session's line is one that holds its turn alone: of a call that may change something.
    pub(super) fn holds_writer(&self, session: &str) -> bool {
        let lane = Lane::Session(session.to_owned());
        self.lock().all.get(&lane).is_some_and(|line| line.waiting.iter().any(|place| !place.shared))
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lines {
    /// Wakes all of a lane whose turn it is.
    fn call(&mut self, lane: &Lane) {
        let Some(line) = self.all.get(lane) else { return };
        let free = self.caps.beside.saturating_sub(self.beside - line.beside);
        if self.wake(lane, free) && !self.starved.contains(lane) {
            self.starved.push_back(lane.clone());
        }
    }

    /// Wakes all of a lane whose turn it is, at most `free` of them beside its first. Answers whether it starves.
    fn wake(&mut self, lane: &Lane, free: usize) -> bool {
        let Some(line) = self.all.get_mut(lane) else { return false };
        self.beside -= line.beside;
        let starves = line.call(self.caps.per_session.max(1), free);
        self.beside += line.beside;
        starves
    }

    /// Gives what is free to the lanes that wait for it, in their order.
    fn feed(&mut self) {
        for lane in std::mem::take(&mut self.starved) {
            self.call(&lane);
        }
    }

    fn leave(&mut self, lane: &Lane, ticket: u64) {
        let Some(line) = self.all.get_mut(lane) else { return };
        if let Ok(at) = line.waiting.binary_search_by_key(&ticket, |place| place.ticket) {
            line.waiting.remove(at);
        }
        if line.waiting.is_empty() {
            self.beside -= line.beside;
            self.all.remove(lane);
        } else {
            // First of all its first one, which nobody may keep from running; those beside it after those that starve.
            self.wake(lane, 0);
            if !self.starved.contains(lane) {
                self.starved.push_back(lane.clone());
            }
        }
        self.feed();
    }
}

impl Line {
    /// Wakes all whose turn it is: at most `most` at once, `free` of them beside the first. Answers whether more of them
    /// would run if more were free. A wake-up is kept for one who does not wait yet.
    fn call(&mut self, most: usize, free: usize) -> bool {
        self.beside = 0;
        // Whoever has a turn stands before all who have none.
        for (at, place) in self.waiting.iter_mut().enumerate() {
            if at > 0 && !place.shared {
                break;
            }
            if !place.has_turn {
                if at >= most {
                    break;
                }
                if at > free {
                    return true;
                }
                place.has_turn = true;
                place.turn.notify_one();
            }
            self.beside = at;
            if !place.shared {
                break;
            }
        }
        false
    }
}

impl Ticket {
    /// Waits until its turn has come.
    pub(super) async fn turn(&self) {
        self.turn.notified().await;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.schedule.lock().leave(&self.lane, self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use proptest::prelude::*;

    /// Which of some tickets have their turn now.
    fn turns(tickets: &mut [(bool, Option<Ticket>)]) -> Vec<usize> {
        for (has_turn, ticket) in tickets.iter_mut() {
            if let Some(ticket) = ticket {
                *has_turn = *has_turn || ticket.turn().now_or_never().is_some();
            }
        }
        let turns = tickets.iter().enumerate().filter(|(_, (has_turn, ticket))| *has_turn && ticket.is_some());
        turns.map(|(at, _)| at).collect()
    }

    fn ticket(schedule: &Arc<Schedule>, session: &str, shared: bool) -> Ticket {
        let caps = ParallelSettings { per_session: 100, beside: 100 };
        schedule.take(Lane::Session(session.to_owned()), shared, &caps)
    }

    fn take(schedule: &Arc<Schedule>, line: &str) -> Vec<(bool, Option<Ticket>)> {
        line.chars().map(|kind| (false, Some(ticket(schedule, "s", kind == 'r')))).collect()
    }

    #[test]
    fn neighbours_run_together_and_others_alone() {
        #[track_caller]
        fn check(line: &str, leave: &[usize], expected: &[&[usize]]) {
            let schedule = Arc::new(Schedule::default());
            let mut tickets = take(&schedule, line);
            let mut found = vec![turns(&mut tickets)];
            for &at in leave {
                tickets[at].1 = None;
                found.push(turns(&mut tickets));
            }
            assert_eq!(found, expected, "{line}");
            drop(tickets);
            assert!(schedule.lock().all.is_empty());
        }
        check("w", &[0], &[&[0], &[]]);
        check("ww", &[0, 1], &[&[0], &[1], &[]]);
        check("rrwrr", &[1, 0, 2], &[&[0, 1], &[0], &[2], &[3, 4]]);
        check("wr", &[0], &[&[0], &[1]]);
        // One that leaves before its turn lets those behind it move up.
        check("rwr", &[1], &[&[0], &[0, 2]]);
        check("www", &[1, 0], &[&[0], &[0], &[2]]);
    }

    #[test]
    fn sessions_do_not_wait_for_each_other() {
        let schedule = Arc::new(Schedule::default());
        let first = ticket(&schedule, "a", false);
        let other = ticket(&schedule, "b", false);
        assert!(first.turn().now_or_never().is_some());
        assert!(other.turn().now_or_never().is_some());
    }

    #[test]
    fn so_many_run_at_once_and_no_session_waits_for_another() {
        let schedule = Arc::new(Schedule::default());
        let caps = ParallelSettings { per_session: 3, beside: 3 };
        let mut lines: Vec<Vec<(bool, Option<Ticket>)>> = ["a", "b", "c"]
            .iter()
            .map(|session| {
                let lane = || Lane::Session((*session).to_owned());
                (0..5).map(|_| (false, Some(schedule.take(lane(), true, &caps)))).collect()
            })
            .collect();
        let mut running = || lines.iter_mut().map(|line| turns(line)).collect::<Vec<_>>();
        assert_eq!(running(), [vec![0, 1, 2], vec![0, 1], vec![0]]);
        // What the first session frees goes to those that wait longest, its own next one is the first now.
        lines[0][0].1 = None;
        let mut running = || lines.iter_mut().map(|line| turns(line)).collect::<Vec<_>>();
        assert_eq!(running(), [vec![1, 2], vec![0, 1, 2], vec![0]]);
        lines[0].clear();
        let mut running = || lines.iter_mut().map(|line| turns(line)).collect::<Vec<_>>();
        assert_eq!(running(), [vec![], vec![0, 1, 2], vec![0, 1]]);
        lines.clear();
        let lines = schedule.lock();
        assert!(lines.all.is_empty() && lines.beside == 0);
    }

    #[test]
    fn a_thousand_places_are_left_in_any_order() {
        let schedule = Arc::new(Schedule::default());
        let mut tickets: Vec<Ticket> = (0..1000).map(|at| ticket(&schedule, "s", at % 3 > 0)).collect();
        for step in 0..1000 {
            tickets.swap_remove((step * 7) % tickets.len());
        }
        assert!(schedule.lock().all.is_empty());
    }

    proptest! {
        #[test]
        fn somebody_of_each_lane_always_runs(
            calls in proptest::collection::vec((0usize..4, any::<bool>()), 1..40),
            picks in proptest::collection::vec(any::<usize>(), 40),
            caps in (0usize..4, 0usize..4),
        ) {
            let schedule = Arc::new(Schedule::default());
            let caps = ParallelSettings { per_session: caps.0, beside: caps.1 };
            let mut lines: Vec<Vec<(bool, Option<Ticket>)>> = (0..4).map(|_| Vec::new()).collect();
            for &(lane, shared) in &calls {
                lines[lane].push((false, Some(schedule.take(Lane::Under(lane as u64), shared, &caps))));
            }
            for pick in picks {
                let running: Vec<Vec<usize>> = lines.iter_mut().map(|line| turns(line)).collect();
                let beside: usize = running.iter().map(|line| line.len().saturating_sub(1)).sum();
                prop_assert!(beside <= caps.beside);
                prop_assert!(running.iter().all(|line| line.len() <= caps.per_session.max(1)));
                for (line, running) in lines.iter().zip(&running) {
                    let first = line.iter().position(|(_, ticket)| ticket.is_some());
                    prop_assert_eq!(first, running.first().copied());
                }
                // As many run as may: one more would be one too many, or there is nobody.
                prop_assert_eq!(schedule.lock().beside, beside);
                let any: Vec<(usize, usize)> =
                    running.iter().enumerate().flat_map(|(lane, line)| line.iter().map(move |&at| (lane, at))).collect();
                let Some(&(lane, at)) = any.get(pick % any.len().max(1)) else { break };
                lines[lane][at].1 = None;
            }
        }

        #[test]
        fn nobody_overtakes_and_nobody_starves(line in "[rw]{1,12}", picks in proptest::collection::vec(0usize..12, 12)) {
            let kinds: Vec<char> = line.chars().collect();
            let schedule = Arc::new(Schedule::default());
            let mut tickets = take(&schedule, &line);
            for pick in picks {
                let now = turns(&mut tickets);
                let left: Vec<usize> = (0..tickets.len()).filter(|&at| tickets[at].1.is_some()).collect();
                let Some(&first) = left.first() else { break };
                let mut expected = vec![first];
                if kinds[first] == 'r' {
                    expected.extend(left[1..].iter().copied().take_while(|&at| kinds[at] == 'r'));
                }
                prop_assert_eq!(&now, &expected);
                tickets[now[pick % now.len()]].1 = None;
            }
        }
    }
}
