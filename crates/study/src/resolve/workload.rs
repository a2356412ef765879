//! What a variant calls: its workload, of the size that the layers say, within the limits.

use std::num::NonZeroU32;
use std::ops::Range;

use rpcgauge_message::{OverLimit, Workload, WorkloadError, WorkloadSpec};
use toml::Spanned;

use super::{Resolver, Sent};
use crate::error::StudyError;
use crate::features::WorkloadKind;
use crate::file::{Layer, ServiceWritten, WorkloadWritten};
use crate::setting::Key;
use crate::settings::Sample;
use crate::words::Word as _;

/// Settings under construction: what all layers so far say.
#[derive(Debug, Clone, Default)]
pub(super) struct Merged<'a> {
    pub(super) workload: Option<&'a WorkloadWritten>,
    pub(super) service: Option<ServiceWritten>,
    pub(super) layer: Layer,
}

impl<'a> Merged<'a> {
    pub(super) fn lay(
        &mut self,
        workload: Option<&'a WorkloadWritten>,
        service: Option<&ServiceWritten>,
        layer: &Layer,
    ) {
        if let Some(service) = service {
            let outer = self.service.take().unwrap_or_default();
            self.service = Some(service.clone().over(&outer));
        }
        if workload.is_some() {
            self.workload = workload;
            // A size belongs to the workload it was written for.
            self.layer.0.remove(&Key::N);
            self.layer.0.remove(&Key::Scale);
        }
        self.layer.overlay(layer);
    }
}

/// How many times as long the response of a user's own method is made, where that is said.
pub(super) fn scale_of(merged: &Merged<'_>) -> Option<Spanned<u32>> {
    merged
        .layer
        .count(Key::Scale)
        .or_else(|| match merged.workload {
            Some(WorkloadWritten::Own(_, own)) => own.scale.as_ref().map(plain),
            _ => None,
        })
}

/// The workload with its size: the layers' `n` or `scale`, or else the workload's own.
pub(super) fn workload(
    resolver: &mut Resolver<'_>,
    name: &str,
    span: &Range<usize>,
    merged: &Merged<'_>,
) -> Result<WorkloadSpec, StudyError> {
    let source = resolver.source;
    let size = |key: Key| merged.layer.count(key);
    match merged.workload {
        None => Err(source.error(
            span.clone(),
            format!("variant \"{name}\": it calls nothing; write [workload] with name = \"echo\" and n = 10, or [service] with a target"),
        )),
        Some(WorkloadWritten::Own(place, own)) => {
            if let Some(n) = size(Key::N) {
                let message = "\"n\" is for built-in workloads; \"scale\" makes your own response longer";
                return Err(source.error(n.span(), message));
            }
            let scale = scale_of(merged);
            let limits = resolver.context.overrides.limits;
            let own = resolver.own.load(source, place, own, scale, limits)?;
            Ok(WorkloadSpec::Own(Box::new(own)))
        }
        Some(WorkloadWritten::BuiltIn { kind, n }) => {
            if let Some(scale) = size(Key::Scale) {
                let message = "\"scale\" is for a method of your own; built-in workloads have \"n\"";
                return Err(source.error(scale.span(), message));
            }
            let n = size(Key::N).or_else(|| n.as_ref().map(plain));
            let place = n.as_ref().map_or_else(|| kind.span(), Spanned::span);
            let spec = built_in(source, kind, n)?;
            resolver.made(&spec).map_err(|problem| source.error(place, problem.to_string()))?;
            Ok(spec)
        }
    }
}

fn plain(count: &Spanned<NonZeroU32>) -> Spanned<u32> {
    Spanned::new(count.span(), count.get_ref().get())
}

impl Resolver<'_> {
    /// The workload, made once for all variants that call it.
    fn made(&mut self, spec: &WorkloadSpec) -> Result<Workload, WorkloadError> {
        if let Some((_, workload)) = self.made.iter().find(|(known, _)| known == spec) {
            return Ok(workload.clone());
        }
        let workload = Workload::new(spec)?;
        self.made.push((spec.clone(), workload.clone()));
        Ok(workload)
    }

    /// Whether the readers of a variant's messages would take them, asked once for each way they
    /// are sent: otherwise every trial of it would fail.
    pub(super) fn check_limits(&mut self, sent: Sent) -> Result<(), OverLimit> {
        if self.within_limits.contains(&sent) {
            return Ok(());
        }
        // What cannot be made was refused before, or its trials report it.
        let (workload, encoding, request, response) = &sent;
        if let Ok(workload) = self.made(workload) {
            let limits = self.context.overrides.limits;
            workload.check_limits(*encoding, *request, *response, limits)?;
        }
        self.within_limits.push(sent);
        Ok(())
    }
}

/// Where the study names a message that is over a limit, and the file that it stands in.
pub(super) fn sample_place(
    merged: &Merged<'_>,
    sample: Sample,
    variant: &Range<usize>,
) -> (Range<usize>, String) {
    match merged.workload {
        Some(WorkloadWritten::Own(_, own)) => {
            let file = match sample {
                Sample::Request => &own.request,
                Sample::Response => &own.response,
            };
            (file.span(), format!("{}: ", **file.get_ref()))
        }
        Some(WorkloadWritten::BuiltIn { kind, n }) => {
            let n = merged.layer.span(Key::N).or(n.as_ref().map(Spanned::span));
            (n.unwrap_or_else(|| kind.span()), String::new())
        }
        None => (variant.clone(), String::new()),
    }
}

fn built_in(
    source: &crate::error::Source,
    kind: &Spanned<WorkloadKind>,
    n: Option<Spanned<u32>>,
) -> Result<WorkloadSpec, StudyError> {
    let word = kind.get_ref().word();
    let needed = || {
        n.as_ref().map(|n| *n.get_ref()).ok_or_else(|| {
            source.error(
                kind.span(),
                format!("the workload \"{word}\" needs its size; write n = 10"),
            )
        })
    };
    let fixed = |spec: WorkloadSpec| match &n {
        None => Ok(spec),
        Some(n) => Err(source.error(
            n.span(),
            format!("the workload \"{word}\" has one size; leave \"n\" out"),
        )),
    };
    match kind.get_ref() {
        WorkloadKind::Echo => needed().map(|n| WorkloadSpec::Echo { n }),
        WorkloadKind::List => needed().map(|n| WorkloadSpec::List { n }),
        WorkloadKind::Records => needed().map(|n| WorkloadSpec::Records { n }),
        WorkloadKind::Followers => needed().map(|n| WorkloadSpec::Followers { n }),
        WorkloadKind::Hello => fixed(WorkloadSpec::Hello {}),
        WorkloadKind::Profile => fixed(WorkloadSpec::Profile {}),
        WorkloadKind::Own => {
            Err(source.error(kind.span(), "a method of your own has no name here"))
        }
    }
}
