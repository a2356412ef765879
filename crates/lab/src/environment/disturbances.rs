//! What disturbed the calls while they were measured: other programs or a hypervisor that took their cores.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rpcgauge_trial::Address;

use super::others::Others;
use super::steal::Ticks;
use crate::machine::placement::Layout;
use crate::machine::process::thread_waited;

/// Tracks disturbances over a whole run. The machine's counters are read only at the start and the end of the
/// run; in between, only those of the measuring thread are read.
#[derive(Debug)]
pub(crate) struct Disturbances {
    /// The machine's tick counts at the start.
    ticks: Option<Ticks>,
    others: Others,
    /// The largest share of any trial that the measuring thread spent waiting for its core.
    waited: f64,
}

impl Disturbances {
    /// Starts tracking. The measured processes run on `cores` and call services at `targets`, which this
    /// program did not start.
    pub(crate) fn start(cores: BTreeSet<usize>, targets: Vec<Address>) -> Self {
        Self {
            ticks: Ticks::now(),
            others: Others::start(cores, targets),
            waited: 0.0,
        }
    }

    /// Records how long the measuring thread waited during one trial.
    pub(crate) fn note(&mut self, waiting: Option<Waiting>) {
        let share = waiting.and_then(Waiting::share);
        self.waited = self.waited.max(share.unwrap_or(0.0));
    }

    /// One line for each disturbance since the start; `when` names that period.
    pub(crate) fn warnings(&self, when: &str) -> Vec<String> {
        let steal = self.ticks.and_then(|ticks| ticks.warning(when));
        let others = self.others.warning(when, self.waited);
        others.into_iter().chain(steal).collect()
    }
}

/// Measures how long the calling thread waits for its core while other threads run there.
#[derive(Debug)]
pub(crate) struct Waiting {
    began: Instant,
    before: Duration,
}

impl Waiting {
    /// Starts tracking the calling thread. `None` if client and server share one core, where each always waits
    /// for the other, or if the kernel does not report waiting times.
    pub(crate) fn start(layout: &Layout) -> Option<Self> {
        let is_shared = layout.client == layout.server && layout.client.ids().len() == 1;
        Some(Self {
            before: thread_waited().filter(|_| !is_shared)?,
            began: Instant::now(),
        })
    }

    fn share(self) -> Option<f64> {
        let waited = thread_waited()?.saturating_sub(self.before);
        Some(waited.as_secs_f64() / self.began.elapsed().as_secs_f64().max(1e-9))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use rpcgauge_study::settings::Placement;

    use super::*;
    use crate::machine::cores;
    use crate::machine::placement::Placements;

    #[test]
    fn a_thread_waits_while_another_has_its_core() {
        let placements = Placements::detect().unwrap();
        let Ok(layout) = placements.layout(Placement::TwoCores) else {
            return;
        };
        let is_done = AtomicBool::new(false);
        let mut disturbances = Disturbances::start(BTreeSet::new(), Vec::new());
        disturbances.note(None);
        assert_eq!(disturbances.waited, 0.0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                layout.client.bind_this_thread().unwrap();
                while !is_done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            scope.spawn(|| {
                layout.client.bind_this_thread().unwrap();
                let before = thread_waited();
                let waiting = Waiting::start(&layout);
                // Spin until the other thread has had a turn.
                while before.is_some() && thread_waited() == before {}
                disturbances.note(waiting);
                is_done.store(true, Ordering::Relaxed);
            });
        });
        assert_eq!(disturbances.waited > 0.0, thread_waited().is_some());
    }

    #[test]
    fn where_client_and_server_share_a_core_their_waiting_is_not_counted() {
        let one = Placements::among(cores::allowed().unwrap()[..1].to_vec());
        assert!(Waiting::start(&one.layout(Placement::OneCore).unwrap()).is_none());
        assert!(Waiting::start(&one.layout(Placement::Free).unwrap()).is_none());
    }
}
