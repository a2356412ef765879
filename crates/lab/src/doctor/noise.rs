//! How much two measurements of the same thing differ here.

use std::sync::atomic::AtomicBool;

use rpcgauge_message::{Limits, WorkloadSpec};
use rpcgauge_study::plan::{Plan, SLICE_US, TrialSpec, Variant};
use rpcgauge_study::record::{Record, TrialOutcome, TrialRecord};
use rpcgauge_study::settings::{Callee, Idle, Placement, Protocol, Settings, Stop};
use serde::Serialize;

use crate::machine::placement::Placements;
use crate::run::{Lab, Options};
use crate::scratch::Scratch;
use crate::subject::SubjectCommand;

/// What a short A/A measured: the same call under two names, in turns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Noise {
    /// The placement that was measured.
    pub placement: Placement,
    /// Whether idle states were held off.
    pub idle: Idle,
    /// Pairs of trials that were measured.
    pub pairs: u32,
    /// The median over the trials of their median latency, ns.
    pub latency_p50_ns: f64,
    /// The median over the pairs of what one is off by: the longer over the shorter time, less 1; 0.02
    /// for 2%.
    pub typical: f64,
    /// What the worst of the pairs is off by.
    pub largest: f64,
}

/// The noise, or why it could not be measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum NoiseResult {
    /// It was measured.
    Measured(Noise),
    /// It was not.
    Failed {
        /// Why, in one line.
        failure: String,
    },
}

/// Pairs of trials: enough that the largest difference means something, in about four seconds.
const PAIRS: u32 = 8;

/// Measured time of one trial, ms.
const TRIAL_MS: u64 = 150;

/// The longest warm-up of one trial, ms.
const WARMUP_MS: u64 = 200;

/// The seed of a measurement that makes no random choice.
const SEED: u64 = 0;

pub(super) fn measure(reference: &SubjectCommand) -> NoiseResult {
    try_measure(reference).map_or_else(
        |failure| NoiseResult::Failed { failure },
        NoiseResult::Measured,
    )
}

fn try_measure(reference: &SubjectCommand) -> Result<Noise, String> {
    let placements = Placements::detect().map_err(|error| error.to_string())?;
    let placement = match placements.pair() {
        Some(_) => Placement::TwoCores,
        None => Placement::OneCore,
    };
    let logs = Scratch::make().map_err(|error| error.to_string())?;
    let options = Options::new(reference.clone(), logs.folder().to_owned());
    let plan = plan(placement);
    let mut records: Vec<Record> = Vec::new();
    Lab::new(options)
        .run(
            &plan,
            &plan.trials,
            &mut records,
            &mut (),
            &AtomicBool::new(false),
        )
        .map_err(|error| error.to_string())?;
    let trials = records.into_iter().filter_map(|record| match record {
        Record::Trial(trial) => Some(*trial),
        Record::Floor(_) | Record::Restart { .. } => None,
    });
    judge(placement, &trials.collect::<Vec<_>>())
}

/// Puts the pairs' ratios together.
fn judge(placement: Placement, trials: &[TrialRecord]) -> Result<Noise, String> {
    let medians: Vec<f64> = trials
        .iter()
        .map(median_latency)
        .collect::<Result<_, _>>()?;
    let mut off: Vec<f64> = medians
        .chunks_exact(2)
        .map(|pair| pair[0].max(pair[1]) / pair[0].min(pair[1]).max(1.0) - 1.0)
        .collect();
    off.sort_unstable_by(f64::total_cmp);
    let (Some(first), Some(largest)) = (trials.first(), off.last()) else {
        return Err("nothing was measured".to_owned());
    };
    Ok(Noise {
        placement,
        idle: first.idle,
        pairs: u32::try_from(off.len()).unwrap_or(u32::MAX),
        latency_p50_ns: middle(&mut medians.clone()),
        typical: middle(&mut off.clone()),
        largest: *largest,
    })
}

fn median_latency(trial: &TrialRecord) -> Result<f64, String> {
    match &trial.outcome {
        TrialOutcome::Measured(measured) => {
            Ok(measured.latency.unpack().value_at_quantile(0.5) as f64)
        }
        TrialOutcome::Failed { reason, .. } => Err(reason.clone()),
    }
}

/// The middle value, the upper one of an even number of them.
fn middle(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn plan(placement: Placement) -> Plan {
    let variant = |name: &str, repeats: Option<&str>| Variant {
        name: name.to_owned(),
        group: None,
        repeats: repeats.map(str::to_owned),
        settings: settings(),
    };
    let trials = (0..2 * PAIRS).map(|index| TrialSpec {
        index,
        invocation: 0,
        block: index / 2,
        variant: index % 2,
        placement,
        rotation: 0,
    });
    Plan {
        name: "noise".to_owned(),
        question: "How much do two measurements of the same thing differ here?".to_owned(),
        seed: SEED,
        variants: vec![variant("a", None), variant("a-again", Some("a"))],
        pairs: Vec::new(),
        claims: Vec::new(),
        objectives: Vec::new(),
        capacity: None,
        invocations: 1,
        blocks: PAIRS,
        placements: vec![placement],
        idle: Idle::Held,
        margin: 0.03,
        confidence: 0.95,
        warmup: Stop {
            calls: None,
            time_ms: Some(WARMUP_MS),
        },
        slice_us: SLICE_US,
        limits: Limits::DEFAULT,
        trials: trials.collect(),
    }
}

fn settings() -> Settings {
    Settings {
        stop: Stop {
            calls: None,
            time_ms: Some(TRIAL_MS),
        },
        deadline_ms: 1_000,
        ..Settings::new(Callee::reference(WorkloadSpec::Hello {}), Protocol::Grpc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_is_a_block_of_its_own() {
        let plan = plan(Placement::TwoCores);
        let order: Vec<u32> = plan.trials.iter().map(|trial| trial.variant).collect();
        assert_eq!(order[..4], [0, 1, 0, 1]);
        assert_eq!(order.len() as u32, 2 * PAIRS);
    }

    #[test]
    fn the_middle_is_the_middle() {
        assert_eq!(middle(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(middle(&mut []), 0.0);
    }

    #[test]
    fn an_empty_measurement_is_reported() {
        assert!(judge(Placement::Free, &[]).is_err());
    }
}
