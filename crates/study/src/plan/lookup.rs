//! Questions that a plan answers about itself.

use super::{Plan, StackNeeds, Variant};
use crate::settings::{Settings, Stop};

impl Plan {
    /// The longest warm-up of a trial with these settings: the plan's time, or a longer one that one of
    /// its stacks needs. A bound of calls, and no warm-up at all, are the study's own.
    pub fn warmup(&self, settings: &Settings) -> Stop {
        let needed = self.needed(settings).map(|needed| needed.warm_up_ms).max();
        Stop {
            time_ms: self.warmup.time_ms.max(needed),
            ..self.warmup
        }
    }

    /// The calls after which the warm-up may end, as one of its stacks needs.
    pub fn warmup_least_calls(&self, settings: &Settings) -> u64 {
        let needed = self.needed(settings).map(|needed| needed.warm_up_calls);
        needed.max().unwrap_or(0)
    }

    /// What the stacks of a trial need, where the study leaves that to them.
    fn needed(&self, settings: &Settings) -> impl Iterator<Item = &StackNeeds> {
        let is_left_to_stacks =
            self.warmup.calls.is_none() && self.warmup.time_ms.is_some_and(|ms| ms > 0);
        let stacks = settings.target.stacks().filter(move |_| is_left_to_stacks);
        stacks.filter_map(|stack| self.stack_needs.get(stack))
    }

    /// The variant of that name.
    pub fn variant(&self, name: &str) -> Option<&Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }

    /// Whether a service is called that was there before the run, and not a subject of the lab's own.
    pub fn is_live(&self) -> bool {
        let mut variants = self.variants.iter();
        variants.any(|variant| variant.settings.target.live().is_some())
    }
}
