//! The plan of a study of an application: every slice, and what to compare.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{App, Configuration, Metric};
use crate::plan::check::{CONFIDENCE, MARGIN, MAX_TRIALS};
use crate::run::Planned;
use crate::run::RunKind;

/// A plan, with no defaults left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AppPlan {
    /// The study's name.
    pub name: String,
    /// The study's question.
    pub question: String,
    /// The seed of the order of slices, and of the intervals.
    pub seed: u64,
    /// Differences up to this share, in either direction, count as none.
    pub margin: f64,
    /// The share of intervals that contain the true value.
    pub confidence: f64,
    /// The application's name.
    pub app: String,
    /// The application's description.
    pub description: String,
    /// Its folder, absolute; `None` for a built-in application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// The load on each variant.
    #[serde(flatten)]
    pub load: AppLoad,
    /// How long each variant is under load before the first slice of an invocation, ms.
    pub warm_up_ms: u64,
    /// How long load runs before each slice without being counted, ms.
    pub settle_ms: u64,
    /// The length of a slice, ms.
    pub slice_ms: u64,
    /// The configurations.
    pub variants: Vec<AppVariant>,
    /// The blocks, in order.
    #[serde(alias = "rounds")]
    pub blocks: Vec<AppBlock>,
    /// The metrics of the services.
    pub metrics: Vec<Metric>,
    /// The pairs to compare.
    pub pairs: Vec<AppPair>,
    /// Published figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<AppClaim>,
}

/// The load on an application.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "the load is neither of users nor at a rate")]
pub enum AppLoad {
    /// Locust's users. Each waits for a response before its next request (closed loop).
    Users {
        /// The number of users.
        users: u32,
        /// How many users start per second.
        spawn_rate: f64,
        /// The tags of the tasks that users run; empty for all tasks.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tags: Vec<String>,
    },
    /// rpcgauge's engine, which sends one kind of request at a rate, independent of earlier responses (open loop).
    Rate {
        /// The name of the check whose request it sends.
        call: String,
        /// Requests per second.
        rate: f64,
    },
}

impl AppLoad {
    /// The users of an application. The numbers and tags given here replace those in its `app.toml`.
    ///
    /// # Errors
    /// The `app.toml` describes no users.
    pub fn users(
        app: &App,
        users: Option<u32>,
        spawn_rate: Option<f64>,
        tags: Option<Vec<String>>,
    ) -> Result<Self, String> {
        let load = app.load.as_ref().ok_or_else(|| {
            format!(
                "{} has no [load] in its app.toml, so it has no users; write one, or give a call and a rate",
                app.name
            )
        })?;
        let users = users.unwrap_or(load.users);
        let spawn_rate = spawn_rate.or(load.spawn_rate);
        Ok(Self::Users {
            users,
            spawn_rate: spawn_rate.unwrap_or(f64::from(users)),
            tags: tags.unwrap_or_else(|| load.tags.clone()),
        })
    }
}

impl std::fmt::Display for AppLoad {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Users { users, tags, .. } if tags.is_empty() => write!(f, "{users} users"),
            Self::Users { users, tags, .. } => {
                write!(f, "{users} users (tags: {})", tags.join(", "))
            }
            Self::Rate { call, rate } => {
                write!(f, "{rate} requests \"{call}\" per second (open loop)")
            }
        }
    }
}

/// A configuration of the application, with its own set of services.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppVariant {
    /// Its name.
    pub name: String,
    /// A value for each setting.
    pub configuration: Configuration,
    /// The variant that this one repeats with a second set of services (A/A).
    #[serde(default, alias = "control_of", skip_serializing_if = "Option::is_none")]
    pub repeats: Option<String>,
}

/// One slice of each variant, run one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppBlock {
    /// The invocation that it belongs to, from 0.
    pub invocation: u32,
    /// The number of the block in its invocation, from 0.
    pub block: u32,
    /// The order of the variants, as indices into the plan's variants.
    pub order: Vec<usize>,
}

/// Two variants to compare.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AppPair {
    /// The variant that the verdict is about.
    pub of: String,
    /// The variant that `of` is compared with.
    pub against: String,
    /// The question that the pair answers, if the study gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The requests to compare; empty for all requests together and each by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<String>,
    /// The metrics.
    pub metrics: Vec<AppMetric>,
}

/// A published ratio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AppClaim {
    /// The variant that the claim is about.
    pub of: String,
    /// The variant that `of` is compared with.
    pub against: String,
    /// The metric.
    pub metric: AppMetric,
    /// The request; `None` for all requests together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The published figure of `of` divided by the figure of `against`.
    pub ratio: f64,
    /// Where it was published.
    pub source: String,
}

