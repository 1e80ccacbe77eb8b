//! Whether a turn holds text from elsewhere: what a call has shown of other machines may want something of the model.

use std::collections::VecDeque;

/// So many turns that hold such text are told apart; of older ones it counts as said in no turn.
const TURNS: usize = 16;

/// Where text from elsewhere came from, by turn. Calls that name no turn belong to all turns until one of them ends.
#[derive(Debug, Clone, Default)]
pub(super) struct External {
    /// The turns with the first source in each, the oldest first.
    turns: VecDeque<(String, String)>,
    /// The first source that was heard of outside of any turn.
    open: Option<String>,
}

impl External {
    /// A call of a turn showed a text from this source.
    pub(super) fn came(&mut self, turn: Option<&str>, source: &str) {
        let Some(turn) = turn else {
            self.open.get_or_insert_with(|| source.to_owned());
            return;
        };
        if self.turns.iter().any(|(known, _)| known == turn) {
            return;
        }
        self.turns.push_back((turn.to_owned(), source.to_owned()));
        if self.turns.len() > TURNS
            && let Some((_, source)) = self.turns.pop_front()
        {
            self.open.get_or_insert(source);
        }
    }

    /// Where text came from that the turn holds. What names no turn is of any that has not ended.
    pub(super) fn of(&self, turn: Option<&str>) -> Option<&str> {
        let mut turns = self.turns.iter().filter(|(known, _)| turn.is_none_or(|turn| turn == known));
        self.open.as_deref().or_else(|| turns.next().map(|(_, source)| source.as_str()))
    }

    /// A turn is over, and so is what came in none.
    pub(super) fn end_turn(&mut self, turn: &str) {
        self.open = None;
        self.turns.retain(|(known, _)| known != turn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_holds_what_came_in_it_or_in_none() {
        let mut external = External::default();
        assert_eq!((external.of(None), external.of(Some("a"))), (None, None));
        external.came(Some("a"), "a.org");
        external.came(Some("a"), "later.org");
        assert_eq!(external.of(Some("a")), Some("a.org"));
        assert_eq!((external.of(Some("b")), external.of(None)), (None, Some("a.org")));
        external.came(None, "x.org");
        assert_eq!((external.of(Some("b")), external.of(None)), (Some("x.org"), Some("x.org")));
        external.end_turn("b");
        assert_eq!((external.of(Some("b")), external.of(Some("a"))), (None, Some("a.org")));
        external.end_turn("a");
        assert_eq!((external.of(None), external.of(Some("a"))), (None, None));
    }

    #[test]
    fn what_is_not_told_apart_any_more_counts_for_all() {
        let mut external = External::default();
        for turn in 0..=TURNS {
            external.came(Some(&turn.to_string()), "x.org");
        }
        assert_eq!((external.of(Some("0")), external.of(Some("other"))), (Some("x.org"), Some("x.org")));
    }
}
