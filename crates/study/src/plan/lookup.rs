//! Questions that a plan answers about itself.

use std::collections::BTreeSet;

use super::{Plan, TrialSpec, Variant};
use crate::settings::Callee;

impl Plan {
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
        variants.any(|variant| variant.settings.callee.live().is_some())
    }

    /// The stacks of subjects that are measured, the embedded one's too, each once.
    pub fn stacks(&self) -> BTreeSet<&str> {
        let mut stacks = BTreeSet::new();
        for variant in &self.variants {
            match &variant.settings.callee {
                Callee::Subject { server, client, .. } => {
                    stacks.insert(server.as_str());
                    stacks.extend(client.as_ref().map(|client| client.stack.as_str()));
                }
                Callee::Codec { codec, .. } => {
                    stacks.insert(codec);
                }
                Callee::Live { .. } => {}
            }
        }
        stacks
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
        let this: Self = match serde_json::to_string(self).map(|text| serde_json::from_str(&text)) {
            Ok(Ok(plan)) => plan,
            _ => return Some("this plan cannot be written as JSON".to_owned()),
        };
        if this == *other {
            return None;
        }
        Some(this.first_difference(other))
    }

    fn first_difference(&self, other: &Self) -> String {
        let counts = |what: &str, now: usize, then: usize| {
            (now != then).then(|| format!("the study has {now} {what} now, the run has {then}"))
        };
        let differs = |what: &str, same: bool| (!same).then(|| format!("its {what} differs"));
        counts("variants", self.variants.len(), other.variants.len())
            .or_else(|| {
                let mut both = self.variants.iter().zip(&other.variants);
                let (now, then) = both.find(|(now, then)| now != then)?;
                Some(if now.name == then.name {
                    let name = &now.name;
                    let (now, then) = (now.settings.written(), then.settings.written());
                    let mut words = now.keys().chain(then.keys());
                    match words.find(|word| now.get(*word) != then.get(*word)) {
                        Some(word) => format!("the variant \"{name}\" has another {word} now"),
                        None => format!("the variant \"{name}\" has other settings now"),
                    }
                } else {
                    format!(
                        "the variant \"{}\" stands where \"{}\" stood",
                        now.name, then.name
                    )
                })
            })
            .or_else(|| differs("name", self.name == other.name))
            .or_else(|| differs("seed", self.seed == other.seed))
            .or_else(|| {
                counts(
                    "invocations",
                    self.invocations as usize,
                    other.invocations as usize,
                )
            })
            .or_else(|| counts("blocks", self.blocks as usize, other.blocks as usize))
            .or_else(|| differs("placement", self.placements == other.placements))
            .or_else(|| differs("warm-up", self.warmup == other.warmup))
            .or_else(|| differs("set of limits", self.limits == other.limits))
            .or_else(|| counts("trials", self.trials.len(), other.trials.len()))
            .or_else(|| differs("order of trials", self.trials == other.trials))
            .or_else(|| differs("list of pairs", self.pairs == other.pairs))
            .or_else(|| differs("list of claims", self.claims == other.claims))
            .or_else(|| differs("search for capacity", self.capacity == other.capacity))
            .or_else(|| differs("list of objectives", self.objectives == other.objectives))
            .unwrap_or_else(|| "its plan differs".to_owned())
    }
}
