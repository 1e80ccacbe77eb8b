//! Whole outputs, kept for as long as a session's share of memory allows.

use std::collections::VecDeque;
use std::sync::Arc;

/// A session keeps at most so many bytes of outputs.
const KEPT_BYTES: usize = 16 * 1024 * 1024;

/// Outputs by id, the oldest first.
#[derive(Debug)]
pub struct Store {
    kept: VecDeque<(String, Arc<str>)>,
    bytes: usize,
    limit: usize,
}

impl Default for Store {
    fn default() -> Store {
        Store::with_limit(KEPT_BYTES)
    }
}

impl Store {
    /// A store that keeps at most `limit` bytes, and always the newest output.
    pub fn with_limit(limit: usize) -> Store {
        Store { kept: VecDeque::new(), bytes: 0, limit }
    }

    /// Keeps an output; the oldest ones make room for it.
    pub fn put(&mut self, id: &str, text: &str) {
        self.remove(id);
        self.bytes += text.len();
        self.kept.push_back((id.to_owned(), Arc::from(text)));
        while self.bytes > self.limit && self.kept.len() > 1 {
            if let Some((_, oldest)) = self.kept.pop_front() {
                self.bytes -= oldest.len();
            }
        }
    }

    /// A whole output, if it is still kept. What is asked for is wanted, and goes last.
    pub fn get(&mut self, id: &str) -> Option<Arc<str>> {
        let at = self.kept.iter().position(|(kept, _)| kept == id)?;
        let entry = self.kept.remove(at)?;
        let text = Arc::clone(&entry.1);
        self.kept.push_back(entry);
        Some(text)
    }

    /// How much is kept.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn remove(&mut self, id: &str) {
        if let Some(at) = self.kept.iter().position(|(kept, _)| kept == id)
            && let Some((_, text)) = self.kept.remove(at)
        {
            self.bytes -= text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_make_room() {
        let mut store = Store::with_limit(20);
        for id in ["o1", "o2", "o3"] {
            store.put(id, "12345678");
        }
        assert_eq!((store.get("o1"), store.get("o2").is_some(), store.get("o3").is_some()), (None, true, true));
    }

    #[test]
    fn a_session_keeps_at_most_16_mib() {
        let (mut store, text) = (Store::default(), "x".repeat(1024 * 1024));
        for number in 0..40 {
            store.put(&format!("o{number}"), &text);
        }
        let kept: usize = store.kept.iter().map(|(_, text)| text.len()).sum();
        assert_eq!((kept, store.bytes, store.kept.len()), (16 * 1024 * 1024, 16 * 1024 * 1024, 16));
        assert_eq!((store.get("o23"), store.get("o24").is_some()), (None, true));
    }

    #[test]
    fn what_is_read_stays_longer() {
        let mut store = Store::with_limit(20);
        store.put("o1", "12345678");
        store.put("o2", "12345678");
        store.get("o1");
        store.put("o3", "12345678");
        assert_eq!((store.get("o1").is_some(), store.get("o2")), (true, None));
    }

    #[test]
    fn one_that_is_too_long_is_kept_alone() {
        let mut store = Store::with_limit(4);
        store.put("o1", "ab");
        store.put("o2", "0123456789");
        assert_eq!((store.get("o1"), store.get("o2").as_deref()), (None, Some("0123456789")));
    }

    #[test]
    fn the_same_id_is_replaced() {
        let mut store = Store::with_limit(10);
        store.put("o1", "12345678");
        store.put("o1", "1234567");
        store.put("o2", "123");
        assert_eq!(store.get("o1").as_deref(), Some("1234567"));
    }
}
