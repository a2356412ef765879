//! `budget`: chooses repetitions and a trial length that fit into a given time.

use std::time::Duration;

use toml::Spanned;

use super::machine::Count;
use super::{Combined, Resolver, Section};
use crate::error::StudyError;
use crate::plan::draft::{Compared, Draft};
use crate::plan::estimate::guess_call;
use crate::plan::order::Rounds;
use crate::plan::{Plan, Variant};
use crate::read::{Time, place};
use crate::setting::Key;
use crate::settings::{Stop, Target};
use crate::words::format_time;

/// The minimum measured part of a trial: a shorter one would show little but the end of the warm-up.
const MIN_TRIAL_MS: u64 = 50;
/// Trials of this length are long enough: additional time is spent on more invocations first.
const LONG_TRIAL_MS: u64 = 1_000;
/// The maximum length of a trial.
const MAX_TRIAL_MS: u64 = 3_000;
/// The granularity of trial lengths.
const TRIAL_STEP_MS: u64 = 5;
/// More invocations than this are chosen only if every trial can be long.
const ENOUGH_INVOCATIONS: u32 = 12;
/// The number of calls that a trial should have time for, so that its median is meaningful.
const CALLS_A_TRIAL: u64 = 10;
/// Repetitions in order of preference. Intervals over few invocations are wide, so blocks are given up first.
const REPETITIONS: [Rounds; 10] = [
    rounds(48, 3),
    rounds(24, 3),
    rounds(16, 3),
    rounds(12, 3),
    rounds(12, 2),
    rounds(10, 2),
    rounds(8, 2),
    rounds(8, 1),
    rounds(6, 1),
    LAST_RESORT,
];
/// The fewest repetitions that still give an interval.
const LAST_RESORT: Rounds = rounds(5, 1);

const fn rounds(invocations: u32, blocks: u32) -> Rounds {
    Rounds {
        invocations,
        blocks,
    }
}

impl Resolver<'_> {
    /// The plan that fits the budget.
    pub(super) fn within(
        &self,
        budget: &Spanned<Time>,
        draft: &Draft,
        combined: &[Combined],
    ) -> Result<Plan, StudyError> {
        self.refuse_what_a_budget_decides(combined)?;
        let Time(ms) = *budget.get_ref();
        let time = Duration::from_millis(ms);
        let mut least = Duration::MAX;
        for rounds in REPETITIONS {
            let draft = draft.clone().repeated(rounds, LAST_RESORT);
            let mut plan = self.finish(draft, combined)?;
            set_trial(&mut plan, MIN_TRIAL_MS);
            least = least.min(plan.estimate());
            let wanted = match rounds {
                LAST_RESORT => MIN_TRIAL_MS,
                Rounds { invocations, .. } if invocations > ENOUGH_INVOCATIONS => LONG_TRIAL_MS,
                _ => wanted_trial_ms(&plan),
            };
            if fill(&mut plan, wanted, time) {
                return Ok(plan);
            }
        }
        let least = least.as_secs_f64().ceil() as u64;
        let is_codec =
            |(variant, _): &&(Variant, Rounds)| matches!(variant.settings.target, Target::Codec(_));
        let codecs = match draft.variants.iter().filter(is_codec).count() {
            0 => String::new(),
            codecs => format!(" ({codecs} of them codecs)"),
        };
        let message = format!(
            "{} is too short for {} variants{codecs}; give at least {least}s, or choose fewer with --only",
            format_time(ms),
            draft.variants.len(),
        );
        Err(StudyError {
            min_budget_s: Some(least),
            ..self.source.error(budget.span(), message)
        })
    }

    fn refuse_what_a_budget_decides(&self, combined: &[Combined]) -> Result<(), StudyError> {
        let study = self.study;
        let overrides = self.context.overrides;
        let said = overrides.invocations.is_some() || overrides.blocks.is_some();
        let either = |[a, b]: [&Count; 2]| place(a).or_else(|| place(b));
        let says = |s: Section<'_>| either([&s.part.invocations, &s.part.blocks]);
        let of_checks = || either([&study.placement.invocations, &study.placement.blocks]);
        let written = study.sections().find_map(says).or_else(of_checks);
        if said || written.is_some() {
            let message =
                "\"budget\" decides how many invocations and blocks there are; keep one of the two";
            return Err(self.at(written, message));
        }
        if let Some(place) = study.sections().find_map(|s| place(&s.part.warm_up)) {
            let message = "\"budget\" decides how long warm-ups are; keep one of the two";
            return Err(self.source.error(place, message));
        }
        let keys = [Key::Calls, Key::Time];
        let says = |one: &Combined| keys.iter().find_map(|key| one.layer.span(*key));
        if let Some(place) = combined.iter().find_map(says) {
            let message = "\"budget\" decides how long trials are; keep one of the two";
            return Err(self.source.error(place, message));
        }
        Ok(())
    }
}

/// Sets the longest trials, of at least `wanted_ms`, that fit the budget; returns `false` if none do.
fn fill(plan: &mut Plan, wanted_ms: u64, budget: Duration) -> bool {
    let mut fits = |trial_ms| {
        set_trial(plan, trial_ms);
        plan.estimate() <= budget
    };
    if !fits(wanted_ms) {
        return false;
    }
    let longer_by = |steps: u64| wanted_ms + steps * TRIAL_STEP_MS;
    let (mut fitting, mut too_many) = (0, (MAX_TRIAL_MS - wanted_ms) / TRIAL_STEP_MS + 1);
    while too_many - fitting > 1 {
        let middle = fitting.midpoint(too_many);
        if fits(longer_by(middle)) {
            fitting = middle
        } else {
            too_many = middle
        }
    }
    set_trial(plan, longer_by(fitting));
    true
}

/// Sets the length of every trial, which also bounds its warm-up; most warm-ups end long before. A variant that only
/// measures part of other variants' calls needs little time.
fn set_trial(plan: &mut Plan, trial_ms: u64) {
    let stop = Stop::after_ms(trial_ms);
    let compared = Compared::of(&plan.pairs, &plan.claims);
    for variant in &mut plan.variants {
        variant.settings.stop = if compared.is_part(variant) {
            Stop::after_ms(MIN_TRIAL_MS)
        } else {
            stop
        };
    }
    plan.warmup = stop;
}

/// The length of a trial that gives the slowest variant enough calls.
fn wanted_trial_ms(plan: &Plan) -> u64 {
    let calls = plan
        .variants
        .iter()
        .map(|variant| guess_call(&variant.settings));
    let enough = calls.max().unwrap_or_default().as_millis() as u64 * CALLS_A_TRIAL;
    enough.clamp(100, LONG_TRIAL_MS)
}
