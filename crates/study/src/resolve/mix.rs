//! A mix of calls to a live service: turns each call's keys, merged with those of its service, into settings.

use std::collections::BTreeSet;
use std::ops::Range;

use rpcgauge_trial::MixOrder;

use super::Resolver;
use super::inputs::ServiceInputs;
use crate::error::StudyError;
use crate::file::{CallWritten, ServiceWritten};
use crate::read::place;
use crate::settings::{LiveService, MixCall};

impl Resolver<'_> {
    /// The service with its mix as stored in a plan, and the inputs of each call.
    pub(super) fn mixed_service(
        &mut self,
        span: &Range<usize>,
        written: &ServiceWritten,
        calls: &[toml::Spanned<CallWritten>],
    ) -> Result<(LiveService, Vec<ServiceInputs>), StudyError> {
        let mut names = BTreeSet::new();
        let mut mix = Vec::new();
        let mut all_inputs = Vec::new();
        let mut first = None;
        for call in calls {
            let call = call.get_ref();
            let name = call.name.get_ref();
            if !names.insert(name.as_str()) {
                let message = format!("there are two calls \"{}\"; rename one of them", **name);
                return Err(self.source.error(call.name.span(), message));
            }
            self.check_call(written, call)?;
            let merged = self.merged(written, call)?;
            let mut service = self.live_service(span, &merged)?;
            let inputs = self.service_inputs(&merged, &service.url)?;
            service.messages.template = inputs.template.as_ref().map(|template| template.source());
            mix.push(MixCall {
                name: name.to_string(),
                weight: call.weight.as_ref().map_or(1, |weight| *weight.get_ref()),
                path: service.url.path.clone(),
                http_method: service.http_method.clone(),
                header_names: service.header_names.clone(),
                messages: service.messages.clone(),
                expect: service.expect.clone(),
            });
            all_inputs.push(inputs);
            first.get_or_insert(service);
        }
        let wrong = |message: String| {
            let place = place(&written.calls).unwrap_or_else(|| span.clone());
            Err(self.source.error(place, message))
        };
        match first {
            None => wrong("this list is empty; write [[service.calls]] with a name".to_owned()),
            Some(_) if mix.len() > MixOrder::MAX_CALLS => wrong(format!(
                "a mix has at most {} calls, not {}",
                MixOrder::MAX_CALLS,
                mix.len()
            )),
            Some(service) => Ok((service.with_mix(mix), all_inputs)),
        }
    }

    /// Refuses keys that do not apply to the protocol of the service, and weights that are out of bounds.
    fn check_call(&self, written: &ServiceWritten, call: &CallWritten) -> Result<(), StudyError> {
        let wrong = |place, message: &str| Err(self.source.error(place, message));
        let weights = 1..=MixOrder::MAX_WEIGHT;
        if let Some(weight) = call.weight.as_ref()
            && !weights.contains(weight.get_ref())
        {
            let message = format!("a weight is a whole number from 1 to {}", weights.end());
            return wrong(weight.span(), &message);
        }
        let Some(target) = &written.target else {
            return Ok(());
        };
        if target.get_ref().0.scheme.is_grpc() {
            if let Some(path) = &call.path {
                return wrong(
                    path.span(),
                    "the target is called over gRPC, so each call has a \"method\", not a \"path\"",
                );
            }
            if let Some(method) = &call.http_method {
                return wrong(
                    method.span(),
                    "the target is called over gRPC, which sets the HTTP method itself; leave it out",
                );
            }
        } else if let Some(method) = &call.method {
            return wrong(
                method.span(),
                "the target is called over HTTP, so each call has a \"path\", not a \"method\"",
            );
        }
        Ok(())
    }

    /// The keys of a call, and those of its service for the keys that it does not set.
    fn merged(
        &self,
        written: &ServiceWritten,
        call: &CallWritten,
    ) -> Result<ServiceWritten, StudyError> {
        let mut merged = call.clone().over(written);
        let Some(target) = &mut merged.target else {
            return Ok(merged);
        };
        let url = &mut target.get_mut().0;
        if let Some(path) = &call.path {
            let with_path = url.clone().with_path(path.get_ref());
            *url = with_path.map_err(|what| self.source.error(path.span(), what))?;
        }
        if call.method.is_some() {
            // The method of the call replaces that of the target.
            url.path = "/".to_owned();
        }
        Ok(merged)
    }
}
