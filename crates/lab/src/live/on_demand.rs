//! A load that is controlled from outside while it runs, for example by a Locust master.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use rpcgauge_load as load;
use rpcgauge_study::record::TrialFigures;
use rpcgauge_study::settings::CallOptions;
use rpcgauge_trial::{Ending, Schedule, Stop};

use super::{Live, LiveError};
use crate::machine::process::ProcessMeter;
use crate::measurer::epoch_ms;
use crate::measurer::processes::add_processes;

/// The load of users whose number may change.
#[derive(Debug, Clone)]
pub struct UserLoad {
    /// The number of users.
    pub users: Arc<load::Demand>,
    /// The calls of one user: a closed loop or a rate.
    pub schedule: Schedule,
    /// The number of connections; `None` for the default. HTTP/1.1 in a closed loop opens one for each call in flight.
    pub connections: Option<u32>,
    /// The seed of random arrivals.
    pub seed: u64,
}

impl Live {
    /// The number of connections for the calls of a user. HTTP/1.1 in a closed loop opens more if there are more users.
    pub fn connections_for(&self, schedule: &Schedule) -> u32 {
        let waits_for_connection = matches!(schedule, Schedule::Rate { .. })
            && self.calls.endpoint.protocol == load::Protocol::Http1;
        if waits_for_connection {
            CallOptions::CONNECTIONS_AT_A_RATE
        } else {
            1
        }
    }

    /// Makes the calls of users until `stop` is set, even if all of them fail. There is no warm-up.
    ///
    /// # Errors
    /// One line, if the load cannot run.
    pub fn run_users(
        &self,
        of: &UserLoad,
        progress: load::ProgressHook<'_>,
        stop: &AtomicBool,
    ) -> Result<Box<TrialFigures>, LiveError> {
        let unread = |error| LiveError::Wrong(format!("memory cannot be read from /proc: {error}"));
        let client = ProcessMeter::of_self().map_err(unread)?;
        client.reset_peak();
        let trial = load::Trial {
            schedule: of.schedule.clone(),
            demand: Some(Arc::clone(&of.users)),
            connections: of
                .connections
                .unwrap_or_else(|| self.connections_for(&of.schedule)),
            seed: of.seed,
            stop: Stop::default(),
            patience: Duration::MAX,
            keeps_detail: true,
            ..self.trial()
        };
        let hooks = load::Hooks {
            settling: Box::new(|_| load::Settling::Settled),
            measuring: Box::new(|_| ()),
            progress: Some(progress),
            checks: self.checks().map_err(LiveError::Wrong)?,
        };
        let bodies = self.bodies(load::Shard::WHOLE).map_err(LiveError::Wrong)?;
        let began = SystemTime::now();
        let measured = load::measure_with(&trial, bodies, hooks, stop);
        let mut measured = measured.map_err(|error| LiveError::Wrong(error.to_string()))?;
        for request in trial.all_requests() {
            measured.hide_values(&request.headers);
        }
        let mut figures = measured.figures;
        if figures.ending == Ending::Interrupted {
            // Users have no other end.
            figures.ending = Ending::Complete;
        }
        // Snapshots lack them, and figures without them cannot be merged with figures that have them.
        figures.mix.clear();
        figures.measured_from_ms = Some(epoch_ms(began));
        add_processes(&mut figures, &client, None, None).map_err(unread)?;
        Ok(Box::new(figures))
    }
}
