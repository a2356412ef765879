//! Computes figures, verdicts and bars from the slices of a run.

mod parts;
mod rate;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};

use rpcgauge_study::app::{
    AppLoad, AppMetric, AppPlan, AppRun, AppVariant, JvmRecord, RequestRecord, SliceFigures,
    SliceOutcome, SumCount,
};
use rpcgauge_study::histogram::{Times, Unit};

pub use rate::of_rate;

use super::findings::{
    AppFindings, AppVariantFindings, FailedSlice, InsideFigures, ProcessFigures, RequestFigures,
    SliceRow,
};
use super::is_one_by_one;
use crate::findings::SCHEMA;
use crate::units;

/// The minimum number of requests for a 99th percentile. With fewer, it would be the slowest request.
const MIN_FOR_P99: u64 = 100;

/// A load generator that uses more than this share of a core may itself limit the load.
const MAX_CORE_SHARE: f64 = 0.8;

/// A JVM that is stopped for more than this share of the time delays requests noticeably;
/// docs/measure-an-application.md explains this limit and the next one.
const MAX_STOPPED: f64 = 0.05;

/// A JVM whose compilers work for more than this share of the time is not yet warmed up.
const MAX_COMPILING: f64 = 0.2;

/// The warning about a run whose sets did not run at the same time.
const ONE_BY_ONE: &str = "memory was not sufficient for all sets of services at the same time: each was measured \
     alone, with all slices of an invocation in a row, so changes in the machine's speed during that time appear as \
     differences between variants";

/// The slices of a variant, by invocation and block.
type Slices<'a> = BTreeMap<(u32, u32), &'a SliceFigures>;

/// The metric that is compared, and the request (`None` for all requests together).
pub(super) type About<'a> = (&'a AppMetric, Option<&'a str>);

/// The measured slices of a run, by variant and block.
pub(super) struct Blocks<'a> {
    plan: &'a AppPlan,
    slices: BTreeMap<&'a str, Slices<'a>>,
    /// The names of all requests.
    pub(super) requests: BTreeSet<&'a str>,
}

impl AppFindings {
    /// The findings of a run.
    pub fn from_run(run: &AppRun) -> Self {
        let plan = &run.plan;
        let blocks = Blocks::of_run(run);
        let (mut failures, mut rows) = (Vec::new(), Vec::new());
        for slice in &run.slices {
            match &slice.outcome {
                SliceOutcome::Measured(figures) => rows.push(SliceRow {
                    invocation: slice.invocation,
                    block: slice.block,
                    variant: slice.variant.clone(),
                    requests: of_users([&**figures].into_iter()),
                }),
                SliceOutcome::Failed { reason, fault, log } => failures.push(FailedSlice {
                    invocation: slice.invocation,
                    block: slice.block,
                    variant: slice.variant.clone(),
                    reason: reason.clone(),
                    fault: *fault,
                    log: log.clone(),
                }),
            }
        }
        let variants = plan.variants.iter();
        let variants: Vec<_> = variants.map(|variant| blocks.variant(variant)).collect();
        let mut warnings = run.warnings.clone();
        let noisy = run.environment.iter().flat_map(|one| &one.warnings);
        warnings.extend(noisy.cloned());
        if is_one_by_one(plan, &run.starts) {
            warnings.push(ONE_BY_ONE.to_owned());
        }
        warnings.extend(cautions(&blocks, &variants));
        Self {
            schema: SCHEMA,
            run: run.info.clone(),
            // A report must not contain a folder of this machine.
            plan: AppPlan {
                folder: None,
                ..plan.clone()
            },
            environment: run.environment.clone(),
            starts: run.starts.clone(),
            measured: rows.len() as u64,
            running: None,
            warnings,
            comparisons: blocks.comparisons(),
            claims: plan
                .claims
                .iter()
                .map(|claim| blocks.claim(claim))
                .collect(),
            variants,
            failures,
            slices: rows,
        }
    }
}

