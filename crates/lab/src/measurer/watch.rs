//! Measures what other programs took from slow calls. Reads the counters at the edges of slices, where no call is
//! in flight.

use std::ops::Range;

use rpcgauge_load::{SlowCalls, Usual, monotonic_ns};
use rpcgauge_study::record::{Disturbed, MAX_SLOW, SlowCall, Watched};

use crate::environment::stolen_ns;
use crate::machine::placement::Layout;
use crate::machine::process::ProcessMeter;
use crate::machine::waits::{SideMeter, SideReading};

/// Tracks what other programs take from the calls of one variant.
pub(crate) struct Watch {
    sides: Vec<Side>,
    /// The cores whose stolen time is attributed to calls; empty if it is unknown which cores are used.
    cores: Vec<usize>,
    /// The slice in progress, if any.
    began: Option<Began>,
    /// What was taken from the last slice, until it is known which of its calls were slow.
    taken: Option<Disturbed>,
    /// What was taken from each slice that had slow calls, with the range of these calls.
    seen: Vec<(Range<usize>, Disturbed)>,
}

struct Began {
    at_ns: u64,
    stolen_ns: Option<u64>,
}

/// The threads on one set of cores: those of the client, the server, or both if they share the cores.
struct Side {
    meters: Vec<SideMeter>,
    cores: u64,
    before: Option<SideReading>,
    /// Per slice: the usual wait of the thread that waits longest, and the usual CPU time of all threads, ns.
    usual_wait: Usual,
    usual_use: Usual,
}

impl Side {
    fn read(&mut self) -> Option<SideReading> {
        let mut sum = SideReading::default();
        for meter in &mut self.meters {
            let one = meter.read()?;
            sum.used_ns += one.used_ns;
            sum.threads.extend(one.threads);
        }
        Some(sum)
    }

    /// How much longer than usual a thread of this side waited for other programs in a slice; `None` until it
    /// is known what is usual. Threads of the side also wait for each other, so the CPU time that the side used
    /// beyond the usual is subtracted. The result is limited to the time that the side left its cores unused.
    fn waited_for_others(&mut self, slice: &SideReading, lasted_ns: u64) -> Option<u64> {
        let waits = slice.threads.values().map(|thread| thread.waited_ns);
        let wait_ns = waits.max().unwrap_or(0);
        let unused_ns = lasted_ns
            .saturating_mul(self.cores)
            .saturating_sub(slice.used_ns);
        let usual = self.usual_wait.median().zip(self.usual_use.median());
        self.usual_wait.add(wait_ns);
        self.usual_use.add(slice.used_ns);
        let (usual_wait_ns, usual_use_ns) = usual?;
        let own_ns = slice.used_ns.saturating_sub(usual_use_ns);
        let by_others_ns = wait_ns.saturating_sub(usual_wait_ns).saturating_sub(own_ns);
        Some(by_others_ns.min(unused_ns))
    }
}

impl Watch {
    /// Watches a client and a server. Without a client, the calling thread makes the calls.
    pub(crate) fn new(
        layout: &Layout,
        client: Option<&ProcessMeter>,
        server: Option<&ProcessMeter>,
    ) -> Self {
        let client = match client {
            Some(client) => Some(SideMeter::of_processes(client)),
            None => SideMeter::of_this_thread(),
        };
        let server = server.map(SideMeter::of_processes);
        let side = |meters: Vec<SideMeter>, cores: &[usize]| Side {
            meters,
            cores: cores.len() as u64,
            before: None,
            usual_wait: Usual::default(),
            usual_use: Usual::default(),
        };
        let (of_client, of_server) = (layout.client.ids(), layout.server.ids());
        let are_same = of_client == of_server;
        let sides = if are_same {
            vec![side(client.into_iter().chain(server).collect(), of_client)]
        } else {
            let of_client = client.map(|meter| side(vec![meter], of_client));
            let of_server = server.map(|meter| side(vec![meter], of_server));
            of_client.into_iter().chain(of_server).collect()
        };
        let mut cores = [of_client, of_server].concat();
        cores.sort_unstable();
        cores.dedup();
        if are_same && cores.len() > 1 {
            // Client and server may run on any of these cores. Time stolen from an unused core takes nothing
            // from them.
            cores.clear();
        }
        Self {
            sides,
            cores,
            began: None,
            taken: None,
            seen: Vec::new(),
        }
    }

    pub(crate) fn begin(&mut self) {
        let stolen_ns = self.read_stolen();
        for side in &mut self.sides {
            side.before = side.read();
        }
        self.began = Some(Began {
            at_ns: monotonic_ns(),
            stolen_ns,
        });
    }

