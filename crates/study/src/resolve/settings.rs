//! Merged layers to settings: defaults filled in, contradictions refused at their place.

mod stacks;

use std::ops::Range;

use rpcgauge_message::{Compression, Encoding, OverLimit, Workload, WorkloadError, WorkloadSpec};
use toml::Spanned;

use super::combine::Merged;
use super::{Resolver, Sent};
use crate::error::StudyError;
use crate::features::{ENGINE, REFERENCE, Role, WorkloadKind};
use crate::file::{CODEC_KEYS, Key, Layer, Value, WorkloadWritten};
use crate::scale;
use crate::settings::{
    Arrivals, Callee, ConnectionUse, HttpVersion, Operation, Protocol, Sample, Schedule, Settings,
    Stop, Style, Transport,
};
use crate::words::Word as _;

/// How long a trial runs when a study bounds it neither by calls nor by time.
pub const DEFAULT_STOP: Stop = Stop {
    calls: None,
    time_ms: Some(1_000),
};
/// When a call that has not ended has failed, unless a study says otherwise.
pub const DEFAULT_DEADLINE_MS: u64 = 10_000;

macro_rules! getter {
    ($name:ident, $variant:ident, $type:ty) => {
        fn $name(layer: &Layer, key: Key) -> Option<$type> {
            match layer.get(key) {
                Some(Value::$variant(value)) => Some(value.clone()),
                _ => None,
            }
        }
    };
}
getter!(text, Stack, String);
getter!(style, Style, Style);
getter!(operation, Operation, Operation);
getter!(sample, Sample, Sample);
getter!(protocol, Protocol, Protocol);
getter!(http, Http, HttpVersion);
getter!(encoding, Encoding, Encoding);
getter!(compression, Compression, Compression);
getter!(transport, Transport, Transport);
getter!(connection, Connection, ConnectionUse);
getter!(arrivals, Arrivals, Arrivals);
getter!(count, Count, u32);
getter!(rate, Rate, f64);
getter!(calls, Calls, u64);
getter!(time, Time, u64);

/// Fills in the defaults that depend on nothing but other settings, so that an exclusion can name
/// them whether or not they were written.
pub(super) fn complete(layer: &mut Layer) {
    if layer.get(Key::Codec).is_some() {
        let place = layer.span(Key::Codec).unwrap_or(0..0);
        let sample = Spanned::new(place, Value::Sample(Sample::Response));
        layer.0.entry(Key::Sample).or_insert(sample);
        return;
    }
    let mut fill = |key: Key, like: Key, value: Value| {
        let span = layer.span(key).or_else(|| layer.span(like)).unwrap_or(0..0);
        layer
            .0
            .entry(key)
            .or_insert_with(|| Spanned::new(span, value));
    };
    for (key, stack) in [(Key::Server, REFERENCE), (Key::Client, ENGINE)] {
        fill(key, key, Value::Stack(stack.to_owned()));
    }
    fill(
        Key::Transport,
        Key::Transport,
        Value::Transport(Transport::Tcp),
    );
    fill(
        Key::Connection,
        Key::Connection,
        Value::Connection(ConnectionUse::Reuse),
    );
    complete_compression(layer);
    if let Some(protocol) = protocol(layer, Key::Protocol) {
        let (version, format) = match protocol {
            Protocol::Grpc => (HttpVersion::Http2, Encoding::Protobuf),
            Protocol::Rest => (HttpVersion::Http1, Encoding::Json),
        };
        let place = layer.span(Key::Protocol).unwrap_or(0..0);
        let at = |value| Spanned::new(place.clone(), value);
        layer.0.entry(Key::Http).or_insert(at(Value::Http(version)));
        layer
            .0
            .entry(Key::Encoding)
            .or_insert(at(Value::Encoding(format)));
    }
}

/// `compression` stands for both directions where they are the same.
fn complete_compression(layer: &mut Layer) {
    let both = compression(layer, Key::Compression).unwrap_or(Compression::None);
    let place = layer.span(Key::Compression).unwrap_or(0..0);
    let both = Spanned::new(place, Value::Compression(both));
    for key in [Key::RequestCompression, Key::ResponseCompression] {
        layer.0.entry(key).or_insert_with(|| both.clone());
    }
    let request = layer.0.get(&Key::RequestCompression).cloned();
    match request {
        Some(request) if layer.get(Key::ResponseCompression) == Some(request.get_ref()) => {
            layer.0.insert(Key::Compression, request);
        }
        _ => {
            layer.0.remove(&Key::Compression);
        }
    }
}

/// One variant under completion, with all that an error about it needs.
struct Subject<'r, 'a> {
    resolver: &'r Resolver<'a>,
    name: &'r str,
    span: &'r Range<usize>,
    layer: &'r Layer,
}

