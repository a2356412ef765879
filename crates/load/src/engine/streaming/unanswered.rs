//! The messages of a bidirectional call whose responses have not arrived.

use std::collections::{BTreeMap, VecDeque};

/// When messages were due whose responses have not arrived, ns.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// Oldest first. The server responds in this order.
    InOrder(VecDeque<u64>),
    /// By key, and by number among the messages with the same key.
    ByKey(BTreeMap<(String, u64), u64>),
}

impl Unanswered {
    /// `by_key` is whether messages have keys.
    pub(super) fn new(by_key: bool) -> Unanswered {
        if by_key {
            Unanswered::ByKey(BTreeMap::new())
        } else {
            Unanswered::InOrder(VecDeque::new())
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Unanswered::InOrder(due) => due.len(),
            Unanswered::ByKey(due) => due.len(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn is_by_key(&self) -> bool {
        matches!(self, Unanswered::ByKey(_))
    }

    /// Adds message number `number`, which was due at `due` (ns).
    pub(super) fn push(&mut self, number: u64, key: Option<String>, due: u64) {
        match self {
            Unanswered::InOrder(all) => all.push_back(due),
            Unanswered::ByKey(all) => {
                all.extend(key.map(|key| ((key, number), due)));
            }
        }
    }

    /// Removes the message that a response with this key is to, and returns when it was due. Of several with the same key,
    /// it is the oldest.
    pub(super) fn take(&mut self, key: Option<String>) -> Option<u64> {
        match self {
            Unanswered::InOrder(all) => all.pop_front(),
            Unanswered::ByKey(all) => {
                let of_key = (key?, 0);
                let (first, _) = all.range(&of_key..).next()?;
                let first = (first.0 == of_key.0).then(|| first.clone())?;
                all.remove(&first)
            }
        }
    }

    /// When the oldest was due.
    pub(super) fn oldest(&self) -> Option<u64> {
        match self {
            Unanswered::InOrder(all) => all.front().copied(),
            Unanswered::ByKey(all) => all.values().min().copied(),
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Unanswered::new(self.is_by_key());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_several_with_one_key_comes_first() {
        let key = |key: &str| Some(key.to_owned());
        let mut all = Unanswered::new(true);
        all.push(0, key("a"), 10);
        all.push(1, key("b"), 20);
        all.push(2, key("a"), 30);
        assert_eq!(all.oldest(), Some(10));
        let taken = ["b", "b", "", "a", "a", "a"].map(|of| all.take(key(of)));
        assert_eq!(taken, [Some(20), None, None, Some(10), Some(30), None]);
        all.push(3, key("a"), 40);
        assert_eq!((all.take(None), all.len()), (None, 1));
    }

    #[test]
    fn without_keys_responses_are_in_order() {
        let mut all = Unanswered::new(false);
        all.push(0, None, 10);
        all.push(1, None, 20);
        assert_eq!(
            [all.take(None), all.take(None), all.take(None)],
            [Some(10), Some(20), None]
        );
    }
}
