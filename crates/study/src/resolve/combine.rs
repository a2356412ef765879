//! Listed variants times factors, without what is excluded.

use std::ops::Range;

use rpcgauge_message::WorkloadSpec;
use toml::Spanned;

use super::service::live_settings;
use super::settings::{said, subject_settings};
use super::workload::{Merged, scale_of};
use super::{Combined, MAX_VARIANTS, Resolver, Section};
use crate::error::StudyError;
use crate::file::{Layer, StudyFile, Values, VariantWritten};
use crate::plan::Variant;
use crate::plan::order::Rounds;
use crate::settings::Settings;

/// The name of the only variant of a study that lists none and varies nothing.
const ONLY_VARIANT: &str = "base";

impl<'a> Resolver<'a> {
    /// All variants of a section, in the order listed, then by the factors.
    pub(super) fn combine(
        &mut self,
        study: &StudyFile,
        section: &Section<'_>,
        rounds: Rounds,
    ) -> Result<Vec<Combined>, StudyError> {
        let part = section.part;
        let mut base = Merged::default();
        base.lay(
            study.part.workload.as_ref(),
            study.part.service.as_ref(),
            &study.part.base,
        );
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
                let names = Names::of(section.group, listed, point);
                let span = listed.map_or_else(
                    || section_span(study, section, point),
                    |listed| listed.name.span(),
                );
                let said = said(&merged.layer, WorkloadSpec::Hello {});
                let mut excludes = part.excludes.iter();
                if let Some(place) =
                    excludes.position(|exclude| matches(exclude.get_ref(), &merged.layer, &said))
                {
                    excluded[place] += 1;
                    continue;
                }
                let settings = settings_of(self, &names.full, &span, &merged)?;
                combined.push(Combined {
                    variant: Variant {
                        name: names.full,
                        group: section.group.map(str::to_owned),
                        repeats: None,
                        scale: scale_of(&merged).map(Spanned::into_inner),
                        settings,
                    },
                    layer: merged.layer,
                    service: merged.service,
                    local: names.local,
                    listed: listed.map(|listed| listed.name.get_ref().to_string()),
                    label: names.label,
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
            format!("the factors make more than {MAX_VARIANTS} variants; take fewer values");
        match section
            .part
            .factors
            .values()
            .next()
            .and_then(|values| values.first())
        {
            Some(first) => self.source.error(first.span(), message),
            None => self.source.whole(message),
        }
    }

    /// An exclusion that leaves nothing, or that meets nothing, is a mistake.
    fn check_excludes(
        &self,
        section: &Section<'_>,
        excluded: &[usize],
        nothing_left: bool,
    ) -> Result<(), StudyError> {
        let place = if nothing_left {
            excluded.iter().rposition(|count| *count > 0)
        } else {
            excluded.iter().position(|count| *count == 0)
        };
        let Some(place) = place else { return Ok(()) };
        let message = if nothing_left {
            "nothing is left: the exclusions up to this one exclude every variant"
        } else {
            "this exclusion meets no variant; remove it, or put its values right"
        };
        Err(self
            .source
            .error(section.part.excludes[place].span(), message))
    }
}

/// The settings of a variant.
fn settings_of(
    resolver: &mut Resolver<'_>,
    name: &str,
    span: &Range<usize>,
    merged: &Merged<'_>,
) -> Result<Settings, StudyError> {
    match (&merged.service, merged.workload) {
        (None, _) => subject_settings(resolver, name, span, merged),
        (Some(service), None) => live_settings(resolver, name, span, merged, service),
        (Some(_), Some(_)) => {
            let message = format!(
                "variant \"{name}\": [workload] is a subject's, and a live service is sent what [service] \
                 says; keep one of the two"
            );
            Err(resolver.source.error(span.clone(), message))
        }
    }
}

/// Where to point for a variant that is not listed: its first factor, its group, or the start.
fn section_span(study: &StudyFile, section: &Section<'_>, point: &Layer) -> Range<usize> {
    let factor = point.0.values().next().map(Spanned::span);
    let group = || {
        let name = section.group?;
        let group = study
            .groups
            .iter()
            .find(|group| group.name.get_ref().as_str() == name)?;
        Some(group.name.span())
    };
    factor.or_else(group).unwrap_or(0..0)
}

/// Every combination of one value for each factor, in the keys' own order, whatever the order in
/// the file. `None` when they are too many.
fn product(factors: &Values) -> Option<Vec<Layer>> {
    let mut points = vec![Layer::default()];
    for (key, values) in factors {
        if points.len().saturating_mul(values.len()) > MAX_VARIANTS {
            return None;
        }
        points = points
            .iter()
            .flat_map(|point| {
                values.iter().map(move |value| {
                    let mut point = point.clone();
                    point.0.insert(*key, value.clone());
                    point
                })
            })
            .collect();
    }
    Some(points)
}

/// Whether a variant has one of the values of each key, as it says or by default.
fn matches(exclude: &Values, layer: &Layer, said: &Settings) -> bool {
    exclude.iter().all(|(key, values)| {
        let value = layer.get(*key).cloned();
        let value = value.or_else(|| key.row().value(said));
        value.is_some_and(|value| values.iter().any(|one| *one.get_ref() == value))
    })
}

/// A variant's names.
struct Names {
    full: String,
    local: String,
    label: String,
}

impl Names {
    fn of(group: Option<&str>, listed: Option<&VariantWritten>, point: &Layer) -> Self {
        let label = point
            .0
            .iter()
            .map(|(key, value)| {
                // Names stand in names of files, where a stack's / would be a folder.
                let value = value.get_ref().to_string().replace('/', ":");
                let row = key.row();
                match row.speaks_for_itself {
                    true => value,
                    false => format!("{}={value}", row.word),
                }
            })
            .collect::<Vec<_>>()
            .join("-");
        let listed = listed.map(|listed| listed.name.get_ref().as_str());
        let parts: Vec<&str> = listed
            .into_iter()
            .chain((!label.is_empty()).then_some(label.as_str()))
            .collect();
        let local = if parts.is_empty() {
            ONLY_VARIANT.to_owned()
        } else {
            parts.join("-")
        };
        let full = group.map_or_else(|| local.clone(), |group| format!("{group}-{local}"));
        Self { full, local, label }
    }
}