/// The settings of a variant.
pub(super) fn settings_of(
    resolver: &mut Resolver<'_>,
    name: &str,
    span: &Range<usize>,
    merged: &Merged<'_>,
) -> Result<Settings, StudyError> {
    let workload = workload(resolver, name, span, merged)?;
    let layer = &merged.layer;
    let subject = Subject {
        resolver,
        name,
        span,
        layer,
    };
    let settings = match text(layer, Key::Codec) {
        Some(codec) => subject.codec(codec, workload.clone())?,
        None => subject.called(workload.clone())?,
    };
    if let (WorkloadSpec::Own(own), false) = (&workload, settings.response_compression.is_none())
        && let Some(scale) = scale_of(merged).filter(|scale| *scale.get_ref() > 1)
        && let Some(why) = scale::alike(own)
    {
        let message = format!("variant \"{name}\" compresses, but {why}");
        return Err(subject.resolver.source.error(scale.span(), message));
    }
    let sent = (
        workload,
        settings.encoding.unwrap_or(Encoding::Protobuf),
        settings.request_compression,
        settings.response_compression,
    );
    resolver.check_limits(sent).map_err(|problem| {
        let (place, file) = sample_place(merged, problem.sample, span);
        let message = format!("{file}variant \"{name}\" sends {problem}");
        resolver.source.error(place, message)
    })?;
    Ok(settings)
}

fn stop(layer: &Layer) -> Stop {
    match (calls(layer, Key::Calls), time(layer, Key::Time)) {
        (None, None) => DEFAULT_STOP,
        (calls, time_ms) => Stop { calls, time_ms },
    }
}

fn schedule(layer: &Layer) -> Schedule {
    match rate(layer, Key::Rate) {
        Some(per_second) => Schedule::Rate {
            per_second,
            arrivals: arrivals(layer, Key::Arrivals).unwrap_or(Arrivals::Poisson),
        },
        None => Schedule::Closed {
            in_flight: count(layer, Key::InFlight).unwrap_or(1),
        },
    }
}

impl Subject<'_, '_> {
    /// The settings of a call.
    fn called(&self, workload: WorkloadSpec) -> Result<Settings, StudyError> {
        let layer = self.layer;
        self.refuse(
            &CODEC_KEYS,
            "is a codec's, and there is none; write codec = \"…\"",
        )?;
        let Some(protocol) = protocol(layer, Key::Protocol) else {
            return Err(self.error(
                None,
                "it has no protocol; write protocol = \"grpc\" or \"rest\"",
            ));
        };
        let compression = |key| compression(layer, key).unwrap_or(Compression::None);
        let settings = Settings {
            callee: Callee::Subject {
                server: text(layer, Key::Server).unwrap_or_default(),
                client: self.client()?,
                workload,
            },
            protocol,
            http: http(layer, Key::Http).unwrap_or(HttpVersion::Http2),
            encoding: Some(encoding(layer, Key::Encoding).unwrap_or(Encoding::Protobuf)),
            request_compression: compression(Key::RequestCompression),
            response_compression: compression(Key::ResponseCompression),
            transport: transport(layer, Key::Transport).unwrap_or(Transport::Tcp),
            connection: connection(layer, Key::Connection).unwrap_or(ConnectionUse::Reuse),
            connections: 1,
            schedule: schedule(layer),
            stop: stop(layer),
            deadline_ms: time(layer, Key::Deadline).unwrap_or(DEFAULT_DEADLINE_MS),
        };
        self.check(&settings)?;
        let connections = self.connections(&settings)?;
        Ok(Settings {
            connections,
            ..settings
        })
    }

    fn error(&self, key: Option<Key>, message: impl std::fmt::Display) -> StudyError {
        let place = key
            .and_then(|key| self.layer.span(key))
            .filter(|place| !place.is_empty());
        let place = place.unwrap_or_else(|| self.span.clone());
        self.resolver
            .source
            .error(place, format!("variant \"{}\": {message}", self.name))
    }

