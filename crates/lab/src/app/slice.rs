//! Measures a slice of load on one set of services: the results of its requests and the services' own metrics.
//!
//! An edge is a reading of the services' metrics and of the processor time of all processes.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_study::app::{Metric, ProcessRecord, SliceFigures, SumCount};
use rpcgauge_study::record::Fault;

use super::application::{Application, Set};
use super::exposition;
use super::generator::Generator;
use super::process::{Running, Used};
use super::run::now_ms;
use crate::error::{TrialFailure, TrialResult};

/// Sends load for `settle`, which is not counted, and then for `time`. Returns when counting began, in milliseconds
/// since the Unix epoch, and the slice's results.
///
/// # Errors
/// See [`Generator::send`]. Also fails if a service does not expose its metrics.
pub fn slice(
    application: &Application<'_>,
    set: &Set,
    generator: &mut Generator<'_>,
    metrics: &[Metric],
    [settle, time]: [Duration; 2],
    stop: &AtomicBool,
) -> TrialResult<(u64, SliceFigures)> {
    let mut edges = Vec::new();
    let mut edge = |_| {
        edges.push((Edge::read(application, set, metrics)?, now_ms()));
        Ok(())
    };
    let taken = generator.send(application, set, [settle, time], &mut edge, stop)?;
    application.check_processes()?;
    match &edges[..] {
        [(before, began_at_ms), (after, _)] => Ok((
            *began_at_ms,
            figures(application, set, taken, before, after),
        )),
        _ => Err(TrialFailure::new(
            Fault::Instrument,
            "a slice must have a beginning and an end",
        )),
    }
}

/// A reading at the beginning or the end of a slice.
pub(super) struct Edge {
    /// Sums and counts so far, by metric name.
    pub(super) metrics: BTreeMap<String, SumCount>,
    /// The resources used by the backing processes, then by those of the set.
    processes: Vec<Used>,
}

impl Edge {
    /// Takes a reading. Metrics that a service does not expose are omitted.
    pub(super) fn read(
        application: &Application<'_>,
        set: &Set,
        metrics: &[Metric],
    ) -> TrialResult<Self> {
        let mut told = BTreeMap::new();
        for service in &set.services {
            let spec = application.built.app.process(&service.name);
            let Some(at) = spec.and_then(|spec| spec.metrics.as_ref()) else {
                continue;
            };
            let asked = metrics.iter();
            let asked = asked.filter(|metric| metric.service == service.name);
            told.extend(exposition::read(service, at, asked)?);
        }
        let processes = application.backing().iter().chain(&set.services);
        Ok(Self {
            metrics: told,
            processes: processes.map(Running::used).collect(),
        })
    }
}

fn figures(
    application: &Application<'_>,
    set: &Set,
    taken: SliceFigures,
    before: &Edge,
    after: &Edge,
) -> SliceFigures {
    let metrics = after.metrics.iter().map(|(name, after)| {
        let before = before.metrics.get(name).copied().unwrap_or_default();
        let added = SumCount {
            sum: after.sum - before.sum,
            count: after.count - before.count,
        };
        (name.clone(), added)
    });
    let shared = application.backing().iter().map(|one| (one, true));
    let running = shared.chain(set.services.iter().map(|one| (one, false)));
    let used = before.processes.iter().zip(&after.processes);
    let processes = running
        .zip(used)
        .map(|((running, is_shared), (before, after))| ProcessRecord {
            name: running.name.clone(),
            is_shared,
            cpu_ns: before
                .cpu_ns
                .zip(after.cpu_ns)
                .map(|(before, after)| after.saturating_sub(before)),
            memory_bytes: running.held_bytes(),
            jvm: before
                .jvm
                .zip(after.jvm)
                .map(|(before, after)| after.since(&before)),
        });
    SliceFigures {
        metrics: metrics.collect(),
        processes: processes.collect(),
        ..taken
    }
}
