//! A live service: what the layers say of it becomes settings, and what a plan must not hold (header
//! values, message texts) goes beside the plan.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use ring::digest::{SHA256, digest};
use rpcgauge_message::{Encoding, Schema};
use rpcgauge_trial::RampPart;
use toml::Spanned;

use super::loader::{LoadError, SchemaSource, text};
use super::own::schema_source;
use super::settings::{Check, fill};
use super::workload::Merged;
use super::{Combined, Resolver};
use crate::error::StudyError;
use crate::file::{ServiceWritten, StudyFile, WarmupTime};
use crate::plan::Plan;
use crate::plan::order::Rounds;
use crate::read::{Line, Time};
use crate::setting::Key;
use crate::settings::{
    Arrivals, AtEnd, Callee, HttpVersion, Keepalive, LiveService, Messages, Protocol, RowOrder,
    RowsSource, Schedule, Settings, Stop, TemplateSource, TlsChoice, Transport,
};
use crate::target::{Address, Target};

/// How long a trial of a live service measures when a study bounds it neither by calls nor by time.
const DEFAULT_STOP: Stop = Stop {
    calls: None,
    time_ms: Some(10_000),
};
/// Longest warm-up where none is given: long enough for a service of some 100 ms a call to settle.
const LONGEST_WARMUP_MS: u64 = 5_000;
/// Blocks of a comparison where no number is given.
const DEFAULT_BLOCKS: u32 = 10;
/// The shortest time of a keep-alive.
const SHORTEST_KEEPALIVE_MS: u64 = 1_000;

/// Settings that only subjects have.
const OF_SUBJECTS: [Key; 11] = [
    Key::Server,
    Key::Client,
    Key::Style,
    Key::Codec,
    Key::Operation,
    Key::Sample,
    Key::Protocol,
    Key::Encoding,
    Key::Transport,
    Key::N,
    Key::Scale,
];

/// A plan, and what calls to its live services are made of.
#[derive(Debug)]
pub struct Resolved {
    /// What will be done.
    pub plan: Plan,
    /// By the names of variants; of a control, that of the variant that it repeats.
    pub services: BTreeMap<String, ServiceInputs>,
}

/// What calls to a live service are made of beside its settings. It may hold secrets, so no plan and no
/// record has it.
#[derive(Clone)]
pub struct ServiceInputs {
    /// Header fields, or gRPC metadata.
    pub headers: Vec<(String, String)>,
    /// The text that every message is made of.
    pub template: Option<Arc<Template>>,
    /// The type of messages, where files describe it.
    pub schema: Option<Schema>,
}

/// The text of messages.
pub struct Template {
    /// With placeholders.
    pub text: String,
    /// The file that it was read from, `-` for standard input.
    pub path: Option<PathBuf>,
}

impl fmt::Debug for ServiceInputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceInputs").finish_non_exhaustive()
    }
}

impl Template {
    /// As the plan keeps it.
    fn source(&self) -> TemplateSource {
        let hash = digest(&SHA256, self.text.as_bytes());
        TemplateSource {
            path: self.path.clone(),
            bytes: self.text.len() as u64,
            sha256: hash.as_ref().iter().map(|b| format!("{b:02x}")).collect(),
        }
    }
}

/// What was read once for all variants.
#[derive(Default)]
pub(super) struct Read {
    templates: Vec<(String, Arc<Template>)>,
    schemas: Vec<(SchemaSource, Schema)>,
    inputs: BTreeMap<String, ServiceInputs>,
}

