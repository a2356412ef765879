//! Combines listed variants with factors, and leaves out excluded combinations.

use rpcgauge_message::WorkloadSpec;
use toml::Spanned;

use super::settings::settings_of_layer;
use super::workload::{Merged, Wanted};
use super::{Combined, MAX_VARIANTS, Resolver, Section};
use crate::error::StudyError;
use crate::file::{Layer, Values, VariantWritten};
use crate::plan::Variant;
use crate::setting::{Key, Value};
use crate::settings::Settings;

/// The name of the only variant of a study that lists none and varies nothing.
const ONLY_VARIANT: &str = "base";

impl Resolver<'_> {
    /// All variants of a section, in the order listed, then by the factors.
    pub(super) fn combine(&mut self, section: &Section<'_>) -> Result<Vec<Combined>, StudyError> {
        let (study, part) = (&self.study.part, section.part);
        let rounds = self.rounds(section.group.map(|_| part));
        let mut base = Merged::default();
        base.lay(study.workload.as_ref(), study.service.as_ref(), &study.base);
        if section.group.is_some() {
            base.lay(part.workload.as_ref(), part.service.as_ref(), &part.base);
        }
        let points = product(&part.factors).ok_or_else(|| self.too_many(section))?;
        let listed: Vec<Option<&VariantWritten>> = if part.variants.is_empty() {
            vec![None]
        } else {
            part.variants.iter().map(Some).collect()
        };
        if listed.len().saturating_mul(points.len()) > MAX_VARIANTS {
            return Err(self.too_many(section));
        }
        let mut excluded = vec![0_usize; part.excludes.len()];
        let mut combined = Vec::new();
        for listed in listed {
            let mut merged = base.clone();
            if let Some(listed) = listed {
                let service = listed.service.as_ref();
                merged.lay(listed.workload.as_ref(), service, &listed.settings);
            }
            for point in &points {
                let mut merged = merged.clone();
                merged.lay(None, None, point);
                // Settings that do not fit are refused later, unless the variant is excluded.
                let (said, _) = settings_of_layer(&merged.layer, WorkloadSpec::Hello {});
                let is_met =
                    |exclude: &Spanned<Values>| matches(exclude.get_ref(), &merged.layer, &said);
                if let Some(place) = part.excludes.iter().position(is_met) {
                    excluded[place] += 1;
                    continue;
                }
                let (listed_name, label) = (listed.map(|one| one.name.get_ref()), label(point));
                let local = match (listed_name, label.is_empty()) {
                    (None, true) => ONLY_VARIANT.to_owned(),
                    (None, false) => label.clone(),
                    (Some(name), true) => name.to_string(),
                    (Some(name), false) => format!("{}-{label}", name.as_str()),
                };
                let name = match section.group {
                    Some(group) => format!("{group}-{local}"),
                    None => local.clone(),
                };
                // Errors about a variant that is not listed point at its first factor, its group, or the start of the
                // file.
                let factor = || point.0.values().next().map(Spanned::span);
                let span = listed.map(|listed| listed.name.span()).or_else(factor);
                let span = span.unwrap_or_else(|| section.span.clone());
                let settings = self.settings(&Wanted {
                    name: &name,
                    span: &span,
                    merged: &merged,
                })?;
                combined.push(Combined {
                    variant: Variant {
                        name,
                        group: section.group.map(str::to_owned),
                        repeats: None,
                        scale: merged.scale().map(Spanned::into_inner),
                        warm_up: section.warm_up(),
                        settings,
                    },
                    layer: merged.layer,
                    service: merged.service,
                    local,
                    listed: listed_name.map(|name| name.to_string()),
                    label,
                    rounds,
                    span,
                });
            }
        }
        self.check_excludes(section, &excluded, combined.is_empty())?;
        Ok(combined)
    }

    fn too_many(&self, section: &Section<'_>) -> StudyError {
        let message =
            format!("the factors make more than {MAX_VARIANTS} variants; use fewer values");
        let mut factors = section.part.factors.values().flatten();
        self.at(factors.next().map(Spanned::span), message)
    }

    /// Refuses an exclusion that leaves no variant, or matches none.
    fn check_excludes(
        &self,
        section: &Section<'_>,
        excluded: &[usize],
        nothing_left: bool,
    ) -> Result<(), StudyError> {
        let (place, message) = if nothing_left {
            (
                excluded.iter().rposition(|count| *count > 0),
                "nothing is left: the exclusions up to this one exclude every variant",
            )
        } else {
            (
                excluded.iter().position(|count| *count == 0),
                "this exclusion matches no variant; remove it, or correct its values",
            )
        };
        match place.map(|place| section.part.excludes[place].span()) {
            None => Ok(()),
            Some(place) => Err(self.source.error(place, message)),
        }
    }

    fn settings(&mut self, one: &Wanted<'_>) -> Result<Settings, StudyError> {
        match (&one.merged.service, one.merged.workload) {
            (None, _) => self.subject_settings(one),
            (Some(service), None) => self.live_settings(one, service),
            (Some(_), Some(_)) => {
                let message = format!(
                    "variant \"{}\": [workload] is for subjects, and a live service gets its messages from \
                     [service]; keep one of the two",
                    one.name
                );
                Err(self.source.error(one.span.clone(), message))
            }
        }
    }
}

/// Every combination of one value for each factor, in the order of the keys, not of the file. `None` if there are too
/// many.
fn product(factors: &Values) -> Option<Vec<Layer>> {
    let mut points = vec![Layer::default()];
    for (key, values) in factors {
        if points.len().saturating_mul(values.len()) > MAX_VARIANTS {
            return None;
        }
        let with = |point: &Layer, value: &Spanned<_>| {
            let mut point = point.clone();
            point.0.insert(*key, value.clone());
            point
        };
        let longer = points
            .iter()
            .flat_map(|point| values.iter().map(move |value| with(point, value)));
        points = longer.collect();
    }
    Some(points)
}

/// Whether a variant has one of the listed values for each key, set or by default.
fn matches(exclude: &Values, layer: &Layer, said: &Settings) -> bool {
    exclude.iter().all(|(key, values)| {
        let value = layer.get(*key).cloned();
        let value = value.or_else(|| key.row().value(said));
        value.is_some_and(|value| values.iter().any(|one| *one.get_ref() == value))
    })
}

/// The factors' part of a variant's name.
fn label(point: &Layer) -> String {
    let part = |(key, value): (&Key, &Spanned<Value>)| {
        let value = value.get_ref().to_string();
        if key.row().name_is_implied {
            value
        } else {
            format!("{}={value}", key.row().name)
        }
    };
    point.0.iter().map(part).collect::<Vec<_>>().join("-")
}
