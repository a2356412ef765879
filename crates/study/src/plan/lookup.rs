//! Questions that a plan answers about itself.

use super::{Plan, TrialSpec, Variant};

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
}