/// The settings of a variant that calls a live service.
pub(super) fn live_settings(
    resolver: &mut Resolver<'_>,
    name: &str,
    span: &Range<usize>,
    merged: &Merged<'_>,
    written: &ServiceWritten,
) -> Result<Settings, StudyError> {
    let mut service = resolver.live_service(span, written)?;
    let inputs = resolver.service_inputs(written, &service.target)?;
    service.messages.template = inputs.template.as_ref().map(|template| template.source());
    resolver.services.inputs.insert(name.to_owned(), inputs);
    let protocol = match service.target.scheme.is_grpc() {
        true => Protocol::Grpc,
        false => Protocol::Rest,
    };
    let transport = match service.target.address {
        Address::Tcp { .. } => Transport::Tcp,
        Address::Unix { .. } => Transport::Unix,
    };
    let service = Box::new(service);
    let usual = Settings::new(Callee::Live { service }, protocol);
    let mut settings = Settings {
        encoding: (protocol == Protocol::Grpc).then_some(Encoding::Protobuf),
        transport,
        stop: DEFAULT_STOP,
        schedule: match resolver.searches {
            // The search chooses the rate.
            true => Schedule::Rate {
                per_second: 1.0,
                arrivals: Arrivals::Poisson,
            },
            false => usual.schedule.clone(),
        },
        ..usual
    };
    fill(&mut settings, &merged.layer);
    let check = Check {
        resolver,
        name,
        span,
        layer: &merged.layer,
    };
    check.refuse(
        |key| OF_SUBJECTS.contains(key),
        "is of subjects, and a live service is called here; leave it out",
    )?;
    check.call(&mut settings)?;
    if let Schedule::Ramp { parts, .. } = &settings.schedule {
        check.refuse(
            |key| *key == Key::Time,
            "is the ramp's own: it ends with its last part; leave it out",
        )?;
        settings.stop.time_ms = Some(RampPart::time_of(parts));
    }
    if let (Some(at_end), Some(_)) = (&written.at_end, settings.stop.calls)
        && *at_end.get_ref() == AtEnd::Cancel
    {
        let message = "\"at-end\" \"cancel\" is for an end by time, and \"calls\" counts calls that may \
            end; leave one of the two out";
        return Err(resolver.source.error(at_end.span(), message));
    }
    Ok(settings)
}

