//! A variant's workload. Its size comes from the layers, and its messages are checked against the limits.

use std::num::NonZeroU32;
use std::ops::Range;

use rpcgauge_message::{MethodKind, OverLimit, Workload, WorkloadSpec};
use toml::Spanned;

use super::{Resolver, Sent, once};
use crate::error::{Source, StudyError};
use crate::features::WorkloadKind;
use crate::file::{Layer, ServiceWritten, WorkloadWritten};
use crate::read::place;
use crate::setting::Key;
use crate::settings::{Protocol, Sample, SubjectCall};
use crate::words::Named as _;

/// The merged layers of a variant.
#[derive(Debug, Clone, Default)]
pub(super) struct Merged<'a> {
    pub(super) workload: Option<&'a WorkloadWritten>,
    pub(super) service: Option<ServiceWritten>,
    pub(super) layer: Layer,
}

/// A variant whose settings are being resolved, with everything that an error about it needs.
pub(super) struct Wanted<'w> {
    pub(super) name: &'w str,
    pub(super) span: &'w Range<usize>,
    pub(super) merged: &'w Merged<'w>,
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

    /// The factor by which the response of a user's own method is made longer, if the study gives one.
    pub(super) fn scale(&self) -> Option<Spanned<u32>> {
        let own = || match self.workload {
            Some(WorkloadWritten::Own(_, own)) => own.scale.as_ref().map(plain),
            _ => None,
        };
        self.layer.count(Key::Scale).or_else(own)
    }
}

fn plain(count: &Spanned<NonZeroU32>) -> Spanned<u32> {
    Spanned::new(count.span(), count.get_ref().get())
}

impl Resolver<'_> {
    /// The workload with its size: the layers' `n` or `scale`, or else the workload's own.
    pub(super) fn workload(&mut self, one: &Wanted<'_>) -> Result<WorkloadSpec, StudyError> {
        let (source, layer) = (self.source, &one.merged.layer);
        match one.merged.workload {
            None => Err(source.error(
                one.span.clone(),
                format!("variant \"{}\": it calls nothing; write [workload] with name = \"echo\" and n = 10, or [service] with a target", one.name),
            )),
            Some(WorkloadWritten::Own(place, own)) => {
                if let Some(n) = layer.count(Key::N) {
                    let message = "\"n\" is for built-in workloads; \"scale\" makes your own response longer";
                    return Err(source.error(n.span(), message));
                }
                let own = self.own(place, own, one.merged.scale())?;
                Ok(WorkloadSpec::Own(Box::new(own)))
            }
            Some(WorkloadWritten::BuiltIn { kind, n }) => {
                if let Some(scale) = layer.count(Key::Scale) {
                    let message = "\"scale\" is for your own method; built-in workloads have \"n\"";
                    return Err(source.error(scale.span(), message));
                }
                let n = layer.count(Key::N).or_else(|| n.as_ref().map(plain));
                let spec = built_in(source, kind, &n)?;
                let made = once(&mut self.made, spec.clone(), Workload::new);
                let place = place(&n).unwrap_or_else(|| kind.span());
                made.map_err(|problem| source.error(place, problem.to_string()))?;
                Ok(spec)
            }
        }
    }

    /// Checks that the workload has a method of the kind that a gRPC or Connect call needs.
    pub(super) fn check_method(
        &mut self,
        one: &Wanted<'_>,
        call: &SubjectCall,
    ) -> Result<(), StudyError> {
        let kind = match &call.stream {
            None if call.wire.protocol() == Protocol::Rest => return Ok(()),
            None => MethodKind::Unary,
            Some(stream) => match stream.method_kind() {
                Some(kind) => kind,
                None => return Ok(()),
            },
        };
        // A workload that cannot be built was refused earlier, or its trials report it.
        let Ok(workload) = once(&mut self.made, call.workload.clone(), Workload::new) else {
            return Ok(());
        };
        if workload.method_of_kind(kind).is_some() {
            return Ok(());
        }
        let needed = match call.stream {
            None => "a unary method",
            Some(stream) => stream.form().article_and_title(),
        };
        let path = workload.method_path().trim_start_matches('/');
        let kinds: Vec<MethodKind> = workload.methods().map(|(kind, _)| kind).collect();
        let instead = match (&kinds[..], one.merged.workload) {
            ([only], Some(WorkloadWritten::Own(..))) => match only.streams() {
                None => "leave \"stream\" out".to_owned(),
                Some(side) => format!("write stream = \"{side}\""),
            },
            _ => "leave \"stream\" out, or stream \"items\" or a method of your own".to_owned(),
        };
        let is = match kinds[0].streams() {
            None => "is unary".to_owned(),
            Some(side) => format!("has a {side} stream"),
        };
        let name = one.name;
        let message =
            format!("variant \"{name}\": {path} {is}, but the variant needs {needed}; {instead}");
        let method = || match one.merged.workload {
            Some(WorkloadWritten::Own(_, own)) => Some(own.method.span()),
            _ => None,
        };
        let place = one.merged.layer.span(Key::Stream).or_else(method);
        Err(self
            .source
            .error(place.unwrap_or_else(|| one.span.clone()), message))
    }

    /// Checks, once for each way of sending, that readers accept a variant's messages. Otherwise every trial would
    /// fail.
    pub(super) fn check_limits(&mut self, sent: Sent) -> Result<(), OverLimit> {
        let limits = self.context.overrides.limits;
        let check = |(workload, encoding, request, response): &Sent| {
            match once(&mut self.made, workload.clone(), Workload::new) {
                Ok(workload) => workload.check_limits(*encoding, *request, *response, limits),
                // A workload that cannot be built was refused earlier, or its trials report it.
                Err(_) => Ok(()),
            }
        };
        once(&mut self.within_limits, sent, check)
    }
}