/// A metric of an application.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum AppMetric {
    /// Requests that succeeded, per second.
    RequestsPerSecond,
    /// The mean response time.
    ResponseMean,
    /// The median response time.
    ResponseP50,
    /// The 99th percentile of response times.
    ResponseP99,
    /// CPU time of all processes per request.
    Cpu,
    /// One of the application's own metrics.
    Inside(String),
}

impl AppMetric {
    /// The names of the metrics that are available for every application.
    pub const NAMES: [&str; 5] = [
        "requests-per-second",
        "response-mean",
        "response-p50",
        "response-p99",
        "cpu",
    ];

    /// The metrics that are available for every application, then the application's own.
    pub fn all(own: &[Metric]) -> Vec<Self> {
        let usual = Self::NAMES.map(|word| Self::from(word.to_owned()));
        let own = own.iter().map(|metric| Self::Inside(metric.name.clone()));
        usual.into_iter().chain(own).collect()
    }

    /// Whether each request has its own figure.
    pub fn is_of_request(&self) -> bool {
        !matches!(self, Self::Cpu | Self::Inside(_))
    }
}

impl From<String> for AppMetric {
    fn from(word: String) -> Self {
        match &*word {
            "requests-per-second" => Self::RequestsPerSecond,
            "response-mean" => Self::ResponseMean,
            "response-p50" => Self::ResponseP50,
            "response-p99" => Self::ResponseP99,
            "cpu" => Self::Cpu,
            _ => Self::Inside(word),
        }
    }
}

impl From<AppMetric> for String {
    fn from(metric: AppMetric) -> Self {
        let [rate, mean, p50, p99, cpu] = AppMetric::NAMES.map(str::to_owned);
        match metric {
            AppMetric::RequestsPerSecond => rate,
            AppMetric::ResponseMean => mean,
            AppMetric::ResponseP50 => p50,
            AppMetric::ResponseP99 => p99,
            AppMetric::Cpu => cpu,
            AppMetric::Inside(name) => name,
        }
    }
}

impl Planned for AppPlan {
    const KIND: RunKind = RunKind::App;

    fn name(&self) -> &str {
        &self.name
    }

    fn seed(&self) -> u64 {
        self.seed
    }
}

impl AppPlan {
    /// The number of invocations.
    pub fn invocations(&self) -> u32 {
        self.blocks
            .iter()
            .map(|block| block.invocation + 1)
            .max()
            .unwrap_or(0)
    }

    /// The number of slices.
    pub fn slices(&self) -> usize {
        self.blocks.iter().map(|block| block.order.len()).sum()
    }

    /// An estimate of how long the run takes, not including building and starting, ms.
    pub fn estimate_ms(&self) -> u64 {
        let of_slice = self.settle_ms + self.slice_ms;
        let warm_ups = u64::from(self.invocations()) * self.variants.len() as u64 * self.warm_up_ms;
        warm_ups + self.slices() as u64 * of_slice
    }

    /// Whether the application still has the settings and metrics that the plan was built from.
    pub fn is_of(&self, app: &App) -> bool {
        let is_known = |Configuration(values): &Configuration| {
            let chosen = values.iter().map(|(name, value)| (&**name, &**value));
            app.configuration(chosen)
                .is_ok_and(|known| known.0 == *values)
        };
        let mut variants = self.variants.iter();
        self.metrics == app.metrics && variants.all(|variant| is_known(&variant.configuration))
    }

    /// Checks the bounds and the consistency of a plan that was read from disk.
    pub(crate) fn check(&self) -> Result<(), String> {
        MARGIN.check(self.margin)?;
        CONFIDENCE.check(self.confidence)?;
        if self.slices() as u64 > MAX_TRIALS {
            return Err(format!("it has more than {MAX_TRIALS} slices"));
        }
        let is_there = |name: &String| self.variants.iter().any(|variant| variant.name == *name);
        let named = self.pairs.iter().flat_map(|pair| [&pair.of, &pair.against]);
        let named = named.chain(
            self.claims
                .iter()
                .flat_map(|claim| [&claim.of, &claim.against]),
        );
        let named = named.chain(
            self.variants
                .iter()
                .filter_map(|variant| variant.repeats.as_ref()),
        );
        if let Some(name) = named.into_iter().find(|name| !is_there(name)) {
            return Err(format!("there is no variant \"{name}\""));
        }
        let mut places = self.blocks.iter().flat_map(|block| &block.order);
        if places.all(|place| *place < self.variants.len()) {
            Ok(())
        } else {
            Err("a block names a variant that does not exist".to_owned())
        }
    }
}
