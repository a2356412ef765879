//! The highest rate that meets the objectives: the trials, their outcomes, and what limits the rate.
//!
//! The same rules run and report a search: [`PlannedSearch`] gives the rate of the next trial, and the findings are
//! its result over the recorded trials.

use rpcgauge_stats::{Bracket, CapacitySearch, SearchEnd, SearchStep, Tried, bracket};
use rpcgauge_study::objective::Objective;
use rpcgauge_study::plan::{Capacity, Plan};
use rpcgauge_study::record::{CLIENT_BOUND_SHARE, Ending, TrialFigures, TrialOutcome, TrialRecord};
use rpcgauge_study::settings::{CallOptions, ConnectionUse, Target};

use super::objective::{Evidence, check};
use super::{Ended, client_share};
use crate::findings::Distribution;
use crate::findings::capacity::{CapacityFindings, CapacityTrial, Limit};
use crate::metric::{filled, goodput};

/// A running search: computes the rate of the next trial from the trials that ended.
#[derive(Debug, Clone)]
pub struct PlannedSearch {
    search: CapacitySearch,
    objectives: Vec<Objective>,
    /// The maximum number of calls in flight; `None` if a connection carries many, or is opened for each call.
    room: Option<u64>,
    trials: Vec<CapacityTrial>,
    broken_off: bool,
}

impl PlannedSearch {
    /// The search of a plan; `None` if the plan has no search or its settings are invalid.
    pub fn of(plan: &Plan) -> Option<Self> {
        let Capacity {
            start,
            lowest,
            highest,
            precision,
            ..
        } = *plan.capacity.as_ref()?;
        let most = plan.trials.len();
        let target = &plan.variants.first()?.settings.target;
        let is_kept = |options: &&CallOptions| options.connection == ConnectionUse::Reuse;
        let room = target.options().filter(is_kept).and(target.at_a_time());
        Some(Self {
            search: CapacitySearch::new(start, lowest, highest, precision, most).ok()?,
            objectives: plan.objectives.clone(),
            room: room.map(u64::from),
            trials: Vec::new(),
            broken_off: false,
        })
    }

    /// The rate of the next trial, calls per second; `None` if the search is over.
    pub fn next_rate(&self) -> Option<f64> {
        match self.search.next(&self.tried()) {
            SearchStep::Try(rate) if !self.broken_off => Some(rate),
            _ => None,
        }
    }

    /// Records a trial that ended. A trial is ignored if it was interrupted, or if it missed an objective while the
    /// client was stalled. A failed trial ends the search, since the next trial would fail, too.
    pub fn ended(&mut self, record: &TrialRecord) {
        match (&record.outcome, record.rate) {
            (TrialOutcome::Measured(measured), Some(rate)) if is_whole(measured) => {
                let trial = trial(record, measured, rate, self);
                // An objective that was missed while the client was stalled may not be the service's fault.
                if trial.held || measured.stalls.count == 0 {
                    self.trials.push(trial);
                }
            }
            (TrialOutcome::Measured(_), _) => {}
            (TrialOutcome::Failed { .. }, _) => self.broken_off = true,
        }
    }

    fn tried(&self) -> Vec<Tried> {
        let tried = |trial: &CapacityTrial| Tried {
            rate: trial.rate,
            held: trial.held,
        };
        self.trials.iter().map(tried).collect()
    }
}

/// Whether a trial was not interrupted by the user. A trial that the engine gave up because all calls failed is
/// whole: its rest would have shown the same.
fn is_whole(measured: &TrialFigures) -> bool {
    measured.ending != Ending::Interrupted
}

/// The result of a plan's search; `None` without a search.
pub(super) fn findings(plan: &Plan, ended: &Ended<'_>) -> Option<CapacityFindings> {
    let mut search = PlannedSearch::of(plan)?;
    ended.values().for_each(|record| search.ended(record));
    let tried = search.tried();
    let Bracket { held, missed } = bracket(&tried);
    let end = match search.search.next(&tried) {
        SearchStep::Try(_) => SearchEnd::Stopped,
        SearchStep::Done(end) => end,
    };
    Some(CapacityFindings {
        objectives: plan.objectives.clone(),
        precision: plan.capacity.as_ref()?.precision,
        end,
        held,
        missed,
        limit: match (end, missed) {
            (SearchEnd::Ceiling, _) => Some(Limit::Ceiling),
            (_, None) => None,
            (_, Some(missed)) => limit_at(&search.trials, missed.rate),
        },
        trials: search.trials,
    })
}

