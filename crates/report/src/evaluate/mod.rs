//! Computes findings from a plan, an environment and records.
//!
//! ```text
//! records ─► one per trial ─► cells (variant × placement): histograms merged ─► Figures
//!                      └────► rows (one per trial) ─► blocks ─► Comparisons, Claims
//! ```
//!
//! The computation is pure: the same input gives the same findings, regardless of the order of the records.

mod breakdown;
mod capacity;
mod caution;
mod cell;
mod claim;
mod compare;
mod decision;
mod heat_map;
mod link;
mod map;
mod map_check;
mod network;
mod objective;
mod parts;
mod processes;
mod ramp;
mod spikes;
mod stacks;
mod sweep;
mod timeline;
mod trial;
mod withheld;

use std::collections::BTreeMap;

use rpcgauge_study::plan::{Plan, Variant};
use rpcgauge_study::record::{
    CLIENT_BOUND_SHARE, Ending, Environment, EventsRecord, FloorRecord, TrialFigures, TrialOutcome,
    TrialRecord,
};
use rpcgauge_study::run::Run;
use rpcgauge_study::settings::{Placement, Target};

pub use capacity::PlannedSearch;
pub(crate) use compare::{controls, figure};
pub use map_check::NotChecked;
pub(crate) use withheld::{Uneven, delay_decides};

use crate::by_key;
use crate::error::ReportError;
use crate::findings::describe::HowItCalls;
use crate::findings::trial::{FloorBeside, TrialRow};
use crate::findings::workers::WorkerFindings;
use crate::findings::{
    Cell, FailedTrial, Findings, PlanProgress, RequestsSent, SCHEMA, StudyFindings, TrialCounts,
    VariantFindings,
};
use cell::MeasuredTrial;
use compare::Blocks;

impl Findings {
    /// The findings of a run.
    ///
    /// # Errors
    /// As [`Findings::new`].
    pub fn from_run(run: &Run) -> Result<Self, ReportError> {
        let environment = run.environment.as_ref();
        let beside = (&*run.floors, &*run.events);
        let mut findings = Self::judged(&run.plan, environment, &run.trials, beside)?;
        findings.run = Some(run.info.clone());
        findings.workers = run.workers.iter().map(WorkerFindings::of).collect();
        let tolerated = run.warnings.iter().cloned();
        let tolerated: Vec<String> = tolerated
            .filter(|text| !findings.warnings.contains(text))
            .collect();
        findings.warnings.extend(tolerated);
        if let Some(check) = &run.map_check
            && let Err(error) = findings.add_map_check(&run.plan, check)
        {
            let warning = format!("the check of the map is left out: {error}");
            findings.warnings.push(warning);
        }
        Ok(findings)
    }

    /// The findings from a plan's records, which may be incomplete and in any order.
    ///
    /// A failed trial that was run again has several records. Only one of them is used: a measured record if there is
    /// one, otherwise the latest.
    ///
    /// # Errors
    /// [`ReportError`] if the records do not match the plan.
    pub fn new(
        plan: &Plan,
        environment: Option<&Environment>,
        trials: &[TrialRecord],
        floors: &[FloorRecord],
    ) -> Result<Self, ReportError> {
        Self::judged(plan, environment, trials, (floors, &[]))
    }

