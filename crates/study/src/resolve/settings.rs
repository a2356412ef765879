//! Turns merged layers into settings: fills in defaults, and refuses contradictions at their position.

use rpcgauge_message::nearest::Nearest;
use rpcgauge_message::{Encoding, WorkloadSpec};

use super::Resolver;
use super::workload::Wanted;
use crate::error::StudyError;
use crate::features::{Features, Role};
use crate::file::Layer;
use crate::link;
use crate::scale;
use crate::setting::{Key, Misfit};
use crate::settings::{
    CallOptions, CodecWork, ConnectionUse, HttpVersion, LiveCall, LiveWire, Protocol, Schedule,
    Settings, Stop, Style, SubjectCall, Target, Transport,
};
use crate::words::{Named as _, format_time};

/// The error is the first setting of a layer that does not fit.
pub(super) type Filled = Result<(), (Key, Misfit)>;

/// The settings of a layer for a subject, with defaults for what the layer does not set.
pub(super) fn settings_of_layer(layer: &Layer, workload: WorkloadSpec) -> (Settings, Filled) {
    let mut settings = Settings::new(match layer.get(Key::Codec) {
        None => Target::from(SubjectCall::new(workload, Protocol::Rest)),
        Some(_) => Target::from(CodecWork::new("", workload, Encoding::Json)),
    });
    let filled = apply_layer(&mut settings, layer);
    (settings, filled)
}

/// Applies a layer to settings through the settings table, leaving out what does not fit.
pub(super) fn apply_layer(settings: &mut Settings, layer: &Layer) -> Filled {
    let mut filled = Ok(());
    for (key, value) in &layer.0 {
        let set = (key.row().set)(settings, value.get_ref());
        filled = filled.and(set.map_err(|misfit| (*key, misfit)));
    }
    filled
}

impl Resolver<'_> {
    /// The settings of a variant that calls a subject, or is a codec.
    pub(super) fn subject_settings(&mut self, one: &Wanted<'_>) -> Result<Settings, StudyError> {
        let workload = self.workload(one)?;
        let (mut settings, filled) = settings_of_layer(&one.merged.layer, workload.clone());
        let check = Check::of(self, one);
        check.filled(filled)?;
        if let Target::Call(call) = &mut settings.target
            && let Some(link) = &mut call.link
        {
            let read = link::load_traces(&mut link.terms, |file| self.context.loader.path(file));
            read.map_err(|message| {
                let place = one.merged.layer.span(Key::Link);
                let message = format!("variant \"{}\": {message}", one.name);
                self.at(place, message)
            })?;
        }
        check.settings(&mut settings)?;
        let [request_compression, response_compression] = settings.target.compressions();
        if let (WorkloadSpec::Own(own), false) = (&workload, response_compression.is_none())
            && let Some(scale) = one.merged.scale().filter(|scale| *scale.get_ref() > 1)
            && let Some(why) = scale::alike(own)
        {
            let message = format!("variant \"{}\" compresses, but {why}", one.name);
            return Err(self.source.error(scale.span(), message));
        }
        if let Target::Call(call) = &settings.target {
            self.check_method(one, call)?;
        }
        if let Some(encoding) = settings.target.encoding() {
            let sent = (
                workload,
                encoding,
                request_compression,
                response_compression,
            );
            self.check_limits(sent).map_err(|problem| {
                let (place, file) = one.sample_place(problem.sample);
                let message = format!("{file}variant \"{}\" sends {problem}", one.name);
                self.source.error(place, message)
            })?;
        }
        Ok(settings)
    }
}

/// One variant under check.
pub(super) struct Check<'r, 'a> {
    resolver: &'r Resolver<'a>,
    one: &'r Wanted<'r>,
    layer: &'r Layer,
}

impl<'r, 'a> Check<'r, 'a> {
    pub(super) fn of(resolver: &'r Resolver<'a>, one: &'r Wanted<'r>) -> Self {
        let layer = &one.merged.layer;
        Self {
            resolver,
            one,
            layer,
        }
    }