/// The most frequent limit of the trials at a rate.
fn limit_at(trials: &[CapacityTrial], rate: f64) -> Option<Limit> {
    let limits: Vec<Limit> = trials
        .iter()
        .filter(|trial| trial.rate == rate)
        .filter_map(|trial| trial.limit)
        .collect();
    let count = |limit| limits.iter().filter(|found| **found == limit).count();
    // On a tie, the one that blames the service less wins.
    limits
        .iter()
        .copied()
        .max_by_key(|limit| (count(*limit), *limit))
}

fn trial(
    record: &TrialRecord,
    measured: &TrialFigures,
    rate: f64,
    search: &PlannedSearch,
) -> CapacityTrial {
    let latency = filled(&measured.latency).map(Distribution::of);
    let delay = filled(&measured.send_delay).map(Distribution::of);
    let calls = &measured.calls;
    let evidence = Evidence {
        started: calls.attributable(),
        answered: calls.answered,
        goodput: goodput(calls.answered - calls.answered_late, measured.elapsed_ns).unwrap_or(0.0),
        latency: latency.as_ref(),
    };
    let checked = check(&search.objectives, &evidence);
    let held = checked.missed.is_empty();
    let sent = calls.sent_in_time();
    CapacityTrial {
        index: record.trial.index,
        rate,
        held,
        limit: (!held).then(|| limit(measured, latency.as_ref(), delay.as_ref(), search.room)),
        checked,
        started: calls.started,
        answered: calls.answered,
        sent_rate: goodput(sent, measured.elapsed_ns).unwrap_or(0.0),
        goodput: evidence.goodput,
        latency_p50_ns: latency.as_ref().map(|l| l.p50_ns),
        latency_p99_ns: latency.as_ref().and_then(|l| l.p99_ns),
        send_delay_p99_ns: delay.as_ref().and_then(|d| d.p99_ns),
        client_share: client_share(measured),
    }
}

/// Why a trial missed an objective.
fn limit(
    measured: &TrialFigures,
    latency: Option<&Distribution>,
    delay: Option<&Distribution>,
    room: Option<u64>,
) -> Limit {
    let tail = |times: &Distribution| times.p99_ns.unwrap_or(times.max_ns);
    if client_share(measured) > Some(CLIENT_BOUND_SHARE) {
        return Limit::ClientCpu;
    }
    match (latency.map(tail), delay.map(tail)) {
        (Some(latency), Some(delay)) if delay > latency / 2.0 => {
            match measured.most_in_flight.zip(room) {
                Some((most, room)) if most >= room => Limit::Connections,
                Some(_) => Limit::SentLate,
                None => Limit::SendDelay,
            }
        }
        _ => Limit::Service,
    }
}

/// The part of a plan whose figures are shown: the trials at one rate, which becomes the rate of the variant. A plan
/// has the maximum number of trials of its search; those that the search did not need are not missing.
pub(super) fn carried_out<'a>(
    plan: &Plan,
    found: &CapacityFindings,
    ended: &Ended<'a>,
) -> (Plan, Ended<'a>) {
    let mut plan = plan.clone();
    let rate = found.shown_rate();
    let is_shown = |record: &TrialRecord| match (&record.outcome, rate) {
        (TrialOutcome::Measured(measured), Some(_)) => record.rate == rate && is_whole(measured),
        _ => true,
    };
    let shown: Ended<'a> = ended
        .iter()
        .filter(|(_, record)| is_shown(record))
        .map(|(index, record)| (*index, *record))
        .collect();
    plan.trials.retain(|spec| shown.contains_key(&spec.index));
    plan.blocks = u32::try_from(plan.trials.len()).unwrap_or(u32::MAX);
    for variant in &mut plan.variants {
        if let (Target::Live(live), Some(rate)) = (&mut variant.settings.target, rate) {
            live.set_rate(rate);
        }
    }
    (plan, shown)
}

#[cfg(test)]
mod tests;