/// Warnings about figures under load.
fn cautions(blocks: &Blocks<'_>, variants: &[AppVariantFindings]) -> Vec<String> {
    let mut cautions = Vec::new();
    // An application has many JVMs, which all need the same advice: one caution covers them, grouped by variant.
    let mut cold: Vec<String> = Vec::new();
    for variant in variants {
        let name = &variant.name;
        let mut compiled = Vec::new();
        if variant.load_generator_share > MAX_CORE_SHARE {
            let advice = match blocks.plan.load {
                AppLoad::Users { .. } => "use fewer users or more think time",
                AppLoad::Rate { .. } => "lower the rate",
            };
            cautions.push(format!(
                "{name}: the load generator used {:.0}% of a core and may have set the pace itself; {advice}",
                100.0 * variant.load_generator_share
            ));
        }
        for one in variant.requests.iter().filter(|one| one.failed > 0) {
            let Some(request) = &one.name else { continue };
            cautions.push(format!(
                "{name}: {} of {} requests \"{request}\" failed, the first with {}",
                units::count(one.failed),
                units::count(one.failed + one.succeeded),
                one.error
            ));
        }
        for process in &variant.processes {
            let Some(jvm) = &process.jvm else { continue };
            let [stopped, collecting, compiling] =
                [jvm.stopped_ns, jvm.collecting_ns, jvm.compiling_ns]
                    .map(|ns| ns as f64 / 1e9 / variant.seconds);
            if stopped > MAX_STOPPED {
                cautions.push(format!(
                    "{name}: the JVM of {} was stopped for {:.0}% of the time, for {:.0}% by garbage collections, and \
                     requests waited for it; give it more heap, or another collector",
                    process.name,
                    100.0 * stopped,
                    100.0 * collecting
                ));
            }
            if compiling > MAX_COMPILING {
                compiled.push(format!("{} {:.0}%", process.name, 100.0 * compiling));
            }
        }
        if !compiled.is_empty() {
            cold.push(format!("{name} ({})", compiled.join(", ")));
        }
        let slices: Vec<&SliceFigures> = blocks.of(name).collect();
        let of_rate = of_rate(&slices).into_iter();
        cautions.extend(of_rate.map(|text| format!("{name}: {text}")));
        let broken_off = slices.iter().filter(|one| one.task_errors > 0);
        let broken_off: Vec<&&SliceFigures> = broken_off.collect();
        let tasks: u64 = broken_off.iter().map(|one| one.task_errors).sum();
        if let Some(first) = broken_off.first() {
            cautions.push(format!(
                "{name}: {tasks} tasks of the locustfile failed, the first with {}",
                first.task_error
            ));
        }
    }
    if !cold.is_empty() {
        cautions.push(format!(
            "JVM compilers were still working on the application's cores for this share of the time: {}; use a longer \
             \"warm-up\"",
            cold.join(", ")
        ));
    }
    cautions
}

/// The figures of all requests of these slices together, then of each request by name.
fn of_users<'a>(slices: impl Iterator<Item = &'a SliceFigures> + Clone) -> Vec<RequestFigures> {
    let seconds: f64 = slices.clone().map(|slice| slice.seconds).sum();
    let requests = slices.clone().flat_map(|slice| &slice.requests);
    let mut by_name: BTreeMap<&str, Vec<&RequestRecord>> = BTreeMap::new();
    for request in requests {
        by_name.entry(&request.name).or_default().push(request);
    }
    let all: Vec<&RequestRecord> = by_name.values().flatten().copied().collect();
    let figures = |name: Option<&str>, of: &[&RequestRecord]| {
        let (times, sum_us) = together(of);
        let quantile = |q| (!times.is_empty()).then(|| times.quantile(q));
        let failed = of.iter().find(|one| one.failures > 0);
        RequestFigures {
            name: name.map(str::to_owned),
            succeeded: times.len(),
            failed: of.iter().map(|one| one.failures).sum(),
            error: failed.map_or_else(String::new, |one| one.error.clone()),
            per_second: answered(slices.clone(), name) as f64 / seconds,
            mean_ns: (!times.is_empty()).then(|| 1e3 * sum_us / times.len() as f64),
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p99_ns: quantile(0.99).filter(|_| times.len() >= MIN_FOR_P99),
        }
    };
    let each = by_name.iter().map(|(name, of)| figures(Some(name), of));
    std::iter::once(figures(None, &all)).chain(each).collect()
}

/// The merged response times of these requests, and their exact sum, µs.
fn together(of: &[&RequestRecord]) -> (Times, f64) {
    let mut times = Times::new(Unit::Ns);
    for one in of {
        // This cannot fail: both are in ns, and the counts are too small to overflow.
        let _ = times.add(&one.times.unpack());
    }
    (times, of.iter().map(|one| one.sum_us).sum())
}

fn sum<'a>(slices: impl Iterator<Item = &'a SliceFigures>, metric: &str) -> SumCount {
    let found = slices.filter_map(|slice| slice.metrics.get(metric));
    found.fold(SumCount::default(), |all, one| SumCount {
        sum: all.sum + one.sum,
        count: all.count + one.count,
    })
}

/// The number of requests of this name (`None`: of all requests) that succeeded in time in these slices.
fn answered<'a>(slices: impl Iterator<Item = &'a SliceFigures>, request: Option<&str>) -> u64 {
    slices.map(|slice| slice.answered(request)).sum()
}

fn succeeded(slice: &SliceFigures) -> u64 {
    slice.requests.iter().map(|one| one.times.count()).sum()
}

/// The CPU time of all processes; `None` if it is unknown for one of them.
fn cpu_ns(slice: &SliceFigures) -> Option<u64> {
    slice.processes.iter().map(|process| process.cpu_ns).sum()
}

impl<'a> Blocks<'a> {
    /// Arranges the measured slices of a run by variant and block.
    pub(super) fn of_run(run: &'a AppRun) -> Self {
        let mut blocks = Self {
            plan: &run.plan,
            slices: BTreeMap::new(),
            requests: BTreeSet::new(),
        };
        for slice in &run.slices {
            if let SliceOutcome::Measured(figures) = &slice.outcome {
                let names = figures.requests.iter().map(|one| one.name.as_str());
                blocks.requests.extend(names);
                let of_variant = blocks.slices.entry(&slice.variant).or_default();
                of_variant.insert((slice.invocation, slice.block), figures);
            }
        }
        blocks
    }