    fn judged(
        plan: &Plan,
        environment: Option<&Environment>,
        trials: &[TrialRecord],
        (floors, events): (&[FloorRecord], &[EventsRecord]),
    ) -> Result<Self, ReportError> {
        let all = ended(plan, trials)?;
        let requests_sent = requests_sent(plan, trials);
        let capacity = capacity::findings(plan, &all);
        let carried_out = capacity
            .as_ref()
            .map(|found| capacity::carried_out(plan, found, &all));
        let (plan, shown, planned) = match &carried_out {
            // A search does not run all planned trials, only as many as it needs.
            Some((plan, shown)) => (plan, shown, all.len()),
            None => (plan, &all, plan.trials.len()),
        };
        let recorded = Recorded {
            plan,
            ended: shown,
            floors: ordered(floors),
            events,
        };
        let row = |(t, m)| TrialRow::of(t, m, FloorBeside::of(t, &recorded.floors));
        let rows: Vec<TrialRow> = measured(&all).map(row).collect();
        let mut variants = recorded.variants()?;
        parts::fill(plan, &mut variants);
        let blocks = Blocks::new(plan, &variants, &rows)?;
        let whole = plan
            .pairs
            .iter()
            .filter(|pair| !ramp::is_by_step(plan, pair));
        let comparisons = whole.map(|pair| blocks.comparison(pair));
        let comparisons = comparisons.collect::<Result<Vec<_>, _>>()?;
        let mut sweeps = sweep::sweeps(plan, &blocks, &comparisons);
        let decisions = decision::decisions(plan, &blocks, &variants);
        for sweep in &mut sweeps {
            sweep.map = map::map(plan, &variants, &decisions, sweep);
        }
        let claims = plan.claims.iter();
        let claims = claims.map(|claim| claim::check(plan, claim, &blocks));
        let claims = claims.collect::<Result<Vec<_>, _>>()?;
        let stacks = stacks::findings(plan, environment, &variants, &rows);
        Ok(Self {
            schema: SCHEMA,
            run: None,
            study: study(plan),
            progress: progress(planned, &all),
            environment: environment.cloned(),
            cautions: caution::of_run(environment, &variants),
            warnings: environment.map(warnings).unwrap_or_default(),
            decisions,
            comparisons,
            ramps: ramp::comparisons(plan, &all)?,
            sweeps,
            claims,
            objectives: match capacity {
                None => objective::judge(&plan.objectives, &variants),
                // A search judges its objectives trial by trial.
                Some(_) => Vec::new(),
            },
            capacity,
            stacks,
            processes: processes::findings(plan, &variants),
            variants,
            workers: Vec::new(),
            requests_sent,
            failures: failures(&all),
            trials: rows,
        })
    }
}

/// The lab's warnings about the machine, without duplicates and without the reason why idle states were not
/// disabled, which is part of a caution.
fn warnings(environment: &Environment) -> Vec<String> {
    let reason = environment.idle.reason.as_ref();
    let in_caution = reason.filter(|_| !caution::is_idle_as_asked(environment));
    let mut warnings: Vec<String> = Vec::new();
    for text in &environment.warnings {
        if Some(text) != in_caution && !warnings.contains(text) {
            warnings.push(text.clone());
        }
    }
    warnings
}

/// The record to use of each ended trial, by the trial's index in the plan.
type Ended<'a> = BTreeMap<u32, &'a TrialRecord>;

fn ended<'a>(plan: &Plan, trials: &'a [TrialRecord]) -> Result<Ended<'a>, ReportError> {
    let specs: BTreeMap<u32, _> = plan.trials.iter().map(|spec| (spec.index, spec)).collect();
    let mut ended = Ended::new();
    for trial in trials {
        if specs.get(&trial.trial.index) != Some(&&trial.trial) {
            return Err(ReportError::NotInPlan {
                index: trial.trial.index,
                variant: trial.variant.clone(),
                planned: plan.trials.len(),
            });
        }
        let is_measured = |t: &TrialRecord| matches!(t.outcome, TrialOutcome::Measured(_));
        let rank = |t: &TrialRecord| (is_measured(t), t.started_at_ms);
        let kept = ended.entry(trial.trial.index).or_insert(trial);
        if rank(trial) > rank(kept) {
            *kept = trial;
        }
    }
    Ok(ended)
}

fn measured<'a>(ended: &Ended<'a>) -> impl Iterator<Item = MeasuredTrial<'a>> {
    ended.values().filter_map(|trial| match &trial.outcome {
        TrialOutcome::Measured(measured) => Some((*trial, &**measured)),
        TrialOutcome::Failed { .. } => None,
    })
}

/// The floors in a fixed order, since the first floor must not depend on the order of the records.
fn ordered(floors: &[FloorRecord]) -> Vec<&FloorRecord> {
    let mut floors: Vec<&FloorRecord> = floors.iter().collect();
    floors.sort_by(|a, b| {
        let key = |f: &FloorRecord| (f.placement, f.invocation, f.request_bytes, f.response_bytes);
        key(a)
            .cmp(&key(b))
            .then(a.client_cpu_ns.total_cmp(&b.client_cpu_ns))
    });
    floors
}

/// The input of an evaluation: a plan, the record to use of each trial, and the records of floors and events.
struct Recorded<'r> {
    plan: &'r Plan,
    ended: &'r Ended<'r>,
    floors: Vec<&'r FloorRecord>,
    events: &'r [EventsRecord],
}

