//! A live service: turns its merged layers into settings.

use std::ops::Range;
use std::path::{Path, PathBuf};

use rpcgauge_message::data::Order;
use rpcgauge_trial::{Pace, RampPart, abstract_name, is_rate};
use toml::Spanned;

use super::Resolver;
use super::inputs::ServiceInputs;
use super::loader::SchemaSource;
use super::own::schema_source;
use super::settings::{Check, apply_layer};
use super::workload::Wanted;
use crate::error::StudyError;
use crate::expectation::Expectation;
use crate::file::{ServiceWritten, check_description};
use crate::read::{PathText, Time, place, value};
use crate::setting::Key;
use crate::settings::{
    Arrivals, AtEnd, CallOptions, Keepalive, LiveCall, LiveService, LiveWire, MessageCount,
    Messages, RowsSource, Schedule, Settings, StartCommand, Stop, StreamOptions, Target, TlsChoice,
};
use crate::url::{Address, PORT, Url};

/// The length of a trial of a live service that a study bounds neither by calls nor by time.
const DEFAULT_STOP: Stop = Stop::after_ms(10_000);
/// The default time that a command may take until its service listens, ms.
const READY_WITHIN_MS: u64 = 60_000;
/// The minimum time of a keep-alive, ms.
const MIN_KEEPALIVE_MS: u64 = 1_000;

