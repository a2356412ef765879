//! The measured trials of one variant under one placement, merged.

use std::collections::{BTreeMap, BTreeSet};

use rpcgauge_stats::{Bootstrap, PairedRatios, compare};
use rpcgauge_study::histogram::Times;
use rpcgauge_study::record::{
    BytesByClass, Calls, CodeKind, Cold, Cpu, CpuTimes, ErrorSample, FailureKind, FloorRecord,
    Histogram, Memory, Payload, Stage, Startup, Threads, TrialFigures, TrialRecord,
};
use rpcgauge_study::settings::{Idle, Schedule, Settings, Timing};

use super::trial::floor_cpu;
use super::{breakdown, link, timeline};
use crate::error::ReportError;
use crate::findings::{
    BytesPerCall, Connections, CpuPerCall, CpuSide, Distribution, Figures, Floor, InFlight,
    StageFindings, TrafficPerCall,
};
use crate::metric::{filled, goodput, median_ns};

/// The maximum number of distinct error texts to list. The others are only counted.
const MAX_ERRORS: usize = 10;

/// A measured trial's record and its figures.
pub(crate) type MeasuredTrial<'a> = (&'a TrialRecord, &'a TrialFigures);

/// Merges the measured trials of a cell; `None` if there are none.
pub(crate) fn figures(
    variant: &str,
    trials: &[MeasuredTrial<'_>],
    floors: &[&FloorRecord],
    settings: &Settings,
) -> Result<Option<Figures>, ReportError> {
    let Some((first, _)) = trials.first() else {
        return Ok(None);
    };
    let timing = first.timing;
    let measured = || trials.iter().map(|(_, m)| *m);
    let calls = calls(trials);
    let divisor = |calls: fn(&TrialFigures) -> u64| PerCall::of(sum(measured().map(calls)));
    let per_sent_call = divisor(TrialFigures::sent_calls);
    let latency = distribution(variant, measured().map(|m| &m.latency))?;
    let stages = stages(variant, trials, latency.as_ref())?;
    let total = |of: fn(&TrialFigures) -> u64| sum(measured().map(of));
    let elapsed_ns = total(|m| m.elapsed_ns);
    let (errors, errors_left_out) = errors(trials);
    let cpu = |side: fn(&CpuTimes) -> Option<&Cpu>| {
        let known = measured().map(|m| side(&m.cpu).filter(|_| m.link.is_none()));
        let all: Option<Vec<&Cpu>> = known.collect();
        Some(per_sent_call?.cpu(&all?))
    };
    let opened = measured()
        .map(|m| m.connections_opened)
        .collect::<Option<Vec<_>>>()
        .map(|all| sum(all.into_iter()));
    let idle: BTreeSet<Idle> = trials.iter().map(|(t, _)| t.idle).collect();
    let shares: Vec<f64> = measured().filter_map(super::client_share).collect();
    Ok(Some(Figures {
        shared_process: false,
        elapsed_ns,
        idle: idle.into_iter().collect(),
        link: link::findings(settings.target.link(), trials),
        target_rate: target_rate(settings),
        goodput: goodput(calls.answered - calls.answered_late, elapsed_ns).unwrap_or(0.0),
        failed_latency: distribution(
            variant,
            measured().filter_map(|m| m.failed_latency.as_ref()),
        )?,
        send_delay: distribution(variant, measured().map(|m| &m.send_delay))?,
        service_time: distribution(variant, measured().filter_map(|m| m.service_time.as_ref()))?,
        first_byte: distribution(variant, measured().filter_map(|m| m.first_byte.as_ref()))?,
        messages: breakdown::messages(variant, trials)?,
        between_stages_ns: between_stages(&stages, latency.as_ref()),
        floor: floor(variant, floors, trials, timing)?,
        latency,
        stages,
        bytes: measured()
            .map(|m| m.bytes.as_ref())
            .collect::<Option<Vec<_>>>()
            .and_then(|all| {
                let sent = divisor(TrialFigures::calls_of_sent_bytes)?;
                let received = divisor(TrialFigures::calls_of_received_bytes)?;
                Some(BytesPerCall {
                    sent: sent.traffic(all.iter().map(|bytes| &bytes.sent)),
                    received: received.traffic(all.iter().map(|bytes| &bytes.received)),
                })
            }),
        payload: payload(trials),
        cpu: CpuPerCall {
            client: cpu(|cpu| cpu.client.as_ref()),
            server: cpu(|cpu| cpu.server.as_ref()),
        },
        memory: Memory {
            client_peak: measured().map(|m| m.memory.client_peak).max().unwrap_or(0),
            server_peak: measured().filter_map(|m| m.memory.server_peak).max(),
        },
        threads: Threads {
            client: measured().map(|m| m.threads.client).max().unwrap_or(0),
            server: measured().filter_map(|m| m.threads.server).max(),
        },
        startup: startup(trials),
        client_share: rpcgauge_stats::median(&shares).ok(),
        client_share_max: shares.iter().copied().reduce(f64::max),
        code: code(trials),
        connections_per_call: opened
            .zip(per_sent_call)
            .map(|(opened, calls)| calls.share(opened)),
        connections: Connections {
            fewest_at_start: measured().filter_map(|m| m.connections_at_start).min(),
            opened,
            tls_resumed: total(|m| m.tls_resumed),
            failed: total(|m| m.connects_failed),
            reopened: total(|m| m.connections_reopened),
        },
        uncompressed_responses: total(|m| m.uncompressed_responses),
        checked_responses: measured()
            .filter_map(|m| m.checked_responses)
            .reduce(u64::saturating_add),
        bodies_late: total(|m| m.bodies_late),
        in_flight: in_flight(trials, settings),
        timeline: timeline::merge(trials, settings),
        steps: breakdown::steps(variant, trials)?,
        mix: breakdown::mix(variant, trials, settings)?,
        errors,
        errors_left_out,
        errors_without_sample: total(|m| m.errors_without_sample),
        calls,
        unsent_at_start: total(|m| m.late.unsent_at_start()),
        left_out: total(|m| m.slices.as_ref().map_or(0, |slices| slices.skipped)),
        left_out_failed: total(|m| m.slices.as_ref().map_or(0, |slices| slices.skipped_failed)),
    }))
}

fn target_rate(settings: &Settings) -> Option<f64> {
    match settings.target.options()?.schedule {
        // The number of users changes.
        _ if settings.target.is_per_user() => None,
        Schedule::Rate { per_second, .. } => Some(per_second),
        Schedule::Closed { .. } | Schedule::Ramp { .. } => None,
    }
}

/// The number of calls in flight of a closed loop, as configured and as reached; `None` without a closed loop.
fn in_flight(trials: &[MeasuredTrial<'_>], settings: &Settings) -> Option<InFlight> {
    let in_flight = settings.target.in_flight()?;
    let reached = trials.iter().filter_map(|(_, m)| m.most_in_flight).min()?;
    let calls = settings.stop.calls.unwrap_or(u64::MAX);
    Some(InFlight {
        asked: u64::from(in_flight).min(calls),
        reached,
    })
}

/// Divides sums over a cell by a number of calls, which is at least one.
#[derive(Clone, Copy)]
struct PerCall(f64);

impl PerCall {
    fn of(calls: u64) -> Option<Self> {
        (calls > 0).then_some(Self(calls as f64))
    }

    fn share(self, amount: u64) -> f64 {
        amount as f64 / self.0
    }

    fn traffic<'a>(self, all: impl Iterator<Item = &'a BytesByClass> + Clone) -> TrafficPerCall {
        TrafficPerCall {
            headers: self.share(sum(all.clone().map(|t| t.headers))),
            bodies: self.share(sum(all.clone().map(|t| t.bodies))),
            overhead: self.share(sum(all.clone().map(|t| t.overhead))),
            marks: self.share(sum(all.map(|t| t.marks))),
        }
    }

    fn cpu(self, all: &[&Cpu]) -> CpuSide {
        let splits: Vec<[u64; 2]> = all.iter().filter_map(|cpu| cpu.split()).collect();
        let sum_of = |part: usize| sum(splits.iter().map(|split| split[part]));
        let part = |part: usize| (!splits.is_empty()).then(|| self.share(sum_of(part)));
        let unsplit = all.iter().filter(|cpu| cpu.split().is_none());
        let unsplit = sum(unsplit.map(|cpu| cpu.total_ns));
        CpuSide {
            total_ns: self.share(sum(all.iter().map(|cpu| cpu.total_ns))),
            user_ns: part(0),
            system_ns: part(1),
            unsplit_ns: (unsplit > 0).then(|| self.share(unsplit)),
        }
    }
}

/// The merged distribution of histograms; `None` if they are empty.
pub(super) fn distribution<'h>(
    variant: &str,
    histograms: impl Iterator<Item = &'h Histogram>,
) -> Result<Option<Distribution>, ReportError> {
    Ok(merged(variant, histograms)?.map(Distribution::of))
}