    /// Connections open at once. HTTP/1.1 carries one call at a time on a connection, and so does
    /// a connection that is made for one call: then they must be as many as the calls in flight.
    fn connections(&self, settings: &Settings) -> Result<u32, StudyError> {
        let asked = count(self.layer, Key::Connections);
        let one_each =
            settings.http == HttpVersion::Http1 || settings.connection == ConnectionUse::PerCall;
        let why = if settings.connection == ConnectionUse::PerCall {
            "a connection made for one call carries one call"
        } else {
            "HTTP/1.1 carries one call at a time on a connection"
        };
        match (settings.schedule.clone(), asked) {
            (Schedule::Closed { in_flight }, None) if one_each => Ok(in_flight),
            (Schedule::Closed { in_flight }, Some(asked)) if one_each && asked != in_flight => {
                Err(self.error(
                    Some(Key::Connections),
                    format!("{why}, so {in_flight} in flight need {in_flight} connections, not {asked}; leave \"connections\" out"),
                ))
            }
            (Schedule::Closed { in_flight }, Some(asked)) if asked > in_flight => Err(self.error(
                Some(Key::Connections),
                format!("{in_flight} in flight cannot use {asked} connections; write fewer, or a larger in-flight"),
            )),
            (Schedule::Rate { .. }, None) if one_each => Err(self.error(
                Some(Key::Rate),
                format!("{why}, so a rate needs their number; write connections = 8"),
            )),
            (_, asked) => Ok(asked.unwrap_or(1)),
        }
    }

    fn check(&self, settings: &Settings) -> Result<(), StudyError> {
        if settings.protocol == Protocol::Grpc && settings.http == HttpVersion::Http1 {
            return Err(self.error(
                Some(Key::Http),
                "gRPC needs HTTP/2; write http = \"2\", or exclude it by [[exclude]] with protocol = \"grpc\" and http = \"1.1\"",
            ));
        }
        if self.layer.get(Key::Arrivals).is_some() && self.layer.get(Key::Rate).is_none() {
            return Err(self.error(
                Some(Key::Arrivals),
                "\"arrivals\" spaces calls at a \"rate\", and there is none; write rate = 1000",
            ));
        }
        let Callee::Subject { server, client, .. } = &settings.callee else {
            return Ok(());
        };
        self.has(Key::Server, server, Role::Server, settings)?;
        match client {
            None => Ok(()),
            Some(client) => self.has(Key::Client, &client.stack, Role::Client, settings),
        }
    }
}

/// How many times as long the answer of a user's own method is made, where that is said.
fn scale_of(merged: &Merged<'_>) -> Option<Spanned<u32>> {
    let of_layers = count(&merged.layer, Key::Scale)
        .and_then(|scale| Some(Spanned::new(merged.layer.span(Key::Scale)?, scale)));
    of_layers.or_else(|| match merged.workload {
        Some(WorkloadWritten::Own(own)) => own.scale.clone(),
        _ => None,
    })
}

/// The workload with its size: the layers' `n` or `scale`, or else the workload's own.
fn workload(
    resolver: &mut Resolver<'_>,
    name: &str,
    span: &Range<usize>,
    merged: &Merged<'_>,
) -> Result<WorkloadSpec, StudyError> {
    let source = resolver.source;
    let size = |key: Key| {
        let size = count(&merged.layer, key)?;
        Some(Spanned::new(merged.layer.span(key)?, size))
    };
    match merged.workload {
        None => Err(source.error(
            span.clone(),
            format!("variant \"{name}\": it calls nothing; write [workload] with name = \"echo\" and n = 10"),
        )),
        Some(WorkloadWritten::Own(own)) => {
            if let Some(n) = size(Key::N) {
                let message = "\"n\" is for built-in workloads; \"scale\" makes your own answer longer";
                return Err(source.error(n.span(), message));
            }
            let scale = scale_of(merged);
            let limits = resolver.context.overrides.limits;
            resolver.own.load(source, own, scale, limits).map(|own| WorkloadSpec::Own(Box::new(own)))
        }
        Some(WorkloadWritten::BuiltIn { kind, n }) => {
            if let Some(scale) = size(Key::Scale) {
                let message = "\"scale\" is for a method of your own; built-in workloads have \"n\"";
                return Err(source.error(scale.span(), message));
            }
            let n = size(Key::N).or_else(|| n.clone());
            let place = n.as_ref().map_or_else(|| kind.span(), Spanned::span);
            let spec = built_in(source, kind, n)?;
            resolver.made(&spec).map_err(|problem| source.error(place, problem.to_string()))?;
            Ok(spec)
        }
    }
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
    fn check_limits(&mut self, sent: Sent) -> Result<(), OverLimit> {
        if self.within_limits.contains(&sent) {
            return Ok(());
        }
        // What cannot be made was refused before, or is told by its trials.
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
fn sample_place(
    merged: &Merged<'_>,
    sample: Sample,
    variant: &Range<usize>,
) -> (Range<usize>, String) {
    match merged.workload {
        Some(WorkloadWritten::Own(own)) => {
            let file = match sample {
                Sample::Request => &own.request,
                Sample::Response => &own.response,
            };
            (file.span(), format!("{}: ", file.get_ref()))
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
