//! What is known of a trial while it goes on.

use std::collections::BTreeMap;
use std::time::Duration;

use rpcgauge_wire::Traffic;

use crate::Histogram;
use crate::error::LoadError;
use crate::failure::FailureKind;

/// Asks for looks at the measured part while it goes on.
pub struct ProgressHook<'r> {
    /// The time between two looks, more than 0.
    pub every: Duration,
    /// Called on the measuring thread, between the turns of its loop. Calls that become due while
    /// it runs are begun late by as much, which is in their latency and their send delay: what
    /// takes long belongs on another thread. It is called once more at the end of the trial, so
    /// that the intervals together hold every call.
    pub look: &'r mut dyn FnMut(&Progress<'_>),
}

impl ProgressHook<'_> {
    pub(crate) fn check(&self) -> Result<(), LoadError> {
        match self.every.is_zero() {
            true => Err(LoadError::Setting {
                what: "the time between looks at the trial",
                allowed: "more than 0",
            }),
            false => Ok(()),
        }
    }
}

/// The measured part of a trial so far. Nothing is copied for it.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Since the measured part began.
    pub elapsed: Duration,
    /// Since the look before, or since the measured part began.
    pub interval: Duration,
    /// Calls started.
    pub started: u64,
    /// Calls that succeeded.
    pub answered: u64,
    /// Calls that failed, by kind.
    pub failed: &'a BTreeMap<FailureKind, u64>,
    /// Sends beyond the first of a call ([`crate::Calls::retried`]).
    pub retried: u64,
    /// Calls that were begun and have not ended.
    pub in_flight: u64,
    /// Latency of the calls that succeeded in the interval, by when they ended, ns.
    pub latency: &'a Histogram,
    /// Bytes on the connections.
    pub traffic: Traffic,
}

impl Progress<'_> {
    /// All calls that failed.
    pub fn failed_total(&self) -> u64 {
        self.failed.values().sum()
    }
}
