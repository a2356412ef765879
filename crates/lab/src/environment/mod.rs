//! The machine that a run was measured on, as the report shows it.
//!
//! Everything comes from files that the kernel keeps; what a machine does not show is left out,
//! never guessed.

mod disturbances;
mod others;
mod steal;
mod system;

use std::collections::BTreeMap;

use rpcgauge_study::record::Environment;
use rpcgauge_study::settings::Idle;

pub(crate) use disturbances::{Disturbances, Waiting};
pub(crate) use steal::stolen_ns;

use crate::machine::cores;
use crate::machine::idle::IdleHold;
use crate::machine::process::ProcessMeter;

/// The machine as it is now. [`Disturbances`] covers what else runs on it.
pub(crate) fn examine(idle: Idle) -> Environment {
    let allowed = cores::allowed().unwrap_or_default();
    let governor = system::governor(&allowed);
    let idle = IdleHold::ask(idle).outcome.clone();
    let mut warnings = system::warnings(&allowed, governor.as_deref());
    warnings.extend(idle.reason.clone());
    warnings.extend(peak_warning());
    Environment {
        rpcgauge: env!("CARGO_PKG_VERSION").to_owned(),
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

/// Where the kernel does not let a process's peak memory start anew, a trial's peak is the largest
/// of all before it.
fn peak_warning() -> Option<String> {
    let can_reset = ProcessMeter::of_self().is_ok_and(|meter| meter.reset_peak());
    (!can_reset).then(|| {
        "peak memory cannot be reset (/proc/self/clear_refs): a trial's peak is the largest since \
         its process started"
            .to_owned()
    })
}

/// The environment of a run that is taken up again: as it began, with what is different now, since
/// the report's one environment must not claim for the first part what holds for the second.
pub(crate) fn continued(mut earlier: Environment, now: Environment) -> Environment {
    let before_and_now = [
        ("rpcgauge", &earlier.rpcgauge, &now.rpcgauge),
        ("the system", &earlier.system, &now.system),
        ("the processor", &earlier.processor, &now.processor),
        (
            "the number of cores",
            &earlier.cores.to_string(),
            &now.cores.to_string(),
        ),
    ];
    let differences = before_and_now
        .into_iter()
        .filter(|(_, before, now)| before != now);
    let differences = differences.map(|(what, before, now)| {
        format!(
            "the run was taken up again where {what} is another one: {before} before, {now} then; \
             its parts do not compare"
        )
    });
    // What held at the start as well needs no second mention; what is new is of the later part.
    let new = now.warnings.iter();
    let new = new.filter(|warning| !earlier.warnings.contains(warning));
    let new = new.map(|warning| format!("{TAKEN_UP_AGAIN}: {warning}"));
    let added: Vec<String> = differences.chain(new).collect();
    for warning in added {
        if !earlier.warnings.contains(&warning) {
            earlier.warnings.push(warning);
        }
    }
    earlier
}

/// Before a warning about the part of a run from there on.
const TAKEN_UP_AGAIN: &str = "when the run was taken up again";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_taken_up_elsewhere_keeps_both_machines_notes() {
        let mut earlier = examine(Idle::AsIs);
        earlier.warnings = vec!["it was cold".to_owned()];
        earlier.subjects = BTreeMap::from([("reference".to_owned(), BTreeMap::new())]);
        let same = continued(earlier.clone(), earlier.clone());
        assert_eq!(same, earlier);
        let mut now = earlier.clone();
        now.processor = "another".to_owned();
        now.cores += 1;
        now.subjects.clear();
        now.warnings = vec!["it was cold".to_owned(), "it was loud".to_owned()];
        let both = continued(earlier.clone(), now);
        assert_eq!(
            (&both.processor, &both.subjects),
            (&earlier.processor, &earlier.subjects)
        );
        let warnings: Vec<&str> = both.warnings.iter().map(String::as_str).collect();
        let [first, processor, cores, last] = warnings.as_slice() else {
            panic!("{warnings:?}");
        };
        assert_eq!(
            (*first, *last),
            (
                "it was cold",
                "when the run was taken up again: it was loud"
            )
        );
        assert!(
            processor.contains("the processor is another one"),
            "{processor}"
        );
        assert!(
            cores.contains("the number of cores is another one"),
            "{cores}"
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
        // What ran before it, as the last run did, disturbs nothing.
        let warnings = environment.warnings.join("\n");
        assert!(!warnings.contains("load average"), "{warnings}");
    }
}
