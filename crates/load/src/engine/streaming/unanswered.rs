//! The messages of a bidirectional call whose responses have not arrived.

use std::collections::{BTreeMap, VecDeque};

use crate::engine::outgoing::Key;

/// Maximum number of messages of a call that wait for their responses.
const MAX: usize = 1 << 20;

/// The messages without a response, and when they were due, ns.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// Oldest first. The server responds in this order.
    InOrder(VecDeque<u64>),
    /// By key.
    ByKey(ByKey),
}

/// Messages with keys.
#[derive(Debug, Default)]
pub(super) struct ByKey {
    /// When they were due, by key and number.
    due: BTreeMap<(Key, u64), u64>,
    /// Their keys, by number.
    keys: BTreeMap<u64, Key>,
    /// How many no longer wait, because there were too many.
    given_up: u64,
}

impl Unanswered {
    /// `by_key` is whether messages have keys.
    pub(super) fn new(by_key: bool) -> Unanswered {
        if by_key {
            Unanswered::ByKey(ByKey::default())
        } else {
            Unanswered::InOrder(VecDeque::new())
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Unanswered::InOrder(due) => due.is_empty(),
            Unanswered::ByKey(by_key) => by_key.due.is_empty(),
        }
    }

    /// How many messages with keys have no response; `None` without keys.
    pub(super) fn keyed(&self) -> Option<u64> {
        match self {
            Unanswered::InOrder(_) => None,
            Unanswered::ByKey(by_key) => Some(by_key.due.len() as u64 + by_key.given_up),
        }
    }

    /// Adds message number `number`, which was due at `due` (ns). Returns false if too many wait, and forgets them if they
    /// have no keys.
    pub(super) fn push(&mut self, number: u64, key: Option<Key>, due: u64) -> bool {
        match (self, key) {
            (Unanswered::InOrder(all), _) => {
                all.push_back(due);
                let fits = all.len() <= MAX;
                if !fits {
                    *all = VecDeque::new();
                }
                fits
            }
            (Unanswered::ByKey(by_key), Some(key)) => {
                by_key.keys.insert(number, key.clone());
                by_key.due.insert((key, number), due);
                if by_key.due.len() > MAX {
                    by_key.give_up_oldest();
                }
                true
            }
            (Unanswered::ByKey(_), None) => true,
        }
    }

    /// Removes the message that a response with this key is to, and returns when it was due. Of several with the same key,
    /// it is the oldest.
    pub(super) fn take(&mut self, key: Option<&str>) -> Option<u64> {
        match self {
            Unanswered::InOrder(all) => all.pop_front(),
            Unanswered::ByKey(by_key) => {
                let first = (Key::from(key?), 0);
                let (found, due) = by_key.due.range(&first..).next()?;
                let (number, due) = (found.0 == first.0).then_some((found.1, *due))?;
                by_key.due.remove(&(first.0, number));
                by_key.keys.remove(&number);
                Some(due)
            }
        }
    }

    /// When the oldest was due.
    pub(super) fn oldest(&self) -> Option<u64> {
        match self {
            Unanswered::InOrder(all) => all.front().copied(),
            Unanswered::ByKey(by_key) => {
                let (number, key) = by_key.keys.first_key_value()?;
                by_key.due.get(&(key.clone(), *number)).copied()
            }
        }
    }
}

impl ByKey {
    fn give_up_oldest(&mut self) {
        if let Some((number, key)) = self.keys.pop_first() {
            self.due.remove(&(key, number));
            self.given_up += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_several_with_one_key_comes_first() {
        let mut all = Unanswered::new(true);
        for (number, key, due) in [(0, "a", 10), (1, "b", 20), (2, "a", 30)] {
            assert!(all.push(number, Some(key.into()), due));
        }
        assert_eq!(all.oldest(), Some(10));
        let taken = ["b", "b", "", "a", "a", "a"].map(|of| all.take(Some(of)));
        assert_eq!(taken, [Some(20), None, None, Some(10), Some(30), None]);
        all.push(3, Some("a".into()), 40);
        assert_eq!(
            (all.take(None), all.keyed(), all.oldest()),
            (None, Some(1), Some(40))
        );
    }

    #[test]
    fn without_keys_responses_are_in_order() {
        let mut all = Unanswered::new(false);
        all.push(0, None, 10);
        all.push(1, None, 20);
        let taken = [all.take(None), all.take(None), all.take(None)];
        assert_eq!(taken, [Some(10), Some(20), None]);
    }

    #[test]
    fn of_too_many_messages_with_keys_only_the_oldest_are_given_up() {
        let most = MAX as u64;
        let (mut in_order, mut by_key) = (Unanswered::new(false), Unanswered::new(true));
        for number in 0..most {
            assert!(in_order.push(number, None, number));
            by_key.push(number, Some(number.to_string().into()), number);
        }
        assert!(!in_order.push(most, None, most) && in_order.is_empty());
        by_key.push(most, Some("last".into()), most);
        assert_eq!((by_key.take(Some("0")), by_key.oldest()), (None, Some(1)));
        assert_eq!(
            (by_key.take(Some("last")), by_key.keyed()),
            (Some(most), Some(most))
        );
    }
}
