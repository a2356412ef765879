//! Questions that a plan answers about itself.

use super::{Plan, Variant};
use crate::settings::{Settings, Stop};

impl Plan {
    /// The longest warm-up of a trial with these settings: the plan's time, or a longer one that one of
    /// its stacks needs. A bound of calls, and no warm-up at all, are the study's own.
    pub fn warmup(&self, settings: &Settings) -> Stop {
        let needed = settings.target.stacks();
        let needed = needed
            .filter_map(|stack| self.stack_warmups_ms.get(stack))
            .max();
        match (self.warmup.time_ms, needed) {
            (Some(1..), Some(&ms)) if self.warmup.calls.is_none() => Stop {
                time_ms: self.warmup.time_ms.max(Some(ms)),
                ..self.warmup
            },
            _ => self.warmup,
        }
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