impl Resolver<'_> {
    /// The service as a plan keeps it.
    fn live_service(
        &self,
        span: &Range<usize>,
        written: &ServiceWritten,
    ) -> Result<LiveService, StudyError> {
        let target = self.target(span, written)?;
        let http_method = (!target.scheme.is_grpc()).then(|| {
            let usual = match written.data.is_some() || written.rows.is_some() {
                true => "POST",
                false => "GET",
            };
            let given = written.http_method.as_ref();
            given.map_or(usual, |given| given.get_ref()).to_owned()
        });
        let path = |path: &Spanned<Line>| self.context.loader.path(path.get_ref());
        let tls = target.scheme.is_tls().then(|| TlsChoice {
            ca: written.cacert.as_ref().map(path),
            cert: written.cert.as_ref().map(path),
            key: written.key.as_ref().map(path),
            server_name: written
                .server_name
                .as_ref()
                .map(|n| n.get_ref().to_string()),
            insecure: written.insecure.as_ref().is_some_and(|i| *i.get_ref()),
        });
        for (one, other, names) in [
            (&written.cert, &written.key, ["cert", "key"]),
            (&written.key, &written.cert, ["key", "cert"]),
        ] {
            if let (Some(one), None) = (one, other) {
                let message = format!("\"{}\" needs \"{}\" beside it", names[0], names[1]);
                return Err(self.source.error(one.span(), message));
            }
        }
        let headers = written.headers.iter().flatten();
        let rows = written.rows.as_ref().map(|rows| RowsSource {
            path: path(rows),
            order: written
                .order
                .as_ref()
                .map_or(RowOrder::InTurn, |order| *order.get_ref()),
        });
        if let (Some(order), None) = (&written.order, &rows) {
            let message =
                "\"order\" is that of \"rows\", and there are none; write rows = \"rows.csv\"";
            return Err(self.source.error(order.span(), message));
        }
        let schema = self.schema_of(written);
        Ok(LiveService {
            target,
            tls,
            http_method,
            header_names: headers.map(|field| field.get_ref().name.clone()).collect(),
            messages: Messages {
                // Filled in when it has been read.
                template: None,
                rows,
                schema: schema
                    .proto
                    .into_iter()
                    .chain(schema.descriptor_set)
                    .collect(),
            },
            at_end: written
                .at_end
                .as_ref()
                .map_or(AtEnd::Wait, |at_end| *at_end.get_ref()),
            keepalive: self.keepalive(written)?,
        })
    }

    /// What is called: the target with the method and the address that other keys give it.
    fn target(&self, span: &Range<usize>, written: &ServiceWritten) -> Result<Target, StudyError> {
        let Some(url) = &written.target else {
            let message = "[service] needs a \"target\"; write target = \"grpc://HOST:PORT/package.Service/Method\" \
                or \"http://HOST:PORT/path\"";
            return Err(self.source.error(span.clone(), message));
        };
        let wrong = |place: Range<usize>, message: String| Err(self.source.error(place, message));
        let mut target = url.get_ref().0.clone();
        if target.path.contains("{{") {
            let message = format!(
                "{target}: placeholders are filled in \"data\" alone, and every call has the same path and \
                 query; write a value in place of {{{{…}}}}, or %7B%7B where braces are meant"
            );
            return wrong(url.span(), message);
        }
        if let Some(path) = &written.unix_socket {
            target = target.over_unix_socket(&self.context.loader.path(path.get_ref()));
        }
        if !target.scheme.is_grpc() {
            return Ok(target);
        }
        match (target.method(), &written.method) {
            (Some(_), None) => {}
            (None, None) => {
                let message = format!(
                    "{target}: which method? Write it behind the address, as in \
                     grpc://HOST:PORT/package.Service/Method, or give \"method\""
                );
                return wrong(url.span(), message);
            }
            (Some(named), Some(given)) => {
                let message = format!("the target names {named} already; leave one of the two out");
                return wrong(given.span(), message);
            }
            (None, Some(given)) => match method_path(given.get_ref()) {
                Some(path) => target.path = path,
                None => {
                    let given_text = given.get_ref().as_str();
                    let message =
                        format!("\"{given_text}\" is no gRPC method; write package.Service/Method");
                    return wrong(given.span(), message);
                }
            },
        }
        Ok(target)
    }

    fn keepalive(&self, written: &ServiceWritten) -> Result<Option<Keepalive>, StudyError> {
        let ms = |time: &Spanned<Time>| {
            let Time(ms) = *time.get_ref();
            let message =
                "must be at least 1s: the system's keep-alive of TCP counts whole seconds";
            match ms < SHORTEST_KEEPALIVE_MS {
                true => Err(self.source.error(time.span(), message)),
                false => Ok(ms),
            }
        };
        let timeout_ms = written.keepalive_timeout.as_ref().map(ms).transpose()?;
        let Some(time) = &written.keepalive else {
            return match &written.keepalive_timeout {
                None => Ok(None),
                Some(timeout) => {
                    let message = "\"keepalive-timeout\" needs \"keepalive\" beside it";
                    Err(self.source.error(timeout.span(), message))
                }
            };
        };
        Ok(Some(Keepalive {
            time_ms: ms(time)?,
            timeout_ms: timeout_ms.unwrap_or(Keepalive::TIMEOUT_MS),
        }))
    }

    fn schema_of(&self, written: &ServiceWritten) -> SchemaSource {
        let ServiceWritten {
            proto,
            include,
            descriptor_set,
            ..
        } = written;
        schema_source(self.context.loader, proto, include, descriptor_set)
    }

    fn service_inputs(
        &mut self,
        written: &ServiceWritten,
        target: &Target,
    ) -> Result<ServiceInputs, StudyError> {
        let mut headers = Vec::new();
        for field in written.headers.iter().flatten() {
            let header = field.get_ref();
            let value = match header.variable() {
                None => header.value.clone(),
                Some(name) => self.context.loader.variable(name).ok_or_else(|| {
                    let message = format!("the environment variable \"{name}\" is not set");
                    self.source.error(field.span(), message)
                })?,
            };
            headers.push((header.name.clone(), value));
        }
        let template = written.data.as_ref();
        let template = template
            .map(|data| self.template(data, written))
            .transpose()?;
        let schema = match target.method() {
            Some(_) => self.described(written)?,
            None => None,
        };
        Ok(ServiceInputs {
            headers,
            template,
            schema,
        })
    }

    /// The text of `data`, read once for all variants.
    fn template(
        &mut self,
        data: &Spanned<String>,
        written: &ServiceWritten,
    ) -> Result<Arc<Template>, StudyError> {
        let known = self.services.templates.iter();
        if let Some((_, template)) = known.into_iter().find(|(known, _)| known == data.get_ref()) {
            return Ok(Arc::clone(template));
        }
        let wrong = |message: &str| Err(self.source.error(data.span(), message));
        let path = data.get_ref().strip_prefix('@');
        let is_stdin = |path: Option<&str>| path == Some("-");
        if path == Some("") {
            return wrong("@ names no file; write @FILE, or @- for standard input");
        }
        if is_stdin(path) && is_stdin(written.rows.as_ref().map(|rows| rows.get_ref().as_str())) {
            return wrong(
                "\"data\" and \"rows\" cannot both read standard input; give one of them a file",
            );
        }
        let path = path.map(|path| self.context.loader.path(path));
        let text = match &path {
            None => Ok(data.get_ref().clone()),
            Some(path) => text("data", path),
        };
        let text = text.map_err(|error| self.source.error(data.span(), error.message))?;
        let template = Arc::new(Template { text, path });
        let read = (data.get_ref().clone(), Arc::clone(&template));
        self.services.templates.push(read);
        Ok(template)
    }

    /// The description of messages, compiled once for all variants.
    fn described(&mut self, written: &ServiceWritten) -> Result<Option<Schema>, StudyError> {
        let source = self.schema_of(written);
        let set = written.descriptor_set.as_ref();
        let place = match (&written.proto, set) {
            (None, None) => return Ok(None),
            (Some(_), Some(set)) => {
                let message = "a message is described by \"proto\" or by \"descriptor-set\"; keep one of the two";
                return Err(self.source.error(set.span(), message));
            }
            (Some(proto), None) => proto.span(),
            (None, Some(set)) => set.span(),
        };
        if let Some((_, schema)) = self
            .services
            .schemas
            .iter()
            .find(|(known, _)| *known == source)
        {
            return Ok(Some(schema.clone()));
        }
        let read = source.read();
        let schema = read.map_err(|LoadError { message, .. }| self.source.error(place, message))?;
        self.services.schemas.push((source, schema.clone()));
        Ok(Some(schema))
    }

    /// Refuses keys that none of the services can have: gRPC and HTTP may be compared, and each has keys
    /// of its own.
    pub(super) fn check_services(&self, combined: &[Combined]) -> Result<(), StudyError> {
        let all: Vec<_> = combined.iter().filter_map(Combined::service).collect();
        let none_is = |is: fn(&Settings, &LiveService) -> bool| {
            all.iter()
                .all(|(_, settings, service)| !is(settings, service))
        };
        let is_grpc = |_: &Settings, service: &LiveService| service.target.scheme.is_grpc();
        let is_http = |_: &Settings, service: &LiveService| !service.target.scheme.is_grpc();
        let is_tls = |_: &Settings, service: &LiveService| service.target.scheme.is_tls();
        let can_be_silent = |settings: &Settings, _: &LiveService| {
            settings.http == HttpVersion::Http2 || settings.transport == Transport::Tcp
        };
        type Place = fn(&ServiceWritten) -> Option<Range<usize>>;
        let rules: [(bool, Place, &str); 5] = [
            (
                none_is(is_http),
                |s| Some(s.http_method.as_ref()?.span()),
                "is called by gRPC, which has its own; leave it out",
            ),
            (
                none_is(is_grpc),
                |s| Some(s.method.as_ref()?.span()),
                "is called by HTTP; the path behind its host says what is called",
            ),
            (
                none_is(is_grpc),
                |s| {
                    Some(s.proto.as_ref()?.span())
                        .or_else(|| Some(s.descriptor_set.as_ref()?.span()))
                },
                "is called by HTTP, where bodies are sent as they are given; leave the description of messages out",
            ),
            (
                none_is(is_tls),
                ServiceWritten::tls,
                "is called without TLS; write grpcs:// or https://",
            ),
            (
                none_is(can_be_silent),
                |s| Some(s.keepalive.as_ref()?.span()),
                "is called by HTTP/1.1 over a Unix socket, where there is nothing to keep alive; leave it out",
            ),
        ];
        for (is_refused, place, why) in rules {
            let mut said = all.iter().filter(|_| is_refused);
            if let Some((place, service)) =
                said.find_map(|(w, _, service)| Some((place(w)?, service)))
            {
                let message = format!("{} {why}", service.target);
                return Err(self.source.error(place, message));
            }
        }
        self.check_concurrency(&all)
    }

    /// Refuses services of which one has as many calls in flight as are asked for, and another cannot: they
    /// would be compared under different loads.
    fn check_concurrency(
        &self,
        all: &[(&ServiceWritten, &Settings, &LiveService)],
    ) -> Result<(), StudyError> {
        let fewer = |settings: &Settings| match settings.schedule {
            Schedule::Closed { in_flight } => settings.at_a_time().filter(|most| *most < in_flight),
            Schedule::Rate { .. } | Schedule::Ramp { .. } => None,
        };
        let limited = all
            .iter()
            .find_map(|(_, s, _)| Some((fewer(s)?, &s.schedule)));
        let Some((least, schedule @ Schedule::Closed { in_flight })) = limited else {
            return Ok(());
        };
        match all.iter().any(|(_, s, _)| s.schedule == *schedule && fewer(s).is_none()) {
            false => Ok(()),
            true => Err(self.source.whole(format!(
                "connections: one target carries many calls on a connection and another one call, so that \
                 {in_flight} calls would be in flight to one and {least} to the other; give connections \
                 {in_flight}, or leave it out"
            ))),
        }
    }

    /// The bounds of the warm-up of trials of live services: no longer than what it prepares for, unless
    /// that was asked for. A ramp has none: its first part can be one, and is then measured like the others.
    pub(super) fn live_warmup(
        &self,
        study: &StudyFile,
        combined: &[Combined],
    ) -> Result<Stop, StudyError> {
        let settings = || combined.iter().map(|one| &one.variant.settings);
        if settings().any(|s| matches!(s.schedule, Schedule::Ramp { .. })) {
            if study.top.warm_up.time.is_some_and(|WarmupTime(ms)| ms > 0) || combined.len() > 1 {
                let message = "a ramp has no warm-up and is compared with nothing; begin the ramp with a \
                    warm-up, as in rate = \"100:5s,100..1000:30s\", and leave \"warm-up\" and other variants out";
                let place = combined.iter().find_map(|one| one.layer.span(Key::Rate));
                return Err(self.source.error(place.unwrap_or_default(), message));
            }
            return Ok(Stop {
                calls: None,
                time_ms: Some(0),
            });
        }
        let longest = settings().filter_map(|s| s.stop.time_ms).max();
        Ok(Stop {
            calls: settings().filter_map(|s| s.stop.calls).max(),
            time_ms: Some(longest.unwrap_or(LONGEST_WARMUP_MS).min(LONGEST_WARMUP_MS)),
        })
    }

    /// What was read of the services, by the names of variants.
    pub(super) fn take_inputs(&mut self) -> BTreeMap<String, ServiceInputs> {
        std::mem::take(&mut self.services.inputs)
    }
}