    /// The measured slices of a variant.
    pub(super) fn of(
        &self,
        variant: &str,
    ) -> impl Iterator<Item = &'a SliceFigures> + Clone + use<'a, '_> {
        self.slices
            .get(variant)
            .into_iter()
            .flat_map(|slices| slices.values().copied())
    }

    fn variant(&self, variant: &AppVariant) -> AppVariantFindings {
        let slices = || self.of(&variant.name);
        let requests = of_users(slices());
        let seconds: f64 = slices().map(SliceFigures::spent_seconds).sum();
        let inside = self.plan.metrics.iter().map(|metric| {
            let SumCount { sum, count } = sum(slices(), &metric.name);
            let of_requests = number_of(&requests, &metric.requests);
            InsideFigures {
                name: metric.name.clone(),
                title: metric.title.clone(),
                mean: (count > 0.0).then(|| sum / count * metric.unit.ns().unwrap_or(1.0)),
                count,
                per_request: (of_requests > 0).then(|| count / of_requests as f64),
            }
        });
        let first = slices().next();
        let processes = first
            .into_iter()
            .flat_map(|slice| &slice.processes)
            .map(|one| {
                let same = slices().flat_map(|slice| &slice.processes);
                let same = same.filter(|other| other.name == one.name);
                let used: Option<u64> = same.clone().map(|other| other.cpu_ns).sum();
                let jvms = same.clone().filter_map(|other| other.jvm);
                let heap = jvms.clone().map(|jvm| jvm.heap_bytes).max();
                ProcessFigures {
                    name: one.name.clone(),
                    is_shared: one.is_shared,
                    cores: used.map(|ns| ns as f64 / 1e9 / seconds),
                    memory_bytes: same.filter_map(|other| other.memory_bytes).max(),
                    jvm: jvms.reduce(|all, one| all.and(&one)).map(|all| JvmRecord {
                        heap_bytes: heap.unwrap_or_default(),
                        ..all
                    }),
                }
            });
        let generator: f64 = slices().map(|slice| slice.load_generator_cpu_seconds).sum();
        let used: Option<u64> = slices().map(cpu_ns).sum();
        let all: u64 = slices().map(succeeded).sum();
        let bars = requests
            .iter()
            .filter_map(|one| self.bar(one, variant, &requests));
        AppVariantFindings {
            name: variant.name.clone(),
            configuration: variant.configuration.clone(),
            repeats: variant.repeats.clone(),
            slices: slices().count() as u64,
            seconds,
            inside: inside.collect(),
            processes: processes.collect(),
            cpu_per_request_ns: used.filter(|_| all > 0).map(|ns| ns as f64 / all as f64),
            load_generator_share: if seconds > 0.0 {
                generator / seconds
            } else {
                0.0
            },
            bars: bars.collect(),
            requests,
        }
    }

    /// The figure of a metric over all these slices; `None` unless it is positive and finite.
    pub(super) fn value<'s>(
        &self,
        slices: impl Iterator<Item = &'s SliceFigures> + Clone,
        (metric, request): About<'_>,
    ) -> Option<f64> {
        let of = slices.clone().flat_map(|slice| &slice.requests);
        let is_asked = |one: &&RequestRecord| request.is_none_or(|name| one.name == name);
        let of: Vec<&RequestRecord> = of.filter(is_asked).collect();
        let count: u64 = of.iter().map(|one| one.times.count()).sum();
        let value = match metric {
            _ if count == 0 => None,
            AppMetric::RequestsPerSecond => {
                let seconds: f64 = slices.clone().map(|slice| slice.seconds).sum();
                Some(answered(slices, request) as f64 / seconds)
            }
            AppMetric::ResponseMean => {
                let sum_us: f64 = of.iter().map(|one| one.sum_us).sum();
                Some(1e3 * sum_us / count as f64)
            }
            AppMetric::ResponseP50 => Some(together(&of).0.quantile(0.5)),
            AppMetric::ResponseP99 if count < MIN_FOR_P99 => None,
            AppMetric::ResponseP99 => Some(together(&of).0.quantile(0.99)),
            AppMetric::Cpu => {
                let all: u64 = slices.clone().map(succeeded).sum();
                let used: Option<u64> = slices.map(cpu_ns).sum();
                used.map(|ns| ns as f64 / all as f64)
            }
            AppMetric::Inside(name) => {
                let mut metrics = self.plan.metrics.iter();
                let metric = metrics.find(|metric| metric.name == *name)?;
                let SumCount { sum, count } = sum(slices, name);
                Some(sum / count * metric.unit.ns().unwrap_or(1.0))
            }
        };
        value.filter(|value| value.is_finite() && *value > 0.0)
    }
}

/// The number of requests of these names. It includes failed requests, which also take time within the application.
fn number_of(all: &[RequestFigures], names: &[String]) -> u64 {
    let is_named =
        |one: &&RequestFigures| one.name.as_ref().is_some_and(|name| names.contains(name));
    all.iter()
        .filter(is_named)
        .map(|one| one.succeeded + one.failed)
        .sum()
}
