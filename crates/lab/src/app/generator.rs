//! The load generator of a set: Locust's users, or rpcgauge's engine at a fixed rate.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rpcgauge_study::app::{AppLoad, SliceFigures};
use rpcgauge_study::record::Fault;

use super::application::{Application, Set};
use super::caller::Caller;
use super::package::BuiltApp;
use super::users::{Crowd, LOCUST, Locust, Users};
use crate::error::{TrialFailure, TrialResult};

/// Sends load to one set of services.
pub struct Generator<'a>(Kind<'a>);

enum Kind<'a> {
    Users(Users),
    Caller(Box<Caller<'a>>),
}

impl<'a> Generator<'a> {
    /// Starts a generator for `load`. Users begin their first tasks; a caller sends nothing yet.
    ///
    /// # Errors
    /// Fails if Locust does not start or rejects the locustfile, or if the application has no such check.
    pub fn start(
        load: &AppLoad,
        locust: Option<&Locust>,
        built: &'a BuiltApp<'_>,
        set: &Set,
        kept: &BTreeMap<String, String>,
        log: PathBuf,
        stop: &AtomicBool,
    ) -> TrialResult<Self> {
        let kind = match (load, locust) {
            (AppLoad::Rate { call, rate }, _) => {
                let wrong = |message| TrialFailure::new(Fault::User, message);
                let check = built.app.check(call).map_err(wrong)?;
                let caller = Caller::new(built.app, check, *rate, set, kept)?;
                Kind::Caller(Box::new(caller))
            }
            (
                AppLoad::Users {
                    users,
                    spawn_rate,
                    tags,
                },
                Some(locust),
            ) => {
                let crowd = Crowd {
                    users: *users,
                    spawn_rate: *spawn_rate,
                    tags,
                };
                let mut users = Users::start(locust, built, set, crowd, log, stop)?;
                users.spawn(crowd, stop)?;
                Kind::Users(users)
            }
            (AppLoad::Users { .. }, None) => {
                let message = "the load has users, but there is no Locust to run them";
                return Err(TrialFailure::new(Fault::Instrument, message));
            }
        };
        Ok(Self(kind))
    }

    /// A description of the load generator, for records.
    pub(super) fn name(load: &AppLoad) -> String {
        match load {
            AppLoad::Users { .. } => format!("Locust {LOCUST}"),
            AppLoad::Rate { rate, .. } => format!(
                "rpcgauge's engine, evenly spaced, over {} connections",
                Caller::connections(*rate)
            ),
        }
    }

    /// Sends load for `settle`, which is not counted, and then for `time`. Calls `edge(true)` when counting
    /// begins, and `edge(false)` when it ends. Returns the results of the requests, without metrics of the
    /// services. If `stop` is set, returns the results so far.
    ///
    /// # Errors
    /// Fails if the load generator or a process exits, `edge` fails, or no request at a fixed rate succeeds.
    pub fn send(
        &mut self,
        application: &Application<'_>,
        set: &Set,
        [settle, time]: [Duration; 2],
        edge: &mut dyn FnMut(bool) -> TrialResult,
        stop: &AtomicBool,
    ) -> TrialResult<SliceFigures> {
        let users = match &mut self.0 {
            Kind::Users(users) => users,
            Kind::Caller(caller) => {
                return caller.call(application, set, [settle, time], edge, stop);
            }
        };
        users.open(stop)?;
        application.wait(settle, stop)?;
        edge(true)?;
        users.count(stop)?;
        application.wait(time, stop)?;
        // In the same order as at the start, so that the edges and the counts cover equally long intervals.
        edge(false)?;
        // Not interrupted by `stop`, because the results so far are still useful.
        let taken = users.take(&AtomicBool::new(false))?;
        if !stop.load(Ordering::Relaxed) {
            users.close(stop)?;
        }
        Ok(taken)
    }
}