    fn error(&self, key: Option<Key>, message: impl std::fmt::Display) -> StudyError {
        let place = key.and_then(|key| self.layer.span(key));
        let place = place.unwrap_or_else(|| self.one.span.clone());
        let message = format!("variant \"{}\": {message}", self.one.name);
        self.resolver.source.error(place, message)
    }

    fn says(&self, key: Key) -> bool {
        self.layer.get(key).is_some()
    }

    /// Refuses a setting that does not fit.
    pub(super) fn filled(&self, filled: Filled) -> Result<(), StudyError> {
        filled.map_err(|(key, misfit)| self.error(Some(key), misfit.of(key.row().name)))
    }

    /// Refuses the first of these settings that the study sets.
    pub(super) fn refuse(
        &self,
        is_refused: impl Fn(&Key) -> bool,
        why: &str,
    ) -> Result<(), StudyError> {
        match self.layer.0.keys().find(|key| is_refused(key)) {
            None => Ok(()),
            Some(key) => Err(self.error(Some(*key), format!("\"{}\" {why}", key.row().name))),
        }
    }

    /// Checks that settings are possible together, and fills in what follows from them.
    pub(super) fn settings(&self, settings: &mut Settings) -> Result<(), StudyError> {
        let stop = settings.stop;
        match &mut settings.target {
            Target::Call(call) => self.call(call, stop)?,
            Target::Codec(work) => self.codec(work)?,
            Target::Live(live) => {
                if live.wire == LiveWire::WebSocket {
                    self.websocket(&mut live.options)?;
                }
                self.brings_calls(&live.options, stop)?;
            }
        }
        match &settings.target {
            Target::Call(call) => {
                self.has(Key::Server, &call.server, Role::Server, settings)?;
                if let Some(client) = &call.client {
                    self.has(Key::Client, &client.stack, Role::Client, settings)?;
                }
            }
            Target::Codec(work) => self.has(Key::Codec, &work.codec, Role::Codec, settings)?,
            Target::Live(_) => {}
        }
        match &mut settings.target {
            Target::Call(call) => {
                call.options.connections =
                    self.connections(&call.options, call.wire.http(), false)?;
            }
            Target::Codec(_) => {}
            Target::Live(live) => {
                live.options.connections =
                    self.connections(&live.options, live.wire.http(), true)?;
                self.threads(live)?;
            }
        }
        self.runtime(&settings.target)
    }

    fn call(&self, call: &mut SubjectCall, stop: Stop) -> Result<(), StudyError> {
        if !self.says(Key::Protocol) {
            let message = "it has no protocol; write protocol = \"grpc\", \"rest\" or \"connect\"";
            return Err(self.error(None, message));
        }
        if call.client.is_some() {
            self.refuse(
                |key| *key == Key::ColdCalls,
                "times the first calls of rpcgauge's own client to a server that it has started; leave it out \
                 for another client or a live service",
            )?;
        }
        if let Some(stream) = &call.stream {
            self.refuse(
                |key| *key == Key::ColdCalls,
                "times the first unary calls; leave it out for streams",
            )?;
            if call.wire.is_websocket(Some(stream)) {
                self.websocket(&mut call.options)?;
            } else if !stream.form().is_grpc() && !call.options.response_compression.is_none() {
                let message =
                    "a stream of text is not compressed; leave the compression of responses out";
                return Err(self.error(Some(Key::Stream), message));
            }
        }
        if call.link.is_some() && call.transport == Transport::Unix {
            let message = "a Unix socket cannot be used over a link; write transport = \"tcp\" or link = \"loopback\", \
                or exclude it by [[exclude]] with transport = \"unix\"";
            return Err(self.error(Some(Key::Link), message));
        }
        if let Schedule::Ramp { .. } = &call.options.schedule {
            let message = "a ramp is for a live service; give a subject one rate";
            return Err(self.error(Some(Key::Rate), message));
        }
        self.brings_calls(&call.options, stop)?;
        if let Some(client) = &mut call.client {
            let styles = &self.features(Key::Client, &client.stack)?.styles;
            // A stack without styles is not a client, and is refused later for that reason.
            let first = styles.first().filter(|_| !self.says(Key::Style));
            client.style = first.copied().unwrap_or(client.style);
            let server_streams = call
                .stream
                .is_some_and(|stream| stream.form().server_streams());
            if server_streams && client.style == Style::Future {
                let message =
                    "a future has one response, and the stream has many; write another style";
                return Err(self.error(Some(Key::Style), message));
            }
        }
        Ok(())
    }

