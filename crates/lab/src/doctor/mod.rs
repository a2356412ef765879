//! What this machine can measure, how quietly, and what would unlock more.

mod capability;
mod noise;
mod text;
mod tools;

use rpcgauge_study::record::Environment;
use rpcgauge_study::settings::Idle;
use serde::Serialize;

pub use capability::Capability;
pub use noise::{Noise, NoiseResult};

use crate::environment::look;
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<NoiseResult>,
}

/// Looks at the machine, and with `measure_noise` runs a short A/A of some seconds against the
/// reference subject.
pub fn examine(options: &Options, measure_noise: bool) -> Findings {
    Findings {
        environment: look(Idle::Held),
        privileges: capability::privileges(),
        toolchains: tools::toolchains(),
        noise: measure_noise.then(|| noise::measure(options)),
    }
}
