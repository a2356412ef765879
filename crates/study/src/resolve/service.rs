//! A live service: what the layers say of it becomes settings.

use std::ops::Range;

use rpcgauge_message::Encoding;
use rpcgauge_message::data::Order;
use rpcgauge_trial::RampPart;
use toml::Spanned;

use super::Resolver;
use super::loader::SchemaSource;
use super::own::schema_source;
use super::settings::{Check, fill};
use super::workload::Merged;
use crate::error::StudyError;
use crate::file::{ServiceWritten, check_description};
use crate::read::{PathText, Time};
use crate::setting::Key;
use crate::settings::{
    Arrivals, AtEnd, Keepalive, LiveService, Messages, Protocol, RowsSource, Schedule, Settings,
    Stop, Target, TlsChoice, Transport,
};
use crate::url::{Address, Url};

/// How long a trial of a live service measures when a study bounds it neither by calls nor by time.
const DEFAULT_STOP: Stop = Stop {
    calls: None,
    time_ms: Some(10_000),
};
/// The shortest time of a keep-alive.
const SHORTEST_KEEPALIVE_MS: u64 = 1_000;

/// The settings of a variant that calls a live service.
pub(super) fn live_settings(
    resolver: &mut Resolver<'_>,
    name: &str,
    span: &Range<usize>,
    merged: &Merged<'_>,
    written: &ServiceWritten,
) -> Result<Settings, StudyError> {
    let mut service = resolver.live_service(span, written)?;
    let inputs = resolver.service_inputs(written, &service.url)?;
    service.messages.template = inputs.template.as_ref().map(|template| template.source());
    resolver.services.inputs.insert(name.to_owned(), inputs);
    let protocol = match service.url.scheme.is_grpc() {
        true => Protocol::Grpc,
        false => Protocol::Rest,
    };
    let transport = match service.url.address {
        Address::Tcp { .. } => Transport::Tcp,
        Address::Unix { .. } => Transport::Unix,
    };
    let service = Box::new(service);
    let usual = Settings::new(Target::Live { service }, protocol);
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
        |key| !key.row().is_of_live,
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
        check_description(
            self.source,
            &written.proto,
            &written.include,
            &written.descriptor_set,
        )?;
        let path = |path: &Spanned<PathText>| self.context.loader.path(path.get_ref());
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
                .map_or(Order::InTurn, |order| *order.get_ref()),
        });
        if let (Some(order), None) = (&written.order, &rows) {
            let message =
                "\"order\" is that of \"rows\", and there are none; write rows = \"rows.csv\"";
            return Err(self.source.error(order.span(), message));
        }
        let schema = self.schema_of(written);
        Ok(LiveService {
            url: target,
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
    fn target(&self, span: &Range<usize>, written: &ServiceWritten) -> Result<Url, StudyError> {
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
            (None, Some(given)) => match target.clone().with_method(given.get_ref()) {
                Some(whole) => target = whole,
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

    pub(super) fn schema_of(&self, written: &ServiceWritten) -> SchemaSource {
        let ServiceWritten {
            proto,
            include,
            descriptor_set,
            ..
        } = written;
        schema_source(self.context.loader, proto, include, descriptor_set)
    }
}
