//! Measures how much two measurements of the same call differ on this machine.

use std::sync::atomic::AtomicBool;

use rpcgauge_study::features::embedded_only;
use rpcgauge_study::file::StudyFile;
use rpcgauge_study::plan::{Plan, TrialSpec};
use rpcgauge_study::record::{Record, TrialOutcome, TrialRecord};
use rpcgauge_study::resolve::loader::FileLoader;
use rpcgauge_study::resolve::{Overrides, ResolveContext};
use rpcgauge_study::settings::{Idle, Placement};
use serde::Serialize;

use crate::files::scratch::Scratch;
use crate::machine::placement::Placements;
use crate::run::{Lab, Options};
use crate::subject::SubjectCommand;

/// The result of a short A/A run, which alternates the same call under two names.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Noise {
    pub(super) placement: Placement,
    pub(super) idle: Idle,
    /// The number of pairs of trials.
    pub(super) pairs: u32,
    /// The median of the trials' median latencies.
    pub(super) latency_p50_ns: f64,
    /// The median difference within a pair: the longer median latency over the shorter, minus 1 (0.02 is
    /// 2%).
    pub(super) typical: f64,
    /// The largest difference within a pair.
    pub(super) largest: f64,
}

/// What the noise of a machine allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Fit {
    /// Small differences between local calls.
    Good,
    /// Large differences between local calls, or small ones in long runs.
    Usable,
    /// Only very large differences.
    Noisy,
}

impl Noise {
    /// What the noise allows, judging by how much the same call differed from itself.
    pub(super) fn fit(&self) -> Fit {
        match self.largest {
            ..0.06 => Fit::Good,
            0.06..0.25 => Fit::Usable,
            _ => Fit::Noisy,
        }
    }
}

/// The noise, or a one-line reason why it could not be measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum NoiseResult {
    Measured(Noise),
    Failed { failure: String },
}

/// The study: a variant and its control.
const STUDY: &str = include_str!("noise.toml");

pub(super) fn measure(reference: &SubjectCommand) -> NoiseResult {
    try_measure(reference).map_or_else(
        |failure| NoiseResult::Failed { failure },
        NoiseResult::Measured,
    )
}

fn try_measure(reference: &SubjectCommand) -> Result<Noise, String> {
    let placements = Placements::detect().map_err(|error| error.to_string())?;
    let plan = plan(placements.pair().map_or(1, |_| 2))?;
    let logs = Scratch::make().map_err(|error| error.to_string())?;
    let options = Options::new(reference.clone(), logs.folder().to_owned());
    // One placement is enough: the others only confirm a verdict, and the doctor gives none.
    let main = plan.placements.first().copied().unwrap_or(Placement::Free);
    let trials = plan.trials.iter().filter(|t| t.placement == main);
    let trials: Vec<TrialSpec> = trials.cloned().collect();
    let (mut records, never) = (Vec::<Record>::new(), AtomicBool::new(false));
    Lab::new(options)
        .run(&plan, &trials, &mut records, &mut (), &never)
        .map_err(|error| error.to_string())?;
    let trials = records.into_iter().filter_map(|record| match record {
        Record::Trial(trial) => Some(*trial),
        _ => None,
    });
    judge(main, &trials.collect::<Vec<_>>())
}

/// Computes the difference within each pair, and summarizes the differences.
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
        TrialOutcome::Measured(measured) => Ok(measured.latency.unpack().quantile(0.5)),
        TrialOutcome::Failed { reason, .. } => Err(reason.clone()),
    }
}

/// The median; for an even number of values, the upper of the middle two.
fn middle(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn plan(cores: u32) -> Result<Plan, String> {
    let study = StudyFile::parse(STUDY, "noise.toml").map_err(|error| error.to_string())?;
    let context = ResolveContext {
        subjects: &embedded_only(),
        loader: &FileLoader::default(),
        cores,
        overrides: &Overrides::default(),
    };
    study.resolve(&context).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_is_a_block_of_its_own() {
        for (cores, placement) in [(1, Placement::OneCore), (2, Placement::TwoCores)] {
            let plan = plan(cores).unwrap();
            let trials = plan.trials.iter().filter(|t| t.placement == placement);
            let blocks: Vec<u32> = trials.map(|trial| trial.block).collect();
            assert_eq!(blocks, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]);
        }
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