impl Recorded<'_> {
    fn variants(&self) -> Result<Vec<VariantFindings>, ReportError> {
        let variants = (0..).zip(&self.plan.variants);
        let variants = variants.map(|(index, variant)| self.variant(index, variant));
        variants.collect()
    }

    fn variant(&self, index: u32, variant: &Variant) -> Result<VariantFindings, ReportError> {
        let placements = self.plan.placements.iter().filter(|placement| {
            self.plan
                .trials
                .iter()
                .any(|t| t.variant == index && t.placement == **placement)
        });
        let cells = placements
            .map(|&placement| self.cell(index, variant, placement))
            .collect::<Result<Vec<_>, _>>()?;
        let not_run = if cells.iter().any(|cell| cell.figures.is_some()) {
            Vec::new()
        } else {
            reasons(index, self.ended)
        };
        Ok(VariantFindings {
            name: variant.name.clone(),
            group: variant.group.clone(),
            repeats: variant.repeats.clone(),
            how: HowItCalls::of(&variant.settings),
            timing: variant.settings.timing(),
            cells,
            not_run,
        })
    }

    fn cell(
        &self,
        index: u32,
        variant: &Variant,
        placement: Placement,
    ) -> Result<Cell, ReportError> {
        let name = &variant.name;
        let here = |t: &TrialRecord| t.trial.variant == index && t.trial.placement == placement;
        let trials: Vec<MeasuredTrial<'_>> =
            measured(self.ended).filter(|(t, _)| here(t)).collect();
        let floors: Vec<&FloorRecord> = self
            .floors
            .iter()
            .filter(|f| f.placement == placement && f.variants.iter().any(|v| v == name))
            .copied()
            .collect();
        let count = |holds: fn(&TrialFigures) -> bool| {
            trials.iter().filter(|(_, m)| holds(m)).count() as u64
        };
        let client_bound = count(|m| client_share(m) > Some(CLIENT_BOUND_SHARE));
        let all_ended = self.ended.values().filter(|t| here(t)).count() as u64;
        let planned = self
            .plan
            .trials
            .iter()
            .filter(|t| t.variant == index && t.placement == placement);
        let measured = trials.len() as u64;
        // Neither a ramp nor a trial without a warm-up can be unsettled.
        let warmup = variant.warm_up.unwrap_or(self.plan.warmup);
        let has_warmup = [warmup.calls, warmup.time_ms]
            .into_iter()
            .flatten()
            .any(|bound| bound > 0);
        let not_held = trials.iter().filter(|(t, m)| !is_link_held(t, m));
        let trial_counts = TrialCounts {
            planned: planned.count() as u64,
            measured,
            failed: all_ended - measured,
            unsettled: if has_warmup {
                count(|m| !m.warmup.settled && m.steps.is_empty())
            } else {
                0
            },
            client_bound,
            is_client_bound: client_bound * 2 > measured,
            uncompressed: count(|m| m.uncompressed_responses > 0),
            connects_failed: count(|m| m.connects_failed > 0),
            never_begun: count(|m| m.calls.never_begun > 0),
            interrupted: count(|m| m.ending == Ending::Interrupted),
            gave_up: count(|m| m.ending == Ending::GaveUp),
            max_requests: count(|m| m.ending == Ending::MaxRequests),
            link_not_held: not_held.count() as u64,
        };
        let mut figures = cell::figures(name, &trials, &floors, &variant.settings)?;
        if let Some(figures) = &mut figures {
            figures.shared_process = self.plan.shares_processes(variant);
            objective::check_steps(&self.plan.objectives, &mut figures.steps);
            let events = self.events.iter();
            let events = events.filter(|e| e.placement == placement && e.variant == *name);
            let events: Vec<&EventsRecord> = events.collect();
            let timeline = &mut figures.timeline;
            timeline.causes = spikes::causes(&trials, &timeline.trial_starts_ns, &events);
        }
        Ok(Cell {
            placement,
            cautions: caution::of_cell(name, placement, &trial_counts, figures.as_ref()),
            trials: trial_counts,
            figures: figures.map(Box::new),
            parts: None,
        })
    }
}

