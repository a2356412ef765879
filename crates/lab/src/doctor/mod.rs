//! What this machine can measure, how quietly, and what would unlock more.

use std::fmt;

use rpcgauge_study::record::Environment;
use serde::Serialize;

use crate::run::Options;

/// What the doctor found. `Display` is the text for a terminal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Findings {
    /// The machine.
    pub environment: Environment,
    /// Privileges that are or are not there, and what each unlocks.
    pub privileges: Vec<Capability>,
    /// Toolchains that are or are not there, and what each unlocks.
    pub toolchains: Vec<Capability>,
    /// What a short A/A measured; absent where it was skipped.
    pub noise: Option<Noise>,
}

/// Something that is there or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Capability {
    /// Its name.
    pub name: String,
    /// Whether it is there.
    pub found: bool,
    /// Its version or place where it is there; why not, where it is not.
    pub detail: String,
    /// What it unlocks.
    pub unlocks: String,
}

/// How much two measurements of the same thing differ here.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Noise {
    /// The placement that was measured.
    pub placement: rpcgauge_study::settings::Placement,
    /// Whether idle states were held off.
    pub idle: rpcgauge_study::settings::Idle,
    /// Pairs of trials that were measured.
    pub pairs: u32,
    /// Median latency over all trials, ns.
    pub latency_p50_ns: f64,
    /// The median of |ratio − 1| over the pairs: what one pair is off by, 0.02 for 2%.
    pub typical: f64,
    /// The largest |ratio − 1| over the pairs.
    pub largest: f64,
    /// Why it could not be measured, when it could not; the figures are 0 then.
    pub failure: Option<String>,
}

/// Looks at the machine, and with `measure_noise` runs a short A/A of some seconds.
pub fn examine(options: &Options, measure_noise: bool) -> Findings {
    let _ = (options, measure_noise);
    Findings {
        environment: crate::environment::look(rpcgauge_study::settings::Idle::Held),
        privileges: Vec::new(),
        toolchains: Vec::new(),
        noise: None,
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.environment.system)
    }
}
