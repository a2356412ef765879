//! Describes the machine that a run was measured on, for the report.
//!
//! Everything is read from the kernel and the file system. What a machine does not reveal is left out, never
//! guessed.

mod disturbances;
mod executable;
mod others;
mod steal;
mod system;

use std::collections::BTreeMap;

use rpcgauge_study::record::Environment;
use rpcgauge_study::settings::Idle;
use rpcgauge_study::words::Named as _;

pub(crate) use disturbances::{Disturbances, Waiting};
pub(crate) use steal::stolen_ns;

use crate::machine::cores;
use crate::machine::idle::IdleHold;
use crate::machine::process::ProcessMeter;

/// Describes the current state of the machine, without the other programs that run on it.
pub fn examine(idle: Idle) -> Environment {
    let allowed = cores::allowed().unwrap_or_default();
    let governor = system::governor(&allowed);
    let idle = IdleHold::ask(idle).outcome.clone();
    let mut warnings = system::warnings(&allowed, governor.as_deref());
    warnings.extend(idle.reason.clone());
    warnings.extend(peak_warning());
    Environment {
        rpcgauge: env!("CARGO_PKG_VERSION").to_owned(),
        executable: executable::digest(),
        machine_id: system::machine_id(),
        system: system::name(),
        processor: system::processor(),
        cores: u32::try_from(allowed.len()).unwrap_or(u32::MAX),
        memory_bytes: system::memory_bytes().unwrap_or(0),
        virtualization: system::virtualization(),
        governor,
        idle,
        subjects: BTreeMap::new(),
        disk: BTreeMap::new(),
        warnings,
    }
}

/// Warns if the kernel cannot reset a process's peak memory, in which case a trial's peak includes all earlier
/// trials.
fn peak_warning() -> Option<String> {
    let can_reset = ProcessMeter::of_self().is_ok_and(|meter| meter.reset_peak());
    (!can_reset).then(|| {
        "peak memory cannot be reset (/proc/self/clear_refs): a trial's peak covers the time since \
         its process started"
            .to_owned()
    })
}

/// The environment of a resumed run: the original one, plus warnings about what has changed. A change that
/// would make figures incomparable is rejected elsewhere ([`Provenance`](rpcgauge_study::record::Provenance)).
pub(crate) fn continued(mut earlier: Environment, now: Environment) -> Environment {
    let governor = |of: &Environment| of.governor.clone().unwrap_or_else(|| "unknown".to_owned());
    let changes = [
        ("the frequency governor", governor(&earlier), governor(&now)),
        (
            "the idle setting",
            earlier.idle.got.as_str().to_owned(),
            now.idle.got.as_str().to_owned(),
        ),
    ];
    let changes = changes.into_iter().filter(|(_, before, now)| before != now);
    let changes = changes.map(|(what, before, now)| format!("{what} was {now}, not {before}"));
    // Warnings that the run already has are not repeated.
    let new = now.warnings.into_iter();
    let new = new.filter(|warning| !earlier.warnings.contains(warning));
    let later: Vec<String> = changes.chain(new).collect();
    for text in later {
        let warning = format!("{RESUMED}: {text}");
        if !earlier.warnings.contains(&warning) {
            earlier.warnings.push(warning);
        }
    }
    earlier
}

/// The prefix of warnings about the resumed part of a run.
const RESUMED: &str = "when the run was resumed";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resumed_run_names_what_changed_and_keeps_the_rest() {
        let mut earlier = examine(Idle::AsIs);
        earlier.governor = Some("powersave".to_owned());
        earlier.warnings = vec!["it was cold".to_owned()];
        assert_eq!(continued(earlier.clone(), earlier.clone()), earlier);
        let mut now = earlier.clone();
        now.governor = Some("performance".to_owned());
        now.idle.got = Idle::Held;
        now.warnings = vec!["it was cold".to_owned(), "it was loud".to_owned()];
        let both = continued(continued(earlier.clone(), now.clone()), now);
        assert_eq!(both.governor, earlier.governor);
        assert_eq!(
            both.warnings,
            [
                "it was cold",
                "when the run was resumed: the frequency governor was performance, not powersave",
                "when the run was resumed: the idle setting was held, not as-is",
                "when the run was resumed: it was loud",
            ]
        );
    }

    #[test]
    fn this_machine_shows_something() {
        let environment = examine(Idle::AsIs);
        assert!(
            environment.system.contains("Linux"),
            "{}",
            environment.system
        );
        assert!(!environment.processor.is_empty());
        assert!(environment.cores > 0);
        assert!(environment.memory_bytes > 1 << 20);
        assert_eq!(environment.idle.got, Idle::AsIs);
        assert!(
            environment
                .warnings
                .iter()
                .all(|warning| warning.lines().count() == 1)
        );
        // Programs that ran earlier, such as the previous run, do not disturb this one.
        let warnings = environment.warnings.join("\n");
        assert!(!warnings.contains("load average"), "{warnings}");
    }
}
