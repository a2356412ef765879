//! `app.toml`: an application of several processes, and how it is measured.
//!
//! [`App::parse`] reads it; `docs/measure-an-application.md` describes every key. A configuration of an
//! application is a value for each of its settings ([`Configuration`]). A study with `[app]` ([`AppStudy`])
//! resolves into an [`AppPlan`]. Its run ([`AppRun`]) is a run directory like any other, but with its own
//! types of plan and records.

mod plan;
mod read;
mod record;
mod run;
mod study;
mod template;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use rpcgauge_message::nearest::Nearest;
use rpcgauge_trial::is_default;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::read::one_or_more;
use crate::subject::Tool;
use crate::words::words;

pub use plan::{AppBlock, AppClaim, AppLoad, AppMetric, AppPair, AppPlan, AppVariant};
pub use record::{
    AppRecord, AtRate, JvmRecord, ProcessRecord, RequestRecord, SliceFigures, SliceOutcome,
    SliceRecord, StartRecord, SumCount,
};
pub use run::AppRun;
pub use study::{AppOf, AppOverrides, AppStudy};
pub use template::{Placeholder, Template};

/// The name of the manifest in an application's folder.
pub const MANIFEST: &str = "app.toml";

/// An application as described by its `app.toml`.
#[derive(Debug, Clone, PartialEq)]
pub struct App {
    /// Its name.
    pub name: String,
    /// A description in one line.
    pub description: String,
    /// The tools needed to build and run it.
    pub toolchain: Vec<Tool>,
    /// Commands that build it, run in order.
    pub build: Vec<Vec<String>>,
    /// Commands for a user to try once it is running.
    pub tries: Vec<Template>,
    /// The settings that a configuration can choose.
    pub settings: Vec<Setting>,
    /// The processes that all configurations share, in the order in which they start.
    pub backing: Vec<Process>,
    /// The processes that each configuration has its own set of, in the order in which they start.
    pub services: Vec<Process>,
    /// The entry that users call.
    pub entry: Entry,
    /// The users, if `app.toml` describes any.
    pub load: Option<Load>,
    /// Requests whose responses must be as expected.
    pub checks: Vec<Check>,
    /// The services' own metrics.
    pub metrics: Vec<Metric>,
}

/// A setting that a configuration can choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// What it changes, in one line.
    pub description: Option<String>,
    /// The values that it can have.
    pub values: Vec<String>,
    /// The default value.
    pub default: String,
}

/// A value for each setting of an application, by the setting's name.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Configuration(pub BTreeMap<String, String>);

/// A process of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its name, unique among the application's processes.
    pub name: String,
    /// The command.
    pub run: Vec<Template>,
    /// Its environment variables.
    pub env: BTreeMap<String, Template>,
    /// The names of the ports that it listens on.
    pub ports: Vec<String>,
    /// When it is ready.
    pub ready: Ready,
    /// How long it may take to become ready, ms.
    pub ready_within_ms: u64,
    /// A command to run once the process is ready; empty for none.
    pub seed: Vec<Template>,
    /// How long the seed command may take, ms.
    pub seed_within_ms: u64,
    /// How long it may take to exit after it is told to stop, ms.
    pub stop_within_ms: u64,
    /// The number of cores that it may use; `None` for all.
    pub cores: Option<u32>,
    /// Its memory limit, bytes.
    pub memory_bytes: Option<u64>,
    /// Where it exposes its metrics.
    pub metrics: Option<MetricsAt>,
}

/// When a process is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ready {
    /// When these ports accept a connection.
    Tcp(Vec<String>),
    /// When a request is answered with this status.
    Http {
        /// The port's name.
        port: String,
        /// The path.
        path: String,
        /// The status.
        status: u16,
    },
    /// When a line of its output, or of a file, contains a text.
    Log {
        /// The text.
        text: Template,
        /// The file; `None` for its standard output and standard error.
        file: Option<Template>,
    },
}

/// Where a process exposes its metrics, in Prometheus's text format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsAt {
    /// The port's name.
    pub port: String,
    /// The path.
    pub path: String,
}

/// The entry that users call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The service.
    pub service: String,
    /// The name of its port.
    pub port: String,
}

/// The users of an application.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// The locustfile, within the application's folder.
    pub locustfile: String,
    /// The number of users.
    pub users: u32,
    /// How many users start per second; `None` to start all at the same time.
    pub spawn_rate: Option<f64>,
    /// The tags of the tasks that users run; empty for all tasks.
    pub tags: Vec<String>,
    /// The load generator's environment variables.
    pub env: BTreeMap<String, Template>,
}

/// A request whose response must be as expected.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Its name in messages.
    pub name: String,
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: Template,
    /// Header fields.
    pub headers: BTreeMap<String, Template>,
    /// The body; its strings may contain placeholders.
    pub json: Option<Value>,
    /// The status that the response must have.
    pub status: u16,
    /// Values that the response's body must contain, by JSON Pointer.
    pub holds: BTreeMap<String, Value>,
    /// JSON Pointers to values of the response's body that later requests can use, by name.
    pub keep: BTreeMap<String, String>,
    /// JSON Pointers to values of the response's body that may differ between configurations.
    pub ignore: Vec<String>,
}

