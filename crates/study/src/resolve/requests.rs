//! Divides the maximum number of requests to a live service among the trials that call it.

use std::collections::BTreeMap;
use std::ops::Range;

use super::Combined;
use crate::plan::Plan;
use crate::settings::Target;
use crate::words::counted;

/// The position of a bound in the study, and what is wrong with it, in one line.
type Refused = (Option<Range<usize>>, String);

/// Gives each trial its share of the requests that a study allows for the whole target. If the target's variants have
/// different bounds, the smallest applies. Each variant other than a control also makes
/// one call before its trials, or each call of its mix.
///
/// # Errors
/// The bound is too low for the trials, or the plan is a search, which sends as many requests as it needs.
pub(super) fn share(plan: &mut Plan, combined: &[Combined]) -> Result<(), Refused> {
    let mut bounds: BTreeMap<String, Bound> = BTreeMap::new();
    for variant in &plan.variants {
        let Target::Live(live) = &variant.settings.target else {
            continue;
        };
        let (url, most) = (live.service.url.to_string(), live.service.max_requests);
        let bound = bounds.entry(url).or_default();
        if most.is_some_and(|most| bound.most.is_none_or(|least| most < least)) {
            let one = combined.iter().find(|one| one.variant.name == variant.name);
            let written = one.and_then(|one| one.service.as_ref()?.max_requests.as_ref());
            (bound.most, bound.written) = (most, written.map(toml::Spanned::span));
        }
        if variant.repeats.is_none() {
            bound.first_calls += live.service.calls.len().max(1) as u64;
        }
    }
    for trial in &plan.trials {
        let variant = plan.variants.get(trial.variant as usize);
        let called = variant.and_then(|it| Some((it, bound(&it.settings.target)?.0)));
        if let Some((variant, url)) = called
            && let Some(bound) = bounds.get_mut(&url)
        {
            bound.trials += 1;
            bound.each = bound.each.max(plan.least_requests(&variant.settings));
        }
    }
    let mut bounded = bounds.values().filter(|bound| bound.most.is_some());
    if let (Some(_), Some(bound)) = (plan.capacity, bounded.next()) {
        return Err((
            bound.written.clone(),
            "a search for capacity sends as many requests as it needs; leave \"max-requests\" out"
                .to_owned(),
        ));
    }
    let few = bounds.iter().filter(|(_, bound)| bound.is_too_small());
    if let Some((url, bound)) = few.max_by_key(|(_, bound)| bound.needed()) {
        return Err((bound.written.clone(), bound.refusal(url)));
    }
    for variant in &mut plan.variants {
        let Target::Live(live) = &mut variant.settings.target else {
            continue;
        };
        let bound = bounds.get(&live.service.url.to_string());
        live.service.max_requests = bound.and_then(Bound::share);
    }
    Ok(())
}

/// How many requests may be sent to a target, and what sends them.
#[derive(Default)]
struct Bound {
    most: Option<u64>,
    /// Its position in the study.
    written: Option<Range<usize>>,
    first_calls: u64,
    trials: u64,
    /// The minimum number of requests for each trial.
    each: u64,
}

impl Bound {
    fn needed(&self) -> u64 {
        let of_trials = self.trials.saturating_mul(self.each);
        of_trials.saturating_add(self.first_calls)
    }

    fn is_too_small(&self) -> bool {
        self.most.is_some_and(|most| most < self.needed())
    }

    fn share(&self) -> Option<u64> {
        let of_trials = self.most?.saturating_sub(self.first_calls);
        of_trials.checked_div(self.trials)
    }

    fn refusal(&self, url: &str) -> String {
        let each = match self.each {
            0 | 1 => String::new(),
            each => format!(", each with at least {each} requests,"),
        };
        format!(
            "\"max-requests\" {} is too few for {} of {url}{each} and {}; allow at least {}",
            self.most.unwrap_or(0),
            counted(self.trials, "trial"),
            counted(self.first_calls, "first call"),
            self.needed()
        )
    }
}

/// The live service that a trial calls, and the bound on its requests.
fn bound(target: &Target) -> Option<(String, Option<u64>)> {
    match target {
        Target::Live(live) => Some((live.service.url.to_string(), live.service.max_requests)),
        Target::Call(_) | Target::Codec(_) => None,
    }
}
