//! What all calls of a variant share, as the engine takes it.

use std::time::Duration;

use rpcgauge_load as load;
use rpcgauge_message::{Compression, Decompressor, Limits};
use rpcgauge_study::settings::{self, HttpVersion, Settings};

use crate::exchange::Exchange;

/// A trial in which nothing but failures came for this long is over: more of them tell nothing new.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where calls go, with which head, and what their answers must be like.
#[derive(Debug, Clone)]
pub(crate) struct Calls {
    pub(crate) target: load::Target,
    pub(crate) request: load::Request,
    pub(crate) expect: load::Expect,
    /// How answers that come compressed are checked, where nobody decodes them.
    pub(crate) check: Option<Check>,
}

/// Checks compressed answers: by this compression, within these limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Check {
    pub(crate) compression: Compression,
    pub(crate) limits: Limits,
}

impl Check {
    /// # Errors
    /// What it needs cannot be had, in one line.
    pub(crate) fn start<'a>(self) -> Result<load::AnswerCheck<'a>, String> {
        let mut decompressor =
            Decompressor::new(self.compression, self.limits).map_err(|error| error.to_string())?;
        let mut plain = Vec::new();
        Ok(Box::new(move |carried| {
            decompressor
                .decompress(carried, &mut plain)
                .map_err(|error| load::CodecError(error.to_string()))
        }))
    }
}

impl Calls {
    /// The calls of a subject that listens at `address`.
    pub(crate) fn of_subject(
        address: load::Address,
        exchange: &Exchange,
        http: HttpVersion,
    ) -> Self {
        let authority = match &address {
            load::Address::Tcp(address) => address.to_string(),
            load::Address::Unix(_) => "localhost".to_owned(),
        };
        Self {
            target: load::Target {
                address,
                tls: None,
                protocol: protocol(http),
            },
            request: exchange.request(authority),
            expect: exchange.expect(),
            check: None,
        }
    }

    /// A trial of one call. Whoever measures more says so.
    pub(crate) fn trial(&self, settings: &Settings) -> load::Trial {
        let deadline = Duration::from_millis(settings.deadline_ms);
        load::Trial {
            target: self.target.clone(),
            request: self.request.clone(),
            expect: self.expect.clone(),
            schedule: load::Schedule::Closed { in_flight: 1 },
            connections: 1,
            connection_use: match settings.connection {
                settings::ConnectionUse::Reuse => load::ConnectionUse::Reuse,
                settings::ConnectionUse::PerCall => load::ConnectionUse::PerCall,
            },
            keepalive: settings
                .callee
                .live()
                .and_then(|service| service.keepalive)
                .map(keepalive),
            timing: load::Timing::Calls,
            warmup: None,
            stop: load::Stop {
                calls: Some(1),
                time: None,
            },
            deadline,
            // Every call in flight has ended by its deadline.
            drain: deadline,
            patience: PATIENCE,
            limits: load::Limits::default(),
        }
    }
}

fn keepalive(keepalive: settings::Keepalive) -> load::Keepalive {
    load::Keepalive {
        time: Duration::from_millis(keepalive.time_ms),
        timeout: Duration::from_millis(keepalive.timeout_ms),
    }
}

/// The version of HTTP that is spoken.
pub(crate) fn protocol(http: HttpVersion) -> load::Protocol {
    match http {
        HttpVersion::Http1 => load::Protocol::Http1,
        HttpVersion::Http2 => load::Protocol::Http2,
    }
}
