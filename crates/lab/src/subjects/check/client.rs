//! Clients: they call the embedded server.

use std::collections::BTreeSet;
use std::path::PathBuf;

use rpcgauge_message::WorkloadSpec;
use rpcgauge_message::contract::{
    Address, ClientSettings, ConnectionUse, Settings, SliceAsk, Style, Until,
};
use rpcgauge_study::settings::Transport;
use rpcgauge_study::words::Word as _;

use super::{
    DEADLINE_MS, LIMITS, PATIENCE, Stopped, Trial, Trialled, Way, broken, workload, wrong,
};
use crate::server::{listen, server_settings};
use crate::subject::{Asked, Subject};
use crate::verify;

/// Requests that a client is given, where each call's differs.
const REQUESTS: u64 = 3;

/// How a client calls, beside the way.
#[derive(Clone, Copy)]
struct Manner {
    style: Option<Style>,
    connection: ConnectionUse,
    in_flight: u32,
}

const PLAIN: Manner = Manner {
    style: None,
    connection: ConnectionUse::Reuse,
    in_flight: 1,
};

impl Trial<'_> {
    pub(super) fn client(&mut self) -> Result<(), Stopped> {
        let ways = Way::calls(self.features);
        for way in &ways {
            self.attempt(&way.to_string(), |trial| trial.calls(way, PLAIN))?;
        }
        let Some(first) = ways.first() else {
            return Ok(());
        };
        // Above, the first style was tried with one in flight over a kept connection.
        for &style in &self.features.styles {
            for in_flight in BTreeSet::from([1, self.features.in_flight]) {
                if (Some(&style), in_flight) == (self.features.styles.first(), 1) {
                    continue;
                }
                let what = format!("{} with {in_flight} in flight", style.word());
                let manner = Manner {
                    style: Some(style),
                    in_flight,
                    ..PLAIN
                };
                self.attempt(&what, |trial| trial.calls(first, manner))?;
            }
        }
        if self.features.connections.contains(&ConnectionUse::PerCall) {
            let manner = Manner {
                connection: ConnectionUse::PerCall,
                ..PLAIN
            };
            self.attempt("a connection a call", |trial| trial.calls(first, manner))?;
        }
        let unix = ways.iter().find(|way| way.transport == Transport::Unix);
        if let Some(unix) = unix {
            self.attempt("opens a connection again that was lost", |trial| {
                trial.opens_again(unix)
            })?;
        }
        self.attempt("refuses a slice that it does not understand", |trial| {
            let path = trial.path();
            let server = trial.serve(first, path)?;
            let mut asked = trial.ask(first, PLAIN, &server)?;
            let line = r#"{"slice":{"skip":0,"calls":1,"pace":3}}"#;
            asked.subject.refuses(line, PATIENCE, trial.stop)
        })?;
        // Nothing is called: it must refuse before.
        let nowhere = Address::Tcp(([127, 0, 0, 1], 9).into());
        match self.asks(first, PLAIN, nowhere) {
            Ok((settings, _)) => self.refusals(&settings),
            Err(failure) => self.attempt("settings", |_| Err(failure)),
        }
    }

    fn calls(&mut self, way: &Way, manner: Manner) -> Trialled {
        let path = self.path();
        let server = self.serve(way, path)?;
        let mut asked = self.ask(way, manner, &server)?;
        let verified = asked.subject.verify(PATIENCE, self.stop)?;
        let workload = workload(&way.spec()?)?;
        verify::right_answer(&verified, &workload)
            .map_err(|reason| wrong(reason).with_log(asked.subject.log_tail()))?;
        asked.try_all(self, None, manner.in_flight)
    }

    /// Whether it survives that its server goes and comes back where it was.
    fn opens_again(&mut self, way: &Way) -> Trialled {
        let path = self.path();
        let server = self.serve(way, path.clone())?;
        let mut asked = self.ask(way, PLAIN, &server)?;
        let ask = SliceAsk {
            skip: 0,
            until: Until::Calls(1),
            batch: None,
        };
        asked.slice(&ask, PATIENCE, self.stop)?;
        drop(server);
        let _server = self.serve(way, path)?;
        let (done, records) = asked.slice(&ask, PATIENCE, self.stop)?;
        let reason = match records.iter().any(|record| record.failed) {
            true => {
                "its call fails after the server came back: it must open its connection again \
                     before the first recorded call"
            }
            false if done.reopened == 0 => {
                "it does not tell that it opened a connection again: \"reopened\" is 0"
            }
            false => return asked.subject.end_well(),
        };
        Err(wrong(reason).with_log(asked.subject.log_tail()))
    }

    /// The embedded server.
    fn serve(&self, way: &Way, path: PathBuf) -> Trialled<Subject> {
        let spec = way.spec()?;
        let settings = way.settings(&spec);
        let listen = listen(way.transport, path);
        let asked = server_settings(&settings, &spec, way.encoding, listen, None, LIMITS);
        Subject::start(&self.starts(self.reference, &asked), self.stop)
    }

    /// A client that is ready to call the server.
    fn ask(&mut self, way: &Way, manner: Manner, server: &Subject) -> Trialled<Asked> {
        let address = server.ready().address.clone();
        let address = address.ok_or_else(|| broken(&"the embedded server has no address"))?;
        let (settings, records) = self.asks(way, manner, address)?;
        Asked::new(self.start(&settings)?, &records)
    }

    fn asks(
        &mut self,
        way: &Way,
        manner: Manner,
        address: Address,
    ) -> Trialled<(Settings, PathBuf)> {
        let spec = way.spec()?;
        let records = self.path();
        let settings = ClientSettings {
            stack: self.command.stack.clone(),
            protocol: way.protocol,
            http: way.http,
            encoding: way.encoding,
            address,
            requests: requests(&spec)?,
            workload: spec,
            request_compression: way.compression,
            response_compression: way.compression,
            connection: manner.connection,
            style: manner.style,
            in_flight: manner.in_flight,
            deadline_ms: DEADLINE_MS,
            marks: true,
            records: records.clone(),
            limits: Default::default(),
        };
        Ok((Settings::Client(Box::new(settings)), records))
    }
}

fn requests(spec: &WorkloadSpec) -> Trialled<Vec<serde_json::Value>> {
    verify::requests(&workload(spec)?, REQUESTS)
}
