//! Reads `[[backing]]` and `[[service]]`.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::Range;

use rpcgauge_message::nearest::Nearest;
use serde::Deserialize;
use toml::Spanned;

use super::super::{MetricsAt, Process, Ready, Template};
use super::check::{PathAndQuery, Status};
use super::scope::{Names, Scope};
use crate::error::{Source, StudyError};
use crate::read::{Size, Table, Time, filled};
use crate::subject::Name;

/// Defaults for what `app.toml` leaves out, ms: the time to become ready, to exit when told to stop, and to seed.
const READY_WITHIN_MS: u64 = 60_000;
const STOP_WITHIN_MS: u64 = 10_000;
const SEED_WITHIN_MS: u64 = 120_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct WrittenProcess {
    pub(super) name: Spanned<Name>,
    #[serde(deserialize_with = "filled")]
    run: Vec<Spanned<Template>>,
    #[serde(default)]
    env: BTreeMap<String, Spanned<Template>>,
    #[serde(default)]
    pub(super) ports: Vec<Name>,
    ready: Option<Spanned<WrittenReady>>,
    ready_within: Option<Time>,
    #[serde(default)]
    seed: Vec<Spanned<Template>>,
    seed_within: Option<Time>,
    stop_within: Option<Time>,
    cores: Option<NonZeroU32>,
    memory: Option<Size>,
    metrics: Option<Spanned<WrittenMetricsAt>>,
    /// The position of its table.
    #[serde(skip)]
    place: Range<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenReady {
    tcp: Option<String>,
    http: Option<String>,
    path: Option<PathAndQuery>,
    status: Option<Status>,
    log: Option<Spanned<Template>>,
    file: Option<Spanned<Template>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenMetricsAt {
    port: String,
    path: Option<PathAndQuery>,
}

pub(super) fn processes(tables: Vec<Table<'_>>) -> Result<Vec<WrittenProcess>, StudyError> {
    let read = |table: Table<'_>| {
        let place = table.span.clone();
        let written: WrittenProcess = table.rest()?;
        Ok(WrittenProcess { place, ..written })
    };
    tables.into_iter().map(read).collect()
}

pub(super) fn process(
    source: &Source,
    written: WrittenProcess,
    names: &Names,
    is_backing: bool,
) -> Result<Process, StudyError> {
    let own: Vec<Name> = written.ports;
    let scope = Scope {
        names,
        what: if is_backing {
            "a backing process, which all configurations share"
        } else {
            "a service"
        },
        own: Some(&own),
        has_configuration: !is_backing,
        has_build: true,
        kept: None,
    };
    if !is_backing && let Some(seed) = written.seed.first() {
        let message = "\"seed\" applies to backing processes: a service starts with the data in its databases";
        return Err(source.error(seed.span(), message));
    }
    let port_at = |place: Range<usize>, port: String| {
        if own.iter().any(|Name(known)| *known == port) {
            Ok(port)
        } else {
            let hint = Nearest::or_known(&port, own.iter().map(|Name(known)| known.as_str()));
            Err(source.error(
                place,
                format!("\"{port}\" is not one of its \"ports\"{hint}"),
            ))
        }
    };
    let ready = match written.ready {
        Some(written) => ready(source, written, &scope, &port_at)?,
        None if own.is_empty() => {
            let message = "the process needs ready = { log = \"…\" }: without a port, nothing else shows when it is ready";
            return Err(source.error(written.place, message));
        }
        None => Ready::Tcp(own.iter().map(|Name(port)| port.clone()).collect()),
    };
    let metrics = written.metrics.map(|metrics| {
        let place = metrics.span();
        let WrittenMetricsAt { port, path } = metrics.into_inner();
        Ok(MetricsAt {
            port: port_at(place, port)?,
            path: path.map_or_else(|| "/metrics".to_owned(), |PathAndQuery(path)| path),
        })
    });
    let ms = |time: Option<Time>, usual| time.map_or(usual, |Time(ms)| ms);
    Ok(Process {
        name: written.name.into_inner().0,
        run: scope.take_all(source, written.run)?,
        env: scope.take_map(source, written.env)?,
        ready,
        ready_within_ms: ms(written.ready_within, READY_WITHIN_MS),
        seed: scope.take_all(source, written.seed)?,
        seed_within_ms: ms(written.seed_within, SEED_WITHIN_MS),
        stop_within_ms: ms(written.stop_within, STOP_WITHIN_MS),
        cores: written.cores.map(NonZeroU32::get),
        memory_bytes: written.memory.map(|Size(bytes)| bytes),
        metrics: metrics.transpose()?,
        ports: own.into_iter().map(String::from).collect(),
    })
}

fn ready(
    source: &Source,
    written: Spanned<WrittenReady>,
    scope: &Scope<'_>,
    port_at: &dyn Fn(Range<usize>, String) -> Result<String, StudyError>,
) -> Result<Ready, StudyError> {
    let place = written.span();
    let WrittenReady {
        tcp,
        http,
        path,
        status,
        log,
        file,
    } = written.into_inner();
    let is_of_http = http.is_some() || path.is_none() && status.is_none();
    let is_of_log = log.is_some() || file.is_none();
    Ok(match (tcp, http, log) {
        (Some(port), None, None) if is_of_http && is_of_log => {
            Ready::Tcp(vec![port_at(place, port)?])
        }
        (None, Some(port), None) if is_of_log => Ready::Http {
            port: port_at(place, port)?,
            path: path.map_or_else(|| "/".to_owned(), |PathAndQuery(path)| path),
            status: status.map_or(200, |Status(status)| status),
        },
        (None, None, Some(text)) if is_of_http => Ready::Log {
            text: scope.take(source, text)?,
            file: file.map(|file| scope.take(source, file)).transpose()?,
        },
        _ => {
            let message = "\"ready\" must be one of { tcp = \"PORT\" }, { http = \"PORT\", path, status } and { log = \
                           \"TEXT\", file }";
            return Err(source.error(place, message));
        }
    })
}
