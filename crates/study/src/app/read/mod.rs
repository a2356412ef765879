//! Reads `app.toml`: first each table, then the names by which tables refer to each other.

mod check;
mod metric;
mod process;
mod scope;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use rpcgauge_message::nearest::Nearest;
use serde::Deserialize;
use toml::Spanned;

use super::template::TAKEN;
use super::{App, Check, Entry, Load, Process, Setting, Template};
use crate::error::{Source, StudyError};
use crate::read::{Line, Table, filled, of};
use crate::subject::{Command, Name, Tool};
use process::WrittenProcess;
use scope::{Names, Scope};

/// The default number of users.
const USERS: u32 = 10;

/// The maximum number of users. Each user is a thread of the load generator and a connection.
pub(crate) const MAX_USERS: u32 = 10_000;

/// The file's top-level keys.
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
    tags: Vec<Line>,
    #[serde(default)]
    env: BTreeMap<String, Spanned<Template>>,
}

impl App {
    /// Reads an `app.toml`. `file` is its name in messages.
    ///
    /// # Errors
    /// The first problem, with its line and column.
    pub fn parse(text: &str, file: &str) -> Result<Self, StudyError> {
        let source = Source {
            file: file.into(),
            text: text.into(),
        };
        let mut table = Table::root(&source)?;
        let settings = settings(&mut table)?;
        let backing = process::processes(table.tables("backing")?)?;
        let services = process::processes(table.tables("service")?)?;
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
             responses are known to be correct",
        );
        let no_entry = table.error("needs [entry] with the service and port that users call");
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
            let check = check::check(table, scope)?;
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
            let all = all.map(|one| process::process(&source, one, &names, is_backing));
            all.collect::<Result<Vec<Process>, StudyError>>()
        };
        let backing = resolve(backing, true)?;
        let services = resolve(services, false)?;
        let entry = self::entry(entry.ok_or(no_entry)?, &services)?;
        let load = load.map(|table| self::load(table, &names)).transpose()?;
        let metrics = metric::metrics(metrics, &services)?;
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
            return Err(refuse(format!("a setting cannot be named \"{name}\"")));
        }
        let table = Table::of(source, "settings", value)?;
        let written: WrittenSetting = table.rest()?;
        let values: Vec<String> = written.values.into_iter().map(String::from).collect();
        if let Some(twice) = repeated(&values) {
            return Err(refuse(format!("duplicate value \"{twice}\"")));
        }
        if let Some(default) = &written.default
            && !values.contains(&default.get_ref().0)
        {
            let known = values.iter().map(String::as_str);
            let hint = Nearest::or_known(&default.get_ref().0, known);
            let message = format!("\"default\" is not one of the \"values\"{hint}");
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
            return Err(refuse(format!("a process cannot be named \"{name}\"")));
        }
        if let Some(Name(port)) = repeated(&process.ports) {
            return Err(refuse(format!("duplicate port \"{port}\"")));
        }
        let ports = process.ports.iter().map(|Name(port)| port.clone());
        let known = processes.insert(name.clone(), (ports.collect(), is_backing));
        if known.is_some() {
            return Err(refuse(format!("duplicate process \"{name}\"")));
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

/// The service with this name.
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
        && !(1..=MAX_USERS).contains(&users)
    {
        let message = format!("\"users\" must be from 1 to {MAX_USERS}");
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
        spawn_rate: written.spawn_rate.map(Spanned::into_inner),
        tags: written.tags.into_iter().map(String::from).collect(),
        env: scope.take_map(source, written.env)?,
    })
}
