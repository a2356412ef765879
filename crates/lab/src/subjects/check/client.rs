//! Checks clients by letting them call the embedded server.

use std::collections::BTreeSet;
use std::path::PathBuf;

use rpcgauge_contract::{
    Address, ClientSettings, ConnectionUse, ReadyPart, SettingsLine, SliceAsk, Style, Until,
};
use rpcgauge_message::Workload;
use rpcgauge_study::features::Role;
use rpcgauge_study::settings::{HttpVersion, Schedule, Transport};
use rpcgauge_study::words::Named as _;

use super::{LIMITS, PATIENCE, StackCheck, Way, workload};
use crate::error::TrialResult;
use crate::subject::Subject;
use crate::subjects::SubjectsError;
use crate::variant::caller::Caller;
use crate::variant::settings_line;

/// The number of requests that a client receives if a workload's requests differ.
pub(super) const REQUESTS: u64 = 3;

/// How a client makes its calls.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    pub(super) style: Option<Style>,
    connection: ConnectionUse,
    channels: u32,
    pub(super) in_flight: u32,
}

pub(super) const PLAIN: Manner = Manner {
    style: None,
    connection: ConnectionUse::Reuse,
    channels: 1,
    in_flight: 1,
};

impl StackCheck<'_> {
    pub(super) fn client(&mut self) -> Result<(), SubjectsError> {
        let ways = self.chosen(Way::calls(self.features, Role::Client), Way::values);
        self.ways(&ways, Role::Client)?;
        let Some(first) = ways.first() else {
            return Ok(());
        };
        // The first style was already tried above, with one call in flight over a persistent connection.
        for &style in &self.features.styles {
            for in_flight in BTreeSet::from([1, self.features.in_flight]) {
                if (Some(&style), in_flight) == (self.features.styles.first(), 1) {
                    continue;
                }
                let what = format!("{} with {in_flight} in flight", style.as_str());
                let manner = Manner {
                    style: Some(style),
                    in_flight,
                    ..PLAIN
                };
                self.attempt(&what, |check| check.calls(first, manner))?;
            }
        }
        if self.features.connections.contains(&ConnectionUse::PerCall) {
            let manner = Manner {
                connection: ConnectionUse::PerCall,
                ..PLAIN
            };
            self.attempt("a connection per call", |check| check.calls(first, manner))?;
        }
        let carries_many =
            |way: &&Way| way.wire.http() == HttpVersion::Http2 && way.transport == Transport::Tcp;
        let many = ways.iter().find(carries_many);
        if let Some(way) = many.filter(|_| self.features.channels > 1) {
            let manner = Manner {
                channels: self.features.channels,
                ..PLAIN
            };
            let what = format!("{} channels", manner.channels);
            self.attempt(&what, |check| check.goes_round(way, manner))?;
        }
        let unix = ways.iter().find(|way| way.transport == Transport::Unix);
        if let Some(unix) = unix {
            self.attempt("reopens a lost connection", |check| check.opens_again(unix))?;
        }
        self.attempt("refuses a slice that it does not understand", |check| {
            let (_server, mut client) = check.up_both(first, PLAIN)?;
            let line = r#"{"slice":{"skip":0,"calls":1,"pace":3}}"#;
            client.subject.refuses(line, PATIENCE, check.stop)
        })?;
        // No process listens there: the client must reject the line before it connects.
        let nowhere = ReadyPart {
            address: Some(Address::Tcp(([127, 0, 0, 1], 9).into())),
            ..ReadyPart::default()
        };
        match self.client_settings(first, PLAIN, &nowhere) {
            Ok((settings, ..)) => self.refusals(&client(settings)),
            Err(failure) => self.attempt("settings", |_| Err(failure)),
        }
    }

    pub(super) fn calls(&mut self, way: &Way, manner: Manner) -> TrialResult {
        let (_server, mut client) = self.up_both(way, manner)?;
        client.prove(PATIENCE, self.stop)?;
        self.try_slices(&mut client, None, manner.in_flight)?;
        client.subject.end_well()
    }

    /// Checks that the client opens one connection for each channel.
    fn goes_round(&mut self, way: &Way, manner: Manner) -> TrialResult {
        let (server, mut client) = self.up_both(way, manner)?;
        client.prove(PATIENCE, self.stop)?;
        let ask = calls(manner.channels);
        client.slice(&ask, PATIENCE, self.stop, || ())?;
        let open = server.said().address.as_ref().and_then(established);
        match open {
            Some(open) if open != manner.channels as usize => Err(client.subject.wrong(format!(
                "it has {} channels but {open} connections, not one for each channel",
                manner.channels
            ))),
            _ => {
                self.try_slices(&mut client, None, manner.in_flight)?;
                client.subject.end_well()
            }
        }
    }

    /// Checks that the client survives a restart of its server at the same address.
    fn opens_again(&mut self, way: &Way) -> TrialResult {
        let path = self.path();
        let server = self.serve(way, path.clone())?;
        let mut client = self.up_client(way, PLAIN, &server)?;
        let ask = calls(1);
        client.slice(&ask, PATIENCE, self.stop, || ())?;
        drop(server);
        let _server = self.serve(way, path)?;
        let (done, records) = client.slice(&ask, PATIENCE, self.stop, || ())?;
        let reason = if records.calls.iter().any(|record| record.failed) {
            "its call failed after the server had restarted: it must reopen its connection before the \
             first recorded call"
        } else if done.reopened == 0 {
            "it does not report that it reopened a connection: \"reopened\" is 0"
        } else {
            return client.subject.end_well();
        };
        Err(client.subject.wrong(reason))
    }

    /// Starts the embedded server.
    pub(super) fn serve(&self, way: &Way, path: PathBuf) -> TrialResult<Subject> {
        let listen = settings_line::listen(way.transport, path);
        let call = way.call(None)?;
        let workload = workload(&call.workload)?;
        let reference = self.asked.reference;
        let settings = settings_line::server(&call, &workload, listen, reference, LIMITS)?;
        let line = SettingsLine::Server(Box::new(settings));
        Subject::start(&self.starts(reference, &line), self.stop)
    }

    /// Starts the embedded server and a client that is ready to call it.
    fn up_both(&mut self, way: &Way, manner: Manner) -> TrialResult<(Subject, Caller)> {
        let path = self.path();
        let server = self.serve(way, path)?;
        let client = self.up_client(way, manner, &server)?;
        Ok((server, client))
    }

    /// Starts a client that is ready to call the server.
    fn up_client(&mut self, way: &Way, manner: Manner, server: &Subject) -> TrialResult<Caller> {
        let (settings, workload) = self.client_settings(way, manner, server.said())?;
        let subject = self.start(&client(settings.clone()))?;
        Caller::client(subject, &settings, workload)
    }

    fn client_settings(
        &mut self,
        way: &Way,
        manner: Manner,
        server: &ReadyPart,
    ) -> TrialResult<(ClientSettings, Workload)> {
        let mut call = way.call(manner.style)?;
        call.options.connection = manner.connection;
        call.options.connections = manner.channels;
        call.options.schedule = Schedule::Closed {
            in_flight: manner.in_flight,
        };
        let workload = workload(&call.workload)?;
        let records = self.path();
        let settings = settings_line::client(
            &call,
            (&workload, REQUESTS),
            server,
            self.stacks.command(self.stack, Some(&call.workload))?,
            &records,
            LIMITS,
        )?;
        Ok((settings, workload))
    }
}

fn client(settings: ClientSettings) -> SettingsLine {
    SettingsLine::Client(Box::new(settings))
}

pub(super) fn calls(count: u32) -> SliceAsk {
    SliceAsk {
        skip: 0,
        until: Until::Calls(count.into()),
        batch: None,
    }
}

/// The number of open connections of a server at an IPv4 address of this machine, from the kernel's list;
/// `None` if the list is unavailable.
fn established(address: &Address) -> Option<usize> {
    const ESTABLISHED: &str = "01";
    let Address::Tcp(address) = address else {
        return None;
    };
    let port = format!(":{:04X}", address.port());
    let table = std::fs::read_to_string("/proc/net/tcp").ok()?;
    let is_open = |line: &&str| {
        let mut fields = line.split_whitespace().skip(1);
        let (local, _, state) = (fields.next(), fields.next(), fields.next());
        local.is_some_and(|local| local.ends_with(&port)) && state == Some(ESTABLISHED)
    };
    Some(table.lines().filter(is_open).count())
}