    /// Ends the slice, if one is in progress.
    pub(crate) fn end(&mut self) {
        let Some(began) = self.began.take() else {
            return;
        };
        let lasted_ns = monotonic_ns().saturating_sub(began.at_ns);
        let mut waited_ns = Some(0);
        for side in &mut self.sides {
            if let (Some(before), Some(now)) = (side.before.take(), side.read()) {
                let of_side = side.waited_for_others(&now.since(&before), lasted_ns);
                waited_ns = waited_ns.zip(of_side).map(|(sum, ns)| sum + ns);
            }
        }
        let stolen_ns = match (began.stolen_ns, self.read_stolen()) {
            (Some(before), Some(now)) => {
                // A tick can be longer than a short slice.
                let max_ns = lasted_ns.saturating_mul(self.cores.len() as u64);
                now.saturating_sub(before).min(max_ns)
            }
            _ => 0,
        };
        self.taken = waited_ns.map(|waited_ns| Disturbed {
            waited_ns,
            stolen_ns,
        });
    }

    /// Records which calls of the finished slice were slow.
    pub(crate) fn slow(&mut self, slow: Range<usize>) {
        let taken = self.taken.take();
        self.seen.extend(
            taken
                .filter(|_| !slow.is_empty())
                .map(|taken| (slow, taken)),
        );
    }

    fn read_stolen(&self) -> Option<u64> {
        if self.cores.is_empty() {
            None
        } else {
            stolen_ns(&self.cores)
        }
    }

    /// The slow calls of the whole trial, which began at `from_ns`.
    pub(crate) fn finish(self, from_ns: u64, slow: &SlowCalls) -> Watched {
        let mut calls = slow.kept().to_vec();
        for (range, disturbed) in self.seen {
            if let Some(calls) = calls.get_mut(range) {
                share_out(disturbed, calls);
            }
        }
        let (more, more_ns) = slow.more();
        calls.sort_by_key(|call| std::cmp::Reverse(call.lost_ns()));
        let left_out = calls.split_off(calls.len().min(MAX_SLOW));
        calls.sort_by_key(|call| call.due_ns);
        Watched {
            from_ns,
            slow: calls,
            not_kept: more + left_out.len() as u64,
            not_kept_ns: left_out
                .iter()
                .map(SlowCall::lost_ns)
                .fold(more_ns, u64::saturating_add),
        }
    }
}

