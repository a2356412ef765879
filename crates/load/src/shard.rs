//! The part of a trial that one of several threads runs.

use rpcgauge_trial::{ConnectionUse, Schedule};

use crate::trial::{Endpoint, Trial};

/// One of `of` equal parts of a trial. Calls, connections and bodies are numbered, and a shard has every `of`-th of
/// them, beginning with number `index`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: u32,
    of: u32,
}

impl Shard {
    /// The only shard of a trial on one thread.
    pub const WHOLE: Shard = Shard { index: 0, of: 1 };

    /// The shards of a trial that runs on this many threads.
    pub fn all(threads: u32) -> impl Iterator<Item = Shard> {
        (0..threads).map(move |index| Shard { index, of: threads })
    }

    /// Which shard this is, from 0.
    pub fn index(self) -> usize {
        self.index as usize
    }

    /// How many shards there are, at least 1.
    pub fn of(self) -> usize {
        self.of as usize
    }

    /// How many of `all` belong to the shard.
    pub(crate) fn part(self, all: u64) -> u64 {
        let after = all.saturating_sub(self.index.into());
        after.div_ceil(self.of.into())
    }

    fn part_of_few(self, all: u32) -> u32 {
        self.part(all.into()) as u32
    }

    /// The part of values that calls use in rotation. Together, the shards use each value equally often.
    pub fn pick<T: Clone>(self, all: &[T]) -> Vec<T> {
        let (count, of) = (all.len(), self.of());
        let Some(last) = count.checked_sub(1) else {
            return Vec::new();
        };
        // After this many calls of the shard, it is at the same value again.
        let period = (1..=count).find(|calls| (calls * of).is_multiple_of(count));
        let numbers = (self.index()..).step_by(of).take(period.unwrap_or(count));
        numbers
            .map(|number| all[(number % count).min(last)].clone())
            .collect()
    }
}

impl Trial {
    /// The part of the trial that belongs to a shard. The warm-up is not divided, since it is common to all shards.
    pub(crate) fn of_shard(&self, shard: Shard) -> Trial {
        let connections = shard.part_of_few(self.connections);
        let schedule = match self.schedule {
            Schedule::Closed { in_flight } => Schedule::Closed {
                in_flight: match self.connection_use {
                    ConnectionUse::PerCall => shard.part_of_few(in_flight),
                    ConnectionUse::Reuse => shard.calls_on(self.connections, in_flight),
                },
            },
            Schedule::Rate { .. } | Schedule::Ramp { .. } => self.schedule.clone(),
        };
        let endpoint = &self.endpoint;
        let addresses = std::iter::once(&endpoint.address).chain(&endpoint.more_addresses);
        let mut addresses: Vec<_> = addresses.cloned().collect();
        // The connections of a shard are to as many addresses as possible, in case one of these does not respond.
        let before = Shard::all(shard.of).take(shard.index());
        let before: u32 = before
            .map(|other| other.part_of_few(self.connections))
            .sum();
        let first = before as usize % addresses.len();
        addresses.rotate_left(first);
        addresses.truncate(connections.max(1) as usize);
        let address = addresses.remove(0);
        let mut stop = self.stop;
        stop.calls = stop.calls.map(|calls| shard.part(calls));
        Trial {
            endpoint: Endpoint {
                address,
                more_addresses: addresses,
                ..endpoint.clone()
            },
            schedule,
            // Otherwise all shards would make the calls of a mix in the same order.
            seed: self.seed.wrapping_add(u64::from(shard.index) << 32),
            connections,
            max_requests: self.max_requests.map(|requests| shard.part(requests)),
            stop,
            ..self.clone()
        }
    }
}

impl Shard {
    /// The calls in flight on the shard's connections, if `in_flight` calls are divided among all connections. The
    /// first connections take the remainder.
    fn calls_on(self, connections: u32, in_flight: u32) -> u32 {
        let (each, left) = (in_flight / connections, in_flight % connections);
        self.part_of_few(connections) * each + self.part_of_few(left)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::engine::tests::{trial, unused};

    #[test]
    fn the_shards_of_a_trial_add_up_to_it() {
        let mut whole = trial(unused());
        (whole.connections, whole.stop.calls, whole.max_requests) = (5, Some(11), Some(4));
        whole.schedule = Schedule::Closed { in_flight: 13 };
        let shards: Vec<Trial> = Shard::all(3).map(|shard| whole.of_shard(shard)).collect();
        let all = |of: fn(&Trial) -> u64| shards.iter().map(of).collect::<Vec<_>>();
        assert_eq!(all(|trial| trial.connections.into()), [2, 2, 1]);
        // The connections have 3, 3, 3, 2 and 2 calls in flight.
        assert_eq!(
            all(|trial| trial.schedule.in_flight().unwrap().into()),
            [5, 5, 3]
        );
        assert_eq!(all(|trial| trial.stop.calls.unwrap()), [4, 4, 3]);
        assert_eq!(all(|trial| trial.max_requests.unwrap()), [2, 1, 1]);
        assert_ne!(shards[0].seed, shards[1].seed);
    }

    proptest! {
        #[test]
        fn each_connection_keeps_its_calls_in_flight_and_its_address(
            connections in 1u32..40,
            more_in_flight in 0u32..100,
            addresses in 1usize..6,
            threads in 1u32..8,
        ) {
            let port = |number: usize| rpcgauge_trial::Address::Unix(number.to_string().into());
            let mut whole = trial(port(0));
            whole.endpoint.more_addresses = (1..addresses).map(port).collect();
            whole.connections = connections.max(threads);
            whole.schedule = Schedule::Closed { in_flight: whole.connections + more_in_flight };
            // The addresses of all connections, and their calls in flight as `Pool` divides them.
            let of = |trials: Vec<Trial>| {
                let (mut addresses, mut in_flight) = (Vec::new(), Vec::new());
                for trial in trials {
                    let (count, calls) = (trial.connections, trial.schedule.in_flight().unwrap());
                    for index in 0..count {
                        addresses.push(trial.endpoint.address_of(index as usize).to_string());
                        in_flight.push(calls / count + u32::from(index < calls % count));
                    }
                }
                addresses.sort();
                in_flight.sort();
                (addresses, in_flight)
            };
            let divided = Shard::all(threads).map(|shard| whole.of_shard(shard));
            prop_assert_eq!(of(divided.collect()), of(vec![whole.clone()]));
        }

        #[test]
        fn together_they_use_each_body_equally_often(count in 1usize..40, threads in 1u32..8, rounds in 1u64..4) {
            let bodies: Vec<usize> = (0..count).collect();
            let calls = rounds * count as u64 * u64::from(threads);
            let mut used = vec![0; count];
            for shard in Shard::all(threads) {
                let own = shard.pick(&bodies);
                for call in 0..shard.part(calls) {
                    used[own[call as usize % own.len()]] += 1;
                }
            }
            prop_assert_eq!(used, vec![rounds * u64::from(threads); count]);
        }
    }
}
