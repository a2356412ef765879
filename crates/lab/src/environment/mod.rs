//! The machine that a run was measured on, as the report shows it.

use std::collections::BTreeMap;

use rpcgauge_study::record::Environment;
use rpcgauge_study::settings::Idle;

use crate::machine::cores;
use crate::machine::idle::IdleHold;

/// Looks at the machine. What it does not tell is left out.
pub fn look(idle: Idle) -> Environment {
    Environment {
        rpcgauge: env!("CARGO_PKG_VERSION").to_owned(),
        system: String::new(),
        processor: String::new(),
        cores: cores::allowed().map_or(0, |cores| cores.len() as u32),
        memory_bytes: 0,
        virtualization: None,
        governor: None,
        idle: IdleHold::ask(idle).outcome().clone(),
        subjects: BTreeMap::new(),
        warnings: Vec::new(),
    }
}
