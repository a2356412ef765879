//! The most requests that a live service may get, shared out to the trials that call it.

use std::collections::BTreeMap;

use crate::plan::Plan;
use crate::settings::{LiveService, Settings, Target};
use crate::words::counted;

/// Gives each trial its share of what a study allows for the whole target: of the smallest bound, where its
/// variants have several. One call is made of each variant before its trials, and none of a twin.
///
/// # Errors
/// There are more trials than requests, or their number is not known: one line.
pub(super) fn share(plan: &mut Plan) -> Result<(), String> {
    let mut bounds: BTreeMap<String, Bound> = BTreeMap::new();
    for variant in &plan.variants {
        let Some((url, most)) = bound(&variant.settings) else {
            continue;
        };
        let bound = bounds.entry(url).or_default();
        bound.most = [bound.most, most].into_iter().flatten().min();
        bound.first_calls += u64::from(variant.repeats.is_none());
    }
    for trial in &plan.trials {
        let variant = plan.variants.get(trial.variant as usize);
        let called = variant.and_then(|variant| bound(&variant.settings));
        if let Some(bound) = called.and_then(|(url, _)| bounds.get_mut(&url)) {
            bound.trials += 1;
        }
    }
    if plan.capacity.is_some() && bounds.values().any(|bound| bound.most.is_some()) {
        return Err(
            "a search for capacity sends as many requests as it needs; leave \"max-requests\" out"
                .to_owned(),
        );
    }
    for variant in &mut plan.variants {
        let Target::Live { service } = &mut variant.settings.target else {
            continue;
        };
        let url = service.url.to_string();
        let LiveService { max_requests, .. } = &mut **service;
        *max_requests = match bounds.get(&url) {
            Some(bound) => bound.share(&url)?,
            None => None,
        };
    }
    Ok(())
}

/// What a target may get, and what calls it.
#[derive(Default)]
struct Bound {
    most: Option<u64>,
    first_calls: u64,
    trials: u64,
}

impl Bound {
    fn share(&self, url: &str) -> Result<Option<u64>, String> {
        let Some(most) = self.most else {
            return Ok(None);
        };
        let share = most
            .saturating_sub(self.first_calls)
            .checked_div(self.trials);
        match share {
            Some(1..) => Ok(share),
            Some(0) | None => {
                let (first_calls, trials) = (self.first_calls, self.trials);
                Err(format!(
                    "\"max-requests\" {most} is too few for {} of {url} and {}; allow at least {}",
                    counted(trials, "trial"),
                    counted(first_calls, "first call"),
                    first_calls + trials
                ))
            }
        }
    }
}

/// The live service that a trial calls, and the bound of its requests.
fn bound(settings: &Settings) -> Option<(String, Option<u64>)> {
    let live = settings.target.live()?;
    Some((live.url.to_string(), live.max_requests))
}
