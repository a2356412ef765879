//! What others took from slow calls: read at the edges of slices, where no call is in flight.

use std::ops::Range;

use rpcgauge_load::{SlowCall as Slow, SlowCalls, Usual, monotonic_ns};
use rpcgauge_study::record::{Disturbed, MOST_SLOW, SlowCall, Watched};

use crate::environment::stolen_ns;
use crate::machine::placement::Layout;
use crate::machine::process::ProcessMeter;
use crate::machine::waits::{SideMeter, SideReading};

/// Stolen time is read this often, ns: it is counted in ticks of this length.
const STOLEN_EVERY_NS: u64 = 10_000_000;

/// Follows what others take from the calls of one variant.
pub(crate) struct Watch {
    sides: Vec<Side>,
    /// The cores of all sides, whose stolen time counts.
    cores: Vec<usize>,
    /// When the present slice began.
    began_ns: u64,
    stolen: Option<Reading>,
    /// How long they wait in most slices.
    usual: Usual,
    /// What was taken from the slow calls of each slice that had any.
    seen: Vec<(Range<usize>, Disturbed)>,
}

#[derive(Clone, Copy)]
struct Reading {
    at_ns: u64,
    stolen_ns: u64,
}

/// What runs on one set of cores: the client, the server, or both where they share it.
struct Side {
    meters: Vec<SideMeter>,
    cores: u64,
    before: Option<SideReading>,
}

impl Side {
    fn read(&mut self) -> Option<SideReading> {
        let mut sum = SideReading::default();
        for meter in &mut self.meters {
            let one = meter.read()?;
            sum.waited_ns += one.waited_ns;
            sum.used_ns += one.used_ns;
        }
        Some(sum)
    }
}

impl Watch {
    /// Follows a client and a server; the calling thread calls where there is no client.
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
        };
        let (of_client, of_server) = (layout.client.ids(), layout.server.ids());
        let sides = match of_client == of_server {
            true => vec![side(client.into_iter().chain(server).collect(), of_client)],
            false => {
                let of_client = client.map(|meter| side(vec![meter], of_client));
                let of_server = server.map(|meter| side(vec![meter], of_server));
                of_client.into_iter().chain(of_server).collect()
            }
        };
        let mut cores = [of_client, of_server].concat();
        cores.sort_unstable();
        cores.dedup();
        Self {
            sides,
            cores,
            began_ns: 0,
            stolen: None,
            usual: Usual::default(),
            seen: Vec::new(),
        }
    }

    /// A slice begins.
    pub(crate) fn begin(&mut self) {
        for side in &mut self.sides {
            side.before = side.read();
        }
        let is_old = |reading: &Reading| monotonic_ns() - reading.at_ns > STOLEN_EVERY_NS;
        if self.stolen.as_ref().is_none_or(is_old) {
            self.stolen = self.read_stolen();
        }
        self.began_ns = monotonic_ns();
    }

    /// A slice has ended, with these slow calls.
    pub(crate) fn end(&mut self, slow: Range<usize>) {
        let lasted_ns = monotonic_ns().saturating_sub(self.began_ns);
        let mut waited_ns = 0;
        for side in &mut self.sides {
            if let (Some(before), Some(now)) = (side.before.take(), side.read()) {
                waited_ns += by_others(now.since(before), lasted_ns.saturating_mul(side.cores));
            }
        }
        let usual_ns = self.usual.median().unwrap_or(0);
        self.usual.add(waited_ns);
        if slow.is_empty() {
            return;
        }
        let before = self.stolen;
        self.stolen = self.read_stolen();
        let stolen_ns = match (before, self.stolen) {
            (Some(before), Some(now)) => now.stolen_ns.saturating_sub(before.stolen_ns),
            _ => 0,
        };
        let disturbed = Disturbed {
            waited_ns: waited_ns.saturating_sub(usual_ns),
            stolen_ns,
        };
        self.seen.push((slow, disturbed));
    }

    fn read_stolen(&self) -> Option<Reading> {
        Some(Reading {
            stolen_ns: stolen_ns(&self.cores)?,
            at_ns: monotonic_ns(),
        })
    }

    /// The slow calls of the whole trial, which began at `from_ns`. Calls that were in flight together
    /// were all held up by what held up one of them; those that came one after the other share it.
    pub(crate) fn finish(self, from_ns: u64, slow: &SlowCalls, in_flight: u64) -> Watched {
        let kept = slow.kept();
        let mut calls: Vec<SlowCall> = kept.iter().map(slow_call).collect();
        for (range, disturbed) in self.seen {
            let Some(calls) = calls.get_mut(range) else {
                continue;
            };
            let all_ns: u64 = calls.iter().map(SlowCall::lost_ns).sum();
            for call in calls {
                let share = |ns: u64| match in_flight {
                    1 => {
                        (u128::from(ns) * u128::from(call.lost_ns()) / u128::from(all_ns.max(1)))
                            as u64
                    }
                    _ => ns,
                };
                call.disturbed = Some(Disturbed {
                    waited_ns: share(disturbed.waited_ns),
                    stolen_ns: share(disturbed.stolen_ns),
                });
            }
        }
        let (more, more_ns) = slow.more();
        calls.sort_by_key(|call| std::cmp::Reverse(call.lost_ns()));
        let left_out = calls.split_off(calls.len().min(MOST_SLOW));
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

fn slow_call(call: &Slow) -> SlowCall {
    SlowCall {
        due_ns: call.due,
        latency_ns: call.latency,
        usual_ns: call.usual,
        disturbed: None,
    }
}

/// How long a side waited for others: its own threads wait for each other too, and then it uses its
/// cores.
fn by_others(side: SideReading, cores_ns: u64) -> u64 {
    side.waited_ns.min(cores_ns.saturating_sub(side.used_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_wait_for_each_other_wait_for_no_other_program() {
        let side = |waited_ns, used_ns| SideReading { waited_ns, used_ns };
        assert_eq!(by_others(side(500, 1_000), 1_000), 0);
        assert_eq!(by_others(side(500, 300), 1_000), 500);
        assert_eq!(by_others(side(900, 300), 1_000), 700);
    }

    #[test]
    fn what_was_taken_from_a_slice_is_shared_by_calls_that_followed_each_other() {
        let slow = || {
            let mut slow = SlowCalls::default();
            (0..16).for_each(|call| slow.answered(call, 100));
            slow.answered(50, 1_100);
            slow.answered(51, 3_100);
            slow
        };
        let watched = |in_flight| {
            let cores = Layout {
                client: crate::machine::placement::CoreSet::of(&[0]),
                server: crate::machine::placement::CoreSet::of(&[1]),
            };
            let mut watch = Watch::new(&cores, None, None);
            let disturbed = Disturbed {
                waited_ns: 2_000,
                stolen_ns: 400,
            };
            watch.seen.push((0..2, disturbed));
            let watched = watch.finish(7, &slow(), in_flight);
            watched
                .slow
                .iter()
                .map(|call| call.disturbed.unwrap())
                .collect::<Vec<_>>()
        };
        let disturbed = |waited_ns, stolen_ns| Disturbed {
            waited_ns,
            stolen_ns,
        };
        assert_eq!(watched(1), [disturbed(500, 100), disturbed(1_500, 300)]);
        assert_eq!(watched(8), [disturbed(2_000, 400); 2]);
    }
}
