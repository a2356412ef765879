//! What all calls of a variant share, as the engine takes it.

use std::time::Duration;

use rpcgauge_load as load;
use rpcgauge_study::settings::{self, HttpVersion, Settings};

/// A trial in which nothing but failures came for this long is over: more of them tell nothing new.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where calls go, with which head, and what their answers must be like.
#[derive(Debug, Clone)]
pub(crate) struct Calls {
    pub(crate) target: load::Target,
    pub(crate) request: load::Request,
    pub(crate) expect: load::Expect,
}

impl Calls {
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