impl Resolver<'_> {
    /// The settings of a variant that calls a live service.
    pub(super) fn live_settings(
        &mut self,
        one: &Wanted<'_>,
        written: &ServiceWritten,
    ) -> Result<Settings, StudyError> {
        let (service, inputs) = match &written.calls {
            None => {
                let mut service = self.live_service(one.span, written)?;
                let inputs = self.service_inputs(written, &service.url)?;
                service.messages.template =
                    inputs.template.as_ref().map(|template| template.source());
                (service, vec![inputs])
            }
            Some(calls) => self.mixed_service(one.span, written, calls.get_ref())?,
        };
        let usual = CallOptions::default();
        let usual = CallOptions {
            // The server needs time to end a call after the call's own time.
            deadline_ms: usual.deadline_ms + service.stream.time_ms.unwrap_or(0),
            ..usual
        };
        let sets_connections = one.merged.layer.span(Key::Connections).is_some();
        let inputs = inputs.into_iter().map(|inputs| ServiceInputs {
            sets_connections,
            ..inputs
        });
        self.services.insert(one.name.to_owned(), inputs.collect());
        let mut settings = Settings {
            target: Target::from(LiveCall {
                wire: LiveWire::default_for(service.url.scheme),
                service,
                options: if self.searches {
                    // The search chooses the rate.
                    CallOptions {
                        schedule: Schedule::Rate {
                            per_second: 1.0,
                            arrivals: Arrivals::Poisson,
                        },
                        ..usual
                    }
                } else {
                    usual
                },
                threads: 1,
            }),
            stop: DEFAULT_STOP,
        };
        let filled = apply_layer(&mut settings, &one.merged.layer);
        let check = Check::of(self, one);
        check.filled(filled)?;
        check.settings(&mut settings)?;
        if let Some(Schedule::Ramp { parts, .. }) = settings.target.options().map(|o| &o.schedule) {
            check.refuse(
                |key| *key == Key::Time,
                "does not apply to a ramp, which ends with its last part; leave it out",
            )?;
            settings.stop.time_ms = Some(RampPart::time_of(parts));
        }
        if let (Some(at_end), Some(_)) = (&written.at_end, settings.stop.calls)
            && *at_end.get_ref() == AtEnd::Cancel
        {
            let message = "at-end = \"cancel\" needs a trial that ends by time, and \"calls\" ends it by \
                count; leave one of the two out";
            return Err(self.source.error(at_end.span(), message));
        }
        Ok(settings)
    }

    /// The service as stored in a plan, without a mix.
    pub(super) fn live_service(
        &self,
        span: &Range<usize>,
        written: &ServiceWritten,
    ) -> Result<LiveService, StudyError> {
        let url = self.target(span, written)?;
        let has_body = written.data.is_some() || written.rows.is_some();
        let is_http = matches!(LiveWire::default_for(url.scheme), LiveWire::Http(_));
        let http_method = is_http.then(|| {
            let usual = if has_body { "POST" } else { "GET" };
            value(&written.http_method).map_or(usual.to_owned(), String::from)
        });
        check_description(
            self.source,
            &written.proto,
            &written.include,
            &written.descriptor_set,
        )?;
        let path = |path: &Spanned<PathText>| self.context.loader.path(path.get_ref());
        let tls = url.scheme.is_tls().then(|| TlsChoice {
            ca: written.cacert.as_ref().map(path),
            cert: written.cert.as_ref().map(path),
            key: written.key.as_ref().map(path),
            server_name: value(&written.server_name).map(String::from),
            insecure: value(&written.insecure).unwrap_or(false),
            allow_missing_alpn: value(&written.allow_missing_alpn).unwrap_or(false),
        });
        for (one, other, names) in [
            (&written.cert, &written.key, ["cert", "key"]),
            (&written.key, &written.cert, ["key", "cert"]),
        ] {
            if let (Some(one), None) = (one, other) {
                let message = format!("\"{}\" needs \"{}\" as well", names[0], names[1]);
                return Err(self.source.error(one.span(), message));
            }
        }
        let headers = written.headers.iter().flatten();
        let rows = written.rows.as_ref().map(|rows| RowsSource {
            path: path(rows),
            order: value(&written.order).unwrap_or(Order::InTurn),
        });
        if let (Some(order), None) = (&written.order, &rows) {
            let message =
                "\"order\" applies to \"rows\", and there are none; write rows = \"rows.csv\"";
            return Err(self.source.error(order.span(), message));
        }
        if let Some(strategy) = &written.lb_strategy
            && !matches!(url.address, Address::Tcp { .. })
        {
            let message = "\"lb-strategy\" is for a running service with a host name; leave it out";
            return Err(self.source.error(strategy.span(), message));
        }
        let schema = self.schema_of(written);
        let schema = schema.proto.into_iter().chain(schema.descriptor_set);
        Ok(LiveService {
            start: self.start(&url, written)?,
            expect: self.expectations(&url, written)?,
            stream: self.stream(&url, written)?,
            url,
            tls,
            http_method,
            header_names: headers.map(|field| field.get_ref().name.clone()).collect(),
            messages: Messages {
                // Filled in once the template has been read.
                template: None,
                rows,
                schema: schema.collect(),
            },
            at_end: value(&written.at_end).unwrap_or_default(),
            // Replaced by a trial's share once the trials are known.
            max_requests: value(&written.max_requests),
            keepalive: self.keepalive(written)?,
            lb_strategy: value(&written.lb_strategy).unwrap_or_default(),
            addresses: Vec::new(),
            per_user: false,
            calls: Vec::new(),
        })
    }

    /// The target, with the method and the address that other keys set.
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
                "{target}: placeholders are filled in \"data\" and \"headers\" only, and every call has the same \
                 path and query; write a value in place of {{{{…}}}}, or %7B%7B where braces are meant"
            );
            return wrong(url.span(), message);
        }
        if let Some(written) = &written.unix_socket {
            let written = written.get_ref();
            // The name of an abstract socket is not relative to the study's folder.
            let path = match abstract_name(Path::new(&**written)) {
                Some(_) => PathBuf::from(&**written),
                None => self.context.loader.path(written),
            };
            target = target.over_unix_socket(&path);
        }
        if !target.scheme.is_grpc() {
            return Ok(target);
        }
        match (target.method(), &written.method) {
            (Some(_), None) => Ok(target),
            (None, None) => {
                let message = format!(
                    "{target} names no method; append one, as in \
                     grpc://HOST:PORT/package.Service/Method, or give \"method\" (--method)"
                );
                wrong(url.span(), message)
            }
            (Some(named), Some(given)) => {
                let message = format!("the target already names {named}; leave one of the two out");
                wrong(given.span(), message)
            }
            (None, Some(given)) => {
                let method = given.get_ref().as_str();
                target.with_method(method).ok_or_else(|| {
                    let message =
                        format!("\"{method}\" is not a gRPC method; write package.Service/Method");
                    self.source.error(given.span(), message)
                })
            }
        }
    }

    /// How the service is started. A command and a chosen port need each other.
    fn start(
        &self,
        url: &Url,
        written: &ServiceWritten,
    ) -> Result<Option<StartCommand>, StudyError> {
        let has_chosen_port = matches!(url.address, Address::ChosenPort { .. });
        let wrong = |place: &Option<Range<usize>>, message: String| {
            Err(self
                .source
                .error(place.clone().unwrap_or_default(), message))
        };
        match &written.command {
            None if has_chosen_port => wrong(
                &place(&written.target),
                format!("{url}: {PORT} is for a service that a \"command\" starts; write its port"),
            ),
            None if written.ready_within.is_some() => wrong(
                &place(&written.ready_within),
                "\"ready-within\" needs a \"command\"; leave it out for a running service"
                    .to_owned(),
            ),
            None => Ok(None),
            Some(command) if !has_chosen_port => wrong(
                &Some(command.span()),
                format!(
                    "the service is started on a free port, so its target must contain {PORT}, as in \
                     http://127.0.0.1:{PORT}/path, not {url}"
                ),
            ),
            Some(command) => Ok(Some(StartCommand {
                command: command.get_ref().as_str().to_owned(),
                ready_within_ms: value(&written.ready_within)
                    .map_or(READY_WITHIN_MS, |Time(ms)| ms),
            })),
        }
    }

    fn expectations(
        &self,
        url: &Url,
        written: &ServiceWritten,
    ) -> Result<Vec<Expectation>, StudyError> {
        let mut all: Vec<Expectation> = Vec::new();
        for expectation in written.expect.iter().flatten() {
            let wrong = |what: &str| Err(self.source.error(expectation.span(), what));
            let expectation = expectation.get_ref();
            let is_of_http = expectation.pointer().is_none() && expectation.messages().is_none();
            if url.scheme.is_grpc() && is_of_http {
                return wrong(
                    "over gRPC, only values of the message and the number of messages can be expected, as in \
                     '$.name = \"Ada\"'",
                );
            }
            let wire = LiveWire::default_for(url.scheme);
            if wire == LiveWire::WebSocket && expectation.status().is_some() {
                return wrong("the status of a WebSocket's handshake must be 101; leave it out");
            }
            let is_number = |one: &Expectation| one.messages().is_some();
            if is_number(expectation) && all.iter().any(is_number) {
                return wrong("only one number of messages can be expected; leave the others out");
            }
            if expectation.status().is_some() && all.iter().any(|one| one.status().is_some()) {
                return wrong("only one status can be expected; leave the others out");
            }
            all.push(expectation.clone());
        }
        Ok(all)
    }

    /// The options of streaming calls. Whether they fit the method shows once its descriptor is known.
    fn stream(&self, url: &Url, written: &ServiceWritten) -> Result<StreamOptions, StudyError> {
        let Some(written) = &written.stream else {
            return Ok(StreamOptions::default());
        };
        let wrong = |place: Range<usize>, message: &str| Err(self.source.error(place, message));
        if let Some(form) = &written.form
            && let wire = LiveWire::default_for(url.scheme)
            && !wire.carries(*form.get_ref())
        {
            let message = match wire {
                LiveWire::Grpc => {
                    "over gRPC, a stream is \"client\", \"server\" or \"bidirectional\""
                }
                LiveWire::Http(_) => {
                    "over HTTP, a stream is \"ndjson\" or \"sse\"; for a WebSocket, write ws:// or wss://"
                }
                LiveWire::WebSocket => "a WebSocket is \"bidirectional\"; leave the form out",
            };
            return wrong(form.span(), message);
        }
        let no_messages = written.messages.as_ref();
        let no_messages = no_messages.filter(|count| *count.get_ref() == MessageCount::Number(0));
        let none_received = written.receive.as_ref().filter(|n| *n.get_ref() == 0);
        let none = no_messages.map(Spanned::span);
        if let Some(none) = none.or_else(|| none_received.map(Spanned::span)) {
            return wrong(none, "the number of messages must be at least 1");
        }
        let in_turn = value(&written.in_turn).unwrap_or(false);
        let pace = match (&written.message_rate, in_turn, &written.think_time) {
            (Some(rate), true, _) => {
                let message =
                    "\"message-rate\" and \"in-turn\" exclude each other; leave one of the two out";
                return wrong(rate.span(), message);
            }
            (Some(rate), false, _) if !is_rate(*rate.get_ref()) => {
                return wrong(rate.span(), "messages per second must be more than 0");
            }
            (_, false, Some(think_time)) => {
                return wrong(
                    think_time.span(),
                    "\"think-time\" needs \"in-turn\" as well",
                );
            }
            (Some(rate), false, None) => Pace::Rate(*rate.get_ref()),
            (None, true, think_time) => Pace::InTurn(value(think_time).map_or(0, |Time(ms)| ms)),
            (None, false, None) => Pace::Unpaced,
        };
        let ms = |time: &Option<Spanned<Time>>| value(time).map(|Time(ms)| ms);
        Ok(StreamOptions {
            form: value(&written.form),
            messages: value(&written.messages),
            pace,
            receive: value(&written.receive),
            time_ms: ms(&written.call_time),
            message_timeout_ms: ms(&written.message_timeout),
            pair_by: value(&written.pair_by),
        })
    }

    fn keepalive(&self, written: &ServiceWritten) -> Result<Option<Keepalive>, StudyError> {
        let ms = |time: &Spanned<Time>| {
            let Time(ms) = *time.get_ref();
            let message =
                "the time must be at least 1s: the system's TCP keep-alive counts whole seconds";
            if ms < MIN_KEEPALIVE_MS {
                Err(self.source.error(time.span(), message))
            } else {
                Ok(ms)
            }
        };
        let timeout_ms = written.keepalive_timeout.as_ref().map(ms).transpose()?;
        match (&written.keepalive, &written.keepalive_timeout) {
            (None, None) => Ok(None),
            (None, Some(timeout)) => {
                let message = "\"keepalive-timeout\" needs \"keepalive\" as well";
                Err(self.source.error(timeout.span(), message))
            }
            (Some(time), _) => Ok(Some(Keepalive {
                time_ms: ms(time)?,
                timeout_ms: timeout_ms.unwrap_or(Keepalive::TIMEOUT_MS),
            })),
        }
    }

    pub(super) fn schema_of(&self, written: &ServiceWritten) -> SchemaSource {
        schema_source(
            self.context.loader,
            &written.proto,
            &written.include,
            &written.descriptor_set,
        )
    }
}