impl Wanted<'_> {
    /// Where the study names a message that is over a limit, and a prefix with the message's file.
    pub(super) fn sample_place(&self, sample: Sample) -> (Range<usize>, String) {
        match self.merged.workload {
            Some(WorkloadWritten::Own(_, own)) => {
                let file = match sample {
                    Sample::Request => &own.request,
                    Sample::Response => &own.response,
                };
                (file.span(), format!("{}: ", **file.get_ref()))
            }
            Some(WorkloadWritten::BuiltIn { kind, n }) => {
                let n = self.merged.layer.span(Key::N).or(place(n));
                (n.unwrap_or_else(|| kind.span()), String::new())
            }
            None => (self.span.clone(), String::new()),
        }
    }
}

fn built_in(
    source: &Source,
    kind: &Spanned<WorkloadKind>,
    n: &Option<Spanned<u32>>,
) -> Result<WorkloadSpec, StudyError> {
    let word = kind.get_ref().as_str();
    let needed = || match n {
        Some(n) => Ok(*n.get_ref()),
        None => {
            let message = format!("the workload \"{word}\" needs its size; write n = 10");
            Err(source.error(kind.span(), message))
        }
    };
    let fixed = |spec: WorkloadSpec| match n {
        None => Ok(spec),
        Some(n) => {
            let message = format!("the workload \"{word}\" has one size; leave \"n\" out");
            Err(source.error(n.span(), message))
        }
    };
    match kind.get_ref() {
        WorkloadKind::Echo => needed().map(|n| WorkloadSpec::Echo { n }),
        WorkloadKind::List => needed().map(|n| WorkloadSpec::List { n }),
        WorkloadKind::Records => needed().map(|n| WorkloadSpec::Records { n }),
        WorkloadKind::Followers => needed().map(|n| WorkloadSpec::Followers { n }),
        WorkloadKind::Items => fixed(WorkloadSpec::Items {}),
        WorkloadKind::Hello => fixed(WorkloadSpec::Hello {}),
        WorkloadKind::Profile => fixed(WorkloadSpec::Profile {}),
        WorkloadKind::Own => Err(source.error(
            kind.span(),
            "\"own\" is not a built-in workload; write the \"method\" of your own",
        )),
    }
}
