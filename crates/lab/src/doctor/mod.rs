//! Determines what this machine can measure, how noisy it is, and what would enable more.

mod capability;
mod noise;
mod stops;
mod text;

use std::thread;
use std::time::Duration;

use rpcgauge_study::record::Environment;
use rpcgauge_study::settings::{Idle, Placement};
use serde::Serialize;

use capability::Capability;
use noise::{Fit, NoiseResult};
use stops::BusyCores;

use crate::environment::{self, Disturbances};
use crate::machine::placement::Placements;
use crate::subject::SubjectCommand;
use crate::subjects::Subjects;

/// What the doctor found. `Display` formats it for a terminal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Findings {
    environment: Environment,
    /// Privileges: whether this program has each one, and what it enables.
    privileges: Vec<Capability>,
    /// Toolchains: whether each one is installed, and what it enables.
    toolchains: Vec<Capability>,
    /// Whether the kernel or host stops busy cores; `None` if not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    busy_cores: Option<BusyCores>,
    /// The result of a short A/A run; `None` if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    noise: Option<NoiseResult>,
    /// What the noise allows; `None` if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    fit: Option<Fit>,
}

/// The minimum time for which other programs are watched.
const WATCH: Duration = Duration::from_millis(250);

/// Examines the machine. `links` is `Ok` if emulated links can be created. With `measure_noise`, also keeps
/// the cores busy for a second and runs an A/A test of a few seconds against the reference subject.
pub fn examine(
    reference: &SubjectCommand,
    subjects: &Subjects,
    links: Result<String, String>,
    measure_noise: bool,
) -> Findings {
    let placements = Placements::detect().unwrap_or_else(|_| Placements::among(Vec::new()));
    let cores = placements.cores(&[Placement::TwoCores, Placement::OneCore]);
    let disturbances = Disturbances::start(cores, Vec::new());
    let mut environment = environment::examine(Idle::Held);
    let busy_cores = measure_noise.then(|| stops::watch(&placements)).flatten();
    let noise = measure_noise.then(|| noise::measure(reference));
    if !measure_noise {
        thread::sleep(WATCH);
    }
    let stops = busy_cores.as_ref().and_then(|cores| cores.stops.as_ref());
    environment.warnings.extend(stops.map(ToString::to_string));
    let seen = disturbances.warnings("during the check");
    environment.warnings.extend(seen);
    Findings {
        environment,
        privileges: capability::privileges(links),
        toolchains: capability::toolchains(subjects),
        busy_cores,
        fit: match &noise {
            Some(NoiseResult::Measured(noise)) => Some(noise.fit()),
            Some(NoiseResult::Failed { .. }) | None => None,
        },
        noise,
    }
}