    /// A WebSocket is the connection of one call. Extensions, which could compress its messages, are not offered.
    fn websocket(&self, options: &mut CallOptions) -> Result<(), StudyError> {
        if self.says(Key::Connection) && options.connection.is_reuse() {
            let message = "each WebSocket is a connection of its own; leave \"connection\" out";
            return Err(self.error(Some(Key::Connection), message));
        }
        options.connection = ConnectionUse::PerCall;
        if !(options.request_compression.is_none() && options.response_compression.is_none()) {
            let message = "the messages of a WebSocket are not compressed; leave compression out";
            let keys = [
                Key::Compression,
                Key::RequestCompression,
                Key::ResponseCompression,
            ];
            let key = keys.into_iter().find(|key| self.says(*key));
            return Err(self.error(key, message));
        }
        Ok(())
    }

    /// Refuses a rate that is too low for the time of a trial.
    fn brings_calls(&self, options: &CallOptions, stop: Stop) -> Result<(), StudyError> {
        if let (Schedule::Rate { per_second, .. }, Some(ms)) = (&options.schedule, stop.time_ms)
            && per_second * (ms as f64) < 1_000.0
            && self.says(Key::Rate)
        {
            let time = format_time(ms);
            let message = format!(
                "a rate of {per_second} per second makes no call in the {time} of a trial; give a higher rate or \
                 more time"
            );
            return Err(self.error(Some(Key::Rate), message));
        }
        Ok(())
    }

    fn codec(&self, work: &mut CodecWork) -> Result<(), StudyError> {
        let features = self.features(Key::Codec, &work.codec)?;
        if !self.says(Key::Operation) {
            let message = "it has no operation; write operation = \"encode\" or \"decode\"";
            return Err(self.error(Some(Key::Codec), message));
        }
        match features.encodings[..] {
            _ if self.says(Key::Encoding) => {}
            [encoding] => work.encoding = encoding,
            _ => {
                let message =
                    "it has no encoding, and the codec has several; write encoding = \"json\"";
                return Err(self.error(Some(Key::Codec), message));
            }
        }
        Ok(())
    }

    /// Checks that at least one of the variant's stacks supports each runtime setting. Not all of them need to: a
    /// client in another language has other collectors. [`Self::has`] checks that a stack with collectors has this one.
    fn runtime(&self, target: &Target) -> Result<(), StudyError> {
        type Has = fn(&Features) -> bool;
        let asked: [(Key, Has, &str); 3] = [
            (
                Key::Gc,
                |has| !has.runtime.gc.is_empty(),
                "the garbage collector",
            ),
            (Key::Heap, |has| has.runtime.heap, "the heap's size"),
            (
                Key::AotCache,
                |has| has.runtime.aot_cache,
                "an ahead-of-time cache",
            ),
        ];
        if target
            .runtime()
            .is_some_and(|runtime| runtime.aot_cache && runtime.events)
        {
            let message = "a runtime that records its events does not start from an ahead-of-time cache; set only one \
                           of \"aot-cache\" and \"events\"";
            return Err(self.error(Some(Key::AotCache), message));
        }
        let stacks = self.resolver.context.subjects;
        for (key, has, what) in asked {
            let is_of = |stack: &str| stacks.get(stack).is_some_and(has);
            if !self.says(key) || target.stacks().any(is_of) {
                continue;
            }
            let named: Vec<&str> = target.stacks().collect();
            let fitting = stacks.iter().filter(|(_, features)| has(features));
            let fitting: Vec<&str> = fitting.map(|(name, _)| &**name).collect();
            let others = if fitting.is_empty() {
                "no stack here supports it".to_owned()
            } else {
                format!("stacks that support it: {}", fitting.join(", "))
            };
            let message = format!("{what} cannot be set for {}; {others}", named.join(" and "));
            return Err(self.error(Some(key), message));
        }
        Ok(())
    }