impl Combined {
    /// The live service that it calls, as written and as resolved.
    fn service(&self) -> Option<(&ServiceWritten, &Settings, &LiveService)> {
        let settings = &self.variant.settings;
        Some((self.service.as_ref()?, settings, settings.callee.live()?))
    }
}

impl StudyFile {
    /// Whether live services are called.
    pub(super) fn is_live(&self) -> bool {
        self.sections().any(|section| {
            let variants = &section.part.variants;
            section.part.service.is_some() || variants.iter().any(|one| one.service.is_some())
        })
    }

    /// Repetitions of a study of live services, of which nothing is started afresh.
    pub(super) fn live_rounds(&self, variants: usize, asked: Option<u32>) -> Rounds {
        let usual = if variants == 1 { 1 } else { DEFAULT_BLOCKS };
        let written = self.part.blocks.map(std::num::NonZeroU32::get);
        Rounds {
            invocations: 1,
            blocks: asked.or(written).unwrap_or(usual),
        }
    }
}

/// `/package.Service/Method` from what people write: with or without the first `/`, and with a `.`
/// for the last one.
fn method_path(given: &str) -> Option<String> {
    let name = given.strip_prefix('/').unwrap_or(given);
    let (service, method) = name.split_once('/').or_else(|| name.rsplit_once('.'))?;
    let plain = |part: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        !part.is_empty() && part.chars().all(is_plain)
    };
    (plain(service) && plain(method)).then(|| format!("/{service}/{method}"))
}
