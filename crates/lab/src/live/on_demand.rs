//! A load that is controlled from outside while it runs, for example by a Locust master.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_load as load;
use rpcgauge_study::settings::CallOptions;
use rpcgauge_trial::{Schedule, Stop};

use super::{Live, LiveError};

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
    /// Makes the calls of users until `stop` is set, even if all of them fail. There is no warm-up.
    ///
    /// # Errors
    /// One line, if the load cannot run.
    pub fn run_users(
        &self,
        of: &UserLoad,
        progress: load::ProgressHook<'_>,
        stop: &AtomicBool,
    ) -> Result<load::Measurement, LiveError> {
        let waits_for_connection = matches!(of.schedule, Schedule::Rate { .. })
            && self.calls.endpoint.protocol == load::Protocol::Http1;
        let default = if waits_for_connection {
            CallOptions::CONNECTIONS_AT_A_RATE
        } else {
            1
        };
        let trial = load::Trial {
            schedule: of.schedule.clone(),
            demand: Some(Arc::clone(&of.users)),
            connections: of.connections.unwrap_or(default),
            seed: of.seed,
            stop: Stop::default(),
            patience: Duration::MAX,
            ..self.trial()
        };
        let hooks = load::Hooks {
            settling: Box::new(|_| load::Settling::Settled),
            measuring: Box::new(|_| ()),
            progress: Some(progress),
            checks: self.checks().map_err(LiveError::Wrong)?,
        };
        let bodies = self.bodies(load::Shard::WHOLE).map_err(LiveError::Wrong)?;
        let measured = load::measure_with(&trial, bodies, hooks, stop);
        let mut measured = measured.map_err(|error| LiveError::Wrong(error.to_string()))?;
        for request in trial.all_requests() {
            measured.hide_values(&request.headers);
        }
        Ok(measured)
    }
}