    /// The features of the stack that `key` names.
    fn features(&self, key: Key, stack: &str) -> Result<&Features, StudyError> {
        let stacks = self.resolver.context.subjects;
        stacks.get(stack).ok_or_else(|| {
            let word = key.row().name;
            let fits = |features: &Features| features.roles.iter().any(|r| r.as_str() == word);
            let fitting = stacks.iter().filter(|(_, features)| fits(features));
            let fitting: Vec<&str> = fitting.map(|(name, _)| name.as_str()).collect();
            let hint = Nearest::or_known(stack, fitting);
            let message =
                format!("there is no {word} \"{stack}\"{hint} (--subjects DIR adds your own)");
            self.error(Some(key), message)
        })
    }

    /// Checks that the stack has every feature that the settings need.
    fn has(
        &self,
        key: Key,
        stack: &str,
        role: Role,
        settings: &Settings,
    ) -> Result<(), StudyError> {
        let Some((lacked, sentence)) = self.features(key, stack)?.missing_feature(role, settings)
        else {
            return Ok(());
        };
        let both_ways = match lacked {
            Some(Key::RequestCompression | Key::ResponseCompression) => Some(Key::Compression),
            _ => None,
        };
        let place = [lacked, both_ways, Some(key)];
        let place = place.into_iter().flatten().find(|key| self.says(*key));
        Err(self.error(
            place,
            format!("the {} \"{stack}\" {sentence}", role.as_str()),
        ))
    }

    /// Checks that each thread has a connection and, in a closed loop, a call in flight.
    fn threads(&self, live: &LiveCall) -> Result<(), StudyError> {
        let (threads, connections) = (live.threads, live.options.connections);
        if threads <= connections {
            return Ok(());
        }
        let message = format!(
            "each thread makes calls on connections of its own, so threads = {threads} needs connections = {threads} \
             or more, not {connections}"
        );
        Err(self.error(Some(Key::Threads), message))
    }

    /// The number of connections to open. Over HTTP/1.1, or with a connection per call, a connection carries one call
    /// at a time, so each call in flight needs its own.
    fn connections(
        &self,
        options: &CallOptions,
        http: HttpVersion,
        is_live: bool,
    ) -> Result<u32, StudyError> {
        let asked = self.says(Key::Connections).then_some(options.connections);
        let one_each = options.at_a_time(http).is_some();
        let why = match options.connection {
            ConnectionUse::PerCall => "a connection opened for one call carries only that call",
            ConnectionUse::Reuse => "HTTP/1.1 carries one call at a time on a connection",
        };
        match (options.schedule.in_flight(), asked) {
            (Some(in_flight), None) if one_each => Ok(in_flight),
            (None, None) if one_each => Ok(CallOptions::CONNECTIONS_AT_A_RATE),
            // A live service with fewer connections has fewer calls in flight.
            (Some(in_flight), Some(asked)) if one_each && asked != in_flight && !is_live => {
                Err(self.error(
                    Some(Key::Connections),
                    format!("{why}, so in-flight = {in_flight} needs connections = {in_flight}, not {asked}; leave \"connections\" out"),
                ))
            }
            (Some(in_flight), Some(asked)) if asked > in_flight => Err(self.error(
                Some(Key::Connections),
                format!("in-flight = {in_flight} cannot use {asked} connections; write fewer, or a larger in-flight"),
            )),
            (_, asked) => Ok(asked.unwrap_or(1)),
        }
    }
}