/// A metric that a service exposes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// Its name in studies.
    pub name: String,
    /// Its title in reports.
    pub title: String,
    /// The service that exposes it.
    pub service: String,
    /// The name of the summary or histogram, without `_sum` and `_count`.
    pub metric: String,
    /// The labels that a series must have to be included.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The unit in which the service reports it.
    pub unit: MetricUnit,
    /// Whether more of it is better, for example of a cache's hits.
    #[serde(
        rename = "better",
        default,
        with = "more",
        skip_serializing_if = "is_default"
    )]
    pub more_is_better: bool,
    /// Whether a configuration may lack it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub optional: bool,
    /// Whether it is time spent waiting for a scarce resource: a thread, a connection.
    #[serde(default, skip_serializing_if = "is_default")]
    pub wait: bool,
    /// The names of the load's requests in which it occurs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<String>,
    /// The metrics that contain this one, each for different requests; empty if it is a direct part of the request.
    /// Plans of earlier versions have a single name as a string.
    #[serde(
        default,
        deserialize_with = "one_or_more",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub part_of: Vec<String>,
}

/// Serializes [`Metric::more_is_better`] as `"more"` or `"less"`.
mod more {
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(is_so: &bool, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(if *is_so { "more" } else { "less" })
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<bool, D::Error> {
        let word = String::deserialize(deserializer)?;
        Ok(word == "more")
    }
}

/// The unit of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MetricUnit {
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Microseconds.
    #[serde(rename = "us")]
    Microseconds,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// A count, or a fraction of 1.
    #[serde(rename = "1")]
    Number,
}

words! { MetricUnit, "unit of a metric":
    "s" => Seconds, "ms" => Milliseconds, "us" => Microseconds, "B" => Bytes, "1" => Number,
}

impl MetricUnit {
    /// Its length in nanoseconds; `None` if it is not a time.
    pub fn ns(self) -> Option<f64> {
        match self {
            Self::Seconds => Some(1e9),
            Self::Milliseconds => Some(1e6),
            Self::Microseconds => Some(1e3),
            Self::Bytes | Self::Number => None,
        }
    }
}

impl App {
    /// The configuration with these values, by setting, and the defaults for the rest.
    ///
    /// # Errors
    /// There is no such setting, or it does not have the value. The message is one line.
    pub fn configuration<'a>(
        &self,
        chosen: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Configuration, String> {
        let defaults = self.settings.iter();
        let defaults = defaults.map(|setting| (setting.name.clone(), setting.default.clone()));
        let mut configuration = Configuration(defaults.collect());
        for (name, value) in chosen {
            let known = || self.settings.iter().map(|setting| setting.name.as_str());
            let setting = self.settings.iter().find(|setting| setting.name == name);
            let setting = setting.ok_or_else(|| {
                let hint = Nearest::or_known(name, known());
                format!("{} has no setting \"{name}\"{hint}", self.name)
            })?;
            if !setting.values.iter().any(|known| known == value) {
                let hint = Nearest::or_known(value, setting.values.iter().map(String::as_str));
                return Err(format!("{name} cannot be \"{value}\"{hint}"));
            }
            configuration.0.insert(name.to_owned(), value.to_owned());
        }
        Ok(configuration)
    }

    /// The configurations to check: the default one, and one for each other value of a setting.
    pub fn configurations(&self) -> Vec<Configuration> {
        let default = self.configuration([]).unwrap_or_default();
        let mut all = vec![default.clone()];
        for setting in &self.settings {
            let others = setting
                .values
                .iter()
                .filter(|value| **value != setting.default);
            all.extend(others.map(|value| {
                let mut one = default.clone();
                one.0.insert(setting.name.clone(), value.clone());
                one
            }));
        }
        all
    }

    /// The check with this name.
    ///
    /// # Errors
    /// There is no such check, or there are several. The message is one line.
    pub fn check(&self, name: &str) -> Result<&Check, String> {
        let mut named = self.checks.iter().filter(|check| check.name == name);
        match (named.next(), named.next()) {
            (Some(check), None) => Ok(check),
            (Some(_), Some(_)) => Err(format!(
                "{} has several checks \"{name}\"; give each its own name in app.toml",
                self.name
            )),
            (None, _) => {
                let known = self.checks.iter().map(|check| check.name.as_str());
                let hint = Nearest::or_known(name, known);
                Err(format!("{} has no check \"{name}\"{hint}", self.name))
            }
        }
    }

    /// The process with this name.
    pub fn process(&self, name: &str) -> Option<&Process> {
        let mut all = self.backing.iter().chain(&self.services);
        all.find(|process| process.name == name)
    }
}

impl std::fmt::Display for Configuration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let set: Vec<String> = self
            .0
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        match &set[..] {
            [] => f.write_str("no settings"),
            set => f.write_str(&set.join(", ")),
        }
    }
}