/// Whether a trial's link, if any, met its settings and left the client enough of their shared core: the wait for a
/// core is not a wait for the network.
fn is_link_held(record: &TrialRecord, measured: &TrialFigures) -> bool {
    let Some(link) = &measured.link else {
        return true;
    };
    let client = || {
        let cpu = measured.cpu.client?.total_ns as f64;
        (measured.elapsed_ns > 0).then(|| cpu / measured.elapsed_ns as f64)
    };
    let shares = link
        .core_share()
        .zip(measured.client_share.or_else(client))
        // Unless the scheduler places them, link and client share one core.
        .filter(|_| record.trial.placement != Placement::Free);
    link.is_held() && shares.is_none_or(|(link, client)| link + client <= CLIENT_BOUND_SHARE)
}

/// The client's share of its core; `None` over a link, whose thread runs on the same core and does kernel work for
/// the receiver there.
fn client_share(measured: &TrialFigures) -> Option<f64> {
    measured.client_share.filter(|_| measured.link.is_none())
}

/// The maximum number of distinct reasons to list for a variant without measured trials. The others are only
/// counted.
pub(crate) const MAX_REASONS: usize = 10;

/// The distinct reasons why a variant has no measured trials.
fn reasons(variant: u32, ended: &Ended<'_>) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    for trial in ended.values().filter(|t| t.trial.variant == variant) {
        if let TrialOutcome::Failed { reason, .. } = &trial.outcome
            && !reasons.contains(reason)
        {
            reasons.push(reason.clone());
        }
    }
    let left_out = reasons.len().saturating_sub(MAX_REASONS);
    if left_out > 0 {
        reasons.truncate(MAX_REASONS);
        reasons.push(format!("and {left_out} other reasons"));
    }
    if reasons.is_empty() {
        reasons.push("none of its trials was recorded".to_owned());
    }
    reasons
}

fn study(plan: &Plan) -> StudyFindings {
    StudyFindings {
        name: plan.name.clone(),
        question: plan.question.clone(),
        seed: plan.seed,
        invocations: plan.invocations,
        blocks: plan.blocks,
        placements: plan.placements.clone(),
        idle: plan.idle,
        margin: plan.margin,
        confidence: plan.confidence,
        limits: plan.limits,
        own_processes: plan.own_processes.clone(),
    }
}

fn progress(planned: usize, ended: &Ended<'_>) -> PlanProgress {
    let planned = planned as u64;
    let measured_trials = measured(ended).count() as u64;
    let all_ended = ended.len() as u64;
    let end = |(t, m): MeasuredTrial<'_>| {
        t.measured_from_ms(m)
            .saturating_add(m.spanned_ns() / 1_000_000)
    };
    PlanProgress {
        planned,
        measured: measured_trials,
        failed: all_ended - measured_trials,
        missing: planned - all_ended,
        running: None,
        started_at_ms: ended.values().map(|t| t.started_at_ms).min(),
        ended_at_ms: measured(ended).map(end).max(),
    }
}

/// The number of requests sent to each live service, in the order of the variants. The lab makes one call for each
/// variant before its trials, except for controls.
fn requests_sent(plan: &Plan, trials: &[TrialRecord]) -> Vec<RequestsSent> {
    let of_variant = |(index, variant): (u32, &Variant)| {
        let Target::Live(live) = &variant.settings.target else {
            return None;
        };
        let target = live.service.url.to_string();
        let of_it = trials.iter().filter(move |t| t.trial.variant == index);
        let sent = of_it.map(TrialRecord::requests_sent);
        let first = Some(u64::from(variant.repeats.is_none()));
        Some(sent.chain([first]).map(move |sent| (target.clone(), sent)))
    };
    let sent = (0..).zip(&plan.variants).filter_map(of_variant).flatten();
    let total = |(target, sent): (String, Vec<Option<u64>>)| {
        let mut sent = sent.into_iter();
        let requests = sent.try_fold(0_u64, |all, sent| Some(all.saturating_add(sent?)))?;
        Some(RequestsSent { target, requests })
    };
    by_key(sent).into_iter().filter_map(total).collect()
}

fn failures(ended: &Ended<'_>) -> Vec<FailedTrial> {
    let failed = ended.values().filter_map(|t| match &t.outcome {
        TrialOutcome::Failed {
            reason, fault, log, ..
        } => Some(FailedTrial {
            index: t.trial.index,
            variant: t.variant.clone(),
            invocation: t.trial.invocation,
            block: t.trial.block,
            placement: t.trial.placement,
            reason: reason.clone(),
            fault: *fault,
            log: log.clone(),
        }),
        TrialOutcome::Measured(_) => None,
    });
    failed.collect()
}
