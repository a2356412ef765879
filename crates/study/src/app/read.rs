//! Reading `app.toml`: what one table can tell, then whether the names in it fit together.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::ops::Range;
use std::path::{Component, Path};

use rpcgauge_message::nearest::Nearest;
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::template::TAKEN;
use super::{
    App, Check, Entry, Good, Load, Metric, MetricUnit, MetricsAt, Process, Ready, Setting,
    Template, Word,
};
use crate::error::{Source, StudyError};
use crate::read::{Line, Size, Table, Time, filled, of, one_or_more};
use crate::subject::{Command, Name, Tool};

/// How long a process may take until it is ready, and to end when it is asked to, and a seed may take,
/// where `app.toml` does not say, ms.
const READY_WITHIN_MS: u64 = 60_000;
const STOP_WITHIN_MS: u64 = 10_000;
const SEED_WITHIN_MS: u64 = 120_000;

/// How many users there are where `app.toml` does not say.
const USERS: u32 = 10;

/// The most users: each is a thread of the load generator's, and a connection.
pub(crate) const MOST_USERS: u32 = 10_000;

/// The file's own keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Top {
    #[serde(deserialize_with = "of::<_, Name, _>")]
    name: String,
    #[serde(deserialize_with = "of::<_, Line, _>")]
    description: String,
    #[serde(default)]
    toolchain: Vec<Tool>,
    #[serde(default)]
    build: Vec<Command>,
    #[serde(default, rename = "try")]
    tries: Vec<Spanned<Template>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSetting {
    #[serde(deserialize_with = "filled")]
    values: Vec<Line>,
    default: Option<Spanned<Line>>,
    description: Option<Line>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenProcess {
    name: Spanned<Name>,
    #[serde(deserialize_with = "filled")]
    run: Vec<Spanned<Template>>,
    #[serde(default)]
    env: BTreeMap<String, Spanned<Template>>,
    #[serde(default)]
    ports: Vec<Name>,
    ready: Option<Spanned<WrittenReady>>,
    ready_within: Option<Time>,
    #[serde(default)]
    seed: Vec<Spanned<Template>>,
    seed_within: Option<Time>,
    stop_within: Option<Time>,
    cores: Option<NonZeroU32>,
    memory: Option<Size>,
    metrics: Option<Spanned<WrittenMetricsAt>>,
    /// Where its table stands.
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenEntry {
    service: Spanned<String>,
    port: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenLoad {
    locustfile: Spanned<Line>,
    users: Option<Spanned<u32>>,
    spawn_rate: Option<Spanned<f64>>,
    #[serde(default)]
    env: BTreeMap<String, Spanned<Template>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCheck {
    name: Option<Line>,
    method: Option<Method>,
    path: Spanned<Template>,
    #[serde(default)]
    headers: BTreeMap<String, Spanned<Template>>,
    json: Option<Spanned<Value>>,
    status: Option<Status>,
    #[serde(default)]
    holds: BTreeMap<Pointer, Value>,
    #[serde(default)]
    keep: BTreeMap<Name, Pointer>,
    #[serde(default)]
    ignore: Vec<Pointer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenMetric {
    name: Spanned<Name>,
    title: Option<Line>,
    service: Spanned<String>,
    metric: Line,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    unit: MetricUnit,
    better: Option<Good>,
    request: Option<Requests>,
    part_of: Option<Spanned<Name>>,
}

/// One name of a request or several.
#[derive(Deserialize)]
struct Requests(#[serde(deserialize_with = "one_or_more")] Vec<Line>);

/// A path of a request, with its query.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct PathAndQuery(String);

/// A status of HTTP.
#[derive(Deserialize)]
#[serde(try_from = "u16")]
struct Status(u16);

/// A method of HTTP.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Method(String);

/// A JSON Pointer (RFC 6901).
#[derive(PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
struct Pointer(String);

impl TryFrom<String> for PathAndQuery {
    type Error = String;

    fn try_from(path: String) -> Result<Self, String> {
        let is_visible = path.bytes().all(|byte| byte.is_ascii_graphic());
        match path.starts_with('/') && is_visible {
            true => Ok(Self(path)),
            false => Err(format!("\"{path}\" must begin with / and hold no spaces")),
        }
    }
}

impl TryFrom<u16> for Status {
    type Error = String;

    fn try_from(status: u16) -> Result<Self, String> {
        match status {
            200..=599 => Ok(Self(status)),
            _ => Err("a status is a number from 200 to 599".to_owned()),
        }
    }
}

impl TryFrom<String> for Method {
    type Error = String;

    fn try_from(method: String) -> Result<Self, String> {
        match !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase()) {
            true => Ok(Self(method)),
            false => Err(format!("\"{method}\" is not a method; write it as GET")),
        }
    }
}

impl TryFrom<String> for Pointer {
    type Error = String;

    fn try_from(pointer: String) -> Result<Self, String> {
        match pointer.is_empty() || pointer.starts_with('/') {
            true => Ok(Self(pointer)),
            false => Err(format!(
                "\"{pointer}\" is not a JSON Pointer; write it as /items/0/id"
            )),
        }
    }
}

/// What words may stand for at a place.
#[derive(Clone, Copy)]
struct Scope<'a> {
    names: &'a Names,
    /// Where it is, in a message.
    what: &'a str,
    /// The ports of the process itself.
    own: Option<&'a [Name]>,
    /// Whether it belongs to one configuration.
    has_configuration: bool,
    has_build: bool,
    /// The entry's URL, and what checks before have kept.
    kept: Option<&'a BTreeSet<String>>,
}

/// The names that words can hold.
struct Names {
    settings: BTreeSet<String>,
    /// The ports of each process, and whether it is a backing one.
    processes: BTreeMap<String, (BTreeSet<String>, bool)>,
}

impl Scope<'_> {
    fn check(&self, template: &Template) -> Result<(), String> {
        template.words().try_for_each(|word| self.check_word(word))
    }

    fn check_word(&self, word: &Word) -> Result<(), String> {
        let is_here = match word {
            Word::Setting(name) => {
                let known = self.names.settings.iter().map(String::as_str);
                if !self.names.settings.contains(name) {
                    let hint = Nearest::or_known(name, known);
                    return Err(format!("there is no setting for {word}{hint}"));
                }
                self.has_configuration
            }
            Word::OwnPort(port) => match self.own {
                Some(ports) if !ports.iter().any(|Name(known)| known == port) => {
                    let known = ports.iter().map(|Name(known)| known.as_str());
                    let hint = Nearest::or_known(port, known);
                    return Err(format!("{word} is none of its \"ports\"{hint}"));
                }
                own => own.is_some(),
            },
            Word::Port(process, port) => {
                let known = || self.names.processes.keys().map(String::as_str);
                let Some((ports, is_backing)) = self.names.processes.get(process) else {
                    let hint = Nearest::or_known(process, known());
                    return Err(format!("there is no process for {word}{hint}"));
                };
                if !ports.contains(port) {
                    let hint = Nearest::or_known(port, ports.iter().map(String::as_str));
                    return Err(format!("\"{process}\" has no port for {word}{hint}"));
                }
                self.has_configuration || *is_backing
            }
            Word::Data => self.own.is_some(),
            Word::Build => self.has_build,
            Word::Entry => self.kept.is_some(),
            Word::Kept(name) => match self.kept {
                Some(kept) if !kept.contains(name) => {
                    let hint = Nearest::or_known(name, kept.iter().map(String::as_str));
                    return Err(format!("no check before has kept {word}{hint}"));
                }
                kept => kept.is_some(),
            },
        };
        match is_here {
            true => Ok(()),
            false => Err(format!("{word} cannot stand in {}", self.what)),
        }
    }

    fn take(&self, source: &Source, written: Spanned<Template>) -> Result<Template, StudyError> {
        let place = written.span();
        let template = written.into_inner();
        match self.check(&template) {
            Ok(()) => Ok(template),
            Err(message) => Err(source.error(place, message)),
        }
    }

    fn take_all(
        &self,
        source: &Source,
        written: Vec<Spanned<Template>>,
    ) -> Result<Vec<Template>, StudyError> {
        let all = written.into_iter().map(|one| self.take(source, one));
        all.collect()
    }

    fn take_map(
        &self,
        source: &Source,
        written: BTreeMap<String, Spanned<Template>>,
    ) -> Result<BTreeMap<String, Template>, StudyError> {
        let all = written.into_iter();
        all.map(|(name, one)| Ok((name, self.take(source, one)?)))
            .collect()
    }
}

impl App {
    /// Reads an `app.toml`. `file` is what messages call it.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line and column.
    pub fn parse(text: &str, file: &str) -> Result<Self, StudyError> {
        let source = Source {
            file: file.into(),
            text: text.into(),
        };
        let mut table = Table::root(&source)?;
        let settings = settings(&mut table)?;
        let backing = processes(table.tables("backing")?)?;
        let services = processes(table.tables("service")?)?;
        if services.is_empty() {
            return Err(table.error(
                "has no service; write [[service]] with name = \"shop\" and run = [\"python3\", \"shop.py\"]",
            ));
        }
        let entry = table.table("entry")?;
        let load = table.table("load")?;
        let checks = table.tables("checks")?;
        let metrics = table.tables("metrics")?;
        let no_checks = table.error(
            "has no check; write [[checks]] with path = \"/\": an application is never measured before its \
             responses are known to be right",
        );
        let no_entry = table.error("needs [entry] with service and port: where users come in");
        let top: Top = table.rest()?;

        let names = names(&source, &settings, &backing, &services)?;
        let for_checks = Scope {
            names: &names,
            what: "a check",
            own: None,
            has_configuration: true,
            has_build: false,
            kept: None,
        };
        let mut kept = BTreeSet::new();
        let checks = checks.into_iter().map(|table| {
            let scope = Scope {
                kept: Some(&kept),
                ..for_checks
            };
            let check = check(table, scope)?;
            kept.extend(check.keep.keys().cloned());
            Ok(check)
        });
        let checks: Vec<Check> = checks.collect::<Result<_, StudyError>>()?;
        if checks.is_empty() {
            return Err(no_checks);
        }
        let for_tries = Scope {
            what: "\"try\"",
            kept: Some(&kept),
            ..for_checks
        };
        let tries = for_tries.take_all(&source, top.tries)?;
        let resolve = |all: Vec<WrittenProcess>, is_backing| {
            let all = all.into_iter();
            let all = all.map(|one| process(&source, one, &names, is_backing));
            all.collect::<Result<Vec<Process>, StudyError>>()
        };
        let backing = resolve(backing, true)?;
        let services = resolve(services, false)?;
        let entry = self::entry(entry.ok_or(no_entry)?, &services)?;
        let load = load.map(|table| self::load(table, &names)).transpose()?;
        let metrics = self::metrics(metrics, &services)?;
        let mut toolchain = top.toolchain;
        Tool::name_programs(&mut toolchain);
        Ok(Self {
            name: top.name,
            description: top.description,
            toolchain,
            build: top.build.into_iter().map(Into::into).collect(),
            tries,
            settings,
            backing,
            services,
            entry,
            load,
            checks,
            metrics,
        })
    }
}

fn settings(table: &mut Table<'_>) -> Result<Vec<Setting>, StudyError> {
    let Some(all) = table.table("settings")? else {
        return Ok(Vec::new());
    };
    let source = all.source;
    let (_, entries) = all.entries();
    let read = |(key, value): crate::read::Entry<'_>| {
        let refuse = |message: String| source.error(key.span(), message);
        let Name(name) = Name::try_from(key.get_ref().clone()).map_err(refuse)?;
        if TAKEN.contains(&name.as_str()) || name.contains('.') {
            return Err(refuse(format!("a setting cannot be called \"{name}\"")));
        }
        let table = Table::of(source, "settings", value)?;
        let written: WrittenSetting = table.rest()?;
        let values: Vec<String> = written.values.into_iter().map(String::from).collect();
        if let Some(twice) = repeated(&values) {
            return Err(refuse(format!("the value \"{twice}\" is there twice")));
        }
        if let Some(default) = &written.default
            && !values.contains(&default.get_ref().0)
        {
            let known = values.iter().map(String::as_str);
            let hint = Nearest::or_known(&default.get_ref().0, known);
            let message = format!("\"default\" is none of the \"values\"{hint}");
            return Err(source.error(default.span(), message));
        }
        let default = written.default.map(|default| default.into_inner().into());
        Ok(Setting {
            name,
            description: written.description.map(String::from),
            default: default.unwrap_or_else(|| values[0].clone()),
            values,
        })
    };
    entries.into_iter().map(read).collect()
}

fn processes(tables: Vec<Table<'_>>) -> Result<Vec<WrittenProcess>, StudyError> {
    let read = |table: Table<'_>| {
        let place = table.span.clone();
        let written: WrittenProcess = table.rest()?;
        Ok(WrittenProcess { place, ..written })
    };
    tables.into_iter().map(read).collect()
}

fn repeated<T: PartialEq>(values: &[T]) -> Option<&T> {
    let mut numbered = values.iter().enumerate();
    let found = numbered.find(|(at, value)| values[..*at].contains(value));
    found.map(|(_, value)| value)
}

fn names(
    source: &Source,
    settings: &[Setting],
    backing: &[WrittenProcess],
    services: &[WrittenProcess],
) -> Result<Names, StudyError> {
    let mut processes = BTreeMap::new();
    let backing = backing.iter().map(|one| (one, true));
    for (process, is_backing) in backing.chain(services.iter().map(|one| (one, false))) {
        let Name(name) = process.name.get_ref();
        let refuse = |message: String| source.error(process.name.span(), message);
        if TAKEN.contains(&name.as_str()) || name == "kept" || name.contains('.') {
            return Err(refuse(format!("a process cannot be called \"{name}\"")));
        }
        if let Some(Name(port)) = repeated(&process.ports) {
            return Err(refuse(format!("its port \"{port}\" is there twice")));
        }
        let ports = process.ports.iter().map(|Name(port)| port.clone());
        let known = processes.insert(name.clone(), (ports.collect(), is_backing));
        if known.is_some() {
            return Err(refuse(format!("the process \"{name}\" is there twice")));
        }
    }
    Ok(Names {
        settings: settings
            .iter()
            .map(|setting| setting.name.clone())
            .collect(),
        processes,
    })
}

fn process(
    source: &Source,
    written: WrittenProcess,
    names: &Names,
    is_backing: bool,
) -> Result<Process, StudyError> {
    let own: Vec<Name> = written.ports;
    let scope = Scope {
        names,
        what: match is_backing {
            true => "a backing process, which all configurations share",
            false => "a service",
        },
        own: Some(&own),
        has_configuration: !is_backing,
        has_build: true,
        kept: None,
    };
    if !is_backing && let Some(seed) = written.seed.first() {
        let message =
            "\"seed\" is a backing process's: a service starts with what its databases hold";
        return Err(source.error(seed.span(), message));
    }
    let port_at =
        |place: Range<usize>, port: String| match own.iter().any(|Name(known)| *known == port) {
            true => Ok(port),
            false => {
                let hint = Nearest::or_known(&port, own.iter().map(|Name(known)| known.as_str()));
                Err(source.error(place, format!("\"{port}\" is none of its \"ports\"{hint}")))
            }
        };
    let ready = match written.ready {
        None if own.is_empty() => {
            let message =
                "needs ready = { log = \"…\" }: without a port, nothing else tells when it is";
            return Err(source.error(written.place, format!("the process {message}")));
        }
        None => Ready::Tcp(own.iter().map(|Name(port)| port.clone()).collect()),
        Some(ready) => {
            let place = ready.span();
            let refuse = |message: &str| source.error(place.clone(), message);
            match ready.into_inner() {
                WrittenReady {
                    tcp: Some(port),
                    http: None,
                    path: None,
                    status: None,
                    log: None,
                    file: None,
                } => Ready::Tcp(vec![port_at(place, port)?]),
                WrittenReady {
                    tcp: None,
                    http: Some(port),
                    path,
                    status,
                    log: None,
                    file: None,
                } => Ready::Http {
                    port: port_at(place, port)?,
                    path: path.map_or_else(|| "/".to_owned(), |PathAndQuery(path)| path),
                    status: status.map_or(200, |Status(status)| status),
                },
                WrittenReady {
                    tcp: None,
                    http: None,
                    path: None,
                    status: None,
                    log: Some(text),
                    file,
                } => Ready::Log {
                    text: scope.take(source, text)?,
                    file: file.map(|file| scope.take(source, file)).transpose()?,
                },
                _ => {
                    return Err(refuse(
                        "\"ready\" is one of { tcp = \"PORT\" }, { http = \"PORT\", path, status } and { log = \
                         \"TEXT\", file }",
                    ));
                }
            }
        }
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

/// The service of that name.
fn service<'a>(
    source: &Source,
    services: &'a [Process],
    name: &Spanned<String>,
) -> Result<&'a Process, StudyError> {
    let found = services
        .iter()
        .find(|service| service.name == *name.get_ref());
    found.ok_or_else(|| {
        let known = services.iter().map(|service| service.name.as_str());
        let hint = Nearest::or_known(name.get_ref(), known);
        let message = format!("there is no service \"{}\"{hint}", name.get_ref());
        source.error(name.span(), message)
    })
}

fn entry(table: Table<'_>, services: &[Process]) -> Result<Entry, StudyError> {
    let source = table.source;
    let written: WrittenEntry = table.rest()?;
    let service = service(source, services, &written.service)?;
    if !service.ports.contains(written.port.get_ref()) {
        let known = service.ports.iter().map(String::as_str);
        let hint = Nearest::or_known(written.port.get_ref(), known);
        let message = format!(
            "\"{}\" has no port \"{}\"{hint}",
            service.name,
            written.port.get_ref()
        );
        return Err(source.error(written.port.span(), message));
    }
    Ok(Entry {
        service: service.name.clone(),
        port: written.port.into_inner(),
    })
}

fn load(table: Table<'_>, names: &Names) -> Result<Load, StudyError> {
    let source = table.source;
    let written: WrittenLoad = table.rest()?;
    let none_kept = BTreeSet::new();
    let scope = Scope {
        names,
        what: "[load]",
        own: None,
        has_configuration: true,
        has_build: true,
        kept: Some(&none_kept),
    };
    let mut parts = Path::new(written.locustfile.get_ref().0.as_str()).components();
    if !parts.all(|part| matches!(part, Component::Normal(_))) {
        let message = "\"locustfile\" must be a path within the application's folder";
        return Err(source.error(written.locustfile.span(), message));
    }
    let users = written
        .users
        .as_ref()
        .map_or(USERS, |users| *users.get_ref());
    if let Some(place) = written.users.as_ref().map(Spanned::span)
        && !(1..=MOST_USERS).contains(&users)
    {
        let message = format!("\"users\" must be from 1 to {MOST_USERS}");
        return Err(source.error(place, message));
    }
    if let Some(rate) = &written.spawn_rate
        && !(rate.get_ref().is_finite() && *rate.get_ref() > 0.0)
    {
        return Err(source.error(rate.span(), "\"spawn-rate\" must be a number above 0"));
    }
    Ok(Load {
        locustfile: written.locustfile.into_inner().into(),
        users,
        spawn_rate: written
            .spawn_rate
            .map_or(f64::from(users), Spanned::into_inner),
        env: scope.take_map(source, written.env)?,
    })
}

fn check(table: Table<'_>, scope: Scope<'_>) -> Result<Check, StudyError> {
    let source = table.source;
    let shown = table.place("path").map_or_else(String::new, |place| {
        source.text[place].trim_matches(['"', '\'']).to_owned()
    });
    let written: WrittenCheck = table.rest()?;
    let method = match (written.method, &written.json) {
        (Some(Method(method)), _) => method,
        (None, Some(_)) => "POST".to_owned(),
        (None, None) => "GET".to_owned(),
    };
    let path_place = written.path.span();
    let path = scope.take(source, written.path)?;
    if !shown.starts_with('/') {
        return Err(source.error(path_place, "\"path\" must begin with /"));
    }
    if let Some(json) = &written.json {
        texts_of(json.get_ref(), &mut |text| {
            scope.check(&Template::try_from(text.to_owned())?)
        })
        .map_err(|message| source.error(json.span(), message))?;
    }
    let name = written.name.map(String::from);
    let pointers = |all: Vec<Pointer>| all.into_iter().map(|Pointer(pointer)| pointer).collect();
    let holds = written
        .holds
        .into_iter()
        .map(|(Pointer(at), value)| (at, value));
    let keep = written
        .keep
        .into_iter()
        .map(|(Name(name), Pointer(at))| (name, at));
    Ok(Check {
        name: name.unwrap_or_else(|| format!("{method} {shown}")),
        method,
        path,
        headers: scope.take_map(source, written.headers)?,
        json: written.json.map(Spanned::into_inner),
        status: written.status.map_or(200, |Status(status)| status),
        holds: holds.collect(),
        keep: keep.collect(),
        ignore: pointers(written.ignore),
    })
}

/// Calls `of` with every text in a value.
fn texts_of(value: &Value, of: &mut impl FnMut(&str) -> Result<(), String>) -> Result<(), String> {
    match value {
        Value::String(text) => of(text),
        Value::Array(items) => items.iter().try_for_each(|item| texts_of(item, of)),
        Value::Object(members) => members.values().try_for_each(|item| texts_of(item, of)),
        _ => Ok(()),
    }
}

fn metrics(tables: Vec<Table<'_>>, services: &[Process]) -> Result<Vec<Metric>, StudyError> {
    let mut all: Vec<Metric> = Vec::new();
    let mut parts = Vec::new();
    for table in tables {
        let source = table.source;
        let written: WrittenMetric = table.rest()?;
        let service = service(source, services, &written.service)?;
        if service.metrics.is_none() {
            let message = format!(
                "the service \"{}\" tells no metrics: write metrics = {{ port = \"…\" }} under it",
                service.name
            );
            return Err(source.error(written.service.span(), message));
        }
        let Name(name) = written.name.get_ref().clone();
        if all.iter().any(|metric| metric.name == name) {
            let message = format!("the metric \"{name}\" is there twice");
            return Err(source.error(written.name.span(), message));
        }
        let requests = written.request.map_or_else(Vec::new, |Requests(all)| {
            all.into_iter().map(String::from).collect()
        });
        if let Some(part_of) = &written.part_of {
            parts.push((source, part_of.span(), all.len()));
        }
        all.push(Metric {
            title: written.title.map_or_else(|| name.clone(), String::from),
            name,
            service: service.name.clone(),
            metric: written.metric.into(),
            labels: written.labels,
            unit: written.unit,
            better: written.better.unwrap_or(Good::Less),
            requests,
            part_of: written.part_of.map(|part_of| part_of.into_inner().0),
        });
    }
    for (source, place, at) in parts {
        check_part(&all, &all[at]).map_err(|message| source.error(place, message))?;
    }
    Ok(all)
}

/// Whether what a metric is part of is there, and holds it.
fn check_part(all: &[Metric], metric: &Metric) -> Result<(), String> {
    let mut part = metric;
    for _ in all {
        let Some(name) = &part.part_of else {
            return Ok(());
        };
        let found = all.iter().find(|other| other.name == *name);
        let whole = found.ok_or_else(|| {
            let known = all.iter().map(|metric| metric.name.as_str());
            format!(
                "there is no metric \"{name}\"{}",
                Nearest::or_known(name, known)
            )
        })?;
        if part.unit.ns().is_none() || whole.unit.ns().is_none() {
            return Err("bytes are no part of a time".to_owned());
        }
        if part.requests != whole.requests {
            return Err(format!(
                "\"{}\" happens in other requests than \"{name}\": give both the same \"request\"",
                part.name
            ));
        }
        part = whole;
    }
    Err(format!("\"{}\" is a part of itself", metric.name))
}
