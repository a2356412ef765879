//! What this machine can measure, how quietly, and what would unlock more.

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
use noise::NoiseResult;
use stops::BusyCores;

use crate::environment::{self, Disturbances};
use crate::machine::placement::Placements;
use crate::subject::SubjectCommand;
use crate::subjects::Subjects;

/// What the doctor found. `Display` is the text for a terminal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Findings {
    environment: Environment,
    /// Privileges that are or are not there, and what each unlocks.
    privileges: Vec<Capability>,
    /// Toolchains that are or are not there, and what each unlocks.
    toolchains: Vec<Capability>,
    /// Whether busy cores are stopped; absent if that was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    busy_cores: Option<BusyCores>,
    /// The result of a short A/A run; absent if it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    noise: Option<NoiseResult>,
}

/// Other programs are watched for at least this long.
const WATCH: Duration = Duration::from_millis(250);

/// Examines the machine, where `links` says whether emulated links can be made, and with `measure_noise` keeps its cores busy for a second and runs a short
/// A/A of some seconds against the reference subject.
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
    let seen = disturbances.warnings("meanwhile");
    environment.warnings.extend(seen);
    Findings {
        environment,
        privileges: capability::privileges(links),
        toolchains: capability::toolchains(subjects),
        busy_cores,
        noise,
    }
}
