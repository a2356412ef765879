//! The calls of a cell in parts: the steps of a ramp, the calls of a mix, and the messages of streams.

use std::collections::BTreeMap;

use rpcgauge_study::record::{MessageFigures, MixFigures, Step};
use rpcgauge_study::settings::{Settings, Target};

use super::cell::{MeasuredTrial, distribution, sum};
use crate::error::ReportError;
use crate::findings::describe::{Service, expected};
use crate::findings::objective::Checked;
use crate::findings::{MessageFindings, MixFindings, StepFindings};
use crate::metric::goodput;

/// The messages of streaming calls; `None` for other calls.
pub(super) fn messages(
    variant: &str,
    trials: &[MeasuredTrial<'_>],
) -> Result<Option<Box<MessageFindings>>, ReportError> {
    let all = || trials.iter().filter_map(|(_, m)| m.messages.as_deref());
    let Some(form) = all().next().map(|m| m.form) else {
        return Ok(None);
    };
    let total = |of: fn(&MessageFigures) -> u64| sum(all().map(of));
    let (sent, received) = (total(|m| m.sent), total(|m| m.received));
    let over_ns = total(|m| m.over_ns);
    let (paired, unpaired) = (total(|m| m.paired), total(|m| m.unpaired));
    let latencies = all().filter_map(|m| m.latency.as_ref());
    Ok(Some(Box::new(MessageFindings {
        form,
        sent,
        sent_per_second: goodput(sent, over_ns).unwrap_or(0.0),
        received,
        received_per_second: goodput(received, over_ns).unwrap_or(0.0),
        ended_early: total(|m| m.ended_early),
        paired,
        unpaired,
        unmatched: total(|m| m.unmatched),
        unanswered: total(|m| m.unanswered),
        first: distribution(variant, all().map(|m| &m.first))?,
        gap: distribution(variant, all().map(|m| &m.gap))?,
        latency: distribution(variant, latencies.filter(|_| unpaired == 0 && paired > 0))?,
    })))
}

/// The steps of a ramp, each merged over a variant's trials; empty without a ramp.
pub(super) fn steps(
    variant: &str,
    trials: &[MeasuredTrial<'_>],
) -> Result<Vec<StepFindings>, ReportError> {
    let most = trials.iter().map(|(_, m)| m.steps.len()).max().unwrap_or(0);
    let mut steps = Vec::new();
    let mut start_ns = 0_u64;
    for index in 0..most {
        let same: Vec<(&Step, u64)> = trials
            .iter()
            .filter_map(|(_, m)| {
                Some((
                    m.steps.get(index)?,
                    m.elapsed_ns.saturating_add(m.stalls.total_ns),
                ))
            })
            .collect();
        let found = step(variant, &same, start_ns)?;
        start_ns = start_ns.saturating_add(found.time_ns);
        steps.push(found);
    }
    Ok(steps)
}

/// The calls of a mix, each merged over a variant's trials; empty without a mix.
pub(super) fn mix(
    variant: &str,
    trials: &[MeasuredTrial<'_>],
    settings: &Settings,
) -> Result<Vec<MixFindings>, ReportError> {
    let Target::Live(live) = &settings.target else {
        return Ok(Vec::new());
    };
    let calls = live.service.calls.iter().zip(live.each_call());
    let calls = calls.map(|(call, live)| {
        let all = trials.iter().flat_map(|(_, m)| &m.mix);
        let same = || all.clone().filter(|it| it.name == call.name);
        let total = |of: fn(&MixFigures) -> u64| sum(same().map(of));
        let mut failed = BTreeMap::new();
        for (kind, count) in same().flat_map(|it| &it.failed) {
            let all: &mut u64 = failed.entry(*kind).or_default();
            *all = all.saturating_add(*count);
        }
        Ok(MixFindings {
            name: call.name.clone(),
            weight: call.weight,
            called: Service::of(&live).call() + &expected(&call.expect),
            started: total(|it| it.started),
            sent: total(|it| it.started.saturating_sub(it.never_sent)),
            answered: total(|it| it.answered),
            failed,
            latency: distribution(variant, same().map(|it| &it.latency))?,
        })
    });
    calls.collect()
}

/// Merges one step of at least one trial. Each step is paired with the time that its trial took.
fn step(variant: &str, same: &[(&Step, u64)], start_ns: u64) -> Result<StepFindings, ReportError> {
    let total = |of: fn(&Step) -> u64| sum(same.iter().map(|(s, _)| of(s)));
    let latency = distribution(variant, same.iter().map(|(s, _)| &s.latency))?;
    let send_delay = distribution(variant, same.iter().map(|(s, _)| &s.send_delay))?;
    let answered_within = total(|s| s.answered_within);
    // A load can end before its ramp (--calls, Ctrl-C).
    let lasted = |(step, elapsed_ns): &(&Step, u64)| {
        let lasted = step.time_ns.min(elapsed_ns.saturating_sub(start_ns));
        // The client is assumed to have run for the same share of this time as of the step's calls.
        let running = step.started.saturating_sub(step.stalled);
        let part = u128::from(lasted) * u128::from(running) / u128::from(step.started.max(1));
        match step.stalled {
            0 => lasted,
            _ => part as u64,
        }
    };
    let lasted_ns = sum(same.iter().map(lasted));
    let (first, _) = same[0];
    Ok(StepFindings {
        from: first.from,
        to: first.to,
        start_ns,
        time_ns: first.time_ns,
        lasted_ns,
        started: total(|s| s.started),
        // Older records do not count all calls that were never sent, but these calls have no delay either.
        sent: total(|s| s.started.saturating_sub(s.never_sent))
            .min(send_delay.as_ref().map_or(0, |delays| delays.count)),
        answered: total(|s| s.answered),
        answered_within,
        failed: total(|s| s.failed),
        stalled: total(|s| s.stalled),
        goodput: goodput(answered_within, lasted_ns).unwrap_or(0.0),
        checked: Checked::default(),
        latency,
        send_delay,
    })
}
