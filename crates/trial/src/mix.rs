//! Which call of a mix comes next.

use crate::Random;

/// The order in which the calls of a mix come, by their index. It consists of cycles. Each cycle contains every call
/// in proportion to its weight, in random order, so that even a short trial has the proportions of the mix. The same
/// seed produces the same order. Without weights, there is no next call.
#[derive(Debug, Clone)]
pub struct MixOrder {
    random: Random,
    /// A cycle. The calls before `taken` are in their final order.
    cycle: Vec<u16>,
    taken: usize,
}

impl MixOrder {
    /// The maximum number of calls in a mix.
    pub const MAX_CALLS: usize = 100;
    /// The maximum weight of a call.
    pub const MAX_WEIGHT: u32 = 1_000;

    /// Creates the order of calls with these weights.
    pub fn new(weights: impl IntoIterator<Item = u32> + Clone, seed: u64) -> Self {
        // Weights of 80 and 20 need a cycle of 5 calls, not of 100.
        let divisor = weights.clone().into_iter().fold(0, common_divisor).max(1);
        let times = (0..).zip(weights);
        let times = times.flat_map(|(call, weight)| (0..weight / divisor).map(move |_| call));
        Self {
            random: Random::new(seed),
            cycle: times.collect(),
            taken: 0,
        }
    }

    /// The calls of a cycle, in no particular order.
    pub fn one_cycle(&self) -> impl ExactSizeIterator<Item = usize> {
        self.cycle.iter().map(|call| usize::from(*call))
    }
}

impl Iterator for MixOrder {
    type Item = usize;

    /// One step of a Fisher-Yates shuffle. Shuffling a cycle again produces the next one.
    fn next(&mut self) -> Option<usize> {
        if self.taken == self.cycle.len() {
            self.taken = 0;
        }
        let left = self.cycle.get_mut(self.taken..)?;
        let drawn = match left.len() {
            0 => return None,
            count => self.random.below(count),
        };
        left.swap(0, drawn);
        self.taken += 1;
        Some(usize::from(left[0]))
    }
}

fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_cycle_has_the_proportions_of_the_weights_in_an_order_of_its_own() {
        let mut order = MixOrder::new([60, 20, 40], 7);
        assert_eq!(order.one_cycle().len(), 6);
        let mut cycles = BTreeSet::new();
        for _ in 0..100 {
            let cycle: Vec<usize> = order.by_ref().take(6).collect();
            let count = |call| cycle.iter().filter(|one| **one == call).count();
            assert_eq!([0, 1, 2].map(count), [3, 1, 2]);
            cycles.insert(cycle);
        }
        // There are 60 orders.
        assert!(cycles.len() > 40, "{}", cycles.len());
    }

    #[test]
    fn a_seed_reproduces_the_order() {
        let order = |seed| MixOrder::new([3, 1], seed).take(40).collect::<Vec<_>>();
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }

    #[test]
    fn without_calls_there_is_no_next_one() {
        assert_eq!(MixOrder::new([], 1).next(), None);
        assert_eq!(MixOrder::new([0], 1).next(), None);
        assert!(MixOrder::new([5], 1).take(9).eq([0; 9]));
    }
}