/// Distributes what was taken from a slice among its slow calls, in proportion to the time that they lost.
/// Overlapping calls were held up together: each one receives the whole share of its group, based on the call
/// that lost the most.
fn share_out(disturbed: Disturbed, calls: &mut [SlowCall]) {
    calls.sort_by_key(|call| call.due_ns);
    let mut until_ns = 0;
    let mut groups: Vec<(u64, Vec<&mut SlowCall>)> = Vec::new();
    for call in calls {
        let (begins_ns, lost_ns) = (call.due_ns, call.lost_ns());
        let ends_ns = begins_ns.saturating_add(call.latency_ns);
        match groups.last_mut().filter(|_| begins_ns < until_ns) {
            Some((max_ns, group)) => {
                *max_ns = lost_ns.max(*max_ns);
                group.push(call);
            }
            None => groups.push((lost_ns, vec![call])),
        }
        until_ns = ends_ns.max(until_ns);
    }
    let all_ns: u128 = groups.iter().map(|(ns, _)| u128::from(*ns)).sum();
    for (lost_ns, group) in groups {
        let share = |ns| (u128::from(ns) * u128::from(lost_ns) / all_ns.max(1)) as u64;
        for call in group {
            call.disturbed = Some(Disturbed {
                waited_ns: share(disturbed.waited_ns),
                stolen_ns: share(disturbed.stolen_ns),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::placement::CoreSet;
    use crate::machine::waits::Times;

    fn watch(client: &[usize], server: &[usize]) -> Watch {
        let layout = Layout {
            client: CoreSet::new(client.to_vec()),
            server: CoreSet::new(server.to_vec()),
        };
        Watch::new(&layout, None, None)
    }

    /// A reading with the time, ns, that each thread ran and waited.
    fn reading(threads: &[(u64, u64)]) -> SideReading {
        let times = threads
            .iter()
            .map(|&(ran_ns, waited_ns)| Times { ran_ns, waited_ns });
        SideReading {
            used_ns: threads.iter().map(|thread| thread.0).sum(),
            threads: (0..).zip(times).collect(),
        }
    }

    #[test]
    fn what_a_side_waits_for_others_is_more_than_usual_and_not_for_its_own_threads() {
        let by_others = |threads: &[(u64, u64)]| {
            let mut side = Side {
                meters: vec![],
                cores: 1,
                before: None,
                usual_wait: Usual::default(),
                usual_use: Usual::default(),
            };
            let usual = reading(&[(400, 50), (200, 10)]);
            for _ in 0..16 {
                assert_eq!(side.waited_for_others(&usual, 1_000), None);
            }
            side.waited_for_others(&reading(threads), 1_000)
        };
        assert_eq!(by_others(&[(400, 50), (200, 10)]), Some(0), "as usual");
        // Another program took the core from a side whose threads mostly wait for each other.
        assert_eq!(by_others(&[(300, 350), (150, 10)]), Some(300));
        // Two threads wait for the same other program.
        assert_eq!(by_others(&[(300, 350), (150, 340)]), Some(300));
        // A garbage collector ran as well.
        assert_eq!(by_others(&[(400, 250), (200, 10), (200, 0)]), Some(0));
        assert_eq!(by_others(&[(400, 300), (200, 10), (100, 0)]), Some(150));
        assert_eq!(
            by_others(&[(350, 900), (550, 0)]),
            Some(100),
            "the cores were in use"
        );
        assert_eq!(by_others(&[]), Some(0));
    }

    #[test]
    fn what_was_taken_from_a_slice_is_kept_once_and_where_calls_were_slow() {
        let mut watch = watch(&[0], &[1]);
        let disturbed = Disturbed {
            waited_ns: 700,
            stolen_ns: 50,
        };
        watch.taken = Some(disturbed);
        watch.slow(16..17);
        watch.slow(17..18);
        watch.taken = Some(disturbed);
        watch.slow(18..18);
        assert_eq!(watch.seen, [(16..17, disturbed)]);
    }

    #[test]
    fn stolen_time_counts_where_it_is_known_which_cores_are_used() {
        assert_eq!(watch(&[0], &[1]).cores, [0, 1]);
        assert_eq!(watch(&[3], &[3]).cores, [3]);
        assert_eq!(watch(&[0, 1], &[0, 1]).cores, [0; 0]);
    }

    #[test]
    fn a_slice_ends_only_if_one_began() {
        let mut watch = watch(&[0], &[0]);
        watch.end();
        assert_eq!(watch.taken, None);
        for _ in 0..16 {
            watch.begin();
            watch.end();
            assert_eq!(watch.taken, None, "what is usual is not known yet");
        }
        watch.begin();
        watch.end();
        assert!(watch.taken.is_some());
    }

    #[test]
    fn what_was_taken_from_a_slice_is_shared_by_calls_at_different_moments() {
        let shares = |calls: &[(u64, u64)]| {
            let call = |&(due_ns, latency_ns)| SlowCall {
                due_ns,
                latency_ns,
                usual_ns: 100,
                disturbed: None,
            };
            let mut calls: Vec<SlowCall> = calls.iter().map(call).collect();
            let disturbed = Disturbed {
                waited_ns: 2_000,
                stolen_ns: 400,
            };
            share_out(disturbed, &mut calls);
            let shares = calls.iter().map(|call| call.disturbed.unwrap());
            shares
                .map(|share| (share.waited_ns, share.stolen_ns))
                .collect::<Vec<_>>()
        };
        let (quarter, rest, all) = ((500, 100), (1_500, 300), (2_000, 400));
        assert_eq!(shares(&[(50, 1_100), (1_150, 3_100)]), [quarter, rest]);
        assert_eq!(shares(&[(50, 1_100), (51, 3_100)]), [all, all]);
        // The third call overlaps the first, though not the second. The last one is alone.
        let mixed = [(50, 3_100), (60, 400), (2_000, 600), (4_000, 1_100)];
        assert_eq!(shares(&mixed), [rest, rest, rest, quarter]);
        assert_eq!(shares(&[(9, 100)]), [(0, 0)], "it lost nothing");
    }

    #[test]
    fn slow_calls_get_what_was_taken_from_their_slice() {
        let mut slow = SlowCalls::default();
        (0..16).for_each(|call| slow.succeeded(call, 100));
        slow.succeeded(50, 1_100);
        slow.succeeded(5_000, 3_100);
        let mut watch = watch(&[0], &[1]);
        let disturbed = Disturbed {
            waited_ns: 2_000,
            stolen_ns: 400,
        };
        watch.seen.push((1..2, disturbed));
        let watched = watch.finish(7, &slow);
        let found = watched.slow.iter().map(|call| call.disturbed);
        assert_eq!(found.collect::<Vec<_>>(), [None, Some(disturbed)]);
    }
}
