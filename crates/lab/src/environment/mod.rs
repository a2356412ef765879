//! The machine that a run was measured on, as the report shows it.
//!
//! Everything comes from files that the kernel keeps; what a machine does not tell is left out,
//! never guessed.

mod load;
mod system;
mod virtualization;

use std::collections::BTreeMap;

use rpcgauge_study::record::Environment;
use rpcgauge_study::settings::Idle;

pub(crate) use load::StealMeter;

use crate::machine::cores;
use crate::machine::idle::IdleHold;

/// Looks at the machine. Takes about a quarter of a second, since what else runs on it is watched
/// for as long.
pub fn look(idle: Idle) -> Environment {
    let allowed = cores::allowed().unwrap_or_default();
    let governor = system::governor(&allowed);
    let idle = IdleHold::ask(idle).outcome().clone();
    let mut warnings = system::warnings(&allowed, governor.as_deref());
    warnings.extend(load::warnings(allowed.len()));
    warnings.extend(idle.reason.clone());
    Environment {
        rpcgauge: env!("CARGO_PKG_VERSION").to_owned(),
        system: system::name(),
        processor: system::processor(),
        cores: u32::try_from(allowed.len()).unwrap_or(u32::MAX),
        memory_bytes: system::memory_bytes().unwrap_or(0),
        virtualization: virtualization::hint(),
        governor,
        idle,
        subjects: BTreeMap::new(),
        warnings,
    }
}

/// A file's text without the white space around it, if it can be read and has any.
fn text_of(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_tells_something() {
        let environment = look(Idle::AsIs);
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
    }
}
