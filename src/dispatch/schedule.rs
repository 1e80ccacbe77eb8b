//! Whose turn it is. Each session has its own line: tickets in the order in which they were taken; neighbours that are
//! shared hold their turn together, everything else alone. No session waits behind another.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// All lines.
#[derive(Default)]
pub(super) struct Schedule {
    lines: Mutex<HashMap<String, Line>>,
}

#[derive(Default)]
struct Line {
    waiting: VecDeque<Place>,
    tickets: u64,
}

struct Place {
    ticket: u64,
    shared: bool,
    turn: Arc<Notify>,
}

/// A place in a session's line. Dropping it leaves the line, whether its turn had come or not.
pub(super) struct Ticket {
    schedule: Arc<Schedule>,
    session: String,
    number: u64,
    turn: Arc<Notify>,
}

impl Schedule {
    /// Takes the next place in a session's line. Never waits. `shared`: may hold its turn together with its neighbours.
    pub(super) fn take(self: &Arc<Schedule>, session: &str, shared: bool) -> Ticket {
        let mut lines = self.lock();
        let line = lines.entry(session.to_owned()).or_default();
        line.tickets += 1;
        let (ticket, turn) = (line.tickets, Arc::new(Notify::new()));
        line.waiting.push_back(Place { ticket, shared, turn: Arc::clone(&turn) });
        line.call();
        Ticket { schedule: Arc::clone(self), session: session.to_owned(), number: ticket, turn }
    }

    /// Whether a place in a session's line is one that holds its turn alone: of a call that may change something.
    pub(super) fn holds_writer(&self, session: &str) -> bool {
        self.lock().get(session).is_some_and(|line| line.waiting.iter().any(|place| !place.shared))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    /// Wakes all whose turn it is. A wake-up is kept for one who does not wait yet, and a second one does no harm.
    fn call(&self) {
        for (at, place) in self.waiting.iter().enumerate() {
            if at > 0 && !place.shared {
                return;
            }
            place.turn.notify_one();
            if !place.shared {
                return;
            }
        }
    }
}

impl Ticket {
    /// Waits until all that came before are gone, or they and this one are shared.
    pub(super) async fn turn(&self) {
        self.turn.notified().await;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut lines = self.schedule.lock();
        let Some(line) = lines.get_mut(&self.session) else { return };
        line.waiting.retain(|place| place.ticket != self.number);
        if line.waiting.is_empty() {
            lines.remove(&self.session);
        } else {
            line.call();
        }
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

    fn take(schedule: &Arc<Schedule>, line: &str) -> Vec<(bool, Option<Ticket>)> {
        line.chars().map(|kind| (false, Some(schedule.take("s", kind == 'r')))).collect()
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
            assert!(schedule.lock().is_empty());
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
        let first = schedule.take("a", false);
        let other = schedule.take("b", false);
        assert!(first.turn().now_or_never().is_some());
        assert!(other.turn().now_or_never().is_some());
    }

    proptest! {
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
