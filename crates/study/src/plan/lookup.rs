//! Questions that a plan answers about itself.

use serde_json::{Map, Value};

use super::{Plan, TrialSpec, Variant};
use crate::setting::{SETTINGS, Setting};
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

    /// The variant that a trial measures.
    pub fn variant_of(&self, trial: &TrialSpec) -> Option<&Variant> {
        self.variants.get(trial.variant as usize)
    }

    /// Whether a service is called that was there before the run, and not a subject of the lab's own.
    pub fn is_live(&self) -> bool {
        let mut variants = self.variants.iter();
        variants.any(|variant| variant.settings.target.live().is_some())
    }

    /// The names of the groups in their order, each once. Empty when the study has none.
    pub fn groups(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for group in self
            .variants
            .iter()
            .filter_map(|variant| variant.group.as_deref())
        {
            if !names.contains(&group) {
                names.push(group);
            }
        }
        names
    }

    /// What differs first between this plan and `other`, as a sentence's part; nothing when they
    /// are the same.
    pub fn difference_from(&self, other: &Self) -> Option<String> {
        // Numbers are compared as they read back from JSON: `other` may come from a file.
        let read_back = |plan: &Self| {
            let text = serde_json::to_string(plan)?;
            serde_json::from_str::<Map<String, Value>>(&text)
        };
        let (Ok(now), Ok(then)) = (read_back(self), read_back(other)) else {
            return Some("this plan cannot be written as JSON".to_owned());
        };
        let mut keys = now.keys().chain(then.keys());
        let key = keys.find(|key| now.get(*key) != then.get(*key))?;
        Some(match now.get("variants") != then.get("variants") {
            true => self.other_variant(other),
            false => format!("its {} differ", key.replace('_', " ")),
        })
    }

    /// Which variant is not the same.
    fn other_variant(&self, other: &Self) -> String {
        let counts = (self.variants.len(), other.variants.len());
        if counts.0 != counts.1 {
            let (now, then) = counts;
            return format!("the study has {now} variants now, the run has {then}");
        }
        let mut both = self.variants.iter().zip(&other.variants);
        let Some((now, then)) = both.find(|(now, then)| now != then) else {
            return "its variants differ".to_owned();
        };
        let (name, before) = (&now.name, &then.name);
        if name != before {
            return format!("the variant \"{name}\" stands where \"{before}\" stood");
        }
        let value = |one: &Variant, row: &Setting| row.value(&one.settings);
        match SETTINGS
            .iter()
            .find(|row| value(now, row) != value(then, row))
        {
            Some(row) => format!("the variant \"{name}\" has another {} now", row.word),
            None => format!("the variant \"{name}\" has other settings now"),
        }
    }
}