/// Merges histograms; `None` if they are empty.
fn merged<'h>(
    variant: &str,
    histograms: impl Iterator<Item = &'h Histogram>,
) -> Result<Option<Times>, ReportError> {
    let mut sum: Option<Times> = None;
    for histogram in histograms.filter_map(filled) {
        match &mut sum {
            None => sum = Some(histogram),
            Some(sum) => sum
                .add(&histogram)
                .map_err(|problem| ReportError::Histogram {
                    variant: variant.to_owned(),
                    problem,
                })?,
        }
    }
    Ok(sum)
}

fn calls(trials: &[MeasuredTrial<'_>]) -> Calls {
    let mut all = Calls::default();
    for (_, measured) in trials {
        all.add(&measured.calls);
    }
    all
}

fn stages(
    variant: &str,
    trials: &[MeasuredTrial<'_>],
    latency: Option<&Distribution>,
) -> Result<Vec<StageFindings>, ReportError> {
    let mut findings = Vec::new();
    for stage in Stage::ALL {
        let histograms = trials.iter().filter_map(|(_, m)| m.stages.get(&stage));
        if let Some(histogram) = merged(variant, histograms)? {
            let mean_ns = histogram.mean();
            let calls = latency.map_or(0, |call| call.count).max(1) as f64;
            let per_call_ns = if Stage::CLIENT.contains(&stage) {
                mean_ns * (histogram.len() as f64 / calls)
            } else {
                mean_ns
            };
            findings.push(StageFindings {
                stage,
                mean_ns,
                p50_ns: histogram.quantile(0.5),
                per_call_ns,
                share: latency
                    .filter(|call| call.mean_ns > 0.0)
                    .map_or(0.0, |call| per_call_ns / call.mean_ns),
            });
        }
    }
    Ok(findings)
}

fn between_stages(stages: &[StageFindings], latency: Option<&Distribution>) -> Option<f64> {
    let own = stages.iter().filter(|s| Stage::CLIENT.contains(&s.stage));
    let staged: f64 = own.map(|s| s.per_call_ns).sum();
    latency
        .filter(|_| staged > 0.0)
        .map(|call| (call.mean_ns - staged).max(0.0))
}

/// The floor of a cell. The floor's share of a call is computed block by block from the variant's own trial, since
/// the machine ran at the same speed for both.
fn floor(
    variant: &str,
    records: &[&FloorRecord],
    trials: &[MeasuredTrial<'_>],
    timing: Timing,
) -> Result<Option<Floor>, ReportError> {
    let all = merged(variant, records.iter().map(|record| &record.latency))?;
    let (Some(all), Some(first)) = (all, records.first()) else {
        return Ok(None);
    };
    let of_blocks = || records.iter().filter_map(|r| median_ns(&r.latency));
    let mut invocations: BTreeMap<u32, Vec<rpcgauge_stats::Pair>> = BTreeMap::new();
    for record in records {
        let in_block = |(trial, _): &&MeasuredTrial<'_>| {
            (trial.trial.invocation, trial.trial.block) == (record.invocation, record.block)
        };
        let trial = trials.iter().find(in_block);
        let call = trial.and_then(|(_, m)| median_ns(&m.latency));
        if let (Some(of), Some(against)) = (median_ns(&record.latency), call) {
            let pairs = invocations.entry(record.invocation).or_default();
            pairs.push(rpcgauge_stats::Pair { of, against });
        }
    }
    let pairs: Vec<_> = invocations.into_values().collect();
    // Calls under load wait for each other, so the floor's share of them is meaningless. A floor that took longer
    // than the call was disturbed.
    let share = PairedRatios::from_pairs(&pairs)
        .and_then(|ratios| compare(&ratios, &Bootstrap::default()))
        .ok()
        .filter(|share| timing == Timing::Stages && share.ratio() <= 1.0);
    let round_trip_ns = all.quantile(0.5);
    Ok(Some(Floor {
        round_trip_ns,
        mean_ns: all.mean(),
        lowest_round_trip_ns: of_blocks().reduce(f64::min).unwrap_or(round_trip_ns),
        highest_round_trip_ns: of_blocks().reduce(f64::max).unwrap_or(round_trip_ns),
        blocks: records.len() as u64,
        count: all.len(),
        client_cpu_ns: floor_cpu(records.iter().copied()),
        request_bytes: first.request_bytes,
        response_bytes: first.response_bytes,
        share: share.as_ref().map(rpcgauge_stats::Estimate::ratio),
        share_interval: share.as_ref().and_then(rpcgauge_stats::Estimate::ends),
    }))
}

/// Message sizes: the mean over trials, weighted by the calls that succeeded. A trial without successful calls is
/// ignored: it has no response size, and may have sent nothing. If no trial has successful calls, request sizes are
/// weighted by the calls that were started.
fn payload(trials: &[MeasuredTrial<'_>]) -> Payload {
    let mean = |size: fn(&Payload) -> Option<f64>, weight: fn(&TrialFigures) -> u64| {
        let known = || trials.iter().filter(|(_, m)| weight(m) > 0);
        let all: f64 = known().map(|(_, m)| weight(m) as f64).sum();
        let sizes = known().map(|(_, m)| Some(size(&m.payload)? * weight(m) as f64));
        Some(sizes.sum::<Option<f64>>()? / all).filter(|size| size.is_finite())
    };
    let answers = |size| mean(size, |m| m.calls.answered);
    let requests = |size| {
        let started = || mean(size, |m| m.calls.started);
        answers(size).or_else(started)
    };
    Payload {
        request: requests(|p| p.request),
        request_compressed: requests(|p| p.request_compressed),
        response: answers(|p| p.response),
        response_compressed: answers(|p| p.response_compressed),
    }
}

/// The median over fresh starts. All trials of one start have the same figures.
fn over_starts(
    trials: &[MeasuredTrial<'_>],
    figure: impl Fn(&Startup) -> Option<u64>,
) -> Option<u64> {
    let starts = trials
        .iter()
        .filter_map(|(trial, m)| Some((trial.trial.invocation, figure(&m.startup)? as f64)));
    let starts: BTreeMap<u32, f64> = starts.collect();
    let starts: Vec<f64> = starts.into_values().collect();
    Some(rpcgauge_stats::median(&starts).ok()? as u64)
}

fn startup(trials: &[MeasuredTrial<'_>]) -> Startup {
    let first_ns = over_starts(trials, |startup| Some(startup.cold?.first_ns));
    let mean_ns = over_starts(trials, |startup| Some(startup.cold?.mean_ns));
    Startup {
        client_ns: over_starts(trials, |startup| startup.client_ns),
        server_ns: over_starts(trials, |startup| startup.server_ns),
        cold: first_ns
            .zip(mean_ns)
            .map(|(first_ns, mean_ns)| Cold { first_ns, mean_ns }),
    }
}

fn code(trials: &[MeasuredTrial<'_>]) -> Vec<CodeKind> {
    let is = |code: &CodeKind| trials.iter().any(|(_, m)| m.code == Some(*code));
    let all = [CodeKind::Generated, CodeKind::Dynamic].into_iter();
    all.filter(is).collect()
}

/// The most frequent error texts, and the number of others.
fn errors(trials: &[MeasuredTrial<'_>]) -> (Vec<ErrorSample>, u64) {
    let mut counts: BTreeMap<(FailureKind, &str), u64> = BTreeMap::new();
    for sample in trials.iter().flat_map(|(_, m)| &m.error_samples) {
        let count = counts.entry((sample.kind, &sample.text)).or_default();
        *count = count.saturating_add(sample.count);
    }
    let mut errors: Vec<ErrorSample> = counts
        .into_iter()
        .map(|((kind, text), count)| ErrorSample {
            kind,
            text: text.to_owned(),
            count,
        })
        .collect();
    // A stable sort: texts with the same count stay ordered by kind, then alphabetically.
    errors.sort_by_key(|error| std::cmp::Reverse(error.count));
    let left_out = errors.len().saturating_sub(MAX_ERRORS) as u64;
    errors.truncate(MAX_ERRORS);
    (errors, left_out)
}

pub(super) fn sum(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0, u64::saturating_add)
}
