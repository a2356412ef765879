//! The load generator of a set: its users, or rpcgauge's engine at a rate.

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
    /// Starts a generator of `load`. Users begin their first tasks; a caller sends nothing yet.
    ///
    /// # Errors
    /// Locust does not start or refuses the locustfile, or the application has no such check.
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
                let message = "there are users but no Locust to run them";
                return Err(TrialFailure::new(Fault::Instrument, message));
            }
        };
        Ok(Self(kind))
    }

    /// The load generator's name, for a record.
    pub(super) fn name(load: &AppLoad) -> String {
        match load {
            AppLoad::Users { .. } => format!("Locust {LOCUST}"),
            AppLoad::Rate { rate, .. } => format!(
                "rpcgauge's engine, evenly spaced, over {} connections",
                Caller::connections(*rate)
            ),
        }
    }

    /// Sends load for `settle`, which is left out, and then for `time`. Calls `edge(true)` when requests begin
    /// to count, and `edge(false)` when no more do. Returns the requests' results without the services'
    /// figures; if `stop` is set, those of the requests so far.
    ///
    /// # Errors
    /// The load generator or a process ended, `edge` failed, or no request at a rate succeeded.
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
        // In the same order as at the start, so that the edges and the count span equal times.
        edge(false)?;
        // Not interrupted by `stop`: what was counted so far is a result too.
        let taken = users.take(&AtomicBool::new(false))?;
        if !stop.load(Ordering::Relaxed) {
            users.close(stop)?;
        }
        Ok(taken)
    }
}
