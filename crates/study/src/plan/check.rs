//! Invariants of every plan, including plans read from a run directory, which may contain anything.

use std::collections::BTreeSet;

use rpcgauge_contract::MAX_PARTS;
use rpcgauge_trial::MAX_MS;

use super::Plan;
use crate::settings::{Placement, Target};
use crate::words::format_number;

/// The maximum number of trials of a plan: more are a mistake in the factors, and would take forever.
pub(crate) const MAX_TRIALS: u64 = 200_000;

/// A number in a plan that must be above a bound and below 1.
pub(crate) struct Share {
    key: &'static str,
    above: f64,
}

/// Differences up to this share, in either direction, count as none.
pub(crate) const MARGIN: Share = share("margin", 0.0);
/// The share of intervals that contain the true value.
pub(crate) const CONFIDENCE: Share = share("confidence", 0.5);

const fn share(key: &'static str, above: f64) -> Share {
    Share { key, above }
}

impl Share {
    /// Checks the bounds of a number.
    pub(crate) fn check(&self, number: f64) -> Result<(), String> {
        let Self { key, above } = self;
        if number > *above && number < 1.0 {
            return Ok(());
        }
        let number = format_number(number);
        Err(format!(
            "\"{key}\" must be between {above} and 1, not {number}"
        ))
    }
}

impl Plan {
    /// Checks the bounds and the consistency of a plan. Later code looks up what trials refer to
    /// without checking it again.
    pub(crate) fn check(&self) -> Result<(), String> {
        MARGIN.check(self.margin)?;
        CONFIDENCE.check(self.confidence)?;
        let of_variants = self.variants.iter().filter_map(|one| one.warm_up);
        let warm_ups = of_variants.chain([self.warmup]).map(|stop| stop.time_ms);
        let times = warm_ups.chain([Some(self.slice_us / 1_000)]);
        if self.slice_us == 0 || times.flatten().any(|ms| ms > MAX_MS) {
            return Err(
                "a slice and a warm-up must be at most 24h, and a slice more than 0".to_owned(),
            );
        }
        if let Some(capacity) = &self.capacity {
            capacity.check()?;
        }
        for variant in &self.variants {
            let settings = variant.settings.check();
            settings.map_err(|problem| format!("variant \"{}\": {problem}", variant.name))?;
        }
        self.check_trials()?;
        self.check_processes()?;
        self.check_names()
    }

    /// Whether the plan has this block of this invocation under this placement.
    pub(crate) fn has_block(&self, invocation: u32, block: u32, placement: Placement) -> bool {
        invocation < self.invocations && block < self.blocks && self.placements.contains(&placement)
    }

    fn check_trials(&self) -> Result<(), String> {
        if self.trials.len() as u64 > MAX_TRIALS {
            let count = self.trials.len();
            return Err(format!("it has {count} trials, more than {MAX_TRIALS}"));
        }
        for (place, trial) in self.trials.iter().enumerate() {
            if trial.index as usize != place {
                let index = trial.index;
                return Err(format!("trial {place} has the index {index}"));
            }
            let variant = trial.variant;
            if variant as usize >= self.variants.len() {
                return Err(format!(
                    "trial {place} names variant {variant}, which does not exist"
                ));
            }
            if !self.has_block(trial.invocation, trial.block, trial.placement) {
                return Err(format!(
                    "trial {place} is for an invocation, block or placement that does not exist"
                ));
            }
        }
        Ok(())
    }

    fn check_processes(&self) -> Result<(), String> {
        let mut sharing = BTreeSet::new();
        for place in self
            .shared_processes
            .iter()
            .flat_map(|shared| &shared.variants)
        {
            let variant = self.variants.get(*place as usize);
            let calls = variant.is_some_and(|one| matches!(one.settings.target, Target::Call(_)));
            if !calls || !sharing.insert(place) {
                return Err(format!(
                    "variant {place} cannot share a process: it does not call a subject, or shares one already"
                ));
            }
        }
        for shared in &self.shared_processes {
            if !(1..=MAX_PARTS).contains(&shared.variants.len()) {
                return Err(format!("a process needs 1 to {MAX_PARTS} variants"));
            }
            if shared.server.is_none() && shared.client.is_none() {
                return Err("a shared process is neither a server nor a client".to_owned());
            }
        }
        Ok(())
    }

    fn check_names(&self) -> Result<(), String> {
        let pairs = self
            .pairs
            .iter()
            .map(|pair| ("pair", &pair.name, [&pair.of, &pair.against]));
        let claims = self
            .claims
            .iter()
            .map(|claim| ("claim", &claim.name, [&claim.of, &claim.against]));
        let names: BTreeSet<&str> = self.variants.iter().map(|v| &*v.name).collect();
        for (what, name, variants) in pairs.chain(claims) {
            let is_absent = |name: &&String| !names.contains(name.as_str());
            if let Some(absent) = variants.into_iter().find(is_absent) {
                return Err(format!(
                    "{what} {name} names the variant \"{absent}\", which does not exist"
                ));
            }
        }
        let mut published = self.claims.iter().map(|claim| &claim.published);
        if published.all(super::Published::is_sound) {
            Ok(())
        } else {
            Err(super::Published::UNSOUND.to_owned())
        }
    }
}
